"""Source: how a command names its study.

A command takes SOURCE and NAME as arguments, one whose arguments are numbers or values as --in and --name.
"""

from __future__ import annotations

from typing import Annotated

import typer

STUDY = "study.toml"

Source = Annotated[str, typer.Argument(help="A study file, or the URL of a store.")]
Name = Annotated[str | None, typer.Argument(help="The study in the store; not needed where it has one.")]
In = Annotated[str, typer.Option("--in", help="A study file, or the URL of a store.")]
Named = Annotated[
    str | None, typer.Option("--name", help="The study in the store; not needed where it has one.")
]
Json = Annotated[bool, typer.Option("--json", help="For other programs.")]
