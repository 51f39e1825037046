"""The report: in a real browser it says what Python says, runs nothing that a name contains, and
asks nobody for anything.
"""

from __future__ import annotations

import builtins
import json
import re
import warnings
from html import escape as _escape
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import in_browser, open_page, open_pages
from made import place_at, with_localities
from scipy.optimize import minimize
from sklearn.datasets import load_digits, load_iris

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import audit_rates, certify
from motlm.certificates._words import round_number
from motlm.datasets import make_clf_case2
from motlm.errors import InputError, UnknownCategoryWarning
from motlm.explanations import counterfactual, explain_local
from motlm.fingerprints import row_keys
from motlm.geometry import Locus
from motlm.report import render
from motlm.report._render import judged_rows
from motlm.tables import number
from motlm.targets import LABEL_LOSSES

# pages of additive models are in test_additive_exports
QUICK = {
    "inverse_temperature": 8.0,
    "n_starts": 2,
    "random_state": 0,
    "local_models": "linear",
}
NUMBERS = ["age", "income", "children"]


def data_of(page: Path) -> dict[str, Any]:
    """What a page shows and computes with."""
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def escape(text: str) -> str:
    """As the template does."""
    return _escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")


def limits_of(page: Path, row: pd.Series, names: list[str]) -> dict[str, tuple[float, float]]:
    """The ranges of the form, which reach as far as the row."""
    features = {one["name"]: one for one in data_of(page)["features"]}
    return {
        name: (min(features[name]["low"], row[name]), max(features[name]["high"], row[name]))
        for name in names
    }


def table(rng: np.random.Generator, n: int = 500) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "income": rng.lognormal(1, 0.5, n),
            "children": rng.integers(0, 5, n),
            "region": rng.choice(["north", "south", "west"], n),
        }
    )


def fit_three(kind: str, overlap: str = "nearest", metric: str = "euclidean") -> Any:
    """Models with three localities that overlap, made by hand from a fit."""
    rng = np.random.default_rng(0)
    frame = table(rng)
    inside = np.abs(frame["age"] - 40) < 8
    score = np.where(inside, frame["income"] - 2.7, 2.7 - frame["income"])
    score = score + 0.1 * (frame["region"] == "west") + 0.1 * rng.normal(size=500)
    points = frame[:3].assign(
        age=[36.0, 40.0, 45.0],
        income=[2.5, 2.7, 3.0],
        children=2,
        region=["north", "south", "north"],
    )
    options = {"points_of_interest": points[1:2], "overlap": overlap, "metric": metric, **QUICK}
    options |= {"locality_widths": "equal", "corrections": "none"}  # balls, and the rest by hand
    if kind == "classifier":
        model, y = LocalMixtureClassifier(**options), np.where(score > 0, "yes", "no")
    elif kind in LABEL_LOSSES:  # of four labels
        edges = np.quantile(score, [0.3, 0.55, 0.8])
        y = np.array(["low", "fair", "good", "high"])[np.digitize(score, edges)]
        model = LocalMixtureClassifier(loss=kind, **options)
    else:
        model, y = LocalMixtureRegressor(**options), np.asarray(score)
    model.fit(frame, y)
    inputs = model.mixture_.inputs
    radius = np.array([1.8, 2.2, 2.6]) * (2.0 if metric == "manhattan" else 1.0)
    made = with_localities(model, inputs.standardize(inputs.encode(points)), radius, rng)
    return made, frame, y


def weigh_columns(kind: str) -> Any:
    """The same with localities in a few columns, with weights: age and children, income, all."""
    model, frame, y = fit_three(kind)
    center = np.array([0.1, -0.2, 0.3, 0.0, 0.2])
    places = (
        Locus("euclidean", np.array([0, 2]), center[[0, 2]], 1.2, np.array([2.0, 0.5])),
        Locus("euclidean", np.array([1]), center[[1]], 0.8),
        Locus("euclidean", np.arange(5), center, 2.0, np.array([1.0, 3.0, 0.0, 0.5, 0.2])),
    )
    return place_at(model, places, np.random.default_rng(0)), frame, y


def asked_rows(model: Any, rng: np.random.Generator) -> pd.DataFrame:
    """Random rows, and rows just inside and outside of each ball along one column."""
    rows = [table(rng, 160)]
    inputs = model.mixture_.inputs
    for one, locus in zip(model.localities_, model.mixture_.loci, strict=True):
        edge = table(rng, 20)
        for k in range(20):
            place = inputs.encode(edge[k : k + 1])[0]
            gap = (place - one.center) * inputs.units.inverse_scale
            gap[0] = 0.0
            inside = one.radius**2 - gap @ gap
            if inside > 0 and locus.is_ball(inputs.counted):
                nudge = (1 + 1e-9) if k % 2 else (1 - 1e-9)
                reach = np.sqrt(inside) * nudge / inputs.units.inverse_scale[0]
                edge.loc[edge.index[k], "age"] = one.center[0] + reach
        rows.append(edge)
    return pd.concat(rows, ignore_index=True)


def script_of(rows: pd.DataFrame, function: str) -> str:
    """A function of each row, in JavaScript."""
    return f"return {json.dumps(rows.to_dict('records'))}.map({function});"


MODELS = {
    "classifier": lambda: fit_three("classifier", "nearest", "euclidean"),
    "classifier, mean, Manhattan": lambda: fit_three("classifier", "mean", "manhattan"),
    "regressor": lambda: fit_three("regressor", "nearest", "euclidean"),
    "regressor, mean, Mahalanobis": lambda: fit_three("regressor", "mean", "mahalanobis"),
    "regressor, weights": lambda: weigh_columns("regressor"),
    "four labels": lambda: fit_three("log"),
    "four labels, mean, Manhattan": lambda: fit_three("log", "mean", "manhattan"),
    "four labels, zero-one": lambda: fit_three("zero-one"),
    "four labels, zero-one, mean": lambda: fit_three("zero-one", "mean"),
    "four labels, weights": lambda: weigh_columns("log"),
}


