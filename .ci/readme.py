"""The README as a package index shows it: without links that lead nowhere outside the repository.

A build hook for hatchling. If pyproject.toml has `[tool.bopp] repository`, relative links and pictures become
absolute and refer to the tag of the version. Otherwise a link becomes its text and a picture its description.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

CODE = r"^```.*?^```|`[^`\n]+`"
LINK = r"(?P<mark>!?)\[(?P<text>(?:!\[[^\]]*\]\([^)]*\)|[^\[\]])*)\]\((?P<target>[^)\s]+)\)"
CODE_OR_LINK = re.compile(f"{CODE}|{LINK}", re.MULTILINE | re.DOTALL)
ABSOLUTE = re.compile(r"[a-z]+:|//")


class ReadmeHook(MetadataHookInterface):
    """Sets the readme of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the rewritten README to the metadata."""
        root = Path(self.root)
        repository = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["bopp"]["repository"]
        text = rewrite((root / "README.md").read_text("utf-8"), repository, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def rewrite(text: str, repository: str, version: str) -> str:
    """Make relative links absolute, or plain text if there is no repository; code stays as it is."""
    reference = "main" if "dev" in version else f"v{version}"

    def replace(found: re.Match[str]) -> str:
        mark, text, target = found["mark"], found["text"], found["target"]
        if target is None:  # code
            return found[0]
        text = CODE_OR_LINK.sub(replace, text)  # a picture may be the text of a link
        if ABSOLUTE.match(target):
            return f"{mark}[{text}]({target})"
        if not repository:
            return text
        page = f"README.md{target}" if target.startswith("#") else target
        return f"{mark}[{text}]({repository}/{'raw' if mark else 'blob'}/{reference}/{page})"

    return CODE_OR_LINK.sub(replace, text)
