"""Stores, exports and results that have knowledge and fidelities can be opened, are all there, and go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bopp import Result, Trial, open_study
from bopp.pseudo import Cheap, Earlier, Guesses, Images, Limits
from bopp.study.exchange import imported

FOLDER = Path(__file__).parent / "fixtures" / "0.1.0-knowing"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())
KINDS = [Images, Guesses, Cheap, Earlier, Limits]


@pytest.fixture
def url(tmp_path: Path) -> str:
    shutil.copy(FOLDER / "studies.db", tmp_path)
    return f"sqlite:///{tmp_path}/studies.db"


def shown(trials: tuple[Trial, ...]) -> list[Any]:
    return [[trial.params, trial.value] for trial in trials]


@pytest.mark.parametrize("read_only", [True, False])
def test_what_a_study_knows_is_all_there(url: str, read_only: bool) -> None:
    with open_study(url, "knowing", read_only=read_only) as study:
        assert shown(study.trials) == EXPECTED["knowing"]
        assert [account.name for account in study.knowledge] == EXPECTED["sources"]
        sources = [account.source for account in study.knowledge]
    assert list(map(type, sources)) == KINDS
    images, guesses, cheap, earlier, limits = sources
    assert images == Images(exchange=("left", "right"), trust=0.8)
    assert isinstance(guesses, Guesses)
    assert (dict(guesses.near), guesses.within, guesses.less) == ({"left": 0.2}, 0.2, ("rounds",))
    assert isinstance(cheap, Cheap)
    assert len(cheap.values) == 12
    assert isinstance(earlier, Earlier)
    ((direction, rows),) = earlier.studies
    assert (direction, len(rows)) == ("minimize", 8)
    assert limits == Limits(at_least=0.0)


def test_a_study_that_knows_something_goes_on(url: str) -> None:
    with open_study(url, "knowing") as study:
        trial = study.ask()
        study.tell(trial, 0.1)
        assert study.explain(trial).how == "suggested by the model"
    with open_study(url, "knowing", read_only=True) as study:
        assert [trial.value for trial in study.trials][-1] == 0.1


def test_a_study_with_fidelities_goes_on(url: str) -> None:
    with open_study(url, "levels") as study:
        assert shown(study.trials) == EXPECTED["levels"]
        assert study.problem.fidelity is not None
        assert study.problem.fidelity.costs == (0.1, 1.0)
        assert study.ask().params["epochs"] in (1, 9)


def test_exports_and_results_are_read(url: str) -> None:
    name = imported(url, (FOLDER / "knowing.jsonl").read_bytes(), "copy")
    with open_study(url, name) as study:
        assert shown(study.trials) == EXPECTED["knowing"]
        assert [account.name for account in study.knowledge] == EXPECTED["sources"]
    result = Result.from_json((FOLDER / "result.json").read_text())
    assert shown(result.trials) == EXPECTED["knowing"]
    assert [type(source) for source in result.sources] == KINDS
