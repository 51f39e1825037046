"""Pipelines of scikit-learn that end in a motlm estimator, in the columns that people know.

A step that shifts and scales a column changes its units alone: the mixture is written in those of
the table. Indicators of the levels of a category are known as such. What other steps make is told
by the names that reach the estimator.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from ._typing import AnyArray, Array
from .bends import Bends
from .errors import InputError, InputTypeError, ModelFileError, UnknownCategoryError
from .frames import columns_of, is_frame, is_missing
from .inputs import Columns
from .mixture import Mixture, mixture_of
from .summaries import Summary

__all__ = [
    "OPERATIONS",
    "Group",
    "Known",
    "LevelSet",
    "Levels",
    "Made",
    "Prepared",
    "Subject",
    "prepare",
    "subject_of",
]

_ARITHMETIC: dict[str, Callable[[Array, float], Array]] = {
    "subtract": np.subtract,
    "divide": np.divide,
    "multiply": np.multiply,
    "add": np.add,
}
OPERATIONS = ("fill", "is", *_ARITHMETIC)
_KEPT = (
    *("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "SimpleImputer"),
    *("OneHotEncoder", "ColumnTransformer"),
)
_STRAIGHT = ("PCA", "TruncatedSVD", "IncrementalPCA", "FactorAnalysis", "FastICA")
_AWAY = (-10.0, -1.0, 0.0, 1.0, 10.0)  # from the mean of a column, in its deviations
_NAMED = 5  # columns in a sentence
_LISTED = 20  # names in a message
_WHOLE = 1e-9  # relative, from a whole number, after a column was scaled back


@dataclass(frozen=True)
class Made:
    """A column that reaches the estimator: scale * x + shift for a number x of the table, or the
    same of an indicator that is 1 for a level; else of another form.
    """

    name: str
    source: int | None  # the one column of the table that it is made from; None for several
    # what is done to that, in order: (one of OPERATIONS, value); None for another form
    chain: tuple[tuple[str, Any], ...] | None = ()
    maker: str = ""  # of another form: the kind of step that makes it
    sources: frozenset[int] | None = None  # all columns that it is made from; None: `source` alone
    block: str = ""  # of columns that one step makes from the same ones, and that change freely
    hole: bool = False  # whether it tells that a value was missing, which stays so

    @property
    def origins(self) -> frozenset[int]:
        """The columns of the table that it is made from."""
        if self.sources is not None:
            return self.sources
        return frozenset() if self.source is None else frozenset([self.source])

    def is_free_of(self, other: Made) -> bool:
        """Whether each can change while the other stays."""
        if self.block and self.block == other.block:
            return True
        return other.hole or not self.origins & other.origins

    @property
    def scale(self) -> float | None:
        """None for another form."""
        return None if self.chain is None else self._line[0]

    @property
    def shift(self) -> float:
        return self._line[1]

    @property
    def indicates(self) -> bool:
        return any(name == "is" for name, _ in self.chain or ())

    @property
    def level(self) -> Any:
        """That it indicates."""
        return next((value for name, value in self.chain or () if name == "is"), None)

    @property
    def fill(self) -> Any:
        """What it has in place of missing values; None where they stay."""
        return next((value for name, value in self.chain or () if name == "fill"), None)

    @property
    def _line(self) -> tuple[float, float]:
        scale, shift = 1.0, 0.0
        for name, value in self.chain or ():
            if name in ("subtract", "add"):
                shift += value if name == "add" else -value
            elif name in ("divide", "multiply"):
                factor = value if name == "multiply" else 1.0 / value
                scale, shift = scale * factor, shift * factor
        return scale, shift

    def then(self, name: str, value: Any) -> Made:
        """With one more operation."""
        return self if self.chain is None else replace(self, chain=(*self.chain, (name, value)))

    def apply(self, column: AnyArray) -> AnyArray:
        """To the column of the table."""
        found: Any = column
        for name, value in self.chain or ():
            if name == "fill":
                gone = is_missing(np.asarray(found, dtype=object))
                found = np.where(gone, value, found)
            elif name == "is":
                found = _is_level(found, value).astype(float)
            else:
                found = _ARITHMETIC[name](np.asarray(found, dtype=float), value)
        return np.asarray(found)


@dataclass(frozen=True, eq=False)
class LevelSet:
    """A category of the table that a step encodes in columns of 0 and 1."""

    name: str
    columns: AnyArray  # encoded
    levels: tuple[Any, ...]
    codes: Array  # (n_levels, n_columns)


def same_level(one: Any, other: Any) -> bool:
    """Whether two levels are the same; nan is one level, and None another."""
    if one is None or other is None:
        return one is other
    gone = is_missing(np.array([one, other], dtype=object))
    return bool(gone.all()) if gone.any() else bool(one == other)


def _is_level(values: AnyArray, level: Any) -> Any:
    listed = np.asarray(values, dtype=object)
    if level is None or bool(is_missing(np.array([level], dtype=object))[0]):
        return np.array([same_level(one, level) for one in listed.tolist()], dtype=bool)
    gone = is_missing(listed)
    known = listed.copy()
    known[gone] = None  # pandas.NA is not equal to anything, nor unequal
    return np.asarray(known == level, dtype=bool)


Group = Any  # of the table's columns: `inputs.Group`, or a `LevelSet`


@dataclass(frozen=True, eq=False)
class Subject:
    """A model that is explained, in the columns that people know.

    Attributes
    ----------
    mixture : Mixture
        In these columns and their units.
    own : Mixture
        As it was fitted.
    steps : Pipeline or None
        What happens to a table before; None for an estimator by itself.
    names : tuple of str
        Of the columns of the table, where there are steps.
    made : tuple of Made
        The columns that reach the estimator.
    """

    mixture: Mixture
    own: Mixture
    steps: Any = None
    names: tuple[str, ...] = ()
    made: tuple[Made, ...] = ()

    @property
    def note(self) -> str:
        """Of columns that are not the table's own; empty where there are none."""
        if self.steps is None:
            return ""
        strange = [one.name for one in self.made if one.scale is None]
        if not strange:
            return ""
        shown = ", ".join(strange[:_NAMED]) + (", .." if len(strange) > _NAMED else "")
        own = len(strange) == 1
        return (
            f"The column{'' if own else 's'} {shown} {'is' if own else 'are'} as the steps of the"
            f" pipeline make {'it' if own else 'them'}, not {'a column' if own else 'columns'} of"
            " the table."
        )

    @property
    def long_note(self) -> str:
        """The same, and of indicators, where a whole model is told."""
        found = [one.name for one in self.made if one.indicates]
        if not found:
            return self.note
        shown = ", ".join(found[:_NAMED]) + (", .." if len(found) > _NAMED else "")
        text = f"A column such as {shown} is 1 for that level and 0 for others."
        return f"{text} {self.note}".strip()

    @property
    def bound(self) -> tuple[str, ...]:
        """Columns of the mixture that cannot change by themselves."""
        indicators = [one.name for one in self.made if one.indicates]
        return tuple(dict.fromkeys((*indicators, *self.tied)))

    @property
    def traced(self) -> bool:
        """Whether each column is made from one of the table's, to which it contributes."""
        known = all(one.source is not None for one in self.made)
        return self.steps is not None and known and not self.mixture.inputs.joint

    @property
    def stand_ins(self) -> dict[str, Any]:
        """What steps put in place of missing values, by the names of the table's columns."""
        fills = ((one.source, one.fill) for one in self.made if one.source is not None)
        return {self.names[j]: value for j, value in fills if value is not None}

    def given(self, X: Any) -> Any:
        """A row by itself, or rows, as a table that the steps take."""
        if self.steps is None or is_frame(X):
            return X
        if isinstance(X, Mapping):
            absent = [name for name in self.names if name not in X]
            if absent:
                raise InputError(
                    f"the row has no value for {absent[0]!r}; the columns are"
                    f" {', '.join(map(repr, self.names[:_LISTED]))}."
                )
            X = [X[name] for name in self.names]
        rows = np.array(X, dtype=object)
        rows = rows[None] if rows.ndim == 1 else rows
        rows = self._mark_missing(rows)
        if not _has_text(rows):
            rows = rows.astype(float)
        if not hasattr(self.steps, "feature_names_in_"):
            return rows
        import pandas  # it was fitted on a table

        frame = pandas.DataFrame(rows, columns=list(self.names))
        found = frame.infer_objects()
        # a category that is missing is no number
        for j in _levels_of(self.steps, self.names, ("OneHotEncoder", "OrdinalEncoder")):
            if is_missing(rows[:, j]).all():
                found[self.names[j]] = frame[self.names[j]].astype(object)
        return found

    def _mark_missing(self, rows: AnyArray) -> AnyArray:
        """With nan for missing values, but for None where that is a level."""
        if rows.ndim != 2 or rows.shape[1] != len(self.names):
            raise InputError(
                f"a row has {len(self.names)} values,"
                f" {', '.join(map(repr, self.names[:_LISTED]))}; got an array of shape"
                f" {np.shape(rows)}."
            )
        rows, levels = rows.copy(), _levels_of(self.steps, self.names)
        for j in range(rows.shape[1]):
            holes = is_missing(rows[:, j])
            if j in levels and any(one is None for one in levels[j].every):
                holes &= np.array([one is not None for one in rows[:, j]])
            rows[holes, j] = np.nan
        return rows

    def own_table(self, X: Any) -> Any:
        """Rows as they reach the estimator."""
        if self.steps is None:
            return X
        rows = self.steps.transform(X)
        return rows.toarray() if hasattr(rows, "toarray") else rows

    def values(self, X: Any) -> dict[str, AnyArray]:
        """The columns of the table by name."""
        return columns_by_name(X, self.names)

    def table(self, X: Any) -> Any:
        """Rows as the mixture takes them; numbers that the table has keep their digits."""
        if self.steps is None:
            return X
        given, columns = self.values(X), columns_of(self.own_table(X))
        found: list[Any] = []
        for one, column in zip(self.made, columns, strict=True):
            if one.scale is None or (one._line == (1.0, 0.0) and not one.indicates):
                found.append(np.asarray(column))
                continue
            back = (np.asarray(column, dtype=float) - one.shift) / one.scale
            if one.indicates:
                back = np.rint(back)
            elif one.source is not None:
                back = _prefer(given[self.names[one.source]], back)
            found.append(back)
        if not self.mixture.inputs.columns.has_text:
            return np.column_stack([np.asarray(one, dtype=float) for one in found])
        import pandas  # the estimator was fitted on a table

        names = self.mixture.inputs.columns.names
        return pandas.DataFrame(dict(zip(names, found, strict=True)))

    @property
    def groups(self) -> tuple[Group, ...]:
        """The columns that may change one by one: indicators of a category belong together."""
        plain = self.mixture.inputs.groups
        if self.steps is None:
            return plain
        found: list[Group] = []
        for k, group in enumerate(plain):
            one = self.made[k]
            if not one.indicates:
                found.append(group)
            elif all(other.source != one.source or not other.indicates for other in self.made[:k]):
                found.append(self._level_set(one))
        return tuple(found)

    def _level_set(self, first: Made) -> LevelSet:
        own = [k for k, one in enumerate(self.made) if one.indicates and one.source == first.source]
        groups = self.mixture.inputs.groups
        columns = np.array([groups[k].columns.start for k in own])
        assert first.source is not None
        levels = _levels_of(self.steps, self.names)[first.source].every
        known = [self.made[k].level for k in own]
        codes = np.array([[float(same_level(level, one)) for one in known] for level in levels])
        return LevelSet(self.names[first.source], columns, levels, codes)

    @property
    def tied(self) -> tuple[str, ...]:
        """Columns that cannot change by themselves, since others are made from the same ones, or
        since they tell that a value was missing.
        """
        return tuple(one.name for k, one in enumerate(self.made) if self._is_tied(k))

    def _is_tied(self, k: int) -> bool:
        """Indicators of the levels of one category belong together."""
        one = self.made[k]
        return one.hole or not all(
            one.is_free_of(other)
            or (one.indicates and other.indicates and one.source == other.source)
            for j, other in enumerate(self.made)
            if j != k
        )

    @property
    def held(self) -> tuple[str, ...]:
        """The names of the groups that cannot change by themselves."""
        tied = set(self.tied)
        found = []
        for group in self.groups if self.steps is not None else ():
            parts = [one.name for one in self._made_of(group)]
            if tied.intersection(parts):
                found.append(group.name)
        return tuple(found)

    def made_from(self, names: Sequence[str]) -> tuple[str, ...]:
        """The groups that are made from these columns of the table, and those that have the names
        themselves; names that are neither stay.
        """
        if self.steps is None:
            return tuple(names)
        groups, found = self.groups, []
        own = {group.name for group in groups}
        for name in names:
            if name not in self.names:
                found.append(name)
                continue
            j = self.names.index(name)
            found += [name] if name in own else []
            found += [g.name for g in groups if any(j in m.origins for m in self._made_of(g))]
        return tuple(dict.fromkeys(found))

    def _made_of(self, group: Group) -> list[Made]:
        if isinstance(group, LevelSet):
            return [
                one
                for one in self.made
                if one.indicates and one.source is not None and self.names[one.source] == group.name
            ]
        return [self.made[self.mixture.inputs.columns.names.index(group.name)]]

    def gather(self, parts: Array) -> Array:
        """(.., n_columns of the table): what they contribute, from what the mixture's do."""
        found = np.zeros((*parts.shape[:-1], len(self.names)))
        for k, one in enumerate(self.made):
            assert one.source is not None
            found[..., one.source] += parts[..., k]
        return found

    def known(self, group: Group) -> bool:
        """Whether a column is one of the table."""
        if self.steps is None or isinstance(group, LevelSet):
            return True
        names = self.mixture.inputs.columns.names
        return self.made[names.index(group.name)].scale is not None


