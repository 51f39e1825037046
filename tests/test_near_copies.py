"""Training rows that were rounded or slightly changed, and rows that only look like them."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from experiments import copies
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import audit, certify, verify
from motlm.certificates._guards import _how_close, note_near_copies, refuse_training_rows
from motlm.errors import InputError, ModelFileError, TrainingRowsError
from motlm.files import from_document, to_document
from motlm.files._text import checksum
from motlm.fingerprints import SKETCHES, Fingerprint, row_keys
from motlm.sketches import KEPT, Sketch

QUICK: dict[str, Any] = {"n_starts": 1, "max_iter": 100, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::motlm.errors.EmptyLocalityWarning")


def noise(m: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns, and labels that do not depend on them."""
    rng = np.random.default_rng([seed, m, d])
    return rng.normal(size=(m, d)), rng.choice([-1.0, 1.0], m)


def sketch(X: np.ndarray, y: np.ndarray) -> Sketch:
    return Sketch.of(X, y, row_keys(X, y))


# -- what is refused, and what is not --------------------------------------------------------------


@pytest.mark.parametrize(("d", "m"), [(2, 100), (2, 3000), (5, 400), (60, 100)])
def test_changed_training_rows_are_refused(d: int, m: int) -> None:
    found = copies.try_changes(d, m, 0)
    assert [key for key, refused in found.items() if key[0] in copies.CHANGES and not refused] == []


@pytest.mark.parametrize("trial", range(15))
def test_fresh_rows_are_not_refused(trial: int) -> None:
    assert [name for name, refused in copies.try_fresh(trial).items() if refused] == []


def test_a_regression_on_changed_rows_is_refused() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)) * [1.0, 1e-3, 1e5], 40.0 + 7.0 * rng.normal(size=120)
    for change in copies.CHANGES.values():
        after = change(X, rng) if change is not copies.CHANGES["1 decimal"] else X
        assert copies.is_refused((X, y), (after, change(y[:, None], rng)[:, 0]))


def test_the_chance_of_mixed_cells_is_bounded() -> None:
    """Of two independent tables, from the same population and from another."""
    low = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, y = rng.poisson(30, size=(200, 2)).astype(float), np.zeros(200)
        after = rng.poisson(30 if seed % 2 else 25, size=(200, 2)).astype(float)
        low.append(min(one.chance for one in sketch(X, y).compare(after, y)))
    n_levels = len(sketch(X, y).levels)
    assert np.mean(np.array(low) * n_levels < 0.05) <= 0.05
    assert min(low) > 1e-5


def test_repeating_rows_does_not_hide_copies() -> None:
    X, y = noise(100, 5)
    for before, after in ((1, 2), (1, 5), (2, 1), (4, 1)):
        first = np.tile(X, (before, 1)), np.tile(y, before)
        assert copies.is_refused(first, (np.tile(X.round(3), (after, 1)), np.tile(y, after)))
    fresh, labels = noise(100, 5, seed=1)
    for before, after in ((1, 2), (5, 5), (2, 1)):
        first = np.tile(X, (before, 1)), np.tile(y, before)
        assert not copies.is_refused(first, (np.tile(fresh, (after, 1)), np.tile(labels, after)))


