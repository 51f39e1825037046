"""Several classes: what holds of every fitted model of three labels or more, against what is
computed by hand, drawn at random, or fitted by scikit-learn.
"""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import draw_members, draw_models, name_of, random_posterior, random_rows
from made import with_localities, with_mixture
from scipy.special import softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.class_weight import compute_sample_weight

import motlm
from motlm import LocalMixtureClassifier, Prior
from motlm.datasets import make_clf_case2
from motlm.errors import EmptyLocalityWarning, InputError, StoppedEarlyWarning
from motlm.geometry import LearnedBalls
from motlm.losses import CLASS_LOSSES, AnySign, Multinomial
from motlm.objective import Objective
from motlm.posterior import FIELDS, Posterior, settle_scales
from motlm.targets import Binary, Labels, Several

LOSSES = ("log", "zero-one")
EACH = pytest.mark.parametrize("loss", LOSSES)
QUICK: dict[str, Any] = {
    "local_models": "linear",
    "inverse_temperature": 2.0,
    "n_starts": 2,
    "random_state": 0,
}
ANIMALS = np.array(["bee", "cat", "dog"])


def turned(m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """One group of rows for each of three labels around a ball, one for each inside, turned."""
    rng = np.random.default_rng(seed)
    direction, near = rng.integers(3, size=m), rng.random(m) < 0.4
    angle = np.pi * (0.5 + 2.0 * direction / 3.0)
    X = np.where(near, 0.5, 1.8) * np.array([np.cos(angle), np.sin(angle)])
    X += [[1.0], [0.0]] + 0.2 * rng.normal(size=(2, m))
    return X.T.copy(), ANIMALS[(direction + near) % 3]


def noisy(m: int, count: int = 3, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels drawn from the softmax of linear scores."""
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(m, d)), rng.normal(size=(count, d))
    chance = softmax(X @ weights.T + rng.normal(size=count), axis=1)
    return X, (chance.cumsum(axis=1) < rng.random(m)[:, None]).sum(axis=1).clip(0, count - 1)


@pytest.fixture(scope="module")
def fitted() -> dict[str, tuple[np.ndarray, np.ndarray, Any]]:
    X, y = turned(500)
    return {
        loss: (X, y, LocalMixtureClassifier(1, loss=loss, **QUICK).fit(X, y)) for loss in LOSSES
    }


@pytest.fixture(scope="module")
def crossing() -> dict[str, tuple[np.ndarray, np.ndarray, Any]]:
    """Two balls that overlap, with models of their own."""
    X, y = turned(400)
    made = {}
    for loss in LOSSES:
        model = LocalMixtureClassifier(1, loss=loss, **QUICK).fit(X, y)
        points = np.array([[-0.4, 0.0], [0.5, 0.1]])
        made[loss] = (X, y, with_localities(model, points, [0.9, 0.8], np.random.default_rng(4)))
    return made


def scores_by_hand(model: Any, X: np.ndarray) -> np.ndarray:
    """(n_models, n_rows, n_classes), from the formulas in the user's units."""
    return np.stack([X @ one.coef.T + one.intercept for one in model.mixture_.models])


# -- labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["bee", "cat", "dog"]),
        np.array(["bee", "cat", "dog"], dtype=object),
        np.array([-7, 0, 12]),
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([-1.0, 0.0, 4.0]),
        np.array([0.0, 1.0, 2.0], dtype=np.float32),
    ],
    ids=lambda one: str(one.dtype),
)
def test_labels_of_any_kind(labels: np.ndarray) -> None:
    X, y = turned(200)
    codes = np.searchsorted(ANIMALS, y)
    model = LocalMixtureClassifier(1, **QUICK).fit(X, labels[codes])
    np.testing.assert_array_equal(model.classes_, labels)
    assert model.classes_.dtype == labels.dtype
    assert model.predict(X).dtype == labels.dtype
    plain = LocalMixtureClassifier(1, **QUICK).fit(X, codes)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), labels[plain.predict(X)])


def test_two_labels_are_not_several() -> None:
    assert type(Labels.learn(np.array([True, False]))) is Binary
    assert type(Labels.learn(np.array(["a", "b"]))) is Binary
    assert type(Labels.learn(np.array([0, 1, 2]))) is Several
    X, y = turned(120)
    two = LocalMixtureClassifier(0, **QUICK).fit(X, y == "cat")
    assert two.posterior_.coef.shape == (1, 2)
    assert two.decision_function(X).shape == (120,)


