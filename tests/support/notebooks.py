"""Notebooks, run in a real kernel; as a program, it runs that of the examples and saves what it shows."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "first_hour.ipynb"
PATIENCE = 120  # seconds for a cell that takes a few on an idle machine
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def executed(notebook: Any, folder: Path, more: Sequence[str] = ()) -> Any:
    """The notebook with what its cells show, run in a folder; an error in one of them is an error here."""
    notebook.cells += [nbformat.v4.new_code_cell(source) for source in more]
    with tempfile.TemporaryDirectory() as place:  # a short path, for sockets; and nothing in anybody's home
        kernel = AsyncKernelManager(
            kernel_name="python3", transport="ipc", connection_file=str(Path(place, "kernel.json"))
        )
        client = NotebookClient(
            notebook,
            km=kernel,
            timeout=PATIENCE,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(folder)}},
        )
        return client.execute(cleanup_kc=True, env={**os.environ, "IPYTHONDIR": place})


def without_machine(notebook: Any) -> Any:
    """The notebook without what depends on the machine that it ran on."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", nbformat.from_dict({})
        for output in cell.get("outputs", ()):
            if "metadata" in output:
                output.metadata = nbformat.from_dict({})
    return notebook


def shown(cell: Any, kind: str = "text/plain") -> str:
    """What a cell shows, of one kind, below it."""
    found = [output.data.get(kind, "") for output in cell.outputs if output.output_type != "stream"]
    return "\n".join(filter(None, found))


def streamed(cell: Any) -> str:
    """What a cell has printed, to either stream."""
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        notebook = without_machine(executed(read(EXAMPLE), Path(folder)))
    nbformat.validate(notebook)
    text = nbformat.writes(notebook)
    if found := re.search(r"/(home|root|tmp|work|Users)/", text):
        raise SystemExit(f"{EXAMPLE.name} would have a path of this machine: {found[0]}")
    EXAMPLE.write_text(text + "\n")
