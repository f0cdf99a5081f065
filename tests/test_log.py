import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bopp import Float, Int, Optimizer, Problem, minimize, open_study

SPACE = {"x": Float(0, 1)}


@pytest.fixture(autouse=True)
def everything(caplog: pytest.LogCaptureFixture) -> None:
    """Log all there is to log."""
    caplog.set_level(logging.DEBUG, "bopp")


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """What was logged since the last time."""
    found = [(record.levelname, record.getMessage()) for record in caplog.records]
    caplog.clear()
    return found


def test_every_step_of_a_trial_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    optimizer = Optimizer(Problem({"n": Int(1, 9)}, {"error": "minimize", "speed": "maximize"}))
    for n in (3, 4):
        optimizer.enqueue({"n": n})
    first, second = optimizer.ask(2)
    assert [record.name for record in caplog.records] == ["bopp"] * 2
    assert lines(caplog) == [("DEBUG", "trial 0 queued: {'n': 3}"), ("DEBUG", "trial 1 queued: {'n': 4}")]
    told = optimizer.tell(first, {"error": 0.5, "speed": 2})
    assert (caplog.records[0].trial, caplog.records[0].study) == (told, None)  # type: ignore[attr-defined]
    assert lines(caplog) == [("INFO", "trial 0 told: error 0.5, speed 2.0; with {'n': 3}")]
    optimizer.tell(first, {"error": 0.5, "speed": 2})
    assert lines(caplog) == []  # nothing changed
    optimizer.fail(second, "no power\nnor light \x1b[2J")
    assert lines(caplog) == [("WARNING", r"trial 1 failed: no power nor light \x1b[2J; with {'n': 4}")]
    optimizer.observe({"n": 5}, {"error": 0.25, "speed": 1})
    assert lines(caplog) == [("INFO", "trial 2 observed: error 0.25, speed 1.0; with {'n': 5}")]
    gap = optimizer.observe({"n": 5}, {"error": None, "speed": 1})
    assert lines(caplog) == [("INFO", "trial 3 observed: error not measured, speed 1.0; with {'n': 5}")]
    optimizer.tell(gap, {"error": 0.125, "speed": None})
    assert lines(caplog) == [("INFO", "trial 3 observed: error 0.125, speed 1.0; with {'n': 5}")]
    optimizer.enqueue({"n": 6})
    optimizer.fail(optimizer.ask(), "e" * 100_000)
    assert [len(line) <= 500 for _, line in lines(caplog)] == [True, True]


def test_a_study_names_itself(caplog: pytest.LogCaptureFixture) -> None:
    trial = Optimizer(SPACE).ask()
    assert lines(caplog) == [("DEBUG", f"trial 0 suggested: {trial.params}")]
    with open_study("sqlite://", "my study", SPACE) as study:
        trial = study.ask()
        assert caplog.records[-1].study == "my study"  # type: ignore[attr-defined]
        assert lines(caplog) == [("DEBUG", f"study 'my study': trial 0 suggested: {trial.params}")]
        study.tell(trial, 0.5)
        assert lines(caplog) == [("INFO", f"study 'my study': trial 0 told: value 0.5; with {trial.params}")]
        study.fail(study.ask(), "no power", '  File "/me/train.py", line 7, in loss\n')
        asked, (level, failed) = lines(caplog)
        assert (asked[0], level) == ("DEBUG", "WARNING")
        assert "no power (train.py, line 7)" in failed
        study.retry()
        study.ask()
        assert lines(caplog) == [asked]  # tried again, but not taken over from anybody
        study.observe({"x": 0.5}, 1.0)
        study.observe_all(Optimizer(SPACE, trials=study.trials[:1]).trials)
        observed = [line.split(": ")[1] for _, line in lines(caplog)]
        assert observed == ["trial 2 observed", "trial 3 observed"]


ASK_AND_DIE = """
import os, sys
from bopp import open_study
open_study(sys.argv[1], "s", lease=0.5).ask()
os._exit(0)
"""


def test_a_trial_of_a_dead_worker_is_logged_as_taken_over(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    with open_study(url, "s", SPACE) as study:
        subprocess.run([sys.executable, "-c", ASK_AND_DIE, url], check=True)
        (left,) = study.trials
        deadline = time.monotonic() + 30.0
        while not (taken := study.ask_within(1)):  # where nobody can tell that a process is dead, its lease
            assert time.monotonic() < deadline  # has to run out
            time.sleep(0.05)
        assert taken.number == left.number
        [(level, line)] = lines(caplog)
        assert level == "WARNING"
        assert f"trial 0 taken over from {left.worker}" in line
        study.release(taken)
        study.ask()
        assert lines(caplog) == [("DEBUG", f"study 's': trial 0 suggested: {left.params}")]  # given back


def test_only_the_process_that_asks_and_tells_logs(tmp_path: Path) -> None:
    handler = logging.FileHandler(tmp_path / "log")
    handler.setFormatter(logging.Formatter("%(process)d %(levelname)s %(message)s"))
    handler.setLevel(logging.INFO)
    logger = logging.getLogger("bopp")
    logger.addHandler(handler)
    try:
        minimize(lambda params: params["x"], SPACE, budget=4, workers=2, progress=False)
    finally:
        logger.removeHandler(handler)
        handler.close()
    written = (tmp_path / "log").read_text().splitlines()
    assert len(written) == 4
    assert {line.split()[0] for line in written} == {str(os.getpid())}


def test_nothing_is_printed_unless_somebody_listens() -> None:
    code = (
        "import bopp; opt = bopp.Optimizer({'x': bopp.Float(0, 1)}); opt.fail(opt.ask(), 'no power');"
        "import logging; logging.basicConfig(level=logging.INFO); opt.fail(opt.ask(), 'no light')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == ""
    assert ended.stderr.startswith("WARNING:bopp:trial 1 failed: no light; with {'x': ")
    assert ended.stderr.count("\n") == 1
