"""A model beside other methods on the same folds."""

from __future__ import annotations

import json
import os
import signal
import sys
import types
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner, Result
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss, mean_poisson_deviance
from sklearn.model_selection import KFold, StratifiedKFold

import motlm as library
from motlm import LocalMixtureClassifier, LocalMixtureRegressor, compare
from motlm.cards import ModelCard
from motlm.certificates import split
from motlm.cli._commands import motlm
from motlm.comparison import Comparison
from motlm.errors import InputError, InputTypeError, StoppedEarlyWarning
from motlm.inputs import TableNotes
from motlm.intervals import overlapping_folds
from motlm.plotting import ComparisonDisplay
from motlm.report import render

QUICK = {"local_models": "linear", "select": "held-out", "n_starts": 1, "random_state": 0}
OTHERS = ["tree of depth 4", "HistGradientBoosting"]


@pytest.fixture(autouse=True)
def _without_ebm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is installed or not."""
    monkeypatch.setattr("motlm.comparison._peers.find_spec", lambda name: None)


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(motlm, [str(one) for one in arguments], prog_name="motlm")
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def clients(n: int = 320) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, n).round(1),
            "income": rng.normal(30, 10, n).round(2),
            "town": rng.choice(["A", "B", "C"], n),
        }
    )
    score = (frame["income"] - 30) / 5 + np.where(frame["town"] == "A", 1.0, 0.0)
    frame["pays"] = np.where(score + rng.normal(size=n) > 0, "yes", "no")
    frame["amount"] = 3 * frame["income"] + rng.normal(size=n)
    frame["years"] = rng.uniform(0.5, 2.0, n)
    frame["claims"] = rng.poisson(np.exp(0.03 * frame["income"] - 1.0) * frame["years"])
    return frame


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return clients()


FEATURES = ["age", "income", "town"]


def test_classes(table: pd.DataFrame) -> None:
    X, y = table[FEATURES], table["pays"]
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    model = LocalMixtureClassifier(0, **QUICK)
    found = compare(model, X, y, cv=folds, random_state=0)
    names = [one.name for one in found.methods]
    assert names == ["this model", "majority class", "logistic regression", *OTHERS]
    assert found.scores == ("accuracy", "balanced accuracy", "AUC", "log loss", "Brier score")
    assert (found.task, found.rows, found.folds, found.planned) == ("classification", 320, 4, 4)
    own = []
    for train, test in folds.split(X, y):
        fitted = LocalMixtureClassifier(0, **QUICK).fit(X.iloc[train], y[train])
        own.append(log_loss(y[test], fitted.predict_proba(X.iloc[test])))
        prior = DummyClassifier(strategy="prior").fit(X.iloc[train], y[train])
        theirs = log_loss(y[test], prior.predict_proba(X.iloc[test]))
        k = len(own) - 1
        assert found.method("majority class").scores["log loss"][k] == pytest.approx(theirs)
    assert found.methods[0].scores["log loss"] == pytest.approx(own)
    gap = found.difference("majority class", "log loss")
    gaps = np.subtract(found.method("majority class").scores["log loss"], own)
    assert gap.value == pytest.approx(gaps.mean())
    assert (gap.low, gap.high) == pytest.approx(overlapping_folds(gaps, 1 / 3, 0.95))
    assert gap.better is False
    linear = found.method("logistic regression").mean("AUC")
    assert abs(linear - found.methods[0].mean("AUC")) < 0.03  # the truth is linear
    assert found.difference("logistic regression", "log loss").better is None
    assert len(found.to_frame()) == len(names)
    text = str(found)
    assert all(name in text for name in (*names, *found.scores))
    assert "worse" in text


def test_numbers_with_weights_and_groups(table: pd.DataFrame) -> None:
    """Rows of no weight change nothing, and a group is never on both sides."""
    X, y = table[FEATURES], table["amount"]
    client = np.arange(len(y)) // 4
    weight = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0)
    seen = []
    model = LocalMixtureRegressor(0, **QUICK)

    class Watched(LinearRegression):  # type: ignore[misc]
        def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
            seen.append(set(groups))
            return super().fit(X[["income"]], y, sample_weight)

        def predict(self, X: Any) -> Any:
            return super().predict(X[["income"]])

    found = compare(Watched(), X, y, groups=client, sample_weight=weight, random_state=0)
    assert all(len(one) == 64 for one in seen)
    wild = y.where(weight > 0, 1e6)
    again = compare(Watched(), X, wild, groups=client, sample_weight=weight, random_state=0)
    assert again.method("ridge").scores["RMSE"] == pytest.approx(
        found.method("ridge").scores["RMSE"]
    )
    assert again.methods[0].scores == found.methods[0].scores
    own = compare(model, X, y, groups=client, sample_weight=weight, random_state=0)
    assert own.scores == ("R2", "RMSE", "MAE")
    assert own.methods[0].mean("R2") > 0.99
    assert own.difference("mean", "R2").better is False


@pytest.mark.parametrize("loss", ["poisson", "tweedie", "gamma"])
def test_rates(table: pd.DataFrame, loss: str) -> None:
    X, years = table[FEATURES], table["years"]
    claims = table["claims"] + (1 if loss == "gamma" else 0)
    model = LocalMixtureRegressor(0, loss=loss, **QUICK)
    folds = KFold(3, shuffle=True, random_state=1)
    found = compare(model, X, claims, exposure=years, cv=folds, random_state=0)
    assert [one.name for one in found.methods] == ["this model", "mean rate", "GLM", *OTHERS]
    assert found.scores == ("mean deviance", "D2")
    assert "raised" in found.notes[0]
    if loss == "poisson":
        train, test = next(folds.split(X))
        rate = np.full(len(test), claims[train].sum() / years[train].sum())
        theirs = mean_poisson_deviance(claims[test] / years[test], rate, sample_weight=years[test])
        assert found.method("mean rate").scores["mean deviance"][0] == pytest.approx(theirs)
        assert found.difference("mean rate", "mean deviance").value > 0


def test_class_weights_are_those_of_the_others_too(table: pd.DataFrame) -> None:
    noise = np.random.default_rng(1).normal(size=len(table))
    X, y = table[FEATURES], np.where(table["income"] + 10 * noise > 42, "rich", "not")
    plain, balanced = (
        compare(LocalMixtureClassifier(0, class_weight=one, **QUICK), X, y, random_state=0)
        for one in (None, "balanced")
    )
    for name in ("this model", "majority class"):
        first, second = (one.method(name).mean("log loss") for one in (plain, balanced))
        assert second > first  # its probabilities are not the shares


def test_tables_of_any_kind_and_missing_values(table: pd.DataFrame) -> None:
    """The others get missing values and dates as they are; here this model ignores them."""

    class Income(RegressorMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            self.mean_ = float(np.mean(y))
            return self

        def predict(self, X: Any) -> Any:
            return np.full(len(X), self.mean_)

    frame = table[FEATURES].copy()
    frame.loc[::5, "income"] = np.nan
    frame.loc[::7, "town"] = None
    frame["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(frame)), unit="D")
    found = compare(Income(), frame, table["amount"], cv=3, random_state=0)
    assert found.method("HistGradientBoosting").mean("R2") > 0.5
    assert found.method("ridge").mean("R2") > 0.5
    again = compare(Income(), pl.DataFrame(frame), table["amount"], cv=3, random_state=0)
    assert again.method("ridge").mean("R2") == pytest.approx(found.method("ridge").mean("R2"))
    array = compare(Income(), frame[["age"]].to_numpy(), table["amount"], cv=3, random_state=0)
    assert array.rows == len(frame)


def test_few_rows_have_folds_drawn_three_times(table: pd.DataFrame) -> None:
    some = table[:60]
    model = LocalMixtureRegressor(0, **QUICK)
    found = compare(model, some[FEATURES], some["amount"], random_state=0)
    assert found.folds == 15
    same = compare(model, some[FEATURES], some["amount"], random_state=0)
    assert same.methods[0].scores == found.methods[0].scores
    other = compare(model, some[FEATURES], some["amount"], random_state=1)
    assert other.methods[0].scores != found.methods[0].scores


def test_a_rare_class(table: pd.DataFrame) -> None:
    """Folds without a class have scores all the same."""
    y = table["pays"].copy()
    y[:3] = "maybe"
    found = compare(LocalMixtureClassifier(0, **QUICK), table[FEATURES], y, cv=5, random_state=0)
    assert found.folds == 5
    assert any("maybe" in note for note in found.notes)
    assert np.isfinite(found.methods[0].mean("accuracy"))


def test_ebm_where_it_is_installed(table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stand-in that takes what interpret's estimators take."""
    given: list[dict[str, Any]] = []

    class Stand(DummyClassifier):  # type: ignore[misc]
        def __init__(self, feature_types: Any, random_state: Any, n_jobs: Any) -> None:
            given.append({"feature_types": feature_types, "n_jobs": n_jobs})
            super().__init__(strategy="prior", random_state=random_state)
            self.feature_types, self.n_jobs = feature_types, n_jobs

    package = types.ModuleType("interpret")
    package.glassbox = types.SimpleNamespace(ExplainableBoostingClassifier=Stand)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "interpret", package)
    monkeypatch.setattr("motlm.comparison._peers.find_spec", lambda name: name == "interpret")
    model = LocalMixtureClassifier(0, **QUICK)
    found = compare(model, table[FEATURES], table["pays"], cv=2, random_state=0)
    assert found.methods[-1].name == "EBM"
    assert given[0]["feature_types"] == ["continuous", "continuous", "nominal"]
    assert found.difference("EBM", "log loss").value > 0


