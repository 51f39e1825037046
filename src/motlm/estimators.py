"""LocalMixtureClassifier and LocalMixtureRegressor: validate, walk the line from rows to posterior, store."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, pairwise_distances, r2_score
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from . import prediction, starts
from ._typing import AnyArray, Array, Booleans, Integers
from .columns import Columns, check_finite, check_present, has_text, is_frame
from .localities import Locality, LocalModel, Units, moments
from .losses import Loss, Squared, ZeroOne
from .objective import KnownCenters, LearnedCenters, Objective, Vicinity, tables_of
from .optimise import SOLVERS, Record, Solution, best, paths
from .posterior import Posterior, Prior
from .rows import Rows, distinct_rows, held_out

__all__ = ["LocalMixtureClassifier", "LocalMixtureRegressor"]

_SCREENED = 20  # starts drawn for each that is searched from
_FOLLOWED = 3  # minima of the first inverse temperature that are continued to the others
CLASSIFICATION_TEMPERATURES = (1.0, 2.0, 4.0, 8.0)  # tuned on two splits of Banana and wdbc
REGRESSION_TEMPERATURES = (1.0, 4.0, 16.0, 64.0)  # tuned on two splits of Stock and Concrete
_AXIS_METRICS = (
    "euclidean",
    "l2",
    "manhattan",
    "l1",
    "cityblock",
    "chebyshev",
    "minkowski",
)  # a ball reaches radius along each axis
_NO_ROWS = Rows.of(np.empty((0, 0)), np.empty(0))


@dataclass(frozen=True)
class _Table:
    """Encoded rows of positive weight, in the user's units."""

    X: Array
    target: Array
    weight: Array

    def part(self, rows: Any) -> _Table:
        return _Table(self.X[rows], self.target[rows], self.weight[rows])


@dataclass(frozen=True)
class _Metric:
    """A metric between standardised rows, with what it takes from the training rows."""

    name: Any
    arguments: dict[str, Array]

    @classmethod
    def of(cls, name: Any, Z: Array, weight: Array) -> _Metric:
        """Two metrics have scales of their own, which scikit-learn would take anew from whatever rows it is given."""
        share = weight / weight.sum()
        if isinstance(name, str) and name == "seuclidean":
            variance = moments(Z, share)[1] ** 2
            return cls(name, {"V": np.where(variance > 0, variance, 1.0)})
        if isinstance(name, str) and name == "mahalanobis":
            return cls(name, {"VI": np.linalg.pinv(np.atleast_2d(np.cov(Z, rowvar=False, aweights=share, ddof=0)))})
        return cls(name, {})

    def distances(self, Z: Array, points: Array) -> Array:
        if len(points) == 0:
            return np.empty((len(Z), 0))
        try:
            distance = np.asarray(pairwise_distances(Z, points, metric=self.name, **self.arguments), dtype=float)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"metric={self.name!r} gave no distances between rows and points_of_interest ({error}). Give a name that "
                "scikit-learn's pairwise_distances knows, or a function of two rows."
            ) from error
        if not (np.isfinite(distance).all() and (distance >= 0).all()):
            raise ValueError(
                f"metric={self.name!r} gave distances that are negative or not finite; a distance must be a number >= 0."
            )
        return distance


@dataclass(frozen=True)
class _Problem:
    """Rows in standardised units, and all that a search over them needs but lambda."""

    units: Units
    varies: Booleans  # which columns the models and learned centres see
    rows: Rows
    points: Array | None
    metric: _Metric | None
    vicinity: Vicinity
    loss: Loss
    prior: Prior
    free: tuple[str, ...]

    def objective(self, inverse_temperature: float) -> Objective:
        return Objective(self.loss, self.vicinity, self.prior, self.rows, inverse_temperature)

    def rows_of(self, X: Array, target: Array, weight: Array | None = None) -> Rows:
        """These rows in the units of the problem. A metric sees the constant columns too, as zeros."""
        Z = self.units.standardized(X) * self.varies
        distance = None
        if self.points is not None and self.metric is not None:
            distance = self.metric.distances(Z, self.points)
        return Rows.of(Z[:, self.varies], (target - self.units.target_center) / self.units.target_scale, weight, distance)

    def keep(self, kept: list[int]) -> _Problem:
        """The problem with these localities alone."""
        fewer = replace(self, prior=self.prior.keep(kept))
        if self.points is None:
            return fewer
        return replace(fewer, rows=replace(self.rows, distance=self.rows.distance[:, kept]), points=self.points[kept])


@dataclass(frozen=True)
class _Found:
    """A solution, the start that it goes back to, and which of the localities it has left."""

    solution: Solution
    start: int
    problem: _Problem
    kept: list[int]


