"""The command line, as a person and as a pipe use it."""

from __future__ import annotations

import gzip
import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from scipy.special import expit, ndtri
from sklearn.metrics import log_loss

import motlm as library
from motlm import warmup
from motlm.certificates import Certificate, certify, split
from motlm.cli._calibrate import probabilities
from motlm.cli._columns import infer_types
from motlm.cli._commands import motlm
from motlm.cli._errors import TableError, describe, show_warnings
from motlm.cli._spreadsheets import make_safe
from motlm.cli._tables import open_table
from motlm.cli._tables import read_text as read_source
from motlm.errors import (
    EmptyLocalityWarning,
    IdentifierWarning,
    LookAlikeWarning,
    MotlmError,
    MotlmWarning,
    NeedlessLocalityWarning,
    StoppedEarlyWarning,
)
from motlm.explanations import explain_global
from motlm.files import checksum

FAST = ["--localities", "1", "--time-limit", "5s"]
ROLES = ["--target", "default", "--id", "client", "--drop", "loss"]


def read_text(path: Path) -> tuple[pd.DataFrame, str]:
    with open_table(path) as source:
        return read_source(source), source.description


def run(*arguments: object, code: int = 0, stdin: bytes | None = None) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = CliRunner().invoke(
            motlm, prog_name="motlm", args=[str(one) for one in arguments], input=stdin
        )
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def clients(n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "client": [f"c{i}" for i in range(n)],
            "age": rng.normal(40, 10, n).round(1),
            "income": rng.lognormal(1, 0.4, n).round(2),
            "region": rng.choice(["north", "south"], n),
            "owner": rng.choice([True, False], n),
        }
    )
    score = (
        np.where(frame["age"] > 40, frame["income"] - 2.7, 2.7 - frame["income"])
        + 0.3 * frame["owner"]
    )
    frame["default"] = np.where(score + 0.2 * rng.normal(size=n) > 0.2, "yes", "no")
    frame["loss"] = (score + 0.1 * rng.normal(size=n)).round(3)
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cli")
    clients().to_csv(place / "data.csv", index=False)
    run("fit", place / "data.csv", *ROLES, "--model", place / "m.json", *FAST)
    return place


# -- fit -------------------------------------------------------------------------------------------


def test_fit_prints_what_it_does(folder: Path, tmp_path: Path) -> None:
    report, model = tmp_path / "r.html", tmp_path / "m.json"
    base = ["fit", folder / "data.csv", *ROLES, *FAST]
    result = run(*base, "--model", model, "--report", report)
    for words in (
        "240 rows, 7 columns (comma-separated, utf-8)",
        "region: 2 categories: ",
        "classification of 'default'",
        "accuracy on 72 sealed rows: 0.",
        "this fixed model errs on at most",
        f"model written to {model}",
        f"report written to {report}",
    ):
        assert words in result.output
    assert report.stat().st_size > 1e6
    fitted = library.load(model)
    assert fitted.certificate_.headline.code == "C1"
    assert fitted.feature_names_in_.tolist() == ["age", "income", "region", "owner"]
    again = run("fit", folder / "data.csv", "--target", "default", "--model", model, *FAST, code=2)
    assert f"{model} exists; give another name, or --force" in again.output


@pytest.mark.parametrize(
    "drop", [["--drop", "client,default"], ["--drop", "client", "--drop", "default"]]
)
def test_fit_of_a_regression_as_json(folder: Path, drop: list[str]) -> None:
    result = run("fit", folder / "data.csv", "--target", "loss", *drop, "--json", *FAST)
    content = json.loads(result.stdout)
    assert content["held_out"] == 72
    assert content["R2"] > 0
    names = content["explanation"]["regions"][0]["feature_names"]
    assert names == ["age", "income", "region=south", "owner"]
    assert content["explanation"]["certificate"]["statements"][0]["code"] == "R1"


def test_labels_that_differ_in_case_are_refused(folder: Path, tmp_path: Path) -> None:
    data = clients()
    data.loc[data.index[data["default"] == "yes"][:9], "default"] = " Yes "
    data.to_csv(tmp_path / "d.csv", index=False)
    printed = run("fit", tmp_path / "d.csv", *ROLES, *FAST, code=2).stderr
    assert re.search(r"labels that differ only in case: 'yes' \(\d+\), 'Yes' \(9\); write", printed)


def test_categories_that_differ_in_case_are_noted(folder: Path, tmp_path: Path) -> None:
    data = clients()
    data.loc[data.index[data["region"] == "north"][:60], "region"] = "North"
    data.to_csv(tmp_path / "d.csv", index=False)
    printed = run("fit", tmp_path / "d.csv", *ROLES, *FAST).stderr
    assert "note: column 'region' has categories that differ only in case" in printed
    data[:3].assign(region="NORTH").to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", folder / "m.json", tmp_path / "new.csv")
    assert "'NORTH' is unknown to the model, did you mean 'north'?" in result.stdout


def test_stray_texts_are_counted_in_the_whole_file(folder: Path, tmp_path: Path) -> None:
    """Those of sealed rows too, and the first is named by its line."""
    data = clients().astype({"age": object})
    data.loc[9:200:20, "age"] = "n/a?"
    data.to_csv(tmp_path / "d.csv", index=False)
    printed = run("fit", tmp_path / "d.csv", *ROLES, *FAST, code=2).stderr
    words = "except for 10 values such as 'n/a?' in row 9 (line 11 of the file)"
    assert f"column 'age' holds numbers, {words}; correct them" in printed
    lines = (tmp_path / "d.csv").read_text().replace("\n", "\n\n", 5)
    (tmp_path / "d.csv").write_text(lines)
    printed = run("fit", tmp_path / "d.csv", *ROLES, *FAST, code=2).stderr
    assert "'n/a?' in row 9; correct them" in printed


def test_all_columns_with_problems_are_named_at_once(tmp_path: Path) -> None:
    data = clients().astype({"age": object})
    data.loc[9, "age"] = "old"
    data["since when"] = [f"2024-01-{k % 28 + 1:02}" for k in range(240)]
    data["empty"] = ""
    data.to_csv(tmp_path / "d.csv", index=False)
    base = ["fit", tmp_path / "d.csv", "--target", "default", *FAST]
    printed = run(*base, code=2).stderr
    for words in (
        "4 columns cannot be used as they are: 'client' has 168 different texts in 168 rows",
        "; 'age' holds numbers, except for 1 value such as 'old' in row 9 (line 11 of the file); ",
        "; 'since when' holds dates, such as '2024-01-",
        "; 'empty' has no value in the rows to fit on. Leave them out with",
        " --drop 'age,since when,empty' --id client; or",
    ):
        assert words in printed
    run(*base, "--drop", "age,since when,empty", "--id", "client")
    printed = run(*base, "--drop", "age", code=2).stderr
    assert "3 columns" in printed
    assert "--drop 'client,since when,empty'; or" in printed


def test_compiling_is_announced_in_a_pipe_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "[motlm] compiling the search, once after an installation"
    assert words not in run("fit", folder / "data.csv", *ROLES, *FAST).stderr
    monkeypatch.setattr(warmup, "_READY", set())
    monkeypatch.setattr(warmup, "_mark", lambda kind: None)
    assert words in run("fit", folder / "data.csv", *ROLES, *FAST).stderr


def test_numbers_beyond_all_training_rows_are_noted(folder: Path, tmp_path: Path) -> None:
    data = clients()[:3]
    data.loc[1, "age"], data.loc[1, "income"] = 400, 1_000_000
    data.to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", folder / "m.json", tmp_path / "new.csv", "-o", tmp_path / "o.csv")
    assert "1 row has a note (on missing values, unknown categories or numbers" in result.stderr
    notes = pd.read_csv(tmp_path / "o.csv", keep_default_na=False)["note"]
    assert notes[[0, 2]].tolist() == ["", ""]
    assert re.fullmatch(
        r"age = 400 is beyond all training rows \([\d.]+ to [\d.]+\); income = 1000000 is .*",
        notes[1],
    )
    base = ["explain", folder / "m.json", tmp_path / "new.csv", "--row"]
    assert "\nnote: age = 400 is beyond all training rows (" in run(*base, 1).stdout
    assert "note: " not in run(*base, 0).stdout
    assert "income = 1000000" in json.loads(run(*base, 1, "--json").stdout)["note"]


