"""Certificates of additive models: on sealed rows they hold as those of any other model; in-sample
there are none, since knots are taken from the rows.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor, Units
from motlm.certificates import (
    Certified,
    audit,
    audit_in_sample,
    audit_rates,
    certify,
    certify_in_sample,
    certify_rates,
    prediction_interval,
    verify,
)
from motlm.certificates import _distributions as distributions
from motlm.certificates._distributions import UnionRisk
from motlm.errors import CertificateError
from motlm.posterior import Prior

QUICK: dict[str, Any] = {
    "local_models": "additive",
    "inverse_temperature": 4.0,
    "n_starts": 1,
    "random_state": 0,
}


def score_of(X: np.ndarray) -> np.ndarray:
    """A curve, a line, and a region in which the line is another."""
    return np.sin(3 * X[:, 0]) + X[:, 1] + np.where(np.abs(X[:, 2]) < 0.7, 1.5 - 2 * X[:, 1], 0)


def draw_rows(n: int, seed: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    score = score_of(X) + 0.3 * rng.normal(size=n)
    made = {
        "number": score,
        "label": np.where(score > 0.4, "yes", "no"),
        "labels": np.array(["low", "middle", "high"])[np.digitize(score, [-0.4, 0.9])],
        "count": rng.poisson(np.exp(0.5 * score)),
    }
    return X, made[kind]


def estimator_of(kind: str, n: int = 1, **options: Any) -> Any:
    made: Any = LocalMixtureClassifier if kind.startswith("label") else LocalMixtureRegressor
    loss = {"loss": "poisson"} if kind == "count" else {}
    return made(n, **QUICK | loss | options)


def certify_kind(kind: str, n: int = 1, **options: Any) -> Certified:
    X, y = draw_rows(500, 0, kind)
    return certify(estimator_of(kind, n, **options), X, y, sealed=0.4)


@pytest.fixture(scope="module", params=["number", "label", "labels"])
def certified(request: pytest.FixtureRequest) -> tuple[str, Certified]:
    return request.param, certify_kind(request.param)


# -- on sealed rows --------------------------------------------------------------------------------


def test_every_model_of_a_certificate_is_additive_and_verified(
    certified: tuple[str, Certified], tmp_path: Path
) -> None:
    """Also from a file."""
    kind, made = certified
    about = {
        "model": {one.model for one in made.certificate if one.predictor == "fixed"},
        "drawn": {one.model for one in made.certificate if one.predictor == "draw"},
        "gibbs": {one.model for one in made.certificate if one.predictor == "gibbs"},
    }
    X, _ = draw_rows(50, 1, kind)
    for name, hashes in about.items():
        model = getattr(made, name)
        assert model.mixture_.inputs.bends is not None
        assert {model.mixture_.hash} == hashes
        assert verify(model, made.certificate)
        again = motlm.load(model.save(tmp_path / f"{name}.json"))
        assert verify(again, again.certificate_) == verify(model, made.certificate)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    fixed = made.certificate.headline
    assert fixed.value < (fixed.baseline or np.inf)


@pytest.mark.parametrize("corrections", ["own", "none"])
@pytest.mark.parametrize("kind", ["number", "label", "labels"])
def test_risk_and_divergence_of_the_distribution(kind: str, corrections: str) -> None:
    """The bound's terms are those of models drawn from it, ramps included: the risk is the share of
    errors of draws, the divergence the mean of ln dQ/dP.
    """
    X, y = draw_rows(300, 2, kind)
    model = estimator_of(kind, corrections=corrections).fit(X, y)
    mixture = distributions.freeze(model.mixture_)
    assert mixture.posterior.coef.shape[-1] == mixture.inputs.n_features > 3
    posterior = replace(mixture.posterior, coef_scale=0.05 + mixture.posterior.coef_scale)
    n, scores = posterior.n_localities, mixture.target.loss.scores
    prior = mixture.geometry.expand(Prior(), n, mixture.inputs, scores)
    codes = mixture.target.code(y)
    few, tolerance = slice(0, 60), 0.4
    rows = mixture.rows(mixture.encode(X)[few], codes[few])
    risk = UnionRisk.of(mixture, prior, rows, tolerance)
    ratios, wrong = [], []
    for seed in range(1500):
        one = distributions.draw_model(posterior, seed)
        ratios.append(distributions.log_ratio(one, posterior, prior))
        if seed < 300:
            wrong.append(_some_model_errs(mixture, one, rows, kind, tolerance))
    error = np.std(ratios) / np.sqrt(len(ratios))
    assert risk.kl(posterior) == pytest.approx(np.mean(ratios), abs=5 * error)
    chances = risk.chances(posterior).errs
    spread = np.sqrt(0.25 / len(wrong))
    assert (np.abs(chances - np.mean(wrong, axis=0)) < 5 * spread).all()


def _some_model_errs(mixture: Any, one: Any, rows: Any, kind: str, tolerance: float) -> np.ndarray:
    """By hand, from distances and features."""
    features = np.asarray(rows.features)
    scores = np.einsum("...d,rd->...r", one.coef, features) + one.intercept[..., None]
    if kind == "number":
        wrong = np.abs(mixture.target.in_units(scores) - _outcome(mixture, rows)) > tolerance
    elif kind == "label":
        wrong = np.sign(scores) != rows.target
    else:
        wrong = scores.argmax(axis=1) != rows.target
    near = one.radius[:, None] >= np.asarray(rows.distance).T
    applies = np.vstack([near, ~near.any(axis=0)])
    return np.asarray((wrong & applies).any(axis=0))


def _outcome(mixture: Any, rows: Any) -> np.ndarray:
    return np.asarray(mixture.target.in_units(np.asarray(rows.target)))


def test_audit(certified: tuple[str, Certified]) -> None:
    kind, made = certified
    X, y = draw_rows(200, 3, kind)
    options = {"tolerance": 1.0} if kind == "number" else {}
    certificate = audit(made.model, X, y, **options)
    assert {one.model for one in verify(made.model, certificate)} == {made.model.mixture_.hash}
    train, outcome = draw_rows(500, 0, kind)
    with pytest.raises(ValueError, match="are among the"):
        audit(made.model, train, outcome, **options)


def test_rates() -> None:
    X, y = draw_rows(1500, 4, "count")
    model, certificate = certify_rates(estimator_of("count"), X, y, largest=40.0)
    assert model.mixture_.inputs.bends is not None
    X, y = draw_rows(800, 5, "count")
    other = audit_rates(model, X, y, largest=40.0)
    many, counts = draw_rows(20_000, 11, "count")
    truth = counts.sum() / model.predict(many).sum()
    assert certificate.reductions["one GLM"][1] > 0.02  # curves are seen
    for one in (certificate, other):
        assert one.model == model.mixture_.hash
        low, high = one.ratios[0].free
        assert low <= truth <= high


def test_an_edited_curve_is_not_verified(certified: tuple[str, Certified]) -> None:
    """What the model shows is derived once, and kept."""
    _, made = certified
    fresh = replace(made.model.mixture_)
    assert verify(fresh, made.certificate)
    shape = fresh.models[-1].shapes[0]
    values = shape.values
    values.flags.writeable = True
    values[..., 0] += 0.1
    try:
        with pytest.raises(CertificateError, match="models, which the model derives"):
            verify(fresh, made.certificate)
    finally:
        values[..., 0] -= 0.1


@pytest.mark.parametrize("kind", ["number", "label"])
def test_statements_hold(kind: str) -> None:
    """On made-up data of which there is as much as one wants: of 24 certificates at delta = 0.2, of
    which at most 4.8 may fail on average, no more than 9 do (a chance of 1 %); and they say
    something.
    """
    many, outcome = draw_rows(4000, 1000, kind)
    failures: dict[str, int] = {}
    bounds = []
    for seed in range(24):
        X, y = draw_rows(160, seed, kind)
        options = {"tolerance": 1.0, "coverage": 0.8} if kind == "number" else {}
        made = certify(
            estimator_of(kind, seed % 2), X, y, sealed=0.5, delta=0.2, random_state=seed, **options
        )
        truth = _truths(made, kind, many, outcome)
        for name, value in truth.items():
            statement = made.certificate[name]
            failures[name] = failures.get(name, 0) + (value > statement.value)
        bounds.append(made.certificate.headline.value)
    assert all(count <= 9 for count in failures.values()), failures
    assert len(failures) == 3
    assert np.mean(bounds) < 0.45


def _truths(made: Certified, kind: str, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The risks that are certified."""

    def risk(model: Any) -> float:
        found = model.predict(X)
        return float(np.mean(np.abs(found - y) > 1.0 if kind == "number" else found != y))

    first = "tolerance" if kind == "number" else "hold-out"
    mixture = made.gibbs.mixture_
    codes = mixture.target.code(y)
    n = mixture.n_localities
    prior = Prior().expand(n, mixture.inputs.n_features)
    union = UnionRisk.of(mixture, prior, mixture.rows(mixture.encode(X), codes), 1.0)
    return {
        first: risk(made.model),
        "one draw": risk(made.drawn),
        "any rule": union.of_posterior(mixture.posterior),
    }


