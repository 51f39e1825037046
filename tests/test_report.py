"""The report: in a real browser it says what Python says, runs nothing that a name contains, and
asks nobody for anything.
"""

from __future__ import annotations

import builtins
import json
import re
import shutil
import subprocess
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import certify
from motlm.datasets import make_clf_case2
from motlm.explanations import counterfactual, explain_local
from motlm.report import render

CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
QUICK = {"inverse_temperature": 8.0, "n_starts": 2, "random_state": 0}


def opened(page: Path, script: str, tmp_path: Path) -> dict:
    """What a script finds in the page, in headless Chromium: it fills `out`."""
    text = page.read_text(encoding="utf-8")
    nonce = re.search(r"script-src 'nonce-([^']+)'", text)[1]
    listener = f"""<script nonce="{nonce}">
      window.found = {{ violations: [], alerts: 0 }};
      const noted = (event) => found.violations.push(`${{event.violatedDirective}} ${{event.blockedURI}}`);
      document.addEventListener("securitypolicyviolation", noted);
      window.alert = () => {{ found.alerts += 1; }};
    </script>"""
    harness = f"""<pre id="harness-out"></pre><script nonce="{nonce}">
      setTimeout(() => {{
        let out; try {{ out = (() => {{ {script} }})(); }} catch (error) {{ out = {{ error: String(error) }}; }}
        document.getElementById("harness-out").textContent = JSON.stringify({{ ...found, out }});
      }}, 3000);
    </script></body>"""
    tried = tmp_path / "tried.html"
    tried.write_text(
        text.replace("<head>", "<head>" + listener, 1).replace("</body>", harness, 1),
        encoding="utf-8",
    )
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--virtual-time-budget=15000",
    ]
    command = [
        CHROMIUM,
        *options,
        f"--user-data-dir={tmp_path / 'profile'}",
        "--dump-dom",
        tried.as_uri(),
    ]
    dom = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    found = re.search(r'<pre id="harness-out">(.*?)</pre>', dom, re.DOTALL)[1]
    result = json.loads(
        found.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")
    )
    assert not result["violations"], result["violations"]
    assert result["alerts"] == 0
    assert "error" not in (result["out"] or {}), result["out"]
    return result["out"]


def table(rng: np.random.Generator, n: int = 500) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "income": rng.lognormal(1, 0.5, n),
            "children": rng.integers(0, 5, n),
            "region": rng.choice(["north", "south", "west"], n),
        }
    )


def fitted(kind: str, overlap: str = "nearest", metric: str = "euclidean"):
    """Models with three balls that overlap, made by hand from a fit: what a search finds does not
    matter here.
    """
    rng = np.random.default_rng(0)
    frame = table(rng)
    inside = np.abs(frame["age"] - 40) < 8
    score = np.where(inside, frame["income"] - 2.7, 2.7 - frame["income"]) + 0.1 * (
        frame["region"] == "west"
    )
    points = frame[:3].assign(
        age=[36.0, 40.0, 45.0],
        income=[2.5, 2.7, 3.0],
        children=2,
        region=["north", "south", "north"],
    )
    options = {"points_of_interest": points[1:2], "overlap": overlap, "metric": metric, **QUICK}
    if kind == "classifier":
        model, y = (
            LocalMixtureClassifier(**options),
            np.where(score + 0.1 * rng.normal(size=500) > 0, "yes", "no"),
        )
    else:
        model, y = LocalMixtureRegressor(**options), score + 0.1 * rng.normal(size=500)
    model.fit(frame, y)
    [_] = model.localities_
    law = model.posterior_.keep([0, 0, 0])
    model.posterior_ = replace(
        law,
        coef=law.coef + rng.normal(size=law.coef.shape),
        intercept=law.intercept + rng.normal(size=4),
    )
    encoded = model._encode(points)
    model._fitted = replace(model._fitted, points=model._fitted.units.standardized(encoded))
    model._radius = np.array([1.8, 2.2, 2.6]) * (2.0 if metric == "manhattan" else 1.0)
    model._store_localities(
        np.array([1, 1, 1, 1]), encoded, [0, 1, 2], model.exterior_.feature_names
    )
    return model, frame, y


