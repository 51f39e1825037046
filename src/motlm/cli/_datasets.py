"""motlm datasets"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
import pandas as pd
from rich.console import Console
from rich.table import Table

from ..datasets import TABLES, data_folder, load_table
from ..files import write_atomically
from ..tables import amount
from ._errors import CommandError, show_message
from ._options import FILE, force_option, json_option
from ._output import check_outputs, echo_json, open_standard_output
from ._spreadsheets import excel_safe_option, make_safe, refuse_json

__all__ = ["datasets"]


@click.group()
def datasets() -> None:
    """Data sets: of scikit-learn, made up, and those of the paper's tables."""


@datasets.command("list")
@json_option
def list_sets(as_json: bool) -> None:
    """List the data sets, and what those need that do not come with motlm."""
    if as_json:
        echo_json([asdict(one) for one in TABLES])
        return
    table = Table("name", "title", "task", "source")
    for one in TABLES:
        table.add_row(one.name, one.title, one.task, one.source)
    Console(highlight=False).print(table)
    show_message(
        f"KEEL's are looked for in {data_folder()} (name another folder with --data or"
        " MOTLM_DATA), or downloaded; the others need neither"
    )


@datasets.command("write")
@click.argument("name")
@click.option("--data", type=FILE, help="Folder of KEEL's files.  [default: MOTLM_DATA]")
@click.option("--download", is_flag=True, help="Download one of KEEL's that is not there.")
@click.option("-o", "--output", type=FILE, help="Where to write. Default: standard output.")
@excel_safe_option
@json_option
@force_option
def write(
    name: str,
    data: Path | None,
    download: bool,
    output: Path | None,
    excel_safe: bool,
    as_json: bool,
    force: bool,
) -> None:
    """Write a data set as CSV, or with --json as one JSON object per line; no network is needed.

    Those of scikit-learn and the made-up ones come with motlm; KEEL's lie in a folder that --data
    or MOTLM_DATA names, or are downloaded with --download. The target is the last column.

    \b
    motlm datasets write diabetes -o diabetes.csv
    motlm datasets write german --data keel -o german.csv
    """
    refuse_json(excel_safe, as_json)
    check_outputs([output], force=force)
    try:
        frame = load_table(name, data_home=data, download_if_missing=download)
    except FileNotFoundError as error:
        here = ", ".join(one.name for one in TABLES if one.source != "KEEL")
        raise CommandError(
            f"{name} does not come with motlm, and there is no {name}.dat in {data_folder(data)}."
            " Name the folder that has it with --data or MOTLM_DATA, or give --download. These"
            f" need neither: {here}."
        ) from error
    _write(frame, output, excel_safe, as_json)


@datasets.command("fetch")
@click.argument("name")
@click.option("-o", "--output", type=FILE, help="Where to write. Default: standard output.")
@excel_safe_option
@json_option
@force_option
def fetch(name: str, output: Path | None, excel_safe: bool, as_json: bool, force: bool) -> None:
    """Find a data set in the folder MOTLM_DATA, or download it, and write it as CSV, or with --json
    as one JSON object per line. The same as write --download.

    \b
    motlm datasets fetch german -o german.csv
    """
    refuse_json(excel_safe, as_json)
    check_outputs([output], force=force)
    _write(load_table(name, download_if_missing=True), output, excel_safe, as_json)


def _write(frame: pd.DataFrame, output: Path | None, excel_safe: bool, as_json: bool) -> None:
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
        show_message(
            f"{amount(len(frame), 'row')} written to {output}; the target is"
            f" {str(frame.columns[-1])!r}"
        )
