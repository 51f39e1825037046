"""The smallest change that alters the answer, within the locality that gave it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .._typing import Array
from ..inputs import Group
from ..mixture import View, mixture_of
from ..tables import html_table, item, number, one_row, plain, table_of, values_of
from ._limits import Goal, Limits
from ._search import Found, Search

__all__ = ["Counterfactual", "counterfactual"]


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """A changed row for which the model gives another answer, or why there is none. Made by
    `counterfactual`.

    Attributes
    ----------
    found : bool
    exact : bool
        Whether it is proved that no nearer row, or none at all, has the answer.
    reason : str
        Why there is none.
    region : str
        Where the model used applies: "locality 0" and so on, or "exterior".
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
    >>> change = counterfactual(model, [-1.4, 0.1], fixed=["x0"])
    >>> list(change.changes), change.prediction_before, change.prediction_after
    (['x1'], 1.0, -1.0)
    >>> print(counterfactual(model, [-1.4, 0.1], fixed=["x0", "x1"]))
    no counterfactual: no row in locality 0 within the given limits has that answer
    """

    found: bool
    exact: bool  # whether it is proved that no nearer row, or none at all, has the answer
    reason: str  # why there is none
    region: str  # where the model used applies
    before: dict[str, Any]
    after: dict[str, Any]  # empty where none was found
    distance: float | None  # between the two rows, standardized
    prediction_before: Any
    prediction_after: Any
    score_before: Any  # float, or dict of float by label
    score_after: Any
    wanted: Any

    @property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        """The features that change: from what, to what."""
        return {
            name: (self.before[name], value)
            for name, value in self.after.items()
            if value != self.before[name]
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
        if not self.found:
            return f"no counterfactual: {self.reason}"
        pairs = [
            (name, number(before, 8), number(after, 8))
            for name, (before, after) in self.changes.items()
        ]
        changes = ", ".join(f"{name} from {a} to {b}" for name, a, b in pairs if a != b)
        answers = f"{number(self.prediction_before)} becomes {number(self.prediction_after)}"
        return f"{answers} in {self.region} with {changes or 'no change'}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>{html_table(self._rows())}"


def counterfactual(
    model: Any,
    x: Any,
    *,
    target: Any = None,
    fixed: Iterable[str] = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    integer: Iterable[str] = (),
    max_categories: int = 2,
) -> Counterfactual:
    """The smallest change of a row, in standardized units, by which the same local model gives
    another answer.

    Without bounds, whole numbers and categories it is a projection, in closed form for a ball;
    bounds, and localities that weigh the columns, add a search for one number, whole numbers add
    branches, and categories trials of all changes of a few of them. One of three classes or more is
    answered between several planes, and the nearest point there is found by adding them one by one.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
    x : one row, as a table of one row, a mapping of column names to values, or a sequence
    target : default=None
        The label that is wanted (None: the other one, or whichever of several others is nearest);
        for a regressor the prediction that is wanted, in the units of y, which must be given.
    fixed : names of columns
        That must stay as they are.
    bounds : mapping of column to (lowest, highest), default=None
    integer : names of columns
        That hold whole numbers.
    max_categories : int, default=2
        How many columns of categories may change at once.

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
    >>> change.after["x1"] < change.before["x1"]
    True
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
    mixture = mixture_of(model)
    row = one_row(mixture, x)
    view = mixture.view(mixture.encode(row))
    before = {name: item(column[0]) for name, column in values_of(mixture, row).items()}
    limits = Limits.of(mixture.inputs.groups, before, fixed, bounds, integer, max_categories)
    goal = Goal.of(mixture.target, target, view.score[..., 0])
    question = _Question(view, before, goal)
    hindrance = question.hindrance()
    if hindrance is not None:
        return hindrance
    start = np.asarray(view.encoded[0], dtype=float)
    searches = [
        Search.of(mixture, start, question.used, conditions, limits, question.is_answered)
        for conditions in goal.conditions()
    ]
    found = Found()
    for search in sorted(searches, key=lambda one: one.gap):
        found = search.best(found)
    if found.row is not None:
        return question.answer(found.row, found.exact)
    within = " within the given limits" if limits.given else ""
    where = f"in {mixture.region_name(question.used)}{within}"
    if found.exact:
        return question.refuse(f"no row {where} has {goal.what}", exact=True)
    why = "the search was stopped at its limit"
    if found.elsewhere:
        why = f"the nearest rows with {goal.what} lie where another model is used"
    return question.refuse(f"none was found {where} ({why})")


@dataclass(frozen=True, eq=False)
class _Question:
    """A row, and the answer that is wanted of the model used for it."""

    view: View  # of the row
    before: dict[str, Any]
    goal: Goal

    @property
    def used(self) -> int:
        return int(self.view.used[0])

    def hindrance(self) -> Counterfactual | None:
        """The result where no search is needed, or none is possible; None where one is."""
        mixture = self.view.mixture
        if not self.goal.possible:
            return self.refuse(
                f"no score gives the answer {number(self.goal.wanted, 8)}", exact=True
            )
        if self.goal.is_met(self.view.score[..., 0]):
            return self.refuse("the model gives that answer already", exact=True)
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

    def answer(self, encoded: Array, exact: bool) -> Counterfactual:
        after, view = self._look(encoded)
        inputs, score = self.view.mixture.inputs, view.score[..., 0]
        step = inputs.standardize(view.encoded) - inputs.standardize(self.view.encoded)
        return Counterfactual(
            found=True,
            exact=exact,
            reason="",
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
        }

    def _look(self, encoded: Array) -> tuple[dict[str, Any], View]:
        """An encoded row as the user reads it, and what the model answers for that."""
        mixture, inputs = self.view.mixture, self.view.mixture.inputs
        after = _decode(inputs.groups, encoded, self.view.encoded[0], self.before)
        values = np.array([list(after.values())], dtype=object)
        # a category that fit did not see has been reported, or refused, by now
        again = inputs.columns.encode(values, "x", inputs.typical, "ignore")
        return after, mixture.view(again)


def _decode(
    groups: tuple[Group, ...], encoded: Array, start: Array, before: dict[str, Any]
) -> dict[str, Any]:
    """The user's values of an encoded row; what did not change is left as it was."""
    after: dict[str, Any] = {}
    for group in groups:
        part, old, value = encoded[group.columns], start[group.columns], before[group.name]
        if np.all(np.abs(part - old) <= 1e-12 * np.maximum(1.0, np.abs(old))):
            after[group.name] = value
        elif group.levels is None:
            after[group.name] = bool(part[0]) if isinstance(value, bool) else float(part[0])
        else:
            hot = np.flatnonzero(part == 1.0)
            after[group.name] = group.levels[int(hot[0]) + 1] if len(hot) else group.levels[0]
    return after
