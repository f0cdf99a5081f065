from __future__ import annotations

import importlib.util
import itertools
import math
import pickle
import re
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from bopp import Belief, Data
from bopp.acquisition import log_ei, maximum
from bopp.data import Array
from bopp.errors import BoppError, RecipeError
from bopp.gp import GP
from bopp.kernels import Kernel, Matern52, SquaredExponential
from bopp.known import Known
from bopp.pseudo import Cheap, Earlier, Failed, Guesses, Images, Limits, Neighbours, Pending, Policy, none
from bopp.score import AverageScore
from support import coming, documents

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)
    import torch
    from botorch import settings as botorch_settings
    from botorch.acquisition import (
        ExpectedImprovement,
        LogExpectedImprovement,
        ProbabilityOfImprovement,
        UpperConfidenceBound,
        qKnowledgeGradient,
        qLogExpectedImprovement,
        qLogNoisyExpectedImprovement,
    )
    from botorch.acquisition.analytic import LogNoisyExpectedImprovement, LogProbabilityOfImprovement
    from botorch.acquisition.joint_entropy_search import qJointEntropySearch
    from botorch.acquisition.max_value_entropy_search import qLowerBoundMaxValueEntropy, qMaxValueEntropy
    from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
    from botorch.acquisition.multi_objective.logei import (
        qLogExpectedHypervolumeImprovement,
        qLogNoisyExpectedHypervolumeImprovement,
    )
    from botorch.acquisition.predictive_entropy_search import qPredictiveEntropySearch
    from botorch.acquisition.utils import get_optimal_samples
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelList, ModelListGP, MultiTaskGP, SingleTaskGP, SingleTaskVariationalGP
    from botorch.models.additive_gp import OrthogonalAdditiveGP
    from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
    from botorch.models.map_saas import EnsembleMapSaasSingleTaskGP
    from botorch.models.robust_relevance_pursuit_model import RobustRelevancePursuitSingleTaskGP
    from botorch.models.transforms import ChainedOutcomeTransform, Log, Normalize, Standardize
    from botorch.models.transforms.input import InputPerturbation
    from botorch.optim import optimize_acqf
    from botorch.sampling.normal import SobolQMCNormalSampler
    from botorch.sampling.pathwise import draw_matheron_paths
    from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning
    from botorch.utils.transforms import unnormalize
    from gpytorch.constraints import GreaterThan
    from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
    from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
    from gpytorch.means import LinearMean
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from torch import Tensor

    from bopp.bridges.botorch import condition_on_pseudo_points

EXAMPLE = Path(__file__).parents[2] / "examples" / "entropy_search.py"
BOUNDS = torch.tensor([[-1.0, 0.0], [3.0, 5.0]], dtype=torch.double)
UNIT = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.double)

torch.set_num_threads(1)


def points(count: int, bounds: Tensor = BOUNDS, seed: int = 0) -> Tensor:
    U = torch.rand(count, bounds.shape[1], dtype=torch.double, generator=torch.Generator().manual_seed(seed))
    return bounds[0] + (bounds[1] - bounds[0]) * U


def values(X: Tensor) -> Tensor:
    """A smooth function of the points, around 100."""
    return 100.0 + 10.0 * torch.sin(X.sum(dim=1, keepdim=True)) + X[:, :1]


def standard(Y: Tensor) -> Tensor:
    return (Y - Y.mean()) / Y.std()


X = points(12)
Y = values(X)
YVAR = torch.linspace(0.5, 4.0, 12, dtype=torch.double)[:, None]
PENDING = torch.tensor([[1.0, 2.5], [-0.5, 4.0]], dtype=torch.double)
FAILED = torch.tensor([[2.5, 1.0]], dtype=torch.double)
PROBES = points(6, seed=7)


def fitted(model: SingleTaskGP) -> SingleTaskGP:
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def normalised(**settings: Any) -> SingleTaskGP:
    return SingleTaskGP(X, Y, input_transform=Normalize(2, bounds=BOUNDS), **settings)


def matern() -> ScaleKernel:
    return ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=2))


def rbf() -> ScaleKernel:
    return ScaleKernel(RBFKernel(ard_num_dims=2))


def unit() -> Tensor:
    return (X - BOUNDS[0]) / (BOUNDS[1] - BOUNDS[0])


MODELS: dict[str, Callable[[], SingleTaskGP]] = {
    "defaults": lambda: SingleTaskGP(unit(), Y),
    "normalised": normalised,
    "normalised by its data": lambda: SingleTaskGP(X, Y, input_transform=Normalize(2)),
    "without outcome transform": lambda: SingleTaskGP(unit(), standard(Y), outcome_transform=None),
    "log of the outcome": lambda: SingleTaskGP(unit(), standard(Y).exp(), outcome_transform=Log()),
    "fixed noise": lambda: normalised(train_Yvar=YVAR),
    "fixed noise, no outcome transform": lambda: SingleTaskGP(
        unit(), standard(Y), YVAR / 50, outcome_transform=None
    ),
    "Matern": lambda: normalised(covar_module=matern()),
    "RBF": lambda: normalised(covar_module=rbf()),
    "one dimension": lambda: SingleTaskGP(unit()[:, :1], Y),
}


RAW = {
    "without outcome transform": standard(Y),
    "log of the outcome": standard(Y).exp(),
    "fixed noise, no outcome transform": standard(Y),
}


@cache
def model_of(name: str) -> SingleTaskGP:
    return fitted(MODELS[name]())


def bounds_of(model: SingleTaskGP) -> Tensor:
    return BOUNDS if hasattr(model, "input_transform") else UNIT[:, : model.train_inputs[0].shape[1]]


def cube(bounds: Tensor) -> Tensor:
    return UNIT[:, : bounds.shape[1]]


def guess(known: Known) -> Data:
    U = np.linspace(0.1, 0.8, 3)[:, None] * np.ones(known.dimension)
    return Data(U, [1.5, -0.3, 0.2], [0.0, 0.5, 2.0])


def mirror(known: Known) -> Data:
    return Data(1.0 - known.data.X, known.data.y, 0.3)


POLICIES: dict[str, Policy] = {
    "none": none,
    "neighbours": Neighbours(),
    "neighbours at a distance": Neighbours(tau0=3.0),
    "neighbours far away": Neighbours(tau0=8.0, shape="corner", per_point=2),
    "neighbours without doubt": Neighbours(tau0=0.5, doubt=False),
    "pending": Pending("incumbent"),
    "pending at the mean": Pending("posterior"),
    "failed": Failed(),
    "pending and failed": Pending("incumbent") + Failed(),
    "a guess": guess,
    "a mirror": mirror,
    "a sum": Pending("worst") + guess + Neighbours(tau0=1.0),
}


@dataclass
class Recorded:
    """A policy that keeps what it saw and what it gave."""

    policy: Policy
    known: Known = field(init=False, repr=False)
    points: Data = field(init=False, repr=False)

    def __call__(self, known: Known) -> Data:
        self.known, self.points = known, self.policy(known)
        return self.points


def scaled(tensor: Tensor, bounds: Tensor) -> Tensor:
    """Points of the plane of BOUNDS, moved to other bounds."""
    U = (tensor - BOUNDS[0]) / (BOUNDS[1] - BOUNDS[0])
    return bounds[0] + (bounds[1] - bounds[0]) * U[:, : bounds.shape[1]]


def condition(model: SingleTaskGP, policy: Policy, seed: int = 0) -> tuple[SingleTaskGP, Recorded]:
    """The model with the points of the policy, two points pending and one failed; and what the policy did."""
    bounds, recorded = bounds_of(model), Recorded(policy)
    pending, failed = scaled(PENDING, bounds), scaled(FAILED, bounds)
    believed = condition_on_pseudo_points(model, recorded, bounds, pending=pending, failed=failed, seed=seed)
    return believed, recorded


def seen_by_policy(model: SingleTaskGP, bounds: Tensor, **given: Any) -> Known:
    recorded = Recorded(none)
    condition_on_pseudo_points(model, recorded, bounds, **given)
    return recorded.known


def numbers(tensor: Tensor) -> Array:
    return np.asarray(tensor.detach().double().numpy())


def number(tensor: Tensor) -> float:
    return float(tensor.detach())


@dataclass(frozen=True)
class ClosedForm:
    """The posterior of the paper, Eqs. (1) and (2), in NumPy, from the hyper-parameters of a model."""

    model: SingleTaskGP
    X: Array  # raw
    y: Array  # in the unit of the model
    noise: Array

    @staticmethod
    def of(model: SingleTaskGP) -> ClosedForm:
        """Real data only: the raw inputs and what the model was given as values and noises."""
        plain = deepcopy(model).train()
        noise = numbers(plain.likelihood.noise) * np.ones(len(plain.train_targets))
        return ClosedForm(plain, numbers(plain.train_inputs[0]), numbers(plain.train_targets), noise)

    def and_points(self, data: Data, bounds: Tensor) -> ClosedForm:
        lower, upper = numbers(bounds)
        return replace(
            self,
            X=np.vstack([self.X, lower + (upper - lower) * data.X]),
            y=np.concatenate([self.y, data.y]),
            noise=np.concatenate([self.noise, self.noise.min() + data.noise]),
        )

    def kernel(self, A: Array, B: Array) -> Array:
        kernel = self.model.covar_module
        variance = number(kernel.outputscale) if isinstance(kernel, ScaleKernel) else 1.0
        base = kernel.base_kernel if isinstance(kernel, ScaleKernel) else kernel
        a, b = (self.normalise(U) / numbers(base.lengthscale) for U in (A, B))
        r2 = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)
        if isinstance(base, MaternKernel):
            r = np.sqrt(5.0 * r2)
            return np.asarray(variance * (1.0 + r + r**2 / 3.0) * np.exp(-r))
        return np.asarray(variance * np.exp(-r2 / 2.0))

    def normalise(self, A: Array) -> Array:
        if not hasattr(self.model, "input_transform"):
            return A
        transform = self.model.input_transform
        return (A - numbers(transform.offset)) / numbers(transform.coefficient)

    def latent(self, Z: Tensor) -> tuple[Array, Array]:
        """Mean (m,) and covariance (m, m) in the unit of the model."""
        constant = number(self.model.mean_module.constant)
        k, K = self.kernel(numbers(Z), self.X), self.kernel(self.X, self.X) + np.diag(self.noise)
        mean = constant + k @ np.linalg.solve(K, self.y - constant)
        return mean, self.kernel(numbers(Z), numbers(Z)) - k @ np.linalg.solve(K, k.T)

    def __call__(self, Z: Tensor) -> tuple[Array, Array]:
        """Mean (m,) and covariance (m, m) in the unit of the values."""
        mean, covariance = self.latent(Z)
        transform = getattr(self.model, "outcome_transform", None)
        if isinstance(transform, Standardize):
            scale = number(transform.stdvs)
            return mean * scale + number(transform.means), covariance * scale**2
        if isinstance(transform, Log):
            half = np.diag(covariance) / 2.0
            expected = np.exp(mean + half)
            return expected, np.outer(expected, expected) * np.expm1(covariance)
        return mean, covariance