@dataclass(frozen=True)
class Levels:
    """Of a category that is encoded by indicators."""

    every: tuple[Any, ...]
    strict: bool  # whether others are an error; else they have no indicator


@dataclass(frozen=True)
class Known:
    """What a file of a pipeline holds of the training rows in the units of the table."""

    whole: tuple[int, ...]  # which of the columns that it makes hold whole numbers alone
    medians: tuple[tuple[float, ...], ...]  # of each model; of each column that it makes


class Prepared(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The steps of a pipeline from a file: each column is computed from one of the table's.

    Parameters
    ----------
    names : tuple of str
        Of the columns of the table.
    named : bool
        Whether tables have these names.
    columns : tuple of Made
        What it makes.
    levels : dict of Levels
        Of the categories among the columns of the table, by their places.
    frame : bool
        Whether it makes a table with names.
    known : Known or None
        Of the training rows, in the units of the table.
    """

    def __init__(
        self,
        names: tuple[str, ...] = (),
        named: bool = False,
        columns: tuple[Made, ...] = (),
        levels: Mapping[int, Levels] | None = None,
        frame: bool = False,
        known: Known | None = None,
    ) -> None:
        self.names = names
        self.named = named
        self.columns = columns
        self.levels = {} if levels is None else levels
        self.frame = frame
        self.known = known

    @property
    def n_features_in_(self) -> int:
        return len(self.names)

    @property
    def feature_names_in_(self) -> AnyArray:
        if not self.named:
            raise AttributeError("the table had no names of columns")
        return np.array(self.names, dtype=object)

    def fit(self, X: Any, y: Any = None) -> Prepared:
        """It is fitted already.

        Parameters
        ----------
        X, y : ignored

        Returns
        -------
        self
        """
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """The names of the columns that it makes.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        return np.array([one.name for one in self.columns], dtype=object)

    def transform(self, X: Any) -> Any:
        """The columns that the estimator takes.

        Parameters
        ----------
        X : table

        Returns
        -------
        ndarray or table
        """
        given = list(columns_by_name(X, self.names).values())
        for place, levels in self.levels.items():
            self._check_levels(given, place, levels)
        found = [one.apply(given[int(one.source or 0)]) for one in self.columns]
        if not self.frame:
            return np.column_stack([np.asarray(one, dtype=float) for one in found])
        import pandas  # the estimator was fitted on a table

        pairs = zip(self.columns, found, strict=True)
        return pandas.DataFrame({made.name: one for made, one in pairs}).infer_objects()

    def _check_levels(self, given: list[AnyArray], place: int, levels: Levels) -> None:
        made = next(one for one in self.columns if one.source == place)
        fills = tuple(one for one in made.chain or () if one[0] == "fill")
        values = replace(made, chain=fills).apply(given[place])
        strange = [
            one
            for one in values.tolist()
            if not any(same_level(one, level) for level in levels.every)
        ]
        if strange and levels.strict:
            raise UnknownCategoryError(
                f"column {self.names[place]!r} has categories that fit did not see: {strange[0]!r}."
            )


def columns_by_name(X: Any, names: tuple[str, ...]) -> dict[str, AnyArray]:
    """The columns of a table, which may have more where they have names."""
    if is_frame(X):
        columns = [X[name] for name in names] if _has_names(X, names) else columns_of(X)
    else:
        columns = columns_of(np.asarray(X))
    return {name: np.asarray(one, dtype=object) for name, one in zip(names, columns, strict=True)}


def prepare(pipeline: Pipeline) -> Prepared:
    """The steps before the last of a fitted pipeline, as a file can hold them."""
    subject = subject_of(pipeline)
    steps, own = subject.steps, subject.own.inputs
    made = _confirm(steps, subject.names, subject.own)
    for one in made:
        if one.chain is None or one.source is None:
            raise ModelFileError(
                f"a file cannot hold the {f'step {one.maker}' if one.maker else 'steps'} of this"
                f" pipeline that make{'s' if one.maker else ''} the column"
                f" {one.name!r}.",
                f"Files hold {', '.join(_KEPT)}, and selections of columns; pickle the pipeline, or"
                " save its last step alone.",
            )
    named = own.reading.named or own.columns.has_text
    columns = [replace(one, name=name) for one, name in zip(made, own.columns.names, strict=True)]
    return Prepared(
        subject.names,
        hasattr(steps, "feature_names_in_"),
        tuple(columns if named else made),
        _levels_of(steps, subject.names),
        named,
        _known(subject),
    )


def _known(subject: Subject) -> Known | None:
    """What a file is to hold of the training rows, but for what the estimator's own part has."""
    summary = _rewrite(subject.own, subject.made, _known_of(subject.steps)).provenance.summary
    if summary is None:
        return None
    groups = subject.own.inputs.groups
    starts = [group.columns.start for group in groups]
    whole = [
        k
        for k, group in enumerate(groups)
        if group.levels is None and summary.whole[group.columns.start]
    ]
    rows = np.where(np.isfinite(summary.medians), summary.medians, 0.0)[:, starts]
    return Known(tuple(whole), tuple(map(tuple, rows.tolist())))


def _known_of(steps: Any) -> Known | None:
    last = steps.steps[-1][1] if isinstance(steps, Pipeline) and steps.steps else steps
    return last.known if isinstance(last, Prepared) else None


def subject_of(model: Any) -> Subject:
    """A fitted estimator, its mixture, or a pipeline that ends in one, to be explained.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.datasets import make_reg_case1
    >>> from motlm.pipelines import subject_of
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> model = LocalMixtureRegressor(points_of_interest=[[0.0]], n_starts=1, random_state=0)
    >>> subject = subject_of(make_pipeline(StandardScaler(), model).fit(X, y))
    >>> rows = subject.table(X[:5])
    >>> bool((rows == X[:5]).all()), subject.note
    (True, '')
    >>> gap = subject.mixture.predict(rows) - model.predict(subject.own_table(X[:5]))
    >>> bool(abs(gap).max() < 1e-9)
    True
    """
    if not isinstance(model, Pipeline):
        mixture = mixture_of(model)
        return Subject(mixture, mixture)
    own = mixture_of(model[-1])
    if len(model.steps) == 1:
        return Subject(own, own)
    steps = model[:-1]
    names = _names_of(steps)
    made = _confirm(steps, names, own)
    columns = own.inputs.columns
    if len(made) != len(columns.names):
        raise InputTypeError(
            f"the steps of the pipeline make {len(made)} columns, and its estimator was fitted on"
            f" {len(columns.names)}; fit the pipeline as a whole."
        )
    settled = _settle(made, columns, names, own.inputs.reading.named)
    mixture = _rewrite(own, settled, _known_of(steps))
    subject = Subject(mixture, own, steps, names, settled)
    return replace(subject, mixture=_possible_medians(subject))


def _possible_medians(subject: Subject) -> Mixture:
    """The mixture with median rows that a table can have: of a category the level that most of a
    model's rows have; where none has more than half of them, the most frequent one of training.
    """
    mixture = subject.mixture
    summary = mixture.provenance.summary
    sets = [group for group in subject.groups if isinstance(group, LevelSet)]
    if summary is None or not sets:
        return mixture
    medians = summary.medians.copy()
    for group in sets:
        shares = mixture.inputs.typical[group.columns]
        without = (group.codes == 0.0).all(axis=1)  # a level without an indicator has the rest
        if without.any() and len(group.levels) == 2:
            continue  # it has the half that the other has not
        counts = np.where(without, 1.0 - shares.sum(), group.codes @ shares)
        none = (medians[:, group.columns] == 0.0).all(axis=1)
        medians[np.ix_(none, group.columns)] = group.codes[int(np.argmax(counts))]
    provenance = replace(mixture.provenance, summary=replace(summary, medians=medians))
    return replace(mixture, provenance=provenance)


def _names_of(steps: Any) -> tuple[str, ...]:
    if hasattr(steps, "feature_names_in_"):
        return tuple(map(str, steps.feature_names_in_))
    return tuple(f"x{j}" for j in range(int(steps.n_features_in_)))


def _settle(
    made: Sequence[Made], columns: Columns, names: tuple[str, ...], named: bool
) -> tuple[Made, ...]:
    """With the names that people read: of the table where a column is one of it. A second column
    from the same one, and a scaled one that the estimator takes for a category, keep their own
    names, which the steps give where the estimator has none.
    """
    found: list[Made] = []
    for one, own, levels in zip(made, columns.names, columns.levels, strict=True):
        plain = (one.scale, one.shift) == (1.0, 0.0)
        usable = one.scale is not None and one.scale > 0 and one.source is not None
        if levels is not None:
            usable = usable and plain and not one.indicates
        name = own if named or any(one.name == other.name for other in found) else one.name
        if usable and one.source is not None:
            name = names[one.source] + (f"={one.level}" if one.indicates else "")
            usable = all(name != other.name for other in found)
        if usable:
            found.append(replace(one, name=name))
        else:
            taken = any(name == other.name for other in found)
            name = own if taken else name
            if name in names and one.maker:  # the table's column has other numbers
                name = f"{one.maker} of {name}"
            found.append(replace(one, name=name, chain=None))
    return tuple(found)


def _rewrite(mixture: Mixture, made: tuple[Made, ...], known: Known | None = None) -> Mixture:
    """The same model in the units of the table: x = (u - shift) / scale."""
    inputs = mixture.inputs
    scale, shift = np.ones(len(inputs.names)), np.zeros(len(inputs.names))
    for one, group in zip(made, inputs.groups, strict=True):
        if one.scale is not None and group.levels is None:
            scale[group.values], shift[group.values] = one.scale, one.shift

    def back(values: Any) -> Any:
        return (values - shift) / scale

    units = replace(
        inputs.units,
        center=back(inputs.units.center),
        inverse_scale=inputs.units.inverse_scale * scale,
    )
    names = tuple(one.name for one in made)
    holes = (
        name
        for name, own in zip(names, inputs.columns.names, strict=True)
        if own in inputs.columns.incomplete
    )
    columns = replace(inputs.columns, names=names, incomplete=frozenset(holes))
    labels = columns.names if columns.has_text else None
    reading = replace(inputs.reading, columns=columns, labels=labels, named=labels is not None)
    bends = inputs.bends
    if bends is not None:
        each = [
            replace(one, knots=(one.knots - shift[one.column]) / scale[one.column])
            for one in bends.each
        ]
        bends = Bends(tuple(each))
    made_of = inputs.made
    if made_of is not None:  # it sees standard units
        center, factor = back(made_of.center), made_of.factor * scale
        made_of = replace(made_of, center=center, factor=factor)
    moved = replace(
        inputs,
        reading=reading,
        units=units,
        typical=back(inputs.typical),
        bends=bends,
        made=made_of,
        fill=None if inputs.fill is None else back(inputs.fill),
    )
    summary = mixture.provenance.summary
    if summary is not None:
        summary = _move(summary, scale, shift, inputs.columns, known)
    return replace(
        mixture,
        inputs=moved,
        geometry=_move_geometry(mixture.geometry, back, summary, len(scale)),
        provenance=replace(mixture.provenance, summary=summary),
    )


def _move(
    summary: Summary, scale: Array, shift: Array, columns: Columns, known: Known | None
) -> Summary:
    """In the units of the table, with what a file of the pipeline holds of these."""
    if known is None:
        return summary.rescale(scale, shift)
    numbers = [k for k, group in enumerate(columns.groups) if group.levels is None]
    starts = [columns.groups[k].columns.start for k in numbers]
    whole = summary.whole.copy()
    whole[starts] = np.isin(numbers, known.whole)
    moved = summary.rescale(scale, shift, whole)
    medians = moved.medians.copy()
    own = np.array(known.medians, dtype=float)
    medians[:, starts] = own[:, numbers]
    medians = np.clip(medians, moved.low, moved.high)
    return replace(moved, medians=medians, exact=None)


def _move_geometry(
    geometry: Any, back: Callable[[Any], Any], summary: Summary | None, n_encoded: int
) -> Any:
    """What it has in the user's units."""
    changes = {}
    for name in ("given", "low", "high"):
        value = getattr(geometry, name, None)
        if value is not None and np.shape(value)[-1:] == (n_encoded,):
            changes[name] = back(value)
    if getattr(geometry, "whole", None) is not None and "low" in changes:
        ends = np.array([changes["low"], changes["high"]])
        near = (np.abs(ends - np.rint(ends)) <= _WHOLE * (1.0 + np.abs(ends))).all(axis=0)
        changes["whole"] = near if summary is None else near & summary.whole
        for name in ("low", "high"):
            changes[name] = np.where(changes["whole"], np.rint(changes[name]), changes[name])
    return replace(geometry, **changes) if changes else geometry


# -- what steps make -------------------------------------------------------------------------------


def _confirm(steps: Any, names: tuple[str, ...], own: Mixture) -> list[Made]:
    """The columns that steps make; of another form where the steps themselves make others of rows
    that are like those of training, and of rows far from them.
    """
    made = trace(steps, [Made(name, j) for j, name in enumerate(names)])
    if len(made) != len(own.inputs.groups) or _known_of(steps) is not None:
        return made
    subject = Subject(own, own, steps, names)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            X = subject.given(_probes(steps, names, made, own))
            given, found = list(subject.values(X).values()), columns_of(subject.own_table(X))
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, ArithmeticError):
        return made  # rows that some step refuses, as of a form that is not known
    if len(found) != len(made):
        return made
    kind = type(steps.steps[-1][1] if isinstance(steps, Pipeline) else steps).__name__
    confirmed = []
    for one, column in zip(made, found, strict=True):
        known = one.chain is not None and one.source is not None
        if known and not _are_same(one.apply(given[int(one.source or 0)]), column):
            one = replace(one, chain=None, maker=kind)
        confirmed.append(one)
    return confirmed


