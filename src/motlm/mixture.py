"""The fitted model: one frozen `Mixture`, from which everything else is made.

`fit` builds it and assigns it once. Predictions, explanations, certificates, exports, files,
pictures and the report look at rows through its one pass, `view`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._frozen import lock, read_only
from ._typing import AnyArray, Array, Booleans, Integers
from .errors import InputError, InputTypeError
from .fingerprints import Fingerprint
from .frames import has_missing
from .geometry import Geometry, Locus
from .inputs import Inputs
from .limits import power_of_two
from .localities import Exterior, Locality, LocalModel, Outputs, Shape, factor_units
from .lookup import Table, memberships
from .missing import BEYOND, put_far
from .objective import in_passing
from .optimize import Record
from .overlap import Overlap, apply_to, contain
from .posterior import Posterior, Prior
from .routine import Curve, Routine
from .rows import Rows
from .summaries import Summary
from .targets import Target

__all__ = ["Mixture", "Provenance", "View", "mixture_of", "rows_of"]

LARGE = 50_000  # rows from which float32 tables are computed with in float32
_SMALL = 1e9  # standardized numbers up to which they are


@dataclass(frozen=True, eq=False)
class Provenance:
    """Where a mixture comes from."""

    fingerprint: Fingerprint  # of the rows that it was fitted on
    units_from: str  # "rows", "given" or "nowhere"
    most_localities: int  # that might have been
    searched_localities: int  # that were chosen, before those without rows were dropped
    n_rows: tuple[int, ...]  # training rows to which each model applies; the last is the exterior
    points: tuple[int, ...]  # which of those given, or searched for, each locality is
    inverse_temperature: float
    prior: Prior = field(default_factory=Prior)  # as it was given, not expanded
    objective: float | None = None  # None of a mixture that was not fitted, but made
    gibbs_risk: float | None = None
    kl: float | None = None
    n_iter: int = 1
    path: tuple[Record, ...] = ()
    # of a model from an older file: its hash, and its hash by the rule of that time
    earlier_hash: tuple[str, str] | None = None
    summary: Summary | None = None  # of these rows; None of a model from an older file


@dataclass(frozen=True, eq=False)
class Mixture:
    """A fitted mixture of local models.

    Attributes
    ----------
    inputs : Inputs
        From the user's tables to numbers.
    geometry : Geometry
        Where the localities lie, and how far away a row is.
    target : Target
        What a score answers.
    posterior : Posterior
        The distributions learned, in standardized units.
    overlap : Overlap
        Which of several applicable models is used.
    provenance : Provenance
        Where it comes from.
    n_localities : int
    localities, exterior : tuple of Locality, LocalModel
        In the user's units.
    hash : str
        Of all the numbers that it predicts by.

    Examples
    --------
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> model = LocalMixtureRegressor(points_of_interest=[[0.0189]], n_starts=1, random_state=0)
    >>> mixture = model.fit(X, y).mixture_
    >>> mixture.n_localities, mixture.target.kind, mixture.overlap.name
    (1, 'continuous', 'nearest')
    >>> view = mixture.view(mixture.encode([[0.5], [1.5]]))
    >>> view.used, view.answer.round(1)
    (array([0, 1]), array([ 0.3, -0.8]))
    """

    inputs: Inputs
    geometry: Geometry
    target: Target
    posterior: Posterior
    overlap: Overlap
    provenance: Provenance

    def __post_init__(self) -> None:
        for name in ("inputs", "geometry", "target", "posterior", "provenance"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: what was derived from them is derived again."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        lock(state)

    @property
    def n_localities(self) -> int:
        return self.posterior.n_localities

    def follow(self, overlap: Overlap, handle_unknown: str, missing: str) -> Mixture:
        """The same model with other rules of reading it."""
        same = (handle_unknown, missing) == (self.inputs.handle_unknown, self.inputs.missing)
        if overlap is self.overlap and same:
            return self
        reading = replace(self.inputs.reading, handle_unknown=handle_unknown, missing=missing)
        return replace(self, overlap=overlap, inputs=replace(self.inputs, reading=reading))

    def region_name(self, i: int) -> str:
        """What the model of an index is called; without localities the only one is "the model"."""
        if i < 0:
            return "several localities together"
        if self.n_localities == 0:
            return "the model"
        return f"locality {i}" if i < self.n_localities else "exterior"

    # -- rows ----------------------------------------------------------------------------------

    def encode(self, X: Any, what: str = "X") -> Array:
        """Rows as numbers in the user's units, (n_rows, n_encoded), checked as in fit."""
        return self.inputs.encode(X, what)

    def predict(self, X: Any) -> AnyArray:
        """Label or prediction of the model used for each row."""
        return np.concatenate([view.answer for view in self.views(self.encode(X))])

    def apply(self, X: Any) -> Integers:
        """Index of the model used for each row; n_localities for the exterior, -1 for several."""
        return np.concatenate([view.used for view in self.views(self.encode(X))])

    def rows(self, encoded: Array, codes: Array | None = None, weight: Array | None = None) -> Rows:
        """Encoded rows as the objective reads them."""
        return rows_of(self.inputs, self.geometry, self.target, encoded, codes, weight)

    def views(self, encoded: Array) -> Iterator[View]:
        """Distances and scores of some rows at a time."""
        size = in_passing(self.n_localities)
        for start in range(0, max(len(encoded), 1), size):
            part = encoded[start : start + size]
            rows = self.rows(part)
            mean, distance = self.geometry.scores_and_distances(self.posterior, rows)
            if self.n_localities and has_missing(part):
                distance[distance >= BEYOND] = np.inf
            yield View(self, part, distance, mean, self.posterior.norms2(rows.features))

    def view(self, encoded: Array) -> View:
        """Distances and scores of all rows."""
        parts = list(self.views(encoded))
        if len(parts) == 1:
            return parts[0]
        distance, mean = (
            np.concatenate([getattr(part, name) for part in parts], axis=-1)
            for name in ("distance", "mean")
        )
        norms2 = np.concatenate([one.norms2 for one in parts], axis=1)
        return View(self, encoded, distance, mean, norms2)

    @cached_property
    def tables(self) -> list[Table]:
        """The memberships, for rows to look up."""
        return self.geometry.tables(self.posterior)

    # -- what people read ----------------------------------------------------------------------

    @cached_property
    def models(self) -> tuple[LocalModel, ...]:
        """The localities and the exterior model, in the user's units.

        A constant column has coefficient 0, and a locality no end along it.
        """
        inputs, target, posterior = self.inputs, self.target, self.posterior
        units, counted = inputs.units, inputs.counted
        n, d = self.n_localities, len(counted)
        inverse = units.inverse_scale[counted]
        slope, coef = np.zeros(d), np.zeros((*posterior.coef.shape[:-1], d))
        slope[counted] = inverse * target.scale
        seen = np.flatnonzero(counted[inputs.varies])
        coef[..., counted] = posterior.coef[..., seen] * slope[counted]
        more: dict[str, Any] = factor_units(inputs) if target.describe().link == "log" else {}
        if coef.ndim > 2:
            more = {"classes": tuple(np.asarray(target.classes).tolist())}

        rho, sigma = posterior.deviations
        spread = np.zeros((n + 1, d))
        spread[:, counted] = rho[:, seen] * slope[counted]

        def model(i: int) -> dict[str, Any]:
            lever = _norm(spread[i] * units.center)
            intercept = posterior.intercept[i] * target.scale + target.center
            intercept = intercept - coef[i] @ units.center
            return {
                "feature_names": inputs.names,
                "coef": _fix(coef[i]),
                "coef_scale": _fix(spread[i]),
                "intercept": _fix(intercept) if np.ndim(intercept) else float(intercept),
                "intercept_scale": float(np.hypot(sigma[i] * target.scale, lever)),
                "n_rows": self.provenance.n_rows[i],
                "shapes": self._shapes(i, rho[i]),
                "outputs": self._outputs(i),
                **more,
            }

        centers = self.geometry.centers(inputs, posterior)
        scales = self.geometry.center_scales(inputs, posterior)
        outer = LocalModel(**model(n))
        exteriors = self._exteriors(outer, centers)
        where, cases = self.geometry.describe(inputs, posterior), self.geometry.cases
        places = self.geometry.describe_place(inputs, posterior)
        localities = [
            Locality(
                **model(i),
                exterior=exteriors[i],
                where=where[i],
                row=cases[i] if cases else None,
                place=places[i],
                center=_fix(centers[i]),
                center_scale=_fix(scales[i]),
                radius=float(self.geometry.radius[i]),
                radius_mean=float(posterior.radius_mean[i]),
                half_width=None if half is None else _fix(half),
                point=self.provenance.points[i],
            )
            for i, half in enumerate(self.geometry.half_widths(inputs, posterior))
        ]
        return (*localities, outer)

    def _shapes(self, i: int, deviation: Array) -> tuple[Shape, ...]:
        """What a model has beyond straight lines, in the user's units."""
        inputs, scale = self.inputs, self.target.scale
        if inputs.bends is None:
            return ()
        n = int(inputs.varies.sum())
        ramps, spread = self.posterior.coef[i, ..., n:], deviation[n:]
        return tuple(
            Shape(
                one.column,
                one.knots,
                _fix(ramps[..., own] @ one.table.T * scale),
                _fix(np.sqrt(spread[own] ** 2 @ (one.table**2).T) * scale),
                _fix(one.table * spread[own] * scale),
            )
            for one, own in inputs.bends.parts()
        )

    def _outputs(self, i: int) -> Outputs | None:
        """What a model has of a transformer's outputs, in the user's units."""
        made = self.inputs.made
        if made is None:
            return None
        coef = self.posterior.coef[i, ..., self.posterior.coef.shape[-1] - len(made) :]
        columns = tuple(sorted({j for one in made.sources for j in one}))
        return Outputs(made.name, made.names, coef * (made.scale * self.target.scale), columns)

    def refuse_transformer(self, what: str) -> None:
        """Raise where the models see what a transformer makes, which only its own code can."""
        if self.inputs.made is not None:
            raise InputError(
                f"{what} is for linear and additive models; this one has local_models="
                f"{self.inputs.kind}, a transformer, which only scikit-learn can compute.",
                "Use local_models='auto'; predict, explain_local, explain_global, importance and"
                " certify work for all models.",
            )

    def _exteriors(self, outer: LocalModel, centers: Array) -> list[Exterior | None]:
        """What each local model is a correction of; None where they are independent."""
        inputs, posterior = self.inputs, self.posterior
        if not posterior.pooled:
            return [None] * self.n_localities
        geometry: Any = self.geometry  # one that has corrections has boxes
        every = np.array([group.columns.start for group in inputs.groups if group.levels is None])
        numbers = np.isin(np.arange(len(inputs.names)), every) & inputs.counted
        none = np.zeros(len(inputs.names), dtype=bool)
        return [
            Exterior(outer, _fix(np.array(center)), none, numbers)
            if box is None
            else Exterior(outer, _fix(box.place), box.constant, box.named)
            for box, center in zip(geometry.boxes(inputs, posterior), centers, strict=True)
        ]

    @property
    def localities(self) -> tuple[Locality, ...]:
        return self.models[:-1]  # type: ignore[return-value]

    @property
    def exterior(self) -> LocalModel:
        return self.models[-1]

    # -- what other systems compute with -------------------------------------------------------

    @cached_property
    def loci(self) -> tuple[Locus, ...]:
        """Where the localities lie."""
        return self.geometry.loci(self.inputs, self.posterior)

    def routine(self) -> Routine:
        """How it predicts, in plain numbers."""
        inputs, posterior = self.inputs, self.posterior
        n, bends = int(inputs.varies.sum()), inputs.bends
        coef = np.zeros((*posterior.coef.shape[:-1], len(inputs.varies)))
        coef[..., inputs.varies] = posterior.coef[..., :n]
        return Routine(
            groups=tuple(_plain_group(group) for group in inputs.groups),
            names=inputs.names,
            handle_unknown=inputs.handle_unknown,
            typical=inputs.typical,
            stand_in=inputs.stand_in,
            origin=inputs.units.center,
            factor=inputs.units.inverse_scale * inputs.counted,
            loci=self.loci,
            coef=coef * inputs.counted,
            intercept=posterior.intercept,
            curves=tuple(
                Curve(one.column, one.knots, posterior.coef[..., n:][..., own] @ one.table.T)
                for one, own in (bends.parts() if bends is not None else ())
            ),
            overlap=self.overlap.name,
            answer=self.target.describe(),
        )

    @property
    def hash(self) -> str:
        """Of all the numbers that it predicts by, and of those that it shows."""
        digest = sha256()
        content = {
            "inputs": self.inputs.content(),
            "geometry": self.geometry.content(),
            "target": self.target.content(),
            "posterior": self.posterior.content(),
            "overlap": self.overlap.name,
            "n_rows": list(self.provenance.n_rows),
            "points": list(self.provenance.points),
        }
        if self.provenance.summary is not None:
            content["summary"] = self.provenance.summary.content()
        _digest(digest, content)
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class View:
    """Some rows as a mixture sees them: everything follows from distances and scores."""

    mixture: Mixture = field(repr=False)
    encoded: Array  # (n_rows, n_encoded)
    distance: Array  # (n_localities, n_rows)
    # (n_localities + 1, n_rows), standardized score of each model; of several classes it and all
    # other scores have an axis (.., n_classes, n_rows)
    mean: Array
    # (n_localities + 1, n_rows), of the features that each model has weights of its own for
    norms2: Array = field(repr=False)

    def __len__(self) -> int:
        return len(self.encoded)

    @property
    def filled(self) -> View:
        """The same with what stands in for missing values, for pictures."""
        encoded = self.mixture.inputs.fill_in(self.encoded)
        return self if encoded is self.encoded else replace(self, encoded=encoded)

    @cached_property
    def member(self) -> Booleans:
        """(n_localities, n_rows): distance <= radius."""
        return contain(self.distance, self.mixture.geometry.radius)

    @cached_property
    def applicable(self) -> Booleans:
        """(n_localities + 1, n_rows): the localities that contain the row, or else the exterior."""
        return apply_to(self.member)

    @cached_property
    def used(self) -> Integers:
        """(n_rows,): index of the model used; n_localities for the exterior, -1 for several."""
        return self.mixture.overlap.choose(self.distance, self.member)

    @cached_property
    def membership(self) -> Array:
        """(n_localities, n_rows): probability that each locality contains the row."""
        omega = memberships(self.mixture.tables, self.distance)
        omega[np.isinf(self.distance)] = 0.0  # a value is missing
        return np.clip(omega, 0.0, 1.0, out=omega)  # rounding in the last digits

    @cached_property
    def variance(self) -> Array:
        """(n_localities + 1, n_rows), of the standardized scores."""
        return self.mixture.posterior.variances(self.norms2)

    @cached_property
    def scores(self) -> Array:
        """(n_localities + 1, n_rows): score of each model, in the units of the target."""
        return self.mixture.target.in_units(self.mean)

    @cached_property
    def score(self) -> Array:
        """(n_rows,): of the answer, in the units of the target."""
        combined = self.mixture.overlap.combine(self.mean, self.used, self.applicable)
        return self.mixture.target.in_units(combined)

    @cached_property
    def score_variance(self) -> Array:
        """(n_rows,): of the score of the answer, standardized."""
        every = np.where(self.used < 0, self.mixture.n_localities, self.used)
        single = np.take_along_axis(self.variance, every[None], axis=0)[0]
        count = self.applicable.sum(axis=0)
        several = (self.variance * self.applicable).sum(axis=0) / count**2
        return np.asarray(np.where(self.used < 0, several, single))

    @property
    def log_odds(self) -> Array:
        """(n_rows,): of the second of two labels."""
        target: Any = self.mixture.target
        return np.asarray(target.log_odds(self.score, self.score_variance))

    @property
    def decision(self) -> Array:
        """(n_rows,) log-odds of the second of two labels; (n_rows, n_classes) of several, numbers
        whose softmax are the probabilities.
        """
        target: Any = self.mixture.target
        if self.mean.ndim == 2:
            return self.log_odds
        if target.loss_name == "log":
            return np.ascontiguousarray(self.score.T)
        return np.log(np.maximum(self.probabilities, np.finfo(float).tiny))

    @property
    def probabilities(self) -> Array:
        """(n_rows, n_classes): of the labels, by the model used."""
        target: Any = self.mixture.target
        return np.asarray(target.probabilities(self.score, self.score_variance))

    @property
    def votes(self) -> Array:
        """(n_rows, n_classes): the posterior's votes for the labels."""
        target: Any = self.mixture.target
        return np.asarray(target.votes(self.membership, self.mean, self.variance))

    @property
    def answer(self) -> AnyArray:
        """(n_rows,): labels or predictions."""
        return self.mixture.target.answer(self.score)

    @cached_property
    def extremes(self) -> tuple[Array, Array]:
        """(n_rows,) each: smallest and largest score of applicable models. Of several classes, the
        scores, (n_classes, n_rows), of those that answer the first and the last class.
        """
        if self.scores.ndim > 2:
            answers, count = self.mixture.target.shade(self.scores), self.scores.shape[1]
            first = np.where(self.applicable, answers, count).argmin(axis=0)
            last = np.where(self.applicable, answers, -1.0).argmax(axis=0)
            low, high = (
                np.take_along_axis(self.scores, one[None, None], axis=0)[0] for one in (first, last)
            )
            return low, high
        low = np.where(self.applicable, self.scores, np.inf).min(axis=0)
        return low, np.where(self.applicable, self.scores, -np.inf).max(axis=0)

    @property
    def spread(self) -> Array:
        """(n_rows,): largest minus smallest answer of applicable models; of labels, of scores."""
        target, (low, high) = self.mixture.target, self.extremes
        if target.classes is None:
            low, high = target.answer(low), target.answer(high)
        return np.asarray(high - low)

    @property
    def contradicted(self) -> Booleans:
        """(n_rows,): whether applicable models contradict each other."""
        return self.mixture.target.apart(*self.extremes)


