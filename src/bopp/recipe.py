"""Recipes: the parts of Algorithm 2 of the paper, each of which may be replaced."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal

from bopp import acquisition as acquisitions
from bopp import outcome as outcomes
from bopp import pseudo as policies
from bopp.acquisition import Acquisition
from bopp.errors import RecipeError
from bopp.fit import LENGTHSCALES, MAP, Fit, MaximumLikelihood
from bopp.initial import Initial, Sobol, Uniform
from bopp.kernels import Kernel, Matern52, SquaredExponential
from bopp.outcome import Outcome
from bopp.pseudo import Policy
from bopp.search import Direct, Gradients, Search


@dataclass(frozen=True)
class Recipe:
    """The parts of Algorithm 2; each is a function that you may replace with your own.

    Args:
        kernel: how similar the values at two points are; see `bopp.kernels`.
        fit: how the hyper-parameters of the model are found; see `bopp.fit`.
        pseudo: the policy of pseudo-points; see `bopp.pseudo`.
        acquisition: what a suggestion maximizes; see `bopp.acquisition`.
        search: how it is maximized; see `bopp.search`.
        initial: the points to begin with, before there is a model; see `bopp.initial`.
        outcome: how values are transformed for the model; see `bopp.outcome`.
    """

    kernel: Kernel = Matern52()
    fit: Fit = MAP()
    pseudo: Policy = policies.Pending() + policies.Failed()
    acquisition: Acquisition = acquisitions.log_ei
    search: Search = Gradients()
    initial: Initial = Sobol()
    outcome: Outcome = outcomes.power

    def __post_init__(self) -> None:
        for field in fields(self):
            part = getattr(self, field.name)
            if not callable(part) or isinstance(part, type):
                raise RecipeError(f"Recipe: {field.name} must be a function or an instance, got {part!r}")

    @staticmethod
    def default() -> Recipe:
        """The best recipe that we measured; docs/benchmarks.md has the figures, docs/decisions.md why."""
        return Recipe()

    @staticmethod
    def random() -> Recipe:
        """No model: scrambled Sobol points, the baseline of every comparison."""
        return Recipe(initial=Sobol(math.inf))

    @staticmethod
    def paper(
        acquisition: Literal["ucb", "pi", "ei"],
        tau0: float | None = 0.001,
        evaluations: int = 100,
        shortest: float = 0.015,
    ) -> Recipe:
        """The paper's algorithm; tau0=None is plain BO, tau0=0 the control with exact duplicates.

        Raw y, k(x, x) = 1, noise variance 1e-4, ARD squared exponential, maximum likelihood, and DIRECT. The
        paper does not state DIRECT's `evaluations` or the `shortest` length-scale, in widths of the box;
        docs/reproduction.md explains how these were found.
        """
        scores: dict[str, Acquisition] = {
            "ucb": acquisitions.UCB(acquisitions.paper_beta),
            "pi": acquisitions.pi,
            "ei": acquisitions.ei,
        }
        if acquisition not in scores:
            raise RecipeError(f"Recipe.paper: wanted one of {list(scores)}, got {acquisition!r}")
        return Recipe(
            kernel=SquaredExponential(),
            fit=MaximumLikelihood(variance=1.0, noise=1e-4, lengthscale=(shortest, LENGTHSCALES[1])),
            pseudo=policies.none if tau0 is None else policies.Neighbours(tau0, doubt=False),
            acquisition=scores[acquisition],
            search=Direct(evaluations),
            initial=Uniform(5),
            outcome=outcomes.raw,
        )
