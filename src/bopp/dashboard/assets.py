"""Assets: the files that pages refer to, in memory; no other file can be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from mimetypes import guess_type


@dataclass(frozen=True)
class Assets:
    """Contents and kinds by name; and a word that changes with them, so that browsers may keep them."""

    files: Mapping[str, tuple[bytes, str]]
    digest: str

    @staticmethod
    def load() -> Assets:
        """Those that are installed."""
        folder = files("bopp.dashboard") / "static"
        found = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
        digest = sha256(b"\0".join(found[name] for name in sorted(found))).hexdigest()[:12]
        return Assets({name: (found[name], guess_type(name)[0] or "text/plain") for name in found}, digest)
