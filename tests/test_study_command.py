import json
import math
import os
import pickle
import shlex
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bopp import Choice, Fixed, Float, Int, open_study
from bopp.errors import CommandError, ConfigError, MissingCommand
from bopp.run.evaluation import evaluate
from bopp.study.command import LONGEST_READ, LONGEST_VARIABLE, Command
from bopp.study.config import load
from bopp.study.printed import LONGEST_REASON, value_in
from support.commands import Bopp

PYTHON = shlex.quote(sys.executable)
WANTED = 'wanted a last line that is one number or {"value": ...}'
ARGUMENTS = "import json, sys; json.dump(sys.argv[1:], open('arguments.json', 'w')); print(1)"
X = {"x": Float(0, 1)}
TEXT = {"x": Choice(["$(touch hacked)", "b"])}

HOSTILE = ["$(id)", "`id`", "'", '"', "it's", " a ", "a\nb", "", "*", "#", "'; touch hacked; '", "\\"]
HOSTILE += ["> hacked", "$HOME", "{name}", "{{", "}", "%s", "ünïcödé ☃", "\x1b[31m", "x" * 10_000]


def python(code: str, *words: str) -> str:
    """The template that runs a line of Python."""
    return " ".join([PYTHON, "-c", shlex.quote(code), *words])


def arguments(folder: Path, template: str, params: dict[str, Any]) -> list[str]:
    """What the program got."""
    assert Command(python(ARGUMENTS, template), folder=folder)(params) == 1
    return json.loads((folder / "arguments.json").read_text())  # type: ignore[no-any-return]


def failure(template: str, params: dict[str, Any] | None = None, shell: bool = False) -> str:
    """The text with which a command failed."""
    with pytest.raises(RuntimeError) as caught:
        Command(template, shell)(params or {})
    return str(caught.value)


@pytest.mark.parametrize("value", HOSTILE)
def test_a_text_is_one_argument_whatever_it_holds(value: str, tmp_path: Path) -> None:
    params = {"name": value, "rate": 0.1, "layers": [1, 2], "on": True}
    got = arguments(tmp_path, "{name} --name={name} '{name}' {params} {rate}", params)
    assert got[:3] == [value, f"--name={value}", value]
    assert json.loads(got[3]) == params
    assert [path.name for path in tmp_path.iterdir()] == ["arguments.json"]


@pytest.mark.parametrize("value", HOSTILE)
def test_a_shell_gets_a_text_in_its_environment(value: str, tmp_path: Path) -> None:
    assert Command('printf %s "$BOPP_PARAM_x" > seen; echo 1', True, tmp_path)({"x": value}) == 1.0
    assert (tmp_path / "seen").read_text() == value
    assert [path.name for path in tmp_path.iterdir()] == ["seen"]


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
@settings(max_examples=200)
def test_any_text_keeps_its_place_among_the_words(text: str) -> None:
    assert Command("a {x} --b={x} c")._words({"x": text}) == ["a", text, f"--b={text}", "c"]


WRITTEN: list[tuple[Any, str]] = [
    (1e-300, "1e-300"),
    (0.1 + 0.2, "0.30000000000000004"),
    (1.0, "1.0"),
    (np.float64(0.1), "0.1"),
]
WRITTEN += [(3, "3"), (np.int64(3), "3"), (10**100, str(10**100)), (True, "true"), (None, "null")]
WRITTEN += [((64, 32), "[64, 32]"), (("a", (1, 2.5)), '["a", [1, 2.5]]'), ("true", "true")]


@pytest.mark.parametrize(("value", "text"), WRITTEN)
def test_values_are_written_in_full(value: Any, text: str, tmp_path: Path) -> None:
    assert arguments(tmp_path, "{x}", {"x": value}) == [text]


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_arrives_exactly(number: float) -> None:
    assert float(Command("run {x}")._words({"x": number})[1]) == number


def test_other_braces_are_kept_as_they_are(tmp_path: Path) -> None:
    got = arguments(tmp_path, """{} '{"a": 1}' '{print $1}' ${HOME} {{y}} {x}""", {"x": 5})
    assert got == ["{}", '{"a": 1}', "{print $1}", "${HOME}", "{{y}}", "5"]


