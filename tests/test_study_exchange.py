import gc
import hashlib
import json
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bopp
from bopp import AtMost, Choice, Fixed, Float, Int, Linear, Params, Problem, Recipe, Study, Trial, pseudo
from bopp.data import Array
from bopp.errors import StoreError, StudyError
from bopp.known import Known
from bopp.plain import write_trial
from bopp.problem import Direction
from bopp.study.exchange import FORMAT, _read, exported, imported
from support.faults import Figure
from support.postgres import Server

SPACE: dict[str, bopp.Parameter] = {
    "rate": Float(1e-6, 1.0, log=True),
    "wide": Int(-(2**52), 2**52),
    "shape": Choice([(1, 2), (2, 1), (), ("a", (None, True))]),
    "name \x1b[2J": Choice(["x", 1, "1", None, False, 0.5, 'line\nend "quoted"']),
}
NAME = 'a "study" of <b>ünïcödé ☃</b>, [red] and \\'
HOSTILE = "\x1b[2J\x1b[31m\n\r\t\0\u2028 [/red] \udcff 👩‍🔬"


def params(step: int) -> Params:
    shape, name = SPACE["shape"], SPACE["name \x1b[2J"]
    assert isinstance(shape, Choice)
    assert isinstance(name, Choice)
    return {
        "rate": 1e-6 + step / 1000,
        "wide": 2**52 - step,
        "shape": shape.options[step % len(shape.options)],
        "name \x1b[2J": name.options[step % len(name.options)],
    }


def filled(url: str, name: str = NAME, recipe: Recipe | None = None, lease: float | None = 60.0) -> Study:
    """A study with a trial of every state and origin, and texts that are hard to keep."""
    study = bopp.open_study(url, name, SPACE, "maximize", 2**63 - 1, recipe or Recipe.random(), lease)
    for step in range(8):
        study.enqueue(params(step))
    for value in (0.1 + 0.2, -1e-308, 1e300):
        study.tell(study.ask(), value)
    study.fail(study.ask(), HOSTILE)
    study.tell(study.ask(), float("-inf"))
    study.note(2, HOSTILE)
    study.observe(params(9), 5)
    study.observe(params(10), None)
    study.ask(2)
    return study


def dump(url: str) -> list[str]:
    """All that is in a file."""
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        lines = list(connection.iterdump())
    connection.close()
    return lines


def url_of(tmp_path: Path, name: str = "one.db") -> str:
    return f"sqlite:///{tmp_path / name}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes, bytes]:
    """The file of a study, its export, and the file of a store in which there is something to lose."""
    folder = tmp_path_factory.mktemp("made")
    content = exported(filled(url_of(folder)))
    study = bopp.open_study(
        url_of(folder, "target.db"), "another", {"x": Float(0, 1)}, recipe=Recipe.random()
    )
    study.tell(study.ask(), 1.0)
    return (folder / "one.db").read_bytes(), content, (folder / "target.db").read_bytes()


@pytest.fixture
def source(made: tuple[bytes, bytes, bytes], tmp_path: Path) -> Study:
    (tmp_path / "one.db").write_bytes(made[0])
    return bopp.open_study(url_of(tmp_path), NAME)


@pytest.fixture
def content(made: tuple[bytes, bytes, bytes]) -> bytes:
    return made[1]


@pytest.fixture
def target(made: tuple[bytes, bytes, bytes], tmp_path: Path) -> str:
    (tmp_path / "target.db").write_bytes(made[2])
    return url_of(tmp_path, "target.db")


def signed(*rows: Any) -> bytes:
    """Lines with the checksum that fits."""
    return sealed("".join(f"{json.dumps(row)}\n" for row in rows).encode())


def sealed(body: bytes) -> bytes:
    return body + b'{"sha256": "%s"}\n' % hashlib.sha256(body).hexdigest().encode()


def rows_of(content: bytes) -> list[Any]:
    return [json.loads(line) for line in content.splitlines()][:-1]


