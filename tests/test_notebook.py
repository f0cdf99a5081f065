"""What a notebook shows, in a real kernel: started once, for the notebook of the examples and for more."""

from pathlib import Path
from typing import Any

import pytest

from bopp import Float, minimize, notebook
from support.notebooks import EXAMPLE, METADATA, executed, read, shown, streamed

RUN = """
result = bopp.minimize(lambda p: 1 / 0 if p["x"] < 0.3 else p["x"], {"x": (0.0, 1.0)}, budget=8)
"""
WITHOUT_WIDGETS = f"""
import sys
import threading

sys.modules["ipywidgets"] = None  # as where it is not installed
before = threading.active_count()
{RUN}
assert threading.active_count() == before
"""
WITH_WIDGETS = f"""
del sys.modules["ipywidgets"]
import ipywidgets
{RUN}
"""
IN_PROCESSES = """
import multiprocessing

forks = multiprocessing.get_start_method() == "fork"  # or else no function of a notebook gets there
result = bopp.minimize(error, space, budget=4, workers=1 + forks, seed=3)
"""
SHOW = "result.plot_convergence().show(); print('shown')"
INLINE = "get_ipython().run_line_magic('matplotlib', 'inline')\nresult.plot_convergence()"
STUDY = "study = bopp.open_study('sqlite://', '<b>hostile</b>', {'x': (0.0, 1.0)})\nstudy"
MORE = (WITHOUT_WIDGETS, WITH_WIDGETS, IN_PROCESSES, SHOW, INLINE, STUDY)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Those of the example, run anew, and then ours."""
    return list(executed(read(EXAMPLE), tmp_path_factory.mktemp("notebook"), MORE).cells)


def kinds(cell: Any) -> list[tuple[str, set[str]]]:
    return [(output.output_type, set(output.get("data", ()))) for output in cell.outputs]


@pytest.mark.endurance
def test_the_example_runs_and_shows_what_was_committed_with_it(cells: list[Any]) -> None:
    committed = read(EXAMPLE)
    assert len(committed.cells) == len(cells) - len(MORE)
    for was, now in zip(committed.cells, cells, strict=False):
        if was.cell_type == "code":
            assert was.execution_count == now.execution_count
            assert kinds(was) == kinds(now)
            assert "stderr" not in [one.get("name") for one in (*was.outputs, *now.outputs)]


def test_the_example_has_pictures_tables_and_nothing_of_a_machine() -> None:
    committed = read(EXAMPLE)
    code = [cell for cell in committed.cells if cell.cell_type == "code"]
    assert sum(shown(cell, "image/png") != "" for cell in code) >= 2
    assert sum(shown(cell, "text/html") != "" for cell in code) >= 2
    assert dict(committed.metadata) == METADATA
    assert {str(cell.metadata) for cell in committed.cells} == {"{}"}
    for place in ("/home/", "/root/", "/tmp/", "site-packages"):
        assert place not in EXAMPLE.read_text()


@pytest.mark.endurance
@pytest.mark.parametrize("place", [0, 1], ids=["without ipywidgets", "with ipywidgets"])
def test_a_run_is_followed_by_one_line_of_text(cells: list[Any], place: int) -> None:
    cell = cells[place - len(MORE)]
    (output,) = cell.outputs  # no warning, no second line
    assert (output.output_type, list(output.data)) == ("display_data", ["text/plain"])
    line = shown(cell)
    assert line.startswith("━" * 20 + " 8/8  best 0.3")
    assert " failed  0." in line


@pytest.mark.endurance
def test_evaluations_in_processes_are_followed_too(cells: list[Any]) -> None:
    assert " 4/4  best " in shown(cells[2 - len(MORE)])
    assert streamed(cells[2 - len(MORE)]) == ""


@pytest.mark.endurance
def test_a_figure_is_displayed_by_show_and_once_with_the_inline_backend(cells: list[Any]) -> None:
    show, inline = cells[3 - len(MORE)], cells[4 - len(MORE)]
    assert [one.output_type for one in show.outputs] == ["display_data", "stream"]
    assert shown(show, "image/png").startswith("iVBOR")  # a PNG
    assert streamed(show) == "shown\n"
    assert ["image/png" in one.data for one in inline.outputs] == [True]


@pytest.mark.endurance
def test_a_study_shows_itself(cells: list[Any]) -> None:
    assert "&lt;b&gt;hostile&lt;/b&gt;" in shown(cells[5 - len(MORE)], "text/html")


def test_elsewhere_nothing_is_displayed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import IPython  # which is there, but runs nothing

    assert IPython.get_ipython() is None
    assert notebook.display() is None
    minimize(lambda params: params["x"], {"x": Float(0, 1)}, budget=2)
    assert "2/2" in capsys.readouterr().err
