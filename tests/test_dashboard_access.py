"""Nothing changes a study but a form of the dashboard's own page, sent once by a browser that was let in."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
import uvicorn

import bopp
from bopp import Float, Recipe
from bopp.dashboard import serving
from bopp.dashboard.access import LARGEST, Hosts, is_local
from bopp.dashboard.actions import ACTIONS
from bopp.dashboard.application import application
from bopp.dashboard.state import State
from bopp.errors import StoreError
from bopp.study.exchange import exported
from support.commands import Bopp
from support.dashboards import (
    PATIENCE,
    Client,
    Dashboard,
    Sent,
    Served,
    answered,
    dashboard,
    flipped,
    served,
    wait_for,
)
from support.faults import Figure

FIELDS: dict[str, dict[str, str]] = {
    "ask": {"count": "1"},
    "tell": {"number": "2", "value:value": "0.5"},
    "fail": {"number": "2", "reason": "it broke"},
    "amend": {"number": "0", "value:value": "0.25", "reason": "it was misread"},
    "retry": {"number": "1", "reason": "mended"},
    "drop": {"number": "0", "reason": "a wrong setting"},
    "note": {"number": "0", "text": "a note"},
    "enqueue": {"param:x": "0.5"},
    "observe": {"param:x": "0.5", "value:value": "0.5"},
    "pause": {"reason": "a break"},
    "resume": {},
}
"""What changes a study of `store`, if it is let through."""

PAGES = {
    "/": "?all=yes",
    "/study": "?name={name}",
    "/trials": "?name={name}&sort=value:value&order=up&text=a",
    "/trials.csv": "?name={name}",
    "/trial": "?name={name}&number=0",
    "/model": "?name={name}",
    "/parallel": "?name={name}",
    "/work": "?name={name}",
    "/picture": "?name={name}&kind=convergence",
    "/data/{kind}": "?name={name}",
    "/static/{name}": "",
    "/enter": "?token=x",
}
"""What can be looked at, besides the stream of events, with a query that shows something."""

Forge = Callable[[Sent, Client], Sent]


class Kept(NamedTuple):
    """A store as it is on the disk, and as it is exported."""

    files: dict[str, bytes]
    exports: dict[str, bytes]

    @staticmethod
    def of(url: str, *studies: str) -> Kept:
        """The store, with the exports of these studies, of which one may be paused."""
        folder = Path(url.removeprefix("sqlite:///")).parent
        exports = {}
        for name in studies:
            with bopp.open_study(url, name, read_only=True) as study:
                exports[name] = exported(study) + repr(study.paused).encode()
        return Kept({file.name: file.read_bytes() for file in folder.iterdir()}, exports)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a study for each change: a trial done, one failed, and one under way by hand."""
    url = f"sqlite:///{tmp_path_factory.mktemp('gate')}/a.db"
    for name in [*ACTIONS, "link"]:
        space = {"x": Float(0.0, 1.0)}
        with bopp.open_study(url, name, space, recipe=Recipe.random(), lease=None) as study:
            done, failed, _ = study.ask(3)
            study.tell(done, 0.5)
            study.fail(failed, "ValueError: a test")
            if name == "resume":
                study.pause("a test")
    return url


@pytest.fixture(scope="module")
def running(url: str) -> Iterator[Served]:
    with served(url) as running:
        yield running


@pytest.fixture(scope="module")
def client(running: Served) -> Client:
    return Client(running)


def right(client: Client, act: str, token: str) -> Sent:
    """The request that makes a change."""
    fields = {"token": token, "name": act, "back": "work", **FIELDS.get(act, {})}
    return client.sent("/link" if act == "link" else f"/change/{act}", fields)


