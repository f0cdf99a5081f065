import pytest

from bopp import Float, Problem, Result, Trial
from bopp.errors import NoResultError, RecipeError
from bopp.problem import Direction
from bopp.view.distribution import distributions


def result_of(*values: float, direction: Direction = "minimize", name: str = "value") -> Result:
    trials = [Trial(i, {"x": 0.5}, "done", {name: value}) for i, value in enumerate(values)]
    failed = Trial(len(values), {"x": 0.5}, "failed")
    return Result(Problem({"x": Float(0, 1)}, {name: direction}), (*trials, failed))


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_values_of_the_finished_trials_are_in_order(direction: Direction) -> None:
    results = {"one": (3.0, 1.0, 2.0, 1.0), "other": (7.0,)}
    found = distributions({name: result_of(*row, direction=direction) for name, row in results.items()})
    assert {name: row.tolist() for name, row in found.items()} == {
        "one": [1.0, 1.0, 2.0, 3.0],
        "other": [7.0],
    }


def test_studies_of_other_objectives_cannot_be_compared() -> None:
    for other in (result_of(1.0, direction="maximize"), result_of(1.0, name="error")):
        with pytest.raises(RecipeError, match=r"one objective, got .* in 'other'"):
            distributions({"one": result_of(1.0), "other": other})


def test_each_study_wants_a_finished_trial() -> None:
    with pytest.raises(NoResultError, match="none in 1"):
        distributions({"one": result_of()})
    with pytest.raises(NoResultError, match="a distribution of 'other' wants"):
        distributions({"one": result_of(1.0), "other": result_of()})
