"""The compiled engine: the objective, its gradient, and the searches over them, in machine code.

Importing it imports Numba, so that the rest of the package does so only when a fit begins.
"""

__all__: list[str] = []
