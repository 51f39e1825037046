"""What a person has to check, since code cannot see it: ways in which rows leak into a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from ..errors import InputError, InputTypeError

__all__ = ["CHECKLIST_TITLE", "Check", "checks_in_sample", "checks_of_rows", "tick"]

CHECKLIST_TITLE = "To be checked by a person, since code cannot see it:"
_LONGEST = 200  # characters of a name

# those of every protocol
_GROUPS = "No client, patient, device or place has several rows: rows that belong together leak."
_GROUPS_SPLIT = (
    "All rows of one client, patient, device or place are on one side: either used for fitting or"
    " among the {rows}."
)
_TIME = "The rows are not a time series in random order, or the population does not change in time."
_FUTURE = "No column has what is known only after the outcome, or is derived from the outcome."
_ONCE = "This certificate was chosen before its result was known: it is not the best of several."


@dataclass(frozen=True)
class Check:
    """One thing that a person has to check before a certificate is quoted.

    Attributes
    ----------
    key : str
        By which `Certificate.tick` names it: "features", "tuning" and so on.
    text : str
        What has to be true.
    by : str
        Who has ticked it; "" for nobody.
    on : str
        The day, as in "2026-01-31"; "" if it is not ticked.
    ticked : bool

    Examples
    --------
    >>> from motlm.certificates import Check
    >>> check = Check("future", "No column has what is known only after the outcome.")
    >>> print(check)
    [ ] future: No column has what is known only after the outcome.
    >>> print(Check(check.key, check.text, by="A. Smith", on="2026-01-31"))
    [x] future: No column has what is known only after the outcome. (A. Smith, 2026-01-31)
    """

    key: str
    text: str
    by: str = ""
    on: str = ""

    @property
    def ticked(self) -> bool:
        return bool(self.by)

    def to_dict(self) -> dict[str, str]:
        """As JSON can hold it."""
        return {"key": self.key, "text": self.text, "by": self.by, "on": self.on}

    def __str__(self) -> str:
        if not self.ticked:
            return f"[ ] {self.key}: {self.text}"
        return f"[x] {self.key}: {self.text} ({self.by}, {self.on})"


def checks_of_rows(rows: str, points: bool) -> tuple[Check, ...]:
    """For rows that were not used for fitting: "sealed rows", "rows of the audit"."""
    texts = {
        "features": f"The columns were chosen and built without looking at the {rows}.",
        "tuning": (
            f"The kind of model and its settings were chosen without results on the {rows}; every"
            " attempt counts."
        ),
        "points": f"The points of interest were chosen without looking at the {rows}.",
        "preprocessing": (
            f"Scaling, filling in of missing values and encoding were learned without the {rows}."
        ),
        "groups": _GROUPS_SPLIT.format(rows=rows),
        "time": _TIME,
        "future": _FUTURE,
        "once": _ONCE,
    }
    return _checks(texts, points)


def checks_in_sample(points: bool) -> tuple[Check, ...]:
    """For a certificate on the rows used for fitting."""
    texts = {
        "features": "The columns were chosen and built without looking at these rows.",
        "tuning": (
            "The settings, the prior and the tolerance were chosen without results on these rows;"
            " every attempt counts."
        ),
        "points": "The points of interest were chosen without looking at these rows.",
        "preprocessing": (
            "Scaling, filling in of missing values and encoding were learned from other rows."
        ),
        "groups": _GROUPS,
        "time": _TIME,
        "future": _FUTURE,
        "once": _ONCE,
    }
    return _checks(texts, points)


def _checks(texts: dict[str, str], points: bool) -> tuple[Check, ...]:
    return tuple(Check(key, text) for key, text in texts.items() if points or key != "points")


def tick(
    checklist: tuple[Check, ...], keys: Iterable[Any], by: Any, on: date | str | None
) -> tuple[Check, ...]:
    """The checklist with some points ticked."""
    keys, known = list(keys), {one.key: one for one in checklist}
    if not known:
        raise InputError("this certificate has no checklist; those of earlier versions have none.")
    if not keys:
        raise InputError(f"name what was checked: {', '.join(known)}.")
    name, day = _read_name(by), _read_day(on)
    for key in keys:
        if not isinstance(key, str) or key not in known:
            raise InputError(f"no point {key!r} in the checklist; there are {', '.join(known)}.")
        if known[key].ticked:
            raise InputError(
                f"{key!r} was ticked already, by {known[key].by} on {known[key].on}.",
                "To tick it anew, begin with the certificate as it was issued.",
            )
    return tuple(replace(one, by=name, on=day) if one.key in keys else one for one in checklist)


def _read_name(by: Any) -> str:
    if not isinstance(by, str):
        raise InputTypeError(
            f"by must be the name of who has checked it; got a {type(by).__name__}."
        )
    name = by.strip()
    if not name or len(name) > _LONGEST or not name.isprintable():
        raise InputError(
            f"by must be the name of who has checked it, of at most {_LONGEST} printable"
            f" characters; got {by[:_LONGEST]!r}."
        )
    return name


def _read_day(on: date | str | None) -> str:
    if on is None:
        return date.today().isoformat()
    if isinstance(on, date):  # of a time, its day
        return date(on.year, on.month, on.day).isoformat()
    try:
        return date.fromisoformat(on).isoformat()
    except (TypeError, ValueError):
        raise InputError(f'on must be a day such as "2026-01-31"; got {on!r:.60}.') from None
