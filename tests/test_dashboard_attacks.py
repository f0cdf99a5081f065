"""What is stored is shown as text, no path leads out of its folder, and no attack keeps others waiting."""

from __future__ import annotations

import json
import re
import resource
import selectors
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import pytest

import bopp
from bopp import AtLeast, AtMost, Choice, Float, Linear, Problem, Recipe
from bopp.dashboard.access import LARGEST
from bopp.trial import Trial
from support.dashboards import (
    PATIENCE,
    Answer,
    Client,
    Dashboard,
    Linked,
    Sent,
    Served,
    answered,
    dashboard,
    served,
    wait_for,
)
from support.faults import Figure
from support.workers import many, opened

full_size = pytest.mark.slow  # of a fault: as docs/faults.md says, where a smaller one is tested every time

SECRET = "the content of a file that nobody may read"
PLAIN, HOSTILE, TWIN = "plain", "hostile", "harmless"
MARKUP = (
    """"'><img src=x onerror=alert(1)></title></textarea></pre></select></svg><script>alert(1)</script>"""
    "<!--{{7*7}}{% raw %}${7*7}javascript:alert(1)&lt;b&gt;\u202e"
)
CONTROL = "\x1b[2J\x07\r\n\t\x85\u2028\ufeff"  # which names may not have

BUDGET = 2.0  # seconds within which an honest client is answered
MEGABYTES = 200.0


# What is served


def spoiled(url: str, name: str, word: Callable[[str], str], text: Callable[[str], str]) -> None:
    """A study with a word in every field that has a name, and a text in every other."""
    a, b, loss, cost, limit = (word(letter) for letter in ("a", "b", "loss", "cost", "limit"))
    problem = Problem(
        {a: Float(0.0, 1.0), b: Choice([word("red"), word("blue")])},
        {loss: "minimize", cost: "maximize"},
        [AtMost(limit, 1.0), AtLeast(word("floor"), 0.0), Linear({a: 1.0}, at_most=2.0, name=word("sum"))],
    )
    with bopp.open_study(url, name, problem, recipe=Recipe.random(), lease=None) as study:
        values = {loss: 0.5, cost: 1.0, limit: 0.5, word("floor"): 1.0}
        first, second, third, *_ = study.ask(5)
        study.tell(first, {**values, word("more"): text("measured")})
        study.note(first, text("noted"))
        study.amend(first, {**values, loss: 0.25}, text("amended"))
        study.fail(
            second, text("ValueError: failed"), text("Traceback (most recent call last):\n  it failed")
        )
        study.note(second, text("noted too"))
        study.retry(second, reason=text("retried"))
        study.tell(third, {**values, loss: 0.75, cost: 2.0, limit: 2.0})
        study.drop(third, text("dropped"))
        study.observe_all(
            [Trial(0, {a: 0.3, b: word("red")}, "failed", error=text("worse"), worker=word("somebody/1"))]
        )
        study.enqueue({a: 0.5, b: word("red")})
        study.pause(text("paused"))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('attacks')}/a.db"
    with bopp.open_study(url, PLAIN, {"x": Float(0.0, 1.0)}, recipe=Recipe.random()) as study:
        for trial in study.ask(60):
            study.tell(trial, float(trial.params["x"]))
    spoiled(url, TWIN, lambda word: word, lambda text: text)
    spoiled(url, HOSTILE + MARKUP, lambda word: word + MARKUP, lambda text: text + MARKUP + CONTROL)
    return url


@pytest.fixture(scope="module")
def running(url: str) -> Iterator[Served]:
    with served(url) as running:
        yield running


