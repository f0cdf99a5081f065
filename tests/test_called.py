import asyncio
import functools
import pickle
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bopp
from bopp import Choice, Float, Int, Space
from bopp.called import Called, called
from bopp.errors import RecipeError
from bopp.run.evaluation import evaluate
from bopp.study.command import Command

SPACE = Space({"rate": (0.0, 1.0), "layers": (1, 8)})
PARAMS = {"rate": 0.5, "layers": 3}
CONDITIONAL = Space({"method": ["sgd", "adam"], "momentum": Float(0, 1, when={"method": ["sgd"]})})


def by_keyword(rate: float, layers: int) -> float:
    return rate + layers


def of_dict(params: dict[str, Any]) -> float:
    return float(params["rate"] + params["layers"])


async def waited(rate: float, layers: int) -> float:
    await asyncio.sleep(0)
    return rate + layers


async def waited_dict(params: dict[str, Any]) -> float:
    await asyncio.sleep(0)
    return of_dict(params)


async def diverges(rate: float, layers: int) -> float:
    raise ValueError(f"{layers} layers")


async def hangs(rate: float, layers: int) -> float:
    await asyncio.sleep(600)
    return rate


class Scaled:
    def __init__(self, factor: float):
        self.factor = factor

    def __call__(self, rate: float, layers: int) -> float:
        return self.factor * (rate + layers)

    def method(self, *, layers: int, rate: float) -> float:
        return self.factor * (rate + layers)

    async def later(self, rate: float, layers: int) -> float:
        return self.factor * (rate + layers)


class Later:
    async def __call__(self, rate: float, layers: int) -> float:
        return rate + layers


