"""Arguments: what people pass to an optimizer, a study or a bridge, checked in one place."""

from __future__ import annotations

import math
import secrets
from numbers import Real
from typing import Any

import numpy as np

from bopp.errors import RecipeError, TellError
from bopp.legible import brief
from bopp.recipe import Recipe
from bopp.trial import Answer

LARGEST_SEED = 2**63 - 1
MOST = 10**18  # of anything that is counted
LONGEST = 10**300  # seconds; an integer beyond the range of floats is as good as no limit


def checked_seed(seed: Any) -> int:
    """The seed as an int; a random one for None."""
    if seed is None:
        return secrets.randbelow(2**32)  # short enough to be copied by hand
    if is_seed(seed):
        return int(seed)
    wanted = "None or an integer from 0 to 2**63 - 1"
    raise RecipeError(f"seed must be {wanted}, got {brief(seed)}", argument="seed")


def is_seed(seed: Any) -> bool:
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    return whole and 0 <= int(seed) <= LARGEST_SEED


def checked_recipe(recipe: Any) -> Recipe:
    """The recipe, or the default one if none is given."""
    if recipe is None:
        return Recipe.default()
    if isinstance(recipe, Recipe):
        return recipe
    raise RecipeError(f"recipe must be a Recipe or None, got {brief(recipe)}", argument="recipe")


def checked_count(name: str, count: Any) -> int:
    """How many of something: a budget, trials to ask for, workers."""
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if whole and 1 <= count < MOST:
        return int(count)
    most = " and below 1e18" if whole and count >= MOST else ""
    raise RecipeError(f"{name} must be an integer >= 1{most}, got {brief(count)}", argument=name)


def checked_text(name: str, text: Any) -> str:
    """An error or a note to keep with a trial."""
    if isinstance(text, str):
        return text
    raise TellError(f"wanted a text as {name}, got {brief(text)}")


def checked_reason(reason: Any) -> str:
    """Why something is taken back; never without a word."""
    if isinstance(reason, str) and reason.strip():
        return reason
    raise TellError(f"wanted a reason in words, got {brief(reason)}")


def failed(error: Any, traceback: Any = None) -> Answer:
    """The answer of an evaluation that failed."""
    place = None if traceback is None else checked_text("traceback", traceback)
    return Answer(error=checked_text("error", error or ""), traceback=place)


def checked_seconds(name: str, seconds: Any, finite: bool = False) -> float | None:
    """A time above 0, or None for no limit."""
    number: Any = seconds
    if isinstance(seconds, int) and seconds > LONGEST:
        number = math.inf
    if number is None or (isinstance(seconds, Real) and number > 0 and not (finite and number == math.inf)):
        time: float | None = number
        return time
    raise RecipeError(
        f"{name} must be a number of seconds above 0 or None, got {brief(seconds)}", argument=name
    )
