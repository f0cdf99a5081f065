"""The pictures of the dashboard in these pages: a study is run, served, and shown in a real browser.

PYTHONPATH=tests python docs/screens.py
"""

import math
import tempfile
from pathlib import Path
from typing import Any

import bopp
from support.browsers import Browser, browser
from support.dashboards import dashboard

FOLDER = Path(__file__).parent / "pictures"
SPACE: dict[str, bopp.Parameter] = {
    "temperature": bopp.Float(20, 90),
    "minutes": bopp.Int(5, 120, log=True),
    "acid": bopp.Float(1e-3, 1.0, log=True),
    "solvent": bopp.Choice(["water", "ethanol", "acetone"]),
}


def percent(temperature: float, minutes: int, acid: float, solvent: str) -> float:
    """The yield of an imagined reaction, which goes wrong where acetone boils."""
    if solvent == "acetone" and temperature > 70:
        raise RuntimeError("the solvent boiled off")
    warm = math.exp(-(((temperature - 62) / 18) ** 2))
    long = 1 - math.exp(-minutes / 25)
    strong = math.exp(-((math.log10(acid) + 1.4) ** 2))
    return 100 * warm * long * strong * {"water": 0.7, "ethanol": 0.95, "acetone": 0.85}[solvent]


def measure(params: Any) -> dict[str, float]:
    made = percent(params["temperature"], params["minutes"], params["acid"], "ethanol")
    return {"made": made, "cost": 0.2 * params["minutes"] + 40 * params["acid"], "waste": 30 * params["acid"]}


def shoot(window: Browser, name: str, height: int) -> None:
    """Keep what the window shows."""
    window.resize(1280, height)
    window.until(lambda: not window.all("[data-wait]") and not window.all("a.scripted .hint"))
    window.driver.save_screenshot(str(FOLDER / f"dashboard-{name}.png"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/laboratory.db"
        with bopp.open_study(url, "yield", SPACE, "maximize", lease=None) as study:
            study.optimize(percent, budget=32, progress=False)
            with dashboard(url) as server, browser(height=1000) as window:
                window.open(server.link.rpartition(": ")[2])
                window.until(lambda: window.all("canvas"))
                shoot(window, "overview", 860)
                window.open(f"{server.address}/model?name=yield")
                shoot(window, "model", 1500)
                study.ask(2)
                window.open(f"{server.address}/work?name=yield")
                shoot(window, "work", 860)
                window.open(f"{server.address}/trial?name=yield&number=20")
                shoot(window, "trial", 800)
                window.open(f"{server.address}/parallel?name=yield")
                window.until(lambda: window.all("canvas"))
                shoot(window, "parallel", 720)


if __name__ == "__main__":
    main()
