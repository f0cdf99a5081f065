import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bopp
from bopp import AtMost, Choice, Float, Optimizer, Problem, Recipe, Result, open_study
from bopp.errors import ConfigError, NoResultError, RecipeError, SpaceError, StudyError
from bopp.fidelity import Fidelity, Ladder, suggest_within
from bopp.model import learn
from bopp.outcome import Squeezed
from bopp.plain import read_problem, read_space, write_problem, write_space
from bopp.pseudo import Guesses, Images, Limits
from bopp.study.config import load
from bopp.study.exchange import exported, imported
from bopp.suggest import suggest
from bopp.trial import Trial
from bopp.view.convergence import convergence
from bopp.view.prediction import recipe_of

SPACE = {"x": Float(0.01, 1, log=True), "y": Float(0, 1)}
EPOCHS = {"epochs": [1, 9, 81]}
PROBLEM = Problem(SPACE, fidelities=EPOCHS)


def loss(x: float, y: float, epochs: int) -> float:
    """Best at (0.3, 0.6), where a few epochs do not quite point."""
    return (x - 0.3 - 0.1 / epochs) ** 2 + (y - 0.6) ** 2 + 1.0 / epochs


def played(optimizer: Optimizer, count: int) -> list[dict[str, Any]]:
    """The params of so many trials, each told its loss."""
    for _ in range(count):
        trial = optimizer.ask()
        optimizer.tell(trial, loss(**trial.params))
    return [trial.params for trial in optimizer.trials]


def cost(result: Result) -> float:
    return sum(result.problem.cost(trial) for trial in result.trials)


def test_costs_are_in_proportion_to_numbers_or_as_given() -> None:
    assert Fidelity.of(EPOCHS) == Fidelity("epochs", (1, 9, 81), (1 / 81, 1 / 9, 1.0))
    given = {"part": {"all": 40.0, "half": 15.0, "some": 2.0}}
    assert Fidelity.of(given) == Fidelity("part", ("some", "half", "all"), (0.05, 0.375, 1.0))
    assert Fidelity.of({"part": np.array([0.1, 1.0]).tolist()}).costs == (0.1, 1.0)


@pytest.mark.parametrize(
    ("fidelities", "message"),
    [
        ({}, r"dict such as .*got \{\}"),
        ([1, 9], r"dict such as .*got \[1, 9\]"),
        ({"a": [1, 2], "b": [1, 2]}, r"one name .*got \['a', 'b'\]"),
        ({"epochs": 81}, "levels .*got 81 for 'epochs'"),
        ({"epochs": "abc"}, "levels .*got 'abc'"),
        ({"epochs": [81]}, r"two levels .*got \[81\]"),
        *(({"epochs": levels}, "two levels or more") for levels in ([1, 1, 81], {1: 2.0, 9: 2.0})),
        ({"epochs": [0, 9]}, "costs .*got 0"),
        ({"epochs": ["few", "many"]}, "costs .*got 'few'"),
        ({"epochs": {1: math.nan, 9: 1.0}}, "costs .*got nan"),
        ({"epochs": {1: True, 9: 2.0}}, "costs .*got True"),
        ({"x": [1, 9]}, "'x' is a fidelity: wanted a space without it"),
    ],
)
def test_fidelities_that_make_no_sense_are_refused(fidelities: Any, message: str) -> None:
    with pytest.raises((RecipeError, SpaceError), match=message):
        Problem(SPACE, fidelities=fidelities)


def test_the_level_is_the_last_parameter() -> None:
    assert list(PROBLEM.space.parameters) == ["x", "y", "epochs"]
    assert PROBLEM.space.parameters["epochs"] == Choice([1, 9, 81], ordered=True)
    assert Problem(PROBLEM.space, fidelities=EPOCHS) == PROBLEM
    assert Problem(SPACE) != PROBLEM
    assert Problem(SPACE, fidelities={"epochs": {1: 0.1, 9: 0.2, 81: 1.0}}) != PROBLEM


def test_without_fidelities_a_suggestion_is_what_it_was() -> None:
    space, recipe, problem = bopp.Space(SPACE), Recipe.default(), Problem(SPACE)
    trials = [Trial(i, {"x": (i + 1) / 9, "y": i / 12}, "done", {"value": i % 4 / 2}) for i in range(8)]
    history = problem.history(trials, np.array([problem.point(trial) for trial in trials]))
    for left in (1.0, math.inf):
        point = suggest_within(left, None, space, recipe, history, (0, 8))
        assert np.array_equal(point, suggest(space, recipe, history, (0, 8)))
    assert write_problem(problem).keys() == {"objectives", "constraints"}


