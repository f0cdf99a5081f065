"""The dashboard in a real browser: what people see and do."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

import bopp
from bopp import pseudo
from support.browsers import Browser, browser
from support.dashboards import Dashboard, dashboard

SPACE: dict[str, bopp.Parameter] = {
    "rate": bopp.Float(1e-4, 1.0, log=True),
    "layers": bopp.Int(1, 9),
    "kind": bopp.Choice(["relu", "tanh"]),
}
PAGES = ("study", "trials", "model", "parallel", "work", "trial")
HOSTILE = "<img src=x onerror='window.hacked = 1'><script>window.hacked = 1</script>"
UNLABELLED = """
return [...document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a")]
  .filter((e) => !(e.labels && e.labels.length) && !e.ariaLabel && !e.innerText.trim())
  .filter((e) => !e.querySelector("img[alt]"))
  .map((e) => e.outerHTML);
"""
COUNT = "const e = document.querySelector('#done'); return e && e.innerText"
TROUBLE = "const e = document.querySelector('#trouble'); return e.hidden ? '' : e.innerText"
DRAWN = """
return [...document.querySelectorAll("a.scripted img")]
  .filter((e) => e.naturalWidth > 100 && e.offsetWidth > 100)
  .map((e) => e.currentSrc);
"""
ENDURANCE = pytest.mark.endurance
BEYOND = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


def loss(params: dict[str, Any]) -> float:
    return float(abs(params["layers"] - 4) + params["rate"] + (params["kind"] == "relu"))


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with studies of all kinds, in which nothing changes."""
    url = f"sqlite:///{tmp_path_factory.mktemp('store')}/a.db"
    with bopp.open_study(url, "plain", SPACE, knowledge=[pseudo.Limits(at_least=0)]) as study:
        study.optimize(loss, budget=12, progress=False)
        study.note(3, "the new oven")
        study.amend(2, 1.5, "read off the wrong scale")
        study.ask()
    problem = bopp.Problem(
        SPACE, {"error": "minimize", "latency": "minimize"}, constraints=[bopp.AtMost("memory", 12)]
    )
    with bopp.open_study(url, "several", problem) as study:
        for _ in range(12):
            trial = study.ask()
            layers = trial.params["layers"]
            study.tell(trial, {"error": loss(trial.params), "latency": layers**1.5, "memory": 2.0 * layers})
    with bopp.open_study(url, HOSTILE, {HOSTILE: (0.0, 1.0), "kind": bopp.Choice([HOSTILE, "b"])}) as study:
        for value in (1.0, 2.0):
            study.note(study.tell(study.ask(), value), HOSTILE)
        study.fail(study.ask(), HOSTILE, f"Traceback\n{HOSTILE}")
        study.pause(HOSTILE)
    return url


@pytest.fixture(scope="module")
def served(store: str) -> Iterator[Dashboard]:
    with dashboard(store) as running:
        yield running


@pytest.fixture(scope="module")
def signed_in(window: Browser, served: Dashboard) -> Browser:
    """The browser after it has come in by the link."""
    window.open(served.link.rpartition(": ")[2])
    window.until(lambda: window.text("h1").startswith("Studies in"))
    return window


@pytest.fixture
def inside(signed_in: Browser) -> Browser:
    """The browser on an empty page, without complaints about those of earlier tests."""
    signed_in.open("about:blank")
    signed_in.complaints()
    return signed_in


def path(page: str, name: str) -> str:
    return f"/{page}?{urlencode({'name': name, **({'number': 2} if page == 'trial' else {})})}"


def fetched(window: Browser, path: str) -> Any:
    """The JSON that the page can fetch."""
    script = "const [path, done] = arguments; fetch(path).then((answer) => answer.json()).then(done)"
    return window.driver.execute_async_script(script, path)


def is_loaded(image: WebElement) -> bool:
    return int(str(image.get_property("naturalWidth") or 0)) > 100


def has_colours(window: Browser, canvas: WebElement) -> bool:
    """Whether something is drawn; what is blank has one colour."""
    script = "return new Set(arguments[0].getContext('2d').getImageData(0, 0, 900, 300).data).size"
    return int(window.run(script, canvas)) > 10


def come_in(window: Browser, server: Dashboard) -> None:
    window.open(server.link.rpartition(": ")[2])
    window.find("nav")
    window.complaints()  # of a server that is gone


@pytest.mark.parametrize(
    ("width", "theme"),
    [
        (360, "light"),
        *(pytest.param(*case, marks=ENDURANCE) for case in product([1280, 3840], ["light", "dark"])),
        pytest.param(360, "dark", marks=ENDURANCE),
    ],
)
def test_every_page_fits_its_screen_and_has_a_name_for_everything(
    inside: Browser, served: Dashboard, width: int, theme: str
) -> None:
    inside.resize(width, 800)
    inside.theme(theme)
    for name in ("plain", "several"):
        for page in PAGES:
            inside.open(f"{served.address}{path(page, name)}")
            inside.find("h2")
            assert inside.run(BEYOND) <= 0, (page, name)
            assert inside.run(UNLABELLED) == [], (page, name)
            assert inside.complaints() == [], (page, name)


def test_stored_markup_is_text_in_a_browser(inside: Browser, served: Dashboard) -> None:
    inside.resize(1280, 800)
    for page in PAGES:
        inside.open(f"{served.address}{path(page, HOSTILE)}")
        assert HOSTILE in inside.text("h1")
        inside.find("h2")
        assert inside.run("return window.hacked") is None
        assert all("picture" in str(image.get_attribute("class")) for image in inside.all("img"))
        assert inside.complaints() == []


@ENDURANCE
def test_charts_are_drawn(inside: Browser, served: Dashboard) -> None:
    inside.resize(1280, 800)
    for page, name in (
        ("study", "plain"),
        ("study", "several"),
        ("parallel", "plain"),
        ("parallel", "several"),
    ):
        inside.open(f"{served.address}{path(page, name)}")
        canvas = inside.find(".chart canvas")
        inside.until(partial(has_colours, inside, canvas))
        assert inside.complaints() == []


@ENDURANCE
def test_pictures_of_the_model_come_when_they_are_drawn_and_anew_when_it_changes(
    tmp_path: Path, window: Browser
) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    with bopp.open_study(url, "plain", SPACE) as study:
        study.optimize(loss, budget=8, progress=False)
        with dashboard(url) as server:
            window.resize(1280, 3000)  # all of them are on the screen
            come_in(window, server)
            window.open(f"{server.address}{path('model', 'plain')}")
            window.until(lambda: len(window.run(DRAWN)) == 4)
            assert not window.all("a.scripted .hint")
            shares, before = window.text("#importance"), window.run(DRAWN)
            for layers in range(1, 9):
                study.observe({"rate": 0.5, "layers": layers, "kind": "tanh"}, float(layers % 3))
            window.until(lambda: not set(before) & set(window.run(DRAWN)), 60.0)
            window.until(lambda: not window.all("[data-wait]") and window.text("#importance") != shares, 60.0)
            assert window.complaints() == []


@ENDURANCE
def test_lines_are_selected_by_dragging_and_by_keyboard(inside: Browser, served: Dashboard) -> None:
    inside.resize(1280, 800)
    inside.open(f"{served.address}{path('parallel', 'plain')}")
    svg = inside.find(".chart .stage svg")
    told = {trial["number"]: trial for trial in fetched(inside, "/data/parallel?name=plain")["lines"]}
    rem = inside.run("return parseFloat(getComputedStyle(document.documentElement).fontSize)")
    axis = int(2.5 * rem) - int(inside.run("return arguments[0].clientWidth", svg) / 2)  # the first: rate
    drag = ActionChains(inside.driver).move_to_element_with_offset(svg, axis, 0)
    drag.click_and_hold().move_by_offset(0, 400).release().perform()
    text = inside.until(
        lambda: next((e.text for e in inside.all("[aria-live=polite]") if "selected" in e.text), "")
    )
    selected, _, total = text.partition(" of ")
    assert 0 < int(selected) < len(told)
    assert total == f"{len(told)} trials selected"
    links = [int(link.text) for link in inside.all(".numbers a")]
    assert len(links) == int(selected)
    middle = min(max(told[number]["places"][0] for number in links), 0.55)
    assert all(told[number]["places"][0] <= middle + 0.1 for number in links)
    inside.find("details summary").click()
    lower, upper = inside.all("input[type=range]")[:2]
    upper.send_keys(Keys.END)
    lower.send_keys(Keys.HOME)
    inside.until(lambda: not any("selected" in element.text for element in inside.all("[aria-live=polite]")))


def test_another_site_cannot_change_a_study(inside: Browser, served: Dashboard, store: str) -> None:
    page = (
        f'<form method="post" action="{served.address}/change/pause"><input name="name" value="plain"></form>'
        "<script>document.forms[0].submit()</script>"
    )

    class Foreign(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as foreign:
        threading.Thread(target=foreign.serve_forever, daemon=True).start()
        inside.open(f"http://127.0.0.1:{foreign.server_port}/")
        assert inside.until(lambda: inside.text("h1")) == "403"
        foreign.shutdown()
    inside.complaints()
    with bopp.open_study(store, "plain", read_only=True) as study:
        assert study.paused is None


@ENDURANCE
def test_a_run_is_watched_to_its_end(tmp_path: Path, window: Browser) -> None:
    def slow(params: dict[str, Any]) -> float:
        time.sleep(0.02)
        return float((params["x"] - 0.3) ** 2 + (params["k"] == "a"))

    url = f"sqlite:///{tmp_path}/a.db"
    space = {"x": bopp.Float(0, 1), "k": bopp.Choice(["a", "b"])}
    with bopp.open_study(url, "watched", space) as study, dashboard(url) as server:
        window.resize(1280, 900)
        come_in(window, server)
        running = threading.Thread(target=lambda: study.optimize(slow, budget=50, progress=False))
        running.start()
        assert window.until(lambda: 0 < int(window.run(COUNT) or 0) < 50)
        window.until(lambda: window.run(COUNT) == "50", 60.0)
        running.join()
        best, trials = study.best, study.trials
        window.until(lambda: window.text("#asked") == "0")
        assert window.text("#finding") == f"{best.value:.6g} in trial {best.number}"
        assert [window.text(f"#{word}") for word in ("done", "failed", "queued")] == ["50", "0", "0"]
        shown = [element.text for element in window.all("#best dd")]
        assert shown == [repr(best.value), str(best.number), repr(best.params["x"]), best.params["k"]]
        window.open(f"{server.address}/trials?name=watched&sort=number&order=up")
        rows = [
            [cell.text for cell in row.find_elements("css selector", "td")] for row in window.all("tbody tr")
        ]
        assert [row[:5] for row in rows] == [
            [str(t.number), t.state, f"{t.value:.6g}", f"{t.params['x']:.6g}", t.params["k"]] for t in trials
        ]
        assert window.complaints() == []


def test_a_laboratory_works_by_mouse_and_keyboard_alone(tmp_path: Path, window: Browser) -> None:
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "yield"\ndirection = "maximize"\nbudget = 20\n[space]\n'
        'temperature = { type = "float", low = 20, high = 90 }\n'
        'solvent = { type = "choice", options = ["water", "ethanol"] }\n'
    )
    window.resize(1280, 900)

    def says(text: str) -> None:
        window.until(lambda: window.text(".message").startswith(text))

    with dashboard("study.toml", folder=tmp_path) as server:
        come_in(window, server)
        window.driver.find_element("link text", "Work").click()
        count = window.find("#ask input[name=count]")
        count.clear()
        count.send_keys("3", Keys.ENTER)  # which creates the study
        says("to try next: trial 0, 1, 2")
        value = window.find("#trial-0 input[name='value:value']")
        value.click()
        value.send_keys("seventy", Keys.ENTER)
        says("wanted a number as value, got 'seventy'")
        value = window.find("#trial-0 input[name='value:value']")
        assert value.get_attribute("value") == "seventy"
        value.clear()
        value.send_keys("70.5", Keys.TAB, "0.5", Keys.TAB, "a clear solution", Keys.TAB, Keys.ENTER)
        says("trial 0 is told")
        window.find("#trial-1 details summary").click()
        window.find("#trial-1 details input[name=reason]").send_keys("the flask broke", Keys.ENTER)
        says("trial 1 is told as failed")
        window.find("#enqueue input[name='param:temperature']").send_keys("55")
        window.find("#enqueue button").click()
        says("it is tried before any suggestion")
        window.find("#pause input[name=reason]").send_keys("the oven is being cleaned", Keys.ENTER)
        says("paused")
        window.find("#pause button").click()
        says("resumed")
        window.driver.find_element("link text", "Trials").click()
        window.find("#trial-0").click()
        amend = window.find("form[action='/change/amend'] input[name='value:value']")
        amend.clear()
        amend.send_keys("75")
        window.find("form[action='/change/amend'] input[name=reason]").send_keys("a slip", Keys.ENTER)
        says("trial 0 is amended")
        assert window.complaints() == []
    with bopp.open_study(f"sqlite:///{tmp_path}/study.db", "yield", read_only=True) as study:
        one, two, three = study.trials
        assert (one.values, one.noise, one.notes) == ({"value": 75.0}, {"value": 0.5}, "a clear solution")
        assert (one.superseded[0].values, one.superseded[0].reason) == ({"value": 70.5}, "a slip")
        assert one.superseded[0].noise == {"value": 0.5}
        assert (two.state, two.error, three.state) == ("failed", "the flask broke", "asked")
        assert study.queued == [{"temperature": 55.0}]
        assert study.paused is None


@ENDURANCE
def test_without_scripts_tables_pictures_and_forms_are_there(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    with bopp.open_study(url, "plain", SPACE) as study:
        study.optimize(loss, budget=8, progress=False)
        with dashboard(url) as server, browser(scripts=False) as window:
            come_in(window, server)
            assert window.driver.find_element("css selector", "#done").text == "8"
            for page in ("study", "model", "parallel"):
                window.open(f"{server.address}{path(page, 'plain')}")
                for image in window.all("noscript img.picture"):
                    ActionChains(window.driver).scroll_to_element(image).perform()
                    window.until(partial(is_loaded, image))
            window.open(f"{server.address}{path('trials', 'plain')}")
            assert len(window.all("tbody tr")) == 8
            window.open(f"{server.address}{path('work', 'plain')}")
            window.find("#ask button").click()
            assert window.find(".message").text == "to try next: trial 8"
            window.find("#trial-8 input[name='value:value']").send_keys("0.25", Keys.ENTER)
            assert window.find(".message").text == "trial 8 is told"
        assert study.trials[8].value == 0.25


@ENDURANCE
def test_the_page_says_that_the_store_is_gone_and_goes_on_by_itself(tmp_path: Path, window: Browser) -> None:
    file, aside = tmp_path / "a.db", tmp_path / "b.db"
    with bopp.open_study(f"sqlite:///{file}", "plain", SPACE) as study:
        study.observe({"rate": 0.1, "layers": 3, "kind": "tanh"}, 1.0)
        with dashboard(f"sqlite:///{file}") as server:
            come_in(window, server)
            window.until(lambda: window.text("#done") == "1")
            file.rename(aside)
            window.until(lambda: "there is no file" in (window.run(TROUBLE) or ""))
            assert window.text("#done") == "1"
            aside.rename(file)
            window.until(lambda: not window.run(TROUBLE))
            study.observe({"rate": 0.1, "layers": 4, "kind": "tanh"}, 0.5)
            window.until(lambda: window.text("#done") == "2")
            assert server.stop() == 130
            window.until(lambda: "does not answer" in (window.run(TROUBLE) or ""))
    window.complaints()
