"""Report: the page that says how bopp does beside its peers, made whole from the records of the contest."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contest import figures
from contest.lead import in_words, kind_table, lead, lead_table, leads, tasks_each
from contest.peers import PEERS
from contest.prose import ABOUT, DERIVED, INTRODUCTION, OPTIMIZERS, PLAIN
from contest.reading import groups, read_json, records, subjects
from contest.records import Record
from contest.runs import SUBSETS, planned
from contest.standings import (
    OURS,
    Field,
    bbob_groups,
    best_rival,
    dimensions,
    duel_table,
    full_field,
    limited_fields,
    rank_table,
    readme_table,
    split_table,
    standings,
)
from contest.statistics import Scores, scores
from report import heading, markdown, versions_table

FUNCTIONS = "### Function by function"
CANNOT = "not made for the spaces of the tasks left out"
MISSING = "runs that did not end, or were not made"


@dataclass(frozen=True, eq=False)
class Group:
    """A group of tasks with everything that was recorded of it."""

    name: str
    scores: Scores
    records: list[Record]
    full: Field
    limited: dict[str, Field]


def read_groups(results: Path) -> list[Group]:
    """The groups that have records."""
    return [read_group(results, name) for name in groups(results)]


def read_group(results: Path, name: str) -> Group:
    found = records(results, name)
    peers = [peer for peer in PEERS if any(record.peer == peer for record in found)]
    table = scores(found, subjects(name), peers)
    return Group(name, table, found, full_field(table), limited_fields(table))


def page(results: Path, pictures: Path, folder: Path) -> str:
    """The page, to be written to a folder; draws the pictures that it shows."""
    found = read_groups(results)
    parts = [
        "# bopp beside its peers",
        f"This page: {heading()}. The versions, machines and dates of the runs are [at its end](#versions).",
        "## What was run",
        INTRODUCTION,
        markdown(["peer", "what it is"], [[peer, OPTIMIZERS[peer]] for peer in PEERS]),
        *_overview(found, pictures, folder),
        *(part for group in found for part in section(group, pictures, folder)),
        *_parts(read_json(results / "parts.json")),
        "## Who ran on less",
        _limits(found),
        "## Versions",
        versions_table(PEERS, read_json(results / "versions.json") or {}),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _overview(found: list[Group], pictures: Path, folder: Path) -> list[str]:
    fields = {group.name: group.full for group in found if group.full.scores.peers}
    limited = {f"{group.name} with {name}": field for group in found for name, field in group.limited.items()}
    return [
        "## All groups",
        "The mean rank at the end of the budget, among those who ran on all tasks of a group:",
        rank_table(fields),
        "Nothing was chosen on these tasks, but on others, partly of the same functions: each group says on "
        "how many, and, after its duels, how much of a lead is the work of a few functions.",
        "Mean log10 regret. The bands are 95 % intervals for comparing peers: what a task gives to all "
        "alike, being hard or easy, is taken out.",
        _picture(figures.regret_figure(fields), "contest-regret.png", pictures, folder),
        "Data profiles: the share of all pairs of a task and a target that was reached. The targets of a "
        "task are evenly spaced in log10 regret, from that of the given points to the best that anybody had.",
        _picture(figures.profile_figure(fields), "contest-profiles.png", pictures, folder),
        *_limited_picture(limited, pictures, folder),
    ]


def _limited_picture(limited: Mapping[str, Field], pictures: Path, folder: Path) -> list[str]:
    if not limited:
        return []
    shown = _picture(figures.regret_figure(limited), "contest-limited.png", pictures, folder)
    return ["Mean log10 regret on the tasks of those who ran on less, with everybody:", shown]


def _picture(figure: Any, name: str, pictures: Path, folder: Path) -> str:
    """Draw a picture, and show it in the page."""
    pictures.mkdir(parents=True, exist_ok=True)
    figures.save(figure, pictures / name)
    return f"![{name.removesuffix('.png')}]({Path(os.path.relpath(pictures / name, folder)).as_posix()})"


def section(group: Group, pictures: Path, folder: Path) -> list[str]:
    """What the page says of one group."""
    about = f"{ABOUT[group.name]} {_size(group.scores)} {_chosen(group)}"
    parts = [f"## {group.name}", about]
    if group.full.scores.peers:
        parts += [standings(group.full, group.records)]
    for name, field in group.limited.items():
        parts += [_limited_title(name, field, group.scores), standings(field, group.records)]
    if OURS in group.scores.peers and len(group.scores.peers) > 1:
        parts += ["Duels, each on the tasks that both have run:", duel_table(group.scores)]
        parts += _leads(group.scores)
    if OURS in group.full.scores.peers and len(group.full.scores.peers) > 1:
        parts += [*_bbob(group.full, pictures, folder), FUNCTIONS] if group.name == "bbob" else []
        parts += _kinds(group.full)
    return parts


def _chosen(group: Group) -> str:
    """On how many other tasks of a group bopp's default was chosen, and whether of the same kinds."""
    other = subjects(group.name, "choosing")
    if not other:
        return "Nothing was chosen on such tasks."
    kinds = {each.kind for each in other}
    shared = len(kinds & set(group.scores.kinds)) or "none"
    others = (
        f"For choosing there were {len(other)} others, of {len(kinds)} kinds, {shared} of which are here."
    )
    return f"{others} {PLAIN}" if group.name in DERIVED else others


