"""What earlier versions of bopp have stored can be opened, is all there, and goes on as it would have.

tests/fixtures has a folder for each version, with a script that tells how its files were made. They are for
ever: a test that fails here has found files of users that bopp would no longer read, or studies that would
take another way.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bopp.bridges
from bopp import (
    Choice,
    Float,
    Int,
    Optimizer,
    Recipe,
    Result,
    Space,
    Study,
    Trial,
    kernels,
    open_study,
    outcome,
    pseudo,
)
from bopp import acquisition as acquisitions
from bopp import fit as fits
from bopp import initial as initials
from bopp import search as searches
from bopp.errors import StudyError
from support import processors
from support.commands import Bopp

FOLDER = Path(__file__).parent / "fixtures" / "0.1.0"
sys.path.insert(0, str(FOLDER))
import own_parts  # noqa: E402

EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
HISTORIES: list[dict[str, Any]] = json.loads((FOLDER / "histories.json").read_text(encoding="utf-8"))
STUDIES: dict[str, dict[str, Any]] = {f"{row['store']}: {row['name']}": row for row in EXPECTED["studies"]}
BY_NAME: dict[str, dict[str, Any]] = {
    row["name"]: row for row in STUDIES.values() if row["store"] == "studies.db"
}

SAME_BITS = processors.fingerprint() == EXPECTED["processor"]
TOLERANCE = 1e-6  # of the range, on another processor, as docs/studies.md promises
ANYWHERE = {"slices"}  # its draws may change: any point of the space will do
LAST_BIT = {"paper", "paper-ei", "paper-ucb", "paper-pi"}  # on another processor DIRECT may take another way

PRIORS = fits.Priors(fits.LogNormal(-0.7, 1.0), fits.LogNormal(0.0, 1.0), fits.LogNormal(-10.0, 3.0))
DEFAULT = Recipe(
    kernel=kernels.Matern52(ard=True),
    fit=fits.MAP(PRIORS, variance=None, noise=None, largest=1000, lengthscale=(0.005, 1000.0)),
    pseudo=pseudo.Pending("expected") + pseudo.Failed("pessimistic"),
    acquisition=acquisitions.log_ei,
    search=searches.Gradients(candidates=500, local=250, starts=10, steps=50),
    initial=initials.Sobol(5),
    outcome=outcome.power,
)
"""That of version 0.1.0, whatever is the default today."""


def paper(acquisition: Any, policy: Any) -> Recipe:
    return Recipe(
        kernel=kernels.SquaredExponential(ard=True),
        fit=fits.MaximumLikelihood(variance=1.0, noise=1e-4, lengthscale=(0.015, 1000.0), largest=1000),
        pseudo=policy,
        acquisition=acquisition,
        search=searches.Direct(100),
        initial=initials.Uniform(5),
        outcome=outcome.raw,
    )


NEIGHBOURS = pseudo.Neighbours(0.001, "box", per_point=1, doubt=False)
EARLIER = replace(DEFAULT, pseudo=pseudo.Pending("incumbent") + pseudo.Failed("pessimistic"))
SLICES = fits.SliceSampling(
    PRIORS, None, None, samples=3, burn_in=2, thinning=2, largest=1000, lengthscale=(0.005, 1000.0)
)
RECIPES = {
    "default": DEFAULT,
    "random": replace(DEFAULT, initial=initials.Sobol(float("inf"))),
    "paper-ucb": paper(acquisitions.UCB(acquisitions.paper_beta), NEIGHBOURS),
    "paper-pi": paper(acquisitions.pi, NEIGHBOURS),
    "paper-ei": paper(acquisitions.ei, NEIGHBOURS),
}
RECIPE_OF = {
    "random": RECIPES["random"],
    "paper": RECIPES["paper-ucb"],
    "paper-ei": paper(acquisitions.ei, pseudo.none),
    "slices": replace(DEFAULT, fit=SLICES, acquisition=acquisitions.MES(16)),
    "yours": replace(DEFAULT, pseudo=own_parts.mirror),
    "earlier": EARLIER,
}
"""Those of studies; the others have the default."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of all files."""
    return Path(
        shutil.copytree(FOLDER, tmp_path / "copy", ignore=shutil.ignore_patterns("*.py[co]", "make.py"))
    )


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


def opened(folder: Path, row: Mapping[str, Any], name: str | None = None, store: str | None = None) -> Study:
    """A study of these files, with the part that is not bopp's."""
    recipe = RECIPE_OF["yours"] if row["name"] == "yours" else None
    return open_study(
        url_of(folder / (store or row["store"])), name or row["name"], recipe=recipe, lease=None
    )


