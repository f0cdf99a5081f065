from __future__ import annotations

import json
import random
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import bopp
from bopp import Choice, Float, Int, Optimizer, Recipe, Study, acquisition, open_study
from bopp.errors import (
    BoppError,
    MissingExtra,
    NoResultError,
    RecipeError,
    SpaceError,
    StoreError,
    StudyError,
)
from bopp.parameter import Parameter
from bopp.search import Direct
from bopp.study.exchange import exported
from bopp.study.store import Store
from support.faults import Figure
from support.postgres import Server
from support.recipes import YOURS, usual

SPACE: dict[str, Parameter] = {"x": Float(0, 1), "n": Int(1, 5), "c": Choice(["a", 1, None, (1, 2)])}
RANDOM = Recipe.random()
NAMES = [
    *("plain", "😀 naïve", 'it\'s "quoted" `thrice`', "'; DROP TABLE bopp_trials; --", "<script>alert(1)"),
    *("../..", "/etc/passwd", "%s %d {0} :name ?", " ", "\u202eright to left", "\u2028"),
    *("x" * 600, "x" * 2500, "a", "A", "a ", " a", "á", "a\u0301", "a\u200b"),  # the last differ a little
]
ODD = [
    *("", "\0", "a\0b", "\udc80", "😀", "'\"`\\", "; DROP TABLE bopp_trials; --", "{0}", "__class__"),
    *("x" * 600, "\n"),
]


pytestmark = pytest.mark.usefixtures("closed_stores")


def opened(url: str, name: str = "a", **definition: Any) -> Study:
    return open_study(url, name, **{"space": SPACE, "recipe": RANDOM, **definition})


# names


@pytest.mark.fault(16)
def test_names_are_kept(url: str, figure: Figure) -> None:
    for number, name in enumerate(NAMES):
        opened(url, name).observe({"x": 0, "n": 1, "c": "a"}, number)
    for number, name in enumerate(NAMES):
        again = open_study(url, name)
        assert (again.name, repr(name) in repr(again)) == (name, True)
        assert [trial.value for trial in again.trials] == [number]
    figure(f"{len(NAMES)} of {len(NAMES)} odd names of studies kept")


