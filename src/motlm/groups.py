"""How good predictions are for groups of rows: of each sex, of each quarter of the ages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ._typing import AnyArray, Array, Integers
from .checks import check_exposure, per_exposure
from .errors import InputError, InputTypeError, MotlmWarning
from .frames import columns_of, floats_of, is_frame, is_missing, is_numeric
from .intervals import (
    Estimate,
    count_interval,
    difference,
    mean_of,
    quotient,
    ratio_of_sums,
    root_mean_square,
    share_of,
)
from .mixture import Mixture, mixture_of
from .tables import item, number, plain, table_of, text_lines, text_table, text_tables
from .targets import Rate

__all__ = ["GroupEvaluation", "evaluate_groups"]

_QUARTERS = (0.25, 0.5, 0.75)
_FEW_VALUES = 5  # distinct numbers that are groups of their own
_MOST = 20  # groups of a column; rarer categories are joined
_FEWEST = 10  # rows of a group that has gaps to others
_MISSING = "(missing)"
_PERCENT = (  # measures that are shown so
    "error rate",
    "base rate",
    "selection rate",
    "false positive rate",
    "false negative rate",
    "mean probability",
    "mean probability of the answer",
)
_GAPS = {  # what the literature calls them
    "difference in selection rate": "demographic parity difference",
    "ratio of selection rates": "disparate impact ratio",
    "difference in false negative rate": "equal opportunity difference",
    "difference in false positive rate": "predictive equality difference",
}

_Measure = Callable[[Integers, float], Estimate]  # of some rows, with some confidence


@dataclass(frozen=True)
class Group:
    """The rows with one value of a column.

    Attributes
    ----------
    column, name : str
        "sex" and "female"; "" and "all rows" of all.
    rows : int
    measures : dict of str to Estimate
        By name, each with its interval.
    """

    column: str
    name: str
    rows: int
    measures: dict[str, Estimate]

    @property
    def cells(self) -> dict[str, str]:
        """Each measure with its interval, as tables have it: shares in percent."""
        return {_heading(name): _cell(name, one) for name, one in self.measures.items()}


@dataclass(frozen=True)
class Gap:
    """How far apart a measure of two groups is, of those where it is furthest apart.

    Attributes
    ----------
    column, name : str
        "sex" and "difference in selection rate".
    highest, lowest : str
        The two groups.
    estimate : Estimate
        The gap. Its interval holds for this measure of all pairs of groups of the column together
        (Bonferroni's correction), since these two were chosen by looking at them.
    """

    column: str
    name: str
    highest: str
    lowest: str
    estimate: Estimate

    @property
    def cell(self) -> str:
        """The gap with its interval, as tables have it: differences of shares in points."""
        measure = self.name.partition("difference in ")[2]
        text = _cell(measure, self.estimate)
        return text.replace(" (", " points (") if measure in _PERCENT else text

    @property
    def known_as(self) -> str:
        """What the literature calls it, or ""."""
        return _GAPS.get(self.name, "")


@dataclass(frozen=True)
class GroupEvaluation:
    """How good a model's predictions are for groups of rows, and how far these are apart.

    Attributes
    ----------
    task : str
        "classification", "regression" or "rate".
    rows : int
    positive : label or None
        Of classification: the label of selection and false positive and negative rates.
    confidence : float
        Of the interval of each group by itself.
    groups : tuple of Group
        All rows, then the groups of each column.
    gaps : tuple of Gap
    notes : tuple of str
    """

    task: str
    rows: int
    positive: Any
    confidence: float
    groups: tuple[Group, ...]
    gaps: tuple[Gap, ...]
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the groups are of."""
        return tuple(dict.fromkeys(one.column for one in self.groups[1:]))

    def of_column(self, column: str) -> tuple[tuple[Group, ...], tuple[Gap, ...]]:
        """All rows and the groups of a column, and its gaps."""
        own = tuple(one for one in self.groups[1:] if one.column == column)
        return (self.groups[0], *own), tuple(one for one in self.gaps if one.column == column)

    @property
    def about(self) -> list[str]:
        """How the tables are to be read, in sentences."""
        words = [
            f"In brackets: {self.confidence:.0%} intervals, of each group by itself.",
            "Intervals of the largest gaps hold for all pairs of groups of a column together, one"
            f" measure at a time; measures of fewer than {_FEWEST} rows of a group are in none.",
        ]
        if self.positive is not None:
            words.append(f"Positive, or selected where it is predicted: {self.positive}.")
        return words

    def to_frame(self) -> Any:
        """A row for each group, with a column for each measure and its ends (pandas)."""
        rows = []
        for group in self.groups:
            made: dict[str, Any] = {"column": group.column, "group": group.name, "rows": group.rows}
            for name, one in group.measures.items():
                made |= {name: one.value, f"{name}, low": one.low, f"{name}, high": one.high}
            rows.append(made)
        return table_of(rows)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        groups = [
            {
                "column": one.column,
                "group": one.name,
                "rows": one.rows,
                **{_key(name): each.to_dict() for name, each in one.measures.items()},
            }
            for one in self.groups
        ]
        gaps = [
            {
                "column": one.column,
                "name": one.name,
                "known_as": one.known_as,
                "highest": one.highest,
                "lowest": one.lowest,
                **one.estimate.to_dict(),
            }
            for one in self.gaps
        ]
        made: dict[str, Any] = plain(
            {
                "task": self.task,
                "rows": self.rows,
                "positive": self.positive,
                "confidence": self.confidence,
                "groups": groups,
                "gaps": gaps,
                "notes": list(self.notes),
            }
        )
        return made

    def __str__(self) -> str:
        blocks = []
        for column in self.columns:
            groups, gaps = self.of_column(column)
            blocks.append(f"by {column}\n{_group_table(groups)}")
            if gaps:
                blocks.append(_gap_table(gaps))
        notes = [f"Note: {one}" for one in self.notes]
        return "\n\n".join([*blocks, text_lines([*self.about, *notes])])


def evaluate_groups(
    model: Any,
    X: Any,
    y: Any,
    by: Any,
    *,
    exposure: Any = None,
    probabilities: Any = None,
    positive: Any = None,
) -> GroupEvaluation:
    """How good the predictions of a model are for groups of rows with known outcomes.

    Of classes: the error rate, and, of the positive one, its base rate (share of
    rows), the selection rate (share of
    rows that it is predicted for), the false positive and false negative rates and the mean
    probability. Of numbers: mean error (prediction - outcome), RMSE, mean prediction and mean
    outcome. Of rates: actual over expected, and both per unit of exposure. Each with a 95 %
    interval.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor
    X, y : rows and targets
    by : str, list of str, table, dict of arrays, or array of (n_rows,)
        What the groups are: columns of X by name, or other columns, which the model need not
        have. Numbers of more than five values are cut at their quartiles. Rows without a value are
        a group; categories beyond the most frequent ones are joined.
    exposure : array of (n_rows,), default=None
        Of rates, as in `fit`.
    probabilities : array of (n_rows, n_classes), default=None
        Of a classifier, instead of those of `predict_proba`.
    positive : label, default=None
        Of a classifier: the class whose selection and false positive and negative rates are
        computed; None is the second of two. Of three classes or more there are none by default.

    Returns
    -------
    GroupEvaluation

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.groups import evaluate_groups
    >>> rng = np.random.default_rng(0)
    >>> X, town = rng.normal(size=(400, 1)), rng.choice(["A", "B"], 400)
    >>> y = X[:, 0] + rng.normal(size=400) * np.where(town == "A", 0.1, 1.0) > 0
    >>> model = LocalMixtureClassifier(0, random_state=0).fit(X, y)
    >>> found = evaluate_groups(model, X, y, {"town": town})
    >>> [group.name for group in found.groups]
    ['all rows', 'A', 'B']
    >>> gap = next(one for one in found.gaps if one.name == "difference in error rate")
    >>> gap.highest, gap.lowest, gap.estimate.low > 0
    ('B', 'A', True)
    """
    mixture = mixture_of(model)
    if mixture is model:
        raise InputTypeError("expected a fitted motlm estimator; got its mixture_.")
    y, target = column_or_1d(y, warn=True), mixture.target
    if not len(y):
        raise InputError("there are no rows to evaluate on; give at least one.")
    if target.classes is None and (probabilities is not None or positive is not None):
        raise InputError("probabilities and positive are for classifiers; leave them out.")
    if exposure is not None and not isinstance(target, Rate):
        raise InputError("exposure is for models of rates; leave it out.")
    named = _columns_by_name(X, by)
    check_consistent_length(X, y, *(column for _, column in named))
    if isinstance(target, Rate):
        task, measures = "rate", _of_rates(model, X, y, exposure)
    elif target.classes is not None:
        task, positive = "classification", _check_positive(target.classes, positive)
        target.code(y)
        measures = _of_classes(model, X, y, probabilities, positive)
    else:
        task, measures = "regression", _of_numbers(target.code(y), model.predict(X))
    found = _evaluate(task, len(y), measures, named, positive)
    return replace(found, notes=(*found.notes, *_note_fitted_rows(mixture, X, y, exposure)))


def _note_fitted_rows(mixture: Mixture, X: Any, y: AnyArray, exposure: Any) -> list[str]:
    """A note if some of the rows were used for fitting."""
    if exposure is not None:
        y = per_exposure(y, exposure, None, "exposure")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MotlmWarning)  # predict has given them
        encoded, fingerprint = mixture.encode(X), mixture.provenance.fingerprint
    return fingerprint.describe(encoded, mixture.target.code(y))[1]


