"""Report: the page that says how bopp does with constraints and several objectives, made from the records."""

from collections.abc import Sequence
from typing import Any

from contest.reading import read_json
from contest.standings import OURS
from contest.statistics import Scores
from goals import standings
from goals.peers import PEERS
from goals.problem import BUDGET
from goals.problems import PARTS
from goals.records import KEPT, Record
from goals.scores import fields, read_all, scores
from goals.standings import TIMES
from report import heading, markdown, versions_table

WHAT = {"constrained": "log10 regret", "objectives": "log10 missing"}
TITLES = {"constrained": "## One objective, with constraints", "objectives": "## Several objectives"}
ABOUT = {
    "constrained": (
        "Regret is the gap between the best value that met all constraints and the best known one, as a "
        "share of the gap between the worst such value of a random sample and the best known one. 0 in log10 "
        "is thus as bad as the worst random point, and a run that has met all constraints nowhere yet counts "
        "as that; -8 is the least that is told apart. Runs with nothing feasible are counted beside it."
    ),
    "objectives": (
        "Missing is the share of the hypervolume that was not reached, of all that can be reached, with the "
        "reference point of the problem. The volumes are those reached, in percent."
    ),
}
INTRODUCTION = f"""Everybody minimises from the same given points, {BUDGET} evaluations in all. A problem of d
parameters has d + 1 given points, at least 5 and at most 10: the beginning of the scrambled Sobol sequence of
the seed of the run. They count among the {BUDGET}, and everybody is told them before the first suggestion.
Nothing of bopp was chosen on the problems of this page: there are others for that, in
`benchmarks/goals/choosing.py`.

Differences are in dex, powers of ten, and are taken run by run, from the same given points; negative ones
favour bopp. Ranks are among those in the table, the best being 1. Intervals are 95 % bootstrap intervals:
over all problems, whole problems are drawn, as the runs on one are alike; within a problem, runs. Where
somebody has not run on all tasks, a table has the tasks that all in it have run. Each run had one thread."""
OPTIMIZERS = {
    "bopp": "bopp as it comes: `Optimizer(Problem(space, objectives, constraints), seed=...)`",
    "bopp-reference": "the same, told the reference point of the hypervolume; several objectives only",
    "botorch": (
        "`SingleTaskGP` for each outcome, in float64, inputs normalised, values standardised; one "
        "objective: `LogConstrainedExpectedImprovement`, and `LogProbabilityOfFeasibility` while nothing is "
        "feasible; several: `qLogNoisyExpectedHypervolumeImprovement`, 128 Sobol samples, told the reference "
        "point, `prune_baseline=True`; 10 restarts of 512 points"
    ),
    "gpsampler": "Optuna's `GPSampler`, with `set_constraint`",
    "tpe": "Optuna's `TPESampler`, with `set_constraint`",
    "nsga2": (
        "Optuna's `NSGAIISampler`, with `set_constraint` and a population of 10, as its 50 would leave it "
        "ten evaluations; the given points are of its first generation"
    ),
    "sobol": "no model: the Sobol points that follow the given ones",
}
FOREST = (
    "The forest is a real task: a random forest of scikit-learn recognises digits. One objective is the "
    "logarithmic loss on unseen rows, the other the number of tree nodes that a prediction visits, both as "
    "log10. The nodes stand for the time of a prediction: they come out the same on a busy machine."
)


def page() -> str:
    """The page of the table."""
    records, folder = read_all(KEPT["table"]), KEPT["table"]
    peers = [peer for peer in PEERS if any(record.peer == peer for record in records)]
    parts = [
        "# Constraints and several objectives",
        f"This page: {heading()}. Made by `make bench-goals`; the versions, machines and dates of the runs "
        "are [at its end](#versions).",
        "## What was run",
        INTRODUCTION,
        markdown(["peer", "what it is"], [[peer, OPTIMIZERS[peer]] for peer in peers]),
        markdown(["problem", "parameters", "objectives", "constraints"], _problems()),
        FOREST,
        *(part for group in TITLES for part in _section(records, "table", group, peers)),
        *_speed(read_json(folder / "speed.json")),
        "## Versions",
        versions_table(PEERS, read_json(folder / "versions.json") or {}),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def comparison(part: str) -> str:
    """The tables of a part, with every label that has records: what was tried beside what there is."""
    records = read_all(KEPT[part])
    labels = list(dict.fromkeys([*PEERS, *sorted({record.peer for record in records})]))
    peers = [label for label in labels if any(record.peer == label for record in records)]
    return "\n\n".join(text for group in TITLES for text in _section(records, part, group, peers))


def _problems() -> list[list[str]]:
    return [
        [each.name, str(each.dimension), str(each.objectives), str(each.constraints)]
        for each in PARTS["table"]
    ]


def _section(records: Sequence[Record], part: str, group: str, peers: Sequence[str]) -> list[str]:
    table = scores(records, part, group, peers)
    found = fields(table)
    if not found:
        return []
    parts = [TITLES[group], ABOUT[group]]
    for field in found:
        parts += [f"On the {_size(field)}:", standings.standings(field, records, WHAT[group])]
    if OURS in table.peers:
        parts += [
            "bopp against each, on the runs that both have made, with 95 % intervals:",
            standings.duel_table(table),
        ]
    complete = [field for field in found if len(_kinds(field)) == len(_kinds(table))]
    return [*parts, *_details((complete or found)[0], records, group)]


def _details(field: Scores, records: Sequence[Record], group: str) -> list[str]:
    """Problem by problem, with as many peers as have run on all of them."""
    parts = ["### Problem by problem"]
    for t in TIMES:
        parts += [
            f"Mean {WHAT[group]} after {t} evaluations, and in brackets the mean rank:",
            standings.problem_table(field, t),
        ]
    if group == "objectives":
        parts += [
            f"Hypervolume after {TIMES[-1]} evaluations, in percent of all that can be reached:",
            standings.volume_table(field, records),
        ]
    if OURS in field.peers:
        parts += [
            f"Differences after {TIMES[-1]} evaluations, dex, with 95 % intervals over the runs:",
            standings.difference_table(field, TIMES[-1]),
        ]
    return [*parts, "CPU seconds of a run:", standings.cpu_table(field, records)]


def _size(field: Scores) -> str:
    return f"{len(field.subjects)} runs of {len(_kinds(field))} problems that all of these have made"


def _kinds(field: Scores) -> set[str]:
    return set(field.kinds)


def _speed(kept: dict[str, Any] | None) -> list[str]:
    """What a suggestion costs, if it was measured."""
    if not kept:
        return []
    rows = [[row["what"], f"{row['cpu']:.3g}", f"{row['ratio']:.3g}"] for row in kept["rows"]]
    return [
        "## What a suggestion costs",
        kept["about"],
        markdown(["", "CPU s", "as a multiple of bopp with one objective"], rows),
    ]
