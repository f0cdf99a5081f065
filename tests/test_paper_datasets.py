import csv
import gzip
import re
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from bopp.errors import PaperError
from bopp.paper import datasets
from bopp.paper.datasets import CHECKSUMS, MISSING, table

SHIPPED = files("bopp.paper") / "data"


@pytest.fixture
def forgetful() -> Iterator[None]:
    """Data sets are read anew, here and by whoever comes after."""
    table.cache_clear()
    yield
    table.cache_clear()


@pytest.fixture
def data(tmp_path: Path, forgetful: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of the shipped one, with the same files."""
    monkeypatch.setattr(datasets, "files", lambda package: tmp_path)
    (tmp_path / "data").mkdir()
    for name in CHECKSUMS:
        (tmp_path / "data" / f"{name}.csv.gz").write_bytes((SHIPPED / f"{name}.csv.gz").read_bytes())
    return tmp_path / "data"


def cells(name: str) -> list[list[str]]:
    return list(csv.reader(gzip.decompress((SHIPPED / f"{name}.csv.gz").read_bytes()).decode().splitlines()))


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


@pytest.mark.parametrize("name", CHECKSUMS)
def test_a_wrong_checksum_is_one_line(name: str, forgetful: None, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = CHECKSUMS[name]
    monkeypatch.setitem(CHECKSUMS, name, "0" * 64)
    with pytest.raises(PaperError) as caught:
        table(name)
    message = str(caught.value)
    assert [word for word in (name, shipped, "0" * 64, "install bopp anew") if word not in message] == []
    assert "\n" not in message
    monkeypatch.setitem(CHECKSUMS, name, shipped)
    assert len(table(name)[1]) > 500


def changed(content: bytes) -> bytes:
    return gzip.compress(gzip.decompress(content).replace(b"1", b"2", 1))


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return (
        content[:middle] + bytes(byte ^ 0xFF for byte in content[middle : middle + 9]) + content[middle + 9 :]
    )


@pytest.mark.parametrize("name", CHECKSUMS)
@pytest.mark.parametrize(
    "damage",
    [
        changed,
        flipped,
        lambda content: content[:-4],
        lambda content: content[: len(content) // 2],
        lambda content: content[:5],
        lambda content: b"<html>404</html>",
        lambda content: b"",
    ],
    ids=["changed", "flipped", "end-lost", "half-lost", "nearly-lost", "another-file", "empty"],
)
def test_a_damaged_file_is_one_line(name: str, damage: Callable[[bytes], bytes], data: Path) -> None:
    path = data / f"{name}.csv.gz"
    assert len(table(name)[1]) > 500
    table.cache_clear()
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(PaperError, match=rf"\Adata set {name}: .*; install bopp anew\Z") as caught:
        table(name)
    assert "\n" not in str(caught.value)


def test_a_lost_file_is_one_line(data: Path) -> None:
    (data / "wine_red.csv.gz").unlink()
    with pytest.raises(PaperError, match=r"\Adata set wine_red: .*; install bopp anew\Z"):
        table("wine_red")


def test_the_licence_of_each_data_set_ships_with_it() -> None:
    text = (SHIPPED / "README.md").read_text()
    about = dict(re.findall(r"^- \*\*(\w+)\*\*: (.*?)(?=^- |\Z)", text, re.MULTILINE | re.DOTALL))
    assert set(about) == set(CHECKSUMS)
    for name in ("wine_red", "breast_cancer_wisconsin"):
        assert "Licence CC BY 4.0." in about[name]
        assert "doi:10.24432/" in about[name]
    assert "public domain" in about["boston_housing"]
    for name, words in about.items():
        inputs, rows = len(cells(name)[0]) - 1, len(cells(name)) - 1
        assert f"{rows} rows, {inputs} inputs" in " ".join(words.split())
