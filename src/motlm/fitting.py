"""From a user's rows to a `Mixture`: validate, build, minimize, keep.

Everything is computed in local variables; the estimator assigns the mixture that comes back.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_consistent_length, column_or_1d
from threadpoolctl import threadpool_limits

from ._renamed import user_level
from ._typing import AnyArray, Array, Booleans
from .bends import find_bends
from .calibration import calibrate
from .checks import (
    Settings,
    check_units,
    check_weights,
    class_weights,
    refuse_missing_groups,
)
from .combinations import COMBINATIONS
from .errors import (
    EmptyLocalityWarning,
    IdleLocalityWarning,
    InputError,
    MotlmWarning,
    NeedlessLocalityWarning,
    NotConvergedWarning,
    StoppedEarlyWarning,
)
from .fingerprints import Fingerprint
from .folds import Chosen, score_name, score_of
from .geometry import (
    Geometry,
    GivenCenters,
    LearnedBalls,
    LearnedLocalities,
    Metric,
    RowCenters,
    RowLocalities,
    radii,
)
from .inputs import CheckedTable, Columns, Group, Reading
from .learning import Found, Learning
from .limits import SMALLEST_TARGET
from .missing import fill_in, find_medians
from .mixture import Mixture, Provenance
from .objective import in_passing
from .overlap import OVERLAPS
from .posterior import Posterior, check_ranges
from .problem import Problem, Recipe, Table
from .rows import distinct_rows
from .summaries import Summary
from .targets import Rate, Target
from .transformed import fit_transformer, is_transformer
from .units import Units, check_spread, moments
from .warmup import warm_up
from .watch import Watch

__all__ = ["Kind", "Sample", "count_rows", "fit_mixture", "geometries_of"]

_FEW = 3  # columns of a locality that people read at a glance
_PASSES = 35  # over all rows, that a fit takes from the end of its search
_COMPLETE = 0.9  # share of rows that have values in all columns of localities in all columns


@dataclass(frozen=True)
class Kind:
    """What an estimator fits: its target, and the geometry of its localities."""

    owner: str  # name of the estimator, for messages
    target: Callable[[AnyArray], Target]  # of the targets of the rows to fit on
    # that localities may have: of points of interest, if given, settings, columns and target
    geometries: Callable[[Array | None, Settings, Columns, Target], list[Geometry]]


@dataclass(frozen=True)
class Sample:
    """What `fit` is given."""

    X: Any
    y: Any
    sample_weight: Any = None
    X_val: Any = None
    y_val: Any = None
    weight_val: Any = None
    groups: Any = None


@dataclass(frozen=True)
class Tried:
    """What a cross-validation compared, as users read it."""

    table: dict[str, AnyArray]  # like scikit-learn's cv_results_: an entry for each candidate
    score: float  # of the chosen one on rows left out: R2, or minus the log loss or deviance


def fit_mixture(
    kind: Kind, settings: Settings, sample: Sample, before: Mixture | None = None
) -> tuple[Mixture, Tried | None]:
    """Merge equal rows, choose if there is a choice, search, drop localities without rows; and what
    was compared by cross-validation, if it was. `before` is a mixture to go on from.
    """
    reading, table, points, target = _read(kind, settings, sample)
    rng = _generator(settings.random_state)
    temperatures, names = settings.temperatures(target), reading.columns.encoded_names
    if isinstance(settings.standardize, Units):
        check_units(settings.standardize, names, target.scaled)
    share = table.weight / table.weight.sum()
    whole = _without_holes(table, reading.columns)
    spread = moments(whole, share)[1]
    if settings.standardize and not isinstance(settings.standardize, Units):
        check_spread(spread, names, "X")
    if target.scaled and not isinstance(settings.standardize, Units):
        spread_of_y = moments(table.target[:, None], share)[1]
        check_spread(spread_of_y, ("y",), "y", SMALLEST_TARGET)
    varies = spread > 0
    alike = table.X[:, varies]
    if table.groups is not None:
        alike = np.column_stack([alike, table.groups])
    merged = distinct_rows(alike, table.target, table.weight, rng)
    rows = Table(
        table.X[merged.first],
        table.target[merged.first],
        merged.weight,
        groups=None if table.groups is None else table.groups[merged.first],
    )
    sizes = settings.sizes(points, len(rows.X), len(table.X))
    if len(rows.X) > 1 and not varies.all():
        _warn_of_constants(names, varies, max(sizes))
    if not varies.any():
        sizes, points = [0], None
    prior = settings.prior_of(target)
    room = max(sizes)
    if before is not None and points is None and prior.plain:
        room = max(room, before.n_localities)
    geometries = kind.geometries(points, settings, reading.columns, target)
    geometries = _looking(geometries, varies, settings.locality_columns is not None)
    if reading.columns.incomplete:
        geometries = _complete(geometries, table, reading.columns, settings)
    old = None if before is None else before.geometry
    geometries = [one.offer(rows.X, room, old) for one in geometries]
    recipe = Recipe(
        reading=reading,
        geometry=geometries[0],
        target=target,
        standardize=settings.standardize,
        varies=varies,
        typical=moments(whole[merged.first], rows.weight / rows.weight.sum())[0],
        prior=prior,
        combination=COMBINATIONS[settings.combine],
        free_scale=settings.coef_scale == "free",
        room=room,
        signs=settings.signs_of(reading.columns),
    )
    kinds = settings.models_of(target)
    compared = settings.select == "cv" and sample.X_val is None
    compared &= len(sizes) * len(temperatures) * len(geometries) * len(kinds) > 1
    even = varies & compared if recipe.signs is None else varies & compared & (recipe.signs == 0)
    recipes = [
        replace(recipe, geometry=one, **features)
        for features in _features(kinds, reading.columns, rows, varies, even, rng)
        for one in geometries
    ]
    wholes = [one.problem(rows) for one in recipes]
    first, resumed = wholes[0], None
    if before is not None:
        again = [_resume(before, one) for one in wholes]
        which = next((k for k, one in enumerate(again) if one is not None), None)
        if which is not None:
            resumed, recipes, wholes = again[which], [recipes[which]], [wholes[which]]
            first = wholes[0]
    validation = _read_validation(sample, first)
    warm_up(first.objective(room, 1.0), settings.verbose > 0)
    # a block's products are small: more threads of BLAS only wait for each other
    with (
        Watch(settings.max_time, settings.verbose > 0) as watch,
        threadpool_limits(limits=1, user_api="blas"),
    ):
        if settings.max_time is not None and not watch.keep_back(_time_to_end(first, max(sizes))):
            anchor = np.log(target.anchor)  # there is no time to choose
            temperatures = (min(temperatures, key=lambda one: abs(np.log(one) - anchor)),)
            recipes, wholes = recipes[:1], wholes[:1]
        learning = Learning(
            recipes=[replace(one, room=max(sizes)) for one in recipes],
            temperatures=temperatures,
            select=settings.select,
            validation_fraction=settings.validation_fraction,
            automatic=isinstance(settings.inverse_temperature, str),
            most_terms=settings.max_terms,
            overlap=OVERLAPS[settings.overlap],
            options=settings.search_options(),
            watch=watch,
            rng=rng,
        )
        found = learning.learn(rows, wholes, sizes, resumed, validation)
        found = learning.shorten(found, rows, wholes)
    chosen = learning.chosen[-1] if learning.chosen else None
    _warn_of_end(found, sizes, watch, rows, settings)
    if chosen is not None and chosen.needless and found.kept:
        _warn_of_needless(chosen, found, target)
    fingerprint = _fingerprint(table, validation, before if resumed is not None else None)
    mixture = _keep(found, table, settings, fingerprint, room, learning)
    if chosen is None:
        return mixture, None
    return calibrate(mixture, chosen.left, rows), _tried(chosen, learning, mixture.target)


def _time_to_end(problem: Problem, n: int) -> float:
    """Seconds from the end of the search to that of the fit, about: many points that are given and
    all rows are looked at several times.
    """
    if problem.geometry.sought or not n:
        return 0.0
    some, taken = problem.rows.part(slice(0, in_passing(n))), []
    for _ in range(2):  # the first may be slow
        began = time.perf_counter()
        problem.geometry.place(some, n, np.random.default_rng(0))
        taken.append(time.perf_counter() - began)
    return _PASSES * min(taken) * len(problem.rows) / len(some)


def _without_holes(table: Table, columns: Columns) -> Array:
    """The rows with medians where values are missing."""
    typical = np.zeros(table.X.shape[1])
    fill = find_medians(table.X, table.weight, columns.incomplete_numbers, typical)
    return table.X if fill is None else fill_in(table.X, fill)


def _tried(chosen: Chosen, learning: Learning, target: Target) -> Tried:
    every = [*chosen.alone, *chosen.every]
    kinds = [learning.recipes[one.variant] for one in every]
    loss = np.array([one.loss for one in every])
    unit = target.risk_unit if target.loss.likelihood else 1.0
    table: dict[str, AnyArray] = {
        "local_models": np.array([one.name for one in kinds]),
        "locality_features": np.array([_columns_of(one.geometry) for one in kinds], dtype=object),
        "n_localities": np.array([one.n_localities for one in every]),
        "inverse_temperature": np.array([one.inverse_temperature for one in every]),
        "borders": np.array(["sharp" if np.isinf(one.sharpest) else "soft" for one in every]),
        "mean_test_score": score_of(loss, target),
        "standard_error": unit * np.array([one.error for one in every]),
        "rank_test_score": np.argsort(np.argsort(loss, kind="stable"), kind="stable") + 1,
        "chosen": np.array([one is chosen.best for one in every]),
    }
    return Tried(table, score_of(chosen.loss, target))


def _columns_of(geometry: Any) -> Any:
    """What `locality_features` would be."""
    most = getattr(geometry, "most", None)
    return "ball" if most is None else (most or "all")


def _features(
    kinds: tuple[Any, ...],
    columns: Columns,
    rows: Table,
    varies: Booleans,
    even: Booleans,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """What models of these kinds see beyond the columns: ramps, where a column can bend, or what a
    transformer makes. Curves of the columns that are `even` may be smooth, too.
    """
    if is_transformer(kinds[0]):
        names = columns.encoded_names
        whole = _without_holes(rows, columns)
        return [{"made": fit_transformer(kinds[0], whole, rows.weight, varies, names, rng)}]
    numbers = np.zeros(len(varies), dtype=bool)
    for group in columns.groups:
        numbers[group.values] = group.levels is None
    made: list[dict[str, Any]] = [{}] if "linear" in kinds else []
    if "additive" in kinds:
        zeros = np.zeros(len(varies))
        stand_in = find_medians(rows.X, rows.weight, columns.incomplete_numbers, zeros)
        bends = find_bends(rows.X, rows.weight, numbers & varies, stand_in)
        if bends is not None:
            made.append({"bends": bends})
            if even.any():
                smooth = find_bends(rows.X, rows.weight, numbers & varies, stand_in, even)
                if smooth is not None and smooth.smooth:
                    made.append({"bends": smooth})
    return made or [{}]


def _looking(geometries: list[Any], varies: Booleans, named: bool) -> list[Geometry]:
    """Those that look at a column that varies; if none does and columns were not named, at all."""
    found = [one for one in geometries if one.looks_at(varies)]
    if found or not varies.any():
        return found or geometries[:1]
    if named:
        raise InputError(
            "all columns that locality_columns names are constant in the training rows.",
            "Name one that varies, or leave locality_columns out.",
        )
    return [replace(one, asked=None) for one in geometries]


def _complete(
    geometries: list[Any], table: Table, columns: Columns, settings: Settings
) -> list[Geometry]:
    """Of localities in all columns, a row that lacks any value would be in none. So they look at
    the columns with fewest missing values, as many as nine rows in ten have values in, unless
    columns are named.
    """
    if settings.solver == "nadam":
        raise InputError(
            "solver='nadam' is of the paper's setting, which has no missing values.",
            "Impute them first, or use solver='lbfgs'.",
        )
    if settings.locality_columns is not None:
        return geometries
    holes, share = np.isnan(table.X), table.weight / table.weight.sum()
    made, dropped = [], set()
    for one in geometries:
        name = "columns" if isinstance(one, GivenCenters) else "asked"
        own = getattr(one, name)
        if own is not None and not getattr(one, "most", 0):
            kept = _most_complete(holes, share, own)
            dropped |= set(own) - set(kept)
            one = replace(one, **{name: kept})
        made.append(one)
    asked = settings.points_of_interest is not None or settings.locality_features in ("all", "ball")
    if asked and dropped:
        _warn_of_incomplete([columns.encoded_names[j] for j in sorted(dropped)])
    return made


def _most_complete(holes: Booleans, share: Array, columns: Sequence[int]) -> tuple[int, ...]:
    """Of these columns those with the fewest missing values, in their order."""
    lost = share @ holes[:, list(columns)]
    kept: list[int] = []
    seen = np.zeros(len(holes), dtype=bool)
    for j in np.array(columns)[np.argsort(lost, kind="stable")]:
        seen |= holes[:, j]
        if kept and share @ seen > 1.0 - _COMPLETE + 1e-12:
            break
        kept.append(int(j))
    return tuple(j for j in columns if j in kept)


def _warn_of_incomplete(names: list[str]) -> None:
    shown = ", ".join(map(repr, names[:5])) + (", .." if len(names) > 5 else "")
    text = (
        f"localities do not look at {shown}: so many values are missing that more than one row in"
        " ten would be in none of them."
    )
    advice = "Name the columns that localities are to look at in locality_columns."
    warnings.warn(MotlmWarning(text, advice), stacklevel=user_level())


def geometries_of(
    points: Array | None, settings: Settings, columns: Columns, target: Target
) -> list[Geometry]:
    """That these settings leave to choose from."""
    corrections, features = settings.corrections_of(target), settings.features_of(target)
    if points is not None:
        return [_given(points, settings, columns, corrections, features)]
    at_rows = settings.centers == "rows"
    if settings.metric != "euclidean":
        return [RowCenters(metric=Metric(settings.metric), corrections=corrections)]
    paper = features == "ball" and corrections == "none" and settings.locality_columns is None
    if paper and not at_rows and not columns.incomplete:
        return [LearnedBalls()]
    asked = _candidates(settings.locality_columns, columns)
    if not isinstance(settings.locality_widths, str):
        raise InputError(
            "locality_widths in numbers are for points_of_interest that are given; got them"
            " without.",
            "Use 'learned' or 'equal'.",
        )
    widths = settings.locality_widths == "learned"
    kind = RowLocalities if at_rows else LearnedLocalities
    make = partial(kind, asked=asked, corrections=corrections, widths=widths)
    if features == "ball":
        return [make(most=0, widths=False)]
    if features == "all":
        return [make(most=0)]
    if features != "auto":
        return [make(most=int(features))]
    few = make(most=_FEW)
    return [few] if len(asked) <= _FEW else [few, make(most=0)]


def _given(
    points: Array, settings: Settings, columns: Columns, corrections: str, features: Any
) -> GivenCenters:
    """Around points that are given: by the metric, or in the columns that are named."""
    metric = Metric(settings.metric)
    named, widths = settings.locality_columns, settings.locality_widths
    if named is None:
        if not isinstance(widths, str):
            raise InputError(
                "locality_widths are of the columns that locality_columns names; got them alone."
            )
        equal = features == "ball" or widths == "equal"
        if settings.metric != "euclidean" or (equal and not columns.incomplete):
            return GivenCenters(points, metric, corrections=corrections)
        named, widths = columns.names, "equal" if equal else widths
    if settings.metric != "euclidean":
        raise InputError(
            f"locality_columns are for the Euclidean metric; got metric={settings.metric!r}.",
            "Leave one of them out.",
        )
    own = _candidates(named, columns)
    given = None
    if not isinstance(widths, str):
        given = tuple(widths_of(widths, named, columns, own))
    learned = isinstance(widths, str) and widths == "learned" and len(own) > 1
    return GivenCenters(
        points, metric, corrections=corrections, columns=own, widths=given, learned_widths=learned
    )


def widths_of(widths: Any, named: Any, columns: Columns, own: tuple[int, ...]) -> Iterator[float]:
    """Of each encoded column, in the user's units: by name, or in the order of locality_columns."""
    groups = [_named(columns.groups, name) for name in _names(named)]
    values = [widths] if np.ndim(widths) == 0 else list(widths)
    if isinstance(widths, Mapping):
        keys = [_named(columns.groups, name, "locality_widths").name for name in widths]
        strange = [key for key in keys if key not in [one.name for one in groups]]
        if strange:
            raise InputError(
                f"locality_widths has {strange[0]!r}, which is not one of locality_columns."
            )
        values = [
            list(widths.values())[keys.index(one.name)] if one.name in keys else None
            for one in groups
        ]
    if len(values) != len(groups) or not all(
        isinstance(one, Real) and not isinstance(one, bool) and 0 < float(one) < np.inf
        for one in values
    ):
        raise InputError(
            f"locality_widths must be 'learned', 'equal' or a positive number for each of the"
            f" {len(groups)} columns of locality_columns; got {str(widths)[:200]}."
        )
    by_column = {
        j: float(value)
        for one, value in zip(groups, values, strict=True)
        for j in range(one.values.start, one.values.stop)
    }
    return (by_column[j] for j in own)


