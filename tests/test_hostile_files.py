"""Model files made to do harm: `load` refuses them, or gives a model that works, in bounded time
and memory. The large search for such files is in tests/attack.
"""

from __future__ import annotations

import copy
import json
import pickle
import random
import subprocess
import sys
import warnings
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_files import change, document_of, frame

import motlm
from motlm import (
    LocalMixtureClassifier,
    LocalMixtureRegressor,
    ModelFileError,
    MotlmError,
    TableNotes,
    bends,
)
from motlm.certificates._words import confidence
from motlm.datasets import make_clf_case1, make_reg_case2
from motlm.errors import InputError
from motlm.explanations import counterfactual, explain_local
from motlm.files import checksum, from_document
from motlm.files._mixture import MOST_KNOTS, POINTS
from motlm.files._scan import LARGEST, MOST, measure
from motlm.files._text import render
from motlm.loading import estimator_of
from motlm.search import catoni_bound

QUICK = {"inverse_temperature": 2.0, "local_models": "linear", "n_starts": 1, "random_state": 0}
NUMBERS = [0, -0.0, -1, 5e-324, 1e-308, 1e-30, 1e30, 1e155, 1.7e308, 2**53, 2**63, 10**400]
STRANGE = [*NUMBERS, None, True, "x", "\ud800", "\0", [], {}, [[]], 1e99, -1e99]


