"""Dashboard: serve a web page over a store."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bopp.cli.source import STUDY, Source
from bopp.cli.terminal import say
from bopp.errors import MissingExtra, installation


def dashboard(
    source: Source = STUDY,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="8765 or the next that is free; 0: any.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; at 0.0.0.0, other machines can reach it.")
    ] = "127.0.0.1",
    read_only: Annotated[bool, typer.Option("--read-only", help="Only look.")] = False,
) -> None:
    """Serve a web page over a store: watch studies, understand them and work in them."""
    try:
        from bopp.dashboard.serving import serve
    except ImportError as error:
        raise MissingExtra(
            f"the dashboard wants {error.name}: {installation('dashboard')}", extra="dashboard"
        ) from error
    serve(source, host, port, read_only, say, repeats=sys.stderr.isatty())