def _candidates(given: Any, columns: Columns) -> tuple[int, ...]:
    """Encoded columns that localities may look at: those of the columns that are named; else of
    numbers and of two levels, or of all where there are no such.
    """
    groups = columns.groups
    if given is None:
        chosen = [one for one in groups if one.levels is None or len(one.levels) == 2] or groups
    else:
        chosen = [_named(groups, name) for name in _names(given)]
        if not chosen:
            raise InputError("locality_columns names no column; leave it out to allow all.")
        names = [one.name for one in chosen]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise InputError(f"locality_columns names {twice[0]!r} twice; give each column once.")
    every = (j for one in chosen for j in range(one.values.start, one.values.stop))
    return tuple(dict.fromkeys(every))


def _names(given: Any) -> list[Any]:
    """Of columns, one or several."""
    if isinstance(given, (str, Integral)):
        return [given]
    try:
        return list(given)
    except TypeError:
        raise InputError(
            "locality_columns must be a list of names, or numbers, of columns; got"
            f" {str(given)[:200]}."
        ) from None


def _named(groups: Sequence[Group], name: Any, what: str = "locality_columns") -> Group:
    if isinstance(name, Integral) and not isinstance(name, bool) and -1 < int(name) < len(groups):
        return groups[int(name)]
    found = [one for one in groups if one.name == name]
    if not found:
        shown = ", ".join(repr(one.name) for one in groups[:8])
        shown += ", .." if len(groups) > 8 else ""
        raise InputError(
            f"{what} has {name!r}, which is not a column of X; its columns are {shown}."
        )
    return found[0]


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise InputError(f"random_state: {error}.") from None


