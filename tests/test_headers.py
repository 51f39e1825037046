"""Tables without a row of names, and rows of names that look like data."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from motlm.cli._commands import motlm
from motlm.cli._errors import TableError
from motlm.cli._tables import open_table, read_text

FAST = ["--localities", "0", "--local-models", "linear"]

DATA = {
    "numbers": "5.1,3,1\n4.9,2,0\n",
    "whole numbers": "5,3,1\n4,2,0\n",
    "decimal commas": "5,1;3,5\n4,9;3,0\n",
    "negative numbers and a missing one": "-5,,1\n4,2,0\n",
    "categories that repeat": "male,22,yes\nfemale,31,no\nmale,25,no\n",
    "texts alone that repeat": "a,x\nb,y\na,y\n",
    "an ID and decimals": "c17,35.2,4\nc18,22.1,3\n",
}
NAMES = {
    "names": "age,sex\n5,m\n4,f\n",
    "one name above numbers": "male,yes\n1,yes\n2,no\n",
    "years": "country,2019,2020\nfr,1,2\nde,3,4\n",
    "names of pandas": "0,1,2\n5,4,3\n3,4,6\n",
    "names from 1": "1,2\n5,4\n3,4\n",
    "texts alone": "name,kind\na,x\nb,y\n",
    "a header alone": "age,sex\n",
    "numbers above texts": "2019,kind\na,x\nb,y\n",
}


def read(text: str, folder: Path, header: bool | None = None) -> pd.DataFrame:
    (folder / "t.csv").write_text(text)
    with open_table(folder / "t.csv", header) as source:
        return read_text(source)


@pytest.mark.parametrize("name", DATA)
def test_a_first_row_of_data_is_asked_about(name: str, tmp_path: Path) -> None:
    text = DATA[name]
    with pytest.raises(TableError, match=r"the first row looks like data .* use --no-header"):
        read(text, tmp_path)
    frame = read(text, tmp_path, False)
    assert list(frame.columns) == [f"c{j + 1}" for j in range(frame.shape[1])]
    assert len(frame) == len(text.splitlines())
    named = read(text, tmp_path, True)
    assert list(named.columns) == frame.iloc[0].tolist()
    assert len(named) == len(frame) - 1


@pytest.mark.parametrize("name", NAMES)
def test_names_are_not_taken_for_data(name: str, tmp_path: Path) -> None:
    frame = read(NAMES[name], tmp_path)
    assert len(frame) == len(NAMES[name].splitlines()) - 1


def test_equal_numbers_are_no_longer_columns_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="looks like data"):
        read("1.5,1.5\n2.5,3.5\n", tmp_path)


def test_sheets(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    place = tmp_path / "t.xlsx"
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]})
    frame.to_excel(place, header=False, index=False)
    with open_table(place) as source, pytest.raises(TableError, match="looks like data"):
        read_text(source)
    with open_table(place, False) as source:
        assert read_text(source).to_numpy().tolist() == [["1.5", "x"], ["2.5", "y"]]
        assert source.description == "Excel, first sheet, no header"
    for index in (True, False):
        frame.to_excel(place, index=index)
        with open_table(place) as source:
            assert list(read_text(source).columns)[-2:] == ["a", "b"]


def test_formats_with_names(tmp_path: Path) -> None:
    place = tmp_path / "t.parquet"
    place.write_bytes(b"PAR1")
    with pytest.raises(TableError, match=r"Parquet files hold the names .* leave out --no-header"):
        open_table(place, False).__enter__()


def run(*arguments: Any, code: int = 0, stdin: bytes | None = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = [str(one) for one in arguments]
        result = CliRunner().invoke(motlm, given, prog_name="motlm", input=stdin)
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def test_all_commands_read_tables_without_names(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 2)).round(4))
    frame["kind"] = rng.choice(["x", "y"], 200)
    frame["late"] = np.where(frame[0] + rng.normal(size=200) > 0, "yes", "no")
    table, later = tmp_path / "t.csv", tmp_path / "later.csv"
    frame[:150].to_csv(table, header=False, index=False)
    frame[150:].to_csv(later, header=False, index=False)
    model, fit = tmp_path / "m.json", ["--target", "c4", *FAST, "--model"]
    result = run("fit", table, *fit, model, code=2)
    assert "the first row looks like data" in result.stderr
    result = run("fit", table, *fit, model, "--no-header")
    assert "150 rows, 4 columns (comma-separated, utf-8, no header)" in result.stderr
    assert json.loads(model.read_text())["inputs"]["names"] == ["c1", "c2", "c3"]
    for command in ("predict", "evaluate", "certify", "explain", "report"):
        more = {"explain": ["--row", "3"], "report": ["-o", tmp_path / "r.html"]}.get(command, [])
        refused = run(command, model, later, *more, code=2)
        assert "the first row looks like data" in refused.stderr, command
        run(command, model, later, "--no-header", *more)
    stdin = run("predict", model, "-", "--no-header", stdin=later.read_bytes())
    assert len(stdin.stdout.splitlines()) == 51


def _incomes(path: Path, write: Any, delimiter: str = ",") -> str:
    lines = [delimiter.join([write(500 + 37 * i), "ab"[i % 2], str(i % 2)]) for i in range(80)]
    path.write_text("\n".join([delimiter.join(["income", "town", "y"]), *lines]) + "\n")
    return str(path)


def test_separators_of_thousands_are_not_decimal_commas(tmp_path: Path) -> None:
    fit = ["--target", "y", "--task", "classification", "--localities", "0"]
    run = CliRunner().invoke
    thousands = _incomes(tmp_path / "t.csv", lambda v: f'"{v:,}"')
    found = run(motlm, ["fit", thousands, *fit])
    assert found.exit_code != 0
    assert "column 'income' has '1,018': is the comma between thousands" in found.output
    model = str(tmp_path / "model.json")
    plain = _incomes(tmp_path / "p.csv", str)
    assert run(motlm, ["fit", plain, *fit, "--model", model]).exit_code == 0
    found = run(motlm, ["predict", model, thousands])
    assert found.exit_code != 0
    assert "between thousands" in found.output
    target = run(motlm, ["fit", thousands, "--target", "income", "--localities", "0"])
    assert target.exit_code != 0
    assert "between thousands" in target.output
    assert run(motlm, ["fit", thousands, *fit, "--drop", "income"]).exit_code == 0
    for name, write, delimiter in (
        ("s.csv", lambda v: f"{v / 1000:.3f}".replace(".", ","), ";"),
        ("d.csv", lambda v: '"' + f"{v / 7:.2f}".replace(".", ",") + '"', ","),
    ):
        found = run(motlm, ["fit", _incomes(tmp_path / name, write, delimiter), *fit])
        assert found.exit_code == 0, found.output
        assert "decimal commas" in found.output