def same(found: dict[str, Any], python: Any) -> None:
    """What the page computes for a row is what `explain_local` says."""
    near = {"abs": 1e-9}
    assert found["used"] == python.model_used
    if isinstance(python.prediction, str):
        assert found["prediction"] == python.prediction
    else:
        assert found["prediction"] == pytest.approx(python.prediction, rel=1e-9, **near)
    assert found["score"] == pytest.approx(python.score, **near)
    assert found["base"] == pytest.approx(python.base, **near)
    assert found["contradicted"] == python.contradicted
    *local, exterior = python.models
    assert found["member"] == [entry["applies"] for entry in local]
    assert found["applicable"][-1] == exterior["applies"]
    assert found["distance"] == pytest.approx([entry["distance"] for entry in local], **near)
    if python.by_class:
        scores = [list(entry["scores"].values()) for entry in python.models]
        assert np.array(found["scores"]) == pytest.approx(np.array(scores), **near)
    else:
        scores = [entry["score"] for entry in python.models]
        assert found["scores"] == pytest.approx(scores, **near)
    assert found["contributions"] == pytest.approx(python.contributions, **near)
    same_classes(found, python)


def same_classes(found: dict[str, Any], python: Any) -> None:
    """Of several classes, all scores, probabilities and contributions."""
    classes = found.get("classes", [])
    assert [one["label"] for one in classes] == list(python.by_class)
    for one, part in zip(classes, python.by_class.values(), strict=True):
        for name in ("score", "base", "probability", "contributions"):
            assert one[name] == pytest.approx(getattr(part, name), abs=1e-9)
    if classes:
        assert classes[found["best"]]["label"] == python.prediction
        assert classes[found["second"]]["label"] == python.runner_up


@in_browser
def test_the_page_computes_what_python_does(tmp_path: Path) -> None:
    asked, scripts = [], []
    for k, make in enumerate(MODELS.values()):
        model, frame, y = make()
        rows = asked_rows(model, np.random.default_rng(1))
        assert len(rows) >= 200
        assert model.ambiguous(rows).any()
        asked.append((model, rows))
        page = render(model, frame, y, tmp_path / f"report-{k}.html")
        scripts.append((page, script_of(rows, "motlm.evaluate")))
    for (model, rows), found in zip(asked, open_pages(scripts, tmp_path), strict=True):
        explanation = explain_local(model, rows)
        for i, one in enumerate(found):
            same(one, explanation[i])


