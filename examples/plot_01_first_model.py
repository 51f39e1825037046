"""
A first model: fit, certify, explain
====================================

Fisher's irises: 150 flowers of three species, with four measurements each. The task is to recognize
the species versicolor. It lies between the other two, so that no linear model separates it from
both. A locality with a linear model of its own does, and the result is easy to read.
"""

# %%
# ``certify`` fits on half of the flowers here (``sealed=0.5``) and keeps the others sealed until
# the model is fixed. It assumes independent cases, so one flower that is in the table twice is
# dropped, and the rows, which are sorted by species, are shuffled; otherwise it would warn about
# both. The number of localities is selected too.

from sklearn.datasets import load_iris

from motlm import LocalMixtureClassifier
from motlm.certificates import certify

frame = (
    load_iris(as_frame=True)
    .frame.drop_duplicates()
    .sample(frac=1, random_state=0, ignore_index=True)
)
y = frame.pop("target").map({0: "other", 1: "versicolor", 2: "other"}).to_numpy()
X = frame
mixture = LocalMixtureClassifier(
    "auto", max_localities=3, local_models="linear", select="held-out", random_state=0
)
model, certificate = certify(mixture, X, y, sealed=0.5, population="flowers sampled like these")
model

# %%
# This is the complete model: where each locality lies, how its formula differs from the exterior's,
# and the formula of the exterior. A positive score means versicolor.

from motlm.explanations import explain_global

print(explain_global(model, X, y))

# %%
# This sentence can be quoted: it holds with the stated confidence, for this model and for flowers
# from the same population.

print(certificate.headline)

# %%
# The locality and its decision boundary, in the plane of petal length and petal width through the
# center:

from motlm.plotting import ContributionsDisplay, LocalitiesDisplay, PathDisplay

LocalitiesDisplay.from_estimator(
    model, X, y, features=["petal length (cm)", "petal width (cm)"], at=0
)

# %%
# The score of each number of localities on held-out flowers:

PathDisplay.from_estimator(model, by="n")

# %%
# One flower: the model used, and the contribution of each measurement to its score.

from motlm.explanations import counterfactual, explain_local

flower = X[model.apply(X) == 0].iloc[[3]]
print(explain_local(model, flower)[0])
ContributionsDisplay.from_estimator(model, flower)

# %%
# The smallest change that would give the other answer:

print(counterfactual(model, flower))
