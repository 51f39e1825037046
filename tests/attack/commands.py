"""Attack on tables and the command line: a command works, or says in one line what is wrong."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from click.testing import CliRunner, Result

import motlm as library
from motlm.cli._commands import motlm

from . import values
from .chance import Chance
from .corpus import fitted
from .csvs import Made, hostile_table
from .trials import Broken, Kind, within

__all__ = ["COMMANDS", "check_folder", "check_result", "invoke", "known_models"]

CODES = (0, 2, 3)  # success, an error in one line, rows that could not be scored
_SECONDS = 20.0
_FIT: dict[str, tuple[str, ...]] = {
    "--localities": ("0", "1", "2", "auto", "-1", "x", "99999999999"),
    "--task": ("auto", "classification", "regression", "both"),
    "--weights": ("loss", "same", "a", "nothing"),
    "--drop": ("a", "a,c", "", ",", "nothing", "default"),
    "--categories": ("a", "flag,same", "nothing", "default"),
    "--id": ("client", "a", "row", "nothing"),
    "--missing": ("error", "drop", "impute", "guess"),
    "--sealed": ("0.3", "0.5", "0.05", "0.9", "1", "nan", "-1"),
    "--seed": ("0", "1", "4294967295", "4294967296", "-1"),
    "--jobs": ("1", "0", "x"),
    "--title": ("t", "<b>", "\udcff", "\u202e", ""),
    "--delta": ("0.05", "0.5", "1e-300", "0.999999", "0", "nan", "1"),
    "--population": ("cases", "", "\u202e", "{0}", "%s", "x" * 5000),
}
_TARGETS = (*["default"] * 6, *["loss"] * 4, "a", "c", "flag", "same", "client", "none", "")


@cache
def known_models() -> dict[str, bytes]:
    """Model files whose columns some tables have, and one that is none."""
    folder = Path(mkdtemp(prefix="attack-models-"))
    try:
        names = ("table", "table, given", "learned", "regressor", "certified", "any", "cosine")
        made = {name: fitted()[name].save(folder / "m.json").read_bytes() for name in names}
    finally:
        shutil.rmtree(folder)
    return {**made, "no model": b"{}", "cut": made["table"][:500]}


# -- command lines ---------------------------------------------------------------------------------


def hostile_command(chance: Chance, folder: Path, made: Made) -> list[str]:
    """A command with options, of which some do not fit."""
    data = "data.csv"
    if chance.likely(0.05):
        data = chance.pick(("data.txt", "data.dat", "data.gz", "data.parquet", "data.xlsx"))
    if made.data.startswith(b"\x1f\x8b") and chance.likely(0.8):
        data = "data.csv.gz"
    (folder / data).write_bytes(made.data)
    table = "-" if chance.likely(0.05) else str(folder / data)
    name = chance.pick(("fit", "fit", "predict", "predict", "predict", "explain", "certify"))
    name = chance.pick(("report", "other")) if chance.likely(0.12) else name
    arguments = _MAKERS[name](chance, folder, table, made)
    if chance.likely(0.03):
        for step in chance.step():
            arguments.insert(step.whole(0, len(arguments)), _argument(step))
    return arguments


def _argument(chance: Chance) -> str:
    """A text that a shell can hand over."""
    return os.fsdecode(values.text(chance).encode("utf-8", "surrogatepass").replace(b"\0", b""))


def _fit(chance: Chance, folder: Path, table: str, made: Made) -> list[str]:
    target = chance.pick(_TARGETS) if chance.likely(0.9) else chance.pick(made.names)
    arguments = ["fit", table, f"--target={target}", "--time-limit", "0.05s"]
    arguments += ["--localities", chance.pick(("0", "1", "1", "2"))]
    if "client" in made.names and chance.likely(0.9):
        arguments += ["--id", "client"]
    for option in chance.some(list(_FIT), chance.pick((0, 0, 1, 2, 3))):
        for step in chance.step():
            arguments.append(f"{option}={step.pick(_FIT[option])}")
    if chance.likely(0.6):
        arguments += ["--model", str(folder / "model.json")]
    if chance.likely(0.04):
        arguments += ["--report", str(folder / "report.html")]
    if chance.likely(0.1):
        arguments += ["--points", chance.pick((table, str(folder / "nothing.csv")))]
    return [*arguments, *_flags(chance)]


def _flags(chance: Chance) -> list[str]:
    return chance.some(["--json", "--force"])


def _model(chance: Chance, folder: Path) -> str:
    """A model that suits the table in most cases."""
    models = known_models()
    name = "table" if chance.likely(0.6) else chance.pick(list(models))
    chance.note(f"model {name!r}")
    path = folder / "old.json"
    path.write_bytes(models[name])
    return str(path)


def _predict(chance: Chance, folder: Path, table: str, made: Made) -> list[str]:
    arguments = ["predict", _model(chance, folder), table]
    if chance.likely(0.7):
        arguments += ["-o", str(folder / chance.pick(("out.csv", "new/out.csv", "out")))]
    if chance.likely(0.3):
        arguments.append(f"--id={chance.pick((*made.names, 'client', 'row', 'none'))}")
    return [*arguments, *_flags(chance)]


def _explain(chance: Chance, folder: Path, table: str, made: Made) -> list[str]:
    arguments = ["explain", _model(chance, folder), table]
    for option, choices in (
        ("--row", ("0", "0", "1", "5", "999", "-1", "x")),
        ("--case", ("K-0", "K-1", "", "none")),
        ("--wanted", ("0", "1e300", "nan", "-5")),
        ("--fixed", ("a", "c,flag", "none", ",")),
    ):
        if chance.likely(0.9 if option == "--row" else 0.15):
            arguments.append(f"{option}={chance.pick(choices)}")
    return [*arguments, *(["--json"] if chance.likely(0.3) else [])]


def _certify(chance: Chance, folder: Path, table: str, made: Made) -> list[str]:
    arguments = ["certify", _model(chance, folder), table]
    if chance.likely(0.3):
        arguments.append(f"--target={chance.pick(_TARGETS)}")
    named = chance.some(["--delta", "--population"])
    arguments += [f"{option}={chance.pick(_FIT[option])}" for option in named]
    return [*arguments, *(["--save"] if chance.likely(0.5) else []), *_flags(chance)]


def _report(chance: Chance, folder: Path, table: str, made: Made) -> list[str]:
    arguments = ["report", _model(chance, folder), table, "-o", str(folder / "report.html")]
    if chance.likely(0.3):
        arguments.append(f"--title={chance.pick(_FIT['--title'])}")
    return [*arguments, *chance.some(["--include-rows", "--json", "--force"])]


def _other(chance: Chance, folder: Path, table: str, made: Made) -> list[str]:
    nonsense = _argument(chance)
    return chance.pick(
        (
            *(["datasets", "list"], ["datasets", "list", "--json"], ["--version"], ["--help"], []),
            *(["datasets", "fetch", "nothing"], [nonsense], ["fit"], ["predict", table]),
            *(["fit", table], ["predict", table, table], ["explain", "--help"], ["demo", "--x"]),
        )
    )


_MAKERS = {
    "fit": _fit,
    "predict": _predict,
    "explain": _explain,
    "certify": _certify,
    "report": _report,
    "other": _other,
}


# -- what must hold --------------------------------------------------------------------------------


def attempt(chance: Chance, folder: Path) -> str:
    place = folder / "command"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    made = hostile_table(chance)
    arguments = hostile_command(chance, place, made)
    chance.note(" ".join(arguments).replace(str(place), "."))
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    with within(_SECONDS, "the command"):
        result = invoke(arguments, made.data)
    check_result(result)
    check_folder(place, before, result.exit_code)
    if arguments[:1] == ["predict"] and made.rows is not None and result.exit_code in (0, 3):
        _check_lines(place, arguments, result, made.rows)
    name = arguments[0] if arguments and arguments[0] in _MAKERS else "other"
    return f"{_OUTCOMES[result.exit_code]}: {name}"


_OUTCOMES = {0: "accepted", 2: "refused", 3: "accepted, some rows not scored"}


def invoke(arguments: list[str], stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(motlm, arguments, prog_name="motlm", input=stdin)


def check_result(result: Result, codes: tuple[int, ...] = CODES) -> None:
    """An exit code that is documented; of an error, one line."""
    words = result.stderr
    if "Traceback" in words or "is a bug" in words or result.exit_code == 1:
        lines = [line for line in words.splitlines() if line.strip()]
        where = [line for line in lines if line.strip().startswith("File") and "motlm" in line]
        found = [line for line in lines if not line.startswith((" ", "motlm:", "note"))]
        raise Broken(f"{found[-1:]} {where[-1:]}")
    if result.exit_code not in codes:
        raise Broken(f"exit code {result.exit_code}: {words[-200:]!r}")
    errors = sum(line.startswith("Error:") for line in words.splitlines())
    if result.exit_code == 2 and errors != 1 and "Usage:" not in words:
        raise Broken(f"exit code 2 with {errors} lines of errors: {words[-300:]!r}")
    if result.exit_code != 2 and errors:
        raise Broken(f"exit code {result.exit_code} with an error: {words[-300:]!r}")


def check_folder(place: Path, before: dict[str, bytes], code: int) -> None:
    """Inputs are as they were, outputs whole, and nothing else is there."""
    for path in place.rglob("*"):
        if path.is_dir():
            continue
        if path.name.startswith("."):
            raise Broken(f"{path.name} was left behind")
        data = path.read_bytes()
        if before.get(path.name) == data:
            continue
        if code == 2 and path.name in before:
            raise Broken(f"{path.name} was changed by a command that failed")
        _check_whole(path, data)
    missing = [name for name in before if not (place / name).exists()]
    if missing:
        raise Broken(f"{missing} were removed")


def _check_whole(path: Path, data: bytes) -> None:
    if path.suffix == ".json":
        library.load(path)
        return
    end = b"</html>" if path.suffix == ".html" else b"\n"
    if data and not data.endswith(end):
        raise Broken(f"{path.name} is not whole")


def _check_lines(place: Path, arguments: list[str], result: Result, rows: int) -> None:
    """One line for each row of the table."""
    if "-o" in arguments:
        text = Path(arguments[arguments.index("-o") + 1]).read_text(encoding="utf-8")
    else:
        text = result.stdout
    if "--json" in arguments:
        numbers = [json.loads(line)["row"] for line in text.splitlines() if line]
    else:
        before = csv.field_size_limit(2**24)
        try:
            numbers = [int(line["row"]) for line in csv.DictReader(io.StringIO(text, newline=""))]
        finally:
            csv.field_size_limit(before)  # the commands' own reading depends on it
    if numbers != list(range(rows)):
        raise Broken(f"{rows} rows in the table, {len(numbers)} in the output")


def prepare() -> Any:
    os.environ["MOTLM_DATA"] = str(Path(__file__).parent)  # nothing is downloaded
    return known_models()


COMMANDS = Kind("cli", "tables and command lines", attempt, prepare, chunk=20)
