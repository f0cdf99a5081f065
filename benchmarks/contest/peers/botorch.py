"""BoTorch: its single-task Gaussian process, with log expected improvement."""

from collections.abc import Mapping

import numpy as np
import torch
from botorch.acquisition.analytic import LogExpectedImprovement
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim.optimize import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

import bopp
from contest.peers.cube import Array, Cube
from contest.task import Params


class Botorch:
    """Integers are relaxed and rounded; points that crashed are dropped."""

    def __init__(self, space: Mapping[str, bopp.Parameter], seed: int, budget: int, noisy: bool):
        torch.manual_seed(seed)
        self.cube, self.noisy = Cube(space), noisy
        self.X: list[Array] = []
        self.y: list[float] = []

    def ask(self) -> Params:
        if not self.y:
            return self.cube.decode(torch.rand(self.cube.dimension, dtype=torch.double).numpy())
        return self.cube.decode(best_point(np.array(self.X), np.array(self.y), self.noisy))

    def tell(self, params: Params, value: float | None) -> None:
        if value is not None:
            self.X.append(self.cube.encode(params))
            self.y.append(value)


def best_point(X: Array, y: Array, noisy: bool) -> Array:
    """The point of largest log expected improvement under BoTorch's default model."""
    train_X, train_y = torch.tensor(X), -torch.tensor(y).unsqueeze(-1)  # BoTorch maximises
    model = SingleTaskGP(train_X, train_y, outcome_transform=Standardize(m=1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    if noisy:
        improvement = qLogNoisyExpectedImprovement(model, train_X, prune_baseline=True)
    else:
        improvement = LogExpectedImprovement(model, best_f=train_y.max())
    bounds = torch.tensor([[0.0], [1.0]], dtype=torch.double).repeat(1, X.shape[1])
    best, _ = optimize_acqf(improvement, bounds, q=1, num_restarts=10, raw_samples=512)
    return np.asarray(best.squeeze(0).numpy(), dtype=np.float64)
