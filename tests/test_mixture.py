"""The fitted model is one frozen object: a new geometry or target is one class, and a fit that
fails leaves the model before it whole.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor, Mixture
from motlm.certificates import certify, verify
from motlm.datasets import make_clf_case2, make_reg_case1
from motlm.errors import CertificateError
from motlm.estimators import ESTIMATORS
from motlm.explanations import counterfactual, explain_global, explain_local
from motlm.geometry import GEOMETRIES, Locus, Unbound
from motlm.losses import ZeroOne
from motlm.membership import theta_tables
from motlm.mixture import mixture_of
from motlm.posterior import FIELDS, Posterior, Prior, shape_of
from motlm.report import render
from motlm.routine import Answer
from motlm.targets import TARGETS

QUICK = {"local_models": "linear", "inverse_temperature": 4.0, "n_starts": 1, "random_state": 0}


# -- dummies -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Band(Unbound):
    """A geometry of this file alone: given places on one column, with a width of its own."""

    given: np.ndarray
    column: int = 0
    weight: float = 4.0
    points: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    radius: np.ndarray = field(default_factory=lambda: np.empty(0))

    kind: ClassVar[str] = "band"
    learned: ClassVar[bool] = False
    measured: ClassVar[bool] = False
    parameters: ClassVar[tuple[str, ...]] = ("radius_shape", "radius_rate")
    free: ClassVar[tuple[str, ...]] = ("radius_shape", "radius_rate")
    metric_name: ClassVar[str] = "band"

    def fit(self, inputs, encoded, weight) -> Band:
        return replace(self, points=inputs.units.standardize(self.given) * inputs.varies)

    def expand(self, prior, n_localities, inputs, scores=()) -> Prior:
        return prior.expand(n_localities, len(inputs.varies), scores)

    def rows(self, Z, features):
        gap = Z[:, [self.column]] - self.points[:, self.column]
        return features, np.sqrt(self.weight) * np.abs(gap)

    def tables(self, posterior):
        return theta_tables(posterior.radius_shape, posterior.radius_rate)

    def scores_and_distances(self, posterior, rows):
        mean = posterior.coef @ rows.features.T + posterior.intercept[:, None]
        return mean, np.array(rows.distance.T, order="C")

    def place(self, rows, n, rng):
        return {"center": self.points, "center_scale": np.zeros(n)}, rows.distance.T

    def candidate(self, rows, row, radius):
        raise NotImplementedError

    def unlike(self, one, other, distance):
        raise NotImplementedError

    def move(self, posterior, stretch, shift, mean_stretch):
        return {"center": self.points}

    def looks_at(self, varies) -> bool:
        return True

    def fits(self, other) -> bool:
        return True

    def layout(self, n_coordinates, n_features):
        return None

    def keep(self, kept) -> Band:
        return replace(self, given=self.given[list(kept)], points=self.points[list(kept)])

    def centers(self, inputs, posterior):
        return self.given

    def center_scales(self, inputs, posterior):
        return np.zeros(self.given.shape)

    def describe(self, inputs, posterior):
        return tuple(f"within {radius:.3g} of its place on one column" for radius in self.radius)

    def depends_on_rows(self) -> str:
        return ""

    def log_choices(self, posterior) -> float:
        return 0.0

    def half_widths(self, inputs, posterior):
        width = np.full(len(inputs.varies), np.inf)
        width[self.column] = 1.0 / inputs.units.inverse_scale[self.column]
        return [radius * width / np.sqrt(self.weight) for radius in self.radius]

    def loci(self, inputs, posterior):
        columns, weight = np.array([self.column]), np.array([self.weight])
        return tuple(
            Locus("euclidean", columns, point[columns], float(radius), weight)
            for point, radius in zip(self.points, self.radius, strict=True)
        )

    def freeze(self, inputs, posterior):
        return self, posterior

    def content(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)} | {"kind": self.kind}

    @classmethod
    def read(cls, read, inputs, n_localities) -> Band:
        n, d = n_localities, len(inputs.varies)
        return cls(
            read.array("given", (n, d)),
            read.integer("column", 0, d - 1),
            read.number("weight", 0.0),
            read.array("points", (n, d)),
            read.array("radius", (n,)),
        )


@dataclass(frozen=True, eq=False)
class Verdict:
    """A target of this file alone: the labels "no" and "yes", whatever the rows hold."""

    strict: bool = True

    kind: ClassVar[str] = "verdict"
    task: ClassVar[str] = "classification"
    score_name: ClassVar[str] = "accuracy"
    measure_name: ClassVar[str] = "accuracy"
    loss: ClassVar[Any] = ZeroOne()
    loss_name: ClassVar[str] = "zero-one"
    emphasis: ClassVar[float] = 1.0
    stratify: ClassVar[bool] = True
    scaled: ClassVar[bool] = False
    temperatures: ClassVar[tuple[float, ...]] = (1.0, 4.0)
    anchor: ClassVar[float] = 2.0
    standard_errors: ClassVar[float] = 1.0
    classes: ClassVar[np.ndarray] = np.array(["no", "yes"])
    center: ClassVar[float] = 0.0
    scale: ClassVar[float] = 1.0
    tolerance: ClassVar[float] = 0.0
    risk_unit: ClassVar[float] = 1.0
    score_label: ClassVar[str] = "score"
    has_bound: ClassVar[bool] = True

    @classmethod
    def learn(cls, y) -> Verdict:
        return cls()

    def scale_by(self, units) -> Verdict:
        return self

    def tolerate(self, answers, codes, weight) -> Verdict:
        return self

    def code(self, y, what="y"):
        return np.where(np.asarray(y) == "yes", 1.0, -1.0)

    def goal(self, codes):
        return codes

    def imbalance(self, answers, codes, weight) -> float:
        return 0.0

    def in_units(self, scores):
        return scores

    def answer(self, scores):
        return self.classes[(scores > 0).astype(int)]

    def answers(self, scores):
        return np.unique(self.answer(scores))

    def apart(self, first, second):
        return (first > 0) != (second > 0)

    def probabilities(self, scores, variance):
        yes = (scores > 0).astype(float)
        return np.column_stack([1.0 - yes, yes])

    def level(self, answer) -> float:
        return 0.0

    def shade(self, scores):
        return (scores > 0).astype(int)

    def describe(self) -> Answer:
        return Answer("sign", ("no", "yes"), 0.0, 1.0, 0.0)

    def expected_risk(self, judgment):
        return 1.0 - judgment

    def expected_error(self, judgment, scale):
        return None

    def usual(self, mean_code):
        return self.classes[int(mean_code > 0)]

    def judge(self, scores, rows) -> float:
        return float(np.mean((scores > 0) == (rows.target > 0)))

    def losses(self, scores, rows):
        return ((scores > 0) != (rows.target > 0)).astype(float)

    def bound(self, solution, n_rows, n_choices) -> float:
        return solution.objective

    def measure(self, y, answers):
        return float(np.mean(np.asarray(y) == answers)) if len(y) else None

    def balance(self, y):
        return {"share of yes": float(np.mean(np.asarray(y) == "yes")) if len(y) else float("nan")}

    def error(self, tolerance):
        return ZeroOne()

    def simple_model(self):
        return make_pipeline(StandardScaler(), LogisticRegression())

    def content(self) -> dict[str, Any]:
        return {"kind": self.kind, "strict": self.strict}

    @classmethod
    def read(cls, read) -> Verdict:
        return cls(read.take("strict", (bool,), "true or false"))


class BandClassifier(LocalMixtureClassifier):
    _targets = (Verdict,)

    def _learn_target(self, y, settings):
        return Verdict.learn(y)

    def _geometries(self, points, settings, columns, target):
        return [Band(points)]


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> tuple[pd.DataFrame, np.ndarray, BandClassifier]:
    monkeypatch.setitem(GEOMETRIES, "band", Band)
    monkeypatch.setitem(TARGETS, "verdict", Verdict)
    monkeypatch.setitem(ESTIMATORS, "BandClassifier", BandClassifier)
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(20, 60, 300), "km": rng.uniform(0, 30, 300)})
    y = np.where((X["km"] > 15) ^ (np.abs(X["age"] - 30) < 6), "yes", "no")
    points = pd.DataFrame({"age": [30.0], "km": [15.0]})
    return X, y, BandClassifier(points_of_interest=points, **QUICK)


def test_a_geometry_and_a_target_are_one_class_each(verdicts, tmp_path) -> None:
    """fit, save, load, predict, explain, certify, report, exports: nothing else is told of them."""
    X, y, model = verdicts
    model.fit(X, y)
    assert model.score(X, y) > 0.9
    [locality] = model.localities_
    assert locality.half_width[0] == pytest.approx(6.0, abs=1.5)
    assert np.isinf(locality.half_width[1])
    inside = np.abs(X["age"] - 30) <= locality.half_width[0]
    np.testing.assert_array_equal(model.membership(X)[:, 0], inside)

    again = motlm.load(model.save(tmp_path / "model.json"))
    assert type(again.mixture_.geometry) is Band
    assert type(again.mixture_.target) is Verdict
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.mixture_.hash == model.mixture_.hash

    whole = explain_global(model, X, y)
    assert whole.regions[0].n_rows == inside.sum()
    row = explain_local(model, X[:5])[0]
    assert row.base + sum(row.contributions.values()) == pytest.approx(row.score)
    change = counterfactual(model, X.iloc[[0]])
    assert change.found
    assert model.predict(pd.DataFrame([change.after]))[0] == change.prediction_after

    certified = certify(model, X, y)
    assert certified.certificate["hold-out"].value < 0.3
    assert {one.name for one in certified.certificate} >= {"any rule", "one draw", "per locality"}
    verify(certified.model, certified.certificate)

    page = render(model, X, y, tmp_path / "report.html")
    assert "age" in page.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(model.to_python(), names)
    said = [names["predict"](row) for row in X[:50].to_dict("records")]
    assert said == model.predict(X[:50]).tolist()


# -- frozen ------------------------------------------------------------------------------------


def small(kind: str) -> tuple[Any, np.ndarray, np.ndarray]:
    if kind == "classifier":
        X, y = make_clf_case2(150, random_state=0)
        return LocalMixtureClassifier(1, **QUICK), X, y
    if kind == "of several classes":
        X, y = make_clf_case2(150, random_state=0)
        return LocalMixtureClassifier(1, **QUICK), X, np.where(X[:, 0] > 1, 2.0, y)
    X, y = make_reg_case1(120, random_state=0)
    return LocalMixtureRegressor(points_of_interest=[[0.0]], **QUICK), X, y


EACH = pytest.mark.parametrize("kind", ["classifier", "of several classes", "regressor"])


def arrays_of(value: Any) -> Iterator[np.ndarray]:
    """All arrays in a record of records."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from arrays_of(one)
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from arrays_of(one)
    elif is_dataclass(value):
        yield from arrays_of({one.name: getattr(value, one.name) for one in fields(value)})