def test_nearest_rows_were_used_for_fitting(folder: Path, tmp_path: Path) -> None:
    """As the fingerprint tells; else they are only rows of that file."""
    data, (first, sealed) = clients(), split(240, 0.3, 0)
    base = ["explain", folder / "m.json", folder / "data.csv", "--row", 17, "--neighbors", 40]
    printed = run(*base, "--nearest", folder / "data.csv")
    left = 72 - (17 in sealed)
    assert f"{left} rows of {folder / 'data.csv'} not used for fitting left out" in printed.stderr
    assert "nearest training rows for which the same model" in printed.stdout
    found = json.loads(run(*base, "--nearest", folder / "data.csv", "--json").stdout)
    assert {one["row"] for one in found["neighbors"]} <= set(first.tolist())
    assert found["neighbors"]
    assert "neighbors_are" not in found
    new = tmp_path / "new.csv"
    data.iloc[sealed].to_csv(new, index=False)
    words = f"nearest rows of {new}, none of which was used for fitting, for which the same model"
    assert words in run(*base, "--nearest", new).stdout
    data.drop(columns="default").to_csv(new, index=False)
    found = json.loads(run(*base, "--nearest", new, "--json").stdout)
    assert found["neighbors_are"] == f"nearest rows of {new}"


def test_what_a_change_does_is_told(folder: Path, tmp_path: Path) -> None:
    base = ["explain", folder / "m.json", folder / "data.csv", "--row", 17]
    found = json.loads(run(*base, "--json").stdout)
    label = found["counterfactual"]["prediction_after"]
    before, after = found["probabilities"][label], found["probabilities_after"][label]
    assert before < after
    words = f"probability of {label}: {before:.3g} becomes {after:.3g}"
    assert words in run(*base).stdout.splitlines()
    model = tmp_path / "m.json"
    roles = ["--target", "loss", "--id", "client", "--drop", "default"]
    run("fit", folder / "data.csv", *roles, "--localities", 0, "--model", model)
    base = ["explain", model, folder / "data.csv", "--row", 17]
    assert "--wanted with a prediction shows a change" in run(*base).stdout
    printed = run(*base, "--wanted", 1000).stdout
    assert "no counterfactual" in printed
    assert "the furthest that was found: " in printed
    content = json.loads(run(*base, "--wanted", 1000, "--json").stdout)
    assert content["prediction"] < content["furthest"] < 1000
    nearer = run(*base, "--wanted", (content["prediction"] + content["furthest"]) / 2).stdout
    assert "becomes" in nearer
    assert "the furthest" not in nearer


def test_fit_with_points_and_weights(folder: Path, tmp_path: Path) -> None:
    data = pd.read_csv(folder / "data.csv").assign(w=1.5)
    data.to_csv(tmp_path / "d.csv", index=False)
    data[["age", "income", "region", "owner"]][:2].to_csv(tmp_path / "points.csv", index=False)
    base = [
        "fit",
        tmp_path / "d.csv",
        "--target",
        "default",
        "--drop",
        "loss,client",
        "--time-limit",
        "5s",
    ]
    out = run(*base, "--weights", "w", "--points", tmp_path / "points.csv").output
    assert "2 typical cases" in out
    assert "no certificate: it needs rows without weights" in out


def test_missing_values_may_be_refused_left_out_or_replaced(tmp_path: Path) -> None:
    frame = clients()
    frame.loc[3, "age"] = np.nan
    frame.loc[5, "region"] = None
    frame.loc[7, "default"] = None
    frame.to_csv(tmp_path / "d.csv", index=False)
    base = ["fit", tmp_path / "d.csv", "--target", "default", "--drop", "loss,client", *FAST]
    refused = run(*base, "--missing", "error", code=2).output
    assert "2 of 239 rows have missing values, in 'age', 'region'" in refused
    dropped = run(*base, "--missing", "drop").output
    assert "1 row without a 'default' left out" in dropped
    assert "2 rows with missing values left out" in dropped
    imputed = run(*base, "--missing", "impute").output
    assert "1 missing value of 'age' replaced by" in imputed
    assert "1 missing value of 'region' replaced by" in imputed


def test_whole_numbers_are_replaced_by_whole_numbers(tmp_path: Path) -> None:
    frame, first = clients(), np.sort(split(240, 0.3, 0)[0])
    frame["children"], frame["height"] = 2.0, 1.5
    frame.loc[first[:84], ["children", "height"]] = 3.0, 1.9  # one half of the rows to fit on
    frame.loc[first[[0, -1]], ["children", "height"]] = np.nan
    frame.to_csv(tmp_path / "d.csv", index=False)
    told = run(
        *("fit", tmp_path / "d.csv", *ROLES, "--missing", "impute", "--model", tmp_path / "m.json"),
        *("--localities", "0", "--local-models", "linear"),
    ).stderr
    fill = library.load(tmp_path / "m.json").table_.fill
    assert (fill["children"], fill["height"]) == (2.0, 1.7)  # 2.5 children are no case
    assert "2 missing values of 'children' replaced by 2" in told


def test_what_stands_in_for_missing_values_is_found_without_the_sealed_rows_and_kept(
    tmp_path: Path,
) -> None:
    frame = clients()
    rest, sealed = split(240, 0.3, 0)
    frame.loc[sealed, "age"] += 1000
    frame.loc[[int(rest[0]), int(sealed[0])], "age"] = np.nan
    frame.loc[rest[:3], "region"] = None
    frame.to_csv(tmp_path / "d.csv", index=False)
    base = ["fit", tmp_path / "d.csv", "--target", "default", "--drop", "loss,client", *FAST]
    run(*base, "--missing", "impute", "--model", tmp_path / "m.json")
    model = library.load(tmp_path / "m.json")
    assert model.table_.target == "default"
    median, most = frame.loc[rest, "age"].median(), frame.loc[rest, "region"].mode()[0]
    assert (model.table_.fill["age"], model.table_.fill["region"]) == (median, most)
    new = clients(6).astype(object)
    new.loc[1, "age"], new.loc[2, "region"], new.loc[3, "income"], new.loc[4, "owner"] = (
        None,
        "",
        "?",
        None,
    )
    new.to_csv(tmp_path / "new.csv", index=False)
    run("predict", tmp_path / "m.json", tmp_path / "new.csv", "-o", tmp_path / "o.csv")
    shown = pd.read_csv(tmp_path / "o.csv", dtype={"probability of yes": str})
    assert shown["note"].fillna("").str.contains("no value in column .*, replaced by").tolist() == [
        False,
        True,
        True,
        True,
        True,
        False,
    ]
    whole = clients(6)[["age", "income", "region", "owner"]].assign(
        owner=lambda f: f["owner"].astype(float)
    )
    fill = model.table_.fill
    whole.loc[1, "age"], whole.loc[2, "region"], whole.loc[3, "income"] = (
        fill["age"],
        fill["region"],
        fill["income"],
    )
    whole.loc[4, "owner"] = fill["owner"]
    chance = probabilities(model, whole, model.table_.calibration)[:, 1]
    np.testing.assert_array_equal([float(text) for text in shown["probability of yes"]], chance)
    printed = run("explain", tmp_path / "m.json", tmp_path / "new.csv", "--row", 1)
    assert f"row 1: no value in column 'age', replaced by {median:.6g}" in printed.stderr
    printed = run("explain", tmp_path / "m.json", tmp_path / "new.csv", "--row", 1, "--json")
    assert (
        json.loads(printed.stdout)["note"] == f"no value in column 'age', replaced by {median:.6g}"
    )


def test_sealed_rows_decide_nothing(tmp_path: Path) -> None:
    """Whatever stands in them, the model is the same, or there is an error."""
    base = clients()
    sealed = int(split(240, 0.3, 0)[1][5])

    def fitted(code: int = 0, **changed: object) -> str:
        frame = base.astype(object)
        for name, value in changed.items():
            frame.loc[sealed, name] = value
        frame.to_csv(tmp_path / "d.csv", index=False)
        arguments = [
            "fit",
            tmp_path / "d.csv",
            "--target",
            "default",
            "--drop",
            "loss,client",
            *FAST,
            "--force",
        ]
        output = run(*arguments, "--model", tmp_path / "m.json", code=code).output
        if code:
            return output
        return library.load(tmp_path / "m.json").mixture_.hash

    model = fitted()
    assert fitted(age=99.5, region="moon", default="no") == model
    assert f"row {sealed}: column 'age': 'n/k' is not a number, unlike the other rows" in fitted(
        code=2, age="n/k"
    )
    assert (
        f"row {sealed}: 'default' is 'perhaps', which is not one of the labels no, yes"
        in fitted(code=2, default="perhaps")
    )


def test_columns_that_are_nearly_numbers(tmp_path: Path) -> None:
    frame = clients().astype(object)
    first = split(240, 0.3, 0)[0]
    frame.loc[first[3], "age"] = "n/k"
    frame["code"] = np.arange(240) % 3
    frame.to_csv(tmp_path / "d.csv", index=False)
    base = ["fit", tmp_path / "d.csv", "--target", "default", "--drop", "loss,client", *FAST]
    words = f"column 'age' holds numbers, except for 1 value such as 'n/k' in row {first[3]}"
    assert words in run(*base, code=2).output
    shown = run(*base[:-4], "--drop", "loss,client,age", "--categories", "code", *FAST).output
    assert "code: 3 categories" in shown
    assert "--categories 'cod' is not a column" in run(*base, "--categories", "cod", code=2).output
    told = run(*base[:-4], "--categories", "age", *FAST).output
    assert "age: " in told
    assert "holds numbers" not in told  # as was said
    frame["age"], frame["code"] = clients()["age"], frame["code"].astype(object)
    frame.loc[first[4], "code"] = "x"  # with three numbers: codes
    frame.to_csv(tmp_path / "d.csv", index=False)
    assert "code: 4 categories: " in run(*base).output