def _leads(table: Scores) -> list[str]:
    found = leads(table)
    if not found:
        return []
    title = "How much of the last difference the best two kinds make, and what is left without them:"
    return [title, lead_table(found)]


def _kinds(field: Field) -> list[str]:
    """Bopp and the best of the others kind by kind, and how much of the difference comes from few of them."""
    rival = best_rival(field.scores)
    ours, theirs = (field.scores.row(peer, field.reach) for peer in (OURS, rival))
    kinds = field.scores.kinds
    title = (
        f"Mean log10 regret at {field.reach} evaluations, kind by kind, of bopp and of {rival}, the lowest of"
    )
    words = f"{in_words(lead(ours - theirs, kinds), rival)} {tasks_each(kinds)}"
    return [f"{title} the others over all. {words}", kind_table(ours, theirs, kinds, rival)]


def _limited_title(name: str, field: Field, table: Scores) -> str:
    share = f"on {len(field.scores.subjects)} of {len(table.subjects)} tasks, to {field.reach} evaluations"
    if field.reach < table.budget:
        share += "; CPU time and repeated points of the others are those of their longer runs"
    return f"With {name}, {share}:"


def _size(table: Scores) -> str:
    """How large a group is, in words."""

    def listed(numbers: set[int]) -> str:
        *others, last = map(str, sorted(numbers))
        return f"{', '.join(others)} or {last}" if others else last

    every = table.subjects
    parameters, budget, given = (
        listed({getattr(each, name) for each in every}) for name in ("dimension", "budget", "given")
    )
    return (
        f"{len(every)} tasks of {len(set(table.kinds))} kinds, {parameters} parameters, "
        f"{budget} evaluations, {given} of them given."
    )


def _bbob(field: Field, pictures: Path, folder: Path) -> list[str]:
    """What BBOB has to say beyond its mean: by dimension, by group of functions."""
    slices = dimensions(field.scores)
    panels = {
        f"{name} parameters": Field(field.scores.where(wanted), field.reach)
        for name, wanted in slices.items()
    }
    return [
        "### By number of parameters",
        f"Mean ranks at {field.reach} evaluations, and the difference from the best of the others there:",
        split_table(field.scores, slices, "parameters"),
        _picture(figures.regret_figure(panels), "contest-bbob.png", pictures, folder),
        "### By group of functions",
        split_table(field.scores, bbob_groups(), "functions"),
    ]


def _limits(found: list[Group]) -> str:
    """Which peers ran on fewer tasks of a group or with fewer evaluations, and why."""
    rows = []
    for group in found:
        table = group.scores
        for peer in (peer for peer in table.peers if peer not in group.full.scores.peers):
            share = f"{len(table.ran_on(peer))} of {len(table.subjects)}"
            rows.append([group.name, peer, share, str(table.reach(peer)), _why(group, peer)])
        absent = [peer for peer in PEERS if peer not in table.peers]
        rows += [[group.name, peer, "none", "-", _why(group, peer)] for peer in absent]
    return markdown(["group", "peer", "tasks", "evaluations", "why"], rows) if rows else "Nobody."


def _why(group: Group, peer: str) -> str:
    ran = {record.task for record in group.records if record.peer == peer}
    if any(plan.task not in ran for plan in planned(group.name, "table", peer)):
        return MISSING
    subset = SUBSETS.get(peer, {}).get(group.name)
    return subset.why if subset else CANNOT


def _parts(kept: dict[str, Any] | None) -> list[str]:
    """What each part of the default brings, if it was measured."""
    if not kept:
        return []
    rows = [
        [
            row["label"],
            row["group"],
            f"{row['log_regret']:.2f}",
            "-" if row.get("difference") is None else f"{row['difference']:+.2f}",
            "-" if row.get("interval") is None else "{:+.2f} to {:+.2f}".format(*row["interval"]),
        ]
        for row in kept["rows"]
    ]
    columns = ["", "group", "mean log10 regret", "difference from the default, dex", "95 % interval"]
    return ["## What each part of the default brings", kept.get("about", ""), markdown(columns, rows)]


def readme(results: Path) -> str:
    """The tables for the README: regret and CPU time on BBOB, ranks in all groups, and the duels on BBOB."""
    found = read_groups(results)
    fields = {group.name: group.full for group in found if group.full.scores.peers}
    (bbob,) = (group for group in found if group.name == "bbob")
    tables = [readme_table(fields, bbob.records)]
    if OURS in bbob.scores.peers:
        tables.append(duel_table(bbob.scores))
    return "\n\n".join(tables)
