import gzip
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bopp.errors import PaperError
from bopp.paper import runs as module
from bopp.paper.machine import this_machine
from bopp.paper.problems import NAMES
from bopp.paper.runs import ACQUISITIONS, KERNELS, VARIANTS, Folder, Key, Maximiser, Run, Setting, rounded
from support.postgres import room

MAXIMISERS: tuple[Maximiser, ...] = get_args(Maximiser)

seeded = settings(derandomize=True, deadline=None, max_examples=20)

finite = st.floats(allow_nan=False, allow_infinity=False)
keys = st.builds(
    Key,
    st.integers(0, 2000),
    st.sampled_from(NAMES),
    st.sampled_from(ACQUISITIONS),
    st.sampled_from(VARIANTS),
    st.sampled_from(KERNELS),
    st.sampled_from(MAXIMISERS),
)
some_runs = st.builds(
    Run,
    keys,
    st.booleans(),
    st.lists(finite, max_size=20).map(tuple),
    st.none() | st.lists(st.floats(0, 1), max_size=20).map(tuple),
    st.floats(0, 1e6),
    st.none() | st.just(this_machine()),
)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "experiment")
    folder.prepare(Setting())
    return folder


def run(repeat: int, *values: float, problem: str = "dropwave") -> Run:
    return Run(Key(repeat, problem, "ucb", "bo"), True, values or (0.5, 0.25, float(repeat)), None, 0.1)


def file(folder: Folder, run: Run) -> Path:
    return folder.path / "runs" / f"{run.key.name}.json"


def everything(folder: Folder) -> list[str]:
    return sorted(path.relative_to(folder.path).as_posix() for path in folder.path.rglob("*"))


@seeded
@given(st.lists(some_runs, max_size=4, unique_by=lambda run: run.key), st.booleans())
def test_what_is_kept_is_read_again(some: list[Run], packed: bool) -> None:
    with TemporaryDirectory(dir=room()) as path:
        folder = Folder(Path(path))
        folder.prepare(Setting())
        for one in some:
            folder.save(one)
        if packed:
            folder.pack()
        assert folder.runs() == sorted(some, key=lambda run: run.key)
        assert folder.done() == {run.key for run in some}


def test_all_keys_have_names_of_their_own_that_a_file_may_have() -> None:
    parts = product((0, 7, 70, 700, 7000), NAMES, ACQUISITIONS, VARIANTS, KERNELS, MAXIMISERS)
    names = [Key(*part).name for part in parts]
    assert len({name.lower() for name in names}) == len(names) == 5 * len(NAMES) * 3 * 5 * 2 * 2
    assert all(name.replace("-", "").replace("_", "").isalnum() for name in names)


@seeded
@given(st.lists(finite))
def test_kept_values_have_seven_digits(values: list[float]) -> None:
    kept = rounded(values)
    np.testing.assert_allclose(kept, values, rtol=5.1e-7, atol=1e-320)
    assert rounded(kept) == kept


def test_digits_beyond_the_seventh_are_dropped() -> None:
    assert rounded([0.123456749, -1234.56789, 3]) == (0.1234567, -1234.568, 3.0)


@seeded
@given(st.lists(finite, min_size=1, max_size=12), st.data())
def test_the_curve_is_the_best_so_far_from_the_last_initial_point_on(values: list[float], data: Any) -> None:
    initial = data.draw(st.integers(1, len(values)))
    key = Key(0, "x", "ucb", "bo")
    for regret, best in ((True, min), (False, max)):
        curve = Run(key, regret, tuple(values), None, 0.0).curve(initial)
        assert curve.tolist() == [best(values[:n]) for n in range(initial, len(values) + 1)]


