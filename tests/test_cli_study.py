import csv
import gc
import json
import os
import re
import select
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import bopp as library
from bopp import AtMost, Choice, Float, Problem, Recipe, cli, open_study
from bopp.cli import show
from bopp.legible import from_cell, one_line
from bopp.study.exchange import exported
from support.commands import Bopp, Ended
from support.studies import (
    PARAMETERS,
    PATIENCE,
    assert_plain,
    assert_refused,
    end_held,
    files,
    held,
    started,
    url_of,
    wait_for,
    written,
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a study with one trial, among others that are wrong in one way each."""
    folder = tmp_path_factory.mktemp("template")
    whole = written(folder, recipe="random").read_text()
    for name, old, new in (
        ("byhand", '[objective]\npython = "objective:loss"\n', ""),
        ("broken", "[study]", "[study"),
        ("other", "high = 1.0", "high = 2.0"),
        ("nomodule", "objective:loss", "nomodule:loss"),
        ("unborn", '"a study"', '"unborn"'),
        ("garbage", "[study]", '[study]\nstore = "sqlite:///garbage.db"'),
    ):
        assert old in whole
        (folder / f"{name}.toml").write_text(whole.replace(old, new))
    (folder / "garbage.db").write_bytes(b"no database at all, but long enough for one " * 100)
    (folder / "folder").mkdir()
    (folder / "folder" / "file").touch()
    with make(folder) as study:
        study.tell(study.ask(), 0.5)
        (folder / "whole.jsonl").write_bytes(exported(study))
    (folder / "cut.jsonl").write_bytes((folder / "whole.jsonl").read_bytes()[:-20])
    return files(folder)


def make(where: Path | str, name: str = "a study") -> library.Study:
    """A study without a model, in a folder or at a URL."""
    url = where if isinstance(where, str) else url_of(where)
    return library.open_study(url, name, PARAMETERS, recipe=Recipe.random())


@pytest.fixture
def told(template: dict[str, bytes], here: Path) -> Path:
    """A folder of its own with these files."""
    for name, content in template.items():
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_bytes(content)
    return here


PYTHON = shlex.quote(sys.executable)
COMMANDS = [command.__name__.rstrip("_") for command in cli.COMMANDS]
HOSTILE = "\x1b[2J\x1b]0;x\x07 [red]x[/red] [/b]\r\nsecond line"


# From everywhere


@pytest.fixture(
    params=[
        "folder",
        pytest.param("file", marks=pytest.mark.endurance),
        pytest.param("sqlite", marks=pytest.mark.endurance),
        *("sqlite name", "postgres", "postgres name"),
    ]
)
def tails(request: pytest.FixtureRequest, here: Path) -> Iterator[tuple[list[str], list[str]]]:
    """How to say which study: after the words of most commands, and of tell, observe and enqueue."""
    where, _, named = request.param.partition(" ")
    url = request.getfixturevalue("postgres_url") if where == "postgres" else url_of(here)
    if where in ("folder", "file"):
        written(here, recipe="random")
        yield ([], []) if where == "folder" else (["study.toml"], ["--in", "study.toml"])
        return
    make(url).close()
    if named:
        make(url, "another").close()
    yield [url, *["a study"] * bool(named)], ["--in", url, *["--name", "a study"] * bool(named)]
    gc.collect()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # commands close no connection
def test_a_study_by_hand_from_every_source(
    bopp: Bopp, tails: tuple[list[str], list[str]], here: Path
) -> None:
    tail, option = tails

    def ok(*words: object) -> str:
        ended = bopp(*words)
        assert (ended.code, ended.err) == (0, "")
        return ended.out

    ended = bopp("ask", *tail)
    assert ended.code == 0
    assert re.fullmatch(r"trial 0\n  x +0\.\d+\n  y +-?\d\n", ended.out)
    then = shlex.split(ended.err.splitlines()[0].removeprefix("Then: "))
    named = [] if tail in ([], ["study.toml"]) else [f"--in={option[1]}", *[f"--name={n}" for n in tail[1:]]]
    assert then == ["bopp", "tell", "0", "VALUE", *named]
    assert bopp("tell", 0, "-0.5", *option, "--note", "cold").code == 0
    asked = json.loads(bopp("ask", *tail, "--count", 2, "--json").out)
    assert [(trial["number"], trial["state"]) for trial in asked] == [(1, "asked"), (2, "asked")]
    assert bopp("tell", 2, "nan", *option).code == 0
    assert bopp("observe", "-1e-3", "x=0.5", "y=-3", *option).code == 0
    assert bopp("enqueue", "x=0.25", "y=5", *option).code == 0
    queued = json.loads(bopp("ask", *tail, "--json").out)[0]
    assert (queued["params"], queued["origin"]) == ({"x": 0.25, "y": 5}, "queued")

    out = ok("status", *tail)
    facts = dict(re.split(r"  +", line, maxsplit=1) for line in out.splitlines())
    assert [facts[word] for word in ("study", "done", "failed", "asked")] == ["a study", "2", "1", "2"]
    assert facts["best"] == "-0.5 in trial 0"
    assert facts["workers"].split(", ") == [f"{os.uname().nodename}/{os.getpid()}"]
    assert_plain(out)
    best = json.loads(ok("best", *tail, "--json"))
    assert (best["number"], best["value"], best["notes"]) == (0, -0.5, "cold")
    words = ok("best", *tail).split()
    assert words[:7] == ["value", "-0.5", "trial", "0", "params", "x", repr(best["params"]["x"])]

    out = ok("trials", *tail)
    assert_plain(out)
    head, *lines = out.splitlines()
    assert head.split() == ["trial", "state", "value", "x", "y", "remark"]
    assert [line.split()[:2] for line in lines] == [
        [str(number), state] for number, state in enumerate(["done", "asked", "failed", "done", "asked"])
    ]
    assert (lines[0].endswith("cold"), lines[2].endswith("nan")) == (True, True)
    records = json.loads(ok("trials", *tail, "--json"))
    assert [record["value"] for record in records] == [-0.5, None, None, -0.001, None]
    rows = list(csv.DictReader(ok("trials", *tail, "--csv").splitlines()))
    assert [row["value"] for row in rows] == ["-0.5", "", "", "-0.001", ""]
    assert [float(row["x"]) for row in rows] == [record["params"]["x"] for record in records]

    assert bopp("export", *tail, "--out", "study.jsonl").code == 0
    assert (here / "study.jsonl").read_text() == ok("export", *tail)
    assert bopp("import", "study.jsonl", "sqlite:///copy.db", "copy").code == 0
    assert json.loads(ok("trials", "sqlite:///copy.db", "--json")) == records
    drawn = ok("plot", *tail, "--kind", "convergence", "--out", "drawn")
    assert drawn == "drawn/convergence.png\ndrawn/convergence.svg\n"


@pytest.mark.parametrize("count", [0, 2])
def test_a_store_with_none_or_several_studies_wants_a_name(bopp: Bopp, here: Path, count: int) -> None:
    url = url_of(here)
    make(here, "gone").close()
    library.delete_study(url, "gone")
    names = ["one [red]", "two"][:count]
    for name in names:
        make(here, name).close()
    for words in (
        *(("best", url), ("trials", url), ("ask", url), ("export", url), ("plot", url)),
        ("tell", 0, 1, "--in", url),
        ("observe", 1, "x=0.5", "--in", url),
        ("enqueue", "x=0.5", "--in", url),
    ):
        assert_refused(bopp(*words), 2, f"{count} studies", *map(repr, names))
    ended = bopp("status", url)
    assert (ended.code, ended.err) == (0, "")
    head, *lines = ended.out.splitlines()
    assert head.split() == ["study", "done", "failed", "asked", "best"]
    assert [re.split("  +", line)[0] for line in lines] == names
    if names:
        assert bopp("observe", 1, "x=0.5", "y=1", "--in", url, "--name", "two").code == 0
        assert "1 in trial 0" in bopp("status", url).out
        assert [bopp("best", url, name).code for name in reversed(names)] == [0, 4]
        assert_refused(bopp("best", url, "three"), 2, "'three'", "'two'")


def test_a_name_after_a_study_file_is_the_study_that_is_meant(bopp: Bopp, here: Path) -> None:
    written(here)
    make(here).close()
    make(here, "another").close()
    bopp("observe", 1, "x=0.5", "y=1", "--name", "another")
    bopp("enqueue", "x=0.5", "y=1", "--name", "another")
    bopp("ask", "study.toml", "another")
    bopp("tell", 1, 2, "--name", "another")
    bopp("ask", "study.toml", "another")
    assert bopp("tell", 2, "--failed", "the flask broke", "--in", url_of(here), "--name", "another").code == 0
    assert sequence(here) == []
    assert [trial.values.get("value") for trial in make(here, "another").trials] == [1.0, 2.0, None]


@pytest.mark.endurance
def test_python_dash_m_is_the_same_program(here: Path) -> None:
    ended = program(here, "init")
    assert (ended.code, ended.out, sorted(files(here))) == (0, "", ["objective.py", "study.toml"])
    assert ended.err.endswith("bopp run study.toml\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(bopp: Bopp, command: str) -> None:
    ended = bopp(command, "--help")
    assert (ended.code, ended.err) == (0, "")
    first, *lines = ended.out.splitlines()
    assert f"bopp {command} [OPTIONS]" in first
    assert_plain(ended.out)
    assert max(map(len, lines)) <= 80


# Init


def test_the_template_runs_as_it_is(bopp: Bopp, here: Path) -> None:
    ended = bopp("init", "new/folder")
    assert ended.code == 0
    assert sorted(files(here)) == ["new/folder/objective.py", "new/folder/study.toml"]
    ended = bopp(*shlex.split(ended.err.rpartition("bopp ")[2]), "--budget", 3)
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == ["rate", "momentum", "warmup", "method"]
    assert "3 trials" in ended.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("there", "words", "code"),
    [
        *(("study.toml", (), 2), ("objective.py", (), 2), ("file", ("file",), 3)),
        *(("file", ("file/below",), 3), ("file", ("/proc/nowhere",), 3)),
    ],
)
def test_init_overwrites_nothing(
    bopp: Bopp, here: Path, there: str, words: tuple[str, ...], code: int
) -> None:
    (here / there).write_text("mine")
    assert_refused(bopp("init", *words), code, *(words or (there,)))
    assert files(here) == {there: b"mine"}


# Wrong requests


WORK = ("worker", "URL", "a study")
WRONG: list[tuple[tuple[Any, ...], int, tuple[str, ...]]] = [
    (("nonsense",), 2, ("nonsense",)),
    (("run", "nowhere.toml"), 2, ("nowhere.toml", "no such file")),
    (("run", "."), 2, ("wanted a file",)),
    (("run", "more", "words"), 2, ("words",)),
    (("run", "--budget", "0"), 2, ("--budget",)),
    (("run", "--workers", "0"), 2, ("--workers",)),
    (("run", "--wrong"), 2, ("--wrong",)),
    (("run", "--seed", "-1"), 2, ("--seed", "'-1'")),
    (("run", "--time-limit", "0"), 2, ("time_limit",)),
    (("run", "--timeout", "1"), 2, ("--timeout",)),
    (("run", "byhand.toml"), 2, ("[objective]", "bopp ask")),
    (("run", "broken.toml"), 2, ("broken.toml", "line 1")),
    (("run", "other.toml"), 2, ("'a study'", "space", "'x'")),
    (("run", "nomodule.toml"), 2, ("[objective] python", "'nomodule'")),
    (("run", "study.db"), 2, ("study.db", "sqlite:///study.db?")),
    (("run", "garbage.toml"), 3, ("garbage.db",)),
    (("worker", "nowhere.toml"), 2, ("nowhere.toml",)),
    (("worker", "sqlite:///nowhere.db"), 2, ("nowhere.db",)),
    ((*WORK, "--python", "nomodule:f"), 2, ("'nomodule'",)),
    ((*WORK, "--python", "objective:nothing"), 2, ("'nothing'",)),
    ((*WORK, "--command", "echo {z}"), 2, ("{z}",)),
    ((*WORK, "--command", "echo '{params}'", "--shell"), 2, ("$BOPP_PARAMS",)),
    ((*WORK, "--python", "objective:loss", "--file", "study.toml"), 2, ("got 2",)),
    ((*WORK, "--file", "nowhere.toml"), 2, ("nowhere.toml",)),
    (("worker", "URL", "no study"), 2, ("'no study'", "'a study'")),
    ((*WORK, "--lease", "0"), 2, ("lease",)),
    ((*WORK, "--trial-timeout", "0", "--budget", "1"), 2, ("timeout",)),
    ((*WORK, "--budget", "0"), 2, ("--budget",)),
    (("status", "nowhere.toml"), 2, ("nowhere.toml",)),
    (("status", "sqlite:///nowhere.db"), 2, ("nowhere.db",)),
    (("status", "sqlite:///garbage.db"), 3, ("garbage.db",)),
    (("status", "postgresql://me:secret@127.0.0.1:1/db"), 3, ("127.0.0.1", "***")),
    (("best", "unborn.toml"), 2, ("'unborn'",)),
    (("trials", "--json", "--csv"), 2, ("--json", "--csv")),
    (("ask", "--count", "0"), 2, ("--count",)),
    (("tell",), 2, ("number",)),
    (("tell", "0"), 2, ("--failed",)),
    (("tell", "0", "1", "--failed", "why"), 2, ("not both",)),
    (("tell", "zero", "1"), 2, ("number", "integer")),
    (("tell", "0", "0,5"), 2, ("'0,5'",)),
    (("tell", "0", ""), 2, ("''",)),
    (("tell", "0", "0.75"), 2, ("trial 0", "0.5", "0.75")),
    (("tell", "-1", "1"), 2, ("trial -1",)),
    (("tell", "9" * 30, "1"), 2, ("9" * 30,)),
    (("tell", "7", "1", "--note", "n"), 2, ("trial 7",)),
    (("observe", "1"), 2, ("params",)),
    (("observe", "1", "x=0.5"), 2, ("y",)),
    (("observe", "1", "x=0.5", "y"), 2, ("x=..., y=...", "'y'")),
    (("observe", "1", "x=0.5", "y=1", "z=1"), 2, ("'z=1'",)),
    (("observe", "1", "x=half", "y=1"), 2, ("x", "'half'")),
    (("observe", "1", "x=0.5", "y=" + "9" * 5000), 2, ("y",)),
    (("observe", "much", "x=0.5", "y=1"), 2, ("'much'",)),
    (("enqueue",), 2, ("params",)),
    (("enqueue", "x=2", "y=1"), 2, ("'x'", "2")),
    (("enqueue", "--wrong=1", "x=0.5", "y=1"), 2, ("--wrong=1",)),
    (("export", "--out", "nofolder/file"), 3, ("cannot write to nofolder/file",)),
    (("export", "--out", "/"), 3, ("cannot write",)),
    (("export", "--out", "study.db"), 2, ("store",)),
    (("import",), 2, ("file",)),
    (("import", "folder", "URL"), 2, ("cannot read folder",)),
    (("import", "garbage.db", "sqlite:///new.db"), 2, ("wanted what bopp export wrote",)),
    (("import", "whole.jsonl", "new.db"), 2, ("sqlite:///new.db",)),
    (("import", "cut.jsonl", "URL", "new"), 2, ("cut.jsonl", "checksum")),
    (("plot", "--kind", "pie"), 2, ("--kind", "pie", "parallel")),
    (("plot", "--out", "study.toml"), 3, ("cannot write to study.toml",)),
    (("switch", "luck"), 2, ("'luck'",)),
]


@pytest.mark.parametrize(
    ("words", "code", "named"), WRONG, ids=lambda part: " ".join(part)[:70] if isinstance(part, tuple) else ""
)
def test_a_wrong_request_is_one_line_and_changes_nothing(
    bopp: Bopp,
    told: Path,
    words: tuple[str, ...],
    code: int,
    named: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bopp.study.store.ABSENT", 0.1)
    before = files(told)
    ended = bopp(*[url_of(told) if word == "URL" else word for word in words])
    assert_refused(ended, code, *named)
    assert_plain(ended.err)
    assert len(ended.err) < 700
    assert "secret" not in ended.err
    after = files(told)
    assert after == before | {name: after[name] for name in after if name.endswith(".db.lock")}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_debug_anywhere_adds_a_traceback(bopp: Bopp, told: Path, place: int) -> None:
    words = ["best", "nowhere.toml"]
    plain = bopp(*words)
    words.insert(place, "--debug")
    ended = bopp(*words)
    assert ended.code == plain.code
    assert ended.err.startswith("Traceback (most recent call last)")
    assert "ConfigError: nowhere.toml" in ended.err
    assert ended.err.endswith(plain.err)
    assert_plain(ended.err)


def test_debug_shows_no_password(bopp: Bopp, told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bopp.study.store.ABSENT", 0.1)
    for words in (("switch", "random", "--in"), ("plot", "--kind"), ("status",)):
        ended = bopp(*words, "postgresql://u:S3CRET@127.0.0.1:1/db", "--debug")
        assert ended.code != 0
        assert "Traceback" in ended.err
        assert "S3CRET" not in ended.err + ended.out


def test_an_error_that_nobody_foresaw_is_one_line(
    bopp: Bopp, told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("a defect \x1b[2J")

    monkeypatch.setattr(show, "existing", broken)
    for command in ("status", "best", "trials", "export", "plot"):
        ended = bopp(command)
        assert_refused(ended, 1, "ZeroDivisionError", "a defect \\x1b[2J", "--debug")
    debugged = bopp("best", "--debug")
    assert debugged.code == 1
    assert debugged.err.endswith(f"ZeroDivisionError: a defect \\x1b[2J\n\n{ended.err}")


def test_no_finished_trial_is_exit_code_4(bopp: Bopp, here: Path) -> None:
    written(here, recipe="random")
    assert bopp("enqueue", "x=0.5", "y=1").code == 0
    for words in (("best",), ("best", "--json"), ("plot",), ("plot", "--kind", "slices")):
        assert bopp(*words).code == 4
    bopp("ask")
    bopp("tell", 0, "--failed", "it broke")
    assert_refused(bopp("best"), 4, "it broke")
    assert not (here / "pictures").exists()


def test_pictures_and_servers_want_their_extra(
    bopp: Bopp, told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for words in (["best"], ["status"], ["ask"], ["tell", 0, 1, "--in"], ["trials"], ["plot"]):
        assert_refused(bopp(*words, "postgresql://me:secret@host/db"), 2, "'bopp[postgres]'")
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, name, None)
    assert_refused(bopp("plot"), 2, "'bopp[plot]'")


@pytest.mark.endurance
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_password_is_not_shown_after_an_import(bopp: Bopp, told: Path, postgres_url: str) -> None:
    url = postgres_url.replace("postgres@", "postgres:secret@")
    try:
        said = [bopp("import", "whole.jsonl", url).err, bopp("import", "whole.jsonl", url, "two").err]
        said.append(bopp("best", url).err)
    finally:
        gc.collect()
    assert "secret" not in "".join(said)


def test_a_run_has_a_random_seed_and_a_time_limit(bopp: Bopp, here: Path) -> None:
    written(here, recipe="random", budget=3)
    for _ in range(2):
        ended = bopp("run", "--seed", "random", "--budget", 2, "--time-limit", 60, "--trial-timeout", 50)
        assert ended.code == 0, ended.err
    study = library.open_study(url_of(here), "a study")
    assert (len(study.trials), study.seed == 0) == (2, False)
    assert_refused(bopp("run", "--seed", study.seed + 1), 2, "seed")


def test_a_database_of_another_program_is_left_as_it_is(bopp: Bopp, here: Path) -> None:
    with closing(sqlite3.connect(here / "foreign.db")) as connection:
        connection.execute("CREATE TABLE bookmarks (name)")
    before = files(here)
    for command in ("status", "best", "export"):
        assert_refused(bopp(command, "sqlite:///foreign.db"), 2)
    assert files(here) == before


# Values and texts


def test_a_value_may_be_negative_or_no_number(bopp: Bopp, here: Path) -> None:
    written(here, recipe="random")
    texts = ("-1e-3", "-5", "1e300", "-.5", "-inf", "1e999")
    values = [-0.001, -5.0, 1e300, -0.5, None, None]
    bopp("ask", "--count", len(texts))
    for number, text in enumerate(texts):
        assert bopp("tell", number, text).code == 0
        assert bopp("observe", text, "x=0.5", "y=-3").code == 0
    trials = json.loads(bopp("trials", "--json").out)
    assert [trial["value"] for trial in trials] == values + values
    assert bopp("tell", 0, texts[0]).code == bopp("tell", 5, texts[5]).code == 0  # told again
    assert json.loads(bopp("trials", "--json").out) == trials  # nothing changes


def test_a_file_without_a_recipe_goes_on_with_that_of_the_study(bopp: Bopp, here: Path) -> None:
    written(here, recipe="random")
    assert bopp("ask").code == 0
    for settings in ({}, {"recipe": "default"}):
        written(here, **settings)
        assert bopp("ask").code == 0
    written(here, recipe="paper-ucb")
    assert_refused(bopp("ask"), 2, "'a study' has", "recipe")
    written(here, name="new")
    assert bopp("ask").code == 0
    recipes = [library.open_study(url_of(here), name).recipe for name in ("a study", "new")]
    assert recipes == [Recipe.random(), Recipe.default()]


def test_choices_are_told_by_their_text(bopp: Bopp, here: Path) -> None:
    space = (
        '[space]\nc = { type = "choice", options = ["a=b", " ", "", 3, 0.5, true, "ü", 1, "1", [1, 2]] }\n'
    )
    written(here, objective=None, space=space, recipe="random")
    for text in ("a=b", " ", "", "3", "0.5", "True", "ü", "(1, 2)"):
        assert bopp("observe", 1, f"c={text}").code == 0
    options = [trial.params["c"] for trial in library.open_study(url_of(here), "a study").trials]
    assert options == ["a=b", " ", "", 3, 0.5, True, "ü", (1, 2)]
    assert json.loads(bopp("trials", "--json").out)[-1]["params"] == {"c": [1, 2]}
    assert_refused(bopp("observe", 1, "c=b"), 2, "c: wanted one of a=b", "'b'")
    assert_refused(bopp("observe", 1, "c=1"), 2, "c")  # which means two options


@pytest.mark.fault(16, 27)
def test_hostile_texts_are_shown_and_do_nothing(bopp: Bopp, here: Path) -> None:
    name = "[red]evil[/red] \u202e☃ <b>"
    space = '[space]\n"\\u001b[2J[red]" = { type = "choice", options = ["\\u001b[31m", "[/b]\\nx"] }\n'
    written(here, objective=None, space=space, name=name, recipe="random")
    bopp("ask", "--count", "3")
    assert bopp("tell", 0, "--failed", HOSTILE, "--note", HOSTILE).code == 0
    assert bopp("tell", 1, "0.5", "--note", HOSTILE).code == 0
    for words in (("status",), ("status", url_of(here)), ("best",), ("trials",), ("ask",), ("export",)):
        ended = bopp(*words)
        assert ended.code == 0
        assert_plain(ended.out + ended.err)
        assert "\u202e" not in ended.out
    assert one_line(HOSTILE) in bopp("trials").out
    assert "[red]evil[/red]" in bopp("status").out
    for words in (("trials", "--json"), ("best", "--json")):
        assert_plain(bopp(*words).out)
    assert json.loads(bopp("best", "--json").out)["notes"] == HOSTILE
    with library.open_study(url_of(here), name) as study:
        rows = list(csv.DictReader(bopp("trials", "--csv").out.splitlines(keepends=True)))
        assert [from_cell(row["notes"]) for row in rows] == [trial.notes or "" for trial in study.trials]


@pytest.mark.fault(16)
@pytest.mark.parametrize("name", ["-", "../..", "a'; DROP TABLE bopp_trials; --", "x" * 1000, "☃" * 300, " "])
def test_any_name_is_a_name(bopp: Bopp, here: Path, name: str) -> None:
    make(here, name).close()
    assert bopp("observe", 1, "x=0.5", "y=1", "--in", url_of(here), "--name", name).code == 0
    assert json.loads(bopp("best", "--json", "--", url_of(here), name).out)["value"] == 1.0


@pytest.mark.endurance
def test_a_name_that_the_output_cannot_hold_is_written_in_other_letters(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.open_study(url_of(here), "snow ☃", PARAMETERS)
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    ended = program(here, "status", url_of(here))
    assert (ended.code, ended.err) == (0, "")
    assert r"snow \u2603" in ended.out


# Pictures

KINDS = ("convergence", "slices", "contour", "parallel", "importance", "calibration", "timeline", "edf")


@pytest.mark.endurance
def test_all_pictures_of_a_study(bopp: Bopp, told: Path) -> None:
    for x, y in ((0.1, 1), (0.5, -2), (0.9, 3)):
        bopp("observe", x, f"x={x}", f"y={y}")
    ended = bopp("plot")
    assert (ended.code, ended.err) == (0, "")
    paths = [Path("pictures") / f"{kind}.{ending}" for kind in KINDS for ending in ("png", "svg")]
    assert ended.out.splitlines() == [str(path) for path in paths]
    assert all(path.stat().st_size > 1000 for path in paths)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths if path.suffix == ".png")
    assert bopp("plot", "--kind", "convergence").out.splitlines() == ended.out.splitlines()[:2]


@pytest.mark.parametrize(
    "kind",
    [
        "parallel",
        *(
            pytest.param(kind, marks=pytest.mark.endurance)
            for kind in KINDS
            if kind not in ("parallel", "calibration")
        ),
    ],
)
def test_one_picture(bopp: Bopp, told: Path, kind: str) -> None:
    assert bopp("plot", "--kind", kind, "--out", "a/b") == (0, f"a/b/{kind}.png\na/b/{kind}.svg\n", "")
    assert "a study" in (told / "a" / "b" / f"{kind}.svg").read_text()


@pytest.mark.endurance
def test_what_cannot_be_drawn_is_left_out_with_a_reason(bopp: Bopp, told: Path) -> None:
    """The only trial cannot be predicted from others."""
    ended = bopp("plot")
    assert (ended.code, ended.err.count("\n")) == (0, 1)
    assert ended.err.startswith("Not drawn: calibration wants at least 2")
    drawn = [f"pictures/{kind}.{ending}" for kind in KINDS for ending in ("png", "svg")]
    assert ended.out.splitlines() == [path for path in drawn if "calibration" not in path]
    assert_refused(bopp("plot", "--kind", "calibration"), 4, "calibration")


def test_several_studies_in_one_picture(bopp: Bopp, told: Path) -> None:
    with make(told, "another") as other:
        other.observe({"x": 0.5, "y": 1}, 0.25)
    assert bopp("plot", "--kind", "edf", "--with", "another").code == 0
    picture = (told / "pictures" / "edf.svg").read_text()
    assert "a study (1 trials)" in picture
    assert "another (1 trials)" in picture
    assert_refused(bopp("plot", "--kind", "edf", "--with", "nobody"), 2, "'nobody'")
    assert_refused(bopp("plot", "--kind", "slices", "--with", "another"), 2, "--with", "slices")


# Runs


def program(folder: Path, *words: object) -> Ended:
    with started(folder, *words) as running:
        return running.end()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


Sequence = list[tuple[library.Params, float | None]]


def sequence(folder: Path | str) -> Sequence:
    url = folder if isinstance(folder, str) else url_of(folder)
    with library.open_study(url, "a study") as study:
        return [(trial.params, trial.values.get("value")) for trial in study.trials]


@pytest.fixture(scope="module")
def uninterrupted() -> Sequence:
    """What a run without faults tries and finds."""
    result = library.minimize(
        lambda params: (params["x"] - 0.3) ** 2 + params["y"] / 10, PARAMETERS, budget=9, progress=False
    )
    return [(trial.params, trial.values.get("value")) for trial in result.trials]


WAYS = {
    "python": 'python = "objective:loss"',
    "command": f"command = '{PYTHON} objective.py {{params}}'",
    "shell": f"command = 'echo | {PYTHON} objective.py \"$BOPP_PARAMS\" | cat'\nshell = true",
}


@pytest.mark.parametrize(
    "way", ["python", *(pytest.param(way, marks=pytest.mark.endurance) for way in ("command", "shell"))]
)
def test_a_run_ends_at_its_budget_and_goes_on_with_a_larger_one(
    bopp: Bopp, here: Path, way: str, uninterrupted: Sequence
) -> None:
    written(here, WAYS[way])
    ended = bopp("run", "--budget", 4)
    best, params = min((value, params["x"]) for params, value in uninterrupted[:4])
    assert ended.code == 0
    *lines, last = ended.err.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"{n} of 4" for n in (1, 2, 3, 4)]
    assert last.startswith(f"4 trials in {url_of(here)}; best {best:.6g} in trial ")
    assert ended.out.split()[:3] == ["x", repr(params), "y"]
    assert_plain(ended.out + ended.err)
    assert bopp("run", "--budget", 4) == (0, ended.out, f"{last}\n")
    assert bopp("run").code == 0
    assert sequence(here) == uninterrupted


def test_a_file_and_the_command_line_say_how_processes_are_started(bopp: Bopp, here: Path) -> None:
    written(here, WAYS["python"], recipe="random", budget=1, start_method="forkserver")
    assert bopp("run").code == 0
    assert_refused(bopp("run", "--budget", 2, "--start-method", "thread"), 2, "start_method", "thread")
    written(here, WAYS["python"], recipe="random", start_method="threads")
    assert_refused(bopp("run"), 2, "start_method", "fork")


@pytest.mark.endurance
@pytest.mark.fault(5)
@pytest.mark.parametrize(
    ("way", "number"),
    [
        ("python", signal.SIGINT),
        ("python", signal.SIGKILL),
        ("command", signal.SIGTERM),
        ("shell", signal.SIGHUP),  # a terminal that is closed
    ],
)
def test_a_run_stopped_in_mid_trial_goes_on_bit_for_bit(
    bopp: Bopp, here: Path, way: str, number: int, uninterrupted: Sequence
) -> None:
    written(here, WAYS[way])
    (here / "hold").touch()
    with started(here, "run") as running:
        wait_for(lambda: held(here), "no trial was held")
        pids = held(here)
        assert all(map(alive, pids))
        running.process.send_signal(number)
        ended = running.end()
        if number == signal.SIGKILL:
            pids = pids[:1]  # nobody is left to end what the objective started
        else:
            assert (ended.code, ended.out) == (130, "")
            assert ended.err.endswith("bopp run\n")
            assert f"6 trials are kept in {url_of(here)}" in ended.err
            assert "Traceback" not in ended.err
        wait_for(lambda: not any(map(alive, pids)), "the objective still runs")
    (here / "hold").unlink()
    assert sequence(here)[:6] == uninterrupted[:6]
    assert bopp("run").code == 0
    assert sequence(here) == uninterrupted


def queue(folder: Path, objective: str, texts: Iterable[str], **settings: Any) -> library.Study:
    """A study whose file has this objective, and whose queue each of these texts as "how"."""
    options = list(texts)
    space = f'[space]\nhow = {{ type = "choice", options = {json.dumps(options)} }}\n'
    written(folder, objective, space, recipe="random", budget=len(options), **settings)
    study = library.open_study(url_of(folder), "a study", {"how": Choice(options)}, recipe=Recipe.random())
    for text in options:
        study.enqueue({"how": text})
    return study


def test_whatever_a_function_does_ends_its_trial_and_no_more(bopp: Bopp, here: Path) -> None:
    errors = {
        "raises": "ValueError: no good \x1b[2J[red]\nsecond line",
        "exits": "SystemExit: 3",
        "dies": "exit code 3",
        "segfaults": f"exit code {-signal.SIGSEGV}",
        "nan": "nan",
        "none": "None",
        "text": "'0.5'",
        "infinite": "-inf",
        "huge": "inf",
        "good": "",
    }
    study = queue(here, 'python = "objective:odd"', errors)
    ended = bopp("run")
    assert (ended.code, ended.out) == (0, "how  good\n")
    for trial in study.trials:
        assert errors[trial.params["how"]] in (trial.error or "")
    assert [trial.state for trial in study.trials] == ["failed"] * 9 + ["done"]
    assert len(ended.err.splitlines()) == len(errors) + 1
    assert_plain(ended.err)
    assert "10 trials (9 failed)" in ended.err.splitlines()[-1]
    assert one_line(errors["raises"]) in bopp("trials").out


SCRIPT = """command = '''/bin/sh -c 'eval "$1"' _ {how}'''"""


@pytest.mark.parametrize(
    ("objective", "text"), [('python = "objective:odd"', "hangs"), (SCRIPT, "sleep 600 & sleep 600")]
)
def test_what_takes_too_long_ends_its_trial(bopp: Bopp, here: Path, objective: str, text: str) -> None:
    study = queue(here, objective, [text, "good"], trial_timeout=0.2)
    bopp("run")
    first, second = study.trials
    assert "0.2 seconds" in str(first.error)
    assert second.state != "asked"


def test_a_run_without_any_value_is_exit_code_4(bopp: Bopp, here: Path) -> None:
    written(here, "command = 'false {params}'", recipe="random", budget=2)
    ended = bopp("run")
    assert (ended.code, ended.out, ended.err.count("\n")) == (4, "", 3)
    assert "exit code 1" in ended.err.splitlines()[-1]


def test_a_target_ends_a_run_and_further_ones_do_nothing(bopp: Bopp, here: Path) -> None:
    written(here, target=10.0, recipe="random")
    assert bopp("run").err.splitlines()[-1].startswith("1 trials in ")
    assert bopp("run").err.count("\n") == 1


def test_several_workers_evaluate_at_once(bopp: Bopp, here: Path) -> None:
    code = (
        "import os, time\nfrom pathlib import Path\nHERE = Path(__file__).parent\n"
        "def loss(params):\n"
        "    (HERE / f'at-{os.getpid()}').touch()\n"
        "    end = time.monotonic() + 30\n"
        "    while len(list(HERE.glob('at-*'))) < 3 and time.monotonic() < end:\n"
        "        time.sleep(0.01)\n"
        "    return len(list(HERE.glob('at-*')))\n"
    )
    written(here, code=code, recipe="random", workers=3, budget=6)
    assert bopp("run").code == 0
    assert [value for _, value in sequence(here)][:3] == [3.0, 3.0, 3.0]
    assert len(list(here.glob("at-*"))) == 6


@pytest.mark.endurance
def test_a_function_that_prints_much_does_not_block(here: Path) -> None:
    code = (
        "import sys\n"
        "def loss(params):\n"
        "    print('x' * 3_000_000)\n"
        "    sys.stderr.write('y' * 3_000_000)\n"
        "    return 1\n"
    )
    written(here, code=code, recipe="random", budget=2)
    ended = program(here, "run")
    assert ended.code == 0
    assert ended.out.count("x" * 3_000_000) == 2
    assert "2 of 2: trial 1 1; best 1 in trial 0" in ended.err


# Workers


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, here: Path) -> str:
    """The URL of a store for several."""
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgres" else url_of(here)


@pytest.mark.endurance
def test_a_worker_beside_a_run(here: Path, shared: str) -> None:
    code = "import time\ndef loss(params):\n    time.sleep(0.15)\n    return params['x']\n"
    written(here / "one", code=code, store=shared, recipe="random", budget=24)
    written(here / "two", code=code)
    make(shared).close()
    words = ("worker", shared, "a study", "--python", "objective:loss", "--budget", 24)
    with started(here / "one", "run") as run, started(here / "two", *words) as worker:
        ends = [run.end(), worker.end()]
    assert [ended.code for ended in ends] == [0, 0]
    with make(shared) as study:
        trials = study.trials
    assert [trial.state for trial in trials] == ["done"] * 24
    assert len({trial.params["x"] for trial in trials}) == 24
    assert len({trial.worker for trial in trials}) == 2
    mine = [len(re.findall(r"(?m)^\d+ of 24: ", ended.err)) for ended in ends]
    assert (sum(mine), min(mine) > 0) == (24, True)
    assert ends[0].out == ends[1].out  # both tell the same best params


@pytest.mark.endurance
@pytest.mark.fault(6)
def test_the_trial_of_a_killed_worker_is_finished_by_another(bopp: Bopp, here: Path, shared: str) -> None:
    written(here, store=shared, recipe="random")
    (here / "hold").touch()
    (here / "calls").write_text("." * 6)  # the first trial is held
    make(shared).close()
    with started(here, "worker", shared, "a study", "--file", "study.toml") as worker:
        wait_for(lambda: held(here), "no trial was held")
        worker.process.kill()
        worker.end()
        with make(shared) as study:
            (left,) = study.trials
        assert left.state == "asked"
        assert f"/{worker.process.pid}/" in str(left.worker)
    (here / "hold").unlink()
    assert program(here, "run").code == 0
    with make(shared) as study:
        assert [trial.state for trial in study.trials] == ["done"] * 9
        assert study.trials[0].params == left.params
        assert left.worker not in {trial.worker for trial in study.trials}


@pytest.mark.endurance
def test_a_worker_that_is_stopped_says_how_to_go_on(here: Path) -> None:
    written(here, recipe="random")
    (here / "hold").touch()
    make(here).close()
    with started(here, "worker", url_of(here), "a study") as worker:
        wait_for(lambda: held(here), "no trial was held")
        worker.process.send_signal(signal.SIGTERM)
        ended = worker.end()
        assert ended.code == 130
        assert f"6 trials are kept in {url_of(here)}" in ended.err
        again = shlex.split(ended.err.rpartition("To go on: ")[2])
        assert again == ["bopp", "worker", url_of(here), "a study"]
        wait_for(lambda: not any(map(alive, held(here))), "the objective still runs")


def test_a_store_does_not_tell_a_worker_what_to_run(bopp: Bopp, told: Path) -> None:
    for path in (*told.glob("*.toml"), told / "objective.py"):
        path.unlink()
    assert_refused(bopp("worker", url_of(told), "a study"), 2, "--file", "--python", "--command", "none")
    hostile = {"acquisition": {"part": "os.system"}, "initial": {"part": "subprocess.run", "settings": {}}}
    for recipe in (
        json.dumps(hostile),
        '{"acquisition": {"part": "search.__builtins__"}}',
        "__import__('os')",
    ):
        with closing(sqlite3.connect(told / "study.db")) as connection, connection:
            connection.execute("UPDATE bopp_studies SET recipe = ?, seal = NULL", (recipe,))
        assert_refused(bopp("worker", url_of(told), "a study", "--command", "echo 1 {params}"), 2)
        with closing(sqlite3.connect(told / "study.db")) as connection:
            assert connection.execute("SELECT count(*) FROM bopp_trials").fetchone() == (1,)


def test_a_worker_with_the_file_of_another_study_spoils_nothing(bopp: Bopp, here: Path) -> None:
    space = '[space]\nz = { type = "int", low = 0, high = 9 }\n'
    written(here, WAYS["command"].replace("{params}", "{z}"), space)
    make(here).close()
    assert bopp("worker", url_of(here), "a study", "--budget", 3).code == 2
    assert sequence(here) == []


# Streams and terminals


@pytest.mark.parametrize(
    "words",
    [
        ("trials",),
        *(pytest.param(w, marks=pytest.mark.endurance) for w in (("trials", "--csv"), ("export",))),
    ],
)
def test_a_reader_that_has_seen_enough_is_no_error_and_told_nothing(
    told: Path, words: tuple[str, ...]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    program = [sys.executable, "-m", "bopp", *words]
    ended = subprocess.run(program, cwd=told, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.endurance
def test_no_standard_output_is_no_error(told: Path) -> None:
    ended = subprocess.run(["/bin/sh", "-c", f"{PYTHON} -m bopp trials >&-"], cwd=told, capture_output=True)
    assert (ended.returncode, ended.stderr) == (0, b"")


LEADER = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, '-m', 'bopp', *sys.argv[1:]])"
)


def on_terminal(folder: Path, *words: object, keys: Callable[[], bytes] = lambda: b"") -> tuple[int, str]:
    """The exit code, and all that a terminal got; keys are pressed once there are some."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", LEADER, *map(str, words)],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"},
    )
    os.close(theirs)
    got, pressed, deadline = b"", b"", time.monotonic() + PATIENCE
    try:
        while time.monotonic() < deadline:
            if not pressed and (pressed := keys()):
                os.write(ours, pressed)
            if select.select([ours], [], [], 0.05)[0]:
                try:
                    got += os.read(ours, 65536)
                except OSError:  # closed on the other side
                    break
        return process.wait(PATIENCE), got.decode()
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        end_held(folder)


