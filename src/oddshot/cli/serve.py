"""`oddshot serve`: a REST service that adapts and scores."""

from pathlib import Path
from typing import Annotated

import typer

from oddshot.errors import InputError


def serve(
    model: Annotated[
        Path | None, typer.Argument(help="A file that `oddshot train` wrote; without one, the model that ships.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; a public one needs --token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any free one.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="ODDSHOT_TOKEN", help="Clients must send it: Authorization: Bearer TOKEN.", show_envvar=True
        ),
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="SQLite file that keeps adapted detectors, so that a restart loses none.")
    ] = None,
    most_detectors: Annotated[int, typer.Option(help="Adapted detectors kept in memory.")] = 1_000,
    hours_kept: Annotated[float, typer.Option(help="How long after its last use a detector is kept.")] = 168.0,
) -> None:
    """Serve a model over HTTP: POST /v1/adapt, POST /v1/score, GET /v1/model, /healthz, /metrics, /openapi.json.

    Logs are JSON lines on stderr. SIGTERM or Ctrl-C finishes what is under way.

    Example: oddshot serve fleet.safetensors --store detectors.sqlite
    """
    from oddshot.web.address import check_address

    check_address(host, token)
    if most_detectors < 1 or not hours_kept > 0:
        raise InputError("--most-detectors must be at least 1, and --hours-kept above 0")
    _start(model, host, port, token, store, most_detectors, hours_kept * 3600)


def _start(
    model: Path | None, host: str, port: int, token: str | None, store: Path | None, most: int, seconds: float
) -> None:
    import warnings

    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise InputError(f"oddshot serve needs {error.name}: pip install 'oddshot[app]'") from None
    import torch

    from oddshot.modelfile import load_model
    from oddshot.service.limits import Limits
    from oddshot.service.routes import build_service
    from oddshot.service.store import Store
    from oddshot.universal.shipped import load_universal
    from oddshot.web.logs import log_to_stderr
    from oddshot.web.serving import serve as run

    torch.set_num_threads(1)  # requests are the work that is shared out
    warnings.simplefilter("ignore")  # they would tell of data; a client gets them as notes
    limits = Limits(most_detectors=most, seconds_kept=seconds)
    loaded = load_universal() if model is None else load_model(model)
    kept = None if store is None else Store(store, limits)
    log_to_stderr()
    run(build_service(loaded, host, token, limits, kept), host, port, lambda url: typer.echo(f"listening on {url}"))
