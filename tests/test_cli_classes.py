"""The command line with three or more classes."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from scipy.special import ndtri, softmax
from sklearn import metrics
from sklearn.datasets import load_iris, load_wine

import motlm as library
from motlm.certificates import split
from motlm.cli._commands import motlm
from motlm.errors import ModelFileError
from motlm.evaluation import evaluate
from motlm.files import checksum

FAST = ["--localities", "0"]
IRIS = ["--target", "species", "--id", "flower", *FAST]
SPECIES = ["setosa", "versicolor", "virginica"]
COLUMNS = ["sepal length", "sepal width", "petal length", "petal width"]
CHANCES = [f"probability of {label}" for label in SPECIES]


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(motlm, [str(one) for one in arguments], prog_name="motlm")
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def last_line(*arguments: object) -> str:
    """The error of a command that is expected to fail."""
    *_, line = run(*arguments, code=2).stderr.splitlines()
    assert line.startswith("Error: ")
    return line


def printed_json(*arguments: object) -> dict:
    found: dict = json.loads(run(*arguments, "--json").stdout)
    return found


def flowers() -> pd.DataFrame:
    """Iris with text labels, in random order."""
    data = load_iris()
    frame = pd.DataFrame(data.data, columns=COLUMNS)
    frame.insert(0, "flower", [f"f{i}" for i in range(150)])
    frame["species"] = data.target_names[data.target]
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)


def three(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of three classes of different sizes, and the true probabilities."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"]).round(3)
    scores = np.column_stack([2 * frame["a"] + 1, frame["b"], -frame["a"] - frame["b"] - 1])
    chance = softmax(scores, axis=1)
    frame["y"] = np.array(["low", "mid", "top"])[
        (rng.uniform(size=(n, 1)) > chance.cumsum(axis=1)).sum(axis=1)
    ]
    return frame, chance


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, and models of text labels, of whole numbers, and with the zero-one loss."""
    place = tmp_path_factory.mktemp("classes")
    frame = flowers()
    frame[:100].to_csv(place / "iris.csv", index=False)
    frame[100:].to_csv(place / "later.csv", index=False)
    run("fit", place / "iris.csv", *IRIS, "--model", place / "iris.json")
    wine = load_wine(as_frame=True).frame.sample(frac=1, random_state=0)
    wine.to_csv(place / "wine.csv", index=False)
    base = ["--target", "target", *FAST, "--task", "classification"]
    run("fit", place / "wine.csv", *base, "--model", place / "wine.json")
    three(900, 0)[0].to_csv(place / "three.csv", index=False)
    three(600, 1)[0].to_csv(place / "more.csv", index=False)
    base = ["fit", place / "three.csv", "--target", "y", *FAST, "--loss", "zero-one"]
    run(*base, "--model", place / "zero.json")
    return place


# -- fit -------------------------------------------------------------------------------------------


def test_fit_of_text_labels(folder: Path) -> None:
    printed = run("fit", folder / "iris.csv", *IRIS)
    assert (
        "target 'species': 3 distinct texts, setosa, versicolor and virginica\n"
        "classification of 'species' (log loss)\n" in printed.stderr
    )
    for label in SPECIES:
        assert f"    score of {label} = " in printed.stdout
    assert "the class with the largest score is predicted" in printed.stdout
    assert "accuracy on 30 sealed rows: " in printed.stdout
    assert "this fixed model errs on at most" in printed.stdout
    assert max(map(len, printed.stdout.split("\naccuracy")[0].splitlines())) <= 110
    assert not [line for line in printed.stdout.splitlines() if line.strip() in ("width", "length")]
    frame, (first, sealed) = flowers()[:100], split(100, 0.3, 0)
    own = library.LocalMixtureClassifier(0, random_state=0)
    own.fit(frame[COLUMNS].iloc[first], frame["species"].iloc[first])
    model = library.load(folder / "iris.json")
    np.testing.assert_allclose(
        model.predict_proba(frame[COLUMNS]), own.predict_proba(frame[COLUMNS])
    )
    facts = printed_json("fit", folder / "iris.csv", *IRIS)
    score = own.score(frame[COLUMNS].iloc[sealed], frame["species"].iloc[sealed])
    assert facts["accuracy"] == pytest.approx(score)


def test_whole_numbers_are_asked_about(folder: Path) -> None:
    line = last_line("fit", folder / "wine.csv", "--target", "target", *FAST)
    assert "3 distinct whole numbers, 0, 1 and 2. Are they classes, amounts or counts?" in line
    model = library.load(folder / "wine.json")
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.classes_.dtype.kind == "i"