def refused(url: str, content: bytes, name: str | None = None) -> str:
    """The message, where nothing was changed."""
    before = dump(url)
    with pytest.raises(StudyError) as caught:
        imported(url, content, name)
    assert dump(url) == before
    return str(caught.value)


def test_an_export_is_lines_of_json_with_a_checksum(source: Study, content: bytes) -> None:
    head, *rows, last = [json.loads(line) for line in content.splitlines()]
    assert head["bopp"] == FORMAT == 1
    assert (head["study"], head["objectives"], head["seed"]) == (NAME, {"value": "maximize"}, 2**63 - 1)
    assert head["trials"] == len(rows) == 9
    assert rows == [json.loads(json.dumps(write_trial(source.space, trial))) for trial in source.trials]
    body = content[: content.rindex(b"\n", 0, -1) + 1]
    assert last == {"sha256": hashlib.sha256(body).hexdigest()}
    assert content.isascii()
    assert exported(source) == content


def test_a_round_trip_is_equal_to_the_byte(source: Study, content: bytes, target: str) -> None:
    assert imported(target, content) == NAME
    copy = bopp.open_study(target, NAME)
    assert copy.trials == source.trials
    assert (copy.space, copy.direction, copy.seed) == (source.space, "maximize", 2**63 - 1)
    assert copy.recipe == source.recipe
    assert exported(copy) == content
    assert len(bopp.open_study(target, "another").trials) == 1
    fresh = signed({**rows_of(content)[0], "trials": 0})
    imported(target, fresh, "fresh")
    assert bopp.open_study(target, "fresh").trials == ()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_round_trip_through_postgresql_is_equal_to_the_byte(
    content: bytes, postgres_url: str, postgres_server: Server
) -> None:
    imported(postgres_url, content)
    try:
        assert postgres_server.kill_connections(postgres_url) == 0  # an import leaves none open
    finally:
        gc.collect()
    with bopp.open_study(postgres_url, NAME) as copy:
        assert exported(copy) == content


SQUARE = {"x": Float(0, 1), "y": Float(0, 1)}
MIXED = {"x": Float(0, 1), "y": Int(1, 9), "c": Choice(["a", (1, 2), None]), "f": Fixed(3)}
NESTED = {"kind": Choice(["a", "b"]), "x": Float(0, 1), "y": Float(0, 1, when={"kind": "a"})}
ONE: dict[str, Direction] = {"value": "minimize"}
BOTH: dict[str, Direction] = {"value": "minimize", "cost": "maximize"}
KINDS: dict[str, tuple[Problem, dict[str, Any]]] = {
    "floats": (Problem(SQUARE), {}),
    "mixed": (Problem(MIXED, {"value": "maximize"}), {}),
    "nested": (Problem(NESTED), {}),
    "paper": (Problem(SQUARE), {"recipe": Recipe.paper("ei")}),
    "random": (Problem(MIXED), {"recipe": Recipe.random()}),
    "constraints": (Problem(SQUARE, ONE, [AtMost("cost", 0.9), Linear({"x": 1, "y": 1}, at_most=1.5)]), {}),
    "two objectives": (Problem(SQUARE, BOTH, reference={"value": 1.0, "cost": 0.0}), {}),
    "fidelities": (Problem(SQUARE, ONE, fidelities={"epochs": [1, 9]}), {}),
    "knowledge": (
        Problem(SQUARE),
        {"knowledge": [pseudo.Images(exchange=("x", "y")), pseudo.Limits(at_least=-2.0)]},
    ),
}


def measured(params: Params) -> dict[str, float]:
    x, y = params["x"], float(params.get("y", 0.5))
    return {"value": x - y, "cost": x * y}


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_of_each_kind_goes_on_elsewhere_as_it_would_have_here(kind: str, tmp_path: Path) -> None:
    problem, settings = KINDS[kind]
    here = bopp.open_study(url_of(tmp_path), "s", problem, seed=3, **settings)
    for number in range(7):
        trial = here.ask()
        if number == 2:
            here.fail(trial, "spilled")
        else:
            here.tell(trial, measured(trial.params))
    content = exported(here)
    imported(url_of(tmp_path, "two.db"), content)
    there = bopp.open_study(url_of(tmp_path, "two.db"), "s")
    again = bopp.open_study(url_of(tmp_path), "s")
    assert exported(there) == exported(again) == content
    following = [trial.params for trial in there.ask(2)]
    assert following == [trial.params for trial in again.ask(2)]