def expected(model: SingleTaskGP, recorded: Recorded) -> ClosedForm:
    return ClosedForm.of(model).and_points(recorded.points, bounds_of(model))


def assert_same_posterior(model: Any, other: Any, Z: Tensor, tolerance: float = 1e-8) -> None:
    ours, theirs = model.posterior(Z), other.posterior(Z)
    scale = number(theirs.variance.max().sqrt())
    np.testing.assert_allclose(numbers(ours.mean), numbers(theirs.mean), rtol=0, atol=tolerance * scale)
    np.testing.assert_allclose(
        numbers(ours.variance), numbers(theirs.variance), rtol=0, atol=tolerance * scale**2
    )


# the closed form


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", MODELS)
def test_the_posterior_is_the_closed_form_with_a_noise_for_each_point(name: str, policy: str) -> None:
    model = model_of(name)
    believed, recorded = condition(model, POLICIES[policy])
    Z = points(20, bounds_of(model), seed=3)
    mean, covariance = expected(model, recorded)(Z)
    posterior = believed.posterior(Z)
    scale = np.sqrt(np.diag(covariance).max())
    np.testing.assert_allclose(numbers(posterior.mean)[:, 0], mean, rtol=0, atol=1e-8 * scale)
    np.testing.assert_allclose(
        numbers(posterior.variance)[:, 0], np.diag(covariance), rtol=0, atol=1e-8 * scale**2
    )


def test_the_policies_of_these_tests_give_points_with_and_without_noise() -> None:
    given = {name: condition(model_of("normalised"), policy)[1].points for name, policy in POLICIES.items()}
    assert [name for name in given if len(given[name]) == 0] == ["none"]
    noisy = {name for name in given if given[name].noise.any()}
    assert noisy == {"neighbours at a distance", "neighbours far away", "a guess", "a mirror", "a sum"}


@pytest.mark.parametrize("policy", ["pending and failed", "a guess"])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "log of the outcome"])
def test_the_covariance_between_points_is_the_closed_form(name: str, policy: str) -> None:
    model = model_of(name)
    believed, recorded = condition(model, POLICIES[policy])
    Z = points(20, bounds_of(model), seed=3)
    covariance = expected(model, recorded)(Z)[1]
    found = numbers(believed.posterior(Z).distribution.covariance_matrix)
    np.testing.assert_allclose(found, covariance, rtol=0, atol=1e-8 * np.diag(covariance).max())


@pytest.mark.parametrize("policy", ["pending and failed", "a guess"])
@pytest.mark.parametrize("name", ["defaults", "fixed noise", "log of the outcome"])
def test_posterior_samples_have_the_mean_and_covariance_of_the_closed_form(name: str, policy: str) -> None:
    model = model_of(name)
    believed, recorded = condition(model, POLICIES[policy])
    Z = scaled(torch.tensor([[-0.9, 0.1], [2.9, 0.2], [-0.8, 4.9], [2.9, 4.8]]).double(), bounds_of(model))
    draws = believed.posterior(Z).rsample_from_base_samples(
        torch.Size([5]), torch.cat([torch.zeros(1, 4), torch.eye(4)]).double()
    )
    form = expected(model, recorded)
    if name == "log of the outcome":
        draws, (mean, covariance) = draws.log(), form.latent(Z)
    else:
        mean, covariance = form(Z)
    sample = numbers(draws)[..., 0]
    root = sample[1:] - sample[0]
    scale = np.diag(covariance).max()
    np.testing.assert_allclose(sample[0], mean, rtol=0, atol=1e-8 * np.sqrt(scale))
    np.testing.assert_allclose(root.T @ root, covariance, rtol=0, atol=1e-8 * scale)


@settings(deadline=None, max_examples=40)
@given(
    rows=st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(-5, 5), st.sampled_from([0.0, 1e-3, 1.0, 1e6])),
        max_size=8,
    ),
    name=st.sampled_from(["defaults", "normalised", "fixed noise", "Matern"]),
)
def test_any_points_give_the_closed_form(rows: list[tuple[float, ...]], name: str) -> None:
    table = np.array(rows).reshape(-1, 4)
    model = model_of(name)
    believed, recorded = condition(model, lambda known: Data(table[:, :2], table[:, 2], table[:, 3]))
    Z = points(5, bounds_of(model), seed=3)
    mean, covariance = expected(model, recorded)(Z)
    prior = number(model.covar_module(torch.zeros(1, 2).double()).to_dense()) * float(Y.var())
    posterior = believed.posterior(Z)
    np.testing.assert_allclose(numbers(posterior.mean)[:, 0], mean, rtol=0, atol=1e-7 * np.sqrt(prior))
    np.testing.assert_allclose(
        numbers(posterior.variance)[:, 0], np.diag(covariance), rtol=0, atol=1e-8 * prior
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["defaults", "Matern", "RBF", "fixed noise", "without outcome transform"])
def test_the_posterior_is_that_of_our_own_engine(name: str, policy: str) -> None:
    model = model_of(name)
    believed, recorded = condition(model, POLICIES[policy])
    covar = model.covar_module
    base = getattr(covar, "base_kernel", covar)
    kernel: Kernel = Matern52() if isinstance(base, MaternKernel) else SquaredExponential()
    noise = numbers(model.likelihood.noise)
    gp = GP(
        kernel,
        numbers(base.lengthscale)[0],
        number(getattr(covar, "outputscale", torch.ones(()))),
        float(noise.min()),
    )
    constant = number(model.mean_module.constant)

    def shifted(data: Data) -> Data:
        return Data(data.X, data.y - constant, data.noise)

    ours = gp.condition(shifted(recorded.known.data)).condition(shifted(recorded.points))
    U = np.random.default_rng(0).random((20, 2))
    mean, sd = ours(U)
    bounds = numbers(bounds_of(model))
    unscaled = deepcopy(believed)
    if hasattr(unscaled, "outcome_transform"):
        del unscaled.outcome_transform
    posterior = unscaled.posterior(torch.tensor(bounds[0] + (bounds[1] - bounds[0]) * U))
    np.testing.assert_allclose(numbers(posterior.mean)[:, 0], mean + constant, rtol=0, atol=1e-8)
    np.testing.assert_allclose(numbers(posterior.variance)[:, 0], sd**2, rtol=0, atol=1e-8)


@pytest.mark.parametrize("policy", ["pending", "pending and failed", "neighbours without doubt"])
@pytest.mark.parametrize("name", ["defaults", "normalised", "normalised by its data", "log of the outcome"])
def test_without_extra_noise_the_posterior_is_that_of_condition_on_observations(
    name: str, policy: str
) -> None:
    model = deepcopy(model_of(name))
    believed, recorded = condition(model, POLICIES[policy])
    Z = points(10, bounds_of(model), seed=3)
    model.posterior(Z)
    bounds = bounds_of(model)
    raw = bounds[0] + (bounds[1] - bounds[0]) * torch.tensor(np.array(recorded.points.X))
    targets = torch.tensor(np.array(recorded.points.y))[:, None]
    theirs = model.condition_on_observations(raw, model.outcome_transform.untransform(targets)[0])
    assert_same_posterior(believed, theirs, Z)


def test_with_fixed_noises_the_posterior_is_that_of_condition_on_observations_with_noise() -> None:
    model = deepcopy(model_of("fixed noise"))
    believed, recorded = condition(model, guess)
    model.posterior(PROBES)
    raw = BOUNDS[0] + (BOUNDS[1] - BOUNDS[0]) * torch.tensor(np.array(recorded.points.X))
    targets = torch.tensor(np.array(recorded.points.y))[:, None]
    noise = model.likelihood.noise.min() + torch.tensor(np.array(recorded.points.noise))[:, None]
    theirs = model.condition_on_observations(
        raw, model.outcome_transform.untransform(targets)[0], noise=noise.detach()
    )
    assert_same_posterior(believed, theirs, PROBES)


def test_a_learned_noise_on_top_of_fixed_ones_counts() -> None:
    likelihood = FixedNoiseGaussianLikelihood(YVAR[:, 0] / 50, learn_additional_noise=True)
    model = fitted(normalised(likelihood=likelihood))
    believed, recorded = condition(model, guess)
    mean, covariance = expected(model, recorded)(PROBES)
    posterior = believed.posterior(PROBES)
    np.testing.assert_allclose(numbers(posterior.mean)[:, 0], mean, rtol=0, atol=1e-6)
    np.testing.assert_allclose(numbers(posterior.variance)[:, 0], np.diag(covariance), rtol=0, atol=1e-6)


# what the policy sees


