"""
Audit any model and compare it with an interpretable one
========================================================

Phoneme (KEEL): 5404 vowels, nasal or oral, by five harmonics. A random forest predicts better here.
``audit`` certifies it, or any other scikit-learn model, on rows not used for fitting, so that the
cost of interpretability can be stated in certified numbers.
"""

# %%
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from motlm import LocalMixtureClassifier
from motlm.certificates import audit
from motlm.datasets import load_keel

bunch = load_keel("phoneme", as_frame=True)
frame = bunch.frame.drop_duplicates()
X, y = frame[bunch.feature_names], frame[bunch.target_names[0]].astype(str).to_numpy()
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.4, random_state=0)
models = {
    "logistic regression": LogisticRegression(),
    "mixture of local models": LocalMixtureClassifier(
        "auto", max_localities=4, local_models="linear", select="held-out", random_state=0
    ),
    "support vector machine": SVC(),
    "random forest": RandomForestClassifier(random_state=0),
}
certificates = {
    name: audit(model.fit(X_train, y_train), X_new, y_new) for name, model in models.items()
}

# %%
# Each bound holds with its confidence. The first column is the error rate observed on the new rows.

rows = {name: certificate.headline.to_dict() for name, certificate in certificates.items()}
table = pd.DataFrame(
    {
        "observed error": {k: v["empirical"] for k, v in rows.items()},
        "certified bound": {k: v["value"] for k, v in rows.items()},
    }
)
table.round(4)

# %%
print(certificates["random forest"].headline)

# %%
# The mixture consists of a few formulas, and its certificate has more statements: the error rate in
# each locality, and how often the model errs although its local models agree.

print(certificates["mixture of local models"])

# %%
from motlm.plotting import RiskDisplay

RiskDisplay.from_certificate(certificates["mixture of local models"])
