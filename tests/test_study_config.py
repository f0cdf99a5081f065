import itertools
import re
import sys
import tomllib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import msgspec
import numpy as np
import pytest
import sqlalchemy as sa

from bopp import AtLeast, AtMost, Choice, Fixed, Float, Holds, Int, Problem, Recipe, Space
from bopp.constraint import Linear
from bopp.errors import ConfigError
from bopp.kinds import KINDS
from bopp.study.command import Command
from bopp.study.config import Config, load
from bopp.study.function import python_objective
from bopp.study.tables import ConstraintTable, StudyTable, field_kinds, read_table, wanted
from bopp.study.templates import OBJECTIVE_TEMPLATE, TEMPLATE

STUDY = """
[study]
name = "a study"
budget = 10
"""
OBJECTIVE = """
[objective]
python = "objective:loss"
"""
SPACE = """
[space]
lr = { type = "float", low = 1e-6, high = 1.0, log = true }
"""


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test imports or puts on the path is gone after it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = dict(sys.modules)
    yield
    for name in sys.modules.keys() - before.keys():
        del sys.modules[name]


def write(folder: Path, text: str | bytes, name: str = "study.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(folder: Path, study: str = STUDY, objective: str = OBJECTIVE, space: str = SPACE) -> Config:
    return load(write(folder, study + objective + space))


def error_of(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(path)
    return caught.value


def problem(path: Path) -> str:
    """What is wrong with a file, after its name."""
    text = str(error_of(path))
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


def problem_of(folder: Path, study: str = STUDY, objective: str = OBJECTIVE, space: str = SPACE) -> str:
    return problem(write(folder, study + objective + space))


def no_objective(text: str, folder: Path) -> str:
    """Why there is no such objective."""
    with pytest.raises(ConfigError) as caught:
        python_objective(text, folder)
    return str(caught.value)


def test_what_is_left_out_has_a_default(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found == Config(
        path=tmp_path / "study.toml",
        folder=tmp_path,
        name="a study",
        store=f"sqlite:///{tmp_path}/study.db",
        seed=0,
        recipe=None,
        study=StudyTable(
            name="a study",
            store="sqlite:///study.db",
            direction="minimize",
            budget=10,
            seed=0,
            recipe="default",
            workers=1,
            start_method=None,
            trial_timeout=None,
            time_limit=None,
            target=None,
            lease=60.0,
            failures="stop",
        ),
        problem=Problem({"lr": Float(1e-6, 1.0, log=True)}),
        plain=True,
        source="objective:loss",
    )


def test_everything_can_be_set(tmp_path: Path) -> None:
    study = """
    [study]
    name = "Ünï ☃"
    store = "postgresql://me:secret@host/base?sslmode=require"
    direction = "maximize"
    budget = 1
    seed = 9223372036854775807
    recipe = "random"
    workers = 8
    start_method = "spawn"
    trial_timeout = 600
    time_limit = 3600
    target = -1
    lease = 0.5
    """
    objective = """
    [objective]
    command = "run $BOPP_PARAMS"
    shell = true
    """
    space = """
    [space]
    a = { type = "float", low = 0, high = 1 }
    b = { type = "int", low = 1, high = 20, log = true }
    c = { type = "choice", options = ["relu", 1, 1.5, true, [64, [32]], []], ordered = true }
    [space.d]
    type = "choice"
    options = ["one"]
    """
    found = read(tmp_path, study, objective, space)
    assert found == Config(
        path=tmp_path / "study.toml",
        folder=tmp_path,
        name="Ünï ☃",
        store="postgresql://me:secret@host/base?sslmode=require",
        seed=9223372036854775807,
        recipe=Recipe.random(),
        study=StudyTable(
            name="Ünï ☃",
            store="postgresql://me:secret@host/base?sslmode=require",
            direction="maximize",
            budget=1,
            seed=9223372036854775807,
            recipe="random",
            workers=8,
            start_method="spawn",
            trial_timeout=600.0,
            time_limit=3600.0,
            target=-1.0,
            lease=0.5,
        ),
        problem=Problem(
            {
                "a": Float(0.0, 1.0),
                "b": Int(1, 20, log=True),
                "c": Choice(("relu", 1, 1.5, True, (64, (32,)), ()), ordered=True),
                "d": Choice(("one",)),
            },
            {"value": "maximize"},
        ),
        plain=True,
        source=Command("run $BOPP_PARAMS", shell=True, folder=tmp_path),
    )
    assert found.objective() == found.source
    assert isinstance(found.study.trial_timeout, float)


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("default", None),
        ("random", Recipe.random()),
        ("paper-ucb", Recipe.paper("ucb")),
        ("paper-pi", Recipe.paper("pi")),
        ("paper-ei", Recipe.paper("ei")),
    ],
)
def test_recipes_go_by_their_names(name: str, recipe: Recipe | None, tmp_path: Path) -> None:
    found = read(tmp_path, f'{STUDY}recipe = "{name}"\n').recipe
    assert repr(found) == repr(recipe)


@pytest.mark.parametrize(("low", "high"), [(0, 2**53), (-(2**52), 2**52), (2**53 - 1, 2**53)])
def test_integers_may_be_as_large_as_a_float_can_tell_apart(low: int, high: int, tmp_path: Path) -> None:
    found = read(tmp_path, space=f'[space]\nn = {{ type = "int", low = {low}, high = {high} }}')
    assert found.space.parameters["n"] == Int(low, high)


@pytest.mark.parametrize(
    ("store", "resolved"),
    [
        ("sqlite:///study.db", "sqlite:///{}/study.db"),
        ("sqlite:///deep/er/study.db", "sqlite:///{}/deep/er/study.db"),
        ("sqlite:///../study.db", "sqlite:///{}/../study.db"),
        ("sqlite:////var/study.db", "sqlite:////var/study.db"),
        ("sqlite:///study.db?timeout=3", "sqlite:///{}/study.db?timeout=3"),
        ("sqlite+pysqlite:///study.db", "sqlite+pysqlite:///{}/study.db"),
        ("postgresql://host/study.db", "postgresql://host/study.db"),
    ],
)
def test_a_path_to_a_store_begins_at_the_file(store: str, resolved: str, tmp_path: Path) -> None:
    assert read(tmp_path, f'{STUDY}store = "{store}"\n').store == resolved.format(tmp_path)


@pytest.mark.parametrize("store", ["sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_a_store_in_memory_would_be_lost(store: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\[study\] store: wanted a file or a server"):
        read(tmp_path, f'{STUDY}store = "{store}"\n')


@pytest.mark.parametrize(
    "folder", ["plain", "a b", "per%20cent", "h#sh", "ü☃", "a&b=c", "at@home", "co:lon", "what?"]
)
def test_a_store_is_found_in_a_folder_of_any_name(folder: str, tmp_path: Path) -> None:
    found = read(tmp_path / folder)
    assert sa.make_url(found.store).database == str(tmp_path / folder / "study.db")


def test_a_relative_path_means_the_same_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, STUDY + OBJECTIVE + SPACE)
    write(tmp_path, "def loss(params): return 4", "objective.py")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    found = load(Path("study.toml"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert found.store == f"sqlite:///{tmp_path}/study.db"
    assert found.objective()({}) == 4


@pytest.mark.parametrize("wrap", [b"\xef\xbb\xbf%s", b"# comment\r\n%s"])
def test_files_of_other_systems_are_read(wrap: bytes, tmp_path: Path) -> None:
    content = (STUDY + OBJECTIVE + SPACE).replace("\n", "\r\n").encode()
    assert load(write(tmp_path, wrap % content)).name == "a study"


def test_a_file_that_is_not_there_or_no_file_is_named(tmp_path: Path) -> None:
    assert re.search(f"no such file.*{tmp_path}", problem(tmp_path / "no.toml"))
    assert "a folder" in problem(tmp_path)
    assert "no such file" in problem(tmp_path / "no" / "study.toml")
    assert "Not a directory" in problem(write(tmp_path, "") / "study.toml")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        *((text, "nothing in it") for text in ("", "# only\n\n# comments\n")),
        *((text, "line 2.*0xff") for text in (b"a = 1\nb = '\xff'\n", b"\n\xff\xfe[\0")),
        *((text, "Invalid value.*line 2") for text in ("[study]\nname = \n", "[study]\nname = my study\n")),
        ("\n\n[study\n", "Expected.*line 3, column 7"),
        ("[study]\nname = 'a'\nname = 'b'\n", "Cannot overwrite.*line 3"),
        ("a = 1\nb = {", "line 2"),
        ("a = [", "line 1"),
        ("a = " + "[" * 100_000, "recursion"),
        ("a = " + "1" * 5000, "4300 digits"),
        ("a = '\0'", "x00.*line 1"),
        ("a = 2026-99-99", "line 1"),
    ],
)
def test_what_is_no_toml_is_named_with_its_line(content: str | bytes, words: str, tmp_path: Path) -> None:
    assert re.match(f".*{words}", problem(write(tmp_path, content)))


def test_a_message_is_as_documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = SPACE.replace("1e-6", "1.0").replace("high = 1.0", "high = 0.1")
    for text, said in (
        (STUDY + OBJECTIVE + wrong, "[space] lr: low must be below high, got low=1.0, high=0.1"),
        (STUDY.replace("10", '"many"') + SPACE, '[study] budget: wanted an integer >= 1, got "many"'),
    ):
        write(tmp_path, text)
        assert str(error_of(Path("study.toml"))) == f"study.toml: {said}"


WRONG_SETTINGS = {
    "budget": ["0", "-5", "1.0", "true", '"5"', "inf", "[1]", "{ a = 1 }", "2026-01-31", f'"{"x" * 10_000}"'],
    "workers": ["0", "-5", "1.0", "true", '"5"'],
    "seed": ["-1", "0.5", '"0"', "-99999999999999999999999", str(2**63)],
    **{
        name: ["0", "-1.5", "inf", "nan", "true", '"60"'] for name in ("trial_timeout", "time_limit", "lease")
    },
    "target": ["inf", "-inf", "nan", "true", '"low"'],
    "direction": ['"min"', '"Minimize"', "1", '""'],
    "recipe": ['"paper"', '"DEFAULT"', "0"],
    "name": ['""', '"  "', '"a\\nb"', "3", '"a\\n"'],
    "store": ['"study.db"', '"/abs/study.db"', '""', "3", '"postgresql://host:port/base"'],
}


@pytest.mark.parametrize(
    ("field", "value"), [(name, one) for name, them in WRONG_SETTINGS.items() for one in them]
)
def test_a_wrong_setting_is_named(field: str, value: str, tmp_path: Path) -> None:
    fields = {"name": '"a study"', "budget": "10"} | {field: value}
    study = "[study]\n" + "".join(f"{name} = {text}\n" for name, text in fields.items())
    error = error_of(write(tmp_path, study + OBJECTIVE + SPACE))
    assert error.field == f"[study] {field}"
    assert re.search("wanted .*, got ", str(error))
    assert len(str(error).removeprefix(str(tmp_path))) < 200
    if re.fullmatch(r'[-\w. ]+|"[^\\]{,20}"', value) and not value.startswith("2026") and "//" not in value:
        assert str(error).endswith(f"got {value}")


@pytest.mark.parametrize(
    ("study", "objective", "space", "field", "word"),
    [
        ("", OBJECTIVE, SPACE, "[study] name", "nothing"),
        ("[study]\nname = 'a'\n", OBJECTIVE, SPACE, "[study] budget", "nothing"),
        (STUDY, "[objective]\nshell = true\n", SPACE, "[objective]", "neither"),
        (STUDY, "[objective]\npython = 'a:b'\ncommand = 'c'\n", SPACE, "[objective]", "both"),
        (STUDY, "[objective]\npython = 'a:b'\nshell = true\n", SPACE, "[objective] shell", "command"),
        (STUDY, "[objective]\ncommand = 'run {lr}'\nshell = 'yes'\n", SPACE, "[objective] shell", '"yes"'),
        (STUDY, "[objective]\ncommand = ['a']\n", SPACE, "[objective] command", '["a"]'),
        (STUDY, "[objective]\ncommand = ''\n", SPACE, "[objective] command", "''"),
        (STUDY, "[objective]\ncommand = 'run {rate}'\n", SPACE, "[objective] command", "{rate}"),
        (STUDY, "[objective]\ncommand = 'run'\n", SPACE, "[objective] command", "{lr}"),
        (
            STUDY,
            "[objective]\ncommand = '''run \"{lr}\"'''\nshell = true",
            SPACE,
            "[objective] command",
            "text of a shell",
        ),
        (STUDY, OBJECTIVE, "", "[space]", "none"),
        (STUDY, OBJECTIVE, "[space]\n", "[space]", "none"),
        ("space = 3\n" + STUDY, OBJECTIVE, "", "[space]", "3"),
        ("study = 3\n", OBJECTIVE, SPACE, "[study]", "3"),
        ("[[study]]\nname = 'a'\n", OBJECTIVE, SPACE, "[study]", '[{"name": "a"}]'),
        ("objective = 'a:b'\n" + STUDY, "", SPACE, "[objective]", '"a:b"'),
        ("name = 'a'\n" + STUDY, OBJECTIVE, SPACE, "name", "[[knowledge]]"),
        (STUDY, OBJECTIVE, SPACE + "['study], [objective']\n", "study], [objective", "no such table"),
        (STUDY, "[objectiv]\n", SPACE, "objectiv", "no such table"),
        (STUDY + "bugdet = 3\n", OBJECTIVE, SPACE, "[study] bugdet", "no such field"),
        (STUDY, OBJECTIVE + "args = 3\n", SPACE, "[objective] args", "python, command, shell"),
    ],
)
def test_wrong_tables_are_named(
    study: str, objective: str, space: str, field: str, word: str, tmp_path: Path
) -> None:
    error = error_of(write(tmp_path, study + objective + space))
    assert error.field == field
    assert word in str(error).removeprefix(f"{tmp_path}/study.toml: {field}")


@pytest.mark.parametrize(
    "text",
    ["loss", "objective", "objective:", ":loss", "a:b:c", "a b:c", "a/b:c", "a-b:c", "1a:b", ".a:b", "a:b()"],
)
def test_a_function_is_named_by_module_and_name(text: str, tmp_path: Path) -> None:
    error = error_of(write(tmp_path, f"{STUDY}[objective]\npython = '{text}'\n{SPACE}"))
    assert error.field == "[objective] python"
    for said in (str(error), no_objective(text, tmp_path)):
        assert re.search(f"module:function.*{re.escape(text)}", said)


@pytest.mark.parametrize(
    ("parameter", "field", "word"),
    [
        *((text, "", "wanted a table") for text in ("3", "[0, 1]")),
        *((text, "type", "nothing") for text in ("{}", "{ low = 0, high = 1 }", "{ options = [1] }")),
        ("{ type = 'real' }", "type", '"real"'),
        ("{ type = ['float'] }", "type", '["float"]'),
        ("{ type = 'float', low = 0 }", "high", "nothing"),
        ("{ type = 'float', low = '0', high = 1 }", "low", '"0"'),
        ("{ type = 'float', low = 0, high = inf }", "high", "inf"),
        ("{ type = 'float', low = nan, high = 1 }", "low", "nan"),
        ("{ type = 'float', low = false, high = 1 }", "low", "false"),
        (f"{{ type = 'float', low = 0, high = 1{'0' * 400} }}", "high", "1000"),
        ("{ type = 'float', low = 1, high = 1 }", "", "low must be below high"),
        ("{ type = 'float', low = 0, high = 1, log = 1 }", "log", "true or false"),
        ("{ type = 'float', low = 0, hihg = 1 }", "hihg", "type, low, high, log"),
        ("{ type = 'int', low = 0.5, high = 1 }", "low", "0.5"),
        ("{ type = 'int', low = 0, high = 10.0 }", "high", "10.0"),
        ("{ type = 'int', low = 0, high = true }", "high", "true"),
        ("{ type = 'choice' }", "options", "nothing"),
        ("{ type = 'choice', options = 'ab' }", "options", '"ab"'),
        *(
            (f"{{ type = 'choice', options = [{one}] }}", "options", "finite numbers")
            for one in ("{ a = 1 }", "nan", "[1, inf]", "2026-01-31")
        ),
        ("{ type = 'choice', options = ['a'], ordered = 0 }", "ordered", "true or false"),
        ("{ type = 'choice', options = ['a'], low = 0 }", "low", "type, options, ordered"),
    ],
)
@pytest.mark.parametrize("name", ["lr", "learning rate", "two\nlines", ""])
def test_a_wrong_parameter_is_named(parameter: str, field: str, word: str, name: str, tmp_path: Path) -> None:
    space = f"{SPACE}{msgspec.json.encode(name).decode() if name != 'lr' else 'lr2'} = {parameter}\n"
    error = error_of(write(tmp_path, STUDY + OBJECTIVE + space))
    where = f"[space] {'lr2' if name == 'lr' else name}"
    assert error.field == (f"{where}: {field}" if field else where)
    shown = f"[space] {'lr2' if name == 'lr' else ' '.join(name.split())}: {field}"
    assert word in str(error).removeprefix(f"{tmp_path}/study.toml: {shown}")


@pytest.mark.parametrize("kind", KINDS.values())
def test_every_field_of_a_parameter_can_be_described(kind: type) -> None:
    described = field_kinds(kind)
    assert [*described] == [field.name for field in fields(kind)]
    assert all(map(wanted, described.values()))


@dataclass(frozen=True)
class Grid:
    """Stands for a kind of parameter that nobody has thought of."""

    low: float
    steps: int
    marks: Sequence[Hashable] = ()
    round: bool = False


def test_a_new_kind_of_parameter_needs_its_fields_alone() -> None:
    row = {"type": "grid", "low": 1, "steps": 3, "marks": ["a", ["b"]]}
    assert read_table("x", Grid, row, "type") == Grid(1.0, 3, ("a", ("b",)))
    for name, value, word in [
        ("low", "1", "finite number"),
        ("steps", 1.5, "an integer"),
        ("marks", [{}], "lists"),
        ("round", 1, "true or false"),
        ("log", True, "type, low, steps, marks, round"),
    ]:
        with pytest.raises(ConfigError, match=f"x {name}: .*{word}"):
            read_table("x", Grid, row | {name: value}, "type")


def test_a_function_is_imported_from_the_folder_of_the_file(tmp_path: Path) -> None:
    write(tmp_path, "from beside import half\ndef loss(params): return half(params['lr'])", "objective.py")
    write(tmp_path, "def half(x): return x / 2", "beside.py")
    assert read(tmp_path).objective()({"lr": 1.0}) == 0.5
    assert sys.path[0] == str(tmp_path)


def test_the_folder_comes_first_even_if_it_was_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "def loss(params): return 1", "here/objective.py")
    write(tmp_path, "def loss(params): return 2", "there/objective.py")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "there"), str(tmp_path / "here"), *sys.path])
    assert python_objective("objective:loss", tmp_path / "here")({}) == 1


