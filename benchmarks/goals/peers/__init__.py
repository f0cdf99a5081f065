"""The optimizers by name, each made by a function of the module of its library."""

from contest.peers import Entry

__all__ = ["PEERS"]

PEERS: dict[str, Entry] = {
    "bopp": Entry("goals.peers.bopp", "Bopp", ("bopp", "numpy", "scipy")),
    "bopp-reference": Entry("goals.peers.bopp", "bopp_with_reference", ("bopp", "numpy", "scipy")),
    "botorch": Entry("goals.peers.botorch", "Botorch", ("botorch", "gpytorch", "torch")),
    "gpsampler": Entry("goals.peers.optuna", "gpsampler", ("optuna", "torch", "greenlet")),
    "tpe": Entry("goals.peers.optuna", "tpe", ("optuna",)),
    "nsga2": Entry("goals.peers.optuna", "nsga2", ("optuna",)),
    "sobol": Entry("goals.peers.sobol", "Sobol", ("scipy",)),
}
