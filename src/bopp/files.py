"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Replace the file at the path, if any, with this content in one step, flushed to disk."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        path.write_bytes(content)  # a pipe or a device is written to, not replaced
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
