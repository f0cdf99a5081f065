"""What a study knows besides its trials: kept with it, compared, switched, moved, sent."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bopp import (
    Choice,
    Fixed,
    Float,
    Int,
    Optimizer,
    Params,
    Problem,
    Recipe,
    Result,
    Study,
    open_study,
    pseudo,
)
from bopp.dashboard import queries
from bopp.errors import BoppError, StudyError
from bopp.parameter import Parameter
from bopp.pseudo import Cheap, Earlier, Guesses, Images, Limits, Source
from bopp.study import sources
from bopp.study.exchange import exported, imported
from bopp.study.knowing import KNOWLEDGE
from support.commands import Bopp
from support.stores import execute

SPACE: dict[str, Parameter] = {"x": Float(0, 1), "y": Float(0, 1), "kind": Choice(["a", (1, 2)])}


def loss(params: Params) -> float:
    return float((params["x"] - 0.3) ** 2 * (params["y"] - 0.3) ** 2 + (params["kind"] == "a"))


def past(count: int = 8, seed: int = 3) -> Result:
    run = Optimizer(SPACE, seed=seed, recipe=Recipe.random())
    for _ in range(count):
        trial = run.ask()
        run.tell(trial, loss(trial.params))
    return run.result


def swapped(params: Params) -> Params:
    return {**params, "x": params["y"], "y": params["x"]}


class Calls:
    """A stand-in for the objective that counts its calls."""

    count = 0


def cheap(params: Params) -> float:
    Calls.count += 1
    return loss(params) + 0.1


@dataclass(frozen=True)
class Mine(Source):
    """A source of somebody's own."""

    most: float = 2.0
    trust: float = 0.5

    def limits(self) -> tuple[float, float]:
        return -np.inf, self.most


WHOLE: dict[str, Any] = {
    "images": Images(exchange=("x", "y"), mirror={"x": 0.5}),
    "guesses": Guesses(
        [({"x": 0.3, "kind": (1, 2)}, 0.0, 0.1)], near={"y": 0.3}, good={"kind": ["a"]}, less=["y"]
    ),
    "cheap": Cheap([({"x": x / 9, "y": 0.5, "kind": "a"}, x / 9) for x in range(10)], "maximize"),
    "earlier": Earlier([past(), past(9, 4)], trust=0.6),
    "limits": Limits(at_least=0),
}
YOURS: dict[str, Any] = {"images": Images(equal=swapped), "mine": Mine()}
ALL = {**WHOLE, **{f"your {name}": source for name, source in YOURS.items()}}
IMAGES, LIMITS = WHOLE["images"], WHOLE["limits"]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/a.db"


def known(study: Study) -> tuple[Source, ...]:
    return pseudo.sources(study.recipe.pseudo)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("earlier", "your mine") else pytest.mark.endurance)
        for name in ALL
    ],
)
def test_a_study_that_is_opened_anew_for_every_trial_suggests_like_an_optimizer(url: str, name: str) -> None:
    run = Optimizer(SPACE, seed=1, knowledge=[ALL[name]])
    for number in range(8):
        knowledge = [ALL[name]] if number == 0 or name not in WHOLE else None
        with open_study(url, "s", SPACE, seed=1, knowledge=knowledge) as study:
            trial, mine = study.ask(), run.ask()
            assert trial.params == mine.params
            study.tell(trial, loss(trial.params))
            run.tell(mine, loss(mine.params))
            assert study.recipe == run.recipe
            assert [account.trust for account in study.knowledge] == [
                account.trust for account in run.result.knowledge
            ]


@pytest.mark.parametrize("name", WHOLE)
def test_the_same_knowledge_may_be_given_again(url: str, name: str) -> None:
    open_study(url, "s", SPACE, knowledge=[WHOLE[name]]).close()
    with open_study(url, "s", knowledge=[replace(WHOLE[name])]) as study:
        assert known(study) == study.result.sources == (WHOLE[name],)


