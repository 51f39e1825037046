"""
Model files, SQL and ONNX
=========================

An approved model has to run where the data are. This example writes a model of the irises to a JSON
file, a plain Python function, an SQL expression and an ONNX graph, and checks that all of them give
the same answers.
"""

# %%
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

import motlm
from motlm import LocalMixtureClassifier
from motlm.plotting import LocalitiesDisplay

X, y = load_iris(return_X_y=True, as_frame=True)
model = LocalMixtureClassifier(1, local_models="linear", select="held-out", random_state=0).fit(
    X, y == 1
)
LocalitiesDisplay.from_estimator(
    model, X, y == 1, features=["petal length (cm)", "petal width (cm)"]
)

# %%
# **A file** that is readable and safe to open, since it contains no code:

with tempfile.TemporaryDirectory() as folder:
    path = model.save(Path(folder) / "model.json")
    print(path.read_text()[:600], "...")
    again = motlm.load(path)
assert np.array_equal(again.predict_proba(X), model.predict_proba(X))

# %%
# **Python** without any package:

source = model.to_python()
print(source)
namespace = {}
exec(source, namespace)
assert all(
    namespace["predict"](row) == answer
    for row, answer in zip(X.to_dict("records"), model.predict(X), strict=True)
)

# %%
# **SQL**: one expression, here in SQLite.

with sqlite3.connect(":memory:") as database:
    X.to_sql("flowers", database, index=False)
    expression = model.to_sql()
    print(expression[:400], "...")
    answers = [answer for (answer,) in database.execute(f"SELECT {expression} FROM flowers")]
assert (np.array(answers) == model.predict(X)).all()

# %%
# **ONNX**, for services in any language (``pip install 'motlm[onnx]' onnxruntime``):

import onnxruntime

session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
name = session.get_inputs()[0].name
outputs = dict(
    zip(
        [one.name for one in session.get_outputs()],
        session.run(None, {name: X.to_numpy()}),
        strict=True,
    )
)
assert (model.classes_[outputs["label"].ravel()] == model.predict(X)).all()
print({name: value.ravel()[:3] for name, value in outputs.items()})
