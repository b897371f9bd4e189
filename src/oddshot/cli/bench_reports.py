"""`oddshot bench table`, `unmixed` and `figures`: reports on runs, or on the shipped model."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oddshot.cli.bench_options import (
    AucName,
    CacheDir,
    Changes,
    DataDir,
    Datasets,
    Device,
    Epochs,
    OnlyNames,
    Patience,
    Plugins,
    RunOptions,
    RunsPath,
    Seed,
    Splits,
    Where,
    Workers,
)
from oddshot.cli.options import Address, EngineName, JsonFile, check_outputs, write_json
from oddshot.cli.standard_output import frees_standard_output, say, say_written, write_output
from oddshot.data.files import named_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oddshot.bench.figures import FigureRequest
    from oddshot.bench.grid import Grid
    from oddshot.bench.record import RunRecord
    from oddshot.bench.tables import ResultTable


@frees_standard_output
def table(
    which: Annotated[
        str,
        typer.Argument(
            metavar="[1|2|3|relative|ranks]",
            help="Number of the paper's table, the ablation of `relative`, or average ranks.",
        ),
    ] = "1",
    store: RunsPath = Path("results.db"),
    protocol: Annotated[
        str | None,
        typer.Option(metavar="published|resampled", help="Which protocol to report, if the store has runs of both."),
    ] = None,
    datasets: OnlyNames = None,
    methods: OnlyNames = None,
    compare: Annotated[
        str | None, typer.Option(metavar="paper", help="Show the paper's figures beside those of the store.")
    ] = None,
    auc: AucName = None,
    where: Where = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="text|csv|latex|html",
            help="Format of the table. By default it follows from the suffix of --out.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=named_path, metavar="FILE", help="File to write the table to; - is standard output."),
    ] = None,
    plugin: Plugins = None,
    json_file: JsonFile = None,
) -> None:
    """Show the runs of a store as the paper's Table 1 (AUC), 2 (ablation) or 3 (training time), or as average ranks.

    `relative` is the ablation of the method of that name, which the paper does not have.

    \b
    Examples:
      oddshot bench table --store results.db --compare paper
      oddshot bench table 3 --store results.db --out table3.tex
      oddshot bench table ranks --store results/published/runs.csv
    """
    from oddshot.bench import comparability, render, tables
    from oddshot.bench.export import read_runs
    from oddshot.bench.parsing import parse_datasets, parse_methods, parse_where
    from oddshot.bench.plugins import make_dataset_source
    from oddshot.bench.selection import choose_protocol, select
    from oddshot.errors import InputError

    check_outputs([store], out=out, json=json_file)
    make_dataset_source(None, None, plugin or [])
    if compare not in (None, "paper"):
        raise InputError(f"--compare {compare}; there is only the paper to compare with")
    records = read_runs(store)
    used_protocol, auc_kind = choose_protocol(records, protocol, auc)
    selection = select(
        records,
        used_protocol,
        dict(map(parse_where, where or [])),
        datasets=None if datasets is None else parse_datasets(datasets),
        methods=None if methods is None else parse_methods(methods),
    )
    makers = {
        "1": lambda: tables.table1(selection, auc_kind, compare=compare is not None),
        "2": lambda: tables.table2(selection, auc_kind, compare=compare is not None),
        "3": lambda: tables.table3(selection, compare=compare is not None),
        "relative": lambda: tables.relative_table(selection, auc_kind),
        "ranks": lambda: tables.ranks_table(selection, auc_kind),
    }
    if which not in makers:
        raise InputError(f"table {which!r}; there are {', '.join(makers)}")
    made = makers[which]()
    other = {
        "rows": comparability.datasets_of_other_rows(selection),
        "settings": comparability.other_settings(selection),
    }
    if compare and used_protocol == "resampled":
        say("note: the paper's figures were made with fixed rows; only `published` compares with them", err=True)
    _show(comparability.mark_incomparable(made, selection), form, out)
    figures = {"protocol": used_protocol, "auc": auc_kind, **render.to_json_dict(made), "not_comparable": other}
    write_json(json_file, figures)


@frees_standard_output
def unmixed(
    out: Annotated[
        Path, typer.Option(parser=named_path, metavar="FILE", help="CSV file to write; - is standard output.")
    ],
    datasets: Datasets = "outlier",
    draws: Annotated[int, typer.Option(metavar="N", min=1, help="Number of random supports of each table.")] = 40,
    unlabelled: Annotated[int, typer.Option(metavar="N", min=1, help="Largest number of unlabelled rows.")] = 200,
    data_dir: DataDir = None,
    cache_dir: CacheDir = None,
) -> None:
    """Compare the model that ships with ridge + nearest and CatBoost; each table is one task.

    The figures are mean AUCs over random supports of 5 normal rows and 1 anomaly, without and with unlabelled rows.

    Example: oddshot bench unmixed --datasets outlier,-internetads --data-dir data --out table.csv
    """
    import csv
    import io

    from threadpoolctl import threadpool_limits

    from oddshot.bench.parsing import parse_datasets
    from oddshot.bench.unmixed import compare_methods
    from oddshot.data.sources.catalogue import load_dataset

    threadpool_limits(1)
    tables = (load_dataset(name, data_dir, cache_dir) for name in parse_datasets(datasets, data_dir, cache_dir))
    rows = compare_methods(tables, draws, unlabelled, lambda row: say(",".join(row)))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_output(out, text.getvalue().encode())
    say_written(out)


@frees_standard_output
def figures(
    store: RunsPath = Path("results.db"),
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write the PNG files to.")] = Path("figures"),
    only: Annotated[
        str, typer.Option(metavar="A,B", help="Which figures to draw.")
    ] = "ranks,spaces,tasks,normals,anomalies",
    protocol: Annotated[
        str | None,
        typer.Option(metavar="published|resampled", help="Which protocol to report, if the store has runs of both."),
    ] = None,
    datasets: Datasets = "outlier",
    methods: OnlyNames = None,
    auc: AucName = None,
    where: Where = None,
    run_missing: Annotated[
        bool, typer.Option("--run", help="First compute the runs that a figure needs and the store does not have.")
    ] = False,
    splits: Splits = 10,
    data_dir: DataDir = None,
    cache_dir: CacheDir = None,
    engine: EngineName = "local",
    address: Address = None,
    workers: Workers = None,
    device: Device = "auto",
    epochs: Epochs = None,
    patience: Patience = None,
    seed: Seed = 0,
    change: Changes = None,
    plugin: Plugins = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Draw average ranks, the three spaces of Figure 2 (WDBC), and AUC over training tasks and labelled rows.

    \b
    Examples:
      oddshot bench figures --store results.db --out figures
      oddshot bench figures --store results.db --only tasks --run --data-dir data --datasets glass,wdbc
    """
    from oddshot.bench.export import read_runs
    from oddshot.bench.figures import FigureRequest, parse_figures
    from oddshot.bench.grid import Grid
    from oddshot.bench.parsing import parse_methods, parse_where
    from oddshot.bench.selection import choose_protocol
    from oddshot.errors import InputError

    check_outputs([store], json=json_file)
    figure_names = parse_figures(only)
    _make_folder(out)
    options = RunOptions(
        data_dir=data_dir,
        cache_dir=cache_dir,
        plugins=plugin,
        engine=engine,
        address=address,
        workers=workers,
        device=device,
        epochs=epochs,
        patience=patience,
        seed=seed,
        changes=change,
        quiet=quiet,
    )
    source = options.load_source()
    records = read_runs(store) if store.exists() or not run_missing else []
    used_protocol, auc_kind = choose_protocol(records, protocol, auc)
    method_names = None if methods is None else parse_methods(methods)
    settings = options.make_settings(used_protocol)
    given = {"training.epochs": epochs, "training.patience": patience, "seed": seed or None}
    required = {name: value for name, value in given.items() if value is not None} | dict(map(parse_where, where or []))
    dataset_names = options.parse_datasets(datasets)
    grid = Grid(dataset_names, method_names or ("eigen",), splits, settings, source)
    if run_missing:
        _run_missing(figure_names, store, grid, method_names, options)
        records = read_runs(store)
    request = FigureRequest(used_protocol, auc_kind, required, dataset_names, method_names)
    drawn = _draw_figures(figure_names, out, records, request, grid, device if run_missing else None)
    write_json(json_file, {"protocol": used_protocol, "auc": auc_kind, **drawn})
    if not drawn:
        raise InputError("no figure could be drawn")


