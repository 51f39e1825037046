"""Missing values, from fit to explanations and files."""

from __future__ import annotations

import json
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import in_browser, open_pages
from click.testing import CliRunner

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor, plotting
from motlm.bends import find_bends
from motlm.certificates import (
    audit,
    audit_in_sample,
    certify,
    certify_in_sample,
    certify_rates,
)
from motlm.cli._commands import motlm as command
from motlm.errors import (
    CertificateError,
    InputError,
    MissingValueWarning,
    MotlmWarning,
    TrainingRowsError,
    UnknownCategoryWarning,
)
from motlm.explanations import counterfactual, explain_global, explain_local, importance
from motlm.inputs import Columns
from motlm.missing import FAR, find_medians
from motlm.objective import Objective
from motlm.report import render

QUICK: dict[str, Any] = {
    "local_models": "linear",
    "select": "held-out",
    "inverse_temperature": 8.0,
    "n_starts": 1,
    "random_state": 0,
}


def holes(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, targets and which rows lack the first column; that a value is missing matters."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(18, 80, n), rng.uniform(40, 200, n), rng.normal(size=n)])
    lost = rng.random(n) < 0.2
    y = np.where(X[:, 0] < 35, 0.05 * X[:, 1], 3 + 0.01 * X[:, 1]) + 0.3 * X[:, 2] + 3.0 * lost
    X[lost, 0] = np.nan
    return X, y + 0.1 * rng.normal(size=n), lost


@pytest.fixture(scope="module")
def local() -> LocalMixtureRegressor:
    X, y, _ = holes()
    return LocalMixtureRegressor(1, locality_columns=["x0"], **QUICK).fit(X, y)


def test_one_linear_model_is_that_of_medians_and_indicators() -> None:
    X, y, lost = holes()
    made = np.column_stack([np.where(lost, np.nanmedian(X[:, 0]), X[:, 0]), lost, X[:, 1:]])
    model = LocalMixtureRegressor(0, **QUICK).fit(X, y)
    units = motlm.Units.of_rows(made, y)
    units.inverse_scale[1] = 2.0  # as of any column of 0 and 1 that is made
    other = LocalMixtureRegressor(0, standardize=units, **QUICK).fit(made, y)
    assert model.exterior_.feature_names == ("x0", "x0 is missing", "x1", "x2")
    assert model.exterior_.coef == pytest.approx(other.exterior_.coef, rel=1e-9)
    assert model.predict(X) == pytest.approx(other.predict(made), rel=1e-9)
    assert model.exterior_.coef[1] == pytest.approx(3.0, abs=1.0)
    assert " * (x0 is missing) + " in model.exterior_.formula()


def test_median_is_that_of_repeated_rows() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 6):
        x, weight = rng.normal(size=(n + 1, 1)), rng.integers(1, 4, size=n + 1)
        x[-1] = np.nan
        [found] = find_medians(x, weight.astype(float), [0], np.zeros(1))
        assert found == pytest.approx(np.nanmedian(np.repeat(x[:, 0], weight)))
    assert find_medians(np.full((3, 1), np.nan), np.ones(3), [0], np.ones(1)) == 0.0
    assert find_medians(x, np.ones(len(x)), [], np.ones(1)) is None


def test_integer_weight_is_a_repeated_row() -> None:
    X, y, _ = holes(120)
    weight = np.random.default_rng(1).integers(1, 3, size=len(y))
    one = LocalMixtureRegressor(1, **QUICK).fit(X, y, sample_weight=weight)
    other = LocalMixtureRegressor(1, **QUICK).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert one.mixture_.inputs.fill[0] == other.mixture_.inputs.fill[0]
    assert one.predict(X) == pytest.approx(other.predict(X), rel=1e-6)


