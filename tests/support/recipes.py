"""Recipes of every kind: right ones, those with parts of your own, and hostile ones as they were written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bopp import Data, Known, Recipe, kernels, outcome, pseudo
from bopp import acquisition as acquisitions
from bopp import fit as fits
from bopp import initial as initials
from bopp import search as searches
from bopp.data import Array
from bopp.plain import write_recipe

RANDOM = Recipe.random()
SOURCES: dict[str, pseudo.Source] = {
    "exchange": pseudo.Images(exchange=("a", "b"), trust=0.9),
    "blocks": pseudo.Images(exchange=(("a",), ("b",)), mirror={"a": 0.5}),
    "mirror and period": pseudo.Images(mirror={"a": 0.4}, period={"b": 0.5}),
    "expected": pseudo.Guesses(values=[({"a": 0.2}, 1.5, 0.1), ({"a": 0.9, "b": 0.1}, -1.0, 2)]),
    "near": pseudo.Guesses(near={"a": 0.3, "b": 0.6}, within=0.2, trust=0.6),
    "good": pseudo.Guesses(good={"a": (0.2, 0.4)}, more="b"),
    "less": pseudo.Guesses(less=["a", "b"]),
    "cheap": pseudo.Cheap(
        [({"a": i / 9, "b": (i * i % 10) / 10}, (i - 4.5) ** 2) for i in range(10)], "minimize"
    ),
    "earlier": pseudo.Earlier(
        [
            ("maximize", [({"a": i / 7, "b": (3 * i % 8) / 8}, i * 0.1) for i in range(8)]),
            ("minimize", [({"b": i / 5, "c": "elu"}, 7 - i) for i in range(6)]),
        ],
        trust=0.4,
    ),
    "at least": pseudo.Limits(at_least=-2.5),
    "between": pseudo.Limits(-4, 1e3, trust=0.5),
}
"""Sources of each kind, bound to a space of two Floats `a` and `b` from 0 to 1."""

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
    ("fit", fits.MAP(fits.Priors(trend=fits.LogNormal(-3, 0.5)), least_noise=1e-8, tolerance=0.1)),
    ("fit", fits.MAP(fits.Priors(trend=None), refit=1, seen=math.inf, second_noise=None, starts=3)),
    ("fit", fits.SliceSampling(fits.Priors(trend=fits.LogNormal(0.1 + 0.2, 3)), refit=0.5, samples=1)),
    ("fit", fits.MaximumLikelihood(variance=1, noise=1e-4)),
    ("fit", fits.SliceSampling(samples=3, burn_in=0, thinning=2, priors=None)),
    ("pseudo", pseudo.none),
    ("pseudo", pseudo.Sum((pseudo.Pending(),))),
    (
        "pseudo",
        pseudo.Pending("best") + pseudo.Failed("worst") + pseudo.Neighbours(0.1, "corner", 3, doubt=False),
    ),
    ("pseudo", pseudo.Neighbours(tau0=5e-324)),
    *(("pseudo", pseudo.Pending() + source) for source in SOURCES.values()),
    ("pseudo", pseudo.Sum(tuple(SOURCES.values()))),
    ("pseudo", pseudo.Images(period={"angle": 360}, trust=1e-9)),
    ("pseudo", pseudo.Guesses(near={"size": (2, 3), "on": True, "none": None}, good={"act": ["relu"]})),
    ("pseudo", pseudo.Cheap([({"act": ("a", 1), "on": False, "n": 3}, 1)] * 3, points=7)),
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
    ("search", searches.Gradients(finalists=None, ample=math.inf)),
    ("search", searches.Direct(10**9)),
    ("initial", initials.Sobol(math.inf)),
    ("initial", initials.Sobol(0)),
    ("initial", initials.Uniform(3.5)),
    ("outcome", outcome.raw),
    ("outcome", outcome.standardised),
    ("outcome", outcome.power),
    ("outcome", outcome.margin),
    ("outcome", outcome.Squeezed(outcome.power, 0.5, 2.0)),
]
PRESETS = [
    Recipe.default(),
    Recipe.random(),
    *(Recipe.paper(which, tau0) for which in ("ucb", "pi", "ei") for tau0 in (None, 0, 0.001)),
    Recipe.paper("ei", evaluations=7, shortest=0.5),
]


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


def usual(**parts: Any) -> dict[str, Any]:
    return {**write_recipe(RANDOM), **parts}


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
    usual(search=settings("search.Gradients", finalists=0)),
    usual(search=settings("search.Gradients", finalists="4")),
    usual(search=settings("search.Gradients", ample={"number": "nan"})),
    usual(search=settings("search.Direct", evaluations=1e9)),
    usual(acquisition=settings("acquisition.UCB", beta="4")),
    usual(acquisition=settings("acquisition.UCB", beta={"number": "nan"})),
    usual(acquisition=settings("acquisition.UCB", beta={"number": "inf"})),
    usual(initial=settings("initial.Sobol", size={"number": "nan"})),
    usual(initial=settings("initial.Sobol", size={"number": []})),
    usual(initial=settings("initial.Sobol", size=settings("search.os"))),
    usual(fit=settings("fit.MAP", variance=0)),
    usual(fit=settings("fit.MAP", refit=2)),
    usual(fit=settings("fit.MAP", refit="often")),
    usual(fit=settings("fit.MAP", seen=0)),
    usual(fit=settings("fit.MAP", least_noise={"number": "inf"})),
    usual(fit=settings("fit.MAP", priors=settings("fit.Priors", trend=0.1))),
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