def test_a_name_that_is_taken_is_refused(source: Study, content: bytes, tmp_path: Path) -> None:
    assert "already" in refused(url_of(tmp_path), content)
    assert "already" in refused(url_of(tmp_path), content, NAME)
    bopp.open_study(url_of(tmp_path), "another", {"x": Float(0, 1)})
    assert "'another'" in refused(url_of(tmp_path), content, "another")


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[2J", "x" * 2501, "\udcff"])
def test_a_name_that_no_study_may_have_is_refused(name: str, content: bytes, target: str) -> None:
    assert "name of a study" in refused(target, content, name)
    head, *rows = rows_of(content)
    said = refused(target, signed({**head, "study": name}, *rows))
    assert "name of a study" in said or "whole letters" in said


def test_trials_that_were_under_way_are_handed_out_again(source: Study, content: bytes, target: str) -> None:
    imported(target, content)
    copy = bopp.open_study(target, NAME)
    again = copy.ask(2)
    assert [(trial.number, trial.params) for trial in again] == [
        (trial.number, trial.params) for trial in source.trials if trial.state == "asked"
    ]
    assert copy.ask().number == len(source.trials)
    copy.tell(again[0], 1.0)
    assert copy.trials[again[0].number].value == 1.0


def test_trials_of_nobody_or_held_by_hand_are_handed_out_again_too(
    content: bytes, tmp_path: Path, target: str
) -> None:
    head, *rows = rows_of(content)
    imported(target, signed(head, *[{**row, "worker": None} for row in rows]))
    assert bopp.open_study(target, NAME).ask().number == 7
    held = filled(url_of(tmp_path), lease=None)
    imported(url_of(tmp_path, "two.db"), exported(held))
    assert bopp.open_study(url_of(tmp_path, "two.db"), NAME, lease=None).ask().number == 7


def of_mine(mean: Array, deviation: Array, known: Known) -> Array:
    return mean


def test_a_recipe_with_parts_of_your_own_has_to_be_brought_along(tmp_path: Path, target: str) -> None:
    mine = replace(Recipe.default(), acquisition=of_mine)
    source = filled(url_of(tmp_path), recipe=mine)
    content = exported(source)
    imported(target, content)
    copy = bopp.open_study(target, NAME)
    assert exported(copy) == content
    assert copy.trials == source.trials
    with pytest.raises(StudyError, match="acquisition"):
        copy.recipe  # noqa: B018
    assert bopp.open_study(target, NAME, recipe=mine).recipe == mine
    with pytest.raises(StudyError, match="recipe"):
        bopp.open_study(target, NAME, recipe=Recipe.default())


@pytest.mark.fault(8)
def test_every_truncation_is_refused(content: bytes, target: str, tmp_path: Path, figure: Figure) -> None:
    rng = np.random.default_rng(0)
    sizes = {*rng.integers(0, len(content) - 1, 150).tolist(), 0, 1, len(content) - 2}
    for size in sizes:
        refused(target, content[:size])
    lines = content.splitlines(keepends=True)
    for count in range(len(lines)):
        refused(target, b"".join(lines[:count]))
        refused(target, b"".join(lines[count + 1 :]))
    with pytest.raises(StudyError):
        imported(url_of(tmp_path, "new.db"), content[:-10])
    assert not (tmp_path / "new.db").exists()
    figure(f"cut at {len(sizes)} places: {len(sizes)} refused")


@pytest.mark.fault(8)
def test_an_edit_anywhere_is_refused(content: bytes, target: str, figure: Figure) -> None:
    rng = np.random.default_rng(1)
    last = content.rindex(b"{")
    places = {*rng.integers(0, last, 150).tolist(), last - 1, *range(last, len(content) - 1)}
    for place in places:
        other = b"8" if content[place : place + 1] != b"8" else b"7"
        refused(target, content[:place] + other + content[place + 1 :])
    for place in rng.integers(0, last, 50).tolist():
        refused(target, content[:place] + content[place + 1 :])
        refused(target, content[:place] + b" " + content[place:])
    figure(f"{len(places) + 100} edits: {len(places) + 100} refused")


@pytest.mark.fault(8)
def test_lines_in_another_order_or_twice_are_refused(content: bytes, target: str) -> None:
    lines = content.splitlines(keepends=True)
    for place in range(len(lines) - 1):
        swapped = [*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]]
        refused(target, b"".join(swapped))
        refused(target, b"".join([*lines[: place + 1], *lines[place:]]))


