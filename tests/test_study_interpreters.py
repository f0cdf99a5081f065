"""What a template hands to an interpreter as code is refused, and what is an argument is not."""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from bopp import Choice, Float, open_study
from bopp.errors import CommandError, ConfigError, MissingCommand
from bopp.study.command import LONGEST_VARIABLE, Command, inert
from bopp.study.config import load
from support.commands import Bopp

PYTHON = shlex.quote(sys.executable)

CODE = [
    "bash -c 'echo {x}'",
    "sh -c {x}",
    "bash -lc 'echo {x}'",
    "/usr/bin/env -S bash -c 'echo {x}'",
    "env -S \"bash -c 'echo {x}'\"",
    "env '-Sbash -c' 'echo {x}'",
    "sudo sh -c 'echo {x}'",
    "sudo -u me -E bash -c '{x}'",
    "nice -n 5 bash -o pipefail -c 'echo {x}'",
    "bash -euo pipefail -c 'echo {x}'",
    "bash -c -e 'echo {x}'",
    "bash -c -- 'echo {x}'",
    "dash -c {x}",
    "zsh -c {x}",
    "ksh -c {x}",
    "fish -c {x}",
    "fish --command={x}",
    "fish --command {x}",
    "busybox sh -c {x}",
    "cmd /c 'echo {x}'",
    "cmd.exe /C echo {x}",
    "powershell -Command 'echo {x}'",
    "powershell.exe -NoProfile -Command echo {x}",
    "pwsh -c {x}",
    "python -c 'print({x})'",
    "python3.11 -Ic 'print({x})'",
    "python -c'{x}'",
    "python -W ignore -c '{x}'",
    "/usr/bin/python3 -X dev -c {x}",
    "perl -e 'print {x}'",
    "perl -lane '{x}'",
    "perl -M{x} a.pl",
    "ruby -e '{x}'",
    "node -e '{x}'",
    "node --eval={x}",
    "node --eval '{x}'",
    "node -p {x}",
    "awk 'BEGIN {{print {x}}}'",
    "awk -F : -v a=1 '{x}'",
    "gawk -e {x}",
    "sed 's/a/{x}/' file",
    "sed -e 's/a/{x}/' file",
    "eval {x}",
    "ssh host {x}",
    "ssh host 'run {x}'",
    "ssh -p 22 host run --x={x}",
    "nohup ssh host run {x}",
    "su -c 'run {x}'",
    "su me -c 'run {x}'",
    "su - me --command='run {x}'",
    "runuser -u me -- sh -c {x}",
    "xargs sh -c {x}",
    "find . -exec sh -c 'echo {x}' ;",
    "docker run --rm img bash -c 'echo {x}'",
    "timeout 5 bash -c {x}",
    "make x={x}",
    "php -r {x}",
    "lua -e {x}",
    "Rscript -e {x}",
    "R -e {x}",
    "julia -e {x}",
    "octave --eval {x}",
    "matlab -batch 'f({x})'",
    "psql -c {x}",
    "psql db -c 'select {x}'",
    "mysql -e {x}",
    "sqlite3 db 'select {x}'",
    "watch {x}",
    "parallel {x}",
    "script -c {x} out",
    "flock lock -c {x}",
    "sbatch --wrap={x}",
    "nix-shell --run {x}",
    "python -m timeit {x}",
    "xvfb-run -a bash -c {x}",
    "env A=1 B=2 bash -c {x}",
    "A=1 bash -c {x}",
    "bash --rcfile /dev/null -c {x}",
    "bash --norc -c {x}",
    "bash +o posix -c {x}",
    "bash -{x} 'a'",
    "srun -n 1 bash -c {x}",
    "$SHELL -c {x}",
    "tcsh -c {x}",
    "perl -e 'a' -e {x}",
    "Bash -c {x}",
    "/bin//sh -c {x}",
]