@pytest.mark.parametrize(
    ("first", "other", "words"),
    [
        (IMAGES, [LIMITS], r"knows images: exchange x, y, mirror x 0.5, .*; got limits: at least 0.0"),
        (IMAGES, [IMAGES, LIMITS], r"knows images: .*; got images: .*; limits: "),
        (IMAGES, [replace(IMAGES, trust=0.3)], r"trusted 0.3"),
        (IMAGES, [Images(equal=swapped)], r"got images: equal test_study_knowledge.swapped"),
        (IMAGES, [], r"knows images: .*; got nothing"),
        (Earlier(past()), Earlier(past(seed=4)), "the same with other data"),
        ([], LIMITS, r"knows nothing; got limits"),
    ],
)
def test_other_knowledge_is_refused_with_the_remedy(url: str, first: Any, other: Any, words: str) -> None:
    open_study(url, "s", SPACE, knowledge=first).close()
    with pytest.raises(StudyError, match=rf"{words}.*Study\.switch_knowledge.* bopp learn"):
        open_study(url, "s", SPACE, knowledge=other)
    open_study(url, "s", knowledge=first).close()


def test_a_function_is_called_when_the_study_is_created_and_never_again(url: str) -> None:
    Calls.count = 0
    with open_study(url, "s", SPACE, knowledge=Cheap(cheap, points=12)) as study:
        assert Calls.count == 12
        before = study.recipe
    with open_study(url, "s", SPACE, knowledge=Cheap(cheap, points=12)) as study:
        assert study.recipe == before
        study.ask()
    with open_study(url, "s") as study:
        assert study.recipe == before
    for other in (Cheap(loss, points=12), Cheap(cheap, points=13), Cheap(cheap, "maximize", points=12)):
        with pytest.raises(StudyError, match=r"knows cheap: 12 values, points 12, .*from test_.*cheap; got"):
            open_study(url, "s", knowledge=other)
    assert Calls.count == 12


@pytest.mark.parametrize("name", YOURS)
def test_parts_of_your_own_are_brought_along(url: str, name: str) -> None:
    with open_study(url, "s", SPACE, knowledge=[LIMITS, YOURS[name]]) as study:
        study.observe({"x": 0.5, "y": 0.5, "kind": "a"}, 1.0)
    with open_study(url, "s") as study:
        assert study.best.value == 1.0
        assert study.result.sources == ()
        with pytest.raises(StudyError, match=f"knows {name}: .*, with parts of your own: open it with know"):
            study.ask()
    with open_study(url, "s", knowledge=[LIMITS, YOURS[name]]) as study:
        assert known(study) == (LIMITS, YOURS[name])
        assert study.ask().number == 1


