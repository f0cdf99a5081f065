"""Doing: what people change from a page, in the process beside; each as the command of the same name does it.

Fields are texts as somebody typed them. An error says what was wanted; nothing has changed then, unless it
says that something has.
"""

from __future__ import annotations

from collections.abc import Mapping

from bopp.errors import BoppError, ConfigError, StoreError
from bopp.study.opening import existing, held_open
from bopp.study.study import Study
from bopp.study.typed import named_params, named_values, typed_noise

MOST = 50  # settings to ask for at once


def ask(source: str, name: str, count: str) -> list[int]:
    """Ask for settings to try, which are held until they are told; their numbers."""
    if not count.isdecimal() or len(count) > 9 or not 1 <= int(count) <= MOST:
        raise ConfigError(f"wanted a number of settings from 1 to {MOST}, got {count!r}")
    with held_open(source, name) as study:
        return [trial.number for trial in study.ask(int(count))]


def tell(source: str, name: str, number: int, values: Mapping[str, str], noise: str, note: str) -> None:
    """Tell what came out of a trial."""
    with held_open(source, name) as study:
        study.tell(number, named_values(study.problem, values), typed_noise(noise))
        _note(study, number, note)


def fail(source: str, name: str, number: int, reason: str, note: str) -> None:
    """Tell that a trial failed, and why."""
    with held_open(source, name) as study:
        study.fail(number, reason)
        _note(study, number, note)


def note(source: str, name: str, number: int, text: str) -> None:
    """Keep a note with a trial."""
    if not text.strip():
        raise ConfigError("wanted a note, got nothing")
    with existing(source, name, read_only=False) as study:
        study.note(number, text)


def amend(source: str, name: str, number: int, values: Mapping[str, str], noise: str, reason: str) -> None:
    """Put another value in place of one that was told wrongly."""
    with existing(source, name, read_only=False) as study:
        study.amend(number, named_values(study.problem, values), reason, typed_noise(noise))


def retry(source: str, name: str, number: int, reason: str) -> None:
    """Have a failed trial evaluated again."""
    with existing(source, name, read_only=False) as study:
        study.retry(number, reason=reason)


def drop(source: str, name: str, number: int, reason: str) -> None:
    """Let a trial no longer count."""
    with existing(source, name, read_only=False) as study:
        study.drop(number, reason)


def enqueue(source: str, name: str, fields: Mapping[str, str]) -> None:
    """Have a setting tried before any suggestion; what is left blank is suggested."""
    with held_open(source, name) as study:
        study.enqueue(named_params(study.space, fields))


def observe(source: str, name: str, fields: Mapping[str, str], values: Mapping[str, str], noise: str) -> int:
    """Add a result from elsewhere; its number."""
    with held_open(source, name) as study:
        params = named_params(study.space, fields)
        return study.observe(params, named_values(study.problem, values), typed_noise(noise)).number


def pause(source: str, name: str, reason: str) -> str:
    """Let nobody begin a trial for a while; what came of that."""
    with existing(source, name, read_only=False) as study:
        before = study.paused
        study.pause(reason.strip() or None)
    return (
        f"paused {before} already" if before else "paused: what is under way is finished, and no trial begins"
    )


def resume(source: str, name: str) -> str:
    """Let workers go on; what came of that."""
    with existing(source, name, read_only=False) as study:
        before = study.paused
        study.resume()
    return f"resumed; it was paused {before}" if before else "it was not paused"


def _note(study: Study, number: int, text: str) -> None:
    """Keep a note with a trial that was just told, if there is one."""
    if text.strip():
        try:
            study.note(number, text)
        except BoppError as error:
            raise StoreError(f"trial {number} is told, but its note was not kept: {error}") from error
