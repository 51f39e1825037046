"""The paper's experiments: every table and figure, by `python -m experiments`."""