def test_a_study_with_knowledge_of_your_own_can_be_drawn(
    url: str, tmp_path: Path, bopp: Bopp, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_study(url, "s", SPACE, recipe=Recipe.random(), knowledge=YOURS["images"]) as study:
        for value in (1.0, 2.0, 3.0):
            study.tell(study.ask(), value)
    assert bopp("plot", url, "s", "--kind", "convergence", "--out", tmp_path).code == 0
    with open_study(url, "s") as study:
        monkeypatch.setattr(queries, "_study", lambda which: study)
        assert queries.picture((url, "s", 0), "convergence").startswith(b"\x89PNG")


def test_who_gave_a_source_does_not_matter() -> None:
    problem = Problem(SPACE)
    for source in (LIMITS, *YOURS.values()):
        row = sources.Taught(source, sources.FILE).written(problem)
        assert sources.are_in(sources.taught(source), [row], problem)


def test_a_named_recipe_is_compared_without_the_knowledge(url: str) -> None:
    for number, recipe in enumerate((Recipe.default(), Recipe.random(), Recipe.paper("ei"))):
        with open_study(url, f"{number}", SPACE, recipe=recipe, knowledge=IMAGES) as study:
            before = study.recipe
        with open_study(url, f"{number}", recipe=recipe) as study:
            assert (study.recipe, known(study)) == (before, (IMAGES,))
        with pytest.raises(StudyError, match="has recipe"):
            open_study(url, f"{number}", recipe=Recipe.paper("ei", tau0=0.5))


def test_sources_of_a_recipe_are_knowledge(url: str) -> None:
    recipe = replace(Recipe.default(), pseudo=IMAGES + Recipe.default().pseudo)
    open_study(url, "s", SPACE, recipe=recipe).close()
    for same in ({"recipe": recipe}, {"knowledge": IMAGES}, {"recipe": Recipe.default()}, {}):
        with open_study(url, "s", **same) as study:
            assert known(study) == (IMAGES,)
    other = replace(Recipe.default(), pseudo=Recipe.default().pseudo + LIMITS)
    with pytest.raises(StudyError, match=r"knows images: .*; got limits"):
        open_study(url, "s", recipe=other)


def test_knowledge_is_switched_for_all_who_come_later(url: str) -> None:
    with open_study(url, "s", SPACE, recipe=Recipe.paper("ei"), knowledge=IMAGES) as study:
        other = open_study(url, "s")
        study.switch_knowledge([LIMITS, YOURS["images"]])
        assert (known(study), known(other)) == ((LIMITS, YOURS["images"]), (IMAGES,))
        study.ask()
        study.switch_knowledge(())
    with open_study(url, "s", recipe=Recipe.paper("ei")) as study:
        assert (study.recipe, study.knowledge) == (Recipe.paper("ei"), ())


def test_a_switched_recipe_knows_what_the_study_knew(url: str) -> None:
    bare = replace(Recipe.random(), pseudo=pseudo.Pending())
    own = replace(Recipe.random(), pseudo=pseudo.Pending() + LIMITS)
    with open_study(url, "s", SPACE, knowledge=[IMAGES, YOURS["mine"]]) as study:
        study.switch_recipe(Recipe.random())
        assert known(study) == (IMAGES, YOURS["mine"])
        study.switch_recipe(own)
        assert study.recipe == own
    with open_study(url, "s", recipe=own) as study, open_study(url, "s") as other:
        assert study.recipe == own
        study.switch_knowledge(())
        assert study.recipe == bare
        with open_study(url, "s") as later:
            assert later.recipe == bare
        other.switch_knowledge(LIMITS)
        study.switch_recipe(Recipe.random())
        assert known(study) == (LIMITS,)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("images", "wanted sources .* got 'images'"),
        ([Images], "wanted sources"),
        ([pseudo.Pending()], "other policies belong in the recipe"),
        ([5], "got 5"),
        (Images(exchange=("x", "z")), "wanted names among"),
        (Guesses(near={"x": 7.0}), "7.0"),
        (Cheap(lambda params: 1 / 0), "division"),
    ],
)
def test_wrong_knowledge_is_refused_before_anything_is_written(url: str, wrong: Any, words: str) -> None:
    with pytest.raises(BoppError, match=words):
        open_study(url, "s", SPACE, knowledge=wrong)
    assert not Path(url.removeprefix("sqlite:///")).exists()
    with open_study(url, "s", SPACE, knowledge=LIMITS) as study:
        with pytest.raises(BoppError, match=words):
            study.switch_knowledge(wrong)
        assert known(study) == (LIMITS,)


def test_of_several_objectives_only_what_holds_for_each_is_known(url: str) -> None:
    several = Problem(SPACE, {"one": "minimize", "two": "maximize"})
    with pytest.raises(BoppError, match=r"several objectives.*got Limits"):
        open_study(url, "s", several, knowledge=[IMAGES, LIMITS])
    with open_study(url, "s", several, knowledge=IMAGES) as study:
        assert known(study) == study.result.of("two").sources == (IMAGES,)


