from pathlib import Path

import msgspec
import numpy as np
import pytest

from bopp.errors import PaperError
from bopp.paper.cells import cells
from bopp.paper.machine import this_machine
from bopp.paper.runs import Acquisition, Folder, Kernel, Key, Maximiser, Run, Setting, Variant
from bopp.paper.table import NOTHING, as_rows, render


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.prepare(Setting(iterations=2, initial=1))
    return folder


def keep(
    folder: Folder,
    problem: str,
    variant: Variant,
    finals: dict[int, float],
    acquisition: Acquisition = "ucb",
    kernel: Kernel = "ard",
    maximiser: Maximiser = "direct",
    accuracy: tuple[float, ...] | None = None,
) -> None:
    """Runs of three evaluations whose best value, the second, is given for each repeat."""
    regret = not problem.startswith(("nn", "svm"))
    worse = 1.0 if regret else -1.0
    for repeat, final in finals.items():
        values = (final + worse, final, final + worse / 2)
        key = Key(repeat, problem, acquisition, variant, kernel, maximiser)
        folder.save(Run(key, regret, values, accuracy, 0.0))


def numbered(*values: float) -> dict[int, float]:
    return dict(enumerate(values))


def line(text: str, start: str, nth: int = 0) -> list[str]:
    """The texts of a table's row that starts so."""
    found = [row for row in text.splitlines() if row.startswith(f"| {start}")]
    return [part.strip() for part in found[nth].strip("|").split("|")]


def below(text: str, start: str) -> list[str]:
    rows = text.splitlines()
    place = next(i for i, row in enumerate(rows) if row.startswith(f"| {start}"))
    return [part.strip() for part in rows[place + 1].strip("|").split("|")]


def test_ours_and_the_papers_figures_stand_in_the_table(folder: Folder) -> None:
    keep(folder, "dropwave", "bo", numbered(0.2, 0.4))
    keep(folder, "dropwave", "pp01", numbered(0.1, 0.4))
    keep(folder, "dropwave", "pp0", numbered(0.3, 0.5))
    text = render(folder)
    row = line(text, "Dropwave, S_T")
    assert row[:3] == ["Dropwave, S_T", "ours", "2"]
    assert row[3:] == ["0.3000±0.1000", "**0.2500±0.1500**", NOTHING, NOTHING, "0.4000±0.1000"]
    row = below(text, "Dropwave, S_T")
    assert row[:3] == ["", "paper", "20"]
    assert row[3:] == ["0.2710±0.1311", "**0.2232±0.1053**", NOTHING, NOTHING, NOTHING]
    assert "after 2 iterations; kernel ard, maximiser direct" in text


def test_bold_is_larger_for_f_and_exact_zeros_are_plain(folder: Folder) -> None:
    keep(folder, "nn_housing", "bo", numbered(8.0, 9.0))
    keep(folder, "nn_housing", "pp001", numbered(8.0, 9.0))
    keep(folder, "nn_housing", "pp0001", numbered(7.0, 9.0))
    keep(folder, "griewank", "bo", numbered(0.0, 0.0), "pi")
    keep(folder, "griewank", "pp01", numbered(0.0, 0.0), "pi")
    text = render(folder)
    assert line(text, "NN_housing, f")[5:7] == ["**8.5000±0.5000**", "8.0000±1.0000"]
    assert line(text, "Griewank, S_T")[3:5] == ["0±0", "**0±0**"]


def test_comparison_is_positive_where_pseudo_points_are_better(folder: Folder) -> None:
    keep(folder, "hart6", "bo", numbered(1.0, 2.0, 3.0, 4.0))
    keep(folder, "hart6", "pp01", numbered(0.5, 1.0, 2.5, 4.0))
    keep(folder, "nn_wine", "bo", numbered(0.9, 0.8, 0.7))
    keep(folder, "nn_wine", "pp01", numbered(0.8, 0.7, 0.6))
    text = render(folder)
    hart, wine = line(text, "Hart6 "), line(text, "NN_wine ")
    assert hart[1:5] == ["UCB", "PP01", "4", "+0.5000"]
    assert hart[6:] == ["3/0/1", "0.250", "0.500", "0.250", "0.500"]
    assert wine[4:7] == ["-0.1000", "[-0.1000, -0.1000]", "0/3/0"]
    assert "adjusted for all 2 cells" in text
    effect = (0.5 / np.std([1, 2, 3, 4]) - 0.1 / np.std([0.9, 0.8, 0.7])) / 2
    assert line(text, "PP01 ")[:6] == ["PP01", "1 of 2", "1 of 2", "3/3/1", "1", f"{effect:+.3f} (2)"]


def test_only_repeats_that_both_have_are_compared(folder: Folder) -> None:
    keep(folder, "rastrigin", "bo", {0: 1.0, 1: 2.0, 2: 9.0})
    keep(folder, "rastrigin", "pp01", {1: 1.5, 2: 8.0, 7: 100.0})
    keep(folder, "rastrigin", "pp001", {2: 1.0})
    keep(folder, "rastrigin", "pp0001", {5: 1.0, 6: 1.0})
    text = render(folder)
    row = line(text, "Rastrigin, S_T")
    assert row[2] == f"1{NOTHING}3"
    assert row[4].startswith("**36.5000")  # better in both shared repeats, though not on the whole
    assert row[5] == "1.0000±0 n 1"
    assert line(text, "Rastrigin ")[3:5] == ["2", "+0.7500"]
    assert line(text, "Rastrigin ", 1)[3:] == ["1", *[NOTHING] * 7]
    assert line(text, "Rastrigin ", 2)[3:] == ["0", *[NOTHING] * 7]


