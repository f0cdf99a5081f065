import json
import math
import pickle
import shlex
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bopp.errors import CommandError, ConfigError
from bopp.run.evaluation import evaluate
from bopp.study.command import LONGEST_READ, Command
from bopp.study.printed import LONGEST_REASON, value_in

PYTHON = shlex.quote(sys.executable)
WANTED = 'wanted a last line that is one number or {"value": ...}'
ARGUMENTS = "import json, sys; json.dump(sys.argv[1:], open('arguments.json', 'w')); print(1)"

HOSTILE = [
    "; rm -rf /",
    "$(id)",
    "`id`",
    "'",
    '"',
    "''",
    "it's",
    "a b",
    " a ",
    "a\nb",
    "\n",
    "a\tb",
    "",
    "-rf",
    "*",
    "~",
    "?",
    "#",
    "&& touch hacked",
    "|touch hacked",
    "> hacked",
    "'; touch hacked; '",
    '"; touch hacked; "',
    "\\",
    "\\'; touch hacked; \\'",
    "$HOME",
    "${HOME}",
    "{name}",
    "{{",
    "}",
    "%s",
    "ünïcödé ☃",
    "\x1b[31m",
    "x" * 10_000,
]


def python(code: str, *words: str) -> str:
    """The template that runs a line of Python; its braces are literal."""
    escaped = code.replace("{", "{{").replace("}", "}}")
    return " ".join([PYTHON, "-c", shlex.quote(escaped), *words])


def arguments(folder: Path, template: str, params: dict[str, Any], shell: bool = False) -> list[str]:
    """What the program got."""
    assert Command(python(ARGUMENTS, template), shell, folder)(params) == 1
    return json.loads((folder / "arguments.json").read_text())  # type: ignore[no-any-return]


def failure(template: str, params: dict[str, Any] | None = None, shell: bool = False) -> str:
    """The text with which a command failed."""
    with pytest.raises(RuntimeError) as caught:
        Command(template, shell)(params or {})
    return str(caught.value)


@pytest.mark.parametrize("shell", [False, True])
@pytest.mark.parametrize("value", HOSTILE)
def test_a_text_is_one_argument_whatever_it_holds(value: str, shell: bool, tmp_path: Path) -> None:
    got = arguments(tmp_path, "{name} --name={name} x{name}y", {"name": value}, shell)
    assert got == [value, f"--name={value}", f"x{value}y"]
    assert [path.name for path in tmp_path.iterdir()] == ["arguments.json"]


@pytest.mark.parametrize("value", HOSTILE)
def test_quotes_around_a_placeholder_do_no_harm_without_a_shell(value: str, tmp_path: Path) -> None:
    assert arguments(tmp_path, "\"{name}\" '{name}'", {"name": value}) == [value, value]


@pytest.mark.parametrize("shell", [False, True])
@pytest.mark.parametrize("value", HOSTILE)
def test_all_params_are_one_argument_of_json(value: str, shell: bool, tmp_path: Path) -> None:
    params = {"name": value, "rate": 0.1, "layers": [1, 2], "on": True}
    (got,) = arguments(tmp_path, "{params}", params, shell)
    assert json.loads(got) == params


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
@settings(max_examples=200)
def test_any_text_keeps_its_place_among_the_words(text: str) -> None:
    command = Command("a {x} b{x}", shell=False)
    assert command._words({"x": text}) == ["a", text, f"b{text}"]
    sh, option, line, *parameters = Command("a {x} b{x}", shell=True)._words({"x": text})
    kept = "_bopp_1=${1} _bopp_2=${2}; "
    assert (sh, option, line) == ("/bin/sh", "-c", kept + 'a "${_bopp_2}" b"${_bopp_2}"')
    assert parameters == ["sh", json.dumps({"x": text}), text]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (1e-300, "1e-300"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1.0, "1.0"),
        (np.float64(0.1), "0.1"),
        (3, "3"),
        (np.int64(3), "3"),
        (10**100, str(10**100)),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        ((64, 32), "[64, 32]"),
        (("a", (1, 2.5)), '["a", [1, 2.5]]'),
        ("true", "true"),
    ],
)
def test_values_are_written_in_full(value: Any, text: str, tmp_path: Path) -> None:
    assert arguments(tmp_path, "{x}", {"x": value}) == [text]


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_arrives_exactly(number: float) -> None:
    assert float(Command("{x}")._words({"x": number})[0]) == number


