"""The comparison of two revisions: what is installed, what the processes answer, which rows come
of it.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(FOLDER))

import against  # noqa: E402
import environments  # noqa: E402
import peers  # noqa: E402
import processes  # noqa: E402
from table import Table  # noqa: E402

sys.path.remove(str(FOLDER))

FAST = {"n_localities": 1, "inverse_temperature": 1.0, "n_starts": 1, "max_iter": 3}
SIDES = [environments.Side(name, Path(name), Path(name)) for name in ("old", "new")]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A project with one commit, which pip cannot install."""
    names = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b.c"}
    names |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b.c"}
    (tmp_path / "words.txt").write_text("some words\n")
    for arguments in (["init"], ["add", "words.txt"], ["commit", "-m", "A file"]):
        subprocess.run(
            ["git", "-C", str(tmp_path), "-c", "commit.gpgsign=false", *arguments],
            check=True,
            capture_output=True,
            env=os.environ | names,
        )
    return tmp_path


def small(folder: Path) -> str:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    path = folder / "small.pickle"
    path.write_bytes(pickle.dumps((X, np.where(X[:, 0] > 0, "yes", "no"))))
    return str(path)


def answer(seconds: float, objective: float = 0.5, localities: int = 2) -> dict[str, float]:
    return {
        "seconds": seconds,
        "objective": objective,
        "localities": localities,
        "inverse_temperature": 4.0,
    }


def test_a_folder_without_history_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="needs a git checkout"):
        environments.installed("HEAD", tmp_path)


def test_a_folder_inside_another_checkout_is_refused(checkout: Path) -> None:
    (checkout / "inner").mkdir()
    with pytest.raises(SystemExit, match="needs a git checkout"):
        environments.installed("HEAD", checkout / "inner")


def test_an_unknown_revision_is_named(checkout: Path) -> None:
    with pytest.raises(SystemExit, match="'nowhere' is not a revision"):
        environments.installed("nowhere", checkout)


def test_what_pip_says_is_passed_on(checkout: Path) -> None:
    with pytest.raises(SystemExit, match="pip could not install HEAD") as caught:
        environments.installed("HEAD", checkout)
    assert "pyproject.toml" in str(caught.value)
    sha = environments.full_name("HEAD", checkout)
    folder = checkout / "build" / "against" / sha
    assert (folder / "source" / "words.txt").read_text() == "some words\n"
    assert f"numpy=={np.__version__}" in (folder / "constraints.txt").read_text().splitlines()
    assert not (folder / "installed.json").exists()  # it is tried again next time


def test_an_installed_revision_is_used_again(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(environments, "install", lambda *given: calls.append(given))
    first = environments.installed("HEAD", checkout)
    assert environments.installed("HEAD", checkout) == first
    assert len(calls) == 1
    monkeypatch.setattr(environments, "versions", lambda: {"numpy": "0.1"})
    environments.installed("HEAD", checkout)
    assert len(calls) == 2  # other packages: another environment


def test_a_process_answers_each_job_and_outlives_none(tmp_path: Path) -> None:
    job = {
        "data": small(tmp_path),
        "estimator": "motlm:LocalMixtureClassifier",
        "parameters": FAST | {"random_state": 0},
        "warm_up": {},
    }
    with processes.Worker(environments.present()) as worker:
        first, second = worker.fit(job), worker.fit(job)
        assert first["objective"] == second["objective"]
        assert first["seconds"] > 0
        assert len(worker.warm) == 1
        ring = worker.fit(job | {"data": [300, 3]})
        assert ring["inverse_temperature"] == 1.0
        process = worker.process
        with pytest.raises(SystemExit, match=r"present tree failed: .*max_iter"):
            worker.fit(job | {"parameters": {"max_iter": -1}})
    assert process.returncode == 0


def test_a_process_that_ends_is_reported(tmp_path: Path) -> None:
    side = environments.Side("silent", Path(sys.executable), tmp_path)
    with processes.Worker(side) as worker, pytest.raises(SystemExit, match="not that of"):
        worker.begin()  # the motlm of another folder
    with processes.Worker(environments.present()) as worker:
        worker.begin()
        worker.process.kill()
        with pytest.raises(SystemExit, match="present tree ended with status"):
            worker.ask({})


def test_the_peak_is_the_highest_value_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "EVERY", 0.001)
    values = iter([1.0, 5.0, 9.0, 4.0])
    enough = processes.Event()

    def look() -> float:
        value = next(values, 2.0)
        if value == 2.0:
            enough.set()
        return value

    assert processes.with_peak(look, lambda: {"waited": enough.wait(10)}) == ({"waited": True}, 9.0)


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux's /proc")
def test_memory_of_a_process_includes_those_it_starts() -> None:
    inner = "import time; data = bytearray(50 << 20); print(1, flush=True); time.sleep(60)"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    with subprocess.Popen([sys.executable, "-c", outer], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            assert processes.resident(process.pid) > 50
            assert 0 < processes.highest(process.pid) < 50
            [child] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(child), 15)
        finally:
            process.kill()
    assert processes.resident(process.pid) == 0


