"""The page that people read: the card, the comparison, the words, and the form, on a wide screen
and on a phone.
"""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import find_axe, in_browser, open_pages
from click.testing import CliRunner
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_report import data_of, percent, script_of

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.cards import LinearReference, ModelCard, fit_reference
from motlm.certificates import Certificate, Statement, audit, certify, split
from motlm.cli._commands import motlm as command_line
from motlm.errors import InputError, ModelFileError, UnknownCategoryWarning
from motlm.explanations import explain_global
from motlm.report import render
from motlm.report._card import badge_of

QUICK = {
    "local_models": "linear",
    "inverse_temperature": 4.0,
    "n_starts": 1,
    "random_state": 0,
}
WIDTHS = (1400, 390)
LONG = "distance_driven_with_the_car_in_thousands_of_kilometers"


def table(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "power": rng.normal(100, 25, n).round(1),
            LONG: rng.gamma(3, 5, n).round(1),
            "fuel": rng.choice(["gas", "diesel", "electric"], n),
        }
    )


def cost(frame: pd.DataFrame) -> np.ndarray:
    noise = np.random.default_rng(1).normal(0, 2, len(frame))
    young = (frame["age"] < 35) & (frame["power"] > 95)
    extra = np.where(young, 0.6 * (frame["power"] - 95) - 9, 0)
    return 20 + 0.1 * frame["age"] + 0.05 * frame["power"] + extra + noise


