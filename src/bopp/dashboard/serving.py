"""Serving: a server for the pages, which ends as other commands do."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from bopp.dashboard.application import application
from bopp.dashboard.board import Board
from bopp.dashboard.connections import Connection
from bopp.dashboard.gate import Hosts, is_anywhere, is_local
from bopp.errors import ConfigError, StoreError

PORT, TRIED = 8765, 20  # the first port, and how many are tried if it is taken
AT_STOP = 1  # seconds for answers that are under way when the server is stopped
LARGEST_HEAD = 32 * 1024  # bytes of the headers of a request
QUEUE = 4096  # connections that may come at once; a browser beyond that tries again a second later
AT_A_TIME = 128  # of those that are accepted before others are heard
FILES = 4096  # connections, files and pipes that may be open at once, if the machine allows it
OPEN_TO_OTHERS = (
    "Others can reach this: whoever has a link can see and change the studies, and so can whoever listens on "
    "the network, as it is not encrypted"
)


def serve(
    source: str, host: str, port: int | None, read_only: bool, say: Callable[[str], None], repeats: bool
) -> None:
    """Serve the studies of a source until it is stopped.

    `say` is told a link that lets one browser in; if it `repeats`, the next one when that is used.
    """
    board = Board.of(source, read_only)
    listening = bound(host, port)
    number = listening.getsockname()[1]
    address = f"http://{_called(host)}:{number}"

    def tell(words: str) -> None:
        say(f"{words}: {address}/enter?token={board.keys.link(float('inf'))}")

    def ready() -> None:
        if not is_local(host):
            say(OPEN_TO_OTHERS)
        tell("To open the dashboard, once")

    def entered() -> None:
        if repeats:
            tell("For another browser")

    config = uvicorn.Config(
        application(board, Hosts(host, number), f"bopp-{number}", ready, entered),
        http=Connection,
        backlog=AT_A_TIME,
        ws="none",
        log_config=None,
        log_level="error",  # what is wrong with a request is told to who sent it
        access_log=False,  # it would have the links in it
        server_header=False,
        proxy_headers=False,  # anybody could say by them that a request came over https
        timeout_graceful_shutdown=AT_STOP,
        h11_max_incomplete_event_size=LARGEST_HEAD,
    )
    _allow_files()
    uvicorn.Server(config).run(sockets=[listening])


class Listening(socket.socket):
    """A socket at which many can queue up, however few are accepted at a time."""

    def listen(self, _: int = 0) -> None:
        super().listen(QUEUE)


def bound(host: str, port: int | None) -> socket.socket:
    """A socket that listens; if no port is said, on the first that is free."""
    for one in range(PORT, PORT + TRIED) if port is None else [port]:
        try:
            kind, _, _, _, address = socket.getaddrinfo(host, one, type=socket.SOCK_STREAM)[0]
        except (OSError, UnicodeError) as error:
            raise ConfigError(
                f"--host: wanted a name or an address of this machine, got {host!r}: {error}"
            ) from None
        listening = Listening(kind)
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


def _allow_files() -> None:
    """Let this process open more files at once, as far as it may."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
