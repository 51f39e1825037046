"""Checks of what an estimator is given: parameters and weights."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from ._typing import AnyArray, Array, Integers
from .combinations import COMBINATIONS
from .errors import InputError, TooManyLocalitiesError
from .frames import is_missing
from .inputs import HANDLE_UNKNOWN, Columns
from .limits import (
    COUNT,
    LARGEST,
    LARGEST_TARGET,
    SMALLEST,
    SMALLEST_TARGET,
    STARTS,
    TEMPERATURES,
    WEIGHTS,
)
from .missing import MISSING
from .overlap import OVERLAPS
from .posterior import Prior
from .running import SOLVERS
from .targets import Continuous, Target
from .transformed import is_transformer
from .units import Units

__all__ = ["Settings", "check_units", "check_weights", "list_numbers", "refuse_missing_groups"]

_INTEGERS = {"n_localities": 0, "max_localities": 1, "n_starts": 1, "max_iter": 1, "verbose": 0}
_CHOICES: dict[str, tuple[Any, ...]] = {
    "solver": tuple(SOLVERS),
    "overlap": tuple(OVERLAPS),
    "coef_scale": ("free", "unit"),
    "combine": tuple(COMBINATIONS),
    "handle_unknown": HANDLE_UNKNOWN,
    "missing": MISSING,
    "select": ("cv", "held-out", "bound"),
    "warm_start": (True, False),
    "centers": ("free", "rows"),
    "corrections": ("auto", "own", "all", "none"),
    "standardize": (True, False),
}

_MODELS = ("auto", "linear", "additive")

_SHOWN = 200  # characters of a value in a message


@dataclass(frozen=True)
class Settings:
    """The parameters of an estimator. The regressor has no coef_scale and no combine."""

    n_localities: Any = "auto"
    max_localities: Any = 8
    points_of_interest: Any = None
    metric: Any = "euclidean"
    centers: Any = "free"
    locality_features: Any = "auto"
    locality_columns: Any = None
    locality_widths: Any = "learned"
    corrections: Any = "auto"
    local_models: Any = "auto"
    monotonic_cst: Any = None
    max_terms: Any = None
    inverse_temperature: Any = "auto"
    select: Any = "cv"
    validation_fraction: Any = 0.2
    solver: Any = "lbfgs"
    n_starts: Any = 4
    max_iter: Any = 1000
    tol: Any = None
    max_time: Any = None
    warm_start: Any = False
    loss: Any = None  # that of the target
    power: Any = 1.5
    class_weight: Any = None
    coef_scale: Any = "free"
    combine: Any = "sum"
    overlap: Any = "nearest"
    standardize: Any = True
    prior: Any = None
    handle_unknown: Any = "warn"
    missing: Any = "auto"
    n_jobs: Any = None
    verbose: Any = 0
    random_state: Any = None

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """Of an estimator, checked; a subclass may fix some without having them as parameters."""
        found = {one.name: getattr(estimator, one.name, one.default) for one in fields(cls)}
        settings = cls(**found)
        settings.check()
        return settings

    def check(self) -> None:
        for name, low in _INTEGERS.items():
            self._check_integer(name, low)
        time = self.max_time
        if time is not None and not (_is_real(time) and time > 0 and _is_float(time)):
            raise InputError(
                f"max_time must be None or a positive number of seconds; got {_show(time)}."
            )
        if self.tol is not None and not (_is_real(self.tol) and 0 <= self.tol <= LARGEST):
            raise InputError(
                f"tol must be None or a number >= 0 (at most {LARGEST:g}); got {_show(self.tol)}."
            )
        share = self.validation_fraction
        if not (isinstance(share, Real) and _is_float(share) and 0 < float(share) < 1):
            raise InputError(f"validation_fraction must lie between 0 and 1; got {_show(share)}.")
        jobs = self.n_jobs
        if jobs is not None and not (
            isinstance(jobs, Integral) and jobs != 0 and abs(int(jobs)) <= COUNT
        ):
            raise InputError(
                "n_jobs must be None, a number of threads, or negative to count from all cores"
                f" (-1); got {_show(jobs)}."
            )
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if name == "standardize" and isinstance(value, Units):
                continue
            if not isinstance(value, Hashable) or value not in allowed:
                raise InputError(
                    f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}."
                )
        self._check_loss()
        self._check_models()
        self._check_localities()
        if self.monotonic_cst is not None and self.solver == "nadam":
            raise InputError(
                "monotonic_cst is not for the paper's solver='nadam'.", "Use solver='lbfgs'."
            )
        if self.prior is not None and not isinstance(self.prior, Prior):
            raise InputError(
                f"prior must be None or a motlm.Prior; got {type(self.prior).__name__}."
            )
        if isinstance(self.metric, str) and self.metric == "precomputed":
            raise InputError(
                "metric='precomputed' has no rows to measure when predicting; give a metric by"
                " name, or a function."
            )

    def _check_loss(self) -> None:
        power, given = self.power, self.class_weight
        if self.loss == "tweedie" and not (_is_real(power) and 1 < power < 2):
            raise InputError(
                f"power must lie between 1 and 2 (both excluded) for loss='tweedie'; got"
                f" {_show(power)}.",
                "For 1 use loss='poisson', for 2 loss='gamma'.",
            )
        if self.loss == "log" and (self.coef_scale != "free" or self.combine != "sum"):
            raise InputError(
                "coef_scale='unit' and combine='any' are of the zero-one loss; got"
                f" coef_scale={self.coef_scale!r}, combine={self.combine!r} with loss='log'.",
                "Add loss='zero-one', or leave them out.",
            )
        if isinstance(given, dict):
            weights = list(given.values())
            if not all(_is_real(one) and 0 <= one <= LARGEST for one in weights):
                raise InputError(
                    f"class_weight must have numbers of at least 0; got {_show(given)}."
                )
        elif given is not None and given != "balanced":
            raise InputError(
                f"class_weight must be None, 'balanced' or a dict of labels and weights; got"
                f" {_show(given)}."
            )

    def _check_models(self) -> None:
        most = self.max_terms
        named = most is None or (isinstance(most, str) and most == "auto")
        whole = isinstance(most, Integral) and not isinstance(most, bool)
        if not named and not (whole and most >= 1):
            raise InputError(
                f"max_terms must be None, 'auto' or a number of terms >= 1; got {_show(most)}."
            )
        if most is not None and self.solver == "nadam":
            raise InputError(
                "max_terms is not for the paper's solver='nadam'.", "Use solver='lbfgs'."
            )
        given = self.local_models
        if is_transformer(given):
            if self.monotonic_cst is not None:
                raise InputError(
                    "monotonic_cst is for linear and additive models; got it with"
                    f" local_models={type(given).__name__}.",
                    "Use local_models='additive', or leave monotonic_cst out.",
                )
        elif not (isinstance(given, str) and given in _MODELS):
            raise InputError(
                f"local_models must be one of {', '.join(map(repr, _MODELS))}, or a scikit-learn"
                f" transformer; got {_show(given)}."
            )

    def _check_localities(self) -> None:
        given = self.locality_features
        words = ("auto", "all", "ball")
        sound = isinstance(given, str) and given in words
        if not sound and not (
            isinstance(given, Integral) and not isinstance(given, bool) and 1 <= int(given) <= COUNT
        ):
            raise InputError(
                f"locality_features must be 'auto', 'all', 'ball' or a number of columns >= 1; got"
                f" {_show(given)}."
            )
        widths = self.locality_widths
        if isinstance(widths, str) and widths not in ("learned", "equal"):
            raise InputError(
                f"locality_widths must be 'learned', 'equal' or a number for each of"
                f" locality_columns; got {widths!r}."
            )
        paper = [
            text
            for text, asked in (
                ("solver='nadam'", self.solver == "nadam"),
                ("coef_scale='unit'", self.coef_scale == "unit"),
                ("combine='any'", self.combine == "any"),
            )
            if asked
        ]
        few = self.solver == "nadam" and (
            given not in ("auto", "ball")
            or self.centers == "rows"
            or self.locality_columns is not None
        )
        if paper and (few or self.corrections in ("own", "all")):
            raise InputError(
                f"{paper[0]} is of the paper's setting, balls in all columns with independent"
                f" models; got locality_features={given!r}, corrections={self.corrections!r},"
                f" centers={self.centers!r}, locality_columns={_show(self.locality_columns)}.",
                "Add **motlm.PAPER, or leave it out.",
            )

    def corrections_of(self, target: Target) -> str:
        """ "auto" is "own", but for the paper's loss and its settings."""
        if self.corrections != "auto":
            return str(self.corrections)
        return "none" if self._is_paper(target) else "own"

    def models_of(self, target: Target) -> tuple[Any, ...]:
        """The kinds of models to choose from, or a transformer; with the paper's loss and settings
        linear ones.
        """
        given = self.local_models
        if not (isinstance(given, str) and given == "auto"):
            if not (isinstance(given, str) and given == "linear") and self._is_paper(target):
                shown = repr(given) if isinstance(given, str) else type(given).__name__
                raise InputError(
                    f"local_models={shown} is not for the paper's setting, loss='zero-one' or"
                    " solver='nadam'.",
                    "Use another loss, or local_models='linear'.",
                )
            return (given,)
        # knots are taken from the rows, and a bound that is chosen by must not be
        linear = self._is_paper(target) or self.select == "bound"
        return ("linear",) if linear else ("linear", "additive")

    def signs_of(self, columns: Columns) -> Integers | None:
        """(n_encoded,): 1 and -1 of columns in which models must rise or fall."""
        given = self.monotonic_cst
        if given is None:
            return None
        names = columns.names
        if isinstance(given, dict):
            strange = [name for name in given if name not in names]
            if strange:
                raise InputError(
                    f"monotonic_cst has {strange[0]!r}, which is not a column of X; its columns"
                    f" are {', '.join(map(repr, names[:8]))}{', ..' * (len(names) > 8)}."
                )
            values = [given.get(name, 0) for name in names]
        else:
            values = [] if isinstance(given, str) or np.ndim(given) != 1 else list(given)
        if len(values) != len(names) or not all(
            isinstance(one, Real) and one in (-1, 0, 1) for one in values
        ):
            raise InputError(
                "monotonic_cst must be None, a dict of column names, or a list of one number for"
                f" each of the {len(names)} columns; each -1 (falls), 0 or 1 (rises); got"
                f" {_show(given)}."
            )
        signs = np.zeros(len(columns.encoded_names), dtype=np.int64)
        for group, value in zip(columns.groups, values, strict=True):
            if value and group.levels is not None:
                raise InputError(
                    f"monotonic_cst: the column {group.name!r} holds categories, which neither"
                    " rise nor fall.",
                    "Leave it out of monotonic_cst.",
                )
            signs[group.values] = int(value)
        return signs if signs.any() else None

    def features_of(self, target: Target) -> Any:
        """ "auto" is "ball" for the paper's loss and its settings."""
        if self.locality_features == "auto" and self._is_paper(target):
            return "ball"
        return self.locality_features

    def _is_paper(self, target: Target) -> bool:
        return target.loss_name == "zero-one" or self.solver == "nadam"

    def _check_integer(self, name: str, low: int) -> None:
        value = getattr(self, name)
        if name == "n_localities" and isinstance(value, str) and value == "auto":
            return
        if name == "verbose" and isinstance(value, bool):
            return
        if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
            words = "'auto' or an integer" if name == "n_localities" else "an integer"
            raise InputError(f"{name} must be {words} >= {low}; got {_show(value)}.")
        most = STARTS if name == "n_starts" else COUNT
        if int(value) > most:
            raise InputError(f"{name} must be at most {most}; got {_show(value)}.")

    def temperatures(self, target: Target) -> tuple[float, ...]:
        """The inverse temperatures to try."""
        given = self.inverse_temperature
        if isinstance(given, str) and given == "auto":
            given = target.temperatures
        try:
            values = np.atleast_1d(np.asarray(given, dtype=float)).ravel()
        except (TypeError, ValueError, OverflowError):
            values = np.empty(0)
        positive = len(values) > 0 and np.isfinite(values).all() and bool((values > 0).all())
        if isinstance(given, bool) or not positive:
            raise InputError(
                "inverse_temperature (lambda', a multiple of the number of rows) must be 'auto', a"
                f" positive number or a sequence of them; got {_show(given)}."
            )
        low, high = TEMPERATURES
        if not ((low <= values) & (values <= high)).all():
            raise InputError(
                f"inverse_temperature must lie between {low:g} and {high:g}; got"
                f" {list_numbers(values.tolist())}. Values from 0.1 to 1000 are usual."
            )
        if self.select == "bound" and not target.has_bound and len(set(values)) > 1:
            raise InputError(
                f"select='bound' compares objectives of one lambda, so that {target.task} with"
                f" loss={target.loss_name!r} needs one inverse_temperature; got"
                f" {list_numbers(values.tolist())}. Give one number, or"
                " select='held-out'."
            )
        return tuple(map(float, dict.fromkeys(values)))

    def prior_of(self, target: Target) -> Prior:
        """The prior given; else that of the paper for its zero-one loss, and one whose scales of
        weights are learned for the others; log-odds may be far from 0.
        """
        if self.prior is not None:
            found: Prior = self.prior
            return found
        if target.loss_name == "zero-one":
            return Prior()
        return Prior(learn_scales=True, intercept_scale=2.0 if target.loss_name == "log" else 1.0)

    def sizes(self, points: Array | None, n_distinct: int, n_rows: int) -> list[int]:
        """The numbers of localities to try."""
        if points is not None:
            return [len(points)]
        if isinstance(self.n_localities, str):
            return list(range(min(self.max_localities, n_distinct) + 1))
        n = int(self.n_localities)
        if n > n_distinct:
            raise TooManyLocalitiesError(
                f"n_localities={n} is more than the {n_distinct} distinct rows"
                f" (n_samples={n_rows}).",
                "Ask for fewer localities.",
            )
        return [n]

    def check_metric(self) -> None:
        """Points that are found are Euclidean, unless they are rows."""
        given, metric = self.points_of_interest is not None, self.metric
        if self.centers == "rows" and given:
            raise InputError(
                "centers='rows' is for points of interest that are found; got points_of_interest,"
                " which are the centers.",
                "Leave one of them out.",
            )
        if isinstance(metric, str) and metric == "euclidean":
            return
        if not given and self.centers != "rows":
            raise InputError(
                f"metric={metric!r} needs points_of_interest, or centers='rows': free centers"
                " support the Euclidean metric only.",
                "Give the points, add centers='rows', or leave metric='euclidean'.",
            )
        few = isinstance(self.locality_features, Integral) or self.locality_columns is not None
        equal = isinstance(self.locality_widths, str)
        if not given and (few or not equal):
            raise InputError(
                "locality_features, locality_columns and locality_widths are of the Euclidean"
                f" metric; got them with metric={metric!r}, which looks at all columns.",
                "Leave them out, or the metric.",
            )

    def search_options(self) -> dict[str, Any]:
        return {
            "unit_scale": self.coef_scale != "free",
            "solver": self.solver,
            "n_starts": self.n_starts,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "n_jobs": self.n_jobs,
        }