@EACH
def test_nothing_in_a_mixture_can_be_changed(kind: str) -> None:
    model, X, y = small(kind)
    mixture = model.fit(X, y).mixture_
    with pytest.raises(FrozenInstanceError):
        mixture.posterior = None
    for one in (mixture, pickle.loads(pickle.dumps(mixture)), copy.deepcopy(mixture)):
        arrays = list(arrays_of(one))
        assert len(arrays) > 14
        assert not any(array.flags.writeable for array in arrays)
    assert X.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        model.exterior_.coef[:] = 0.0
    with pytest.raises(AttributeError):
        model.posterior_ = mixture.posterior


@EACH
def test_attributes_are_views_of_the_mixture(kind: str) -> None:
    model, X, y = small(kind)
    for name in ("localities_", "posterior_", "objective_", "n_features_in_", "path_"):
        assert not hasattr(model, name)
    model.fit(X, y)
    assert [name for name in vars(model) if name.endswith("_")] == ["mixture_"]
    assert model.posterior_ is model.mixture_.posterior
    softer = replace(model.posterior_, intercept=model.posterior_.intercept + 1.0)
    other = copy.copy(model)
    other.mixture_ = replace(model.mixture_, posterior=softer)
    gap = other.exterior_.intercept - model.exterior_.intercept
    np.testing.assert_allclose(gap, model.mixture_.target.scale)
    assert other.mixture_.hash != model.mixture_.hash


