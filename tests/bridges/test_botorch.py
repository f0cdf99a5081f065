from __future__ import annotations

import importlib.util
import math
import pickle
import re
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from bopp import Belief, Data
from bopp.data import Array
from bopp.errors import BoppError, RecipeError
from bopp.known import Known
from bopp.pseudo import Cheap, Earlier, Failed, Guesses, Images, Limits, Neighbours, Pending, Policy, none
from support.bridge_conformance import ComingConformance

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)
    import torch
    from botorch import settings as botorch_settings
    from botorch.acquisition import (
        LogExpectedImprovement,
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
    from botorch.sampling.normal import SobolQMCNormalSampler
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


def unit() -> Tensor:
    return (X - BOUNDS[0]) / (BOUNDS[1] - BOUNDS[0])


MODELS: dict[str, Callable[[], SingleTaskGP]] = {
    "defaults": lambda: SingleTaskGP(unit(), Y),
    "normalised": normalised,
    "normalised by its data": lambda: SingleTaskGP(X, Y, input_transform=Normalize(2)),
    "without outcome transform": lambda: SingleTaskGP(unit(), standard(Y), outcome_transform=None),
    "log of the outcome": lambda: SingleTaskGP(unit(), standard(Y).exp(), outcome_transform=Log()),
    "fixed noise": lambda: normalised(train_Yvar=YVAR),
    "fixed noise, as it is": lambda: SingleTaskGP(unit(), standard(Y), YVAR / 50, outcome_transform=None),
    "Matern": lambda: normalised(covar_module=ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=2))),
    "RBF": lambda: normalised(covar_module=ScaleKernel(RBFKernel(ard_num_dims=2))),
    "one dimension": lambda: SingleTaskGP(unit()[:, :1], Y),
}
RAW = {"log of the outcome": standard(Y).exp()}
RAW |= dict.fromkeys(["without outcome transform", "fixed noise, as it is"], standard(Y))


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


def moved(U: Any, bounds: Tensor) -> Tensor:
    """Points of the unit cube, moved to the bounds."""
    return bounds[0] + (bounds[1] - bounds[0]) * torch.tensor(np.array(U))


def scaled(tensor: Tensor, bounds: Tensor) -> Tensor:
    """Points of the plane of BOUNDS, moved to other bounds."""
    return moved(numbers((tensor - BOUNDS[0]) / (BOUNDS[1] - BOUNDS[0]))[:, : bounds.shape[1]], bounds)


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


def assert_same_posterior(model: Any, other: Any, Z: Tensor, tolerance: float = 1e-9) -> None:
    mean, variance = (numbers(one)[:, 0] for one in (other.posterior(Z).mean, other.posterior(Z).variance))
    assert_posterior(model, (mean, np.diag(variance)), Z, tolerance)


def assert_posterior(model: Any, moments: tuple[Array, Array], Z: Tensor, tolerance: float = 1e-9) -> None:
    """That the mean and the variance of a model are those given; the tolerance is in standard deviations."""
    posterior, (mean, covariance) = model.posterior(Z), moments
    scale = float(np.sqrt(np.diag(covariance).max()))
    found, variance = (numbers(one)[:, 0] for one in (posterior.mean, posterior.variance))
    np.testing.assert_allclose(found, mean, rtol=0, atol=tolerance * scale)
    np.testing.assert_allclose(variance, np.diag(covariance), rtol=0, atol=tolerance * scale**2)


def no_policy(known: Known) -> Any:
    return PENDING


