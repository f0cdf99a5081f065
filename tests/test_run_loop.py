import math
import time
from collections.abc import Callable
from typing import Any, Self

import pytest

from bopp import Float, Optimizer, Problem, Result, Trial, optimize
from bopp.errors import LateTell, RecipeError
from bopp.run.evaluation import Ended, Failure
from bopp.run.failures import Failures
from bopp.run.loop import Limits, run_trials
from bopp.run.progress import Meter

FREE = Limits.from_now(None, None, None, "continue")


class Notes(Meter):
    """A meter that remembers."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def suggested(self, seconds: float) -> None:
        assert 0 <= seconds < 60
        self.said.append("suggested")

    def waiting(self) -> None:
        self.said.append("waiting")

    def told(self, trial: Trial, result: Result) -> None:
        assert result.trials[trial.number] == trial
        self.said.append(f"told {trial.number} {trial.state}")

    def dropped(self, reason: str) -> None:
        self.said.append(f"dropped {reason}")

    def paused(self, since: str | None) -> None:
        raise AssertionError("nobody paused it")

    def interrupted(self) -> None:
        raise AssertionError("nobody interrupted it")


class Played:
    """An evaluation that ends trials as the test says: a value for each, in order of their numbers."""

    def __init__(self, *outcomes: float | str, at_once: bool = False):
        self._outcomes = outcomes
        self._at_once = at_once
        self._trials: list[Trial] = []
        self.most = 0

    @property
    def running(self) -> int:
        return len(self._trials)

    def submit(self, trial: Trial) -> None:
        self._trials.append(trial)
        self.most = max(self.most, self.running)

    def wait(self, deadline: float) -> list[Ended]:
        count = len(self._trials) if self._at_once else 1
        ended, self._trials = self._trials[:count], self._trials[count:]
        return [self._ended(trial) for trial in ended]

    def _ended(self, trial: Trial) -> Ended:
        outcome = self._outcomes[trial.number % len(self._outcomes)]
        return (trial, None, Failure(outcome)) if isinstance(outcome, str) else (trial, outcome, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


class Forgetful(Optimizer):
    """An optimizer from which others take trials away."""

    def __init__(self, lost: int):
        super().__init__({"x": Float(0, 1)})
        self._lost = lost

    def tell(self, trial: Trial, value: Any, noise: Any = None) -> Trial:
        if trial.number == self._lost:
            raise LateTell(f"trial {trial.number} was told before")
        return super().tell(trial, value, noise)

    def fail(self, trial: Trial, error: str, traceback: str | None = None) -> Trial:
        if trial.number == self._lost:
            raise LateTell(f"trial {trial.number} failed late")
        return super().fail(trial, error, traceback)


def up_to(opt: Optimizer, budget: int) -> Callable[[], Trial | None]:
    return lambda: opt.ask() if len(opt.trials) < budget else None


def driven(
    played: Played, budget: int, workers: int = 1, ends: Limits = FREE, opt: Optimizer | None = None
) -> tuple[bool, Optimizer, Notes]:
    opt, show = opt or Optimizer({"x": Float(0, 1)}), Notes()
    return run_trials(opt, up_to(opt, budget), played, workers, show, ends), opt, show


def states(opt: Optimizer) -> list[str]:
    return [trial.state for trial in opt.trials]


def test_it_asks_evaluates_and_tells_until_nothing_is_left() -> None:
    ended, opt, show = driven(Played(3.0, "broke", math.nan, 1.0), 4)
    assert not ended
    assert states(opt) == ["done", "failed", "failed", "done"]
    assert [trial.error for trial in opt.trials] == [None, "broke", "the value was nan", None]
    assert show.said[:3] == ["suggested", "waiting", "told 0 done"]
    told = [word for word in show.said if word.startswith("told")]
    assert told == ["told 0 done", "told 1 failed", "told 2 failed", "told 3 done"]
    ended, opt, show = driven(Played(1.0), 0)
    assert (ended, opt.trials, show.said) == (False, (), [])


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_workers_are_kept_busy_and_no_more(workers: int) -> None:
    played = Played(1.0, 2.0, 3.0)
    _, opt, _ = driven(played, 9, workers)
    assert states(opt) == ["done"] * 9
    assert played.most == workers


@pytest.mark.parametrize("outcome", [1.0, "broke"])
def test_a_late_tell_is_reported_and_the_run_goes_on(outcome: float | str) -> None:
    ended, opt, show = driven(Played(outcome), 4, opt=Forgetful(1))
    assert not ended
    assert [state == "asked" for state in states(opt)] == [False, True, False, False]
    (dropped,) = [word for word in show.said if word.startswith("dropped")]
    assert dropped.startswith("dropped trial 1 ")


def test_a_late_tell_reaches_no_target() -> None:
    ended, opt, _ = driven(Played(5.0, 0.0, 5.0), 3, ends=Limits.from_now(1.0, None, None), opt=Forgetful(1))
    assert not ended
    assert states(opt) == ["done", "asked", "done"]


def test_a_target_ends_the_run_once_those_that_ended_with_it_are_told() -> None:
    ended, opt, _ = driven(Played(2.0, 0.5, 3.0, at_once=True), 30, 3, Limits.from_now(0.5, None, None))
    assert ended
    assert states(opt) == ["done"] * 3


def test_what_a_callback_returns_ends_the_run() -> None:
    seen: list[int] = []

    def enough(recorder: Any, trial: Trial) -> bool:
        assert trial == recorder.trials[trial.number]
        seen.append(trial.number)
        return trial.state == "failed"

    ended, opt, _ = driven(Played(1.0, 1.0, "broke"), 30, ends=Limits.from_now(None, None, enough))
    assert ended
    assert seen == [0, 1, 2]
    assert len(opt.trials) == 3


def test_no_evaluation_starts_after_the_deadline() -> None:
    past = Limits(None, time.monotonic() - 1.0, None, Failures())
    ended, opt, show = driven(Played(1.0), 3, ends=past)
    assert (ended, opt.trials, show.said) == (True, (), [])


def test_an_error_of_the_recorder_passes_through() -> None:
    opt = Optimizer({"x": Float(0, 1)})
    foreign = Trial(7, {"x": 0.5})
    with pytest.raises(ValueError, match="trial 7"):
        run_trials(opt, lambda: foreign, Played(1.0), 1, Notes(), FREE)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        *(((one, None, None), "target") for one in ("1", math.nan, 1j)),
        *(((None, one, None), "time_limit") for one in (0, -1.0, math.nan, "60")),
        ((None, None, 3), "callback"),
    ],
)
def test_wrong_limits_are_named(given: tuple[Any, Any, Any], named: str) -> None:
    with pytest.raises(RecipeError, match=named):
        Limits.from_now(*given)


def test_a_time_limit_counts_from_now() -> None:
    began = time.monotonic()
    assert began + 5 <= Limits.from_now(None, 5, None).deadline <= time.monotonic() + 5
    assert FREE.deadline == math.inf
    assert Limits.from_now(-math.inf, math.inf, None).deadline == math.inf


SEVERAL = Problem({"x": Float(0, 1)}, {"error": "minimize", "latency": "minimize"})


def test_several_objectives_have_no_target() -> None:
    with pytest.raises(RecipeError, match="target"):
        Limits.from_now(0.5, None, None).checked(SEVERAL)
    calls: list[Any] = []
    with pytest.raises(RecipeError, match="target"):
        optimize(calls.append, SEVERAL, budget=3, target=0.5, progress=False)
    assert calls == []
    assert Limits.from_now(None, None, None).checked(SEVERAL).target is None
    result = optimize(
        lambda params: {"error": 1.0, "latency": params["x"]}, SEVERAL, budget=3, progress=False
    )
    assert len(result.trials) == 3
