"""Explanations: that they add up, agree with the model, and that counterfactuals are the nearest
there are.
"""

from __future__ import annotations

import copy
import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers import nearest_change
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import certify
from motlm.datasets import make_clf_case1, make_clf_case2, make_reg_case2
from motlm.explanations import counterfactual, explain_global, explain_local
from motlm.explanations._projection import Domain
from motlm.tables import number

QUICK = {"local_models": "linear", "inverse_temperature": 2.0, "n_starts": 1, "random_state": 0}
BALLS = {"locality_features": "ball", "corrections": "none"}
POINTS = [[-1.0, 0.0], [1.0, 0.0]]


def standardize(model, X) -> np.ndarray:
    return model.mixture_.inputs.standardize(model.mixture_.encode(X))


def change(model, **parts):
    """The same model with other parts of its mixture."""
    made = copy.copy(model)
    made.mixture_ = replace(model.mixture_, **parts)
    return made


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Two numbers, a whole number and two columns of categories; two balls that overlap."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 60, 600),
            "income": rng.normal(3, 1, 600),
            "children": rng.integers(0, 5, 600),
            "region": rng.choice(["north", "south", "west"], 600),
            "owner": rng.choice(["no", "yes"], 600),
        }
    )
    plain = LocalMixtureClassifier(0, **QUICK).fit(
        frame, rng.choice([0, 1], 600)
    )  # for its columns and units
    Z, P = (standardize(plain, one) for one in (frame, points_of(frame)))
    first, second = (np.linalg.norm(Z - place, axis=1) < 2.3 for place in P)
    rule = np.where(second, 3 - frame["income"], (frame["children"] - 2) / 2)
    score = np.where(first, frame["income"] - 3, rule) + 0.3 * (frame["region"] == "west")
    return frame, np.where(score + 0.1 * rng.normal(size=600) > 0, "good", "bad")