ARGUMENT = [
    "bash -c 'echo \"$1\"' _ {x}",
    "sh -c 'echo $0' {x}",
    "python -c 'import sys; print(sys.argv[1])' {x}",
    "python train.py -c {x}",
    "python -m pkg -c {x}",
    "bash run.sh -c {x}",
    "bash run.sh {x}",
    "python -u train.py --x {x}",
    "perl -e 'print $ARGV[0]' {x}",
    "perl script.pl -e {x}",
    "node --max-old-space-size=4096 train.js -e {x}",
    "node -e 'x' {x}",
    "awk -v x={x} 'BEGIN {{print x}}'",
    "awk -f prog.awk {x}",
    "awk '{{print}}' {x}",
    "sed -n 1p {x}",
    "env RATE={x} python train.py",
    "sudo -u me ./run {x}",
    "nice -n 5 ./run {x}",
    "./run --shell bash --x {x}",
    "./run --tool make --jobs {x}",
    "python train.py --backend ssh --rate {x}",
    "srun python train.py --backend ssh {x}",
    "docker run --rm img python train.py {x}",
    "bash -c 'train --rate \"$BOPP_PARAM_x\"'",
    "python -c 'import os; os.environ[\"BOPP_PARAMS\"]'",
    "echo {x}",
    "time -p ./run {x}",
    "find . -name {x}",
    "Rscript fit.R {x}",
    "julia fit.jl {x}",
    "matlab {x}",
    "psql -v x={x} -f q.sql",
    "timeout 5 python train.py {x}",
    "powershell -File a.ps1 {x}",
    "bash -x run.sh {x}",
    "bash -eu -o pipefail run.sh {x}",
    "env -u HOME ./run {x}",
    "./batch {x}",
    "./make {x}",
    "bench/at {x}",
    "Rscript fit.R -e {x}",
]

CODE_IN_A_SHELL = [
    'bash -c "echo "{x}',
    "bash -c {x}",
    "eval {x}",
    "x={x}; eval $x",
    'x={x}; eval "echo $x"',
    'x={x}; bash -c "echo $x"',
    'bash -c "echo $BOPP_PARAM_x"; echo {x}',
    "echo {x} | sh",
    "echo {x} | bash -s",
    "echo {x} | cat | bash",
    "(echo {x}) | bash",
    "(echo {x}; echo 1) | bash",
    "{{ echo {x}; echo 1; }} | bash",
    "for a in 1 2; do echo {x}; done | sh",
    "sh <<END\necho {x}\nEND",
    "x={x}\nsh <<END\necho $x\nEND",
    "sh <<'END'\necho {x}\nEND",
    "bash <<< {x}",
    "bash <(echo {x})",
    ". <(echo {x})",
    'true # "\n bash -c "echo "{x}""',
    "true # {x}",
    "echo $(( {x} + 1 ))",
    "((a = {x}))",
    "echo $[ {x} ]",
    "echo ${{a:-{x}}}",
    "ssh host {x}",
    "ssh host run {x}",
    "bash -c $(echo {x})",
    "bash -c `echo {x}`",
    "`bash -c {x}`",
    "$(bash -c {x})",
    "true && bash -c {x}",
    "true || eval {x}",
    "if true; then eval {x}; fi",
    "2>&1 bash -c {x}",
    "bash 2>&1 -c {x}",
    "bash 2>/dev/null -c {x}",
    "bash >out -c {x}",
    "$SHELL -c {x}",
    "sh=bash; $sh -c {x}",
    "\\bash -c {x}",
    "b'as'h -c {x}",
    '"bash" -c {x}',
    "exec bash -c {x}",
    "command eval {x}",
    "printf %s {x} | xargs -I@ sh -c 'echo @'",
    "trap {x} EXIT",
    "let {x}",
    "python3 - <<END\nprint('$BOPP_PARAM_x')\nEND\necho {x}",
    "echo \\ #' ' ; bash -c \"echo \"{x}",
    "[[ {x} -eq 1 ]]",
    "$'it\\'s' {x}",
    'f() {{ bash -c "$1"; }}; f {x}',
    'set -- {x}; eval "$1"',
    'read y <<END\na\nEND\nbash -c "echo $y" {x}',
    'awk "BEGIN {{print $BOPP_PARAM_x}}" {x}',
    "case a in a) eval {x};; esac",
    'x=$(echo {x}); bash -c "$x"',
    "python -c \"print('$1')\" {x}",
    "echo {x} |\n sh",
    "echo {x} |& sh",
    "! eval {x}",
    "while eval {x}; do :; done",
    "bash<<<{x}",
    "echo {x}|sh",
    "true;eval {x}",
    "(eval {x})",
    'x={x} bash -c "$x"',
    'bash -c "echo $2" {x}',
]

