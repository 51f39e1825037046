"""Exports and pages of additive models: they answer as Python does, and pages draw the curves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import in_browser, open_page, open_pages
from made import with_localities, with_mixture
from sklearn.datasets import load_diabetes
from test_exports import DIALECTS, compile_python, parse, query, run_query, without_collations
from test_report import data_of, same, script_of

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.explanations import explain_local
from motlm.exports import ExportError
from motlm.report import render

QUICK = {
    "inverse_temperature": 8.0,
    "n_starts": 1,
    "random_state": 0,
    "local_models": "additive",
}
KINDS = ("regression", "two labels", "three labels", "rate")
NAME, LEVEL = 'a "quoted" name', "it's"
LABELS = np.array(["a\\'; --", "it's", 'ü\n"b"'])
NUMBERS = [NAME, "income", "children"]


def table(n: int = 400) -> tuple[pd.DataFrame, Any]:
    """Columns of very different units that bend, one of whole numbers, one of categories."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            NAME: rng.uniform(20, 70, n),
            "income": 1e6 + 1e3 * rng.lognormal(1, 0.5, n),
            LEVEL: rng.choice(["x'y", "z", "ü"], n),
            "children": rng.integers(0, 7, n),
            "same": 2.0,
        }
    )
    age = frame[NAME].to_numpy()
    score = np.sin(age / 6) + np.abs(frame["income"].to_numpy() - 1.003e6) / 2e3
    score += 0.3 * (frame[LEVEL] == "z") + 0.2 * np.abs(frame["children"] - 3)
    inside = (np.abs(age - 45) < 12) & (frame["income"] < 1.003e6)  # curves cannot follow this
    score += np.where(inside, 4.0 + 0.1 * (age - 45), 0.0)
    return frame, np.asarray(score + 0.1 * rng.normal(size=n))


@cache
def fit(
    kind: str,
    corrections: str = "own",
    overlap: str = "nearest",
    unknown: str = "warn",
    n_localities: int = 2,
    numbers: bool = False,
) -> Any:
    """An additive model, its table and target."""
    frame, score = table()
    if numbers:
        frame = frame[NUMBERS]
    options = {"corrections": corrections, "overlap": overlap, "handle_unknown": unknown, **QUICK}
    options |= {"n_localities": min(n_localities, 1), "locality_columns": [NAME, "income"]}
    y: Any = score
    if kind == "regression":
        model: Any = LocalMixtureRegressor(**options)
    elif kind == "rate":
        model = LocalMixtureRegressor(loss="poisson", **options)
        y = np.random.default_rng(1).poisson(np.exp(0.5 * score))
    else:
        model = LocalMixtureClassifier(loss="log", **options)
        edges = [0.5] if kind == "two labels" else [0.35, 0.7]
        y = LABELS[np.digitize(score, np.quantile(score, edges))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frame, y)
    if n_localities:
        model = place_localities(model, n_localities)
    assert model.mixture_.routine().curves
    return model, frame, y


def place_localities(model: Any, n: int) -> Any:
    """As many that overlap, made by hand from one; corrections have the exterior's curves."""
    assert len(model.localities_) == 1
    mixture, rng = model.mixture_, np.random.default_rng(3)
    points = np.zeros((n, len(mixture.inputs.names)))
    points[:, 0] = [-0.2, 0.4][:n]
    points[:, 1] = -0.3
    made = with_localities(model, points, mixture.geometry.radius[0] * np.ones(n) + 0.1, rng)
    posterior = made.mixture_.posterior
    if not posterior.pooled:
        return made
    coef, flags = posterior.coef, posterior.layout.corrected > 0
    flags = flags[:, None] if coef.ndim > 2 else flags
    corrected = np.where(flags, coef[:-1], coef[-1:])
    return with_mixture(
        made, posterior=replace(posterior, coef=np.concatenate([corrected, coef[-1:]]))
    )


def asked(model: Any, frame: pd.DataFrame, furthest: float = 10.0) -> pd.DataFrame:
    """Rows, rows at knots and beside them, far beyond them, and an unknown category."""
    routine, rng = model.mixture_.routine(), np.random.default_rng(2)
    names = routine.names
    rows = [frame[:100]]
    for factor in (1.0, 1.0 + 1e-12, 1.0 - 1e-12):
        knots = frame[:70].copy().astype({"children": float})
        for curve in routine.curves:
            knots[names[curve.column]] = np.resize(curve.knots, 70) * factor
        rows.append(knots)
    far = frame[:60].copy()
    for name in NUMBERS:
        far[name] = far[name] + np.ptp(frame[name]) * rng.uniform(-furthest, furthest, 60)
    made = pd.concat([*rows, far], ignore_index=True)
    if LEVEL in made and not routine.refuses_unknown:
        made.loc[made.index[::7], LEVEL] = "new"
    return made


