"""What is looked for with constraints and several objectives."""

import math
from dataclasses import replace
from typing import Any

import moocore
import numpy as np
import pytest

from bopp import (
    AtLeast,
    AtMost,
    Choice,
    Float,
    Int,
    Optimizer,
    Problem,
    Recipe,
    acquisition,
    fitted,
    optimize,
    pseudo,
)
from bopp.errors import RecipeError
from bopp.feasibility import FeasibleScore
from bopp.fit import MAP, SliceSampling
from bopp.goals import incumbent, measured, seek
from bopp.hypervolume import HypervolumeScore
from bopp.memory import Memory
from bopp.problem import Direction
from bopp.search import Direct
from bopp.suggest import suggest

SQUARE = {"x": Float(0, 1), "y": Float(0, 1)}
TWO: dict[str, Direction] = {"near": "minimize", "far": "minimize"}


def gramacy(x: float, y: float) -> dict[str, float]:
    """Gramacy et al. (2016): the best feasible value is 0.5998, below it nothing is allowed."""
    wave = 0.5 * math.sin(2 * math.pi * (x**2 - 2 * y))
    return {"value": x + y, "wavy": 1.5 - x - 2 * y - wave, "round": x**2 + y**2 - 1.5}


def gramacy_problem() -> Problem:
    return Problem(SQUARE, {"value": "minimize"}, [AtMost("wavy", 0.0), AtMost("round", 0.0)])


def distances(x: float, y: float) -> dict[str, float]:
    """Of two points; the front is the line between them."""
    return {"near": math.hypot(x - 0.2, y - 0.3), "far": math.hypot(x - 0.8, y - 0.6)}


def told(optimizer: Optimizer, function: Any, count: int, seed: int = 0) -> Optimizer:
    for row in np.random.default_rng(seed).random((count, 2)):
        params = {"x": float(row[0]), "y": float(row[1])}
        optimizer.observe(params, function(**params))
    return optimizer


def the_history(optimizer: Optimizer) -> Any:
    X = np.array([optimizer.problem.point(trial) for trial in optimizer.trials]).reshape(-1, 2)
    return optimizer.problem.history(optimizer.trials, X)


def mirrored(x: float, y: float) -> dict[str, float]:
    found = gramacy(x, y)
    return {"value": -found["value"], "wavy": -found["wavy"], "round": 7.0 - found["round"]}


def test_the_best_feasible_value_is_found_at_the_edge_of_what_is_allowed() -> None:
    """With `AtMost`, and with `AtLeast` of the same values upside down."""
    upside_down = Problem(SQUARE, {"value": "maximize"}, [AtLeast("wavy", 0.0), AtLeast("round", 7.0)])
    for function, problem in ((gramacy, gramacy_problem()), (mirrored, upside_down)):
        result = optimize(function, problem, budget=30, progress=False)
        assert 0.5997 < abs(result.best.value or 0.0) < 0.602


def test_until_a_trial_is_feasible_feasibility_is_searched_for() -> None:
    def sliver(x: float, y: float) -> dict[str, float]:  # 0.3 % of the square
        return {"value": x, "off": math.hypot(x - 0.7, y - 0.2) - 0.03}

    problem = Problem(SQUARE, {"value": "minimize"}, [AtMost("off", 0.0)])
    for seed in range(3):
        result = optimize(sliver, problem, budget=20, seed=seed, progress=False)
        assert (result.best.value or 0.0) < 0.72
    optimizer = told(Optimizer(problem), sliver, 6)
    sought = seek(optimizer.space, optimizer.recipe, the_history(optimizer), (0, 6))
    assert isinstance(sought.score, FeasibleScore)
    assert sought.score.score is None


def test_what_to_improve_on_is_the_best_feasible_value_and_feasible_trials_come_first() -> None:
    optimizer = told(Optimizer(gramacy_problem()), gramacy, 12)
    values = [trial.value for trial in optimizer.trials if optimizer.problem.feasible(trial)]
    assert min(trial.value for trial in optimizer.trials) < min(values)
    history = the_history(optimizer)
    assert incumbent(history) == -min(values)
    sought = seek(optimizer.space, optimizer.recipe, history, (0, 12))
    (known,) = sought.objective.knowns
    assert known.best == pytest.approx(float(known.scale(np.array([-min(values)]))[0]))
    order, count = np.argsort(-sought.history.data.y), int(history.feasible.sum())
    assert 0 < count < 12
    assert history.feasible[order[:count]].all()
    assert history.values[order[0], 0] == incumbent(history)
    assert np.minimum(history.values[order[count:], 1:], 0.0).any(axis=1).all()
    plain = told(Optimizer(SQUARE), lambda x, y: x + y, 8)
    sought = seek(plain.space, plain.recipe, the_history(plain), (0, 8))
    assert sought.score is sought.objective


