import csv
import io
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bopp import AtMost, Choice, Float, Int, Optimizer, Problem, Trial
from bopp.errors import TellError
from bopp.legible import cell, from_cell
from bopp.problem import Direction
from bopp.rows import Table, columns, observed, read_csv, read_pairs, write_csv
from support.tables import OVEN, WHISK, as_observed, whisked


def as_csv(problem: Problem, trials: tuple[Trial, ...], delimiter: str = ",") -> str:
    text = io.StringIO()
    rows = csv.reader(io.StringIO("".join(write_csv(problem, trials)), newline=""))
    csv.writer(text, delimiter=delimiter).writerows(rows)
    return text.getvalue()


def test_columns_have_the_names_of_what_they_hold() -> None:
    optimizer = Optimizer(OVEN)
    optimizer.observe({"degrees": 20, "kind": "rye"}, {"value": 0.5, "seconds": 3})
    optimizer.observe({"degrees": 30, "kind": "wheat"}, None)
    table = columns(OVEN, optimizer.trials)
    fields = ["error", "origin", "asked_at", "told_at", "worker", "notes"]
    assert list(table) == ["number", "state", "value", "degrees", "kind", *fields, "seconds"]
    assert table["value"] == [0.5, None]
    assert table["degrees"] == [20.0, 30.0]
    assert table["seconds"] == [3.0, None]
    assert table["error"] == [None, "the value was None"]
    optimizer.observe({"degrees": 40, "kind": "rye"}, 1.0, noise=0.25)
    assert columns(OVEN, optimizer.trials)["noise.value"] == [None, None, 0.25]


def test_a_name_that_stands_for_two_things_gets_its_group_in_front() -> None:
    problem = Problem(
        {"state": Float(0, 1), "error": Float(0, 1), "x": Float(0, 1), "noise": Float(0, 1)},
        {"error": "minimize"},
    )
    optimizer = Optimizer(problem)
    params = {"state": 0.1, "error": 0.2, "x": 0.3, "noise": 0.4}
    optimizer.observe(params, {"error": 5.0, "x": 6.0, "seconds": 7.0})
    table = columns(problem, optimizer.trials)
    assert list(table) == [
        *("number", "state", "values.error", "params.state", "params.error", "params.x", "params.noise"),
        *("error", "origin", "asked_at", "told_at", "worker", "notes", "measurements.x", "seconds"),
    ]
    assert (table["state"], table["params.state"], table["error"]) == (["done"], [0.1], [None])
    read, left_out = read_csv(problem, as_csv(problem, optimizer.trials))
    assert (read, left_out) == (as_observed(*optimizer.trials), 0)


@given(
    st.lists(
        st.sampled_from(["x", "params.x", "state", "params.state", "values.x", "y"]), unique=True, min_size=1
    ),
    st.lists(st.sampled_from(["x", "params.x", "state", "values.x", "number"]), unique=True, min_size=1),
    st.lists(st.sampled_from(["x", "measurements.x", "notes", "params.params.x", "noise"]), unique=True),
)
def test_no_two_columns_have_one_name(params: list[str], values: list[str], measured: list[str]) -> None:
    objectives: dict[str, Direction] = dict.fromkeys(values, "minimize")
    problem = Problem(dict.fromkeys(params, Float(0, 1)), objectives)
    answer = {**dict.fromkeys(measured, 3.0), **dict.fromkeys(values, 2.0)}
    optimizer = Optimizer(problem)
    optimizer.observe(dict.fromkeys(params, 0.5), answer)
    table = columns(problem, optimizer.trials)
    others = [name for name in measured if name not in values]
    assert len(table) == 8 + len(params) + len(values) + len(others)
    cells = [cell for [cell] in table.values()]
    assert [cells.count(number) for number in (0.5, 2.0, 3.0)] == [len(params), len(values), len(others)]


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_what_is_written_can_be_read(delimiter: str) -> None:
    trials = whisked().trials
    assert {trial.state for trial in trials} == {"done", "failed", "asked"}
    read, left_out = read_csv(WHISK, as_csv(WHISK, trials, delimiter))
    assert left_out == 2  # under way
    assert read == as_observed(*trials)


