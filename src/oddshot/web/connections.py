"""Connections that are closed when they wait too long, and of which there are not too many."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0  # from the first byte of a request, or the connection, to the end of its headers
STALLED_READER_SECONDS = 30.0  # in which a client takes nothing of its response
MAX_CONNECTIONS = 1_000  # of a process
RESERVED_FILES = 64  # descriptors that connections leave to the store, the model and the libraries
ADDRESS_SHARE = 0.75  # of the connections that one address may have

_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n"
    b'content-length: 45\r\n\r\n{"error":"too many connections; try again"}\r\n'
)


class GuardedConnection(H11Protocol):
    """A connection with timeouts for headers and readers; for a new one too many, the longest waiting one is closed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.waiting_since = self.loop.time()
        self._header_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being handled: its headers are incomplete, or there is none."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or refuse it when there are too many."""
        super().connection_made(transport)
        most = most_connections()
        others = [one for one in self.connections if one is not self and isinstance(one, GuardedConnection)]
        same_address = [one for one in others if one.client and self.client and one.client[0] == self.client[0]]
        if self._makes_room(others, most) and self._makes_room(same_address, int(ADDRESS_SHARE * most)):
            self._header_timer = self.loop.call_later(HEADER_SECONDS, self._close_if_waiting)
            return
        transport.write(_REFUSAL)
        transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        _cancel(self._header_timer)
        _cancel(self._reader_timer)

    def data_received(self, data: bytes) -> None:
        """Handle a part of a request, and measure the time until its headers are complete."""
        super().data_received(data)
        if not self.is_waiting:
            _cancel(self._header_timer)
            self._header_timer = None
        elif self._header_timer is None and not self.transport.is_closing():
            self._header_timer = self.loop.call_later(HEADER_SECONDS, self._close_if_waiting)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.waiting_since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait for a client that does not take its response, but not for ever."""
        super().pause_writing()
        self._reader_timer = self.loop.call_later(STALLED_READER_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on with the response."""
        super().resume_writing()
        _cancel(self._reader_timer)

    @staticmethod
    def _makes_room(others: "list[GuardedConnection]", most: int) -> bool:
        """Whether there is room for one more, if need be because the one that waits longest is closed."""
        if len(others) < most:
            return True
        waiting = [one for one in others if one.is_waiting and not one.transport.is_closing()]
        if waiting:
            min(waiting, key=lambda one: one.waiting_since).transport.abort()
        return bool(waiting)

    def _close_if_waiting(self) -> None:
        self._header_timer = None
        if self.is_waiting:
            self.transport.abort()


def most_connections() -> int:
    """How many connections this process takes: MAX_CONNECTIONS, or as many as it may open files."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MAX_CONNECTIONS
    n_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_CONNECTIONS if n_files < 0 else max(8, min(MAX_CONNECTIONS, n_files - RESERVED_FILES))


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
