"""The table of a run's results in docs/reliability.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .kinds import KINDS

__all__ = ["BEGIN", "END", "fill_page", "summary", "table"]

_SHOWN = 8  # outcomes of a kind
_ABOUT = {kind.name: kind.about for kind in KINDS}
BEGIN, END = "<!-- results -->", "<!-- end of results -->"


def table(results: dict[str, Any]) -> str:
    """One line for each kind, as Markdown."""
    lines = ["| attacked | cases | what came of them | findings |", "|:--|--:|:--|--:|"]
    for name, account in results["kinds"].items():
        outcomes = dict(account["outcomes"])
        findings = outcomes.pop("finding", 0)
        words = "; ".join(f"{words} {count}" for words, count in _merged(outcomes).items())
        lines.append(f"| {_ABOUT[name]} | {account['tried']} | {words} | {findings} |")
    return "\n".join(lines)


def _merged(outcomes: dict[str, int]) -> dict[str, int]:
    """The most frequent outcomes; the others are counted together."""
    ordered = sorted(outcomes.items(), key=lambda one: -one[1])
    shown, rest = dict(ordered[:_SHOWN]), sum(count for _, count in ordered[_SHOWN:])
    return {**shown, "others": rest} if rest else shown


def fill_page(page: Path, results: dict[str, Any]) -> None:
    """Put the table of a run between the marks."""
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    page.write_text(f"{head}{BEGIN}\n\n{summary(results)}\n\n{END}{tail}", encoding="utf-8")


def summary(results: dict[str, Any]) -> str:
    minutes = results["seconds"] / 60
    return (
        f"motlm {results['motlm']}, Python {results['python']}, seed {results['seed']}:"
        f" {minutes:.0f} minutes on {results['jobs']} processes.\n\n{table(results)}"
    )