@pytest.mark.parametrize(
    ("values", "classes"),
    [((True, False), [0, 1]), ((1.0, 0.0), [0, 1]), ((1.5, 2.5), ["1.5", "2.5"])],
)
def test_outcomes_are_read_alike_by_all_commands(
    values: tuple, classes: list, tmp_path: Path
) -> None:
    frame = clients()
    frame["default"] = np.where(frame["default"] == "yes", *values)
    frame["default"] = frame["default"].astype(str)
    frame[:160].to_csv(tmp_path / "d.csv", index=False)
    frame[160:].to_csv(tmp_path / "later.csv", index=False)
    run(
        "fit",
        tmp_path / "d.csv",
        "--target",
        "default",
        "--drop",
        "loss,client",
        "--model",
        tmp_path / "m.json",
        *FAST,
    )
    assert library.load(tmp_path / "m.json").classes_.tolist() == classes
    facts = json.loads(run("certify", tmp_path / "m.json", tmp_path / "later.csv", "--json").stdout)
    assert facts["statements"][0]["n_rows"] == 80
    frame.loc[170, "default"] = ""
    frame[160:].to_csv(tmp_path / "later.csv", index=False)
    told, page = "1 row without a 'default' left out", tmp_path / "r.html"
    both = [tmp_path / "m.json", tmp_path / "later.csv", "--json"]
    for command in (["evaluate", *both], ["report", *both, "-o", page]):
        found = run(*command)
        facts = json.loads(found.stdout)
        assert (facts["rows"], facts["rows_without_target"]) == (79, 1)
        assert told in found.stderr
    found = run("certify", *both)
    facts = json.loads(found.stdout)  # that can be read again
    assert Certificate.from_dict(facts).headline.n_rows == 79
    assert "1 row of the table without an outcome left out." in facts["notes"]
    assert told in found.stderr
    found = run("fit", tmp_path / "later.csv", *ROLES, "--json", *FAST)
    facts = json.loads(found.stdout)
    assert (facts["rows"], facts["rows_without_target"]) == (79, 1)
    assert told in found.stderr
    frame[160:].assign(default="").to_csv(tmp_path / "later.csv", index=False)
    assert "no row has a value of 'default'" in run("evaluate", *both, code=2).output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "default", "--id", "row"], "--id 'row' is the name of a column that predict"),
        (["--target", "default", "--model", "-"], "cannot be written to standard output"),
        (["--target", "wealth"], "--target 'wealth' is not a column; the columns are client, age"),
        (["--target", "default", "--drop", "wealth"], "--drop 'wealth' is not a column"),
        (
            ["--target", "default", "--task", "regression"],
            "is not a number, as --task regression needs",
        ),
        (["--target", "age", "--task", "classification"], "which are too many for classes"),
        (
            ["--target", "default", "--localities", "some"],
            "'some' is neither auto nor a whole number",
        ),
        (["--target", "default", "--time-limit", "soon"], "'soon' is not a valid duration"),
        (["--target", "default", "--points", "none.csv"], "there is no file none.csv"),
        (
            ["--target", "default", "--model", "."],
            "is not a plain file; give the name of a file to write",
        ),
    ],
)
def test_mistakes_are_one_line(folder: Path, options: list[str], message: str) -> None:
    id_column = [] if "--id" in options else ["--id", "client"]
    result = run("fit", folder / "data.csv", *id_column, *options, code=2)
    *_, last = result.stderr.splitlines()
    assert last.startswith("Error: ")
    assert message in last


def test_outputs_are_looked_at_before_any_work(folder: Path, tmp_path: Path) -> None:
    base = ["fit", folder / "data.csv", *ROLES, *FAST]
    twice = run(*base, "--model", tmp_path / "x", "--report", tmp_path / "x", code=2).output
    assert "two outputs would be written to" in twice
    assert (
        "is an input; give another name"
        in run(*base, "--model", folder / "data.csv", "--force", code=2).output
    )
    (tmp_path / "file").write_text("")
    assert "cannot be written" in run(*base, "--model", tmp_path / "file" / "m.json", code=2).output
    both = run("fit", "-", "--points", "-", "--target", "default", code=2, stdin=b"a,b\n").output
    assert "cannot both come from standard input" in both
    (tmp_path / "points.csv").write_text("age,income,region,owner\n")
    assert (
        "points.csv has no rows; write one typical case in each row, or leave out --points"
        in run(*base, "--points", tmp_path / "points.csv", code=2).output
    )
    assert (
        "is neither auto nor a whole number from 0 on"
        in run(*base, "--localities", "-1", code=2).output
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [f"{1 + i % 28:02d}.03.20{i % 20 + 10}" for i in range(240)],
            "column 'new' holds dates, such as '",
        ),
        (
            [f"2024-{1 + i % 12:02d}-15" for i in range(240)],
            "column 'new' holds dates, such as '2024-",
        ),
        ([f"{i + 0.25} €" for i in range(240)], "different texts in 168 rows"),
    ],
)
def test_columns_that_would_be_thousands_of_categories(
    values: list[str], message: str, tmp_path: Path
) -> None:
    clients().assign(new=values).to_csv(tmp_path / "d.csv", index=False)
    base = ["fit", tmp_path / "d.csv", *ROLES, *FAST]
    assert message in run(*base, code=2).output


def test_columns_that_are_remarked(tmp_path: Path) -> None:
    clients().assign(number=range(240), same="EUR").to_csv(tmp_path / "d.csv", index=False)
    shown = run("fit", tmp_path / "d.csv", *ROLES, *FAST).output
    assert (
        "(LOOKS LIKE AN IDENTIFIER: 168 different values in 168 rows; if it numbers or names the"
        " rows, leave it out with --id or --drop)" in shown
    )
    assert "same: 1 category: EUR (always the same: ignored)" in shown
    assert "nothing was saved: --model" in shown