def forged(
    method: str = "",
    target: str = "",
    body: bytes = b"",
    also: tuple[tuple[str, str], ...] = (),
    **headers: str | None,
) -> Forge:
    """How a request differs from the right one, of which {port}, {host}, {path} and {cookie} are parts."""

    def forge(sent: Sent, client: Client) -> Sent:
        parts = {"port": client.port, "host": client.host, "path": sent.target, "cookie": client.cookie}
        given = {name: text and text.format(**parts) for name, text in headers.items()}
        return replace(
            sent.but(**given).also(*((name, text.format(**parts)) for name, text in also)),
            method=method or sent.method,
            target=target.format(**parts) or sent.target,
            body=body or sent.body,
        )

    return forge


def chunked(sent: Sent, _: Client) -> Sent:
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(sent.body), sent.body)
    return replace(sent.but(transfer_encoding="chunked"), body=body)


FOREIGN = (  # Hosts, the last of them empty
    "evil.example evil.example:{port} 127.0.0.1.evil.example:{port} x127.0.0.1:{port} [ "
    "localhost.evil.example:{port} 127.0.0.1 127.0.0.1:1 127.0.0.1:{port}1 0.0.0.0:{port} "
    "user@127.0.0.1:{port} 127.0.0.1:{port}@evil.example 127.0.0.1:{port}/ [::2]:{port} "
    "127.0.0.1:{port}# 127.0.0.1:{port}? 127.0.0.1:x 2130706433:{port} "
)
FORGED: dict[str, tuple[int, Forge]] = {
    # by another name, as after DNS rebinding
    **{f"Host {host}": (403, forged(host=host, origin=f"http://{host}")) for host in FOREIGN.split(" ")},
    "Host evil.example from a page of ours": (403, forged(host="evil.example")),
    "two Hosts": (400, forged(also=(("Host", "{host}"),))),
    "no Host": (400, forged(host=None)),
    "no Host, of HTTP/1.0": (403, lambda sent, _: replace(sent.but(host=None), version="1.0")),
    "an absolute target": (404, forged(target="http://{host}{path}")),
    "an absolute target elsewhere": (404, forged(target="http://evil.example{path}")),
    "a target behind files that all may see": (405, forged(target="/static/x")),
    "a target out of the folder of files": (404, forged(target="/static/..{path}")),
    "a target with a slash": (404, forged(target="{path}/")),
    # from the page of another site
    **{
        f"Origin {origin}": (403, forged(origin=origin))
        for origin in (
            *("https://127.0.0.1:{port}", "http://127.0.0.1:1", "http://localhost:{port}", "null", "", None),
            *("http://evil.example", "http://127.0.0.1:{port}/", "http://127.0.0.1:{port}.evil.example"),
        )
    },
    "an Origin by https, as if through a proxy": (
        403,
        forged(origin="https://127.0.0.1:{port}", x_forwarded_proto="https", x_forwarded_for="192.0.2.7"),
    ),
    "two Origins": (403, forged(also=(("Origin", "http://{host}"),))),
    "one more Origin": (403, forged(also=(("Origin", "http://evil.example"),))),
    **{
        f"Sec-Fetch-Site {site}": (403, forged(sec_fetch_site=site))
        for site in ("cross-site", "same-site", "none")
    },
    # by a browser that was not let in
    "no cookie": (403, forged(cookie=None)),
    "a cookie of another server": (403, forged(cookie=f"bopp-{{port}}={'A' * 43}")),
    "a cookie with a changed letter": (403, lambda sent, client: sent.but(cookie=flipped(client.cookie, 20))),
    "a cookie of another name": (403, forged(cookie="x{cookie}")),
    "a cookie that is none": (403, forged(cookie='bopp-{port}="\\777; =; ;;\x80')),
    # otherwise than by a form
    **{
        f"the method {method}": (405, forged(method=method))
        for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND", "post")
    },
    "GET for POST": (405, forged(method="GET", x_http_method_override="POST")),
    "JSON": (415, forged(content_type="application/json", content_length="2", body=b"{}")),
    **{
        f"a form called {kind!r}": (415, forged(content_type=kind))
        for kind in ("text/plain", "multipart/form-data; boundary=x", "application/json", "", None)
    },
    "a body in chunks": (411, lambda sent, client: chunked(sent.but(content_length=None), client)),
    "a body in chunks with a length": (411, chunked),
    "no length": (411, forged(content_length=None)),
    "a body too long": (413, forged(content_length=str(LARGEST + 1))),
    "a body far too long": (413, forged(content_length="9" * 15)),
}


