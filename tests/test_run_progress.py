import math
import re
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bopp import AtMost, Float, Optimizer, Problem, Result, maximize, minimize, notebook
from bopp.run.progress import OFTEN, Meter, failures, found, meter, spent


def result_of(*values: float | None) -> Result:
    opt = Optimizer({"x": Float(0, 1)})
    for value in values:
        opt.tell(opt.ask(), value)
    return opt.result


def tell(show: Meter, *values: float | None) -> None:
    result = result_of(*values)
    show.told(result.trials[-1], result)


def interrupt(params: dict[str, Any]) -> float:
    raise KeyboardInterrupt


def test_the_bar_tells_the_count_the_best_and_the_pace(capsys: pytest.CaptureFixture[str]) -> None:
    with meter(5, True) as show:
        for seconds, values in ((0.1, (3.25,)), (0.3, (3.25, 0.125)), (0.8, (3.25, 0.125, 0.0))):
            show.suggested(seconds)
            tell(show, *values)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "3/5" in shown.err
    assert "best 0 in trial 2" in shown.err
    assert "0.400 s a suggestion" in shown.err  # the mean


def test_the_bar_waits_for_a_first_value(capsys: pytest.CaptureFixture[str]) -> None:
    with meter(2, True) as show:
        tell(show, None)
    shown = capsys.readouterr().err
    assert "none yet" in shown
    assert "1/2" in shown


def test_the_bar_counts_failures_of_this_run(capsys: pytest.CaptureFixture[str]) -> None:
    optimizer = Optimizer({"x": Float(0, 1)})
    optimizer.observe({"x": 0.5}, None)  # elsewhere: it costs nothing here
    optimizer.tell(optimizer.ask(), 1.0)
    with meter(5, True) as show:
        show.told(optimizer.trials[-1], optimizer.result)
    assert "failed" not in capsys.readouterr().err
    for _ in range(3):
        optimizer.tell(optimizer.ask(), None)
    dropped = replace(optimizer.trials[1], number=5).dropped(datetime.now(UTC), "wrong")
    result = Result(optimizer.problem, (*optimizer.trials, dropped))
    assert (spent(result), failures(result)) == (4, 3)
    with meter(5, True) as show:
        show.told(result.trials[-1], result)
    shown = capsys.readouterr().err
    assert "best 1 in trial 1, 3 failed" in shown
    assert "4/5" in shown


def test_silence_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with meter(2, False) as show:
        show.suggested(0.25)
        tell(show, 1.0)
        show.interrupted()
    assert capsys.readouterr() == ("", "")


def test_a_pause_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    with meter(2, True) as show:
        show.paused("since 14:03 ([red]why[/red])")
        show.paused(None)
    line = "paused since 14:03 ([red]why[/red]); to go on: study.resume(), or bopp resume"
    assert capsys.readouterr().err.count(line) == 1
    with meter(2, False) as show:
        show.paused("since 14:03")
    assert capsys.readouterr() == ("", "")


def test_no_thread_runs_beside_the_bar() -> None:
    """Processes are forked while it is up: a lock that another thread holds would stay shut in them."""
    before = threading.active_count()
    with meter(2, True) as show:
        show.suggested(0.1)
        assert threading.active_count() == before


def test_an_error_passes_through_the_bar() -> None:
    with pytest.raises(ZeroDivisionError), meter(2, True):
        1 / 0  # noqa: B018


@pytest.mark.parametrize("run", [minimize, maximize])
def test_a_run_reports_on_the_error_stream_alone(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(lambda params: params["x"] and 0.5, {"x": Float(0, 1)}, budget=3)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "3/3" in shown.err
    assert "best 0.5" in shown.err
    assert re.search(r"\d\.\d{3} s a suggestion", shown.err)
    run(lambda params: math.nan, {"x": Float(0, 1)}, budget=3, progress=False)
    assert capsys.readouterr() == ("", "")


def test_ctrl_c_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    result = minimize(interrupt, {"x": Float(0, 1)}, budget=3)
    assert [trial.state for trial in result.trials] == ["asked"]
    assert "Interrupted" in capsys.readouterr().err
    minimize(interrupt, {"x": Float(0, 1)}, budget=3, progress=False)
    assert capsys.readouterr() == ("", "")


class Cell:
    """What a notebook shows below a cell, as IPython's `display` and the handle that it returns."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def __call__(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> "Cell":
        assert display_id
        self.update(bundle, raw=raw)
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(bundle["text/plain"])


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A notebook that this process seems to run in; test_notebook.py has a real one."""
    cell = Cell()
    monkeypatch.setattr(notebook, "display", lambda: cell)
    return cell


def test_a_notebook_gets_one_line_that_is_replaced(cell: Cell, capsys: pytest.CaptureFixture[str]) -> None:
    before = threading.active_count()
    with meter(8, True) as show:
        assert threading.active_count() == before
        assert cell.shown == ["─" * 20 + " 0/8  best none yet  - s a suggestion"]
        for values in ((3.25,), (3.25, None), (3.25, None, None, 0.125)):
            show.suggested(0.25)
            tell(show, *values)
    assert capsys.readouterr() == ("", "")
    wanted = "━" * 10 + "─" * 10 + " 4/8  best 0.125 in trial 3, 2 failed  0.250 s a suggestion  about 0:"
    assert cell.shown[-1].startswith(wanted)
    assert cell.shown[-1].endswith(" left")


def test_a_notebook_is_not_flooded(cell: Cell) -> None:
    result = result_of(1.0)
    began = time.monotonic()
    with meter(8, True) as show:
        for _ in range(1000):
            show.told(result.trials[-1], result)
    assert len(cell.shown) <= 3 + (time.monotonic() - began) / OFTEN


def test_a_notebook_is_told_of_an_interrupt_a_pause_and_of_what_came_late(
    cell: Cell, capsys: pytest.CaptureFixture[str]
) -> None:
    minimize(interrupt, {"x": Float(0, 1)}, budget=3)
    assert "Interrupted" in capsys.readouterr().err
    with meter(2, True) as show:
        show.dropped("somebody else told it")
        show.paused("since 14:03")
        show.paused(None)
        tell(show, 1.0)
    told = "somebody else told it\npaused since 14:03; to go on: study.resume(), or bopp resume\n"
    assert capsys.readouterr().err == told
    assert "1/2" in cell.shown[-1]  # the last line is true


def test_several_objectives_have_a_front(capsys: pytest.CaptureFixture[str]) -> None:
    problem = Problem({"x": Float(0, 1)}, {"error": "minimize", "speed": "maximize"}, [AtMost("memory", 8.0)])
    opt = Optimizer(problem)
    assert found(opt.result) == "front of 0"
    for error, memory in ((1.0, 9.0), (2.0, 8.0), (3.0, 7.0), (3.0, 1.0)):
        opt.tell(opt.ask(), {"error": error, "speed": error, "memory": memory})
    opt.fail(opt.ask(), "no power")
    assert found(opt.result) == "front of 3, 1 failed"
    with meter(9, True, found(opt.result)):
        pass
    assert "front of 3, 1 failed" in capsys.readouterr().err
