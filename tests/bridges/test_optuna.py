"""The bridge to Optuna, with the real Optuna: its own suites for samplers, and what bopp promises on top."""

from __future__ import annotations

import ast
import copy
import gc
import itertools
import math
import multiprocessing
import os
import pickle
import threading
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import optuna
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, PartialFixedSampler, TPESampler
from optuna.search_space import intersection_search_space
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)
from optuna.trial import FrozenTrial, TrialState, create_trial

import bopp
import bopp.bridges.optuna as bridge
from bopp import Choice, Float, Int, Recipe
from bopp import outcome as outcomes
from bopp.bridges.foreign import Translation
from bopp.bridges.optuna import BoppSampler, earlier
from bopp.data import Data, History
from bopp.errors import BoppError, SpaceError
from bopp.initial import Sobol
from bopp.known import Known
from bopp.problem import Direction
from bopp.pseudo import Cheap, Earlier, Guesses, Images, Limits
from bopp.space import Space
from bopp.suggest import suggest
from support.bridge_conformance import FIRST, MISFITS, Case, ComingConformance, ResumableConformance
from support.forks import in_child

pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:PartialFixedSampler is experimental:optuna.exceptions.ExperimentalWarning"
    ),
    pytest.mark.filterwarnings("ignore:Fixed parameter .* is out of range:UserWarning"),
]

Distributions = dict[str, BaseDistribution]
Objective = Callable[[Mapping[str, Any]], float]

UNIT: Distributions = {"x": FloatDistribution(0.0, 1.0)}
SQUARE: Distributions = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
WAYS: list[Direction] = ["minimize", "maximize"]
BOARD: Distributions = {"x": IntDistribution(0, 15), "y": IntDistribution(0, 15)}
NET: Distributions = {
    "kind": CategoricalDistribution(["relu", "tanh", "gelu"]),
    "layers": IntDistribution(1, 8),
    "rate": FloatDistribution(1e-4, 1.0, log=True),
}
PATIENCE = 100.0  # seconds for what takes far fewer on an idle machine


