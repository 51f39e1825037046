"""Models of the features that a scikit-learn transformer makes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_iris
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

from motlm import LocalMixtureClassifier, LocalMixtureRegressor, certificates, exports
from motlm.errors import InputError, ModelFileError
from motlm.explanations import counterfactual, explain_global, explain_local, importance
from motlm.transformed import fit_transformer

QUICK: dict[str, Any] = {"random_state": 0, "n_starts": 1, "inverse_temperature": 8.0}
TRANSFORMERS = [
    PolynomialFeatures(2),
    SplineTransformer(5),
    Nystroem(gamma=0.3, n_components=40, random_state=0),
    make_pipeline(StandardScaler(), PolynomialFeatures(2, interaction_only=True)),
]


def product(n_rows: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    """y depends on the square of one column and the product of two others."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(n_rows, 3)) * [1, 10, 0.1] + [0, 50, 2], columns=list("abc"))
    z = (X - [0, 50, 2]) / [1, 10, 0.1]
    return X, (z["a"] ** 2 + z["b"] * z["c"] + 0.1 * rng.normal(size=n_rows)).to_numpy()


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("n", [0, 1])
def test_contributions_add_up_to_what_the_model_predicts(transformer: Any, n: int) -> None:
    X, y = product()
    y = y + 8.0 * ((X["a"] > 0.5) & (X["b"] > 50)).to_numpy()  # what a locality is for
    model = LocalMixtureRegressor(n, local_models=transformer, **QUICK).fit(X, y)
    rows = X.iloc[:7]
    explanation = explain_local(model, rows)
    total = explanation.base + explanation.contributions.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(rows), atol=1e-9)
    assert list(model.feature_names_in_) == list("abc")
    # the outputs that the formula is in give the same predictions as the model
    [exterior] = model.mixture_.models[-1:]
    made, inputs = model.mixture_.inputs.made, model.mixture_.inputs
    outputs = made.values(inputs.encode(X)) / made.scale
    score = exterior.intercept + X.to_numpy() @ exterior.coef + outputs @ exterior.outputs.coef
    outside = ~model.mixture_.view(inputs.encode(X)).member.any(axis=0)
    np.testing.assert_allclose(score[outside], model.predict(X)[outside], atol=1e-9)
    assert type(transformer).__name__ in exterior.formula()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.mixture_.hash == model.mixture_.hash
    assert "one linear model" in str(explain_global(model, X, y)) or n == 0
    assert clone(model).get_params()["local_models"] is not transformer


def test_products_are_learned_and_told_by_their_columns() -> None:
    X, y = product()
    linear = LocalMixtureRegressor(0, local_models="linear", **QUICK).fit(X, y)
    model = LocalMixtureRegressor(0, local_models=PolynomialFeatures(2), **QUICK).fit(X, y)
    assert linear.score(X, y) < 0.2 < 0.97 < model.score(X, y)
    row = explain_local(model, X.iloc[:1])[0]
    assert set(row.contributions) == {"a", "b", "c", "a & b", "a & c", "b & c"}
    assert row.values["b & c"] == f"{X['b'][0]:.4g}, {X['c'][0]:.4g}"
    found = importance(model, X)
    order = np.array(found.feature_names)[np.argsort(-found.overall)]
    assert set(order[:2]) == {"a", "b & c"}
    assert "[a^2]" in model.exterior_.formula()
    assert "[b c]" in model.exterior_.formula()
    with pytest.raises(InputError, match="'a' is a part of what PolynomialFeatures makes"):
        model.exterior_.curve("a")


def test_a_kernel_is_one_term_of_all_columns() -> None:
    X, y = product()
    kernel = Nystroem(gamma=0.2, n_components=60, random_state=0)
    model = LocalMixtureRegressor(0, local_models=kernel, **QUICK).fit(
        X.assign(d=X["a"] * 0.5 + X["b"]), y
    )
    assert model.mixture_.inputs.term_names == (*"abcd", "Nystroem of 4 columns")
    assert model.score(X.assign(d=X["a"] * 0.5 + X["b"]), y) > 0.9


