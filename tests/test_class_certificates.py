"""Certificates of three labels and more: their probabilities by simulation, their numbers by hand,
and that they belong to their model.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma, norm
from sklearn.linear_model import LogisticRegression

import motlm
from motlm import LocalMixtureClassifier, Prior, bounds
from motlm.certificates import (
    Certificate,
    CertificateError,
    Certified,
    audit,
    audit_in_sample,
    certify,
    certify_in_sample,
    draw_in_sample,
    split,
    standing,
    verify,
)
from motlm.certificates import _distributions as distributions
from motlm.certificates import _statements as statements
from motlm.certificates._certify import seal
from motlm.certificates._distributions import Draw, UnionRisk
from motlm.certificates._guards import note_shift
from motlm.certificates._records import Options
from motlm.certificates._words import LABELS
from motlm.combinations import ambiguity
from motlm.errors import CertificateWarning, TrainingRowsError
from motlm.mixture import Mixture
from motlm.posterior import Posterior

NAMES = np.array(["cat", "ant", "bee", "dog"])
POINTS = [[-0.6, 0.0], [0.6, 0.0]]
QUICK: dict[str, Any] = {
    "local_models": "linear",
    "inverse_temperature": 16.0,
    "n_starts": 1,
    "random_state": 0,
}
LEARNED: dict[str, Any] = {"points_of_interest": None, "n_localities": 2, "n_starts": 4}
# independent models in balls, of which all probabilities are exact
BALLS: dict[str, Any] = {"locality_features": "ball", "corrections": "none"}
LOSSES = ["log", "zero-one"]
Rows = tuple[np.ndarray, np.ndarray]


def draw_rows(m: int, n_classes: int = 3, seed: int = 0) -> Rows:
    """Sectors of labels around the origin, and other ones around the centers of two balls that
    overlap. One label in ten is drawn at random.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(m, 2))
    side = np.where(X[:, 0] > 0, 1.0, -1.0)
    near = np.hypot(X[:, 0] - 0.6 * side, X[:, 1]) < 1.1
    angle = np.arctan2(X[:, 1], X[:, 0] - 0.6 * side * near) / (2 * np.pi) + 0.3 * near * side
    y = np.floor(n_classes * (angle % 1)).astype(int)
    y = np.where(rng.uniform(size=m) < 0.1, rng.integers(n_classes, size=m), y)
    return X, NAMES[y]


def classifier(loss: str = "log", **options: Any) -> LocalMixtureClassifier:
    given = {"points_of_interest": POINTS, "combine": "any" if loss == "zero-one" else "sum"}
    return LocalMixtureClassifier(loss=loss, **{**given, **BALLS, **QUICK, **options})


@pytest.fixture(scope="module")
def rows() -> Rows:
    return draw_rows(900)


@pytest.fixture(scope="module", params=LOSSES)
def certified(rows: Rows, request: pytest.FixtureRequest) -> Certified:
    """With weights of the classes, which are the fit's alone."""
    estimator = classifier(request.param, class_weight={"ant": 1.0, "bee": 1.5, "cat": 2.0})
    return certify(estimator, *rows, sealed=0.5)


# -- probabilities ---------------------------------------------------------------------------------


def simulate(mixture: Mixture, X: np.ndarray, codes: np.ndarray, one: Draw) -> dict[str, Any]:
    """What the models of one draw answer, from their numbers alone: whether some applicable one
    errs, whether two contradict each other, and the errors of rules that use applicable ones.
    """
    rows = mixture.rows(mixture.encode(X))
    where = rows.coordinates[None] - one.center[:, None]
    distance = np.linalg.norm(where, axis=2)  # (n_localities, n_rows)
    inside = distance <= one.radius[:, None]
    applies = np.concatenate([inside, ~inside.any(axis=0, keepdims=True)])
    scores = np.einsum("ikd,md->ikm", one.coef, rows.features) + one.intercept[:, :, None]
    answers = scores.argmax(axis=1)  # (n_models, n_rows)
    several = (np.where(applies, answers, 99).min(axis=0), np.where(applies, answers, -1).max(0))
    votes = np.array([((answers == k) & applies).sum(axis=0) for k in range(scores.shape[1])])
    away = np.where(applies[:-1], distance, np.inf)
    nearest = np.where(inside.any(axis=0), away.argmin(axis=0), len(inside))
    mean = (scores * applies[:, None]).sum(axis=0).argmax(axis=0)
    return {
        "errs": ((answers != codes) & applies).any(axis=0),
        "apart": several[0] != several[1],
        "rules": [
            votes.argmax(axis=0) != codes,
            mean != codes,
            np.take_along_axis(answers, nearest[None], axis=0)[0] != codes,
        ],
    }


