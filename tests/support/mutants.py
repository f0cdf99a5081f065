"""Mutation testing: change one line of the source at random and see whether a test fails.

mutants.py --make 110 --seed 0 --out mutants.jsonl
mutants.py --run mutants.jsonl --coverage .coverage --durations junit.xml --results results.jsonl

The second command needs a run of the tests that recorded which test executes which line, and for how long:

pytest --cov=bopp --cov-context=test --cov-report= --junitxml=junit.xml -o junit_duration_report=total

A mutant names its line by text, so the same mutants can be run against a later state of the source. Only
expressions and statements that fit on one line are changed. Run the second command again to continue it.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

AREAS = {  # modules below src/bopp, and their share of the mutants
    "storage": (
        40,
        """study/asking study/catalogue study/checksum study/definition study/exchange study/following
        study/ledger study/reading study/recording study/schema study/sqlite study/store""",
    ),
    "codec": (25, "parts plain problem rows trial"),
    "engine": (
        45,
        """acquisition belief conditions feasibility fit fitted goals gp hypervolume initial kernels model
        number option outcome search space suggest trend knowledge/* pseudo/*""",
    ),
}
PAIRS = ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn))
SWAPS: dict[type[ast.AST], type[Any]] = {}
for one, other in (*PAIRS, (ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.And, ast.Or)):
    SWAPS |= {one: other, other: one}
UNREAD = ("annotation", "returns", "decorator_list")  # fields of the syntax tree that are left alone
LEFT_OUT = (".git", ".venv*", ".coverage*", ".hypothesis", ".*_cache", "__pycache__", "site")


@dataclass(frozen=True)
class Mutant:
    """A change of one line. The line is named by its text and by its occurrence among equal lines."""

    area: str
    path: str
    number: int  # of the line, when the mutant was made
    operator: str
    line: str
    occurrence: int
    mutated: str

    def locate(self, tree: Path) -> tuple[Path, int] | None:
        """The file and the index of the line to change. A file that is gone is searched for elsewhere."""
        if (home := tree / self.path).exists():
            found = _places(home, self.line)
            return found[self.occurrence] if self.occurrence < len(found) else None
        found = [place for file in (tree / "src").rglob("*.py") for place in _places(file, self.line)]
        return found[0] if len(found) == 1 else None

    def apply(self, source: str, index: int) -> str:
        lines = source.splitlines(keepends=True)
        lines[index] = lines[index].replace(self.line, self.mutated)
        return "".join(lines)


def _places(file: Path, line: str) -> list[tuple[Path, int]]:
    return [(file, i) for i, text in enumerate(file.read_text().splitlines()) if text.strip() == line]


def make(tree: Path, count: int, seed: int) -> list[Mutant]:
    """Random mutants: an area gets its share, and within it each line has the same chance."""
    rng = random.Random(seed)
    whole = sum(share for share, _ in AREAS.values())
    made: list[Mutant] = []
    for area, (share, modules) in AREAS.items():
        files = [file for one in modules.split() for file in sorted((tree / "src/bopp").glob(f"{one}.py"))]
        lines = [(file, *found) for file in files for found in sorted(candidates(file.read_text()).items())]
        rng.shuffle(lines)
        made += [_mutant(area, tree, *line, rng) for line in lines[: round(count * share / whole)]]
    return made


def _mutant(area: str, tree: Path, file: Path, number: int, changes: list[Any], rng: random.Random) -> Mutant:
    operator = rng.choice(sorted({name for name, _ in changes}))
    mutated = rng.choice([text for name, text in changes if name == operator])
    lines = [line.strip() for line in file.read_text().splitlines()]
    line = lines[number - 1]
    occurrence = lines[: number - 1].count(line)
    return Mutant(area, str(file.relative_to(tree)), number, operator, line, occurrence, mutated)


def candidates(source: str) -> dict[int, list[tuple[str, str]]]:
    """For each line that can be mutated, the operators and the texts that they make of it."""
    lines = source.splitlines()
    found: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for operator, node, text in _changes(ast.parse(source)):
        if node.lineno == node.end_lineno:
            line = lines[node.lineno - 1].encode()  # columns count bytes
            mutated = line[: node.col_offset] + text.encode() + line[node.end_col_offset :]
            found[node.lineno].append((operator, mutated.decode().strip()))
    return found


def _changes(node: ast.AST) -> Iterator[tuple[str, Any, str]]:
    """What can be changed below a node: the operator, the node to replace, and the text in its place."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.FunctionDef(name="__repr__" | "__str__" | "_repr_html_"):
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.keyword(arg="strict"):  # strict: of zip
            return
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "LOG" | "warnings")))):
            return
        case ast.Expr(value=ast.Call()):
            yield "remove statement", node, "pass"
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return None", node, "return None"
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield "compare", node, _with(node, ops=[*ops[:i], SWAPS[type(op)](), *ops[i + 1 :]])
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPS:
            yield "arithmetic", node, _with(node, op=SWAPS[type(op)]())
        case ast.BoolOp(op=op):
            yield "boolean", node, _with(node, op=SWAPS[type(op)]())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "remove not", node, f"({ast.unparse(operand)})"
        case ast.Constant(value=bool() as value):
            yield "constant", node, str(not value)
        case ast.Constant(value=int() | float() as value) if value + 1 != value:
            yield "constant", node, repr(value + 1)
    tests = getattr(node, "ifs", []) if isinstance(node, ast.comprehension) else [getattr(node, "test", None)]
    for test in tests:
        if test and not isinstance(test, ast.UnaryOp) and not isinstance(node, ast.Assert):
            yield "negate condition", test, f"not ({ast.unparse(test)})"
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in UNREAD:
                yield from _changes(child)


def _with(node: ast.AST, **fields: Any) -> str:
    return ast.unparse(type(node)(**dict(ast.iter_fields(node)) | fields))


class Tests:
    """The tests that execute a line, and how long they take."""

    def __init__(self, coverage: Path, durations: Path) -> None:
        from coverage import CoverageData  # not installed wherever the tests run

        self._data = CoverageData(str(coverage))
        self._data.read()
        self._files = {file.partition("/src/")[2]: file for file in self._data.measured_files()}
        cases = [case.attrib for case in ET.parse(durations).iter("testcase")]
        self._seconds = {
            f"{case['classname'].replace('.', '/')}.py::{case['name']}": float(case["time"]) for case in cases
        }
        self.known = {_test(context) for context in self._data.measured_contexts()} - {""}

    def seconds(self, test: str) -> float:
        return self._seconds.get(test, 1.0)

    def of(self, path: str, source: str, line: int) -> set[str]:
        """Those that execute a line; all that execute the file, for a line that runs on import."""
        file = self._files.get(path.removeprefix("src/"))
        contexts = self._data.contexts_by_lineno(file) if file else {}
        nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
        around = [node for node in nodes if node.lineno <= line <= (node.end_lineno or 0)]
        functions = [node for node in around if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        if not any(function.body[0].lineno <= line for function in functions):
            return {_test(context) for lines in contexts.values() for context in lines} - {""}
        first = max(node.lineno for node in around)
        return {_test(context) for context in contexts.get(line) or contexts.get(first, [])} - {""}

    def choose(self, tests: set[str], path: str, budget: float) -> list[str]:
        """Tests for so many seconds: the fastest first, those in a file named like the module far ahead."""
        package, module = Path(path).parent.name, Path(path).stem
        alike = {f"test_{name}.py" for name in (module, f"{package}_{module}", package)}

        def rank(test: str) -> tuple[float, str]:
            return self.seconds(test) * (0.01 if Path(test.partition("::")[0]).name in alike else 1), test

        chosen: list[str] = []
        for test in sorted(tests, key=rank):
            if self.seconds(test) <= budget:
                chosen.append(test)
                budget -= self.seconds(test)
        return chosen


def _test(context: str) -> str:
    return context.rpartition("|")[0]  # without the phase: setup, run or teardown


class Scratch:
    """A copy of the tree, in which mutants are applied one after the other."""

    def __init__(self, tree: Path, folder: Path, marker: str | None) -> None:
        self.tree = Path(shutil.copytree(tree, folder, ignore=shutil.ignore_patterns(*LEFT_OUT)))
        self._marker = ["-m", marker] if marker else []

    def collect(self, files: set[str]) -> set[str]:
        _, output = self.pytest(["--collect-only", *sorted(files)], 600)
        return {line for line in output.splitlines() if "::" in line}

    def judge(self, mutant: Mutant, tests: Tests, collected: set[str], budget: float) -> dict[str, Any]:
        """What the tests among those collected make of a mutant."""
        if (place := mutant.locate(self.tree)) is None:
            return {"status": "gone"}
        file, index = place
        source = file.read_text()
        path = str(file.relative_to(self.tree))
        covering = tests.of(path, source, index + 1) & collected
        chosen = tests.choose(covering, path, budget)
        if not chosen:
            return {"status": "survived" if covering else "not covered", "tests": 0}
        began = time.monotonic()
        _write(file, mutant.apply(source, index))
        try:
            code, output = self.pytest(["-x", *chosen], 30 + 3 * sum(map(tests.seconds, chosen)))
        finally:
            _write(file, source)
        report = {"tests": len(chosen), "seconds": round(time.monotonic() - began, 1)}
        if code in (0, 5):
            return {"status": "survived", **report}
        failed = "timeout" if code is None else next(iter(_failed(output, chosen)), "before any test")
        return {"status": "killed", "by": failed, **report}

    def broken(self, names: set[str], tests: Tests) -> set[str]:
        """The tests that fail without a mutant."""
        limit = 600 + 3 * sum(map(tests.seconds, names))
        return _failed(self.pytest(sorted(names), limit)[1], names) if names else set()

    def pytest(self, arguments: list[str], limit: float) -> tuple[int | None, str]:
        """The exit code, None after the time limit, and the output."""
        listed, printed = self.tree.with_suffix(".arguments"), self.tree.with_suffix(".output")
        listed.write_text("\n".join(arguments))
        options = ["-p", "no:cacheprovider", "-q", *self._marker]
        command = [sys.executable, "-m", "pytest", *options, f"@{listed}"]
        environment = os.environ | {"PYTHONPATH": str(self.tree / "src"), "PYTHONDONTWRITEBYTECODE": ""}
        limit *= max(1, os.getloadavg()[0] / (os.cpu_count() or 1))  # a busy machine is not a failure
        with printed.open("w") as output:
            process = subprocess.Popen(
                command, cwd=self.tree, env=environment, stdout=output, stderr=output, start_new_session=True
            )
        try:
            code: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
            process.send_signal(signal.SIGINT)  # pytest stops what its fixtures started
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return code, printed.read_text(errors="replace")


def _write(file: Path, source: str) -> None:
    file.write_text(source)
    Path(importlib.util.cache_from_source(file)).unlink(missing_ok=True)  # stale, yet of the same second


def _failed(output: str, names: Iterable[str]) -> set[str]:
    lines = [line.partition(" ")[2] for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return {name for line in lines for name in names if line == name or line.startswith(f"{name} - ")}


def run(mutants: list[Mutant], options: argparse.Namespace) -> None:
    """Judge the mutants that have no result yet."""
    tests = Tests(options.coverage, options.durations)
    with tempfile.TemporaryDirectory(prefix="bopp-mutants-") as folder:
        free: queue.SimpleQueue[Scratch] = queue.SimpleQueue()
        for i in range(options.jobs):
            free.put(scratch := Scratch(options.tree, Path(folder, f"tree{i}"), options.tests_marker))
        collected = scratch.collect({test.partition("::")[0] for test in tests.known})

        def judge(mutant: Mutant) -> dict[str, Any]:
            scratch = free.get()
            try:
                return asdict(mutant) | scratch.judge(mutant, tests, collected, options.budget)
            finally:
                free.put(scratch)

        while mutants:
            with ThreadPoolExecutor(options.jobs) as pool, options.results.open("a") as file:
                waiting = [pool.submit(judge, mutant) for mutant in mutants]
                try:
                    for done in as_completed(waiting):
                        file.write(json.dumps(result := done.result()) + "\n")
                        file.flush()
                        print(result["status"], _described(result), flush=True)
                finally:
                    pool.shutdown(cancel_futures=True)
            results = _read(options.results)
            broken = scratch.broken({result.get("by", "") for result in results} & collected, tests)
            collected -= broken  # and what they killed is judged again, without them
            kept = [result for result in results if result.get("by") not in broken]
            _write_lines(options.results, kept)
            mutants = _left(mutants, kept)


def summarize(results: list[dict[str, Any]]) -> None:
    """Print a table by area, and the mutants that no test noticed."""
    counts = Counter((area, result["status"]) for result in results for area in (result["area"], "all"))
    statuses = ("killed", "survived", "not covered", "gone")
    print(f"| area | {' | '.join(statuses)} | detected |\n|---|{'---:|' * 5}")
    for area in (*AREAS, "all"):
        row = [counts[area, status] for status in statuses]
        print(f"| {area} | {' | '.join(map(str, row))} | {row[0] / max(1, sum(row[:3])):.0%} |")
    for result in results:
        if result["status"] in statuses[1:3]:
            print(f"{result['status']}: {_described(result)}")


def _described(result: dict[str, Any]) -> str:
    return f"{result['path']}:{result['number']}: {result['line']} -> {result['mutated']}"


def _left(mutants: list[Mutant], results: list[dict[str, Any]]) -> list[Mutant]:
    done = {Mutant(**{field.name: result[field.name] for field in fields(Mutant)}) for result in results}
    return [mutant for mutant in mutants if mutant not in done]


def _read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _write_lines(file: Path, records: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(record) + "\n" for record in records))


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--make", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--run", type=Path, metavar="MUTANTS")
    parser.add_argument("--coverage", type=Path, default=Path(".coverage"))
    parser.add_argument("--durations", type=Path, default=Path("junit.xml"))
    parser.add_argument("--results", type=Path, default=Path("results.jsonl"))
    parser.add_argument("--tests-marker", metavar="EXPR", help="instead of the one in pyproject.toml")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests for each mutant")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if not options.make and not options.run:
        parser.error("expected --make or --run, or both")
    if options.make:
        mutants = make(options.tree, options.make, options.seed)
        _write_lines(options.out, [asdict(mutant) for mutant in mutants])
    if options.run:
        made = [Mutant(**record) for record in _read(options.run)]
        if left := _left(made, _read(options.results)):
            run(left, options)
        summarize(_read(options.results))


if __name__ == "__main__":
    main()
