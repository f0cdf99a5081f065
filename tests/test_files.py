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


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.fault(45)
@pytest.mark.parametrize("guess", [".file.{pid}.part", "file.part", ".file.part"])
def test_nothing_is_written_through_a_planted_link(guess: str, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_bytes(b"theirs")
    planted = tmp_path / guess.format(pid=os.getpid())
    planted.symlink_to(tmp_path / "theirs")
    write_whole(tmp_path / "file", b"one")
    assert (tmp_path / "theirs").read_bytes() == b"theirs"
    assert planted.is_symlink()
    assert (tmp_path / "file").read_bytes() == b"one"
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


def test_a_link_to_itself_is_an_os_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match=r"\[Errno"):
        write_whole(tmp_path / "loop", b"one")
    assert os.readlink(tmp_path / "loop") == "loop"
    assert os.listdir(tmp_path) == ["loop"]


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o666, 0o755, 0o444])
def test_a_file_keeps_its_permissions(kept: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"before")
    (tmp_path / "file").chmod(kept)
    write_whole(tmp_path / "file", b"after")
    assert mode(tmp_path / "file") == kept
    assert (tmp_path / "file").read_bytes() == b"after"


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
    def refused(*_: object) -> None:
        raise PermissionError

    (tmp_path / "file").write_bytes(b"before")
    (tmp_path / "file").chmod(0o4755)
    monkeypatch.setattr(os, "fchown", refused)
    write_whole(tmp_path / "file", b"after")
    assert mode(tmp_path / "file") == 0o755


def test_nobody_reads_the_new_content_before_the_permissions_are_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"before")
    (tmp_path / "file").chmod(0o600)
    seen: list[int] = []
    real: Callable[[int], None] = os.fsync

    def fsync(file: int) -> None:
        seen.append(stat.S_IMODE(os.fstat(file).st_mode))
        real(file)

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(tmp_path / "file", b"after")
    assert seen == [0o600]