def widen(mixture: Mixture, rng: np.random.Generator) -> Posterior:
    """Probabilities that are neither 0 nor 1: balls that overlap, and may or may not contain a row;
    models that answer any label.
    """
    q, n = mixture.posterior, mixture.n_localities
    shape = np.full(n, 6.0)
    return replace(
        q,
        center=0.5 * q.center,
        radius_shape=shape,
        radius_rate=shape / rng.uniform(0.8, 1.6, size=n),
        coef=q.coef + 0.5 * rng.normal(size=q.coef.shape),
        coef_scale=rng.uniform(0.3, 1.0, size=n + 1),
        intercept_scale=rng.uniform(0.1, 1.0, size=n + 1),
    )


def assert_shares(seen: np.ndarray, expected: np.ndarray) -> None:
    """Counts of independent draws, (n_draws, n_rows), have these probabilities: five standard
    errors for each row, three for the mean over rows.
    """
    n_draws = len(seen)
    error = np.sqrt(np.maximum(expected * (1 - expected), 1 / n_draws) / n_draws)
    assert np.all(np.abs(seen.mean(axis=0) - expected) <= 5 * error)
    mean = seen.mean(axis=1)
    assert mean.mean() == pytest.approx(expected.mean(), abs=3 * mean.std() / np.sqrt(n_draws))


@pytest.mark.parametrize("n_classes", [3, 4])
@pytest.mark.parametrize("centers", ["known", "learned"])
@pytest.mark.parametrize("loss", LOSSES)
def test_chances_by_simulation(
    loss: str, centers: str, n_classes: int, rng: np.random.Generator
) -> None:
    """Some applicable model errs, two contradict each other, an error is silent: shares of draws;
    and no rule that uses applicable models errs where none of them does.
    """
    X, y = draw_rows(500, n_classes)
    model = classifier(loss, **(LEARNED if centers == "learned" else {})).fit(X, y)
    mixture, few = model.mixture_, slice(40)
    assert mixture.n_localities == 2
    posterior = widen(mixture, rng)
    codes = mixture.target.code(y)
    risk = UnionRisk.of(mixture, Prior(), mixture.rows(mixture.encode(X[few]), codes[few]), 0.0)
    found = risk.chances(posterior)
    errs, apart = [], []
    for seed in range(4000):
        draw = distributions.draw_model(posterior, seed)
        if centers == "known":  # fixed where they are
            draw = replace(draw, center=mixture.geometry.points)
        one = simulate(mixture, X[few], codes[few], draw)
        errs.append(one["errs"])
        apart.append(one["apart"])
        assert not np.any(one["apart"] & ~one["errs"])  # one of two labels is wrong
        assert not any(np.any(rule & ~one["errs"]) for rule in one["rules"])
    seen, contradicted = np.array(errs), np.array(apart)
    assert_shares(seen, found.errs)
    assert_shares(contradicted, found.apart)
    assert_shares(seen & ~contradicted, found.errs - found.apart)
    assert 0.05 < found.apart.mean() < found.errs.mean() < 0.99
    assert risk.of_posterior(posterior) == pytest.approx(found.errs.mean(), rel=1e-12)


def test_two_labels_contradict_each_other_by_the_same_formula(rng: np.random.Generator) -> None:
    omega, errs = rng.uniform(size=(3, 50)), rng.uniform(size=(4, 50))
    omega[:, :5] = 0.0  # in no ball
    shares = np.stack([errs, 1 - errs], axis=1)
    np.testing.assert_allclose(
        distributions._contradictions(omega, shares), ambiguity(omega, errs), atol=1e-14
    )