def points_of(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.iloc[:2].assign(
        age=[30.0, 50.0], income=3.0, children=2, region="north", owner="no"
    )


@pytest.fixture(scope="module")
def mixed(table) -> LocalMixtureClassifier:
    frame, y = table
    return LocalMixtureClassifier(
        points_of_interest=points_of(frame),
        loss="zero-one",  # the log loss keeps one of the two balls only
        inverse_temperature=16.0,
        n_starts=3,
        random_state=1,
    ).fit(frame, y)


MODELS = {
    "classifier": (
        lambda overlap: LocalMixtureClassifier(
            points_of_interest=POINTS, overlap=overlap, **QUICK
        ).fit(*make_clf_case1(random_state=0))
    ),
    "zero-one": (
        lambda overlap: LocalMixtureClassifier(
            points_of_interest=POINTS, overlap=overlap, loss="zero-one", **QUICK
        ).fit(*make_clf_case1(random_state=0))
    ),
    "regressor": (
        lambda overlap: LocalMixtureRegressor(
            points_of_interest=[[-0.3], [0.3]],
            overlap=overlap,
            **QUICK | {"inverse_temperature": 16.0},
        ).fit(*make_reg_case2(random_state=0))
    ),
}


@pytest.fixture(
    scope="module",
    params=[(kind, overlap) for kind in MODELS for overlap in ("nearest", "mean")],
    ids=str,
)
def fitted(request: pytest.FixtureRequest):
    kind, overlap = request.param
    X, y = (make_reg_case2 if kind == "regressor" else make_clf_case1)(random_state=0)
    return MODELS[kind](overlap), X, y


# -- rows ------------------------------------------------------------------------------------------


def test_contributions_add_up(fitted) -> None:
    model, X, _ = fitted
    explanation = explain_local(model, X)
    np.testing.assert_allclose(
        explanation.base + explanation.contributions.sum(axis=1), explanation.score, atol=1e-9
    )
    np.testing.assert_array_equal(explanation.view.used, model.apply(X))
    np.testing.assert_array_equal(explanation.view.member.T, model.membership(X))
    np.testing.assert_allclose(explanation.view.membership.T, model.membership_proba(X))
    np.testing.assert_array_equal(explanation.contradicted, model.ambiguous(X))
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(explanation.prediction, model.predict(X))
    else:
        np.testing.assert_allclose(explanation.prediction, model.predict(X), rtol=1e-9, atol=1e-12)


def test_contributions_of_categories_are_gathered(table, mixed) -> None:
    frame, _ = table
    explanation = explain_local(mixed, frame)
    assert explanation.feature_names == tuple(frame.columns)
    np.testing.assert_allclose(
        explanation.base + explanation.contributions.sum(axis=1), explanation.score, atol=1e-9
    )
    row = explanation[5]
    mixture = mixed.mixture_
    used = mixture.models[row.model_used]
    place = mixture.provenance.summary.medians[row.model_used]
    encoded = mixture.encode(frame)[5]
    names = [j for j, name in enumerate(used.feature_names) if name.startswith("region=")]
    assert row.contributions["region"] == pytest.approx(
        sum(used.coef[j] * (encoded[j] - place[j]) for j in names)
    )
    assert row.values["region"] == frame["region"][5]


def test_a_row_in_words(fitted) -> None:
    model, X, _ = fitted
    explanation = explain_local(model, X, X_train=X)
    n = len(model.localities_)
    for row in explanation:
        applies = [one["applies"] for one in row.models]
        assert applies[-1] == (not any(applies[:-1]))
        text = str(row)
        if row.where:
            assert row.where == model.localities_[row.model_used].where
            assert f"decided by {row.decided_by}, {row.where}; {row.reason}" in text
        else:
            assert f"decided by {row.decided_by} ({row.reason})" in text
        assert [one["where"] for one in row.models] == [
            *(one.where for one in model.localities_),
            "",
        ]
        if row.model_used == n:
            assert row.reason == "no locality contains the row"
            assert "decided by the exterior model (" in text
            assert "the exterior model gives " in text
        elif row.model_used < 0:
            assert "the mean of their scores is used" in row.reason
        elif sum(applies) == 1:
            assert row.reason == "no other locality contains the row"
        else:
            nearest = min(
                (one["distance"], i) for i, one in enumerate(row.models[:-1]) if one["applies"]
            )[1]
            assert row.model_used == nearest
        if row.row > 40:
            break
    assert explanation[-1].row == len(X) - 1
    with pytest.raises(IndexError):
        explanation[len(X)]
    assert row.identical == row.row
    assert row.row not in [one["row"] for one in row.neighbors]
    assert all(model.apply(X[[one["row"]]])[0] == row.model_used for one in row.neighbors)


def test_neighbors_are_the_nearest(table, mixed) -> None:
    frame, _ = table
    asked, train = frame[:50], frame[50:]
    explanation = explain_local(mixed, asked, X_train=train, n_neighbors=2)
    Z, T = (standardize(mixed, one) for one in (asked, train))
    used = mixed.apply(train)
    for i, row in enumerate(explanation):
        away = np.linalg.norm(T - Z[i], axis=1)
        away[used != row.model_used] = np.inf
        assert [one["distance"] for one in row.neighbors] == pytest.approx(np.sort(away)[:2])


# -- the whole -------------------------------------------------------------------------------------


def test_regions_count_their_rows(fitted) -> None:
    model, X, y = fitted
    explanation = explain_global(model, X, y)
    member, n = model.membership(X), len(model.localities_)
    assert [region.n_rows for region in explanation.regions] == [
        *member.sum(axis=0),
        (~member.any(axis=1)).sum(),
    ]
    assert sum(region.n_used for region in explanation.regions) == (model.apply(X) >= 0).sum()
    np.testing.assert_array_equal(np.diag(explanation.shared), member.sum(axis=0))
    np.testing.assert_array_equal(explanation.shared, explanation.shared.T)
    assert explanation.ambiguous == pytest.approx(model.ambiguous(X).mean())
    if n == 2:
        assert explanation.contradictions[0, 1] == model.ambiguous(X).sum()
    whole = (
        model.score(X, y)
        if hasattr(model, "classes_")
        else np.sqrt(np.mean((model.predict(X) - y) ** 2))
    )
    assert explanation.score == pytest.approx(whole)
    for i, region in enumerate(explanation.regions[:-1]):
        inside = member[:, i]
        own = model.mixture_.view(model.mixture_.encode(X[inside])).scores[i]
        if hasattr(model, "classes_"):
            assert region.score == pytest.approx(
                np.mean(model.classes_[(own > 0).astype(int)] == y[inside])
            )
            assert sum(region.balance.values()) == pytest.approx(1)
        else:
            assert region.score == pytest.approx(np.sqrt(np.mean((own - y[inside]) ** 2)))
            assert region.balance["mean target"] == pytest.approx(y[inside].mean())


def test_why_a_locality_exists() -> None:
    X, y = make_clf_case1(random_state=0)
    model = MODELS["classifier"]("nearest")
    explanation = explain_global(model, X, y)
    assert explanation.score > explanation.linear_score + 0.15
    for region in explanation.regions[:-1]:
        assert region.score > region.exterior_score
        assert region.score > region.linear_score
    single = cross_val_score(
        LogisticRegression(), (X - X.mean(axis=0)) / X.std(axis=0), y, cv=5
    ).mean()
    assert explanation.linear_score == pytest.approx(single, abs=0.01)
    few = explain_global(model, X[:9], y[:9])  # fewer rows than would do for a linear model
    assert few.linear_score < 1
    with pytest.raises(ValueError, match="y has the label 'yes', which the model does not know"):
        explain_global(model, X, np.where(y > 0, "yes", "no"))


def test_the_certificate_is_shown() -> None:
    X, y = make_clf_case1(random_state=0)
    model, certificate = certify(LocalMixtureClassifier(points_of_interest=POINTS, **QUICK), X, y)
    explanation = explain_global(model, X, y)
    assert explanation.certificate is certificate
    assert certificate.headline.sentence in str(explanation)
    assert explanation.to_dict()["certificate"]["statements"][0]["code"] == "C1"


def test_no_minus_before_a_zero() -> None:
    """Whole numbers that were rounded up to zero."""
    assert number(-0.0) == number(np.float64(-0.0)) == "0"
    assert number(-0.25) == "-0.25"
    X = np.array([[-3.0], [-2.0], [-1.0], [0.0], [1.0], [2.0]] * 10)
    y = np.where(X[:, 0] > -0.5, 1, -1)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    found = counterfactual(model, [-1.0], integer=["x0"])
    assert found.after["x0"] == 0.0
    assert not np.signbit(found.after["x0"])
    assert "to 0" in str(found)


def test_tables_json_and_notebooks(table, mixed) -> None:
    frame, y = table
    every = [
        explain_global(mixed, frame, y),
        explain_global(mixed, frame, y).regions[0],
        explain_local(mixed, frame[:7], X_train=frame),
        explain_local(mixed, frame[:7])[0],
        counterfactual(mixed, frame[:1]),
    ]
    for one in every:
        json.dumps(one.to_dict(), allow_nan=False)
        assert isinstance(one.to_frame(), pd.DataFrame)
        assert "<table>" in one._repr_html_()
    assert len(explain_local(mixed, frame[:7]).to_frame()) == 7
    assert list(every[0].coefficients().columns) == ["locality 0", "locality 1", "exterior"]


def test_names_are_escaped() -> None:
    rng = np.random.default_rng(0)
    bad = "<script>alert(1)</script>"
    frame = pd.DataFrame({bad: rng.normal(size=80), "b": rng.choice([bad, "x"], 80)})
    y = np.where(frame[bad] > 0, bad, "good")
    model = LocalMixtureClassifier(0, **QUICK).fit(frame, y)
    for one in (
        explain_global(model, frame, y),
        explain_local(model, frame),
        counterfactual(model, frame[:1]),
    ):
        assert "<script>" not in one._repr_html_()


def test_regions_without_rows(table, mixed) -> None:
    frame, y = table
    far = frame[:3].assign(age=[900.0, 901.0, 902.0])
    explanation = explain_global(mixed, far, y[:3])
    assert explanation.regions[0].score is None
    assert explanation.regions[0].n_rows == 0
    assert json.dumps(explanation.to_dict(), allow_nan=False)
    assert explain_local(mixed, far, X_train=frame[:1]).nearest.shape == (3, 3)


def test_other_things_are_refused(table, mixed) -> None:
    frame, y = table
    with pytest.raises(
        TypeError, match="expected a fitted motlm estimator or its mixture_; got a Logistic"
    ):
        explain_global(LogisticRegression().fit([[0], [1]], [0, 1]), frame, y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        explain_global(mixed, frame, y[1:])


# -- counterfactuals -------------------------------------------------------------------------------


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("weights", ["one", "some", "few"])
@pytest.mark.parametrize("boxed", [False, True])
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")
def test_the_nearest_point_against_a_solver(
    boxed: bool, weights: str, equal: bool, rng: np.random.Generator
) -> None:
    """A general solver finds no nearer point in ellipsoid, half-space or plane, and box."""
    found = 0
    for _ in range(60):
        d = int(rng.integers(1, 5))
        center, gradient = rng.normal(size=d), rng.normal(size=d)
        weight = np.ones(d) if weights == "one" else rng.uniform(0.1, 4.0, d)
        if weights == "few":
            weight *= rng.random(d) < 0.6
        radius = rng.uniform(0.5, 2.0)
        start = center + rng.normal(size=d)  # inside or outside
        low, high = np.full(d, -np.inf), np.full(d, np.inf)
        if boxed:
            low, high = start - rng.uniform(0, 1.5, d), start + rng.uniform(0, 1.5, d)
        reach = gradient @ start + rng.uniform(-0.5, 1.0)
        domain = Domain(gradient, reach, equal, low, high, center, weight, radius)
        point = domain.nearest(start)
        solved = minimize(
            lambda z, start=start: ((z - start) ** 2).sum(),
            np.clip(center, low, high),
            jac=lambda z, start=start: 2 * (z - start),
            bounds=list(zip(low, high, strict=True)),
            constraints=[
                {
                    "type": "eq" if equal else "ineq",
                    "fun": lambda z, domain=domain: beyond(domain, z),
                },
                {"type": "ineq", "fun": lambda z, domain=domain: room(domain, z)},
            ],
            options={"maxiter": 500, "ftol": 1e-12},
        )
        reached = beyond(domain, solved.x)
        feasible = solved.success and room(domain, solved.x) >= -1e-6
        feasible = feasible and (abs(reached) <= 1e-6 if equal else reached >= -1e-6)
        if point is None:
            assert not feasible
            continue
        found += 1
        assert beyond(domain, point) == pytest.approx(0, abs=1e-9) if equal else True
        assert beyond(domain, point) >= -1e-9
        assert room(domain, point) >= -1e-9
        assert (point >= low - 1e-12).all()
        assert (point <= high + 1e-12).all()
        if feasible:
            assert ((point - start) ** 2).sum() <= solved.fun * (1 + 1e-4) + 1e-9
    assert found > 15


def beyond(domain: Domain, z: np.ndarray) -> float:
    return float(domain.gradient @ z - domain.reach)


def room(domain: Domain, z: np.ndarray) -> float:
    return float(domain.radius**2 - domain.weight @ (z - domain.center) ** 2)


def test_fixed_columns_take_room(rng: np.random.Generator) -> None:
    """The nearest point with columns held is that with bounds that hold them."""
    for _ in range(40):
        start, center, gradient = rng.normal(size=(3, 4))
        free = np.array([True, True, False, True])
        weight = rng.uniform(0.0, 2.0, 4) * (rng.random(4) < 0.7)
        none = np.full(4, np.inf)
        whole = Domain(gradient, gradient @ start + 0.3, False, -none, none, center, weight, 1.5)
        held = replace(whole, low=np.where(free, -np.inf, start), high=np.where(free, none, start))
        expected, part = held.nearest(start), whole.fix(free, start)
        found = None if part is None else part.nearest(start[free])
        assert (found is None) == (expected is None)
        if found is not None:
            np.testing.assert_allclose(found, expected[free], atol=1e-6)


@pytest.fixture(scope="module")
def few_columns() -> tuple[LocalMixtureClassifier, np.ndarray]:
    """Three columns; two localities that look at two of them, with weights, and overlap."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3)) * [1.0, 5.0, 2.0]
    y = np.where(X[:, 0] * np.sign(X[:, 1]) + 0.2 * X[:, 2] > 0, 1, -1)
    model = LocalMixtureClassifier(
        points_of_interest=[[0.0, 4.0, 0.0], [0.5, -4.0, 0.0]], **BALLS, **QUICK
    ).fit(X, y)
    old = model.mixture_.geometry
    weights = np.array([[0.5, 2.0, 0.0], [0.0, 1.5, 0.7]])
    geometry = replace(
        old, radius=np.array([1.3, 1.6]), weights=weights, varies=np.ones(3, dtype=bool)
    )
    return change(model, geometry=geometry), X


def check_by_sampling(model, rows, sample, **options) -> set[tuple[str, bool]]:
    """No sampled row with the other answer by the same model is nearer; regions of what was found,
    and whether it was exact.
    """
    answers, used, places = model.predict(sample), model.apply(sample), standardize(model, sample)
    found = set()
    for x in rows:
        one = nearest_change(model, x, **options)
        fits = (answers != model.predict(x[None])[0]) & (used == model.apply(x[None])[0])
        away = np.linalg.norm(places[fits] - standardize(model, x[None]), axis=1)
        nearest = away.min() if fits.any() else np.inf
        if not one.found:
            assert not (one.exact and np.isfinite(nearest))
            assert one.exact or options["integer"]  # for whole numbers there is no detour
            continue
        after = np.array([list(one.after.values())])
        assert model.apply(after)[0] == model.apply(x[None])[0]
        if one.exact or not options["integer"]:  # else any row, where there is no detour
            assert one.distance <= nearest * (1 if one.exact else 1.1)
        found.add((one.region, one.exact))
    return found


@pytest.mark.parametrize("integer", [(), ("x1",)])
@pytest.mark.parametrize("bounds", [{}, {"x0": (-0.8, 0.9), "x2": (-3.0, None)}])
def test_localities_in_a_few_columns_by_sampling(few_columns, integer, bounds) -> None:
    model, X = few_columns
    sample = np.random.default_rng(0).uniform(-3.5, 3.5, size=(60_000, 3)) * [1.0, 5.0, 2.0]
    if integer:
        sample[:, 1] = np.rint(sample[:, 1])
    for column, (low, high) in bounds.items():
        j = int(column[1])
        sample = sample[(sample[:, j] >= low) & (sample[:, j] <= (high or np.inf))]
    found = check_by_sampling(model, X[:40], sample, integer=integer, bounds=bounds)
    assert {("locality 0", True), ("locality 1", True)} <= found


@pytest.mark.parametrize(("n_columns", "features"), [(2, 1), (2, 2), (3, 1), (3, 2), (3, "all")])
@pytest.mark.parametrize("corrections", ["own", "none"])
def test_learned_intervals_and_ellipses_by_sampling(n_columns, features, corrections) -> None:
    """A grid over the localities has no row that is nearer than what is exact, and none where it is
    proved that there is none.
    """
    rng, scale = np.random.default_rng(0), np.array([1.0, 5.0, 0.3])[:n_columns]
    Z = rng.uniform(-2, 2, size=(600, n_columns))
    slopes = rng.normal(size=(2, n_columns))
    inside = (Z[:, 0] - 0.3) ** 2 / 0.5 + (Z[:, 1] + 0.2) ** 2 / 1.5 < 1
    score = np.where(inside, Z @ slopes[0] + 0.3, Z @ slopes[1] - 0.2) + 0.1 * rng.normal(size=600)
    options = {"locality_features": features, "corrections": corrections}
    model = LocalMixtureClassifier(2, **options, **QUICK).fit(Z * scale, np.sign(score))
    line = np.linspace(-3.5, 3.5, 300 if n_columns == 2 else 60)
    grid = np.stack(np.meshgrid(*[line] * n_columns), -1).reshape(-1, n_columns)
    found = check_by_sampling(model, (Z * scale)[:40], grid * scale, integer=())
    dims = model.mixture_.posterior.layout.dims
    assert dims.max() == (n_columns if features == "all" else min(features, n_columns))
    assert {("locality 0", True), ("exterior", True)} <= found


def test_predictions_of_ellipses_move_to_what_is_wanted() -> None:
    """In closed form for an interval: the column of the interval stays within it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(500, 2))
    y = X[:, 1] + np.where(np.abs(X[:, 0] - 5) < 2, 8 - X[:, 1] + X[:, 0], 0.0)
    model = LocalMixtureRegressor(1, locality_features=1, **QUICK).fit(X, y)
    [locality] = model.localities_
    low, high = (locality.center[0] + sign * locality.half_width[0] for sign in (-1, 1))
    rows = X[model.apply(X) == 0][:20]
    for x in rows:
        one = nearest_change(model, x, target=float(model.predict(x[None])[0] + 0.5))
        assert one.found
        assert one.exact
        assert one.prediction_after == pytest.approx(one.wanted, abs=2e-5)
        assert low <= one.after["x0"] <= high
        gap = np.array(list(one.after.values())) - x
        scale = model.mixture_.inputs.units.inverse_scale
        slopes = locality.coef / scale  # of standardized columns; the step is along them, if inside
        step = 0.5 * slopes / (slopes @ slopes) / scale
        if low < x[0] + step[0] < high:
            np.testing.assert_allclose(gap, step, atol=2e-4)
        else:
            assert min(abs(one.after["x0"] - low), abs(one.after["x0"] - high)) < 2e-4


def test_weights_of_a_metric_by_sampling(few_columns) -> None:
    """The metric seuclidean divides by the variances, which here are not 1."""
    _, X = few_columns
    y = np.where(X[:, 0] * np.sign(X[:, 1] + 4) + 0.2 * X[:, 2] > 0, 1, -1)
    model = LocalMixtureClassifier(
        points_of_interest=[[0.0, 4.0, 0.0]], metric="seuclidean", standardize=False, **QUICK
    ).fit(X, y)
    assert np.ptp(model.mixture_.loci[0].weight) > 0.5
    sample = np.random.default_rng(0).uniform(-3.5, 3.5, size=(60_000, 3)) * [1.0, 5.0, 2.0]
    found = check_by_sampling(model, X[:40], sample, integer=())
    assert ("locality 0", True) in found


def test_labels_flip_within_the_locality(fitted) -> None:
    model, X, _ = fitted
    if not hasattr(model, "classes_"):
        with pytest.raises(ValueError, match="target is needed"):
            counterfactual(model, X[0])
        return
    flipped = 0
    for x in X[:60]:
        one = counterfactual(model, x)
        if not one.found:
            assert one.reason
            assert one.after == {}
            continue
        flipped += 1
        after = np.array([list(one.after.values())], dtype=float)
        assert model.predict(after)[0] != model.predict(x[None])[0]
        assert model.apply(after)[0] == model.apply(x[None])[0]
        if one.exact:
            np.testing.assert_allclose(one.score_after, 0, atol=1e-4)
    assert flipped > 40


def test_predictions_move_to_what_is_wanted() -> None:
    model = MODELS["regressor"]("nearest")
    x = model.localities_[0].center
    before = float(model.predict(x[None])[0])
    wanted = before + 0.1 * abs(model.localities_[0].coef[0])
    one = counterfactual(model, x, target=wanted)
    assert one.found
    assert model.predict([[*one.after.values()]])[0] == pytest.approx(wanted)
    assert not counterfactual(model, x, target=before + 100).found
    with pytest.raises(ValueError, match="target is needed"):
        counterfactual(model, x)
    for bad in ("much", np.nan):
        with pytest.raises(ValueError, match="target must be a finite number"):
            counterfactual(model, x, target=bad)
    assert counterfactual(model, x, target=before).reason == "the model gives that answer already"


def test_fixed_bounds_whole_numbers_and_categories(table, mixed) -> None:
    frame, _ = table
    plain_found = 0
    for i in range(25):
        row = frame.iloc[[i]]
        free = counterfactual(mixed, row)
        numbers = counterfactual(mixed, row, immutable=["region", "owner"], integer=["children"])
        held = counterfactual(mixed, row, immutable=["income", "region", "owner", "children"])
        bounded = counterfactual(
            mixed, row, bounds={"income": (0.0, 6.0), "age": (18, 80)}, integer=["children"]
        )
        for one in (free, numbers, held, bounded):
            if not one.found:
                continue
            plain_found += 1
            changed = pd.DataFrame([one.after])[list(frame.columns)]
            assert mixed.predict(changed)[0] == one.prediction_after != one.prediction_before
            assert one.distance == pytest.approx(
                np.linalg.norm(standardize(mixed, changed) - standardize(mixed, row))
            )
        if numbers.found:
            assert set(numbers.changes) <= {"age", "income", "children"}
            assert float(numbers.after["children"]).is_integer()
        if held.found:
            assert set(held.changes) == {"age"}
            assert held.distance >= free.distance - 1e-9
        if bounded.found:
            assert 0 <= bounded.after["income"] <= 6
            assert 18 <= bounded.after["age"] <= 80
    assert plain_found > 30


def test_whole_numbers_by_enumeration(rng: np.random.Generator) -> None:
    """Two whole numbers: the branches find what trying all finds."""
    X = rng.integers(-6, 7, size=(300, 2)).astype(float)
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=300) > 0.2, 1, -1)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    every = np.array([(a, b) for a in range(-20, 21) for b in range(-20, 21)], dtype=float)
    labels = model.predict(every)
    inverse = model.mixture_.inputs.units.inverse_scale
    for x in X[:20]:
        one = nearest_change(model, x, integer=["x0", "x1"])
        away = np.linalg.norm((every - x) * inverse, axis=1)
        away[labels == model.predict(x[None])[0]] = np.inf
        assert one.distance == pytest.approx(away.min())


