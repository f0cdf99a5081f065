"""The few names of Ray Tune that the bridge imports, for states of a search where Ray is not installed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any


class Searcher:
    def __init__(self, metric: str | None = None, mode: str | None = None):
        pass


class Uniform:
    pass


class LogUniform:
    pass


class Quantized:
    pass


@dataclass(frozen=True)
class Domain:
    lower: float = 0
    upper: float = 1
    log: bool = False

    def get_sampler(self) -> Uniform | LogUniform:
        return LogUniform() if self.log else Uniform()


class Float(Domain):
    pass


class Integer(Domain):
    pass


@dataclass(frozen=True)
class Categorical(Domain):
    categories: tuple[Any, ...] = ()

    def is_grid(self) -> bool:
        return False


Leaves = list[tuple[tuple[str, ...], Any]]


def parse_spec_vars(spec: Mapping[str, Any]) -> tuple[Leaves, Leaves, Leaves]:
    """What is in a config, with the keys that lead there: constants, domains and grids."""
    leaves = _leaves(spec)
    domains = [(keys, value) for keys, value in leaves if isinstance(value, Domain)]
    return [leaf for leaf in leaves if leaf not in domains], domains, []


def assign_value(spec: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        spec = spec[key]
    spec[path[-1]] = value


def modules() -> dict[str, ModuleType]:
    """This module under the names of those that stand in for it."""
    result = ModuleType("ray.tune.result")
    result.DEFAULT_METRIC = "_metric"  # type: ignore[attr-defined]
    here = sys.modules[__name__]
    search = {f"ray.tune.search{part}": here for part in ("", ".sample", ".variant_generator")}
    return {"ray": here, "ray.tune": here, "ray.tune.result": result, **search}


def _leaves(spec: Mapping[str, Any]) -> Leaves:
    found: Leaves = []
    for key, value in spec.items():
        inner = _leaves(value) if isinstance(value, dict) else [((), value)]
        found += [((key, *keys), leaf) for keys, leaf in inner]
    return found