@pytest.mark.parametrize("decimals", [5, 3, 1])
def test_an_audit_on_rounded_training_rows_is_refused(decimals: int) -> None:
    X, y = noise(100, 20)
    model = LocalMixtureClassifier(0, loss="zero-one", **QUICK).fit(X, y)
    assert np.mean(model.predict(X) != y) < 0.4  # which would be certified
    words = f"to {decimals} decimal"
    with pytest.raises(
        TrainingRowsError, match=rf"100 of the 100 rows are near-copies .* {words}s?, the first at"
    ) as caught:
        audit(model, X.round(decimals), y)
    assert "call certify" in str(caught.value)
    fresh, labels = noise(100, 20, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert audit(model, fresh, labels).notes == ()
        audit(model, fresh.round(decimals), labels)


def test_a_file_keeps_what_recognizes_them(tmp_path: Path) -> None:
    X, y = noise(100, 5)
    path = LocalMixtureClassifier(0, **QUICK).fit(X, y).save(tmp_path / "m.json")
    with pytest.raises(TrainingRowsError, match="to 2 decimals"):
        audit(motlm.load(path), X.round(2), y)


def test_rows_of_validation_and_of_a_warm_start_are_recognized() -> None:
    X, y = noise(300, 5)
    options = QUICK | {"max_iter": 1000}
    model = LocalMixtureClassifier(1, warm_start=True, inverse_temperature=4.0, **options)
    model.fit(X[:100], y[:100]).fit(X[100:200], y[100:200], X_val=X[200:], y_val=y[200:])
    for part in (slice(0, 100), slice(100, 200), slice(200, 300)):
        with pytest.raises(TrainingRowsError, match="near-copies"):
            audit(model, X[part].round(2), y[part])
    again = model.mixture_.provenance.fingerprint
    for seed in range(SKETCHES + 2):
        joined = Fingerprint.of(*noise(50, 5, seed)).join(again)
        assert len(joined.join(again).sketches) == len(joined.sketches) <= SKETCHES
        again = joined


def test_few_copies_in_a_table_of_few_values_are_noted() -> None:
    """One exact copy is refused where columns have many digits, and not where rows may be equal
    by chance although none is.
    """
    X, y = noise(200, 3)
    fresh, labels = noise(200, 3, seed=1)
    mark = Fingerprint.of(X, y)
    with pytest.raises(TrainingRowsError, match="1 of the 201 rows is among the 200"):
        refuse_training_rows(mark, np.vstack([X[:1], fresh]), np.append(y[0], labels))
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, size=(60, 6)).astype(float), rng.choice([-1.0, 1.0], 60)
    fresh = rng.integers(0, 4, size=(40, 6)).astype(float)
    note = refuse_training_rows(
        Fingerprint.of(X, y), np.vstack([X[:2], fresh]), np.append(y[:2], np.ones(40))
    )
    assert note is not None
    assert "as many as chance explains" in note


def test_near_neighbors_are_normal() -> None:
    """No note about a table in which they are, and one where a case was recorded twice."""
    for d in (1, 2, 3):
        X, y = noise(4000, d)
        for rows in (X, np.exp(2.0 * X)):
            first, second = (rows[:2000], y[:2000]), (rows[2000:], y[2000:])
            assert note_near_copies(first, second) is None
            note = refuse_training_rows(Fingerprint.of(*first), *second)
            assert note is None or d == 1  # some are equal to five digits
    X, y = noise(200, 5)
    rng = np.random.default_rng(0)
    order = rng.permutation(400)
    twice = np.vstack([X, X + 1e-5 * rng.normal(size=X.shape)])[order]
    labels = np.tile(y, 2)[order]
    note = note_near_copies((twice[:280], labels[:280]), (twice[280:], labels[280:]))
    assert note is not None
    assert "sealed rows nearly equal a row used for fitting" in note
    note = refuse_training_rows(
        Fingerprint.of(twice[:280], labels[:280]), twice[280:], labels[280:]
    )
    assert note is not None
    assert "If such cases are common, nothing is wrong" in note


@pytest.mark.parametrize("decimals", [1, 2, 3])
def test_rounded_twins_are_noted(decimals: int) -> None:
    """Each row stands twice in a table, once rounded, and the split is random."""
    X, y = noise(150, 4)
    every, labels = np.vstack([X, X.round(decimals)]), np.tile(y, 2)
    order = np.random.default_rng(0).permutation(300)
    first, second = ((every[one], labels[one]) for one in (order[:210], order[210:]))
    note = note_near_copies(first, second)
    assert note is not None
    assert "sealed rows nearly equal" in note


@pytest.mark.parametrize("kind", range(3))
def test_twins_are_not_seen_where_there_are_none(kind: int) -> None:
    rng = np.random.default_rng(kind)
    X, y = noise(400, 3, kind)
    X = [np.cumsum(X, axis=0), X + 10.0 * rng.integers(0, 5, (400, 1)), X.round(2)][kind]
    order = rng.permutation(400)
    first, second = ((X[one], y[one]) for one in (order[:280], order[280:]))
    assert note_near_copies(first, second) is None


@pytest.mark.parametrize("estimator", [LocalMixtureClassifier(0, **QUICK), LogisticRegression()])
def test_certify_notes_cases_that_were_recorded_twice(estimator: Any) -> None:
    X, y = noise(150, 5)
    rng = np.random.default_rng(0)
    twice, labels = np.vstack([X, X + 1e-5 * rng.normal(size=X.shape)]), np.tile(y, 2)
    order = rng.permutation(300)
    with pytest.warns(UserWarning, match="nearly equal a row used for fitting"):
        _, certificate = certify(estimator, twice[order], labels[order])
    assert len(certificate.notes) == 1
    with pytest.warns(UserWarning, match="150 of 300 rows repeat another row"):
        certify(estimator, np.vstack([X, X])[order], labels[order])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        certify(estimator, *noise(300, 5))


