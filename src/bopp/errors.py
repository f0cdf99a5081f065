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

An error has attributes for programs: `error.parameter` of a SpaceError is the name of the parameter that is
wrong. An attribute is None where the code that raised the error did not know it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class BoppError(Exception):
    """The root of every error that bopp raises on purpose.

    Args:
        args: the message.
        known: attributes that the class declares, such as parameter="rate".
    """

    def __init__(self, *args: object, **known: Any):
        super().__init__(*args)
        for name, value in known.items():
            if not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} has no attribute {name!r}")
            setattr(self, name, value)

    def attributes_for(self, kind: type[BoppError]) -> dict[str, Any]:
        """The attributes that are known here and that an error of another kind has too."""
        return {name: value for name, value in vars(self).items() if hasattr(kind, name)}


class SpaceError(BoppError, ValueError):
    """A parameter or a space is declared wrongly, or params do not fit it."""

    parameter: str | None = None
    """The name of the parameter that is wrong."""


class RecipeError(BoppError, ValueError):
    """An argument of a problem, of a recipe or its parts, or of a run is not valid."""

    argument: str | None = None
    """The name of the argument."""


class TellError(BoppError, ValueError):
    """What was told cannot be accepted; the trial stays as it was."""

    trial: int | None = None
    """The number of the trial."""


class LateTell(TellError):
    """Another worker has taken over the trial or told it already, and its answer counts."""


class StudyError(BoppError, ValueError):
    """A study cannot be created, opened or changed as asked; it stays as it was."""

    study: str | None = None
    """The name of the study."""


class PausedStudy(StudyError):
    """A study is paused: it hands out no trials until it is resumed."""

    reason: str | None = None
    """Why it was paused, if whoever paused it gave a reason."""


class StoreError(BoppError, OSError):
    """The database of a study cannot be reached, read or written; what was told before is kept."""

    url: str | None = None
    """The URL of the database, without secrets."""


class ConfigError(BoppError, ValueError):
    """A study file or a command is wrong."""

    field: str | None = None
    """The field of the file, as the message names it: "[study] budget"."""


class CommandError(BoppError, RuntimeError):
    """A command used as the objective ended without a value."""

    exit_code: int | None = None
    """The exit status of the command, if it ended."""


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

    extra: str | None = None
    """The extra of bopp that installs it."""


@contextmanager
def reading(what: str, kind: type[BoppError] = BoppError) -> Iterator[None]:
    """Turn whatever a malformed document raises into one error of `kind` that begins with `what`."""
    try:
        yield
    except kind:
        raise
    except BoppError as error:
        raise kind(f"{what}: {error}", **error.attributes_for(kind)) from error
    except (LookupError, TypeError, AttributeError, RecursionError, ValueError, ArithmeticError) as error:
        raise kind(f"{what}: {error!r}") from error
