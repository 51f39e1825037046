"""Groups of rows: errors, false positives and negatives, actual over expected, and gaps."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner, Result
from sklearn.metrics import confusion_matrix

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import split
from motlm.cli._commands import motlm
from motlm.errors import InputError, InputTypeError
from motlm.groups import GroupEvaluation, evaluate_groups
from motlm.intervals import difference, share_of
from motlm.report import render

QUICK = {"local_models": "linear", "select": "held-out", "n_starts": 1, "random_state": 0}


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(motlm, [str(one) for one in arguments], prog_name="motlm")
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def clients(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": rng.normal(30, 10, n).round(2),
            "sex": rng.choice(["female", "male"], n),
        }
    )
    score = (frame["income"] - 30) / 5 + np.where(frame["sex"] == "male", 3.0, 0.0)
    frame["pays"] = np.where(score + rng.normal(size=n) > 0, "yes", "no")
    frame["amount"] = 3 * frame["income"] + np.where(frame["sex"] == "male", 9.0, 0.0)
    frame["amount"] += rng.normal(size=n)
    frame["years"] = rng.uniform(0.5, 2.0, n)
    rate = np.exp(0.02 * frame["income"] + np.where(frame["sex"] == "male", 0.5, 0.0) - 1.0)
    frame["claims"] = rng.poisson(rate * frame["years"])
    return frame


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return clients()


@pytest.fixture(scope="module")
def classifier(table: pd.DataFrame) -> LocalMixtureClassifier:
    return LocalMixtureClassifier(0, **QUICK).fit(table[["age", "income"]], table["pays"])


def measures(found: GroupEvaluation, name: str) -> dict[str, float]:
    [group] = [one for one in found.groups if one.name == name]
    return {key: one.value for key, one in group.measures.items()}


def test_classes_agree_with_the_confusion_matrix(
    table: pd.DataFrame, classifier: LocalMixtureClassifier
) -> None:
    X = table[["age", "income"]]
    found = evaluate_groups(classifier, X, table["pays"], table["sex"])
    assert found.columns == ("sex",)
    assert [one.name for one in found.groups] == ["all rows", "female", "male"]
    assert found.positive == "yes"
    for sex in ("female", "male"):
        rows = (table["sex"] == sex).to_numpy()
        truth, answers = table["pays"][rows], classifier.predict(X[rows])
        (tn, fp), (fn, tp) = confusion_matrix(truth, answers, labels=["no", "yes"])
        values = measures(found, sex)
        assert values["error rate"] == pytest.approx((fp + fn) / rows.sum())
        assert values["base rate"] == pytest.approx((fn + tp) / rows.sum())
        assert values["selection rate"] == pytest.approx((fp + tp) / rows.sum())
        assert values["false positive rate"] == pytest.approx(fp / (fp + tn))
        assert values["false negative rate"] == pytest.approx(fn / (fn + tp))
        chance = classifier.predict_proba(X[rows])[:, 1].mean()
        assert values["mean probability"] == pytest.approx(chance)


def test_gaps_are_of_the_groups_furthest_apart(
    table: pd.DataFrame, classifier: LocalMixtureClassifier
) -> None:
    found = evaluate_groups(classifier, table[["age", "income"]], table["pays"], table[["sex"]])
    [gap] = [one for one in found.gaps if one.name == "difference in false negative rate"]
    # men pay more often than their income tells, which the model does not see
    assert (gap.highest, gap.lowest) == ("male", "female")
    ours = measures(found, "male"), measures(found, "female")
    own = ours[0]["false negative rate"] - ours[1]["false negative rate"]
    assert gap.estimate.value == pytest.approx(own)
    assert gap.estimate.low > 0
    assert gap.known_as == "equal opportunity difference"
    [ratio] = [one for one in found.gaps if one.name == "ratio of selection rates"]
    rates = sorted(one["selection rate"] for one in ours)
    assert ratio.estimate.value == pytest.approx(rates[0] / rates[1])
    assert "fair" not in str(found) + json.dumps(found.to_dict())


def test_intervals_of_gaps_are_for_all_pairs(
    table: pd.DataFrame, classifier: LocalMixtureClassifier
) -> None:
    """Bonferroni's correction: of three groups there are three pairs."""
    X, y = table[["age", "income"]], table["pays"]
    few = np.where(table["age"] < 49, "young", "old")
    many = np.where(table["age"] < 30, "young", np.where(table["age"] > 65, "old", "middle"))
    two, three = (evaluate_groups(classifier, X, y, {"age": one}) for one in (few, many))
    for found, level in ((two, 0.95), (three, 1 - 0.05 / 3)):
        [gap] = [one for one in found.gaps if one.name == "difference in error rate"]
        names = few if found is two else many
        wrong = classifier.predict(X) != y
        pair = [
            share_of(wrong[names == one].to_numpy(), level) for one in (gap.highest, gap.lowest)
        ]
        assert gap.estimate == difference(*pair)