def test_row_is_outside_localities_that_look_at_a_missing_value(
    local: LocalMixtureRegressor,
) -> None:
    X, _, lost = holes()
    assert local.membership(X)[~lost].any()
    assert not local.membership(X)[lost].any()
    assert (local.membership_proba(X)[lost] == 0.0).all()
    assert (local.apply(X)[lost] == 1).all()
    # of another column it does not matter
    with pytest.warns(MissingValueWarning, match="'x1' of X has 1 missing value"):
        assert local.apply([[20.0, np.nan, 0.0]]) == local.apply([[20.0, 100.0, 0.0]])


def test_rows_without_a_value_have_no_pull_on_localities(local: LocalMixtureRegressor) -> None:
    """Whatever their targets are, the engine's partials in center, radius and widths are the same
    to the last bit.
    """
    X, y, lost = holes()
    mixture, partials = local.mixture_, []
    prior = mixture.geometry.expand(
        mixture.provenance.prior, 1, mixture.inputs, mixture.target.loss.scores
    )
    for shift in (0.0, 1e3):
        data = mixture.rows(mixture.encode(X), mixture.target.code(y + shift * lost))
        assert (data.coordinates[lost, 0] == FAR).all()
        assert np.isfinite(data.features).all()
        objective = Objective(mixture.target.loss, mixture.geometry, prior, data, 1.0)
        partials.append(objective.value_and_gradient(mixture.posterior)[1])
    one, other = partials
    for name in ("center", "center_scale", "radius_shape", "radius_rate", "column_weight"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
        assert np.isfinite(getattr(one, name)).all()
    assert not np.array_equal(one.intercept, other.intercept)


def test_value_missing_only_when_predicting_is_the_average(local: LocalMixtureRegressor) -> None:
    X, _, _ = holes()
    row = np.array([[60.0, np.nan, 0.0]])
    filled = np.array([[60.0, X[:, 1].mean(), 0.0]])
    with pytest.warns(MissingValueWarning, match="taken as the training average"):
        answer = local.predict(row)
    assert answer == pytest.approx(local.predict(filled))
    local.set_params(handle_unknown="ignore")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert local.predict(row) == answer
    local.set_params(handle_unknown="error")
    with pytest.raises(InputError, match="had none in fit"):
        local.predict(row)
    local.set_params(handle_unknown="warn", missing="error")
    with pytest.raises(InputError, match="missing='error' refuses missing values"):
        local.predict(X)
    local.set_params(missing="auto")


def test_none_na_and_nan_are_the_same(local: LocalMixtureRegressor) -> None:
    X, y, _ = holes()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    expected = LocalMixtureRegressor(0, **QUICK).fit(frame, y).predict(frame)
    nullable = frame.astype({"a": "Float64"})
    objects = frame.astype(object).where(frame.notna(), None)
    marked = frame.astype(object).where(frame.notna(), pd.NA)
    for table in (nullable, objects, marked):
        assert np.array_equal(
            LocalMixtureRegressor(0, **QUICK).fit(table, y).predict(table), expected
        )
    array = np.where(np.isnan(X), None, X)
    assert np.array_equal(local.predict(array), local.predict(X))
    assert np.array_equal(local.predict(array.tolist()), local.predict(X))
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({k: objects[k].tolist() for k in objects})
    assert np.array_equal(LocalMixtureRegressor(0, **QUICK).fit(table, y).predict(table), expected)


def test_missing_category_is_a_level() -> None:
    X, y, lost = holes()
    frame = pd.DataFrame(
        {"region": np.where(lost, None, np.where(X[:, 2] > 0, "n", "s")), "b": X[:, 1]}
    )
    model = LocalMixtureRegressor(0, **QUICK).fit(frame, y)
    assert model.exterior_.feature_names == ("region=s", "region is missing", "b")
    for value in (None, np.nan, pd.NA):
        row = pd.DataFrame({"region": pd.Series([value], dtype=object), "b": [100.0]})
        assert model.predict(row) == model.predict(frame[lost].iloc[:1].assign(b=100.0))
    whole = LocalMixtureRegressor(0, **QUICK).fit(frame[~lost], y[~lost])
    with pytest.warns(UnknownCategoryWarning, match="'missing'"):
        whole.predict(frame[lost].iloc[:1])


def test_constant_and_empty_columns_are_ignored() -> None:
    X, y, lost = holes()
    X = np.column_stack([X, np.full(len(X), np.nan), np.where(lost, np.nan, 7.0)])
    with pytest.warns(MotlmWarning, match="constant in all training rows: 'x3', 'x3 is missing'"):
        model = LocalMixtureRegressor(1, **QUICK).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert not model.mixture_.inputs.varies[[4, 5, 6]].any()
    assert model.mixture_.inputs.varies[7]  # whether the last is missing


def test_localities_in_all_columns_look_at_those_that_nine_rows_in_ten_have() -> None:
    X, y, _ = holes()
    X[::20, 2] = np.nan
    asked = {"locality_features": "all", **QUICK}
    with pytest.warns(MotlmWarning, match="localities do not look at 'x0'"):
        model = LocalMixtureRegressor(1, **asked).fit(X, y)
    assert set(model.mixture_.loci[0].columns) == {2, 3}
    # named, they are looked at
    named = LocalMixtureRegressor(1, locality_columns=["x0", "x1"], **asked).fit(X, y)
    assert set(named.mixture_.loci[0].columns) == {0, 2}
    X[:120, 0], X[120:, 1] = np.nan, np.nan
    with pytest.raises(InputError, match="no training row has a value in all of the columns"):
        LocalMixtureRegressor(1, locality_columns=["x0", "x1"], **asked).fit(X, y)


@pytest.mark.parametrize(
    "settings",
    [
        {"points_of_interest": [[25.0, 100.0, 0.0]]},
        {"points_of_interest": [[25.0, 100.0, 0.0]], "locality_features": "ball"},
        {"points_of_interest": [[25.0, 100.0, 0.0]], "locality_columns": ["x0"]},
        {"points_of_interest": [[25.0, 100.0, 0.0]], "metric": "manhattan"},
        {"points_of_interest": [[25.0, 100.0, 0.0]], "metric": "mahalanobis"},
        {"points_of_interest": [[25.0, 100.0, 0.0]], "metric": "gower"},
        {"n_localities": 1, "centers": "rows"},
        {"n_localities": 1, "centers": "rows", "metric": "gower"},
        {"n_localities": 1, "locality_features": "ball", "corrections": "none"},
        {"n_localities": 2, "locality_features": 2},
        {"n_localities": 1, "standardize": False},
    ],
    ids=str,
)
def test_every_geometry(settings: dict[str, Any], tmp_path: Path) -> None:
    X, y, lost = holes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LocalMixtureRegressor(**{**QUICK, **settings}).fit(X, y)
    member = model.membership(X)
    for i, locus in enumerate(model.mixture_.loci):
        assert not (set(locus.columns) & {1})  # whether a value is missing
        if 0 in locus.columns:
            assert not member[lost, i].any()
    assert np.isfinite(model.predict(X)).all()
    again = motlm.load(model.save(tmp_path / "m.json"))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.mixture_.hash == model.mixture_.hash
    explanation = explain_local(model, X[lost][:3])
    total = explanation.base + explanation.contributions.sum(axis=1)
    assert total == pytest.approx(explanation.score)


def test_points_of_interest_need_all_values() -> None:
    X, y, _ = holes()
    point = [[np.nan, 100.0, 0.0]]
    with pytest.raises(InputError, match="Give each point of interest a value in every column"):
        LocalMixtureRegressor(points_of_interest=point, **QUICK).fit(X, y)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=np.where(X[:, 2] > 0, "n", None))
    point = pd.DataFrame({"a": [30.0], "b": [100.0], "c": [0.0], "d": [None]})
    with pytest.raises(InputError, match="points_of_interest contains NaN: column 'd', row 0"):
        LocalMixtureRegressor(points_of_interest=point, **QUICK).fit(frame, y)