@pytest.mark.parametrize(("budget", "workers"), [(1, 1), (2, 1), (6, 1), (4, 2)])
def test_a_budget_counts_real_evaluations_and_is_never_exceeded(budget: int, workers: int) -> None:
    found = bopp.minimize(loss, SPACE, budget, fidelities=EPOCHS, workers=workers, progress=False)
    assert budget - 1 < cost(found) <= budget + 1e-9
    assert 81 in {trial.params["epochs"] for trial in found.trials[-workers:]}
    assert found.best.params["epochs"] == 81
    if workers == 1:
        more = bopp.minimize(loss, SPACE, budget + 2, fidelities=EPOCHS, trials=found.trials, progress=False)
        assert more.trials[: len(found.trials)] == found.trials
        assert budget + 1 < cost(more) <= budget + 2 + 1e-9


def test_a_run_finds_the_best_of_the_real_evaluations() -> None:
    found = bopp.optimize(loss, Problem(SPACE), 8, fidelities=EPOCHS, progress=False)
    counts = [sum(trial.params["epochs"] == level for trial in found.trials) for level in (1, 9, 81)]
    assert min(counts) >= 1
    assert counts[0] > counts[2]
    assert found.best.value == min(
        loss(**trial.params) for trial in found.trials if found.problem.real(trial)
    )
    assert found.best.value < loss(0.3, 0.6, 81) + 0.01
    up = bopp.maximize(lambda **p: -loss(**p), SPACE, 8, fidelities=EPOCHS, progress=False)
    assert [trial.params for trial in up.trials] == [trial.params for trial in found.trials]


def test_the_first_are_cheap_the_best_of_them_go_up_and_cheap_ones_keep_to_their_share() -> None:
    optimizer = Optimizer(PROBLEM)
    params = played(optimizer, 60)
    levels = [one["epochs"] for one in params]
    cheap = levels.index(9)
    assert levels[:cheap] == [1] * cheap
    assert cheap >= 5
    best = min(params[:cheap], key=lambda one: loss(**one))
    assert params[cheap] == {**best, "epochs": 9}
    assert 81 in levels[:28]
    assert levels.count(81) >= 0.4 * cost(optimizer.result)
    assert len({tuple(one.values()) for one in params}) == 60  # no point has the same level twice


def test_a_suggestion_does_not_depend_on_the_unit() -> None:
    plain, other = Optimizer(PROBLEM), Optimizer(PROBLEM)
    for _ in range(33):
        one, two = plain.ask(), other.ask()
        assert one.params == pytest.approx(two.params, rel=1e-6)
        plain.tell(one, loss(**one.params))
        other.tell(two, 64.0 * loss(**one.params) + 8.0)


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_values_of_any_size_are_taken(size: float) -> None:
    optimizer = Optimizer(PROBLEM)
    for _ in range(32):
        trial = optimizer.ask()
        optimizer.tell(trial, size * loss(**trial.params), noise=0.01 * size)
    assert optimizer.best.params["epochs"] == 81


def test_levels_that_tell_nothing_are_hardly_paid_for() -> None:
    noise = np.random.default_rng(0)

    def misleading(x: float, y: float, epochs: int) -> float:
        return loss(x, y, 81) if epochs == 81 else float(noise.random())

    found = bopp.minimize(misleading, SPACE, 15, fidelities={"epochs": [40, 81]}, progress=False)
    assert found.best.value is not None
    assert found.best.value < loss(0.3, 0.6, 81) + 0.02


def test_a_continued_optimizer_suggests_the_same() -> None:
    whole = Optimizer(PROBLEM, seed=1)
    params = played(whole, 32)
    for count in (0, 7, 22, 26, 29, 31):
        again = Optimizer(PROBLEM, seed=1, trials=whole.trials[:count])
        assert again.ask().params == params[count]
    with open_study("sqlite://", "train", PROBLEM, seed=1) as study:
        for wanted in params:
            trial = study.ask()
            assert trial.params == wanted
            study.tell(trial, loss(**wanted))


def test_a_batch_has_different_points_while_none_is_told() -> None:
    optimizer = Optimizer(PROBLEM)
    batch = optimizer.ask(20)
    assert len({tuple(trial.params.values()) for trial in batch}) == 20
    for trial in batch:
        optimizer.fail(trial, "no")
    assert optimizer.ask().number == 20


def test_failures_do_not_stop_the_search() -> None:
    def brittle(x: float, y: float, epochs: int) -> float:
        return math.nan if x > 0.6 else loss(x, y, epochs)

    found = bopp.minimize(brittle, SPACE, 6, fidelities=EPOCHS, progress=False, failures="continue")
    assert found.best.value is not None
    assert found.best.value < 0.1