# -- work that is stopped --------------------------------------------------------------------------


class Interrupted(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A majority class, whose fit number `at` is stopped by Ctrl-C."""

    calls = 0

    def __init__(self, at: int = 1, kind: str = "signal") -> None:
        self.at = at
        self.kind = kind

    def fit(self, X: Any, y: Any) -> Any:
        type(self).calls += 1
        self.model_ = DummyClassifier(strategy="prior").fit(X, y)
        self.classes_ = self.model_.classes_
        if type(self).calls == self.at and self.kind == "signal":
            os.kill(os.getpid(), signal.SIGINT)
        elif type(self).calls == self.at:
            stopped = self.kind == "library"
            warnings.warn(StoppedEarlyWarning("stopped", "", stopped), stacklevel=1)
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)


@pytest.fixture
def _fresh() -> None:
    Interrupted.calls = 0


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize(("kind", "folds"), [("signal", 3), ("library", 2)])
def test_ctrl_c_leaves_the_folds_that_are_done(table: pd.DataFrame, kind: str, folds: int) -> None:
    """A fit that Ctrl-C has cut short is not counted."""
    kept: list[Comparison] = []
    found = compare(
        Interrupted(3, kind),
        table[["age"]],
        table["pays"],
        cv=5,
        random_state=0,
        callback=kept.append,
    )
    assert (found.folds, found.planned) == (folds, 5)
    assert len(kept) == folds
    assert all(len(one.seconds) == folds for one in found.methods)
    assert f"stopped after {folds} of 5 folds" in found.notes[0]
    assert kept[-1].methods == found.methods


@pytest.mark.usefixtures("_fresh")
def test_ctrl_c_in_the_first_fold(table: pd.DataFrame) -> None:
    found = compare(Interrupted(1, "library"), table[["age"]], table["pays"], cv=5, random_state=0)
    assert not found.has_model
    assert found.methods[0].name == "majority class"
    assert "stopped after 0 of 5 folds" in found.notes[0]
    assert "not fitted on any fold" in str(found)
    assert found.to_frame().shape[0] == len(found.methods)
    with pytest.raises(InputError, match="nothing to draw"):
        ComparisonDisplay.from_comparison(found)


@pytest.mark.usefixtures("_fresh")
def test_a_time_limit_is_noted(table: pd.DataFrame) -> None:
    found = compare(Interrupted(2, "time"), table[["age"]], table["pays"], cv=3, random_state=0)
    assert found.folds == 3
    assert found.notes == ("the time limit ended 1 of the fits of this model.",)


# -- results ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result(table: pd.DataFrame) -> Comparison:
    model = LocalMixtureRegressor(0, **QUICK)
    return compare(model, table[FEATURES], table["amount"], cv=3, random_state=0)


def test_dictionaries_come_back(result: Comparison) -> None:
    content = json.loads(json.dumps(result.to_dict()))
    assert Comparison.from_dict(content) == result
    assert content["methods"][1]["difference"]["R2"]["better"] is False


@pytest.mark.parametrize(
    "change",
    [
        {"format": "motlm model"},
        {"methods": 3},
        {"methods": []},
        {"task": "nothing"},
        {"confidence": 2.0},
        {"rows": None},
        {"methods": [{"name": "a", "words": "", "scores": {"R2": ["x"]}, "seconds": [1]}]},
        {"methods": [{"name": "a", "words": "", "scores": {"R2": [1.0]}, "seconds": []}]},
    ],
)
def test_damaged_dictionaries_are_refused(result: Comparison, change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"not a comparison|damaged"):
        Comparison.from_dict({**result.to_dict(), **change})


def test_the_headline_names_the_best_of_the_others(result: Comparison) -> None:
    assert result.headline.startswith("Of the others ridge has the best R2")
    one = result.to_dict()
    for method in one["methods"]:
        method["scores"] = {name: values[:1] for name, values in method["scores"].items()}
    assert "One fold tells nothing" in Comparison.from_dict(one).headline


def test_the_display(result: Comparison) -> None:
    import matplotlib.pyplot as plt

    display = ComparisonDisplay.from_comparison(result, score="RMSE")
    labels = [one.get_text().split(",")[0] for one in display.ax_.get_yticklabels()]
    assert labels == [one.name for one in result.methods[1:]]
    assert "better to the left" in display.ax_.get_xlabel()
    with pytest.raises(InputError, match="score must be one of 'R2'"):
        ComparisonDisplay.from_comparison(result, score="AUC")
    plt.close(display.figure_)


def test_charts_are_not_stretched_by_one_interval(result: Comparison) -> None:
    low, high = result.span("R2")
    assert low < 0 <= high
    ends = [
        end
        for one in result.methods[1:]
        for end in (result.difference(one.name, "R2").low, result.difference(one.name, "R2").high)
    ]
    assert low <= max(ends)
    content = result.to_dict()
    content["methods"][-1]["scores"]["R2"] = [1.0, -100.0, 99.0]
    wild = Comparison.from_dict(content)
    gap = wild.difference(wild.methods[-1].name, "R2")
    assert gap.high > 100
    assert -3 < wild.span("R2")[0] < wild.span("R2")[1] < 3


def test_the_page_has_a_section(result: Comparison, table: pd.DataFrame, tmp_path: Path) -> None:
    model = LocalMixtureRegressor(0, **QUICK).fit(table[FEATURES], table["amount"])
    path = render(
        model, table[FEATURES], table["amount"], tmp_path / "page.html", comparison=result
    )
    text = path.read_text(encoding="utf-8")
    section = text.split('<section id="comparison">')[1].split("</section>")[0]
    assert '<a href="#comparison">Comparison</a>' in text
    assert section.count("<circle") == len(result.methods) - 1
    assert "Of the others ridge" in section


def test_reports_refuse_the_comparison_of_another_model(
    table: pd.DataFrame, result: Comparison, tmp_path: Path
) -> None:
    """Of another task, target, columns or more rows than the table had."""
    X, y, page = table[FEATURES], table["amount"], tmp_path / "page.html"
    model = LocalMixtureRegressor(0, **QUICK).fit(X, y)
    model.table_ = TableNotes("amount", card=ModelCard(n_read=len(y)))
    assert (result.target, result.features) == ("amount", tuple(FEATURES))
    assert Comparison.from_dict(result.to_dict()) == result
    for change, words in (
        ({"task": "rate"}, "its task is 'rate', the model's is 'regression'"),
        ({"target": "price"}, "its target is 'price', the model's is 'amount'"),
        ({"features": ("age", "town", "x")}, "it has also 'x' and lacks 'income'"),
        ({"rows": len(y) + 1}, "it has 321 rows, but the model's table had 320"),
    ):
        with pytest.raises(InputError, match=f"not of this model: .*{words}"):
            render(model, X, y, page, comparison=replace(result, **change))
    assert not page.exists()
    text = render(model, X, y, page, comparison=result).read_text(encoding="utf-8")
    assert "was not checked" not in text
    assert "the comparison has" not in text
    earlier = result.to_dict()
    del earlier["target"], earlier["features"]
    old = replace(Comparison.from_dict(earlier), rows=200)
    text = render(model, X, y, page, comparison=old).read_text(encoding="utf-8")
    assert "whether it is of the same table as the model was not checked" in text
    assert "the model was fitted to 320 rows, the comparison has 200" in text


def test_bad_input(table: pd.DataFrame) -> None:
    X, y, model = table[FEATURES], table["pays"], LocalMixtureClassifier(0, **QUICK)
    with pytest.raises(InputTypeError, match="expected an estimator"):
        compare("motlm", X, y)
    with pytest.raises(InputTypeError, match="expected an estimator"):
        compare(LocalMixtureClassifier, X, y)
    with pytest.raises(InputError, match="exposure is for losses of rates"):
        compare(model, X, y, exposure=table["years"])
    with pytest.raises(InputError, match="cv must be from 2 to the number of rows, 320; got 1"):
        compare(model, X, y, cv=1)
    with pytest.raises(InputError, match="number of groups, 2"):
        compare(model, X, y, groups=np.arange(len(y)) % 2)
    with pytest.raises(InputError, match="y has one class"):
        compare(model, X, np.full(len(y), "yes"))
    with pytest.raises(InputError, match=r"fold 1 of 2 has \d rows with a weight above 0"):
        compare(model, X, y, sample_weight=np.arange(len(y)) < 2, cv=2, random_state=0)
    with pytest.raises(InputError, match="all rows to fit on in fold 1 of 2 are of one class"):
        compare(model, X, np.repeat(["a", "b"], len(y) // 2), cv=KFold(2))
    with pytest.raises(InputError, match="at least 10 and 1 are needed"):
        compare(model, X[:9], y[:9], cv=3)
    with pytest.raises(InputError, match="takes no sample_weight"):
        compare(Interrupted(), X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="inconsistent"):
        compare(model, X, y[:5])
    found = compare(Interrupted(9), X, y, cv=2, random_state=0)
    with pytest.raises(InputError, match="there is no method 'EBM'"):
        found.method("EBM")
    with pytest.raises(InputError, match="there is no score 'R2'"):
        found.difference("majority class", "R2")


def test_the_name_is_the_librarys() -> None:
    assert library.compare is compare
    assert "compare" in library.__all__


# -- the command line ------------------------------------------------------------------------------


def test_the_command(table: pd.DataFrame, tmp_path: Path) -> None:
    data, kept = tmp_path / "data.csv", tmp_path / "comparison.json"
    table.assign(client=[f"c{k // 3}" for k in range(len(table))]).to_csv(data, index=False)
    rate = ["--target", "claims", "--exposure", "years", "--drop", "pays,amount"]
    labels = ["--target", "pays", "--drop", "amount,claims,years,client"]
    fast = ["--localities", 0, "--local-models", "linear", "--folds", 3]
    found = run("compare", data, *rate, *fast, "--group", "client", "-o", kept)
    n = len(split(len(table), 0.3, 0, groups=np.arange(len(table)) // 3)[0])
    assert f"3 folds of {n} rows" in found.stdout
    assert f"the {len(table) - n} that fit would seal or set aside are left out" in found.stderr
    assert "GLM" in found.stdout
    assert Comparison.from_dict(json.loads(kept.read_text())).folds == 3
    assert "exists" in run("compare", data, *rate, *fast, "-o", kept, code=2).stderr
    facts = json.loads(run("compare", data, *rate, *fast, "--json").stdout)
    assert facts["methods"][0]["name"] == "this model"
    assert (
        "--group 'x' is not a column"
        in run("compare", data, *rate, *fast, "--group", "x", code=2).stderr
    )
    run(
        "fit",
        data,
        *rate,
        "--drop",
        "pays,amount,client",
        *fast[:4],
        "--model",
        tmp_path / "m.json",
    )
    few = run("compare", data, *rate, "--group", "town", "--folds", 4, code=2).stderr
    assert "--folds 4 is more than the 2 groups" in few
    page = tmp_path / "page.html"
    run("report", tmp_path / "m.json", data, "--compare", kept, "-o", page)
    assert "What reading costs" in page.read_text(encoding="utf-8")
    run("fit", data, *labels, *fast[:4], "--model", tmp_path / "labels.json")
    other = run(
        "report", tmp_path / "labels.json", data, "--compare", kept, "-o", tmp_path / "b", code=2
    )
    assert "its task is 'rate', the model's is 'classification'" in other.stderr
    bad = run("report", tmp_path / "m.json", data, "--compare", data, "-o", tmp_path / "b", code=2)
    assert "is not a comparison" in bad.stderr