def test_pairs_alternate_and_are_resumed(tmp_path: Path) -> None:
    calls: list[str] = []

    def fit(side: str) -> dict[str, float]:
        calls.append(side)
        return answer(8.0 if side == "old" else 2.0)

    for resume in (False, True):
        table = Table(tmp_path / "a.json", resume)
        found = against.Comparison(table, *SIDES, pairs=3).measure("a fit", 3, fit)
        assert [pair["old"]["seconds"] for pair in found] == [8.0] * 3
    assert calls == ["old", "new", "new", "old", "old", "new"]


def test_rows_have_the_ratio_of_the_medians(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(None, False)
    comparison = against.Comparison(table, *SIDES, pairs=3)
    times = [(8.0, 1.0), (10.0, 2.0), (90.0, 0.5)]
    comparison.show("x", [{"old": answer(a, 0.5), "new": answer(b, 0.4)} for a, b in times], ">= 8")
    assert [row["value"] for row in table.shown] == [10.0, 1.0, 10.0, 0.8]
    assert table.shown[2]["met"] == "yes"
    comparison.show("x", [{"old": answer(3.0), "new": answer(1.0, localities=1)}], ">= 8")
    assert len(table.shown) == 7
    assert "objectives not comparable: localities 2, now 1" in capsys.readouterr().out


def test_peers_that_are_not_installed_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    monkeypatch.setattr(peers, "NAMES", ("steps",))
    monkeypatch.setattr(peers, "plain", lambda name: (X, X[:, 0] + rng.normal(size=80)))
    ours = (peers.MODELS["motlm"][0], FAST)
    monkeypatch.setitem(peers.MODELS, "motlm", ours)
    table = Table(tmp_path / "peers.json", False)
    peers.run(table, False, pairs=1)
    assert 'pip install "motlm[peers]"' in capsys.readouterr().out
    assert [row["name"].strip() for row in table.shown] == [
        "default fit, steps, all cores, s",
        "HistGradientBoosting, s",
        "motlm / HistGradientBoosting",
    ]
    written = json.loads((tmp_path / "peers.json").read_text())
    assert set(written["figures"]["peers steps 0"]) == {"motlm", "HistGradientBoosting"}


def test_all_models_give_rows_with_targets() -> None:
    table = Table(None, False)
    peers.show(table, "x", [{"motlm": 1.0, "EBM": 12.0, "HistGradientBoosting": 0.05}])
    assert [(row["value"], row["met"]) for row in table.shown[-2:]] == [(12.0, "yes"), (20.0, "NO")]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--only", "small"], "small: what to compare with?"),
        (["--of", "HEAD"], "--of: what to compare with?"),
        (["--against", "HEAD", "--pairs", "0"], "--pairs must be at least 1"),
    ],
)
def test_options_that_do_not_fit_together(arguments: list[str], expected: str) -> None:
    done = subprocess.run([sys.executable, str(FOLDER), *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert expected in done.stderr