def test_texts_of_a_model_without_localities_do_not_name_an_exterior(tmp_path: Path) -> None:
    """It is "the model" in all that commands print and write."""
    frame = clients()
    frame["claims"] = np.random.default_rng(1).poisson(1 + frame["owner"])
    frame.to_csv(tmp_path / "d.csv", index=False)
    model, page = tmp_path / "m.json", tmp_path / "r.html"
    both = [model, tmp_path / "d.csv"]
    quick = ["--localities", "0", "--local-models", "linear", "--report", page, "--force"]
    for options in (
        ["--target", "default", "--id", "client", "--drop", "loss,claims"],
        ["--target", "claims", "--task", "rate", "--drop", "client,loss,default"],
    ):
        out = [run("fit", tmp_path / "d.csv", *options, *quick, "--model", model).output]
        out += [run("predict", *both).output, run("evaluate", *both).output]
        wanted = ["--wanted", 2] if "rate" in options else []
        out += [run("explain", *both, "--row", 3, *wanted).output]
        fitted, X = library.load(model), frame[["age", "income", "region", "owner"]]
        X = X.assign(owner=X["owner"].astype(float))
        explained = explain_global(fitted, X, frame[options[1]])
        out += [str(explained), explained._repr_html_()]
        for text in out:
            assert "exterior" not in text
        shown = re.sub(r"<script.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.S)
        assert "exterior" not in shown
        assert "the model, all rows: 72 sealed rows (100%)" in out[0]
        assert set(pd.read_csv(io.StringIO(run("predict", *both).stdout))["model_used"]) == {
            "the model"
        }
        assert "contradict" not in out[-1] + out[-2]


def test_options_of_localities_reach_the_model(folder: Path, tmp_path: Path) -> None:
    base = ["fit", folder / "data.csv", *ROLES, *FAST, "--model", tmp_path / "m.json", "--force"]
    run(*base)
    python = library.LocalMixtureClassifier()
    names = ("locality_features", "locality_columns", "locality_widths", "corrections", "centers")
    fitted = library.load(tmp_path / "m.json")
    assert [getattr(fitted, name) for name in names] == [getattr(python, name) for name in names]
    own = ["--locality-columns", "age", "--locality-columns", "income, owner"]
    own += ["--locality-features", "2", "--locality-widths", "equal", "--corrections", "all"]
    run(*base, *own)
    fitted = library.load(tmp_path / "m.json")
    assert [getattr(fitted, name) for name in names] == [
        2,
        ["age", "income", "owner"],
        "equal",
        "all",
        "free",
    ]
    weight = fitted.mixture_.posterior.layout.column_weight
    assert ((weight == 0) | (weight == 1)).all()
    assert weight.sum(axis=1).max() <= 2
    run(*base, "--locality-features", "all", "--centers", "rows")
    fitted = library.load(tmp_path / "m.json")
    assert (fitted.locality_features, fitted.centers) == ("all", "rows")


def test_widths_in_numbers(folder: Path, tmp_path: Path) -> None:
    """By the order of the columns, or by name."""
    columns = ["age", "income", "region", "owner"]
    clients()[columns][:1].to_csv(tmp_path / "points.csv", index=False)
    base = ["fit", folder / "data.csv", *ROLES, *FAST, "--points", tmp_path / "points.csv"]
    base += ["--locality-columns", "age,income", "--model", tmp_path / "m.json", "--force"]
    widths = []
    for text in ("12,0.5", "income=0.5, age=12"):
        shown = run(*base, "--locality-widths", text).stdout
        [locality] = library.load(tmp_path / "m.json").localities_
        widths.append(locality.half_width)
        assert locality.half_width[0] / locality.half_width[1] == pytest.approx(24.0)
        assert np.isinf(locality.half_width[2:]).all()
        assert shown.startswith(f"locality 0 (case 0), {locality.where}: ")
    np.testing.assert_array_equal(*widths)


def test_json_has_sentences_and_corrections(folder: Path) -> None:
    base = ["fit", folder / "data.csv", *ROLES, "--localities", "1", "--time-limit", "20s"]
    local, exterior = json.loads(run(*base, "--json").stdout)["explanation"]["regions"]
    assert len(local["where"].split()) <= 18
    assert local["correction"].startswith("as everywhere, except: ")
    assert local["differences"][0]["column"] is None
    assert local["formula"] != exterior["formula"]
    assert exterior["where"] == "all other rows"
    assert exterior["correction"] == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--locality-features", "0"], "'0' is neither auto, all or ball, nor a whole number from"),
        (["--locality-features", "two"], "'two' is neither auto"),
        (["--locality-columns", "wealth"], "--locality-columns 'wealth' is not a column"),
        (
            ["--locality-columns", "loss"],
            "'loss' is not a column of the model; its columns are age",
        ),
        (["--locality-columns", "default"], "'default' is not a column of the model"),
        (
            ["--locality-widths", "wide"],
            "'wide' is neither learned nor equal, nor positive numbers",
        ),
        (["--locality-widths", "1,-2"], "nor positive numbers such as 5,20"),
        (["--locality-widths", "1,age=2"], "nor positive numbers such as 5,20"),
        (["--locality-widths", "nan"], "nor positive numbers such as 5,20"),
        (["--locality-widths", "age=1,age=2"], "has two widths of one column"),
        (["--locality-widths", "5"], "give --points and --locality-columns too"),
        (["--corrections", "some"], "'some' is not one of 'auto', 'own', 'all', 'none'"),
        (["--centers", "cases"], "'cases' is not one of 'free', 'rows'"),
        (["--centers", "rows", "--points", "p.csv"], "are two kinds of centers"),
        (
            ["--points", "p.csv", "--locality-columns", "age,income", "--locality-widths", "5"],
            "one number for each of --locality-columns, age, income",
        ),
    ],
)
def test_mistakes_about_localities(folder: Path, options: list[str], message: str) -> None:
    result = run("fit", folder / "data.csv", *ROLES, *options, code=2)
    assert message in result.stderr.splitlines()[-1]


def test_summary_in_sentences(folder: Path, tmp_path: Path) -> None:
    base = ["fit", folder / "data.csv", *ROLES, "--time-limit", "20s"]
    shown = run(
        *base, "--localities", "1", "--population", "clients of 2027", "--delta", "0.1"
    ).stdout
    assert "a positive score means yes, a negative one no" in shown
    assert "    score = " in shown
    assert "\n    as everywhere, except: " in shown
    [first] = [line for line in shown.splitlines() if line.startswith("locality 0, ")]
    assert re.search(r" (above|up to|\d+ to|north|south|yes|no)\b", first)
    assert len(first.split()) <= 25
    full = run(*base, "--localities", "1", "--full-formulas").stdout
    assert full.count("    score = ") == 2
    assert "as everywhere" not in full
    assert "on at most" in shown
    assert "of clients of 2027" in shown
    clients()[["age", "income", "region", "owner"]][:1].to_csv(tmp_path / "points.csv", index=False)
    one = clients().iloc[0]
    shown = run(*base, "--points", tmp_path / "points.csv").stdout
    assert re.search(r"^locality 0 \(case 0\), (?!within)", shown)
    shown = run(*base, "--points", tmp_path / "points.csv", "--locality-features", "ball").stdout
    case = f"age={one['age']:.4g}, income={one['income']:.4g}, region={one['region']}"
    assert f"locality 0 (case 0), around {case}, " in shown
    shown = run(*base, "--localities", "1", "--loss", "zero-one").stdout
    assert " about " in shown or " = north in " in shown or " = south in " in shown
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    table.assign(y=np.where(table["a"] > 0, "p", "q")).to_csv(tmp_path / "line.csv", index=False)
    assert (
        "localities gave no improvement on rows left out"
        in run("fit", tmp_path / "line.csv", "--target", "y").stdout
    )


# -- tables ----------------------------------------------------------------------------------------


