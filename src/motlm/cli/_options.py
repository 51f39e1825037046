"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import math
import re
from pathlib import Path

import click

__all__ = [
    "FILE",
    "data_argument",
    "delta_option",
    "exposure_option",
    "force_option",
    "header_option",
    "json_option",
    "model_argument",
    "parse_duration",
    "parse_names",
    "parse_number",
    "parse_one_name",
    "population_option",
    "require_finite",
    "require_jobs",
    "split_names",
    "target_option",
    "tolerance_option",
]

FILE = click.Path(path_type=Path)
_UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}


def parse_duration(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    """Seconds, written as 60s, 5min or 1h."""
    if text is None:
        return None
    found = re.fullmatch(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})?\s*", text)
    if not found or float(found[1]) <= 0:
        raise click.BadParameter(f"{text!r} is not a valid duration; give 60s, 5min or 1h.")
    return float(found[1]) * _UNITS[found[2] or "s"]


def parse_number(ctx: click.Context, param: click.Parameter, text: str) -> int | str:
    """A number from 0 on, or "auto"."""
    if text != "auto" and not text.isdecimal():
        raise click.BadParameter(f"{text!r} is neither auto nor a whole number from 0 on.")
    return text if text == "auto" else int(text)


def split_names(text: str) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def parse_names(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> tuple[str, ...]:
    """Names of columns, separated by commas or one at a time."""
    return tuple(dict.fromkeys(name for text in texts for name in split_names(text)))


def parse_one_name(
    ctx: click.Context, param: click.Parameter, names: tuple[str, ...]
) -> str | None:
    """The name of one column: of several none is lost without a word."""
    if len(names) > 1:
        raise click.BadParameter(
            f"one column names the rows; got {', '.join(map(repr, names))}. Leave the others out of"
            " the model with --drop."
        )
    return names[0] if names else None


def require_finite(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number.")
    return value


def require_jobs(ctx: click.Context, param: click.Parameter, value: int) -> int:
    """A number of threads, as joblib takes it: -1 is one for each core."""
    if value == 0:
        raise click.BadParameter("0 threads cannot work; give 1 or more, or -1 for all cores.")
    return value


model_argument = click.argument("model_path", metavar="MODEL", type=FILE)
data_argument = click.argument("data", type=FILE)
header_option = click.option(
    "--header/--no-header",
    default=None,
    help=(
        "Whether the first row has the names of the columns; without, they are c1, c2 and so on."
        " By default it has, and one that looks like data is an error."
    ),
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
force_option = click.option("--force", is_flag=True, help="Replace existing files.")
target_option = click.option(
    "--target", help="Column of true outcomes. Default: the target that the model was fitted to."
)
exposure_option = click.option(
    "--exposure",
    help="Column of exposures. Default: the one that the model of a rate was fitted with.",
)
delta_option = click.option(
    "--delta",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    callback=require_finite,
    default=0.05,
    show_default=True,
    help=(
        "Probability that some statement of the certificate is wrong; it is divided among the"
        " statements."
    ),
)
population_option = click.option(
    "--population",
    default="future cases drawn like these",
    show_default=True,
    help="What the certificate calls the cases.",
)
tolerance_option = click.option(
    "--tolerance",
    type=click.FloatRange(0, min_open=True),
    callback=require_finite,
    help=(
        "Of a number: the error that is still acceptable, in the units of the target."
        "  [default: that of the fit; there, twice the typical error]"
    ),
)