def test_nothing_is_imported_by_load(tmp_path: Path) -> None:
    write(tmp_path, "raise SystemExit", "objective.py")
    before = list(sys.path)
    read(tmp_path)
    assert sys.path == before
    assert "objective" not in sys.modules


@pytest.mark.parametrize("text", ["pack.age.deep:Model.loss", "pack.age.deep:Model.inner.loss"])
def test_modules_and_functions_may_be_dotted(text: str, tmp_path: Path) -> None:
    code = """
class Model:
    class inner:
        @staticmethod
        def loss(params): return 3
    @staticmethod
    def loss(params): return 3
"""
    write(tmp_path, "", "pack/__init__.py")
    write(tmp_path, "", "pack/age/__init__.py")
    write(tmp_path, code, "pack/age/deep.py")
    assert python_objective(text, tmp_path)({}) == 3


def test_a_missing_module_is_named_with_the_place(tmp_path: Path) -> None:
    write(tmp_path, "def loss(params): return 5", "objective.py")
    for text in ("no_such_module:loss", "no_such.module:loss", "objective.deep:loss"):
        said = no_objective(text, tmp_path)
        assert said.startswith("no module ")
        assert repr(str(tmp_path)) in said
    assert "objective:loss" in no_objective("objective.py:loss", tmp_path)
    found = read(tmp_path, objective="[objective]\npython = 'no_such_module:loss'\n")
    with pytest.raises(ConfigError, match="no module 'no_such_module'") as caught:
        found.objective()
    assert caught.value.field == "[objective] python"


