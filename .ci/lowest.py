"""Constraints for pip: the lowest version that pyproject.toml allows of each library that users install.

python .ci/lowest.py > constraints.txt
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

BOUND = re.compile(r"(?P<name>[\w-]+)(\[[\w,]+\])?>=(?P<lowest>[\w.]+)")


def constraints(project: dict[str, Any]) -> list[str]:
    """One line for each library that bopp or an extra needs."""
    extras = project["optional-dependencies"].values()
    wanted = {*project["dependencies"], *(library for extra in extras for library in extra)}
    return [lowest(library) for library in sorted(wanted) if not library.startswith("bopp[")]


def lowest(library: str) -> str:
    """The lower bound of a library as the only version that will do."""
    bound = BOUND.fullmatch(library)
    if bound is None:
        sys.exit(
            f"pyproject.toml: wanted a lower bound and nothing else, as in 'numpy>=2.0', got {library!r}"
        )
    return f"{bound['name']}=={bound['lowest']}"


if __name__ == "__main__":
    pyproject = Path(__file__).parent.parent / "pyproject.toml"
    print("\n".join(constraints(tomllib.loads(pyproject.read_text())["project"])))