def _probes(steps: Any, names: tuple[str, ...], made: Sequence[Made], own: Mixture) -> AnyArray:
    """Rows of a table: numbers around those of training and far from them, each level of a
    category, and values that are missing where steps fill them.
    """
    levels = _levels_of(steps, names, ("OneHotEncoder", "OrdinalEncoder"))
    values: dict[int, list[Any]] = {j: list(one.every) for j, one in levels.items()}
    units = own.inputs.units
    for one, group in zip(made, own.inputs.groups, strict=True):
        if one.source is None or one.chain is None or one.indicates or one.source in levels:
            continue
        if group.levels is None:
            j = group.columns.start
            width = 1.0 / units.inverse_scale[j] if units.inverse_scale[j] > 0 else 1.0
            there = units.center[j] + width * np.array(_AWAY)
            known = ((there - one.shift) / one.scale).tolist()
        else:
            known = [level for level in group.levels if level is not None]
        values.setdefault(one.source, known)
    for one in made:
        if one.source in values and one.fill is not None:
            values[one.source] = [*values[one.source], np.nan]
    n = max(map(len, values.values()), default=1)
    rows = np.zeros((n, len(names)), dtype=object)
    for place, known in values.items():
        for i in range(n if known else 0):
            rows[i, place] = known[i % len(known)]
    return rows


