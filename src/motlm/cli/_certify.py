"""motlm certify"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..certificates import audit
from ..errors import UnknownCategoryWarning
from ..estimators import LocalMixture
from ..targets import Rate
from ._errors import CommandError, ignore_warnings, show, show_message
from ._models import load_model, open_source, outcomes_for, rows_for, source_rows
from ._options import (
    data_argument,
    delta_option,
    force_option,
    json_option,
    model_argument,
    population_option,
    target_option,
)

__all__ = ["certify"]


@dataclass(frozen=True)
class _Options:
    """The options of `motlm certify`."""

    model_path: Path
    data: Path
    target: str | None
    delta: float
    population: str
    save: bool
    as_json: bool
    force: bool


@click.command(short_help="Certify a model on new rows.")
@model_argument
@data_argument
@target_option
@delta_option
@population_option
@click.option("--save", is_flag=True, help="Put the certificate into the model file.")
@json_option
@force_option
def certify(**given: Any) -> None:
    """Certify a model on rows that were not used for fitting it; rows that were are refused.

    \b
    motlm certify model.json later.csv --save --force
    """
    options = _Options(**given)
    model = load_model(options.model_path)
    if options.save and not options.force and hasattr(model, "certificate_"):
        raise CommandError(
            f"{options.model_path} has a certificate already; give --force to replace it."
        )
    if isinstance(model.mixture_.target, Rate):
        raise CommandError("there is no certificate for rates yet; motlm evaluate measures them.")
    source = open_source(options.data)
    text = source_rows(source)
    y, _ = outcomes_for(model, text, options.target)
    X, _ = rows_for(model, text, source.name)
    with ignore_warnings(*_unknown_categories(model, X)):  # rows_for has noted them
        certificate = audit(model, X, y, delta=options.delta, population=options.population)
    if options.save:
        model.certificate_ = certificate
        model.save(options.model_path)
        show_message(f"certificate saved in {options.model_path}")
    if options.as_json:
        click.echo(json.dumps(certificate.to_dict()))
    else:
        show(str(certificate))


def _unknown_categories(model: LocalMixture, X: Any) -> list[str]:
    """What the library has to say about categories that the model does not know."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UnknownCategoryWarning)
        model.mixture_.encode(X)
    return [one.message.text for one in caught if isinstance(one.message, UnknownCategoryWarning)]