def run(*arguments: Any, code: int = 0) -> Any:
    result = CliRunner().invoke(command_line, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Path]]:
    """A model and a page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    frame, made = table(), {}
    y = np.asarray(cost(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        def keep(name: str, estimator: Any, X: Any, target: Any) -> None:
            model, _ = certify(estimator, X, target)
            made[name] = model, render(model, X, target, folder / f"{name}.html", title=name)

        where = {"locality_columns": ["age", "power"], "locality_features": 2}
        keep("labels", LocalMixtureClassifier(0, **QUICK), frame, np.where(y > 30, "high", "low"))
        keep("numbers", LocalMixtureRegressor(1, **where, **QUICK), frame, y)
        bent = {**QUICK, "local_models": "additive"}
        keep("curves", LocalMixtureRegressor(0, **bent), frame, np.sin(frame["power"] / 15) + 0 * y)
        X, kinds = load_iris(return_X_y=True, as_frame=True)
        names = np.array(["setosa", "versicolor", "virginica"])[kinds]
        keep("kinds", LocalMixtureClassifier(1, **QUICK), X, names)
        years = np.random.default_rng(2).uniform(0.3, 1, len(frame))
        claims = np.random.default_rng(3).poisson(years * np.exp(0.02 * (50 - frame["age"])))
        rate = LocalMixtureRegressor(1, loss="poisson", **QUICK)
        rate.fit(frame[:250], claims[:250], exposure=years[:250])
        rest = frame[250:], claims[250:], folder / "rates.html"
        made["rates"] = rate, render(rate, *rest, exposure=years[250:], title="rates")
    return made


# -- the card --------------------------------------------------------------------------------------


def test_the_card_says_whose_model_it_is_and_which_rows_it_comes_from(tmp_path: Path) -> None:
    """Also from the file of the model, and what is given later replaces it."""
    frame = table(300)
    frame.insert(0, "client", [f"c{k}" for k in range(300)])
    frame["claim"] = np.where(cost(frame) > 30, "yes", "no")
    text = frame.astype(object)
    text.loc[3:5, "power"] = ""
    text.loc[7, "claim"] = ""
    text.to_csv(tmp_path / "cars.csv", index=False)
    model, page = tmp_path / "m.json", tmp_path / "r.html"
    options = ["--local-models", "linear", "--localities", "0", "--missing", "impute"]
    run(
        *("fit", tmp_path / "cars.csv", "--target", "claim", "--id", "client", "--drop", "fuel"),
        *(*options, "--owner", "A. Smith", "--intended-use", "To <rank> cases."),
        *("--model", model, "--report", page),
    )
    shown = page.read_text(encoding="utf-8")
    pairs = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", shown))
    assert pairs["Predicts"] == "claim: no or yes"
    assert pairs["Owner"] == "A. Smith"
    assert pairs["Intended use"] == "To &lt;rank&gt; cases."
    assert re.fullmatch(r"209 rows, on \d{4}-\d\d-\d\d", pairs["Fitted to"])
    assert pairs["This report"].endswith(
        "90 rows; those of the certificate; none of them was used for fitting"
    )
    assert pairs["Table"] == "cars.csv, 300 rows"
    assert (pairs["Rows left out"], pairs["Rows fitted to"]) == ("1 (1 without a target)", "209")
    assert pairs["Rows sealed for the certificate"] == "90"
    assert pairs["Columns used"] == "3: 3 of numbers, 0 of categories"
    assert set(pairs["Columns left out"].split(", ")) == {"client", "fuel"}
    assert pairs["Missing values"] == "3 in 299 rows: power 3"
    kept = motlm.load(model).table_
    assert (kept.card.owner, kept.card.missing) == ("A. Smith", {"power": 3})
    assert (kept.card.n_without_target, kept.card.n_set_aside, kept.card.n_incomplete) == (1, 0, 0)
    frame.to_csv(tmp_path / "later.csv", index=False)
    later = ["report", model, tmp_path / "later.csv", "-o", page, "--force"]
    run(*later, "--owner", "B. Jones")
    pairs = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page.read_text(encoding="utf-8")))
    assert (pairs["Owner"], pairs["Intended use"]) == ("B. Jones", "To &lt;rank&gt; cases.")


def badge(page: Path) -> tuple[str, str]:
    text = page.read_text(encoding="utf-8")
    return re.search(r'class="certificate (\w+)"', text)[1], re.search(
        r"</span> <strong>(.*?)</strong>", text
    )[1]


@pytest.mark.filterwarnings("ignore")
def test_the_badge(tmp_path: Path) -> None:
    frame = table(300)
    y = np.where(cost(frame) > 30, "high", "low")
    noise = np.random.default_rng(5).choice(["a", "b"], 300)
    estimator, page = LocalMixtureClassifier(0, **QUICK), tmp_path / "r.html"
    good, _ = certify(estimator, frame, y)
    assert badge(render(good, frame, y, page)) == (
        "green",
        "Certified to be better than the majority class",
    )
    color, meaning = badge(render(certify(estimator, frame, noise).model, frame, noise, page))
    assert color in ("amber", "red")
    assert re.search("not shown to be better than|Worse than", meaning)
    plain = LocalMixtureClassifier(0, **QUICK).fit(frame[:200], y[:200])
    assert badge(render(plain, frame[200:], y[200:], page))[0] == "amber"
    assert badge(render(plain, frame[:200], y[:200], page)) == (
        "red",
        "Not certified, and rows may have been used for fitting",
    )
    certificate = good.certificate_
    good.fit(frame, y)
    good.certificate_ = certificate
    assert badge(render(good, frame, y, page)) == ("red", "Certificate void")


def statement(name: str, value: float, **more: Any) -> Statement:
    code = {"hold-out": "C1", "gain": "C6", "explained": "R2"}[name]
    name_of = {"baseline_name": "the majority class"} | more
    return Statement(code, name, value, 0.3, 500, 0.05, "errs", "fixed", **name_of)


@pytest.mark.parametrize(
    ("gains", "color"),
    [
        ([statement("gain", 0.02)], "green"),
        ([statement("gain", -0.01, flags=("NOT BETTER THAN THE MAJORITY CLASS",))], "amber"),
        ([statement("explained", 0.2, flags=("LARGE ERRORS ARE NOT COUNTED IN FULL",))], "amber"),
        ([statement("gain", 0.1, baseline_name="one linear model for all rows")], "amber"),
        ([], "amber"),
    ],
)
def test_the_badge_says_no_more_than_the_statements(gains: Any, color: str) -> None:
    """A limit of 36.8 % beside 37.8 % observed of the majority class is not a certified gain."""
    headline = statement("hold-out", 0.368, baseline=0.378)
    certificate = Certificate((headline, *gains), 0.05, True, "", "", 0)
    found = badge_of(certificate, "", True, [{"value": 0.3}, {"value": 0.378}])
    assert found.color == color
    aside = any("LARGE ERRORS" in flag for one in gains for flag in one.flags)
    assert ("not shown" in found.meaning) == (color == "amber" and not aside)
    assert ("large errors aside" in found.meaning) == aside


def test_rates_are_certified_on_the_rows_of_the_page(pages: Any, tmp_path: Path) -> None:
    """Unless they were used for fitting."""
    model, page = pages["rates"]
    color, meaning = badge(page)
    text = page.read_text(encoding="utf-8")
    ends = re.search(r"actual over expected is between ([\d.]+) and ([\d.]+) in the long run", text)
    low, high = map(float, ends.groups())
    assert low < high
    assert (color == "red") == (not low <= 1 <= high or "Worse" in meaning)
    assert "Without that assumption" in text
    frame, years = table(), np.random.default_rng(2).uniform(0.3, 1, 400)
    claims = np.random.default_rng(3).poisson(years * np.exp(0.02 * (50 - frame["age"])))
    used = frame[:250], claims[:250], tmp_path / "r.html"
    assert badge(render(model, *used, exposure=years[:250])) == (
        "red",
        "Not certified: rows were used for fitting",
    )


# -- the comparison --------------------------------------------------------------------------------


def test_limits_on_bars_are_those_of_the_badge(pages: Any) -> None:
    """The same digits, for what is seen of the majority class, too."""
    text = pages["labels"][1].read_text(encoding="utf-8")
    limit, constant = re.search(
        r"errs on at most ([\d.]+ %).*?; the majority class errs on ([\d.]+ %)", text
    ).groups()
    assert f"certified at most {limit}<" in text
    assert f'role="cell">{constant}<' in text


def bars(page: Path) -> dict[str, tuple[float, float | None]]:
    """Of each predictor: what is seen, and the limit, in percent."""
    text = page.read_text(encoding="utf-8")
    rows = re.findall(
        r'role="rowheader">(.*?)</span>.*?role="cell">([\d.]+)(?: %)?'
        r'(?:<span class="note">, certified at most ([\d.]+))?',
        text,
    )
    return {name: (float(seen), float(limit) if limit else None) for name, seen, limit in rows}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_the_linear_model_is_fitted_to_the_same_rows(kind: str, tmp_path: Path) -> None:
    """And judged on the same rows as the model, with the limit of a certificate of its own."""
    frame = table(300)
    y = np.asarray(cost(frame))
    options: dict[str, Any] = {}
    simple: Any = make_pipeline(StandardScaler(), LinearRegression())
    estimator: Any = LocalMixtureRegressor(0, **QUICK)
    if kind == "labels":
        y, simple = (
            np.where(y > 30, "high", "low"),
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        )
        estimator = LocalMixtureClassifier(0, **QUICK)
    model, certificate = certify(estimator, frame, y)
    first, kept = split(len(y))
    encoded = model.mixture_.encode(frame)
    answers = simple.fit(encoded[first], y[first]).predict(encoded[kept])
    if kind == "labels":
        wrong = answers != y[kept]
        constant = np.mean(y[kept] != pd.Series(y[kept]).mode()[0])
    else:
        options = {"tolerance": certificate.headline.details["tolerance"]}
        wrong = np.abs(answers - y[kept]) > options["tolerance"]
        constant = np.mean(np.abs(y[kept] - y[first].mean()) > options["tolerance"])
    page = tmp_path / "r.html"
    render(model, frame, y, page, X_train=frame.iloc[first], y_train=y[first])
    found = bars(page)
    delta = certificate.headline.delta
    rival = audit(simple, encoded[kept], y[kept], spend={certificate.headline.name: delta},
                  delta=delta, **options, **({"clip": 10.0} if options else {}))  # fmt: skip
    seen, limit = found["one linear model"]
    # what is seen is rounded to the nearest, as in certificates
    assert seen == pytest.approx(100 * wrong.mean(), abs=0.0501)
    assert limit == pytest.approx(100 * rival.headline.value, abs=0.11)
    own = found["This model"]
    assert own[0] == pytest.approx(100 * certificate.headline.empirical, abs=0.0501)
    assert own[1] == pytest.approx(100 * certificate.headline.value, abs=0.11)
    assert list(found.values())[-1][0] == pytest.approx(100 * constant, abs=0.0501)
    score = explain_global(
        model, frame.iloc[kept], y[kept], X_train=frame.iloc[first], y_train=y[first]
    ).linear_score
    assert score == pytest.approx(model.mixture_.target.measure(y[kept], answers))
    render(model, frame, y, page)
    assert "one linear model" not in bars(page)
    assert "One linear model is not shown" in page.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="give both X_train and y_train"):
        render(model, frame, y, page, X_train=frame)


def test_the_command_line_keeps_the_linear_model(tmp_path: Path) -> None:
    """In the file of the model, to the last bit; and its figure is that of the page."""
    frame = table(300).assign(cost=np.asarray(cost(table(300))))
    frame.to_csv(tmp_path / "cars.csv", index=False)
    options = ["--local-models", "linear", "--localities", "0", "--target", "cost"]
    model, page = tmp_path / "m.json", tmp_path / "r.html"
    run("fit", tmp_path / "cars.csv", *options, "--model", model, "--report", page)
    loaded = motlm.load(model)
    linear = loaded.table_.linear
    first, kept = split(300)
    encoded = loaded.mixture_.encode(frame.drop(columns="cost").astype({"age": float}))
    again = fit_reference(loaded.mixture_.target, encoded[first], frame["cost"].to_numpy()[first])
    np.testing.assert_array_equal(linear.coef, again.coef)
    assert (linear.n_rows, linear.usual) == (210, again.usual)
    text = page.read_text(encoding="utf-8")
    assert "The linear model was fitted to the same 210 rows as this model." in text
    off = np.abs(again.predict(encoded[kept]) - frame["cost"].to_numpy()[kept])
    tolerance = loaded.certificate_.headline.details["tolerance"]
    assert bars(page)["one linear model"][0] == pytest.approx(
        100 * np.mean(off > tolerance), abs=0.06
    )
    content = json.loads(model.read_text())
    for name, value, match in (
        ("coef", [[1.0]], "table.linear.coef should have shape"),
        ("n_rows", 0, "table.linear.n_rows should be an integer"),
    ):
        damaged = json.loads(json.dumps(content))
        damaged["table"]["linear"][name] = value
        with pytest.raises(ModelFileError, match=match):
            _load(damaged, tmp_path)
    damaged = json.loads(json.dumps(content))
    damaged["table"]["card"]["n_read"] = 1
    with pytest.raises(ModelFileError, match="n_read should be at least n_fitted"):
        _load(damaged, tmp_path)


def _load(content: dict[str, Any], folder: Path) -> Any:
    from motlm.files import checksum

    content.pop("checksum")
    path = folder / "damaged.json"
    path.write_text(json.dumps({**content, "checksum": checksum(content)}))
    return motlm.load(path)


@pytest.mark.parametrize("link", ["sign", "largest", "identity", "log"])
def test_a_linear_reference(link: str) -> None:
    """It predicts what scikit-learn's model predicts, from which it was taken."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1.0, 100.0, 0.01] + [0.0, 50.0, 1.0]
    score = X[:, 0] + X[:, 1] / 100
    y: Any = {
        "sign": np.where(score > 0.5, "b", "a"),
        "largest": np.array(["a", "b", "c"])[np.digitize(score, [0, 1])],
        "identity": score,
        "log": rng.poisson(np.exp(0.3 * score)),
    }[link]
    loss = {"loss": "poisson"} if link == "log" else {}
    kind = LocalMixtureClassifier if link in ("sign", "largest") else LocalMixtureRegressor
    target = kind(0, **loss, **QUICK).fit(X, y).mixture_.target
    one, theirs = fit_reference(target, X, y), target.simple_model().fit(X, y)
    assert isinstance(one, LinearReference)
    assert one.link == link
    codes = one.predict(X)
    if target.classes is None:
        np.testing.assert_allclose(codes, theirs.predict(X), rtol=1e-9)
        assert one.usual == pytest.approx(y.mean())
    else:
        assert target.classes[codes].tolist() == theirs.predict(X).tolist()
        np.testing.assert_allclose(one.probabilities(X), theirs.predict_proba(X), atol=1e-9)
        labels, counts = np.unique(y, return_counts=True)
        assert target.classes[int(one.usual)] == labels[counts.argmax()]


