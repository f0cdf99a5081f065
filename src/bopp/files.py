"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Replace the content of the file at the path, if any, in one step, flushed to disk.

    A file keeps its permissions, and its owner where we may; a link stays, and the file behind it is written.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        path.write_bytes(content)  # a pipe or a device is written to, not replaced
        return
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    with _beside(target) as (part, file):
        with suppress(FileNotFoundError):
            _alike(file, target.stat())
        with open(file, "wb", closefd=False) as stream:
            stream.write(content)
        os.fsync(file)
        os.replace(part, target)


@contextmanager
def _beside(target: Path) -> Iterator[tuple[Path, int]]:
    """A new file in the folder of the target, under a name that nobody can foresee; gone at the end."""
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    # nobody else may read it until it has the permissions of the file that it replaces
    file = os.open(part, flags, 0o600 if target.exists() else 0o666)
    try:
        yield part, file
    finally:
        os.close(file)
        part.unlink(missing_ok=True)


def _alike(file: int, was: os.stat_result) -> None:
    """Give a file the owner and the permissions of another."""
    if not hasattr(os, "fchown"):
        return
    mode = stat.S_IMODE(was.st_mode)
    try:
        os.fchown(file, was.st_uid, was.st_gid)
    except PermissionError:
        mode &= 0o777  # it is ours now, and must not run with our rights
        with suppress(PermissionError):
            os.fchown(file, -1, was.st_gid)
    os.fchmod(file, mode)