class _LocalMixture(BaseEstimator):  # type: ignore[misc]
    """What the two estimators share."""

    _loss: Loss
    _scale_target: bool
    _auto_temperatures: tuple[float, ...]

    # -- the recipe ---------------------------------------------------------------------------------------------------

    def _fit(self, table: _Table, points: Array | None, names: tuple[str, ...]) -> None:
        """Merge equal rows, choose lambda if there is a choice, search, drop what no row belongs to, keep."""
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        varies = moments(table.X, table.weight / table.weight.sum())[1] > 0
        merged = distinct_rows(table.X[:, varies], table.target, table.weight, rng)
        rows = _Table(table.X[merged.first], table.target[merged.first], merged.weight)
        self._typical, _ = moments(rows.X, rows.weight / rows.weight.sum())
        n = self.n_localities if points is None else len(points)
        if points is None and n > len(rows.X):
            raise ValueError(
                f"n_localities={n} is more than the {len(rows.X)} distinct rows (n_samples={len(table.X)}); ask for fewer "
                "localities."
            )
        if len(rows.X) > 1 and not varies.all():
            self._warn_of_constants(names, varies, n)
        if not varies.any():
            n, points = 0, None
        problem = self._problem(rows, points, n, varies)
        candidates = self._temperatures()
        records: list[Record] = []
        if len(candidates) == 1:
            chosen, seeds = candidates[0], dict(enumerate(self._starts(problem, n, rng)))
        else:
            chosen, seeds = self._select(rows, problem, points, n, candidates, rng, records)
        if problem.points is not None:  # the same points, in the units of all rows
            seeds = {start: replace(seed, center=problem.points) for start, seed in seeds.items()}
        ends = [path[0] for path in self._search(problem, [chosen], list(seeds.values()))]
        every = [self._without_dead(_Found(end, start, problem, list(range(n)))) for start, end in zip(seeds, ends, strict=True)]
        found = every[best([one.solution for one in every])]
        records += [_record("final", one.start, one.solution, problem.units) for one in every]
        self._report(f"lambda' = {chosen:g}: objective {found.solution.objective:.5g} on all rows, best of {len(every)} starts")
        self._warn_of_end(found, n)
        self._keep(found, table, None if points is None else points[found.kept], names, records)

    def _select(
        self,
        table: _Table,
        whole: _Problem,
        points: Array | None,
        n: int,
        candidates: Sequence[float],
        rng: np.random.Generator,
        records: list[Record],
    ) -> tuple[float, dict[int, Posterior]]:
        """The inverse temperature that predicts held-out rows best, and where its best searches ended on the other rows."""
        mask = held_out(table.target, self.validation_fraction, stratify=not self._scale_target)
        if mask is None or (points is None and n > (~mask).sum()):
            warnings.warn(
                f"{len(table.X)} distinct rows are too few to hold some out and choose inverse_temperature; the smallest of "
                f"{tuple(candidates)} is used. Give one number to choose it yourself.",
                stacklevel=4,
            )
            return min(candidates), dict(enumerate(self._starts(whole, n, rng)))
        rest = table.part(mask)
        problem = self._problem(table.part(~mask), points, n, whole.varies)
        held = problem.rows_of(rest.X, rest.target, rest.weight)
        ordered = sorted(candidates, reverse=True)  # from loose to tight: a ball that shrank away does not come back
        first = dict(enumerate(path[0] for path in self._search(problem, ordered[:1], self._starts(problem, n, rng))))
        leaders = _leaders(first)
        later = self._search(problem, ordered[1:], [solution.posterior for solution in leaders.values()])
        outcomes = []
        steps = [first, *(dict(zip(leaders, step, strict=True)) for step in zip(*later, strict=True))]
        for temperature, solutions in zip(ordered, steps, strict=True):
            ranked = _leaders(solutions)
            winner = next(iter(ranked))
            score, risk = self._held_out_score(problem, solutions[winner].posterior, held)
            outcomes.append((score, -risk, temperature, {start: one.posterior for start, one in ranked.items()}))
            records += [
                _record("selection", start, one, problem.units, score if start == winner else None)
                for start, one in solutions.items()
            ]
            self._report(f"lambda' = {temperature:g}: objective {solutions[winner].objective:.5g}, held-out score {score:.4g}")
        _, _, chosen, seeds = max(outcomes, key=lambda outcome: outcome[:2])
        return chosen, seeds

    def _search(self, problem: _Problem, temperatures: Sequence[float], seeds: Sequence[Posterior]) -> list[list[Solution]]:
        objectives = [problem.objective(temperature) for temperature in temperatures]
        options = {"max_iter": self.max_iter, "tol": self.tol}
        return paths(objectives, seeds, SOLVERS[self.solver], problem.free, options, self.n_jobs)

    def _problem(self, table: _Table, points: Array | None, n: int, varies: Booleans) -> _Problem:
        units = Units.of(table.X, table.target, table.weight, self.standardize, self._scale_target)
        free = ["radius_shape", "radius_rate", "coef", "intercept", "intercept_scale"]
        if self._free_coef_scale():
            free.append("coef_scale")
        places, metric = None, None
        vicinity: Vicinity = LearnedCenters()
        if points is None:
            free += ["center", "center_scale"]
        else:
            vicinity, places = KnownCenters(), units.standardized(points) * varies
            metric = _Metric.of(self.metric, units.standardized(table.X) * varies, table.weight)
        prior = (Prior() if self.prior is None else self.prior).expanded(n, len(varies))
        prior = replace(prior, center=np.asarray(prior.center)[:, varies], coef=np.asarray(prior.coef)[:, varies])
        problem = _Problem(units, varies, _NO_ROWS, places, metric, vicinity, self._loss, prior, tuple(free))
        return replace(problem, rows=problem.rows_of(table.X, table.target, table.weight))

    def _starts(self, problem: _Problem, n: int, rng: np.random.Generator) -> list[Posterior]:
        rows, points = problem.rows, problem.points
        if self.solver == "nadam":
            return [starts.paper_draw(rows, points, n, not self._scale_target, rng) for _ in range(self.n_starts)]
        if n == 0:  # one minimum, which every start finds
            return [starts.placed_at_rows(rows, points, 0, not self._free_coef_scale(), rng)]
        unit = not self._free_coef_scale()
        candidates = [starts.placed_at_rows(rows, points, n, unit, rng) for _ in range(_SCREENED * self.n_starts)]
        return starts.lowest(problem.objective(max(self._temperatures())), candidates, self.n_starts)

    def _held_out_score(self, problem: _Problem, posterior: Posterior, rows: Rows) -> tuple[float, float]:
        """Score of the predictions, and the Gibbs risk, on held-out rows."""
        tables = tables_of(problem.vicinity, posterior)
        readings = prediction.read(problem.vicinity, tables, posterior, prediction.radii(tables), rows)
        risk = replace(problem, rows=rows).objective(1.0).gibbs_risk(posterior, tables)
        return self._score_said(prediction.spoken(readings, self.overlap), rows), risk

    def _without_dead(self, found: _Found) -> _Found:
        """Drop the localities that no row belongs to, search on without them, until all have rows."""
        solution, problem = found.solution, found.problem
        tables = tables_of(problem.vicinity, solution.posterior)
        member = prediction.read(problem.vicinity, tables, solution.posterior, prediction.radii(tables), problem.rows).member
        alive = [int(i) for i in np.flatnonzero(member.any(axis=0))]
        if len(alive) == solution.posterior.n_localities:
            return found
        fewer = problem.keep(alive)
        [[again]] = self._search(fewer, [solution.inverse_temperature], [solution.posterior.keep(alive)])
        again = replace(again, n_iter=solution.n_iter + again.n_iter)
        return self._without_dead(_Found(again, found.start, fewer, [found.kept[i] for i in alive]))

    def _warn_of_end(self, found: _Found, n: int) -> None:
        solution = found.solution
        dead = [str(i) for i in range(n) if i not in found.kept]
        if dead:
            warnings.warn(
                f"no training row belongs to locality {', '.join(dead)} of {n}: dropped, and the model refitted with "
                f"{len(found.kept)}. Ask for fewer localities, or raise inverse_temperature (now "
                f"{solution.inverse_temperature:g}).",
                stacklevel=4,
            )
        if not solution.converged:
            warnings.warn(
                f"{self.solver} stopped at max_iter={self.max_iter} with objective {solution.objective:.6g} "
                f"(lambda' = {solution.inverse_temperature:g}): {solution.message}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _keep(self, found: _Found, table: _Table, centers: Array | None, names: tuple[str, ...], records: list[Record]) -> None:
        solution, unit = found.solution, found.problem.units.target_scale**2
        self._fitted = replace(found.problem, rows=_NO_ROWS)
        self._radius = prediction.radii(tables_of(self._fitted.vicinity, solution.posterior))
        self.posterior_ = solution.posterior
        self.objective_ = solution.objective * unit
        self.gibbs_risk_ = solution.gibbs_risk * unit
        self.kl_ = solution.kl
        self.inverse_temperature_ = solution.inverse_temperature
        self.n_iter_ = max(1, solution.n_iter)
        self.path_ = records
        readings = self._read(table.X)
        self._store_localities(readings, centers, found.kept, names)
        self._store_more(table, readings)

    def _store_localities(
        self, readings: prediction.Readings, centers: Array | None, kept: list[int], names: tuple[str, ...]
    ) -> None:
        """Localities and exterior in the user's units; a constant column has coefficient 0, and a ball no end along it."""
        units, varies, posterior = self._fitted.units, self._fitted.varies, self.posterior_
        n, d = posterior.n_localities, len(varies)
        inverse = units.inverse_scale[varies]
        slope, width, coef = np.zeros(d), np.full(d, np.inf), np.zeros((n + 1, d))
        slope[varies] = inverse * units.target_scale
        width[varies] = 1.0 / inverse
        coef[:, varies] = posterior.coef * slope[varies]
        if centers is None:
            centers = np.tile(self._typical, (n, 1))
            centers[:, varies] = posterior.center / inverse + units.center[varies]
        counts = readings.applicable.sum(axis=0)
        metric = self._fitted.metric
        simple = metric is None or (isinstance(metric.name, str) and metric.name in _AXIS_METRICS)

        def model(i: int) -> dict[str, Any]:
            lever = posterior.coef_scale[i] * np.linalg.norm(slope * units.center)
            return {
                "feature_names": names,
                "coef": coef[i],
                "coef_scale": posterior.coef_scale[i] * slope,
                "intercept": float(posterior.intercept[i] * units.target_scale + units.target_center - coef[i] @ units.center),
                "intercept_scale": float(np.hypot(posterior.intercept_scale[i] * units.target_scale, lever)),
                "n_rows": int(counts[i]),
            }

        self.localities_ = [
            Locality(
                **model(i),
                center=centers[i],
                center_scale=posterior.center_scale[i] * np.where(varies, width, 0.0),
                radius=float(self._radius[i]),
                radius_mean=float(posterior.radius_mean[i]),
                half_width=self._radius[i] * width if simple else None,
                point=point,
            )
            for i, point in enumerate(kept)
        ]
        self.exterior_ = LocalModel(**model(n))

    # -- rows in, readings out ----------------------------------------------------------------------------------------

    def _prepare(self, X: Any, sample_weight: Any) -> tuple[Array, tuple[str, ...], Array, Booleans]:
        """Check the parameters, learn the columns, encode: rows of positive weight, column names, weights, which rows count."""
        self._check_parameters()
        text = has_text(X)
        if text:
            validate_data(self, X, skip_check_array=True)
            checked = X
        else:
            checked = validate_data(self, X, dtype=np.float64, ensure_all_finite=False)
        weight = self._weights(sample_weight, checked)
        counted = weight > 0
        names = self._names()
        self._labels = list(X.columns) if is_frame(X) else None
        if not counted.all():
            checked = _safe_indexing(checked, np.flatnonzero(counted))
        self._columns = Columns.learn(checked, names) if text else Columns.numeric(names)
        encoded = self._columns.encode(checked, "X") if text else checked
        check_finite(encoded, self._columns.encoded_names, "X")
        return encoded, self._columns.encoded_names, weight[counted], counted

    def _encode(self, X: Any) -> Array:
        """Rows to predict for, encoded as in fit."""
        columns: Columns = self._columns
        if columns.has_text:
            validate_data(self, X, reset=False, skip_check_array=True)
            encoded = columns.encode(X, "X", self._typical if self.handle_unknown == "ignore" else None)
        else:
            encoded = np.asarray(validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False))
        check_finite(encoded, columns.encoded_names, "X")
        return encoded

    def _names(self) -> tuple[str, ...]:
        if hasattr(self, "feature_names_in_"):
            return tuple(map(str, self.feature_names_in_))
        return tuple(f"x{j}" for j in range(self.n_features_in_))

    def _read_points(self) -> Array | None:
        """The points of interest, encoded like X."""
        points = self.points_of_interest
        if points is None:
            if self.metric != "euclidean":
                raise ValueError(
                    f"metric={self.metric!r} needs points_of_interest: learned points know the Euclidean metric only. "
                    "Give the points, or leave metric='euclidean'."
                )
            return None
        columns: Columns = self._columns
        if is_frame(points):
            points = self._in_order(points)
        elif hasattr(points, "column_names"):
            raise TypeError(f"points_of_interest must be an array or a pandas or polars table; got {type(points)}.")
        else:
            try:
                points = np.asarray(points, dtype=object if columns.has_text else float)
            except (TypeError, ValueError) as error:
                raise ValueError(f"points_of_interest must be rows of numbers, like X: {error}") from error
        if len(points.shape) != 2:
            raise ValueError(
                f"points_of_interest must be 2-D, one row for each point; got an array of shape {points.shape}. For one "
                "point write [[...]]."
            )
        if points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"points_of_interest has {points.shape[1]} columns but X has {self.n_features_in_}; give each point in the "
                "columns of X."
            )
        encoded = np.empty((0, len(columns.encoded_names)))
        if len(points):
            encoded = columns.encode(points, "points_of_interest")
        check_finite(encoded, columns.encoded_names, "points_of_interest")
        return encoded

    def _in_order(self, points: Any) -> Any:
        """A table of points with its columns in the order of X."""
        if self._labels is None:
            return points
        known, given = self._labels, list(points.columns)
        missing = [label for label in known if label not in given]
        extra = [label for label in given if label not in known]
        if missing or extra:
            raise ValueError(
                f"points_of_interest should have the columns of X, {known}"
                + (f"; missing: {missing}" if missing else "")
                + (f"; not in X: {extra}" if extra else "")
                + "."
            )
        return points[known]

    def _read(self, X: Array) -> prediction.Readings:
        """Readings of encoded rows."""
        vicinity, posterior = self._fitted.vicinity, self.posterior_
        rows = self._fitted.rows_of(X, np.zeros(len(X)))
        return prediction.read(vicinity, tables_of(vicinity, posterior), posterior, self._radius, rows)

    def _readings(self, X: Any) -> prediction.Readings:
        check_is_fitted(self)
        return self._read(self._encode(X))

    # -- checks -------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        for name, low in (("n_localities", 0), ("n_starts", 1), ("max_iter", 1)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
                raise ValueError(f"{name} must be an integer >= {low}; got {value!r}.")
        if self.tol is not None and not (isinstance(self.tol, Real) and float(self.tol) >= 0):
            raise ValueError(f"tol must be None or a number >= 0; got {self.tol!r}.")
        if not (isinstance(self.validation_fraction, Real) and 0 < float(self.validation_fraction) < 1):
            raise ValueError(f"validation_fraction must lie between 0 and 1; got {self.validation_fraction!r}.")
        for name, allowed in (
            ("solver", tuple(SOLVERS)),
            ("overlap", prediction.OVERLAPS),
            ("coef_scale", ("free", "unit")),
            ("handle_unknown", ("error", "ignore")),
            ("standardize", (True, False)),
        ):
            value = getattr(self, name, allowed[0])  # the regressor has no coef_scale
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
        if self.prior is not None and not isinstance(self.prior, Prior):
            raise ValueError(f"prior must be None or a motlm.Prior; got {type(self.prior).__name__}.")
        if isinstance(self.metric, str) and self.metric == "precomputed":
            raise ValueError("metric='precomputed' has no rows to measure when predicting; give a metric by name, or a function.")

    def _temperatures(self) -> tuple[float, ...]:
        given = self.inverse_temperature
        if isinstance(given, str) and given == "auto":
            return self._auto_temperatures
        try:
            values = np.atleast_1d(np.asarray(given, dtype=float)).ravel()
        except (TypeError, ValueError):
            values = np.empty(0)
        if isinstance(given, bool) or len(values) == 0 or not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError(
                "inverse_temperature (lambda', a multiple of the number of rows) must be 'auto', a positive number or a sequence "
                f"of them; got {given!r}."
            )
        return tuple(map(float, dict.fromkeys(values)))

    def _weights(self, sample_weight: Any, X: Any) -> Array:
        if sample_weight is None:
            return np.ones(np.shape(X)[0])
        given = np.asarray(sample_weight)
        if given.ndim and not given.any():
            raise ValueError("all of sample_weight are zero, so that no row is left to fit on; give some row a positive weight.")
        weight = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64), dtype=float)
        if (weight < 0).any():
            first = int(np.flatnonzero(weight < 0)[0])
            raise ValueError(
                f"Negative values in sample_weight: {int((weight < 0).sum())} of them, the first {weight[first]:g} at row "
                f"{first}; weights must be >= 0."
            )
        return weight

    def _warn_of_constants(self, names: tuple[str, ...], varies: Booleans, n: int) -> None:
        constant = [name for name, varying in zip(names, varies, strict=True) if not varying]
        shown = ", ".join(map(repr, constant[:5])) + (", .." if len(constant) > 5 else "")
        text = f"constant in all training rows: {shown}. Such a column gets coefficient 0 and counts nowhere; leave it out of X"
        if n and not varies.any():
            text += f". No column varies, so instead of {n} localities there is one constant model"
        warnings.warn(text + ".", stacklevel=4)

    def _report(self, message: str) -> None:
        if self.verbose:
            print(f"[motlm] {message}")

    # -- each estimator's own -----------------------------------------------------------------------------------------

    def _free_coef_scale(self) -> bool:
        return True

    def _score_said(self, said: Array, rows: Rows) -> float:
        """Score of what was said of rows with standardised targets."""
        raise NotImplementedError

    def _store_more(self, table: _Table, readings: prediction.Readings) -> None:
        """What one of the estimators keeps besides."""

    # -- reading a fitted model ---------------------------------------------------------------------------------------

    def membership(self, X: Any) -> Booleans:
        """Which localities contain each row: distance <= radius, where membership is at least 1/2.

        Returns
        -------
        ndarray of bool, (n_rows, n_localities)
        """
        return self._readings(X).member

    def membership_proba(self, X: Any) -> Array:
        """Probability, under the posterior, that each locality contains each row.

        Returns
        -------
        ndarray, (n_rows, n_localities)
        """
        return self._readings(X).omega

    def apply(self, X: Any) -> Integers:
        """Index in `localities_` of the model that speaks for each row; n for the exterior model.

        With `overlap="mean"` it is -1 where several models speak together.

        Returns
        -------
        ndarray of int, (n_rows,)
        """
        readings = self._readings(X)
        return prediction.nearest_model(readings) if self.overlap == "nearest" else prediction.mean_model(readings)