@pytest.mark.parametrize("name", MODELS)
def test_the_policy_sees_observations_in_the_cube_and_in_the_unit_of_the_model(name: str) -> None:
    model = model_of(name)
    bounds = bounds_of(model)
    known = seen_by_policy(model, bounds)
    real = ClosedForm.of(model)
    lower, upper = numbers(bounds)
    np.testing.assert_allclose(lower + (upper - lower) * known.data.X, real.X, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(known.data.y, real.y)
    np.testing.assert_allclose(known.data.noise, real.noise - real.noise.min(), rtol=0, atol=1e-15)
    assert known.posterior.noise == pytest.approx(real.noise.min())
    assert known.t == len(X)
    assert known.dimension == bounds.shape[1]


def test_the_unit_of_the_model_is_after_its_outcome_transform() -> None:
    np.testing.assert_allclose(
        seen_by_policy(model_of("normalised"), BOUNDS).data.y, numbers(standard(Y))[:, 0]
    )
    logarithms = seen_by_policy(model_of("log of the outcome"), UNIT).data.y
    np.testing.assert_allclose(logarithms, numbers(standard(Y))[:, 0])


@pytest.mark.parametrize("name", MODELS)
def test_the_policy_sees_the_posterior_of_the_model_in_its_unit(name: str) -> None:
    model = model_of(name)
    bounds = bounds_of(model)
    mean, covariance = ClosedForm.of(model).latent(points(9, bounds, seed=5))
    found = seen_by_policy(model, bounds).posterior(numbers(points(9, cube(bounds), seed=5)))
    np.testing.assert_allclose(found[0], mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[1] ** 2, np.diag(covariance), rtol=0, atol=1e-8)


def test_the_posterior_of_no_points_is_empty() -> None:
    mean, sd = seen_by_policy(model_of("normalised"), BOUNDS).posterior(np.empty((0, 2)))
    assert mean.shape == sd.shape == (0,)


@pytest.mark.parametrize("name", MODELS)
def test_the_policy_sees_how_much_the_function_differs_between_points(name: str) -> None:
    model = model_of(name)
    bounds = bounds_of(model)
    A, B = points(5, bounds, seed=1), points(5, bounds, seed=2)
    form = ClosedForm.of(model)
    k = form.kernel(numbers(A), numbers(B)).diagonal()
    same = form.kernel(numbers(A), numbers(A)).diagonal()
    U, V = (numbers(points(5, cube(bounds), seed=seed)) for seed in (1, 2))
    found = seen_by_policy(model, bounds).posterior.difference(U, V)
    np.testing.assert_allclose(found, 2.0 * (same - k), rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_the_scale_makes_targets_of_raw_values(name: str) -> None:
    model = model_of(name)
    known = seen_by_policy(model, bounds_of(model))
    np.testing.assert_allclose(known.scale(numbers(RAW.get(name, Y))[:, 0]), known.data.y, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3,), (2, 3)])
def test_the_scale_keeps_the_shape_of_what_it_is_given(shape: tuple[int, ...]) -> None:
    for name in ("normalised", "without outcome transform", "log of the outcome"):
        known = seen_by_policy(model_of(name), bounds_of(model_of(name)))
        assert known.scale(np.full(shape, 2.0)).shape == shape


def test_the_scale_of_a_chain_of_transforms_is_the_chain() -> None:
    chain = ChainedOutcomeTransform(first=Log(), then=Standardize(1))
    known = seen_by_policy(normalised(outcome_transform=chain), BOUNDS)
    np.testing.assert_allclose(known.scale(numbers(Y)[:, 0]), known.data.y, rtol=0, atol=1e-12)
    np.testing.assert_allclose(known.data.y, numbers(standard(Y.log()))[:, 0], rtol=0, atol=1e-12)


def test_the_policy_sees_pending_and_failed_points_in_the_cube() -> None:
    known = seen_by_policy(model_of("normalised"), BOUNDS, pending=PENDING, failed=FAILED)
    np.testing.assert_allclose(known.pending, [[0.5, 0.5], [0.125, 0.8]], rtol=0, atol=1e-15)
    np.testing.assert_allclose(known.failed, [[0.875, 0.2]], rtol=0, atol=1e-15)


def test_nothing_is_pending_or_failed_unless_given() -> None:
    known = seen_by_policy(model_of("normalised"), BOUNDS)
    assert known.pending.shape == known.failed.shape == (0, 2)
    believed = condition_on_pseudo_points(model_of("normalised"), Pending() + Failed(), BOUNDS)
    assert len(believed.train_targets) == len(X)


def test_the_policy_can_encode_params_named_after_columns() -> None:
    known = seen_by_policy(model_of("normalised"), BOUNDS)
    np.testing.assert_allclose(known.space.encode({"x0": 1.0, "x1": 4.0}), [0.5, 0.8])


def test_the_policy_can_ask_for_the_distribution_of_the_maximum() -> None:
    known = seen_by_policy(model_of("normalised"), BOUNDS)
    assert known.best <= maximum(known).expected < known.best + 3.0


def test_the_same_seed_gives_the_same_points_and_another_one_others() -> None:
    first, second, third = (
        condition(model_of("normalised"), Neighbours(tau0=1.0), seed)[1] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.points.X, second.points.X)
    assert not np.array_equal(first.points.X, third.points.X)


def test_observations_outside_of_the_bounds_stay_in_the_model_unseen_by_the_policy() -> None:
    model = model_of("fixed noise")
    part = torch.tensor([[0.0, 0.0], [2.0, 5.0]], dtype=torch.double)
    inside = (numbers(X[:, 0]) >= 0.0) & (numbers(X[:, 0]) <= 2.0)
    assert inside.any()
    assert not inside[numbers(YVAR).argmin()]
    recorded = Recorded(mirror)
    believed = condition_on_pseudo_points(model, recorded, part)
    real = ClosedForm.of(model)
    np.testing.assert_allclose(2.0 * recorded.known.data.X[:, 0], real.X[inside, 0], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(recorded.known.data.y, real.y[inside])
    np.testing.assert_allclose(recorded.known.data.noise, real.noise[inside] - real.noise.min(), atol=1e-15)
    assert recorded.known.t == inside.sum()
    mean, covariance = real.and_points(recorded.points, part)(PROBES)
    posterior = believed.posterior(PROBES)
    np.testing.assert_allclose(numbers(posterior.mean)[:, 0], mean, rtol=0, atol=1e-7)
    np.testing.assert_allclose(numbers(posterior.variance)[:, 0], np.diag(covariance), rtol=0, atol=1e-7)


def test_an_observation_that_rounding_put_outside_of_the_bounds_is_seen_on_them() -> None:
    corner = torch.cat([X[:5], BOUNDS + torch.tensor([[-1e-13], [1e-13]]).double()])
    known = seen_by_policy(SingleTaskGP(corner, values(corner), input_transform=Normalize(2)), BOUNDS)
    np.testing.assert_array_equal(known.data.X[5:], [[0.0, 0.0], [1.0, 1.0]])


def test_a_pending_point_that_rounding_put_outside_of_the_bounds_is_on_them() -> None:
    known = seen_by_policy(model_of("normalised"), BOUNDS, pending=BOUNDS[1:] + 1e-12)
    np.testing.assert_array_equal(known.pending, [[1.0, 1.0]])


@pytest.mark.parametrize("kind", [torch.int, torch.float, torch.double])
def test_bounds_of_any_kind_of_number_mean_the_same(kind: torch.dtype) -> None:
    known = seen_by_policy(model_of("normalised"), BOUNDS.to(kind), pending=torch.tensor([[1, 4]]))
    np.testing.assert_allclose(known.pending, [[0.5, 0.8]])


# what is refused


@pytest.mark.parametrize(
    "bounds",
    [
        BOUNDS[0],
        BOUNDS[:, :1],
        torch.cat([BOUNDS, BOUNDS]),
        BOUNDS.flip(0),
        BOUNDS * math.nan,
        torch.stack([BOUNDS[0], torch.tensor([3.0, math.inf]).double()]),
        torch.stack([BOUNDS[0], torch.tensor([3.0, 0.0]).double()]),
    ],
    ids=["one row", "one column", "four rows", "upside down", "nan", "infinite", "no width"],
)
def test_wrong_bounds_are_refused(bounds: Tensor) -> None:
    with pytest.raises(RecipeError, match=r"^bounds: wanted \(2, 2\) finite numbers, lower below upper, got"):
        condition_on_pseudo_points(model_of("normalised"), none, bounds)


def test_bounds_without_any_observation_are_refused() -> None:
    with pytest.raises(RecipeError, match=r"^wanted bounds with observations inside, got"):
        condition_on_pseudo_points(model_of("normalised"), none, BOUNDS + 100.0)


@pytest.mark.parametrize("name", ["pending", "failed"])
@pytest.mark.parametrize(
    "wrong",
    [
        PENDING[0],
        PENDING[:, :1],
        PENDING[None],
        PENDING * math.nan,
    ],
    ids=["one row", "one column", "batch", "nan"],
)
def test_what_are_no_points_of_the_search_is_refused(name: str, wrong: Tensor) -> None:
    with pytest.raises(RecipeError, match=rf"^{name}: wanted finite points of shape \(m, 2\), got tensor"):
        condition_on_pseudo_points(model_of("normalised"), none, BOUNDS, **{name: wrong})


@pytest.mark.parametrize("name", ["pending", "failed"])
@pytest.mark.parametrize(
    "more",
    [
        torch.cat([PENDING, BOUNDS[1:] + 0.1]),
        torch.cat([BOUNDS[:1] - 0.1, PENDING]),
        numbers(PENDING),
        PENDING.tolist(),
    ],
    ids=["one above", "one below", "an array", "a list"],
)
def test_points_outside_of_the_bounds_are_left_out(name: str, more: Any) -> None:
    seen = [seen_by_policy(model_of("normalised"), BOUNDS, **{name: given}) for given in (PENDING, more)]
    first, second = (getattr(known, name) for known in seen)
    np.testing.assert_array_equal(second, first)
    assert len(first) == len(PENDING)


def test_no_points_at_all_may_have_no_shape() -> None:
    known = seen_by_policy(model_of("normalised"), BOUNDS, pending=torch.empty(0), failed=[])
    assert known.pending.shape == known.failed.shape == (0, 2)


@pytest.mark.parametrize(
    "policy",
    [
        lambda known: Data(np.full((1, 3), 0.5), [0.0]),
        lambda known: Data([[0.5, math.nan]], [0.0]),
        lambda known: Data([[0.5, 0.5]], [math.inf]),
        lambda known: Data([[0.5, 0.5]], [0.0], [-1.0]),
        lambda known: PENDING,
    ],
    ids=["columns", "nan", "infinite", "negative noise", "no data"],
)
def test_points_that_the_model_cannot_take_are_refused(policy: Policy) -> None:
    with pytest.raises(RecipeError, match="must return"):
        condition_on_pseudo_points(model_of("normalised"), policy, BOUNDS)


TASKS = torch.cat([X, torch.arange(12).double()[:, None] % 2], dim=1)
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "two outputs": (lambda: SingleTaskGP(unit(), torch.cat([Y, -Y], dim=1)), "one output and no batch"),
    "a batch": (lambda: SingleTaskGP(unit().expand(3, 12, 2), Y.expand(3, 12, 1)), "one output and no batch"),
    "an ensemble": (lambda: EnsembleMapSaasSingleTaskGP(unit(), Y), "one output and no batch"),
    "fantasies": (lambda: fantasies(), "one output and no batch"),
    "tasks": (
        lambda: MultiTaskGP(TASKS, Y, task_feature=-1, input_transform=Normalize(3, [0, 1])),
        "MultiTaskGP",
    ),
    # its constructor wants JAX
    "fully Bayesian": (
        lambda: object.__new__(SaasFullyBayesianSingleTaskGP),
        "SaasFullyBayesianSingleTaskGP",
    ),
    "variational": (lambda: SingleTaskVariationalGP(unit(), standard(Y)), "SingleTaskVariationalGP"),
    "a plain list": (lambda: ModelList(normalised(), normalised()), "got ModelList"),
    "tasks in a list": (lambda: ModelListGP(normalised(), REFUSED["tasks"][0]()), "MultiTaskGP"),
    "outliers": (lambda: RobustRelevancePursuitSingleTaskGP(unit(), Y), "wanted Gaussian noise"),
    "no model": (lambda: None, "got NoneType"),
}


