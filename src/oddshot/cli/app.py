"""`oddshot app`: label a few rows of a table on a local web page and see its ranking change."""

from pathlib import Path
from typing import Annotated

import typer


def app_command(
    model: Annotated[
        Path | None, typer.Argument(help="A file that `oddshot train` wrote; without one, the model that ships.")
    ] = None,
    host: Annotated[str, typer.Option(help="An address of this machine that no other one can reach.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Where the page is; 0 for any free port.")] = 8765,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    max_upload_mib: Annotated[
        int, typer.Option("--max-upload", min=1, help="The largest table to take, in MiB.")
    ] = 2048,
) -> None:
    """Label a few rows of a table on a local web page and see its ranking change.

    Drop a CSV or Parquet file on the page or take the example there. It works offline, and nothing leaves this machine.
    Labels are kept from one run to the next. Stop it with Ctrl-C.
    """
    import logging
    import webbrowser

    import torch

    from oddshot.errors import InputError

    try:
        from oddshot.app.routes import make_app
        from oddshot.web.address import is_loopback
        from oddshot.web.logs import log_to_stderr
        from oddshot.web.serving import serve
    except ModuleNotFoundError as error:
        raise InputError(f"the app needs {error.name}: pip install -e '.[app]' in the source folder") from None
    from oddshot.app.saved_labels import labels_folder
    from oddshot.storage.model_file import load_model
    from oddshot.universal.shipped import load_universal

    if not is_loopback(host):
        raise InputError(f"{host} can be reached by other machines; the app is for one person: use 127.0.0.1")
    torch.set_num_threads(1)  # rows are scored in several threads already, with which torch's would compete
    log_to_stderr(logging.WARNING)
    loaded = load_universal() if model is None else load_model(model)
    page = make_app(loaded, labels_folder(), host, max_upload_mib * 2**20)

    def on_ready(url: str) -> None:
        typer.echo(f"the app is at {url} (Ctrl-C stops it)")
        if browser:
            webbrowser.open(url)

    serve(page, host, port, on_ready)
