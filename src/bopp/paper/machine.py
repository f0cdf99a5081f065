"""The machine of a run: what decides how its results are rounded, and so which way a long run takes."""

from __future__ import annotations

import importlib
import platform
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import scipy
import threadpoolctl


class Machine(msgspec.Struct, frozen=True, order=True):
    """The processor, what NumPy uses of it, and which routines linear algebra has chosen for it."""

    processor: str
    features: str
    blas: tuple[str, ...]
    numpy: str
    scipy: str

    def __str__(self) -> str:
        versions = f"NumPy {self.numpy}, SciPy {self.scipy}"
        return f"{self.processor} ({self.features}), {versions}, {' and '.join(self.blas)}"


@cache
def this_machine() -> Machine:
    """The machine that this is."""
    importlib.import_module("scipy.linalg")  # brings a library of its own
    found = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
    blas = {f"{one['internal_api']} {one['version']} for {one.get('architecture')}" for one in found}
    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    used = [*extensions.get("baseline", []), *extensions.get("found", [])]  # the newest last
    return Machine(
        _processor(), (used or ["no extensions"])[-1], tuple(sorted(blas)), np.__version__, scipy.__version__
    )


def _processor() -> str:
    """Its name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(names), platform.processor() or platform.machine())
