"""Certificates of rates: actual over expected, overall and in each region, and the deviance beside
that of simpler tariffs.

Two intervals of actual over expected, theta = E[claims] / E[expected claims] over the rows to come:

- If claims are Poisson given their rows, with theta times the expected number: the exact interval
  of Garwood (1936), from quantiles of the chi-squared distribution. Claims that come in clusters
  (overdispersion, contagion) make it too narrow: with a variance of phi times the mean it would
  have to be sqrt(phi) times as wide; `dispersion` is an estimate of phi.
- Without that: rows are independent draws of one distribution, and of each row at most `largest`
  claims are counted. All theta that bets on claims - theta expected do not refute, from either side
  (Waudby-Smith and Ramdas, 2024).

The deviance of a row is clipped, too, since it has no bound of its own.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import gammaincinv
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .._betting import check_delta
from .._typing import Array, Booleans
from ..bounds import betting, betting_reduction, is_below
from ..checks import check_exposure
from ..errors import CertificateError, InputError, InputTypeError
from ..frames import from_arrow
from ..mixture import Mixture, mixture_of
from ..tables import number
from ..targets import Rate
from ._certify import DEFAULT_SEALED
from ._groups import (
    check_groups,
    count_groups,
    describe_counted,
    describe_split,
    draw,
    group_equal_rows,
    one_of_each,
)
from ._guards import refuse_training_rows
from ._words import round_interval, round_number

__all__ = ["RateCertificate", "RateStatement", "audit_rates", "certify_rates", "ratio_interval"]

_LARGEST, _CLIP = 4.0, 12.0  # claims and deviance of a row that are counted
_TIMES = 10.0  # of the mean of a row, that are counted where claims are many
_DEVIATIONS = 6.0  # from the mean of a row, up to which amounts are counted
_SHARE = 0.6  # of delta, for actual over expected; the rest is for deviances
_STEPS = 60  # of halving, for the ends of an interval
_WIDEST = 1e4  # actual over expected beyond which an interval has no end


@dataclass(frozen=True)
class RateStatement:
    """Actual over expected in one region, with its two intervals.

    Attributes
    ----------
    region : str
        "everywhere", "locality 0", .., "exterior".
    n_rows : int
    exposure, actual, expected : float
        Sums over the rows.
    poisson : tuple of float or None
        The interval if claims are Poisson; None for amounts and other losses.
    free : tuple of float
        The interval that does not assume it; of claims counted up to `largest` in each row.
    dispersion : float or None
        Pearson's estimate of the variance of claims in units of their mean.
    delta : float
        The probability with which either interval may fail.
    largest : float or None
        Up to which the amount of a row is counted; None for numbers of claims.

    Examples
    --------
    >>> from motlm.certificates import RateStatement
    >>> ends = (0.7, 1.1), (0.6, 1.3)
    >>> one = RateStatement("everywhere", 900, 800.0, 90.0, 100.0, *ends, 1.0, 0.05)
    >>> one.ratio
    0.9
    """

    region: str
    n_rows: int
    exposure: float
    actual: float
    expected: float
    poisson: tuple[float, float] | None
    free: tuple[float, float]
    dispersion: float | None
    delta: float
    largest: float | None = None

    @property
    def ratio(self) -> float:
        """Actual over expected."""
        return self.actual / self.expected if self.expected > 0 else math.nan

    def __str__(self) -> str:
        where = "" if self.region == "everywhere" else f" in {self.region}"
        text = (
            f"Actual over expected{where}: {self.actual:g} / {self.expected:.4g} ="
            f" {self.ratio:.3f} in {self.n_rows} rows."
        )
        if self.poisson is not None:
            text += f" If claims are Poisson: {round_interval(*self.poisson)}."
            text += f" Without that assumption: {round_interval(*self.free)}."
        else:
            counted = (
                "" if self.largest is None else f", counting up to {number(self.largest)} a row"
            )
            text += f" Certified{counted}: {round_interval(*self.free)}."
        if self.dispersion is not None:
            text += f" Dispersion {self.dispersion:.2f}."
        return text


@dataclass(frozen=True)
class RateCertificate:
    """What is certified of a model of rates on rows that were not used for fitting it.

    Attributes
    ----------
    ratios : tuple of RateStatement
        The first is of all rows, the others of the regions; all hold together.
    deviance : float
        Upper bound on the mean clipped deviance of a row.
    observed_deviance : float
        The mean clipped deviance of these rows.
    reductions : dict of str to (float or None, float)
        By which share the deviance is smaller than that of "the mean rate" and "one GLM": a lower
        bound (None: not even -1), and what was seen.
    delta : float
        All of it holds together but for this probability.
    n_rows : int
    largest, clip : float
        Claims, and deviance, of one row that are counted.
    clipped : tuple of float
        Shares of the rows beyond either.
    model : str
        Hash of the model.
    protocol : str

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.certificates import certify_rates
    >>> rng = np.random.default_rng(0)
    >>> X, years = rng.uniform(size=(3000, 1)), rng.uniform(0.5, 1, size=3000)
    >>> claims = rng.poisson(years * 0.3 * np.exp(X[:, 0]))
    >>> mixture = LocalMixtureRegressor(0, loss="poisson", random_state=0)
    >>> model, certificate = certify_rates(mixture, X, claims, exposure=years)
    >>> everywhere = certificate.ratios[0]
    >>> print(everywhere)  # doctest: +ELLIPSIS
    Actual over expected: 320 / ... If claims are Poisson: between 0.80... and 1.0...
    >>> everywhere.free[0] < everywhere.ratio < everywhere.free[1]
    True
    """

    ratios: tuple[RateStatement, ...]
    deviance: float
    observed_deviance: float
    reductions: dict[str, tuple[float | None, float]]
    delta: float
    n_rows: int
    largest: float
    clip: float
    clipped: tuple[float, float]
    model: str
    protocol: str

    @property
    def assumptions(self) -> tuple[str, ...]:
        """In words."""
        poisson = self.ratios[0].poisson is not None
        what = " claims and expected claims" if poisson else ", and as much expected"
        beyond = number(100 * max(self.clipped), 2)
        made = (
            "The rows are independent draws of the cases to come, and were not used for fitting.",
            f"Of one row at most {number(self.largest)}{what}, and a deviance of at most"
            f" {number(self.clip)}, are counted; {beyond} % of the rows have more.",
        )
        if not poisson:
            return made
        return (
            *made,
            "The intervals that say so: claims are Poisson given the row, with one factor for all"
            " rows of a region. Claims in clusters (a dispersion above 1) make them too narrow.",
        )

    def describe_reduction(self, name: str) -> str:
        """What is certified of the deviance beside that of "the mean rate" or "one GLM"."""
        bound, _ = self.reductions[name]
        if bound is None or bound <= 0:
            return f"is not shown to be smaller than that of {name}"
        return f"is at least {round_number(100 * bound, False)} % smaller than that of {name}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {**asdict(self), "assumptions": list(self.assumptions), "text": str(self)}

    def to_frame(self) -> Any:
        """Actual over expected as a pandas table, one row for each region."""
        import pandas as pd

        rows = []
        for one in self.ratios:
            low, high = one.poisson or (math.nan, math.nan)
            rows.append(
                {
                    "region": one.region,
                    "rows": one.n_rows,
                    "exposure": one.exposure,
                    "actual": one.actual,
                    "expected": one.expected,
                    "ratio": one.ratio,
                    "low, Poisson": low,
                    "high, Poisson": high,
                    "low": one.free[0],
                    "high": one.free[1],
                    "dispersion": one.dispersion,
                }
            )
        return pd.DataFrame(rows)

    def __str__(self) -> str:
        sure = 100 * (1 - self.delta)
        lines = [f"With {sure:g} % confidence, on {self.n_rows} rows, all of this holds:"]
        lines += [f"- {one}" for one in self.ratios]
        lines.append(
            f"- The mean deviance of a row, counted up to {number(self.clip)}, is at most"
            f" {round_number(self.deviance, True, 4)} (seen: {self.observed_deviance:.4g})."
        )
        for name, (_, seen) in self.reductions.items():
            lines.append(f"- It {self.describe_reduction(name)} (seen: {100 * seen:.2g} %).")
        lines += ["Assumed:", *(f"- {text}" for text in self.assumptions)]
        return "\n".join([*lines, f"Model {self.model[:16]}, {self.protocol}."])


def garwood(actual: float, expected: float, delta: float) -> tuple[float, float]:
    """The exact interval of a Poisson mean, over the expected number."""
    low = float(gammaincinv(actual, delta / 2)) if actual > 0 else 0.0
    high = float(gammaincinv(actual + 1.0, 1.0 - delta / 2))
    return low / expected, high / expected


def ratio_interval(
    actual: Array, expected: Array, delta: float, largest: float = _LARGEST, seed: int = 0
) -> tuple[float, float]:
    """An interval of E[actual] / E[expected] that holds for any distribution of independent rows,
    numbers being counted up to `largest` in each.

    Parameters
    ----------
    actual, expected : array of (n_rows,), at least 0
    delta : float
        The probability with which the interval may fail.
    largest : float, default=4.0
        Chosen without these rows.
    seed : int, default=0
        Of the order of the bets.

    Returns
    -------
    low, high : float
        The latter may be infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.certificates import ratio_interval
    >>> rng = np.random.default_rng(0)
    >>> expected = rng.uniform(0.1, 0.4, size=4000)
    >>> low, high = ratio_interval(rng.poisson(1.2 * expected), expected, 0.05)
    >>> 1.0 < low < 1.2 < high < 1.5
    True
    """
    check_delta(delta)
    order = np.random.default_rng(seed).permutation(len(actual))
    own = np.minimum(np.asarray(actual, float), largest)[order]
    mean = np.minimum(np.asarray(expected, float), largest)[order]

    def refuted(theta: float, below: bool) -> bool:
        """Whether bets refute that the ratio is at most (at least) theta."""
        low, span = theta * largest, (1.0 + theta) * largest
        gap = (own - theta * mean + low) / span
        middle = low / span
        if below:
            return is_below(1.0 - gap, 1.0 - middle, delta / 2)
        return is_below(gap, middle, delta / 2)

    seen = float(own.sum() / mean.sum())
    return _end(lambda theta: refuted(theta, True), seen, False), _end(
        lambda theta: refuted(theta, False), seen, True
    )


def _end(refuted: Any, seen: float, above: bool) -> float:
    """Where a claim begins to be refuted, going away from what was seen."""
    if above:
        inside, outside = seen, max(2.0 * seen, 1e-3)
        while not refuted(outside):
            inside, outside = outside, 2.0 * outside
            if outside > _WIDEST:
                return math.inf
    else:
        inside, outside = seen, 1e-6 * seen  # at 0 there is nothing to bet on
        if seen == 0.0 or not refuted(outside):
            return 0.0
    for _ in range(_STEPS):
        middle = 0.5 * (inside + outside)
        if abs(outside - inside) <= 1e-6 * max(inside, outside):
            break
        if refuted(middle):
            outside = middle
        else:
            inside = middle
    return outside


@dataclass(frozen=True)
class _Seen:
    """Rows that were not used for fitting, and what a model expects of them."""

    actual: Array
    expected: Array
    exposure: Array
    used: Array
    rivals: dict[str, Array]  # expected numbers of simpler tariffs


def certify_rates(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    exposure: Any = None,
    sealed: float = DEFAULT_SEALED,
    delta: float = 0.05,
    largest: float | None = None,
    clip: float | None = None,
    random_state: int = 0,
    groups: Any = None,
) -> tuple[Any, RateCertificate]:
    """Fit a model of rates to some of the rows, and certify it on the others.

    Parameters
    ----------
    estimator : LocalMixtureRegressor with loss="poisson", "gamma" or "tweedie"
    X : array or DataFrame of (n_rows, n_features)
    y : array of (n_rows,)
        Numbers of claims, or amounts.
    exposure : array of (n_rows,), default=None
        How long each row was observed; None: 1.
    sealed : float, default=0.3
        Share of the rows that is not fitted on.
    delta : float, default=0.05
        The probability with which the certificate may fail.
    largest, clip : float, default=None
        Claims or amount, and deviance, of one row that are counted; chosen without these rows.
        None: 4 claims, or ten times the mean of the rows of the fit if that is more, and a deviance
        of 12; of amounts six standard deviations above the mean, and 12 in units of the mean.
    random_state : int, default=0
        Of the split and of the order of the bets.
    groups : array of (n_rows,), default=None
        Of which rows belong together, as in `certify`.

    Returns
    -------
    model, certificate : the fitted estimator, RateCertificate

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.certificates import certify_rates
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 1))
    >>> claims = rng.poisson(0.3 * np.exp(X[:, 0]))
    >>> model, certificate = certify_rates(
    ...     LocalMixtureRegressor(0, loss="poisson", random_state=0), X, claims
    ... )
    >>> certificate.n_rows, sorted(certificate.reductions)
    (600, ['one GLM', 'the mean rate'])
    """
    X = from_arrow(X)
    y, observed = _read(X, y, exposure)
    given = groups is not None
    groups = check_groups(groups, len(y)) if given else group_equal_rows(X, y, observed)
    first, kept = draw(groups, sealed, random_state)
    model = clone(estimator)
    if not hasattr(model, "fit") or getattr(model, "loss", None) == "squared":
        raise InputTypeError(
            "certify_rates needs a LocalMixtureRegressor with a loss of rates; got"
            f" {type(estimator).__name__}(loss={getattr(estimator, 'loss', None)!r}).",
            "Use certify for other models.",
        )
    more = {"groups": groups[first]} if given else {}
    model.fit(_safe_indexing(X, first), y[first], exposure=observed[first], **more)
    mixture = mixture_of(model)
    target, inputs = _target(mixture), mixture.encode(_safe_indexing(X, first))
    rest = mixture.encode(_safe_indexing(X, kept), "the sealed rows")
    rivals: dict[str, Array] = {}
    if inputs.shape[1]:
        glm, whole = target.simple_model(), mixture.inputs.fill_in
        weight = {f"{glm.steps[-1][0]}__sample_weight": observed[first]}
        glm.fit(whole(inputs), y[first] / observed[first], **weight)
        rivals["one GLM"] = glm.predict(whole(rest)) * observed[kept]
    seen = _look(mixture, rest, y[kept], observed[kept], rivals)
    protocol = f"{describe_split(groups, first, kept)}, seed {random_state}"
    limits = _limits(mixture, y, observed, largest, clip)
    return model, _certify(mixture, seen, delta, limits, random_state, protocol)


def audit_rates(
    model: Any,
    X: Any,
    y: Any,
    *,
    exposure: Any = None,
    delta: float = 0.05,
    largest: float | None = None,
    clip: float | None = None,
    random_state: int = 0,
    groups: Any = None,
) -> RateCertificate:
    """Certify a fitted model of rates on rows that were not used for fitting it.

    Parameters
    ----------
    model : fitted LocalMixtureRegressor with a loss of rates, or its mixture
    X, y, exposure : as in `certify_rates`
    delta, largest, clip, random_state : as in `certify_rates`
    groups : array of (n_rows,), default=None
        Of which rows belong together: one row of each group is counted, as in `audit`.

    Returns
    -------
    RateCertificate

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.certificates import audit_rates
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(3000, 1))
    >>> claims = rng.poisson(0.3 * np.exp(X[:, 0]))
    >>> model = LocalMixtureRegressor(0, loss="poisson").fit(X[:2000], claims[:2000])
    >>> audit_rates(model, X[2000:], claims[2000:]).ratios[0].n_rows
    1000
    """
    mixture = mixture_of(model)
    _target(mixture)
    y, observed = _read(X, y, exposure)
    given = groups is not None
    groups = check_groups(groups, len(y)) if given else group_equal_rows(X, y, observed)
    encoded = mixture.encode(X)
    refuse_training_rows(mixture.provenance.fingerprint, encoded, y / observed)
    if count_groups(groups) < len(y):
        counted = np.sort(one_of_each(groups, random_state))
        encoded, y, observed = encoded[counted], y[counted], observed[counted]
    seen = _look(mixture, encoded, y, observed, {})
    protocol = f"audit on {describe_counted(groups)}, not used for fitting"
    limits = _limits(mixture, y, observed, largest, clip)
    return _certify(mixture, seen, delta, limits, random_state, protocol)


@dataclass(frozen=True)
class _Limits:
    """How much of one row is counted, and whether targets are numbers of claims."""

    largest: float
    clip: float
    counts: bool


def _limits(
    mixture: Mixture, y: Array, exposure: Array, largest: float | None, clip: float | None
) -> _Limits:
    """Of numbers of claims, or of amounts in any unit: from the rates of the rows of the fit, and
    the mean exposure to a power of two.
    """
    target, known = _target(mixture), mixture.provenance.fingerprint
    counts = target.loss_name == "poisson" and bool(np.all(y == np.rint(y)))
    unit = 2.0 ** math.ceil(math.log2(float(np.mean(exposure))))
    typical = unit * target.mean
    if largest is None and counts:
        largest = max(_LARGEST, _TIMES * typical)
    elif largest is None:
        largest = typical + _DEVIATIONS * unit * known.target_scale
    if clip is None:
        clip = _CLIP if counts else _CLIP * typical ** (2.0 - target.variance_power)
    for name, value in (("largest", largest), ("clip", clip)):
        if not (value > 0 and math.isfinite(value)):
            raise InputError(f"{name} must be a positive number; got {value!r}.")
    return _Limits(float(largest), float(clip), counts)


def _read(X: Any, y: Any, exposure: Any) -> tuple[Array, Array]:
    counts = Rate().code(y)
    if len(counts) != _num_samples(X):
        raise InputError(f"X has {_num_samples(X)} rows, but y {len(counts)} numbers.")
    ones = np.ones(len(counts))
    return counts, ones if exposure is None else check_exposure(exposure, len(counts))


def _target(mixture: Mixture) -> Rate:
    if not isinstance(mixture.target, Rate):
        raise InputTypeError(
            f"certificates of rates are of models with a loss of rates; got one of a"
            f" {mixture.target.kind} target.",
            "Use certify or audit.",
        )
    return mixture.target


def _look(
    mixture: Mixture, encoded: Array, y: Array, exposure: Array, rivals: dict[str, Array]
) -> _Seen:
    views = list(mixture.views(encoded))
    rate = np.concatenate([view.answer for view in views])
    used = np.concatenate([view.used for view in views])
    every = {"the mean rate": _target(mixture).mean * exposure, **rivals}
    return _Seen(y, rate * exposure, exposure, used, every)


def _certify(
    mixture: Mixture, seen: _Seen, delta: float, limits: _Limits, seed: int, protocol: str
) -> RateCertificate:
    check_delta(delta)
    largest, clip = limits.largest, limits.clip
    if not len(seen.actual):
        raise CertificateError("there are no rows to certify on.")
    n, target = mixture.n_localities, _target(mixture)
    regions: list[tuple[str, Booleans]] = [("everywhere", np.ones(len(seen.actual), dtype=bool))]
    if n:
        several = [-1] if n > 1 else []  # where several localities are averaged
        regions += [(mixture.region_name(i), seen.used == i) for i in (*range(n + 1), *several)]
    part = _SHARE * delta / len(regions)
    ratios = tuple(
        _ratio(name, inside, seen, part, limits, seed) for name, inside in regions if inside.any()
    )
    order = np.random.default_rng(seed).permutation(len(seen.actual))
    own = np.minimum(_deviances(target, seen, seen.expected), clip)[order] / clip
    share = (1.0 - _SHARE) * delta / (1 + len(seen.rivals))
    reductions = {}
    for name, expected in seen.rivals.items():
        other = np.minimum(_deviances(target, seen, expected), clip)[order] / clip
        observed = 1.0 - float(own.mean() / other.mean())
        reductions[name] = (betting_reduction(own, other, share), observed)
    beyond = (seen.actual > largest) | (seen.expected > largest)
    far = _deviances(target, seen, seen.expected) > clip
    return RateCertificate(
        ratios,
        clip * betting(own, share),
        clip * float(own.mean()),
        reductions,
        delta,
        len(seen.actual),
        float(largest),
        float(clip),
        (float(beyond.mean()), float(far.mean())),
        mixture.hash,
        protocol,
    )


def _ratio(
    name: str, inside: Booleans, seen: _Seen, delta: float, limits: _Limits, seed: int
) -> RateStatement:
    actual, expected = seen.actual[inside], seen.expected[inside]
    total = float(expected.sum())
    dispersion = None
    if limits.counts and len(actual) > 1:
        dispersion = float(np.mean((actual - expected) ** 2 / np.maximum(expected, 1e-300)))
    return RateStatement(
        name,
        len(actual),
        float(seen.exposure[inside].sum()),
        float(actual.sum()),
        total,
        garwood(float(actual.sum()), total, delta) if limits.counts else None,
        ratio_interval(actual, expected, delta, limits.largest, seed),
        dispersion,
        delta,
        None if limits.counts else limits.largest,
    )


def _deviances(target: Rate, seen: _Seen, expected: Array) -> Array:
    """Of each row, counting its exposure."""
    found = target.deviances(seen.actual / seen.exposure, expected / seen.exposure)
    return np.asarray(np.maximum(seen.exposure * found, 0.0))
