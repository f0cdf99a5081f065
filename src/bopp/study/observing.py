"""Observing: results from elsewhere, many of them in one transaction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import sqlalchemy as sa

from bopp.errors import ConfigError, TellError
from bopp.problem import Problem
from bopp.study import identity
from bopp.study.ledger import Claim, Ledger, storable
from bopp.study.store import Store
from bopp.trial import Trial


def text_of(file: Path) -> str:
    """The text of a table, with the ends of lines as they are."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: wanted UTF-8, got {error.object[error.start : error.end]!r}") from None


def from_elsewhere(problem: Problem, trial: Trial) -> Trial:
    """A finished trial as one that was observed, if it fits the problem."""
    if not problem.fits(trial):
        raise TellError(f"wanted a trial with {', '.join(problem.names)}, got {trial!r}")
    error, notes = (None if text is None else storable(text) for text in (trial.error, trial.notes))
    params = problem.space.check(trial.params)
    return replace(trial, params=params, origin="observed", error=error, notes=notes, superseded=())


def add_all(
    store: Store, ledger: Ledger, trials: list[Trial], tickets: list[str], connection: sa.Connection
) -> tuple[Trial, ...]:
    """Add trials after those that are there, once per ticket."""
    now, revision = store.now(connection), ledger.lock(connection)
    if ledger.claimed(connection, tickets[0]):  # added by an earlier attempt, whose end was not heard of
        return tuple(cast(Trial, ledger.claimed(connection, ticket)) for ticket in tickets)
    first = len(ledger.trials(connection))
    new = [
        replace(trial, number=number, asked_at=now.utc, told_at=now.utc, worker=identity.name())
        for number, trial in enumerate(trials, start=first)
    ]
    ledger.add_all(connection, new, revision, [Claim(ticket) for ticket in tickets])
    return tuple(new)
