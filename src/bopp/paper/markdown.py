"""Tables in Markdown, and numbers as they stand in them."""

from __future__ import annotations

from collections.abc import Sequence

NOTHING = "–"  # noqa: RUF001  a dash, not a minus


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose columns also line up as plain text."""
    widths = [max(3, *(len(text) for text in column)) for column in zip(head, *rows, strict=True)]
    lines = [head, ["-" * width for width in widths], *rows]
    return [f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines]


def p_value(value: float) -> str:
    """A p value to three digits."""
    return "<0.001" if value < 0.001 else "1" if value == 1.0 else f"{value:.3f}"