def check_units(units: Units, names: tuple[str, ...], scaled: bool) -> None:
    """Units given by the user must be of these columns; a classifier's target has none."""
    if np.shape(units.center) != (len(names),) or np.shape(units.inverse_scale) != (len(names),):
        raise InputError(
            f"standardize has units of {np.size(units.center)} columns, but X has"
            f" {len(names)} (encoded:"
            f" {', '.join(names[:5])}{', ..' if len(names) > 5 else ''}); take them from rows like"
            " X by Units.of_rows."
        )
    try:
        center, scale = (
            np.asarray(one, dtype=float) for one in (units.center, units.inverse_scale)
        )
        middle, size = float(units.target_center), float(units.target_scale)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"standardize has units that are not numbers: {error}.") from None
    sound = np.isfinite(center).all() and (np.abs(center) <= LARGEST).all()
    if not sound or not ((scale == 0) | ((scale >= SMALLEST) & (scale <= LARGEST))).all():
        raise InputError(
            f"standardize has units whose centers are not within {-LARGEST:g} and {LARGEST:g}, or"
            f" whose inverse scales are not 0 or within {SMALLEST:g} and {LARGEST:g}; take them"
            " from rows like X by Units.of_rows."
        )
    low, high = SMALLEST_TARGET, LARGEST_TARGET
    if not (abs(middle) <= high and low <= size <= high):
        raise InputError(
            f"standardize has a target_scale of {size:g} and a target_center of {middle:g}; the"
            f" scale must lie between {low:g} and {high:g}, the center within {high:g} of 0."
        )
    if not scaled and (units.target_center, units.target_scale) != (0.0, 1.0):
        raise InputError(
            "standardize has units of a target, which a classifier has not; leave the target out of"
            " Units.of_rows."
        )


