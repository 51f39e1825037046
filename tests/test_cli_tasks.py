"""What the command line takes a target for, rates, and motlm evaluate."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from sklearn import metrics
from sklearn.linear_model import PoissonRegressor

import motlm as library
from motlm.certificates import split
from motlm.cli._commands import motlm
from motlm.errors import InputError, InputTypeError, ModelFileError
from motlm.evaluation import evaluate
from motlm.files import checksum

FAST = ["--localities", "0"]
RATE = ["--target", "claims", "--exposure", "years", "--id", "policy"]


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(motlm, [str(one) for one in arguments], prog_name="motlm")
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def last_line(*arguments: object) -> str:
    """The error of a command that is expected to fail."""
    *_, line = run(*arguments, code=2).stderr.splitlines()
    assert line.startswith("Error: ")
    return line


def policies(n: int = 600, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "policy": [f"p{i}" for i in range(n)],
            "age": rng.uniform(18, 80, n).round(2),
            "power": rng.uniform(40, 150, n).round(2),
            "region": rng.choice(["city", "country"], n),
            "years": rng.uniform(0.2, 3, n).round(3),
        }
    )
    rate = np.exp(0.015 * (frame["power"] - 90) + 0.5 * (frame["region"] == "city") - 0.5)
    frame["claims"] = rng.poisson(rate * frame["years"])
    frame["grade"] = np.digitize(rate, np.quantile(rate, [0.3, 0.7]))
    frame["cost"] = (rate + rng.gamma(2.0, 0.1, n)).round(4)
    frame["risky"] = np.where(rate * rng.lognormal(0, 0.3, n) > 0.8, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, and models of a rate, of classes and of a number."""
    place = tmp_path_factory.mktemp("tasks")
    policies().to_csv(place / "d.csv", index=False)
    policies(400, 1).to_csv(place / "later.csv", index=False)
    left_out = {"claims": "grade,cost,risky", "risky": "claims,grade,cost,years,policy"}
    left_out["cost"] = "claims,grade,risky,years,policy"
    base = ["fit", place / "d.csv", *FAST]
    run(*base, *RATE, "--drop", left_out["claims"], "--model", place / "rate.json")
    for target in ("risky", "cost"):
        options = ["--target", target, "--drop", left_out[target]]
        run(*base, *options, "--model", place / f"{target}.json")
    return place


# -- what a target is taken for --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "words", "task"),
    [
        ([0, 1], "2 distinct whole numbers, 0 and 1", "classification of 'y' (log loss)"),
        (["no", "yes"], "2 distinct texts, no and yes", "classification of 'y' (log loss)"),
        (["a", "b", "c"], "3 distinct texts, a, b and c", "classification of 'y' (log loss)"),
        (list("abcdefg"), "7 distinct texts", "classification of 'y' (log loss)"),
        ([1.5, 2.5], "2 distinct numbers, 1.5 and 2.5", "classification of 'y' (log loss)"),
        (list(range(21)), "21 distinct whole numbers, 0 to 20", "regression of 'y' (squared loss)"),
        ([0, 0.5, 2], "3 distinct numbers, 0, 0.5 and 2", "regression of 'y' (squared loss)"),
    ],
)
def test_what_a_target_is_taken_for(
    values: list[object], words: str, task: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=400), "y": rng.choice(np.array(values), 400)})
    frame.to_csv(tmp_path / "d.csv", index=False)
    printed = run("fit", tmp_path / "d.csv", "--target", "y", *FAST).stderr
    assert f"target 'y': {words}\n{task}\n" in printed


@pytest.mark.parametrize("count", [3, 20])
def test_few_whole_numbers_are_asked_about(count: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=400), "y": rng.integers(0, count, 400)})
    frame.to_csv(tmp_path / "d.csv", index=False)
    base = ["fit", tmp_path / "d.csv", "--target", "y", *FAST]
    line = last_line(*base)
    assert f"target 'y': {count} distinct whole numbers, 0" in line
    for task in ("classification", "regression", "rate"):
        assert f"--task {task}" in line
    assert "classification of 'y' (log loss)" in run(*base, "--task", "classification").stderr
    assert "regression of 'y' (squared loss)" in run(*base, "--task", "regression").stderr
    assert "rate of 'y' (poisson loss)" in run(*base, "--task", "rate").stderr
    assert "rate of 'y' (tweedie loss)" in run(*base, "--loss", "tweedie").stderr


