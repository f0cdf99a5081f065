"""Log: what becomes of trials, for Python's `logging` under the name "bopp"; silent until you listen.

    DEBUG    suggested, or taken from the queue
    INFO     told
    WARNING  failed, or taken over from a worker that fell silent

Every record has `trial`, the trial itself, and `study`, the name of its study or None. The process that asks
and tells writes them; the processes in which objectives run write none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from bopp.legible import cut, one_line, shown_values
from bopp.trial import Trial

LOG = logging.getLogger("bopp")
LOG.addHandler(logging.NullHandler())  # without it, Python prints warnings that nobody asked for
LONGEST = 500  # characters of a line


def asked(trial: Trial, study: str | None = None) -> None:
    """A trial was suggested, or came from the queue."""
    _write(logging.DEBUG, trial, study, lambda: f"{trial.origin}: {trial.params!r}")


def told(trial: Trial, study: str | None = None) -> None:
    """A trial has ended, or was observed elsewhere."""
    if trial.state == "failed":
        _write(logging.WARNING, trial, study, lambda: f"failed: {trial.reason}; with {trial.params!r}")
    else:
        how = "observed" if trial.origin == "observed" else "told"
        _write(
            logging.INFO, trial, study, lambda: f"{how}: {shown_values(trial.values)}; with {trial.params!r}"
        )


def taken_over(trial: Trial, before: str | None, study: str) -> None:
    """A trial came here from a worker that fell silent."""
    _write(
        logging.WARNING,
        trial,
        study,
        lambda: f"taken over from {before}, which fell silent: {trial.params!r}",
    )


def _write(level: int, trial: Trial, study: str | None, what: Callable[[], str]) -> None:
    if LOG.isEnabledFor(level):
        where = f"trial {trial.number}" if study is None else f"study {study!r}: trial {trial.number}"
        line = cut(one_line(f"{where} {what()}"), LONGEST)
        LOG.log(level, "%s", line, extra={"trial": trial, "study": study})