def test_curves_take_their_knots_from_values() -> None:
    X, y, lost = holes()
    model = LocalMixtureRegressor(0, **{**QUICK, "local_models": "additive"}).fit(X, y)
    [bend] = [one for one in model.mixture_.inputs.bends.each if one.column == 0]
    whole = find_bends(X[~lost], np.ones(int((~lost).sum())), np.array([True, False, False]))
    assert np.array_equal(bend.knots, whole.each[0].knots)
    filled = X.copy()
    filled[lost, 0] = np.nanmedian(X[:, 0])
    step = model.exterior_.coef[1]
    assert model.predict(X)[lost] == pytest.approx(model.predict(filled)[lost] + step)


def test_indicator_is_free_of_monotone_constraints() -> None:
    X, y, _ = holes()
    model = LocalMixtureRegressor(0, monotonic_cst={"x0": -1}, **QUICK).fit(X, y)
    assert model.exterior_.coef[0] <= 0.0 < model.exterior_.coef[1]


def test_folds_take_their_medians_from_their_own_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    from motlm import problem

    seen = []

    def spy(X: Any, *rest: Any) -> Any:
        found = find_medians(X, *rest)
        seen.append((len(X), float(np.nanmedian(X[:, 0])), float(found[0])))
        return found

    monkeypatch.setattr(problem, "find_medians", spy)
    X, y, _ = holes(320)
    settings = {**QUICK, "select": "cv", "inverse_temperature": "auto"}
    LocalMixtureRegressor(0, **settings).fit(X, y)
    assert {n for n, _, _ in seen} == {320, 256}
    assert all(expected == found for _, expected, found in seen)
    assert len({found for _, _, found in seen}) > 2


