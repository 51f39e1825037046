"""Tables with categories and text, from pandas and polars."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from motlm import LocalMixtureClassifier, LocalMixtureRegressor, Units
from motlm.certificates import certify
from motlm.errors import (
    IdentifierWarning,
    InputError,
    LookAlikeWarning,
    MotlmWarning,
    StrayTextWarning,
    UnknownCategoryWarning,
)
from motlm.evaluation import evaluate
from motlm.explanations import explain_global, explain_local

QUICK = {"local_models": "linear", "inverse_temperature": 4.0, "n_starts": 2, "random_state": 0}


def clients(n: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, size=n),
            "region": rng.choice(["north", "south", "west"], size=n),
            "owner": rng.choice([True, False], size=n),
            "grade": pd.Categorical(
                rng.choice(["b", "a", "c"], size=n), categories=["a", "b", "c", "unused"]
            ),
            "income": rng.normal(3e4, 1e4, size=n),
        }
    )
    y = 100.0 + 2.0 * frame["age"] + 30.0 * (frame["region"] == "south") + rng.normal(size=n)
    return frame, y.to_numpy()


def fit(model, *arguments):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        return model.fit(*arguments)


def polars_of(frame: pd.DataFrame) -> pl.DataFrame:
    return pl.DataFrame(
        {
            name: (
                frame[name]
                .astype(str if name in ("region", "grade") else frame[name].dtype)
                .to_list()
            )
            for name in frame
        }
    )


@pytest.mark.parametrize("kind", ["pandas", "polars", "object"])
def test_categories_are_encoded_inside(kind: str) -> None:
    frame, y = clients()
    table = {
        "pandas": frame,
        "polars": polars_of(frame),
        "object": frame.astype({"region": object, "grade": object}),
    }[kind]
    model = fit(LocalMixtureRegressor(1, **QUICK), table, y)
    assert model.n_features_in_ == 5
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.exterior_.feature_names == (
        "age",
        "region=south",
        "region=west",
        "owner",
        "grade=b",
        "grade=c",
        "income",
    )
    assert model.score(table, y) > 0.95
    by_hand = np.column_stack(
        [
            frame["age"],
            frame["region"] == "south",
            frame["region"] == "west",
            frame["owner"],
            frame["grade"] == "b",
            frame["grade"] == "c",
            frame["income"],
        ]
    ).astype(float)
    units = Units.of_rows(by_hand, y)
    units.inverse_scale[[1, 2, 4, 5]] = 2.0  # levels have one unit
    same = fit(LocalMixtureRegressor(1, standardize=units, **QUICK), by_hand, y)
    np.testing.assert_allclose(same.predict(by_hand), model.predict(table), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
def test_points_of_interest_in_raw_columns() -> None:
    frame, y = clients()
    typical = pd.DataFrame(
        {
            "age": [25, 70],
            "region": ["south", "north"],
            "owner": [True, False],
            "grade": ["a", "c"],
            "income": [2e4, 4e4],
        }
    )
    model = fit(LocalMixtureRegressor(points_of_interest=typical, **QUICK), frame, y)
    for locality in model.localities_:
        one = typical.iloc[locality.point]
        expected = [
            one.age,
            one.region == "south",
            one.region == "west",
            one.owner,
            one.grade == "b",
            one.grade == "c",
            one.income,
        ]
        np.testing.assert_array_equal(locality.center, np.array(expected, dtype=float))
    as_lists = fit(
        LocalMixtureRegressor(points_of_interest=typical.to_numpy(dtype=object), **QUICK), frame, y
    )
    assert as_lists.objective_ == model.objective_
    typical.loc[0, "region"] = "moon"
    with pytest.raises(
        ValueError,
        match="column 'region' of points_of_interest has categories that fit did not see: 'moon'",
    ):
        fit(LocalMixtureRegressor(points_of_interest=typical, **QUICK), frame, y)


@pytest.mark.parametrize("standardize", [True, False])
def test_unseen_categories(standardize: bool) -> None:
    frame, y = clients()
    frame["income"] /= 1e4
    parameters = QUICK | {"standardize": standardize, "inverse_temperature": 100.0}
    strange = frame.head(5).copy()
    strange.loc[3, "region"] = "moon"
    model = fit(LocalMixtureRegressor(0, handle_unknown="error", **parameters), frame, y)
    with pytest.raises(
        ValueError,
        match=(
            r"column 'region' of X has categories that fit did not see: 'moon' \(first at row 3\)"
        ),
    ):
        model.predict(strange)
    with pytest.warns(MotlmWarning, match="'moon'.* taken as the training average"):
        warned = model.set_params(handle_unknown="warn").predict(strange)
    lenient = model.set_params(handle_unknown="ignore")
    np.testing.assert_array_equal(lenient.predict(strange), warned)
    exterior = lenient.exterior_
    south, west = (frame["region"] == "south").mean(), (frame["region"] == "west").mean()
    typical = [
        strange.age[3],
        south,
        west,
        strange.owner[3],
        strange.grade[3] == "b",
        strange.grade[3] == "c",
        strange.income[3],
    ]
    assert lenient.predict(strange)[3] == pytest.approx(
        exterior.intercept + exterior.coef @ np.array(typical, dtype=float)
    )
    points = strange.iloc[[3]]
    with pytest.raises(
        ValueError,
        match="column 'region' of points_of_interest has categories that fit did not see",
    ):
        fit(
            LocalMixtureRegressor(points_of_interest=points, handle_unknown="ignore", **QUICK),
            frame,
            y,
        )


def test_a_zero_weight_leaves_out_the_rows_category() -> None:
    frame, y = clients()
    other = frame.astype({"region": object})
    other.loc[0, "region"] = "aaa"
    weight = np.ones(len(y))
    weight[0] = 0
    with_zero = LocalMixtureRegressor(0, **QUICK).fit(other, y, sample_weight=weight)
    without = LocalMixtureRegressor(0, **QUICK).fit(frame.iloc[1:], y[1:])
    assert with_zero.exterior_.feature_names == without.exterior_.feature_names
    assert with_zero.objective_ == without.objective_


def test_ordered_categories_keep_their_order() -> None:
    frame, y = clients()
    frame["grade"] = frame["grade"].cat.set_categories(["c", "a", "b"], ordered=True)
    model = fit(LocalMixtureRegressor(0, **QUICK), frame, y)
    assert [name for name in model.exterior_.feature_names if name.startswith("grade")] == [
        "grade=a",
        "grade=b",
    ]


def test_missing_values_are_named() -> None:
    frame, y = clients()
    for column, value in (("region", None), ("region", np.nan), ("income", np.nan)):
        bad = frame.astype({"region": object})
        bad.loc[11, column] = value
        with pytest.raises(ValueError, match=f"Input X contains NaN: column '{column}', row 11"):
            fit(LocalMixtureRegressor(0, missing="error", **QUICK), bad, y)
    for dtype in ("string", object):
        bad = frame.astype({"region": dtype})
        bad.loc[4, "region"] = pd.NA
        with pytest.raises(ValueError, match="Input X contains NaN: column 'region', row 4"):
            fit(LocalMixtureRegressor(0, missing="error", **QUICK), bad, y)
    nullable = frame.assign(age=frame["age"].astype("Int64"))
    nullable.loc[2, "age"] = pd.NA
    with pytest.raises(ValueError, match="Input X contains NaN: column 'age', row 2"):
        fit(LocalMixtureRegressor(0, missing="error", **QUICK), nullable, y)
    model = fit(LocalMixtureRegressor(0, missing="error", **QUICK), frame, y)
    with pytest.raises(ValueError, match="Input X contains NaN: column 'region', row 4"):
        model.predict(bad)


def test_dates_are_refused() -> None:
    frame, y = clients()
    frame["since"] = pd.Timestamp("2020-01-01")
    with pytest.raises(TypeError, match=r"column 'since' has dtype datetime64.*convert dates"):
        fit(LocalMixtureRegressor(0, **QUICK), frame, y)


@pytest.mark.parametrize(
    "value", [datetime.date(2020, 1, 1), [1], complex(1, 2)], ids=lambda value: type(value).__name__
)
def test_other_things_are_refused(value) -> None:
    frame, y = clients()
    frame["odd"] = pd.Series([value] * len(frame), dtype=object)
    with pytest.raises(
        TypeError, match=f"column 'odd' holds values of type {type(value).__name__}"
    ):
        fit(LocalMixtureRegressor(0, **QUICK), frame, y)


def test_identifiers_are_pointed_out() -> None:
    frame, y = clients()
    frame["id"] = [f"client {i}" for i in range(len(frame))]
    with pytest.warns(UserWarning, match="column 'id' has 150 different texts in 150 rows"):
        fit(LocalMixtureRegressor(0, **QUICK), frame, y)


def test_numbers_of_rows_and_dates_are_pointed_out() -> None:
    """Ages, sorted amounts and days that are declared categories are not."""
    frame, y = clients()
    rng = np.random.default_rng(0)
    days = pd.Series([f"2024-{k % 12 + 1:02}-{k % 28 + 1:02}" for k in range(len(frame))])
    sound = frame.assign(
        age=rng.integers(18, 90, len(frame)),
        amount=np.sort(rng.integers(0, 10**6, len(frame))),
        day=pd.Series(np.resize(days[:5], len(frame))).astype("category"),
    )
    fit(LocalMixtureRegressor(0, **QUICK), sound, y)
    with pytest.warns(IdentifierWarning, match="column 'id' looks like an identifier: 150 diff"):
        fit(LocalMixtureRegressor(0, **QUICK), frame.assign(id=np.arange(150) + 100_000), y)
    numbers = frame[["age", "income"]].assign(id=np.arange(150) + 100_000)
    with pytest.warns(IdentifierWarning, match="column 'id' looks like an identifier"):
        fit(LocalMixtureRegressor(0, **QUICK), numbers, y)
    with pytest.warns(IdentifierWarning, match="'day' holds dates as text, such as '2024-01-01'"):
        fit(LocalMixtureRegressor(0, **QUICK), frame.assign(day=days), y)


def test_labels_and_categories_that_look_alike_are_named() -> None:
    frame, y = clients()
    label = np.where(y > np.median(y), "Yes ", "no").astype(object)
    label[np.flatnonzero(label == "Yes ")[:5]] = "yes"
    words = r"y has labels that differ only in case .*: 'Yes ' \(70\), 'yes' \(5\); each is a class"
    with pytest.warns(LookAlikeWarning, match=words):
        fit(LocalMixtureClassifier(0, **QUICK), frame, label)
    with pytest.warns(
        LookAlikeWarning, match=r"column 'fuel' .*: 'a' \(100\), 'A' \(50\); each is"
    ):
        fit(LocalMixtureRegressor(0, **QUICK), frame.assign(fuel=["a", "A", "a"] * 50), y)


def test_an_unknown_category_that_was_meant_is_named() -> None:
    frame, y = clients()
    code = [f"k{k % 15:02}" for k in range(150)]
    model = fit(LocalMixtureRegressor(0, **QUICK), frame.assign(code=code), y)
    strange = frame.assign(code=code)[:3].assign(code=["K03 ", "x", "k01"])
    words = "'k08', 'k09', ..\\. Did you mean 'k03' by 'K03 '\\? They are taken"
    with pytest.warns(UnknownCategoryWarning, match=words):
        model.predict(strange)


STRAYS = ["n/a?", " 3,5 ", "old"]  # a decimal comma is a number


@pytest.mark.parametrize("kind", ["pandas", "polars", "object"])
def test_stray_texts_among_numbers_are_named(kind: str) -> None:
    frame, y = clients()
    text = frame["income"].round(1).astype(str).astype(object)
    text[3], text[70], text[71] = STRAYS
    if kind == "object":
        text[10:] = [float(one) if one not in STRAYS else one for one in text[10:]]
    made = frame.assign(income=text)
    table = polars_of(made) if kind == "polars" else made
    words = "column 'income' holds numbers, except for 2 values: 'n/a\\?', 'old'\\. So each"
    if kind == "object":
        table = table.astype({"income": object})
    with pytest.warns(StrayTextWarning, match=words) as caught:
        fit(LocalMixtureRegressor(0, **QUICK), table, y)
    assert not any(isinstance(one.message, IdentifierWarning) for one in caught)


def test_codes_are_not_taken_for_numbers_with_stray_texts() -> None:
    """Few distinct numbers, many texts, or a column that is declared to hold categories."""
    frame, y = clients()
    codes = pd.Series(np.resize([str(k) for k in range(9)], len(frame)), dtype=object)
    codes[3] = "x"
    many = frame["age"].astype(str).astype(object)
    declared = many.copy()
    declared[3] = "old"
    many[:20] = "old"
    made = frame.assign(codes=codes, many=many, declared=declared.astype("category"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", StrayTextWarning)
        fit(LocalMixtureRegressor(0, **QUICK), made, y)
    words = "column 'declared' holds numbers, except for 1 value: 'old'"
    with pytest.warns(StrayTextWarning, match=words):
        fit(LocalMixtureRegressor(0, **QUICK), made.astype({"declared": object}), y)


def test_text_where_numbers_were() -> None:
    frame, y = clients()
    model = fit(LocalMixtureRegressor(0, **QUICK), frame, y)
    bad = frame.astype({"age": object})
    bad.loc[0, "age"] = "old"
    with pytest.raises(ValueError, match="column 'age' of X should hold numbers as it did in fit"):
        model.predict(bad)


def test_labels_of_text_and_a_classifier_with_categories() -> None:
    frame, y = clients()
    label = np.where(y > np.median(y), "high", "low")
    model = fit(LocalMixtureClassifier(1, **QUICK), frame, label)
    assert model.classes_.tolist() == ["high", "low"]
    assert model.score(frame, label) > 0.9
    assert set(pd.Series(label)) == set(model.predict(frame))


def test_a_category_with_one_level() -> None:
    frame, y = clients()
    frame["country"] = "here"
    model = fit(LocalMixtureRegressor(0, **QUICK), frame, y)
    assert not any(name.startswith("country") for name in model.exterior_.feature_names)
    assert model.n_features_in_ == 6


def test_text_where_fit_saw_numbers() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    model = fit(LocalMixtureRegressor(0, **QUICK), X, X["a"])
    with pytest.raises(ValueError, match="column 'b' of X holds text or categories; it held num"):
        model.predict(X.assign(b="high"))
    with pytest.raises(ValueError, match="X is an array that holds text, such as 'low'"):
        model.predict(np.array([["1", "low"]]))
    texts = X.astype(str)  # numbers as text are numbers
    np.testing.assert_array_equal(model.predict(texts), model.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X.assign(c="high"))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_localities_look_at_columns_by_name_or_number(kind: str) -> None:
    """Of a category at the columns of all its levels but the first; not at its other columns."""
    frame, y = clients()
    table = frame if kind == "pandas" else polars_of(frame)
    found = []
    for asked in (["grade", "age"], [3, 0]):
        model = fit(LocalMixtureRegressor(1, locality_columns=asked, **QUICK), table, y)
        assert model.mixture_.geometry.asked == (4, 5, 0)  # of the encoded columns
        for locality in model.localities_:
            looked = np.flatnonzero(np.isfinite(locality.half_width))
            assert set(looked.tolist()) <= {0, 4, 5}
        found.append(model)
    assert found[0].mixture_.hash == found[1].mixture_.hash


def test_categories_of_many_levels_are_looked_at_if_they_are_named() -> None:
    frame, y = clients()
    model = fit(LocalMixtureRegressor(1, **QUICK), frame, y)
    assert model.mixture_.geometry.asked == (0, 3, 6)  # numbers, and a column of two values
    texts = fit(LocalMixtureRegressor(1, **QUICK), frame[["region", "grade"]], y)
    assert texts.mixture_.geometry.asked == (0, 1, 2, 3)  # there is nothing else


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        (["moon"], r"locality_columns has 'moon', which is not a column of X; its columns are"),
        ("region=south", r"locality_columns has 'region=south', which is not a column of X"),
        ([7], r"locality_columns has 7, which is not a column of X"),
        ([], "locality_columns names no column"),
        (["same"], "all columns that locality_columns names are constant in the training rows"),
    ],
)
@pytest.mark.parametrize("given", [False, True])
def test_columns_that_localities_cannot_look_at(asked, match: str, given: bool) -> None:
    frame, y = clients()
    frame["same"] = 1.0
    points = {"points_of_interest": frame[:1]} if given else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(InputError, match=match):
            LocalMixtureRegressor(1, locality_columns=asked, **points, **QUICK).fit(frame, y)


def test_only_categories_vary() -> None:
    """Localities look at them, where numbers are constant."""
    frame, y = clients()
    table = pd.DataFrame({"same": 1.0, "region": frame["region"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LocalMixtureRegressor(1, **QUICK).fit(table, y)
    assert model.mixture_.geometry.asked is None
    assert np.isfinite(model.predict(table)).all()


def every_kind() -> dict[str, object]:
    """One table as pandas, polars and pyarrow have it, with the types that each may have."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "whole": rng.integers(0, 50, 120),
            "real": rng.normal(size=120),
            "flag": rng.choice([True, False], 120),
            "text": rng.choice(["u", "v", "w"], 120),
        }
    )
    made: dict[str, object] = {
        "pandas": frame,
        "objects": frame.astype({"text": object}),
        "nullable": frame.astype(
            {"whole": "Int64", "real": "Float64", "flag": "boolean", "text": "string"}
        ),
        "categories": frame.astype({"text": "category"}),
        "polars": pl.from_pandas(frame),
        "polars categories": pl.from_pandas(frame).with_columns(
            pl.col("text").cast(pl.Categorical)
        ),
        "polars enum": pl.from_pandas(frame).with_columns(
            pl.col("text").cast(pl.Enum(["u", "v", "w"]))
        ),
    }
    try:
        import pyarrow as pa
    except ImportError:
        return made
    table = pa.Table.from_pandas(frame)
    codes = pa.array(frame["text"]).dictionary_encode()
    return made | {
        "backed by pyarrow": frame.convert_dtypes(dtype_backend="pyarrow"),
        "pyarrow": table,
        "pyarrow with codes": table.set_column(3, "text", codes),
        "a batch of pyarrow": table.to_batches()[0],
    }


