"""scikit-learn's own checks, none skipped and (from 1.7 on) none expected to fail, and the tools
that its users have.
"""

from __future__ import annotations

import pickle
import warnings
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.fixes import parse_version

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.targets import RATE_LOSSES

BOTH = pytest.mark.parametrize("Estimator", [LocalMixtureClassifier, LocalMixtureRegressor])


# scikit-learn 1.6 makes two classes of three by the first row's, which is another one after it has
# shuffled the weighted rows.
OLD = (
    {}
    if parse_version(sklearn.__version__) >= parse_version("1.7")
    else {"check_sample_weight_equivalence_on_dense_data": "labels"}
)


def of_old(estimator) -> dict[str, str]:
    return OLD if isinstance(estimator, LocalMixtureClassifier) else {}


# a part of the rows is held out, which is quicker than folds
HELD = {"n_localities": 2, "select": "held-out", "local_models": "linear"}
LEFT_OUT = {"max_localities": 1, "locality_features": 1, "n_starts": 1}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [LocalMixtureClassifier(), LocalMixtureRegressor()], expected_failed_checks=of_old
)
def test_scikit_learn_checks_of_the_defaults(estimator, check) -> None:
    check(estimator)


@pytest.mark.filterwarnings(
    "ignore"
)  # scikit-learn's data make localities die and searches stop, and that is said
@parametrize_with_checks(
    [
        LocalMixtureClassifier(**LEFT_OUT),
        LocalMixtureRegressor(**LEFT_OUT),
        *(LocalMixtureClassifier(loss=loss, **HELD) for loss in ("log", "zero-one")),
        *(LocalMixtureRegressor(loss=loss, **HELD) for loss in ("squared", *RATE_LOSSES)),
        *(
            Estimator(n_starts=1, **HELD, **settings)
            for Estimator in (LocalMixtureClassifier, LocalMixtureRegressor)
            for settings in (
                {"locality_features": 1, "corrections": "none"},
                {"locality_features": "all", "corrections": "all"},
                {"locality_columns": 0, "centers": "rows"},
            )
        ),
        *(
            Estimator(1, local_models="additive", inverse_temperature=1.0, n_starts=1)
            for Estimator in (LocalMixtureClassifier, LocalMixtureRegressor)
        ),
    ],
    expected_failed_checks=of_old,
)
def test_scikit_learn_checks(estimator, check) -> None:
    try:
        check(estimator)
    except SkipTest as reason:
        pytest.fail(f"skipped: {reason}")


def data(Estimator):
    if Estimator is LocalMixtureClassifier:
        return make_classification(n_samples=120, n_features=4, n_redundant=0, random_state=0)
    return make_regression(n_samples=120, n_features=4, noise=5.0, random_state=0)


def quick(Estimator, **parameters):
    return Estimator(
        **(
            {"n_localities": 1, "inverse_temperature": 8.0, "n_starts": 2, "random_state": 0}
            | parameters
        )
    )


def fitted(model, *arguments, **keywords):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        return model.fit(*arguments, **keywords)


@BOTH
def test_clone_pickle_and_set_params(Estimator) -> None:
    X, y = data(Estimator)
    model = fitted(quick(Estimator), X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    copy = clone(model)
    assert not hasattr(copy, "posterior_")
    assert copy.get_params()["inverse_temperature"] == 8.0
    copy.set_params(n_localities=0)
    assert fitted(copy, X, y).localities_ == []


@BOTH
def test_grid_search_pipeline_and_cross_validation(Estimator) -> None:
    X, y = data(Estimator)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        search = GridSearchCV(quick(Estimator), {"inverse_temperature": [1.0, 4.0]}, cv=2).fit(X, y)
        assert search.best_params_["inverse_temperature"] in (1.0, 4.0)
        scores = cross_val_score(make_pipeline(StandardScaler(), quick(Estimator)), X, y, cv=3)
    assert scores.mean() > 0.7


@BOTH
def test_metadata_routing_of_sample_weight(Estimator) -> None:
    X, y = data(Estimator)
    weight = np.random.default_rng(0).integers(1, 3, size=len(y)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        model = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=True),
            quick(Estimator).set_fit_request(sample_weight=True),
        )
        model.fit(X, y, sample_weight=weight)
        direct = quick(Estimator).fit(
            StandardScaler().fit(X, sample_weight=weight).transform(X), y, sample_weight=weight
        )
        assert model[-1].objective_ == direct.objective_
        assert direct.objective_ != quick(Estimator).fit(X, y).objective_
        result = cross_validate(
            quick(Estimator)
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True),
            X,
            y,
            params={"sample_weight": weight},
            cv=2,
        )
    assert np.isfinite(result["test_score"]).all()


@BOTH
def test_html_repr_and_tags(Estimator) -> None:
    model = quick(Estimator)
    assert Estimator.__name__ in model._repr_html_()
    assert repr(model).startswith(Estimator.__name__ + "(")
    tags = model.__sklearn_tags__()
    assert tags.input_tags.sparse is False
    assert tags.input_tags.allow_nan is True
    assert tags.target_tags.required
    if Estimator is LocalMixtureClassifier:
        assert tags.classifier_tags.multi_class
    else:
        assert tags.target_tags.positive_only is False
        for loss in RATE_LOSSES:
            assert model.set_params(loss=loss).__sklearn_tags__().target_tags.positive_only