def command(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command line, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "bopp", *map(str, words)],
        cwd=folder,
        env=os.environ | {"PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )


def plain(value: Any) -> Any:
    """A value as the files have it, to the last bit."""
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, tuple):
        return {"tuple": [plain(part) for part in value]}
    return {name: plain(part) for name, part in value.items()} if isinstance(value, dict) else value


def usual(value: Any) -> Any:
    """A value as other programs get it by JSON."""
    if isinstance(value, dict) and "float" in value:
        return float.fromhex(value["float"])
    if isinstance(value, dict) and "tuple" in value:
        return [usual(part) for part in value["tuple"]]
    return {name: usual(part) for name, part in value.items()} if isinstance(value, dict) else value


def plain_trial(trial: Trial) -> dict[str, Any]:
    row = {name: plain(getattr(trial, name)) for name in ("number", "params", "state", "value", "error")}
    row |= {name: getattr(trial, name) for name in ("origin", "notes", "worker")}
    times = {name: getattr(trial, name) for name in ("asked_at", "told_at")}
    return row | {name: time and time.isoformat() for name, time in times.items()}


def text(value: Any) -> str:
    """One that tells 1 from True, and shows where two differ."""
    return json.dumps(value, indent=1, ensure_ascii=False)


def assert_all_there(trials: tuple[Trial, ...], rows: list[dict[str, Any]]) -> None:
    assert text([plain_trial(trial) for trial in trials]) == text(rows)


def assert_goes_on(space: Space, trials: list[Trial], rows: list[dict[str, Any]], recipe: str) -> None:
    """These trials, which were asked for one after the other, are those that 0.1.0 would have suggested.

    On another processor that holds for the first suggestion; each further one builds on rounding before it.
    """
    assert len(trials) == len(rows) > 0
    near = recipe not in LAST_BIT | ANYWHERE
    for trial, row in zip(trials, rows, strict=True):
        assert (trial.number, trial.origin) == (row["number"], row["origin"])
        assert text(plain(space.check(trial.params))) == text(plain(trial.params))
        cube = space.encode(trial.params).tolist()
        if row["engine"] is None or (SAME_BITS and recipe not in ANYWHERE):
            assert text(plain(trial.params)) == text(row["params"])
        elif near:
            assert cube == pytest.approx(list(map(float.fromhex, row["cube"])), abs=TOLERANCE)
            near = False
        if SAME_BITS and recipe not in ANYWHERE:
            assert [x.hex() for x in cube] == row["cube"]


