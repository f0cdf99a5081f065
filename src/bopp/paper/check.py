"""The theory on functions that meet its assumptions: they are drawn from the prior of the model.

f is drawn from the prior (squared exponential, known length-scale, k(x, x) = 1) on a regular grid of
[0, 1]^d. That grid is the domain: the maxima of f and of UCB are exact, and the proof's discretisation is a
part of it. The hyper-parameters are the true ones, beta_t is the theorem's, and the constants a and b of its
assumption are those of `theory.derivative_tail`. The first point is random, as all are equally good then;
within a draw it is the same for every schedule, and so is the noise of each iteration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from bopp.data import Array, Data
from bopp.gp import GP, Posterior, cholesky
from bopp.kernels import SquaredExponential
from bopp.known import Known
from bopp.number import Float
from bopp.outcome import Scale
from bopp.paper import theory
from bopp.paper.statistics import interval
from bopp.pseudo import Neighbours
from bopp.space import Space
from bopp.threads import one_thread

GRID = {1: 200, 2: 24}  # points per dimension
OBSERVED = 15  # points, in the comparison of variance reduction and mean error
TAUS = np.geomspace(1e-3, 0.5, 14)


@dataclass(frozen=True)
class Schedule:
    """How many pseudo-points, at what distance: plain GP-UCB if none.

    Args:
        count: l_t for t > 0; None is one for each observation.
        tau: the distance tau_t, or tau_0 if `shrinking`.
        shrinking: tau_t = tau_0 / (d l_t), as in the paper's experiments.
    """

    count: int | None = 0
    tau: float = 0.0
    shrinking: bool = False

    def policy(self) -> Neighbours:
        """The pseudo-points of Algorithm 2: corners of a cube around observed points, values copied."""
        count = None if self.count is None else lambda t, count=self.count: count
        distance = None if self.shrinking else lambda t: self.tau
        return Neighbours(self.tau, "corner", count=count, distance=distance, doubt=False)

    def over(self, horizon: int, d: int) -> tuple[Array, Array]:
        """l_0 ... l_T-1 and tau_0 ... tau_T-1."""
        seen = np.arange(horizon, dtype=np.float64)
        l_t = seen if self.count is None else np.where(seen > 0, float(self.count), 0.0)
        return l_t, self.tau / (d * np.maximum(l_t, 1.0)) if self.shrinking else np.full(horizon, self.tau)

    @property
    def number(self) -> str:
        if self.count is None:
            return "one pseudo-point per observation"
        return f"{self.count or 'no'} pseudo-point{'' if self.count == 1 else 's'}"

    @property
    def distance(self) -> str:
        return f"τ₀ = {self.tau:g}, shrinking" if self.shrinking else f"τ = {self.tau:g}"


SCHEDULES = (
    *(Schedule(count, tau) for count in (1, 5, None) for tau in (0.1, 0.01, 0.001)),
    Schedule(None, 0.01, shrinking=True),
    Schedule(None, 0.0),  # exact duplicates: the control
)


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of one schedule, a row for each draw: R_T, and the information along the run, for every T.

    bound, sharper  Theorem 1 with the paper's Delta_m and with the sharper one, for every T
    claimed         what the proof says the information is at the end of the first run
    """

    schedule: Schedule
    regret: Array
    information: Array
    bound: Array
    sharper: Array
    claimed: float


@dataclass(frozen=True, eq=False)
class Trade:
    """Lemma 1 against Lemma 3 for each tau, one pseudo-point for each of a few random observations.

    reduction  mean variance reduction over points and draws
    error      mean square of the error of the mean, over points and draws
    shift      the part of `error` that is due to f(x) - f(x'), not to the noise that a copy repeats
    """

    tau: Array
    reduction: Array
    error: Array
    shift: Array


@dataclass(frozen=True, eq=False)
class Check:
    """What was drawn, run and measured; the first runs are those without pseudo-points."""

    assumptions: theory.Assumptions
    lengthscale: float
    spread: float  # mean of max f - min f: T times this is the regret of always picking the worst
    runs: tuple[Runs, ...]
    trade: Trade


