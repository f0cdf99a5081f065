"""Figure: one that a notebook displays by itself, without pyplot and without a backend; needs matplotlib."""

from __future__ import annotations

import io
import sys

from matplotlib import figure

from bopp import notebook


class Figure(figure.Figure):
    """A figure of matplotlib, which shows itself in a notebook."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png")
        return content.getvalue()

    def show(self, warn: bool = True) -> None:
        """Display it below the cell of a notebook; elsewhere say how to save it, since it has no window."""
        if display := notebook.display():
            display(self)
        elif warn:
            print('A figure has no window here. To save it: figure.savefig("figure.png")', file=sys.stderr)