def _are_same(made: AnyArray, column: Any) -> bool:
    own = np.asarray(column)
    try:
        first, second = np.asarray(made, dtype=float), np.asarray(own, dtype=float)
    except (TypeError, ValueError):
        pairs = zip(made.tolist(), own.tolist(), strict=True)
        return all(same_level(one, other) for one, other in pairs)
    return bool(np.allclose(first, second, rtol=_WHOLE, atol=_WHOLE, equal_nan=True))


def trace(step: Any, columns: Sequence[Made]) -> list[Made]:
    """The columns that a fitted step makes from these; a step that is not known mixes them."""
    if step is None or isinstance(step, str):  # passthrough
        return list(columns)
    if isinstance(step, Pipeline):
        for _, one in step.steps:
            columns = trace(one, columns)
        return list(columns)
    if isinstance(step, Prepared):
        return list(step.columns)
    if hasattr(step, "get_support") and hasattr(step, "inverse_transform"):
        return [one for one, kept in zip(columns, step.get_support(), strict=True) if kept]
    ours = type(step).__module__.startswith(("sklearn.", "motlm."))
    known = _KNOWN.get(type(step).__name__) if ours else None
    clips = getattr(step, "clip", False)  # numbers beyond the training rows
    found = None if known is None or clips else known(step, columns)
    return _mixed(step, columns) if found is None else found


