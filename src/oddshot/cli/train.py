"""`oddshot train`: meta-train a model on labelled tables and write its file."""

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oddshot.cli.ending import INTERRUPTED
from oddshot.cli.options import (
    AnomalyValue,
    Columns,
    Device,
    Ignore,
    JsonFile,
    Kinds,
    Label,
    NormalValue,
    check_outputs,
    column_choice,
    label_meaning,
    write_json,
)
from oddshot.cli.standard_output import STANDARD_OUTPUT, frees_standard_output, say
from oddshot.cli.starting import starting
from oddshot.data.files import named_path
from oddshot.errors import InputError

if TYPE_CHECKING:
    from oddshot.data.task import Task
    from oddshot.storage.model_file import Model
    from oddshot.training import Ranks
    from oddshot.training.progress import ProgressMode


@frees_standard_output
def train(
    files: Annotated[
        list[str],
        typer.Argument(help="CSV, Parquet, ARFF, JSON-lines or Excel files (or patterns). Each file is one task."),
    ],
    label: Label,
    out: Annotated[Path, typer.Option(parser=named_path, metavar="<path>", help="File to write the model to.")],
    task: Annotated[str | None, typer.Option(help="Column that names the task, if a file holds several tasks.")] = None,
    anomaly_value: AnomalyValue = None,
    normal_value: NormalValue = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="auto|METHOD", help="Method to train; auto compares several candidates and takes the best."
        ),
    ] = "auto",
    start: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="universal|nothing|FILE",
            help="Weights to start from: the model that ships, random weights, or the file or name of a model.",
        ),
    ] = "nothing",
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the training of --out that Ctrl-C has interrupted.")
    ] = False,
    members: Annotated[
        int,
        typer.Option(
            min=1, help="Size of an ensemble: this many networks are trained together, and their mean score is used."
        ),
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same model on the same machine.")] = 0,
    device: Device = "auto",
    epochs: Annotated[int, typer.Option(help="Largest number of passes over the tasks.")] = 1000,
    patience: Annotated[int, typer.Option(help="Stop after this many epochs without a better validation AUC.")] = 50,
    support_normal: Annotated[
        int, typer.Option(min=1, help="Normal rows that training adapts to in each simulated task.")
    ] = 5,
    support_anomaly: Annotated[
        int, typer.Option(min=0, help="Anomalies that training adapts to in each simulated task.")
    ] = 1,
    query_normal: Annotated[int, typer.Option(min=1, help="Normal rows on which each simulated task is tested.")] = 25,
    query_anomaly: Annotated[int, typer.Option(min=1, help="Anomalies on which each simulated task is tested.")] = 5,
    units: Annotated[int | None, typer.Option(help="Width of the networks.", show_default="the method's own")] = None,
    ignore: Ignore = None,
    columns: Columns = None,
    kind: Kinds = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only notes and which file was written.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print a line for every epoch.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Learn from many labelled tasks, so that the model can adapt to new tasks from a few labels.

    By default, several candidates are compared on held-out tasks, and the best one becomes the model. The model that
    ships is one of them; it is kept unless another candidate is clearly better.

    Each task needs 30 labelled normal rows (5 to adapt to, 25 to test on) and 6 labelled anomalies (1 and 5). With
    fewer rows, lower --query-normal and --query-anomaly.

    Ctrl-C ends the training, writes the best model so far and exits with code 130. The same command with --resume
    continues it. A second Ctrl-C ends at once and writes nothing.

    \b
    Examples:
      oddshot train fleet/*.csv --label fault --out fleet.safetensors
      oddshot train fleet/*.csv --label fault --out fleet.safetensors --resume
      oddshot train all.parquet --task machine --label state --anomaly-value broken --out fleet.safetensors
      oddshot train fleet/*.csv --label state --anomaly-value bearing,leak --out fleet.safetensors

    On several GPUs or machines: torchrun --nproc-per-node 4 -m oddshot train ... gives the same model.
    """
    with starting(show=not quiet):
        from oddshot.data.episodes.sampling import EpisodeSizes
        from oddshot.data.files import atomic_path
        from oddshot.data.tables import find_files
        from oddshot.data.tables.tasks import tasks_of_files
        from oddshot.methods import find_method
        from oddshot.storage.model_file import to_bytes
        from oddshot.training import TrainingConfig
        from oddshot.training.candidates import AUTO
        from oddshot.training.interruption import is_interrupted
        from oddshot.training.interrupts import COMMAND_MESSAGE, catch_interrupt
        from oddshot.training.meta_training import fit_encoding, meta_train, refuse_settings_of_methods, usable_tasks
        from oddshot.training.progress import working_bar
        from oddshot.universal.names import model_file

    tell = _discard if quiet else say
    with _torchrun_processes(device) as (ranks, device):
        if method != AUTO:
            find_method(method)  # fails before the files are read
        start_model, resumed = _load_start(start), _load_resumed(out, resume)
        sizes = EpisodeSizes(support_normal, support_anomaly, query_normal, query_anomaly)
        config = TrainingConfig(epochs=epochs, patience=patience)
        hyperparameters: dict[str, Any] = {} if units is None else {"units": units}
        if method == AUTO and start_model is None:
            names = [*(["--members"] if members != 1 else []), *(f"--{name}" for name in hyperparameters)]
            refuse_settings_of_methods(names, "name a method, such as --method relative")
        paths = find_files(files)
        meaning = label_meaning(anomaly_value, normal_value)
        choice = column_choice(ignore, columns, kind, label=label, task=task)
        check_outputs(paths if start_model is None else [*paths, model_file(start)], out=out, json=json_file)
        progress = _progress_mode(quiet, verbose) if ranks.is_first else False
        with atomic_path(out) if ranks.is_first else nullcontext() as temporary:
            with working_bar("reading the tables", enabled=progress is True):
                tasks = usable_tasks(
                    tasks_of_files(paths, label, task, meaning), sizes, smaller="--query-normal, --query-anomaly"
                )
            counts = _counts(tasks)
            tell("{tasks} tasks, {rows:,} rows: {anomalies:,} anomalies, {unlabelled:,} unlabelled".format(**counts))
            with working_bar("finding out what the columns hold", enabled=progress is True):
                encoding = fit_encoding(tasks, choice)
            tell(*encoding.describe())
            started = time.perf_counter()
            with catch_interrupt(COMMAND_MESSAGE, enabled=ranks.size == 1) as stop:
                model = meta_train(
                    tasks, method=method, start=start_model, members=members, seed=seed, device=device, sizes=sizes,
                    encoding=encoding, training=config, progress=progress, ranks=ranks, stop=stop, resume=resumed,
                    **hyperparameters,
                )  # fmt: skip
                if temporary is None:
                    return
                temporary.write_bytes(to_bytes(model))
    facts = {**model.training, "seconds": round(time.perf_counter() - started, 1)}
    tell(*_describe_training(facts))
    say(f"written: {out} ({model.n_weights:,} weights)")
    write_json(json_file, {**counts, **facts})
    if is_interrupted(model):
        say(f"interrupted: {out} is the best model so far; the same command with --resume goes on", err=True)
        raise typer.Exit(INTERRUPTED)


def _discard(*lines: object) -> None:
    """Print nothing, in place of say."""


def _progress_mode(quiet: bool, verbose: bool) -> "ProgressMode":
    """How progress is shown."""
    if quiet and verbose:
        raise InputError("--quiet and --verbose exclude each other")
    return False if quiet else "epochs" if verbose else True


def _load_resumed(out: Path, resume: bool) -> "Model | None":
    """The model to go on from with --resume; None where there is none yet, and training starts."""
    from oddshot.storage.model_file import load_model
    from oddshot.training.interruption import is_interrupted

    if out == STANDARD_OUTPUT:
        raise InputError("--out -: a model is not printed; name a file")
    if not resume or not out.exists():
        return None
    model = load_model(out)
    if not is_interrupted(model):
        raise InputError(f"{out}: its training was not interrupted; without --resume, it is trained anew")
    return model


def _describe_training(facts: dict[str, Any]) -> list[str]:
    """Lines for people: the candidates and what was chosen, or how training went."""
    if "candidates" not in facts:
        auc, best, epochs = facts["validation_auc"], facts["best_epoch"], facts["epochs"]
        return [f"validation AUC {auc:.3f}, best epoch {best} of {epochs}, {facts['seconds']:.0f} s"]
    candidates, chosen = facts["candidates"], facts["chosen"]
    width = max(map(len, candidates))
    n_tasks = facts["validation_tasks"]
    lines = [f"AUC of the candidates on {n_tasks} held-out task{'s' * (n_tasks > 1)}, and lead over what ships:"]
    for title, figure in candidates.items():
        lead = "" if title == next(iter(candidates)) else f"  {figure['lead']:+.3f} ± {figure['standard_error']:.3f}"
        lines.append(f"{'*' if title == chosen else ' '} {title:<{width}}  {figure['auc']:.3f}{lead}")
    reason = "no other is clearly better" if chosen == next(iter(candidates)) else "the best one"
    return [*lines, f"chosen: {chosen} ({reason}), {facts['seconds']:.0f} s"]


def _load_start(name: str) -> "Model | None":
    """The model that --from names, from which training continues; None for `nothing`."""
    from oddshot.universal.shipped import find_model

    return None if name == "nothing" else find_model(name)


@contextmanager
def _torchrun_processes(device: str) -> Iterator[tuple["Ranks", str]]:
    """Join the processes that torchrun started; yields them and this one's device. Only the first prints and writes."""
    from oddshot.errors import OddshotError
    from oddshot.training import torchrun_ranks

    with torchrun_ranks(device) as (ranks, own_device):
        if ranks.is_first:
            yield ranks, own_device
            return
        with open(os.devnull, "w") as discarded, redirect_stdout(discarded), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                yield ranks, own_device
            except OddshotError:
                raise typer.Exit(2) from None


def _counts(tasks: "Sequence[Task]") -> dict[str, int]:
    return {
        "tasks": len(tasks),
        "rows": sum(len(task.y) for task in tasks),
        "anomalies": sum(int((task.y == 1).sum()) for task in tasks),
        "unlabelled": sum(int((task.y == -1).sum()) for task in tasks),
    }
