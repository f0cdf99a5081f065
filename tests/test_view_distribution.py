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
def test_the_share_of_the_finished_trials_at_or_below_each_value(direction: Direction) -> None:
    one, other = distributions(
        {
            "one": result_of(3.0, 1.0, 2.0, 1.0, direction=direction),
            "other": result_of(7.0, direction=direction),
        }
    )
    assert (one.name, other.name) == ("one", "other")
    assert one.values.tolist() == [1.0, 1.0, 2.0, 3.0]
    assert one.shares.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert (other.values.tolist(), other.shares.tolist()) == ([7.0], [1.0])


def test_studies_of_other_objectives_cannot_be_compared() -> None:
    for other in (result_of(1.0, direction="maximize"), result_of(1.0, name="error")):
        with pytest.raises(RecipeError, match=r"one objective, got .* in 'other'"):
            distributions({"one": result_of(1.0), "other": other})


def test_each_study_wants_a_finished_trial() -> None:
    with pytest.raises(NoResultError, match="none in 1"):
        distributions({"one": result_of()})
    with pytest.raises(NoResultError, match="a distribution of 'other' wants"):
        distributions({"one": result_of(1.0), "other": result_of()})