def asked_rows(model, rng: np.random.Generator) -> pd.DataFrame:
    """Random rows, and rows just inside and outside of each ball along one column."""
    rows = [table(rng, 160)]
    units = model._fitted.units
    for one in model.localities_:
        edge = table(rng, 20)
        for k in range(20):
            place = model._encode(edge[k : k + 1])[0]
            gap = (place - one.center) * units.inverse_scale
            gap[0] = 0.0
            inside = one.radius**2 - gap @ gap
            if inside > 0 and model.metric == "euclidean":
                nudge = (1 + 1e-9) if k % 2 else (1 - 1e-9)
                edge.loc[edge.index[k], "age"] = (
                    one.center[0] + np.sqrt(inside) * nudge / units.inverse_scale[0]
                )
        rows.append(edge)
    return pd.concat(rows, ignore_index=True)


KINDS = [
    ("classifier", "nearest", "euclidean"),
    ("classifier", "mean", "manhattan"),
    ("regressor", "nearest", "euclidean"),
    ("regressor", "mean", "mahalanobis"),
]


@in_browser
@pytest.mark.parametrize(("kind", "overlap", "metric"), KINDS)
def test_the_page_says_what_python_says(
    kind: str, overlap: str, metric: str, tmp_path: Path
) -> None:
    model, frame, y = fitted(kind, overlap, metric)
    page = render(model, frame, y, tmp_path / "report.html")
    rows = asked_rows(model, np.random.default_rng(1))
    assert len(rows) >= 200
    assert model.ambiguous(rows).any()
    cases = json.dumps(rows.to_dict("records"))
    script = (
        f"return {{ all: {cases}.map((row) => {{ const e = motlm.evaluate(row); return {{ ...e, x:"
        " null, z: null }; }) };"
    )
    said = opened(page, script, tmp_path)["all"]
    explanation = explain_local(model, rows)
    for i, one in enumerate(said):
        python = explanation[i]
        assert one["speaker"] == python.speaker
        assert one["prediction"] == (
            python.prediction
            if kind == "classifier"
            else pytest.approx(python.prediction, abs=1e-9)
        )
        assert one["spoken"] == pytest.approx(python.score, abs=1e-9)
        assert one["base"] == pytest.approx(python.base, abs=1e-9)
        assert one["contradicted"] == python.contradicted
        assert one["member"] == [entry["applies"] for entry in python.models[:-1]]
        assert one["distance"] == pytest.approx(
            [entry["distance"] for entry in python.models[:-1]], abs=1e-9
        )
        assert one["score"] == pytest.approx([entry["score"] for entry in python.models], abs=1e-9)
        for name, value in python.contributions.items():
            assert one["contributions"][name] == pytest.approx(value, abs=1e-9)


@in_browser
def test_the_page_finds_the_same_changes(tmp_path: Path) -> None:
    model, frame, y = fitted("classifier")
    page = render(model, frame, y, tmp_path / "report.html")
    rows = frame[:60]
    cases = json.dumps(rows.to_dict("records"))
    script = (
        f"return {{ all: {cases}.map((row) => motlm.counterfactual(row, new Set(['children']),"
        " null)) };"
    )
    said = opened(page, script, tmp_path)["all"]
    features = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])[
        "features"
    ]
    found = 0
    for i, one in enumerate(said):
        row, ranges = (
            rows.iloc[i],
            {f["name"]: (f["low"], f["high"]) for f in features if f["levels"] is None},
        )
        limits = {
            name: (min(low, row[name]), max(high, row[name]))
            for name, (low, high) in ranges.items()
            if name != "children"
        }
        python = counterfactual(model, rows[i : i + 1], fixed=["children", "region"], bounds=limits)
        assert one["found"] == (python.found and python.exact)
        if one["found"]:
            found += 1
            assert one["after"]["age"] == pytest.approx(python.after["age"], rel=1e-7)
            assert one["after"]["income"] == pytest.approx(python.after["income"], rel=1e-7)
            assert one["prediction"] == python.prediction_after
    assert found > 10


