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
        ({}, r"wanted a dict such as .*, got \{\}"),
        ([1, 9], r"wanted a dict such as .*, got \[1, 9\]"),
        ({"a": [1, 2], "b": [1, 2]}, r"takes one name as yet, got \['a', 'b'\]"),
        ({"epochs": 81}, "wanted levels as in .*, got 81 for 'epochs'"),
        ({"epochs": "abc"}, "wanted levels as in .*, got 'abc'"),
        ({"epochs": [81]}, r"two levels or more of different costs, got \[81\]"),
        ({"epochs": [1, 1, 81]}, "two levels or more of different costs"),
        ({"epochs": {1: 2.0, 9: 2.0}}, "two levels or more of different costs"),
        ({"epochs": [0, 9]}, "costs that are numbers above 0, got 0"),
        ({"epochs": ["few", "many"]}, "costs that are numbers above 0, got 'few'"),
        ({"epochs": {1: math.nan, 9: 1.0}}, "costs that are numbers above 0, got nan"),
        ({"epochs": {1: True, 9: 2.0}}, "costs that are numbers above 0, got True"),
    ],
)
def test_fidelities_that_make_no_sense_are_refused(fidelities: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Problem(SPACE, fidelities=fidelities)


def test_a_parameter_of_the_space_is_no_fidelity() -> None:
    with pytest.raises(SpaceError, match="'epochs' is a fidelity: wanted a space without it"):
        Problem({**SPACE, "epochs": (1, 81)}, fidelities=EPOCHS)


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


def test_without_fidelities_a_budget_counts_evaluations() -> None:
    found = bopp.minimize(lambda x: x, {"x": Float(0, 1)}, 7, progress=False)
    assert len(found.trials) == 7
    assert write_problem(found.problem).keys() == {"objectives", "constraints"}


def test_a_budget_counts_real_evaluations_and_is_never_exceeded() -> None:
    for budget in (1, 2, 6):
        found = bopp.minimize(loss, SPACE, budget, fidelities=EPOCHS, progress=False)
        assert budget - 1 < cost(found) <= budget + 1e-9
        assert found.trials[-1].params["epochs"] == 81
        assert found.best.params["epochs"] == 81


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


def test_the_first_are_cheap_and_the_best_of_them_go_up() -> None:
    params = played(Optimizer(PROBLEM), 28)
    levels = [one["epochs"] for one in params]
    cheap = levels.index(9)
    assert levels[:cheap] == [1] * cheap
    assert cheap >= 5
    best = min(params[:cheap], key=lambda one: loss(**one))
    assert params[cheap] == {**best, "epochs": 9}
    assert 81 in levels


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


def test_no_point_has_the_same_level_twice() -> None:
    params = played(Optimizer(PROBLEM, seed=3), 40)
    assert len({tuple(one.values()) for one in params}) == 40


def test_cheap_evaluations_keep_to_their_share_of_the_cost() -> None:
    optimizer = Optimizer(PROBLEM)
    played(optimizer, 60)
    reals = sum(trial.params["epochs"] == 81 for trial in optimizer.trials)
    assert reals >= 0.4 * cost(optimizer.result)


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


def test_a_run_goes_on_from_its_trials() -> None:
    found = bopp.minimize(loss, SPACE, 3, fidelities=EPOCHS, progress=False)
    further = bopp.minimize(loss, SPACE, 5, fidelities=EPOCHS, trials=found.trials, progress=False)
    assert further.trials[: len(found.trials)] == found.trials
    assert 4 < cost(further) <= 5 + 1e-9


def test_a_batch_has_different_points_while_none_is_told() -> None:
    optimizer = Optimizer(PROBLEM)
    batch = optimizer.ask(20)
    assert len({tuple(trial.params.values()) for trial in batch}) == 20
    for trial in batch:
        optimizer.fail(trial, "no")
    assert optimizer.ask().number == 20


def test_several_workers_keep_to_the_budget() -> None:
    found = bopp.minimize(loss, SPACE, 4, fidelities=EPOCHS, workers=2, progress=False)
    assert 3 < cost(found) <= 4 + 1e-9
    assert found.best.params["epochs"] == 81


def test_failures_do_not_stop_the_search() -> None:
    def brittle(x: float, y: float, epochs: int) -> float:
        return math.nan if x > 0.6 else loss(x, y, epochs)

    found = bopp.minimize(brittle, SPACE, 6, fidelities=EPOCHS, progress=False, failures="continue")
    assert found.best.value is not None
    assert found.best.value < 0.1


def test_a_level_may_be_chosen_by_hand() -> None:
    optimizer = Optimizer(PROBLEM)
    played(optimizer, 28)
    optimizer.enqueue({"epochs": 9})
    assert optimizer.ask().params["epochs"] == 9
    optimizer.enqueue({"x": 0.25})
    assert optimizer.ask().params["x"] == 0.25


def test_random_search_knows_no_cheap_evaluations() -> None:
    found = bopp.minimize(loss, SPACE, 4, fidelities=EPOCHS, recipe=Recipe.random(), progress=False)
    assert [trial.params["epochs"] for trial in found.trials] == [81] * 4


@pytest.mark.parametrize(
    "recipe", [Recipe.paper("ucb"), replace(Recipe.default(), fit=bopp.fit.SliceSampling())]
)
def test_other_recipes_have_levels_too(recipe: Recipe) -> None:
    optimizer = Optimizer(PROBLEM, recipe=recipe)
    assert {one["epochs"] for one in played(optimizer, 29)} == {1, 9, 81}


def test_spaces_with_conditions_have_levels_too() -> None:
    space = {"method": Choice(["a", "b"]), "rate": Float(0, 1, when={"method": "a"})}

    def value(params: dict[str, Any]) -> float:
        return float(params.get("rate", 0.5) ** 2 + 1 / params["epochs"])

    found = bopp.minimize(value, space, 4, fidelities=EPOCHS, progress=False)
    assert found.best.params["epochs"] == 81


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


def test_a_constraint_counts_at_the_real_level() -> None:
    problem = Problem(SPACE, constraints=[AtMost("size", 0.5)], fidelities=EPOCHS)

    def measured(x: float, y: float, epochs: int) -> dict[str, float]:
        return {"value": loss(x, y, epochs), "size": x}

    best = bopp.optimize(measured, problem, 5, progress=False).best
    assert best.params["epochs"] == 81
    assert best.params["x"] <= 0.5


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


def test_a_study_suggests_what_an_optimizer_suggests() -> None:
    with open_study("sqlite://", "train", PROBLEM) as study:
        for params in played(Optimizer(PROBLEM), 30):
            trial = study.ask()
            assert trial.params == params
            study.tell(trial, loss(**params))


def test_a_study_file_has_fidelities(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    x = '[space]\nx = {{ type = "float", low = 0, high = 1 }}'
    text = f'[study]\nname = "a"\nbudget = 5\nfidelities = {{}}\n{x}'
    for given in ("{ epochs = [1, 9, 81] }", "{ epochs = [[1, 1.0], [9, 9.0], [81, 81.0]] }"):
        path.write_text(text.format(given))
        config = load(path)
        assert config.fidelity == Fidelity.of(EPOCHS)
        assert list(config.space.parameters) == ["x", "epochs"]
        assert config.declared == (Problem({"x": Float(0, 1)}, fidelities=EPOCHS), None)
    for given, message in (
        ("3", r"\[study\] fidelities: wanted a table such as { epochs = \[1, 9, 81\] }, got 3"),
        ("{ epochs = [1] }", r"\[study\] fidelities: 'epochs' wants two levels or more"),
        ("{ x = [1, 2] }", r"\[space\] 'x' is a fidelity"),
    ):
        path.write_text(text.format(given))
        with pytest.raises(ConfigError, match=message):
            load(path)


def test_the_first_evaluation_is_at_the_guess_and_cheap() -> None:
    problem = Problem({"x": Float(0, 1), "y": Float(0, 1)}, fidelities={"epochs": [1, 3, 9]})
    optimizer = Optimizer(problem, knowledge=[Guesses(near={"x": 0.3, "y": 0.6})])
    first, second = optimizer.ask().params, optimizer.ask().params
    assert first == {"x": pytest.approx(0.3), "y": pytest.approx(0.6), "epochs": 1}
    assert second["epochs"] == 1
    assert second["x"] != pytest.approx(0.3)


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
