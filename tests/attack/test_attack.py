"""A short run of every attack, with fixed seeds; `make attack` runs long ones."""

from __future__ import annotations

import json
import os
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from . import __main__ as command
from . import files, fits, keel, kills
from .chance import Chance
from .kinds import COUNTS, KINDS
from .page import BEGIN, END, summary, table
from .runner import Account, Attack, run_here
from .strategies import chances, keel_texts, model_files
from .trials import Broken, Finding, Kind, Result, reduce, try_case

ROOT = Path(__file__).parents[2]
SEED = 15
SHORT = {
    "files": 150,
    "keel": 1000,
    "cli": 80,
    "fits": 60,
    "certificates": 8,
    "faults": 40,
    "kills": 2,
}
ours = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_findings(kind: Kind) -> None:
    if kind is kills.KILLS:
        kind = replace(kind, prepare=kills.inputs)  # only what two cases need is run beforehand
    account = run_here(kind, SEED, SHORT[kind.name])
    assert account.tried == SHORT[kind.name]
    assert not account.findings, "\n".join(map(str, account.findings))
    assert len(account.outcomes) > 1, f"all cases ended alike: {account.outcomes}"


# -- the same cases, drawn by hypothesis -----------------------------------------------------------


@ours
@given(chances())
def test_files_drawn_by_hypothesis(
    tmp_path_factory: pytest.TempPathFactory, chance: Chance
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files.attempt(chance, tmp_path_factory.getbasetemp())


@ours
@given(chances())
def test_texts_drawn_by_hypothesis(
    tmp_path_factory: pytest.TempPathFactory, chance: Chance
) -> None:
    keel.check_text(chance, tmp_path_factory.getbasetemp() / "table.dat")


@settings(ours, max_examples=15, phases=[Phase.generate])
@given(chances())
def test_fits_drawn_by_hypothesis(tmp_path_factory: pytest.TempPathFactory, chance: Chance) -> None:
    fits.attempt(chance, tmp_path_factory.getbasetemp())


@settings(ours, max_examples=5)
@given(model_files(), keel_texts())
def test_strategies_give_bytes(model: bytes, text: bytes) -> None:
    assert isinstance(model, bytes)
    assert isinstance(text, bytes)


# -- the attack itself -----------------------------------------------------------------------------


def test_a_seed_gives_the_same_cases() -> None:
    for make in (files.hostile_file, keel.hostile_keel):
        first, second, other = (make(Chance.of(name)) for name in ("1/x/2", "1/x/2", "1/x/3"))
        assert first == second != other
    one, two = (fits.hostile_fit(Chance.of("1/fits/2")) for _ in range(2))
    assert str(one.X) == str(two.X)
    assert repr(one.parameters) == repr(two.parameters)


def test_a_step_that_is_left_out_changes_no_other() -> None:
    def drawn(left_out: frozenset[int]) -> list[float]:
        return [step.real() for step in Chance.of("case", left_out).steps(4)]

    every = drawn(frozenset())
    assert len(every) == 4
    assert drawn(frozenset({1})) == [every[0], *every[2:]]


def broken_by_the_third(chance: Chance, folder: Path) -> str:
    """Fails if its third step is a large number."""
    for step in chance.steps(5):
        value = step.whole(0, 10)
        step.note(str(value))
        if value == 7:
            raise Broken("a seven")
    return "accepted"


def test_findings_are_reduced(tmp_path: Path) -> None:
    kind = Kind("sevens", "tests", broken_by_the_third, lambda: None, chunk=1)
    account = run_here(kind, 0, 40)
    assert 0 < account.outcomes["finding"] < 40
    finding = account.findings[0]
    assert finding.what == "7"
    assert "a seven" in finding.error
    again = try_case(kind, finding.case, tmp_path, frozenset(finding.left_out)).finding
    assert again == finding
    assert reduce(kind, finding, tmp_path) == finding
    assert f"--case {finding.case}" in str(finding)


def test_a_run_on_processes_counts_what_one_process_counts() -> None:
    kind = replace(keel.KEEL, chunk=50)
    attack = Attack([kind], {"keel": 300}, SEED, 2, float("inf"), say=lambda text: None)
    attack.run()
    assert attack.accounts["keel"].outcomes == run_here(kind, SEED, 300).outcomes


def hang_or_die(chance: Chance, folder: Path) -> str:
    what = chance.whole(0, 9)
    if what == 0:
        os._exit(7)
    if what == 1:
        time.sleep(60)
    return "accepted"


def test_cases_that_hang_or_end_the_process_are_findings() -> None:
    kind = Kind("harm", "tests", hang_or_die, lambda: None, chunk=2, patience=1.0)
    attack = Attack([kind], {"harm": 20}, 3, 2, float("inf"), say=lambda text: None)
    attack.run()
    errors = {finding.error for finding in attack.accounts["harm"].findings}
    assert errors == {"hangs", "ended its process"}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "out.json"
    assert command.main(["--counts", "keel=50", "--output", str(place)]) == 0
    assert "keel: 50 tried, 0 findings" in capsys.readouterr().out
    results = json.loads(place.read_text())
    assert results["kinds"]["keel"]["tried"] == 50
    assert "| KEEL texts | 50 |" in table(results)
    assert command.main(["--case", "0/keel/3"]) == 0
    with pytest.raises(SystemExit):
        command.main(["--counts", "kettles=5"])


def test_findings_are_listed_by_cause() -> None:
    account = Account()
    for number in range(9):
        finding = Finding("files", f"0/files/{number}", (), "x", "KeyError: 'a'", "a.py:1, in f")
        account.add(Result("finding", finding))
    (listed,) = account.to_dict()["findings"]
    assert listed["count"] == 9
    assert listed["case"] == "0/files/0"


def test_the_page_shows_the_results_that_are_kept() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    shown = page.split(BEGIN)[1].split(END)[0].strip()
    results = ROOT / "docs" / "attack.json"
    if not results.exists():
        pytest.skip("no long run has been kept yet")
    kept = json.loads(results.read_text(encoding="utf-8"))
    assert shown == summary(kept)
    for name, least in COUNTS.items():
        assert kept["kinds"][name]["tried"] >= least
        assert not kept["kinds"][name]["findings"]