def test_labels_that_cannot_be() -> None:
    X, y = noisy(600)
    model = LocalMixtureClassifier(0, **QUICK)
    with pytest.raises(InputError, match="Unknown label type: continuous"):
        model.fit(X, y + 0.5)
    with pytest.raises(InputError, match=r"y has 300 classes in 600 rows; at most 256 can be told"):
        model.fit(X, np.arange(600) % 300)
    with pytest.raises(InputError, match="use LocalMixtureRegressor; else join rare classes"):
        model.fit(X, np.arange(600) % 257)
    with pytest.raises(InputError, match="y has one class only"):
        model.fit(X, np.full(600, "a"))
    held_out = {"X_val": X[:3], "y_val": [0, 1, 9]}
    with pytest.raises(InputError, match=r"y_val has the label 9.*; its labels are \[0, 1, 2\]"):
        clone(model).set_params(inverse_temperature="auto").fit(X, y, **held_out)
    with pytest.raises(InputError, match="class_weight has the label 7"):
        clone(model).set_params(class_weight={7: 2.0}).fit(X, y)


@pytest.mark.parametrize("count", [100, 256])
def test_many_classes(count: int) -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(count), 6)
    X = 3 * rng.normal(size=(count, 6))[codes] + rng.normal(size=(6 * count, 6))
    model = LocalMixtureClassifier(0, random_state=0).fit(X, codes)
    assert model.score(X, codes) > 0.9
    proba = model.predict_proba(X)
    assert proba.shape == (6 * count, count)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@pytest.mark.filterwarnings("ignore:no training row belongs")
@pytest.mark.parametrize("n", [0, 1, "auto"])
@EACH
def test_a_class_of_one_row(loss: str, n: Any) -> None:
    """It is never held out, so that all classes are there to fit on."""
    X, y = turned(90)
    y = np.where(np.arange(90) == 17, "eel", y)
    model = LocalMixtureClassifier(n, loss=loss, n_starts=1, random_state=0).fit(X, y)
    assert model.classes_.tolist() == ["bee", "cat", "dog", "eel"]
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert 0 < proba[:, 3].mean() < 0.25


@pytest.mark.filterwarnings("ignore:no training row belongs")
def test_every_class_has_one_row() -> None:
    X = np.random.default_rng(0).normal(size=(4, 2))
    with pytest.warns(UserWarning, match="4 distinct rows are too few to hold some out"):
        model = LocalMixtureClassifier(random_state=0).fit(X, list("abcd"))
    assert model.predict_proba(X).shape == (4, 4)


def test_classes_that_are_not_among_the_held_out_rows() -> None:
    X, y = noisy(300)
    some = y > 0
    model = LocalMixtureClassifier(0, inverse_temperature=(0.5, 4.0), random_state=0)
    model.fit(X, y, X_val=X[some][:40], y_val=y[some][:40])
    assert model.classes_.tolist() == [0, 1, 2]


def test_equal_rows_of_different_classes() -> None:
    """Shares of the classes where no column tells them apart."""
    X, y = np.zeros((60, 2)), np.repeat([0, 1, 2], [10, 20, 30])
    with pytest.warns(UserWarning, match="constant in all training rows"):
        model = LocalMixtureClassifier(inverse_temperature=50.0, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], [1 / 6, 1 / 3, 1 / 2], atol=0.01)


# -- answers ---------------------------------------------------------------------------------------


@EACH
def test_the_ball_is_found(fitted, loss: str) -> None:
    X, y, model = fitted[loss]
    [ball] = model.localities_
    np.testing.assert_allclose(ball.center, [1.0, 0.0], atol=0.25)
    assert model.score(X, y) > 0.97
    linear = LogisticRegression().fit(X, y).score(X, y)
    assert model.score(X, y) > linear + 0.2
    assert model.posterior_.coef.shape == (2, 3, 2)
    assert model.posterior_.intercept.shape == (2, 3)
    assert model.posterior_.coef_scale.shape == model.posterior_.intercept_scale.shape == (2,)


@EACH
def test_the_formulas_are_the_predictions(crossing, fitted, loss: str) -> None:
    for X, _, model in (crossing[loss], fitted[loss]):
        by_hand = scores_by_hand(model, X)
        used = by_hand[model.apply(X), np.arange(len(X))]
        np.testing.assert_array_equal(model.predict(X), model.classes_[used.argmax(axis=1)])
        if loss == "log":
            np.testing.assert_allclose(model.decision_function(X), used, rtol=1e-9, atol=1e-9)
        for one in model.mixture_.models:
            assert one.classes == ("bee", "cat", "dog")
            for k, label in enumerate(one.classes):
                alone = one.of_class(label)
                np.testing.assert_array_equal(alone.coef, one.coef[k])
                assert alone.intercept == one.intercept[k]
                assert one.formula().split("\n")[k] == f"{label}: {alone.formula()}"


