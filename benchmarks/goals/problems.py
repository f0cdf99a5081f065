"""Which problems there are: those of the table, and others on which settings may be chosen."""

from goals.choosing import CHOOSING
from goals.constrained import CONSTRAINED
from goals.objectives import OBJECTIVES
from goals.problem import Problem

PARTS: dict[str, list[Problem]] = {"table": [*CONSTRAINED, *OBJECTIVES], "choosing": CHOOSING}
PROBLEMS: dict[str, Problem] = {problem.name: problem for part in PARTS.values() for problem in part}
