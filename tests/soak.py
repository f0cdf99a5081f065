"""Soak: studies that run while everything happens to them, at random, for as long as you like.

python tests/soak.py [--minutes 30] [--seed 0] [--store sqlite|postgres|both]

In each round `bopp run` and `bopp worker` share a study. They are killed, suspended and interrupted; clocks
are set, disks filled, servers restarted; others look on. Then a last worker finishes, and what each process
wrote down (soaked.py) is compared with what the store has. Exit code 1: something was lost, changed or left.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bopp import Float, Recipe, Trial, open_study
from support.postgres import Server, binaries, room
from support.soaked import BESIDE

ROUND = 75.0  # seconds
WORKERS = 3  # of each study
LEASE = 3.0  # seconds
PATIENCE = 60.0  # seconds for what takes a few on an idle machine
BOPP = (sys.executable, "-m", "bopp")
SPACE = {"x": Float(0.0, 1.0), "y": Float(-5.0, 5.0)}
FILE = """
study = {{ name = "soak", store = "{url}", budget = 100000, lease = {lease}, failures = "continue" }}
objective = {{ python = "soaked:objective" }}
[space]
x = {{ type = "float", low = 0.0, high = 1.0 }}
y = {{ type = "float", low = -5.0, high = 5.0 }}
"""
STARTED = time.monotonic()


@dataclass
class Worker:
    """A process that works on the study, and the codes with which it may end."""

    process: subprocess.Popen[bytes]
    name: str
    output: Path
    codes: set[int] = field(default_factory=set)
    suspended: bool = False
    until: float = math.inf  # by when it has to end

    def send(self, number: int, *codes: int) -> None:
        self.process.send_signal(number)
        self.codes |= set(codes)


class Round:
    """A study on one store, its workers, and what is done to them."""

    def __init__(self, kind: str, seed: int, server: Server | None, counts: Counter[str]):
        self.kind, self.server, self.counts = kind, server, counts
        self.random = random.Random(f"{seed} {kind} {counts['rounds']}")
        self.folder = Path(tempfile.mkdtemp(prefix=f"bopp-soak-{kind}-", dir=room()))
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        self.mounted = server is None and mounted(self.disk)
        self.url = server.create_database() if server else f"sqlite:///{self.disk}/study.db"
        self.workers: list[Worker] = []
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.full_until = 0.0
        self.looker = threading.Thread()
        self.wrong = 0
        paths = (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))
        self.environment = os.environ | {BESIDE: str(self.folder), "PYTHONPATH": os.pathsep.join(paths)}
        (self.folder / "study.toml").write_text(FILE.format(url=self.url, lease=LEASE))
        recipe = self.random.choice(["random", "random", "default"])
        open_study(self.url, "soak", SPACE, recipe=getattr(Recipe, recipe)()).close()
        self.say(f"round {counts['rounds']}, recipe {recipe}, in {self.folder}")

    @property
    def full(self) -> bool:
        """Whether the disk is full, or was a moment ago."""
        return time.monotonic() < self.full_until + 1.0

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - STARTED:8.1f}  {self.kind:<8}  {text}", flush=True)

    def check(self, right: object, text: str) -> None:
        if not right:
            self.wrong += 1
            self.say(f"WRONG: {text}")

    def start(self, *words: object) -> Worker:
        name = f"worker {self.counts['workers']}"
        self.counts["workers"] += 1
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [*BOPP, *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self.environment,
                start_new_session=True,
            )
        self.workers.append(Worker(process, name, Path(log.name), {3} if self.full else set()))
        return self.workers[-1]

    def hire(self) -> None:
        """Start a worker of one of the two kinds, with one or two evaluations at once."""
        at_once = ("--workers", self.random.choice([1, 2]))
        joins = ("worker", self.url, "soak", "--python", "soaked:objective", "--lease", LEASE)
        self.start(*self.random.choice([("run", "study.toml"), (*joins, "--failures", "continue")]), *at_once)

    def anyone(self) -> Worker | None:
        """One of the workers, mostly one that has told something: a start takes long and proves little."""
        free = [one for one in self.workers if not one.suspended and not one.codes - {3}]
        busy = [one for one in free if self.begun(one)]
        chosen = free if self.random.random() < 0.1 else busy
        return self.random.choice(chosen) if chosen else None

    def end(self, worker: Worker, number: signal.Signals) -> None:
        """Ask a worker to end; before bopp has begun, Python ends in ways of its own."""
        worker.send(number, 130, *([] if self.begun(worker) else [1, -signal.SIGINT, -signal.SIGTERM]))
        worker.until = min(worker.until, time.monotonic() + PATIENCE)

    def begun(self, worker: Worker) -> bool:
        return (self.folder / f"{worker.process.pid}.told").exists()

    def records(self, kind: str) -> list[Any]:
        """What all processes have written down so far."""
        files = self.folder.glob(f"*.{kind}")
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        self.later.append((time.monotonic() + seconds, do))

    def look_after(self, everything: bool = False) -> None:
        """Do what is due, and see who has ended and whether they should have."""
        due = [one for one in self.later if everything or one[0] <= time.monotonic()]
        self.later = [one for one in self.later if one not in due]
        for _, do in due:
            do()
        for worker in list(self.workers):
            code, late = worker.process.poll(), False
            if code is None and time.monotonic() > worker.until:
                late = True
                worker.send(signal.SIGUSR1)
                time.sleep(0.5)
                worker.send(signal.SIGKILL)
                code = worker.process.wait()
            if code is not None:
                self.workers.remove(worker)
                said = worker.output.read_text(errors="replace")[-3000:]
                self.check(not late, f"{worker.name} did not end within {PATIENCE:.0f} s:\n{said}")
                self.check(late or code in worker.codes, f"{worker.name} ended with code {code}:\n{said}")

    def wait(self) -> None:
        """Look after the workers until all have ended."""
        while self.workers:
            self.look_after()
            time.sleep(0.05)

    def look(self, *words: object) -> bool:
        """Whether a command that looks on succeeds; where the disk is full meanwhile, it need not."""
        began, line = time.monotonic(), [*BOPP, *map(str, words)]
        try:
            ended = subprocess.run(
                line, capture_output=True, text=True, env=self.environment, timeout=2 * PATIENCE
            )
        except subprocess.TimeoutExpired:
            self.check(False, f"{words}: no end within {2 * PATIENCE:.0f} s")
            return False
        allowed = (0, 3) if began < self.full_until + 1.0 else (0,)
        self.check(ended.returncode in allowed, f"{words}: code {ended.returncode}, {ended.stderr[-600:]}")
        return ended.returncode == 0

    def aside(self, do: Callable[[], None]) -> str:
        """Look on while life goes on, one look at a time."""
        if self.looker.is_alive():
            return ""
        self.looker = threading.Thread(target=do)
        self.looker.start()
        return "begins"


# what happens to them; each says what it did, or nothing where it could not


def kill(round: Round) -> str:
    if not (worker := round.anyone()):
        return ""
    worker.send(signal.SIGKILL, -signal.SIGKILL)
    return worker.name


def kill_evaluation(round: Round) -> str:
    """Its trial has failed, and no more."""
    worker = round.anyone()
    with suppress(OSError, AttributeError, IndexError):
        pid = worker.process.pid  # type: ignore[union-attr]
        os.kill(int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]), signal.SIGKILL)
        return f"of process {pid}"
    return ""


def suspend(round: Round) -> str:
    """Stop a worker, with whatever it holds, for less or for more than its lease."""
    if not (worker := round.anyone()):
        return ""

    def go_on() -> None:
        worker.send(signal.SIGCONT)
        worker.suspended = False

    worker.send(signal.SIGSTOP)
    worker.suspended = True
    round.after(seconds := round.random.uniform(0.2, 2.5 * LEASE), go_on)
    return f"{worker.name} for {seconds:.1f} s"


def interrupt(round: Round) -> str:
    if not (worker := round.anyone()):
        return ""
    number = round.random.choice([signal.SIGINT, signal.SIGTERM])
    round.end(worker, number)
    return f"{worker.name} by {number.name}"


def set_clock(round: Round) -> str:
    seconds = round.random.choice([-86400, -3600, 0, 3600, 86400])
    (round.folder / "clock.new").write_text(str(seconds))
    (round.folder / "clock.new").replace(round.folder / "clock")
    return f"to {seconds:+d} s"


def fill_disk(round: Round) -> str:
    """No room for a while: whoever wants to write then may end with code 3."""
    if round.server or round.full:
        return ""

    def limit(size: int) -> None:
        """In place of a small disk: no file of a worker may grow beyond a size."""
        for worker in [] if round.mounted else round.workers:
            with suppress(ProcessLookupError):
                resource.prlimit(worker.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def free() -> None:
        (round.disk / "filler").unlink(missing_ok=True)
        limit(resource.RLIM_INFINITY)

    seconds = round.random.uniform(0.5, 3.0)
    round.full_until = time.monotonic() + seconds
    for worker in round.workers:
        worker.codes.add(3)
    limit((round.disk / "study.db").stat().st_size)
    if round.mounted:
        with suppress(OSError), (round.disk / "filler").open("wb", buffering=0) as filler:
            while filler.write(b"\0" * 4096):
                pass
    round.after(seconds, free)
    return f"for {seconds:.1f} s"


def restart_server(round: Round) -> str:
    if not round.server:
        return ""
    crash = round.random.random() < 0.5
    round.server.stop("immediate" if crash else "fast")
    time.sleep(round.random.uniform(0.0, 2.0))
    round.server.start()
    return "as after a crash" if crash else "in good order"


def cut_connections(round: Round) -> str:
    return f"{round.server.kill_connections(round.url)} of them" if round.server else ""


def status(round: Round) -> str:
    return round.aside(lambda: round.say(f"status: {round.look('status', round.url, 'soak')}"))


def export(round: Round) -> str:
    """Copy the study meanwhile: what was told before is in the copy."""
    told, file = round.records("told"), round.folder / f"{round.counts['export']}.jsonl"

    def copy() -> None:
        url = f"sqlite:///{file}.db"
        if round.look("export", round.url, "soak", "--out", file) and round.look("import", file, url):
            with open_study(url, "soak", read_only=True) as study:
                compare(round, told, study.trials, "before an export")
                round.say(f"export: {len(study.trials)} trials, {len(told)} told before")

    return round.aside(copy)


FAULTS: dict[Callable[[Round], str], int] = {
    **{kill: 6, kill_evaluation: 2, suspend: 4, interrupt: 4, set_clock: 2},
    **{fill_disk: 1, restart_server: 1, cut_connections: 3, status: 1, export: 1},
}
"""What happens, and how often in relation."""


def happen(round: Round) -> None:
    fault = round.random.choices([*FAULTS], [*FAULTS.values()])[0]
    if outcome := fault(round):
        round.counts[fault.__name__] += 1
        round.say(f"{fault.__name__.replace('_', ' ')}: {outcome}")


# what is left in the end


def finish(round: Round) -> None:
    """Wait for all workers, let a last one finish, and compare."""
    round.wait()
    if round.looker.ident:
        round.looker.join()
    with open_study(round.url, "soak", read_only=True) as study:
        budget = len(study.trials) + 3
    last = round.start("run", "study.toml", "--budget", budget)
    last.codes, last.until = {0}, time.monotonic() + PATIENCE
    round.wait()
    with open_study(round.url, "soak", read_only=True) as study:
        trials = study.trials
    told, evaluated = round.records("told"), round.records("evaluated")
    compare(round, told, trials, "in all")
    given = {(json.dumps(params), value) for params, value in evaluated}
    for trial in trials:
        round.check(trial.state != "asked", f"left running: {trial}")
        value = trial.values.get("value")
        known = value is None or (json.dumps(trial.params), value) in given
        round.check(known, f"a value that nobody gave: {trial}")
    twice = [number for number, times in Counter(number for number, *_ in told).items() if times > 1]
    round.check(not twice, f"told twice: {twice}")
    numbers = asked(round, "SELECT number FROM bopp_trials ORDER BY number")
    round.check(numbers == [(number,) for number in range(budget)], f"{budget} trials: {numbers}")
    round.check(round.server or asked(round, "PRAGMA integrity_check") == [("ok",)], "the file is damaged")
    round.check(not (left := left_of(round)), f"processes left: {left}")
    round.counts["trials"] += len(trials)
    round.say(f"{len(trials)} trials, {len(told)} told, {len(evaluated)} evaluations, {round.wrong} wrong")


def compare(round: Round, told: list[Any], trials: tuple[Trial, ...], when: str) -> None:
    """Every value that was told is there as it was told."""
    there = {trial.number: (trial.params, trial.values.get("value")) for trial in trials}
    for number, params, value in told:
        found = there.get(number)
        round.check(found == (params, value), f"told {when}: trial {number} {params} {value}; there: {found}")


def asked(round: Round, sql: str) -> list[tuple[Any, ...]]:
    """What a database says, asked past bopp."""
    if round.server:
        return round.server.execute(sql, round.url)
    with closing(sqlite3.connect(round.disk / "study.db")) as connection:
        return connection.execute(sql).fetchall()


def left_of(round: Round) -> list[str]:
    """Processes of a round that outlive it by more than a moment."""
    mark, until, found = f"{BESIDE}={round.folder}".encode(), time.monotonic() + 3.0, ["not looked yet"]
    while found and time.monotonic() < until:
        time.sleep(0.1)
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (process / "environ").read_bytes():
                    found.append(f"{process.name} {(process / 'cmdline').read_bytes()!r}")
    return found


def mounted(folder: Path) -> bool:
    """Make a folder a small disk; only few may."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)]
    return bool(shutil.which("mount")) and subprocess.run(mount, capture_output=True).returncode == 0


