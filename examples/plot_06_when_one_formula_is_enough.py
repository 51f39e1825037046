"""
When one formula is enough
==========================

Diabetes (scikit-learn): 442 patients, ten variables, and the progression of the disease after one
year. Not every data set needs localities, and a method should not find some where they do not help.
This example shows how many the search selects here.
"""

# %%
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_score, train_test_split

from motlm import LocalMixtureRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
model = LocalMixtureRegressor(
    "auto", max_localities=3, local_models="linear", select="held-out", random_state=0
).fit(X_train, y_train)
print(f"{len(model.localities_)} localities selected")
print(
    f"test R2: {model.score(X_test, y_test):.3f}, of ridge regression"
    f" {RidgeCV().fit(X_train, y_train).score(X_test, y_test):.3f}"
)

# %%
# The score of each number of localities on held-out rows:

from motlm.plotting import PathDisplay

PathDisplay.from_estimator(model, by="n")

# %%
# ``n_localities=0`` is one linear model, with a posterior over its weights. Its cross-validated
# score next to that of ridge regression:

one = LocalMixtureRegressor(0, local_models="linear", random_state=0)
print(f"no locality  {cross_val_score(one, X, y, cv=5).mean():.3f}")
print(f"ridge        {cross_val_score(RidgeCV(), X, y, cv=5).mean():.3f}")

# %%
print(one.fit(X, y).exterior_.formula())
