"""Formatting of a result table as text, CSV, LaTeX, HTML or JSON."""

import csv
import html
import io
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from oddshot.bench.tables import ResultTable, TableCell, TableRow
from oddshot.errors import InputError


def render(table: ResultTable, form: str) -> str:
    """The table as a string. form: text, csv, latex or html."""
    forms = {"text": to_text, "csv": to_csv, "latex": to_latex, "html": to_html}
    if form not in forms:
        raise InputError(f"format {form!r}; there are {', '.join(forms)}")
    return forms[form](table)


def to_rich(table: ResultTable, mark: str = "") -> RichTable:
    """A table for the terminal, with the paper's value and the difference below each value.

    mark: appended to the best values.
    """
    shown = RichTable("", show_lines=table.compared)
    for column in table.columns:
        shown.add_column(Text(column), justify="right", no_wrap=True)
    for index, row in enumerate(table.rows):
        if row.summary and not table.rows[index - 1].summary:
            shown.add_section()
        cells = []
        for cell in row.cells:
            first, *others = _cell_lines(cell, row)
            first += mark if cell.best else " " * len(mark)
            cells.append(Text("\n".join([first, *(line + " " * len(mark) for line in others)]), "bold" * cell.best))
        shown.add_row(Text(row.title), *cells)
    return shown


def to_text(table: ResultTable) -> str:
    """Plain text without a limit on the width, with a star in place of bold."""
    text = io.StringIO()
    Console(file=text, width=40 + 14 * len(table.columns), color_system=None).print(to_rich(table, "*"))
    lines = [table.title, *(line.rstrip() for line in text.getvalue().splitlines())]
    if any(cell.best for row in table.rows for cell in row.cells):
        lines.append("* the best, or not different from it.")
    return "\n".join([*lines, *table.notes, ""])


def to_csv(table: ResultTable) -> str:
    """CSV with one decimal place more than other formats; compared tables have three columns for each method."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    kinds = ("", " paper", " difference") if table.compared else ("",)
    writer.writerow(["dataset", *(f"{column}{kind}" for column in table.columns for kind in kinds)])
    for row in table.rows:
        digits = row.digits + 1 if row.digits else 0
        values = [
            _format_value(value, digits)
            for cell in row.cells
            for value in (cell.value, cell.paper, cell.difference)[: len(kinds)]
        ]
        writer.writerow([row.title, *values])
    return text.getvalue()


def to_latex(table: ResultTable) -> str:
    """A LaTeX tabular with the best values in bold and the paper's values in parentheses."""
    lines = [f"% {line}" for line in (table.title, *table.notes)]
    lines.append(rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}")
    lines += [r"\hline", " & ".join(["", *map(_escape_latex, table.columns)]) + r" \\", r"\hline"]
    for index, row in enumerate(table.rows):
        if row.summary and not table.rows[index - 1].summary:
            lines.append(r"\hline")
        lines.append(" & ".join([_escape_latex(row.title), *(_latex_cell(cell, row) for cell in row.cells)]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def to_html(table: ResultTable) -> str:
    """A complete HTML page."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in ("", *table.columns))
    body = "\n".join(
        f"<tr{' class=summary' if row.summary else ''}><th>{html.escape(row.title)}</th>"
        + "".join(f"<td>{_html_cell(cell, row)}</td>" for cell in row.cells)
        + "</tr>"
        for row in table.rows
    )
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in table.notes)
    title = html.escape(table.title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n<style>{_STYLE}</style>'
        f"</head><body>\n<table><caption>{title}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"
        f"</table>\n{notes}\n</body></html>\n"
    )


def to_json_dict(table: ResultTable) -> dict[str, Any]:
    """All values without rounding, for `--json`."""
    rows = {
        row.title: {
            column: {"value": cell.value, "best": cell.best, "paper": cell.paper}
            for column, cell in zip(table.columns, row.cells, strict=True)
        }
        for row in table.rows
    }
    return {"title": table.title, "rows": rows, "notes": list(table.notes)}


_STYLE = (
    "body{font:14px/1.4 system-ui,sans-serif;margin:2em}table{border-collapse:collapse}caption{font-weight:600;"
    "text-align:left;padding:.4em 0}th,td{padding:.2em .6em;text-align:right}th:first-child{text-align:left}"
    "thead th{border-bottom:2px solid}tr.summary th,tr.summary td{border-top:1px solid #999}"
    "small{color:#666}p{margin:.3em 0}"
)


def _cell_lines(cell: TableCell, row: TableRow) -> list[str]:
    """The value, and where there is one, the paper's value and the difference."""
    lines = [_format_value(cell.value, row.digits)]
    if cell.paper is not None:
        difference = cell.difference
        lines += [_format_value(cell.paper, row.digits), "" if difference is None else f"{difference:+.{row.digits}f}"]
    return lines


def _latex_cell(cell: TableCell, row: TableRow) -> str:
    text = _format_value(cell.value, row.digits)
    text = rf"\textbf{{{text}}}" if cell.best and text else text
    return text if cell.paper is None else rf"{text} ({_format_value(cell.paper, row.digits)})".strip()


def _html_cell(cell: TableCell, row: TableRow) -> str:
    text = _format_value(cell.value, row.digits)
    text = f"<strong>{text}</strong>" if cell.best and text else text
    if cell.paper is None:
        return text
    difference = "" if cell.difference is None else f" {cell.difference:+.{row.digits}f}"
    return f"{text}<br><small>{_format_value(cell.paper, row.digits)}{difference}</small>"


def _format_value(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _escape_latex(text: str) -> str:
    for plain in "\\&%$#_{}":
        text = text.replace(plain, "\\" + plain)
    return text.replace("|", r"$|$")
