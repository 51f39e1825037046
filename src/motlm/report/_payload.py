"""All the numbers of a report, as plain values that JSON can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, Array
from .._version import __version__
from ..certificates import Certificate
from ..errors import InputError
from ..explanations import GlobalExplanation
from ..fingerprints import one_of_equal, row_keys
from ..localities import LocalModel
from ..mixture import Mixture, View
from ..pipelines import LevelSet, Subject
from ..routine import LINKS, Routine
from ..tables import number, plain, values_of
from ..targets import Continuous
from ._card import statements_of
from ._curves import shorten
from ._features import FEW, describe, summarize
from ._map import map_of, sample
from ._places import add_places, hides_cases

__all__ = ["payload", "rows_to_judge_on", "table_of_regions"]

_COVERAGE = 0.9  # of prediction intervals that no certificate has
_TYPICAL = 3  # rows that are shown of each region
_TELLING = 300  # rows that are looked for and not found: of all, at most 1 % were used (95 % sure)


def payload(
    subject: Subject,
    X: Any,
    y: AnyArray,
    explanation: GlobalExplanation,
    title: str,
    include_rows: bool,
    max_rows: int,
    view: View,
    judged: dict[str, Any],
    exposure: str | None,
) -> dict[str, Any]:
    """Everything that the page shows and computes with."""
    mixture = subject.mixture
    columns = values_of(mixture, X)
    routine = mixture.routine()
    features = [
        describe(group, columns[group.name], include_rows) for group in mixture.inputs.groups
    ]
    for feature in features:
        if feature["name"] in subject.bound:
            feature["bound"] = True
    _choose_levels(subject, features, columns)
    drawn = map_of(view, y, features, include_rows, max_rows)
    hidden = hides_cases(mixture, include_rows)
    regions = _regions(view, y, columns, explanation, include_rows)
    alone = drawn is None or drawn["kind"] != "plane"
    add_places(view.filled, regions, features, hidden, alone, include_rows)
    content = {
        "title": title,
        "version": f"motlm {__version__}",
        "n_rows": explanation.n_rows,
        "score_name": explanation.score_name,
        "score_label": mixture.target.score_label,
        "score": explanation.score,
        "linear_score": explanation.linear_score,
        "ambiguous": explanation.ambiguous,
        **{name: judged[name] for name in ("fitted_share", "n_fresh", "unseen")},
        "note": explanation.note,
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
        "missing": explanation.missing,
        "model": _model(routine, hidden),
        "map": drawn,
        "rows": _rows(view, y, columns, max_rows) if include_rows else None,
        "scales": _scales(mixture),
        "metric_known": "" not in routine.norms,
        "link_known": routine.answer.link in LINKS,
        "hidden": hidden,
        "references": _references(mixture, hidden),
        "intervals": _intervals(mixture, explanation.certificate),
        "probabilistic": mixture.target.loss_name == "log" and mixture.target.classes is not None,
        "fair": explanation.reference is not None,
        "per": exposure,
    }
    return dict(plain(content))


def _model(routine: Routine, hidden: bool) -> dict[str, Any]:
    """How it predicts; without the centers where they are rows that may not be shown."""
    content = dict(routine.to_dict())
    if hidden:
        content["loci"] = [{**one, "center": None} for one in content["loci"]]
    return content


def _choose_levels(
    subject: Subject, features: list[dict[str, Any]], columns: dict[str, AnyArray]
) -> None:
    """The form starts at the most frequent level of each category that steps encode."""
    starts = [group.columns.start for group in subject.mixture.inputs.groups]
    for group in (one for one in subject.groups if isinstance(one, LevelSet)):
        own = [features[starts.index(j)] for j in group.columns.tolist()]
        rows = np.column_stack([columns[one["name"]].astype(float) for one in own])
        counts = [int((rows == code).all(axis=1).sum()) for code in group.codes]
        for one, value in zip(own, group.codes[int(np.argmax(counts))].tolist(), strict=True):
            one["usual"] = value


def _own_view(subject: Subject, X: Any) -> View:
    return subject.own.view(subject.own.encode(subject.own_table(X)))


def _references(mixture: Mixture, hidden: bool) -> Array | None:
    """Encoded rows that contributions of each model are relative to; None where they are not known,
    or there is no form.
    """
    summary = mixture.provenance.summary
    return None if summary is None or hidden else summary.medians


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


def rows_to_judge_on(
    subject: Subject, X: Any, view: View, y: AnyArray, certificate: Certificate | None
) -> dict[str, Any]:
    """Which share of the rows was used for fitting, as far as that is known; and which rows the
    model is judged on: those not used for fitting, if there are enough of them, or all. Where some
    can be looked for, a random part, and none of them was used, the others are taken to be alike.
    Of copies one is counted, as in a certificate; the rows of the certificate are taken as they
    are.
    """
    own = view if subject.steps is None else _own_view(subject, X)  # as the estimator got them
    codes = own.mixture.target.code(y)
    keys, fingerprint = row_keys(own.encoded, codes), own.mixture.provenance.fingerprint
    fitted, checkable = fingerprint.recognize(keys)
    found, n_checkable = int(fitted.sum()), int(checkable.sum())
    by_chance = bool(found and fingerprint.is_chance(keys, own.encoded, codes))
    fresh = checkable & (~fitted | by_chance)
    sealed = _are_sealed(view, y, certificate) and (not found or by_chance)
    # of large tables hashes of some rows are kept, and so some of these can be looked for
    if sealed or (n_checkable >= _TELLING and fresh.sum() == n_checkable):
        fresh = np.ones(len(y), dtype=bool)
    n_fresh = int(fresh.sum())
    if fresh.any() and not sealed:
        fresh[fresh] = one_of_equal(own.encoded[fresh], codes[fresh])
    unseen = bool(fresh.sum() >= FEW or (n_checkable == len(y) and n_fresh == len(y)))
    return {
        "fitted_share": found / n_checkable if n_checkable else None,
        "n_fresh": int(fresh.sum()),
        "n_copies": n_fresh - int(fresh.sum()),
        "all_known": n_checkable == len(y),
        "by_chance": by_chance,
        "unseen": unseen,
        "sealed": sealed,
        "judged": fresh if unseen else np.ones(len(y), dtype=bool),
    }


def _are_sealed(view: View, y: AnyArray, certificate: Certificate | None) -> bool:
    """Whether these are the rows of a certificate, by their number and the errors on them."""
    if certificate is None or certificate.headline.n_rows != len(y):
        return False
    one = certificate.headline
    if one.predictor != "fixed":
        return False
    if view.mixture.target.classes is not None:
        return one.errors == int(np.sum(view.answer != y))
    off = np.abs(np.asarray(y, dtype=float) - view.answer) <= one.details.get("tolerance", 0.0)
    return one.errors == int(np.sum(~off))


def _certificate(certificate: Certificate) -> dict[str, Any]:
    return {
        "headline": certificate.headline.sentence,
        "validity": certificate.validity,
        "statements": statements_of(certificate),
        "assumptions": list(dict.fromkeys(text for one in certificate for text in one.assumptions)),
        "checklist": [{**one.to_dict(), "ticked": one.ticked} for one in certificate.checklist],
        "notes": list(certificate.notes),
        "protocol": certificate.protocol,
        "model": certificate.model,
    }


def _intervals(mixture: Mixture, certificate: Certificate | None) -> dict[str, Any] | None:
    """The half-widths of prediction intervals: by the model used, where they are certified; and of
    any, from the errors of rows that were left out of fits.
    """
    found = [] if certificate is None else [one for one in certificate.of("interval") if one.value]
    coverage = found[0].details["coverage"] if found else _COVERAGE
    return {
        "coverage": coverage,
        "certified": {str(one.region_index): one.value for one in found},
        "about": _half_width(mixture, coverage),
    }


def _half_width(mixture: Mixture, coverage: float) -> float | None:
    """None where nothing is known of the errors of new rows."""
    if not isinstance(mixture.target, Continuous):
        return None
    try:
        return mixture.target.half_width(coverage)
    except InputError:
        return None


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
        entry["note"] = region.note
        entry["typical"] = _typical(view, y, columns, region.index) if include_rows else []
        regions.append(entry)
    return regions


def table_of_regions(regions: list[dict[str, Any]], fair: bool) -> dict[str, Any]:
    """What stands in the table of regions, as texts; with one linear model where it was fitted to
    the same rows as the mixture.
    """
    scores = {"its own model": "score", "exterior model": "exterior_score"}
    if fair:
        scores["one linear model"] = "linear_score"
    cells = [
        [
            str(one["n_rows"]),
            f"{100 * one['share']:.1f} %",
            *(number(one[name]) for name in scores.values()),
            *(number(value, 3) for value in one["balance"].values()),
        ]
        for one in regions
    ]
    names = ["rows", "share", *scores, *regions[0]["balance"]]
    return {"region_columns": names, "region_cells": cells}


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
