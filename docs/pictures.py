"""Draw the pictures of the README and of the page on goals: `make pictures`."""

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import bopp
from bopp.data import Array, History
from bopp.known import Known
from bopp.model import believe
from bopp.problem import Direction
from bopp.pseudo import Failed, Pending, none
from bopp.score import AverageScore
from bopp.suggest import suggest

PICTURES = Path(__file__).parent / "pictures"
EXAMPLE = Path(__file__).parents[1] / "examples" / "tune_regression.py"
SPACE = bopp.Space({"x": bopp.Float(0, 1)})
PENDING, CRASHED = 0.29, 0.68
LINE = np.linspace(0.0, 1.0, 401)[:, None]


def objective(x: Array) -> Array:
    """A function with two hills, to be maximised."""
    return np.asarray(np.sin(9.0 * x - 1.0) + 1.1 * x)


def history() -> History:
    """Five evaluations, one run that is still pending, one that crashed."""
    x = np.array([0.02, 0.20, 0.42, 0.55, 0.78])
    return History.of(bopp.Data(x[:, None], objective(x)), np.array([[PENDING]]), np.array([[CRASHED]]))


def draw(axes: Axes, recipe: bopp.Recipe, title: str) -> None:
    seen = history()
    model = believe(seen.data, recipe)
    (belief,) = model.beliefs
    known = Known(SPACE, model.scale, model.data, belief, seen.pending, seen.failed, t=1)
    points = recipe.pseudo(known)
    known = replace(known, posterior=belief.condition(points))
    mean, sd = known.posterior(LINE)
    middle, low, high = (model.scale.inverse(z) for z in (mean, mean - 2 * sd, mean + 2 * sd))
    axes.fill_between(LINE[:, 0], low, high, color="#d9e2ec", lw=0, label="model, 2 sd")
    axes.plot(LINE, middle, color="#486581", label="model, mean")
    axes.plot(LINE, objective(LINE), color="black", lw=0.8, ls=":", label="truth")
    axes.scatter(seen.data.X, seen.data.y, color="black", zorder=3, label="evaluated")
    if len(points):
        values = model.scale.inverse(points.y)
        axes.scatter(points.X, values, marker="D", color="#b3364a", zorder=3, label="pseudo-point")
    for x, word in ((PENDING, "pending"), (CRASHED, "crashed")):
        axes.axvline(x, color="#b3364a", lw=0.8, ls="--")
        axes.text(x - 0.01, -2.2, word, color="#b3364a", fontsize=8, ha="right")
    score = np.exp(AverageScore(recipe.acquisition, (known,), (1.0,)).values(LINE))
    axes.fill_between(LINE[:, 0], -4.6, -4.6 + score / score.max(), color="#9fb3c8", lw=0, label="promise")
    chosen = float(suggest(SPACE, recipe, seen, (0, len(seen)))[0])
    axes.annotate(
        "next", (chosen, -3.55), (chosen + 0.03, -2.8), ha="center", arrowprops={"arrowstyle": "->"}
    )
    axes.set(title=title, ylim=(-4.6, 3.2), xlim=(0, 1), xlabel="setting", yticks=[])


def pseudo_points() -> Figure:
    """The same evaluations without and with pseudo-points."""
    figure = Figure((9.0, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True)
    blind = replace(bopp.Recipe.default(), pseudo=none)
    draw(left, blind, "Without pseudo-points: repeats what is pending")
    draw(right, replace(blind, pseudo=Pending() + Failed()), "With pseudo-points: goes where nobody is")
    right.legend(frameon=False, fontsize=7, loc="upper right", ncols=2)
    return figure


def networks() -> bopp.Result:
    """Networks that are to be exact and quick, and must not be too large."""

    def train(rate: float, layers: int, width: int) -> dict[str, float]:
        error = 0.05 + 0.03 * (np.log10(rate) + 2.5 + 0.1 * layers) ** 2 + 1.2 / np.sqrt(layers * width)
        return {
            "error": float(error),
            "latency": 2.0 + 0.004 * layers * width**1.2,
            "memory": layers**0.5 * width / 16,
        }

    space = {"rate": (1e-5, 1e-1, "log"), "layers": (1, 12), "width": (8, 256, "log")}
    aims: dict[str, Direction] = {"error": "minimize", "latency": "minimize"}
    problem = bopp.Problem(space, aims, [bopp.AtMost("memory", 4.0)])
    return bopp.optimize(train, problem, budget=50, seed=0)


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    networks().plot_front(PICTURES / "front.png", title="networks of at most 4 MB")
    pseudo_points().savefig(PICTURES / "pseudo-points.png", dpi=130)
    example = runpy.run_path(str(EXAMPLE))
    problem = bopp.Problem(example["SPACE"], {"error": "minimize"})
    result = bopp.optimize(example["prediction_error"], problem, budget=50, seed=0)
    title = "support vector regression on medical data"
    result.plot_convergence(PICTURES / "tuning-convergence.png", title=title)
    result.plot_slice(PICTURES / "tuning-slices.png", title=title)


if __name__ == "__main__":
    main()