def rows_of(
    inputs: Inputs,
    geometry: Geometry,
    target: Target,
    encoded: Array,
    codes: Array | None = None,
    weight: Array | None = None,
) -> Rows:
    """Encoded rows as the objective reads them; in float32 where they are, and are many."""
    Z = inputs.standardize(encoded)
    place = inputs.coordinates(Z)
    if codes is not None:  # for the engine, which takes features by column
        place = np.asfortranarray(place)
    holes = inputs.holes(encoded)
    if holes is None:
        coordinates, distance = geometry.rows(inputs.measured(Z), place)
    else:
        where = np.asfortranarray(put_far(place, holes[:, inputs.varies]))
        coordinates, distance = geometry.rows(inputs.measured(Z), where, holes)
    features = inputs.features(encoded, place)
    if codes is not None:
        features = np.asfortranarray(features)
    goal = np.zeros(len(encoded)) if codes is None else target.goal(codes)
    if codes is not None and target.emphasis != 1.0:
        weight = (np.ones(len(encoded)) if weight is None else weight) * target.emphasis
    wide = encoded.dtype != np.float32 or len(encoded) < LARGE or holes is not None
    if wide or not _fit_float32(features, goal, weight, distance):
        return Rows.of(features, goal, weight, distance, coordinates)
    small: Any = np.float32
    weight = np.ones(len(encoded), dtype=small) if weight is None else weight.astype(small)
    near: Any = np.empty((len(encoded), 0)) if distance is None else distance
    same = coordinates is features
    features = features.astype(small)
    coordinates = features if same else coordinates.astype(small)
    return Rows.of(features, goal.astype(small), weight, near.astype(small), coordinates)


