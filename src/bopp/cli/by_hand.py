"""By hand: ask what to try and tell what came out, for people and laboratories."""

from __future__ import annotations

import json as texts
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bopp.cli.source import STUDY, Json, Name, Source, by_hand, record
from bopp.cli.terminal import print_pairs, say, shown_value
from bopp.errors import ConfigError

if TYPE_CHECKING:
    from bopp import Params, Study

Value = Annotated[str, typer.Argument(help="What came out: a number.")]
Given = Annotated[list[str], typer.Argument(help="Of every parameter, name=value.")]
In = Annotated[str, typer.Option("--in", help="A study file, or the URL of a store.")]
Named = Annotated[str | None, typer.Option("--name", help="The study in the store.")]


def ask(
    source: Source = STUDY,
    name: Name = None,
    count: Annotated[int, typer.Option(min=1, help="Trials to evaluate at the same time.")] = 1,
    json: Json = False,
) -> None:
    """Ask what to try next, by hand or in a laboratory; the trial is yours until it is told."""
    with by_hand(source, name) as study:
        asked = study.ask(count)
        if json:
            print(texts.dumps([record(study, trial) for trial in asked], indent=1))
            return
        for trial in asked:
            params = [(f"  {name}", shown_value(value)) for name, value in trial.params.items()]
            print_pairs([(f"trial {trial.number}", ""), *params])
        where = "" if source == STUDY else f" --in {shlex.quote(study.url if '://' in source else source)}"
        say(f"Then: bopp tell {asked[0].number} VALUE{where}, or --failed REASON")


def tell(
    number: Annotated[int, typer.Argument(help="Of the trial.")],
    value: Annotated[str | None, typer.Argument(help="What came out: a number.")] = None,
    source: In = STUDY,
    name: Named = None,
    failed: Annotated[str | None, typer.Option(help="Why there is no value.")] = None,
    note: Annotated[str | None, typer.Option(help="A note to keep with the trial.")] = None,
) -> None:
    """Tell what came out of a trial; once told, a value stays."""
    if (value is None) == (failed is None):
        raise ConfigError("wanted a value, or --failed with a reason, and not both")
    with by_hand(source, name) as study:
        told = study.tell(number, _number(value)) if value is not None else study.fail(number, failed or "")
        if note is not None:
            study.note(number, note)
        say(f"trial {told.number} {told.state}" + (f": {told.value!r}" if told.value is not None else ""))


def observe(
    value: Value,
    params: Given,
    source: In = STUDY,
    name: Named = None,
) -> None:
    """Add a result from elsewhere, which was never asked for."""
    with by_hand(source, name) as study:
        trial = study.observe(_params(study, params), _number(value))
        say(f"trial {trial.number} {trial.state}")


def enqueue(
    params: Given,
    source: In = STUDY,
    name: Named = None,
) -> None:
    """Have these params tried before any suggestion."""
    with by_hand(source, name) as study:
        study.enqueue(_params(study, params))
        say(f"{len(study.queued)} in the queue")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"wanted a number as value, got {text!r}") from None


def _params(study: Study, words: Sequence[str]) -> Params:
    """The params that name=value words give: a Choice takes the text of its option, others a number."""
    from bopp import Choice

    params: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        parameter = study.space.parameters.get(name)
        if not equals or parameter is None:
            wanted = ", ".join(f"{name}=..." for name in study.space.parameters)
            raise ConfigError(f"wanted {wanted}, got {word!r}")
        if isinstance(parameter, Choice):
            fitting = [option for option in parameter.options if shown_value(option) == text]
            if len(fitting) != 1:
                wanted = ", ".join(map(shown_value, parameter.options))
                raise ConfigError(f"{name}: wanted one of {wanted}, got {text!r}")
            params[name] = fitting[0]
        else:
            params[name] = _whole_or_real(name, text)
    return params


def _whole_or_real(name: str, text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"{name}: wanted a number, got {text!r}") from None
