"""
Curves, and where they are not enough
=====================================

Prices of homes that are made up: they rise with the size, fall and rise again with the age, and in
one corner of the town, near the river, they are higher. An additive model has a curve for each
column; what happens in the corner is no curve of one column, and becomes a locality.
"""

# %%
import numpy as np
import pandas as pd

from motlm import LocalMixtureRegressor
from motlm.plotting import ImportanceDisplay, ShapeDisplay

rng = np.random.default_rng(0)
homes = pd.DataFrame(
    {
        "size": rng.uniform(30, 200, 500).round(),
        "age": rng.uniform(0, 80, 500).round(),
        "east": rng.uniform(0, 10, 500).round(2),
        "north": rng.uniform(0, 10, 500).round(2),
    }
)
river = (homes["east"] > 6) & (homes["north"] > 6)
price = 2 * homes["size"] + 40 * np.cos(homes["age"] / 15) + 60 * river + rng.normal(0, 10, 500)

model = LocalMixtureRegressor(max_localities=2, random_state=0).fit(homes, price)
print(model.exterior_.formula())
for locality in model.localities_:
    print(locality.where)
    print(locality.correction())

# %%
# The curve of the age, with the posterior's spread and the density of the rows below:

ShapeDisplay.from_estimator(model, homes, columns=["age"])

# %%
# How much each column moves predictions, overall and in each region:

ImportanceDisplay.from_estimator(model, homes)

# %%
# What was compared, on rows left out:

print(pd.DataFrame(model.cv_results_).sort_values("rank_test_score").head())
print(f"R2 on rows left out: {model.cv_score_:.3f}")

# %%
# Those rows also say how far new prices will be from predictions:

print(model.predict_interval(homes.head(3), coverage=0.9).round())

# %%
# A model must not charge less for a larger home. Every formula then rises with the size:

rising = LocalMixtureRegressor(
    len(model.localities_), local_models="additive", monotonic_cst={"size": 1}, random_state=0
).fit(homes, price)
ShapeDisplay.from_estimator(rising, homes, columns=["size"])

# %%
# A formula of two terms, and what that costs:

short = LocalMixtureRegressor(
    len(model.localities_), local_models="additive", max_terms=2, random_state=0
).fit(homes, price)
print(short.exterior_.formula())
print(f"R2 of all rows: {short.score(homes, price):.3f}")
print(f"with all terms: {model.score(homes, price):.3f}")