@EACH
def test_the_hash_follows_the_numbers(kind: str) -> None:
    model, X, y = small(kind)
    mixture = model.fit(X, y).mixture_
    assert pickle.loads(pickle.dumps(mixture)).hash == mixture.hash
    assert model.fit(X, y).mixture_.hash == mixture.hash
    assert model.set_params(overlap="mean").mixture_.hash != mixture.hash
    assert model.set_params(overlap="nearest").mixture_.hash == mixture.hash
    units = replace(mixture.inputs.units, center=mixture.inputs.units.center + 1e-12)
    moved = replace(mixture, inputs=replace(mixture.inputs, units=units))
    assert moved.hash != mixture.hash


def test_a_changed_model_is_not_the_certified_one() -> None:
    model, X, y = small("classifier")
    model, certificate = certify(model, X, y, spend={"hold-out": 0.05})
    verify(model, certificate)
    verify(model.mixture_, certificate)
    with pytest.raises(CertificateError):
        verify(copy.copy(model).set_params(overlap="mean"), certificate)


def test_what_is_no_mixture() -> None:
    model, X, y = small("classifier")
    with pytest.raises(NotFittedError):
        mixture_of(model)
    with pytest.raises(TypeError, match="expected a fitted motlm estimator"):
        mixture_of(LogisticRegression().fit(X, y))
    with pytest.raises(TypeError, match="got a str"):
        mixture_of("model.json")
    assert isinstance(mixture_of(model.fit(X, y)), Mixture)