def test_intervals_cover() -> None:
    made = certify_kind("number")
    X, y = draw_rows(4000, 6, "number")
    low, high = prediction_interval(made.model, made.certificate, X).T
    assert 0.9 <= np.mean((low <= y) & (y <= high)) < 1.0


# -- in-sample -------------------------------------------------------------------------------------


def test_knots_are_taken_from_the_rows() -> None:
    """As units are: the prior would depend on them."""
    X, y = draw_rows(300, 7, "label")
    model = estimator_of("label", standardize=False).fit(X, y)
    with pytest.raises(CertificateError, match=r"additive.*knots.*local_models='linear'"):
        audit_in_sample(model, X, y)
    with pytest.raises(CertificateError, match=r"additive.*knots.*use certify, which seals rows"):
        audit_in_sample(model.mixture_, X, y)
    with pytest.raises(CertificateError, match=r"local_models='additive' takes the knots"):
        certify_in_sample(estimator_of("label"), X, y)
    units = Units.of_rows(*draw_rows(50, 8, "number"))
    X, y = draw_rows(300, 7, "number")
    line = estimator_of("number", standardize=units)
    with pytest.raises(CertificateError, match=r"additive.*knots"):
        audit_in_sample(line.fit(X, y), X, y, tolerance=1.0)
    with pytest.raises(CertificateError, match=r"local_models='additive' takes the knots"):
        certify_in_sample(line, X, y, tolerance=1.0)


def test_models_are_linear_in_sample() -> None:
    """Without being told so, as units are taken from rows that are set aside."""
    X, y = draw_rows(300, 9, "label")
    both = [
        certify_in_sample(estimator_of("label", local_models=kind), X, y)
        for kind in ("auto", "linear")
    ]
    assert both[0].model.mixture_.inputs.bends is None
    assert both[0].certificate == both[1].certificate
    model = estimator_of("label", local_models="linear", standardize=False).fit(X, y)
    assert audit_in_sample(model, X, y)


def test_a_model_drawn_at_random_need_not_rise() -> None:
    X, y = draw_rows(300, 9, "label")
    rising = estimator_of("label", local_models="linear", monotonic_cst=[0, 1, 0])
    with pytest.raises(CertificateError, match=r"monotonic_cst.*drawn at random.*use certify"):
        certify_in_sample(rising, X, y)
    made = certify(rising, X, y)
    assert all(one.coef[1] >= 0.0 for one in made.model.mixture_.models)
