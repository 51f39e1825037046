"""The experiments' command: records kept as they come, runs that go on, tables and figures from
them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from experiments import __main__ as command  # noqa: E402
from experiments import (  # noqa: E402
    certificates,
    coverage,
    figures,
    known,
    losses,
    methods,
    plan,
    published,
    rates,
    run,
    tables,
)
from experiments.store import Key, Lines, Record, Store  # noqa: E402

from motlm.certificates._distributions import draw_model  # noqa: E402

matplotlib.use("Agg")


def record(
    data: str = "stock",
    method: str = "motlm auto",
    split: int = 0,
    test: float = 0.8,
    preparation: str = "paper",
) -> Record:
    return Record(
        data,
        preparation,
        method,
        split,
        0.9,
        0.85,
        test,
        2,
        "lambda'=4 n=2",
        0.1,
        0.2,
        1.5,
        "versions, with a comma",
    )


def test_store_keeps_every_record(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    store = Store(path)
    written = [record(split=i, test=0.1 * i + 1e-17) for i in range(3)] + [
        replace(record("banana"), gibbs_risk=None, core=None)
    ]
    for one in written:
        store.add(one)
    assert list(Store(path).records.values()) == written
    assert Store(path).missing(
        [one.key for one in written] + [Key("stock", "paper", "new", 1)]
    ) == [Key("stock", "paper", "new", 1)]


def test_half_a_line_is_computed_again(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    store = Store(path)
    for i in range(3):
        store.add(record(split=i))
    path.write_bytes(path.read_bytes()[:-20])
    again = Store(path)
    assert sorted(key.split for key in again.records) == [0, 1]
    again.add(record(split=2))
    assert len(Store(path).records) == 3
    path.write_text(path.read_text() + "stock,paper,motlm auto,1\n")
    with pytest.raises(SystemExit, match="line 5: not a record"):
        Store(path)
    path.write_text("data,other\nstock,1\n")
    with pytest.raises(SystemExit, match="has other columns than data, preparation"):
        Store(path)


def test_what_the_paper_prints_is_whole() -> None:
    assert set(published.REAL) == {one for names in plan.SETS.values() for one in names}
    assert set(published.KNOWN) == set(published.LEARNED) == set(methods.SYNTHETIC)
    assert published.REAL["ring"]["n=1"] == 0.946  # three cells read off the paper again
    assert published.REAL["laser"]["Gaussian SVR"] == 0.91
    assert published.KNOWN["reg_case2"]["least squares"][2] == -0.0083


def test_every_table_is_made_of_planned_records() -> None:
    for table in command.TABLES.values():
        keys = table.keys(2)
        assert keys
        assert all(key.split < 2 for key in keys)


def test_tables_show_means_and_pairs(tmp_path: Path) -> None:
    store = Store(tmp_path / "results.csv")
    for i in range(10):
        store.add(record(method="motlm auto", split=i, test=0.8 + 0.01 * (i % 2)))
        store.add(record(method="least squares", split=i, test=0.7 if i else 0.9))
    for i in range(2):
        store.add(record(method="protocol n=2", split=i, test=0.6))
    text = tables.real_sets(store, "regression")
    assert "0.805 ± 0.005" in text
    assert "0.600 ± 0.000 (2)" in text  # fewer than ten splits are predicted
    assert "+0.085 (9/0/1)" in text
    assert "| 0.75 |" in text
    assert "0.805" in tables.peers(store)
    for i in range(10):
        store.add(record(method="motlm n=2", split=i, test=0.8))
    assert "| 0.805 ± 0.005 | yes | 0.800 ± 0.000, n=2 | yes | 0.85 | no |" in tables.verdicts(
        store
    )
    store.add(replace(record(method="motlm n=3"), chosen="lambda'=1 n=2"))
    assert "In 1 of 11 fits" in tables.real_sets(store, "regression")
    store.add(record(method="EBM"))
    assert "0.800 (1)" in tables.peers(store)
    assert tables.compare([], [], 1.0) == ""


def test_failures_are_said_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path / "results.csv")
    keys = [Key("stock", "paper", "motlm auto", i) for i in range(3)]

    def compute(key: Key) -> Record:
        if key.split == 1:
            raise RuntimeError("no luck")
        return record(split=key.split)

    monkeypatch.setattr(run, "compute", compute)
    assert run.complete(store, keys, 1, 2.0) == 1
    assert "split 1 failed: RuntimeError: no luck" in capsys.readouterr().err
    assert store.missing(keys) == keys[1:2]
    monkeypatch.setattr(run, "compute", lambda key: record(split=key.split))
    assert run.complete(store, keys, 1, 2.0) == 0
    assert store.missing(keys) == []
    assert "[1/1]" in capsys.readouterr().err


def test_the_slow_protocol_has_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path / "results.csv")
    keys = [
        Key("stock", "paper", method, i)
        for i in range(3)
        for method in ("protocol n=1", "motlm auto")
    ]
    monkeypatch.setattr(run, "compute", lambda key: record(method=key.method, split=key.split))
    run.complete(store, keys, 1, protocol_hours=-1.0)
    assert {key.method for key in store.records} == {"motlm auto"}
    run.complete(store, keys, 1, protocol_hours=1e-12)
    assert (
        "3 records of the paper's protocol left out: --protocol-hours 1e-12 is over"
        in capsys.readouterr().err
    )


def test_command_refuses_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["table1"], "no table1; give all, or some of table3"),
        ([], "give all, or some of table3"),
        (["table3", "--jobs", "0"], "--jobs must be at least 1"),
        (["table3", "--splits", "11"], "--splits 1 to 10; got 1 and 11"),
    ):
        with pytest.raises(SystemExit) as caught:
            command.main(arguments)
        assert caught.value.code == 2
        assert message in capsys.readouterr().err


def test_interrupted_fits_are_not_recorded(shared_data: Path, tmp_path: Path) -> None:
    """A fit that Ctrl-C stops hands back its best model so far; that is not what the table is
    about.
    """
    code = f"""
        import _thread, threading, sys
        sys.path.insert(0, {str(ROOT)!r})
        from pathlib import Path
        from experiments import run
        from experiments.store import Key, Store
        threading.Timer(0.7, _thread.interrupt_main).start()
        try:
            key = Key("german", "sound", "motlm auto", 0)
            run.complete(Store(Path({str(tmp_path / "r.csv")!r})), [key], 1, 0.0)
        except KeyboardInterrupt:
            print("stopped")
    """
    environment = {**os.environ, "MOTLM_DATA": str(shared_data)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "stopped\n", done.stderr
    assert not (tmp_path / "r.csv").exists()


def test_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list", "--results", str(tmp_path / "none.csv")]) == 0
    predicted = capsys.readouterr().out
    assert "table10" in predicted
    assert "figure11" in predicted
    assert "(0 of" in predicted


def test_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(key: Key) -> Record:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "compute", interrupted)
    assert (
        command.main(
            [
                "table5",
                "--splits",
                "1",
                "--results",
                str(tmp_path / "r.csv"),
                "--output",
                str(tmp_path),
            ]
        )
        == 130
    )
    assert "the same command continues" in capsys.readouterr().err


@pytest.fixture
def data(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MOTLM_DATA", str(shared_data))
    methods.parts_of.cache_clear()
    return shared_data


def started() -> int:
    """With the engine loaded: that a worker grows by it later is taken for a leak, by joblib."""
    from motlm._engine import descent

    return len(descent.__name__)


def test_a_table_from_nothing_for_any_number_of_jobs(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = []
    with monkeypatch.context() as elsewhere:  # workers that were started with another setting
        elsewhere.setenv("MOTLM_DATA", str(tmp_path))
        Parallel(n_jobs=2)(delayed(started)() for _ in range(4))
    for jobs in ("1", "2"):
        path = tmp_path / f"{jobs}.csv"
        arguments = ["table6", "--splits", "1", "--protocol-hours", "0", "--jobs", jobs]
        assert command.main([*arguments, "--results", str(path), "--output", str(tmp_path)]) == 0
        found = Store(path).records
        assert len(found) == 8
        scores.append(
            {
                key: (one.train, one.valid, one.test, one.core, one.chosen)
                for key, one in found.items()
            }
        )
    assert scores[0] == scores[1]
    assert "0.0463" in (tmp_path / "table6.md").read_text()
    assert scores[0][Key("reg_case2", "none", "motlm known 2", 0)][2] > 0.99


@pytest.mark.parametrize(
    "key",
    [
        Key("spectfheart", "paper", "protocol n=1", 0),
        Key("baseball", "paper", "protocol n=0", 0),
        Key("saheart", "sound", "LoE 2", 0),
        Key("dee", "sound", "KMeans + linear", 0),
        Key("dee", "paper", "Gaussian SVR", 0),
        Key("wdbc", "paper", "Gaussian SVM", 0),
    ],
    ids=lambda key: f"{key.data} {key.method}",
)
def test_methods_of_each_kind(data: Path, key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "PUBLISHED_TEMPERATURES", np.array([1.0, 5.0]))
    one = methods.compute(key)
    assert one.key == key
    assert one.test > 0.5
    assert one.chosen
    assert (one.core is not None) == key.method.startswith("protocol")


def test_cases_are_drawn_anew_where_the_authors_draws_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTLM_DATA", str(tmp_path))
    methods.parts_of.cache_clear()
    one = methods.compute(Key("reg_case2", "recipe", "least squares", 0))
    with pytest.raises(FileNotFoundError, match=r"no .*reg_case2\.csv"):
        methods.compute(Key("reg_case2", "none", "least squares", 0))
    assert plan.learned_points("reg", 1)[0].preparation == "recipe"
    assert abs(one.test) < 0.1
    methods.parts_of.cache_clear()


@pytest.mark.parametrize(
    "name", ["figure1", "figure2", "figure3", "figure4", "figure6", "figure7", "figure8"]
)
def test_figures_are_drawn(data: Path, tmp_path: Path, name: str) -> None:
    store = Store(tmp_path / "results.csv")
    for n in (1, 2):
        store.add(replace(record("clf_case1", f"motlm known {n}", preparation="none")))
    assert figures.draw(name, store, tmp_path).stat().st_size > 10_000


def test_sampled_radii_agree_with_the_exact_value() -> None:
    from motlm.membership import upsilon

    setting = figures.QMC_SETTINGS[4]
    d, distance, eps, shape, rate = setting
    exact = float(upsilon(np.array([distance]), d, eps, shape, rate)[0])
    random, quasi = (figures.sample_upsilon(*setting, 60, 200, kind, 0) for kind in (False, True))
    assert random.mean() == pytest.approx(exact, abs=4 * random.std() / np.sqrt(200))
    assert quasi.std() < 0.4 * random.std()


# -- certificates and coverage ---------------------------------------------------------------------


def test_limits_of_coverage() -> None:
    assert coverage.limit(1000, 0.05) == 67
    assert coverage.limit(1000, 0.25) == 282


@pytest.mark.parametrize(
    "case",
    [coverage.CASES[0], coverage.CASES[17], coverage.CASES[20], coverage.CASES[-1]],
    ids=lambda case: case.name,
)
@pytest.mark.filterwarnings("ignore:no training row belongs")
def test_true_risks_are_those_of_the_distribution(
    case: coverage.Case, rng: np.random.Generator
) -> None:
    """Rows drawn from the distribution have the risk that the sums say."""
    many = replace(case, n_rows=200_000)
    X, y = coverage.draw(many, rng)
    model = coverage.estimator(case).fit(*coverage.draw(replace(case, n_rows=200), rng))
    if case.classifies:
        seen, truth = (
            np.mean(model.predict(X) != y),
            coverage.errs(case, model.predict(coverage.PLANE)).mean(),
        )
        assert known.gibbs_seen(case, model, X, y) == pytest.approx(
            coverage.gibbs(case, model).mean(), abs=4 * np.sqrt(0.25 / len(y))
        )
    else:
        predicted = model.predict(coverage.LINE)[:, None]
        truth = np.mean(
            np.abs(predicted - coverage.CURVE[:, None] - case.noise * known.NOISE) > 0.5
        )
        seen = np.mean(np.abs(model.predict(X) - y) > 0.5)
    assert seen == pytest.approx(truth, abs=4 * np.sqrt(0.25 / len(y)))


@pytest.mark.parametrize(
    "case", [coverage.CASES[4], coverage.CASES[22]], ids=lambda case: case.name
)
def test_true_risks_of_random_models(case: coverage.Case, rng: np.random.Generator) -> None:
    """Shares of models drawn from a posterior of which some applicable one errs, and two contradict
    each other, at each point.
    """
    model = coverage.estimator(case).fit(*coverage.draw(case, rng))
    mixture, plane = model.mixture_, coverage.PLANE
    assert mixture.n_localities == 2
    q = mixture.posterior
    wide = replace(
        q,
        radius_rate=0.8 * q.radius_rate,
        coef_scale=0.6 * np.ones(3),
        intercept_scale=0.6 * np.ones(3),
    )
    vars(model)["mixture_"] = replace(mixture, posterior=wide)
    features, distance = mixture.rows(plane).features, mixture.rows(plane).distance.T
    errs, apart = np.zeros(len(plane)), np.zeros(len(plane))
    chances = case.labels.chances(case.noise)
    for seed in range(2000):
        one = draw_model(wide, seed)
        inside = distance <= one.radius[:, None]
        applies = np.concatenate([inside, ~inside.any(axis=0, keepdims=True)])
        scores = one.coef @ features.T + one.intercept[..., None]
        answers = scores > 0 if scores.ndim == 2 else scores.argmax(axis=1)
        some = [(applies & (answers == k)).any(axis=0) for k in range(len(chances))]
        wrong = [np.any(some[:k] + some[k + 1 :], axis=0) for k in range(len(chances))]
        errs += np.sum(chances * wrong, axis=0) / 2000
        apart += (np.sum(some, axis=0) > 1) / 2000
    for seen, truth in ((errs, coverage.gibbs(case, model)), (apart, coverage.apart(model))):
        assert np.abs(seen - truth).max() < 5 * np.sqrt(0.25 / 2000)
        assert seen.mean() == pytest.approx(truth.mean(), abs=0.005)
    assert apart.mean() > 0.02


def test_coverage_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(coverage, "BATCH", 2)
    monkeypatch.setattr(
        coverage,
        "CASES",
        [coverage.CASES[i] for i in (0, 6, 12, 18, 24)],
    )
    arguments = [
        "coverage",
        "--quick",
        "--results",
        str(tmp_path / "c.csv"),
        "--output",
        str(tmp_path),
    ]
    command.main(arguments)
    first = (tmp_path / "c.csv").read_text()
    assert "[12/12]" in capsys.readouterr().err
    command.main(arguments)
    captured = capsys.readouterr()
    assert (tmp_path / "c.csv").read_text() == first
    assert not captured.err
    assert "C1 hold-out" in captured.out
    assert "W1 whole sample" in (tmp_path / "coverage_05.md").read_text()
    assert coverage.IN_SAMPLE in (tmp_path / "coverage_05.md").read_text()
    assert "Three classes, the true centers" in (tmp_path / "coverage_05.md").read_text()
    assert "Three classes, the true centers" in (tmp_path / "coverage_controls.md").read_text()
    assert "R3 intervals, all" in (tmp_path / "coverage_25.md").read_text()
    assert "core component" in (tmp_path / "coverage_controls.md").read_text()


def test_coverage_tells_what_is_beyond(tmp_path: Path) -> None:
    store = Lines(tmp_path / "c.csv", coverage.Count)
    case = coverage.CASES[0].name
    for batch, failures in enumerate((10, 58)):
        store.add(coverage.Count(case, batch, "C1 hold-out", 0.05, 0.05, 500, failures, ""))
        store.add(coverage.Count(case, batch, "C3 one draw", 0.05, 0.05, 500, 33, ""))
    assert coverage.beyond(store, 0.05) == [("C1 hold-out", case)]
    text = coverage.table(store, 0.05, lambda name: True)
    assert "| **68** | 66 |" in text
    assert "| 1000 | 67 |" in text


def test_controls_are_detected_in_every_task(tmp_path: Path) -> None:
    store = Lines(tmp_path / "c.csv", coverage.Count)
    assert len(coverage.not_detected(store)) == len(coverage.CONTROLS)
    two, three = coverage.CASES[0].name, coverage.CASES[18].name
    for case, failures in ((two, 100), (three, 100), (coverage.CASES[1].name, 0)):
        for name in coverage.CONTROLS:
            few = name == "core component" and case == three
            store.add(coverage.Count(case, 0, name, 0.05, 0.05, 100, 11 if few else failures, ""))
    assert coverage.not_detected(store) == ["core component, three classes"]


def entry(
    data: str, statement: str, value: float, split: int = 0, **entries: object
) -> certificates.Entry:
    made = certificates.Entry(
        data, split, statement, value, 0.9 * value, None, 200, 0.4, 0.15, 2, 1.0, "versions"
    )
    return replace(made, **entries)


def test_certificate_tables(tmp_path: Path) -> None:
    store = Lines(tmp_path / "c.csv", certificates.Entry)
    store.add(*(entry("banana", name, 0.2) for name in certificates.EXPECTED["classification"]))
    store.add(
        entry("saheart", "hold-out", 0.45),
        entry("saheart", "any rule", 0.5),
        entry("saheart", "one draw", 0.5),
    )
    store.add(
        *(entry("stock", name, 0.8, test=0.83) for name in certificates.EXPECTED["regression"])
    )
    again = Lines(tmp_path / "c.csv", certificates.Entry)
    assert list(again.records.values()) == list(store.records.values())
    paper = Store(tmp_path / "none.csv")
    text = certificates.classification(again, paper)
    assert "Hold-out below the majority class on 1 of 2 sets" in text
    assert "hold-out 0.3250" in text
    assert "| 0.030 |" in certificates.regression(again)
    left = certificates.missing(again, 2)
    assert ("banana", 1) in left
    assert ("banana", 0) not in left


def test_the_corollary_completed() -> None:
    """By hand: lambda' = 2 with n = 2, m = 100, so that lambda = 100 and sigma = 1."""
    expected = 0.3 + np.log(40) / 100 + 100 / 200
    assert certificates.completed_corollary(0.3, "lambda'=2/2 n=2", 100) == pytest.approx(expected)


