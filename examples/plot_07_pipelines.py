"""
Pipelines and grid search
=========================

A mixture is a scikit-learn estimator: it can be used in pipelines, grid searches and
cross-validation. This example uses the irises with some of their measurements missing.
"""

# %%
import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from motlm import LocalMixtureClassifier

X, y = load_iris(return_X_y=True, as_frame=True)
X, y = (
    X.mask(np.random.default_rng(0).uniform(size=X.shape) < 0.05),
    np.where(y == 1, "versicolor", "other"),
)
print(X.isna().sum())

# %%
# An imputer that returns a table keeps the names of the columns for the formulas.

fill = SimpleImputer(strategy="median").set_output(transform="pandas")
pipeline = make_pipeline(
    fill,
    LocalMixtureClassifier(2, n_starts=4, local_models="linear", select="held-out", random_state=0),
)
pipeline

# %%
grid = {
    "localmixtureclassifier__n_localities": [0, 1],
    "localmixtureclassifier__inverse_temperature": [1.0, 4.0, 16.0],
}
search = GridSearchCV(pipeline, grid, cv=4).fit(X, y)
results = pd.DataFrame(search.cv_results_).rename(
    columns=lambda name: name.removeprefix("param_localmixtureclassifier__")
)
results[["n_localities", "inverse_temperature", "mean_test_score", "std_test_score"]].round(3)

# %%
# The best score of a grid search is optimistic, since it is the best of several. The score of a
# nested cross-validation is not.

print(f"best score of the search {search.best_score_:.3f}")
print(f"nested cross-validation  {cross_val_score(search, X, y, cv=4).mean():.3f}")

# %%
from motlm.plotting import LocalitiesDisplay

best = search.best_estimator_[-1]
for number, locality in enumerate(best.localities_):
    print(f"locality {number}, {locality}: {locality.correction()}")
print(f"exterior:   {best.exterior_.formula()}")
LocalitiesDisplay.from_estimator(best, search.best_estimator_[0].transform(X), y)
