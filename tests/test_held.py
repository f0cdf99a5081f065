import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bopp import Choice, Float, Int, Parameter, Space
from bopp.held import Held

KINDS: list[Parameter] = [
    Float(-5, 10),
    Float(1e-4, 1, log=True),
    Float(0, 1, step=0.1),
    Int(1, 9),
    Int(1, 2**53),
    Choice(["a", "b"]),
    Choice(["a", "b", "c"]),
]


@pytest.mark.parametrize("parameter", KINDS, ids=repr)
@given(seed=st.integers(0, 1000))
def test_a_held_parameter_has_its_value_wherever_the_search_goes(parameter: Parameter, seed: int) -> None:
    rng = np.random.default_rng(seed)
    value = parameter.decode(rng.random(parameter.width).tolist())
    space = Space({"p": parameter, "x": Float(0, 1)})
    held = space.holding({"p": value})
    assert held.dimension == space.dimension
    u = rng.random(space.dimension)
    assert held.decode(u)["p"] == value
    assert held.decode(u)["x"] == space.decode(u)["x"]
    assert np.array_equal(held.snap(u[None])[:, space.columns["p"]][0], parameter.encode(value))
    assert held.size == np.inf


def test_a_parameter_may_be_held_to_several_values() -> None:
    held = Held.of(Choice(["a", "b", "c", "d"]), ["b", "d"])
    assert held.levels == 2
    assert held.decode([0.9, 0.1, 0.0, 0.4]) == "d"
    points, rows = held.around(held.snap(np.array([[0.9, 0.1, 0.0, 0.4]])))
    assert points.tolist() == [[0.0, 1.0, 0.0, 0.0]]
    assert rows.tolist() == [0]