@one_thread()
def check(
    draws: int = 20,
    horizon: int = 80,
    seed: int = 0,
    dimension: int = 1,
    lengthscale: float = 0.2,
    noise: float = 0.01,
    delta: float = 0.1,
    schedules: tuple[Schedule, ...] = SCHEDULES,
) -> Check:
    """Runs UCB and UCB-PP on functions drawn from the prior, and compares regret with the theorem's bound."""
    gp = GP(SquaredExponential(), np.full(dimension, lengthscale), 1.0, noise)
    a, b = theory.derivative_tail(lengthscale, dimension)
    assumptions = theory.Assumptions(dimension, noise, a, b, delta)
    axis = np.linspace(0.0, 1.0, GRID[dimension])
    grid = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    functions = _drawn(gp, grid, np.random.default_rng([seed, 0]), draws)
    gamma = theory.information_limit(gp, grid, horizon)
    limits = theory.mean_error_limit, theory.sharper_mean_error_limit
    runs = []
    for schedule in (Schedule(), *schedules):
        each = [_run(gp, assumptions, grid, f, schedule, horizon, (seed, i)) for i, f in enumerate(functions)]
        regret, information, seen, pseudo = zip(*each, strict=True)
        l_t, tau_t = schedule.over(horizon, dimension)
        bound, sharper = (theory.regret_bound(assumptions, gamma, l_t, tau_t, limit) for limit in limits)
        claimed = theory.information_left(gp, seen[0], pseudo[0])
        runs.append(Runs(schedule, np.array(regret), np.array(information), bound, sharper, claimed))
    spread = float(np.ptp(functions, axis=1).mean())
    return Check(assumptions, lengthscale, spread, tuple(runs), _trade(gp, grid, draws, seed))


def _drawn(gp: GP, X: Array, rng: np.random.Generator, draws: int) -> Array:
    """Functions drawn from the prior, each a row of values at X."""
    factor = np.tril(cholesky(gp.covariance(X, X)[0]))
    return np.asarray(rng.standard_normal((draws, len(X))) @ factor.T)


def _run(
    gp: GP, given: theory.Assumptions, grid: Array, f: Array, schedule: Schedule, T: int, key: tuple[int, int]
) -> tuple[Array, Array, Array, Array]:
    """Algorithm 2 on f with known hyper-parameters: R_T, information, points seen, pseudo-points of all t."""
    noise_rng, pseudo_rng = (np.random.default_rng([*key, part]) for part in (1, 2))
    first, noise = noise_rng.integers(len(grid)), noise_rng.normal(0.0, math.sqrt(gp.noise), T)
    policy = schedule.policy()
    known: Known = _Streaming(*_known(gp, Data.empty(grid.shape[1])), 1, stream=pseudo_rng)
    values, sds, everything = np.empty(T), np.empty(T), Data.empty(grid.shape[1])
    for t in range(1, T + 1):
        pseudo = policy(known := replace(known, t=t))  # line 3
        mean, sd = known.posterior.condition(pseudo)(grid)  # line 4
        best = first if t == 1 else int(np.argmax(mean + math.sqrt(given.beta(t)) * sd))  # line 5
        values[t - 1], sds[t - 1], everything = f[best], sd[best], everything + pseudo
        new = Data(grid[best : best + 1], [f[best] + noise[t - 1]])  # line 6
        seen = known.posterior.condition(new)  # line 7, without a fit
        known = replace(known, data=known.data + new, posterior=seen)
    regret = theory.cumulative_regret(values, f.max())
    return regret, theory.information_along(sds, gp.noise), known.data.X, everything.X


@dataclass(frozen=True, eq=False)
class _Streaming(Known):
    """What is known in a run whose policy draws from one stream of random numbers throughout."""

    stream: np.random.Generator = field(default_factory=np.random.default_rng)

    def generator(self, name: str = "") -> np.random.Generator:
        return self.stream


