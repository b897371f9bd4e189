"""`oddshot bench`: the paper's evaluation. The commands that only report on runs are in bench_reports."""

from pathlib import Path
from typing import Annotated

import typer

from oddshot.cli.bench_decisions import decisions
from oddshot.cli.bench_field import field
from oddshot.cli.bench_options import (
    CacheDir,
    Changes,
    DataDir,
    Datasets,
    Device,
    Epochs,
    Methods,
    OnlyNames,
    Patience,
    Plugins,
    Protocol,
    RunOptions,
    RunsPath,
    Seed,
    Splits,
    StorePath,
    Workers,
)
from oddshot.cli.bench_reports import figures, table, unmixed
from oddshot.cli.options import Address, EngineName, JsonFile, check_outputs, write_json
from oddshot.cli.standard_output import frees_standard_output, output_path, say
from oddshot.data.files import named_path

MAX_PRINTED_FAILURES = 20

bench_app = typer.Typer(
    help=(
        "Run the paper's evaluation and show its results.\n\n"
        "`run` writes finished runs to a store, and `table` and `figures` read them. It can be stopped at any time: "
        "the same command computes only what is missing."
    ),
    no_args_is_help=True,
    rich_markup_mode=None,
)


@frees_standard_output
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
    training_tasks: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of training tasks; by default 400.")
    ] = None,
    seed: Seed = 0,
    change: Changes = None,
    plugin: Plugins = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run again what has failed.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the last line.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Compute the runs that the store does not have yet. Stopped at any time, the same command continues.

    \b
    Examples:
      oddshot bench run --protocol published --datasets glass,wdbc --methods eigen,lr --store results.db --data-dir data
      oddshot bench run --protocol resampled --store results.db --engine ray --address 10.0.0.1:6379
      oddshot bench run --protocol resampled --store results.db --plugin my_method.py --methods eigen,mine
    """
    from oddshot.bench.grid import Grid
    from oddshot.bench.parsing import parse_methods

    check_outputs([store], json=json_file)
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
    settings = options.make_settings(protocol, training_tasks)
    grid = Grid(options.parse_datasets(datasets), parse_methods(methods), splits, settings, source)
    counts, failed = options.fill_store(store, [grid], retry_failed)
    failures = [{name: getattr(record, name) for name in ("dataset", "split", "method", "reason")} for record in failed]
    for failure in failures[:MAX_PRINTED_FAILURES]:
        say("failed: {dataset} split {split} {method}: {reason}".format(**failure), err=True)
    say(f"{counts.done} of {counts.total} runs are done, {counts.failed} failed: {store}")
    write_json(json_file, {"total": counts.total, "done": counts.done, "failed": counts.failed, "failures": failures})
    if counts.failed:
        raise typer.Exit(1)


@frees_standard_output
def export_runs(
    store: RunsPath,
    out: Annotated[
        Path, typer.Option(parser=named_path, metavar="FILE", help="CSV file to write; - is standard output.")
    ] = Path("runs.csv"),
    brief: Annotated[
        bool,
        typer.Option("--brief", help="Write a smaller file, without the AUC of each task. It gives the same tables."),
    ] = False,
    protocol: Annotated[
        str | None, typer.Option(metavar="published|resampled", help="Export only runs of this protocol.")
    ] = None,
    datasets: OnlyNames = None,
    methods: OnlyNames = None,
    plugin: Plugins = None,
) -> None:
    """Write the runs of a store to a CSV file, which `import` and `--store` of other commands can read.

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
    dataset_names = None if datasets is None else parse_datasets(datasets)
    method_names = None if methods is None else parse_methods(methods)
    check_outputs([store], out=out)
    records = [
        record
        for record in read_runs(store)
        if protocol in (None, record.protocol)
        and (dataset_names is None or record.dataset in dataset_names)
        and (method_names is None or record.method in method_names)
    ]
    if not records:
        raise InputError(f"{store} has no such runs; nothing is written")
    with output_path(out, ".csv") as path:
        write_runs(path, records, brief=brief)
    say(f"{len(records)} runs: {out}")


def import_runs(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of exported runs, or other stores.")],
    store: StorePath,
) -> None:
    """Add exported runs to a store. Runs that it already has are not changed.

    Example: oddshot bench import gpu.csv results/published/runs.csv --store results.db
    """
    from oddshot.bench.export import read_runs
    from oddshot.bench.store import open_store

    found = [record for path in files for record in read_runs(path)]
    with open_store(store) as opened:
        before = len(opened.status())
        opened.add(found)
        say(f"{len(opened.status()) - before} new runs of {len(found)}: {store}")


for command in (run, table, unmixed, figures, field, decisions):
    bench_app.command()(command)
bench_app.command("export")(export_runs)
bench_app.command("import")(import_runs)