def predict(model: Any, rows: pd.DataFrame) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # categories that fit did not see
        return model.predict(rows)


def agree(found: Any, expected: Any) -> None:
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=1e-9, atol=1e-9)
    else:
        assert list(found) == expected.tolist()


CASES = [
    (kind, corrections, overlap)
    for kind in KINDS
    for corrections, overlap in (("own", "nearest"), ("none", "nearest"), ("own", "mean"))
] + [("regression", "none", "mean"), ("three labels", "none", "mean")]


@pytest.mark.parametrize("case", CASES)
def test_python_and_sql_predict_alike(case: Any) -> None:
    model, frame, _ = fit(*case)
    rows = asked(model, frame)
    expected, answer = predict(model, rows), compile_python(model)
    agree([answer(row) for row in rows.to_dict("records")], expected)
    agree(query("sqlite", rows, model.to_sql()), expected)
    pytest.importorskip("duckdb")
    agree(query("duckdb", rows, model.to_sql("duckdb")), expected)


@pytest.mark.parametrize("case", CASES)
def test_onnx_predicts_alike(case: Any) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, frame, _ = fit(*case, numbers=True)
    rows = asked(model, frame).to_numpy(dtype=float)
    session = runtime.InferenceSession(model.to_onnx().SerializeToString())
    found = session.run(None, {"X": rows})
    frame = pd.DataFrame(rows, columns=NUMBERS)
    agree(found[0] if len(found) == 1 else model.classes_[found[1]], predict(model, frame))
    if len(found) == 2:
        score = model.mixture_.view(model.mixture_.encode(frame)).score
        np.testing.assert_allclose(found[0], score.T, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_localities", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_few_models(kind: str, n_localities: int) -> None:
    model, frame, _ = fit(kind, n_localities=n_localities)
    rows = asked(model, frame)
    expected = predict(model, rows)
    agree([compile_python(model)(row) for row in rows[:50].to_dict("records")], expected[:50])
    agree(query("sqlite", rows, model.to_sql()), expected)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", KINDS)
def test_dialects(dialect: str, kind: str) -> None:
    """Translated for a database that is at hand; all numbers are doubles."""
    exp = pytest.importorskip("sqlglot.expressions")
    model, frame, _ = fit(kind, numbers=True)
    rows = asked(model, frame)[::3]
    tree = parse(model.to_sql(dialect=dialect), dialect)
    agree(run_query("sqlite", rows, without_collations(tree).sql("sqlite")), predict(model, rows))
    knots = {abs(float(one)) for curve in model.mixture_.routine().curves for one in curve.knots}
    texts = [one.this for one in tree.find_all(exp.Literal) if one.this not in LABELS]
    numbers = [text for text in texts if text not in ("0", "0.0", "1.0")]
    assert knots <= {float(text) for text in numbers}
    assert all("e" in text.lower() for text in numbers)


@pytest.mark.parametrize("kind", KINDS)
def test_shared_curves_are_written_once(kind: str) -> None:
    """Corrections have the exterior's curves, independent models their own."""
    shared, own = (fit(kind, corrections)[0] for corrections in ("own", "none"))
    for model, times in ((shared, 1), (own, 3)):
        curve = model.mixture_.routine().curves[0]
        last = re.escape(f"{float(curve.knots[-1])!r}")
        pairs = 3 if kind == "three labels" else 1
        assert len(re.findall(rf"<= {last}", model.to_sql())) == times * pairs
    assert len(shared.to_python()) < 0.8 * len(own.to_python())


@pytest.mark.parametrize("kind", KINDS)
def test_missing_and_refused_values(kind: str) -> None:
    model, frame, _ = fit(kind, unknown="error")
    answer, row = compile_python(model), frame[:1].to_dict("records")[0]
    for value in (None, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="is missing or infinite"):
            answer({**row, "income": value})
    with pytest.raises(ValueError, match="unknown category 'new'"):
        answer({**row, LEVEL: "new"})
    holes = frame[:3].astype(object)
    holes.iloc[0, 1] = None
    holes.iloc[1, 2] = "new"
    holes = holes.astype({NAME: float, "income": float, "children": float, "same": float})
    found = query("sqlite", holes, model.to_sql())
    assert found[:2] == [None, None]
    agree(found[2:], model.predict(frame[2:3]))


def test_python_needs_nothing(tmp_path: Path) -> None:
    model, frame, _ = fit("regression")
    script = tmp_path / "answers.py"
    call = f"\nprint([answer(row) for row in {frame[:20].to_dict('records')!r}])\n"
    script.write_text(model.to_python("answer") + call, encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(script)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    agree(json.loads(done.stdout), model.predict(frame[:20]))


def test_too_many_labels_for_a_database() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 6)), np.arange(900) % 90
    model = LocalMixtureClassifier(0, loss="log", **QUICK).fit(X, y)
    with pytest.raises(ExportError, match=r"at least \d+ characters, more than the 900000 that"):
        model.to_sql()


