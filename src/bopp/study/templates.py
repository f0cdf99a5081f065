"""Templates: the files with which a newcomer begins."""

TEMPLATE = """\
# A study of bopp: what to try, how to judge it, and how often. Run it with:  bopp run study.toml

[study]
name = "my study"
store = "sqlite:///study.db"   # where trials are kept; a file beside this one, or postgresql://...
direction = "minimize"         # or "maximize"
budget = 50                    # evaluations in total, over all runs and workers
seed = 0                       # another seed, another search; "random" draws one
# recipe = "random"            # or "paper-ucb", ...; without it bopp's default, kept with the study
workers = 1                    # evaluations at the same time
# start_method = "spawn"       # how processes are started: "fork", "spawn" or "forkserver"
# trial_timeout = 600.0        # seconds for one evaluation, which fails after that; without it no limit
# time_limit = 3600.0          # seconds for one run, which starts no evaluation after that
# target = -9.0                # stop as soon as a trial is this good
lease = 60.0                   # seconds after which the trial of a worker that fell silent goes to another
# failures = "continue"        # do not stop where the first three evaluations fail alike
# fidelities = { epochs = [1, 9, 81] }   # a parameter more: short evaluations come cheaper, the last is real
#
# In place of direction, objectives that are returned or printed by name, as {"error": 0.1, "time": 3.5}:
#   objectives = { error = "minimize", time = "minimize" }
#   reference = { error = 0.5, time = 60.0 }   # values that are worth nothing any more; not needed

[objective]                    # leave it out for experiments by hand, with bopp ask and bopp tell
python = "objective:loss"      # the function loss in objective.py, beside this file

# Or any program. An argument {name} or --option={name} becomes the value of a parameter, {params} all of them
# as JSON. The value is the last line that it prints, one number alone, or a line {"value": 0.25}; an exit
# code other than 0 is a failure.
# command = "python train.py --rate={rate} --momentum={momentum} --warmup={warmup} --method={method}"
# shell = false                # true: let /bin/sh run it; values are then in "$BOPP_PARAM_rate" and so on
# stdin = false                # true: give it all parameters as JSON on standard input

[space]
rate = { type = "float", low = 1e-4, high = 0.1, log = true }   # log: factors matter, not differences
momentum = { type = "float", low = 0.0, high = 0.95 }
warmup = { type = "int", low = 0, high = 50 }                   # both ends included
method = { type = "choice", options = ["heavy ball", "nesterov"], ordered = false }   # true: by their order
# A number may have a step = 0.5, and any parameter a when = { method = ["nesterov"] }: it is there only then.
# { type = "fixed", value = 30 } is passed on and not searched for.

# What must be met: a value that is returned or printed by name beside the others, a sum of parameters, or
# whatever a function of the parameters says; the latter two are known before an evaluation, and kept to.
# [[constraint]]
# name = "memory"
# at_most = 16.0                # or at_least, or both
# [[constraint]]
# linear = { momentum = 1.0, rate = 5.0 }   # momentum + 5 rate
# at_most = 1.0                 # or at_least, or equals
# [[constraint]]
# name = "short enough"
# python = "objective:short"    # of the parameters, true or false

# What you know but did not measure. It is weighed against the trials: what they speak against is ignored.
# [[knowledge]]
# kind = "guesses"
# near = { momentum = 0.9 }    # where the best setting probably is; or good = { rate = [0.01, 0.1] }
# [[knowledge]]
# kind = "earlier"
# store = "last-month.db"      # the studies in it; without this table: bopp run --earlier last-month.db
# Other kinds: "images" (exchange, mirror, period), "cheap" (csv or python), "limits" (at_least, at_most).
"""

OBJECTIVE_TEMPLATE = """\
from math import log10


def loss(params):
    \"\"\"How far from the best point 50 steps of gradient descent end, as a power of ten.\"\"\"
    x, y, dx, dy = 1.0, 1.0, 0.0, 0.0
    for step in range(50):
        momentum = params["momentum"] if step >= params["warmup"] else 0.0
        ahead = momentum if params["method"] == "nesterov" else 0.0
        dx = momentum * dx - params["rate"] * (x + ahead * dx)  # the slope of (x*x + 20*y*y) / 2
        dy = momentum * dy - params["rate"] * 20 * (y + ahead * dy)
        x, y = x + dx, y + dy
    return log10((x * x + 20 * y * y) / 2 + 1e-12)
"""
