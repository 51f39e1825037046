"""Prior and posterior distributions as frozen named arrays, and the vector of free numbers that an
optimizer sees.

Each field of `Posterior` declares once what it is (`FIELDS`): over which axes it runs, whether it
is positive, where the search may take it, what any posterior may hold, and how far it may move
within a nat of divergence. Priors, packing, the shapes and ranges in files and the rates of the
paper's solver are derived from that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import polygamma

from ._renamed import warn_of
from ._typing import Array, ArrayLike, Booleans, Integers
from .errors import InputError
from .membership import LIMITS

__all__ = [
    "ANY_WEIGHTS",
    "EVERY",
    "FIELDS",
    "FREE_SCALES",
    "MODEL_FIELDS",
    "WEIGHTS",
    "Declared",
    "Layout",
    "Packing",
    "Posterior",
    "Prior",
    "check_ranges",
    "flatten",
    "settle_scales",
    "shape_of",
    "unflatten",
]

FREE_SCALES = (1e-4, 10.0)
"""Range of the posterior scales of weights and intercepts (their priors are near 1)."""
MEAN_RADII = (1e-2, 1e3)
"""Range of the mean radius, shape / rate, by which the rate is searched."""
MEANS = (-1e100, 1e100)
"""Of weights, intercepts and centers in any posterior; their products with rows of
`limits.FARTHEST` stay floats."""
SCALES = (1e-100, FREE_SCALES[1])
"""Of weights and intercepts in any posterior; closed forms go below what is searched."""
RADII = (1e-30, 1e30)
"""Of the mean radius in any posterior; one that is drawn may be far from the mean."""
WEIGHTS = (1e-4, 1e4)
"""Of a column in a locality's squared distance, where the search may go; their geometric mean is
1."""
ANY_WEIGHTS = (WEIGHTS[0] ** 2, WEIGHTS[1] ** 2)
"""The same in any posterior: those that are searched are divided by their geometric mean."""
LEARNED_RADII = (1e-6, 1e6)
"""Of the mean radius around a learned center, over which tables of upsilon are accurate."""
_GRID = FREE_SCALES[1] * 2.0 ** -np.arange(0.0, 13.5, 0.5)  # of learned scales, in certificates
_ROUNDING = 1e-9  # relative: exp(log(10)) is more than 10


@dataclass(frozen=True)
class Declared:
    """What a field of the posterior is."""

    # "localities", "models" (the exterior is the last), "coordinates", ..; "scores" are the classes
    # where there are several, and no axis else
    axes: tuple[str, ...]
    role: str  # "mean", "scale" or "radius"
    fisher: Callable[[Posterior], Array]  # 1 / sqrt(Fisher information) of each of its numbers
    range: tuple[float, float]  # what any posterior may hold, of closed forms and draws too
    limits: tuple[float, float] | None = None  # where the search may go; None: anywhere
    # the property of the posterior that is searched, and has the limits and the range, in its place
    searched_as: str = ""

    @property
    def positive(self) -> bool:
        return self.role != "mean"


def _declare(
    *axes: str,
    role: str,
    fisher: Callable[[Posterior], Array],
    range: tuple[float, float] = MEANS,
    limits: tuple[float, float] | None = None,
    searched_as: str = "",
) -> Any:
    return field(metadata={"declared": Declared(axes, role, fisher, range, limits, searched_as)})


def _like_scale(mean: str) -> Callable[[Posterior], Array]:
    """Of the means of Gaussians: their scale."""

    def fisher(one: Posterior) -> Array:
        value, scale = getattr(one, mean), getattr(one, f"{mean}_scale")
        return np.broadcast_to(scale.reshape(scale.shape + (1,) * (value.ndim - 1)), value.shape)

    return fisher


def _of_center(one: Posterior) -> Array:
    """As above, in units of the columns' widths."""
    weight = np.where(one.column_weight > 0, one.column_weight, 1.0)
    return np.asarray(one.center_scale[:, None] / np.sqrt(weight))


def _per_axes(mean: str) -> Callable[[Posterior], Array]:
    """Of the logarithms of Gaussians' scales: 1 / sqrt(2 n_axes)."""

    def fisher(one: Posterior) -> Array:
        value, scale = getattr(one, mean), getattr(one, f"{mean}_scale")
        n_axes = int(np.prod(value.shape[1:]))
        return np.full(scale.shape, (2.0 * max(n_axes, 1)) ** -0.5)

    return fisher


