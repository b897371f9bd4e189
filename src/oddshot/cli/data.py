"""`oddshot data`: list, download and show the paper's datasets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oddshot.cli.options import JsonFile, check_outputs, write_json
from oddshot.cli.standard_output import frees_standard_output, say

if TYPE_CHECKING:
    from oddshot.data.sources.catalogue import Card, Dataset

data_app = typer.Typer(help="The paper's 32 datasets: list, fetch, show.", no_args_is_help=True, rich_markup_mode=None)

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", metavar="DIR", help="Folder with datasets as NAME.npz files (X, y, task). It is searched first."
    ),
]
CacheDir = Annotated[
    Path | None,
    typer.Option(
        "--cache-dir", metavar="DIR", help="Folder for downloaded archives. By default $ODDSHOT_DATA, if it is set."
    ),
]
MAX_COLUMNS_SHOWN = 8


@data_app.command("list")
@frees_standard_output
def list_datasets(data_dir: DataDir = None, cache_dir: CacheDir = None, json_file: JsonFile = None) -> None:
    """List the datasets, which of them are on this machine, and the counts of the paper's Table 4.

    Example: oddshot data list --data-dir data
    """
    from rich.console import Console
    from rich.table import Table

    from oddshot.data.sources.catalogue import CARDS, locate_dataset

    table = Table("dataset", "here", box=None)
    for heading in ("tasks", "normal rows", "anomalous", "attributes"):
        table.add_column(heading, justify="right")
    figures = []
    for card in CARDS.values():
        path = locate_dataset(card, data_dir, cache_dir)
        counts = (max(len(card.task_names), 1), card.n_normal, card.n_anomaly, card.n_attributes)
        table.add_row(card.name, _location(path, data_dir), *(f"{count:,}" for count in counts))
        figures.append(_card_figures(card, path))
    console = Console()
    console.print(table)
    n_here = sum(figure["here"] is not None for figure in figures)
    console.print("Rows are those of one task where there are several.")
    console.print(f"{n_here} of {len(figures)} are here. The others: oddshot data fetch NAME, or --data-dir DIR.")
    write_json(json_file, {"datasets": figures})


@data_app.command()
def fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Datasets as `oddshot data list` names them.")],
    data_dir: DataDir = None,
    cache_dir: CacheDir = None,
    mirror: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Download from this address instead. The names and checksums of the archives must be the same.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress bar.")] = False,
) -> None:
    """Download datasets into the cache folder. A broken download is continued, and known checksums are verified.

    Example: oddshot data fetch glass landmine
    """
    from oddshot.data.sources.catalogue import find_card, load_dataset, locate_dataset
    from oddshot.data.sources.fetch import fetch_dataset

    cards = {card.name: card for card in map(find_card, names)}  # a mistyped name is reported before the first download
    for card in cards.values():
        path = locate_dataset(card, data_dir, cache_dir)
        if data_dir is None or path is None or path.parent != data_dir:
            path = fetch_dataset(card, cache_dir, progress=not quiet, base_url=mirror)
        dataset = load_dataset(card.name, data_dir, cache_dir)
        say(f"{_summary(dataset)}, from {path}")
        for note in dataset.notes:
            say(f"  {note}")


@data_app.command()
@frees_standard_output
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A dataset as `oddshot data list` names it.")],
    data_dir: DataDir = None,
    cache_dir: CacheDir = None,
    rows: Annotated[int, typer.Option(min=0, metavar="N", help="How many rows to show.")] = 5,
    json_file: JsonFile = None,
) -> None:
    """Show where a dataset comes from, its counts, its share of anomalies and its first rows.

    Example: oddshot data show glass --data-dir data
    """
    from rich.console import Console

    from oddshot.data.sources.catalogue import find_card, load_dataset, locate_dataset

    card = find_card(name)
    path = locate_dataset(card, data_dir, cache_dir)
    check_outputs([] if path is None else [path], json=json_file)
    figures = _card_figures(card, path)
    console = Console(soft_wrap=True)
    console.print(_card_table(card))
    if path is None:
        hint = f"Not here: oddshot data fetch {card.name}, or --data-dir DIR with {card.name}.npz in it."
        console.print(hint, highlight=False)
    else:
        dataset = load_dataset(name, data_dir, cache_dir)
        figures |= _dataset_figures(dataset, rows)
        share = f"{figures['share_anomalous']:.1%} anomalous"
        say("", f"{_summary(dataset)}; {share}; read from {path}")
        for note in dataset.notes:
            say(f"  {note}")
        if rows:
            console.print(_rows_table(dataset, rows))
    write_json(json_file, figures)


def _location(path: Path | None, data_dir: Path | None) -> str:
    """Return which folder holds a dataset, for the table."""
    if path is None:
        return "-"
    return "data folder" if path.parent == data_dir else "cache"


def _summary(dataset: "Dataset") -> str:
    """Return the title and the counts of a dataset in one line."""
    n_anomaly = int(dataset.y.sum())
    tasks = f" in {len(dataset.task_names)} tasks" if dataset.task_names else ""
    counts = f"{len(dataset.y) - n_anomaly:,} normal and {n_anomaly:,} anomalous rows{tasks}"
    return f"{dataset.card.title}: {counts}, {dataset.X.shape[1]:,} attributes"


def _card_figures(card: "Card", path: Path | None) -> dict[str, Any]:
    """Return the facts of a card for --json; path: where the dataset is, None if it is not here."""
    return {
        "name": card.name,
        "title": card.title,
        "n_normal": card.n_normal,
        "n_anomaly": card.n_anomaly,
        "n_attributes": card.n_attributes,
        "counts_are_per_task": card.per_task,
        "splits": card.splits,
        "url": card.source.url,
        "file": card.file,
        "format": card.format,
        "sha256": {"archive": card.source.sha256, "file": card.sha256},
        "terms": card.terms,
        "citation": card.citation,
        "unverified": card.unverified,
        "here": None if path is None else str(path),
    }


def _dataset_figures(dataset: "Dataset", rows: int) -> dict[str, Any]:
    """Return the counts and the first rows of a dataset for --json."""
    found = {"n_normal": int((dataset.y == 0).sum()), "n_anomaly": int((dataset.y == 1).sum())}
    return {
        "found": found | {"n_attributes": dataset.X.shape[1], "n_tasks": max(len(dataset.task_names), 1)},
        "share_anomalous": float(dataset.y.mean()),
        "notes": dataset.notes,
        "task_names": dataset.task_names,
        "first_rows": dataset.X[:rows].tolist(),
        "first_labels": dataset.y[:rows].tolist(),
    }


def _card_table(card: "Card") -> Any:
    """Return a table of a card's facts."""
    from rich.table import Table
    from rich.text import Text

    unit = " a task" if card.per_task else ""
    train, valid, target = card.splits or ("?", "?", "?")
    lines = (
        (
            "Table 4",
            f"{card.n_normal:,} normal, {card.n_anomaly:,} anomalous rows{unit}, {card.n_attributes} attributes",
        ),
        ("tasks", f"{train} training, {valid} validation, {target} target"),
        ("source", card.source.url),
        ("file", f"{card.file} ({card.format})"),
        ("SHA-256", (card.sha256 or "unknown") if card.source.sha256 is None else f"{card.source.sha256} (archive)"),
        ("terms", card.terms),
        ("cite", card.citation),
        ("unverified", card.unverified or "-"),
    )
    table = Table(title=Text(card.title, style="bold"), title_justify="left", show_header=False, box=None)
    for key, value in lines:
        table.add_row(key, Text(value, overflow="fold"))
    return table


def _rows_table(dataset: "Dataset", rows: int) -> Any:
    """Return a table of the first rows and their labels."""
    from rich.table import Table

    n_shown = min(MAX_COLUMNS_SHOWN, dataset.X.shape[1])
    more = ["..."] if dataset.X.shape[1] > n_shown else []
    table = Table("row", "label", *(str(column) for column in range(1, n_shown + 1)), *more, box=None)
    for number, (row, label) in enumerate(zip(dataset.X[:rows], dataset.y[:rows], strict=True), 1):
        values = (f"{value:.4g}" for value in row[:n_shown])
        table.add_row(str(number), "anomaly" if label else "normal", *values, *more)
    return table