class TestSuitesOfOptuna(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return BoppSampler


class TestConformance(ResumableConformance, ComingConformance):
    page = "docs/bridges/optuna.md"
    libraries: ClassVar = ["Optuna"]
    wrong: ClassVar = {
        "seed": [-1, 0.5, "0", [1]],
        "recipe": [Recipe, "default", {}],
        "knowledge": ["near", [1], Guesses, [Guesses]],
        "constraints_func": [3],
    }
    finite: ClassVar = [
        (FloatDistribution(-0.3, 0.3, step=0.1), [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]),
        (FloatDistribution(1.1, 7.7, step=1.1), [1.1, 2.2, 3.3, 4.4, 5.5, 6.6, 7.7]),
        (IntDistribution(5, 65, step=10), [5, 15, 25, 35, 45, 55, 65]),
        (IntDistribution(-7, 7, step=7), [-7, 0, 7]),
        (
            CategoricalDistribution([None, True, "1", 2, 2.5, "None", ""]),
            [None, True, "1", 2, 2.5, "None", ""],
        ),
        # of which Optuna takes three, two and two as equal
        (CategoricalDistribution([True, 1, 1.0, "1", 0, 0.0, 2, 2.0]), [True, "1", 0, 2]),
        (CategoricalDistribution([math.nan, None, "a", 1, 2, 3]), [math.nan, None, "a", 1, 2, 3]),
    ]

    def begin(self, **settings: Any) -> None:
        BoppSampler(**settings)

    def tried(self, domain: Any, count: int) -> list[Any]:
        study, anew = study_of(), copy.copy(domain)
        for _ in range(count):
            if isinstance(domain, CategoricalDistribution):  # one NaN is not another
                anew = CategoricalDistribution(
                    [one if one == one else float("nan") for one in domain.choices]
                )
            advance(study, {"p": anew}, lambda params: 1.0, 1)
        assert all(map(partial(contains, domain), (params["p"] for params in params_of(study))))
        return [params["p"] for params in params_of(study)]

    @pytest.mark.parametrize(
        ("knowledge", "words"),
        [
            *MISFITS,
            (Earlier([("minimize", [(FIRST, 1.0)])]), "3 values"),
            (Cheap(lambda params: params["depth"]), "'depth'"),
            (Images(equal=lambda params: {"depth": params["rate"]}), "missing"),
        ],
    )
    def test_knowledge_that_does_not_fit_is_named(self, knowledge: Any, words: str) -> None:
        """It is left out, since it may fit once other parameters have been seen."""
        with pytest.warns(UserWarning, match=f"leaves out {type(knowledge).__name__}.*{words}"):
            found = self.run(Case(knowledge=knowledge))
        assert found == self.expected("minimize")

    def run(self, case: Case, folder: Path | None = None) -> list[dict[str, Any]]:
        def opened() -> Study:
            bridge._searches.forget()
            return optuna.create_study(
                storage=JournalStorage(JournalFileBackend(f"{folder}/journal")) if folder else None,
                study_name="a",
                sampler=BoppSampler(case.seed, case.recipe, case.knowledge),
                directions=[*case.directions],
                load_if_exists=True,
            )

        def ended(params: Mapping[str, Any]) -> dict[str, Any]:
            """What `create_trial` takes of an outcome."""
            outcome = case.outcome(params)
            if outcome is None:
                return {"state": TrialState.FAIL}
            limits = {one.name: outcome[one.name] for one in case.constraints if one.name in outcome}
            return {"values": [outcome[name] for name in case.objectives], "constraints": limits}

        study = opened()
        study.add_trial(create_trial(params=FIRST, distributions=NET, **ended(FIRST)))
        for count in case.batches:
            trials = []
            for _ in range(count):
                trials.append(study.ask(NET))
                study = opened() if folder else study
            for trial in trials:
                end = ended(trial.params)
                for name, value in end.pop("constraints", {}).items():
                    trial.set_constraint(name, value)
                study.tell(trial.number, **end)
        return params_of(study)


@dataclass
class Witness:
    """A policy without points, which keeps what it was shown."""

    seen: list[Known] = field(default_factory=list)

    def __call__(self, known: Known) -> Data:
        self.seen.append(known)
        return Data.empty(known.dimension)


def witnessed(**parts: Any) -> tuple[BoppSampler, Witness]:
    """A sampler that models from the first trial on, and what its policy sees."""
    witness = Witness()
    return BoppSampler(recipe=Recipe(pseudo=witness, initial=Sobol(0), **parts)), witness


def bowl(params: Mapping[str, Any]) -> float:
    return float((params["x"] - 0.3) ** 2 + (params["y"] - 0.7) ** 2)


def study_of(
    *trials: FrozenTrial, sampler: BaseSampler | None = None, direction: Direction = "minimize"
) -> Study:
    study = optuna.create_study(sampler=sampler or BoppSampler(), direction=direction)
    study.add_trials(trials)
    return study


def done(params: dict[str, Any], value: float, distributions: Distributions = UNIT) -> FrozenTrial:
    return told(params, [value], None, distributions)


def numbered(number: int) -> FrozenTrial:
    """A trial that wants its params."""
    trial = create_trial(state=TrialState.RUNNING)
    trial.number = number
    return trial


def advance(
    study: Study, distributions: Distributions, objective: Objective, count: int
) -> list[dict[str, Any]]:
    """The params of so many more trials, one after the other."""
    tried = []
    for _ in range(count):
        trial = study.ask(distributions)
        study.tell(trial, objective(trial.params))
        tried.append(trial.params)
    return tried


def grown(distributions: Distributions, objective: Objective, count: int, seed: int = 0) -> Study:
    """A study of the sampler with so many finished trials."""
    study = study_of(sampler=BoppSampler(seed))
    advance(study, distributions, objective, count)
    return study


def seen_by_a_policy(*trials: FrozenTrial, direction: Direction = "minimize") -> Known:
    """What the engine is shown of these trials when another one wants its params, at the raw values."""
    sampler, witness = witnessed(outcome=outcomes.raw)
    study = study_of(sampler=sampler, direction=direction)
    asked = study.ask()
    study.add_trials(trials)
    asked.suggest_float("x", 0.0, 1.0)
    assert all(np.isfinite(known.data.y).all() for known in witness.seen)
    return witness.seen[0]


def params_of(study: Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def closest(points: Iterable[Mapping[str, float]]) -> float:
    """The least distance of two points, in their farthest coordinate."""
    return min(max(abs(p[name] - q[name]) for name in p) for p, q in itertools.combinations(points, 2))


def contains(distribution: BaseDistribution, value: Any) -> bool:
    return bool(distribution._contains(distribution.to_internal_repr(value)))


@pytest.mark.parametrize("count", [1, 7])
def test_the_key_of_a_suggestion_is_the_seed_and_the_number_of_the_trial(count: int) -> None:
    X = np.linspace(0.1, 0.9, count)
    study = study_of(*(done({"x": float(x)}, float(x)) for x in X), sampler=BoppSampler(seed=11))
    study.add_trial(create_trial(state=TrialState.FAIL))  # which counts as a number, and is no point

    history = History.of(Data(X[:, None], -X), np.empty((0, 1)), np.empty((0, 1)))
    expected = suggest(Space({"x": Float(0.0, 1.0)}), Recipe.default(), history, (11, count + 1))

    assert study.ask(UNIT).params == {"x": float(expected[0])}


def other(state: TrialState, distribution: BaseDistribution = UNIT["x"], name: str = "x", **more: Any) -> Any:
    return create_trial(state=state, params={name: 0.5}, distributions={name: distribution}, **more)


@pytest.mark.parametrize(
    ("trial", "kind"),
    [
        (other(TrialState.RUNNING), "pending"),
        (other(TrialState.FAIL), "failed"),
        (other(TrialState.PRUNED), "failed"),
        (other(TrialState.PRUNED, value=1.0), "failed"),
        (other(TrialState.PRUNED, intermediate_values={1: 0.5}), "failed"),
        (other(TrialState.COMPLETE, value=math.inf), "failed"),
        (other(TrialState.COMPLETE, value=-math.inf), "failed"),
        (other(TrialState.COMPLETE, value=1.0, constraints={"weight": math.inf}), "failed"),
        (other(TrialState.COMPLETE, value=1.0, constraints={"weight": -math.inf}), "data"),
        (other(TrialState.COMPLETE, value=1.0), "data"),
        (other(TrialState.WAITING), "left out"),
        (other(TrialState.FAIL, FloatDistribution(0.0, 2.0)), "left out"),
        (other(TrialState.PRUNED, FloatDistribution(0.1, 1.0, log=True)), "left out"),
        (other(TrialState.RUNNING, FloatDistribution(0.0, 1.0, step=0.5)), "left out"),
        (other(TrialState.FAIL, CategoricalDistribution([0.5, 1.0])), "left out"),
        (other(TrialState.FAIL, name="y"), "left out"),
        (other(TrialState.PRUNED, name="y"), "left out"),
    ],
)
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_trial_counts_by_its_state_and_its_ranges(trial: Any, kind: str, direction: Direction) -> None:
    known = seen_by_a_policy(done({"x": 0.2}, 3.0), trial, direction=direction)
    assert known.data.X.tolist() == ([[0.2], [0.5]] if kind == "data" else [[0.2]])
    assert known.pending.tolist() == ([[0.5]] if kind == "pending" else [])
    assert known.failed.tolist() == ([[0.5]] if kind == "failed" else [])


def told(
    params: dict[str, Any],
    values: Iterable[float],
    constraints: dict[str, float] | None = None,
    distributions: Distributions = SQUARE,
) -> FrozenTrial:
    return create_trial(
        params=params, distributions=distributions, values=list(values), constraints=constraints
    )


def two(params: Mapping[str, Any]) -> list[float]:
    """Two objectives of the square: the first is least at (0, 0.7), the second greatest at (1, 0.7)."""
    x, off = params["x"], (params["y"] - 0.7) ** 2
    return [float(x**2 + off), float(-((x - 1.0) ** 2) - off)]


def scattered(count: int, seed: int = 1) -> list[dict[str, float]]:
    return [{"x": float(x), "y": float(y)} for x, y in np.random.default_rng(seed).random((count, 2))]


def test_the_order_in_which_constraints_are_set_changes_nothing() -> None:
    studies = []
    for names in (["a", "b", "c"], ["c", "a", "b"]):
        trials = [
            told(params, [bowl(params)], {name: params["x"] - ord(name) % 7 / 7 for name in names})
            for params in scattered(7)
        ]
        studies.append(study_of(*trials))
    first, second = (study.ask(SQUARE).params for study in studies)
    assert first == second


@pytest.mark.parametrize("state", ["PRUNED", "FAIL", "RUNNING", "COMPLETE"])
def test_constraints_count_only_of_complete_trials_of_the_same_ranges(state: str) -> None:
    complete = state == "COMPLETE"
    given: dict[str, Any] = {
        "state": TrialState[state],
        "params": {"x": 0.5, "y": 0.5},
        "distributions": SQUARE,
    }
    if complete:
        given |= {"value": 1.0, "distributions": {**SQUARE, "x": FloatDistribution(0.0, 2.0)}}
    found = []
    for limits in (None, {"weight": 0.25}):
        trials = [told(params, [bowl(params)]) for params in scattered(7)]
        study = study_of(create_trial(**given, constraints=limits), *trials)
        found.append(study.sampler.sample_relative(study, numbered(8), SQUARE))
    assert found[0] == found[1]


def limits(trial: Any) -> tuple[float, float]:
    return trial.params["x"] - 0.5, trial.params["y"] - 0.9


def test_constraints_of_a_function_are_kept_as_other_samplers_keep_them() -> None:
    def plain(trial: optuna.Trial) -> float:
        return bowl({name: trial.suggest_float(name, 0.0, 1.0) for name in ("x", "y")})

    def setting(trial: optuna.Trial) -> float:
        value = plain(trial)
        for place, limit in enumerate(limits(trial)):
            trial.set_constraint(str(place), limit)
        return value

    with pytest.warns(FutureWarning, match="set_constraint"):
        samplers = [BoppSampler(constraints_func=limits), TPESampler(seed=0, constraints_func=limits)]
    studies = [study_of(sampler=one) for one in (*samplers, BoppSampler())]
    for study, objective in zip(studies, (plain, plain, setting), strict=True):
        study.optimize(objective, n_trials=8)
    ours, theirs, new = studies
    assert [trial.constraints for trial in ours.trials] == [trial.constraints for trial in new.trials]
    assert params_of(ours) == params_of(new)
    assert ours.trials[0].system_attrs.keys() == theirs.trials[0].system_attrs.keys()
    assert pickle.loads(pickle.dumps(samplers[0])).recorder is not None


def test_a_distribution_of_no_known_kind_is_named() -> None:
    study = study_of()
    with pytest.raises(SpaceError, match=r"'x'.*'uniform'"):
        study.sampler.sample_independent(study, numbered(0), "x", "uniform")  # type: ignore[arg-type]


class Forgetful(BoppSampler):
    """The sampler as if it had never seen a trial before."""

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Distributions:
        bridge._searches.forget()
        return super().infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: Distributions
    ) -> dict[str, Any]:
        bridge._searches.forget()
        return super().sample_relative(study, trial, search_space)


RANGES: list[Distributions] = [
    {},
    {"x": FloatDistribution(0.0, 1.0)},
    {"x": FloatDistribution(0.0, 2.0)},
    {"x": FloatDistribution(0.0, 1.0), "n": IntDistribution(0, 9)},
    {"x": FloatDistribution(0.0, 1.0), "n": IntDistribution(0, 9), "c": CategoricalDistribution([1, 2, 3])},
    {"x": FloatDistribution(0.0, 1.0), "n": IntDistribution(0, 9), "c": CategoricalDistribution([1.0, 2, 3])},
]
ENDS = [1.0, 2.5, -3.0, math.inf, TrialState.FAIL, TrialState.PRUNED]
STEP = st.tuples(st.integers(0, 1), st.sampled_from(RANGES), st.integers(0, 2), st.sampled_from(ENDS))


def played(sampler: BaseSampler, steps: list[tuple[int, Distributions, int, Any]]) -> list[list[str]]:
    """The params of two studies of one name and one sampler, asked in turn while earlier trials still run."""
    studies = [
        optuna.create_study(study_name="same", sampler=sampler, direction=direction)
        for direction in ("minimize", "maximize")
    ]
    running: list[list[optuna.Trial]] = [[], []]
    for which, ranges, finished, end in steps:
        running[which].append(studies[which].ask(copy.deepcopy(ranges)))
        for _ in range(min(finished, len(running[which]))):
            ended = {"state": end} if isinstance(end, TrialState) else {"values": end}
            studies[which].tell(running[which].pop(0), **ended)
    return [[repr(trial.params) for trial in study.trials] for study in studies]


@settings(max_examples=30, deadline=None)
@given(st.lists(STEP, max_size=14), st.integers(0, 3))
def test_what_is_remembered_changes_no_suggestion(steps: list[Any], seed: int) -> None:
    quick = Recipe(initial=Sobol(2), acquisition=bopp.acquisition.ei)
    assert played(BoppSampler(seed, quick), steps) == played(Forgetful(seed, quick), steps)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(RANGES), st.sampled_from(ENDS)), max_size=8))