def test_categories_by_enumeration(table, mixed) -> None:
    """With numbers held, only categories can change: the nearest of all combinations."""
    frame, _ = table
    held = ["age", "income", "children"]
    for i in range(40):
        row = frame.iloc[[i]]
        one = counterfactual(mixed, row, immutable=held)
        every = pd.concat(
            [
                row.assign(region=r, owner=o)
                for r in ("north", "south", "west")
                for o in ("no", "yes")
            ]
        )
        ok = (mixed.predict(every) != mixed.predict(row)[0]) & (
            mixed.apply(every) == mixed.apply(row)[0]
        )
        assert one.found == bool(ok.any())
        if one.found:
            away = np.linalg.norm(standardize(mixed, every) - standardize(mixed, row), axis=1)
            assert one.distance == pytest.approx(away[ok].min())


def test_rows_may_be_given_in_many_ways(table, mixed) -> None:
    frame, _ = table
    row = frame.iloc[[3]]
    values = frame.iloc[3]
    expected = counterfactual(mixed, row).after
    assert counterfactual(mixed, dict(values)).after == expected
    assert counterfactual(mixed, list(values)).after == expected
    for bad, match in (
        (frame[:2], "one row is explained at a time; got 2"),
        ({"age": 3}, "no value for 'income'"),
        ([1, 2], "a row has 5 values"),
    ):
        with pytest.raises(ValueError, match=match):
            counterfactual(mixed, bad)
    with pytest.raises(ValueError, match="immutable names 'wealth'"):
        counterfactual(mixed, row, immutable=["wealth"])
    with pytest.raises(ValueError, match="'region', a column of categories"):
        counterfactual(mixed, row, bounds={"region": (0, 1)})
    with pytest.raises(ValueError, match="target must be one of the labels"):
        counterfactual(mixed, row, target="ugly")
    with pytest.raises(ValueError, match="bounds of 'age' must be"):
        counterfactual(mixed, row, bounds={"age": (5, 1)})