def fit_few(kind: str) -> Any:
    """Models as they are fitted: localities in few columns, and corrections of the exterior."""
    rng = np.random.default_rng(0)
    frame = table(rng)
    inside = (frame["age"] < 38) & (frame["income"] > 2.5)
    score = np.where(inside, 3 + 0.3 * (frame["age"] - 38), 0.5 * frame["income"])
    score = score + (frame["region"] == "west") + 0.1 * rng.normal(size=500)
    options = {**QUICK, "inverse_temperature": 4.0, "n_starts": 1}
    few = {"locality_features": 2, "corrections": "own", **options}
    if kind == "points":  # widths are learned
        points = pd.DataFrame({"age": [32.0], "income": [4.0], "children": [2], "region": ["west"]})
        model: Any = LocalMixtureRegressor(points_of_interest=points, **options)
    elif kind == "rate":
        model = LocalMixtureRegressor(1, loss="poisson", **few)
        score = rng.poisson(np.exp(0.3 * score))
    elif kind in ("regressor", "rows"):
        model = LocalMixtureRegressor(1, **few, centers="rows" if kind == "rows" else "free")
    else:
        model = LocalMixtureClassifier(1, loss=kind, **few)
        score = np.array(["low", "fair", "high"])[np.digitize(score, [1.3, 2.2])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(frame, score), frame, np.asarray(score)


FEW = ("regressor", "points", "rate", "rows", "log", "zero-one")


@in_browser
def test_the_page_computes_what_python_does_in_few_columns(tmp_path: Path) -> None:
    """Of fitted models, with probabilities that go by the deviations of corrections."""
    asked, scripts = [], []
    for kind in FEW:
        model, frame, y = fit_few(kind)
        assert model.localities_
        assert model.mixture_.posterior.pooled
        rows = asked_rows(model, np.random.default_rng(1))
        assert 0 < model.membership(rows).mean() < 1
        asked.append((model, rows))
        page = render(model, frame, y, tmp_path / f"{kind}.html", include_rows=kind == "rows")
        scripts.append((page, script_of(rows, "motlm.evaluate")))
    for (model, rows), found in zip(asked, open_pages(scripts, tmp_path), strict=True):
        explanation = explain_local(model, rows)
        for i, one in enumerate(found):
            same(one, explanation[i])


@in_browser
def test_a_locality_in_few_columns_is_told_and_drawn(tmp_path: Path) -> None:
    """Its sentence, strips, the picture, and how its formula differs; the full one is a click
    away. The form says why the case is in it, or is not.
    """
    model, frame, y = fit_few("regressor")
    page = render(model, frame, y, tmp_path / "report.html")
    [one], data = model.localities_, data_of(page)
    text, region = page.read_text(encoding="utf-8"), data["regions"][0]
    assert region["where"] == one.where
    assert text.count(escape(one.where)) >= 2  # in the table, and beside its rows
    assert escape(one.correction()) in text
    full = text.index("<summary>Full formula</summary>")
    assert text.index(escape(one.formula())) > full > text.index(escape(one.correction()))
    limiting = [strip for strip in region["strips"] if strip["text"]]
    assert limiting
    for strip in limiting:
        assert f"{strip['name']} {strip['text']}" in one.where
        outside = (frame[strip["name"]] < strip["ends"][0]) | (
            frame[strip["name"]] > strip["ends"][1]
        )
        assert not model.membership(frame)[outside, 0].any()
        assert 0 <= strip["share"][0] < strip["share"][1] <= 100
    inside = frame[model.membership(frame)[:, 0]].iloc[0]
    away = frame[(frame["age"] > limiting[0]["ends"][1]) | (frame["age"] < limiting[0]["ends"][0])]
    values = [inside.to_dict(), away.iloc[0].to_dict()] if limiting[0]["name"] == "age" else []
    values = values or [inside.to_dict()]
    script = f"""
      const at = (id) => document.getElementById(id), results = [];
      for (const values of {json.dumps(values)}) {{
        motlm.features.forEach((one, k) => {{ at(`field-${{k}}`).value = values[one.name]; }});
        at("field-0").dispatchEvent(new Event("input"));
        results.push([at("result").textContent, at("answer").textContent]);
      }}
      const fills = [...document.querySelectorAll("#region-0 .fill")];
      const share = fills.map((one) => one.offsetWidth / one.parentNode.offsetWidth);
      const charts = document.querySelectorAll("#map-chart svg.main-svg, #picture-0 svg.main-svg");
      const wide = document.documentElement.scrollWidth <= innerWidth;
      const open = document.querySelector("#region-0 details.full").open;
      return {{ results, share, charts: charts.length, wide, open }};
    """
    out = open_page(page, script, tmp_path)
    first = limiting[0]
    text = f"{first['name']} {_shown(inside[first['name']])} ({first['text']})"
    assert f"decided by locality 0: {text}" in out["results"][0][0]
    if len(values) > 1:
        assert "the case is in no locality" in out["results"][1][0]
        age = _shown(away.iloc[0]["age"])
        assert f"age {age} is not {first['text']}" in out["results"][1][1]
    drawn = [
        (strip["share"][1] - strip["share"][0]) / 100 for strip in limiting if "share" in strip
    ]
    assert out["share"] == pytest.approx(drawn, abs=0.02)
    assert out["charts"] >= 1
    assert out["wide"]
    assert not out["open"]


def _shown(value: Any) -> str:
    """A value of the form, as it was given."""
    return f"{float(f'{value:.17g}')!r}" if isinstance(value, float) else str(value)


@pytest.mark.parametrize("kind", FEW)
def test_pictures_show_the_locality(kind: str, tmp_path: Path) -> None:
    """An ellipse, or an interval, around the cases of the locality, where other columns are held;
    or a map, where localities look at two columns of numbers alone.
    """
    model, frame, y = fit_few(kind)
    data = data_of(render(model, frame, y, tmp_path / "report.html", include_rows=True))
    drawn = data["map"] or data["regions"][0]["picture"]
    assert drawn is not None
    [circle] = drawn["circles"]
    one, names = model.localities_[0], list(model.mixture_.inputs.names)
    for center, width, name in zip(circle["center"], circle["width"], drawn["axes"], strict=True):
        j = names.index(name)
        assert center == pytest.approx(one.center[j])
        if width is not None:
            assert width <= one.half_width[j] * (1 + 1e-9)
        else:
            assert np.isinf(one.half_width[j])
    if data["map"]:
        width = np.array([np.inf if one is None else one for one in circle["width"]])
        gap = (frame[drawn["axes"]].to_numpy() - circle["center"]) / width
        inside = (gap**2).sum(axis=1) <= 1
        np.testing.assert_array_equal(inside, model.membership(frame)[:, 0])
        assert drawn["others"] == frame.shape[1] - 2  # columns of the table, not encoded ones


def test_cases_at_centers_are_hidden(tmp_path: Path) -> None:
    """A center that is a row is neither shown nor in the file, unless rows are asked for."""
    model, frame, y = fit_few("rows")
    page = render(model, frame, y, tmp_path / "report.html")
    text, data = page.read_text(encoding="utf-8"), data_of(page)
    case = frame.iloc[model.localities_[0].row]
    assert "cases like" not in text
    assert data["hidden"]
    assert data["regions"][0]["center"] is None
    assert data["regions"][0]["where"] in model.localities_[0].where
    for locus in data["model"]["loci"]:
        assert locus["center"] is None
    found = re.findall(r"-?\d+\.\d+(?:e-?\d+)?", text[: text.index('id="plotly"')])
    numbers = np.array([float(value) for value in found])
    [locus], units = model.mixture_.loci, model.mixture_.inputs.units
    assert len(locus.columns)
    for j, center in zip(locus.columns, locus.center, strict=True):
        name = model.mixture_.inputs.names[j]
        for secret in (case[name], center, center / units.inverse_scale[j]):
            assert np.abs(numbers - secret).min() > 1e-9 * abs(secret)
    for strip in data["regions"][0]["strips"]:  # nor from the ends
        assert np.mean(strip["ends"]) != pytest.approx(case[strip["name"]], rel=1e-6)
    shown = render(model, frame, y, tmp_path / "report.html", include_rows=True)
    assert escape(model.localities_[0].where) in shown.read_text(encoding="utf-8")
    assert not data_of(shown)["hidden"]


@in_browser
def test_a_page_without_cases_has_no_form(tmp_path: Path) -> None:
    model, frame, y = fit_few("rows")
    page = render(model, frame, y, tmp_path / "report.html")
    seen = "document.getElementById('form').checkVisibility()"
    answer = "document.getElementById('answer').textContent"
    text, visible = open_page(page, f"return [{answer}, {seen}];", tmp_path)
    assert "The form is left out" in text
    assert not visible


@in_browser
@pytest.mark.parametrize(("kind", "wanted"), [("classifier", None), ("log", None), ("log", "fair")])
def test_the_page_finds_the_same_changes(kind: str, wanted: str | None, tmp_path: Path) -> None:
    """In balls, and in localities in a few columns with weights."""
    models = [fit_three(kind), weigh_columns(kind)]
    asked = f"(row) => motlm.counterfactual(row, new Set(['children']), {json.dumps(wanted)})"
    scripts = []
    for k, (model, frame, y) in enumerate(models):
        page = render(model, frame, y, tmp_path / f"report-{k}.html")
        scripts.append((page, script_of(frame[:60], asked)))
    answers = open_pages(scripts, tmp_path)
    for (model, frame, _), (page, _), found in zip(models, scripts, answers, strict=True):
        changed = 0
        for i, one in enumerate(found):
            row = frame[i : i + 1]
            limits = limits_of(page, frame.iloc[i], ["age", "income"])
            python = counterfactual(
                model, row, target=wanted, immutable=["children", "region"], bounds=limits
            )
            proved = one["found"] and one["smallest"]
            assert proved == (python.found and python.exact)
            if proved:
                changed += 1
                assert one["after"]["age"] == pytest.approx(python.after["age"], rel=2e-5)
                assert one["after"]["income"] == pytest.approx(python.after["income"], rel=2e-5)
                assert one["prediction"] == python.prediction_after
        assert changed > 10


@in_browser
def test_numbers_of_the_form_go_one_way(tmp_path: Path) -> None:
    """And are round; the form says so of each."""
    model, frame, y = fit_three("classifier")
    page = render(model, frame, y, tmp_path / "report.html")
    held = "new Map([['age', 'up'], ['income', 'down'], ['children', 'held']])"
    script = f"""
      const rows = {json.dumps(frame[:60].to_dict("records"))};
      const [select] = document.querySelectorAll("#fields .hold"), ways = select.options;
      select.value = "held"; select.dispatchEvent(new Event("change"));
      return {{ found: rows.map((row) => motlm.counterfactual(row, {held}, null)),
        ways: [...ways].map((one) => one.textContent) }};
    """
    [answer] = open_pages([(page, script)], tmp_path)
    assert answer["ways"] == ["may change", "can only rise", "can only fall", "cannot change"]
    changed = 0
    for i, one in enumerate(answer["found"]):
        row, limits = frame.iloc[i], limits_of(page, frame.iloc[i], ["age", "income"])
        python = counterfactual(
            model,
            frame[i : i + 1],
            immutable=["children", "region"],
            increasing=["age"],
            decreasing=["income"],
            bounds=limits,
        )
        assert (one["found"] and one["smallest"]) == (python.found and python.exact)
        if one["found"]:
            changed += 1
            after = pd.DataFrame([one["after"]])[list(frame.columns)]
            assert model.predict(after)[0] == one["prediction"] != model.predict(frame[i : i + 1])
            assert one["after"]["age"] >= row["age"]
            assert one["after"]["income"] <= row["income"]
            for name in ("age", "income"):
                to = one["after"][name]
                assert to == row[name] or float(f"{to:.6g}") == to
    assert changed > 5


@in_browser
@pytest.mark.parametrize(
    ("kind", "wanted"), [("classifier", None), ("log", None), ("log", "fair"), ("log", "good")]
)
def test_changes_in_weighted_localities_are_the_smallest(
    kind: str, wanted: str | None, tmp_path: Path
) -> None:
    """Against a solver of SciPy's that knows nothing of the problem."""
    model, frame, y = weigh_columns(kind)
    frame = frame.assign(children=frame["children"] + 0.5)  # not whole: all three may move
    page = render(model, frame, y, tmp_path / "report.html")
    asked = f"(row) => motlm.counterfactual(row, new Set(), {json.dumps(wanted)}, null)"
    [found] = open_pages([(page, script_of(frame[:150], asked))], tmp_path)
    inputs, compared = model.mixture_.inputs, set()
    for i, one in enumerate(found):
        limits = limits_of(page, frame.iloc[i], NUMBERS)
        best, used = smallest_change(model.mixture_, frame[i : i + 1], limits, wanted)
        if not one["found"]:
            assert best is None or not one["reason"].startswith("no case")
            continue
        rows = pd.concat([frame[i : i + 1], pd.DataFrame([one["after"]])])
        start, after = inputs.standardize(inputs.encode(rows))
        before, then = model.predict(rows)
        assert then == one["prediction"] != before
        assert wanted in (None, then)
        if best is not None and one["smallest"]:
            compared.add(used)
            moved = ((after - start) ** 2).sum()
            assert moved <= best * (1 + 1e-3) + 1e-7  # six digits
    assert compared >= {0, 1, 3}


def smallest_change(
    mixture: Any, row: pd.DataFrame, limits: Any, wanted: str | None
) -> tuple[float | None, int]:
    """Of the numbers of a row, by SLSQP: the squared distance in standardized units, None where
    it finds none; and the model used.
    """
    view, routine = mixture.view(mixture.encode(row)), mixture.routine()
    used, n_encoded = int(view.used[0]), len(mixture.inputs.names)
    slopes = routine.coef[used].reshape(-1, n_encoded)  # of one score, or of several
    offsets = routine.intercept[used].reshape(-1)
    classes, now = mixture.target.classes.tolist(), view.answer[0]
    if len(slopes) == 1:  # the border of two labels
        sign = -np.sign(view.scores[used, 0])
        ways = [(sign * slopes, sign * offsets)]
    elif wanted is None:  # that of any other
        k = classes.index(now)
        others = [m for m in range(len(classes)) if m != k]
        ways = [(slopes[[m]] - slopes[k], offsets[[m]] - offsets[k]) for m in others]
    else:
        k = classes.index(wanted)
        ways = [(slopes[k] - np.delete(slopes, k, 0), offsets[k] - np.delete(offsets, k))]
    found = [_within(mixture, view, limits, *way) for way in ways]
    return min((one for one in found if one is not None), default=None), used


def _within(mixture: Any, view: Any, limits: Any, slopes: Any, offsets: Any) -> float | None:
    """With slopes . z + offsets >= 0, in the locality used."""
    inputs, used = mixture.inputs, int(view.used[0])
    start = inputs.standardize(view.encoded)[0]
    edges = np.array([limits[name] for name in NUMBERS]).T
    low, high = (edges - inputs.units.center[:3]) * inputs.units.inverse_scale[:3]

    def place(free: Any) -> Any:
        return np.concatenate([free, start[3:]])

    def room(free: Any) -> float:
        locus = mixture.loci[used]
        gap = place(free)[locus.columns] - locus.center
        return locus.radius**2 - gap @ (gap if locus.weight is None else locus.weight * gap)

    conditions = [lambda free: slopes @ place(free) + offsets]
    if used < mixture.n_localities:
        conditions.append(room)
    best = minimize(
        lambda free: ((free - start[:3]) ** 2).sum(),
        start[:3],
        bounds=list(zip(low, high, strict=True)),
        constraints=[{"type": "ineq", "fun": one} for one in conditions],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return float(best.fun) if best.success else None


@in_browser
def test_the_page_moves_whole_numbers_in_whole_steps(tmp_path: Path) -> None:
    """Found where Python finds one, nearly as near; in whole numbers; and the answer is what it
    says.
    """
    asked, scripts = [], []
    kinds = (("classifier", None), ("log", None), ("log", "fair"))
    for k, ((kind, wanted), rounded) in enumerate(product(kinds, (["children"], NUMBERS))):
        model, frame, y = fit_three(kind)
        frame = frame.assign(**{name: frame[name].round() for name in rounded})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = model.fit(frame, y)
        page = render(model, frame, y, tmp_path / f"report-{k}.html")
        whole = [one["name"] for one in data_of(page)["features"] if one.get("whole")]
        assert sorted(whole) == sorted(rounded)
        asked.append((model, frame, rounded, wanted))
        function = f"(row) => motlm.counterfactual(row, new Set(), {json.dumps(wanted)})"
        scripts.append((page, script_of(frame[:60], function)))
    answers = open_pages(scripts, tmp_path)
    for (model, frame, rounded, wanted), (page, _), found in zip(
        asked, scripts, answers, strict=True
    ):
        ratios = []
        for i, one in enumerate(found):
            limits = limits_of(page, frame.iloc[i], NUMBERS)
            options = {"target": wanted, "bounds": limits, "integer": rounded}
            ratios.append(_ratio(model, frame[i : i + 1], one, options))
        assert sum(one["found"] for one in found) > 10
        known = [ratio for ratio in ratios if ratio is not None]
        assert np.median(known) < 1.05
        assert max(known) < 3


def _ratio(model: Any, row: pd.DataFrame, found: Any, options: dict[str, Any]) -> float | None:
    """How much further the page's change goes than Python's, once it is seen to do what it says."""
    python = counterfactual(model, row, immutable=["region"], **options)
    if not found["found"]:
        none = found["reason"].startswith("no case")
        assert not (python.found and python.exact and none), found["reason"]
        return None
    after = pd.DataFrame([found["after"]])[list(row.columns)]
    assert all(float(after[name].iloc[0]).is_integer() for name in options["integer"])
    after = after.astype(row.dtypes.to_dict())
    assert model.predict(after)[0] == found["prediction"] != model.predict(row)[0]
    assert options["target"] in (None, found["prediction"])
    if not python.found:
        return None
    scale = model.mixture_.inputs.units.inverse_scale[:3]
    page, ours = (
        np.linalg.norm((pd.Series(to)[NUMBERS] - row.iloc[0][NUMBERS]).to_numpy(float) * scale)
        for to in (found["after"], python.after)
    )
    return float(page / ours)


@in_browser
def test_a_person_can_use_it(tmp_path: Path) -> None:
    """Typing changes the answer, rows are sorted and filtered, charts are drawn, and all of it is
    reached by the keyboard.
    """
    model, frame, y = fit_three("classifier")
    path = tmp_path / "report.html"
    page = render(model, frame, y, path, title="Credit", include_rows=True, max_rows=200)
    script = """
      const at = (id) => document.getElementById(id);
      const whole = () => at("result").textContent + at("answer").textContent;
      const first = whole();
      const age = at("field-0");
      age.value = "71.5"; age.dispatchEvent(new Event("input"));
      const second = whole();
      age.value = ""; age.dispatchEvent(new Event("input"));
      const empty = whole();
      at("reset").click();
      const again = whole();
      const buttons = [...document.querySelectorAll("#answer button")];
      const use = buttons.find((button) => button.textContent === "Use these values");
      const label = at("result").textContent;
      if (use) use.click();
      const used = use ? at("result").textContent : null;
      const body = document.querySelector("#rows-table tbody");
      const total = body.rows.length;
      document.querySelectorAll("#rows-table th button")[5].click();
      const ages = [...body.rows].map((row) => Number(row.cells[5].textContent));
      const only = at("only-ambiguous");
      only.checked = true; only.dispatchEvent(new Event("change"));
      const mouse = [...document.querySelectorAll("[onclick], div[role=button]")].length;
      const wide = document.documentElement.scrollWidth <= innerWidth;
      const ambiguous = body.rows.length;
      return { first, second, empty, again, total, ages, ambiguous, mouse, wide, label, used };
    """
    out = open_page(page, script, tmp_path)
    assert out["first"] == out["again"] != out["second"]
    sure = r"\(probability [\d.]+ %\)"
    assert re.match(
        f"(yes|no) {sure}, decided by (locality [012]|the exterior model)", out["first"]
    )
    assert out["empty"] == "age: give a number."
    if out["used"] is not None:  # the change does what it says
        assert out["used"].split(",")[0] != out["label"].split(",")[0]
    assert out["total"] == 200
    assert out["ages"] == sorted(out["ages"])
    assert out["ambiguous"] == sum(row[4] for row in data_of(page)["rows"]["rows"])
    assert out["mouse"] == 0
    assert out["wide"]


@in_browser
def test_a_person_can_use_it_with_several_labels(tmp_path: Path) -> None:
    """The page shows all labels; another one can be asked for, and compared with."""
    model, frame, y = fit_three("log")
    page = render(model, frame, y, tmp_path / "report.html", include_rows=True, max_rows=200)
    script = """
      const at = (id) => document.getElementById(id), found = [];
      const cells = (row) => [...row.cells].map((cell) => cell.textContent);
      const [labels] = at("answer").querySelectorAll("table");
      const probabilities = [...labels.tBodies[0].rows].map(cells);
      const bars = [...labels.querySelectorAll(".bar")].map((one) => one.offsetWidth);
      const result = at("result").textContent;
      for (let k = 0; k < 4; k++) {
        at("reset").click();
        at("wanted").value = String(k); at("wanted").dispatchEvent(new Event("input"));
        const text = at("answer").textContent;
        const buttons = [...document.querySelectorAll("#answer button")];
        const use = buttons.find((button) => button.textContent === "Use these values");
        if (use) use.click();
        found.push({ text, changed: Boolean(use), result: at("result").textContent });
      }
      at("reset").click();
      const again = at("wanted").value;
      const legend = [...at("map-legend").children].map((one) => [one.textContent.slice(2),
        one.firstElementChild.style.color]);
      const colors = [...labels.querySelectorAll(".bar")].map((one) => one.style.background);
      const charts = document.querySelectorAll(".chart svg.main-svg").length;
      const wide = document.documentElement.scrollWidth <= innerWidth;
      return { result, probabilities, bars, colors, found, again, legend, charts, wide };
    """
    out = open_page(page, script, tmp_path)
    assert out["wide"]
    assert out["charts"] >= 5
    usual = pd.DataFrame([{one["name"]: one["usual"] for one in data_of(page)["features"]}])
    [chances], [answer] = model.predict_proba(usual), model.predict(usual)
    labels = ["fair", "good", "high", "low"]
    assert [row[0] for row in out["probabilities"]] == labels
    assert [row[1] for row in out["probabilities"]] == [percent(value) for value in chances]
    assert np.array(out["bars"]) / sum(out["bars"]) == pytest.approx(chances, abs=0.02)
    chance = percent(chances.max())
    assert out["result"].startswith(f"{answer} (probability {chance}), decided by ")
    assert [name for name, _ in out["legend"]] == labels
    assert [color for _, color in out["legend"]] == out["colors"]
    assert len(set(out["colors"])) == 4
    assert out["again"] == ""
    for label, one in zip(labels, out["found"], strict=True):
        if label == answer:
            assert "the model gives that answer already" in one["text"]
        else:
            assert f"against {label}" in one["text"]
            assert not one["changed"] or one["result"].startswith(f"{label} (")
    assert any(one["changed"] for one in out["found"])


def percent(share: float) -> str:
    """As the page shows it."""
    if share < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if share >= 0.9995 else f"{100 * share:.1f} %"


@in_browser
def test_ten_labels(tmp_path: Path) -> None:
    """Handwritten digits: all probabilities as in Python, a column of coefficients for each."""
    X, y = load_digits(return_X_y=True)
    X = X[:, X[:600].std(axis=0) > 0]
    model = LocalMixtureClassifier(0, inverse_temperature=2.0, random_state=0).fit(X[:600], y[:600])
    page = render(model, X, y, tmp_path / "report.html", title="Digits")
    rows = pd.DataFrame(X[600:700], columns=[f"x{j}" for j in range(X.shape[1])])
    asked = """(row) => {
      const { prediction, classes } = motlm.evaluate(row);
      return [prediction, classes.map((one) => one.probability)];
    }"""
    head = "[...document.querySelectorAll('#region-0 details thead th')]"
    script = script_of(rows, asked).replace("return ", "const found = ", 1)
    names = f"{head}.slice(0, 12).map((one) => one.textContent)"
    [out] = open_pages([(page, f"{script} return {{ found, head: {names} }};")], tmp_path)
    assert [answer for answer, _ in out["found"]] == model.predict(X[600:700]).tolist()
    chances = np.array([chances for _, chances in out["found"]])
    assert chances == pytest.approx(model.predict_proba(X[600:700]), abs=1e-9)
    assert out["head"] == ["column", *(str(k) for k in range(10)), "deviation"]
    assert data_of(page)["fitted_share"] == pytest.approx(600 / 1797)


@in_browser
def test_of_many_labels_the_likeliest_are_shown(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(30), 12)
    X = np.column_stack([np.cos(0.2 * y), np.sin(0.2 * y)]) + 0.05 * rng.normal(size=(360, 2))
    model = LocalMixtureClassifier(0, inverse_temperature=2.0, random_state=0).fit(X, y)
    page = render(model, X, y, tmp_path / "report.html")
    script = """
      const place = document.getElementById("answer"), values = [...place.querySelector("table")
        .tBodies[0].rows].map((row) => Number(row.cells[0].textContent));
      const { classes } = motlm.evaluate(Object.fromEntries(motlm.features.map((one, k) =>
        [one.name, document.getElementById(`field-${k}`).value])));
      return { text: place.textContent, values, all: classes.map((one) => one.probability) };
    """
    [out] = open_pages([(page, script)], tmp_path)
    assert "The 20 likeliest of 30 labels" in out["text"]
    assert out["values"] == np.argsort(-np.array(out["all"]), kind="stable")[:20].tolist()


@in_browser
@pytest.mark.parametrize("include_rows", [False, True])
def test_a_map_of_several_labels(include_rows: bool, tmp_path: Path) -> None:
    """The plane of two columns in the colors of the labels, with lines between all that touch."""
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    X, labels = X[:, 2:], names[y]
    model = LocalMixtureClassifier(0, inverse_temperature=2.0, random_state=0).fit(X, labels)
    page = render(model, X, labels, tmp_path / "report.html", include_rows=include_rows)
    drawn = data_of(page)["map"]
    grid = np.array([(a, b) for b in drawn["y"][::9] for a in drawn["x"][::9]])
    shown = np.array(drawn["z"])[::9, ::9].ravel()
    assert names[shown].tolist() == model.predict(grid).tolist()
    script = """
      const chart = document.getElementById("map-chart").data;
      const lines = chart.filter((one) => one.type === "contour").length;
      const dots = chart.find((one) => one.type === "scatter" && one.mode === "markers"
        && one.name !== "rows");
      const legend = [...document.getElementById("map-legend").children];
      return { lines, scale: chart[0].colorscale.map((one) => one[1]),
        dots: dots ? dots.marker.color : null, texts: legend.map((one) => one.textContent) };
    """
    out = open_page(page, script, tmp_path)
    assert out["lines"] == 2  # around two of three regions
    colors = out["scale"][::2]
    assert out["scale"][1::2] == colors
    assert len(set(colors)) == 3
    assert out["dots"] == ([colors[k] for k in y] if include_rows else None)
    assert [text[2:] for text in out["texts"]] == names.tolist()
    assert len({text[0] for text in out["texts"]}) == 3


@in_browser
def test_a_map_of_localities_with_weights(tmp_path: Path) -> None:
    """Ellipses, a band where a locality looks at one of the two columns; none for other norms."""
    X, y = make_clf_case2(300, random_state=0)
    model = LocalMixtureClassifier(points_of_interest=[[0.0, 0.75]], **QUICK).fit(X, y)
    places = (
        Locus("euclidean", np.array([0, 1]), np.array([-0.5, 0.0]), 0.6, np.array([4.0, 1.0])),
        Locus("euclidean", np.array([1]), np.array([1.0]), 0.5),
    )
    made = place_at(model, places, np.random.default_rng(0))
    page = render(made, X, y, tmp_path / "report.html", include_rows=True)
    ellipse, band = data_of(page)["map"]["circles"]
    width = 1.0 / model.mixture_.inputs.units.inverse_scale
    assert ellipse["width"] == pytest.approx([0.3 * width[0], 0.6 * width[1]])
    assert band["width"] == [None, pytest.approx(0.5 * width[1])]
    script = """
      const shapes = [...document.querySelectorAll("#map-chart .shapelayer path")];
      return shapes.map((one) => one.getBoundingClientRect().width);
    """
    first, second = open_page(page, script, tmp_path)
    assert 0 < first < second
    odd = LocalMixtureClassifier(points_of_interest=[[0.0, 0.75]], metric="manhattan", **QUICK)
    assert data_of(render(odd.fit(X, y), X, y, page))["map"] is None


def by_hand(a: Any, b: Any) -> float:
    return float(np.abs(a - b).sum())


@in_browser
def test_a_metric_that_the_page_does_not_have(tmp_path: Path) -> None:
    X, y = make_clf_case2(200, random_state=0)
    points = [[-1.4, 0.0], [1.4, 0.0]]
    model = LocalMixtureClassifier(points_of_interest=points, metric=by_hand, **QUICK).fit(X, y)
    page = render(model, X, y, tmp_path / "report.html")
    assert not data_of(page)["metric_known"]
    text = open_page(page, "return document.getElementById('answer').textContent;", tmp_path)
    assert "by a function that the page does not have" in text


NASTY = [
    "<script>alert(1)</script>",
    '"}};alert(2);//',
    "<img src=x onerror=alert(3)>",
    "</script><b>",
    "{{ 7 * 7 }}",
    "a & b",
]


@in_browser
@pytest.mark.parametrize("labels", [(NASTY[2], NASTY[5]), NASTY])
def test_names_run_nothing(labels: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.normal(size=240) for name in NASTY[:4]})
    frame[NASTY[4]] = rng.choice(NASTY, 240)
    edges = np.quantile(frame[NASTY[0]], np.linspace(0, 1, len(labels) + 1)[1:-1])
    y = np.array(labels)[np.digitize(frame[NASTY[0]], edges)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, _ = certify(
            LocalMixtureClassifier(points_of_interest=frame[:1], **QUICK),
            frame,
            y,
            population=NASTY[0],
        )
    model.certificate_ = model.certificate_.tick("once", by=NASTY[1], on="2026-01-31")
    page = render(model, frame, y, tmp_path / "report.html", title=NASTY[0], include_rows=True)
    count = "images: document.images.length, bold: document.querySelectorAll('main b').length"
    out = open_page(page, f"return {{ text: document.body.textContent, {count} }};", tmp_path)
    for name in NASTY:
        assert name in out["text"]
    assert f"{NASTY[1]}, 2026-01-31" in out["text"]
    assert out["images"] == 0
    assert out["bold"] == 0


@in_browser
def test_names_of_columns_of_localities_run_nothing(tmp_path: Path) -> None:
    """In sentences, strips, levels, pictures, differences, and in what the form says."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.normal(size=300) for name in NASTY[:3]})
    frame[NASTY[4]] = rng.choice([NASTY[2], NASTY[3]], 300)
    inside = (np.abs(frame[NASTY[2]]) < 0.7) & (frame[NASTY[4]] == NASTY[2])
    y = np.where(inside, 3 + frame[NASTY[0]], frame[NASTY[1]])
    few = {"locality_columns": [NASTY[2], NASTY[4]], "locality_features": 2, **QUICK}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LocalMixtureRegressor(1, **few).fit(frame, y)
    page = render(model, frame, y, tmp_path / "report.html", title=NASTY[0])
    assert data_of(page)["regions"][0]["strips"]
    count = "images: document.images.length, bold: document.querySelectorAll('main b').length"
    out = open_page(page, f"return {{ text: document.body.textContent, {count} }};", tmp_path)
    assert model.localities_[0].where in out["text"]
    assert model.localities_[0].correction() in out["text"]
    assert out["images"] == out["bold"] == 0


def test_one_small_file_without_network(tmp_path: Path) -> None:
    model, frame, y = fit_three("regressor")
    page = render(model, frame, y, tmp_path / "deep" / "report.html")
    text = page.read_text()
    assert page.stat().st_size < 3e6
    assert "default-src 'none'" in text
    packed = text.index('id="plotly"')
    assert not re.search(r'(?:src|href)="https?:', text[:packed])
    assert [path.name for path in page.parent.iterdir()] == ["report.html"]
    data = data_of(page)
    assert data["rows"] is None
    assert all(region["typical"] == [] for region in data["regions"])
    assert data["map"] is None or data["map"]["rows"] is None
    for column in (frame["age"], frame["income"], pd.Series(y)):  # no row can be read from it
        for value in column:
            assert f"{value!r}" not in text
    data = data_of(render(model, frame[:1], y[:1], tmp_path / "one.html"))
    assert all(value is None for region in data["regions"] for value in region["balance"].values())


def test_what_the_first_screen_says(tmp_path: Path) -> None:
    X, y = make_clf_case2(random_state=0)
    model, certificate = certify(
        LocalMixtureClassifier(
            points_of_interest=[[-1.4, 0.0], [0.0, 0.75], [1.4, 0.0]],
            standardize=False,
            locality_widths="equal",
            **QUICK,
        ),
        X,
        y,
        sealed=0.5,
    )
    text = render(model, X, y, tmp_path / "r.html").read_text()
    head = text[: text.index("<main>")]
    assert certificate.headline.sentence in head
    assert "3 local linear models" in head
    assert "50 % of them were used for fitting" in head
    sealed = np.random.default_rng(0).permutation(len(y))[: len(y) // 2]
    assert f"the model is judged on the other {len(sealed)}" in head
    assert certificate.headline.brief in head
    assert "Certified to be better than the majority class" in head
    score = f"<dt>Accuracy</dt><dd>{model.score(X[sealed], y[sealed]):.4g}</dd>"
    assert score in text
    assert f"On {len(sealed)} rows that were not used for fitting" in text
    assert (
        "carries no certificate" in render(model.fit(X, y), X, y, tmp_path / "r.html").read_text()
    )


def test_an_unknown_category_is_told_once(tmp_path: Path) -> None:
    model, frame, y = fit_three("classifier")
    with pytest.warns(UnknownCategoryWarning) as caught:
        render(model, frame.assign(region="east"), y, tmp_path / "r.html")
    assert len(caught) == 1


def test_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_clf_case2(200, random_state=0)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    page = render(model, X, y, tmp_path / "r.html")
    with pytest.raises(FileExistsError, match="exists; give another name"):
        render(model, X, y, page, overwrite=False)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        render(model, X, y, tmp_path)
    with pytest.raises(TypeError, match="expected a fitted motlm estimator"):
        render(3, X, y, page)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        render(model, X, y[1:], page)
    with pytest.raises(ValueError, match="a report needs rows"):
        render(model, X[:0], y[:0], page)
    with pytest.raises(InputError, match=r"title has '\\udcff', which is not a character"):
        render(model, X, y, page, title="\udcff")
    real = builtins.__import__

    def without(name, *arguments, **keywords):
        if name.startswith("jinja2"):
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        ImportError, match=r"reports need Jinja2 and plotly: pip install 'motlm\[report\]'"
    ):
        render(model, X, y, page)


def test_large_tables_are_judged_on_all_rows_that_were_not_used() -> None:
    """Of many training rows some hashes are kept, so that few rows of a report can be looked for."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60_000, 2)), rng.poisson(0.2, size=60_000).astype(float)
    model = LocalMixtureRegressor(
        0, loss="poisson", local_models="linear", inverse_temperature=1.0
    ).fit(X[:40_000], y[:40_000])
    keys = row_keys(model.mixture_.encode(X[40_000:]), y[40_000:])
    _, checkable = model.mixture_.provenance.fingerprint.recognize(keys)
    assert 300 <= checkable.sum() < 10_000
    assert judged_rows(model, X[40_000:], y[40_000:]).all()
    mixed = judged_rows(model, X[20_000:], y[20_000:])
    assert not mixed[:20_000].any()
    assert mixed.sum() == checkable.sum()


def test_numbers_of_a_report_on_rates_do_not_contradict_each_other(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(18, 80, 3000).round(2)})
    years = rng.uniform(0.3, 1.0, 3000)
    claims = rng.poisson(years * np.exp(-0.02 * X["age"]))
    first, rest = slice(None, 1500), slice(1500, None)
    model = LocalMixtureRegressor(0, loss="poisson", random_state=0)
    model.fit(X[first], claims[first], exposure=years[first])
    given = X[rest], claims[rest]
    page = render(model, *given, tmp_path / "page.html", exposure=years[rest])
    text = page.read_text(encoding="utf-8").split("<script")[0]
    certified = audit_rates(model, *given, exposure=years[rest])
    limit = round_number(certified.deviance, True, 4)
    assert text.count(f"at most {limit}") == 2  # the bar and the certificate
    assert "Mean deviance per unit of exposure" in text
    mean = claims[rest].sum() / years[rest].sum()
    data = page.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0]
    [whole] = json.loads(data)["regions"]
    assert whole["balance"]["mean rate"] == pytest.approx(mean)
    assert "intercept</em>" not in text
    assert f"<td>{number(model.exterior_.base, 3)}</td>" in text
    assert model.exterior_.factors()[0]["text"] in text
    assert "not a standard error" in text