def test_a_linear_reference_is_balanced_as_the_model_is() -> None:
    X, y = load_iris(return_X_y=True)
    rare = (y == 2).astype(int)[50:]  # half of them
    X, rare = X[50:][20:], rare[20:]  # 30 of one, 50 of the other
    model = LocalMixtureClassifier(0, class_weight="balanced", **QUICK).fit(X, rare)
    target = model.mixture_.target
    simple = make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=2000, class_weight="balanced")
    )
    theirs = simple.fit(X, rare).predict_proba(X)
    ours = explain_global(model, X, rare, X_train=X, y_train=rare).reference
    np.testing.assert_allclose(ours.probabilities(X), theirs, atol=1e-4)
    assert ours.usual == 1
    assert np.abs(fit_reference(target, X, rare).probabilities(X) - theirs).max() > 1e-3


def test_a_linear_reference_of_rows_without_some_label() -> None:
    X, y = load_iris(return_X_y=True)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    two = fit_reference(model.mixture_.target, X[50:], y[50:])
    assert two.probabilities(X)[:, 0].max() < 1e-100
    assert set(two.predict(X[50:])) == {1, 2}
    assert fit_reference(model.mixture_.target, X[:50], y[:50]) is None
    assert ModelCard(n_read=10, n_fitted=6, n_sealed=3).n_left_out == 1


