"""The sixteen data sets of the paper's tables, from the KEEL repository."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from .._typing import AnyArray
from ..errors import InputError, MissingPackageError
from ._download import digest, digest_of_file, download, member_of_zip
from ._keel_format import KeelTable, read_keel

__all__ = ["KEEL", "KeelSet", "data_folder", "load_keel", "load_published"]

_LOCK = 600.0  # seconds after which a lock is taken for a dead process's
HOME = (  # Alcalá-Fdez et al. (2011), J. of Multiple-Valued Logic and Soft Computing 17
    "https://sci2s.ugr.es/keel/dataset/data"
)


@dataclass(frozen=True)
class KeelSet:
    """A data set of the paper: what it is called in KEEL and in the paper, and its file's sha256.

    Attributes
    ----------
    name, title : str
        In KEEL, and in the paper.
    task : str
        "classification" or "regression".
    sha256 : str
        Of its file.
    shape : tuple of two ints
        Rows and columns, target included, as the paper prints them: after its row steps.

    Examples
    --------
    >>> from motlm.datasets import KEEL
    >>> len(KEEL), KEEL[0].name, KEEL[0].task, KEEL[0].shape
    (16, 'banana', 'classification', (5292, 3))
    >>> [one.title for one in KEEL if one.task == "regression"]  # doctest: +ELLIPSIS
    ['Auto MPG8', 'Baseball', 'Concrete', ...]
    """

    name: str
    title: str
    task: str  # "classification" or "regression"
    sha256: str
    shape: tuple[
        int, int
    ]  # rows and columns, target included, as the paper prints them: after its row steps


# name, task, rows, columns, sha256, title
_SETS = """
banana classification 5292 3 9684c0f72a27f56319e4196f4aa246966a87d3d84dab954cc363f033bf8f4943 Banana
wdbc classification 569 31 72c6d8b0cc18439d6eefa43790f961f7a76b3e0102b2ce1f4b968865de040f8a Breast Cancer Wisconsin
german classification 1000 21 18df1eeba9cdff3fdef83e456f35964301e34a2135ce7f62a08d1a434a98b7ea German
phoneme classification 5349 6 fe7e701fc5b4a14235f84f2a45ed0f4ac071a9adf59cd1297e69bab4e395d6c6 Phoneme
ring classification 7400 21 79e736d7a244643c8f900059f6a931aeff0e2faa5ce2f72cc1482cc0b88ded11 Ringnorm
saheart classification 462 10 1a88a425427acdfd24c52f83c9d04f2586a040ea6c53179ba6ebe649c0caca16 Saheart
spectfheart classification 267 45 29370e8ed48bae7bcc06c706944fd7700c1898957766a88c580aa6ee179ab23f Spectfheart
twonorm classification 7400 21 41759feac6ba52ee52532c26bca8b76371dbd34951c9ebdea2fff9c79fd47dd4 Twonorm
autoMPG8 regression 372 8 0800abf9c19c92e5968416d3f1daac10dcfbb9f15c1cd2745a06d971ecbddaca Auto MPG8
baseball regression 190 14 9738e34506d9bab97fa2b24e0bb6ac455e129f31db9120703009e005e47fb9be Baseball
concrete regression 911 9 c8ab63ad3cd6e0ab8b4aaed318e2b248a8b56af213a8dd36fd039d33602f7f19 Concrete
dee regression 339 7 4f721f6ba41634396b6df95abb9a6418b3c20947d40a049940a6f0d1177d0d14 Daily Electricity
laser regression 881 5 cbfd5e25cbd0a2ad4b319318bff5f73acaf23f7349d4b499c5975eb709c3abfb Laser Generated
stock regression 926 10 5601e293a1fd703d1536d55322b82e94932cec119be135eb1bb2f2b77746a5f6 Stock Prices
treasury regression 933 16 2f49998f99b2ed1d44de7c37c9e365f019bf7ccd7d2829e812cef842212e4f17 Treasury
wizmir regression 911 8 e69609f6e6116e106560cddc1f05456cbf92261aa69b1760b9d45809949c2a9b Weather Izmir
"""
KEEL: tuple[KeelSet, ...] = tuple(
    KeelSet(name, title, task, sha256, (int(rows), int(columns)))
    for name, task, rows, columns, sha256, title in (
        line.split(maxsplit=5) for line in _SETS.split("\n") if line
    )
)
"""The sixteen sets of the paper's tables: name, title, task, hash and shape."""