def test_a_transformer_that_draws_has_the_seed_of_the_fit() -> None:
    """Also as a step of a pipeline; a random_state of its own is kept."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)

    def landmarks(transformer: Any, seed: int) -> str:
        model = LocalMixtureRegressor(0, local_models=transformer, random_state=seed)
        return model.set_params(inverse_temperature=1.0).fit(X, y).mixture_.hash

    drawn = Nystroem(n_components=10)
    assert landmarks(drawn, 0) == landmarks(drawn, 0) != landmarks(drawn, 1)
    assert drawn.random_state is None
    steps = make_pipeline(StandardScaler(), drawn)
    assert landmarks(steps, 0) == landmarks(steps, 0)
    own = Nystroem(n_components=10, random_state=5)
    model = LocalMixtureRegressor(0, local_models=own, inverse_temperature=1.0).fit(X, y)
    assert model.mixture_.inputs.made.transformer.random_state == 5


def test_what_depends_on_what_is_found_by_trying(rng: np.random.Generator) -> None:
    X = np.random.default_rng(1).normal(size=(90, 3))
    names, varies = ("a", "b", "c"), np.array([True, True, True])

    def outputs(Z: np.ndarray) -> np.ndarray:
        late = np.maximum(Z[:, 2] - 1.6, 0.0)  # differs from 0 in few rows
        return np.column_stack([Z[:, 0] * Z[:, 2], Z[:, 1], np.ones(len(Z)), late, Z[:, 1] ** 3])

    made = fit_transformer(FunctionTransformer(outputs), X, np.ones(90), varies, names, rng)
    assert made.sources == ((0, 2), (2,), (1,))  # neither the column itself nor the constant
    assert made.names == ("functiontransformer0", "functiontransformer3", "functiontransformer4")
    spread = made.values(X).var(axis=0).sum()
    np.testing.assert_allclose(spread, 3.0)
    assert fit_transformer(StandardScaler(), X, np.ones(90), varies, names, rng) is None


def test_categories_and_classes() -> None:
    X, y = product()
    X = X.assign(kind=np.where(X["a"] > 0.3, "high", "low"))
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    options = {"local_models": PolynomialFeatures(2), "random_state": 0, "n_starts": 1}
    model = LocalMixtureClassifier(0, **options).fit(X, labels)
    assert model.score(X, labels) > 0.8
    row = explain_local(model, X.iloc[:1])[0]
    assert "a & kind" in row.contributions
    for part in row.by_class.values():
        np.testing.assert_allclose(part.base + sum(part.contributions.values()), part.score)
    assert "[b c]" in model.exterior_.of_class(1).formula()
    rates = LocalMixtureRegressor(0, loss="poisson", **options).fit(X, np.round(np.abs(y)))
    assert "exp(" in rates.exterior_.formula()


def test_chosen_by_cross_validation_and_tuned_by_scikit_learn() -> None:
    X, y = load_iris(return_X_y=True)
    model = LocalMixtureClassifier(
        max_localities=1, local_models=PolynomialFeatures(2), n_starts=1, random_state=0
    )
    model.set_params(local_models__degree=3).fit(X, y)
    assert model.mixture_.inputs.made.transformer.degree == 3
    assert set(model.cv_results_["local_models"]) == {"PolynomialFeatures"}
    assert model.score(X, y) > 0.95


def test_certified_on_sealed_rows_but_not_in_sample() -> None:
    X, y = product()
    labels = (y > np.median(y)).astype(int)
    options = {"local_models": SplineTransformer(4), "random_state": 0, "n_starts": 1}
    model = LocalMixtureClassifier(0, **options)
    certified = certificates.certify(model, X, labels, sealed=0.3)
    assert certified.certificate.to_dict()["statements"]
    with pytest.raises(certificates.CertificateError, match="SplineTransformer"):
        certificates.certify_in_sample(LocalMixtureClassifier(1, **options), X.to_numpy(), labels)


def test_what_only_scikit_learn_can_compute_is_refused_with_advice(tmp_path: Path) -> None:
    X, y = product()
    model = LocalMixtureRegressor(0, local_models=PolynomialFeatures(2), **QUICK).fit(X, y)
    with pytest.raises(ModelFileError, match="holds a transformer"):
        model.save(tmp_path / "model.json")
    with pytest.raises(InputError, match="counterfactual is for linear and additive"):
        counterfactual(model, X.iloc[:1], target=2.0)
    with pytest.raises(InputError, match="export to Python is for linear and additive"):
        exports.to_python(model)


class _Bad(TransformerMixin, BaseEstimator):
    """Makes what it was told to make."""

    def __init__(self, made: Any = None, needs: bool = False) -> None:
        self.made = made
        self.needs = needs

    def fit(self, X: Any, *y: Any) -> _Bad:
        if self.needs and not y:
            raise TypeError("missing y")
        return self

    def transform(self, X: Any) -> Any:
        return self.made(X)


@pytest.mark.parametrize(
    ("transformer", "message"),
    [
        (_Bad(lambda X: X[:3]), "a row of features for each row"),
        (_Bad(lambda X: X / 0.0 if len(X) else X), "not finite"),
        (_Bad(lambda X: np.full((len(X), 1), "a")), "must make numbers"),
        (_Bad(lambda X: np.ones((len(X), 3000))), "at most 2000"),
        (_Bad(lambda X: X, needs=True), "without targets"),
        (PolynomialFeatures, "local_models must be one of"),
        (3, "local_models must be one of"),
        ("quadratic", "local_models must be one of"),
    ],
)
def test_bad_transformers_are_told(transformer: Any, message: str) -> None:
    X, y = product(40)
    with np.errstate(all="ignore"), pytest.raises(InputError, match=message):
        LocalMixtureRegressor(0, local_models=transformer).fit(X, y)


def test_settings_that_do_not_go_together() -> None:
    X, y = product(40)
    kernel = Nystroem(n_components=5)
    with pytest.raises(InputError, match="monotonic_cst is for linear and additive"):
        LocalMixtureRegressor(local_models=kernel, monotonic_cst={"a": 1}).fit(X, y)
    with pytest.raises(InputError, match="local_models=Nystroem is not for the paper's"):
        LocalMixtureClassifier(local_models=kernel, loss="zero-one").fit(X, y > 0)
