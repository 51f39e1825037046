"""Model files: exact, readable, and safe to open whatever is in them."""

from __future__ import annotations

import copy
import json
import math
import os
import random
import stat
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import environment

import motlm
from motlm import (
    LocalMixtureClassifier,
    LocalMixtureRegressor,
    ModelFileError,
    Prior,
    TableNotes,
    Units,
)
from motlm.certificates import audit, certify, verify
from motlm.datasets import make_clf_case1, make_reg_case2
from motlm.errors import CertificateError, NotAModelFileError
from motlm.files import (
    SCHEMA,
    Saved,
    atomic_stream,
    checksum,
    from_document,
    read_model,
    save_model,
    to_document,
    write_atomically,
)
from motlm.geometry import GEOMETRIES, GivenCenters, LearnedBalls
from motlm.loading import estimator_of
from motlm.posterior import FIELDS
from motlm.targets import TARGETS, Continuous

QUICK = {"inverse_temperature": 2.0, "local_models": "linear", "n_starts": 1, "random_state": 0}
FIXTURES = Path(__file__).parent / "fixtures"
METHODS = (
    "predict_proba",
    "vote_proba",
    "decision_function",
    "membership",
    "membership_proba",
    "apply",
    "ambiguous",
)


def saved_of(model: Any) -> Saved:
    """What `save` of an estimator hands over."""
    return Saved(
        type(model).__name__,
        model.get_params(deep=False),
        model.mixture_,
        getattr(model, "table_", None),
        getattr(model, "certificate_", None),
    )


def document_of(model: Any) -> dict:
    """As it is read from a file."""
    return json.loads(json.dumps(to_document(saved_of(model))))


def old(name: str) -> dict:
    return json.loads((FIXTURES / "schema2" / f"{name}.json").read_text())


def frame(n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            'größe, "in" €': rng.normal(1e6, 3e5, size=n),
            "c": rng.choice(["x", "y", "<z>"], n),
            "flag": rng.choice([True, False], n),
            "same": 1.0,
        }
    )
    return table, np.where(table["a"] + (table["c"] == "x") > 0.3, "ja", "nein")


def classifiers(X: np.ndarray, y: np.ndarray) -> dict[str, tuple]:
    def fit(labels: np.ndarray = y, rows: np.ndarray = X, **options: Any) -> tuple:
        two = {"n_localities": 2}
        return LocalMixtureClassifier(**two | QUICK | options).fit(rows, labels), X

    three = np.digitize(X[:, 0], [-1.0, 1.0])
    made = {
        "given": fit(points_of_interest=[[-1, 0], [1, 0]]),
        "learned": fit(y.astype(int), combine="any", loss="zero-one"),
        "one linear model": fit(y > 0, n_localities=0, prior=Prior(coef_scale=0.5)),
        "prior of each": fit(prior=Prior(radius_rate=[0.1, 1.0]), standardize=False),
        "mahalanobis": fit(points_of_interest=[[-1, 0]], metric="mahalanobis"),
        "seuclidean": fit(points_of_interest=[[-1, 0]], metric="seuclidean"),
        "cosine": fit(points_of_interest=[[-1, 0]], metric="cosine"),
        "auto": fit(
            y[:300],
            X[:300],
            n_localities="auto",
            max_localities=5,
            inverse_temperature="auto",
        ),
        "auto, none": fit(X[:60, 0] > 0, X[:60], n_localities="auto", max_localities=2),
        "float32": fit(rows=X.astype(np.float32), n_localities=1),
        "constant": fit(y[:40], np.ones((40, 2))),
        "weights of classes": fit(y > 0, n_localities=0, class_weight={True: 2, np.False_: 0.5}),
        "balanced": fit(n_localities=0, class_weight="balanced", loss="zero-one"),
        "several": fit(np.array(["b", "a", "c"])[three], n_localities=1),
        "several, zero-one": fit(three, loss="zero-one", points_of_interest=X[:2]),
    }
    return made | {"frozen": (frozen(made["learned"][0]), X)}


def frozen(model: Any) -> Any:
    """With fixed centers, as a certificate makes it."""
    model, mixture = copy.copy(model), model.mixture_
    geometry, posterior = mixture.geometry.freeze(mixture.inputs, mixture.posterior)
    unknown = {"objective": None, "gibbs_risk": None, "kl": None, "path": ()}
    provenance = replace(mixture.provenance, **unknown)
    model.mixture_ = replace(mixture, geometry=geometry, posterior=posterior, provenance=provenance)
    return model


def rates(X: np.ndarray, y: np.ndarray) -> dict[str, tuple]:
    def fit(n: int, **options: Any) -> tuple:
        return LocalMixtureRegressor(n, **QUICK | options).fit(X, y, exposure=1 + X[:, 0] ** 2), X

    return {
        "poisson": fit(2, loss="poisson", prior=Prior(coef_scale=0.5, learn_scales=True)),
        "gamma": fit(1, loss="gamma", overlap="mean", power=7),
        "tweedie": fit(1, loss="tweedie", power=1.25, points_of_interest=X[:2]),
    }


def of_columns() -> dict[str, tuple]:
    """Localities in some columns, with widths of their own, and corrections."""
    table, label = frame()
    score = table["a"].abs() + 1.5 * ((table["c"] == "x") & (table["a"] > 0))
    several = np.array(["b", "a", "c"])[np.digitize(score, [0.5, 1.2])]
    names = list(table.columns[:2])

    def fit(y: Any, n: int = 1, loss: str | None = None, **options: Any) -> tuple:
        known = {} if loss is None else {"loss": loss}
        made = (
            LocalMixtureClassifier if np.asarray(y).dtype.kind in "UOT" else LocalMixtureRegressor
        )
        return made(n, **known, **QUICK | options).fit(table, y), table

    points = {"points_of_interest": table[:2]}
    widths = {"locality_columns": (names[1], "a"), "locality_widths": {"a": 0.5, names[1]: 4e5}}
    counts = np.floor(np.exp(score))
    made = {
        "few columns": fit(score, 2),
        "few columns of two": fit(label, 2, locality_features=2, overlap="mean"),
        "intervals": fit(score, locality_features=1, corrections="all"),
        "all columns": fit(several, locality_features="all"),
        "all columns, equal": fit(score, locality_features="all", locality_widths="equal"),
        "ball, corrected": fit(label, locality_features="ball", corrections="own"),
        "independent": fit(counts, loss="poisson", corrections="none"),
        "named columns": fit(several, 2, locality_columns=["c", 0]),
        "one named column": fit(counts, loss="gamma", locality_columns="a"),
        "given, learned widths": fit(several, **points),
        "given, widths": fit(counts, loss="poisson", **points, **widths),
        "given, column": fit(score, **points, locality_columns=[1], locality_widths=3e5),
        "given, category": fit(label, **points, locality_columns=np.array(["c"])),
        "given, corrected": fit(several, **points, locality_widths="equal", corrections="all"),
        "rows": fit(score, 2, centers="rows"),
        "rows by a metric": fit(several, 2, centers="rows", metric="gower"),
    }
    for name in ("few columns", "given, learned widths", "rows", "rows by a metric"):
        made[f"{name}, frozen"] = frozen(made[name][0]), table
    return made


def additive() -> dict[str, tuple]:
    """Models that bend in the columns of numbers."""
    table, label = frame()
    table["year"] = np.arange(len(table)) % 12
    score = np.sin(2 * table["a"]) + 0.1 * table["year"] + (table["c"] == "x")
    several = np.array(["b", "a", "c"])[np.digitize(score, [0.3, 1.0])]
    bent = QUICK | {"local_models": "additive"}

    def fit(made: Any, y: Any, n: int = 1, **options: Any) -> tuple:
        return made(n, **bent | options).fit(table, y), table

    falls = {"year": -1, "a": 0}
    found = {
        "additive": fit(LocalMixtureRegressor, score),
        "additive, two labels": fit(LocalMixtureClassifier, label, 2, overlap="mean"),
        "additive, several": fit(LocalMixtureClassifier, several, monotonic_cst=falls),
        "additive, rate": fit(LocalMixtureRegressor, np.exp(score), loss="gamma"),
        "additive, no locality": fit(
            LocalMixtureRegressor, score, 0, monotonic_cst=np.array([0, 0, 0, 0, 0, 1])
        ),
        "additive, independent": fit(LocalMixtureRegressor, score, corrections="none"),
        "additive, balls": fit(
            LocalMixtureRegressor, score, locality_features="ball", corrections="none"
        ),
        "additive, given": fit(
            LocalMixtureClassifier, label, points_of_interest=table[:2], locality_columns=["a"]
        ),
        "additive, rows": fit(LocalMixtureRegressor, score, centers="rows"),
        "additive, gower": fit(LocalMixtureClassifier, several, centers="rows", metric="gower"),
    }
    for name in ("additive", "additive, several", "additive, rows"):
        found[f"{name}, frozen"] = frozen(found[name][0]), table
    return found


