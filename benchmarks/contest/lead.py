"""Lead: from which functions a difference of log10 regret comes, and what is left without the best two."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bopp.data import Array
from contest.standings import OURS, span
from contest.statistics import Interval, Scores, by_kind, interval
from report import markdown

BEST = 2  # so many kinds are taken away
ENOUGH = 5  # kinds, for it to be worth saying what is left without the best


@dataclass(frozen=True)
class Lead:
    """Where a mean difference comes from, ours minus theirs.

    difference  over all tasks
    parts       what each kind adds to it, the one that favours us most first
    rest        the difference on the tasks of all but the best kinds; nan if there are no others
    """

    difference: Interval
    parts: dict[str, float]
    rest: Interval

    @property
    def best(self) -> list[str]:
        """The kinds that favour us most."""
        return list(self.parts)[:BEST]

    @property
    def share(self) -> float:
        """What the best kinds are of the lead, above 1 if the others favour the peer; nan without a lead."""
        whole = self.difference.mean
        return sum(self.parts[kind] for kind in self.best) / whole if whole < 0.0 else np.nan

    @property
    def lower(self) -> str:
        """On how many kinds our mean is lower."""
        return f"{sum(part < 0.0 for part in self.parts.values())} of {len(self.parts)}"


def lead(differences: Array, kinds: Sequence[str]) -> Lead:
    """Where the mean of these differences, one for each task, comes from."""
    found = by_kind(differences, kinds)
    parts = {kind: found[kind].mean * kinds.count(kind) / len(differences) for kind in found}
    parts = {kind: parts[kind] for kind in sorted(parts, key=lambda kind: parts[kind])}
    best = list(parts)[:BEST]
    others = [kind not in best for kind in kinds]
    rest = interval(differences[others], [kind for kind in kinds if kind not in best])
    return Lead(interval(differences, kinds), parts, rest)


def leads(scores: Scores) -> dict[str, Lead]:
    """Where bopp's lead over each peer comes from, as far as that went, if it was met on enough kinds."""
    found = {}
    for peer in (peer for peer in scores.peers if peer != OURS):
        t = min(scores.reach(peer), scores.reach(OURS))
        if t == 0:
            continue
        differences = scores.row(OURS, t) - scores.row(peer, t)
        met = ~np.isnan(differences)
        kinds = [kind for kind, both in zip(scores.kinds, met, strict=True) if both]
        if len(set(kinds)) >= ENOUGH:
            found[peer] = lead(differences[met], kinds)
    return found


def lead_table(found: dict[str, Lead]) -> str:
    """One row for each peer."""
    columns = ["bopp against", "difference, dex", "lower on, kinds", "best two kinds", "their share"]
    columns += ["without them, dex", "95 % interval"]
    rows = [
        [
            *(peer, dex(one.difference.mean), one.lower, ", ".join(one.best)),
            *(_percent(one.share), dex(one.rest.mean), span(one.rest)),
        ]
        for peer, one in found.items()
    ]
    return markdown(columns, rows)


def in_words(found: Lead, rival: str) -> str:
    """How much of bopp's lead over one peer comes from few kinds."""
    whole = f"lead over {rival} ({dex(found.difference.mean)} dex)"
    lower = f"On {found.lower} kinds bopp's mean regret is lower."
    if np.isnan(found.share):
        return f"There is no {whole}. {lower}"
    if len(found.parts) < ENOUGH:
        return f"The {whole} is that of very few kinds. {lower}"
    share = f"Of the {whole}, {' and '.join(found.best)} make {_percent(found.share)}"
    return f"{share}; without them the difference is {dex(found.rest.mean)} ({span(found.rest)}). {lower}"


def kind_table(ours: Array, theirs: Array, kinds: Sequence[str], rival: str) -> str:
    """Bopp minus one peer, kind by kind, the one that favours bopp most first."""
    found = by_kind(ours - theirs, kinds)
    rows = []
    for kind in lead(ours - theirs, kinds).parts:
        own = [each == kind for each in kinds]
        means = [f"{row[own].mean():.2f}" for row in (ours, theirs)]
        rows.append([kind, str(sum(own)), *means, dex(found[kind].mean), span(found[kind])])
    return markdown(["kind", "tasks", OURS, rival, "difference, dex", "95 % interval"], rows)


def tasks_each(kinds: Sequence[str]) -> str:
    """How many tasks the interval of each kind rests on."""
    counts = [kinds.count(kind) for kind in kinds]
    fewest, most = min(counts), max(counts)
    return f"Each interval rests on {most if fewest == most else f'{fewest} to {most}'} tasks."


def dex(number: float) -> str:
    """A difference with its sign; one that is rounded to nothing has a plus."""
    return "-" if np.isnan(number) else f"{round(number, 2) + 0.0:+.2f}"


def _percent(share: float) -> str:
    return "-" if np.isnan(share) else f"{share:.0%}".replace("%", " %")
