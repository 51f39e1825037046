"""Only what `verify` accepts at that moment is quoted: everything else is void, and says why."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import Certificate, audit, certify, certify_in_sample, standing, verify
from motlm.datasets import make_clf_case1, make_reg_case1
from motlm.errors import (
    CertificateError,
    CertificateWarning,
    InputError,
    ModelFileError,
    VoidCertificateError,
)
from motlm.explanations import explain_global
from motlm.files import checksum
from motlm.plotting import RegressionDisplay, RiskDisplay
from motlm.report import render

FIXTURES = Path(__file__).parent / "fixtures"
QUICK = {"local_models": "linear", "inverse_temperature": 4.0, "n_starts": 1, "random_state": 0}
POINTS = [[-1.0, 0.0], [1.0, 0.0]]
EARLIER = ["model_schema_1.json", "model_schema_2.json", "schema2/certified.json"]


def classifier() -> LocalMixtureClassifier:
    return LocalMixtureClassifier(points_of_interest=POINTS, **QUICK)


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    return make_clf_case1(600, random_state=0)


@pytest.fixture(scope="module")
def certified(rows) -> Any:
    return certify(classifier(), *rows)


@pytest.fixture(scope="module")
def other(rows) -> Any:
    """Another model of the same columns and localities."""
    return certify(classifier(), *rows, random_state=1)


@pytest.fixture
def model(certified) -> Any:
    return copy.deepcopy(certified.model)


# -- what is void, and why -------------------------------------------------------------------------


def set_overlap(model: Any, other: Any) -> None:
    model.set_params(overlap="mean")


def assign_overlap(model: Any, other: Any) -> None:
    model.overlap = "mean"


def set_both_rules(model: Any, other: Any) -> None:
    model.set_params(overlap="mean", handle_unknown="error")


def replace_coefficients(model: Any, other: Any) -> None:
    posterior = model.mixture_.posterior
    changed = replace(posterior, coef=posterior.coef + 1.0)
    model.mixture_ = replace(model.mixture_, posterior=changed)


def replace_the_mixture(model: Any, other: Any) -> None:
    model.mixture_ = other.model.mixture_


def write_coefficients(model: Any, other: Any) -> None:
    """Arrays are read-only, which a determined user changes."""
    coef = model.mixture_.posterior.coef
    with pytest.raises(ValueError, match="read-only"):
        coef[0, 0] = 1.0
    coef.flags.writeable = True
    coef += 1.0


def write_the_posterior(model: Any, other: Any) -> None:
    posterior = model.mixture_.posterior
    changed = replace(posterior, coef=other.model.mixture_.posterior.coef)
    vars(model.mixture_)["posterior"] = changed


def write_the_intercept(model: Any, other: Any) -> None:
    posterior = model.mixture_.posterior
    object.__setattr__(posterior, "intercept", posterior.intercept + 1.0)


def write_the_columns_that_count(model: Any, other: Any) -> None:
    """They are derived from other numbers once, and kept."""
    model.predict([[0.0, 0.0]])
    vars(model.mixture_.inputs)["counted"] = np.array([True, False])


def write_a_formula(model: Any, other: Any) -> None:
    coef = model.localities_[0].coef
    coef.flags.writeable = True
    coef += 1.0


def assign_another(model: Any, other: Any) -> None:
    model.certificate_ = other.certificate


def assign_a_mixed_one(model: Any, other: Any) -> None:
    """The headline of another model's certificate among one's own statements."""
    own = vars(model)["certificate_"]
    model.certificate_ = replace(own, statements=(other.certificate.headline, *own.statements[1:]))


def assign_renamed(model: Any, other: Any) -> None:
    """Another model's certificate with the hash of this one at its head."""
    model.certificate_ = replace(other.certificate, model=model.mixture_.hash)


def assign_text(model: Any, other: Any) -> None:
    model.certificate_ = "errs on at most 1 %"