@example([(RANGES[4], 1.0), (RANGES[5], 1.0)])
@example([(RANGES[5], 1.0), (RANGES[4], 1.0)])
def test_the_search_space_is_the_intersection_of_all_trials(kinds: list[tuple[Distributions, Any]]) -> None:
    study = study_of()
    for ranges, end in kinds:
        params = {name: 1.0 if name == "x" else 1 for name in ranges}
        ended = {"state": end} if isinstance(end, TrialState) else {"value": end}
        study.add_trial(create_trial(params=params, distributions=copy.deepcopy(ranges), **ended))
        trials = study.get_trials()
        expected = intersection_search_space(trials) or intersection_search_space(trials, include_pruned=True)
        found = study.sampler.infer_relative_search_space(study, numbered(len(trials)))
        assert repr(found) == repr(expected)


def test_a_search_space_and_a_finished_trial_are_translated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[list[str]] = []
    seen: list[float] = []

    class Counted(Translation):
        def __init__(self, parameters: Mapping[str, Any]):
            made.append(list(parameters))
            super().__init__(parameters)

        def ours(self, values: Mapping[str, Any]) -> Any:
            seen.append(values["x"])
            return super().ours(values)

    monkeypatch.setattr(bridge, "Translation", Counted)
    study = study_of(*(done({"x": i / 40, "y": 0.5}, i / 40, SQUARE) for i in range(20)))
    advance(study, SQUARE, bowl, 10)
    assert made == [["x", "y"]]
    assert seen == [params["x"] for params in params_of(study)[:29]]


