from __future__ import annotations

import inspect
import json
import math
import sqlite3
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bopp import Data, Float, Known, Recipe, kernels, open_study, outcome, pseudo
from bopp import acquisition as acquisitions
from bopp import fit as fits
from bopp import initial as initials
from bopp import search as searches
from bopp.data import Array
from bopp.errors import BoppError, StudyError
from bopp.parameter import Parameter
from bopp.study.recipes import ROOMS, read_recipe, written_recipe

SPACE: dict[str, Parameter] = {"x": Float(0, 1)}
RANDOM = Recipe.random()
PARTS: list[tuple[str, Any]] = [
    ("kernel", kernels.Matern52()),
    ("kernel", kernels.SquaredExponential()),
    ("fit", fits.MAP()),
    ("fit", fits.MAP(None)),
    (
        "fit",
        fits.MAP(
            fits.Priors(noise=fits.LogNormal(-3.5, 0.1)), noise=1e-300, largest=7, lengthscale=(0.1, 0.1)
        ),
    ),
    ("fit", fits.MaximumLikelihood(variance=1, noise=1e-4)),
    ("fit", fits.SliceSampling(samples=3, burn_in=0, thinning=2, priors=None)),
    ("pseudo", pseudo.none),
    ("pseudo", pseudo.Sum((pseudo.Pending(),))),
    (
        "pseudo",
        pseudo.Pending("best") + pseudo.Failed("worst") + pseudo.Neighbours(0.1, "corner", 3, doubt=False),
    ),
    ("pseudo", pseudo.Neighbours(tau0=5e-324)),
    ("acquisition", acquisitions.pi),
    ("acquisition", acquisitions.ei),
    ("acquisition", acquisitions.log_ei),
    ("acquisition", acquisitions.est),
    ("acquisition", acquisitions.MES(5)),
    ("acquisition", acquisitions.UCB(2)),
    ("acquisition", acquisitions.UCB(0.1 + 0.2)),
    ("acquisition", acquisitions.UCB(acquisitions.paper_beta)),
    ("acquisition", acquisitions.UCB(acquisitions.theorem_beta)),
    ("search", searches.Gradients(1, 2, 3, 4)),
    ("search", searches.Direct(10**9)),
    ("initial", initials.Sobol(math.inf)),
    ("initial", initials.Sobol(0)),
    ("initial", initials.Uniform(3.5)),
    ("outcome", outcome.raw),
    ("outcome", outcome.standardised),
    ("outcome", outcome.power),
]
PRESETS = [
    Recipe.default(),
    Recipe.random(),
    *(Recipe.paper(which, tau0) for which in ("ucb", "pi", "ei") for tau0 in (None, 0, 0.001)),
    Recipe.paper("ei", evaluations=7, shortest=0.5),
]


def there_and_back(recipe: Recipe) -> Recipe:
    return read_recipe(json.loads(json.dumps(written_recipe(recipe), allow_nan=False)))


@pytest.mark.parametrize("recipe", PRESETS)
def test_every_preset_comes_back(recipe: Recipe) -> None:
    assert there_and_back(recipe) == recipe
    assert repr(there_and_back(recipe)) == repr(recipe)


@pytest.mark.parametrize(("field", "part"), PARTS)
def test_every_part_comes_back(field: str, part: Any) -> None:
    recipe = replace(Recipe.default(), **{field: part})
    assert there_and_back(recipe) == recipe
    assert repr(there_and_back(recipe)) == repr(recipe)


def test_every_public_part_is_among_the_parts_above() -> None:
    """A part that is added to the engine is to be added here."""
    known = repr([part for _, part in PARTS])
    for room in (kernels, fits, pseudo, acquisitions, searches, initials):
        for name, thing in vars(room).items():
            if (
                inspect.isclass(thing)
                and is_dataclass(thing)
                and thing.__module__ == room.__name__
                and name[0] != "_"
            ):
                assert f"{name}(" in known, name


def test_every_part_comes_back_through_a_store(tmp_path: Path) -> None:
    for number, recipe in enumerate(PRESETS):
        open_study(f"sqlite:///{tmp_path}/a.db", f"{number}", SPACE, recipe=recipe)
        assert open_study(f"sqlite:///{tmp_path}/a.db", f"{number}").recipe == recipe


# parts of your own


def mirror(known: Known) -> Data:
    return Data(1.0 - known.data.X, known.data.y)


def greedy(mean: Array, sd: Array, known: Known) -> Array:
    return mean