def test_dialects_are_found(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes("größe;preis\n1,5;2,25\n3,0;4\n".encode("cp1252"))
    assert infer_types(read_text(path)[0])["größe"].tolist() == [1.5, 3.0]
    assert read_text(path)[1] == "semicolon-separated, cp1252, decimal commas"
    path.write_bytes(b"\xef\xbb\xbfa\tb\n1\tx\n")
    frame, how = read_text(path)
    assert list(frame.columns) == ["a", "b"]
    assert how == "tab-separated, utf-8-sig"
    path.write_text("\n \n\na,b\n1,2\n")
    assert read_text(path)[0].to_dict("list") == {"a": ["1"], "b": ["2"]}
    path.write_text('"Age, years, full";income;y\n1;2;3\n')
    assert list(read_text(path)[0].columns) == ["Age, years, full", "income", "y"]
    path.write_bytes(b"a,b\n" + b"1,x\n" * 40_000 + "1,é\n".encode("cp1252"))
    assert read_text(path)[1] == "comma-separated, cp1252"
    for content, message in (
        (b"", "is empty"),
        (b"\x00\x01" * 600, "is not a text file"),
        (b"a,a\n1,2\n", "has the column 'a' more than once"),
        (b'a,b\n"1,2\n', "could not be read"),
        (b"a,b\n1,2,3\n", "row 0 has more values than the header has names"),
    ):
        path.write_bytes(content)
        with pytest.raises(TableError, match=message):
            read_text(path)
    with pytest.raises(TableError, match="is a folder"):
        read_text(tmp_path)


def test_what_columns_are_taken_for(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("n,code,truth,mixed,hole\n1,007,TRUE,1,\n2.5,A12,false,x,3\n")
    frame = infer_types(read_text(path)[0])
    assert frame["n"].tolist() == [1.0, 2.5]
    assert frame["code"].tolist() == ["007", "A12"]
    assert frame["truth"].tolist() == [1.0, 0.0]
    assert frame["mixed"].tolist() == ["1", "x"]
    assert np.isnan(frame["hole"][0])


def test_numbers_are_read_to_the_last_digit() -> None:
    values = np.random.default_rng(0).normal(size=5000) * 10.0 ** np.random.default_rng(1).integers(
        -30, 30, 5000
    )
    text = pd.DataFrame({"a": [repr(value) for value in values.tolist()]})
    np.testing.assert_array_equal(infer_types(text)["a"], values)


def test_codes_mean_the_same_everywhere(tmp_path: Path) -> None:
    """007 is a category at fit, and in a table that holds nothing but such codes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=160).round(3),
            "c": rng.choice(["007", "A12"], 160),
            "t": rng.choice(["TRUE", "FALSE"], 160),
        }
    )
    frame["y"] = np.where(frame["a"] + 2 * (frame["c"] == "007") > 1, "p", "q")
    frame.to_csv(tmp_path / "d.csv", index=False)
    run("fit", tmp_path / "d.csv", "--target", "y", "--model", tmp_path / "m.json", *FAST)
    codes = frame[frame["c"] == "007"][:5]
    codes.to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", tmp_path / "m.json", tmp_path / "new.csv", "-o", tmp_path / "o.csv")
    assert "note" not in result.output
    model = library.load(tmp_path / "m.json")
    rows = codes[["a", "c"]].assign(t=(codes["t"] == "TRUE").astype(float))
    assert pd.read_csv(tmp_path / "o.csv")["prediction"].tolist() == model.predict(rows).tolist()
    explained = json.loads(
        run("explain", tmp_path / "m.json", tmp_path / "new.csv", "--row", 0, "--json").output
    )
    assert explained["values"]["c"] == "007"
    assert explained["prediction"] == model.predict(rows)[0]
    odd = codes.assign(c="moon")
    odd.to_csv(tmp_path / "odd.csv", index=False)
    result = run("predict", tmp_path / "m.json", tmp_path / "odd.csv", "-o", tmp_path / "o2.csv")
    assert "5 rows have notes (on missing values, unknown categories or numbers" in result.output
    assert pd.read_csv(tmp_path / "o2.csv")["note"].str.contains("'moon' is unknown").all()
    assert (
        "is the name of a column that predict writes"
        in run("predict", tmp_path / "m.json", tmp_path / "new.csv", "--id", "note", code=2).output
    )


@pytest.mark.parametrize("kind", ["parquet", "xlsx"])
def test_other_formats(kind: str, folder: Path, tmp_path: Path) -> None:
    frame = clients()
    path = tmp_path / f"d.{kind}"
    frame.to_parquet(path) if kind == "parquet" else frame.to_excel(path, index=False)
    out = tmp_path / "out.csv"
    run("predict", folder / "m.json", path, "-o", out)
    run("predict", folder / "m.json", folder / "data.csv", "-o", tmp_path / "csv.csv")
    assert out.read_text() == (tmp_path / "csv.csv").read_text()


# -- predict ---------------------------------------------------------------------------------------


def test_predict_writes_what_the_model_predicts(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "deep" / "out.csv"
    run("predict", folder / "m.json", folder / "data.csv", "-o", out, "--id", "client")
    shown = pd.read_csv(out, dtype={"probability of yes": str})
    model = library.load(folder / "m.json")
    X = pd.read_csv(folder / "data.csv")[list(model.feature_names_in_)]
    assert shown["client"].tolist() == [f"c{i}" for i in range(240)]
    assert shown["prediction"].tolist() == model.predict(X).tolist()
    assert model.table_.calibration is None
    chance = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal([float(text) for text in shown["probability of yes"]], chance)
    assert (shown["model_used"] == "exterior").sum() == (
        model.apply(X) == len(model.localities_)
    ).sum()
    assert ((shown["ambiguous"] == "yes") == model.ambiguous(X)).all()
    assert shown["reason"].isna().all()
    monkeypatch.setattr("motlm.cli._predict.CHUNK", 7)
    again = tmp_path / "again.csv"
    run("predict", folder / "m.json", folder / "data.csv", "-o", again, "--id", "client")
    assert again.read_text() == out.read_text()
    assert (
        "exists; give another name"
        in run("predict", folder / "m.json", folder / "data.csv", "-o", out, code=2).output
    )


@pytest.mark.parametrize("kind", ["array", "numbered columns", "numbered columns of text"])
def test_models_without_names_of_columns(kind: str, tmp_path: Path) -> None:
    """Their columns are x0, x1 in tables."""
    frame = clients()[["age", "region" if kind.endswith("text") else "income"]]
    X = frame.to_numpy() if kind == "array" else frame.set_axis([0, 1], axis=1)
    model = library.LocalMixtureRegressor(0, random_state=0).fit(X, clients()["loss"])
    model.save(tmp_path / "m.json")
    frame.set_axis(["x0", "x1"], axis=1).to_csv(tmp_path / "d.csv", index=False)
    run("predict", tmp_path / "m.json", tmp_path / "d.csv", "-o", tmp_path / "o.csv")
    np.testing.assert_allclose(pd.read_csv(tmp_path / "o.csv")["prediction"], model.predict(X))


def test_rows_that_cannot_be_scored(folder: Path, tmp_path: Path) -> None:
    frame = clients(6).astype(object)
    frame.loc[1, "age"] = "old"
    frame.loc[2, "age"] = None
    frame.loc[3, "region"] = "moon"
    frame.loc[4, "income"] = "inf"
    frame.to_csv(tmp_path / "d.csv", index=False)
    out = tmp_path / "out.csv"
    result = run("predict", folder / "m.json", tmp_path / "d.csv", "-o", out, code=3)
    assert f"6 rows written to {out}, of which 2 could not be scored" in result.output
    shown = pd.read_csv(out)
    assert shown["reason"].fillna("").tolist() == [
        "",
        "column 'age': 'old' is not a number",
        "",
        "",
        "column 'income': 'inf' is not a number",
        "",
    ]
    assert shown["prediction"].notna().tolist() == [True, False, True, True, False, True]
    assert shown["note"][2].startswith("no value in column 'age', taken as the training average")
    frame.drop(columns="age").to_csv(tmp_path / "less.csv", index=False)
    assert (
        "has no column 'age'"
        in run("predict", folder / "m.json", tmp_path / "less.csv", code=2).output
    )
    assert sorted(one.name for one in tmp_path.iterdir()) == ["d.csv", "less.csv", "out.csv"]


def test_in_a_pipe(folder: Path) -> None:
    """As a program of its own: results on standard output, the rest on standard error."""
    command = [
        sys.executable,
        "-m",
        "motlm.cli",
        "predict",
        str(folder / "m.json"),
        str(folder / "data.csv"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout.startswith(
        "row,client,prediction,probability of no,probability of yes,"
        "model_used,ambiguous,reason,note\n"
    )
    assert len(done.stdout.splitlines()) == 241
    assert done.stderr.strip() == "240 rows"


def test_tables_from_standard_input_and_packed_ones(folder: Path, tmp_path: Path) -> None:
    frame = clients()
    expected = run("predict", folder / "m.json", folder / "data.csv").stdout
    frame.to_parquet(tmp_path / "d.parquet")
    frame.to_excel(tmp_path / "d.xlsx", index=False)
    for name in ("d.parquet", "d.xlsx"):
        assert (
            run("predict", folder / "m.json", "-", stdin=(tmp_path / name).read_bytes()).stdout
            == expected
        )
    text = (folder / "data.csv").read_bytes()
    assert run("predict", folder / "m.json", "-", "-o", "-", stdin=text).stdout == expected
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(text))
    assert run("predict", folder / "m.json", tmp_path / "d.csv.gz").stdout == expected
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(text)[:-9])
    assert (
        "cut.csv.gz could not be unpacked"
        in run("predict", folder / "m.json", tmp_path / "cut.csv.gz", code=2).output
    )
    assert (
        "standard input is empty"
        in run("predict", folder / "m.json", "-", stdin=b"", code=2).output
    )
    packed = bytearray(gzip.compress(text))
    assert run("predict", folder / "m.json", "-", stdin=bytes(packed)).stdout == expected
    packed[60:90] = bytes(255 - one for one in packed[60:90])
    assert (
        "standard input could not be unpacked"
        in run("predict", folder / "m.json", "-", stdin=bytes(packed), code=2).output
    )
    printed = run("fit", "-", *ROLES, *FAST, stdin=text)
    assert "standard input: 240 rows, 7 columns (comma-separated, utf-8)" in printed.stderr
    frame.set_index("client").to_parquet(tmp_path / "index.parquet")
    named = run("predict", folder / "m.json", tmp_path / "index.parquet", "--id", "client").stdout
    assert named == expected


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_tables_from_pipes(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    write = f"cat {folder / 'data.csv'} > {tmp_path / 'pipe'}"
    with subprocess.Popen(["sh", "-c", write]):
        shown = run("predict", folder / "m.json", tmp_path / "pipe").stdout
    assert shown == run("predict", folder / "m.json", folder / "data.csv").stdout


def test_predict_as_json(folder: Path) -> None:
    lines = run("predict", folder / "m.json", folder / "data.csv", "--json").stdout.splitlines()
    table = pd.read_csv(
        io.StringIO(run("predict", folder / "m.json", folder / "data.csv").stdout),
        dtype={"probability of yes": str},
    )
    assert len(lines) == 240
    one = json.loads(lines[17])
    assert list(one) == list(table.columns)
    assert one["row"] == 17
    assert one["client"] == "c17"
    assert one["probability of yes"] == float(table["probability of yes"][17])
    assert one["ambiguous"] is False
    text = "client,age,income,region,owner\nc1,old,2,north,True\n"
    [line] = run(
        "predict", folder / "m.json", "-", "--json", stdin=text.encode(), code=3
    ).stdout.splitlines()
    bad = json.loads(line)
    assert [
        bad[name] for name in ("prediction", "probability of yes", "model_used", "ambiguous")
    ] == [None] * 4
    assert bad["reason"] == "column 'age': 'old' is not a number"


def test_probabilities_are_calibrated(tmp_path: Path) -> None:
    """On new rows they are about as often right as they say: with the log loss by themselves, with
    the zero-one loss after a calibration.
    """
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(3000, 3)), columns=list("abc")).round(3)
    table["y"] = np.where(rng.uniform(size=3000) < expit(2 * table["a"] - table["b"]), "yes", "no")
    table[:1500].to_csv(tmp_path / "d.csv", index=False)
    table[1500:].to_csv(tmp_path / "new.csv", index=False)
    truth, X = (table["y"][1500:] == "yes").to_numpy(), table[["a", "b", "c"]][1500:]
    best = log_loss(truth, expit(2 * table["a"] - table["b"])[1500:])
    for loss in ("log", "zero-one"):
        options = ["--target", "y", "--loss", loss, "--force", *FAST]
        run("fit", tmp_path / "d.csv", "--model", tmp_path / "m.json", *options)
        run(
            "predict",
            tmp_path / "m.json",
            tmp_path / "new.csv",
            "-o",
            tmp_path / "o.csv",
            "--force",
        )
        chance = pd.read_csv(tmp_path / "o.csv")["probability of yes"].to_numpy()
        assert log_loss(truth, chance) < best + 0.05
        model = library.load(tmp_path / "m.json")
        own = model.predict_proba(X)[:, 1]
        if loss == "log":
            np.testing.assert_allclose(chance, own, rtol=1e-12)
    assert log_loss(truth, own) > best + 0.1  # the zero-one loss without a calibration
    slope, intercept = model.table_.calibration
    margin = ndtri(model.vote_proba(X)[:, 1])  # as in files of before the log loss
    near = np.abs(margin) < 5
    np.testing.assert_allclose(chance[near], expit(slope * margin + intercept)[near], rtol=1e-6)
    printed = json.loads(
        run("explain", tmp_path / "m.json", tmp_path / "new.csv", "--row", 5, "--json").stdout
    )
    assert printed["probabilities"]["yes"] == pytest.approx(chance[5], abs=1e-12)
    assert (
        "probability of yes: "
        in run("explain", tmp_path / "m.json", tmp_path / "new.csv", "--row", 5).stdout
    )


def test_few_rows_calibrate_nothing(tmp_path: Path) -> None:
    clients(60).to_csv(tmp_path / "d.csv", index=False)
    base = [*ROLES, "--loss", "zero-one", "--model", tmp_path / "m.json", *FAST]
    run("fit", tmp_path / "d.csv", *base)
    assert library.load(tmp_path / "m.json").table_.calibration is None


def test_output_is_utf8_whatever_the_console_has(folder: Path) -> None:
    command = [sys.executable, "-m", "motlm.cli", "predict", str(folder / "m.json"), "-"]
    table = "client,age,income,region,owner\n日本,40,2,north,True\n".encode()
    done = subprocess.run(
        command,
        input=table,
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert "\n0,日本," in done.stdout.decode()


# -- the others ------------------------------------------------------------------------------------


def test_explain(folder: Path, tmp_path: Path) -> None:
    text = run(
        "explain", folder / "m.json", folder / "data.csv", "--row", 17, "--fixed", "age"
    ).output
    assert text.startswith("row 17: ")
    assert "what would change it: " in text
    content = json.loads(
        run("explain", folder / "m.json", folder / "data.csv", "--row", 17, "--json").output
    )
    assert content["row"] == 17
    assert sum(content["contributions"].values()) + content["base"] == pytest.approx(
        content["score"]
    )
    again = run(
        "explain", folder / "m.json", folder / "data.csv", "--case", "c17", "--fixed", "age"
    ).output
    assert again == text
    options = ["--immutable", "region,owner", "--increasing", "age", "--decreasing", "income"]
    for row in range(10):
        one = json.loads(
            run(
                *("explain", folder / "m.json", folder / "data.csv", "--row", row, *options),
                *("--max-changes", 1, "--json"),
            ).output
        )["counterfactual"]
        if one["found"]:
            assert len(one["changes"]) == 1 or "no change of one column" in one["reason"]
            assert not {"region", "owner"} & set(one["changes"])
            assert one["after"]["age"] >= one["before"]["age"]
            assert one["after"]["income"] <= one["before"]["income"]
    near = run(
        *("explain", folder / "m.json", folder / "data.csv", "--row", 17),
        *("--nearest", folder / "data.csv", "--neighbors", 2),
    ).output
    assert "nearest training rows for which the same model is used:" in near
    assert "row 17 itself is left out of the nearest rows of " in near
    assert "row 17 (c17), at" not in near
    assert near.count("at a distance of") == 2
    row = split(240, 0.3, 0)[0][0]  # used for fitting
    clients().to_csv(tmp_path / "copy.csv", index=False)
    near = run(
        *("explain", folder / "m.json", folder / "data.csv", "--row", row),
        *("--nearest", tmp_path / "copy.csv", "--neighbors", 2),
    ).output
    assert f"(row {row}, which has the same values, is left out):" in near
    assert "at a distance of 0: " not in near
    assert "itself is left out" not in near
    assert (
        "0 rows have 'client' = 'x'"
        in run("explain", folder / "m.json", folder / "data.csv", "--case", "x", code=2).output
    )
    assert "choose one row" in run("explain", folder / "m.json", folder / "data.csv", code=2).output
    wanted = run(
        "explain", folder / "m.json", folder / "data.csv", "--row", 1, "--wanted", 3, code=2
    ).output
    assert "--wanted is for regression" in wanted
    assert (
        "there is no row 999: the table has 240 rows"
        in run("explain", folder / "m.json", folder / "data.csv", "--row", 999, code=2).output
    )


def test_report_and_certify(folder: Path, tmp_path: Path) -> None:
    report = tmp_path / "r.html"
    run("report", folder / "m.json", folder / "data.csv", "--target", "default", "-o", report)
    assert "default, from data.csv" in report.read_text()
    facts = json.loads(
        run(
            "report", folder / "m.json", folder / "data.csv", "-o", report, "--force", "--json"
        ).stdout
    )
    assert facts["report"] == str(report)
    assert facts["rows"] == 240
    refused = run("certify", folder / "m.json", folder / "data.csv", code=2).output
    assert "are among the 168 used for fitting" in refused
    rng = np.random.default_rng(9)
    fresh = (
        clients(600)
        .sample(frac=1, random_state=1)
        .assign(age=lambda f: f["age"] + rng.normal(0, 0.5, len(f)))
    )
    fresh.to_csv(tmp_path / "fresh.csv", index=False)
    model = tmp_path / "m.json"
    model.write_text((folder / "m.json").read_text())
    base = ["certify", model, tmp_path / "fresh.csv", "--population", "clients of 2026", "--save"]
    assert "has a certificate already" in run(*base, code=2).output
    text = run(*base, "--force").output
    assert "of clients of 2026" in text
    assert library.load(model).certificate_.protocol.startswith("audit on 600 rows")
    content = json.loads(
        run("certify", model, tmp_path / "fresh.csv", "--target", "default", "--json").stdout
    )
    assert content["statements"][0]["n_rows"] == 600
    assert (
        "--target 'wealth' is not a column"
        in run(
            "report",
            model,
            tmp_path / "fresh.csv",
            "--target",
            "wealth",
            "-o",
            tmp_path / "x.html",
            code=2,
        ).output
    )
    plain = library.load(model)
    del plain.table_
    plain.save(model)
    assert "name it with --target" in run("certify", model, tmp_path / "fresh.csv", code=2).output


def test_demo_and_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = run("demo", "-o", tmp_path / "demo").output
    assert "locality 2" in out
    assert "% of 1250 rows" in out  # it explains all rows, not only the sealed ones
    assert (tmp_path / "demo" / "report.html").exists()
    assert (tmp_path / "demo" / "model.json").exists()
    assert "exists" in run("demo", "-o", tmp_path / "demo", code=2).output
    facts = json.loads(run("demo", "-o", tmp_path / "demo", "--force", "--json").stdout)
    assert facts["certificate"]["statements"][0]["code"] == "C1"
    assert "Banana" in run("datasets", "list").output
    listed = json.loads(run("datasets", "list", "--json").stdout)
    sources = [one["source"] for one in listed]
    assert {one: sources.count(one) for one in sources} == {
        "scikit-learn": 5,
        "made up": 6,
        "KEEL": 16,
    }
    assert len({one["name"] for one in listed}) == len(listed)
    assert "there is no data set 'irs'" in run("datasets", "fetch", "irs", code=2).output


def test_data_sets_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that come with motlm are written, and nothing is downloaded unless asked for."""
    monkeypatch.setattr("motlm.datasets._keel.download", lambda *_: pytest.fail("a download"))
    monkeypatch.setenv("MOTLM_DATA", str(tmp_path / "nowhere"))
    for one in json.loads(run("datasets", "list", "--json").stdout):
        place = tmp_path / f"{one['name']}.csv"
        if one["source"] == "KEEL":
            continue
        said = run("datasets", "write", one["name"], "-o", place).stderr
        table = pd.read_csv(place)
        assert f"{len(table)} rows written" in said
        assert f"the target is {table.columns[-1]!r}" in said
        assert table.notna().all(axis=None)
    diabetes = pd.read_csv(tmp_path / "diabetes.csv")
    assert diabetes["age"].between(19, 79).all()  # years, not standardized
    assert set(pd.read_csv(tmp_path / "iris.csv")["species"]) == {
        "setosa",
        "versicolor",
        "virginica",
    }
    assert set(pd.read_csv(tmp_path / "clf_case2.csv")["y"]) == {-1, 1}
    error = run("datasets", "write", "german", code=2).stderr
    assert "there is no german.dat in" in error
    assert "--data or MOTLM_DATA, or give --download. These need neither: breast_cancer" in error
    error = run("datasets", "write", "german", "--data", tmp_path / "other", code=2).stderr
    assert str(tmp_path / "other") in error
    error = run("datasets", "write", "germn", code=2).stderr
    assert "These come with motlm: breast_cancer" in error
    assert "These need a folder with their files, or a download: banana" in error
    assert "exists" in run("datasets", "write", "iris", "-o", tmp_path / "iris.csv", code=2).stderr
    lines = run("datasets", "write", "iris", "--json").stdout.splitlines()
    assert json.loads(lines[0])["species"] == "setosa"


def test_data_sets_from_a_folder(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOTLM_DATA", raising=False)
    named = run("datasets", "write", "german", "--data", shared_data).stdout
    monkeypatch.setenv("MOTLM_DATA", str(shared_data))
    assert run("datasets", "write", "german").stdout == named
    assert run("datasets", "fetch", "german").stdout == named
    assert named.splitlines()[0].endswith(",Customer")


def test_help_and_bad_files(folder: Path, tmp_path: Path) -> None:
    for command in (
        "fit",
        "predict",
        "explain",
        "compare",
        "report",
        "certify",
        "demo",
        "datasets",
    ):
        assert "Usage:" in run(command, "--help").output
    assert f"motlm, version {library.__version__}" in run("--version").output
    (tmp_path / "m.json").write_text("{")
    assert (
        "not JSON, or cut off"
        in run("predict", tmp_path / "m.json", folder / "data.csv", code=2).output
    )
    assert (
        "No such file" in run("predict", tmp_path / "none.json", folder / "data.csv", code=2).output
    )


def test_arguments_in_the_wrong_order(folder: Path) -> None:
    swapped = run("predict", folder / "data.csv", folder / "m.json", code=2).output
    assert "is not a model file; the model comes first, then the table" in swapped
    assert (
        "looks like JSON, not like a table"
        in run("predict", folder / "m.json", folder / "m.json", code=2).output
    )


@pytest.mark.skipif(os.name != "posix", reason="needs signals and pipes of POSIX")
def test_exit_codes_of_pipes_and_interrupts(folder: Path, tmp_path: Path) -> None:
    pd.concat([clients()] * 200).to_csv(tmp_path / "big.csv", index=False)
    command = f"{sys.executable} -m motlm.cli predict {folder / 'm.json'}"
    piped = f"set -o pipefail; {command} {tmp_path / 'big.csv'} | head -1 > /dev/null"
    done = subprocess.run(["bash", "-c", piped], capture_output=True, text=True)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr
    os.mkfifo(tmp_path / "pipe")  # nobody writes to it, so that the command waits
    out = tmp_path / "out.csv"
    with subprocess.Popen(
        [*command.split(), str(tmp_path / "pipe"), "-o", str(out)], stderr=subprocess.PIPE
    ) as waiting:
        time.sleep(8)
        waiting.send_signal(signal.SIGINT)
        printed = waiting.stderr.read().decode()
    assert waiting.returncode == 130
    assert printed.strip() == "motlm: interrupted"
    assert not out.exists()


def test_without_click(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from motlm import cli

    monkeypatch.delitem(sys.modules, "motlm.cli._commands")
    monkeypatch.setitem(sys.modules, "click", None)
    for stage in ("begin", "end"):  # handlers of signals are those of the tests
        monkeypatch.setattr(cli, stage, lambda: None)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert "pip install 'motlm[cli]'" in capsys.readouterr().err


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "data.csv"], "Missing option '--target'. Try 'motlm fit --help'."),
        (["fit", "data.csv", *ROLES, "--task", "guess"], "'guess' is not one of 'auto', "),
        (["fit", "data.csv", *ROLES, "--sealed", "2"], "2.0 is not in the range 0.05<=x<=0.9"),
        (["fit", "data.csv", *ROLES, "--sealed", "nan"], "nan is not a finite number"),
        (["fit", "data.csv", *ROLES, "--delta", "nan"], "nan is not a finite number"),
        (["fit", "data.csv", *ROLES, "--jobs", "0"], "0 threads cannot work"),
        (["fit", "data.csv", *ROLES, "--seed", "99999999999"], "is not in the range 0<=x<="),
        (["grow"], "No such command 'grow'. Try 'motlm --help'."),
        (["fit", "data.csv", *ROLES, "--model", "m.json"], "m.json exists; give another name"),
        (["fit", "none.csv", *ROLES], "there is no file none.csv."),
        (["fit", ".", *ROLES], ". is a folder; give a file."),
        (["predict", "none.json", "data.csv"], "none.json: No such file or directory"),
        (["predict", ".", "data.csv"], "."),
        (["predict", "data.csv", "m.json"], "the model comes first, then the table"),
        (["predict", "other.json", "data.csv"], "not a model file: it lacks the entry format"),
        (["certify", "m.json", "data.csv"], "are among the 168 "),
        (["certify", "m.json", "few.csv"], "are too few for a certificate"),
        (["certify", "m.json", "empty.csv"], "empty.csv has no rows; write at least one"),
        (
            ["report", "m.json", "empty.csv", "-o", "r.html"],
            "empty.csv has no rows; write at least one",
        ),
        (
            ["explain", "m.json", "empty.csv", "--row", "0"],
            "empty.csv has no rows; write at least one",
        ),
        (
            ["explain", "m.json", "data.csv", "--row", "1", "--fixed", "hat"],
            "--immutable 'hat' is not",
        ),
        (
            ["explain", "m.json", "data.csv", "--row", "1", "--wanted", "inf"],
            "--wanted is for regr",
        ),
        (
            ["explain", "m.json", "data.csv", "--row", "1", "--increasing", "hat"],
            "--increasing 'hat' is not a column of the model",
        ),
        (["datasets", "fetch", "irs"], "there is no data set 'irs'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_expected_errors_are_one_line_and_exit_code_2(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("m.json", "data.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "other.json").write_text("{}")
    clients(300)[297:].to_csv("few.csv", index=False)
    clients(0).to_csv("empty.csv", index=False)
    result = run(*arguments, code=2)
    [line] = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert message in line
    assert not result.stdout


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"age": 1e300}, [], "column 'age': '1e+300' is larger than 1e+100"),
        (
            {"loss": [1e300, *range(239)]},
            ["--target", "loss", "--drop", "default"],
            "row 0: 'loss' is '1e+300', which is larger than 1e+100",
        ),
        ({"w": 0.0}, ["--weights", "w"], "all weights 'w' of the rows to fit on are 0"),
        ({"w": -1.0}, ["--weights", "w"], "the weight '-1.0' is not a number from 0 to"),
        ({"default": "no"}, [], "the target 'default' has only one value, 'no'"),
        ({"loss": 3.5}, ["--target", "loss", "--drop", "default"], "only one value, '3.5'"),
        (
            {"loss": [1e-200 * i for i in range(240)]},
            ["--target", "loss", "--drop", "default"],
            "the target 'loss' varies too little",
        ),
        ({"age": ""}, ["--missing", "impute"], "column 'age' has no value in the rows to fit on"),
        ({"age": ""}, ["--missing", "drop"], "no row without missing values is left"),
        ({"default": ""}, [], "no row has a value of 'default'"),
        ({}, ["--localities", "500"], "is more than the 168 distinct rows"),
        ({}, ["--drop", "age,income,region,owner,loss"], "no column is left to predict from"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_tables_that_cannot_be_fitted(
    changes: dict[str, object], options: list[str], message: str, tmp_path: Path
) -> None:
    """Among them what scikit-learn would raise a ValueError for."""
    clients().assign(**changes).to_csv(tmp_path / "d.csv", index=False)
    result = run("fit", tmp_path / "d.csv", *ROLES, *FAST, *options, code=2)
    *_, last = result.stderr.splitlines()
    assert last.startswith("Error: ")
    assert message in last
    assert result.stderr.count("Error") == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.csv", b",,\n,,\n", "d.csv has no header"),
        ("d.csv", b'a,b\n"1,2\n', "could not be read: "),
        ("d.csv", b"a,b\n1,\x81\n", "could not be read: "),
        ("d.xlsx", b"PK\x03\x04 and then something else", "could not be read: "),
        ("d.xlsx", b"not Excel", "could not be read: "),
        ("d.parquet", b"PAR1 and then something else", "could not be read: "),
        ("d.dat", b"@relation a\n@attribute", "could not be read: "),
    ],
)
def test_files_that_are_not_tables(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    [line] = run("fit", tmp_path / name, "--target", "b", code=2).stderr.splitlines()
    assert line.startswith("Error: ")
    assert message in line


@pytest.mark.parametrize("error", [RuntimeError, ValueError, TypeError, KeyError, ImportError])
def test_bugs_are_a_traceback_and_exit_code_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error("the moon is full")

    monkeypatch.setattr("motlm.cli._certify.audit", fail)
    result = run("certify", folder / "m.json", folder / "data.csv", code=1)
    first, *_, last = result.stderr.splitlines()
    assert first == "Traceback (most recent call last):"
    assert "the moon is full" in result.stderr
    for words in ("Please report it", "the command", library.__version__, "the traceback"):
        assert words in last


def test_texts_of_errors_and_warnings() -> None:
    """The advice is that of the command line."""
    printed = {
        StoppedEarlyWarning: "It was so.",
        EmptyLocalityWarning: "It was so. Ask for fewer with --localities.",
        NeedlessLocalityWarning: "It was so. --localities auto chooses their number.",
        LookAlikeWarning: "It was so. Write them alike in the table.",
        MotlmWarning: "It was so.",
        MotlmError: "It was so. Write Python.",
    }
    for kind, words in printed.items():
        assert describe(kind("It was so.", "Write Python.")) == words
    assert describe(OSError(28, "No space left", "/x")) == "/x: No space left"
    assert describe(OSError("first\n  second\n")) == "first second"


def test_warnings_are_notes_each_once(capsys: pytest.CaptureFixture[str]) -> None:
    before = warnings.showwarning
    with show_warnings():
        for _ in range(2):
            warnings.warn(LookAlikeWarning("They are one.", "Use pandas."), stacklevel=1)
            warnings.warn(IdentifierWarning("It is a name.", "Leave it out of X."), stacklevel=1)
        warnings.warn("for programmers", FutureWarning, stacklevel=1)
    assert capsys.readouterr().err == "note: They are one. Write them alike in the table.\n"
    assert warnings.showwarning is before


def test_a_time_limit_is_a_note_without_python(folder: Path) -> None:
    printed = run("fit", folder / "data.csv", *ROLES, "--time-limit", "0.1s").stderr
    assert "best found so far" in printed
    assert "warm_start" not in printed


def test_unknown_categories_are_noted_once(folder: Path, tmp_path: Path) -> None:
    """In the column note, and not by a warning of the library as well."""
    clients(6).assign(region="moon").to_csv(tmp_path / "d.csv", index=False)
    printed = run("predict", folder / "m.json", tmp_path / "d.csv").stderr.splitlines()
    assert printed == [
        "6 rows",
        "6 rows have notes (on missing values, unknown categories or numbers beyond all training"
        " rows): see the column note",
    ]
    printed = run("explain", folder / "m.json", tmp_path / "d.csv", "--row", 2).stderr.splitlines()
    assert printed == [
        "1 row was read with a note; the first is row 2: column 'region': the category 'moon' is"
        " unknown to the model"
    ]


def test_unknown_categories_are_noted_once_by_certify_and_report(
    folder: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(9)
    new = clients(300).assign(age=lambda f: f["age"] + rng.normal(0, 5, 300))
    new.loc[:2, "region"] = "moon"
    new.to_csv(tmp_path / "new.csv", index=False)
    for arguments in (["certify"], ["report", "-o", tmp_path / "r.html"]):
        name, *options = arguments
        printed = run(name, folder / "m.json", tmp_path / "new.csv", *options).stderr
        assert printed.count("moon") == 1


def test_void_certificates_are_not_quoted(folder: Path, tmp_path: Path) -> None:
    """Of a file into which the certificate of another model was pasted."""
    data = folder / "data.csv"
    run("fit", data, *ROLES, "--model", tmp_path / "o.json", "--localities", "0", "--seed", "3")
    content = json.loads((folder / "m.json").read_text())
    content["certificate"] = json.loads((tmp_path / "o.json").read_text())["certificate"]
    del content["checksum"]
    content["checksum"] = checksum(content)
    (tmp_path / "m.json").write_text(json.dumps(content))
    bound = content["certificate"]["statements"][0]["sentence"]
    for arguments in (
        ["predict"],
        ["explain", "--row", "1"],
        ["report", "-o", tmp_path / "r.html"],
    ):
        name, *options = arguments
        done = run(name, tmp_path / "m.json", data, *options)
        assert "note: " in done.stderr
        assert "loaded without its certificate" in done.stderr
        assert "motlm certify --save certifies the model anew" in done.stderr
        assert bound not in done.output
    assert bound not in (tmp_path / "r.html").read_text()
    rng = np.random.default_rng(9)
    new = clients(300).assign(age=lambda f: f["age"] + rng.normal(0, 5, 300))
    new.to_csv(tmp_path / "new.csv", index=False)
    run("certify", tmp_path / "m.json", tmp_path / "new.csv", "--save")
    assert library.load(tmp_path / "m.json").certificate_.protocol.startswith("audit on 300 rows")


def test_the_checklist_is_shown(folder: Path, tmp_path: Path) -> None:
    printed = run("fit", folder / "data.csv", *ROLES, *FAST).stdout
    assert "to be checked by a person before it is quoted: features, tuning, " in printed
    rng = np.random.default_rng(9)
    new = clients(300).assign(age=lambda f: f["age"] + rng.normal(0, 5, 300))
    new.to_csv(tmp_path / "new.csv", index=False)
    assert "[ ] tuning: " in run("certify", folder / "m.json", tmp_path / "new.csv").stdout


# -- spreadsheets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("=1+1", "'=1+1"),
        ('=HYPERLINK("x")', '\'=HYPERLINK("x")'),
        ("+1+1", "'+1+1"),
        ("-1-1", "'-1-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("  =1", "'  =1"),
        ("\t=1", "'\t'=1"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("\ufeff=1", "'\ufeff=1"),
        ("＝1", "'＝1"),
        ("＋1", "'＋1"),
        ("－1", "'－1"),
        ("＠x", "'＠x"),
        ("-", "'-"),
        ("-x", "'-x"),
        ("x;=1", "x;'=1"),
        ("x\n=1", "x\n'=1"),
        *((text, text) for text in ("-1.5", "+3e4", "-.5E-3", "7.", "a=b", "x - 1", "", "'=1")),
        *((number, number) for number in (-1.5, 3, True, None)),
    ],
)
def test_cells_for_spreadsheets(value: object, written: object) -> None:
    frame = make_safe(pd.DataFrame({value: [value]}, dtype=object))
    assert frame.columns.tolist() == [written]
    assert frame.iloc[0, 0] == written


def test_excel_safe(tmp_path: Path) -> None:
    frame = clients(120)
    names = {"client": "=id", "default": "+target"}
    frame = frame.rename(columns=names).drop(columns="loss")
    frame["+target"] = np.where(frame["income"] > 2.7, "@yes", "-no")
    frame["=id"] = [f"=cmd|' /C calc'!A{i}" if i % 2 else str(-i) for i in range(120)]
    frame.to_csv(tmp_path / "d.csv", index=False)
    roles = ["--target", "+target", "--id", "=id", "--localities", "0"]
    run("fit", tmp_path / "d.csv", *roles, "--model", tmp_path / "m.json")
    base = ["predict", tmp_path / "m.json", tmp_path / "d.csv"]
    plain = pd.read_csv(io.StringIO(run(*base).stdout), dtype=str, keep_default_na=False)
    safe = pd.read_csv(
        io.StringIO(run(*base, "--excel-safe").stdout), dtype=str, keep_default_na=False
    )
    assert plain["=id"].tolist() == frame["=id"].tolist()
    assert safe["'=id"].tolist() == [
        text if i % 2 == 0 else f"'{text}" for i, text in enumerate(frame["=id"])
    ]
    assert set(safe["prediction"]) == {"'@yes", "'-no"}
    number = "probability of @yes"
    assert safe[number].tolist() == plain[number].tolist()
    both = run(*base, "--excel-safe", "--json", code=2)
    assert "--excel-safe changes values for spreadsheets" in both.stderr
    assert not both.stdout


def test_unknown_categories_of_sealed_rows_are_noted_once(tmp_path: Path) -> None:
    frame = clients()
    frame.loc[split(240, 0.3, 0)[1][:2], "region"] = "moon"
    frame.to_csv(tmp_path / "d.csv", index=False)
    printed = run("fit", tmp_path / "d.csv", *ROLES, *FAST).stderr
    assert printed.count("'moon'") == 1


def test_defaults_are_those_of_python(folder: Path) -> None:
    options = {one.name: one.default for one in motlm.commands["fit"].params}
    python = inspect.signature(certify).parameters
    for name in ("sealed", "delta", "population"):
        assert options[name] == python[name].default
    fitted, default = library.load(folder / "m.json"), library.LocalMixtureClassifier()
    for name in ("max_localities", "handle_unknown", "overlap", "select"):
        assert getattr(fitted, name) == getattr(default, name)


def test_no_arguments_show_the_help() -> None:
    assert "Usage: motlm" in run(code=2).stderr
