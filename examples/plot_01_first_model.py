"""
A first model: read, certified, explained
=========================================

Fisher's irises: 150 flowers of three species, four lengths. Which are versicolor? That species lies
between the other two, so that no linear model can tell it from both. A ball with a linear model in
it can, and is still read at a glance.
"""

# %%
# ``certify`` fits on half of the flowers and keeps the others sealed until the model is fixed. It
# counts independent cases, so one flower that is in the table twice is dropped, and the rows, which
# are sorted by species, are shuffled; left as they are, it would warn of both. The number of balls
# is found, too.

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
mixture = LocalMixtureClassifier("auto", max_localities=3, random_state=0)
model, certificate = certify(mixture, X, y, population="flowers picked as these were")
model

# %%
# The model is this and nothing else. A positive score means versicolor.

from motlm.explanations import explain_global

print(explain_global(model, X, y))

# %%
# What may be quoted of it is a sentence: true with the stated confidence, for this model and for
# flowers like these.

print(certificate.headline)

# %%
# The ball and its line, in the plane of the two petal lengths through the center:

from motlm.plotting import ContributionsDisplay, LocalitiesDisplay, PathDisplay

LocalitiesDisplay.from_estimator(
    model, X, y, features=["petal length (cm)", "petal width (cm)"], at=0
)

# %%
# What every number of localities gave on held-out flowers:

PathDisplay.from_estimator(model, by="n")

# %%
# One flower: which formula spoke, and what each length added to its score.

from motlm.explanations import counterfactual, explain_local

flower = X[model.apply(X) == 0].iloc[[3]]
print(explain_local(model, flower)[0])
ContributionsDisplay.from_estimator(model, flower)

# %%
# And the smallest change that would give another answer:

print(counterfactual(model, flower))
