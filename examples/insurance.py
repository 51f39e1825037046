"""An insurer's typical clients as points of interest: python examples/insurance.py [output folder].

The table is made up: yearly claim costs by age, power of the car, years without a claim, region and use. Young drivers of strong
cars and professional drivers follow rules of their own. The insurer names one typical client of each kind; motlm finds how far
each kind reaches, a tariff in each, one for everybody else, and certifies the whole.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from motlm import LocalMixtureRegressor
from motlm.certificates import certify, prediction_interval
from motlm.explanations import counterfactual, explain_global, explain_local
from motlm.report import render


def clients(n: int = 3000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(45, 14, n).clip(18, 85).round(),
            "power": rng.normal(90, 30, n).clip(40, 220).round(),
            "years without claim": rng.poisson(6, n).clip(0, 25),
            "kilometres": rng.lognormal(2.5, 0.5, n).round(1),  # thousands a year
            "region": rng.choice(["country", "town"], n, p=[0.4, 0.6]),
        }
    )
    young, professional = rng.uniform(size=n) < 0.15, rng.uniform(size=n) < 0.15
    frame.loc[young, "age"] = rng.normal(21, 2, young.sum()).clip(18, 26).round()
    frame.loc[young, "power"] = rng.normal(160, 15, young.sum()).round()
    frame.loc[young, "years without claim"] = 0
    frame.loc[professional, "kilometres"] = rng.normal(60, 6, professional.sum()).round(1)
    town = frame["region"] == "town"
    usual = 250 + 1.2 * frame["power"] + 5 * frame["kilometres"] - 12 * frame["years without claim"] + 60 * town
    cost = np.where((frame["age"] < 27) & (frame["power"] > 120), 300 + 9 * frame["power"] + 90 * town, usual)
    cost = np.where(frame["kilometres"] > 45, 900 + 2 * frame["kilometres"] + 2.5 * frame["power"], cost)
    return frame, cost + rng.normal(0, 60, n)


def main(folder: Path) -> None:
    X, y = clients()
    typical = pd.DataFrame(
        {
            "age": [21.0, 45.0],
            "power": [160.0, 90.0],
            "years without claim": [0, 6],
            "kilometres": [12.0, 60.0],
            "region": ["town", "town"],
        },
        index=["young driver, strong car", "professional driver"],
    )
    model, certificate = certify(LocalMixtureRegressor(points_of_interest=typical, random_state=0), X, y, tolerance=150.0)
    print(explain_global(model, X, y), "\n")
    for name in ("tolerance", "explained"):
        print(certificate[name].sentence, "\n")
    client = X.iloc[[7]]
    print(explain_local(model, client)[0])
    low, high = prediction_interval(model, certificate, client)[0]
    print(f"with certified interval {low:.0f} to {high:.0f}")
    said = float(model.predict(client)[0])
    print(counterfactual(model, client, target=said - 50, fixed=["age", "years without claim"], bounds={"kilometres": (1, 80)}))
    print("report:", render(model, X, y, folder / "insurance.html", title="Claim costs by typical clients"))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo-output"))