@pytest.mark.parametrize("shell", [False, True])
def test_doubled_braces_are_braces(shell: bool, tmp_path: Path) -> None:
    got = arguments(tmp_path, "'{{}}' '{{x}}' '{{'{x}'}}' {x}'}}'", {"x": 5}, shell)
    assert got == ["{}", "{x}", "{5}", "5}"]


def test_a_parameter_may_be_called_params(tmp_path: Path) -> None:
    assert arguments(tmp_path, "{params} {x}", {"params": 1, "x": 2}) == ["1", "2"]
    with pytest.raises(ConfigError, match=r"wanted \{x\} in it"):
        Command("run {params}").check(["params", "x"])


def test_names_may_be_anything_without_braces(tmp_path: Path) -> None:
    params = {"learning rate": 1, "a.b": 2, "a[0]": 3, "a!r": 4, "a:x": 5, "": 6}
    template = "'{learning rate}' {a.b} {a[0]} {a!r} {a:x} {}"
    assert arguments(tmp_path, template, params) == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("", r"wanted a command, got ''"),
        ("  \n", "wanted a command, got"),
        ("run \0 {lr}", "wanted a command, got"),
        ("run 'x {lr}", r"cannot be split into words: No closing quotation"),
        ("run {lr} \\", r"cannot be split into words: No escaped character"),
        ("run {lr} {rate}", r"\{rate\} is no parameter; there are lr, and \{params\}"),
        ("run {lr.real}", r"\{lr.real\} is no parameter"),
        ("run {lr[0]}", r"\{lr\[0\]\} is no parameter"),
        ("run {lr!r}", r"\{lr!r\} is no parameter"),
        ("run {lr:.3f}", r"\{lr:.3f\} is no parameter"),
        ("run {lr.__class__}", "is no parameter"),
        ("run { lr }", "a lone '{' in '{'"),
        ("run '{ lr }'", r"\{ lr \} is no parameter"),
        ("run {}", r"\{\} is no parameter"),
        ("run {lr", "a lone '{' in '{lr'"),
        ("run lr}", "a lone '}' in 'lr}': wanted {name}, or }} for a brace"),
        ("run {{lr}}", r"wanted \{lr\} in it, or \{params\} for all as JSON, got 'run \{\{lr\}\}'"),
        ("run", r"wanted \{lr\} in it"),
    ],
)
def test_a_wrong_template_is_refused(template: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem.replace("'{'", r"'\{'") if "lone" in problem else problem):
        Command(template).check(["lr"])
    with pytest.raises(ConfigError):
        Command(template)({"lr": 0.1})


@pytest.mark.parametrize(
    "template", ["run {a} {b}", "run --x={a}{b}", "run {params}", "run '{a} {b}' {params}"]
)
def test_a_right_template_is_taken(template: str) -> None:
    Command(template).check(["a", "b"])


def test_every_parameter_left_out_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match=r"wanted \{b\} in it"):
        Command("run {a}").check(["a", "b", "c"])


WITHIN_QUOTES = [
    '"{x}"',
    "'{x}'",
    "\\{x}",
    "${x}",
    '"$(echo {x})"',
    '"it\'s" "{x}"',
    "'\"' '{x}'",
    "\\' '{x}'",
    "'\\' \"{x}\"",
    "'unclosed {x}",
    '"unclosed {x}',
    '{x} "{x}"',
]


@pytest.mark.parametrize("template", WITHIN_QUOTES)
def test_a_shell_gets_no_value_within_quotes(template: str) -> None:
    with pytest.raises(ConfigError, match=r"\{x\} is within quotes"):
        Command(f"echo {template}", shell=True).check(["x"])


ANYWHERE = [
    "echo {x}",
    "echo `echo {x}`",
    "echo $(echo {x})",
    'echo "$(echo ")" "" {x} "")"',
    "true # {x}",
    "true # it's\n echo '{x}'",
    "true;#{x}",
    "cat <<END\n{x}\nEND",
    "cat <<END\n'\nEND\necho {x}",
    'echo "${{HOME:-""}}"{x}',
    "x={x}; echo $x",
]


