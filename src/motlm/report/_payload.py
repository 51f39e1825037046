"""All the numbers of a report, as plain values that JSON can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, Array
from .._version import __version__
from ..estimators import LocalMixture, LocalMixtureClassifier
from ..explanations import GlobalExplanation
from ..explanations._common import Group, Seen, groups_of, plain, said_by, values_of
from ..explanations._global import _score
from ..fingerprints import row_keys
from ..prediction import spoken

__all__ = ["METRICS", "payload"]

METRICS = (
    "euclidean",
    "l2",
    "minkowski",
    "manhattan",
    "l1",
    "cityblock",
    "chebyshev",
    "seuclidean",
    "mahalanobis",
)
_GRID = 120  # points along each axis of the map
_CENTRAL = (0.1, 0.5, 0.9)
_TYPICAL = 3  # rows that are shown of each region
_FEW = 10  # rows below which nothing is told of a region, unless rows may be shown


def payload(
    model: LocalMixture,
    X: Any,
    y: AnyArray,
    explanation: GlobalExplanation,
    title: str,
    include_rows: bool,
    max_rows: int,
) -> dict[str, Any]:
    """Everything that the page shows and computes with."""
    seen = Seen.of(model, X)
    groups = groups_of(model._columns)
    columns = values_of(model, X)
    classification = isinstance(model, LocalMixtureClassifier)
    regions = []
    for region in explanation.regions:
        entry = region.to_dict()
        if region.n_rows < _FEW and not include_rows:  # a mean of few rows is a row
            entry |= {
                "balance": dict.fromkeys(entry["balance"]),
                "score": None,
                "exterior_score": None,
                "linear_score": None,
            }
        entry["central"] = _central(groups, columns, seen.applicable[region.index])
        entry["typical"] = _typical(model, seen, columns, y, region.index) if include_rows else []
        regions.append(entry)
    known, told = _seen_before(model, seen.encoded, y)
    fresh = ~known & told
    answers = said_by(model, seen.spoken())
    content = {
        "title": title,
        "version": f"motlm {__version__}",
        "kind": "classifier" if classification else "regressor",
        "classes": model.classes_.tolist() if classification else None,
        "n_rows": explanation.n_rows,
        "score_name": explanation.score_name,
        "score": explanation.score,
        "linear_score": explanation.linear_score,
        "ambiguous": explanation.ambiguous,
        "seen": float(known.sum() / told.sum()) if told.any() else None,
        "unseen": int(fresh.sum()),
        "unseen_score": (
            _score(y[fresh], answers[fresh], classification) if fresh.sum() >= _FEW else None
        ),
        "overlap": model.overlap,
        "standardized": model._units_from != "nowhere",
        "residual_scale": getattr(model, "residual_scale_", None),
        "shared": explanation.shared,
        "contradictions": explanation.contradictions,
        "inverse_temperature": model.inverse_temperature_,
        "certificate": (
            None if explanation.certificate is None else _certificate(explanation.certificate)
        ),
        "regions": regions,
        "features": [_feature(group, columns[group.name], include_rows) for group in groups],
        "model": _numbers(model),
        "map": _map(model, seen.encoded, y, include_rows, max_rows),
        "rows": _rows(model, seen, columns, y, max_rows) if include_rows else None,
        "metric_known": _metric_name(model) in METRICS,
    }
    return dict(plain(content))


def _seen_before(model: LocalMixture, encoded: Array, y: AnyArray) -> tuple[Any, Any]:
    """Which rows the model was made from, and for which of them that can be told."""
    if isinstance(model, LocalMixtureClassifier):
        target = np.where(y == model.classes_[1], 1.0, -1.0)
    else:
        target = np.asarray(y, dtype=float)
    return model._fingerprint.known(row_keys(encoded, target))


def _certificate(certificate: Any) -> dict[str, Any]:
    return {
        "validity": certificate.validity,
        "statements": [
            {"code": one.code, "sentence": one.sentence, "flags": list(one.flags)}
            for one in certificate
        ],
        "assumptions": list(dict.fromkeys(text for one in certificate for text in one.assumptions)),
        "notes": list(certificate.notes),
        "protocol": certificate.protocol,
        "model": certificate.model,
    }


def _metric_name(model: LocalMixture) -> str:
    metric = model._fitted.metric
    if metric is None:
        return "euclidean"
    return metric.name if isinstance(metric.name, str) else "function"


def _numbers(model: LocalMixture) -> dict[str, Any]:
    """What the page needs to predict."""
    units, metric = model._fitted.units, model._fitted.metric
    coef, center = model._in_all_columns()
    return {
        "columns": list(model.exterior_.feature_names),
        "unit_center": units.center,
        "inverse_scale": units.inverse_scale * model._fitted.varies,
        "target_center": units.target_center,
        "target_scale": units.target_scale,
        "coef": coef,
        "intercept": model.posterior_.intercept,
        "center": center,
        "radius": model._radius,
        "overlap": model.overlap,
        "metric": _metric_name(model),
        "metric_arguments": {} if metric is None else metric.arguments,
        "typical": model._typical,
        "residual_scale": getattr(model, "residual_scale_", None),
    }


def _feature(group: Group, values: AnyArray, exact: bool) -> dict[str, Any]:
    """What the form needs: levels, or a range. Without rows it is rounded and leaves out the ends,
    which are single rows'.
    """
    entry: dict[str, Any] = {"name": group.name, "start": group.columns.start, "levels": None}
    if group.levels is not None:
        counts = {level: int(np.sum(values == level)) for level in group.levels}
        return {
            **entry,
            "levels": [_text(level) for level in group.levels],
            "usual": _text(max(counts, key=lambda k: counts[k])),
        }
    numbers = np.asarray(values, dtype=float)
    whole = bool(np.all(numbers == np.rint(numbers)))
    low, middle, high = np.quantile(numbers, [0.0, 0.5, 1.0] if exact else [0.02, 0.5, 0.98])
    spread = max(high - low, 1e-12 * max(abs(high), 1.0))
    step = 10.0 ** np.floor(np.log10(spread / 20.0)) if not exact else 0.0
    if step:
        low, middle, high = (
            np.floor(low / step) * step,
            np.rint(middle / step) * step,
            np.ceil(high / step) * step,
        )
    if whole:
        low, middle, high = np.floor(low), np.rint(middle), np.ceil(high)
    digits = 12 if exact else 6
    low, middle, high = (float(f"{value:.{digits}g}") for value in (low, middle, high))
    return {**entry, "low": low, "high": high, "usual": middle, "whole": whole}


def _central(
    groups: list[Group], columns: dict[str, AnyArray], inside: Any
) -> list[dict[str, Any]]:
    """Ranges of the middle rows of a region: no single row can be read from them unless it has very
    few.
    """
    entries: list[dict[str, Any]] = []
    if inside.sum() < 10:
        return entries
    for group in groups:
        values = columns[group.name][inside]
        if group.levels is None:
            low, middle, high = np.quantile(np.asarray(values, dtype=float), _CENTRAL)
            entries.append(
                {"feature": group.name, "text": f"{middle:.4g} ({low:.4g} to {high:.4g})"}
            )
        else:
            names, counts = np.unique(
                np.array([_text(value) for value in values]), return_counts=True
            )
            order = np.argsort(-counts, kind="stable")[:3]
            text = ", ".join(f"{names[k]} {counts[k] / len(values):.0%}" for k in order)
            entries.append({"feature": group.name, "text": text})
    return entries


def _typical(
    model: LocalMixture, seen: Seen, columns: dict[str, AnyArray], y: AnyArray, region: int
) -> list[list[Any]]:
    """The rows nearest to the center of a region."""
    inside = np.flatnonzero(seen.applicable[region])
    if not len(inside):
        return []
    if region < len(seen.member):
        away = seen.distance[region, inside]
    else:
        units = model._fitted.units
        away = np.linalg.norm(
            units.standardized(seen.encoded[inside]) - units.standardized(model._typical[None]),
            axis=1,
        )
    shown = inside[np.argsort(away, kind="stable")[:_TYPICAL]]
    return [[int(i), y[i], *(column[i] for column in columns.values())] for i in shown]


def _rows(
    model: LocalMixture, seen: Seen, columns: dict[str, AnyArray], y: AnyArray, most: int
) -> dict[str, Any]:
    """Rows of the table, a random choice of them where they are many."""
    total = len(y)
    shown = np.arange(total)
    if total > most:
        shown = np.sort(np.random.default_rng(0).permutation(total)[:most])
    answers = said_by(model, seen.spoken())
    contradicted, n = seen.contradicted(model), len(seen.member)
    names = [*(f"locality {i}" for i in range(n)), "exterior", "several"]
    return {
        "total": total,
        "columns": list(columns),
        "rows": [
            [
                int(i),
                y[i],
                answers[i],
                names[int(seen.speaker[i])],
                bool(contradicted[i]),
                *(column[i] for column in columns.values()),
            ]
            for i in shown
        ],
    }


def _map(
    model: LocalMixture, encoded: Array, y: AnyArray, include_rows: bool, most: int
) -> dict[str, Any] | None:
    """The plane of the two columns of a model that has two numbers, or the two directions in which
    rows differ most.
    """
    if _metric_name(model) not in ("euclidean", "l2", "minkowski") or len(encoded) < 3:
        return None
    units, varies = model._fitted.units, model._fitted.varies
    d = len(varies)
    rows, shown = None, np.arange(len(encoded))
    if len(encoded) > most:
        shown = np.sort(np.random.default_rng(0).permutation(len(encoded))[:most])
    target = y[shown] if include_rows else None
    if (
        d == 2
        and all(level is None for level in model._columns.levels)
        and varies.all()
        and (np.ptp(encoded, axis=0) > 0).all()
    ):
        ranges = [
            _feature(group, encoded[:, group.columns.start], include_rows)
            for group in groups_of(model._columns)
        ]
        low, high = (np.array([one[end] for one in ranges]) for end in ("low", "high"))
        margin = 0.05 * (high - low)
        first, second = (
            np.linspace(low[j] - margin[j], high[j] + margin[j], _GRID) for j in range(2)
        )
        grid = np.column_stack([np.repeat(first, _GRID), np.tile(second, _GRID)])
        said = np.concatenate([spoken(routing, model.overlap) for routing in model._routings(grid)])
        classification = isinstance(model, LocalMixtureClassifier)
        z = (
            (said > 0).astype(int)
            if classification
            else said * units.target_scale + units.target_center
        )
        circles = [
            {"name": f"locality {i}", "center": one.center, "width": one.half_width}
            for i, one in enumerate(model.localities_)
            if one.radius > 0 and one.half_width is not None
        ]
        if include_rows:
            rows = encoded[shown]
        axes = list(model.exterior_.feature_names)
        answers = {"x": first, "y": second, "z": z.reshape(_GRID, _GRID).T}
        return {
            "kind": "plane",
            "circles": circles,
            "axes": axes,
            "rows": rows,
            "target": target,
            **answers,
        }
    if int(varies.sum()) < 2 or not model.localities_:
        return None
    Z = units.standardized(encoded)[:, varies]
    middle = Z.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov((Z - middle).T))
    plane = vectors[:, np.argsort(-values)[:2]].T
    plane *= np.where(plane[np.arange(2), np.abs(plane).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    circles = []
    for i, one in enumerate(model.localities_):
        center = plane @ (units.standardized(one.center[None])[0][varies] - middle)
        circles.append(
            {"name": f"locality {i}", "center": center, "width": [one.radius, one.radius]}
        )
    if include_rows:
        rows = (Z[shown] - middle) @ plane.T
    axes = ["principal direction 1", "principal direction 2"]
    return {"kind": "projection", "circles": circles, "axes": axes, "rows": rows, "target": target}


def _text(value: Any) -> str:
    return str(value.item() if isinstance(value, np.generic) else value)