def test_problems_that_the_paper_lacks_are_summed_apart(folder: Folder) -> None:
    for problem in ("dropwave", "dropwave_shifted"):
        keep(folder, problem, "bo", numbered(1.0, 2.0))
        keep(folder, problem, "pp0", numbered(0.5, 1.0))
    text = render(folder)
    assert line(text, "Dropwave shifted, S_T")[3] == "1.5000±0.5000"
    assert text.count("| paper |") == 1
    assert line(text, "PP0 (control) ")[1:4] == ["1 of 1", NOTHING, "2/0/0"]
    assert line(text, "PP0 (control), problems not in the paper")[1] == "1 of 1"


def test_plain_bo_is_held_against_the_paper(folder: Folder) -> None:
    keep(folder, "dropwave", "bo", numbered(0.3, 0.5))
    keep(folder, "rastrigin", "bo", numbered(0.3, 0.31), "pi")
    keep(folder, "griewank", "bo", numbered(0.00001, 0.0), "pi")
    text = render(folder)
    assert "Of 3 synthetic cells of plain BO, 2 within; by the test 1 different (p < 0.05)." in text
    rows = text[text.index("## Plain BO") :]
    figures = ["0.3050±0.0050", "0.0524±0.2285", "no", "+4.8", "<0.001"]
    assert line(rows, "Rastrigin") == ["Rastrigin", "PI", "2", *figures]
    assert "What the paper does not give" not in text


def test_other_kernel_has_no_figures_in_the_paper(folder: Folder) -> None:
    keep(folder, "svm_wine", "bo", numbered(0.6, 0.7), kernel="isotropic", maximiser="gradients")
    text = render(folder, "isotropic", "gradients")
    assert line(text, "SVM_wine, f")[3] == "0.6500±0.0500"
    assert "| paper" not in text
    assert "Plain BO" not in text


def test_accuracy_is_that_of_the_best_evaluation(folder: Folder) -> None:
    keep(folder, "nn_cancer", "bo", numbered(0.9, 0.8), accuracy=(0.1, 0.95, 0.99))
    keep(folder, "svm_wine", "bo", numbered(0.5), accuracy=(-0.5, 0.5, 0.0))  # is its value
    keep(folder, "nn_housing", "bo", numbered(8.0))
    accuracies = render(folder).split("## Plain accuracy")[1]
    assert line(accuracies, "NN_cancer")[:3] == ["NN_cancer", "UCB", "0.9500"]
    assert "SVM_wine" not in accuracies
    assert "NN_housing" not in accuracies


def test_order_is_that_of_the_paper(folder: Folder) -> None:
    for problem in ("rastrigin_shifted", "svm_wine", "hart6", "dropwave"):
        for acquisition in ("ei", "ucb"):
            keep(folder, problem, "bo", numbered(1.0), acquisition)
    order = [(cell.acquisition, cell.problem) for cell in cells(folder)]
    names = ["dropwave", "hart6", "svm_wine", "rastrigin_shifted"]
    assert order == [(acquisition, name) for acquisition in ("ucb", "ei") for name in names]


def test_records_for_other_programs(folder: Folder) -> None:
    keep(folder, "dropwave", "bo", numbered(0.2, 0.4))
    keep(folder, "dropwave", "pp01", numbered(0.1, 0.2))
    plain, variant = as_rows(folder)
    assert (plain["mean"], plain["paper_mean"], plain["difference"]) == (pytest.approx(0.3), 0.2710, None)
    assert (variant["runs"], variant["difference"], variant["wins"]) == (2, pytest.approx(0.15), 2)
    assert variant["sign_holm"] == pytest.approx(0.5, rel=1e-12)


def test_small_differences_are_not_shown_as_none(folder: Folder) -> None:
    keep(folder, "nn_wine", "bo", numbered(0.9, 0.8))
    keep(folder, "nn_wine", "pp01", numbered(0.900002, 0.800002))
    assert line(render(folder), "NN_wine ")[4] == "+2e-06"


def test_rows_line_up(folder: Folder) -> None:
    keep(folder, "dropwave", "bo", numbered(0.2, 0.4))
    keep(folder, "hart6", "pp01", numbered(0.2, 10.4))
    tables = [part.splitlines() for part in render(folder).split("\n\n") if part.startswith("|")]
    assert len(tables) == 2
    for rows in tables:
        assert len({len(row) for row in rows}) == 1


def test_no_runs_are_an_error(folder: Folder, tmp_path: Path) -> None:
    with pytest.raises(PaperError, match="'ard' and maximiser 'direct'"):
        render(folder)
    keep(folder, "dropwave", "bo", numbered(0.2), maximiser="gradients")
    with pytest.raises(PaperError, match=r"kernel 'isotropic'.*only with ard and gradients"):
        render(folder, "isotropic")
    with pytest.raises(PaperError, match="holds no experiment"):
        render(Folder(tmp_path / "nowhere"))


def test_a_public_ancestor_stands_beside_the_problem_that_came_of_it(folder: Folder) -> None:
    keep(folder, "nnet_cancer", "bo", numbered(0.95, 0.96))
    keep(folder, "nnet_cancer", "pp0", numbered(0.95, 0.97))
    text = render(folder)
    assert below(text, "nnet_cancer, f")[1:4] == ["paper's NN_cancer", "20", "0.9585±0.0006"]
    assert line(text, "PP0 (control), problems not in the paper")[2] == NOTHING
    assert "Of 1 ancestors' cells of plain BO" in text


def test_machines_are_counted(folder: Folder) -> None:
    keep(folder, "dropwave", "bo", numbered(0.2, 0.4))
    run = folder.runs()[0]
    folder.save(msgspec.structs.replace(run, machine=this_machine()))
    text = render(folder)
    assert f"- 1 runs: {this_machine()}" in text
    assert "- 1 runs: not recorded" in text
