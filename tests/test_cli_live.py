import io
import multiprocessing
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.live import Live

from bopp import AtMost, Choice, Float, Optimizer, Params, Problem, Result, Trial
from bopp.called import Objective
from bopp.cli.live import SHOWN, Lines, Screen, Unbroken, live
from bopp.legible import one_line
from bopp.run.progress import Meter

HOSTILE = "no [red]good[/red] [/b] \x1b[2J\x1b]0;x\x07\r\n\x00second"


def optimizer(*values: float | str | None, observed: int = 0) -> Optimizer:
    opt = Optimizer({"x": Float(0, 1), "name": Choice(["[red]", "\x1b[2J"])})
    for _ in range(observed):
        opt.observe({"x": 0.5, "name": "[red]"}, 9.0)
    for value in values:
        trial = opt.ask()
        if isinstance(value, str):
            opt.fail(trial, value)
        elif value is not None:
            opt.tell(trial, value)
    return opt


def told(show: Meter, result: Result, number: int = -1) -> None:
    show.told(result.trials[number], result)


def drawn(*results: Result, budget: int | None = 10, name: str = "a study", **said: str | None) -> str:
    """What is on the screen after these results, and after what was said besides."""
    with Live(console=Console(file=io.StringIO()), auto_refresh=False) as screen:
        show = Screen(name, budget, screen, optimizer().result, "bopp resume 'a b.toml'")
        show.suggested(0.1)
        for result in results:
            told(show, result)
        if "dropped" in said:
            show.dropped(str(said["dropped"]))
        if "paused" in said:
            show.paused("since 13:00")
            show.paused(said["paused"])
        show.waiting()
    paper = Console(file=io.StringIO(), force_terminal=True, width=300)
    with paper.capture() as capture:
        paper.print(screen.renderable)
    return re.sub(r"\x1b\[[0-9;]*m", "", capture.get())  # without our own colors


def test_a_line_for_each_trial(capsys: pytest.CaptureFixture[str]) -> None:
    show = Lines(5)
    for values in ((3.25,), (3.25, "it broke"), (3.25, "it broke", 0.1 + 0.2)):
        show.suggested(0.1)
        show.waiting()
        told(show, optimizer(*values).result)
    show.dropped("trial 3 went\nelsewhere")
    show.paused("since 14:03 (why\nnot)")
    show.paused(None)
    show.interrupted()
    told(Lines(None), optimizer("why").result)
    told(Lines(2), optimizer(HOSTILE).result)
    told(Lines(2), optimizer(1.0, observed=3).result)  # trials from elsewhere do not count
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "1 of 5: trial 0 3.25; best 3.25 in trial 0",
        "2 of 5: trial 1 failed: it broke; best 3.25 in trial 0",
        "3 of 5: trial 2 0.3; best 0.3 in trial 2",
        "trial 3 went elsewhere",
        "paused since 14:03 (why not); to go on: bopp resume",
        "1: trial 0 failed: why; no best yet",
        f"1 of 2: trial 0 failed: {one_line(HOSTILE)}; no best yet",
        "1 of 2: trial 3 1; best 1 in trial 3",
    ]
    assert "\x1b" not in shown.err


def test_without_a_terminal_there_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with live("name", 3, optimizer().result) as show:
        told(show, optimizer(1.0).result)
    assert capsys.readouterr() == ("", "1 of 3: trial 0 1; best 1 in trial 0\n")


def test_on_a_terminal_there_is_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with live("name", 3, optimizer().result) as show:
        assert isinstance(show, Screen)
        told(show, optimizer(1.5).result)
        print("of the objective")
    shown = capsys.readouterr()
    assert shown.out == "of the objective\n"
    assert "1 of 3" in shown.err
    assert "1.5" in shown.err


def test_the_screen_shows_a_pause_while_it_lasts_and_why_something_was_dropped() -> None:
    assert "paused" not in drawn()
    line = f"since 14:03 ({one_line(HOSTILE)}); to go on: bopp resume 'a b.toml'"
    for since, wanted in ((f"since 14:03 ({HOSTILE})", True), (None, False)):
        shown = drawn(paused=since)
        assert (re.search("paused +" + re.escape(line), shown) is not None) == wanted
        assert "13:00" not in shown
    assert "trial 3 went to host/12/x" in drawn(dropped="trial 3 went\nto host/12/x")


WHOLE = (optimizer(3.0, "it broke", None).result, optimizer(3.0, "it broke", 0.25).result)