@pytest.mark.fault(16)
@pytest.mark.parametrize(
    ("names", "why"),
    [
        ([""], "not empty"),
        ([None, 5, b"a"], "must be a text"),
        (["x" * 2501, "😀" * 626], "at most 2500 bytes"),
        (["a\0b", "a\nb", "\x1b[31m", "a\udc80"], "no control characters"),
    ],
)
def test_names_that_are_refused_create_nothing(tmp_path: Path, names: list[Any], why: str) -> None:
    for name in names:
        with pytest.raises(StudyError, match=why):
            opened(f"sqlite:///{tmp_path}/a.db", name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault(16)
def test_a_long_name_that_cannot_be_compressed(url: str) -> None:
    """Whatever is accepted in SQLite is accepted by PostgreSQL, whose index entries have a largest size."""
    name = "".join(random.Random(1).choices([chr(0x1F300 + i) for i in range(700)], k=625))
    opened(url, name)
    assert open_study(url, name).name == name


@pytest.mark.fault(16)
def test_odd_names_and_options_of_parameters_are_kept(url: str) -> None:
    for odd in ODD:
        space: dict[str, Parameter] = {odd: Float(0, 1), f"{odd}2": Choice([odd, (odd, (odd,)), f"{odd}!"])}
        name = f"study of {odd!a}"
        study, optimizer = opened(url, name, space=space, seed=5), Optimizer(space, seed=5, recipe=RANDOM)
        for option in (odd, (odd, (odd,))):
            params = {odd: 0.1, f"{odd}2": option}
            study.enqueue(params)
            assert study.queued == [params]
            optimizer.enqueue(params)
            assert study.ask().params == optimizer.ask().params == params
        assert study.ask().params == optimizer.ask().params
        again = open_study(url, name)
        assert again.space == study.space
        assert [trial.params for trial in again.trials] == [trial.params for trial in optimizer.trials]


def test_options_that_cannot_be_kept_are_refused(tmp_path: Path) -> None:
    for option in (b"a", frozenset([1]), float("nan"), float("inf"), 1 + 2j, range(3), int, (b"a",)):
        with pytest.raises(BoppError, match="'c'"):
            opened(f"sqlite:///{tmp_path}/a.db", space={"c": Choice([option, "b"])})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault(17)
@pytest.mark.parametrize("ends", [(0, 2**53), (-(2**53), 0), (-(2**52), 2**52)])
def test_the_longest_integers_are_kept(url: str, ends: tuple[int, int]) -> None:
    low, high = ends
    study = opened(url, "long", space={"n": Int(low, high)})
    for number in (low, low + 1, high - 1, high):
        study.observe({"n": number}, 1.0)
    again = open_study(url, "long")
    assert [trial.params["n"] for trial in again.trials] == [low, low + 1, high - 1, high]
    with pytest.raises(StudyError, match="'n'"):
        opened(url, "long", space={"n": Int(low, high - 1)})


# definitions


def changed(**parts: Any) -> dict[str, Any]:
    return {"space": SPACE, "direction": "maximize", "seed": 2**63 - 2, "recipe": RANDOM, **parts}


OTHERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"space": {**SPACE, "x": Float(0, 2)}}, ["space", "'x'", "1.0", "2.0"]),
    (
        {"space": {**SPACE, "x": Float(0, 1, log=False), "n": Float(1, 5)}},
        ["space", "'n'", "Int", "Float"],
    ),
    ({"space": {**SPACE, "n": Int(1, 5, log=True)}}, ["space", "'n'", "log"]),
    ({"space": {"x": SPACE["x"], "n": SPACE["n"]}}, ["'c' is in the study"]),
    ({"space": {**SPACE, "extra": Int(1, 2)}}, ["'extra' is in what came"]),
    ({"space": {**SPACE, "c": Choice(["a", True, None, (1, 2)])}}, ["'c'", "true"]),
    ({"space": {**SPACE, "c": Choice(["a", 1.0, None, (1, 2)])}}, ["'c'", "1.0"]),
    ({"space": {**SPACE, "c": Choice(["a", 1, None, (1, 2.0)])}}, ["'c'", "2.0"]),
    ({"space": {**SPACE, "c": Choice(["a", 1, None, (1, 2)], ordered=True)}}, ["'c'", "ordered"]),
    ({"space": {**SPACE, "c": Choice([1, "a", None, (1, 2)])}}, ["'c'"]),
    ({"direction": "minimize"}, ["direction", "'maximize'", "'minimize'"]),
    ({"seed": 2**63 - 1}, ["seed", str(2**63 - 2), str(2**63 - 1)]),
    ({"seed": 0}, ["seed", "got 0"]),
    ({"recipe": Recipe.default()}, ["recipe", "'initial'", "Sobol"]),
    ({"recipe": replace(RANDOM, search=Direct(7))}, ["recipe", "'search'", "Gradients", "Direct"]),
    ({"recipe": replace(RANDOM, acquisition=acquisition.ei)}, ["recipe", "'acquisition'", "log_ei"]),
]


def test_another_definition_is_refused_and_named(url: str) -> None:
    study = open_study(url, "a", **changed())
    study.observe({"x": 0, "n": 1, "c": None}, 1.0)
    for number, (other, words) in enumerate(OTHERS):
        with pytest.raises(StudyError) as refused:
            open_study(url, "a", **changed(**other))
        assert refused.value.study == "a"
        assert [word for word in words if word not in str(refused.value)] == []
        assert open_study(url, f"b{number}", **changed(**other)).trials == ()
    assert open_study(url, "a", **changed()).trials == study.trials


def test_the_order_of_parameters_is_that_of_the_study(url: str) -> None:
    study = opened(url)
    again = opened(url, space=dict(reversed(list(SPACE.items()))))
    assert list(again.space.parameters) == list(SPACE)
    assert again.ask().params == Optimizer(SPACE, recipe=RANDOM).ask().params
    assert study.space == again.space