@pytest.mark.parametrize("overlap", ["nearest", "mean"])
@EACH
def test_predict_is_the_argmax_of_everything(crossing, loss: str, overlap: str) -> None:
    X, _, fitted = crossing[loss]
    model = copy.copy(fitted).set_params(overlap=overlap)
    assert (overlap == "mean") == (model.apply(X) < 0).any()
    proba, decision = model.predict_proba(X), model.decision_function(X)
    assert proba.shape == decision.shape == (len(X), 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    np.testing.assert_array_equal(model.classes_[decision.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(softmax(decision, axis=1), proba, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("overlap", ["nearest", "mean"])
@EACH
def test_probabilities_by_hand(crossing, loss: str, overlap: str) -> None:
    """The softmax of the formulas' values; with the zero-one loss by drawing scores."""
    X, _, fitted = crossing[loss]
    X = X[:40]
    model, q = copy.copy(fitted).set_params(overlap=overlap), fitted.posterior_
    member = model.membership(X)
    applies = np.column_stack([member, ~member.any(axis=1)]).T
    if overlap == "nearest":
        applies = np.arange(3)[:, None] == model.apply(X)
    share = applies / applies.sum(axis=0)
    mean = np.einsum("ir,irk->rk", share, scores_by_hand(model, X))
    if loss == "log":
        np.testing.assert_allclose(model.predict_proba(X), softmax(mean, axis=1), rtol=1e-8)
        return
    norm2 = (model.mixture_.inputs.standardize(X) ** 2).sum(axis=1)
    variance = np.multiply.outer(q.coef_scale**2, norm2) + (q.intercept_scale**2)[:, None]
    deviation = np.sqrt((share**2 * variance).sum(axis=0))
    drawn = mean + deviation[:, None] * np.random.default_rng(0).normal(size=(20_000, 40, 3))
    seen = np.mean(drawn.argmax(axis=2)[..., None] == np.arange(3), axis=0)
    np.testing.assert_allclose(model.predict_proba(X), seen, atol=4.5 * 0.5 / np.sqrt(20_000))


@EACH
def test_the_posteriors_vote(crossing, loss: str) -> None:
    """Memberships times the share of draws in which a score is the largest."""
    X, _, model = crossing[loss]
    X, q, rng = X[:40], model.posterior_, np.random.default_rng(0)
    norm2 = (model.mixture_.inputs.standardize(X) ** 2).sum(axis=1)
    variance = np.multiply.outer(q.coef_scale**2, norm2) + (q.intercept_scale**2)[:, None]
    noise = rng.normal(size=(10_000, 3, 40, 3)) * np.sqrt(variance)[..., None]
    drawn = (scores_by_hand(model, X) + noise).argmax(axis=-1)
    shares = np.mean(drawn[..., None] == np.arange(3), axis=0)  # (n_models, n_rows, n_classes)
    omega = model.membership_proba(X).T
    gate = np.concatenate([omega, np.prod(1 - omega, axis=0)[None]])
    expected = np.einsum("ir,irk->rk", gate / gate.sum(axis=0), shares)
    np.testing.assert_allclose(model.vote_proba(X), expected, atol=4.5 * 0.5 / np.sqrt(10_000))
    np.testing.assert_allclose(model.vote_proba(X).sum(axis=1), 1.0, rtol=1e-9)


@EACH
def test_sets_and_ambiguity(crossing, loss: str) -> None:
    X, _, model = crossing[loss]
    member = model.membership(X)
    answers = scores_by_hand(model, X).argmax(axis=2)
    sets = model.predict_set(X)
    for i in range(len(X)):
        applied = np.append(member[i], not member[i].any())
        assert sets[i].tolist() == model.classes_[np.unique(answers[applied, i])].tolist()
    apart = [len(one) > 1 for one in sets]
    assert any(apart)
    assert model.ambiguous(X).tolist() == apart


def drawn_risk(model: Any, X: np.ndarray, codes: np.ndarray, draws: int) -> list[float]:
    """The loss of models drawn from a posterior with given centers, summed as the paper does."""
    q, rng, losses = model.posterior_, np.random.default_rng(5), []
    own = np.arange(q.coef.shape[1]) == codes[:, None]
    for _ in range(draws):
        inside = draw_members(q, X, rng)
        v, b = draw_models(q, rng)
        scores = np.einsum("rj,ikj->irk", X, v) + b[:, None]
        if model.loss == "log":
            each = np.log(np.exp(scores).sum(axis=2)) - (scores * own).sum(axis=2)
        else:
            each = (np.where(own, scores, -scores) <= 0).any(axis=2).astype(float)
        gate = np.column_stack([inside, ~inside.any(axis=1)]).T
        losses.append(float((gate * each).sum(axis=0).mean()))
    return losses


@EACH
def test_gibbs_risk_by_drawing_models_from_the_posterior(loss: str) -> None:
    """Exact for the zero-one loss; of the log loss it is a bound, by little."""
    X, y = turned(400)
    model = LocalMixtureClassifier(
        points_of_interest=[[1.0, 0.0]], standardize=False, loss=loss, **QUICK
    ).fit(X, y)
    drawn = drawn_risk(model, X, np.searchsorted(ANIMALS, y), 400)
    error = 4 * np.std(drawn) / 20
    slack = 0.02 * np.mean(drawn) if loss == "log" else 0.0
    assert np.mean(drawn) - error <= model.gibbs_risk_ <= np.mean(drawn) + error + slack
    assert model.objective_ == pytest.approx(
        model.gibbs_risk_ + model.kl_ / (2.0 * len(X)), rel=1e-10
    )


# -- the objective ---------------------------------------------------------------------------------


def gaussian_divergence(gap: np.ndarray, scale: float, prior_scale: float) -> float:
    """KL of N(m, scale^2 I) from N(m0, prior_scale^2 I), summed number by number."""
    return sum(
        math.log(prior_scale / scale) + (scale**2 + one**2) / (2 * prior_scale**2) - 0.5
        for one in gap.ravel()
    )


@pytest.mark.parametrize("count", [3, 7])
def test_divergence_literally(count: int, rng: np.random.Generator) -> None:
    """Each class has its own weights and intercept, all of one scale."""
    loss = Multinomial(count)
    q = random_posterior(rng, 2, 3, LearnedBalls(), loss.scores)
    rows = random_rows(rng, 5, q, LearnedBalls(), loss)
    prior = Prior(coef=0.3, coef_scale=0.7, intercept=-0.2, intercept_scale=2.0)
    found = Objective(loss, LearnedBalls(), prior, rows, 1.0).kl(q)
    one = replace(q, coef=q.coef[:, 0], intercept=q.intercept[:, 0])  # of the first class alone
    binary = Objective(motlm.losses.Log(), LearnedBalls(), prior, rows, 1.0).kl(one)
    more = sum(
        gaussian_divergence(q.coef[i, 1:] - 0.3, q.coef_scale[i], 0.7)
        + gaussian_divergence(q.intercept[i, 1:] + 0.2, q.intercept_scale[i], 2.0)
        for i in range(3)
    )
    assert found == pytest.approx(binary + more, rel=1e-10)


def test_learned_scales_are_the_best_for_all_classes(rng: np.random.Generator) -> None:
    """The divergence is that of the best prior scales: one of the exterior, one of all others."""
    loss = Multinomial(4)
    q = random_posterior(rng, 2, 3, LearnedBalls(), loss.scores)
    rows = random_rows(rng, 5, q, LearnedBalls(), loss)

    def kl(prior: Prior) -> float:
        return Objective(loss, LearnedBalls(), prior, rows, 1.0).kl(q)

    best = np.sqrt(np.mean(q.coef**2 + q.coef_scale[:, None, None] ** 2, axis=(1, 2)))
    scale = np.array([*[np.sqrt(np.mean(best[:2] ** 2))] * 2, best[2]])
    learned = kl(Prior(learn_scales=True))
    assert learned == pytest.approx(kl(Prior(coef_scale=scale)), rel=1e-10)
    for factor in (0.9, 1.1):
        assert learned < kl(Prior(coef_scale=factor * scale))
    full = Prior(learn_scales=True).expand(2, 3, loss.scores)
    settled, price = settle_scales(full, q)
    assert price == pytest.approx(2 * math.log(27))
    assert learned <= kl(settled) <= learned + 0.07 * q.coef.size  # rounded to a grid


@pytest.mark.parametrize("loss", CLASS_LOSSES, ids=name_of)
def test_relabeling_the_classes_changes_nothing_of_the_objective(
    loss, rng: np.random.Generator
) -> None:
    q = random_posterior(rng, 2, 3, LearnedBalls(), loss.scores)
    rows = random_rows(rng, 60, q, LearnedBalls(), loss)
    order = np.array([2, 0, 1])
    moved = replace(q, coef=q.coef[:, order], intercept=q.intercept[:, order])
    codes = np.argsort(order)[rows.target.astype(int)].astype(float)
    first, second = (
        Objective(loss, LearnedBalls(), Prior(learn_scales=True), one, 1.5).value_and_gradient(p)
        for one, p in ((rows, q), (replace(rows, target=codes), moved))
    )
    assert second[0] == pytest.approx(first[0], rel=1e-12)
    for name in FIELDS:
        expected = getattr(first[1], name)
        if name in ("coef", "intercept"):
            expected = expected[:, order]
        np.testing.assert_allclose(getattr(second[1], name), expected, rtol=1e-9, atol=1e-12)


@EACH
def test_relabeling_the_classes_permutes_the_model(loss: str) -> None:
    """Other names in another order: the same model, up to where a search ends."""
    X, y = turned(300)
    names = {"bee": "yak", "cat": "ant", "dog": "fox"}
    points = [[1.0, 0.0]]
    one, other = (
        LocalMixtureClassifier(points_of_interest=points, loss=loss, **QUICK).fit(X, labels)
        for labels in (y, np.array([names[label] for label in y]))
    )
    order = [list(other.classes_).index(names[label]) for label in one.classes_]
    assert order == [2, 0, 1]
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-3)
    np.testing.assert_allclose(
        other.predict_proba(X)[:, order], one.predict_proba(X), atol=0.02 if loss == "log" else 0.05
    )
    assert other.localities_[0].radius == pytest.approx(one.localities_[0].radius, rel=0.02)


def test_scores_of_two_classes_are_those_of_a_binary_model() -> None:
    """A softmax of two scores is the logistic function of their difference; the other class never
    occurs where rows are weighted so that they do not count.
    """
    X, y = noisy(800)
    kept = y < 2
    weight = np.where(kept, 1.0, 1e-9)
    several = LocalMixtureClassifier(
        0, inverse_temperature=100.0, prior=Prior(coef_scale=10.0, intercept_scale=10.0)
    ).fit(X, y, weight)
    binary = LocalMixtureClassifier(
        0, inverse_temperature=100.0, prior=Prior(coef_scale=10.0, intercept_scale=10.0)
    ).fit(X[kept], y[kept])
    odds = several.decision_function(X)
    np.testing.assert_allclose(odds[:, 1] - odds[:, 0], binary.decision_function(X), atol=0.05)


# -- one linear model ------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [1.0, 10.0, 100.0])
def test_no_locality_is_multinomial_logistic_regression(temperature: float) -> None:
    """scikit-learn's with C = lambda', up to what the posterior's spread adds, which goes like
    1 / lambda'.
    """
    X, y = noisy(2000)
    model = LocalMixtureClassifier(
        0, inverse_temperature=temperature, prior=Prior(intercept_scale=10.0)
    ).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    other = LogisticRegression(C=temperature, max_iter=5000, tol=1e-8).fit(Z, y)
    np.testing.assert_allclose(
        model.predict_proba(X), other.predict_proba(Z), atol=0.008 / temperature
    )
    np.testing.assert_allclose(model.posterior_.coef[0], other.coef_, atol=0.02 / temperature)
    assert model.localities_ == []
    assert not model.ambiguous(X).any()


def test_the_model_by_default_is_as_good_on_new_rows() -> None:
    """Log loss within one percent of scikit-learn's."""
    (X, y), (new, labels) = (noisy(1500, 4, 5, seed) for seed in (3, 3))
    X, y, new, labels = X[:500], y[:500], new[500:], labels[500:]
    model = LocalMixtureClassifier(0, random_state=0).fit(X, y)
    other = LogisticRegression().fit(X, y)
    own, theirs = (
        -np.mean(np.log(one.predict_proba(new)[np.arange(1000), labels])) for one in (model, other)
    )
    assert own <= 1.01 * theirs


# -- weights ---------------------------------------------------------------------------------------


def same_bits(one: Any, other: Any) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(
            getattr(one.posterior_, name), getattr(other.posterior_, name)
        )
    assert one.objective_ == other.objective_


@pytest.mark.parametrize("n", [0, 1])
@EACH
def test_an_integer_weight_is_a_repeated_row(loss: str, n: int) -> None:
    X, y = turned(150)
    count = np.random.default_rng(0).integers(0, 3, size=150)
    index = np.repeat(np.arange(150), count)
    model = LocalMixtureClassifier(n, loss=loss, **QUICK)
    same_bits(clone(model).fit(X, y, count), clone(model).fit(X[index], y[index]))


def test_a_class_without_weight_is_not_there() -> None:
    X, y = turned(150)
    weight = np.where(y == "cat", 0.0, 1.0)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y, weight)
    assert model.classes_.tolist() == ["bee", "dog"]
    assert model.decision_function(X).shape == (150,)


@EACH
@pytest.mark.parametrize("given", ["balanced", {"cat": 3.0}, {"bee": 0.5, "cat": 2, "dog": 1}])
def test_weights_of_classes_are_those_of_their_rows(given: Any, loss: str) -> None:
    X, y = turned(200)
    rare = (y != "cat") | (np.arange(200) % 3 > 0)
    X, y = X[rare], y[rare]
    quick = {**QUICK, "n_localities": 0, "loss": loss, "inverse_temperature": (0.5, 2.0)}
    weighted = LocalMixtureClassifier(class_weight=given, **quick).fit(X, y)
    same_bits(weighted, LocalMixtureClassifier(**quick).fit(X, y, compute_sample_weight(given, y)))
    assert weighted.objective_ != LocalMixtureClassifier(**quick).fit(X, y).objective_


# -- the same model --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:no training row belongs")
@pytest.mark.parametrize("n", [0, 1, "auto"])
@EACH
def test_same_seed_same_bits_for_any_jobs_and_row_order(loss: str, n: Any) -> None:
    X, y = turned(200)
    order = np.random.default_rng(1).permutation(200)
    options = {"loss": loss, "max_localities": 2, "n_starts": 2, "random_state": 3}
    one, again = (LocalMixtureClassifier(n, **options).fit(X, y) for _ in range(2))
    two = LocalMixtureClassifier(n, n_jobs=2, **options).fit(X[order], y[order])
    assert one.mixture_.hash == again.mixture_.hash == two.mixture_.hash
    same_bits(one, two)


@EACH
def test_pickle_clone_and_file(fitted, loss: str, tmp_path) -> None:
    X, y, model = fitted[loss]
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        motlm.load(model.save(tmp_path / "model.json")),
    ):
        assert other.mixture_.hash == model.mixture_.hash
        for method in ("predict", "predict_proba", "decision_function", "vote_proba", "ambiguous"):
            np.testing.assert_array_equal(getattr(other, method)(X), getattr(model, method)(X))
    assert clone(model).fit(X, y).mixture_.hash == model.mixture_.hash


@pytest.mark.parametrize(
    "prior",
    [
        Prior(coef=np.full((2, 3, 2), 0.1), intercept=np.full((2, 3), -0.1)),
        Prior(coef_scale=[0.5, 1.0], radius_rate=[1.0]),
    ],
)
def test_priors_of_each_class_are_kept_in_files(prior: Prior, tmp_path) -> None:
    X, y = turned(200)
    model = LocalMixtureClassifier(1, prior=prior, **QUICK).fit(X, y)
    again = motlm.load(model.save(tmp_path / "model.json"))
    assert again.mixture_.hash == model.mixture_.hash
    for name in FIELDS:
        for read in (again.prior, again.mixture_.provenance.prior):
            np.testing.assert_array_equal(getattr(read, name), getattr(prior, name))
    assert clone(again).fit(X, y).mixture_.hash == model.mixture_.hash


def test_priors_of_other_shapes() -> None:
    X, y = turned(60)
    for prior, shape in (
        (Prior(coef=np.zeros((2, 2))), r"\(2, 3, 2\)"),
        (Prior(intercept=np.zeros(2)), r"\(2, 3\)"),
        (Prior(coef_scale=np.ones((2, 3))), r"\(2,\)"),
    ):
        with pytest.raises(InputError, match=f"must be a number or an array of shape {shape}"):
            LocalMixtureClassifier(1, prior=prior).fit(X, y)


def test_a_prior_draws_the_classes_to_its_means() -> None:
    X, y = turned(100)
    means = np.arange(6.0).reshape(1, 3, 2)
    prior = Prior(coef=means, coef_scale=1e-3, intercept_scale=1e-3)
    options = {"inverse_temperature": 0.01, "local_models": "linear", "prior": prior}
    model = LocalMixtureClassifier(0, **options).fit(X, y)
    np.testing.assert_allclose(model.posterior_.coef, means, atol=1e-4)


# -- going on, stopping, choosing ------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:no training row belongs")
@EACH
def test_warm_start_goes_on_from_the_fitted_posterior(loss: str) -> None:
    X, y = turned(600)
    model = LocalMixtureClassifier(1, loss=loss, **QUICK).fit(X[:400], y[:400])
    centers, cold = model.posterior_.center, model.n_iter_
    model.set_params(warm_start=True).fit(X, y)
    assert {record.stage for record in model.path_} == {"final"}
    np.testing.assert_allclose(model.posterior_.center, centers, atol=0.2)
    assert model.n_iter_ <= cold + 100
    model.set_params(n_localities=2).fit(X, y)  # one more is grown
    assert 1 <= len(model.localities_) <= 2
    model.set_params(n_localities=0).fit(X, y)
    assert model.localities_ == []
    model.fit(X, np.where(y == "cat", "eel", y))  # other labels: anew
    assert "search" in {record.stage for record in model.path_}
    model.fit(X, y == "cat")  # two of them
    assert model.posterior_.coef.ndim == 2
    model.fit(X, y)
    assert model.posterior_.coef.shape == (1, 3, 2)


def test_warm_start_in_other_units() -> None:
    """A few rows far away change all units; what was learned stays where it was."""
    X, y = turned(400)
    model = LocalMixtureClassifier(1, warm_start=True, **QUICK).fit(X, y)
    before, answers, [ball] = model.predict_proba(X), model.predict(X), model.localities_
    corners = np.array([[30.0, 30.0], [30.0, -30.0], [-30.0, 30.0], [-30.0, -30.0]])
    model.set_params(max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.concatenate([X, corners]), np.append(y, model.predict(corners)))
    assert np.mean(model.predict(X) == answers) > 0.97
    np.testing.assert_allclose(model.predict_proba(X).mean(axis=0), before.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(model.localities_[0].center, ball.center, atol=0.1)


@pytest.mark.parametrize("n", [2, "auto"])
def test_when_time_is_over_the_best_model_so_far_is_kept(n: Any) -> None:
    X, y = turned(2000)
    model = LocalMixtureClassifier(n, max_time=1e-6, random_state=0)
    with pytest.warns(StoppedEarlyWarning, match="the model is the best found so far"):
        model.fit(X, y)
    assert model.predict_proba(X).shape == (2000, 3)


@EACH
def test_auto_finds_the_ball(loss: str) -> None:
    X, y = turned(500)
    model = LocalMixtureClassifier(
        "auto", loss=loss, max_localities=2, n_starts=2, random_state=0
    ).fit(X, y)
    assert len(model.localities_) >= 1
    assert model.score(X, y) > 0.95
    scores = {
        record.n_localities: record.held_out_score
        for record in model.path_
        if record.held_out_score is not None
    }
    assert scores[1] > scores[0]


@pytest.mark.filterwarnings("ignore:no training row belongs")
@EACH
def test_auto_keeps_to_one_linear_model(loss: str) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=300)
    X = np.array([[0.0, 3.0], [3.0, -2.0], [-3.0, -2.0]])[codes] + rng.normal(size=(300, 2))
    model = LocalMixtureClassifier("auto", loss=loss, max_localities=2, random_state=0)
    assert model.fit(X, codes).localities_ == []


@EACH
def test_the_bound_chooses(loss: str) -> None:
    X, y = turned(300)
    model = LocalMixtureClassifier(
        "auto", loss=loss, max_localities=2, n_starts=2, select="bound", random_state=0
    ).fit(X, y)
    bounds = {
        (one.n_localities, one.inverse_temperature): one.bound
        for one in model.path_
        if one.bound is not None
    }
    chosen = min(bounds, key=bounds.get)
    assert chosen == (len(model.localities_), model.inverse_temperature_)
    assert all(one.held_out_score is None for one in model.path_)


@pytest.mark.filterwarnings("ignore:no training row belongs")
@EACH
def test_held_out_scores_are_of_the_rows_held_out(loss: str) -> None:
    """Of the log loss its mean, capped where so many rows cannot tell; of zero-one the accuracy."""
    X, y = turned(300)
    rest, held = slice(0, 200), slice(200, 300)
    options = {"inverse_temperature": (1.0, 2.0), "local_models": "linear", "random_state": 0}
    model = LocalMixtureClassifier(0, loss=loss, **options)
    model.fit(X[rest], y[rest], X_val=X[held], y_val=y[held])
    [score] = [
        one.held_out_score
        for one in model.path_
        if one.inverse_temperature == model.inverse_temperature_ and one.held_out_score is not None
    ]
    expected = model.score(X[held], y[held])
    if loss == "log":
        own = model.predict_proba(X[held])[np.arange(100), np.searchsorted(ANIMALS, y[held])]
        expected = -np.mean(np.clip(-np.log(own), np.log(102 / 101), np.log(102)))
    assert score == pytest.approx(expected, abs=1e-3)


@pytest.mark.filterwarnings("ignore:no training row belongs", "ignore:nadam stopped")
@pytest.mark.parametrize(
    "options",
    [
        {"solver": "nadam", "max_iter": 300},
        {"solver": "nadam", "max_iter": 300, "loss": "zero-one", "coef_scale": "unit"},
        {"loss": "zero-one", "combine": "any"},
        {"loss": "zero-one", "coef_scale": "unit"},
        {"points_of_interest": [[1.0, 0.0], [9.0, 9.0]], "metric": "manhattan"},
        {"overlap": "mean", "n_localities": 2},
        {"standardize": False},
    ],
    ids=str,
)
def test_every_option_fits(options: dict[str, Any]) -> None:
    X, y = turned(300)
    model = LocalMixtureClassifier(**{"n_localities": 1, **QUICK, **options}).fit(X, y)
    assert model.score(X, y) > 0.6
    if options.get("coef_scale") == "unit":
        np.testing.assert_array_equal(model.posterior_.coef_scale, 1.0)
    np.testing.assert_array_equal(
        model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X)
    )