def test_numbers_that_are_not_whole_may_be_classes(tmp_path: Path) -> None:
    frame = three(300, 0)[0].replace({"low": 0.5, "mid": 1.5, "top": 7.0})
    frame.to_csv(tmp_path / "d.csv", index=False)
    base = ["fit", tmp_path / "d.csv", "--target", "y", *FAST]
    assert "regression of 'y'" in run(*base).stderr
    run(*base, "--task", "classification", "--model", tmp_path / "m.json")
    assert library.load(tmp_path / "m.json").classes_.tolist() == ["0.5", "1.5", "7.0"]


def test_localities_of_several_classes(tmp_path: Path) -> None:
    """Another class is likely near one point; it is found, and told apart."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-2, 2, size=(600, 2)), columns=["a", "b"]).round(3)
    side = np.where(frame["a"] + 0.2 * rng.normal(size=600) > 0, "east", "west")
    frame["y"] = np.where(np.hypot(frame["a"], frame["b"]) < 0.8, "center", side)
    frame.to_csv(tmp_path / "d.csv", index=False)
    pd.DataFrame({"a": [0.0], "b": [0.0]}).to_csv(tmp_path / "points.csv", index=False)
    base = ["fit", tmp_path / "d.csv", "--target", "y", "--model", tmp_path / "m.json"]
    shown = run(*base, "--points", tmp_path / "points.csv").stdout
    assert "locality 0 (case 0), a -0." in shown
    assert shown.count("    score of center = ") == 1
    assert shown.count("    score of center: as everywhere, except: ") == 1
    full = run(*base, "--force", "--points", tmp_path / "points.csv", "--full-formulas").stdout
    assert full.count("    score of center = ") == 2
    found = printed_json("evaluate", tmp_path / "m.json", tmp_path / "d.csv")
    assert found["accuracy"] > 0.85
    out = run("predict", tmp_path / "m.json", tmp_path / "d.csv").stdout
    assert "locality 0" in out
    assert "exterior" in out


def test_class_weights_find_more_of_a_rare_class(folder: Path, tmp_path: Path) -> None:
    recall = {}
    for weight in ("none", "balanced"):
        base = ["fit", folder / "three.csv", "--target", "y", *FAST, "--class-weight", weight]
        run(*base, "--model", tmp_path / f"{weight}.json")
        found = printed_json("evaluate", tmp_path / f"{weight}.json", folder / "more.csv")
        recall[weight] = {one["label"]: one["recall"] for one in found["classes"]}
    assert library.load(tmp_path / "balanced.json").class_weight == "balanced"
    rows = three(900, 0)[0]["y"].value_counts()
    assert recall["balanced"][rows.idxmin()] > recall["none"][rows.idxmin()]
    assert recall["balanced"][rows.idxmax()] < recall["none"][rows.idxmax()]


def test_a_class_of_one_row(tmp_path: Path) -> None:
    """Where it can be learned from, it is noted; among the sealed rows it is refused."""
    first, sealed = split(100, 0.3, 0)
    for row, code in ((first[0], 0), (sealed[0], 2)):
        frame = flowers()[:100]
        frame.loc[row, "species"] = "lily"
        frame.to_csv(tmp_path / "d.csv", index=False)
        printed = run("fit", tmp_path / "d.csv", *IRIS, code=code).stderr
        if code:
            assert f"row {row}: 'species' is 'lily', which is not one of the labels" in printed
            assert "no row to fit on is of class lily (1); leave such rows out" in printed
        else:
            assert "4 distinct texts, lily, setosa, versicolor and virginica\n" in printed
            assert "few rows to fit on are of class lily (1)\n" in printed
    frame = load_wine(as_frame=True).frame.assign(target=lambda f: f["target"].astype(object))
    frame.loc[split(178, 0.3, 0)[1][0], "target"] = 7
    frame.to_csv(tmp_path / "d.csv", index=False)
    options = ["--target", "target", "--task", "classification"]
    line = last_line("fit", tmp_path / "d.csv", *options)
    assert "is '7', which is not one of the labels 0, 1, 2; no row to fit on is of class 7" in line


def test_rows_without_weight_teach_no_class(tmp_path: Path) -> None:
    frame = flowers()[:100]
    frame["w"] = np.where(frame["species"] == "setosa", 0, 1)
    frame.to_csv(tmp_path / "d.csv", index=False)
    line = last_line("fit", tmp_path / "d.csv", *IRIS, "--weights", "w")
    assert "is 'setosa', which is not one of the labels versicolor, virginica" in line


def test_rows_without_a_label_are_left_out(tmp_path: Path) -> None:
    frame = flowers()[:100]
    frame.loc[[3, 5], "species"] = ""
    frame.to_csv(tmp_path / "d.csv", index=False)
    printed = run("fit", tmp_path / "d.csv", *IRIS).stderr
    assert "2 rows without a 'species' left out" in printed
    assert "3 distinct texts, setosa, versicolor and virginica" in printed


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([f"k{i % 270}" for i in range(1500)], "at most 256 classes can be told apart"),
        ([f"k{i}" for i in range(1500)], "which are too many for classes"),
    ],
)
def test_too_many_classes(labels: list[str], message: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=1500), "y": labels})
    frame.to_csv(tmp_path / "d.csv", index=False)
    assert message in last_line("fit", tmp_path / "d.csv", "--target", "y")


def test_classes_with_the_names_of_columns(tmp_path: Path) -> None:
    """Of the table, and of those that predict writes."""
    names = dict(zip(SPECIES, ("petal width", "prediction", "ambiguous"), strict=True))
    frame = flowers().replace({"species": names})
    frame.to_csv(tmp_path / "d.csv", index=False)
    run("fit", tmp_path / "d.csv", *IRIS, "--model", tmp_path / "m.json")
    run("predict", tmp_path / "m.json", tmp_path / "d.csv", "-o", tmp_path / "o.csv")
    shown = pd.read_csv(tmp_path / "o.csv")
    assert (shown["prediction"] == frame["species"]).mean() > 0.9
    assert set(shown["ambiguous"]) <= {"yes", "no"}
    chance = shown[[f"probability of {name}" for name in sorted(names.values())]]
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    found = printed_json("explain", tmp_path / "m.json", tmp_path / "d.csv", "--row", 1)
    assert set(found["probabilities"]) == set(names.values())
    assert set(found["contributions"]) == set(COLUMNS)
    line = last_line(
        *("predict", tmp_path / "m.json", tmp_path / "o.csv", "--id", "probability of ambiguous")
    )
    assert "has no column 'sepal length'" in line
    both = pd.concat([frame, chance], axis=1)
    both.to_csv(tmp_path / "both.csv", index=False)
    line = last_line(
        *("predict", tmp_path / "m.json", tmp_path / "both.csv", "--id", "probability of ambiguous")
    )
    assert "is the name of a column that predict writes" in line


# -- predict ---------------------------------------------------------------------------------------


def test_predict_has_a_probability_for_each_class(folder: Path, tmp_path: Path) -> None:
    run("predict", folder / "iris.json", folder / "later.csv", "-o", tmp_path / "o.csv")
    shown, frame = pd.read_csv(tmp_path / "o.csv"), flowers()[100:]
    names = ["row", "flower", "prediction", *CHANCES, "model_used", "ambiguous", "reason", "note"]
    assert shown.columns.tolist() == names
    model = library.load(folder / "iris.json")
    np.testing.assert_allclose(shown[CHANCES], model.predict_proba(frame[COLUMNS]))
    assert shown["prediction"].tolist() == model.predict(frame[COLUMNS]).tolist()
    largest = shown[CHANCES].to_numpy().argmax(axis=1)
    assert shown["prediction"].tolist() == [SPECIES[k] for k in largest]
    lines = run("predict", folder / "wine.json", folder / "wine.csv", "--json").stdout.splitlines()
    row = json.loads(lines[0])
    assert row["prediction"] in (0, 1, 2)
    assert {f"probability of {k}" for k in range(3)} < set(row)
    assert len(lines) == 178


def test_rows_of_several_classes_that_cannot_be_scored(folder: Path, tmp_path: Path) -> None:
    frame = flowers()[100:].astype(object)
    frame.iloc[2, 1] = "long"
    frame.to_csv(tmp_path / "d.csv", index=False)
    result = run("predict", folder / "iris.json", tmp_path / "d.csv", "--json", code=3)
    row = json.loads(result.stdout.splitlines()[2])
    assert [row[name] for name in ("prediction", *CHANCES, "model_used")] == [None] * 5
    assert row["reason"] == "column 'sepal length': 'long' is not a number"


# -- evaluate --------------------------------------------------------------------------------------


def test_evaluation_of_several_classes(folder: Path) -> None:
    found = printed_json("evaluate", folder / "iris.json", folder / "later.csv")
    model, frame = library.load(folder / "iris.json"), flowers()[100:]
    X, y = frame[COLUMNS], frame["species"].to_numpy()
    chance, answers = model.predict_proba(X), model.predict(X)
    truth = (y[:, None] == SPECIES).astype(float)
    expected = {
        "accuracy": (answers == y).mean(),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, answers),
        "AUC": metrics.roc_auc_score(y, chance, multi_class="ovr", average="macro"),
        "log_loss": -np.log((chance * truth).sum(axis=1)).mean(),
        "Brier_score": ((chance - truth) ** 2).sum(axis=1).mean(),
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert found["confusion"] == metrics.confusion_matrix(y, answers).tolist()
    for k, one in enumerate(found["classes"]):
        column = [row[k] for row in found["confusion"]]
        assert one["label"] == SPECIES[k]
        assert one["recall"] == pytest.approx(column[k] / sum(found["confusion"][k]))
        assert one["precision"] == pytest.approx(column[k] / sum(column))
    for label, values in zip(SPECIES, chance.T, strict=True):
        bins = [one for one in found["calibration"] if one["label"] == label]
        assert [one["rows"] for one in bins] == [5] * 10
        assert np.mean([one["predicted"] for one in bins]) == pytest.approx(values.mean())
        assert np.mean([one["observed"] for one in bins]) == pytest.approx((y == label).mean())
    own = found["confidence"]
    assert np.mean([one["predicted"] for one in own]) == pytest.approx(chance.max(axis=1).mean())
    assert np.mean([one["observed"] for one in own]) == pytest.approx((answers == y).mean())
    assert set(found["definitions"]) == set(expected) - {"accuracy"}
    shown = run("evaluate", folder / "iris.json", folder / "later.csv").stdout
    assert "classification of 'species' on 50 rows of" in shown
    assert "mean over the classes, each against the rest (one-vs-rest)" in shown
    assert "added up over the classes" in shown
    assert "true \\ predicted  setosa  versicolor  virginica" in shown
    assert "probability of the answer  share of right answers  rows" in shown


def test_rows_used_for_fitting_several_classes_are_noted(folder: Path) -> None:
    found = printed_json("evaluate", folder / "wine.json", folder / "wine.csv")
    assert found["rows_used_for_fitting"] == 125
    assert found["notes"][0].startswith("125 of the 178 rows were used for fitting")


def test_evaluation_where_classes_are_absent(folder: Path, tmp_path: Path) -> None:
    later = flowers()[100:]
    two = later[later["species"] != "virginica"]
    two.to_csv(tmp_path / "two.csv", index=False)
    found = printed_json("evaluate", folder / "iris.json", tmp_path / "two.csv")
    chance = library.load(folder / "iris.json").predict_proba(two[COLUMNS])
    each = [metrics.roc_auc_score(two["species"] == SPECIES[k], chance[:, k]) for k in range(2)]
    assert found["AUC"] == pytest.approx(np.mean(each))
    recalls = [one["recall"] for one in found["classes"]]
    assert recalls[2] is None
    assert found["balanced_accuracy"] == pytest.approx(np.mean(recalls[:2]))
    assert "no row is of class virginica: AUC and balanced accuracy are means" in found["notes"][0]
    later[later["species"] == "setosa"].to_csv(tmp_path / "one.csv", index=False)
    found = printed_json("evaluate", folder / "iris.json", tmp_path / "one.csv")
    assert (found["AUC"], found["balanced_accuracy"]) == (None, None)
    assert "no row is of class versicolor, virginica, so that" in found["notes"][0]
    assert found["log_loss"] > 0


@pytest.mark.parametrize("command", ["evaluate", "certify", "report"])
def test_labels_that_the_model_does_not_know(command: str, folder: Path, tmp_path: Path) -> None:
    message = "row 0: 'species' is 'lily', which is not one of the labels setosa, versicolor"
    frame = flowers()[100:]
    frame.iloc[0, -1] = "lily"
    frame.to_csv(tmp_path / "d.csv", index=False)
    more = ["-o", tmp_path / "r.html"] if command == "report" else []
    assert message in last_line(command, folder / "iris.json", tmp_path / "d.csv", *more)


def test_many_classes_show_their_most_frequent_mistakes(tmp_path: Path) -> None:
    """A matrix of them would be too wide; there are no notes on the number of labels."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(900, 1)), columns=["a"]).round(4)
    frame["y"] = [f"class {'abcdefghijklmnopqrstuvwxyz'[int(26 * a)]}" for a in frame["a"] - 1e-4]
    frame.to_csv(tmp_path / "d.csv", index=False)
    base = ["fit", tmp_path / "d.csv", "--target", "y", *FAST, "--model", tmp_path / "m.json"]
    assert "scores of 26 classes: --json prints their formulas" in run(*base).stdout
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library.load(tmp_path / "m.json")
    result = run("evaluate", tmp_path / "m.json", tmp_path / "d.csv")
    assert "note" not in result.stderr
    assert "true \\ predicted" not in result.stdout
    _, table = result.stdout.split("most frequent mistakes: true  predicted  rows\n")
    lines = table.split("\n\n")[0].splitlines()
    counts = [int(line.split()[-1]) for line in lines]
    assert counts == sorted(counts, reverse=True)
    found = printed_json("evaluate", tmp_path / "m.json", tmp_path / "d.csv")
    matrix = np.array(found["confusion"])
    np.fill_diagonal(matrix, 0)
    assert counts == sorted(matrix[matrix > 0].tolist(), reverse=True)[:10]


