"""motlm datasets"""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from ..datasets import KEEL, data_folder, load_keel
from ..files import write_atomically
from ._errors import CommandError, show_message
from ._options import FILE, force_option, json_option
from ._output import check_outputs, echo_json, open_standard_output
from ._spreadsheets import excel_safe_option, make_safe, refuse_json

__all__ = ["datasets"]


@click.group()
def datasets() -> None:
    """The data sets of the paper's tables."""


@datasets.command("list")
@json_option
def list_sets(as_json: bool) -> None:
    """List the data sets, and the folder where they are looked for."""
    if as_json:
        echo_json([{"name": one.name, "title": one.title, "task": one.task} for one in KEEL])
        return
    table = Table("name", "title", "task")
    for one in KEEL:
        table.add_row(one.name, one.title, one.task)
    Console(highlight=False).print(table)
    show_message(f"looked for in {data_folder()}, else downloaded")


@datasets.command("fetch")
@click.argument("name")
@click.option("-o", "--output", type=FILE, help="Where to write. Default: standard output.")
@excel_safe_option
@json_option
@force_option
def fetch(name: str, output: Path | None, excel_safe: bool, as_json: bool, force: bool) -> None:
    """Find a data set in the folder MOTLM_DATA, or download it, and write it as CSV, or with --json
    as one JSON object per line.

    \b
    motlm datasets fetch german -o german.csv
    """
    known = [one.name for one in KEEL]
    if name not in known:
        raise CommandError(f"there is no data set {name!r}; choose one of {', '.join(known)}.")
    refuse_json(excel_safe, as_json)
    check_outputs([output], force=force)
    frame = load_keel(name, as_frame=True).frame
    if excel_safe:
        frame = make_safe(frame)
    content = (
        frame.to_json(orient="records", lines=True, force_ascii=False)
        if as_json
        else frame.to_csv(index=False)
    )
    if output is None:
        open_standard_output().write(content)
    else:
        write_atomically(output, content)
        show_message(f"{len(frame)} rows written to {output}")