def _leaders(solutions: dict[int, Solution]) -> dict[int, Solution]:
    """The best few by objective, best first."""
    return dict(sorted(solutions.items(), key=lambda item: item[1].objective)[:_FOLLOWED])


def _record(stage: str, start: int, solution: Solution, units: Units, score: float | None = None) -> Record:
    unit = units.target_scale**2
    return Record(
        stage,
        solution.inverse_temperature,
        start,
        solution.objective * unit,
        solution.gibbs_risk * unit,
        solution.kl,
        solution.n_iter,
        solution.converged,
        score,
    )


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


_PARAMETERS = """
    Parameters
    ----------
    n_localities : int, default=2
        How many balls to search for. 0 is one linear model. Ignored where points_of_interest are given.
    points_of_interest : array or DataFrame of (n_localities, n_features), default=None
        Centres of the localities, in the columns and units of X. They stay where they are; only radii and models are learned.
        None: the centres are learned too.
    metric : str or callable, default="euclidean"
        Distance between (standardised) rows and points. With given points any metric that scikit-learn's
        `pairwise_distances` knows by name, or a function of two rows; learned points are Euclidean.
    inverse_temperature : "auto", float or sequence of float, default="auto"
        The paper's lambda', where lambda = lambda' * (sum of weights) divides the KL divergence. Of a sequence, or of
        "auto" ({auto}), the value that predicts held-out rows best is taken, and the model refitted on all rows.
    validation_fraction : float, default=0.2
        Share of the rows that is held out to choose inverse_temperature.
    solver : "lbfgs" or "nadam", default="lbfgs"
        "nadam" is the paper's solver with its random starts, learning rates and stopping rule.
    n_starts : int, default=5
        Searches from different starts; the lowest objective wins. With "lbfgs" twenty times as many are drawn, and the
        best of them searched from.
    max_iter : int, default=1000
        Most steps of one search.
    tol : float, default=None
        Relative decrease of the objective at which a search stops; None is the solver's own (1e-8 for a step of "lbfgs", 0.05
        for 40 steps of "nadam").{coef_scale}
    overlap : "nearest" or "mean", default="nearest"
        Which of several applicable local models speaks: that of the nearest centre, or all, by the mean of their scores.
    standardize : bool, default=True
        Whether to bring all columns to mean 0 and standard deviation 1 first. The priors expect that. Everything is
        reported in the user's units all the same.
    prior : Prior, default=None
        Prior laws, in standardised units; None for the paper's.
    handle_unknown : "error" or "ignore", default="error"
        What to do with a category that fit did not see. Ignored, it counts as the training average.
    n_jobs : int, default=None
        Processes among which the starts are shared out. The model is the same for any number.
    verbose : int, default=0
        1 prints a line for each inverse temperature.
    random_state : int, RandomState or None, default=None
        Seed of the starts and of the held-out rows. The order of the rows does not matter.

    Attributes
    ----------
    localities_ : list of Locality
        Each with center, half_width, coef, intercept, n_rows and formula(), in the user's units, and with radius and
        radius_mean, which are distances between standardised rows. A locality that no training row belongs to is dropped,
        with a warning.
    exterior_ : LocalModel
        The linear model of the rows that no locality contains.
    posterior_ : Posterior
        All laws learned, in standardised units.
    objective_, gibbs_risk_, kl_ : float
        What was minimised, L_S(Q) + KL / lambda, and its parts{units}.
    inverse_temperature_ : float
        lambda', given or chosen.
    path_ : list of Record
        One for each inverse temperature and start tried.
    n_iter_ : int
        Steps of the search that won.
    n_features_in_, feature_names_in_
        As in scikit-learn.
"""