WAYS: dict[Callable[[Any, Any], None], str] = {
    set_overlap: "overlap was changed from 'nearest' to 'mean' after it was issued",
    assign_overlap: "overlap was changed from 'nearest' to 'mean' after it was issued",
    set_both_rules: "'mean' and handle_unknown was changed from 'warn' to 'error'",
    replace_coefficients: "it is not about this model",
    replace_the_mixture: "it is not about this model",
    write_coefficients: "it is not about this model",
    write_the_posterior: "it is not about this model",
    write_the_intercept: "it is not about this model",
    write_the_columns_that_count: "was changed in place",
    write_a_formula: "was changed in place",
    assign_another: "it is not about this model",
    assign_a_mixed_one: "it was put together from several",
    assign_renamed: "it is not about this model",
    assign_text: "it is a str, not a Certificate",
}
by_all_ways = pytest.mark.parametrize(
    ("spoil", "reason"), WAYS.items(), ids=[way.__name__ for way in WAYS]
)


def assert_not_quoted(text: str, *certificates: Certificate) -> None:
    assert "at most" not in text
    assert "confidence" not in text
    for one in certificates:
        assert one.headline.sentence not in text
        assert repr(one.headline.value) not in text


@by_all_ways
def test_what_is_void_is_not_quoted(
    spoil: Any, reason: str, model: Any, certified: Any, other: Any, rows: Any, tmp_path: Path
) -> None:
    X, y = rows
    assert standing(model).certificate == certified.certificate
    spoil(model, other)
    found = standing(model)
    assert found.certificate is None
    assert found.void.startswith("the certificate is void: ")
    assert reason in found.void
    both = certified.certificate, other.certificate
    explanation = explain_global(model, X, y)
    assert explanation.certificate is None
    assert explanation.void == found.void
    content = explanation.to_dict()
    assert (content["certificate"], content["void"]) == (None, found.void)
    for text in (str(explanation), explanation._repr_html_(), json.dumps(content)):
        assert "the certificate is void: " in text.lower()
        assert_not_quoted(text, *both)
    page = render(model, X, y, tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("This model has a certificate, but the certificate is void: ") == 2
    assert page.count("Its figures are not quoted") == 2  # at the head and in the section
    assert "carries no certificate" not in page
    assert_not_quoted(page, *both)
    assert not hasattr(model, "certificate_")
    with pytest.raises(VoidCertificateError) as caught:
        _ = model.certificate_
    assert reason in str(caught.value)
    with pytest.raises(InputError, match="the certificate is void: "):
        RiskDisplay.from_estimator(model)


@by_all_ways
def test_what_is_void_is_not_saved(
    spoil: Any, reason: str, model: Any, other: Any, tmp_path: Path
) -> None:
    spoil(model, other)
    if reason == "was changed in place":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CertificateWarning)
            with pytest.raises(ModelFileError):
                model.save(tmp_path / "m.json")
        return
    with pytest.warns(CertificateWarning, match="is saved without its certificate") as caught:
        path = model.save(tmp_path / "m.json")
    assert reason in str(caught[0].message)
    assert caught[0].filename == __file__
    assert json.loads(path.read_text())["certificate"] is None
    assert standing(motlm.load(path)) == standing(clone(model))