@pytest.mark.parametrize("template", ANYWHERE)
@pytest.mark.parametrize("value", ["$(touch hacked)", "`touch hacked`", "; touch hacked", "';touch hacked;'"])
def test_a_shell_never_runs_a_value(template: str, value: str, tmp_path: Path) -> None:
    with suppress(RuntimeError, ConfigError):  # no number in the output, as it should be
        Command(template, True, tmp_path)({"x": value})
    assert list(tmp_path.iterdir()) == []


def test_a_name_with_a_quote_confuses_nobody() -> None:
    with pytest.raises(ConfigError, match=r"\{x\} is within quotes"):
        Command("echo {a'b} \"' {x}\"", shell=True).check(["a'b", "x"])


SAFE = [
    "{x}",
    '"--name="{x}',
    "'it'{x}'s'",
    "$(printf %s {x})",
    '"$HOME" {x}',
    '"${{HOME}}" {x}',
    "${{HOME}} {x}",
    "$# {x}",
    "a#b {x}",
    "{x} # it's a comment",
    '\\"{x}\\"',
    "\\\\{x}",
    "\\${{HOME}} {x}",
    "$(echo $(printf %s {x}))",
]


@pytest.mark.parametrize("template", SAFE)
@pytest.mark.parametrize(
    "value", ["$(touch hacked)", "`touch hacked`", "'; touch hacked; '", "\\'; touch hacked"]
)
def test_a_shell_gets_values_elsewhere(template: str, value: str, tmp_path: Path) -> None:
    Command(f"exec 3>&1 >out\nprintf %s {template}\necho 1 >&3", True, tmp_path)({"x": value})
    assert "".join(value.split()) in "".join((tmp_path / "out").read_text().split())
    assert not (tmp_path / "hacked").exists()


def test_a_shell_has_pipes_and_variables(tmp_path: Path) -> None:
    template = 'value={x}; echo "$value" | tr 1 2; exec 3>file; echo {{}} >&3'
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
    command = Command("echo {x}", shell=True, folder=Path("/"))
    assert pickle.loads(pickle.dumps(command)) == command
    assert evaluate(command, {"x": 0.5}) == (0.5, None)


@pytest.mark.parametrize("shell", [False, True])
def test_an_exit_code_is_a_failure_with_the_end_of_its_errors(shell: bool) -> None:
    code = "import sys; print(0.5); print('a\\n\\n  b  \\n\\n', file=sys.stderr); sys.exit(3)"
    assert failure(python(code), shell=shell) == "exit code 3: a\n  b"


def test_a_traceback_is_cut_at_its_beginning() -> None:
    text = failure(python("raise ValueError('x' * 300 + ' the end')"))
    assert text.startswith("exit code 1: ")
    assert text.endswith("x the end")
    long = failure(python("raise ValueError('x' * 3000 + ' the end')"))
    assert long.endswith("x the end")
    assert len(long) <= LONGEST_REASON + len("exit code 1: ")


def test_without_errors_the_output_or_nothing_is_the_reason() -> None:
    assert failure(python("print('no data'); raise SystemExit(1)")) == "exit code 1: no data"
    assert failure("sh -c 'exit 1'") == "exit code 1: nothing was printed"


@pytest.mark.parametrize(
    ("number", "name"), [(9, "SIGKILL"), (11, "SIGSEGV"), (15, "SIGTERM"), (40, "signal 40")]
)
def test_a_signal_is_named(number: int, name: str) -> None:
    code = f"import os; print(5, flush=True); os.write(2, b'x'); os.kill(os.getpid(), {number})"
    assert failure(python(code)) == f"killed by {name}: x"


def test_a_program_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    assert failure("no-such-program --x") == (
        f"cannot start 'no-such-program' in {str(Path.cwd())!r}: No such file or directory"
    )
    (tmp_path / "text").write_text("echo 1")
    with pytest.raises(RuntimeError, match=r"cannot start './text'.*: Permission denied"):
        Command("./text", folder=tmp_path)({})
    (tmp_path / "text").chmod(0o755)
    with pytest.raises(RuntimeError, match=r"cannot start './text'.*: Exec format error"):
        Command("./text", folder=tmp_path)({})
    with pytest.raises(RuntimeError, match="No such file or directory"):
        Command("echo 1", folder=tmp_path / "gone")({})
    assert "no-such-program" in failure("no-such-program", shell=True)


