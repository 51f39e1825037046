"""Prior and posterior laws as frozen named arrays, and the vector of free numbers that an optimizer
sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.special import polygamma

from ._typing import Array, ArrayLike
from .vicinity import LIMITS

__all__ = ["FREE_SCALES", "Packing", "Posterior", "Prior"]

_POSITIVE = ("center_scale", "radius_shape", "radius_rate", "coef_scale", "intercept_scale")
FREE_SCALES = (1e-4, 10.0)
"""Range of the posterior scales of weights and intercepts (their priors are near 1)."""
_LIMITS = LIMITS | {
    "radius_rate": (1e-2, 1e3),  # of the mean radius, shape / rate, by which the rate is searched
    "coef_scale": FREE_SCALES,
    "intercept_scale": FREE_SCALES,
}


@dataclass(frozen=True, eq=False)
class Prior:
    """Laws of a locality and its model before any row was seen; the defaults are the paper's.

    Means and scales are in standardized units. Each entry is a number, or an array: one number for
    each locality (and the exterior, for the last four), a row of coordinates for each in `center`
    and `coef`. A prior must lie where the search may go: scales of centers within 0.001 and 2,
    other scales within 0.0001 and 10, shapes within 0.5 and 100000.

    Parameters
    ----------
    center : float or array, (n_localities, n_columns), default=0.0
        Mean of a center.
    center_scale : float or array, (n_localities,), default=1.0
        Its standard deviation along each axis.
    radius_shape, radius_rate : float or array, (n_localities,), default=2.0 and 0.1
        Of the Gamma law of a radius; its mean is shape / rate.
    coef : float or array, (n_localities + 1, n_columns), default=0.0
        Mean of the weights.
    coef_scale : float or array, (n_localities + 1,), default=1.0
        Their standard deviation.
    intercept, intercept_scale : float or array, (n_localities + 1,), default=0.0 and 1.0
        Mean and standard deviation of the intercept.

    Examples
    --------
    Balls that are expected to be small:

    >>> from motlm import LocalMixtureRegressor, Prior
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(100, random_state=0)
    >>> prior = Prior(radius_shape=2.0, radius_rate=4.0)
    >>> mixture = LocalMixtureRegressor(
    ...     points_of_interest=[[0.0]], inverse_temperature=16, n_starts=1, prior=prior, random_state=0
    ... )
    >>> len(mixture.fit(X, y).localities_)
    1
    >>> Prior(coef_scale=0.0)
    Traceback (most recent call last):
        ...
    ValueError: Prior.coef_scale must be positive; got 0.0.
    """

    center: ArrayLike = 0.0
    center_scale: ArrayLike = 1.0
    radius_shape: ArrayLike = 2.0
    radius_rate: ArrayLike = 0.1
    coef: ArrayLike = 0.0
    coef_scale: ArrayLike = 1.0
    intercept: ArrayLike = 0.0
    intercept_scale: ArrayLike = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = np.asarray(getattr(self, field.name), dtype=float)
            if not np.all(np.isfinite(value)):
                raise ValueError(f"Prior.{field.name} must be finite; got {value}.")
            if field.name in _POSITIVE and not np.all(value > 0):
                raise ValueError(f"Prior.{field.name} must be positive; got {value}.")
            low, high = _LIMITS.get(field.name, (-np.inf, np.inf))
            if field.name != "radius_rate" and not np.all((low <= value) & (value <= high)):
                raise ValueError(
                    f"Prior.{field.name} must lie between {low:g} and {high:g}, where posteriors"
                    f" are sought; got {value}."
                )

    def expanded(self, n_localities: int, n_columns: int) -> Prior:
        """The same prior with every entry an array of its full shape."""
        shapes = {
            "center": (n_localities, n_columns),
            "coef": (n_localities + 1, n_columns),
            **dict.fromkeys(("center_scale", "radius_shape", "radius_rate"), (n_localities,)),
            **dict.fromkeys(("coef_scale", "intercept", "intercept_scale"), (n_localities + 1,)),
        }
        full = {}
        for name, shape in shapes.items():
            value = np.asarray(getattr(self, name), dtype=float)
            if value.ndim not in (0, len(shape)) or (value.ndim and value.shape != shape):
                raise ValueError(
                    f"Prior.{name} must be a number or an array of shape {shape}; got shape"
                    f" {value.shape}."
                )
            full[name] = np.broadcast_to(value, shape)
        return Prior(**full)

    @property
    def plain(self) -> bool:
        """Whether every entry is a number, so that it serves any number of localities."""
        return all(np.ndim(getattr(self, field.name)) == 0 for field in fields(self))

    @property
    def alike(self) -> bool:
        """Whether all localities have one prior; for a prior that is `expanded`."""
        n = len(np.asarray(self.radius_shape))
        return all(
            np.all(
                np.asarray(getattr(self, field.name))[:n]
                == np.asarray(getattr(self, field.name))[:1]
            )
            for field in fields(self)
        )

    def keep(self, kept: Sequence[int]) -> Prior:
        """The prior of these localities alone, and of the exterior; for a prior that is `expanded`."""
        return Prior(**_kept(self, kept, len(np.asarray(self.radius_shape))))


@dataclass(frozen=True, eq=False)
class Posterior:
    """Independent laws of all parameters; the exterior model is the last row of the last four
    arrays.

    c_i ~ N(center_i, center_scale_i^2 I), beta_i ~ Gamma(radius_shape_i, radius_rate_i),
    v_i ~ N(coef_i, coef_scale_i^2 I), b_i ~ N(intercept_i, intercept_scale_i^2).  A known center
    has center_scale 0.

    Attributes
    ----------
    center : ndarray, (n_localities, n_coordinates)
        Mean of each center.
    center_scale : ndarray, (n_localities,)
        Standard deviation of each center along each axis.
    radius_shape, radius_rate : ndarray, (n_localities,)
        Of the Gamma law of each radius.
    coef : ndarray, (n_localities + 1, n_features)
        Mean weights.
    coef_scale : ndarray, (n_localities + 1,)
        Standard deviation of the weights.
    intercept, intercept_scale : ndarray, (n_localities + 1,)
        Mean and standard deviation of each intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import Posterior
    >>> law = Posterior(
    ...     center=np.array([[0.0, 0.0], [2.0, 0.0]]),
    ...     center_scale=np.zeros(2),
    ...     radius_shape=np.array([100.0, 400.0]),
    ...     radius_rate=np.array([100.0, 200.0]),
    ...     coef=np.zeros((3, 2)),
    ...     coef_scale=np.ones(3),
    ...     intercept=np.zeros(3),
    ...     intercept_scale=np.ones(3),
    ... )
    >>> law.n_localities, law.radius_mean
    (2, array([1., 2.]))
    >>> law.keep([1]).center, law.keep([1]).coef.shape
    (array([[2., 0.]]), (2, 2))
    """

    center: Array  # (n_localities, n_coordinates)
    center_scale: Array  # (n_localities,)
    radius_shape: Array  # (n_localities,)
    radius_rate: Array  # (n_localities,)
    coef: Array  # (n_localities + 1, n_features); last row is the exterior model
    coef_scale: Array  # (n_localities + 1,)
    intercept: Array  # (n_localities + 1,)
    intercept_scale: Array  # (n_localities + 1,)

    @property
    def n_localities(self) -> int:
        return len(self.radius_shape)

    @property
    def radius_mean(self) -> Array:
        """shape / rate, the paper's radius."""
        return self.radius_shape / self.radius_rate

    def astype(self, dtype: Any) -> Posterior:
        """The same numbers in a floating type."""
        if dtype == np.float64:
            return self
        return Posterior(
            **{field.name: getattr(self, field.name).astype(dtype) for field in fields(self)}
        )

    def keep(self, kept: Sequence[int]) -> Posterior:
        """The posterior of these localities alone, in this order, with the exterior model.

        Parameters
        ----------
        kept : sequence of int
            Indices of the localities.

        Returns
        -------
        Posterior
        """
        return Posterior(**_kept(self, kept, self.n_localities))


