"""Rates in explanations, exports, files, reports and drawings; and that another target, or
localities in a few columns with widths of their own, are one class each, of which nothing else is
told.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from browser import in_browser, open_pages
from made import with_mixture
from scipy.special import gammaincinv
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score, mean_poisson_deviance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_agreement import LANGUAGES, Case, agree

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import certify, verify
from motlm.errors import ExportError
from motlm.estimators import ESTIMATORS
from motlm.explanations import counterfactual, explain_global, explain_local
from motlm.exports import to_onnx, to_python, to_sql
from motlm.geometry import GEOMETRIES, GivenCenters, LearnedBalls, Locus, Metric, radii
from motlm.losses import OffBy
from motlm.plotting import (
    CoefficientsDisplay,
    ContributionsDisplay,
    LocalitiesDisplay,
    RegressionDisplay,
)
from motlm.report import render
from motlm.routine import Answer
from motlm.targets import TARGETS, Continuous, Rate

mpl.use("Agg")

QUICK = {"local_models": "linear", "inverse_temperature": 4.0, "n_starts": 2, "random_state": 0}


# -- a target of this file alone ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Counts(Continuous):
    """Numbers coded as their logarithms: the answer is the exponential of a score, fitted by the
    squared loss.
    """

    kind: ClassVar[str] = "counts"
    score_name: ClassVar[str] = "D2"
    score_label: ClassVar[str] = "log count"
    scaled: ClassVar[bool] = False
    temperatures: ClassVar[tuple[float, ...]] = (1.0, 4.0)
    anchor: ClassVar[float] = 4.0

    def code(self, y, what: str = "y"):
        return np.log(super().code(y, what) + 0.5)

    def counts(self, codes):
        return np.rint(np.exp(codes) - 0.5)

    def tolerate(self, answers, codes, weight) -> Counts:
        return super().tolerate(answers, self.counts(codes), weight)

    def usual(self, mean_code):
        return float(np.exp(mean_code))

    def answer(self, scores):
        return np.exp(scores)

    def answers(self, scores):
        return np.sort(np.exp(scores))

    def apart(self, first, second):
        return np.abs(np.exp(first) - np.exp(second)) > self.tolerance

    def level(self, answer) -> float:
        return float(np.log(answer))

    def shade(self, scores):
        return np.exp(scores)

    def describe(self) -> Answer:
        return replace(super().describe(), link="log")

    def judge(self, scores, rows) -> float:
        return float(d2_tweedie_score(self.counts(rows.target), np.exp(scores), power=1))

    def losses(self, scores, rows):
        pairs = zip(self.counts(rows.target), np.exp(scores), strict=True)
        return np.array([mean_poisson_deviance([y], [rate]) for y, rate in pairs])

    def error(self, tolerance):
        return OffBy(tolerance)  # of the logarithms

    def simple_model(self):
        return make_pipeline(StandardScaler(), PoissonRegressor(alpha=1e-6))


class CountsRegressor(LocalMixtureRegressor):
    _targets = (Counts,)

    def _learn_target(self, y, settings):
        return Counts.learn(y)


# -- localities in a few columns -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FewColumns(LearnedBalls):
    """Learned balls in some of the columns, each with a width of its own: sum_j (gap_j / width_j)^2
    is at most the squared radius.
    """

    columns: tuple[int, ...] = (0, 1)  # encoded
    width: tuple[float, ...] = (1.0, 0.5)  # standardized
    among: tuple[int, ...] = (0, 1)  # the same columns, counted among those that vary

    kind: ClassVar[str] = "few columns"

    def fit(self, inputs, encoded, weight) -> FewColumns:
        varying = np.flatnonzero(inputs.varies)
        return replace(self, among=tuple(np.searchsorted(varying, self.columns).tolist()))

    def expand(self, prior, n_localities, inputs, scores=()):
        full = super().expand(prior, n_localities, inputs, scores)
        return replace(full, center=np.asarray(full.center)[:, list(self.among)])

    def rows(self, Z, features):
        return Z[:, list(self.columns)] / np.array(self.width), None

    def move(self, posterior, stretch, shift, mean_stretch):
        part = list(self.among)
        return super().move(posterior, stretch[part], shift[part] / self.width, mean_stretch)

    def centers(self, inputs, posterior):
        part, units = list(self.columns), inputs.units
        centers = np.tile(inputs.typical, (posterior.n_localities, 1))
        standardized = posterior.center * self.width
        centers[:, part] = standardized / units.inverse_scale[part] + units.center[part]
        return centers

    def _widths(self, inputs):
        part = list(self.columns)
        return np.array(self.width) / inputs.units.inverse_scale[part]

    def center_scales(self, inputs, posterior):
        scales = np.zeros((posterior.n_localities, len(inputs.varies)))
        scales[:, list(self.columns)] = np.multiply.outer(
            posterior.center_scale, self._widths(inputs)
        )
        return scales

    def half_widths(self, inputs, posterior):
        halves = np.full((posterior.n_localities, len(inputs.varies)), np.inf)
        halves[:, list(self.columns)] = np.multiply.outer(self.radius, self._widths(inputs))
        return list(halves)

    def loci(self, inputs, posterior):
        return tuple(
            Locus(
                "euclidean",
                np.array(self.columns),
                center * self.width,
                float(radius),
                np.array(self.width) ** -2.0,
            )
            for center, radius in zip(posterior.center, self.radius, strict=True)
        )

    def describe(self, inputs, posterior):
        names = " and ".join(inputs.names[j] for j in self.columns)
        return tuple(f"within {radius:.3g} widths in {names}" for radius in self.radius)

    def freeze(self, inputs, posterior):
        """By a metric that weighs the columns: the others have an infinite variance."""
        n, part = posterior.n_localities, list(self.columns)
        points, variance = np.zeros((n, len(inputs.varies))), np.full(len(inputs.varies), np.inf)
        points[:, part], variance[part] = posterior.center * self.width, np.square(self.width)
        metric = Metric("seuclidean", {"V": variance})
        fixed = GivenCenters(self.centers(inputs, posterior), metric, points, self.radius)
        rate = gammaincinv(posterior.radius_shape, 0.5) / self.radius
        return fixed, replace(posterior, center_scale=np.zeros(n), radius_rate=rate)

    def content(self):
        return super().content() | {
            "columns": list(self.columns),
            "width": np.array(self.width),
            "among": list(self.among),
        }

    @classmethod
    def read(cls, read, inputs, n_localities) -> FewColumns:
        radius = read.array("radius", (n_localities,))
        columns, among = (tuple(read.sequence(name)) for name in ("columns", "among"))
        width = tuple(read.array("width", (len(columns),)).tolist())
        return cls(radius, columns, width, among)


class FewColumnsMixin:
    def _geometries(self, points, settings, columns, target):
        return [FewColumns()]


class FewColumnsRegressor(FewColumnsMixin, LocalMixtureRegressor):
    pass


class FewColumnsClassifier(FewColumnsMixin, LocalMixtureClassifier):
    pass


class FewColumnsCounts(FewColumnsMixin, CountsRegressor):
    pass


# -- models --------------------------------------------------------------------------------------


def make_rows(kind: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Another model holds in an ellipse of age and km; one column is constant."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.uniform(20, 60, 400),
            "km": rng.uniform(0, 30, 400),
            "size": rng.normal(size=400),
            "same": 2.0,
        }
    )
    inside = ((X["age"] - 32) / 9) ** 2 + ((X["km"] - 12) / 8) ** 2 < 1
    score = np.where(inside, 1.6 + 0.9 * X["size"], 0.4 - 0.7 * X["size"])
    if kind in ("rate", "counts"):
        return X, rng.poisson(np.exp(score)).astype(float)
    if kind == "label":
        return X, np.where(score > 0.8, "yes", "no")
    return X, score + 0.1 * rng.normal(size=400)


MODELS: dict[str, tuple[Callable[[], Any], str]] = {
    "rate": (lambda: LocalMixtureRegressor(2, loss="poisson", **QUICK), "rate"),
    "rate, mean": (
        lambda: LocalMixtureRegressor(2, loss="tweedie", overlap="mean", **QUICK),
        "rate",
    ),
    "few columns": (lambda: FewColumnsRegressor(2, **QUICK), "number"),
    "few columns, labels": (lambda: FewColumnsClassifier(2, loss="zero-one", **QUICK), "label"),
    "rate in few columns": (lambda: FewColumnsRegressor(2, loss="poisson", **QUICK), "rate"),
    "counts": (lambda: CountsRegressor(2, **QUICK), "counts"),
    "counts in few columns": (lambda: FewColumnsCounts(2, **QUICK), "counts"),
}
RATES = [name for name, (_, kind) in MODELS.items() if kind in ("rate", "counts")]
FEW = [name for name in MODELS if "few" in name]


@cache
def fitted(name: str) -> tuple[Any, pd.DataFrame, np.ndarray]:
    make, kind = MODELS[name]
    X, y = make_rows(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a constant column
        return make().fit(X, y), X, y


@cache
def model_of(name: str) -> tuple[Any, pd.DataFrame, np.ndarray]:
    """A fitted model; of rates with larger balls, so that local models contradict each other."""
    model, X, y = fitted(name)
    if name not in RATES:
        return model, X, y
    mixture = model.mixture_
    target = mixture.target
    if isinstance(target, Counts):
        target = replace(target, residual_scale=0.1)
    posterior = replace(mixture.posterior, radius_rate=mixture.posterior.radius_rate / 2.5)
    wider = replace(mixture.geometry, radius=radii(mixture.geometry, posterior))
    return with_mixture(model, target=target, posterior=posterior, geometry=wider), X, y


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GEOMETRIES, FewColumns.kind, FewColumns)
    monkeypatch.setitem(TARGETS, Counts.kind, Counts)
    for one in (CountsRegressor, FewColumnsRegressor, FewColumnsClassifier, FewColumnsCounts):
        monkeypatch.setitem(ESTIMATORS, one.__name__, one)


def data_of(page: Path) -> dict[str, Any]:
    """What a page shows and computes with."""
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


# -- fits and files --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_they_are_fitted_and_read_from_files(name: str, registered: None, tmp_path: Path) -> None:
    model, X, y = fitted(name)
    whole = explain_global(model, X, y)
    better = whole.score > whole.linear_score
    assert better == (whole.score_name == "accuracy")  # else it is an error
    model, _, _ = model_of(name)
    assert (view_of(model, X).member.sum(axis=0) > 1).any() or name not in RATES
    again = motlm.load(model.save(tmp_path / "model.json"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.mixture_.hash == model.mixture_.hash
    assert type(again.mixture_.target) is type(model.mixture_.target)


def view_of(model: Any, X: Any) -> Any:
    return model.mixture_.view(model.mixture_.encode(X))


@pytest.mark.parametrize("name", FEW)
def test_localities_do_not_look_at_other_columns(name: str) -> None:
    model, X, _ = model_of(name)
    for k, one in enumerate(model.localities_):
        assert np.isinf(one.half_width[2:]).all()
        gap = (X[["age", "km"]] - one.center[:2]) / one.half_width[:2]
        np.testing.assert_array_equal(model.membership(X)[:, k], (gap**2).sum(axis=1) <= 1)


@pytest.mark.parametrize("name", ["counts", "few columns", "few columns, labels"])
def test_they_can_be_certified(name: str) -> None:
    """With the loss of `Counts.error` and the centers of `FewColumns.freeze`."""
    make, kind = MODELS[name]
    X, y = make_rows(kind)
    X = X.drop(columns="same")
    certified = certify(make().set_params(n_localities=1), X, y)
    verify(certified.model, certified.certificate)
    assert len(list(certified.certificate)) > 3


# -- explanations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up_to_the_score(name: str) -> None:
    model, X, _ = model_of(name)
    explanation = explain_local(model, X[:50], X_train=X)
    target = model.mixture_.target
    np.testing.assert_allclose(
        explanation.base + explanation.contributions.sum(axis=1), explanation.score
    )
    np.testing.assert_array_equal(explanation.prediction, target.answer(explanation.score))
    np.testing.assert_array_equal(explanation.prediction, model.predict(X[:50]))
    np.testing.assert_array_equal(explanation.contradicted, model.ambiguous(X[:50]))
    assert explanation.contradicted.any() or name not in RATES
    for row in explanation:
        for one in row.models:
            assert one["answer"] == target.answer(np.array([one["score"]]))[0]
        assert row.score_label == target.score_label


@pytest.mark.parametrize("name", RATES)
def test_explanations_of_rates_in_words(name: str) -> None:
    """As factors, whose product with the base is the rate."""
    model, X, _ = model_of(name)
    rows = explain_local(model, X[:50])
    row = next(one for one in rows if "several localities" not in str(one))
    text = str(row)
    assert f"row {row.row}: {row.prediction:.4g}, decided by" in text
    assert f"gives {row.prediction:.4g}\n" in text or row.contradicted
    assert f"    {np.exp(row.base):.4g} at " in text
    assert f"    x {row.factors['size']:.4g} for size = " in text
    assert text.endswith(f"    = {row.prediction:.4g}")
    assert np.exp(row.base) * math.prod(row.factors.values()) == pytest.approx(row.prediction)
    assert "<p>Prediction " in row._repr_html_()


@pytest.mark.parametrize("name", RATES)
def test_changes_reach_the_rate_that_is_wanted(name: str) -> None:
    model, X, _ = model_of(name)
    found = 0
    for i in range(30):
        row, now = X.iloc[[i]], float(model.predict(X.iloc[[i]])[0])
        change = counterfactual(model, row, target=1.2 * now)
        assert change.prediction_before == now == pytest.approx(np.exp(change.score_before))
        assert change.wanted == 1.2 * now
        if change.found:
            found += 1
            assert change.prediction_after == pytest.approx(1.2 * now, rel=1e-4)
            assert change.prediction_after >= 1.2 * now * (1 - 1e-8)
            assert change.score_after == pytest.approx(np.log(1.2 * now), abs=1e-4)
            assert model.predict(pd.DataFrame([change.after])) == change.prediction_after
    assert found > 5


class Logarithm(Rate):
    """As someone else might write it: an impossible answer is an error."""

    def level(self, answer) -> float:
        return math.log(answer)


@pytest.mark.parametrize("wanted", [0.0, -1.0, -1e300])
@pytest.mark.parametrize("kind", [Rate, Logarithm])
def test_an_impossible_rate_is_a_reason(kind: type[Rate], wanted: float) -> None:
    model, X, _ = model_of("rate")
    target = model.mixture_.target
    other = kind(target.center, target.loss_name, target.power)
    change = counterfactual(replace(model.mixture_, target=other), X.iloc[[0]], target=wanted)
    assert not change.found
    assert change.exact
    assert change.reason == f"no score gives the answer {wanted:.8g}"
    assert change.prediction_before == model.predict(X[:1])[0]
    already = counterfactual(model, X.iloc[[0]], target=change.prediction_before)
    assert already.reason == "the model gives that answer already"


@pytest.mark.parametrize("name", FEW[:2])
def test_changes_stay_in_localities_of_few_columns(name: str) -> None:
    model, X, _ = model_of(name)
    regions = set()
    for i in range(60):
        row = X.iloc[[i]]
        target = None if "labels" in name else float(model.predict(row)[0]) + 0.05
        change = counterfactual(model, row, target=target)
        if change.found:
            regions.add(change.region)
            after = pd.DataFrame([change.after])
            assert model.apply(after) == model.apply(row)
            assert model.predict(after)[0] == change.prediction_after
    assert regions == {"locality 0", "locality 1", "exterior"}


# -- exports ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", MODELS)
def test_exports_answer_as_predict_does(name: str, language: str) -> None:
    model, X, y = model_of(name)
    case = Case(model, X, y, X[:200], {})
    agree(LANGUAGES[language](case), case)


def test_a_rate_beyond_all_numbers_is_infinite() -> None:
    model, X, y = model_of("rate")
    row = X[:1].assign(size=X["size"][:1] + 1e5 * np.sign(model.exterior_.coef[2]))
    with np.errstate(over="ignore"):
        assert np.isinf(model.predict(row)[0])
        case = Case(model, X, y, row, {})
        for language in LANGUAGES.values():
            assert language(case) == [np.inf]


class Logit(Rate):
    def describe(self) -> Answer:
        return replace(super().describe(), link="logit")


def test_a_link_that_nothing_can_write(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    model, X, y = model_of("rate")
    odd = replace(model.mixture_, target=Logit())
    for export in (to_python, to_sql, to_onnx):
        with pytest.raises(ExportError, match="answers with the link 'logit' cannot be exported"):
            export(odd)
    assert not data_of(render(odd, X, y, tmp_path / "report.html"))["link_known"]


# -- reports ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_what_a_report_shows(name: str, tmp_path: Path) -> None:
    model, X, y = model_of(name)
    page = render(model, X, y, tmp_path / "report.html", include_rows=True)
    text, data, mixture = page.read_text(encoding="utf-8"), data_of(page), model.mixture_
    visible = text[text.index("<main>") : text.index('id="data"')]
    words = mixture.geometry.describe(mixture.inputs, mixture.posterior)
    assert [region["where"] for region in data["regions"]] == [*words, ""]
    for one, region in zip(words, data["regions"], strict=False):  # with strips it stands alone
        alone = f'<p class="where">{one}</p>' if region["strips"] else f", {one}; its model is used"
        assert alone in visible
    label = "prediction" if name in RATES else mixture.target.score_label
    assert visible.count(f"<span>{label} = ") == 3
    assert visible.count("A positive score means") == (3 if "labels" in name else 0)
    assert visible.count("The prediction is multiplied by the factor") == 3 * (name in RATES)
    shown = {row[0]: row[2] for row in data["rows"]["rows"]}
    assert list(shown.values()) == model.predict(X.iloc[list(shown)]).tolist()


@in_browser
def test_the_page_computes_what_python_does(tmp_path: Path) -> None:
    """Answers, scores, contributions, contradictions, and changes."""
    scripts, asked = [], [*RATES, "few columns"]
    for k, name in enumerate(asked):
        model, X, y = model_of(name)
        page = render(model, X, y, tmp_path / f"report-{k}.html")
        rows = X[:60].to_dict("records")
        held = "new Set(['same'])"
        script = f"""return {json.dumps(rows)}.map((row) => {{
          const now = motlm.evaluate(row), wanted = now.prediction + .1;
          const ask = (answer) => motlm.counterfactual(row, {held}, answer);
          return {{ ...now, change: ask(wanted), same: ask(now.prediction), odd: ask(-1) }};
        }});"""
        scripts.append((page, script))
    for name, (page, _), found in zip(asked, scripts, open_pages(scripts, tmp_path), strict=True):
        model, X, _ = model_of(name)
        compare(model, X[:60], found, data_of(page)["features"], name in RATES)


def compare(model: Any, X: pd.DataFrame, found: Any, features: Any, is_rate: bool) -> None:
    """What a page computes for rows with what Python does."""
    changed, near = 0, {"rel": 1e-9, "abs": 1e-9}
    for i, (row, one) in enumerate(zip(explain_local(model, X), found, strict=True)):
        assert one["prediction"] == pytest.approx(row.prediction, **near)
        assert one["score"] == pytest.approx(row.score, **near)
        assert one["base"] == pytest.approx(row.base, **near)
        assert one["contributions"] == pytest.approx(row.contributions, **near)
        assert one["contradicted"] == row.contradicted
        if row.model_used < 0:
            continue
        assert one["same"]["reason"] == "the model gives that answer already"
        assert not is_rate or one["odd"]["reason"] == "no score gives the answer -1"
        limits = {
            each["name"]: (
                min(each["low"], X.iloc[i][each["name"]]),
                max(each["high"], X.iloc[i][each["name"]]),
            )
            for each in features
        }
        wanted = row.prediction + 0.1
        python = counterfactual(
            model, X.iloc[[i]], target=wanted, bounds=limits, immutable=["same"]
        )
        proved = one["change"]["found"] and one["change"]["smallest"]
        assert proved == (python.found and python.exact)
        if proved:
            changed += 1
            assert one["change"]["prediction"] == pytest.approx(wanted, rel=1e-4, abs=1e-5)
            assert one["change"]["after"] == pytest.approx(python.after, rel=2e-5, abs=1e-5)
    assert changed > 5


def round_to(value: float) -> str:
    """As the page shows numbers."""
    return f"{float(f'{value:.4g}'):g}"


@in_browser
def test_what_a_person_reads_of_a_rate(tmp_path: Path) -> None:
    model, X, y = model_of("rate in few columns")
    pages = [
        render(one, X, y, tmp_path / f"report-{k}.html")
        for k, one in enumerate((model, replace(model.mixture_, target=Logit())))
    ]
    script = """
      const at = (id) => document.getElementById(id), text = at("answer").textContent;
      const wanted = at("wanted");
      wanted.value = "-1"; wanted.dispatchEvent(new Event("input"));
      return { text, odd: at("answer").textContent, result: at("result").textContent };
    """
    rate, unknown = open_pages([(page, script) for page in pages], tmp_path)
    usual = {one["name"]: one["usual"] for one in data_of(pages[0])["features"]}
    answer = float(model.predict(pd.DataFrame([usual]))[0])
    assert rate["result"].startswith(f"{round_to(answer)}, decided by")
    row = explain_local(model, pd.DataFrame([usual]))[0]
    shown = f"Prediction {round_to(np.exp(row.base))} at {row.reference}; what each feature"
    assert (
        f"{shown} multiplies it by, to {round_to(answer)}:featurevaluereferencefactor"
        in rate["text"]
    )
    there = row.reference_values["size"]
    numbers = [usual["size"], there, row.factors["size"]]
    assert f"size{''.join(map(round_to, numbers))}" in rate["text"]
    assert "no score gives the answer -1." in rate["odd"]
    assert "NaN" not in rate["odd"]
    assert "The answers of this model are computed by a function that the page" in unknown["text"]


def plane(X: pd.DataFrame, y: Any) -> Any:
    """A rate of two columns."""
    return LocalMixtureRegressor(1, loss="poisson", **QUICK).fit(X[["age", "size"]], y)


def test_the_map_of_a_report_shows_answers(tmp_path: Path) -> None:
    X, y = make_rows("rate")
    model = plane(X, y)
    shown = data_of(render(model, X[["age", "size"]], y, tmp_path / "report.html"))["map"]
    grid = [[a, b] for b in shown["y"] for a in shown["x"]]
    answers = model.predict(pd.DataFrame(grid, columns=["age", "size"]))
    np.testing.assert_allclose(np.ravel(shown["z"]), answers, rtol=1e-4)  # as a picture shows them


# -- drawings --------------------------------------------------------------------------------------


def test_drawings_show_answers() -> None:
    X, y = make_rows("rate")
    model = plane(X, y)
    display = LocalitiesDisplay.from_estimator(model, X[["age", "size"]], y, grid_resolution=20)
    grid = pd.DataFrame({"age": display.xx0.ravel(), "size": display.xx1.ravel()})
    np.testing.assert_allclose(display.response.ravel(), model.predict(grid))
    assert len(display.circles) == 1
    plt.close(display.figure_)

    line = LocalMixtureRegressor(1, loss="poisson", **QUICK).fit(X[["size"]], y)
    drawn = RegressionDisplay.from_estimator(line, X[["size"]], y, grid_resolution=50)
    answers = line.predict(pd.DataFrame({"size": drawn.grid}))
    np.testing.assert_allclose(drawn.prediction, answers)
    reach = 2 * line.mixture_.target.tolerance
    np.testing.assert_allclose(drawn.interval, answers[:, None] + [[-reach, reach]])
    plt.close(drawn.figure_)


@pytest.mark.parametrize("name", MODELS)
def test_drawings_of_each_kind(name: str) -> None:
    model, X, y = model_of(name)
    mixture = model.mixture_
    display = LocalitiesDisplay.from_estimator(
        model, X, y, features=("age", "size"), at=0, grid_resolution=20
    )
    _, center, width = display.circles[0]
    assert center == pytest.approx(model.localities_[0].center[[0, 2]])
    if name in FEW:  # endless along a column that it does not look at
        assert width[0] == pytest.approx(model.localities_[0].half_width[0])
        assert width[1] > 100 * np.ptp(X["size"])
        with pytest.raises(ValueError, match="a projection draws balls"):
            LocalitiesDisplay.from_estimator(model, X, y, kind="projection")
    plt.close(display.figure_)
    bars = ContributionsDisplay.from_estimator(model, X[:1])
    assert bars.ax_.get_xlabel() == mixture.target.score_label
    plt.close(bars.figure_)
    plt.close(CoefficientsDisplay.from_estimator(model).figure_)
