"""Pipelines of scikit-learn that end in a motlm estimator, in the columns that people know.

A step that shifts and scales a column changes its units alone: the mixture is written in those of
the table. Indicators of the levels of a category are known as such. What other steps make is told
by the names that reach the estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from ._typing import AnyArray, Array
from .bends import Bends
from .errors import InputTypeError, ModelFileError, UnknownCategoryError
from .frames import columns_of, is_frame, is_missing
from .inputs import Columns, Inputs
from .mixture import Mixture, mixture_of
from .summaries import Summary

__all__ = [
    "OPERATIONS",
    "Group",
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
_NAMED = 5  # columns in a sentence
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
                found = (np.asarray(found, dtype=object) == value).astype(float)
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
        return (*(one.name for one in self.made if one.indicates), *self.tied)

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
        if isinstance(X, dict):
            X = [X[name] for name in self.names]
        rows = np.asarray(X, dtype=object if _has_text(X) else float)
        rows = rows[None] if rows.ndim == 1 else rows
        if not hasattr(self.steps, "feature_names_in_"):
            return rows
        import pandas  # it was fitted on a table

        frame = pandas.DataFrame(rows, columns=list(self.names))
        return frame.infer_objects()

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
            elif all(other.source != one.source for other in self.made[:k]):
                found.append(self._level_set(one))
        return tuple(found)

    def _level_set(self, first: Made) -> LevelSet:
        own = [k for k, one in enumerate(self.made) if one.source == first.source]
        groups = self.mixture.inputs.groups
        columns = np.array([groups[k].columns.start for k in own])
        assert first.source is not None
        levels = _levels_of(self.steps, self.names)[first.source].every
        known = [self.made[k].level for k in own]
        codes = np.array([[float(level == one) for one in known] for level in levels])
        return LevelSet(self.names[first.source], columns, levels, codes)

    @property
    def tied(self) -> tuple[str, ...]:
        """Columns that cannot change by themselves, since others are made from the same one."""
        plain = [one for one in self.made if not one.indicates]
        sources = [one.source for one in plain]
        sources += list({one.source for one in self.made if one.indicates})
        return tuple(
            one.name for one in plain if one.source is not None and sources.count(one.source) > 1
        )

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
    """

    def __init__(
        self,
        names: tuple[str, ...] = (),
        named: bool = False,
        columns: tuple[Made, ...] = (),
        levels: Mapping[int, Levels] | None = None,
        frame: bool = False,
    ) -> None:
        self.names = names
        self.named = named
        self.columns = columns
        self.levels = {} if levels is None else levels
        self.frame = frame

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
        strange = [one for one in values.tolist() if one not in levels.every]
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
    made = trace(steps, [Made(name, j) for j, name in enumerate(subject.names)])
    for one in made:
        if one.chain is None or one.source is None:
            raise ModelFileError(
                f"a file cannot hold the step {one.maker} of this pipeline, which makes the column"
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
    )


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
    made = trace(steps, [Made(name, j) for j, name in enumerate(names)])
    columns = own.inputs.columns
    if len(made) != len(columns.names):
        raise InputTypeError(
            f"the steps of the pipeline make {len(made)} columns, and its estimator was fitted on"
            f" {len(columns.names)}; fit the pipeline as a whole."
        )
    settled = _settle(made, columns, names, own.inputs.reading.named)
    subject = Subject(_rewrite(own, settled), own, steps, names, settled)
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
            found.append(replace(one, name=own if taken else name, chain=None))
    return tuple(found)


def _rewrite(mixture: Mixture, made: tuple[Made, ...]) -> Mixture:
    """The same model in the units of the table: x = (u - shift) / scale."""
    inputs = mixture.inputs
    scale, shift = np.ones(len(inputs.names)), np.zeros(len(inputs.names))
    for one, group in zip(made, inputs.groups, strict=True):
        if one.scale is not None and group.levels is None:
            scale[group.columns], shift[group.columns] = one.scale, one.shift

    def back(values: Any) -> Any:
        return (values - shift) / scale

    units = replace(
        inputs.units,
        center=back(inputs.units.center),
        inverse_scale=inputs.units.inverse_scale * scale,
    )
    columns = Columns(tuple(one.name for one in made), inputs.columns.levels)
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
    moved = Inputs(reading, units, inputs.varies, back(inputs.typical), bends, made_of)
    summary = mixture.provenance.summary
    if summary is not None:
        summary = _move(summary, back, scale, shift)
    return replace(
        mixture,
        inputs=moved,
        geometry=_move_geometry(mixture.geometry, back, len(scale)),
        provenance=replace(mixture.provenance, summary=summary),
    )


def _move(summary: Summary, back: Callable[[Any], Any], scale: Array, shift: Array) -> Summary:
    """A column is of whole numbers if its ends are; medians of these are rounded."""
    low, high, medians = back(summary.low), back(summary.high), back(summary.medians)
    moved = (scale != 1.0) | (shift != 0.0)
    ends = np.array([low, high])
    near = (np.abs(ends - np.rint(ends)) <= _WHOLE * (1.0 + np.abs(ends))).all(axis=0)
    whole = np.where(moved, near, summary.whole)
    tidy = moved & whole
    low, high = (np.where(tidy, np.rint(one), one) for one in (low, high))
    medians = np.where(tidy, np.rint(medians), medians)
    return Summary(low, high, whole, np.clip(medians, low, high))