def test_another_order_of_the_parameters_is_another_search() -> None:
    study = grown(SQUARE, bowl, 7)
    turned = dict(reversed(SQUARE.items()))
    expected = Forgetful().sample_relative(study, numbered(7), turned)
    assert expected != BoppSampler().sample_relative(study, numbered(7), SQUARE)
    assert expected == BoppSampler().sample_relative(study, numbered(7), turned)


def test_little_is_remembered_and_no_trial_is_kept_alive() -> None:
    for _ in range(2 * bridge.REMEMBERED):
        study = grown(UNIT, lambda params: params["x"], 3)
    assert len(bridge._searches) == len(bridge._kinds) == bridge.REMEMBERED
    last = weakref.ref(study.get_trials(deepcopy=False)[0])
    assert last() is not None
    del study
    gc.collect()
    assert last() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="wants fork")
def test_a_fork_goes_on_as_the_process_it_comes_from() -> None:
    study = grown(SQUARE, bowl, 7)
    expected = advance(grown(SQUARE, bowl, 7), SQUARE, bowl, 2)
    assert in_child(lambda: advance(study, SQUARE, bowl, 2) == expected) == 0
    assert advance(study, SQUARE, bowl, 2) == expected


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda sampler: pickle.loads(pickle.dumps(sampler))])
def test_a_copy_of_the_sampler_suggests_the_same(copied: Callable[[BoppSampler], BoppSampler]) -> None:
    study, trial = grown(SQUARE, bowl, 7), numbered(7)
    for sampler in (BoppSampler(seed=None), BoppSampler(8, Recipe.paper("ei", evaluations=20))):
        before, twin = pickle.dumps(sampler), copied(sampler)
        expected = sampler.sample_relative(study, trial, SQUARE)
        assert twin.sample_relative(study, trial, SQUARE) == expected
        drawn = [one.sample_independent(study, trial, "z", UNIT["x"]) for one in (sampler, twin)]
        assert drawn[0] == drawn[1]
        assert pickle.dumps(sampler) == before  # it carries nothing that it saw


@pytest.mark.parametrize("half", [False, True], ids=["none", "half"])
@pytest.mark.parametrize("count", [2, 8])
def test_a_trial_whose_params_are_on_their_way_is_predicted(count: int, half: bool) -> None:
    """None of its params is written yet, or half of them are; later trials do not count."""
    first, second = (written := grown(SQUARE, bowl, count)).ask(SQUARE), written.ask(SQUARE)
    racing = grown(SQUARE, bowl, count)
    slow, fast = racing.ask(), racing.ask()
    if half:
        assert slow.suggest_float("x", 0.0, 1.0) == first.params["x"]
    assert {name: fast.suggest_float(name, 0.0, 1.0) for name in "xy"} == second.params
    assert second.params != first.params
    if half:
        assert slow.suggest_float("y", 0.0, 1.0) == first.params["y"]
    alone = grown(SQUARE, bowl, count)
    sooner, _ = alone.ask(), alone.ask()
    assert {name: sooner.suggest_float(name, 0.0, 1.0) for name in "xy"} == first.params


