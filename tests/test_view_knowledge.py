"""What became of sources of knowledge, as results, pages and pictures show it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bopp import Choice, Float, Optimizer, Problem, Recipe, Result, Trial, open_study, pseudo
from bopp.data import Array, Data
from bopp.errors import BoppError
from bopp.knowledge import Account
from bopp.model import believe, learn
from bopp.pseudo import Source
from bopp.view.calibration import calibration
from bopp.view.canvas import drawable
from bopp.view.contour import contour
from bopp.view.page import page
from bopp.view.prediction import in_units
from bopp.view.slices import Said, slices
from bopp.view.slices import draw_slices as drawn
from bopp.view.sources import names_of, trend_name

SQUARE = {"a": Float(0, 1), "b": Float(0, 1)}
MIRROR = pseudo.Images(exchange=("a", "b"))
EXPERT = pseudo.Guesses(values=[({"a": 0.9, "b": 0.8}, 0.6, 0.1)])


def alike(params: dict[str, Any]) -> float:
    """The same if a and b are exchanged."""
    return float(np.sin(3.0 * (params["a"] + params["b"])) + (params["a"] - params["b"]) ** 2)


def run_of(
    space: Any,
    objective: Callable[[dict[str, Any]], float],
    sources: tuple[Source, ...] = (),
    count: int = 10,
) -> Result:
    """An objective at random points, with sources as a run would have them."""
    problem = Problem(space)
    rng = np.random.default_rng(0)
    points = [problem.space.decode(rng.random(problem.space.dimension)) for _ in range(count)]
    trials = tuple(Trial(i, one, "done", {"value": objective(one)}) for i, one in enumerate(points))
    bound = tuple(source.bind(problem) for source in sources)
    return Result(problem, trials, bound)


def with_sources(result: Result) -> Recipe:
    default = Recipe.default()
    return replace(default, pseudo=default.pseudo + pseudo.Sum(result.sources))


def test_an_optimizer_hands_on_its_sources_whose_trust_is_that_of_the_user_before_any_value() -> None:
    result, plain = Optimizer(SQUARE, knowledge=[MIRROR]).result, Optimizer(SQUARE).result
    (account,) = result.knowledge
    assert (account.source, account.trust, account.worth, account.points) == (MIRROR, MIRROR.trust, 0.0, None)
    assert (result.sources, plain.sources, plain.knowledge) == ((MIRROR,), (), ())


def test_knowledge_is_what_the_model_learned_of_the_sources() -> None:
    result = run_of(SQUARE, alike, (MIRROR, EXPERT))
    learned = learn(result.space, result.history(), with_sources(result)).accounts
    assert [(one.source, one.trust, one.worth) for one in result.knowledge] == [
        (one.source, one.trust, one.worth) for one in learned
    ]
    assert result.knowledge[0].trust > 0.9
    against = run_of(SQUARE, lambda p: p["a"] - 2.0 * p["b"], (MIRROR,))
    assert against.knowledge[0].trust < 0.1


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (MIRROR, "Images(exchange=('a', 'b'))"),
        (pseudo.Images(exchange=(("a", "b"), ("c", "d"))), "Images(exchange=(('a', 'b'), ('c', 'd')))"),
        (pseudo.Images(mirror={"a": 0.5}, trust=0.6), "Images(mirror={'a': 0.5})"),
        (pseudo.Images(equal=alike), "Images(equal=alike)"),  # type: ignore[arg-type]
        (pseudo.Guesses(values=[({"a": 0.5}, 1.0, 0.1)]), "Guesses(values=(({'a': 0.5}, 1.0, 0.1),))"),
        (pseudo.Limits(at_least=0.0), "Limits(at_least=0.0)"),
        (pseudo.Cheap([({"a": i / 99.0}, float(i)) for i in range(100)]), "Cheap(values: 100)"),
        (pseudo.Earlier(run_of(SQUARE, alike, count=50)), "Earlier(studies: 1)"),
        (Source(), "Source()"),
    ],
)
def test_an_account_is_a_short_line(source: Source, text: str) -> None:
    points = Data(np.zeros((1000, 2)), np.zeros(1000))
    account = Account(source, 0.983, 6.12, points)
    assert str(account) == f"{text}: trust 0.98, worth +6.1"
    assert repr(account) == f"Account({account})"


def test_json_holds_sources() -> None:
    cheap = pseudo.Cheap([({"a": i / 9.0}, float(i)) for i in range(10)], direction="maximize")
    everything = (MIRROR, EXPERT, cheap, pseudo.Earlier(run_of(SQUARE, alike)), pseudo.Limits(at_most=9.0))
    result = run_of(SQUARE, alike, everything, 2)
    assert Result.from_json(result.to_json()) == result
    assert Result.from_json(result.to_json()).sources == everything


def test_without_sources_json_is_as_it_was() -> None:
    assert list(json.loads(run_of(SQUARE, alike).to_json())) == [
        *("format", "space", "objectives", "constraints", "trials")
    ]


def test_sources_with_functions_of_yours_are_read_as_absent() -> None:
    own = pseudo.Images(equal=lambda params: {"a": params["b"], "b": params["a"]})
    result = run_of(SQUARE, alike, (own, MIRROR), 2)
    assert Result.from_json(result.to_json()).sources == (MIRROR,)


@pytest.mark.parametrize("sources", [5, ["Images"], [{"part": "pseudo.Pending", "settings": {}}]])
def test_what_is_no_source_is_refused(sources: Any) -> None:
    document = json.loads(run_of(SQUARE, alike, count=1).to_json()) | {"sources": sources}
    with pytest.raises(BoppError, match="wanted"):
        Result.from_json(json.dumps(document))


def test_a_study_whose_recipe_cannot_be_made_here_can_be_looked_at(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'own.db'}"
    recipe = Recipe(pseudo=pseudo.Pending() + MIRROR, acquisition=lambda mean, sd, known: mean)
    with open_study(url, "own", SQUARE, recipe=recipe) as study:
        study.observe({"a": 0.1, "b": 0.2}, 1.0)
        assert study.result.sources == (MIRROR,)
    with open_study(url, "own") as study:
        assert study.result.sources == ()
        assert study.result.best.value == 1.0


def test_predictions_and_pictures_are_those_of_the_model_with_knowledge() -> None:
    result = run_of(SQUARE, alike, (MIRROR, EXPERT))
    model = learn(result.space, result.history(), with_sources(result))
    there, back = result.predict({"a": 0.2, "b": 0.7}), result.predict({"a": 0.7, "b": 0.2})
    assert there != replace(result, sources=()).predict({"a": 0.2, "b": 0.7})
    assert there.mean == pytest.approx(back.mean, abs=0.1)
    assert there == result.predict({"a": 0.2, "b": 0.7}, with_sources(result))
    plain = result.predict({"a": 0.2, "b": 0.7}, Recipe.default())
    assert plain == replace(result, sources=()).predict({"a": 0.2, "b": 0.7})
    (one, _), best = slices(result), result.best
    U = np.array([result.space.encode({**best.params, "a": value}) for value in one.along])
    expected = in_units(result.problem, model, model.beliefs.mean(U))
    np.testing.assert_allclose(one.mean, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(
        contour(result, ["a", "b"]).mean, contour(result, ["a", "b"], with_sources(result)).mean
    )


def test_calibration_is_that_of_the_model_without_knowledge() -> None:
    result = run_of(SQUARE, alike, (MIRROR,))
    shown, plain = calibration(result), calibration(replace(result, sources=()))
    np.testing.assert_array_equal(shown.predicted, plain.predicted)


def test_nothing_is_shown_beyond_limits() -> None:
    bound = pseudo.Limits(at_least=1.0)
    result = run_of({"a": Float(0, 1)}, lambda p: 10.0 * abs(p["a"] - 0.5), (bound,), 6)
    (free,), (one,) = slices(replace(result, sources=())), slices(result)
    assert free.low.min() < 1.0
    assert one.low.min() >= 1.0
    assert one.mean.min() >= 1.0
    assert result.predict({"a": 0.5}).mean >= 1.0


def said_by(result: Result, name: str) -> list[Said]:
    (found,) = slices(result, [name])
    return list(found.said)


def test_in_one_dimension_every_image_within_the_range_lies_on_the_slice() -> None:
    mirror = pseudo.Images(mirror={"x": 0.4})
    result = run_of({"x": Float(0, 1)}, lambda p: (p["x"] - 0.4) ** 2, (mirror,), 8)
    (said,) = said_by(result, "x")
    assert (said.source, said.trend) == ("Images", False)
    inside = [trial for trial in result.trials if trial.params["x"] <= 0.8]
    found = sorted(zip(said.along, said.values.tolist(), strict=True))
    for (x, value), trial in zip(found, sorted(inside, key=lambda one: -one.params["x"]), strict=True):
        assert x == pytest.approx(0.8 - trial.params["x"])
        assert value == pytest.approx(trial.value)


def test_points_far_from_the_slice_are_left_out() -> None:
    near, far = {"a": 0.9}, {"a": 0.9, "b": 0.99}
    space, result = SQUARE, run_of(SQUARE, lambda p: 4.0 * p["b"] ** 2 + p["a"], count=12)
    for params, marks in ((near, 1), (far, 0)):
        guess = pseudo.Guesses(values=[(params, float(4.0 * params.get("b", 0.1) ** 2 + 0.9), 0.5)])
        known = Result(Problem(space), result.trials, (guess,))
        assert known.knowledge[0].points is not None
        assert len(said_by(known, "a")) == marks


def test_a_trend_is_a_curve_of_its_source() -> None:
    cheap = pseudo.Cheap([({"x": i / 20.0}, 3.0 * np.sin(i / 3.0) + 1.0) for i in range(21)])
    result = run_of({"x": Float(0, 1)}, lambda p: float(np.sin(p["x"] * 20.0 / 3.0)), (cheap,), 5)
    (one,) = slices(result)
    (said,) = one.said
    assert (said.source, said.trend, said.along) == ("Cheap", True, one.along)
    truth = np.sin(np.array(one.along) * 20.0 / 3.0)
    assert np.abs(said.values - truth).mean() < 0.25


def test_without_sources_nothing_is_said_and_the_model_is_that_of_the_data() -> None:
    result = run_of(SQUARE, alike)
    data = believe(result.history().data, Recipe.default())
    for one in slices(result):
        assert one.said == ()
        U = np.array([result.space.encode({**result.best.params, one.name: value}) for value in one.along])
        np.testing.assert_array_equal(one.mean, in_units(result.problem, data, data.beliefs(U)[0]))


def test_a_picture_has_a_legend_for_each_source() -> None:
    space = {"a": Float(0, 1), "b": Float(0, 1), "kind": Choice(["u", "v"])}
    cheap = pseudo.Cheap(
        [
            ({"a": a, "b": b, "kind": kind}, a + b)
            for a in (0.0, 0.5, 1.0)
            for b in (0.1, 0.9)
            for kind in "uv"
        ]
    )
    result = run_of(space, lambda p: p["a"] + p["b"] + (p["kind"] == "u"), (cheap, MIRROR), 12)
    figure = drawn(result)
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    said = [one for found in slices(result) for one in found.said]
    wanted = {f"{'trend' if one.trend else 'points'} of {one.source}" for one in said}
    assert wanted
    assert [label for label in labels if " of " in label and "model" not in label] == sorted(
        wanted, key=labels.index
    )
    figure.draw_without_rendering()


def test_a_legend_is_no_wider_than_its_picture() -> None:
    rows = [({"a": a / 9.0, "b": 0.5}, a / 9.0) for a in range(10)]
    guesses = pseudo.Guesses(values=[({"a": 0.7}, 1.0, 0.5)])
    mirrors = [pseudo.Images(mirror={name: 0.5}) for name in SQUARE]
    sources = (pseudo.Cheap(rows), pseudo.Cheap(rows[:5]), *mirrors, guesses)
    figure = drawn(run_of(SQUARE, lambda p: p["a"] + (p["b"] - 0.5) ** 2, sources, 8))
    (legend,) = figure.legends
    assert len(legend.get_texts()) > 6
    figure.draw_without_rendering()
    extent = legend.get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.width


def test_sources_of_one_kind_are_told_apart() -> None:
    many = pseudo.Guesses(values=[({"a": 0.1 * i}, 1.0, 0.1) for i in range(5)])
    accounts = [Account(one, 0.5, 0.0) for one in (MIRROR, many, many, pseudo.Limits(at_least=0.0))]
    assert names_of(accounts) == ["Images", "Guesses 1", "Guesses 2", "Limits"]
    both = [Account(one, 0.5, 0.0) for one in (MIRROR, pseudo.Images(mirror={"a": 0.5}))]
    assert names_of(both) == ["Images(exchange=('a', 'b'))", "Images(mirror={'a': 0.5})"]


def test_the_sources_of_a_trend_fit_into_a_legend() -> None:
    rows = [({"a": a / 9.0, "b": 0.5}, a / 9.0) for a in range(10)]
    sources = [pseudo.Cheap(rows), pseudo.Cheap(rows[:5], points=60), pseudo.Earlier(run_of(SQUARE, alike))]
    accounts = [Account(one, 0.5, 0.0) for one in (MIRROR, *sources)]
    assert names_of(accounts) == ["Images", "Cheap 1", "Cheap 2", "Earlier"]
    assert trend_name(accounts) == "Cheap 1, Cheap 2, Earlier"
    assert drawable(trend_name(accounts)) == trend_name(accounts)
    assert trend_name([*accounts, *accounts]) == "6 sources"
    assert trend_name(accounts[:2]) == "Cheap"


@dataclass(frozen=True)
class Odd(Source):
    """A source whose setting looks like HTML."""

    word: str = ""

    def twins(self, space: Any, X: Array) -> Array:
        return np.empty((0, *X.shape))


def test_a_page_says_what_became_of_each_source() -> None:
    result = run_of(SQUARE, alike, (MIRROR, Odd("<b>")))
    first, second = result.knowledge
    shown = page(result)
    assert "what was known besides" in shown
    for account in (first, second):
        assert f">{account.trust:.2f}<" in shown
        assert f">{account.worth:+.1f}<" in shown
    assert "Odd(word=&#x27;&lt;b&gt;&#x27;)" in shown
    assert "known besides" not in page(replace(result, sources=()))