def _mixed(step: Any, columns: Sequence[Made]) -> list[Made]:
    """What another step makes, by its own names."""
    try:
        names = list(step.get_feature_names_out([one.name for one in columns]))
    except (AttributeError, ValueError, TypeError):
        n = getattr(step, "n_components_", None) or len(columns)
        names = [f"{type(step).__name__.lower()}{j}" for j in range(int(n))]
    kind = type(step).__name__
    origins = frozenset[int]().union(*(one.origins for one in columns))
    source = next(iter(origins)) if len(origins) == 1 else None
    # as many straight combinations, or fewer, can be given any values
    free = kind in _STRAIGHT and len(names) <= len(columns) and _are_apart(columns)
    block = f"{kind} of {', '.join(one.name for one in columns)}" if free else ""
    return [Made(str(name), source, None, kind, origins, block) for name in names]


def _are_apart(columns: Sequence[Made]) -> bool:
    """Whether these are numbers, each of which can change by itself."""
    return not any(one.indicates for one in columns) and all(
        one.is_free_of(other) for k, one in enumerate(columns) for other in columns[:k]
    )


def _compute(columns: Sequence[Made], *operations: tuple[str, Any]) -> list[Made]:
    """With one number for each column; None for none."""
    found = list(columns)
    for name, values in operations:
        if values is not None:
            numbers = np.asarray(values, dtype=float).tolist()
            found = [one.then(name, value) for one, value in zip(found, numbers, strict=True)]
    return found