@pytest.mark.fault(24)
@pytest.mark.parametrize("act", [*ACTIONS, "link"])
def test_a_forged_request_changes_nothing(
    running: Served, client: Client, url: str, act: str, figure: Figure
) -> None:
    page = client.get("/work", name=act).page
    token = client.form_token(act)
    sent, before = right(client, act, token), Kept.of(url, act)
    for what, (status, forge) in FORGED.items():
        answer = answered(running.port, forge(sent, client).content)
        assert answer.status == status, (what, answer)
        assert "/enter?token=" not in answer.text, what
    other = Client(running, client.another(act)).form_token(act)
    tokens = ["", "x", other, *(flipped(token, at) for at in (0, 8, len(token) - 3)), token[:-1]]
    for forged in tokens:
        assert answered(running.port, right(client, act, forged).content).status == 403, forged
    assert Kept.of(url, act) == before

    answer = answered(running.port, sent.content)  # which had not been used up
    assert answer.status == (200 if act == "link" else 303)
    changed = Kept.of(url, act)
    assert (changed.exports != before.exports) == (act not in ("link", "enqueue")), "the study shows it"
    assert (changed.files != before.files) == (act != "link")
    elsewhere = act in ("link", "amend", "retry", "drop", "note")
    assert elsewhere or page.having(action=f"/change/{act}")

    assert answered(running.port, sent.content).status == 403
    assert Kept.of(url, act) == changed
    assert len(running.said) == 1  # the link: what strangers send is told to them alone
    figure(f"{len(FORGED) + len(tokens) + 1} forged requests to each of {len(ACTIONS) + 1}, none let in")


@pytest.mark.fault(24)
def test_with_read_only_no_change_is_made(url: str, figure: Figure) -> None:
    with served(url, read_only=True) as running:
        client, before = Client(running), Kept.of(url, *ACTIONS)
        for act in ACTIONS:
            (field, *_) = client.get("/", all="yes").page.having(name="token")
            answer = answered(running.port, right(client, act, field["value"]).content)
            assert answer.status == 403, act
            assert "--read-only" in answer.text  # the token was right
        for path in ("/trial?name=tell&number=2", "/work?name=tell"):
            assert "/change/" not in client.get(path).text
        assert Kept.of(url, *ACTIONS) == before
    figure(f"--read-only: {len(ACTIONS)} of {len(ACTIONS)} changes refused")


def paths_of(name: str) -> list[str]:
    """Everything that can be looked at of a study."""
    filled = []
    for path, query in PAGES.items():
        kinds = {"/data/{kind}": ("convergence", "front", "parallel"), "/static/{name}": ("live.js",)}
        for one in kinds.get(path, ("",)):
            filled.append((path.partition("{")[0] + one) + query.format(name=name))
    return filled


def test_looking_changes_nothing(running: Served, client: Client, url: str) -> None:
    before = Kept.of(url)
    for path in paths_of("resume"):
        answer = client.get(path)
        assert answer.status == (403 if "/enter" in path else 404 if "/front" in path else 200), path
        assert client.request("HEAD", path).status == answer.status, path
        live = client.get(f"{path}&live=1") if "?" in path else answer
        assert live.status == answer.status
    stream = client.events("resume")
    assert b"event: seen\n" in [next(stream) for _ in range(4)]
    stream.close()  # type: ignore[attr-defined]
    assert Kept.of(url) == before
    assert not running.tracebacks


def test_every_page_is_tried(url: str) -> None:
    gate = application(State(url, False), Hosts("127.0.0.1", 80), "bopp", lambda: None)
    routes = cast(Any, gate._app).routes
    known = {path: {"GET", "HEAD"} for path in (*PAGES, "/events")}
    known |= {path: {"POST"} for path in ("/change/{action}", "/link")}
    assert {route.path: route.methods for route in routes} == known
    assert set(FIELDS) == set(ACTIONS)