def data_folder(data_home: Any = None) -> Path:
    """Where data sets are looked for and kept: `data_home`, else the variable MOTLM_DATA, else a
    folder of the user's cache.

    Parameters
    ----------
    data_home : str or Path, default=None

    Returns
    -------
    Path

    Examples
    --------
    >>> from motlm.datasets import data_folder
    >>> data_folder("my/data").as_posix()
    'my/data'
    """
    if data_home is not None:
        return Path(data_home).expanduser()
    if os.environ.get("MOTLM_DATA"):
        return Path(os.environ["MOTLM_DATA"]).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "motlm"


def _find_set(name: str) -> KeelSet:
    for one in KEEL:
        if name.lower() in (one.name.lower(), one.title.lower()):
            return one
    raise InputError(
        f"no data set {name!r}; there are {', '.join(one.name for one in KEEL)}. To read a file of"
        " yours: read_keel."
    )


def _path(one: KeelSet, data_home: Any, download_if_missing: bool) -> Path:
    folder, file = data_folder(data_home), f"{one.name}.dat"
    places = [folder / "keel" / one.task / file, folder / one.task / file, folder / file]
    for place in places:
        if place.is_file():
            _check(digest_of_file(place), one, str(place))
            return place
    advice = (
        f"Put {file} into a folder and name it by data_home= or the environment variable"
        " MOTLM_DATA."
    )
    if not download_if_missing:
        raise FileNotFoundError(
            f"no {file} in {folder}. {advice} Or download it: download_if_missing=True."
        )
    url = f"{HOME}/{one.task}/{one.name}.zip"
    try:
        with _reserve(places[0]) as part:
            content = member_of_zip(download(url, part, f"{one.name} from {url}"), file, url)
        if digest(content) != one.sha256:
            raise OSError(f"{file} in {url} has sha256 {digest(content)}, expected {one.sha256}")
        _write(places[0], content)
    except OSError as error:
        raise OSError(
            f"{file} is not in {folder} and could not be downloaded: {error}. {advice}"
        ) from error
    return places[0]


