"""Ray Tune: a search algorithm that lets Ray ask bopp where to evaluate next.

    tuning = tune.TuneConfig(metric="loss", mode="min", search_alg=BoppSearch(seed=0))
    tuner = tune.Tuner(train, param_space=space, tune_config=tuning)

Several metrics are several objectives: they and their modes are given to the searcher, and not to the tuner.

The state that `save` writes is JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from functools import reduce
from numbers import Real
from operator import getitem
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from bopp.arguments import checked_recipe, checked_seed
from bopp.bridges import extra
from bopp.bridges.foreign import Foreign, Translation, alike, options, real, stepped, whole
from bopp.bridges.sources import translate
from bopp.constraint import checked_constraint
from bopp.errors import RecipeError, SpaceError, StudyError, TellError, reading
from bopp.files import write_whole
from bopp.informed import as_policies
from bopp.legible import brief
from bopp.optimizer import Knowledge, Optimizer
from bopp.parameter import Parameter, is_plain
from bopp.parts import has_parts_of_yours, write_part, written_alike
from bopp.plain import check_format, other_part, read_parameter, read_recipe, write_parameter, write_recipe
from bopp.problem import AtLeast, AtMost, Direction, Problem
from bopp.pseudo import Earlier
from bopp.recipe import Recipe
from bopp.result import Result
from bopp.space import Params
from bopp.trial import Trial

with extra("ray"):
    from ray.tune.result import AUTO_RESULT_KEYS, DEBUG_METRICS, DEFAULT_METRIC
    from ray.tune.search import Searcher
    from ray.tune.search.sample import Categorical, Float, Integer, LogUniform, Quantized, Uniform
    from ray.tune.search.variant_generator import assign_value, parse_spec_vars

DIRECTIONS: dict[str, Direction] = {"min": "minimize", "max": "maximize"}
FORMAT = 1
BOOKKEEPING = {*AUTO_RESULT_KEYS, *DEBUG_METRICS, DEFAULT_METRIC}  # what Ray adds to a report
FUNCTIONS: dict[str, Callable[..., Foreign]] = {
    "real": real,
    "whole": whole,
    "stepped": stepped,
    "options": options,
    "parameter": lambda row: Foreign(read_parameter(row)),
}

Keys = tuple[Any, ...]
Call = tuple[str, list[Any]]
Words = str | list[str] | None  # a metric or a mode, or one for each objective


class BoppSearch(Searcher):
    """Suggests what bopp would; running trials are pending points, those without a value failed ones.

    Of several metrics, and of those that constraints name, a trial may lack some, which were not measured.

    Args:
        space: a dict of name to a domain of Ray Tune, or to a Float, Int or Choice, nested if you like; None
            if it is the `param_space` of the tuner. The `when` of one may name others, nested ones as
            "model/kind"; where it does not apply, it is not in the config.
        metric: the name of the result to optimise; None if the tuner has both space and metric. A list of
            names for several objectives, in which case the tuner has neither metric nor mode.
        mode: "min" or "max", or a list of these; None if the tuner has both space and mode.
        points_to_evaluate: configs to try first.
        seed: the same seed and the same results give the same suggestions; None draws one, or takes that of
            a state that is restored.
        recipe: how to suggest; None is `Recipe.default()`.
        knowledge: what you know but did not measure, in values of the space; names that are nested are
            written as "model/kind".
        constraints: `AtMost` and `AtLeast`, by names of results.
    """

    CKPT_FILE_TMPL = "searcher-state-{}.json"

    def __init__(
        self,
        space: Mapping[str, Any] | None = None,
        metric: str | Sequence[str] | None = None,
        mode: str | Sequence[str] | None = None,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        seed: int | None = 0,
        recipe: Recipe | None = None,
        knowledge: Knowledge = (),
        constraints: Iterable[AtMost | AtLeast] = (),
    ):
        metric, mode = _checked(metric, mode)
        super().__init__(metric=metric, mode=mode)
        self._metric: Words = metric
        self._mode: Words = mode
        self._constraints = _limits(constraints)
        self._points = list(points_to_evaluate or ())
        self._seed, self._drawn = checked_seed(seed), seed is None
        self._recipe, self._named = checked_recipe(recipe), recipe is not None
        self._knowledge = as_policies(knowledge)
        self._layout = _Layout.of(space) if space else None
        self._optimizer: Optimizer | None = None
        self._numbers: dict[str, int] = {}
        self._restored = False
        if self._layout and mode and (metric or not self._constraints):
            self._optimizer = self._optimizer_of(self._layout, metric, mode)

    def set_search_properties(self, metric: Words, mode: Words, config: dict[str, Any], **spec: Any) -> bool:
        """Take from the tuner what was not given here; False if both gave a space."""
        metric, mode = _checked(self._metric or metric, self._mode or mode)
        given = _Layout.of(config) if _domains(config) else None
        if given and self._layout and not (self._restored and alike(given.written, self._layout.written)):
            return False
        layout = given or self._layout
        if layout and not self._optimizer:
            self._optimizer = self._optimizer_of(layout, metric, mode)
        self._layout, self._metric, self._mode = layout, metric, mode
        return True

    @property
    def result(self) -> Result:
        """What is known so far, with nested names as "model/kind"."""
        return self._begun()[1].result

    def suggest(self, trial_id: str) -> dict[str, Any]:
        """The config of a trial."""
        layout, optimizer = self._begun()
        if trial_id not in self._numbers:
            self._numbers[trial_id] = optimizer.ask().number
        return layout.config(optimizer.trials[self._numbers[trial_id]].params)

    def on_trial_complete(
        self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False
    ) -> None:
        """Record the last result of a trial; without a number under any metric, the trial is a failed one.

        The other numbers of the result are kept as measurements.
        """
        _, optimizer = self._begun()
        trial = optimizer.trials[self._numbers[trial_id]] if trial_id in self._numbers else None
        if trial is None or trial.state != "asked":
            return
        values = self._values(optimizer.problem, result or {})
        try:
            if error:
                raise TellError("the trial ended in an error")
            if all(values[name] is None for name in optimizer.problem.objectives):
                metrics = [self._result(name) for name in optimizer.problem.objectives]
                raise TellError(f"no result under {' or '.join(map(repr, metrics))}")
            optimizer.tell(trial, {**_measurements(result or {}, map(self._result, values)), **values})
        except TellError as reason:
            optimizer.fail(trial, str(reason))

    def add_evaluated_point(
        self,
        parameters: Mapping[str, Any],
        value: float | Mapping[str, float | None] | None,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: Sequence[float] | None = None,
    ) -> None:
        """Record a result from elsewhere; one that failed, or has no value, is a failed trial.

        Args:
            value: a number, or a dict of these by the names of the metrics and of what constraints name.
        """
        layout, optimizer = self._begun()
        objectives = list(optimizer.problem.objectives)
        if not isinstance(value, Mapping) and len(objectives) == 1:
            value = {self._result(objectives[0]): value}
        if error or value is None:
            value = {}
        if isinstance(value, Mapping):
            value = self._values(optimizer.problem, value)
        optimizer.observe(layout.params(parameters), value)

    def save(self, checkpoint_path: str | PathLike[str]) -> None:
        """Write everything known so far to a file, as JSON."""
        layout, optimizer = self._begun()
        state = {
            "format": FORMAT,
            **self._settings(layout),
            "constants": layout.constants,
            "numbers": self._numbers,
            "result": optimizer.result.to_json(),
        }
        write_whole(Path(checkpoint_path), json.dumps(state).encode())

    def restore(self, checkpoint_path: str | PathLike[str]) -> None:
        """Go on from a file that `save` wrote; settings given here must be the same as there.

        If no recipe was given here, the one of the file is used, whatever the default is today.
        """
        restored = copy(self)  # takes the place of this one once nothing was refused
        with reading(f"{checkpoint_path} is no state of a BoppSearch", StudyError):
            state = json.loads(Path(checkpoint_path).read_bytes())
            check_format("a state", state["format"], FORMAT)
            layout = self._layout or _Layout.read(state["space"], state["constants"])
            result = Result.from_json(state["result"])
            restored._layout, restored._restored = layout, self._restored or self._layout is None
            restored._metric = self._metric or state["metric"]
            restored._mode = self._mode or state["mode"]
            restored._constraints = self._constraints or result.problem.limits
            if self._drawn:
                restored._seed = checked_seed(state["seed"])
            recipe = self._saved_recipe(state["recipe"])
            if recipe != self._recipe:
                restored._recipe, restored._optimizer = recipe, None
            for name, there, here in restored._differences(state, layout, result.problem.limits):
                raise StudyError(f"the state was saved with {name} {there}, here it is {here}")
            trials = result.trials
            restored._numbers = {str(name): trials[at].number for name, at in state["numbers"].items()}
        restored._optimizer = restored._optimizer_of(layout, restored._metric, restored._mode, trials)
        self.__dict__ |= vars(restored)

    def _saved_recipe(self, parts: Mapping[str, Any]) -> Recipe:
        """The recipe to go on with: that of a state rather than a default, which may have changed."""
        return self._recipe if self._named or has_parts_of_yours(parts) else read_recipe(parts)

    def _differences(
        self, state: Mapping[str, Any], layout: _Layout, limits: Sequence[AtMost | AtLeast]
    ) -> Iterator[tuple[str, Any, Any]]:
        """The settings in which a state differs, by name, there and here; recipes are compared as values."""
        settings = self._settings(layout)
        for name, here in settings.items():
            if name not in ("recipe", "knowledge") and not alike(state[name], here):
                yield name, repr(state[name]), repr(here)
        if part := other_part(state["recipe"], self._recipe):
            there, here = (repr(one["recipe"].get(part)) for one in (state, settings))
            yield f"recipe {part}", there, here
        if not written_alike(state["knowledge"], settings["knowledge"]):
            yield "knowledge", brief(state["knowledge"]), brief(settings["knowledge"])
        if limits != self._constraints:
            yield "constraints", list(limits), list(self._constraints)

    def _optimizer_of(
        self, layout: _Layout, metric: Words, mode: Words, trials: Sequence[Trial] = ()
    ) -> Optimizer:
        """An optimizer with these trials; points to evaluate that are among them are not handed out again."""
        objectives = _objectives(metric, mode, bool(self._constraints))
        problem = Problem(layout.space, objectives, self._constraints)
        begun = self._optimizer
        recipe = begun.recipe if begun else self._recipe
        knowledge = () if begun else self._knowledge  # else a function of yours is called anew
        known = [translate(policy, layout.translation) for policy in knowledge]
        optimizer = Optimizer(problem, None, self._seed, recipe, trials, known)
        for point in self._points[sum(trial.origin == "queued" for trial in trials) :]:
            optimizer.enqueue(layout.params(point))
        return optimizer

    def _begun(self) -> tuple[_Layout, Optimizer]:
        if not self._layout or not self._optimizer:
            raise StudyError(
                "BoppSearch wants a space and a mode: give them to it, or param_space and mode to the tuner"
                + "; beside constraints it wants a metric too" * bool(self._constraints)
            )
        return self._layout, self._optimizer

    def _result(self, name: str) -> str:
        """The name of the result that is a declared value; an only objective has none of its own."""
        return name if self._constraints or isinstance(self._metric, list) else self._metric or DEFAULT_METRIC

    def _values(self, problem: Problem, result: Mapping[str, Any]) -> dict[str, Any]:
        """The declared values of a result, None where it has none."""
        return {name: result.get(self._result(name)) for name in problem.names}

    def _settings(self, layout: _Layout) -> dict[str, Any]:
        """What has to be the same when a state is restored."""
        return {
            "metric": self._metric,
            "mode": self._mode,
            "seed": self._seed,
            "recipe": write_recipe(self._recipe),
            "knowledge": write_part(self._knowledge),
            "points": _jsonable(self._points),
            "space": layout.written,
        }


def earlier(results: Iterable[Any], metric: str, mode: str, trust: float = 0.7) -> Earlier:
    """The results of an earlier run, as `Tuner.fit` returned them, as knowledge for another.

    Args:
        metric: the name of the result that was optimised.
        mode: "min" or "max".
        trust: how sure you are that it resembles this one, between 0 and 1, before anything is measured.
    """
    if mode not in DIRECTIONS:
        raise RecipeError(f"earlier: mode must be 'min' or 'max', got {mode!r}")
    rows = []
    for result in results:
        value = (result.metrics or {}).get(metric)
        if isinstance(value, Real) and math.isfinite(value):
            rows.append((_flat(result.config or {}), float(value)))
    return Earlier([(DIRECTIONS[mode], rows)], trust)


class _Layout:
    """Translates between a config of Ray, which may be nested, and params."""

    def __init__(self, template: dict[str, Any], calls: Mapping[Keys, Call]):
        self._template = template
        self._keys = {_name(keys): keys for keys in calls}
        if len(self._keys) < len(calls):
            raise SpaceError(f"wanted names that differ, got {list(calls)}")
        self.translation = Translation({name: _made(name, *calls[keys]) for name, keys in self._keys.items()})
        self.space = self.translation.space
        rows = [[list(keys), name, arguments] for keys, (name, arguments) in calls.items()]
        self.written = {"rows": _jsonable(rows), "complete": alike(_jsonable(rows), rows)}
        self.constants = _constants(template)

    @staticmethod
    def of(config: Mapping[str, Any]) -> _Layout:
        """The layout of a config with domains in it."""
        return _Layout(
            dict(config), {keys: _call(_name(keys), domain) for keys, domain in _domains(config).items()}
        )

    @staticmethod
    def read(written: Mapping[str, Any], constants: Mapping[str, Any]) -> _Layout:
        """The layout that was written, with the constants of its config; refused unless all of it was."""
        rows, template = written["rows"], dict(constants)
        if not written["complete"] or not all(type(key) is str for keys, _, _ in rows for key in keys):
            raise StudyError("the state cannot hold such a space: give it again, here or as param_space")
        for keys, _, _ in rows:
            reduce(lambda part, key: part.setdefault(key, {}), keys[:-1], template)
        return _Layout(template, {tuple(keys): (name, arguments) for keys, name, arguments in rows})

    def config(self, params: Params) -> dict[str, Any]:
        """A config with these params; those that do not apply are not in it."""
        config = deepcopy(self._template)
        for name, value in self.translation.theirs(params).items():
            assign_value(config, self._keys[name], value)
        for name in self.space.conditional:
            if name not in params:
                *parents, last = self._keys[name]
                reduce(getitem, parents, config).pop(last, None)
        return config

    def params(self, config: Mapping[str, Any]) -> Params:
        values = {}
        for name, keys in self._keys.items():
            try:
                values[name] = reduce(getitem, keys, config)
            except (LookupError, TypeError):
                if name not in self.space.conditional:
                    raise SpaceError(f"wanted a config with {list(self._keys)}, got {config!r}") from None
        return self.translation.ours(values)


def _name(keys: Keys) -> str:
    return "/".join(map(str, keys))


def _flat(config: Mapping[Any, Any], keys: Keys = ()) -> Params:
    """The values of a config by their names, nested ones as "model/kind"."""
    found: Params = {}
    for key, value in config.items():
        own = (*keys, key)
        found |= _flat(value, own) if isinstance(value, dict) else {_name(own): value}
    return found


def _domains(config: Mapping[str, Any]) -> dict[Keys, Any]:
    """The domains of a config by the keys that lead there; Ray takes parameters of bopp for constants."""
    constants, domains, grids = parse_spec_vars(dict(config))
    ours = [(keys, value) for keys, value in constants if isinstance(value, Parameter)]
    return dict([*ours, *domains, *grids])


def _call(name: str, domain: Any) -> Call:
    """The function and arguments that make a parameter of the domain; JSON, if its options are."""
    if isinstance(domain, Parameter):
        return "parameter", [write_parameter(name, domain)]
    sampler = domain.get_sampler()
    step = sampler.q if isinstance(sampler, Quantized) else None
    sampler = sampler.get_sampler() if isinstance(sampler, Quantized) else sampler
    log = isinstance(sampler, LogUniform)
    if isinstance(domain, Categorical) and not domain.is_grid() and not _domains({"": domain.categories}):
        plain = [one.item() if isinstance(one, np.generic) else one for one in domain.categories]
        return "options", [plain]
    if not isinstance(domain, Float | Integer) or not isinstance(sampler, Uniform | LogUniform):
        raise SpaceError(
            f"{name!r}: wanted choice, uniform, loguniform, randint, lograndint or one of these with q, "
            f"got {type(domain).__name__} with {type(sampler).__name__}"
        )
    number = float if isinstance(domain, Float) else int
    low, high = number(domain.lower), number(domain.upper)
    if step is not None and (number is float or step != 1):
        return "stepped", [low, high, number(step), number(0), log]
    if number is float:
        return "real", [low, high, log]
    return "whole", [low, high - 1, log]  # Ray leaves out the upper end


def _made(name: str, function: str, arguments: Sequence[Any]) -> Foreign:
    """The parameter that a call makes."""
    try:
        return FUNCTIONS[function](*arguments)
    except SpaceError as error:
        raise SpaceError(f"{name!r}: {error}") from None


def _measurements(result: Mapping[str, Any], declared: Iterable[str]) -> dict[str, Any]:
    """The numbers of a result other than declared values and those that Ray adds itself."""
    bound = set(declared)
    return {
        name: value
        for name, value in result.items()
        if isinstance(name, str)
        and isinstance(value, Real)
        and not isinstance(value, bool)
        and name not in bound
        and name.partition("/")[0] not in BOOKKEEPING
    }


def _checked(metric: Any, mode: Any) -> tuple[Words, Words]:
    """A metric and a mode, or lists of as many, each metric once."""
    if isinstance(metric, str | None) and isinstance(mode, str | None):
        return metric, mode
    lists = [isinstance(one, list | tuple) for one in (metric, mode)]
    if not all(lists) or not 0 < len(metric) == len(set(map(str, metric))) == len(mode):
        raise StudyError(
            f"wanted one metric and one mode, or lists of them that are as long as each other, with no "
            f"metric twice, got {metric!r} and {mode!r}"
        )
    return list(metric), list(mode)


def _limits(constraints: Any) -> tuple[AtMost | AtLeast, ...]:
    """Constraints on results."""
    several = isinstance(constraints, Iterable) and not isinstance(constraints, str)
    limits: list[AtMost | AtLeast] = []
    for one in constraints if several else [constraints]:
        limit = checked_constraint(one)
        if not isinstance(limit, AtMost | AtLeast):
            raise RecipeError(f"constraints: wanted AtMost and AtLeast of results, got {brief(one)}")
        limits.append(limit)
    return tuple(limits)


def _objectives(metric: Words, mode: Words, named: bool) -> dict[str, Direction]:
    """The objectives with their directions; an only one has the name of its metric if it has to be named."""
    if isinstance(metric, list) and isinstance(mode, list):
        return {name: _direction(way) for name, way in zip(metric, mode, strict=True)}
    name = metric if isinstance(metric, str) else DEFAULT_METRIC
    return {name if named else "value": _direction(mode)}


def _direction(mode: Any) -> Direction:
    if not isinstance(mode, str) or mode not in DIRECTIONS:
        raise StudyError(f"mode must be 'min' or 'max', got {mode!r}")
    return DIRECTIONS[mode]


def _jsonable(value: Any) -> Any:
    """The value for JSON; what JSON cannot hold becomes a text, the same in every process."""
    if isinstance(value, list):
        return [_jsonable(part) for part in value]
    if isinstance(value, dict) and all(type(key) is str for key in value):
        return {key: _jsonable(part) for key, part in value.items()}
    if is_plain(value) or type(value) is float:
        return value
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _constants(config: Mapping[Any, Any]) -> dict[str, Any]:
    """What a config holds besides its domains, as far as JSON can hold it."""
    parts = {key: _constants(part) if isinstance(part, dict) else part for key, part in config.items()}
    return {key: part for key, part in parts.items() if type(key) is str and alike(_jsonable(part), part)}
