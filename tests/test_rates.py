"""Rates as people read them: factors, lift charts; and scikit-learn's tools on probabilities."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson
from sklearn.calibration import CalibrationDisplay
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    RocCurveDisplay,
    balanced_accuracy_score,
)
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.errors import InputError, InputTypeError
from motlm.explanations import explain_global, explain_local
from motlm.localities import factor_units
from motlm.plotting import ContributionsDisplay, LiftDisplay

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def policies():
    rng = np.random.default_rng(0)
    n = 3000
    X = pd.DataFrame(
        {
            "age": rng.uniform(20, 70, n).round(),
            "fleet": rng.integers(0, 2, n),
            "fuel": rng.choice(["diesel", "gasoline"], n),
        }
    )
    years = rng.uniform(0.2, 1.0, n)
    score = 0.1 * np.abs(X["age"] - 35) + 0.4 * X["fleet"] - 0.5 * (X["fuel"] != "diesel")
    rate = 0.3 * np.exp(score)
    return X, rng.poisson(years * rate), years


@pytest.fixture(scope="module")
def one_rate(policies):
    X, claims, years = policies
    return LocalMixtureRegressor(0, loss="poisson", local_models="linear").fit(
        X, claims, exposure=years
    )


@pytest.fixture(scope="module")
def local_rates(policies):
    X, claims, years = policies
    model = LocalMixtureRegressor(
        1,
        loss="poisson",
        local_models="linear",
        inverse_temperature=1.0,
        n_starts=1,
        random_state=0,
    )
    return model.fit(X, claims, exposure=years)


def multiply(model, X):
    """The rate by the table of factors alone."""
    rate = np.full(len(X), model.base)
    encoded = {"fuel=gasoline": (X["fuel"] == "gasoline").astype(float)}
    for row in model.factors():
        values = encoded.get(row["column"], X.get(row["column"]))
        power = values if row["step"] is None else (values - row["reference"]) / row["step"]
        rate *= row["factor"] ** np.asarray(power, dtype=float)
    return rate


def test_factors_multiply_to_the_prediction(policies, one_rate, local_rates):
    X = policies[0]
    assert multiply(one_rate.exterior_, X) == pytest.approx(one_rate.predict(X))
    used = local_rates.apply(X)
    for i, model in enumerate(local_rates.mixture_.models):
        own = X[used == i]
        assert multiply(model, own) == pytest.approx(local_rates.predict(X)[used == i])


def test_factors_have_round_steps(one_rate):
    rows = {row["column"]: row for row in one_rate.exterior_.factors()}
    assert set(rows) == {"age", "fleet", "fuel=gasoline"}
    assert rows["age"]["step"] == 10.0
    assert 44 < rows["age"]["reference"] < 46
    assert rows["age"]["text"].endswith(" per 10")
    assert rows["fleet"]["step"] is None
    assert rows["fuel=gasoline"]["reference"] is None
    assert rows["fleet"]["text"] == f"x {rows['fleet']['factor']:.3g}"
    assert rows["fleet"]["factor"] == pytest.approx(np.exp(0.4), rel=0.1)


def test_formulas_of_rates(one_rate, tmp_path):
    model = one_rate.exterior_
    rows = {row["column"]: f"{row['factor']:.3g}" for row in model.factors()}
    place = f"{model.factors()[0]['reference']:g}"
    assert model.formula() == (
        f"{model.base:.3g} x {rows['age']}^((age - {place}) / 10) x ({rows['fleet']} if fleet)"
        f" x ({rows['fuel=gasoline']} if fuel=gasoline)"
    )
    again = motlm.load(one_rate.save(tmp_path / "rate.json")).exterior_
    assert again.formula() == model.formula()
    assert again.factors() == model.factors()


@pytest.mark.parametrize("size", [1e-150, 3e-7, 0.99, 1.0, 1.999999, 4.9, 10.0, 1234.0, 1e150])
def test_steps_are_at_most_a_deviation(size, one_rate):
    inputs = one_rate.mixture_.inputs
    center, scale = inputs.units.center.copy(), inputs.units.inverse_scale.copy()
    center[0], scale[0] = 7.3 * size, 1 / size
    typical = inputs.typical.copy()
    typical[0] = center[0]
    moved = type(inputs)(inputs.reading, motlm.Units(center, scale), inputs.varies, typical)
    found = factor_units(moved)
    assert 0.39 * size < found["step"][0] <= size * (1 + 1e-8)
    assert f"{found['step'][0]:.0e}"[0] in "125"
    assert abs(found["reference"][0] - center[0]) <= 0.051 * found["step"][0]


def test_models_that_add_up_have_no_factors():
    X = np.arange(20.0)[:, None]
    model = LocalMixtureRegressor(0).fit(X, 2 * X[:, 0]).exterior_
    assert model.reference is None
    assert model.base == model.intercept
    with pytest.raises(InputTypeError, match="factors are of models of rates"):
        model.factors()
    explanation = explain_global(LocalMixtureRegressor(0).fit(X, X[:, 0]), X, X[:, 0])
    assert explanation.regions[0].factors == ()
    assert explanation.regions[0].base is None
    with pytest.raises(InputTypeError, match="coefficients"):
        explanation.factors()


def test_contributions_of_rates_are_factors(policies, local_rates):
    X = policies[0]
    for row in explain_local(local_rates, X[:20]):
        assert np.exp(row.base) * np.prod(list(row.factors.values())) == pytest.approx(
            row.prediction
        )
        assert row.base + sum(row.contributions.values()) == pytest.approx(row.score)
        assert row.to_dict()["contributions"] == row.contributions
        frame = row.to_frame()
        assert frame["factor"].to_numpy() == pytest.approx(np.exp(frame["contribution"]))
        last = str(row).splitlines()[-1]
        assert last == f"    = {row.prediction:.4g}"
        assert f"x {row.factors['age']:.4g} for age = {X['age'].iloc[row.row]:.4g}" in str(row)


def test_contributions_of_other_models_add_up(policies):
    X, claims, _ = policies
    row = explain_local(LocalMixtureRegressor(0).fit(X[:200], claims[:200]), X[:1])[0]
    assert row.link == "identity"
    assert row.factors == {}
    assert "factor" not in row.to_frame()
    assert " for age" not in str(row)


def test_tariff_of_all_regions(policies, local_rates):
    X, claims, years = policies
    tariff = explain_global(local_rates, X, claims / years).factors()
    assert list(tariff.columns) == ["reference", "per", "locality 0", "exterior"]
    assert list(tariff.index) == ["base", "age", "fleet", "fuel=gasoline"]
    for name, model in zip(["locality 0", "exterior"], local_rates.mixture_.models, strict=True):
        assert tariff[name].iloc[0] == model.base
        assert tariff[name].iloc[1:].tolist() == [one["factor"] for one in model.factors()]


def test_a_picture_of_factors(policies, local_rates):
    display = ContributionsDisplay.from_estimator(local_rates, policies[0][:1])
    texts = [one.get_text() for one in display.ax_.texts]
    assert sum(text.startswith("x ") for text in texts) == 3
    assert f"{display.explanation.prediction:.4g}" in texts


def test_lift_groups_have_equal_exposure_and_add_up(policies, one_rate):
    X, claims, years = policies
    display = LiftDisplay.from_estimator(one_rate, X, claims, years)
    assert display.names == [str(i) for i in range(1, 11)]
    share = display.exposure / years.sum()
    assert share == pytest.approx(0.1, abs=0.02)  # rows of one rate stay together
    assert (display.actual * display.exposure).sum() == pytest.approx(claims.sum())
    expected = one_rate.predict(X, exposure=years).sum()
    assert (display.expected * display.exposure).sum() == pytest.approx(expected)
    assert (np.diff(display.expected) > 0).all()
    assert display.ax_.get_ylim()[0] == 0


def test_lift_does_not_depend_on_the_order_of_rows(policies, one_rate):
    X, claims, years = policies
    order = np.random.default_rng(1).permutation(len(X))
    one = LiftDisplay.from_estimator(one_rate, X, claims, years)
    other = LiftDisplay.from_estimator(one_rate, X.iloc[order], claims[order], years[order])
    assert one.actual == pytest.approx(other.actual)
    assert one.interval == pytest.approx(other.interval)


def test_poisson_intervals_are_exact():
    """A mean at an end of the interval makes a count this far away have probability 2.5 %."""
    counts, years = np.array([0, 3, 20]), np.array([2.0, 2.0, 5.0])
    display = LiftDisplay.from_predictions(counts, [1.0, 2.0, 3.0], years, n_bins=100)
    low, high = (display.interval * years[:, None]).T
    assert low[0] == 0
    assert poisson.sf(counts[1:] - 1, low[1:]) == pytest.approx(0.025)
    assert poisson.cdf(counts, high) == pytest.approx(0.025)


def test_intervals_of_amounts_are_of_the_spread():
    rng = np.random.default_rng(0)
    hit = 0
    for _ in range(60):
        amounts = rng.gamma(2.0, 1.5, size=400)
        display = LiftDisplay.from_predictions(amounts, np.ones(400))
        assert display.interval_name == "95% interval"
        assert len(display.names) == 1
        hit += int(display.interval[0, 0] <= 3.0 <= display.interval[0, 1])
        plt.close("all")
    assert hit >= 51


def test_actual_over_expected_of_localities(policies, local_rates):
    X, claims, years = policies
    display = LiftDisplay.from_estimator(local_rates, X, claims, years, kind="locality")
    assert display.names == ["locality 0", "exterior"]
    used, expected = local_rates.apply(X), local_rates.predict(X, exposure=years)
    for i in range(2):
        assert display.ratio[i] == pytest.approx(
            claims[used == i].sum() / expected[used == i].sum()
        )
    assert (display.ratio_interval[:, 0] < display.ratio).all()
    by_rate = LiftDisplay.from_estimator(local_rates, X, claims, years, kind="ratio", n_bins=4)
    assert len(by_rate.ratio) == 4


def test_lift_of_other_regressors(policies):
    X, claims, years = policies
    numbers = X[["age", "fleet"]]
    glm = PoissonRegressor().fit(numbers, claims / years, sample_weight=years)
    _, ax = plt.subplots()
    display = LiftDisplay.from_estimator(glm, numbers, claims, years, n_bins=5, ax=ax)
    assert display.ax_ is ax
    assert len(display.names) == 5


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"kind": "map"}, "kind must be one of"),
        ({"kind": "locality"}, "from_estimator"),
        ({"n_bins": 0}, "n_bins must be"),
        ({"confidence": 1.0}, "confidence must lie"),
        ({"exposure": [1.0, 0.0]}, "exposure must be positive"),
        ({"rate": [np.nan, 1.0]}, "rate"),
    ],
)
def test_wrong_lift_charts_are_refused(wrong, match):
    with pytest.raises(InputError, match=match):
        LiftDisplay.from_predictions(**{"y": [0, 1], "rate": [1.0, 2.0], **wrong})


@pytest.fixture(scope="module")
def rare():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.where(rng.uniform(size=600) < 1 / (1 + np.exp(3 - 2 * X[:, 0])), "yes", "no")
    model = LocalMixtureClassifier(0, random_state=0).fit(X, y)
    return model, X, y


def test_displays_of_scikit_learn(rare):
    model, X, y = rare
    calibration = CalibrationDisplay.from_estimator(model, X, y, n_bins=5, strategy="quantile")
    assert calibration.prob_true == pytest.approx(calibration.prob_pred, abs=0.08)
    assert RocCurveDisplay.from_estimator(model, X, y).roc_auc > 0.8
    shown = ConfusionMatrixDisplay.from_estimator(model, X, y)
    assert shown.confusion_matrix.sum() == len(y)


def test_thresholds_of_scikit_learn(rare):
    model, X, y = rare
    tuned = TunedThresholdClassifierCV(
        LocalMixtureClassifier(0), scoring="balanced_accuracy", cv=3
    ).fit(X, y)
    assert tuned.best_threshold_ < 0.4  # of a rare class
    assert balanced_accuracy_score(y, tuned.predict(X)) > balanced_accuracy_score(
        y, model.predict(X)
    )
    fixed = FixedThresholdClassifier(model, threshold=0.2, pos_label="yes").fit(X, y)
    assert (fixed.predict(X) == np.where(model.predict_proba(X)[:, 1] >= 0.2, "yes", "no")).all()


def test_balanced_weights_move_the_threshold(rare):
    model, X, y = rare
    balanced = LocalMixtureClassifier(0, class_weight="balanced").fit(X, y)
    scores = [balanced_accuracy_score(y, one.predict(X)) for one in (model, balanced)]
    assert scores[1] > scores[0] + 0.05


def test_tables_of_regions_are_means_over_the_exposure(policies, local_rates):
    X, claims, years = policies
    found = explain_global(local_rates, X, claims, exposure=years)
    outer, mixture = found.regions[-1], local_rates.mixture_
    inside = mixture.view(mixture.encode(X)).applicable[-1]
    assert outer.balance["mean rate"] == pytest.approx(claims[inside].sum() / years[inside].sum())
    rate = np.asarray(claims / years)
    deviances = mixture.target.deviances(rate, local_rates.predict(X))
    assert found.score == pytest.approx(np.average(deviances, weights=years))
    assert found.score != pytest.approx(explain_global(local_rates, X, rate).score)
    half = X[:1500], claims[:1500]
    given = {"X_train": X, "y_train": claims, "exposure_train": years}
    one = explain_global(local_rates, *half, exposure=years[:1500], **given)
    glm = explain_global(local_rates, *half, exposure=years[:1500])
    assert one.linear_name == "one linear model"
    assert glm.linear_name == "cross-validated linear model"
    with pytest.raises(InputError, match="exposure_train"):
        explain_global(local_rates, *half, **{**given, "exposure_train": years[:5]})


def test_scores_say_which_rows_were_used_for_fitting(policies):
    X, claims = np.random.default_rng(0).normal(size=(3000, 2)), policies[1]
    model = LocalMixtureRegressor(0, random_state=0).fit(X[:2000], claims[:2000])
    same = explain_global(model, X[:2000], claims[:2000])
    assert same.reference is not None
    assert "2000 rows were used for fitting" in str(same)
    assert "fitted to the same rows as the model" in str(same)
    some = explain_global(model, X[:2500], claims[:2500])
    assert "cross-validated linear model" in str(some)
    assert "do not compare" in some.notes[-1]
    with pytest.raises(InputError, match="exposure is for models of rates"):
        explain_global(model, X, claims, exposure=np.ones(len(X)))
