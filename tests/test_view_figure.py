import pytest

from bopp import Float, minimize
from bopp.result import Result


@pytest.fixture(scope="module")
def result() -> Result:
    return minimize(lambda params: params["x"], {"x": Float(0, 1)}, budget=3, progress=False)


def test_every_figure_is_a_picture_to_a_notebook(result: Result) -> None:
    for draw in (result.plot_convergence, result.plot_slice, result.plot_parallel, result.plot_importance):
        assert draw()._repr_png_().startswith(b"\x89PNG\r\n")  # type: ignore[attr-defined]


def test_without_a_notebook_a_figure_says_how_to_save_it(
    result: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    result.plot_convergence().show()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == 'A figure has no window here. To save it: figure.savefig("figure.png")\n'
    result.plot_convergence().show(warn=False)
    assert capsys.readouterr() == ("", "")