# -- pages --------------------------------------------------------------------------------------

PAGES = [*CASES, ("regression", "own", "nearest", "warn", 0)]


@in_browser
def test_the_page_computes_what_python_does(tmp_path: Path) -> None:
    """Scores, answers and contributions, at knots and beyond them, too."""
    scripts, cases = [], []
    for k, case in enumerate(PAGES):
        model, frame, y = fit(*case)
        rows = asked(model, frame, 1.5)[::4]
        page = render(model, frame, y, tmp_path / f"report-{k}.html")
        scripts.append((page, script_of(rows, "motlm.evaluate")))
        cases.append((model, rows))
    for (model, rows), found in zip(cases, open_pages(scripts, tmp_path), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            explanation = explain_local(model, rows)
        for i, one in enumerate(found):
            same(one, explanation[i])


def smallest_of_one(model: Any, row: pd.Series, features: Any, reached: Any) -> float | None:
    """By trying: the least change of one number, in standardized units, that is in the same region
    and has the answer; None where there is none.
    """
    inputs, found = model.mixture_.inputs, []
    used = model.mixture_.apply(row.to_frame().T.infer_objects())[0]
    for one in features:
        if "low" not in one or one["name"] == "same":
            continue
        name = one["name"]
        low, high = min(one["low"], row[name]), max(one["high"], row[name])
        tried = (
            np.arange(np.ceil(low), high + 1e-9) if one["whole"] else np.linspace(low, high, 801)
        )
        rows = pd.DataFrame([row] * len(tried)).infer_objects()
        rows[name] = tried
        good = (model.mixture_.apply(rows) == used) & reached(model.predict(rows))
        if good.any():
            factor = inputs.units.inverse_scale[inputs.names.index(name)]
            found.append(np.abs(tried[good] - row[name]).min() * factor)
    return min(found, default=None)


QUESTIONS: list[tuple[str, str, Any]] = [
    ("two labels", "own", None),
    ("two labels", "none", None),
    ("three labels", "own", None),
    ("three labels", "none", LABELS[2]),
    ("regression", "own", 2.0),
    ("rate", "own", 1.5),
]


@in_browser
def test_changes(tmp_path: Path) -> None:
    """The page's change does what it says, and none of one number is smaller; where none of one
    number has the answer, one of several may.
    """
    several = 0
    scripts, compared = [], 0
    for k, (kind, corrections, wanted) in enumerate(QUESTIONS):
        model, frame, y = fit(kind, corrections)
        page = render(model, frame, y, tmp_path / f"report-{k}.html")
        function = f"(row) => motlm.counterfactual(row, new Set(), {json.dumps(wanted)})"
        scripts.append((page, script_of(frame[:25], function)))
    answers = open_pages(scripts, tmp_path)
    for (kind, corrections, wanted), (page, _), found in zip(
        QUESTIONS, scripts, answers, strict=True
    ):
        model, frame, _ = fit(kind, corrections)
        features, scale = data_of(page)["features"], model.mixture_.inputs.units.inverse_scale
        names = list(model.mixture_.inputs.names)
        assert sum(one["found"] for one in found) > 5
        for i, one in enumerate(found):
            row = frame.iloc[i]
            before = model.predict(frame[i : i + 1])[0]
            reached = _reached(wanted, before)
            if not one["found"] and "already" in one["reason"]:
                assert before == wanted
                continue
            least = smallest_of_one(model, row, features, reached)
            if not one["found"]:
                assert least is None, one["reason"]
                continue
            after = pd.DataFrame([one["after"]])[list(frame.columns)]
            changed = [name for name in NUMBERS if after[name].iloc[0] != row[name]]
            assert changed
            several += len(changed) > 1
            assert len(changed) == 1 or least is None
            assert model.apply(after)[0] == model.apply(frame[i : i + 1])[0]
            agree([one["prediction"]], model.predict(after))
            assert reached(model.predict(after))[0]
            gaps = [(after[k].iloc[0] - row[k]) * scale[names.index(k)] for k in changed]
            cost = float(np.linalg.norm(gaps))
            if one["smallest"] and least is not None:
                compared += 1
                # numbers have six digits
                [name] = changed
                step = 10.0 ** (np.floor(np.log10(abs(after[name].iloc[0]) + 1e-9)) - 5)
                assert cost <= least * (1 + 1e-6) + step * scale[names.index(name)]
    assert compared > 50
    assert several


def _reached(wanted: Any, before: Any) -> Callable[[Any], Any]:
    if isinstance(wanted, float):
        near = 1e-6 * (1 + abs(wanted))
        if wanted > before:
            return lambda answers: answers >= wanted - near
        return lambda answers: answers <= wanted + near
    return lambda answers: answers != before if wanted is None else answers == wanted


@in_browser
@pytest.mark.parametrize("corrections", ["own", "none"])
@pytest.mark.parametrize("kind", KINDS)
def test_curves_are_drawn_and_told(kind: str, corrections: str, tmp_path: Path) -> None:
    """A picture for each column that bends, where it differs from the exterior's, and a table with
    the points; the words say that the model is additive.
    """
    model, frame, y = fit(kind, corrections)
    page = render(model, frame, y, tmp_path / "report.html")
    script = """
      const names = (part) =>
        [...part.querySelectorAll("figcaption")].map((one) => one.textContent);
      const sections = [...document.querySelectorAll("section.region")];
      const boxes = [...document.querySelectorAll(".curve polyline")]
        .map((one) => one.getBoundingClientRect());
      const tables = [...document.querySelectorAll("#region-2 details.points table")].map((one) =>
        [...one.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)));
      return { names: sections.map(names), text: document.body.textContent, tables,
        dashed: sections.map((one) => one.querySelectorAll("polyline.outer").length),
        bands: document.querySelectorAll(".curve polygon").length,
        drawn: boxes.every(({ width, height }) => width + height > 0), lines: boxes.length,
        labels: [...document.querySelectorAll(".curve > svg")].every((one) =>
          one.getAttribute("aria-label").includes("points")),
        wide: document.documentElement.scrollWidth <= innerWidth };
    """
    out = open_page(page, script, tmp_path)
    assert "2 local additive models" in out["text"]
    assert "linear models, each" not in out["text"]
    assert sorted(out["names"][2]) == sorted(NUMBERS)
    each = 3 if kind == "three labels" else 1
    for i, one in enumerate(model.localities_):
        gap = np.atleast_2d(one.coef - model.exterior_.coef).any(axis=0)
        other = {model.mixture_.inputs.names[j] for j in np.flatnonzero(gap)} & set(NUMBERS)
        assert set(out["names"][i]) == (other if corrections == "own" else set(NUMBERS))
        assert out["dashed"][i] == each * len(out["names"][i])
    assert out["dashed"][2] == 0
    assert out["lines"] == out["bands"] + sum(out["dashed"])
    assert out["drawn"]
    assert out["labels"]
    assert out["wide"]
    letter = "g" if kind == "rate" else "f"
    assert f"{letter}({NAME})" in out["text"]
    exterior = model.exterior_
    for points in out["tables"]:  # those of the model, to the digits that are shown
        assert all(len(row) == 2 + each for row in points)
    label = model.classes_[0] if kind == "three labels" else None
    first = out["tables"][out["names"][2].index("children")]
    x = np.array([float(row[0]) for row in first])
    told = np.array([float(row[1].removeprefix("x ")) for row in first])
    value = exterior.curve("children", x, label).value
    value = np.exp(value) if kind == "rate" else value
    assert told == pytest.approx(value, rel=1e-2, abs=1e-2)


@in_browser
def test_the_form_of_an_additive_model(tmp_path: Path) -> None:
    """It says that the change gives the prediction, or that none was found."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = LocalMixtureRegressor(1, **QUICK).fit(X, y)
    page = render(model, X, y, tmp_path / "report.html", include_rows=True)
    script = """
      const at = (id) => document.getElementById(id), texts = [];
      for (const value of ["170", "100000"]) {
        at("wanted").value = value; at("wanted").dispatchEvent(new Event("input"));
        texts.push(at("answer").textContent);
      }
      return texts;
    """
    near, far = open_page(page, script, tmp_path)
    assert re.search(r"change of one number that gives 170, with everything else as it is", near)
    assert "No change of numbers that gives another answer was found" in far


@in_browser
def test_names_of_curves_run_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    nasty = ["<img src=x onerror=alert(3)>", '"><script>alert(1)</script>']
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=nasty)
    model = LocalMixtureRegressor(0, **QUICK).fit(frame, np.sin(2 * frame[nasty[0]]))
    page = render(model, frame, np.sin(2 * frame[nasty[0]]), tmp_path / "report.html")
    script = "return { text: document.body.textContent, images: document.images.length };"
    out = open_page(page, script, tmp_path)
    assert all(name in out["text"] for name in nasty)
    assert out["images"] == 0


def test_curves_in_the_file_are_the_models(tmp_path: Path) -> None:
    model, frame, y = fit("regression")
    data = data_of(render(model, frame, y, tmp_path / "report.html"))
    routine = model.mixture_.routine()
    assert [one["column"] for one in data["model"]["curves"]] == [
        one.column for one in routine.curves
    ]
    assert data["scales"] is None