def test_prior_and_posterior_have_the_declared_fields() -> None:
    assert [*FIELDS, "layout"] == [one.name for one in fields(Posterior)]
    assert [one.name for one in fields(Prior)] == [*FIELDS, "learn_scales"]
    for scores in ((), (4,)):
        full = Prior().expand(2, 3, scores)
        for name in FIELDS:
            assert np.shape(getattr(full, name)) == shape_of(name, 2, 3, 3, scores)
    assert shape_of("coef", 2, 3, 3, (4,)) == (3, 4, 3)
    assert shape_of("intercept_scale", 2, 3, 3, (4,)) == (3,)


# -- a fit that fails --------------------------------------------------------------------------

POINTS_OF_FAILURE = [  # every step of the walk from the user's rows to the mixture
    "motlm.fitting.CheckedTable.of",
    "motlm.fitting.check_weights",
    "motlm.inputs.Columns.numeric",
    "motlm.inputs.check_finite",
    "motlm.checks.Settings.check",
    "motlm.checks.Settings.check_metric",
    "motlm.checks.Settings.temperatures",
    "motlm.checks.Settings.sizes",
    "motlm.fitting.moments",
    "motlm.fitting.distinct_rows",
    "motlm.problem.Units.of",
    "motlm.problem.Recipe.problem",
    "motlm.fitting._read_validation",
    "motlm.learning.Learning.learn",
    "motlm.learning.Learning._explore",
    "motlm.learning.choose",
    "motlm.folds.Folds.run",
    "motlm.search.Search.explore",
    "motlm.search.Search.polish",
    "motlm.learning.Learning._finish",
    "motlm.learning.Learning._drop_empty",
    "motlm.fitting._warn_of_end",
    "motlm.fitting.Fingerprint.of",
    "motlm.fitting.radii",
    "motlm.fitting.Provenance",
    "motlm.fitting.Mixture",
    "motlm.fitting.count_rows",
    "motlm.mixture.Mixture.views",
]


