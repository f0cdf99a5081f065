"""Other processors: NumPy and OpenBLAS choose routines by processor, and take those of another if told to.

processors.py [--two] PYTEST-ARGUMENTS     the tests as on each processor that this one can play
"""

from __future__ import annotations

import hashlib
import importlib
import math
import os
import platform
import subprocess
import sys
from typing import Any

import numpy as np
import scipy.linalg
import threadpoolctl


def settings() -> dict[str, dict[str, str]]:
    """What this processor, of Intel or AMD, can play, and the variables that make it do so."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return {}
    features: list[str] = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    newest = [name for name in features if "512" in name or name == "X86_V4"]
    # NumPy warns if it is told to do without what is not there
    no_avx512 = {"NPY_DISABLE_CPU_FEATURES": " ".join(newest)} if newest else {}
    no_avx2 = {"NPY_DISABLE_CPU_FEATURES": " ".join(features)} if features else {}
    found = {
        "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"} | no_avx2,
        "Haswell": {"OPENBLAS_CORETYPE": "Haswell"} | no_avx512 if features else {},  # it wants AVX2
        "NumPy without X86_V3": {"NPY_DISABLE_CPU_FEATURES": "X86_V3"} if "X86_V3" in features else {},
        "NumPy without AVX-512": no_avx512,
        "BLAS for Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
        "BLAS for Haswell": {"OPENBLAS_CORETYPE": "Haswell"} if features else {},
        "BLAS for SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"} if "X86_V4" in features else {},
        "C library without AVX2": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"},
    }
    return {name: variables for name, variables in found.items() if variables}


def fingerprint() -> dict[str, Any]:
    """All that the last bit of a suggestion may hang on: equal ones compute the same bits."""
    libraries = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
    features: dict[str, bool] = importlib.import_module("numpy._core._multiarray_umath").__cpu_features__
    return {
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "machine": platform.machine(),
        "blas": sorted({f"{one.get('architecture')} {one.get('version')}" for one in libraries}),
        "features": sorted(name for name, enabled in features.items() if enabled),
        "mathematics": _mathematics(),
    }


def _mathematics() -> str:
    """A checksum of what the functions of the C library return, which chooses by processor too."""
    inputs = [0.001 + 0.37 * i / 1009 for i in range(4000)]
    functions = (math.exp, math.log, math.sin, math.cos, math.tanh, math.erf, math.log1p, lambda x: x**1.7)
    values = np.array([[function(x) for x in inputs] for function in functions])
    return hashlib.sha256(values.tobytes()).hexdigest()


def main() -> None:
    arguments = [word for word in sys.argv[1:] if word != "--two"]
    others = list(settings().items())
    for name, variables in others[:2] if "--two" in sys.argv else others:
        print(f"== {name}: {' '.join(f'{k}={v!r}' for k, v in variables.items())}", flush=True)
        command = [sys.executable, "-m", "pytest", *arguments]
        if code := subprocess.run(command, env=os.environ | variables).returncode:
            sys.exit(code)


if __name__ == "__main__":
    main()
