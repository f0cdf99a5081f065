"""Everything bopp raises on purpose descends from one exception.

BoppError
├── SpaceError      a parameter or a space is declared wrongly, or params do not fit it
├── RecipeError     a setting of a recipe, policy, acquisition or search is out of range
├── TellError       a value that is no number, a second different value, a foreign trial
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


class PaperError(BoppError, ValueError):
    """An experiment of the paper cannot be run or read as asked."""


class NoResultError(BoppError, LookupError):
    """No trial has finished, so there is no best one."""


class MissingExtra(BoppError, ImportError):
    """An optional package is not installed."""
