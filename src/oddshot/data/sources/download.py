"""Download a file over HTTP; an interrupted download is kept in a .part file and resumed by the next one."""

import http.client
import os
import urllib.request
from pathlib import Path
from urllib.error import HTTPError, URLError

from oddshot.errors import InputError, file_error

CHUNK_BYTES = 2**18
TIMEOUT_SECONDS = 30
_RANGE_NOT_SATISFIABLE, _PARTIAL_CONTENT = 416, 206


def download(url: str, target: Path, part: Path, progress: bool = True) -> None:
    """Download `url` to `target`, complete or not at all; resume after the bytes in `part` if the server allows it."""
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url}: not an http or https address")
    try:
        _receive(url, part, progress)
        os.replace(part, target)
    except HTTPError as error:
        raise InputError(f"{url}: the server answers {error.code} {error.reason}") from error
    except (URLError, TimeoutError, ConnectionError, http.client.HTTPException) as error:
        reason = str(error.reason if isinstance(error, URLError) else error) or type(error).__name__
        n_bytes = _size(part)
        kept = f"; the first {n_bytes} bytes are kept, fetch again to go on" if n_bytes else ""
        raise InputError(f"cannot reach {url} ({reason}): offline?{kept}") from error
    except OSError as error:
        raise file_error("write", part, error) from error


def _receive(url: str, part: Path, progress: bool) -> None:
    """Append what is missing in `part`, or write the whole file if the server cannot resume."""
    start = _size(part)
    try:
        response = _request(url, start)
    except HTTPError as error:
        if error.code != _RANGE_NOT_SATISFIABLE or not start:
            raise
        if error.headers.get("Content-Range", "") == f"bytes */{start}":
            return  # the file is complete, and only has to be renamed
        part.unlink()  # longer than the file on the server: part of another file
        start, response = 0, _request(url, 0)
    with response:
        content_range = response.headers.get("Content-Range", "")
        if not (response.status == _PARTIAL_CONTENT and content_range.startswith(f"bytes {start}-")):
            start = 0  # the server does not resume: this is the whole file
        length = response.headers.get("Content-Length")
        total = start + int(length) if length and length.isdigit() else None
        _write(response, part, start, total, progress)
    n_bytes = _size(part)
    if total is not None and n_bytes != total:
        raise http.client.HTTPException(f"the connection ended after {n_bytes} of {total} bytes")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _request(url: str, start: int) -> http.client.HTTPResponse:
    """Request the file from byte `start` on."""
    # identity: byte offsets and checksums are those of the file, not of a compressed transfer
    headers = {"User-Agent": "oddshot", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_SECONDS)
    assert isinstance(response, http.client.HTTPResponse)
    return response


def _write(response: http.client.HTTPResponse, part: Path, start: int, total: int | None, progress: bool) -> None:
    """Write the response to `part` from byte `start` on, with a progress bar on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), disable=not progress)
    with bar, part.open("ab" if start else "wb") as out:
        bar_task = bar.add_task(part.name.removesuffix(".part"), total=total, completed=start)
        while chunk := response.read(CHUNK_BYTES):
            out.write(chunk)
            bar.advance(bar_task, len(chunk))
        out.flush()
        os.fsync(out.fileno())