def test_no_file_has_been_changed() -> None:
    """Files that users have cannot be mended either."""
    assert EXPECTED["bopp"] == "0.1.0"
    assert len(EXPECTED["sha256"]) == 15
    for name, checksum in EXPECTED["sha256"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == checksum, name


# stores


@pytest.mark.fault(22)
@pytest.mark.parametrize("which", STUDIES)
def test_a_study_is_all_there(which: str, folder: Path) -> None:
    row = STUDIES[which]
    with opened(folder, row) as study:
        assert (study.name, study.direction, study.seed) == (row["name"], row["direction"], row["seed"])
        assert {name: repr(one) for name, one in study.space.parameters.items()} == row["parameters"]
        assert study.recipe == RECIPE_OF.get(row["name"], DEFAULT)
        assert_all_there(study.trials, row["trials"])
        assert text(list(map(plain, study.queued))) == text(row["queued"])
        if row["best"] is not None:
            assert text(plain_trial(study.best)) == text(row["trials"][row["best"]])


@pytest.mark.parametrize("which", STUDIES)
def test_a_study_goes_on_as_it_would_have(which: str, folder: Path) -> None:
    row = STUDIES[which]
    with opened(folder, row) as study:
        asked = study.ask(len(row["next"]))
        assert_goes_on(study.space, asked, row["next"], row["name"])
        study.tell(asked[-1], 0.5)
        further = study.ask()
        assert study.space.check(further.params) == further.params
    with opened(folder, row) as study:  # and all of that was kept, beside what was there
        given = [*asked[:-1], study.trials[asked[-1].number], further]
        numbers = [trial.number for trial in given]
        assert [study.trials[number] for number in numbers] == given
        before = [trial["number"] for trial in row["trials"] if trial["number"] not in numbers]
        assert text([plain_trial(study.trials[number]) for number in before]) == text(
            [row["trials"][number] for number in before]
        )
        assert study.trials[asked[-1].number].value == 0.5


def test_the_files_are_what_they_are_called() -> None:
    """A study of every kind is among them, and the stores are as old as they should be."""
    versions, recipes = {}, {}
    for store in ("studies.db", "schema-1.db", "first-tables.db", "earlier-default.db"):
        uri = f"{(FOLDER / store).as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            versions[store] = connection.execute("SELECT version FROM bopp_schema").fetchone()[0]
            recipes[store] = connection.execute("SELECT recipe FROM bopp_studies").fetchone()[0]
    assert versions == {"studies.db": 2, "schema-1.db": 1, "first-tables.db": 2, "earlier-default.db": 2}
    assert '"incumbent"' in recipes["earlier-default.db"]
    mixed = BY_NAME["Messreihe β"]
    states = [trial["state"] for trial in mixed["trials"]]
    origins = [trial["origin"] for trial in mixed["trials"]]
    assert [states.count(state) for state in ("done", "failed", "asked")] == [12, 2, 1]
    assert [origins.count(origin) for origin in ("suggested", "queued", "observed")] == [13, 1, 1]
    assert len(mixed["queued"]) == 2
    assert any(trial["notes"] for trial in mixed["trials"])
    assert {name: len(row["trials"]) for name, row in BY_NAME.items() if name != "Messreihe β"} == {
        "plain": 12,
        "paper": 8,
        "paper-ei": 8,
        "random": 8,
        "slices": 8,
        "batch": 16,
        "released": 7,
        "yours": 8,
        "empty": 0,
    }


def test_the_space_of_a_study_is_still_taken_for_the_same(folder: Path) -> None:
    """Programs open a study with all that they created it with."""
    space: dict[str, bopp.Parameter] = {"x": Float(-5, 10), "rate": Float(1e-5, 1, log=True)}
    mixed: dict[str, bopp.Parameter] = {
        "größe": Float(-2, 2.5),
        "layers": Int(1, 9),
        "width": Int(8, 1024, log=True),
        "act": Choice(["relu", "tanh", "elu", "größer"]),
        "odd": Choice([(1, 2), None, True, 7, ("a", (None, False)), 0.1]),
        "size": Choice(["S", "M", "L", "XL"], ordered=True),
    }
    url = url_of(folder / "studies.db")
    with open_study(url, "plain", space, "minimize", 3, DEFAULT) as study:
        assert len(study.trials) == 12
    with open_study(url, "Messreihe β", mixed, "maximize", 2**70) as study:
        assert len(study.trials) == 15
    with pytest.raises(StudyError, match="direction"):
        open_study(url, "plain", space, "maximize")
    with pytest.raises(StudyError, match="rate"):
        open_study(url, "plain", {**space, "rate": Float(1e-5, 1)})


def test_a_study_with_a_part_of_yours_can_be_looked_at_without_it(folder: Path) -> None:
    row = BY_NAME["yours"]
    with open_study(url_of(folder / "studies.db"), "yours") as study:
        assert_all_there(study.trials, row["trials"])
        assert study.best.number == row["best"]
        with pytest.raises(StudyError, match="pseudo"):
            study.ask()
        assert len(study.trials) == len(row["trials"])
    with pytest.raises(StudyError, match="pseudo"):
        open_study(url_of(folder / "studies.db"), "yours", recipe=DEFAULT)


# the command line


def test_the_command_line_lists_the_studies(folder: Path) -> None:
    ended = command("status", url_of(folder / "studies.db"), folder=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    for name in BY_NAME:
        assert name in ended.stdout


def test_the_command_line_shows_all_that_is_there(folder: Path) -> None:
    rows = [usual(trial) for trial in BY_NAME["Messreihe β"]["trials"]]
    ended = command("trials", url_of(folder / "studies.db"), "Messreihe β", "--json", folder=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    found = json.loads(ended.stdout)
    assert text([{field: trial[field] for field in rows[0]} for trial in found]) == text(rows)


@pytest.mark.parametrize("which", STUDIES)
def test_the_command_line_reads_every_study(which: str, folder: Path, bopp: Bopp) -> None:
    row = STUDIES[which]
    url, copy, name = url_of(folder / row["store"]), folder / "export.jsonl", row["name"]
    rows = [usual(trial) for trial in row["trials"]]
    assert bopp("status", url, name).code == 0
    found = json.loads(bopp("trials", url, name, "--json").out)
    assert text([{field: trial[field] for field in rows[0]} for trial in found]) == text(rows)
    best = bopp("best", url, name, "--json")
    if rows:
        assert json.loads(best.out)["number"] == row["best"]
    else:
        assert best.code == 4
    assert bopp("export", url, name, "--out", copy).code == 0
    assert bopp("import", copy, url_of(folder / "new.db")).code == 0
    with opened(folder, row, store="new.db") as study:
        assert_all_there(study.trials, row["trials"])
        assert study.recipe == RECIPE_OF.get(name, DEFAULT)


def test_the_command_line_goes_on(folder: Path, bopp: Bopp) -> None:
    row, url = BY_NAME["plain"], url_of(folder / "studies.db")
    (asked,) = json.loads(command("ask", url, "plain", "--json", folder=folder).stdout)
    with opened(folder, row) as study:
        assert_goes_on(study.space, [study.trials[asked["number"]]], row["next"], "plain")
        assert asked["params"] == study.trials[12].params
    assert bopp("tell", 12, "0.25", "--in", url, "--name", "plain").code == 0
    with opened(folder, row) as study:
        assert study.trials[12].value == 0.25


# exports and results


@pytest.mark.parametrize("file", EXPECTED["exports"])
def test_an_export_can_be_imported_and_goes_on(file: str, folder: Path, bopp: Bopp) -> None:
    row = BY_NAME[EXPECTED["exports"][file]]
    assert bopp("import", folder / file, url_of(folder / "new.db")).code == 0
    with opened(folder, row, store="new.db") as study:
        assert_all_there(study.trials, row["trials"])
        assert (study.direction, study.seed) == (row["direction"], row["seed"])
        assert study.recipe == RECIPE_OF.get(row["name"], DEFAULT)
        waiting = [trial.number for trial in study.trials if trial.state == "asked"]
        if waiting:  # these are handed out again
            assert [trial.number for trial in study.ask(len(waiting))] == waiting
        if row["name"] != "Messreihe β":  # whose queue stays behind
            first = row["next"][0]["number"] in waiting
            rows = row["next"][1:] if first else row["next"]
            assert_goes_on(study.space, study.ask(len(rows)), rows, row["name"])


def test_an_export_can_be_imported_under_another_name(folder: Path, bopp: Bopp) -> None:
    assert bopp("import", folder / "mixed.jsonl", url_of(folder / "new.db"), "β 2").code == 0
    row = BY_NAME["Messreihe β"]
    with opened(folder, row, "β 2", "new.db") as study:
        assert_all_there(study.trials, row["trials"])


@pytest.mark.parametrize("file", EXPECTED["results"])
def test_a_result_can_be_read_and_gone_on_from(file: str) -> None:
    row = EXPECTED["results"][file]
    study = BY_NAME[row["study"]]
    result = Result.from_json((FOLDER / file).read_text(encoding="utf-8"))
    assert_all_there(result.trials, study["trials"])
    assert {name: repr(one) for name, one in result.space.parameters.items()} == study["parameters"]
    assert (result.direction, result.best.number) == (study["direction"], study["best"])
    optimizer = Optimizer(result.space, result.direction, study["seed"], DEFAULT, result.trials)
    assert_goes_on(result.space, [optimizer.ask()], [row["next"]], "default")


@pytest.mark.parametrize("case", HISTORIES, ids=lambda case: case["case"])
def test_the_next_suggestion_is_the_same(case: dict[str, Any]) -> None:
    result = Result.from_json(json.dumps(case["result"]))
    recipe = RECIPES[case["recipe"]]
    optimizer = Optimizer(result.space, result.direction, case["seed"], recipe, result.trials)
    assert_goes_on(result.space, [optimizer.ask()], [case["next"]], case["recipe"])


def test_a_point_of_the_cube_is_the_same_params() -> None:
    spaces = {
        which: Result.from_json(json.dumps(case["result"])).space for which, case in enumerate(HISTORIES)
    }
    for which, space in spaces.items():
        row = HISTORIES[which]["next"]
        point = space.encode({name: decoded(value) for name, value in row["params"].items()})
        assert point.tolist() == pytest.approx([float.fromhex(x) for x in row["engine"]], abs=1e-12)
        assert point.tolist() == pytest.approx([float.fromhex(x) for x in row["cube"]], abs=1e-12)


def decoded(value: Any) -> Any:
    """The value that `plain` wrote."""
    if isinstance(value, dict) and "tuple" in value:
        return tuple(decoded(part) for part in value["tuple"])
    return float.fromhex(value["float"]) if isinstance(value, dict) else value


# an earlier default


def test_a_study_file_without_a_recipe_runs_with_that_of_the_study(folder: Path) -> None:
    ended = command("run", folder=folder)
    assert ended.returncode == 0, ended.stderr
    with opened(folder, STUDIES["earlier-default.db: earlier"]) as study:
        assert study.recipe == EARLIER
        assert [trial.state for trial in study.trials].count("done") == 13  # one is held by somebody


def test_a_study_file_without_a_recipe_asks_with_that_of_the_study(folder: Path, bopp: Bopp) -> None:
    row = STUDIES["earlier-default.db: earlier"]
    ended = bopp("ask", folder / "study.toml", "--json")
    assert ended.code == 0, ended.err
    with opened(folder, row) as study:
        assert_goes_on(study.space, [study.trials[10]], row["next"], "earlier")


def test_a_study_file_without_a_recipe_can_be_looked_at(folder: Path, bopp: Bopp) -> None:
    row = STUDIES["earlier-default.db: earlier"]
    assert json.loads(bopp("best", folder / "study.toml", "--json").out)["number"] == row["best"]
