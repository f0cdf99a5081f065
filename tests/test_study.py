from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

import bopp
from bopp import Choice, Float, Int, Optimizer, Recipe, Study, Trial, open_study
from bopp.errors import BoppError, NoResultError, RecipeError, SpaceError, StoreError, StudyError, TellError
from bopp.parameter import Parameter
from bopp.study import identity
from support.forks import forked, in_child
from support.waiting import wait_until
from support.workers import execute

SPACE: dict[str, Parameter] = {"x": Float(0, 1), "n": Int(1, 5)}
MIXED: dict[str, Parameter] = {
    "rate": Float(1e-9, 1.0, log=True),
    "huge": Int(-(2**52), 2**52),
    "option": Choice([None, True, 1, 1.0, "1", (1, (None, "a")), -0.0]),
    "ordered": Choice([(1, 2), (3, 4), (5, 6)], ordered=True),
    "width": Int(1, 2**40, log=True),
}
RANDOM = Recipe.random()
PARAMS = {"x": 0.25, "n": 3}


pytestmark = pytest.mark.usefixtures("closed_stores")


@pytest.fixture(params=["file", "memory", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of each kind, empty."""
    return "sqlite://" if request.param == "memory" else _kept(request, tmp_path, request.param)


@pytest.fixture(params=["file", "postgres"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of each kind that can be opened again."""
    return _kept(request, tmp_path, request.param)


def _kept(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> str:
    return (
        f"sqlite:///{tmp_path}/study.db" if kind == "file" else str(request.getfixturevalue("postgres_url"))
    )


def opened(url: str, lease: float | None = 60.0, **definition: Any) -> Study:
    """A study without a model, which is quick."""
    return open_study(url, "a", **{"space": SPACE, "recipe": RANDOM, **definition}, lease=lease)


def loss(params: dict[str, Any]) -> float:
    return float((params["x"] - 0.3) ** 2 + params["n"])


def shown(trials: tuple[Trial, ...]) -> list[tuple[Any, ...]]:
    """All that does not depend on the time and the process, to the last bit."""
    return [(t.number, repr(t.params), t.state, repr(t.values), t.error, t.origin) for t in trials]


# ask, tell and what is known


@pytest.mark.contract
def test_a_trial_from_ask_to_tell(url: str) -> None:
    study = opened(url)
    assert (study.name, study.direction, study.seed, study.recipe) == ("a", "minimize", 0, RANDOM)
    assert (study.trials, study.queued, study.others_at_work) == ((), [], False)
    with pytest.raises(NoResultError):
        _ = study.best
    before = datetime.now(UTC)
    trial = study.ask()
    assert (trial.number, trial.state, trial.values, trial.origin) == (0, "asked", {}, "suggested")
    assert trial.worker == identity.name()
    assert study.trials == (trial,)
    told = study.tell(trial, 0.5)
    assert (told.state, told.value, told.error) == ("done", 0.5, None)
    assert study.trials == study.result.trials == (told,)
    assert study.best == told
    assert trial.asked_at is not None
    assert told.told_at is not None
    assert before - timedelta(seconds=5) < trial.asked_at <= told.told_at < before + timedelta(minutes=1)


@pytest.mark.contract
def test_ask_for_several(url: str) -> None:
    study = opened(url)
    counts: list[Any] = [0, -1, 1.0, "2", [1]]
    for wrong in counts:
        with pytest.raises(RecipeError, match="count"):
            study.ask(wrong)
    trials = study.ask(4)
    assert [trial.number for trial in trials] == [0, 1, 2, 3]
    assert study.ask(np.int64(1))[0].number == 4  # type: ignore[call-overload]
    assert len({str(trial.params) for trial in trials}) == 4


@pytest.mark.contract
def test_the_queue_comes_first_and_once(url: str) -> None:
    study = opened(url)
    others = {"x": 0.75, "n": 4}
    study.enqueue(PARAMS)
    study.enqueue(others)
    study.enqueue(PARAMS)
    assert study.queued == [PARAMS, others, PARAMS]
    trials = study.ask(4)
    assert [trial.params for trial in trials[:3]] == [PARAMS, others, PARAMS]
    assert [trial.origin for trial in trials] == ["queued", "queued", "queued", "suggested"]
    assert study.queued == []


@pytest.mark.contract
def test_observed_results(url: str) -> None:
    study = opened(url)
    assert study.observe(PARAMS, 1).state == "done"
    lost = study.observe({"x": 1, "n": 1.0}, None)
    assert (lost.state, lost.error, lost.origin) == ("failed", "the value was None", "observed")
    assert repr(lost.params) == "{'x': 1.0, 'n': 1}"
    assert [trial.number for trial in study.trials] == [0, 1]


def test_params_that_do_not_fit_are_refused(url: str) -> None:
    study = opened(url)
    wrong: list[Any] = [{}, {"x": 0.5}, {"x": 2.0, "n": 1}, {"x": 0.5, "n": 1, "z": 0}, None, "x"]
    for params in wrong:
        with pytest.raises(SpaceError):
            study.observe(params, 1.0)
        if params != {"x": 0.5}:  # the rest of it can be suggested
            with pytest.raises(SpaceError):
                study.enqueue(params)
    assert (study.trials, study.queued) == ((), [])


def script(study: Study | Optimizer, again: Callable[[], Study | Optimizer]) -> list[str]:
    """Ask, tell, fail, observe and enqueue; `again` may open the study anew at every step."""
    asked: list[Trial] = []
    study.observe(study.ask().params, 3.5)
    for step in range(8):
        study = again()
        if step == 2:
            study.enqueue({**asked[0].params, "huge": 2**52 - 1, "option": 1})
        if step == 5:
            study.observe({**asked[1].params, "huge": -(2**51) - 1, "option": None}, -7.25)
        trial = study.ask()
        asked.append(trial)
        study = again()
        if step % 4 == 1:
            study.fail(trial, "broken")
        elif step % 4 != 3:  # some stay open
            study.tell(trial, math.sin(crc32(repr(trial.params).encode())))
    return [repr(trial.params) for trial in (*asked, again().ask())]


@cache
def wanted() -> tuple[list[str], list[tuple[Any, ...]]]:
    """What an optimizer suggests, and its trials in the end."""
    optimizer = Optimizer(MIXED, "maximize", seed=11)
    return script(optimizer, lambda: optimizer), shown(optimizer.trials)


@pytest.mark.contract
def test_suggestions_are_those_of_an_optimizer_and_the_same_after_every_reopening(kept: str) -> None:
    def again() -> Study:
        return open_study(kept, "b", MIXED, "maximize", seed=11, lease=None)

    assert (script(again(), again), shown(again().trials)) == wanted()
    study = open_study("sqlite://", "b", MIXED, "maximize", seed=11)
    assert (script(study, lambda: study), shown(study.trials)) == wanted()


@pytest.mark.parametrize(
    "recipe", [Recipe.paper("ucb"), Recipe.paper("ei", tau0=None)], ids=["pseudo-points", "plain"]
)
def test_suggestions_of_the_papers_recipes_survive_a_reopening(tmp_path: Path, recipe: Recipe) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    optimizer, seed = Optimizer(SPACE, seed=2**63 - 1, recipe=recipe), 2**63 - 1
    for _ in range(7):
        study = open_study(url, "a", SPACE, seed=seed, recipe=recipe)
        wanted, trial = optimizer.ask(), study.ask()
        assert repr(trial.params) == repr(wanted.params)
        optimizer.tell(wanted, loss(wanted.params))
        study.tell(trial, loss(trial.params))
    assert repr(open_study(url, "a").ask().params) == repr(optimizer.ask().params)


@pytest.mark.contract
def test_several_studies_in_one_store_do_not_meet(kept: str) -> None:
    one, two = opened(kept), open_study(kept, "two", {"z": Float(0, 1)}, recipe=RANDOM)
    one.enqueue(PARAMS)
    two.tell(two.ask(), 7.0)
    assert one.trials == ()
    assert two.queued == []
    one.tell(one.ask(), 1.0)
    assert [trial.value for trial in two.trials] == [7.0]
    assert one.best.params == PARAMS


# a value is taken once


@pytest.mark.fault(10)
@pytest.mark.contract
def test_the_same_value_again_changes_nothing_and_another_is_refused(url: str) -> None:
    study = opened(url)
    trial = study.ask()
    told = study.tell(trial, 2.5)
    time.sleep(0.01)
    assert study.tell(trial, 2.5) == study.tell(told, np.float32(2.5)) == study.tell(0, 2.5) == told
    for second in (2.500001, 0, -2.5, None, math.nan, math.inf):
        with pytest.raises(TellError, match=r"2\.5 already"):
            study.tell(told, second)
    with pytest.raises(TellError, match="'failed'"):
        study.fail(told, "no")
    failed = study.fail(study.ask(), "first")
    assert study.fail(failed, "second") == study.tell(failed, math.nan) == failed
    with pytest.raises(TellError, match="'failed' already"):
        study.tell(failed, 1.0)
    assert study.trials == (told, failed)
    assert failed.error == "first"


@pytest.mark.fault(13, 14, 15)
def test_what_is_not_finite_is_a_failure_and_no_number_is_refused(url: str) -> None:
    study = opened(url)
    for number, value in enumerate([None, math.nan, math.inf, -math.inf, 10**400, np.float32("inf")]):
        told = study.tell(study.ask(), value)
        assert (told.number, told.state, told.values) == (number, "failed", {})
        assert told.error
        assert study.trials[number] == told
    trial = study.ask()
    no_numbers: list[Any] = ["3.5", 1 + 2j, [1, 2], object()]
    for value in no_numbers:
        with pytest.raises(TellError, match="number"):
            study.tell(trial, value)
        with pytest.raises(TellError, match="number"):
            study.observe(PARAMS, value)
    assert study.trials[6:] == (trial,)
    assert study.tell(trial, 1.0).value == 1.0


@pytest.mark.contract
def test_values_are_kept_to_the_last_bit(kept: str) -> None:
    study = opened(kept)
    values: list[Any] = [0.1 + 0.2, 0.0, 5e-324, 1.7976931348623157e308, -1e-300, True, np.float32(0.1)]
    for value in values:
        study.tell(study.ask(), value)
    assert [repr(trial.value) for trial in opened(kept).trials] == [repr(float(value)) for value in values]


def test_what_was_not_asked_for_is_refused(url: str) -> None:
    study = opened(url)
    asked = study.ask()
    changes: list[Callable[[Any], object]] = [
        lambda trial: study.tell(trial, 1.0),
        lambda trial: study.fail(trial, "e"),
        lambda trial: study.note(trial, "n"),
    ]
    foreign = Optimizer(SPACE, seed=99, recipe=RANDOM).ask()
    things: list[Any] = [True, None, "0", 0.0, {}, (0,)]
    others = [foreign, replace(asked, params={"x": 0.5, "n": 1}), 1, -1, 10**30, np.int64(7)]
    for change in changes:
        for trial in others:
            with pytest.raises(TellError, match="not asked for"):
                change(trial)
        for thing in things:
            with pytest.raises(TellError, match="number"):
                change(thing)
    study.release(10**30)
    with pytest.raises(TellError, match="number"):
        study.release("0")  # type: ignore[arg-type]
    assert study.trials == (asked,)


# texts


@pytest.mark.contract
def test_texts_are_kept_as_they_are_or_in_a_form_that_a_database_takes(kept: str) -> None:
    study = opened(kept)
    plain = ["naïve 😀\n\ttab", "a'b\"c`; DROP TABLE bopp_trials; --", "<script>", "\u202e", "%s {0}"]
    odd = ["a\0b", "a\udc80b", "\0" * 20, "\ud83d", "e" * 1_000_000, "😀" * 20_000]
    for number, text in enumerate([*plain, *odd]):
        failed = study.fail(study.ask(), text)
        noted = study.note(number, text)
        assert noted.error == failed.error  # a note leaves it as it is
        assert noted == study.trials[number]
    trials = opened(kept).trials
    assert [(trial.error, trial.notes) for trial in trials[: len(plain)]] == [(text, text) for text in plain]
    for text, trial in zip(odd, trials[len(plain) :], strict=True):
        for kept_text in (trial.error, trial.notes):
            assert kept_text is not None
            assert kept_text[0] == (text[0] if text[0] in "ae😀" else "\\")
            assert len(kept_text) < 10_100
            assert "\0" not in kept_text


def test_notes(url: str) -> None:
    study = opened(url)
    trial = study.ask()
    study.note(trial, "first")
    assert study.note(0, "second").notes == "first\nsecond"
    told = study.tell(trial, 1.0)
    assert told.notes == "first\nsecond"
    assert study.note(told, "").notes == "first\nsecond"
    assert study.trials[0].told_at == told.told_at
    for text in (None, 5, b"x"):
        with pytest.raises(TellError, match="note"):
            study.note(trial, text)  # type: ignore[arg-type]
    assert study.fail(study.ask(), "").error == "no reason was given"


# leases


def silent(url: str, lease: float) -> Trial:
    """A trial whose worker does not speak any more."""
    study = opened(url, lease)
    trial = study.ask()
    gone = weakref.ref(study)
    del study
    gc.collect()
    assert gone() is None
    return trial


class Clock:
    """The clock of whoever looks at leases, which stands until it is set forward."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("bopp.study.leases.time", clock)
    return clock


@pytest.mark.contract
def test_a_lease_that_ran_out_goes_to_the_next_who_looks_twice(kept: str, clock: Clock) -> None:
    other = opened(kept)
    trial = silent(kept, 600.0)
    assert other.ask().number == 1  # not yet
    clock.seconds += 600.0
    assert other.ask().number == 2  # nor however long it was watched
    execute(kept, "UPDATE bopp_trials SET lease_until = lease_until - 401 WHERE number = 0")
    assert other.ask().number == 3  # it ran out; a first look
    clock.seconds += 149.0
    assert other.ask().number == 4
    clock.seconds += 1.0  # a quarter of the lease after the first look
    taken = other.ask()
    assert (taken.number, taken.params, taken.state) == (0, trial.params, "asked")
    assert taken.asked_at == trial.asked_at
    assert other.ask().number == 5
    assert other.tell(taken, 1.0).value == 1.0


@pytest.mark.fault(19)
def test_a_clock_that_is_set_takes_no_trial_from_its_owner(kept: str, clock: Clock) -> None:
    """A lease whose end jumps is what a clock looks like that was set by as much the other way."""
    study, other = opened(kept, 600.0), opened(kept)
    trials = study.ask(2)
    for number, seconds in enumerate((-3600, 3600)):
        execute(kept, f"UPDATE bopp_trials SET lease_until = lease_until + {seconds} WHERE number = {number}")
    numbers = []
    for _ in range(8):
        numbers.append(other.ask().number)
        study.renew()
        clock.seconds += 100.0  # the time between two heartbeats
    assert numbers == list(range(2, 10))
    assert [study.tell(trial, 1.0).state for trial in trials] == ["done"] * 2


@pytest.mark.fault(19)
@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_set_keeps_no_trial_for_ever(kept: str, hours: int) -> None:
    silent(kept, 0.6)
    execute(kept, f"UPDATE bopp_trials SET lease_until = lease_until + {3600 * hours}")
    other = opened(kept)
    other.ask()
    time.sleep(0.2)
    assert other.ask().number == 0


@pytest.mark.contract
def test_a_released_trial_goes_to_the_next_at_once(kept: str) -> None:
    study, other = opened(kept), opened(kept)
    trials = study.ask(2)
    study.release(trials[1])
    study.release(trials[1])
    again = other.ask()
    assert (again.number, again.params) == (1, trials[1].params)
    assert other.ask().number == 2
    study.release(again)  # no longer ours
    study.release(study.tell(trials[0], 1.0))  # nor is one that was told
    assert opened(kept).ask().number == 3


def test_a_trial_without_a_lease_is_never_taken(kept: str) -> None:
    by_hand, other = opened(kept, lease=None), opened(kept, lease=0.3)
    trial = by_hand.ask()
    by_hand.close()
    for _ in range(4):
        assert other.tell(other.ask(), 0.0).number > 0
        time.sleep(0.1)
    assert not other.others_at_work
    assert opened(kept).tell(trial.number, 1.0).value == 1.0
    by_hand = opened(kept, lease=None)
    given = by_hand.ask()
    by_hand.release(given)
    assert opened(kept).ask().number == given.number


def test_a_late_value_counts_and_a_late_failure_does_not(kept: str) -> None:
    study, other = opened(kept), opened(kept)
    first, second, third = study.ask(3)
    execute(kept, "UPDATE bopp_trials SET lease = 0, lease_until = 0")
    assert [trial.number for trial in other.ask(3)] == [0, 1, 2]
    with pytest.raises(bopp.errors.LateTell, match="trial 0 went"):
        study.fail(first, "late")
    assert other.trials[0].state == "asked"
    assert study.tell(second, 2.0).value == 2.0
    other.tell(third, 3.0)
    with pytest.raises(bopp.errors.LateTell, match="somebody else"):
        study.tell(third, 4.0)
    with pytest.raises(TellError, match=r"2\.0 already"):
        other.tell(second, 5.0)
    assert [trial.values.get("value") for trial in other.trials] == [None, 2.0, 3.0]


def test_a_trial_of_a_dead_process_is_taken_at_once(kept: str) -> None:
    opened(kept)
    assert in_child(lambda: opened(kept).ask().number == 0) == 0
    assert opened(kept).ask().number == 0


def test_who_is_dead() -> None:
    code = "from bopp.study import identity; print(identity.name(), flush=True); input()"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    child = subprocess.Popen([sys.executable, "-c", code], **pipes)
    assert child.stdout is not None
    name = child.stdout.readline().strip()
    assert not identity.is_dead(name)
    child.kill()
    wait_until(lambda: identity.is_dead(name))  # a zombie, until it is waited for
    child.communicate()
    assert identity.is_dead(name)
    assert not identity.is_dead(identity.name())
    host, pid, birth = identity.name().split("/")
    assert identity.is_dead(f"{host}/{pid}/{birth}0")  # another process had this number before
    assert not identity.is_dead(f"{host}/{pid}/elsewhere-123")


@pytest.mark.parametrize("name", ["", "/", "//", "a/b/c", "a/-1/b", "a/²/b", "a/9" * 3, "\0/1/\0", "unknown"])
def test_names_of_nobody_are_not_dead(name: str) -> None:
    assert not identity.is_dead(name)


@pytest.mark.skipif(not os.path.exists("/proc/self/comm"), reason="Linux alone")
def test_a_process_whose_title_is_not_unicode_has_a_name() -> None:
    code = "open('/proc/self/comm', 'wb').write(b'\\xff)'); from bopp.study import identity; identity.name()"
    assert subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL).returncode == 0


def test_closing_gives_back_what_was_not_told(kept: str) -> None:
    with opened(kept) as study, suppress(ZeroDivisionError):
        told, _ = study.tell(study.ask(), 1.0), study.ask()
        raise ZeroDivisionError
    study.close()
    other = opened(kept)
    assert other.trials[0] == told
    taken = other.ask()
    assert taken.number == 1
    other.close()
    assert study.ask().number == 1  # a closed study can be used again
    assert opened(kept).ask().number == 2


@pytest.mark.parametrize("lease", [0, -1.0, math.inf, math.nan, "60", (1,)])
def test_leases_that_are_none(tmp_path: Path, lease: Any) -> None:
    with pytest.raises(RecipeError) as caught:
        opened(f"sqlite:///{tmp_path}/a.db", lease)
    assert caught.value.argument == "lease"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["suggested", "queued", "left by the dead"])
@pytest.mark.contract
def test_of_two_with_the_same_plan_one_has_the_trial(kept: str, kind: str) -> None:
    """The suggestion lock keeps two from planning at once; without it, the claim itself decides."""
    one, other = opened(kept), opened(kept)
    one.tell(one.ask(), 1.0)
    if kind == "queued":
        one.enqueue(PARAMS)
    elif kind == "left by the dead":
        one.release(one.ask())
    plan, same = one._asking._plan(math.inf), other._asking._plan(math.inf)
    assert plan is not None
    assert plan == same
    trial = one._store.write(partial(one._asking._claim, plan, "ticket of one"))
    assert trial is not None
    assert (trial.number, trial.params) == (1, plan.params)
    assert other._store.write(partial(other._asking._claim, plan, "ticket of the other")) is None
    assert [known.params for known in other.trials] == [one.trials[0].params, plan.params]
    assert other.queued == []
    [(ticket,)] = execute(kept, "SELECT ticket FROM bopp_trials WHERE number = 1")
    assert ticket == "ticket of one"


@pytest.mark.contract
def test_a_suggestion_without_the_lock_does_no_harm(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial is asked for and given back, while somebody else looks for a suggestion."""
    monkeypatch.setattr("bopp.study.suggestion_lock.WAIT", 0.1)
    study, other = opened(postgres_url), opened(postgres_url)
    leases = study._ledger.leases

    def later(connection: sa.Connection, *numbers: Any) -> Any:
        if not other.trials:
            other.release(other.ask())
        return leases(connection, *numbers)

    study._ledger.leases = later  # type: ignore[method-assign, assignment]
    assert study.ask().number == 0


# forks; 3.12 warns of threads, and of those of a study none holds a lock


@contextmanager
def forking() -> Iterator[None]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


@pytest.mark.parametrize("lease", [None, 60.0])
def test_a_fork_may_use_the_study_of_its_parent(kept: str, lease: float | None) -> None:
    study = opened(kept, lease)
    mine = study.ask()

    def child() -> None:
        for value in (10.0, 11.0):
            study.tell(study.ask(), value)
        study.tell(mine, 0.5)

    with forking():
        for _ in range(2):
            assert in_child(child) == 0
            study.tell(study.ask(), 20.0)
    assert [trial.value for trial in study.trials] == [0.5, 10.0, 11.0, 20.0, 10.0, 11.0, 20.0]
    assert opened(kept).trials == study.trials


def test_forks_of_one_study_ask_at_once(kept: str) -> None:
    study = opened(kept, None)
    study.ask()

    def work() -> None:
        for _ in range(6):
            study.tell(study.ask(), 1.0)

    with forking():
        assert forked(3, work) == [0] * 3
    work()
    assert [trial.values.get("value") for trial in study.trials].count(1.0) == 24
    assert len(study.trials) == 25


def test_a_fork_leaves_the_connections_of_its_parent_alone(postgres_url: str) -> None:
    study = opened(postgres_url, None)
    study.ask()
    engine = study._store._engine
    with engine.connect() as one, engine.connect() as two:
        parents = {c.connection.dbapi_connection.info.backend_pid for c in (one, two)}  # type: ignore[union-attr]
    used = set()

    def child() -> bool:
        sa.event.listen(engine, "checkout", lambda raw, *_: used.add(raw.info.backend_pid))
        study.ask()
        return bool(used) and not used & parents

    with forking():
        assert in_child(child) == 0


def test_a_fork_that_closes_its_study_gives_back_nothing_of_its_parent(kept: str) -> None:
    study = opened(kept)
    trial = study.ask()
    with forking():
        assert in_child(study.close) == 0
    assert opened(kept).ask().number == 1
    assert study.tell(trial, 1.0).value == 1.0


def test_a_fork_of_a_study_in_memory_says_so() -> None:
    study = opened("sqlite://", None)
    study.tell(study.ask(), 1.0)

    def child() -> bool:
        try:
            study.ask()
        except BoppError:
            return True
        return False

    assert in_child(child) == 0
    assert study.ask().number == 1


# optimize


@pytest.mark.contract
def test_the_budget_counts_over_all_runs(url: str) -> None:
    study = opened(url)
    study.observe(PARAMS, 100.0)
    study.observe({"x": 0.0, "n": 1}, None)
    assert len(study.optimize(loss, 3, progress=False).trials) == 5
    assert len(study.optimize(loss, 3, progress=False).trials) == 5
    result = study.optimize(loss, 7, progress=False)
    assert len(result.trials) == 9
    assert result.trials == study.trials
    assert {trial.value for trial in result.trials[2:]} == {loss(trial.params) for trial in result.trials[2:]}


def test_optimize_is_minimize(tmp_path: Path) -> None:
    study = open_study(f"sqlite:///{tmp_path}/a.db", "a", SPACE, seed=3)
    study.optimize(loss, 4, progress=False)
    study.optimize(loss, 9, progress=False)
    wanted = bopp.minimize(loss, SPACE, 9, seed=3, progress=False)
    assert shown(study.trials) == shown(wanted.trials)


def test_a_target_that_was_reached_before_ends_a_run_at_once(url: str) -> None:
    study = opened(url)
    calls = []

    def objective(params: dict[str, Any]) -> float:
        calls.append(params)
        return 5.0 - len(calls)

    study.optimize(objective, 50, progress=False, target=2.0)
    assert len(calls) == 3
    study.optimize(objective, 50, progress=False, target=2.0)
    assert len(calls) == len(study.trials) == 3


def test_a_target_may_be_reached_by_another(kept: str) -> None:
    study = opened(kept, direction="maximize")

    def objective(params: dict[str, Any]) -> float:
        if len(study.trials) == 2:
            opened(kept).observe(PARAMS, 1000.0)
        return 0.0

    study.optimize(objective, 50, progress=False, target=999.0)
    assert len(study.trials) == 3


def test_objectives_that_fail(url: str) -> None:
    study = opened(url)
    outcomes = iter([1.0, ValueError("a\0b"), math.nan, None, "x", SystemExit(3), 10**400, 2.0])

    def objective(_: dict[str, Any]) -> Any:
        outcome = next(outcomes)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    result = study.optimize(objective, 8, progress=False)
    assert [trial.state for trial in result.trials] == ["done", *["failed"] * 6, "done"]
    assert (result.trials[1].error or "").startswith("ValueError: a")
    assert "wanted a number" in (result.trials[4].error or "")
    assert (result.trials[5].error or "").startswith("SystemExit")


def hang(params: dict[str, Any]) -> float:
    time.sleep(0.0 if params["n"] <= 2 else 60.0)
    return loss(params)


def test_an_evaluation_out_of_time_is_a_failure(kept: str) -> None:
    study = opened(kept)
    for n in (1, 5, 2):
        study.enqueue({"x": 0.5, "n": n})
    with forking():
        result = study.optimize(hang, 3, workers=3, progress=False, trial_timeout=1.0)
    assert [trial.state for trial in result.trials] == ["done", "failed", "done"]
    assert "no value within 1.0 seconds" in (result.trials[1].error or "")


def test_a_run_out_of_time_gives_back_its_trials(kept: str) -> None:
    study = opened(kept)
    study.enqueue({"x": 0.5, "n": 5})
    with forking():
        study.optimize(hang, 1, workers=2, progress=False, time_limit=0.3)
    assert [trial.state for trial in study.trials] == ["asked"]
    assert opened(kept).ask().number == 0


def test_ctrl_c_returns_and_gives_back(kept: str) -> None:
    study = opened(kept)

    def objective(_: dict[str, Any]) -> float:
        if len(study.trials) == 3:
            raise KeyboardInterrupt
        return 1.0

    result = study.optimize(objective, 9, progress=False)
    assert [trial.state for trial in result.trials] == ["done", "done", "asked"]
    assert not study.held
    assert opened(kept).ask().number == 2


def test_an_error_of_the_callback_gives_back_too(kept: str) -> None:
    study = opened(kept)

    def callback(_: Study, told: Trial) -> None:
        raise LookupError(f"{told.number}")

    with pytest.raises(LookupError), ThreadPoolExecutor(3) as pool:
        study.optimize(loss, 9, 3, executor=pool, progress=False, callback=callback)
    other = opened(kept)
    numbers = {other.ask().number for _ in range(sum(trial.state == "asked" for trial in study.trials))}
    assert numbers == {trial.number for trial in study.trials if trial.state == "asked" and trial.number < 3}


def test_the_callback_sees_each_trial_and_may_end_the_run(url: str) -> None:
    study = opened(url)
    seen: list[tuple[Study, int]] = []

    def callback(who: Study, trial: Trial) -> bool:
        seen.append((who, trial.number))
        return trial.number == 3

    study.optimize(loss, 9, progress=False, callback=callback)
    assert seen == [(study, number) for number in range(4)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.contract
def test_workers_evaluate(kept: str, workers: int) -> None:
    study = opened(kept, None)
    with forking():
        result = study.optimize(lambda params: loss(params), 5, workers, progress=False)
    assert [trial.value for trial in result.trials] == [loss(trial.params) for trial in result.trials]


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("budget", one) for one in (0, 2.0, "9")),
        *(("workers", one) for one in (0, "2")),
        *(("target", one) for one in ("0", math.nan)),
        *(("time_limit", 0), ("trial_timeout", -1), ("callback", 5), ("executor", "dask"), ("objective", 5)),
    ],
)
def test_wrong_arguments_ask_for_nothing(argument: str, value: Any) -> None:
    study = opened("sqlite://")
    with pytest.raises(RecipeError, match=argument):
        study.optimize(**{"objective": loss, "budget": 2, "progress": False, argument: value})
    assert study.trials == ()


def test_an_executor_that_was_shut_down_leaves_no_trial_behind(kept: str) -> None:
    study = opened(kept)
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="shutdown"):
        study.optimize(loss, 2, executor=pool, progress=False)
    assert opened(kept).ask().number == 0


