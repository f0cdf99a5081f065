"""The Python code in documents."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), flags=re.DOTALL)


def run(document: str) -> None:
    """Run all code of a document, one block after the other, each knowing what came before."""
    scope: dict[str, object] = {}
    for block in blocks(document):
        exec(block, scope)