def test_the_slower_of_two_trials_heeds_what_the_faster_one_wrote() -> None:
    sampler, witness = witnessed()
    study = study_of(done({"x": 0.2}, 3.0), sampler=sampler)
    slow, fast = study.ask(), study.ask()
    study.enqueue_trial({"x": 0.9})  # which is left out until it runs
    x = fast.suggest_float("x", 0.0, 1.0)
    slow.suggest_float("x", 0.0, 1.0)
    assert witness.seen[-1].pending.tolist() == [[x]]
    assert study.ask(UNIT).params == {"x": 0.9}
    study.ask(UNIT)
    assert witness.seen[-1].pending.tolist() == [[slow.params["x"]], [x], [0.9]]


def test_many_trials_that_race_all_get_different_params() -> None:
    written = grown(BOARD, bowl, 8)
    expected = [written.ask(BOARD).params for _ in range(9)]
    study = grown(BOARD, bowl, 8)
    racers = [study.ask() for _ in range(9)]
    for racer in reversed(racers):
        trial = study.get_trials(deepcopy=False)[racer.number]
        assert study.sampler.sample_relative(study, trial, BOARD) == expected.pop()


def test_trials_that_died_without_params_do_not_make_others_the_same() -> None:
    study, other = grown(BOARD, bowl, 8), grown(BOARD, bowl, 8)
    study.ask()  # and its process was killed before it wanted a parameter
    other.add_trial(optuna.create_trial(state=TrialState.FAIL))
    for one in (study, other):
        one.add_trial(done({"x": 3, "y": 4}, 1.0, BOARD))  # has outlived it: it is not predicted
    assert study.ask(BOARD).params == other.ask(BOARD).params
    racers = [study.ask() for _ in range(15)][-3:]
    trials = [study.get_trials(deepcopy=False)[racer.number] for racer in racers]
    points = [study.sampler.sample_relative(study, trial, BOARD) for trial in trials]
    assert len({tuple(params.items()) for params in points}) == 3


def test_a_value_told_while_a_trial_finds_its_params_does_not_make_the_next_one_the_same() -> None:
    line: Distributions = {"x": IntDistribution(0, 10)}
    assert [seed for seed in range(20) if _meets(seed, line)] == []


def _meets(seed: int, line: Distributions) -> bool:
    """Whether two trials get the same params, between whose starts a third one was told its value."""

    def objective(params: Mapping[str, Any]) -> float:
        return float((params["x"] / 10 - 0.3) ** 2)

    waiting: list[optuna.Trial] = []
    later: list[optuna.Trial] = []

    def meanwhile(known: Known) -> Data:
        while waiting:
            finished = waiting.pop()
            study.tell(finished, objective(finished.params))
            later.append(study.ask(line))
        return Data.empty(known.dimension)

    recipe = replace(Recipe.default(), pseudo=Recipe.default().pseudo + meanwhile)  # type: ignore[operator]
    study = study_of(sampler=BoppSampler(seed, recipe))
    advance(study, line, objective, 5)
    waiting.append(study.ask(line))
    sooner = study.ask(line)
    return bool(sooner.params == later[0].params)


def in_step(together: Any) -> Callable[[optuna.Trial], float]:
    """An objective of which all workers ask for params at the same time."""

    def objective(trial: optuna.Trial) -> float:
        together.wait(PATIENCE)
        params = {name: trial.suggest_float(name, 0.0, 1.0) for name in "xy"}
        together.wait(PATIENCE)
        return bowl(params)

    return objective


def test_four_threads_that_suggest_at_the_same_time_never_meet() -> None:
    study = study_of()
    study.optimize(in_step(threading.Barrier(4)), n_trials=32, n_jobs=4)
    assert Counter(trial.state for trial in study.trials) == {TrialState.COMPLETE: 32}
    assert closest(params_of(study)) > 1e-6


def _work(url: str, count: int, together: Barrier) -> None:
    study = optuna.load_study(storage=url, study_name="shared", sampler=BoppSampler(seed=6))
    study.optimize(in_step(together), n_trials=count)


