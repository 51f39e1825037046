"""KEEL's format and its broken files, downloads from a server of our own, the recipes."""

from __future__ import annotations

import builtins
import hashlib
import io
import os
import random
import threading
import time
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from motlm import datasets
from motlm.datasets import (
    KEEL,
    KeelFormatError,
    _keel,
    load_keel,
    load_published,
    make_clf_case1,
    make_clf_case2,
    make_reg_case1,
    make_reg_case2,
    make_ringnorm,
    make_twonorm,
    read_keel,
)
from motlm.datasets._download import member_of_zip
from motlm.errors import InputError

GOOD = """@relation clients
@attribute Age integer [18, 99]
@attribute 'Yearly income' real[0.0, 1e6]
@attribute Region {north, south,'far away, east'}
@attribute Default {yes, no}
@inputs Age, 'Yearly income', Region
@outputs Default
% a comment

@data
31, 1200.5, north, no
?, 2e3, <null>, yes

40.0,-.5,'far away, east',no
"""


def written(tmp_path: Path, text: str | bytes, name: str = "clients.dat") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_what_a_file_says(tmp_path: Path, ends: str, mark: str) -> None:
    table = read_keel(written(tmp_path, mark + GOOD.replace("\n", ends)))
    assert table.relation == "clients"
    assert [one.kind for one in table.attributes] == ["integer", "real", "nominal", "nominal"]
    assert table.attributes[1].range == (0.0, 1e6)
    assert table.attribute("Region").levels == ("north", "south", "far away, east")
    assert (table.inputs, table.outputs) == (("Age", "Yearly income", "Region"), ("Default",))
    np.testing.assert_array_equal(table.column("Age"), [31.0, np.nan, 40.0])
    np.testing.assert_array_equal(table.column("Yearly income"), [1200.5, 2000.0, -0.5])
    assert list(table.column("Region")) == ["north", None, "far away, east"]


def test_inputs_and_outputs_may_be_left_out(tmp_path: Path) -> None:
    lines = [line for line in GOOD.split("\n") if not line.startswith(("@inputs", "@outputs"))]
    table = read_keel(written(tmp_path, "\n".join(lines)))
    assert (table.inputs, table.outputs) == (("Age", "Yearly income", "Region"), ("Default",))
    lines = [
        line.replace("@inputs Age,", "@input")
        for line in GOOD.split("\n")
        if not line.startswith("@outputs")
    ]
    assert read_keel(written(tmp_path, "\n".join(lines))).outputs == ("Age", "Default")


