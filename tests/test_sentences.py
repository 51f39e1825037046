"""Localities in sentences, and corrections as differences: that they tell what the model does."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.explanations import explain_global, explain_local
from motlm.localities import Locality
from motlm.regions import Box

QUICK = {"local_models": "linear", "inverse_temperature": 4.0, "n_starts": 1, "random_state": 0}
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
WORDS = 25


def table(n: int = 500, seed: int = 0) -> pd.DataFrame:
    """Numbers, whole numbers, 0 and 1, a large amount, two levels and three."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "share": rng.uniform(size=n),
            "age": rng.integers(16, 90, n),
            "fleet": rng.integers(0, 2, n),
            "amount": np.exp(rng.normal(8.0, 1.0, n)).round(),
            "sex": rng.choice(["female", "male"], n),
            "region": rng.choice(["north", "south", "west"], n),
        }
    )


@pytest.fixture(scope="module")
def plain():
    """The columns and units of the table, and its rows as numbers."""
    frame = table()
    model = LocalMixtureRegressor(0, **QUICK).fit(frame, np.arange(len(frame), dtype=float))
    mixture = model.mixture_
    return frame, mixture.inputs, mixture.encode(frame)


def box_of(plain, reach: dict[str, tuple[float, float]], ranges: bool = True) -> Box:
    """With a center and a half-width of some encoded columns."""
    _, inputs, encoded = plain
    center, half = np.array(inputs.typical), np.full(len(inputs.names), np.inf)
    for name, pair in reach.items():
        j = inputs.names.index(name)
        center[j], half[j] = pair
    if not ranges:
        return Box(inputs, center, half)
    whole = (encoded == np.rint(encoded)).all(axis=0)
    return Box(inputs, center, half, encoded.min(axis=0), encoded.max(axis=0), whole)


def inside(box: Box, encoded: np.ndarray) -> np.ndarray:
    return (((encoded - box.center) / box.half) ** 2).sum(axis=1) <= 1.0