def test_who_was_not_let_in_sees_nothing(running: Served) -> None:
    stranger = Client(running, token="")
    others = ["/events?name=tell", "/nothing", "/change/ask", "/link", "/enterx", "/static"]
    for path in [*paths_of("tell"), *others]:
        answer = stranger.get(path)
        status = 200 if path.startswith("/static/") else 404 if path == "/enterx" else 403
        assert answer.status == status, path
        assert status == 200 or ("tell" not in answer.text and "sqlite" not in answer.text), path


# Links


def let_in(client: Client) -> bool:
    """Whether a client sees the studies."""
    answers = {client.get(path).status for path in ("/?all=yes", "/study?name=tell", "/trials.csv?name=x")}
    assert answers <= {200, 404} or answers == {403}
    return answers != {403}


def test_a_word_from_a_server_lets_in_once(running: Served, client: Client) -> None:
    assert let_in(client)
    word = client.another("tell")
    stranger = Client(running, token="")
    assert not let_in(stranger)
    for other in (running.token, flipped(word), "", f"{word}&token=", f"&token={flipped(word)}"):
        answer = stranger.get(f"/enter?token={other}")
        assert answer.status == 403, other
        assert "set-cookie" not in answer.headers
    assert stranger.get("/enter").status == 403
    assert stranger.request("HEAD", f"/enter?token={word}").status == 403
    for method in ("POST", "PUT"):  # nor do they use it up
        origin = {"origin": stranger.origin, "content-type": "application/x-www-form-urlencoded"}
        assert stranger.request(method, f"/enter?token={word}", b"", origin).status == 405
    assert let_in(Client(running, word))
    assert stranger.get(f"/enter?token={word}").status == 403


def test_a_cookie_stays_with_its_server(running: Served, client: Client) -> None:
    answer = Client(running, token="").get(f"/enter?token={client.another('tell')}")
    cookies = SimpleCookie(answer.headers["set-cookie"])
    assert list(cookies) == [f"bopp-{running.port}"]
    cookie = cookies[f"bopp-{running.port}"]
    assert cookie["httponly"] is True
    assert cookie["samesite"] == "strict"
    assert cookie["path"] == "/"
    assert cookie["domain"] == ""
    assert cookie.value not in answer.text


def test_no_page_gives_the_way_in_away(running: Served, client: Client) -> None:
    word = client.another("tell")
    stranger = Client(running, token="")
    came = stranger.get(f"/enter?token={word}")
    assert came.headers["referrer-policy"] == "no-referrer"
    assert "location" not in came.headers
    assert word not in came.text
    inside = Client(running, token="")
    inside.cookie = came.headers["set-cookie"].partition(";")[0]
    session = inside.cookie.partition("=")[2]
    paths = ["/?all=yes", *(f"/{page}?name=tell" for page in ("study", "trials", "model", "work", "trial"))]
    for path in [*paths, "/nothing", "/static/live.js", "/enter?token=x"]:
        answer = inside.get(path)
        assert answer.headers["referrer-policy"] == "same-origin", path
        for secret in (word, running.token, session):
            assert secret not in answer.text + str(answer.headers), path


def test_no_link_is_printed_but_the_first(running: Served, client: Client) -> None:
    word = client.another("tell")
    assert let_in(Client(running, word))
    Client(running, token="").get(f"/enter?token={flipped(word)}")
    said = "\n".join(running.said)
    assert said.count("token=") == 1  # of a terminal alone it would be told the next one
    assert word not in said
    assert client.cookie.partition("=")[2] not in said
    assert not running.tracebacks


