"""`oddshot demo`: the first thing a newcomer runs."""

from pathlib import Path
from typing import Annotated

import typer

from oddshot.cli.options import Device, JsonFile, write_json


def demo(
    out: Annotated[Path, typer.Option(help="Where to draw the three spaces of one task.")] = Path("demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Other seeds give other tasks.")] = 0,
    device: Device = "auto",
    json_file: JsonFile = None,
) -> None:
    """Train and score on data that ships with scikit-learn, in about a minute.

    400 tasks are made of one small medical table by random mixing of its columns; the trained model then meets 50
    mixings it has not seen, with five normal rows and one anomaly labelled in each.
    """
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from oddshot.data.files import atomic_path
    from oddshot.demo import CONFIG, run_demo
    from oddshot.progress import training_bar
    from oddshot.spaces import draw_spaces

    typer.echo("Learning from 400 tasks; then 50 new ones, five normal rows and one anomaly labelled in each.")
    with atomic_path(out) as picture:  # a folder that is not there shows now, not after the training
        with training_bar(CONFIG) as on_epoch:
            result = run_demo(seed, device, on_epoch)
        draw_spaces(result.spaces, picture, "One new task, as the trained model sees it")
    table = Table("method", "mean AUC", "± standard error", title=f"new tasks (trained in {result.seconds:.0f} s)")
    mean = {name: float(np.mean(values)) for name, values in result.aucs.items()}
    for name, value in sorted(mean.items(), key=lambda item: -item[1]):
        spread = np.std(result.aucs[name], ddof=1) / len(result.aucs[name]) ** 0.5
        table.add_row(name, f"{value:.3f}", f"{spread:.3f}")
    Console().print(table)
    typer.echo(f"drawn: {out}")
    write_json(json_file, {"auc": mean, "seconds": result.seconds})
