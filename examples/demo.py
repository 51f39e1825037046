"""The main workflow on a synthetic data set: from points of interest to a readable model, its
certificate and a report.

python examples/demo.py [output folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from motlm import LocalMixtureClassifier
from motlm.certificates import audit
from motlm.datasets import make_clf_case2
from motlm.plotting import LocalitiesDisplay
from motlm.report import render

matplotlib.use("Agg")


def main(folder: Path) -> None:
    X, y = make_clf_case2(random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=0
    )
    # Both coordinates have the same unit, so the columns are not standardized.
    model = LocalMixtureClassifier(
        points_of_interest=[[-1.4, 0.0], [0.0, 0.75], [1.4, 0.0]], standardize=False, random_state=0
    ).fit(X_train, y_train)

    print(
        f"{len(X_train)} training rows of Case 2 of the paper, {len(X_test)} test rows, three"
        " points of interest\n"
    )
    for number, locality in enumerate(model.localities_):
        print(f"locality {number}, {locality}")
        print(f"    score: {locality.correction()}")
        print(f"    score = {locality.formula()}")
    print(f"exterior, {model.exterior_.n_rows} training rows")
    print(f"    score = {model.exterior_.formula()}")
    print("a positive score means label +1, a negative score label -1\n")
    print(f"Gibbs risk on the training rows  {model.gibbs_risk_:.4f}")
    print(f"KL from the prior                {model.kl_:.1f}")
    print(
        f"objective, risk + KL / lambda    {model.objective_:.4f}   (lambda ="
        f" {model.inverse_temperature_:g} x rows)"
    )
    print(f"test accuracy                    {model.score(X_test, y_test):.3f}")
    print(
        "   of one linear model          "
        f" {LogisticRegression().fit(X_train, y_train).score(X_test, y_test):.3f}"
    )
    print(f"ambiguous test rows              {model.ambiguous(X_test).mean():.1%}")
    model.certificate_ = audit(model, X_test, y_test)
    print(f"\n{model.certificate_.headline.sentence}")

    folder.mkdir(parents=True, exist_ok=True)
    picture = folder / "localities.png"
    display = LocalitiesDisplay.from_estimator(model, X_test, y_test)
    display.ax_.set_title("Localities, decision regions and test rows")
    display.ax_.set_aspect("equal")
    display.figure_.savefig(picture, dpi=130)
    print(f"\nfigure written to {picture}")
    report = render(model, X_test, y_test, folder / "report.html", title="Case 2 of the paper")
    print(f"report written to {report}: open it in a browser and try out a case")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo-output"))
