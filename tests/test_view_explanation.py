"""What the model believed of a trial when it was suggested."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bopp import AtMost, Choice, Float, Optimizer, Problem, Recipe, Result, Trial, fit, open_study, pseudo
from bopp.belief import Beliefs
from bopp.data import Array, Data, History
from bopp.errors import RecipeError, TellError
from bopp.gp import GP
from bopp.initial import Sobol
from bopp.kernels import Matern52
from bopp.outcome import raw
from bopp.score import AverageScore
from bopp.search import Gradients, Score
from bopp.space import Space
from bopp.trend import Trended
from bopp.trial import Answer
from bopp.view.explanation import Explanation
from bopp.view.pulls import Pull

SQUARE = {"a": Float(0, 1), "b": Float(0, 1)}
SOON = Sobol(3)
CHEAP = pseudo.Cheap([({"a": a / 4.0, "b": b / 4.0}, 2.0 * a + b) for a in range(5) for b in range(5)])


@dataclass(frozen=True)
class Watched:
    """A search that keeps what it was asked to search."""

    search: Gradients = Gradients()
    seen: list[Beliefs] = field(default_factory=list)

    def __call__(self, score: Score, space: Space, history: History, rng: np.random.Generator) -> Array:
        assert isinstance(score, AverageScore)
        self.seen.append(Beliefs(tuple(known.posterior for known in score.knowns), score.weights))
        return self.search(score, space, history, rng)


def bowl(params: dict[str, Any]) -> float:
    return float(sum((x - 0.3) ** 2 + 0.1 * np.sin(9.0 * x) for x in params.values()))


def worked(optimizer: Optimizer, rounds: int = 3) -> Optimizer:
    """Rounds of two trials at once, of which the second is told after the first of the next was asked for."""
    late = optimizer.ask()
    for number in range(rounds):
        one = optimizer.ask()
        optimizer.tell(late, None if number == 1 else bowl(late.params))
        late = one
    return optimizer


STAND_IN = pseudo.Cheap([(params, 3.0 * bowl(dict(params)) + 1.0) for params, _ in CHEAP.values])
SOURCES: list[tuple[pseudo.Source, ...]] = [
    (),
    (pseudo.Images(exchange=("a", "b")), pseudo.Guesses(values=[({"a": 0.9}, 0.5, 0.2)], near={"b": 0.5})),
    (STAND_IN, pseudo.Limits(at_least=-99.0)),
]


@pytest.mark.parametrize("sources", SOURCES, ids=["none", "points", "trend"])
def test_it_says_what_the_model_said_at_that_moment(sources: tuple[pseudo.Source, ...]) -> None:
    watched = Watched()
    recipe = Recipe(search=watched, initial=SOON, outcome=raw)
    optimizer = worked(Optimizer(SQUARE, seed=3, recipe=recipe, knowledge=sources), 7)
    suggested = [trial.number for trial in optimizer.trials][-len(watched.seen) :]
    assert suggested[0] >= 3
    trends = [isinstance(belief, Trended) for beliefs in watched.seen for belief in beliefs]
    assert any(trends) == (STAND_IN in sources)
    for number, beliefs in zip(suggested, watched.seen, strict=True):
        told = optimizer.result.explain(number, optimizer.recipe, seed=3)
        mean, sd = beliefs(optimizer.space.encode(told.trial.params)[None, :])
        assert told.how == "suggested by the model"
        assert told.mean == pytest.approx(-mean[0], rel=1e-9, abs=1e-9)
        assert told.sd == pytest.approx(sd[0], rel=1e-9, abs=1e-9)
        assert math.isclose(sum(pull.share for pull in told.pulls), 1.0, rel_tol=1e-9)
        assert [pull.share for pull in told.pulls] == sorted(
            (pull.share for pull in told.pulls), reverse=True
        )
        assert [account.source for account in told.sources] == list(sources)


def test_a_share_is_the_part_of_the_variance_that_is_explained() -> None:
    recipe = Recipe(initial=Sobol(1), outcome=raw, fit=fit.MAP(fit.UNTRENDED, variance=1.0, noise=0.25))
    trials = (Trial(0, {"x": 0.5}, "done", {"value": -2.0}), Trial(1, {"x": 0.5}))
    told = Result(Problem({"x": Float(0, 1)}), trials).explain(1, recipe)
    assert [(pull.what, pull.number, pull.value) for pull in told.pulls] == [
        ("trial", 0, -2.0),
        ("average of the values", None, 0.0),
    ]
    assert told.pulls[0].share == pytest.approx(1.0 / 1.25)
    assert told.mean == pytest.approx(-2.0 / 1.25)


def test_what_no_trial_explains_is_the_variance_that_is_left() -> None:
    trials = [Trial(i, {"x": i / 9.0}, "done", {"value": math.sin(i)}) for i in range(10)]
    result = Result(Problem({"x": Float(0, 1)}), (*trials, Trial(10, {"x": 0.45})))
    recipe = Recipe(outcome=raw, fit=fit.MAP(fit.UNTRENDED, variance=2.0))
    told = result.explain(10, recipe)
    assert told.sd is not None
    (rest,) = [pull.share for pull in told.pulls if pull.number is None]
    assert rest == pytest.approx(told.sd**2 / 2.0)


@pytest.mark.parametrize("x", [0.0, 0.45, 1.0])
def test_with_a_trend_a_share_is_that_of_the_variance_there(x: float) -> None:
    """A trend varies more at the ends than in the middle."""
    trend, deviation = 0.5, fit.LogNormal(math.log(0.5), 1e-6)
    trials = [Trial(i, {"x": x}, "done", {"value": math.sin(i)}) for i, x in enumerate((0.2, 0.7))]
    result = Result(Problem({"x": Float(0, 1)}), (*trials, Trial(2, {"x": x})))
    priors = fit.Priors(fit.LogNormal(0.0, 1e-6), trend=deviation)
    told = result.explain(2, Recipe(initial=Sobol(2), outcome=raw, fit=fit.MAP(priors, 2.0, 1e-2)))
    gp = GP(Matern52(), np.array([1.0]), 2.0, 1e-2, trend)
    (prior,) = gp.variances(np.array([[x]]))
    assert told.sd is not None
    shares = {pull.number: pull.share for pull in told.pulls}
    assert shares[None] == pytest.approx(told.sd**2 / prior, rel=1e-4)
    worth = []
    for place in (0.2, 0.7):
        left = gp.condition(Data([[place]], [0.0]))(np.array([[x]]))[1][0] ** 2
        worth.append(1.0 / left - 1.0 / prior)  # the precision that this trial alone gives
    assert shares[0] / shares[1] == pytest.approx(worth[0] / worth[1], rel=1e-4)


def test_two_trials_at_one_place_have_equal_shares() -> None:
    recipe = Recipe(outcome=raw, fit=fit.MAP(variance=1.0, noise=1e-6))
    trials = [Trial(i, {"x": x}, "done", {"value": 1.0}) for i, x in enumerate((0.3, 0.3, 0.9))]
    told = Result(Problem({"x": Float(0, 1)}), (*trials, Trial(3, {"x": 0.31}))).explain(3, recipe)
    one, other = (pull for pull in told.pulls if pull.number in (0, 1))
    assert one.share == other.share
    assert one.share + other.share > 0.95


def test_the_nearest_trial_pulls_most() -> None:
    trials = [Trial(i, {"x": i / 9.0}, "done", {"value": math.sin(i)}) for i in range(10)]
    told = Result(Problem({"x": Float(0, 1)}), (*trials, Trial(10, {"x": 0.45}))).explain(10)
    assert told.pulls[0].number == 4
    assert {pull.number for pull in told.pulls if pull.number is not None} == set(range(10))


def test_pending_and_failed_trials_of_that_moment_have_their_pull() -> None:
    optimizer = Optimizer(SQUARE, recipe=Recipe(initial=SOON))
    for _ in range(4):
        optimizer.tell(trial := optimizer.ask(), bowl(trial.params))
    optimizer.tell(optimizer.ask(), None)
    waiting = optimizer.ask()
    last = optimizer.ask()
    then = optimizer.result.explain(last, optimizer.recipe)
    optimizer.tell(waiting, 123.0)
    optimizer.tell(last, 45.0)
    optimizer.ask()
    assert optimizer.result.explain(last, optimizer.recipe) == replace(then, trial=optimizer.trials[6])
    whats = {pull.number: pull.what for pull in then.pulls if pull.number is not None}
    assert whats == {0: "trial", 1: "trial", 2: "trial", 3: "trial", 4: "failed trial", 5: "pending trial"}
    assert all(pull.value is not None and pull.value < 10.0 for pull in then.pulls if pull.number is not None)
    assert "pending trial 5, taken as" in "\n".join(map(str, then.pulls))


def test_images_guesses_and_a_trend_have_their_share_by_name() -> None:
    sources = (pseudo.Images(mirror={"a": 0.3}), pseudo.Guesses(values=[({"a": 0.5, "b": 0.5}, 0.3, 0.3)]))
    trials = [Trial(i, {"a": i / 7.0, "b": 0.5}, "done", {"value": abs(i / 7.0 - 0.3)}) for i in range(8)]
    result = Result(Problem(SQUARE), (*trials, Trial(8, {"a": 0.33, "b": 0.52})), sources)
    names = [pull.what for pull in result.explain(8).pulls if pull.number is None]
    shown = [type(one.source).__name__ for one in result.knowledge if one.points is not None]
    assert sorted(names) == sorted([*shown, "average of the values"])
    assert shown
    points = [{"a": i / 7.0, "b": 0.5} for i in range(8)]
    cheap = [Trial(i, params, "done", {"value": bowl(params)}) for i, params in enumerate(points)]
    trended = Result(Problem(SQUARE), (*cheap, Trial(8, {"a": 0.9, "b": 0.5})), (STAND_IN,)).explain(8)
    assert [one for one in trended.pulls if one.what == "trend of Cheap" and one.value is not None]


def at(second: int) -> datetime:
    return datetime(2030, 1, 1, 0, 0, second, tzinfo=UTC)


def timed(number: int, asked: int, told: int | None = None, value: float = 1.0, **more: Any) -> Trial:
    trial = Trial(number, {"x": number / 10.0}, asked_at=at(asked), **more)
    return trial if told is None else trial.told(Answer({"value": value}), at(told))


def known_at_last(*trials: Trial) -> dict[int, tuple[str, float | None]]:
    """What the last trial was explained by."""
    told = Result(Problem({"x": Float(0, 1)}), trials).explain(trials[-1].number)
    return {pull.number: (pull.what, pull.value) for pull in told.pulls if pull.number is not None}


def test_the_past_is_as_it_was_when_the_trial_was_asked_for() -> None:
    amended = timed(1, 1, 2, 5.0).amended(Answer({"value": 9.0}), at(30), "typing error")
    earlier = timed(2, 2, 3, 6.0).amended(Answer({"value": 7.0}), at(8), "typing error")
    dropped = timed(3, 3, 4, 8.0).dropped(at(30), "wrong machine")
    gone = timed(4, 4, 5, 4.0).dropped(at(8), "wrong machine")
    observed = replace(timed(5, 6, 40, 3.0), origin="observed")
    retried = replace(timed(6, 6), state="failed", error="oh", told_at=at(7)).reopened(at(30), "again")
    known = known_at_last(timed(0, 0, 1), amended, earlier, dropped, gone, observed, retried, timed(7, 10))
    assert known.pop(6)[0] == "failed trial"
    assert known == {
        **{0: ("trial", 1.0), 1: ("trial", 5.0), 2: ("trial", 7.0)},
        **{3: ("trial", 8.0), 5: ("trial", 3.0)},
    }


def test_a_trial_that_was_told_later_was_pending() -> None:
    known = known_at_last(timed(0, 0, 1), timed(1, 1, 20), timed(2, 2), timed(3, 3, 10), timed(4, 10))
    assert {number: what for number, (what, _) in known.items()} == {
        **{0: "trial", 1: "pending trial", 2: "pending trial", 3: "trial"}
    }


def test_without_times_the_earlier_trials_count_as_they_are() -> None:
    told = [Trial(i, {"x": i / 10.0}, "done", {"value": float(i)}) for i in range(4)]
    assert set(known_at_last(*told)) == {0, 1, 2}


def test_a_dropped_trial_that_no_longer_fits_the_space_is_left_out() -> None:
    foreign = Trial(1, {"y": 3}, "done", {"value": 1.0}, asked_at=at(1), told_at=at(2)).dropped(
        at(30), "moved"
    )
    assert set(known_at_last(timed(0, 0, 1), foreign, timed(2, 10))) == {0}


def test_how_a_trial_came_about() -> None:
    optimizer = Optimizer(SQUARE, recipe=Recipe(initial=SOON))
    optimizer.enqueue({"a": 0.1, "b": 0.2})
    optimizer.tell(queued := optimizer.ask(), 1.0)
    optimizer.observe({"a": 0.5, "b": 0.5}, 2.0)
    optimizer.tell(optimizer.ask(), 3.0)
    optimizer.ask()
    told = [optimizer.result.explain(number, optimizer.recipe) for number in range(4)]
    assert [one.how for one in told] == ["queued", "observed", "initial design", "suggested by the model"]
    first = told[0]
    assert first.trial.params == queued.params
    assert (first.mean, first.sd, first.best, first.improvement, first.pulls) == (None, None, None, None, ())
    assert "nothing had a value yet" in str(first)


def test_random_points_are_a_design_without_end() -> None:
    optimizer = Optimizer(SQUARE, recipe=Recipe.random())
    for _ in range(4):
        optimizer.tell(trial := optimizer.ask(), bowl(trial.params))
    told = optimizer.result.explain(3, optimizer.recipe)
    assert told.how == "initial design"
    assert told.best == min(bowl(trial.params) for trial in optimizer.trials[:3])


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_improvement_is_the_expected_one(direction: Any) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=8)
    trials = [Trial(i, {"x": i / 7.0}, "done", {"value": float(values[i])}) for i in range(8)]
    result = Result(Problem({"x": Float(0, 1)}, {"value": direction}), (*trials, Trial(8, {"x": 0.4})))
    told = result.explain(8, Recipe(outcome=raw))
    assert told.mean is not None
    assert told.sd is not None
    best = float(values.min() if direction == "minimize" else values.max())
    assert told.best == best
    more = (told.mean - best) * (1.0 if direction == "maximize" else -1.0)
    drawn = np.maximum(0.0, more + told.sd * rng.normal(size=400_000))
    assert told.improvement == pytest.approx(drawn.mean(), abs=5.0 * drawn.std() / 400_000**0.5 + 1e-12)


def test_a_bent_scale_leaves_mean_and_sd_as_those_of_a_prediction() -> None:
    trials = [Trial(i, {"x": i / 7.0}, "done", {"value": math.exp(i)}) for i in range(8)]
    result = Result(Problem({"x": Float(0, 1)}), (*trials, Trial(8, {"x": 0.4})))
    told = result.explain(8)
    assert (told.mean, told.sd) == result.predict({"x": 0.4})


def test_where_no_trial_meets_the_constraints_there_is_no_best() -> None:
    problem = Problem({"x": Float(0, 1)}, {"value": "minimize"}, [AtMost("cost", 0.0)])
    trials = [Trial(i, {"x": i / 5.0}, "done", {"value": float(i), "cost": 1.0}) for i in range(5)]
    told = Result(problem, (*trials, Trial(5, {"x": 0.5}))).explain(5)
    assert (told.best, told.improvement) == (None, None)
    assert "best then none" in str(told)


def test_beliefs_that_are_no_processes_have_no_pulls() -> None:
    @dataclass(frozen=True)
    class Flat:
        noise: float = 0.1

        def __call__(self, U: Array) -> tuple[Array, Array]:
            return np.zeros(len(U)), np.ones(len(U))

        def mean(self, U: Array) -> Array:
            return np.zeros(len(U))

        def condition(self, extra: Any) -> Flat:
            return self

    recipe = Recipe(fit=lambda data, kernel, rng: Beliefs.even([Flat()]), outcome=raw)  # type: ignore[list-item]
    trials = (Trial(0, {"x": 0.5}, "done", {"value": 3.0}), Trial(1, {"x": 0.2}))
    told = Result(Problem({"x": Float(0, 1)}), trials).explain(1, recipe)
    assert told.mean == pytest.approx(0.0)
    assert told.sd == pytest.approx(1.0)
    assert told.pulls == ()


@pytest.mark.parametrize(
    "wanted", [4, -1, None, True, "1", Trial(1, {"x": 0.9}), 0.5], ids=lambda one: type(one).__name__
)
def test_an_unknown_trial_is_refused(wanted: Any) -> None:
    trials = [Trial(i, {"x": i / 3.0}, "done", {"value": 1.0}) for i in range(3)]
    with pytest.raises(TellError, match="3 trials"):
        Result(Problem({"x": Float(0, 1)}), tuple(trials)).explain(wanted)


def test_it_is_a_short_text() -> None:
    trial = Trial(7, {"rate": 0.123456789, "kind": "<b>\x1b"})
    pulls = (
        Pull(0.6, "trial", 0.5, 3, {"rate": 0.1, "kind": "u"}),
        Pull(0.392, "Images"),
        *(Pull(0.002, "trial", 9.0, number, {"rate": 0.2, "kind": "v"}) for number in range(4)),
    )
    told = Explanation(trial, "suggested by the model", 0.51, 0.0204, 0.5, 0.0031, pulls)
    assert str(told).splitlines() == [
        "trial 7, suggested by the model: rate = 0.123457, kind = <b>\\x1b",
        "expected 0.51 \N{PLUS-MINUS SIGN} 0.0204, best then 0.5, expected improvement 0.0031",
        "drawn by",
        "   60%  trial 3, value 0.5, rate = 0.1, kind = u",
        "   39%  Images",
        "    1%  all else",
    ]
    assert "\n" not in repr(told)
    assert "&lt;b&gt;" in told._repr_html_()


def test_a_study_explains_with_its_own_recipe(tmp_path: Path) -> None:
    space = {"a": Float(0, 1), "kind": Choice(["u", "v"])}
    recipe = Recipe(pseudo=pseudo.Neighbours() + pseudo.Pending(), initial=SOON)
    with open_study(f"sqlite:///{tmp_path / 'study.db'}", "s", space, seed=5, recipe=recipe) as study:
        for _ in range(5):
            study.tell(trial := study.ask(), trial.params["a"] ** 2)
        told = study.explain(4)
        assert told == study.explain(study.trials[4])
        assert told == study.result.explain(4, recipe, seed=5)
        assert told.how == "suggested by the model"
        assert "pseudo-points" in [pull.what for pull in told.pulls]
        with pytest.raises(TellError, match="got 99"):
            study.explain(99)


def test_it_says_how_probably_constraints_were_met() -> None:
    """Half of the line is too large: far inside of either half the model knows that."""
    problem = Problem({"x": Float(0, 1)}, {"error": "minimize"}, [AtMost("memory", 0.5)])
    points = [*np.linspace(0.0, 1.0, 11).tolist(), 0.2, 0.8]
    trials = tuple(
        Trial(n, {"x": x}, "done", {"error": (x - 0.6) ** 2, "memory": x}) for n, x in enumerate(points)
    )
    result = Result(problem, trials)
    small, large = result.explain(11), result.explain(12)
    assert small.chance == pytest.approx(1.0, abs=0.01)
    assert large.chance == pytest.approx(0.0, abs=0.01)
    assert "constraints met with a chance of 100%" in str(small)
    plain = Result(Problem({"x": Float(0, 1)}, {"error": "minimize"}), result.of("error").trials)
    assert plain.explain(11).chance is None
    assert "chance" not in str(plain.explain(11))


def test_of_several_objectives_each_is_explained() -> None:
    problem = Problem({"x": Float(0, 1)}, {"one": "minimize", "other": "maximize"})
    opt = Optimizer(problem, recipe=replace(Recipe.default(), initial=SOON))
    for _ in range(5):
        trial = opt.ask()
        opt.tell(trial, {"one": trial.params["x"], "other": 3.0 + trial.params["x"]})
    with pytest.raises(RecipeError, match="one objective"):
        opt.result.explain(4)
    one, other = (opt.result.of(name).explain(4) for name in problem.objectives)
    assert (one.how, one.best) == (other.how, min(t.params["x"] for t in opt.trials[:4]))
    assert other.mean is not None
    assert other.mean == pytest.approx(3.0 + opt.trials[4].params["x"], abs=0.5)