@given(st.data())
def test_any_params_come_back(data: st.DataObject) -> None:
    space = {
        "x": Float(-1e300, 1e300),
        "n": Int(-(2**52), 2**52),
        "kind": Choice(["a,b", 'c"', " d", "e\n", "", (1, 2), None, True]),
    }
    problem = Problem(space, {"value": "maximize"})
    optimizer = Optimizer(problem)
    for _ in range(data.draw(st.integers(1, 3))):
        params = {
            "x": data.draw(st.floats(-1e300, 1e300)),
            "n": data.draw(st.integers(-(2**52), 2**52)),
            "kind": data.draw(st.sampled_from(space["kind"].options)),  # type: ignore[attr-defined]
        }
        optimizer.observe(params, data.draw(st.floats(allow_nan=False, allow_infinity=False) | st.none()))
    assert read_csv(problem, as_csv(problem, optimizer.trials))[0] == as_observed(*optimizer.trials)


def read(text: str, problem: Problem = OVEN, value: str | None = None) -> list[Trial]:
    return read_csv(problem, text, value)[0]


def test_a_table_of_earlier_days_becomes_observed_trials() -> None:
    head = "kind, degrees,value,noise,notes,humidity,day\n"
    text = head + "rye, 20,0.5,0.1,,31,monday\n\nwheat,30.5,,,burnt,,\n,,,,,,\n"
    first, second = read(text)
    assert (first.number, first.origin, first.state) == (0, "observed", "done")
    assert first.params == {"degrees": 20.0, "kind": "rye"}
    assert (first.values, first.noise, first.notes) == ({"value": 0.5}, {"value": 0.1}, None)
    assert first.measurements == {"humidity": 31.0, "day": "monday"}
    assert (second.number, second.state, second.error) == (1, "failed", "the value was None")
    assert (second.params, second.notes) == ({"degrees": 30.5, "kind": "wheat"}, "burnt")
    assert second.measurements == {}
    assert Optimizer(OVEN, trials=[first, second]).best.value == 0.5


def test_a_reason_is_kept_where_there_is_no_value_and_is_a_measurement_elsewhere() -> None:
    failed, done, infinite = read("degrees,kind,value,error\n1,rye,,broke\n2,rye,3,0.25\n3,rye,inf,\n")
    assert (failed.error, failed.measurements) == ("broke", {})
    assert (done.error, done.measurements) == (None, {"error": 0.25})
    assert (infinite.state, infinite.error) == ("failed", "the value was inf")


def test_the_column_of_the_value_can_be_named() -> None:
    (trial,) = read("degrees,kind,accuracy,value\n1,rye,0.5,7\n", value="accuracy")
    assert (trial.values, trial.measurements) == ({"value": 0.5}, {})


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("acuracy", r"column: wanted one of \['accuracy', 'value'\], got 'acuracy'"),
        ("degrees", "column: wanted that of the value, got 'degrees', which is a parameter"),
    ],
)
@pytest.mark.parametrize("reader", [read_csv, read_pairs])
def test_a_column_that_is_not_that_of_the_value_is_refused(reader: Any, value: str, complaint: str) -> None:
    with pytest.raises(TellError, match=complaint):
        reader(OVEN, "degrees,kind,accuracy,value\n1,rye,0.5,7\n", value)


def test_a_stand_in_may_lack_params_and_go_beyond_their_ranges() -> None:
    text = "degrees;kind;day;value\n150;rye;monday;1\n;wheat;;2\n20; ;;3\n20;rye;;\n 30 ; rye ;;4\n"
    assert read_pairs(OVEN, text) == [
        ({"degrees": 150.0, "kind": "rye"}, 1.0),
        ({"kind": "wheat"}, 2.0),
        ({"degrees": 20.0}, 3.0),
        ({"degrees": 30.0, "kind": "rye"}, 4.0),
    ]
    assert read_pairs(OVEN, "yield,degrees\n3,-5\n", "yield") == [({"degrees": -5.0}, 3.0)]
    assert read_pairs(WHISK, "speed,error\n12,0.5\n2.0,0.6\n") == [({"speed": 12}, 0.5), ({"speed": 2}, 0.6)]


def test_a_blank_option_of_a_stand_in_is_itself() -> None:
    assert read_pairs(WHISK, "method,blade,error\nstir,,1\nleave,,2\n") == [
        ({"method": "stir", "blade": ""}, 1.0),
        ({"method": "leave"}, 2.0),
    ]


