"""What every bridge must do: suggest what an optimizer with the same trials does, and name wrong arguments.

The test file of a bridge derives a class from one of those below, and adapts it to its tool.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from bopp import Choice, Float, Int, Optimizer, Parameter, Params, Problem, Recipe
from bopp.acquisition import UCB
from bopp.errors import BoppError, RecipeError
from bopp.initial import Sobol
from bopp.problem import AtMost, Direction
from bopp.pseudo import Cheap, Earlier, Guesses, Images, Limits
from support import coming, documents

SPACE: dict[str, Parameter] = {
    "kind": Choice(["relu", "tanh", "gelu"]),
    "layers": Int(1, 8),
    "rate": Float(1e-4, 1.0, log=True),
}
FIRST: Params = {"kind": "tanh", "layers": 3, "rate": 0.1}  # observed before anything is suggested


def loss(params: Mapping[str, Any]) -> float:
    far = (math.log10(params["rate"]) + 2) ** 2 + abs(params["layers"] - 5)
    return float(far + (params["kind"] == "relu"))


def written(value: Any) -> str:
    """A value with its type, of a float the first digits."""
    return repr(round(value, 9) + 0.0 if isinstance(value, float) else value)


@dataclass(frozen=True)
class Case:
    """The settings of a search, and what its trials return."""

    directions: tuple[Direction, ...] = ("minimize",)
    constraints: tuple[AtMost, ...] = ()
    seed: Any = 3
    recipe: Recipe | None = None
    knowledge: Any = ()
    fails: bool = False  # where there are many layers
    batches: tuple[int, ...] = (1,) * 8  # how many trials are asked for before the first of them is told

    @property
    def objectives(self) -> dict[str, Direction]:
        return dict(zip(("loss", "speed"), self.directions, strict=False))

    def outcome(self, params: Mapping[str, Any]) -> dict[str, float] | None:
        """The objectives and constraints; a relu has no memory measured; None if the trial fails."""
        if self.fails and params["layers"] > 5:
            return None
        found = {"loss": loss(params), "speed": -float(params["layers"]), "memory": params["layers"] / 2 - 2}
        named = [*self.objectives, *(one.name for one in self.constraints)]
        return {name: found[name] for name in named if name != "memory" or params["kind"] != "relu"}


class Unevaluated(Case):
    """A search that must end before its first trial is evaluated."""

    def outcome(self, params: Mapping[str, Any]) -> dict[str, float] | None:
        if params != FIRST:
            pytest.fail("nothing should be evaluated")
        return super().outcome(params)


TWO: tuple[Direction, ...] = ("minimize", "maximize")
MEMORY = (AtMost("memory", 0.0),)
MIRROR = Images(mirror={"layers": 4.5})
CASES = {
    "minimize": Case(),
    "maximize": Case(("maximize",)),
    "another seed": Case(seed=4),
    "recipe": Case(recipe=Recipe(initial=Sobol(2), acquisition=UCB(9.0))),
    "failed": Case(fails=True, batches=(1,) * 12),
    "pending": Case(batches=(2, 3, 4)),
    "pending and failed": Case(fails=True, batches=(3, 3, 3)),
    "two objectives": Case(TWO),
    "constraints": Case(constraints=MEMORY),
    "two objectives, constraints, failed": Case(TWO, MEMORY, fails=True),
    "two objectives, images": Case(TWO, knowledge=MIRROR),
    "images": Case(knowledge=MIRROR),
    "guesses": Case(
        knowledge=[Guesses(near={"rate": 0.01}, good={"layers": (4, 6), "kind": ["tanh", "gelu"]})]
    ),
    "values": Case(knowledge=Guesses(values=[({"rate": 0.01, "layers": 5}, 0.1, 0.2)], more="layers")),
    "cheap": Case(knowledge=[Cheap(lambda kind, layers, rate: 2.0 * abs(layers - 6) + rate, points=12)]),
    "earlier": Case(
        knowledge=Earlier([("minimize", [({"rate": r, "layers": 5}, r) for r in (0.001, 0.01, 0.1, 0.5)])])
    ),
    "limits": Case(knowledge=Limits(at_least=0.0)),
    "a sum": Case(knowledge=MIRROR + Guesses(near={"kind": "gelu"}) + Limits(at_least=0.0)),
}
MISFITS = [
    (Guesses(near={"depth": 3}), "'depth'"),
    (Guesses(near={"layers": 30}), "'layers'"),
    (Images(exchange=("rate", "layers")), "exchange"),
]
RESUMED = ("minimize", "pending and failed", "two objectives, constraints, failed", "cheap", "a sum")


@cache
def reference(
    case: str, directions: tuple[Direction, ...], seed: int, batches: tuple[int, ...], first: bool
) -> list[Params]:
    """The params that an optimizer suggests; the arguments are what the tool sets otherwise than the case."""
    given = replace(CASES[case], directions=directions)
    problem = Problem(SPACE, given.objectives, given.constraints)
    optimizer = Optimizer(problem, seed=seed, recipe=given.recipe, knowledge=given.knowledge)

    def told(params: Params) -> dict[str, float | None] | None:
        outcome = given.outcome(params)
        return None if outcome is None else {name: outcome.get(name) for name in problem.names}

    if first:
        optimizer.observe(FIRST, told(FIRST))
    for count in batches:
        for trial in optimizer.ask(count):
            if (values := told(trial.params)) is None:
                optimizer.fail(trial, "failed")
            else:
                optimizer.tell(trial, values)
    return [trial.params for trial in optimizer.trials]


class BridgeConformance:
    """What holds for a bridge of any kind."""

    page: ClassVar[str]  # which documents the bridge
    wrong: ClassVar[dict[str, list[Any]]]  # values that an argument refuses, by its name

    def begin(self, **settings: Any) -> None:
        """Go as far as it takes to have the settings checked."""
        raise NotImplementedError

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "argument" in metafunc.fixturenames:
            rows = [(name, value) for name, values in self.wrong.items() for value in values]
            metafunc.parametrize(("argument", "value"), rows)

    def test_a_wrong_argument_is_named(self, argument: str, value: Any) -> None:
        with pytest.raises((BoppError, ValueError), match=argument):
            self.begin(**{argument: value})

    @pytest.mark.endurance
    def test_the_code_of_the_page_runs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        documents.run(self.page)
        assert len(documents.blocks(self.page)) >= 3


class ComingConformance(BridgeConformance):
    """What holds for a bridge to a library, or to others of its kind, that people come from."""

    libraries: ClassVar[list[str]]  # as docs/coming-from.md calls them

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        super().pytest_generate_tests(metafunc)
        if "library" in metafunc.fixturenames:
            metafunc.parametrize("library", self.libraries)

    @pytest.mark.endurance
    def test_who_comes_from_a_library_finds_as_good_a_setting(
        self, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert max(coming.errors(library)) < coming.GOOD


class SearchConformance(BridgeConformance):
    """What holds for a bridge that searches."""

    unsupported: ClassVar[set[str]] = set()  # cases that the tool has no way to express
    observes: ClassVar[bool] = True  # whether the search begins with the outcome of FIRST
    finite: ClassVar[list[tuple[Any, list[Any]]]]  # domains of the tool, with all their values

    def run(self, case: Case, folder: Path | None = None) -> list[Params]:
        """Search with the tool; with a folder, save and restore the search there at every step."""
        raise NotImplementedError

    def tried(self, domain: Any, count: int) -> list[Any]:
        """The values of a search over one domain of the tool, in so many trials with the same result."""
        raise NotImplementedError

    def directions(self, case: Case) -> tuple[Direction, ...]:
        return case.directions

    def seed(self, case: Case) -> int:
        return int(case.seed)

    def batches(self, case: Case) -> tuple[int, ...]:
        return case.batches

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        super().pytest_generate_tests(metafunc)
        supported = [name for name in CASES if name not in self.unsupported]
        for argument, names in (("case", supported), ("resumed", RESUMED)):
            if argument in metafunc.fixturenames:
                metafunc.parametrize(argument, names)
        if "domain" in metafunc.fixturenames:
            metafunc.parametrize(("domain", "values"), self.finite)

    def expected(self, name: str) -> list[Params]:
        case = CASES[name]
        return reference(name, self.directions(case), self.seed(case), self.batches(case), self.observes)

    def test_suggestions_are_those_of_an_optimizer(self, case: str) -> None:
        found = self.run(CASES[case])
        assert found == self.expected(case)
        if case not in ("minimize", "maximize", "limits"):
            assert found[: len(self.expected("minimize"))] != self.expected("minimize")

    def test_knowledge_of_one_objective_is_refused_beside_several(self) -> None:
        for settings in (
            {"knowledge": Guesses(near={"rate": 0.01})},
            {"recipe": Recipe(pseudo=Guesses(near={"rate": 0.01}))},
        ):
            with pytest.raises(RecipeError, match=r"several objectives.*Guesses"):
                self.run(Unevaluated(TWO, **settings))

    @pytest.mark.parametrize(("knowledge", "words"), MISFITS)
    def test_knowledge_that_does_not_fit_is_named(self, knowledge: Any, words: str) -> None:
        with pytest.raises(BoppError, match=words):
            self.run(Unevaluated(knowledge=knowledge))

    def test_a_stand_in_is_called_once_for_each_of_its_points(self) -> None:
        seen: list[Params] = []

        def stand_in(params: Params) -> float:
            seen.append(params)
            return loss(params)

        self.run(Case(knowledge=Cheap(stand_in, points=6)))
        assert len(seen) == 6

    def test_no_seed_is_another_seed_each_time(self) -> None:
        found = [self.run(Case(seed=seed, batches=(1, 1))) for seed in (3, np.int64(3), None, None)]
        assert found[0] == found[1]
        assert len(set(map(repr, found))) == 3

    def test_every_value_of_a_finite_domain_is_tried_once_and_as_it_is(
        self, domain: Any, values: list[Any]
    ) -> None:
        assert sorted(map(written, self.tried(domain, len(values)))) == sorted(map(written, values))


class ResumableConformance(SearchConformance):
    """What holds for a bridge whose searches can be saved."""

    def test_a_search_resumed_at_every_step_goes_on(self, resumed: str, tmp_path: Path) -> None:
        assert self.run(CASES[resumed], tmp_path) == self.expected(resumed)
