"""Options that several commands of `oddshot bench` share, and what they are turned into."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oddshot.cli.standard_output import say

if TYPE_CHECKING:
    from oddshot.bench.grid import Grid, RunCounts
    from oddshot.bench.plugins import DatasetSource
    from oddshot.bench.record import RunRecord
    from oddshot.bench.settings import RunSettings

StorePath = Annotated[Path, typer.Option(metavar="FILE", help="SQLite file that keeps finished runs.")]
RunsPath = Annotated[
    Path, typer.Option("--store", metavar="FILE", help="A store of runs, or a runs.csv that was exported from one.")
]
Protocol = Annotated[
    str,
    typer.Option(
        metavar="published|resampled", help="Take the fixed rows behind the paper's Table 1, or draw rows at random."
    ),
]
Datasets = Annotated[
    str,
    typer.Option(
        metavar="A,B",
        help="Names of datasets, `outlier` (the paper's 22 tables) or `all` (those on this machine); -A leaves A out.",
    ),
]
Methods = Annotated[
    str, typer.Option(metavar="A,B", help="Names of methods, or `all` (the paper's 13 methods and 3 ablations).")
]
Splits = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Number of splits of each dataset into training, validation and target tasks."
    ),
]
DataDir = Annotated[
    str | None, typer.Option("--data-dir", metavar="DIR", help="Folder with datasets as NAME.npz files.")
]
CacheDir = Annotated[str | None, typer.Option("--cache-dir", metavar="DIR", help="Folder with downloaded datasets.")]
Workers = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Number of processes. By default one per core, and one with CUDA."),
]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto, which takes CUDA if it is available.")]
Epochs = Annotated[int | None, typer.Option(min=1, metavar="N", help="Largest number of epochs; by default 1000.")]
Patience = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Stop after this many epochs without a better validation AUC; by default 50."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the random splits.")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a setting, for example eigen.units=128, training.batch_size=64 or sizes.query_normal=9.",
    ),
]
Plugins = Annotated[
    list[Path] | None,
    typer.Option("--plugin", metavar="FILE", help="A Python file that registers methods or datasets."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where", metavar="NAME=VALUE", help="Use only runs with this setting, for example training.epochs=1000."
    ),
]
AucName = Annotated[
    str | None,
    typer.Option(
        "--auc",
        metavar="strict|half",
        help="Count ties as errors (strict, as published) or as one half (as resampled).",
    ),
]
OnlyNames = Annotated[str | None, typer.Option(metavar="A,B", help="Use only these, separated by commas.")]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options by which `run` and `figures --run` say how runs are made."""

    data_dir: str | None
    cache_dir: str | None
    plugins: list[Path] | None
    engine: str
    address: str | None
    workers: int | None
    device: str
    epochs: int | None
    patience: int | None
    seed: int
    changes: list[str] | None
    quiet: bool

    def load_source(self) -> "DatasetSource":
        """Load the plugins. Returns the source of all datasets."""
        from oddshot.bench.plugins import make_dataset_source

        return make_dataset_source(self.data_dir, self.cache_dir, self.plugins or [])

    def parse_datasets(self, text: str) -> tuple[str, ...]:
        """Dataset names from a comma-separated list; `all` looks into the given folders."""
        from oddshot.bench.parsing import parse_datasets

        return parse_datasets(text, self.data_dir, self.cache_dir)

    def make_settings(self, protocol: str, n_training: int | None = None) -> "RunSettings":
        """The settings of the runs."""
        from oddshot.bench.parsing import make_settings

        return make_settings(
            protocol,
            self.changes or [],
            epochs=self.epochs,
            patience=self.patience,
            n_training=n_training,
            seed=self.seed,
        )

    def fill_store(
        self, store: Path, grids: "Sequence[Grid]", retry_failed: bool = False
    ) -> "tuple[RunCounts, list[RunRecord]]":
        """Run what the store lacks of the grids; Ctrl-C ends the command with a line that says how to continue."""
        from oddshot.bench.engines import make_engine
        from oddshot.bench.runner import fill_store

        engine = make_engine(self.engine, self.address, self.workers, self.device)
        with _explain_interrupt():
            return fill_store(store, grids, engine, device=self.device, retry_failed=retry_failed, quiet=self.quiet)


@contextmanager
def _explain_interrupt() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say("stopped; finished runs are kept, the same command goes on from there", err=True)
        raise typer.Exit(130) from None
