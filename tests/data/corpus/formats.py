"""Files of many formats, with the columns of the base and a few that only such files have."""

import datetime
import decimal

import numpy as np

from tests.data.corpus.making import N_ROWS, NOT_USED, Base, case

for _suffix, _delimiter, _encoding in (
    (".tsv", "\t", "utf-8"),
    (".txt", "|", "utf-8"),
    (".csv", ";", "latin-1"),
    (".csv", ",", "utf-16"),
    (".csv", ",", "utf-8-sig"),
    (".csv", ",", "utf-32"),
    (".csv.gz", ",", "utf-8"),
    (".csv.zst", ",", "utf-8"),
):

    def _spoil(base: Base, suffix: str = _suffix, delimiter: str = _delimiter, encoding: str = _encoding) -> None:
        values = base.rng.choice(["größer", "kleiner"], N_ROWS)
        base.add("maß", values.tolist(), "category", *((values == one).astype(float) for one in ("größer", "kleiner")))
        base.options.update(suffix=suffix, delimiter=delimiter, encoding=encoding)

    case(f"file: {_suffix} of {_encoding} with {_delimiter!r}")(_spoil)


@case("file: euros of Windows")
def euros_of_windows(base: Base) -> None:
    price = np.round(100 * base.X[:, 0], 2)
    base.add("price", [f"{x:.2f} €".replace(".", ",") for x in price.tolist()], "number", price)
    base.options.update(delimiter=";", encoding="cp1252")


def as_numbers(base: Base) -> None:
    for j, name in enumerate(base.columns):
        base.columns[name] = base.X[:, j].tolist()


@case("file: JSON lines")
def json_lines(base: Base) -> None:
    as_numbers(base)
    base.add("id", list(range(N_ROWS)), NOT_USED)
    base.options["suffix"] = ".jsonl"


@case("file: Parquet with decimals, dictionaries and zones")
def parquet(base: Base) -> None:
    as_numbers(base)
    price = np.round(base.X[:, 0], 2)
    base.add("price", [decimal.Decimal(f"{x:.2f}") for x in price], "number", price)
    start = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    base.add("at", [start + datetime.timedelta(seconds=i) for i in range(N_ROWS)], NOT_USED)
    base.options["suffix"] = ".parquet"


@case("file: Parquet with nested columns")
def nested(base: Base) -> None:
    as_numbers(base)
    speed = np.round(base.X[:, 1], 2)
    base.columns["motor"] = [{"speed": x, "tags": ["a"]} for x in speed.tolist()]
    base.kinds |= {"motor.speed": "number", "motor.tags": NOT_USED}
    base.prepared.append(speed)
    base.options["suffix"] = ".parquet"
