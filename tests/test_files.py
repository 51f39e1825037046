"""Model files: exact, readable, and safe to open whatever is in them."""

from __future__ import annotations

import copy
import json
import math
import random
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor, ModelFileError, Prior, Units
from motlm.certificates import audit, certify, verify
from motlm.certificates._guards import model_hash
from motlm.columns import TableNotes
from motlm.datasets import make_clf_case1, make_reg_case2
from motlm.files import _checksum, from_document, to_document

QUICK = {"inverse_temperature": 2.0, "n_starts": 1, "random_state": 0}
FIXTURES = Path(__file__).parent / "fixtures"


def frame(n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            'größe, "in" €': rng.normal(1e6, 3e5, size=n),
            "c": rng.choice(["x", "y", "<z>"], n),
            "flag": rng.choice([True, False], n),
            "same": 1.0,
        }
    )
    return table, np.where(table["a"] + (table["c"] == "x") > 0.3, "ja", "nein")


def models() -> dict[str, tuple]:
    X, y = make_clf_case1(random_state=0)
    line, target = make_reg_case2(random_state=0)
    table, label = frame()
    made = {
        "known": (
            LocalMixtureClassifier(points_of_interest=[[-1, 0], [1, 0]], **QUICK).fit(X, y),
            X,
        ),
        "learned": (LocalMixtureClassifier(2, combine="any", **QUICK).fit(X, y.astype(int)), X),
        "one linear model": (
            LocalMixtureClassifier(0, prior=Prior(coef_scale=0.5), **QUICK).fit(X, y > 0),
            X,
        ),
        "regressor": (
            LocalMixtureRegressor(2, **QUICK | {"inverse_temperature": (4.0, 16.0)}).fit(
                line, target
            ),
            line,
        ),
        "mahalanobis": (
            LocalMixtureClassifier(points_of_interest=[[-1, 0]], metric="mahalanobis", **QUICK).fit(
                X, y
            ),
            X,
        ),
        "units": (
            LocalMixtureRegressor(
                1, standardize=Units.of_rows(line[:99], target[:99]), **QUICK
            ).fit(line, target),
            line,
        ),
        "auto": (
            LocalMixtureClassifier("auto", max_localities=5, n_starts=1, random_state=0).fit(
                X[:300], y[:300]
            ),
            X,
        ),
        "auto, none": (
            LocalMixtureClassifier("auto", max_localities=2, **QUICK).fit(X[:60], X[:60, 0] > 0),
            X,
        ),
        "float32": (LocalMixtureClassifier(1, **QUICK).fit(X.astype(np.float32), y), X),
        "table": (
            LocalMixtureClassifier(
                points_of_interest=table[:2], handle_unknown="ignore", **QUICK
            ).fit(table, label),
            table,
        ),
        "objects": (LocalMixtureClassifier(1, **QUICK).fit(table, label.astype(object)), table),
    }
    named = copy.deepcopy(made["table"][0])
    named.table_ = TableNotes(
        "label", "client", {"a": 0.25, "c": "<z>", 'größe, "in" €': 10**6}, (0.5, -0.1)
    )
    made["told"] = (named, table)
    made["certified"] = (
        certify(LocalMixtureClassifier(points_of_interest=[[-1, 0], [1, 0]], **QUICK), X, y).model,
        X,
    )
    return made


@pytest.fixture(scope="module")
def every() -> dict[str, tuple]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return models()


NAMES = [
    "known",
    "learned",
    "one linear model",
    "regressor",
    "mahalanobis",
    "units",
    "auto",
    "auto, none",
    "float32",
    "table",
    "objects",
    "told",
    "certified",
]


@pytest.mark.parametrize("name", NAMES)
def test_exact_to_the_last_bit(name: str, every, tmp_path: Path) -> None:
    model, X = every[name]
    path = model.save(tmp_path / "model.json")
    again = motlm.load(path)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.predict(X).dtype == model.predict(X).dtype
    for method in (
        "predict_proba",
        "decision_function",
        "membership",
        "membership_proba",
        "apply",
        "ambiguous",
    ):
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    assert model_hash(again) == model_hash(model)
    assert again.save(tmp_path / "again.json").read_text() == path.read_text()
    assert again.path_ == model.path_
    assert again.n_features_in_ == model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        assert list(again.feature_names_in_) == list(model.feature_names_in_)
    assert [one.formula() for one in again.localities_] == [
        one.formula() for one in model.localities_
    ]
    for one, other in zip(again.localities_, model.localities_, strict=True):
        np.testing.assert_array_equal(one.half_width, other.half_width)
    assert set(again.get_params()) == set(model.get_params())
    assert set(vars(again)) == set(vars(model))


