"""Pausing: have a study wait, and go on."""

from __future__ import annotations

from typing import Annotated

import typer

from bopp.cli.source import STUDY, Name, Source
from bopp.cli.terminal import pasted, say
from bopp.study.opening import existing


def pause(
    source: Source = STUDY,
    name: Name = None,
    reason: Annotated[str | None, typer.Option(help="Why, for those who wait.")] = None,
) -> None:
    """Have nobody begin a trial; those under way are finished, and workers wait for bopp resume."""
    from bopp.study.address import discreet

    with existing(source, name, read_only=False) as study:
        before = study.paused
        study.pause(reason)
        words = [discreet(source), *([] if name is None else [name])]
        then = f"To go on: {pasted('resume', *([] if words == [STUDY] else words))}"
        if before:
            say(f"{study.name} is paused {before} already. {then}")
        else:
            say(f"{study.name} is paused: what is under way is finished, and no trial begins. {then}")


def resume(source: Source = STUDY, name: Name = None) -> None:
    """Let a paused study go on."""
    with existing(source, name, read_only=False) as study:
        before = study.paused
        study.resume()
        say(f"{study.name} goes on; it was paused {before}" if before else f"{study.name} is not paused")
