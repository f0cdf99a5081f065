import csv
import gzip
import hashlib
import re
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest

from bopp.paper.datasets import MISSING, table

SHIPPED = files("bopp.paper") / "data"
CHECKSUMS = {
    "wine_red": "d22f4f11db0456ff21745d2fa96d26fa348a8cdb889efda65bde802085be45fd",
    "breast_cancer_wisconsin": "90682f660bb6678189a196e994b89c46db2bfac69d9f8b7866bea23ec28b7534",
    "boston_housing": "79ac716620024011b03c0c44d2bf99069b8173649181926d9109c25475a3804c",
}


def text(name: str) -> str:
    return gzip.decompress((SHIPPED / f"{name}.csv.gz").read_bytes()).decode()


def cells(name: str) -> list[list[str]]:
    return list(csv.reader(text(name).splitlines()))


@pytest.mark.parametrize("name", CHECKSUMS)
def test_the_data_are_those_that_the_runs_were_made_with(name: str) -> None:
    assert hashlib.sha256(text(name).encode()).hexdigest() == CHECKSUMS[name]


@pytest.mark.parametrize(
    ("name", "shape"),
    [("wine_red", (1599, 11)), ("breast_cancer_wisconsin", (699, 9)), ("boston_housing", (506, 13))],
)
def test_every_cell_of_the_file_is_in_the_table(name: str, shape: tuple[int, int]) -> None:
    X, y = table(name)
    assert X.shape == shape
    assert y.shape == shape[:1]
    rows = [[float(cell or MISSING) for cell in row] for row in cells(name)[1:]]
    np.testing.assert_array_equal(np.column_stack([X, y]), rows)


def test_the_missing_bare_nuclei_stand_between_the_others() -> None:
    X, _ = table("breast_cancer_wisconsin")
    row, column = np.nonzero(X == 3.5)
    assert len(row) == 16
    assert {cells("breast_cancer_wisconsin")[0][i] for i in column} == {"bare_nuclei"}
    assert {cells("breast_cancer_wisconsin")[1 + i][5] for i in row} == {""}
    rest = X[X != 3.5]
    assert set(rest.tolist()) == set(range(1, 11))


def test_classes_and_prices() -> None:
    wine, cancer, prices = (table(name)[1].tolist() for name in CHECKSUMS)
    assert sorted(set(wine)) == [3, 4, 5, 6, 7, 8]
    assert Counter(cancer) == {2: 458, 4: 241}
    assert (min(prices), max(prices)) == (5, 50)


@pytest.mark.parametrize("name", CHECKSUMS)
def test_nobody_can_change_what_all_share(name: str) -> None:
    assert table(name) is table(name)
    for array in table(name):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_the_licence_of_each_data_set_ships_with_it() -> None:
    readme = (SHIPPED / "README.md").read_text()
    about = dict(re.findall(r"^- \*\*(\w+)\*\*: (.*?)(?=^- |\Z)", readme, re.MULTILINE | re.DOTALL))
    assert set(about) == set(CHECKSUMS)
    for name in ("wine_red", "breast_cancer_wisconsin"):
        assert "Licence CC BY 4.0." in about[name]
        assert "doi:10.24432/" in about[name]
    assert "public domain" in about["boston_housing"]
    for name, words in about.items():
        inputs, rows = len(cells(name)[0]) - 1, len(cells(name)) - 1
        assert f"{rows} rows, {inputs} inputs" in " ".join(words.split())
