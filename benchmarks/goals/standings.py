"""Standings: the tables of the goals in Markdown."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bopp.data import Array
from contest.standings import OURS, duels, span
from contest.statistics import Scores, interval, mean_ranks
from goals.records import Record
from goals.scores import met, volumes
from report import markdown

TIMES = (20, 40, 60)  # evaluations after which everybody is compared


def standings(field: Scores, records: Sequence[Record], what: str) -> str:
    """Mean ranks and mean scores of each peer, the best rank at the end first, and what it took."""
    ranks = np.array([mean_ranks(field.at(t)) for t in TIMES])
    means = np.array([field.at(t).mean(axis=1) for t in TIMES])
    bold = [in_bold(row) for row in (*ranks, *means)]
    extra = _volumes(field, records) if field.subjects[0].group == "objectives" else _without(field, records)
    effort = _effort(field, records)
    rows = [
        [field.peers[number], *(column[number] for column in [*bold, *extra.values(), *effort.values()])]
        for number in np.argsort(ranks[-1], kind="stable")
    ]
    heads = [*(f"rank at {t}" for t in TIMES), *(f"{what} at {t}" for t in TIMES)]
    return markdown(["peer", *heads, *extra, *effort], rows)


def in_bold(
    numbers: Sequence[float] | Array, form: str = ".2f", best: Callable[..., float] = min
) -> list[str]:
    """Numbers as text, the best of them in bold."""
    shown = [f"{number:{form}}" for number in numbers]
    wanted = f"{best(numbers):{form}}"
    return [f"**{text}**" if text == wanted else text for text in shown]


def of_field(field: Scores, records: Sequence[Record]) -> dict[str, list[Record]]:
    """The runs of each peer of a field on its tasks."""
    names = {subject.name for subject in field.subjects}
    return {peer: [one for one in records if one.peer == peer and one.task in names] for peer in field.peers}


def _volumes(field: Scores, records: Sequence[Record]) -> dict[str, list[str]]:
    """The mean share of the hypervolume."""
    own = of_field(field, records)
    curves = {peer: np.mean([volumes(record) for record in runs], axis=0) for peer, runs in own.items()}
    return {
        f"volume at {t}": in_bold([100 * curves[peer][t - 1] for peer in field.peers], ".2f", max)
        for t in TIMES
    }


def _without(field: Scores, records: Sequence[Record]) -> dict[str, list[str]]:
    """How many runs met all constraints nowhere."""
    own = of_field(field, records)
    counts = [[sum(not met(run)[:t].any() for run in own[peer]) for peer in field.peers] for t in TIMES]
    return {f"nothing feasible at {t}": list(map(str, row)) for t, row in zip(TIMES, counts, strict=True)}


def _effort(field: Scores, records: Sequence[Record]) -> dict[str, list[str]]:
    own = of_field(field, records)
    return {
        "CPU s per run": [f"{np.mean([run.cpu for run in own[peer]]):.1f}" for peer in field.peers],
        "repeated points": [str(sum(run.repeats for run in own[peer])) for peer in field.peers],
    }


def duel_table(scores: Scores) -> str:
    """Bopp against each peer, on the tasks that both have run; negative differences favour bopp."""
    found = {t: duels(scores, t) for t in TIMES}
    rows = []
    for peer, last in found[TIMES[-1]].items():
        cells = [_difference(found[t][peer].difference.mean, span(found[t][peer].difference)) for t in TIMES]
        rows.append([peer, str(last.tasks), str(last.wins), str(last.losses), *cells])
    heads = [f"difference at {t}, dex" for t in TIMES]
    return markdown([f"{OURS} against", "tasks", f"wins at {TIMES[-1]}", "losses", *heads], rows)


def _difference(mean: float, ends: str) -> str:
    return f"{mean:+.2f} ({ends})"


def problem_table(field: Scores, t: int) -> str:
    """The mean score of each peer after t evaluations, problem by problem, with its mean rank."""
    rows = []
    for name, inside in by_problem(field).items():
        means, ranks = inside.at(t).mean(axis=1), mean_ranks(inside.at(t))
        cells = [f"{mean} ({rank:.1f})" for mean, rank in zip(in_bold(means), ranks, strict=True)]
        rows.append([name, str(len(inside.subjects)), *cells])
    return markdown(["problem", "runs", *field.peers], rows)


def difference_table(field: Scores, t: int) -> str:
    """Bopp minus each peer, problem by problem, with intervals over the seeds."""
    others = [peer for peer in field.peers if peer != OURS]
    rows = []
    for name, inside in by_problem(field).items():
        ours = inside.row(OURS, t)
        cells = []
        for peer in others:
            found = interval(ours - inside.row(peer, t), [subject.name for subject in inside.subjects])
            cells.append(_difference(found.mean, span(found)))
        rows.append([name, *cells])
    return markdown(["bopp minus", *others], rows)


def volume_table(field: Scores, records: Sequence[Record]) -> str:
    """The hypervolume of each peer at the end, problem by problem, in percent of all that can be reached."""

    def last(runs: Sequence[Record]) -> float:
        return float(100 * np.mean([volumes(run)[TIMES[-1] - 1] for run in runs]))

    return _per_problem(field, records, last, lambda numbers: in_bold(numbers, ".2f", max))


def cpu_table(field: Scores, records: Sequence[Record]) -> str:
    """The CPU seconds of a run, problem by problem."""

    def seconds(runs: Sequence[Record]) -> float:
        return float(np.mean([run.cpu for run in runs]))

    return _per_problem(field, records, seconds, lambda numbers: [f"{number:.1f}" for number in numbers])


def _per_problem(
    field: Scores,
    records: Sequence[Record],
    number: Callable[[Sequence[Record]], float],
    shown: Callable[[list[float]], list[str]],
) -> str:
    rows = []
    for name, inside in by_problem(field).items():
        own = of_field(inside, records)
        rows.append([name, *shown([number(own[peer]) for peer in field.peers])])
    return markdown(["problem", *field.peers], rows)


def by_problem(field: Scores) -> Mapping[str, Scores]:
    """A field, problem by problem."""
    names = dict.fromkeys(subject.kind for subject in field.subjects)
    return {name: field.where(lambda subject, name=name: subject.kind == name) for name in names}  # type: ignore[misc]