def clear(round: Round) -> None:
    """Leave nothing behind; but if something was wrong, all that tells of it."""
    for worker in round.workers:
        worker.process.kill()
        worker.process.wait()
    if round.wrong:
        shutil.copytree(round.disk, round.folder / "kept")
    if round.mounted:
        subprocess.run(["umount", "-l", str(round.disk)], check=True)  # even if a file is open
    if not round.wrong:
        shutil.rmtree(round.folder)


def run_round(
    kinds: list[str], seed: int, server: Server | None, seconds: float, counts: Counter[str]
) -> int:
    """One study on each kind of store, at once; how much was wrong."""
    counts["rounds"] += 1
    rounds: list[Round] = []
    with ExitStack() as stack:
        for kind in kinds:
            rounds.append(Round(kind, seed, server if kind == "postgres" else None, counts))
            stack.callback(clear, rounds[-1])
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for round in rounds:
                round.look_after()
                if len(round.workers) < WORKERS:
                    round.hire()
                elif round.random.random() < 0.05:
                    happen(round)
            time.sleep(0.05)
        for round in rounds:
            round.look_after(everything=True)
            for worker in round.workers:
                round.end(worker, signal.SIGTERM)
        for round in rounds:
            finish(round)
    return sum(round.wrong for round in rounds)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", choices=["sqlite", "postgres", "both"], default="both")
    wanted = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has it ignored in the background
    kinds = ["sqlite", "postgres"] if wanted.store == "both" else [wanted.store]
    counts, wrong = Counter[str](), 0
    with ExitStack() as stack:
        server, programs = None, binaries()
        if "postgres" in kinds:
            server = stack.enter_context(Server(programs)) if programs else sys.exit("no PostgreSQL here")
        while (left := STARTED + 60 * wanted.minutes - time.monotonic()) > 30.0:
            wrong += run_round(kinds, wanted.seed, server, min(ROUND, left - 20.0), counts)
    minutes = (time.monotonic() - STARTED) / 60
    faults = {fault.__name__.replace("_", " "): counts[fault.__name__] for fault in FAULTS}
    print(", ".join(f"{count} x {name}" for name, count in faults.items()))
    print(
        f"soak of {minutes:.1f} minutes, seed {wanted.seed}, {' and '.join(kinds)}: "
        f"{counts['rounds']} rounds, {counts['workers']} workers, {counts['trials']} trials, "
        f"{sum(faults.values()) / minutes:.1f} faults a minute, {wrong} wrong"
    )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