@pytest.mark.parametrize("missing", ["auto", "drop"])
def test_the_card_and_fit_count_the_same_rows(missing: str, tmp_path: Path) -> None:
    """Also where rows are repeated, of which some are set aside."""
    frame = table(200)
    frame["claim"] = np.where(cost(frame) > 30, "yes", "no")
    text = pd.concat([frame, frame[:60]], ignore_index=True).astype(object)
    text.loc[[3, 4, 203, 204, 100], "power"] = ""
    text.loc[[7, 207], "claim"] = ""
    text.to_csv(tmp_path / "cars.csv", index=False)
    page = tmp_path / "r.html"
    printed = run(
        *("fit", tmp_path / "cars.csv", "--target", "claim", "--localities", "0"),
        *("--local-models", "linear", "--missing", missing, "--report", page, "--json"),
    )
    facts, shown = json.loads(printed.stdout), page.read_text(encoding="utf-8")
    pairs = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", shown))
    aside, dropped = facts["set_aside"], 5 if missing == "drop" else 0
    assert aside > 5
    assert "2 rows without a 'claim' left out" in printed.stderr
    assert f"; {aside} further rows of theirs are set aside" in printed.stderr
    why = ["2 without a target", *(["5 with missing values"] if dropped else [])]
    why.append(f"{aside} set aside: further rows of sealed cases")
    assert pairs["Rows left out"] == f"{2 + dropped + aside} ({', '.join(why)})"
    if missing == "auto":
        assert "5 of 258 values of 'power' are missing" in printed.stderr
        assert pairs["Missing values"] == "5 in 258 rows: power 5"
    else:
        assert "5 rows with missing values left out" in printed.stderr
        assert pairs["Missing values"] == "none"
    fitted = int(pairs["Rows fitted to"]) + int(pairs["Rows sealed for the certificate"])
    assert fitted + 2 + dropped + aside == 260


def test_the_page_points_out_columns_that_look_like_identifiers(tmp_path: Path) -> None:
    frame = table(200)
    frame["number"] = np.random.default_rng(0).permutation(200) + 5000
    frame["claim"] = np.where(cost(frame) > 30, "yes", "no")
    frame.to_csv(tmp_path / "cars.csv", index=False)
    page, words = tmp_path / "r.html", "Column number looks like an identifier: its numbers"
    quick = ["--target", "claim", "--localities", "0", "--local-models", "linear", "--report", page]
    printed = run("fit", tmp_path / "cars.csv", *quick, "--model", tmp_path / "m.json").stderr
    assert "number: numbers, 5000 to 5199 (LOOKS LIKE AN IDENTIFIER" in printed
    assert words in page.read_text(encoding="utf-8")
    run("report", tmp_path / "m.json", tmp_path / "cars.csv", "-o", page, "--force")  # from a file
    assert words in page.read_text(encoding="utf-8")
    run("fit", tmp_path / "cars.csv", *quick, "--id", "number", "--force")
    assert "like an identifier" not in page.read_text(encoding="utf-8")


# -- what is written on it -------------------------------------------------------------------------


def words(script: str) -> str:
    return (
        f"document.querySelectorAll('details').forEach((one) => {{ one.open = true; }}); {script}"
    )


READ = words("""
  const text = (query) => [...document.querySelectorAll(query)].map((one) => one.innerText);
  const tables = [...document.querySelectorAll("main table")].filter((one) =>
    !one.closest("#what-if")).map((one) => one.tBodies[0].rows.length);
  return {
    body: document.body.innerText, tiles: text(".tiles dd"), titles: text(".statements .name"),
    folded: text("#certificate details .statements .name"), tables,
    figures: [...document.querySelectorAll("#quality figure")].map((one) => one.id),
    result: document.getElementById("result").innerText,
    answer: document.getElementById("answer").innerText,
    ring: document.querySelectorAll("#choice circle[fill=none]").length,
    lines: document.querySelectorAll("#choice polyline").length,
    heads: text("h2"), dots: document.querySelectorAll("#calibration circle").length,
  };
""")


@in_browser
def test_what_the_pages_say(pages: Any, tmp_path: Path) -> None:
    out = open_pages([(page, READ) for _, page in pages.values()], tmp_path)
    found = dict(zip(pages, out, strict=True))
    for name in ("labels", "curves"):  # one page about one formula
        assert "exterior" not in found[name]["body"].lower()
        assert "decided by" not in found[name]["body"]
        assert min(found[name]["tables"]) > 1
        assert "The formula" in found[name]["heads"]
    assert "exterior" in found["numbers"]["body"].lower()
    assert found["labels"]["figures"][:2] == ["calibration", "confusion"]
    assert found["labels"]["dots"] == 10
    assert found["numbers"]["figures"] == ["residuals"]
    assert found["rates"]["figures"][0] == "experience"
    for one in found.values():
        assert all(re.fullmatch(r"-?[\d.e-]+( %)?|–", text) for text in one["tiles"])
    for name in ("labels", "kinds"):
        assert "Error rate" in found[name]["titles"]
        assert "Improvement over the majority class" in found[name]["titles"]
        assert len(found[name]["tiles"]) >= 4
    assert "Errors beyond the tolerance" in found["numbers"]["titles"]
    technical = ["Error rate of a randomized model", "Error rate of one model drawn at random"]
    assert found["labels"]["folded"] == technical
    for one in found.values():
        assert not re.search("NOT BETTER|VACUOUS|TOO FEW", one["body"])