@pytest.mark.parametrize(
    ("code", "raised", "line"),
    [
        ("x = 1\n1 / 0\n", "ZeroDivisionError", 2),
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'", 1),
        ("from math import nothing\n", "ImportError", 1),
        ("def f():\n    raise KeyError('a')\n\nf()\n", "KeyError: 'a'", 2),
        ("import json\njson.loads('?')\n", "JSONDecodeError", 2),
        ("raise ValueError('two\\nlines')\n", "ValueError: two lines", 1),
        ("import sys\nsys.exit('bye')\n", "SystemExit: bye", 2),
        ("import other\n", "RuntimeError: deep inside", 3),
    ],
)
def test_a_module_that_raises_is_named_with_the_line(
    code: str, raised: str, line: int, tmp_path: Path
) -> None:
    write(tmp_path, code, "objective.py")
    write(tmp_path, "\n\nraise RuntimeError('deep inside')", "other.py")
    found = read(tmp_path)
    with pytest.raises(ConfigError) as caught:
        found.objective()
    assert caught.value.field == "[objective] python"
    text, file = str(caught.value), "other.py" if "other" in code else "objective.py"
    assert raised in text
    assert text.endswith(f"({tmp_path}/{file}, line {line})")
    assert "\n" not in text


@pytest.mark.parametrize(
    "code", ["def loss(params)\n", "x = (\n", "\tx\n y\n", b"x = '\xff'\n", b"x = '\0'\n"]
)
def test_a_module_that_is_no_python_is_named(code: str | bytes, tmp_path: Path) -> None:
    write(tmp_path, code, "objective.py")
    assert re.search("'objective' raised.*Error: ", no_objective("objective:loss", tmp_path))
    write(tmp_path, "raise KeyboardInterrupt", "interrupts.py")
    with pytest.raises(KeyboardInterrupt):
        python_objective("interrupts:loss", tmp_path)


