"""What localities look at, and what their models may change: options of `motlm fit`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from ._errors import CommandError
from ._options import parse_names, split_names

__all__ = ["LocalityOptions", "locality_options"]

_FEATURES = ("auto", "all", "ball")
_WIDTHS = ("learned", "equal")
_Command = Callable[..., Any]
Widths = str | dict[str, float] | tuple[float, ...]


def locality_options(command: _Command) -> _Command:
    """The options of localities and of the corrections in them."""
    for option in (
        click.option(
            "--full-formulas",
            is_flag=True,
            help="Print local formulas in full, not how they differ from the exterior's.",
        ),
        click.option(
            "--centers",
            type=click.Choice(["free", "rows"]),
            default="free",
            show_default=True,
            help="Rows: centers of localities are rows of the table, real cases.",
        ),
        click.option(
            "--decreasing",
            callback=parse_names,
            metavar="NAMES",
            multiple=True,
            help="Columns of numbers in which each model must fall.",
        ),
        click.option(
            "--increasing",
            callback=parse_names,
            metavar="NAMES",
            multiple=True,
            help="Columns of numbers in which each model must rise.",
        ),
        click.option(
            "--max-terms",
            callback=_parse_terms,
            metavar="NUMBER",
            help=(
                "Most terms of a formula: a number, or auto: those are struck out that rows left"
                " out do not need.  [default: all]"
            ),
        ),
        click.option(
            "--local-models",
            type=click.Choice(["auto", "linear", "additive"]),
            default="auto",
            show_default=True,
            help="Straight lines, or a curve for each column of numbers.",
        ),
        click.option(
            "--corrections",
            type=click.Choice(["auto", "own", "all", "none"]),
            default="auto",
            show_default=True,
            help=(
                "Which weights of the exterior model localities change: those of their own columns,"
                " or all; none: models are independent of each other."
            ),
        ),
        click.option(
            "--locality-widths",
            callback=_parse_widths,
            metavar="WIDTHS",
            default="learned",
            show_default=True,
            help=(
                "learned, equal, or with --points a number for each of --locality-columns: 5,20 or"
                " age=5,power=20."
            ),
        ),
        click.option(
            "--locality-columns",
            callback=parse_names,
            metavar="NAMES",
            multiple=True,
            help=(
                "Columns that localities may look at, with commas between or one at a time."
                "  [default: numbers and columns of two values]"
            ),
        ),
        click.option(
            "--locality-features",
            callback=_parse_features,
            metavar="NUMBER",
            default="auto",
            show_default=True,
            help=(
                "Most columns of a locality: a number, all, or ball (all, with equal widths); auto"
                " decides between three and all."
            ),
        ),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class LocalityOptions:
    """The options of `locality_options`."""

    features: int | str = "auto"
    columns: tuple[str, ...] = ()
    widths: Widths = "learned"
    corrections: str = "auto"
    centers: str = "free"
    local_models: str = "auto"
    increasing: tuple[str, ...] = ()
    decreasing: tuple[str, ...] = ()
    max_terms: int | str | None = None

    def check(self, points: bool) -> None:
        """Refuse options that contradict each other; `points` tells whether there are any."""
        both = [name for name in self.increasing if name in self.decreasing]
        if both:
            raise CommandError(
                f"--increasing and --decreasing both name {both[0]!r}; a model cannot do both."
            )
        if self.centers == "rows" and points:
            raise CommandError("--centers rows and --points are two kinds of centers; choose one.")
        if isinstance(self.widths, str):
            return
        if not points or not self.columns:
            raise CommandError(
                "--locality-widths in numbers are of given points, in columns that are named; give"
                " --points and --locality-columns too, or --locality-widths learned."
            )
        if isinstance(self.widths, dict):
            named = sorted(self.widths) == sorted(self.columns)
        else:
            named = len(self.widths) == len(self.columns)
        if not named:
            raise CommandError(
                "--locality-widths must have one number for each of --locality-columns,"
                f" {', '.join(self.columns)}."
            )

    def check_columns(self, names: tuple[str, ...]) -> None:
        """Refuse columns that are not of the model."""
        asked = [("--locality-columns", name) for name in self.columns]
        asked += [("--increasing", name) for name in self.increasing]
        asked += [("--decreasing", name) for name in self.decreasing]
        for option, name in asked:
            if name not in names:
                raise CommandError(
                    f"{option} {name!r} is not a column of the model; its columns are"
                    f" {', '.join(names[:30])}."
                )

    def parameters(self) -> dict[str, Any]:
        """Of an estimator."""
        return {
            "locality_features": self.features,
            "locality_columns": list(self.columns) or None,
            "locality_widths": self.widths
            if isinstance(self.widths, str | dict)
            else [*self.widths],
            "corrections": self.corrections,
            "centers": self.centers,
            "local_models": self.local_models,
            "monotonic_cst": dict.fromkeys(self.increasing, 1) | dict.fromkeys(self.decreasing, -1)
            or None,
            "max_terms": self.max_terms,
        }


def _parse_terms(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    if text is None or text == "auto":
        return text
    if not text.isdecimal() or not 0 < int(text) < 1_000_000:
        raise click.BadParameter(f"{text!r} is neither auto nor a whole number from 1 on.")
    return int(text)


def _parse_features(ctx: click.Context, param: click.Parameter, text: str) -> int | str:
    if text in _FEATURES:
        return text
    if not text.isdecimal() or not 0 < int(text) < 1_000_000:
        raise click.BadParameter(
            f"{text!r} is neither {', '.join(_FEATURES[:-1])} or {_FEATURES[-1]}, nor a whole"
            " number from 1 on."
        )
    return int(text)


def _parse_widths(ctx: click.Context, param: click.Parameter, text: str) -> Widths:
    """A word, numbers, or numbers by column."""
    if text in _WIDTHS:
        return text
    parts = split_names(text)
    pairs = [part.rpartition("=") for part in parts]
    names, numbers = [one[0].strip() for one in pairs], [_positive(one[2]) for one in pairs]
    if not parts or None in numbers or len({bool(name) for name in names}) != 1:
        raise click.BadParameter(
            f"{text!r} is neither learned nor equal, nor positive numbers such as 5,20 or"
            " age=5,power=20."
        )
    widths = [one for one in numbers if one is not None]
    if not names[0]:
        return tuple(widths)
    if len(set(names)) != len(names):
        raise click.BadParameter(f"{text!r} has two widths of one column.")
    return dict(zip(names, widths, strict=True))


def _positive(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < math.inf else None