def _of_shape(one: Posterior) -> Array:
    shape = one.radius_shape
    return np.asarray(np.maximum(shape * shape * polygamma(1, shape) - shape, 0.2) ** -0.5)


def _of_mean_radius(one: Posterior) -> Array:
    return np.asarray(one.radius_shape**-0.5)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Independent distributions of all parameters; the exterior model is the last row of the last
    four arrays.

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
        Of the Gamma distribution of each radius.
    coef : ndarray, (n_localities + 1, n_features)
        Mean weights; of several classes (n_localities + 1, n_classes, n_features).
    coef_scale : ndarray, (n_localities + 1,)
        Standard deviation of the weights.
    intercept, intercept_scale : ndarray, (n_localities + 1,)
        Mean and standard deviation of each intercept; of several classes their means are
        (n_localities + 1, n_classes).

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import Posterior
    >>> posterior = Posterior(
    ...     center=np.array([[0.0, 0.0], [2.0, 0.0]]),
    ...     center_scale=np.zeros(2),
    ...     radius_shape=np.array([100.0, 400.0]),
    ...     radius_rate=np.array([100.0, 200.0]),
    ...     coef=np.zeros((3, 2)),
    ...     coef_scale=np.ones(3),
    ...     intercept=np.zeros(3),
    ...     intercept_scale=np.ones(3),
    ... )
    >>> posterior.n_localities, posterior.radius_mean
    (2, array([1., 2.]))
    >>> posterior.keep([1]).center, posterior.keep([1]).coef.shape
    (array([[2., 0.]]), (2, 2))
    """

    center: Array = _declare("localities", "coordinates", role="mean", fisher=_of_center)
    center_scale: Array = _declare(
        "localities",
        role="scale",
        fisher=_per_axes("center"),
        range=LIMITS["center_scale"],
        limits=LIMITS["center_scale"],
    )
    radius_shape: Array = _declare(
        "localities",
        role="radius",
        fisher=_of_shape,
        range=LIMITS["radius_shape"],
        limits=LIMITS["radius_shape"],
    )
    radius_rate: Array = _declare(
        "localities",
        role="radius",
        fisher=_of_mean_radius,
        range=RADII,
        limits=MEAN_RADII,
        searched_as="radius_mean",
    )
    coef: Array = _declare("models", "scores", "features", role="mean", fisher=_like_scale("coef"))
    coef_scale: Array = _declare(
        "models", role="scale", fisher=_per_axes("coef"), range=SCALES, limits=FREE_SCALES
    )
    intercept: Array = _declare("models", "scores", role="mean", fisher=_like_scale("intercept"))
    intercept_scale: Array = _declare(
        "models", role="scale", fisher=_per_axes("intercept"), range=SCALES, limits=FREE_SCALES
    )
    layout: Layout | None = None

    @property
    def n_localities(self) -> int:
        return len(self.radius_shape)

    @property
    def column_weight(self) -> Array:
        """(n_localities, n_coordinates): of each column in the squared distance; 1 of balls."""
        return np.ones(self.center.shape) if self.layout is None else self.layout.column_weight

    @property
    def pooled(self) -> bool:
        """Whether local models are corrections of the exterior."""
        return self.layout is not None and self.layout.pooled

    @property
    def deviations(self) -> tuple[Array, Array]:
        """Standard deviations of each model's weights, (n_localities + 1, n_features), and of its
        intercepts, (n_localities + 1,). A correction's are added to the exterior's.
        """
        rho = np.repeat(self.coef_scale[:, None], self.coef.shape[-1], axis=1)
        sigma = self.intercept_scale
        if self.layout is not None and self.layout.pooled:
            local = np.hypot(rho[-1], rho[:-1] * self.layout.corrected)
            rho = np.vstack([local, rho[-1:]])
            sigma = np.append(np.hypot(sigma[:-1], sigma[-1]), sigma[-1])
        return rho, sigma

    def separate(self) -> Posterior:
        """The same models, independent of each other, with their mean deviations."""
        if self.layout is None:
            return self
        rho, sigma = self.deviations
        one = np.sqrt((rho**2).mean(axis=1)) if rho.shape[1] else self.coef_scale
        return replace(self, coef_scale=one, intercept_scale=sigma, layout=None)

    def norms2(self, features: Array) -> Array:
        """(n_localities + 1, n_rows): of the features that each model has own weights for."""
        every = np.einsum("ij,ij->i", features, features)
        if self.layout is None or not self.layout.pooled:
            return np.broadcast_to(every, (self.n_localities + 1, len(features)))
        return np.vstack([self.layout.corrected @ (features**2).T, every])

    def variances(self, norms2: Array) -> Array:
        """Of each model's score, (n_localities + 1, n_rows), from what `norms2` gives. A
        correction's is added to the exterior's.
        """
        variance = norms2 * (self.coef_scale**2)[:, None]
        variance += (self.intercept_scale**2)[:, None]
        if self.pooled:
            variance[:-1] += variance[-1]
        return np.asarray(variance)

    @property
    def radius_mean(self) -> Array:
        """shape / rate, the paper's radius."""
        return self.radius_shape / self.radius_rate

    def content(self) -> dict[str, Any]:
        """All numbers, by their names."""
        made: dict[str, Any] = {name: getattr(self, name) for name in FIELDS}
        return made if self.layout is None else made | self.layout.content()

    def astype(self, dtype: Any) -> Posterior:
        """The same numbers in a floating type."""
        if dtype == np.float64:
            return self
        return replace(self, **{name: getattr(self, name).astype(dtype) for name in FIELDS})

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
        layout = None if self.layout is None else self.layout.keep(kept)
        return Posterior(**_keep(self, kept, self.n_localities), layout=layout)