def told(
    text: str, values: np.ndarray, name: str, width: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """The rows that the range of a column names, and those that are so near to an end that
    rounding to two digits of a width decides.
    """
    unit = 10.0 ** (np.floor(np.log10(width)) - 1.0)
    found, unsure = np.ones(len(values), dtype=bool), np.zeros(len(values), dtype=bool)
    patterns = {
        rf"{name} up to ({NUMBER})": ("<=",),
        rf"{name} above ({NUMBER})": (">",),
        rf"{name} ({NUMBER}) to ({NUMBER})": (">=", "<="),
        rf"{name} ({NUMBER})(?! to)\b": ("==",),
    }
    for pattern, signs in patterns.items():
        match = re.search(pattern, text)
        if match is None:
            continue
        for sign, end in zip(signs, match.groups(), strict=True):
            tests = {"<=": values <= float(end), ">": values > float(end)}
            tests |= {">=": values >= float(end), "==": values == float(end)}
            found &= tests[sign]
            unsure |= np.abs(values - float(end)) <= 0.5 * unit * (1 + 1e-9)
        return found, unsure
    assert name not in text
    return found, unsure


# -- localities ------------------------------------------------------------------------------------


def test_intervals_name_the_rows_inside(plain) -> None:
    """But for those within half a unit of the last digit shown, and whole numbers exactly."""
    frame, _, encoded = plain
    rng = np.random.default_rng(1)
    for name in ("share", "age", "amount"):
        values = frame[name].to_numpy(dtype=float)
        spread = np.ptp(values)
        for _ in range(300):
            center = rng.uniform(values.min() - 0.3 * spread, values.max() + 0.3 * spread)
            half = spread * np.exp(rng.uniform(-6, 0.5))
            box = box_of(plain, {name: (center, half)})
            really = inside(box, encoded)
            if not really.any():
                continue
            width = min(center + half, values.max()) - max(center - half, values.min())
            found, unsure = told(box.text, values, name, width)
            if name == "age":
                unsure[:] = False
            np.testing.assert_array_equal(found[~unsure], really[~unsure], box.text)
            if box.text != "all rows":
                assert box.text.startswith(f"{name} ")


def test_levels_are_named_exactly(plain) -> None:
    frame, _, encoded = plain
    rng = np.random.default_rng(2)
    seen = set()
    for name, column in (("sex=male", "sex"), ("fleet", "fleet"), ("region=west", "region")):
        for _ in range(60):
            box = box_of(plain, {name: (rng.uniform(-0.5, 1.5), np.exp(rng.uniform(-1, 0.7)))})
            really = inside(box, encoded)
            if really.all() or not really.any():
                assert box.text == "all rows" or not really.any()
                continue
            words = box.text.removeprefix(f"{column} ")
            values = frame[column].astype(str)
            named = values != words.removeprefix("not ") if "not " in words else values == words
            np.testing.assert_array_equal(named | values.isin(words.split(" or ")), really)
            seen.add(box.text)
    assert {"sex male", "sex female", "fleet 0", "fleet 1"} <= seen
    assert {"region west", "region north or south"} & seen


def test_every_row_inside_is_within_the_ranges(plain) -> None:
    """Of ellipses in several columns, which have fewer rows than their ranges."""
    frame, _, encoded = plain
    rng = np.random.default_rng(3)
    names = ("share", "age", "amount", "sex=male", "fleet")
    checked = 0
    for _ in range(300):
        some = rng.choice(names, size=rng.integers(2, 6), replace=False)
        reach = {}
        for name in some:
            values = encoded[:, plain[1].names.index(name)]
            half = np.ptp(values) * np.exp(rng.uniform(-2.0, 0.5))
            reach[name] = (rng.choice(values), half)
        box = box_of(plain, reach)
        really = inside(box, encoded)
        assert len(f"locality 0, {box.text}: 12345 rows (12%)".split()) <= WORDS
        ranges = 0
        for name in ("share", "age", "amount"):
            if not re.search(rf"(?<!from ){name} (?:up|above|{NUMBER} to)", box.text):
                continue
            values = frame[name].to_numpy(dtype=float)
            width = min(2.0 * reach[name][1], np.ptp(values))
            found, unsure = told(box.text.partition(" (")[0], values, name, width)
            assert (found | unsure)[really].all()
            ranges += 1
        assert ranges < 2 or "(an ellips" in box.text
        checked += ranges
        for level in ("male", "female"):
            if re.search(rf"(?<!for )sex {level}\b", box.text):
                assert (frame["sex"][really] == level).all()
    assert checked > 100


@pytest.mark.parametrize(
    ("reach", "text"),
    [
        ({"age": (24.0, 6.3)}, "age 18 to 30"),
        ({"age": (10.0, 20.9)}, "age up to 30"),
        ({"age": (100.0, 19.5)}, "age above 80"),
        ({"age": (30.2, 0.4)}, "age 30"),
        ({"share": (0.5, 0.123)}, "share 0.38 to 0.62"),
        ({"share": (0.4512, 0.00123)}, "share 0.45 to 0.4524"),
        ({"amount": (3000.0, 987.0)}, "amount 2000 to 4000"),
        (
            {"age": (24.0, 6.3), "share": (0.5, 0.2)},
            "share 0.3 to 0.7 and age 18 to 30 (an ellipse)",
        ),
        ({"sex=male": (1.0, 0.5), "age": (24.0, 6.3)}, "age 18 to 30 and sex male"),
        # of men the interval is shorter: 24 +- 10 sqrt(1 - (0.4 / 0.5)^2)
        ({"sex=male": (0.6, 0.5), "age": (24.0, 10.0)}, "age 18 to 30 and sex male"),
        # of women it is 24 +- 6, of men 24 +- 10
        (
            {"sex=male": (1.0, 1.25), "age": (24.0, 10.0)},
            "age up to 34 (narrower for sex female)",
        ),
        ({"age": (50.0, 500.0)}, "all rows"),
        ({"age": (24.0, 6.3), "share": (0.5, 0.6)}, "age 18 to 30 (narrower far from share 0.5)"),
        ({"age": (54.0, 45.0), "share": (0.5, 0.6)}, "all rows but those far from"),
        ({}, "all rows"),
    ],
)
def test_sentences(plain, reach, text: str) -> None:
    assert box_of(plain, reach).text.startswith(text)


def test_without_ranges_there_is_a_center(plain) -> None:
    reach = {"age": (24.0, 6.34), "amount": (3000.0, 987.0)}
    assert (
        box_of(plain, reach, ranges=False).text
        == "age 24 +- 6.3 and amount 3000 +- 990 (an ellipse)"
    )
    assert box_of(plain, {"fleet": (1.0, 0.3)}, ranges=False).text == "fleet 1"


def test_many_columns_name_three(plain) -> None:
    reach = {"share": (0.5, 0.2), "age": (24.0, 40.0), "amount": (3000.0, 900.0)}
    reach |= {"sex=male": (1.0, 0.9), "fleet": (0.0, 0.9)}
    text = box_of(plain, reach).text
    assert re.fullmatch(r".*, .* and 2 more columns \(an ellipsoid\)", text)
    assert "amount 2100 to 3900" in text


def test_long_names_are_fewer() -> None:
    """The sentence keeps its 25 words."""
    rng = np.random.default_rng(0)
    names = [f"the measured width of petal number {k} in centimeters" for k in range(3)]
    frame = pd.DataFrame(rng.uniform(size=(50, 3)), columns=names)
    inputs = LocalMixtureRegressor(0, **QUICK).fit(frame, frame[names[0]]).mixture_.inputs
    box = Box(inputs, np.full(3, 0.5), np.full(3, 0.2), np.zeros(3), np.ones(3), np.zeros(3, bool))
    assert box.text.endswith("0.3 to 0.7 and 2 more columns (an ellipsoid)")
    assert box.text.count("petal") == 1


def test_places_lie_inside_of_each_range(plain) -> None:
    """The row at which the constant of a correction is told is made of round numbers."""
    _, inputs, encoded = plain
    rng = np.random.default_rng(4)
    for _ in range(200):
        reach = {
            name: (rng.choice(encoded[:, inputs.names.index(name)]), np.exp(rng.uniform(-3, 0)) * w)
            for name, w in (("share", 1.0), ("age", 70.0), ("sex=male", 2.0))
        }
        box = box_of(plain, reach)
        gap = np.abs(box.place - box.center)[[inputs.names.index(name) for name in reach]]
        assert (gap[:2] <= 1.06 * box.half[[0, 1]]).all()
        assert box.place[1] == np.rint(box.place[1])
        really = inside(box, encoded)
        for j in np.flatnonzero(box.constant & really.any()):
            assert (encoded[really, j] == box.place[j]).all()


@pytest.fixture(scope="module", params=["auto", 1, "all", "points", "columns"])
def fitted(request):
    """Learned localities of few and of all columns, and given ones."""
    frame = table(600)
    young = (frame["age"] < 35) & (frame["share"] < 0.6)
    y = 2.0 * frame["share"] + 0.01 * frame["age"] + np.where(young, 3.0 - 4 * frame["share"], 0.0)
    y = y + 0.1 * np.random.default_rng(0).normal(size=len(frame))
    options = {"locality_features": request.param}
    if request.param == "points":
        options = {"points_of_interest": frame.iloc[:1].assign(age=25, share=0.2)}
    if request.param == "columns":
        options = {"points_of_interest": frame.iloc[:1].assign(age=25, share=0.2)}
        options |= {"locality_columns": ["age", "share"], "locality_widths": [20.0, 0.5]}
    return LocalMixtureRegressor(1, **options, **QUICK).fit(frame, y), frame, y


def test_localities_are_sentences_everywhere(fitted) -> None:
    model, frame, y = fitted
    explanation = explain_global(model, frame, y)
    for i, locality in enumerate(model.localities_):
        assert isinstance(locality, Locality)
        assert str(locality) == f"{locality.where}: {locality.n_rows} rows"
        assert len(str(locality).split()) <= WORDS
        assert locality.where in explanation.regions[i].title
        assert explanation.rows()[i]["where"] == locality.where
        assert f"locality {i}, {locality.where}: {locality.n_rows} of 600 rows" in str(explanation)
        assert locality.where in explanation.regions[i]._repr_html_()
        row = int(np.flatnonzero(model.apply(frame) == i)[0])
        shown = explain_local(model, frame[row : row + 1])
        assert f"decided by locality {i}, {locality.where}; " in str(shown)
        assert shown[0].to_dict()["where"] == locality.where
    assert explanation.regions[-1].where == "all other rows"


def test_one_column_names_the_rows_inside() -> None:
    """Of a fitted model, as people check it."""
    frame = table(800)[["age", "share"]]
    y = np.where(frame["age"] < 40, 5.0, 0.1 * frame["age"]) + frame["share"]
    model = LocalMixtureRegressor(1, locality_features=1, **QUICK).fit(frame, y)
    [locality] = model.localities_
    found, _ = told(locality.where, frame["age"].to_numpy(dtype=float), "age")
    assert "age" in locality.where
    np.testing.assert_array_equal(found, model.membership(frame)[:, 0])
    assert found.sum() == locality.n_rows


# -- corrections -----------------------------------------------------------------------------------


def test_differences_add_up(fitted) -> None:
    """The exterior's score, plus what differs, is that of the local model."""
    model, frame, _ = fitted
    mixture = model.mixture_
    scores = mixture.view(mixture.encode(frame)).scores
    encoded, names = mixture.encode(frame), mixture.inputs.names
    for i, locality in enumerate(model.localities_):
        whole, *columns = locality.differences()
        gap = np.full(len(frame), whole["difference"])
        place = locality.exterior.place
        for one in columns:
            j = names.index(one["column"])
            gap += one["difference"] * (encoded[:, j] - place[j])
            assert one["local"] == locality.coef[j]
            assert one["exterior"] == model.exterior_.coef[j]
        inner = model.membership(frame)[:, i]
        assert whole["place"].items() <= dict(zip(names, place, strict=True)).items()
        np.testing.assert_allclose(gap[inner], (scores[i] - scores[-1])[inner], atol=1e-9)


def test_corrections_in_words(fitted) -> None:
    model, frame, y = fitted
    explanation = explain_global(model, frame, y)
    for i, locality in enumerate(model.localities_):
        text = locality.correction()
        assert text.startswith("as everywhere, except: ")
        assert explanation.regions[i].correction == text
        assert text in str(explanation)
        assert locality.formula() not in str(explanation)
        assert locality.formula() in explanation.text(full_formulas=True)
        assert explanation.rows()[i]["formula"] == locality.formula()
        page = explanation.regions[i]._repr_html_()
        assert "<summary>full formula</summary>" in page
        whole, *columns = locality.differences()
        for one in columns:
            more = "more" if one["difference"] > 0 else "less"
            assert f"{one['column']} counts {abs(one['difference']):.3g} {more}" in text
        assert f"{whole['difference']:+.3g}" in text
        shown = explanation.regions[i].to_frame().set_index("column")
        np.testing.assert_array_equal(shown["coefficient"], locality.coef)
        np.testing.assert_array_equal(shown["exterior"], model.exterior_.coef)
    assert model.exterior_.exterior is None
    with pytest.raises(TypeError, match="not a correction of the exterior model"):
        model.exterior_.correction()


def test_rates_differ_by_factors() -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 3000)
    X = pd.DataFrame({"age": age, "sex": rng.choice(["female", "male"], 3000)})
    rate = 0.2 * np.exp(0.01 * (age - 40) + np.where(age < 30, 1.2, 0.0))
    model = LocalMixtureRegressor(1, loss="poisson", **QUICK).fit(X, rng.poisson(rate))
    [locality] = model.localities_
    whole, *columns = locality.differences()
    text = locality.correction()
    assert f"x {math.exp(whole['difference']):.3g} at age " in text
    for one in columns:
        step = one["step"] or 1.0
        assert one["local_factor"] == pytest.approx(math.exp(one["local"] * step))
        assert one["exterior_factor"] == pytest.approx(math.exp(one["exterior"] * step))
        own, other = (f"x {one[name]:.3g}" for name in ("local_factor", "exterior_factor"))
        assert own == other or re.search(
            rf"{one['column']} {own}( per \S+)? instead of {other}", text
        )
    [place] = whole["place"].values()
    at = X.iloc[:1].assign(age=int(place))
    view = model.mixture_.view(model.mixture_.encode(at))
    ratio = np.exp(view.scores[0, 0] - view.scores[1, 0])
    assert ratio == pytest.approx(math.exp(whole["difference"]))