@pytest.mark.filterwarnings("ignore")
def test_flags_in_words(tmp_path: Path) -> None:
    """Of noise: nothing is shown to be better than the mean, R2 included."""
    frame, noise = table(200), np.random.default_rng(6).normal(size=200)
    model, certificate = certify(LocalMixtureRegressor(0, **QUICK), frame, noise)
    assert certificate["explained"].flags
    [said] = certificate["explained"].remarks
    assert said == "Not shown to be better than the mean target"
    text = render(model, frame, noise, tmp_path / "r.html").read_text(encoding="utf-8")
    name = re.escape(certificate["explained"].title)
    assert re.search(f'{name}</strong> <span class="remark">{said}</span>', text)
    assert certificate["explained"].sentence.startswith(said)
    few = replace(certificate["interval"], value=None, flags=("TOO FEW ROWS",))
    assert few.sentence.startswith("Too few rows: no certificate")
    assert not certificate.headline.is_technical
    assert certificate["any rule"].is_technical
    assert certificate["any rule"].brief == replace(certificate["any rule"], flags=()).sentence


def test_the_tolerance_is_the_users(tmp_path: Path) -> None:
    frame = table(300).assign(cost=np.asarray(cost(table(300))))
    frame[:250].to_csv(tmp_path / "cars.csv", index=False)
    frame[250:].to_csv(tmp_path / "later.csv", index=False)
    model, page = tmp_path / "m.json", tmp_path / "r.html"
    options = ["--local-models", "linear", "--localities", "0"]
    base = ["fit", tmp_path / "cars.csv", *options, "--model", model, "--report", page]
    run(*base, "--target", "cost", "--tolerance", "3.25")
    assert motlm.load(model).certificate_.headline.details["tolerance"] == 3.25
    assert "off by more than 3.25;" in page.read_text(encoding="utf-8")
    assert "is off by more than 3.25 " in run("certify", model, tmp_path / "later.csv").output
    other = run("certify", model, tmp_path / "later.csv", "--tolerance", "2").output
    assert "is off by more than 2 " in other
    report = ["report", model, tmp_path / "later.csv", "-o", page, "--force"]
    run(*report)
    assert "off by more than 3.25;" in page.read_text(encoding="utf-8")
    run(*report, "--tolerance", "1.5")
    assert "off by more than 1.5;" in page.read_text(encoding="utf-8")
    wrong = run(*base, "--target", "fuel", "--tolerance", "1", "--force", code=2).output
    assert "--tolerance is for numbers (--task regression), and the task is" in wrong
    assert run(*base, "--target", "cost", "--tolerance", "0", "--force", code=2)
    loaded = motlm.load(model)
    X = frame.drop(columns="cost").astype({"age": float})
    with pytest.raises(InputError, match="tolerance must be a positive number"):
        render(loaded, X, frame["cost"], page, tolerance=-1.0)
    with pytest.raises(InputError, match="exposure is for models of rates"):
        render(loaded, X, frame["cost"], page, exposure=np.ones(300))
    with pytest.raises(InputError, match="probabilities must have a row for each of the 300"):
        render(loaded, X, frame["cost"], page, probabilities=np.ones((2, 2)))