def test_what_a_killed_writer_left_is_ignored(folder: Folder) -> None:
    folder.save(run(0))
    (folder.path / "runs" / ".abc.part").write_bytes(msgspec.json.encode(run(1)))
    (folder.path / "runs" / ".def.part").write_bytes(b"{")
    (folder.path / ".ghi.part").write_bytes(b"")
    assert folder.runs() == [run(0)]
    assert folder.done() == {run(0).key}
    folder.pack()
    assert folder.runs() == [run(0)]


DAMAGES = [
    lambda content: b"",
    lambda content: content[:-1],
    lambda content: content[: len(content) // 2],
    lambda content: b"\0" * len(content),
    lambda content: b"\xff\xfe" + content,
    lambda content: content.replace(b'"dropwave"', b'"drop\xffwave"'),
    lambda content: content.replace(b'"ucb"', b'"abc"'),
    lambda content: content.replace(b"0.25", b"null"),
    lambda content: b"[]",
]


@pytest.mark.parametrize("damage", DAMAGES, ids=range(len(DAMAGES)))
def test_a_damaged_run_is_made_again_and_named(folder: Folder, damage: Callable[[bytes], bytes]) -> None:
    for repeat in (0, 1, 2):
        folder.save(run(repeat))
    path = file(folder, run(1))
    content = path.read_bytes()
    assert damage(content) != content
    path.write_bytes(damage(content))
    assert folder.done() == {run(0).key, run(2).key}
    for read in (folder.runs, folder.pack):
        with pytest.raises(PaperError) as caught:
            read()
        assert [word for word in (str(path), "bopp paper run") if word not in str(caught.value)] == []
        assert "\n" not in str(caught.value)
    assert path.exists()
    folder.save(run(1))
    assert folder.runs() == [run(0), run(1), run(2)]


OTHERS: dict[str, Any] = {
    "iterations": 50,
    "initial": 4,
    "evaluations": 99,
    "shortest": 0.02,
    "fit": "bayesian",
    "noisy": True,
    "outcome": "standardised",
    "count_initial": True,
    "splits": "each",
    "metric": "accuracy",
}


@pytest.mark.parametrize("name", Setting.__struct_fields__)
def test_another_setting_is_refused_and_the_difference_named(folder: Folder, name: str) -> None:
    folder.save(run(0))
    other = msgspec.structs.replace(Setting(), **{name: OTHERS[name]})
    with pytest.raises(PaperError) as caught:
        folder.prepare(other)
    words = (str(folder.path), name, repr(getattr(Setting(), name)), repr(OTHERS[name]))
    assert [word for word in words if word not in str(caught.value)] == []
    assert "\n" not in str(caught.value)
    assert folder.setting == Setting()
    assert folder.runs() == [run(0)]


@pytest.mark.parametrize("setting", [Setting(), Setting(**OTHERS)])
def test_the_same_setting_goes_on(tmp_path: Path, setting: Setting) -> None:
    folder = Folder(tmp_path / "a" / "b")
    folder.prepare(setting)
    folder.save(run(0))
    folder.prepare(setting)
    assert folder.setting == setting
    assert folder.runs() == [run(0)]
    assert everything(folder) == ["runs", f"runs/{run(0).key.name}.json", "setting.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b'{"iterations":"many"}', b'{"pace":1}'])
def test_a_damaged_setting_is_named(folder: Folder, content: bytes) -> None:
    (folder.path / "setting.json").write_bytes(content)
    for read in (folder.runs, folder.pack, lambda: folder.setting, lambda: folder.prepare(Setting())):
        with pytest.raises(PaperError, match=r"setting\.json is damaged") as caught:
            read()
        assert "\n" not in str(caught.value)


def test_a_pack_is_the_same_bytes_whoever_packs_and_in_whatever_order(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Folder(tmp_path / "other")
    other.prepare(Setting())
    for repeat in range(5):
        folder.save(run(repeat))
        other.save(run(4 - repeat))
    first = folder.pack().read_bytes()
    monkeypatch.setattr("time.time", lambda: 2e9)
    assert folder.pack().read_bytes() == first
    assert other.pack().read_bytes() == first


def test_runs_are_added_to_a_pack(folder: Folder) -> None:
    folder.save(run(1))
    folder.pack()
    folder.save(run(0))
    folder.save(run(1, 9.0))
    assert folder.runs() == [run(0), run(1, 9.0)]
    assert folder.done() == {run(0).key, run(1).key}
    folder.pack()
    assert everything(folder) == ["runs", "runs.jsonl.gz", "setting.json"]
    assert folder.runs() == [run(0), run(1, 9.0)]


def test_a_run_that_is_kept_while_packing_is_not_lost(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a folder is packed in which an experiment runs."""
    folder.save(run(0))
    write: Callable[[Path, bytes], None] = module._write

    def meanwhile(path: Path, content: bytes) -> None:
        monkeypatch.setattr(module, "_write", write)
        folder.save(run(1))
        write(path, content)

    monkeypatch.setattr(module, "_write", meanwhile)
    folder.pack()
    assert folder.runs() == [run(0), run(1)]


def test_a_failed_pack_loses_nothing(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.save(run(0))
    before = everything(folder)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(PaperError, match="No space left on device"):
            folder.pack()
    assert everything(folder) == before
    assert folder.runs() == [run(0)]


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return (
        content[:middle] + bytes(byte ^ 0xFF for byte in content[middle : middle + 9]) + content[middle + 9 :]
    )


@pytest.mark.parametrize(
    "damage",
    [
        flipped,
        lambda content: content[: len(content) // 2],
        lambda content: content[:-4],
        lambda content: b"{}",
        lambda content: gzip.compress(gzip.decompress(content)[:-9]),
    ],
    ids=["flipped", "half-lost", "end-lost", "another-file", "cut-before"],
)
def test_a_damaged_pack_is_named(folder: Folder, damage: Callable[[bytes], bytes]) -> None:
    for repeat in range(9):
        folder.save(run(repeat, *np.random.default_rng(repeat).random(30).tolist()))
    path = folder.pack()
    path.write_bytes(damage(path.read_bytes()))
    for read in (folder.runs, folder.done, folder.pack):
        with pytest.raises(PaperError) as caught:
            read()
        assert str(caught.value).startswith(f"{path} is damaged: ")
        assert "\n" not in str(caught.value)


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        folder = Folder(path)
        for read in (folder.runs, folder.pack, lambda folder=folder: folder.setting):
            with pytest.raises(
                PaperError, match=r"holds no experiment; to make one: bopp paper run --out=.*"
            ):
                read()
        assert folder.done() == set()
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_folder_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("no folder")
    folder = Folder(path)
    for use in (folder.runs, folder.pack, lambda: folder.setting, lambda: folder.prepare(Setting())):
        with pytest.raises(PaperError) as caught:
            use()
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert path.read_text() == "no folder"


def test_what_cannot_be_written_is_one_line(folder: Folder) -> None:
    (folder.path / "runs").rmdir()
    with pytest.raises(PaperError, match=f"cannot write to {folder.path}"):
        folder.save(run(0))
    (folder.path / "runs").write_text("no folder")
    with pytest.raises(PaperError, match=rf"\Acannot write to {folder.path / 'runs'}: .+\Z"):
        folder.prepare(Setting())


@pytest.mark.parametrize("regret", [True, False])
def test_packed_to_what_curves_show_the_curves_are_the_same(folder: Folder, regret: bool) -> None:
    values = (0.5, 0.25, 0.75, 0.125, 0.875)
    before = Run(Key(0, "nn_wine", "ei", "bo"), regret, values, values, 0.1)
    folder.save(before)
    folder.pack(best_so_far=True)
    (after,) = folder.runs()
    assert after.accuracy is None
    assert len(after.values) == len(values)
    assert len(set(after.values)) == 3
    for initial in (1, 3):
        np.testing.assert_array_equal(after.curve(initial), before.curve(initial))
    assert after.best_so_far() == after
