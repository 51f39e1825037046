"""Bad input, case by case, with the message that it gets."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.datasets import make_clf_case2
from motlm.errors import IdleLocalityWarning, InputError
from motlm.preprocessing import PoolRareLevels

BOTH = pytest.mark.parametrize("Estimator", [LocalMixtureClassifier, LocalMixtureRegressor])
QUICK = {
    "local_models": "linear",
    "n_localities": 1,
    "inverse_temperature": 2.0,
    "n_starts": 1,
    "random_state": 0,
}


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    return make_clf_case2(80, random_state=0)


def fit(Estimator, X, y, sample_weight=None, **parameters):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        warnings.simplefilter("ignore", IdleLocalityWarning)
        return Estimator(**(QUICK | parameters)).fit(X, y, sample_weight=sample_weight)


@BOTH
@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_not_finite(Estimator, value: float, word: str, rows) -> None:
    X, y = rows
    bad = X.copy()
    bad[7, 1] = value
    with pytest.raises(ValueError, match=f"Input X contains {word}: column 'x1', row 7"):
        fit(Estimator, bad, y, missing="error")
    frame = pd.DataFrame(bad, columns=["age", "income"])
    with pytest.raises(ValueError, match=f"Input X contains {word}: column 'income', row 7"):
        fit(Estimator, frame, y, missing="error")
    target = y.copy()
    target[3] = value
    with pytest.raises(ValueError, match=f"Input y contains {word}"):
        fit(Estimator, X, target)
    with pytest.raises(
        ValueError, match=f"Input points_of_interest contains {word}: column 'x0', row 1"
    ):
        fit(Estimator, X, y, points_of_interest=[[0.0, 0.0], [value, 1.0]])
    model = fit(Estimator, X, y, missing="error")
    with pytest.raises(ValueError, match=f"Input X contains {word}"):
        model.predict(bad)


def test_one_class_only(rows) -> None:
    X, y = rows
    with pytest.raises(
        ValueError, match=r"y has one class only, .*'a'.*, in 80 rows of positive weight"
    ):
        fit(LocalMixtureClassifier, X, np.array(["a"] * len(y)))
    with pytest.raises(ValueError, match="y has one class only"):
        fit(LocalMixtureClassifier, X, y, sample_weight=(y > 0).astype(float))


def test_labels_with_a_hole(rows) -> None:
    X, y = rows
    labels = np.where(y > 0, "yes", "no").astype(object)
    labels[5] = None
    with pytest.raises(ValueError, match="Input y contains NaN: column 'y', row 5"):
        fit(LocalMixtureClassifier, X, labels)


def test_more_classes_than_can_be_told_apart(rows) -> None:
    X, _ = rows
    X = np.repeat(X, 1 + 900 // len(X), axis=0)
    with pytest.raises(ValueError, match=r"y has 300 classes in \d+ rows; at most 256 can be told"):
        fit(LocalMixtureClassifier, X, np.arange(len(X)) % 300)


def test_continuous_target_for_a_classifier(rows) -> None:
    X, _ = rows
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        fit(LocalMixtureClassifier, X, np.linspace(0, 1, len(X)))


@BOTH
def test_points_with_the_wrong_columns(Estimator, rows) -> None:
    X, y = rows
    with pytest.raises(
        ValueError,
        match="points_of_interest has 3 columns but X has 2; give each point in the columns of X",
    ):
        fit(Estimator, X, y, points_of_interest=[[0.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="points_of_interest must be 2-D, one row for each point"):
        fit(Estimator, X, y, points_of_interest=[0.0, 0.0])
    with pytest.raises(ValueError, match="points_of_interest must be rows of numbers"):
        fit(Estimator, X, y, points_of_interest=[["old", 0.0]])
    frame = pd.DataFrame(X, columns=["age", "income"])
    with pytest.raises(
        ValueError,
        match=(
            r"should have the columns of X, \['age', 'income'\]; missing: \['age'\]; not in X:"
            r" \['Age'\]"
        ),
    ):
        fit(Estimator, frame, y, points_of_interest=pd.DataFrame({"Age": [1.0], "income": [2.0]}))


def test_points_in_another_column_order(rows) -> None:
    X, y = rows
    frame = pd.DataFrame(X, columns=["age", "income"])
    points = pd.DataFrame({"income": [0.75], "age": [0.1]})
    model = fit(LocalMixtureRegressor, frame, y, points_of_interest=points)
    np.testing.assert_allclose([locality.center for locality in model.localities_], [[0.1, 0.75]])
    numbered = fit(
        LocalMixtureRegressor,
        pd.DataFrame(X),
        y,
        points_of_interest=pd.DataFrame({1: [0.75], 0: [0.1]}),
    )
    assert numbered.objective_ == model.objective_


@BOTH
@pytest.mark.parametrize("n", [-1, 1.5, "two", True])
def test_n_localities_not_a_count(Estimator, n, rows) -> None:
    with pytest.raises(ValueError, match="n_localities must be 'auto' or an integer >= 0"):
        fit(Estimator, *rows, n_localities=n)


@BOTH
def test_more_localities_than_rows(Estimator, rows) -> None:
    X, y = rows
    with pytest.raises(ValueError, match="n_localities=81 is more than the 80 distinct rows"):
        fit(Estimator, X, y, n_localities=81)


@BOTH
def test_constant_column_is_said_and_does_not_count(Estimator, rows) -> None:
    X, y = rows
    wide = np.column_stack([X, np.full(len(X), 0.1)])
    with pytest.warns(UserWarning, match="constant in all training rows: 'x2'"):
        model = fit(Estimator, wide, y)
    assert model.exterior_.coef[2] == 0.0
    moved = wide.copy()
    moved[:, 2] = 1e6
    np.testing.assert_array_equal(model.predict(moved), model.predict(wide))
    without = fit(Estimator, X, y)
    assert model.objective_ == pytest.approx(without.objective_, rel=1e-6)
    np.testing.assert_array_equal(model.predict(wide), without.predict(X))
    with pytest.warns(UserWarning, match="constant in all training rows: 'x2'"):
        known = fit(
            Estimator,
            wide,
            y,
            points_of_interest=[[0.0, 0.0, 7.0]],
            metric=lambda a, b: abs(a[2] - b[2]) + abs(a[0] - b[0]),
        )
    assert all(locality.center[2] == 7.0 for locality in known.localities_)


@BOTH
def test_huge_column_beside_a_tiny_one(Estimator, rows) -> None:
    X, y = rows
    same = fit(Estimator, X, y, n_localities=0)
    for factor in ([1e12, 1e-12], 1e200, 1e-200):
        scaled = fit(Estimator, X * factor, y, n_localities=0)
        assert scaled.objective_ == pytest.approx(same.objective_, rel=1e-5)
        np.testing.assert_allclose(
            scaled.exterior_.coef * factor, same.exterior_.coef, rtol=1e-3, atol=1e-6
        )
    assert np.isfinite(fit(Estimator, X * [1e12, 1e-12], y).objective_)
    far = fit(Estimator, X * [1e-6, 1.0] + [1e6, 0.0], y)
    assert np.isfinite(far.predict(X * [1e-6, 1.0] + [1e6, 0.0]).astype(float)).all()


@BOTH
def test_more_columns_than_rows(Estimator, rng: np.random.Generator) -> None:
    X = rng.normal(size=(20, 60))
    y = np.sign(X[:, 0])
    model = fit(Estimator, X, y)
    assert np.isfinite(model.objective_)
    assert model.predict(X).shape == (20,)


@BOTH
def test_columns_of_one_name(Estimator, rng: np.random.Generator) -> None:
    X, y = pd.DataFrame(rng.normal(size=(40, 3)), columns=["age", "power", "income"]), np.arange(40)
    model = Estimator(0, inverse_temperature=4.0, random_state=0).fit(X, y > 20)
    twice = X.set_axis(["age", "power", "age"], axis=1)
    message = r"each column of X must have a name of its own; got 'age' 2 times. Rename one"
    for given in (twice, twice.assign(power="a")):
        with pytest.raises(ValueError, match=message):
            Estimator(0).fit(given, y > 20)
        with pytest.raises(ValueError, match=message):
            model.predict(given)
        with pytest.raises(ValueError, match=message):
            PoolRareLevels().fit(given)


@BOTH
def test_duplicate_rows_only(Estimator) -> None:
    X = np.ones((30, 2))
    if Estimator is LocalMixtureClassifier:
        with pytest.warns(UserWarning, match="constant in all training rows"):
            model = fit(Estimator, X, np.array([0, 1] * 15), n_localities=0)
        assert set(model.predict(X)) <= {0, 1}
    else:
        model = fit(Estimator, X, np.full(30, 7.0), n_localities=0)
        np.testing.assert_allclose(model.predict(X), 7.0)
    with pytest.raises(ValueError, match=r"is more than the [12] distinct rows"):
        fit(Estimator, X, np.array([0, 1] * 15), n_localities=3)


def test_constant_target_of_a_regression(rows) -> None:
    X, _ = rows
    np.testing.assert_allclose(
        fit(LocalMixtureRegressor, X, np.full(len(X), 5.0)).predict(X), 5.0, atol=1e-6
    )


@BOTH
def test_no_column_varies(Estimator) -> None:
    frame = pd.DataFrame({"country": ["here"] * 20})
    y = np.array([0.0, 1.0, 1.0, 1.0] * 5)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="constant in all")
        model = fit(Estimator, frame, y)
    assert model.localities_ == []
    np.testing.assert_allclose(
        model.predict(frame).astype(float),
        1.0 if Estimator is LocalMixtureClassifier else 0.75,
        atol=0.05,
    )


@BOTH
def test_weights(Estimator, rows) -> None:
    X, y = rows
    weight = np.ones(len(y))
    weight[4] = -2
    with pytest.raises(
        ValueError, match="Negative values in sample_weight: 1 of them, the first -2 at row 4"
    ):
        fit(Estimator, X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="all of sample_weight are zero"):
        fit(Estimator, X, y, sample_weight=np.zeros(len(y)))
    weight[4] = 0
    with_zero = fit(Estimator, X, y, sample_weight=weight)
    without = fit(Estimator, np.delete(X, 4, axis=0), np.delete(y, 4))
    assert with_zero.objective_ == without.objective_
    with pytest.raises(ValueError, match="contains NaN"):
        fit(Estimator, X, y, sample_weight=np.full(len(y), np.nan))


@BOTH
def test_metric_not_allowed(Estimator, rows) -> None:
    X, y = rows
    with pytest.raises(
        ValueError,
        match=(
            "metric='manhattan' needs points_of_interest, or centers='rows': free centers support"
            " the Euclidean metric only"
        ),
    ):
        fit(Estimator, X, y, metric="manhattan")
    with pytest.raises(ValueError, match="metric='crow' gave no distances"):
        fit(Estimator, X, y, metric="crow", points_of_interest=[[0.0, 0.0]])
    with pytest.raises(ValueError, match="metric='precomputed' has no rows to measure"):
        fit(Estimator, X, y, metric="precomputed", points_of_interest=[[0.0, 0.0]])
    with pytest.raises(ValueError, match="negative or not finite"):
        fit(Estimator, X, y, metric=lambda a, b: -1.0, points_of_interest=[[0.0, 0.0]])


@BOTH
@pytest.mark.parametrize("value", [0, -1.0, [1.0, 0.0], [], np.nan, "cold", ["a"], True])
def test_inverse_temperature_not_positive(Estimator, value, rows) -> None:
    with pytest.raises(ValueError, match=r"inverse_temperature .*must be"):
        fit(Estimator, *rows, inverse_temperature=value)


@BOTH
@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("solver", "sgd", "solver must be one of 'lbfgs', 'nadam'; got 'sgd'"),
        ("overlap", "median", "overlap must be one of 'nearest', 'mean'"),
        ("standardize", "no", "standardize must be one of True, False"),
        ("n_starts", True, "n_starts must be an integer >= 1"),
        ("n_starts", 0, "n_starts must be an integer >= 1"),
        ("max_iter", 0, "max_iter must be an integer >= 1"),
        ("tol", -1.0, "tol must be None or a number >= 0"),
        ("validation_fraction", 1.0, "validation_fraction must lie between 0 and 1"),
        ("prior", "flat", "prior must be None or a motlm.Prior; got str"),
        ("handle_unknown", "drop", "handle_unknown must be one of 'warn', 'ignore', 'error'"),
        ("corrections", "some", "corrections must be one of 'auto', 'own', 'all', 'none'; got"),
        ("corrections", None, "corrections must be one of 'auto', 'own', 'all', 'none'; got None"),
        ("corrections", np.ones(2), "corrections must be one of 'auto', 'own', 'all', 'none'"),
        ("centers", "row", "centers must be one of 'free', 'rows'; got 'row'"),
        ("centers", ["rows"], "centers must be one of 'free', 'rows'"),
        ("locality_widths", "same", "locality_widths must be 'learned', 'equal' or a number for"),
        ("locality_widths", None, "locality_widths in numbers are for points_of_interest"),
        ("locality_widths", [1.0, 2.0], "locality_widths in numbers are for points_of_interest"),
        ("locality_columns", [], "locality_columns names no column"),
        ("locality_columns", "x7", "locality_columns has 'x7', which is not a column of X; its"),
        ("locality_columns", ["x0", "X1"], "locality_columns has 'X1', which is not a column of X"),
        ("locality_columns", [2], "locality_columns has 2, which is not a column of X"),
        ("locality_columns", [-1], "locality_columns has -1, which is not a column of X"),
        ("locality_columns", True, "locality_columns has True, which is not a column of X"),
        ("locality_columns", ["x0", "x1", "x0"], "locality_columns names 'x0' twice"),
        ("locality_columns", [1, "x1"], "locality_columns names 'x1' twice"),
        ("locality_columns", 1.5, "locality_columns must be a list of names, or numbers"),
        ("locality_columns", [1.5], "locality_columns has 1.5, which is not a column of X"),
    ],
)
def test_parameters(Estimator, parameter: str, value, message: str, rows) -> None:
    with pytest.raises(ValueError, match=message):
        fit(Estimator, *rows, **{parameter: value})
    with pytest.raises(ValueError, match="coef_scale must be one of"):
        fit(LocalMixtureClassifier, *rows, coef_scale="fixed")


@BOTH
@pytest.mark.parametrize("value", [0, -1, 1.5, True, None, "two", "Ball", [1], np.nan, 10**30])
def test_locality_features_not_a_number_of_columns(Estimator, value, rows) -> None:
    with pytest.raises(ValueError, match="locality_features must be 'auto', 'all', 'ball' or a"):
        fit(Estimator, *rows, locality_features=value)


@BOTH
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"locality_widths": [1.0]}, "a positive number for each of the 2 columns"),
        ({"locality_widths": 3.0}, "a positive number for each of the 2 columns"),
        ({"locality_widths": [1.0, -2.0]}, r"a positive number .*; got \[1.0, -2.0\]"),
        ({"locality_widths": [1.0, 0]}, "a positive number for each"),
        ({"locality_widths": [1.0, np.nan]}, "a positive number for each"),
        ({"locality_widths": [1.0, np.inf]}, "a positive number for each"),
        ({"locality_widths": [True, 1]}, "a positive number for each"),
        ({"locality_widths": ["1", "2"]}, "a positive number for each"),
        ({"locality_widths": None}, "a positive number for each"),
        ({"locality_widths": {"age": 1.0}}, "a positive number for each"),
        (
            {"locality_widths": {"age": 1.0, "Power": 2}},
            "locality_widths has 'Power', which is not",
        ),
        (
            {"locality_widths": {"age": 1.0, "power": 2.0, "km": 3.0}},
            "locality_widths has 'km', which is not one of locality_columns",
        ),
        ({"locality_columns": None, "locality_widths": [1.0, 2.0]}, "locality_widths are of the"),
        ({"metric": "manhattan"}, "locality_columns are for the Euclidean metric; got metric='man"),
        ({"metric": "manhattan", "points_of_interest": None}, "needs points_of_interest"),
        (
            {"metric": "manhattan", "points_of_interest": None, "centers": "rows"},
            "are of the Euclidean metric; got them with metric='manhattan'",
        ),
        ({"centers": "rows"}, "centers='rows' is for points of interest that are found"),
        ({"solver": "nadam"}, r"solver='nadam' is of the paper's setting, .*\['age', 'power'\]"),
    ],
)
def test_columns_and_widths_of_points_that_are_given(
    Estimator, changes: dict, message: str, rows
) -> None:
    X, y = rows
    table = pd.DataFrame({"age": X[:, 0], "power": X[:, 1], "km": X.sum(axis=1)})
    given = {"points_of_interest": [[0.0, 0.0, 0.0]], "locality_columns": ["age", "power"]}
    fit(Estimator, table, y, **given, locality_widths={"power": 2, "age": 1.0})
    with pytest.raises(InputError, match=message):
        fit(Estimator, table, y, **(given | changes))


@pytest.mark.parametrize(
    "paper", [{"solver": "nadam"}, {"coef_scale": "unit"}, {"combine": "any"}], ids=str
)
def test_the_papers_setting_has_no_corrections(paper: dict, rows) -> None:
    [(name, value)] = paper.items()
    for kind in ("own", "all"):
        with pytest.raises(InputError, match=f"{name}='{value}' is of the paper's setting"):
            fit(LocalMixtureClassifier, *rows, loss="zero-one", corrections=kind, **paper)
    if name == "solver":
        for other in ({"locality_features": 2}, {"locality_features": "all"}, {"centers": "rows"}):
            with pytest.raises(InputError, match="is of the paper's setting"):
                fit(LocalMixtureClassifier, *rows, loss="zero-one", **other, **paper)


def test_columns_that_are_constant(rows) -> None:
    X, y = rows
    table = pd.DataFrame({"age": X[:, 0], "power": X[:, 1], "same": 1.0})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="constant in all training rows")
        with pytest.raises(InputError, match="all columns that locality_columns names are const"):
            fit(LocalMixtureRegressor, table, y, locality_columns="same")
        model = fit(LocalMixtureRegressor, table, y, locality_columns=["same", "age"])
    for locality in model.localities_:
        assert np.isfinite(locality.half_width).tolist() == [True, False, False]


@BOTH
def test_too_few_rows_to_choose_the_temperature(Estimator) -> None:
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    if Estimator is LocalMixtureClassifier:
        with pytest.warns(UserWarning, match="2 distinct rows are too few to hold some out"):
            model = fit(Estimator, X, y, n_localities=0, inverse_temperature="auto")
        assert model.inverse_temperature_ == 0.5
    else:
        assert fit(Estimator, X, y, n_localities=0, inverse_temperature="auto").predict(
            X
        ).shape == (2,)


@BOTH
def test_lengths_that_differ(Estimator, rows) -> None:
    X, y = rows
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit(Estimator, X, y[:-1])