def test_models_that_err_may_contradict_each_other() -> None:
    """Two models apply and answer the second and the third label where the first is right: that of
    two labels does not see it.
    """
    omega, wrong = np.ones((2, 1)), np.ones((3, 1))
    shares = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])[:, :, None]
    assert ambiguity(omega, wrong) == 0.0
    assert distributions._contradictions(omega, shares) == 1.0
    assert distributions._contradictions(0.0 * omega, shares) == 0.0
    assert distributions._contradictions(0.5 * omega, shares) == 0.25
    assert distributions._contradictions(omega[:0], shares[2:]) == 0.0


# -- numbers ---------------------------------------------------------------------------------------


def log_density(one: Draw, of: Posterior, learned: bool) -> float:
    made = (
        gamma.logpdf(one.radius, of.radius_shape, scale=1 / of.radius_rate).sum()
        + norm.logpdf(one.coef, of.coef, of.coef_scale[:, None, None]).sum()
        + norm.logpdf(one.intercept, of.intercept, of.intercept_scale[:, None]).sum()
    )
    if learned:
        made += norm.logpdf(one.center, of.center, of.center_scale[:, None]).sum()
    return float(made)


@pytest.mark.parametrize("learned", [False, True])
def test_log_ratio_is_the_ratio_of_densities(rng: np.random.Generator, learned: bool) -> None:
    """And its mean is the divergence that the engine computes, of all classes."""
    X, y = draw_rows(200)
    mixture = classifier(**(LEARNED if learned else {})).fit(X, y).mixture_
    q, p = widen(mixture, rng), widen(mixture, rng)
    ratios = []
    for seed in range(4000):
        one = distributions.draw_model(q, seed)
        ratios.append(distributions.log_ratio(one, q, p))
        if seed < 5:
            expected = log_density(one, q, learned) - log_density(one, p, learned)
            assert ratios[-1] == pytest.approx(expected, rel=1e-9)
    prior = distributions.as_prior(p)
    if learned:
        prior = replace(prior, center=p.center, center_scale=p.center_scale)
    risk = UnionRisk.of(mixture, prior, mixture.rows(X, mixture.target.code(y)), 0.0)
    kl = risk.objective(1.0).kl(q)
    assert np.mean(ratios) == pytest.approx(kl, abs=4 * np.std(ratios) / np.sqrt(len(ratios)))


def test_statements_by_hand(rows: Rows, certified: Certified) -> None:
    X, y = rows
    model, certificate = certified
    first, kept = split(len(y), 0.5)
    X1, y1 = X[kept], y[kept]
    wrong, ambiguous, used = model.predict(X1) != y1, model.ambiguous(X1), model.apply(X1)
    assert 0 < (wrong & ~ambiguous).sum() < wrong.sum()
    count = bounds.clopper_pearson
    for name, seen in (
        ("hold-out", wrong),
        ("silent error", wrong & ~ambiguous),
        ("ambiguity", ambiguous),
    ):
        one = certificate[name]
        assert (one.errors, one.n_rows) == (seen.sum(), len(y1))
        assert one.value == pytest.approx(float(count(seen.sum(), len(y1), one.delta)))
    regions = certificate.of("per locality")
    assert [one.region_index for one in regions] == [0, 1, 2]
    for i, one in enumerate(regions):
        assert (one.errors, one.n_rows) == (wrong[used == i].sum(), (used == i).sum())
        assert one.value == pytest.approx(float(count(one.errors, one.n_rows, one.delta / 3)))
    labels, counts = np.unique(y1, return_counts=True)
    majority = labels[counts.argmax()]
    others = {
        "the majority class": np.full(len(y1), majority),
        "one linear model for all rows": model.mixture_.target.simple_model()
        .fit(X[first], y[first])
        .predict(X1),
    }
    order = np.random.default_rng(0).permutation(len(y1))
    gains = certificate.of("gain")
    assert [one.baseline_name for one in gains] == list(others)
    for one, answers in zip(gains, others.values(), strict=True):
        paired = 0.5 * (1.0 - (answers != y1) + wrong)
        assert one.value == pytest.approx(1 - 2 * bounds.betting(paired[order], one.delta))
        assert one.empirical == pytest.approx(np.mean(answers != y1) - wrong.mean())
    assert certificate.headline.baseline == pytest.approx(np.mean(y1 != majority))
    assert certificate.headline.baseline_label == repr(str(majority))