def test_other_metrics_have_no_closed_form() -> None:
    X, y = make_clf_case1(random_state=0)
    model = LocalMixtureClassifier(points_of_interest=POINTS, metric="manhattan", **QUICK).fit(X, y)
    inside = X[model.apply(X) == 0][0]
    assert "no closed form" in counterfactual(model, inside).reason
    outside = X[model.apply(X) == len(model.localities_)][0]
    assert "no closed form" not in counterfactual(model, outside).reason


@pytest.mark.parametrize(
    "metric", ["euclidean", "seuclidean", "manhattan", "chebyshev", "mahalanobis"]
)
def test_distances_are_those_of_the_model(metric: str) -> None:
    """What a detour keeps away from is where the model says that localities are."""
    X, y = make_clf_case1(random_state=0)
    model = LocalMixtureClassifier(points_of_interest=POINTS, metric=metric, **QUICK).fit(X, y)
    view = model.mixture_.view(X[:20])
    for away, locus in zip(view.distance, model.mixture_.loci, strict=True):
        found = [locus.squared_distance(z) for z in standardize(model, X[:20])]
        np.testing.assert_allclose(found, away**2, rtol=1e-9)
    outside = X[model.apply(X) == len(model.localities_)][:10]
    assert any(counterfactual(model, x).found for x in outside)


