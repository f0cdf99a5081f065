"""The command line: parses and prints, never computes.

Exit codes
    0    done
    1    an error that nobody foresaw; --debug shows where
    2    a wrong request: of a command, a study file, a value
    3    the database cannot be reached, read or written
    4    no trial has finished, so there is no best one
    130  stopped by Ctrl-C or a request to end; what was told is kept
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

import typer

from bopp.cli import study
from bopp.cli.paper import paper
from bopp.cli.terminal import say
from bopp.errors import BoppError, NoResultError, StoreError

app = typer.Typer(
    name="bopp",
    help="Find the best setting of an expensive black box in few evaluations.",
    epilog="--debug, anywhere, shows the traceback of an error.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
study.add_to(app)
app.add_typer(paper, name="paper")


@app.callback()
def _bopp() -> None:
    """Find the best setting of an expensive black box in few evaluations."""


def main() -> NoReturn:
    """Run a command; what is wrong becomes one line on the error stream and an exit code."""
    words = sys.argv[1:]
    debug = "--debug" in words
    wrong_usage = typer.BadParameter.__base__  # typer names it so in no version
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        sys.exit(app([word for word in words if word != "--debug"], standalone_mode=False))
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python still flushes
        sys.exit(0)
    except Exception as error:
        if debug:
            raise
        sys.exit(_explained(error, wrong_usage))


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _explained(error: Exception, wrong_usage: Any) -> int:
    if isinstance(error, wrong_usage):
        text = error.format_message()
        say(text if text.startswith("Usage:") else f"bopp: {text}")
        return 2
    if not isinstance(error, BoppError):
        say(f"bopp: {type(error).__name__}: {error} (--debug shows where)")
        return 1
    say(f"bopp: {error}")
    return 3 if isinstance(error, StoreError) else 4 if isinstance(error, NoResultError) else 2