def test_explanations_say_what_is_missing(local: LocalMixtureRegressor) -> None:
    X, y, lost = holes()
    row = explain_local(local, X[lost][:1])[0]
    assert row.missing == {"x0": pytest.approx(np.nanmedian(X[:, 0]))}
    assert row.reason == "no locality contains the row; locality 0 looks at x0, which is missing"
    assert "x0 is missing, " in str(row)
    assert " stands in" in str(row)
    assert row.models[0]["distance"] is None
    json.dumps(row.to_dict(), allow_nan=False)
    assert "nan" not in row._repr_html_()
    assert explain_local(local, X[~lost][:1])[0].missing == {}
    table = explain_global(local, X, y).missing
    assert table == (
        {
            "column": "x0",
            "missing": int(lost.sum()),
            "share": pytest.approx(lost.mean()),
            "share in training": pytest.approx(lost.mean()),
            "stands in": pytest.approx(np.nanmedian(X[:, 0])),
        },
    )
    found = importance(local, X)
    assert found.feature_names == ("x0", "x1", "x2")


def test_counterfactual_leaves_a_missing_value_missing() -> None:
    X, y, lost = holes()
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y > np.median(y))
    change = counterfactual(model, X[lost][0])
    assert change.found
    assert np.isnan(change.after["x0"])
    assert model.predict([list(change.after.values())]) != model.predict(X[lost][:1])
    frame = pd.DataFrame({"r": np.where(lost, None, np.where(X[:, 2] > 0, "n", "s")), "b": X[:, 1]})
    model = LocalMixtureClassifier(0, **QUICK).fit(frame, y > np.median(y))
    for rows, kept in ((lost, True), (~lost, False)):
        changes = [
            counterfactual(model, frame.iloc[[i]], bounds={"b": (-1e5, 1e5)})
            for i in np.flatnonzero(rows)[:12]
        ]
        found = [one.after["r"] for one in changes if one.found]
        assert found
        assert all(pd.isna(value) == kept for value in found)


def test_tables_without_missing_values_have_no_indicators() -> None:
    assert Columns.numeric(("a", "b"), np.zeros((2, 2))).encoded_names == ("a", "b")
    assert not LocalMixtureRegressor(missing="error").__sklearn_tags__().input_tags.allow_nan
    assert LocalMixtureRegressor().__sklearn_tags__().input_tags.allow_nan