def test_a_stand_in_may_be_a_table_that_bopp_wrote() -> None:
    optimizer = whisked()
    done = [trial for trial in optimizer.trials if trial.state == "done"]
    assert read_pairs(WHISK, as_csv(WHISK, optimizer.trials)) == [
        (trial.params, trial.value) for trial in done if trial.values["error"] is not None
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("degrees,kind\n1,rye\n", "column for 'value'.*column = "),
        ("warmth,value\n1,2\n", r"one of the parameters \['degrees', 'kind'\], got \['warm"),
        ("degrees,value,degrees\n1,2,1\n", "'degrees' more than once"),
        ("degrees,value\n1,2\nwarm,2\n", "line 3, column 'degrees'.*number, got 'warm'"),
        ("degrees,value\n1,2\nnan,2\n", "line 3, column 'degrees'.*finite number, got nan"),
        ("kind,value\nrey,2\n", "line 2, column 'kind'.*rye, wheat, got 'rey'"),
        ("kind,value\nrye,good\n", "line 2, column 'value'.*number, got 'good'"),
    ],
)
def test_a_fault_of_a_stand_in_is_named_by_its_line_and_column(text: str, complaint: str) -> None:
    with pytest.raises(TellError, match=complaint):
        read_pairs(OVEN, text)
    with pytest.raises(TellError, match=r"line 2.*'speed'.*2.5"):
        read_pairs(WHISK, "speed,error\n2.5,1\n")


def test_fields_of_a_trial_are_measurements_in_a_table_of_yours() -> None:
    (trial,) = read("degrees,kind,value,state,worker\n1,rye,2,liquid,Anna\n")
    assert trial.measurements == {"state": "liquid", "worker": "Anna"}
    assert trial.worker is None


def test_a_parameter_that_does_not_apply_is_blank_or_has_no_column() -> None:
    text = "method,speed,blade,error,memory\nleave,,,1,2\nstir,3,bent,1,2\nstir,3,,1,2\nshake,4,,1,2\n"
    assert [trial.params for trial in read(text, WHISK)] == [
        {"method": "leave", "batch": 30},
        {"method": "stir", "speed": 3, "blade": "bent", "batch": 30},
        {"method": "stir", "speed": 3, "blade": "", "batch": 30},
        {"method": "shake", "speed": 4, "batch": 30, "lid": "on"},
    ]
    assert read("method,error,memory\nleave,1,2\n", WHISK)[0].params == {"method": "leave", "batch": 30}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", r"columns for 'degrees', 'kind', 'value', got \[\]"),
        ("degrees,kind\n1,rye\n", "columns for 'value', got"),
        ("degrees,value\n1,2\n", "columns for 'kind', got"),
        ("degrees,kind,value,kind\n1,rye,2,rye\n", "'kind' more than once"),
        ("degrees,kind,value\n1,rye,2\n101,rye,2\n", r"line 3, column 'degrees'.*\[0.0, 100"),
        ("degrees,kind,value\nwarm,rye,2\n", "line 2, column 'degrees'.*number, got 'warm'"),
        ("degrees,kind,value\n\n1,rey,2\n", "line 3, column 'kind'.*rye, wheat, got 'rey'"),
        ("degrees,kind,value\n1,rye,good\n", "line 2, column 'value'.*number, got 'good'"),
        ("degrees,kind,value,noise\n1,rye,2,x\n", "line 2, column 'noise'.*number, got 'x'"),
        ("degrees,kind,value,noise\n1,rye,2,-1\n", "line 2: noise: .*>= 0"),
        ("degrees,kind,value\n,rye,2\n", r"line 2.*missing \['degrees'\]"),
        ("degrees,kind,value\n1,rye\n", "line 2: wanted 3 cells.*got 2"),
        ("degrees,kind,value\n1,rye,2,3\n", "line 2: wanted 3 cells.*got 4"),
        ('degrees,kind,value\n"1\n",rye,2\n1,rey,2\n', "line 4, column 'kind'"),
        ('degrees,kind,value\n1,"rye,2\n', "line 2: unexpected end of data"),
        ("degrees,kind,value" + "e" * 200_000 + "\n", "line 1: .*limit"),
        ("\n\ndegrees;kind;value\n1;rey;2\n", "line 4, column 'kind'"),
        ("number,state,origin,degrees,kind,value\n0,gone,,1,rye,2\n", "line 2, column 'state'.*asked"),
    ],
)
def test_a_fault_is_named_by_its_line_and_column(text: str, complaint: str) -> None:
    with pytest.raises(TellError, match=complaint):
        read(text)


