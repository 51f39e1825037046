"""Draws docs/pictures/modules.svg, the modules and who imports whom, from the imports themselves.

python docs/modules.py
"""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "motlm"
PICTURE = Path(__file__).parent / "pictures" / "modules.svg"
LAYERS = {  # from the bottom to the top
    "numerics": "limits special lookup membership losses combinations divergence bounds intervals",
    "rows and distributions": (
        "frames missing units bends transformed cards inputs summaries rows sketches repeats"
        " fingerprints posterior"
    ),
    "objective": "metrics regions geometry objective",
    "search": "screening starts optimize reproduction watch strengths running search",
    "fitted model": "overlap targets localities routine mixture pipelines corrections extents",
    "fit": "problem calibration folds terms learning checks warmup fitting",
    "uses of a mixture": "tables certificates files exports",
    "estimators": "estimators loading",
    "readers": "scores explanations evaluation groups comparison plotting report cli",
    "data": "datasets preprocessing baselines",
}
WIDE, HIGH, GAP, ROW, LEFT = 104, 30, 16, 74, 150


def modules() -> dict[str, set[str]]:
    """The modules of each module's imports within the package; packages count as one."""
    found: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).parts
        name = parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == len(parts):
                names = [node.module.split(".")[0]] if node.module else [n.name for n in node.names]
                found.setdefault(name, set()).update(set(names) - {name})
    return found


def reduce(imports: dict[str, set[str]], names: list[str]) -> list[tuple[str, str]]:
    """The imports that do not follow from others."""
    below: dict[str, set[str]] = {}

    def reached(name: str) -> set[str]:
        if name not in below:
            direct = imports.get(name, set()) & set(names)
            below[name] = direct.union(*(reached(one) for one in direct)) if direct else set()
        return below[name]

    return [
        (name, one)
        for name in names
        for one in sorted(imports.get(name, set()) & set(names))
        if not any(one in reached(other) for other in imports[name] & set(names) if other != one)
    ]


def draw() -> str:
    layers = [(title, row.split()) for title, row in LAYERS.items()]
    names = [name for _, row in layers for name in row]
    place = {
        name: (LEFT + j * (WIDE + GAP), (len(layers) - 1 - i) * ROW + 14)
        for i, (_, row) in enumerate(layers)
        for j, name in enumerate(row)
    }
    width = LEFT + max(len(row) for _, row in layers) * (WIDE + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {len(layers) * ROW}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{len(layers) * ROW}" fill="white"/>',
    ]
    for name, other in reduce(modules(), names):
        (x0, y0), (x1, y1) = place[name], place[other]
        x0, x1, y0 = x0 + WIDE / 2, x1 + WIDE / 2, y0 + HIGH
        if y1 <= y0 - HIGH:  # beside it
            y0, y1 = y0 - HIGH / 2, y1 + HIGH / 2
        path = f"M{x0:g},{y0:g} C{x0:g},{y0 + 22:g} {x1:g},{y1 - 22:g} {x1:g},{y1:g}"
        parts.append(f'<path d="{path}" fill="none" stroke="#0072b2" stroke-opacity="0.45"/>')
    for i, (title, row) in enumerate(layers):
        y = (len(layers) - 1 - i) * ROW + 14
        parts.append(f'<text x="4" y="{y + 20}" fill="#555">{escape(title)}</text>')
        for name in row:
            x, _ = place[name]
            parts.append(
                f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="5" fill="#f4f6f8"'
                f' stroke="#333"/><text x="{x + WIDE / 2:g}" y="{y + 20}" text-anchor="middle">'
                f"{escape(name)}</text>"
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    print(f"written to {PICTURE}")
