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
from sklearn.utils import check_random_state
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
from .localities import Locality, LocalModel, Units
from .losses import Loss, Squared, ZeroOne
from .objective import KnownCenters, LearnedCenters, Objective, Vicinity
from .optimise import SOLVERS, Record, Solution, best, paths
from .posterior import Posterior, Prior
from .rows import Rows, distinct_rows, held_out

__all__ = ["LocalMixtureClassifier", "LocalMixtureRegressor"]

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
_DATA_METRICS = ("seuclidean", "mahalanobis", "precomputed")  # change with the rows that they are given


@dataclass(frozen=True)
class _Table:
    """Encoded rows of positive weight."""

    X: Array
    target: Array
    weight: Array


@dataclass(frozen=True)
class _Problem:
    """Rows in standardised units, and all that a search over them needs but lambda."""

    units: Units
    rows: Rows
    points: Array | None
    vicinity: Vicinity
    loss: Loss
    prior: Prior
    free: tuple[str, ...]

    def objective(self, inverse_temperature: float) -> Objective:
        return Objective(self.loss, self.vicinity, self.prior, self.rows, inverse_temperature)


class _LocalMixture(BaseEstimator):  # type: ignore[misc]
    """What the two estimators share."""

    _loss: Loss
    _scale_target: bool
    _auto_temperatures: tuple[float, ...]
    _columns: Columns
    coef_scale: str = "free"

    # -- the recipe ---------------------------------------------------------------------------------------------------

    def _fit(self, table: _Table, points: Array | None, names: tuple[str, ...]) -> None:
        """Merge equal rows, choose lambda if there is a choice, search, drop what no row belongs to, keep."""
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        kinds = distinct_rows(table.X, table.target, table.weight, rng)
        merged = _Table(table.X[kinds.first], table.target[kinds.first], kinds.weight)
        n = self.n_localities if points is None else len(points)
        if points is None and n > len(merged.X):
            raise ValueError(
                f"n_localities={n} is more than the {len(merged.X)} distinct rows (n_samples={len(table.X)}); ask for fewer "
                "localities."
            )
        problem = self._problem(merged, points)
        self._warn_of_constants(problem.units, names, len(merged.X))
        candidates = self._temperatures()
        records: list[Record] = []
        if len(candidates) == 1:
            chosen, seeds = candidates[0], self._starts(problem, n, rng)
        else:
            chosen, seeds = self._select(merged, points, n, candidates, rng, records)
        if problem.points is not None:  # the same points, in the units of all rows
            seeds = [replace(seed, center=problem.points) for seed in seeds]
        solutions = [path[-1] for path in self._search(problem, [chosen], seeds)]
        records += [_record("final", i, solution) for i, solution in enumerate(solutions)]
        solution = solutions[best(solutions)]
        self._report(f"lambda' = {chosen:g}: objective {solution.objective:.5g} on all rows, best of {len(seeds)} starts")
        solution, problem, kept = self._without_dead(solution, problem, chosen)
        centers = problem.units.original(solution.posterior.center) if points is None else points[kept]
        self._keep(solution, problem, table, records)
        self._store_localities(self._read(table.X), centers, kept, names)

    def _select(
        self,
        table: _Table,
        points: Array | None,
        n: int,
        candidates: Sequence[float],
        rng: np.random.Generator,
        records: list[Record],
    ) -> tuple[float, list[Posterior]]:
        """The inverse temperature that predicts held-out rows best, and where its searches ended on the other rows."""
        mask = held_out(table.target, table.weight, self.validation_fraction, stratify=not self._scale_target)
        if mask is None or (points is None and n > (~mask).sum()):
            chosen = min(candidates)
            warnings.warn(
                f"{len(table.X)} distinct rows are too few to hold some out and choose inverse_temperature; the smallest of "
                f"{tuple(candidates)} is used. Give one number to choose it yourself.",
                stacklevel=4,
            )
            return chosen, self._starts(self._problem(table, points), n, rng)
        train, rest = (_Table(table.X[part], table.target[part], table.weight[part]) for part in (~mask, mask))
        problem = self._problem(train, points)
        ordered = sorted(candidates, reverse=True)  # from loose to tight: a ball that shrank away does not come back
        found = [[path[0] for path in self._search(problem, ordered[:1], self._starts(problem, n, rng))]]
        leaders = sorted(found[0], key=lambda solution: solution.objective)[:_FOLLOWED]
        later = self._search(problem, ordered[1:], [solution.posterior for solution in leaders])
        found += [list(solutions) for solutions in zip(*later, strict=True)]
        outcomes = []
        for temperature, solutions in zip(ordered, found, strict=True):
            winner = best(solutions)
            score, risk = self._held_out_score(problem, solutions[winner].posterior, rest)
            ranked = sorted(solutions, key=lambda solution: solution.objective)[:_FOLLOWED]
            outcomes.append((score, -risk, temperature, [solution.posterior for solution in ranked]))
            records += [_record("selection", i, solution, score if i == winner else None) for i, solution in enumerate(solutions)]
            self._report(f"lambda' = {temperature:g}: objective {solutions[winner].objective:.5g}, held-out score {score:.4g}")
        _, _, chosen, seeds = max(outcomes, key=lambda outcome: outcome[:2])
        return chosen, seeds

    def _search(self, problem: _Problem, temperatures: Sequence[float], seeds: Sequence[Posterior]) -> list[list[Solution]]:
        objectives = [problem.objective(temperature) for temperature in temperatures]
        options = {"max_iter": self.max_iter, "tol": self.tol}
        return paths(objectives, seeds, SOLVERS[self.solver], problem.free, options, self.n_jobs)

    def _problem(self, table: _Table, points: Array | None) -> _Problem:
        units = Units.of(table.X, table.target, table.weight, self.standardize, self._scale_target)
        Z = units.standardized(table.X)
        target = (table.target - units.target_center) / units.target_scale
        free = ["radius_shape", "radius_rate", "coef", "intercept", "intercept_scale"]
        if self.coef_scale == "free":
            free.append("coef_scale")
        vicinity: Vicinity
        if points is None:
            free += ["center", "center_scale"]
            rows, places, vicinity = Rows.of(Z, target, table.weight), None, LearnedCenters()
        else:
            places, vicinity = units.standardized(points), KnownCenters()
            rows = Rows.of(Z, target, table.weight, self._distances(Z, places))
        prior = Prior() if self.prior is None else self.prior
        return _Problem(units, rows, places, vicinity, self._loss, prior, tuple(free))

    def _starts(self, problem: _Problem, n: int, rng: np.random.Generator) -> list[Posterior]:
        if self.solver == "nadam":
            return [starts.paper_draw(problem.rows, problem.points, n, not self._scale_target, rng) for _ in range(self.n_starts)]
        count = self.n_starts if n else 1  # without localities there is one minimum
        unit = self.coef_scale == "unit"
        return [starts.placed_at_rows(problem.rows, problem.points, n, unit, rng) for _ in range(count)]

    def _held_out_score(self, problem: _Problem, posterior: Posterior, rest: _Table) -> tuple[float, float]:
        """Score of the predictions, and the Gibbs risk, on held-out rows."""
        units = problem.units
        Z = units.standardized(rest.X)
        distance = None if problem.points is None else self._distances(Z, problem.points)
        target = (rest.target - units.target_center) / units.target_scale
        rows = Rows.of(Z, target, rest.weight, distance)
        radius = prediction.radii(problem.vicinity, posterior)
        readings = prediction.read(problem.vicinity, posterior, radius, rows)
        risk = replace(problem, rows=rows).objective(1.0).gibbs_risk(posterior)
        return self._score_said(prediction.spoken(readings, self._said(readings), self.overlap), rows), risk

    def _without_dead(self, solution: Solution, problem: _Problem, temperature: float) -> tuple[Solution, _Problem, list[int]]:
        """Drop the localities that no row belongs to, search on without them, until all have rows."""
        kept = list(range(solution.posterior.n_localities))
        while True:
            radius = prediction.radii(problem.vicinity, solution.posterior)
            member = prediction.read(problem.vicinity, solution.posterior, radius, problem.rows).member
            alive = np.flatnonzero(member.any(axis=0))
            if len(alive) == len(kept):
                return solution, problem, kept
            dead = [kept[i] for i in range(len(kept)) if i not in alive]
            warnings.warn(
                f"no training row belongs to locality {', '.join(map(str, dead))} of {solution.posterior.n_localities}: dropped, "
                f"and the model refitted with {len(alive)}. Ask for fewer localities, or raise inverse_temperature "
                f"(now {temperature:g}).",
                stacklevel=4,
            )
            kept = [kept[i] for i in alive]
            if problem.points is not None:
                rows = replace(problem.rows, distance=problem.rows.distance[:, alive])
                problem = replace(problem, rows=rows, points=problem.points[alive])
            [[solution]] = self._search(problem, [temperature], [solution.posterior.keep(list(alive))])

    def _keep(
        self,
        solution: Solution,
        problem: _Problem,
        table: _Table,
        records: list[Record],
    ) -> None:
        if not solution.converged:
            warnings.warn(
                f"{self.solver} stopped at max_iter={self.max_iter} with objective {solution.objective:.6g} "
                f"(lambda' = {solution.inverse_temperature:g}): {solution.message}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self._units, self._points, self._vicinity = problem.units, problem.points, problem.vicinity
        self.posterior_ = solution.posterior
        self._radius = prediction.radii(problem.vicinity, solution.posterior)
        unit = problem.units.target_scale**2
        self.objective_ = solution.objective * unit
        self.gibbs_risk_ = solution.gibbs_risk * unit
        self.kl_ = solution.kl
        self.inverse_temperature_ = solution.inverse_temperature
        self.n_iter_ = max(1, solution.n_iter)
        self.path_ = records
        self._store_more(table)

    def _store_localities(self, readings: prediction.Readings, centers: Array, kept: list[int], names: tuple[str, ...]) -> None:
        """Localities and exterior in the user's units; centers are in them already."""
        units, posterior = self._units, self.posterior_
        counts = readings.applicable.sum(axis=0)
        slope = units.inverse_scale * units.target_scale
        width = np.divide(1.0, units.inverse_scale, out=np.full_like(units.inverse_scale, np.inf), where=units.inverse_scale > 0)
        simple = posterior.n_localities and (self._points is None or self.metric in _AXIS_METRICS)

        def model(i: int) -> dict[str, Any]:
            coef = posterior.coef[i] * slope
            return {
                "feature_names": names,
                "coef": coef,
                "coef_scale": posterior.coef_scale[i] * slope,
                "intercept": float(posterior.intercept[i] * units.target_scale + units.target_center - coef @ units.center),
                "intercept_scale": float(
                    np.hypot(
                        posterior.intercept_scale[i] * units.target_scale,
                        posterior.coef_scale[i] * np.linalg.norm(slope * units.center),
                    )
                ),
                "n_rows": int(counts[i]),
            }

        self.localities_ = [
            Locality(
                **model(i),
                center=centers[i],
                center_scale=posterior.center_scale[i] * np.where(np.isfinite(width), width, 0.0),
                radius=float(self._radius[i]),
                radius_mean=float(posterior.radius_mean[i]),
                half_width=self._radius[i] * width if simple else None,
                point=point,
            )
            for i, point in enumerate(kept)
        ]
        self.exterior_ = LocalModel(**model(posterior.n_localities))

    def _store_more(self, table: _Table) -> None:
        """What one of the estimators keeps besides."""

    # -- rows in, readings out ----------------------------------------------------------------------------------------

    def _read_table(self, X: Any, reset: bool) -> tuple[Array, tuple[str, ...]]:
        """Validate X and encode it; on reset, learn its columns."""
        text = has_text(X) if reset else self._columns.has_text
        if not text:
            array = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
            names = self._names()
            check_finite(array, names, "X")
            if reset:
                self._columns = Columns.numeric(names)
            return array, names
        validate_data(self, X, reset=reset, skip_check_array=True)
        if len(X) == 0:
            raise ValueError("Found a table with 0 sample(s) while a minimum of 1 is required.")
        if reset:
            self._columns = Columns.learn(X, self._names(), self.handle_unknown)
        typical = None if reset else self._units.center
        encoded = self._columns.encode(X, "X", typical)
        check_finite(encoded, self._columns.encoded_names, "X")
        return encoded, self._columns.encoded_names

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
        columns = self._columns
        if is_frame(points):
            given = list(map(str, points.columns))
            if hasattr(self, "feature_names_in_"):
                missing = [name for name in columns.names if name not in given]
                extra = [name for name in given if name not in columns.names]
                if missing or extra:
                    raise ValueError(
                        f"points_of_interest should have the columns of X, {list(columns.names)}"
                        + (f"; missing: {missing}" if missing else "")
                        + (f"; not in X: {extra}" if extra else "")
                        + "."
                    )
                points = points[list(self.feature_names_in_)]
        else:
            points = np.asarray(points, dtype=object if columns.has_text else float)
        if points.ndim != 2 if hasattr(points, "ndim") else len(points.shape) != 2:
            raise ValueError(
                f"points_of_interest must be 2-D, one row for each point; got an array of shape {np.shape(points)}. For one "
                "point write [[...]]."
            )
        if points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"points_of_interest has {points.shape[1]} columns but X has {self.n_features_in_}; give each point in the "
                "columns of X."
            )
        if len(points) == 0:
            return np.empty((0, len(columns.encoded_names)))
        encoded = columns.encode(points, "points_of_interest") if columns.has_text else np.asarray(points, dtype=float)
        check_finite(encoded, columns.encoded_names, "points_of_interest")
        return encoded

    def _distances(self, Z: Array, points: Array) -> Array:
        if len(points) == 0:
            return np.empty((len(Z), 0))
        try:
            distance = np.asarray(pairwise_distances(Z, points, metric=self.metric), dtype=float)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"metric={self.metric!r} gave no distances between rows and points_of_interest ({error}). Give a name that "
                "scikit-learn's pairwise_distances knows, or a function of two rows."
            ) from error
        if not (np.isfinite(distance).all() and (distance >= 0).all()):
            raise ValueError(
                f"metric={self.metric!r} gave distances that are negative or not finite; a distance must be a number >= 0."
            )
        return distance

    def _read(self, X: Array) -> prediction.Readings:
        """Readings of encoded rows."""
        Z = self._units.standardized(X)
        distance = None if self._points is None else self._distances(Z, self._points)
        rows = Rows.of(Z, np.zeros(len(Z)), None, distance)
        return prediction.read(self._vicinity, self.posterior_, self._radius, rows)

    def _readings(self, X: Any) -> prediction.Readings:
        check_is_fitted(self)
        encoded, _ = self._read_table(X, reset=False)
        return self._read(encoded)

    # -- checks -------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        n = self.n_localities
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 0:
            raise ValueError(f"n_localities must be an integer >= 0; got {n!r}.")
        for name, low in (("n_starts", 1), ("max_iter", 1)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < low:
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
        ):
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
        if self.prior is not None and not isinstance(self.prior, Prior):
            raise ValueError(f"prior must be None or a motlm.Prior; got {type(self.prior).__name__}.")
        if isinstance(self.metric, str) and self.metric in _DATA_METRICS:
            raise ValueError(
                f"metric={self.metric!r} changes with the rows it is given, so training and prediction would not agree. Give a "
                "function of two rows with its matrix or scales inside."
            )

    def _temperatures(self) -> tuple[float, ...]:
        given = self.inverse_temperature
        if isinstance(given, str):
            if given != "auto":
                raise ValueError(f"inverse_temperature must be 'auto', a positive number or a sequence of them; got {given!r}.")
            return self._auto_temperatures
        values = np.atleast_1d(np.asarray(given, dtype=float)).ravel()
        if len(values) == 0 or not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError(
                f"inverse_temperature (lambda', a multiple of the number of rows) must be positive and finite; got {given!r}."
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

    def _warn_of_constants(self, units: Units, names: tuple[str, ...], n_rows: int) -> None:
        constant = [name for name, inverse in zip(names, units.inverse_scale, strict=True) if inverse == 0]
        if constant and n_rows > 1:
            shown = ", ".join(map(repr, constant[:5])) + (", .." if len(constant) > 5 else "")
            warnings.warn(
                f"constant in all training rows: {shown}. Such a column gets coefficient 0 and counts in no distance; leave it "
                "out of X to silence this.",
                stacklevel=5,
            )

    def _report(self, message: str) -> None:
        if self.verbose:
            print(f"[motlm] {message}")

    # -- each estimator's own -----------------------------------------------------------------------------------------

    def _said(self, readings: prediction.Readings) -> Array:
        """What each model says of each row, in standardised units, (n_rows, n_localities + 1)."""
        raise NotImplementedError

    def _score_said(self, said: Array, rows: Rows) -> float:
        """Score of the predictions on rows with standardised targets."""
        raise NotImplementedError

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


def _record(stage: str, start: int, solution: Solution, score: float | None = None) -> Record:
    return Record(
        stage,
        solution.inverse_temperature,
        start,
        solution.objective,
        solution.gibbs_risk,
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
        Searches from different starts; the lowest objective wins.
    max_iter : int, default=1000
        Most steps of one search.
    tol : float, default=None
        Relative decrease of the objective at which a search stops; None is the solver's own (1e-8 for a step of "lbfgs", 0.05
        for 40 steps of "nadam").{coef_scale}
    overlap : "nearest" or "mean", default="nearest"
        Which of several applicable local models speaks: that of the nearest centre, or all, by their mean.
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
        Each with center, radius, radius_mean, half_width, coef, intercept, n_rows and formula(), in the user's units. A
        locality that no training row belongs to is dropped, with a warning.
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
        Whether the posterior scale of the weights is learned, or fixed at 1 as in the paper. Free is never worse.""",
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
        self._check_parameters()
        encoded, names = self._read_table(X, reset=True)
        points = self._read_points()
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        check_consistent_length(encoded, y)
        if y.dtype.kind == "f":
            check_finite(y[:, None], ("y",), "y")
        elif y.dtype.kind == "O":
            check_present(y, "y", "y")
        check_classification_targets(y)
        weight = self._weights(sample_weight, encoded)
        counted = weight > 0
        labels = y[counted]
        classes = np.unique(labels)
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(labels)}. It has "
                f"{len(classes)} classes; wrap the model in sklearn.multiclass.OneVsRestClassifier."
            )
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only, {classes[0]!r}, in {int(counted.sum())} rows of positive weight; a classifier needs two "
                "classes."
            )
        self.classes_ = classes
        target = np.where(labels == classes[1], 1.0, -1.0)
        self._fit(_Table(encoded[counted], target, weight[counted]), points, names)
        return self

    def _said(self, readings: prediction.Readings) -> Array:
        return np.asarray(readings.mean / np.sqrt(readings.variance))

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
        positive = prediction.spoken(readings, self._said(readings), self.overlap) > 0
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
        return np.asarray(prediction.spread(readings, (self._said(readings) > 0).astype(float)) > 0)

    def predict_set(self, X: Any) -> list[AnyArray]:
        """All labels that applicable models give, for each row.

        Returns
        -------
        list of n_rows arrays
        """
        readings = self._readings(X)
        positive = self._said(readings) > 0
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
        self._check_parameters()
        encoded, names = self._read_table(X, reset=True)
        points = self._read_points()
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True, dtype=np.float64)
        check_consistent_length(encoded, y)
        check_finite(y[:, None], ("y",), "y")
        weight = self._weights(sample_weight, encoded)
        counted = weight > 0
        self._fit(_Table(encoded[counted], y[counted], weight[counted]), points, names)
        return self

    def _store_more(self, table: _Table) -> None:
        self.target_scale_ = self._units.target_scale
        residual = self._predicted(self._read(table.X)) - table.target
        self.residual_scale_ = float(np.sqrt(np.average(residual**2, weights=table.weight)))

    def _said(self, readings: prediction.Readings) -> Array:
        return readings.mean

    def _score_said(self, said: Array, rows: Rows) -> float:
        if len(rows) < 2:
            return -float(np.average((said - rows.target) ** 2, weights=rows.weight))
        return float(r2_score(rows.target, said, sample_weight=rows.weight))

    def _predicted(self, readings: prediction.Readings) -> Array:
        said = prediction.spoken(readings, readings.mean, self.overlap)
        return said * self._units.target_scale + self._units.target_center

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
        apart = prediction.spread(readings, readings.mean) * self._units.target_scale
        return np.asarray(apart > (self.residual_scale_ if tolerance is None else tolerance))

    def predict_set(self, X: Any) -> list[Array]:
        """All predictions of applicable models, for each row, in increasing order.

        Returns
        -------
        list of n_rows arrays
        """
        readings = self._readings(X)
        said = readings.mean * self._units.target_scale + self._units.target_center
        return [np.sort(row[which]) for row, which in zip(said, readings.applicable, strict=True)]