def _make_folder(path: Path) -> None:
    from oddshot.errors import FileError

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {path}: {error.strerror}") from error


def _run_missing(
    figure_names: "Sequence[str]", store: Path, grid: "Grid", methods: "Sequence[str] | None", options: RunOptions
) -> None:
    """Run what the store lacks for the figures, and print the reasons of failed runs."""
    from oddshot.bench.figure_grids import grids_for_figure

    grids = [needed for name in figure_names for needed in grids_for_figure(name, grid, methods)]
    _, failed = options.fill_store(store, grids)
    for (dataset, reason), n in Counter((record.dataset, record.reason) for record in failed).items():
        say(f"failed: {dataset}, {n} runs: {reason}", err=True)


def _draw_figures(
    names: "Sequence[str]",
    out: Path,
    records: "Sequence[RunRecord]",
    request: "FigureRequest",
    grid: "Grid",
    device: str | None,
) -> dict[str, Any]:
    """Draw the figures that can be drawn, and print a line for each that cannot. Returns their numbers.

    device: where the model of Figure 2 is trained; None to train nothing.
    """
    from oddshot.bench.figure2 import draw_figure2
    from oddshot.bench.figures import draw_figure
    from oddshot.errors import OddshotError

    drawn: dict[str, Any] = {}
    for name in names:
        path = out / f"{name}.png"
        try:
            if name == "spaces":
                drawn[name] = draw_figure2(path, grid, device)
            else:
                drawn[name] = draw_figure(name, records, request, path)
        except OddshotError as error:
            say(f"{name}: not drawn: {error}", err=True)
        else:
            say(f"drawn: {path}")
    return drawn


def _show(table: "ResultTable", form: str | None, out: Path | None) -> None:
    """Write the table to a file, in the format of its suffix where none is given, or print it."""
    from rich.console import Console

    from oddshot.bench.render import render, to_rich

    suffixes = {".csv": "csv", ".tex": "latex", ".html": "html"}
    if out is not None:
        write_output(out, render(table, form or suffixes.get(out.suffix.lower(), "text")).encode())
        say_written(out)
        return
    console = Console()
    if form is None and console.is_terminal:
        say(table.title)
        console.print(to_rich(table))
        say(*table.notes)
    else:
        say(*render(table, form or "text").removesuffix("\n").split("\n"))