def test_a_front_of_two_objectives_is_found_in_all_its_length() -> None:
    result = optimize(distances, Problem(SQUARE, TWO), budget=35, progress=False)
    front = result.problem.front(result.trials)
    along = sorted(float(trial.values["near"] or 0.0) for trial in front)
    length = math.hypot(0.6, 0.3)
    assert len(front) >= 15
    assert along[0] < 0.05 * length
    assert along[-1] > 0.95 * length
    assert np.diff(along).max() < 0.2 * length
    assert max(sum(filter(None, trial.values.values())) for trial in front) < 1.1 * length


@pytest.mark.parametrize("count", [3, 4])
def test_more_than_two_objectives_are_searched_for(count: int) -> None:
    corners = np.array([[0.2, 0.2], [0.8, 0.2], [0.5, 0.8], [0.5, 0.4]])[:count]

    def away(x: float, y: float) -> dict[str, float]:
        return {f"to {place}": math.hypot(x - a, y - b) for place, (a, b) in enumerate(corners)}

    names = [f"to {place}" for place in range(count)]
    problem = Problem(SQUARE, dict.fromkeys(names, "minimize"))
    result = optimize(away, problem, budget=25, progress=False)
    later = [trial for trial in result.trials if trial.number >= 8]
    front = {trial.number for trial in result.problem.front(result.trials)}
    assert sum(trial.number in front for trial in later) > 0.7 * len(later)  # at random about 0.2
    even = optimize(away, problem, budget=25, recipe=Recipe.random(), progress=False)
    volumes = [
        moocore.hypervolume(
            np.array([list(trial.values.values()) for trial in one.trials]), ref=[1.0] * count
        )
        for one in (result, even)
    ]
    assert volumes[0] > 1.03 * volumes[1]


def test_directions_are_each_objective_s_own() -> None:
    def turned(x: float, y: float) -> dict[str, float]:
        found = distances(x, y)
        return {"near": found["near"], "far": -found["far"]}

    plain = told(Optimizer(Problem(SQUARE, TWO)), distances, 8).ask().params
    upside_down: dict[str, Direction] = {"near": "minimize", "far": "maximize"}
    other = told(Optimizer(Problem(SQUARE, upside_down)), turned, 8).ask().params
    assert other == plain


@pytest.mark.parametrize(("size", "shift"), [(1e-100, 0.0), (1e100, 0.0), (7.0, -3.0)])
def test_units_of_objectives_and_constraints_do_not_matter(size: float, shift: float) -> None:
    def other(x: float, y: float) -> dict[str, float]:
        return {
            **{name: size * value + shift * size for name, value in distances(x, y).items()},
            "wavy": size * gramacy(x, y)["wavy"] + shift * size,
        }

    def usual(x: float, y: float) -> dict[str, float]:
        return {**distances(x, y), "wavy": gramacy(x, y)["wavy"]}

    asked = [
        told(Optimizer(Problem(SQUARE, TWO, [AtMost("wavy", bound)])), function, 9).ask().params
        for bound, function in ((0.0, usual), (shift * size, other))
    ]
    assert asked[1]["x"] == pytest.approx(asked[0]["x"], abs=1e-5)
    assert asked[1]["y"] == pytest.approx(asked[0]["y"], abs=1e-5)


def test_a_limit_on_a_value_that_nothing_comes_near_changes_nothing_that_matters() -> None:
    def loose(x: float, y: float) -> dict[str, float]:
        return {"value": gramacy(x, y)["value"], "ease": x}

    free = told(Optimizer(SQUARE), lambda x, y: gramacy(x, y)["value"], 8).ask().params
    problem = Problem(SQUARE, {"value": "minimize"}, [AtMost("ease", 100.0)])
    held = told(Optimizer(problem), loose, 8).ask().params
    assert held["x"] == pytest.approx(free["x"], abs=0.02)
    assert held["y"] == pytest.approx(free["y"], abs=0.02)


