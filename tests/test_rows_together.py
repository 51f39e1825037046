"""Rows that belong together: equal rows, and rows of one client."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import (
    CertificateError,
    audit,
    audit_in_sample,
    audit_rates,
    certify,
    certify_in_sample,
    certify_rates,
    group_equal_rows,
    split,
)
from motlm.cli._commands import motlm
from motlm.errors import InputError
from motlm.rows import held_out

QUICK = {"n_localities": 0, "local_models": "linear", "random_state": 0}


def noise(n_rows: int, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, d)), rng.integers(0, 2, n_rows)


def n_cases(X: Any, *targets: Any) -> int:
    return len(np.unique(group_equal_rows(X, *targets)))


# -- equal rows ------------------------------------------------------------------------------------


def test_copies_are_one_case_in_any_kind_of_table() -> None:
    X, y = noise(400)
    twice = np.r_[0:400, 0:80]
    for made in (X, csr_matrix(X), pd.DataFrame(X), X.astype(object), X.tolist()):
        some = made[twice] if not isinstance(made, (pd.DataFrame, list)) else None
        if isinstance(made, pd.DataFrame):
            some = made.iloc[twice]
        if isinstance(made, list):
            some = [made[i] for i in twice]
        groups = group_equal_rows(some, y[twice])
        assert (groups == np.r_[0:400, 0:80]).all()
    frame = pd.DataFrame({"a": X[:, 0], "kind": np.where(y > 0, "x", "y"), "none": None})
    assert n_cases(frame.iloc[twice], y[twice]) == 400
    assert n_cases(X[twice], np.append(y, 1 - y[:80])) == 480  # another outcome, another case


def test_copies_of_texts_are_one_case() -> None:
    """As of documents, of which a pipeline makes numbers."""
    texts = [f"document {i}" for i in range(500)]
    labels = np.arange(500) % 2
    twice = [*range(500), *range(40)]
    for made in (texts, np.array(texts), [[one] for one in texts]):
        assert n_cases(made, labels) == 500
        assert n_cases([made[i] for i in twice], labels[twice]) == 500


def test_common_cases_are_not_copies() -> None:
    """A few columns of few values, whether they depend on each other or not."""
    rng = np.random.default_rng(0)
    few = rng.integers(10, size=(2000, 3))
    one = few[:, 0]
    functions = np.column_stack([one, one % 4, one // 2, one**2])
    for X, y in (
        (few, one > 4),
        (few[:, :1], one % 3),
        (functions, rng.uniform(size=2000) < 0.3 + 0.04 * one),
        (functions, one > 4),
        (rng.integers(0, 60, size=(2000, 2)), rng.integers(2, size=2000)),
    ):
        assert n_cases(X, y) == 2000


@given(st.integers(0, 10_000))
def test_fresh_rows_are_cases_of_their_own(seed: int) -> None:
    X, y = noise(60, 2, seed)
    assert n_cases(X, y) == 60
    assert n_cases(np.vstack([X, X[:1]]), np.append(y, y[0])) == 60


def test_one_column_of_digits_is_enough() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.lognormal(8, 1, 1000), rng.integers(0, 2, (1000, 2))])
    y, twice = rng.integers(0, 2, 1000), np.r_[0:1000, 0:200]
    assert n_cases(X, y) == 1000
    assert n_cases(X[twice], y[twice]) == 1000


# -- the split -------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 30), min_size=12, max_size=80), st.integers(0, 99))
def test_groups_are_never_on_both_sides(names: list[int], seed: int) -> None:
    groups = np.array(names)
    n_groups = len(np.unique(groups))
    if not 1 <= round(0.3 * n_groups) < n_groups:
        with pytest.raises(CertificateError, match="cannot be split"):
            split(len(groups), 0.3, seed, groups=groups)
        return
    first, kept = split(len(groups), 0.3, seed, groups=groups)
    assert not set(groups[first]) & set(groups[kept])
    assert len(kept) == len(set(groups[kept])) == round(0.3 * n_groups)
    assert len(first) == np.isin(groups, groups[kept], invert=True).sum()


def test_without_groups_the_split_is_what_it_was() -> None:
    for given_groups in (None, np.arange(50)):
        first, kept = split(50, 0.3, 7, groups=given_groups)
        order = np.random.default_rng(7).permutation(50)
        assert (kept == np.sort(order[:15])).all()
        assert (first == np.sort(order[15:])).all()


def test_each_row_of_a_group_is_drawn_as_often() -> None:
    groups = np.repeat(np.arange(10), [1, 2, 3, 4, 5, 1, 2, 3, 4, 5])
    count = np.zeros(len(groups))
    for seed in range(3000):
        count[split(len(groups), 0.5, seed, groups=groups)[1]] += 1
    expected = 1500 / np.bincount(groups)[groups]
    assert (np.abs(count - expected) < 5 * np.sqrt(expected)).all()


# -- certificates ----------------------------------------------------------------------------------


def test_a_model_that_knows_its_rows_by_heart_is_not_flattered() -> None:
    """Labels are noise, and a third of the rows stands three times: the nearest neighbor would
    recognize them.
    """
    X, y = noise(900, 4)
    some = np.r_[0:900, 0:300, 0:300]
    with pytest.warns(UserWarning, match="600 of 1500 rows repeat another row"):
        _, certificate = certify(KNeighborsClassifier(1), X[some], y[some])
    assert certificate.headline.empirical == pytest.approx(0.5, abs=0.1)
    assert certificate.headline.n_rows == 270
    assert "in 900 groups" in certificate.protocol
    assert "the certificate is about new cases" in certificate.notes[0]
    assert any("one row each of further groups" in one for one in certificate.headline.assumptions)


def test_groups_of_a_client_are_sealed_whole() -> None:
    """Each client has five noisy records and one label, which is noise."""
    rng = np.random.default_rng(0)
    first, labels = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    X = np.repeat(first, 5, axis=0) + 0.01 * rng.normal(size=(1000, 3))
    y, client = np.repeat(labels, 5), np.repeat([f"c{i}" for i in range(200)], 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, flattered = certify(KNeighborsClassifier(1), X, y)
    _, certificate = certify(KNeighborsClassifier(1), X, y, groups=client)
    assert flattered.headline.empirical < 0.1
    assert certificate.headline.empirical == pytest.approx(0.5, abs=0.2)
    assert certificate.headline.n_rows == 60
    assert "700 to fit on, 60 sealed, one of each group, 240 set aside" in certificate.protocol
    with pytest.raises(InputError, match="groups has 3 values, but there are 1000 rows"):
        certify(KNeighborsClassifier(1), X, y, groups=[1, 2, 3])
    with pytest.raises(InputError, match="one value for each row"):
        certify(KNeighborsClassifier(1), X, y, groups=np.zeros((1000, 2)))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["equal rows", "clients"])
def test_the_bound_holds_as_often_as_it_says(kind: str) -> None:
    """Labels are coins, so that every model errs on half of the new cases. Rows that are split one
    by one are the control, which must fail: the nearest neighbor knows the label of the client.
    """
    false = {"right": 0, "control": 0}
    for seed in range(120):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
        client = np.repeat(np.arange(60), rng.integers(1, 5, 60))
        rows = X[client]
        if kind == "clients":
            rows = rows + 0.01 * rng.normal(size=rows.shape)
        given_groups = {"right": client if kind == "clients" else None, "control": range(len(rows))}
        for name, groups in given_groups.items():
            only = {"spend": {"hold-out": 0.05}, "random_state": seed, "groups": groups}
            found = certify(KNeighborsClassifier(1), rows, y[client], **only).certificate
            false[name] += found.headline.value < 0.5
    assert false["right"] <= binom.isf(1e-3, 120, 0.05)
    assert false["control"] > 60


def test_fit_is_given_the_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noise(200)
    seen: list[Any] = []
    plain = LocalMixtureClassifier.fit

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Any:
        seen.append(groups)
        return plain(self, X, y, groups=groups)

    monkeypatch.setattr(LocalMixtureClassifier, "fit", fit)
    client = np.repeat(np.arange(100), 2)
    model = LocalMixtureClassifier(**QUICK)
    certify(model, X, y, groups=client, spend={"hold-out": 0.05})
    certify(make_pipeline(StandardScaler(), model), X, y, groups=client, spend={"hold-out": 0.05})
    certify(model, X, y, groups=np.arange(200), spend={"hold-out": 0.05})
    certify(model, X, y, spend={"hold-out": 0.05})
    assert [None if one is None else len(one) for one in seen] == [140, 140, None, None]
    certify(LogisticRegression(), X, y, groups=client)  # whose fit takes none


def test_an_audit_counts_one_row_of_each_group() -> None:
    X, y = noise(500)
    model = LogisticRegression().fit(X[:200], y[:200])
    some = np.r_[200:500, 200:260]
    with pytest.warns(UserWarning, match=r"60 of 360 rows repeat .* \(60 copies were set aside\)"):
        certificate = audit(model, X[some], y[some])
    assert certificate.headline.n_rows == 300
    assert "audit on 300 of 360 rows, one of each group" in certificate.protocol
    grouped = audit(model, X[200:], y[200:], groups=np.arange(300) // 3)
    assert grouped.headline.n_rows == 100
    assert not [note for note in grouped.notes if "repeat" in note]


def test_rates_have_groups_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 2))
    y = rng.poisson(0.5 * np.exp(X[:, 0]))
    some = np.r_[0:600, 0:100]
    model = LocalMixtureRegressor(loss="poisson", **QUICK)
    fitted, certificate = certify_rates(model, X[some], y[some])
    assert certificate.n_rows == 180
    assert "in 600 groups" in certificate.protocol
    _, certificate = certify_rates(model, X, y, groups=np.arange(600) // 2)
    assert certificate.n_rows == 90
    fresh, claims = np.tile(rng.uniform(size=(50, 2)), (2, 1)), np.tile(rng.poisson(1, 50), 2)
    assert audit_rates(fitted, fresh, claims).n_rows == 50
    assert audit_rates(fitted, fresh, claims, groups=np.arange(100) // 4).n_rows == 25


def test_in_sample_one_of_each_is_used() -> None:
    X, y = noise(200)
    some = np.r_[0:200, 0:40]
    model = LocalMixtureClassifier(0, loss="zero-one", combine="any", random_state=0)
    with pytest.warns(UserWarning, match="40 of 240 rows repeat .* one of each was used"):
        repeated = certify_in_sample(model, X[some], y[some]).certificate
    alone = certify_in_sample(model, X, y).certificate
    assert repeated.headline.n_rows == alone.headline.n_rows == 180
    fitted = model.set_params(standardize=False).fit(X[some], y[some])
    with pytest.warns(UserWarning, match="they are not independent draws: keep one of each"):
        assert len(audit_in_sample(fitted, X[some], y[some]).notes) == 1


def test_a_choice_by_rows_left_out_is_not_flattered_by_copies() -> None:
    """A fit merges equal rows, so that all rows twice give the same choice and score."""
    X, y = noise(120, 2)
    settings = {"max_localities": 1, "n_starts": 1, "local_models": "linear", "random_state": 0}
    once = LocalMixtureClassifier(**settings).fit(X, y)
    twice = LocalMixtureClassifier(**settings).fit(np.vstack([X, X]), np.append(y, y))
    assert twice.cv_score_ == pytest.approx(once.cv_score_, abs=0.02)
    assert twice.cv_score_ < -0.65  # labels are noise


def test_rows_held_out_are_whole_groups() -> None:
    groups = np.array([3, 1, 1, 0, 2, 3, 0, 4, 2, 4])
    mask = held_out(np.zeros(10), 0.4, False, groups)
    assert mask is not None
    assert set(groups[mask]) == {3, 1}
    assert not set(groups[mask]) & set(groups[~mask])
    assert held_out(np.zeros(10), 0.4, False, np.zeros(10, dtype=int)) is None


# -- the command line and the page -----------------------------------------------------------------


def run(*arguments: Any, code: int = 0) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = CliRunner().invoke(motlm, [str(one) for one in arguments], prog_name="motlm")
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


FAST = ["--localities", "0", "--local-models", "linear", "--target", "late"]


def payments(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "client": [f"c{i // 2}" for i in range(n)],
            "amount": rng.lognormal(5, 1, n).round(2),
            "kind": rng.choice(["rent", "power"], n),
        }
    )
    frame["late"] = np.where(frame["amount"] + 50 * rng.normal(size=n) > 150, "yes", "no")
    return frame


def test_the_page_does_not_contradict_the_certificate(tmp_path: Path) -> None:
    frame = payments().drop(columns="client")
    pd.concat([frame, frame[:60]]).to_csv(tmp_path / "t.csv", index=False)
    page, model = tmp_path / "r.html", tmp_path / "m.json"
    result = run("fit", tmp_path / "t.csv", *FAST, "--report", page, "--model", model)
    assert "60 of 260 rows repeat another row, more than chance explains" in result.stderr
    assert result.stderr.count("repeat another row") == 1
    assert "60 sealed rows" in result.stdout
    text = page.read_text(encoding="utf-8")
    assert "none of them was used for fitting" in text
    assert "% of them were used for fitting" not in text
    assert "the certificate is about new cases" in text
    found = json.loads(run("fit", tmp_path / "t.csv", *FAST, "--json").stdout)
    assert found["rows"] == 260
    assert found["held_out"] == 60
    assert found["set_aside"] > 0
    fitted = int(re.findall(r"(\d+) to fit on", text)[0])
    assert fitted + found["held_out"] + found["set_aside"] == 260


def test_common_rows_of_the_page_are_told_as_such(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 5, 300), "b": rng.choice(["x", "y"], 300)})
    frame["late"] = np.where(rng.uniform(size=300) < 0.2 + 0.1 * frame["a"], "yes", "no")
    frame.to_csv(tmp_path / "t.csv", index=False)
    page = tmp_path / "r.html"
    result = run("fit", tmp_path / "t.csv", *FAST, "--report", page)
    assert "repeat another row" not in result.stderr
    text = page.read_text(encoding="utf-8")
    assert re.search(r"\d+ % of them equal a row used for fitting, as many as chance", text)
    assert "of them were used for fitting" not in text
    assert "rows not used for fitting" not in text  # which of them is not known


def test_rows_of_a_client_are_on_one_side(tmp_path: Path) -> None:
    frame, table = payments(), tmp_path / "t.csv"
    frame.to_csv(table, index=False)
    model = tmp_path / "m.json"
    result = run("fit", table, *FAST, "--group", "client", "--model", model)
    assert "100 groups by 'client': 30 of them are sealed, with one row of each" in result.stderr
    assert "on 30 sealed rows" in result.stdout
    assert "client" not in json.loads(model.read_text())["inputs"]["names"]
    result = run("fit", table, *FAST, "--group", "customer", code=2)
    assert "--group 'customer' is not a column" in result.stderr
    frame.assign(client=["", *frame["client"][1:]]).to_csv(table, index=False)
    result = run("fit", table, *FAST, "--group", "client", code=2)
    assert "row 0 has no value of 'client', the column of --group" in result.stderr
    later = payments(400)[200:]
    later.to_csv(table, index=False)
    assert (
        "draw of the 100 rows of the audit"
        in run("certify", model, table, "--group", "client").stdout
    )


@pytest.mark.parametrize(
    ("groups", "n", "first"),
    [
        ([np.nan] * 5 + [1, 1, 2, 2, 3], 5, 0),
        (["a", "a", None, "b", "b", "c", "d", "d", "e", None], 2, 2),
        (["a", "a", float("nan"), "b", "b", "c", "d", "d", "e", "e"], 1, 2),
        (np.array([1.0, 1, 2, 2, 3, 3, 4, 4, 5, np.nan]), 1, 9),
        (np.array(["a", "b", None, "b", "c"] * 2, dtype=object), 2, 2),
        (pd.Series(["a", pd.NA, "b", "b", "c"] * 2), 2, 1),
        (pd.Series([1, None, 2, 2, 3] * 2, dtype="Int64"), 2, 1),
        (pd.Series(pd.Categorical(["a", None, "b", "b", "c"] * 2)), 2, 1),
        (pd.to_datetime(pd.Series(["2020-01-01", None, "2021-01-01"] * 3 + ["2020-01-01"])), 3, 1),
    ],
)
def test_rows_without_a_group_are_refused(groups: Any, n: int, first: int) -> None:
    """They would be one group, or an error of NumPy."""
    match = rf"no value for {n} of 10 rows, the first at row {first}; .* one of its own"
    with pytest.raises(InputError, match=match):
        split(10, groups=groups)
    X, y = np.arange(10.0)[:, None], np.arange(10) % 2
    with pytest.raises(InputError, match=match):
        certify(LogisticRegression(), X, y, groups=groups)


def test_groups_that_cannot_be_read() -> None:
    for groups, match in (
        (5, "one value for each row"),
        ([[1, 2], [3, 4]], "one value for each row"),
        ([np.ones(2), np.ones(2)], "one value for each row"),
        (np.array([1, "a", 2], dtype=object), "values of one kind; got int, str"),
        ([1, 2], "groups has 2 values, but there are 3 rows"),
    ):
        with pytest.raises(InputError, match=match):
            split(3, groups=groups)
    first, kept = split(6, groups=("ann", "ann", "bob", "cem", "cem", "cem"))
    assert (first.tolist(), kept.tolist()) == ([0, 1, 2], [4])


def test_a_table_of_copies_that_was_fitted_is_no_chance(tmp_path: Path) -> None:
    """Of a table in which each case stands twice, no row used for fitting is certified or judged
    later on; and each of the others is counted once.
    """
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=250).round(3), "b": rng.normal(size=250).round(3)})
    frame["y"] = np.where(frame["a"] + frame["b"] + rng.normal(size=250) > 0, "p", "q")
    table, model = tmp_path / "copies.csv", tmp_path / "m.json"
    pd.concat([frame, frame]).to_csv(table, index=False)
    options = ["--local-models", "linear", "--localities", "0"]
    run("fit", table, "--target", "y", "--model", model, *options)
    assert "350 of the 500 rows are among" in run("certify", model, table, code=2).output
    assert "350 of the 500 rows were used" in run("evaluate", model, table).output
    out = json.loads(run("report", model, table, "-o", tmp_path / "r.html", "--json").stdout)
    assert (out["rows"], out["judged_on"]) == (500, 75)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "the model is judged on the other 75; 75 copies are not counted" in page
    assert "On 75 rows that were not used for fitting" in page
