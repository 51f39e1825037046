"""
Where local models contradict each other
========================================

Localities may overlap, and where they do, their models may disagree. Many methods would average the
answers; motlm reports the contradiction, so that such cases can be referred to a person. This
example uses Banana (KEEL) with six given points of interest, the centers of clusters, and the
paper's loss, with which localities are balls that have independent models.
"""

# %%
from sklearn.cluster import KMeans
from sklearn.model_selection import train_test_split

from motlm import LocalMixtureClassifier
from motlm.datasets import load_keel

bunch = load_keel("banana")
X_train, X_test, y_train, y_test = train_test_split(
    bunch.data, bunch.target.astype(str), test_size=1500, random_state=0
)
points = KMeans(6, random_state=0, n_init=3).fit(X_train).cluster_centers_
mixture = LocalMixtureClassifier(
    points_of_interest=points, loss="zero-one", select="held-out", random_state=0
)
model = mixture.fit(X_train, y_train)
member, ambiguous = model.membership(X_test), model.ambiguous(X_test)
print(
    f"{(member.sum(axis=1) > 1).mean():.1%} of the rows lie in several balls,"
    f" {ambiguous.mean():.1%} have contradictory answers"
)

# %%
# The contradictions lie where balls with different formulas overlap:

from motlm.plotting import LocalitiesDisplay

display = LocalitiesDisplay.from_estimator(model, X_test, y_test)
display.ax_.scatter(
    *X_test[ambiguous].T, s=60, facecolors="none", edgecolors="black", label="contradictions"
)
display.ax_.legend()

# %%
# ``predict`` uses the model of the nearest center (or, with ``overlap="mean"``, the mean of all
# applicable models). ``predict_set`` returns all answers:

print(model.predict(X_test[ambiguous][:3]), model.predict_set(X_test[ambiguous][:3]))

# %%
# These few cases can be decided by a person; the accuracy on the others is higher.

print(f"accuracy on the others          {model.score(X_test[~ambiguous], y_test[~ambiguous]):.3f}")
print(f"accuracy where models disagree  {model.score(X_test[ambiguous], y_test[ambiguous]):.3f}")

# %%
# How often the model errs without a contradiction is certified too:

from motlm.certificates import audit

print(audit(model, X_test, y_test)["silent error"].sentence)