@in_browser
@pytest.mark.parametrize("rounded", [("children",), ("age", "income", "children")])
def test_the_page_moves_whole_numbers_in_whole_steps(
    rounded: tuple[str, ...], tmp_path: Path
) -> None:
    """Found where Python finds one, nearly as near; in whole numbers; and the answer is what it
    says.
    """
    model, frame, y = fitted("classifier")
    frame = frame.assign(**{name: frame[name].round() for name in rounded})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = model.fit(frame, y)
    page = render(model, frame, y, tmp_path / "report.html")
    rows = frame[:60]
    script = (
        f"return {{ all: {json.dumps(rows.to_dict('records'))}.map((row) =>"
        " motlm.counterfactual(row, new Set(), null)) };"
    )
    said = opened(page, script, tmp_path)["all"]
    features = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])[
        "features"
    ]
    assert {f["name"] for f in features if f["levels"] is None and f["whole"]} == set(rounded)
    scale = frame[["age", "income", "children"]].std()
    found, ratios = 0, []
    for i, one in enumerate(said):
        row, ranges = (
            rows.iloc[i],
            {f["name"]: (f["low"], f["high"]) for f in features if f["levels"] is None},
        )
        limits = {
            name: (min(low, row[name]), max(high, row[name]))
            for name, (low, high) in ranges.items()
        }
        python = counterfactual(
            model, rows[i : i + 1], fixed=["region"], bounds=limits, integer=list(rounded)
        )
        if not one["found"]:
            assert not (python.found and python.exact and one["reason"].startswith("no case")), one[
                "reason"
            ]
            continue
        found += 1
        after = pd.DataFrame([one["after"]])[list(frame.columns)].astype(frame.dtypes.to_dict())
        assert all(float(after[name].iloc[0]).is_integer() for name in rounded)
        assert model.predict(after)[0] == one["prediction"] != model.predict(rows[i : i + 1])[0]
        if python.found:
            moved = [
                np.sqrt(
                    sum(((float(to[name]) - row[name]) / scale[name]) ** 2 for name in scale.index)
                )
                for to in (one["after"], python.after)
            ]
            ratios.append(moved[0] / moved[1])
    assert found > 10
    assert np.median(ratios) < 1.05
    assert max(ratios) < 3


@in_browser
def test_a_person_can_use_it(tmp_path: Path) -> None:
    """Typing changes the answer, rows are sorted and filtered, charts are drawn, and all of it is
    reached by the keyboard.
    """
    model, frame, y = fitted("classifier")
    page = render(
        model, frame, y, tmp_path / "report.html", title="Credit", include_rows=True, max_rows=200
    )
    script = """
      const whole = () => document.getElementById("said").textContent + document.getElementById("answer").textContent;
      const first = whole();
      const age = document.getElementById("field-0");
      age.value = "71.5"; age.dispatchEvent(new Event("input"));
      const second = whole();
      age.value = ""; age.dispatchEvent(new Event("input"));
      const empty = whole();
      document.getElementById("reset").click();
      const again = whole();
      const use = [...document.querySelectorAll("#answer button")].find((b) => b.textContent === "Use these values");
      const label = document.getElementById("said").textContent;
      if (use) use.click();
      const used = use ? document.getElementById("said").textContent : null;
      const body = document.querySelector("#rows-table tbody");
      const total = body.rows.length;
      document.querySelectorAll("#rows-table th button")[5].click();
      const ages = [...body.rows].map((row) => Number(row.cells[5].textContent));
      const only = document.getElementById("only-ambiguous");
      only.checked = true; only.dispatchEvent(new Event("change"));
      const mouse = [...document.querySelectorAll("[onclick], div[role=button]")].length;
      const charts = document.querySelectorAll(".chart svg.main-svg").length;
      const wide = document.documentElement.scrollWidth <= innerWidth;
      return { first, second, empty, again, total, ages, ambiguous: body.rows.length, mouse, charts, wide, label, used };
    """
    out = opened(page, script, tmp_path)
    assert out["first"] == out["again"] != out["second"]
    assert out["empty"] == "age: give a number."
    assert (
        out["used"] is None or out["used"].split(",")[0] != out["label"].split(",")[0]
    )  # the change does what it says
    assert out["total"] == 200
    assert out["ages"] == sorted(out["ages"])
    rows = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])[
        "rows"
    ]["rows"]
    assert out["ambiguous"] == sum(row[4] for row in rows)
    assert out["mouse"] == 0
    assert out["charts"] >= len(model.localities_) + 1
    assert out["wide"]


