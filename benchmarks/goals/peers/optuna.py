"""Optuna's samplers for constraints and several objectives.

The given points are enqueued, so that they are trials of the sampler: a genetic algorithm begins with them.
"""

import optuna
import torch
from optuna.samplers import BaseSampler, GPSampler, NSGAIISampler, TPESampler

from contest.peers.optuna import distribution
from contest.task import Params
from goals.problem import Outcome, Problem

POPULATION = 10  # of 60 evaluations, Optuna's 50 would leave the genetic algorithm ten


class Optuna:
    def __init__(self, problem: Problem, sampler: BaseSampler):
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.study = optuna.create_study(directions=["minimize"] * problem.objectives, sampler=sampler)
        self.distributions = {name: distribution(parameter) for name, parameter in problem.space.items()}
        self.asked: optuna.Trial | None = None

    def ask(self) -> Params:
        self.asked = self.study.ask(self.distributions)
        return dict(self.asked.params)

    def tell(self, params: Params, outcome: Outcome) -> None:
        if self.asked is None:
            self.study.enqueue_trial(params)
            self.asked = self.study.ask(self.distributions)
        for number, value in enumerate(outcome.constraints):
            self.asked.set_constraint(f"c{number + 1}", value)
        self.study.tell(self.asked, outcome.objectives)
        self.asked = None


def gpsampler(problem: Problem, seed: int) -> Optuna:
    """Optuna's Gaussian process sampler."""
    torch.manual_seed(seed)
    return Optuna(problem, GPSampler(seed=seed, n_startup_trials=problem.given))


def tpe(problem: Problem, seed: int) -> Optuna:
    """Optuna's tree-structured Parzen estimator."""
    return Optuna(problem, TPESampler(seed=seed, n_startup_trials=problem.given))


def nsga2(problem: Problem, seed: int) -> Optuna:
    """Optuna's genetic algorithm, with a population that fits the budget."""
    return Optuna(problem, NSGAIISampler(seed=seed, population_size=POPULATION))
