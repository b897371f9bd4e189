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
    workers: Annotated[int, typer.Option(help="Processes that share the work: as many as cores, at most.")] = 1,
    max_detectors: Annotated[int, typer.Option("--most-detectors", help="Adapted detectors kept in memory.")] = 1_000,
    time_to_live_hours: Annotated[
        float, typer.Option("--hours-kept", help="How long after its last use a detector is kept.")
    ] = 168.0,
) -> None:
    """Serve a model over HTTP: POST /v1/adapt, POST /v1/score, GET /v1/model, /healthz, /metrics, /openapi.json.

    Logs are JSON lines on stderr. SIGTERM or Ctrl-C finishes what is under way.

    Example: oddshot serve fleet.safetensors --store detectors.sqlite
    """
    from oddshot.web.address import check_address

    check_address(host, token)
    if workers < 1 or max_detectors < 1 or not time_to_live_hours > 0:
        raise InputError("--workers and --most-detectors must be at least 1, and --hours-kept above 0")
    try:
        from oddshot.service.workers import WorkerConfig, run_service
    except ImportError as error:
        if error.name not in ("fastapi", "uvicorn"):
            raise
        raise InputError(f"oddshot serve needs {error.name}: pip install -e '.[app]' in the source folder") from None
    from oddshot.service.limits import ServiceLimits

    limits = ServiceLimits(max_cached_detectors=max_detectors, time_to_live_seconds=time_to_live_hours * 3600)
    config = WorkerConfig(model, host, token, limits, store)
    run_service(config, port, workers, lambda url: typer.echo(f"listening on {url}"))
