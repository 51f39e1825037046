"""An earlier revision of the project, installed in an environment of its own.

The source comes from `git archive`, so the working tree is not touched. The packages that decide
about speed have the versions of the running environment. What was installed once is used again.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINNED = (
    "numpy",
    "scipy",
    "scikit-learn",
    "joblib",
    "threadpoolctl",
    "numba",
    "llvmlite",
    "pandas",
    "pyarrow",
)
FRAMES = ("pandas", "pyarrow")  # what the tables are made of; installed where they are here


@dataclass(frozen=True)
class Side:
    """One of the two that are compared: a Python, and the folder that its motlm must come from."""

    name: str
    python: Path
    folder: Path


def present() -> Side:
    """The working tree, in the running environment."""
    return Side("present tree", Path(sys.executable), ROOT / "src")


def installed(revision: str, root: Path = ROOT) -> Side:
    """A revision in its own environment, in build/against/ of the project."""
    sha = full_name(revision, root)
    folder = root / "build" / "against" / sha
    side = Side(sha[:10], python_of(folder / "environment"), folder)
    record = folder / "installed.json"
    pins = versions()
    if not record.exists() or json.loads(record.read_text()) != pins:
        print(f"installing {revision} ({sha[:10]}) in {folder}", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        unpack(sha, root, folder / "source")
        install(folder, pins, revision)
        record.write_text(json.dumps(pins, indent=1) + "\n")
    return side


def full_name(revision: str, root: Path) -> str:
    """The hash of a revision's commit."""
    top = git(root, "rev-parse", "--show-toplevel")
    if top.returncode or Path(top.stdout.decode().strip()).resolve() != root.resolve():
        raise SystemExit(
            f"--against needs a git checkout of the project; {root} is not one. Clone the"
            " repository with its history and run the benchmarks there."
        )
    found = git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if found.returncode:
        raise SystemExit(
            f"{revision!r} is not a revision of {root}; give a commit, a tag or a branch that"
            " `git log` knows (a shallow clone has only the last ones)."
        )
    return found.stdout.decode().strip()


def git(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True)
    except FileNotFoundError:
        raise SystemExit("--against needs git, which is not installed.") from None


def unpack(sha: str, root: Path, folder: Path) -> None:
    """The files of a commit."""
    archive = git(root, "archive", "--format=tar", sha)
    if archive.returncode:
        raise SystemExit(f"git archive {sha} failed: {archive.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")


def versions() -> dict[str, str]:
    """The versions of the running environment that the other one gets too."""
    found = {}
    for name in PINNED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def python_of(environment: Path) -> Path:
    scripts = environment / ("Scripts" if sys.platform == "win32" else "bin")
    return scripts / ("python.exe" if sys.platform == "win32" else "python")


def install(folder: Path, pins: dict[str, str], revision: str) -> None:
    """The source of a folder in an environment beside it."""
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{name}=={number}\n" for name, number in pins.items()))
    subprocess.run([sys.executable, "-m", "venv", str(folder / "environment")], check=True)
    command = [str(python_of(folder / "environment")), "-m", "pip", "install", "--quiet"]
    command += ["--disable-pip-version-check", "--constraint", str(constraints)]
    command += [str(folder / "source"), *(name for name in FRAMES if name in pins)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-15:])
        raise SystemExit(
            f"pip could not install {revision} with the packages of this environment"
            f" ({', '.join(f'{name} {number}' for name, number in pins.items())}):\n{last}"
        )