def test_a_refit_drops_it(model: Any, rows: Any, tmp_path: Path) -> None:
    X, y = rows
    model.fit(X, y)
    assert standing(model).void == ""
    assert not hasattr(model, "certificate_")
    with pytest.raises(AttributeError, match="has no certificate"):
        _ = model.certificate_
    explanation = explain_global(model, X, y)
    assert (explanation.certificate, explanation.void) == (None, "")
    page = render(model, X, y, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "carries no certificate" in page
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.save(tmp_path / "m.json")


def test_a_fit_by_somebody_else_is_noticed(model: Any, rows: Any) -> None:
    """The certificate is put back after a refit."""
    before = model.certificate_
    model.set_params(inverse_temperature=1.0).fit(*rows)
    model.certificate_ = before
    assert "it is not about this model" in standing(model).void
    del model.certificate_
    assert standing(model).void == ""
    with pytest.raises(AttributeError):
        del model.certificate_


def test_going_back_makes_it_stand_again(model: Any, certified: Any) -> None:
    model.set_params(overlap="mean")
    assert not hasattr(model, "certificate_")
    model.set_params(overlap="nearest")
    assert model.certificate_ == certified.certificate
    assert hasattr(model.set_params(inverse_temperature=1.0, n_localities=7), "certificate_")


# -- files -----------------------------------------------------------------------------------------


def paste(path: Path, **changes: Any) -> None:
    """Other entries in a file, and a checksum that fits."""
    content = json.loads(path.read_text())
    for name, value in changes.items():
        content[name] = value
    path.write_text(json.dumps({**content, "checksum": checksum(content)}))


def assert_loads_without(path: Path, reason: str, rows: Any, *certificates: Certificate) -> None:
    with pytest.warns(CertificateWarning, match="loaded without its certificate") as caught:
        loaded = motlm.load(path)
    [told] = [one for one in caught if issubclass(one.category, CertificateWarning)]
    assert reason in str(told.message)
    assert str(path) in str(told.message)
    assert told.filename == __file__
    assert "certificate_" not in vars(loaded)
    explanation = explain_global(loaded, *rows)
    assert (explanation.certificate, explanation.void) == (None, "")
    assert_not_quoted(str(explanation), *certificates)


def test_a_pasted_certificate_is_not_loaded(
    model: Any, certified: Any, other: Any, rows: Any, tmp_path: Path
) -> None:
    path = model.save(tmp_path / "m.json")
    both = certified.certificate, other.certificate
    paste(path, certificate=other.certificate.to_dict())
    assert_loads_without(path, "it is not about this model", rows, *both)
    mixed = replace(
        certified.certificate,
        statements=(other.certificate.headline, *certified.certificate.statements[1:]),
    )
    paste(path, certificate=mixed.to_dict())
    with pytest.raises(ModelFileError, match="its certificate is not sound"):
        motlm.load(path)


def test_an_edited_model_loses_its_certificate(
    model: Any, certified: Any, rows: Any, tmp_path: Path
) -> None:
    path = model.save(tmp_path / "m.json")
    content = json.loads(path.read_text())
    paste(path, overlap="mean", parameters={**content["parameters"], "overlap": "mean"})
    reason = "overlap was changed from 'nearest' to 'mean' after it was issued"
    assert_loads_without(path, reason, rows, certified.certificate)
    paste(path, overlap="nearest")  # while the parameters, which predictions follow, say "mean"
    with pytest.raises(ModelFileError, match=r"parameters\.overlap is 'mean'"):
        motlm.load(path)


@pytest.mark.parametrize("name", EARLIER)
def test_certificates_of_earlier_files_are_quoted(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", CertificateWarning)
        model = motlm.load(FIXTURES / name)
    found = standing(model)
    assert found.void == ""
    assert found.certificate is model.certificate_
    assert verify(model, model.certificate_)
    columns = model.mixture_.inputs.columns
    rng = np.random.default_rng(0)
    parts = [
        rng.normal(size=20) if levels is None else rng.choice(levels, 20)
        for levels in columns.levels
    ]
    X: Any = pd.DataFrame(dict(zip(columns.names, parts, strict=True)))
    if not hasattr(model, "feature_names_in_"):
        X = X.to_numpy()
    y = np.tile(model.classes_, 10)
    assert model.certificate_.headline.sentence in str(explain_global(model, X, y))
    model.set_params(overlap="mean" if model.overlap == "nearest" else "nearest")
    assert "overlap was changed" in standing(model).void


# -- other holders ---------------------------------------------------------------------------------


def test_a_mixture_and_its_certificate(certified: Any, other: Any) -> None:
    mixture = certified.model.mixture_
    assert standing(mixture) == standing(clone(certified.model))  # it carries none
    assert standing(mixture, certified.certificate).certificate is certified.certificate
    assert "it is not about this model" in standing(mixture, other.certificate).void


def test_pipelines_and_searches(rows: Any) -> None:
    """The certificate is kept with the last step, and is about all of them."""
    X, y = rows
    whole, certificate = certify(make_pipeline(StandardScaler(), classifier()), X, y)
    assert standing(whole).certificate is certificate
    last = whole[-1]
    assert "it is not about this model" in standing(last).void
    assert not hasattr(last, "certificate_")
    before, whole[0].mean_ = whole[0].mean_, whole[0].mean_ + 1.0
    assert "it is not about this model" in standing(whole).void
    whole[0].mean_ = before
    assert standing(whole.set_params(localmixtureclassifier__overlap="mean")).void == (
        "the certificate is void: overlap was changed from 'nearest' to 'mean' after it was issued."
    )
    search = GridSearchCV(classifier(), {"inverse_temperature": [1.0, 4.0]}, cv=2).fit(X, y)
    search.best_estimator_.certificate_ = made = audit(search, *make_clf_case1(200, random_state=9))
    assert standing(search).certificate is made
    assert standing(search.best_estimator_).certificate is made


def test_models_of_others(rows: Any) -> None:
    linear, certificate = certify(LogisticRegression(), *rows)
    assert standing(linear).certificate is None
    assert standing(linear, certificate).certificate is certificate
    linear.coef_ += 1.0
    assert "it is not about this model" in standing(linear, certificate).void
    linear.function = lambda: None  # cannot be pickled
    assert "cannot be hashed" in standing(linear, certificate).void


def test_the_model_drawn_quotes_its_own_statement(certified: Any, rows: Any) -> None:
    """Not the headline, which is about another model."""
    for model, code in ((certified.drawn, "C3"), (certified.gibbs, "C2")):
        found = standing(model)
        assert [one.code for one in found.certificate] == [code]
        assert found.certificate.validity.startswith("The statement holds")
        text = str(explain_global(model, *rows))
        assert certified.certificate[code].sentence in text
        assert certified.certificate.headline.sentence not in text
        assert standing(model, found.certificate).void == ""


def test_in_sample(rows: Any) -> None:
    model, certificate = certify_in_sample(classifier(), *rows)
    assert standing(model).certificate is certificate
    model.set_params(overlap="mean")
    assert standing(model).void


# -- the attribute ---------------------------------------------------------------------------------


def test_copies_keep_it(certified: Any, tmp_path: Path) -> None:
    model, certificate = certified
    joblib.dump(model, tmp_path / "m.joblib")
    for one in (
        copy.copy(model),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "m.joblib"),
        motlm.load(model.save(tmp_path / "m.json")),
    ):
        assert one.certificate_ == certificate
        assert one.mixture_.hash == model.mixture_.hash
    assert "certificate_" not in vars(clone(model))
    assert not hasattr(clone(model), "certificate_")
    assert certificate.headline.sentence not in model._repr_html_()


def test_a_void_one_is_pickled_and_stays_void(model: Any) -> None:
    model.set_params(overlap="mean")
    for one in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert standing(one) == standing(model)
        assert one._repr_html_()
        assert repr(one)


def test_the_error_is_of_both_kinds() -> None:
    assert issubclass(VoidCertificateError, AttributeError)
    assert issubclass(VoidCertificateError, CertificateError)


def test_an_assigned_mixture_keeps_its_rules(model: Any) -> None:
    """Before, the next prediction went back to those of the parameters."""
    averaged = copy.deepcopy(model).set_params(overlap="mean")
    model.mixture_ = averaged.mixture_
    assert model.overlap == "mean"
    assert model.mixture_.overlap.name == "mean"
    fresh = classifier()
    with pytest.raises(AttributeError, match="mixture_"):
        _ = fresh.mixture_


# -- figures ---------------------------------------------------------------------------------------


def test_bands_of_a_void_certificate_are_not_drawn() -> None:
    X, y = make_reg_case1(300, random_state=0)
    estimator = LocalMixtureRegressor(points_of_interest=[[0.0189]], **QUICK)
    spend = {"interval": 0.05}
    model, _ = certify(estimator, X, y, sealed=0.5, spend=spend, coverage=0.9)
    display = RegressionDisplay.from_estimator(model, X, y)
    assert display.interval_name.startswith("certified interval")
    replace_coefficients(model, None)
    with pytest.warns(CertificateWarning, match="the certificate is void: "):
        display = RegressionDisplay.from_estimator(model, X, y)
    assert display.interval_name == "± 2 root mean squared errors of training"


# -- what a person has to check --------------------------------------------------------------------


def test_the_checklist_is_shown(model: Any, rows: Any, tmp_path: Path) -> None:
    X, y = rows
    hostile = "<script>alert(1)</script>"
    first, second = model.certificate_.checklist[:2]
    model.certificate_ = model.certificate_.tick(first.key, by=hostile, on="2026-01-31")
    explanation = explain_global(model, X, y)
    assert f"[x] {first.key}: {first.text} ({hostile}, 2026-01-31)" in str(explanation)
    assert f"[ ] {second.key}: {second.text}" in str(explanation)
    html = explanation._repr_html_()
    page = render(model, X, y, tmp_path / "r.html").read_text(encoding="utf-8")
    for text in (html, page):
        assert hostile not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
        assert second.text in text
    assert explanation.to_dict()["certificate"]["checklist"][0]["by"] == hostile
    assert "1 of " in page
    assert page.index(">Assumed<") < page.index(second.text)