def _fit_float32(*arrays: Array | None) -> bool:
    """Whether the squares of these numbers, and sums of them, are within float32."""
    given = [one for one in arrays if one is not None]
    return all(float(np.abs(one).max(initial=0.0)) <= _SMALL for one in given)


def mixture_of(model: Any) -> Mixture:
    """The mixture itself, or that of a fitted estimator.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from motlm.mixture import mixture_of
    >>> linear = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> mixture_of(linear)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    motlm.errors.InputTypeError: expected a fitted motlm estimator or its mixture_; got ...
    """
    if isinstance(model, Mixture):
        return model
    if hasattr(model, "fit"):
        check_is_fitted(model)
    found = getattr(model, "mixture_", None)
    if not isinstance(found, Mixture):
        raise InputTypeError(
            "expected a fitted motlm estimator or its mixture_; got a"
            f" {type(model).__name__}. Of a pipeline, give the last step and the rows as it sees"
            " them."
        )
    return found


def _norm(values: Array) -> float:
    """In units of a power of two, which changes no digit, so that squares do not overflow."""
    unit = power_of_two(values)
    return unit * float(np.linalg.norm(values / unit))


def _fix(array: Array) -> Array:
    """An array that nobody can write to."""
    array.flags.writeable = False
    return array


def _plain_group(group: Any) -> Any:
    """With levels as plain values of Python."""
    if group.levels is None:
        return group
    levels = tuple(one.item() if isinstance(one, np.generic) else one for one in group.levels)
    return replace(group, levels=levels)


def _digest(digest: Any, value: Any) -> None:
    """Feed a value to a hash: numbers by their bits, so that it is the same everywhere."""
    if isinstance(value, dict):
        for name in sorted(value):
            digest.update(f"{name}:".encode())
            _digest(digest, value[name])
    elif isinstance(value, np.ndarray) and not value.size:
        digest.update(b"empty")  # a file does not keep the other axes of what has no entries
    elif isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (list, tuple, np.ndarray)):
        digest.update(f"[{len(value)}]".encode())
        for one in value:
            _digest(digest, one)
    else:
        plain = value.item() if isinstance(value, np.generic) else value
        digest.update(repr(plain).encode())
    digest.update(b"|")