@dataclass(frozen=True, eq=False)
class Layout:
    """What localities look at, and what their models may change; none of it is random.

    Attributes
    ----------
    column_weight : ndarray, (n_localities, n_coordinates)
        a in the squared distance sum a (x - c)^2; 0 for a column that is not looked at, and the
        others have the geometric mean 1. The center of a learned locality is N(c, center_scale^2 /
        a) there.
    corrected : ndarray, (n_localities, n_features)
        1 where a local model may have a weight of its own, else 0: that of the exterior.
    pooled : bool
        Whether local models are corrections: exterior's weights plus N(coef - exterior's coef,
        coef_scale^2), the same of the intercept. Else they are independent of it, and `corrected`
        is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.posterior import Layout
    >>> layout = Layout(np.array([[1.0, 0.0], [2.0, 0.5]]), np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> layout.dims, layout.keep([1]).column_weight
    (array([1, 2]), array([[2. , 0.5]]))
    """

    column_weight: Array
    corrected: Array
    pooled: bool = True

    @property
    def dims(self) -> Integers:
        """(n_localities,): number of columns that each looks at."""
        return np.asarray((self.column_weight > 0).sum(axis=1))

    def keep(self, kept: Sequence[int]) -> Layout:
        """Of these localities alone."""
        inside = list(kept)
        return replace(
            self, column_weight=self.column_weight[inside], corrected=self.corrected[inside]
        )

    def content(self) -> dict[str, Any]:
        """All numbers, by their names."""
        return {
            "column_weight": self.column_weight,
            "corrected": self.corrected,
            "pooled": self.pooled,
        }

    def join(self, other: Layout) -> Layout:
        """Of both localities, one after another."""
        return replace(
            self,
            column_weight=np.concatenate([self.column_weight, other.column_weight]),
            corrected=np.concatenate([self.corrected, other.corrected]),
        )


FIELDS: dict[str, Declared] = {
    one.name: one.metadata["declared"] for one in fields(Posterior) if one.metadata
}


EVERY = (*FIELDS, "column_weight")  # all numbers, in the order of `flatten`
MODEL_FIELDS = tuple(name for name, one in FIELDS.items() if one.axes[0] == "models")


def shape_of(
    name: str,
    n_localities: int,
    n_coordinates: int,
    n_features: int,
    scores: tuple[int, ...] = (),
) -> tuple[int, ...]:
    """The shape of a field; `scores` is that of a model's score for one row."""
    sizes = {
        "localities": (n_localities,),
        "models": (n_localities + 1,),
        "coordinates": (n_coordinates,),
        "features": (n_features,),
        "scores": scores,
    }
    return sum((sizes[axis] for axis in FIELDS[name].axes), ())


