"""The command line: parses and prints, never computes.

Exit codes
    0    done
    1    an unexpected error; --debug shows where
    2    a wrong request: in the command, a study file or a value
    3    a database or a file cannot be reached, read or written
    4    there is no best trial: none has finished, or none meets the constraints
    5    the objective fails the same way again and again: it needs mending
    130  stopped by Ctrl-C or a request to terminate; what was told is kept
"""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

import bopp
from bopp.cli import ask_tell, correct, knowing, running, show
from bopp.cli.paper import paper
from bopp.cli.terminal import say, silence
from bopp.errors import BoppError, NoResultError, ObjectiveError, StoreError
from bopp.legible import cut
from bopp.run.interrupts import SIGNALS

LONGEST = 4000  # characters of a message, which may quote what somebody else wrote

app = typer.Typer(
    name="bopp",
    help="Find the best setting of an expensive black box in few evaluations.",
    epilog="--debug, anywhere, shows the traceback of an error.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
HELP = {"help_option_names": ["--help", "-h"]}
COMMANDS: tuple[Callable[..., None], ...] = (
    *(running.init, running.run, running.worker, running.switch),
    *(running.pause, running.resume, show.dashboard),
    *(knowing.learn, knowing.knowledge),
    *(show.status, show.best, show.trials, show.plot, show.export, show.import_),
    *(ask_tell.ask, ask_tell.tell, ask_tell.observe, ask_tell.enqueue),
    *(correct.retry, correct.amend, correct.drop, correct.migrate, correct.delete),
)
for command in COMMANDS:
    values = command.__module__ in (ask_tell.__name__, correct.__name__)  # so that -0.5 is no option
    name = command.__name__.rstrip("_")
    app.command(name, context_settings={"ignore_unknown_options": values, **HELP})(command)
app.add_typer(paper, name="paper")


@app.callback(invoke_without_command=True, context_settings=HELP)
def _bopp(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Find the best setting of an expensive black box in few evaluations."""
    if version:
        print(f"bopp {bopp.__version__}")
        raise typer.Exit


def main() -> NoReturn:
    """Run a command; an error becomes one line on the error stream and an exit code."""
    _prepare()
    try:
        code = _ended(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    for number in SIGNALS:  # it has ended: one more would kill it, and hide the exit code
        signal.signal(number, signal.SIG_IGN)
    lost = _lost_output()
    if lost and not code:
        say(f"bopp: cannot write to the standard output: {lost}")
        code = 3
    sys.exit(code)


def _ended(words: list[str]) -> Any:
    """The exit code of a command."""
    place = words.index("--") if "--" in words else len(words)  # beyond it, every word is itself
    debug = "--debug" in words[:place]
    asked = [word for word in words[:place] if word != "--debug"] + words[place:]
    try:
        return app(asked, prog_name="bopp", standalone_mode=False)
    except typer.Abort:
        return 130
    except SystemExit as end:
        return 0 if end.code == 1 else end.code  # 1: whoever read our output closed the pipe
    except Exception as error:
        return _explained(error, debug)


def _lost_output() -> str | None:
    """Why the output could not be written, if so; nothing is wrong if its reader has seen enough."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        silence(sys.stdout)
        return None if isinstance(error, BrokenPipeError) else getattr(error, "strerror", str(error))
    return None


def _prepare() -> None:
    """Treat SIGTERM and a closed terminal like Ctrl-C, and never fail because of what is printed."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) is not signal.SIG_IGN:  # which nohup sets
            signal.signal(number, signal.default_int_handler)
    for number in range(
        3
    ):  # one that was closed; otherwise a database may get its number and be printed into
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, io.StringIO())
        elif name != "stdin" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # for letters that a terminal cannot show


def _printed(error: OSError) -> bool:
    """Whether an error came of printing: all else that writes is in other rooms, or says so itself."""
    place = error.__traceback__
    while place and place.tb_next:
        place = place.tb_next
    room = Path(place.tb_frame.f_code.co_filename).parent if place else None
    return room is not None and (room == Path(__file__).parent or room.name == "rich")


def _explained(error: Exception, debug: bool) -> int:
    from bopp.study.address import censored

    if debug:
        say(censored("".join(traceback.format_exception(error))))
    if hasattr(error, "format_message"):  # typer's own, about the request
        text = censored(error.format_message())
        say(text if text.startswith("Usage:") else f"bopp: {text}")
        return 2
    if not isinstance(error, BoppError):
        if isinstance(error, OSError) and _printed(error):
            say(f"bopp: cannot write to the standard output: {error.strerror}")
            return 3
        say(cut(censored(f"bopp: {type(error).__name__}: {error}"), LONGEST) + " (--debug shows where)")
        return 1
    say(cut(censored(f"bopp: {error}"), LONGEST))
    codes = {StoreError: 3, NoResultError: 4, ObjectiveError: 5}
    return next((code for kind, code in codes.items() if isinstance(error, kind)), 2)
