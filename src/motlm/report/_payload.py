"""All the numbers of a report, as plain values that JSON can hold."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._typing import AnyArray
from .._version import __version__
from ..certificates import Certificate
from ..errors import MotlmWarning
from ..explanations import GlobalExplanation
from ..fingerprints import row_keys
from ..localities import LocalModel
from ..mixture import Mixture, View
from ..routine import LINKS, Routine
from ..tables import plain, values_of
from ._curves import shorten
from ._features import FEW, describe, summarize
from ._map import map_of, sample
from ._places import add_places, hides_cases

__all__ = ["payload"]

_TYPICAL = 3  # rows that are shown of each region


def payload(
    mixture: Mixture,
    X: Any,
    y: AnyArray,
    explanation: GlobalExplanation,
    title: str,
    include_rows: bool,
    max_rows: int,
) -> dict[str, Any]:
    """Everything that the page shows and computes with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MotlmWarning)  # explain_global has given them
        view, columns = mixture.view(mixture.encode(X)), values_of(mixture, X)
    routine = mixture.routine()
    features = [
        describe(group, columns[group.name], include_rows) for group in mixture.inputs.groups
    ]
    drawn = map_of(view, y, features, include_rows, max_rows)
    hidden = hides_cases(mixture, include_rows)
    regions = _regions(view, y, columns, explanation, include_rows)
    add_places(view, regions, features, hidden, alone=drawn is None or drawn["kind"] != "plane")
    content = {
        "title": title,
        "version": f"motlm {__version__}",
        "n_rows": explanation.n_rows,
        "score_name": explanation.score_name,
        "score_label": mixture.target.score_label,
        "score": explanation.score,
        "linear_score": explanation.linear_score,
        "ambiguous": explanation.ambiguous,
        **_fitted_rows(view, y),
        "standardized": mixture.provenance.units_from != "nowhere",
        "shared": explanation.shared,
        "contradictions": explanation.contradictions,
        "inverse_temperature": mixture.provenance.inverse_temperature,
        "certificate": (
            None if explanation.certificate is None else _certificate(explanation.certificate)
        ),
        "void": explanation.void,
        "regions": regions,
        "features": features,
        "model": _model(routine, hidden),
        "map": drawn,
        "rows": _rows(view, y, columns, max_rows) if include_rows else None,
        "scales": _scales(mixture),
        "metric_known": "" not in routine.norms,
        "link_known": routine.answer.link in LINKS,
        "hidden": hidden,
    }
    return dict(plain(content))


def _model(routine: Routine, hidden: bool) -> dict[str, Any]:
    """How it predicts; without the centers where they are rows that may not be shown."""
    content = dict(routine.to_dict())
    if hidden:
        content["loci"] = [{**one, "center": None} for one in content["loci"]]
    return content


def _scales(mixture: Mixture) -> dict[str, Any] | None:
    """Deviations of the standardized coefficients, (n_models, n_encoded), and intercepts of each
    model, where the probabilities of several labels depend on them; None else.
    """
    target, posterior = mixture.target, mixture.posterior
    if posterior.coef.ndim < 3 or target.loss_name == "log":  # the softmax of the scores
        return None
    coef, intercept = posterior.deviations
    every = np.zeros((len(coef), len(mixture.inputs.varies)))
    every[:, mixture.inputs.varies] = coef
    return {"coef": every, "intercept": intercept}


def _fitted_rows(view: View, y: AnyArray) -> dict[str, Any]:
    """Which share of the rows was used for fitting, as far as that is known, and the score on
    the others.
    """
    target = view.mixture.target
    keys = row_keys(view.encoded, target.code(y))
    fitted, checkable = view.mixture.provenance.fingerprint.recognize(keys)
    fresh = checkable & ~fitted
    n_fresh = int(fresh.sum())
    return {
        "fitted_share": float(fitted.sum() / checkable.sum()) if checkable.any() else None,
        "n_fresh": n_fresh,
        "fresh_score": target.measure(y[fresh], view.answer[fresh]) if n_fresh >= FEW else None,
    }


def _certificate(certificate: Certificate) -> dict[str, Any]:
    return {
        "validity": certificate.validity,
        "statements": [
            {"code": one.code, "sentence": one.sentence, "flags": list(one.flags)}
            for one in certificate
        ],
        "assumptions": list(dict.fromkeys(text for one in certificate for text in one.assumptions)),
        "checklist": [{**one.to_dict(), "ticked": one.ticked} for one in certificate.checklist],
        "notes": list(certificate.notes),
        "protocol": certificate.protocol,
        "model": certificate.model,
    }


def _regions(
    view: View,
    y: AnyArray,
    columns: dict[str, AnyArray],
    explanation: GlobalExplanation,
    include_rows: bool,
) -> list[dict[str, Any]]:
    mixture, regions = view.mixture, []
    for region in explanation.regions:
        entry = region.to_dict()
        if region.n_rows < FEW and not include_rows:  # a mean of few rows is a row
            entry["balance"] = dict.fromkeys(entry["balance"])
            entry |= dict.fromkeys(("score", "exterior_score", "linear_score"))
        local = mixture.models[region.index]
        entry["formulas"] = [
            {"label": label, "text": shorten(local.of_class(label).formula())}
            for label in local.classes
        ]
        if not local.classes:
            entry["formula"] = shorten(local.formula())
        entry["corrections"] = _corrections(local)
        inside = view.applicable[region.index]
        entry["central"] = summarize(mixture.inputs.groups, columns, inside)
        entry["typical"] = _typical(view, y, columns, region.index) if include_rows else []
        regions.append(entry)
    return regions


def _corrections(local: LocalModel) -> list[dict[str, Any]]:
    """How a model differs from the exterior, by label of several; empty where it is independent."""
    if local.exterior is None:
        return []
    labels = local.classes or (None,)
    each = [local if label is None else local.of_class(label) for label in labels]
    return [
        {"label": label, "text": one.correction()} for label, one in zip(labels, each, strict=True)
    ]


def _typical(view: View, y: AnyArray, columns: dict[str, AnyArray], region: int) -> list[list[Any]]:
    """The rows nearest to the center of a region; of the exterior, to the average training row."""
    mixture = view.mixture
    inside = np.flatnonzero(view.applicable[region])
    if region < mixture.n_localities:
        away = view.distance[region, inside]
    else:
        inputs = mixture.inputs
        gap = inputs.standardize(view.encoded[inside]) - inputs.standardize(inputs.typical[None])
        away = np.linalg.norm(gap, axis=1)
    shown = inside[np.argsort(away, kind="stable")[:_TYPICAL]]
    return [[int(i), y[i], *(column[i] for column in columns.values())] for i in shown]


def _rows(view: View, y: AnyArray, columns: dict[str, AnyArray], most: int) -> dict[str, Any]:
    """Rows of the table, a random choice of them where they are many."""
    answer, used, contradicted = view.answer, view.used, view.contradicted
    return {
        "total": len(y),
        "columns": list(columns),
        "rows": [
            [
                int(i),
                y[i],
                answer[i],
                view.mixture.region_name(int(used[i])),
                bool(contradicted[i]),
                *(column[i] for column in columns.values()),
            ]
            for i in sample(len(y), most)
        ],
    }
