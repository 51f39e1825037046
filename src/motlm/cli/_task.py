"""What a target is taken for: classes, a number, or a rate; and the options that decide it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
import pandas as pd

from ..estimators import LocalMixture, LocalMixtureClassifier, LocalMixtureRegressor
from ..targets import MOST_CLASSES, RATE_LOSSES
from ._errors import CommandError, TableError
from ._options import require_finite

__all__ = [
    "AUTO",
    "CLASSIFICATION",
    "RATE",
    "REGRESSION",
    "Decision",
    "TaskOptions",
    "decide",
    "is_number",
    "task_options",
]

AUTO, CLASSIFICATION, REGRESSION, RATE = "auto", "classification", "regression", "rate"
_LOSSES = {CLASSIFICATION: ("log", "zero-one"), REGRESSION: ("squared",), RATE: RATE_LOSSES}
_ESTIMATORS: dict[str, Callable[..., LocalMixture]] = {
    CLASSIFICATION: LocalMixtureClassifier,
    REGRESSION: LocalMixtureRegressor,
    RATE: LocalMixtureRegressor,
}
_FEW = 20  # distinct whole numbers that may be classes, counts or amounts
_SHOWN = 5  # values in a message

_Command = Callable[..., Any]


def task_options(command: _Command) -> _Command:
    """The options by which users say what the target is, and what is to be minimized."""
    every = [loss for losses in _LOSSES.values() for loss in losses]
    for option in (
        click.option(
            "--class-weight",
            type=click.Choice(["balanced", "none"]),
            default="none",
            show_default=True,
            help="Balanced: rows of rare classes count more. For classification.",
        ),
        click.option(
            "--power",
            type=click.FloatRange(1, 2, min_open=True, max_open=True),
            callback=require_finite,
            help="Power of the variance, with --loss tweedie.  [default: 1.5]",
        ),
        click.option(
            "--loss",
            type=click.Choice(every),
            help=(
                "What is minimized: log or zero-one for classes, squared for numbers, poisson,"
                " gamma or tweedie for rates.  [default: log, squared, poisson]"
            ),
        ),
        click.option(
            "--exposure",
            help=(
                "Column of how long, or how much, each row was observed; left out of the model."
                " The target is then a rate."
            ),
        ),
        click.option(
            "--task",
            type=click.Choice([AUTO, *_LOSSES]),
            default=AUTO,
            show_default=True,
            help="What the target is: classes, a number, or counts or amounts of a rate.",
        ),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class TaskOptions:
    """The options of `task_options`."""

    task: str = AUTO
    exposure: str | None = None
    loss: str | None = None
    power: float | None = None
    class_weight: str = "none"

    @property
    def asked(self) -> str:
        """The task that the options imply, or "auto"."""
        if self.task != AUTO:
            return self.task
        if self.exposure is not None:
            return RATE
        return next((task for task, losses in _LOSSES.items() if self.loss in losses), AUTO)

    @property
    def reason(self) -> str:
        """The option that implies it."""
        if self.task != AUTO:
            return f"--task {self.task}"
        return f"--loss {self.loss}" if self.exposure is None else "--exposure"

    def check(self) -> None:
        """Refuse options that contradict each other."""
        task = self.asked
        if self.exposure is not None and task != RATE:
            raise CommandError(
                f"--exposure is for rates, and --task is {task}; choose --task rate, or leave one"
                " of the two out."
            )
        if task != AUTO and self.loss is not None and self.loss not in _LOSSES[task]:
            raise CommandError(
                f"--loss {self.loss} does not fit {self.reason}, which takes"
                f" {' or '.join(_LOSSES[task])}."
            )
        if self.power is not None and self.loss != "tweedie":
            raise CommandError("--power is for --loss tweedie; give both, or none.")
        if task != AUTO:
            self.check_weight(task)

    def check_weight(self, task: str) -> None:
        if self.class_weight != "none" and task != CLASSIFICATION:
            raise CommandError(
                f"--class-weight is for classification, and the task is {task}; leave it out, or"
                " choose --task classification."
            )

    def loss_of(self, task: str) -> str:
        return self.loss or _LOSSES[task][0]

    def estimator(self, task: str, **parameters: Any) -> LocalMixture:
        """For a task that was decided."""
        self.check_weight(task)
        if task == CLASSIFICATION and self.class_weight != "none":
            parameters["class_weight"] = self.class_weight
        if self.power is not None:
            parameters["power"] = self.power
        return _ESTIMATORS[task](loss=self.loss_of(task), **parameters)


@dataclass(frozen=True)
class Decision:
    """The task, and a description of the target that explains it."""

    task: str
    words: str  # "3 distinct whole numbers"


def is_number(y: pd.Series) -> bool:
    return bool(y.dtype == float)


def decide(y: pd.Series, asked: str) -> Decision:
    """What a target is taken for, by the rows to fit on: text and two values are classes; numbers
    that are not all whole, or whole ones of more than 20 values, are amounts. Others are not clear.
    """
    words, count = _describe(y), y.nunique()
    if asked == AUTO:
        return Decision(_guess(y, words), words)
    if asked != CLASSIFICATION and not is_number(y):
        raise TableError(f"the target {y.name!r} is not a number, as --task {asked} needs.")
    if asked == CLASSIFICATION:
        _refuse_too_many(y, count)
    return Decision(asked, words)


def _guess(y: pd.Series, words: str) -> str:
    count = y.nunique()
    if count == 2 or not is_number(y):
        _refuse_too_many(y, count)
        return CLASSIFICATION
    if _whole(y) and count <= _FEW:
        raise TableError(
            f"target {y.name!r}: {words}. Are they classes, amounts or counts? Choose --task"
            " classification, --task regression or --task rate."
        )
    return REGRESSION


def _whole(y: pd.Series) -> bool:
    return bool((y == np.rint(y)).all())


def _describe(y: pd.Series) -> str:
    """ "3 distinct whole numbers, 0, 1 and 2"."""
    values, kind = sorted(set(y)), "texts"
    if is_number(y):
        kind = "whole numbers" if _whole(y) else "numbers"
    found = f"{len(values)} distinct {kind}"
    if not is_number(y) and len(values) > _SHOWN:
        return found
    shown = [f"{value:g}" if is_number(y) else str(value)[:40] for value in values]
    if len(values) > _SHOWN:
        return f"{found}, {shown[0]} to {shown[-1]}"
    return f"{found}, {', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else found


def _refuse_too_many(y: pd.Series, count: int) -> None:
    """Numbers, names and dates that would be a class for most rows."""
    if count > _FEW and count > len(y) / 2:
        raise TableError(
            f"the target {y.name!r} has {count} distinct values in {len(y)} rows, which are too"
            " many for classes; choose --task regression or --task rate if it is a number."
        )
    if count > MOST_CLASSES:
        raise TableError(
            f"the target {y.name!r} has {count} distinct values, and at most {MOST_CLASSES} classes"
            " can be told apart; join rare ones, or choose --task regression or --task rate if it"
            " is a number."
        )