def check_weights(sample_weight: Any, X: Any) -> Array:
    """Weights of the rows, 1 where none are given."""
    if sample_weight is None:
        return np.ones(np.shape(X)[0])
    given = np.asarray(sample_weight)
    if given.ndim and not given.any():
        raise InputError(
            "all of sample_weight are zero, so that no row is left to fit on; give some row a"
            " positive weight."
        )
    try:
        # a number beyond the range of floats becomes an infinity, which is refused
        with np.errstate(over="ignore"):
            weight = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64), float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"sample_weight must be finite numbers >= 0, one for each row: {error}"
        ) from None
    if (weight < 0).any():
        first = int(np.flatnonzero(weight < 0)[0])
        raise InputError(
            f"Negative values in sample_weight: {int((weight < 0).sum())} of them, the first"
            f" {weight[first]:g} at row {first}; weights must be >= 0."
        )
    (low, high), largest = WEIGHTS, float(weight.max(initial=0.0))
    if len(weight) and not low <= largest <= high:
        raise InputError(
            f"the largest of sample_weight is {largest:.3g}; it must lie between {low:g} and"
            f" {high:g}. A weight is a number of equal rows: divide all of them by"
            f" {largest:.3g}, so that the largest is 1."
        )
    return weight


def refuse_missing_groups(groups: Any) -> None:
    """An error for rows without a group: whether such rows belong together is not known."""
    try:
        if hasattr(groups, "__array__"):
            values = np.asarray(groups, dtype=object).ravel()
        else:  # beside text NumPy would write a missing value as the text "nan"
            values = np.fromiter(groups, dtype=object)
        missing = is_missing(values)
    except (TypeError, ValueError):
        return  # not one value for each row, which is refused by whoever reads them
    n = int(missing.sum())
    if n:
        raise InputError(
            f"groups has no value for {n} of {len(values)} rows, the first at row"
            f" {int(np.flatnonzero(missing)[0])}; whether rows without a group belong together is"
            " not known.",
            "Give each such row its group, or one of its own if it belongs to no other row; or"
            " leave these rows out.",
        )


