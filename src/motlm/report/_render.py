"""From a fitted model and rows to one HTML file."""

from __future__ import annotations

import base64
import gzip
import json
import secrets
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from ..errors import InputError, MissingPackageError
from ..explanations import explain_global
from ..files import write_atomically
from ..mixture import mixture_of
from ._curves import curves_of
from ._payload import payload

__all__ = ["render"]


def render(
    model: Any,
    X: Any,
    y: Any,
    path: Any,
    *,
    title: str = "A mixture of local models",
    include_rows: bool = False,
    max_rows: int = 1000,
    overwrite: bool = True,
) -> Path:
    """Write a report: what the model is, how good it is, the formula of each local model, and a
    form to try a case.

    The file needs no network and holds all that it shows. Rows of X are in it only if asked for;
    without them it holds ranges and shares for each region.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
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
    overwrite : bool, default=True
        Whether a file that exists may be replaced.

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
    mixture, place = mixture_of(model), Path(path)
    if place.is_dir() or (place.exists() and not overwrite):
        write_atomically(place, "", overwrite)  # fails before anything is computed
    _check_characters(title, "title")
    y = np.asarray(column_or_1d(y, warn=True))
    if len(y) == 0:
        raise InputError("a report needs rows; X and y are empty.")
    explanation = explain_global(model, X, y)
    content = payload(mixture, X, y, explanation, title, include_rows, max_rows)
    nonce = secrets.token_urlsafe(16)
    template = Environment(autoescape=True).from_string(_part("template.html"))
    text = template.render(
        nonce=nonce,
        style=_part("page.css"),
        script=_part("model.js") + _part("page.js"),
        plotly=_plotly(),
        data=_embed(content),
        curves=curves_of(mixture, content["features"], content["regions"], content["hidden"]),
        **content,
    )
    _check_characters(text, "a name or category")
    return write_atomically(place, text, overwrite)


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
