"""
An insurer's typical clients
============================

Yearly claim costs by age, power of the car, years without a claim, distance and region. The data
are simulated, so that the true rules are known: the costs of young drivers of powerful cars and of
professional drivers follow different formulas. The insurer gives one typical client of each kind;
motlm learns the radius of each locality, a tariff for each and one for all other clients, and
certifies the model.
"""

# %%
import numpy as np
import pandas as pd


def clients(n: int = 3000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(45, 14, n).clip(18, 85).round(),
            "power": rng.normal(90, 30, n).clip(40, 220).round(),
            "years without claim": rng.poisson(6, n).clip(0, 25),
            "kilometers": rng.lognormal(2.5, 0.5, n).round(1),  # thousands a year
            "region": rng.choice(["country", "town"], n, p=[0.4, 0.6]),
        }
    )
    young, professional = rng.uniform(size=n) < 0.15, rng.uniform(size=n) < 0.15
    frame.loc[young, "age"] = rng.normal(21, 2, young.sum()).clip(18, 26).round()
    frame.loc[young, "power"] = rng.normal(160, 15, young.sum()).round()
    frame.loc[young, "years without claim"] = 0
    frame.loc[professional, "kilometers"] = rng.normal(60, 6, professional.sum()).round(1)
    town = frame["region"] == "town"
    usual = (
        250
        + 1.2 * frame["power"]
        + 5 * frame["kilometers"]
        - 12 * frame["years without claim"]
        + 60 * town
    )
    cost = np.where(
        (frame["age"] < 27) & (frame["power"] > 120), 300 + 9 * frame["power"] + 90 * town, usual
    )
    cost = np.where(
        frame["kilometers"] > 45, 900 + 2 * frame["kilometers"] + 2.5 * frame["power"], cost
    )
    return frame, cost + rng.normal(0, 60, n)


X, y = clients()
typical = pd.DataFrame(
    {
        "age": [21.0, 45.0],
        "power": [160.0, 90.0],
        "years without claim": [0, 6],
        "kilometers": [12.0, 60.0],
        "region": ["town", "town"],
    },
    index=["young driver, powerful car", "professional driver"],
)
typical

# %%
# A model with these two localities, fitted on 70 % of the clients and certified on the others. The
# insurer considers a prediction wrong if its error exceeds 150.

from motlm import LocalMixtureRegressor
from motlm.certificates import certify, prediction_interval
from motlm.explanations import counterfactual, explain_global, explain_local

model, certificate = certify(
    LocalMixtureRegressor(
        points_of_interest=typical, local_models="linear", select="held-out", random_state=0
    ),
    X,
    y,
    tolerance=150.0,
)
print(explain_global(model, X, y))

# %%
for name in ("tolerance", "explained"):
    print(certificate[name].sentence, "\n")

# %%
# The tariffs side by side:

from motlm.plotting import CoefficientsDisplay, ContributionsDisplay

CoefficientsDisplay.from_estimator(model)

# %%
# One client: the prediction, its explanation, and the certified interval.

client = X.iloc[[7]]
print(explain_local(model, client)[0])
low, high = prediction_interval(model, certificate, client)[0]
print(f"with certified interval {low:.0f} to {high:.0f}")
ContributionsDisplay.from_estimator(model, client)

# %%
# What would lower the prediction by 50, if neither age nor claim history can change?

prediction = float(model.predict(client)[0])
print(
    counterfactual(
        model,
        client,
        target=prediction - 50,
        immutable=["age", "years without claim"],
        bounds={"kilometers": (1, 80)},
    )
)

# %%
# For colleagues who do not use Python: a report in one file, with a form for trying out a case.

import tempfile
from pathlib import Path

from motlm.report import render

with tempfile.TemporaryDirectory() as folder:
    report = render(
        model, X, y, Path(folder) / "insurance.html", title="Claim costs by typical clients"
    )
    print(report.name, f"{report.stat().st_size / 1e6:.1f} MB")