# whatever is done, a study and an optimizer agree


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "tell", "fail", "observe", "enqueue", "reopen"]),
        st.integers(0, 9),
        st.floats(-10, 10) | st.just(math.nan),
    ),
    max_size=25,
)


@settings(max_examples=25, deadline=None)
@given(steps=STEPS)
def test_a_study_does_what_an_optimizer_does(tmp_path_factory: pytest.TempPathFactory, steps: Any) -> None:
    url = f"sqlite:///{tmp_path_factory.mktemp('agree')}/a.db"
    study, optimizer = opened(url, None), Optimizer(SPACE, recipe=RANDOM)
    for action, which, value in steps:
        number = which % max(1, len(optimizer.trials))
        if action == "reopen":
            study = opened(url, None)
        elif action == "ask":
            assert repr(study.ask().params) == repr(optimizer.ask().params)
        elif action in ("observe", "enqueue"):
            params = {"x": which / 10, "n": 1 + which % 5}
            for one in (study, optimizer):
                one.observe(params, value) if action == "observe" else one.enqueue(params)
        elif optimizer.trials:
            outcomes = []
            for one in (study, optimizer):
                trial = one.trials[number]
                try:
                    told = one.tell(trial, value) if action == "tell" else one.fail(trial, "e")
                    outcomes.append(shown((told,)))
                except TellError as refused:
                    outcomes.append([(str(refused),)])
            assert outcomes[0] == outcomes[1]
    assert shown(study.trials) == shown(optimizer.trials)


def test_errors_of_a_study_are_errors_of_python() -> None:
    assert issubclass(StudyError, ValueError)
    assert issubclass(StoreError, OSError)
