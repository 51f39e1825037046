"""
Metrics, and real cases as centers
==================================

Wine (scikit-learn): 178 wines of three growers, by chemical analysis. The task is to recognize the
wines of the second grower. Where a locality ends is a matter of distance, and the distance can be
chosen: if the points of interest are given, or if they are rows of the table, real cases.
"""

# %%
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score

from motlm import LocalMixtureClassifier, LocalMixtureRegressor

bunch = load_wine(as_frame=True)
X, y = (
    bunch.data[["alcohol", "color_intensity", "proline", "flavanoids"]],
    (bunch.target == 1).to_numpy(),
)
points = X.groupby(bunch.target).median()[1:]  # the typical wines of two growers
points

# %%
# Distances are computed between standardized columns, so that alcohol and proline have the same
# weight. Any of scikit-learn's metrics can be used, or a function of two rows. (Without
# ``locality_widths="equal"`` the Euclidean metric has a width for each column, which is learned.)

scores = {}
for metric in ("euclidean", "manhattan", "chebyshev", "mahalanobis"):
    mixture = LocalMixtureClassifier(
        points_of_interest=points,
        metric=metric,
        locality_widths="equal",
        local_models="linear",
        select="held-out",
        random_state=0,
    )
    scores[metric] = cross_val_score(mixture, X, y, cv=5)
pd.DataFrame(scores).agg(["mean", "std"]).T.round(3)

# %%
# In the Euclidean metric a ball has an extent along each column, in the column's own unit:

model = LocalMixtureClassifier(
    points_of_interest=points,
    locality_widths="equal",
    local_models="linear",
    select="held-out",
    random_state=0,
).fit(X, y)
extent = {
    f"locality {i}": dict(zip(X.columns, one.half_width, strict=True))
    for i, one in enumerate(model.localities_)
}
pd.DataFrame(extent).round(2)

# %%
from motlm.plotting import LocalitiesDisplay

LocalitiesDisplay.from_estimator(model, X, y, kind="projection")

# %%
# Centers that are rows
# ---------------------
# With ``centers="rows"`` points are found among the training rows. A locality is then the wines
# that are like one of them, which can be fetched from the cellar, and any metric will do.

for metric in ("euclidean", "cosine"):
    model = LocalMixtureClassifier(
        1, centers="rows", metric=metric, local_models="linear", select="held-out", random_state=0
    ).fit(X, y)
    [locality] = model.localities_
    print(locality)
X.iloc[[locality.row]]

# %%
# Tables with categories
# ----------------------
# Gower's distance is the mean over the columns of the gap between numbers, divided by their range,
# and of 0 or 1 for categories that are equal or not. What follows is made up: repairs cost more for
# young drivers of cars that run on gas.

rng = np.random.default_rng(0)
cars = pd.DataFrame(
    {
        "age": rng.integers(18, 80, size=600),
        "fuel": rng.choice(["diesel", "gas", "electricity"], size=600),
        "power": rng.normal(80, 20, size=600).round(),
    }
)
young = (cars.fuel == "gas") & (cars.age < 45)
cost = np.where(young, 100 + 8 * cars.power, 300 + cars.age) + rng.normal(0, 20, size=600)

mixture = LocalMixtureRegressor(
    1, centers="rows", metric="gower", local_models="linear", select="held-out", random_state=0
).fit(cars, cost)
[locality] = mixture.localities_
print(locality)
print(mixture.exterior_.formula())
print(locality.formula())
cars.iloc[[locality.row]]
