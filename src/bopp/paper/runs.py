"""Runs: what one algorithm did on one problem, kept as one small file each.

A folder of an experiment holds

    setting.json     what is the same for all its runs
    runs/*.json      one file per run, written completely or not at all
    runs.jsonl.gz    the same runs packed, if `pack` was called
"""

from __future__ import annotations

import gzip
import shlex
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, get_args

import msgspec
import numpy as np

from bopp.data import Array
from bopp.errors import PaperError
from bopp.files import write_whole
from bopp.paper.machine import Machine

Acquisition = Literal["ucb", "pi", "ei"]
Variant = Literal["bo", "pp01", "pp001", "pp0001", "pp0"]
Kernel = Literal["ard", "isotropic"]
Maximiser = Literal["direct", "gradients"]
Fitting = Literal["likelihood", "starts", "bayesian"]
Outcome = Literal["raw", "standardised"]
Splits = Literal["paper", "fixed", "each"]
Metric = Literal["one_minus_mse", "one_minus_cross_entropy", "accuracy"]

TAU0: dict[Variant, float | None] = {"bo": None, "pp01": 0.01, "pp001": 0.001, "pp0001": 0.0001, "pp0": 0.0}
ACQUISITIONS: tuple[Acquisition, ...] = get_args(Acquisition)
KERNELS: tuple[Kernel, ...] = get_args(Kernel)
VARIANTS: tuple[Variant, ...] = get_args(Variant)
DIGITS = 7  # of a value that is kept
DAMAGED = (msgspec.DecodeError, UnicodeDecodeError)