BROKEN = {
    "no @data": (GOOD.split("@data")[0], "line 9: the file ends without @data"),
    "no rows": (GOOD.split("31,")[0], "line 10: no rows after @data"),
    "empty": ("", "the file is empty"),
    "too few values": (
        GOOD.replace("31, 1200.5,", "31,"),
        "line 11: expected 4 values, one for each @attribute; got 3",
    ),
    "too many values": (
        GOOD.replace("31,", "31, 31,"),
        "line 11: expected 4 values, one for each @attribute; got 5",
    ),
    "unknown level": (
        GOOD.replace("north, no", "west, no"),
        "line 11: 'west' is none of the 3 levels that 'Region' is declared",
    ),
    "not a number": (
        GOOD.replace("1200.5", "much"),
        "line 11: expected a finite number for 'Yearly income'; got 'much'",
    ),
    "empty value": (
        GOOD.replace("1200.5", ""),
        "line 11: expected a finite number for 'Yearly income'; got ''",
    ),
    "nan": (GOOD.replace("1200.5", "nan"), "line 11: expected a finite number"),
    "infinite": (GOOD.replace("1200.5", "1e999"), "line 11: expected a finite number"),
    "underscore": (GOOD.replace("1200.5", "1_200"), "line 11: expected a finite number"),
    "not an integer": (
        GOOD.replace("31,", "31.5,"),
        "line 11: expected an integer for 'Age'; got '31.5'",
    ),
    "binary": (GOOD.encode() + b"\0\1\2", "line 15: a NUL byte"),
    "encoding": (
        GOOD.encode().replace(b"north, no", b"n\xf8rth, no"),
        r"line 11: byte 0xf8 at position 14 is not utf-8;",
    ),
    "type": (
        GOOD.replace("integer [18, 99]", "date"),
        "line 2: attribute 'Age' has type 'date'; expected real, integer",
    ),
    "range": (
        GOOD.replace("[18, 99]", "[18, old]"),
        "line 2: expected a finite number for 'Age'; got 'old'",
    ),
    "no name": (
        GOOD.replace("@attribute Age integer [18, 99]", "@attribute"),
        "line 2: @attribute without a name",
    ),
    "twice": (
        GOOD.replace("'Yearly income' real", "Age real"),
        "line 3: attribute 'Age' is declared twice",
    ),
    "open levels": (
        GOOD.replace("{yes, no}", "{yes, no"),
        "line 5: the levels of attribute 'Default' do not end with a brace",
    ),
    "same levels": (
        GOOD.replace("{yes, no}", "{no, no}"),
        "line 5: attribute 'Default' has an empty or a repeated level",
    ),
    "no levels": (
        GOOD.replace("{yes, no}", "{}"),
        "line 5: attribute 'Default' has an empty or a repeated level",
    ),
    "strange line": (
        GOOD.replace("@relation", "relation"),
        "line 1: expected @relation, @attribute, .* got 'relation clients'",
    ),
    "strange input": (
        GOOD.replace("@inputs Age", "@inputs Wage"),
        "line 6: @inputs names 'Wage', which no @attribute above",
    ),
    "input twice": (
        GOOD.replace("@inputs Age", "@inputs Region, Age"),
        "line 6: @inputs names an attribute twice",
    ),
    "in and out": (
        GOOD.replace("@outputs Default", "@outputs Age"),
        "line 10: 'Age' is both in @inputs and in @outputs",
    ),
    "beside @data": (
        GOOD.replace("@data\n", "@data "),
        "line 10: expected the rows below @data, not beside it",
    ),
    "inputs twice": (
        GOOD.replace("@outputs", "@inputs Age\n@outputs"),
        "line 7: @inputs occurs twice in the header",
    ),
    "no output": (
        GOOD.replace("@outputs Default", "").replace("Region\n", "Region, Default\n"),
        "every attribute is an input",
    ),
    "missing level": (
        GOOD.replace("{yes, no}", "{yes, ?}"),
        "line 5: attribute 'Default' has a level that stands for a missing",
    ),
    "a quote behind a space": (
        GOOD.replace("north, no", "north, 'no"),
        'line 11: values that cannot be separated, from "\'no" on: a quote is not closed',
    ),
    "relation twice": ("@relation x\n@relation y\n", "line 2: @relation occurs twice"),
    "no attributes": ("@relation x\n@data\n1\n", "line 2: @data without an @attribute above it"),
    "quotes": (
        GOOD.replace("'far away, east',no", "'far away, east,no"),
        "line 14: values that cannot be separated",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_files_are_named_with_the_line(tmp_path: Path, what: str) -> None:
    text, message = BROKEN[what]
    with pytest.raises(KeelFormatError, match=message) as caught:
        read_keel(written(tmp_path, text))
    assert "clients.dat" in str(caught.value)


def test_a_line_of_100_mb_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "long.dat"
    with path.open("wb") as stream:
        stream.write(GOOD.encode())
        for _ in range(100):
            stream.write(b"1," * 2**19)
    with pytest.raises(KeelFormatError, match="line 15: the line has more than 1048576 bytes"):
        read_keel(path)


def test_any_bytes_parse_or_say_why(tmp_path: Path, rng: np.random.Generator) -> None:
    """Bytes changed, dropped, doubled and swapped for the format's own words: a table comes, or a
    KeelFormatError.
    """
    words = [
        b"@data",
        b"@attribute",
        b"{",
        b"}",
        b",",
        b"'",
        b'"',
        b"\n",
        b"\r",
        b"?",
        b"\xff",
        b"[",
        b"1e9",
        b"%",
        b"real",
        b"\0",
    ]
    outcomes = {"read": 0, "refused": 0}
    for _ in range(3000):
        content = bytearray(GOOD.encode())
        for _ in range(rng.integers(1, 3)):
            at, size = int(rng.integers(len(content))), int(rng.integers(0, 8))
            kind = rng.integers(4)
            if kind == 0:
                content[at] = rng.integers(256)
            elif kind == 1:
                del content[at : at + size]
            elif kind == 2:
                content[at:at] = words[rng.integers(len(words))]
            else:
                content[at:at] = content[at : at + 20 * size]
        try:
            table = read_keel(written(tmp_path, bytes(content)))
            assert len({len(column) for column in table.columns}) == 1
            assert set(table.inputs).isdisjoint(table.outputs)
            outcomes["read"] += 1
        except KeelFormatError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 100


def test_tabs_quotes_and_signs(tmp_path: Path) -> None:
    """Tabs after keywords, quotes inside others, a level that begins like a comment, a name with
    quotes in it.
    """
    text = """\ufeff% about
@relation\tx
@attribute\tkind {"it's, so", %y, 'b'}
@attribute rock'n' real
@data
"it's, so", 1
%y, 2
'b', 3
"""
    table = read_keel(written(tmp_path, text))
    assert list(table.columns[0]) == ["it's, so", "%y", "b"]
    assert table.attributes[1].name == "rock'n'"
    with pytest.raises(KeyError, match=r"no attribute .*zzz.*there are .*kind"):
        table.column("zzz")
    with pytest.raises(LookupError, match="unknown encoding: latin-99"):
        read_keel(written(tmp_path, text), encoding="latin-99")


def test_another_encoding(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD.replace("north", "nørd").encode("latin-1"))
    assert read_keel(path, encoding="latin-1").column("Region")[0] == "nørd"


@pytest.mark.parametrize("one", KEEL, ids=lambda one: one.name)
def test_the_papers_sets(one: datasets.KeelSet, shared_data: Path) -> None:
    bunch = load_keel(one.name, data_home=shared_data)
    frame = load_keel(one.title, data_home=shared_data, as_frame=True)
    assert bunch.data.shape == frame.data.shape == (len(bunch.target), len(bunch.feature_names))
    assert (bunch.classes is not None) == (one.task == "classification")
    assert str(bunch.data.shape[0]) in bunch.DESCR
    if bunch.classes is None:
        np.testing.assert_array_equal(bunch.target, frame.target)
        assert bunch.data.dtype == float
    else:
        assert set(bunch.target) == set(frame.target) == set(bunch.classes)
        assert len(bunch.classes) == 2


def test_names_and_missing_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"no data set 'iris'; there are banana, wdbc"):
        load_keel("iris")
    with pytest.raises(
        FileNotFoundError,
        match=r"no stock\.dat in .*Put stock\.dat into a folder and name it by data_home=",
    ):
        load_keel("stock", data_home=tmp_path, download_if_missing=False)
    with pytest.raises(ValueError, match="no synthetic case 'case3'; there are clf_case1"):
        load_published("case3")
    with pytest.raises(
        FileNotFoundError, match=r"clf_case1\.csv.*or draw a new set with make_clf_case1"
    ):
        load_published("clf_case1", data_home=tmp_path)
    monkeypatch.delenv("MOTLM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert datasets.data_folder() == tmp_path / "motlm"
    monkeypatch.setenv("MOTLM_DATA", str(tmp_path / "mine"))
    assert datasets.data_folder() == tmp_path / "mine"


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"@attribute a{i} real\n" for i in range(50_000)),
        "".join(f"@attribute a{i} real\n" for i in range(30_000))
        + f"@inputs {', '.join(f'a{i}' for i in range(29_999))}\n@data\n",
        "@attribute a" + " " * 10**6 + "real\n",
        "@attribute a real [0" + " " * 10**6 + "\n",
        "@attribute a real [" + "," * 10**6 + "\n",
        "@attribute a " + "{" * 10**6 + "\n",
        "@attribute a {" + "}{" * (10**6 // 2) + "\n",
        "@attribute a {" + ", ".join(f"'l{i}'" for i in range(10**5)) + "}\n",
        "@attribute a {x" + ", 'x" * (10**6 // 4) + "}\n",
        "@attribute a {x, " + " " * 10**6 + "'x}\n",
        "@attribute '" + "a" * 10**6 + "\n",
        "@attribute a {" + "'x' " * (10**6 // 4) + "}\n",
        "% \n" * 300_000,
        "@relation" + " @relation" * 10**5 + "\n",
    ],
    ids=lambda text: f"{text[:16]}..".replace("\n", " "),
)
def test_headers_are_read_in_linear_time(text: str, tmp_path: Path) -> None:
    """A megabyte takes a second; what is quadratic, hours."""
    began = time.process_time()
    with pytest.raises(KeelFormatError, match=r"clients\.dat, line \d+: "):
        read_keel(written(tmp_path, text))
    assert time.process_time() - began < 20


def test_many_columns_are_found_in_linear_time(tmp_path: Path) -> None:
    names = [f"a{i}" for i in range(20_000)]
    header = "".join(f"@attribute {name} real\n" for name in names)
    table = read_keel(written(tmp_path, f"{header}@data\n{','.join(['1'] * len(names))}\n"))
    assert (table.inputs, table.outputs) == (tuple(names[:-1]), tuple(names[-1:]))
    began = time.process_time()
    assert sum(table.column(name)[0] for name in names) == len(names)
    assert time.process_time() - began < 20


def test_mutated_files(tmp_path: Path) -> None:
    """Refused with file and line, or read with all of its rows."""
    chance, bits = random.Random(0), ["'", '"', ",", "{", "}", "@", "\n", "\r", "%", " ", "?", "é"]
    bits += ["@data\n", "@attribute a real\n", "1e400", "nan", "\0", "\u2028", "[0, 1]", "\ufeff"]
    for _ in range(1500):
        at = chance.randrange(len(GOOD))
        text = GOOD[:at] + chance.choice(bits) + GOOD[at + chance.choice([0, 0, 1, 3]) :]
        path = written(tmp_path, text)
        try:
            table = read_keel(path)
        except KeelFormatError as error:
            if not str(error).startswith(str(path)):
                raise
            continue
        lines = [line.strip() for line in text.removeprefix("\ufeff").split("\n")]
        at = next(i for i, line in enumerate(lines) if line.lower() == "@data")
        rows = [line for line in lines[at + 1 :] if line and not line.startswith("%")]
        assert {len(column) for column in table.columns} == {len(rows)}
        declared = [line for line in lines[:at] if line.lower().startswith("@attribute")]
        assert len(table.attributes) == len(declared)


def test_published_cases_that_are_not(tmp_path: Path) -> None:
    folder = tmp_path / "synthetic"
    folder.mkdir()
    for text, match in (
        ("x,y\n1,one\n", "should be rows of numbers below a header: .*'one'"),
        ("x,y\n1,2\n1\n", "should be rows of numbers below a header"),
        ("y\n1\n", r"finite numbers in two columns or more; got an array of shape \(1, 1\)"),
        ("x,y\n1,nan\n", "finite numbers in two columns or more"),
    ):
        (folder / "reg_case1.csv").write_text(text)
        with pytest.raises(InputError, match=match):
            load_published("reg_case1", data_home=tmp_path)


def test_published_cases(shared_data: Path) -> None:
    for name, rows in (
        ("clf_case1", 1392),
        ("clf_case2", 1245),
        ("reg_case1", 706),
        ("reg_case2", 1058),
    ):
        X, y = load_published(name, data_home=shared_data)
        assert X.shape == (rows, 2 if name.startswith("clf") else 1)
        assert y.shape == (rows,)


def test_frames_need_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, GOOD)
    real = builtins.__import__
    monkeypatch.setattr(
        builtins,
        "__import__",
        lambda name, *rest, **more: (
            _refuse(name) if name == "pandas" else real(name, *rest, **more)
        ),
    )
    with pytest.raises(ImportError, match="as_frame=True needs pandas"):
        _keel._frame(read_keel(path))


def _refuse(name: str) -> None:
    raise ImportError(name)


# -- downloads -------------------------------------------------------------------------------------


class Server:
    """One file, served whole or from where the client asks; it may break off, and counts what it
    sends.
    """

    def __init__(self) -> None:
        self.content, self.break_after, self.ranges, self.status, self.honors_ranges = (
            b"",
            None,
            [],
            200,
            True,
        )
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requested = self.headers.get("Range")
                outer.ranges.append(requested)
                begin = (
                    int(requested.removeprefix("bytes=").removesuffix("-"))
                    if requested and outer.honors_ranges
                    else 0
                )
                if outer.status != 200:
                    self.send_error(outer.status)
                    return
                if begin and begin >= len(outer.content):
                    self.send_error(416)
                    return
                self.send_response(206 if begin else 200)
                if begin:
                    self.send_header(
                        "Content-Range",
                        f"bytes {begin}-{len(outer.content) - 1}/{len(outer.content)}",
                    )
                self.send_header("Content-Length", str(len(outer.content) - begin))
                self.end_headers()
                end = len(outer.content) if outer.break_after is None else begin + outer.break_after
                self.wfile.write(outer.content[begin:end])

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch):
    one = Server()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr("readme.txt", "about")
        stream.writestr("stock/Stock.dat", STOCK)
    one.content = archive.getvalue()
    sets = [
        replace(some, sha256=hashlib.sha256(STOCK).hexdigest()) if some.name == "stock" else some
        for some in KEEL
    ]
    monkeypatch.setattr(_keel, "KEEL", tuple(sets))
    monkeypatch.setattr(_keel, "HOME", one.url)
    yield one
    one.server.shutdown()
    one.server.server_close()