def test_certificates_are_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    label, number = (
        np.where(frame["a"] > 0, "p", "q"),
        frame["a"].to_numpy() + 0.1 * rng.normal(size=200),
    )
    monkeypatch.setattr(
        certificates,
        "rows_of",
        lambda data, split: (
            (frame, label, frame[:50], label[:50])
            if data == "banana"
            else (frame, number, frame[:50], number[:50])
        ),
    )
    for data, task in (("banana", "classification"), ("stock", "regression")):
        found = certificates.compute((data, 0))
        assert {one.statement for one in found} >= set(certificates.EXPECTED[task]) - {
            "interval",
            "ambiguity",
            "silent error",
        }


def test_experiments_of_their_own_are_asked_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["coverage", "table3"])
    assert "give it alone" in capsys.readouterr().err


def test_certificates_of_rates_hold_and_their_controls_fail() -> None:
    """Few tables: that what must hold holds, and that the controls fail."""
    truth = rates.true_deviance("claims in pairs")
    found = np.array([rates.covered("claims in pairs", truth, trial) for trial in range(60)])
    held = found.mean(axis=0)
    assert held[0] >= 0.9
    assert held[2] >= 0.8
    assert held[1] < 0.9
    assert held[3] < 0.75


def test_what_rates_must_do_is_told() -> None:
    """Statements hold in all tables, or only where claims are Poisson; controls are detected."""
    first = dict.fromkeys(rates.CASES, (50, 300, 60, 500))
    first["Poisson"] = (50, 100, 60, 500)
    assert rates.judge(first, 1000) == []
    assert rates.judge(first | {"none or many": (124, 300, 60, 500)}, 1000) == [
        "ratio, free: none or many"
    ]
    assert rates.judge(first | {"Poisson": (50, 130, 60, 500)}, 1000) == [
        "ratio, if Poisson: Poisson"
    ]
    missed = dict.fromkeys(rates.CASES, (50, 100, 60, 100))
    assert rates.judge(missed, 1000) == [
        "ratio, if Poisson: not detected where claims are not",
        "control: the mean deviance seen: not detected",
    ]