@pytest.mark.parametrize("shell", [False, True])
def test_values_that_no_argument_can_hold_are_failures(shell: bool) -> None:
    assert "null byte" in failure("echo {x}", {"x": "a\0b"}, shell)
    assert "Argument list too long" in failure("echo {x}", {"x": "x" * 10_000_000}, shell)
    assert "cannot start" in failure("echo {x}", {"x": "\ud800"}, shell)
    assert "cannot start ''" in failure("{x}", {"x": ""})


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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("0.25", 0.25),
        ("-0.25", -0.25),
        ("+0.25", 0.25),
        ("\u22120.25", -0.25),
        (".5", 0.5),
        ("-.5", -0.5),
        ("5.", 5.0),
        ("1e-3", 1e-3),
        ("1E+3", 1e3),
        ("-1.5e-10", -1.5e-10),
        ("1.e5", 1e5),
        ("007", 7.0),
        ("1" * 400, math.inf),
        ("1e400", math.inf),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
        ("INF", math.inf),
        ("1_000", 1000.0),
        ("  0.25\t", 0.25),
        ("\x1b[32m0.25\x1b[0m", 0.25),
        ("50%\r100%\r0.25\r\n", 0.25),
        ("0.25\n\n  \n", 0.25),
        ("1\n2\n3\n", 3.0),
        ("epoch 10/10 loss=0.5\n0.25", 0.25),
        ("Traceback of a warning\n-0.25\n", -0.25),
        ('{"epoch": 10, "loss": 0.5}\n0.25', 0.25),
        ('{"level": "info", "error": "tried again"}\n0.25', 0.25),
    ],
)
def test_a_last_line_that_is_a_number_is_the_value(text: str, value: float) -> None:
    assert value_in(text) == value


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "0.25\nnan"])
def test_nan_is_a_number_too(text: str) -> None:
    found = value_in(text)
    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.parametrize(
    "text",
    [
        "epoch 10/10 loss=0.25",
        "loss: 0.25",
        "0.25 0.5",
        "0.25.",
        "93.5%",
        "(0.25)",
        "[0.25]",
        "'0.25'",
        "1,234.5",
        "0,25",
        "1.2.3",
        "3/10",
        "12:30:45",
        "2026-01-31",
        "0x1F",
        "- 1",
        "done",
        ".",
        "{}",
        '{"model": "b", "tuned": true, "seed": null}',
        '{"error": " "}',
        "{'value': 0.5}",
        '{"value": 0.5',
        '["value", 0.5]',
        '{"a":' * 50,
    ],
)
@pytest.mark.parametrize("before", ["", "0.5\n", "loss 0.5\n[0.5]\n"])
def test_a_last_line_that_is_anything_else_is_refused_and_shown(text: str, before: str) -> None:
    with pytest.raises(CommandError) as caught:
        value_in(f"{before}{text}\n\n")
    assert str(caught.value) == f"{WANTED}, got {text!r}"


@pytest.mark.parametrize(
    "text", ["1" * 300_000 + "x", "-" * 100_000, "1," * 300_000, '{"value": ' + "1" * 5000 + "}"]
)
def test_a_long_last_line_is_shown_by_its_end(text: str) -> None:
    with pytest.raises(CommandError) as caught:
        value_in(text)
    assert str(caught.value) == f"{WANTED}, got {text[-LONGEST_REASON:]!r}"