def test_sketches_of_strange_columns() -> None:
    X, y = noise(100, 6)
    X[:, 0], X[:, 1], X[:, 2] = 3.0, X[:, 1] * 1e-320, X[:, 2] * 1e300
    X[::3, 3] = np.nan
    X[::5, 4] = np.inf
    made = sketch(X, y)
    assert made.scale[0] == made.scale[1] == 0.0
    assert made.scale[2] > 1e299
    assert max(one.found for one in made.compare(X, y)) == 100
    assert sketch(np.ones((5, 2)), np.ones(5)).levels == ()
    integers = sketch(X[:, :1] + np.arange(100.0)[:, None], y)
    assert [one.decimals for one in integers.levels if one.decimals is not None] == [0]


def test_many_rows_and_columns_are_sampled() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100_000, 2)), rng.choice([-1.0, 1.0], 100_000)
    made = sketch(X, y)
    assert max(len(one.keys) for one in made.levels) == KEPT
    same = sketch(X[::-1], y[::-1])
    assert same.equals(made)
    with pytest.raises(TrainingRowsError, match="that can be looked for"):
        refuse_training_rows(Fingerprint.of(X, y), X[:20_000].round(4), y[:20_000])
    X, y = noise(100, 400)
    assert np.count_nonzero(sketch(X, y).scale) < 100
    assert copies.is_refused((X, y), (X + 0.01 * rng.normal(size=X.shape), y))


# -- models of other kinds -------------------------------------------------------------------------


def mixture(**options: Any) -> LocalMixtureClassifier:
    return LocalMixtureClassifier(0, **(QUICK | options))


KEEPING = {
    "neighbors": make_pipeline(StandardScaler(), KNeighborsClassifier()),
    "gaussian process": GaussianProcessClassifier(optimizer=None),
    "bagged neighbors": BaggingClassifier(
        KNeighborsClassifier(), n_estimators=3, max_features=4, random_state=0
    ),
    "bagged mixtures": BaggingClassifier(mixture(), n_estimators=2, random_state=0),
    "calibrated mixtures": CalibratedClassifierCV(mixture(), cv=2),
    "votes": VotingClassifier([("a", mixture()), ("b", KNeighborsClassifier())]),
    "threshold": FixedThresholdClassifier(mixture(), pos_label="no"),
}
IN_PART = {
    "support vectors": make_pipeline(StandardScaler(), SVC()),
    "votes of a tree": VotingClassifier([("a", mixture()), ("b", DecisionTreeClassifier())]),
}


@pytest.mark.parametrize("name", KEEPING | IN_PART)
def test_models_that_keep_training_rows(name: str) -> None:
    X, y = noise(400, 6)
    labels = np.where(y > 0, "no", "maybe")
    model = clone((KEEPING | IN_PART)[name]).fit(X[:200], labels[:200])
    with pytest.raises(TrainingRowsError, match="near-copies of rows used for fitting"):
        audit(model, X[:200].round(3), labels[:200])
    certificate = audit(model, X[200:], labels[200:])
    assert certificate.headline.on_trust is (name in IN_PART)
    assert verify(model, certificate)


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(),
        SVR(),
        TransformedTargetRegressor(LocalMixtureRegressor(0, **QUICK), transformer=StandardScaler()),
    ],
    ids=["ridge", "support vectors", "transformed target"],
)
def test_regressors_that_keep_training_rows(model: Any) -> None:
    X, _ = noise(300, 4)
    y = X[:, 0] + np.random.default_rng(0).normal(size=300)
    model = clone(model).fit(X[:150], y[:150])
    with pytest.raises(TrainingRowsError, match="near-copies"):
        audit(model, X[:150].round(3), y[:150].round(3), tolerance=1.0, clip=2.0)
    audit(model, X[150:], y[150:], tolerance=1.0, clip=2.0)


def test_training_rows_that_are_given() -> None:
    X, y = noise(400, 6)
    model = RandomForestClassifier(10, random_state=0).fit(X[:200], y[:200])
    rounded, fresh = (X[:200].round(3), y[:200]), (X[200:], y[200:])
    assert audit(model, *rounded).headline.on_trust  # nothing is known
    given = {"X_train": X[:200], "y_train": y[:200]}
    with pytest.raises(TrainingRowsError, match="to 3 decimals"):
        audit(model, *rounded, **given)
    with pytest.raises(TrainingRowsError, match="200 of the 200 rows are among the 200"):
        audit(model, X[:200], y[:200], X_train=X[:200])
    certificate = audit(model, *fresh, **given)
    assert not certificate.headline.on_trust
    assert not any("on trust" in text for text in certificate.headline.assumptions)
    assert "compared with the training rows given" in certificate.protocol
    with pytest.raises(InputError, match="y_train was given without X_train"):
        audit(model, *fresh, y_train=y[:200])
    with pytest.raises(InputError, match="X_train has 5 columns, but X has 6"):
        audit(model, *fresh, X_train=X[:200, :5])
    with pytest.raises(TrainingRowsError):  # of a mixture, too
        audit(mixture().fit(*fresh), *rounded, **given)


