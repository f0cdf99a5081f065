"""The paper's table made again from our runs, beside the printed one, and what readers would ask next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from bopp.data import Array
from bopp.errors import PaperError
from bopp.paper.problems import SYNTHETIC
from bopp.paper.published import RUNS, TITLES, Average, even, no_worse, published, title
from bopp.paper.runs import ACQUISITIONS, VARIANTS, Acquisition, Folder, Kernel, Maximiser, Run, Variant
from bopp.paper.statistics import Comparison, Pairs, compare, summarise

NOTHING = "–"  # noqa: RUF001  a dash, not a minus
HEADS = {"bo": "BO", "pp01": "PP01", "pp001": "PP001", "pp0001": "PP0001", "pp0": "PP0 (control)"}


@dataclass(frozen=True, eq=False)
class Cell:
    """One problem, acquisition and variant: our runs, the paper's figure, and BO-PP against BO.

    Args:
        final: the best value of each run; `repeats` says which runs.
        accuracy: plain accuracy at these, where it is recorded and is not itself the value.
        pairs: the repeats that BO has too; None for BO itself and if BO has not been run.
        comparison: of these pairs; None if there are too few.
    """

    problem: str
    acquisition: Acquisition
    variant: Variant
    regret: bool
    repeats: tuple[int, ...]
    final: Array
    accuracy: Array | None
    paper: Average | None
    pairs: Pairs | None = None
    comparison: Comparison | None = None

    @property
    def ours(self) -> Average:
        return Average(float(self.final.mean()), float(self.final.std()))

    @property
    def runs(self) -> int:
        return len(self.final)

    @property
    def no_worse(self) -> bool:
        """Whether the paper would print it in bold."""
        return self.pairs is not None and self.comparison is not None and self.pairs.no_worse

    @property
    def no_worse_in_paper(self) -> bool:
        plain = published(self.problem, self.acquisition, "bo")
        if self.variant == "bo" or self.paper is None or plain is None:
            return False
        return no_worse(self.paper.mean, plain.mean, self.regret)


def cells(folder: Folder, kernel: Kernel = "ard", maximiser: Maximiser = "direct") -> list[Cell]:
    """What the runs of a folder say, cell by cell, in the order of the paper."""
    initial = folder.setting.initial
    groups: dict[tuple[str, Acquisition, Variant], list[Run]] = {}
    for run in folder.runs():
        if (run.key.kernel, run.key.maximiser) == (kernel, maximiser):
            groups.setdefault((run.key.problem, run.key.acquisition, run.key.variant), []).append(run)
    if not groups:
        raise PaperError(f"{folder.path} holds no runs with kernel {kernel!r} and maximiser {maximiser!r}")
    order = [*TITLES, *sorted({key[0] for key in groups} - set(TITLES))]
    found: list[Cell] = []
    for where in ((problem, acquisition) for acquisition in ACQUISITIONS for problem in order):
        row = [_cell(groups[key], initial) for variant in VARIANTS if (key := (*where, variant)) in groups]
        plain = row[0] if row and row[0].variant == "bo" else None
        found += [_paired(plain, cell) if plain else cell for cell in row]
    comparisons = iter(compare([cell.pairs for cell in found if cell.pairs]))
    return [replace(cell, comparison=next(comparisons)) if cell.pairs else cell for cell in found]


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
    found, iterations = cells(folder, kernel, maximiser), folder.setting.iterations
    lines = [
        "# The paper's table, run again",
        "",
        f"Mean±sd over n runs after {iterations} iterations; kernel {kernel}, maximiser {maximiser}.",
        "S_T, the regret: smaller is better; f: larger is better. The sd is that of the population, as in",
        "the paper. Bold: mean no worse than BO's, to four decimals, over the repeats that both have. PP0 is",
        "a control that the paper lacks: exact duplicates (tau_0 = 0), which only halve the noise.",
    ]
    for acquisition in ACQUISITIONS:
        if chosen := [cell for cell in found if cell.acquisition == acquisition]:
            lines += ["", f"## {acquisition.upper()}", "", *_results(chosen)]
    if any(cell.pairs for cell in found):
        lines += ["", "## What the paper does not give", "", *_comparisons(found), "", *_summaries(found)]
    if nearness := _nearness(found):
        lines += ["", "## Plain BO against the paper", "", *nearness]
    if accuracies := _accuracies(found):
        lines += ["", "## Plain accuracy", "", "Mean at the evaluation with the best f.", "", *accuracies]
    return "\n".join(lines) + "\n"


def _cell(runs: Sequence[Run], initial: int) -> Cell:
    key, regret = runs[0].key, runs[0].regret
    final = np.array([run.curve(initial)[-1] for run in runs])
    accuracies = [
        run.accuracy[run.values.index(best)] for run, best in zip(runs, final, strict=True) if run.accuracy
    ]
    apart = any(run.accuracy != run.values for run in runs) and len(accuracies) == len(runs)
    accuracy = np.array(accuracies) if apart else None
    paper = published(key.problem, key.acquisition, key.variant) if key.kernel == "ard" else None
    repeats = tuple(run.key.repeat for run in runs)
    return Cell(key.problem, key.acquisition, key.variant, regret, repeats, final, accuracy, paper)


def _paired(plain: Cell, cell: Cell) -> Cell:
    """The cell with the repeats that BO has too."""
    if plain is cell:
        return cell
    _, here, there = np.intersect1d(cell.repeats, plain.repeats, return_indices=True)
    return replace(cell, pairs=Pairs(plain.final[there], cell.final[here], cell.regret))


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
            rows.append(["", "paper", str(RUNS), *(paper.get(variant, NOTHING) for variant in VARIANTS)])
    return _markdown(["problem", "", "n", *(HEADS[variant] for variant in VARIANTS)], rows)


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
            rest = [_signed(it.difference), interval, score, *map(_p, p_values)]
        rows.append([title(cell.problem), cell.acquisition.upper(), HEADS[cell.variant], pairs, *rest])
    tests = sum(cell.comparison is not None for cell in found)
    return [
        "Repeats that BO and BO-PP both have, from the same initial points. A difference is positive where",
        "BO-PP is better; its interval is of bootstrap percentiles of the mean. Wilcoxon's signed-rank",
        f"test leaves out ties. Holm: the p value before it, adjusted for all {tests} cells.",
        "",
        *_markdown([*head, "Wilcoxon p", "Holm", "sign p", "Holm"], rows),
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
        bold = [cell.no_worse_in_paper for cell in chosen if cell.paper]
        effect, interval = NOTHING, NOTHING
        if it.effect is not None and it.low is not None and it.high is not None:
            effect, interval = f"{it.effect:+.3f} ({it.varied})", f"[{it.low:+.3f}, {it.high:+.3f}]"
        name = HEADS[variant] + (", problems not in the paper" if ours else "")
        paper = f"{sum(bold)} of {len(bold)}" if bold else NOTHING
        score = f"{it.wins}/{it.losses}/{it.ties}"
        rows.append([name, f"{it.no_worse} of {it.cells}", paper, score, _p(it.sign), effect, interval])
    return [
        "Effect: the mean difference in standard deviations of BO, over the cells (in brackets, how many)",
        "where that is not 0.0000. Sign test: all pairs, as if none shared its initial points with another.",
        "",
        *_markdown(head, rows),
    ]


def _nearness(found: Sequence[Cell]) -> list[str]:
    """Which synthetic cells of plain BO are within a standard deviation of the paper's mean."""
    near, far = 0, []
    for cell in found:
        if cell.variant != "bo" or cell.problem not in SYNTHETIC or cell.paper is None:
            continue
        if round(abs(cell.ours.mean - cell.paper.mean) - cell.paper.sd, 4) <= 0.0:
            near += 1
        else:
            name = f"{title(cell.problem)} with {cell.acquisition.upper()}"
            far.append(f"- {name}: ours {cell.ours}, the paper's {cell.paper}")
    if not near + len(far):
        return []
    says = f"Of {near + len(far)} synthetic cells of plain BO, {near} are within the paper's mean ± 1 sd"
    return [says + ("; these are not:" if far else "."), *([""] if far else []), *far]


def _accuracies(found: Sequence[Cell]) -> list[str]:
    rows = []
    for row in _by_row([cell for cell in found if cell.accuracy is not None]):
        first = next(iter(row.values()))
        means = {v: f"{cell.accuracy.mean():.4f}" for v, cell in row.items() if cell.accuracy is not None}
        rows.append(
            [title(first.problem), first.acquisition.upper(), *(means.get(v, NOTHING) for v in VARIANTS)]
        )
    return _markdown(["problem", "", *(HEADS[variant] for variant in VARIANTS)], rows) if rows else []


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


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else "1" if value == 1.0 else f"{value:.3f}"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table whose columns also line up as plain text."""
    widths = [max(3, *(len(text) for text in column)) for column in zip(head, *rows, strict=True)]
    lines = [head, ["-" * width for width in widths], *rows]
    return [f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines]
