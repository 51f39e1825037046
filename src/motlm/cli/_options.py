"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import click

__all__ = [
    "FILE",
    "Duration",
    "Finite",
    "Jobs",
    "Names",
    "Number",
    "Share",
    "data_argument",
    "delta_option",
    "force_option",
    "json_option",
    "model_argument",
    "population_option",
    "target_option",
]

FILE = click.Path(path_type=Path)
_UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}


class Duration(click.ParamType):
    """Seconds, written as 60s, 5min or 1h."""

    name = "duration"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        found = re.fullmatch(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})?\s*", str(value))
        if not found or float(found[1]) <= 0:
            self.fail(f"{value!r} is not a valid duration; give 60s, 5min or 1h.", param, ctx)
        return float(found[1]) * _UNITS[found[2] or "s"]


class Number(click.ParamType):
    """A number from 0 on, or "auto"."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        if value == "auto":
            return "auto"
        if not str(value).isdecimal():
            self.fail(f"{value!r} is neither auto nor a whole number from 0 on.", param, ctx)
        return int(value)


class Names(click.ParamType):
    """Names of columns, separated by commas."""

    name = "names"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(name.strip() for name in value.split(",") if name.strip())


class Share(click.FloatRange):
    """A number in a range; not nan."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class Finite(click.ParamType):
    """A finite number."""

    name = "float"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        number = click.FLOAT.convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return float(number)


class Jobs(click.ParamType):
    """A number of processes, as joblib takes it: -1 is one for each core."""

    name = "integer"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        number = click.INT.convert(value, param, ctx)
        if number == 0:
            self.fail("0 processes cannot work; give 1 or more, or -1 for all cores.", param, ctx)
        return int(number)


model_argument = click.argument("model_path", metavar="MODEL", type=FILE)
data_argument = click.argument("data", type=FILE)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
force_option = click.option("--force", is_flag=True, help="Replace existing files.")
target_option = click.option(
    "--target", help="Column of true outcomes. Default: the target that the model was fitted to."
)
delta_option = click.option(
    "--delta",
    type=Share(0, 1, min_open=True, max_open=True),
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