def test_numbers_are_cut_at_quartiles(
    table: pd.DataFrame, classifier: LocalMixtureClassifier
) -> None:
    X, y = table[["age", "income"]], table["pays"]
    found = evaluate_groups(classifier, X, y, ["age"])
    names = [one.name for one in found.groups[1:]]
    cuts = np.quantile(table["age"], [0.25, 0.5, 0.75], method="lower")
    assert names[0] == f"up to {cuts[0]:g}"
    assert names[-1] == f"above {cuts[2]:g}"
    assert len(names) == 4
    assert sum(one.rows for one in found.groups[1:]) == len(table)
    assert found.groups[1].rows == (table["age"] <= cuts[0]).sum()
    few = evaluate_groups(classifier, X, y, {"children": np.arange(len(table)) % 3})
    assert [one.name for one in few.groups[1:]] == ["0", "1", "2"]


def test_missing_values_and_rare_categories_are_groups(
    table: pd.DataFrame, classifier: LocalMixtureClassifier
) -> None:
    X, y = table[["age", "income"]], table["pays"]
    sex, age = table["sex"].where(table.index % 10 > 0), table["age"].where(table.index % 7 > 0)
    town = [f"town {min(k // 4, 40)}" for k in range(len(table))]
    found = evaluate_groups(classifier, X, y, {"sex": sex, "age": age, "town": town})
    assert found.columns == ("sex", "age", "town")
    for column in found.columns:
        groups, _ = found.of_column(column)
        assert sum(one.rows for one in groups[1:]) == len(table)
    assert [one.rows for one in found.groups if one.name == "(missing)"] == [30, 43]
    towns, gaps = found.of_column("town")
    assert len(towns) == 21
    assert towns[-1].name.endswith("other categories")
    assert "rarest" in found.notes[0]
    # groups of four rows have figures, and no gaps
    assert {one.highest for one in gaps} <= {"town 40", towns[-1].name}


def test_numbers_and_rates(table: pd.DataFrame) -> None:
    X = table[["age", "income"]]
    model = LocalMixtureRegressor(0, **QUICK).fit(X, table["amount"])
    found = evaluate_groups(model, X, table["amount"], table["sex"])
    errors = model.predict(X) - table["amount"]
    for sex in ("female", "male"):
        own = errors[table["sex"] == sex]
        values = measures(found, sex)
        assert values["mean error"] == pytest.approx(own.mean())
        assert values["RMSE"] == pytest.approx(np.sqrt((own**2).mean()))
    assert found.gaps[0].estimate.low > 5
    rate = LocalMixtureRegressor(0, loss="poisson", **QUICK)
    rate.fit(X, table["claims"], exposure=table["years"])
    found = evaluate_groups(rate, X, table["claims"], table["sex"], exposure=table["years"])
    men = (table["sex"] == "male").to_numpy()
    expected = rate.predict(X, exposure=table["years"])
    ratio = table["claims"][men].sum() / expected[men].sum()
    assert measures(found, "male")["actual / expected"] == pytest.approx(ratio)
    assert ratio > 1 > measures(found, "female")["actual / expected"]
    assert found.gaps[0].name == "ratio of actual / expected"
    assert found.gaps[0].estimate.low > 1
    alone = evaluate_groups(rate, X, table["claims"], table["sex"])
    assert alone.task == "rate"


def test_several_classes(table: pd.DataFrame) -> None:
    X, y = table[["age", "income"]], pd.qcut(table["income"], 3, labels=["low", "mid", "top"])
    y = np.asarray(y, dtype=str)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    found = evaluate_groups(model, X, y, table["sex"])
    assert found.positive is None
    assert set(measures(found, "male")) == {"error rate", "mean probability of the answer"}
    found = evaluate_groups(model, X, y, table["sex"], positive="top")
    assert "false positive rate" in measures(found, "male")
    with pytest.raises(InputError, match="positive must be one of the labels 'low', 'mid', 'top'"):
        evaluate_groups(model, X, y, table["sex"], positive="high")


def test_columns_may_be_given_in_any_form(
    table: pd.DataFrame, classifier: LocalMixtureClassifier
) -> None:
    X, y = table[["age", "income"]], table["pays"]
    forms = [
        table[["sex"]],
        table["sex"],
        {"sex": list(table["sex"])},
        pl.DataFrame(table[["sex"]]),
    ]
    found = [evaluate_groups(classifier, X, y, one).to_dict() for one in forms]
    assert all(one == found[0] for one in found)
    array = evaluate_groups(classifier, X, y, table["sex"].to_numpy())
    assert array.columns == ("group",)
    frame = array.to_frame()
    assert len(frame) == 3
    assert {"rows", "error rate", "error rate, low", "error rate, high"} <= set(frame.columns)


