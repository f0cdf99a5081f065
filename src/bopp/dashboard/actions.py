"""Actions: what people change from a page, in a worker process; each as the command of the same name does it.

An error says what was wanted; nothing has changed then, unless it says that something has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bopp.errors import BoppError, ConfigError, StoreError, StudyError
from bopp.legible import cut
from bopp.problem import Problem
from bopp.space import Params, Space
from bopp.study.opening import existing, held_open
from bopp.study.study import Study
from bopp.study.typed import named_params, named_values, typed_noise

MOST = 50  # settings to ask for at once


@dataclass(frozen=True)
class Form:
    """What was sent: texts as somebody typed them. An action takes from it what it needs."""

    fields: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.fields.get(name, "")

    @property
    def number(self) -> int:
        """The number of the trial that it is about."""
        return trial_number(self["number"])

    @property
    def noise(self) -> float | None:
        """The standard deviation of the measurement, if it was filled in."""
        return typed_noise(self["noise"])

    def params(self, space: Space) -> Params:
        """The params that were filled in."""
        return named_params(space, {name: text for name, text in self._of("param:") if text.strip()})

    def values(self, problem: Problem) -> dict[str, float | None]:
        """The values; what was left blank was not measured."""
        return named_values(
            problem, {name: text if text.strip() else "none" for name, text in self._of("value:")}
        )

    def _of(self, start: str) -> list[tuple[str, str]]:
        """The fields whose names begin so, without that."""
        return [(key.removeprefix(start), text) for key, text in self.fields.items() if key.startswith(start)]


def trial_number(text: str) -> int:
    """The number of a trial, as a form or the query of a URL has it."""
    if not text.isdecimal() or len(text) > 9:
        raise StudyError(f"wanted the number of a trial, got {cut(text, 40)!r}")
    return int(text)


def ask(source: str, name: str, form: Form) -> str:
    """Ask for settings to try, which are held until they are told."""
    count = form["count"]
    if not count.isdecimal() or len(count) > 9 or not 1 <= int(count) <= MOST:
        raise ConfigError(f"wanted a number of settings from 1 to {MOST}, got {count!r}")
    with held_open(source, name) as study:
        numbers = [str(trial.number) for trial in study.ask(int(count))]
    return f"to try next: trial {', '.join(numbers)}"


def tell(source: str, name: str, form: Form) -> str:
    """Tell what came out of a trial."""
    with held_open(source, name) as study:
        study.tell(form.number, form.values(study.problem), form.noise)
        _note(study, form)
    return f"trial {form.number} is told"


def fail(source: str, name: str, form: Form) -> str:
    """Tell that a trial failed, and why."""
    with held_open(source, name) as study:
        study.fail(form.number, form["reason"])
        _note(study, form)
    return f"trial {form.number} is told as failed"


def amend(source: str, name: str, form: Form) -> str:
    """Put another value in place of one that was told wrongly."""
    with existing(source, name, read_only=False) as study:
        study.amend(form.number, form.values(study.problem), form["reason"], form.noise)
    return f"trial {form.number} is amended; what it was stays in its record"


def retry(source: str, name: str, form: Form) -> str:
    """Have a failed trial evaluated again."""
    with existing(source, name, read_only=False) as study:
        study.retry(form.number, reason=form["reason"])
    return f"trial {form.number} will be evaluated again by whoever asks next"


def drop(source: str, name: str, form: Form) -> str:
    """Let a trial no longer count."""
    with existing(source, name, read_only=False) as study:
        study.drop(form.number, form["reason"])
    return f"trial {form.number} no longer counts"


def note(source: str, name: str, form: Form) -> str:
    """Keep a note with a trial."""
    if not form["text"].strip():
        raise ConfigError("wanted a note, got nothing")
    with existing(source, name, read_only=False) as study:
        study.note(form.number, form["text"])
    return f"noted at trial {form.number}"


def enqueue(source: str, name: str, form: Form) -> str:
    """Have a setting tried before any suggestion; what is left blank is suggested."""
    with held_open(source, name) as study:
        study.enqueue(form.params(study.space))
    return "it is tried before any suggestion"


def observe(source: str, name: str, form: Form) -> str:
    """Add a result from elsewhere."""
    with held_open(source, name) as study:
        params, values = form.params(study.space), form.values(study.problem)
        trial = study.observe(params, values, form.noise)
    return f"the result is trial {trial.number}"


def pause(source: str, name: str, form: Form) -> str:
    """Stop handing out trials."""
    with existing(source, name, read_only=False) as study:
        before = study.paused
        study.pause(form["reason"].strip() or None)
    if before:
        return f"paused {before} already"
    return "paused: what is under way is finished, and no trial begins"


def resume(source: str, name: str, form: Form) -> str:
    """Hand out trials again."""
    with existing(source, name, read_only=False) as study:
        before = study.paused
        study.resume()
    return f"resumed; it was paused {before}" if before else "it was not paused"


Action = Callable[[str, str, Form], str]  # of the study of this name; returns what to say of it

ACTIONS: dict[str, Action] = {
    action.__name__: action
    for action in (ask, tell, fail, amend, retry, drop, note, enqueue, observe, pause, resume)
}


def _note(study: Study, form: Form) -> None:
    """Keep a note with a trial that was just told, if there is one."""
    if form["note"].strip():
        try:
            study.note(form.number, form["note"])
        except BoppError as error:
            raise StoreError(f"trial {form.number} is told, but its note was not kept: {error}") from error
