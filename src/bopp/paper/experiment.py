"""The paper's experiment: problem x acquisition x variant x repeat, in parallel, resumable even if killed."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import numpy as np

from bopp import acquisition as acquisitions
from bopp import outcome
from bopp.errors import PaperError
from bopp.fit import MAP, SliceSampling
from bopp.initial import Uniform
from bopp.kernels import SquaredExponential
from bopp.optimizer import Optimizer
from bopp.paper.machine import this_machine
from bopp.paper.problems import REAL, Measured, Problem, problem
from bopp.paper.runs import (
    ACQUISITIONS,
    KERNELS,
    TAU0,
    VARIANTS,
    Acquisition,
    Folder,
    Kernel,
    Key,
    Maximiser,
    Run,
    Setting,
    Variant,
    rounded,
)
from bopp.recipe import Recipe
from bopp.run.interrupts import follow_parent
from bopp.search import Gradients
from bopp.threads import one_thread

NOISE = 1e-4  # sigma^2, where it is added to evaluations
STARTS, REFIT = 80, 0.2  # of a fit, and the growth of the data after which it is made anew
GRADIENTS = Gradients(candidates=100, local=50, starts=5, finalists=None, ample=math.inf)


def plan(
    problems: Sequence[str],
    acquisitions: Sequence[Acquisition] = ACQUISITIONS,
    variants: Sequence[Variant] = VARIANTS,
    repeats: Sequence[int] = range(20),
    kernel: Kernel | None = None,
    maximiser: Maximiser = "direct",
) -> list[Key]:
    """The keys of an experiment, repeat by repeat, so that the first part is complete in itself.

    Without a `kernel` it is the paper's plan: ARD, and for UCB on the real problems also isotropic.
    """
    cells = [
        (name, acquisition, variant, one)
        for one in KERNELS
        for name in problems
        for acquisition in acquisitions
        for variant in variants
        if one == (kernel or "ard") or (kernel is None and acquisition == "ucb" and name in REAL)
    ]
    return [
        Key(repeat, name, acquisition, variant, one, maximiser)
        for repeat in repeats
        for name, acquisition, variant, one in cells
    ]


def recipe_of(key: Key, setting: Setting) -> Recipe:
    """The paper's recipe, with the choices of the key and the setting."""
    recipe = Recipe.paper(key.acquisition, TAU0[key.variant], setting.evaluations, setting.shortest)
    if key.acquisition == "ucb" and setting.count_initial:
        later = acquisitions.UCB(lambda t, d: acquisitions.paper_beta(t + setting.initial, d))
        recipe = replace(recipe, acquisition=later)
    fit = recipe.fit
    if isinstance(fit, MAP) and setting.fit == "starts":
        fit = replace(fit, starts=STARTS, refit=REFIT)
    elif isinstance(fit, MAP) and setting.fit == "bayesian":
        fit = SliceSampling(**vars(fit))
    return replace(
        recipe,
        kernel=SquaredExponential(ard=key.kernel == "ard"),
        fit=fit,
        search=recipe.search if key.maximiser == "direct" else GRADIENTS,
        initial=Uniform(setting.initial),
        outcome=outcome.raw if setting.outcome == "raw" else outcome.standardised,
    )


def instance_of(key: Key, setting: Setting) -> int:
    """Which shift, or which split and weights, a run uses."""
    by_repeat = key.problem.endswith("_shifted") or setting.splits == "each"
    return key.repeat if by_repeat or (setting.splits, key.problem) == ("paper", "nn_housing") else 0


@cache
def _loaded(name: str, instance: int, setting: Setting) -> Problem:
    """The problem; a point is evaluated once, as DIRECT comes back to the same ones in run after run."""
    task = problem(name, instance, setting.metric)
    known: dict[tuple[Any, ...], Measured] = {}

    def measure(params: Mapping[str, Any]) -> Measured:
        point = tuple(params.values())
        if point not in known:
            known[point] = task.measure(params)
        return known[point]

    return replace(task, measure=measure)


def load(keys: Sequence[Key], setting: Setting) -> None:
    """Load each problem once, so that one that cannot be loaded is reported before any work is done."""
    for key in {key.problem: key for key in keys}.values():
        _loaded(key.problem, instance_of(key, setting), setting)


@one_thread()
def perform(key: Key, setting: Setting) -> Run:
    """Perform one run; all algorithms of a repeat begin with the same points, as the repeat is the seed."""
    task = _loaded(key.problem, instance_of(key, setting), setting)
    optimizer = Optimizer(task.space, "minimize", seed=key.repeat, recipe=recipe_of(key, setting))
    began, measured = time.perf_counter(), []
    machine = this_machine()
    for _ in range(setting.initial + setting.iterations):
        trial = optimizer.ask()
        measured.append(task.measure(trial.params))
        optimizer.tell(
            trial, task.value(measured[-1]) + (_noise(key, trial.number) if setting.noisy else 0.0)
        )
    return Run(
        key=key,
        regret=task.optimum is not None,
        values=rounded(one.reported for one in measured),
        accuracy=rounded(one.accuracy for one in measured if one.accuracy is not None) or None,
        seconds=round(time.perf_counter() - began, 2),
        machine=machine,
    )


def _noise(key: Key, number: int) -> float:
    """The noise of an evaluation, the same for all algorithms and problems of a repeat."""
    return float(np.random.default_rng([key.repeat, number, 4]).normal(0.0, math.sqrt(NOISE)))


def run(folder: Folder, keys: Sequence[Key], setting: Setting, workers: int) -> Iterator[Key]:
    """Perform and keep the runs, `workers` at a time, and yield each key as it is done."""
    load(keys, setting)
    others = set(active_children())
    pool = ProcessPoolExecutor(workers, get_context("spawn"), follow_parent, (signal.SIGINT,))
    try:
        with _interrupts_held_back():  # the workers are started here
            futures = {pool.submit(_perform_and_keep, folder.path, key, setting): key for key in keys}
        for future in as_completed(futures):
            future.result()
            yield futures[future]
    except BrokenProcessPool:
        raise PaperError("a worker died; what is done is kept, and the same command goes on") from None
    finally:
        for process in set(active_children()) - others:
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _perform_and_keep(path: Path, key: Key, setting: Setting) -> None:
    Folder(path).save(perform(key, setting))


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """A worker started in this block never sees Ctrl-C, which is for its parent to handle."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
