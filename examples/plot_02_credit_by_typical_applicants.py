"""
Credit decisions around typical applicants
==========================================

German credit (KEEL): a thousand applicants of a bank, seven hundred of whom paid back (class 1).
The bank's staff think in types of applicants: young people with a small loan, older ones with a
large one. motlm uses such types as points of interest, learns the radius of each, and fits a
formula for each and one for all other applicants. The table is small and default is hard to
predict, so the example also shows a certificate that guarantees little.
"""

# %%
# Typical applicants are given in the columns and units of the table, categories included. They are
# based on experience and not computed from the table, since the rows that certify the model must
# not be used for choosing them.

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
# The model is fitted on 70 % of the rows; the others are sealed for the certificate.

from motlm import LocalMixtureClassifier
from motlm.certificates import certify
from motlm.explanations import counterfactual, explain_global, explain_local

mixture = LocalMixtureClassifier(
    points_of_interest=points, local_models="linear", select="held-out", random_state=0
)
model, certificate = certify(mixture, X, y, sealed=0.3, population="applicants like these")
print(explain_global(model, X, y))

# %%
# All certified statements. Three hundred sealed applicants are few. If nothing better than a
# trivial rule can be certified, the sentence begins with a flag; in that case a bank should not
# replace its rules by this model.

print(certificate)

# %%
# The coefficients of the formulas:

from motlm.plotting import CoefficientsDisplay

CoefficientsDisplay.from_estimator(model)

# %%
# An applicant who is refused may ask why, and what would have to change. Age and account status are
# fixed; the amount and the duration may change.

refused = X[model.predict(X) == "defaults"].iloc[[0]]
print(explain_local(model, refused)[0])
fixed = ["Age", "StatusAccount"]
print(counterfactual(model, refused, immutable=fixed, integer=["DurationMonth", "CreditAmount"]))