@pytest.mark.parametrize("function", [gramacy, distances], ids=["constraints", "objectives"])
def test_a_batch_is_spread_out_keeps_away_from_failures_and_depends_on_its_arguments_alone(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = gramacy_problem() if function is gramacy else Problem(SQUARE, TWO)
    optimizer = told(Optimizer(problem), function, 23)
    history = the_history(optimizer)
    first, *rest = optimizer.ask(4)
    optimizer.fail(first, "it exploded")
    batch = np.array([list(trial.params.values()) for trial in (first, *rest, optimizer.ask())])
    assert (np.linalg.norm(batch[:, None] - batch, axis=2) + np.eye(5)).min() > 0.01
    monkeypatch.setattr("bopp.model._models", Memory(4))
    fitted.forget()
    again = suggest(optimizer.space, optimizer.recipe, history, (0, 23))
    assert optimizer.space.decode(again) == first.params


@pytest.mark.parametrize("function", [gramacy, distances], ids=["constraints", "objectives"])
def test_what_failed_is_kept_away_from(function: Any) -> None:
    problem = gramacy_problem() if function is gramacy else Problem(SQUARE, TWO)
    optimizer = told(Optimizer(problem), function, 8)
    first = optimizer.ask()
    optimizer.fail(first, "it exploded")
    assert math.dist(first.params.values(), optimizer.ask().params.values()) > 0.02


def test_the_models_of_all_values_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[int] = []
    fit = MAP.__call__

    def counted(self: MAP, *rest: Any) -> Any:
        fits.append(1)
        return fit(self, *rest)

    monkeypatch.setattr(MAP, "__call__", counted)
    monkeypatch.setattr("bopp.model._models", Memory(4))
    fitted.forget()
    names = [f"limit {place}" for place in range(11)]

    def many(x: float, y: float) -> dict[str, float]:
        return {"value": x + y} | {name: x - y + place for place, name in enumerate(names)}

    problem = Problem(SQUARE, {"value": "minimize"}, [AtMost(name, 5.0) for name in names])
    optimizer = told(Optimizer(problem), many, 30)
    optimizer.ask()
    assert len(fits) == 12
    optimizer.ask(3)
    assert len(fits) == 12


def test_values_that_were_not_measured_leave_a_gap_for_one_model_alone() -> None:
    def sometimes(x: float, y: float) -> dict[str, float | None]:
        found: dict[str, float | None] = {**distances(x, y)}
        return found if x < 0.5 else found | {"far": None}

    optimizer = told(Optimizer(Problem(SQUARE, TWO)), sometimes, 14)
    history = the_history(optimizer)
    near, far = history.outputs
    assert len(near.data) == 14
    assert 0 < len(far.data) < 14
    sought = seek(optimizer.space, optimizer.recipe, history, (0, 14))
    assert isinstance(sought.score, HypervolumeScore)
    for _ in range(8):
        trial = optimizer.ask()
        optimizer.tell(trial, sometimes(**trial.params))
    assert len(optimizer.problem.front(optimizer.trials)) >= 3


def test_while_an_objective_or_a_constraint_was_never_measured_it_is_not_guessed() -> None:
    optimizer = told(Optimizer(Problem(SQUARE, TWO)), lambda x, y: distances(x, y) | {"far": None}, 8)
    assert not measured(the_history(optimizer))
    design = optimizer.recipe.initial(2, 0, 8)  # which goes on
    assert list(optimizer.ask().params.values()) == pytest.approx(list(design))
    optimizer = told(Optimizer(gramacy_problem()), lambda x, y: gramacy(x, y) | {"wavy": None}, 8)
    sought = seek(optimizer.space, optimizer.recipe, the_history(optimizer), (0, 8))
    assert isinstance(sought.score, FeasibleScore)
    assert len(sought.score.chances) == 1  # that of "round"
    assert sought.score.score is None  # as no trial is known to be feasible
    optimizer.ask()


def test_a_given_reference_says_what_counts() -> None:
    close = Problem(SQUARE, TWO, reference={"near": 0.1, "far": 1.0})
    result = optimize(distances, close, budget=30, progress=False)
    late = [float(trial.values["near"] or 0.0) for trial in result.trials[12:]]
    assert np.mean(np.array(late) < 0.15) > 0.7


NEAR = pseudo.Guesses(near={"x": 0.5})
REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    *(({"reference": one}, {}, "reference") for one in ({"near": 1.0}, {"near": 1.0, "far": math.nan}, 3.0)),
    ({"reference": {"near": 1.0, "far": "x"}}, {}, "reference"),
    ({"reference": {"near": 1, "far": 1, "more": 1}}, {}, "reference"),
    ({"objectives": {"near": "minimize"}, "reference": {"near": 1.0}}, {}, "several objectives"),
    ({"fidelities": {"epochs": [1, 3]}}, {}, "fidelities with one objective"),
    ({}, {"recipe": replace(Recipe.default(), acquisition=acquisition.UCB(4.0))}, "log_ei or ei"),
    ({}, {"knowledge": [NEAR]}, "holds for each"),
]


@pytest.mark.parametrize(("declared", "settings", "words"), REFUSED)
def test_what_does_not_go_with_several_objectives_is_refused(
    declared: Any, settings: Any, words: str
) -> None:
    with pytest.raises(RecipeError, match=words):
        Optimizer(Problem(SQUARE, **{"objectives": TWO, **declared}), **settings).ask()


