import math
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from bopp.errors import RecipeError
from bopp.run.evaluation import InThisProcess
from bopp.run.futures import Futures
from bopp.run.place import default_workers, evaluator
from bopp.run.processes import Processes


def square(params: dict[str, Any]) -> float:
    return float(params["x"]) ** 2


def test_processes_are_taken_for_several_workers_or_a_time_out() -> None:
    assert isinstance(evaluator(square, 1, None), InThisProcess)
    assert isinstance(evaluator(square, 2, None), Processes)
    assert isinstance(evaluator(square, 1, 5.0), Processes)


@pytest.mark.parametrize(
    ("objective", "workers", "timeout", "words"),
    [
        *((one, 1, None, f"objective.*function.*{one}") for one in (3, None)),
        *((square, one, None, f"workers.*>= 1.*{one}") for one in (0, -2, 1.5, "2")),
        *((square, 1, one, f"trial_timeout.*{one}") for one in (0, -1.0, math.nan, "5")),
    ],
)
def test_bad_arguments_are_named(objective: Any, workers: Any, timeout: Any, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        evaluator(objective, workers, timeout)


@pytest.mark.parametrize("start_method", ["thread", "", 3, True])
def test_an_unknown_start_method_is_named(start_method: Any) -> None:
    with pytest.raises(RecipeError, match="start_method"):
        evaluator(square, 2, None, start_method=start_method)


def test_as_many_at_once_as_a_cluster_has_threads() -> None:
    assert default_workers(SimpleNamespace(nthreads=lambda: {"a": 3, "b": 2})) == 5
    assert default_workers(SimpleNamespace(nthreads=dict)) == 1
    assert default_workers(None) == 1


def test_an_executor_is_taken_where_there_is_one() -> None:
    with ThreadPoolExecutor() as threads:
        assert isinstance(evaluator(square, 3, None, threads), Futures)
        with pytest.raises(RecipeError, match="trial_timeout"):
            evaluator(square, 1, 5.0, threads)
        with pytest.raises(RecipeError, match="start_method"):
            evaluator(square, 1, None, threads, "spawn")
