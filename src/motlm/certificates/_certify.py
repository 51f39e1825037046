"""certify: fit on some rows, certify on the others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from .._typing import AnyArray, Array
from ..errors import CertificateError, InputError, InputTypeError, MotlmError, UnknownCategoryError
from ..fingerprints import row_keys
from ..frames import from_arrow
from ..mixture import Mixture
from ._checks import (
    check_numbers,
    check_task,
    code_targets,
    list_labels,
    predict,
    read_renamed,
    read_targets,
    refuse_idle,
    size_of_errors,
)
from ._copies import as_numbers
from ._evidence import Evidence
from ._groups import (
    are_copies,
    check_groups,
    count_groups,
    describe_split,
    draw,
    fit_groups,
    group_equal_rows,
    one_of_each,
)
from ._guards import (
    note_duplicates,
    note_near_copies,
    note_order,
    note_repeats,
    note_shift,
    refuse_weights,
)
from ._issue import Certified, issue
from ._models import core_of, find_mixture, model_hash, rows_of_core
from ._observe import encode, look, observe_unlabeled
from ._randomized import Randomized
from ._records import POPULATION, Observed, Options, Rival, Sizes, Subject, Training, Words

__all__ = ["DEFAULT_SEALED", "certify", "seal", "split"]

DEFAULT_SEALED = 0.3
"""Share of the rows that is sealed, by `certify`, `split` and the command line."""


def certify(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    sealed: float = DEFAULT_SEALED,
    spend: Mapping[str, float] | str | None = None,
    tolerance: float | None = None,
    clip: float | None = None,
    coverage: float = 0.9,
    marginal: bool = False,
    X_unlabeled: Any = None,
    population: str = POPULATION,
    random_state: int = 0,
    sample_weight: Any = None,
    X_unlabelled: Any = None,
    groups: Any = None,
) -> Certified:
    """Fit on some rows, keep the others sealed until the end, and certify what is fitted on them.

    Parameters
    ----------
    estimator : a motlm estimator, a Pipeline that ends in one, or any scikit-learn classifier or \