def test_given_rows_of_any_kind() -> None:
    X, y = noise(300, 4)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        e=rng.choice(["u", "v"], 300), f=pd.Timestamp("2020-01-01") + pd.to_timedelta(y, "D")
    )
    encode = ColumnTransformer(
        [("numbers", SimpleImputer(), list("abcd")), ("text", OneHotEncoder(), ["e"])]
    )
    frame.loc[::11, "a"] = np.nan
    model = make_pipeline(encode, LogisticRegression()).fit(frame[:150], y[:150])
    changed = frame[:150].assign(**frame[:150][list("abcd")].round(3))
    with pytest.raises(TrainingRowsError, match="near-copies"):
        audit(model, changed, y[:150], X_train=frame[:150][[*"fedcba"]], y_train=y[:150])
    with pytest.raises(InputError, match="X_train has no column 'f'"):
        audit(model, changed, y[:150], X_train=frame[:150].drop(columns="f"))
    audit(model, frame[150:], y[150:], X_train=frame[:150], y_train=y[:150])
    for wide in (sparse.csr_array(X), sparse.csr_array(np.pad(X, ((0, 0), (0, 300))))):
        model = LogisticRegression().fit(wide[:150], y[:150])
        with pytest.raises(TrainingRowsError, match="near-copies"):
            audit(model, (wide[:150] * (1 + 1e-5)), y[:150], X_train=wide[:150])
        audit(model, wide[150:], y[150:], X_train=wide[:150])


def test_whatever_attributes_models_have() -> None:
    X, y = noise(200, 3)
    model = LogisticRegression().fit(X[:100], y[:100])
    model.estimators_ = {"a": 1}
    model._fit_X = "rows"
    assert audit(model, X[100:], y[100:]).headline.on_trust


def test_hashes_of_neighbors_survive_predict() -> None:
    X, y = noise(200, 2)
    model, certificate = certify(KNeighborsClassifier(), X, y)
    model.predict(X)
    assert verify(model, certificate)


# -- whole pipelines -------------------------------------------------------------------------------


def frame_of(X: np.ndarray) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    made = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    made.loc[::9, "x0"] = np.nan
    return made.assign(region=rng.choice(["north", "south", "west"], len(X)))


def prepare() -> ColumnTransformer:
    text = OneHotEncoder(drop="first", sparse_output=False)
    return ColumnTransformer(
        [("text", text, ["region"])], remainder=SimpleImputer(), sparse_threshold=0
    )


