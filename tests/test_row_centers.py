"""Centers that are training rows, in any metric; Gower's distance."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from helpers import differences
from scipy.spatial.distance import cdist
from scipy.special import comb
from scipy.stats import gamma
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import log_loss, pairwise_distances
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from motlm import LocalMixtureClassifier, LocalMixtureRegressor, Prior, load
from motlm.cli._commands import motlm as command
from motlm.datasets import load_keel, make_clf_case2, make_reg_case1, make_reg_case2
from motlm.errors import EmptyLocalityWarning, ExportError, InputError, ModelFileError
from motlm.exports import to_python
from motlm.geometry import GEOMETRIES, GivenCenters, Metric, RowCenters, RowLocalities
from motlm.inputs import Columns, Inputs, Reading
from motlm.losses import Squared
from motlm.objective import Evaluator, Objective
from motlm.optimize import value_at
from motlm.posterior import Layout, Packing
from motlm.rows import Rows
from motlm.starts import one_model, place_at_rows, promising_balls
from motlm.units import Units

QUICK: dict[str, Any] = {
    "local_models": "linear",
    "inverse_temperature": 4.0,
    "n_starts": 1,
    "random_state": 0,
}
ROWS = {"centers": "rows", **QUICK}


def name_of(metric: Any) -> str:
    return str(getattr(metric, "__name__", metric))


def steps(first: Any, second: Any) -> float:
    """A metric that scikit-learn has not."""
    return float(np.floor(4.0 * np.abs(first - second)).sum())


METRICS = ["manhattan", "chebyshev", "cosine", "seuclidean", "mahalanobis", "canberra", "gower"]


@pytest.fixture(scope="module")
def mixed() -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers and categories; costs are others for gas below 40."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, 300),
            "fuel": rng.choice(["diesel", "gas", "wood"], 300),
            "power": rng.normal(80, 20, 300),
            "sex": rng.choice(["f", "m"], 300),
        }
    )
    young = (X.fuel == "gas") & (X.age < 40)
    return X, np.where(young, 0.2 * X.power, 0.05 * X.age) + rng.normal(0, 0.2, 300)


def gower(first: pd.DataFrame, second: pd.DataFrame, training: pd.DataFrame) -> np.ndarray:
    """The mean over the columns of |gap| / range and of what differs."""
    parts = []
    for name in training:
        one, other = first[name].to_numpy()[:, None], second[name].to_numpy()[None]
        if training[name].dtype == float:
            parts.append(np.abs(one - other) / np.ptp(training[name]))
        else:
            parts.append((one != other).astype(float))
    return np.mean(parts, axis=0)


def rows_of(model: Any) -> list[int]:
    return [one.row for one in model.localities_]


# -- Gower's distance ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
def test_gower_is_the_mean_over_columns(mixed) -> None:
    X, y = mixed
    points = X.iloc[[0, 1, 2, 3, 4, 5]]
    model = LocalMixtureRegressor(points_of_interest=points, metric="gower", **QUICK).fit(X, y)
    kept = [one.point for one in model.localities_]
    assert len(kept) > 1
    view = model.mixture_.view(model.mixture_.encode(X))
    expected = gower(X, points.iloc[kept], X)
    np.testing.assert_allclose(view.distance.T, expected, atol=1e-12)


def test_gower_ignores_columns_that_are_constant(mixed) -> None:
    X, y = mixed
    points = X.iloc[[0]]
    plain, wide = (
        LocalMixtureRegressor(points_of_interest=points.assign(**more), metric="gower", **QUICK)
        for more in ({}, {"country": "x", "year": 7.0})
    )
    plain.fit(X, y)
    with pytest.warns(match="constant"):
        wide.fit(X.assign(country="x", year=7.0), y)
    assert plain.localities_[0].radius == pytest.approx(wide.localities_[0].radius, rel=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_a_category_that_fit_did_not_see_is_the_average_of_those_it_saw(mixed) -> None:
    X, y = mixed
    model = LocalMixtureRegressor(
        points_of_interest=X.iloc[[0]], metric="gower", handle_unknown="ignore", **QUICK
    ).fit(X, y)
    strange = X.iloc[[0]].assign(fuel="coal")
    [[distance]] = model.mixture_.view(model.mixture_.encode(strange)).distance
    assert distance == pytest.approx(np.mean(X.fuel != X.fuel.iloc[0]) / 4)


# -- what a fitted mixture is ----------------------------------------------------------------------


@pytest.mark.parametrize("features", ["auto", "all", "ball", 1])
def test_euclidean_memberships_are_exact_around_rows(features: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = LocalMixtureRegressor(2, locality_features=features, **ROWS).fit(X[:300], y[:300])
    mixture, posterior = model.mixture_, model.posterior_
    assert mixture.geometry.kind == "rows"
    Z = mixture.inputs.standardize(X)
    view = mixture.view(mixture.encode(X))
    for i, one in enumerate(model.localities_):
        weight = posterior.column_weight[i]
        own = weight > 0
        assert own.sum() <= (1 if features == 1 else 10)
        np.testing.assert_array_equal(one.center[own], X[one.row, own])
        assert not one.center_scale.any()
        distance = cdist(Z, Z[[one.row]], "euclidean", w=weight)[:, 0]
        np.testing.assert_allclose(view.distance[i], distance, atol=1e-9)
        shape, rate = posterior.radius_shape[i], posterior.radius_rate[i]
        expected = gamma.sf(distance, shape, scale=1 / rate)
        np.testing.assert_allclose(view.membership[i], expected, atol=1e-8)
        assert gamma.sf(one.radius, shape, scale=1 / rate) == pytest.approx(0.5, abs=1e-8)


@pytest.mark.parametrize("metric", [*METRICS, steps], ids=name_of)
def test_any_metric_has_exact_memberships_around_rows(metric: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:200, :4], y[:200]
    model = LocalMixtureRegressor(2, metric=metric, **ROWS).fit(X, y)
    mixture, posterior, rows = model.mixture_, model.posterior_, rows_of(model)
    np.testing.assert_array_equal([one.center for one in model.localities_], X[rows])
    Z = mixture.inputs.standardize(X)
    if metric == "gower":
        expected = np.mean(np.abs(X[rows][:, None] - X) / np.ptp(X, axis=0), axis=2)
    else:
        arguments: dict[str, Any] = {}
        if metric == "mahalanobis":
            arguments = {"VI": np.linalg.inv(np.cov(Z.T, ddof=0))}
        if metric == "seuclidean":
            arguments = {"V": np.var(Z, axis=0)}
        expected = pairwise_distances(Z[rows], Z, metric=metric, **arguments)
    view = mixture.view(mixture.encode(X))
    np.testing.assert_allclose(view.distance, expected, atol=1e-9)
    for i, distance in enumerate(expected):
        scale = 1 / posterior.radius_rate[i]
        member = gamma.sf(distance, posterior.radius_shape[i], scale=scale)
        np.testing.assert_allclose(view.membership[i], member, atol=1e-7)


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_rows_are_those_of_the_table_that_was_given(mixed, metric: str) -> None:
    """Whatever weights, repeated rows and the order of the table."""
    X, y = mixed
    model = LocalMixtureRegressor(2, metric=metric, **ROWS).fit(X, y)
    order = np.random.default_rng(1).permutation(len(X))
    other = LocalMixtureRegressor(2, metric=metric, **ROWS).fit(X.iloc[order], y[order])
    assert [int(order[row]) for row in rows_of(other)] == rows_of(model)
    wide, twice = pd.concat([X[:50], X]), np.concatenate([y[:50] + 9.0, y])
    weight = np.repeat([0.0, 1.0], [50, 300])
    third = LocalMixtureRegressor(2, metric=metric, **ROWS).fit(wide, twice, sample_weight=weight)
    assert [row - 50 for row in rows_of(third)] == rows_of(model)


def test_words_tell_the_case_or_hide_it(mixed) -> None:
    X, y = mixed
    for metric in ("euclidean", "gower", "cosine"):
        model = LocalMixtureRegressor(2, metric=metric, **ROWS).fit(X, y)
        for one in model.localities_:
            assert one.where.startswith(f"cases like row {one.row}")
            assert one.place
            assert f"row {one.row}" not in one.place
    plain = LocalMixtureRegressor(2, **QUICK).fit(X, y)
    assert [one.row for one in plain.localities_] == [None] * len(plain.localities_)
    assert all(one.place == one.where for one in plain.localities_)


@pytest.mark.parametrize("metric", ["euclidean", "gower", "cosine", "mahalanobis"])
@pytest.mark.parametrize("corrections", ["auto", "none"])
def test_files_keep_the_rows(mixed, metric: str, corrections: str, tmp_path) -> None:
    X, y = mixed
    model = LocalMixtureRegressor(2, metric=metric, corrections=corrections, **ROWS).fit(X, y)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.mixture_.hash == model.mixture_.hash
    assert rows_of(again) == rows_of(model)
    assert [str(one) for one in again.localities_] == [str(one) for one in model.localities_]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.apply(X), model.apply(X))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("metric", ["euclidean", "gower", "manhattan", "seuclidean"])
def test_python_answers_alike(mixed, metric: str) -> None:
    X, y = mixed
    model = LocalMixtureRegressor(2, metric=metric, **ROWS).fit(X, y)
    names: dict[str, Any] = {}
    exec(to_python(model), names)
    asked = pd.concat([X[:60], X[:3].assign(fuel="coal")])
    answers = [names["predict"](row) for row in asked.to_dict("records")]
    np.testing.assert_allclose(answers, model.predict(asked), rtol=1e-9)


def test_other_metrics_cannot_be_written_down(mixed) -> None:
    X, y = mixed
    model = LocalMixtureRegressor(1, metric="cosine", **ROWS).fit(X, y)
    with pytest.raises(ExportError, match="metric='cosine' cannot be exported"):
        to_python(model)


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_files_whose_centers_disagree_are_refused(mixed, metric: str, tmp_path) -> None:
    X, y = mixed
    LocalMixtureRegressor(1, metric=metric, **ROWS).fit(X, y).save(tmp_path / "model.json")
    whole = json.loads((tmp_path / "model.json").read_text())
    for name, value in (("given", None), ("row", [-1]), ("row", [0, 1]), ("n_rows", "many")):
        odd = json.loads(json.dumps(whole))
        if value is None:
            odd["geometry"][name][0][0] += 1.0
        else:
            odd["geometry"][name] = value
        (tmp_path / "odd.json").write_text(json.dumps(odd))
        with pytest.raises(ModelFileError):
            load(tmp_path / "odd.json")


def test_fixed_centers_answer_alike(mixed) -> None:
    X, y = mixed
    for metric in ("euclidean", "gower"):
        mixture = LocalMixtureRegressor(2, metric=metric, **ROWS).fit(X, y).mixture_
        geometry, posterior = mixture.geometry.freeze(mixture.inputs, mixture.posterior)
        assert type(geometry) is GivenCenters
        fixed = replace(mixture, geometry=geometry, posterior=posterior)
        first, second = (one.view(one.encode(X)) for one in (mixture, fixed))
        np.testing.assert_allclose(first.distance, second.distance, atol=1e-12)
        np.testing.assert_array_equal(first.answer, second.answer)
        if metric == "euclidean":
            places = [[one.place for one in each.localities] for each in (mixture, fixed)]
            assert places[0] == places[1]


@pytest.mark.parametrize("named", [True, False])
def test_the_command_line_names_the_cases(named: bool, tmp_path) -> None:
    """By their IDs, or by their numbers in the table, some rows of which are left out or sealed."""
    X, y = make_reg_case1(120, random_state=0)
    table = pd.DataFrame({"client": 4000 + np.arange(120), "x": X[:, 0], "y": y})
    table.loc[[3, 5], "y"] = np.nan
    table.to_csv(tmp_path / "table.csv", index=False)
    options = ["--id" if named else "--drop", "client", "--centers", "rows", "--localities", "1"]
    paths = [str(tmp_path / "table.csv"), "--target", "y", "--model", str(tmp_path / "model.json")]
    result = CliRunner().invoke(command, ["fit", *paths, *options])
    assert result.exit_code == 0, result.output
    model = load(tmp_path / "model.json")
    [case] = model.table_.cases
    assert f"cases like {case}, x " in result.output
    kind, number = case.split()
    assert kind == ("client" if named else "row")
    own = table[table.client == int(number)] if named else table.iloc[[int(number)]]
    assert own.x.item() == pytest.approx(model.localities_[0].center[0], rel=1e-12)


# -- the objective ---------------------------------------------------------------------------------


def numeric(X: np.ndarray) -> Inputs:
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    reading = Reading(Columns.numeric(names), None, False, "test")
    return Inputs(reading, Units.of_rows(X), np.ones(len(names), dtype=bool), X.mean(axis=0))


@pytest.fixture
def table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(90, 3))
    return X, np.where(np.abs(X[:, 0]) < 1, X[:, 1], 1 - X[:, 2])


def searched(geometry: Any, X: np.ndarray, y: np.ndarray) -> Objective:
    inputs = numeric(X)
    geometry = geometry.offer(X, 2, None).fit(inputs, X, np.ones(len(X)))
    Z = inputs.standardize(X)
    coordinates, distance = geometry.rows(Z, Z)
    rows = Rows.of(Z, y, None, distance, coordinates)
    prior = geometry.expand(Prior(learn_scales=True), 2, inputs, ())
    return Objective(Squared(), geometry, prior, rows, 4.0)


SEARCHED = pytest.mark.parametrize(
    "geometry", [RowLocalities(), RowCenters(metric=Metric("manhattan"), corrections="own")]
)


@SEARCHED
def test_partials_match_differences(geometry: Any, table, rng) -> None:
    objective = searched(geometry, *table)
    start = place_at_rows(objective, 2, False, rng)
    free = ("coef", "coef_scale", "intercept", "intercept_scale", *objective.geometry.free)
    packing = Packing(start, free)
    evaluator, at = Evaluator(objective, packing), packing.pack(start)
    expected = differences(lambda values: evaluator.evaluate(values).value, at)
    np.testing.assert_allclose(evaluator.evaluate(at).gradient, expected, rtol=1e-5, atol=1e-7)


def test_rows_cost_the_logarithm_of_the_ways_to_choose_them(table, rng) -> None:
    """And else what given centers cost."""
    objective = searched(RowLocalities(most=0, corrections="all"), *table)
    posterior = place_at_rows(objective, 2, False, rng)
    given = replace(
        objective,
        geometry=GivenCenters(
            points=posterior.center, weights=np.ones((2, 3)), learned_widths=True, corrections="all"
        ),
    )
    price = np.log(comb(90 + 2 - 1, 2))
    assert objective.kl(posterior) - given.kl(posterior) == pytest.approx(price)
    assert objective.gibbs_risk(posterior) == pytest.approx(given.gibbs_risk(posterior))


def test_offered_rows_are_given_centers_in_other_units(table, rng) -> None:
    objective = searched(RowCenters(metric=Metric("cosine"), corrections="own"), *table)
    geometry, rows = objective.geometry, objective.rows
    posterior = place_at_rows(objective, 2, False, rng)
    which = posterior.column_weight.argmax(axis=1)
    metric, points = Metric("cosine"), geometry.points[which]
    given = GivenCenters(points=points, metric=metric, corrections="own")
    distance = metric.distances(rows.features, points) / geometry.unit
    same = Rows.of(rows.features, rows.target, None, distance)
    layout = Layout(np.ones((2, 3)), np.ones((2, 3)))
    plain = replace(posterior, center=points, layout=layout)
    expected = replace(objective, geometry=given, rows=same).gibbs_risk(plain)
    assert objective.gibbs_risk(posterior) == pytest.approx(expected, rel=1e-12)
    settled, moved = geometry.settle(numeric(table[0]), posterior, table[0], np.arange(90))
    assert rows.features[settled.row] == pytest.approx(points)
    np.testing.assert_allclose(moved.radius_mean, posterior.radius_mean * geometry.unit)


def test_starts_are_compared_by_their_own_columns(table, rng) -> None:
    objective = searched(RowLocalities(most=1), *table)
    starts = [place_at_rows(objective, 2, False, rng) for _ in range(8)]
    assert len({one.column_weight.tobytes() for one in starts}) > 1
    value = value_at(objective, starts[0], ("coef", "intercept"))
    for one in starts:
        assert value(one) == pytest.approx(objective.value(one), rel=1e-9)


@SEARCHED
def test_promising_localities_are_around_rows(geometry: Any, table, rng) -> None:
    objective = searched(geometry, *table)
    balls = promising_balls(objective, one_model(objective, False), 20, rng)
    assert balls[0].gain >= balls[-1].gain
    for ball in balls:
        assert ball.placed["center_scale"] == 0
        weight = ball.placed["layout"].column_weight[0]
        if isinstance(objective.geometry, RowCenters):
            assert weight.sum() == weight.max() == 1
            assert not ball.placed["center"].any()
        else:
            near = np.abs(objective.rows.coordinates - ball.placed["center"]).sum(axis=1)
            assert near.min() == 0


@pytest.mark.parametrize("name", ["manhattan", steps], ids=name_of)
def test_distances_of_many_rows_take_little_memory(name: Any) -> None:
    for m in (10, 1_000, 100_000):
        geometry = RowCenters(metric=Metric(name)).offer(np.empty((m, 2)), 2, None)
        assert min(m, 48) <= len(geometry.offered) <= 400
        assert 8 * m * len(geometry.offered) <= 2e8


def test_more_rows_than_are_screened() -> None:
    X, y = make_reg_case2(6000, random_state=0)
    model = LocalMixtureRegressor(2, metric="manhattan", **ROWS).fit(X, y)
    assert model.score(X, y) > 0.99
    np.testing.assert_array_equal([one.center for one in model.localities_], X[rows_of(model)])


# -- the search ------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_the_same_model_for_any_number_of_jobs(mixed, metric: str) -> None:
    X, y = mixed
    first, second = (
        LocalMixtureRegressor(
            "auto", max_localities=2, metric=metric, n_jobs=jobs, centers="rows", random_state=0
        ).fit(X, y)
        for jobs in (1, 2)
    )
    assert first.mixture_.hash == second.mixture_.hash


@pytest.mark.parametrize("metric", ["euclidean", "gower", steps], ids=name_of)
def test_a_warm_start_goes_on(mixed, metric: Any) -> None:
    X, y = mixed
    X = X[["age", "power"]]
    model = LocalMixtureRegressor(2, metric=metric, **ROWS)
    before = model.fit(X, y).objective_
    rows = rows_of(model)
    assert model.set_params(warm_start=True).fit(X, y).objective_ <= before * (1 + 1e-6)
    assert rows_of(model) == rows
    with warnings.catch_warnings():  # the table has two; a third may find no rows of its own
        warnings.simplefilter("ignore", EmptyLocalityWarning)
        model.set_params(n_localities=3).fit(X, y)
    assert set(rows) <= set(rows_of(model)) or len(rows_of(model)) < 3


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "gower"])
def test_rows_near_the_true_centers_of_the_synthetic_sets(metric: str) -> None:
    X, y = make_reg_case1(400, random_state=0)
    model = LocalMixtureRegressor(1, metric=metric, **ROWS).fit(X, y)
    assert abs(model.localities_[0].center[0] - 0.0189) < 0.06
    assert model.score(X, y) > 0.999
    X, y = make_reg_case2(400, random_state=0)
    model = LocalMixtureRegressor(2, metric=metric, **ROWS).fit(X, y)
    centers = sorted(float(one.center[0]) for one in model.localities_)
    np.testing.assert_allclose(centers, [-0.5, 0.5], atol=0.06)
    assert model.score(X, y) > 0.99


def test_rows_near_the_true_centers_of_three_balls() -> None:
    X, y = make_clf_case2(600, random_state=3)
    model = LocalMixtureClassifier(
        3, centers="rows", inverse_temperature=4.0, n_starts=4, random_state=0
    ).fit(X, y)
    centers = np.array([one.center for one in model.localities_])
    true = np.array([[-1.4, 0.0], [0.0, 0.75], [1.4, 0.0]])
    assert (cdist(true, centers).min(axis=1) < 0.3).all()
    assert model.score(X, y) > 0.9


@pytest.mark.filterwarnings("ignore::motlm.errors.MotlmWarning")
@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_scores_are_not_much_below_those_of_free_centers(metric: str, shared_data, monkeypatch):
    monkeypatch.setenv("MOTLM_DATA", str(shared_data))
    keel = load_keel("banana", download_if_missing=False)
    for X, y, Estimator in (
        (*load_diabetes(return_X_y=True), LocalMixtureRegressor),
        (*load_breast_cancer(return_X_y=True), LocalMixtureClassifier),
        (keel.data[:900], keel.target[:900], LocalMixtureClassifier),
    ):
        X, X_test, y, y_test = train_test_split(X, y, random_state=0)
        free, rows = (
            Estimator(2, inverse_temperature=1.0, n_starts=2, random_state=0, **more).fit(X, y)
            for more in ({}, {"centers": "rows", "metric": metric})
        )
        slack = 0.05 if Estimator is LocalMixtureClassifier else 0.08  # R2 of a hundred rows
        assert rows.score(X_test, y_test) > free.score(X_test, y_test) - slack
        # breast cancer has no localities, and the log loss of two that are asked for is anything
        if X.shape[1] == 2 and metric == "euclidean":
            losses = [log_loss(y_test, one.predict_proba(X_test)) for one in (free, rows)]
            assert losses[1] < losses[0] + 0.06


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        LocalMixtureClassifier(1, **ROWS),
        LocalMixtureRegressor(1, **ROWS),
        LocalMixtureClassifier(1, metric="gower", **ROWS),
        LocalMixtureRegressor(1, metric="manhattan", **ROWS),
    ]
)
def test_scikit_learn_checks(estimator, check) -> None:
    try:
        check(estimator)
    except SkipTest as reason:
        pytest.skip(str(reason))


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"centers": "medoids"}, "centers must be one of 'free', 'rows'"),
        ({"metric": "gower", "centers": "free"}, r"needs points_of_interest, or centers='rows'"),
        ({"points_of_interest": [[0.0, 0.0]]}, "got points_of_interest, which are the centers"),
        ({"solver": "nadam"}, "solver='nadam' is of the paper's setting"),
        ({"metric": "gower", "locality_features": 2}, "which looks at all columns"),
        ({"metric": "gower", "locality_columns": ["x0"]}, "which looks at all columns"),
        ({"metric": "gower", "locality_widths": [1.0]}, "which looks at all columns"),
        ({"locality_widths": [1.0]}, "locality_widths"),
        ({"metric": "precomputed"}, "metric='precomputed' has no rows to measure"),
        ({"metric": "speed"}, "metric='speed' gave no distances between rows"),
        ({"metric": lambda a, b: -1.0}, "negative or not finite"),
        ({"metric": lambda a, b: np.nan}, "negative or not finite"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters: dict[str, Any], message: str) -> None:
    X, y = make_clf_case2(60, random_state=0)
    with pytest.raises(InputError, match=message):
        LocalMixtureClassifier(2, **{**ROWS, **parameters}).fit(X, y)


def test_too_few_rows() -> None:
    X, y = np.arange(6.0).reshape(3, 2), np.arange(3.0)
    with pytest.raises(InputError, match="more than the 3 distinct rows"):
        LocalMixtureRegressor(4, **ROWS).fit(X, y)
    for metric in ("euclidean", "gower"):
        model = LocalMixtureRegressor(0, metric=metric, **ROWS).fit(X, y)
        assert not model.localities_


def test_files_know_the_kinds() -> None:
    assert GEOMETRIES["rows"] is RowLocalities
    assert GEOMETRIES["rows by metric"] is RowCenters