def check_ranges(posterior: Posterior, learned: bool) -> None:
    """Raise, naming the field, where a number is not one that a posterior may hold.

    Parameters
    ----------
    posterior : Posterior
    learned : bool
        Whether centers are learned; the others have a scale of 0.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from motlm import Posterior
    >>> from motlm.posterior import check_ranges
    >>> one, two = np.ones(1), np.ones(2)
    >>> posterior = Posterior(one[None], one, one, one, two[:, None], two, two, two)
    >>> check_ranges(posterior, learned=True)
    >>> check_ranges(replace(posterior, radius_shape=1e30 * one), learned=True)
    Traceback (most recent call last):
        ...
    motlm.errors.InputError: radius_shape must lie between 0.5 and 100000; got 1e+30.
    """
    for name, declared in FIELDS.items():
        shown = declared.searched_as or name
        with np.errstate(all="ignore"):  # a rate of 0 is found by the mean
            value = getattr(posterior, shown)
        low, high = _range_of(name, learned)
        sound = (value >= low - _ROUNDING * abs(low)) & (value <= high + _ROUNDING * abs(high))
        if not np.all(sound):
            stray = value[~sound][0]
            raise InputError(f"{shown} must lie between {low:g} and {high:g}; got {stray:g}.")
    if posterior.layout is not None:
        check_weights(posterior.layout.column_weight, "column_weight")


def check_weights(weights: Array, what: str) -> None:
    """Raise where weights of columns are not 0 or within their range, or their geometric mean is
    not 1.
    """
    low, high = ANY_WEIGHTS
    active = weights > 0
    sound = (weights == 0) | ((weights >= low) & (weights <= high))
    if not sound.all():
        raise InputError(
            f"{what} must be 0, or lie between {low:g} and {high:g}; got {weights[~sound][0]:g}."
        )
    logs = np.log(np.where(active, weights, 1.0)).sum(axis=1)
    mean = np.exp(logs / np.maximum(active.sum(axis=1), 1))
    stray = np.abs(mean - 1.0) > _ROUNDING
    if stray.any():
        raise InputError(f"{what} must have the geometric mean 1; got {mean[stray][0]:g}.")


def _range_of(name: str, learned: bool) -> tuple[float, float]:
    if name == "center_scale" and not learned:
        return 0.0, 0.0
    if name == "radius_rate" and learned:
        return LEARNED_RADII
    return FIELDS[name].range


