"""Certificates as dictionaries: the checklist, and what of a dictionary is refused."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import (
    Certificate,
    Certified,
    audit,
    audit_in_sample,
    certify,
    certify_in_sample,
    verify,
)
from motlm.datasets import make_clf_case1, make_reg_case2
from motlm.errors import InputError

POINTS = [[-1.0, 0.0], [1.0, 0.0]]
QUICK: dict[str, Any] = {"inverse_temperature": 2.0, "n_starts": 1, "random_state": 0}
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
