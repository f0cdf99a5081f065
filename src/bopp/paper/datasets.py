"""The three data sets of the paper, shipped with the package; data/README.md says where they come from."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from functools import cache
from importlib.resources import files

import numpy as np

from bopp.data import Array
from bopp.errors import PaperError

CHECKSUMS = {
    "wine_red": "d22f4f11db0456ff21745d2fa96d26fa348a8cdb889efda65bde802085be45fd",
    "breast_cancer_wisconsin": "90682f660bb6678189a196e994b89c46db2bfac69d9f8b7866bea23ec28b7534",
    "boston_housing": "79ac716620024011b03c0c44d2bf99069b8173649181926d9109c25475a3804c",
}
MISSING = 3.5  # stands for the 16 missing bare_nuclei of the cancer data, so that all 699 rows are used


@cache
def table(name: str) -> tuple[Array, Array]:
    """Inputs (n, p) and the last column (n,) of a data set, which must be as it was shipped."""
    resource = files("bopp.paper") / "data" / f"{name}.csv.gz"
    try:
        text = gzip.decompress(resource.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise PaperError(f"data set {name}: {error}; install bopp anew") from None
    came, wanted = hashlib.sha256(text).hexdigest(), CHECKSUMS[name]
    if came != wanted:
        raise PaperError(f"data set {name}: wanted the sha256 {wanted}, got {came}; install bopp anew")
    rows = np.genfromtxt(text.decode().splitlines(), delimiter=",", skip_header=1, filling_values=MISSING)
    rows.flags.writeable = False
    return rows[:, :-1], rows[:, -1]