@pytest.mark.parametrize(
    "wrong",
    [
        *(b"", b"\n\n\n", b"\0" * 1000, bytes(range(256)) * 10, "[study]\nname = 'x'\n".encode("utf-16")),
        *(b"[]\n[]\n", b"{}\n{}\n", b"null\nnull\n", b'"bopp"\n{"sha256": ""}\n', b"[" * 100_000),
        *(b'{"bopp":' * 20_000 + b"\n{}", b"9" * 10_000),
        *(signed(), signed([]), signed({}), signed({"bopp": 1}), signed({"bopp": 1, "trials": 0})),
    ],
    ids=lambda content: repr(content[:20]),
)
def test_what_is_no_export_is_refused(wrong: bytes, target: str) -> None:
    assert len(refused(target, wrong)) < 1000


@pytest.mark.parametrize("number", [0, 2, 1.0, True, "1", None, 10**30, [1], {}])
def test_another_format_is_refused_by_its_number(number: Any, content: bytes, target: str) -> None:
    head, *rows = rows_of(content)
    assert repr(number)[:20] in refused(target, signed({**head, "bopp": number}, *rows))


HEADS: list[dict[str, Any]] = [
    *({"seed": one} for one in (-1, "0", 0.5, True, 2**63)),
    *({"trials": one} for one in (8, "9", True)),
    *({"study": one} for one in (5, None)),
    *({"recipe": one} for one in (None, "random", {}, {"initial": {"part": "os.system"}})),
    *({"knowledge": one} for one in (None, {"part": "os.system"}, [5], [{"part": "os.system"}])),
    *({"space": {}}, {"objectives": None}, {"objectives": {"value": "upwards"}}),
]
"""Heads that are wrong; test_plain.py has the spaces, problems and recipes that are none."""


@pytest.mark.parametrize("change", HEADS, ids=repr)
def test_a_study_that_cannot_be_is_refused_even_with_a_checksum(
    change: dict[str, Any], content: bytes, target: str
) -> None:
    head, *rows = rows_of(content)
    refused(target, signed({**head, **change}, *rows))
    refused(target, signed({name: value for name, value in head.items() if name not in change}, *rows))


TRIALS: list[Any] = [None, [], {}, {"number": 7}, {"state": "asked"}, {"value": 1.5}, {"ticket": "mine"}]
TRIALS += [{"params": {}}, {"params": {"rate": 2.0}}, {"origin": "stolen"}, {"told_at": 5}]
"""What replaces a trial or its fields; test_plain.py has each field that is wrong."""


@pytest.mark.parametrize("change", TRIALS, ids=repr)
def test_a_trial_that_cannot_be_is_refused_even_with_a_checksum(
    change: Any, content: bytes, target: str
) -> None:
    head, first, *rows = rows_of(content)
    refused(target, signed(head, {**first, **change} if change else change, *rows))


@pytest.mark.fault(8)
def test_an_import_that_breaks_off_leaves_nothing(
    content: bytes, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bopp.study.ledger import Ledger

    add, before = Ledger.add, dump(target)

    def full(self: Ledger, connection: Any, trials: Sequence[Trial], revision: int, claims: Any) -> None:
        add(self, connection, trials[:5], revision, claims[:5])
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Ledger, "add", full)
    with pytest.raises(StoreError, match="full"):
        imported(target, content)
    assert dump(target) == before


