"""
A tariff: claim frequency of motor policies
===========================================

How many claims a year does a policy have? 163 212 Belgian motor policies of 1997, observed for up
to one year each (Denuit and Lang, 2004; Henckaerts and others, 2018; in the R package CASdatasets
as ``beMTPL97``). A model with ``loss="poisson"`` predicts a rate, and its formulas are read as
tariffs: a base rate, times a factor for each column. It is compared with a GLM, a GLM with splines,
gradient boosting, and an EBM where the package ``interpret`` is installed.

The table is read from ``insurance/beMTPL97.csv.gz`` in the folder named by ``MOTLM_DATA``. Where it
is missing, the example runs on made-up policies with the same columns, and says so.
"""

# %%
import logging
import os
from pathlib import Path

import numpy as np
import pandas as pd

NUMBERS = ["ageph", "bm", "power", "agec", "long", "lat"]
TEXTS = ["coverage", "sex", "fuel", "use", "fleet"]


def made_up(n: int = 20_000, seed: int = 0) -> pd.DataFrame:
    """Policies of no real person, of which young drivers follow a rule of their own."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "expo": np.where(rng.uniform(size=n) < 0.8, 1.0, rng.uniform(0.05, 1.0, n)),
            "coverage": rng.choice(["TPL", "TPL+", "TPL++"], n, p=[0.6, 0.25, 0.15]),
            "ageph": rng.normal(47, 15, n).clip(18, 95).round(),
            "sex": rng.choice(["female", "male"], n, p=[0.27, 0.73]),
            "bm": rng.poisson(3, n).clip(0, 22),
            "power": rng.normal(56, 19, n).clip(10, 240).round(),
            "agec": rng.gamma(3, 2.5, n).clip(0, 48).round(),
            "fuel": rng.choice(["diesel", "gasoline"], n, p=[0.3, 0.7]),
            "use": rng.choice(["private", "work"], n, p=[0.95, 0.05]),
            "fleet": rng.choice([0, 1], n, p=[0.97, 0.03]),
            "long": rng.uniform(2.6, 6.3, n),
            "lat": rng.uniform(49.5, 51.5, n),
        }
    )
    young = rng.uniform(size=n) < 0.15
    frame.loc[young, "ageph"] = rng.normal(24, 3, young.sum()).clip(18, 30).round()
    frame.loc[young, "bm"] = rng.normal(9, 2, young.sum()).clip(0, 22).round().astype(int)
    frame.loc[young, "power"] = rng.normal(80, 15, young.sum()).clip(10, 240).round()
    usual = -2.1 + 0.07 * (frame["bm"] - 3) + 0.003 * (frame["power"] - 56)
    theirs = -1.0 - 0.08 * (frame["ageph"] - 24) + 0.02 * (frame["power"] - 80)
    score = np.where(young, theirs, usual) - 0.15 * (frame["fuel"] == "gasoline")
    frame["nclaims"] = rng.poisson(frame["expo"] * np.exp(score))
    return frame


path = Path(os.environ.get("MOTLM_DATA", "~/.cache/motlm")).expanduser()
path = path / "insurance" / "beMTPL97.csv.gz"
real = path.exists()
table = pd.read_csv(path) if real else made_up()
if not real:
    print("insurance/beMTPL97.csv.gz was not found: these are made-up policies.\n")
table[NUMBERS] = table[NUMBERS].astype(float)
table["fleet"] = np.where(table["fleet"] == 1, "yes", "no")
print(f"{len(table)} policies, {table['expo'].sum():.0f} years, {table['nclaims'].sum()} claims")
table[["expo", "nclaims", *TEXTS, *NUMBERS]].head()

# %%
# A fifth of the policies is kept for the comparison. The measure is the Poisson deviance per year
# of exposure: smaller is better, and differences look small, since most of the deviance is chance.

from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import train_test_split

train, test = train_test_split(table, test_size=0.2, random_state=0)
X, X_test = train[NUMBERS + TEXTS], test[NUMBERS + TEXTS]
claims, years = train["nclaims"], train["expo"]


def deviance(rate: np.ndarray) -> float:
    actual = test["nclaims"] / test["expo"]
    return float(mean_poisson_deviance(actual, rate, sample_weight=test["expo"]))


found = {"mean rate": deviance(np.full(len(test), claims.sum() / years.sum()))}

# %%
# Learned localities
# ------------------
# One locality whose place is learned, and a model for all other policies, of which the local one is
# a correction. ``exposure`` is the time that each policy was observed; ``predict`` gives claims a
# year.

from motlm import LocalMixtureRegressor

learned = LocalMixtureRegressor(
    1, loss="poisson", local_models="linear", select="held-out", random_state=0
)
learned.fit(X, claims, exposure=years)
found["learned locality"] = deviance(learned.predict(X_test))
explained = learned.score(X_test, test["nclaims"], exposure=test["expo"])
print(f"{explained:.2%} of the deviance of the test policies is explained (D2)\n")
for locality in learned.localities_:
    print(f"{locality}\n    rate: {locality.correction()}")
print(f"all other policies: rate = {learned.exterior_.formula()}")

# %%
# The tariff of each model side by side: "base" is the rate of a policy with the reference values
# (and the first level of each category); a factor is for a change of the column by "per".

from motlm.explanations import explain_global, explain_local

tariff = explain_global(learned, X_test, test["nclaims"], exposure=test["expo"]).factors()
print(tariff.round(3).to_string(na_rep=""))

# %%
# Typical clients
# ---------------
# A pricing team may rather say for whom it wants a tariff of its own: here for a young driver of
# a powerful car and for a pensioner with an old one. How far their localities reach is learned; one
# that holds a few policies only says that no other tariff is needed there.

typical = pd.DataFrame(
    {
        "ageph": [23.0, 72.0],
        "bm": [9.0, 0.0],
        "power": [85.0, 45.0],
        "agec": [8.0, 14.0],
        "long": [4.4, 4.4],
        "lat": [50.8, 50.8],
        "coverage": ["TPL", "TPL"],
        "sex": ["male", "male"],
        "fuel": ["gasoline", "gasoline"],
        "use": ["private", "private"],
        "fleet": ["no", "no"],
    },
    index=["young driver", "pensioner"],
)
given = LocalMixtureRegressor(
    points_of_interest=typical,
    loss="poisson",
    local_models="linear",
    select="held-out",
    random_state=0,
)
given.fit(X, claims, exposure=years)
found["typical clients"] = deviance(given.predict(X_test))
for locality in given.localities_:
    print(f"{typical.index[locality.point]}: {locality.n_rows} policies")
    if locality.n_rows > 0.01 * len(X):
        print(f"    {locality.where}")
        print(f"    rate: {locality.correction()}")

# %%
# Why this price? The contributions of a policy are factors, too; in a locality they are relative to
# its typical client.

inside = given.apply(X_test) < len(given.localities_)
print(explain_local(given, X_test[inside][:1])[0])

# %%
# Other models
# ------------
# A GLM, a GLM with splines of the numbers, and gradient boosting, all of scikit-learn, with the
# same exposures.

from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, SplineTransformer, StandardScaler

one_hot = OneHotEncoder(drop="first")
splines = SplineTransformer(n_knots=6, knots="quantile")
boosting = HistGradientBoostingRegressor(
    loss="poisson", learning_rate=0.05, max_leaf_nodes=15, early_stopping=True, random_state=0
)
others = {
    "GLM": make_pipeline(
        make_column_transformer((StandardScaler(), NUMBERS), (one_hot, TEXTS)),
        PoissonRegressor(alpha=1e-5, max_iter=1000),
    ),
    "GLM with splines": make_pipeline(
        make_column_transformer((splines, NUMBERS), (one_hot, TEXTS)),
        PoissonRegressor(alpha=1e-5, solver="newton-cholesky"),
    ),
    "boosting": make_pipeline(
        make_column_transformer((OrdinalEncoder(), TEXTS), remainder="passthrough"), boosting
    ),
}
rates = {"learned locality": learned.predict(X_test), "typical clients": given.predict(X_test)}
for name, pipeline in others.items():
    step = pipeline.steps[-1][0]
    pipeline.fit(X, claims / years, **{f"{step}__sample_weight": years})
    rates[name] = pipeline.predict(X_test)
    found[name] = deviance(rates[name])

try:
    from interpret.glassbox import ExplainableBoostingRegressor
except ImportError:
    print("the package interpret is not installed: no EBM.")
else:
    logging.getLogger("interpret").setLevel(logging.WARNING)
    ebm = ExplainableBoostingRegressor(objective="poisson_deviance", outer_bags=4, n_jobs=1)
    ebm.fit(X, claims / years, sample_weight=years)
    rates["EBM"] = ebm.predict(X_test)
    found["EBM"] = deviance(rates["EBM"])

print(pd.Series(found, name="deviance per year").round(4).to_string())

# %%
# Lift
# ----
# The test policies by predicted rate, in ten groups of equal exposure: the steeper, the better the
# model separates good from bad risks; and actual rates should be as expected.

from motlm.plotting import LiftDisplay

LiftDisplay.from_estimator(learned, X_test, test["nclaims"], test["expo"])

# %%
# The same for boosting:

LiftDisplay.from_predictions(test["nclaims"], rates["boosting"], test["expo"])

# %%
# Actual over expected in each locality: is any group of clients priced too low?

LiftDisplay.from_estimator(learned, X_test, test["nclaims"], test["expo"], kind="locality")
