"""Links let one browser in, once; sessions and the tokens of forms are of one server and one browser."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from bopp.dashboard import sessions
from bopp.dashboard.sessions import Sessions
from support.dashboards import flipped


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which tests move on."""
    now = [1000.0]
    monkeypatch.setattr("bopp.dashboard.sessions.time.monotonic", lambda: now[0])
    return now


@pytest.fixture
def some() -> Sessions:
    return Sessions()


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


def test_a_link_is_good_for_one_session(some: Sessions) -> None:
    word = some.link()
    session = some.enter(word)
    assert session
    assert some.knows(session)
    assert some.enter(word) is None
    assert not some.knows(word)
    assert not some.knows("")


def test_no_other_word_lets_in(some: Sessions) -> None:
    word = some.link()
    for other in (flipped(word), word[:-1], f"{word} ", word.upper(), "", "\ud800", Sessions().link()):
        assert some.enter(other) is None, other
    assert some.enter(word)  # none of them used it up


def test_a_link_is_used_by_one_of_many_at_once(some: Sessions) -> None:
    word = some.link()
    assert sum(session is not None for session in at_once(lambda: some.enter(word))) == 1


def test_a_link_grows_old(some: Sessions, clock: list[float]) -> None:
    first, second, lasting = some.link(), some.link(), some.link(float("inf"))
    clock[0] += sessions.LINK_SECONDS
    assert some.enter(first)
    clock[0] += 0.1
    assert some.enter(second) is None
    clock[0] += 1e9
    assert some.enter(lasting)


def test_the_oldest_session_and_the_oldest_link_give_way(
    some: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST", 3)
    known = [entered(some) for _ in range(4)]
    assert [some.knows(session) for session in known] == [False, True, True, True]
    words = [some.link() for _ in range(4)]
    assert [some.enter(word) is not None for word in words] == [False, True, True, True]


def test_a_token_is_good_for_one_form(some: Sessions) -> None:
    session = entered(some)
    first, second = some.token(session), some.token(session)
    assert some.spend(session, first)
    assert not some.spend(session, first)
    assert some.spend(session, second)


def test_a_token_is_spent_by_one_of_many_at_once(some: Sessions) -> None:
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


def test_a_token_that_was_changed_is_refused(some: Sessions) -> None:
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


def test_a_token_grows_old(some: Sessions, clock: list[float]) -> None:
    session = entered(some)
    first, second = some.token(session), some.token(session)
    clock[0] += sessions.FORM_SECONDS
    assert some.spend(session, first)
    clock[0] += 1.0
    assert not some.spend(session, second)


def test_what_was_spent_does_not_grow_without_end(some: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_SPENT", 10)
    session = entered(some)
    tokens = [some.token(session) for _ in range(20)]
    assert all(some.spend(session, token) for token in tokens)
    assert not any(some.spend(session, token) for token in tokens[-10:])
    assert len(some._spent) == 10
