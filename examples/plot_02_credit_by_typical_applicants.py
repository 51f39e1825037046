"""
Credit decisions around typical applicants
==========================================

German credit (KEEL): a thousand applicants of a bank, seven hundred of whom paid back (class 1).
The bank's staff think in types of applicants: young people with a small loan, older ones with a
large one. motlm takes such types as points of interest, finds how far each reaches, and fits a
formula for each and one for everybody else. This table is small and default is hard to foresee; so
we also see what is said when little can be promised.
"""

# %%
# Typical applicants are rows of the same table, in its own columns and units, categories included.
# They are written down from experience, not computed from the table: rows that are to certify the
# model must have no part in it.

import pandas as pd

from motlm.datasets import load_keel

frame = load_keel("german", as_frame=True).frame
y = frame["Customer"].astype(str).map({"1": "pays back", "2": "defaults"}).to_numpy()
columns = ["DurationMonth", "CreditAmount", "Age", "StatusAccount"]
X = frame[columns].astype({"StatusAccount": str})
points = pd.DataFrame(
    {
        "DurationMonth": [12, 36],
        "CreditAmount": [1300, 7500],
        "Age": [23, 45],
        "StatusAccount": ["A11", "A14"],
    },
    index=["young, small loan", "older, large loan"],
)
points

# %%
# The model is fitted on seven in ten rows; the others are sealed for the certificate.

from motlm import LocalMixtureClassifier
from motlm.certificates import certify
from motlm.explanations import counterfactual, explain_global, explain_local

mixture = LocalMixtureClassifier(points_of_interest=points, random_state=0)
model, certificate = certify(mixture, X, y, sealed=0.3, population="applicants like these")
print(explain_global(model, X, y))

# %%
# Everything that is certified. Three hundred sealed applicants are few. Where nothing better than a
# trivial rule can be promised, the sentence begins with that; a bank should not replace its rules
# by this model.

print(certificate)

# %%
# How the formulas differ:

from motlm.plotting import CoefficientsDisplay

CoefficientsDisplay.from_estimator(model)

# %%
# An applicant who is refused may ask why, and what would have to change. Age cannot; the amount and
# the duration may.

refused = X[model.predict(X) == "defaults"].iloc[[0]]
print(explain_local(model, refused)[0])
fixed = ["Age", "StatusAccount"]
print(counterfactual(model, refused, fixed=fixed, integer=["DurationMonth", "CreditAmount"]))