def test_a_level_may_be_chosen_by_hand_and_a_condition_and_a_constraint_hold_at_each() -> None:
    space = {**SPACE, "method": Choice(["a", "b"]), "rate": Float(0, 1, when={"method": "a"})}
    problem = Problem(space, constraints=[AtMost("size", 0.5)], fidelities=EPOCHS)
    optimizer = Optimizer(problem)
    for number in range(30):
        if number == 28:
            optimizer.enqueue({"epochs": 9})
            optimizer.enqueue({"x": 0.25})
        trial = optimizer.ask()
        x, y, epochs = (trial.params[name] for name in ("x", "y", "epochs"))
        value = loss(x, y, epochs) + trial.params.get("rate", 0.5) ** 2
        optimizer.tell(trial, {"value": value, "size": x})
    assert optimizer.trials[28].params["epochs"] == 9
    assert optimizer.trials[29].params["x"] == 0.25
    assert optimizer.best.params["epochs"] == 81
    assert optimizer.best.params["x"] <= 0.5


@pytest.mark.parametrize(
    ("recipe", "levels"),
    [
        (Recipe.paper("ucb"), {1, 9, 81}),
        (replace(Recipe.default(), fit=bopp.fit.SliceSampling()), {1, 9, 81}),
        (Recipe.random(), {81}),  # which knows no cheap evaluations
    ],
)
def test_other_recipes_have_levels_too(recipe: Recipe, levels: set[int]) -> None:
    optimizer = Optimizer(PROBLEM, recipe=recipe)
    assert {one["epochs"] for one in played(optimizer, 29)} == levels


def test_a_small_space_is_used_up_at_every_level_before_anything_repeats() -> None:
    optimizer = Optimizer(Problem({"n": (1, 3)}, fidelities={"part": [0.1, 1.0]}))
    for _ in range(6):
        trial = optimizer.ask()
        optimizer.tell(trial, trial.params["n"] / trial.params["part"])
    assert len({tuple(trial.params.values()) for trial in optimizer.trials}) == 6


def test_cheap_trials_are_neither_best_nor_reach_a_target() -> None:
    cheap = Trial(0, {"x": 0.3, "y": 0.6, "epochs": 1}, "done", {"value": 0.0})
    real = Trial(1, {"x": 0.3, "y": 0.6, "epochs": 81}, "done", {"value": 0.5})
    assert PROBLEM.best([cheap, real]) is real
    assert not PROBLEM.reaches(cheap, 0.1)
    assert PROBLEM.reaches(real, 0.5)
    with pytest.raises(NoResultError, match="none of 1 finished trials is a real one, with epochs=81"):
        PROBLEM.best([cheap])
    curve = convergence(Result(PROBLEM, (cheap, real)))
    assert np.isnan(curve.best[0])
    assert curve.best[1] == 0.5
    assert curve.spent == [1 / 81, 1 + 1 / 81]


def test_problems_and_results_come_back_as_they_were() -> None:
    odd = Problem(SPACE, fidelities={"part": {("a", 1): 0.25, "whole": 3.0}})
    for problem in (PROBLEM, odd):
        plain = json.loads(json.dumps([write_space(problem.space), write_problem(problem)]))
        assert read_problem(read_space(plain[0]), plain[1]) == problem
    found = bopp.minimize(loss, SPACE, 2, fidelities=EPOCHS, progress=False)
    assert Result.from_json(found.to_json()) == found