NASTY = [
    "<script>alert(1)</script>",
    '"}};alert(2);//',
    "<img src=x onerror=alert(3)>",
    "</script><b>",
    "{{ 7 * 7 }}",
    "a & b",
]


@in_browser
def test_names_run_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.normal(size=120) for name in NASTY[:4]})
    frame[NASTY[4]] = rng.choice(NASTY, 120)
    y = np.where(frame[NASTY[0]] > 0, NASTY[2], NASTY[5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, _ = certify(
            LocalMixtureClassifier(points_of_interest=frame[:1], **QUICK),
            frame,
            y,
            population=NASTY[0],
        )
    page = render(model, frame, y, tmp_path / "report.html", title=NASTY[0], include_rows=True)
    count = "images: document.images.length, bold: document.querySelectorAll('main b').length"
    out = opened(page, f"return {{ text: document.body.textContent, {count} }};", tmp_path)
    for name in NASTY:
        assert name in out["text"]
    assert out["images"] == 0
    assert out["bold"] == 0


def test_one_small_file_without_network(tmp_path: Path) -> None:
    model, frame, y = fitted("regressor")
    page = render(model, frame, y, tmp_path / "deep" / "report.html")
    text = page.read_text()
    assert page.stat().st_size < 5e6
    assert "default-src 'none'" in text
    packed = text.index('id="plotly"')
    assert not re.search(r'(?:src|href)="https?:', text[:packed])
    assert [path.name for path in page.parent.iterdir()] == ["report.html"]
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["rows"] is None
    assert all(region["typical"] == [] for region in data["regions"])
    assert data["map"] is None or data["map"]["rows"] is None
    for column in (frame["age"], frame["income"], pd.Series(y)):  # no row can be read from it
        for value in column:
            assert f"{value!r}" not in text
    one = render(model, frame[:1], y[:1], tmp_path / "one.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', one, re.DOTALL)[1])
    assert all(value is None for region in data["regions"] for value in region["balance"].values())


def test_what_the_first_screen_says(tmp_path: Path) -> None:
    X, y = make_clf_case2(random_state=0)
    model, certificate = certify(
        LocalMixtureClassifier(
            points_of_interest=[[-1.4, 0.0], [0.0, 0.75], [1.4, 0.0]], standardize=False, **QUICK
        ),
        X,
        y,
    )
    text = render(model, X, y, tmp_path / "r.html").read_text()
    head = text[: text.index("<main>")]
    assert certificate.headline.sentence in head
    assert "3 local linear models" in head
    assert "the model was made from 50 % of them" in head
    assert f"{model.score(X, y):.4g}" in head
    sealed = np.random.default_rng(0).permutation(len(y))[: len(y) // 2]
    assert (
        f"accuracy on {len(sealed)} rows that it was not made"
        f" from</dt><dd>{model.score(X[sealed], y[sealed]):.4g}" in head
    )
    assert (
        "carries no certificate" in render(model.fit(X, y), X, y, tmp_path / "r.html").read_text()
    )


def test_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_clf_case2(200, random_state=0)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    page = render(model, X, y, tmp_path / "r.html")
    with pytest.raises(FileExistsError, match="exists; give another name"):
        render(model, X, y, page, overwrite=False)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        render(model, X, y, tmp_path)
    with pytest.raises(TypeError, match="explanations are of motlm's estimators"):
        render(3, X, y, page)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        render(model, X, y[1:], page)
    with pytest.raises(ValueError, match="a report needs rows"):
        render(model, X[:0], y[:0], page)
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