def test_knowledge_that_fits_the_new_space_moves_along_and_other_keeps_a_study_where_it_is(url: str) -> None:
    with open_study(url, "s", SPACE, knowledge=IMAGES) as study:
        study.observe({"x": 0.5, "y": 0.5, "kind": "a"}, 1.0)
    for other in ({"y": Float(0, 2)}, {"y": Fixed(0.5)}, {"y": Int(0, 1)}):
        with pytest.raises(StudyError, match=r"does not fit the new space .*switch_knowledge"):
            open_study(url, "s", {**SPACE, **other}, migrate=True)
    with open_study(url, "s", SPACE) as study:
        assert [trial.state for trial in study.trials] == ["done"]
    wider = {**SPACE, "x": Float(0, 2), "y": Float(0, 2)}
    with open_study(url, "s", wider, migrate=True) as study:
        assert known(study) == (IMAGES,)
        study.ask()
        study.switch_knowledge(())
    open_study(url, "s", {**wider, "y": Float(0, 3)}, migrate=True).close()


def test_an_export_carries_the_knowledge(url: str, tmp_path: Path) -> None:
    with open_study(url, "s", SPACE, knowledge=list(WHOLE.values())) as study:
        study.tell(study.ask(), 1.0)
        content, recipe = exported(study), study.recipe
        params = study.ask().params
    target = f"sqlite:///{tmp_path}/b.db"
    assert imported(target, content) == "s"
    with open_study(target, "s", knowledge=list(WHOLE.values())) as study:
        assert study.recipe == recipe
        assert study.ask().params == params


def signed(head: Any) -> bytes:
    body = f"{json.dumps(head)}\n".encode()
    return body + b'{"sha256": "%s"}\n' % hashlib.sha256(body).hexdigest().encode()


def head_of(study: Study) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(exported(study).splitlines()[0])
    return found


def written(source: Source, **changes: Any) -> dict[str, Any]:
    (row,) = (one.written(Problem(SPACE)) for one in sources.taught(source))
    return {**row, "settings": {**row["settings"], **changes}}


EI = {"part": "acquisition.ei"}
ROW = [[["x", 0.5]], 0.1]
WRONG: dict[str, dict[str, list[Any]]] = {
    "images": {
        "exchange": ["xy", [["x"], ["z"]], [[["x"]], [["y"]]]],
        "mirror": [{"x": 0.5}, [["x", "0.5"]], [["kind", 0.5]]],
        "equal": [EI, "swapped"],
        "trust": [True, {"number": "nan"}, {"number": []}],
        "extra": [1],
    },
    "guesses": {
        "values": [[[{"x": 1}, 0.0, 0.1]], [[[["x", 9.0]], 0.0, 0.1]], [[[["x", 0.5]], 0.0, -0.1]], 5],
        "good": [[["x", 0.5]], [["z", [0.5, 0.6]]], [["x", [0.1, 0.2, 0.3]]]],
        "more": [[5], [["x"]]],
        "within": ["x"],
    },
    "cheap": {
        "values": [
            EI,
            "text",
            *([row] * 5 for row in ([ROW[0], "0.1"], [*ROW, 0.2], [[["z", 0.5]], 0.1], [[[5, 1]], 1])),
        ],
        "direction": ["up"],
        "points": ["many"],
    },
    "earlier": {"studies": [[], [["up", []]], [["minimize", [ROW] * 2]], [["minimize", EI]], EI]},
    "limits": {"at_least": ["0", {"number": "inf"}, None]},
}
PARTS = ("pseudo.Source", "pseudo.Pending", "pseudo.os", "kernels.Matern52", ["pseudo"])
HOSTILE: list[dict[str, Any]] = [
    *(
        written(WHOLE[name], **{field: value})
        for name, fields in WRONG.items()
        for field, values in fields.items()
        for value in values
    ),
    *(written(LIMITS) | {"part": part} for part in PARTS),
    *(
        written(LIMITS) | wrong
        for wrong in ({"settings": [1]}, {"by": 5}, {"origin": [None, 5]}, {"more": 5})
    ),
    *({name: one for name, one in written(LIMITS).items() if name != lost} for lost in ("by", "origin")),
    {"by": None, "origin": None},
]


