"""The optimizers of the contest by name, each made by a function of the module of its library."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import cast

import bopp
from contest.peers.peer import Factory, Peer, always, flat_numbers, many_flat_numbers, two_parameters

__all__ = ["PEERS", "Entry", "Factory", "Peer", "installed"]


@dataclass(frozen=True)
class Entry:
    """Where a peer is made, what it stands on, and on which spaces it can work."""

    module: str
    function: str
    packages: tuple[str, ...]
    fits: Callable[[bopp.Space], bool] = always

    @property
    def factory(self) -> Factory:
        """The function that makes the peer; imports its library."""
        return cast(Factory, getattr(import_module(self.module), self.function))

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the packages that it stands on."""
        return {package: version(package) for package in self.packages}


PEERS: dict[str, Entry] = {
    "bopp": Entry("contest.peers.bopp", "Bopp", ("bopp", "numpy", "scipy")),
    "gpsampler": Entry("contest.peers.optuna", "gpsampler", ("optuna", "torch", "greenlet")),
    "tpe": Entry("contest.peers.optuna", "tpe", ("optuna",)),
    "botorch": Entry("contest.peers.botorch", "Botorch", ("botorch", "gpytorch", "torch"), flat_numbers),
    "turbo": Entry("contest.peers.turbo", "Turbo", ("botorch", "gpytorch", "torch"), many_flat_numbers),
    "smac-bb": Entry("contest.peers.smac", "black_box", ("smac", "ConfigSpace")),
    "smac-hpo": Entry("contest.peers.smac", "hyper_parameters", ("smac", "ConfigSpace")),
    "skopt": Entry("contest.peers.skopt", "Skopt", ("scikit-optimize", "scikit-learn")),
    "cmaes": Entry("contest.peers.cmaes", "Cmaes", ("cmaes",), two_parameters),
    "ngopt": Entry("contest.peers.nevergrad", "Ngopt", ("nevergrad",)),
    "sobol": Entry("contest.peers.sobol", "Sobol", ("scipy",)),
}


def installed(names: Iterable[str], peers: Mapping[str, Entry] = PEERS) -> list[str]:
    """The peers whose libraries are installed; prints a line for each that is left out."""
    present = []
    for name in names:
        try:
            _ = peers[name].versions
        except PackageNotFoundError as error:
            print(f"{name} is left out: {error.name} is not installed", flush=True)
        else:
            present.append(name)
    return present
