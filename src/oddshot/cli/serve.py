"""`oddshot serve`: a REST service that adapts and scores."""

from pathlib import Path
from typing import Annotated

import typer

from oddshot.cli.standard_output import say
from oddshot.errors import InputError, missing_package


def serve(
    model: Annotated[
        Path | None,
        typer.Argument(help="File or name of a model. Without it, the model that ships is served."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. An address that other machines can reach needs --token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free port.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="ODDSHOT_TOKEN",
            help="Token that clients must send, as Authorization: Bearer TOKEN.",
            show_envvar=True,
        ),
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="SQLite file that keeps adapted detectors, so that they survive a restart.")
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Number of processes that share the work; at most the number of cores.")
    ] = 1,
    max_detectors: Annotated[
        int, typer.Option("--most-detectors", help="Largest number of adapted detectors in memory.")
    ] = 1_000,
    cache_mb: Annotated[
        int, typer.Option("--cache-mb", help="Memory for adapted detectors in each worker, in MiB.")
    ] = 1_024,
    request_seconds: Annotated[
        float,
        typer.Option(help="Longest time for a request, in seconds. A request that takes longer is answered with 503."),
    ] = 10.0,
    time_to_live_hours: Annotated[
        float, typer.Option("--hours-kept", help="How many hours a detector is kept after its last use.")
    ] = 168.0,
) -> None:
    """Serve a model over HTTP: POST /v1/adapt, POST /v1/score, GET /v1/model, /healthz, /metrics, /openapi.json.

    Logs are JSON lines on stderr. On SIGTERM or Ctrl-C, requests that are running are finished first.

    Example: oddshot serve fleet.safetensors --store detectors.sqlite
    """
    from oddshot.web.address import check_address

    check_address(host, token)
    if min(workers, max_detectors, cache_mb) < 1:
        raise InputError("--workers, --most-detectors and --cache-mb must be at least 1")
    if not (request_seconds > 0 and time_to_live_hours > 0):
        raise InputError("--request-seconds and --hours-kept must be above 0")
    try:
        from oddshot.service.workers import WorkerConfig, run_service
    except ImportError as error:
        if error.name not in ("fastapi", "uvicorn"):
            raise
        raise missing_package("oddshot serve", error.name, "fastapi uvicorn") from None
    from oddshot.service.limits import ServiceLimits

    limits = ServiceLimits(
        max_cached_detectors=max_detectors,
        max_cached_bytes=cache_mb * 2**20,
        max_seconds=request_seconds,
        time_to_live_seconds=time_to_live_hours * 3600,
    )
    config = WorkerConfig(model, host, token, limits, store)
    run_service(config, port, workers, lambda url: say(f"listening on {url}"))