def test_classes_differ_each_by_itself() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(600, 2))
    y = np.where(np.abs(X[:, 0]) < 0.7, "middle", np.where(X[:, 1] > 0, "up", "down"))
    model = LocalMixtureClassifier(1, **QUICK).fit(X, y)
    [locality] = model.localities_
    lines = locality.correction().split("\n")
    assert len(lines) == 3
    for line, label in zip(lines, model.classes_, strict=True):
        own = locality.of_class(label)
        assert line == f"{label}: {own.correction()}"
        entries = [one for one in locality.differences() if one["class"] == label]
        assert [one["difference"] for one in entries] == [
            one["difference"] for one in own.differences()
        ]
    region = explain_global(model, X, y).regions[0]
    assert region.correction == locality.correction()
    assert {"exterior of up", "coefficient of up"} <= set(region.to_frame().columns)


def test_independent_models_have_formulas_alone() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(300, 2))
    y = np.where(np.abs(X[:, 0]) < 0.7, 4.0 - X[:, 1], X[:, 1])
    model = LocalMixtureRegressor(1, corrections="none", **QUICK).fit(X, y)
    explanation = explain_global(model, X, y)
    assert model.localities_[0].exterior is None
    assert "as everywhere" not in str(explanation)
    assert model.localities_[0].formula() in str(explanation)
    assert "correction" not in explanation.rows()[0]
    assert "exterior" not in explanation.regions[0].to_frame().columns
