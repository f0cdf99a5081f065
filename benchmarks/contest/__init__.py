"""A contest of optimizers: bopp and its peers on the same tasks, from the same given points."""
