"""Prose: what the report says in words, and no number that was measured."""

INTRODUCTION = """\
How good is bopp, beside what else there is? This page is made by one command from records that are in the
repository, so that every number can be checked: `python benchmarks/bench.py` makes the records, `python
benchmarks/contest_report.py` makes the page.

**The procedure.** Every peer minimises the same tasks. A task has a seed, and with it a few given points, the
beginning of a scrambled Sobol sequence, which every peer is told first and which count as evaluations. The
same seed goes to the optimizer and makes the noise, so that all comparisons are paired. Each run is a process
of its own with one thread. Peers run as their libraries come, with their own defaults, except that the given
points take the place of their own random beginnings; bopp, too, runs as it comes. Nothing is set for a task
or a group. Those whose interface asks for the budget, or for whether values carry noise, are told; bopp is
told neither. CPU seconds are those of asking and telling, without the evaluations; other jobs shared the
machine, so they are only roughly comparable: [speed.md](speed.md) measures time.

**What was chosen on what.** The settings of bopp's default were chosen on tasks that are not on this page: on
BBOB's instances 1 to 3, where this page has 4 and 5, and in the other groups on other instances, functions
or data sets; [decisions.md](decisions.md) has what was tried. The priors of length-scales and noise, and the
power by which values are bent, are older: they were chosen on six classic functions, of which BBOB has
Rosenbrock's, as f08 and, rotated, as f09. On the models of the paper nothing was chosen. An instance shifts
and rotates its function: the tasks of this page are new, the 24 functions of BBOB are not, and they were made
by people who study optimizers: many are bowls underneath, which bopp's trend looks for. This page had been
made once when the default got its second look at noise and its shorter ascents in mixed spaces. They, too,
were chosen on the other tasks, and bopp's runs were made anew, but by people who had seen that page. The
peers had no such preparation here.

**Who is missing.** HEBO, which did not install within ten minutes, and Optuna's AutoSampler, which Optuna 5.0
does not contain. Peers that are slow, or cannot work on some spaces, ran on fewer tasks: [who ran on
less](#who-ran-on-less) says which and why. They are compared in tables of their own, on the tasks that they
have, together with all who ran on everything.

**How to read it.** The regret is the gap between the best true value so far and the optimum, at least 1e-8;
one dex is a factor of ten in it. Where nobody knows the optimum, it is the gap to the best value that anybody
found on the same problem, as a share of the gap that the given points left, at least 1e-3. Where all
evaluations so far crashed, a run counts as the worst first value of the runs on its task. A rank is 1 for the
best of those in the table; who ties, shares. In the duels a negative difference says that bopp's regret is
lower. Intervals are 95 % bootstrap intervals of the mean; they draw functions or data sets, not tasks, as the
instances and dimensions of one function are not independent. With fewer than about eight of them an interval
is too narrow, and says little. In spaces of whole numbers and options the optimum may be hit exactly, which
counts as 1e-8 and weighs much in a mean: the ranks are the safer reading there.

**Where a lead comes from.** A mean over functions may be the work of a few. Each group therefore says how
much of bopp's lead over each peer, if they met on five kinds (functions or data sets) at least, is that of
the two kinds that favour bopp most, and what is left without them. More than 100 % says that all others
together favour the peer. Taking away the best two is harsh, and meant to be: what is left does not hang on
them. BBOB's f01 is a sphere and its f05 a plane, just what bopp's trend is made of: there a regret may be
lower by many powers of ten, which weighs much in a mean. In the tables kind by kind the interval of a kind
takes its tasks as independent, and they are few; that of two or three is merely the lowest and the highest
of them."""

ABOUT = {
    "bbob": "The 24 noiseless functions of BBOB, real parameters.",
    "mixed-integer": "The 24 functions of COCO's suite bbob-mixint, four of five parameters whole numbers.",
    "tables": "Networks trained by others in every setting, looked up: nine parameters, all of them options.",
    "noise": "BBOB functions whose told values carry noise, Gaussian or with heavy tails. The regret is that "
    "of the best true value among the points evaluated, which the optimizer itself cannot see.",
    "crash": "BBOB functions that give no value in a fifth of the box.",
    "irrelevant": "BBOB functions with parameters that do nothing.",
    "tuning": "Models of scikit-learn to be tuned on real data.",
    "paper": "The models of the paper, on its data and its scales.",
    "high": "BBOB functions with many parameters.",
}
DERIVED = ("noise", "crash", "irrelevant", "high")  # groups of functions that bbob has as they are
PLAIN = "As bbob has them, in other instances, these functions were chosen on."
OPTIMIZERS = {
    "bopp": "this library",
    "gpsampler": "Optuna's GPSampler, a Gaussian process",
    "tpe": "Optuna's TPESampler, its default",
    "botorch": "BoTorch's SingleTaskGP with log expected improvement, the noisy one where values carry noise",
    "turbo": "TuRBO-1 as in BoTorch's tutorial, for many parameters",
    "smac-bb": "SMAC's BlackBoxFacade, a Gaussian process",
    "smac-hpo": "SMAC's HyperparameterOptimizationFacade, a random forest",
    "skopt": "scikit-optimize's Optimizer, a Gaussian process",
    "cmaes": "CMA-ES of the package cmaes, from the best of the given points",
    "ngopt": "nevergrad's NGOpt, which chooses an optimizer by space and budget",
    "sobol": "no model: more points of the Sobol sequence",
}
