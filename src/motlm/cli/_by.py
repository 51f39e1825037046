"""The option --by: how good predictions are for groups of rows."""

from __future__ import annotations

from typing import Any

import click
import pandas as pd

from .._typing import AnyArray, Array
from ..estimators import LocalMixture
from ..groups import GroupEvaluation, evaluate_groups
from ._calibrate import probabilities
from ._columns import column_of, infer_types
from ._errors import CommandError
from ._models import notes_of
from ._options import parse_names

__all__ = ["by_options", "group_rows", "read_positive"]


def by_options(command: Any) -> Any:
    """--by and --positive."""
    for option in (
        click.option(
            "--positive",
            metavar="LABEL",
            help=(
                "With --by: the class of selection and false positive and negative rates."
                "  [default: the second of two]"
            ),
        ),
        click.option(
            "--by",
            callback=parse_names,
            metavar="NAMES",
            multiple=True,
            help=(
                "Columns whose groups are compared, with commas between; the model need not have"
                " them. Numbers are cut at their quartiles."
            ),
        ),
    ):
        command = option(command)
    return command


def read_positive(positive: str | None, classes: AnyArray | None) -> Any:
    """The label that --positive names, of those that there are; None where it names none."""
    if positive is None:
        return None
    if classes is None:
        raise CommandError("--positive is for classification; leave it out.")
    names = ({str(one), f"{one:g}"} if isinstance(one, float) else {str(one)} for one in classes)
    found = [one for one, own in zip(classes.tolist(), names, strict=True) if positive in own]
    if not found:
        shown = ", ".join(map(str, classes.tolist()[:20]))
        raise CommandError(f"--positive {positive!r} is not one of the labels {shown}; name one.")
    return found[0]


def group_rows(
    model: LocalMixture,
    X: Any,
    y: AnyArray,
    text: pd.DataFrame,
    names: tuple[str, ...],
    positive: str | None,
    exposure: Array | None,
) -> GroupEvaluation | None:
    """The groups of some columns of the table; None where no column is named."""
    if not names:
        if positive is not None:
            raise CommandError("--positive is for --by; name columns there, or leave it out.")
        return None
    for name in names:
        column_of(text, name, "--by")
    columns, classes = model.mixture_.inputs.columns, model.mixture_.target.classes
    levels = dict(zip(columns.names, columns.levels, strict=True))
    codes = [name for name in names if levels.get(name) is not None]
    label = read_positive(positive, classes)
    chances = None
    if classes is not None:
        chances = probabilities(model, X, notes_of(model).calibration)
    by = infer_types(text[list(dict.fromkeys(names))], codes)
    return evaluate_groups(
        model, X, y, by, exposure=exposure, probabilities=chances, positive=label
    )
