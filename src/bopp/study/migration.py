"""Migration: go on with a study in another space, with the trials that fit it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from bopp.adoption import adopted
from bopp.errors import SpaceError, StudyError, TellError
from bopp.plain import write_space
from bopp.problem import Problem
from bopp.space import Params
from bopp.study.definition import Definition, rewrite, written
from bopp.study.leases import Watch
from bopp.study.ledger import Ledger
from bopp.study.schema import studies
from bopp.study.store import Store


def migrate(store: Store, study: Definition, problem: Problem, values: Any) -> None:
    """Give a study the space of a problem; `values` are those that new parameters had so far.

    Trials and queued params that do not fit the new space are dropped. Nobody may be working on the study.
    """
    if not isinstance(values, Mapping):
        raise StudyError(f"migrate: wanted True, or a dict of new parameters to values, got {values!r}")
    if unknown := [name for name in values if name not in problem.space.parameters]:
        raise StudyError(f"migrate: {unknown[0]!r} is not in the new space")
    values = {name: problem.space.check_one(name, value) for name, value in values.items()}
    space = write_space(problem.space)

    def change(connection: sa.Connection) -> None:
        there = connection.execute(sa.select(studies.c.space).where(studies.c.id == study.id)).scalar()
        if there == json.dumps(space):
            return  # done by an earlier attempt, whose acknowledgement was lost
        before, after = (Ledger(study.id, one, study.name) for one in (study.problem, problem))
        revision, now = before.lock(connection), store.now(connection)
        leases = before.leases(connection)
        over = Watch().over(leases, now)
        if busy := [lease for lease in leases if lease not in over]:
            raise StudyError(f"trial {busy[0].number} is under way at {busy[0].worker}: end its worker first")
        trials, queued = before.trials(connection), before.queued(connection)
        try:
            moved = adopted(problem, trials, now.utc, values)
        except TellError as error:
            raise StudyError(f"{study.name!r}: {error}", study=study.name) from None
        for trial in moved:
            after.change(connection, trial, revision)
        for ticket, params in queued:
            fitting = _fitting(problem, params)
            if fitting is None:
                before.pop(connection, ticket)
            else:
                after.requeue(connection, ticket, fitting)
        rewrite(connection, study.id, written({"space": space}))

    store.write(change)


def _fitting(problem: Problem, params: Params) -> Params | None:
    """Queued params in the new space, or None if they do not fit; what is missing will be suggested."""
    try:
        return problem.space.check_part(problem.space.cut(params))
    except SpaceError:
        return None
