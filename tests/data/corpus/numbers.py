"""Numbers as people write them, and their words for missing ones."""

import numpy as np

from tests.data.corpus.making import CASES, N_ROWS, NOT_USED, Base, case


def us(x: float) -> str:
    return f"{x:,.2f}"


def european(x: float) -> str:
    return us(x).translate(str.maketrans(",.", ".,"))


def lakhs(x: float) -> str:
    whole, fraction = f"{abs(x):.2f}".split(".")
    head, groups = whole[:-3], [whole[-3:]]
    while head:
        head, groups = head[:-2], [head[-2:], *groups]
    return f"{'-' * (x < 0)}{','.join(groups)}.{fraction}"


NOTATIONS = {
    "dollars": lambda x: f"${us(x)}",
    "dollars with a minus in front": lambda x: f"-${us(-x)}" if x < 0 else f"${us(x)}",
    "euros behind": lambda x: f"{european(x)} €",
    "pounds": lambda x: f"£{us(x)}",
    "a currency code": lambda x: f"USD {us(x)}",
    "a currency code behind": lambda x: f"{european(x)} EUR",
    "percent": lambda x: f"{x:.2f} %",
    "percent without space": lambda x: f"{x:.2f}%",
    "millimetres": lambda x: f"{x:.2f} mm",
    "kilometres an hour": lambda x: f"{x:.2f}km/h",
    "degrees": lambda x: f"{x:.2f} °C",
    "square metres": lambda x: f"{x:.2f} m²",
    "commas between thousands": us,
    "points between thousands": european,
    "spaces between thousands": lambda x: us(x).replace(",", " "),
    "narrow spaces between thousands": lambda x: european(x).replace(".", "\u202f"),
    "apostrophes between thousands": lambda x: us(x).replace(",", "'"),
    "scientific": lambda x: f"{x:.6e}",
    "a typographic minus": lambda x: us(x).replace("-", "−"),
    "parentheses for negative": lambda x: f"({us(-x)})" if x < 0 else us(x),
    "parentheses behind dollars": lambda x: f"$ ({us(-x)})" if x < 0 else f"$ {us(x)}",
    "a minus behind": lambda x: f"{us(-x)}-" if x < 0 else us(x),
    "lakhs and crores": lambda x: lakhs(1000 * x),
    "padded with spaces": lambda x: f"  {x:.2f}  ",
    "plus signs": lambda x: f"{x:+.2f}",
    "no zero before the point": lambda x: f"{x:.2f}".replace("0.", ".", 1) if abs(x) < 1 else f"{x:.2f}",
}
for _name, _how in NOTATIONS.items():
    case(f"numbers: {_name}")(lambda base, how=_how: base.write(how, 2000.0))

for _tokens in (["-"], ["NA"], ["N/A"], ["null"], ["?"], ["#N/A"], ["."], ["–", "n/a", "", "NaN", "unknown"]):
    case(f"missing: {' '.join(_tokens)}")(lambda base, tokens=_tokens: base.lose(0.1, *tokens))


@case("missing: a dash among euros")
def dash_among_euros(base: Base) -> None:
    base.write(NOTATIONS["euros behind"], 2000.0)
    base.lose(0.1, "-")


@case("numbers: below a detection limit")
def detection_limit(base: Base) -> None:
    limit = float(np.round(np.quantile(base.X[:, 0], 0.2), 2))
    values = np.round(base.X[:, 0], 2)
    base.columns["c0"] = [f"<{limit}" if x < limit else str(x) for x in values.tolist()]
    base.prepared[0] = np.maximum(values, limit)


@case("numbers: in different units")
def different_units(base: Base) -> None:
    cells = [f"{x:.2f}{('%', ' mm')[i % 2]}" for i, x in enumerate(base.X[:, 0].tolist())]
    base.add("mixed", cells, NOT_USED)


@case("hexadecimal codes")
def hexadecimal(base: Base) -> None:
    codes = base.rng.choice(["0x1F", "0x07", "0xA3"], N_ROWS)
    base.add("error", codes.tolist(), "category", *((codes == code).astype(float) for code in np.unique(codes)))


@case("a German file")
def german_file(base: Base) -> None:
    base.write(european, 2000.0)
    base.add("c4", [f"{x:.1f}".replace(".", ",") for x in base.X[:, 0].tolist()], "number", np.round(base.X[:, 0], 1))
    base.options["delimiter"] = ";"


@case("whole numbers with points between thousands in a German file")
def german_thousands(base: Base) -> None:
    base.write(lambda x: f"{x:,.0f}".replace(",", "."), 3000.0)
    base.prepared = [np.round(values) for values in base.prepared]
    base.add("c4", [f"{x:.1f}".replace(".", ",") for x in base.X[:, 0].tolist()], "number", np.round(base.X[:, 0], 1))
    base.options["delimiter"] = ";"


@case("times 1e-200")
def tiny(base: Base) -> None:
    for name in list(base.columns):
        base.columns[name] = [repr(float(cell) * 1e-200) for cell in base.columns[name]]


@case("a constant column")
def constant(base: Base) -> None:
    base.add("firmware", ["7"] * N_ROWS, "number")


@case("a rare flag of 0 and 1000, constant where labelled")
def rare_flag(base: Base) -> None:
    flag = np.where((base.truth == 1) & (base.rng.random(N_ROWS) < 0.5), 1.0, 0.0)
    flag[:6] = 0.0
    base.add("alarm", [str(int(1000 * one)) for one in flag], "number", flag)
    base.options["apart"] = True


@case("counts")
def counts(base: Base) -> None:
    values = base.rng.poisson(3.0 + 6.0 * base.truth).astype(float)
    base.add("errors", [str(int(one)) for one in values], "number", values)


@case("unique whole numbers in no order")
def incomes(base: Base) -> None:
    values = base.rng.permutation(np.arange(N_ROWS) * 37 + base.rng.integers(0, 37, N_ROWS)).astype(float)
    base.add("income", [str(int(one)) for one in values], "number", values)


@case("sorted by a column that tells anomalies")
def sorted_rows(base: Base) -> None:
    values = np.round(base.X[:, 0] + 0.001 * base.rng.normal(size=N_ROWS), 5)
    order = np.concatenate([np.arange(6), 6 + np.argsort(values[6:])])
    base.truth = base.truth[order]
    base.X = base.X[order]
    base.columns = {name: [cells[i] for i in order] for name, cells in base.columns.items()}
    base.prepared = [values[order] for values in base.prepared]


@case("years and ratings")
def years(base: Base) -> None:
    year, rating = base.rng.integers(1990, 2024, N_ROWS), base.rng.integers(1, 6, N_ROWS)
    base.add("year", [str(one) for one in year], "number", year.astype(float))
    base.add("rating", [str(one) for one in rating], "number", rating.astype(float))


@case("postal codes")
def postal_codes(base: Base) -> None:
    codes = base.rng.choice(["01067", "04109", "10115", "80331", "99084"], N_ROWS)
    base.add("zip", codes.tolist(), "category", *((codes == code).astype(float) for code in np.unique(codes)))


@case("one typing error in a column of numbers")
def typing_error(base: Base) -> None:
    base.columns["c1"][100] = base.columns["c1"][100] + "o"
    base.prepared[1] = np.where(np.arange(N_ROWS) == 100, np.nan, base.prepared[1])


assert len(CASES) >= 40
