"""The paper's table made again from our runs, beside the printed one, and what readers would ask next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import groupby, product
from typing import Any

from bopp.paper.cells import Cell, cells
from bopp.paper.curves import ALMOST, courses
from bopp.paper.problems import REAL, SYNTHETIC
from bopp.paper.published import ANCESTOR_OF, HEADS, RUNS, TITLES, Average, even, title
from bopp.paper.runs import ACQUISITIONS, VARIANTS, Folder, Kernel, Maximiser, Run, Variant
from bopp.paper.statistics import SIGNIFICANT, Comparison, agreement, summarise

NOTHING = "–"  # noqa: RUF001  a dash, not a minus


def as_rows(folder: Folder, kernel: Kernel = "ard", maximiser: Maximiser = "direct") -> list[dict[str, Any]]:
    """The table as plain records, one for each cell, for other programs to read."""
    return [
        {"problem": cell.problem, "acquisition": cell.acquisition, "variant": cell.variant}
        | {"runs": len(cell.runs), "mean": cell.ours.mean, "sd": cell.ours.sd}
        | {f"paper_{name}": getattr(cell.paper, name, None) for name in Average._fields}
        | {field.name: getattr(cell.comparison, field.name, None) for field in fields(Comparison)}
        for cell in cells(folder, kernel, maximiser)
    ]


def render(folder: Folder, kernel: Kernel = "ard", maximiser: Maximiser = "direct") -> str:
    """The table, the paired comparisons and the summary as Markdown."""
    found, runs, setting = cells(folder, kernel, maximiser), folder.runs(), folder.setting
    lines = [
        "# The paper's table, run again",
        "",
        f"Mean±sd over n runs after {setting.iterations} iterations; kernel {kernel}, maximiser {maximiser}.",
        "S_T, the regret: smaller is better; f: larger is better. The sd is that of the population, as in",
        "the paper. Bold: mean no worse than BO's, to four decimals, over the repeats that both have. PP0 is",
        "a control that the paper lacks: exact duplicates (tau_0 = 0), which only halve the noise.",
    ]
    for acquisition in ACQUISITIONS:
        if chosen := [cell for cell in found if cell.acquisition == acquisition]:
            lines += ["", f"## {acquisition.upper()}", "", *_results(chosen)]
    if any(cell.pairs for cell in found):
        lines += ["", "## What the paper does not give", "", *_comparisons(found), "", *_summaries(found)]
    if agreements := _agreements(found):
        lines += ["", "## Plain BO against the paper", "", *agreements]
    if (kernel, maximiser) == ("ard", "direct") and (panels := _panels(runs, setting.initial)):
        lines += ["", "## Whole curves", "", *panels]
    if accuracies := _accuracies(found):
        lines += ["", "## Plain accuracy", "", "Mean at the evaluation with the best f.", "", *accuracies]
    shown = [run for run in runs if (run.key.kernel, run.key.maximiser) == (kernel, maximiser)]
    lines += ["", "## Machines", "", *_machines(shown)]
    return "\n".join(lines) + "\n"


def _results(found: Sequence[Cell]) -> list[str]:
    rows = []
    for problem, row in groupby(found, key=lambda cell: cell.problem):
        cells = {cell.variant: cell for cell in row}
        counts = {variant: len(cell.runs) for variant, cell in cells.items()}
        fewest, most = min(counts.values()), max(counts.values())
        ours = {
            v: _bold(str(cell.ours) + (f" n {counts[v]}" if counts[v] < most else ""), cell.no_worse)
            for v, cell in cells.items()
        }
        paper = {v: _bold(str(cell.paper), cell.no_worse_in_paper) for v, cell in cells.items() if cell.paper}
        value = "S_T" if next(iter(cells.values())).runs[0].regret else "f"
        count = str(most) if fewest == most else f"{fewest}{NOTHING}{most}"
        rows.append([f"{title(problem)}, {value}", "ours", count, *_columns(ours)])
        if paper:
            whose = f"paper's {title(ANCESTOR_OF[problem])}" if problem in ANCESTOR_OF else "paper"
            rows.append(["", whose, str(RUNS), *_columns(paper)])
    return markdown(["problem", "", "n", *_columns(HEADS)], rows)


def _comparisons(found: Sequence[Cell]) -> list[str]:
    head = ["problem", "", "variant", "pairs", "difference", "95 % interval", "won/lost/tied"]
    rows = []
    for cell in found:
        if cell.pairs is None:
            continue
        pairs, it, rest = str(len(cell.pairs.plain)), cell.comparison, [NOTHING] * 7
        if it:
            interval, score = f"[{_signed(it.low)}, {_signed(it.high)}]", f"{it.wins}/{it.losses}/{it.ties}"
            p_values = it.wilcoxon, it.wilcoxon_holm, it.sign, it.sign_holm
            rest = [_signed(it.difference), interval, score, *map(p_value, p_values)]
        rows.append([title(cell.problem), cell.acquisition.upper(), HEADS[cell.variant], pairs, *rest])
    tests = sum(cell.comparison is not None for cell in found)
    return [
        "Repeats that BO and BO-PP both have, from the same initial points. A difference is positive where",
        "BO-PP is better; its interval is of bootstrap percentiles of the mean. Wilcoxon's signed-rank",
        "test leaves out differences of 0 and is exact, also where some of the others are of equal size.",
        f"Holm: the p value before it, adjusted for all {tests} cells.",
        "",
        *markdown([*head, "Wilcoxon p", "Holm", "sign p", "Holm"], rows),
    ]


def _summaries(found: Sequence[Cell]) -> list[str]:
    head = ["all cells", "mean no worse", "in the paper", "won/lost/tied", "sign p", "effect"]
    rows = []
    for ours, variant in product((False, True), VARIANTS[1:]):
        chosen = [cell for cell in found if (cell.variant, cell.problem not in TITLES) == (variant, ours)]
        it = summarise([cell.pairs for cell in chosen if cell.pairs])
        if not it.cells:
            continue
        bold = [] if ours else [cell.no_worse_in_paper for cell in chosen if cell.paper]
        effect, interval = NOTHING, NOTHING
        if it.varied:
            effect, interval = f"{it.effect:+.3f} ({it.varied})", f"[{it.low:+.3f}, {it.high:+.3f}]"
        name = HEADS[variant] + (", problems not in the paper" if ours else "")
        paper = f"{sum(bold)} of {len(bold)}" if bold else NOTHING
        score = f"{it.wins}/{it.losses}/{it.ties}"
        rows.append([name, f"{it.no_worse} of {it.cells}", paper, score, p_value(it.sign), effect, interval])
    return [
        "Effect: the mean difference in standard deviations of BO, over the cells (in brackets, how many)",
        "where that is not 0.0000. Sign test: all pairs, as if none shared its initial points with another.",
        "",
        *markdown([*head, "95 % interval"], rows),
    ]


def _agreements(found: Sequence[Cell]) -> list[str]:
    """The cells of plain BO that the paper has."""
    plain = [
        (cell, agreement(cell.ours, len(cell.runs), cell.paper))
        for cell in found
        if cell.variant == "bo" and cell.paper is not None
    ]
    if not plain:
        return []
    lines = [
        "Two measures: whether our mean is within the paper's mean ± 1 sd, and Welch's t test of the means,",
        "each cell by itself. On real problems but housing all our runs have one split of the data: a",
        "difference may be that of the split.",
        "",
    ]
    groups = {"synthetic": SYNTHETIC, "real": REAL, "ancestors'": tuple(ANCESTOR_OF)}
    for name, problems in groups.items():
        if chosen := [it for cell, it in plain if cell.problem in problems]:
            within, differ = sum(it.within for it in chosen), sum(it.differs for it in chosen)
            cells = f"Of {len(chosen)} {name} cells of plain BO"
            lines.append(f"{cells}, {within} within; by the test {differ} different (p < {SIGNIFICANT}).")
    rows = []
    for cell, it in plain:
        test = [NOTHING] * 2 if it.t is None or it.p is None else [f"{it.t:+.1f}", p_value(it.p)]
        means = [str(len(cell.runs)), str(cell.ours), str(cell.paper), "yes" if it.within else "no"]
        rows.append([title(cell.problem), cell.acquisition.upper(), *means, *test])
    head = ["problem", "", "n", "ours", "paper", "within 1 sd", "Welch's t", "p"]
    return [*lines, "", *markdown(head, rows)]


def _panels(runs: Sequence[Run], initial: int) -> list[str]:
    """In how many panels what the paper says of its figures holds."""
    found = courses(runs, initial)
    if not found:
        return []
    *three, control = VARIANTS[1:]
    groups = {HEADS[variant]: [variant] for variant in three}
    rows = []
    for name, variants in (groups | {"at least one of these": three, HEADS[control]: [control]}).items():
        chosen = [course for course in found if course.variant in variants]
        panels = len({course.panel for course in chosen})
        kept = {course.panel for course in chosen if course.almost_always_no_worse}
        better = {course.panel for course in chosen if course.almost_always_better}
        rows.append([name, f"{len(kept)} of {panels}", f"{len(better)} of {panels}"])
    return [
        'The paper says of its figures that on each problem "at least one curve" of BO-PP is "almost',
        'always" above that of BO, that is better. Counted here: panels, one for each problem in each',
        f"figure, where a variant's mean is no worse than BO's in {ALMOST:.0%} of the iterations and better",
        f"in some, to four decimals; and where it is better in {ALMOST:.0%}.",
        "",
        *markdown(["", "no worse", "better"], rows),
    ]


def _accuracies(found: Sequence[Cell]) -> list[str]:
    means: dict[tuple[str, str], dict[Variant, str]] = {}
    for cell in found:
        if cell.accuracy is not None:
            where = title(cell.problem), cell.acquisition.upper()
            means.setdefault(where, {})[cell.variant] = f"{cell.accuracy:.4f}"
    rows = [[*where, *_columns(texts)] for where, texts in means.items()]
    return markdown(["problem", "", *_columns(HEADS)], rows) if rows else []


def _machines(runs: Sequence[Run]) -> list[str]:
    """Where runs were made: how results are rounded depends on it, and which way a long run takes."""
    counts = Counter(str(run.machine) if run.machine else "not recorded" for run in runs)
    return [f"- {count} runs: {name}" for name, count in sorted(counts.items())]


def _columns(texts: Mapping[Variant, str]) -> list[str]:
    """A text for each variant."""
    return [texts.get(variant, NOTHING) for variant in VARIANTS]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown whose columns also line up as plain text."""
    widths = [max(3, *(len(text) for text in column)) for column in zip(head, *rows, strict=True)]
    lines = [head, ["-" * width for width in widths], *rows]
    return [f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines]


def p_value(value: float) -> str:
    """A p value to three digits."""
    return "<0.001" if value < 0.001 else "1" if value == 1.0 else f"{value:.3f}"


def _signed(value: float) -> str:
    if value == 0.0:
        return "0"
    return f"{even(value):+.4f}" if abs(even(value)) >= 0.00005 else f"{value:+.0e}"


def _bold(text: str, bold: bool) -> str:
    return f"**{text}**" if bold else text
