"""The hash by which certificates named a model before schema 3.

It went over the numbers that the estimator kept for people too, so that it is taken from those that
are written in the file.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from ..inputs import Columns
from ..localities import LocalModel
from ..mixture import Mixture
from ..posterior import FIELDS

__all__ = ["remember_hash"]

_HASHED = (  # beside the names of columns; what models show since then is not
    *("center", "center_scale", "coef", "coef_scale", "half_width", "intercept"),
    *("intercept_scale", "n_rows", "point", "radius", "radius_mean"),
)


def remember_hash(mixture: Mixture, estimator: str, shown: tuple[LocalModel, ...]) -> Mixture:
    """The mixture with its hash, and its hash by the former rule, so that certificates that name
    the latter can be verified while the former is unchanged.
    """
    hashes = mixture.hash, _earlier_hash(mixture, estimator, shown)
    return replace(mixture, provenance=replace(mixture.provenance, earlier_hash=hashes))


def _earlier_hash(mixture: Mixture, estimator: str, shown: tuple[LocalModel, ...]) -> str:
    inputs, target, posterior = mixture.inputs, mixture.target, mixture.posterior
    units, geometry = inputs.units, mixture.geometry.content()
    parts: list[Any] = [
        *(estimator, mixture.overlap.name, inputs.handle_unknown, mixture.geometry.learned),
        *_metric_parts(geometry.get("metric")),
        *(getattr(posterior, name) for name in sorted(FIELDS)),
        *(units.center, units.inverse_scale, float(target.center), float(target.scale)),
        *(inputs.varies, geometry["radius"], geometry.get("points"), target.classes),
        *(_named(inputs.columns), inputs.typical),
    ]
    for one in shown:
        values = vars(one)
        parts.append(one.feature_names)
        parts += [values[name] for name in _HASHED if name in values]
    digest = sha256()
    for part in parts:
        digest.update(_bytes_of(part) + b"|")
    return digest.hexdigest()


def _named(columns: Columns) -> str:
    """As columns were shown then."""
    return f"Columns(names={columns.names!r}, levels={columns.levels!r})"


def _metric_parts(metric: dict[str, Any] | None) -> list[Any]:
    if metric is None:
        return []
    arguments = metric["arguments"]
    return [metric["name"], *(part for key in sorted(arguments) for part in (key, arguments[key]))]


def _bytes_of(part: Any) -> bytes:
    if not isinstance(part, (np.ndarray, float)):
        return repr(part).encode()
    array = np.asarray(part)
    objects = array.dtype == object
    content = repr(array.tolist()).encode() if objects else np.ascontiguousarray(array).tobytes()
    return repr(array.shape).encode() + content
