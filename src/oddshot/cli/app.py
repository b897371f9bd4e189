"""`oddshot app`: label a few rows of a table on a local web page and see its ranking change."""

from pathlib import Path
from typing import Annotated

import typer

from oddshot.cli.options import AnomalyValue, NormalValue, label_meaning
from oddshot.cli.standard_output import say


def app_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Tables to open, and a model: its file or its name. The default is the model that ships."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column of the tables that holds labels.")] = None,
    anomaly_value: AnomalyValue = None,
    normal_value: NormalValue = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Only addresses that other machines cannot reach are allowed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the page; 0 takes any free port.")] = 8765,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    max_upload_mib: Annotated[
        int, typer.Option("--max-upload", min=1, help="Largest file that is accepted, in MiB.")
    ] = 2048,
) -> None:
    """Open a local web page on which you label a few rows of a table and see how the ranking of its rows changes.

    Drop a CSV or Parquet file on the page, name it here, or open the example on the page. The page works offline, and
    no data leaves this machine. Labels are kept from one run to the next. Ctrl-C stops the command.

    Examples: oddshot app, or oddshot app machines.csv --label fault
    """
    import logging
    import webbrowser

    from threadpoolctl import threadpool_limits

    from oddshot.errors import InputError, missing_package

    try:
        from oddshot.app.routes import make_app
        from oddshot.app.uploads import open_labelled
        from oddshot.web.address import is_loopback
        from oddshot.web.logs import log_to_stderr
        from oddshot.web.serving import serve
    except ModuleNotFoundError as error:
        raise missing_package("the app", error.name or "a package", "fastapi uvicorn") from None
    from oddshot.app.saved_edits import labels_folder
    from oddshot.data.tables.readers import has_table_suffix
    from oddshot.universal.shipped import find_model

    if not is_loopback(host):
        raise InputError(f"{host} can be reached by other machines; the app is for one person: use 127.0.0.1")
    threadpool_limits(
        1
    )  # rows are scored in several threads already, with which those of matrix products would compete
    log_to_stderr(logging.WARNING)
    tables = [path for path in files or () if has_table_suffix(path)]
    models = [path for path in files or () if not has_table_suffix(path)]
    if len(models) > 1:
        raise InputError(f"{models[0]} and {models[1]} are not tables by their names; one model can be given")
    if label is not None and not tables:
        raise InputError("--label names a column of the tables to open, but no table is given")
    meaning = label_meaning(anomaly_value, normal_value)
    if meaning.named and label is None:
        raise InputError("--anomaly-value and --normal-value tell what the values of --label mean; no --label is given")
    loaded = find_model(models[0] if models else None)
    page = make_app(loaded, labels_folder(), host, max_upload_mib * 2**20)
    for path in tables:
        open_labelled(page.state.workspace, path, label, meaning)

    def on_ready(url: str) -> None:
        say(f"the app is at {url} (Ctrl-C stops it)")
        if browser:
            webbrowser.open(url)

    serve(page, host, port, on_ready)
