"""Prints the lowest versions that pyproject.toml declares, as constraints for pip: python
tests/minimum.py > constraints.txt.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

EXTRAS = (
    "plot",
    "report",
    "cli",
    "onnx",
    "tables",
    "cluster",
)  # what users install; tools of the developers may be new


def lowest() -> list[str]:
    """Each dependency at its lowest version, with the last of its bug fixes."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(one for extra in EXTRAS for one in project["optional-dependencies"][extra]),
    ]
    wanted += [
        one for one in project["optional-dependencies"]["test"] if one.startswith("polars")
    ]  # an input, if not an extra
    found = []
    for one in wanted:
        parts = re.fullmatch(r"([\w-]+)>=([\d.]+)", one)
        assert parts, f"{one} declares no lowest version"
        found.append(f"{parts[1]}=={parts[2]}.*")
    return sorted(set(found))


if __name__ == "__main__":
    print("\n".join(lowest()))
