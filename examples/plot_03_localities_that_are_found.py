"""
Learning the localities and their number
========================================

Banana (KEEL): 5300 points in two interlocking shapes, which no straight line separates. No points
of interest are given here: the localities are learned, and their number is selected on held-out
rows.
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
model = LocalMixtureClassifier(
    "auto", max_localities=4, local_models="linear", select="held-out", random_state=0
).fit(X_train, y_train)
line = LogisticRegression().fit(X_train, y_train)
print(f"one linear model    {line.score(X_test, y_test):.3f}")
print(f"{len(model.localities_)} localities        {model.score(X_test, y_test):.3f}")

# %%
# Each of them in a sentence. A locality that looks at one column is an interval, in two columns it
# is an ellipse.

for number, locality in enumerate(model.localities_):
    print(f"locality {number}, {locality}")

# %%
# The localities with their decision boundaries, and the boundary of the exterior model outside:

from motlm.plotting import LocalitiesDisplay, PathDisplay

LocalitiesDisplay.from_estimator(model, X_test, y_test)

# %%
# The score of each number of localities, which shows the cost of using fewer formulas:

PathDisplay.from_estimator(model, by="n")
