"""Other processors: NumPy and OpenBLAS choose routines by processor, and take those of another if told to.

python tests/processors.py [--two] PYTEST-ARGUMENTS     the tests as on each processor that this one can play
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import numpy as np


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
