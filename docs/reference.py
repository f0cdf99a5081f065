"""Hooks of MkDocs: the pages that are not files of this folder.

Those of the checkout's root (README.md is the home page), and one page of reference for each public room:
`bopp` itself, the modules that it exports, and the bridges. What a room shows are its public names with a
docstring, so nothing is listed here by hand.
"""

import posixpath
import re
from importlib import import_module, metadata
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from mkdocs.structure.files import File

import bopp

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
LINK = re.compile(r"(?<=\]\()(?P<target>[^)#:]+)(?=[)#])")


def on_config(config: Any) -> Any:
    """Fill the place of the reference in the navigation."""
    for entry in config.nav:
        if "Reference" in entry:
            entry["Reference"] = [{room: page(room)} for room in rooms()]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are no files of this folder, and what they link to."""
    for name in PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text()))
    for path in [ROOT / "LICENSE", *(ROOT / "examples").rglob("*.py")]:
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    for room in rooms():
        files.append(File.generated(config, page(room), content=reference(room)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links between files of the checkout lead from page to page of the site."""
    place = page.file.src_uri if page.file.src_uri in PAGES else f"docs/{page.file.src_uri}"

    def on_site(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(place), link["target"]))
        if not (ROOT / target).exists():
            return link["target"]
        start = posixpath.dirname(page.file.src_uri) or "."
        return posixpath.relpath(target.removeprefix("docs/"), start)

    return LINK.sub(on_site, markdown)


def rooms() -> list[str]:
    """The public modules: bopp, those that it exports, and the bridges, which have an extra of their name."""
    exported = [name for name in bopp.__all__ if isinstance(getattr(bopp, name), ModuleType)]
    extras = metadata.metadata("bopp").get_all("Provides-Extra") or []
    bridges = [module.name for module in iter_modules(import_module("bopp.bridges").__path__)]
    return ["bopp", *(f"bopp.{n}" for n in exported), *(f"bopp.bridges.{n}" for n in bridges if n in extras)]


def page(room: str) -> str:
    return f"reference/{room}.md"


def reference(room: str) -> str:
    """The page of a room; bopp shows what it exports, the others what they define."""
    if room != "bopp":
        return (
            f"# {room}\n\n::: {room}\n    options: {{show_root_heading: false, show_root_toc_entry: false}}\n"
        )
    names = [name for name in bopp.__all__ if not isinstance(getattr(bopp, name), ModuleType)]
    return "\n".join(["# bopp", "", bopp.__doc__ or "", "", *(f"::: bopp.{name}\n" for name in names)])