def test_metadata_routing_of_exposure() -> None:
    X, y = data(LocalMixtureRegressor)
    years = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    counts = np.rint(years * np.exp(y / y.std()))
    plain = quick(LocalMixtureRegressor, n_localities=0, loss="poisson", inverse_temperature=1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = plain.set_fit_request(exposure=True).set_score_request(exposure=True)
        model = make_pipeline(StandardScaler(), asking).fit(X, counts, exposure=years)
        direct = clone(plain).fit(StandardScaler().fit_transform(X), counts, exposure=years)
        assert model[-1].objective_ == direct.objective_
        score = model.score(X, counts, exposure=years)
        result = cross_validate(asking, X, counts, params={"exposure": years}, cv=2)
    assert score == direct.score(StandardScaler().fit_transform(X), counts, exposure=years)
    assert score != direct.score(StandardScaler().fit_transform(X), counts)
    assert (result["test_score"] > 0.5).all()


def test_thresholds_are_tuned_by_scikit_learn() -> None:
    X, y = make_classification(
        n_samples=300, n_features=4, n_redundant=0, weights=[0.85], flip_y=0.1, random_state=0
    )
    model = quick(LocalMixtureClassifier, n_localities=0, inverse_temperature=1.0)
    tuned = TunedThresholdClassifierCV(model, scoring="balanced_accuracy", cv=3).fit(X, y)
    assert 0 < tuned.best_threshold_ < 0.5  # the smaller class is answered more often
    probability = tuned.estimator_.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(tuned.predict(X), (probability >= tuned.best_threshold_) * 1)
    plain = balanced_accuracy_score(y, tuned.estimator_.predict(X))
    assert balanced_accuracy_score(y, tuned.predict(X)) > plain


@BOTH
def test_feature_names_survive(Estimator) -> None:
    X, y = data(Estimator)
    frame = pd.DataFrame(X, columns=["age", "income", "debt", "years"])
    model = fitted(quick(Estimator), frame, y)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.n_features_in_ == 4
    assert model.exterior_.feature_names == ("age", "income", "debt", "years")
    assert "* age" in model.exterior_.formula()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["income", "age", "debt", "years"]])


# -- several classes -------------------------------------------------------------------------------

LABEL_LOSSES = pytest.mark.parametrize("loss", ["log", "zero-one"])


def flowers() -> tuple[np.ndarray, np.ndarray]:
    X, codes = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[codes]


@LABEL_LOSSES
def test_checks_of_several_classes_are_run(loss: str) -> None:
    """scikit-learn leaves them out of estimators of two classes."""
    names = {
        getattr(check, "func", check).__name__
        for _, check in estimator_checks_generator(LocalMixtureClassifier(loss=loss))
    }
    assert {"check_classifiers_train", "check_classifiers_classes"} <= names
    assert "check_classifier_not_supporting_multiclass" not in names


@pytest.mark.filterwarnings("ignore:no training row belongs")
@LABEL_LOSSES
def test_grid_search_and_cross_validation_of_several_classes(loss: str) -> None:
    X, y = flowers()
    model = quick(LocalMixtureClassifier, loss=loss)
    for scoring in ("roc_auc_ovr", "roc_auc_ovo", "neg_log_loss", "balanced_accuracy", "f1_macro"):
        scores = cross_val_score(model, X, y, cv=3, scoring=scoring, error_score="raise")
        assert np.isfinite(scores).all()
    assert cross_val_score(model, X, y, cv=3, scoring="roc_auc_ovr").min() > 0.9
    grid = {"n_localities": [0, 1], "loss": ["log", "zero-one"]}
    search = GridSearchCV(model, grid, cv=3, scoring="neg_log_loss", error_score="raise").fit(X, y)
    assert search.best_params_["loss"] == "log"  # whose probabilities are meant as such
    assert search.predict_proba(X).shape == (150, 3)


@pytest.mark.filterwarnings("ignore:no training row belongs")
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_of_several_classes_are_calibrated(method: str) -> None:
    """Those of the zero-one loss are overconfident."""
    X, y = make_classification(
        n_samples=900, n_features=4, n_redundant=0, n_informative=4, n_classes=3, class_sep=0.7,
        n_clusters_per_class=1, flip_y=0.2, random_state=0,
    )  # fmt: skip
    model = quick(LocalMixtureClassifier, n_localities=0, loss="zero-one").fit(X[:600], y[:600])
    calibrated = CalibratedClassifierCV(model, method=method, cv=3).fit(X[:600], y[:600])
    before, after = (log_loss(y[600:], one.predict_proba(X[600:])) for one in (model, calibrated))
    assert after < before


def test_thresholds_of_several_classes_are_refused_as_scikit_learns() -> None:
    X, y = flowers()
    errors = []
    for model in (LogisticRegression(max_iter=1000), quick(LocalMixtureClassifier)):
        with pytest.raises(ValueError, match="Only binary classification is supported") as caught:
            TunedThresholdClassifierCV(model, cv=3).fit(X, y)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


@pytest.mark.filterwarnings("ignore:no training row belongs")
def test_tools_of_several_classes() -> None:
    X, y = flowers()
    model = fitted(quick(LocalMixtureClassifier), X, y)
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    assert roc_auc_score(y, model.predict_proba(X), multi_class="ovr") > 0.98
    found = permutation_importance(model, X, y, n_repeats=3, random_state=0)
    assert found.importances_mean[2:].max() > 0.1
    pipe = make_pipeline(StandardScaler(), quick(LocalMixtureClassifier)).fit(X, y)
    assert pipe.decision_function(X).shape == (150, 3)
    weight = np.where(y == "setosa", 2.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_validate(
            quick(LocalMixtureClassifier)
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True),
            X,
            y,
            params={"sample_weight": weight},
            cv=2,
        )
    assert (result["test_score"] > 0.85).all()