def test_validation_rows_may_lack_values() -> None:
    X, y, _ = holes()
    model = LocalMixtureRegressor(1, **QUICK).fit(X[:160], y[:160], X_val=X[160:], y_val=y[160:])
    assert np.isfinite(model.predict(X)).all()


# -- other systems ---------------------------------------------------------------------------------


def mixed() -> tuple[pd.DataFrame, np.ndarray]:
    X, y, _ = holes()
    rng = np.random.default_rng(3)
    region = rng.choice(["n", "s", "w"], size=len(X)).astype(object)
    y = y + np.where(region == "n", 1.0, 0.0)
    region[rng.random(len(X)) < 0.1] = None
    return pd.DataFrame({"age": X[:, 0], "power": X[:, 1], "region": region, "z": X[:, 2]}), y


EXPORTED = {
    "linear": {"n_localities": 0},
    "local": {"n_localities": 2, "locality_columns": ["age", "power"], "locality_features": 2},
    "mean": {"n_localities": 2, "locality_features": 1, "overlap": "mean"},
    "additive": {"n_localities": 1, "local_models": "additive", "locality_columns": ["age"]},
    "manhattan": {
        "points_of_interest": [[25.0, 100.0, "n", 0.0]],
        "metric": "manhattan",
    },
}


@pytest.fixture(scope="module", params=EXPORTED)
def exported(request: pytest.FixtureRequest) -> tuple[Any, pd.DataFrame]:
    frame, y = mixed()
    settings = {**QUICK, **EXPORTED[request.param]}
    return LocalMixtureRegressor(**settings).fit(frame, y), frame


def test_python_export_agrees(exported: tuple[Any, pd.DataFrame]) -> None:
    model, frame = exported
    namespace: dict[str, Any] = {}
    exec(model.to_python(), namespace)
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    assert [namespace["predict"](row) for row in rows] == pytest.approx(model.predict(frame))
    with pytest.raises(ValueError, match="column 'power' is missing"):
        namespace["predict"]({**rows[0], "power": None})


@pytest.mark.parametrize("unknown", ["warn", "error"])
def test_sql_export_agrees(exported: tuple[Any, pd.DataFrame], unknown: str) -> None:
    model, frame = exported
    model.set_params(handle_unknown=unknown)
    connection = sqlite3.connect(":memory:")
    frame.to_sql("t", connection, index=False)
    text = model.to_sql("sqlite")
    found = [one for (one,) in connection.execute(f"SELECT {text} FROM t ORDER BY rowid")]
    assert found == pytest.approx(model.predict(frame))
    connection.execute("INSERT INTO t VALUES (30.0, NULL, 'n', 0.0)")
    [(last,)] = connection.execute(f"SELECT {text} FROM t ORDER BY rowid DESC LIMIT 1")
    assert last is None
    connection.close()
    model.set_params(handle_unknown="warn")


@pytest.mark.parametrize("name", [name for name in EXPORTED if name != "manhattan"])
def test_onnx_export_agrees(name: str) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    frame, y = mixed()
    frame = frame.drop(columns="region")
    model = LocalMixtureRegressor(**{**QUICK, **EXPORTED[name]}).fit(frame, y)
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    [found] = session.run(["score"], {"X": frame.to_numpy(dtype=float)})
    assert found == pytest.approx(model.predict(frame))


# -- figures and the page --------------------------------------------------------------------------


def test_figures_are_drawn(local: LocalMixtureRegressor) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, y, lost = holes()
    shapes = plotting.ShapeDisplay.from_estimator(local, X)
    [panel] = [one for one in shapes.panels if one.name == "x0"]
    assert len(panel.rows) == int((~lost).sum())
    filled = [[float(panel.missing.x[0]), 100.0, 0.0]]
    gap = local.predict([[np.nan, 100.0, 0.0]]) - local.mixture_.exterior.intercept
    assert gap == pytest.approx(
        local.mixture_.exterior.coef @ [filled[0][0], 1.0, 100.0, 0.0], rel=1e-9
    )
    drawn = plotting.LocalitiesDisplay.from_estimator(local, X, y, features=["x0", "x1"])
    assert np.isnan(drawn.X[lost, 0]).all()
    plotting.StripsDisplay.from_estimator(local, X)
    plotting.ImportanceDisplay.from_estimator(local, X)
    plotting.CoefficientsDisplay.from_estimator(local)
    plotting.ContributionsDisplay.from_estimator(local, X[lost][:1])