def test_a_parameter_may_be_called_params(tmp_path: Path) -> None:
    assert arguments(tmp_path, "{params} {x}", {"params": 1, "x": 2}) == ["1", "2"]
    with pytest.raises(ConfigError, match=r"\{x\}"):
        Command("run {params}").check({"params": Int(0, 1), "x": Int(0, 1)})


def test_names_may_be_anything_without_braces(tmp_path: Path) -> None:
    params = {"learning rate": 1, "a.b": 2, "a[0]": 3, "a!r": 4, "a:x": 5, "": 6}
    template = "'{learning rate}' {a.b} {a[0]} {a!r} {a:x} {}"
    assert arguments(tmp_path, template, params) == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("", "command"),
        ("  \n", "command"),
        ("run \0 {x}", "command"),
        ("run 'a {x}", "quotation"),
        ("run {x} \\", "escaped"),
        ("run {x} {rate}", r"\{rate\} is no parameter"),
        ("run {x.real}", "no parameter"),
        ("run {x:.3f}", "no parameter"),
        ("run '{ x }'", r"\{x\}"),
        ("run {x", r"\{x\}"),
        ("run", r"\{x\}"),
        ("run $BOPP_PARAM_xy", r"\{x\}.*stdin = true"),
        ("{x}", "program"),
        ("-- {x}", "program"),
    ],
)
def test_a_wrong_template_is_refused(template: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Command(template).check(X)
    with pytest.raises(ConfigError):
        Command(template)({"x": 0.1})


OF_NUMBERS = ["run {x}", "run -x {x}", "run --x {x}", "run --rate={x}", "run {params}", "run $BOPP_PARAM_x"]
OF_NUMBERS += ["bash -c 'run \"$BOPP_PARAMS\"'", "ssh gpu train --rate {x}"]
OF_TEXTS = ["run {x}", "run --x {x}", "run --x={x}", "bash -c 'echo \"$1\"' _ {x}", "python -u train.py {x}"]
OF_TEXTS += ["nice -n 5 ./run {x}", "head -1 {x}", "docker run --rm img python train.py {x}"]


@pytest.mark.parametrize(
    ("template", "parameters"),
    [
        *((template, X) for template in OF_NUMBERS),
        *((template, {"x": Choice([0.5, True, None, -3])}) for template in OF_NUMBERS),
        *((template, TEXT) for template in OF_TEXTS),
    ],
)
def test_a_number_or_a_text_is_taken_as_an_argument(template: str, parameters: Any) -> None:
    Command(template).check(parameters)


INSIDE = ["x{x}", "rate={x}", "-O{x}", "{x}{x}", "bash -c 'echo {x}'", "tmux new-session -d 'train {x}'"]
INSIDE += ["python -c 'print({x})'", "env -S 'bash -c {x}'", "awk 'BEGIN {print {x}}'", "make a={x}"]
INSIDE += ["ssh host 'run {x}'", "--wrap='a {x}'", "'--x y={x}'", "perl -M{x}", "bash -{x}", "'{x} '"]


@pytest.mark.fault(38)
@pytest.mark.parametrize("template", INSIDE)
def test_a_value_within_a_word_is_refused(template: str) -> None:
    for parameters in (X, TEXT):
        with pytest.raises(ConfigError, match="within"):
            Command(f"run {template}").check(parameters)


AS_CODE = ["sh -c {x}", "bash -lc {x}", "bash -c -- {x}", "bash -c -e {x}", "bash -c +x {x}", "perl -e {x}"]
AS_CODE += ["sage -c {x}", "gdb -ex {x}", "matlab -batch {x}", "deno eval {x}", "node --eval {x}"]
AS_CODE += ["node --eval={x}", "fish --command={x}", "cmd /c {x}", "sh -c {params}", "find . -exec {x} ;"]
AS_CODE += ["run.bat {x}", "tools/run.CMD --x={x}", "sudo sh -c {x}", "env A=1 bash -o pipefail -c {x}"]


@pytest.mark.fault(38)
@pytest.mark.parametrize("template", AS_CODE)
def test_a_text_that_may_be_read_as_code_is_refused(template: str, tmp_path: Path) -> None:
    for parameters in (TEXT, {"x": Fixed("reboot")}, {"x": Choice([("a", 1), ("b", 2)])}):
        with pytest.raises(ConfigError, match="code"):
            Command(template).check(parameters)
    with pytest.raises(ConfigError, match="code"):
        Command(template, folder=tmp_path)({"x": "$(touch hacked)"})
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_passes_for_an_option_is_refused() -> None:
    dashed = {"x": Choice(["a", "-rf"])}
    for template in ("run {x}", "run --x {x}"):
        with pytest.raises(ConfigError, match=r"'-rf'.* --x=\{x\}"):
            Command(template).check(dashed)
    for template in ("run --x={x}", "run -- {x}"):
        Command(template).check(dashed)


@pytest.mark.parametrize(
    "template", ["echo {x}", 'echo "{x}"', "a=$(run --x={x})", "echo ${x}", "run {params}"]
)
def test_a_placeholder_in_the_text_of_a_shell_is_refused(template: str) -> None:
    for parameters in (X, TEXT):
        with pytest.raises(ConfigError, match=r'environment.*"\$BOPP_PARAM'):
            Command(template, shell=True).check(parameters)


@pytest.mark.parametrize(
    ("template", "shell", "line"),
    [
        ("sh -c 'echo {x}'", False, "sh -c 'echo \"$BOPP_PARAM_x\"'"),
        ("train 'a b' lr={x} {y}", False, "train 'a b' --x={x} {y}"),
        ("train -o {x} {y}", False, "train -o --x={x} {y}"),
        ('echo "{x}" {y} | cat', True, 'echo "$BOPP_PARAM_x" {y} | cat'),
        ("echo {params} | cat", True, 'echo "$BOPP_PARAMS" | cat'),
    ],
)
def test_an_error_shows_the_line_that_works(template: str, shell: bool, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Command(template, shell).check({"x": TEXT["x"], "y": Float(0, 1)})
    assert f"write: {line}" in str(caught.value)


def test_every_parameter_left_out_is_a_mistake() -> None:
    three = dict.fromkeys("abc", Float(0, 1))
    with pytest.raises(ConfigError, match=r"\{b\}"):
        Command("run {a}").check(three)
    with pytest.raises(ConfigError, match=r'"\$BOPP_PARAM_b"'):
        Command('run "$BOPP_PARAM_a"', shell=True).check(three)
    Command("run", stdin=True).check(three)


def test_a_shell_has_pipes_variables_and_braces(tmp_path: Path) -> None:
    template = 'value=$BOPP_PARAM_x; echo "${value}" | tr 1 2; exec 3>file; echo {} >&3'
    assert Command(template, True, tmp_path)({"x": 101}) == 202.0
    assert (tmp_path / "file").read_text() == "{}\n"


def test_without_a_shell_nothing_is_expanded(tmp_path: Path) -> None:
    got = arguments(tmp_path, "$HOME * '$(id)' ~ > {x}", {"x": 1})
    assert got == ["$HOME", "*", "$(id)", "~", ">", "1"]


def test_it_runs_in_its_folder_without_input(tmp_path: Path) -> None:
    code = "import os, sys; assert sys.stdin.read() == ''; open('here', 'w').close(); print(7)"
    assert Command(python(code), folder=tmp_path)({}) == 7.0
    assert (tmp_path / "here").exists()


def test_a_relative_program_is_found_in_the_folder(tmp_path: Path) -> None:
    script = tmp_path / "run me.sh"
    script.write_text("#!/bin/sh\necho $1\n")
    script.chmod(0o755)
    assert Command("'./run me.sh' {x}", folder=tmp_path)({"x": 4}) == 4.0


def test_it_travels_to_another_process() -> None:
    command = Command("echo {x}", folder=Path("/"))
    assert pickle.loads(pickle.dumps(command)) == command
    assert evaluate(command, {"x": 0.5}) == (0.5, None)


@pytest.mark.parametrize("shell", [False, True])
def test_an_exit_code_is_a_failure_with_the_end_of_its_errors(shell: bool) -> None:
    code = "import sys; print(0.5); print('a\\n\\n  b  \\n\\n', file=sys.stderr); sys.exit(3)"
    assert failure(python(code), shell=shell) == "exit code 3: a\n  b"
    assert failure(python("print('no data'); raise SystemExit(1)"), shell=shell) == "exit code 1: no data"
    with pytest.raises(CommandError, match=r"\Aexit code 3: nothing was printed\Z") as caught:
        Command("sh -c 'exit 3'", shell)({})
    assert caught.value.exit_code == 3
    long = failure(python("raise ValueError('x' * 3000 + ' the end')"), shell=shell)
    assert long.endswith("x the end")
    assert len(long) <= LONGEST_REASON + len("exit code 1: ")


@pytest.mark.parametrize(
    ("number", "name"), [(9, "SIGKILL"), (11, "SIGSEGV"), (15, "SIGTERM"), (40, "signal 40")]
)
def test_a_signal_is_named(number: int, name: str) -> None:
    code = f"import os; print(5, flush=True); os.write(2, b'x'); os.kill(os.getpid(), {number})"
    assert failure(python(code)) == f"killed by {name}: x"


def test_a_program_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    text = failure("no-such-program --x")
    assert [
        word for word in ("'no-such-program'", repr(str(Path.cwd())), "No such file") if word not in text
    ] == []
    (tmp_path / "text").write_text("echo 1")
    with pytest.raises(MissingCommand, match="Permission denied"):
        Command("./text", folder=tmp_path)({})
    (tmp_path / "text").chmod(0o755)
    with pytest.raises(MissingCommand, match="Exec format"):
        Command("./text", folder=tmp_path)({})
    with pytest.raises(MissingCommand, match="No such file"):
        Command("echo 1", folder=tmp_path / "gone")({})
    assert "no-such-program" in failure("no-such-program", shell=True)


def test_a_value_that_no_argument_can_hold_fails_its_trial_and_not_the_run() -> None:
    for value in ("a\0b", "\ud800", "x" * 10_000_000):
        with pytest.raises(CommandError, match="cannot start") as caught:
            Command("echo {x}")({"x": value})
        assert not isinstance(caught.value, MissingCommand)


def test_only_the_end_of_a_huge_output_is_read() -> None:
    flood = (
        "import sys; [sys.{0}.write('9.5 ' * 250_000 + '\\n') for _ in range(30)]; print({1}, file=sys.{0})"
    )
    assert Command(python(flood.format("stdout", "0.25")))({}) == 0.25
    text = failure(python(flood.format("stderr", "'the end'") + "; sys.exit(1)"))
    assert text.endswith("the end")
    assert len(text) < 2 * LONGEST_REASON


def test_what_is_before_the_end_is_not_read_and_no_number_is_cut() -> None:
    lines = f"print('{{\"value\": 1}}'); print('x ' * {LONGEST_READ})"
    assert failure(python(lines)).startswith(WANTED)
    cut = f"print('12345' + ' ' * {LONGEST_READ - 3})"
    assert failure(python(cut)) == f"{WANTED}, got '...45'"
    begun = f"print('loss: 0.25' + ' ' * {LONGEST_READ - 5})"
    assert failure(python(begun)) == f"{WANTED}, got '...0.25'"
    kept = f"print('12345' + ' ' * {LONGEST_READ - 10})"
    assert Command(python(kept))({}) == 12345.0


def test_a_child_left_behind_holds_nothing_up() -> None:
    began = time.monotonic()
    assert Command("sleep 5 & echo 3", shell=True)({}) == 3.0
    assert time.monotonic() - began < 4.0


def test_binary_output_is_no_obstacle() -> None:
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 10 + b'\\xff\\xfe\\n0.5\\n')"
    assert Command(python(code))({}) == 0.5
    wrong = "import sys; sys.stderr.buffer.write(b'bad\\x00\\xff\\x1b[31m end'); sys.exit(1)"
    text = failure(python(wrong))
    assert text.startswith("exit code 1: bad")
    assert text.endswith(" end")
    assert "\0" not in text
    assert "\x1b" not in text
    text.encode()


PRINTED = {".5": 0.5, "5.": 5.0, "+1.e-3": 1e-3, "-1.5E10": -1.5e10, "007": 7.0, "1_000": 1000.0}
PRINTED |= {"\u22120.25": -0.25, "1e400": math.inf, "1" * 400: math.inf, "-Infinity": -math.inf}
PRINTED |= {"  0.25\t": 0.25, "\x1b[32m0.25\x1b[0m": 0.25, "50%\r100%\r0.25\r\n": 0.25, "0.25\n\n  \n": 0.25}
PRINTED |= {"1\n2\n3\n": 3.0, "epoch 10/10 loss=0.5\n0.25": 0.25, '{"epoch": 10, "loss": 0.5}\n0.25': 0.25}
PRINTED |= {'{"level": "info", "error": "tried again"}\n0.25': 0.25}


@pytest.mark.parametrize(("text", "value"), PRINTED.items())
def test_a_last_line_that_is_a_number_is_the_value(text: str, value: float) -> None:
    assert value_in(text) == value


NO_NUMBER = ["loss: 0.25", "0.25 0.5", "0.25.", "93.5%", "(0.25)", "'0.25'", "1,234.5", "0,25", "1.2.3"]
NO_NUMBER += ["2026-01-31", "0x1F", "- 1", "done", ".", "{}", '{"model": "b", "tuned": true, "seed": null}']
NO_NUMBER += ['{"error": " "}', "{'value': 0.5}", '{"value": 0.5', '["value", 0.5]', '{"a":' * 50]


@pytest.mark.parametrize("text", NO_NUMBER)
@pytest.mark.parametrize("before", ["", "loss 0.5\n[0.5]\n0.5\n"])
def test_a_last_line_that_is_anything_else_is_refused_and_shown(text: str, before: str) -> None:
    with pytest.raises(CommandError) as caught:
        value_in(f"{before}{text}\n\n")
    assert str(caught.value) == f"{WANTED}, got {text!r}"


@pytest.mark.parametrize(
    "text", ["1" * 300_000 + "x", "1," * 300_000, '{"value": ' + "1" * 5000 + "}", " \r\n\t"]
)
def test_a_long_last_line_is_shown_by_its_end_and_none_as_nothing(text: str) -> None:
    with pytest.raises(CommandError) as caught:
        value_in(text)
    assert str(caught.value) == f"{WANTED}, got {repr(text[-LONGEST_REASON:]) if text.strip() else 'nothing'}"


@given(number=st.floats())
def test_any_float_is_read_as_it_was_printed(number: float) -> None:
    for text in (f"{number}", f"epoch 3\n{number!r}\n"):
        assert value_in(text) == pytest.approx(number, rel=0, abs=0, nan_ok=True)
    found = value_in(json.dumps({"value": number}))
    assert isinstance(found, dict)
    assert found["value"] == pytest.approx(number, rel=0, abs=0, nan_ok=True)


@given(text=st.text() | st.text(alphabet='0159.,:-+eEnaif/% x\n{}"'))
def test_any_text_has_a_value_or_none(text: str) -> None:
    with suppress(CommandError):
        assert isinstance(value_in(text), float | dict)


OF_VALUE = ["", '{"loss": 2}', "99\ntotal 5.5", '{"error": "no upload"}', '{"value": 2', '[2]\n"value"']
OF_VALUE += ['INFO {"value": 2}', '{"a":' * 100_000]
OBJECTS = ['{"value": 3, "epochs": 10}', '{"value": 0.25, "error": "none"}', '{"value": -Infinity}']
OBJECTS += ['{"value": 1, "text": "a\u2028b\u22121"}', json.dumps({"value": 10**400}), '{"loss": 3}']
OBJECTS += [
    '{"error": 0.1, "latency": 12.5}',
    '{"loss": 0.5, "error": "none"}',
    '{"value": null, "loss": 0.5}',
]
OBJECTS += ['{"error": null, "latency": 12.5}', '{"a": 1, "b": {"c": [1, "x"]}, "": ""}']
OBJECTS += ['{"a": Infinity, "b": null, "c": true}']


@pytest.mark.parametrize("after", OF_VALUE)
def test_the_last_line_of_json_with_a_value_counts(after: str) -> None:
    assert value_in(f'{{"value": 0}}\n {{"value": 1}} \n{after}') == {"value": 1}


@pytest.mark.parametrize("text", OBJECTS)
def test_an_object_with_a_number_is_a_dict(text: str) -> None:
    for after in ("", "\nbye", '\n{"model": "b"}\nbye'):
        assert value_in(f'{{"error": 0.1}}\n{text}{after}') == json.loads(text)
    assert Command("echo {text}")({"text": text}) == json.loads(text)


FAILED = {
    "diverged": [
        '{"value": null, "error": "diverged", "seconds": 3.1}',
        '{"error": "diverged", "seed": null, "tuned": true}',
        '{"loss": 0.5}\n{"error": "diverged"}\nbye',
    ],
    "a\N{REPLACEMENT CHARACTER}b": ['{"value": null, "error": "a\\u0000b"}'],
    "null as value": ['{"value": null}', '{"value": null, "error": null}', '{"value": null, "error": ""}'],
    "3": ['0.5\n{"value": null, "error": 3}'],
    "null as loss, seconds": ['{"loss": 0.5, "seconds": 3}\n{"loss": null, "seconds": null}'],
    'number or null as "value", got "0.5"': ['{"value": "0.5"}'],
    'number or null as "value", got true': ['{"value": true}'],
    'number or null as "value", got [0.5]': ['{"value": [0.5]}'],
}


@pytest.mark.parametrize(("problem", "text"), [(why, text) for why in FAILED for text in FAILED[why]])
def test_a_value_that_is_no_number_is_a_failure(problem: str, text: str) -> None:
    with pytest.raises(CommandError) as caught:
        value_in(text)
    assert str(caught.value).endswith(problem)


def test_a_long_reason_is_cut() -> None:
    with pytest.raises(RuntimeError) as caught:
        value_in(json.dumps({"value": None, "error": "x" * 10_000 + "end"}))
    assert str(caught.value) == "x" * (LONGEST_REASON - 3) + "end"


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    Command("echo 1")({})
    failure("no-such-program")
    assert not list(tmp_path.iterdir())


def test_a_parameter_that_does_not_apply_is_left_out_with_its_option(tmp_path: Path) -> None:
    template = python(ARGUMENTS, "run --momentum {m} --beta={b} {params} -v {x}")
    command = Command(template, folder=tmp_path, optional=("m", "b"))
    command({"x": 1, "m": 0.5})
    assert json.loads((tmp_path / "arguments.json").read_text()) == [
        *("run", "--momentum", "0.5", '{"x": 1, "m": 0.5}', "-v", "1")
    ]
    command({"x": 1, "b": 2})
    assert json.loads((tmp_path / "arguments.json").read_text()) == [
        *("run", "--beta=2", '{"x": 1, "b": 2}', "-v", "1")
    ]
    with pytest.raises(ConfigError, match=r"{m} is no parameter"):
        Command(template, folder=tmp_path)({"x": 1, "b": 2})


def shown(folder: Path, params: Mapping[str, object], template: str, stdin: bool = False) -> dict[str, str]:
    """The environment and the input that a program got."""
    (folder / "look.py").write_text(
        "import json, os, sys\n"
        "found = {name: text for name, text in os.environ.items() if name.startswith('BOPP')}\n"
        "json.dump(found | {'stdin': sys.stdin.read()}, open('seen.json', 'w'))\n"
        "print(1)\n"
    )
    assert Command(f"{PYTHON} look.py {template}", folder=folder, stdin=stdin)(dict(params)) == 1.0
    return json.loads((folder / "seen.json").read_text())  # type: ignore[no-any-return]


def test_the_environment_has_the_params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOPP_PARAM_GONE", "of an outer run")
    params = {"x": 0.1, "kind": "$(id) ü", "a b": 3, "on": True, "shape": (1, 2)}
    seen = shown(tmp_path, params, "{params}")
    assert json.loads(seen.pop("BOPP_PARAMS")) == {**params, "shape": [1, 2]}
    assert seen == {
        "BOPP_PARAM_x": "0.1",
        "BOPP_PARAM_kind": "$(id) ü",
        "BOPP_PARAM_on": "true",
        "BOPP_PARAM_shape": "[1, 2]",
        "stdin": "",
    }
    assert os.environ["BOPP_PARAM_GONE"] == "of an outer run"


def test_standard_input_has_the_params_where_it_is_asked_for(tmp_path: Path) -> None:
    params = {"x": 0.1, "kind": "\0 \ud800 " + "long" * 100_000}
    seen = shown(tmp_path, params, "", stdin=True)
    assert json.loads(seen["stdin"]) == params
    assert "BOPP_PARAMS" not in seen  # too long for it
    assert "BOPP_PARAM_kind" not in seen
    assert seen["BOPP_PARAM_x"] == "0.1"


def test_a_parameter_that_does_not_apply_has_no_variable() -> None:
    command = Command("echo 1${BOPP_PARAM_x}${BOPP_PARAM_m-7}", shell=True, optional=("m",))
    assert command({"x": 5}) == 157.0


def test_ten_thousand_letters_fit_into_the_environment(tmp_path: Path) -> None:
    params = {"x": "ü" * 10_000}
    seen = shown(tmp_path, params, "", stdin=True)
    assert json.loads(seen["BOPP_PARAMS"]) == params
    assert seen["BOPP_PARAM_x"] == params["x"]
    assert "BOPP_PARAM_x" not in shown(tmp_path, {"x": "a" * (LONGEST_VARIABLE + 1)}, "", stdin=True)


STUDY = """\
[study]
name = "s"
budget = 3
recipe = "random"
[objective]
command = '{command}'
{more}
[space]
x = {{ type = "float", low = 0, high = 1 }}
"""


def test_a_study_file_asks_for_standard_input(
    bopp: Bopp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import json, sys\nprint(json.load(sys.stdin)['x'])\n")
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(command=f"{sys.executable} train.py", more=""))
    with pytest.raises(ConfigError, match="stdin = true"):
        load(path)
    path.write_text(STUDY.format(command=f"{sys.executable} train.py", more="stdin = true"))
    assert bopp("run").code == 0
    with open_study(load(path).store, "s", read_only=True) as study:
        assert [trial.value for trial in study.trials] == [trial.params["x"] for trial in study.trials]
    path.write_text(STUDY.replace("command = '{command}'", "python = 'a:b'").format(more="stdin = true"))
    with pytest.raises(ConfigError, match=r"\[objective\] stdin: wanted it with a command only"):
        load(path)


@pytest.mark.fault(38)
def test_an_option_in_a_database_runs_nothing_at_a_worker(
    bopp: Bopp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path}/a.db"
    hostile = ["$(touch hacked)", "'; touch hacked; '", "`touch hacked`"]
    open_study(url, "s", {"x": Choice(hostile), "y": Float(0, 1)}).close()
    for words in (("sh -c 'echo {x} {y}'",), ("sh -c {x} {y}",), ("echo {x} {y}", "--shell"), ("{x} {y}",)):
        ended = bopp("worker", url, "s", "--budget", 3, "--command", *words)
        assert (ended.code, "{x}" in ended.err) == (2, True)
    for budget, words in (
        (3, ("sh -c 'echo \"$1\" >> seen; echo 1' _ {x} {y}",)),
        (6, ("sh -c 'cat >> seen; echo 1'", "--stdin")),
        (9, ('echo "$BOPP_PARAMS" >> seen; echo 1', "--shell")),
    ):
        assert bopp("worker", url, "s", "--budget", budget, "--command", *words).code == 0
    assert not (tmp_path / "hacked").exists()
    seen = (tmp_path / "seen").read_text()
    assert sum(map(seen.count, hostile)) == 9
    assert bopp("worker", url, "s", "--python", "a:b", "--stdin").code == 2
