from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy

from bopp import Float, Recipe
from bopp import outcome as outcomes
from bopp.acquisition import Acquisition, ei, log_ei, maximum
from bopp.data import Array, Data, History
from bopp.errors import RecipeError
from bopp.known import Known
from bopp.model import learn
from bopp.pseudo import Limits, none
from bopp.space import Space
from bopp.suggest import suggest
from support.toys import known, smooth

SPACE = Space({"a": Float(0, 1), "b": Float(0, 1)})
NOWHERE = np.empty((0, 2))


def gain(mean: float, sd: float, best: float, ceiling: float) -> float:
    """E max(0, min(f, ceiling) - best) for a normal f, by quadrature."""

    def weighed(x: float) -> float:
        return (x - best) * math.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * math.sqrt(2.0 * math.pi))

    top = min(ceiling, mean + 12.0 * sd)
    inside = scipy.integrate.quad(weighed, best, top, epsabs=1e-12)[0] if top > best else 0.0
    return float(inside + (ceiling - best) * scipy.special.ndtr((mean - ceiling) / sd))


MEAN, SD = np.array([-0.6, 0.0, 0.4, 0.9, 2.5]), np.array([0.2, 1.5, 0.05, 0.3, 0.7])


def below(ceiling: float, best: float = 0.3) -> Known:
    return replace(known(smooth(5, 2, seed=1)), incumbent=best, ceiling=ceiling)


@pytest.mark.parametrize("ceiling", [0.31, 0.5, 1.2, 30.0])
def test_what_is_above_the_ceiling_is_no_improvement(ceiling: float) -> None:
    wanted = [gain(m, s, 0.3, ceiling) for m, s in zip(MEAN.tolist(), SD.tolist(), strict=True)]
    np.testing.assert_allclose(ei(MEAN, SD, below(ceiling))[0], wanted, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.exp(log_ei(MEAN, SD, below(ceiling))[0]), wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("acquisition", [ei, log_ei])
@pytest.mark.parametrize("ceiling", [0.3, 0.31, 0.5, 1.2])
def test_the_derivatives_are_difference_quotients(acquisition: Acquisition, ceiling: float) -> None:
    limits, step = below(ceiling), 1e-4 * SD

    def score(mean: Array, sd: Array) -> Array:
        return np.asarray(acquisition(mean, sd, limits)[0])

    _, by_mean, by_sd = acquisition(MEAN, SD, limits)
    quotient = (score(MEAN + step, SD) - score(MEAN - step, SD)) / (2.0 * step)
    np.testing.assert_allclose(by_mean, quotient, rtol=1e-4, atol=1e-6)
    quotient = (score(MEAN, SD + step) - score(MEAN, SD - step)) / (2.0 * step)
    np.testing.assert_allclose(by_sd, quotient, rtol=1e-4, atol=1e-6)
    score_far, slope_far, _ = log_ei(np.array([-50.0, -1e3, -1e5]), np.ones(3), limits)  # still told apart
    assert np.isfinite(score_far).all()
    assert np.all(np.diff(score_far) < 0.0)
    assert np.all(slope_far > 0.0)


def test_no_maximum_is_above_the_ceiling() -> None:
    data = smooth(5, 2, seed=1)
    top = float(data.y.max()) + 0.05
    limits = replace(known(data), ceiling=top)
    assert maximum(limits).quantiles(16).max() <= top
    assert data.y.max() < maximum(limits).expected <= top < maximum(known(data)).expected


@pytest.mark.parametrize(
    ("settings", "came"),
    [
        ({}, "wanted at_least or at_most, got neither"),
        ({"at_least": 1.0, "at_most": 1.0}, "1.0"),
        ({"at_least": 2.0, "at_most": 1.0}, "2.0"),
        ({"at_least": math.inf}, "inf"),
        ({"at_least": 10**400}, "at_least: wanted a finite number, got 1000"),
        ({"at_most": math.nan}, "nan"),
        ({"at_least": "0"}, "'0'"),
        ({"at_most": True}, "True"),
        ({"at_least": 0.0, "trust": 0.0}, "0.0"),
        ({"at_least": 0.0, "trust": 1.0}, "trust must be a number above 0 and below 1, got 1.0"),
        ({"at_least": 0.0, "trust": "much"}, "'much'"),
    ],
)
def test_limits_that_are_none_are_refused(settings: dict[str, Any], came: str) -> None:
    with pytest.raises(RecipeError, match=r"^Limits: .*(wanted|must be).*got") as caught:
        Limits(**settings)
    assert came in str(caught.value)


def trials(sign: float = 1.0, n: int = 8) -> History:
    """Values from 0 to 1 of the objective itself, to be minimised if the sign is -1."""
    X = np.random.default_rng(0).random((n, 2))
    value = 0.5 + 0.5 * np.sin(4.0 * X[:, 0]) * np.cos(3.0 * X[:, 1])
    return replace(History.of(Data(X, sign * value), NOWHERE, NOWHERE), signs=(sign,))


def with_limits(limits: Limits, outcome: Any = outcomes.power) -> Recipe:
    return replace(Recipe.default(), pseudo=limits, outcome=outcome)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    "limits",
    [
        *(Limits(0.0, 1.0), Limits(at_least=0.0), Limits(at_most=1.0)),
        *(Limits(-far, far) for far in (1e90, 1e150, 1e300)),  # as good as none
        Limits(at_least=0.0, at_most=1.0) + Limits(-2.0, 2.0),  # of which the narrower one counts
        "of the values",  # which do not break them
    ],
)
def test_the_ceiling_is_the_limit_of_what_is_better(limits: Any, sign: float) -> None:
    history = trials(sign)
    low, high = sorted((sign * history.data.y).tolist())[:: len(history) - 1]
    given = Limits(low, high) if limits == "of the values" else limits
    model = learn(SPACE, history, with_limits(given))
    first = given if isinstance(given, Limits) else Limits(0.0, 1.0)
    end = first.at_most if sign > 0.0 else first.at_least
    if end is None or abs(end) > 1e9:
        assert model.ceiling == math.inf
    else:
        assert model.ceiling == pytest.approx(float(model.scale(np.array([sign * end]))[0]))
    assert {(account.trust, account.worth) for account in model.accounts} == {(0.99, 0.0)}
    assert np.array_equal(model.data.X, history.data.X)  # limits add no points


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("limits", [Limits(at_least=0.6), Limits(at_most=0.4), Limits(0.6, 1.0)])
def test_limits_that_a_measured_value_breaks_are_ignored(limits: Limits, sign: float) -> None:
    recipe = with_limits(limits)
    model = learn(SPACE, trials(sign), recipe)
    (account,) = model.accounts
    assert (account.trust, account.worth, model.ceiling) == (0.0, -math.inf, math.inf)
    one = suggest(SPACE, recipe, trials(sign), (0, 8))
    assert np.array_equal(one, suggest(SPACE, replace(recipe, pseudo=none), trials(sign), (0, 8)))


