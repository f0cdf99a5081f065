"""The paper's table, as it was printed: mean and standard deviation over 20 runs, at the end of each.

The paper does not say which standard deviation. It is that of the population, and so is ours: all twelve
entries of SVM_wine are means and population deviations of 20 multiples of 1/159, and none fits a sample
deviation. (159 rows are a tenth of the wine data. The paper says that f is of a fifth: 319 or 320 rows.)
"""

from __future__ import annotations

from typing import NamedTuple

from bopp.paper.runs import Acquisition, Variant

COLUMNS: tuple[Variant, ...] = ("bo", "pp01", "pp001", "pp0001")
HEADS = {variant: variant.upper() for variant in COLUMNS} | {"pp0": "PP0 (control)"}
ANCESTOR_OF = {"nnet_cancer": "nn_cancer", "nnet_boston": "nn_housing"}
DECIMALS = 4
RUNS = 20

PRINTED = """
    ucb Dropwave   0.2710±0.1311  0.2232±0.1053  0.1630±0.1014  0.2121±0.1038
    ucb Griewank   0.2357±0.2125  0.2272±0.1644  0.2350±0.1690  0.2085±0.1177
    ucb Hart6      1.0256±0.3498  1.0565±0.3620  1.0868±0.3153  0.9276±0.3307
    ucb Rastrigin  3.3492±3.2602  3.6975±2.7991  3.5124±2.4124  3.0077±2.3245
    ucb SVM_wine   0.6182±0.0029  0.6186±0.0030  0.6186±0.0036  0.6189±0.0042
    ucb NN_wine    0.9149±0.0004  0.9151±0.0005  0.9151±0.0004  0.9151±0.0004
    ucb NN_cancer  0.9585±0.0006  0.9589±0.0006  0.9589±0.0006  0.9590±0.0006
    ucb NN_housing 8.6733±1.6916  8.6776±1.7149  9.0691±1.8656  8.7216±1.8076
    pi  Dropwave   0.1526±0.1534  0.1221±0.1462  0.1251±0.1355  0.1457±0.1539
    pi  Griewank   0±0            0±0            0±0            0±0
    pi  Hart6      0.5795±0.2959  0.4558±0.1048  0.5599±0.0982  0.5500±0.2529
    pi  Rastrigin  0.0524±0.2285  0.0524±0.2285  0±0            0.0524±0.2285
    pi  SVM_wine   0.6192±0.0037  0.6176±0.0025  0.6204±0.0050  0.6208±0.0053
    pi  NN_wine    0.9140±0.0011  0.9143±0.0006  0.9140±0.0008  0.9138±0.0008
    pi  NN_cancer  0.9571±0.0024  0.9578±0.0020  0.9576±0.0024  0.9574±0.0024
    pi  NN_housing 7.5570±1.4822  7.9702±1.4000  7.8585±1.5515  7.6147±1.3592
    ei  Dropwave   0.2557±0.1720  0.1924±0.0818  0.2307±0.1461  0.2276±0.1752
    ei  Griewank   0.3098±0.1722  0.3028±0.1005  0.3187±0.1594  0.2729±0.1471
    ei  Hart6      0.6652±0.2685  0.6050±0.2328  0.6028±0.1656  0.6828±0.3081
    ei  Rastrigin  3.3069±2.4955  2.6602±2.2063  3.0492±1.5602  3.1987±2.3818
    ei  SVM_wine   0.6189±0.0037  0.6182±0.0035  0.6198±0.0037  0.6179±0.0034
    ei  NN_wine    0.9149±0.0006  0.9150±0.0005  0.9150±0.0004  0.9148±0.0005
    ei  NN_cancer  0.9587±0.0006  0.9589±0.0006  0.9588±0.0006  0.9587±0.0006
    ei  NN_housing 8.1780±1.8382  8.0277±1.3844  8.0471±1.5024  8.1992±1.7971
"""
ROWS = [line.split() for line in PRINTED.strip().splitlines()]
TITLES = {name.lower(): name for _, name, *_ in ROWS}


class Average(NamedTuple):
    """A mean and a standard deviation."""

    mean: float
    sd: float

    def __str__(self) -> str:
        return "±".join("0" if value == 0.0 else f"{even(value):.{DECIMALS}f}" for value in self)


TABLE = {
    (name.lower(), acquisition, variant): Average(*map(float, cell.split("±")))
    for acquisition, name, *cells in ROWS
    for variant, cell in zip(COLUMNS, cells, strict=True)
}


def even(value: float) -> float:
    """The value without rounding error from the order of a sum, so that 0.65375 always prints the same."""
    return round(value, 12)


def published(problem: str, acquisition: Acquisition, variant: Variant) -> Average | None:
    """What the paper reports, if it does; for a public ancestor, of the problem that came of it."""
    return TABLE.get((ANCESTOR_OF.get(problem, problem), acquisition, variant))


def no_worse(mean: float, plain: float, regret: bool) -> bool:
    """Whether the paper prints a mean in bold: no worse than that of plain BO, as far as its digits show."""
    mean, plain = round(even(mean), DECIMALS), round(even(plain), DECIMALS)
    return mean <= plain if regret else mean >= plain


def title(problem: str) -> str:
    """The name of a problem as the paper writes it."""
    base = problem.removesuffix("_shifted")
    return TITLES.get(base, base) + (" shifted" if base != problem else "")
