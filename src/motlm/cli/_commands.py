"""The command `motlm` and its subcommands."""

from __future__ import annotations

import click

from .._version import __version__
from ._certify import certify
from ._compare import compare
from ._datasets import datasets
from ._demo import demo
from ._evaluate import evaluate
from ._explain import explain
from ._fit import fit
from ._group import Group
from ._predict import predict
from ._report import report

__all__ = ["motlm"]


@click.group(
    cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, prog_name="motlm")
def motlm() -> None:
    """Mixtures of transparent local models: a few balls around typical cases, a linear model in
    each, and one outside.

    \b
    motlm fit credit.csv --target default --model model.json --report report.html
    motlm predict model.json new.csv -o out.csv
    motlm explain model.json new.csv --row 17
    motlm evaluate model.json later.csv
    motlm compare credit.csv --target default
    """


for _command in (fit, predict, explain, evaluate, compare, report, certify, demo, datasets):
    motlm.add_command(_command)
