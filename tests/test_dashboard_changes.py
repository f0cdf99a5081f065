"""What people change on the pages: as the command line does it, once, and with words for what is wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import bopp
from support.dashboards import PATIENCE, Answer, Client, dashboard, served, wait_for

FILE = """
[study]
name = "mine"
budget = 20
[space]
x = { type = "float", low = 0.0, high = 1.0 }
kind = { type = "choice", options = ["a", "b"] }
"""


def said(answer: Answer) -> str:
    """What a page says of the last change."""
    return answer.page.text_of("p", "message")


def refused(answer: Answer, *words: str) -> bool:
    """Whether a page says, with these words, why the last change was not made."""
    text = answer.page.text_of("p", "message wrong")
    assert all(word in text for word in words), text
    return bool(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "study.toml").write_text(FILE)
    bopp.open_study(f"sqlite:///{tmp_path}/study.db", "other", {"y": bopp.Int(1, 9)}, "maximize").close()
    return tmp_path


@pytest.fixture
def client(folder: Path) -> Iterator[Client]:
    with served(folder / "study.toml") as running:
        yield Client(running)


def opened(folder: Path, name: str) -> bopp.Study:
    return bopp.open_study(f"sqlite:///{folder}/study.db", name, read_only=True)


def test_only_the_study_of_the_file_is_created_and_others_keep_their_space(
    client: Client, folder: Path
) -> None:
    assert refused(client.change("ask", "typo", count=1), "typo")
    assert said(client.change("ask", "mine", count=2)).endswith("trial 0, 1")
    assert said(client.change("ask", "other", count=1)).endswith("trial 0")
    with pytest.raises(bopp.BoppError, match=r"'other', 'mine'"):
        opened(folder, "typo")
    with opened(folder, "other") as other, opened(folder, "mine") as mine:
        found = [list(trial.params) for trial in (*other.trials, *mine.trials)]
    assert found == [["y"], *[["x", "kind"]] * 2]
    table = client.get("/trials", name="other", page=999)  # beyond the last page is the last
    assert "page 1 of 1" in table.text
    assert table.page.having(id="trial-0")
    wait_for(lambda: "being read" not in client.get("/?all=yes").text)
    links = client.get("/?all=yes").page.links
    assert [link for link in links if link.startswith("/study?")] == ["/study?name=mine", "/study?name=other"]


def test_a_form_of_another_space_is_refused_in_words(client: Client) -> None:
    assert refused(client.change("enqueue", "mine", param__gone="1"), "'gone=1'")
    answer = client.change("observe", "mine", param__x="0.5", param__kind="a", value__error="1")
    assert refused(answer, "value")
    assert answer.page.having(name="param:x", value="0.5")  # it need not be typed again


def test_a_value_is_told_once_and_amended_with_its_noise(client: Client, folder: Path) -> None:
    told = client.change("observe", "mine", param__x="0.25", param__kind="b", value__value="3.5", noise="0.1")
    number = int(said(told).rpartition(" ")[2])
    assert client.get("/trial", name="mine", number=number).page.having(name="noise", value="0.1")
    assert refused(client.change("tell", "mine", number=number, value__value="4", noise="", note=""), "trial")
    client.change("amend", "mine", number=number, value__value="4", noise="0.1", reason="a slip")
    with opened(folder, "mine") as study:
        trial = study.trials[number]
    assert (trial.value, dict(trial.noise)) == (4.0, {"value": 0.1})
    assert (trial.superseded[0].values, trial.superseded[0].noise) == ({"value": 3.5}, {"value": 0.1})
    assert "0.1" in client.get("/trial", name="mine", number=number).text.partition("taken back because")[2]


def test_a_pause_that_is_there_is_said_to_be(client: Client) -> None:
    client.change("ask", "mine", count=1)
    assert said(client.change("pause", "mine", reason="the oven")).startswith("paused: ")
    again = said(client.change("pause", "mine", reason="other"))
    assert "the oven" in again
    assert "already" in again
    assert refused(client.change("ask", "mine", count=1), "paused")
    assert "it was paused" in said(client.change("resume", "mine"))
    assert "not paused" in said(client.change("resume", "mine"))


@pytest.mark.endurance
def test_a_dashboard_that_is_stopped_in_mid_suggestion_ends_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    space = {f"x{i}": bopp.Float(0, 1) for i in range(6)}
    with bopp.open_study(url, "slow", space) as study:
        for number in range(40):
            study.observe({f"x{i}": (number * (i + 3)) % 41 / 41 for i in range(6)}, float(number % 7))
    with dashboard(url) as server:
        client = Client(server)
        client.change("ask", "slow", count=1)  # its process is there now
        sent = {"token": client.form_token("slow"), "name": "slow", "back": "work", "count": 50}
        asking = threading.Thread(target=lambda: client.post("/change/ask", sent), daemon=True)
        asking.start()
        time.sleep(0.3)
        beside = server.children
        assert beside
        began = time.monotonic()
        assert server.stop() == 130
        assert time.monotonic() - began < 10
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in beside), 5.0)
        asking.join(PATIENCE)
