"""[[knowledge]] in a study file, bopp run --earlier, bopp learn and bopp knowledge."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from bopp import Float, Int, Optimizer, Parameter, Recipe, open_study, pseudo
from bopp.errors import ConfigError
from bopp.pseudo import Cheap, Earlier, Guesses, Images, Limits, Source
from bopp.study.config import load
from bopp.study.exchange import exported
from bopp.study.opening import open_config
from bopp.study.templates import TEMPLATE
from support.commands import Bopp
from support.studies import assert_refused

SPACE: dict[str, Parameter] = {"x": Float(0, 1), "y": Float(0, 1), "n": Int(1, 5)}
STUDY = """
[study]
name = "new"
store = "sqlite:///study.db"
budget = {budget}

[objective]
python = "objective:loss"

[space]
x = {{ type = "float", low = 0.0, high = 1.0 }}
y = {{ type = "float", low = 0.0, high = 1.0 }}
n = {{ type = "int", low = 1, high = 5 }}
"""
OBJECTIVE = """
from pathlib import Path


def loss(params):
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.3) ** 2 + params["n"]


def cheap(params):
    with (Path(__file__).parent / "calls").open("a") as file:
        file.write(".")
    return loss(params) + 1.0


def broken(params):
    raise KeyError("no such thing")