def test_limits_far_away_give_the_suggestion_without_them() -> None:
    recipe = with_limits(Limits(-1e6, 1e6), outcomes.standardised)
    limited = suggest(SPACE, recipe, trials(), (0, 8))
    plain = suggest(SPACE, replace(recipe, pseudo=none), trials(), (0, 8))
    np.testing.assert_allclose(limited, plain, atol=1e-3)


def test_once_a_value_is_at_the_limit_the_search_goes_on() -> None:
    X = np.array([[0.1, 0.1], [0.5, 0.5], [0.9, 0.9], [0.2, 0.8]])
    history = History.of(Data(X, np.array([0.0, 1.0, 0.2, 0.3])), NOWHERE, NOWHERE)
    u = suggest(SPACE, with_limits(Limits(at_most=1.0), outcomes.standardised), history, (0, 6))
    assert np.all((u >= 0.0) & (u <= 1.0))
    assert np.abs(X - u).max(axis=1).min() > 1e-6


def test_an_improvement_beyond_the_limit_draws_nobody() -> None:
    """Without the limit a place of which little is known is more promising than one beside the best."""
    X = np.array([[0.5, 0.5], [0.45, 0.5], [0.55, 0.5], [0.5, 0.45], [0.5, 0.55], [0.4, 0.4]])
    y = np.array([1.0, 0.9, 0.9, 0.9, 0.9, 0.4])
    history = History.of(Data(X, y), NOWHERE, NOWHERE)
    recipe = with_limits(Limits(at_most=1.001), outcomes.standardised)
    near, far = (
        np.abs(suggest(SPACE, one, history, (0, 6)) - 0.5).max()
        for one in (recipe, replace(recipe, pseudo=none))
    )
    assert near < far