class LocalMixtureClassifier(ClassifierMixin, _LocalMixture):  # type: ignore[misc]
    __doc__ = (
        """Binary classification by a few linear models, each in a ball, and one outside.

    Minimises the PAC-Bayes objective of "Mixtures of Transparent Local Models" (Diaby, Duchesne and Marchand) in closed form.
"""
        + _PARAMETERS.format(
            auto=_listed(CLASSIFICATION_TEMPERATURES),
            coef_scale="""
    coef_scale : "free" or "unit", default="free"
        Whether the posterior scale of the weights is learned, or fixed at 1 as in the paper. Free has the lower minimum.""",
            units="",
        )
        + """    classes_ : ndarray of (2,)
        The labels.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> X, y = make_clf_case2(random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> model = LocalMixtureClassifier(points_of_interest=points, standardize=False, random_state=0).fit(X, y)
    >>> [round(locality.radius, 1) for locality in model.localities_]
    [0.9, 0.4, 0.9]
    """
    )

    _loss = ZeroOne()
    _scale_target = False
    _auto_temperatures = CLASSIFICATION_TEMPERATURES

    def __init__(
        self,
        n_localities: int = 2,
        *,
        points_of_interest: Any = None,
        metric: Any = "euclidean",
        inverse_temperature: Any = "auto",
        validation_fraction: float = 0.2,
        solver: str = "lbfgs",
        n_starts: int = 5,
        max_iter: int = 1000,
        tol: float | None = None,
        coef_scale: str = "free",
        overlap: str = "nearest",
        standardize: bool = True,
        prior: Prior | None = None,
        handle_unknown: str = "error",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_localities = n_localities
        self.points_of_interest = points_of_interest
        self.metric = metric
        self.inverse_temperature = inverse_temperature
        self.validation_fraction = validation_fraction
        self.solver = solver
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.coef_scale = coef_scale
        self.overlap = overlap
        self.standardize = standardize
        self.prior = prior
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LocalMixtureClassifier:
        """Learn localities and models.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)
        y : array of (n_rows,), with two distinct labels
        sample_weight : array of (n_rows,), default=None
            An integer weight is the same as repeating the row.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        encoded, names, weight, counted = self._prepare(X, sample_weight)
        points = self._read_points()
        y = column_or_1d(y, warn=True)
        check_consistent_length(counted, y)
        labels = y[counted]
        if labels.dtype.kind == "f":
            check_finite(labels[:, None], ("y",), "y")
        elif labels.dtype.kind == "O":
            check_present(labels, "y", "y")
        check_classification_targets(labels)
        classes = np.unique(labels)
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(labels)}. It has "
                f"{len(classes)} classes; wrap the model in sklearn.multiclass.OneVsRestClassifier."
            )
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only, {classes[0]!r}, in {len(labels)} rows of positive weight; a classifier needs two classes."
            )
        self.classes_ = classes
        self._fit(_Table(encoded, np.where(labels == classes[1], 1.0, -1.0), weight), points, names)
        return self

    def _free_coef_scale(self) -> bool:
        return self.coef_scale == "free"

    def _score_said(self, said: Array, rows: Rows) -> float:
        return float(accuracy_score(rows.target, np.where(said > 0, 1.0, -1.0), sample_weight=rows.weight))

    def decision_function(self, X: Any) -> Array:
        """The posterior's vote as a normal quantile, Phi^-1 of `predict_proba`; positive where it favours `classes_[1]`.

        Returns
        -------
        ndarray, (n_rows,)
        """
        positive, negative = prediction.votes(self._readings(X))
        return np.asarray(np.where(positive < negative, ndtri(positive), -ndtri(negative)))

    def predict(self, X: Any) -> AnyArray:
        """Label given by the model that speaks for each row (see `apply`, and `overlap`).

        Returns
        -------
        ndarray, (n_rows,)
        """
        readings = self._readings(X)
        positive = prediction.spoken(readings, self.overlap) > 0
        return np.asarray(self.classes_[positive.astype(int)])

    def predict_proba(self, X: Any) -> Array:
        """The posterior's vote: memberships times the probability that each model's random score is positive.

        It weighs all models by how likely the row is to be theirs, so that near the edge of a ball it may favour the
        other label than `predict`, which lets the models speak that apply.

        Returns
        -------
        ndarray, (n_rows, 2)
        """
        positive, negative = prediction.votes(self._readings(X))
        return np.column_stack([negative, positive])

    def ambiguous(self, X: Any) -> Booleans:
        """Rows for which applicable local models give different labels.

        Returns
        -------
        ndarray of bool, (n_rows,)
        """
        readings = self._readings(X)
        return np.asarray(prediction.spread(readings, (readings.mean > 0).astype(float)) > 0)

    def predict_set(self, X: Any) -> list[AnyArray]:
        """All labels that applicable models give, for each row.

        Returns
        -------
        list of n_rows arrays
        """
        readings = self._readings(X)
        positive = readings.mean > 0
        applicable = readings.applicable
        some = np.column_stack([(applicable & ~positive).any(axis=1), (applicable & positive).any(axis=1)])
        return [self.classes_[row] for row in some]


class LocalMixtureRegressor(RegressorMixin, _LocalMixture):  # type: ignore[misc]
    __doc__ = (
        """Regression by a few linear models, each in a ball, and one outside.

    Minimises the PAC-Bayes objective of "Mixtures of Transparent Local Models" (Diaby, Duchesne and Marchand) in closed form. The
    target is centred and scaled inside.
"""
        + _PARAMETERS.format(
            auto=_listed(REGRESSION_TEMPERATURES),
            coef_scale="",
            units=", in squared units of the target: ``objective_ = gibbs_risk_ + target_scale_**2 * kl_ / lambda``",
        )
        + """    target_scale_ : float
        Standard deviation of the target, by which it was divided inside.
    residual_scale_ : float
        Root mean squared error of the predictions on the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import LocalMixtureRegressor
    >>> X = np.linspace(-2, 2, 200)[:, None]
    >>> y = np.where(np.abs(X[:, 0]) < 1, X[:, 0], -X[:, 0])
    >>> model = LocalMixtureRegressor(n_localities=1, random_state=0).fit(X, y)
    >>> float(model.localities_[0].coef[0].round()), float(model.exterior_.coef[0].round())
    (1.0, -1.0)
    """
    )

    _loss = Squared()
    _scale_target = True
    _auto_temperatures = REGRESSION_TEMPERATURES

    def __init__(
        self,
        n_localities: int = 2,
        *,
        points_of_interest: Any = None,
        metric: Any = "euclidean",
        inverse_temperature: Any = "auto",
        validation_fraction: float = 0.2,
        solver: str = "lbfgs",
        n_starts: int = 5,
        max_iter: int = 1000,
        tol: float | None = None,
        overlap: str = "nearest",
        standardize: bool = True,
        prior: Prior | None = None,
        handle_unknown: str = "error",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_localities = n_localities
        self.points_of_interest = points_of_interest
        self.metric = metric
        self.inverse_temperature = inverse_temperature
        self.validation_fraction = validation_fraction
        self.solver = solver
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.overlap = overlap
        self.standardize = standardize
        self.prior = prior
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LocalMixtureRegressor:
        """Learn localities and models.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)
        y : array of (n_rows,)
        sample_weight : array of (n_rows,), default=None
            An integer weight is the same as repeating the row.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        encoded, names, weight, counted = self._prepare(X, sample_weight)
        points = self._read_points()
        y = column_or_1d(y, warn=True, dtype=np.float64)
        check_consistent_length(counted, y)
        target = y[counted]
        check_finite(target[:, None], ("y",), "y")
        self._fit(_Table(encoded, target, weight), points, names)
        return self

    def _store_more(self, table: _Table, readings: prediction.Readings) -> None:
        self.target_scale_ = self._fitted.units.target_scale
        residual = self._predicted(readings) - table.target
        self.residual_scale_ = float(np.sqrt(np.average(residual**2, weights=table.weight)))

    def _score_said(self, said: Array, rows: Rows) -> float:
        if len(rows) < 2:
            return -float(np.average((said - rows.target) ** 2, weights=rows.weight))
        return float(r2_score(rows.target, said, sample_weight=rows.weight))

    def _in_units(self, said: Array) -> Array:
        return said * self._fitted.units.target_scale + self._fitted.units.target_center

    def _predicted(self, readings: prediction.Readings) -> Array:
        return self._in_units(prediction.spoken(readings, self.overlap))

    def predict(self, X: Any) -> Array:
        """Prediction of the model that speaks for each row.

        Returns
        -------
        ndarray, (n_rows,)
        """
        return self._predicted(self._readings(X))

    def ambiguous(self, X: Any, tolerance: float | None = None) -> Booleans:
        """Rows for which predictions of applicable local models are further apart than a tolerance.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)
        tolerance : float, default=None
            In the units of the target; None is `residual_scale_`.

        Returns
        -------
        ndarray of bool, (n_rows,)
        """
        if tolerance is not None and not tolerance >= 0:
            raise ValueError(f"tolerance must be a number >= 0, in the units of the target; got {tolerance!r}.")
        readings = self._readings(X)
        apart = prediction.spread(readings, readings.mean) * self.target_scale_
        return np.asarray(apart > (self.residual_scale_ if tolerance is None else tolerance))

    def predict_set(self, X: Any) -> list[Array]:
        """All predictions of applicable models, for each row, in increasing order.

        Returns
        -------
        list of n_rows arrays
        """
        readings = self._readings(X)
        said = self._in_units(readings.mean)
        return [np.sort(row[which]) for row, which in zip(said, readings.applicable, strict=True)]
