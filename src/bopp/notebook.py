"""Notebook: whether this process is the kernel of one, and how to show something there."""

from __future__ import annotations

import sys
from typing import Any


def display() -> Any:
    """The function that shows something below the cell, IPython's `display`; None if this is no notebook.

    It is not imported: in a notebook it is there, elsewhere it is not needed.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return ipython.display.display if ipython is not None and hasattr(shell, "kernel") else None