regressor
        It is cloned. Everything that it learns (columns, units, centers, n_localities, lambda) it
        learns from the unsealed rows.
    X, y : rows and targets
        Independent rows from the population of interest.
    delta : float, default=0.05
        The probability with which the certificate may be wrong.
    sealed : float, default=0.3
        Share of the rows that is sealed.
    spend : None, "each" or mapping of statement to delta, default=None
        How delta is shared out. None: by default shares, such that all statements hold together.
        "each": every statement at delta, by itself. A mapping makes only the statements it names:
        "hold-out", "any rule", "one draw", "silent error", "ambiguity", "per locality", "gain"; of
        regression "tolerance", "squared error", "explained", "interval", "any rule", "one draw".
    tolerance : float, default=None
        Of regression: the error that is still acceptable, in the units of y. None is twice the root
        mean squared error that is expected from the unsealed rows, of which some are held out for
        it.
    clip : float, default=None
        Of regression: errors are counted up to this size. None is four such errors.
    coverage : float, default=0.9
        Of regression: the share of outcomes that a prediction interval has to contain.
    marginal : bool, default=False
        Whether intervals hold on average over sealed rows only (and need fewer of them), not with
        confidence 1 - delta.
    X_unlabeled : rows without targets, default=None
        Further rows from the population, on which contradictions are counted too.
    population : str
        What the cases are called in the sentences.
    random_state : int, default=0
        Seed of the split, of the one draw and of the order of the bets. Fix it before you look at
        any result.
    sample_weight : None
        Certificates count rows; weights are refused.
    X_unlabelled : rows without targets, default=None
        The old name of X_unlabeled, accepted for one release.
    groups : array of (n_rows,), default=None
        Of which rows belong together, as those of one client do. Whole groups are sealed, and one
        row of each, drawn at random, is counted, so that the counted rows are independent if the
        groups are; `fit` is given the groups, too, if it takes them. None: equal rows are one
        group if chance does not explain them (see `group_equal_rows`).

    Returns
    -------
    Certified
        With `model`, `certificate`, `drawn` and `gibbs`. The mixture keeps the certificate, too, as
        `certificate_`.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.certificates import certify
    >>> from motlm.datasets import make_clf_case1
    >>> X, y = make_clf_case1(random_state=0)
    >>> mixture = LocalMixtureClassifier(points_of_interest=[[-1, 0], [1, 0]], random_state=0)
    >>> model, certificate = certify(mixture, X, y)
    >>> print(certificate.headline)  # doctest: +ELLIPSIS
    With 98 % confidence over the draw of the ... sealed rows, this fixed model errs on at most ...
    """
    refuse_weights(sample_weight)
    X_unlabeled = read_renamed("X_unlabelled", X_unlabelled, "X_unlabeled", X_unlabeled)
    delta, coverage, random_state = check_numbers(delta, coverage, random_state)
    options = Options(
        tolerance, clip, coverage, marginal, X_unlabeled, population, seed=random_state
    )
    return issue(seal(estimator, X, y, sealed, options, groups), delta, spend, stacklevel=2)


def split(
    n_rows: int, sealed: float = DEFAULT_SEALED, random_state: int = 0, *, groups: Any = None
) -> tuple[AnyArray, AnyArray]:
    """Which rows `certify` fits on, and which it keeps sealed: indices, in order.

    Whatever is done to a table before `certify` may look at the first only, such as computing the
    values that replace missing ones.

    Parameters
    ----------
    n_rows : int
    sealed : float, default=0.3
        Share of the rows that is sealed.
    random_state : int, default=0
        Seed of the split.
    groups : array of (n_rows,), default=None
        Of which rows belong together, as in `certify`; `group_equal_rows` finds those that are
        equal. None: each row is a group.

    Returns
    -------
    first, kept : ndarray of int
        The rows to fit on, and the sealed ones, one of each sealed group. Others of sealed groups
        are in neither.

    Examples
    --------
    >>> from motlm.certificates import split
    >>> split(10, random_state=0)
    (array([0, 1, 3, 5, 7, 8, 9]), array([2, 4, 6]))
    >>> split(6, random_state=0, groups=["ann", "ann", "bob", "cem", "cem", "cem"])
    (array([0, 1, 2]), array([4]))
    """
    every = np.arange(n_rows) if groups is None else check_groups(groups, n_rows)
    return draw(every, sealed, random_state)


def seal(
    estimator: Any, X: Any, y: Any, sealed: float, options: Options, groups: Any = None
) -> Evidence:
    """Split, fit, and look at the answers on the sealed rows."""
    if not 0 < sealed < 1:
        raise InputError(f"sealed must be a number between 0 and 1; got {sealed!r}.")
    if isinstance(estimator, Mixture):
        raise InputTypeError(
            "certify fits an estimator to some of the rows; got a Mixture, which is fitted.",
            "Use audit on rows that were not used for fitting.",
        )
    X = from_arrow(X)
    y, seed = read_targets(X, y), options.seed
    together = group_equal_rows(X, y) if groups is None else check_groups(groups, len(y))
    first, kept = draw(together, sealed, seed)
    X0, y0, X1, y1 = _safe_indexing(X, first), y[first], _safe_indexing(X, kept), y[kept]
    classification = check_task(estimator)
    if classification:
        refuse_idle(tolerance=options.tolerance, clip=options.clip)
    else:
        refuse_idle(X_unlabeled=options.X_unlabeled)
    copies = groups is None or are_copies(together, X, y)
    more = {} if copies else fit_groups(estimator, together[first])
    model = clone(estimator).fit(X0, y0, **more)
    subject = _describe(model, X0, y0, classification)
    codes = code_targets(subject.mixture, y, classification)
    labels = list_labels(subject.mixture, y, classification)
    alone = np.sort(one_of_each(together, seed))  # rows of one client are often side by side
    notes = [note_order(X, codes[alone]), note_shift(codes[first], codes[kept], labels)]
    if copies:
        notes.append(note_repeats(together, len(y) - len(first) - len(kept)))
    if subject.mixture is None:
        notes += _note_copies((as_numbers(X0), codes[first]), (as_numbers(X1), codes[kept]))
    observed, more_notes = _observe(subject, X1, y1, y0, options.X_unlabeled)
    scale = None if classification else _typical_error(estimator, subject, X0, y0, seed)
    sizes = Sizes(
        size_of_errors("tolerance", options.tolerance, 2.0, scale),
        size_of_errors("clip", options.clip, 4.0, scale),
        options.coverage,
        options.marginal,
    )
    words = Words(
        options.population,
        "sealed rows",
        f"{describe_split(together, first, kept)}, seed {seed}",
        tuple(note for note in notes + more_notes if note),
        grouped=count_groups(together) < len(y),
    )
    randomized = None
    if subject.mixture is not None:
        randomized = Randomized(subject, observed, sizes, seed)
    return Evidence(subject, observed, sizes, words, seed, randomized)


def _describe(model: Any, X0: Any, y0: AnyArray, classification: bool) -> Subject:
    """The fitted model, and what the rows of the fit are like."""
    encoded = codes = None
    mixture = find_mixture(model)
    if mixture is not None:
        encoded = mixture.encode(rows_of_core(model, X0))
        codes = mixture.target.code(y0)
    if classification:
        labels, counts = np.unique(y0, return_counts=True)
        training = Training(encoded, codes, labels[counts.argmax()])
    else:
        training = Training(encoded, codes, float(np.mean(y0)), float(np.std(y0)))
    return Subject(model, mixture, classification, model_hash(model), training)


def _note_copies(first: tuple[Array, Array], second: tuple[Array, Array]) -> list[str | None]:
    """About sealed rows and targets that equal, or nearly equal, one of those used for fitting."""
    equal = note_duplicates(row_keys(*first), row_keys(*second))
    return [equal, note_near_copies(first, second)]


def _observe(
    subject: Subject, X1: Any, y1: AnyArray, y0: AnyArray, X_unlabeled: Any
) -> tuple[Observed, list[str | None]]:
    """The answers on the sealed rows, and notes."""
    mixture, training = subject.mixture, subject.training
    if mixture is None or training.encoded is None or training.codes is None:
        observe_unlabeled(subject, X_unlabeled)
        return Observed(y1, predict(subject.model, X1)), []
    try:
        encoded, notes = encode(subject, X1, "the sealed rows")
    except UnknownCategoryError as error:
        text = f"a category occurs among the sealed rows only: {error.text}"
        raise CertificateError(text, error.advice) from error
    codes = mixture.target.code(y1)
    notes += _note_copies((training.encoded, training.codes), (encoded, codes))
    unlabeled, more_notes = observe_unlabeled(subject, X_unlabeled, training.encoded, encoded)
    rivals: tuple[Rival, ...] = ()
    if subject.classification and encoded.shape[1]:
        whole = mixture.inputs.fill_in
        simple = mixture.target.simple_model().fit(whole(training.encoded), y0)
        rivals = (Rival("one linear model for all rows", simple.predict(whole(encoded))),)
    used, contradicted = look(mixture, encoded)
    answers = predict(subject.model, X1, quiet=True)
    observed = Observed(y1, answers, rivals, encoded, codes, used, contradicted, unlabeled)
    return observed, notes + more_notes


def _typical_error(estimator: Any, subject: Subject, X0: Any, y0: AnyArray, seed: int) -> float:
    """The root mean squared error to expect, from the rows used for fitting alone: of rows that are
    held out of a fit, if larger.
    """
    inside = _root_mean_square(predict(subject.model, X0) - y0)
    outside = _held_out_error(subject.mixture, float(np.std(y0)))
    if outside is None:
        outside = _refit_error(estimator, subject, X0, y0, seed)
    return max(inside, outside)


def _held_out_error(mixture: Mixture | None, scale: float) -> float | None:
    """On the rows that the choice of n and lambda has held out, where it did."""
    if mixture is None:
        return None
    path = mixture.provenance.path
    scores = [one.held_out_score for one in path if one.held_out_score is not None]
    return mixture.target.expected_error(max(scores), scale) if scores else None


def _refit_error(estimator: Any, subject: Subject, X0: Any, y0: AnyArray, seed: int) -> float:
    """On a third of the rows, of a fit to the others; the deviation of the target where they are
    too few for one.
    """
    part = np.random.default_rng(seed).permutation(len(y0))
    some, rest = part[: len(y0) // 3], part[len(y0) // 3 :]
    if not len(some):
        return float(np.std(y0))
    # A mixture refuses rows by a MotlmError alone. Other predictors and the steps of a pipeline do
    # it by a plain ValueError: fewer rows than neighbors or folds, a category that occurs among the
    # held-out rows only.
    refusals = MotlmError if core_of(subject.model) is subject.model else (MotlmError, ValueError)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = clone(estimator).fit(_safe_indexing(X0, rest), y0[rest])
            return _root_mean_square(predict(again, _safe_indexing(X0, some)) - y0[some])
    except refusals:
        return float(np.std(y0))


def _root_mean_square(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