@in_browser
@pytest.mark.parametrize("name", EXPORTED)
def test_the_page_takes_an_empty_field_as_missing(name: str, tmp_path: Path) -> None:
    frame, y = mixed()
    settings = {**QUICK, **EXPORTED[name]}
    model = LocalMixtureRegressor(**settings).fit(frame, y)
    path = render(model, frame, y, tmp_path / "r.html")
    text = path.read_text()
    assert "Missing values</h2>" in text
    assert "the median of the training rows" in text
    rows = frame.iloc[:40].astype(object).where(frame.iloc[:40].notna(), None)
    cases = [
        {
            key: {"region": "\x00"}.get(key, "") if value is None else str(value)
            for key, value in row.items()
        }
        for row in rows.to_dict("records")
    ]
    script = f"""
      const cases = {json.dumps(cases)};
      const field = document.getElementById("field-0");
      field.value = ""; field.dispatchEvent(new Event("input"));
      const result = document.getElementById("result").textContent;
      field.value = "30"; field.dispatchEvent(new Event("input"));
      const power = document.getElementById("field-1");
      power.value = ""; power.dispatchEvent(new Event("input"));
      return {{
        result, refused: document.getElementById("result").textContent,
        found: cases.map((one) => {{
          const now = motlm.evaluate(one);
          const total = Object.values(now.contributions).reduce((a, b) => a + b, now.base);
          return [now.prediction, now.used, total];
        }}),
        after: motlm.counterfactual(cases[AT], new Set(), WANTED),
        options: [...document.getElementById("field-2").options].map((one) => one.text),
      }};
    """
    at = int(np.flatnonzero(frame["age"].isna())[0])
    wanted = float(model.predict(frame.iloc[[at]])[0]) + 0.2
    script = script.replace("AT]", f"{at}]").replace("WANTED", repr(wanted))
    [out] = open_pages([(path, script)], tmp_path)
    assert "give a number" not in out["result"]
    assert out["refused"] == "power: give a number."
    prediction, used, total = np.array(out["found"]).T
    assert prediction == pytest.approx(model.predict(frame.iloc[:40]))
    assert total == pytest.approx(prediction)
    assert np.array_equal(used.astype(int), model.apply(frame.iloc[:40]))
    assert out["options"] == ["n", "s", "w", "(missing)"]
    if out["after"]["found"]:
        assert out["after"]["after"]["age"] == ""


# -- certificates and the command line -------------------------------------------------------------


def test_certificates_on_sealed_rows() -> None:
    X, y, _ = holes(400)
    labels = np.where(y > np.median(y), "high", "low")
    fitted, certificate = certify(LocalMixtureClassifier(1, **QUICK), X, labels)
    assert certificate.headline.value < 0.5
    assert "median" not in str(certificate.notes)
    again = audit(fitted, *_fresh(labels_of=np.median(y)))
    assert 0.0 < again.headline.value < 1.0
    fitted, certificate = certify(LocalMixtureRegressor(1, **QUICK), X, y)
    assert np.isfinite(certificate.headline.value)
    counts = np.round(np.abs(y))
    rate = LocalMixtureRegressor(0, loss="poisson", **QUICK)
    _, found = certify_rates(rate, X, counts, exposure=np.ones(len(y)))
    assert "one GLM" in str(found)


def _fresh(labels_of: float) -> tuple[np.ndarray, np.ndarray]:
    X, y, _ = holes(300, seed=7)
    return X, np.where(y > labels_of, "high", "low")