@pytest.fixture(scope="module")
def models() -> dict[str, tuple[Any, Any]]:
    X, y = make_clf_case1(80, random_state=0)
    line, target = make_reg_case2(80, random_state=0)
    table, label = frame(60)
    points = [[-1, 0], [1, 0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = {
            "given": (LocalMixtureClassifier(points_of_interest=points, **QUICK).fit(X, y), X),
            "learned": (LocalMixtureRegressor(2, overlap="mean", **QUICK).fit(line, target), line),
            "table": (
                LocalMixtureClassifier(points_of_interest=table[:2], **QUICK).fit(table, label),
                table,
            ),
        }
        score = table["a"].abs() + (table["c"] == "x")
        options = {"points_of_interest": table[:2], **QUICK}
        made |= {
            "columns": (LocalMixtureRegressor(2, locality_features=2, **QUICK), score),
            "every": (LocalMixtureRegressor(1, locality_features="all", **QUICK), score),
            "equal": (
                LocalMixtureRegressor(1, locality_features=3, locality_widths="equal", **QUICK),
                score,
            ),
            "named": (
                LocalMixtureRegressor(1, locality_columns=["c", "a", "same"], **QUICK),
                score,
            ),
            "widths": (LocalMixtureClassifier(**options), label),
            "given widths": (
                LocalMixtureClassifier(
                    locality_columns=["a", "flag"], locality_widths=[0.5, 1.0], **options
                ),
                label,
            ),
            "independent": (LocalMixtureRegressor(1, corrections="none", **QUICK), score),
            "rows": (LocalMixtureRegressor(2, centers="rows", **QUICK), score),
            "balls": (LocalMixtureClassifier(1, loss="zero-one", **QUICK), label),
            "gower": (LocalMixtureRegressor(1, centers="rows", metric="gower", **QUICK), score),
        }
        bent = QUICK | {"local_models": "additive"}
        three = np.array(["p", "q", "r"])[np.digitize(score, [0.6, 1.2])]
        made |= {
            "additive": (LocalMixtureRegressor(1, **bent), score),
            "additive classes": (LocalMixtureClassifier(1, **bent), three),
            "additive rate": (LocalMixtureRegressor(1, loss="gamma", **bent), score + 0.1),
            "additive apart": (LocalMixtureRegressor(1, corrections="none", **bent), score),
        }
        for name, (model, outcome) in list(made.items()):
            if not hasattr(model, "mixture_"):
                made[name] = model.fit(table, outcome), table
                assert model.localities_, name
        for metric in ("seuclidean", "mahalanobis"):
            model = LocalMixtureClassifier(points_of_interest=points[:1], metric=metric, **QUICK)
            made[metric] = model.fit(X, y), X
    made["table"][0].table_ = TableNotes("label", "client", {"a": 0.25, "c": "<z>"}, (0.5, -0.1))
    return made


def use(model: Any, X: Any) -> None:
    """All that one does with a model works, or is an error of motlm's; predictions are finite."""
    for name in ("predict", "predict_proba", "decision_function", "membership_proba", "apply"):
        with suppress(MotlmError):
            found = getattr(model, name)(X) if hasattr(model, name) else np.zeros(1)
            assert found.dtype.kind != "f" or np.isfinite(found).all(), name
    target = {} if hasattr(model, "classes_") else {"target": 1.0}
    for other in (
        lambda: str(explain_local(model, X)),
        lambda: counterfactual(model, X[:1], **target),
        model.to_python,
        model.to_sql,
        lambda: document_of(model),
        lambda: pickle.loads(pickle.dumps(model)).predict(X),
        lambda: repr(model.localities_),
    ):
        with suppress(MotlmError):
            other()


# -- every entry -----------------------------------------------------------------------------------


def places(part: Any, place: tuple = ()) -> Any:
    """Of all entries; of lists, the first and the last one."""
    if place:
        yield place
    if isinstance(part, dict):
        for name in part:
            yield from places(part[name], (*place, name))
    elif isinstance(part, list):
        for i in sorted({0, len(part) - 1} & set(range(len(part)))):
            yield from places(part[i], (*place, i))


@pytest.mark.parametrize(
    "name",
    [
        *("learned", "table", "seuclidean", "columns", "named", "given widths", "rows", "gower"),
        *("additive", "additive classes", "additive rate"),
    ],
)
def test_strange_values_anywhere(name: str, models) -> None:
    """One in each place; each third model that is loaded all the same is used."""
    model, X = models[name]
    document, chance, loaded = document_of(model), random.Random(0), 0
    document["provenance"]["fingerprint"]["sketches"] = []
    for place in places(document):
        if place[0] == "checksum":
            continue
        bad = change(document, place, copy.deepcopy(chance.choice(STRANGE)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                again = estimator_of(from_document(bad))
            except ModelFileError as error:
                str(error).encode()  # half of a pair of surrogates could not be printed
                continue
            loaded += 1
            if loaded % 3 == 0:
                use(again, X[:4])


# -- reproducers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "place", "value", "match"),
    [
        ("given", ("parameters", "tol"), 10**400, "a number that a computer can hold"),
        ("given", ("parameters", "tol"), 1.7e308, "its parameters are not sound: tol must be"),
        ("given", ("parameters", "inverse_temperature"), [10**400], "too many digits"),
        ("given", ("parameters", "random_state"), -1, "not sound: random_state must be"),
        ("given", ("parameters", "n_jobs"), 0, "not sound: n_jobs must be"),
        ("given", ("parameters", "points_of_interest"), [[1.0]], "points_of_interest has 1 col"),
        ("given", ("parameters", "overlap"), "mean", "but the model is read by 'nearest'"),
        ("given", ("parameters", "metric"), "precomputed", "metric='precomputed'"),
        ("given", ("posterior", "radius_shape", 0), 1e-308, "radius_shape must lie between 0.5"),
        ("given", ("posterior", "radius_shape", 0), 1e30, "radius_shape must lie between 0.5"),
        ("given", ("posterior", "radius_rate", 0), 1e-308, "radius_mean must lie between"),
        ("given", ("posterior", "radius_rate", 0), 0, "radius_mean must lie between"),
        ("learned", ("posterior", "radius_rate", 0), 1e30, "radius_mean must lie between 1e-06"),
        ("learned", ("posterior", "center_scale", 0), 0, "center_scale must lie between 0.001"),
        ("learned", ("posterior", "center_scale", 0), 1e30, "center_scale must lie between"),
        ("given", ("posterior", "coef", 0, 0), 1.7e308, "coef must lie between"),
        ("given", ("posterior", "intercept_scale", 0), 5e-324, "intercept_scale must lie between"),
        ("given", ("geometry", "radius", 0), 1e155, "geometry.radius does not agree"),
        ("given", ("inputs", "center", 0), 1.7e308, "inputs.center should lie within"),
        ("given", ("inputs", "inverse_scale", 0), 5e-324, "inverse_scale should be 0, or"),
        ("learned", ("target", "scale"), 1.7e308, "target.scale should be a number between"),
        ("learned", ("target", "scale"), 5e-324, "target.scale should be a number between"),
        ("given", ("target", "classes"), [1.0, -1.0], "two different labels in order"),
        ("given", ("target", "classes"), [0.5, 0.75], "two different labels"),
        ("given", ("target", "classes"), [1, "a"], "labels of type float64"),
        ("table", ("target", "classes", 0), "\ud800", "surrogates not allowed"),
        ("table", ("inputs", "levels", 2, 0), "\udfff", "surrogates not allowed"),
        ("table", ("inputs", "levels", 2, 0), "y", "a list of the levels of 'c'"),
        ("table", ("table", "target"), "\ud800", "surrogates not allowed"),
        ("table", ("table", "calibration", 0), 1.7e308, "numbers within 1e"),
        ("table", ("table", "fill", "a"), 1.7e308, "table.fill.a should be a number between"),
        ("table", ("library",), [], "library should be a text"),
        ("given", ("provenance", "fingerprint", "keys"), [], "the hashes of 80 rows"),
        ("given", ("provenance", "n_rows", 0), 81, "at most the 80 rows of the fingerprint"),
        ("given", ("provenance", "most_localities"), 2**53, "an integer between 0 and 1000"),
        ("given", ("provenance", "searched_localities"), 1, "different numbers below 1"),
        ("given", ("provenance", "inverse_temperature"), 0, "a number between 1e-30"),
        ("given", ("provenance", "prior", "radius_rate"), 1e-308, "prior is not sound"),
        ("given", ("provenance", "path", 0, "stage"), "x", "one of search, without, final"),
        ("seuclidean", ("geometry", "metric", "arguments", "V", 0), -1.0, "positive variances"),
        ("seuclidean", ("geometry", "metric", "arguments", "V", 0), 5e-324, "positive variances"),
        (
            "mahalanobis",
            ("geometry", "metric", "arguments", "VI"),
            [[1, 2], [2, 1]],
            "positive variances, or their inverse",
        ),
        (
            "mahalanobis",
            ("geometry", "metric", "arguments", "VI"),
            [[1, 0.5], [0, 1]],
            "positive variances, or their inverse",
        ),
    ],
)
def test_refused(name: str, place: tuple, value: object, match: str, models) -> None:
    with pytest.raises(ModelFileError, match=match):
        from_document(change(document_of(models[name][0]), place, value))


WEIGHT, OWN = ("posterior", "column_weight", 0), ("posterior", "corrected", 0)
LAID = [  # the columns that vary are a, size, c=x, c=y, flag
    ("columns", WEIGHT, [-1.0, 0, 0, 0, 0], "column_weight must be 0, or lie between 1e-08 and 1e"),
    ("columns", WEIGHT, [1e-9, 1e9, 0, 0, 0], "column_weight must be 0, or lie between"),
    ("columns", WEIGHT, [5e-324, 0, 0, 0, 0], "column_weight must be 0, or lie between"),
    ("columns", WEIGHT, [2.0, 0, 0, 0, 0], "column_weight must have the geometric mean 1; got 2"),
    ("columns", WEIGHT, [2.0, 0.50001, 0, 0, 0], "must have the geometric mean 1; got 1.00001"),
    ("columns", WEIGHT, [0.0] * 5, "column_weight should be positive in at most 2 of them"),
    ("columns", WEIGHT, [1.0, 1.0, 0, 0, 1.0], "column_weight should be positive in at most 2"),
    ("columns", WEIGHT, [0, 0, 1.0, 0, 0], "should be 0 in columns that localities may not look"),
    ("columns", WEIGHT, [1.0] * 4, "posterior.column_weight should have shape"),
    ("every", WEIGHT, [1.0, 0, 0, 0, 0], "column_weight should be positive in all of them"),
    ("equal", WEIGHT, [2.0, 0.5, 0, 0, 0], "should be 0 or 1, as widths are equal"),
    ("columns", OWN, [1.0] * 5, "corrected should be that of corrections = 'own'"),
    ("columns", OWN, [0.0] * 5, "corrected should be that of corrections = 'own'"),
    ("columns", (*OWN, 0), 0.5, "corrected should be numbers 0 and 1; got 0.5"),
    ("columns", (*OWN, 0), -1, "corrected should be numbers 0 and 1; got -1"),
    ("columns", (*OWN, 0), True, "corrected should be numbers; got True"),
    ("independent", OWN, [0.0] * 5, "corrected should be that of corrections = 'none'"),
    ("columns", ("posterior", "pooled"), False, "pooled should be True, as the geometry has it"),
    ("independent", ("posterior", "pooled"), True, "pooled should be False, as the geometry"),
    ("columns", ("posterior", "pooled"), 1, "pooled should be true or false"),
    ("columns", ("posterior", "column_weight"), KeyError, "column_weight is missing"),
    ("columns", ("geometry", "most"), -1, "geometry.most should be an integer between 0 and"),
    ("columns", ("geometry", "most"), 2**53, "geometry.most should be an integer between 0 and"),
    ("columns", ("geometry", "most"), 0, "column_weight should be positive in all of them"),
    ("columns", ("geometry", "most"), 2.0, "geometry.most should be an integer"),
    ("columns", ("geometry", "columns"), [], "geometry.columns should be different numbers"),
    ("columns", ("geometry", "columns"), [0, 0], "geometry.columns should be different numbers"),
    ("columns", ("geometry", "columns"), [0, 6], "different numbers below 6"),
    ("columns", ("geometry", "columns"), [-1], "geometry.columns should be 1 integers >= 0"),
    ("columns", ("geometry", "columns"), [5], "should be 0 in columns that localities may not"),
    ("columns", ("geometry", "columns"), [2, 3], "should be 0 in columns that localities may not"),
    ("columns", ("geometry", "columns"), "a", "geometry.columns should be a list"),
    ("columns", ("geometry", "corrections"), "all", "corrected should be that of corrections = 'a"),
    ("columns", ("geometry", "corrections"), "none", "pooled should be False"),
    ("columns", ("geometry", "corrections"), "some", "corrections should be one of own, all, none"),
    ("columns", ("geometry", "widths"), None, "geometry.widths should be true or false"),
    ("columns", ("geometry", "low", 0), 1e6, "geometry.low should be at most high"),
    ("columns", ("geometry", "low", 0), -1e300, "geometry.low should be numbers within 1e"),
    ("columns", ("geometry", "whole", 0), 1, "values true or false"),
    ("columns", ("geometry", "kind"), "balls", "unknown entries"),
    ("balls", ("geometry", "corrections"), "own", "unknown entries 'geometry.corrections'"),
    ("balls", ("posterior", "pooled"), True, "unknown entries 'posterior.pooled'"),
    ("balls", ("geometry", "kind"), "localities", "the entry geometry.columns is missing"),
    ("widths", ("posterior", "center", 0, 0), 3.0, "center should be that of the geometry"),
    ("widths", (*WEIGHT, 0), 0.0, "must have the geometric mean 1"),
    ("widths", ("geometry", "learned_widths"), False, "column_weight should be that of the geom"),
    ("widths", ("geometry", "corrections"), "none", "corrections should be one of own, all; got"),
    ("given widths", WEIGHT, [1.0, 0, 0, 0, 1.0], "column_weight should be that of the geometry"),
    ("given widths", ("geometry", "weights", 0), [1.0] + [0.0] * 5, "column_weight should be that"),
    ("given widths", ("geometry", "weights", 0), [0.0] * 6, "positive for some columns that vary"),
    ("given widths", ("geometry", "weights", 0, 5), 1.0, "positive for some columns that vary"),
    ("given widths", ("geometry", "weights", 0, 0), -1.0, "weights must be 0, or lie between"),
    ("given widths", ("geometry", "weights", 0, 0), 3.0, "weights must have the geometric mean 1"),
    ("given widths", ("geometry", "metric", "name"), "manhattan", "'euclidean', as columns have w"),
    ("given widths", ("geometry", "learned_widths"), 0, "learned_widths should be true or false"),
    ("rows", ("geometry", "given", 0, 0), 40.0, "center should be that of the geometry"),
    ("rows", ("geometry", "row", 0), -1, "geometry.row should be 2 integers >= 0"),
    ("columns", ("parameters", "locality_features"), 0, "not sound: locality_features must be"),
    ("columns", ("parameters", "locality_features"), True, "not sound: locality_features must be"),
    ("columns", ("parameters", "locality_columns"), ["moon"], "has 'moon', which is not a column"),
    ("columns", ("parameters", "locality_columns"), "moon", "has 'moon', which is not a column"),
    ("columns", ("parameters", "locality_columns"), [], "locality_columns names no column"),
    ("columns", ("parameters", "locality_columns"), [5], "has 5, which is not a column of X"),
    ("columns", ("parameters", "locality_columns"), [True], "names or numbers of columns"),
    ("columns", ("parameters", "locality_columns"), [[0]], "names or numbers of columns"),
    ("columns", ("parameters", "locality_widths"), [1.0], "are for points_of_interest that are g"),
    ("columns", ("parameters", "locality_widths"), "wide", "locality_widths must be 'learned'"),
    ("columns", ("parameters", "corrections"), "some", "corrections must be one of"),
    ("columns", ("parameters", "centers"), "anywhere", "centers must be one of"),
    ("given widths", ("parameters", "locality_widths"), [1.0], "for each of the 2 columns"),
    ("given widths", ("parameters", "locality_widths"), [1.0, -1.0], "for each of the 2 columns"),
    ("given widths", ("parameters", "locality_widths"), [["a", 1.0]], "for each of the 2 columns"),
    ("given widths", ("parameters", "locality_widths"), [["b", 1.0]], "has 'b', which is not a"),
    ("given widths", ("parameters", "locality_widths"), [[1.0]], r"a list of \[label, weight\]"),
    ("given widths", ("parameters", "locality_widths"), {"a": 1}, "should be a plain value"),
    ("given widths", ("parameters", "locality_columns"), None, "got them alone"),
    ("widths", ("localities", 0, "half_width", 0, 1), None, "half_width does not agree"),
    ("columns", ("localities", 0, "center", 0, 1), 77.0, "center does not agree"),
]


@pytest.mark.parametrize(("name", "place", "value", "match"), LAID)
def test_layouts_that_do_not_fit_are_refused(
    name: str, place: tuple, value: object, match: str, models
) -> None:
    document = document_of(models[name][0])
    from_document(document)
    with pytest.raises(ModelFileError, match=match):
        from_document(change(document, place, value))


BENDS = ("inputs", "bends")
KNOTS, MIDDLE, SHARE = ((*BENDS, 0, name) for name in ("knots", "middle", "share"))
CURVED = [  # the encoded columns are a, size, c=x, c=y, flag, same; of which a and size bend
    (BENDS, [], "inputs.bends should be absent, or those of some columns"),
    (BENDS, None, "inputs.bends should be a list"),
    (BENDS, {}, "inputs.bends should be a list"),
    (BENDS, [3], "inputs.bends.0 should be an object"),
    ((*BENDS, 0), {}, "inputs.bends.0.column is missing"),
    ((*BENDS, 0, "column"), -1, "inputs.bends.0.column should be an integer between 0"),
    ((*BENDS, 0, "column"), 1, "bends.1.column should be a numeric column that varies, after"),
    ((*BENDS, 1, "column"), 0, "bends.1.column should be a numeric column that varies, after"),
    ((*BENDS, 1, "column"), 2, "bends.1.column should be a numeric column that varies"),
    ((*BENDS, 1, "column"), 5, "bends.1.column should be a numeric column that varies"),
    ((*BENDS, 1, "column"), 6, "bends.1.column should be a numeric column that varies"),
    ((*BENDS, 1, "column"), 2**53, "bends.1.column should be a numeric column that varies"),
    ((*BENDS, 0, "column"), 0.0, "bends.0.column should be an integer"),
    ((*BENDS, 0, "column"), True, "bends.0.column should be an integer"),
    ((*BENDS, 0, "more"), 1, "unknown entries 'inputs.bends.0.more'"),
    (KNOTS, KeyError, "inputs.bends.0.knots is missing"),
    (KNOTS, [], "bends.0.knots should be 2 to 256 numbers; got '0 of them'"),
    (KNOTS, [1.0], "bends.0.knots should be 2 to 256 numbers; got '1 of them'"),
    (KNOTS, list(range(257)), "bends.0.knots should be 2 to 256 numbers; got '257 of them'"),
    (KNOTS, [0.0, 0.0, 1.0], "bends.0.knots should be increasing, by more than 1e-12"),
    (KNOTS, [1.0, 0.0], "bends.0.knots should be increasing"),
    (KNOTS, [0.0, 1e-13, 1.0], "bends.0.knots should be increasing, by more than 1e-12"),
    (KNOTS, [0.0, 5e-324, 1e-300], "bends.0.knots should be increasing"),
    (KNOTS, [-1e300, 1e300], "bends.0.knots should be numbers within 1e"),
    (KNOTS, [0.0, 10**400], "bends.0.knots has a number of too many digits"),
    (KNOTS, [0.0, None], "bends.0.knots should be numbers; got None"),
    (KNOTS, [[0.0], [1.0]], "bends.0.knots should be numbers"),
    (KNOTS, [0.0, 1.0], "bends.0.middle should have shape"),
    ((*MIDDLE, 0), -0.1, "bends.0.middle should be numbers between 0 and 1"),
    ((*MIDDLE, 0), 1.1, "bends.0.middle should be numbers between 0 and 1"),
    ((*MIDDLE, 0), 1.7e308, "bends.0.middle should be numbers between 0 and 1"),
    (MIDDLE, [], "bends.0.middle should have shape"),
    (SHARE, [1.0], "bends.0.share should have shape"),
    (SHARE, None, "bends.0.share should have shape"),
    (SHARE, "many", "bends.0.share should have shape"),
    (("inputs", "varies", 0), False, "bends.0.column should be a numeric column that varies"),
    (("inputs", "bends"), KeyError, r"posterior\.\w+ should have shape"),
    (("posterior", "coef", 0), [1.0], "posterior.coef should have shape"),
    (("posterior", "coef", 1, -1), 1e101, "posterior.coef must lie between"),
    (("parameters", "local_models"), "bent", "local_models must be one of"),
    (("parameters", "local_models"), ["linear"], "local_models should be a plain value"),
    (("parameters", "local_models"), KeyError, "parameters should be"),
    (("parameters", "monotonic_cst"), KeyError, "parameters should be"),
    (("parameters", "monotonic_cst"), 1, "not sound: monotonic_cst must be None"),
    (("parameters", "monotonic_cst"), "up", "not sound: monotonic_cst must be None"),
    (("parameters", "monotonic_cst"), {"a": 1}, "monotonic_cst should be a plain value"),
    (("parameters", "monotonic_cst"), [1], "not sound: monotonic_cst must be None"),
    (("parameters", "monotonic_cst"), [2, 0, 0, 0, 0], "should be numbers -1, 0 and 1"),
    (("parameters", "monotonic_cst"), [True, 0, 0, 0, 0], "should be numbers -1, 0 and 1"),
    (("parameters", "monotonic_cst"), [1.0, 0, 0, 0, 0], "should be numbers -1, 0 and 1"),
    (("parameters", "monotonic_cst"), [["a", 1], 0], "should be numbers -1, 0 and 1"),
    (("parameters", "monotonic_cst"), [["a"]], r"should be a list of \[column, number\]"),
    (("parameters", "monotonic_cst"), [[0, 1]], r"should be a list of \[column, number\]"),
    (("parameters", "monotonic_cst"), [["a", 1], ["a", 1]], "should be different columns"),
    (("parameters", "monotonic_cst"), [["moon", 1]], "has 'moon', which is not a column of X"),
    (("parameters", "monotonic_cst"), [["c", 1]], "'c' holds categories, which neither"),
]


@pytest.mark.parametrize(("place", "value", "match"), CURVED)
def test_curves_that_do_not_fit_are_refused(
    place: tuple, value: object, match: str, models
) -> None:
    for name in ("additive", "additive rate"):
        document = document_of(models[name][0])
        assert [one["column"] for one in document["inputs"]["bends"]] == [0, 1]
        with pytest.raises(ModelFileError, match=match):
            estimator_of(from_document(change(document, place, value)))


def test_a_local_model_bends_like_the_exterior_unless_it_is_independent(models) -> None:
    """A correction is straight: else "as everywhere" would not be true."""
    document = document_of(models["additive"][0])
    corrected = np.array(document["posterior"]["corrected"])
    assert not corrected[:, 5:].any()
    bad = change(document, ("posterior", "corrected", 0, -1), 1.0)
    with pytest.raises(ModelFileError, match="corrected should be that of corrections = 'own'"):
        from_document(bad)
    exterior = document["posterior"]["coef"][-1][-1]
    bad = change(document, ("posterior", "coef", 0, -1), exterior + 1e-6)
    with pytest.raises(ModelFileError, match="coef should be that of the exterior, the last"):
        from_document(bad)
    apart = document_of(models["additive apart"][0])
    assert np.array(apart["posterior"]["corrected"]).all()


def test_the_number_of_points_is_bounded(models) -> None:
    """What is refused is refused before curves are made of it."""
    document = document_of(models["additive"][0])
    document["localities"] = document["localities"] * 1000
    fits = sum(len(one["knots"]) for one in document["inputs"]["bends"])
    assert 1001 * fits < POINTS
    knots = {"knots": list(range(64)), "middle": [0.5] * 63}
    document["inputs"]["bends"] = [{"column": j, **knots} for j in (0, 1)]
    names = [f"x{j}" for j in range(60)]
    wide = {"names": names, "levels": [None] * 60, "varies": [True] * 60, "center": [0.0] * 60}
    wide |= {"inverse_scale": [1.0] * 60, "typical": [0.0] * 60, "named": True}
    wide |= {"handle_unknown": "warn", "bends": [{"column": j, **knots} for j in range(60)]}
    document["inputs"], place = wide, ("geometry", "radius")
    for name, value in (("low", 0.0), ("high", 1.0), ("whole", False)):
        document["geometry"][name] = [value] * 60
    with pytest.raises(ModelFileError, match=r"curves of 3843840 points; at most 100000 are read"):
        from_document(change(document, place, [1.0] * 1000))
    assert MOST_KNOTS >= bends.KNOTS


def with_knots(model: Any, knots: list[float]) -> Any:
    """The model with other knots of its first column."""
    odd, mixture = copy.copy(model), model.mixture_
    first, *others = mixture.inputs.bends.each
    made = bends.Bend(0, np.array(knots, dtype=float), np.full(len(knots) - 1, 0.5))
    inputs = replace(mixture.inputs, bends=bends.Bends((made, *others)))
    start = int(inputs.varies.sum())
    kept = np.delete(
        np.arange(mixture.inputs.n_features), slice(start + len(made), start + len(first))
    )
    layout = mixture.posterior.layout
    posterior = replace(
        mixture.posterior,
        coef=mixture.posterior.coef[:, kept],
        layout=replace(layout, corrected=layout.corrected[:, kept]),
    )
    geometry = replace(mixture.geometry, n_ramps=inputs.n_ramps)
    odd.mixture_ = replace(mixture, inputs=inputs, posterior=posterior, geometry=geometry)
    return odd


@pytest.mark.parametrize(
    "knots", [[-1e250, 1e250], [0.0, 1e-300], [1.0, 1.0 + 1e-15], [0.0, 5e-324], [0, 1, 1e11]]
)
def test_any_knots_that_are_accepted_can_be_computed_with(knots: list[float], models) -> None:
    """However far apart or near they are, and wherever rows lie."""
    model, X = models["additive"]
    rows = X[:4].copy()
    rows["a"] = [-1e40, -1.0, 1e-310, 1e40]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        loaded = estimator_of(from_document(document_of(with_knots(model, knots))))
        use(loaded, rows)
        assert np.isfinite(loaded.predict(rows)).all()


@pytest.mark.parametrize("name", ["columns", "widths", "given widths", "rows"])
def test_a_local_weight_that_is_not_corrected_is_that_of_the_exterior(name: str, models) -> None:
    """Else a file would show "as everywhere" of a model that is not."""
    document = document_of(models[name][0])
    corrected = np.array(document["posterior"]["corrected"])
    assert corrected.any()
    for i, j in np.argwhere(corrected == 0):
        exterior = document["posterior"]["coef"][-1][j]
        bad = change(document, ("posterior", "coef", int(i), int(j)), exterior + 1e-6)
        with pytest.raises(ModelFileError, match="coef should be that of the exterior, the last"):
            from_document(bad)


def test_numbers_that_a_layout_may_have(models) -> None:
    """Whatever is accepted is shown by what it predicts by."""
    model, X = models["named"]
    document = document_of(model)
    assert document["geometry"]["columns"] == [2, 3, 0, 5]  # "same" was asked for, too
    assert from_document(document).mixture.geometry.candidates == (2, 3, 0)
    again = estimator_of(from_document(document))
    use(again, X[:4])


@pytest.mark.parametrize("place", [("exterior",), ("certificate",), ("table",)])
def test_texts_of_names_are_checked(place: tuple, models) -> None:
    document = document_of(models["given"][0])
    with pytest.raises(ModelFileError, match="surrogates not allowed"):
        from_document(change(document, place, {"\udc80": 1}))
    with pytest.raises(ModelFileError, match=r"should be|unknown|missing|not sound"):
        from_document(change(document, place, {"\\ud800, \U0001f600": 1}))


def test_too_many_localities(models) -> None:
    document = document_of(models["given"][0])
    many = change(document, ("localities",), document["localities"] * 501)
    with pytest.raises(ModelFileError, match="localities should be at most 1000; got 1002"):
        from_document(many)


def test_coefficients_that_do_not_add_up(models) -> None:
    """The intercept in the user's units would be infinite, and any number near it."""
    model, _ = models["given"]
    document = document_of(model)
    huge = change(document, ("posterior", "coef", 2, 0), 1e99)
    for place, value in ((("inputs", "center", 0), -1e249), (("inputs", "varies"), [True, True])):
        huge = change(huge, place, value)
    with pytest.raises(ModelFileError):
        from_document(huge)


# -- time and memory -------------------------------------------------------------------------------

HEAD = b'{"format": "motlm model", "schema": 4, "library": "", "x": '
BODIES = {
    "brackets": lambda n: b"[" * n,
    "one text": lambda n: b'"' + b"a" * n + b'"',
    "numbers": lambda n: b"[" + b"1.5," * (n // 4) + b"1]",
    "empty lists": lambda n: b"[" + b"[]," * (n // 3) + b"1]",
    "objects": lambda n: b"[" + b'{"a":1},' * (n // 8) + b"1]",
    "entries": lambda n: b"{" + b",".join(b'"%d":1' % i for i in range(n // 12)) + b"}",
    "texts": lambda n: b"[" + b",".join(b'"%d"' % i for i in range(n // 10)) + b"]",
    "white space": lambda n: b" " * n + b"1",
    "escapes": lambda n: b'"' + rb"\u0041" * (n // 6) + b'"',
    "integers": lambda n: b"[" + b",".join([b"1" * 4000] * (n // 4001)) + b"]",
    "a long number": lambda n: b"1" * n,
    "four bytes for each": lambda n: '"\U0001f600"'.encode() + b" " * n,
    "as much as is allowed": lambda n: (
        b"["
        + b",".join(b'["%06d",1.5]' % i for i in range(999_000))
        + b"]"
        + b" " * (n - 15 * 10**6)
    ),
    "longer when escaped": lambda n: (
        b"[" + b",".join([b'"' + "é".encode() * 32_000 + b'"'] * (n // 64_010)) + b"]"
    ),
}
CHILD = """
import json, re, sys, time
import motlm
motlm.load
refusals, began = {}, time.process_time()
for path in sys.argv[1:]:
    try:
        motlm.load(path)
    except motlm.ModelFileError as error:
        refusals[path] = str(error)
status = open("/proc/self/status").read()  # ru_maxrss would have that of the parent, too
most = int(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1]) / 1024
print(json.dumps([refusals, most, time.process_time() - began]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is of Linux")
def test_time_and_memory_are_bounded(tmp_path: Path) -> None:
    """Each file takes at most 500 MB and some two seconds; here they are of the full size only
    where that makes a difference, and time has room for slow machines.
    """
    full = ("as much as is allowed", "longer when escaped", "empty lists")
    paths = []
    for name, body in BODIES.items():
        paths.append(tmp_path / f"{name}.json")
        size = LARGEST if name in full else LARGEST // 16
        paths[-1].write_bytes(HEAD + body(size - 1000)[: size - 1000] + b"}")
    run = subprocess.run(
        [sys.executable, "-c", CHILD, *map(str, paths)], capture_output=True, text=True, check=True
    )
    refusals, megabytes, seconds = json.loads(run.stdout)
    assert set(refusals) == set(map(str, paths))
    assert megabytes < 500
    assert seconds < 20 * len(paths)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{}", {"depth": 1, "values": 2, "objects": 1}),
        ('{"a": [1, [2]]}', {"depth": 3, "texts": 1, "entries": 1, "values": 6}),
        (r'["[\"[", "\\", "\\\"]"]', {"depth": 1, "texts": 3, "values": 4}),
        ('["' + "x" * 99, {"depth": 1, "texts": 1, "longest_text": 100}),
        ('["é€"]', {"memory": 12}),
        ('["éé"]', {"memory": 6}),
        ('["\U0001f600"]', {"memory": 20}),
        ("1" * 1000, {"long_numbers": 2}),
        ("1" * 499, {"long_numbers": 0}),
        ('"' + "1" * 1000 + '"', {"long_numbers": 0}),
        ("", {"values": 1, "memory": 0}),
    ],
)
def test_what_a_text_would_take(text: str, found: dict) -> None:
    extent = measure(text.encode())
    assert {name: getattr(extent, name) for name in found} == found


def test_texts_are_counted_across_parts() -> None:
    for at in (999_998, 999_999, 1_000_000, 1_000_001):
        extent = measure(b" " * at + b'["' + b"[" * 1_500_000 + b'", [1]]')
        assert (extent.depth, extent.texts, extent.longest_text) == (2, 1, 1_500_001)


@pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
@pytest.mark.parametrize(
    ("columns", "options"),
    [
        (80_000, {"locality_features": "all", "corrections": "all"}),
        (80_000, {"locality_features": 2}),
        (80_000, {"points_of_interest": [[0.5]]}),
        (100_000, {"locality_features": "ball", "corrections": "none"}),
        (10_000, {"locality_features": 2, "local_models": "additive"}),
    ],
)
def test_a_wide_model_is_within_the_limits(columns: int, options: dict) -> None:
    """By what two narrow ones with a locality take; a name is shown ten times at most."""
    rng = np.random.default_rng(0)
    X, few, many = rng.normal(size=(300, 30)), 10, 30
    y = np.where(np.abs(X[:, 0]) < 1, 3 * X[:, 1], -X[:, 1])
    found = []
    for d in (few, many):
        points = options.get("points_of_interest")
        asked = {**options, "points_of_interest": None if points is None else X[:1, :d]}
        model = LocalMixtureRegressor(1, **QUICK | asked).fit(X[:, :d], y)
        assert len(model.localities_) == 1
        document = document_of(model)
        document["provenance"]["fingerprint"]["sketches"] = []
        data = render(document)
        extent = measure(data)
        found.append({"bytes": len(data), "values": extent.values, "texts": extent.texts})
    each = {name: (found[1][name] - found[0][name]) / (many - few) for name in found[0]}
    names = 10 * (len(str(columns)) - 2)
    assert (each["bytes"] + names) * columns < LARGEST
    assert each["values"] * columns + 10_000 < MOST.values
    assert each["texts"] * columns + 10_000 < MOST.texts


def test_the_checksum_is_that_of_the_whole_text() -> None:
    content = {
        "b": [["é\U0001f600", 1.5]] * 2500,
        "a": {"y": [], "x": {}, "z": [{"k": ["t" * 2**21, 1]}]},
        "numbers": list(range(1001)),
        "checksum": "x",
    }
    text = json.dumps({name: content[name] for name in ("a", "b", "numbers")}, sort_keys=True)
    assert checksum(content) == sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("delta", [5e-324, 1e-300, 1e-20])
def test_no_confidence_is_quoted_as_100_percent(delta: float) -> None:
    assert confidence(delta) == "99.999999999999 %"


def test_bounds_that_are_saved_are_finite() -> None:
    """An objective of 0 up to rounding, at the largest lambda."""
    assert np.isfinite(catoni_bound(-1e-17, 1e29, 100, 1))


@pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
def test_a_fit_that_could_not_be_saved_is_refused() -> None:
    X, y = make_reg_case2(60, random_state=0)
    model = LocalMixtureRegressor(1, inverse_temperature=1e-29, n_starts=1, random_state=0)
    model.set_params(locality_features="ball", corrections="none")
    with pytest.raises(InputError, match=r"objective is beyond the range of floats.*Divide y by"):
        model.fit(X, 1e148 * y)


def test_any_extreme_that_a_fit_reaches_is_saved(tmp_path: Path) -> None:
    X, y = make_reg_case2(60, random_state=0)
    for factor, temperature in ((1e100, 1e30), (1e-100, 1e-30), (1.0, 1e8)):
        model = LocalMixtureRegressor(1, inverse_temperature=temperature, n_starts=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(factor * X, factor * y)
        again = motlm.load(model.save(tmp_path / "m.json"))
        np.testing.assert_array_equal(again.predict(factor * X), model.predict(factor * X))