def test_options_of_the_task_reach_the_model(folder: Path, tmp_path: Path) -> None:
    base = ["fit", folder / "d.csv", "--drop", "policy,grade,cost", *FAST]
    base += ["--force", "--model", tmp_path / "m.json"]
    run(*base, "--target", "risky", "--loss", "zero-one", "--class-weight", "balanced")
    model = library.load(tmp_path / "m.json")
    assert (model.loss, model.class_weight) == ("zero-one", "balanced")
    run(*base, "--target", "claims", "--loss", "tweedie", "--power", "1.2")
    model = library.load(tmp_path / "m.json")
    assert (model.loss, model.power) == ("tweedie", 1.2)
    assert model.table_.exposure is None
    run(*base, "--target", "claims", "--task", "regression", "--class-weight", "none")
    assert library.load(tmp_path / "m.json").loss == "squared"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task", "classification", "--loss", "poisson"], "takes log or zero-one"),
        (["--task", "rate", "--loss", "squared"], "takes poisson or gamma or tweedie"),
        (["--exposure", "years", "--loss", "log"], "--loss log does not fit --exposure"),
        (["--exposure", "years", "--task", "regression"], "--exposure is for rates"),
        (["--exposure", "hours"], "--exposure 'hours' is not a column"),
        (["--loss", "cross"], "'cross' is not one of 'log', 'zero-one'"),
        (["--power", "1.5"], "--power is for --loss tweedie"),
        (["--power", "2", "--loss", "tweedie"], "2.0 is not in the range 1<x<2"),
        (["--power", "nan", "--loss", "tweedie"], "nan is not a finite number"),
        (["--task", "rate", "--class-weight", "balanced"], "--class-weight is for classification"),
        (["--class-weight", "heavy"], "'heavy' is not one of 'balanced', 'none'"),
    ],
)
def test_options_that_contradict_each_other(options: list[str], message: str, folder: Path) -> None:
    assert message in last_line("fit", folder / "d.csv", "--target", "claims", *options)


def test_class_weights_of_what_is_no_class(folder: Path) -> None:
    base = ["fit", folder / "d.csv", "--target", "cost", "--drop", "policy"]
    assert "the task is regression" in last_line(*base, "--class-weight", "balanced")


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"years": 0.0}, [], "row 7: the exposure '0.0' is not a number above 0"),
        ({"years": -1.0}, [], "row 7: the exposure '-1.0' is not a number above 0"),
        ({"years": None}, [], "row 7: the exposure '' is not a number above 0"),
        ({"years": "long"}, [], "row 7: the exposure 'long' is not a number above 0"),
        ({"claims": -2}, [], "row 7: 'claims' is '-2', and the poisson loss needs numbers of at"),
        ({"claims": 0}, ["--loss", "gamma"], "and the gamma loss needs numbers above 0"),
        ({"claims": "many"}, [], "'claims' is not a number, as --task rate needs"),
    ],
)
def test_rates_that_cannot_be_fitted(
    changes: dict[str, object], options: list[str], message: str, tmp_path: Path
) -> None:
    frame = policies().astype(object)
    for name, value in changes.items():
        frame.loc[7, name] = value
    frame.to_csv(tmp_path / "d.csv", index=False)
    assert message in last_line("fit", tmp_path / "d.csv", *RATE, "--task", "rate", *options)


# -- rates -----------------------------------------------------------------------------------------


