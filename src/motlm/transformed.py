"""Features that a scikit-learn transformer makes of the columns, for models to see beside them.

The transformer sees the columns in standard units, and is fitted once, to all rows of a fit. What
its outputs depend on is found by trying, so that contributions can be told of columns: an output of
one column is a part of what that column adds, outputs of several columns are a term of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import hash as hash_of
from sklearn.base import clone

from ._typing import Array, Booleans
from .errors import InputError

__all__ = ["Transformed", "fit_transformer", "is_transformer", "name_term"]

MOST = 2000  # outputs
_PROBES = 64  # rows at which outputs are looked at for the columns that change them
_SAME = 1e-9  # of its size, by which an output that depends on a column changes at least
_SHOWN = 3  # columns that a term is named by


def is_transformer(given: Any) -> bool:
    """Whether it can be fitted, and makes features."""
    return (
        hasattr(given, "fit") and hasattr(given, "transform") and not isinstance(given, (str, type))
    )


@dataclass(frozen=True, eq=False)
class Transformed:
    """A fitted transformer.

    Attributes
    ----------
    transformer : object
    center, factor : ndarray, (n_encoded,)
        Of the columns that it sees: it sees ``(x - center) * factor``.
    seen : ndarray of bool, (n_encoded,)
        Which columns.
    kept : ndarray of int
        Which of its outputs are features: neither constant nor a column once more.
    names : tuple of str
        Of these.
    sources : tuple of tuple of int
        The encoded columns that each depends on.
    middle : ndarray
        The mean of each among the training rows; it is subtracted.
    scale : float
        By which all are then multiplied, so that together they vary as the columns do.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> from motlm.transformed import fit_transformer
    >>> rng = np.random.default_rng(0)
    >>> X, varies = rng.normal(size=(50, 2)), np.array([True, True])
    >>> made = fit_transformer(PolynomialFeatures(2), X, np.ones(50), varies, ("a", "b"), rng)
    >>> made.names, made.sources
    (('a^2', 'a b', 'b^2'), ((0,), (0, 1), (1,)))
    """

    transformer: Any
    center: Array
    factor: Array
    seen: Booleans
    kept: Any
    names: tuple[str, ...]
    sources: tuple[tuple[int, ...], ...]
    middle: Array
    scale: float

    def __len__(self) -> int:
        return len(self.names)

    @property
    def name(self) -> str:
        """Of the transformer, as users know it."""
        return type(self.transformer).__name__

    def values(self, encoded: Array) -> Array:
        """(n_rows, n_outputs), of rows in the user's units."""
        if not len(encoded):
            return np.empty((0, len(self)))
        made = _transform(self.transformer, self._see(encoded))
        return (made[:, self.kept] - self.middle) * self.scale

    def _see(self, encoded: Array) -> Array:
        return ((encoded - self.center) * self.factor)[:, self.seen].astype(float)

    def terms(self, owner: Sequence[int]) -> list[tuple[tuple[int, ...], list[int]]]:
        """The outputs by the columns of the user that they depend on: these columns, and the
        outputs. `owner` has the user's column of each encoded one.
        """
        found: dict[tuple[int, ...], list[int]] = {}
        for k, columns in enumerate(self.sources):
            found.setdefault(tuple(sorted({owner[j] for j in columns})), []).append(k)
        return list(found.items())

    @cached_property
    def digest(self) -> str:
        return str(hash_of(self.transformer))

    def content(self) -> dict[str, Any]:
        """All that it is computed from; of the transformer, a hash."""
        return {
            "transformer": f"{type(self.transformer).__module__}.{self.name}",
            "digest": self.digest,
            "center": self.center,
            "factor": self.factor,
            "seen": self.seen,
            "kept": self.kept,
            "middle": self.middle,
            "scale": self.scale,
        }


def _transform(transformer: Any, rows: Array) -> Array:
    made = transformer.transform(rows)
    if hasattr(made, "toarray"):
        made = made.toarray()
    try:
        found = np.asarray(made, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"local_models={type(transformer).__name__} must make numbers: {error}."
        ) from None
    if found.ndim != 2 or len(found) != len(rows):
        raise InputError(
            f"local_models={type(transformer).__name__} must make a row of features for each row;"
            f" of {rows.shape[0]} rows it made an array of shape {found.shape}."
        )
    if not np.isfinite(found).all():
        raise InputError(
            f"local_models={type(transformer).__name__} made features that are not finite numbers."
        )
    return found