@pytest.mark.endurance
def test_ten_thousand_trials_are_imported_in_seconds(tmp_path: Path) -> None:
    space: dict[str, bopp.Parameter] = {"x": Float(0, 1), "layers": Int(1, 9)}
    head = rows_of(exported(bopp.open_study(url_of(tmp_path), "large", space)))[0]
    times = {"asked_at": "2026-01-01T00:00:00+00:00", "told_at": "2026-01-01T00:00:01+00:00"}
    rows = [
        write_trial(
            bopp.Space(space),
            Trial(number, {"x": number / 10_000, "layers": 1 + number % 9}, "done", {"value": 0.5}),
        )
        | times
        for number in range(10_000)
    ]
    began = time.monotonic()
    imported(url_of(tmp_path, "two.db"), signed({**head, "trials": 10_000}, *rows))
    copy = bopp.open_study(url_of(tmp_path, "two.db"), "large")
    assert len(exported(copy).splitlines()) == 10_002
    assert time.monotonic() - began < 60.0


ABSENT = object()
DEEP: list[Any] = []
for _ in range(500):
    DEEP = [DEEP]
ANYTHING: list[Any] = [
    *(ABSENT, None, True, False, 0, -1, 3, 10**400, -(10**4000), 0.5, float("nan"), float("inf")),
    *("x", "\ud800", "\0", "2026-01-01T00:00:00", "done", "dropped"),
    *([], {}, {"tuple": "x"}, {"option": 0}, {"number": "x"}, {"part": "os.system"}, DEEP),
]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every field at every level."""
    if at:
        yield at
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield from places(value[key], (*at, key))


def changed(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    copy = value.copy()
    if len(at) == 1 and new is ABSENT:
        del copy[at[0]]
    else:
        copy[at[0]] = new if len(at) == 1 else changed(value[at[0]], at[1:], new)
    return copy


@pytest.fixture(scope="module")
def various() -> list[Any]:
    """The lines of a study with something in every field."""
    space = {
        "rate": Float(1e-6, 1.0, log=True),
        "n": Int(0, 64, step=2),
        "shape": Choice([(1, 2), "a", None]),
        "more": Float(0, 1, when={"shape": ["a"]}),
        "batch": Fixed(30),
    }
    problem = Problem(space, {"error": "minimize"}, [AtMost("memory", 8.0)])
    with bopp.open_study("sqlite://", "s", problem, seed=3, recipe=Recipe.random()) as study:
        study.tell(
            study.ask(),
            {"error": 0.5, "memory": 7.0, "note": "x", "most": float("inf")},
            noise={"error": 0.1},
        )
        study.fail(study.ask(), "broke", "trace")
        study.amend(0, {"error": 0.25, "memory": 7.5}, "why")
        study.note(0, "a note")
        study.ask()
        study.drop(1, "gone")
        return rows_of(exported(study))


@pytest.mark.endurance
@pytest.mark.fault(43)
def test_whatever_is_sealed_is_refused_or_means_the_same_again(various: list[Any]) -> None:
    """Each field at each level, replaced by each of these, with a checksum that fits."""
    taken = 0
    for at in (place for place in places(various) if len(place) <= 5):
        for new in ANYTHING:
            rows = changed(various, at, new)
            try:
                head, _, _ = _read(signed(*rows))
            except StudyError:
                continue
            taken += 1
            if taken % 60 == 0:  # a store takes ten times as long
                back = again(rows, head["study"])
                assert [{**one, **given} for one, given in zip(back, rows, strict=True)] == back
    assert taken > 100


def again(rows: list[Any], name: str) -> list[Any]:
    """What an import of these lines exports."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/a.db"
        assert imported(url, signed(*rows)) == name
        with bopp.open_study(url, name, read_only=True) as study:
            return rows_of(exported(study))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_constants_that_json_lacks_are_refused(number: str, content: bytes, target: str) -> None:
    body = content[: content.rindex(b"\n", 0, -1) + 1].replace(b'"x", 1,', f'"x", {number},'.encode(), 1)
    assert number in refused(target, sealed(body))
