"""BoTorch: pseudo-points in front of any of its acquisition functions.

    model = condition_on_pseudo_points(model, Pending() + Failed(), bounds, pending=X_pending)
    acquisition = LogExpectedImprovement(model, best_f)

The fitted model stays as it is; a new one is returned, which has also seen the pseudo-points. Its
hyper-parameters are those that were fitted to real data.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from bopp.arguments import checked_seed
from bopp.bridges import extra
from bopp.data import Array, Data
from bopp.errors import RecipeError
from bopp.gp import VARIANCE_FLOOR, cholesky
from bopp.knowledge import images_of, twins_of
from bopp.known import Known
from bopp.legible import brief
from bopp.number import Float
from bopp.problem import Problem
from bopp.pseudo import Policy, Source, generate, sources
from bopp.space import Space

with extra("botorch"):
    import torch
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.utils.transforms import normalize, unnormalize
    from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
    from gpytorch.settings import min_fixed_noise, skip_posterior_variances
    from torch import Tensor

EDGE = 1e-6  # a point outside the bounds by at most this fraction of their width counts as on them


def condition_on_pseudo_points(
    model: Any,
    policy: Policy,
    bounds: Tensor,
    *,
    pending: Tensor | None = None,
    failed: Tensor | None = None,
    seed: int = 0,
) -> Any:
    """The model after it has also seen the points of the policy.

    The policy sees the observations inside the bounds, in the units of the model after its outcome transform,
    and takes larger values as better. Each model of a list gets pseudo-values of its own; if one of them is a
    constraint, for which less is better, condition only the others and make the list yourself.

    Images and Guesses are points too, where they do not say where to look; the names of the columns are x0,
    x1 and so on. How far they are to be trusted is not learned here.

    Args:
        model: a fitted SingleTaskGP of one output, or a ModelListGP of such.
        policy: one of `bopp.pseudo`, a sum of these, or a function of your own.
        bounds: (2, d), the lower and the upper corner of the search.
        pending: (m, d) points under evaluation, for the policy `Pending`.
        failed: (m, d) points whose evaluation failed, for the policy `Failed`.
        seed: for the policy's randomness; use another one for each suggestion.
    """
    if isinstance(model, ModelListGP):
        given: dict[str, Any] = {"pending": pending, "failed": failed, "seed": seed}
        parts = [condition_on_pseudo_points(part, policy, bounds, **given) for part in model.models]
        return ModelListGP(*parts)
    _check(model)
    copy = deepcopy(model).train()  # in training mode its inputs are untransformed
    belief = _Belief(copy, _checked_bounds(bounds, copy.train_inputs[0]))
    return belief.condition(_points(policy, _known(belief, pending, failed, seed))).model


@dataclass(frozen=True, eq=False)
class _Belief:
    """What a BoTorch model believes, in its own units, as a `Belief`."""

    model: Any
    bounds: Tensor  # which are the unit cube for the policy

    @cached_property
    def latent(self) -> Any:
        """The model in prediction mode, in its own units, with its hyper-parameters frozen."""
        latent = deepcopy(self.model).eval().requires_grad_(False)
        if hasattr(latent, "outcome_transform"):
            del latent.outcome_transform
        return latent

    @property
    def noise(self) -> float:
        """The noise variance of a measurement; the smallest one, if they differ."""
        return float(_noises(self.model).min())

    def __call__(self, U: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (m,) at the rows of U."""
        posterior = self._posterior(U)
        return _numbers(posterior.mean[:, 0]), _numbers(posterior.variance[:, 0].sqrt())

    def mean(self, U: Array) -> Array:
        """The mean (m,) alone."""
        with skip_posterior_variances():
            return _numbers(self._posterior(U).mean[:, 0])

    def gradient(self, U: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, standard deviation (m,) and their gradients (m, d) at the rows of U."""
        with torch.enable_grad():
            at = self._tensor(U).requires_grad_()
            posterior = self.latent.posterior(self._inputs(at))
            found = [posterior.mean[:, 0], posterior.variance[:, 0].sqrt()]
            slopes = [torch.autograd.grad(one.sum(), at, retain_graph=True)[0] for one in found]
        mean, sd, mean_slope, sd_slope = map(_numbers, [*found, *slopes])
        return mean, sd, mean_slope, sd_slope

    def sample(self, U: Array, count: int, rng: np.random.Generator) -> Array:
        """`count` functions (count, m) drawn from the belief, each at all rows of U."""
        if len(U) == 0:
            return np.empty((count, 0))
        posterior = self._posterior(U)
        K = _numbers(posterior.covariance_matrix).copy()
        K.flat[:: len(U) + 1] += VARIANCE_FLOOR * K.diagonal().max()
        L = np.tril(cholesky(K))
        return np.asarray(_numbers(posterior.mean[:, 0]) + rng.standard_normal((count, len(U))) @ L.T)

    def difference(self, A: Array, B: Array) -> Array:
        """The squared difference (m,) that the prior expects between each row of A and of B."""
        with torch.no_grad():
            ends = [self.latent.transform_inputs(self._inputs(self._tensor(U))) for U in (A, B)]
            pairs = torch.stack(ends, dim=1)  # (m, 2, d)
            mean, K = self.latent.mean_module(pairs), self.latent.covar_module(pairs).to_dense()
            squares = (mean[:, 0] - mean[:, 1]) ** 2
            return _numbers(squares + K[:, 0, 0] + K[:, 1, 1] - 2.0 * K[:, 0, 1])

    def condition(self, extra: Data) -> _Belief:
        """The belief after also seeing `extra`: that of a model with these points added to its data."""
        model = deepcopy(self.model).train()
        X, y, noise = model.train_inputs[0], model.train_targets, _noises(model)
        model.set_train_data(
            torch.cat([X, unnormalize(self._tensor(extra.X), self.bounds).to(X)]),
            torch.cat([y, y.new_tensor(extra.y)]),
            strict=False,
        )
        if extra.noise.any() or not isinstance(model.likelihood, GaussianLikelihood):
            own = noise.min() + noise.new_tensor(extra.noise)
            least = float(noise.min())
            real = getattr(model.likelihood, "real", len(noise))
            with min_fixed_noise(least, least, least):  # else GPyTorch lifts small noises to its floor
                model.likelihood = _Noises(torch.cat([noise, own]), real)
        model.has_pseudo_points = True
        return replace(self, model=model.eval())

    def _posterior(self, U: Array) -> Any:
        with torch.no_grad():
            return self.latent.posterior(self._inputs(self._tensor(U)))

    def _tensor(self, U: Array) -> Tensor:
        return self.bounds.new_tensor(np.array(U))

    def _inputs(self, U: Tensor) -> Tensor:
        return unnormalize(U, self.bounds).to(self.latent.train_targets)


@dataclass(frozen=True, eq=False)
class _Unit:
    """The units of a model: turns your values into its targets."""

    transform: Any
    targets: Tensor

    def __call__(self, y: npt.ArrayLike) -> Array:
        values = np.asarray(y, dtype=np.float64)
        if self.transform is None:
            return values
        transformed, _ = self.transform(self.targets.new_tensor(values.reshape(-1, 1)))
        return _numbers(transformed).reshape(values.shape)


class _Noises(FixedNoiseGaussianLikelihood):
    """A noise for each point seen; a new point gets the mean noise of the real ones, which come first."""

    def __init__(self, noise: Tensor, real: int):
        super().__init__(noise)
        self.real = real

    @property
    def noise(self) -> Tensor:
        return self.noise_covar.noise[..., : self.real]


def _known(belief: _Belief, pending: Tensor | None, failed: Tensor | None, seed: int) -> Known:
    """What the policy sees: the observations inside the bounds."""
    model, bounds = belief.model, belief.bounds
    X = _numbers(normalize(model.train_inputs[0], bounds))
    y, noise = _numbers(model.train_targets), _numbers(_noises(model))
    rows = _lie_inside(X)
    if not rows.any():
        raise RecipeError(f"wanted bounds with observations inside, got {bounds}")
    if len(belief.latent.transform_inputs(model.train_inputs[0][:1])) != 1:
        raise RecipeError("wanted an input transform that makes one point of one, got one that makes several")
    data = Data(np.clip(X[rows], 0.0, 1.0), y[rows], noise[rows] - noise.min())
    transform = getattr(model, "outcome_transform", None)
    return Known(
        space=Space({f"x{i}": Float(low, high) for i, (low, high) in enumerate(bounds.T.tolist())}),
        scale=_Unit(None if transform is None else deepcopy(transform).eval(), model.train_targets),
        data=data,
        posterior=belief,
        pending=_points_inside("pending", pending, bounds),
        failed=_points_inside("failed", failed, bounds),
        t=len(data),
        key=(checked_seed(seed),),
    )


def _points(policy: Policy, known: Known) -> Data:
    """The points of a policy, with the images of all that is known."""
    space, imaging = known.space, tuple(_checked(source, known.space) for source in sources(policy))
    seen = reduce(lambda data, source: data + images_of(source, space, data)[0], imaging, known.data)
    pending, failed = (np.vstack([X, twins_of(imaging, space, X)]) for X in (known.pending, known.failed))
    images = seen[np.arange(len(known.data), len(seen))]
    return generate(policy, replace(known, pending=pending, failed=failed)) + images


def _checked(source: Source, space: Space) -> Source:
    """The source, if it fits the space, and says nothing but points."""
    more = source.overrides("relatives") or source.overrides("limits")
    problem, nowhere = Problem.of(space, "maximize"), np.empty((0, space.dimension))
    if more or (bound := source.bind(problem)).favour(space, nowhere) is not None:
        raise RecipeError(
            f"wanted sources of points alone, got {brief(source)}: values of other functions, limits, and "
            "where the best point is, are for an optimizer of bopp"
        )
    return bound


def _noises(model: Any) -> Tensor:
    """The noise variance (n,) of each observation, in the units of the model."""
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


def _checked_bounds(bounds: Tensor, X: Tensor) -> Tensor:
    """The bounds in double precision, which must fit the inputs X."""
    corners = torch.as_tensor(bounds).to(X.device, torch.double)
    fit = corners.shape == (2, X.shape[1]) and corners.isfinite().all() and (corners[0] < corners[1]).all()
    if not fit:
        raise RecipeError(
            f"bounds: wanted (2, {X.shape[1]}) finite numbers, lower below upper, got {bounds!r}"
        )
    return corners


def _points_inside(name: str, X: Tensor | None, bounds: Tensor) -> Array:
    """Of the points given under this name, those inside the bounds, in the unit cube."""
    size = bounds.shape[1]
    if X is None or len(X) == 0:
        return np.empty((0, size))
    given = torch.as_tensor(X).to(bounds)
    if given.ndim != 2 or given.shape[1] != size or not given.isfinite().all():
        raise RecipeError(f"{name}: wanted finite points of shape (m, {size}), got {X!r}")
    U = _numbers(normalize(given, bounds))
    return np.clip(U[_lie_inside(U)], 0.0, 1.0)


def _lie_inside(U: Array) -> npt.NDArray[np.bool_]:
    return np.asarray(((U >= -EDGE) & (U <= 1.0 + EDGE)).all(axis=1))


def _numbers(tensor: Tensor) -> Array:
    return np.asarray(tensor.detach().cpu().double().numpy())
