"""The machine of a run: what decides how its results are rounded, and so which way a long run takes."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import scipy.linalg  # brings a BLAS of its own
import threadpoolctl


class Machine(msgspec.Struct, frozen=True):
    """The processor, what NumPy uses of it, and which routines linear algebra has chosen for it."""

    processor: str
    features: str
    blas: tuple[str, ...]
    numpy: str
    scipy: str

    def __str__(self) -> str:
        versions = f"NumPy {self.numpy}, SciPy {self.scipy}"
        blas = " and ".join(self.blas) or "an unknown BLAS"
        return f"{self.processor} ({self.features}), {versions}, {blas}"


@cache
def this_machine() -> Machine:
    """The machine that this is."""
    found = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
    blas = {" ".join(_named(one)) for one in found}
    extensions = np.show_config(mode="dicts").get("SIMD Extensions", {})  # missing where there are none
    used = [*extensions.get("baseline", []), *extensions.get("found", [])]  # the newest last
    return Machine(
        _processor(), (used or ["no extensions"])[-1], tuple(sorted(blas)), np.__version__, scipy.__version__
    )


def _named(library: dict[str, Any]) -> list[str]:
    kernel = library.get("architecture")  # which not every library tells
    return [library["internal_api"], str(library["version"]), *(["for", kernel] if kernel else [])]


def _processor() -> str:
    """Its name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(names), platform.processor() or platform.machine())
