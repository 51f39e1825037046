"""How distances from a place are measured, and how the places within a radius are written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS
from sklearn.neighbors import VALID_METRICS

from ._typing import Array, Integers
from .errors import InputError
from .inputs import Inputs
from .limits import SMALLEST
from .units import moments

__all__ = ["GOWER", "Locus", "Metric"]

GOWER = "gower"
"""The mean over the user's columns of |gap| / range for numbers and 0 or 1 for categories."""

_NORMS = {
    "euclidean": "euclidean",
    "l2": "euclidean",
    "minkowski": "euclidean",  # with its p = 2
    "seuclidean": "euclidean",  # with weights
    "manhattan": "manhattan",
    "l1": "manhattan",
    "cityblock": "manhattan",
    "chebyshev": "chebyshev",
    "mahalanobis": "quadratic",
    GOWER: "manhattan",  # with weights that depend on the point
}
_ARGUMENTS = {"seuclidean": "V", "mahalanobis": "VI", GOWER: "share"}
_VARIANCES = 1e-300, 1e300  # which have an inverse
_ASYMMETRY = 1e-6  # relative, of a matrix whose inverse was computed
_AT_ONCE = 8192  # rows whose distances are computed at once


@dataclass(frozen=True, eq=False)
class Locus:
    """Where a locality lies, as exports write it down: within `radius` of a center by some norm.

    The distance is sqrt(sum weight gap^2), sum weight |gap|, max weight |gap| or
    sqrt(gap' matrix gap) over some standardized columns.
    """

    norm: str  # "euclidean", "manhattan", "chebyshev", "quadratic", or "" for none of them
    columns: Integers  # the encoded columns that it looks at
    center: Array  # (n_columns,)
    radius: float
    weight: Array | None = None  # (n_columns,); None: 1
    matrix: Array | None = None  # (n_columns, n_columns), of "quadratic"

    def squared_distance(self, point: Array) -> float:
        """Of a point in all standardized columns from the center."""
        gap = point[self.columns] - self.center
        if self.norm == "quadratic" and self.matrix is not None:
            return float(gap @ self.matrix @ gap)
        weight = np.ones(len(gap)) if self.weight is None else self.weight
        if self.norm == "manhattan":
            return float(weight @ np.abs(gap)) ** 2
        if self.norm == "chebyshev":
            return float((weight * np.abs(gap)).max(initial=0.0)) ** 2
        return float(weight @ gap**2)

    def cut(self, shown: Sequence[int], place: Array) -> Array | None:
        """Of a Euclidean locus, where the columns but those shown are held at a place: the
        half-widths of the ellipse along these, sqrt(room / weight), where room is what the others
        leave of the squared radius; infinite along a column that it does not look at. None where
        nothing is left.
        """
        weight, gap = np.zeros(len(place)), np.zeros(len(place))
        weight[self.columns] = 1.0 if self.weight is None else self.weight
        gap[self.columns] = place[self.columns] - self.center
        gap[list(shown)] = 0.0
        room = self.radius**2 - float(weight @ gap**2)
        if room <= 0:
            return None
        seen = weight[list(shown)]
        ratio = np.divide(room, seen, out=np.full(len(seen), np.inf), where=seen > 0)
        return np.asarray(np.sqrt(ratio))

    def is_ball(self, counted: Any) -> bool:
        """Whether it is a plain Euclidean ball in all columns that are not ignored."""
        return (
            self.norm == "euclidean"
            and self.weight is None
            and np.array_equal(self.columns, np.flatnonzero(counted))
        )


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric between standardized rows, with what it takes from the training rows."""

    name: Any
    arguments: dict[str, Array] = field(default_factory=dict)
    # of "gower": where the encoded columns of each category begin and end, and the standardized
    # value from which on a level is there
    levels: tuple[tuple[int, int], ...] = ()
    half: Array | None = None

    @property
    def text(self) -> str:
        """Its name; of a function, the module and name by which it can be found."""
        if isinstance(self.name, str):
            return self.name
        module = getattr(self.name, "__module__", "")
        return f"{module}.{getattr(self.name, '__qualname__', type(self.name).__name__)}"

    @property
    def norm(self) -> str:
        """How it is written down; "" where it cannot be."""
        return _NORMS.get(self.name, "") if isinstance(self.name, str) else ""

    def fit(self, Z: Array, weight: Array, inputs: Inputs | None = None) -> Metric:
        """Some metrics have scales of their own, which scikit-learn would take anew from whatever
        rows it is given.
        """
        share = weight / weight.sum()
        if self.text == "seuclidean":
            variance = moments(Z, share)[1] ** 2
            scales = np.where(variance >= SMALLEST, variance, 1.0).astype(float)
            return replace(self, arguments={"V": scales})
        if self.text == "mahalanobis":
            covariance = np.atleast_2d(np.cov(Z, rowvar=False, aweights=share, ddof=0))
            tiny = np.diag(covariance) < SMALLEST  # too small to be inverted
            covariance[tiny] = covariance[:, tiny] = 0.0
            return replace(self, arguments={"VI": np.linalg.pinv(covariance).astype(float)})
        if self.text == GOWER and inputs is not None:
            return self._know(inputs, {"share": _shares(Z, inputs)})
        return self

    def _know(self, inputs: Inputs, arguments: dict[str, Array]) -> Metric:
        """With the categories of a table."""
        levels = tuple(
            (one.columns.start, one.columns.stop) for one in inputs.groups if one.levels is not None
        )
        half = (0.5 - inputs.units.center) * inputs.units.inverse_scale
        return replace(self, arguments=arguments, levels=levels, half=half)

    def weights_at(self, point: Array) -> Array | None:
        """Of "gower", for distances from this point: sum weight |gap| over the encoded columns.

        Of a category the distance is 0 at the point's own level and 1 at others. That is the gap in
        the column of its level, or, of the level that has none, the sum of those in all.
        """
        share = self.arguments.get("share")
        if share is None or self.half is None:
            return None
        weight = share.copy()
        for start, stop in self.levels:
            own = start + np.flatnonzero(point[start:stop] > self.half[start:stop])
            if len(own):
                weight[start:stop] = 0.0
                weight[own] = share[own]
        return weight

    def distances(self, Z: Array, points: Array) -> Array:
        """(n_rows, n_points)"""
        if len(points) == 0:
            return np.empty((len(Z), 0))
        try:
            distance = self._measure(Z, points)
        except (ValueError, TypeError) as error:
            raise InputError(
                f"metric={self.name!r} gave no distances between rows ({error}). Give a name that"
                " scikit-learn's pairwise_distances knows, 'gower', or a function of two rows."
            ) from error
        if not (np.isfinite(distance).all() and (distance >= 0).all()):
            raise InputError(
                f"metric={self.name!r} gave distances that are negative or not finite; a distance"
                " must be a number >= 0."
            )
        return distance

    def _measure(self, Z: Array, points: Array) -> Array:
        if self.text != GOWER:
            measured = pairwise_distances(Z, points, metric=self.name, **self.arguments)
            return np.asarray(measured, dtype=float)
        distance = np.zeros((len(Z), len(points)))
        for k, point in enumerate(points):
            weight = self.weights_at(point)
            assert weight is not None
            for j in np.flatnonzero(weight):
                distance[:, k] += weight[j] * np.abs(Z[:, j] - point[j])
        return distance

    def distances_by_column(self, Z: Array, points: Array, unit: float = 1.0) -> Array:
        """The same in some units, each point's numbers side by side, with little memory beside."""
        found = np.empty((len(Z), len(points)), order="F")
        for start in range(0, len(Z), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            np.divide(self.distances(Z[part], points), unit, out=found[part])
        return found

    def content(self) -> dict[str, Any]:
        return {"name": self.text, "arguments": dict(self.arguments)}

    @classmethod
    def read(cls, read: Any, inputs: Inputs) -> Metric:
        n_encoded = len(inputs.varies)
        name, arguments = read.text("name"), read.part("arguments")
        wanted = {_ARGUMENTS[name]} if name in _ARGUMENTS else set()
        known = {*PAIRWISE_DISTANCE_FUNCTIONS, *VALID_METRICS["brute"], "matching", GOWER}
        if name == "precomputed" or name not in known or set(arguments.content) != wanted:
            raise read.fail("name", "a metric that scikit-learn knows, with its arguments", name)
        shapes = {"V": (n_encoded,), "VI": (n_encoded, n_encoded), "share": (n_encoded,)}
        found = {key: arguments.array(key, shapes[key]) for key in sorted(wanted)}
        for key, value in found.items():
            if key == "share" and not ((value >= 0) & (value <= _VARIANCES[1])).all():
                raise arguments.fail(key, "shares of columns, at least 0", value)
            if key != "share" and not _is_scale(value):
                raise arguments.fail(key, "positive variances, or their inverse", value)
        read.done()
        return cls(name, found)._know(inputs, found) if name == GOWER else cls(name, found)


def _shares(Z: Array, inputs: Inputs) -> Array:
    """(n_encoded,): what a standardized unit of each column adds to Gower's distance. Columns that
    are constant are not counted.
    """
    found, counted = np.zeros(len(inputs.varies)), inputs.counted
    groups = [one for one in inputs.groups if counted[one.columns].any()]
    for group in groups:
        for j in range(group.columns.start, group.columns.stop):
            width = float(Z[:, j].max() - Z[:, j].min())
            if group.levels is not None:
                width = float(inputs.units.inverse_scale[j])
            if counted[j] and width > 0:
                found[j] = 1.0 / (width * len(groups))
    return found


def _is_scale(value: Array) -> bool:
    """Whether these are variances, or a symmetric matrix that measures no negative distance."""
    if value.ndim == 1:
        return bool(((value >= _VARIANCES[0]) & (value <= _VARIANCES[1])).all())
    size = float(np.abs(value).max(initial=0.0))
    if not size or size > _VARIANCES[1] or np.abs(value - value.T).max() > _ASYMMETRY * size:
        return not size
    try:  # which takes a positive matrix
        np.linalg.cholesky(0.5 * (value + value.T) / size + _ASYMMETRY * np.eye(len(value)))
    except np.linalg.LinAlgError:
        return False
    return True