def fit_transformer(
    transformer: Any,
    encoded: Array,
    weight: Array,
    varies: Booleans,
    names: Sequence[str],
    rng: np.random.Generator,
) -> Transformed | None:
    """Fit it to these rows, as numbers in the user's units; None where it makes nothing new.
    Without a random_state of its own it draws by `rng`.
    """
    share = weight / weight.sum()
    center = share @ encoded
    spread = np.sqrt(share @ (encoded - center) ** 2)
    factor = np.divide(1.0, spread, out=np.zeros(len(spread)), where=varies & (spread > 0))
    seen = varies & (factor > 0)
    fitted, label = _seeded(clone(transformer), rng), type(transformer).__name__
    rows = ((encoded - center) * factor)[:, seen].astype(float)
    try:
        fitted.fit(rows)
    except TypeError as error:
        raise InputError(
            f"local_models={label} could not be fitted without targets: {error}.",
            "Use a transformer that needs none, such as Nystroem or SplineTransformer.",
        ) from None
    made = _transform(fitted, rows)
    if made.shape[1] > MOST:
        raise InputError(
            f"local_models={label} makes {made.shape[1]} features; at most {MOST} can be fitted.",
            "Ask it for fewer: a lower degree, fewer components or knots.",
        )
    middle = share @ made
    deviation = np.sqrt(share @ (made - middle) ** 2)
    new = deviation > _SAME * (1.0 + np.abs(middle))
    normal = (made - middle)[:, new] / deviation[new]
    alike = np.abs((normal * share[:, None]).T @ rows) > 1.0 - _SAME
    kept = np.flatnonzero(new)[~alike.any(axis=1)]
    if not len(kept):
        return None
    places = [int(j) for j in np.flatnonzero(seen)]
    sources = _sources(fitted, rows, made)[:, kept]
    return Transformed(
        transformer=fitted,
        center=center,
        factor=factor,
        seen=seen,
        kept=kept,
        names=_names(fitted, [names[j] for j in places], made.shape[1], kept),
        sources=tuple(
            tuple(j for j, depends in zip(places, one, strict=True) if depends) for one in sources.T
        ),
        middle=middle[kept],
        scale=float(np.sqrt(seen.sum() / (deviation[kept] ** 2).sum())),
    )


def _seeded(transformer: Any, rng: np.random.Generator) -> Any:
    """With a number for each random_state that is None, its steps' too."""
    settings = transformer.get_params(deep=True)
    open_ones = [
        name
        for name in sorted(settings)
        if name.split("__")[-1] == "random_state" and settings[name] is None
    ]
    if open_ones:
        transformer.set_params(**{name: int(rng.integers(2**31)) for name in open_ones})
    return transformer


def _sources(fitted: Any, rows: Array, made: Array) -> Booleans:
    """(n_columns, n_outputs): whether an output changes where a column alone changes, to what it
    is in other rows; among them those where an output is largest or smallest. An output of which
    nothing was found counts as one of all columns.
    """
    ends = (np.linspace(0, len(rows) - 1, _PROBES).astype(int), made.argmax(0), made.argmin(0))
    some = np.unique(np.concatenate(ends))
    size = _SAME * (1.0 + np.abs(made[some]))
    found = np.zeros((rows.shape[1], made.shape[1]), dtype=bool)
    for j in range(rows.shape[1]):
        for step in (1, len(some) // 2):
            other = rows[some].copy()
            other[:, j] = np.roll(other[:, j], step)
            found[j] |= (np.abs(_transform(fitted, other) - made[some]) > size).any(axis=0)
    return np.asarray(found | ~found.any(axis=0))


def _names(fitted: Any, columns: list[str], count: int, kept: Any) -> tuple[str, ...]:
    """Of the outputs, as the transformer names them; else numbered."""
    try:
        found = [str(one) for one in fitted.get_feature_names_out(columns)]
    except (AttributeError, TypeError, ValueError):
        found = []
    if len(found) != count:
        found = [f"{type(fitted).__name__.lower()}{k}" for k in range(count)]
    return tuple(found[k] for k in kept)


def name_term(columns: Sequence[str], transformer: str) -> str:
    """Of the outputs of several columns: "age & power", or "Nystroem of 8 columns"."""
    if len(columns) <= _SHOWN:
        return " & ".join(columns)
    return f"{transformer} of {len(columns)} columns"
