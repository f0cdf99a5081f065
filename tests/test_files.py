import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from bopp.files import write_whole


def refuse(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_the_content_is_there_and_nothing_else(tmp_path: Path) -> None:
    for content in (b"", b"one\n", bytes(range(256)) * 1000, b"two"):
        write_whole(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
        assert os.listdir(tmp_path) == ["file"]


def test_others_may_read_it_as_any_file_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_whole(tmp_path / "file", b"one")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "file")}
    assert len(modes) == 1


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_was_there_stays_if_the_disk_is_full(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(tmp_path / "file", b"before")
    monkeypatch.setattr(os, step, refuse)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "file", b"after")
    assert (tmp_path / "file").read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["file"]


def test_it_is_on_the_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    real: Callable[[int], None] = os.fsync

    def fsync(file: int) -> None:
        seen.append((tmp_path / "file").exists())
        real(file)

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(tmp_path / "file", b"one")
    assert seen == [False]


@pytest.mark.parametrize("name", ["nowhere/file", "folder", "x" * 300, "a\udcff/b"])
def test_what_cannot_be_written_is_an_os_error_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=r"\[Errno"):
        write_whole(tmp_path / name, b"one")
    assert os.listdir(tmp_path) == ["folder"]
    assert os.listdir(tmp_path / "folder") == []


def test_a_pipe_or_a_device_stays_what_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, b"one")
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        assert os.read(reader, 10) == b"one"
    finally:
        os.close(reader)


def test_a_path_without_a_name_is_an_os_error() -> None:
    with pytest.raises(OSError, match=r"\[Errno"):
        write_whole(Path(), b"one")