class TestConformance(ComingConformance):
    page = "docs/bridges/botorch.md"
    libraries: ClassVar = ["Ax"]
    wrong: ClassVar = {
        "seed": [-1, 0.5, "0"],
        "bounds": [BOUNDS[0], BOUNDS[:, :1], torch.cat([BOUNDS, BOUNDS]), BOUNDS.flip(0), BOUNDS * math.nan]
        + [torch.stack([BOUNDS[0], torch.tensor([3.0, end]).double()]) for end in (math.inf, 0.0)]
        + [BOUNDS + 100.0],  # without any observation
        "pending": [PENDING[0], PENDING[:, :1], PENDING[None], PENDING * math.nan],
        "failed": [PENDING[0], PENDING[:, :1], PENDING[None], PENDING * math.nan],
        "policy": [no_policy],
    }

    def begin(self, **settings: Any) -> None:
        given = {"model": model_of("normalised"), "policy": none, "bounds": BOUNDS}
        condition_on_pseudo_points(**{**given, **settings})


# the closed form


def test_the_policies_of_these_tests_give_points_with_and_without_noise() -> None:
    given = {name: condition(model_of("normalised"), policy)[1].points for name, policy in POLICIES.items()}
    assert [name for name in given if len(given[name]) == 0] == ["none"]
    noisy = {name for name in given if given[name].noise.any()}
    assert noisy == {"neighbours at a distance", "neighbours far away", "a guess", "a mirror", "a sum"}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", MODELS)
def test_the_posterior_is_the_closed_form_with_a_noise_for_each_point(name: str, policy: str) -> None:
    model = model_of(name)
    believed, recorded = condition(model, POLICIES[policy])
    Z = points(20, bounds_of(model), seed=3)
    moments = expected(model, recorded)(Z)
    assert_posterior(believed, moments, Z)
    if name != "log of the outcome":
        found = numbers(believed.posterior(Z).distribution.covariance_matrix)
        np.testing.assert_allclose(found, moments[1], rtol=0, atol=1e-8 * np.diag(moments[1]).max())


@settings(deadline=None, max_examples=40)
@given(
    rows=st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(-5, 5), st.sampled_from([0.0, 1e-3, 1.0, 1e6])),
        max_size=8,
    ),
    name=st.sampled_from(["defaults", "normalised", "fixed noise", "Matern"]),
)
def test_any_points_give_the_closed_form(rows: list[tuple[float, ...]], name: str) -> None:
    table, model = np.array(rows).reshape(-1, 4), model_of(name)
    believed, recorded = condition(model, lambda known: Data(table[:, :2], table[:, 2], table[:, 3]))
    Z = points(5, bounds_of(model), seed=3)
    mean, covariance = expected(model, recorded)(Z)
    prior = number(model.covar_module(torch.zeros(1, 2).double()).to_dense()) * float(Y.var())
    posterior = believed.posterior(Z)
    np.testing.assert_allclose(numbers(posterior.mean)[:, 0], mean, rtol=0, atol=1e-7 * np.sqrt(prior))
    found = numbers(posterior.variance)[:, 0]
    np.testing.assert_allclose(found, np.diag(covariance), rtol=0, atol=1e-8 * prior)


def test_a_learned_noise_on_top_of_fixed_ones_counts() -> None:
    likelihood = FixedNoiseGaussianLikelihood(YVAR[:, 0] / 50, learn_additional_noise=True)
    model = fitted(normalised(likelihood=likelihood))
    believed, recorded = condition(model, guess)
    assert_posterior(believed, expected(model, recorded)(PROBES), PROBES, 1e-7)


# what the policy sees


