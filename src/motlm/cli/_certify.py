"""motlm certify"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from ..certificates import audit, audit_rates
from ..estimators import LocalMixture
from ..tables import amount
from ..targets import Rate
from ._columns import column_of
from ._errors import NOTED, CommandError, ignore_warnings, show, show_message
from ._models import (
    exposure_for,
    load_model,
    open_source,
    outcomes_for,
    rows_for,
    source_rows,
    tolerance_for,
)
from ._options import (
    data_argument,
    delta_option,
    exposure_option,
    force_option,
    header_option,
    json_option,
    model_argument,
    population_option,
    target_option,
    tolerance_option,
)
from ._output import echo_json

__all__ = ["certify"]


@dataclass(frozen=True)
class _Options:
    """The options of `motlm certify`."""

    model_path: Path
    data: Path
    header: bool | None
    target: str | None
    exposure: str | None
    group: str | None
    tolerance: float | None
    delta: float
    population: str
    save: bool
    as_json: bool
    force: bool


@click.command(short_help="Certify a model on new rows.")
@model_argument
@data_argument
@header_option
@target_option
@exposure_option
@click.option(
    "--group", help="Column that tells which rows belong together; one row of each is counted."
)
@tolerance_option
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
    tolerance = tolerance_for(model, options.tolerance)
    rates = isinstance(model.mixture_.target, Rate)
    if rates and options.save:
        raise CommandError("model files do not hold certificates of rates; leave --save out.")
    source = open_source(options.data, options.header)
    text = source_rows(source)
    known = outcomes_for(model, text, options.target)
    text, y = known.text, known.y
    X, _ = rows_for(model, text, source.name)
    exposure = exposure_for(model, text, options.exposure)
    groups = None
    if options.group is not None:
        groups = column_of(text, options.group, "--group").astype(str).str.strip().to_numpy()
    with ignore_warnings(*_unknown_categories(model, X)):  # rows_for has noted them
        if rates:
            found = audit_rates(model, X, y, exposure=exposure, delta=options.delta, groups=groups)
            if options.as_json:
                echo_json({"rows_without_target": known.n_without, **found.to_dict()})
            else:
                show(str(found))
            return
        certificate = audit(
            model,
            X,
            y,
            delta=options.delta,
            population=options.population,
            tolerance=tolerance,
            groups=groups,
        )
    if known.n_without:  # the JSON of a certificate has no place for it but its notes
        left_out = f"{amount(known.n_without, 'row')} of the table without an outcome left out."
        certificate = replace(certificate, notes=(*certificate.notes, left_out))
    if options.save:
        model.certificate_ = certificate
        model.save(options.model_path)
        show_message(f"certificate saved in {options.model_path}")
    if options.as_json:
        click.echo(json.dumps(certificate.to_dict()))
    else:
        show(str(certificate))


def _unknown_categories(model: LocalMixture, X: Any) -> list[str]:
    """What the library has to say about categories that the model does not know, and values that
    were never missing in fit.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for kind in NOTED:
            warnings.simplefilter("always", kind)
        model.mixture_.encode(X)
    return [one.message.text for one in caught if isinstance(one.message, NOTED)]
