"""Standings: the tables of the contest in Markdown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bopp.data import Array
from contest.records import Record
from contest.statistics import Duel, Interval, Scores, Subject, duel, mean_ranks
from report import markdown

OURS = "bopp"
EARLY = (20, 60)  # evaluations after which everybody is compared, besides the budget
BBOB_GROUPS = {  # as BBOB names them
    "separable": range(1, 6),
    "low or moderate conditioning": range(6, 10),
    "high conditioning, one optimum": range(10, 15),
    "many optima, global structure": range(15, 20),
    "many optima, weak structure": range(20, 25),
}


@dataclass(frozen=True, eq=False)
class Field:
    """Those who can be compared with each other: peers that all ran on the same tasks, and how far."""

    scores: Scores
    reach: int

    @property
    def times(self) -> list[int]:
        """After how many evaluations they are compared."""
        return [*(t for t in EARLY if t < self.reach), self.reach]


def full_field(scores: Scores) -> Field:
    """The peers that ran on all tasks, to the end."""
    return Field(scores.of(scores.full_peers()), scores.budget)


def limited_fields(scores: Scores) -> dict[str, Field]:
    """One field for each limit, of tasks or of evaluations, by those whom it holds; full peers are in all."""
    full = scores.full_peers()
    limits: dict[tuple[frozenset[str], int], list[str]] = {}
    for peer in scores.peers:
        if peer not in full:
            limits.setdefault((scores.ran_on(peer), scores.reach(peer)), []).append(peer)
    return {
        ", ".join(peers): Field(_tasks_named(scores, names).of([*full, *peers]), reach)
        for (names, reach), peers in limits.items()
    }


def _tasks_named(scores: Scores, names: frozenset[str]) -> Scores:
    return scores.where(lambda subject: subject.name in names)


def standings(field: Field, runs: Sequence[Record]) -> str:
    """Mean rank and mean log10 regret of each peer, the best rank at the end first, and what it took."""
    scores, times = field.scores, field.times
    ranks = np.array([mean_ranks(scores.at(t)) for t in times])
    regrets = np.array([scores.at(t).mean(axis=1) for t in times])
    bold = [_lowest_in_bold(row, ".2f") for row in (*ranks, *regrets)]
    rows = []
    for number in np.argsort(ranks[-1], kind="stable"):
        peer = scores.peers[number]
        rows.append([peer, *(column[number] for column in bold), *_effort(scores, peer, runs)])
    columns = [
        "peer",
        *(f"rank at {t}" for t in times),
        *(f"log10 regret at {t}" for t in times),
        *("CPU s per run", "repeated points", "runs"),
    ]
    return markdown(columns, rows)


def _effort(scores: Scores, peer: str, runs: Sequence[Record]) -> list[str]:
    names = {subject.name for subject in scores.subjects}
    own = [run for run in runs if run.peer == peer and run.task in names]
    cpu = float(np.mean([run.cpu for run in own]))
    return [f"{cpu:.2f}", str(sum(run.repeats for run in own)), str(len(own))]


def _lowest_in_bold(numbers: Sequence[float], form: str) -> list[str]:
    shown = [f"{number:{form}}" for number in numbers]
    lowest = f"{min(numbers):{form}}"
    return [f"**{text}**" if text == lowest else text for text in shown]


def duels(scores: Scores, t: int) -> dict[str, Duel]:
    """Bopp against each peer that went that far, on the tasks that both have run."""
    ours = scores.row(OURS, t)
    met = {
        peer: duel(ours, scores.row(peer, t), scores.kinds)
        for peer in scores.peers
        if peer != OURS and scores.reach(peer) >= t
    }
    return {peer: found for peer, found in met.items() if found.tasks}


def duel_table(scores: Scores) -> str:
    """Bopp against each peer at 60 evaluations and at the budget; negative differences favour bopp."""
    times = sorted({min(EARLY[-1], scores.budget), scores.budget})
    found = [duels(scores, t) for t in times]
    columns = ["bopp against"]
    for t in times:
        columns += [f"tasks at {t}", "wins", "losses", "difference, dex", "95 % interval"]
    rows = [
        [peer, *(text for each in found for text in _duel_cells(each.get(peer)))]
        for peer in scores.peers
        if any(peer in each for each in found)
    ]
    return markdown(columns, rows)


def _duel_cells(found: Duel | None) -> list[str]:
    if not found:
        return ["-"] * 5
    difference = found.difference
    counts = [str(found.tasks), str(found.wins), str(found.losses)]
    return [*counts, f"{difference.mean:+.2f}", span(difference)]


def span(found: Interval) -> str:
    """The ends of an interval."""
    return "-" if np.isnan(found.low) else f"{found.low:+.2f} to {found.high:+.2f}"


def split_table(scores: Scores, slices: Mapping[str, Callable[[Subject], bool]], first: str) -> str:
    """The mean rank at the budget in slices of the tasks, and bopp's mean difference from the best peer."""
    rows = []
    for name, wanted in slices.items():
        inside = scores.where(wanted)
        if not inside.subjects:
            continue
        last = inside.at(scores.budget)
        rival = best_rival(inside)
        met = duels(inside, scores.budget)[rival]
        ranks = _lowest_in_bold(mean_ranks(last).tolist(), ".2f")
        rows.append([name, str(len(inside.subjects)), *ranks, rival, *_duel_cells(met)[3:]])
    columns = [first, "tasks", *scores.peers, "best of the others", "bopp minus that, dex", "95 % interval"]
    return markdown(columns, rows)


