"""From a user's rows to a `Mixture`: validate, build, minimize, keep.

Everything is computed in local variables; the estimator assigns the mixture that comes back.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_consistent_length, column_or_1d
from threadpoolctl import threadpool_limits

from ._renamed import user_level
from ._typing import AnyArray, Array, Booleans
from .checks import Settings, check_units, check_weights, class_weights
from .combinations import COMBINATIONS
from .errors import (
    EmptyLocalityWarning,
    InputError,
    MotlmWarning,
    NotConvergedWarning,
    StoppedEarlyWarning,
)
from .fingerprints import Fingerprint
from .geometry import Geometry, radii
from .inputs import CheckedTable, Reading
from .learning import Found, Learning
from .limits import SMALLEST_TARGET
from .mixture import Mixture, Provenance
from .overlap import OVERLAPS
from .posterior import Posterior, check_ranges
from .problem import Problem, Recipe, Table
from .rows import distinct_rows
from .targets import Rate, Target
from .units import Units, check_spread, moments
from .warmup import warm_up
from .watch import Watch

__all__ = ["Kind", "Sample", "count_rows", "fit_mixture"]


@dataclass(frozen=True)
class Kind:
    """What an estimator fits: its target, and the geometry of its localities."""

    owner: str  # name of the estimator, for messages
    target: Callable[[AnyArray], Target]  # of the targets of the rows to fit on
    geometry: Callable[[Array | None, Settings], Geometry]  # of points of interest, if given


@dataclass(frozen=True)
class Sample:
    """What `fit` is given."""

    X: Any
    y: Any
    sample_weight: Any = None
    X_val: Any = None
    y_val: Any = None
    weight_val: Any = None


def fit_mixture(
    kind: Kind, settings: Settings, sample: Sample, before: Mixture | None = None
) -> Mixture:
    """Merge equal rows, choose n and lambda if there is a choice, search, drop localities without
    rows. `before` is a mixture to go on from.
    """
    reading, table, points, target = _read(kind, settings, sample)
    rng = _generator(settings.random_state)
    temperatures, names = settings.temperatures(target), reading.columns.encoded_names
    if isinstance(settings.standardize, Units):
        check_units(settings.standardize, names, target.scaled)
    share = table.weight / table.weight.sum()
    spread = moments(table.X, share)[1]
    if settings.standardize and not isinstance(settings.standardize, Units):
        check_spread(spread, names, "X")
    if target.scaled and not isinstance(settings.standardize, Units):
        spread_of_y = moments(table.target[:, None], share)[1]
        check_spread(spread_of_y, ("y",), "y", SMALLEST_TARGET)
    varies = spread > 0
    merged = distinct_rows(table.X[:, varies], table.target, table.weight, rng)
    rows = Table(table.X[merged.first], table.target[merged.first], merged.weight)
    sizes = settings.sizes(points, len(rows.X), len(table.X))
    if len(rows.X) > 1 and not varies.all():
        _warn_of_constants(names, varies, max(sizes))
    if not varies.any():
        sizes, points = [0], None
    prior = settings.prior_of(target)
    room = max(sizes)
    if before is not None and points is None and prior.plain:
        room = max(room, before.n_localities)
    recipe = Recipe(
        reading=reading,
        geometry=kind.geometry(points, settings),
        target=target,
        standardize=settings.standardize,
        varies=varies,
        typical=moments(rows.X, rows.weight / rows.weight.sum())[0],
        prior=prior,
        combination=COMBINATIONS[settings.combine],
        free_scale=settings.coef_scale == "free",
        room=room,
    )
    whole = recipe.problem(rows)
    resumed = None if before is None else _resume(before, whole)
    validation = _read_validation(sample, whole)
    warm_up(whole.objective(room, 1.0), settings.verbose > 0)
    # a block's products are small: more threads of BLAS only wait for each other
    with (
        Watch(settings.max_time, settings.verbose > 0) as watch,
        threadpool_limits(limits=1, user_api="blas"),
    ):
        learning = Learning(
            recipe=replace(recipe, room=max(sizes)),
            temperatures=temperatures,
            select=settings.select,
            validation_fraction=settings.validation_fraction,
            overlap=OVERLAPS[settings.overlap],
            options=settings.search_options(),
            watch=watch,
            rng=rng,
        )
        found = learning.learn(rows, whole, sizes, resumed, validation)
    _warn_of_end(found, sizes, watch, rows, settings)
    fingerprint = _fingerprint(table, validation, before if resumed is not None else None)
    return _keep(found, table, settings, fingerprint, room, learning)


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
    reading, encoded = checked.learn(rows, settings.handle_unknown)
    settings.check_metric()
    points = settings.points_of_interest
    if points is not None:
        points = reading.encode_points(points)
    target = kind.target(y[counted])
    return reading, Table(encoded, target.code(y[counted]), weight[counted]), points, target


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
    )
    if not same:
        return None
    n, room = before.n_localities, problem.prior.n_localities
    if n > room or (not problem.geometry.learned and n != room):
        return None
    moved = problem.translate(before.posterior, before.inputs, before.target)
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
    mixture = Mixture(
        problem.inputs,
        replace(geometry, radius=radii(geometry, solution.posterior)),
        problem.target,
        solution.posterior,
        OVERLAPS[settings.overlap],
        provenance,
    )
    return count_rows(_balance(mixture, table), table)


def _balance(mixture: Mixture, table: Table) -> Mixture:
    """Of rates, with scores shifted so that the answers on these rows add up to their targets."""
    if not isinstance(mixture.target, Rate):
        return mixture
    answers = np.concatenate([view.answer for view in mixture.views(table.X)])
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
    """With the numbers of these rows to which each model applies, and the typical error on them."""
    counts = np.zeros(mixture.n_localities + 1, dtype=np.intp)
    answers = []
    for view in mixture.views(table.X):
        counts += view.applicable.sum(axis=1)
        answers.append(view.answer)
    n_rows = tuple(int(count) for count in counts)
    return replace(
        mixture,
        target=mixture.target.tolerate(np.concatenate(answers), table.target, table.weight),
        provenance=replace(mixture.provenance, n_rows=n_rows),
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
    if not solution.converged:
        text = (
            f"{settings.solver} stopped at max_iter={settings.max_iter} with objective"
            f" {solution.objective:.6g} (lambda' = {solution.inverse_temperature:g}):"
            f" {solution.message}."
        )
        warnings.warn(NotConvergedWarning(text, "Raise max_iter or tol."), stacklevel=user_level())
