"""Everything bopp raises on purpose descends from one exception.

BoppError
├── SpaceError      a parameter or a space is declared wrongly, or params do not fit it
├── RecipeError     a setting of a recipe, policy, acquisition or search is out of range
├── TellError       a value that is no number, a second different value, a foreign trial
│   └── LateTell    the trial went to another worker meanwhile, and its word counts
├── StudyError      a study cannot be created, opened or changed as asked
├── StoreError      the database of a study cannot be reached, read or written
├── ConfigError     a study file or a command is wrong; the message names the field
├── CommandError    a command ended without a value
├── PaperError      an experiment of the paper cannot be run or read as asked
├── NoResultError   the best trial was asked for, and none has finished
└── MissingExtra    an optional package is not installed; the message names the extra
"""


class BoppError(Exception):
    """The root of every error that bopp raises on purpose."""


class SpaceError(BoppError, ValueError):
    """A parameter or a space is declared wrongly, or params do not fit it."""


class RecipeError(BoppError, ValueError):
    """A setting of a recipe, a policy, an acquisition or a search is out of range."""


class TellError(BoppError, ValueError):
    """What was told cannot be taken; the trial stays as it was."""


class LateTell(TellError):
    """The trial went to another worker meanwhile, and what that one tells counts."""


class StudyError(BoppError, ValueError):
    """A study cannot be created, opened or changed as asked; it stays as it was."""


class StoreError(BoppError, OSError):
    """The database of a study cannot be reached, read or written; what was told before is kept."""


class ConfigError(BoppError, ValueError):
    """A study file or a command is wrong."""


class CommandError(BoppError, RuntimeError):
    """A command, as an objective, ended without a value."""


class PaperError(BoppError, ValueError):
    """An experiment of the paper cannot be run or read as asked."""


class NoResultError(BoppError, LookupError):
    """No trial has finished, so there is no best one."""


class MissingExtra(BoppError, ImportError):
    """An optional package is not installed."""