@dataclass(frozen=True, eq=False)
class Prior:
    """Distributions of a locality and its model before any row was seen; by default the paper's.

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
        Of the Gamma distribution of a radius; its mean is shape / rate.
    coef : float or array, (n_localities + 1, n_columns), default=0.0
        Mean of the weights; of several classes (n_localities + 1, n_classes, n_columns).
    coef_scale : float or array, (n_localities + 1,), default=1.0
        Their standard deviation.
    intercept, intercept_scale : float or array, (n_localities + 1,), default=0.0 and 1.0
        Mean and standard deviation of the intercept; of several classes the mean is
        (n_localities + 1, n_classes).
    learn_scales : bool, default=False
        Whether the scales of the weights are learned in place of those given: one for the exterior
        and one for all localities, the best ones for their posteriors. Then many columns need no
        other brake.

    Examples
    --------
    Balls that are expected to be small:

    >>> from motlm import LocalMixtureRegressor, Prior
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(100, random_state=0)
    >>> prior = Prior(radius_shape=2.0, radius_rate=4.0)
    >>> mixture = LocalMixtureRegressor(
    ...     points_of_interest=[[0.0]], n_starts=1, prior=prior, random_state=0
    ... )
    >>> len(mixture.fit(X, y).localities_)
    1
    >>> Prior(coef_scale=0.0)
    Traceback (most recent call last):
        ...
    motlm.errors.InputError: Prior.coef_scale must be positive; got 0.0.
    """

    center: ArrayLike = 0.0
    center_scale: ArrayLike = 1.0
    radius_shape: ArrayLike = 2.0
    radius_rate: ArrayLike = 0.1
    coef: ArrayLike = 0.0
    coef_scale: ArrayLike = 1.0
    intercept: ArrayLike = 0.0
    intercept_scale: ArrayLike = 1.0
    learn_scales: bool = False

    def __post_init__(self) -> None:
        for name, declared in FIELDS.items():
            value = np.asarray(getattr(self, name), dtype=float)
            if not np.all(np.isfinite(value)):
                raise InputError(f"Prior.{name} must be finite; got {value}.")
            if declared.positive and not np.all(value > 0):
                raise InputError(f"Prior.{name} must be positive; got {value}.")
            low, high = declared.limits or declared.range
            if declared.searched_as:  # anywhere, within the range of computing
                low, high = declared.range
            if not np.all((low <= value) & (value <= high)):
                raise InputError(
                    f"Prior.{name} must lie between {low:g} and {high:g}, where posteriors are"
                    f" sought; got {value}."
                )

    def expand(self, n_localities: int, n_columns: int, scores: tuple[int, ...] = ()) -> Prior:
        """The same prior with every entry an array of its full shape."""
        full = {}
        for name in FIELDS:
            shape = shape_of(name, n_localities, n_columns, n_columns, scores)
            value = np.asarray(getattr(self, name), dtype=float)
            if value.ndim not in (0, len(shape)) or (value.ndim and value.shape != shape):
                raise InputError(
                    f"Prior.{name} must be a number or an array of shape {shape}; got shape"
                    f" {value.shape}."
                )
            full[name] = np.broadcast_to(value, shape)
        return Prior(**full, learn_scales=self.learn_scales)

    def expanded(self, n_localities: int, n_columns: int) -> Prior:
        """Renamed: see `expand`."""
        warn_of("Prior.expanded", "Prior.expand")
        return self.expand(n_localities, n_columns)

    @property
    def n_localities(self) -> int:
        """Of a prior that was expanded."""
        return len(np.asarray(self.radius_shape))

    @property
    def plain(self) -> bool:
        """Whether every entry is a number, so that it serves any number of localities."""
        return all(np.ndim(getattr(self, name)) == 0 for name in FIELDS)

    @property
    def alike(self) -> bool:
        """Whether all localities have one prior; for a prior that was expanded."""
        n = self.n_localities
        return all(
            np.all(np.asarray(getattr(self, name))[:n] == np.asarray(getattr(self, name))[:1])
            for name in FIELDS
        )

    def keep(self, kept: Sequence[int]) -> Prior:
        """The prior of these localities and of the exterior; for a prior that was expanded."""
        return Prior(**_keep(self, kept, self.n_localities), learn_scales=self.learn_scales)


def settle_scales(prior: Prior, posterior: Posterior) -> tuple[Prior, float]:
    """A prior whose learned scales are those of this posterior, rounded to a grid, and what the
    choice of them costs in a bound over the training rows, in nats.

    The grid does not depend on the rows, so that each of its values may be paid for alike. One is
    for the exterior's weights, one for those of all localities; of corrections, for their weights
    and intercepts.

    Parameters
    ----------
    prior : Prior
        That was expanded.
    posterior : Posterior

    Returns
    -------
    prior : Prior
        With fixed scales.
    price : float

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import Posterior, Prior
    >>> from motlm.posterior import settle_scales
    >>> none, one = np.empty(0), np.ones(1)
    >>> coef = np.array([[0.3, -0.4]])
    >>> posterior = Posterior(
    ...     np.empty((0, 2)), none, none, none, coef, 0.1 * one, 0.2 * one, 0.1 * one
    ... )
    >>> prior, price = settle_scales(Prior(learn_scales=True).expand(0, 2), posterior)
    >>> prior.coef_scale.round(3), round(price, 2)
    (array([0.312]), 3.3)
    """
    if not prior.learn_scales:
        return prior, 0.0
    n = posterior.n_localities
    squares = _squares(prior, posterior)
    scales, price = np.array(prior.coef_scale, dtype=float), 0.0
    for models, values in ((slice(0, n), squares[:n]), (slice(n, n + 1), squares[n:])):
        every = np.concatenate([np.empty(0), *values])
        if every.size:
            best = np.sqrt(every.mean())
            scales[models] = _GRID[np.abs(np.log(_GRID / best)).argmin()]
            price += np.log(len(_GRID))
    return replace(prior, learn_scales=False, coef_scale=scales), float(price)


