"""What a fit keeps for the readers of its report."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import click

from ..cards import LinearReference, ModelCard, fit_reference
from ..certificates import Certificate
from ..estimators import LocalMixture
from ._errors import ignore_warnings
from ._prepare import Prepared, Roles

__all__ = ["card_of", "card_options", "reference_of"]

_Command = Callable[..., Any]


def card_options(command: _Command) -> _Command:
    """Whose model it is, and what it is for."""
    for option in (
        click.option(
            "--intended-use", default="", help="What the model is for, in words of the report."
        ),
        click.option("--owner", default="", help="Who answers for the model, for the report."),
    ):
        command = option(command)
    return command


def card_of(
    owner: str,
    intended_use: str,
    source: str,
    roles: Roles,
    prepared: Prepared,
    n_read: int,
    certificate: Certificate | None,
) -> ModelCard:
    """Of a table as it was read, and of the rows that were used."""
    tolerance = None
    if certificate is not None:
        tolerance = certificate.headline.details.get("tolerance")
    return ModelCard(
        owner,
        intended_use,
        date.today().isoformat(),
        source,
        n_read,
        len(prepared.first),
        len(prepared.sealed),
        tuple(dict.fromkeys(roles.ignored)),
        {name: count for name, count in prepared.n_missing.items() if count},
        tolerance,
        prepared.n_without_target,
        prepared.n_aside,
        prepared.identifiers,
    )


def reference_of(model: LocalMixture, prepared: Prepared) -> LinearReference | None:
    """One linear model of the rows that the model was fitted to, with their weights."""
    first, y, weight = prepared.first, prepared.outcome, prepared.weight
    if prepared.exposure is not None:
        y = y / prepared.exposure
        weight = prepared.exposure if weight is None else weight * prepared.exposure
    mixture = model.mixture_
    with ignore_warnings():
        encoded = mixture.inputs.fill_in(mixture.encode(prepared.rows.iloc[first]))
        used = None if weight is None else weight[first]
        balance = getattr(model, "class_weight", None)
        return fit_reference(mixture.target, encoded, y[first], used, balance)
