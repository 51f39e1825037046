"""motlm certify"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..certificates import audit, audit_rates
from ..errors import UnknownCategoryWarning
from ..estimators import LocalMixture
from ..targets import Rate
from ._errors import CommandError, ignore_warnings, show, show_message
from ._models import exposure_for, load_model, open_source, outcomes_for, rows_for, source_rows
from ._options import (
    data_argument,
    delta_option,
    exposure_option,
    force_option,
    json_option,
    model_argument,
    population_option,
    target_option,
)
from ._output import echo_json

__all__ = ["certify"]


@dataclass(frozen=True)
class _Options:
    """The options of `motlm certify`."""

    model_path: Path
    data: Path
    target: str | None
    exposure: str | None
    delta: float
    population: str
    save: bool
    as_json: bool
    force: bool


@click.command(short_help="Certify a model on new rows.")
@model_argument
@data_argument
@target_option
@exposure_option
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
    rates = isinstance(model.mixture_.target, Rate)
    if rates and options.save:
        raise CommandError("model files do not hold certificates of rates; leave --save out.")
    source = open_source(options.data)
    text = source_rows(source)
    y, _ = outcomes_for(model, text, options.target)
    X, _ = rows_for(model, text, source.name)
    exposure = exposure_for(model, text, options.exposure)
    with ignore_warnings(*_unknown_categories(model, X)):  # rows_for has noted them
        if rates:
            found = audit_rates(model, X, y, exposure=exposure, delta=options.delta)
            if options.as_json:
                echo_json(found.to_dict())
            else:
                show(str(found))
            return
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