class Broken(Exception):
    """What no code expects."""


def broken(*_: Any, **__: Any) -> Any:
    raise Broken


def states(model: Any, X: np.ndarray) -> list[Any]:
    return [
        model.predict(X).tolist(),
        model.apply(X).tolist(),
        model.membership_proba(X).tolist(),
        model.n_features_in_,
        getattr(model, "classes_", np.empty(0)).tolist(),
        model.exterior_.formula(),
        model.mixture_.hash,
        getattr(model, "certificate_", None),
    ]


@EACH
@pytest.mark.parametrize("place", POINTS_OF_FAILURE)
def test_a_refit_that_fails_leaves_the_model_whole(
    place: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On other columns, with other labels: nothing of them is seen after a fit that fails."""
    model, X, y = small(kind)
    if kind != "regressor" and place.endswith("choose"):
        place += "_simplest"  # of likelihoods
    select = "cv" if "folds" in place else "held-out"
    model.set_params(inverse_temperature=[1.0, 4.0], select=select).fit(X, y)
    model.certificate_ = "of this model"
    before = states(model, X)
    other = pd.DataFrame({"rooms": X[:, 0], "price": X[:, 0] ** 2, "age": X[:, -1]})
    points = None if kind == "classifier" else [[0.0, 0.0, 0.0]]
    model.set_params(points_of_interest=points)
    with monkeypatch.context() as patch:
        patch.setattr(place, broken)
        with pytest.raises(Broken):
            model.fit(other, np.where(y > 0, "b", "a") if kind == "classifier" else y + 1)
        fresh = type(model)(**model.get_params())
        with pytest.raises(Broken):
            fresh.fit(other, y)
    assert states(model, X) == before
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(NotFittedError):
        fresh.predict(other)
    assert not [name for name in vars(fresh) if name.endswith("_")]


@EACH
@pytest.mark.parametrize(
    "bad",
    [
        {"X": [[1.0, 2.0], [np.inf, 1.0]], "y": [0, 1]},
        {"X": [[1.0, 2.0], [2.0, 1.0], [0.0, 0.0]], "y": [0, 1]},
        {"X": [["a", "b"]], "y": [0]},
        {"X": [[1.0, 2.0], [2.0, 1.0]], "y": None},
        {"X": [[1.0], [2.0]], "y": [0, 1], "sample_weight": [-1.0, 1.0]},
        {"X": [[1.0], [2.0]], "y": [0, 1], "X_val": [[1.0]]},
        {"X": [[1.0], [2.0]], "y": [np.nan, 1.0]},
    ],
    ids=["infinity", "lengths", "text", "no y", "weights", "validation", "target"],
)
def test_bad_rows_leave_the_model_whole(kind: str, bad: dict[str, Any]) -> None:
    model, X, y = small(kind)
    model.fit(X, y)
    before = states(model, X)
    model.set_params(points_of_interest=None, n_localities=1)
    with pytest.raises((ValueError, TypeError)):
        model.fit(**bad)
    assert states(model, X) == before


def test_looking_at_a_model_changes_nothing() -> None:
    model, X, y = small("classifier")
    before = joblib.hash(model.fit(X, y))
    size = len(pickle.dumps(model))
    _ = model.localities_, model.predict_proba(X), model.mixture_.loci
    assert joblib.hash(model) == before
    assert len(pickle.dumps(model)) == pytest.approx(size, rel=0.05)


@pytest.mark.filterwarnings("ignore")
def test_a_model_whose_points_were_all_dropped_is_saved(tmp_path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    settings = QUICK | {"points_of_interest": [[9.0, 9.0]], "corrections": "none"}
    model = LocalMixtureClassifier(**settings).fit(X, y)
    assert model.localities_ == []
    again = motlm.load(model.save(tmp_path / "model.json"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