def test_how_it_was_chosen(tmp_path: Path) -> None:
    """A line for each number of localities, and a ring around what was kept."""
    frame = table(200)
    options = {**QUICK, "inverse_temperature": [1.0, 4.0], "select": "held-out"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LocalMixtureRegressor("auto", **options).fit(frame, np.asarray(cost(frame)))
    text = render(model, frame, np.asarray(cost(frame)), tmp_path / "r.html").read_text()
    part = text[text.index('<section id="choice">') :]
    part = part[: part.index("</section>")]
    tried = {
        (one.n_localities, one.inverse_temperature)
        for one in model.path_
        if one.held_out_score is not None
    }
    rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td></tr>", part)
    assert len(rows) == len(tried) >= 4
    kept = [row for row in rows if row[3] == "kept"]
    assert len(kept) == 1
    assert float(kept[0][1]) == model.inverse_temperature_
    number = len(model.localities_)
    assert kept[0][0].startswith("no" if number == 0 else str(number))
    assert part.count('fill="none" stroke=') == 1
    given = LocalMixtureRegressor(0, **QUICK).fit(frame, np.asarray(cost(frame)))
    page = render(given, frame, np.asarray(cost(frame)), tmp_path / "r.html")
    assert 'id="choice"' not in page.read_text(encoding="utf-8")


def test_bins_count_rows_and_hide_single_ones(pages: Any, tmp_path: Path) -> None:
    model, page = pages["numbers"]
    data = data_of(page)
    drawn = data["map"] or data["regions"][0]["picture"]
    counts = np.array(drawn["density"]["counts"])
    assert 0 < counts.sum() <= 400
    assert counts[counts > 0].min() >= 3
    frame = table()
    shown = render(model, frame, np.asarray(cost(frame)), tmp_path / "r.html", include_rows=True)
    data = data_of(shown)
    every = np.array((data["map"] or data["regions"][0]["picture"])["density"]["counts"])
    assert every.sum() == 400


@pytest.mark.filterwarnings("ignore")
def test_every_locality_has_a_picture_of_its_own(tmp_path: Path) -> None:
    """An interval along one column over the rows in bins; of balls, strips in all columns."""
    frame = table(300)[["age", "power", LONG]]
    y = np.asarray(np.where(frame["age"] < 40, 30 - 0.5 * frame["age"], 0.1 * frame["power"]))
    where = {"locality_columns": ["age"], "locality_features": 1}
    one = LocalMixtureRegressor(1, **where, **QUICK).fit(frame, y)
    data = data_of(render(one, frame, y, tmp_path / "r.html"))
    assert data["map"] is None
    drawn = data["regions"][0]["picture"]
    assert (drawn["kind"], drawn["axes"]) == ("line", ["age"])
    assert sum(drawn["density"]["counts"]) > 250
    [strip] = data["regions"][0]["strips"]
    low, high = strip["ends"]
    inside = one.membership(frame)[:, 0]
    np.testing.assert_array_equal(inside, (frame["age"] >= low) & (frame["age"] <= high))
    ball = LocalMixtureRegressor(
        points_of_interest=frame[:1], locality_widths="equal", corrections="none", **QUICK
    ).fit(frame, y)
    page = render(ball, frame, y, tmp_path / "r.html")
    region = data_of(page)["regions"][0]
    assert region["strips"] == []
    assert region["reach"]
    members = frame[ball.membership(frame)[:, 0]]
    for strip in region["reach"]:
        if region["reach_kind"] == "ends":
            assert strip["ends"][0] <= members[strip["name"]].min()
            assert strip["ends"][1] >= members[strip["name"]].max()
        assert 0 <= strip["share"][0] <= strip["share"][1] <= 100
    odd = LocalMixtureRegressor(points_of_interest=frame[:1], metric="mahalanobis", **QUICK)
    region = data_of(render(odd.fit(frame, y), frame, y, page))["regions"][0]
    assert region["strips"] or region["reach"] or odd.membership(frame).sum() < 10


# -- the form, on two screens, by keyboard and for screen readers ----------------------------------

FORM = """
  const at = (id) => document.getElementById(id);
  const result = at("result").textContent;
  const rows = [...document.querySelectorAll("#answer table.each")][0];
  const cells = [...rows.tBodies[0].rows].map((row) =>
    [...row.cells].map((cell) => cell.innerText.trim()));
  const below = [...rows.tBodies[0].rows].every((row) => {
    const [name, bar] = row.cells[0].querySelectorAll("span span");
    return bar.getBoundingClientRect().top >= name.getBoundingClientRect().bottom - 1;
  });
  const wide = document.documentElement.scrollWidth <= innerWidth;
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  const cut = [...document.querySelectorAll(".scroll")].filter((one) =>
    one.scrollWidth > one.clientWidth + 1 && !one.closest("details.points"))
    .map((one) => one.innerText.slice(0, 60));
  const opened = document.documentElement.scrollWidth <= innerWidth;
  const values = Object.fromEntries(motlm.features.map((f, k) => [f.name, at(`field-${k}`).value]));
  return { result, cells, below, wide, opened, cut, values, answer: at("answer").innerText };
"""


@in_browser
@pytest.mark.parametrize("width", WIDTHS)
def test_the_form(pages: Any, width: int, tmp_path: Path) -> None:
    out = open_pages([(page, FORM) for _, page in pages.values()], tmp_path, width=width)
    found = dict(zip(pages, out, strict=True))
    for name, one in found.items():
        assert one["wide"], name
        assert one["opened"], name
        assert one["below"], name
        assert not one["cut"], (name, one["cut"])
        for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", " ".join(map(" ".join, one["cells"]))):
            assert len(re.sub(r"^-?0*\.?0*|\.|e.*", "", number)) <= 6
    for name in ("labels", "kinds", "numbers"):
        model = pages[name][0]
        row = pd.DataFrame([found[name]["values"]])
        for one in row.columns:
            if one != "fuel":
                row[one] = row[one].astype(float)
        [answer] = model.predict(row)
        result = found[name]["result"]
        if name == "numbers":
            sizes = {one.region_index: one.value for one in model.certificate_.of("interval")}
            half = sizes[int(model.apply(row)[0])]
            low, high = map(float, re.search(r"between (\S+) and (\S+):", result).groups())
            assert (low, high) == pytest.approx((answer - half, answer + half), rel=1e-3)
            assert "90 % of such cases" in result
        else:
            chance = percent(model.predict_proba(row).max())
            assert result.startswith(f"{answer} (probability {chance})")
    assert "decided by" in found["numbers"]["result"]
    assert "What would change it" in found["labels"]["answer"]
    medians = pages["labels"][0].mixture_.provenance.summary.medians[0]
    ages = next(row for row in found["labels"]["cells"] if row[0] == "age")
    assert float(ages[2]) == pytest.approx(medians[0], rel=1e-3)
    fuel = next(row for row in found["labels"]["cells"] if row[0] == "fuel")[2]
    assert fuel in ("gas", "diesel", "electric")


@in_browser
def test_intervals_that_are_not_certified(tmp_path: Path) -> None:
    """They come from rows left out of fits, or there is the typical error."""
    frame = table(150)[["age", "power"]]
    y, scripts, models = np.asarray(cost(frame)), [], []
    for k, select in enumerate(("cv", "held-out")):
        options = {"local_models": "linear", "n_starts": 1, "random_state": 0, "select": select}
        models.append(LocalMixtureRegressor(0, **options).fit(frame, y))
        page = render(models[-1], frame, y, tmp_path / f"{k}.html")
        scripts.append((page, FORM))
    first, second = open_pages(scripts, tmp_path)
    row = pd.DataFrame([first["values"]]).astype(float)
    low, high = re.search(r"between (\S+) and (\S+): about 90 % of", first["result"]).groups()
    expected = models[0].predict_interval(row)[0]
    assert (float(low), float(high)) == pytest.approx(tuple(expected), rel=1e-3)
    assert "(typical error " in second["result"]


@in_browser
def test_formulas_are_copied_as_text(pages: Any, tmp_path: Path) -> None:
    """And selected, where a page may not write to the clipboard."""
    script = """
      const button = document.querySelector("#region-0 button.copy");
      button.closest("details").open = true;
      button.click();
      return new Promise((done) => setTimeout(() =>
        done([button.textContent, getSelection().toString()]), 200));
    """
    model, page = pages["labels"]
    [(told, text)] = open_pages([(page, script)], tmp_path)
    assert told in ("Copied", "Selected: press Ctrl-C")
    assert text == f"score = {model.exterior_.formula()}"


ACCESS = words("""
  const named = (one) => one.labels?.length || one.getAttribute("aria-label")
    || one.innerText || one.closest("label");
  const unnamed = [...document.querySelectorAll("input, select, button, a, summary")]
    .filter((one) => !named(one)).map((one) => one.outerHTML.slice(0, 80));
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  const twice = ids.filter((id, k) => ids.indexOf(id) !== k);
  const silent = [...document.querySelectorAll("svg.plot, .curve > svg, [role=img]")]
    .filter((one) => !one.getAttribute("aria-label")).length;
  const levels = [...document.querySelectorAll("h1, h2, h3")].map((one) => Number(one.tagName[1]));
  const jumps = levels.filter((level, k) => k && level > levels[k - 1] + 1).length;
  const heads = [...document.querySelectorAll("th")].filter((one) => !one.scope).length;
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (color) => { const [r, g, b] = color.slice(0, 3).map((v) => {
    const c = v / 255; return c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const under = (one) => { for (let p = one; p; p = p.parentElement) {
    const c = rgb(getComputedStyle(p).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const faint = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const one = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !one.getClientRects().length) continue;
    if (one.closest(".chart, script, .hidden, .skip")) continue;
    const style = getComputedStyle(one), svg = one.closest("svg");
    const pair = [light(rgb(svg ? style.fill : style.color)), light(under(one))];
    const ratio = (Math.max(...pair) + .05) / (Math.min(...pair) + .05);
    const large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) faint.add(walk.currentNode.data.slice(0, 40));
  }
  const focused = [];
  document.querySelectorAll("#form input, #form select, button, summary").forEach((one) => {
    one.focus(); if (document.activeElement !== one && one.getClientRects().length
      && !one.disabled) focused.push(one.outerHTML.slice(0, 60)); });
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return { dark, unnamed, twice, silent, jumps, heads, faint: [...faint], focused };
""")


@in_browser
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (390, False), (1400, True)])
def test_pages_are_for_everybody(pages: Any, width: int, dark: bool, tmp_path: Path) -> None:
    """Everything that can be used has a name and takes the focus, pictures have a text, headings
    have no gaps, and text has the contrast that WCAG AA asks for, in dark mode too.
    """
    scripts = [(page, ACCESS) for _, page in pages.values()]
    out = open_pages(scripts, tmp_path, width=width, dark=dark)
    for name, one in zip(pages, out, strict=True):
        assert one.pop("dark") == dark
        assert not any(one.values()), (name, one)