def _squares(prior: Prior, posterior: Posterior) -> list[Array]:
    """Of each model the mean squares, under the posterior, of the numbers that share a scale: its
    weights; of a correction its weights and its intercept, as differences from the exterior.
    """
    coef, intercept, layout = posterior.coef, posterior.intercept, posterior.layout
    rho, sigma = posterior.coef_scale, posterior.intercept_scale
    gap = coef - np.asarray(prior.coef)
    found = []
    for i in range(len(coef)):
        if layout is None or not layout.pooled or i == posterior.n_localities:
            found.append((gap[i] ** 2 + rho[i] ** 2).ravel())
            continue
        own = (coef[i] - coef[-1])[..., layout.corrected[i] > 0]
        shift = np.atleast_1d(intercept[i] - intercept[-1])
        found.append(
            np.concatenate([(own**2 + rho[i] ** 2).ravel(), (shift**2 + sigma[i] ** 2).ravel()])
        )
    return found


def _keep(fields_of: Prior | Posterior, kept: Sequence[int], n_localities: int) -> dict[str, Array]:
    inside = list(kept)
    which = {"localities": inside, "models": [*inside, n_localities]}
    return {name: getattr(fields_of, name)[which[one.axes[0]]] for name, one in FIELDS.items()}


def flatten(
    of: Prior | Posterior,
    n_localities: int = 0,
    n_coordinates: int = 0,
    n_features: int = 0,
    scores: tuple[int, ...] = (),
) -> Array:
    """All numbers of a posterior, field by field and last the weights of columns, in one array; of
    a prior, for these shapes.
    """
    parts = []
    for name in FIELDS:
        value = np.asarray(getattr(of, name), dtype=float)
        if isinstance(of, Prior):
            shape = shape_of(name, n_localities, n_coordinates, n_features, scores)
            value = np.broadcast_to(value, shape)
        parts.append(value.ravel())
    if isinstance(of, Prior):
        parts.append(np.ones(n_localities * n_coordinates))
    else:
        parts.append(of.column_weight.ravel())
    return np.concatenate(parts)


def unflatten(numbers: Array, like: Posterior) -> Posterior:
    """The posterior of an array that `flatten` gives, with shapes like another one's."""
    fields, position = {}, 0
    for name in FIELDS:
        old = getattr(like, name)
        fields[name] = numbers[position : position + old.size].reshape(old.shape)
        position += old.size
    layout = like.layout
    if layout is not None:
        weight = numbers[position:].reshape(layout.column_weight.shape)
        layout = replace(layout, column_weight=weight)
    return Posterior(**fields, layout=layout)


