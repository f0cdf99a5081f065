"""bopp and its peers behind one signature: minimise on the unit cube, or time one suggestion."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import qmc

from functions import Array

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

    import bopp

Objective = Callable[[Array], float]
Run = Callable[[Objective, int, Array, int, int], list[float]]


class Seconds(NamedTuple):
    """CPU seconds of all threads together, and wall-clock seconds."""

    cpu: float
    wall: float


Suggest = Callable[[Array, Array, int], Seconds]


def sobol_points(dimension: int, n: int, seed: int) -> Array:
    """The first n points of the scrambled Sobol sequence of a seed."""
    # a power of two keeps the sequence balanced; a shorter draw is its beginning
    points = qmc.Sobol(dimension, rng=seed).random_base2(max(n - 1, 1).bit_length())
    return np.asarray(points[:n], dtype=np.float64)


def named(point: Array) -> dict[str, float]:
    """A point of the cube as the parameters x0, x1, ..."""
    return {f"x{i}": float(u) for i, u in enumerate(point)}


def unnamed(parameters: dict[str, float]) -> Array:
    """The point of the cube that the parameters x0, x1, ... give."""
    return np.array([parameters[f"x{i}"] for i in range(len(parameters))])


def run_bopp(objective: Objective, dimension: int, start: Array, budget: int, seed: int) -> list[float]:
    """Bopp as it comes."""
    values = [objective(point) for point in start]
    optimizer = bopp_optimizer(start, np.array(values), seed)
    for _ in range(budget - len(start)):
        trial = optimizer.ask()
        values.append(objective(unnamed(trial.params)))
        optimizer.tell(trial, values[-1])
    return values


def run_gpsampler(objective: Objective, dimension: int, start: Array, budget: int, seed: int) -> list[float]:
    """Optuna's Gaussian process sampler as it comes."""
    from optuna.samplers import GPSampler

    seed_torch(seed)
    sampler = GPSampler(seed=seed, n_startup_trials=len(start))
    return run_optuna(sampler, objective, start, budget)


def run_tpe(objective: Objective, dimension: int, start: Array, budget: int, seed: int) -> list[float]:
    """Optuna's tree-structured Parzen estimator as it comes, without random points of its own."""
    from optuna.samplers import TPESampler

    sampler = TPESampler(seed=seed, n_startup_trials=len(start))
    return run_optuna(sampler, objective, start, budget)


def run_botorch(objective: Objective, dimension: int, start: Array, budget: int, seed: int) -> list[float]:
    """BoTorch's single-task GP with log expected improvement."""
    seed_torch(seed)
    X, values = start, [objective(point) for point in start]
    for _ in range(budget - len(start)):
        point = botorch_point(X, np.array(values))
        X = np.vstack([X, point])
        values.append(objective(point))
    return values


def run_sobol(objective: Objective, dimension: int, start: Array, budget: int, seed: int) -> list[float]:
    """No model: the start points, then the rest of the Sobol sequence of the seed."""
    rest = sobol_points(dimension, budget, seed)[len(start) :]
    return [objective(point) for point in np.vstack([start, rest])]


def suggest_bopp(X: Array, y: Array, seed: int) -> Seconds:
    """The time of one suggestion of bopp as it comes."""
    return timed(bopp_optimizer(X, y, seed).ask)


def suggest_bopp_neighbours(X: Array, y: Array, seed: int) -> Seconds:
    """The time of one suggestion of bopp with the paper's pseudo-points."""
    import bopp

    recipe = replace(bopp.Recipe.default(), pseudo=bopp.pseudo.Neighbours(0.001))
    return timed(bopp_optimizer(X, y, seed, recipe).ask)


def suggest_gpsampler(X: Array, y: Array, seed: int) -> Seconds:
    """The time of one suggestion of Optuna's Gaussian process sampler."""
    from optuna.samplers import GPSampler

    seed_torch(seed)
    study = optuna_study(GPSampler(seed=seed), X, y)
    return timed(lambda: study.ask(optuna_cube(X.shape[1])))


def suggest_botorch(X: Array, y: Array, seed: int) -> Seconds:
    """The time of one suggestion of BoTorch."""
    seed_torch(seed)
    return timed(lambda: botorch_point(X, y))


