"""The experiments' command: records kept as they come, runs that go on, tables and figures from them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from joblib import Parallel, delayed

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from experiments import __main__ as command  # noqa: E402
from experiments import figures, methods, plan, published, run, tables  # noqa: E402
from experiments.store import Key, Record, Store  # noqa: E402

matplotlib.use("Agg")


def record(
    data: str = "stock", method: str = "motlm auto", split: int = 0, test: float = 0.8, preparation: str = "paper"
) -> Record:
    return Record(data, preparation, method, split, 0.9, 0.85, test, 2, "lambda'=4 n=2", 0.1, 0.2, 1.5, "versions, with a comma")


def test_store_keeps_every_record(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    store = Store(path)
    written = [record(split=i, test=0.1 * i + 1e-17) for i in range(3)] + [replace(record("banana"), gibbs_risk=None, core=None)]
    for one in written:
        store.add(one)
    assert list(Store(path).records.values()) == written
    assert Store(path).missing([one.key for one in written] + [Key("stock", "paper", "new", 1)]) == [
        Key("stock", "paper", "new", 1)
    ]


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
    text = tables.real(store, "regression")
    assert "0.805 ± 0.005" in text
    assert "0.600 ± 0.000 (2)" in text  # fewer than ten splits are said
    assert "+0.085 (9/0/1)" in text
    assert "| 0.75 |" in text
    assert "0.805" in tables.peers(store)
    for i in range(10):
        store.add(record(method="motlm n=2", split=i, test=0.8))
    assert "| 0.805 ± 0.005 | yes | 0.800 ± 0.000, n=2 | yes | 0.85 | no |" in tables.verdicts(store)
    store.add(replace(record(method="motlm n=3"), chosen="lambda'=1 n=2"))
    assert "In 1 of 11 fits" in tables.real(store, "regression")
    store.add(record(method="EBM"))
    assert "0.800 (1)" in tables.peers(store)
    assert tables.paired([], [], 1.0) == ""


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
    keys = [Key("stock", "paper", method, i) for i in range(3) for method in ("protocol n=1", "motlm auto")]
    monkeypatch.setattr(run, "compute", lambda key: record(method=key.method, split=key.split))
    run.complete(store, keys, 1, protocol_hours=-1.0)
    assert {key.method for key in store.records} == {"motlm auto"}
    run.complete(store, keys, 1, protocol_hours=1e-12)
    assert "3 records of the paper's protocol left out: --protocol-hours 1e-12 is over" in capsys.readouterr().err


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
    """A fit that Ctrl-C stops hands back its best model so far; that is not what the table is about."""
    code = f"""
        import _thread, threading, sys
        sys.path.insert(0, {str(ROOT)!r})
        from pathlib import Path
        from experiments import run
        from experiments.store import Key, Store
        threading.Timer(0.7, _thread.interrupt_main).start()
        try:
            run.complete(Store(Path({str(tmp_path / "r.csv")!r})), [Key("german", "sound", "motlm auto", 0)], 1, 0.0)
        except KeyboardInterrupt:
            print("stopped")
    """
    environment = {**os.environ, "MOTLM_DATA": str(shared_data)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "stopped\n", done.stderr
    assert not (tmp_path / "r.csv").exists()


def test_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list", "--results", str(tmp_path / "none.csv")]) == 0
    said = capsys.readouterr().out
    assert "table10" in said
    assert "figure11" in said
    assert "(0 of" in said


def test_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(key: Key) -> Record:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "compute", interrupted)
    assert command.main(["table5", "--splits", "1", "--results", str(tmp_path / "r.csv"), "--output", str(tmp_path)]) == 130
    assert "the same command goes on" in capsys.readouterr().err


@pytest.fixture
def data(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MOTLM_DATA", str(shared_data))
    methods.parts_of.cache_clear()
    return shared_data


def test_a_table_from_nothing_for_any_number_of_jobs(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = []
    with monkeypatch.context() as elsewhere:  # workers that were started with another setting
        elsewhere.setenv("MOTLM_DATA", str(tmp_path))
        Parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(4))
    for jobs in ("1", "2"):
        path = tmp_path / f"{jobs}.csv"
        arguments = ["table6", "--splits", "1", "--protocol-hours", "0", "--jobs", jobs]
        assert command.main([*arguments, "--results", str(path), "--output", str(tmp_path)]) == 0
        found = Store(path).records
        assert len(found) == 8
        scores.append({key: (one.train, one.valid, one.test, one.core, one.chosen) for key, one in found.items()})
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


def test_cases_are_drawn_anew_where_the_authors_draws_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTLM_DATA", str(tmp_path))
    methods.parts_of.cache_clear()
    one = methods.compute(Key("reg_case2", "recipe", "least squares", 0))
    with pytest.raises(FileNotFoundError, match=r"no .*reg_case2\.csv"):
        methods.compute(Key("reg_case2", "none", "least squares", 0))
    assert plan.learned("reg", 1)[0].preparation == "recipe"
    assert abs(one.test) < 0.1
    methods.parts_of.cache_clear()


@pytest.mark.parametrize("name", ["figure1", "figure2", "figure3", "figure4", "figure6", "figure7", "figure8"])
def test_figures_are_drawn(data: Path, tmp_path: Path, name: str) -> None:
    store = Store(tmp_path / "results.csv")
    for n in (1, 2):
        store.add(replace(record("clf_case1", f"motlm known {n}", preparation="none")))
    assert figures.draw(name, store, tmp_path).stat().st_size > 10_000


def test_sampled_radii_agree_with_the_exact_value() -> None:
    from motlm.vicinity import upsilon

    setting = figures.QMC_SETTINGS[4]
    d, distance, eps, shape, rate = setting
    exact = float(upsilon(np.array([distance]), d, eps, shape, rate)[0])
    random, quasi = (figures.sampled(*setting, 60, 200, kind, 0) for kind in (False, True))
    assert random.mean() == pytest.approx(exact, abs=4 * random.std() / np.sqrt(200))
    assert quasi.std() < 0.4 * random.std()