@in_browser
@pytest.mark.skipif(
    find_axe() is None, reason="needs axe-core: npm install --no-save axe-core, in the clone"
)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing(pages: Any, width: int, tmp_path: Path) -> None:
    script = words("""
      return axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
        violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 120))]));
    """)
    library = find_axe().read_text(encoding="utf-8")
    scripts = [(page, script) for _, page in pages.values()]
    found = open_pages(scripts, tmp_path, width=width, library=library)
    for name, one in zip(pages, found, strict=True):
        assert one == [], name


@in_browser
def test_charts_follow_the_width_of_the_page(pages: Any, tmp_path: Path) -> None:
    """As on a phone that is turned: nothing is cut off, and the text below is not covered."""
    # without frames, which a browser without a window does not draw, no observer is called
    library = """window.ResizeObserver = class {
      constructor(call) { window.resized = call; window.watched = []; }
      observe(one) { watched.push(one); } };"""
    script = """
      const map = document.getElementById("map-chart"), size = () =>
        map.querySelector("svg.main-svg").getBoundingClientRect();
      const before = size().width;
      document.body.style.width = "390px";
      resized([{ target: map, contentRect: map.getBoundingClientRect() }]);
      return new Promise((done) => setTimeout(() => done({ before, now: size().width,
        room: map.clientWidth, covered: size().bottom - map.getBoundingClientRect().bottom,
        all: watched.length === document.querySelectorAll(".chart").length }), 500));
    """
    scripts = [(pages["numbers"][1], script)]
    (one,) = open_pages(scripts, tmp_path, charts=True, width=1400, library=library)
    assert one["before"] > 390
    assert one["now"] <= one["room"] + 1 < 390
    assert one["covered"] < 1
    assert one["all"]


def test_missing_categories_and_the_columns_of_a_map_in_words(tmp_path: Path) -> None:
    """A missing category is "missing" in formulas and notes; a map counts the user's columns."""
    frame, y = table(300), cost(table(300))
    frame["fuel"] = frame["fuel"].where(np.arange(300) % 4 > 0, None)
    where = {"locality_columns": ["age", "power"], "locality_features": 2}
    model = LocalMixtureRegressor(1, **where, **QUICK).fit(frame, y)
    text = render(model, frame, y, tmp_path / "r.html").read_text(encoding="utf-8")
    shown = re.sub(r"<(script|style).*?</\1>", "", text, flags=re.DOTALL)
    assert ">None<" not in shown
    assert re.search(r">\s*missing\s*<", shown)
    assert "with the other 2 columns held at the average row" in shown
    frame.loc[0, "fuel"] = "steam"
    with pytest.warns(
        UnknownCategoryWarning, match="it knows 'diesel', 'electric', 'gas', missing"
    ):
        model.predict(frame)


@in_browser
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_have_no_errors_and_are_small(pages: Any, width: int, tmp_path: Path) -> None:
    """With their charts; nothing is asked of the network, which `open_pages` checks too."""
    script = """
      const charts = [...document.querySelectorAll(".chart")];
      return { drawn: charts.filter((one) => one.querySelector("svg.main-svg")).length,
        all: charts.length, wide: document.documentElement.scrollWidth <= innerWidth,
        asked: performance.getEntriesByType("resource").map((one) => one.name) };
    """
    scripts = [(page, script) for _, page in pages.values()]
    for (name, (_, page)), one in zip(
        pages.items(), open_pages(scripts, tmp_path, charts=True, width=width), strict=True
    ):
        assert page.stat().st_size < 3e6
        assert one["drawn"] == one["all"], name
        assert one["wide"], name
        assert one["asked"] == [], name


# -- other answers ---------------------------------------------------------------------------------


def insured(kind: str) -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Two numbers and two categories, by lines or curves; the third of the labels is in between."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 500),
            "income": rng.normal(30, 8, 500).round(1),
            "region": rng.choice(["north", "south", "west", "east"], 500),
            "job": rng.choice(["clerk", "farmer", "none"], 500),
        }
    )
    score = 1.5 * np.sin(frame["age"] / 10) + 0.08 * (frame["income"] - 30)
    score += 1.2 * (frame["region"] == "south") - 1.5 * (frame["job"] == "none")
    score += 0.3 * rng.logistic(size=500)
    y = np.digitize(score, [-0.8, 0.8] if "three" in kind else [0.0])
    y = np.array(["low", "mid", "high"])[y]
    models = "additive" if "curves" in kind else "linear"
    model = LocalMixtureClassifier(0, **{**QUICK, "local_models": models}).fit(frame, y)
    return model, frame, y