def _centered(columns: Sequence[Made], center: Any, size: Any) -> list[Made]:
    return _compute(columns, ("subtract", center), ("divide", size))


def _bounded(step: Any, columns: Sequence[Made]) -> list[Made] | None:
    return _compute(columns, ("multiply", step.scale_), ("add", step.min_))


def _imputed(step: Any, columns: Sequence[Made]) -> list[Made] | None:
    statistics = np.asarray(step.statistics_, dtype=object)
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        return None
    missing = is_missing(statistics)
    if missing.any() and step.keep_empty_features:
        return None
    pairs = zip(columns, missing.tolist(), step.statistics_.tolist(), strict=True)
    found = [one.then("fill", value) for one, gone, value in pairs if not gone]
    if not step.add_indicator:
        return found
    kind = type(step).__name__
    for j in step.indicator_.features_.tolist():
        one = columns[j]
        name = f"missingindicator_{one.name}"
        found.append(Made(name, one.source, None, kind, one.origins, hole=True))
    return found


def _one_hot(step: Any, columns: Sequence[Made]) -> list[Made] | None:
    found, kind = [], type(step).__name__
    if step.min_frequency is not None or step.max_categories is not None:
        names = step.get_feature_names_out()
        ends = np.cumsum([0, *map(partial(_count_outputs, step), range(len(columns)))])
        for one, begin, end, known in zip(
            columns, ends[:-1], ends[1:], _known_names(step), strict=True
        ):
            for name in names[begin:end]:
                level = str(name)[len(known) + 1 :]
                made = Made(f"{one.name}_{level}", one.source, None, kind, one.origins)
                found.append(made)
        return found
    for k, one in enumerate(columns):
        drop = None if step.drop_idx_ is None else step.drop_idx_[k]
        plain = one.chain is not None and {name for name, _ in one.chain} <= {"fill"}
        for j, level in enumerate(step.categories_[k].tolist()):
            if j != drop:
                name = f"{one.name}_{level}"
                made = replace(one, name=name).then("is", level)
                found.append(made if plain else Made(name, one.source, None, kind, one.origins))
    return found