class Packing:
    """The free fields of a posterior as one vector; the other fields stay as in the template.

    Positives enter as logarithms, and the rate as ln(shape / rate), the logarithm of the mean
    radius: shape and rate alone are so strongly bound to each other that a search over them takes
    several times as many steps.
    """

    def __init__(
        self,
        template: Posterior,
        free: Sequence[str],
        plain: bool = False,
        signs: Integers | None = None,
        struck: Booleans | None = None,
        sharpest: float = np.inf,
    ) -> None:
        self.template = template
        self.free = tuple(free)
        self.plain = plain  # whether all numbers enter as they are
        self.signs = signs  # (n_features,), of weights that must not have the other sign; 0: any
        self.struck = struck  # (n_localities + 1, n_features), those that stay 0
        self.sharpest = sharpest  # largest shape of a radius

    @property
    def shared(self) -> bool:
        """Whether local models enter as differences from the exterior."""
        return self.template.pooled and "coef" in self.free and not self.plain

    @cached_property
    def _places(self) -> dict[str, Integers]:
        """Of each free field, which of its numbers are free."""
        layout, places = self.template.layout, {}
        for name in self.free:
            every = np.arange(getattr(self.template, name).size)
            if layout is not None and not self.plain:
                if name in ("center", "column_weight"):
                    active = layout.column_weight > 0
                    if name == "column_weight":  # of one column it is 1
                        active = active & (layout.dims > 1)[:, None]
                    every = every[active.ravel()]
                elif name == "coef" and layout.pooled:
                    own = np.ones(self.template.coef.shape, dtype=bool)
                    flags = layout.corrected > 0
                    own[:-1] = flags[:, None] if own.ndim > 2 else flags
                    every = every[own.ravel()]
            places[name] = every
        return places

    @cached_property
    def vector(self) -> Any:
        """Which numbers are free, as the engine takes it."""
        from ._engine import objective as engine

        template, first, position = self.template, {}, 0
        for name in EVERY:
            first[name], position = position, position + getattr(template, name).size
        at, kinds = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for name, places in self._places.items():
            kind = engine.LOG if _declared(name).positive else engine.LINEAR
            if name == "radius_rate":
                kind = engine.MEAN_RADIUS
            elif name == "radius_shape" and "radius_rate" in self.free:
                kind = engine.SHAPE
            elif name == "column_weight":
                kind = engine.WIDTH
            at.append(first[name] + places)
            kinds.append(np.full(len(places), engine.LINEAR if self.plain else kind))
        return engine.Vector(
            flatten(template),
            np.concatenate(at),
            np.concatenate(kinds),
            "column_weight" in self.free and not self.plain,
            template.center.shape[1],
            self.shared,
            first["coef"],
            template.coef[0].size,
            first["intercept"],
            template.intercept[0].size,
        )

    @property
    def exterior(self) -> int | None:
        """The first of the exterior's weights in the vector; None where they are not in it."""
        first = 0
        for name, places in self._places.items():
            if name == "coef":
                return first + len(places) - int(self.template.coef[-1].size)
            first += len(places)
        return None

    def pack(self, posterior: Posterior) -> Array:
        parts = [np.empty(0)]
        for name, places in self._places.items():
            value = getattr(posterior, name)
            if self.shared and name in ("coef", "intercept"):
                value = np.concatenate([value[:-1] - value[-1:], value[-1:]])
            declared = _declared(name)
            value = getattr(posterior, declared.searched_as or name) if declared.positive else value
            if self.plain:
                value = getattr(posterior, name)
            value = value.ravel()[places]
            parts.append(np.log(value) if declared.positive and not self.plain else value)
        return np.concatenate(parts)

    def unpack(self, vector: Array) -> Posterior:
        from ._engine.entries import to_posterior

        n = self.template.n_localities
        values = np.array(vector, dtype=float)
        return unflatten(to_posterior(self.vector, n, values), self.template)

    def pack_gradient(self, posterior: Posterior, partials: Posterior) -> Array:
        """d/d ln(v) = v d/dv for the positives; with the mean radius fixed, the rate moves with the
        shape, and with the exterior all corrections of it.
        """
        from ._engine.entries import to_gradient

        n = self.template.n_localities
        return np.asarray(to_gradient(self.vector, n, flatten(posterior), flatten(partials)))

    def scales(self, posterior: Posterior) -> Array:
        """For each number of the vector 1 / sqrt(Fisher information) of the posterior's own
        distributions: how far it may move within about one nat of divergence.
        """
        parts = [
            _declared(name).fisher(posterior).ravel()[places]
            for name, places in self._places.items()
        ]
        return np.concatenate([np.empty(0), *parts])

    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of the vector."""
        lower, upper = [np.empty(0)], [np.empty(0)]
        for name, places in self._places.items():
            limits = _declared(name).limits
            low, high = (-np.inf, np.inf) if limits is None else np.log(limits)
            lower.append(np.full(len(places), low))
            upper.append(np.full(len(places), high))
            if name == "radius_shape":
                upper[-1] = np.minimum(upper[-1], np.log(self.sharpest))
            if name == "coef" and self.signs is not None:
                # where models are corrections, of the exterior's weights and of all differences
                own = np.resize(self.signs, self.template.coef.size)[places]
                lower[-1][own > 0] = 0.0
                upper[-1][own < 0] = 0.0
            if name == "coef" and self.struck is not None:
                shape, several = self.template.coef.shape, self.template.coef.ndim > 2
                flags = self.struck[:, None] if several else self.struck
                gone = np.broadcast_to(flags, shape).ravel()[places]
                lower[-1][gone] = upper[-1][gone] = 0.0
        return np.concatenate(lower), np.concatenate(upper)


def _declared(name: str) -> Declared:
    return _WIDTHS if name == "column_weight" else FIELDS[name]


# within one nat of its prior a logarithm of a weight moves by 1, and the radius' spread limits it
_WIDTHS = Declared(
    ("localities", "coordinates"),
    "width",
    lambda one: np.full(one.column_weight.shape, 0.3),
    WEIGHTS,
    WEIGHTS,
)
