import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bopp import codewords
from bopp.codewords import BITS, Numbers


def indices(count: int) -> Numbers:
    return np.arange(count, dtype=np.uint64)


def test_any_two_options_are_about_as_far_apart_as_with_a_column_each() -> None:
    U = codewords.columns(indices(1000))
    distance = np.sqrt(np.sum((U[:, None] - U[None]) ** 2, axis=2))[np.triu_indices(1000, 1)]
    assert abs(distance.mean() - np.sqrt(2)) < 0.01
    assert distance.std() < 0.1
    assert distance.min() > 0.6 * np.sqrt(2)
    assert distance.max() < 1.4 * np.sqrt(2)


@given(index=st.integers(0, 2**64 - 1))
def test_every_index_comes_back(index: int) -> None:
    here = np.array([index], dtype=np.uint64)
    assert codewords._unmixed(codewords._mixed(here))[0] == index
    assert codewords.index(codewords.columns(here), 2**64 - 1)[0] == index % (2**64 - 1)


def test_random_points_fall_to_all_options_alike() -> None:
    counts = np.bincount(codewords.index(np.random.default_rng(0).random((20_000, BITS)), 200).astype(int))
    assert len(counts) == 200
    assert np.sum((counts - 100) ** 2 / 100) < 300  # chi-square with 199 degrees of freedom: p < 1e-5