STOCK = (
    b"@relation stock\n@attribute A real\n@attribute B real\n@data\n"
    + b"1.5, 2.5\n2.5, 3.5\n" * 400
)


def test_download_is_kept_and_shown(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bunch = load_keel("stock", data_home=tmp_path)
    assert bunch.data.shape == (800, 1)
    assert "100%" in capsys.readouterr().err
    assert (tmp_path / "keel" / "regression" / "stock.dat").read_bytes() == STOCK
    assert [path.name for path in (tmp_path / "keel" / "regression").iterdir()] == ["stock.dat"]
    load_keel("stock", data_home=tmp_path)
    assert len(server.ranges) == 1


def test_broken_download_is_resumed(server: Server, tmp_path: Path) -> None:
    server.break_after = len(server.content) // 2 + 1
    load_keel("stock", data_home=tmp_path)
    assert server.ranges == [None, f"bytes={server.break_after}-"]


def test_download_that_stays_broken_goes_on_next_time(server: Server, tmp_path: Path) -> None:
    server.break_after = 10
    with pytest.raises(
        OSError,
        match=(
            r"stock\.dat is not in .* could not be downloaded: .*30 of \d+ bytes came.*Put"
            r" stock\.dat into"
        ),
    ):
        load_keel("stock", data_home=tmp_path)
    server.break_after = None
    load_keel("stock", data_home=tmp_path)
    assert server.ranges[-1] == "bytes=30-"


def test_server_that_knows_no_ranges(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "keel" / "regression" / "stock.zip.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"old")
    server.honors_ranges = False
    assert load_keel("stock", data_home=tmp_path).data.shape == (800, 1)


def test_part_longer_than_the_file(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "keel" / "regression" / "stock.zip.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(server.content + b"more")
    assert load_keel("stock", data_home=tmp_path).data.shape == (800, 1)


@pytest.mark.parametrize(("status", "tries"), [(404, 1), (503, 3)])
def test_server_that_refuses(server: Server, tmp_path: Path, status: int, tries: int) -> None:
    server.status = status
    with pytest.raises(OSError, match=f"answered {status}"):
        load_keel("stock", data_home=tmp_path)
    assert len(server.ranges) == tries


def test_without_network(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_keel, "HOME", "http://127.0.0.1:9")  # nothing listens there
    with pytest.raises(
        OSError, match=r"could not be downloaded: .*in 3 tries\. Put stock\.dat into a folder"
    ):
        load_keel("stock", data_home=tmp_path)


def test_damaged_archives_are_errors_with_advice(
    server: Server, tmp_path: Path, rng: np.random.Generator
) -> None:
    whole = server.content
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[rng.integers(len(damaged))] ^= int(rng.integers(1, 256))
        server.content = bytes(damaged)
        try:
            load_keel("stock", data_home=tmp_path)
        except OSError as error:
            assert "Put stock.dat into a folder" in str(error)  # noqa: PT017
        for path in tmp_path.rglob("*.*"):
            path.unlink()


def test_two_at_once(server: Server, tmp_path: Path) -> None:
    found, threads = [], []
    for _ in range(6):
        threads.append(
            threading.Thread(
                target=lambda: found.append(load_keel("stock", data_home=tmp_path).data.shape)
            )
        )
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert found == [(800, 1)] * 6
    folder = tmp_path / "keel" / "regression"
    assert [path.name for path in folder.iterdir()] == ["stock.dat"]
    (tmp_path / "plain").touch()
    assert (folder / "stock.dat").stat().st_mode == (
        tmp_path / "plain"
    ).stat().st_mode  # others may read it too


def test_a_dead_processs_lock_is_taken_over(server: Server, tmp_path: Path) -> None:
    lock = tmp_path / "keel" / "regression" / "stock.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    os.utime(lock, (0, 0))
    load_keel("stock", data_home=tmp_path)
    assert not lock.exists()


def test_other_content_is_refused(server: Server, tmp_path: Path) -> None:
    (tmp_path / "banana.dat").write_text(GOOD)
    with pytest.raises(
        OSError, match=r"is not the banana\.dat of the paper's experiments: its sha256"
    ):
        load_keel("banana", data_home=tmp_path)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr("stock.dat", STOCK + b"9, 9\n")
    server.content = archive.getvalue()
    with pytest.raises(OSError, match="expected"):
        load_keel("stock", data_home=tmp_path)
    assert not list(tmp_path.glob("keel/**/stock.dat"))
    server.content = b"<html>moved</html>"
    with pytest.raises(OSError, match="is not a zip archive"):
        load_keel("stock", data_home=tmp_path)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr("other.dat", STOCK)
    server.content = archive.getvalue()
    with pytest.raises(OSError, match=r"has no stock\.dat; it has other\.dat"):
        load_keel("stock", data_home=tmp_path)


def test_archives_are_unpacked_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever they say about the size of what is in them."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
        stream.writestr("stock.dat", b"0" * 10**6)
    packed = archive.getvalue()
    assert member_of_zip(packed, "stock.dat", "here") == b"0" * 10**6
    monkeypatch.setattr("motlm.datasets._download._LARGEST", 10**6 - 1)
    with pytest.raises(OSError, match=r"stock\.dat in here is larger than 999999 bytes"):
        member_of_zip(packed, "stock.dat", "here")
    told = packed.replace((10**6).to_bytes(4, "little"), (10**5).to_bytes(4, "little"))
    with pytest.raises(OSError, match="damaged"):
        member_of_zip(told, "stock.dat", "here")
    with pytest.raises(OSError, match="has more than 1000 files"):
        member_of_zip(b"PK\x01\x02" * 1001, "stock.dat", "here")


# -- recipes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [make_clf_case1, make_clf_case2])
def test_classification_recipes(make) -> None:
    X, y = make(2000, flipped=0.0, random_state=0)
    assert X.shape == (2000, 2)
    assert set(y) == {-1.0, 1.0}
    assert (np.abs(X) <= [2.5, 1.5]).all()
    # one way inside, the other way outside, half of the rows each: a line through the middle is no
    # better than chance
    assert np.mean(np.sign(X[:, 1]) == y) == pytest.approx(0.5, abs=0.01)
    again, _ = make(2000, flipped=0.0, random_state=0)
    np.testing.assert_array_equal(X, again)
    with pytest.raises(ValueError, match="n_rows must be at least 4"):
        make(3)


def test_flipped_labels() -> None:
    _, clean = make_clf_case1(5000, flipped=0.0, random_state=0)
    _, noisy = make_clf_case1(5000, random_state=0)
    assert np.mean(clean != noisy) == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ("make", "name"), [(make_reg_case1, "reg_case1"), (make_reg_case2, "reg_case2")]
)
def test_regression_recipes_agree_with_the_authors_draws(
    make, name: str, shared_data: Path
) -> None:
    """The same lines at the same places, to three standard deviations of the noise."""
    X, y = make(4000, random_state=0)
    assert X.shape == (4000, 1)
    theirs_X, theirs = load_published(name, data_home=shared_data)
    order = np.argsort(X[:, 0])
    nearest = order[np.clip(np.searchsorted(X[order, 0], theirs_X[:, 0]), 1, len(X) - 1)]
    near = np.abs(X[nearest, 0] - theirs_X[:, 0]) < 0.005
    assert near.mean() > 0.98
    assert np.quantile(np.abs(y[nearest] - theirs)[near], 0.95) < 0.1
    np.testing.assert_array_equal(make(50, random_state=1)[0], make(50, random_state=1)[0])
    with pytest.raises(ValueError, match="n_rows must be at least"):
        make(1)


def test_breimans_gaussians() -> None:
    X, y = make_twonorm(40_000, random_state=0)
    a = 2 / np.sqrt(20)
    np.testing.assert_allclose(X[y == 0].mean(axis=0), a, atol=0.03)
    assert np.mean((X.sum(axis=1) < 0) == y) == pytest.approx(
        0.977, abs=0.003
    )  # Phi(2), the best rule there is
    X, y = make_ringnorm(40_000, random_state=0)
    np.testing.assert_allclose(X[y == 0].std(axis=0), 2.0, atol=0.05)
    ratio = ((X - a) ** 2).sum(axis=1) - (X**2).sum(axis=1) / 4 - 40 * np.log(2)
    assert np.mean((ratio < 0) == y) == pytest.approx(0.988, abs=0.003)  # Breiman: 1.3 % of error
