"""Find the best value that meets the constraints, or the hypervolume, of each problem of the goals.

python benchmarks/goals_known.py [--problems ...]

best    the lowest value of SLSQP from the 40 best of 2^16 Sobol points, and of differential evolution with
        four seeds; of the pressure vessel, also that of the best radius for each pair of walls; a point
        counts if no constraint is above 1e-9 of its spread over the sample
worst   the highest value of those of the 2^16 points that meet all constraints
volume  from the formula where there is one, or of 2^17 points of the front where it is known which they are;
        else of the best points of a genetic algorithm of 512 points and 300 generations, with everything
        that it met on its way, twice with other seeds; for the forest, which takes its time, 64 points and
        30 generations from the best of four searches by bopp of 250 evaluations
"""

import argparse
import json
import math
import sys
from collections.abc import Callable
from itertools import product

import numpy as np
from moocore import hypervolume, is_nondominated
from scipy.optimize import NonlinearConstraint, differential_evolution, minimize
from scipy.stats import qmc

import bopp
from contest.points import sobol_points
from goals.peers.bopp import Bopp
from goals.problem import KNOWN, Array, Problem
from goals.problems import PROBLEMS

SLACK = 1e-9
FORMULAS: dict[str, float] = {  # of ZDT and DTLZ2, by integrating over the front
    "zdt1": 121 - 1 / 3,
    "zdt2": 121 - 2 / 3,
    "dtlz2-2": 1.1**2 - math.pi / 4,
    "dtlz2-3": 1.1**3 - math.pi / 6,
    "vehicle-safety": 246.81607081187002,  # of BoTorch; the way below gives 246.55
}
FRONTS: dict[
    str, Callable[[Array, int], Array]
] = {  # points of the front, by t from 0 to 1 and the dimension
    **dict.fromkeys(("zdt3", "zdt6", "dtlz7"), lambda t, d: np.column_stack([t, np.zeros((len(t), d - 1))])),
    "fonseca": lambda t, d: np.repeat((2 * t - 1)[:, None] / math.sqrt(d), d, axis=1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    options = parser.parse_args()
    for name in options.problems:
        problem = PROBLEMS[name]
        found = single(problem) if problem.objectives == 1 else {"volume": volume(problem)}
        known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
        known[name] = found
        ordered = {each: known[each] for each in PROBLEMS if each in known}
        KNOWN.write_text(json.dumps(ordered, indent=2) + "\n")
        print(name, found, file=sys.stderr, flush=True)


def decoder(problem: Problem) -> Callable[[Array], Array]:
    """What turns points of the unit cube into points of the problem."""
    space = bopp.Space(problem.space)
    numbers = [one for one in problem.space.values() if isinstance(one, bopp.Float) and not one.log]
    if len(numbers) == problem.dimension:
        low, high = np.array([[one.low, one.high] for one in numbers], dtype=np.float64).T
        return lambda U: low + np.clip(U, 0.0, 1.0) * (high - low)
    return lambda U: np.array([[float(one) for one in space.decode(u).values()] for u in np.clip(U, 0, 1)])


def single(problem: Problem) -> dict[str, float]:
    """The best value and the worst, of a problem of one objective."""
    decode = decoder(problem)
    U = qmc.Sobol(problem.dimension, rng=0).random_base2(16)
    objectives, constraints = problem.values(decode(U))
    values, spread = objectives[:, 0], constraints.std(axis=0) + 1e-12
    excess = np.maximum(constraints / spread, 0.0).sum(axis=1)
    met = excess == 0.0
    scale = values[met].std()

    def value(u: Array) -> float:
        return float(problem.values(decode(u[None]))[0][0, 0] / scale)

    def margins(u: Array) -> Array:
        return np.asarray(-problem.values(decode(u[None]))[1][0] / spread)

    starts = np.lexsort((values, excess))[:40]
    bounds = [(0.0, 1.0)] * problem.dimension
    solved = [
        minimize(value, U[start], bounds=bounds, constraints={"type": "ineq", "fun": margins}, tol=1e-14).x
        for start in starts
    ]
    limit = NonlinearConstraint(margins, 0.0, np.inf)
    for seed in range(4):
        solved.append(
            differential_evolution(
                value, bounds, constraints=limit, rng=seed, maxiter=300, popsize=15, tol=1e-12, polish=False
            ).x
        )
    good = [np.clip(u, 0, 1) for u in solved if margins(np.clip(u, 0, 1)).min() >= -SLACK]
    found = [float(problem.values(decode(u[None]))[0][0, 0]) for u in good] + [float(values[met].min())]
    if problem.name == "pressure-vessel":
        found.append(best_vessel(problem))
    return {"best": min(found), "worst": float(values[met].max())}


def best_vessel(problem: Problem) -> float:
    """The cheapest pressure vessel: for each pair of walls the best radius, as long as the volume wants."""
    best = math.inf
    for shell, head in product((np.arange(1, 40) + 0.5) * 0.0625 - 1e-9, repeat=2):  # are rounded down
        radius = np.linspace(10.0, min(50.0, shell / 0.0193, head / 0.00954), 20_000)
        length = np.maximum((1296000.0 - 4 / 3 * np.pi * radius**3) / (np.pi * radius**2), 150.0)
        X = np.column_stack([np.full_like(radius, shell), np.full_like(radius, head), radius, length])
        objectives, _ = problem.values(X[length <= 200.0])
        best = min(best, float(objectives.min(initial=math.inf)))
    return best


def volume(problem: Problem) -> float:
    """The hypervolume of all that can be reached."""
    if problem.name in FORMULAS:
        return FORMULAS[problem.name]
    if problem.name in FRONTS:
        points = FRONTS[problem.name](np.linspace(0.0, 1.0, 2**17), problem.dimension)
        return float(hypervolume(problem.values(points)[0], ref=problem.reference))
    if problem.name == "forest":
        searched = np.concatenate([searched_points(problem, seed, 250) for seed in range(4)])
        return float(hypervolume(evolved(problem, 0, 64, 30, searched), ref=problem.reference))
    fronts = [evolved(problem, seed, 512, 300) for seed in range(2)]
    return float(hypervolume(np.concatenate(fronts), ref=problem.reference))


def searched_points(problem: Problem, seed: int, evaluations: int) -> Array:
    """Where bopp looks, in the unit cube."""
    space, peer = bopp.Space(problem.space), Bopp(problem, seed)
    points = problem.given_points(seed)
    for number in range(evaluations):
        if number >= problem.given:
            points.append(peer.ask())
        peer.tell(points[number], problem.evaluate(points[number]))
    return np.array([space.encode(params) for params in points])


def evolved(problem: Problem, seed: int, size: int, generations: int, others: Array | None = None) -> Array:
    """The front that a genetic algorithm finds: every point that no other that it met is better than."""
    rng, decode = np.random.default_rng(seed), decoder(problem)
    U = sobol_points(problem.dimension, size, seed)
    U = U if others is None else np.concatenate([U, others])
    objectives, excess = measured(problem, decode(U))
    archive = front(objectives[excess == 0.0])
    for _ in range(generations):
        pairs = rng.integers(len(U), size=(2, size))
        children = mutated(crossed(U[pairs[0]], U[pairs[1]], rng), rng)
        theirs, their_excess = measured(problem, decode(children))
        archive = front(np.concatenate([archive, theirs[their_excess == 0.0]]))
        U = np.concatenate([U, children])
        objectives, excess = np.concatenate([objectives, theirs]), np.concatenate([excess, their_excess])
        kept = survivors(objectives, excess, size)
        U, objectives, excess = U[kept], objectives[kept], excess[kept]
    return archive


def measured(problem: Problem, X: Array) -> tuple[Array, Array]:
    """Objectives, and by how much constraints are not met in all."""
    objectives, constraints = problem.values(X)
    return objectives, np.maximum(constraints, 0.0).sum(axis=1)


def front(objectives: Array) -> Array:
    """Those that no other is better than."""
    return objectives[is_nondominated(objectives)] if len(objectives) else objectives


def crossed(first: Array, second: Array, rng: np.random.Generator) -> Array:
    """Children near the one or the other parent (simulated binary crossover)."""
    u = rng.random(first.shape)
    spread = np.where(u < 0.5, 2 * u, 1 / (2 * (1 - u))) ** (1 / 16)
    child = 0.5 * ((1 + spread) * first + (1 - spread) * second)
    return np.where(rng.random(first.shape) < 0.5, child, first)


def mutated(U: Array, rng: np.random.Generator) -> Array:
    """One column in each point moved, by anything between little and much."""
    moved = rng.random(U.shape) < 1.0 / U.shape[1]
    steps = rng.normal(size=U.shape) * 10.0 ** rng.uniform(-4, -0.5, size=U.shape)
    return np.asarray(np.clip(U + moved * steps, 0.0, 1.0))


def survivors(objectives: Array, excess: Array, size: int) -> Array:
    """The next generation: first those that meet the constraints, front by front, the last by loneliness."""
    order = np.argsort(excess, kind="stable")
    met = np.flatnonzero(excess == 0.0)
    if len(met) <= size:
        return np.asarray(order[:size])
    chosen: list[int] = []
    left = met
    while len(left):
        own = left[is_nondominated(objectives[left], keep_weakly=True)]
        if len(chosen) + len(own) > size:
            lonely = np.argsort(-crowding(objectives[own]), kind="stable")
            return np.array([*chosen, *own[lonely[: size - len(chosen)]]])
        chosen += own.tolist()
        left = np.setdiff1d(left, own)
    return np.array(chosen)


def crowding(objectives: Array) -> Array:
    """How far the neighbours of each point are, added up over the objectives."""
    total = np.zeros(len(objectives))
    for column in objectives.T:
        order = np.argsort(column, kind="stable")
        gaps = np.full(len(column), np.inf)
        gaps[1:-1] = (column[order][2:] - column[order][:-2]) / (np.ptp(column) or 1.0)
        total[order] += gaps
    return total


if __name__ == "__main__":
    main()
