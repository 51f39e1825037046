"""
A regression with certified intervals
=====================================

Concrete (KEEL): the compressive strength of 1030 samples by their ingredients and age. Strength
grows fast in the first weeks and slowly thereafter, which one linear model cannot describe.
"""

# %%
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from motlm import LocalMixtureRegressor
from motlm.certificates import certify, prediction_interval
from motlm.datasets import load_keel

frame = load_keel("concrete", as_frame=True).frame.drop_duplicates()
X, y = (
    frame.drop(columns="ConcreteCompressiveStrength"),
    frame["ConcreteCompressiveStrength"].to_numpy(),
)
X_rest, X_test, y_rest, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
model, certificate = certify(
    LocalMixtureRegressor(3, local_models="linear", select="held-out", random_state=0),
    X_rest,
    y_rest,
    sealed=0.4,
    tolerance=15.0,
)
print(
    "R2 on test rows: one linear model"
    f" {LinearRegression().fit(X_rest, y_rest).score(X_test, y_test):.3f}"
)
print(f"                 {len(model.localities_)} localities     {model.score(X_test, y_test):.3f}")

# %%
# The formulas and the certified statements:

from motlm.explanations import explain_global

print(explain_global(model, X_test, y_test))
for name in ("tolerance", "explained", "interval"):
    print(f"\n{certificate[name].sentence}")

# %%
# Intervals for new samples, and the share of them that contains the true value:

band = prediction_interval(model, certificate, X_test)
inside = (band[:, 0] <= y_test) & (y_test <= band[:, 1])
print(f"{inside.mean():.1%} of {len(y_test)} test rows lie in their interval")

# %%
# Where the localities lie, along each column that they look at:

from motlm.plotting import StripsDisplay

for number, locality in enumerate(model.localities_):
    print(f"locality {number}, {locality}")
StripsDisplay.from_estimator(model, X_test)