@pytest.mark.parametrize("name", MODELS)
def test_the_policy_sees_the_data_and_the_belief_of_the_model_in_its_unit(name: str) -> None:
    model, bounds = model_of(name), bounds_of(model_of(name))
    known, real = seen_by_policy(model, bounds), ClosedForm.of(model)
    np.testing.assert_allclose(numbers(moved(known.data.X, bounds)), real.X, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(known.data.y, real.y)
    np.testing.assert_allclose(known.data.noise, real.noise - real.noise.min(), rtol=0, atol=1e-15)
    np.testing.assert_allclose(known.scale(numbers(RAW.get(name, Y))[:, 0]), known.data.y, rtol=0, atol=1e-12)
    assert all(known.scale(np.full(shape, 2.0)).shape == shape for shape in ((), (1,), (0,), (2, 3)))
    assert known.posterior.noise == pytest.approx(real.noise.min())
    assert (known.t, known.dimension) == (len(X), bounds.shape[1])

    U, V = (numbers(points(9, cube(bounds), seed=seed)) for seed in (5, 2))
    mean, covariance = real.latent(moved(U, bounds))
    found = known.posterior(U)
    np.testing.assert_allclose(found[0], mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[1] ** 2, np.diag(covariance), rtol=0, atol=1e-8)
    np.testing.assert_allclose(known.posterior.mean(U), mean, rtol=0, atol=1e-8)
    A, B = (numbers(moved(one, bounds)) for one in (U, V))
    expected = 2.0 * (real.kernel(A, A) - real.kernel(A, B)).diagonal()
    np.testing.assert_allclose(known.posterior.difference(U, V), expected, rtol=0, atol=1e-8)


def test_the_scale_of_a_chain_of_transforms_is_the_chain() -> None:
    chain = ChainedOutcomeTransform(first=Log(), then=Standardize(1))
    known = seen_by_policy(normalised(outcome_transform=chain), BOUNDS)
    np.testing.assert_allclose(known.scale(numbers(Y)[:, 0]), known.data.y, rtol=0, atol=1e-12)
    np.testing.assert_allclose(known.data.y, numbers(standard(Y.log()))[:, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [torch.int, torch.float, torch.double])
def test_the_policy_sees_pending_and_failed_points_in_the_cube(kind: torch.dtype) -> None:
    bounds, model = BOUNDS.to(kind), model_of("normalised")
    known = seen_by_policy(model, bounds, pending=PENDING, failed=FAILED)
    np.testing.assert_allclose(known.pending, [[0.5, 0.5], [0.125, 0.8]], rtol=0, atol=1e-15)
    np.testing.assert_allclose(known.failed, [[0.875, 0.2]], rtol=0, atol=1e-15)
    np.testing.assert_allclose(known.space.encode({"x0": 1.0, "x1": 4.0}), [0.5, 0.8])
    for nothing in ({}, {"pending": torch.empty(0), "failed": []}):
        known = seen_by_policy(model, bounds, **nothing)
        assert known.pending.shape == known.failed.shape == (0, 2)
    believed = condition_on_pseudo_points(model, Pending() + Failed(), bounds)
    assert len(believed.train_targets) == len(X)


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
    data, real = recorded.known.data, ClosedForm.of(model)
    np.testing.assert_allclose(2.0 * data.X[:, 0], real.X[inside, 0], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(data.y, real.y[inside])
    np.testing.assert_allclose(data.noise, real.noise[inside] - real.noise.min(), atol=1e-15)
    assert recorded.known.t == inside.sum()
    assert_posterior(believed, real.and_points(recorded.points, part)(PROBES), PROBES)


NARROW = torch.tensor([[-0.1, -0.1], [0.2, 0.2]])  # whose width rounds up in single precision


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
@pytest.mark.parametrize("narrow", [False, True], ids=["double", "single"])
def test_what_rounding_put_outside_of_the_bounds_is_on_them(narrow: bool) -> None:
    bounds = NARROW if narrow else BOUNDS
    above = unnormalize(torch.ones(1, 2), NARROW) if narrow else BOUNDS[1:] + 1e-12
    design = torch.cat([moved(numbers(unit()), bounds).to(bounds), above])
    model = SingleTaskGP(design, values(design), input_transform=Normalize(2, bounds=bounds))
    known = seen_by_policy(model, bounds, pending=above)
    np.testing.assert_array_equal(known.pending, [[1.0, 1.0]])
    assert len(known.data) == 13
    np.testing.assert_array_equal(known.data.X[-1:], [[1.0, 1.0]])


# what is refused


@pytest.mark.parametrize("name", ["pending", "failed"])
def test_points_outside_of_the_bounds_are_left_out(name: str) -> None:
    given = [torch.cat([PENDING, BOUNDS[1:] + 0.1]), torch.cat([BOUNDS[:1] - 0.1, PENDING]), PENDING.tolist()]
    for one in (PENDING, numbers(PENDING), *given):
        known = seen_by_policy(model_of("normalised"), BOUNDS, **{name: one})
        np.testing.assert_allclose(getattr(known, name), [[0.5, 0.5], [0.125, 0.8]], rtol=0, atol=1e-15)


TASKS = torch.cat([X, torch.arange(12).double()[:, None] % 2], dim=1)
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "two outputs": (lambda: SingleTaskGP(unit(), torch.cat([Y, -Y], dim=1)), "one output"),
    "a batch": (lambda: SingleTaskGP(unit().expand(3, 12, 2), Y.expand(3, 12, 1)), "batch"),
    "an ensemble": (lambda: EnsembleMapSaasSingleTaskGP(unit(), Y), "batch"),
    "fantasies": (lambda: fantasies(), "batch"),
    "tasks": (lambda: MultiTaskGP(TASKS, Y, -1, input_transform=Normalize(3, [0, 1])), "MultiTaskGP"),
    "fully Bayesian": (lambda: object.__new__(SaasFullyBayesianSingleTaskGP), "Saas"),  # needs JAX to be made
    "variational": (lambda: SingleTaskVariationalGP(unit(), standard(Y)), "SingleTaskVariationalGP"),
    "a plain list": (lambda: ModelList(normalised(), normalised()), "ModelList"),
    "tasks in a list": (lambda: ModelListGP(normalised(), REFUSED["tasks"][0]()), "MultiTaskGP"),
    "outliers": (lambda: RobustRelevancePursuitSingleTaskGP(unit(), Y), "Gaussian noise"),
    "no model": (lambda: None, "NoneType"),
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


def in_use(name: str = "normalised", gradients: bool = False) -> SingleTaskGP:
    model = deepcopy(model_of(name))
    with botorch_settings.propagate_grads(gradients):
        model.posterior(PROBES.clone().requires_grad_(gradients))
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


@pytest.mark.parametrize(
    "make", [in_training, in_use, lambda: in_use(gradients=True), lambda: in_use("fixed noise")]
)
@pytest.mark.parametrize("policy", ["pending and failed", "a sum"])
def test_the_model_that_comes_in_stays_as_it_is_and_its_mode_makes_no_difference(
    make: Callable[[], SingleTaskGP], policy: str
) -> None:
    model = make()
    before, believed_before = insides(model), deepcopy(model).posterior(PROBES)
    believed, recorded = condition(model, POLICIES[policy])
    assert not believed.training
    assert_posterior(believed, expected(model, recorded)(PROBES), PROBES)
    believed.posterior(PROBES.clone().requires_grad_()).mean.sum().backward()
    assert_untouched(before, insides(model))
    believed_after = model.posterior(PROBES)
    assert torch.equal(believed_before.mean, believed_after.mean)
    assert torch.equal(believed_before.variance, believed_after.variance)


def assert_untouched(before: list[Any], after: list[Any]) -> None:
    for old, new in zip(before, after, strict=True):
        assert torch.equal(old, new) if isinstance(old, Tensor) else old == new


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("policy", ["pending and failed", "a sum"])
def test_hyper_parameters_stay_those_of_the_real_data(name: str, policy: str) -> None:
    model = model_of(name)
    believed, recorded = condition(model, POLICIES[policy])
    old, new = model.state_dict(), believed.state_dict()
    has_noises = recorded.points.noise.any() or name.startswith("fixed noise")
    assert isinstance(believed.likelihood, FixedNoiseGaussianLikelihood if has_noises else GaussianLikelihood)
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


@pytest.mark.parametrize("policy", ["none", "pending", "a guess"])
def test_a_model_with_pseudo_points_is_refused_since_policies_see_real_data_only(policy: str) -> None:
    believed, _ = condition(model_of("normalised"), POLICIES[policy])
    for again in (believed, deepcopy(believed), ModelListGP(model_of("normalised"), believed)):
        with pytest.raises(RecipeError, match="pseudo-points"):
            condition_on_pseudo_points(again, none, BOUNDS)


def test_a_model_that_botorch_conditioned_is_taken_with_what_it_saw() -> None:
    model = in_use().condition_on_observations(PENDING, values(PENDING))
    believed, recorded = condition(model, guess)
    seen = recorded.known.data.X
    assert len(seen) == len(X) + 2
    np.testing.assert_allclose(numbers(moved(seen[-2:], BOUNDS)), numbers(PENDING), atol=1e-12)
    assert_posterior(believed, expected(model, recorded)(PROBES), PROBES)


@pytest.mark.parametrize("policy", ["pending", "a guess"])
def test_a_conditioned_model_can_be_copied_pickled_and_cast(policy: str) -> None:
    believed, _ = condition(model_of("normalised"), POLICIES[policy])
    assert_same_posterior(pickle.loads(pickle.dumps(believed)), believed, PROBES, 1e-12)
    believed.posterior(PROBES.clone().requires_grad_()).mean.sum().backward()
    assert_same_posterior(deepcopy(believed), believed, PROBES, 1e-12)
    single = deepcopy(believed).float().posterior(PROBES.float())
    torch.testing.assert_close(single.mean.double(), believed.posterior(PROBES).mean, rtol=0, atol=0.1)


@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "neighbours without doubt"])
def test_a_model_in_single_precision_stays_in_it(policy: str) -> None:
    bounds, recorded = BOUNDS.float(), Recorded(POLICIES[policy])
    model = SingleTaskGP(X.float(), Y.float(), input_transform=Normalize(2, bounds=bounds))
    given = {"pending": PENDING.float(), "failed": FAILED.float()}
    believed = condition_on_pseudo_points(model, recorded, bounds, **given)
    assert believed.posterior(PROBES.float()).mean.dtype is torch.float
    assert believed.train_inputs[0].dtype is believed.train_targets.dtype is torch.float
    moments = ClosedForm.of(model).and_points(recorded.points, BOUNDS)(PROBES)
    assert_posterior(believed, moments, PROBES.float(), 0.01)


def test_a_noise_below_that_of_fixed_noise_models_stays_as_it_is() -> None:
    model = normalised(likelihood=GaussianLikelihood(noise_constraint=GreaterThan(1e-9)))
    model.likelihood.noise = 1e-8
    believed, recorded = condition(model, guess)
    assert_posterior(believed, expected(model, recorded)(PROBES), PROBES, 1e-6)


@pytest.mark.parametrize("policy", [Pending("posterior"), Neighbours()])
def test_a_transform_that_makes_several_points_of_one_is_refused(policy: Policy) -> None:
    transform = InputPerturbation(torch.tensor([[0.0, 0.0], [0.1, 0.1]]).double())
    model = SingleTaskGP(unit(), Y, input_transform=transform)
    with pytest.raises(RecipeError, match="transform"):
        condition_on_pseudo_points(model, policy, UNIT, pending=unit()[:3])


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
    return moved(U, bounds_of(model_of(name)))


def in_its_unit(name: str) -> SingleTaskGP:
    """The model of BoTorch, without the transform back to the unit of the values."""
    model = deepcopy(model_of(name)).eval()
    if hasattr(model, "outcome_transform"):
        del model.outcome_transform
    return model


@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_is_that_of_botorch_also_after_other_questions(name: str) -> None:
    belief, U, model = belief_of(name), rows(name), in_its_unit(name)
    with torch.no_grad():
        found = belief.gradient(U)
    belief.sample(U, 1, np.random.default_rng(0))
    belief.gradient(U[::-1])
    again = belief.gradient(U)
    at, bounds = torch.tensor(U, requires_grad=True), bounds_of(model_of(name))
    posterior = model.posterior(bounds[0] + (bounds[1] - bounds[0]) * at)
    values = [posterior.mean[:, 0], posterior.variance[:, 0].sqrt()]
    slopes = [torch.autograd.grad(value.sum(), at, retain_graph=True)[0] for value in values]
    for one, other, expected in zip(found, again, [*values, *slopes], strict=True):
        np.testing.assert_allclose(one, numbers(expected), rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(other, numbers(expected), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["normalised", "Matern", "RBF"])
def test_the_gradient_at_an_observation_is_finite(name: str) -> None:
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


def test_samples_follow_from_the_generator_and_are_functions_of_the_point() -> None:
    belief, U = belief_of("normalised"), np.vstack([rows("normalised"), np.full((5, 2), 0.3)])
    drawn, again, other = (belief.sample(U, 4, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert drawn.shape == (4, 12)
    np.testing.assert_array_equal(again, drawn)
    assert not np.array_equal(other, drawn)
    np.testing.assert_allclose(drawn[:, 7:], drawn[:, 7:8] * np.ones(5), rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_a_belief_of_no_points_is_empty(name: str) -> None:
    belief, U = belief_of(name), rows(name, 0)
    assert [part.shape for part in belief(U)] == [(0,), (0,)]
    assert belief.mean(U).shape == belief.difference(U, U).shape == (0,)
    assert belief.sample(U, 3, np.random.default_rng(0)).shape == (3, 0)
    assert [part.shape for part in belief.gradient(U)] == [(0,), (0,), U.shape, U.shape]


def seen(name: str) -> tuple[Data, Data]:
    """Two sets of points, the second one with noises."""
    U, V = rows(name, 3, seed=11), rows(name, 2, seed=12)
    return Data(U, [0.5, -1.0, 0.2]), Data(V, [1.5, 0.3], [0.4, 0.0])


@pytest.mark.parametrize("name", MODELS)
def test_what_is_seen_in_two_steps_is_believed_as_if_seen_in_one(name: str) -> None:
    (first, second), belief, U = seen(name), belief_of(name), rows(name)
    before = belief(U)
    for steps in ([first, second], [second, first]):
        later: Any = belief.condition(steps[0]).condition(steps[1])
        np.testing.assert_allclose(later(U), belief.condition(first + second)(U), rtol=0, atol=1e-8)
        assert later.noise == belief.noise
        np.testing.assert_array_equal(later.difference(U[:3], U[3:6]), belief.difference(U[:3], U[3:6]))
        expected = number(model_of(name).likelihood.noise.mean())  # that of a point to come
        assert number(later.model.likelihood.noise.mean()) == pytest.approx(expected)
    np.testing.assert_array_equal(belief(U), before)
    np.testing.assert_allclose(belief.condition(Data.empty(U.shape[1]))(U), before, rtol=0, atol=1e-12)


def second_objective() -> SingleTaskGP:
    return SingleTaskGP(X, X[:, :1] - X[:, 1:], input_transform=Normalize(2, bounds=BOUNDS))


@cache
def two_objectives() -> ModelListGP:
    return ModelListGP(model_of("normalised"), fitted(second_objective()))


@pytest.mark.parametrize("policy", ["pending", "failed", "a sum"])
def test_a_list_of_models_is_conditioned_one_by_one_and_stays_as_it_is(policy: str) -> None:
    given: dict[str, Any] = {"pending": PENDING, "failed": FAILED, "seed": 3}
    before = [insides(model) for model in two_objectives().models]
    both = condition_on_pseudo_points(two_objectives(), POLICIES[policy], BOUNDS, **given)
    assert isinstance(both, ModelListGP)
    for member, model, inside in zip(both.models, two_objectives().models, before, strict=True):
        alone = condition_on_pseudo_points(model, POLICIES[policy], BOUNDS, **given)
        assert len(member.train_targets) > len(X)
        assert_same_posterior(member, alone, PROBES, 1e-12)
        assert_untouched(inside, insides(model))
    joint = both.posterior(PROBES)
    assert joint.mean.shape == (6, 2)
    torch.testing.assert_close(joint.mean[:, 1:], both.models[1].posterior(PROBES).mean)


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


ANALYTIC: dict[str, Callable[[Any], Any]] = {
    "UCB": lambda model: UpperConfidenceBound(model, beta=4.0),
    "log PI": lambda model: LogProbabilityOfImprovement(model, BEST),
    "log EI": lambda model: LogExpectedImprovement(model, BEST),
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
ALL = {**ANALYTIC, **SAMPLED, **OF_TWO, **OF_FIXED_NOISE}


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


@pytest.mark.parametrize("belief", BELIEFS)
def test_the_value_of_an_acquisition_function_is_its_closed_form(belief: str) -> None:
    recorded, model = Recorded(BELIEFS[belief]), model_of("normalised")
    believed = condition_on_pseudo_points(model, recorded, BOUNDS, pending=running())
    mean, covariance = ClosedForm.of(model).and_points(recorded.points, BOUNDS)(CANDIDATES)
    z = (mean - number(BEST)) / np.sqrt(np.diag(covariance))
    likely = z > -4.0  # where a logarithm of the plain formula is exact
    assert likely.sum() > 10
    mean, sd, z = mean[likely], np.sqrt(np.diag(covariance))[likely], z[likely]
    forms = {
        "UCB": mean + 2.0 * sd,
        "log PI": norm.logcdf(z),
        "log EI": np.log(sd * (norm.pdf(z) + z * norm.cdf(z))),
    }
    for function, form in forms.items():
        found = numbers(scores(function, believed, CANDIDATES[likely]))
        np.testing.assert_allclose(found, form, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("function", ALL)
def test_a_pending_point_makes_its_neighbourhood_less_attractive(function: str, belief: str) -> None:
    Z = running() + torch.tensor([[0.0, 0.0], [0.05, 0.0], [0.0, 0.05]]).double()
    before = scores(function, plain_model(function), Z)
    after = scores(function, believing(function, belief), Z)
    assert before.shape == after.shape == (3,)
    assert after.isfinite().all()
    assert (after < before).all()


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


def test_images_are_points_with_the_values_of_those_observed() -> None:
    def mirrored(known: Known) -> Data:
        X = np.column_stack([1.0 - known.data.X[:, 0], known.data.X[:, 1]])
        return Data(X, known.data.y, known.data.noise)

    model, one, both = (
        model_of("normalised"),
        Images(mirror={"x0": 1.0}),
        Images(mirror={"x0": 1.0, "x1": 2.5}),
    )
    pairs: list[tuple[Policy, Policy, int]] = [
        (one, mirrored, 2),
        (one + Images(mirror={"x1": 2.5}), both, 4),
    ]
    for policy, same, count in pairs:
        found, expected = (condition_on_pseudo_points(model, each, BOUNDS) for each in (policy, same))
        assert len(found.train_targets) == count * len(model.train_targets)
        assert_same_posterior(found, expected, points(9, seed=3))


def test_the_images_of_pending_and_failed_points_are_pending_and_failed() -> None:
    recorded, images = Recorded(none), Images(mirror={"x0": 1.0})
    given = {"pending": PENDING, "failed": FAILED}
    condition_on_pseudo_points(model_of("normalised"), images + recorded, BOUNDS, **given)
    np.testing.assert_allclose(recorded.known.pending, [[0.5, 0.5], [0.125, 0.8], [0.5, 0.5], [0.875, 0.8]])
    np.testing.assert_allclose(recorded.known.failed, [[0.875, 0.2], [0.125, 0.2]])


def test_guesses_of_values_are_points_in_the_unit_of_the_values() -> None:
    def expert(known: Known) -> Data:
        y, high, low = (known.scale(np.array([value])) for value in (2.0, 2.5, 1.5))
        return Data([known.space.encode({"x0": 0.5, "x1": 1.0})], y, ((high - low) / 2) ** 2)

    guesses = Guesses(values=[({"x0": 0.5, "x1": 1.0}, 2.0, 0.5)])
    model = model_of("normalised")
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
    for policy in (source, Pending() + source):
        with pytest.raises(RecipeError, match=rf"points alone, got {type(source).__name__}"):
            condition_on_pseudo_points(model_of("normalised"), policy, BOUNDS)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Images(mirror={"rate": 0.5}), "'rate'"),
        (Images(exchange=("x0", "x1")), "exchange"),
        (Guesses(values=[({"x0": 9.0}, 1.0, 0.1)]), "'x0'"),
        (Guesses(near={"rate": 0.5}), "'rate'"),
        (Guesses(more="x2"), "'x2'"),
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


MEANS = torch.tensor([[0.0, 0.0, 0.0], [-50.0, 0.0, 50.0]], dtype=torch.double)
VARIANCES = torch.tensor([[2.0, 2.0, 2.0], [1.0, 2.0, 3.0]], dtype=torch.double)
WEIGHTS = torch.tensor([0.2, 0.5, 0.3], dtype=torch.double)


def test_the_entropy_of_a_mixture_is_exact_where_its_members_are_equal_or_far_apart() -> None:
    found, w = numbers(example().mixture_entropy(MEANS, VARIANCES, WEIGHTS)), numbers(WEIGHTS)
    equal, apart = 0.5 * np.log(2.0 * math.pi * math.e * numbers(VARIANCES))
    assert found == pytest.approx([equal[0], apart @ w - w @ np.log(w)], abs=1e-9)


def under(etas: Tensor) -> list[SingleTaskGP]:
    """For each eta, the model of g, of which the heights are eta - g^2 / 2."""
    return [curve(-(2.0 * (eta - HEIGHTS)).sqrt()) for eta in etas]


ETAS = torch.tensor([1.0, 1.5, 3.0], dtype=torch.double)


@pytest.mark.parametrize("function", ["ES", "FITBO"])
def test_nothing_is_learned_where_all_is_known(function: str) -> None:
    if function == "ES":
        search = example().EntropySearch(curve(), GRID)
    else:
        search = example().FITBO(under(ETAS), ETAS, WEIGHTS, noise=1e-3)
        same = torch.full((3,), 1.5, dtype=torch.double)  # no eta makes a difference
        assert np.abs(gains(example().FITBO(under(same), same, WEIGHTS, noise=1e-3), GRID)).max() < 1e-9
    everywhere = gains(search, torch.linspace(0.0, 1.0, 101).double()[:, None])
    assert everywhere.min() >= -1e-9
    assert everywhere.max() > 0.05
    assert np.abs(gains(search, SEEN)).max() < 0.01


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


@pytest.mark.endurance
def test_the_example_prints_what_each_function_suggests(capsys: pytest.CaptureFixture[str]) -> None:
    example().main()
    first, *rest = capsys.readouterr().out.splitlines()
    place = tuple(map(float, re.findall(r"-?\d+\.\d\d", first)))
    found = {line.split()[0]: [*map(float, re.findall(r"-?\d+\.\d\d", line))] for line in rest}
    assert list(found) == ["UCB", "PI", "EI", "MES", "PES", "ES", "FITBO"]
    lower, upper = numbers(example().BOUNDS)
    for row in found.values():
        places = np.array(row).reshape(2, 2)
        assert ((places >= lower) & (places <= upper)).all()
        assert tuple(row[2:]) != place
    assert tuple(found["EI"][:2]) == place
