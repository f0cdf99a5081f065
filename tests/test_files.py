import os
import stat
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from bopp.files import write_whole
from support.studies import files


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_content_is_there_and_nothing_else(tmp_path: Path) -> None:
    for content in (b"", b"one\n", bytes(range(256)) * 1000, b"two"):
        write_whole(tmp_path / "file", content)
        assert files(tmp_path) == {"file": content}
    (tmp_path / "usual").touch()
    assert mode(tmp_path / "file") == mode(tmp_path / "usual")  # others may read it as any file of the user


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_was_there_stays_if_the_disk_is_full(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(tmp_path / "file", b"before")
    monkeypatch.setattr(os, step, Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "file", b"after")
    assert files(tmp_path) == {"file": b"before"}


def test_it_is_on_the_disk_with_its_permissions_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"before")
    (tmp_path / "file").chmod(0o600)
    seen: list[tuple[bytes, int]] = []
    real: Callable[[int], None] = os.fsync

    def fsync(file: int) -> None:
        seen.append(((tmp_path / "file").read_bytes(), stat.S_IMODE(os.fstat(file).st_mode)))
        real(file)

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(tmp_path / "file", b"after")
    assert seen == [(b"before", 0o600)]


@pytest.mark.parametrize("name", ["nowhere/file", "folder", "x" * 300, "a\udcff/b", "loop", None])
def test_what_cannot_be_written_is_an_os_error_and_leaves_nothing(name: str | None, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match=r"\[Errno"):
        write_whole(Path() if name is None else tmp_path / name, b"one")
    assert sorted(os.listdir(tmp_path)) == ["folder", "loop"]
    assert os.listdir(tmp_path / "folder") == []
    assert os.readlink(tmp_path / "loop") == "loop"


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


@pytest.mark.fault(45)
@pytest.mark.parametrize("guess", [".file.{pid}.part", "file.part", ".file.part"])
def test_nothing_is_written_through_a_planted_link(guess: str, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_bytes(b"theirs")
    planted = tmp_path / guess.format(pid=os.getpid())
    planted.symlink_to(tmp_path / "theirs")
    write_whole(tmp_path / "file", b"one")
    assert files(tmp_path) == {"theirs": b"theirs", planted.name: b"theirs", "file": b"one"}
    assert planted.is_symlink()
    assert not (tmp_path / "file").is_symlink()


@pytest.mark.fault(45)
def test_a_temporary_file_that_somebody_foresaw_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda size: "foreseen")
    planted = tmp_path / ".foreseen.part"
    for linked in (True, False):
        if linked:
            planted.symlink_to(tmp_path / "theirs")
        else:
            planted.touch()
        with pytest.raises(FileExistsError):
            write_whole(tmp_path / "file", b"one")
        assert planted.is_symlink() or planted.read_bytes() == b""
        assert not (tmp_path / "theirs").exists()
        planted.unlink()


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_the_file_behind_it_is_written(there: bool, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("chained")
    (tmp_path / "chained").symlink_to("folder/file")
    if there:
        (tmp_path / "folder" / "file").write_bytes(b"before")
        (tmp_path / "folder" / "file").chmod(0o640)
    write_whole(tmp_path / "link", b"after")
    assert os.readlink(tmp_path / "link") == "chained"
    assert (tmp_path / "folder" / "file").read_bytes() == b"after"
    assert sorted(os.listdir(tmp_path)) == ["chained", "folder", "link"]
    assert os.listdir(tmp_path / "folder") == ["file"]
    assert not there or mode(tmp_path / "folder" / "file") == 0o640


def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    for kept in (0o600, 0o640, 0o666, 0o755, 0o444):
        (tmp_path / f"{kept}").write_bytes(b"before")
        (tmp_path / f"{kept}").chmod(kept)
        write_whole(tmp_path / f"{kept}", b"after")
        assert (mode(tmp_path / f"{kept}"), (tmp_path / f"{kept}").read_bytes()) == (kept, b"after")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_keeps_its_owner_where_we_may_give_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"before")
    os.chown(tmp_path / "file", 12345, 54321)
    write_whole(tmp_path / "file", b"after")
    told = (tmp_path / "file").stat()
    assert (told.st_uid, told.st_gid) == (12345, 54321)


def test_a_file_that_becomes_ours_does_not_run_with_our_rights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"before")
    (tmp_path / "file").chmod(0o4755)
    monkeypatch.setattr(os, "fchown", Mock(side_effect=PermissionError))
    write_whole(tmp_path / "file", b"after")
    assert mode(tmp_path / "file") == 0o755