ARGUMENT_IN_A_SHELL = [
    "echo {x}",
    'value={x}; echo "$value" | tr 1 2',
    "bash -c 'echo \"$1\"' _ {x}",
    'bash -c "cd $HOME && ./run \\"\\$1\\"" _ {x}',
    "python - {x} <<'END'\nimport sys\nprint(sys.argv[1])\nEND",
    "python3 run.py {x} | tail -1",
    "./run {x} | python3 parse.py",
    "cat <<END > conf\nname = a\nEND\nrun conf {x}",
    "run {x} 2>&1 | tee log | tail -n 1",
    "cd dir && ./run --x={x} > out; tail -1 out",
    'x="$(date)"; run {x}',
    "for i in 1 2 3; do run {x}; done",
    "if [ {x} = a ]; then echo 1; fi",
    "echo `echo {x}`",
    "echo $(printf %s {x})",
    "run {x} # it's a comment",
    "run {x} | awk '{{print $1}}'",
    "run {x} | grep loss | sed 's/a/b/'",
    "run {x} | python3 -c 'import sys; print(sys.stdin.read())'",
    "x={x}; ssh host run < file",
    "f() {{ run {x}; }}; f",
    "export X={x}; run",
    "make -s X=1; run {x}",
    "run {x} | sort | head -1",
    "echo $((1 + 2)) {x}",
    "case {x} in a) echo 1;; *) echo 2;; esac",
    "run {x} | xargs echo",
    'bash -c "$(cat code.sh)" {x}',
    'eval "$(conda shell.bash hook)"; conda activate e; python t.py {x}',
    "eval $(opam env); ./a.out {x}",
    "eval `opam env`; ./a.out {x}",
    "./run {x} | $HOME/bin/parse",
    './run {x} | "$HOME/bin/parse"',
]

OF_NUMBERS = [
    "make run LR={x}",
    "ssh gpu python train.py --lr {x}",
    'matlab -batch "train({x})"',
    'sbatch --wait --wrap "python t.py {x}"',
    "bsub -K ./run {x}",
    'python -c "print({x}**2)"',
    "octave --eval 'f({x})'",
    "Rscript -e 'f({x})'",
    "sed s/@x@/{x}/ t.in",
    "hyperfine './b {x}'",
    "awk 'BEGIN {{print 2*{x}}}'",
]


@pytest.mark.fault(38)
@pytest.mark.parametrize("template", CODE)
def test_a_value_in_code_is_refused(template: str) -> None:
    with pytest.raises(
        ConfigError, match=r"reads as code.*pass it as an argument .*BOPP_PARAM_.*stdin = true"
    ):
        Command(template).check(["x"])
    with pytest.raises(ConfigError, match="reads as code"):
        Command(template)({"x": "$(touch hacked)"})


@pytest.mark.parametrize("template", ARGUMENT)
def test_a_value_after_the_code_is_an_argument(template: str) -> None:
    Command(template).check(["x"])


@pytest.mark.parametrize("template", CODE_IN_A_SHELL)
def test_a_value_that_a_shell_would_hand_on_as_code_is_refused(template: str) -> None:
    with pytest.raises(ConfigError, match=r"reads as code|is within|is in a|which sh lacks"):
        Command(template, shell=True).check(["x"])


@pytest.mark.parametrize("template", ARGUMENT_IN_A_SHELL)
def test_a_value_that_a_shell_hands_on_as_an_argument_is_taken(template: str) -> None:
    Command(template, shell=True).check(["x"])


