"""Statistics of the contest: regrets, ranks, paired differences with intervals, data profiles.

Everything is computed from one array of log10 regrets, indexed by peer, task and evaluation (see `Scores`).

The regret of a task with a known optimum is the gap to the optimum, at least 1e-8. Where nobody knows the
optimum, it is the gap to the best value that anybody found on the same problem, as a share of the gap that
the given points left, at least 1e-3. A run that has no value yet, because all its evaluations crashed,
counts as the worst first value of the runs on its task.

Intervals are 95 % bootstrap percentiles. Tasks with the same kind, such as the instances and dimensions of
one function, are drawn together, as they are not independent. They come out the same each time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.stats import rankdata

from bopp.data import Array
from contest.records import Record

FLOOR = 1e-8  # of a regret with a known optimum
SHARE_FLOOR = 1e-3  # of a share of the gap that the given points left
RESAMPLES = 10_000
TARGETS = 50  # of a data profile, for each task
PERCENTILES = (2.5, 97.5)


@dataclass(frozen=True)
class Subject:
    """What the statistics need to know of a task; those of one problem differ in their given points alone."""

    name: str
    group: str
    kind: str
    problem: str
    dimension: int
    optimum: float | None
    budget: int
    given: int


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Duel:
    """One peer against another on the tasks that both have run; a negative difference is a win."""

    tasks: int
    wins: int
    losses: int
    difference: Interval


@dataclass(frozen=True, eq=False)
class Curve:
    """The mean log10 regret after each evaluation, with the ends of a band."""

    mean: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Scores:
    """The log10 regret of each peer, on each task, after each evaluation.

    values    (peers, tasks, evaluations); nan where a peer did not run, or stopped before its budget
    """

    peers: tuple[str, ...]
    subjects: tuple[Subject, ...]
    values: Array

    @property
    def kinds(self) -> list[str]:
        """The kind of each task."""
        return [subject.kind for subject in self.subjects]

    @property
    def budget(self) -> int:
        """The most evaluations of any task."""
        return int(self.values.shape[2])

    def at(self, t: int) -> Array:
        """The log10 regrets after t evaluations, (peers, tasks)."""
        return self.values[:, :, t - 1]

    def row(self, peer: str, t: int) -> Array:
        """The log10 regrets of one peer after t evaluations, (tasks,)."""
        return np.asarray(self.at(t)[self.peers.index(peer)])

    def of(self, peers: Sequence[str]) -> "Scores":
        """The same tasks with these peers alone, in this order."""
        rows = [self.peers.index(peer) for peer in peers]
        return replace(self, peers=tuple(peers), values=self.values[rows])

    def where(self, wanted: Callable[[Subject], bool]) -> "Scores":
        """The same peers on some of the tasks."""
        columns = [number for number, subject in enumerate(self.subjects) if wanted(subject)]
        subjects = tuple(self.subjects[number] for number in columns)
        return replace(self, subjects=subjects, values=self.values[:, columns])

    def reach(self, peer: str) -> int:
        """How many evaluations a peer has made on every task that it ran on."""
        values = self.values[self.peers.index(peer)]
        ran = values[~np.isnan(values[:, 0])]
        return int(np.sum(~np.isnan(ran), axis=1).min(initial=self.budget)) if len(ran) else 0

    def ran_on(self, peer: str) -> frozenset[str]:
        """The names of the tasks that a peer ran on."""
        ran = ~np.isnan(self.values[self.peers.index(peer), :, 0])
        return frozenset(subject.name for subject, has in zip(self.subjects, ran, strict=True) if has)

    def full_peers(self) -> tuple[str, ...]:
        """The peers that ran on all tasks, to the end."""
        last = self.values[:, :, -1]
        return tuple(peer for peer, row in zip(self.peers, last, strict=True) if not np.isnan(row).any())


def scores(runs: Sequence[Record], subjects: Sequence[Subject], peers: Sequence[str]) -> Scores:
    """The log10 regrets of these peers on those of the tasks that somebody ran on."""
    found = {(run.peer, run.task): run for run in runs if run.peer in peers}
    on_task = {
        subject.name: [found[peer, subject.name] for peer in peers if (peer, subject.name) in found]
        for subject in subjects
    }
    subjects = [subject for subject in subjects if any(run.best for run in on_task[subject.name])]
    lowest = _lowest_of_problems(subjects, on_task)
    budget = max((subject.budget for subject in subjects), default=1)
    values = np.full((len(peers), len(subjects), budget), np.nan)
    for column, subject in enumerate(subjects):
        regret = _regret_of(subject, on_task[subject.name], lowest[subject.problem])
        worst_first = max(run.best[0][1] for run in on_task[subject.name] if run.best)
        for run in on_task[subject.name]:
            reached = budget if run.evaluations >= subject.budget else run.evaluations
            best = best_so_far(run, reached, worst_first)
            values[peers.index(run.peer), column, :reached] = regret(best)
    return Scores(tuple(peers), tuple(subjects), values)


def best_so_far(run: Record, evaluations: int, before: float = np.inf) -> Array:
    """The best true value after each evaluation; `before` stands where there is none yet."""
    best = np.full(evaluations, before)
    for number, value in run.best:
        best[number - 1 :] = value
    return best


def _lowest_of_problems(subjects: Sequence[Subject], on_task: Mapping[str, list[Record]]) -> dict[str, float]:
    """The best value that anybody found on each problem."""
    lowest: dict[str, float] = {}
    for subject in subjects:
        found = min(run.best[-1][1] for run in on_task[subject.name] if run.best)
        lowest[subject.problem] = min(found, lowest.get(subject.problem, np.inf))
    return lowest


def _regret_of(subject: Subject, runs: Sequence[Record], lowest: float) -> Callable[[Array], Array]:
    """What turns best values of a task into log10 regrets."""
    optimum = subject.optimum
    if optimum is not None:
        return lambda best: log_regret(best, optimum)
    starts = [min(value for _, value in known) for run in runs if (known := _given(run, subject))]
    firsts = [run.best[0][1] for run in runs if run.best]
    start = float(np.median(starts or firsts))
    return lambda best: log_share(best, lowest, start)


def _given(run: Record, subject: Subject) -> list[tuple[int, float]]:
    """What a run had found when the given points had been evaluated."""
    return [(number, value) for number, value in run.best if number <= subject.given]


def log_regret(best: Array, optimum: float) -> Array:
    """The log10 of the gap to the optimum."""
    return np.log10(np.maximum(best - optimum, FLOOR))


def log_share(best: Array, lowest: float, start: float) -> Array:
    """The log10 of the share that is left of the gap between the given points and the best ever found."""
    gap = start - lowest
    share = (best - lowest) / gap if gap > 0 else np.zeros(np.shape(best))  # nobody improved on the given
    return np.log10(np.maximum(share, SHARE_FLOOR))


def mean_ranks(regrets: Array) -> Array:
    """The mean rank of each peer over the tasks, 1 being the best; those who tie share their ranks."""
    return np.asarray(rankdata(regrets, axis=0).mean(axis=1))


def duel(ours: Array, theirs: Array, kinds: Sequence[str]) -> Duel:
    """Our log10 regrets against theirs, on the tasks that have both."""
    both = ~np.isnan(ours) & ~np.isnan(theirs)
    differences = (ours - theirs)[both]
    kinds = [kind for kind, has in zip(kinds, both, strict=True) if has]
    wins, losses = int(np.sum(differences < 0)), int(np.sum(differences > 0))
    return Duel(len(differences), wins, losses, interval(differences, kinds))


def by_kind(differences: Array, kinds: Sequence[str]) -> dict[str, Interval]:
    """The mean difference of each kind; its interval takes the tasks of the kind as independent."""
    found = {}
    for kind in sorted(set(kinds)):
        own = differences[[each == kind for each in kinds]]
        found[kind] = interval(own, [str(number) for number in range(len(own))])
    return found


def interval(differences: Array, kinds: Sequence[str]) -> Interval:
    """The mean difference with its interval; nan where one kind alone can say nothing of others."""
    if not len(differences):
        return Interval(np.nan, np.nan, np.nan)
    means = resampled_means(differences[:, None], kinds)[:, 0]
    low, high = np.percentile(means, PERCENTILES) if len(set(kinds)) > 1 else (np.nan, np.nan)
    return Interval(float(differences.mean()), float(low), float(high))


def resampled_means(values: Array, kinds: Sequence[str]) -> Array:
    """Means over the tasks of resampled kinds, for values (tasks, columns): (resamples, columns)."""
    names = sorted(set(kinds))
    member = np.array([[kind == name for kind in kinds] for name in names], dtype=float)
    draws = _draws(len(names))  # how often each kind is in each resample
    return np.asarray(draws @ (member @ values) / (draws @ member.sum(axis=1))[:, None])


@cache
def _draws(kinds: int) -> Array:
    shares = np.full(kinds, 1.0 / kinds)
    return np.random.default_rng(0).multinomial(kinds, shares, size=RESAMPLES).astype(float)


def curves(scores: Scores) -> dict[str, Curve]:
    """The mean log10 regret of each peer after each evaluation, as far as it went.

    The band is that of a comparison: what a task gives to all peers alike, being hard or easy, is taken out
    before kinds are resampled.
    """
    common = np.nanmean(scores.values, axis=0)  # (tasks, evaluations)
    found = {}
    for peer, values in zip(scores.peers, scores.values, strict=True):
        reach = scores.reach(peer)
        apart = resampled_means(values[:, :reach] - common[:, :reach], scores.kinds)
        low, high = np.percentile(apart, PERCENTILES, axis=0) + common[:, :reach].mean(axis=0)
        found[peer] = Curve(values[:, :reach].mean(axis=0), low, high)
    return found


def targets(scores: Scores) -> Array:
    """The targets of each task, (tasks, TARGETS), evenly spaced in log10 regret.

    They go from what the given points reached, the median over peers, to the best that anybody reached;
    a task where nobody improved on the given points has nan.
    """
    reached = [scores.values[:, task, : subject.given] for task, subject in enumerate(scores.subjects)]
    first = np.array([np.nanmedian(values[:, -1]) for values in reached])
    last = np.nanmin(scores.values, axis=(0, 2))
    steps = np.linspace(first, last, TARGETS + 1, axis=1)[:, 1:]  # the first has been reached
    steps[last >= first] = np.nan
    return steps


def profiles(scores: Scores) -> dict[str, Array]:
    """The share of all targets that each peer had reached after each evaluation: its data profile.

    There is none if nobody improved on any given points.
    """
    wanted = targets(scores)[:, :, None] + 1e-12  # the last target counts as reached, however rounded
    asked = ~np.isnan(wanted[:, 0, 0])
    if not asked.any():
        return {}
    return {
        peer: (values[asked, None, : scores.reach(peer)] <= wanted[asked]).mean(axis=(0, 1))
        for peer, values in zip(scores.peers, scores.values, strict=True)
    }