def test_a_definition_may_be_left_out(url: str) -> None:
    opened(url, direction="maximize", seed=7)
    again = open_study(url, "a")
    assert (again.direction, again.seed, again.recipe) == ("maximize", 7, RANDOM)
    assert again.space == opened(url).space
    usual = open_study(url, "usual", SPACE)
    assert (usual.direction, usual.seed, usual.recipe) == ("minimize", 0, Recipe.default())
    open_study(url, "usual", SPACE, "minimize", 0, Recipe.default())


@pytest.mark.parametrize(
    ("name", "wrong", "error"),
    [
        ("space", [{}, {"x": 5}, {"x": (1, 0)}, [1]], SpaceError),
        ("direction", ["up", 1], RecipeError),
        ("seed", [-1, True, 1.0, "1", 2**63, 10**5000], RecipeError),
        ("recipe", ["paper", Recipe], RecipeError),
    ],
)
def test_wrong_definitions_create_nothing(
    tmp_path: Path, name: str, wrong: list[Any], error: type[BoppError]
) -> None:
    for value in wrong:
        with pytest.raises(error):
            opened(f"sqlite:///{tmp_path}/a.db", **{name: value})
    assert list(tmp_path.iterdir()) == []


def test_without_a_space_the_study_must_be_there(url: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"no file|no stud"):
        open_study(url, "b")
    assert list(tmp_path.iterdir()) == []
    if url.startswith("sqlite"):
        Store(url)
        with pytest.raises(StudyError, match="has no stud"):
            open_study(url, "b")
    opened(url, "it's")
    opened(url, "z")
    with pytest.raises(StudyError, match=r"'b'.*\"it's\", 'z'.*space"):
        open_study(url, "b")


# addresses


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            None,
            5,
            b"sqlite://",
            "",
            "study",
            "http://example.org/a.db",
            "mysql://u@h/d",
            "sqlite://host/a.db",
        ),
        *("sqlite:///a.db?mode=memory", "postgresql+asyncpg://u@h/d", "postgres://u@h/d", "://"),
        "sqlite+pysqlcipher://:secret@/a.db",
    ],
)
def test_addresses_that_are_none(wrong: Any) -> None:
    with pytest.raises(StudyError, match=r"wanted sqlite:///file\.db, sqlite:// .* or postgresql"):
        opened(wrong)


@pytest.mark.parametrize("path", ["study.db", Path("folder/study.sqlite3"), "/tmp/x.db"])
def test_a_path_gets_a_hint(path: Any) -> None:
    with pytest.raises(StudyError, match=f"'sqlite:///{path}'"):
        opened(path)


@pytest.mark.fault(16)
def test_odd_file_names(tmp_path: Path) -> None:
    for name in ("a\0b.db", "\udcff.db"):
        with pytest.raises(BoppError):
            opened(f"sqlite:///{tmp_path}/{name}")
    names = {"a b.db", "a%20b.db", "a%b", "a?b", "a#b.db", "😀.db", "it's;.db", "&mode=ro", "a.db "}
    for name in names:
        url = f"sqlite:///{tmp_path}/{quote(name)}"
        opened(url)
        assert open_study(url, "a").trials == ()
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_relative_file_is_found_after_a_change_of_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    study = opened("sqlite:///a.db")
    monkeypatch.chdir(tmp_path / "other")
    study.tell(study.ask(), 1.0)
    assert len(open_study(f"sqlite:///{tmp_path}/a.db", "a").trials) == 1
    assert list((tmp_path / "other").iterdir()) == []


def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """That no error shows a password: test_study_address.py."""
    monkeypatch.setattr("bopp.study.store.ABSENT", 0.0)
    with pytest.raises(StoreError, match=r"postgresql://me@127\.0\.0\.1:1/db: .*refused"):
        opened("postgresql://me@127.0.0.1:1/db")
    with pytest.raises(BoppError):
        opened("postgresql://me@127.0.0.1/db?port=abc")


@pytest.mark.parametrize("place", [":hunter2@", "@"])
def test_no_study_shows_a_password(place: str, postgres_url: str) -> None:
    query = "" if ":" in place else "?password=hunter2"
    study = opened(postgres_url.replace("@", place) + query)
    with pytest.raises(BoppError) as error:
        study.tell(5, 1.0)
    for text in (repr(study), study.url, str(error.value), repr(study._store), repr(study.definition)):
        assert "hunter2" not in text


