"""Certificates of rates: intervals that hold, errors that say what to do."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson

from motlm import LocalMixtureRegressor
from motlm.certificates import (
    RateCertificate,
    RateStatement,
    audit,
    audit_rates,
    certify,
    certify_in_sample,
    certify_rates,
    ratio_interval,
)
from motlm.certificates._rates import garwood
from motlm.errors import CertificateError, InputError, InputTypeError, TrainingRowsError
from motlm.report._card import badge_of_rates

QUICK = {"local_models": "linear", "inverse_temperature": 1.0, "n_starts": 1, "random_state": 0}


def policies(m: int = 3000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Claims that are twice as frequent for the young."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.uniform(18, 80, m), "power": rng.normal(80, 20, m)})
    years = rng.uniform(0.2, 1.0, m)
    rate = 0.2 * np.where(table["age"] < 30, 2.0, 1.0) * np.exp(0.005 * (table["power"] - 80))
    return table, rng.poisson(years * rate), years


@pytest.mark.parametrize("mean", [0.7, 3.0, 40.0])
def test_the_exact_interval_has_at_least_its_confidence(mean: float) -> None:
    """By the sum of the Poisson probabilities of the counts whose interval contains the mean."""
    counts = np.arange(200)
    ends = np.array([garwood(float(k), 1.0, 0.1) for k in counts])
    covered = (ends[:, 0] <= mean) & (mean <= ends[:, 1])
    share = float(poisson.pmf(counts[covered], mean).sum())
    assert 0.9 - 1e-9 <= share < 0.99


def test_the_free_interval_covers_clusters_where_poissons_does_not() -> None:
    """Claims in pairs: a dispersion of two. The control is the interval that assumes Poisson."""
    rng, trials, delta = np.random.default_rng(0), 300, 0.1
    free = exact = 0
    for trial in range(trials):
        expected = rng.uniform(0.05, 0.5, size=400)
        actual = 2.0 * rng.poisson(0.5 * 1.3 * expected)
        low, high = ratio_interval(actual, expected, delta, largest=8.0, seed=trial)
        free += low <= 1.3 <= high
        low, high = garwood(float(actual.sum()), float(expected.sum()), delta)
        exact += low <= 1.3 <= high
    assert free >= 0.9 * trials
    assert exact < 0.85 * trials  # too narrow, as the docs say


def test_the_free_interval_narrows_with_rows_and_widens_with_confidence() -> None:
    rng = np.random.default_rng(1)
    expected = rng.uniform(0.05, 0.5, size=20_000)
    actual = rng.poisson(expected)
    widths = []
    for m, delta in ((1000, 0.05), (20_000, 0.05), (20_000, 0.001)):
        low, high = ratio_interval(actual[:m], expected[:m], delta)
        assert low < 1.0 < high
        widths.append(high - low)
    assert widths[1] < 0.5 * widths[0]
    assert widths[1] < widths[2]
    assert ratio_interval(np.zeros(5), np.ones(5), 0.05) == (0.0, np.inf)


def test_a_certificate_of_rates() -> None:
    X, claims, years = policies()
    mixture = LocalMixtureRegressor(1, loss="poisson", **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, certificate = certify_rates(mixture, X, claims, exposure=years)
    assert certificate.n_rows == 900
    everywhere, *regions = certificate.ratios
    assert everywhere.region == "everywhere"
    assert sum(one.n_rows for one in regions) in (0, 900)
    assert sum(one.actual for one in regions) in (0, everywhere.actual)
    for one in certificate.ratios:
        assert one.poisson is not None
        assert one.free[0] <= one.ratio <= one.free[1]
        assert one.poisson[0] < one.ratio < one.poisson[1]
    assert certificate.deviance > certificate.observed_deviance
    bound, seen = certificate.reductions["the mean rate"]
    assert bound is None or bound < seen
    text = str(certificate)
    assert "95 % confidence" in text
    assert "Poisson" in text
    assert model.mixture_.hash == certificate.model
    assert json.loads(json.dumps(certificate.to_dict()))["n_rows"] == 900
    assert list(certificate.to_frame()["region"]) == [one.region for one in certificate.ratios]


def test_limits_of_rates_are_rounded_to_the_safe_side() -> None:
    """In the certificate and on the badge alike; no "smaller by at least -14 %"."""
    one = RateStatement("everywhere", 900, 800.0, 90.0, 100.0, None, (0.7716, 1.1002), 1.0, 0.05)
    none = {"the mean rate": (-0.142, 0.01), "one GLM": (None, -0.2)}
    found = RateCertificate(
        (one,), 0.51231, 0.5, none, 0.05, 900, 4.0, 12.0, (0.0, 0.0), "a" * 64, "by hand"
    )
    text, sentence = str(found), badge_of_rates(found).sentence
    for words in (text, sentence):
        assert "between 0.771 and 1.101" in words
        assert "is not shown to be smaller than that of the mean rate" in words
        assert "at least" not in words
    assert "not shown to be smaller than that of one GLM (seen: -20 %)" in text
    assert "at most 0.5124" in text
    better = replace(found, reductions={"the mean rate": (0.0459, 0.06)})
    for words in (str(better), badge_of_rates(better).sentence):
        assert "is at least 4.5 % smaller than that of the mean rate" in words


def test_an_audit_by_hand() -> None:
    X, claims, years = policies(4000)
    model = LocalMixtureRegressor(0, loss="poisson", **QUICK)
    model.fit(X[:2000], claims[:2000], exposure=years[:2000])
    found = audit_rates(model, X[2000:], claims[2000:], exposure=years[2000:])
    expected = model.predict(X[2000:], exposure=years[2000:])
    [one] = found.ratios
    assert one.actual == claims[2000:].sum()
    assert one.expected == pytest.approx(expected.sum())
    assert one.exposure == pytest.approx(years[2000:].sum())
    rate = claims[:2000].sum() / years[:2000].sum()  # the mean of the rows used for fitting
    assert list(found.reductions) == ["the mean rate"]
    y, mean = claims[2000:], rate * years[2000:]

    def deviance(mu: np.ndarray) -> np.ndarray:
        return 2 * (np.where(y > 0, y * np.log(np.maximum(y, 1) / mu), 0.0) - y + mu)

    own, other = np.minimum(deviance(expected), 12), np.minimum(deviance(mean), 12)
    assert found.observed_deviance == pytest.approx(own.mean())
    assert found.reductions["the mean rate"][1] == pytest.approx(1 - own.mean() / other.mean())
    with pytest.raises(TrainingRowsError):
        audit_rates(model, X[:2000], claims[:2000], exposure=years[:2000])


def test_amounts_have_no_poisson_interval() -> None:
    X, claims, years = policies(1500)
    amounts = 10.0 * claims
    mixture = LocalMixtureRegressor(0, loss="tweedie", **QUICK)
    _, certificate = certify_rates(mixture, X, amounts, exposure=years, largest=40.0, clip=60.0)
    assert certificate.ratios[0].poisson is None
    assert "Certified, counting up to 40 a row: between" in str(certificate)
    assert "Poisson" not in str(certificate)


def test_other_models_and_other_certificates_are_refused() -> None:
    X, claims, years = policies(300)
    squared = LocalMixtureRegressor(0, **QUICK)
    with pytest.raises(InputTypeError, match="loss of rates"):
        certify_rates(squared, X, claims)
    with pytest.raises(InputTypeError, match="loss of rates"):
        audit_rates(squared.fit(X, claims), X, claims)
    rates = LocalMixtureRegressor(0, loss="poisson", **QUICK)
    for make in (
        lambda: certify(rates, X, claims),
        lambda: audit(rates.fit(X[:200], claims[:200]), X[200:], claims[200:]),
        lambda: certify_in_sample(rates, X, claims, tolerance=1.0),
    ):
        with pytest.raises(CertificateError, match="share of errors"):
            make()
    for wrong in ({"largest": 0.0}, {"clip": np.inf}, {"delta": 1.0}, {"exposure": -years}):
        with pytest.raises(InputError):
            certify_rates(rates, X, claims, **wrong)
    with pytest.raises(InputError, match="y 299 numbers"):
        audit_rates(rates.fit(X, claims), X, claims[:299])