def _count_outputs(step: Any, k: int) -> int:
    """Indicators of a column: one for all its rare levels, none for a level that is dropped."""
    rare = step.infrequent_categories_[k]
    count = len(step.categories_[k]) - (0 if rare is None else len(rare) - 1)
    return count - (step.drop_idx_ is not None and step.drop_idx_[k] is not None)


def _known_names(step: Any) -> list[str]:
    """Of the columns that an encoder was fitted on."""
    if hasattr(step, "feature_names_in_"):
        return [str(one) for one in step.feature_names_in_]
    return [f"x{j}" for j in range(int(step.n_features_in_))]


def _one_by_one(step: Any, columns: Sequence[Made]) -> list[Made]:
    """Each made from one, in another form."""
    kind = type(step).__name__
    return [
        replace(one, name=f"{kind} of {one.name}", chain=None, maker=kind, sources=one.origins)
        for one in columns
    ]


def _binned(step: Any, columns: Sequence[Made]) -> list[Made] | None:
    return _one_by_one(step, columns) if step.encode == "ordinal" else None


def _function(step: Any, columns: Sequence[Made]) -> list[Made] | None:
    if step.func is None:
        return list(columns)
    # numpy's own functions take each number by itself
    return _one_by_one(step, columns) if isinstance(step.func, np.ufunc) else None