@pytest.mark.fault(38)
@pytest.mark.parametrize("template", CODE_IN_A_SHELL + ARGUMENT_IN_A_SHELL)
@pytest.mark.parametrize("value", ["$(touch hacked)", "';touch hacked;'", "a[$(touch hacked)]"])
def test_no_value_is_run_by_any_shell(
    template: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the programs that templates name, as far as they are here; the rest only fail to start."""
    monkeypatch.setenv("HOME", str(tmp_path))
    if "ssh" in template:
        pytest.skip("no other machines")
    with suppress(CommandError, ConfigError):
        Command(template, True, tmp_path)({"x": value})
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("template", OF_NUMBERS)
@pytest.mark.parametrize("shell", [False, True], ids=["plain", "shell"])
def test_a_value_that_can_be_no_code_is_taken_but_for_shells(template: str, shell: bool) -> None:
    if shell:  # where values stand outside of quotes
        template = re.sub("(['\"])(.*){x}(.*)\\1", "\\1\\2\\1{x}\\1\\3\\1", template)
    for parameter in (Float(0, 1), Choice(["a", "b-2", 0.5, True])):
        Command(template, shell).check({"x": parameter}, inert({"x": parameter}))
    hostile = {"x": Choice(["a", "$(id)"])}
    with pytest.raises(ConfigError, match="reads as code"):
        Command(template, shell).check(hostile, inert(hostile))


@pytest.mark.parametrize("shell", [False, True], ids=["plain", "shell"])
@pytest.mark.parametrize("template", ["bash -c {x}", "sh -c 'run '{x}", "eval {x}"])
def test_no_value_at_all_goes_to_a_second_shell(template: str, shell: bool) -> None:
    with pytest.raises(ConfigError, match=r"(sh|eval) reads as code"):
        Command(template, shell).check(["x"], inert=["x"])


def test_a_text_beside_a_number_is_seen() -> None:
    space = {"x": Float(0, 1), "y": Choice(["$(id)"])}
    with pytest.raises(ConfigError, match=r"^\{y\} is in what make reads as code"):
        Command("make A={x} B={y}").check(space, inert(space))


def test_the_name_of_the_parameter_and_of_the_program_is_said() -> None:
    with pytest.raises(ConfigError, match=r"^\{y\} is in what bash reads as code"):
        Command("run {x} bash -c '{y}'").check(["x", "y"])


def test_within_functions_and_after_set_a_value_is_still_itself(tmp_path: Path) -> None:
    template = "f() {{ echo {x}; }}; set -- 7 8 9; f 5 6"
    assert Command(template, True, tmp_path)({"x": 0.25}) == 0.25


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


def test_ten_thousand_letters_fit_into_the_environment(tmp_path: Path) -> None:
    params = {"x": "ü" * 10_000}
    seen = shown(tmp_path, params, "", stdin=True)
    assert json.loads(seen["BOPP_PARAMS"]) == params
    assert seen["BOPP_PARAM_x"] == params["x"]
    assert "BOPP_PARAM_x" not in shown(tmp_path, {"x": "a" * (LONGEST_VARIABLE + 1)}, "", stdin=True)


def test_a_value_that_no_argument_can_hold_fails_its_trial_and_not_the_run() -> None:
    for value in ("a\0b", "\ud800", "x" * 10_000_000):
        with pytest.raises(CommandError, match="cannot start") as caught:
            Command("echo {x}")({"x": value})
        assert not isinstance(caught.value, MissingCommand)


@pytest.mark.parametrize(
    "template", ["run $BOPP_PARAM_x", "run {x}", "run {params}", "bash -c 'a \"$BOPP_PARAMS\"'"]
)
def test_a_template_may_name_a_parameter_by_its_variable(template: str) -> None:
    Command(template).check(["x"])


def test_a_template_that_names_no_parameter_is_refused_with_a_hint() -> None:
    for template in ("run", "run $BOPP_PARAM_xy", "run $BOPP_PARAM_y"):
        with pytest.raises(ConfigError, match=r"wanted \{x\} in it.*stdin = true"):
            Command(template).check(["x"])
    Command("run", stdin=True).check(["x"])


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
    for words in (
        ("bash -c 'echo {x} {y}'",),
        ('bash -c "echo "{x}{y}', "--shell"),
        ("eval {x} {y}", "--shell"),
    ):
        ended = bopp("worker", url, "s", "--budget", 3, "--command", *words)
        assert (ended.code, "reads as code" in ended.err) == (2, True)
    safe = "bash -c 'echo \"$1\" >> seen; echo 1' _ {x} {y}"
    assert bopp("worker", url, "s", "--budget", 3, "--command", safe).code == 0
    asked = "bash -c 'cat >> seen; echo 1'"
    assert bopp("worker", url, "s", "--budget", 6, "--stdin", "--command", asked).code == 0
    assert not (tmp_path / "hacked").exists()
    assert any(text in (tmp_path / "seen").read_text() for text in hostile)
    assert bopp("worker", url, "s", "--python", "a:b", "--stdin").code == 2


assert shutil.which("bash"), "the tests want bash"