def gives_another(model: Any, rows: pd.DataFrame, row: pd.DataFrame) -> np.ndarray:
    return np.asarray(
        (model.predict(rows) != model.predict(row)) & (model.apply(rows) == model.apply(row))
    )


def swaps(frame: pd.DataFrame, row: pd.DataFrame, held: set[str]) -> pd.DataFrame:
    """The row with each other level of each category."""
    names = [name for name in ("region", "job") if name not in held]
    return pd.concat(
        [
            row.assign(**{name: level})
            for name in names
            for level in np.unique(frame[name])
            if level != row[name].iloc[0]
        ]
    )


@in_browser
@pytest.mark.parametrize("kind", ["lines", "curves", "three, lines", "three, curves"])
def test_changes_of_one_column_or_two(kind: str, tmp_path: Path) -> None:
    """All levels that give another answer, and the nearest numbers; then categories in pairs."""
    model, frame, y = insured(kind)
    page = render(model, frame, y, tmp_path / "r.html")
    function = """(row) => [motlm.smallChanges(row, new Map([["age", "up"]]), null, false),
      motlm.smallChanges(row, new Map([["job", "held"]]), null, false),
      motlm.smallChanges(row, new Map(), null, true)]"""
    [found] = open_pages([(page, script_of(frame[:40], function))], tmp_path)
    features, listed = {one["name"]: one for one in data_of(page)["features"]}, 0
    for i, (one, held, pairs) in enumerate(found):
        row = frame.iloc[[i]]
        for changes, fixed in ((one, set()), (held, {"job"})):
            every = swaps(frame, row, fixed)
            wanted = every[gives_another(model, every, row)]
            levels = [change for change in changes if set(change["names"]) <= {"region", "job"}]
            made = pd.DataFrame([change["after"] for change in levels], columns=list(frame.columns))
            assert set(map(tuple, made.to_numpy())) == set(map(tuple, wanted.to_numpy()))
        for change in [*one, *pairs]:
            listed += 1
            after = pd.DataFrame([change["after"]])[list(frame.columns)]
            assert gives_another(model, after, row).all()
            assert change["prediction"] == model.predict(after)[0]
            assert len(change["names"]) == (1 if change in one else 2)
            assert after["age"].iloc[0] == round(after["age"].iloc[0])
        assert not any(change["after"]["age"] < row["age"].iloc[0] for change in one)
        assert [c["cost"] for c in one] == sorted(c["cost"] for c in one)
        for name in ("age", "income"):
            low, high, start = features[name]["low"], features[name]["high"], row[name].iloc[0]
            low = start if name == "age" else low  # it may rise only
            grid = np.arange(low, high + 1) if name == "age" else np.linspace(low, high, 500)
            rows = pd.concat([row] * len(grid)).assign(**{name: grid})
            some = grid[gives_another(model, rows, row)]
            own = [change["after"][name] for change in one if change["names"] == [name]]
            assert bool(len(own)) >= bool(len(some))
            if len(some):
                assert abs(own[0] - start) <= np.abs(some - start).min() + 1e-6 * abs(start)
        moved = swaps(frame, row, {"job"}).groupby("region")
        both = pd.concat([swaps(frame, one, {"region"}) for _, one in moved])
        wanted = both[gives_another(model, both, row)]
        levels = [change["after"] for change in pairs if set(change["names"]) == {"region", "job"}]
        made = pd.DataFrame(levels, columns=list(frame.columns))
        assert set(map(tuple, made.to_numpy())) == set(map(tuple, wanted.to_numpy()))
    assert listed > 60


@in_browser
@pytest.mark.parametrize("kind", ["curves", "three, lines"])
def test_the_page_tells_which_changes_were_tried(kind: str, tmp_path: Path) -> None:
    model, frame, y = insured(kind)
    page = render(model, frame, y, tmp_path / "r.html")
    rows = frame[:30].to_dict("records")
    script = f"""
      const at = (id) => document.getElementById(id), found = [];
      const fields = [...document.querySelectorAll("#fields .field")].slice(0, 4);
      const holds = fields.map((one) => one.querySelector(".hold"));
      for (const row of {json.dumps(rows)}) {{
        Object.values(row).forEach((value, k) => {{ at(`field-${{k}}`).value = value; }});
        at("field-0").dispatchEvent(new Event("input"));
        const text = at("answer").textContent.split("What would change it")[1];
        const before = at("result").textContent;
        const use = [...document.querySelectorAll("#answer button")]
          .find((one) => one.textContent === "Use");
        const name = use?.getAttribute("aria-label") ?? "";
        if (use) use.click();
        found.push({{ text, before, after: at("result").textContent, name }});
      }}
      at("reset").click();
      holds.forEach((one) => {{ one.value = "held"; one.dispatchEvent(new Event("change")); }});
      const held = at("answer").textContent.split("What would change it")[1];
      const ways = [...holds.at(-1).options].map((one) => one.textContent);
      return {{ found, held, ways, wide: document.documentElement.scrollWidth <= innerWidth }};
    """
    out, narrow = (open_pages([(page, script)], tmp_path, width=one)[0] for one in WIDTHS)
    assert narrow["wide"]
    words = "found by trying every other level of each category and of each number the nearest"
    used = [one for one in out["found"] if one["name"]]
    assert len(used) > 10
    assert any(words in one["text"] for one in used)
    for one in used:
        assert one["before"].split()[0] != one["after"].split()[0]
        assert one["name"].startswith("Use ")
    pairs = [one["text"] for one in out["found"] if "Of two columns, by trying" in one["text"]]
    assert kind != "curves" or pairs
    for text in pairs:
        assert "No change of one column that gives another answer was found" in text
    assert "nor of two, by trying" in out["held"]
    assert out["ways"] == ["may change", "cannot change"]
    assert out["wide"]
