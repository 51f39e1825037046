"""Where rows live, and how they come in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from ._typing import AnyArray, Array, Booleans, Integers

__all__ = ["Distinct", "Rows", "distinct_rows", "group_equally", "held_out", "mix"]


@dataclass(frozen=True)
class Rows:
    """Rows as the objective reads them. The models' features and the metric's coordinates are two
    things, even where equal.

    With given centers the distances are given and the coordinates are not looked at.
    """

    features: Array  # (n_rows, n_features), what the linear models see
    features_norm2: Array  # (n_rows,), |x|^2
    coordinates: Array  # (n_rows, n_coordinates), where the row lies
    coordinates_norm2: Array  # (n_rows,)
    distance: Array  # (n_rows, n_localities) to known centers; (n_rows, 0) where they are learned
    target: Array  # (n_rows,)
    weight: Array  # (n_rows,)
    unweighted: bool = False  # whether all weights are 1

    @classmethod
    def of(
        cls,
        features: Array,
        target: Array,
        weight: Array | None = None,
        distance: Array | None = None,
        coordinates: Array | None = None,
    ) -> Rows:
        """Rows whose coordinates are their features, unless they are given."""
        norm2 = _squared_norms(features)
        if weight is None:
            weight = np.ones(len(features))
        if distance is None:
            distance = np.empty((len(features), 0))
        unweighted = bool(np.all(weight == 1.0))
        where, where_norm2 = features, norm2
        if coordinates is not None and coordinates is not features:
            where, where_norm2 = coordinates, _squared_norms(coordinates)
        return cls(features, norm2, where, where_norm2, distance, target, weight, unweighted)

    def __len__(self) -> int:
        return len(self.features)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name in _KEPT}

    @cached_property
    def total_weight(self) -> float:
        return float(self.weight.sum())

    @cached_property
    def largest_norm2(self) -> float:
        return float(self.features_norm2.max(initial=0.0))

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Of the summed products of the features: its values, (n_features,), and directions, in
        rows.
        """
        features = self.features.astype(float)
        size, ways = np.linalg.eigh(features.T @ (features * self.weight[:, None]))
        return np.maximum(size, 0.0), np.ascontiguousarray(ways.T)

    @cached_property
    def data(self) -> Any:
        """The arrays as the engine takes them: contiguous, not read-only, and the features and
        coordinates by column.
        """
        from ._engine.rows import Data

        arrays = []
        for name in Data._fields:
            value = getattr(self, name)
            if name in ("features", "coordinates"):
                value = value.T
            arrays.append(np.require(value, requirements=["C", "W"]))
        if self.coordinates is self.features:
            arrays[2], arrays[3] = arrays[0], arrays[1]
        return Data(*arrays)

    def astype(self, dtype: Any) -> Rows:
        """The same rows in a floating type."""
        if self.features.dtype == dtype:
            return self
        return self._each(lambda value: value.astype(dtype))

    def blocks(self, size: int) -> Iterator[Rows]:
        for start in range(0, len(self), size):
            yield self.part(slice(start, start + size))

    def part(self, which: Any) -> Rows:
        """Some of the rows. Coordinates that are the features stay so."""
        return self._each(lambda value: value[which])

    def _each(self, change: Callable[[Array], Array]) -> Rows:
        """With each array changed. Coordinates that are the features stay so."""
        parts = {name: change(getattr(self, name)) for name in _KEPT if name != "unweighted"}
        if self.coordinates is self.features:
            parts |= {
                "coordinates": parts["features"],
                "coordinates_norm2": parts["features_norm2"],
            }
        return Rows(**parts, unweighted=self.unweighted)


_KEPT = tuple(field.name for field in fields(Rows))


def _squared_norms(X: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", X, X))


@dataclass(frozen=True)
class Distinct:
    """The distinct rows of a table in an order that depends only on their content and the
    generator.
    """

    first: Integers  # (n_distinct,), index of one row of each kind
    weight: Array  # (n_distinct,), summed weight


def mix(key: AnyArray) -> AnyArray:
    """64-bit numbers with their bits mixed, in place."""
    key ^= key >> np.uint64(29)
    key *= np.uint64(0xBF58476D1CE4E5B9)  # the mixing constant of splitmix64
    key ^= key >> np.uint64(32)
    return key


def distinct_rows(X: Array, target: Array, weight: Array, rng: np.random.Generator) -> Distinct:
    """Merge equal rows, adding their weights, and put the rest in a random order that only their
    content decides.

    So a row of weight 2 is the same thing as the row twice, the order in which rows come does not
    matter, and equal rows never end on both sides of a split.
    """
    table = np.column_stack([X, target]) + 0.0  # + 0.0 turns -0.0 into 0.0
    bits = np.ascontiguousarray(table).view(np.uint64)
    key = np.zeros(len(bits), dtype=np.uint64)
    odd = np.asarray(rng.integers(0, 2**63, size=bits.shape[1], dtype=np.uint64)) * np.uint64(
        2
    ) + np.uint64(1)
    for j in range(bits.shape[1]):
        key = mix((key ^ bits[:, j]) * odd[j])
    order = np.argsort(key, kind="stable")
    ordered = bits[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(new)
    return Distinct(order[starts], np.add.reduceat(weight[order], starts))


def held_out(
    target: AnyArray, fraction: float, stratify: bool, together: Integers | None = None
) -> Booleans | None:
    """Mask of the rows to hold out: the first `fraction` of them (of each class), or of the groups
    of rows that belong together; None where a part would be empty.

    The rows are taken to come in the random order of `distinct_rows`. Weights do not matter: one
    heavy row is one row.
    """
    if together is not None:
        _, first, where = np.unique(together, return_index=True, return_inverse=True)
        order = np.argsort(first)  # of appearance
        some = order[: min(int(np.ceil(fraction * len(order))), len(order) - 1)]
        return np.isin(where, some) if len(some) else None
    mask = np.zeros(len(target), dtype=bool)
    groups = (
        [target == label for label in np.unique(target)]
        if stratify
        else [np.ones(len(target), dtype=bool)]
    )
    for group in groups:
        where = np.flatnonzero(group)
        mask[where[: min(int(np.ceil(fraction * len(where))), len(where) - 1)]] = True
    return None if not mask.any() or mask.all() else mask


def group_equally(values: Array, weight: Array, n_groups: int) -> Integers:
    """The group of each row, from 0, by increasing values: of about equal weight, with rows of one
    value together, so that there may be fewer.
    """
    _, where = np.unique(values, return_inverse=True)
    size = np.bincount(where, weights=weight)
    middle = (np.cumsum(size) - size / 2) / size.sum()
    groups = np.minimum((n_groups * middle).astype(int), n_groups - 1)[where]
    return np.asarray(np.unique(groups, return_inverse=True)[1])