def test_a_rate_with_exposures(folder: Path, tmp_path: Path) -> None:
    model = library.load(folder / "rate.json")
    assert model.feature_names_in_.tolist() == ["age", "power", "region"]
    assert (model.loss, model.table_.exposure, model.table_.target) == (
        "poisson",
        "years",
        "claims",
    )
    frame = policies()
    first, sealed = split(600, 0.3, 0)
    own = library.LocalMixtureRegressor(0, loss="poisson", random_state=0)
    rows = frame[["age", "power", "region"]]
    own.fit(rows.iloc[first], frame["claims"][first], exposure=frame["years"][first])
    np.testing.assert_allclose(model.predict(rows), own.predict(rows))
    base = ["fit", folder / "d.csv", *RATE, "--drop", "grade,cost,risky", *FAST]
    printed = run(*base, "--report", tmp_path / "r.html")
    assert "rate of 'claims' per 'years' (poisson loss)" in printed.stderr
    score = own.score(rows.iloc[sealed], frame["claims"][sealed], exposure=frame["years"][sealed])
    assert f"D2 on 180 sealed rows: {score:.4g}" in printed.stdout
    assert "- Actual over expected: " in printed.stdout
    assert "If claims are Poisson" in printed.stdout
    assert json.loads(run(*base, "--json").stdout)["D2"] == pytest.approx(score)


def test_predictions_of_a_rate(folder: Path, tmp_path: Path) -> None:
    later = policies(400, 1).astype({"years": object})
    later.loc[3, "years"], later.loc[5, "years"], later.loc[5, "region"] = "", "-2", "moon"
    later.to_csv(tmp_path / "new.csv", index=False)
    run("predict", folder / "rate.json", tmp_path / "new.csv", "-o", tmp_path / "o.csv")
    shown = pd.read_csv(tmp_path / "o.csv")
    assert shown.columns.tolist() == [
        *("row", "policy", "prediction", "expected", "model_used", "ambiguous", "reason", "note")
    ]
    known = ~shown.index.isin([3, 5])
    rate = shown["prediction"][known]
    np.testing.assert_allclose(shown["expected"][known], rate * later["years"][known].astype(float))
    assert shown["expected"][[3, 5]].isna().all()
    assert shown["prediction"].notna().all()
    assert shown["note"][3] == "no exposure above 0"
    assert shown["note"][5].endswith("'moon' is unknown to the model; no exposure above 0")
    lines = run("predict", folder / "rate.json", tmp_path / "new.csv", "--json").stdout.splitlines()
    assert json.loads(lines[3])["expected"] is None
    later.drop(columns="years").to_csv(tmp_path / "none.csv", index=False)
    printed = run("predict", folder / "rate.json", tmp_path / "none.csv").stdout
    assert "expected" not in printed.splitlines()[0]
    base = ["predict", folder / "rate.json", tmp_path / "none.csv"]
    assert "'years' is not a column" in last_line(*base, "--exposure", "years")
    assert "expected" in run(*base, "--exposure", "power").stdout


def test_other_commands_on_a_rate(folder: Path, tmp_path: Path) -> None:
    later = folder / "later.csv"
    printed = run("certify", folder / "rate.json", later).stdout
    assert "Actual over expected" in printed
    found = json.loads(run("certify", folder / "rate.json", later, "--json").stdout)
    assert found["ratios"][0]["n_rows"] == found["n_rows"]
    assert "leave --save out" in last_line("certify", folder / "rate.json", later, "--save")
    done = run("report", folder / "rate.json", later, "-o", tmp_path / "r.html", "--json")
    frame = policies(400, 1)
    model = library.load(folder / "rate.json")
    rows = frame[["age", "power", "region"]]
    score = model.score(rows, frame["claims"], exposure=frame["years"])
    assert json.loads(done.stdout)["D2"] == pytest.approx(score)
    assert "decided by" in run("explain", folder / "rate.json", later, "--row", 3).stdout


def test_files_keep_the_column_of_exposures(folder: Path, tmp_path: Path) -> None:
    content = json.loads((folder / "rate.json").read_text())
    assert content["table"]["exposure"] == "years"
    assert "exposure" not in json.loads((folder / "cost.json").read_text())["table"]
    content["table"]["exposure"] = 5
    del content["checksum"]
    content["checksum"] = checksum(content)
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=r"table\.exposure should be a text"):
        library.load(tmp_path / "m.json")


# -- evaluate --------------------------------------------------------------------------------------


def evaluation(folder: Path, model: str, table: Path, *options: object) -> dict:
    found: dict = json.loads(run("evaluate", folder / model, table, "--json", *options).stdout)
    return found


