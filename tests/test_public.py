import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import bopp
from bopp import errors

PUBLIC = [
    "BoppError",
    "Choice",
    "Data",
    "Float",
    "Int",
    "Known",
    "Optimizer",
    "Parameter",
    "Params",
    "Recipe",
    "Result",
    "Space",
    "Study",
    "Trial",
    "acquisition",
    "errors",
    "fit",
    "initial",
    "kernels",
    "maximize",
    "minimize",
    "open_study",
    "outcome",
    "pseudo",
    "search",
    "theory",
]
HEAVY = ["scipy.stats", "rich", "matplotlib", "sqlalchemy", "typer", "msgspec", "torch", "sklearn", "pandas"]
ERRORS = [
    "SpaceError",
    "RecipeError",
    "TellError",
    "LateTell",
    "StudyError",
    "StoreError",
    "ConfigError",
    "CommandError",
    "PaperError",
    "NoResultError",
    "MissingExtra",
]


def test_the_public_names_are_these() -> None:
    assert bopp.__all__ == PUBLIC
    assert [name for name in PUBLIC if not hasattr(bopp, name)] == []


ENGINE = set(Path(bopp.__file__).parent.glob("*.py")) - {
    Path(bopp.__file__).parent / name for name in ("__main__.py", "parallel.py", "plot.py", "progress.py")
}


@pytest.mark.parametrize("path", sorted(ENGINE), ids=lambda path: path.name)
def test_the_engine_imports_numpy_scipy_and_threadpoolctl_alone(path: Path) -> None:
    allowed = {"bopp", "numpy", "scipy", "threadpoolctl", *sys.stdlib_module_names}
    tree = ast.parse(path.read_text())
    typing_only = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    names = [
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and node not in typing_only
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    ]
    assert [name for name in names if name.split(".")[0] not in allowed] == []


def test_import_brings_nothing_heavy() -> None:
    script = "import bopp, json, sys; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    modules = json.loads(run.stdout)
    assert "bopp" in modules
    assert "numpy" in modules
    assert [name for name in HEAVY if name in modules] == []


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_a_bopp_error_and_in_the_tree(name: str) -> None:
    assert issubclass(getattr(errors, name), bopp.BoppError)
    assert name in (errors.__doc__ or "")


def test_no_error_is_missing_here() -> None:
    names = [name for name, thing in vars(errors).items() if inspect.isclass(thing)]
    assert sorted(names) == sorted([*ERRORS, "BoppError"])


def test_public_things_say_what_they_are() -> None:
    docs = {name: inspect.getdoc(getattr(bopp, name)) or "" for name in PUBLIC}
    assert [name for name, text in docs.items() if not text or text.startswith(f"{name}(")] == []


def test_the_words_of_minimize_are_those_of_its_docstring() -> None:
    words = ["objective", "space", "budget", *inspect.get_annotations(bopp.optimizer.Options)]
    assert [word for word in words if f"{word}:" not in (bopp.minimize.__doc__ or "")] == []
    for run in (bopp.minimize, bopp.maximize):
        assert list(inspect.signature(run).parameters)[:3] == words[:3]


def test_the_parts_of_a_recipe_are_these() -> None:
    parts = list(inspect.signature(bopp.Recipe).parameters)
    assert parts == ["kernel", "fit", "pseudo", "acquisition", "search", "initial", "outcome"]