def _evaluate(
    task: str,
    n_rows: int,
    measures: dict[str, _Measure],
    named: list[tuple[str, Any]],
    positive: Any,
) -> GroupEvaluation:
    confidence, notes = 0.95, []

    def measure(rows: Integers, level: float) -> dict[str, Estimate]:
        return {name: one(rows, level) for name, one in measures.items()}

    everything = np.arange(n_rows)
    groups = [Group("", "all rows", n_rows, measure(everything, confidence))]
    gaps: list[Gap] = []
    for column, values in named:
        parts, note = _cut(column, values)
        groups += [
            Group(column, name, len(rows), measure(rows, confidence)) for name, rows in parts
        ]
        notes += note
        pairs = max(len(parts) * (len(parts) - 1) // 2, 1)
        level = 1.0 - (1.0 - confidence) / pairs
        gaps += _gaps(column, task, {name: measure(rows, level) for name, rows in parts})
    return GroupEvaluation(
        task, n_rows, item(positive), confidence, tuple(groups), tuple(gaps), tuple(notes)
    )


# -- what the groups are ---------------------------------------------------------------------------


def _columns_by_name(X: Any, by: Any) -> list[tuple[str, Any]]:
    """Names and columns; of an array the name is "group"."""
    if isinstance(by, str) or (
        isinstance(by, (list, tuple)) and len(by) > 0 and all(isinstance(one, str) for one in by)
    ):
        wanted = [by] if isinstance(by, str) else list(by)
        if not is_frame(X):
            raise InputError(
                f"by={by!r} names columns, and X is an array, whose columns have no names.",
                "Give the columns themselves: by={'sex': values}.",
            )
        known = dict(zip(map(str, X.columns), columns_of(X), strict=True))
        for name in wanted:
            if name not in known:
                raise InputError(
                    f"by has {name!r}, which is not a column of X; its columns are"
                    f" {', '.join(map(repr, list(known)[:20]))}.",
                    "Columns that X does not have are given by their values: by={'sex': values}.",
                )
        return [(name, known[name]) for name in wanted]
    if is_frame(by):
        return list(zip(map(str, by.columns), columns_of(by), strict=True))
    if isinstance(by, Mapping):
        return [(str(name), _as_column(values)) for name, values in by.items()]
    return [(str(getattr(by, "name", None) or "group"), _as_column(by))]


def _as_column(values: Any) -> Any:
    if hasattr(values, "dtype"):
        return values
    made = np.empty(len(values), dtype=object)
    made[:] = list(values)
    return made


def _cut(column: str, values: Any) -> tuple[list[tuple[str, Integers]], list[str]]:
    """The groups of a column, by name, and a note."""
    if np.ndim(values) != 1:
        raise InputError(
            f"by has {column!r} of {np.ndim(values)} dimensions; give one value a row."
        )
    if is_numeric(values):
        return list(_cut_numbers(floats_of(values))), []
    texts = np.asarray(values, dtype=object)
    missing = is_missing(texts)
    names = np.array([str(item(one)) for one in texts[~missing]], dtype=object)
    levels, counts = np.unique(names.astype(str), return_counts=True)
    rare, note = set[str](), []
    if len(levels) + missing.any() > _MOST:
        kept = _MOST - 1 - int(missing.any())
        rare = set(levels[np.argsort(-counts, kind="stable")[kept:]].tolist())
        note = [f"{column!r}: the {len(rare)} rarest of its categories are joined."]
    places = np.flatnonzero(~missing)
    parts = [(one, places[names == one]) for one in levels.tolist() if one not in rare]
    if rare:
        joined = np.array([one in rare for one in names], dtype=bool)
        parts.append((f"{len(rare)} other categories", places[joined]))
    if missing.any():
        name, taken = _MISSING, {one for one, _ in parts}
        while name in taken:  # a category that is called so
            name = f"{name}, no value"
        parts.append((name, np.flatnonzero(missing)))
    return parts, note


def _cut_numbers(values: Array) -> Iterator[tuple[str, Integers]]:
    """Values, where they are few; else between quartiles."""
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    if len(distinct) <= _FEW_VALUES:
        for one in distinct:
            yield number(float(one), 6), np.flatnonzero(values == one)
    else:
        cuts = np.unique(np.quantile(known, _QUARTERS, method="lower"))
        cuts = cuts[cuts < distinct[-1]]
        bins = np.searchsorted(cuts, values)  # every number has one, infinities included
        ends = [None, *cuts.tolist(), None]
        for k, (low, high) in enumerate(pairwise(ends)):
            words = [] if low is None else [f"above {number(low, 6)}"]
            words += [] if high is None else [f"up to {number(high, 6)}"]
            yield " ".join(words) or "any number", np.flatnonzero((bins == k) & ~np.isnan(values))
    if len(known) < len(values):
        yield _MISSING, np.flatnonzero(np.isnan(values))


# -- measures --------------------------------------------------------------------------------------


def _check_positive(classes: AnyArray, positive: Any) -> Any:
    """The label that is counted; None of three classes or more."""
    if positive is None:
        return classes[1] if len(classes) == 2 else None
    labels = classes.tolist()
    if positive not in labels:
        shown = ", ".join(map(repr, labels[:20]))
        raise InputError(f"positive must be one of the labels {shown}; got {positive!r}.")
    return classes[labels.index(positive)]


def _of_classes(
    model: Any, X: Any, y: AnyArray, probabilities: Any, positive: Any
) -> dict[str, _Measure]:
    classes, answers = model.mixture_.target.classes, model.predict(X)
    chances = model.predict_proba(X) if probabilities is None else np.asarray(probabilities)
    if chances.shape != (len(y), len(classes)):
        raise InputError(
            f"probabilities must be of shape {(len(y), len(classes))}; got {chances.shape}."
        )
    measures: dict[str, _Measure] = {"error rate": _share(answers != y)}
    if positive is None:
        own = chances[np.arange(len(y)), np.searchsorted(classes, answers)]
        return {**measures, "mean probability of the answer": _mean_share(own)}
    truth, selected = y == positive, answers == positive
    return {
        **measures,
        "base rate": _share(truth),
        "selection rate": _share(selected),
        "false positive rate": _share(selected, ~truth),
        "false negative rate": _share(~selected, truth),
        "mean probability": _mean_share(chances[:, classes.tolist().index(positive)]),
    }


def _of_numbers(y: Array, answers: Array) -> dict[str, _Measure]:
    return {
        "mean error": _mean(answers - y),
        "RMSE": lambda rows, level: root_mean_square((answers - y)[rows], level),
        "mean prediction": _mean(answers),
        "mean outcome": _mean(y),
    }


def _of_rates(model: Any, X: Any, y: AnyArray, exposure: Any) -> dict[str, _Measure]:
    target = model.mixture_.target
    observed = np.ones(len(y)) if exposure is None else check_exposure(exposure, len(y))
    rate = target.code(y) if exposure is None else per_exposure(y, exposure, None, "exposure")[0]
    target.code(rate)
    expected, actual = model.predict(X) * observed, rate * observed
    counts = target.loss_name == "poisson" and bool(
        np.all(np.asarray(y, dtype=float) == np.rint(np.asarray(y, dtype=float)))
    )

    def actual_over_expected(rows: Integers, level: float) -> Estimate:
        found = ratio_of_sums(actual[rows], expected[rows], level)
        if not counts or found.value is None:
            return found
        low, high = count_interval(np.rint(actual[rows].sum()), level) / expected[rows].sum()
        return Estimate(found.value, float(low), float(high), found.rows)

    return {
        "actual / expected": actual_over_expected,
        "mean prediction": lambda rows, level: ratio_of_sums(expected[rows], observed[rows], level),
        "actual rate": lambda rows, level: ratio_of_sums(actual[rows], observed[rows], level),
    }


def _share(found: AnyArray, of: AnyArray | None = None) -> _Measure:
    """The share of some rows, of those that count."""
    counted = np.ones(len(found), dtype=bool) if of is None else of
    return lambda rows, level: share_of(found[rows][counted[rows]], level)


def _mean(values: Array) -> _Measure:
    return lambda rows, level: mean_of(values[rows], level)


def _mean_share(values: Array) -> _Measure:
    """Of probabilities, whose mean lies between 0 and 1."""

    def measure(rows: Any, level: float) -> Estimate:
        found = mean_of(values[rows], level)
        if found.low is None or found.high is None:
            return found
        return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))

    return measure