@dataclass(frozen=True)
class Shifted:
    by: float = 0.0

    def __call__(self, mean: Array, sd: Array, known: Known) -> Array:
        return mean + self.by


YOURS = [
    ("acquisition", greedy, "greedy"),
    ("acquisition", Shifted(1.0), "Shifted"),
    ("acquisition", acquisitions.UCB(lambda t, d: 1.0), "<lambda>"),
    ("pseudo", pseudo.Pending() + mirror, "mirror"),
    ("pseudo", pseudo.Pending(lambda known, X: np.zeros(len(X))), "<lambda>"),
    ("initial", type("Mine", (), {"size": 3, "__call__": lambda *_: np.zeros(1)})(), "Mine"),
]


@pytest.mark.parametrize(("field", "part", "name"), YOURS)
def test_parts_of_your_own_are_brought_along(tmp_path: Path, field: str, part: Any, name: str) -> None:
    url, recipe = f"sqlite:///{tmp_path}/a.db", replace(RANDOM, **{field: part})
    study = open_study(url, "a", SPACE, recipe=recipe)
    study.observe({"x": 0.5}, 1.0)
    assert name in json.dumps(written_recipe(recipe))
    with pytest.raises(StudyError, match=rf"has parts of your own \({field}\): open it with recipe="):
        read_recipe(written_recipe(recipe))
    looking = open_study(url, "a")
    assert len(looking.trials) == 1
    with pytest.raises(StudyError, match="open it with recipe="):
        looking.ask()
    assert len(looking.trials) == 1
    again = open_study(url, "a", recipe=recipe)
    assert again.recipe is recipe
    assert again.ask().number == 1


def test_a_part_of_another_name_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    open_study(url, "a", SPACE, recipe=replace(RANDOM, acquisition=greedy))
    for other in (Shifted(), acquisitions.ei):
        with pytest.raises(StudyError, match=r"recipe 'acquisition' .*greedy.*, got"):
            open_study(url, "a", recipe=replace(RANDOM, acquisition=other))


def test_a_part_of_yours_is_not_taken_for_one_of_the_engine() -> None:
    def ei(mean: Array, sd: Array, known: Known) -> Array:
        return mean

    ei.__module__, ei.__qualname__ = "bopp.acquisition", "ei"
    assert written_recipe(replace(RANDOM, acquisition=ei))["acquisition"] != {"part": "acquisition.ei"}


# hostile recipes


def usual(**parts: Any) -> dict[str, Any]:
    return {**written_recipe(RANDOM), **parts}


def settings(part: str, **named: Any) -> dict[str, Any]:
    return {"part": part, "settings": named}


REFUSED: list[dict[str, Any]] = [
    usual(kernel={"part": name})
    for name in (
        "os.system",
        "search.os",
        "fit._gp",
        "fit.np",
        "fit.minimize",
        "fit.BoppError",
        "fit.RecipeError",
        "fit.GP",
        "fit.Data",
        "fit.lru_cache",
        "fit.dataclass",
        "kernels.np",
        "kernels.np.load",
        "kernels.Protocol",
        "kernels.Kernel",
        "pseudo.__builtins__",
        "pseudo.__builtins__.eval",
        "pseudo.__loader__",
        "pseudo.VALUATIONS",
        "pseudo._Adds",
        "pseudo.Any",
        "pseudo",
        "pseudo.",
        ".Pending",
        "",
        "pseudo.Pending ",
        "pseudo.pending",
        "acquisition.UCB.__init__",
        "bopp.pseudo.Pending",
        "suggest.Recipe",
        "store.Store",
        "builtins.eval",
    )
] + [
    usual(kernel={"part": None}),
    usual(kernel={"part": 5}),
    usual(kernel={"part": ["pseudo", "Pending"]}),
    usual(kernel=5),
    usual(kernel=None),
    usual(kernel="kernels.Matern52"),
    usual(kernel=[]),
    usual(kernel=settings("kernels.Matern52", extra=1)),
    usual(kernel={"part": "kernels.Matern52"}),  # the class, where an instance is wanted
    usual(search=settings("search.Gradients", starts="10")),
    usual(search=settings("search.Gradients", starts=-1)),
    usual(search=settings("search.Direct", evaluations=1e9)),
    usual(acquisition=settings("acquisition.UCB", beta="4")),
    usual(acquisition=settings("acquisition.UCB", beta={"number": "nan"})),
    usual(acquisition=settings("acquisition.UCB", beta={"number": "inf"})),
    usual(initial=settings("initial.Sobol", size={"number": "nan"})),
    usual(initial=settings("initial.Sobol", size={"number": []})),
    usual(initial=settings("initial.Sobol", size=settings("search.os"))),
    usual(fit=settings("fit.MAP", variance=0)),
    usual(fit=settings("fit.MAP", lengthscale=[1])),
    usual(fit=settings("fit.MAP", lengthscale=["a", "b"])),
    usual(pseudo=settings("pseudo.Pending", value="nonsense")),
    usual(pseudo=settings("pseudo.Pending", value=settings("fit._gp"))),
    usual(more={"part": "kernels.Matern52"}),
    usual(**{"__class__": 5}),
    {},
]
ESCAPING: list[tuple[str, dict[str, Any]]] = [
    ("KeyError", usual(kernel={"word": 1})),
    ("KeyError", usual(kernel={})),
    ("ValueError", usual(initial=settings("initial.Sobol", size={"number": "many"}))),
    ("OverflowError", usual(initial=settings("initial.Sobol", size={"number": 10**400}))),
    ("AttributeError", usual(kernel={"part": "kernels.Matern52", "settings": [1]})),
    ("AttributeError", usual(kernel={"part": "kernels.Matern52", "settings": "x"})),
    ("accepted", usual(fit=settings("fit.MAP", priors="believe me"))),
    ("accepted", usual(fit=settings("fit.MAP", priors=settings("fit.Priors", noise=5)))),
    ("accepted", usual(pseudo=settings("pseudo.Sum", policies="abc"))),
    ("accepted", usual(pseudo=settings("pseudo.Sum", policies=[5]))),
    ("accepted", usual(pseudo=settings("pseudo.Neighbours", count="x"))),
    ("accepted", usual(pseudo={"part": "search.ascend"})),
    ("accepted", usual(outcome={"part": "kernels.squared_distance"})),
]