def _kept(laws: Prior | Posterior, kept: Sequence[int], n_localities: int) -> dict[str, Array]:
    inside = list(kept)
    models = [*inside, n_localities]
    return {
        field.name: getattr(laws, field.name)[
            inside if field.name.startswith(("center", "radius")) else models
        ]
        for field in fields(laws)
    }


class Packing:
    """The free fields of a posterior as one vector; the other fields stay as in the template.

    Positives enter as logarithms, and the rate as ln(shape / rate), the logarithm of the mean
    radius: shape and rate alone are so strongly bound to each other that a search over them takes
    several times as many steps.
    """

    def __init__(self, template: Posterior, free: Sequence[str]) -> None:
        self.template = template
        self.free = tuple(free)

    def pack(self, posterior: Posterior) -> Array:
        parts = []
        for name in self.free:
            value = posterior.radius_mean if name == "radius_rate" else getattr(posterior, name)
            parts.append((np.log(value) if name in _POSITIVE else value).ravel())
        return np.concatenate(parts)

    def unpack(self, vector: Array) -> Posterior:
        changed = {}
        position = 0
        for name in self.free:
            like = getattr(self.template, name)
            part = vector[position : position + like.size].reshape(like.shape)
            changed[name] = np.exp(part) if name in _POSITIVE else part.copy()
            position += like.size
        if "radius_rate" in changed:
            changed["radius_rate"] = (
                changed.get("radius_shape", self.template.radius_shape) / changed["radius_rate"]
            )
        return replace(self.template, **changed)

    def pack_gradient(self, posterior: Posterior, partials: Posterior) -> Array:
        """d/d ln(v) = v d/dv for the positives; with the mean radius fixed, the rate moves with the
        shape.
        """
        parts = []
        by_log_rate = partials.radius_rate * posterior.radius_rate
        for name in self.free:
            gradient = getattr(partials, name)
            if name in _POSITIVE:
                gradient = gradient * getattr(posterior, name)
            if name == "radius_rate":
                gradient = -by_log_rate
            elif name == "radius_shape" and "radius_rate" in self.free:
                gradient = gradient + by_log_rate
            parts.append(gradient.ravel())
        return np.concatenate(parts)

    def scales(self, posterior: Posterior) -> Array:
        """For each number of the vector 1 / sqrt(Fisher information) of the posterior's own laws:
        how far it may move within about one nat of divergence.
        """
        shape = posterior.radius_shape
        like = {
            "center": np.broadcast_to(posterior.center_scale[:, None], posterior.center.shape),
            "center_scale": np.full(shape.shape, (2.0 * max(posterior.center.shape[1], 1)) ** -0.5),
            "radius_shape": np.maximum(shape * shape * polygamma(1, shape) - shape, 0.2) ** -0.5,
            "radius_rate": shape**-0.5,
            "coef": np.broadcast_to(posterior.coef_scale[:, None], posterior.coef.shape),
            "coef_scale": np.full(
                posterior.coef_scale.shape, (2.0 * max(posterior.coef.shape[1], 1)) ** -0.5
            ),
            "intercept": posterior.intercept_scale,
            "intercept_scale": np.full(posterior.intercept_scale.shape, 2.0**-0.5),
        }
        return np.concatenate([like[name].ravel() for name in self.free])

    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of the vector."""
        lower, upper = [], []
        for name in self.free:
            size = getattr(self.template, name).size
            low, high = np.log(_LIMITS[name]) if name in _LIMITS else (-np.inf, np.inf)
            lower.append(np.full(size, low))
            upper.append(np.full(size, high))
        return np.concatenate(lower), np.concatenate(upper)