def test_one_column_cannot_be_a_parameter_and_a_value() -> None:
    problem = Problem({"error": Float(0, 1)}, {"error": "minimize"})
    with pytest.raises(TellError, match=r"'params.error'"):
        Table.of(problem, ["error"])
    (trial,) = read("error,values.error\n0.5,3\n", problem)
    assert (trial.params, trial.values) == ({"error": 0.5}, {"error": 3.0})


def test_a_parameter_that_does_not_apply_is_refused_where_it_is_given() -> None:
    with pytest.raises(TellError, match=r"line 2.*'speed'"):
        read("method,speed,error,memory\nleave,3,1,2\n", WHISK)


def test_several_objectives_are_read_by_name() -> None:
    problem = Problem({"x": Float(0, 1)}, {"error": "minimize", "speed": "maximize"})
    done, failed = read("x,speed,error\n0.5,3,1\n0.6,3,nan\n", problem)
    assert done.values == {"error": 1.0, "speed": 3.0}
    assert (failed.state, failed.error, failed.measurements) == ("failed", "'error' was nan", {"speed": 3.0})


def test_a_blank_among_several_values_is_one_that_was_not_measured() -> None:
    problem = Problem({"x": Float(0, 1)}, {"loss": "minimize", "speed": "maximize"})
    rows = "x,speed,loss,noise.loss,error\n0.5,3,,0.1,\n0.6,,2,0.1,\n0.7,,,,\n0.8,3,,,broke\n0.9,3,1,,odd\n"
    slow, fast, nothing, broken, whole = read(rows, problem)
    assert (slow.state, slow.values, slow.noise) == ("done", {"loss": None, "speed": 3.0}, {})
    assert (fast.state, fast.values, fast.noise) == ("done", {"loss": 2.0, "speed": None}, {"loss": 0.1})
    assert (nothing.state, nothing.error, nothing.measurements) == ("failed", "'loss' was None", {})
    assert (broken.state, broken.error, broken.measurements) == ("failed", "broke", {"speed": 3.0})
    assert (whole.state, whole.measurements) == ("done", {"error": "odd"})


def test_a_failed_trial_that_had_some_values_is_read_as_one() -> None:
    problem = Problem({"x": Float(0, 1)}, {"loss": "minimize", "speed": "maximize"})
    optimizer = Optimizer(problem)
    optimizer.observe({"x": 0.5}, {"loss": math.nan, "speed": 3.0})
    optimizer.observe({"x": 0.5}, {"loss": None, "speed": 3.0})
    assert [row[2:4] for row in csv.reader(as_csv(problem, optimizer.trials).splitlines()[1:])] == [
        ["", "3.0"]
    ] * 2
    assert read(as_csv(problem, optimizer.trials), problem) == as_observed(*optimizer.trials)


def test_nothing_in_a_cell_is_evaluated() -> None:
    with pytest.raises(TellError, match=r"wanted a number, got .__import__"):
        read("degrees,kind,value\n1,rye,__import__('os').getpid()\n")
    (trial,) = read("degrees,kind,value,more\n1,rye,2,=1+1\n")
    assert trial.measurements == {"more": "=1+1"}


@pytest.mark.parametrize("cell", [None, math.nan, "", "  "])
def test_a_blank_is_a_blank(cell: Any) -> None:
    row = {"degrees": 1, "kind": "rye", "value": cell, "more": cell, "notes": cell}
    (trial,) = observed(OVEN, list(row), [("here", row)])
    assert (trial.state, trial.measurements, trial.notes) == ("failed", {}, None)


def test_an_option_of_blanks_is_not_taken_for_another() -> None:
    problem = Problem({"kind": Choice(["", "  ", "rye"])})
    names = ["kind", "value"]
    trials = observed(problem, names, [("here", {"kind": kind, "value": 1}) for kind in ("", "  ", "rye")])
    assert [trial.params["kind"] for trial in trials] == ["", "  ", "rye"]


