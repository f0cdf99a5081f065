import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from bopp import AtMost, Choice, Float, Holds, Int, Optimizer, Problem, Result, Trial, open_study
from support.tables import whisked

HOSTILE = "<script>alert('x')</script> & \"quoted\" \x1b[2J\u202e \udcff\nnext"


class Reader(HTMLParser):
    """What a browser would make of a page: its tags with their attributes, and the text of its cells."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def read(result: Result) -> Reader:
    page = result._repr_html_()
    page.encode()  # what goes to a browser is UTF-8
    reader = Reader(page)
    assert reader.open == []
    assert set(reader.tags) <= {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert reader.attributes <= {"style"}
    assert not re.search(
        r"(?i)url\(|@import|#[0-9a-f]{3}|black|white", page
    )  # nothing from the web, no colours
    return reader


def test_a_page_shows_the_best_the_counts_and_a_few_trials() -> None:
    optimizer = Optimizer({"x": Float(0, 1), "kind": Choice(["a", "b"])}, "maximize")
    for value in (3.0, 9.0, 1.0, 8.0, 2.0, 7.0, 4.0, 6.0):
        optimizer.observe({"x": value / 10, "kind": "a"}, value)
    optimizer.fail(optimizer.ask(), "it broke")
    optimizer.ask()
    seen = read(optimizer.result)
    assert "maximize: best 9 in trial 1" in seen.text
    assert "10 trials: 8 done, 1 failed, 1 asked" in seen.text
    assert ["x", "0.9"] in seen.rows
    heads = [place for place, row in enumerate(seen.rows) if row[0] == "trial"]
    assert len(heads) == 2
    assert seen.rows[heads[0]] == ["trial", "state", "value", "x", "kind", "remark"]
    best, latest = seen.rows[heads[0] + 1 : heads[1]], seen.rows[heads[1] + 1 :]
    assert [row[2] for row in best] == ["9", "8", "7", "6", "4"]
    assert [row[0] for row in latest] == ["5", "6", "7", "8", "9"]
    assert latest[3][1] == "failed"
    assert latest[3][-1] == "it broke"


def test_everything_that_others_wrote_is_escaped() -> None:
    problem = Problem({HOSTILE: Choice([HOSTILE, "b"])}, {HOSTILE: "minimize"}, [AtMost("<i>", 1.0)])
    failed = Trial(0, {HOSTILE: HOSTILE}, "failed", error=HOSTILE, notes=HOSTILE)
    done = Trial(1, {HOSTILE: HOSTILE}, "done", {HOSTILE: 0.5, "<i>": 1.0}, notes=HOSTILE)
    seen = read(Result(problem, (failed, done)))
    assert "<script>alert('x')</script>" in seen.text  # as text
    with open_study("sqlite://", "<script>", {"x": Float(0, 1)}) as study:
        assert "&lt;script&gt;" in study._repr_html_()
        assert "<script>" not in study._repr_html_()


def test_long_texts_are_cut() -> None:
    name = "long" * 100
    trial = Trial(0, {name: "o" * 1000}, "failed", error="e" * 10_000)
    assert len(Result(Problem({name: Choice(["o" * 1000, "p"])}), (trial,))._repr_html_()) < 4000


def test_a_page_without_a_best_says_why() -> None:
    space = {"x": Float(0, 1)}
    assert "no best, none of 0 trials has a value" in read(Result(Problem(space), ())).text
    failed = Trial(0, {"x": 0.5}, "failed", error="no power")
    seen = read(Result(Problem(space), (failed,)))
    assert "the first failed with: no power" in seen.text
    done = Trial(0, {"x": 0.5}, "done", {"value": 1.0})
    none = read(Result(Problem(space, constraints=[Holds("large", lambda p: p["x"] > 0.9)]), (done,)))
    assert "none of 1 finished trials meets the constraints" in none.text
    assert none.rows[-1][-1] == "not: large"

    def wrong(params: dict[str, float]) -> bool:
        raise RuntimeError("who knows")

    unknown = read(Result(Problem(space, constraints=[Holds("known", wrong)]), (done,)))
    assert "who knows" in unknown.rows[-1][-1]


def test_params_that_do_not_apply_are_blank_and_dropped_trials_say_why() -> None:
    optimizer = whisked()
    dropped = Trial(6, {"gone": 1}).dropped(datetime.now(UTC), "a wrong thermometer")
    seen = read(Result(optimizer.problem, (*optimizer.trials, dropped)))
    assert seen.rows[-1][:2] == ["6", "dropped"]
    assert seen.rows[-1][-1] == "asked before: a wrong thermometer"
    left = next(row for row in seen.rows if "leave" in row)
    assert left[left.index("leave") + 1] == ""


@pytest.mark.parametrize("count", [1, 2, 4, 5, 6])
def test_any_number_of_trials_can_be_shown(count: int) -> None:
    trials = tuple(Trial(n, {"n": n}, "done", {"value": float(n)}) for n in range(count))
    seen = read(Result(Problem({"n": Int(0, 9)}), trials))
    assert len([row for row in seen.rows if row[1:2] == ["done"]]) == 2 * min(count, 5)


def test_a_front_is_a_table_best_of_the_first_objective_first() -> None:
    problem = Problem(
        {"x": Float(0, 99)}, {"error": "minimize", "speed": "maximize"}, [AtMost("memory", 16.0)]
    )
    rows = [(n, 1.0 * n, 1.0) for n in range(30, 0, -1)]
    trials = [
        Trial(n, {"x": float(n)}, "done", {"error": float(error), "speed": speed, "memory": memory})
        for n, (error, speed, memory) in enumerate([*rows, (0, 50.0, 17.2)])
    ]
    seen = read(Result(problem, tuple(trials)))
    assert "minimize error, maximize speed: front of 30, the first 20 below" in seen.text
    assert seen.rows[1][:4] == ["29", "done", "1", "1"]
    assert seen.rows[-1] == ["30", "done", "0", "50", "17.2", "30", "memory 17.2 > 16"]
    nothing = read(Result(problem, (trials[-1],)))
    assert "front of 0" in nothing.text