def change_knowledge(path: Path, text: str) -> None:
    execute(path, "UPDATE bopp_studies SET knowledge = ?, seal = NULL", text)


@pytest.mark.parametrize("row", HOSTILE, ids=lambda row: json.dumps(row)[:60])
def test_hostile_sources_in_a_store_or_an_export_are_refused(url: str, tmp_path: Path, row: Any) -> None:
    with open_study(url, "s", SPACE) as study:
        study.observe({"x": 0.5, "y": 0.5, "kind": "a"}, 1.0)
        head = head_of(study)
    change_knowledge(tmp_path / "a.db", json.dumps([row]))
    with open_study(url, "s") as study:
        with pytest.raises(StudyError, match="what this study knows cannot be read"):
            study.ask()
        assert study.result.sources == ()  # looking goes on
        assert study.best.value == 1.0
        study.switch_knowledge(LIMITS)
        study.ask()
    with pytest.raises(StudyError):
        imported(f"sqlite:///{tmp_path}/b.db", signed({**head, "knowledge": [row], "trials": 0}))


def test_the_hostile_sources_are_refused_for_what_is_wrong_with_them(url: str, tmp_path: Path) -> None:
    with open_study(url, "s", SPACE, knowledge=LIMITS) as study:
        content, head = exported(study), head_of(study)
    for number, source in enumerate(WHOLE.values()):
        good = signed({**head, "knowledge": [written(source)], "trials": 0})
        imported(f"sqlite:///{tmp_path}/b.db", good, f"{number}")
    tampered = content.replace(b'"at_least": 0.0', b'"at_least": 1.0')
    assert tampered != content
    with pytest.raises(StudyError, match="checksum"):
        imported(f"sqlite:///{tmp_path}/b.db", tampered)


@pytest.mark.parametrize("depth", [100, 5_000, 100_000])
def test_a_deep_source_is_refused(url: str, tmp_path: Path, depth: int) -> None:
    open_study(url, "s", SPACE).close()
    text = json.dumps([written(LIMITS, at_least="DEEP")]).replace('"DEEP"', "[" * depth + "]" * depth)
    change_knowledge(tmp_path / "a.db", text)
    with pytest.raises(BoppError):
        open_study(url, "s").ask()
    with pytest.raises(BoppError):
        open_study(url, "s", knowledge=LIMITS)


@pytest.mark.endurance
def test_fifty_studies_of_a_hundred_trials_do_not_slow_opening_down(url: str) -> None:
    rng = np.random.default_rng(0)
    space: dict[str, Parameter] = {f"p{place}": Float(0, 1) for place in range(6)}
    studies = [
        ("minimize", [(dict(zip(space, row, strict=True)), float(row.sum())) for row in rng.random((100, 6))])
        for _ in range(50)
    ]
    large = Earlier(tuple(tuple(study) for study in studies))
    open_study(url, "s", space, knowledge=large).close()
    began = time.process_time()
    with open_study(url, "s", space, recipe=Recipe.default()) as study:
        assert len(study.trials) == 0
        opened = time.process_time()
        assert study.recipe.pseudo.policies[-1] == large  # type: ignore[attr-defined]
    read = time.process_time()
    open_study(url, "s", space, knowledge=large).close()
    compared = time.process_time()
    print(f"opened {opened - began:.3f} s, read {read - opened:.3f} s, compared {compared - read:.3f} s")
    assert opened - began < 0.6  # 0.06 s on an idle machine


def test_every_source_of_the_engine_has_a_table() -> None:
    kinds = [one for name in pseudo.__all__ if isinstance(one := getattr(pseudo, name), type)]
    named = [kind.__name__.lower() for kind in kinds if issubclass(kind, Source) and kind is not Source]
    assert sorted(named) == sorted(KNOWLEDGE)