@pytest.mark.parametrize("kind", every_kind())
@pytest.mark.parametrize("numbers", [False, True])
def test_tables_of_every_kind_give_one_model(kind: str, numbers: bool) -> None:
    """Fit, predict, certify, evaluate, explain: the same figures for all, and for other kinds of
    rows than those of the fit.
    """
    names = ["whole", "real", "flag", "text"][: 3 if numbers else 4]
    plain = every_kind()["pandas"][names]
    made = every_kind()[kind]
    X = made.select(names) if hasattr(made, "select") else made[names]
    y = np.where(plain["real"] + np.random.default_rng(1).normal(size=120) > 0, "yes", "no")
    settings = {"n_localities": 0, "local_models": "linear", "random_state": 0}
    model = LocalMixtureClassifier(**settings).fit(X, y)
    expected = LocalMixtureClassifier(**settings).fit(plain, y)
    assert model.mixture_.hash == expected.mixture_.hash
    assert model.feature_names_in_.tolist() == names
    assert (model.predict_proba(X) == expected.predict_proba(plain)).all()
    assert (expected.predict_proba(X) == expected.predict_proba(plain)).all()
    only = {"spend": {"hold-out": 0.05}}
    bounds = [
        certify(one, rows, y, **only).certificate for one, rows in ((model, X), (model, plain))
    ]
    assert bounds[0].headline.value == bounds[1].headline.value
    assert evaluate(model, X, y).metrics == evaluate(model, plain, y).metrics
    found, same = (explain_local(model, rows).to_frame() for rows in (X, plain))
    assert found.astype(str).equals(same.astype(str))
    assert explain_global(model, X, y).score == explain_global(model, plain, y).score
    points = X.slice(0, 1) if hasattr(X, "slice") else X[:1]
    local = LocalMixtureClassifier(points_of_interest=points, local_models="linear", random_state=0)
    assert local.fit(X, y).predict(X).shape == (120,)


@pytest.mark.parametrize("kind", ["nullable", "backed by pyarrow", "polars", "pyarrow"])
def test_missing_values_of_every_kind_are_named(kind: str) -> None:
    made = every_kind().get(kind)
    if made is None:
        pytest.skip("needs pyarrow")
    frame = every_kind()["pandas"].astype({"whole": "Int64", "text": "string"})
    frame.loc[7, "text"] = pd.NA
    if kind == "polars":
        made = pl.from_pandas(frame)
    elif kind == "pyarrow":
        import pyarrow as pa

        made = pa.Table.from_pandas(frame)
    else:
        made = frame if kind == "nullable" else frame.convert_dtypes(dtype_backend="pyarrow")
    with pytest.raises(InputError, match=r"column 'text', row 7"):
        LocalMixtureClassifier(0, missing="error").fit(made, np.arange(120) % 2)