def _move_geometry(geometry: Any, back: Callable[[Any], Any], n_encoded: int) -> Any:
    """What it has in the user's units."""
    changes = {}
    for name in ("given", "low", "high"):
        value = getattr(geometry, name, None)
        if value is not None and np.shape(value)[-1:] == (n_encoded,):
            changes[name] = back(value)
    if getattr(geometry, "whole", None) is not None and "low" in changes:
        ends = np.array([changes["low"], changes["high"]])
        changes["whole"] = (np.abs(ends - np.rint(ends)) <= _WHOLE * (1.0 + np.abs(ends))).all(
            axis=0
        )
        for name in ("low", "high"):
            changes[name] = np.where(changes["whole"], np.rint(changes[name]), changes[name])
    return replace(geometry, **changes) if changes else geometry


# -- what steps make -------------------------------------------------------------------------------


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
    known = (
        _KNOWN.get(type(step).__name__) if type(step).__module__.startswith("sklearn.") else None
    )
    found = None if known is None else known(step, columns)
    return _mixed(step, columns) if found is None else found


def _mixed(step: Any, columns: Sequence[Made]) -> list[Made]:
    """What another step makes, by its own names."""
    try:
        names = list(step.get_feature_names_out([one.name for one in columns]))
    except (AttributeError, ValueError, TypeError):
        n = getattr(step, "n_components_", None) or len(columns)
        names = [f"{type(step).__name__.lower()}{j}" for j in range(int(n))]
    return [Made(str(name), None, None, type(step).__name__) for name in names]


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
    if step.clip:
        return None
    return _compute(columns, ("multiply", step.scale_), ("add", step.min_))


def _imputed(step: Any, columns: Sequence[Made]) -> list[Made] | None:
    if step.add_indicator:
        return None
    statistics = step.statistics_
    missing = [isinstance(one, float) and np.isnan(one) for one in statistics.tolist()]
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        return None
    pairs = zip(columns, missing, statistics.tolist(), strict=True)
    if not any(missing):
        return [one.then("fill", value) for one, _, value in pairs]
    if step.keep_empty_features:
        return None
    return [one.then("fill", value) for one, gone, value in pairs if not gone]


def _one_hot(step: Any, columns: Sequence[Made]) -> list[Made] | None:
    if getattr(step, "_infrequent_enabled", False):
        return None
    found = []
    for k, one in enumerate(columns):
        drop = None if step.drop_idx_ is None else step.drop_idx_[k]
        plain = one.chain is not None and {name for name, _ in one.chain} <= {"fill"}
        kind = type(step).__name__
        for j, level in enumerate(step.categories_[k].tolist()):
            if j != drop:
                name = f"{one.name}_{level}"
                made = replace(one, name=name).then("is", level)
                found.append(made if plain else Made(name, one.source, None, kind))
    return found


def _one_by_one(step: Any, columns: Sequence[Made]) -> list[Made]:
    """Each made from one, in another form."""
    kind = type(step).__name__
    return [Made(f"{kind} of {one.name}", one.source, None, kind) for one in columns]


def _binned(step: Any, columns: Sequence[Made]) -> list[Made] | None:
    return _one_by_one(step, columns) if step.encode == "ordinal" else None


def _function(step: Any, columns: Sequence[Made]) -> list[Made] | None:
    return list(columns) if step.func is None else None


def _by_columns(step: Any, columns: Sequence[Made]) -> list[Made] | None:
    """Of a ColumnTransformer."""
    made: dict[int, Made] = {}
    for name, one, which in step.transformers_:
        place = step.output_indices_.get(name)
        if place is None or (isinstance(one, str) and one == "drop"):
            continue
        part = trace(one, [columns[j] for j in _places(which, columns)])
        if len(part) != place.stop - place.start:
            return None
        made.update(enumerate(part, place.start))
    return [made[j] for j in sorted(made)]


def _places(which: Any, columns: Sequence[Made]) -> list[int]:
    names = [one.name for one in columns]
    if isinstance(which, str) or np.isscalar(which):
        which = [which]
    if isinstance(which, slice):
        return list(range(*which.indices(len(columns))))
    listed = list(which)
    if listed and all(isinstance(one, (bool, np.bool_)) for one in listed):
        return [int(j) for j in np.flatnonzero(listed)]
    return [names.index(one) if isinstance(one, str) else int(one) for one in listed]


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
    "ColumnTransformer": _by_columns,
}


def _levels_of(step: Any, names: tuple[str, ...]) -> dict[int, Levels]:
    """Of the columns of the table that some step encodes by indicators."""
    found: dict[int, Levels] = {}

    def look(one: Any, columns: Sequence[Made]) -> None:
        if isinstance(one, Pipeline):
            for _, part in one.steps:
                look(part, columns)
                columns = trace(part, columns)
        elif type(one).__name__ == "ColumnTransformer":
            for _, part, which in one.transformers_:
                if not isinstance(part, str):
                    look(part, [columns[j] for j in _places(which, columns)])
        elif type(one).__name__ == "OneHotEncoder":
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