def test_people_can_read_it(every, tmp_path: Path) -> None:
    model, _ = every["table"]
    text = model.save(tmp_path / "m.json").read_text()
    content = json.loads(text)
    assert content["format"] == "motlm model"
    assert content["library"] == f"motlm {motlm.__version__}"
    assert content["exterior"]["formula"] == model.exterior_.formula()
    assert dict(content["exterior"]["coef"])["a"] == model.exterior_.coef[0]
    assert "größe" in text


def test_a_loaded_model_goes_on(every, tmp_path: Path) -> None:
    model, X = every["certified"]
    again = motlm.load(model.save(tmp_path / "m.json"))
    assert verify(again, again.certificate_) == verify(model, model.certificate_)
    X, y = make_clf_case1(random_state=0)
    fitted = np.random.default_rng(0).permutation(len(y))[len(y) // 2 :]
    with pytest.raises(ValueError, match="are among the"):
        audit(again, X[fitted], y[fitted])
    refitted, other = again.fit(X, y), copy.deepcopy(model).fit(X, y)
    assert model_hash(refitted) == model_hash(other)
    learned, _ = every["learned"]
    warm = motlm.load(learned.save(tmp_path / "w.json")).set_params(warm_start=True, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm.fit(X, y.astype(int))
    table, label = every["table"][1], frame()[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motlm.load(every["table"][0].save(tmp_path / "t.json")).fit(table, label)


def test_what_cannot_be_saved(every, tmp_path: Path) -> None:
    X, y = make_clf_case1(100, random_state=0)
    with pytest.raises(Exception, match="not fitted"):
        LocalMixtureClassifier().save(tmp_path / "m.json")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        odd = LocalMixtureClassifier(points_of_interest=[[0, 0]], metric=chebyshev, **QUICK).fit(
            X, y
        )
    with pytest.raises(ModelFileError, match="is a function, which a file cannot hold"):
        odd.save(tmp_path / "m.json")
    with pytest.raises(TypeError, match="model files hold motlm's estimators"):
        to_document({})
    model, _ = every["known"]
    path = model.save(tmp_path / "m.json")
    with pytest.raises(FileExistsError, match="exists; give another name"):
        model.save(path, overwrite=False)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        model.save(tmp_path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["m.json"]
    state = LocalMixtureClassifier(
        1, inverse_temperature=2.0, n_starts=1, random_state=np.random.RandomState(0)
    ).fit(X, y)
    assert motlm.load(state.save(path)).random_state is None


def chebyshev(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max())


@pytest.mark.parametrize(
    ("table", "match"),
    [
        (
            TableNotes("label", None, {"moon": 1.0}),
            r"table\.fill should be values for columns of the model; got 'moon'",
        ),
        (TableNotes("label", None, {"a": "x"}), r"table\.fill\.a should be a number; got 'x'"),
        (
            TableNotes("label", None, {"c": "moon"}),
            r"table\.fill\.c should be a level of the column; got 'moon'",
        ),
        (TableNotes("label", 3, {}), r"table\.id_column should be a text or null; got 3"),  # type: ignore[arg-type]
        (TableNotes("label", "x", {}, [1.0]), r"table\.calibration should have shape \(2,\)"),  # type: ignore[arg-type]
    ],
)
def test_what_is_told_of_a_table_is_checked(table: TableNotes, match: str, every) -> None:
    model = copy.copy(every["told"][0])
    if table.id_column is None:  # noticed already when it is saved
        model.table_ = table
        with pytest.raises(ModelFileError, match=match):
            to_document(model)
    content = to_document(every["told"][0])
    del content["checksum"]
    content["table"] = {
        "target": table.target,
        "id_column": table.id_column,
        "fill": table.fill,
        "calibration": table.calibration,
    }
    with pytest.raises(ModelFileError, match=match):
        from_document({**content, "checksum": _checksum(content)})


def test_an_entry_of_a_later_schema_is_unknown_to_an_earlier_one() -> None:
    content = json.loads((FIXTURES / "model_schema_1.json").read_text())
    del content["checksum"]
    content["table"] = {"target": "risk", "id_column": None, "fill": {}}
    with pytest.raises(ModelFileError, match="unknown entries 'table'"):
        from_document({**content, "checksum": _checksum(content)})


# -- bad files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "not JSON, or cut off"),
        ("{", "not JSON, or cut off"),
        ("[]", "expected a JSON object, got a list"),
        ('{"a": 1}', "lacks the entry format"),
        ('{"format": "motlm model", "schema": "1"}', "schema should be an integer"),
        (
            '{"format": "motlm model", "schema": 99, "library": "motlm 9.9"}',
            "it has schema 99, .* written by motlm 9.9",
        ),
        ('{"format": "motlm model", "schema": 1, "schema": 1}', "the entry 'schema' occurs twice"),
        ('{"format": "motlm model", "schema": 1, "x": NaN}', "it holds NaN"),
        ('{"format": "motlm model", "schema": 1, "x": -Infinity}', "it holds -Infinity"),
        ('{"format": "motlm model", "schema": 1, "x": 1e999}', "changed or damaged"),
        ("[" * 100_000, "nested 100000 levels deep"),
        ("[[]," * 100_000 + "1" + "]" * 100_000, "nested more than|nested 100001"),
        ('{"a":' * 50_000, "nested 50000 levels deep"),
        (
            '{"format": "motlm model", "schema": 1, "x": ' + "1" * 5000 + "}",
            "not a model file|changed or damaged",
        ),
    ],
)
def test_broken_files(text: str, match: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(ModelFileError, match=match) as caught:
        motlm.load(path)
    assert str(path) in str(caught.value)


def test_files_that_are_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(b"\x80\x04\x95pickle\xff")
    with pytest.raises(ModelFileError, match="not a text file in UTF-8"):
        motlm.load(path)
    monkeypatch.setattr("motlm.files.LARGEST", 10)
    path.write_text("{}" * 20)
    with pytest.raises(ModelFileError, match="has 40 bytes, more than the 10"):
        motlm.load(path)
    with pytest.raises(FileNotFoundError):
        motlm.load(tmp_path / "none.json")


def test_truncated_and_edited(every, tmp_path: Path) -> None:
    model, _ = every["known"]
    path = model.save(tmp_path / "m.json")
    text = path.read_text()
    for share in (0.1, 0.5, 0.9, 0.999):
        path.write_text(text[: int(share * len(text))])
        with pytest.raises(ModelFileError, match="not JSON, or cut off"):
            motlm.load(path)
    path.write_text(text.replace('"overlap": "nearest"', '"overlap": "mean"'))
    with pytest.raises(ModelFileError, match="changed or damaged after it was saved"):
        motlm.load(path)


def changed(document: dict, place: tuple, value: object) -> dict:
    """The document with another value, and a checksum that fits."""
    content = copy.deepcopy({name: entry for name, entry in document.items() if name != "checksum"})
    part = content
    for step in place[:-1]:
        part = part[step]
    if value is KeyError:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    try:
        return {**content, "checksum": _checksum(content)}
    except ValueError:
        return {**content, "checksum": "0"}


@pytest.mark.parametrize(
    ("place", "value", "match"),
    [
        (("estimator",), "os.system", "estimator should be one of LocalMixtureClassifier"),
        (
            ("posterior", "coef"),
            [[1.0]],
            r"posterior.coef should have shape \(3, 2\); got 1 entries",
        ),
        (("posterior", "coef"), [[1.0, 2.0, 3.0]] * 3, "should have shape"),
        (("posterior", "radius_shape"), [1.0] * 1000, "should have shape"),
        (("posterior", "radius_rate", 0), -1.0, "posterior.radius_rate should be positive"),
        (("posterior", "intercept", 0), "1", "posterior.intercept should be numbers; got '1'"),
        (("posterior", "intercept", 0), True, "should be numbers"),
        (("posterior",), None, "posterior should be an object"),
        (("posterior", "extra"), 1, "unknown entries 'posterior.extra'"),
        (("units", "inverse_scale", 0), -1.0, "should be positive"),
        (("units", "target_scale"), 0, "should be positive"),
        (("units",), KeyError, "the entry units is missing"),
        (("columns", "names"), ["a"], "one entry for each of 1 names"),
        (("columns", "names"), [1, 2], "should be a list of texts"),
        (("columns", "levels"), [None, []], "list of the levels"),
        (("classes", "values"), ["a"], "two different labels"),
        (("classes", "values"), [1, 1], "two different labels"),
        (("classes", "dtype"), "datetime64", "dtype should be one of"),
        (("classes", "dtype"), "int8", "labels of type int8|"),
        (("classes",), None, "classes.dtype is missing"),
        (("varies",), [1, 0], "values true or false"),
        (("free",), ["center", "__class__"], "names of the posterior's laws"),
        (("parameters", "combine"), "eval", "its parameters are not sound: combine must be one of"),
        (("parameters", "evil"), 1, "parameters should be"),
        (("parameters", "overlap"), {"a": 1}, "a plain value"),
        (("parameters", "points_of_interest"), [[1], [2, 3]], "rows of one length"),
        (
            ("localities", 0, "coef"),
            [["a", 1.0]],
            r"a list of \[column, number\] for the 2 columns",
        ),
        (("localities", 0), 3, "localities.0 should be an object"),
        (("localities",), [], "should have shape"),
        (("localities",), "many", "should"),
        (("radius",), [math.pi], "radius should have shape"),
        (("path", 0, "stage"), 3, "path.0.stage should be a text"),
        (("path", 0), "x", "path.0 should be an object"),
        (("fingerprint", "keys"), ["zz"], "16 hexadecimal digits"),
        (("fingerprint", "keys"), ["00000000000000ff", "000000000000000f"], "should increase"),
        (("parameters", "overlap"), "foo", "its parameters are not sound: overlap must be one of"),
        (("parameters", "prior"), {"luck": 1}, "parameters.prior is not sound"),
        (("parameters", "points_of_interest"), [[10**400]], "numbers that a computer can hold"),
        (("units_from",), "moon", "units_from should be rows"),
        (("metric", "name"), "bogus", "a metric that scikit-learn knows"),
        (("columns", "names"), ["x" * 100, "y"], "parameters|columns|should|coef"),
        (("fingerprint", "n_rows"), -1, "an integer between 0"),
        (("fingerprint", "n_rows"), 10**400, "an integer between 0"),
        (("units", "target_center"), 10**400, "a number that a computer can hold"),
        (("training", "boom_"), 1, "unknown entry 'training.boom_'"),
        (
            ("training", "inverse_temperature_"),
            KeyError,
            "training.inverse_temperature_ is missing",
        ),
        (("certificate",), {"digest": "no"}, "its certificate is not sound"),
        (("metric", "arguments"), {"evil": [1]}, "V or VI"),
        (("metric",), None, "metric.name is missing"),
        (("strange",), 1, "unknown entries 'strange'"),
    ],
)
def test_unsound_content_is_named(place: tuple, value: object, match: str, every) -> None:
    document = to_document(every["known"][0])
    if match.endswith("|"):
        from_document(changed(document, place, value))  # -1 and 1 fit
        return
    with pytest.raises(ModelFileError, match=match):
        from_document(changed(document, place, value))


def test_fuzzed_content(every) -> None:
    """Whatever is put in place of an entry: an error of ours, or a model that still predicts."""
    chance = random.Random(0)
    strange = [
        None,
        True,
        -1,
        0,
        10**30,
        -0.5,
        1e308,
        "",
        "x" * 1000,
        [],
        [None],
        {},
        {"a": 1},
        [[[]]],
        "NaN",
        [1.0, 2.0],
    ]
    for name in ("known", "table", "regressor", "certified"):
        model, X = every[name]
        document = to_document(model)
        for _ in range(250):
            part, place = document, []
            while isinstance(part, (dict, list)) and part and (not place or chance.random() < 0.8):
                step = (
                    chance.choice(list(part))
                    if isinstance(part, dict)
                    else chance.randrange(len(part))
                )
                place.append(step)
                part = part[step]
            if place[0] == "checksum":
                continue
            bad = changed(
                document,
                tuple(place),
                chance.choice([*strange, KeyError if isinstance(place[-1], str) else None]),
            )
            with warnings.catch_warnings(), np.errstate(all="ignore"), suppress(ModelFileError):
                warnings.simplefilter("ignore")
                again = from_document(bad)
                with suppress(ValueError, TypeError):  # of a parameter that only predict looks at
                    again.predict(X[:3])


def test_flipped_bytes(every, tmp_path: Path) -> None:
    path = every["learned"][0].save(tmp_path / "m.json")
    sound = path.read_bytes()
    chance = random.Random(0)
    for _ in range(60):
        broken = bytearray(sound)
        for _ in range(chance.randint(1, 5)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        if broken == sound:
            continue
        path.write_bytes(broken)
        try:
            motlm.load(path)
        except ModelFileError:
            continue
        assert json.loads(bytes(broken)) == json.loads(sound)  # white space


@pytest.mark.parametrize(
    "path", sorted(FIXTURES.glob("model_schema_*.json")), ids=lambda path: path.stem
)
def test_files_of_earlier_versions(path: Path) -> None:
    """Each schema that was released has a file here, with what its model said."""
    model = motlm.load(path)
    expected = json.loads(path.with_name(path.stem.replace("model", "said") + ".json").read_text())
    X = pd.DataFrame(expected["X"])
    assert model.predict(X).tolist() == expected["predict"]
    np.testing.assert_allclose(
        model.predict_proba(X), expected["predict_proba"], rtol=1e-7, atol=1e-15
    )
