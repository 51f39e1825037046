"""
Localities that are found, and how many of them
===============================================

Banana (KEEL): 5300 points of two interlocking shapes, which no straight line separates. No point of
interest is given here: the balls are searched for, and their number is chosen on held-out rows.
"""

# %%
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from motlm import LocalMixtureClassifier
from motlm.datasets import load_keel

bunch = load_keel("banana")
X_train, X_test, y_train, y_test = train_test_split(
    bunch.data, bunch.target.astype(str), test_size=1500, random_state=0
)
model = LocalMixtureClassifier("auto", max_localities=4, random_state=0).fit(X_train, y_train)
line = LogisticRegression().fit(X_train, y_train)
print(f"one linear model    {line.score(X_test, y_test):.3f}")
print(f"{len(model.localities_)} localities        {model.score(X_test, y_test):.3f}")

# %%
# Each ball with its line, and the exterior's line outside of them:

from motlm.plotting import LocalitiesDisplay, PathDisplay

LocalitiesDisplay.from_estimator(model, X_test, y_test)

# %%
# What every number of localities gave. A reader who wants fewer formulas can see what that costs.

PathDisplay.from_estimator(model, by="n")
