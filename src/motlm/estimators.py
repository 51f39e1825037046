"""LocalMixtureClassifier and LocalMixtureRegressor: validate, walk the line from rows to posterior,
store.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)
from threadpoolctl import threadpool_limits

from . import exports, prediction
from ._typing import AnyArray, Array, Booleans, Integers
from .columns import Columns, check_finite, check_present, has_text, is_frame
from .combinations import COMBINATIONS
from .files import save
from .fingerprints import Fingerprint
from .learning import ByAccuracy, ByR2, Found, Judge, Learning
from .localities import Locality, LocalModel, Units, moments
from .losses import Loss, Squared, ZeroOne
from .objective import BLOCK, KnownCenters, LearnedCenters, Vicinity, lookup_of
from .optimize import SOLVERS, Record
from .posterior import Posterior, Prior
from .problem import NO_ROWS, Metric, Problem, Table
from .rows import Rows, distinct_rows
from .watch import Watch

__all__ = ["LocalMixture", "LocalMixtureClassifier", "LocalMixtureRegressor"]

CLASSIFICATION_TEMPERATURES = (
    0.5,
    1.0,
    2.0,
    4.0,
    8.0,
)  # tuned on two splits of Banana and wdbc, 0.5 on ten of KEEL's eight sets
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


class LocalMixture(BaseEstimator):  # type: ignore[misc]
    """What the two estimators share."""

    _loss: Loss
    _judge: Judge
    _scale_target: bool
    _auto_temperatures: tuple[float, ...]
    _standard_errors: (
        float  # by which a smaller lambda may seem worse on held-out rows than the best
    )
    _fingerprint: Fingerprint
    posterior_: Posterior
    # where minima are looked for, if larger inverse temperatures are wanted: the objective is
    # smoother there
    _anchor: float

    # -- the recipe --------------------------------------------------------------------------------

    def _fit(
        self,
        table: Table,
        points: Array | None,
        names: tuple[str, ...],
        validation: Callable[[], Table | None],
    ) -> None:
        """Merge equal rows, choose n and lambda if there is a choice, search, drop what no row
        belongs to, keep.
        """
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        for name in ("certificate_", "table_"):  # they were of another model
            self.__dict__.pop(name, None)
        if isinstance(self.standardize, Units):
            self._check_units(self.standardize, names)
        varies = moments(table.X, table.weight / table.weight.sum())[1] > 0
        merged = distinct_rows(table.X[:, varies], table.target, table.weight, rng)
        rows = Table(table.X[merged.first], table.target[merged.first], merged.weight)
        typical, _ = moments(rows.X, rows.weight / rows.weight.sum())
        sizes = self._sizes(points, len(rows.X), len(table.X))
        if len(rows.X) > 1 and not varies.all():
            self._warn_of_constants(names, varies, max(sizes))
        if not varies.any():
            sizes, points = [0], None
        room = max(sizes)
        if (
            self.warm_start
            and points is None
            and hasattr(self, "posterior_")
            and (self.prior is None or self.prior.plain)
        ):
            room = max(room, self.posterior_.n_localities)
        whole = self._problem(rows, points, room, varies)
        before = self._resumed(whole, names) if self.warm_start else None
        self._typical = typical
        chosen_by = validation()  # needs what is typical, for unknown categories
        # a block's products are small: more threads of BLAS only wait for each other
        with (
            Watch(self.max_time, self.verbose > 0) as watch,
            threadpool_limits(limits=1, user_api="blas"),
        ):
            learning = self._learning(watch, rng)
            found = learning.learn(
                rows,
                whole,
                lambda part: self._problem(part, points, max(sizes), varies),
                sizes,
                before,
                chosen_by,
            )
        self._warn_of_end(found, sizes, watch, rows)
        centers = None if points is None else points[found.kept]
        self._keep(
            found, table, centers, names, learning.records, chosen_by, before is not None, room
        )

    def _learning(self, watch: Watch, rng: np.random.Generator) -> Learning:
        return Learning(
            judge=self._judge,
            temperatures=self._temperatures(),
            anchor=self._anchor,
            standard_errors=self._standard_errors,
            select=self.select,
            validation_fraction=self.validation_fraction,
            overlap=self.overlap,
            options={
                "unit_scale": not self._free_coef_scale(),
                "solver": self.solver,
                "n_starts": self.n_starts,
                "max_iter": self.max_iter,
                "tol": self.tol,
                "n_jobs": self.n_jobs,
            },
            watch=watch,
            rng=rng,
        )

    def _resumed(self, problem: Problem, names: tuple[str, ...]) -> tuple[Posterior, float] | None:
        """The fitted posterior in the units of a problem, where it fits, and its inverse
        temperature.
        """
        if not hasattr(self, "_fitted") or self.exterior_.feature_names != names:
            return None
        fitted: Problem = self._fitted
        if not np.array_equal(fitted.varies, problem.varies) or (fitted.points is None) != (
            problem.points is None
        ):
            return None
        n = self.posterior_.n_localities
        if (problem.points is not None and len(problem.points) != n) or n > len(
            np.asarray(problem.prior.radius_shape)
        ):
            return None
        return problem.from_units(self.posterior_, fitted.units), self.inverse_temperature_

    def _sizes(self, points: Array | None, n_distinct: int, n_rows: int) -> list[int]:
        """The numbers of localities to try."""
        if points is not None:
            return [len(points)]
        if isinstance(self.n_localities, str):
            return list(range(min(self.max_localities, n_distinct) + 1))
        n = int(self.n_localities)
        if n > n_distinct:
            raise ValueError(
                f"n_localities={n} is more than the {n_distinct} distinct rows"
                f" (n_samples={n_rows}); ask for fewer localities."
            )
        return [n]

    def _problem(self, table: Table, points: Array | None, n: int, varies: Booleans) -> Problem:
        units = self.standardize
        if not isinstance(units, Units):
            units = Units.of(table.X, table.target, table.weight, units, self._scale_target)
        free = ["radius_shape", "radius_rate", "coef", "intercept", "intercept_scale"]
        if self._free_coef_scale():
            free.append("coef_scale")
        places, metric = None, None
        vicinity: Vicinity = LearnedCenters()
        if points is None:
            free += ["center", "center_scale"]
        else:
            vicinity, places = KnownCenters(), units.standardized(points) * varies
            metric = Metric.of(self.metric, units.standardized(table.X) * varies, table.weight)
        prior = (Prior() if self.prior is None else self.prior).expanded(n, len(varies))
        prior = replace(
            prior,
            center=np.asarray(prior.center)[:, varies],
            coef=np.asarray(prior.coef)[:, varies],
        )
        combination = COMBINATIONS[self._combine()]
        problem = Problem(
            units,
            varies,
            NO_ROWS,
            places,
            metric,
            vicinity,
            self._loss,
            combination,
            prior,
            tuple(free),
        )
        return replace(problem, rows=problem.rows_of(table.X, table.target, table.weight))

    def _warn_of_end(self, found: Found, sizes: list[int], watch: Watch, table: Table) -> None:
        solution = found.solution
        if watch.cut or watch.interrupted:
            rows = len(found.problem.rows)
            part = (
                ""
                if rows == len(table.X)
                else f", on {rows} of {len(table.X)} distinct rows (the others were held out)"
            )
            warnings.warn(
                f"{watch.reason}: the model is the best found so far, n ="
                f" {solution.posterior.n_localities}, lambda' = {solution.inverse_temperature:g},"
                f" objective {solution.objective:.6g}{part}. To go on from it, set warm_start=True"
                " and fit again.",
                ConvergenceWarning,
                stacklevel=4,
            )
            return
        n = max(sizes) if len(sizes) == 1 else solution.posterior.n_localities
        dead = [str(i) for i in range(n) if i not in found.kept] if len(sizes) == 1 else []
        if dead:
            warnings.warn(
                f"no training row belongs to locality {', '.join(dead)} of {n}: dropped, and the"
                f" model refitted with {len(found.kept)}. Ask for fewer localities, or raise"
                f" inverse_temperature (now {solution.inverse_temperature:g}).",
                stacklevel=4,
            )
        if not solution.converged:
            warnings.warn(
                f"{self.solver} stopped at max_iter={self.max_iter} with objective"
                f" {solution.objective:.6g} (lambda' = {solution.inverse_temperature:g}):"
                f" {solution.message}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _keep(
        self,
        found: Found,
        table: Table,
        centers: Array | None,
        names: tuple[str, ...],
        records: list[Record],
        chosen_by: Table | None,
        resumed: bool,
        most: int,
    ) -> None:
        solution, unit = found.solution, found.problem.units.target_scale**2
        self._fitted = replace(found.problem, rows=NO_ROWS)
        fingerprint = Fingerprint.of(table.X, table.target)
        if chosen_by is not None:
            fingerprint = fingerprint.joined(Fingerprint.of(chosen_by.X, chosen_by.target))
        if resumed:
            fingerprint = fingerprint.joined(self._fingerprint)
        self._fingerprint = fingerprint
        self._units_from = (
            "given"
            if isinstance(self.standardize, Units)
            else "rows"
            if self.standardize
            else "nowhere"
        )
        self._most_localities = most
        self._chosen = found.searched
        self._radius = prediction.radii(lookup_of(self._fitted.vicinity, solution.posterior))
        self.posterior_ = solution.posterior
        self.objective_ = solution.objective * unit
        self.gibbs_risk_ = solution.gibbs_risk * unit
        self.kl_ = solution.kl
        self.inverse_temperature_ = solution.inverse_temperature
        self.n_iter_ = max(1, solution.n_iter)
        self.path_ = records
        counts = sum(routing.applicable.sum(axis=1) for routing in self._routings(table.X))
        self._store_localities(counts, centers, found.kept, names)
        self._store_more(table)

    def _store_localities(
        self, counts: Integers, centers: Array | None, kept: list[int], names: tuple[str, ...]
    ) -> None:
        """Localities and exterior in the user's units; a constant column has coefficient 0, and a
        ball no end along it.
        """
        units, posterior = self._fitted.units, self.posterior_
        varies = self._fitted.varies & (
            units.inverse_scale > 0
        )  # of a fit that was stopped: among the rows it had
        seen = varies[self._fitted.varies]
        n, d = posterior.n_localities, len(varies)
        inverse = units.inverse_scale[varies]
        slope, width, coef = np.zeros(d), np.full(d, np.inf), np.zeros((n + 1, d))
        slope[varies] = inverse * units.target_scale
        width[varies] = 1.0 / inverse
        coef[:, varies] = posterior.coef[:, seen] * slope[varies]
        if centers is None:
            centers = np.tile(self._typical, (n, 1))
            centers[:, varies] = posterior.center[:, seen] / inverse + units.center[varies]
        metric = self._fitted.metric
        simple = metric is None or (isinstance(metric.name, str) and metric.name in _AXIS_METRICS)

        def model(i: int) -> dict[str, Any]:
            lever = posterior.coef_scale[i] * np.linalg.norm(slope * units.center)
            return {
                "feature_names": names,
                "coef": coef[i],
                "coef_scale": posterior.coef_scale[i] * slope,
                "intercept": float(
                    posterior.intercept[i] * units.target_scale
                    + units.target_center
                    - coef[i] @ units.center
                ),
                "intercept_scale": float(
                    np.hypot(posterior.intercept_scale[i] * units.target_scale, lever)
                ),
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

    # -- rows in, readings out ---------------------------------------------------------------------

    def _prepare(
        self, X: Any, sample_weight: Any
    ) -> tuple[Array, tuple[str, ...], Array, Booleans]:
        """Check the parameters, learn the columns, encode: rows of positive weight, column names,
        weights, which rows count.
        """
        self._check_parameters()
        text = has_text(X)
        if text:
            validate_data(self, X, skip_check_array=True)
            checked = X
        else:
            checked = self._as_numbers(X, reset=True)
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

    def _validation(self, X: Any, y: Any, target: Callable[[Any], Array]) -> Table | None:
        """The rows given to choose by."""
        if X is None and y is None:
            return None
        if X is None or y is None:
            raise ValueError("X_val and y_val come together; got one of them alone.")
        encoded, target_of_rows = self._encode(X, "X_val"), target(y)
        check_consistent_length(encoded, target_of_rows)
        if len(encoded) == 0:
            raise ValueError(
                "X_val has no rows to choose by; give some, or leave X_val and y_val out."
            )
        return Table(encoded, target_of_rows, np.ones(len(encoded)))

    def _encode(self, X: Any, name: str = "X") -> Array:
        """Rows to predict for, encoded as in fit."""
        columns: Columns = self._columns
        if columns.has_text:
            validate_data(self, X, reset=False, skip_check_array=True)
            encoded = columns.encode(
                X, name, self._typical if self.handle_unknown == "ignore" else None
            )
        else:
            encoded = np.asarray(self._as_numbers(X, reset=False))
        check_finite(encoded, columns.encoded_names, name)
        return encoded

    def _as_numbers(self, X: Any, reset: bool) -> Any:
        try:
            return validate_data(
                self, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False
            )
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise ValueError(
                f"X is an array that holds text ({error}). Categories are encoded in tables with"
                " named columns: give one of pandas or polars; in a pipeline, by"
                ' .set_output(transform="pandas") of the step before.'
            ) from error

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
                    f"metric={self.metric!r} needs points_of_interest: learned points know the"
                    " Euclidean metric only. Give the points, or leave metric='euclidean'."
                )
            return None
        columns: Columns = self._columns
        if is_frame(points):
            points = self._in_order(points)
        elif hasattr(points, "column_names"):
            raise TypeError(
                "points_of_interest must be an array or a pandas or polars table; got"
                f" {type(points)}."
            )
        else:
            try:
                points = np.asarray(points, dtype=object if columns.has_text else float)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"points_of_interest must be rows of numbers, like X: {error}"
                ) from error
        if len(points.shape) != 2:
            raise ValueError(
                "points_of_interest must be 2-D, one row for each point; got an array of shape"
                f" {points.shape}. For one point write [[...]]."
            )
        if points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"points_of_interest has {points.shape[1]} columns but X has {self.n_features_in_};"
                " give each point in the columns of X."
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

    def _blocks(self, X: Array) -> Iterator[Rows]:
        """Encoded rows in the units of the model, some at a time."""
        for start in range(0, max(len(X), 1), BLOCK):
            part = X[start : start + BLOCK]
            yield self._fitted.rows_of(part, np.full(len(part), self._fitted.units.target_center))

    def _routings(self, X: Array) -> Iterator[prediction.Routing]:
        fitted: Problem = self._fitted
        return (
            prediction.route(fitted.vicinity, self.posterior_, self._radius, rows)
            for rows in self._blocks(X)
        )

    def _gather(self, X: Any, function: Callable[[prediction.Routing], AnyArray]) -> AnyArray:
        """What a function of the routing says of each row."""
        check_is_fitted(self)
        return np.concatenate([function(routing) for routing in self._routings(self._encode(X))])

    def _gather_readings(
        self, X: Any, function: Callable[[prediction.Readings], AnyArray]
    ) -> AnyArray:
        """What a function of the posterior's view says of each row."""
        check_is_fitted(self)
        return np.concatenate([function(readings) for readings in self._readings(self._encode(X))])

    def _readings(self, X: Array) -> Iterator[prediction.Readings]:
        vicinity, posterior = self._fitted.vicinity, self.posterior_
        lookup = lookup_of(vicinity, posterior)
        return (prediction.read(vicinity, lookup, posterior, rows) for rows in self._blocks(X))

    def _in_all_columns(self) -> tuple[Array, Array]:
        """Coefficients and centers, standardized, one row for each model or locality; 0 for columns
        that are constant.
        """
        fitted, posterior = self._fitted, self.posterior_
        n, d = posterior.n_localities, len(fitted.varies)
        coef, center = np.zeros((n + 1, d)), np.zeros((n, d))
        coef[:, fitted.varies] = posterior.coef
        if fitted.points is not None:
            return coef, fitted.points
        center[:, fitted.varies] = posterior.center
        return coef, center

    # -- checks ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        for name, low in (
            ("n_localities", 0),
            ("max_localities", 1),
            ("n_starts", 1),
            ("max_iter", 1),
            ("verbose", 0),
        ):
            value = getattr(self, name)
            if name == "n_localities" and isinstance(value, str) and value == "auto":
                continue
            if name == "verbose" and isinstance(value, bool):
                continue
            if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
                words = "'auto' or an integer" if name == "n_localities" else "an integer"
                raise ValueError(f"{name} must be {words} >= {low}; got {value!r}.")
        if self.max_time is not None and not (
            isinstance(self.max_time, Real)
            and not isinstance(self.max_time, bool)
            and float(self.max_time) > 0
        ):
            raise ValueError(
                f"max_time must be None or a positive number of seconds; got {self.max_time!r}."
            )
        if self.tol is not None and not (
            isinstance(self.tol, Real) and not isinstance(self.tol, bool) and float(self.tol) >= 0
        ):
            raise ValueError(f"tol must be None or a number >= 0; got {self.tol!r}.")
        if not (
            isinstance(self.validation_fraction, Real) and 0 < float(self.validation_fraction) < 1
        ):
            raise ValueError(
                f"validation_fraction must lie between 0 and 1; got {self.validation_fraction!r}."
            )
        for name, allowed in (
            ("solver", tuple(SOLVERS)),
            ("overlap", prediction.OVERLAPS),
            ("coef_scale", ("free", "unit")),
            ("combine", tuple(COMBINATIONS)),
            ("handle_unknown", ("error", "ignore")),
            ("select", ("held-out", "bound")),
            ("warm_start", (True, False)),
            ("standardize", (True, False)),
        ):
            value = getattr(self, name, allowed[0])  # the regressor has no coef_scale, no combine
            if name == "standardize" and isinstance(value, Units):
                continue
            if value not in allowed:
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}."
                )
        if self.prior is not None and not isinstance(self.prior, Prior):
            raise ValueError(
                f"prior must be None or a motlm.Prior; got {type(self.prior).__name__}."
            )
        if isinstance(self.metric, str) and self.metric == "precomputed":
            raise ValueError(
                "metric='precomputed' has no rows to measure when predicting; give a metric by"
                " name, or a function."
            )

    def _check_units(self, units: Units, names: tuple[str, ...]) -> None:
        """Units given by the user must be of these columns; a classifier's target has none."""
        if np.shape(units.center) != (len(names),) or np.shape(units.inverse_scale) != (
            len(names),
        ):
            raise ValueError(
                f"standardize has units of {np.size(units.center)} columns, but X has {len(names)}"
                f" (encoded: {', '.join(names[:5])}{', ..' if len(names) > 5 else ''}); take them"
                " from rows like X by Units.of_rows."
            )
        if not self._scale_target and (units.target_center, units.target_scale) != (0.0, 1.0):
            raise ValueError(
                "standardize has units of a target, which a classifier has not; leave the target"
                " out of Units.of_rows."
            )

    def _temperatures(self) -> tuple[float, ...]:
        given = self.inverse_temperature
        if isinstance(given, str) and given == "auto":
            given = self._auto_temperatures
        try:
            values = np.atleast_1d(np.asarray(given, dtype=float)).ravel()
        except (TypeError, ValueError):
            values = np.empty(0)
        if (
            isinstance(given, bool)
            or len(values) == 0
            or not (np.isfinite(values).all() and (values > 0).all())
        ):
            raise ValueError(
                "inverse_temperature (lambda', a multiple of the number of rows) must be 'auto', a"
                f" positive number or a sequence of them; got {given!r}."
            )
        if self.select == "bound" and self._scale_target and len(set(values)) > 1:
            raise ValueError(
                "select='bound' compares objectives of one lambda, so that regression needs one"
                f" inverse_temperature; got {_listed(tuple(map(float, values)))}. Give one number,"
                " or select='held-out'."
            )
        return tuple(map(float, dict.fromkeys(values)))

    def _weights(self, sample_weight: Any, X: Any) -> Array:
        if sample_weight is None:
            return np.ones(np.shape(X)[0])
        given = np.asarray(sample_weight)
        if given.ndim and not given.any():
            raise ValueError(
                "all of sample_weight are zero, so that no row is left to fit on; give some row a"
                " positive weight."
            )
        weight = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64), dtype=float)
        if (weight < 0).any():
            first = int(np.flatnonzero(weight < 0)[0])
            raise ValueError(
                f"Negative values in sample_weight: {int((weight < 0).sum())} of them, the first"
                f" {weight[first]:g} at row {first}; weights must be >= 0."
            )
        return weight

    def _warn_of_constants(self, names: tuple[str, ...], varies: Booleans, n: int) -> None:
        constant = [name for name, varying in zip(names, varies, strict=True) if not varying]
        shown = ", ".join(map(repr, constant[:5])) + (", .." if len(constant) > 5 else "")
        text = (
            f"constant in all training rows: {shown}. Such a column gets coefficient 0 and counts"
            " nowhere; leave it out of X"
        )
        if n and not varies.any():
            text += f". No column varies, so instead of {n} localities there is one constant model"
        warnings.warn(text + ".", stacklevel=4)

    # -- each estimator's own ----------------------------------------------------------------------

    def _free_coef_scale(self) -> bool:
        return True

    def _combine(self) -> str:
        return "sum"

    def _store_more(self, table: Table) -> None:
        """What one of the estimators keeps besides."""

    # -- files -------------------------------------------------------------------------------------

    def save(self, path: Any, *, overwrite: bool = True) -> Any:
        """Write the fitted model to a JSON file that people can read; `motlm.load` reads it, to the
        last bit.

        Parameters
        ----------
        path : str or Path
        overwrite : bool, default=True
            Whether a file that exists may be replaced.

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "model.json").name
        'model.json'
        """
        check_is_fitted(self)
        return save(self, path, overwrite)

    def to_python(self, name: str = "predict") -> str:
        """Source of a Python function without dependencies that predicts for one row, a mapping of
        column names to values.

        Parameters
        ----------
        name : str, default="predict"
            Of the function.

        Returns
        -------
        str

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> names = {}
        >>> exec(model.to_python("answer"), names)
        >>> bool(abs(names["answer"]({"x0": 0.5}) - model.predict([[0.5]])[0]) < 1e-9)
        True
        """
        check_is_fitted(self)
        return exports.to_python(self, name)

    def to_sql(self) -> str:
        """One standard SQL expression whose value is the prediction for a row of a table; NULL
        where it cannot be given.

        Returns
        -------
        str

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> model.to_sql()  # doctest: +ELLIPSIS
        'CASE WHEN "x0" IS NULL THEN NULL ELSE CASE WHEN ... <= ... THEN (...) ELSE (...) END * ...
        + ... END'
        """
        check_is_fitted(self)
        return exports.to_sql(self)

    def to_onnx(self) -> Any:
        """An ONNX model of columns of numbers; needs onnx: pip install 'motlm[onnx]'.

        Returns
        -------
        onnx ModelProto

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
        >>> graph = mixture.fit(X, y).to_onnx().graph
        >>> [one.name for one in graph.input], [one.name for one in graph.output]
        (['X'], ['score'])
        """
        check_is_fitted(self)
        return exports.to_onnx(self)

    # -- reading a fitted model --------------------------------------------------------------------

    def membership(self, X: Any) -> Booleans:
        """Which localities contain each row: distance <= radius, where membership is at least 1/2.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray of bool, (n_rows, n_localities)

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> model.membership([[0.0], [1.5]])
        array([[ True],
               [False]])
        """
        return self._gather(X, lambda routing: routing.member.T)

    def membership_proba(self, X: Any) -> Array:
        """Probability, under the posterior, that each locality contains each row.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray, (n_rows, n_localities)

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> [ball] = model.localities_
        >>> model.membership_proba([ball.center, ball.center + ball.half_width]).round(3)
        array([[1. ],
               [0.5]])
        """
        return self._gather_readings(X, lambda readings: readings.omega.T)

    def apply(self, X: Any) -> Integers:
        """Index in `localities_` of the model that speaks for each row; n for the exterior model.

        With `overlap="mean"` it is -1 where several models speak together.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray of int, (n_rows,)

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> model.apply([[0.0], [1.5]])
        array([0, 1])
        """
        return self._gather(
            X, prediction.nearest_model if self.overlap == "nearest" else prediction.mean_model
        )


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


