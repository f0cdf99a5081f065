from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from bopp import Float, Optimizer, Problem, Result, Trial
from bopp.errors import NoResultError
from bopp.view.timeline import COLOURS, Bar, timeline
from support.figures import dots_of, legend_of, run_of

BEGAN = datetime(2025, 5, 1, 9, 30, tzinfo=UTC)


def trial_of(
    number: int, start: float | None, end: float | None, worker: str | None = None, **more: Any
) -> Trial:
    """A trial that was asked for and told so many seconds after the beginning."""
    asked, told = (None if time is None else BEGAN + timedelta(seconds=time) for time in (start, end))
    state = more.pop("state", "asked" if end is None else "done")
    values = {"value": 1.0} if state == "done" else {}
    return Trial(number, {"x": 0.5}, state, values, asked_at=asked, told_at=told, worker=worker, **more)


def result_of(*trials: Trial) -> Result:
    return Result(Problem({"x": Float(0, 1)}), trials)


def test_a_row_for_each_worker_and_a_bar_for_each_trial() -> None:
    shown = timeline(
        result_of(
            trial_of(0, 1.0, 4.0, "host/7/a-1"),
            trial_of(1, 0.0, 2.5, "host/12/a-2"),
            trial_of(2, 3.0, 9.0, "host/12/a-2", state="failed"),
            trial_of(3, 5.0, None, "host/7/a-1"),
        )
    )
    assert shown.began == BEGAN
    assert shown.rows == ("host/12", "host/7")
    assert shown.bars == (
        Bar(0, 1, 1.0, 4.0, "done"),
        Bar(1, 0, 0.0, 2.5, "done"),
        Bar(2, 0, 3.0, 9.0, "failed"),
        Bar(3, 1, 5.0, 9.0, "asked"),  # under way: until the last thing that is known
    )


def test_trials_at_the_same_time_lie_in_rows_of_their_own() -> None:
    """In memory nobody knows which worker it was."""
    shown = timeline(result_of(*(trial_of(i, start, start + 2.5) for i, start in enumerate((0, 1, 2, 3, 4)))))
    assert shown.rows == ("", "", "")
    assert [bar.row for bar in shown.bars] == [0, 1, 2, 0, 1]


def test_what_has_no_time_or_was_not_asked_for_here_is_left_out() -> None:
    trials = (
        trial_of(0, None, None, state="done"),
        trial_of(1, 1.0, 1.0, origin="observed"),
        trial_of(2, 2.0, None, state="dropped"),
    )
    with pytest.raises(NoResultError, match="got none in 3 trials"):
        timeline(result_of(*trials))
    assert [bar.number for bar in timeline(result_of(*trials, trial_of(3, 4.0, 5.0))).bars] == [3]
    with pytest.raises(NoResultError, match="got none in 0 trials"):
        timeline(result_of())


def test_of_an_optimizer_and_of_several_objectives() -> None:
    opt = Optimizer(Problem({"x": Float(0, 1)}, {"error": "minimize", "time": "minimize"}))
    opt.enqueue({"x": 0.5})
    opt.tell(opt.ask(), {"error": 1.0, "time": 2.0})
    (bar,) = timeline(opt.result).bars
    assert bar.end >= bar.start == 0.0


def bars_of(axes: Axes) -> dict[str, list[list[float]]]:
    """Left, right, bottom and top of the bars of each state."""
    found = {}
    for row in axes.collections:
        if row.get_label() != "best":
            boxes = [path.get_extents() for path in row.get_paths()]
            found[str(row.get_label())] = [[box.x0, box.x1, box.y0, box.y1] for box in boxes]
    return found


def test_a_timeline_has_a_bar_for_each_trial_in_the_row_of_its_worker() -> None:
    trials = (
        trial_of(0, 0, 60, "a/1/x"),
        trial_of(1, 0, 200, "b/2/y", state="failed"),
        trial_of(2, 70, None, "a/1/x"),
    )
    figure = result_of(*trials).plot_timeline()
    (axes,) = figure.axes
    bars = bars_of(axes)
    np.testing.assert_allclose(bars["done"], [[0, 1, -0.4, 0.4]])
    np.testing.assert_allclose(bars["failed"], [[0, 200 / 60, 0.6, 1.4]])
    np.testing.assert_allclose(bars["under way"], [[70 / 60, 200 / 60, -0.4, 0.4]])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a/1", "b/2"]
    assert axes.get_xlabel() == "minutes since 2025-05-01 09:30:00 UTC"
    assert axes.yaxis_inverted()
    assert dots_of(axes, "best").tolist() == [[0.5, 0.0]]
    assert set(legend_of(figure)) == {"done", "failed", "under way", "best"}
    assert len(COLOURS) == len(set(COLOURS.values()))


def test_a_timeline_in_memory_has_no_names_but_rows() -> None:
    (axes,) = run_of({"x": Float(0, 1)}, [3.0, None, 1.0, 2.0, 0.5]).plot_timeline().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["this process"]
    assert sum(map(len, bars_of(axes).values())) == 5
