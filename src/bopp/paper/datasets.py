"""The three data sets of the paper, shipped with the package; data/README.md says where they come from."""

from __future__ import annotations

import gzip
from functools import cache
from importlib.resources import files

import numpy as np

from bopp.data import Array

MISSING = 3.5  # stands for the 16 missing bare_nuclei of the cancer data, so that all 699 rows are used


@cache
def table(name: str) -> tuple[Array, Array]:
    """Inputs (n, p) and the last column (n,) of a data set."""
    packed = (files("bopp.paper") / "data" / f"{name}.csv.gz").read_bytes()
    lines = gzip.decompress(packed).decode().splitlines()
    rows = np.genfromtxt(lines, delimiter=",", skip_header=1, filling_values=MISSING)
    rows.flags.writeable = False
    return rows[:, :-1], rows[:, -1]