# -- what a reviewer found -------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:lbfgs stopped")
@pytest.mark.parametrize("options", [BALLS, {}], ids=["balls", "ellipses"])
def test_changes_around_other_localities(options) -> None:
    """Where the nearest point belongs to another locality, one near by is found: none of many
    sampled rows is much nearer.
    """
    X, y = make_clf_case2(random_state=0)
    points = [[-1.4, 0.0], [0.0, 0.75], [1.4, 0.0]]
    model = LocalMixtureClassifier(
        points_of_interest=points,
        standardize=False,
        inverse_temperature=8.0,
        n_starts=2,
        random_state=0,
        **options,
    )
    model.fit(X, y)
    rng = np.random.default_rng(0)
    sample = rng.uniform(-4, 4, size=(200_000, 2))
    labels, used = model.predict(sample), model.apply(sample)
    detours = 0
    for x in X[:60]:
        one = nearest_change(model, x)
        fits = (labels != model.predict(x[None])[0]) & (used == model.apply(x[None])[0])
        nearest = np.linalg.norm(sample[fits] - x, axis=1).min() if fits.any() else np.inf
        if one.found:
            detours += not one.exact
            assert one.distance <= 1.05 * nearest + 0.02
            assert one.prediction_after != one.prediction_before
        else:
            assert not np.isfinite(nearest)
    assert detours > 5