def fantasies() -> SingleTaskGP:
    return model_of("normalised").fantasize(PENDING, SobolQMCNormalSampler(torch.Size([3]), seed=0))


@pytest.mark.parametrize("name", REFUSED)
def test_other_models_are_refused(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(RecipeError, match=message):
        condition_on_pseudo_points(make(), none, BOUNDS)


# the model that came in, and the one that comes out


def in_training() -> SingleTaskGP:
    return deepcopy(model_of("normalised")).train()


def in_use() -> SingleTaskGP:
    model = deepcopy(model_of("normalised"))
    model.posterior(PROBES)
    return model


def in_use_with_gradients() -> SingleTaskGP:
    model = deepcopy(model_of("normalised"))
    with botorch_settings.propagate_grads(True):
        model.posterior(PROBES.clone().requires_grad_())
    return model


def with_fixed_noise() -> SingleTaskGP:
    model = deepcopy(model_of("fixed noise"))
    model.posterior(PROBES)
    return model


def insides(model: SingleTaskGP) -> list[Any]:
    modes = [module.training for module in model.modules()]
    tensors = [
        model.train_inputs[0],
        model.train_targets,
        model.likelihood.noise,
        *model.state_dict().values(),
    ]
    return [modes, id(model.prediction_strategy), *(tensor.detach().clone() for tensor in tensors)]


@pytest.mark.parametrize("make", [in_training, in_use, in_use_with_gradients, with_fixed_noise])
@pytest.mark.parametrize("policy", ["pending and failed", "a sum"])
def test_the_model_that_comes_in_stays_as_it_is(make: Callable[[], SingleTaskGP], policy: str) -> None:
    model = make()
    before, believed_before = insides(model), deepcopy(model).posterior(PROBES)
    believed, _ = condition(model, POLICIES[policy])
    believed.posterior(PROBES.clone().requires_grad_()).mean.sum().backward()
    for old, new in zip(before, insides(model), strict=True):
        assert torch.equal(old, new) if isinstance(old, Tensor) else old == new
    believed_after = model.posterior(PROBES)
    assert torch.equal(believed_before.mean, believed_after.mean)
    assert torch.equal(believed_before.variance, believed_after.variance)


@pytest.mark.parametrize("make", [in_training, in_use, in_use_with_gradients, with_fixed_noise])
def test_the_mode_of_the_model_that_comes_in_makes_no_difference(make: Callable[[], SingleTaskGP]) -> None:
    believed, recorded = condition(make(), guess)
    mean, covariance = expected(make(), recorded)(PROBES)
    assert not believed.training
    np.testing.assert_allclose(numbers(believed.posterior(PROBES).mean)[:, 0], mean, rtol=0, atol=1e-7)
    np.testing.assert_allclose(
        numbers(believed.posterior(PROBES).variance)[:, 0], np.diag(covariance), rtol=0, atol=1e-7
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("policy", ["pending and failed", "a sum"])
def test_hyper_parameters_stay_those_of_the_real_data(name: str, policy: str) -> None:
    model = model_of(name)
    believed, recorded = condition(model, POLICIES[policy])
    old, new = model.state_dict(), believed.state_dict()
    if recorded.points.noise.any():
        old = {key: value for key, value in old.items() if not key.startswith("likelihood.")}
    assert len(old) > 2
    assert new.keys() == old.keys()
    assert all(torch.equal(old[key], new[key]) for key in old)


def test_randomness_of_others_stays_as_it_is() -> None:
    state = torch.get_rng_state(), np.random.get_state(legacy=False)["state"]["key"].copy()
    condition(model_of("normalised"), POLICIES["a sum"])
    assert torch.equal(torch.get_rng_state(), state[0])
    np.testing.assert_array_equal(np.random.get_state(legacy=False)["state"]["key"], state[1])


def test_without_extra_noise_the_likelihood_stays_one_of_a_single_noise() -> None:
    believed, _ = condition(model_of("normalised"), Pending() + Failed())
    assert type(believed.likelihood) is GaussianLikelihood
    assert torch.equal(believed.likelihood.noise, model_of("normalised").likelihood.noise)


@pytest.mark.parametrize("name", MODELS)
def test_zero_points_give_the_same_posterior(name: str) -> None:
    model = model_of(name)
    believed, _ = condition(model, none)
    Z = points(6, bounds_of(model), seed=7)
    assert_same_posterior(believed, model, Z, tolerance=1e-12)
    noisy = (each.posterior(Z, observation_noise=True).variance for each in (believed, model))
    torch.testing.assert_close(*noisy, rtol=0, atol=1e-12)


@pytest.mark.parametrize("policy", ["none", "pending", "a guess"])
def test_a_model_with_pseudo_points_is_refused_since_policies_see_real_data_only(policy: str) -> None:
    believed, _ = condition(model_of("normalised"), POLICIES[policy])
    for again in (believed, deepcopy(believed), ModelListGP(model_of("normalised"), believed)):
        with pytest.raises(RecipeError, match=r"got one with pseudo-points: add the policies up with \+"):
            condition_on_pseudo_points(again, none, BOUNDS)


def test_a_model_that_botorch_conditioned_is_taken_with_what_it_saw() -> None:
    model = in_use()
    model = model.condition_on_observations(PENDING, values(PENDING))
    believed, recorded = condition(model, guess)
    assert len(recorded.known.data) == len(X) + 2
    lower, width = numbers(BOUNDS[0]), numbers(BOUNDS[1] - BOUNDS[0])
    np.testing.assert_allclose(lower + width * recorded.known.data.X[-2:], numbers(PENDING), atol=1e-12)
    mean, _ = expected(model, recorded)(PROBES)
    np.testing.assert_allclose(numbers(believed.posterior(PROBES).mean)[:, 0], mean, rtol=0, atol=1e-7)


@pytest.mark.parametrize("policy", ["pending", "a guess"])
def test_a_conditioned_model_can_be_copied_pickled_and_cast(policy: str) -> None:
    believed, _ = condition(model_of("normalised"), POLICIES[policy])
    assert_same_posterior(pickle.loads(pickle.dumps(believed)), believed, PROBES, 1e-12)
    believed.posterior(PROBES.clone().requires_grad_()).mean.sum().backward()
    assert_same_posterior(deepcopy(believed), believed, PROBES, 1e-12)
    single = deepcopy(believed).float().posterior(PROBES.float())
    torch.testing.assert_close(single.mean.double(), believed.posterior(PROBES).mean, rtol=0, atol=0.1)


@pytest.mark.parametrize("policy", ["pending", "a guess"])
def test_the_gradient_of_the_posterior_is_that_of_finite_differences(policy: str) -> None:
    believed, _ = condition(model_of("normalised"), POLICIES[policy])
    z = PROBES[:1].clone().requires_grad_()
    posterior = believed.posterior(z)
    (found,) = torch.autograd.grad(posterior.mean.sum() + posterior.variance.sum(), z)
    for column, step in enumerate(1e-5 * torch.eye(2).double()):
        up, down = believed.posterior(PROBES[:1] + step), believed.posterior(PROBES[:1] - step)
        change = up.mean + up.variance - down.mean - down.variance
        assert number(change) / 2e-5 == pytest.approx(number(found[0, column]), rel=1e-4, abs=1e-4)


def single(policy: Policy) -> tuple[SingleTaskGP, SingleTaskGP]:
    """A model in single precision, before and after."""
    bounds = BOUNDS.float()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The model inputs are of type torch.float32")
        model = SingleTaskGP(X.float(), Y.float(), input_transform=Normalize(2, bounds=bounds))
    given = {"pending": PENDING.float(), "failed": FAILED.float()}
    return model, condition_on_pseudo_points(model, policy, bounds, **given)


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "neighbours without doubt"])
def test_a_model_in_single_precision_stays_in_it(policy: str) -> None:
    recorded = Recorded(POLICIES[policy])
    model, believed = single(recorded)
    posterior = believed.posterior(PROBES.float())
    assert posterior.mean.dtype is torch.float
    assert believed.train_inputs[0].dtype is believed.train_targets.dtype is torch.float
    mean, covariance = ClosedForm.of(model).and_points(recorded.points, BOUNDS)(PROBES)
    np.testing.assert_allclose(numbers(posterior.mean)[:, 0], mean, rtol=0, atol=0.05)
    np.testing.assert_allclose(numbers(posterior.variance)[:, 0], np.diag(covariance), rtol=0, atol=0.05)


