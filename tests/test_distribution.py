"""What is published: the two packages, and the README that a package index shows."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from readme import CODE_OR_LINK, rewrite

import bopp
from support.documents import ROOT, blocks

REPOSITORY = "https://example.org/bopp"


def run(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True)


def succeed(*words: object, folder: Path) -> str:
    ended = run(*words, folder=folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize(
    ("text", "absolute", "plain"),
    [
        ("[Guide](docs/guide.md)", f"[Guide]({REPOSITORY}/blob/v1.2/docs/guide.md)", "Guide"),
        ("![A\nmap](a.png)", f"![A\nmap]({REPOSITORY}/raw/v1.2/a.png)", "A\nmap"),
        ("[`run`](a.md)", f"[`run`]({REPOSITORY}/blob/v1.2/a.md)", "`run`"),
        ("[speed](#how-fast)", f"[speed]({REPOSITORY}/blob/v1.2/README.md#how-fast)", "speed"),
        ("[![b](b.svg)](c)", f"[![b]({REPOSITORY}/raw/v1.2/b.svg)]({REPOSITORY}/blob/v1.2/c)", "b"),
        (
            "[![b](https://b.org)](c)",
            f"[![b](https://b.org)]({REPOSITORY}/blob/v1.2/c)",
            "![b](https://b.org)",
        ),
        *[(same,) * 3 for same in ("[a](https://a.org)", "`f[0](x)`", "```py\nf[0](x)\n```\n", "a [b] (c)")],
    ],
)
def test_links_of_the_readme_lead_to_the_repository_or_become_text(
    text: str, absolute: str, plain: str
) -> None:
    assert rewrite(text, REPOSITORY, "1.2") == absolute
    assert rewrite(text, "", "1.2") == plain


def test_a_development_version_links_to_the_main_branch() -> None:
    assert rewrite("[a](b)", REPOSITORY, "1.2.dev0") == f"[a]({REPOSITORY}/blob/main/b)"


@pytest.mark.parametrize("repository", ["", REPOSITORY])
def test_no_relative_link_is_left_in_the_readme(repository: str) -> None:
    text = rewrite((ROOT / "README.md").read_text("utf-8"), repository, bopp.__version__)
    targets = [found["target"] for found in CODE_OR_LINK.finditer(text) if found["target"]]
    assert [target for target in targets if not target.startswith("https://")] == []
    assert not re.search(r"^\[[^\]]+\]: |<img |<a ", text, re.MULTILINE)  # links that are not rewritten


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a wheel and an sdist, built from this checkout; the wheel is built from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    succeed(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, folder=folder)
    return folder


@pytest.mark.endurance
def test_the_packages_are_whole_and_described(packages: Path) -> None:
    wheel, sdist = (next(packages.glob(ending)) for ending in ("*.whl", "*.tar.gz"))
    succeed(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist, folder=packages)
    with tarfile.open(sdist) as archive:
        shipped = {name.partition("/")[2] for name in archive.getnames()}
    listed = run("git", "ls-files", folder=ROOT).stdout.split("\n") if (ROOT / ".git").exists() else []
    tests = [str(test.relative_to(ROOT)) for test in ROOT.glob("tests/**/*.py")]
    needed = {"Makefile", "mkdocs.yml", ".ci/readme.py", "docs/guide.md", "examples/mixture.py", *tests}
    assert (needed | {name for name in listed if name}) - shipped == set()
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        described = message_from_bytes(archive.read(metadata))
    source = ROOT / "src"
    ours = [file for file in source.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    assert {str(file.relative_to(source)) for file in ours} - names == set()
    assert "bopp/py.typed" in names
    assert {"templates", "static"} <= {Path(name).parent.name for name in names if "dashboard" in name}
    assert {name.split("/")[0] for name in names} == {"bopp", f"bopp-{bopp.__version__}.dist-info"}
    extras = set(described.get_all("Provides-Extra", []))
    assert {"all", "plot"} <= extras
    assert not extras & {"bench", "check", "docs", "test"}
    assert "](docs/" not in str(described.get_payload())


@pytest.mark.endurance
def test_the_wheel_runs_the_first_session_of_the_readme_in_a_clean_environment(
    packages: Path, tmp_path: Path
) -> None:
    (wheel,) = packages.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if run(*install, wheel, folder=tmp_path).returncode:  # no package index: take the libraries from here
        succeed(*install, "--no-deps", wheel, folder=tmp_path)
        (installed,) = (tmp_path / "venv").glob("lib/*/site-packages")
        (installed / "here.pth").write_text(sysconfig.get_path("purelib"))
    (tmp_path / "session.py").write_text(blocks("README.md")[0] + "\nprint(bopp.__file__)\n")
    shown = succeed(python, "-I", "session.py", folder=tmp_path)
    assert "layers" in shown
    assert str(tmp_path) in shown.splitlines()[-1]
    version = succeed(python.with_name("bopp"), "--version", folder=tmp_path)
    assert version == f"bopp {bopp.__version__}\n"