def test_answers_near_the_border_flip() -> None:
    X, y = make_clf_case1(random_state=0)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    coef, intercept = model.exterior_.coef, model.exterior_.intercept
    for x in X[:40]:
        on_border = x - coef * (x @ coef + intercept) / (coef @ coef)
        one = counterfactual(model, on_border)
        assert one.found
        assert one.prediction_after != one.prediction_before


def test_unknown_categories_stay(table, mixed) -> None:
    frame, _ = table
    inputs = mixed.mixture_.inputs
    row = frame.iloc[[0]].assign(region="east")
    for rule in ("ignore", "warn", "error"):
        reading = replace(inputs.reading, handle_unknown=rule)
        model = change(mixed, inputs=replace(inputs, reading=reading)).mixture_
        if rule == "error":
            with pytest.raises(ValueError, match="'east'"):
                counterfactual(model, row, immutable=["region"])
            continue
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            one = counterfactual(model, row, immutable=["region"])
        assert len(warned) == (rule == "warn")  # once, not at each trial
        assert one.found
        assert one.after["region"] == "east"


def test_predictions_move_no_further_than_wanted() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "c": rng.choice(["x", "y"], 300)})
    y = frame["a"] + 5.0 * (frame["c"] == "y")
    model = LocalMixtureRegressor(0, **QUICK).fit(frame, y)
    one = counterfactual(model, {"a": 0.0, "c": "x"}, target=3.0)
    assert one.prediction_after == pytest.approx(3.0, rel=1e-5)  # six digits of a