def _pooled(step: Any, columns: Sequence[Made]) -> list[Made]:
    """Columns without rare levels stay as they are, and the others keep their names."""
    return [
        replace(one, chain=None, sources=one.origins) if name in step.pooled_ else one
        for name, one in zip(_known_names(step), columns, strict=True)
    ]


def _by_columns(step: Any, columns: Sequence[Made]) -> list[Made] | None:
    """Of a ColumnTransformer."""
    made: dict[int, Made] = {}
    for name, one, own in _parts(step, columns):
        place = step.output_indices_.get(name)
        if place is None or (isinstance(one, str) and one == "drop"):
            continue
        part = trace(one, own)
        if len(part) != place.stop - place.start:
            return None
        made.update(enumerate(part, place.start))
    return [made[j] for j in sorted(made)]


def _parts(step: Any, columns: Sequence[Made]) -> list[tuple[str, Any, list[Made]]]:
    """The steps of a ColumnTransformer, and the columns that each takes."""
    names = _known_names(step)
    return [
        (name, one, [columns[j] for j in _places(selected, names)])
        for name, one, selected in step.transformers_
    ]


def _places(selected: Any, names: list[str]) -> list[int]:
    """Of columns that a ColumnTransformer selects: by name or number, one, a list or a slice, or a
    mask.
    """
    every = range(len(names))
    if isinstance(selected, slice):
        start, stop = (
            names.index(one) if isinstance(one, str) else one
            for one in (selected.start, selected.stop)
        )
        if isinstance(selected.stop, str):  # the last is among them
            stop += 1
        return list(every[start:stop])
    if isinstance(selected, (str, Integral)):
        selected = [selected]
    given = np.asarray(selected)
    if given.dtype == bool:
        return [int(j) for j in np.flatnonzero(given)]
    return [names.index(one) if isinstance(one, str) else every[int(one)] for one in given.tolist()]


_KNOWN: dict[str, Callable[[Any, Sequence[Made]], list[Made] | None]] = {
    "StandardScaler": lambda one, columns: _centered(
        columns, one.mean_ if one.with_mean else None, one.scale_ if one.with_std else None
    ),
    "RobustScaler": lambda one, columns: _centered(
        columns,
        one.center_ if one.with_centering else None,
        one.scale_ if one.with_scaling else None,
    ),
    "MaxAbsScaler": lambda one, columns: _centered(columns, None, one.scale_),
    "MinMaxScaler": _bounded,
    "SimpleImputer": _imputed,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _one_by_one,
    "PowerTransformer": _one_by_one,
    "QuantileTransformer": _one_by_one,
    "Binarizer": _one_by_one,
    "KBinsDiscretizer": _binned,
    "FunctionTransformer": _function,
    "PoolRareLevels": _pooled,
    "ColumnTransformer": _by_columns,
}


def _levels_of(
    step: Any, names: tuple[str, ...], kinds: tuple[str, ...] = ("OneHotEncoder",)
) -> dict[int, Levels]:
    """Of the columns of the table that some step encodes by indicators."""
    found: dict[int, Levels] = {}

    def look(one: Any, columns: Sequence[Made]) -> None:
        if isinstance(one, Pipeline):
            for _, part in one.steps:
                look(part, columns)
                columns = trace(part, columns)
        elif type(one).__name__ == "ColumnTransformer":
            for _, part, own in _parts(one, columns):
                if not isinstance(part, str):
                    look(part, own)
        elif type(one).__name__ in kinds:
            for column, levels in zip(columns, one.categories_, strict=True):
                if column.source is not None:
                    strict = one.handle_unknown == "error"
                    found[column.source] = Levels(tuple(levels.tolist()), strict)
        elif isinstance(one, Prepared):
            found.update(one.levels)

    look(step, [Made(name, j) for j, name in enumerate(names)])
    return found


def _prefer(given: AnyArray, back: Array) -> Array:
    """The table's own numbers, where it has them."""
    try:
        own = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        return back
    near = np.isfinite(own) & (np.abs(own - back) <= _WHOLE * (1.0 + np.abs(own)))
    return np.where(near, own, back)


def _has_text(X: Any) -> bool:
    return any(isinstance(one, str) for one in np.asarray(X, dtype=object).ravel().tolist())


def _has_names(X: Any, names: tuple[str, ...]) -> bool:
    return set(names) <= set(map(str, X.columns))