def test_probabilities_may_be_given() -> None:
    X, y = load_iris(return_X_y=True)
    model = library.LocalMixtureClassifier(0, inverse_temperature=2, random_state=0).fit(X, y)
    found = evaluate(model, X, y, probabilities=np.full((150, 3), 1 / 3))
    assert found.metrics["log loss"] == pytest.approx(np.log(3))
    assert found.metrics["Brier score"] == pytest.approx(2 / 3)
    assert found.metrics["AUC"] == 0.5


# -- calibration -----------------------------------------------------------------------------------


def test_several_probabilities_are_calibrated(folder: Path) -> None:
    """With the zero-one loss they are overconfident; afterwards about as often right as they
    say.
    """
    (frame, best), model = three(600, 1), library.load(folder / "zero.json")
    found = printed_json("evaluate", folder / "zero.json", folder / "more.csv")
    raw = metrics.log_loss(frame["y"], model.predict_proba(frame[["a", "b"]]))
    assert found["log_loss"] < 0.5 * raw
    assert found["log_loss"] < metrics.log_loss(frame["y"], best) + 0.25
    slope, *intercept = model.table_.calibration
    assert slope > 0
    assert len(intercept) == 3
    output = run("predict", folder / "zero.json", folder / "more.csv").stdout.splitlines()
    chance = np.array([line.split(",")[2:5] for line in output[1:]], dtype=float)
    votes = model.vote_proba(frame[["a", "b"]])
    sound = (votes > 1e-12).all(axis=1) & (votes < 1 - 1e-7).all(axis=1)
    assert sound.sum() > 100
    expected = softmax(slope * ndtri(votes[sound]) + np.array(intercept), axis=1)
    np.testing.assert_allclose(chance[sound], expected, rtol=1e-5)
    row = printed_json("explain", folder / "zero.json", folder / "more.csv", "--row", 4)
    assert list(row["probabilities"].values()) == pytest.approx(chance[4].tolist())
    assert [one["probability"] for one in row["classes"]] == pytest.approx(chance[4].tolist())


