"""The columns in which a dashboard keeps trials say the same as the trials themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bopp import Problem, Result, Trial
from bopp.dashboard.trial_columns import LONGEST_REMARK, STATES, TrialColumns, thinned
from bopp.errors import BoppError, NoResultError
from bopp.legible import cut, one_line
from bopp.view.convergence import convergence
from bopp.view.values import best_of, broken_by, ranked, remark, summary
from support.courses import PROBLEMS, final, walk

SEEDS = st.integers(0, 2**32)
STEPS = st.sampled_from([80, 20, 3, 0])
FEW = settings(max_examples=4)  # of every kind
every_kind = pytest.mark.parametrize("kind", sorted(PROBLEMS))


def read(kind: str, seed: int, steps: int, strays: bool) -> tuple[Result, TrialColumns]:
    """Some trials and their columns."""
    problem = PROBLEMS[kind]
    result = Result(problem, final(walk(problem, steps, seed, strays)))
    return result, columns_of(problem, result.trials)


def columns_of(problem: Problem, trials: Any) -> TrialColumns:
    return TrialColumns.empty(problem).after(list(trials))


def front_of(result: Result) -> list[int]:
    try:
        return [trial.number for trial in result.front]
    except NoResultError:
        return []


@every_kind
@FEW
@given(seed=SEEDS, steps=STEPS, strays=st.booleans())
def test_the_best_and_the_front_are_those_of_the_result(
    kind: str, seed: int, steps: int, strays: bool
) -> None:
    result, columns = read(kind, seed, steps, strays)
    if len(result.problem.objectives) == 1:
        best = best_of(result)
        assert columns.best == (None if best is None else best.number)
    else:
        assert columns.best is None
        assert columns.front == front_of(result)
    counts = [str(columns.count(state)) for state in ("done", "failed", "asked")]
    assert (*counts, columns.finding) == summary(result)  # as bopp status says
    assert sum(columns.count(state) for state in STATES) == len(result.trials) == len(columns)
    try:
        shown = convergence(result)
    except BoppError:  # nothing is finished, or there are several objectives
        return
    np.testing.assert_array_equal(columns.best_so_far()[shown.numbers], shown.best)
    np.testing.assert_array_equal(columns.rows["broken"][shown.numbers], shown.broken)


@every_kind
@FEW
@given(
    seed=SEEDS, steps=STEPS, state=st.sampled_from(["", *STATES, "unread", "nonsense"]), broken=st.booleans()
)
def test_trials_are_filtered_by_state_words_and_constraints(
    kind: str, seed: int, steps: int, state: str, broken: bool
) -> None:
    result, columns = read(kind, seed, steps, strays=True)
    problem, trials = result.problem, result.trials
    breaking = [trial.number for trial in trials if broken_by(problem, trial)]
    assert columns.chosen(broken=True).tolist() == breaking
    assert columns.breaking == [
        sum(bool(alone.broken(trial)) for trial in trials if trial.state == "done")
        for alone in (Problem(problem.space, problem.objectives, [limit]) for limit in problem.limits)
    ]
    for text in ("", "NOTE 3", "<wrong>", "memory", "was none", "zzz"):
        expected = [
            trial.number
            for trial in trials
            if (not state or trial.state == state)
            and (not broken or trial.number in breaking)
            and text.casefold() in cut(one_line(remark(problem, trial)), LONGEST_REMARK).casefold()
        ]
        assert columns.chosen(state, text, broken).tolist() == expected


def param_key(problem: Problem, name: str, trial: Trial) -> float | None:
    if name not in trial.params:
        return None
    parameter, value = problem.space.parameters[name], trial.params[name]
    return float(value) if parameter.numeric else parameter.place(value)


def in_order(trials: tuple[Trial, ...], key: Any, falling: bool) -> list[int]:
    """The numbers by a key; those without come last, and equal ones in their order."""
    there = [trial for trial in trials if key(trial) is not None]
    rest = [trial for trial in trials if key(trial) is None]
    return [trial.number for trial in (*sorted(there, key=key, reverse=falling), *rest)]


@every_kind
@FEW
@given(seed=SEEDS, steps=STEPS, falling=st.booleans())
def test_trials_are_put_in_order_as_sorted_does(kind: str, seed: int, steps: int, falling: bool) -> None:
    result, columns = read(kind, seed, steps, strays=False)
    problem, trials = result.problem, result.trials
    keys: dict[str, Any] = {
        "number": lambda trial: trial.number,
        "state": lambda trial: STATES.index(trial.state),
    }
    for name in problem.names:
        keys[f"value:{name}"] = lambda trial, name=name: trial.values.get(name)
    for name in problem.space.parameters:
        keys[f"param:{name}"] = lambda trial, name=name: param_key(problem, name, trial)
    for by in ("", "value:", "value:x", "param:value", "__class__", "value", "param:x:y", "\x00"):
        keys[by] = keys["number"]  # what nobody has is taken for that
    for by, key in keys.items():
        found = columns.ordered(columns.chosen(), by, falling).tolist()
        assert found == in_order(trials, key, falling), by
    for name in problem.objectives:
        done = [trial for trial in trials if trial.values.get(name) is not None]
        by_rank = columns.ranked(name).tolist()
        assert sorted(by_rank) == [trial.number for trial in done]
        if len(problem.objectives) == 1 and best_of(result) is not None:
            assert by_rank == [trial.number for trial in ranked(result, done)]
    assert columns.ranked().tolist() == columns.ranked(next(iter(problem.objectives))).tolist()


def contents(columns: TrialColumns) -> dict[str, Any]:
    """What is held, as plain values that can be compared, which NaN cannot."""
    rows = columns.rows
    plain = {name: np.nan_to_num(rows[name], nan=1e300).tolist() for name in rows.dtype.names or ()}
    return {**plain, "remarks": {number: text for number, text in columns.remarks.items() if text}}


@every_kind
@FEW
@given(seed=SEEDS, steps=STEPS, cuts=st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_however_changes_are_split_the_columns_are_the_same(
    kind: str, seed: int, steps: int, cuts: list[float]
) -> None:
    problem = PROBLEMS[kind]
    changes = walk(problem, steps, seed, strays=True)
    places = sorted(int(cut * len(changes)) for cut in cuts)
    rng = np.random.default_rng(seed)
    columns = TrialColumns.empty(problem)
    for first, last in zip([0, *places], [*places, len(changes)], strict=True):
        latest = {trial.number: trial for trial in changes[first:last]}  # a look has each trial once
        batch = [list(latest.values())[i] for i in rng.permutation(len(latest))]
        before = contents(columns)
        later = columns.after(batch)
        assert contents(columns) == before
        columns = later
    whole = columns_of(problem, final(changes))
    assert contents(columns) == contents(whole)
    assert columns.finding == whole.finding


def test_trials_that_were_not_read_yet_are_nowhere() -> None:
    columns = columns_of(PROBLEMS["limited"], [Trial(3, {"x": 0.1, "n": 2, "kind": None, "always": "oak"})])
    assert len(columns) == 4
    assert columns.chosen().tolist() == [3]
    assert columns.chosen("unread").tolist() == []
    assert (columns.best, columns.front, columns.ranked().tolist()) == (None, [], [])


@given(st.lists(st.integers(-5, 5), max_size=400), st.integers(2, 60))
def test_thinned_numbers_are_few_and_have_the_ends_of_every_stretch(heights: list[int], most: int) -> None:
    numbers = 3 * np.arange(len(heights), dtype=np.intp)
    values = np.array(heights, dtype=np.float64)
    found = thinned(numbers, values, most)
    assert len(found) <= most or len(heights) <= most
    assert found.tolist() == sorted(set(found.tolist()) & set(numbers.tolist()))
    if len(heights) <= most:
        assert found.tolist() == numbers.tolist()
        return
    length = -(-len(heights) // (most // 2))
    kept = dict(zip(found.tolist(), values[found // 3].tolist(), strict=True))
    for first in range(0, len(heights), length):
        stretch = heights[first : first + length]
        there = [height for number, height in kept.items() if first <= number // 3 < first + length]
        assert (min(there), max(there)) == (min(stretch), max(stretch))


@pytest.mark.parametrize("count", [8001, 20_000, 39_999])
def test_a_chart_of_many_trials_has_at_most_as_many_points_as_asked_for(count: int) -> None:
    heights = np.random.default_rng(count).normal(size=count)
    found = thinned(np.arange(count), heights, 4000)
    assert 2000 < len(found) <= 4000
    assert {int(heights.argmin()), int(heights.argmax())} <= set(found.tolist())
