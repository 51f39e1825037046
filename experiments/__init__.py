"""The paper's experiments: all tables and figures, by `python -m experiments`."""
