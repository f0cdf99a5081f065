"""What is said about the project in several files is the same in all of them."""

import re
import tomllib
from typing import Any

import bopp
from support.documents import ROOT


def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def test_the_citation_is_of_this_version() -> None:
    assert f"\nversion: {bopp.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_changelog_knows_this_version() -> None:
    assert f"\n## {bopp.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_the_pythons_that_are_named_are_tested() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    matrix = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/test.yml").read_text())
    assert matrix
    assert re.findall(r"3\.\d+", matrix[1]) == named
    assert project()["requires-python"] == f">={named[0]}"


def test_the_tools_of_the_checks_have_one_version() -> None:
    extras = project()["optional-dependencies"]
    tools = {tool for extra in extras.values() for tool in extra if re.match(r"ruff|mypy", tool)}
    assert len(tools) == 2, tools
