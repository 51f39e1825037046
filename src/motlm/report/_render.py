"""From a fitted model and rows to one HTML file."""

from __future__ import annotations

import base64
import gzip
import json
import secrets
import warnings
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length, column_or_1d

from .._typing import Booleans
from ..certificates import standing
from ..checks import check_exposure
from ..comparison import Comparison
from ..errors import InputError, MissingPackageError, MotlmWarning
from ..explanations import explain_global
from ..files import write_atomically
from ..groups import GroupEvaluation
from ..inputs import TableNotes
from ..mixture import Mixture
from ..pipelines import subject_of
from ..targets import Rate
from ._choice import choice_of
from ._comparison import check_comparison, comparison_section
from ._curves import curves_of
from ._formulas import terms_of
from ._front import Wanted, front_of
from ._groups import groups_section
from ._payload import payload, rows_to_judge_on, table_of_regions
from ._sections import Section

__all__ = ["judged_rows", "render"]


def render(
    model: Any,
    X: Any,
    y: Any,
    path: Any,
    *,
    title: str = "A mixture of local models",
    include_rows: bool = False,
    max_rows: int = 1000,
    groups: GroupEvaluation | None = None,
    comparison: Comparison | None = None,
    overwrite: bool = True,
    exposure: Any = None,
    probabilities: Any = None,
    tolerance: float | None = None,
    X_train: Any = None,
    y_train: Any = None,
    exposure_train: Any = None,
    owner: str = "",
    intended_use: str = "",
) -> Path:
    """Write a report: a model card, how good the model is beside simple ones, the formula of each
    local model, and a form to try a case.

    The file needs no network and holds all that it shows. Rows of X are in it only if asked for;
    without them it holds ranges and shares for each region.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
        Or a pipeline that ends in one, which is told in its input columns where its steps allow it.
    X, y : rows and targets
        That the model is judged on; rows not used for fitting are more informative.
    path : str or Path
        Of the HTML file.
    title : str
    include_rows : bool, default=False
        Whether rows are embedded: typical ones of each region, and a table of at most `max_rows`.
        They may be private.
    max_rows : int, default=1000
        Most rows in the table and on the map, chosen at random.
    groups : GroupEvaluation, default=None
        Of `motlm.groups.evaluate_groups`: a section on groups of cases.
    comparison : Comparison, default=None
        Of `motlm.compare`: a section with the model beside other methods. One of another task,
        target or table is refused.
    overwrite : bool, default=True
        Whether a file that exists may be replaced.
    exposure : array of (n_rows,), default=None
        Of rates, as in `fit`.
    probabilities : array of (n_rows, n_classes), default=None
        Of a classifier, instead of those of `predict_proba`.
    tolerance : float, default=None
        Of a regressor: the error that is still acceptable, in the units of y. None is that of the
        certificate, or twice the typical error.
    X_train, y_train : rows and targets that the model was fitted to, default=None
        One linear model is fitted to them, to compare with. None is the one that the command line
        keeps with a model, or one fitted to X and y if they are the rows that the model was fitted
        to; without any of these no linear model is shown.
    exposure_train : array, default=None
        Of rates: the exposures of y_train, which is then what happened in all of them.
    owner, intended_use : str
        For the model card; "" is what the command line keeps with a model.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.report import render
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> model = LocalMixtureClassifier(
    ...     points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0
    ... ).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = render(model, X, y, Path(folder) / "report.html", title="Three balls")
    ...     "Three balls" in path.read_text(encoding="utf-8")
    True
    """
    try:
        from jinja2 import Environment
    except ImportError as error:
        raise MissingPackageError(
            "reports need Jinja2 and plotly: pip install 'motlm[report]'"
        ) from error
    subject, place = subject_of(model), Path(path)
    mixture = subject.mixture
    mixture.refuse_transformer("the report page")
    if place.is_dir() or (place.exists() and not overwrite):
        write_atomically(place, "", overwrite)  # fails before anything is computed
    for name, given in (("title", title), ("owner", owner), ("intended_use", intended_use)):
        _check_characters(given, name)
    y = np.asarray(column_or_1d(y, warn=True))
    if len(y) == 0:
        raise InputError("a report needs rows; X and y are empty.")
    check_consistent_length(X, y)
    notes = getattr(model, "table_", TableNotes(""))
    if comparison is not None:
        names = tuple(map(str, getattr(model, "feature_names_in_", ())))
        comparison = check_comparison(comparison, mixture, names, notes)
    years = _exposures(mixture, exposure, len(y))
    outcome = y if years is None else y / years
    rows = subject.table(X)
    view = mixture.view(mixture.encode(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MotlmWarning)  # reading the rows has given them
        judged = rows_to_judge_on(subject, X, view, outcome, standing(model).certificate)
        some = np.flatnonzero(judged["judged"])
        every = len(some) == len(y)
        explanation = explain_global(
            model,
            X if every else _safe_indexing(X, some),
            y[some],
            exposure=None if years is None else years[some],
            X_train=X_train,
            y_train=y_train,
            exposure_train=exposure_train,
        )
        content = payload(
            subject,
            rows,
            outcome,
            explanation,
            title,
            include_rows,
            max_rows,
            view,
            judged,
            notes.exposure,
        )
        content["n_report"] = len(y)
        wanted = Wanted(years, probabilities, tolerance, owner, intended_use)
        front = front_of(view, rows, y, explanation, judged, notes, wanted)
    pooled = {key: list(rare) for key, rare in notes.pooled.items()}
    nonce = secrets.token_urlsafe(16)
    template = Environment(autoescape=True).from_string(_part("template.html"))
    text = template.render(
        nonce=nonce,
        style=_part("page.css"),
        script=_part("model.js") + _part("page.js"),
        plotly=_plotly(),
        data=_embed(content),
        sections=_sections(groups, comparison, include_rows),
        pooled=pooled,
        curves=curves_of(mixture, content["features"], content["regions"], content["hidden"]),
        terms=[terms_of(view, i) for i in range(mixture.n_localities + 1)],
        choice=choice_of(mixture),
        **table_of_regions(content["regions"], content["fair"]),
        **front,
        **content,
    )
    _check_characters(text, "a name or category")
    return write_atomically(place, text, overwrite)


def judged_rows(model: Any, X: Any, y: Any, exposure: Any = None) -> Booleans:
    """The rows of a report that its model is judged on: those not used for fitting, where there are
    enough of them, or all.
    """
    subject, y = subject_of(model), np.asarray(column_or_1d(y))
    years = _exposures(subject.mixture, exposure, len(y))
    outcome = y if years is None else y / years
    rows = subject.table(X)
    view = subject.mixture.view(subject.mixture.encode(rows))
    found = rows_to_judge_on(subject, X, view, outcome, standing(model).certificate)
    return np.asarray(found["judged"])


def _sections(
    groups: GroupEvaluation | None, comparison: Comparison | None, include_rows: bool
) -> list[Section]:
    """What was asked for beside the model."""
    made = [] if groups is None else [groups_section(groups, include_rows)]
    return made if comparison is None else [*made, comparison_section(comparison)]


def _exposures(mixture: Mixture, exposure: Any, n_rows: int) -> Any:
    if exposure is None:
        return None
    if not isinstance(mixture.target, Rate):
        raise InputError("exposure is for models of rates; leave it out.")
    return check_exposure(exposure, n_rows)


def _check_characters(text: str, what: str) -> None:
    """Half of a pair of surrogates, from bytes that are not UTF-8, is not a character."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{what} has {text[error.start]!a}, which is not a character; give text in UTF-8."
        ) from None


def _embed(content: dict[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(content, allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _part(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    """plotly.js, packed: the page unpacks it, and does without charts where it cannot."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingPackageError(
            "reports need Jinja2 and plotly: pip install 'motlm[report]'"
        ) from error
    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), 9, mtime=0)).decode()