NARROW = torch.tensor([[-0.1, -0.1], [0.2, 0.2]])  # whose width rounds up in single precision


def test_a_pending_corner_in_single_precision_is_inside_of_its_bounds() -> None:
    corner = unnormalize(torch.ones(1, 2), NARROW)
    model = SingleTaskGP(unit() * 0.3 - 0.1, Y, input_transform=Normalize(2))
    known = seen_by_policy(model, NARROW, pending=corner)
    np.testing.assert_array_equal(known.pending, [[1.0, 1.0]])


def test_an_observed_corner_in_single_precision_is_seen() -> None:
    design = unnormalize(torch.cat([unit().float(), torch.ones(1, 2)]), NARROW)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The model inputs are of type torch.float32")
        model = SingleTaskGP(design, values(design), input_transform=Normalize(2, bounds=NARROW))
    assert len(seen_by_policy(model, NARROW).data) == 13


def test_a_noise_below_that_of_fixed_noise_models_stays_as_it_is() -> None:
    model = normalised(likelihood=GaussianLikelihood(noise_constraint=GreaterThan(1e-9)))
    model.likelihood.noise = 1e-8
    believed, recorded = condition(model, guess)
    mean, _ = expected(model, recorded)(PROBES)
    np.testing.assert_allclose(numbers(believed.posterior(PROBES).mean)[:, 0], mean, rtol=0, atol=1e-6)


@pytest.mark.parametrize("policy", [Pending("posterior"), Neighbours()])
def test_a_transform_that_makes_several_points_of_one_is_heeded_or_refused(policy: Policy) -> None:
    model = SingleTaskGP(
        unit(), Y, input_transform=InputPerturbation(torch.tensor([[0.0, 0.0], [0.1, 0.1]]).double())
    )
    try:
        believed = condition_on_pseudo_points(model, policy, UNIT, pending=unit()[:3])
    except RecipeError:
        return
    assert len(believed.train_targets) > len(X)


def test_neighbours_work_with_any_kernel_of_botorch() -> None:
    believed = condition_on_pseudo_points(OrthogonalAdditiveGP(unit(), Y), Neighbours(), UNIT)
    assert len(believed.train_targets) == 2 * len(X)


def test_the_expected_difference_counts_the_slope_of_the_mean() -> None:
    model = normalised(mean_module=LinearMean(2))
    model.mean_module.weights.data[:, 0] = torch.tensor([4.0, 0.0])
    A, B = np.array([[0.2, 0.2]]), np.array([[0.7, 0.2]])
    difference = seen_by_policy(model, BOUNDS).posterior.difference(A, B)
    raw = BOUNDS[0] + (BOUNDS[1] - BOUNDS[0]) * torch.tensor(np.vstack([A, B]))
    k = ClosedForm.of(model).kernel(numbers(raw), numbers(raw))
    np.testing.assert_allclose(difference, k[0, 0] + k[1, 1] - 2.0 * k[0, 1] + (4.0 * 0.5) ** 2)


# the belief


def belief_of(name: str) -> Belief:
    return seen_by_policy(model_of(name), bounds_of(model_of(name))).posterior


def rows(name: str, count: int = 7, seed: int = 5) -> Array:
    """Points of the cube of a model, not on its data."""
    return numbers(points(count, cube(bounds_of(model_of(name))), seed))


def theirs(name: str, U: Array) -> Tensor:
    """Points of the cube, as the model takes them."""
    bounds = bounds_of(model_of(name))
    return bounds[0] + (bounds[1] - bounds[0]) * torch.tensor(U)


def in_its_unit(name: str) -> SingleTaskGP:
    """The model of BoTorch, without the transform back to the unit of the values."""
    model = deepcopy(model_of(name)).eval()
    if hasattr(model, "outcome_transform"):
        del model.outcome_transform
    return model


