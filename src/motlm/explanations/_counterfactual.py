"""A change of few columns that alters the answer, within the locality that gave it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from numbers import Integral
from typing import Any

import numpy as np

from .._renamed import warn_of
from .._typing import Array
from ..errors import InputError
from ..frames import columns_of, is_missing
from ..mixture import View
from ..pipelines import Group, Subject, same_level, subject_of
from ..tables import decode, html_table, item, number, one_row, plain, table_of, values_of
from ._fewest import fewest, nearest, round_row
from ._limits import Goal, Limits, Wishes, names_in
from ._search import Found, Search

__all__ = ["Counterfactual", "counterfactual"]

_NAMED = 5  # columns in a message
_SCOPE = "rows decided by other models were not searched"


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """A changed row for which the model gives another answer, or why there is none. Made by
    `counterfactual`.

    Attributes
    ----------
    found : bool
    exact : bool
        Whether it is proved that no row with fewer changes, and none with as many that is nearer,
        has the answer (up to the digits that numbers are rounded to); or none at all. Of rows that
        the same model decides, where there are several: see `scope`.
    reason : str
        Why there is none; or why more columns change than were asked for.
    region : str
        Where the model used applies: "locality 0" and so on, or "exterior"; "the model" if there
        are no localities.
    before, after : dict
        Values of each feature; `after` is empty where none was found.
    distance : float or None
        Between the two rows, standardized.
    prediction_before, prediction_after
        The answers for the two rows, in the units of y.
    score_before, score_after
        The scores behind them: the same numbers where the model answers by its score itself, their
        logarithms with a log link. Of three classes or more, those of each label.
    wanted
        The answer that was asked for; None for any other of three classes or more.
    scope : str
        Of a model with localities: that rows decided by the same model were searched, and others
        were not, among which there may be a smaller change; else empty.
    note : str
        Of a pipeline: which columns are not the table's own; else empty.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.explanations import counterfactual
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> model = LocalMixtureClassifier(
    ...     points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0
    ... ).fit(X, y)
    >>> change = counterfactual(model, [-1.4, 0.1], immutable=["x0"])
    >>> list(change.changes), change.prediction_before, change.prediction_after
    (['x1'], 1.0, -1.0)
    >>> none = counterfactual(model, [-1.4, 0.1], immutable=["x0", "x1"])
    >>> print(none)  # doctest: +NORMALIZE_WHITESPACE
    no counterfactual: no row in locality 0 within the given limits has that answer; rows decided by
    other models were not searched
    """

    found: bool
    exact: bool  # whether it is proved that no row with fewer changes, or nearer, has the answer
    reason: str  # why there is none, or why so many columns change
    region: str  # where the model used applies
    before: dict[str, Any]
    after: dict[str, Any]  # empty where none was found
    distance: float | None  # between the two rows, standardized
    prediction_before: Any
    prediction_after: Any
    score_before: Any  # float, or dict of float by label
    score_after: Any
    wanted: Any
    note: str = ""
    scope: str = ""  # which rows were searched, where not all were

    @property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        """The features that change: from what, to what."""
        return {
            name: (self.before[name], value)
            for name, value in self.after.items()
            if not same_level(value, self.before[name])
        }

    def to_dict(self) -> dict[str, Any]:
        content = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return dict(
            plain({**content, "changes": {name: list(pair) for name, pair in self.changes.items()}})
        )

    def to_frame(self) -> Any:
        """A pandas table of the features that change."""
        return table_of(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"feature": name, "from": before, "to": after}
            for name, (before, after) in self.changes.items()
        ]

    def __str__(self) -> str:
        more = f"\n{self.note}" if self.note else ""
        if not self.found:
            return f"no counterfactual: {self.reason}{self._limit}{more}"
        pairs = [
            (name, number(before, 6), number(after, 8))
            for name, (before, after) in self.changes.items()
        ]
        changes = ", ".join(f"{name} from {a} to {b}" for name, a, b in pairs if a != b)
        answers = f"{number(self.prediction_before)} becomes {number(self.prediction_after)}"
        text = f"{answers}{self._inside} with {changes or 'no change'}"
        return (f"{text} ({self.reason})" if self.reason else text) + self._limit + more

    @property
    def _inside(self) -> str:
        """Where the model used applies, unless that is everywhere."""
        return f" in {self.region}" if self.region != "the model" else ""

    @property
    def _limit(self) -> str:
        return f"; {self.scope}" if self.scope else ""

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>{html_table(self._rows())}"


def counterfactual(
    model: Any,
    x: Any,
    *,
    target: Any = None,
    max_changes: int | None = 3,
    immutable: Iterable[str] = (),
    increasing: Iterable[str] = (),
    decreasing: Iterable[str] = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    integer: Iterable[str] | None = None,
    max_categories: int = 2,
    fixed: Iterable[str] | None = None,
) -> Counterfactual:
    """A change of as few columns as possible by which the same local model gives another answer; of
    changes of as many columns the smallest, in standardized units. Of a model with localities, rows
    that another model decides are not searched: a smaller change may lie there, and texts say so.

    Changes of one column are searched for first, then of two, and so on. For some columns it is a
    projection, in closed form for a ball; bounds, and localities that weigh the columns, add a
    search for one number, whole numbers add branches, and categories trials of all changes of a few
    of them. One of three classes or more is answered between several planes, and the nearest point
    there is found by adding them one by one.

    Numbers that change are rounded to six significant digits, or to more where six do not give the
    answer. Numbers stay within the range of the training rows, unless `bounds` are given.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
        Or a pipeline that ends in one, whose input columns may change.
    x : one row, as a table of one row, a mapping of column names to values, or a sequence
    target : default=None
        The label that is wanted (None: the other one, or whichever of several others is nearest);
        for a regressor the prediction that is wanted, in the units of y, which must be given.
    max_changes : int or None, default=3
        How many columns should change at most. If no change of so many gives the answer, one of
        more columns is returned, and its `reason` says so. None: the smallest change, however many
        columns it takes.
    immutable : names of columns
        That cannot change.
    increasing, decreasing : names of columns
        Of numbers that can only rise (an age, say), or only fall.
    bounds : mapping of column to (lowest, highest), default=None
        Instead of the range of the training rows; None for no end.
    integer : names of columns, default=None
        That hold whole numbers. None: those that hold whole numbers alone in the training rows.
    max_categories : int, default=2
        How many columns of categories may change at once.
    fixed : default=None
        Deprecated: `immutable`.

    Returns
    -------
    Counterfactual

    Examples
    --------
    Inside the first ball the label is the sign of the second column, so that this one has to fall:

    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.explanations import counterfactual
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> model = LocalMixtureClassifier(
    ...     points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0
    ... ).fit(X, y)
    >>> change = counterfactual(model, [-1.4, 0.1])
    >>> change.found, change.exact, change.region
    (True, True, 'locality 0')
    >>> list(change.changes), change.after["x1"] < change.before["x1"]
    (['x1'], True)
    >>> model.predict([list(change.after.values())])
    array([-1.])

    Of three classes or more one can be asked for, or the nearest of the others:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LocalMixtureClassifier(0, inverse_temperature=2, random_state=0).fit(X, y)
    >>> nearest, last = counterfactual(model, X[0]), counterfactual(model, X[0], target=2)
    >>> nearest.prediction_after, last.prediction_after, nearest.distance < last.distance
    (1, 2, True)

    For a regressor the prediction that is wanted must be given:

    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> model = LocalMixtureRegressor(
    ...     points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0
    ... ).fit(X, y)
    >>> change = counterfactual(model, [0.1], target=0.27)
    >>> round(change.prediction_after, 6), round(change.after["x0"], 1)
    (0.27, 0.5)
    """
    if fixed is not None:
        warn_of("counterfactual(fixed=)", "immutable")
        immutable = fixed
    _check_count(max_changes)
    subject = subject_of(model)
    mixture, groups = subject.mixture, subject.groups
    mixture.refuse_transformer("counterfactual")
    row = one_row(mixture, x) if subject.steps is None else subject.given(x)
    view = mixture.view(mixture.encode(subject.table(row)))
    before = _values(subject, row, view)
    wished = names_in(immutable, "immutable")
    held = subject.made_from(wished)
    wishes = Wishes((*held, *subject.held), increasing, decreasing, bounds, integer, max_categories)
    limits = Limits.of(
        groups,
        before,
        wishes,
        mixture.provenance.summary,
        len(mixture.inputs.names),
        _integers(groups, row) if subject.steps is None else (),
    )
    if subject.steps is not None:
        _check_free(subject, held, wished)
    limits = limits.hold(_missing(groups, before))
    goal = Goal.of(mixture.target, target, view.score[..., 0])
    question = _Question(view, before, goal, subject)
    hindrance = question.hindrance()
    if hindrance is not None:
        return hindrance
    start = np.asarray(mixture.inputs.fill_in(view.encoded)[0], dtype=float)
    searches = [
        Search.of(mixture, start, question.used, conditions, limits, question.is_answered)
        for conditions in goal.conditions()
    ]
    searches.sort(key=lambda one: one.gap)
    found = nearest(searches) if max_changes is None else fewest(searches, max_changes)
    if found.row is not None:
        tidy = round_row(found.row, start, limits, question.is_answered)
        excuse = _excuse(found, goal, max_changes, mixture.n_localities > 0)
        return question.answer(tidy, found.exact, excuse)
    where = limits.words
    if mixture.n_localities:
        where = f" in {mixture.region_name(question.used)}{where}"
    if found.exact:
        return question.refuse(f"no row{where} has {goal.what}", exact=True)
    why = "the search was stopped at its limit"
    if found.elsewhere:
        why = f"the nearest rows with {goal.what} lie where another model is used"
    return question.refuse(f"none was found{where} ({why})")


def _values(subject: Subject, row: Any, view: View) -> dict[str, Any]:
    """Of the row, by the names of the columns that may change."""
    if subject.steps is None:
        values = values_of(subject.mixture, row)
        return {name: item(column[0]) for name, column in values.items()}
    given = subject.values(row)
    if len(view) != 1:
        raise InputError(f"one row is explained at a time; got {len(view)}.")
    told = decode(subject.groups, view.encoded[0])
    own = [group.name for group in subject.groups if subject.known(group)]
    return {**told, **{name: item(given[name][0]) for name in own}}


def _check_free(subject: Subject, held: tuple[str, ...], wished: tuple[str, ...]) -> None:
    """Raise where no column is left that can change by itself, because of the steps of a pipeline:
    of several columns that are made of the same ones, none can.
    """
    groups = {group.name for group in subject.groups}
    fixed = {one.name for one in subject.made if one.hole}
    if not groups <= {*held, *subject.held} or groups <= {*wished, *fixed}:
        return
    names = sorted(groups - set(wished) - fixed)
    shown = ", ".join(map(repr, names[:_NAMED])) + (", .." if len(names) > _NAMED else "")
    raise InputError(
        "the steps of the pipeline make columns of which none can change by itself within the"
        f" given limits: {shown}.",
        "Fit the estimator to columns that do not depend on each other; for curves of single"
        " columns use local_models='additive'.",
    )


def _check_count(most: int | None) -> None:
    if most is None:
        return
    if isinstance(most, bool) or not isinstance(most, Integral) or most < 1:
        raise InputError(f"max_changes must be a whole number from 1 on, or None; got {most!r}.")


def _excuse(found: Found, goal: Goal, most: int | None, local: bool) -> str:
    """Why more columns change than were asked for; empty where they do not."""
    if not found.more or most is None:
        return ""
    columns = "one column" if most == 1 else f"at most {most} columns"
    proved = "gives" if found.none_of_few else "was found that gives"
    while_same = " while the same model decides" if local else ""
    return f"no change of {columns} {proved} {goal.what}{while_same}"


def _integers(groups: tuple[Group, ...], row: Any) -> list[str]:
    """The columns of a table of one row whose type is that of whole numbers."""
    if not hasattr(row, "columns"):
        return []
    kinds = [np.asarray(column).dtype.kind for column in columns_of(row)]
    return [group.name for group, kind in zip(groups, kinds, strict=True) if kind in "iu"]


@dataclass(frozen=True, eq=False)
class _Question:
    """A row, and the answer that is wanted of the model used for it."""

    view: View  # of the row
    before: dict[str, Any]
    goal: Goal
    subject: Subject

    @property
    def used(self) -> int:
        return int(self.view.used[0])

    def hindrance(self) -> Counterfactual | None:
        """The result where no search is needed, or none is possible; None where one is."""
        mixture = self.view.mixture
        if not self.goal.possible:
            reason = f"no score gives the answer {number(self.goal.wanted, 8)}"
            return replace(self.refuse(reason, exact=True), scope="")
        if self.goal.is_met(self.view.score[..., 0]):
            reason = "the model gives that answer already"
            return replace(self.refuse(reason, exact=True), scope="")
        if self.used < 0:
            return self.refuse(
                "several localities contain the row, and the mean of their scores is used; changes"
                " are searched for within one locality"
            )
        if self.used < mixture.n_localities and mixture.loci[self.used].norm != "euclidean":
            name = mixture.geometry.metric_name
            return self.refuse(f"localities of metric {name!r} have no closed form")
        return None

    def is_answered(self, encoded: Array) -> bool:
        """Whether the model itself gives the answer for a row, by the same local model."""
        _, view = self._look(encoded)
        return int(view.used[0]) == self.used and self.goal.is_met(view.score[..., 0])

    def answer(self, encoded: Array, exact: bool, reason: str) -> Counterfactual:
        after, view = self._look(encoded)
        inputs, score = self.view.mixture.inputs, view.score[..., 0]
        step = inputs.standardize(view.encoded) - inputs.standardize(self.view.encoded)
        return Counterfactual(
            found=True,
            exact=exact,
            reason=reason,
            after=after,
            distance=float(np.linalg.norm(step)),
            prediction_after=self.goal.answer(score),
            score_after=self.goal.show(score),
            **self._about(),
        )

    def refuse(self, reason: str, exact: bool = False) -> Counterfactual:
        return Counterfactual(
            found=False,
            exact=exact,
            reason=reason,
            after={},
            distance=None,
            prediction_after=None,
            score_after=None,
            **self._about(),
        )

    def _about(self) -> dict[str, Any]:
        score = self.view.score[..., 0]
        return {
            "region": self.view.mixture.region_name(self.used),
            "before": self.before,
            "prediction_before": self.goal.answer(score),
            "score_before": self.goal.show(score),
            "wanted": self.goal.wanted,
            "note": self.subject.note,
            "scope": _SCOPE if self.view.mixture.n_localities else "",
        }

    def _look(self, encoded: Array) -> tuple[dict[str, Any], View]:
        """An encoded row as the user reads it, and what the model answers for that."""
        mixture, inputs = self.view.mixture, self.view.mixture.inputs
        start = inputs.fill_in(self.view.encoded)[0]
        after = _decode(self.subject.groups, encoded, start, self.before)
        if self.subject.steps is not None:
            return after, mixture.view(encoded[None])
        values = np.array([list(after.values())], dtype=object)
        # a category that fit did not see has been reported, or refused, by now
        again = inputs.columns.encode(values, "x", inputs.typical, "ignore")
        return after, mixture.view(again)


def _missing(groups: tuple[Group, ...], before: dict[str, Any]) -> list[Group]:
    """The columns in which a row has no value."""
    holes = is_missing(np.array([before[group.name] for group in groups], dtype=object))
    return [group for group, hole in zip(groups, holes, strict=True) if hole]


def _decode(
    groups: tuple[Group, ...], encoded: Array, start: Array, before: dict[str, Any]
) -> dict[str, Any]:
    """The user's values of an encoded row; what did not change is left as it was."""
    after = decode(groups, encoded)
    for group in groups:
        part, old, value = encoded[group.columns], start[group.columns], before[group.name]
        if np.all(np.abs(part - old) <= 1e-12 * np.maximum(1.0, np.abs(old))):
            after[group.name] = value
        elif group.levels is None and isinstance(value, bool):
            after[group.name] = bool(after[group.name])
        elif group.levels is None and isinstance(value, int) and part[0].is_integer():
            after[group.name] = int(part[0])
    return after