def test_coverage_of_rates_as_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rates, "QUICK", 40)
    monkeypatch.setattr(rates, "MANY", 100_000)
    code = command.main(["rates", "--quick", "--output", str(tmp_path)])
    text = (tmp_path / "coverage_rates.md").read_text()
    assert text.count("\n") == 2 + len(rates.CASES)
    assert text in capsys.readouterr().out
    assert "**" in text  # of the control
    assert code == 0


# -- several classes beside scikit-learn's models --------------------------------------------------


@pytest.mark.parametrize("data", losses.SEVERAL)
def test_each_row_is_a_test_row_once(data: str) -> None:
    samples = [losses.sample_of(data, split) for split in range(10)]
    tests = np.concatenate([one.X_test for one in samples])
    for one in samples:
        assert len(one.X) + len(one.X_test) == len(tests)
        assert set(one.y) == set(one.y_test) == set(samples[0].y)
    whole = np.concatenate([samples[0].X, samples[0].X_test])
    np.testing.assert_array_equal(np.sort(tests, axis=0), np.sort(whole, axis=0))


def test_four_blobs_are_as_described() -> None:
    """By the rule itself, and by one line less: the best answers without localities are those of
    the rings.
    """
    X, y = losses.four_blobs(20_000, 1)
    center = 2.0 * np.sign(X)
    away, angle = np.hypot(*(X - center).T), np.arctan2(*(X - center).T[::-1]) % (2 * np.pi)
    blob = (center[:, 0] > 0) + 2 * (center[:, 1] > 0)
    inside = away < 1.0
    rule = np.where(inside, ((angle // (np.pi / 2)).astype(int) + blob) % 4, blob)
    assert inside.mean() == pytest.approx(1 / 1.7**2, abs=0.01)
    assert np.mean(rule == y) == pytest.approx(0.925, abs=0.01)
    assert np.mean(blob == y) == pytest.approx(0.925 - 0.675 * inside.mean(), abs=0.01)


def test_several_classes_are_measured_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(losses, "TASKS", {"iris": "several", "wine": "several"})
    path = tmp_path / "losses.csv"
    arguments = ["losses", "--splits", "1", "--results", str(path), "--output", str(tmp_path)]
    assert command.main(arguments) == 0
    found = Lines(path, losses.Entry).records
    assert {(one.method, one.measure) for one in found.values()} == {
        (method, measure)
        for method in losses.METHODS["several"]
        for measure in ("log loss", "accuracy")
    }
    for data in ("iris", "wine"):
        reached = {
            method: found[data, 0, method, "accuracy"].value for method in losses.METHODS["several"]
        }
        assert reached["motlm n=2"] >= reached["logistic C=1"] - 0.07  # one row of 15
    table = (tmp_path / "losses_classes_accuracy.md").read_text()
    assert (
        "| accuracy | logistic C=1 | logistic | boosting | motlm n=0 | motlm n=2 | motlm |" in table
    )
    assert f"| iris | {found['iris', 0, 'logistic C=1', 'accuracy'].value:.4f} |" in table
    capsys.readouterr()
    assert command.main(arguments) == 0  # nothing is left to compute
    assert not capsys.readouterr().err


def test_the_experiment_on_several_classes_reaches_what_was_asked() -> None:
    """Of the results that are kept: accuracies at most half a point below logistic regression's."""
    store = Lines(losses.PLACE, losses.Entry)
    for data in losses.SEVERAL:
        mean = {
            method: np.mean(losses._values(store, data, method, "accuracy"))
            for method in losses.METHODS["several"]
        }
        for method in ("motlm n=0", "motlm n=2", "motlm"):
            assert mean[method] >= mean["logistic C=1"] - 0.005
    assert mean["motlm"] > mean["logistic C=1"] + 0.15  # of four blobs
