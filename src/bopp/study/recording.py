"""Recording: what is told, observed, noted or taken back, each in one transaction that is safe to repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

import sqlalchemy as sa

from bopp import log
from bopp.arguments import checked_reason, checked_text
from bopp.errors import LateTell, StoreError, TellError
from bopp.problem import Problem
from bopp.study import identity
from bopp.study.ledger import LONGEST_TEXT, Claim, Ledger, new_ticket, number_of, storable, storable_answer
from bopp.study.store import Store
from bopp.study.tickets import Tickets
from bopp.trial import Answer, Trial


@dataclass(frozen=True)
class Recording:
    """Adds and changes trials."""

    store: Store
    ledger: Ledger
    tickets: Tickets

    def tell(self, trial: Trial | int, answer: Answer) -> Trial:
        """The trial with its answer; it is late if somebody else has the trial or told another value."""
        number, answer = number_of(trial), storable_answer(answer)

        def tell(known: Trial, connection: sa.Connection) -> Trial:
            taken = self._was_taken(known, connection)
            if taken and known.state == "asked" and answer.error is not None:
                raise LateTell(
                    f"trial {number} went to {known.worker} meanwhile; the failure here is dropped",
                    trial=number,
                )
            try:
                return known.told(answer, self.store.now(connection).utc)
            except TellError as refused:
                if taken:
                    raise LateTell(f"{refused}: somebody else told it meanwhile", trial=number) from None
                raise

        try:
            [told] = self._change([trial], tell)
        except LateTell:
            self.tickets.lose(number)
            raise
        except StoreError as lost:
            raise StoreError(f"{lost} (trial {number} still has to be told {answer})", url=lost.url) from lost
        self.tickets.lose(number, told=True)
        log.told(told, self.ledger.name)
        return told

    def note(self, trial: Trial | int, text: str) -> Trial:
        """The trial with a note below any earlier ones."""
        text = storable(checked_text("note", text))

        def note(known: Trial, _: sa.Connection) -> Trial:
            notes = (known.notes or "").splitlines()
            if not text or text.splitlines() == notes[-len(text.splitlines()) :]:
                return known  # noted before: a repeated call after a lost connection must not note it twice
            noted = replace(known, notes="\n".join([*notes, text]))
            if notes and len(noted.notes or "") > LONGEST_TEXT:
                raise TellError(f"the notes of trial {known.number} take at most {LONGEST_TEXT} characters")
            return noted

        return self._change([trial], note)[0]

    def correct(
        self,
        trials: Sequence[Trial | int],
        correction: Callable[[Trial, datetime, str], Trial],
        reason: str,
    ) -> list[Trial]:
        """These trials, or all that failed if there are none, after a correction with a time and a reason."""
        reason = storable(checked_reason(reason))
        at = self.store.read(self.store.now).utc

        def correct(known: Trial, _: sa.Connection) -> Trial:
            if known.superseded and known.superseded[-1].at == at:
                return known  # done by an earlier attempt, whose acknowledgement was lost
            return correction(known, at, reason)

        return self._change(trials, correct)

    def add(self, problem: Problem, trials: Iterable[Trial]) -> tuple[Trial, ...]:
        """Finished trials from elsewhere, after those that are there: all of them or none."""
        new = [_from_elsewhere(problem, trial) for trial in trials]
        claims = [Claim(new_ticket()) for _ in new]

        def add(connection: sa.Connection) -> tuple[Trial, ...]:
            now, revision = self.store.now(connection), self.ledger.lock(connection)
            if self.ledger.claimed(connection, claims[0].ticket):  # by an earlier attempt, as above
                return tuple(cast(Trial, self.ledger.claimed(connection, one.ticket)) for one in claims)
            mine: dict[str, Any] = {"asked_at": now.utc, "told_at": now.utc, "worker": identity.name()}
            first = len(self.ledger.trials(connection))
            added = [replace(trial, number=number, **mine) for number, trial in enumerate(new, start=first)]
            self.ledger.add(connection, added, revision, claims)
            return tuple(added)

        added = self.store.write(add) if new else ()
        for trial in added:
            log.told(trial, self.ledger.name)
        return added

    def _change(
        self, trials: Sequence[Trial | int], change: Callable[[Trial, sa.Connection], Trial]
    ) -> list[Trial]:
        """Change these trials, or all that failed if there are none, in one transaction."""

        def write(connection: sa.Connection) -> list[Trial]:
            revision = self.ledger.lock(connection)
            chosen = trials or [one for one in self.ledger.trials(connection) if one.state == "failed"]
            known = [self.ledger.find(connection, trial) for trial in chosen]
            changed = [change(trial, connection) for trial in known]
            for before, after in zip(known, changed, strict=True):
                if after is not before:
                    self.ledger.change(connection, after, revision)
                    if after.state == "asked" != before.state:
                        self.ledger.hand_out(connection, after.number)
            return changed

        return self.store.write(write)

    def _was_taken(self, known: Trial, connection: sa.Connection) -> bool:
        """Whether a trial that was asked for here went to somebody else, or was told by somebody else."""
        tickets = self.tickets.of(known.number)
        if not tickets:
            return False
        claimed = (self.ledger.claimed(connection, ticket) for ticket in tickets)
        return known.state != "asked" or not any(claimed)


def _from_elsewhere(problem: Problem, trial: Trial) -> Trial:
    """A finished trial as one that was observed, if it fits the problem."""
    if not problem.fits(trial):
        raise TellError(f"wanted a trial with {', '.join(problem.names)}, got {trial!r}")
    error, notes = (None if text is None else storable(text) for text in (trial.error, trial.notes))
    params = problem.space.check(trial._params)
    return replace(trial, params=params, origin="observed", error=error, notes=notes, superseded=())