_PARAMETERS = """
    Parameters
    ----------
    n_localities : int or "auto", default=2
        How many balls to search for. 0 is one linear model. "auto" grows the mixture one ball at a
        time, up to `max_localities` or until two more bring nothing, and takes the number that does
        best (see `select`). Ignored where points_of_interest are given.
    max_localities : int, default=8
        Most balls that "auto" tries.
    points_of_interest : array or DataFrame of (n_localities, n_features), default=None
        Centers of the localities, in the columns and units of X. They stay where they are; only
        radii and models are learned. None: the centers are learned too.
    metric : str or callable, default="euclidean"
        Distance between (standardized) rows and points. With given points any metric that
        scikit-learn's `pairwise_distances` knows by name, or a function of two rows; learned points
        are Euclidean.
    inverse_temperature : "auto", float or sequence of float, default="auto"
        The paper's lambda', where lambda = lambda' * (sum of weights) divides the KL divergence. Of
        a sequence, or of "auto" ({auto}), {which} is taken, and the model refitted on all rows.
    select : "held-out" or "bound", default="held-out"
        How n_localities and inverse_temperature are chosen: by the score of held-out rows (or of
        `X_val`), or, without holding any out, by {bound}.
    validation_fraction : float, default=0.2
        Share of the rows that is held out to choose by.
    solver : "lbfgs" or "nadam", default="lbfgs"
        "nadam" is the paper's solver with its random starts, learning rates and stopping rule.
    n_starts : int, default=8
        Effort of the search. "lbfgs": starts that are polished for a few steps, of ten times as
        many that are drawn, in each of the ways to come by a mixture; the best are searched to the
        end. "nadam": random starts.
    max_iter : int, default=1000
        Most steps of one search.
    tol : float, default=None
        Relative decrease of the objective at which a search stops; None is the solver's own (1e-5
        for ten steps of "lbfgs", 0.05 for 40 of "nadam").
    max_time : float, default=None
        Seconds after which the search stops with the best model found so far, and a warning. Ctrl-C
        does the same.
    warm_start : bool, default=False
        Whether to go on from the model of the last fit: its localities, number and
        `inverse_temperature_` (balls are added or dropped where n_localities has changed) are
        searched on, without looking for others.{coef_scale}
    overlap : "nearest" or "mean", default="nearest"
        Which of several applicable local models speaks: that of the nearest center, or all, by the
        mean of their scores.
    standardize : bool or Units, default=True
        Whether to bring all columns to mean 0 and standard deviation 1 first. The priors expect
        that. Everything is reported in the user's units all the same. `Units.of_rows` takes means
        and deviations from other rows, as a certificate without a split needs them.
    prior : Prior, default=None
        Prior laws, in standardized units; None for the paper's.
    handle_unknown : "error" or "ignore", default="error"
        What to do with a category that fit did not see. Ignored, it counts as the training average.
    n_jobs : int, default=None
        Processes among which the starts are shared out. The model is the same for any number.
    verbose : int, default=0
        1 shows a progress bar: what is being done, and the best objective.
    random_state : int, RandomState or None, default=None
        Seed of the starts and of the held-out rows. The order of the rows does not matter.

    Attributes
    ----------
    localities_ : list of Locality
        Each with center, half_width, coef, intercept, n_rows and formula(), in the user's units,
        and with radius and radius_mean, which are distances between standardized rows. A locality
        that no training row belongs to is dropped, with a warning.
    exterior_ : LocalModel
        The linear model of the rows that no locality contains.
    posterior_ : Posterior
        All laws learned, in standardized units.
    objective_, gibbs_risk_, kl_ : float
        What was minimized, L_S(Q) + KL / lambda, and its parts{units}.
    inverse_temperature_ : float
        lambda', given or chosen.
    path_ : list of Record
        The minima found, for every number of localities and inverse temperature tried.
    n_iter_ : int
        Steps of the search that won.
    n_features_in_, feature_names_in_
        As in scikit-learn.
"""