# -- gaps ------------------------------------------------------------------------------------------


def _lowest_over_highest(high: Estimate, low: Estimate) -> Estimate:
    return quotient(low, high)  # as the four-fifths rule has it


# names of gaps, their measures, and what is computed of the highest and the lowest
_Compared = tuple[str, str, Callable[[Estimate, Estimate], Estimate]]
_COMPARED: dict[str, tuple[_Compared, ...]] = {
    "classification": (
        ("difference in selection rate", "selection rate", difference),
        ("ratio of selection rates", "selection rate", _lowest_over_highest),
        ("difference in false positive rate", "false positive rate", difference),
        ("difference in false negative rate", "false negative rate", difference),
        ("difference in error rate", "error rate", difference),
    ),
    "regression": (
        ("difference in mean error", "mean error", difference),
        ("difference in RMSE", "RMSE", difference),
        ("difference in mean prediction", "mean prediction", difference),
    ),
    "rate": (
        ("ratio of actual / expected", "actual / expected", quotient),
        ("ratio of mean predictions", "mean prediction", quotient),
    ),
}


def _gaps(column: str, task: str, groups: dict[str, dict[str, Estimate]]) -> Iterator[Gap]:
    """The largest one of each measure, of the groups with enough rows."""
    for name, measure, compare in _COMPARED[task]:
        found = {
            group: one[measure]
            for group, one in groups.items()
            if measure in one and one[measure].rows >= _FEWEST
        }
        if len(found) > 1:
            order = sorted(found, key=lambda group: found[group].value or 0.0)
            gap = compare(found[order[-1]], found[order[0]])
            if gap.value is not None:
                yield Gap(column, name, order[-1], order[0], gap)