def test_calibrated_shares_are_those_of_the_sealed_rows(folder: Path, tmp_path: Path) -> None:
    """The intercepts of maximum likelihood: mean probabilities are the shares of the classes."""
    rows = three(900, 0)[0].iloc[split(900, 0.3, 0)[1]]
    rows.to_csv(tmp_path / "sealed.csv", index=False)
    found = printed_json("evaluate", folder / "zero.json", tmp_path / "sealed.csv")
    for label in ("low", "mid", "top"):
        bins = [one for one in found["calibration"] if one["label"] == label]
        mean = np.average([one["predicted"] for one in bins], weights=[one["rows"] for one in bins])
        assert mean == pytest.approx((rows["y"] == label).mean(), abs=0.01)


def test_the_log_loss_and_few_rows_calibrate_nothing(folder: Path, tmp_path: Path) -> None:
    assert library.load(folder / "iris.json").table_.calibration is None
    three(60, 0)[0].to_csv(tmp_path / "d.csv", index=False)
    base = ["fit", tmp_path / "d.csv", "--target", "y", *FAST, "--loss", "zero-one"]
    run(*base, "--model", tmp_path / "m.json")  # 18 sealed rows
    assert library.load(tmp_path / "m.json").table_.calibration is None


def test_files_keep_the_calibration_of_each_class(folder: Path, tmp_path: Path) -> None:
    content = json.loads((folder / "zero.json").read_text())
    assert len(content["table"]["calibration"]) == 4
    content["table"]["calibration"] = [1.0, 0.0]
    del content["checksum"]
    content["checksum"] = checksum(content)
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=r"table\.calibration should have shape \(4,\)"):
        library.load(tmp_path / "m.json")