"""
IMAGES = """
[[knowledge]]
kind = "images"
exchange = ["x", "y"]
"""
LIMITS = """
[[knowledge]]
kind = "limits"
at_least = 0
"""
GUESSES = """
[[knowledge]]
kind = "guesses"
values = [{ at = { x = 0.3, n = 1 }, value = 0.1, give_or_take = 0.05 }]
near = { y = 0.3 }
good = { n = [1, 2] }
less = ["n"]
trust = 0.6
"""
CSV = """
[[knowledge]]
kind = "cheap"
csv = "tables/simulation.csv"
"""
PYTHON = """
[[knowledge]]
kind = "cheap"
python = "objective:cheap"
points = 9
direction = "minimize"
"""
EARLIER = """
[[knowledge]]
kind = "earlier"
store = "last.db"
"""


@pytest.fixture
def here(here: Path) -> Path:
    """A folder with everything that a study file may refer to, in which commands are called."""
    (here / "objective.py").write_text(OBJECTIVE)
    (here / "tables").mkdir()
    rows = "".join(f"{x / 9},0.5,2,{x / 10}\n" for x in range(10))
    (here / "tables" / "simulation.csv").write_text(f"x,y,n,value\n{rows}0.5,0.5,2,\n")
    (here / "tables" / "run.csv").write_text("x,cost\n0.1,1\n\n1.2,2\n,3\n0.7,4\n")
    last(here, "july", 7)
    return here


def last(folder: Path, name: str, count: int) -> None:
    with open_study(f"sqlite:///{folder}/last.db", name, SPACE, recipe=Recipe.random()) as study:
        for _ in range(count):
            trial = study.ask()
            study.tell(trial, trial.params["x"] + trial.params["n"])


def write(folder: Path, *knowledge: str, budget: int = 3) -> Path:
    path = folder / "study.toml"
    path.write_text(STUDY.format(budget=budget) + "".join(knowledge))
    return path


def known(folder: Path, name: str = "new") -> tuple[Source, ...]:
    with open_study(f"sqlite:///{folder}/study.db", name, read_only=True) as study:
        return pseudo.sources(study.recipe.pseudo)


def numbers(source: Source) -> list[int]:
    """How many trials each of the earlier studies has."""
    assert isinstance(source, Earlier)
    return [len(rows) for _, rows in source.studies]


def test_every_kind_of_knowledge_is_taken_from_a_file(here: Path, bopp: Bopp) -> None:
    write(here, IMAGES, LIMITS, GUESSES, CSV, PYTHON, EARLIER)
    load(here / "study.toml")
    assert "objective" not in sys.modules  # nothing is imported
    ended = bopp("run")
    assert ended.code == 0, ended.err
    images, limits, guesses, table, function, earlier = known(here)
    assert images == Images(exchange=("x", "y"))
    assert limits == Limits(at_least=0)
    assert guesses == Guesses(
        [({"x": 0.3, "n": 1}, 0.1, 0.05)], near={"y": 0.3}, good={"n": (1, 2)}, less=["n"], trust=0.6
    )
    assert isinstance(table, Cheap)
    assert isinstance(function, Cheap)
    assert table.values[1] == ((("x", 1 / 9), ("y", 0.5), ("n", 2)), 0.1)
    assert (len(table.values), len(function.values), numbers(earlier)) == (10, 9, [7])
    assert (here / "calls").read_text() == "." * 9


def test_a_table_may_lack_params_and_the_fidelity_and_go_beyond_ranges(here: Path, bopp: Bopp) -> None:
    path = write(here, CSV.replace("simulation", "run"), "column = 'cost'\n")
    path.write_text(path.read_text().replace("budget = 3", "budget = 3\nfidelities = { epochs = [1, 9] }"))
    ended = bopp("run")
    assert ended.code == 0, ended.err
    assert known(here) == (Cheap([({"x": 0.1}, 1.0), ({"x": 1.2}, 2.0), ({}, 3.0), ({"x": 0.7}, 4.0)]),)


def test_a_study_of_a_file_suggests_like_an_optimizer(here: Path, bopp: Bopp) -> None:
    write(here, IMAGES, GUESSES, EARLIER, budget=7)
    for budget in (2, 5, 7):
        assert bopp("run", "--budget", budget).code == 0
    with open_study(f"sqlite:///{here}/last.db", "july") as july:
        knowledge = [*known(here)[:2], Earlier(july)]
    run = Optimizer(SPACE, knowledge=knowledge)
    with open_study(f"sqlite:///{here}/study.db", "new") as study:
        for trial in study.trials:
            assert run.ask().params == trial.params
            run.tell(run.trials[-1], trial.value)


def test_what_is_behind_a_file_is_read_once_and_again_by_bopp_learn(here: Path, bopp: Bopp) -> None:
    write(here, CSV, PYTHON, EARLIER)
    assert bopp("ask").code == 0
    before = known(here)
    last(here, "august", 5)
    (here / "tables" / "simulation.csv").unlink()
    assert bopp("ask").code == 0
    assert known(here) == before
    assert_refused(bopp("learn"), 2, "[[knowledge]] 1 cheap: cannot read", here / "tables" / "simulation.csv")
    assert known(here) == before
    write(here, PYTHON, EARLIER)
    assert bopp("learn").code == 0
    function, earlier = known(here)
    assert isinstance(function, Cheap)
    assert (len(function.values), numbers(earlier)) == (9, [7, 5])
    assert (here / "calls").read_text() == "." * 18
    assert bopp("ask").code == 0


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ([IMAGES], [LIMITS], "'new' knows images: exchange x, y"),
        ([IMAGES], [], "the file says nothing"),
        ([], [LIMITS], "'new' knows nothing"),
        ([EARLIER], [EARLIER + "trust = 0.2\n"], "trusted 0.2"),
        ([EARLIER], [EARLIER + 'study = "july"\n'], "from last.db, study july"),
        ([PYTHON], [PYTHON.replace(":cheap", ":loss")], "from objective:loss"),
        ([CSV], [CSV + 'column = "value"\n'], "from tables/simulation.csv, column value"),
        ([IMAGES, LIMITS], [LIMITS, IMAGES], "the file says limits: "),
    ],
)
def test_a_file_that_says_something_else_is_refused(
    here: Path, bopp: Bopp, before: list[str], after: list[str], words: str
) -> None:
    write(here, *before)
    assert bopp("enqueue", "x=0.25").code == 0
    write(here, *after)
    for command in (["run"], ["ask"], ["enqueue", "x=0.5"]):
        assert_refused(bopp(*command), 2, "study.toml: [[knowledge]]: ", words, "bopp learn")
    assert bopp("status").code == 0
    assert bopp("learn").code == 0
    assert bopp("ask").code == 0


def test_a_warm_start_is_one_line(here: Path, bopp: Bopp) -> None:
    write(here)
    ended = bopp("run", "--earlier", "last.db")
    assert ended.code == 0, ended.err
    assert "earlier: 1 study" in ended.err
    assert "bopp learn" in ended.err
    with open_study(f"sqlite:///{here}/last.db", "july") as july:
        assert known(here) == (Earlier(july),)
        best = july.best
    with open_study(f"sqlite:///{here}/study.db", "new") as study:
        assert study.trials[0].params == best.params
    last(here, "july", 9)
    before = known(here)
    for words in (["run", "--budget", 4], ["run", "--budget", 5, "--earlier", "./last.db"]):
        assert bopp(*words).code == 0
        assert known(here) == before
    assert bopp("learn", "--earlier", "last.db").code == 0
    assert known(here) != before


def test_a_study_that_began_without_an_earlier_one_says_how_to_learn_it(here: Path, bopp: Bopp) -> None:
    write(here)
    assert bopp("ask").code == 0
    assert_refused(bopp("run", "--earlier", "last.db"), 2, "--earlier last.db", "'new'", "bopp learn")
    assert bopp("learn", "--earlier", "last.db").code == 0
    assert bopp("run", "--earlier", "last.db", "--budget", 2).code == 0


@pytest.mark.parametrize("way", ["url", "export", "server path"])
def test_earlier_studies_come_from_a_url_or_an_export_too(here: Path, bopp: Bopp, way: str) -> None:
    with open_study(f"sqlite:///{here}/last.db", "july") as july:
        (here / "july.jsonl").write_bytes(exported(july))
        wanted = Earlier(july.result)
    text = {"url": "sqlite:///last.db", "export": "july.jsonl", "server path": str(here / "last.db")}[way]
    write(here, budget=1)
    assert bopp("run", "--earlier", text).code == 0
    assert known(here) == (wanted,)


def test_several_stores_are_several_sources(here: Path, bopp: Bopp) -> None:
    write(here, budget=1)
    last(here, "august", 4)
    (here / "last.db").rename(here / "other.db")
    last(here, "july", 7)
    assert bopp("run", "--earlier", "last.db", "--earlier", "other.db").code == 0
    assert [numbers(source) for source in known(here)] == [[7], [7, 4]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("none.db", "cannot read"),
        ("objective.py", "wanted a database or what bopp export wrote"),
        ("sqlite:///none.db", "none.db"),
        ("mysql://me:secret@host/x", "wanted sqlite:///file.db"),
        ("study.toml", "wanted a database"),
    ],
)
def test_a_wrong_earlier_store_is_refused_and_nothing_is_created(
    here: Path, bopp: Bopp, text: str, words: str
) -> None:
    write(here)
    ended = bopp("run", "--earlier", text)
    assert_refused(ended, 2, words)
    assert "secret" not in ended.err
    assert not (here / "study.db").exists()


def test_the_other_studies_of_the_same_store_are_earlier_ones(here: Path, bopp: Bopp) -> None:
    (here / "last.db").rename(here / "study.db")
    write(here, EARLIER.replace("last.db", "study.db"))
    for command in ("ask", "learn"):
        assert bopp(command).code == 0
        assert [numbers(source) for source in known(here)] == [[7]]


CHEAP, SAID = '[[knowledge]]\nkind = "cheap"\n', '[[knowledge]]\nkind = "guesses"\n'
MISTAKES = [
    ("[knowledge]\nkind = 1\n", "[[knowledge]]: wanted each table"),
    ("[[knowledge]]\n", '1: kind: wanted "images", "guesses", "cheap", "earlier" or "limits"'),
    ('[[knowledge]]\nkind = "image"\n', 'got "image"'),
    (IMAGES + IMAGES.replace("exchange", "swap"), "2 images: swap: no such field"),
    (IMAGES.replace('"y"', '"z"'), "1 images: exchange: wanted names"),
    (IMAGES.replace('"y"', '"n"'), "1 images: wanted parameters alike"),
    (IMAGES + 'mirror = "x"\n', "1 images: mirror: wanted a table"),
    (IMAGES + "trust = 2\n", "1 images: trust must"),
    (IMAGES + 'equal = "x"\n', "equal: no such field"),
    (LIMITS + "at_most = -1\n", "1 limits: wanted at_least below at_most"),
    (LIMITS + 'at_most = "high"\n', '1 limits: at_most: wanted a finite number, got "high"'),
    (GUESSES.replace("y = 0.3", "y = 3"), "1 guesses: 'y': wanted a number"),
    (GUESSES.replace("value = 0.1", "value = '?'"), "1 guesses: values 1: value: wanted a finite number"),
    (GUESSES.replace("at =", "where ="), "1 guesses: values 1: where: no such field"),
    (GUESSES.replace("0.05", "0.0"), "1 guesses: values: wanted a standard deviation above 0"),
    (SAID + "values = 5\n", "1 guesses: values: wanted a list of tables"),
    (SAID + "values = [[{ x = 0.5 }, 1.0, 0.1]]\n", "1 guesses: values 1: wanted a table"),
    (SAID, "1 guesses: wanted one of values, near, good, more and less"),
    (CHEAP, "1 cheap: wanted one of csv and python, got neither"),
    (CSV + 'python = "a:b"\n', "1 cheap: wanted one of csv and python, got both"),
    (CSV + "points = 9\n", "1 cheap: points: wanted it with python only"),
    (PYTHON + 'column = "a"\n', "1 cheap: column: wanted it with csv only"),
    (PYTHON.replace("objective:", ""), '1 cheap: python: wanted "module:function"'),
    (PYTHON.replace("9", "1"), "1 cheap: points must"),
    ('[[knowledge]]\nkind = "earlier"\n', "1 earlier: store: wanted a line of text"),
    (EARLIER.replace("last.db", "postgresql://me:se@cret@host/x"), "1 earlier: store: wanted sqlite"),
]


@pytest.mark.parametrize(("table", "words"), MISTAKES)
def test_a_mistake_is_a_line_that_names_the_field(tmp_path: Path, table: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, table))
    text = str(caught.value)
    assert words in text
    assert "cret" not in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (PYTHON.replace(":cheap", ":broken"), "'no such thing'"),
        (PYTHON.replace(":cheap", ":none"), "'none'"),
        (CSV + "column = 'cost'\n", "simulation.csv: column: wanted one of ['value']"),
        (CSV + "column = 'y'\n", "'y', which is a parameter"),
        (CSV.replace("simulation", "run"), "run.csv: wanted a column for 'value'"),
        (EARLIER + "study = 'june'\n", "no study 'june'; it has: 'july'"),
        (EARLIER.replace("last", "sqlite:///none"), "none.db'"),
    ],
)
def test_what_cannot_be_read_is_named_and_nothing_is_created(
    here: Path, bopp: Bopp, table: str, words: str
) -> None:
    write(here, table)
    assert_refused(bopp("run"), 2, "study.toml: [[knowledge]] 1 ", words)
    assert not (here / "study.db").exists()


def test_a_study_file_follows_its_folder(here: Path, bopp: Bopp, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, CSV, EARLIER)
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    assert bopp("run", "../study.toml", "--earlier", "../last.db").code == 0
    monkeypatch.chdir(here)
    assert bopp("run", "--earlier", "last.db", "--budget", 4).code == 0
    assert len(known(here)) == 3


def test_knowledge_is_shown_with_its_trust_and_worth(here: Path, bopp: Bopp) -> None:
    write(here, IMAGES, CSV, budget=8)
    assert bopp("knowledge").code == 2  # there is no study yet
    assert bopp("run", "--earlier", "last.db").code == 0
    ended = bopp("knowledge")
    head, *lines = ended.out.splitlines()
    assert head.split() == ["source", "trust", "worth", "settings"]
    assert [line.split()[0] for line in lines] == ["images", "cheap", "earlier"]
    assert "exchange x, y, trusted 0.97 at first" in lines[0]
    assert "10 values" in lines[1]
    with open_study(f"sqlite:///{here}/study.db", "new") as study:
        accounts = study.knowledge
        assert [account.source for account in study.result.knowledge] == [one.source for one in accounts]
    shown = json.loads(bopp("knowledge", "sqlite:///study.db", "new", "--json").out)
    assert [row["trust"] for row in shown] == [account.trust for account in accounts]
    assert [(row["kind"], row["by"], row["from"]) for row in shown] == [
        ("images", "[[knowledge]]", None),
        ("cheap", "[[knowledge]]", "tables/simulation.csv"),
        ("earlier", "--earlier", "last.db"),
    ]
    for row, account in zip(shown, accounts, strict=True):
        assert row["worth"] == account.worth or row["worth"] == {"number": str(account.worth)}


def test_a_study_that_knows_nothing_has_nothing_to_show(here: Path, bopp: Bopp) -> None:
    write(here)
    assert bopp("ask").code == 0
    assert json.loads(bopp("knowledge", "--json").out) == []
    assert bopp("knowledge").out.split() == ["source", "trust", "worth", "settings"]
    assert "nothing" in bopp("learn").err


def test_knowledge_given_in_python_is_left_to_a_study_by_its_file(here: Path, bopp: Bopp) -> None:
    path = write(here)
    open_study(f"sqlite:///{here}/study.db", "new", SPACE, knowledge=Limits(at_least=0)).close()
    assert bopp("ask").code == 0
    assert known(here) == (Limits(at_least=0),)
    write(here, IMAGES)
    with pytest.raises(ConfigError, match="images"):
        open_config(load(path), "new", 60.0)
    assert bopp("learn").code == 0
    assert known(here) == (Images(exchange=("x", "y")),)


def test_a_recipe_is_switched_without_the_knowledge(here: Path, bopp: Bopp) -> None:
    write(here, IMAGES, EARLIER)
    assert bopp("ask").code == 0
    before = known(here)
    for recipe in ("random", "default"):
        assert bopp("switch", recipe).code == 0
        assert known(here) == before
    assert bopp("ask").code == 0


def test_the_knowledge_of_the_template_is_right(here: Path) -> None:
    text = re.sub(
        r"^# (?=\w+ = |\[\[)", "", TEMPLATE[TEMPLATE.index("# What you know") :], flags=re.MULTILINE
    )
    (here / "study.toml").write_text(TEMPLATE[: TEMPLATE.index("# What you know")] + text)
    guesses, earlier = load(here / "study.toml").knowledge
    assert guesses.source == Guesses(near={"momentum": 0.9})
    assert earlier.origin == "last-month.db"