_OBJECTIVE = r"""    Notes
    -----
    Training minimizes, over the laws Q of all parameters and with the prior P,

    .. math::

        L_S(Q) + \frac{KL(Q \,\|\, P)}{\lambda}, \qquad \lambda = \lambda' \sum_j \alpha_j,

    .. math::

        L_S(Q) = \frac{1}{\sum_j \alpha_j} \sum_j \alpha_j \Big[ \sum_{i=1}^n \omega_i(x_j) \,
        \ell_i(x_j, y_j) + \ell_{ext}(x_j, y_j) \prod_{i=1}^n \big(1 - \omega_i(x_j)\big) \Big],

    where :math:`\alpha_j` are the weights of the rows, :math:`\omega_i(x)` is the probability that ball i contains the row, and
    :math:`\ell_i`, :math:`\ell_{ext}` are the losses of the local models and of the exterior one. For a standardized row x the
    score :math:`s_i` of model i is normal with mean :math:`m_i = w_i \cdot x + b_i` and variance
    :math:`v_i = \rho_i^2 |x|^2 + \sigma_i^2`, so that its loss has a closed form.
"""


class LocalMixtureClassifier(ClassifierMixin, LocalMixture):  # type: ignore[misc]
    __doc__ = (
        """Binary classification by a few linear models, each in a ball, and one outside.

    Minimizes the PAC-Bayes objective of "Mixtures of Transparent Local Models" (Diaby, Duchesne and
    Marchand) in closed form.
"""
        + _PARAMETERS.format(
            auto=_listed(CLASSIFICATION_TEMPERATURES),
            which=(
                "the smallest that held-out rows do not tell from the best (by a standard error of"
                " the difference)"
            ),
            coef_scale="""
    coef_scale : "free" or "unit", default="free"
        Whether the posterior scale of the weights is learned, or fixed at 1 as in the paper. Free
        has the lower minimum.
    combine : "sum" or "any", default="sum"
        The loss of a row to which several models apply: the sum of theirs, as in the paper, or the
        probability that any of them errs, which is never more.""",
            units="",
            bound="Catoni's bound on the risk",
        )
        + r"""    classes_ : ndarray of (2,)
        The labels.

"""
        + _OBJECTIVE
        + r"""    It is the zero-one loss, with labels -1 and +1:

    .. math::

        \ell_i(x, y) = P(y s_i \le 0) = \Phi\big(-y \, m_i / \sqrt{v_i}\big).

    With ``combine="any"`` the bracket is :math:`1 - \prod_i (1 - \omega_i \ell_i) + \ell_{ext} \prod_i (1 - \omega_i)`, the
    probability that some applicable model errs.

    `predict` asks one model for each row: of the balls that contain it (distance at most `radius`)
    the one with the nearest center, or, where none does, the exterior model. The label is the sign
    of its mean score. With ``overlap="mean"`` it is the sign of the mean of the scores of all balls
    that contain the row.

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
    _judge = ByAccuracy()
    _scale_target = False
    _auto_temperatures = CLASSIFICATION_TEMPERATURES
    _anchor = 2.0  # tuned on one split of Banana and Phoneme
    _standard_errors = (
        1.0  # Breiman's constant; ten splits of KEEL's eight sets spoke for having the rule
    )

    def __init__(
        self,
        n_localities: int | str = 2,
        *,
        max_localities: int = 8,
        points_of_interest: Any = None,
        metric: Any = "euclidean",
        inverse_temperature: Any = "auto",
        select: str = "held-out",
        validation_fraction: float = 0.2,
        solver: str = "lbfgs",
        n_starts: int = 8,
        max_iter: int = 1000,
        tol: float | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        coef_scale: str = "free",
        combine: str = "sum",
        overlap: str = "nearest",
        standardize: bool | Units = True,
        prior: Prior | None = None,
        handle_unknown: str = "error",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_localities = n_localities
        self.max_localities = max_localities
        self.points_of_interest = points_of_interest
        self.metric = metric
        self.inverse_temperature = inverse_temperature
        self.select = select
        self.validation_fraction = validation_fraction
        self.solver = solver
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.warm_start = warm_start
        self.coef_scale = coef_scale
        self.combine = combine
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

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_val: Any = None, y_val: Any = None
    ) -> LocalMixtureClassifier:
        """Learn localities and models.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)
        y : array of (n_rows,), with two distinct labels
        sample_weight : array of (n_rows,), default=None
            An integer weight is the same as repeating the row.
        X_val, y_val : like X and y, default=None
            Rows on which to choose n_localities and inverse_temperature, instead of some that are
            held out of X.

        Returns
        -------
        self

        Examples
        --------
        >>> from motlm import LocalMixtureClassifier
        >>> from motlm.datasets import make_clf_case2
        >>> X, y = make_clf_case2(400, random_state=0)
        >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
        >>> mixture = LocalMixtureClassifier(points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> model is mixture, model.classes_, model.score(X, y) > 0.9
        (True, array([-1.,  1.]), True)
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
                "Only binary classification is supported. The type of the target is"
                f" {type_of_target(labels)}. It has {len(classes)} classes; wrap the model in"
                " sklearn.multiclass.OneVsRestClassifier."
            )
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only, {classes[0]!r}, in {len(labels)} rows of positive weight; a"
                " classifier needs two classes."
            )
        if not np.array_equal(getattr(self, "classes_", classes), classes):
            self.__dict__.pop("_fitted", None)  # no warm start from a model of other labels
        self.classes_ = classes
        table = Table(encoded, self._signs(labels), weight)
        self._fit(table, points, names, lambda: self._validation(X_val, y_val, self._signs))
        return self

    def _signs(self, labels: Any) -> Array:
        """-1 and +1 for the labels."""
        labels = column_or_1d(labels, warn=True)
        strange = ~np.isin(labels, self.classes_)
        if strange.any():
            raise ValueError(
                f"y_val has the label {labels[strange].tolist()[0]!r}, which y has not; its labels"
                f" are {self.classes_.tolist()}."
            )
        return np.where(labels == self.classes_[1], 1.0, -1.0)

    def _free_coef_scale(self) -> bool:
        return self.coef_scale == "free"

    def _combine(self) -> str:
        return self.combine

    def decision_function(self, X: Any) -> Array:
        """The posterior's vote as a normal quantile, Phi^-1 of `predict_proba`; positive where it
        favors `classes_[1]`.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray, (n_rows,)

        Examples
        --------
        >>> from motlm import LocalMixtureClassifier
        >>> from motlm.datasets import make_clf_case2
        >>> X, y = make_clf_case2(400, random_state=0)
        >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
        >>> mixture = LocalMixtureClassifier(points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> model.decision_function([[-1.4, 0.5], [-1.4, -0.5], [0.0, -1.0]]) > 0
        array([ True, False,  True])
        """
        positive, negative = self._votes(X)
        return np.asarray(np.where(positive < negative, ndtri(positive), -ndtri(negative)))

    def _votes(self, X: Any) -> Array:
        return np.asarray(
            self._gather_readings(X, lambda readings: np.column_stack(prediction.votes(readings)))
        ).T

    def predict(self, X: Any) -> AnyArray:
        """Label given by the model that speaks for each row (see `apply`, and `overlap`).

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray, (n_rows,)

        Examples
        --------
        >>> from motlm import LocalMixtureClassifier
        >>> from motlm.datasets import make_clf_case2
        >>> X, y = make_clf_case2(400, random_state=0)
        >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
        >>> mixture = LocalMixtureClassifier(points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> model.predict([[-1.4, 0.5], [-1.4, -0.5], [0.0, -1.0]])
        array([ 1., -1.,  1.])
        """
        positive = self._gather(X, lambda routing: prediction.spoken(routing, self.overlap) > 0)
        return np.asarray(self.classes_[positive.astype(int)])

    def predict_proba(self, X: Any) -> Array:
        """The posterior's vote: memberships times the probability that each model's random score is
        positive.

        It weighs all models by how likely the row is to be theirs, so that near the edge of a ball
        it may favor the other label than `predict`, which lets the models speak that apply.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray, (n_rows, 2)

        Examples
        --------
        >>> from motlm import LocalMixtureClassifier
        >>> from motlm.datasets import make_clf_case2
        >>> X, y = make_clf_case2(400, random_state=0)
        >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
        >>> mixture = LocalMixtureClassifier(points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> proba = model.predict_proba([[-1.4, 0.5], [-1.4, -0.5], [0.0, -1.0]])
        >>> proba.shape, proba[:, 1] > 0.5
        ((3, 2), array([ True, False,  True]))
        """
        positive, negative = self._votes(X)
        return np.column_stack([negative, positive])

    def ambiguous(self, X: Any) -> Booleans:
        """Rows for which applicable local models give different labels.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray of bool, (n_rows,)

        Examples
        --------
        >>> from motlm import LocalMixtureClassifier
        >>> from motlm.datasets import make_clf_case2
        >>> X, y = make_clf_case2(400, random_state=0)
        >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
        >>> mixture = LocalMixtureClassifier(points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> model.ambiguous([[-1.4, 0.5], [-1.4, -0.5], [0.0, -1.0]])
        array([False, False, False])
        """
        return self._gather(
            X, lambda routing: prediction.spread(routing, (routing.mean > 0).astype(float)) > 0
        )

    def predict_set(self, X: Any) -> list[AnyArray]:
        """All labels that applicable models give, for each row.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        list of n_rows arrays

        Examples
        --------
        >>> from motlm import LocalMixtureClassifier
        >>> from motlm.datasets import make_clf_case2
        >>> X, y = make_clf_case2(400, random_state=0)
        >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
        >>> mixture = LocalMixtureClassifier(points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> model.predict_set([[-1.4, 0.5], [-1.4, -0.5], [0.0, -1.0]])
        [array([1.]), array([-1.]), array([1.])]
        """

        def some(routing: prediction.Routing) -> Booleans:
            positive, applicable = routing.mean > 0, routing.applicable
            return np.column_stack(
                [(applicable & ~positive).any(axis=0), (applicable & positive).any(axis=0)]
            )

        return [self.classes_[row] for row in self._gather(X, some)]