def test_a_locality_without_rows_is_dropped_and_said() -> None:
    X, y = turned(200)
    with pytest.warns(EmptyLocalityWarning, match="no training row belongs to locality 1 of 2"):
        model = LocalMixtureClassifier(
            points_of_interest=[[1.0, 0.0], [500.0, 500.0]], **QUICK
        ).fit(X, y)
    assert model.posterior_.coef.shape == (2, 3, 2)


def test_tables_of_text_and_numbers() -> None:
    X, y = turned(300)
    table = pd.DataFrame({"x": X[:, 0], "height": X[:, 1]})
    table["kind"] = np.where(np.arange(300) % 2, "odd", "even")
    model = LocalMixtureClassifier(1, handle_unknown="ignore", **QUICK).fit(table, y)
    assert model.exterior_.feature_names == ("x", "height", "kind=odd")
    assert model.exterior_.coef.shape == (3, 3)
    assert model.score(table, y) > 0.8
    strange = table[:2].assign(kind="none")
    assert np.isfinite(model.predict_proba(strange)).all()


def test_nothing_overflows_far_away() -> None:
    """Probabilities far out are 0, not errors."""
    X, y = turned(200)
    with np.errstate(all="raise"):
        for loss in LOSSES:
            model = LocalMixtureClassifier(1, loss=loss, **QUICK).fit(X, y)
            far = np.array([[1e4, -1e4], [1e40, 1e40]])
            proba = model.predict_proba(far)
            assert np.isfinite(proba).all()
            np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(far))
            assert np.isfinite(model.decision_function(far)).all()
            assert ((model.vote_proba(far) > 0) & (model.vote_proba(far) <= 1)).all()