@pytest.mark.parametrize(
    ("results", "budget", "there", "missing"),
    [
        ((), 10, ["a study", "trials +0 of 10", "time ", "no best yet"], ["time left"]),
        (
            WHOLE,
            10,
            [
                *("trials +3 of 10", "running, failed +0, 1", r"best +0\.25 at x=0\.\d+, name="),
                *(r"time left +about \d:\d\d:\d\d", r"^2 +0\.25 *$"),
            ],
            ["no best yet"],
        ),
        (
            (optimizer("one").result, optimizer("one", "two").result),
            10,
            ["no best yet", "running, failed +0, 2", "^1 +failed: two *$"],
            [],
        ),
        ((optimizer(1.0).result,), None, ["trials +1 *$"], ["time left", "━"]),
        ((optimizer(*[1.0] * 12).result,), 1, ["12 of 1", "time left +about 0:00:00"], []),
        ((optimizer(*[1.0] * 12).result,), 10, ["12 of 10", "time left +about 0:00:00"], []),
    ],
    ids=["nothing", "results", "failures", "no budget", "beyond 1", "beyond 10"],
)
def test_the_screen(
    results: tuple[Result, ...], budget: int | None, there: list[str], missing: list[str]
) -> None:
    shown = drawn(*results, budget=budget)
    assert [line for line in there if not re.search(line, shown, re.MULTILINE)] == []
    assert [line for line in missing if line in shown] == []


def test_the_screen_shows_the_latest_alone() -> None:
    values = [float(step) for step in range(SHOWN + 3)]
    shown = drawn(*[optimizer(*values[: count + 1]).result for count in range(len(values))])
    numbers = re.findall(r"^(\d+) +\d+ *$", shown, re.MULTILINE)
    assert numbers == [str(step) for step in range(3, SHOWN + 3)]


def test_the_screen_shows_hostile_texts_as_they_are() -> None:
    best = Trial(0, {"x": 0.5, "name": "\x1b[2J"}, "done", {"value": 1.0})
    failed = Trial(1, {"x": 0.5, "name": "[red]"}, "failed", error=HOSTILE)
    result = Result(optimizer().problem, (best, failed))
    shown = drawn(result, name=HOSTILE, dropped=HOSTILE)
    assert not {"\x1b", "\x07", "\r", "\0"}.intersection(shown)
    assert shown.count(one_line(HOSTILE)) == 3
    assert r"name=\x1b[2J" in shown


def noisy(params: Params) -> float:
    os.write(1, b"printed\n")
    os.write(2, b"to the error stream\n")
    os.system("echo by a program")
    return float(params["x"])


def answer(objective: Objective, answers: Any) -> None:
    answers.put([objective({"x": 0.25}), objective({"x": 0.5})])


def in_a_process(objective: Objective) -> Any:
    """What the objective returns twice in one other process."""
    answers: Any = multiprocessing.SimpleQueue()
    process = multiprocessing.Process(target=answer, args=(objective, answers))
    process.start()
    found = answers.get()
    process.join()
    return found


def test_what_a_logged_objective_prints_is_in_the_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.log").write_text("before\n")
    assert in_a_process(Unbroken(noisy, tmp_path / "study.log")) == [0.25, 0.5]
    log = (tmp_path / "study.log").read_text()
    assert log.startswith("before\n")
    assert log.count("printed") == log.count("to the error stream") == log.count("by a program") == 2
    assert capfd.readouterr() == ("", "")


def test_a_log_that_cannot_be_written_is_no_failure_of_the_objective(tmp_path: Path) -> None:
    assert in_a_process(Unbroken(noisy, tmp_path / "nowhere" / "study.log")) == [0.25, 0.5]


def test_several_objectives_show_the_front_and_what_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    problem = Problem({"x": Float(0, 1)}, {"error": "minimize", "speed": "maximize"}, [AtMost("memory", 8.0)])
    opt = Optimizer(problem)
    for error, memory in ((1.0, 9.5), (2.0, 8.0)):
        opt.tell(opt.ask(), {"error": error, "speed": error, "memory": memory})
    told(Lines(9), opt.result, 0)
    told(Lines(None), opt.result, 1)
    assert capsys.readouterr().err.splitlines() == [
        "2 of 9: trial 0 error 1, speed 1, memory 9.5 (memory 9.5 > 8); front of 1",
        "2: trial 1 error 2, speed 2, memory 8; front of 1",
    ]
    assert re.search(r"front +1 trials", drawn(opt.result))