def _read(
    kind: Kind, settings: Settings, sample: Sample
) -> tuple[Reading, Table, Array | None, Target]:
    """How the table is read, its rows of positive weight, the points of interest, the target."""
    if sample.y is None:
        raise InputError("requires y to be passed, but the target y is None.")
    checked = CheckedTable.of(sample.X, kind.owner)
    weight = check_weights(sample.sample_weight, checked.rows)
    try:
        y: AnyArray = column_or_1d(sample.y, warn=True)
    except ValueError as error:
        raise InputError(f"y must be one value for each row: {error}") from None
    check_consistent_length(weight, y)
    if settings.class_weight is not None:
        given, weight = weight > 0, weight.copy()
        weight[given] *= class_weights(settings.class_weight, y[given])
        weight = check_weights(weight, checked.rows)
    counted, rows = weight > 0, checked.rows
    if not counted.all():
        rows = _safe_indexing(rows, np.flatnonzero(counted))
    reading, encoded = checked.learn(rows, settings.handle_unknown, settings.missing)
    settings.check_metric()
    points = settings.points_of_interest
    if points is not None:
        points = reading.encode_points(points)
    target = kind.target(y[counted])
    groups = None
    if sample.groups is not None:
        refuse_missing_groups(sample.groups)
        try:
            every = column_or_1d(sample.groups)
        except ValueError as error:
            raise InputError(f"groups must be one value for each row: {error}") from None
        check_consistent_length(y, every)
        groups = np.unique(every[counted], return_inverse=True)[1].astype(np.int64)
    table = Table(
        encoded, target.code(y[counted]), weight[counted], np.flatnonzero(counted), groups
    )
    return reading, table, points, target


