"""`oddshot demo`: training and scoring on data that ships with scikit-learn."""

from pathlib import Path
from typing import Annotated

import typer

from oddshot.cli.options import Device, JsonFile, check_outputs, write_json
from oddshot.cli.standard_output import frees_standard_output, say


@frees_standard_output
def demo(
    out: Annotated[Path, typer.Option(help="PNG file for a picture of one task in three spaces.")] = Path("demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random tasks.")] = 0,
    device: Device = "auto",
    json_file: JsonFile = None,
) -> None:
    """Detect anomalies among handwritten digits, given five normal rows and one anomaly; takes about a minute.

    In each task one digit is normal and other digits are anomalies. Two methods are trained on tasks of the digits 0
    to 5. All methods are then tested on tasks of the digits 0 to 5, and of the digits 6 to 9, which were not part of
    training. The model that ships is tested without further training.
    """
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from oddshot.bench.demo import CONFIG, run_demo
    from oddshot.bench.spaces import draw_task_spaces
    from oddshot.data.files import atomic_path
    from oddshot.training.progress import training_bar

    check_outputs([], out=out, json=json_file)
    say("Training on the digits 0 to 5; then 6 to 9, five normal rows and one anomaly labelled in each task.")
    with atomic_path(out) as picture:  # fails before the training if the folder does not exist
        with training_bar(CONFIG) as on_epoch:
            result = run_demo(seed, device, on_epoch)
        draw_task_spaces(result.spaces, picture, "One new task, as the trained model sees it")
    table = Table("mean AUC", "digits 0 to 5", "digits 6 to 9, never seen", title=f"trained in {result.seconds:.0f} s")
    known, new = (
        {name: float(np.mean(aucs)) for name, aucs in by_method.items()} for by_method in (result.known, result.new)
    )
    for name in sorted(new, key=lambda name: -new[name]):
        standard_error = np.std(result.new[name], ddof=1) / len(result.new[name]) ** 0.5
        table.add_row(name, f"{known[name]:.3f}", f"{new[name]:.3f} ± {standard_error:.3f}")
    Console().print(table)
    say(f"drawn: {out}")
    write_json(json_file, {"known": known, "new": new, "seconds": result.seconds})