def _known(gp: GP, data: Data) -> tuple[Space, Scale, Data, Posterior, Array, Array]:
    """The fields of `Known` for some data, except for the iteration."""
    d = data.X.shape[1]
    space = Space({f"x{i}": Float(0, 1) for i in range(d)})
    nowhere = np.empty((0, d))
    return space, Scale(), data, gp.condition(data), nowhere, nowhere


def _trade(gp: GP, U: Array, draws: int, seed: int) -> Trade:
    """Lemma 1 and Lemma 3 for each tau, over random observations and draws of f."""
    policies = [Schedule(None, float(tau)).policy() for tau in TAUS]
    rows = np.empty((draws, len(TAUS), 3))
    for draw in range(draws):
        rng = np.random.default_rng([seed, draw, 3])
        numbered = Data(rng.random((OBSERVED, U.shape[1])), np.arange(OBSERVED))  # a copy shows its source
        known = Known(*_known(gp, numbered), 1, (seed, draw, 4))
        posterior = gp.condition(numbered)
        copies = [policy(known) for policy in policies]
        f = _drawn(gp, np.vstack([numbered.X, *(copy.X for copy in copies)]), rng, 1)[0]
        repeated, fresh = rng.normal(0.0, math.sqrt(gp.noise), (2, OBSERVED))
        for copy, true, row in zip(copies, np.split(f[OBSERVED:], len(TAUS)), rows[draw], strict=True):
            source = copy.y.astype(int)
            shift = f[source] - true
            row[0] = theory.variance_reduction(posterior, copy.X, U).mean()
            row[1] = (theory.mean_error(posterior, copy.X, shift + repeated[source] - fresh, U) ** 2).mean()
            row[2] = (theory.mean_error(posterior, copy.X, shift, U) ** 2).mean()
    return Trade(TAUS, *rows.mean(axis=0).T)


def summary(check: Check) -> str:
    """The check as plain text: regret against its bound, and each schedule against no pseudo-points.

    "own" is the share of runs below sqrt(C T beta_T I) + 2, the proof without Delta_m, I being the run's own
    information.
    """
    plain, given = check.runs[0], check.assumptions
    draws, T = plain.regret.shape
    copied = theory.regret_bound(given, np.zeros(T), np.minimum(np.arange(T), 1.0))[-1] - 2.0
    lines = [
        f"{draws} functions on [0, 1]^{given.d}, length-scale {check.lengthscale:g}, noise {given.noise:g}, "
        f"T = {T}, delta = {given.delta:g}, a = {given.a:.3g}, b = {given.b:.3g}, L = {given.L:.3g}",
        f"T (max f - min f): {T * check.spread:.0f} on average; a bound above it says nothing",
        f"2 sum Delta_m for one pseudo-point at tau = 0: {copied:.0f}; bound without: {plain.bound[-1]:.0f}",
        f"{'pseudo-points':54} {'R_T':>6} {'bound':>8} {'ratio':>8} {'sharper':>8} {'below':>5} {'own':>5} "
        f"{'I':>5} {'in proof':>8}   R_T less that without",
    ]
    for runs in check.runs:
        end, bound = runs.regret[:, -1], runs.bound[-1]
        own = np.sqrt(given.C * T * given.beta(T) * runs.information[:, -1]) + 2.0
        less = end - plain.regret[:, -1]
        low, high = interval(less)
        lines.append(
            f"{f'{runs.schedule.number}, {runs.schedule.distance}':54} {end.mean():6.2f} {bound:8.3g} "
            f"{bound / end.mean():8.3g} {runs.sharper[-1]:8.3g} "
            f"{(runs.regret <= runs.bound).all(axis=1).mean():5.0%} {(end <= own).mean():5.0%} "
            f"{runs.information[0, -1]:5.1f} {runs.claimed:8.2f}   "
            f"{less.mean():+.2f} [{low:+.2f}, {high:+.2f}]"
        )
    return "\n".join(lines)