def test_two_servers_do_not_accept_each_others_cookies(running: Served, client: Client, url: str) -> None:
    with served(url) as second:
        other = Client(second)
        assert let_in(other)
        for cookie, into in ((client.cookie, second), (other.cookie, running)):
            stranger = Client(into, token="")
            value = cookie.partition("=")[2]
            for stolen in (cookie, f"bopp-{into.port}={value}", f"{cookie}; bopp-{into.port}={value}"):
                stranger.cookie = stolen
                assert not let_in(stranger)
        assert Client(second, token="").get(f"/enter?token={client.another('tell')}").status == 403


def test_the_secrets_are_in_no_file(running: Served, client: Client, url: str) -> None:
    folder = Path(url.removeprefix("sqlite:///")).parent
    kept = b"".join(file.read_bytes() for file in folder.iterdir())
    for secret in (running.token, client.cookie.partition("=")[2]):
        assert secret.encode() not in kept


# Hosts


@pytest.mark.parametrize(
    ("bound", "allowed", "refused"),
    [
        (
            "127.0.0.1",
            "127.0.0.1:8765 localhost:8765 LOCALHOST:8765 LocalHost:8765 [::1]:8765 [0:0::1]:8765",
            "127.0.0.1 127.0.0.1:80 127.0.0.1:08766 localhost.:8765 localhost:8765. 127.0.0.2:8765 ::1:8765 "
            "[::1] [::1]8765 [::1:8765 a@localhost:8765 localhost:8765:8765 localhost:-8765 127.1:8765 "
            "localhost:8765/ localhost:8765\\ localhost\t:8765 localhost:\N{FULLWIDTH DIGIT EIGHT}765 "
            "0.0.0.0:8765",
        ),
        ("localhost", "localhost:8765 127.0.0.1:8765 [::1]:8765", "evil:8765 localhost:8764"),
        ("LocalHost", "localhost:8765 127.0.0.1:8765", "evil:8765"),
        ("127.0.0.2", "127.0.0.2:8765 127.0.0.1:8765", "127.0.0.3:8765"),
        ("::1", "[::1]:8765 localhost:8765 [0:0:0:0:0:0:0:1]:8765", "[::2]:8765 ::1:8765 [::1]:1"),
        ("192.0.2.7", "192.0.2.7:8765", "192.0.2.8:8765 localhost:8765 127.0.0.1:8765"),
        ("2001:DB8:0::7", "[2001:db8::7]:8765 [2001:DB8::7]:8765", "[2001:db8::8]:8765 2001:db8::7"),
        (
            "Lab.Example",
            "lab.example:8765 LAB.example:8765",
            "lab.example.:8765 xlab.example:8765 lab.example",
        ),
        (
            "0.0.0.0",
            "192.0.2.7:8765 [2001:db8::7]:8765 localhost:8765 127.0.0.1:8765",
            "evil.example:8765 192.0.2.7:80 192.0.2.7 192.0.2.7.evil.example:8765 1.2.3:8765 0x7f.1:8765",
        ),
        ("::", "192.0.2.7:8765 [2001:db8::7]:8765 localhost:8765", "evil.example:8765 [::1] [::1]:80"),
    ],
)
def test_a_server_is_known_by_its_own_names_alone(
    bound: str, allowed: str, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "bench")  # a machine may call itself localhost
    monkeypatch.setattr(socket, "getfqdn", lambda: "bench")
    hosts = Hosts(bound, 8765)
    assert [host for host in allowed.split(" ") if not hosts.allow(host)] == []
    assert [host for host in ["", *refused.split(" ")] if hosts.allow(host)] == []


def test_a_server_that_others_reach_is_known_by_the_name_of_its_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Bench")
    monkeypatch.setattr(socket, "getfqdn", lambda: "Bench.Lab.Example")
    for bound in ("0.0.0.0", "192.0.2.7"):
        hosts = Hosts(bound, 8765)
        assert hosts.allow("bench:8765")
        assert hosts.allow("bench.lab.example:8765")
        assert not hosts.allow("bench.evil.example:8765")
    assert not Hosts("127.0.0.1", 8765).allow("bench:8765")