@contextmanager
def _reserve(place: Path) -> Iterator[Path]:
    """Where to put what has come of a file: to be resumed from, or a place of its own while another
    process downloads it.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = place.with_suffix(".lock")
    with suppress(FileNotFoundError):  # another process may remove it at any moment
        if time.time() - lock.stat().st_mtime > _LOCK:
            lock.unlink(missing_ok=True)  # left by a process that was killed
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        yield place.with_suffix(f".zip.{os.getpid()}.{threading.get_ident()}.part")
        return
    try:
        yield place.with_suffix(".zip.part")
    finally:
        lock.unlink(missing_ok=True)


def _check(sha256: str, one: KeelSet, source: str) -> None:
    if sha256 != one.sha256:
        raise OSError(
            f"{source} is not the {one.name}.dat of the paper's experiments: its sha256 is"
            f" {sha256}, expected {one.sha256}. Remove it, so that it is downloaded anew, or read"
            " it with read_keel if it is a version of your own."
        )


def _write(path: Path, content: bytes) -> None:
    """All of it or nothing."""
    new = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}.new")
    try:
        new.write_bytes(content)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def load_keel(
    name: str, *, as_frame: bool = False, data_home: Any = None, download_if_missing: bool = True
) -> Bunch:
    """Load one of the sixteen data sets of the paper's tables.

    Parameters
    ----------
    name : str
        As in KEEL ("ring") or in the paper ("Ringnorm"); see `motlm.datasets.KEEL`.
    as_frame : bool, default=False
        Tables of pandas, with nominal columns as categories, in place of arrays.
    data_home : str or Path, default=None
        Where the file is looked for, and kept after it was downloaded. By default the folder that
        the environment variable MOTLM_DATA names, else `~/.cache/motlm`.
    download_if_missing : bool, default=True
        Fetch a file that is not there from the KEEL repository (checked by sha256).

    Returns
    -------
    Bunch
        With data, target, feature_names, target_names (the output's name), classes (of a
        classification set), task, frame (with as_frame) and DESCR. Missing values are nan, or None
        in nominal columns.

    Examples
    --------
    >>> from motlm.datasets import load_keel
    >>> banana = load_keel("banana")  # doctest: +SKIP
    >>> banana.data.shape, banana.classes  # doctest: +SKIP
    ((5300, 2), ['-1.0', '1.0'])

    A file that is not there need not be fetched:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_keel("banana", data_home=folder, download_if_missing=False)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    FileNotFoundError: no banana.dat in ... Put banana.dat into a folder and name it by data_home=
    ...
    """
    one = _find_set(name)
    path = _path(one, data_home, download_if_missing)
    table = read_keel(path)
    [output] = table.outputs
    target = table.attribute(output)
    bunch = Bunch(
        data=_matrix(table),
        target=_target(table.column(output), target.kind == "nominal"),
        feature_names=list(table.inputs),
        target_names=[output],
        classes=sorted(target.levels) if target.kind == "nominal" else None,
        task=one.task,
        frame=None,
        DESCR=(
            f"{one.title} ({table.relation}), {one.task}: {len(table.columns[0])} rows,"
            f" {len(table.inputs)} features. KEEL data set repository,"
            f" {HOME.removesuffix('/dataset/data')}."
        ),
    )
    if as_frame:
        bunch.frame = _frame(table)
        bunch.data, bunch.target = bunch.frame[list(table.inputs)], bunch.frame[output]
    return bunch


def _matrix(table: KeelTable) -> AnyArray:
    columns = [table.column(name) for name in table.inputs]
    return (
        np.column_stack(columns)
        if all(column.dtype == float for column in columns)
        else np.array(columns, dtype=object).T
    )


def _target(column: AnyArray, nominal: bool) -> AnyArray:
    return column.astype(str) if nominal and not any(value is None for value in column) else column


def _frame(table: KeelTable) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingPackageError("as_frame=True needs pandas: pip install pandas") from error
    columns = {}
    for name in (*table.inputs, *table.outputs):
        attribute, column = table.attribute(name), table.column(name)
        columns[name] = (
            pandas.Categorical(column, categories=sorted(attribute.levels))
            if attribute.levels
            else column
        )
    return pandas.DataFrame(columns)


PUBLISHED = ("clf_case1", "clf_case2", "reg_case1", "reg_case2")


def load_published(name: str, *, data_home: Any = None) -> tuple[AnyArray, AnyArray]:
    r"""Load one of the authors' own draws of the synthetic cases, as their notebooks wrote them.

    The files have no public home of their own; `make_clf_case1` and its siblings draw new ones by
    the same recipes.

    Parameters
    ----------
    name : "clf_case1", "clf_case2", "reg_case1" or "reg_case2"
    data_home : str or Path, default=None
        The folder that has `synthetic/<name>.csv`. By default the one that the environment variable
        MOTLM_DATA names.

    Returns
    -------
    X : ndarray, (n_rows, 2) or (n_rows, 1)
    y : ndarray

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from motlm.datasets import load_published
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "synthetic").mkdir()
    ...     _ = (Path(folder) / "synthetic" / "clf_case1.csv").write_text(
    ...         "x1,x2,y\n0.5,0.25,1\n-0.5,1.0,-1\n"
    ...     )
    ...     load_published("clf_case1", data_home=folder)
    (array([[ 0.5 ,  0.25],
           [-0.5 ,  1.  ]]), array([ 1., -1.]))
    """
    if name not in PUBLISHED:
        raise InputError(f"no synthetic case {name!r}; there are {', '.join(PUBLISHED)}.")
    path = data_folder(data_home) / "synthetic" / f"{name}.csv"
    if not path.is_file():
        raise FileNotFoundError(
            f"no {path}; name the folder that has synthetic/{name}.csv by data_home= or the"
            f" environment variable MOTLM_DATA, or draw a new set with make_{name}."
        )
    try:
        table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    except ValueError as error:  # which has the row
        raise InputError(f"{path} should be rows of numbers below a header: {error}") from None
    if table.shape[1] < 2 or not np.isfinite(table).all():
        raise InputError(
            f"{path} should have finite numbers in two columns or more; got an array of shape"
            f" {table.shape}."
        )
    return table[:, :-1], table[:, -1]