def passed_on(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator whose functions take a dict, whatever the signature of what they wrap says."""

    @functools.wraps(function)
    def wrapper(params: dict[str, Any]) -> Any:
        return function(**params)

    return wrapper


def scaled(rate: float, layers: int, factor: float) -> float:
    return factor * (rate + layers)


def of_dict_scaled(params: dict[str, Any], factor: float = 1.0) -> float:
    return factor * of_dict(params)


def anything(**params: Any) -> float:
    return of_dict(params)


def with_default(rate: float, layers: int = 9, seed: int = 0) -> float:
    return rate + layers + seed


BY_KEYWORD: list[Callable[..., Any]] = [
    by_keyword,
    anything,
    with_default,
    Scaled(1.0),
    Scaled(1.0).method,
    functools.partial(scaled, factor=1.0),
    functools.partial(by_keyword, layers=9),  # what a partial has is a default
    passed_on(by_keyword),
    lambda rate, layers: rate + layers,
    lambda rate, **rest: rate + rest["layers"],
]
BY_DICT: list[Callable[..., Any]] = [
    of_dict,
    of_dict_scaled,
    functools.partial(of_dict_scaled, factor=1.0),
    passed_on(of_dict),
    spread(by_keyword),
    lambda rate: rate["rate"] + rate["layers"],  # one name of several: the dict
    lambda *args: of_dict(*args),
    lambda params, **rest: of_dict(params),
    lambda rate, layers=None, /: of_dict(rate),
]


@pytest.mark.parametrize("function", BY_KEYWORD)
def test_a_function_of_the_names_of_the_space_gets_them_by_keyword(function: Callable[..., Any]) -> None:
    objective = called(function, SPACE)
    assert objective == Called(function, by_keyword=True, awaited=False)
    assert objective(PARAMS) == 3.5


class Builtin:
    """Without a signature that can be read."""

    __signature__ = "unknown"

    def __call__(self, params: dict[str, Any]) -> float:
        return of_dict(params)


@pytest.mark.parametrize("function", [*BY_DICT, Builtin()])
def test_any_other_function_gets_the_dict_and_stays_as_it_is(function: Callable[..., Any]) -> None:
    assert called(function, SPACE) is function
    assert function(PARAMS) == 3.5
    command = Command("echo {params}")
    assert called(command, Space({"params": (0.0, 1.0)})) is command
    with pytest.raises(RecipeError, match="objective"):
        called(3, SPACE)  # type: ignore[arg-type]


def test_a_function_of_the_only_parameter_gets_its_value() -> None:
    space = Space({"x": (0.0, 1.0)})
    assert called(lambda x: x + 1, space)({"x": 0.5}) == 1.5
    assert called(lambda params: params["x"] + 1, space)({"x": 0.5}) == 1.5
    assert called(lambda x, /: x["x"] + 1, space)({"x": 0.5}) == 1.5
    mixed = Space({"n": Int(1, 3), "c": Choice(["a", None]), "epochs": 30})
    params = mixed.decode(np.full(mixed.dimension, 0.9))
    assert called(lambda n, c, epochs: (type(n), c, type(epochs)), mixed)(params) == (int, None, int)


@pytest.mark.parametrize(
    ("function", "takes"),
    [
        (lambda rate, layer: rate, "(rate, layer)"),
        (lambda: 0.0, "()"),
        (lambda *, rate, layer: rate, "(*, rate, layer)"),
        (lambda rate, layers, seed: rate, "(rate, layers, seed)"),
        (lambda rate, layers, /: rate, "(rate, layers, /)"),
        (functools.partial(scaled, 1.0), "(layers, factor)"),
    ],
)
def test_a_function_that_cannot_be_called_is_refused_before_the_run(
    function: Callable[..., Any], takes: str, tmp_path: Path
) -> None:
    words = re.escape(f"takes {takes}, the space has rate, layers")
    with pytest.raises(RecipeError, match=words):
        bopp.minimize(function, SPACE, 3, progress=False)
    with bopp.open_study(f"sqlite:///{tmp_path}/a.db", "s", SPACE) as study:
        with pytest.raises(RecipeError, match=words):
            study.optimize(function, 3, progress=False)
        assert study.trials == ()


def test_a_parameter_that_may_be_absent_wants_a_default() -> None:
    with pytest.raises(RecipeError, match="momentum"):
        called(lambda method, momentum: 0.0, CONDITIONAL)
    objective = called(lambda method, momentum=None: momentum, CONDITIONAL)
    assert objective({"method": "adam"}) is None
    assert objective({"method": "sgd", "momentum": 0.5}) == 0.5
    assert called(lambda method, **rest: len(rest), CONDITIONAL)({"method": "adam"}) == 0
    found = bopp.minimize(lambda method, momentum=0.0: momentum, CONDITIONAL, 8, progress=False)
    assert all(trial.state == "done" for trial in found.trials)


@pytest.mark.parametrize(
    "function",
    [waited, waited_dict, Later(), Scaled(1.0).later, functools.partial(Later()), passed_on(by_keyword)],
)
def test_what_is_called_goes_to_another_process(function: Callable[..., Any]) -> None:
    objective = called(function, SPACE)
    assert objective(PARAMS) == 3.5
    if function.__class__.__module__ == __name__ or function in (waited, waited_dict):
        assert pickle.loads(pickle.dumps(objective))(PARAMS) == 3.5


def test_an_async_objective_is_waited_for_where_a_loop_is_running() -> None:
    seen: list[int] = []

    async def objective(rate: float, layers: int) -> float:
        await asyncio.sleep(0)
        seen.append(threading.get_ident())
        return rate + layers

    async def notebook() -> bopp.Result:
        return bopp.minimize(objective, SPACE, 3, progress=False)

    found = asyncio.run(notebook())
    assert [trial.value for trial in found.trials] == [sum(trial.params.values()) for trial in found.trials]
    assert threading.get_ident() not in seen
    bopp.minimize(objective, SPACE, 1, progress=False)
    assert seen[-1] == threading.get_ident()  # without a loop: here


def test_an_interrupt_cancels_an_async_objective_in_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    async def objective(params: dict[str, Any]) -> float:
        begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()
        return 0.0

    def interrupted(*_: Any) -> None:
        assert begun.wait(30)
        raise KeyboardInterrupt

    async def notebook() -> None:
        monkeypatch.setattr("concurrent.futures.Future.result", interrupted)
        called(objective, SPACE)(PARAMS)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(notebook())
    assert ended.wait(30)


def test_an_error_in_an_async_objective_is_a_failed_trial() -> None:
    value, failure = evaluate(called(diverges, SPACE), PARAMS)
    assert value is None
    assert failure is not None
    assert failure.error == "ValueError: 3 layers"
    assert "in diverges" in (failure.traceback or "")


def test_objectives_run_in_processes_and_studies_and_time_out(tmp_path: Path) -> None:
    with bopp.open_study(f"sqlite:///{tmp_path}/a.db", "s", SPACE) as study:
        study.optimize(by_keyword, 3, workers=2, progress=False)
        study.optimize(waited, 6, workers=2, progress=False)
        assert [trial.value for trial in study.trials] == [
            sum(trial.params.values()) for trial in study.trials
        ]
    found = bopp.minimize(hangs, SPACE, 1, trial_timeout=1.0, progress=False)
    assert found.trials[0].error == "no value within 1.0 seconds"
