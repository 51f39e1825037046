"""How the losses of the models that apply to a row make one loss: their sum, or whether any of them
errs. With partials.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ._typing import Array
from .limits import flush_to_zero

__all__ = [
    "COMBINATIONS",
    "SUM",
    "AnyErrs",
    "Combination",
    "Combined",
    "Sum",
    "ambiguity",
    "gates",
    "leave_one_out",
]


class Combined(NamedTuple):
    """The loss of each row, and its partials."""

    value: Array  # (n_rows,)
    omega: Array  # (n_localities, n_rows), with respect to the memberships
    losses: Array  # (n_localities + 1, n_rows), with respect to the models' losses


class Combination(Protocol):
    """A function of memberships omega, (n_localities, n_rows), and the models' losses,
    (n_localities + 1, n_rows).
    """

    name: str
    additive: bool  # whether it is the sum of the losses, each times its gate
    code: int  # by which the engine knows it

    def value(self, omega: Array, losses: Array) -> Array: ...

    def value_and_partials(self, omega: Array, losses: Array) -> Combined: ...


@flush_to_zero
def leave_one_out(factors: Array) -> tuple[Array, Array]:
    """The product of all factors along the first axis, and for each of them the product of the
    others.

    By prefix and suffix products, never by a division. The factors are overwritten.

    Parameters
    ----------
    factors : ndarray, (n, n_rows)

    Returns
    -------
    product : ndarray, (n_rows,)
    others : ndarray, (n, n_rows)

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.combinations import leave_one_out
    >>> leave_one_out(np.array([[2.0], [3.0], [0.0]]))
    (array([0.]), array([[0.],
           [0.],
           [6.]]))
    """
    n = len(factors)
    if n == 0:
        return np.ones(factors.shape[1:], dtype=factors.dtype), np.empty_like(factors)
    others = np.empty_like(factors)
    others[0] = 1.0
    for i in range(1, n):
        np.multiply(others[i - 1], factors[i - 1], out=others[i])
    product = others[-1] * factors[-1]
    for i in range(n - 2, -1, -1):  # a factor becomes the suffix product
        others[i] *= factors[i + 1]
        factors[i] *= factors[i + 1]
    return product, others


@flush_to_zero
def gates(omega: Array) -> tuple[Array, Array]:
    """(omega_1, .., omega_n, prod(1 - omega)) along the first axis, and prod over j != i of (1 -
    omega_j) for each i.

    Parameters
    ----------
    omega : ndarray, (n_localities, n_rows)
        Memberships.

    Returns
    -------
    gate : ndarray, (n_localities + 1, n_rows)
    others : ndarray, (n_localities, n_rows)

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.combinations import gates
    >>> gate, others = gates(np.array([[0.5], [0.25]]))
    >>> gate.ravel(), others.ravel()
    (array([0.5  , 0.25 , 0.375]), array([0.75, 0.5 ]))
    """
    gate = np.empty((len(omega) + 1, *omega.shape[1:]), dtype=omega.dtype)
    gate[:-1] = omega
    gate[-1], others = leave_one_out(1.0 - omega)
    return gate, others


class _Compiled:
    """A combination that the engine computes."""

    code: int

    def value(self, omega: Array, losses: Array) -> Array:
        return self.value_and_partials(omega, losses).value

    @flush_to_zero
    def value_and_partials(self, omega: Array, losses: Array) -> Combined:
        from ._engine.entries import combined

        every = (np.array(one, dtype=float, order="C") for one in (omega, losses))
        return Combined(*combined(self.code, *every))


class Sum(_Compiled):
    """sum_i omega_i l_i + l_ext prod_i (1 - omega_i): the paper's. Models that apply together add
    their losses.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.combinations import Sum
    >>> omega = np.array([[1.0, 0.0], [1.0, 0.0]])  # in both balls, in none
    >>> losses = np.array([[0.5, 0.5], [0.5, 0.5], [0.1, 0.1]])  # the last are the exterior model's
    >>> Sum().value(omega, losses)
    array([1. , 0.1])
    """

    name = "sum"
    additive = True
    code = 0


class AnyErrs(_Compiled):
    """1 - prod_i (1 - omega_i l_i) + l_ext prod_i (1 - omega_i): the probability that some
    applicable model errs.

    The losses are probabilities of error, independent under the posterior, as memberships are. It
    lies in [0, 1], is at most the sum, and at least the error of every rule that uses an
    applicable model.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.combinations import AnyErrs
    >>> omega = np.array([[1.0, 0.0], [1.0, 0.0]])  # in both balls, in none
    >>> losses = np.array([[0.5, 0.5], [0.5, 0.5], [0.1, 0.1]])  # the last are the exterior model's
    >>> AnyErrs().value(omega, losses)
    array([0.75, 0.1 ])
    """

    name = "any"
    additive = False
    code = 1


@flush_to_zero
def ambiguity(omega: Array, losses: Array) -> Array:
    """1 - prod(1 - omega_i l_i) - prod(1 - omega_i (1 - l_i)) + prod(1 - omega_i): the probability
    that two applicable models disagree, one right and one wrong. It needs no labels, since right
    and wrong enter alike.

    Parameters
    ----------
    omega : ndarray, (n_localities, n_rows)
        Memberships.
    losses : ndarray, (n_localities + 1, n_rows)
        Probabilities of error; the exterior model's, in the last row, have no part in it.

    Returns
    -------
    ndarray, (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.combinations import ambiguity
    >>> omega = np.array([[1.0, 0.0], [1.0, 0.0]])  # in both balls, in none
    >>> losses = np.array([[0.5, 0.5], [0.5, 0.5], [0.1, 0.1]])  # the last are the exterior model's
    >>> ambiguity(omega, losses)
    array([0.5, 0. ])
    """
    inside = losses[:-1]
    some_wrong = 1.0 - np.prod(1.0 - omega * inside, axis=0)
    return np.asarray(
        some_wrong - np.prod(1.0 - omega * (1.0 - inside), axis=0) + np.prod(1.0 - omega, axis=0)
    )


SUM = Sum()
COMBINATIONS: dict[str, Combination] = {one.name: one for one in (SUM, AnyErrs())}