def test_in_sample_certificates_refuse_medians_of_the_rows() -> None:
    X, y, _ = holes()
    labels = y > np.median(y)
    with pytest.raises(CertificateError, match="X has missing values"):
        certify_in_sample(LocalMixtureClassifier(0, **QUICK), X, labels)
    settings = {**QUICK, "standardize": False, "loss": "zero-one", "inverse_temperature": 1.0}
    model = LocalMixtureClassifier(0, **settings).fit(X, labels)
    with pytest.raises(CertificateError, match="what stands in for missing values"):
        audit_in_sample(model, X, labels)


def test_a_row_with_a_missing_value_is_recognized() -> None:
    X, y, lost = holes()
    model = LocalMixtureRegressor(0, **QUICK).fit(X, y)
    with pytest.raises(TrainingRowsError):
        audit(model, X[lost], y[lost])


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(command, prog_name="motlm", args=list(map(str, arguments)))
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def test_command_line(tmp_path: Path) -> None:
    frame, y = mixed()
    frame.assign(y=y).to_csv(tmp_path / "d.csv", index=False)
    base = ["fit", tmp_path / "d.csv", "--target", "y", "--localities", "1"]
    base += ["--local-models", "linear", "--model", tmp_path / "m.json"]
    shown = run(*base, "--report", tmp_path / "r.html").output
    assert "values of 'age' are missing: the median of the rows to fit on stands in" in shown
    assert "values of 'region' are missing: a category of its own" in shown
    assert "Missing values</h2>" in (tmp_path / "r.html").read_text()
    model = motlm.load(tmp_path / "m.json")
    new = frame.iloc[:6].astype(object).where(frame.iloc[:6].notna(), "")
    new.loc[0, ["age", "region"]] = ""
    new.loc[1, "power"] = ""
    new.to_csv(tmp_path / "new.csv", index=False)
    run("predict", tmp_path / "m.json", tmp_path / "new.csv", "-o", tmp_path / "o.csv")
    out = pd.read_csv(tmp_path / "o.csv")
    median = model.mixture_.inputs.fill[0]
    assert out["note"][0] == f"no value in column 'age', {median:.6g} stands in"
    assert out["note"][1].startswith("no value in column 'power', taken as the training average")
    assert out["reason"].isna().all()
    read = new.replace("", None).astype({"age": float, "power": float, "z": float})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingValueWarning)
        assert out["prediction"].to_numpy() == pytest.approx(model.predict(read))
    told = run("explain", tmp_path / "m.json", tmp_path / "new.csv", "--row", "0").output
    assert "age is missing" in told
    run("evaluate", tmp_path / "m.json", tmp_path / "d.csv")
    run("report", tmp_path / "m.json", tmp_path / "d.csv", "-o", tmp_path / "again.html")
    refused = run(*base, "--missing", "error", "--force", code=2).output
    assert "rows have missing values, in 'age', 'region'" in refused
    run(*base, "--missing", "drop", "--force")
    left_out = run("predict", tmp_path / "m.json", tmp_path / "new.csv", code=3).output
    assert "no value in column 'age'" in left_out


def test_levels_have_one_unit_however_rare_they_are() -> None:
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "rare"], size=1000, p=[0.6, 0.39, 0.01])
    age = rng.normal(40, 10, size=1000)
    age[:20] = np.nan
    X = pd.DataFrame({"kind": kind, "age": age})
    y = rng.normal(size=1000) + 8.0 * (kind == "rare") * (rng.random(1000) < 0.5)
    model = LocalMixtureRegressor(0, local_models="linear", inverse_temperature=4.0).fit(X, y)
    units = model.mixture_.inputs.units
    assert model.mixture_.inputs.columns.encoded_names == (
        "kind=b",
        "kind=rare",
        "age",
        "age is missing",
    )
    np.testing.assert_allclose(units.inverse_scale[[0, 1, 3]], 2.0)
    assert units.inverse_scale[2] == pytest.approx(1 / np.nanstd(age), rel=0.02)
