"""
Metrics and units
=================

Wine (scikit-learn): 178 wines of three growers, by chemical analysis. The task is to recognize the
wines of the second grower. A locality is a ball, and a ball is defined by a metric, which can be
chosen if the points of interest are given.
"""

# %%
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score

from motlm import LocalMixtureClassifier

bunch = load_wine(as_frame=True)
X, y = (
    bunch.data[["alcohol", "color_intensity", "proline", "flavanoids"]],
    (bunch.target == 1).to_numpy(),
)
points = X.groupby(bunch.target).median()  # the typical wine of each grower
points

# %%
# Distances are computed between standardized columns, so that alcohol and proline have the same
# weight. Any of scikit-learn's metrics can be used, or a function of two rows.

scores = {}
for metric in ("euclidean", "manhattan", "chebyshev", "mahalanobis"):
    mixture = LocalMixtureClassifier(points_of_interest=points, metric=metric, random_state=0)
    scores[metric] = cross_val_score(mixture, X, y, cv=5)
pd.DataFrame(scores).agg(["mean", "std"]).T.round(3)

# %%
# In the Euclidean metric a ball has an extent along each column, in the column's own unit:

model = LocalMixtureClassifier(points_of_interest=points, random_state=0).fit(X, y)
extent = {
    f"locality {i}": dict(zip(X.columns, one.half_width, strict=True))
    for i, one in enumerate(model.localities_)
}
pd.DataFrame(extent).round(2)

# %%
from motlm.plotting import LocalitiesDisplay

LocalitiesDisplay.from_estimator(model, X, y, kind="projection")