@pytest.fixture(scope="module")
def process(url: str) -> Iterator[Dashboard]:
    """A dashboard that may have as many open files as the machine allows, and so may those who attack it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with dashboard(url, "--debug") as running:
        yield running
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def client(running: Served) -> Client:
    return Client(running)


# Fault 25


PAGES = ["/study", "/trials", "/model", "/parallel", "/work", *(f"/trial?number={n}" for n in range(6))]
PAGES += [f"{page}?objective={{loss}}" for page in ("/model", "/parallel")]
PAGES += ["/trials?sort=value:{loss}", "/trials?text={loss}&sort=param:{loss}&state={loss}"]


def shown(client: Client, path: str, name: str, markup: str, live: bool) -> Answer:
    """A page of a study when nothing in it has still to be computed."""
    path = path.format(loss=quote(f"loss{markup}"))
    path += f"{'&' if '?' in path else '?'}name={quote(name + markup)}{'&live=1' if live else ''}"
    found: list[Answer] = []

    def whole() -> bool:
        found[:] = [client.get(path)]
        return "data-wait" not in found[0].text

    wait_for(whole)
    return found[0]


@pytest.mark.fault(25)
def test_markup_is_shown_as_text(running: Served, client: Client, figure: Figure) -> None:
    count = 0
    for path in PAGES:
        for live in (False, True):
            answer = shown(client, path, HOSTILE, MARKUP, live)
            assert answer.status == 200, path
            page, twin = (one.page for one in (answer, shown(client, path, TWIN, "", live)))
            assert page.found == twin.found, path
            assert all(link.startswith(("/", "#")) and link[1:2] != "/" for link in page.links), path
            text = "".join(page.said)
            assert [letter for letter in text if not letter.isprintable() and letter != "\n"] == [], path
            assert "{{7*7}}" in text or live or "/parallel" in path or "/model" in path, path
            count += 1
    assert not running.tracebacks
    figure(f"{count} pages with markup in every field have the elements of a harmless one")


@pytest.mark.fault(25)
def test_markup_in_the_list_of_studies_is_text(client: Client) -> None:
    wait_for(lambda: "being read" not in client.get("/?all=yes").text)
    page = client.get("/?all=yes").page
    assert {found for found in page.found if found[0] == "script"} == {("script", "src", "defer")}
    assert not [found for found in page.found if found[0] in ("img", "comment")]
    assert not [name for _, *names in page.found for name in names if name.startswith("on")]
    assert all(link.startswith(("/", "#")) for link in page.links)
    assert f"hostile{MARKUP[:-1]}\\u202e" in "".join(page.said)


@pytest.mark.fault(25)
def test_what_was_typed_and_asked_for_is_text(running: Served, client: Client) -> None:
    """What comes with a request comes back as text too: in a refusal, and in a form to be sent again."""
    hostile = quote(MARKUP)
    for path in (
        f"/study?name={hostile}",
        f"/trial?name={PLAIN}&number={hostile}",
        f"/{hostile}",
        "/enter?token={hostile}",
    ):
        page, twin = (client.get(one).page for one in (path, path.replace(hostile, "x")))
        assert page.found == twin.found, path
    texts = []
    for word in (MARKUP, "x"):
        answer = client.change("observe", PLAIN, param__x=word, value__value=word, noise=word)
        assert "wrong" in answer.text
        texts.append(answer.page)
    assert texts[0].found == texts[1].found
    assert "{{7*7}}" in "".join(texts[0].said)
    refused = answered(running.port, f"GET / HTTP/1.0\r\nHost: {MARKUP[:-1]}\r\n\r\n".encode())
    assert refused.status == 403
    assert not [found for found in refused.page.found if found[0] in ("img", "script", "comment")]


@pytest.mark.fault(25)
def test_data_and_pictures_are_what_they_say(client: Client) -> None:
    study = quote(HOSTILE + MARKUP)
    for kind in ("front", "parallel"):
        answer = client.get(f"/data/{kind}?name={study}&objective={quote('loss' + MARKUP)}")
        assert answer.status == 200, answer.text
        assert answer.headers["content-type"] == "application/json"
        assert "<script>" in json.dumps(json.loads(answer.content))
    for path in (f"/picture?name={study}&kind=timeline", f"/picture?name={PLAIN}&kind={quote(MARKUP)}"):
        answer = client.get(path)
        kind = answer.headers["content-type"]
        assert kind in ("image/png", "image/svg+xml", "text/plain; charset=utf-8")
        if kind == "image/svg+xml":
            page = answer.page
            assert {found[0] for found in page.found} <= {"svg", "rect", "text", "tspan", "title"}
            assert not page.links
    answer = client.get(f"/trials.csv?name={study}")
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"].startswith("attachment")
    stream = client.events(HOSTILE + MARKUP)
    assert not [line for line in (next(stream) for _ in range(4)) if b"<" in line]
    stream.close()  # type: ignore[attr-defined]


def guarded(answer: Answer) -> bool:
    """Whether a browser lets nothing of an answer run, be framed or be taken for something else."""
    policy = {
        name: sources.split()
        for name, _, sources in (part.strip().partition(" ") for part in _policy(answer).split(";"))
    }
    allowed = {source for sources in policy.values() for source in sources}
    return (
        policy.get("default-src") == policy.get("frame-ancestors") == policy.get("base-uri") == ["'none'"]
        and allowed <= {"'none'", "'self'"}
        and set(policy) >= {"script-src", "form-action"}
        and answer.headers.get("x-content-type-options") == "nosniff"
    )


def _policy(answer: Answer) -> str:
    return answer.headers.get("content-security-policy", "")


@pytest.mark.fault(25)
def test_every_answer_is_guarded(running: Served, client: Client, figure: Figure) -> None:
    plain = f"name={PLAIN}"
    paths = ["/", f"/study?{plain}", f"/trials?{plain}", f"/trials.csv?{plain}", f"/trial?{plain}&number=0"]
    paths += [f"/{page}?{plain}" for page in ("model", "work", "data/parallel", "data/x")]
    paths += [f"/picture?{plain}&kind=timeline", f"/picture?{plain}&kind=x", "/study?name=none"]
    paths += ["/static/live.js", "/static/dashboard.css", "/static/x", "/static/", "/x", "/enter", "/study"]
    paths += ["/change/ask", "/data/x"]
    answers = {path: client.get(path) for path in paths}
    stranger = Client(running, token="")
    answers |= {f"{path} for a stranger": stranger.get(path) for path in paths}
    answers |= {f"{method} /": client.request(method, "/") for method in ("HEAD", "PUT", "OPTIONS", "POST")}
    answers["a change"] = client.post("/change/note", {"token": client.form_token(PLAIN), "name": PLAIN})
    answers["a link"] = client.post("/link", {"token": client.form_token(PLAIN)})
    answers["entered"] = stranger.get(f"/enter?token={client.another(PLAIN)}")
    long = f"GET / HTTP/1.0\r\nHost: {client.host}\r\nX: {'x' * 30_000}\r\n\r\n"
    answers["a long head"] = answered(running.port, long.encode())
    assert {answer.status for answer in answers.values()} == {200, 303, 403, 404, 405}
    assert [what for what, answer in answers.items() if not guarded(answer)] == []
    for one in ("GET / HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n"):  # answered by the server itself
        refused = answered(running.port, one.encode())
        assert refused.status == 400
        assert refused.headers["content-type"].startswith("text/plain")
        assert refused.text == "Invalid HTTP request received."  # nothing of what was sent
    stream = Sent("GET", f"/events?{plain}", (("Host", client.host), ("Cookie", client.cookie)))
    with socket.create_connection(("127.0.0.1", running.port), PATIENCE) as connection:
        connection.sendall(stream.content)
        head = connection.recv(1 << 16).decode().lower()
    policy = _policy(answers["/"])
    assert f"content-security-policy: {policy}" in head
    assert "x-content-type-options: nosniff" in head
    figure(f"{len(answers) + 1} kinds of answers: each with a policy of 'self' and 'none' alone")


# Fault 26

PATHS = r"""
/static/../sessions.py /static/%2e%2e/sessions.py /static/..%2f..%2fpyproject.toml /static/..%5csessions.py
/static/.. /static/. /static/ /static /static/../../../secret.txt
/static/..%2f..%2f..%2fsecret.txt /static/__init__.py
//etc/passwd ///etc/passwd /static//etc/passwd /static/%2fetc%2fpasswd /etc/passwd /%2e%2e/
/../../etc/passwd /static/..\..\sessions.py \static\live.js /static/live.js%00 /static/%00
/static/live.js%00.css /static/live.js/ /static/live.js/.. /static/LIVE.JS /static/%c0%ae%c0%ae/sessions.py
/static/%c0%ae%c0%ae%c0%afsessions.py /static/%e0%80%ae%e0%80%ae/sessions.py /static/%252e%252e/sessions.py
/static/link.txt /static/folder/secret.txt /static/folder /static/new.txt /templates/layout.html
/static/../templates/layout.html /data/../static/live.js /data/../x /data/ /data/%2e%2e /% /static/%zz
http://127.0.0.1/static/live.js file:///etc/passwd http://evil.example/ * etc/passwd /enter/../work
/./static/live.js /static/./live.js /static;/live.js /static/live.js;x /static/live.js%20 /.git/config
"""
TARGETS = [*PATHS.split(), f"/static/x{'y' * 20_000}", f"/{'../' * 5000}", f"/static/{'%2e%2e/' * 3000}"]

ASKED = """
/picture?name=plain&kind=../../x /picture?name=plain&kind=__class__ /picture?name=plain
/picture?name=plain&kind=slices&of=__class__ /picture?name=plain&kind=contour&of=x&of=x
/picture?name=plain&kind=timeline&objective=../x /trial?name=plain&number=-1 /trial?name=plain&number=1e9
/trial?name=plain&number=999999999 /trial?name=plain&number= /trial?name=plain&number=1&number=x
/trial?name=plain /trial?name=plain&number=%00 /trials?name=plain&page=-1 /trials?name=plain&page=0
/trials?name=plain&page=999999 /trials?name=plain&page=x /trials?name=plain&sort=__class__
/trials?name=plain&sort=value:__class__ /trials?name=plain&sort=param:
/trials?name=plain&state=__class__&text=%00(((*&broken=yes /trials?name=plain&order=%ff
/study?name=../../etc/passwd /study?name=/etc/passwd /study?name=%00 /study?name=%ff
/study?name=plain;attach /study?name='%20OR%201=1%20-- /study?name=sqlite:////etc/passwd /study?
/study?name=plain&name=none /study?=&&&=% /data/convergence?name=%2e%2e /data/front?name=plain&of=__class__
/data/parallel?name=plain&objective=__class__ /model?name=plain&objective=__class__&x=__class__&y=1
/parallel?name=plain&objective=%00 /?all=%00&live=1 /events?name= /trials.csv?name=../x
/work?name=plain&live=__class__
"""
QUERIES = [
    *ASKED.split(),
    *(f"/trial?name=plain&number=1{'0' * size}" for size in (9, 400, 5000)),
    *(f"/trials?name=plain&page=1{'0' * size}" for size in (12, 400, 5000)),
    f"/trials?name=plain&text={'(' * 9000}",
    f"/study?name={'n' * 9000}",
    f"/?{'a=b&' * 4000}",
]


@pytest.mark.fault(26)
def test_no_target_leads_out_of_the_folder(
    url: str, tmp_path_factory: pytest.TempPathFactory, figure: Figure
) -> None:
    """Of a copy of bopp, beside whose files links were planted once it was running."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(Path(bopp.__file__).parent, folder / "bopp")
    (folder / "secret.txt").write_text(SECRET)
    with dashboard(url, "--debug", folder=folder) as running:
        static = folder / "bopp/dashboard/static"
        (static / "link.txt").symlink_to(folder / "secret.txt")
        (static / "folder").symlink_to(folder)
        (static / "new.txt").write_text(SECRET)
        check_targets(running, Client(running))
    figure(f"{len(TARGETS)} paths and {len(QUERIES)} queries: refused or harmless")


def check_targets(running: Linked, client: Client) -> None:
    for target in TARGETS:
        for cookie in (client.cookie, ""):
            headers = (("Host", client.host), ("Cookie", cookie), ("Connection", "close"))
            answer = answered(running.port, Sent("GET", target, headers).content)
            assert answer.status in (400, 403, 404), (target[:80], answer.status)
            for content in (SECRET, "root:", "import ", "[project]", "{% ", "use strict"):
                assert content not in answer.text, target[:80]
    live = client.get("/static/live.js")
    assert live.status == 200
    assert "use strict" in live.text
    assert not running.tracebacks


@pytest.mark.fault(26)
def test_no_query_breaks_a_page(running: Served, client: Client) -> None:
    found = {query: client.get(query).status for query in QUERIES}
    assert {query[:80]: status for query, status in found.items() if status not in (200, 404)} == {}
    assert found["/trial?name=plain&number=-1"] == found["/trial?name=plain&number=1e9"] == 404
    assert not running.tracebacks
    assert client.get(f"/study?name={PLAIN}").status == 200


# Attacks


def test_a_page_comes_while_others_ask_for_nothing_or_for_too_much(running: Served, client: Client) -> None:
    """The tests below have more of each, and a server of its own."""
    with connected(client.port, 60) as idle:
        time.sleep(0.2)
        for one in idle[:30]:
            pushed(one, b"GET / HTTP/1.1\r\nX-Slow: ")
        refused = client.sent("/change/ask", {"token": "x"}).but(content_length="9999999").content
        assert answered(client.port, refused).status == 413
        began = time.monotonic()
        assert client.get("/trials", name=PLAIN).status == 200
        assert time.monotonic() - began < 5 * BUDGET  # on a busy machine too
    assert not running.tracebacks


class Honest(threading.Thread):
    """Asks for a page again and again, and notes how long each answer took.

    Time for which it or the server waited for a processor, as others use the machine too, does not count.
    """

    def __init__(self, running: Dashboard, client: Client, every: float, path: str = f"/trials?name={PLAIN}"):
        super().__init__(daemon=True)
        self._server = running.process.pid
        self._client = client
        self._every = every
        self._path = path
        self._over = threading.Event()
        self.took: list[float] = []
        self.wrong: list[object] = []

    def run(self) -> None:
        while not self._over.wait(self._every):
            began = time.monotonic() - self._kept_waiting()
            try:
                answer = self._client.get(self._path)
                if answer.status != 200 or 'id="table"' not in answer.text:
                    self.wrong.append(answer)
            except OSError as error:
                self.wrong.append(error)
            self.took.append(time.monotonic() - self._kept_waiting() - began)

    def _kept_waiting(self) -> float:
        files = (Path(f"/proc/{pid}/schedstat") for pid in (self._server, f"self/task/{self.native_id}"))
        return sum(int(file.read_text().split()[1]) / 1e9 for file in files if file.exists())

    def __enter__(self) -> Honest:
        self.start()
        wait_for(lambda: self.took)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join(PATIENCE)
        assert not self.is_alive()


Siege = tuple[Dashboard, Client]


@pytest.fixture
def besieged(process: Dashboard) -> Iterator[Siege]:
    """A dashboard under attack, of which an honest client notices nothing."""
    client = Client(process, process.another_link(PLAIN))
    with Honest(process, client, every=0.05) as honest:
        yield process, client
    assert not honest.wrong, honest.wrong[:3]
    assert max(honest.took) < BUDGET
    wait_for(lambda: process.memory < MEGABYTES)
    assert not process.tracebacks
    assert client.get("/study", name=PLAIN).status == 200


@contextmanager
def connected(port: int, count: int, content: bytes = b"") -> Iterator[list[socket.socket]]:
    """This many connections, opened 500 at once; each asks for this at once."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and count + 200 > most:
        pytest.skip(f"{count} connections want {count + 200} open files, and this machine allows {most}")
    with ExitStack() as stack:
        opened = []
        for number in range(count):
            if number and number % 500 == 0:
                time.sleep(0.2)  # until these are accepted: more would wait in the queue of the system
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
            if content:
                pushed(one, content)
            opened.append(one)
        yield opened


def pushed(connection: socket.socket, content: bytes) -> int:
    """How many of these bytes could be sent at once."""
    with suppress(OSError):
        return connection.send(content)
    return 0


def dripped(connections: list[socket.socket], seconds: float) -> None:
    """Send a byte each second for so long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for one in connections:
            pushed(one, b"a")
        time.sleep(1.0)


@pytest.mark.endurance
@pytest.mark.parametrize("count", [60, pytest.param(300, marks=full_size)])
@pytest.mark.parametrize("form", [False, True])
def test_requests_that_come_a_byte_a_second(besieged: Siege, count: int, form: bool) -> None:
    running, client = besieged
    right = client.sent("/change/ask", {"name": PLAIN}).but(content_length="1000", connection=None).content
    strange = Sent("POST", "/change/ask", (("Host", client.host), ("Content-Length", "1000"))).content
    with connected(running.port, count) as slow:
        time.sleep(0.2)
        for place, one in enumerate(slow):
            pushed(one, (right if place % 2 else strange) if form else b"GET / HTTP/1.1\r\nX-Slow: ")
        dripped(slow, count / 30)


@pytest.mark.endurance
@pytest.mark.parametrize("count", [60, pytest.param(300, marks=full_size)])
def test_readers_who_never_read(besieged: Siege, url: str, count: int) -> None:
    running, client = besieged
    headers = (("Host", client.host), ("Cookie", client.cookie))
    stream = Sent("GET", f"/events?name={PLAIN}", headers).content
    file = Sent("GET", "/static/uplot.js", headers).content
    with connected(running.port, count) as slow:
        time.sleep(0.2)
        for place, one in enumerate(slow):
            pushed(one, stream if place % 2 else file * 20)
        with bopp.open_study(url, PLAIN) as study:
            for _ in range(20):
                study.note(0, "a note")
                time.sleep(0.05)


@pytest.mark.endurance
@pytest.mark.parametrize("count", [10, pytest.param(40, marks=full_size)])
def test_what_is_far_too_long(besieged: Siege, count: int) -> None:
    running, client = besieged
    long = b"a" * 10_000_000
    form = client.sent("/change/ask", {"token": "x"})
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(long), long)
    asked = {
        "a body": form.but(content_length=str(len(long))).content + long,
        "a body in chunks": form.but(content_length=None, transfer_encoding="chunked").content + chunks,
        "a body in chunks with a length": form.but(transfer_encoding="chunked").content + chunks,
        "a body longer than it says": form.but(content_length=str(LARGEST)).content + long,
        "a header": b"GET / HTTP/1.1\r\nX: " + long,
        "a target": b"GET /" + long,
        "headers": b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100_000,
        "no chunk": form.but(content_length=None, transfer_encoding="chunked").content + b"zz\r\n",
        "half a form": form.but(content_length="100").content,
    }
    statuses: dict[str, set[int]] = {what: set() for what in asked}

    def send(what: str) -> None:
        statuses[what].add(answered_or_not(running.port, asked[what]))

    threads = [threading.Thread(target=send, args=(what,)) for what in [*asked] * (count // 10)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE)
    wanted = {"a body": 413, "a body in chunks": 411, "a body in chunks with a length": 411}
    wanted |= {"a body longer than it says": 403, "half a form": 0}
    for what, found in statuses.items():
        assert found, what
        assert found <= {wanted.get(what, 400), 400, 0}, what  # 0: it was closed before all was sent


def answered_or_not(port: int, content: bytes) -> int:
    """The status of an answer, sent by somebody who soon goes away."""
    with socket.create_connection(("127.0.0.1", port), 5.0) as connection, suppress(OSError):
        connection.sendall(content)
        connection.settimeout(1.0)
        if found := re.match(rb"HTTP/1.1 (\d+) ", connection.recv(100)):
            return int(found[1])
    return 0


@pytest.mark.endurance
@pytest.mark.parametrize("count", [300, 10_000])
def test_connections_that_ask_for_nothing(besieged: Siege, count: int) -> None:
    with connected(besieged[0].port, count):
        time.sleep(3.0)


@pytest.mark.endurance
@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=full_size)])
def test_requests_of_strangers_in_parallel(besieged: Siege, count: int) -> None:
    assert in_parallel(besieged[1], "", count) == [403] * count


def test_requests_of_those_let_in_are_answered_in_turn(running: Served, client: Client) -> None:
    assert in_parallel(client, client.cookie, 100) == [200] * 100
    assert not running.tracebacks


def in_parallel(client: Client, cookie: str, count: int) -> list[int]:
    """The statuses of this many requests at once."""
    headers = (("Host", client.host), ("Cookie", cookie), ("Connection", "close"))
    content = Sent("GET", f"/study?name={PLAIN}", headers).content
    statuses: list[int] = []
    with connected(client.port, count, content) as many, selectors.DefaultSelector() as selector:
        for one in many:
            selector.register(one, selectors.EVENT_READ, one)
        until = time.monotonic() + PATIENCE
        while selector.get_map() and time.monotonic() < until:
            for key, _ in selector.select(1.0):
                selector.unregister(key.data)
                with suppress(OSError):
                    statuses.append(int(key.data.recv(100).split()[1]))
    return statuses


@pytest.mark.fault(23)
@pytest.mark.parametrize("each", [pytest.param(200, marks=full_size)])
def test_looking_disturbs_no_worker(tmp_path: Path, each: int, figure: Figure) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    opened(url).close()
    with dashboard(url) as running:
        client = Client(running)
        stream = client.events("many")
        threading.Thread(target=lambda: [*stream], daemon=True).start()
        with Honest(running, client, 1.0, "/trials?name=many") as honest:
            found = many(url, tmp_path, 8, each)
        assert not honest.wrong
        assert f'"trial-{8 * each - 1}"' in client.get("/trials?name=many").text
        assert not running.tracebacks
    figure(f"{found}; {len(honest.took)} pages meanwhile, each within {max(honest.took):.1f} s")