# -- explain, certify, report ----------------------------------------------------------------------


def test_explanation_of_several_classes(folder: Path) -> None:
    base = ["explain", folder / "iris.json", folder / "later.csv", "--row", 2]
    found = printed_json(*base)
    chance = library.load(folder / "iris.json").predict_proba(flowers()[COLUMNS][102:103])[0]
    assert list(found["probabilities"].values()) == pytest.approx(chance.tolist())
    assert [one["label"] for one in found["classes"]] == SPECIES
    for one in found["classes"]:
        assert set(one["contributions"]) == set(COLUMNS)
        assert one["base"] + sum(one["contributions"].values()) == pytest.approx(one["score"])
    scores = [one["score"] for one in found["classes"]]
    assert found["prediction"] == SPECIES[int(np.argmax(scores))]
    shown = run(*base).stdout
    assert shown.startswith("row 2: ")
    for label in SPECIES:
        assert label in shown
    assert f"probability of versicolor: {chance[1]:.3g}" in shown
    assert "what would change it: " in shown
    case = flowers()["flower"][102]
    again = run("explain", folder / "iris.json", folder / "later.csv", "--case", case).stdout
    assert again == shown


def test_changes_to_a_class_that_is_wanted(folder: Path) -> None:
    base = ["explain", folder / "iris.json", folder / "later.csv", "--row", 2]
    model, before = library.load(folder / "iris.json"), printed_json(*base)["prediction"]
    for label in SPECIES:
        change = printed_json(*base, "--wanted", label)["counterfactual"]
        if label == before:
            assert not change["found"]
            continue
        assert change["prediction_after"] == label
        row = pd.DataFrame([change["after"]])[COLUMNS]
        assert model.predict(row).tolist() == [label]
    fixed = ["--fixed", "petal width,petal length"]
    change = printed_json(*base, "--wanted", "setosa", *fixed)["counterfactual"]
    assert set(change["changes"]) <= {"sepal length", "sepal width"}
    line = last_line(*base, "--wanted", "lily")
    assert "--wanted 'lily' is not one of the classes setosa, versicolor, virginica" in line
    base = ["explain", folder / "wine.json", folder / "wine.csv", "--row", 0]
    wanted = (printed_json(*base)["prediction"] + 1) % 3
    assert printed_json(*base, "--wanted", wanted)["counterfactual"]["wanted"] == wanted