def test_random_models_by_hand(rows: Rows, certified: Certified) -> None:
    """C2 and C3: the share of draws with an error, the errors of the one draw, and Catoni's bound
    with a C and a prior of the other rows.
    """
    X, y = rows
    _, kept = split(len(y), 0.5)
    X1, certificate = X[kept], certified.certificate
    mixture = certified.gibbs.mixture_
    codes = mixture.target.code(y[kept])
    any_rule, one_draw = certificate["any rule"], certificate["one draw"]
    means = []
    for seed in range(2000):
        draw = distributions.draw_model(mixture.posterior, seed)
        placed = replace(draw, center=mixture.geometry.points)
        means.append(simulate(mixture, X1, codes, placed)["errs"].mean())
    error = np.std(means) / np.sqrt(len(means))
    assert any_rule.empirical == pytest.approx(np.mean(means), abs=4 * error)
    for one in (any_rule, one_draw):
        c, m = one.details["c"], len(codes)
        nats = c * one.empirical + (one.kl + np.log(1 / one.delta)) / m
        assert one.value == pytest.approx((1 - np.exp(-nats)) / (1 - np.exp(-c)), rel=1e-9)
    assert 0 <= any_rule.kl < 10
    assert one_draw.errors == (certified.drawn.predict(X1) != y[kept]).sum()
    assert certified.drawn.posterior_.coef.shape == mixture.posterior.coef.shape
    assert any_rule.value < 0.5 < any_rule.baseline


def test_the_prior_of_the_bound_has_not_seen_the_sealed_rows(rows: Rows) -> None:
    """Other labels of the sealed rows, the same prior and C."""
    X, y = rows
    _, kept = split(len(y), 0.5)
    other = y.copy()
    other[kept] = np.roll(y[kept], 1)
    found = []
    for labels in (y, other):
        evidence = seal(classifier(), X, labels, 0.5, Options())
        assert evidence.randomized is not None
        found.append((evidence.randomized.prior, evidence.randomized.posterior(0.05)))
    (prior, learned), (same, another) = found
    for name in ("coef", "coef_scale", "intercept", "radius_shape", "radius_rate"):
        np.testing.assert_array_equal(
            getattr(prior.posterior, name), getattr(same.posterior, name), err_msg=name
        )
    assert (prior.risk, learned.c) == (same.risk, another.c)
    assert learned.risk < another.risk


@pytest.mark.parametrize("loss", LOSSES)
def test_audits(rows: Rows, loss: str) -> None:
    """The model does not store which label was the most frequent: the gain is that over the best
    constant there may be.
    """
    X, y = rows
    model = classifier(loss, class_weight="balanced").fit(X[:500], y[:500])
    X1, y1 = X[500:], y[500:]
    spend = {"hold-out": 0.04, "gain": 0.01}
    certificate = audit(model, X1, y1, spend=spend)
    assert audit(model.mixture_, X1, y1, spend=spend) == certificate
    wrong = model.predict(X1) != y1
    order = np.random.default_rng(0).permutation(len(y1))
    gains = [
        1 - 2 * bounds.betting((0.5 * (1.0 - (y1 != label) + wrong))[order], 0.01)
        for label in np.unique(y1)
    ]
    assert certificate["gain"].value == pytest.approx(min(gains))
    assert min(gains) > 0
    most = np.unique(y1, return_counts=True)[1].max()
    assert certificate.headline.baseline == pytest.approx(1 - most / len(y1))
    assert certificate.headline.errors == wrong.sum()
    rival = LogisticRegression().fit(X[:500], y[:500])
    names = [one.baseline_name for one in audit(model, X1, y1, rival=rival).of("gain")]
    assert names == ["the majority class", "the rival"]


