"""A program that runs bopp without the parts of Python that Windows lacks.

The standard library and others' packages keep theirs: only modules imported afterwards, bopp's, see none. It
is run as a script, and its processes, which are spawned, run it again.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import select
import shlex
import signal
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

OF_OS = (
    "fork setpgid setsid killpg getuid geteuid getpgid register_at_fork waitid WNOHANG WEXITED WNOWAIT P_ALL"
)
OF_OS += " O_NOFOLLOW O_CLOEXEC O_DIRECTORY fchown fchmod chown mkfifo pread pwrite sched_getaffinity uname"
OF_SIGNAL = "SIGKILL SIGHUP SIGCHLD SIGALRM SIGUSR1 SIGSTOP SIGCONT pthread_sigmask"
ABSENT = {os: OF_OS.split(), signal: OF_SIGNAL.split(), select: ["poll", "epoll", "POLLERR", "POLLNVAL"]}
BEFORE = "concurrent.futures numpy scipy.optimize scipy.linalg scipy.stats sqlalchemy.dialects.sqlite typer"
BEFORE += " msgspec rich.live psutil asyncio subprocess tempfile multiprocessing.popen_spawn_posix"
BEFORE += " multiprocessing.synchronize multiprocessing.resource_tracker multiprocessing.forkserver"


def strip() -> None:
    """Hide them, and say that this is not Linux."""
    for name in BEFORE.split():
        importlib.import_module(name)
    for module, names in ABSENT.items():
        bare = ModuleType(module.__name__)
        bare.__dict__.update({name: found for name, found in vars(module).items() if name not in names})
        sys.modules[module.__name__] = bare
    for name in ("fcntl", "resource", "pwd", "grp", "termios"):
        sys.modules[name] = None  # type: ignore[assignment]
    sys.platform = "other"  # on "win32", threadpoolctl would look for the libraries of Windows


strip()

import bopp  # noqa: E402
from bopp.run.descendants import LINUX  # noqa: E402
from bopp.study.command import Command  # noqa: E402

SPACE = {"x": bopp.Float(0, 1)}
PYTHON = shlex.quote(sys.executable)


def loss(x: float) -> float:
    return (x - 0.3) ** 2


def hang(x: float) -> float:
    time.sleep(86400)
    return x


def run(what: str, objective: Any, budget: int, **arguments: Any) -> None:
    """Print what became of each trial."""
    arguments |= {"progress": False, "recipe": bopp.Recipe.random(), "failures": "continue"}
    result = bopp.minimize(objective, SPACE, budget, **arguments)
    print(what, *(trial.error or trial.state for trial in result.trials), sep=", ")


def main(what: str, folder: Path) -> None:
    multiprocessing.set_start_method("spawn")
    assert not LINUX
    if what == "here":
        run("command", Command(f"{PYTHON} -c 'import sys; print(sys.argv[1])' {{x}}", folder=folder), 2)
        with bopp.open_study(f"sqlite:///{folder}/a.db", "s", SPACE, recipe=bopp.Recipe.random()) as study:
            study.optimize(loss, 2, progress=False)
            print("study", *(trial.state for trial in study.trials), sep=", ")
        return
    run("function", loss, 2, workers=2)
    run("hang", hang, 1, trial_timeout=0.5)
    (folder / "late.py").write_text(
        "import os, time\nopen(str(os.getpid()), 'w').close()\ntime.sleep(86400)\n"
    )
    run("late", Command(f"{PYTHON} late.py {{x}}", folder=folder), 1, trial_timeout=20.0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
