"""Access: what a request must have to be let in, and the headers that every answer carries.

A request needs a Host by which this server may be known, or another site could reach it under a name of its
own; and, except for the way in and files without secrets, the cookie of a session. One that changes
something needs more: the method POST, an Origin that is this server, a form of moderate size, and, which the
pages check, the token of a form that was not sent before.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bopp.dashboard.sessions import Sessions

PUBLIC = ("/static/", "/enter")
METHODS = ("GET", "HEAD", "POST")
FORM = "application/x-www-form-urlencoded"  # what the pages send
LARGEST = 256 * 1024  # bytes of a body
LOCAL = ("localhost", "127.0.0.1", "[::1]")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}

Refuse = Callable[[int, str], ASGIApp]  # with a status and a reason


class AccessControl:
    """Wraps the pages; `refused` makes the answer to those who are not let in."""

    def __init__(self, app: ASGIApp, sessions: Sessions, hosts: Hosts, cookie: str, refused: Refuse):
        self._app = app
        self._sessions = sessions
        self._hosts = hosts
        self._cookie = cookie
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        session = _cookie(headers, self._cookie)
        scope["session"] = session if session and self._sessions.knows(session) else None
        wrong = self._wrong(scope, headers)
        try:
            await (self._refused(*wrong) if wrong else self._app)(scope, receive, guarded)
        except asyncio.CancelledError:
            if begun:
                raise
            await self._refused(
                503, "the dashboard was stopped; whether a change was made before that, the store knows"
            )(scope, receive, guarded)

    def _wrong(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """The status and the reason for which a request is refused, if it is."""
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._hosts.allow(host):
            return 403, f"wanted one of {', '.join(self._hosts.names)} as Host, got {host[:200]!r}"
        if scope["method"] not in METHODS:
            return 405, f"wanted GET or POST, got {scope['method'][:20]!r}"
        if not scope["path"].startswith(PUBLIC) and scope["session"] is None:
            return 403, "this needs the link that bopp dashboard printed when it started"
        if scope["method"] == "POST":
            origins = headers.getlist("origin")
            if origins != [f"{scope['scheme']}://{host}"]:
                return 403, f"wanted a request from this page, got the Origin {', '.join(origins)[:200]!r}"
            if headers.get("sec-fetch-site", "same-origin") != "same-origin":
                return 403, "wanted a request from this page"
            length = headers.get("content-length", "")
            if not length.isdecimal() or "transfer-encoding" in headers:  # which would be believed instead
                return 411, "wanted a body of known length"
            if len(length) > 9 or int(length) > LARGEST:
                return 413, f"wanted at most {LARGEST} bytes"
            sent = headers.get("content-type", "").partition(";")[0].strip().lower()
            if sent != FORM:
                return 415, f"wanted a form, {FORM}, got {sent[:200]!r}"
        return None


class Hosts:
    """The names by which a server may be called: those of this machine that it listens on."""

    def __init__(self, bound: str, port: int):
        self._port = port
        self._anywhere = is_anywhere(bound)
        names = {*LOCAL} if is_local(bound) or self._anywhere else set()
        if not is_local(bound):
            names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        self.names = sorted(names | ({_written(bound)} if not self._anywhere else set()))

    def allow(self, host: str) -> bool:
        """Whether a Host is this server; a foreign name would be a page of another site."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname, parts.port
        except ValueError:
            return False
        if name is None or parts.netloc != host or "@" in host or (port or 80) != self._port:
            return False
        return _written(name) in self.names or (self._anywhere and _address(name) is not None)


def is_local(host: str) -> bool:
    """Whether a host is reached from this machine alone."""
    address = _address(host)
    return host.lower() == "localhost" or (address is not None and address.is_loopback)


def is_anywhere(host: str) -> bool:
    """Whether a host means every address of this machine."""
    address = _address(host)
    return address is not None and address.is_unspecified


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """A host that is written as an address, else None."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _written(host: str) -> str:
    """A host as browsers write it."""
    address = _address(host)
    if address is None:
        return host.lower()
    return f"[{address}]" if address.version == 6 else str(address)


def _cookie(headers: Headers, name: str) -> str | None:
    """The value of a cookie; of a header that is not one, none."""
    try:
        cookies = SimpleCookie("; ".join(headers.getlist("cookie"))[:8000])
    except CookieError:
        return None
    return cookies[name].value if name in cookies else None