def _read_validation(sample: Sample, whole: Problem) -> Table | None:
    """The rows given to choose by."""
    X, y = sample.X_val, sample.y_val
    if X is None and y is None:
        return None
    if X is None or y is None:
        raise InputError("X_val and y_val come together; got one of them alone.")
    encoded, codes = whole.inputs.encode(X, "X_val"), whole.target.code(y, "y_val")
    check_consistent_length(encoded, codes)
    if len(encoded) == 0:
        raise InputError("X_val has no rows to choose by; give some, or leave X_val and y_val out.")
    weight = np.ones(len(encoded)) if sample.weight_val is None else sample.weight_val
    return Table(encoded, codes, weight)


def _resume(before: Mixture, problem: Problem) -> tuple[Posterior, float] | None:
    """The fitted posterior in the units of a problem, where it fits, and its lambda."""
    same = (
        before.inputs.names == problem.inputs.names
        and np.array_equal(before.inputs.varies, problem.inputs.varies)
        and before.geometry.kind == problem.geometry.kind
        and before.target.kind == problem.target.kind
        and _equal_labels(before.target.classes, problem.target.classes)
        and before.geometry.fits(problem.geometry)
        and before.inputs.smooth == problem.inputs.smooth
    )
    if not same:
        return None
    n, room = before.n_localities, problem.prior.n_localities
    if n > room or (not problem.geometry.sought and n != room):
        return None
    posterior = problem.geometry.resume(before.geometry, before.posterior)
    moved = problem.translate(posterior, before.inputs, before.target)
    return moved, before.provenance.inverse_temperature


