"""One file over HTTP. What was received of it stays in a .part file, and the next try goes on from there."""

import http.client
import os
import urllib.request
from pathlib import Path
from urllib.error import HTTPError, URLError

from oddshot.errors import InputError

CHUNK = 2**18
TIMEOUT_S = 30


def download(url: str, target: Path, part: Path, progress: bool = True) -> None:
    """Fetches `url` to `target`, complete or not at all, going on after what `part` holds where the server allows."""
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url}: not an http or https address")
    try:
        _receive(url, part, progress)
        os.replace(part, target)
    except HTTPError as error:
        raise InputError(f"{url}: the server answers {error.code} {error.reason}") from error
    except (URLError, TimeoutError, ConnectionError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        have = part.stat().st_size if part.exists() else 0
        kept = f"; the first {have} bytes are kept, fetch again to go on" if have else ""
        raise InputError(f"cannot reach {url} ({reason}): offline?{kept}") from error
    except OSError as error:
        raise InputError(f"cannot write {part}: {error.strerror or error}") from error


def _receive(url: str, part: Path, progress: bool) -> None:
    start = part.stat().st_size if part.exists() else 0
    try:
        response = _ask(url, start)
    except HTTPError as error:
        if error.code != 416 or not start:
            raise
        if error.headers.get("Content-Range", "") == f"bytes */{start}":
            return  # all of it had arrived, only the renaming was missing
        part.unlink()  # longer than the file: the beginning of something else
        start, response = 0, _ask(url, 0)
    with response:
        if not (response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")):
            start = 0  # the server does not resume: this is the whole file again
        length = response.headers.get("Content-Length")
        total = start + int(length) if length and length.isdigit() else None
        _write(response, part, start, total, progress)
    have = part.stat().st_size
    if total is not None and have != total:
        raise http.client.HTTPException(f"the connection ended after {have} of {total} bytes")


def _ask(url: str, start: int) -> http.client.HTTPResponse:
    # identity: a server that compresses on the way would make byte offsets and checksums meaningless
    headers = {"User-Agent": "oddshot", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_S)
    assert isinstance(response, http.client.HTTPResponse)
    return response


def _write(response: http.client.HTTPResponse, part: Path, start: int, total: int | None, progress: bool) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), disable=not progress)
    with bar, part.open("ab" if start else "wb") as out:
        row = bar.add_task(part.name.removesuffix(".part"), total=total, completed=start)
        while chunk := response.read(CHUNK):
            out.write(chunk)
            bar.advance(row, len(chunk))
        out.flush()
        os.fsync(out.fileno())
