"""Everything bopp raises on purpose descends from one exception.

BoppError
├── SpaceError      a parameter or a space is declared wrongly, or params do not fit it
├── RecipeError     an argument of a problem, of a recipe or its parts, or of a run is not valid
├── TellError       a value that is not a number, a second and different value, or an unknown trial
│   └── LateTell    another worker has taken over the trial or told it already, and its answer counts
├── StudyError      a study cannot be created, opened or changed as asked
│   └── PausedStudy a study hands out no trials until it is resumed
├── StoreError      the database of a study cannot be reached, read or written
├── ConfigError     a study file or a command is wrong; the message names the field
├── CommandError    a command ended without a value
│   └── MissingCommand  its program cannot be started
├── ObjectiveError  the objective fails the same way again and again, or cannot be called
├── PaperError      an experiment of the paper cannot be run or read as asked
├── NoResultError   there is no best trial: none has finished, or none meets the constraints
└── MissingExtra    an optional package is not installed; the message says how to install it
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class BoppError(Exception):
    """The root of every error that bopp raises on purpose."""


class SpaceError(BoppError, ValueError):
    """A parameter or a space is declared wrongly, or params do not fit it."""


class RecipeError(BoppError, ValueError):
    """An argument of a problem, of a recipe or its parts, or of a run is not valid."""


class TellError(BoppError, ValueError):
    """What was told cannot be accepted; the trial stays as it was."""


class LateTell(TellError):
    """Another worker has taken over the trial or told it already, and its answer counts."""


class StudyError(BoppError, ValueError):
    """A study cannot be created, opened or changed as asked; it stays as it was."""


class PausedStudy(StudyError):
    """A study is paused: nobody gets a trial of it until it is resumed."""


class StoreError(BoppError, OSError):
    """The database of a study cannot be reached, read or written; what was told before is kept."""


class ConfigError(BoppError, ValueError):
    """A study file or a command is wrong."""


class CommandError(BoppError, RuntimeError):
    """A command used as the objective ended without a value."""


class MissingCommand(CommandError):
    """The program of a command cannot be started, whatever the params."""


class ObjectiveError(BoppError, RuntimeError):
    """The objective fails the same way again and again, and nothing has succeeded: it needs mending."""


class PaperError(BoppError, ValueError):
    """An experiment of the paper cannot be run or read as asked."""


class NoResultError(BoppError, LookupError):
    """There is no best trial: none has finished, or none meets the constraints."""


def installation(extra: str) -> str:
    """How to install an extra, from a release or from a checkout."""
    return f"pip install 'bopp[{extra}]', in a checkout pip install '.[{extra}]'"


class MissingExtra(BoppError, ImportError):
    """An optional package is not installed."""


@contextmanager
def reading(what: str, kind: type[BoppError] = BoppError) -> Iterator[None]:
    """Turn whatever a malformed document raises into one error of `kind` that begins with `what`."""
    try:
        yield
    except kind:
        raise
    except (LookupError, TypeError, AttributeError, RecursionError, ValueError, ArithmeticError) as error:
        raise kind(f"{what}: {error if isinstance(error, BoppError) else repr(error)}") from error
    except BoppError as error:
        raise kind(f"{what}: {error}") from error