def test_bad_input(table: pd.DataFrame, classifier: LocalMixtureClassifier) -> None:
    X, y = table[["age", "income"]], table["pays"]
    with pytest.raises(InputError, match="by has 'sex', which is not a column of X"):
        evaluate_groups(classifier, X, y, "sex")
    with pytest.raises(InputError, match="X is an array, whose columns have no names"):
        evaluate_groups(classifier, X.to_numpy(), y, "age")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        evaluate_groups(classifier, X, y, {"sex": table["sex"][:9]})
    with pytest.raises(InputError, match="exposure is for models of rates"):
        evaluate_groups(classifier, X, y, "age", exposure=np.ones(len(y)))
    with pytest.raises(InputError, match="probabilities must be of shape"):
        evaluate_groups(classifier, X, y, "age", probabilities=np.ones((2, 2)))
    with pytest.raises(InputTypeError, match="got its mixture_"):
        evaluate_groups(classifier.mixture_, X, y, "age")
    with pytest.raises(InputError, match="of 2 dimensions"):
        evaluate_groups(classifier, X, y, {"sex": np.ones((len(y), 2))})
    number = LocalMixtureRegressor(0, **QUICK).fit(X, table["amount"])
    with pytest.raises(InputError, match="probabilities and positive are for classifiers"):
        evaluate_groups(number, X, table["amount"], "age", positive=1)
    with pytest.raises(InputError, match="there are no rows"):
        evaluate_groups(classifier, X[:0], y[:0], "age")


# -- the command line and the page -----------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, table: pd.DataFrame) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    table[["age", "income", "sex", "pays"]].to_csv(folder / "data.csv", index=False)
    run(
        *("fit", folder / "data.csv", "--target", "pays", "--drop", "sex"),
        *("--localities", 0, "--model", folder / "model.json"),
    )
    return folder


def test_evaluate_by(folder: Path) -> None:
    plain = run("evaluate", folder / "model.json", folder / "data.csv").stdout
    found = run("evaluate", folder / "model.json", folder / "data.csv", "--by", "sex,age").stdout
    assert found.startswith(plain)
    assert "by sex" in found
    assert "demographic parity difference" in found
    assert max(len(line) for line in found.split("by sex")[1].splitlines()) <= 140
    facts = json.loads(
        run("evaluate", folder / "model.json", folder / "data.csv", "--by", "sex", "--json").stdout
    )
    groups = facts["groups"]["groups"]
    assert [one["group"] for one in groups] == ["all rows", "female", "male"]
    assert groups[1]["error_rate"]["low"] < groups[1]["error_rate"]["value"]
    other = run(
        *("evaluate", folder / "model.json", folder / "data.csv"),
        *("--by", "sex", "--positive", "no", "--json"),
    )
    swapped = json.loads(other.stdout)["groups"]["groups"]
    assert swapped[1]["false_positive_rate"] == groups[1]["false_negative_rate"]
    fitted = "210 of the 300 rows were used for fitting, on which predictions look better than they"
    assert any(note.startswith(fitted) for note in facts["groups"]["notes"])
    assert fitted in found.split("by sex")[1].replace("\n", " ")


def test_report_by_counts_rows_that_were_not_used_for_fitting(
    folder: Path, table: pd.DataFrame
) -> None:
    """The page says which rows are counted."""
    page, model = folder / "sealed.html", folder / "model.json"

    def section(data: Path) -> str:
        run("report", model, data, "--by", "sex", "-o", page, "--force")
        return page.read_text(encoding="utf-8").split('<section id="groups">')[1]

    whole = section(folder / "data.csv")
    assert "The 90 of 300 rows that were not used for fitting are counted." in whole
    sealed = table.iloc[split(300, 0.3, 0)[1]]
    women = (sealed["sex"] == "female").sum()
    assert re.search(rf">female</th><td[^>]*>{women}</td>", whole)
    sealed.to_csv(folder / "sealed.csv", index=False)
    alone = section(folder / "sealed.csv")
    assert "All 90 rows of the report are counted." in alone
    first, second = (
        re.findall(r"<td[^>]*>(.*?)</td>", one.split("</section>")[0]) for one in (whole, alone)
    )
    assert first == second


