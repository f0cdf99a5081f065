"""Links let one browser in, once; sessions and the tokens of forms are of one server and one browser."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest

import bopp
from bopp import Float, Recipe
from bopp.dashboard import sessions
from bopp.dashboard.sessions import Sessions
from support.dashboards import Client, Served, flipped, served

NAME = "sessions"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which tests move on."""
    now = [1000.0]
    monkeypatch.setattr("bopp.dashboard.sessions.time.monotonic", lambda: now[0])
    return now


def entered(some: Sessions) -> str:
    """The key of a new session."""
    session = some.enter(some.link())
    assert session
    return session


def at_once(call: Callable[[], Any], times: int = 8) -> list[Any]:
    """What a function returns to threads that call it at the same time."""
    ready, found = threading.Barrier(times), []

    def called() -> None:
        ready.wait()
        found.append(call())

    threads = [threading.Thread(target=called) for _ in range(times)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return found


# Sessions


def test_a_link_is_good_for_one_session() -> None:
    some = Sessions()
    word = some.link()
    session = some.enter(word)
    assert session
    assert some.knows(session)
    assert some.enter(word) is None
    assert not some.knows(word)
    assert not some.knows("")


def test_no_other_word_lets_in() -> None:
    some = Sessions()
    word = some.link()
    for other in (flipped(word), word[:-1], f"{word} ", word.upper(), "", "\ud800", Sessions().link()):
        assert some.enter(other) is None, other
    assert some.enter(word)  # none of them used it up


def test_a_link_is_used_by_one_of_many_at_once() -> None:
    some = Sessions()
    word = some.link()
    assert sum(session is not None for session in at_once(lambda: some.enter(word))) == 1


def test_a_link_grows_old(clock: list[float]) -> None:
    some = Sessions()
    first, second, lasting = some.link(), some.link(), some.link(float("inf"))
    clock[0] += sessions.LINK_SECONDS
    assert some.enter(first)
    clock[0] += 0.1
    assert some.enter(second) is None
    clock[0] += 1e9
    assert some.enter(lasting)


def test_the_oldest_session_and_the_oldest_link_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST", 3)
    some = Sessions()
    known = [entered(some) for _ in range(4)]
    assert [some.knows(session) for session in known] == [False, True, True, True]
    words = [some.link() for _ in range(4)]
    assert [some.enter(word) is not None for word in words] == [False, True, True, True]


def test_a_token_is_good_for_one_form() -> None:
    some = Sessions()
    session = entered(some)
    first, second = some.token(session), some.token(session)
    assert some.spend(session, first)
    assert not some.spend(session, first)
    assert some.spend(session, second)


def test_a_token_is_spent_by_one_of_many_at_once() -> None:
    some = Sessions()
    session = entered(some)
    token = some.token(session)
    assert sum(at_once(lambda: some.spend(session, token))) == 1


def test_a_token_of_another_session_or_server_is_refused() -> None:
    some, other = Sessions(), Sessions()
    mine, theirs = entered(some), entered(some)
    token = some.token(mine)
    assert not some.spend(theirs, token)
    assert not some.spend(mine, some.token(theirs))
    assert not some.spend(mine, other.token(mine))
    assert some.spend(mine, token)  # what was refused did not use it up


def test_a_token_that_was_changed_is_refused() -> None:
    some = Sessions()
    session = entered(some)
    token = some.token(session)
    said, _, signature = token.rpartition(".")
    later = f"{int(said.partition('-')[0]) + 1}-{said.partition('-')[2]}"
    others = [
        f"{later}.{signature}",
        said,
        f".{signature}",
        signature,
        "",
        ".",
        "-.",
        f"{token}0",
        "\N{SNOWMAN}",
    ]
    for other in (*(flipped(token, place) for place in range(len(token))), *others):
        assert not some.spend(session, other), other
    assert some.spend(session, token)


def test_a_token_grows_old(clock: list[float]) -> None:
    some = Sessions()
    session = entered(some)
    first, second = some.token(session), some.token(session)
    clock[0] += sessions.FORM_SECONDS
    assert some.spend(session, first)
    clock[0] += 1.0
    assert not some.spend(session, second)


def test_what_was_spent_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_SPENT", 10)
    some = Sessions()
    session = entered(some)
    tokens = [some.token(session) for _ in range(20)]
    assert all(some.spend(session, token) for token in tokens)
    assert not any(some.spend(session, token) for token in tokens[-10:])
    assert len(some._spent) == 10


# The link of a server


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a study."""
    url = f"sqlite:///{tmp_path_factory.mktemp('sessions')}/a.db"
    bopp.open_study(url, NAME, {"x": Float(0.0, 1.0)}, recipe=Recipe.random()).close()
    return url


@pytest.fixture(scope="module")
def running(url: str) -> Iterator[Served]:
    with served(url) as running:
        yield running


@pytest.fixture(scope="module")
def client(running: Served) -> Client:
    return Client(running)


def let_in(client: Client) -> bool:
    """Whether a client sees the studies."""
    answers = {client.get(path).status for path in ("/?all=yes", f"/study?name={NAME}", "/trials.csv?name=x")}
    assert answers <= {200, 404} or answers == {403}
    return answers != {403}


def test_a_word_from_a_server_lets_in_once(running: Served, client: Client) -> None:
    assert let_in(client)
    word = client.another(NAME)
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
    answer = Client(running, token="").get(f"/enter?token={client.another(NAME)}")
    cookies = SimpleCookie(answer.headers["set-cookie"])
    assert list(cookies) == [f"bopp-{running.port}"]
    cookie = cookies[f"bopp-{running.port}"]
    assert cookie["httponly"] is True
    assert cookie["samesite"] == "strict"
    assert cookie["path"] == "/"
    assert cookie["domain"] == ""
    assert cookie.value not in answer.text


def test_no_page_gives_the_way_in_away(running: Served, client: Client) -> None:
    word = client.another(NAME)
    stranger = Client(running, token="")
    came = stranger.get(f"/enter?token={word}")
    assert came.headers["referrer-policy"] == "no-referrer"
    assert "location" not in came.headers
    assert word not in came.text
    inside = Client(running, token="")
    inside.cookie = came.headers["set-cookie"].partition(";")[0]
    session = inside.cookie.partition("=")[2]
    paths = ["/?all=yes", *(f"/{page}?name={NAME}" for page in ("study", "trials", "model", "work", "trial"))]
    for path in [*paths, "/nothing", "/static/live.js", "/enter?token=x"]:
        answer = inside.get(path)
        assert answer.headers["referrer-policy"] == "same-origin", path
        for secret in (word, running.token, session):
            assert secret not in answer.text + str(answer.headers), path


def test_no_link_is_printed_but_the_first(running: Served, client: Client) -> None:
    word = client.another(NAME)
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
        assert Client(second, token="").get(f"/enter?token={client.another(NAME)}").status == 403


def test_the_secrets_are_in_no_file(running: Served, client: Client, url: str) -> None:
    folder = Path(url.removeprefix("sqlite:///")).parent
    kept = b"".join(file.read_bytes() for file in folder.iterdir())
    for secret in (running.token, client.cookie.partition("=")[2]):
        assert secret.encode() not in kept
