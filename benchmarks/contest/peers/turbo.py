"""TuRBO-1: a trust region that follows the best point, as in BoTorch's tutorial."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.generation import MaxPosteriorSampling
from botorch.models import SingleTaskGP
from gpytorch.constraints import Interval
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.settings import max_cholesky_size
from torch.quasirandom import SobolEngine

import bopp
from contest.peers.cube import Array, Cube
from contest.task import Params

LONGEST, SHORTEST = 1.6, 0.5**7
SUCCESSES = 10  # in a row, after which the region grows; 3 in the paper, 10 in the tutorial


@dataclass(frozen=True)
class Region:
    """The side of the trust region, the successes and failures in a row, and the best value in it."""

    dimension: int
    length: float = 0.8
    successes: int = 0
    failures: int = 0
    best: float = math.inf

    def after(self, value: float) -> "Region":
        """The region after one more value."""
        success = value < self.best - 1e-3 * abs(self.best) if math.isfinite(self.best) else True
        successes, failures = (self.successes + 1, 0) if success else (0, self.failures + 1)
        counted = replace(self, successes=successes, failures=failures, best=min(self.best, value))
        if successes == SUCCESSES:
            return replace(counted, length=min(2 * self.length, LONGEST), successes=0)
        if failures == max(4, self.dimension):
            return replace(counted, length=self.length / 2, failures=0)
        return counted


class Turbo:
    """Thompson sampling in the region; one that became too small begins anew with as many Sobol points."""

    def __init__(self, space: Mapping[str, bopp.Parameter], seed: int, budget: int, noisy: bool):
        torch.manual_seed(seed)
        self.cube, self.seed = Cube(space), seed
        self.restarts = SobolEngine(self.cube.dimension, scramble=True, seed=seed)
        self.region = Region(self.cube.dimension)
        self.X: list[Array] = []
        self.y: list[float] = []
        self.given = 0
        self.began = False

    def ask(self) -> Params:
        self.given = self.given if self.began else max(len(self.y), 1)
        self.began = True
        if len(self.y) < self.given:
            point = self.restarts.draw(dtype=torch.double).squeeze(0).numpy()
        else:
            point = sampled_point(np.array(self.X), np.array(self.y), self.region.length)
        return self.cube.decode(point)

    def tell(self, params: Params, value: float | None) -> None:
        if value is None:
            return
        beginning = not self.began or len(self.y) < self.given
        self.X.append(self.cube.encode(params))
        self.y.append(value)
        self.region = replace(self.region, best=min(self.y)) if beginning else self.region.after(value)
        if self.region.length < SHORTEST:
            self.region, self.X, self.y = Region(self.cube.dimension), [], []


def sampled_point(X: Array, y: Array, length: float) -> Array:
    """The best of many candidates in the trust region under one sample of the model."""
    train_X, train_y = torch.tensor(X), -torch.tensor(y).unsqueeze(-1)  # BoTorch maximises
    with max_cholesky_size(float("inf")):
        model = _fitted(train_X, (train_y - train_y.mean()) / train_y.std())
        candidates = _candidates(model, train_X, train_X[train_y.argmax()], length)
        with torch.no_grad():
            best = MaxPosteriorSampling(model=model, replacement=False)(candidates, num_samples=1)
    return np.asarray(best.squeeze(0).numpy(), dtype=np.float64)


def _fitted(X: torch.Tensor, y: torch.Tensor) -> SingleTaskGP:
    likelihood = GaussianLikelihood(noise_constraint=Interval(1e-8, 1e-3))
    lengths = Interval(0.005, 4.0)
    matern = MaternKernel(nu=2.5, ard_num_dims=X.shape[1], lengthscale_constraint=lengths)
    model = SingleTaskGP(
        X, y, covar_module=ScaleKernel(matern), likelihood=likelihood, outcome_transform=None
    )
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _candidates(model: SingleTaskGP, X: torch.Tensor, centre: torch.Tensor, length: float) -> torch.Tensor:
    """Points that differ from the centre in some coordinates, within sides that follow the lengthscales."""
    dimension = X.shape[1]
    weights = model.covar_module.base_kernel.lengthscale.squeeze().detach()
    weights = weights / weights.mean()
    weights = weights / torch.prod(weights.pow(1.0 / len(weights)))
    low = torch.clamp(centre - weights * length / 2.0, 0.0, 1.0)
    high = torch.clamp(centre + weights * length / 2.0, 0.0, 1.0)
    count = min(100 * dimension, 5000)  # as in the authors' code; the tutorial takes twice as many
    seed = int(torch.randint(2**31, (1,)).item())
    moved = low + (high - low) * SobolEngine(dimension, scramble=True, seed=seed).draw(count, dtype=X.dtype)
    mask = torch.rand(count, dimension, dtype=X.dtype) <= min(20.0 / dimension, 1.0)
    still = torch.where(mask.sum(dim=1) == 0)[0]
    mask[still, torch.randint(0, dimension, size=(len(still),))] = True
    return torch.where(mask, moved, centre.expand(count, dimension))
