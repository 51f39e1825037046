"""Attack on fits: rows and parameters at the extremes give a model with finite predictions, or an
error that says what to do; the same seed gives the same model.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor, Prior
from motlm.errors import ModelFileError, MotlmError
from motlm.explanations import explain_local
from motlm.targets import RATE_LOSSES

from . import values
from .chance import Chance
from .trials import Broken, Kind, is_raised, within

__all__ = ["FITS", "hostile_fit"]

_SECONDS = 30.0
_SAVED = 0.5  # share of the models that are saved
_TWICE, _PROCESSES = 0.3, 0.01  # shares of the fits that are repeated, also on two processes
_COMMON: dict[str, tuple[Any, ...]] = {
    "metric": ("manhattan", "chebyshev", "mahalanobis", "seuclidean", "cosine", "gower", "none"),
    "inverse_temperature": (0.1, 8.0, 1e-300, 1e-5, 1e5, 1e300, 0.0, -1.0, np.inf, [1.0, 4.0]),
    "select": ("bound", "nothing"),
    "validation_fraction": (0.5, 0.9, 0.01, 0.0, 1.0, np.nan),
    "n_starts": (2, 0, 1.5),
    "max_iter": (1, 2, 30, 0, -1, 10**400),
    "tol": (1e-3, 1.0, 1e300, 0.0, -1.0, 5e-324, np.nan, 10**400),
    "max_localities": (1, 0, 3, 10**9),
    "overlap": ("mean", "other"),
    "standardize": (False, False, "x"),
    "handle_unknown": ("error", "ignore", "x"),
    "random_state": (None, 2**32 - 1, -1, "x"),
    "verbose": (0, -1),
    "warm_start": (True,),
    "max_time": (1e-9, 0.0, -1.0, 60.0, 1e300),
}
_OWN: dict[bool, dict[str, tuple[Any, ...]]] = {
    True: {
        "loss": ("zero-one", "zero-one", "x"),
        "coef_scale": ("unit", "x"),
        "combine": ("any", "x"),
        "class_weight": (
            *("balanced", "x", {0: 3.0}, {0: 1e-300, 1: 1e100}, {0: 1e-30}, {1: 0.0}),
            *({0: -1.0}, {0: np.nan}, {"a": 1.0}, {1: 1e300}, {0: 10**400}),
        ),
    },
    False: {"loss": ("squared", "poisson", "gamma", "x"), "power": (1.0001, 1.9999, 2.0, "x")},
}
_LABELS: tuple[tuple[Any, ...], ...] = (
    *(("ja", "nein"), (True, False), (-1, 1), (1e308, 5e-324), ("", "\0"), ("a", "\ud800")),
    *((0, 0), (1, 2**53), ("ja", "nein", "doch", "nie"), (3, -1, 0), (1e308, 5e-324, -0.0)),
    *(("", "\0", " "), (0, 0, 1), (1, 2**53, 2**53 + 1), (1.0, 2.5, 3.0), ("a", "B", "b", "A")),
    (-1e300, 0.0, 1e300, np.inf),
)
_OF_LOCALITIES: dict[str, tuple[Any, ...]] = {
    "locality_features": (
        *("all", "all", "ball", "ball", 1, 1, 2, 3, 10**6),
        *("x", 0, -1, True, 1.5, None, 10**400, np.int64(2)),
    ),
    "locality_columns": (
        *(0, [0], [0], [1, 0], (0,), range(1), np.array([0])),
        *([], "c0", ["c0"], ["c0", "text"], "text", [0, 0], [-1], [99], [True], None, 1.5, [[0]]),
    ),
    "locality_widths": (
        *("equal", "equal", 1.0, [1.0], [1.0, 2.0], {0: 1.0}, {"c0": 2.0}, [1e-300], [1e300, 1.0]),
        *("x", [], {}, [0.0], [-1.0], [np.nan], [np.inf], None, [None], ["x"], 10**400, [True]),
    ),
    "corrections": ("own", "own", "all", "all", "none", "none", "x", None),
    "centers": ("rows", "rows", "x", None),
}
_PRIORS = ("coef_scale", "intercept_scale", "radius_shape", "radius_rate", "center_scale", "coef")
_KINDS: tuple[Any, ...] = (
    np.float32,
    np.float16,
    np.int64,
    np.int8,
    np.uint8,
    bool,
    object,
    str,
    "frame",
    "list",
)


class Fit:
    """What `fit` is called with."""

    def __init__(self, chance: Chance) -> None:
        self.classify = chance.likely(0.5)
        self.parameters: dict[str, Any] = {
            "n_localities": chance.pick((0, 1, 1, 2)),
            "inverse_temperature": 2.0 if self.classify else 16.0,
            "n_starts": 1,
            "random_state": 0,
        }
        n, d = chance.pick((2, 3, 4, 6, 10, 20, 30, 30)), chance.pick((1, 1, 2, 2, 3))
        count = chance.pick((2, 2, 3, 3, 4, 30)) if self.classify else 0  # of classes
        rng = chance.numpy()
        self.X: Any = rng.normal(size=(n, d))
        self.y: Any = rng.permutation(np.arange(n) % count) if count else rng.normal(size=n)
        self.weight: Any = None
        self.exposure: Any = None
        kind = f"{count} labels" if self.classify else "numbers"
        if not self.classify and chance.likely(0.5):
            kind = self.parameters["loss"] = chance.pick(RATE_LOSSES)
            self.parameters["inverse_temperature"] = 1.0
            self.y = rng.gamma(2.0, size=n) if kind == "gamma" else 1.0 * rng.poisson(1.5, size=n)
        chance.note(f"{kind}, {n} rows of {d} columns")

    def estimator(self, **more: Any) -> Any:
        made = LocalMixtureClassifier if self.classify else LocalMixtureRegressor
        return made(**self.parameters | more)

    @property
    def reproducible(self) -> bool:
        wanted = self.parameters
        return wanted.get("max_time") is None and wanted.get("random_state") is not None


def hostile_fit(chance: Chance) -> Fit:
    """Random rows and parameters, with some changes."""
    fit = Fit(chance)
    for step in chance.steps(chance.pick((0, 1, 1, 2, 2, 3, 4))):
        step.pick(_CHANGES)(step, fit)
    if chance.likely(0.15):
        for step in chance.step():
            _kind(step, fit)
    return fit


def _scale(chance: Chance, fit: Fit) -> None:
    """A column, or all, at another scale or place."""
    j = chance.whole(-1, fit.X.shape[1] - 1)
    scale, shift = chance.pick(values.EXTREMES), chance.pick((0.0, 0.0, *values.EXTREMES))
    chance.note(f"column {j if j >= 0 else '*'} times {scale:g} plus {shift:g}")
    columns = slice(None) if j < 0 else [j]
    fit.X[:, columns] = fit.X[:, columns] * scale + shift


def _rows(chance: Chance, fit: Fit) -> None:
    """Constant, equal, few, single values; missing ones."""
    what = chance.pick(("constant", "equal", "steps", "one far", "nan", "inf", "twice", "huge one"))
    chance.note(f"rows: {what}")
    j, i = chance.whole(0, fit.X.shape[1] - 1), chance.whole(0, len(fit.X) - 1)
    if what == "constant":
        fit.X[:, j] = chance.pick(values.EXTREMES)
    elif what == "equal":
        fit.X[:] = fit.X[0]
    elif what == "steps":
        fit.X = np.round(fit.X)
    elif what == "twice":
        fit.X, fit.y = np.tile(fit.X, (2, 1)), np.tile(fit.y, 2)
        fit.weight = fit.exposure = None
    else:
        far = {"one far": 1e6, "nan": np.nan, "inf": -np.inf, "huge one": 1.7e308}
        fit.X[i, j] = far[what]


def _target(chance: Chance, fit: Fit) -> None:
    if fit.classify:
        labels = chance.pick(_LABELS)
        chance.note(f"labels {labels!r}")
        codes = np.unique(fit.y, return_inverse=True)[1] % len(labels)
        fit.y = np.array([labels[one] for one in codes.tolist()])
        return
    scale, shift = chance.pick(values.EXTREMES), chance.pick((0.0, 0.0, *values.EXTREMES))
    chance.note(f"target times {scale:g} plus {shift:g}")
    fit.y = fit.y * scale + shift


def _weights(chance: Chance, fit: Fit) -> None:
    """Of the rows, or their exposures."""
    what = chance.pick(("one", "spread", "scale", "zero", "negative", "few", "nan", "short"))
    n = len(fit.X)
    weight = np.ones(n)
    scale = chance.pick(values.EXTREMES)
    chance.note(f"weights: {what} {scale:g}")
    if what == "spread":
        weight = 10.0 ** np.linspace(0, chance.pick((1, 20, 40, 300)), n)
    elif what == "scale":
        weight *= scale
    elif what == "zero":
        weight[: n // 2] = 0.0
    elif what == "few":
        weight[1:] = 0.0
    elif what in ("negative", "nan"):
        weight[0] = -1.0 if what == "negative" else np.nan
    made = weight[:-1] if what == "short" else weight
    if not fit.classify and chance.likely(0.4):
        chance.note("as exposures")
        fit.exposure = made
    else:
        fit.weight = made


def _parameter(chance: Chance, fit: Fit) -> None:
    options = {**_COMMON, **_OWN[fit.classify]}
    name = chance.pick(list(options))
    value = chance.pick(options[name])
    chance.note(f"{name}={values.shown(value)}")
    fit.parameters[name] = value


def _columns(chance: Chance, fit: Fit) -> None:
    """Some parameters of localities, with points of interest or without."""
    for name in chance.some(list(_OF_LOCALITIES), 3):
        value = chance.pick(_OF_LOCALITIES[name])
        chance.note(f"{name}={values.shown(value)}")
        fit.parameters[name] = value
    if chance.likely(0.3):
        _points(chance, fit)


def _localities(chance: Chance, fit: Fit) -> None:
    value = chance.pick(("auto", 3, 5, 100, -1, 1.5, None, 10**400))
    chance.note(f"n_localities={values.shown(value)}")
    fit.parameters["n_localities"] = value
    fit.parameters["max_localities"] = 2


def _points(chance: Chance, fit: Fit) -> None:
    point = np.zeros((chance.pick((1, 2)), fit.X.shape[1])) + chance.pick((0.0, *values.EXTREMES))
    chance.note(f"points of interest at {point[0, 0]:g}")
    fit.parameters["points_of_interest"] = point


def _prior(chance: Chance, fit: Fit) -> None:
    made = {name: chance.pick(values.EXTREMES) for name in chance.some(_PRIORS, 2)}
    chance.note(f"prior {made}")
    fit.parameters["prior"] = made


_CHANGES = (
    *(_scale, _scale, _scale, _rows, _target, _weights, _weights),
    *(_parameter, _parameter, _localities, _points, _prior, _columns, _columns, _columns),
)


def _kind(chance: Chance, fit: Fit) -> None:
    """Rows of another type."""
    kind = chance.pick(_KINDS)
    chance.note(f"rows of {kind if isinstance(kind, str) else kind.__name__}")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "frame":
            fit.X = pd.DataFrame(fit.X, columns=[f"c{j}" for j in range(fit.X.shape[1])])
            fit.X["text"] = [chance.pick(("x", "y", "\0", "")) for _ in range(len(fit.X))]
        elif kind == "list":
            fit.X, fit.y = fit.X.tolist(), fit.y.tolist()
        else:
            fit.X = fit.X.astype(kind)


# -- what must hold --------------------------------------------------------------------------------


def attempt(chance: Chance, folder: Path) -> str:
    with np.errstate(all="ignore"):
        fit = hostile_fit(chance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            with within(_SECONDS, "fit"):
                model = _fitted(fit)
        except (ValueError, TypeError, MotlmError) as error:
            if not isinstance(error, MotlmError) and not is_raised(error):
                raise
            return f"refused: {type(error).__name__}"
        try:
            _check(model, fit)
        except MotlmError as error:
            return f"accepted, then predict: {type(error).__name__}"
        _check_localities(model, fit.parameters)
        if chance.likely(_SAVED):
            _check_file(model, folder)
        if fit.reproducible and chance.likely(_TWICE):
            _repeat(fit, model, n_jobs=2 if chance.likely(_PROCESSES / _TWICE) else None)
    return "accepted"


def _fitted(fit: Fit, **more: Any) -> Any:
    parameters = fit.parameters
    if isinstance(parameters.get("prior"), dict):
        more = {**more, "prior": Prior(**parameters["prior"])}
    given = {"sample_weight": fit.weight, "exposure": fit.exposure}
    given = {name: one for name, one in given.items() if one is not None}
    return fit.estimator(**more).fit(fit.X, fit.y, **given)


def _check(model: Any, fit: Fit) -> None:
    answers = model.predict(fit.X)
    if len(answers) != len(fit.X):
        raise Broken(f"{len(answers)} predictions for {len(fit.X)} rows")
    if fit.classify:
        shares = model.predict_proba(fit.X)
        if not ((shares >= 0) & (shares <= 1)).all() or not np.allclose(shares.sum(axis=1), 1.0):
            raise Broken(f"probabilities {shares}")
        own = shares[np.arange(len(shares)), np.searchsorted(model.classes_, answers)]
        if (own < shares.max(axis=1)).any():  # scores of 1e-17 have equal probabilities
            raise Broken(f"answers {answers} with probabilities {shares}")
        _check_scores(model, fit, answers)
    elif not np.isfinite(answers).all():
        raise Broken(f"predictions {answers}")
    elif model.loss != "squared" and (answers < 0).any():
        raise Broken(f"rates {answers}")
    explain_local(model, fit.X)


def _check_localities(model: Any, asked: dict[str, Any]) -> None:
    """Columns, widths and corrections are those that were asked for."""
    posterior = model.posterior_
    layout = posterior.layout
    if layout is None:
        return
    for weight in layout.column_weight:
        own = weight[weight > 0]
        if not len(own) or abs(np.log(own).mean()) > 1e-9:
            raise Broken(f"weights of columns {weight}")
        if asked.get("locality_widths") == "equal" and (own != 1).any():
            raise Broken(f"unequal weights of columns {weight}")
        most = asked.get("locality_features")
        by_points = asked.get("points_of_interest") is not None
        if isinstance(most, (int, np.integer)) and not by_points and len(own) > most:
            raise Broken(f"{len(own)} columns of a locality where {most} were asked for")
    if not layout.pooled:
        return
    gap = posterior.coef[:-1] - posterior.coef[-1:]
    fixed = layout.corrected == 0
    if (gap * (fixed[:, None] if gap.ndim > 2 else fixed)).any():
        raise Broken(f"corrections {gap} where only {layout.corrected} may be corrected")
    for one in model.localities_:
        if not one.where or "as everywhere" not in one.correction():
            raise Broken(f"{one.where!r}, {one.correction()!r}")


def _check_file(model: Any, folder: Path) -> None:
    """It can be saved, but for texts that no file takes and metrics that are functions."""
    try:
        path = model.save(folder / "model.json")
    except ModelFileError as error:
        if "cannot be written" in str(error):
            return
        raise
    if motlm.load(path).mixture_.hash != model.mixture_.hash:
        raise Broken("another hash after save and load")


def _check_scores(model: Any, fit: Fit, answers: Any) -> None:
    """The scores, votes and sets of a classifier."""
    count, odds, votes = (
        len(model.classes_),
        model.decision_function(fit.X),
        model.vote_proba(fit.X),
    )
    shape = (len(fit.X),) if count == 2 else (len(fit.X), count)
    if odds.shape != shape or not np.isfinite(odds).all():
        raise Broken(f"decision_function {odds}")
    if count > 2 and (model.classes_[odds.argmax(axis=1)] != answers).any():
        raise Broken(f"answers {answers} with scores {odds}")
    if not ((votes > 0) & (votes <= 1)).all() or not np.allclose(votes.sum(axis=1), 1.0):
        raise Broken(f"votes {votes}")
    sets = model.predict_set(fit.X)
    if not all(answer in one.tolist() for answer, one in zip(answers.tolist(), sets, strict=True)):
        raise Broken(f"answers {answers} with sets {sets}")


def _repeat(fit: Fit, model: Any, n_jobs: int | None) -> None:
    again = _fitted(fit, n_jobs=n_jobs)
    if again.mixture_.hash != model.mixture_.hash:
        raise Broken(f"another model from the same seed, n_jobs={n_jobs}")


FITS = Kind("fits", "fits", attempt, time.monotonic, chunk=10, patience=120.0)
