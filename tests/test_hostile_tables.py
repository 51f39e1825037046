"""Tables that are no tables, and signals at any moment: one line, an exit code, no traceback."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from motlm import LocalMixtureClassifier, TableNotes
from motlm.cli import _dialect, _tables
from motlm.cli._commands import motlm

HEADER = b"age,income,region,default\n"
BOM = b"\xef\xbb\xbf"


def table(n: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).round(3),
            "income": rng.lognormal(1, 0.4, n).round(4),
            "region": rng.choice(["north", "south"], n),
        }
    )
    return frame.assign(default=np.where(frame["income"] + frame["age"] / 40 > 3.7, "yes", "no"))


ROWS = table().to_csv(index=False).encode()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = table(200, 1)
    made = LocalMixtureClassifier(0, inverse_temperature=8.0, n_starts=1, random_state=0)
    made.fit(frame[["age", "income", "region"]], frame["default"])
    made.table_ = TableNotes("default")
    return made.save(tmp_path_factory.mktemp("model") / "m.json")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(motlm, [str(one) for one in arguments], prog_name="motlm")


def commands(model: Path, data: Path) -> dict[str, list[object]]:
    return {
        "certify": ["certify", model, data],
        "report": ["report", model, data, "-o", data.parent / "r.html"],
        "fit": ["fit", data, "--target", "default", "--localities", "0"],
        "predict": ["predict", model, data],
        "explain": ["explain", model, data, "--row", "0"],
        "points": ["fit", data.parent / "good.csv", "--target", "default", "--points", data],
    }


def refused(result: Result, data: Path) -> str:
    """The one line."""
    assert result.exit_code == 2, f"{result.output} {result.exception!r}"
    line = result.stderr.splitlines()[-1]
    assert line.startswith("Error: ")
    assert str(data) in line
    assert not result.stdout
    assert result.stderr.count("Error: ") == 1
    return line


WIDE = ROWS.decode().encode("utf-16")
NOT_TABLES = {
    "empty": (b"", "is empty; give a table"),
    "newlines": (b"\n\n\n", "is empty; give a table"),
    "carriage returns": (b"\r\r\n\r", "is empty; give a table"),
    "spaces": (b"   \n  \n", "is empty; give a table"),
    "BOM": (BOM, "is empty; give a table"),
    "BOM and newline": (BOM + b"\n", "is empty; give a table"),
    "U+2028": ("\u2028".encode(), "is empty; give a table"),
    "U+2028 and lines": ("\u2028\n\u2028\n".encode(), "is empty; give a table"),
    "U+2029": ("\u2029".encode(), "is empty; give a table"),
    "next line": ("\x85".encode(), "is empty; give a table"),
    "no-break space": ("\xa0".encode(), "is empty; give a table"),
    "separators": (b"\x0b\x1c\x1d\x1e", "is empty; give a table"),
    "commas": (b",,,,", "has no header; give a table"),
    "lines of commas": (b",,,,\n,,,,\n", "has no header; give a table"),
    "semicolons": (b";;;\n", "has no header; give a table"),
    "empty quotes": (b'"","",""\n', "has no header; give a table"),
    "one quote": (b'"', "has no header; give a table"),
    "open quote in the header": (b'"' + ROWS, "a quote is never closed; correct it"),
    "open quote": (ROWS + b'"1,2,south,yes\n', "close its quotes"),
    "long open quote": (b'"' + ROWS * 100, "the quote that is never closed"),
    "UTF-16": (WIDE, "save it as UTF-8"),
    "UTF-16 without a mark": (WIDE[2:], "save it as UTF-8"),
    "UTF-16 mark": (b"\xff\xfe", "save it as UTF-8"),
    "UTF-16 mark, big end first": (b"\xfe\xff", "save it as UTF-8"),
    "UTF-32": (ROWS.decode().encode("utf-32"), "save it as UTF-8"),
    "NUL": (b"\0", "UTF-16"),
    "NULs": (b"\0" * 5000, "is not a text file"),
    "NUL in a value": (ROWS.replace(b"north", b"no\0rth\0", 1), "is not a text file"),
    "late NUL": (ROWS * 50 + b"1,\0,south,yes\n", "has a NUL byte (number "),
    "binary": (bytes(range(256)) * 9, "is not a text file"),
    "gzipped": (gzip.compress(ROWS, mtime=0), "is gzipped; give it a name that ends in .gz"),
    "long value": (ROWS + b"1,2," + b"s" * 200_000 + b",yes\n", "200000 characters, more than"),
    "long name": (b"x" * 200_000 + b"," + ROWS, "field larger than field limit"),
    "same names": (b"age,age\n1,2\n", "has the column 'age' more than once; rename"),
    "no names": (b"age,,\n1,2,3\n", "has 2 columns without a name (numbers 2, 3); name them"),
    "wide row": (ROWS + b"1,2,south,yes,5\n", "row 60 has more values than the header has names"),
    "much wider row": (ROWS + b"1,2,south,yes,5,6,7\n", "quote values that contain the delimiter"),
    "not in Windows' code": (ROWS.replace(b"north", b"\x81", 1), "could not be read: 'charmap'"),
    "JSON": (b'{"a": 1}', "looks like JSON, not like a table"),
}
NO_ROWS = {
    "header": HEADER[:-1],
    "header and line end": HEADER,
    "header of Windows": HEADER.replace(b"\n", b"\r\n"),
    "header and empty lines": HEADER + b"\n\n",
    "BOM and header": BOM + HEADER,
}


@pytest.mark.parametrize("name", NOT_TABLES)
def test_not_a_table(name: str, model: Path, tmp_path: Path) -> None:
    content, message = NOT_TABLES[name]
    data = tmp_path / "d.csv"
    data.write_bytes(content)
    (tmp_path / "good.csv").write_bytes(ROWS)
    for command, arguments in commands(model, data).items():
        line = refused(run(*arguments), data)
        assert message in line, command
        assert len(line) < 3000
    packed = tmp_path / "d.csv.gz"
    packed.write_bytes(gzip.compress(content))
    if name != "gzipped":
        assert message in refused(run("predict", model, packed), packed)
    assert not list(tmp_path.glob(".*")), "temporary files are left"


@pytest.mark.parametrize("name", NO_ROWS)
def test_only_a_header(name: str, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_bytes(NO_ROWS[name])
    (tmp_path / "good.csv").write_bytes(ROWS)
    for command, arguments in commands(model, data).items():
        if command == "predict":  # no rows have no predictions, which is no mistake
            done = run(*arguments)
            assert (done.exit_code, done.stderr) == (0, "0 rows\n")
            assert len(done.stdout.splitlines()) == 1
        else:
            assert "has no rows; write" in refused(run(*arguments), data)


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.replace(b"\n", b"\r"),
        lambda rows: rows.replace(b"\n", b"\r\n"),
        lambda rows: rows.replace(b"\n", b"\r\n", 7),
        lambda rows: b"\n\n \n" + rows,
        lambda rows: b",,,\n" + rows,
        lambda rows: rows.replace(b"\n", b",\n"),
        lambda rows: rows.replace(b"age", b'"age"', 1),
        lambda rows: rows.replace(b"default", b'"de\nfault"', 1),
        lambda rows: rows.replace(b"default", "de\u2028fault\x85".encode(), 1),
        lambda rows: rows.replace(b"yes", "y\u2028s".encode(), 1),
        lambda rows: rows.replace(b"yes", b'"y\r\n\ns"'),
    ],
)
def test_no_row_is_lost(change: Callable[[bytes], bytes], model: Path, tmp_path: Path) -> None:
    """Whatever the ends of lines, and whatever stands in the header."""
    content = change(ROWS)
    (tmp_path / "d.csv").write_bytes(content)
    done = run("predict", model, tmp_path / "d.csv", "--json")
    assert done.exit_code == 0, done.output
    found = [json.loads(line)["prediction"] for line in done.stdout.splitlines()]
    (tmp_path / "good.csv").write_bytes(ROWS)
    right = run("predict", model, tmp_path / "good.csv", "--json").stdout.splitlines()
    assert len(found) == 60
    assert found == [json.loads(line)["prediction"] for line in right]


def test_many_columns(model: Path, tmp_path: Path) -> None:
    """A header of more than the 64 KiB that the delimiter is found by."""
    frame = table()
    wide = pd.DataFrame(1, index=frame.index, columns=[f"column {j}" for j in range(9000)])
    pd.concat([wide, frame], axis=1).to_csv(tmp_path / "d.csv", index=False)
    done = run("predict", model, tmp_path / "d.csv")
    assert (done.exit_code, done.stderr) == (0, "60 rows\n")


def test_a_column_without_a_name(tmp_path: Path) -> None:
    """Such as the index that pandas writes: it cannot be named in --drop."""
    table().to_csv(tmp_path / "d.csv")
    line = refused(run("fit", tmp_path / "d.csv", "--target", "default"), tmp_path / "d.csv")
    assert "has a column without a name (number 1); name it in the header, or delete it" in line


def test_names_cannot_write_to_the_terminal(model: Path, tmp_path: Path) -> None:
    """Control characters of names and values are shown, not obeyed."""
    data = tmp_path / "d.csv"
    data.write_bytes(b"age,\x1b[2J\x1b]0;title\x07,\xe2\x80\xae\n1,2,3\n")
    printed = run("fit", data, "--target", "wealth").stderr
    assert "\\x1b[2J\\x1b]0;title\\x07, \\u202e" in printed
    assert printed.replace("\n", "").isprintable()


def test_a_line_without_end(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (_dialect, _tables):
        monkeypatch.setattr(module, "LONGEST_LINE", 5000)
    data = tmp_path / "d.csv"
    data.write_bytes(ROWS + b"1," * 600_000)
    assert "a line of more than 5000" in refused(run("predict", model, data), data)
    data.write_bytes(b"a," * 600_000)
    assert "a line of more than 5000" in refused(run("predict", model, data), data)


def test_files_that_grow(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("motlm.cli._tables._SMALL", 2**16)
    data = tmp_path / "d.csv.gz"
    data.write_bytes(gzip.compress(ROWS + b"1,2,south,yes\n" * 300_000))
    assert "unpacks to more than 200 times its size" in refused(run("predict", model, data), data)
    data.write_bytes(gzip.compress(ROWS)[:-9])
    assert "it is damaged, or not gzipped" in refused(run("predict", model, data), data)
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/workbook.xml", " " * 10**7)
    data = tmp_path / "d.xlsx"
    data.write_bytes(book.getvalue())
    assert "unpacks to more than 200 times its size" in refused(run("predict", model, data), data)


def test_no_memory(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("motlm.cli._predict.read_for", fill)
    (tmp_path / "d.csv").write_bytes(ROWS)
    done = run("predict", model, tmp_path / "d.csv")
    assert done.exit_code == 2
    assert done.stderr == "Error: there is not enough memory for this table, or this model.\n"


# -- signals and pipes -----------------------------------------------------------------------------

posix = pytest.mark.skipif(os.name != "posix", reason="needs signals and pipes of POSIX")


def start(*arguments: object, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "motlm.cli", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen(command, **pipes)


# Python takes some hundredths of a second to start, in which it answers as it likes: by an end
# without a line, or by a traceback. So the delay is counted from motlm's own first line.
READY = "from motlm.cli import _signals, main\n_signals.begin()\nprint('ready', flush=True)\nmain()"


@posix
def test_interrupted_at_any_moment(model: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # nobody writes to it, so that the command waits
    command = [sys.executable, "-c", READY, "predict", str(model), str(tmp_path / "pipe")]
    rng = random.Random(0)
    for delay in [0.0, *(rng.uniform(0.0, 2.0) for _ in range(3))]:
        with subprocess.Popen(
            [*command, "-o", str(tmp_path / "o.csv")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as waiting:
            assert waiting.stdout.readline() == "ready\n"
            time.sleep(delay)
            waiting.send_signal(signal.SIGINT)
            out, printed = waiting.communicate()
        assert (waiting.returncode, out, printed) == (130, "", "motlm: interrupted\n"), delay
    assert sorted(one.name for one in tmp_path.iterdir()) == ["pipe"]


@posix
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_temporary_files_are_removed(name: str, code: int, model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    with start(
        *("predict", model, "-", "-o", tmp_path / "o.csv"),
        stdin=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
    ) as waiting:
        while not list(folder.iterdir()):  # the copy of standard input
            assert waiting.poll() is None, waiting.stderr.read()
            time.sleep(0.05)
        waiting.send_signal(getattr(signal, name))
        waiting.wait()
        printed = waiting.stderr.read()
    assert waiting.returncode == code
    assert printed == ("motlm: interrupted\n" if name == "SIGINT" else "")
    assert not list(folder.iterdir())
    assert not (tmp_path / "o.csv").exists()


STOP = "signal.raise_signal(signal.SIGINT)"
STAGES = {
    "imports": (f"_signals.begin()\n{STOP}\nprint('no')", 130, "motlm: interrupted\n"),
    "imports that swallow everything": (
        f"_signals.begin()\ntry:\n    {STOP}\nexcept BaseException:\n    print('no')",
        130,
        "motlm: interrupted\n",
    ),
    "a finalizer": (
        f"class Loud:\n    def __del__(self):\n        {STOP}\n"
        "_signals.begin()\n_signals.work()\ntry:\n    Loud()\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    sys.exit(5)",
        5,
        "",
    ),
    "the end": (
        f"_signals.begin()\n_signals.work()\n_signals.end()\n{STOP}\nsys.exit(3)",
        3,
        "",
    ),
    "ignored": (  # as with nohup, or in the background of a script
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n_signals.begin()\n_signals.work()\n"
        f"{STOP}\n_signals.end()\nsys.exit(4)",
        4,
        "",
    ),
    "a library that turns it into an error": (
        "from motlm.cli import _commands, main\n"
        f"def fail(*_, **__):\n    try:\n        {STOP}\n    except KeyboardInterrupt:\n"
        "        raise ImportError('numpy failed') from None\n"
        "_commands.motlm.commands['demo'].callback = fail\n"
        "sys.argv = ['motlm', 'demo']\nmain()",
        130,
        "motlm: interrupted\n",
    ),
}


def test_the_entry_point_is_tiny() -> None:
    """Nothing that takes long is imported before it can answer Ctrl-C."""
    code = (
        "import sys, motlm.cli\nprint(*({'numpy', 'scipy', 'sklearn', 'click'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_public_names_come_when_asked_for() -> None:
    code = (
        "import motlm\n"
        "assert motlm.certificates.certify and motlm.errors.MotlmError is motlm.MotlmError\n"
        "assert {*motlm.__all__} <= {*dir(motlm)}\n"
        "assert not hasattr(motlm, 'nonsense') and not hasattr(motlm, '_nonsense')\n"
        "from motlm import *\nassert LocalMixtureClassifier is motlm.LocalMixtureClassifier\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@posix
@pytest.mark.parametrize("stage", STAGES)
def test_stages(stage: str) -> None:
    code, expected, printed = STAGES[stage]
    head = "import signal, sys, time\nfrom motlm.cli import _signals\n"
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (expected, "", printed)


@posix
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--help | true", 141),
        ("predict {model} {data} | head -1", 141),
        ("predict {model} {data} > /dev/full", 2),
        ("predict {model} {data} >&-", 2),
        ("explain {model} {data} 2>&-", 2),
    ],
)
def test_outputs_that_end(words: str, code: int, model: Path, tmp_path: Path) -> None:
    if "/dev/full" in words and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    table(60_000 if "head" in words else 60).to_csv(tmp_path / "d.csv", index=False)
    command = f"{sys.executable} -m motlm.cli {words.format(model=model, data=tmp_path / 'd.csv')}"
    script = f"set -o pipefail; {command}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    if code == 2 and "2>" not in words:
        [line] = done.stderr.splitlines()
        assert line.startswith("Error: ")