def models() -> dict[str, tuple]:
    line, target = make_reg_case2(random_state=0)
    table, label = frame()
    made = classifiers(*make_clf_case1(random_state=0))
    several = QUICK | {"inverse_temperature": (4.0, 16.0)}
    units = Units.of_rows(line[:99], target[:99])
    points, labels = table[list(table.columns[::-1])][:2], label.astype(object)
    text = LocalMixtureClassifier(points_of_interest=points, handle_unknown="ignore", **QUICK)
    made |= {
        "regressor": (LocalMixtureRegressor(2, **several).fit(line, target), line),
        "mean": (LocalMixtureRegressor(2, overlap="mean", **QUICK).fit(line, target), line),
        "units": (LocalMixtureRegressor(1, standardize=units, **QUICK).fit(line, target), line),
        **rates(line, np.exp(target)),
        "table": (text.fit(table, label), table),
        "objects": (LocalMixtureClassifier(1, **QUICK).fit(table, labels), table),
    }
    named = copy.copy(made["table"][0])
    fill = {"a": 0.25, "c": "<z>", 'größe, "in" €': 10**6}
    named.table_ = TableNotes("label", "client", fill, (0.5, -0.1))
    made["with notes"] = (named, table)
    asked = json.loads((FIXTURES / "schema2" / "certified.expected.json").read_text())
    certified = motlm.load(FIXTURES / "schema2" / "certified.json")
    made["certified"] = (certified, np.array(asked["X"]))
    return made | of_columns() | additive()


@pytest.fixture(scope="module")
def every() -> dict[str, tuple]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return models()


NAMES = [
    "given",
    "learned",
    "one linear model",
    "prior of each",
    "mahalanobis",
    "seuclidean",
    "cosine",
    "auto",
    "auto, none",
    "float32",
    "constant",
    "weights of classes",
    "balanced",
    "several",
    "several, zero-one",
    "poisson",
    "gamma",
    "tweedie",
    "frozen",
    "regressor",
    "mean",
    "units",
    "table",
    "objects",
    "with notes",
    "certified",
    "few columns",
    "few columns of two",
    "intervals",
    "all columns",
    "all columns, equal",
    "ball, corrected",
    "independent",
    "named columns",
    "one named column",
    "given, learned widths",
    "given, widths",
    "given, column",
    "given, category",
    "given, corrected",
    "rows",
    "rows by a metric",
    "few columns, frozen",
    "given, learned widths, frozen",
    "rows, frozen",
    "rows by a metric, frozen",
    "additive",
    "additive, two labels",
    "additive, several",
    "additive, rate",
    "additive, no locality",
    "additive, independent",
    "additive, balls",
    "additive, given",
    "additive, rows",
    "additive, gower",
    "additive, frozen",
    "additive, several, frozen",
    "additive, rows, frozen",
]
BENT = [name for name in NAMES if name.startswith("additive")]


def test_all_models_are_tested(every) -> None:
    assert set(every) == set(NAMES)
    assert {model.mixture_.geometry.kind for model, _ in every.values()} == set(GEOMETRIES)
    assert {model.mixture_.target.kind for model, _ in every.values()} == set(TARGETS)


@pytest.mark.parametrize("name", NAMES)
def test_exact_to_the_last_bit(name: str, every, tmp_path: Path) -> None:
    model, X = every[name]
    path = model.save(tmp_path / "model.json")
    again = motlm.load(path)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.predict(X).dtype == model.predict(X).dtype
    for method in METHODS:
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    assert again.mixture_.hash == model.mixture_.hash
    assert again.save(tmp_path / "again.json").read_text() == path.read_text()
    assert again.path_ == model.path_
    assert again.n_features_in_ == model.n_features_in_
    assert hasattr(again, "feature_names_in_") == hasattr(model, "feature_names_in_")
    assert [one.formula() for one in again.mixture_.models] == [
        one.formula() for one in model.mixture_.models
    ]
    for one, other in zip(again.localities_, model.localities_, strict=True):
        np.testing.assert_array_equal(one.half_width, other.half_width)
    assert set(again.get_params()) == set(model.get_params())
    for parameter in ("loss", "power", "class_weight", "local_models"):
        assert getattr(again, parameter, None) == getattr(model, parameter, None)
    assert again.mixture_.target.loss_name == model.mixture_.target.loss_name
    assert again.mixture_.provenance.prior.learn_scales == (
        model.mixture_.provenance.prior.learn_scales
    )
    assert set(vars(again)) == set(vars(model)) - {"cv_results_", "cv_score_"}  # of the search
    assert getattr(again, "table_", None) == getattr(model, "table_", None)
    assert getattr(again, "certificate_", None) == getattr(model, "certificate_", None)


def test_what_is_known_of_the_fit_is_kept(every, tmp_path: Path) -> None:
    model, _ = every["prior of each"]
    provenance = motlm.load(model.save(tmp_path / "m.json")).mixture_.provenance
    before = model.mixture_.provenance
    np.testing.assert_array_equal(provenance.prior.radius_rate, [0.1, 1.0])
    np.testing.assert_array_equal(provenance.fingerprint.keys, before.fingerprint.keys)
    same = ("units_from", "most_localities", "searched_localities", "n_rows", "points", "n_iter")
    for name in (*same, "objective", "gibbs_risk", "kl", "inverse_temperature", "path"):
        assert getattr(provenance, name) == getattr(before, name)
    assert provenance.units_from == "nowhere"
    frozen = motlm.load(every["frozen"][0].save(tmp_path / "f.json"))
    assert frozen.mixture_.provenance.kl is None


def test_people_can_read_it(every, tmp_path: Path) -> None:
    model, _ = every["table"]
    text = model.save(tmp_path / "m.json").read_text()
    content = json.loads(text)
    assert content["format"] == "motlm model"
    assert content["schema"] == SCHEMA == 9
    assert content["library"] == f"motlm {motlm.__version__}"
    assert content["exterior"]["formula"] == model.exterior_.formula()
    assert dict(content["exterior"]["coef"])["a"] == model.exterior_.coef[0]
    assert content["parameters"]["points_of_interest"][0][0] == frame()[0]["a"][0]
    assert "größe" in text


@pytest.mark.parametrize("name", ["few columns", "given, widths", "all columns", "independent"])
def test_localities_are_told_in_sentences(name: str, every, tmp_path: Path) -> None:
    model, _ = every[name]
    content = json.loads(model.save(tmp_path / "m.json").read_text())
    assert len(content["localities"]) == len(model.localities_) > 0
    for shown, one in zip(content["localities"], model.localities_, strict=True):
        assert shown["where"] == one.where
        assert shown["where"]
        if name == "independent":
            assert shown["correction"] is None
        else:
            assert shown["correction"] == one.correction()
            assert "as everywhere" in shown["correction"]
    assert "where" not in content["exterior"]
    posterior = content["posterior"]
    assert posterior["pooled"] == (name != "independent")
    assert np.shape(posterior["column_weight"]) == np.shape(posterior["center"])


def test_parameters_of_localities_are_kept(every, tmp_path: Path) -> None:
    """As they were given, but for types that JSON does not have."""
    names = list(frame()[0].columns[:2])
    expected = {
        "few columns": ("auto", None, "learned", "auto"),
        "intervals": (1, None, "learned", "all"),
        "all columns, equal": ("all", None, "equal", "auto"),
        "named columns": ("auto", ["c", 0], "learned", "auto"),
        "one named column": ("auto", "a", "learned", "auto"),
        "given, widths": ("auto", [names[1], "a"], {"a": 0.5, names[1]: 4e5}, "auto"),
        "given, column": ("auto", [1], (3e5,), "auto"),
        "given, category": ("auto", ["c"], "learned", "auto"),
        "learned": ("ball", None, "learned", "none"),
    }
    asked = ("locality_features", "locality_columns", "locality_widths", "corrections")
    for name, values in expected.items():
        saved = every[name][0]
        if name == "learned":
            saved = copy.copy(saved).set_params(**dict(zip(asked, values, strict=True)))
        again = motlm.load(saved.save(tmp_path / "m.json"))
        assert tuple(getattr(again, one) for one in asked) == values
    assert motlm.load(every["rows"][0].save(tmp_path / "m.json")).centers == "rows"


def test_a_row_where_a_search_began_is_not_saved(every) -> None:
    """A locality has no center in columns that it does not look at."""
    for name in ("few columns", "several", "regressor", "rows"):
        model, _ = every[name]
        posterior = model.mixture_.posterior
        assert not posterior.center[posterior.column_weight == 0].any(), name


