import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import pytest

import bopp
from bopp import Recipe, outcome, pseudo
from bopp.acquisition import UCB, paper_beta
from bopp.errors import MissingExtra, PaperError
from bopp.fit import LENGTHSCALES, MaximumLikelihood, SliceSampling
from bopp.initial import Uniform
from bopp.kernels import SquaredExponential
from bopp.paper import experiment
from bopp.paper.experiment import GRADIENTS, instance_of, perform, plan, recipe_of
from bopp.paper.machine import this_machine
from bopp.paper.problems import REAL, SYNTHETIC, problem
from bopp.paper.runs import (
    ACQUISITIONS,
    TAU0,
    VARIANTS,
    Acquisition,
    Fitting,
    Folder,
    Key,
    Run,
    Setting,
    Variant,
)
from bopp.paper.table import render
from bopp.pseudo import Neighbours, Policy
from bopp.search import Direct

EIGHT = (*SYNTHETIC, *REAL)
SHORT = Setting(iterations=3, initial=3)
STOPPED = "Stopped. What is done is kept; the same command goes on.\n"
DIED = r"bopp: a worker .*died; what is done is kept, and the same command goes on\n"

needs_processes = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"
)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No problem that another test loaded."""
    experiment._loaded.cache_clear()
    yield
    experiment._loaded.cache_clear()


def without_time(run: Run) -> tuple[Any, ...]:
    return run.key, run.regret, run.values, run.accuracy


def test_the_papers_plan() -> None:
    keys = plan(EIGHT)
    assert len(set(keys)) == len(keys) == 20 * (8 * 3 * 5 + 4 * 5)
    isotropic = {key for key in keys if key.kernel == "isotropic"}
    assert {(key.problem, key.acquisition) for key in isotropic} == {(name, "ucb") for name in REAL}
    assert len(isotropic) == 20 * 4 * 5
    assert {key.maximiser for key in keys} == {"direct"}
    assert {key.variant for key in keys} == set(VARIANTS)


def test_a_plan_is_repeat_by_repeat_so_that_a_part_of_it_is_a_smaller_whole() -> None:
    keys = plan(EIGHT, repeats=range(3))
    assert [key.repeat for key in keys] == sorted(key.repeat for key in keys)
    assert keys[: len(keys) // 3] == plan(EIGHT, repeats=range(1))


@pytest.mark.parametrize("kernel", ["ard", "isotropic"])
def test_a_plan_with_one_kernel_has_no_other(kernel: Any) -> None:
    keys = plan(EIGHT, ["ucb", "ei"], ["bo", "pp01", "pp0"], range(2), kernel, "gradients")
    assert len(set(keys)) == len(keys) == 2 * 8 * 2 * 3
    assert {(key.kernel, key.maximiser) for key in keys} == {(kernel, "gradients")}


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_recipe_is_the_papers(acquisition: Acquisition, variant: Variant) -> None:
    assert recipe_of(Key(0, "hart6", acquisition, variant), Setting()) == Recipe.paper(
        acquisition, TAU0[variant]
    )


def test_the_variants_are_plain_bo_three_distances_and_exact_duplicates() -> None:
    policies = [recipe_of(Key(0, "hart6", "ucb", variant), Setting()).pseudo for variant in VARIANTS]
    wanted: list[Policy] = [Neighbours(tau0, doubt=False) for tau0 in (0.01, 0.001, 0.0001, 0.0)]
    assert policies == [pseudo.none, *wanted]
    assert VARIANTS == ("bo", "pp01", "pp001", "pp0001", "pp0")


def test_key_and_setting_reach_the_recipe() -> None:
    setting = Setting(initial=4, evaluations=77, shortest=0.1, outcome="standardised")
    recipe = recipe_of(Key(0, "hart6", "ei", "pp01", "isotropic"), setting)
    assert recipe.kernel == SquaredExponential(ard=False)
    assert recipe.search == Direct(77)
    assert recipe.initial == Uniform(4)
    assert recipe.outcome is outcome.standardised
    assert recipe.fit == MaximumLikelihood(variance=1.0, noise=1e-4, lengthscale=(0.1, LENGTHSCALES[1]))
    assert recipe.acquisition is Recipe.paper("ei").acquisition
    plain = recipe_of(Key(0, "hart6", "ei", "pp01"), Setting())
    assert plain.kernel == SquaredExponential(ard=True)
    assert plain.outcome is outcome.raw
    assert recipe_of(Key(0, "hart6", "ei", "bo", maximiser="gradients"), Setting()).search == GRADIENTS


def test_length_scales_are_found_in_three_ways() -> None:
    key, given = Key(0, "hart6", "ei", "bo"), {"variance": 1.0, "noise": 1e-4, "lengthscale": (0.1, 1e3)}
    one, several, drawn = (recipe_of(key, Setting(fit=fit, shortest=0.1)).fit for fit in get_args(Fitting))
    assert one == MaximumLikelihood(**given)  # type: ignore[arg-type]
    assert several == replace(one, starts=80, refit=0.2)
    assert drawn == SliceSampling(**vars(one))


def test_noise_is_added_to_what_is_told_and_not_to_what_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    tell = bopp.Optimizer.tell

    def listening(self: Any, trial: Any, value: Any) -> Any:
        told.append(value)
        return tell(self, trial, value)

    monkeypatch.setattr(bopp.Optimizer, "tell", listening)
    noise, variants = {}, VARIANTS[:2]
    for variant in variants:
        key = Key(4, "dropwave", "ei", variant)
        told.clear()
        run = perform(key, Setting(initial=200, iterations=0, noisy=True))
        noise[variant] = np.array(told) - np.array(run.values) - cast(float, problem("dropwave").optimum)
    assert noise["bo"].std() == pytest.approx(0.01, rel=0.15)
    assert abs(noise["bo"].mean()) < 0.003
    np.testing.assert_allclose(noise["bo"], noise["pp01"], atol=1e-12)
    told.clear()
    run = perform(Key(4, "dropwave", "ei", "bo"), Setting(initial=3, iterations=2, noisy=True))
    added = np.array(told) - np.array(run.values) - cast(float, problem("dropwave").optimum)
    np.testing.assert_allclose(added, noise["bo"][:5], atol=1e-6)  # whatever the number of iterations
    told.clear()
    run = perform(Key(4, "dropwave", "ei", "bo"), Setting(initial=20, iterations=0))
    assert told == pytest.approx(np.array(run.values) + problem("dropwave").optimum, abs=1e-6)


def test_a_point_is_evaluated_once_for_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def counting(name: str, instance: int, metric: Any) -> Any:
        task = problem(name, instance, metric)

        def measure(params: Any) -> Any:
            seen.append(params)
            return task.measure(params)

        return replace(task, measure=measure)

    monkeypatch.setattr(experiment, "problem", counting)
    runs = [perform(Key(0, "dropwave", "ei", variant), SHORT) for variant in ("bo", "bo", "pp0")]
    assert len(seen) == len({tuple(params.values()) for params in seen})
    assert runs[0].values == runs[1].values
    assert len(runs[0].values) <= len(seen) < sum(len(run.values) for run in runs)


def test_counting_the_initial_points_makes_t_later_in_beta_alone() -> None:
    counted = Setting(count_initial=True, initial=7)
    ucb = cast(UCB, recipe_of(Key(0, "hart6", "ucb", "bo"), counted).acquisition)
    beta = cast(Callable[[int, int], float], ucb.beta)
    assert [beta(t, 6) for t in (1, 50)] == [paper_beta(t + 7, 6) for t in (1, 50)]
    for acquisition in ACQUISITIONS[1:]:
        key = Key(0, "hart6", acquisition, "bo")
        assert recipe_of(key, counted) == recipe_of(key, Setting(initial=7))


@pytest.mark.parametrize(
    ("splits", "name", "instance"),
    [
        ("paper", "nn_housing", 7),
        ("paper", "nn_wine", 0),
        ("paper", "nn_cancer", 0),
        ("paper", "svm_wine", 0),
        ("fixed", "nn_housing", 0),
        ("fixed", "nn_wine", 0),
        ("each", "nn_housing", 7),
        ("each", "nn_wine", 7),
        ("each", "svm_wine", 7),
        *((splits, "hart6_shifted", 7) for splits in ("paper", "fixed", "each")),
    ],
)
def test_which_instance_a_repeat_has(splits: Any, name: str, instance: int) -> None:
    for acquisition in ACQUISITIONS:
        assert instance_of(Key(7, name, acquisition, "pp01"), Setting(splits=splits)) == instance


@pytest.mark.parametrize(
    "key",
    [
        Key(3, "dropwave_shifted", "ucb", "pp01"),
        Key(2, "hart6", "ei", "bo", "isotropic"),
        Key(1, "nn_housing", "pi", "pp0"),
        Key(1, "nn_cancer", "ucb", "pp001"),
        Key(1, "griewank", "ucb", "pp01", maximiser="gradients"),
    ],
    ids=lambda key: key.problem,
)
def test_a_run_is_what_minimize_does_with_the_recipe(key: Key) -> None:
    task = problem(key.problem, instance_of(key, SHORT))
    result = bopp.minimize(
        task, task.space, budget=6, seed=key.repeat, recipe=recipe_of(key, SHORT), progress=False
    )
    values = np.array([trial.value for trial in result.trials])
    run = perform(key, SHORT)
    reported = -values if task.optimum is None else values - task.optimum
    np.testing.assert_allclose(run.values, reported, rtol=1e-6, atol=1e-12)
    assert (run.key, run.machine) == (key, this_machine())
    assert run.regret == (task.optimum is not None)
    assert run.seconds > 0.0


def test_all_algorithms_of_a_repeat_begin_alike_and_go_on_differently() -> None:
    setting = Setting(initial=4, iterations=3)
    keys = plan(["hart6"], variants=["bo", "pp01"], repeats=range(2), kernel="ard", maximiser="gradients")
    runs = {key: perform(key, setting).values for key in keys}
    assert {len(values) for values in runs.values()} == {7}
    for repeat in (0, 1):
        mine = [values for key, values in runs.items() if key.repeat == repeat]
        assert len({values[:4] for values in mine}) == 1
        assert len({values[4:] for values in mine}) >= 3
    assert len({values[:4] for values in runs.values()}) == 2


def test_pseudo_points_ever_nearer_become_exact_duplicates(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(initial=4, iterations=3)

    def values(variant: Variant) -> tuple[float, ...]:
        return perform(Key(0, "dropwave", "ucb", variant, maximiser="gradients"), setting).values

    assert len({values("pp01"), values("pp0"), values("bo")}) == 3
    monkeypatch.setitem(TAU0, "pp01", 1e-10)
    np.testing.assert_allclose(values("pp01"), values("pp0"), atol=1e-5)


@pytest.mark.parametrize("metric", ["one_minus_mse", "accuracy"])
def test_accuracy_is_kept_beside_what_is_reported(metric: Any) -> None:
    setting = Setting(initial=2, iterations=1, metric=metric)
    run = perform(Key(0, "nn_cancer", "ucb", "bo"), setting)
    assert run.accuracy is not None
    assert len(run.accuracy) == 3
    assert (run.accuracy == run.values) == (metric == "accuracy")
    assert np.allclose(np.array(run.accuracy) * 140, np.round(np.array(run.accuracy) * 140), atol=1e-3)
    assert perform(Key(0, "nn_housing", "ucb", "bo"), setting).accuracy is None


def test_runs_in_parallel_are_all_kept_and_named(tmp_path: Path) -> None:
    folder, keys = Folder(tmp_path), plan(["dropwave"], ["ucb"], ["bo", "pp01"], range(2))
    folder.prepare(SHORT)
    done = list(experiment.run(folder, keys, SHORT, workers=2))
    assert sorted(done) == sorted(keys)
    assert active_children() == []
    alone = [without_time(perform(key, SHORT)) for key in sorted(keys)]
    assert [without_time(run) for run in folder.runs()] == alone


@pytest.mark.endurance
def test_who_stops_listening_ends_the_workers(tmp_path: Path) -> None:
    folder, setting = Folder(tmp_path), Setting(iterations=8)
    folder.prepare(setting)
    short, long = Key(0, "dropwave", "ucb", "bo"), Key(0, "nn_cancer", "ucb", "bo")
    some = experiment.run(folder, [short, long], setting, workers=2)
    assert next(some) == short
    cast(Any, some).close()
    assert active_children() == []
    assert folder.done() == {short}


@pytest.mark.endurance
def test_what_cannot_be_kept_ends_the_run(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "gone")
    with pytest.raises(PaperError, match=r"cannot write to .*gone"):
        list(experiment.run(folder, plan(["dropwave"], ["ucb"], ["bo"], range(4)), SHORT, workers=1))
    assert active_children() == []


def test_a_problem_that_cannot_be_loaded_is_said_before_any_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_early(*_: Any) -> None:
        raise AssertionError("workers were started")

    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    monkeypatch.setattr(experiment, "ProcessPoolExecutor", too_early)
    folder = Folder(tmp_path)
    folder.prepare(SHORT)
    with pytest.raises(MissingExtra, match="scikit-learn"):
        next(experiment.run(folder, plan(["dropwave", "svm_wine"]), SHORT, workers=1))
    assert folder.runs() == []


def command(out: Path) -> list[str]:
    """Twelve runs of a fraction of a second each."""
    words = "--problems dropwave,griewank --acquisitions ucb --variants bo,pp01 --repeats 3 --iterations 5"
    return [sys.executable, "-m", "bopp", "paper", "run", "--out", str(out), *words.split(), "--workers", "2"]


RUNS = 12


class Started:
    """The command, started as a terminal would: alone in a group of processes."""

    def __init__(self, out: Path):
        self.files = out / "runs"
        self.process = subprocess.Popen(
            command(out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def until(self, what: Callable[[], bool]) -> None:
        for _ in range(6000):
            if what():
                return
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.005)
        raise AssertionError("never came to be")

    def until_some_are_done(self) -> None:
        self.until(lambda: len(list(self.files.glob("*.json"))) >= 2)

    @property
    def members(self) -> list[int]:
        """The processes of its group that live."""
        return [pid for pid, group, state in processes() if group == self.process.pid and state not in "ZX"]

    @property
    def workers(self) -> list[int]:
        return [pid for pid in self.members if b"spawn_main" in command_line(pid)]

    def ended(self) -> tuple[int, str, str]:
        """Exit code, output and errors; none of its processes is left a few seconds later."""
        out, err = self.process.communicate(timeout=60)
        deadline = time.monotonic() + 10.0
        while self.members and time.monotonic() < deadline:
            time.sleep(0.02)
        assert self.members == []
        return self.process.returncode, out, err


def processes() -> Iterator[tuple[int, int, str]]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group, *_ = path.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        yield int(path.parent.name), int(group), state


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def start() -> Iterator[Callable[[Path], Started]]:
    everything: list[Started] = []

    def start(out: Path) -> Started:
        everything.append(Started(out))
        return everything[-1]

    yield start
    for started in everything:
        for pid in started.members:
            os.kill(pid, signal.SIGKILL)
        started.process.communicate()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    out = tmp_path_factory.mktemp("experiment")
    subprocess.run(command(out), check=True, capture_output=True)
    runs = Folder(out).runs()
    assert len(runs) == RUNS
    return runs


def assert_goes_on(out: Path, uninterrupted: list[Run]) -> None:
    """The same command makes what is missing, and nothing else, and ends with the same runs."""
    kept = {path: path.stat().st_mtime_ns for path in (out / "runs").glob("*.json")}
    assert 0 < len(kept) < RUNS
    again = subprocess.run(command(out), check=True, capture_output=True, text=True)
    assert again.stderr.splitlines() == [
        f"{len(kept)} of {RUNS} runs are there already.",
        f"{RUNS} runs are in {out}. Next: bopp paper table --out={out}",
    ]
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert [without_time(run) for run in Folder(out).runs()] == [without_time(run) for run in uninterrupted]


@pytest.mark.endurance
@needs_processes
@pytest.mark.parametrize("end", ["killed", "a worker killed", "ctrl-c"])
def test_a_run_that_is_cut_short_ends_in_one_line_and_the_same_command_goes_on(
    end: str, tmp_path: Path, start: Callable[[Path], Started], uninterrupted: list[Run]
) -> None:
    started = start(tmp_path)
    started.until_some_are_done()
    assert len(started.workers) == 2
    if end == "killed":
        started.process.kill()
        assert started.ended()[0] == -signal.SIGKILL
    elif end == "ctrl-c":
        os.killpg(started.process.pid, signal.SIGINT)
        assert started.ended() == (130, "", STOPPED)
    else:
        os.kill(started.workers[0], signal.SIGKILL)
        code, out, err = started.ended()
        assert (code, out) == (2, "")
        assert re.fullmatch(DIED, err)
    assert_goes_on(tmp_path, uninterrupted)


@pytest.mark.endurance
@needs_processes
def test_workers_take_no_notice_of_ctrl_c_not_even_while_they_start(
    tmp_path: Path, start: Callable[[Path], Started]
) -> None:
    started = start(tmp_path)

    def interrupt_until_some_are_done() -> bool:
        for worker in started.workers:
            os.kill(worker, signal.SIGINT)
        return len(list(started.files.glob("*.json"))) >= 2

    started.until(interrupt_until_some_are_done)
    os.killpg(started.process.pid, signal.SIGINT)
    assert started.ended() == (130, "", STOPPED)


@pytest.mark.slow
@needs_processes
def test_killed_at_thirty_moments_it_ends_with_the_same_table(tmp_path: Path) -> None:
    """Everything is killed at once, wherever it is; what was kept before stays, and the table is the same."""

    def words(out: Path) -> list[str]:
        choice = (
            "--problems dropwave,hart6,nn_wine --acquisitions ucb --repeats 6 --iterations 12 --kernel ard"
        )
        return [sys.executable, "-m", "bopp", "paper", "run", "--out", str(out), *choice.split()]

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run(words(whole), check=True, capture_output=True)
    cut_short = 0
    for pause in np.random.default_rng(0).uniform(0.3, 3.0, 30):
        kept = {path: path.read_bytes() for path in (killed / "runs").glob("*.json")}
        process = subprocess.Popen(words(killed), stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(pause)
        if process.poll() is None:
            cut_short += 1
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        assert {path: path.read_bytes() for path in kept} == kept
        Folder(killed).done()  # nothing is damaged beyond reading
    subprocess.run(words(killed), check=True, capture_output=True)
    assert cut_short >= 10
    assert render(Folder(killed)) == render(Folder(whole))
