"""Ray Tune: a search algorithm with which Ray asks bopp where to evaluate next.

    tuner = tune.Tuner(
        train, param_space=space, tune_config=tune.TuneConfig("loss", "min", search_alg=BoppSearch(seed=0))
    )

The state that `save` writes is JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import reduce
from operator import getitem
from os import PathLike
from pathlib import Path
from typing import Any, cast

from bopp.bridges import extra
from bopp.bridges.foreign import Foreign, Translation, options, real, stepped, whole
from bopp.errors import BoppError, SpaceError, StudyError, TellError
from bopp.files import write_whole
from bopp.optimizer import Optimizer
from bopp.parameter import Parameter
from bopp.result import Result
from bopp.space import Params
from bopp.study.recipes import written_recipe
from bopp.suggest import Recipe
from bopp.trial import Direction, Trial
from bopp.written import UNREADABLE, written_space

with extra("ray"):
    from ray.tune.result import DEFAULT_METRIC
    from ray.tune.search import Searcher
    from ray.tune.search.sample import Categorical, Float, Integer, LogUniform, Quantized, Uniform
    from ray.tune.search.variant_generator import assign_value, parse_spec_vars

DIRECTIONS: dict[str, Direction] = {"min": "minimize", "max": "maximize"}
FORMAT = 1


class BoppSearch(Searcher):
    """Suggests what bopp would; running trials are pending points, those without a value failed ones.

    Args:
        space: a dict of name to a domain of Ray Tune, or to a Float, Int or Choice, nested if you like; None
            where the `param_space` of the tuner is it.
        metric: the name of the result to optimise; None where the tuner has both space and metric.
        mode: "min" or "max"; None where the tuner has both space and mode.
        points_to_evaluate: configs to try first.
        seed: the same seed and the same results give the same suggestions.
        recipe: how to suggest; None is `Recipe.default()`.
    """

    CKPT_FILE_TMPL = "searcher-state-{}.json"

    def __init__(
        self,
        space: Mapping[str, Any] | None = None,
        metric: str | None = None,
        mode: str | None = None,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        seed: int = 0,
        recipe: Recipe | None = None,
    ):
        if isinstance(metric, list | tuple) or isinstance(mode, list | tuple):
            raise StudyError(f"BoppSearch wants one metric and one mode, got {metric!r} and {mode!r}")
        super().__init__(metric=metric, mode=mode)
        self._metric: str | None = metric
        self._mode: str | None = mode
        self._points = list(points_to_evaluate or ())
        self._seed = seed
        self._recipe = recipe
        self._layout = _Layout(space) if space else None
        self._optimizer: Optimizer | None = None
        self._numbers: dict[str, int] = {}
        if self._layout and mode:
            self._begin()

    def set_search_properties(
        self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any
    ) -> bool:
        """Take from the tuner what was not given before; False where the space was."""
        if _parameters(config):
            if self._layout:
                return False
            self._layout = _Layout(config)
        self._metric = self._metric or metric
        self._mode = self._mode or mode
        if self._layout and not self._optimizer:
            self._begin()
        return True

    def suggest(self, trial_id: str) -> dict[str, Any]:
        """The config of a trial."""
        layout, optimizer = self._begun()
        if trial_id not in self._numbers:
            self._numbers[trial_id] = optimizer.ask().number
        return layout.config(optimizer.trials[self._numbers[trial_id]].params)

    def on_trial_complete(
        self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False
    ) -> None:
        """Take the last result of a trial; without a number under the metric it is a failed one."""
        _, optimizer = self._begun()
        trial = optimizer.trials[self._numbers[trial_id]] if trial_id in self._numbers else None
        if trial is None or trial.state != "asked":
            return
        name = self._metric or DEFAULT_METRIC
        value = (result or {}).get(name)
        try:
            if error or value is None:
                raise TellError("the trial ended in an error" if error else f"no result under {name!r}")
            optimizer.tell(trial, value)
        except TellError as reason:
            optimizer.fail(trial, str(reason))

    def add_evaluated_point(
        self,
        parameters: Mapping[str, Any],
        value: float,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: Sequence[float] | None = None,
    ) -> None:
        """Take a result from elsewhere; one that failed or was pruned is a failed trial."""
        layout, optimizer = self._begun()
        optimizer.observe(layout.params(parameters), None if error or pruned else value)

    def save(self, checkpoint_path: str | PathLike[str]) -> None:
        """Write all that is known to a file, as JSON."""
        _, optimizer = self._begun()
        state = {
            "format": FORMAT,
            **self._setting(optimizer),
            "numbers": self._numbers,
            "result": optimizer.result.to_json(),
        }
        write_whole(Path(checkpoint_path), json.dumps(state).encode())

    def restore(self, checkpoint_path: str | PathLike[str]) -> None:
        """Go on from a file that `save` wrote, with the same space, metric, mode, seed and recipe as then."""
        _, optimizer = self._begun()
        try:
            state = json.loads(Path(checkpoint_path).read_bytes())
            if state["format"] != FORMAT:
                raise StudyError(f"wanted a state of format {FORMAT}, got {state['format']!r}")
            for name, here in self._setting(optimizer).items():
                if state[name] != here:
                    raise StudyError(f"the state was saved with {name} {state[name]!r}, got {here!r}")
            result = Result.from_json(state["result"])
            if result.space != optimizer.space or result.direction != optimizer.direction:
                raise StudyError(f"the state is of another search: {result.direction} {result.space}")
            numbers = {str(name): result.trials[number].number for name, number in state["numbers"].items()}
        except UNREADABLE as error:
            if isinstance(error, BoppError):
                raise
            raise StudyError(f"{checkpoint_path} is no state of a BoppSearch: {error!r}") from error
        self._numbers = numbers
        self._begin(result.trials)

    def _begin(self, trials: Sequence[Trial] = ()) -> None:
        """Begin with these trials; the points to evaluate that are among them were handed out."""
        if self._mode not in DIRECTIONS:
            raise StudyError(f"mode must be 'min' or 'max', got {self._mode!r}")
        layout = cast(_Layout, self._layout)
        optimizer = Optimizer(layout.space, DIRECTIONS[self._mode], self._seed, self._recipe, trials)
        for point in self._points[sum(trial.origin == "queued" for trial in trials) :]:
            optimizer.enqueue(layout.params(point))
        self._optimizer = optimizer

    def _begun(self) -> tuple[_Layout, Optimizer]:
        if not self._layout or not self._optimizer:
            raise StudyError(
                "BoppSearch wants a space and a mode: give them to it, or param_space and mode to the tuner"
            )
        return self._layout, self._optimizer

    def _setting(self, optimizer: Optimizer) -> dict[str, Any]:
        """What has to be the same when a state is restored."""
        recipe = written_recipe(optimizer.recipe)
        return {"metric": self._metric, "seed": optimizer.seed, "recipe": recipe}


class _Layout:
    """The way between a config of Ray, nested as it is, and params."""

    def __init__(self, config: Mapping[str, Any]):
        self._template = dict(config)
        parameters = _parameters(config)
        self._paths = {"/".join(map(str, path)): path for path in parameters}
        self._translation = Translation(
            {"/".join(map(str, path)): _foreign(path, domain) for path, domain in parameters.items()}
        )
        self.space = self._translation.space
        written_space(self.space)  # an option that cannot be saved is better refused now

    def config(self, params: Params) -> dict[str, Any]:
        config = deepcopy(self._template)
        for name, value in self._translation.theirs(params).items():
            assign_value(config, self._paths[name], value)
        return config

    def params(self, config: Mapping[str, Any]) -> Params:
        try:
            values = {name: reduce(getitem, path, config) for name, path in self._paths.items()}
        except (LookupError, TypeError):
            raise SpaceError(f"wanted a config with {list(self._paths)}, got {config!r}") from None
        return self._translation.ours(values)


def _parameters(config: Mapping[str, Any]) -> dict[tuple[Any, ...], Any]:
    """The domains of a config, by their path; parameters of bopp are constants to Ray."""
    constants, domains, grids = parse_spec_vars(dict(config))
    ours = [(path, value) for path, value in constants if isinstance(value, Parameter)]
    return dict([*ours, *domains, *grids])


def _foreign(path: tuple[Any, ...], domain: Any) -> Foreign:
    if isinstance(domain, Parameter):
        return Foreign(domain)
    sampler = domain.get_sampler()
    step = sampler.q if isinstance(sampler, Quantized) else None
    sampler = sampler.get_sampler() if isinstance(sampler, Quantized) else sampler
    log = isinstance(sampler, LogUniform)
    if isinstance(domain, Categorical) and not domain.is_grid():
        return options(domain.categories)
    if not isinstance(domain, Float | Integer) or not isinstance(sampler, Uniform | LogUniform):
        name = "/".join(map(str, path))
        raise SpaceError(
            f"{name!r}: wanted choice, uniform, loguniform, randint, lograndint or one of these with q, "
            f"got {type(domain).__name__} with {type(sampler).__name__}"
        )
    low, high = domain.lower, domain.upper
    if isinstance(domain, Float):
        return real(low, high, log) if step is None else stepped(low, high, float(step), 0.0, log)
    if step is None or step == 1:
        return whole(low, high - 1, log)  # Ray leaves out the upper end
    return stepped(low, high, step, 0, log)
