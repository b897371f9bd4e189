"""`oddshot bench`: the paper's evaluation, run, kept and brought together; its answers are in bench_answers."""

from pathlib import Path
from typing import Annotated

import typer

from oddshot.cli.bench_answers import figures, table, unmixed
from oddshot.cli.bench_options import (
    CacheDir,
    DataDir,
    Datasets,
    Device,
    Epochs,
    Methods,
    OneOf,
    Patience,
    Plugins,
    Protocol,
    Runs,
    Seed,
    Sets,
    Splits,
    StorePath,
    Workers,
    stoppable,
)
from oddshot.cli.options import Address, EngineName, JsonFile, write_json

bench_app = typer.Typer(
    help=(
        "Run the paper's evaluation, stop it, go on later, and read the answer.\n\n"
        "`run` fills a store, one row a finished run; `table` and `figures` read it. The same `run` again does only "
        "what is missing."
    ),
    no_args_is_help=True,
    rich_markup_mode=None,
)


def run(
    protocol: Protocol,
    store: StorePath,
    datasets: Datasets = "all",
    methods: Methods = "all",
    splits: Splits = 10,
    data_dir: DataDir = None,
    cache_dir: CacheDir = None,
    engine: EngineName = "local",
    address: Address = None,
    workers: Workers = None,
    device: Device = "auto",
    epochs: Epochs = None,
    patience: Patience = None,
    training_tasks: Annotated[int | None, typer.Option(min=1, metavar="N", help="Tasks to train on (400).")] = None,
    seed: Seed = 0,
    change: Sets = None,
    plugin: Plugins = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed ones once more.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the last line.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Run what the store does not have yet. Stop it at any time: finished runs are kept, the same command goes on.

    \b
    Examples:
      oddshot bench run --protocol published --datasets glass,wdbc --methods eigen,lr --store results.db --data-dir data
      oddshot bench run --protocol resampled --store results.db --engine ray --address 10.0.0.1:6379
      oddshot bench run --protocol resampled --store results.db --plugin my_method.py --methods eigen,mine
    """
    from oddshot.bench.grid import Grid
    from oddshot.bench.parsing import make_settings, parse_datasets, parse_methods
    from oddshot.bench.plugins import make_dataset_source
    from oddshot.bench.runner import fill_store, make_engine

    source = make_dataset_source(data_dir, cache_dir, plugin or [])
    settings = make_settings(
        protocol, change or [], epochs=epochs, patience=patience, n_training=training_tasks, seed=seed
    )
    names = parse_datasets(datasets, data_dir, cache_dir)
    grid = Grid(names, parse_methods(methods), splits, settings, source)
    chosen = make_engine(engine, address, workers, device)
    with stoppable():
        tally, failures = fill_store(store, [grid], chosen, device=device, retry_failed=retry_failed, quiet=quiet)
    reasons = [
        {name: getattr(record, name) for name in ("dataset", "split", "method", "reason")} for record in failures
    ]
    for reason in reasons[:20]:
        typer.echo("failed: {dataset} split {split} {method}: {reason}".format(**reason), err=True)
    typer.echo(f"{tally.done} of {tally.total} runs are done, {tally.failed} failed: {store}")
    write_json(json_file, {"total": tally.total, "done": tally.done, "failed": tally.failed, "failures": reasons})
    if tally.failed:
        raise typer.Exit(1)


def export_runs(
    store: Runs,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The CSV file.")] = Path("runs.csv"),
    brief: Annotated[
        bool, typer.Option("--brief", help="A small file that gives the same tables: without the AUC of each task.")
    ] = False,
    protocol: Annotated[str | None, typer.Option(metavar="published|resampled", help="Only this one.")] = None,
    datasets: OneOf = None,
    methods: OneOf = None,
    plugin: Plugins = None,
) -> None:
    """The runs of a store as a CSV file, for `import`, or to be read as a store is.

    \b
    Examples:
      oddshot bench export --store results.db --out runs.csv
      oddshot bench export --store results.db --protocol published --brief --out results/published/runs.csv
    """
    from oddshot.bench.export import read_runs, write_runs
    from oddshot.bench.parsing import parse_datasets, parse_methods
    from oddshot.bench.plugins import make_dataset_source
    from oddshot.errors import InputError

    make_dataset_source(None, None, plugin or [])
    asked = {
        "protocol": None if protocol is None else [protocol],
        "dataset": None if datasets is None else parse_datasets(datasets),
        "method": None if methods is None else parse_methods(methods),
    }
    records = [
        record
        for record in read_runs(store)
        if all(names is None or getattr(record, column) in names for column, names in asked.items())
    ]
    if not records:
        raise InputError(f"{store} has no such runs; nothing is written")
    write_runs(out, records, brief=brief)
    typer.echo(f"{len(records)} runs: {out}")


def import_runs(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Exported runs, or other stores.")],
    store: StorePath,
) -> None:
    """Bring exported runs into a store; those it has stay as they are.

    Example: oddshot bench import gpu.csv results/published/runs.csv --store results.db
    """
    from oddshot.bench.export import read_runs
    from oddshot.bench.store import open_store

    found = [record for path in files for record in read_runs(path)]
    with open_store(store) as opened:
        before = len(opened.status())
        opened.add(found)
        typer.echo(f"{len(opened.status()) - before} new runs of {len(found)}: {store}")


for command in (run, table, unmixed, figures):
    bench_app.command()(command)
bench_app.command("export")(export_runs)
bench_app.command("import")(import_runs)
