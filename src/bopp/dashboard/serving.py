"""Serving: a server for the pages, which ends as other commands do."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Callable

import h11
import uvicorn

from bopp.dashboard.access import Hosts, is_anywhere, is_local
from bopp.dashboard.application import application
from bopp.dashboard.state import State
from bopp.errors import ConfigError, StoreError

PORT, TRIED = 8765, 20  # the first port, and how many are tried if it is taken
AT_STOP = 1  # seconds for answers that are under way when the server is stopped
LARGEST_HEAD = 32 * 1024  # bytes of the headers of a request
OPEN_TO_OTHERS = (
    "Others can reach this: whoever has a link can see and change the studies, and so can whoever listens on "
    "the network, as it is not encrypted"
)


class Server(uvicorn.Server):
    """A server of the pages.

    `say` is told a link that lets one browser in; if it `repeats`, the next one when that is used.
    """

    def __init__(
        self, state: State, host: str, port: int | None, say: Callable[[str], None], repeats: bool = False
    ):
        self._state, self._host, self._say, self._repeats = state, host, say, repeats
        self._listening = bound(host, port)
        number = self._listening.getsockname()[1]
        self._address = f"http://{_called(host)}:{number}"
        config = uvicorn.Config(
            application(state, Hosts(host, number), f"bopp-{number}", self._entered),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",  # what is wrong with a request is told to who sent it
            access_log=False,  # it would have the links in it
            server_header=False,
            proxy_headers=False,  # anybody could say by them that a request came over https
            timeout_graceful_shutdown=AT_STOP,
            h11_max_incomplete_event_size=LARGEST_HEAD,
        )
        super().__init__(config)
        for name in ("uvicorn.error", "asyncio"):
            logging.getLogger(name).addFilter(_is_fault)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until it is stopped."""
        super().run(sockets=sockets or [self._listening])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and say where."""
        await self._state.prepare()
        await super().startup(sockets)
        if not is_local(self._host):
            self._say(OPEN_TO_OTHERS)
        self._tell("To open the dashboard, once")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop, and end everything that was begun."""
        self._state.end_streams()
        await super().shutdown(sockets)
        self._state.close()

    def _entered(self) -> None:
        if self._repeats:
            self._tell("For another browser")

    def _tell(self, words: str) -> None:
        self._say(f"{words}: {self._address}/enter?token={self._state.sessions.link(float('inf'))}")


def _is_fault(record: logging.LogRecord) -> bool:
    """Whether a record tells of more than a client that broke HTTP in the middle of a request."""
    return not (record.exc_info and isinstance(record.exc_info[1], h11.LocalProtocolError))


def bound(host: str, port: int | None) -> socket.socket:
    """A socket that listens; if no port is said, on the first that is free."""
    for one in range(PORT, PORT + TRIED) if port is None else [port]:
        try:
            kind, _, _, _, address = socket.getaddrinfo(host, one, type=socket.SOCK_STREAM)[0]
        except (OSError, UnicodeError) as error:
            raise ConfigError(
                f"--host: wanted a name or an address of this machine, got {host!r}: {error}"
            ) from None
        listening = socket.socket(kind)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen()
            return listening
        except OSError as error:
            listening.close()
            if error.errno != errno.EADDRINUSE or port is not None:
                raise StoreError(f"cannot listen on {host}, port {one}: {error.strerror}") from None
    raise StoreError(f"cannot listen on {host}: ports {PORT} to {PORT + TRIED - 1} are taken")


def _called(host: str) -> str:
    """What to call a server that listens there."""
    name = socket.gethostname() if is_anywhere(host) else host
    return f"[{name}]" if ":" in name else name
