"""What the dashboard costs: a study of many trials in a real browser, and many browsers while workers write.

PYTHONPATH=tests python benchmarks/dashboard.py [--trials 50000] [--blocks 6] [--out FILE]
"""

import argparse
import multiprocessing
import os
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bopp
from bopp.trial import Trial
from report import heading, markdown, publish
from support.browsers import Browser, browser
from support.dashboards import Client, dashboard, memory

UPDATES = 20
WATCHERS, WRITERS, TRIALS, SECONDS = 20, 8, 30, 0.05  # of one block; seconds of an evaluation
SPACE = bopp.Space(
    {
        "rate": bopp.Float(1e-4, 1.0, log=True),
        "momentum": bopp.Float(0.0, 1.0),
        "decay": bopp.Float(0.0, 1.0),
        "layers": bopp.Int(1, 20),
        "width": bopp.Int(1, 512),
        "kind": bopp.Choice(["relu", "tanh", "gelu"]),
    }
)

SEES = """
window.seen = [];
new MutationObserver(() => {
  const done = document.querySelector("#done");
  if (!done || done.innerText === window.done) return;
  window.done = done.innerText;
  const asked = performance.getEntriesByType("resource").filter((e) => e.name.includes("live=1"));
  const last = asked[asked.length - 1];
  window.seen.push([Date.now(), performance.now() - last.startTime]);
  performance.clearResourceTimings();
}).observe(document.querySelector("main"), {childList: true, subtree: true});
window.done = document.querySelector("#done").innerText;
"""


class Large(NamedTuple):
    """What was measured of a study of many trials."""

    first: float  # seconds until the first page is loaded, by a server that has just begun
    whole: float  # until it shows all trials
    again: float  # until the page is loaded once more
    update: float  # from the fetch of a change until it is shown, median
    longest: float  # the longest of these
    behind: float  # from the moment a value is stored until it is shown, median
    tab: float  # megabytes
    server: float
    model: float  # of the process that computes the model


def large(folder: Path, trials: int) -> Large:
    """A study of many trials in a real browser."""
    url = f"sqlite:///{folder}/large.db"
    with bopp.open_study(url, "large", SPACE) as study:
        study.observe_all(_trials(trials))
        with dashboard(url) as server, browser() as window:
            window.open(server.link.rpartition(": ")[2])
            first = _loaded(window)
            began = time.monotonic()
            window.until(lambda: not window.all(".state.reading") and window.all("canvas"))
            whole = first + time.monotonic() - began
            window.open(f"{server.address}/study?name=large")
            again = _loaded(window)
            window.until(lambda: window.all("canvas"))
            window.run(SEES)
            behind = []
            for number in range(UPDATES):
                study.observe(_params(random.Random(number)), 1.0 + number)
                stored = time.time()
                behind.append(_shown(window, number) - stored)
            updates = [took / 1000 for _, took in window.run("return window.seen")]
            tab, serving = _tab(window), server.memory
            window.open(f"{server.address}/picture?name=large&kind=slices")
            return Large(
                first=first,
                whole=whole,
                again=again,
                update=statistics.median(updates),
                longest=max(updates),
                behind=statistics.median(behind),
                tab=tab,
                server=serving,
                model=max(memory(pid) for pid in server.children),
            )


