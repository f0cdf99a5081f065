import sys
from datetime import UTC, datetime

import numpy as np
import pandas
import pytest

from bopp import AtMost, Choice, Float, Int, Optimizer, Problem, Result, Trial, open_study
from bopp.errors import MissingExtra, RecipeError, TellError
from support.results import rich
from support.tables import OVEN, WHISK, as_observed, whisked

SPACE = {"x": Float(0, 1), "layers": Int(1, 9), "kind": Choice(["a", "b"])}


def test_a_frame_has_a_row_for_each_trial_with_what_is_known_of_it() -> None:
    optimizer = whisked()
    frame = optimizer.result.to_pandas()
    assert frame["number"].tolist() == list(range(8))
    assert frame["state"].tolist() == [trial.state for trial in optimizer.trials]
    assert frame["values.error"].dtype == frame["memory"].dtype == np.float64
    assert frame["values.error"].dropna().tolist() == [0.1, 1e-300, 0.75]
    assert frame["noise.error"].dropna().tolist() == [0.01]
    assert frame["method"].tolist()[:4] == ["stir", "stir", "shake", "leave"]
    assert frame["params.batch"].tolist() == [30] * 8
    assert frame["speed"].dtype == "Int64"  # whole numbers, although some trials have none
    assert frame["speed"].isna().tolist()[:4] == [False, False, False, True]
    assert frame["error"][1] == "'error' was nan"
    assert frame["memory"].tolist()[-2:] == pytest.approx([3.0, np.nan], nan_ok=True)
    for name in ("asked_at", "told_at"):
        assert str(frame[name].dt.tz) == "UTC"
    assert frame["asked_at"][0] == optimizer.trials[0].asked_at
    assert frame["told_at"].isna().sum() == 2
    assert frame["measurements.state"][0] == 3.0
    assert frame["seconds"].dropna().tolist() == [31.0]


def test_a_frame_without_trials_has_its_columns() -> None:
    frame = Result(OVEN, ()).to_pandas()
    assert len(frame) == 0
    assert list(frame)[:5] == ["number", "state", "value", "degrees", "kind"]
    assert frame["value"].dtype == np.float64
    assert str(frame["told_at"].dt.tz) == "UTC"
    assert Result.from_pandas(frame, OVEN) == Result(OVEN, ())


def test_dropped_trials_are_in_the_frame_and_are_not_read() -> None:
    dropped = Trial(0, {"degrees": 7.0, "color": "red"}).dropped(datetime.now(UTC), "a wrong thermometer")
    frame = Result(OVEN, (dropped,)).to_pandas()
    assert (frame["state"][0], frame["degrees"][0]) == ("dropped", 7.0)
    assert Result.from_pandas(frame, OVEN).trials == ()


def test_every_kind_of_value_survives_the_way_there_and_back() -> None:
    result = rich()
    frame = result.to_pandas()
    assert frame["n"].tolist() == [trial.params["n"] for trial in result.trials]  # to the last digit
    text = [trial for trial in result.trials if trial.params["kind"] == "1"]  # as typed, it could be 1
    for trial in text:
        frame = frame[frame["number"] != trial.number]
    told = [trial for trial in result.trials if trial not in text]
    again = Result.from_pandas(frame, result.problem)
    assert again.trials == tuple(as_observed(*told))


def test_frames_of_conditional_and_failed_trials_can_be_read() -> None:
    trials = whisked().trials
    read = Result.from_pandas(Result(WHISK, trials).to_pandas(), WHISK).trials
    blank = "of a frame, which does not tell it from nothing"
    assert [trial.params.get("blade", blank) for trial in read] == ["", None, *[blank] * 4]
    assert read == tuple(as_observed(*trials))