def _equal_labels(first: AnyArray | None, second: AnyArray | None) -> bool:
    if first is None or second is None:
        return first is second
    return bool(np.array_equal(first, second))


def _fingerprint(table: Table, validation: Table | None, before: Mixture | None) -> Fingerprint:
    """Of all rows that had a part in the model."""
    fingerprint = Fingerprint.of(table.X, table.target)
    if validation is not None:
        fingerprint = fingerprint.join(Fingerprint.of(validation.X, validation.target))
    if before is not None:
        fingerprint = fingerprint.join(before.provenance.fingerprint)
    return fingerprint


def _keep(
    found: Found,
    table: Table,
    settings: Settings,
    fingerprint: Fingerprint,
    room: int,
    learning: Learning,
) -> Mixture:
    solution, problem = found.solution, found.problem
    given = "given" if isinstance(settings.standardize, Units) else "rows"
    unit = problem.target.risk_unit
    _check_found(found, learning)
    provenance = Provenance(
        fingerprint=fingerprint,
        units_from=given if settings.standardize else "nowhere",
        most_localities=room,
        searched_localities=found.searched,
        n_rows=(0,) * (solution.posterior.n_localities + 1),
        points=tuple(found.kept),
        inverse_temperature=solution.inverse_temperature,
        prior=settings.prior_of(problem.target),
        objective=solution.objective * unit,
        gibbs_risk=solution.gibbs_risk * unit,
        kl=solution.kl,
        n_iter=max(1, solution.n_iter),
        path=tuple(learning.records),
    )
    geometry: Any = problem.geometry
    posterior = solution.posterior
    if geometry.learned:  # a search may begin at a row, whose values in other columns are dropped
        seen = posterior.column_weight > 0
        posterior = replace(posterior, center=np.where(seen, posterior.center, 0.0))
    places = np.arange(len(table.X)) if table.places is None else table.places
    geometry, posterior = geometry.settle(problem.inputs, posterior, table.X, places)
    mixture = Mixture(
        problem.inputs,
        replace(geometry, radius=radii(geometry, posterior)),
        problem.target,
        posterior,
        OVERLAPS[settings.overlap],
        provenance,
    )
    return count_rows(_balance(mixture, table), table)


