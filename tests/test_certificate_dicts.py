"""Certificates as dictionaries: the checklist, and what of a dictionary is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import (
    Certificate,
    CertificateError,
    Certified,
    Statement,
    audit,
    audit_in_sample,
    certify,
    certify_in_sample,
    verify,
)
from motlm.datasets import make_clf_case1, make_reg_case2
from motlm.errors import InputError, MotlmError

POINTS = [[-1.0, 0.0], [1.0, 0.0]]
QUICK: dict[str, Any] = {
    "local_models": "linear",
    "inverse_temperature": 2.0,
    "n_starts": 1,
    "random_state": 0,
}
ALL = ["features", "tuning", "points", "preprocessing", "groups", "time", "future", "once"]
Rows = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def rows() -> Rows:
    return make_clf_case1(400, random_state=0)


@pytest.fixture(scope="module")
def line() -> Rows:
    return make_reg_case2(400, random_state=0)


@pytest.fixture(scope="module")
def certified(rows: Rows) -> Certified:
    return certify(LocalMixtureClassifier(points_of_interest=POINTS, **QUICK), *rows, sealed=0.5)


@pytest.fixture(scope="module")
def certified_line(line: Rows) -> Certified:
    regressor = LocalMixtureRegressor(points_of_interest=[[-0.5], [0.5]], **QUICK)
    return certify(regressor, *line, sealed=0.5)


@pytest.fixture(scope="module")
def in_sample(rows: Rows) -> Certified:
    return certify_in_sample(LocalMixtureClassifier(points_of_interest=POINTS, **QUICK), *rows)


# -- the checklist ---------------------------------------------------------------------------------


def keys(certificate: Certificate) -> list[str]:
    return [one.key for one in certificate.checklist]


def test_what_a_person_has_to_check(rows: Rows, certified: Certified, in_sample: Certified) -> None:
    """The points that apply, in words about the rows of the protocol."""
    X, y = rows
    without_points = [key for key in ALL if key != "points"]
    assert keys(certified.certificate) == ALL == keys(in_sample.certificate)
    learned = certify(LocalMixtureClassifier(1, **QUICK), *rows).certificate
    model = LogisticRegression().fit(X[:200], y[:200])
    audited = audit(model, X[200:], y[200:])
    assert keys(learned) == keys(audited) == without_points
    fitted = LocalMixtureClassifier(1, standardize=False, **QUICK).fit(X, y)
    trained = audit_in_sample(fitted, X, y)
    assert keys(trained) == without_points
    for certificate, words in (
        (learned, "the sealed rows"),
        (audited, "the rows of the audit"),
        (trained, "these rows"),
    ):
        texts = {one.key: one.text for one in certificate.checklist}
        assert all(words in texts[key] for key in ("features", "tuning"))
        assert not any(one.ticked for one in certificate.checklist)


def test_ticking(certified: Certified) -> None:
    """It says who and when, and changes no statement; the certificate before it stays."""
    certificate = certified.certificate
    ticked = certificate.tick("features", "once", by=" A. Smith ", on="2026-01-31")
    assert [one.key for one in ticked.checklist if one.ticked] == ["features", "once"]
    assert not any(one.ticked for one in certificate.checklist)
    assert ticked.statements == certificate.statements
    assert verify(certified.model, ticked) == verify(certified.model, certificate)
    again = ticked.tick("time", by="B", on=date(2026, 2, 1))
    again = again.tick("groups", by="B", on=datetime(2026, 2, 1, 12, tzinfo=UTC))
    assert {one.key: (one.by, one.on) for one in again.checklist if one.ticked} == {
        "features": ("A. Smith", "2026-01-31"),
        "once": ("A. Smith", "2026-01-31"),
        "time": ("B", "2026-02-01"),
        "groups": ("B", "2026-02-01"),
    }
    assert certificate.tick("time", by="C").checklist[5].on == date.today().isoformat()


def test_ticking_in_words(certified: Certified) -> None:
    ticked = certified.certificate.tick("future", by="<b>", on="2026-01-31")
    lines = str(ticked).splitlines()
    assert sum(line.startswith("[ ] ") for line in lines) == len(ALL) - 1
    [one] = [line for line in lines if line.startswith("[x] ")]
    assert one.startswith("[x] future: No column has")
    assert one.endswith("(<b>, 2026-01-31)")
    page = ticked._repr_html_()
    assert page.count("[ ] ") == len(ALL) - 1
    assert "(&lt;b&gt;, 2026-01-31)" in page
    assert "<b>," not in page


def test_ticks_survive_a_dictionary(certified: Certified) -> None:
    ticked = certified.certificate.tick("tuning", by="Zoë", on="2026-01-31")
    again = Certificate.from_dict(json.loads(json.dumps(ticked.to_dict())))
    assert again == ticked != certified.certificate


@pytest.mark.parametrize(
    ("chosen", "options", "words"),
    [
        ((), {"by": "A"}, "name what was checked: features, tuning"),
        (("luck",), {"by": "A"}, "no point 'luck' in the checklist; there are features"),
        ((1,), {"by": "A"}, "no point 1"),
        (("time",), {"by": " "}, "by must be the name of who has checked it"),
        (("time",), {"by": "A\nB"}, "printable"),
        (("time",), {"by": "A" * 201}, "at most 200"),
        (("time",), {"by": "\ud800"}, "printable"),
        (("time",), {"by": "A", "on": "yesterday"}, "on must be a day"),
        (("time",), {"by": "A", "on": 20260131}, "on must be a day"),
    ],
)
def test_ticks_that_are_refused(
    certified: Certified, chosen: tuple[Any, ...], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        certified.certificate.tick(*chosen, **options)


def test_a_tick_is_not_replaced(certified: Certified) -> None:
    ticked = certified.certificate.tick("time", by="A", on="2026-01-31")
    with pytest.raises(InputError, match=r"'time' was ticked already, by A on 2026-01-31\."):
        ticked.tick("time", by="B")
    with pytest.raises(TypeError, match="by must be the name"):
        ticked.tick("once", by=None)  # type: ignore[arg-type]


# -- dictionaries from anywhere --------------------------------------------------------------------


def sign(content: dict[str, Any]) -> dict[str, Any]:
    """With a digest that fits, as anyone can make it."""
    content = {name: value for name, value in content.items() if name != "digest"}
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return content | {"digest": sha256(text.encode()).hexdigest()}


def change(certificate: Certificate, path: Sequence[str | int], value: Any) -> dict[str, Any]:
    """The dictionary of a certificate with one entry changed, and signed again."""
    content = json.loads(json.dumps(certificate.to_dict()))
    place = content
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return sign(content)


@pytest.fixture(scope="module")
def every(
    certified: Certified, certified_line: Certified, in_sample: Certified, rows: Rows, line: Rows
) -> dict[str, Certificate]:
    X, y = line
    regressor = LocalMixtureRegressor(points_of_interest=[[-0.5], [0.5]], **QUICK)
    few = certify(regressor, X[:80], y[:80], sealed=0.5)
    marginal = certify(regressor, X, y, marginal=True)
    other = LinearRegression().fit(X[:200], y[:200])
    coins = np.random.default_rng(0).integers(2, size=len(rows[1]))
    local = LocalMixtureClassifier(points_of_interest=POINTS, **QUICK)
    labels = np.where(rows[0][:, 1] > 0.5, "high", np.where(rows[1] > 0, "up", "down"))
    return {
        "classification": certified.certificate,
        "regression": certified_line.certificate,
        "in-sample": in_sample.certificate,
        "in-sample regression": certify_in_sample(regressor, X, y, tolerance=0.2).certificate,
        "each": certify(LocalMixtureClassifier(1, **QUICK), *rows, spend="each").certificate,
        "few rows": few.certificate,
        "marginal": marginal.certificate,
        "other": audit(other, X[200:], y[200:], tolerance=0.5, clip=1.0),
        "noise": certify(LogisticRegression(), rows[0], coins).certificate,
        "three labels": certify(local, rows[0], labels, sealed=0.5).certificate,
        "in-sample, three labels": certify_in_sample(local, rows[0], labels).certificate,
    }


NAMES = (
    "classification",
    "regression",
    "in-sample",
    "in-sample regression",
    "each",
    "few rows",
    "marginal",
    "other",
    "noise",
    "three labels",
    "in-sample, three labels",
)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_written_is_read(every: dict[str, Certificate], name: str) -> None:
    certificate = every[name]
    content = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert Certificate.from_dict(content) == certificate
    for one in certificate:
        assert Statement.from_dict(one.to_dict()) == one
    before = sign({key: value for key, value in content.items() if key != "checklist"})
    assert Certificate.from_dict(before) == replace(certificate, checklist=())


FIXTURES = Path(__file__).parent / "fixtures"
OLD = [
    *(FIXTURES / f"model_schema_{schema}.json" for schema in (1, 2, 3)),
    *(FIXTURES / "schema2" / name for name in ("certified.json", "in_sample.json")),
]


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_certificates_of_earlier_files_are_read(path: Path) -> None:
    content = json.loads(path.read_text())["certificate"]
    certificate = Certificate.from_dict(content)
    assert certificate.checklist == ()
    assert certificate.to_dict()["statements"][0]["value"] == content["statements"][0]["value"]


FIRST = ("statements", 0)
BAD: list[tuple[tuple[str | int, ...], Any, str]] = [
    (("statements",), [], r"certificate\.statements should be a list of 1 to 2000"),
    (("statements",), {}, r"certificate\.statements should be a list"),
    ((*FIRST, "region"), "inside", r"statements\[0\]\.region should be empty"),
    (("statements",), None, r"certificate\.statements should be a list"),
    (FIRST, [], r"certificate\.statements\[0\] should be an object; got \[\]"),
    (FIRST, ["C1"], r"certificate\.statements\[0\] should be an object"),
    (FIRST, "C1", r"certificate\.statements\[0\] should be an object"),
    (FIRST, None, r"certificate\.statements\[0\] should be an object"),
    (("delta",), "0.05", r"certificate\.delta should be a number"),
    (("delta",), 0.0, r"certificate\.delta should be a number between 0 and 1"),
    (("delta",), 1, r"certificate\.delta"),
    (("delta",), True, r"certificate\.delta"),
    (("delta",), 0.01, r"so that they do not hold together|delta should be at most"),
    (("delta",), 10**400, r"certificate\.delta should be an integer of at most 38 digits"),
    (("together",), 1, r"certificate\.together should be true or false"),
    (("model",), "0" * 63, r"certificate\.model should be a hash"),
    (("model",), "0" * 64, r"statements\[0\]\.model should be that of the certificate"),
    (("protocol",), "", r"certificate\.protocol should be text"),
    (("seed",), -1, r"certificate\.seed should be an integer from 0"),
    (("seed",), 1.5, r"certificate\.seed"),
    (("seed",), 1, r"details\.seed should be that of the certificate"),
    (("notes",), "all is well", r"certificate\.notes should be a list"),
    (("notes",), [1], r"certificate\.notes should be a list"),
    (("version",), None, r"certificate\.version should be text"),
    (("luck",), 1, r"not a certificate: unknown entries \['luck'\]"),
    (("checklist",), [{}], r"missing entries \['key'"),
    (("checklist", 0, "key"), "tuning", r"checklist\[1\]\.key should be a word of its own"),
    (("checklist", 0, "key"), "Features!", r"checklist\[0\]\.key"),
    (("checklist", 0, "by"), "A", r"checklist\[0\]\.by should be given with the day"),
    (("checklist", 0, "on"), "2026-01-31", r"checklist\[0\]\.by"),
    (("checklist", 0, "text"), "", r"checklist\[0\]\.text should be text that is not empty"),
    ((*FIRST, "code"), "C9", r"statements\[0\]\.code should be"),
    ((*FIRST, "code"), ["C1"], r"statements\[0\]\.code should be text"),
    ((*FIRST, "name"), "any rule", r"statements\[0\]\.name should be 'hold-out'"),
    ((*FIRST, "predictor"), "gibbs", r"statements\[0\]\.predictor should be 'fixed'"),
    ((*FIRST, "bound"), "at least", r"statements\[0\]\.bound should be 'at most'"),
    ((*FIRST, "unit"), "target", r"statements\[0\]\.unit should be 'share'"),
    ((*FIRST, "value"), 0.001, r"statements\[0\]\.value should be 0\.\d+, which follows from"),
    ((*FIRST, "value"), "0.3", r"statements\[0\]\.value should be a number from 0 to 1"),
    ((*FIRST, "value"), None, r"statements\[0\]\.value should be a number from 0 to 1"),
    ((*FIRST, "value"), 1.5, r"statements\[0\]\.value should be a number from 0 to 1"),
    ((*FIRST, "empirical"), 0.0, r"statements\[0\]\.empirical should be \d+ / 200"),
    ((*FIRST, "errors"), 201, r"statements\[0\]\.errors should be an integer from 0 to 200"),
    ((*FIRST, "errors"), -1, r"statements\[0\]\.errors"),
    ((*FIRST, "errors"), 3.0, r"statements\[0\]\.errors"),
    ((*FIRST, "errors"), None, r"statements\[0\]\.errors"),
    ((*FIRST, "n_rows"), -5, r"statements\[0\]\.n_rows should be an integer"),
    ((*FIRST, "n_rows"), 10**9, r"statements\[0\]\.(empirical|value)"),
    ((*FIRST, "n_rows"), 10**30, r"statements\[0\]\.n_rows should be an integer"),
    ((*FIRST, "delta"), 0, r"statements\[0\]\.delta should be a number between 0 and 1"),
    ((*FIRST, "delta"), 0.9, r"statements\[0\]\.(value|delta)"),
    ((*FIRST, "kl"), 1.0, r"statements\[0\]\.kl should be null"),
    ((*FIRST, "baseline"), -0.1, r"statements\[0\]\.baseline should be a number from 0 to 1"),
    ((*FIRST, "flags"), ["VACUOUS"], r"statements\[0\]\.flags should be \[\], those of the value"),
    ((*FIRST, "flags"), "VACUOUS", r"statements\[0\]\.flags should be a list"),
    ((*FIRST, "assumptions"), [None], r"statements\[0\]\.assumptions should be a list"),
    ((*FIRST, "details"), [], r"statements\[0\]\.details should be an object"),
    ((*FIRST, "details"), {"luck": 1.0}, r"unknown entries \['luck'\]"),
    ((*FIRST, "model"), "xyz", r"statements\[0\]\.model should be a hash"),
    ((*FIRST, "region_index"), 0, r"statements\[0\]\.region_index should be null"),
    ((*FIRST, "on_trust"), None, r"statements\[0\]\.on_trust should be true or false"),
    ((*FIRST, "population"), "", r"statements\[0\]\.population should be text"),
    ((*FIRST, "population"), "x" * 10_001, r"population should have at most 10000 characters"),
    ((*FIRST, "rows"), "\ud800", r"statements\[0\]\.rows should be text without lone surrogates"),
    (
        (*FIRST, "sentence"),
        "It never errs.",
        r"statements\[0\]\.sentence should be a sentence with",
    ),
    (("statements", 1, "value"), 0.01, r"statements\[1\]\.value should be .*, which follows from"),
    (("statements", 1, "kl"), None, r"statements\[1\]\.kl should be a number"),
    (("statements", 1, "kl"), 0.0, r"statements\[1\]\.value should be"),
    (("statements", 1, "details"), {}, r"missing entries \['c'\]"),
    (("statements", 1, "details", "c"), -1.0, r"statements\[1\]\.details\.c should be a number"),
    (("statements", 2, "details", "seed"), 0.5, r"details\.seed should be a whole number"),
    (("statements", 2, "kl"), -50.0, r"statements\[2\]\.value should be"),
]


@pytest.mark.parametrize(
    ("path", "value", "words"), BAD, ids=[".".join(map(str, path)) for path, _, _ in BAD]
)
def test_entries_are_checked(
    every: dict[str, Certificate], path: tuple[str | int, ...], value: Any, words: str
) -> None:
    with pytest.raises(CertificateError, match=words):
        Certificate.from_dict(change(every["classification"], path, value))


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 10**5000], ids=["nan", "inf", "5000"]
)
def test_numbers_that_no_certificate_has(every: dict[str, Certificate], value: float) -> None:
    content = every["classification"].to_dict()
    content["statements"][0]["value"] = value
    with pytest.raises(CertificateError, match=r"certificate\.statements\[0\]\.value should be"):
        Certificate.from_dict(content)
    with pytest.raises(CertificateError, match=r"statement\.value should be"):
        Statement.from_dict(content["statements"][0])


def test_objects_of_other_kinds(every: dict[str, Certificate]) -> None:
    certificate = every["classification"]
    for odd in (object(), b"bytes", {1}, np.float32(0.5), np.zeros(2)):
        content = certificate.to_dict() | {"seed": odd}
        with pytest.raises(CertificateError, match=r"certificate\.seed should be text, a number"):
            Certificate.from_dict(content)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(CertificateError, match="too many inside one another"):
        Certificate.from_dict(certificate.to_dict() | {"notes": deep})
    with pytest.raises(CertificateError, match="too many entries"):
        Certificate.from_dict(certificate.to_dict() | {"notes": ["x"] * 600_000})
    with pytest.raises(CertificateError, match="certificate has more than 16777216 characters"):
        Certificate.from_dict(certificate.to_dict() | {"notes": ["x" * 10_000] * 2000})
    with pytest.raises(CertificateError, match="an object with names of text"):
        Certificate.from_dict({**certificate.to_dict(), 1: 2})  # type: ignore[dict-item]


def test_bounds_follow_from_their_numbers(every: dict[str, Certificate]) -> None:
    """A value that is better than its numbers allow is refused, whatever the statement; those of
    bets cannot be computed again.
    """
    checked = set()
    for certificate in every.values():
        for i, one in enumerate(certificate):
            if one.value is None or one.unit != "share":
                continue
            better = one.value - 1e-6
            content = change(certificate, ("statements", i, "value"), better)
            with pytest.raises(CertificateError, match="which follows from the other numbers"):
                Certificate.from_dict(content)
            checked.add(one.code)
    assert checked == {"C1", "C2", "C3", "C4", "C5", "R1", "W1", "W2", "W3", "W4"}


def index(certificate: Certificate, name: str) -> int:
    return [one.name for one in certificate].index(name)


@pytest.mark.parametrize(
    ("of", "name", "entry", "value", "words"),
    [
        ("regression", "squared error", "value", 1e6, "value should be at most the clip"),
        ("regression", "squared error", "value", 0.0, "value should be at least the empirical"),
        ("regression", "squared error", "details", {"clip": 1.0}, "missing entries"),
        ("regression", "explained", "value", 1.5, "value should be a number"),
        ("regression", "explained", "value", -1.0, "flags should be"),
        ("regression", "interval", "value", None, "value should be a number: there are enough"),
        ("regression", "interval", "value", -0.1, "value should be a number from 0"),
        ("regression", "interval", "n_rows", 3, "value should be null"),
        ("regression", "interval", "region_index", 1, "should have one for each of 3 regions"),
        ("regression", "tolerance", "loss", "is off by more than 9", "loss should be 'is off by"),
        ("few rows", "interval", "value", 0.1, "value should be null"),
        ("few rows", "interval", "flags", [], "flags should be .*TOO FEW ROWS"),
        ("marginal", "tolerance", "delta", 0.0, "delta should be a number between"),
        ("classification", "gain", "value", 2.0, "value should be a number from -1 to 1"),
        ("classification", "gain", "value", -0.5, "flags should be .*NOT BETTER"),
        ("classification", "per locality", "n_rows", 0, "errors should be|n_rows should be"),
        ("classification", "per locality", "value", None, "errors should be null"),
        ("in-sample", "one draw", "kl", 0.0, "value should be"),
        ("in-sample", "one draw", "kl", -1.0, "kl should be a number from"),
        ("in-sample", "one draw", "details", {"seed": 7.0}, "details.seed should be that"),
        ("in-sample", "any rule", "errors", 3, "errors should be null"),
        ("each", "hold-out", "delta", 0.2, "value should be|delta should be"),
    ],
)
def test_entries_of_single_statements(
    every: dict[str, Certificate], of: str, name: str, entry: str, value: Any, words: str
) -> None:
    path = ("statements", index(every[of], name), entry)
    with pytest.raises(CertificateError, match=words):
        Certificate.from_dict(change(every[of], path, value))


def test_statements_of_several_certificates(every: dict[str, Certificate]) -> None:
    """Repeated, missing, or too many."""
    content = every["classification"].to_dict()
    first = content["statements"][0]
    with pytest.raises(CertificateError, match=r"statements\[1\]\.code should be one that occurs"):
        Certificate.from_dict(sign(content | {"statements": [first, first]}))
    with pytest.raises(CertificateError, match="a list of 1 to 2000 statements; got 2001"):
        Certificate.from_dict(sign(content | {"statements": [first] * 2001}))
    regions = [one for one in content["statements"] if one["name"] == "per locality"]
    with pytest.raises(CertificateError, match="should have one for each of 3 regions; got 2"):
        Certificate.from_dict(sign(content | {"statements": [first, *regions[1:]]}))
    gain = next(one for one in content["statements"] if one["name"] == "gain")
    with pytest.raises(CertificateError, match="so that they do not hold together"):
        Certificate.from_dict(sign(content | {"statements": [first, *[gain] * 1000]}))


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**400), 2**63, 0, 1, -1]),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1e-308, 5e-324, 1e30, 1.7e308, 0.05, 0.5, 1.0]),
    st.text(st.characters(), max_size=20),
    st.sampled_from(["", "\ud800", "C1", "C5", "R3", "W4", "x" * 20_000, "0" * 64, "at least"]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.floats(), max_size=3),
    st.builds(lambda: [[[[[[[[]]]]]]]]),
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_nothing_else_is_raised(every: dict[str, Certificate], data: st.DataObject) -> None:
    """Whatever is changed, removed or added: a certificate that can be printed, or one of motlm's
    errors.
    """
    content = every[data.draw(st.sampled_from(NAMES))].to_dict()
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = content
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = data.draw(st.sampled_from(keys))
            inner = place[key]
            if not (isinstance(inner, (dict, list)) and inner) or data.draw(st.booleans()):
                break
            place = inner
        action = data.draw(st.sampled_from(["change", "change", "remove", "add"]))
        if action == "change":
            place[key] = data.draw(ODD)
        elif action == "remove":
            del place[key]
        elif isinstance(place, dict):
            place[data.draw(st.text(max_size=5))] = data.draw(ODD)
        else:
            place.insert(0, data.draw(ODD))
        if not place:
            break
    try:
        content = sign(content)
    except ValueError:  # NaN is written by json, integers of 5000 digits are not
        return
    try:
        certificate = Certificate.from_dict(content)
    except MotlmError:
        return
    assert str(certificate)
    assert certificate._repr_html_()
    assert Certificate.from_dict(certificate.to_dict()) == certificate


def test_populations_that_a_certificate_cannot_keep(rows: Rows) -> None:
    for population, error in (("", InputError), ("x" * 1001, InputError), ("\ud800", InputError)):
        with pytest.raises(error, match="population must"):
            certify(LogisticRegression(), *rows, population=population)
        with pytest.raises(error, match="population must"):
            certify_in_sample(LocalMixtureClassifier(0, **QUICK), *rows, population=population)
    with pytest.raises(TypeError, match="population must be text"):
        certify(LogisticRegression(), *rows, population=None)  # type: ignore[arg-type]