class Setting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the paper is read where it leaves a choice open; the same for all runs of a folder.

    Args:
        iterations: after the initial points.
        initial: random points that all algorithms of a repeat share.
        evaluations: of the acquisition function by DIRECT, which finishes the round that it is in.
        shortest: the least length-scale, in widths of the box.
        fit: how length-scales are found: by one climb of the likelihood at each iteration; by the better of
            two climbs from the best of 80 points, whenever the values have grown by a fifth ("starts"); or
            not at all, but the acquisition function is averaged over draws from their posterior, with a
            prior that is flat in their logarithms ("bayesian").
        noisy: whether noise of the variance 1e-4 is added to evaluations. What is reported has none.
        outcome: whether the model sees values as they are or standardised.
        count_initial: whether t in beta_t counts the initial points.
        splits: one split and one weight seed for all repeats ("fixed"), one for each repeat ("each"), or the
            paper's apparent way: each for the housing data and fixed for the others.
        metric: what NN_wine and NN_cancer report.
    """

    iterations: int = 100
    initial: int = 5
    evaluations: int = 100
    shortest: float = 0.015
    fit: Fitting = "likelihood"
    noisy: bool = False
    outcome: Outcome = "raw"
    count_initial: bool = False
    splits: Splits = "paper"
    metric: Metric = "one_minus_mse"


class Key(msgspec.Struct, frozen=True, order=True):
    """What identifies a run."""

    repeat: int
    problem: str
    acquisition: Acquisition
    variant: Variant
    kernel: Kernel = "ard"
    maximiser: Maximiser = "direct"

    @property
    def name(self) -> str:
        parts = (self.problem, self.acquisition, self.variant, self.kernel, self.maximiser)
        return "-".join((*parts, f"{self.repeat:03}"))


class Run(msgspec.Struct, frozen=True):
    """What came out of a run: the reported value of every evaluation, in order, the initial points first.

    This is the regret where the optimum is known, smaller is better; otherwise the paper's f, larger is
    better. `accuracy` is the plain accuracy of each evaluation if the problem is a classification.
    """

    key: Key
    regret: bool
    values: tuple[float, ...]
    accuracy: tuple[float, ...] | None
    seconds: float  # without the evaluations that an earlier run of the same process had made
    machine: Machine | None = None  # None: not recorded

    def curve(self, initial: int) -> Array:
        """The best value after the initial points and after each iteration."""
        running = np.minimum if self.regret else np.maximum
        return np.asarray(running.accumulate(np.array(self.values))[initial - 1 :])

    def best_so_far(self) -> Run:
        """The run with each value replaced by the best up to it: the same curve in little space."""
        return msgspec.structs.replace(self, values=tuple(self.curve(1).tolist()), accuracy=None)


def rounded(values: Iterable[float]) -> tuple[float, ...]:
    """Values rounded to the digits that are kept."""
    return tuple(float(f"{value:.{DIGITS}g}") for value in values)


class Folder:
    """The folder of an experiment."""

    def __init__(self, path: Path):
        self.path = path

    @property
    def setting(self) -> Setting:
        """The setting of the runs here."""
        path = self.path / "setting.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=Setting)
        except (FileNotFoundError, NotADirectoryError):
            hint = f"to make one: bopp paper run --out={shlex.quote(str(self.path))}"
            raise PaperError(f"{self.path} holds no experiment; {hint}") from None
        except DAMAGED as error:
            raise PaperError(f"{path} is damaged: {error}") from None

    def prepare(self, setting: Setting) -> None:
        """Make the folder, or check that its runs have this setting."""
        made(self.path)
        made(self.path / "runs")
        if not (self.path / "setting.json").exists():
            _write(self.path / "setting.json", msgspec.json.encode(setting))
        for name in Setting.__struct_fields__:
            here, wanted = getattr(self.setting, name), getattr(setting, name)
            if here != wanted:
                text = f"{self.path} has runs with {name} {here!r}, got {wanted!r}: take another folder"
                raise PaperError(text)

    def save(self, run: Run) -> None:
        """Keep a run; its file appears complete or not at all."""
        _write(self.path / "runs" / f"{run.key.name}.json", msgspec.json.encode(run))

    def done(self) -> set[Key]:
        """The runs that need not be made again, without those whose file is damaged."""
        return {run.key for run in self._runs(skip_damaged=True)}

    def runs(self) -> list[Run]:
        """All runs, in order of their keys."""
        self.setting  # noqa: B018  a folder without one holds no experiment
        return sorted(self._runs(), key=lambda run: run.key)

    def pack(self, best_so_far: bool = False) -> Path:
        """Put all runs into one compressed file, to keep or to send; on request only what curves show."""
        single = self._files()
        runs = [run.best_so_far() if best_so_far else run for run in self.runs()]
        lines = b"".join(msgspec.json.encode(run) + b"\n" for run in runs)
        path = self.path / "runs.jsonl.gz"
        _write(path, gzip.compress(lines, mtime=0))
        for file in single:
            file.unlink()
        return path

    def _files(self) -> list[Path]:
        return sorted((self.path / "runs").glob("*.json"))

    def _runs(self, skip_damaged: bool = False) -> Iterator[Run]:
        packed = self.path / "runs.jsonl.gz"
        known: dict[Key, Run] = {}
        try:
            lines = gzip.decompress(packed.read_bytes()).splitlines() if packed.exists() else []
            known = {run.key: run for run in (msgspec.json.decode(line, type=Run) for line in lines)}
        except (OSError, EOFError, zlib.error, *DAMAGED) as error:
            raise PaperError(f"{packed} is damaged: {error}") from None
        for path in self._files():
            try:
                run = msgspec.json.decode(path.read_bytes(), type=Run)
                known[run.key] = run
            except DAMAGED as error:
                if not skip_damaged:
                    raise PaperError(f"{path} is damaged: {error}; `bopp paper run` makes it again") from None
        yield from known.values()


def made(path: Path) -> Path:
    """The folder, created if it is missing."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PaperError(f"cannot write to {path}: {error.strerror}") from None
    return path


def _write(path: Path, content: bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as error:
        raise PaperError(f"cannot write to {path}: {error.strerror}") from None