PIPELINES = {
    "selection": make_pipeline(prepare(), SelectKBest(k=3), mixture()),
    "search over a pipeline": GridSearchCV(
        make_pipeline(prepare(), SelectKBest(), mixture()), {"selectkbest__k": [2, 3]}, cv=2
    ),
    "search in a pipeline": make_pipeline(
        prepare(), GridSearchCV(mixture(), {"inverse_temperature": [1.0, 4.0]}, cv=2)
    ),
    "calibrated": CalibratedClassifierCV(make_pipeline(prepare(), mixture()), cv=2),
    "bagged": make_pipeline(
        prepare(), BaggingClassifier(mixture(), n_estimators=2, random_state=0)
    ),
    "elimination": make_pipeline(prepare(), RFE(LogisticRegression(), n_features_to_select=3)),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_certify_takes_whole_pipelines(name: str) -> None:
    """Selection and tuning see the unsealed rows alone, and the certificate is about all steps."""
    X, y = noise(240, 5)
    frame, y = frame_of(X), np.where(X[:, 1] > 0.3 * y, "no", "yes")
    model, certificate = certify(PIPELINES[name], frame, y)
    kept = certificate.headline.n_rows
    assert kept == 72
    about = verify(model, certificate)
    assert certificate.headline in about
    names = {one.name for one in certificate}
    averaged = name in ("calibrated", "bagged", "elimination")
    assert ("one draw" in names) is not averaged
    np.testing.assert_array_equal(model.predict(frame[:5]), model.predict(frame)[:5])
    again = audit(model, frame_of(noise(80, 5, 3)[0]), y[:80])
    assert again.headline.on_trust is (name == "elimination")


# -- files -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    path = Path(__file__).parent / "fixtures" / "model_schema_4.json"
    return json.loads(path.read_text())


def change(document: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    made = json.loads(json.dumps(document))
    inner = made["provenance"]["fingerprint"]
    for one in place[:-1]:
        inner = inner[one]
    inner[place[-1]] = value
    return {**made, "checksum": checksum(made)}


LEVEL = ("sketches", 0, "levels", 0)


@pytest.mark.parametrize(
    ("place", "value", "match"),
    [
        (("keys",), [], "keys should be the hashes of 56 rows"),
        (("n_rows",), 5, "n_distinct should be an integer between"),
        (("pairs",), 1e9, "pairs should be at most the pairs of 56 rows"),
        (("sketches",), {}, "sketches should be a list"),
        (("sketches",), [{}] * 5, "sketches should be at most 4"),
        (("sketches", 0), 3, "sketches.0 should be an object"),
        (("sketches", 0, "scale"), [1.0], r"scale should have shape \(3,\)"),
        (("sketches", 0, "scale"), [1.0, -1.0, 1.0], "scale should not be negative"),
        (("sketches", 0, "levels"), [{}] * 14, "levels should be at most 13"),
        (("sketches", 0, "more"), 1, "unknown entries"),
        ((*LEVEL, "decimals"), 9, "decimals should be an integer between 0 and 5"),
        ((*LEVEL, "decimals"), None, "step should be a number"),
        ((*LEVEL, "step"), 0.5, "step should be null"),
        ((*LEVEL, "keys"), "", "keys should be 1 to 1024 hashes"),
        ((*LEVEL, "keys"), "0" * 12 * 1025, "keys should be 1 to 1024 hashes"),
        ((*LEVEL, "keys"), "0" * 13, "keys should be 1 to 1024 hashes"),
        ((*LEVEL, "keys"), "z" * 12, "hashes of 12 hexadecimal digits"),
        ((*LEVEL, "keys"), "0" * 24, "keys should increase"),
        ((*LEVEL, "counts"), "1", "digits from 1 to 3"),
        ((*LEVEL, "counts"), 1, "counts should be a text"),
        ((*LEVEL, "n_cells"), 56, "the number of keys"),
        ((*LEVEL, "n_cells"), 10**400, "n_cells should be an integer between"),
    ],
)
def test_unsound_sketches_are_named(
    document: dict[str, Any], place: tuple[Any, ...], value: Any, match: str
) -> None:
    with pytest.raises(ModelFileError, match=match):
        from_document(change(document, place, value))


def test_steps_of_unknown_grids_are_refused(document: dict[str, Any]) -> None:
    levels = document["provenance"]["fingerprint"]["sketches"][0]["levels"]
    i = next(i for i, one in enumerate(levels) if one["decimals"] is None)
    with pytest.raises(ModelFileError, match=r"step should be one of 1\.9, 0\.57"):
        from_document(change(document, ("sketches", 0, "levels", i, "step"), 0.3))
    n, i = max((len(one["counts"]), i) for i, one in enumerate(levels))
    with pytest.raises(ModelFileError, match="counts should be those of 56 rows"):
        from_document(change(document, ("sketches", 0, "levels", i, "counts"), "3" * n))


def test_sketches_come_back_from_a_file(document: dict[str, Any]) -> None:
    saved = from_document(document)
    again = from_document(to_document(saved))
    [first], [second] = (one.mixture.provenance.fingerprint.sketches for one in (saved, again))
    assert first.equals(second)
    for one, other in zip(first.levels, second.levels, strict=True):
        np.testing.assert_array_equal(one.counts, other.counts)
        assert (one.decimals, one.step, one.n_cells) == (other.decimals, other.step, other.n_cells)


def test_files_of_before_have_no_sketches(document: dict[str, Any]) -> None:
    path = Path(__file__).parent / "fixtures" / "model_schema_3.json"
    before = json.loads(path.read_text())
    saved = from_document(before)
    assert saved.mixture.provenance.fingerprint.sketches == ()
    assert saved.mixture.provenance.earlier_hash is None
    assert verify(saved.mixture, saved.certificate)
    with pytest.raises(ModelFileError, match=r"'provenance\.fingerprint\.sketches'"):
        from_document(change(before, ("sketches",), []))


def test_how_close_near_copies_are_in_plain_words() -> None:
    """In decimals, or in standard deviations, of which a share in percent would say little."""
    X, y = noise(100, 20)
    [sketch] = Fingerprint.of(X, y.astype(float)).sketches
    words = [_how_close(one) for one in sketch.levels]
    assert "to 1 decimal" in words
    relative = [text for text in words if "decimal" not in text and "whole" not in text]
    assert relative
    assert all(re.fullmatch(r"to [.\d]+ standard deviations in every column", s) for s in relative)