def test_certificates_of_several_classes(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.json"
    model.write_text((folder / "iris.json").read_text())
    base = ["certify", model, folder / "later.csv"]
    answers = library.load(model).predict(flowers()[COLUMNS][100:])
    wrong = int((answers != flowers()["species"][100:]).sum())
    shown = run(*base).stdout
    assert f"({wrong} of 50 seen; the majority class errs on" in shown
    assert "has a certificate already" in last_line(*base, "--save")
    run(*base, "--save", "--force")
    assert library.load(model).certificate_.protocol.startswith("audit on 50 rows")
    assert printed_json(*base)["statements"][0]["n_rows"] == 50
    assert "used for fitting" in last_line("certify", model, folder / "iris.csv")


def test_report_of_several_classes(folder: Path, tmp_path: Path) -> None:
    base = ["report", folder / "iris.json", folder / "later.csv", "-o", tmp_path / "r.html"]
    done = printed_json(*base)
    answers = library.load(folder / "iris.json").predict(flowers()[COLUMNS][100:])
    assert done["accuracy"] == pytest.approx((answers == flowers()["species"][100:]).mean())
    page = (tmp_path / "r.html").read_text()
    for label in SPECIES:
        assert label in page
    run("fit", folder / "iris.csv", *IRIS, "--report", tmp_path / "fit.html")
    assert "species, from iris.csv" in (tmp_path / "fit.html").read_text()
