"""The paper's table made again from our runs, beside the printed one, and what readers would ask next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from bopp.paper import agreement, curves
from bopp.paper.cells import Cell, cells
from bopp.paper.markdown import NOTHING, markdown, p_value
from bopp.paper.published import ANCESTOR_OF, HEADS, RUNS, TITLES, Average, even, title
from bopp.paper.runs import ACQUISITIONS, VARIANTS, Folder, Kernel, Maximiser, Run, Variant
from bopp.paper.statistics import Comparison, summarise


def as_rows(folder: Folder, kernel: Kernel = "ard", maximiser: Maximiser = "direct") -> list[dict[str, Any]]:
    """The table as plain records, one for each cell, for other programs to read."""
    return [
        {"problem": cell.problem, "acquisition": cell.acquisition, "variant": cell.variant}
        | {"runs": cell.runs, "mean": cell.ours.mean, "sd": cell.ours.sd}
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
    if compared := agreement.lines(found):
        lines += ["", "## Plain BO against the paper", "", *compared]
    if (kernel, maximiser) == ("ard", "direct") and (panels := curves.lines(runs, setting.initial)):
        lines += ["", "## Whole curves", "", *panels]
    if accuracies := _accuracies(found):
        lines += ["", "## Plain accuracy", "", "Mean at the evaluation with the best f.", "", *accuracies]
    shown = [run for run in runs if (run.key.kernel, run.key.maximiser) == (kernel, maximiser)]
    lines += ["", "## Machines", "", *_machines(shown)]
    return "\n".join(lines) + "\n"


def _results(found: Sequence[Cell]) -> list[str]:
    rows = []
    for row in _by_row(found):
        first = next(iter(row.values()))
        fewest, most = min(cell.runs for cell in row.values()), max(cell.runs for cell in row.values())
        count = str(most) if fewest == most else f"{fewest}{NOTHING}{most}"
        ours = {
            variant: _bold(f"{cell.ours}{f' n {cell.runs}' if cell.runs < most else ''}", cell.no_worse)
            for variant, cell in row.items()
        }
        paper = {v: _bold(str(cell.paper), cell.no_worse_in_paper) for v, cell in row.items() if cell.paper}
        name = f"{title(first.problem)}, {'S_T' if first.regret else 'f'}"
        rows.append([name, "ours", count, *(ours.get(variant, NOTHING) for variant in VARIANTS)])
        if paper:
            whose = (
                f"paper's {title(ANCESTOR_OF[first.problem])}" if first.problem in ANCESTOR_OF else "paper"
            )
            rows.append(["", whose, str(RUNS), *(paper.get(variant, NOTHING) for variant in VARIANTS)])
    return markdown(["problem", "", "n", *(HEADS[variant] for variant in VARIANTS)], rows)


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
    head = [
        "all cells",
        "mean no worse",
        "in the paper",
        "won/lost/tied",
        "sign p",
        "effect",
        "95 % interval",
    ]
    rows = []
    for ours, variant in ((ours, variant) for ours in (False, True) for variant in VARIANTS[1:]):
        chosen = [cell for cell in found if (cell.variant, cell.problem not in TITLES) == (variant, ours)]
        it = summarise([cell.pairs for cell in chosen if cell.pairs])
        if not it.cells:
            continue
        bold = [] if ours else [cell.no_worse_in_paper for cell in chosen if cell.paper]
        effect, interval = NOTHING, NOTHING
        if it.effect is not None and it.low is not None and it.high is not None:
            effect, interval = f"{it.effect:+.3f} ({it.varied})", f"[{it.low:+.3f}, {it.high:+.3f}]"
        name = HEADS[variant] + (", problems not in the paper" if ours else "")
        paper = f"{sum(bold)} of {len(bold)}" if bold else NOTHING
        score = f"{it.wins}/{it.losses}/{it.ties}"
        rows.append([name, f"{it.no_worse} of {it.cells}", paper, score, p_value(it.sign), effect, interval])
    return [
        "Effect: the mean difference in standard deviations of BO, over the cells (in brackets, how many)",
        "where that is not 0.0000. Sign test: all pairs, as if none shared its initial points with another.",
        "",
        *markdown(head, rows),
    ]


def _accuracies(found: Sequence[Cell]) -> list[str]:
    rows = []
    for row in _by_row([cell for cell in found if cell.accuracy is not None]):
        first = next(iter(row.values()))
        means = {v: f"{cell.accuracy.mean():.4f}" for v, cell in row.items() if cell.accuracy is not None}
        rows.append(
            [title(first.problem), first.acquisition.upper(), *(means.get(v, NOTHING) for v in VARIANTS)]
        )
    return markdown(["problem", "", *(HEADS[variant] for variant in VARIANTS)], rows) if rows else []


def _machines(runs: Sequence[Run]) -> list[str]:
    """Where runs were made: how results are rounded depends on it, and which way a long run takes."""
    counts = Counter(str(run.machine) if run.machine else "not recorded" for run in runs)
    return [f"- {count} runs: {name}" for name, count in sorted(counts.items())]


def _by_row(found: Sequence[Cell]) -> Iterator[dict[Variant, Cell]]:
    """The cells of each problem and acquisition, by variant."""
    for where in dict.fromkeys((cell.problem, cell.acquisition) for cell in found):
        yield {cell.variant: cell for cell in found if (cell.problem, cell.acquisition) == where}


def _signed(value: float) -> str:
    if value == 0.0:
        return "0"
    return f"{even(value):+.4f}" if abs(even(value)) >= 0.00005 else f"{value:+.0e}"


def _bold(text: str, bold: bool) -> str:
    return f"**{text}**" if bold else text