class LocalMixtureRegressor(RegressorMixin, LocalMixture):  # type: ignore[misc]
    __doc__ = (
        """Regression by a few linear models, each in a ball, and one outside.

    Minimizes the PAC-Bayes objective of "Mixtures of Transparent Local Models" (Diaby, Duchesne and
    Marchand) in closed form. The target is centered and scaled inside.
"""
        + _PARAMETERS.format(
            auto=_listed(REGRESSION_TEMPERATURES),
            which="the one that predicts held-out rows best",
            coef_scale="",
            units=(
                ", in squared units of the target: ``objective_ = gibbs_risk_ + target_scale_**2 *"
                " kl_ / lambda``"
            ),
            bound="the objective, which needs one inverse_temperature",
        )
        + r"""    target_scale_ : float
        Standard deviation of the target, by which it was divided inside.
    residual_scale_ : float
        Root mean squared error of the predictions on the training rows.

"""
        + _OBJECTIVE
        + r"""    It is the squared loss, of the standardized target:

    .. math::

        \ell_i(x, y) = E (s_i - y)^2 = (m_i - y)^2 + v_i.

    `predict` asks one model for each row: of the balls that contain it (distance at most `radius`)
    the one with the nearest center, or, where none does, the exterior model. With
    ``overlap="mean"`` it is the mean of what all balls that contain the row say.

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
    _judge = ByR2()
    _scale_target = True
    _auto_temperatures = REGRESSION_TEMPERATURES
    _anchor = 16.0  # tuned on one split of Stock
    _standard_errors = (
        0.0  # squared errors have long tails: what seems worse by a standard error often is
    )

    def __init__(
        self,
        n_localities: int | str = 2,
        *,
        max_localities: int = 8,
        points_of_interest: Any = None,
        metric: Any = "euclidean",
        inverse_temperature: Any = "auto",
        select: str = "held-out",
        validation_fraction: float = 0.2,
        solver: str = "lbfgs",
        n_starts: int = 8,
        max_iter: int = 1000,
        tol: float | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        overlap: str = "nearest",
        standardize: bool | Units = True,
        prior: Prior | None = None,
        handle_unknown: str = "error",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_localities = n_localities
        self.max_localities = max_localities
        self.points_of_interest = points_of_interest
        self.metric = metric
        self.inverse_temperature = inverse_temperature
        self.select = select
        self.validation_fraction = validation_fraction
        self.solver = solver
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.warm_start = warm_start
        self.overlap = overlap
        self.standardize = standardize
        self.prior = prior
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_val: Any = None, y_val: Any = None
    ) -> LocalMixtureRegressor:
        """Learn localities and models.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)
        y : array of (n_rows,)
        sample_weight : array of (n_rows,), default=None
            An integer weight is the same as repeating the row.
        X_val, y_val : like X and y, default=None
            Rows on which to choose n_localities and inverse_temperature, instead of some that are
            held out of X.

        Returns
        -------
        self

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> model is mixture, round(model.score(X, y), 2)
        (True, 1.0)
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        encoded, names, weight, counted = self._prepare(X, sample_weight)
        points = self._read_points()
        y = column_or_1d(y, warn=True, dtype=np.float64)
        check_consistent_length(counted, y)
        target = y[counted]
        check_finite(target[:, None], ("y",), "y")
        self._fit(
            Table(encoded, target, weight),
            points,
            names,
            lambda: self._validation(X_val, y_val, self._numbers),
        )
        return self

    def _numbers(self, y: Any) -> Array:
        target = column_or_1d(y, warn=True, dtype=np.float64)
        check_finite(target[:, None], ("y_val",), "y_val")
        return np.asarray(target)

    def _store_more(self, table: Table) -> None:
        self.target_scale_ = self._fitted.units.target_scale
        residual = (
            np.concatenate([self._predicted(routing) for routing in self._routings(table.X)])
            - table.target
        )
        self.residual_scale_ = float(np.sqrt(np.average(residual**2, weights=table.weight)))

    def _in_units(self, said: Array) -> Array:
        return said * self._fitted.units.target_scale + self._fitted.units.target_center

    def _predicted(self, routing: prediction.Routing) -> Array:
        return self._in_units(prediction.spoken(routing, self.overlap))

    def predict(self, X: Any) -> Array:
        """Prediction of the model that speaks for each row.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray, (n_rows,)

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> model.predict([[0.5], [1.5]]).round(1)  # 0.54 x inside, -0.55 x outside
        array([ 0.3, -0.8])
        """
        return self._gather(X, self._predicted)

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

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> model.ambiguous([[0.5], [1.5]])
        array([False, False])
        """
        if tolerance is not None and not tolerance >= 0:
            raise ValueError(
                f"tolerance must be a number >= 0, in the units of the target; got {tolerance!r}."
            )
        apart = (
            self._gather(X, lambda routing: prediction.spread(routing, routing.mean))
            * self.target_scale_
        )
        return np.asarray(apart > (self.residual_scale_ if tolerance is None else tolerance))

    def predict_set(self, X: Any) -> list[Array]:
        """All predictions of applicable models, for each row, in increasing order.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        list of n_rows arrays

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> [said.round(1) for said in model.predict_set([[0.5], [1.5]])]
        [array([0.3]), array([-0.8])]
        """
        check_is_fitted(self)
        return [
            np.sort(row[which])
            for routing in self._routings(self._encode(X))
            for row, which in zip(self._in_units(routing.mean.T), routing.applicable.T, strict=True)
        ]