@pytest.mark.endurance
def test_four_processes_on_one_file_never_meet(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shared.db"
    optuna.create_study(storage=url, study_name="shared")
    spawn = multiprocessing.get_context("spawn")
    together = spawn.Barrier(4)
    workers = [spawn.Process(target=_work, args=(url, 5, together)) for _ in range(4)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join(PATIENCE)
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]

    study = optuna.load_study(storage=url, study_name="shared")
    assert Counter(trial.state for trial in study.trials) == {TrialState.COMPLETE: 20}
    assert closest(params_of(study)) > 1e-6


def nested(trial: optuna.Trial) -> float:
    """The best is a net with sgd: 0 at x 0.3, rate 1e-3, momentum 0.9 and one layer of width 0."""
    loss = (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2
    model = trial.suggest_categorical("model", ["tree", "net", "none"])
    if model == "tree":
        loss += (trial.suggest_float("depth", 0.0, 1.0) - 0.8) ** 2
        return float(loss + (trial.suggest_float("leaf", 0.0, 1.0) - 0.2) ** 2 + 0.1)
    if model == "none":
        return float(loss + 0.6)
    optimizer = trial.suggest_categorical("optimizer", ["sgd", "adam"])
    loss += (math.log10(trial.suggest_float("rate", 1e-5, 1e-1, log=True)) + 3.0) ** 2 / 4
    if optimizer == "sgd":
        loss += (trial.suggest_float("momentum", 0.0, 1.0) - 0.9) ** 2
    else:
        loss += 0.2
    for layer in range(trial.suggest_int("layers", 1, 3)):
        loss += (trial.suggest_float(f"width{layer}", 0.0, 1.0) - 0.3 * layer) ** 2
    return float(loss)


class OfAllTrials(BoppSampler):
    """Models what all trials have, and draws the rest at random."""

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Distributions:
        return intersection_search_space(study.get_trials(deepcopy=False))


@pytest.mark.endurance
def test_nested_branches_are_searched_better_than_with_random_draws() -> None:
    """By a factor of 1.4 on average; 20 seeds once gave a factor of 2."""
    gains = []
    for seed in range(4):
        best = []
        for sampler in (OfAllTrials(seed), BoppSampler(seed)):
            study = study_of(sampler=sampler)
            study.optimize(nested, n_trials=30)
            best.append(study.best_value)
        gains.append(math.log10(best[0] / best[1]))
    assert np.mean(gains) > 0.15


def test_a_trial_that_has_all_that_applies_is_not_waited_for() -> None:
    study = study_of(sampler=BoppSampler())
    study.optimize(nested, n_trials=12)
    space = study.sampler.infer_relative_search_space(study, numbered(99))
    search = bridge._Search.of(study, space, bridge._branches(study.trials, space))
    assert {"x", "model", "depth", "leaf", "optimizer", "rate", "layers"} <= space.keys()
    for trial in study.trials:
        assert not search.lacks(trial)
        half = copy.deepcopy(trial)
        half.params.pop("depth" if "depth" in half.params else "x")
        assert search.lacks(half)


def test_a_failed_trial_counts_though_it_has_a_parameter_where_none_was_complete() -> None:
    c = CategoricalDistribution(["a", "b", "c"])
    both: Distributions = {"c": c, "x": FloatDistribution(0.0, 1.0)}
    trials = [done({"c": "a", "x": 0.5}, 1.0, both), done({"c": "b"}, 2.0, {"c": c})]
    failed = create_trial(params={"c": "c", "x": 0.25}, distributions=both, state=TrialState.FAIL)
    study = study_of(*trials, failed)
    whens = bridge._branches(study.trials, both)
    assert whens == {"c": None, "x": {"c": ["a"]}}
    points = bridge._Search.of(study, both, whens).points(study.trials)
    assert [point.trial.state for point in points] == ["done", "done", "failed"]
    assert points[2].trial.params == {"c": "c"}


def test_a_branch_with_a_value_out_of_range_does_not_end_the_study() -> None:
    study = study_of()
    study.optimize(nested, n_trials=6)
    study.enqueue_trial({"model": "net", "layers": 7, "width1": 3.0})
    study.optimize(nested, n_trials=4)
    assert all(trial.state is TrialState.COMPLETE for trial in study.trials)


def test_a_parameter_whose_range_changed_is_drawn_within_its_new_range() -> None:
    study = study_of(done({"x": 0.5}, 1.0), done({"x": 9.0}, 1.0, {"x": FloatDistribution(8.0, 10.0)}))
    assert study.sampler.infer_relative_search_space(study, study.trials[0]) == {}
    drawn = [study.ask().suggest_float("x", 3.0, 4.0) for _ in range(20)]
    assert all(3.0 <= x <= 4.0 for x in drawn)
    assert len(set(drawn)) == 20


def test_independent_draws_follow_from_seed_number_and_name() -> None:
    def drawn(seed: int, number: int, name: str) -> float:
        study = study_of(sampler=BoppSampler(seed))
        return float(study.sampler.sample_independent(study, numbered(number), name, UNIT["x"]))

    assert drawn(1, 2, "x") == drawn(1, 2, "x")
    assert len({drawn(1, 2, "x"), drawn(2, 2, "x"), drawn(1, 3, "x"), drawn(1, 2, "y")}) == 4


@pytest.mark.parametrize(
    "distribution",
    [IntDistribution(1, 3), FloatDistribution(0.0, 1.0, step=0.5), CategoricalDistribution([16, 32, 64])],
)
def test_an_independent_draw_is_as_likely_for_one_value_as_for_another(distribution: Any) -> None:
    study = study_of()
    drawn = Counter(
        study.sampler.sample_independent(study, numbered(n), "n", distribution) for n in range(600)
    )
    assert len(drawn) == 3
    assert all(150 < count < 250 for count in drawn.values())  # 200 and more than four deviations


@pytest.mark.parametrize(
    "distribution",
    [
        *(IntDistribution(-(10**15), 10**15), IntDistribution(1, 10**15, log=True)),
        *(FloatDistribution(-1e308, 1e308), FloatDistribution(1e-300, 1e300, log=True)),
        *(FloatDistribution(5e-324, 1e-320, log=True), FloatDistribution(1.0, 1.0 + 1e-15)),
    ],
    ids=repr,
)
def test_ranges_of_any_width_are_searched_in_plain_types(distribution: BaseDistribution) -> None:
    plain = int if isinstance(distribution, IntDistribution) else float
    study = study_of()
    for number in range(8):
        trial = study.ask({"n": distribution})
        assert type(trial.params["n"]) is plain
        assert contains(distribution, trial.params["n"])
        study.tell(trial, float(number % 3))


def test_parameters_of_one_value_keep_it_and_stay_out_of_the_model() -> None:
    fixed: Distributions = {
        "a": FloatDistribution(2.0, 2.0),
        "b": FloatDistribution(0.0, 0.0, step=0.5),
        "c": IntDistribution(7, 7, log=True),
        "d": IntDistribution(1, 1, step=5),
        "e": CategoricalDistribution(["only"]),
    }
    values = {"a": 2.0, "b": 0.0, "c": 7, "d": 1, "e": "only"}
    study, plain = (grown({**more, **UNIT}, lambda params: params["x"], 7) for more in (fixed, {}))
    assert params_of(study) == [{**values, **params} for params in params_of(plain)]
    for name, value in values.items():
        assert study.sampler.sample_independent(study, numbered(0), name, fixed[name]) == value


def test_a_parameter_may_have_any_name() -> None:
    study = study_of()
    names = ["", "a/b", "🙂", "x y\n", "import"]
    study.optimize(lambda trial: sum(trial.suggest_float(name, -1.0, 1.0) for name in names), n_trials=7)
    assert [sorted(params) for params in params_of(study)] == [sorted(names)] * 7


@pytest.mark.parametrize(
    ("distribution", "value", "counts"),
    [
        (FloatDistribution(0.0, 1.0), 0.625, True),
        (FloatDistribution(0.0, 1e6, step=0.01), 1e6, True),  # the top of a long grid
        *((FloatDistribution(0.0, 1.0), value, False) for value in (7.0, math.inf)),
        *((FloatDistribution(0.0, 1.0, step=0.25), value, False) for value in (1.25, 0.3, math.inf)),
        (IntDistribution(0, 10), 11, False),
        (IntDistribution(0, 10, step=5), 15, False),
    ],
)
def test_an_enqueued_value_is_run_and_counts_if_it_is_in_range(
    distribution: BaseDistribution, value: float, counts: bool
) -> None:
    sampler, witness = witnessed()
    study = study_of(sampler=sampler)
    study.enqueue_trial({"x": value})
    tried = advance(study, {"x": distribution}, lambda params: 1.0, 4)
    assert tried[0] == {"x": value}
    assert all(contains(distribution, params["x"]) for params in tried[1:])
    assert len(witness.seen[-1].data) == 2 + counts


def test_a_half_enqueued_trial_gets_its_other_half_from_the_sampler() -> None:
    expected = grown(SQUARE, bowl, 6).ask(SQUARE).params["y"]
    study = grown(SQUARE, bowl, 6)
    study.enqueue_trial({"x": 0.125})
    assert study.ask(SQUARE).params == {"x": 0.125, "y": expected}


def test_a_partly_fixed_sampler_models_the_parameters_that_are_left() -> None:
    study = grown(SQUARE, bowl, 6)
    study.sampler = PartialFixedSampler({"y": 0.5}, BoppSampler())
    tried = advance(study, SQUARE, bowl, 6)
    assert {params["y"] for params in tried} == {0.5}
    assert len({params["x"] for params in tried}) == 6

    y: Distributions = {"y": FloatDistribution(0.0, 1.0)}
    others = [done({"y": params["y"]}, bowl(params), y) for params in params_of(grown(SQUARE, bowl, 6))]
    study = grown(SQUARE, bowl, 6)
    study.sampler = PartialFixedSampler({"x": 0.5}, BoppSampler())
    assert study.ask(SQUARE).params["y"] == study_of(*others).ask(y).params["y"]


@pytest.mark.parametrize(
    "pruner", [optuna.pruners.MedianPruner(3), optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9)]
)
def test_a_pruner_works_with_the_sampler(pruner: optuna.pruners.BasePruner) -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        for step in range(9):
            trial.report((x - 0.3) ** 2 + 1 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return (x - 0.3) ** 2

    study = optuna.create_study(sampler=BoppSampler(), pruner=pruner)
    study.optimize(objective, n_trials=5)
    study.enqueue_trial({"x": 1.0})  # worse than all others: something to prune
    study.optimize(objective, n_trials=11)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE, TrialState.PRUNED}
    assert study.best_value < 0.01


@pytest.mark.parametrize("error", [ZeroDivisionError, optuna.TrialPruned])
@pytest.mark.parametrize("fails", [lambda x, number: x > 6 or number == 3, lambda x, number: True])
def test_no_point_is_tried_again_whether_it_fails_is_pruned_or_has_a_value(
    error: type[Exception], fails: Callable[[int, int], bool]
) -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_int("x", 0, 9)
        if fails(x, trial.number):
            raise error
        return float(x)

    begun = [] if error is optuna.TrialPruned else [done({"x": 5}, 5.0, {"x": IntDistribution(0, 9)})]
    study = study_of(*begun)
    study.optimize(objective, n_trials=10 - len(begun), catch=ZeroDivisionError)
    assert sorted(params["x"] for params in params_of(study)) == list(range(10))


def test_trials_of_another_sampler_and_parameters_of_every_kind_are_learnt_from() -> None:
    theirs: Distributions = {
        "batch": CategoricalDistribution([16, 32, 64]),
        "layers": IntDistribution(0, 20, step=2),
        "width": IntDistribution(1, 1000, log=True),
    }
    space: Any = {
        "batch": Choice([16, 32, 64], ordered=True),
        "layers": Int(0, 10),
        "width": Int(1, 1000, log=True),
    }
    study, optimizer = study_of(sampler=TPESampler(seed=0)), bopp.Optimizer(space)
    for params in advance(
        study, theirs, lambda params: params["batch"] + params["width"] + params["layers"], 8
    ):
        value = params["batch"] + params["width"] + params["layers"]
        optimizer.observe({**params, "layers": params["layers"] // 2}, value)
    study.sampler = BoppSampler()
    found = study.ask(theirs).params
    assert {**found, "layers": found["layers"] // 2} == optimizer.ask().params


def test_knowledge_is_in_values_of_optuna_where_there_are_steps_or_options_of_any_kind() -> None:
    space: Distributions = {
        "place": FloatDistribution(1.0, 3.0, step=0.5),
        "choice": CategoricalDistribution([1, 1.5, math.inf]),
    }
    guess = Guesses(near={"place": 2.5, "choice": math.inf})
    rows = [({"place": place, "choice": math.inf}, place) for place in (1.0, 1.5, 2.0, 3.0)]
    for knowledge in (guess, Cheap(rows), earlier(study_of(*(done(p, v, space) for p, v in rows)))):
        study = study_of(sampler=BoppSampler(knowledge=[Limits(at_least=0.0), knowledge]))
        advance(study, space, lambda params: params["place"], 7)
        assert len({repr(params) for params in params_of(study)}) == 7


@pytest.mark.parametrize("within", [False, True], ids=["knowledge", "recipe"])
def test_what_does_not_fit_yet_is_left_out_until_it_does(within: bool) -> None:
    """The second parameter is there from the third trial on; sources of a recipe count as knowledge."""
    knowledge = [Guesses(near={"x": 0.9, "y": 0.9}), Limits(at_least=0.0)]
    recipe = Recipe(pseudo=Recipe().pseudo + knowledge[0] + knowledge[1])
    sampler = BoppSampler(recipe=recipe) if within else BoppSampler(knowledge=knowledge)
    study, limited = study_of(sampler=sampler), study_of(sampler=BoppSampler(knowledge=knowledge[1:]))
    advance(study, UNIT, lambda params: params["x"], 1)
    with pytest.warns(UserWarning, match=r"leaves out Guesses.*\['x'\]"):
        study.ask(UNIT)
    advance(limited, UNIT, lambda params: params["x"], 1)
    assert limited.ask(UNIT).params == study.trials[-1].params

    both = [done({"x": x, "y": x}, x, SQUARE) for x in (0.1, 0.2, 0.4, 0.5, 0.7, 0.8)]
    optimizer = bopp.Optimizer({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, knowledge=knowledge)
    for trial in both:
        optimizer.observe(trial.params, trial.value)
    assert study_of(*both, sampler=sampler).ask(SQUARE).params == optimizer.ask().params


def test_branches_take_knowledge_once_they_are_understood() -> None:
    sampler = BoppSampler(seed=1, knowledge=Guesses(near={"depth": 0.8}))
    study = study_of(sampler=sampler)
    for _ in range(2):
        study.enqueue_trial({"kind": "flat"})

    def branched(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if trial.suggest_categorical("kind", ["flat", "deep"]) == "flat":
            return x
        return x + abs(trial.suggest_float("depth", 0, 1) - 0.8) - 0.5

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study.optimize(branched, n_trials=25)
    left_out = [one for one in caught if "leaves out Guesses" in str(one.message)]
    assert 0 < len(left_out) < 10
    assert abs(study.best_params["depth"] - 0.8) < 0.1


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_an_earlier_study_is_its_complete_trials(direction: Direction) -> None:
    study = study_of(
        done({"x": 0.5}, 1.0),
        done({"x": 0.6}, math.inf),
        create_trial(state=TrialState.FAIL),
        create_trial(state=TrialState.PRUNED, params={"x": 0.7}, distributions=UNIT, value=3.0),
        done({"x": 0.8, "y": 0.1}, 2.0, SQUARE),
        direction=direction,
    )
    rows = [({"x": 0.5}, 1.0), ({"x": 0.8, "y": 0.1}, 2.0)]
    assert earlier(study, trust=0.5) == Earlier([(direction, rows)], trust=0.5)
    assert earlier(study, study) == Earlier([(direction, rows)] * 2)


@pytest.mark.parametrize(("studies", "words"), [((), "none"), (("name",), "'name'"), ((2,), "one objective")])
def test_what_is_no_earlier_study_is_named(studies: Any, words: str) -> None:
    given = [optuna.create_study(directions=["minimize"] * 2) if one == 2 else one for one in studies]
    with pytest.raises(BoppError, match=words):
        earlier(*given)


def test_only_public_names_of_optuna_are_used() -> None:
    nodes = [*ast.walk(ast.parse(Path(bridge.__file__).read_text()))]
    own = {f"self.{node.name}" for node in nodes if isinstance(node, ast.FunctionDef)}
    names = [
        alias.name for node in nodes for alias in getattr(node, "names", []) if isinstance(alias, ast.alias)
    ]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    names += [node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node) not in own]
    names += [str(node.value) for node in nodes if isinstance(node, ast.Constant)]  # of getattr
    parts = [part for name in names for part in name.split(".")]
    assert "optuna" in parts
    assert [part for part in parts if part.startswith("_") and part != "__future__"] == []