HOSTILE = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "=cmd|' /C calc'!A0", " =1+1", "\t=1+1", "\r=1+1", "\n=1+1"]
HOSTILE += ['"=1+1', "\uff1d1+1", "a;=1+1", "a;b;-2+3", "a\n=1+1", "\x1b[2J\x1b]0;x\x07", "'=1+1", "''=1+1"]
HOSTILE += ["\x9b31m\x00\x7f\u202e\u2028\u200b", "'tis", "'", "''", "'\\x1b", "''\\\\x1b", "C:\\new\\x41"]
HOSTILE += ["\\x1b", "-inf", "--debug", "a\nb", "ends in \r"]


def inert(written: str) -> bool:
    """Whether neither a terminal nor a spreadsheet, with any separator, would act on a cell."""
    if not all(letter.isprintable() or letter == "\n" for letter in written):
        return False
    parts = re.split("[;|\t\r\n]", written)
    return not any(part.strip(' "')[:1] in tuple("=+-@\uff1d\uff0b\uff0d\uff20") for part in parts)


@pytest.mark.fault(44)
@pytest.mark.parametrize("text", HOSTILE)
def test_a_cell_does_nothing_and_comes_back(text: str) -> None:
    assert inert(cell(text))
    assert from_cell(cell(text)) == text


ALPHABET = st.sampled_from("=+-@;|'\"\\ ,abnrtxuU0147\x1b\t\r\n\u202e\ud800\uff1d\U000e0001")


@pytest.mark.fault(44)
@given(st.text() | st.text(ALPHABET))
def test_any_cell_does_nothing_and_comes_back(text: str) -> None:
    written = cell(text)
    assert inert(written) or re.fullmatch(r"[-+][\d.eE+-]+", written)
    assert from_cell(written) == text
    assert from_cell(text) == text or text.startswith("'")


@pytest.mark.parametrize("text", ["'tis", "'quoted'", "rye", "-1", "+1e-5", "a;b", "two\nlines", "C:\\x41"])
def test_an_ordinary_cell_stays_as_it_is(text: str) -> None:
    assert cell(text) == from_cell(text) == text


@given(st.lists(st.text(ALPHABET, min_size=1), min_size=2, max_size=4, unique=True), st.text(ALPHABET))
def test_hostile_names_options_and_texts_come_back(texts: list[str], text: str) -> None:
    name = f"={texts[0]}"
    problem = Problem({name: Choice(texts)})
    optimizer = Optimizer(problem)
    optimizer.observe({name: texts[0]}, {"value": 1.0, f"@{texts[1]}": f"={text}"})
    optimizer.fail(optimizer.ask(), f"-{text}!")
    lines = "".join(write_csv(problem, optimizer.trials))
    table = csv.reader(io.StringIO(lines, newline=""))
    assert all(inert(one) or re.fullmatch(r"[-+][\d.eE+-]+", one) for row in table for one in row)
    back = read_csv(problem, lines)[0]
    for was, now in zip(as_observed(*optimizer.trials), back, strict=True):
        assert (now.params, now.values, now.error) == (was.params, was.values, was.error)
        names = {one.strip(): value for one, value in was.measurements.items()}
        assert now.measurements == names


def test_a_table_that_bopp_did_not_write_keeps_its_apostrophes() -> None:
    (trial,) = read("degrees,kind,value,day\n1,rye,2,'tis monday\n")
    assert trial.measurements == {"day": "'tis monday"}


def test_what_is_broken_has_a_column_that_is_not_read_back() -> None:
    problem = Problem({"breaks": Float(0, 1)}, {"error": "minimize"}, [AtMost("memory", 16.0)])
    trials = [
        Trial(0, {"breaks": 0.5}, "done", {"error": 1.0, "memory": 17.25}, measurements={"note": "x"}),
        Trial(1, {"breaks": 0.25}, "done", {"error": 2.0, "memory": 16.0}),
        Trial(2, {"breaks": 0.75}, "failed", error="no"),
    ]
    table = columns(problem, trials)
    assert table["breaks"] == ["memory 17.25 > 16", None, None]
    assert table["params.breaks"] == [0.5, 0.25, 0.75]
    assert "breaks" not in columns(Problem({"x": Float(0, 1)}), ())
    again, left_out = read_csv(problem, "".join(write_csv(problem, trials)))
    assert left_out == 0
    assert [trial.params for trial in again] == [trial.params for trial in trials]
    assert [dict(trial.measurements) for trial in again] == [{"note": "x"}, {}, {}]