def delays(folder: Path, blocks: int) -> tuple[list[float], list[float], int]:
    """Milliseconds of an ask and a tell, in the mean of each block, without watchers and with; and errors."""
    url = f"sqlite:///{folder}/shared.db"
    bopp.open_study(url, "shared", SPACE, recipe=bopp.Recipe.random()).close()
    alone, watched, errors = [], [], 0
    with dashboard(url) as server:
        client = Client(server)
        words = [client.another("shared") for _ in range(WATCHERS)]
        clients = [Client(server, word) for word in words]
        for block in range(2 * blocks):
            if block % 2 == (block // 2) % 2:  # which comes first alternates too
                alone.append(_block(url))
            else:
                with _watching(clients) as failed:
                    watched.append(_block(url))
                errors += len(failed)
    return alone, watched, errors


def _block(url: str) -> float:
    """Milliseconds that an ask and a tell take, in the mean over all workers."""
    with multiprocessing.get_context("fork").Pool(WRITERS) as pool:
        times = pool.map(_write, [url] * WRITERS, chunksize=1)
    return 1000 * statistics.mean(took for one in times for took in one)


def _write(url: str) -> list[float]:
    took = []
    with bopp.open_study(url, "shared") as study:
        for _ in range(TRIALS):
            began = time.perf_counter()
            trial = study.ask()
            asked = time.perf_counter() - began
            time.sleep(SECONDS)
            began = time.perf_counter()
            study.tell(trial, trial.params["momentum"])
            took.append(asked + time.perf_counter() - began)
    return took


@contextmanager
def _watching(clients: list[Client]) -> Iterator[list[Exception]]:
    """Every client does what a page does: hears of changes, fetches what is new, and data for the chart."""
    failed: list[Exception] = []
    over = threading.Event()

    def watch(client: Client) -> None:
        try:
            for line in client.events("shared"):
                if over.is_set():
                    return
                if line.startswith(b"data:"):
                    for path, more in (("/study", {"live": "1"}), ("/data/convergence", {})):
                        assert client.get(path, name="shared", **more).status == 200
                    time.sleep(max(0.0, 1.0 - 0.05))  # a page asks once a second at most
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=watch, args=(client,), daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    time.sleep(1.0)
    yield failed
    over.set()


def _trials(count: int) -> list[Trial]:
    rng = random.Random(0)
    return [_trial(number, rng) for number in range(count)]


def _trial(number: int, rng: random.Random) -> Trial:
    params = _params(rng)
    if rng.random() < 0.02:
        return Trial(number, params, "failed", error="ValueError: no convergence")
    return Trial(number, params, "done", {"value": (params["momentum"] - 0.3) ** 2 + params["decay"] / 10})


def _params(rng: random.Random) -> dict[str, Any]:
    return SPACE.decode(np.array([rng.random() for _ in range(SPACE.dimension)]))


def _shown(window: Browser, number: int) -> float:
    """When the change of this number was shown."""
    window.until(lambda: window.run("return window.seen.length") > number)
    return float(window.run("return window.seen[window.seen.length - 1][0]")) / 1000


def _loaded(window: Browser) -> float:
    """Seconds from the click until the page was loaded."""
    script = (
        "const e = performance.getEntriesByType('navigation')[0];"
        "return document.querySelector('#finding') && e.loadEventEnd"
    )
    return float(window.until(lambda: window.run(script))) / 1000


def _tab(window: Browser) -> float:
    """Megabytes of the process that shows the page; what it shares with others counts in part."""
    largest = 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" in (folder / "cmdline").read_bytes():
                lines = (folder / "smaps_rollup").read_text().splitlines()
                largest = max(
                    largest, *(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))
                )
        except OSError:
            continue
    return largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--trials", type=int, default=50_000)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seen = large(Path(folder), chosen.trials)
        alone, watched, errors = delays(Path(folder), chosen.blocks)
    ratios = [one / other for one, other in zip(watched, alone, strict=True)]
    update = f"{seen.update:.3f} s, {seen.longest:.3f} s"
    rows = [
        ["the first page of a server that has just begun", f"{seen.first:.2f} s"],
        ["until that shows all trials", f"{seen.whole:.2f} s"],
        ["the same page once more", f"{seen.again:.2f} s"],
        ["a change, from fetched to shown: median, longest", update],
        ["a value, from stored to shown: median", f"{seen.behind:.2f} s"],
        ["memory of the browser's tab", f"{seen.tab:.0f} MB"],
        ["memory of the server", f"{seen.server:.0f} MB"],
        ["memory of the process beside it, while slices are drawn", f"{seen.model:.0f} MB"],
    ]
    ratio = statistics.mean(watched) / statistics.mean(alone)
    between = f"{min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} pairs of blocks"
    told = [
        ["an ask and a tell, nobody watching", f"{statistics.mean(alone):.1f} ms"],
        [f"{WATCHERS} browsers watching", f"{statistics.mean(watched):.1f} ms"],
        ["ratio", f"{ratio:.3f} ({between})"],
        ["errors", str(errors)],
    ]
    columns = ["what", "measured"]
    parts = [
        "# What the dashboard costs",
        heading(),
        f"A study of {chosen.trials:,} trials and {len(SPACE.parameters)} parameters, in Chromium:",
        markdown(columns, rows),
        f"{WRITERS} workers on one SQLite file, each {TRIALS} trials of {SECONDS} s in a block, and "
        f"{os.cpu_count()} cores, which the watchers use too. A watcher does what a page does, in Python:",
        markdown(columns, told),
    ]
    publish(parts, chosen.out)


if __name__ == "__main__":
    main()
