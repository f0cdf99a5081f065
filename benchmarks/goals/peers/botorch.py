"""BoTorch: a Gaussian process for each outcome, and its acquisition functions for these problems.

One objective: log expected improvement times the probability that all constraints are met
(LogConstrainedExpectedImprovement), or that probability alone (LogProbabilityOfFeasibility) as long as no
point meets them. Several: the log noisy expected improvement of the hypervolume
(qLogNoisyExpectedHypervolumeImprovement), with the reference point of the problem, as in BoTorch's tutorial.
"""

import warnings
from functools import partial
from typing import Any

import numpy as np
import torch
from botorch.acquisition.analytic import LogConstrainedExpectedImprovement, LogProbabilityOfFeasibility
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.objective import IdentityMCMultiOutputObjective
from botorch.exceptions.warnings import BotorchWarning
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim.optimize import optimize_acqf
from botorch.sampling.normal import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood

from contest.peers.cube import Array, Cube
from contest.task import Params
from goals.problem import Outcome, Problem

SAMPLES = 128
RESTARTS, RAW, OPTIONS = 10, 512, {"maxiter": 200}  # all restarts at once: quicker here than in fives


class Botorch:
    """Integers are relaxed and rounded."""

    def __init__(self, problem: Problem, seed: int):
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.problem, self.seed, self.cube = problem, seed, Cube(problem.space)
        self.X: list[Array] = []
        self.outcomes: list[Outcome] = []

    def ask(self) -> Params:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BotorchWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            return self.cube.decode(self._best_point())

    def tell(self, params: Params, outcome: Outcome) -> None:
        self.X.append(self.cube.encode(params))
        self.outcomes.append(outcome)

    def _best_point(self) -> Array:
        X = torch.tensor(np.array(self.X))
        Y = -torch.tensor([[*one.objectives, *one.constraints] for one in self.outcomes], dtype=torch.double)
        model = fitted(X, Y)  # larger is better, and a constraint is met where it is at least zero
        score = self._improvement(model, Y) if self.problem.objectives == 1 else self._volume(model, X)
        bounds = torch.tensor([[0.0], [1.0]], dtype=torch.double).repeat(1, X.shape[1])
        best, _ = optimize_acqf(score, bounds, q=1, num_restarts=RESTARTS, raw_samples=RAW, options=OPTIONS)
        return np.asarray(best.squeeze(0).numpy(), dtype=np.float64)

    def _improvement(self, model: Any, Y: Any) -> Any:
        limits = {1 + number: (0.0, None) for number in range(self.problem.constraints)}
        met = (Y[:, 1:] >= 0.0).all(dim=1)
        if not met.any():
            return LogProbabilityOfFeasibility(model, limits)
        return LogConstrainedExpectedImprovement(model, Y[met, 0].max(), 0, limits)

    def _volume(self, model: Any, X: Any) -> Any:
        count = self.problem.objectives
        limits = [partial(_column, number=count + number) for number in range(self.problem.constraints)]
        return qLogNoisyExpectedHypervolumeImprovement(
            model,
            ref_point=[-value for value in self.problem.reference],
            X_baseline=X,
            sampler=SobolQMCNormalSampler(torch.Size([SAMPLES]), seed=self.seed),
            objective=IdentityMCMultiOutputObjective(outcomes=list(range(count))),
            constraints=limits or None,
            prune_baseline=True,
        )


def fitted(X: Any, Y: Any) -> Any:
    """BoTorch's default model of each column, independent of each other, fitted in one go to be quicker."""
    model = SingleTaskGP(
        X, Y, outcome_transform=Standardize(m=Y.shape[1]), input_transform=Normalize(d=X.shape[1])
    )
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _column(samples: Any, number: int) -> Any:
    """A constraint as BoTorch's samplers want it: met where it is below zero."""
    return -samples[..., number]