def test_a_database_that_is_not_there(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bopp.study.store.ABSENT", 0.0)
    with pytest.raises(StoreError, match='database "nowhere" does not exist'):
        opened(postgres_url.rpartition("/")[0] + "/nowhere")


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] in ("psycopg", "psycopg_binary")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'bopp\[postgres\]'"):
        opened("postgresql://me@127.0.0.1:1/db")


# what is in the table of studies


HOSTILE = [
    *("", "x", "nul", "[" * 100_000, "[]", "5", '"x"', "null", "true", "1e999", "NaN", "{}", "1" * 5000),
    *(b"\xff", b"{}"),
]


def damaged(path: Path, column: str, value: Any) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE bopp_studies SET {column} = ?, seal = NULL", [value])


@pytest.mark.parametrize("given", [False, True], ids=["read", "compared"])
@pytest.mark.parametrize("column", ["space", "problem", "seed", "recipe", "knowledge"])
def test_damaged_definitions_are_refused(tmp_path: Path, column: str, given: bool) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    definition: dict[str, Any] = {"space": SPACE, "direction": "minimize", "seed": 0, "recipe": RANDOM}
    opened(url, **definition)
    silent = []
    for value in HOSTILE:
        damaged(tmp_path / "a.db", column, value)
        try:
            open_study(url, "a", **(definition if given else {}))
            silent.append(value)
        except (StudyError, StoreError) as error:
            assert str(error) != ""  # noqa: PT017
    harmless = {"seed": [] if given else ["5"], "knowledge": ["[]"]}
    assert silent == harmless.get(column, [])


@pytest.mark.parametrize("depth", [100, 5_000, 100_000])
def test_deep_recipes_are_refused(tmp_path: Path, depth: int) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    opened(url)
    deep = '{"part": "pseudo.Sum", "settings": {"policies": [' * depth + "5" + "]}}" * depth
    damaged(tmp_path / "a.db", "recipe", json.dumps(usual(pseudo="DEEP")).replace('"DEEP"', deep))
    with pytest.raises(BoppError):
        opened(url)
    with pytest.raises(BoppError):
        open_study(url, "a").ask()


@pytest.mark.parametrize(("field", "part", "_name"), YOURS)
def test_parts_of_your_own_are_brought_along(tmp_path: Path, field: str, part: Any, _name: str) -> None:
    url, recipe = f"sqlite:///{tmp_path}/a.db", replace(RANDOM, **{field: part})
    opened(url, space={"x": Float(0, 1)}, recipe=recipe).observe({"x": 0.5}, 1.0)
    looking = open_study(url, "a")
    with pytest.raises(StudyError, match="recipe="):
        looking.ask()
    assert len(looking.trials) == 1
    again = open_study(url, "a", recipe=recipe)
    assert again.recipe is recipe
    assert again.ask().number == 1


def test_a_seed_of_none_is_drawn_once_and_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    seeds = [open_study(url, name, SPACE, seed=None).seed for name in ("a", "b", "a")]
    assert seeds[0] == seeds[2] == open_study(url, "a").seed != seeds[1]
    assert open_study(url, "a", seed=seeds[0]).result.seed == seeds[0]


FLOAT = '{"x": {"kind": "Float", "low": 1, "high": 2, "log": %s}}'
CHOICE = '{"x": {"kind": "Choice", "options": [1, 2, 3], "ordered": %s}}'


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("seed", ["-1", "1.5", "true", '"7"']),
        ("space", [FLOAT % '"false"', FLOAT % "7", CHOICE % '"no"', CHOICE % "[0]"]),
    ],
)
def test_seeds_and_switches_that_are_none_are_refused(tmp_path: Path, column: str, values: list[str]) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    opened(url)
    for value in values:
        damaged(tmp_path / "a.db", column, value)
        with pytest.raises(StudyError):
            open_study(url, "a")


