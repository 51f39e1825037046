"""Files from the network: resumed where they broke off, checked by sha256, kept."""

from __future__ import annotations

import hashlib
import io
import os
import time
import zipfile
import zlib
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from ..watch import Bar

__all__ = ["digest", "digest_of_file", "download", "member_of_zip"]

_TRIES = 3
_TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 2**16
_LARGEST = 2**26  # bytes of an archive, and of a file in it; those of the paper have 2 million
_MEMBERS = 1000  # of an archive; KEEL's have one to a dozen


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def digest_of_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def download(url: str, part: Path, what: str) -> bytes:
    """The bytes behind a URL. What was received is kept in `part` until it is complete, so that
    the next try continues from there.
    """
    part.parent.mkdir(parents=True, exist_ok=True)
    bar = Bar()
    bar.text = what
    try:
        for left in range(_TRIES - 1, -1, -1):
            try:
                _download_rest(url, part, bar)
                break
            except HTTPError as error:
                if error.code == 416:  # what we have is not a beginning of what they have
                    part.unlink(missing_ok=True)
                elif error.code < 500:
                    raise OSError(f"{url} answered {error.code} {error.reason}") from error
                if not left:
                    raise OSError(
                        f"{url} answered {error.code} {error.reason}, {_TRIES} times"
                    ) from error
            except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
                if not left:
                    raise OSError(
                        f"{url} could not be read ({getattr(error, 'reason', error)}), in {_TRIES}"
                        " tries"
                    ) from error
            time.sleep(0.2)
    finally:
        bar.close()
    content = part.read_bytes()
    part.unlink()
    return content


def _download_rest(url: str, part: Path, bar: Bar) -> None:
    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    with urlopen(Request(url, headers=headers), timeout=_TIMEOUT) as answer:
        if answer.status != 206:
            have = 0  # the server sends it all
        elif not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            part.unlink(missing_ok=True)
            raise ConnectionError(
                f"requested the bytes from {have}, received {answer.headers.get('Content-Range')}"
            )
        length = answer.headers.get("Content-Length", "")
        length = int(length) if length.isdecimal() else 0
        bar.total = have + length if length else 0.0
        with part.open("ab" if have else "wb") as stream:
            while chunk := answer.read(_CHUNK):
                have += len(chunk)
                if have > _LARGEST:
                    part.unlink()
                    raise OSError(
                        f"{url} is larger than {_LARGEST} bytes; this is not the file looked for"
                    )
                stream.write(chunk)
                bar.count = have
                bar.draw()
        if length and have < bar.total:
            raise ConnectionError(f"{have} of {bar.total:.0f} bytes came")


def member_of_zip(content: bytes, name: str, source: str) -> bytes:
    """One file of an archive, found by its name; nothing else is unpacked, and of it no more than
    the limit, whatever the archive says about its size.
    """
    if content.count(b"PK\x01\x02") > _MEMBERS:  # each has such an entry in the directory
        raise OSError(
            f"{source} has more than {_MEMBERS} files; this is not the archive looked for"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for one in archive.infolist():
                if os.path.basename(one.filename).lower() == name.lower():
                    with archive.open(one) as stream:
                        member = stream.read(_LARGEST + 1)
                    if len(member) > _LARGEST:
                        raise OSError(
                            f"{name} in {source} is larger than {_LARGEST} bytes; this is not the"
                            " file looked for"
                        )
                    return member
            raise OSError(f"{source} has no {name}; it has {', '.join(archive.namelist()[:5])}")
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
    ) as error:
        raise OSError(f"{source} is not a zip archive, or damaged ({error})") from error