# -- text ------------------------------------------------------------------------------------------


def _key(name: str) -> str:
    return name.replace(" / ", "_over_").replace(" ", "_")


def _heading(measure: str) -> str:
    """Of a column of a table."""
    return f"{measure}, %" if measure in _PERCENT else measure


def _cell(measure: str, one: Estimate) -> str:
    """An estimate and its interval, in percent where it is a share."""
    if one.value is None:
        return "not defined"
    percent, tiny = measure in _PERCENT, 1e-9 * ((one.high or 0.0) - (one.low or 0.0))
    value, low, high = (
        "" if end is None else f"{100 * end:.1f}" if percent else number(_zero(end, tiny), 3)
        for end in (one.value, one.low, one.high)
    )
    return f"{value} ({low or '?'} to {high or '?'})" if low or high else value


def _zero(value: float, tiny: float) -> float:
    """0 for what rounding has left of it."""
    return 0.0 if abs(value) < tiny else value


def _group_table(groups: tuple[Group, ...]) -> str:
    names = [("", "rows"), *((one.name, str(one.rows)) for one in groups)]
    columns = [[name, *(one.cells[name] for one in groups)] for name in groups[0].cells]
    return text_tables(names, columns)


def _gap_table(gaps: tuple[Gap, ...]) -> str:
    lines = [(one.name, one.cell, one.highest, one.lowest, one.known_as) for one in gaps]
    return text_table([("largest gaps", "", "highest", "lowest", "also known as"), *lines])