def best_rival(scores: Scores) -> str:
    """The peer besides bopp with the lowest mean log10 regret at the budget."""
    means = dict(zip(scores.peers, scores.at(scores.budget).mean(axis=1), strict=True))
    return min((peer for peer in scores.peers if peer != OURS), key=lambda peer: float(means[peer]))


def dimensions(scores: Scores) -> dict[str, Callable[[Subject], bool]]:
    """The tasks by number of parameters."""

    def with_parameters(number: int) -> Callable[[Subject], bool]:
        return lambda subject: subject.dimension == number

    return {str(d): with_parameters(d) for d in sorted({subject.dimension for subject in scores.subjects})}


def bbob_groups() -> dict[str, Callable[[Subject], bool]]:
    """The tasks by BBOB's five groups of functions."""

    def among(numbers: range) -> Callable[[Subject], bool]:
        return lambda subject: int(subject.kind.removeprefix("f")) in numbers

    return {f"f{numbers[0]}-f{numbers[-1]}, {name}": among(numbers) for name, numbers in BBOB_GROUPS.items()}


def rank_table(fields: Mapping[str, Field]) -> str:
    """The mean rank of each full peer at the budget, group by group."""
    peers = list(dict.fromkeys(peer for field in fields.values() for peer in field.scores.peers))
    columns = [_by_peer(field, mean_ranks(field.scores.at(field.reach))) for field in fields.values()]
    rows = [[peer, *(column.get(peer, "-") for column in columns)] for peer in peers]
    counts = ["tasks", *(str(len(field.scores.subjects)) for field in fields.values())]
    return markdown(["mean rank", *fields], [*rows, counts])


def readme_table(fields: Mapping[str, Field], records: Sequence[Record]) -> str:
    """On BBOB the mean log10 regret and the CPU seconds of a run, in every group the mean rank."""
    bbob = fields["bbob"]
    regrets = _by_peer(bbob, bbob.scores.at(bbob.reach).mean(axis=1))
    cpu = {peer: _effort(bbob.scores, peer, records)[0] for peer in bbob.scores.peers}
    ranks = [_by_peer(field, mean_ranks(field.scores.at(field.reach))) for field in fields.values()]
    rows = [
        [peer, *(column.get(peer, "-") for column in (regrets, cpu, *ranks))]
        for peer in dict.fromkeys(peer for column in ranks for peer in column)
    ]
    columns = ["", f"log10 regret, bbob at {bbob.reach}", "CPU s per run, bbob"]
    return markdown([*columns, *(f"rank, {name}" for name in fields)], rows)


def _by_peer(field: Field, numbers: Array) -> dict[str, str]:
    return dict(zip(field.scores.peers, _lowest_in_bold(numbers.tolist(), ".2f"), strict=True))
