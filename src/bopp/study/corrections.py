"""Corrections: take back what trials were told; what it was stays in their record, with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

import sqlalchemy as sa

from bopp.arguments import checked_reason
from bopp.study.ledger import Ledger, storable, storable_answer
from bopp.study.store import Store
from bopp.trial import Answer, Trial

Correction = Callable[[Trial, datetime, str], Trial]


class Corrections:
    """Changes trials that were told, each time in one transaction."""

    def __init__(self, store: Store, ledger: Ledger):
        self._store = store
        self._ledger = ledger

    def retry(self, trials: Iterable[Trial | int], reason: str) -> list[Trial]:
        """The failed trials named, or all of them, to be evaluated again."""
        return self._corrected(trials, Trial.reopened, reason)

    def amend(self, trial: Trial | int, answer: Answer, reason: str) -> Trial:
        """The trial with another answer."""
        answer = storable_answer(answer)
        return self._corrected([trial], lambda known, at, why: known.amended(answer, at, why), reason)[0]

    def drop(self, trial: Trial | int, reason: str) -> Trial:
        """The trial as one that does not count."""
        return self._corrected([trial], Trial.dropped, reason)[0]

    def _corrected(self, trials: Iterable[Trial | int], correct: Correction, reason: str) -> list[Trial]:
        chosen, reason = list(trials), storable(checked_reason(reason))
        at = self._store.read(self._store.now).utc

        def change(connection: sa.Connection) -> list[Trial]:
            revision = self._ledger.lock(connection)
            failed = [trial for trial in self._ledger.trials(connection) if trial.state == "failed"]
            known = [self._ledger.find(connection, trial) for trial in chosen or failed]
            return [self._change(connection, trial, correct, at, reason, revision) for trial in known]

        return self._store.write(change)

    def _change(
        self,
        connection: sa.Connection,
        known: Trial,
        correct: Correction,
        at: datetime,
        reason: str,
        revision: int,
    ) -> Trial:
        if known.superseded and known.superseded[-1].at == at:
            return known  # done by an earlier attempt, whose acknowledgement was lost
        changed = correct(known, at, reason)
        if changed.state == "asked":
            self._ledger.reopen(connection, changed, revision)
        else:
            self._ledger.change(connection, changed, revision)
        return changed
