from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bopp import Float, open_study
from bopp import acquisition as acquisitions
from bopp.errors import BoppError, StudyError
from bopp.parameter import Parameter
from support.recipes import PRESETS, RANDOM, REFUSED, YOURS, Shifted, greedy, usual

SPACE: dict[str, Parameter] = {"x": Float(0, 1)}


def test_every_part_comes_back_through_a_store(tmp_path: Path) -> None:
    for number, recipe in enumerate(PRESETS):
        open_study(f"sqlite:///{tmp_path}/a.db", f"{number}", SPACE, recipe=recipe)
        assert open_study(f"sqlite:///{tmp_path}/a.db", f"{number}").recipe == recipe


@pytest.mark.parametrize(("field", "part", "_name"), YOURS)
def test_parts_of_your_own_are_brought_along(tmp_path: Path, field: str, part: Any, _name: str) -> None:
    url, recipe = f"sqlite:///{tmp_path}/a.db", replace(RANDOM, **{field: part})
    study = open_study(url, "a", SPACE, recipe=recipe)
    study.observe({"x": 0.5}, 1.0)
    looking = open_study(url, "a")
    assert len(looking.trials) == 1
    with pytest.raises(StudyError, match="recipe="):
        looking.ask()
    assert len(looking.trials) == 1
    again = open_study(url, "a", recipe=recipe)
    assert again.recipe is recipe
    assert again.ask().number == 1


def test_a_part_of_another_name_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    open_study(url, "a", SPACE, recipe=replace(RANDOM, acquisition=greedy))
    for other in (Shifted(), acquisitions.ei):
        with pytest.raises(StudyError, match=r"'acquisition'.*greedy"):
            open_study(url, "a", recipe=replace(RANDOM, acquisition=other))


def stored(path: Path, recipe: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE bopp_studies SET recipe = ?, seal = NULL", [recipe])
    connection.commit()
    connection.close()


@pytest.fixture
def url(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path}/a.db"
    open_study(address, "a", SPACE, recipe=RANDOM).observe({"x": 0.5}, 1.0)
    return address


def test_hostile_recipes_in_a_store_are_refused(tmp_path: Path, url: str) -> None:
    for parts in REFUSED[:-1]:
        stored(tmp_path / "a.db", json.dumps(parts))
        with pytest.raises(StudyError):
            open_study(url, "a").ask()


@pytest.mark.parametrize("depth", [100, 5_000, 100_000])
def test_deep_recipes_are_refused(tmp_path: Path, url: str, depth: int) -> None:
    deep = '{"part": "pseudo.Sum", "settings": {"policies": [' * depth + "5" + "]}}" * depth
    stored(tmp_path / "a.db", json.dumps(usual(pseudo="DEEP")).replace('"DEEP"', deep))
    with pytest.raises(BoppError):
        open_study(url, "a", recipe=RANDOM)
    with pytest.raises(BoppError):
        open_study(url, "a").ask()