@pytest.mark.parametrize("text", ["", "\n", " \r\n\t"])
def test_no_output_is_named(text: str) -> None:
    with pytest.raises(CommandError) as caught:
        value_in(text)
    assert str(caught.value) == f"{WANTED}, got nothing"


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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"value": 0.25}', {"value": 0.25}),
        ('  {"value": 3, "epochs": 10}  ', {"value": 3, "epochs": 10}),
        ('{"value": 1}\n{"value": 2}\n', {"value": 2}),
        ('{"value": 1}\n99', {"value": 1}),
        ('{"value": 1}\n99\ntotal 5.5', {"value": 1}),
        ('{"value": 1}\n{"loss": 2}', {"value": 1}),
        ('{"value": 1}\n{"error": "no upload"}', {"value": 1}),
        ('{"value": 1}\n{"value": 2', {"value": 1}),
        ('{"value": 1}\n[2]\n"value"', {"value": 1}),
        ('{"value": 1}\nINFO {"value": 2}', {"value": 1}),
        ('{"value": 0.25, "error": "none"}', {"value": 0.25, "error": "none"}),
        ('{"value": -Infinity}', {"value": -math.inf}),
        ('{"value": 1e999}', {"value": math.inf}),
        (json.dumps({"value": 10**400}), {"value": 10**400}),
        ('{"value": 1, "text": "a\u2028b\u22121"}', {"value": 1, "text": "a\u2028b\u22121"}),
        ('{"value": 1}\n' + '{"a":' * 100_000, {"value": 1}),
    ],
)
def test_the_last_line_of_json_with_a_value_counts(text: str, found: dict[str, Any]) -> None:
    assert value_in(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"error": 0.1, "latency": 12.5}', {"error": 0.1, "latency": 12.5}),
        ('{"error": 0.1}\n{"error": 0.2}\nbye', {"error": 0.2}),
        ('{"error": 0.1}\n{"model": "b"}\nbye', {"error": 0.1}),
        ('{"loss": 0.5, "error": "none"}', {"loss": 0.5, "error": "none"}),
        ('{"a": Infinity, "b": null, "c": true}', {"a": math.inf, "b": None, "c": True}),
        ('{"value": null, "loss": 0.5}', {"value": None, "loss": 0.5}),
        ('{"error": null, "latency": 12.5}', {"error": None, "latency": 12.5}),
        ('{"a": 1, "b": {"c": [1, "x"]}, "": ""}', {"a": 1, "b": {"c": [1, "x"]}, "": ""}),
    ],
)
def test_without_a_value_the_last_line_of_json_with_a_number_counts(text: str, found: dict[str, Any]) -> None:
    assert value_in(text) == found


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("0.25", 0.25),
        ('{"value": 3}', {"value": 3}),
        (json.dumps({"value": 10**400}), {"value": 10**400}),
        ('{"loss": 3}', {"loss": 3}),
        ('{"value": 0.25, "seconds": 3.1, "fold": "b"}', {"value": 0.25, "seconds": 3.1, "fold": "b"}),
    ],
)
def test_a_number_alone_is_one_and_an_object_is_a_dict(text: str, result: Any) -> None:
    found = Command("echo {text}")({"text": text})
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"value": null, "error": "diverged"}', "diverged"),
        ('{"value": null, "error": "a\\u0000b"}', "a\N{REPLACEMENT CHARACTER}b"),
        ('{"value": null}', "the command gave null as value"),
        ('{"value": null, "error": null}', "the command gave null as value"),
        ('{"value": null, "error": ""}', "the command gave null as value"),
        ('0.5\n{"value": null, "error": 3}', "3"),
        ('{"value": null, "error": "diverged", "seconds": 3.1}', "diverged"),
        ('{"loss": null, "seconds": null}', "the command gave null as loss, seconds"),
        (
            '{"loss": 0.5, "seconds": 3}\n{"loss": null, "seconds": null}',
            "the command gave null as loss, seconds",
        ),
        ('{"error": "diverged"}', "diverged"),
        ('{"error": "diverged", "seed": null, "tuned": true}', "diverged"),
        ('{"error": "diverged"}\nbye', "diverged"),
        ('{"loss": 0.5}\n{"error": "diverged"}', "diverged"),
        ('{"value": "0.5"}', 'wanted a number or null as "value", got "0.5"'),
        ('{"value": true}', 'wanted a number or null as "value", got true'),
        ('{"value": [0.5]}', 'wanted a number or null as "value", got [0.5]'),
        ('{"value": {"a": 1}}', 'wanted a number or null as "value", got {"a": 1}'),
    ],
)
def test_a_value_that_is_no_number_is_a_failure(text: str, problem: str) -> None:
    with pytest.raises(CommandError) as caught:
        value_in(text)
    assert str(caught.value) == problem


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
    template = f"{PYTHON} -c {shlex.quote(ARGUMENTS)} run --momentum {{m}} --beta={{b}} {{params}} -v {{x}}"
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


def test_a_shell_gets_an_empty_text_for_what_does_not_apply(tmp_path: Path) -> None:
    command = Command("echo {m}x{x} >&2; echo 1{x}{m}", shell=True, folder=tmp_path, optional=("m",))
    assert command({"x": 5}) == 15.0