@pytest.mark.filterwarnings("ignore::motlm.errors.MotlmWarning")
def test_the_majority_class_is_that_of_the_rows_that_certify() -> None:
    """A split by chance may leave another label as the most frequent one to fit on."""
    X = np.random.default_rng(1).normal(size=(178, 2))
    first, kept = split(178, random_state=0)
    y = np.full(178, "b", dtype=object)
    y[first[:70]] = y[kept[:10]] = "a"
    y[first[70:80]] = y[kept[10:20]] = "c"
    assert Counter(y[first]).most_common(1)[0][0] == "a"
    assert Counter(y[kept]).most_common(1)[0][0] == "b"
    X[:, 0] += 9.0 * (y == "a") - 9.0 * (y == "c")
    fitted, certificate = certify(LogisticRegression(), X, y)
    for one in (certificate, audit(fitted, X[kept], y[kept], X_train=X[first])):
        headline, gain = one.headline, one["gain"]
        assert headline.baseline == pytest.approx(np.mean(y[kept] != "b"))
        assert "the majority class errs on 37.7 % of them by always answering 'b'" in str(headline)
        assert gain.empirical == pytest.approx(headline.baseline - headline.empirical)
        wrong = fitted.predict(X[kept]) != y[kept]
        order = np.random.default_rng(0).permutation(len(kept))
        paired = 0.5 * (1.0 - (y[kept] != "b") + wrong)
        assert gain.value == pytest.approx(1 - 2 * bounds.betting(paired[order], gain.delta))
        assert Certificate.from_dict(one.to_dict()) == one