@pytest.mark.parametrize("name", MODELS)
def test_the_mean_alone_is_the_mean_of_the_belief(name: str) -> None:
    belief, U = belief_of(name), rows(name)
    expected = numbers(in_its_unit(name).posterior(theirs(name, U)).mean[:, 0])
    np.testing.assert_allclose(belief.mean(U), expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(belief.mean(U), belief(U)[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("used", [False, True], ids=["at once", "after other questions"])
def test_the_gradient_is_that_of_botorch(name: str, used: bool) -> None:
    belief, U, model = belief_of(name), rows(name), in_its_unit(name)
    if used:
        belief.sample(U, 1, np.random.default_rng(0))
        belief.gradient(U[::-1])
    with torch.no_grad():
        mean, sd, mean_slope, sd_slope = belief.gradient(U)
    at = torch.tensor(U, requires_grad=True)
    bounds = bounds_of(model_of(name))
    posterior = model.posterior(bounds[0] + (bounds[1] - bounds[0]) * at)
    for found, slope, value in [
        (mean, mean_slope, posterior.mean[:, 0]),
        (sd, sd_slope, posterior.variance[:, 0].sqrt()),
    ]:
        np.testing.assert_allclose(found, numbers(value), rtol=0, atol=1e-10)
        expected = torch.autograd.grad(value.sum(), at, retain_graph=True)[0]
        np.testing.assert_allclose(slope, numbers(expected), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_is_the_limit_of_differences(name: str) -> None:
    belief, U = belief_of(name), rows(name)
    _, _, mean_slope, sd_slope = belief.gradient(U)
    for column in range(U.shape[1]):
        step = 1e-5 * np.eye(U.shape[1])[column]
        above, below = belief(U + step), belief(U - step)
        for slope, high, low in zip((mean_slope, sd_slope), above, below, strict=True):
            np.testing.assert_allclose(slope[:, column], (high - low) / 2e-5, rtol=1e-3, atol=1e-4)


def test_the_gradient_at_an_observation_is_finite() -> None:
    for name in ("normalised", "Matern", "RBF"):
        known = seen_by_policy(model_of(name), BOUNDS)
        assert all(np.isfinite(part).all() for part in known.posterior.gradient(known.data.X))


class Unmixed(np.random.Generator):
    """Draws the rows of the unit matrix, which show the factor that they are multiplied with."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def standard_normal(self, size: Any = None, *_: Any, **__: Any) -> Any:
        return np.eye(*size)


@pytest.mark.parametrize("name", MODELS)
def test_samples_have_the_joint_distribution_of_botorch(name: str) -> None:
    belief, U = belief_of(name), rows(name)
    posterior = in_its_unit(name).posterior(theirs(name, U))
    factor = belief.sample(U, len(U), Unmixed()) - numbers(posterior.mean[:, 0])
    covariance = numbers(posterior.distribution.covariance_matrix)
    np.testing.assert_allclose(factor.T @ factor, covariance, rtol=0, atol=1e-9)


def test_samples_are_many_functions_and_follow_from_the_generator() -> None:
    belief, U = belief_of("normalised"), rows("normalised")
    drawn = belief.sample(U, 4000, np.random.default_rng(3))
    mean, sd = belief(U)
    assert drawn.shape == (4000, 7)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, rtol=0, atol=5.0 * sd.max() / math.sqrt(4000))
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.06)
    np.testing.assert_array_equal(belief.sample(U, 4000, np.random.default_rng(3)), drawn)
    assert not np.array_equal(belief.sample(U, 4000, np.random.default_rng(4)), drawn)


def test_samples_at_the_same_point_are_the_same() -> None:
    U = np.full((5, 2), 0.3)
    drawn = belief_of("normalised").sample(U, 3, np.random.default_rng(0))
    np.testing.assert_allclose(drawn, drawn[:, :1] * np.ones(5), rtol=0, atol=1e-4)


def test_a_belief_of_no_points_is_empty() -> None:
    belief, U = belief_of("normalised"), np.empty((0, 2))
    assert belief.mean(U).shape == (0,)
    assert belief.sample(U, 3, np.random.default_rng(0)).shape == (3, 0)
    assert [part.shape for part in belief.gradient(U)] == [(0,), (0,), (0, 2), (0, 2)]
    assert belief.difference(U, U).shape == (0,)


@pytest.mark.parametrize("name", MODELS)
def test_the_noise_of_a_belief_is_the_least_of_the_likelihood(name: str) -> None:
    assert belief_of(name).noise == pytest.approx(number(model_of(name).likelihood.noise.min()))


def seen(name: str) -> tuple[Data, Data]:
    """Two sets of points, the second one with noises."""
    U, V = rows(name, 3, seed=11), rows(name, 2, seed=12)
    return Data(U, [0.5, -1.0, 0.2]), Data(V, [1.5, 0.3], [0.4, 0.0])


@pytest.mark.parametrize("name", MODELS)
def test_a_conditioned_belief_is_that_of_botorch_after_the_same_observations(name: str) -> None:
    first, _ = seen(name)
    model, belief, U = in_its_unit(name), belief_of(name), rows(name)
    model.posterior(theirs(name, U[:1]))  # fills the caches that conditioning wants
    noise = torch.full((3, 1), belief.noise, dtype=torch.double)
    fixed = {"noise": noise} if name.startswith("fixed") else {}
    values = torch.tensor(first.y)[:, None]
    later = model.condition_on_observations(theirs(name, first.X), values, **fixed)
    posterior = later.posterior(theirs(name, U))
    mean, sd = belief.condition(first)(U)
    np.testing.assert_allclose(mean, numbers(posterior.mean[:, 0]), rtol=0, atol=1e-7)
    np.testing.assert_allclose(sd, numbers(posterior.variance[:, 0].sqrt()), rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_seen_in_two_steps_is_believed_as_if_seen_in_one(name: str) -> None:
    (first, second), belief, U = seen(name), belief_of(name), rows(name)
    for steps in ([first, second], [second, first]):
        later = belief.condition(steps[0]).condition(steps[1])
        for found, expected in zip(later(U), belief.condition(first + second)(U), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
        assert later.noise == belief.noise
        np.testing.assert_array_equal(later.difference(U[:3], U[3:6]), belief.difference(U[:3], U[3:6]))


@pytest.mark.parametrize("name", MODELS)
def test_a_belief_stays_as_it_is_when_more_is_seen(name: str) -> None:
    (first, second), belief, U = seen(name), belief_of(name), rows(name)
    before = belief(U)
    belief.condition(first + second)(U)
    np.testing.assert_array_equal(belief(U), before)
    np.testing.assert_allclose(belief.condition(Data.empty(U.shape[1]))(U), before, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["normalised", "fixed noise"])
def test_a_policy_may_ask_what_it_would_believe_after_seeing_more(name: str) -> None:
    def careful(known: Known) -> Data:
        after = known.posterior.condition(guess(known))
        return Data(known.pending, after.mean(known.pending))

    believed, recorded = condition(model_of(name), careful)
    mean, _ = ClosedForm.of(model_of(name)).and_points(guess(recorded.known), BOUNDS).latent(PENDING)
    np.testing.assert_allclose(recorded.points.y, mean, rtol=0, atol=1e-8)
    assert len(believed.train_targets) == len(X) + 2


def test_the_noise_of_a_point_to_come_is_that_of_real_ones_after_two_steps_too() -> None:
    kept = Recorded(none)
    condition_on_pseudo_points(model_of("fixed noise"), kept, BOUNDS)
    first, second = seen("fixed noise")
    later: Any = kept.known.posterior.condition(second).condition(first)
    expected = number(model_of("fixed noise").likelihood.noise.mean())
    assert number(later.model.likelihood.noise.mean()) == pytest.approx(expected)


def test_the_score_of_an_acquisition_of_ours_is_climbed_on_a_model_of_botorch() -> None:
    known, U = seen_by_policy(model_of("normalised"), BOUNDS), rows("normalised")
    score = AverageScore(log_ei, (known,), (1.0,))
    values, slope = score.gradient(U)
    np.testing.assert_allclose(values, score.values(U), rtol=1e-8)
    for column, step in enumerate(1e-6 * np.eye(2)):
        expected = (score.values(U + step) - score.values(U - step)) / 2e-6
        np.testing.assert_allclose(slope[:, column], expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("seed", [-1, 0.5, "0", None])
def test_a_wrong_seed_is_refused(seed: Any) -> None:
    with pytest.raises(RecipeError, match="seed"):
        condition_on_pseudo_points(model_of("normalised"), none, BOUNDS, seed=seed)


# lists of models


def second_objective() -> SingleTaskGP:
    return SingleTaskGP(X, X[:, :1] - X[:, 1:], input_transform=Normalize(2, bounds=BOUNDS))


@cache
def two_objectives() -> ModelListGP:
    return ModelListGP(model_of("normalised"), fitted(second_objective()))


@pytest.mark.parametrize("policy", ["pending", "a sum"])
def test_a_list_of_models_is_conditioned_one_by_one(policy: str) -> None:
    both = condition_on_pseudo_points(two_objectives(), POLICIES[policy], BOUNDS, pending=PENDING, seed=3)
    assert isinstance(both, ModelListGP)
    for member, model in zip(both.models, two_objectives().models, strict=True):
        alone = condition_on_pseudo_points(model, POLICIES[policy], BOUNDS, pending=PENDING, seed=3)
        assert len(member.train_targets) > len(X)
        assert_same_posterior(member, alone, PROBES, 1e-12)
    joint = both.posterior(PROBES)
    assert joint.mean.shape == (6, 2)
    torch.testing.assert_close(joint.mean[:, 1:], both.models[1].posterior(PROBES).mean)


def test_failed_points_reach_every_model_of_a_list() -> None:
    both = condition_on_pseudo_points(two_objectives(), Failed(), BOUNDS, failed=FAILED)
    assert [len(member.train_targets) for member in both.models] == [len(X) + 1] * 2


def test_a_list_that_comes_in_stays_as_it_is() -> None:
    given = two_objectives()
    before = [insides(model) for model in given.models]
    condition_on_pseudo_points(given, POLICIES["a sum"], BOUNDS, pending=PENDING)
    for old, new in zip(itertools.chain(*before), itertools.chain(*map(insides, given.models)), strict=True):
        assert torch.equal(old, new) if isinstance(old, Tensor) else old == new


# acquisition functions

CANDIDATES = points(80, seed=11)
BEST = Y.max() + 1.0
OBJECTIVES = torch.cat([Y, X[:, :1] - X[:, 1:]], dim=1)
REFERENCE = OBJECTIVES.min(dim=0).values


def running() -> Tensor:
    """The candidate (1, 2) that UCB prefers on the plain model; it is under evaluation."""
    scores = UpperConfidenceBound(model_of("normalised"), beta=4.0)(CANDIDATES[:, None])
    return CANDIDATES[scores.argmax()][None]


def sure(known: Known) -> Data:
    return Pending("incumbent")(known)


def unsure(known: Known) -> Data:
    return Data(known.pending, sure(known).y, 0.05)


BELIEFS: dict[str, Policy] = {"without extra noise": sure, "with extra noise": unsure}


def optima(model: Any) -> tuple[Tensor, Tensor]:
    found: tuple[Tensor, Tensor] = get_optimal_samples(
        model, BOUNDS, num_optima=8, raw_samples=64, num_restarts=4
    )
    return found


def partitioning() -> FastNondominatedPartitioning:
    return FastNondominatedPartitioning(REFERENCE, Y=OBJECTIVES)


def improvement(mean: Array, sd: Array, best: float) -> Array:
    u = (mean - best) / sd
    return np.asarray(sd * (norm.pdf(u) + u * norm.cdf(u)))


ANALYTIC: dict[str, tuple[Callable[[Any], Any], Callable[[Array, Array, float], Array]]] = {
    "UCB": (lambda model: UpperConfidenceBound(model, beta=4.0), lambda mean, sd, best: mean + 2.0 * sd),
    "PI": (
        lambda model: ProbabilityOfImprovement(model, BEST),
        lambda mean, sd, best: norm.cdf((mean - best) / sd),
    ),
    "log PI": (
        lambda model: LogProbabilityOfImprovement(model, BEST),
        lambda mean, sd, best: norm.logcdf((mean - best) / sd),
    ),
    "EI": (lambda model: ExpectedImprovement(model, BEST), improvement),
    "log EI": (
        lambda model: LogExpectedImprovement(model, BEST),
        lambda mean, sd, best: np.log(improvement(mean, sd, best)),
    ),
}
SAMPLED: dict[str, Callable[[Any], Any]] = {
    "qLogEI": lambda model: qLogExpectedImprovement(model, BEST),
    "qLogNEI": lambda model: qLogNoisyExpectedImprovement(model, X),
    "MES": lambda model: qMaxValueEntropy(model, CANDIDATES),
    "GIBBON": lambda model: qLowerBoundMaxValueEntropy(model, CANDIDATES),
    "JES": lambda model: qJointEntropySearch(model, *optima(model)),
    "PES": lambda model: qPredictiveEntropySearch(model, optima(model)[0]),
    "KG": lambda model: qKnowledgeGradient(model, num_fantasies=8),
}
OF_TWO: dict[str, Callable[[Any], Any]] = {
    "EHVI": lambda model: ExpectedHypervolumeImprovement(model, REFERENCE.tolist(), partitioning()),
    "qLogEHVI": lambda model: qLogExpectedHypervolumeImprovement(model, REFERENCE, partitioning()),
    "qLogNEHVI": lambda model: qLogNoisyExpectedHypervolumeImprovement(model, REFERENCE, X),
}
OF_FIXED_NOISE: dict[str, Callable[[Any], Any]] = {
    "log NEI": lambda model: LogNoisyExpectedImprovement(model, X, num_fantasies=8),
}
ALL = {**{name: make for name, (make, _) in ANALYTIC.items()}, **SAMPLED, **OF_TWO, **OF_FIXED_NOISE}
legacy = pytest.mark.filterwarnings("ignore:ExpectedImprovement has known:botorch.exceptions.NumericsWarning")


def plain_model(function: str) -> Any:
    if function in OF_TWO:
        return two_objectives()
    return model_of("fixed noise" if function in OF_FIXED_NOISE else "normalised")


def believing(function: str, belief: str) -> Any:
    return condition_on_pseudo_points(plain_model(function), BELIEFS[belief], BOUNDS, pending=running())


def made(function: str, model: Any) -> Any:
    torch.manual_seed(0)
    return ALL[function](model)


def scores(function: str, model: Any, Z: Tensor) -> Tensor:
    acquisition = made(function, model)
    if function == "KG":
        return acquisition.evaluate(Z[:, None], bounds=BOUNDS, num_restarts=2, raw_samples=16)
    with torch.no_grad():
        return acquisition(Z[:, None])


@legacy
@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("function", ANALYTIC)
def test_the_value_of_an_acquisition_function_is_that_of_the_closed_form(function: str, belief: str) -> None:
    recorded = Recorded(BELIEFS[belief])
    believed = condition_on_pseudo_points(model_of("normalised"), recorded, BOUNDS, pending=running())
    mean, covariance = ClosedForm.of(model_of("normalised")).and_points(recorded.points, BOUNDS)(CANDIDATES)
    sd = np.sqrt(np.diag(covariance))
    likely = (mean - number(BEST)) / sd > -4.0  # where a logarithm of the plain formula is exact
    assert likely.sum() > 10
    value = ANALYTIC[function][1](mean[likely], sd[likely], number(BEST))
    found = numbers(scores(function, believed, CANDIDATES))[likely]
    np.testing.assert_allclose(found, value, rtol=1e-8, atol=1e-8)


@legacy
@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("function", ALL)
def test_a_pending_point_makes_its_neighbourhood_less_attractive(function: str, belief: str) -> None:
    Z = running() + torch.tensor([[0.0, 0.0], [0.05, 0.0], [0.0, 0.05]]).double()
    before = scores(function, plain_model(function), Z)
    after = scores(function, believing(function, belief), Z)
    assert before.shape == after.shape == (3,)
    assert after.isfinite().all()
    assert (after < before).all()


def test_the_likelihood_of_these_tests_is_once_of_one_noise_and_once_of_many() -> None:
    kinds = [type(believing("UCB", belief).likelihood) for belief in BELIEFS]
    assert kinds[0] is GaussianLikelihood
    assert issubclass(kinds[1], FixedNoiseGaussianLikelihood)


@legacy
@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("function", [name for name in ALL if name != "PES"])
def test_every_acquisition_function_is_maximised_inside_of_the_bounds(function: str, belief: str) -> None:
    acquisition = made(function, believing(function, belief))
    best, value = optimize_acqf(acquisition, BOUNDS, 1, 2, 16, options={"maxiter": 10})
    assert best.shape == (1, 2)
    assert ((best >= BOUNDS[0]) & (best <= BOUNDS[1])).all()
    assert value.isfinite()


@pytest.mark.parametrize("belief", BELIEFS)
def test_predictive_entropy_search_scores_every_candidate(belief: str) -> None:
    found = scores("PES", believing("PES", belief), CANDIDATES)
    assert found.shape == (80,)
    assert found.isfinite().all()
    assert found.std() > 0.0


@pytest.mark.parametrize("belief", BELIEFS)
def test_sampled_improvement_is_near_the_closed_form(belief: str) -> None:
    believed = believing("qLogEI", belief)
    analytic = scores("log EI", believed, CANDIDATES)
    likely = analytic > -2.0
    assert likely.sum() > 4
    torch.testing.assert_close(
        scores("qLogEI", believed, CANDIDATES)[likely], analytic[likely], rtol=0, atol=0.1
    )


@pytest.mark.parametrize("name", ["normalised", "fixed noise", "without outcome transform"])
@pytest.mark.parametrize("policy", ["none", "pending", "a guess"])
def test_the_noise_of_a_point_to_come_is_that_of_real_observations(name: str, policy: str) -> None:
    model = model_of(name)
    believed, _ = condition(model, POLICIES[policy])
    Z = points(5, bounds_of(model), seed=2)
    added = believed.posterior(Z, observation_noise=True).variance - believed.posterior(Z).variance
    scale = number(model.outcome_transform.stdvs) ** 2 if hasattr(model, "outcome_transform") else 1.0
    noise = number(model.likelihood.noise.mean()) * scale
    np.testing.assert_allclose(numbers(added), noise, rtol=1e-6)


@pytest.mark.parametrize("policy", ["pending", "a guess"])
@pytest.mark.parametrize("name", ["normalised", "fixed noise"])
def test_a_fantasy_has_the_noise_of_real_observations(name: str, policy: str) -> None:
    model = model_of(name)
    believed, recorded = condition(model, POLICIES[policy])
    form = expected(model, recorded)
    fantasy = believed.fantasize(PROBES[:1], SobolQMCNormalSampler(torch.Size([4]), seed=0))
    real = form.noise[: len(X)].mean()
    _, covariance = form.latent(PROBES[:2])
    after = covariance[1, 1] - covariance[0, 1] ** 2 / (covariance[0, 0] + real)
    found = numbers(fantasy.posterior(PROBES[1:2]).variance).ravel() / number(Y.var())
    np.testing.assert_allclose(found, np.full(4, after), rtol=0, atol=1e-8)


@pytest.mark.parametrize("policy", ["pending", "a guess"])
def test_sampled_paths_have_the_posterior_of_the_model(policy: str) -> None:
    believed, recorded = condition(model_of("normalised"), POLICIES[policy])
    torch.manual_seed(0)
    with torch.no_grad():
        paths = draw_matheron_paths(believed, torch.Size([1024]))(PROBES)
    mean, covariance = expected(model_of("normalised"), recorded)(PROBES)
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_array_less(np.abs(numbers(paths).reshape(1024, 6).mean(axis=0) - mean) / sd, 0.2)
    np.testing.assert_allclose(numbers(paths).reshape(1024, 6).std(axis=0) / sd, 1.0, atol=0.25)


# entropy search and FITBO, in examples/entropy_search.py


def test_images_are_points_with_the_values_of_those_observed() -> None:
    model = model_of("normalised")

    def mirrored(known: Known) -> Data:
        X = known.data.X.copy()
        X[:, 0] = 1.0 - X[:, 0]
        return Data(X, known.data.y, known.data.noise)

    found, expected = (
        condition_on_pseudo_points(model, policy, BOUNDS) for policy in (Images(mirror={"x0": 1.0}), mirrored)
    )
    assert_same_posterior(found, expected, points(9, seed=3))


def test_images_of_images_are_points_too() -> None:
    model = model_of("normalised")
    images = Images(mirror={"x0": 1.0}) + Images(mirror={"x1": 2.5})
    together = Images(mirror={"x0": 1.0, "x1": 2.5})
    found, expected = (condition_on_pseudo_points(model, policy, BOUNDS) for policy in (images, together))
    assert len(found.train_targets) == 4 * len(model.train_targets)
    assert_same_posterior(found, expected, points(9, seed=3))


def test_the_images_of_pending_and_failed_points_are_pending_and_failed() -> None:
    recorded = Recorded(none)
    images = Images(mirror={"x0": 1.0})
    condition_on_pseudo_points(
        model_of("normalised"), images + recorded, BOUNDS, pending=PENDING, failed=FAILED
    )
    for seen, at in ((recorded.known.pending, PENDING), (recorded.known.failed, FAILED)):
        U = numbers((at - BOUNDS[0]) / (BOUNDS[1] - BOUNDS[0]))
        np.testing.assert_allclose(seen, np.vstack([U, np.column_stack([1.0 - U[:, 0], U[:, 1]])]))


def test_guesses_of_values_are_points_in_the_unit_of_the_values() -> None:
    model = model_of("normalised")

    def expert(known: Known) -> Data:
        y, off = (
            known.scale(np.array([2.0])),
            (known.scale(np.array([2.5])) - known.scale(np.array([1.5]))) / 2,
        )
        return Data([known.space.encode({"x0": 0.5, "x1": 1.0})], y, off**2)

    guesses = Guesses(values=[({"x0": 0.5, "x1": 1.0}, 2.0, 0.5)])
    found, expected = (condition_on_pseudo_points(model, policy, BOUNDS) for policy in (guesses, expert))
    assert_same_posterior(found, expected, points(9, seed=3))


@pytest.mark.parametrize(
    "source",
    [
        Limits(at_most=1.0),
        Cheap(len),
        Earlier([("minimize", [({"x0": 0.1}, 1.0)] * 3)]),
        Guesses(near={"x0": 0.5}),
        Guesses(values=[({"x0": 0.5}, 1.0, 0.1)], good={"x0": (0.0, 1.0)}),
    ],
)
def test_a_source_that_says_more_than_points_is_refused(source: Policy) -> None:
    wanted = rf"^wanted sources of points alone, got {type(source).__name__}\(.*: values of other"
    for policy in (source, Pending() + source):
        with pytest.raises(RecipeError, match=wanted):
            condition_on_pseudo_points(model_of("normalised"), policy, BOUNDS)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Images(mirror={"rate": 0.5}), r"wanted names among \['x0', 'x1'\], got 'rate'"),
        (Images(exchange=("x0", "x1")), "wanted parameters alike to exchange"),
        (Guesses(values=[({"x0": 9.0}, 1.0, 0.1)]), "'x0': wanted"),
        (Guesses(near={"rate": 0.5}), r"wanted some of the params \['x0', 'x1'\], got \['rate'\]"),
        (Guesses(more="x2"), r"wanted names among \['x0', 'x1'\], got 'x2'"),
    ],
)
def test_a_source_that_does_not_fit_the_bounds_is_refused(source: Policy, words: str) -> None:
    with pytest.raises(BoppError, match=words):
        condition_on_pseudo_points(model_of("normalised"), source, BOUNDS)


@cache
def example() -> Any:
    spec = importlib.util.spec_from_file_location("entropy_search", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LINE = torch.tensor([[0.0], [1.0]], dtype=torch.double)
SEEN = torch.tensor([[0.0], [0.15], [0.45], [0.6], [1.0]], dtype=torch.double)
HEIGHTS = torch.tensor([[0.2], [0.8], [-1.2], [-0.4], [0.9]], dtype=torch.double)
GRID = torch.linspace(0.02, 0.98, 13, dtype=torch.double)[:, None]


def curve(Y: Tensor = HEIGHTS, noise: float = 1e-6) -> SingleTaskGP:
    """A model of one parameter, with hyper-parameters that are set."""
    kernel = RBFKernel()
    kernel.lengthscale = 0.15
    Yvar = torch.full_like(Y, noise)
    return SingleTaskGP(SEEN, Y, Yvar, covar_module=kernel, outcome_transform=None)


def gains(acquisition: Any, Z: Tensor) -> Array:
    with torch.no_grad():
        return numbers(acquisition(Z[:, None]))


def test_entropy_search_never_loses_and_learns_nothing_where_all_is_known() -> None:
    search = example().EntropySearch(curve(), GRID)
    everywhere = gains(search, torch.linspace(0.0, 1.0, 101).double()[:, None])
    assert everywhere.min() >= -1e-12
    assert everywhere.max() > 0.2
    assert gains(search, SEEN).max() < 0.01


@pytest.mark.parametrize("noise", [1e-6, 0.2])
def test_entropy_search_is_the_expected_drop_of_entropy_by_brute_force(noise: float) -> None:
    rng = np.random.default_rng(0)
    model = curve(noise=noise)
    form = ClosedForm.of(model)
    places = torch.tensor([[0.25], [0.3], [0.8], [0.55]], dtype=torch.double)
    found = gains(example().EntropySearch(model, GRID, num_fantasies=64, num_samples=4096), places)

    def entropy_of_maximiser(form: ClosedForm, count: int) -> float:
        mean, covariance = form.latent(GRID)
        root = np.linalg.cholesky(covariance + 1e-10 * np.eye(len(GRID)))
        samples = mean + rng.standard_normal((count, len(GRID))) @ root.T
        p = np.bincount(samples.argmax(axis=1), minlength=len(GRID)) / count
        return float(-np.sum(p[p > 0] * np.log(p[p > 0])))

    now = entropy_of_maximiser(form, 200_000)
    for place, gain in zip(places, found, strict=True):
        mean, variance = form.latent(place[None])
        later = []
        for y in mean[0] + math.sqrt(variance[0, 0] + noise) * rng.standard_normal(400):
            fantasy = Data(numbers(place[None]), [y], form.noise[0] - form.noise.min())
            later.append(entropy_of_maximiser(form.and_points(fantasy, LINE), 2000))
        assert gain == pytest.approx(now - np.mean(later), abs=float(4.0 * np.std(later) / 20.0 + 0.01))


def test_fantasies_stand_for_equal_shares_of_what_y_may_be() -> None:
    fantasies = numbers(example().EntropySearch(curve(), GRID, num_fantasies=5).fantasies)
    np.testing.assert_allclose(norm.cdf(fantasies), [0.1, 0.3, 0.5, 0.7, 0.9])


MEANS = torch.tensor([[0.0, 0.0, 0.0], [-1.0, 0.5, 2.0], [-50.0, 0.0, 50.0]], dtype=torch.double)
VARIANCES = torch.tensor([[2.0, 2.0, 2.0], [0.04, 1.0, 4.0], [1.0, 2.0, 3.0]], dtype=torch.double)
WEIGHTS = torch.tensor([0.2, 0.5, 0.3], dtype=torch.double)


def test_the_entropy_of_a_mixture_is_that_of_a_sample() -> None:
    found = numbers(example().mixture_entropy(MEANS, VARIANCES, WEIGHTS))
    rng = np.random.default_rng(0)
    for mean, variance, value in zip(numbers(MEANS), numbers(VARIANCES), found, strict=True):
        member = rng.choice(3, size=200_000, p=numbers(WEIGHTS))
        y = rng.normal(mean[member], np.sqrt(variance[member]))
        surprise = -np.log(norm.pdf(y[:, None], mean, np.sqrt(variance)) @ numbers(WEIGHTS))
        assert value == pytest.approx(surprise.mean(), abs=4.0 * surprise.std() / math.sqrt(len(y)))


def test_the_entropy_of_a_mixture_is_exact_where_its_members_are_equal_or_far_apart() -> None:
    equal, _, apart = numbers(example().mixture_entropy(MEANS, VARIANCES, WEIGHTS))
    members = 0.5 * np.log(2.0 * math.pi * math.e * numbers(VARIANCES))
    w = numbers(WEIGHTS)
    assert equal == pytest.approx(members[0, 0], abs=1e-9)
    assert apart == pytest.approx(members[2] @ w - w @ np.log(w), abs=1e-9)


def under(etas: Tensor) -> list[SingleTaskGP]:
    """For each eta, the model of g, of which the heights are eta - g^2 / 2."""
    return [curve(-(2.0 * (eta - HEIGHTS)).sqrt()) for eta in etas]


ETAS = torch.tensor([1.0, 1.5, 3.0], dtype=torch.double)


def test_fitbo_learns_nothing_where_all_is_known() -> None:
    fitbo = example().FITBO(under(ETAS), ETAS, WEIGHTS, noise=1e-3)
    everywhere = gains(fitbo, torch.linspace(0.0, 1.0, 101).double()[:, None])
    assert everywhere.min() >= -1e-9
    assert everywhere.max() > 0.05
    assert np.abs(gains(fitbo, SEEN)).max() < 1e-3


def test_fitbo_learns_nothing_where_eta_makes_no_difference() -> None:
    same = torch.full((3,), 1.5, dtype=torch.double)
    assert np.abs(gains(example().FITBO(under(same), same, WEIGHTS, noise=1e-3), GRID)).max() < 1e-9


def test_fitbo_is_the_entropy_of_the_mixture_less_that_of_its_members_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    place = torch.tensor([[0.8]], dtype=torch.double)
    moments = [ClosedForm.of(model).latent(place) for model in under(ETAS)]
    m, v = np.array([mean[0] for mean, _ in moments]), np.array([cov[0, 0] for _, cov in moments])
    member = rng.choice(3, size=400_000, p=numbers(WEIGHTS))
    g = m + np.sqrt(v) * rng.standard_normal((len(member), 1))
    linearised = numbers(ETAS) - m**2 / 2.0 - m * (g - m)
    y = linearised[np.arange(len(member)), member] + math.sqrt(0.01) * rng.standard_normal(len(member))
    mean, sd = numbers(ETAS) - m**2 / 2.0, np.sqrt(m**2 * v + 0.01)
    each = norm.pdf(y[:, None], mean, sd)
    ratio = np.log(each[np.arange(len(member)), member] / (each @ numbers(WEIGHTS)))
    (found,) = gains(example().FITBO(under(ETAS), ETAS, WEIGHTS, noise=0.01), place)
    assert found == pytest.approx(ratio.mean(), abs=4.0 * ratio.std() / math.sqrt(len(y)))
    assert found > 0.05


@cache
def branin() -> tuple[SingleTaskGP, Tensor, Tensor]:
    X = points(10, example().BOUNDS, seed=1)
    Y = example().PROBLEM(X).unsqueeze(1)
    return example().fitted(X, Y), X, Y


def test_the_models_of_fitbo_describe_the_values_and_prefer_large_ones() -> None:
    model, X, Y = branin()
    fitbo = example().make_fitbo(model, X, Y, lambda model: model)
    assert len(fitbo.models) == len(fitbo.etas) == 8
    assert (fitbo.etas > Y.max()).all()
    for eta, of_g in zip(fitbo.etas, fitbo.models, strict=True):
        g, _ = of_g.outcome_transform.untransform(of_g.train_targets[:, None])
        torch.testing.assert_close(eta - g**2 / 2.0, Y)
        assert torch.equal(g.argsort(dim=0), Y.argsort(dim=0))


def test_the_etas_of_fitbo_are_weighted_by_the_likelihood_of_the_values() -> None:
    model, X, Y = branin()
    fitbo = example().make_fitbo(model, X, Y, lambda model: model)
    logs = []
    for eta, of_g in zip(fitbo.etas, fitbo.models, strict=True):
        form, transform = ClosedForm.of(of_g), of_g.outcome_transform
        g = -np.sqrt(2.0 * (number(eta) - numbers(Y)[:, 0]))
        mean = number(of_g.mean_module.constant) * number(transform.stdvs) + number(transform.means)
        covariance = (form.kernel(form.X, form.X) + np.diag(form.noise)) * number(transform.stdvs) ** 2
        log_p = multivariate_normal(np.full(10, mean), covariance).logpdf(g) - np.log(np.abs(g)).sum()
        priors = [prior.log_prob(closure(module)) for _, module, prior, closure, _ in of_g.named_priors()]
        logs.append(log_p + sum(number(prior.sum()) for prior in priors))
    weights = np.exp(logs - np.max(logs))
    np.testing.assert_allclose(numbers(fitbo.weights), weights / weights.sum(), rtol=1e-6)


@pytest.mark.parametrize("function", ["ES", "FITBO"])
@pytest.mark.parametrize("belief", BELIEFS)
def test_a_pending_point_leaves_less_to_learn_around_it(function: str, belief: str) -> None:
    model, X, Y = branin()
    bounds = example().BOUNDS
    candidates = points(100, bounds, seed=2)

    def made(change: Callable[[SingleTaskGP], SingleTaskGP]) -> Any:
        if function == "FITBO":
            return example().make_fitbo(model, X, Y, change)
        return example().EntropySearch(change(model), candidates[:50])

    def conditioned(model: SingleTaskGP) -> SingleTaskGP:
        return condition_on_pseudo_points(model, BELIEFS[belief], bounds, pending=place)

    plain = made(lambda model: model)
    place = candidates[gains(plain, candidates).argmax()][None]
    around = place + 0.1 * torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]).double()
    assert (gains(made(conditioned), around) < 0.8 * gains(plain, around)).all()


def test_the_example_prints_what_each_function_suggests(capsys: pytest.CaptureFixture[str]) -> None:
    example().main()
    first, *rest = capsys.readouterr().out.splitlines()
    number = r"(-?\d+\.\d\d)"
    pending = re.fullmatch(rf"pending: \({number}, {number}\); suggested without and with it .*:", first)
    assert pending is not None
    rows = [
        re.fullmatch(rf"(\w+) +\( ?{number}, +{number}\)  \( ?{number}, +{number}\)", line) for line in rest
    ]
    found = {row[1]: row.groups()[1:] for row in rows if row is not None}
    assert list(found) == ["UCB", "PI", "EI", "MES", "PES", "ES", "FITBO"]
    assert len(found) == len(rest)
    lower, upper = numbers(example().BOUNDS)
    for row in found.values():
        places = np.array(row, dtype=float).reshape(2, 2)
        assert ((places >= lower) & (places <= upper)).all()
        assert row[2:] != pending.groups()
    assert found["EI"][:2] == pending.groups()


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    documents.run("docs/bridges/botorch.md")
    assert len(documents.blocks("docs/bridges/botorch.md")) >= 3


def test_who_comes_from_ax_finds_as_good_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert max(coming.errors("Ax")) < coming.GOOD