def test_ties_are_those_of_the_first_class() -> None:
    """Models that tell nothing."""
    X, y = turned(60)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    nothing = replace(model.posterior_, coef=np.zeros((1, 3, 2)), intercept=np.zeros((1, 3)))
    for loss in LOSSES:
        target = replace(model.mixture_.target, loss_name=loss)
        other = with_mixture(model, posterior=nothing, target=target)
        assert set(other.predict(X)) == {"bee"}
        np.testing.assert_allclose(other.predict_proba(X), 1 / 3)


@EACH
def test_scores_that_differ_by_less_than_probabilities_show(loss: str) -> None:
    """The answer leads by some last digits, so that all ways to it agree."""
    X, y = turned(60)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    almost = replace(
        model.posterior_, coef=np.zeros((1, 3, 2)), intercept=np.array([[0.0, 0.0, 1e-18]])
    )
    target = replace(model.mixture_.target, loss_name=loss)
    other = with_mixture(model, posterior=almost, target=target)
    proba = other.predict_proba(X)
    assert set(other.predict(X)) == {"dog"}
    assert set(proba.argmax(axis=1)) == set(other.decision_function(X).argmax(axis=1)) == {2}
    np.testing.assert_allclose(proba, 1 / 3, rtol=1e-14)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-14)


def test_losses_know_their_number_of_classes() -> None:
    for loss_name, kind in (("log", Multinomial), ("zero-one", AnySign)):
        loss = Several(np.arange(5), loss_name).loss
        assert type(loss) is kind
        assert loss.scores == (5,)


def test_posteriors_keep_their_classes(rng: np.random.Generator) -> None:
    q = random_posterior(rng, 3, 2, LearnedBalls(), (4,))
    kept = q.keep([2, 0])
    assert isinstance(kept, Posterior)
    np.testing.assert_array_equal(kept.coef, q.coef[[2, 0, 3]])
    np.testing.assert_array_equal(kept.intercept, q.intercept[[2, 0, 3]])


def test_binary_models_have_no_axis_of_classes() -> None:
    X, y = make_clf_case2(100, random_state=0)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    assert model.exterior_.classes == ()
    with pytest.raises(InputError, match="this model has one score, not one for each"):
        model.exterior_.of_class(1.0)
    X, y = turned(60)
    several = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    with pytest.raises(InputError, match=r"expected one of the labels \['bee', 'cat', 'dog'\]"):
        several.exterior_.of_class("eel")