def test_evaluation_of_classes(folder: Path) -> None:
    found = evaluation(folder, "risky.json", folder / "later.csv")
    model, frame = library.load(folder / "risky.json"), policies(400, 1)
    X, y = frame[list(model.feature_names_in_)], frame["risky"]
    chance, answers = model.predict_proba(X)[:, 1], model.predict(X)
    truth = y == "yes"
    expected = {
        "accuracy": (answers == y).mean(),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, answers),
        "AUC": metrics.roc_auc_score(truth, chance),
        "log_loss": metrics.log_loss(truth, chance),
        "Brier_score": np.mean((truth - chance) ** 2),
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert (found["task"], found["rows"], found["target"]) == ("classification", 400, "risky")
    (right, wrong), (missed, hit) = found["confusion"]
    assert right + wrong + missed + hit == 400
    yes = found["classes"][1]
    assert yes["label"] == "yes"
    assert yes["recall"] == pytest.approx(hit / (missed + hit))
    assert yes["precision"] == pytest.approx(hit / (wrong + hit))
    bins = found["calibration"]
    assert [one["rows"] for one in bins] == [40] * 10
    assert np.mean([one["predicted"] for one in bins]) == pytest.approx(chance.mean())
    assert np.mean([one["observed"] for one in bins]) == pytest.approx(truth.mean())
    assert found["rows_used_for_fitting"] == 0
    assert found["notes"] == []
    shown = run("evaluate", folder / "risky.json", folder / "later.csv").stdout
    for words in (
        "classification of 'risky' on 400 rows",
        "AUC ",
        "true \\ predicted",
        "precision",
    ):
        assert words in shown
    assert "probability of yes  observed share  rows" in shown


