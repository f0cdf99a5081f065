import ast
import copy
import inspect
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import bopp
from bopp import errors

PUBLIC = [
    "AtLeast",
    "AtMost",
    "Belief",
    "Beliefs",
    "BoppError",
    "Choice",
    "Data",
    "Fixed",
    "Float",
    "Holds",
    "Int",
    "Known",
    "Linear",
    "Optimizer",
    "Parameter",
    "Params",
    "Problem",
    "Recipe",
    "Result",
    "Space",
    "Study",
    "Trial",
    "acquisition",
    "delete_study",
    "errors",
    "fit",
    "initial",
    "kernels",
    "maximize",
    "minimize",
    "open_study",
    "optimize",
    "outcome",
    "pseudo",
    "search",
    "theory",
    "types",
]
HEAVY = [
    "scipy.stats",
    "rich",
    "matplotlib",
    "sqlalchemy",
    "typer",
    "msgspec",
    "torch",
    "sklearn",
    "pandas",
    "IPython",
]


def test_the_public_names_are_these() -> None:
    assert bopp.__all__ == PUBLIC
    assert [name for name in PUBLIC if not hasattr(bopp, name)] == []


HOME = Path(bopp.__file__).parent
ENGINE = {*HOME.glob("*.py"), *HOME.glob("run/*.py")} - {
    *(HOME / "__main__.py", HOME / "run" / "progress.py", HOME / "run" / "descendants.py")
}


@pytest.mark.parametrize("path", sorted(ENGINE), ids=lambda path: f"{path.parent.name}/{path.name}")
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


@pytest.mark.parametrize(
    ("error", "attribute"),
    [
        (errors.SpaceError("a", parameter="b"), "parameter"),
        (errors.RecipeError("a", argument="b"), "argument"),
        (errors.LateTell("a", trial="b"), "trial"),
        (errors.PausedStudy("a", study="c", reason="b"), "reason"),
        (errors.StoreError("a", url="b"), "url"),
        (errors.ConfigError("a", field="b"), "field"),
        (errors.MissingCommand("a", exit_code="b"), "exit_code"),
        (errors.MissingExtra("a", extra="b"), "extra"),
    ],
)
def test_errors_keep_their_attributes_from_process_to_process(error: Exception, attribute: str) -> None:
    for one in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(one), str(one), getattr(one, attribute)) == (type(error), "a", "b")
    assert getattr(type(error)("a"), attribute) is None
    with pytest.raises(TypeError):
        type(error)("a", nonsense=1)  # type: ignore[call-arg]


def test_every_error_is_a_bopp_error_and_in_the_tree() -> None:
    found = {one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, Exception)}
    assert [one for one in found if not issubclass(one, bopp.BoppError)] == []
    tree = re.findall(r"^(\w+)$|─ +(\w+)|└── (\w+)", errors.__doc__ or "", re.MULTILINE)
    assert sorted("".join(names) for names in tree) == sorted(one.__name__ for one in found)


def test_public_things_say_what_they_are() -> None:
    docs = {name: inspect.getdoc(getattr(bopp, name)) or "" for name in PUBLIC}
    assert [name for name, text in docs.items() if not text or text.startswith(f"{name}(")] == []


@pytest.mark.parametrize("run", [bopp.minimize, bopp.optimize])
def test_the_words_of_a_run_are_those_of_its_docstring(run: Callable[..., object]) -> None:
    words = list(inspect.signature(run).parameters)
    documented = re.findall(r"(?m)^    (\w+):", (inspect.getdoc(run) or "").partition("Args:")[2])
    assert words == documented


RUN = [
    *("seed", "workers", "executor", "start_method", "recipe", "knowledge", "progress", "start", "trials"),
    *("target", "time_limit", "trial_timeout", "failures", "callback", "fidelities"),
]


@pytest.mark.parametrize(
    ("run", "first"),
    [
        (bopp.minimize, ["objective", "space", "budget", "constraints"]),
        (bopp.maximize, ["objective", "space", "budget", "constraints"]),
        (bopp.optimize, ["objective", "problem", "budget"]),
    ],
)
def test_every_keyword_of_a_run_is_shown(
    run: Callable[..., object], first: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    parameters = inspect.signature(run).parameters
    assert list(parameters) == [*first, *RUN]
    assert {parameters[name].kind for name in RUN} == {inspect.Parameter.KEYWORD_ONLY}
    help(run)
    shown = capsys.readouterr().out
    assert [name for name in (*first, *RUN) if f"{name}:" not in shown] == []


def test_the_arguments_of_all_runs_are_the_same() -> None:
    """Each is written out, so that help and editors show it, and may not drift apart."""
    assert inspect.signature(bopp.maximize) == inspect.signature(bopp.minimize)
    ours, theirs = (inspect.signature(run).parameters for run in (bopp.optimize, bopp.minimize))
    assert [ours[name] for name in ("budget", *RUN)] == [theirs[name] for name in ("budget", *RUN)]


@pytest.mark.parametrize("run", [bopp.minimize, bopp.maximize, bopp.optimize])
@pytest.mark.parametrize("word", ["worker", "direction", "knowlege", "problem_"])
def test_an_unknown_keyword_is_a_type_error_before_anything_runs(
    run: Callable[..., object], word: str
) -> None:
    calls: list[object] = []
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{word}'"):
        run(calls.append, {"x": bopp.Float(0, 1)}, progress=False, **{word: 2})
    assert calls == []


def test_theory_is_there_where_it_was() -> None:
    from bopp.paper import theory

    assert bopp.theory is theory
    with pytest.raises(AttributeError, match="no attribute 'theorie'"):
        bopp.theorie  # noqa: B018


def test_the_parts_of_a_recipe_are_these() -> None:
    parts = list(inspect.signature(bopp.Recipe).parameters)
    assert parts == ["kernel", "fit", "pseudo", "acquisition", "search", "initial", "outcome"]
