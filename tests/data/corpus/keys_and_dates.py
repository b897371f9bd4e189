"""Columns that tell rows apart: running numbers, keys, clocks; and dates in which something recurs."""

import datetime
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.data.corpus.making import N_ROWS, NOT_USED, Base, case

ROWS = np.arange(N_ROWS)
START = datetime.datetime(2024, 1, 3, 7, 30)

KEYS: dict[str, tuple[str, Callable[[Base], list[Any]]]] = {
    "counted from 0": ("id", lambda base: [str(i) for i in ROWS]),
    "counted from 100001, without a telling name": ("lfd", lambda base: [str(100001 + i) for i in ROWS]),
    "counted downwards": ("nr", lambda base: [str(5000 - i) for i in ROWS]),
    "rising with gaps": ("order", lambda base: [str(i) for i in np.cumsum(base.rng.integers(1, 9, N_ROWS))]),
    "in no order": ("customer_id", lambda base: [str(i) for i in base.rng.choice(10**6, N_ROWS, replace=False)]),
    "a permutation": ("ticket", lambda base: [str(i) for i in base.rng.permutation(N_ROWS) + 1]),
    "UUIDs": ("uid", lambda base: [str(uuid.UUID(bytes=base.rng.bytes(16))) for _ in ROWS]),
    "letters and digits": ("ref", lambda base: [f"ORD-{i:06}" for i in base.rng.permutation(N_ROWS)]),
    "hashes": ("digest", lambda base: [base.rng.bytes(8).hex() for _ in ROWS]),
    "names of people": ("name", lambda base: [f"{a}. Meier-{b}" for a, b in zip("ABCD" * 60, ROWS, strict=True)]),
    "the index of pandas, as read back": ("Unnamed: 0.1", lambda base: [str(i) for i in ROWS]),
    "seconds since the start": ("elapsed", lambda base: [f"{0.25 * i:.2f}" for i in ROWS]),
    "a clock of unequal steps": (
        "time",
        lambda base: [f"{t:.3f}" for t in np.cumsum(base.rng.exponential(size=N_ROWS))],
    ),
}
for _name, (_column, _cells) in KEYS.items():
    case(f"key: {_name}")(lambda base, c=_column, cells=_cells: base.add(c, cells(base), NOT_USED, first=True))


@case("key: counted, labelled rows apart")
def key_apart(base: Base) -> None:
    base.add("id", [str(i) for i in ROWS + 1], NOT_USED, first=True)
    base.options["apart"] = True


@case("key: in no order, labelled rows apart")
def key_in_no_order_apart(base: Base) -> None:
    base.add("part number", [str(i) for i in base.rng.choice(10**7, N_ROWS, replace=False)], NOT_USED, first=True)
    base.options["apart"] = True


def hours(step: float) -> list[datetime.datetime]:
    return [START + datetime.timedelta(hours=step * int(i)) for i in ROWS]


DATE_FORMATS = {
    "ISO": "%Y-%m-%d %H:%M:%S",
    "ISO with T and zone": "%Y-%m-%dT%H:%M:%S+01:00",
    "day first with points": "%d.%m.%Y %H:%M",
    "day first with slashes": "%d/%m/%Y %H:%M",
    "month first": "%m/%d/%Y %H:%M",
    "month first, short, of twelve hours": "%m/%d/%y %I:%M %p",
    "names of months": "%d-%b-%Y %H:%M",
    "year first with slashes": "%Y/%m/%d %H:%M",
    "of a log, with a comma": "%Y-%m-%d %H:%M:%S,250",
    "with the name of the zone": "%Y-%m-%d %H:%M:%S UTC",
    "of e-mails": "%a, %d %b %Y %H:%M:%S GMT",
    "of C": "%a %b %d %H:%M:%S %Y",
    "ISO without marks": "%Y%m%dT%H%M%SZ",
}


def circle(turns: Any) -> tuple[Any, Any]:
    return np.sin(2 * np.pi * turns), np.cos(2 * np.pi * turns)


for _name, _format in DATE_FORMATS.items():

    def _add_dates(base: Base, pattern: str = _format) -> None:
        """A log of one row an hour: a person makes the hour and the weekday of it."""
        moments = hours(1.0)
        day = np.array([(one.hour + one.minute / 60) / 24 for one in moments])
        if "+01:00" in pattern:
            day = (day - 1 / 24) % 1
        weekday = np.array([(one - datetime.timedelta(hours="+01:00" in pattern)).weekday() / 7 for one in moments])
        cells = [one.strftime(pattern) for one in moments]
        base.add("seen", cells, "date", *circle(day), *circle(weekday), first=True)

    case(f"date: {_name}")(_add_dates)


@case("date: a few minutes, in which nothing recurs")
def minutes(base: Base) -> None:
    base.add("at", [one.strftime("%Y-%m-%d %H:%M:%S") for one in hours(0.01)], NOT_USED)