def test_widths_that_are_equal_stay_equal(every) -> None:
    """Also in the units of other rows, on which the search went on."""
    for name in ("all columns, equal", "ball, corrected"):
        model, X = every[name]
        again = copy.deepcopy(model).set_params(warm_start=True, max_iter=3)
        y = model.predict(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again.fit(X[:150], y[:150])
        for one in (model, again):
            assert set(one.posterior_.column_weight.ravel().tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize("name", BENT)
def test_curves_are_shown_and_kept(name: str, every, tmp_path: Path) -> None:
    model, _ = every[name]
    content = json.loads(model.save(tmp_path / "m.json").read_text())
    bends, again = model.mixture_.inputs.bends, motlm.load(tmp_path / "m.json")
    kept = again.mixture_.inputs.bends
    assert [one.column for one in kept.each] == [one.column for one in bends.each] == [0, 1, 6]
    for one, other in zip(kept.each, bends.each, strict=True):
        np.testing.assert_array_equal(one.knots, other.knots)
        np.testing.assert_array_equal(one.middle, other.middle)
    entries = [*content["localities"], content["exterior"]]
    every_model = zip(entries, model.mixture_.models, again.mixture_.models, strict=True)
    for entry, one, read in every_model:
        assert [column for column, _ in entry["shapes"]] == ["a", 'größe, "in" €', "year"]
        for (_, points), shape, own in zip(entry["shapes"], one.shapes, read.shapes, strict=True):
            assert [point[0] for point in points] == shape.knots.tolist()
            np.testing.assert_array_equal([point[1] for point in points], shape.values.T)
            np.testing.assert_array_equal(own.values, shape.values)
            np.testing.assert_array_equal(own.scale, shape.scale)
    geometry = again.mixture_.geometry
    assert getattr(geometry, "n_ramps", len(bends)) == len(bends)


def test_linear_models_have_no_curves_in_their_files(every) -> None:
    content = document_of(every["few columns"][0])
    assert "bends" not in content["inputs"]
    assert not any("shapes" in one for one in [*content["localities"], content["exterior"]])
    assert content["parameters"]["local_models"] == "linear"
    assert content["parameters"]["monotonic_cst"] is None


def test_an_additive_model_goes_on(every, tmp_path: Path) -> None:
    """It is fitted again, and continued, as the one that was saved."""
    model, X = every["additive"]
    y = model.predict(X)
    again = motlm.load(model.save(tmp_path / "m.json"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refitted, other = again.fit(X, y), copy.deepcopy(model).fit(X, y)
        assert refitted.mixture_.hash == other.mixture_.hash
        warm = motlm.load(tmp_path / "m.json").set_params(warm_start=True, max_iter=5)
        warm.fit(X, y)
    assert warm.mixture_.inputs.bends is not None


def test_directions_of_columns_are_kept(every, tmp_path: Path) -> None:
    expected = {
        "additive, several": {"year": -1, "a": 0},
        "additive, no locality": [0, 0, 0, 0, 0, 1],
        "additive": None,
    }
    for name, value in expected.items():
        again = motlm.load(every[name][0].save(tmp_path / "m.json"))
        assert again.monotonic_cst == value
    model = copy.copy(every["additive"][0])
    given = [
        ({}, {}),
        ({"a": np.int64(1)}, {"a": 1}),
        ((0, 0, 0, 0, 0, -1.0), [0, 0, 0, 0, 0, -1]),
    ]
    for value, kept in given:
        model.set_params(monotonic_cst=value)
        assert motlm.load(model.save(tmp_path / "m.json")).monotonic_cst == kept


def test_a_loaded_model_goes_on(every, tmp_path: Path) -> None:
    X, y = make_clf_case1(random_state=0)
    model, _ = every["given"]
    again = motlm.load(model.save(tmp_path / "m.json"))
    refitted, other = again.fit(X, y), copy.deepcopy(model).fit(X, y)
    assert refitted.mixture_.hash == other.mixture_.hash
    learned, _ = every["learned"]
    warm = motlm.load(learned.save(tmp_path / "w.json")).set_params(warm_start=True, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm.fit(X, y.astype(int))
    table, label = frame()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motlm.load(every["table"][0].save(tmp_path / "t.json")).fit(table, label)


def test_a_certified_model_goes_on(tmp_path: Path) -> None:
    X, y = make_clf_case1(random_state=0)
    estimator = LocalMixtureClassifier(points_of_interest=[[-1, 0], [1, 0]], **QUICK)
    model = certify(estimator, X, y).model
    again = motlm.load(model.save(tmp_path / "m.json"))
    assert again.mixture_.provenance.earlier_hash is None
    assert verify(again, again.certificate_) == verify(model, model.certificate_)
    with pytest.raises(ValueError, match="are among the"):
        audit(again, X, y)


# -- other kinds -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FewColumns(LearnedBalls):
    """A geometry that looks at some columns."""

    columns: tuple[int, ...] = (0,)
    kind = "few columns"

    def rows(self, Z: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, None]:
        return Z[:, list(self.columns)], None

    def centers(self, inputs: Any, posterior: Any) -> np.ndarray:
        centers = np.tile(inputs.typical, (posterior.n_localities, 1))
        centers[:, list(self.columns)] = posterior.center
        return centers

    def content(self) -> dict:
        return {**super().content(), "columns": list(self.columns)}

    @classmethod
    def read(cls, read: Any, inputs: Any, n_localities: int) -> FewColumns:
        return cls(read.array("radius", (n_localities,)), tuple(read.sequence("columns")))


@dataclass(frozen=True, eq=False)
class Knotted(Continuous):
    """A target with more numbers."""

    link: str = "log"
    knots: np.ndarray | None = None
    kind = "knotted"

    def content(self) -> dict:
        return {**super().content(), "link": self.link, "knots": self.knots}

    @classmethod
    def read(cls, read: Any) -> Knotted:
        numbers = (read.number(name) for name in ("center", "scale", "residual_scale"))
        return cls(*numbers, read.text("link"), read.array("knots", (2, 2)))


def test_other_kinds_need_no_change_of_files(every, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GEOMETRIES, FewColumns.kind, FewColumns)
    monkeypatch.setitem(TARGETS, Knotted.kind, Knotted)
    mixture = every["learned"][0].mixture_
    mixture = replace(
        mixture,
        geometry=FewColumns(mixture.geometry.radius, (1,)),
        target=Knotted(0.5, 2.0, 0.1, "cube", np.arange(4.0).reshape(2, 2)),
        posterior=replace(mixture.posterior, center=mixture.posterior.center[:, 1:]),
    )
    saved = replace(saved_of(every["learned"][0]), mixture=mixture)
    document = json.loads(json.dumps(to_document(saved)))
    again = from_document(document).mixture
    assert type(again.geometry) is FewColumns
    assert again.geometry.columns == (1,)
    assert again.target.link == "cube"
    assert again.hash == mixture.hash
    X = make_clf_case1(50, random_state=1)[0]
    np.testing.assert_array_equal(again.view(X).answer, mixture.view(X).answer)
    with pytest.raises(ModelFileError, match=r"posterior\.center should have shape"):
        from_document(change(document, ("posterior", "center"), [[0.0, 0.0]] * 2))


# -- saving ----------------------------------------------------------------------------------------


def test_what_cannot_be_saved(every, tmp_path: Path) -> None:
    X, y = make_clf_case1(100, random_state=0)
    path = tmp_path / "m.json"
    with pytest.raises(Exception, match="not fitted"):
        LocalMixtureClassifier().save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        odd = LocalMixtureClassifier(points_of_interest=[[0, 0]], metric=chebyshev, **QUICK)
        odd.fit(X, y)
    with pytest.raises(ModelFileError, match=r"metric=.* is a function, which a file cannot hold"):
        odd.save(path)
    odd.metric = "chebyshev"  # what it was fitted with stays
    with pytest.raises(ModelFileError, match=r"geometry\.metric\.name should be a metric that"):
        odd.save(path)
    days = np.where(y > 0, np.datetime64("2020-01-01", "ns"), np.datetime64("2021-01-01", "ns"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dated = LocalMixtureClassifier(1, **QUICK).fit(X, y > 0)
    dated.mixture_ = replace(dated.mixture_, target=type(dated.mixture_.target)(np.unique(days)))
    with pytest.raises(ModelFileError, match=r"target\.dtype should be one of"):
        dated.save(path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("parameter", "value", "match"),
    [
        ("points_of_interest", [1.0, 2.0], "points_of_interest should be rows"),
        ("points_of_interest", [[1.0, None]], "rows of texts and numbers"),
        ("inverse_temperature", "soon", "its parameters are not sound: inverse_temperature"),
        ("inverse_temperature", {"a": 1}, "inverse_temperature should be numbers"),
        ("tol", math.nan, "number that is not finite"),
        ("tol", object(), "a value of type object, which a file cannot hold"),
        ("overlap", ["nearest"], "parameters.overlap should be a plain value"),
        ("max_time", 10**400, "a number that a computer can hold"),
        ("metric", "\ud800", "cannot be written"),
        ("monotonic_cst", 1, "monotonic_cst should be numbers -1, 0 and 1; got 1"),
        ("monotonic_cst", [0.5, 0], "monotonic_cst should be numbers -1, 0 and 1"),
        ("monotonic_cst", [[1, 0]], "monotonic_cst should be numbers -1, 0 and 1"),
        ("monotonic_cst", {"x0": "up"}, "monotonic_cst should be numbers -1, 0 and 1"),
        ("monotonic_cst", [1], "not sound: monotonic_cst must be"),
        ("monotonic_cst", {"moon": 1}, "not sound: monotonic_cst has 'moon'"),
        ("local_models", "additive", "not sound: local_models='additive' is not for the paper's"),
        ("local_models", "bent", "not sound: local_models must be one of"),
    ],
)
def test_parameters_that_cannot_be_saved(
    parameter: str, value: object, match: str, every, tmp_path: Path
) -> None:
    saved = saved_of(every["learned"][0])
    saved = replace(saved, parameters={**saved.parameters, parameter: value})
    with pytest.raises(ModelFileError, match=match):
        save_model(saved, tmp_path / "m.json")


def test_a_model_that_is_too_large_is_not_saved(every, tmp_path: Path) -> None:
    saved = saved_of(every["learned"][0])
    saved = replace(saved, parameters={**saved.parameters, "metric": "x" * 64 * 2**20})
    with pytest.raises(ModelFileError, match=r"takes \d+ bytes, more than the 67108864 .* Pickle"):
        save_model(saved, tmp_path / "m.json")
    assert not list(tmp_path.iterdir())


def test_numbers_that_cannot_be_saved(every, tmp_path: Path) -> None:
    model = copy.copy(every["learned"][0])
    mixture = model.mixture_
    coef = mixture.posterior.coef.copy()
    coef[0, 0] = math.nan
    model.mixture_ = replace(mixture, posterior=replace(mixture.posterior, coef=coef))
    with pytest.raises(ModelFileError, match="number that is not finite"):
        model.save(tmp_path / "m.json")
    units = replace(mixture.inputs.units, center=mixture.inputs.units.center.astype(np.float32))
    model.mixture_ = replace(mixture, inputs=replace(mixture.inputs, units=units))
    with pytest.raises(ModelFileError, match="cannot hold all of this model's numbers"):
        model.save(tmp_path / "m.json")


def test_where_it_is_saved(every, tmp_path: Path) -> None:
    model, _ = every["given"]
    path = model.save(tmp_path / "new" / "m.json")
    with pytest.raises(FileExistsError, match="exists; give another name"):
        model.save(path, overwrite=False)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        model.save(tmp_path)
    path.chmod(0o640)
    model.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    fifo = path.with_name("fifo")
    os.mkfifo(fifo)
    with pytest.raises(FileExistsError, match="is not a plain file"):
        model.save(fifo)
    with pytest.raises(ModelFileError, match="not a plain file"):
        motlm.load(fifo)
    assert sorted(one.name for one in path.parent.iterdir()) == ["fifo", "m.json"]


def test_a_crash_leaves_the_former_file(tmp_path: Path) -> None:
    path = write_atomically(tmp_path / "m.txt", "before\n")
    with suppress(KeyboardInterrupt), atomic_stream(path) as stream:
        stream.write("half")
        raise KeyboardInterrupt
    assert path.read_text() == "before\n"
    assert [one.name for one in tmp_path.iterdir()] == ["m.txt"]


def test_a_generator_is_not_saved(tmp_path: Path) -> None:
    X, y = make_clf_case1(100, random_state=0)
    state = np.random.RandomState(0)
    model = LocalMixtureClassifier(1, inverse_temperature=2.0, n_starts=1, random_state=state)
    assert motlm.load(model.fit(X, y).save(tmp_path / "m.json")).random_state is None


def chebyshev(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max())


@pytest.mark.parametrize(
    ("table", "match"),
    [
        (
            TableNotes("label", None, {"moon": 1.0}),
            r"table\.fill should be values for columns of the model; got 'moon'",
        ),
        (TableNotes("label", None, {"a": "x"}), r"table\.fill\.a should be a number; got 'x'"),
        (
            TableNotes("label", None, {"c": "moon"}),
            r"table\.fill\.c should be a level of the column; got 'moon'",
        ),
        (TableNotes("label", 3, {}), r"table\.id_column should be a text; got 3"),  # type: ignore[arg-type]
        (TableNotes("label", "x", {}, [1.0]), r"table\.calibration should have shape \(2,\)"),  # type: ignore[arg-type]
    ],
)
def test_notes_on_a_table_are_checked(table: TableNotes, match: str, every, tmp_path: Path) -> None:
    model = copy.copy(every["with notes"][0])
    model.table_ = table
    with pytest.raises(ModelFileError, match=match):
        model.save(tmp_path / "m.json")
    with pytest.raises(ModelFileError, match=match):
        from_document(document_of(model))


# -- bad files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "match", "kind"),
    [
        ("", "not JSON, or cut off", NotAModelFileError),
        ("{", "not JSON, or cut off", NotAModelFileError),
        ('{"a": "\\', "not JSON, or cut off", NotAModelFileError),
        ("a,b\n1,2\n", "not JSON, or cut off", NotAModelFileError),
        ("[]", "expected a JSON object, got a list", ModelFileError),
        ('{"a": 1}', "lacks the entry format", ModelFileError),
        (
            '{"format": "motlm model", "schema": "1"}',
            "schema should be an integer",
            ModelFileError,
        ),
        (
            '{"format": "motlm model", "schema": 99, "library": "motlm 9.9"}',
            "it has schema 99, .* written by 'motlm 9.9'. Use that version",
            ModelFileError,
        ),
        (
            '{"format": "motlm model", "schema": 1, "schema": 1}',
            "the entry 'schema' occurs twice",
            ModelFileError,
        ),
        ('{"format": "motlm model", "schema": 1, "x": NaN}', "it holds NaN", ModelFileError),
        (
            '{"format": "motlm model", "schema": 1, "x": -Infinity}',
            "it holds -Infinity",
            ModelFileError,
        ),
        (
            '{"format": "motlm model", "schema": 1, "x": 1e999}',
            "changed or damaged",
            ModelFileError,
        ),
        ("[" * 100_000, "it has 100000 levels of nesting, where 20 are allowed", ModelFileError),
        ("[[]," * 100_000 + "1" + "]" * 100_000, "it has 100001 levels of nesting", ModelFileError),
        ('{"a":' * 50_000, "it has 50000 levels of nesting", ModelFileError),
        ('{"a": "' + r"\"" * 50_000 + "[" * 50_000, "not JSON, or cut off", NotAModelFileError),
        ('{"a": "' + r"\"" * 50_000 + "[" * 50_000 + '"}', "lacks the entry", ModelFileError),
        (
            '{"format": "motlm model", "schema": 1, "x": ' + "1" * 5000 + "}",
            "not a model file|changed or damaged",
            ModelFileError,
        ),
    ],
)
def test_broken_files(text: str, match: str, kind: type, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(ModelFileError, match=match) as caught:
        motlm.load(path)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(f"{path}: ")


def test_files_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(b"\x80\x04\x95pickle\xff")
    with pytest.raises(NotAModelFileError, match="not a text file in UTF-8"):
        motlm.load(path)
    os.truncate(path, 64 * 2**20 + 1)
    with pytest.raises(ModelFileError, match="has 67108865 bytes, more than the 67108864"):
        motlm.load(path)
    with pytest.raises(FileNotFoundError):
        motlm.load(tmp_path / "none.json")


def test_errors_of_what_is_made_name_the_file(every, tmp_path: Path) -> None:
    path = every["given"][0].save(tmp_path / "m.json")

    def refuse(saved: Saved) -> None:
        raise ModelFileError("it is not what I want.", "Give another.")

    with pytest.raises(ModelFileError) as caught:
        read_model(path, refuse)
    assert str(caught.value) == f"{path}: it is not what I want. Give another."
    assert caught.value.advice == "Give another."
    assert read_model(path, lambda saved: saved.estimator) == "LocalMixtureClassifier"


def test_truncated_and_edited(every, tmp_path: Path) -> None:
    model, _ = every["given"]
    path = model.save(tmp_path / "m.json")
    text = path.read_text()
    for share in (0.1, 0.5, 0.9, 0.999):
        path.write_text(text[: int(share * len(text))])
        with pytest.raises(NotAModelFileError, match="not JSON, or cut off"):
            motlm.load(path)
    path.write_text(text.replace('"overlap": "nearest"', '"overlap": "mean"'))
    with pytest.raises(ModelFileError, match="changed or damaged after it was saved"):
        motlm.load(path)


def change(document: dict, place: tuple, value: object) -> dict:
    """The document with another value, and a checksum that fits."""
    content = copy.deepcopy(document)
    part = content
    for step in place[:-1]:
        part = part[step]
    if value is KeyError:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    try:
        return {**content, "checksum": checksum(content)}
    except ValueError:
        return {**content, "checksum": "0"}


@pytest.mark.parametrize(
    ("place", "value", "match"),
    [
        (("estimator",), "os.system", "estimator should be one of LocalMixtureClassifier"),
        (("estimator",), "LocalMixtureRegressor", "parameters should be"),
        (("inputs", "inverse_scale", 0), -1.0, "inputs.inverse_scale should be 0, or lie between"),
        (("inputs",), KeyError, "the entry inputs is missing"),
        (("inputs", "names"), ["a"], "one entry for each of 1 names"),
        (("inputs", "names"), [1, 2], "should be a list of texts"),
        (("inputs", "names"), ["x" * 100, "y"], r"a list of \[column, number\]"),
        (("inputs", "levels"), [None, []], "list of the levels of 'x1'"),
        (("inputs", "levels"), [None, [[1]]], "list of the levels of 'x1'"),
        (("inputs", "levels"), [None, list(range(100_002))], "100002 encoded columns; at most"),
        (("inputs", "varies"), [1, 0], "2 values true or false"),
        (("inputs", "named"), 1, "inputs.named should be true or false"),
        (("inputs", "handle_unknown"), "guess", "inputs.handle_unknown should be one of warn"),
        (("inputs", "center", 0), None, "inputs.center should be numbers"),
        (("geometry", "kind"), "moon", "geometry.kind should be one of given, balls"),
        (("geometry", "radius"), [math.pi], "geometry.radius should have shape"),
        (("geometry", "radius", 0), -1.0, "geometry.radius should not be negative"),
        (("geometry", "metric", "name"), "bogus", "a metric that scikit-learn knows"),
        (("geometry", "metric", "arguments"), {"evil": [1]}, "with its arguments"),
        (("geometry", "metric"), None, "geometry.metric should be an object"),
        (("geometry", "more"), 1, "unknown entries 'geometry.more'"),
        (
            ("target", "kind"),
            "moon",
            "target.kind should be one of binary, several, continuous",
        ),
        (("target", "classes"), ["a"], "two different labels"),
        (("target", "classes"), [1, 1], "two different labels"),
        (("target", "dtype"), "datetime64", "dtype should be one of"),
        (("target", "dtype"), "text", "labels of type text"),
        (("target",), None, "target should be an object"),
        (
            ("target",),
            {"kind": "continuous", "center": 0, "scale": 1, "residual_scale": 1},
            "target.kind 'continuous' is not that of a LocalMixtureClassifier",
        ),
        (
            ("target",),
            {"kind": "continuous", "center": 10**400, "scale": 1, "residual_scale": 1},
            "a number that a computer can hold",
        ),
        (
            ("posterior", "coef"),
            [[1.0]],
            r"posterior.coef should have shape \(3, 2\); got 1 entries",
        ),
        (("posterior", "coef"), [[1.0, 2.0, 3.0]] * 3, "should have shape"),
        (("posterior", "radius_shape"), [1.0] * 1000, "should have shape"),
        (("posterior", "intercept", 0), "1", "posterior.intercept should be numbers; got '1'"),
        (("posterior", "intercept", 0), True, "should be numbers"),
        (("posterior", "intercept", 0), 10**400, "has a number of too many digits"),
        (("posterior", "center_scale", 0), -1.0, "center_scale must lie between 0 and 0"),
        (("posterior",), None, "posterior should be an object"),
        (("posterior", "extra"), 1, "unknown entries 'posterior.extra'"),
        (("overlap",), "foo", "overlap should be one of nearest, mean"),
        (
            ("parameters", "loss"),
            "hinge",
            "its parameters are not sound: loss must be one of 'log'",
        ),
        (("parameters", "loss"), "poisson", "its parameters are not sound: loss must be one of"),
        (("parameters", "class_weight"), "even", "its parameters are not sound: class_weight must"),
        (("parameters", "class_weight"), [["a"]], r"class_weight should be a list of \[label, we"),
        (("parameters", "class_weight"), [[1, -1.0]], "not sound: class_weight must have numbers"),
        (("parameters", "class_weight"), {"a": 1}, "class_weight should be a plain value"),
        (("parameters", "prior"), {"learn_scales": True}, "parameters.prior.center is missing"),
        (("target", "loss"), "hinge", "target.loss should be one of log, zero-one; got 'hinge'"),
        (("target", "loss"), 3, "target.loss should be a text"),
        (("provenance", "prior", "learn_scales"), 1, "prior.learn_scales should be true or false"),
        (("parameters", "combine"), "eval", "its parameters are not sound: combine must be one of"),
        (("parameters", "overlap"), "foo", "its parameters are not sound: overlap must be one of"),
        (("parameters", "evil"), 1, "parameters should be"),
        (("parameters", "overlap"), {"a": 1}, "a plain value"),
        (("parameters", "validation_fraction"), 10**400, "a number that a computer can hold"),
        (("parameters", "points_of_interest"), [[1], [2, 3]], "rows of one length"),
        (("parameters", "points_of_interest"), [[10**400]], "numbers that a computer can hold"),
        (("parameters", "inverse_temperature"), [[1]], "inverse_temperature should be numbers"),
        (("parameters", "inverse_temperature"), [-1], "its parameters are not sound"),
        (("parameters", "prior"), {"luck": 1}, "the entry parameters.prior.center is missing"),
        (("parameters", "standardize"), {"center": [1]}, "parameters.standardize.center should"),
        (("localities", 0), 3, "localities.0 should be an object"),
        (("localities",), [], "should have shape"),
        (("localities",), "many", "localities should be a list"),
        (
            ("localities", 0, "coef"),
            [["a", 1.0]],
            r"a list of \[column, number\] for the 2 columns",
        ),
        (("provenance", "path", 0, "stage"), 3, "provenance.path.0.stage should be a text"),
        (("provenance", "path", 0), "x", "provenance.path.0 should be an object"),
        (("provenance", "fingerprint", "keys"), ["zz"], "16 hexadecimal digits"),
        (
            ("provenance", "fingerprint", "keys"),
            ["00000000000000ff", "000000000000000f"],
            "should increase",
        ),
        (("provenance", "fingerprint", "keys"), ["0" * 16] * 5000, "at most 4096 hashes"),
        (("provenance", "fingerprint", "n_rows"), -1, "an integer between 0"),
        (("provenance", "fingerprint", "n_rows"), 10**400, "an integer between 0"),
        (("provenance", "units_from"), "moon", "units_from should be one of rows"),
        (("provenance", "n_rows"), [1, 2], "provenance.n_rows should be 3 integers"),
        (("provenance", "points"), [True, 1], "provenance.points should be 2 integers"),
        (("provenance", "inverse_temperature"), KeyError, "inverse_temperature is missing"),
        (("provenance", "objective"), "small", "provenance.objective should be a number"),
        (("provenance", "prior", "coef_scale"), 0, "provenance.prior is not sound"),
        (("provenance", "prior", "coef"), [[[1]]], "a number, a vector or a matrix"),
        (("provenance", "prior", "coef"), [[1, 2], [1]], "provenance.prior.coef should have shape"),
        (("provenance", "earlier_hash"), ["a", "b"], "two hashes of 64 hexadecimal digits"),
        (("provenance", "earlier_hash"), KeyError, "the entry provenance.earlier_hash is missing"),
        (("provenance", "boom"), 1, "unknown entries 'provenance.boom'"),
        (("certificate",), {"digest": "no"}, "its certificate is not sound"),
        (("certificate",), "sure", "certificate should be an object or null"),
        (("strange",), 1, "unknown entries 'strange'"),
    ],
)
def test_unsound_content_is_named(place: tuple, value: object, match: str, every) -> None:
    document = document_of(every["given"][0])
    with pytest.raises(ModelFileError, match=match):
        estimator_of(from_document(change(document, place, value)))


@pytest.mark.parametrize(
    ("place", "value", "match"),
    [
        (("target", "classes"), ["a", "b"], "target.classes should be three to 256 different la"),
        (("target", "classes"), ["a", "b", "b"], "target.classes should be three to 256 different"),
        (("target", "classes"), ["b", "a", "c"], "three to 256 different labels in order"),
        (("target", "classes"), [str(i) for i in range(300)], "three to 256 different labels"),
        (
            ("target", "classes"),
            ["a", "b", "c", "d"],
            r"posterior.coef should have shape \(2, 4, 2",
        ),
        (("target", "classes"), [1, 2, 3], "target.classes should be labels of type text"),
        (("target", "classes"), [["a"], "b", "c"], "target.classes should be labels of type text"),
        (("target", "kind"), "binary", "target.classes should be two different labels"),
        (("target", "loss"), "poisson", "target.loss should be one of log, zero-one"),
        (("posterior", "coef"), [[1.0, 2.0]] * 2, r"posterior.coef should have shape \(2, 3, 2\)"),
        (("posterior", "coef", 0, 2), [1.0], r"posterior.coef should have shape \(2, 3, 2\)"),
        (("posterior", "coef", 1, 0, 0), 7.0, "exterior.coef does not agree"),
        (("posterior", "intercept"), [0.0, 0.0], r"posterior.intercept should have shape \(2, 3\)"),
        (("posterior", "intercept", 1, 2), "1", "posterior.intercept should be numbers"),
        (("posterior", "coef_scale"), [[0.1] * 3] * 2, "posterior.coef_scale should be numbers"),
        (("provenance", "prior", "coef"), [[[[1]]]], "a vector or a matrix, or an array of 3 axes"),
        (("provenance", "prior", "coef_scale"), [[1.0]], "prior.coef_scale should be a number, or"),
        (("exterior", "formula"), "a: 1", "exterior.formula should be that of its"),
    ],
)
def test_unsound_content_of_several_classes_is_named(
    place: tuple, value: object, match: str, every
) -> None:
    document = document_of(every["several"][0])
    with pytest.raises(ModelFileError, match=match):
        estimator_of(from_document(change(document, place, value)))


def test_labels_of_several_classes_are_those_of_the_estimator(every) -> None:
    """A regressor's file does not hold them, nor a classifier's two where it has three."""
    document = document_of(every["several"][0])
    regressor = document_of(every["regressor"][0])
    with pytest.raises(ModelFileError):
        estimator_of(from_document(change(regressor, ("target",), document["target"])))
    binary = document_of(every["given"][0])
    with pytest.raises(ModelFileError, match=r"posterior.coef should have shape \(3, 3, 2\)"):
        from_document(change(binary, ("target",), document["target"]))


@pytest.mark.parametrize("name", [name for name, one in FIELDS.items() if one.positive])
def test_scales_are_positive(name: str, every) -> None:
    document = document_of(every["learned"][0])
    shown = FIELDS[name].searched_as or name
    with pytest.raises(ModelFileError, match=f"posterior.{shown} must lie between"):
        from_document(change(document, ("posterior", name, 0), -1.0))


def test_labels_may_have_another_type_that_holds_them(every) -> None:
    document = document_of(every["given"][0])
    assert (
        from_document(change(document, ("target", "dtype"), "int8")).mixture.target.classes[0] == -1
    )


# -- formulas that are shown -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "value", "match"),
    [
        (("localities", 0, "formula"), "1 + 1 * x0", "localities.0.formula should be that of its"),
        (("exterior", "formula"), "1 + 1 * x0", "exterior.formula should be that of its"),
        (("localities", 1, "n_rows"), 7, "localities.1.n_rows does not agree"),
        (("localities", 0, "point"), 5, "localities.0.point does not agree"),
        (("localities", 0, "radius"), 0.5, "localities.0.radius does not agree"),
        (("localities", 0, "radius_mean"), 0.5, "localities.0.radius_mean does not agree"),
        (("localities", 0, "half_width"), None, "localities.0.half_width does not agree"),
        (("localities", 0, "half_width", 0, 1), None, "localities.0.half_width does not agree"),
        (("localities", 0, "center", 0, 1), 0.5, "localities.0.center does not agree"),
        (("localities", 0, "center_scale", 0, 1), 1e-300, "localities.0.center_scale does not"),
        (("exterior", "coef_scale", 0, 1), 0.5, "exterior.coef_scale does not agree"),
        (("exterior", "intercept_scale"), 0.5, "exterior.intercept_scale does not agree"),
        (("posterior", "coef", 0, 0), 5.0, "localities.0.coef does not agree"),
        (("posterior", "intercept", 2), 5.0, "exterior.intercept does not agree"),
        (("geometry", "radius", 1), 5.0, "geometry.radius does not agree with the posterior"),
        (("geometry", "given", 1), [5.0, 5.0], "geometry.points should be the given centers"),
        (("geometry", "points", 1), [5.0, 5.0], "geometry.points should be the given centers"),
        (("inputs", "inverse_scale", 0), 5.0, "geometry.points should be the given centers"),
        (("provenance", "n_rows", 2), 1, "exterior.n_rows does not agree"),
    ],
)
def test_a_file_that_shows_another_model_is_refused(
    place: tuple, value: object, match: str, every
) -> None:
    document = document_of(every["given"][0])
    with pytest.raises(ModelFileError, match=match):
        from_document(change(document, place, value))


def test_a_forged_formula_is_refused(every) -> None:
    """Numbers and formula agree with each other, but not with the posterior."""
    document = document_of(every["given"][0])
    shown = document["localities"][0]["coef"][0][1]
    forged = change(document, ("localities", 0, "coef", 0, 1), 2.0 * shown)
    model = every["given"][0].localities_[0]
    model = replace(model, coef=model.coef * [2.0, 1.0])
    for name, text in (("correction", model.correction()), ("formula", model.formula())):
        with pytest.raises(ModelFileError, match=rf"localities\.0\.{name} should be that of its"):
            from_document(forged)
        forged = change(forged, ("localities", 0, name), text)
    with pytest.raises(ModelFileError, match=r"localities\.0\.coef does not agree"):
        from_document(forged)


def test_a_forged_sentence_is_refused(every) -> None:
    document = document_of(every["few columns"][0])
    for name in ("where", "correction"):
        for value in (document["localities"][1][name], "all rows", "", None, 3):
            with pytest.raises(ModelFileError, match=rf"localities\.0\.{name} should be"):
                from_document(change(document, ("localities", 0, name), value))
        with pytest.raises(ModelFileError, match=f"{name} is missing"):
            from_document(change(document, ("localities", 0, name), KeyError))


@pytest.mark.parametrize(
    ("name", "place", "value", "match"),
    [
        ("additive", ("exterior", "shapes"), KeyError, "exterior.shapes is missing"),
        ("additive", ("exterior", "shapes"), [], r"a list of \[column, points\] for the 3 columns"),
        ("additive", ("exterior", "shapes", 0, 0), "year", r"a list of \[column, points\]"),
        ("additive", ("exterior", "shapes", 0), 3, r"a list of \[column, points\]"),
        ("additive", ("exterior", "shapes", 0, 1), None, r"points \[number, value, scale\]"),
        ("additive", ("exterior", "shapes", 0, 1, 0), [1.0], r"points \[number, value, scale\]"),
        ("additive", ("exterior", "shapes", 2, 1, 0, 0), -7.0, "points at the knots of inputs.be"),
        ("additive", ("exterior", "shapes", 2, 1, 0, 1), "x", "exterior.shapes should be numbers"),
        ("additive", ("exterior", "shapes", 2, 1, 0, 1), [1.0], "exterior.shapes should be numb"),
        ("additive, several", ("exterior", "shapes", 2, 1, 0, 1), 1.0, "shapes should have shape"),
        ("additive", ("exterior", "shapes", 2, 1, 0, 2), 7.0, "exterior.shapes of 'year' does not"),
        ("few columns", ("exterior", "shapes"), [], "unknown entries 'exterior.shapes'"),
    ],
)
def test_curves_that_do_not_fit_are_refused(
    name: str, place: tuple, value: object, match: str, every
) -> None:
    with pytest.raises(ModelFileError, match=match):
        from_document(change(document_of(every[name][0]), place, value))


@pytest.mark.parametrize("name", ["additive", "additive, several", "additive, rate"])
def test_a_forged_curve_is_refused(name: str, every) -> None:
    """Points and formulas agree with each other, but not with the posterior."""
    model, _ = every[name]
    document = document_of(model)
    outer = model.exterior_
    first, *others = outer.shapes
    forged = replace(outer, shapes=(replace(first, values=2.0 * first.values), *others))
    points = zip(first.knots, forged.shapes[0].values.T, first.scale, strict=True)
    entry = [[float(x), np.asarray(value).tolist(), float(scale)] for x, value, scale in points]
    bad = change(document, ("exterior", "shapes", 0, 1), entry)
    with pytest.raises(ModelFileError, match=r"formula should be|does not agree"):
        from_document(bad)
    bad = change(bad, ("exterior", "formula"), forged.formula())
    for i, one in enumerate(model.localities_):
        again = replace(one, exterior=replace(one.exterior, model=forged))
        bad = change(bad, ("localities", i, "correction"), again.correction())
    with pytest.raises(ModelFileError, match=r"exterior\.shapes of 'a' does not agree"):
        from_document(bad)


def test_other_computers_round_curves_otherwise(every) -> None:
    """Values at knots are sums, of which some are near 0."""
    document = document_of(every["additive"][0])
    point = document["exterior"]["shapes"][0][1][3]
    nudged = change(document, ("exterior", "shapes", 0, 1, 3, 1), point[1] * (1 + 1e-14))
    assert from_document(nudged).mixture.hash == every["additive"][0].mixture_.hash
    with pytest.raises(ModelFileError, match=r"does not agree|should be that of"):
        from_document(change(document, ("exterior", "shapes", 0, 1, 3, 1), point[1] + 1e-4))


def test_other_computers_round_otherwise(every) -> None:
    document = document_of(every["prior of each"][0])
    shown = document["exterior"]["intercept"]
    nudged = change(document, ("exterior", "intercept"), shown * (1 + 1e-15))
    mixture = from_document(nudged).mixture
    assert mixture.hash == every["prior of each"][0].mixture_.hash
    assert mixture.exterior.intercept == shown
    document = document_of(every["frozen"][0])  # whose models are independent
    shown = document["exterior"]["intercept"]
    from_document(change(document, ("exterior", "intercept"), shown * (1 + 1e-12)))
    with pytest.raises(ModelFileError, match="does not agree"):
        from_document(change(document, ("exterior", "intercept"), shown * (1 + 1e-6)))


# -- fuzz ------------------------------------------------------------------------------------------

STRANGE = [
    None,
    True,
    -1,
    0,
    10**30,
    10**400,
    -0.5,
    1e308,
    "",
    "x" * 1000,
    [],
    [None],
    {},
    {"a": 1},
    [[[]]],
    "NaN",
    [1.0, 2.0],
    KeyError,
]


def fuzz(document: dict, X: Any, times: int, seed: int) -> None:
    """Whatever is put in place of an entry: an error of ours, or a model that still predicts."""
    chance = random.Random(seed)
    for _ in range(times):
        part, place = document, []
        while isinstance(part, (dict, list)) and part and (not place or chance.random() < 0.8):
            steps = list(part) if isinstance(part, dict) else range(len(part))
            place.append(chance.choice(steps))
            part = part[place[-1]]
        value = chance.choice(STRANGE)
        if place[0] == "checksum" or (value is KeyError and not isinstance(place[-1], str)):
            continue
        bad = change(document, tuple(place), value)
        with warnings.catch_warnings(), np.errstate(all="ignore"), suppress(ModelFileError):
            warnings.simplefilter("ignore")
            again = estimator_of(from_document(bad))
            with suppress(motlm.MotlmError):  # of a metric that only predict tries
                again.predict(X[:3])


@pytest.mark.parametrize(
    "name",
    [
        *("given", "table", "regressor", "certified", "seuclidean", "few columns", "all columns"),
        *("named columns", "given, widths", "given, learned widths", "rows", "rows by a metric"),
        *("additive", "additive, several", "additive, rate", "additive, given"),
    ],
)
def test_fuzzed_content(name: str, every) -> None:
    model, X = every[name]
    fuzz(document_of(model), X, 250, seed=0)


@pytest.mark.parametrize(
    "name", ["given_table", "given_mean_manhattan", "certified", "mahalanobis"]
)
def test_fuzzed_content_of_earlier_schemas(name: str) -> None:
    asked = json.loads((FIXTURES / "schema2" / f"{name}.expected.json").read_text())
    fuzz(old(name), rows_of(asked), 250, seed=1)


def test_flipped_bytes(every, tmp_path: Path) -> None:
    path = every["learned"][0].save(tmp_path / "m.json")
    sound = path.read_bytes()
    chance = random.Random(0)
    for _ in range(60):
        broken = bytearray(sound)
        for _ in range(chance.randint(1, 5)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        if broken == sound:
            continue
        path.write_bytes(broken)
        try:
            motlm.load(path)
        except ModelFileError:
            continue
        assert json.loads(bytes(broken)) == json.loads(sound)  # white space


# -- earlier schemas -------------------------------------------------------------------------------


def rows_of(expected: dict) -> Any:
    X = expected["X"]
    return pd.DataFrame(X) if isinstance(X, dict) else np.array(X)


@pytest.mark.parametrize(
    "path", sorted(FIXTURES.glob("model_schema_*.json")), ids=lambda path: path.stem
)
def test_files_of_earlier_versions(path: Path) -> None:
    """Each schema that was released has a file here, with what its model predicted; up to schema 4
    the vote was what predict_proba gave.
    """
    model = motlm.load(path)
    expected = json.loads(path.with_name(path.stem.replace("model", "said") + ".json").read_text())
    X = rows_of(expected)
    assert model.predict(X).tolist() == expected["predict"]
    votes = expected.get("vote_proba", expected["predict_proba"])
    # tables of memberships are exact to 1e-9; those of earlier versions had other panels
    np.testing.assert_allclose(model.vote_proba(X), votes, rtol=1e-7, atol=1e-9)
    proba = model.predict_proba(X)
    assert model.classes_[proba.argmax(axis=1)].tolist() == expected["predict"]
    if int(path.stem[-1]) > 4:
        np.testing.assert_allclose(proba, expected["predict_proba"], rtol=1e-9)
        assert (model.loss, model.mixture_.target.loss_name) == ("log", "log")
        assert model.class_weight == {"low": 1.0, "high": 1.5}
        assert model.prior is None
        assert model.mixture_.provenance.prior.learn_scales
    else:  # of the paper's loss and prior, also in a next fit
        assert (model.loss, model.mixture_.target.loss_name) == ("zero-one", "zero-one")
        assert isinstance(model.prior, Prior)
        assert not model.prior.learn_scales
        assert not model.mixture_.provenance.prior.learn_scales


def test_rates_of_earlier_versions() -> None:
    path = FIXTURES / "rate_schema_5.json"
    model, expected = motlm.load(path), json.loads((FIXTURES / "rate_said_5.json").read_text())
    X, years = rows_of(expected), expected["exposure"]
    assert (model.loss, model.power, model.table_.exposure) == ("tweedie", 1.4, "years")
    np.testing.assert_allclose(model.predict(X), expected["predict"], rtol=1e-9)
    np.testing.assert_allclose(model.predict(X, years), expected["counts"], rtol=1e-9)
    assert model.score(X, expected["y"], exposure=years) == pytest.approx(expected["score"])


def test_an_earlier_model_is_fitted_again_as_it_was() -> None:
    """A prior of None was the paper's, and so was the loss."""
    X, y = make_clf_case1(100, random_state=0)
    model = motlm.load(FIXTURES / "schema2" / "learned_classifier.json")
    assert model.get_params()["loss"] == "zero-one"
    line = motlm.load(FIXTURES / "schema2" / "learned_regressor.json")
    assert (line.loss, line.power, line.prior.learn_scales) == ("squared", 1.5, False)
    quick = {"n_localities": 0, "inverse_temperature": 1.0, "random_state": 0}
    again = model.set_params(**quick).fit(X, y)
    fresh = LocalMixtureClassifier(loss="zero-one", **quick).fit(X, y)
    np.testing.assert_array_equal(again.posterior_.coef, fresh.posterior_.coef)
    assert again.objective_ == fresh.objective_


@pytest.mark.parametrize("name", ["loss", "class_weight"])
def test_losses_are_unknown_to_schema_4(name: str) -> None:
    content = json.loads((FIXTURES / "model_schema_4.json").read_text())
    with pytest.raises(ModelFileError, match=f"unknown entries 'parameters.{name}'"):
        from_document(change(content, ("parameters", name), "log"))


@pytest.mark.parametrize(
    "path",
    sorted(
        path for n in (5, 6, 7, 8, 9) for path in (FIXTURES / f"schema{n}").glob("*.expected.json")
    ),
    ids=lambda path: f"{path.parent.name} {path.name.split('.')[0]}",
)
def test_models_of_all_kinds_predict_as_before(path: Path, tmp_path: Path) -> None:
    """To the last bit where the libraries and the processor are the same; memberships, which
    compiled code sums, to 1e-12, since their last bits are those of the compiler.
    """
    expected = json.loads(path.read_text())
    first = motlm.load(path.with_name(path.name.replace(".expected", "")))
    X, same = rows_of(expected), expected["environment"] == environment()
    for model in (first, motlm.load(first.save(tmp_path / "m.json"))):
        assert model.mixture_.hash == expected["hash"]
        assert [one.formula() for one in model.mixture_.models] == expected["formula"]
        for name in ("predict", "apply", "membership_proba", "predict_proba", "vote_proba"):
            if name not in expected:
                continue
            found, wanted = getattr(model, name)(X), np.array(expected[name])
            if same and name in ("membership_proba", "vote_proba"):
                np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
            elif same or wanted.dtype.kind != "f":
                np.testing.assert_array_equal(found, wanted, name)
            else:
                np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)
    if path.parent.name == "schema5":
        assert first.mixture_.posterior.layout is None
        assert (first.locality_features, first.corrections) == ("ball", "none")


@pytest.mark.parametrize("schema", range(1, 7))
def test_models_were_linear(schema: int) -> None:
    """And they are fitted again as such."""
    model = motlm.load(FIXTURES / f"model_schema_{schema}.json")
    assert (model.local_models, model.monotonic_cst) == ("linear", None)
    assert model.mixture_.inputs.bends is None


@pytest.mark.parametrize(
    ("place", "value", "match"),
    [
        (("parameters", "local_models"), "linear", "unknown entries 'parameters.local_models'"),
        (("parameters", "monotonic_cst"), None, "unknown entries 'parameters.monotonic_cst'"),
        (("inputs", "bends"), [], "unknown entries 'inputs.bends'"),
        (("exterior", "shapes"), [], "unknown entries 'exterior.shapes'"),
    ],
)
def test_curves_are_unknown_to_schema_6(place: tuple, value: object, match: str) -> None:
    for name in ("schema6/few", "schema6/last_several", "schema5/balls", "model_schema_3"):
        content = json.loads((FIXTURES / f"{name}.json").read_text())
        with pytest.raises(ModelFileError, match=match):
            from_document(change(content, place, value))


def test_smooth_curves_are_unknown_to_schema_8() -> None:
    content = json.loads((FIXTURES / "schema9" / "smooth.json").read_text())
    assert content["inputs"]["bends"][0]["smooth"] is True
    with pytest.raises(ModelFileError, match=r"unknown entries 'inputs\.bends\.smooth'"):
        from_document(change(content, ("schema",), 8))
    with pytest.raises(ModelFileError, match="smooth should be true or false"):
        from_document(change(content, ("inputs", "bends", 0, "smooth"), 1))
    share = [1.0 / 8] * (len(content["inputs"]["bends"][0]["knots"]) - 1)
    with pytest.raises(ModelFileError, match="smooth should be false, or no share"):
        from_document(change(content, ("inputs", "bends", 0, "share"), share))
    with pytest.raises(ModelFileError, match="does not agree with the posterior"):
        from_document(change(content, ("inputs", "bends", 0, "smooth"), False))


@pytest.mark.parametrize(
    ("name", "expected"), json.loads((FIXTURES / "hashes.json").read_text()).items()
)
def test_models_of_earlier_versions_keep_their_hashes(name: str, expected: str) -> None:
    """They were computed by the code of schema 5."""
    assert motlm.load(FIXTURES / name).mixture_.hash == expected


def test_balls_are_fitted_again_as_balls() -> None:
    """A model of before there were others stays one of balls with independent models."""
    X, y = make_clf_case1(100, random_state=0)
    model = motlm.load(FIXTURES / "schema5" / "balls.json")
    again = model.set_params(n_localities=1, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.fit(X, y)
    assert again.mixture_.geometry.kind == "balls"
    assert again.posterior_.layout is None


@pytest.mark.parametrize(
    ("place", "value", "match"),
    [
        (("parameters", "corrections"), "own", "unknown entries 'parameters.corrections'"),
        (("parameters", "locality_features"), 3, "unknown entries 'parameters.locality_features'"),
        (("geometry", "corrections"), "own", "unknown entries 'geometry.corrections'"),
        (("geometry", "weights"), [[1.0]], "unknown entries 'geometry.weights'"),
        (("geometry", "kind"), "localities", "geometry.kind should be one of given, balls"),
        (("geometry", "kind"), "rows", "geometry.kind should be one of given, balls"),
        (("posterior", "column_weight"), [[1.0]], "unknown entries 'posterior.column_weight'"),
        (("localities", 0, "where"), "here", "unknown entries 'localities.0.where'"),
    ],
)
def test_columns_are_unknown_to_schema_5(place: tuple, value: object, match: str) -> None:
    for name in ("balls", "given_several"):
        content = json.loads((FIXTURES / "schema5" / f"{name}.json").read_text())
        with pytest.raises(ModelFileError, match=match):
            from_document(change(content, place, value))


def test_each_schema_has_a_file() -> None:
    found = {int(path.stem.split("_")[-1]) for path in FIXTURES.glob("model_schema_*.json")}
    assert found == set(range(1, SCHEMA + 1))


@pytest.mark.parametrize(
    "path",
    sorted((FIXTURES / "schema2").glob("*.expected.json")),
    ids=lambda path: path.name.split(".")[0],
)
def test_models_of_schema_2_predict_as_before(path: Path, tmp_path: Path) -> None:
    """To the last bit where the same numerical libraries run on the same kind of processor, whose
    products of matrices differ in the last bits from those of others; but for votes, to the
    accuracy of tables, whose panels were others.
    """
    expected = json.loads(path.read_text())
    first = motlm.load(path.with_name(path.name.replace(".expected", "")))
    X, same = rows_of(expected), expected["environment"] == environment()
    for model in (first, motlm.load(first.save(tmp_path / "m.json"))):
        found = {
            "predict": model.predict(X),
            "apply": model.apply(X),
            "membership": model.membership_proba(X),
            "ambiguous": model.ambiguous(X),
            "coef": np.array([one.coef for one in model.mixture_.models]),
            "center": np.array([one.center for one in model.localities_]),
            "intercept": np.array([one.intercept for one in model.mixture_.models]),
        }
        if "predict_proba" in expected:  # as it was called
            found["predict_proba"] = model.vote_proba(X)
        for name, values in found.items():
            if name in ("membership", "predict_proba"):
                np.testing.assert_allclose(values, expected[name], rtol=0.0, atol=1e-9)
            elif same or values.dtype.kind not in "f":
                assert values.tolist() == expected[name], name
            else:
                np.testing.assert_allclose(values, expected[name], rtol=1e-7, atol=1e-12)


CERTIFIED = [
    FIXTURES / "model_schema_1.json",
    FIXTURES / "model_schema_2.json",
    FIXTURES / "schema2" / "certified.json",
    FIXTURES / "schema2" / "in_sample.json",
]


@pytest.mark.parametrize("path", CERTIFIED, ids=lambda path: path.stem)
def test_certificates_of_earlier_schemas_still_name_the_model(path: Path, tmp_path: Path) -> None:
    model = motlm.load(path)
    now, before = model.mixture_.provenance.earlier_hash
    assert now == model.mixture_.hash
    assert before == model.certificate_.model
    assert before in {one.model for one in model.certificate_.statements}
    again = motlm.load(model.save(tmp_path / "m.json"))
    assert again.mixture_.provenance.earlier_hash == (now, before)
    assert {one.model for one in verify(again, again.certificate_)} == {before}
    posterior = replace(again.posterior_, intercept=again.posterior_.intercept + 1e-9)
    again.mixture_ = replace(again.mixture_, posterior=posterior)
    with pytest.raises(CertificateError, match="not about this model"):
        verify(again, again.certificate_)


def test_another_model_has_another_earlier_hash() -> None:
    document = old("in_sample")
    content = from_document(document)
    assert content.mixture.provenance.earlier_hash[1] == content.certificate.model
    for place in (("parameters", "overlap"), ("columns", "typical", 0)):
        value = "mean" if place[1] == "overlap" else 0.125
        other = from_document(change(document, place, value))
        assert other.mixture.provenance.earlier_hash[0] == other.mixture.hash
        assert other.mixture.provenance.earlier_hash[1] != other.certificate.model


def test_a_file_without_certificate_has_no_earlier_hash() -> None:
    assert from_document(old("given_table")).mixture.provenance.earlier_hash is None


def test_what_an_upgrade_keeps() -> None:
    saved = from_document(old("given_mean_manhattan"))
    mixture, before = saved.mixture, old("given_mean_manhattan")
    assert isinstance(mixture.geometry, GivenCenters)
    assert mixture.geometry.metric_name == "manhattan"
    assert mixture.geometry.points.tolist() == before["points"]
    assert mixture.overlap.name == "mean"
    assert mixture.target.residual_scale == before["training"]["residual_scale_"]
    assert mixture.provenance.searched_localities == before["chosen_localities"]
    assert mixture.provenance.kl == before["training"]["kl_"]
    assert mixture.inputs.reading.named
    assert mixture.inputs.handle_unknown == before["parameters"]["handle_unknown"]
    assert not from_document(old("learned_regressor")).mixture.inputs.reading.named
    prior = from_document(old("given_units_prior")).mixture.provenance.prior
    assert (prior.radius_rate, prior.radius_shape) == (1.0, 2.0)


def test_an_entry_of_a_later_schema_is_unknown_to_an_earlier_one() -> None:
    content = json.loads((FIXTURES / "model_schema_1.json").read_text())
    table = {"target": "risk", "id_column": None, "fill": {}}
    with pytest.raises(ModelFileError, match="unknown entries 'table'"):
        from_document(change(content, ("table",), table))


@pytest.mark.parametrize(
    ("place", "value", "match"),
    [
        (("columns",), None, "columns should be an object"),
        (("columns", "feature_names_in"), ["a"], "columns.feature_names_in should be null, or"),
        (("columns", "names"), ["a"], "columns.feature_names_in should be null, or"),
        (("columns", "more"), 1, "unknown entries 'columns.more'"),
        (("classes",), 3, "classes should be an object"),
        (("classes",), None, "training.target_scale_ is missing"),
        (("classes", "values"), ["a"], "two different labels"),
        (("classes", "more"), 1, "unknown entries 'classes.more'"),
        (("units",), [], "units should be an object"),
        (("units", "target_scale"), 2.0, "0 and 1 for labels"),
        (("units", "target_center"), 10**400, "a number that a computer can hold"),
        (("units", "more"), 1, "unknown entries 'units.more'"),
        (("metric",), None, "geometry.metric should be an object"),
        (("metric", "name"), "bogus", "a metric that scikit-learn knows"),
        (("points",), None, "metric should be null, as centers are learned"),
        (("points",), [[1.0]], "geometry.points should have shape"),
        (("parameters",), 1, "parameters should be an object"),
        (("parameters", "overlap"), "foo", "overlap should be one of nearest, mean"),
        (("parameters", "prior"), 3, "provenance.prior should be an object"),
        (("parameters", "prior"), {"luck": 1}, "prior.center is missing"),
        (("localities", 0), 3, "localities.0 should be an object"),
        (("localities", 0, "center"), [1.0], r"localities.0.center should be a list of \[column"),
        (("localities", 0, "center", 0, 1), 1.0, "geometry.points should be the given centers"),
        (("localities", 0, "n_rows"), -1, "provenance.n_rows should be 2 integers"),
        (("exterior",), [], "exterior should be an object"),
        (("training",), None, "training should be an object"),
        (("training", "boom_"), 1, "unknown entries 'training.boom_'"),
        (("training", "inverse_temperature_"), KeyError, "inverse_temperature_ is missing"),
        (("strange",), 1, "unknown entries 'strange'"),
    ],
)
def test_unsound_content_of_schema_2_is_named(place: tuple, value: object, match: str) -> None:
    with pytest.raises(ModelFileError, match=match):
        from_document(change(old("given_table"), place, value))


@pytest.mark.parametrize("path", CERTIFIED[:2], ids=lambda path: path.stem)
def test_every_entry_of_an_earlier_schema_is_needed(path: Path) -> None:
    document = json.loads(path.read_text())
    for name, entry in document.items():
        for inner in entry if isinstance(entry, dict) else ():
            optional = name == "training" and inner != "inverse_temperature_"
            if optional or name in ("parameters", "prior"):  # the estimator's to know
                continue
            with pytest.raises(ModelFileError):
                from_document(change(document, (name, inner), KeyError))
        if name != "checksum":
            with pytest.raises(ModelFileError):
                from_document(change(document, (name,), KeyError))
