"""What a comparison found: scores of each method on each fold, and differences to the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

from ..errors import InputError
from ..intervals import overlapping_folds
from ..scores import HIGHER
from ..tables import number, plain, table_of, text_lines, text_tables

__all__ = ["MAIN", "THIS", "Comparison", "Difference", "Method"]

THIS = "this model"
MAIN = {"classification": "log loss", "regression": "R2", "rate": "mean deviance"}
_FORMAT = "motlm comparison"


@dataclass(frozen=True)
class Method:
    """One method on all folds.

    Attributes
    ----------
    name, words : str
        What it is called, and what it is.
    scores : dict of str to tuple of float or None
        Of each fold, by name; None where a score is not defined.
    seconds : tuple of float
        That each fit took.
    """

    name: str
    words: str
    scores: dict[str, tuple[float | None, ...]]
    seconds: tuple[float, ...]

    def mean(self, score: str) -> float | None:
        """Over the folds where it is defined."""
        found = [one for one in self.scores[score] if one is not None]
        return fmean(found) if found else None

    @property
    def fit_time(self) -> float:
        """The median over the folds, in seconds: the first fit may have to compile."""
        return median(self.seconds)


@dataclass(frozen=True)
class Difference:
    """The mean over the folds of a method's score less this model's, and its interval.

    Attributes
    ----------
    value, low, high : float or None
        None of too few folds.
    better : bool or None
        Whether the method is better (worse: False) by more than the interval; None if neither.
    """

    value: float | None
    low: float | None
    high: float | None
    better: bool | None


@dataclass(frozen=True)
class Comparison:
    """A model beside others on the same folds.

    Attributes
    ----------
    task : str
        "classification", "regression" or "rate".
    rows : int
    folds, planned : int
        How many folds were computed, and how many there would have been.
    methods : tuple of Method
        This model first.
    test_over_train : float
        Rows of a fold over rows fitted on, of which the intervals depend.
    confidence : float
        Of each interval.
    notes : tuple of str
    target : str
        The column that is predicted, "" where it has no name.
    features : tuple of str
        The columns that it is predicted from, empty where they have no names. Reports refuse a
        comparison of another target or of other columns than the model's.
    """

    task: str
    rows: int
    folds: int
    planned: int
    methods: tuple[Method, ...]
    test_over_train: float
    confidence: float = 0.95
    notes: tuple[str, ...] = ()
    target: str = ""
    features: tuple[str, ...] = ()

    @property
    def scores(self) -> tuple[str, ...]:
        """The names of the scores."""
        return tuple(self.methods[0].scores) if self.methods else ()

    @property
    def main_score(self) -> str:
        """The one that charts show: log loss, R2 or the mean deviance."""
        return MAIN[self.task]

    @property
    def has_model(self) -> bool:
        """Whether this model was fitted at all before the work was stopped."""
        return bool(self.methods) and self.methods[0].name == THIS

    def method(self, name: str) -> Method:
        """By its name."""
        for one in self.methods:
            if one.name == name:
                return one
        known = ", ".join(repr(one.name) for one in self.methods)
        raise InputError(f"there is no method {name!r}; there are {known}.")

    def difference(self, name: str, score: str) -> Difference:
        """A method's score less this model's, over the folds where both are defined.

        The interval is Nadeau and Bengio's (2003), which allows for training rows that folds share.
        """
        own, other = self.method(THIS).scores, self.method(name).scores
        if score not in own:
            raise InputError(f"there is no score {score!r}; there are {', '.join(self.scores)}.")
        pairs = zip(own[score], other[score], strict=True)
        gaps = [theirs - ours for ours, theirs in pairs if ours is not None and theirs is not None]
        low, high = overlapping_folds(gaps, self.test_over_train, self.confidence)
        better = None
        if low is not None and high is not None and (low > 0 or high < 0):
            better = (low > 0) == (score in HIGHER)
        return Difference(fmean(gaps) if gaps else None, low, high, better)

    def span(self, score: str) -> tuple[float, float]:
        """The range of differences that a chart shows: 0, those of all methods, and around them as
        much as intervals reach, but of those that are much wider than most.
        """
        gaps = [self.difference(one.name, score) for one in self.methods[1:]]
        known = [one for one in gaps if one.value is not None]
        values = [0.0, *(one.value for one in known if one.value is not None)]
        low, high = min(values), max(values)
        reaches = [
            one.high - one.low for one in known if one.low is not None and one.high is not None
        ]
        room = max(0.5 * (high - low), median(reaches) if reaches else 0.0) or 1.0
        ends = [one.low for one in known] + [one.high for one in known]
        found = [end for end in ends if end is not None and low - room <= end <= high + room]
        cut = [end for end in ends if end is not None and end not in found]
        below = low - room if any(end < low for end in cut) else min([low, *found])
        above = high + room if any(end > high for end in cut) else max([high, *found])
        return below, above

    @property
    def headline(self) -> str:
        """The best other method, in a sentence."""
        score = self.main_score
        if not self.has_model or len(self.methods) < 2:
            return "This model was not fitted on any fold, so that nothing can be compared with it."
        known = [one for one in self.methods[1:] if one.mean(score) is not None]
        sign = -1.0 if score in HIGHER else 1.0
        best = min(known, key=lambda one: sign * (one.mean(score) or 0.0))
        gap, own = self.difference(best.name, score), self.methods[0].mean(score)
        words = (
            f"Of the others {best.name} has the best {score}, {number(best.mean(score))}; this"
            f" model has {number(own)}."
        )
        if gap.low is None or gap.high is None:
            return f"{words} One fold tells nothing about the difference."
        interval = f"{_signed(gap.value)} ({_signed(gap.low)} to {_signed(gap.high)})"
        verdict = {
            True: f"{best.name} is better",
            False: "this model is better",
            None: "these folds do not tell which is better",
        }[gap.better]
        return f"{words} The difference is {interval}: {verdict}."

    def to_frame(self) -> Any:
        """A row for each method: mean scores, differences to this model with the ends of their
        intervals, and the seconds of a fit (pandas).
        """
        rows = []
        for one in self.methods:
            made: dict[str, Any] = {"method": one.name}
            for score in self.scores:
                made[score] = one.mean(score)
                if one.name != THIS and self.has_model:
                    gap = self.difference(one.name, score)
                    made |= {
                        f"{score}, difference": gap.value,
                        f"{score}, low": gap.low,
                        f"{score}, high": gap.high,
                    }
            rows.append({**made, "fit seconds": one.fit_time})
        return table_of(rows)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        made = {"format": _FORMAT, **asdict(self), "headline": self.headline}
        for one, entry in zip(self.methods, made["methods"], strict=True):
            entry["mean"] = {score: one.mean(score) for score in self.scores}
            entry["fit_time"] = one.fit_time
            if one.name != THIS and self.has_model:
                entry["difference"] = {
                    score: asdict(self.difference(one.name, score)) for score in self.scores
                }
        found: dict[str, Any] = plain(made)
        return found

    @classmethod
    def from_dict(cls, content: Any) -> Comparison:
        """What `to_dict` wrote; means and differences are computed anew."""
        if not isinstance(content, Mapping) or content.get("format") != _FORMAT:
            raise InputError(
                "not a comparison: expected what motlm compare -o or Comparison.to_dict writes."
            )
        try:
            methods = tuple(_read_method(one) for one in content["methods"])
            found = cls(
                str(content["task"]),
                int(content["rows"]),
                int(content["folds"]),
                int(content["planned"]),
                methods,
                float(content["test_over_train"]),
                float(content["confidence"]),
                tuple(str(one) for one in content["notes"]),
                str(content.get("target", "")),
                tuple(str(one) for one in content.get("features", ())),
            )
            sizes = {len(values) for one in methods for values in one.scores.values()}
            names = {tuple(one.scores) for one in methods}
            sound = found.main_score in found.scores and len(sizes) == len(names) == 1
            sound = sound and all(one.seconds for one in methods)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"this comparison is damaged: {error!r}.") from error
        if not sound or not 0 < found.confidence < 1:
            raise InputError("this comparison is damaged: its methods have different scores.")
        return found

    def __str__(self) -> str:
        if not self.methods:
            return "nothing was fitted"
        names = [("", "fit, s"), *((one.name, _seconds(one.fit_time)) for one in self.methods)]
        columns = [
            [score, *(_cell(one.mean(score)) for one in self.methods)] for score in self.scores
        ]
        blocks = [text_tables(names, columns)]
        if self.has_model and self.folds > 1:
            others = self.methods[1:]
            first = [("less this model's",), *((one.name,) for one in others)]
            columns = [
                [score, *(_gap(self.difference(one.name, score)) for one in others)]
                for score in self.scores
            ]
            blocks.append(text_tables(first, columns))
        return "\n\n".join([*blocks, text_lines(self.about)])

    @property
    def about(self) -> list[str]:
        """How it is to be read, in sentences: the headline, what was done, and notes."""
        words = [self.headline]
        if self.has_model and self.folds > 1:
            words.append(
                f"In brackets: {self.confidence:.0%} intervals from {self.folds} folds, Nadeau and"
                " Bengio's, which allow for the rows that folds share. Better, worse: than this"
                " model, by more than the interval."
            )
        return [*words, *(f"Note: {note}" for note in self.notes)]


def _read_method(content: Any) -> Method:
    scores = {
        str(name): tuple(None if one is None else float(one) for one in values)
        for name, values in content["scores"].items()
    }
    seconds = tuple(float(one) for one in content["seconds"])
    return Method(str(content["name"]), str(content["words"]), scores, seconds)


def _cell(value: float | None) -> str:
    return "not defined" if value is None else number(value)


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value + 0.0:+.3g}"


def _gap(one: Difference) -> str:
    """With a word where the method is better or worse by more than the interval."""
    if one.value is None:
        return "not defined"
    mark = {True: " better", False: " worse", None: ""}[one.better]
    if one.low is None or one.high is None:
        return _signed(one.value)
    return f"{_signed(one.value)} ({_signed(one.low)} to {_signed(one.high)}){mark}"


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"
