"""Connections: one that asks for nothing is closed, so that however many there are, others are answered."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from bopp.dashboard.gate import HEADERS

SILENT = 10.0  # seconds that a connection may take to ask for something, or to read some of the answer
MOST = 512  # connections; beyond that, those that have asked for nothing are closed, the oldest first
HEARD = 0.1  # seconds in which a new one can say what it wants, however many come at the same time


class Connection(H11Protocol):
    """A connection as uvicorn serves it, with an end to its patience."""

    _timer: asyncio.TimerHandle | None = None
    _unread = sys.maxsize  # bytes of the answer that were left when the patience ended last
    _waiting: dict[Connection, float] = {}  # noqa: RUF012 - of all connections; since when, the oldest first

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST:
            self.loop.call_later(HEARD, self._make_room, self._waiting[self])

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._unread = sys.maxsize
        self._wait()  # be it to be closed: it may never be read to the end

    def shutdown(self) -> None:
        """Let an answer be finished, but a stream of events, which has no end, be cut."""
        super().shutdown()
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Say that this is no HTTP, unless it came in the midst of a request or after its answer."""
        if self.conn.our_state is h11.IDLE:
            said = {"Content-Type": "text/plain; charset=utf-8", "Connection": "close", **HEADERS}
            answer = h11.Response(status_code=400, reason=b"Bad Request", headers=list(said.items()))
            for event in (answer, h11.Data(data=msg.encode()), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting[self] = self.loop.time()
        self._timer = self.loop.call_later(SILENT, self._end_of_patience)

    def _stop_waiting(self) -> None:
        self._waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_of_patience(self) -> None:
        unread = self.transport.get_write_buffer_size()
        if 0 < unread < self._unread:  # a long answer, over a slow network
            self._unread = unread
            self._wait()
        else:
            self._give_up()

    def _make_room(self, until: float) -> None:
        """Close the oldest of those that have asked for nothing, but none that came later than this."""
        oldest = next(iter(self._waiting), None)
        if oldest is not None and self._waiting[oldest] <= until and len(self.connections) > MOST:
            oldest._give_up()

    def _give_up(self) -> None:
        self._stop_waiting()
        self.transport.abort()
