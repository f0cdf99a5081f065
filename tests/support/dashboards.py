"""Dashboards: in this process or as a process of its own, and a client that knows what a browser does."""

from __future__ import annotations

import asyncio
import http.client
import logging
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from itertools import dropwhile, islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from bopp.dashboard.cache import ResultCache
from bopp.dashboard.serving import Server
from bopp.dashboard.state import State
from bopp.dashboard.worker_process import WorkerProcess

PATIENCE = 30.0  # seconds for what takes well under one on an idle machine
LINK = re.compile(r"http://(?P<host>[^/]+):(?P<port>\d+)/enter\?token=(?P<token>\S+)")


class Answer(NamedTuple):
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    text: str
    content: bytes

    @property
    def page(self) -> Elements:
        """What a page has."""
        return Elements(self.text)


class Linked:
    """A running dashboard; `said` has what it printed, line by line."""

    said: list[str]
    link: str

    @property
    def token(self) -> str:
        """The word in the link that it printed first."""
        return str(self._found["token"])

    @property
    def port(self) -> int:
        return int(self._found["port"])

    @property
    def address(self) -> str:
        return f"http://{self._found['host']}:{self.port}"

    @property
    def tracebacks(self) -> list[str]:
        """What it printed of errors that nobody foresaw."""
        return [line for line in self.said if "Traceback" in line or "Exception" in line]

    @property
    def _found(self) -> re.Match[str]:
        found = LINK.search(self.link)
        assert found
        return found