@pytest.mark.filterwarnings("ignore::motlm.errors.MotlmWarning")
def test_the_headline_says_that_no_gain_is_certified() -> None:
    """2 errors of 8 rows: a limit below what the majority class was seen to have may be chance."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(27, 1)), np.repeat([0, 1, 2], 9)
    X[:, 0] += 8 * y
    certificate = certify(LogisticRegression(), X, y).certificate
    headline, gain = certificate.headline, certificate["gain"]
    assert headline.n_rows == 8
    assert headline.value < headline.baseline
    assert gain.value <= 0
    assert headline.flags == gain.flags == ("NOT BETTER THAN THE MAJORITY CLASS",)
    assert str(headline).startswith("Not shown to be better than the majority class. With 96 %")
    assert "may err up to" in str(gain)
    again = Certificate.from_dict(certificate.to_dict())
    assert again == certificate
    alone = certify(LogisticRegression(), X, y, spend={"hold-out": 0.04}).certificate
    assert alone.headline.flags == ()  # where no gain was to be certified
    content = certificate.to_dict()
    content["statements"][0]["flags"] = []
    with pytest.raises(CertificateError):
        Certificate.from_dict(_signed(content))


def _signed(content: dict[str, Any]) -> dict[str, Any]:
    content = {name: value for name, value in content.items() if name != "digest"}
    return {**content, "digest": statements._digest(content)}


def test_the_gain_over_the_majority_class_holds_for_the_population() -> None:
    """Of 400 tables of three labels, nearly as frequent, and a model with no gain over the most
    frequent one: it is certified a gain in at most a fifth of them, at delta = 0.2.
    """
    shares, false = np.array([0.35, 0.33, 0.32]), 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        y = rng.choice(3, size=60, p=shares)
        errs = rng.random(60) < 1.0 - shares.max()  # as often as the best constant answer
        order = rng.permutation(60)
        gains = [
            1 - 2 * bounds.betting((0.5 * (1.0 - (y != k) + errs))[order], 0.2) for k in range(3)
        ]
        false += min(gains) > 0
    assert false <= 0.2 * 400


@pytest.mark.parametrize("overlap", ["nearest", "mean"])
def test_contradictions_without_labels(rows: Rows, overlap: str) -> None:
    X, y = rows
    more, _ = draw_rows(400, seed=1)
    model, certificate = certify(
        classifier(overlap=overlap), X, y, X_unlabeled=more, spend={"ambiguity": 0.05}
    )
    _, kept = split(len(y))
    seen = model.ambiguous(np.vstack([X[kept], more]))
    assert (certificate.headline.errors, certificate.headline.n_rows) == (seen.sum(), len(seen))
    assert seen.any()


# -- without a split -------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("centers", ["known", "learned"])
def test_in_sample_by_hand(rows: Rows, loss: str, centers: str) -> None:
    X, y = rows
    options = LEARNED if centers == "learned" else {}
    model = classifier(loss, standardize=False, class_weight="balanced", **options).fit(X, y)
    mixture, q = model.mixture_, model.posterior_
    certificate = audit_in_sample(model, X, y, random_state=2)
    assert [one.code for one in certificate] == ["W1", "W4", "W2", "W3"]
    codes, events = mixture.target.code(y), []
    for seed in range(600):
        draw = distributions.draw_model(q, seed)
        if centers == "known":
            draw = replace(draw, center=mixture.geometry.points)
        one = simulate(mixture, X, codes, draw)
        events.append(
            [one["errs"].mean(), (one["errs"] & ~one["apart"]).mean(), one["apart"].mean()]
        )
    for code, mean, deviation in zip(
        ("W1", "W2", "W3"), np.mean(events, axis=0), np.std(events, axis=0), strict=True
    ):
        seen = certificate[code].empirical
        assert seen == pytest.approx(mean, abs=4 * deviation / np.sqrt(len(events)) + 1e-6), code
    nats = np.log(3) if centers == "learned" else 2 * np.log(2)  # of n, or of points dropped
    if loss == "log":
        nats += 2 * np.log(27)  # of two scales of the prior
    else:
        assert certificate["W1"].kl == pytest.approx(model.kl_ + nats, rel=1e-9)
    for one in certificate:
        cost = (one.kl + np.log(bounds.xi(len(y)) / one.delta)) / len(y)
        assert bounds.binary_kl(one.empirical, one.value) == pytest.approx(cost, rel=1e-6)
        assert LABELS in one.assumptions
    drawn = draw_in_sample(model, X, y, certificate)
    assert certificate["W4"].errors == (drawn.predict(X) != y).sum()
    scale = prior_scales(q) if loss == "log" else np.ones(3)
    ratio = ratio_of_draw(q, drawn.mixture_, scale, 2.0 if loss == "log" else 1.0)
    assert certificate["W4"].kl == pytest.approx(ratio + nats, rel=1e-9)
    assert verify(drawn, certificate) == (certificate["W4"],)


def prior_scales(q: Posterior) -> np.ndarray:
    """The best ones for a posterior, of all localities and outside, rounded to 10 over a power of
    the square root of 2.
    """
    squares = (q.coef**2 + q.coef_scale[:, None, None] ** 2).mean(axis=(1, 2))
    squares[:-1] = squares[:-1].mean()
    return 10 * 2 ** -(np.clip(np.rint(np.log2(100 / squares)), 0, 26) / 2)


def ratio_of_draw(q: Posterior, drawn: Mixture, scale: np.ndarray, intercept_scale: float) -> float:
    """ln dQ/dP with the prior of the classifier."""
    p, radius = drawn.posterior, drawn.geometry.radius
    ratio = (
        gamma.logpdf(radius, q.radius_shape, scale=1 / q.radius_rate).sum()
        - gamma.logpdf(radius, 2.0, scale=10.0).sum()
        + norm.logpdf(p.coef, q.coef, q.coef_scale[:, None, None]).sum()
        - norm.logpdf(p.coef, 0.0, scale[:, None, None]).sum()
        + norm.logpdf(p.intercept, q.intercept, q.intercept_scale[:, None]).sum()
        - norm.logpdf(p.intercept, 0.0, intercept_scale).sum()
    )
    if (q.center_scale > 0).any():
        ratio += norm.logpdf(p.center, q.center, q.center_scale[:, None]).sum()
        ratio -= norm.logpdf(p.center).sum()
    return float(ratio)


def test_corrections_of_several_labels(rows: Rows) -> None:
    """Models that depend on each other have no statements of contradictions in-sample; the one draw
    has 80 % of delta. On sealed rows all is counted.
    """
    X, y = rows
    estimator = classifier(locality_features="auto", corrections="own")
    certified = certify_in_sample(estimator, X, y, random_state=1)
    assert certified.gibbs.posterior_.pooled
    assert [one.code for one in certified.certificate] == ["W4", "W1"]
    assert certified.certificate.headline.delta == pytest.approx(0.04)
    assert certified.certificate.headline.value < certified.certificate.headline.baseline
    names = {one.name for one in certify(estimator, X, y, sealed=0.5).certificate}
    assert {"hold-out", "any rule", "one draw", "silent error", "ambiguity"} <= names


@pytest.mark.parametrize("loss", LOSSES)
def test_certify_in_sample(rows: Rows, loss: str) -> None:
    X, y = rows
    certified = certify_in_sample(classifier(loss), X, y, random_state=1)
    model, certificate = certified
    assert [one.code for one in certificate][:2] == ["W4", "W1"]
    assert certificate.headline.value < certificate.headline.baseline
    assert verify(model, certificate) == (certificate["W4"],)
    assert verify(certified.gibbs, certificate) == certificate.statements[1:]
    assert set(model.predict(X)) <= set(NAMES)
    again = certify_in_sample(classifier(loss), X, y, random_state=1)
    assert again.certificate == certificate
    two = np.where(y == "cat", "cat", "other")
    plain = certify_in_sample(classifier(loss), X, two).certificate
    assert not any(LABELS in one.assumptions for one in plain)


# -- belonging together ----------------------------------------------------------------------------


def test_a_certificate_belongs_to_its_model(certified: Certified, tmp_path: Path) -> None:
    model, certificate = certified
    names = [one.name for one in verify(model, certificate)]
    assert "any rule" not in names
    assert [one.code for one in verify(certified.gibbs, certificate)] == ["C2"]
    assert [one.code for one in verify(certified.drawn, certificate)] == ["C3"]
    other = copy.deepcopy(model)
    q = other.mixture_.posterior
    coef = q.coef.copy()
    coef[0, 1, 0] += 1e-3  # of one class alone
    vars(other)["mixture_"] = replace(other.mixture_, posterior=replace(q, coef=coef))
    with pytest.raises(CertificateError, match="not about this model"):
        verify(other, certificate)
    assert standing(other).certificate is None
    edited = copy.deepcopy(model)
    shown = edited.mixture_.models[0]
    shown.intercept.flags.writeable = True
    shown.intercept[2] += 0.5
    with pytest.raises(CertificateError, match="models, which the model derives"):
        verify(edited, certificate)
    for one in (model, certified.gibbs, certified.drawn):
        path = tmp_path / "model.json"
        one.save(path)
        loaded = motlm.load(path)
        assert loaded.certificate_ == standing(one).certificate
        assert verify(loaded, loaded.certificate_)
    model.set_params(overlap="mean")
    try:
        assert "overlap was changed from 'nearest' to 'mean'" in standing(model).void
        with pytest.warns(CertificateWarning, match="void"):
            model.save(tmp_path / "void.json")
    finally:
        model.set_params(overlap="nearest")


def test_words(certified: Certified) -> None:
    sentence = certified.certificate.headline.sentence
    assert "this fixed model errs on at most" in sentence
    assert "the majority class errs on" in sentence
    text = str(certified.certificate)
    assert "whichever applicable local model is used" in text
    assert "errs without showing a contradiction" in text
    assert "shows a contradiction between its local models on at most" in text
    assert "percentage points less often than the majority class" in text
    assert "Where the model of locality 1 is used (" in text


# -- what is refused and noted ---------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_training_rows_and_near_copies_are_refused(loss: str, rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(200, 3)), rng.choice(NAMES, 200)
    model = LocalMixtureClassifier(0, loss=loss, **QUICK).fit(X, y)
    for copied, match in (
        (X, "200 of the 200 rows are among the 200 used for fitting"),
        (X.round(3), "200 of the 200 rows are near-copies"),
        (X + 1e-4 * rng.normal(size=X.shape), "near-copies"),
    ):
        with pytest.raises(TrainingRowsError, match=match):
            audit(model, copied, y)
    fresh = rng.normal(size=(200, 3)), rng.choice(NAMES, 200)
    assert audit(model, *fresh).headline.flags
    swapped = np.roll(NAMES, 1)[np.searchsorted(np.sort(NAMES), y)]
    assert audit(model, X, swapped).headline.value > 0.5  # rows with other labels are other rows


def test_drawn_models_store_the_sealed_rows(rows: Rows, certified: Certified) -> None:
    X, y = rows
    _, kept = split(len(y), 0.5)
    for model in (certified.gibbs, certified.drawn):
        with pytest.raises(TrainingRowsError):
            audit(model, X[kept], y[kept])


def test_labels_that_the_model_does_not_know(rows: Rows) -> None:
    X, y = rows
    model = classifier().fit(X[:500], y[:500])
    strange = y[500:].copy()
    strange[7] = "dog"
    with pytest.raises(CertificateError, match=r"the label 'dog' is not among those.*'bee', 'cat'"):
        audit(model, X[500:], strange)
    first, kept = split(len(y))
    rare = y.copy()
    rare[kept[3]] = "dog"
    with pytest.raises(CertificateError, match="the label 'dog' is not among those"):
        certify(classifier(), X, rare)
    rare[first[:20]] = "dog"
    assert certify(classifier(), X, rare).model.classes_.tolist() == ["ant", "bee", "cat", "dog"]


def test_shares_of_labels_that_changed(rows: Rows) -> None:
    """The label whose share changed most is named; a mean of their positions would say nothing."""
    X, y = rows
    first, kept = split(len(y))
    shifted = y.copy()
    shifted[kept] = np.where(y[kept] == "bee", "ant", y[kept])
    before = 100 * np.mean(y[first] == "bee")
    for estimator in (classifier(), LogisticRegression()):
        with pytest.warns(UserWarning, match="the shares of the labels changed") as caught:
            certify(estimator, X, shifted)
        text = str(caught[0].message)
        assert f"(that of 'bee' from {before:.1f} % to 0.00 %)" in text
    model = classifier().fit(X[first], y[first])
    with pytest.warns(UserWarning, match="the shares of the labels changed between the rows used"):
        audit(model, X[kept], np.where(y[kept] == "cat", "ant", y[kept]))


@pytest.mark.filterwarnings("ignore::motlm.errors.MotlmWarning")
@pytest.mark.parametrize("kind", [LogisticRegression, LocalMixtureClassifier])
def test_shares_of_two_labels_that_changed(kind: Any, rng: np.random.Generator) -> None:
    """In shares, and not by the mean of codes that a reader has never seen."""
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] + rng.normal(size=400) > 0.2, "malignant", "benign")
    first, kept = split(len(y))
    y[kept] = np.where(rng.random(len(kept)) < 0.7, "benign", y[kept])
    before, after = (100 * np.mean(y[some] == "malignant") for some in (first, kept))
    told = (
        "the shares of the labels changed between the rows used for fitting and these (that of"
        f" 'malignant' from {before:.1f} % to {after:.1f} %). "
    )
    mixture = kind is LocalMixtureClassifier
    model = LocalMixtureClassifier(0, **QUICK) if mixture else kind()
    found = certify(model, X, y)
    assert any(note.startswith(told) for note in found.certificate.notes)
    if mixture:
        notes = audit(LocalMixtureClassifier(0, **QUICK).fit(X[first], y[first]), X[kept], y[kept])
        assert any(note.startswith(told) for note in notes.notes)


def test_no_alarm_where_shares_of_labels_are_the_same() -> None:
    """Of 300 tables with rare labels, whose middle one alone would be missed by a mean."""
    names, alarms = np.arange(5), 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        codes = rng.choice(5, size=400, p=[0.4, 0.3, 0.28, 0.015, 0.005]).astype(float)
        alarms += note_shift(codes[:280], codes[280:], names) is not None
    assert alarms == 0
    middle, ends = np.full(100, 1.0), np.repeat([0.0, 2.0], 50)
    assert note_shift(middle, ends, names[:3]) is not None
