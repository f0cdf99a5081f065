"""The paper's problems, experiment, table, figures and theory."""