def test_measurements_of_a_frame_start_an_optimizer() -> None:
    frame = pandas.DataFrame(
        {
            "x": [0.1, 0.9, 0.4],
            "layers": [3.0, 4.0, 5.0],  # as pandas reads a column with a gap
            "kind": ["a", "b", "a"],
            "accuracy": [0.7, float("nan"), 0.9],
            "seconds": [3, None, 5],
        },
        index=["first", "second", "third"],
    )
    result = Result.from_pandas(frame, SPACE, "maximize", value="accuracy")
    assert [trial.number for trial in result.trials] == [0, 1, 2]
    assert {trial.origin for trial in result.trials} == {"observed"}
    assert [trial.state for trial in result.trials] == ["done", "failed", "done"]
    assert result.best.params == {"x": 0.4, "layers": 5, "kind": "a"}
    assert result.trials[0].measurements == {"seconds": 3.0}
    optimizer = Optimizer(SPACE, "maximize", trials=result.trials)
    assert optimizer.ask().number == 3
    assert Result.from_json(result.to_json()) == result


def test_measurements_of_a_frame_start_a_study() -> None:
    problem = Problem(SPACE, {"error": "minimize"}, [AtMost("memory", 8.0)])
    frame = pandas.DataFrame(
        {"x": [0.1, 0.2], "layers": [3, 4], "kind": ["a", "b"], "error": [0.5, 0.4], "memory": [3, 9]}
    )
    with open_study("sqlite://", "warm", problem) as study:
        study.observe_all(Result.from_pandas(frame, study.problem).trials)
        assert study.best.values == {"error": 0.5, "memory": 3.0}
        again = study.to_pandas()
    assert again["values.error"].tolist() == [0.5, 0.4]
    assert again["origin"].tolist() == ["observed"] * 2


def test_missing_values_of_every_kind_are_blanks() -> None:
    frame = pandas.DataFrame(
        {
            "degrees": pandas.array([20, 30, 40, 50], dtype="Int64"),
            "kind": pandas.Categorical(["rye", "wheat", "rye", "rye"]),
            "value": pandas.array([1.5, None, pandas.NA, 2.5], dtype="Float64"),
            "day": [pandas.Timestamp("2024-05-01", tz="UTC"), pandas.NaT, pandas.NaT, pandas.NaT],
            7: [True, None, None, None],
        }
    )
    first, *_, last = trials = Result.from_pandas(frame, OVEN).trials
    assert [trial.state for trial in trials] == ["done", "failed", "failed", "done"]
    assert first.measurements == {"day": "2024-05-01T00:00:00+00:00", "7": True}
    assert last.measurements == {}


def test_a_fault_is_named_by_its_row_and_column() -> None:
    frame = pandas.DataFrame(
        {"degrees": [20, 300], "kind": ["rye", "rye"], "value": [1, 2]}, index=["a", "b"]
    )
    with pytest.raises(TellError, match="row 'b', column 'degrees'"):
        Result.from_pandas(frame, OVEN)
    with pytest.raises(TellError, match="columns for 'kind'"):
        Result.from_pandas(frame.drop(columns="kind"), OVEN)
    with pytest.raises(TellError, match="row 0, column 'value': wanted a number, got 'good'"):
        Result.from_pandas(pandas.DataFrame({"degrees": [1], "kind": ["rye"], "value": ["good"]}), OVEN)
    with pytest.raises(TellError, match="wanted each column once, got 'kind'"):
        Result.from_pandas(pandas.concat([frame, frame[["kind"]]], axis=1), OVEN)
    with pytest.raises(TellError, match="wanted a pandas DataFrame, got 3"):
        Result.from_pandas(3, OVEN)  # type: ignore[arg-type, unused-ignore]
    with pytest.raises(RecipeError, match="a Problem has directions of its own"):
        Result.from_pandas(frame, OVEN, "maximize")


def test_without_pandas_somebody_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match="tables want pandas: pip install pandas"):
        Result(OVEN, ()).to_pandas()
    with pytest.raises(MissingExtra, match="tables want pandas: pip install pandas"):
        Result.from_pandas(None, OVEN)  # type: ignore[arg-type, unused-ignore]