@pytest.mark.endurance
def test_a_terminal_gets_a_table_that_stays_and_a_file_what_is_printed(here: Path) -> None:
    printing = "print('printed [/data]', end='', flush=True)\n    print('to stderr', file=sys.stderr)"
    code = f"import sys\ndef loss(params):\n    {printing}\n    return params['x']\n"
    written(here, code=code, recipe="random", budget=3)
    ended, shown = on_terminal(here, "run")
    assert ended == 0
    assert "study.log" in shown
    assert "3 of 3" in shown
    assert "printed" not in shown
    assert "to stderr" not in shown
    assert (here / "study.log").read_text().count("printed [/data]") == 3
    assert shown.endswith("\r\n")
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is back
    ended, shown = on_terminal(here, "trials")
    assert (ended, "│" in shown) == (0, True)


@pytest.mark.endurance
def test_ctrl_c_on_a_terminal_stops_a_run(bopp: Bopp, here: Path, uninterrupted: Sequence) -> None:
    written(here, WAYS["shell"])
    (here / "hold").touch()
    code, shown = on_terminal(here, "run", keys=lambda: b"\x03" if held(here) else b"")
    assert code == 130
    assert "6 trials are kept in" in shown
    assert "To go on: bopp run\r\n" in shown
    assert "Traceback" not in shown
    assert "\x1b[?25h" in shown
    wait_for(lambda: not any(map(alive, held(here))), "the objective still runs")
    (here / "hold").unlink()
    assert bopp("run").code == 0
    assert sequence(here) == uninterrupted


def test_values_are_told_by_name(bopp: Bopp, here: Path) -> None:
    url = url_of(here)
    problem = Problem({"x": Float(0, 1)}, {"error": "minimize"}, [AtMost("memory", 8.0)])
    open_study(url, "p", problem).close()
    assert bopp("ask", url).code == 0
    assert bopp("tell", "0", "error=0.1,memory=7,seconds=3", "--noise", "0.02", "--in", url).code == 0
    with open_study(url, "p", read_only=True) as study:
        told = study.trials[0]
    assert (told.values, told.noise) == ({"error": 0.1, "memory": 7.0}, {"error": 0.02})
    assert told.measurements == {"seconds": 3.0}
    assert bopp("best", url).out.split()[:4] == ["error", "0.1", "memory", "7.0"]
    assert bopp("trials", url, "--csv").out.splitlines()[0].endswith("notes,breaks,seconds")


def test_a_study_is_switched_to_another_recipe(bopp: Bopp, here: Path) -> None:
    open_study(url_of(here), "p", {"x": Float(0, 1)}).close()
    assert bopp("switch", "random", "--in", url_of(here)).code == 0
    with open_study(url_of(here), "p", read_only=True) as study:
        assert study.recipe == Recipe.random()