@case("date: days, day first, short")
def days(base: Base) -> None:
    moments = [START + datetime.timedelta(days=int(i)) for i in ROWS]
    weekday = np.array([one.weekday() / 7 for one in moments])
    base.add("Datum", [one.strftime("%d.%m.%y") for one in moments], "date", *circle(weekday))


@case("date: seconds since 1970")
def epoch(base: Base) -> None:
    seconds = 1_700_000_000 + 3600 * ROWS
    weekday = ((seconds // 86400 + 3) % 7) / 7
    base.add("timestamp", [str(s) for s in seconds], "date", *circle(seconds % 86400 / 86400), *circle(weekday))


@case("date: milliseconds since 1970")
def epoch_milliseconds(base: Base) -> None:
    seconds = 1_700_000_000 + 3600 * ROWS
    weekday = ((seconds // 86400 + 3) % 7) / 7
    cells = [str(1000 * s) for s in seconds]
    base.add("created_at", cells, "date", *circle(seconds % 86400 / 86400), *circle(weekday))


@case("date: microseconds since 1970")
def epoch_microseconds(base: Base) -> None:
    add_epoch(base, 10**6)


@case("date: nanoseconds since 1970")
def epoch_nanoseconds(base: Base) -> None:
    add_epoch(base, 10**9)


def add_epoch(base: Base, units: int) -> None:
    seconds = 1_700_000_000 + 3600 * ROWS
    weekday = ((seconds // 86400 + 3) % 7) / 7
    cells = [str(units * int(s)) for s in seconds]
    base.add("ts", cells, "date", *circle(seconds % 86400 / 86400), *circle(weekday))


@case("date: seconds since 1970, with a fraction")
def epoch_fractions(base: Base) -> None:
    seconds = 1_700_000_000 + 3600 * ROWS + 0.25
    weekday = ((seconds // 86400 + 3) % 7) / 7
    base.add("time", [f"{s:.2f}" for s in seconds], "date", *circle(seconds % 86400 / 86400), *circle(weekday))


@case("date: days as one number")
def days_as_numbers(base: Base) -> None:
    moments = [START + datetime.timedelta(days=int(i)) for i in ROWS]
    weekday = np.array([one.weekday() / 7 for one in moments])
    base.add("Tag", [one.strftime("%Y%m%d") for one in moments], "date", *circle(weekday))


@case("date: weeks of ISO 8601")
def weeks(base: Base) -> None:
    mondays = [datetime.date(2020, 1, 6) + datetime.timedelta(weeks=int(i)) for i in ROWS]
    month = np.array([(one.month - 1) / 12 for one in mondays])
    base.add("KW", ["{}-W{:02}".format(*one.isocalendar()[:2]) for one in mondays], "date", *circle(month))


@case("date: months")
def months(base: Base) -> None:
    firsts = [datetime.date(2004 + int(i) // 12, 1 + int(i) % 12, 1) for i in ROWS]
    weekday = np.array([one.weekday() / 7 for one in firsts])
    base.add("month", [one.strftime("%Y-%m") for one in firsts], "date", *circle(weekday), *circle(ROWS % 12 / 12))


@case("date: anomalies at night")
def nights(base: Base) -> None:
    hour = np.where(base.truth == 1, base.rng.uniform(0, 4, N_ROWS), base.rng.uniform(8, 18, N_ROWS))
    moments = [
        (START + datetime.timedelta(days=int(i) // 8)).replace(hour=0, minute=0) + datetime.timedelta(hours=float(h))
        for i, h in zip(ROWS, hour, strict=True)
    ]
    weekday = np.array([one.weekday() / 7 for one in moments])
    cells = [one.strftime("%Y-%m-%d %H:%M:%S") for one in moments]
    base.add("when", cells, "date", *circle(hour / 24), *circle(weekday))


@case("date: time of day")
def time_of_day(base: Base) -> None:
    hour = np.where(base.truth == 1, base.rng.uniform(0, 4, N_ROWS), base.rng.uniform(8, 18, N_ROWS))
    base.add("clock", [f"{int(h):02}:{int(60 * (h % 1)):02}" for h in hour], "date", *circle(hour / 24))


@case("date: days of birth")
def births(base: Base) -> None:
    age = base.rng.integers(7000, 25000, N_ROWS) - 4000 * base.truth.astype(int)
    days_of_birth = [datetime.date(2024, 1, 1) - datetime.timedelta(days=int(a)) for a in age]
    base.add("born", [one.strftime("%d.%m.%Y") for one in days_of_birth], "date", -age.astype(float))


@case("date: labelled rows apart, at the start of the log")
def date_apart(base: Base) -> None:
    base.add("seen", [one.strftime("%d.%m.%Y %H:%M") for one in hours(0.2)], NOT_USED, first=True)
    base.options["apart"] = True