def test_a_study_keeps_its_fidelities(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with open_study(url, "train", PROBLEM) as study:
        study.optimize(loss, budget=2, progress=False)
        params = [trial.params for trial in study.trials]
    with open_study(url, "train") as study:
        assert study.problem == PROBLEM
        study.optimize(loss, budget=4, progress=False)
        assert 3 < cost(study.result) <= 4 + 1e-9
        assert [trial.params for trial in study.trials][: len(params)] == params
        copy = imported(f"sqlite:///{tmp_path / 'copy.db'}", exported(study))
    with open_study(f"sqlite:///{tmp_path / 'copy.db'}", copy) as study:
        assert study.problem == PROBLEM
    with pytest.raises(StudyError, match="has fidelities 'epochs'"):
        open_study(url, "train", Problem(SPACE, fidelities={"epochs": {1: 0.1, 9: 0.2, 81: 1.0}}))
    with pytest.raises(StudyError, match="'epochs' is in the study, not in what came"):
        open_study(url, "train", SPACE)


def test_a_study_file_has_fidelities(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    x = '[space]\nx = {{ type = "float", low = 0, high = 1 }}'
    text = f'[study]\nname = "a"\nbudget = 5\nfidelities = {{}}\n{x}'
    for given in ("{ epochs = [1, 9, 81] }", "{ epochs = [[1, 1.0], [9, 9.0], [81, 81.0]] }"):
        path.write_text(text.format(given))
        config = load(path)
        assert config.problem.fidelity == Fidelity.of(EPOCHS)
        assert list(config.space.parameters) == ["x", "epochs"]
        assert config.declared == (Problem({"x": Float(0, 1)}, fidelities=EPOCHS), None)
    for given, message in (
        ("3", r"\[study\] fidelities: wanted a table such as { epochs = \[1, 9, 81\] }, got 3"),
        ("{ epochs = [1] }", r"\[study\] fidelities: 'epochs' wants two levels or more"),
        ("{ x = [1, 2] }", r"\[study\] 'x' is a fidelity: wanted a space without it"),
    ):
        path.write_text(text.format(given))
        with pytest.raises(ConfigError, match=message):
            load(path)


def test_a_symmetry_of_every_level_is_trusted() -> None:
    problem = Problem({"x": Float(0, 1), "y": Float(0, 1)}, fidelities={"epochs": [1, 9]})
    optimizer = Optimizer(problem, knowledge=[Images(exchange=("x", "y"))])
    for _ in range(24):
        trial = optimizer.ask()
        p = trial.params
        wavy = sum((p[name] - 0.3) ** 2 + 0.3 * math.sin(8.0 * p[name]) for name in "xy")
        optimizer.tell(trial, wavy + 1 / p["epochs"])
    assert problem.fidelity is not None
    history = optimizer.result.history()
    ladder = Ladder.of(problem.fidelity, optimizer.space, history)
    (used,) = learn(ladder.held(ladder.last), history, ladder.searching(optimizer.recipe)).accounts
    assert used.trust > 0.9
    (shown,) = optimizer.result.knowledge
    assert (shown.trust, shown.worth) == (used.trust, used.worth)


@pytest.mark.parametrize("failing", [(1,), (1, 9)])
def test_where_a_level_always_fails_the_others_are_evaluated(failing: tuple[int, ...]) -> None:
    optimizer = Optimizer(Problem({"x": Float(0, 1)}, fidelities={"epochs": [1, 9, 81]}))
    for _ in range(40):
        trial = optimizer.ask()
        if trial.params["epochs"] in failing:
            optimizer.fail(trial, "too short")
        else:
            optimizer.tell(trial, trial.params["x"])
    levels = [trial.params["epochs"] for trial in optimizer.result.trials]
    assert levels.count(1) <= 30
    assert levels.count(81) >= 2


def cheap_is_worse(params: dict[str, Any]) -> float:
    return float((params["x"] - 0.3) ** 2 + 5.0 / params["epochs"])


def test_all_views_show_the_model_that_searches() -> None:
    problem = Problem({"x": Float(0, 1)}, fidelities={"epochs": [1, 9, 81]})
    result = bopp.optimize(
        cheap_is_worse, problem, 6, knowledge=[Guesses(near={"x": 0.3}), Limits(at_least=0.0)], progress=False
    )
    assert problem.fidelity is not None
    last = result.trials[-1]
    ladder = Ladder.of(problem.fidelity, problem.space, Result(problem, result.trials[:-1]).history())
    recipe = ladder.searching(recipe_of(result))
    assert isinstance(recipe.outcome, Squeezed)
    model = learn(problem.space, ladder.history, recipe)
    explained = result.explain(last)
    assert [one.trust for one in explained.sources] == [one.trust for one in model.accounts]
    mean, _ = model.beliefs(problem.space.encode(last.params)[None, :])
    assert explained.mean == pytest.approx(-model.scale.inverse(mean)[0], rel=0.2)
    for trial in result.trials:  # in the unit of the objective, also far below the middle
        assert result.predict(trial.params).mean == pytest.approx(trial.value, rel=0.05, abs=0.05)


def test_the_cheap_design_is_no_suggestion_of_the_model() -> None:
    problem = Problem({"x": Float(0, 1), "y": Float(0, 1)}, fidelities={"epochs": [1, 9, 81]})
    optimizer = Optimizer(problem, knowledge=[Guesses(near={"x": 0.3, "y": 0.6})])
    for _ in range(32):
        trial = optimizer.ask()
        optimizer.tell(trial, cheap_is_worse(trial.params) + trial.params["y"])
    hows = [optimizer.result.explain(trial).how for trial in optimizer.result.trials]
    assert hows[0] == "said by a source"
    first = [trial.params["epochs"] for trial in optimizer.result.trials].index(81) + 2
    assert set(hows[1:first]) == {"initial design"}
    assert set(hows[first:]) == {"suggested by the model"}
    guessed, next_one = (trial.params for trial in optimizer.result.trials[:2])
    assert guessed == {"x": pytest.approx(0.3), "y": pytest.approx(0.6), "epochs": 1}
    assert next_one["epochs"] == 1
    assert next_one["x"] != pytest.approx(0.3)
