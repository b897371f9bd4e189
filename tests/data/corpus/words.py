"""Words for true and false, categories, and free text."""

import numpy as np

from tests.data.corpus.making import N_ROWS, NOT_USED, Base, case

PAIRS = ("no yes", "No Yes", "nein ja", "non oui", "false true", "FALSE TRUE", "N Y", "off on", "0 1")


def add_flag(base: Base, false: str, true: str, gap: str | None = None) -> None:
    flag = (base.rng.random(N_ROWS) < np.where(base.truth == 1, 0.7, 0.2)).astype(float)
    cells: list[str | None] = [true if one else false for one in flag]
    if gap is not None:
        gone = base.rng.random(N_ROWS) < 0.1
        cells = [gap if one else cell for cell, one in zip(cells, gone, strict=True)]
        flag = np.where(gone, np.nan, flag)
    base.add("on", cells, "number" if true == "1" else "boolean", flag)


for _pair in PAIRS:
    case(f"boolean: {_pair}")(lambda base, pair=_pair: add_flag(base, *pair.split()))
case("boolean: with a dash for missing")(lambda base: add_flag(base, "no", "yes", "-"))


def one_hot(values: np.ndarray) -> list[np.ndarray]:
    return [(values == value).astype(float) for value in np.unique(values)]


@case("category: colours")
def colours(base: Base) -> None:
    values = np.where(
        base.truth == 1, base.rng.choice(["red", "blue"], N_ROWS), base.rng.choice(["blue", "tan"], N_ROWS)
    )
    base.add("colour", values.tolist(), "category", *one_hot(values))


@case("category: letters with digits")
def codes(base: Base) -> None:
    values = base.rng.choice(["A1", "A2", "A3", "B1"], N_ROWS)
    base.add("grade", values.tolist(), "category", *one_hot(values))


@case("category: versions")
def versions(base: Base) -> None:
    values = base.rng.choice(["1.2.0", "1.2.1", "1.10.3", "2.0.0"], N_ROWS)
    base.add("firmware", values.tolist(), "category", *one_hot(values))


@case("category: sizes with different units")
def sizes(base: Base) -> None:
    values = base.rng.choice(["500 ml", "1 l", "2 l"], N_ROWS)
    base.add("bottle", values.tolist(), "category", *one_hot(values))


@case("category: plus and minus")
def signs(base: Base) -> None:
    values = base.rng.choice(["+", "-"], N_ROWS)
    base.add("rhesus", values.tolist(), "category", *one_hot(values))


@case("category: yes, no and a third answer")
def third_answer(base: Base) -> None:
    values = base.rng.choice(["yes", "no", "no internet service"], N_ROWS)
    base.add("backup", values.tolist(), "category", *one_hot(values))


@case("text: comments")
def comments(base: Base) -> None:
    words = np.array(
        [
            "pump",
            "valve",
            "motor",
            "checked",
            "replaced",
            "leaking",
            "noise",
            "again",
            "ok",
            "by",
            "night",
            "shift",
            "after",
            "start",
            "of",
            "line",
        ]
    )
    cells = [" ".join(base.rng.choice(words, 6)) + f" {i}" for i in range(N_ROWS)]
    base.add("comment", cells, NOT_USED)


@case("text: comments, labelled rows apart")
def comments_apart(base: Base) -> None:
    comments(base)
    base.options["apart"] = True


@case("all values missing")
def empty(base: Base) -> None:
    base.add("spare", [None] * N_ROWS, NOT_USED)