def test_yes_and_no_stay_so() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "own": rng.choice([True, False], 300)})
    y = np.where(0.2 * frame["a"] + frame["own"] > 0.5, 1, 0)
    model = LocalMixtureClassifier(0, **QUICK).fit(frame, y)
    for i in range(10):
        one = counterfactual(model, frame.iloc[[i]])
        assert isinstance(one.after["own"], bool)


def test_limits_in_words() -> None:
    X, y = make_clf_case1(random_state=0)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    assert counterfactual(model, X[0], bounds={"x0": (None, 30)}).found
    for options, match in (
        (
            {"immutable": "x0"},
            r"immutable must be a list of column names; got the text 'x0'. Write \['x0'\]",
        ),
        ({"bounds": {"x0": 3}}, "either of which may be None; got 3"),
    ):
        with pytest.raises(ValueError, match=match):
            counterfactual(model, X[0], **options)
    labels = pd.DataFrame(X).assign(c=np.where(X[:, 0] > 0, "y", "x"))
    labels.columns = pd.Index([0, 1, 2])
    numbered = LocalMixtureClassifier(0, **QUICK).fit(labels, y)
    assert counterfactual(numbered, labels[:1]).found


@pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
def test_digits_of_columns_far_from_zero() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([1.7e9 + 10 * rng.normal(size=300), rng.normal(size=300)])
    y = np.where(X[:, 0] - 1.7e9 + 5 * X[:, 1] > 0, 1, -1)
    model = LocalMixtureClassifier(points_of_interest=X[:1], **QUICK).fit(X, y)
    explanation = explain_local(model, X)
    np.testing.assert_allclose(
        explanation.base + explanation.contributions.sum(axis=1), explanation.score, atol=1e-9
    )


def test_neighbors_where_several_are_used() -> None:
    X, y = make_clf_case1(random_state=0)
    model = LocalMixtureClassifier(
        points_of_interest=[[-1.0, 0.0], [1.0, 0.0]], overlap="mean", **QUICK
    ).fit(X, y)
    geometry = model.mixture_.geometry
    model = change(model, geometry=replace(geometry, radius=np.array([1.5, 1.5])))
    explanation = explain_local(model, X[:200], X_train=X)
    assert (explanation.view.used < 0).any()
    member = model.membership(X)
    for i, row in enumerate(explanation):
        for one in row.neighbors:
            if row.model_used < 0:
                np.testing.assert_array_equal(member[one["row"]], member[i])


def test_a_row_by_itself(table) -> None:
    frame, y = table
    model = LocalMixtureClassifier(1, **QUICK).fit(frame, y)
    whole = explain_local(model, frame[3:4])
    for one in (frame.iloc[3], frame.iloc[3].to_dict()):
        assert explain_local(model, one)[0].to_dict() == whole[0].to_dict()
    assert str(explain_local(model, frame[:2])).count("decided by") == 2


def test_text_in_arrays_is_refused(table) -> None:
    frame, y = table
    with pytest.raises(
        ValueError,
        match=r"(?s)X is an array that holds text, such as .*set_output\(transform=.pandas.\)",
    ):
        LocalMixtureClassifier(1, **QUICK).fit(frame.to_numpy(dtype=object), y)


