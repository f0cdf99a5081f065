"""The tool behind `make mutants`; its runs are too long for a test."""

from __future__ import annotations

import ast

from support import mutants
from support.documents import ROOT

SOURCE = '''
def clamp(x, low=0):
    """A docstring with 1 + 1."""
    if x is None or not low < x:
        raise ValueError("x + 1")
    log.info(x + 1)
    return x
'''


def test_operators_change_code_and_leave_messages_alone() -> None:
    found = mutants.candidates(SOURCE)
    assert found == {
        2: [("constant", "def clamp(x, low=1):")],
        4: [
            ("negate condition", "if not (x is None or not low < x):"),
            ("boolean", "if x is None and (not low < x):"),
            ("compare", "if x is not None or not low < x:"),
            ("remove not", "if x is None or (low < x):"),
            ("compare", "if x is None or not low <= x:"),
        ],
        7: [("return None", "return None")],
    }


def test_mutants_are_seeded_found_by_their_text_and_valid() -> None:
    made = mutants.make(ROOT, 44, seed=1)
    assert made == mutants.make(ROOT, 44, seed=1) != mutants.make(ROOT, 44, seed=2)
    assert [one.area for one in made] == ["storage"] * 16 + ["codec"] * 10 + ["engine"] * 18
    for mutant in made:
        place = mutant.locate(ROOT)
        assert place == (ROOT / mutant.path, mutant.number - 1)
        source = place[0].read_text()
        assert ast.dump(ast.parse(mutant.apply(source, place[1]))) != ast.dump(ast.parse(source))


def test_every_module_that_is_mutated_exists() -> None:
    for _, modules in mutants.AREAS.values():
        assert all(list((ROOT / "src/bopp").glob(f"{one}.py")) for one in modules.split())
