"""What is said about the project in several files is the same in all of them."""

import re
import tomllib
from typing import Any

import bopp
from support.documents import ROOT


def project() -> dict[str, Any]:
    return table("project")


def table(name: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())[name]
    return found


def test_the_citation_is_of_this_version() -> None:
    assert f"\nversion: {bopp.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_changelog_knows_this_version() -> None:
    heading = "Unreleased" if "dev" in bopp.__version__ else bopp.__version__
    assert f"\n## {heading}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_the_pythons_that_are_named_are_tested() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    matrix = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/test.yml").read_text())
    assert matrix
    assert re.findall(r"3\.\d+", matrix[1]) == named
    assert project()["requires-python"] == f">={named[0]}"


def test_the_tools_of_the_checks_have_one_version() -> None:
    groups = table("dependency-groups")
    tools = {tool for group in groups.values() for tool in group if re.match(r"ruff|mypy", str(tool))}
    assert len(tools) == 2, tools