@pytest.mark.parametrize(
    ("code", "word", "hint"),
    [
        ("def loss(p): pass\ndef other(p): pass", "los", "no function 'los'.*there is loss"),
        ("def objective(p): pass\ndef _loss(p): pass", "loss", "there is objective"),
        ("loss_value = 3", "loss", "none at all"),
        ("class Model:\n    def loss(self): pass", "Model.lost", "no function 'lost'.*there is loss"),
        ("value = 3", "value.loss", "none at all"),
        *((f"loss = {one}", "loss", "wanted a function, got loss") for one in ("3", "None", "[len]")),
    ],
)
def test_a_missing_function_is_named_with_those_near(code: str, word: str, hint: str, tmp_path: Path) -> None:
    assert python_objective("math:sqrt", tmp_path) is __import__("math").sqrt
    write(tmp_path, code, "objective.py")
    said = no_objective(f"objective:{word}", tmp_path)
    assert f"{tmp_path}/objective.py" in said
    assert re.search(hint, said)


def test_a_module_hidden_by_another_is_not_mistaken_for_it(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write(tmp_path, f"def loss(params): return '{folder}'", f"{folder}/objective.py")
    for _ in range(2):
        assert python_objective("objective:loss", tmp_path / "one")({}) == "one"
    said = no_objective("objective:loss", tmp_path / "two")
    assert f"rename '{tmp_path}/two/objective.py'" in said
    assert f"from {tmp_path}/one/objective.py" in said
    for name, place in (("json", "from"), ("time", "from within")):
        write(tmp_path, "def loss(params): return 1", f"{name}.py")
        assert f"already loaded '{name}' {place}" in no_objective(f"{name}:loss", tmp_path)


def test_the_template_works_as_it_stands(tmp_path: Path) -> None:
    write(tmp_path, OBJECTIVE_TEMPLATE, "objective.py")
    found = load(write(tmp_path, TEMPLATE))
    assert found.name == "my study"
    loss = found.objective()
    good = {"rate": 0.0645, "momentum": 0.59, "warmup": 5, "method": "heavy ball"}
    bad = {"rate": 1e-4, "momentum": 0.0, "warmup": 50, "method": "nesterov"}
    assert loss(found.space.check(good)) < -9.0 < loss(found.space.check(bad)) < 2.0
    for corner in itertools.product([0.0, 1.0], repeat=found.space.dimension):
        value = loss(found.space.decode(np.array(corner)))
        assert isinstance(value, float)
        assert -12.5 < value < 100.0


def test_the_template_names_every_field_and_every_default() -> None:
    commented = re.sub(r"^# (?=\w+ = |\[\[)", "", TEMPLATE, flags=re.MULTILINE)
    document = tomllib.loads(commented)
    study = {field.name: field for field in fields(StudyTable)}
    other = {"objectives", "reference"}  # which exclude the direction
    assert document["study"].keys() == study.keys() - other
    assert all(re.search(rf"^#   {name} = ", TEMPLATE, re.MULTILINE) for name in other)
    named = {name for table in document["constraint"] for name in table}
    assert named >= {field.name for field in fields(ConstraintTable)} - {"at_least", "equals"}
    assert document["objective"].keys() == {"python", "command", "shell", "stdin"}
    for name in ("store", "direction", "seed", "workers", "lease"):
        assert document["study"][name] == study[name].default


def test_what_the_template_has_in_comments_works_too(tmp_path: Path) -> None:
    text = re.sub(r"^# (?=\w+ = |\[\[)", "", TEMPLATE, flags=re.MULTILINE)
    text = re.sub(r"^python = .*$", "", text, count=1, flags=re.MULTILINE)
    found = load(write(tmp_path, text.replace("--rate", "--epochs={epochs} --rate")))
    assert found.problem.fidelity is not None
    assert (found.study.trial_timeout, found.study.target) == (600.0, -9.0)
    assert repr(found.recipe) == repr(Recipe.random())
    assert isinstance(found.source, Command)
    assert not found.source.shell
    assert [one.name for one in found.constraints] == ["memory", "momentum + 5 rate <= 1", "short enough"]


def test_a_study_by_hand_has_no_objective_and_says_so(tmp_path: Path) -> None:
    found = read(tmp_path, objective="")
    assert found.source is None
    with pytest.raises(ConfigError, match=r"\[objective\]: wanted one to run; without it: bopp ask"):
        found.objective()


def test_a_space_may_have_steps_conditions_and_fixed_values(tmp_path: Path) -> None:
    space = """
    [space]
    degrees = { type = "float", low = 20, high = 80, step = 0.5 }
    size = { type = "int", low = 32, high = 512, step = 32 }
    method = { type = "choice", options = ["sgd", "adam"] }
    momentum = { type = "float", low = 0, high = 1, when = { method = ["sgd"] } }
    epochs = { type = "fixed", value = 30 }
    shape = { type = "fixed", value = [8, 8] }
    """
    assert read(tmp_path, space=space).space == Space(
        {
            "degrees": Float(20, 80, step=0.5),
            "size": Int(32, 512, step=32),
            "method": Choice(["sgd", "adam"]),
            "momentum": Float(0, 1, when={"method": ["sgd"]}),
            "epochs": 30,
            "shape": Fixed((8, 8)),
        }
    )


@pytest.mark.parametrize(
    ("parameter", "word"),
    [
        ("type = 'float', low = 0, high = 1, step = 'a'", "finite number"),
        ("type = 'int', low = 0, high = 9, when = 'sgd'", "wanted a table"),
        ("type = 'int', low = 0, high = 9, when = { y = [1] }", "'y'"),
        ("type = 'fixed'", "value: wanted"),
        ("type = 'fixed', value = { a = 1 }", "value: wanted"),
    ],
)
def test_a_wrong_step_condition_or_fixed_value_is_named(parameter: str, word: str, tmp_path: Path) -> None:
    found = problem_of(tmp_path, space=f"{SPACE}x = {{ {parameter} }}\n")
    assert found.startswith(("[space] x", "[space] 'x'"))
    assert word in found


# what is to be found, and what must be met

GOALS = """
objectives = { error = "minimize", speed = "maximize" }
reference = { error = 0.5, speed = 1 }
"""
CONSTRAINTS = """
[[constraint]]
name = "memory"
at_most = 16

[[constraint]]
name = "recall"
at_least = 0.5
at_most = 0.9

[[constraint]]
linear = { lr = 2 }
at_most = 1.5

[[constraint]]
python = "objective:small"
name = "small enough"
"""
SMALL = "def small(params):\n    return params['lr'] < 0.5\n"


def test_objectives_constraints_and_a_reference_make_a_problem(tmp_path: Path) -> None:
    write(tmp_path, SMALL, "objective.py")
    found = read(tmp_path, STUDY + GOALS, space=SPACE + CONSTRAINTS)
    assert "objective" not in sys.modules
    problem, direction = found.declared
    assert isinstance(problem, Problem)
    assert direction is None
    assert list(problem.objectives.items()) == [("error", "minimize"), ("speed", "maximize")]
    assert problem.reference == {"error": 0.5, "speed": 1.0}
    assert problem.limits == (AtMost("memory", 16.0), AtMost("recall", 0.9), AtLeast("recall", 0.5))
    assert problem.names == ["error", "speed", "memory", "recall"]
    linear, small = problem.constraints[-2:]
    assert linear == Linear({"lr": 2.0}, at_most=1.5)
    assert isinstance(small, Holds)
    assert (small.name, small({"lr": 0.4}), small({"lr": 0.6})) == ("small enough", True, False)


def test_without_any_of_these_a_file_declares_a_space_and_a_direction(tmp_path: Path) -> None:
    assert read(tmp_path).declared == (Space({"lr": Float(1e-6, 1.0, log=True)}), "minimize")
    limited = read(tmp_path, space=SPACE + "[[constraint]]\nname = 'memory'\nat_most = 3\n")
    assert limited.declared == (Problem(limited.space, constraints=[AtMost("memory", 3.0)]), None)


def test_a_condition_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    found = read(tmp_path, space=SPACE + "[[constraint]]\npython = 'nowhere:small'\n")
    with pytest.raises(ConfigError, match=r"study.toml: \[\[constraint\]\] 1: python: no module 'nowhere'"):
        _ = found.declared


@pytest.mark.parametrize(
    ("study", "field", "word"),
    [
        *((f"objectives = {one}", "objectives", "wanted a table") for one in ("3", "{}", "{ a = 'up' }")),
        ("direction = 'minimize'\nobjectives = { a = 'minimize' }", "direction", "without objectives"),
        ("target = 3\nobjectives = { a = 'minimize', b = 'minimize' }", "target", "one objective"),
        ("reference = { value = 3 }", "reference", "several objectives"),
        ("reference = { a = inf, b = 1 }", "reference", "finite numbers"),
        ("reference = { a = 'x', b = 1 }", "reference", "table of numbers"),
    ],
)
def test_wrong_objectives_are_named(study: str, field: str, word: str, tmp_path: Path) -> None:
    found = problem(write(tmp_path, STUDY + study + OBJECTIVE + SPACE))
    assert found.startswith(f"[study] {field}: ")
    assert word in found


@pytest.mark.parametrize(
    ("table", "word"),
    [
        *((text, "1: wanted the name") for text in ("", "at_most = 3")),
        ("name = 'm'", "got neither"),
        ("name = 'm'\nequals = 3", "1: equals: wanted it with linear"),
        ("name = 'm'\nat_most = 'x'", "1: at_most: wanted a finite number"),
        ("name = ''\nat_most = 1", "1: name: wanted a line of text"),
        ("nam = 'm'", "1: nam: no such field"),
        ("linear = { lr = 1 }", "got none of them"),
        ("linear = {}\nat_most = 1", "1: wanted coefficients"),
        ("linear = { lr = 'x' }\nat_most = 1", "1: linear: wanted a table of numbers"),
        ("linear = { rate = 1 }\nat_most = 1", "['lr'], got 'rate'"),
        ("python = 'small'", "1: python: wanted"),
        ("python = 'a:b'\nat_most = 1", "1: at_most: wanted it without python"),
        ("python = 'a:b'\nlinear = { lr = 1 }", "1: linear: wanted it without python"),
    ],
)
def test_a_wrong_constraint_is_named(table: str, word: str, tmp_path: Path) -> None:
    found = problem(write(tmp_path, STUDY + OBJECTIVE + SPACE + f"[[constraint]]\n{table}\n"))
    assert found.startswith("[[constraint]] ")
    assert word in found
    for row in ("3", "{ name = 'm' }", "[3]"):
        odd = problem(write(tmp_path, f"constraint = {row}\n" + STUDY + OBJECTIVE + SPACE))
        assert re.match(r"\[\[constraint\]\].*wanted (a|each) table", odd)