def test_constraints_and_several_objectives_go_together() -> None:
    def both(x: float, y: float) -> dict[str, float]:
        return {**distances(x, y), "x": x}

    result = optimize(both, Problem(SQUARE, TWO, [AtMost("x", 0.5)]), budget=30, progress=False)
    front = result.problem.front(result.trials)
    assert len(front) >= 10
    assert all(float(trial.values["x"] or 0.0) <= 0.5 for trial in front)
    assert max(float(trial.values["x"] or 0.0) for trial in front) > 0.48


def test_mixed_spaces_have_goals_too() -> None:
    space = {"x": Float(0, 1), "n": Int(0, 20), "kind": Choice(["a", "b", "c"])}

    def mixed(x: float, n: int, kind: str) -> dict[str, float]:
        extra = {"a": 0.0, "b": 0.3, "c": 0.6}[kind]
        return {"near": (x - 0.3) ** 2 + n / 20 + extra, "far": 1.0 - n / 20 + x**2, "size": n + extra}

    problem = Problem(space, TWO, [AtMost("size", 12.0)])
    result = optimize(mixed, problem, budget=30, progress=False)
    front = result.problem.front(result.trials)
    assert len(front) >= 6
    assert {trial.params["kind"] for trial in front} == {"a"}


@pytest.mark.parametrize(
    "score",
    [acquisition.ei, acquisition.pi, acquisition.UCB(4.0), acquisition.MES()],
    ids=["ei", "pi", "ucb", "mes"],
)
def test_any_acquisition_takes_constraints(score: Any) -> None:
    recipe = replace(Recipe.default(), acquisition=score)
    result = optimize(gramacy, gramacy_problem(), budget=25, recipe=recipe, progress=False)
    assert (result.best.value or 0.0) < 0.75


@pytest.mark.parametrize(
    ("part", "budget", "least"),
    [
        ({"fit": SliceSampling(samples=3, burn_in=3, thinning=1)}, 12, 3),
        ({"search": Direct(200)}, 20, 6),
    ],
    ids=["fit", "search"],
)
def test_other_parts_take_constraints_and_several_objectives(
    part: dict[str, Any], budget: int, least: int
) -> None:
    recipe = replace(Recipe.default(), **part)
    result = optimize(gramacy, gramacy_problem(), budget=12, recipe=recipe, progress=False)
    assert len(result.trials) == 12
    result = optimize(distances, Problem(SQUARE, TWO), budget=budget, recipe=recipe, progress=False)
    assert len(result.front) >= least


def test_a_symmetry_holds_for_every_value() -> None:
    def equal(x: float, y: float) -> dict[str, float]:
        return {"near": (x + y - 0.6) ** 2 + x * y, "far": (x + y - 1.4) ** 2}

    images = pseudo.Images(exchange=("x", "y"))
    optimizer = told(Optimizer(Problem(SQUARE, TWO), knowledge=[images]), equal, 10)
    sought = seek(optimizer.space, optimizer.recipe, the_history(optimizer), (0, 10))
    assert sought.trusted
    trial = optimizer.ask()
    seen = [(one.params["y"], one.params["x"]) for one in optimizer.trials[:-1]]
    assert min(math.dist(one, tuple(trial.params.values())) for one in seen) > 1e-3


def test_knowledge_of_the_objective_is_heeded_beside_constraints() -> None:
    guess = pseudo.Guesses(near={"x": 0.2, "y": 0.4})
    optimizer = told(Optimizer(gramacy_problem(), knowledge=[guess]), gramacy, 6)
    sought = seek(optimizer.space, optimizer.recipe, the_history(optimizer), (0, 6))
    assert sought.objective.accounts
    trial = optimizer.ask()
    assert math.dist((0.2, 0.4), tuple(trial.params.values())) < 0.4


def test_fidelities_and_constraints_go_together() -> None:
    def trained(x: float, y: float, epochs: int) -> dict[str, float]:
        found = gramacy(x, y)
        return found | {"value": found["value"] + 0.3 / epochs}

    limits = [AtMost("wavy", 0.0), AtMost("round", 0.0)]
    problem = Problem(SQUARE, {"value": "minimize"}, limits, fidelities={"epochs": [1, 3, 9]})
    result = optimize(trained, problem, budget=15, progress=False)
    assert (result.best.value or 0.0) < 0.72
    assert any(trial.params["epochs"] < 9 for trial in result.trials)


def test_a_pending_trial_is_expected_to_be_on_the_front() -> None:
    optimizer = told(Optimizer(Problem(SQUARE, TWO)), distances, 12)
    before = seek(optimizer.space, optimizer.recipe, the_history(optimizer), (0, 12))
    trial = optimizer.ask()
    u = optimizer.space.encode(trial.params)[None, :]
    after = seek(optimizer.space, optimizer.recipe, the_history(optimizer), (0, 13))
    assert after.score.values(u)[0] < before.score.values(u)[0] - 3.0