def test_rows_used_for_fitting_are_noted(table: pd.DataFrame) -> None:
    X, years = table[["age", "income"]], table["years"]
    model = LocalMixtureRegressor(0, loss="poisson", **QUICK)
    model.fit(X[:200], table["claims"][:200], exposure=years[:200])
    found = evaluate_groups(model, X, table["claims"], {"sex": table["sex"]}, exposure=years)
    assert found.notes[0].startswith("200 of the 300 rows were used for fitting")
    fresh = table[200:]
    found = evaluate_groups(
        model,
        fresh[["age", "income"]],
        fresh["claims"],
        {"sex": fresh["sex"]},
        exposure=fresh["years"],
    )
    assert found.notes == ()


def test_fit_by(folder: Path, table: pd.DataFrame) -> None:
    """Of the sealed rows, by a column that the model does not have."""
    page = folder / "fit.html"
    fit = ["fit", folder / "data.csv", "--target", "pays", "--drop", "sex", "--localities", 0]
    facts = json.loads(run(*fit, "--by", "sex", "--report", page, "--json").stdout)
    sealed = table["sex"].iloc[split(len(table), 0.3, 0)[1]]
    groups = facts["groups"]["groups"]
    assert groups[0]["rows"] == len(sealed)
    assert groups[1]["rows"] == (sealed == "female").sum()
    assert '<section id="groups">' in page.read_text(encoding="utf-8")
    assert "the sealed rows, by sex" in run(*fit, "--by", "sex").stdout
    assert "--by 'town' is not a column" in run(*fit, "--by", "town", code=2).stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by", "town"], "--by 'town' is not a column"),
        (["--positive", "yes"], "--positive is for --by"),
        (["--by", "sex", "--positive", "maybe"], "'maybe' is not one of the labels no, yes"),
    ],
)
def test_bad_options(folder: Path, options: list[str], words: str) -> None:
    assert (
        words
        in run("evaluate", folder / "model.json", folder / "data.csv", *options, code=2).stderr
    )


def test_the_page_has_a_table(folder: Path) -> None:
    page = folder / "page.html"
    run("report", folder / "model.json", folder / "data.csv", "--by", "sex,age", "-o", page)
    text = page.read_text(encoding="utf-8")
    assert '<section id="groups">' in text
    assert '<a href="#groups">Groups</a>' in text
    assert '<th scope="row" role="rowheader">female</th>' in text
    run("report", folder / "model.json", folder / "data.csv", "-o", page, "--force")
    assert '<section id="groups">' not in page.read_text(encoding="utf-8")


def test_the_page_hides_groups_of_few_rows(
    table: pd.DataFrame, classifier: LocalMixtureClassifier, tmp_path: Path
) -> None:
    X, y = table[["age", "income"]], table["pays"]
    by = {"<b>town</b>": ["A"] * 5 + ["B"] * (len(table) - 5)}
    found = evaluate_groups(classifier, X, y, by)
    text = render(classifier, X, y, tmp_path / "a.html", groups=found).read_text(encoding="utf-8")
    section = text.split('<section id="groups">')[1].split("</section>")[0]
    assert "under 10" in section
    assert section.count("not shown") >= 6
    assert "<b>" not in section
    text = render(classifier, X, y, tmp_path / "b.html", groups=found, include_rows=True).read_text(
        encoding="utf-8"
    )
    assert "under 10" not in text.split('<section id="groups">')[1].split("</section>")[0]


def test_mean_probabilities_have_intervals_between_0_and_1() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 1))
    y = (X[:, 0] > 0).astype(int)
    model = LocalMixtureClassifier(0, local_models="linear", random_state=0).fit(X, y)
    part = np.where(X[:, 0] > 1.5, "far", "near")
    found = evaluate_groups(model, X, y, part)
    for group in found.groups:
        one = group.measures["mean probability"]
        assert one.low is None or 0 <= one.low <= one.value <= one.high <= 1


def test_infinities_and_categories_called_missing_are_groups() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=200)})
    y = np.asarray(X["x"] + rng.normal(size=200))
    model = LocalMixtureRegressor(0, random_state=0).fit(X, y)
    numbers = rng.normal(size=200)
    numbers[:3], numbers[3:5], numbers[5:9] = -np.inf, np.inf, np.nan
    words = np.array(["a", "(missing)", None, np.nan] * 50, dtype=object)
    for values in (numbers, words):
        groups = evaluate_groups(model, X, y, {"by": values}).groups[1:]
        assert sum(one.rows for one in groups) == 200
    sizes = {one.name: one.rows for one in groups}
    assert sizes == {"a": 50, "(missing)": 50, "(missing), no value": 100}
    constant = np.r_[np.arange(6.0), np.full(194, 6.0)]
    [one] = evaluate_groups(model, X, y, {"by": constant}).groups[1:]
    assert (one.name, one.rows) == ("any number", 200)