# -- mixtures, and old names -----------------------------------------------------------------------


def test_mixtures_are_explained_like_their_estimators(fitted) -> None:
    model, X, y = fitted
    mixture = model.mixture_
    assert explain_global(mixture, X, y).to_dict() == explain_global(model, X, y).to_dict()
    assert explain_local(mixture, X[:5]).to_dict() == explain_local(model, X[:5]).to_dict()
    target = None if hasattr(model, "classes_") else 0.3
    first, second = (counterfactual(one, X[0], target=target) for one in (mixture, model))
    assert first.to_dict() == second.to_dict()


@pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
def test_digits_of_learned_centers_far_from_zero() -> None:
    """Contributions are taken from standardized numbers, which keep their digits."""
    rng = np.random.default_rng(0)
    X = np.column_stack([1.7e12 + 10 * rng.normal(size=300), rng.normal(size=300)])
    y = np.where(X[:, 0] - 1.7e12 + 5 * X[:, 1] > 0, 1, -1)
    model = LocalMixtureClassifier(1, **BALLS, **QUICK).fit(X, y)
    explanation = explain_local(model, X)
    np.testing.assert_allclose(
        explanation.base + explanation.contributions.sum(axis=1), explanation.score, rtol=1e-12
    )


def test_old_names_warn_and_work(table, mixed) -> None:
    frame, y = table
    with pytest.warns(FutureWarning, match=r"explain_local\(n_neighbours=\) is now n_neighbors"):
        explanation = explain_local(mixed, frame[:3], X_train=frame, n_neighbours=2)
    row = explanation[0]
    assert len(row.neighbors) == 2
    for old, new in (
        ("neighbours", "neighbors"),
        ("speaker", "model_used"),
        ("speaker_name", "model_name"),
    ):
        with pytest.warns(FutureWarning, match=f"RowExplanation.{old} is now {new}"):
            assert getattr(row, old) == getattr(row, new)
    with pytest.warns(FutureWarning, match="the entry 'says' is now 'answer'"):
        assert row.models[0]["says"] == row.models[0]["answer"]
    with pytest.warns(FutureWarning, match="the entry 'says' is now 'answer'"):
        assert row.models[0].get("says") == row.models[0]["answer"]
    assert row.models[0].get("speaks for") is None
    assert row.models[0].get("speaks for", 3) == 3
    assert row.models[0].get("answer") == row.models[0]["answer"]
    with pytest.warns(FutureWarning, match="LocalExplanation.seen is now view"):
        assert explanation.seen is explanation.view
    with pytest.raises(KeyError, match="speaks for"):
        row.models[0]["speaks for"]
    whole = explain_global(mixed, frame, y)
    with pytest.warns(FutureWarning, match="Region.n_spoken is now n_used"):
        assert whole.regions[0].n_spoken == whole.regions[0].n_used
    with pytest.warns(FutureWarning, match="the entry 'speaks for' is now 'used for'"):
        assert whole.rows()[0]["speaks for"] == whole.regions[0].n_used
    assert "model" in explanation.to_frame().columns


def test_a_row_for_a_model_from_a_file(table, mixed) -> None:
    """It knows the names of the columns, but not the table."""
    frame, _ = table
    inputs = mixed.mixture_.inputs
    read = change(mixed, inputs=replace(inputs, reading=replace(inputs.reading, labels=None)))
    row = frame.iloc[3].to_dict()
    assert counterfactual(read, row).to_dict() == counterfactual(mixed, row).to_dict()


def test_a_model_without_localities_is_the_model() -> None:
    X, y = make_clf_case2(200, random_state=0)
    model = LocalMixtureClassifier(0, local_models="linear", inverse_temperature=1.0).fit(X, y)
    text = str(explain_local(model, X[:1])[0])
    assert "decided by the model (it has no localities)" in text
    assert "exterior" not in text


def test_rows_tell_their_probability_and_what_a_score_means():
    X, y = make_clf_case2(300, random_state=0)
    labels = np.where(y > 0, "yes", "no")
    model = LocalMixtureClassifier(0, random_state=0).fit(X, labels)
    found = explain_local(model, X[:20], X_train=X)
    shares = model.predict_proba(X[:20])
    for i, one in enumerate(found):
        own = shares[i, model.classes_.tolist().index(one.prediction)]
        assert one.probability == pytest.approx(own)
        assert one.to_dict()["positive"] == "yes"
        assert "a positive score means yes" in str(one)
        assert f"probability of {one.prediction}: {own:.3g}" in str(one)
        assert one.identical == i
        assert i not in [near["row"] for near in one.neighbors]
        assert len(one.neighbors) == 3
        assert f"row {i}, which has the same values, is left out" in str(one)
    frame = found.to_frame()
    assert frame["probability"].tolist() == pytest.approx([one.probability for one in found])
    assert set(frame["positive"]) == {"yes"}
    other = explain_local(model, X[:1] + 0.01, X_train=X)[0]
    assert other.identical is None
    assert "identical" not in other.to_dict()
