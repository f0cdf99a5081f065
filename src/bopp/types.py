"""Types: the names in the signatures of bopp, for annotations in your own code.

Array        a NumPy array of float64
Callback     what a run calls after each trial: (optimizer or study, trial) -> true to end the run
Constraint   AtMost, AtLeast, Holds or Linear
Declaration  a space as people write it: a dict of name to parameter, range, list or value; or a Space
Direction    "minimize" or "maximize"
Failures     "stop" or "continue": what to do if the first evaluations fail alike
Function     an objective: takes the params by keyword or as a dict
Knowledge    a source of knowledge, a sum of sources, or a list of policies
Origin       "suggested", "queued" or "observed": where a trial comes from
Policy       a policy of pseudo-points: a function from `Known` to `Data`
State        "asked", "done", "failed" or "dropped": what became of a trial
When         the `when=` of a parameter: a dict of name to the values with which it applies
"""

from bopp.called import Function
from bopp.data import Array
from bopp.optimizer import Knowledge
from bopp.parameter import When
from bopp.problem import Constraint, Declaration, Direction
from bopp.pseudo import Policy
from bopp.run.failures import Policy as Failures
from bopp.run.loop import Callback
from bopp.trial import Origin, State

__all__ = [
    "Array",
    "Callback",
    "Constraint",
    "Declaration",
    "Direction",
    "Failures",
    "Function",
    "Knowledge",
    "Origin",
    "Policy",
    "State",
    "When",
]
