"""Tests of the page of the contest; the whole of it wants a package that only the contest needs."""

from importlib import import_module
from pathlib import Path

import pytest

from contest.prose import DERIVED, INTRODUCTION
from contest.reading import cluster
from contest.records import KEPT
from contest.report import page, read_group, section
from contest.runs import tasks_of

DOCUMENT = Path(__file__).parent.parent / "docs" / "benchmarks.md"


@pytest.mark.parametrize(
    ("group", "chosen"),
    [
        ("tables", "For choosing there were 6 others, of 2 kinds, none of which are here."),
        ("tuning", "For choosing there were 5 others, of 5 kinds, none of which are here."),
        ("paper", "Nothing was chosen on such tasks."),
    ],
)
def test_the_page_has_what_its_generator_makes_of_the_records(
    group: str, chosen: str, tmp_path: Path
) -> None:
    pytest.importorskip("sklearn")
    parts = section(read_group(KEPT["table"], group), tmp_path, tmp_path)
    assert "\n\n".join(parts) + "\n\n" in DOCUMENT.read_text()
    assert parts[1].endswith(chosen)


def test_the_page_has_the_words_of_its_generator() -> None:
    assert INTRODUCTION in DOCUMENT.read_text()


def test_the_page_is_what_its_generator_makes(tmp_path: Path) -> None:
    """But for the line that says when and where it was made."""
    pytest.importorskip("ioh")
    made = page(KEPT["table"], tmp_path / "pictures", tmp_path).splitlines()
    kept = DOCUMENT.read_text().splitlines()
    assert made[2].startswith("This page: ")
    assert made[:2] + made[3:] == kept[:2] + kept[3:]
    assert "216 others, of 24 kinds, 24 of which are here." in "\n".join(made)


@pytest.mark.parametrize("group", DERIVED)
def test_functions_of_a_derived_group_were_chosen_on_as_bbob_has_them(group: str) -> None:
    pytest.importorskip("ioh")
    plain = {task.kind for task in import_module("contest.bbob").tasks("choosing")}
    here, there = ({cluster(task.kind) for task in tasks_of(group, part)} for part in ("table", "choosing"))
    assert here <= plain
    assert here.isdisjoint(there)