def _balance(mixture: Mixture, table: Table) -> Mixture:
    """Of rates, with scores shifted so that the answers on these rows add up to their targets."""
    if not isinstance(mixture.target, Rate):
        return mixture
    answers = np.concatenate([view.answer for view in mixture.views(table.X)])
    if not np.isfinite(answers).all():
        raise InputError(
            "some predicted rates are beyond the range of floats: rows of tiny weight or exposure"
            " have no part in the fit.",
            "Leave them out, or use weights and exposures that differ less.",
        )
    shift = mixture.target.imbalance(answers, table.target, table.weight)
    intercept = mixture.posterior.intercept + shift
    return replace(mixture, posterior=replace(mixture.posterior, intercept=intercept))


def _check_found(found: Found, learning: Learning) -> None:
    """A model has numbers that can be computed with, and saved."""
    check_ranges(found.solution.posterior, found.problem.geometry.learned)
    records = [(one.objective, one.gibbs_risk, one.kl) for one in learning.records]
    if not np.isfinite(records).all():
        raise InputError(
            "the objective is beyond the range of floats, in squared units of y.",
            "Divide y by a large number, or raise inverse_temperature.",
        )


def count_rows(mixture: Mixture, table: Table) -> Mixture:
    """With the numbers of these rows to which each model applies, what they are like, and the
    typical error on them.
    """
    parts = [(one.applicable, one.distance, one.answer) for one in mixture.views(table.X)]
    applicable, distance, answers = (
        np.concatenate(some, axis=-1) for some in zip(*parts, strict=True)
    )
    summary = Summary.of(mixture.inputs.groups, table.X, table.weight, applicable, distance)
    n_rows = tuple(int(count) for count in applicable.sum(axis=1))
    return replace(
        mixture,
        target=mixture.target.tolerate(answers, table.target, table.weight),
        provenance=replace(mixture.provenance, n_rows=n_rows, summary=summary),
    )


