"""What the reports of the benchmarks share: a heading with machine and versions, and tables."""

import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import date
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parent.parent


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def versions_table(peers: Iterable[str], notes: dict[str, Any]) -> str:
    """With which versions each peer ran, where and when."""
    rows = []
    for peer in (peer for peer in peers if peer in notes):
        note = notes[peer]
        versions = ", ".join(f"{name} {version}" for name, version in note["versions"].items())
        rows.append([peer, versions, note["python"], note["machine"], note["date"]])
    return markdown(["peer", "versions", "Python", "machine", "date"], rows)


def publish(parts: list[str], out: Path | None) -> None:
    """Print a report, and write it to a file if one is wanted."""
    report = "\n\n".join(part for part in parts if part) + "\n"
    print(report)
    if out:
        out.write_text(report)


def heading() -> str:
    """Date, machine, commit and versions, to put above a table."""
    versions = [f"Python {platform.python_version()}"]
    for library in ("bopp", "numpy", "scipy", "optuna", "greenlet", "torch", "botorch"):
        if find_spec(library):
            versions.append(f"{library} {version(library)}")
    return f"{date.today()}, {machine()}, commit {commit()}; {', '.join(versions)}"


def commit(checkout: Path = CHECKOUT) -> str:
    """What is measured, as Git names it: "-dirty" if code was changed, "unknown" outside Git."""
    try:
        name = git(checkout, "describe", "--always")
        changes = git(
            checkout, "diff", "HEAD", "--name-only", "--", "src", "*.py"
        )  # changed tables and pages do not count
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name}-dirty" if changes else name


def git(checkout: Path, *arguments: str) -> str:
    """The output of a Git command."""
    run = subprocess.run(["git", *arguments], cwd=checkout, check=True, capture_output=True, text=True)
    return run.stdout.strip()


def machine() -> str:
    """The processor and the number of its cores."""
    return f"{processor()}, {os.cpu_count()} cores"


def version(library: str) -> str:
    """The installed version, or "source" for a checkout on the path."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "source"


def processor() -> str:
    """The name of this machine's processor."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    return platform.processor() or platform.machine()