def test_evaluation_of_a_number(folder: Path) -> None:
    found = evaluation(folder, "cost.json", folder / "later.csv")
    model, frame = library.load(folder / "cost.json"), policies(400, 1)
    error = frame["cost"] - model.predict(frame[list(model.feature_names_in_)])
    expected = {
        "R2": 1 - (error**2).mean() / frame["cost"].var(ddof=0),
        "RMSE": (error**2).mean() ** 0.5,
        "MAE": error.abs().mean(),
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert "calibration" not in found
    assert "R2 " in run("evaluate", folder / "cost.json", folder / "later.csv").stdout


def test_evaluation_of_a_rate(folder: Path) -> None:
    found = evaluation(folder, "rate.json", folder / "later.csv")
    model, frame = library.load(folder / "rate.json"), policies(400, 1)
    X, years = frame[["age", "power", "region"]], frame["years"]
    rate, predicted = frame["claims"] / years, model.predict(X)
    deviance = metrics.mean_poisson_deviance(rate, predicted, sample_weight=years)
    assert found["mean_deviance"] == pytest.approx(deviance)
    assert found["D2"] == pytest.approx(model.score(X, frame["claims"], exposure=years))
    total, *deciles = found["experience"]
    assert total["actual"] == pytest.approx(frame["claims"].sum())
    assert total["expected"] == pytest.approx((predicted * years).sum())
    assert found["actual_over_expected"] == pytest.approx(total["actual"] / total["expected"])
    assert len(deciles) == 10
    for name in ("rows", "exposure", "actual", "expected"):
        assert sum(one[name] for one in deciles) == pytest.approx(total[name])
    mean = [one["expected"] / one["exposure"] for one in deciles]
    assert mean == sorted(mean)
    assert max(one["exposure"] for one in deciles) < 0.12 * total["exposure"]
    shown = run("evaluate", folder / "rate.json", folder / "later.csv").stdout
    assert "decile 10" in shown
    other = evaluation(folder, "rate.json", folder / "later.csv", "--exposure", "age")
    assert other["experience"][0]["exposure"] == pytest.approx(frame["age"].sum())


def test_rates_per_locality() -> None:
    """Actual over expected of each model; together they are all rows."""
    rng = np.random.default_rng(0)
    X, years = rng.uniform(-1, 1, size=(500, 1)), rng.uniform(0.5, 2, size=500)
    y = rng.poisson(years * np.where(np.abs(X[:, 0]) < 0.4, 4.0, 0.5))
    points = [[0.0]]
    model = library.LocalMixtureRegressor(points_of_interest=points, loss="poisson", random_state=0)
    found = evaluate(model.fit(X, y, exposure=years), X, y, exposure=years)
    total, *others = found.experience
    regions = [one for one in others if not one.name.startswith("decile")]
    assert [one.name for one in regions] == ["locality 0", "exterior"]
    inside = model.apply(X) == 0
    assert regions[0].actual == pytest.approx(y[inside].sum())
    assert regions[0].where == model.localities_[0].where
    assert f"locality 0: {regions[0].where}" in str(found)
    assert not any(one.where for one in (total, *others) if one is not regions[0])
    assert sum(one.expected for one in regions) == pytest.approx(total.expected)
    assert found.rows_used_for_fitting == 500


def test_fit_tells_how_many_terms_were_struck(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc")).round(3)
    table["y"] = (table["a"] + table["b"] + table["c"] + 0.1 * rng.normal(size=200)).round(3)
    base = ["fit", tmp_path / "d.csv", "--localities", "0", "--local-models", "linear"]
    base += ["--target", "y", "--max-terms", "auto"]
    table.to_csv(tmp_path / "d.csv", index=False)
    assert "--max-terms auto: none of the 3 terms could be struck" in run(*base).stdout
    table["y"] = (table["a"] + 0.1 * rng.normal(size=200)).round(3)
    table.to_csv(tmp_path / "d.csv", index=False)
    assert "--max-terms auto: 2 of 3 terms were struck" in run(*base).stdout


def test_one_rate_for_all_is_one_decile() -> None:
    """Rows of one predicted rate are not divided."""
    X, y = np.zeros((40, 1)), np.tile([0.0, 1.0], 20)
    X[0] = 1e-9
    model = library.LocalMixtureRegressor(0, loss="poisson", random_state=0).fit(X, y)
    names = [one.name for one in evaluate(model, np.zeros((40, 1)), y).experience]
    assert names == ["all rows", "decile 1"]


@pytest.mark.parametrize("model", ["rate.json", "risky.json", "cost.json"])
def test_rows_used_for_fitting_are_noted(folder: Path, model: str, tmp_path: Path) -> None:
    found = evaluation(folder, model, folder / "d.csv")
    assert found["rows_used_for_fitting"] == 420
    note = "420 of the 600 rows were used for fitting, on which predictions look better"
    assert found["notes"][0].startswith(note)
    assert f"note: {note}" in run("evaluate", folder / model, folder / "d.csv").stdout
    policies().iloc[split(600, 0.3, 0)[1]].to_csv(tmp_path / "sealed.csv", index=False)
    assert evaluation(folder, model, tmp_path / "sealed.csv")["notes"] == []


def test_evaluation_on_few_rows(folder: Path, tmp_path: Path) -> None:
    """What is not defined is null, and said."""
    later = policies(400, 1)
    later[later["risky"] == "no"][:4].to_csv(tmp_path / "no.csv", index=False)
    found = evaluation(folder, "risky.json", tmp_path / "no.csv")
    assert found["AUC"] is None
    assert found["balanced_accuracy"] is None
    assert found["log_loss"] > 0
    assert found["classes"][1]["recall"] is None
    assert len(found["calibration"]) == 4
    assert "no row is of class yes" in found["notes"][0]
    assert "not defined" in run("evaluate", folder / "risky.json", tmp_path / "no.csv").stdout
    later[:1].to_csv(tmp_path / "one.csv", index=False)
    assert evaluation(folder, "cost.json", tmp_path / "one.csv")["R2"] is None
    later[later["claims"] == 0][:3].to_csv(tmp_path / "zero.csv", index=False)
    found = evaluation(folder, "rate.json", tmp_path / "zero.csv")
    assert (found["D2"], found["actual_over_expected"]) == (None, 0.0)


@pytest.mark.parametrize(
    ("model", "change", "options", "message"),
    [
        ("rate.json", {"years": None}, [], "the model is of a rate per 'years', and the table has"),
        ("rate.json", {"years": 0}, [], "row 0: the exposure '0' is not a number above 0"),
        ("rate.json", {"claims": -1}, [], "row 0: 'claims' is '-1', and the poisson loss needs"),
        ("rate.json", {}, ["--exposure", "hours"], "--exposure 'hours' is not a column"),
        ("risky.json", {}, ["--exposure", "years"], "--exposure is for models of rates"),
        (
            "risky.json",
            {"risky": "perhaps"},
            [],
            "'perhaps', which is not one of the labels no, yes",
        ),
        ("risky.json", {"risky": None}, [], "the table has no column 'risky'; name theirs with"),
        ("risky.json", {"power": "n/k"}, [], "row 0: column 'power': 'n/k' is not a number"),
        ("cost.json", {}, ["--target", "price"], "--target 'price' is not a column"),
        ("cost.json", {"cost": ""}, [], "no row has a value of 'cost'"),
        ("none.json", {}, [], "none.json: No such file"),
        ("later.csv", {}, [], "the model comes first, then the table"),
    ],
)
def test_tables_that_cannot_be_evaluated(
    model: str,
    change: dict[str, object],
    options: list[str],
    message: str,
    folder: Path,
    tmp_path: Path,
) -> None:
    later = policies(400, 1)
    for name, value in change.items():
        later = later.drop(columns=name) if value is None else later.assign(**{name: value})
    later.to_csv(tmp_path / "later.csv", index=False)
    result = run("evaluate", folder / model, tmp_path / "later.csv", *options, code=2)
    [line] = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert message in line
    assert not result.stdout


def test_evaluation_in_python(folder: Path) -> None:
    frame = policies(400, 1)
    model = library.load(folder / "risky.json")
    X, y = frame[list(model.feature_names_in_)], frame["risky"].to_numpy()
    half = np.full((400, 2), 0.5)
    found = evaluate(model, X, y, probabilities=half)
    assert found.metrics["log loss"] == pytest.approx(np.log(2))
    with pytest.raises(InputError, match=r"probabilities must be of shape \(400, 2\)"):
        evaluate(model, X, y, probabilities=half[:3])
    with pytest.raises(InputError, match="exposure is for models of rates"):
        evaluate(model, X, y, exposure=np.ones(400))
    with pytest.raises(InputError, match="the model does not know"):
        evaluate(model, X, np.full(400, "perhaps"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        evaluate(model, X, y[:5])
    with pytest.raises(InputTypeError, match="got its mixture_"):
        evaluate(model.mixture_, X, y)
    with pytest.raises(InputTypeError, match="expected a fitted motlm estimator"):
        evaluate(PoissonRegressor().fit([[0.0], [1.0]], [1.0, 2.0]), X, y)
    rate = library.load(folder / "rate.json")
    with pytest.raises(InputError, match="probabilities are for classifiers"):
        evaluate(rate, frame[["age", "power", "region"]], frame["claims"], probabilities=half)


def test_curves_of_a_rate_have_lines_of_their_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"age": rng.uniform(18, 80, 400).round(), "power": rng.normal(90, 20, 400)}
    )
    table["claims"] = rng.poisson(np.exp(np.abs(table["age"] - 45) / 20 - 1))
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ("--task", "rate", "--localities", "0", "--local-models", "additive")
    result = run("fit", tmp_path / "t.csv", "--target", "claims", *options)
    lines = result.stdout.splitlines()
    assert any(line.endswith("x g(power)") for line in lines)
    assert any(line.startswith("            g(age): ") for line in lines)


@pytest.mark.parametrize("model", ["rate", "risky"])
def test_a_tolerance_is_for_numbers(model: str, folder: Path, tmp_path: Path) -> None:
    kind = "rates" if model == "rate" else "classes"
    missing, page = folder / "no such file.csv", tmp_path / "page.html"
    for command in (["certify"], ["report", "-o", page]):
        name, *more = command
        given = [folder / f"{model}.json", missing, *more, "--tolerance", 1]
        assert f"this is one of {kind}" in last_line(name, *given)
    options = RATE if model == "rate" else ["--target", "risky", "--task", "classification"]
    error = last_line("fit", folder / "d.csv", *FAST, *options, "--tolerance", 1)
    assert "--tolerance is for numbers (--task regression), and the task is" in error