def class_weights(given: Any, y: AnyArray) -> Array:
    """The weight of each row by its label, as in scikit-learn."""
    if isinstance(given, dict):
        labels = np.unique(y).tolist()
        strange = [label for label in given if label not in labels]
        if strange:
            raise InputError(
                f"class_weight has the label {strange[0]!r}, which is not in y; its labels are"
                f" {labels}."
            )
    weight = np.asarray(compute_sample_weight(given, y), dtype=float)
    if not weight.any():
        raise InputError("class_weight gives all rows a weight of 0.")
    return weight


def check_exposure(exposure: Any, n_rows: int, what: str = "exposure") -> Array:
    """How long each row was observed: positive numbers."""
    try:
        with np.errstate(over="ignore"):
            found = np.asarray(column_or_1d(exposure, dtype=np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must be one positive number for each row: {error}") from None
    if len(found) != n_rows:
        raise InputError(
            f"{what} must have one number for each of {n_rows} rows; got {len(found)}."
        )
    high = WEIGHTS[1]
    stray = ~(np.isfinite(found) & (found > 0) & (found <= high))
    if stray.any():
        first = int(np.flatnonzero(stray)[0])
        raise InputError(
            f"{what} must be positive and at most {high:g}; got {found[first]:g} at row {first},"
            f" and {int(stray.sum())} such numbers in all.",
            "Leave rows out that were not observed.",
        )
    return found


def per_exposure(y: Any, exposure: Any, sample_weight: Any, what: str) -> tuple[AnyArray, AnyArray]:
    """Counts as rates, and the weights of these."""
    counts = Continuous().code(y, "y")
    observed = check_exposure(exposure, len(counts), what)
    weight = observed if sample_weight is None else observed * check_weights(sample_weight, counts)
    with np.errstate(over="ignore"):  # beyond the range of floats: an infinity, refused
        return counts / observed, weight


def list_numbers(values: Any) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _show(value: Any) -> str:
    """A value in a message; the end of a long one is left out."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write integers of more than 4300 digits
        text = f"{type(value).__name__} of very many digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}.."


def _is_float(value: Any) -> bool:
    """Whether a number can be had as a float."""
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