def test_port_80_need_not_be_said() -> None:
    assert Hosts("127.0.0.1", 80).allow("localhost")
    assert Hosts("127.0.0.1", 80).allow("localhost:80")
    assert not Hosts("127.0.0.1", 80).allow("localhost:8765")


def test_what_is_local() -> None:
    assert all(map(is_local, ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1"]))
    assert not any(map(is_local, ["0.0.0.0", "::", "192.0.2.7", "localhost.example", "", "example.com"]))


# Where it listens, and how it ends


@pytest.fixture
def never_served(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: Any, **__: Any) -> None:
        raise AssertionError("it was served")

    monkeypatch.setattr(uvicorn.Server, "run", run)


@pytest.mark.usefixtures("never_served")
def test_a_place_where_nobody_can_listen_is_refused_in_words(bopp: Bopp, url: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for words in (("--port", port), ("--host", "192.0.2.7")):
            ended = bopp("dashboard", url, *words)
            assert ended.code == 3
            assert str(words[1]) in ended.err
    for host in ("no such host", "a..b", "x" * 300, "http://localhost", "127.0.0.1:80"):
        ended = bopp("dashboard", url, "--host", host)
        assert ended.code == 2, host
        assert "--host" in ended.err
        assert ended.err.count("\n") == 1
    for port in (65536, -1, "x"):
        assert bopp("dashboard", url, "--port", port).code == 2


def test_of_the_usual_ports_the_first_is_taken_that_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving.bound("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        monkeypatch.setattr(serving, "PORT", port)
        with serving.bound("127.0.0.1", None) as second:
            assert port < second.getsockname()[1] < port + serving.TRIED
        monkeypatch.setattr(serving, "TRIED", 1)
        with pytest.raises(StoreError, match=f"ports {port}"):
            serving.bound("127.0.0.1", None)


def ended_by(client: Client, running: Dashboard, number: int) -> tuple[int, float]:
    """The exit code, and how long the end took, while a browser waits for events."""
    stream = client.events("tell")
    assert next(stream)
    thread = threading.Thread(target=lambda: [*stream], daemon=True)
    thread.start()
    began = time.monotonic()
    code = running.stop(number)
    took = time.monotonic() - began
    thread.join(PATIENCE)
    assert not thread.is_alive()
    return code, took


def test_ctrl_c_ends_it_and_its_processes_while_a_browser_waits(url: str) -> None:
    with dashboard(url) as running:
        client = Client(running)
        client.change("note", "tell", number=0, text="starts a process")
        beside = running.children
        assert beside
        code, took = ended_by(client, running, signal.SIGINT)
        assert code == 130
        assert took < 10.0  # a stream has no end of its own
        assert len(running.said) == 1, running.said  # the link: nothing of others, nor of what was cut
        wait_for(lambda: not any(map(alive, beside)), 5.0)


@pytest.mark.endurance
def test_it_says_that_others_can_reach_it_and_ends_when_asked_to(url: str) -> None:
    with dashboard(url, "--host", "0.0.0.0") as running:
        assert running.said[0] == serving.OPEN_TO_OTHERS
        assert f"//{socket.gethostname()}:{running.port}/" in running.link
        assert answered(running.port, b"GET / HTTP/1.0\r\nHost: evil.example\r\n\r\n").status == 403
        with socket.create_connection(("127.0.0.1", running.port), PATIENCE) as slow:  # a form half sent
            client = Client(running)
            slow.sendall(client.sent("/link", {"token": "x" * 100}).content[:-50])
            code, took = ended_by(client, running, signal.SIGTERM)
            assert b" 503 " in slow.recv(100)
        assert code == 130
        assert took < 10.0  # a stream has no end of its own
        assert not running.tracebacks


@pytest.mark.endurance
def test_a_server_that_is_killed_leaves_no_process_behind(url: str) -> None:
    with dashboard(url) as running:
        Client(running).change("ask", "note", count=1)
        beside = running.children
        assert beside
        running.stop(signal.SIGKILL)
        wait_for(lambda: not any(map(alive, beside)), 5.0)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
