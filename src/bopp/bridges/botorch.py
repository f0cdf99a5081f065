"""BoTorch: pseudo-points before any of its acquisition functions.

    model = condition_on_pseudo_points(model, Pending() + Failed(), bounds, pending=X_pending)
    acquisition = LogExpectedImprovement(model, best_f)

A fitted model comes in and stays as it is; one that believes the pseudo-points too comes out. Its
hyper-parameters are those that were fitted to real data.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from bopp.bridges import extra
from bopp.data import Array, Data
from bopp.errors import RecipeError
from bopp.gp import Posterior
from bopp.known import Known
from bopp.outcome import Scale
from bopp.parameter import Float
from bopp.pseudo import Policy, generate
from bopp.space import Space

with extra("botorch"):
    import torch
    from botorch.models import ModelListGP, SingleTaskGP
    from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
    from gpytorch.settings import min_fixed_noise
    from torch import Tensor

EDGE = 1e-6  # a point outside of the bounds by no more than this part of their width lies on them


def condition_on_pseudo_points(
    model: Any,
    policy: Policy,
    bounds: Tensor,
    *,
    pending: Tensor | None = None,
    failed: Tensor | None = None,
    seed: int = 0,
) -> Any:
    """The model after seeing the points of the policy too.

    The policy sees what lies inside the bounds, in the unit of the model, after its outcome transform, and
    takes larger values as better. Each model of a list gets values of its own; where one is a constraint, for
    which less is better, condition the others and make the list of them yourself.

    Args:
        model: a fitted SingleTaskGP of one output, or a ModelListGP of such.
        policy: one of `bopp.pseudo`, a sum of these, or a function of your own.
        bounds: (2, d), the lower and the upper corner of the search.
        pending: (m, d) points under evaluation, for the policy `Pending`.
        failed: (m, d) points whose evaluation failed, for the policy `Failed`.
        seed: of the policy's randomness; take another one for each suggestion.
    """
    if isinstance(model, ModelListGP):
        given: dict[str, Any] = {"pending": pending, "failed": failed, "seed": seed}
        parts = [condition_on_pseudo_points(part, policy, bounds, **given) for part in model.models]
        return ModelListGP(*parts)
    _check(model)
    copy = deepcopy(model).train()  # in which mode its inputs are those that were given
    cube = _cube(bounds, copy.train_inputs[0])
    known = _known(copy, cube, cube.points("pending", pending), cube.points("failed", failed), seed)
    return _with_points(copy, cube, generate(policy, known))


@dataclass(frozen=True, eq=False)
class _Cube:
    """The way between the bounds of a search and the unit cube."""

    lower: Tensor
    upper: Tensor

    @property
    def space(self) -> Space:
        corners = torch.stack([self.lower, self.upper], dim=1).tolist()
        return Space({f"x{i}": Float(low, high) for i, (low, high) in enumerate(corners)})

    def inside(self, X: Tensor) -> Array:
        return _numbers((X - self.lower) / (self.upper - self.lower))

    def outside(self, U: Array) -> Tensor:
        return self.lower + (self.upper - self.lower) * self.lower.new_tensor(np.array(U))

    def points(self, name: str, X: Tensor | None) -> Array:
        """Those of the points that were given under this name that lie between the bounds."""
        size = len(self.lower)
        if X is None or len(X) == 0:
            return np.empty((0, size))
        given = torch.as_tensor(X).to(self.lower)
        if given.ndim != 2 or given.shape[1] != size or not given.isfinite().all():
            raise RecipeError(f"{name}: wanted finite points of shape (m, {size}), got {X!r}")
        U = self.inside(given)
        return np.clip(U[_lie_inside(U)], 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class _Belief:
    """What a model of BoTorch believes, in its own unit, as a posterior and a process of ours."""

    model: Any
    cube: _Cube
    data: Data
    noise: float

    def __call__(self, U: Array) -> tuple[Array, Array]:
        if len(U) == 0:
            return np.empty(0), np.empty(0)
        with torch.no_grad():
            posterior = self.model.posterior(self._inputs(U))
        return _numbers(posterior.mean[:, 0]), _numbers(posterior.variance[:, 0].sqrt())

    @property
    def gp(self) -> _Belief:
        return self

    def difference(self, A: Array, B: Array) -> Array:
        """The expected squared difference (m,) between f at each row of A and at the same row of B."""
        with torch.no_grad():
            ends = [self.model.transform_inputs(self._inputs(U)) for U in (A, B)]
            pairs = torch.stack(ends, dim=1)  # (m, 2, d)
            mean, K = self.model.mean_module(pairs), self.model.covar_module(pairs).to_dense()
            squares = (mean[:, 0] - mean[:, 1]) ** 2
            return _numbers(squares + K[:, 0, 0] + K[:, 1, 1] - 2.0 * K[:, 0, 1])

    def _inputs(self, U: Array) -> Tensor:
        return self.cube.outside(U).to(self.model.train_targets)


@dataclass(frozen=True, eq=False)
class _Unit:
    """The unit of a model: its targets as a function of your values."""

    transform: Any
    targets: Tensor

    def __call__(self, y: npt.ArrayLike) -> Array:
        values = np.asarray(y, dtype=np.float64)
        if self.transform is None:
            return values
        transformed, _ = self.transform(self.targets.new_tensor(values.reshape(-1, 1)))
        return _numbers(transformed).reshape(values.shape)


class _Noises(FixedNoiseGaussianLikelihood):
    """A noise for each point seen; a point to come has the mean noise of the first, real ones."""

    def __init__(self, noise: Tensor, real: int):
        super().__init__(noise)
        self.real = real

    @property
    def noise(self) -> Tensor:
        return self.noise_covar.noise[..., : self.real]


def _known(model: Any, cube: _Cube, pending: Array, failed: Array, seed: int) -> Known:
    """What the policy sees: the observations inside of the bounds."""
    X, y, noise = cube.inside(model.train_inputs[0]), _numbers(model.train_targets), _numbers(_noises(model))
    rows = _lie_inside(X)
    if not rows.any():
        raise RecipeError(f"wanted bounds with observations inside, got {cube.lower} and {cube.upper}")
    data = Data(np.clip(X[rows], 0.0, 1.0), y[rows], noise[rows] - noise.min())
    latent = deepcopy(model).eval()
    if len(latent.transform_inputs(model.train_inputs[0][:1])) != 1:
        raise RecipeError("wanted an input transform that makes one point of one, got one that makes several")
    unit = _Unit(getattr(latent, "outcome_transform", None), latent.train_targets)
    if unit.transform is not None:
        del latent.outcome_transform  # so that it speaks in its own unit
    return Known(
        space=cube.space,
        scale=cast(Scale, unit),
        data=data,
        posterior=cast(Posterior, _Belief(latent, cube, data, float(noise.min()))),
        pending=pending,
        failed=failed,
        t=len(data),
        rng=np.random.default_rng(seed),
    )


def _with_points(model: Any, cube: _Cube, points: Data) -> Any:
    """The model, which may be changed, with the points beside its own data."""
    X, y, noise = model.train_inputs[0], model.train_targets, _noises(model)
    model.set_train_data(
        torch.cat([X, cube.outside(points.X).to(X)]),
        torch.cat([y, y.new_tensor(points.y)]),
        strict=False,
    )
    if points.noise.any() or not isinstance(model.likelihood, GaussianLikelihood):
        own = noise.min() + noise.new_tensor(points.noise)
        least = float(noise.min())
        with min_fixed_noise(least, least, least):  # which GPyTorch would raise without need
            model.likelihood = _Noises(torch.cat([noise, own]), real=len(noise))
    model.has_pseudo_points = True
    return model.eval()


def _noises(model: Any) -> Tensor:
    """The noise variance (n,) of each observation, in the unit of the model."""
    likelihood = model.likelihood
    if isinstance(likelihood, GaussianLikelihood):
        return likelihood.noise.detach().expand(len(model.train_targets))
    return (likelihood.noise_covar.noise + likelihood.second_noise).detach()


def _check(model: Any) -> None:
    if not isinstance(model, SingleTaskGP):
        raise RecipeError(f"wanted a SingleTaskGP or a ModelListGP of such, got {type(model).__name__}")
    if model.num_outputs != 1 or model.train_inputs[0].ndim != 2:
        raise RecipeError(
            f"wanted a model of one output and no batch, got {model.num_outputs} outputs and inputs of shape "
            f"{tuple(model.train_inputs[0].shape)}; of several outputs make a ModelListGP"
        )
    if hasattr(model, "has_pseudo_points"):
        raise RecipeError(
            "wanted a model of real data, got one with pseudo-points: add the policies up with +"
        )
    if not isinstance(model.likelihood, GaussianLikelihood | FixedNoiseGaussianLikelihood):
        raise RecipeError(f"wanted Gaussian noise, got {type(model.likelihood).__name__}")


def _cube(bounds: Tensor, X: Tensor) -> _Cube:
    """The cube of these bounds, in double, if they fit the inputs X."""
    corners = torch.as_tensor(bounds).to(X.device, torch.double)
    if (
        corners.shape != (2, X.shape[1])
        or not corners.isfinite().all()
        or not (corners[0] < corners[1]).all()
    ):
        raise RecipeError(
            f"bounds: wanted (2, {X.shape[1]}) finite numbers, lower below upper, got {bounds!r}"
        )
    return _Cube(*corners)


def _lie_inside(U: Array) -> npt.NDArray[np.bool_]:
    return np.asarray(((U >= -EDGE) & (U <= 1.0 + EDGE)).all(axis=1))


def _numbers(tensor: Tensor) -> Array:
    return np.asarray(tensor.detach().cpu().double().numpy())
