"""motlm demo"""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

from ..certificates import certify
from ..datasets import make_clf_case2
from ..estimators import LocalMixtureClassifier
from ..explanations import explain_global
from ._errors import show
from ._options import FILE, force_option, json_option
from ._output import check_outputs, echo_json, require_report
from ._summary import summarize

__all__ = ["demo"]


@click.command(short_help="Fit, certify and report an example.")
@click.option(
    "-o",
    "--output",
    type=FILE,
    default=Path("motlm-demo"),
    show_default=True,
    help="Folder to write to.",
)
@json_option
@force_option
def demo(output: Path, as_json: bool, force: bool) -> None:
    """Fit, certify and report a model of a data set that comes with motlm."""
    from ..report import render

    check_outputs([output / "model.json", output / "report.html"], force=force)
    require_report()
    X, y = make_clf_case2(random_state=0)
    frame = pd.DataFrame(X, columns=["east", "north"])
    points = pd.DataFrame({"east": [-1.4, 0.0, 1.4], "north": [0.0, 0.75, 0.0]})
    estimator = LocalMixtureClassifier(points_of_interest=points, standardize=False, random_state=0)
    model, certificate = certify(estimator, frame, y)
    explanation = explain_global(model, frame, y)
    saved = model.save(output / "model.json")
    page = render(model, frame, y, output / "report.html", title="Case 2 of the paper")
    if as_json:
        content = {"model": str(saved), "report": str(page), "explanation": explanation.to_dict()}
        echo_json({**content, "certificate": certificate.to_dict()})
        return
    show(summarize(model, explanation, frame, "target"))
    show(certificate.headline.sentence)
    show(f"model:  {saved}\nreport: {page}")