def _warn_of_constants(names: tuple[str, ...], varies: Booleans, n: int) -> None:
    constant = [name for name, varying in zip(names, varies, strict=True) if not varying]
    shown = ", ".join(map(repr, constant[:5])) + (", .." if len(constant) > 5 else "")
    text = (
        f"constant in all training rows: {shown}. Such a column gets coefficient 0 and is ignored"
    )
    if n and not varies.any():
        text += f". No column varies, so instead of {n} localities there is one constant model"
    warnings.warn(MotlmWarning(text + ".", "Leave it out of X."), stacklevel=user_level())


def _warn_of_needless(chosen: Chosen, found: Found, target: Target) -> None:
    n = len(found.kept)
    own, other = (
        score_of(loss, target) for loss in (chosen.loss, min(one.loss for one in chosen.alone))
    )
    pairs = ((f"{own:.{k}g}", f"{other:.{k}g}") for k in range(3, 17))
    shown, better = next(pair for pair in pairs if len(set(pair)) > 1)  # they are not equal
    text = (
        f"rows left out are predicted clearly worse with {n} localit{'y' if n == 1 else 'ies'} than"
        f" by one model without any: {score_name(target)} {shown} instead of {better}."
    )
    advice = "Fit without points of interest, or give others."
    if found.problem.geometry.sought:
        advice = "n_localities='auto' chooses their number."
    warnings.warn(NeedlessLocalityWarning(text, advice), stacklevel=user_level())


def _warn_of_end(
    found: Found, sizes: list[int], watch: Watch, table: Table, settings: Settings
) -> None:
    solution = found.solution
    if watch.cut or watch.interrupted:
        rows = len(found.problem.rows)
        part = ""
        if rows != len(table.X):
            part = f", on {rows} of {len(table.X)} distinct rows (the others were held out)"
        text = (
            f"{watch.reason}: the model is the best found so far, n ="
            f" {solution.posterior.n_localities}, lambda' = {solution.inverse_temperature:g},"
            f" objective {solution.objective:.6g}{part}."
        )
        advice = "To go on from it, set warm_start=True and fit again."
        warnings.warn(StoppedEarlyWarning(text, advice, watch.interrupted), stacklevel=user_level())
        return
    n = max(sizes)
    dead = [str(i) for i in range(n) if i not in found.kept] if len(sizes) == 1 else []
    if dead:
        text = (
            f"no training row belongs to locality {', '.join(dead)} of {n}: dropped, and the model"
            f" refitted with {len(found.kept)}."
        )
        advice = (
            "Ask for fewer localities, or raise inverse_temperature (now"
            f" {solution.inverse_temperature:g})."
        )
        warnings.warn(EmptyLocalityWarning(text, advice), stacklevel=user_level())
    idle = found.idle if len(sizes) == 1 else []
    if idle:
        which = ", ".join(map(str, idle))
        text = (
            f"locality {which} of {len(found.kept)} tells nothing: its model is the exterior's, or"
            " it contains all rows, so that the exterior model is used for none."
        )
        advice = (
            "Ask for fewer localities (n_localities='auto' chooses), leave the point out, or raise"
            f" inverse_temperature (now {solution.inverse_temperature:g})."
        )
        warnings.warn(IdleLocalityWarning(text, advice), stacklevel=user_level())
    if not solution.converged:
        text = (
            f"{settings.solver} stopped at max_iter={settings.max_iter} with objective"
            f" {solution.objective:.6g} (lambda' = {solution.inverse_temperature:g}):"
            f" {solution.message}."
        )
        warnings.warn(NotConvergedWarning(text, "Raise max_iter or tol."), stacklevel=user_level())
