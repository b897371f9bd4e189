"""Download a file over HTTP; an interrupted download is kept in a .part file and resumed by the next one."""

import http.client
import os
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

from oddshot.errors import CapacityError, InputError, file_error, printable

CHUNK_BYTES = 2**18
TIMEOUT_SECONDS = 30  # without a byte
MAX_BYTES = 8 * 2**30  # four times the largest archive
SLOW_SECONDS, SLOW_BYTES = 60, 60 * 2**10  # a server that sends less in this time is given up
_RANGE_NOT_SATISFIABLE, _PARTIAL_CONTENT = 416, 206


def download(url: str, target: Path, part: Path, progress: bool = True) -> None:
    """Download `url` to `target`, complete or not at all; resume after the bytes in `part` if the server allows it."""
    if not _is_http(url):
        raise InputError(f"{url}: not an http or https address")
    try:
        _receive(url, part, progress)
        os.replace(part, target)
    except HTTPError as error:
        raise InputError(f"{url}: the server answers {error.code} {printable(error.reason)}") from error
    except (URLError, TimeoutError, ConnectionError, http.client.HTTPException) as error:
        reason = str(error.reason if isinstance(error, URLError) else error) or type(error).__name__
        n_bytes = _size(part)
        kept = f"; the first {n_bytes} bytes are kept, fetch again to go on" if n_bytes else ""
        hint = f"offline? Files that you have are read with --data-dir{kept}"
        raise InputError(f"cannot reach {url} ({printable(reason)}): {hint}") from error
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


def _is_http(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


class _HttpRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https only."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """The next request."""
        if not _is_http(newurl):
            raise InputError(f"{req.full_url}: redirects to {printable(newurl[:80])}, not an http or https address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _request(url: str, start: int) -> http.client.HTTPResponse:
    """Request the file from byte `start` on."""
    # identity: byte offsets and checksums are those of the file, not of a compressed transfer
    headers = {"User-Agent": "oddshot", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    opener = urllib.request.build_opener(_HttpRedirects)
    response = opener.open(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_SECONDS)
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
        for chunk in _chunks(response, MAX_BYTES - start):
            out.write(chunk)
            bar.advance(bar_task, len(chunk))
        out.flush()
        os.fsync(out.fileno())


def _chunks(response: http.client.HTTPResponse, max_bytes: int) -> Iterator[bytes]:
    """Yield what the server sends, as it arrives; too much of it or too slowly is an error."""
    n_bytes = n_before = 0
    since = time.monotonic()
    while chunk := response.read1(CHUNK_BYTES):
        n_bytes += len(chunk)
        if n_bytes > max_bytes:
            raise CapacityError(f"{response.url}: sends more than {MAX_BYTES} bytes; refused")
        yield chunk
        if time.monotonic() - since > SLOW_SECONDS:
            if n_bytes - n_before < SLOW_BYTES:
                raise TimeoutError(f"less than {SLOW_BYTES} bytes in {SLOW_SECONDS} seconds")
            n_before, since = n_bytes, time.monotonic()
