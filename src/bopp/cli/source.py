"""Source: how a command names its study, and a trial for other programs.

A command takes SOURCE and NAME as arguments, one whose arguments are numbers or values as --in and --name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from bopp import Study

STUDY = "study.toml"

Source = Annotated[str, typer.Argument(help="A study file, or the URL of a store.")]
Name = Annotated[str | None, typer.Argument(help="The study in the store; not needed where it has one.")]
In = Annotated[str, typer.Option("--in", help="A study file, or the URL of a store.")]
Named = Annotated[
    str | None, typer.Option("--name", help="The study in the store; not needed where it has one.")
]
Json = Annotated[bool, typer.Option("--json", help="For other programs.")]


def record(study: Study, trial: Any) -> dict[str, Any]:
    """A trial for other programs, with the params themselves."""
    from bopp.plain import write_trial

    row = write_trial(study.space, trial)
    return (
        {name: row[name] for name in ("number", "state")}
        | {"value": trial._value}
        | row
        | {"params": trial.params}
    )