def stored(path: Path, recipe: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE bopp_studies SET recipe = ?", [recipe])
    connection.commit()
    connection.close()


@pytest.fixture
def url(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path}/a.db"
    open_study(address, "a", SPACE, recipe=RANDOM).observe({"x": 0.5}, 1.0)
    return address


@pytest.mark.parametrize("parts", REFUSED)
def test_hostile_recipes_are_refused(parts: dict[str, Any]) -> None:
    if parts == {}:
        assert read_recipe(parts) == Recipe.default()  # what is not said is as usual
        return
    with pytest.raises(StudyError):
        read_recipe(parts)


def test_hostile_recipes_in_a_store_are_refused(tmp_path: Path, url: str) -> None:
    for parts in REFUSED[:-1]:
        stored(tmp_path / "a.db", json.dumps(parts))
        with pytest.raises(StudyError):
            open_study(url, "a").ask()


@pytest.mark.parametrize(("now", "parts"), ESCAPING)
def test_recipes_that_are_wrong_within_are_refused(tmp_path: Path, url: str, now: str, parts: Any) -> None:
    stored(tmp_path / "a.db", json.dumps(parts))
    with pytest.raises(StudyError):
        open_study(url, "a")


def test_no_function_is_called_by_a_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def squared_distance(A: Any = None, B: Any = None) -> Any:
        calls.append((A, B))
        return lambda *_: 0.0

    squared_distance.__module__ = "bopp.kernels"
    monkeypatch.setattr(kernels, "squared_distance", squared_distance)
    with pytest.raises(StudyError):
        read_recipe(usual(kernel=settings("kernels.squared_distance", A=[[1.0]], B=[[2.0]])))
    assert calls == []


@pytest.mark.parametrize("depth", [100, 5_000, 100_000])
def test_deep_recipes_are_refused(tmp_path: Path, url: str, depth: int) -> None:
    deep = '{"part": "pseudo.Sum", "settings": {"policies": [' * depth + "5" + "]}}" * depth
    stored(tmp_path / "a.db", json.dumps(usual(pseudo="DEEP")).replace('"DEEP"', deep))
    with pytest.raises(BoppError):
        open_study(url, "a", recipe=RANDOM)
    with pytest.raises(BoppError):
        open_study(url, "a")


def test_the_rooms_hold_no_way_out() -> None:
    """Whatever a recipe can name is a dataclass or a function of the engine itself."""
    for room in ROOMS.values():
        for name, thing in vars(room).items():
            try:
                read_recipe(usual(kernel={"part": f"{room.__name__.rpartition('.')[2]}.{name}"}))
            except BoppError:
                continue
            assert thing.__module__ == room.__name__
            assert not name.startswith("_")
