"""Attacks on what motlm reads, runs and writes: `python -m tests.attack --minutes 5`.

Each kind of attack makes random cases from a seed, and judges what the library makes of them. What
is attacked, and what counts as a finding, is described in docs/reliability.md.
"""