def timed(work: Callable[[], object]) -> Seconds:
    """How long the work takes."""
    begin, began = time.process_time(), time.perf_counter()
    work()
    return Seconds(time.process_time() - begin, time.perf_counter() - began)


def bopp_optimizer(X: Array, y: Array, seed: int, recipe: "bopp.Recipe | None" = None) -> "bopp.Optimizer":
    """An optimizer of bopp that has seen the values y at the points X, without any cached model."""
    import bopp

    forget()
    space = {f"x{i}": bopp.Float(0, 1) for i in range(X.shape[1])}
    optimizer = bopp.Optimizer(space, direction="minimize", seed=seed, recipe=recipe)
    for point, value in zip(X, y, strict=True):
        optimizer.observe(named(point), float(value))
    return optimizer


def forget() -> None:
    """Let bopp fit anew: a model of the same data, from the suggestion before, would save it the work."""
    from bopp import fitted, model

    model._models.forget()
    fitted.forget()


def run_optuna(
    sampler: "optuna.samplers.BaseSampler", objective: Objective, start: Array, budget: int
) -> list[float]:
    """Any Optuna sampler, from the given start points."""
    values = [objective(point) for point in start]
    study = optuna_study(sampler, start, np.array(values))
    for _ in range(budget - len(start)):
        trial = study.ask(optuna_cube(start.shape[1]))
        values.append(objective(unnamed(trial.params)))
        study.tell(trial, values[-1])
    return values


def optuna_study(sampler: "optuna.samplers.BaseSampler", X: Array, y: Array) -> "optuna.Study":
    """A study of Optuna that has seen the values y at the points X."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=sampler, direction="minimize")
    cube = optuna_cube(X.shape[1])
    for point, value in zip(X, y, strict=True):
        study.add_trial(
            optuna.trial.create_trial(params=named(point), distributions=cube, value=float(value))
        )
    return study


def optuna_cube(dimension: int) -> "dict[str, BaseDistribution]":
    """The unit cube as Optuna describes it."""
    from optuna.distributions import FloatDistribution

    return {f"x{i}": FloatDistribution(0, 1) for i in range(dimension)}


def botorch_point(X: Array, y: Array) -> Array:
    """The point of largest log expected improvement under BoTorch's default model."""
    import torch
    from botorch.acquisition.analytic import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim.optimize import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    train_X, train_y = torch.tensor(X), -torch.tensor(y).unsqueeze(-1)  # BoTorch maximises
    model = SingleTaskGP(train_X, train_y, outcome_transform=Standardize(m=1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    improvement = LogExpectedImprovement(model, best_f=train_y.max())
    bounds = torch.tensor([[0.0], [1.0]], dtype=torch.double).repeat(1, X.shape[1])
    best, _ = optimize_acqf(improvement, bounds, q=1, num_restarts=10, raw_samples=512)
    return np.asarray(best.squeeze(0).numpy(), dtype=np.float64)


def seed_torch(seed: int) -> None:
    import torch

    torch.manual_seed(seed)


PEERS: dict[str, Run] = {
    "bopp": run_bopp,
    "gpsampler": run_gpsampler,
    "botorch": run_botorch,
    "tpe": run_tpe,
    "sobol": run_sobol,
}
SUGGESTIONS: dict[str, Suggest] = {
    "bopp": suggest_bopp,
    "bopp-pp": suggest_bopp_neighbours,
    "gpsampler": suggest_gpsampler,
    "botorch": suggest_botorch,
}
NEEDS: dict[str, tuple[str, ...]] = {
    "bopp": ("bopp",),
    "bopp-pp": ("bopp",),
    "gpsampler": ("optuna", "torch", "greenlet"),  # without greenlet it takes twice the time
    "botorch": ("torch", "gpytorch", "botorch"),
    "tpe": ("optuna",),
    "sobol": (),
}


def installed(names: Iterable[str]) -> list[str]:
    """The peers whose libraries are installed; prints a line for each that is left out."""
    present = []
    for name in names:
        missing = [module for module in NEEDS[name] if find_spec(module) is None]
        if missing:
            print(f"{name} is left out: {', '.join(missing)} not installed", flush=True)
        else:
            present.append(name)
    return present


def load(name: str) -> None:
    """Import a peer's libraries, so that this is not timed."""
    for module in NEEDS[name]:
        import_module(module)