class Dashboard(Linked):
    """`bopp dashboard` as a process of its own."""

    def __init__(self, *words: object, folder: Path | None = None):
        program = [sys.executable, "-m", "bopp", "dashboard", *map(str, words), "--port", "0"]
        self.process = subprocess.Popen(
            program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder
        )
        self.said = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.link = str(wait_for(self._linked))

    def another_link(self, name: str) -> str:
        """The word of a link that nobody has used; `name` is any study."""
        self._inside = getattr(self, "_inside", None) or Client(self)
        return self._inside.another(name)

    @property
    def memory(self) -> float:
        """The memory of the server itself, in megabytes."""
        return memory(self.process.pid)

    @property
    def children(self) -> set[int]:
        """The processes that it started."""
        pid = self.process.pid
        return {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}

    def stop(self, number: int = signal.SIGINT) -> int:
        """End it, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as lines:
            for line in lines:
                self.said.append(line.rstrip("\n"))

    def _linked(self) -> str | None:
        """The line with the link, once it is there."""
        if self.process.poll() is not None:
            raise RuntimeError(f"bopp dashboard ended with {self.process.returncode}: {self.said}")
        return next(filter(LINK.search, list(self.said)), None)


ONE_AT_A_TIME = threading.Lock()  # as in a worker process


class Inline(WorkerProcess):
    """Calls functions in a thread instead of a process, which would have to import everything anew."""

    async def call(self, function: Any, /, *arguments: object) -> Any:
        def call() -> Any:
            with ONE_AT_A_TIME:
                return function(*arguments)

        return await asyncio.to_thread(call)


class Served(Linked, logging.Handler):
    """A dashboard in a thread of this process, which computes in threads."""

    def __init__(self, source: str, read_only: bool = False):
        super().__init__(logging.ERROR)
        self.said = []
        state = State(source, read_only)
        state.writer, state.suggester, state.renderer = Inline(), Inline(), Inline()
        state.results = ResultCache(state.renderer)
        self._server = Server(state, "127.0.0.1", 0, self.said.append)
        self._thread = threading.Thread(target=self._server.run)
        for name in ("uvicorn.error", "asyncio"):
            logging.getLogger(name).addHandler(self)
        self._thread.start()
        self.link = str(wait_for(lambda: next(iter(self.said), None)))

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(f"Exception: {record.getMessage()} {record.exc_info}")

    def stop(self) -> None:
        for name in ("uvicorn.error", "asyncio"):
            logging.getLogger(name).removeHandler(self)
        self._server.should_exit = True
        self._thread.join(PATIENCE)


class Elements(HTMLParser):
    """The elements of a page with their attributes, its links, and what it says."""

    LINKS = ("href", "src", "action", "formaction", "data-src", "data-live-src", "data-events")

    def __init__(self, text: str):
        super().__init__()
        self.all: list[tuple[str, dict[str, str]]] = []
        self.found: list[tuple[str, ...]] = []
        self.links: list[str] = []
        self.said: list[str] = []
        self.texts: list[tuple[str, dict[str, str], str]] = []  # the last is what comes first in it
        self._within: list[str] = []
        self._empty = False  # whether nothing came yet in the element that began last
        self.feed(text)
        self.close()

    def text_of(self, tag: str, kind: str) -> str:
        """The text of the first element of this tag whose class begins so."""
        return next(
            (text for of, has, text in self.texts if of == tag and has.get("class", "").startswith(kind)), ""
        )

    def texts_by_id(self, tag: str) -> dict[str, str]:
        """The texts of the elements of this tag that have an id."""
        return {has["id"]: text for of, has, text in self.texts if of == tag and "id" in has}

    def row_of(self, number: int) -> list[str]:
        """The texts of the cells of a trial in a table, after that with its number."""
        after = dropwhile(lambda element: element[1].get("id") != f"trial-{number}", self.texts)
        return [text for _, _, text in takewhile(lambda element: element[0] == "td", islice(after, 1, None))]

    def having(self, **attributes: str) -> list[dict[str, str]]:
        """The attributes of the elements that have these among them."""
        return [one for _, one in self.all if attributes.items() <= one.items()]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.all.append((tag, {name: value or "" for name, value in attributes}))
        self.found.append((tag, *(name for name, _ in attributes)))
        self.links += [value or "" for name, value in attributes if name in self.LINKS]
        self._within.append(tag)
        self.texts.append((*self.all[-1], ""))
        self._empty = True

    def handle_endtag(self, tag: str) -> None:
        self._empty = False
        while self._within and self._within.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._empty:
            self.texts[-1] = (*self.texts[-1][:2], data)
            self._empty = False
        if not {"option", "textarea", "title"} & set(self._within):  # where it has to be as it is
            self.said.append(data)

    def handle_comment(self, data: str) -> None:
        self.found.append(("comment", data))


class Client:
    """Sends requests to a dashboard as a browser would; comes in by the link unless told otherwise."""

    def __init__(self, dashboard: Linked, token: str | None = None):
        self.port = dashboard.port
        self.host = f"127.0.0.1:{self.port}"
        self.origin = f"http://{self.host}"
        self.cookie = ""
        if token != "":
            answer = self.get(f"/enter?token={dashboard.token if token is None else token}")
            assert answer.status == 200, answer.text
            self.cookie = answer.headers["set-cookie"].partition(";")[0]

    def get(self, path: str, /, **query: object) -> Answer:
        """The answer to GET, with this query."""
        return self.request("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, fields: Mapping[str, object], **headers: str) -> Answer:
        """The answer to a form, which comes from a page of the server unless the headers say otherwise."""
        content = {"content-type": "application/x-www-form-urlencoded", "origin": self.origin, **headers}
        return self.request("POST", path, urlencode(fields), content)

    def form_token(self, name: str) -> str:
        """The token of a form of this study."""
        return self.get("/work", name=name).page.having(name="token")[0]["value"]

    def sent(self, path: str, fields: Mapping[str, object]) -> Sent:
        """A form as `post` sends it."""
        body = urlencode(fields).encode()
        return Sent(
            "POST",
            path,
            (
                ("Host", self.host),
                ("Cookie", self.cookie),
                ("Origin", self.origin),
                ("Sec-Fetch-Site", "same-origin"),
                ("Content-Type", "application/x-www-form-urlencoded"),
                ("Content-Length", str(len(body))),
                ("Connection", "close"),
            ),
            body,
        )

    def change(self, act: str, name: str, **fields: object) -> Answer:
        """The page that a change leads to; fields of params and values have two underscores for the colon."""
        sent = {key.replace("__", ":"): text for key, text in fields.items()}
        sent = {"token": self.form_token(name), "name": name, "back": "work", **sent}
        answer = self.post(f"/change/{act}", sent)
        return self.get(answer.headers["location"]) if answer.status == 303 else answer

    def another(self, name: str) -> str:
        """The word of a link for another browser."""
        answer = self.post("/link", {"token": self.form_token(name)})
        return answer.page.having(id="link")[0]["value"].partition("?token=")[2]

    def request(
        self,
        method: str,
        path: str,
        body: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """The answer to any request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            sent = {"host": self.host, **({"cookie": self.cookie} if self.cookie else {}), **(headers or {})}
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            data = body.encode() if isinstance(body, str) else body
            for key, value in sent.items():
                connection.putheader(key, value)
            if data is not None and "content-length" not in sent:
                connection.putheader("content-length", str(len(data)))
            connection.endheaders(data)
            answer = connection.getresponse()
            content = answer.read()
            found = {key.lower(): value for key, value in answer.getheaders()}
            return Answer(answer.status, found, content.decode("utf-8", "replace"), content)
        finally:
            connection.close()

    def events(self, name: str) -> Iterator[bytes]:
        """The lines of the stream of a study."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            path = f"/events?{urlencode({'name': name})}"
            connection.request("GET", path, headers={"host": self.host, "cookie": self.cookie})
            answer = connection.getresponse()
            assert answer.status == 200
            while line := answer.readline():
                yield line
        finally:
            connection.close()


@dataclass(frozen=True)
class Sent:
    """A request as it goes over the wire, right or not."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    version: str = "1.1"

    def but(self, **headers: str | None) -> Sent:
        """The same with other headers, or without those that are None."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        rest = tuple(pair for pair in self.headers if pair[0].lower() not in given)
        new = tuple((name, value) for name, value in given.items() if value is not None)
        return replace(self, headers=rest + new)

    def also(self, *pairs: tuple[str, str]) -> Sent:
        """The same with more headers, be they there already."""
        return replace(self, headers=self.headers + pairs)

    @property
    def content(self) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/{self.version}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self.body


def answered(port: int, content: bytes, seconds: float = PATIENCE) -> Answer:
    """The answer to these bytes, which should ask for the end of the connection; status 0: there was none."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), seconds) as connection:
        with suppress(ConnectionError):  # it may be closed before all was sent
            connection.sendall(content)
        with suppress(ConnectionError):
            while part := connection.recv(1 << 16):
                received += part
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return Answer(int(first.split()[1]) if first else 0, headers, body.decode("utf-8", "replace"), body)


@contextmanager
def dashboard(*words: object, folder: Path | None = None) -> Iterator[Dashboard]:
    """A dashboard that is gone at the end."""
    running = Dashboard(*words, folder=folder)
    try:
        yield running
    finally:
        running.stop(signal.SIGKILL)


@contextmanager
def served(source: object, read_only: bool = False) -> Iterator[Served]:
    """A dashboard in this process that is gone at the end."""
    running = Served(str(source), read_only)
    try:
        yield running
    finally:
        running.stop()


def wait_for(look: Any, seconds: float = PATIENCE) -> Any:
    """What `look` returns as soon as that is true."""
    until = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > until:
            raise TimeoutError(f"nothing for {seconds} s")
        time.sleep(0.02)
    return found


def memory(pid: int) -> float:
    """The memory of a process that no other shares, in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def flipped(word: str, place: int = 5) -> str:
    """A word with one letter changed."""
    return f"{word[:place]}{'a' if word[place] != 'a' else 'b'}{word[place + 1 :]}"