def test_opening_twice_gives_two_hands_on_one_study(url: str) -> None:
    opened("sqlite://").ask()  # other stores may be open besides
    one, two = opened(url), opened(url)
    trials = [one.ask(), two.ask(), one.ask()]
    assert [trial.number for trial in trials] == [0, 1, 2]
    tells: list[Callable[[Any, float], Any]] = [two.tell, one.tell, one.tell]
    for tell, trial in zip(tells, trials, strict=True):
        tell(trial, float(trial.number))
    assert one.trials == two.trials


def test_settings_of_an_address_are_heeded(postgres_server: Server, postgres_url: str) -> None:
    """Such as another schema: what the address says comes before what a store would say itself."""
    postgres_server.execute("CREATE SCHEMA apart", postgres_url)
    with opened(f"{postgres_url}?options=-csearch_path%3Dapart") as study:
        study.ask()
    tables = "SELECT schemaname FROM pg_tables WHERE tablename = 'bopp_trials'"
    assert [row[0] for row in postgres_server.execute(tables, postgres_url)] == ["apart"]


def test_constraints_in_another_order_are_the_same_and_others_are_refused(url: str) -> None:
    odd = bopp.Problem({"part": Float(0, 1)}, constraints=[bopp.Linear({"part": 1.0}, at_most=0.5)])
    assert open_study(url, "odd", odd).space == open_study(url, "odd", odd).space  # it is no part of a recipe
    a, b = bopp.AtMost("a", 5.0), bopp.AtMost("b", 5.0)
    study = open_study(url, "p", bopp.Problem(SPACE, constraints=[a, b]))
    study.tell(study.ask(), {"value": 1.0, "a": 1.0, "b": 2.0})
    again = open_study(url, "p", bopp.Problem(SPACE, constraints=[b, a]))
    assert again.trials[0].value == 1.0
    assert again.trials[0].values == {"value": 1.0, "a": 1.0, "b": 2.0}
    least, less = bopp.AtLeast("b", 5.0), bopp.AtMost("b", 4.0)
    for others in ([a], [a, b, less], [a, least], [a, less]):
        with pytest.raises(StudyError, match="has constraints"):
            open_study(url, "p", bopp.Problem(SPACE, constraints=others))
    with pytest.raises(StudyError, match=r"objectives .*'maximize value'"):
        open_study(url, "p", bopp.Problem(SPACE, {"value": "maximize"}, [a, b]))


def test_a_condition_is_kept_by_its_name_and_has_to_be_passed_in(url: str) -> None:
    def problem(bound: float) -> bopp.Problem:
        return bopp.Problem(SPACE, constraints=[bopp.Holds("small", lambda params: bound > 0.0)])

    study = open_study(url, "p", problem(1.0))
    study.tell(study.ask(), 1.0)
    assert study.best.number == 0
    content = exported(study)
    without = open_study(url, "p")
    assert exported(without) == content
    with pytest.raises(NoResultError, match="'small'"):
        _ = without.best
    with pytest.raises(RecipeError, match="'small'"):
        without.optimize(lambda params: 1.0, 3, target=0.0, progress=True)
    assert len(without.trials) == 1
    again = open_study(url, "p", problem(1.0))
    again.optimize(lambda params: 1.0, 3, target=0.0, progress=True)
    assert len(again.trials) == 3
    assert again.best.number == 0
    open_study(url, "p", problem(2.0)).close()  # a function of the same name, which may have been mended
    named = bopp.Problem(SPACE, constraints=[bopp.Holds("small", bool)])
    with pytest.raises(StudyError, match="constraints"):
        open_study(url, "p", named)


def test_several_objectives_are_kept_and_searched_for_and_have_a_front(url: str) -> None:
    study = open_study(url, "p", bopp.Problem(SPACE, {"error": "minimize", "gain": "maximize"}))
    study.enqueue({"x": 0.5, "n": 2, "c": None})
    told = study.tell(study.ask(), {"error": 1.0, "gain": 2.0})
    assert open_study(url, "p").trials == (told,)
    assert list(open_study(url, "p").problem.objectives) == ["error", "gain"]
    study.optimize(lambda x, n, c: {"error": x**2, "gain": x - 0.1 * n}, 12, progress=False)
    front = open_study(url, "p").front
    assert len(front) >= 3
    with pytest.raises(NoResultError, match="several objectives"):
        _ = study.best
