"""Numbers at the ends of the range of floats: a model with finite predictions, or an error that
says what to do; never a warning of NumPy's. At ordinary scales nothing over- or underflows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor, MotlmError, Prior, Units, limits
from motlm.baselines import ClusteredLinearClassifier, ClusteredLinearRegressor, LeagueOfExperts
from motlm.certificates import certify
from motlm.datasets import make_clf_case1, make_clf_case2, make_reg_case1, make_twonorm
from motlm.errors import InputError, MotlmWarning, UnknownCategoryWarning
from motlm.explanations import explain_global, explain_local
from motlm.limits import FARTHEST, LARGEST_TARGET, power_of_two
from motlm.preprocessing import BoxRule, VarianceInflation, prepare
from motlm.special import solve
from motlm.targets import Binary

FAST: dict[str, Any] = {"n_starts": 1, "inverse_temperature": 4, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
LABELS = (X[:, 0] + 0.3 * RNG.normal(size=40) > 0).astype(int)
NUMBERS = X[:, 0] + 0.1 * RNG.normal(size=40)
TARGETS = {LocalMixtureClassifier: LABELS, LocalMixtureRegressor: NUMBERS}
BOTH = pytest.mark.parametrize("Estimator", list(TARGETS))


@pytest.fixture(autouse=True)
def no_warning_of_numpy() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MotlmWarning)
        warnings.simplefilter("error", RuntimeWarning)
        yield


def use(model: Any, rows: Any, folder: Path | None = None) -> None:
    """Everything that a model says of rows is finite."""
    assert np.isfinite(np.asarray(model.predict(rows), dtype=float)).all()
    assert np.isfinite(model.membership_proba(rows)).all()
    if hasattr(model, "predict_proba"):
        assert np.isfinite(model.predict_proba(rows)).all()
        assert np.isfinite(model.decision_function(rows)).all()
    explanation = explain_local(model, rows, X_train=rows)
    for part in (explanation.score, explanation.base, explanation.contributions):
        assert np.isfinite(part).all()
    for one in (*model.localities_, model.exterior_):
        assert np.isfinite([*one.coef, *one.coef_scale, one.intercept, one.intercept_scale]).all()
    assert np.isfinite([model.objective_, model.gibbs_risk_, model.kl_]).all()
    if folder is not None:
        again = motlm.load(model.save(folder / "model.json"))
        assert np.array_equal(again.predict(rows), model.predict(rows))


def fit(Estimator: Any, rows: Any, y: Any = None, weight: Any = None, **more: Any) -> Any:
    y = TARGETS[Estimator] if y is None else y
    return Estimator(**{"n_localities": 1, **FAST, **more}).fit(rows, y, weight)


# -- columns ---------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-8, 1e8, 1e16])
def test_columns_as_they_are(Estimator: Any, scale: float, tmp_path: Path) -> None:
    use(fit(Estimator, X * scale, standardize=False), X * scale, tmp_path)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis", "chebyshev", "sqeuclidean"])
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e16])
def test_metrics_of_columns_as_they_are(metric: str, scale: float, tmp_path: Path) -> None:
    rows = X * scale
    given = {"points_of_interest": rows[:2], "metric": metric, "standardize": False}
    use(fit(LocalMixtureClassifier, rows, **given), rows, tmp_path)


@BOTH
@pytest.mark.parametrize("scale", [1e-249, 1e-100, 1e100, 1e249])
def test_columns_in_standardized_units(Estimator: Any, scale: float, tmp_path: Path) -> None:
    rows = X * [scale, 1.0]
    use(fit(Estimator, rows), rows, tmp_path)
    given = fit(Estimator, rows, points_of_interest=rows[:2])
    use(given, rows)


SPREAD = np.where(X > 0, 1.7e308, -1.7e308)
OUTLIER = np.vstack([X[:-1], [[1e300, 0.0]]])
MIXED = X * [1e-300, 1e300]
REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "1.7e308": (SPREAD, {}, r"X has the number 1.7e\+308 in column 'x0', row 0; numbers up to"),
    "1.7e308 as it is": (SPREAD, {"standardize": False}, "numbers up to"),
    "outlier": (OUTLIER, {}, r"1e\+300 in column 'x0', row 39.*Divide the column"),
    "mixed": (MIXED, {}, "in column 'x1'"),
    "near 1e-322": (X * 1e-322, {}, "column 'x0' of X varies by .*Multiply the column"),
    "1e30 as it is": (X * 1e30, {"standardize": False}, "more than 1e\\+20 times 1, the unit"),
    "beyond integers": ([[10**400], [1], [2]] * 10, {"n": 30}, "too large to convert to float"),
    "long doubles": (X.astype(np.longdouble) * np.longdouble("1e4000"), {}, "infinity|numbers up"),
    "far point": (X, {"points_of_interest": [[1e300, 0.0]]}, "points_of_interest has the number"),
    "farther point": (X, {"points_of_interest": [[1e200, 0.0]]}, "points_of_interest has the n"),
    "point": (X, {"points_of_interest": [[10**400, 0.0]]}, "points_of_interest must be rows of"),
}


@BOTH
@pytest.mark.parametrize("name", REFUSED)
def test_columns_that_are_refused(Estimator: Any, name: str) -> None:
    rows, more, message = REFUSED[name]
    y = TARGETS[Estimator][: more.pop("n", 40) if "n" in more else 40]
    with pytest.raises(MotlmError, match=message):
        fit(Estimator, rows, y, **more)


def test_column_of_one_unit_in_the_last_place() -> None:
    rows = np.column_stack([X[:, 0], 1e16 + 2.0 * (X[:, 1] > 0)])
    with pytest.warns(MotlmWarning, match="constant in all training rows: 'x1'"):
        model = fit(LocalMixtureRegressor, rows)
    use(model, rows)


@BOTH
@pytest.mark.parametrize(
    "kind",
    [np.float16, np.float32, np.int64, np.uint64, bool, object],
    ids=lambda one: one.__name__,
)
def test_kinds_of_numbers(Estimator: Any, kind: Any, tmp_path: Path) -> None:
    ends: dict[Any, tuple[Any, Any]] = {
        np.float16: (-65504, 65504),
        np.float32: (-3.4e38, 3.4e38),
        np.int64: (-(2**63), 2**63 - 1),
        np.uint64: (0, 2**64 - 1),
        bool: (False, True),
        object: (-1e200, 1e200),
    }
    rows = np.where(X > 0, *(kind(one) if kind is not object else one for one in ends[kind]))
    use(fit(Estimator, rows.astype(kind)), rows.astype(kind), tmp_path)


def test_many_rows_of_float32() -> None:
    """Where numbers are beyond what float32 can square, float64 is computed with."""
    rows = np.tile(X, (1300, 1)) + 1e-3 * RNG.normal(size=(52_000, 2))
    y, weight = np.tile(NUMBERS, 1300), 10.0 ** RNG.uniform(-45, 45, 52_000)
    wide = (rows * 1e19).astype(np.float32)
    none = {"n_localities": 0, "max_iter": 5}
    for model in (
        fit(LocalMixtureRegressor, wide, y, standardize=False, **none),
        fit(LocalMixtureRegressor, rows.astype(np.float32), y, weight, **none),
    ):
        assert np.isfinite(model.predict(wide[:10])).all()


# -- rows to predict -------------------------------------------------------------------------------


@BOTH
def test_rows_far_away(Estimator: Any) -> None:
    model = fit(Estimator, X)
    use(model, [[1e40, 0.0], [-1e45, 1e45], [1e-320, 0.0]])
    for far in (1e308, 1e200, 1.01 * FARTHEST * 2.0):
        with pytest.raises(InputError, match=r"X has the number .* in column 'x0', row 1"):
            model.predict([[0.0, 0.0], [far, 0.0]])
    use(fit(Estimator, X, points_of_interest=[[1e45, 0.0]]), X)


@BOTH
def test_validation_rows_at_another_scale(Estimator: Any) -> None:
    y = TARGETS[Estimator]
    model = Estimator(1, n_starts=1, random_state=0)
    model.fit(X, y, X_val=X * 1e40, y_val=y)
    use(model, X)
    with pytest.raises(InputError, match="X_val has the number"):
        model.fit(X, y, X_val=X * 1e150, y_val=y)
    with pytest.raises(InputError, match="X_val has the number"):
        model.fit(X, y, X_val=X * 1e300, y_val=y)


def test_held_out_rows_at_another_scale() -> None:
    """Which rows are held out is chance: an outlier may be among them or not."""
    rows, y = X.copy(), NUMBERS.copy()
    rows[5, 0], y[7] = 1e30, 1e40
    for seed in range(3):
        model = LocalMixtureRegressor(1, n_starts=1, random_state=seed).fit(rows, y)
        use(model, rows)


# -- targets and weights ---------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-149, 1e-20, 1e20, 1e149])
def test_targets(scale: float, tmp_path: Path) -> None:
    plain = fit(LocalMixtureRegressor, X)
    model = fit(LocalMixtureRegressor, X, NUMBERS * scale)
    use(model, X, tmp_path)
    np.testing.assert_allclose(model.predict(X) / scale, plain.predict(X), atol=1e-3)
    explain_global(model, X, NUMBERS * scale)


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-300, -1e149])
def test_constant_targets(value: float, tmp_path: Path) -> None:
    model = fit(LocalMixtureRegressor, X, np.full(40, value))
    use(model, X, tmp_path)
    assert np.allclose(model.predict(X), value)


@pytest.mark.parametrize("scale", [1e155, 1e300, 1.7e307])
def test_targets_too_large(scale: float) -> None:
    with pytest.raises(InputError, match=r"y has the number .*Divide"):
        fit(LocalMixtureRegressor, X, NUMBERS * scale)


def test_targets_too_small() -> None:
    with pytest.raises(InputError, match=r"y varies by .*Multiply"):
        fit(LocalMixtureRegressor, X, NUMBERS * 1e-300)
    with pytest.raises(InputError, match="a coefficient of it would be of the order of 1e-3"):
        fit(LocalMixtureRegressor, X * 1e200, NUMBERS * 1e-140)
    with pytest.raises(InputError, match="y must be one number"):
        fit(LocalMixtureRegressor, X, [10**400] * 40)
    with pytest.raises(InputError, match="y must be one number"):
        fit(LocalMixtureRegressor, X, ["a"] * 40)


WEIGHTS: dict[str, Callable[[], Any]] = {
    "over 1e40": lambda: 10.0 ** RNG.uniform(-20, 20, 40),
    "over 1e300": lambda: 10.0 ** np.linspace(-250, 50, 40),
    "one heavy": lambda: np.where(np.arange(40) == 3, 1e40, 1.0),
    "one 5e-324": lambda: np.where(np.arange(40) == 3, 5e-324, 1.0),
    "almost all 5e-324": lambda: np.where(np.arange(40) < 2, 1.0, 5e-324),
    "all 1e-60": lambda: np.full(40, 1e-60),
    "all 1e60": lambda: np.full(40, 1e60),
}


@BOTH
@pytest.mark.parametrize("name", WEIGHTS)
def test_weights(Estimator: Any, name: str, tmp_path: Path) -> None:
    labels = np.arange(40) % 2
    y = labels if Estimator is LocalMixtureClassifier else NUMBERS
    use(fit(Estimator, X, y, WEIGHTS[name](), max_iter=30), X, tmp_path)


@BOTH
@pytest.mark.parametrize("weight", [1e300, 1e-300, 5e-324, 1.7e308, 10**400, np.inf, "a"])
def test_weights_that_are_refused(Estimator: Any, weight: Any) -> None:
    with pytest.raises(InputError, match="sample_weight"):
        fit(Estimator, X, weight=[weight] * 40)


# -- parameters ------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("inverse_temperature", value)
            for value in (1e300, 1e-300, 5e-324, 10**400, [1, 10**400])
        ),
        *((name, 10**400) for name in ("n_starts", "max_iter", "n_localities", "max_time", "tol")),
        *((name, 10**5000) for name in ("max_localities", "n_starts", "validation_fraction")),
        ("n_jobs", 0),
        ("n_jobs", "all"),
        ("random_state", -1),
        ("standardize", Units(np.array([np.nan, 0.0]), np.ones(2))),
        ("standardize", Units(np.zeros(2), np.array([np.inf, 1.0]))),
        ("standardize", Units(np.full(2, 1e200), np.ones(2))),
        ("standardize", Units(np.zeros(2), np.ones(2), 0.0, 1e-100)),
        ("standardize", Units(np.zeros(2), np.array(["a", "b"]))),  # type: ignore[arg-type]
    ],
    ids=lambda one: str(one)[:12] if not isinstance(one, int) else "integer",
)
def test_parameters_that_are_refused(Estimator: Any, name: str, value: Any) -> None:
    with pytest.raises(MotlmError) as caught:
        fit(Estimator, X, **{name: value})
    assert len(str(caught.value)) < 600


@BOTH
@pytest.mark.parametrize("value", [1e-30, 1e-12, 1e12, 1e30])
def test_inverse_temperatures(Estimator: Any, value: float, tmp_path: Path) -> None:
    use(fit(Estimator, X, inverse_temperature=value, max_iter=30), X, tmp_path)


@BOTH
def test_priors_far_away(Estimator: Any) -> None:
    for prior in (Prior(center=1e60), Prior(coef=1e99), Prior(intercept=-1e99)):
        use(fit(Estimator, X, prior=prior, max_iter=30), X)


def test_prior_at_the_end_of_its_range(tmp_path: Path) -> None:
    """Memberships below 0 by rounding took the scale of an intercept beyond that of its prior."""
    prior = Prior(radius_shape=1e5, radius_rate=0.05, intercept=5.0, intercept_scale=10.0)
    for seed in range(3):
        rows = np.random.default_rng(seed).normal(size=(20, 1))
        model = fit(LocalMixtureRegressor, rows, rows[:, 0], prior=prior, max_iter=5)
        use(model, rows, tmp_path)


@BOTH
@pytest.mark.parametrize("m", [1, 2, 3])
def test_few_rows(Estimator: Any, m: int, tmp_path: Path) -> None:
    for more in ({"n_localities": 0}, {"n_localities": "auto", "inverse_temperature": "auto"}):
        y = np.arange(m) % 2
        if Estimator is LocalMixtureClassifier and m == 1:
            with pytest.raises(InputError, match="one class only"):
                fit(Estimator, X[:m], y, **more)
            continue
        use(fit(Estimator, X[:m] * 1e8, y, standardize=False, **more), X[:m], tmp_path)
        use(fit(Estimator, np.ones((m, 50)), y, **more), np.ones((m, 50)))


# -- beside the estimators -------------------------------------------------------------------------


def test_units() -> None:
    for rows, message in (
        ([[1.7e308], [-1.7e308]], "numbers up to"),
        ([[1e-322], [2e-322]], "varies by"),
        ([[10**400]], "table of numbers"),
        ([["a"]], "table of numbers"),
    ):
        with pytest.raises(InputError, match=message):
            Units.of_rows(rows)


def test_preparation() -> None:
    plain = VarianceInflation().fit(X).factors_
    for scale in ([1e200, 1e-200], [1e-300, 1e300]):
        assert np.allclose(VarianceInflation().fit(X * scale).factors_, plain)
    VarianceInflation().fit(SPREAD)
    assert len(BoxRule().fit_transform(SPREAD)) == 40
    assert len(BoxRule(whisker=1e300).fit_transform(X * 1e100)) == 40
    far = np.vstack([X, [[1e300, 0.0]]])
    assert len(BoxRule(whisker=3.0).fit_transform(far)) == 40
    frame = pd.DataFrame({"a": X[:, 0] * 1e200, "b": X[:, 1], "y": NUMBERS})
    with pytest.raises(InputError, match="numbers up to"):
        prepare(frame, "y", seed=0)


@pytest.mark.parametrize(
    "Model", [LeagueOfExperts, ClusteredLinearClassifier, ClusteredLinearRegressor]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rivals(Model: Any) -> None:
    for scale in (1e-90, 1e8):
        assert np.isfinite(Model(random_state=0).fit(X * scale, LABELS).predict(X * scale)).all()
    for scale in (1e-320, 1e-200, 1e100, 1e307):  # where solvers of scikit-learn's may never end
        with pytest.raises(InputError, match="can be computed with"):
            Model(random_state=0).fit(X * scale, LABELS)
    with pytest.raises(InputError, match="numbers up to"):
        Model(random_state=0).fit(X, LABELS).predict(X * 1e100)


@pytest.mark.parametrize("n_rows", [0, -1, 10**400, "a", None])
def test_synthetic_rows(n_rows: Any) -> None:
    for make in (make_clf_case1, make_reg_case1, make_twonorm):
        with pytest.raises(InputError, match="n_rows must be at"):
            make(n_rows, random_state=0)


def test_solve_of_singular_matrices() -> None:
    gram = np.array([[[1e40, 1e40], [1e40, 1e40]], [[4.0, 0.0], [0.0, 1e-30]]])
    moment = np.array([[2e40, 2e40], [4.0, 3e-30]])
    np.testing.assert_allclose(solve(gram, moment), [[1.0, 1.0], [1.0, 3.0]])
    sound = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert np.array_equal(solve(sound, moment[1]), np.linalg.solve(sound, moment[1]))


def test_ranges_are_documented() -> None:
    page = (Path(__file__).parents[1] / "docs" / "numerics.md").read_text()
    for name in limits.__all__:
        values = getattr(limits, name)
        if not callable(values):
            for value in np.atleast_1d(values):
                shown = {f"{value:g}".replace("e+", "e"), f"{int(value)}", f"{int(value):,}"}
                assert any(one.replace(",", " ") in page for one in shown), name


def test_powers_of_two() -> None:
    for value in (5e-324, 1e-300, 0.7, 1.0, 3.0, 1.7e308):
        unit = power_of_two([0.0, -value])
        assert unit <= value < 2.0 * unit or value > 8e307
    assert power_of_two([0.0]) == 1.0
    assert np.isfinite(LARGEST_TARGET**2)


# -- NumPy that raises at every over- and underflow ------------------------------------------------

POINTS = [[-1.4, 0], [0, 0.75], [1.4, 0]]


def clients() -> tuple[pd.DataFrame, Any]:
    table = pd.DataFrame(
        {"age": 40 + 12 * X[:, 0], "km": np.exp(X[:, 1]), "region": ["north", "south"] * 20}
    )
    return table, NUMBERS


CLEAN: dict[str, tuple[Any, Callable[[], Any]]] = {
    "learned": (LocalMixtureClassifier(2, **FAST), lambda: make_clf_case1(150, random_state=0)),
    "any, unit": (
        LocalMixtureClassifier(1, loss="zero-one", combine="any", coef_scale="unit", **FAST),
        lambda: make_clf_case1(150, random_state=0),
    ),
    "given": (
        LocalMixtureClassifier(points_of_interest=POINTS, **FAST),
        lambda: make_clf_case2(150, random_state=0),
    ),
    "chebyshev": (
        LocalMixtureClassifier(points_of_interest=POINTS, metric="chebyshev", **FAST),
        lambda: make_clf_case2(150, random_state=0),
    ),
    "separable": (
        LocalMixtureClassifier(1, n_starts=1, inverse_temperature=1e5, random_state=0),
        lambda: (X, X[:, 0] > 0),
    ),
    "auto": (
        LocalMixtureRegressor("auto", max_localities=1, overlap="mean", n_starts=1, random_state=0),
        lambda: make_reg_case1(120, random_state=0),
    ),
    "regression, given": (
        LocalMixtureRegressor(points_of_interest=[[0.0189]], **FAST),
        lambda: make_reg_case1(120, random_state=0),
    ),
    "table": (LocalMixtureRegressor(1, **FAST), clients),
    "nadam": (
        LocalMixtureClassifier(
            1, solver="nadam", loss="zero-one", coef_scale="unit", max_iter=30, **FAST
        ),
        lambda: make_clf_case1(100, random_state=0),
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CLEAN)
def test_nothing_over_or_underflows(name: str, tmp_path: Path) -> None:
    estimator, rows_and_targets = CLEAN[name]
    rows, y = rows_and_targets()
    with np.errstate(all="raise"):
        model = estimator.fit(rows, y)
        use(model, rows, tmp_path)
        str(explain_global(model, rows, y))
        if name in ("given", "table"):
            options = {} if name == "given" else {"tolerance": 1.0}
            certify(estimator, rows, y, random_state=0, **options)
        if name != "table":
            use(model, 50.0 * rows[:5] + 30.0)


# -- where warnings point to -----------------------------------------------------------------------


def test_warnings_point_at_the_call() -> None:
    table, y = clients()
    model = fit(LocalMixtureRegressor, table, y)
    new = table[:2].assign(region="west")
    calls: list[Callable[[], Any]] = [
        lambda: model.predict(new),
        lambda: model.predict_set(new),
        lambda: model.mixture_.predict(new),
        lambda: explain_local(model, new),
        lambda: explain_local(model, table[:2], X_train=new),
    ]
    for call in calls:
        with pytest.warns(UnknownCategoryWarning) as caught:
            call()
        assert {one.filename for one in caught} == {__file__}


def test_probabilities_are_at_most_1() -> None:
    """Gates that sum to 1 up to rounding."""
    membership = np.random.default_rng(0).random((4, 10_000))
    mean = np.full((5, 10_000), 60.0)
    for one in Binary(np.array([0, 1])).votes(membership, mean, np.ones_like(mean)).T:
        assert ((one >= 0.0) & (one <= 1.0)).all()
