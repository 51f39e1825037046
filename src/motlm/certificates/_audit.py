"""audit: certify a model that exists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, Integers
from ..errors import InputError
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
from ._copies import look_inside, trace_given
from ._evidence import Evidence
from ._groups import (
    check_groups,
    count_groups,
    describe_counted,
    group_equal_rows,
    one_of_each,
)
from ._guards import (
    note_order,
    note_repeats,
    note_shift,
    refuse_training_rows,
    refuse_weights,
)
from ._issue import make_certificate, share_out, warn_notes
from ._models import find_mixture, model_hash
from ._observe import encode, look, observe_unlabeled
from ._records import POPULATION, Observed, Options, Rival, Sizes, Subject, Training, Words
from ._statements import Certificate

__all__ = ["audit"]


def audit(
    model: Any,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    spend: Mapping[str, float] | str | None = None,
    tolerance: float | None = None,
    clip: float | None = None,
    coverage: float = 0.9,
    marginal: bool = False,
    rival: Any = None,
    X_unlabeled: Any = None,
    population: str = POPULATION,
    random_state: int = 0,
    sample_weight: Any = None,
    X_unlabelled: Any = None,
    X_train: Any = None,
    y_train: Any = None,
    groups: Any = None,
) -> Certificate:
    """Certify a model that exists, on rows that were not used for fitting it.

    Parameters
    ----------
    model : fitted motlm estimator or its `mixture_`, or any fitted scikit-learn predictor
        A motlm model stores a fingerprint of the rows it was fitted on; such rows, also rounded or
        slightly changed, are refused. So are those that models of other kinds keep (neighbors,
        support vectors, Gaussian processes), also inside of pipelines, searches, and calibrated,
        bagged, voting or stacked models. Where there are none it cannot be checked, and is taken on
        trust, unless X_train is given.
    X, y : rows and targets
    rival : fitted predictor or mixture, default=None
        Another model, to certify the gain over it.
    delta, spend, tolerance, clip, coverage, marginal, X_unlabeled, population, random_state, \
sample_weight, X_unlabelled
        As in `certify`. For other models than motlm's, tolerance and clip must be given.
    X_train, y_train : rows and targets used for fitting, default=None
        Of any model: rows of X that are copies or near-copies of these are refused.
    groups : array of (n_rows,), default=None
        Of which rows belong together, as in `certify`: one row of each group, drawn at random, is
        counted. No group may have been used for fitting, which is not checked.

    Returns
    -------
    Certificate

    Examples
    --------
    A model of another kind, on rows that it was not fitted on:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from motlm.certificates import audit
    >>> from motlm.datasets import make_twonorm
    >>> X, y = make_twonorm(800, random_state=0)
    >>> model = LogisticRegression().fit(X[:400], y[:400])
    >>> certificate = audit(model, X[400:], y[400:], spend={"hold-out": 0.05})
    >>> statement = certificate["hold-out"]
    >>> statement.errors, statement.n_rows, round(statement.value, 3)
    (8, 400, 0.036)

    The bound is Clopper and Pearson's:

    >>> from motlm.bounds import clopper_pearson
    >>> bool(statement.value == clopper_pearson(statement.errors, statement.n_rows, 0.05))
    True
    """
    refuse_weights(sample_weight)
    X_unlabeled = read_renamed("X_unlabelled", X_unlabelled, "X_unlabeled", X_unlabeled)
    delta, coverage, random_state = check_numbers(delta, coverage, random_state)
    options = Options(
        tolerance, clip, coverage, marginal, X_unlabeled, population, seed=random_state
    )
    evidence = _gather(model, X, y, rival, options, (X_train, y_train), groups)
    spent = share_out(evidence, delta, spend)
    certificate = make_certificate(evidence, spent, delta, spend != "each")
    warn_notes(evidence.words.notes, stacklevel=2)
    return certificate


def _gather(
    model: Any,
    X: Any,
    y: Any,
    rival: Any,
    options: Options,
    before: tuple[Any, Any],
    groups: Any,
) -> Evidence:
    """The answers on rows that the model has not been fitted on, as far as that is known."""
    if not isinstance(model, Mixture):  # which always is
        check_is_fitted(model)
    X = from_arrow(X)
    y = read_targets(X, y)
    classification = check_task(model)
    if classification:
        refuse_idle(tolerance=options.tolerance, clip=options.clip)
    else:
        refuse_idle(X_unlabeled=options.X_unlabeled, rival=rival)
    subject = _describe(model, classification)
    before_notes, on_trust = _refuse_copies(subject, X, y, *before)
    together = group_equal_rows(X, y) if groups is None else check_groups(groups, len(y))
    aside = len(y) - count_groups(together)
    if groups is None:
        before_notes.append(note_repeats(together, aside))
    counted = np.sort(one_of_each(together, options.seed))
    before_notes += _look_at_all(subject, X, y, counted)
    if aside:
        X, y = _safe_indexing(X, counted), y[counted]
    observed, notes = _observe(subject, X, y, rival, options.X_unlabeled)
    mixture = subject.mixture
    scale = None if classification or mixture is None else float(mixture.target.tolerance)
    sizes = Sizes(
        size_of_errors("tolerance", options.tolerance, 2.0, scale),
        size_of_errors("clip", options.clip, 4.0, scale),
        options.coverage,
        options.marginal,
    )
    given = "" if before[0] is None else ", compared with the training rows given"
    words = Words(
        options.population,
        "rows of the audit",
        f"audit on {describe_counted(together)}, seed {options.seed}{given}",
        tuple(note for note in before_notes + notes if note),
        on_trust=on_trust,
        grouped=aside > 0,
    )
    return Evidence(subject, observed, sizes, words, options.seed)


def _refuse_copies(
    subject: Subject, X: Any, y: AnyArray, X_train: Any, y_train: Any
) -> tuple[list[str | None], bool]:
    """Errors and notes about rows that a model of another kind keeps, or that were given as those
    used for fitting; whether it is taken on trust that there are no others.
    """
    traces, whole = ([], True) if subject.mixture else look_inside(subject.model, X, y)
    if X_train is not None:
        if y_train is not None:
            y_train = read_targets(X_train, y_train)
        traces, whole = [*traces, trace_given(X_train, y_train, X, y)], True
    elif y_train is not None:
        raise InputError("y_train was given without X_train; give both, or X_train alone.")
    notes = [refuse_training_rows(one.fingerprint, one.X, one.codes, len(traces)) for one in traces]
    return list(dict.fromkeys(notes)), not whole


def _describe(model: Any, classification: bool) -> Subject:
    """The model, and what it stores about the rows of its fit."""
    mixture, training = find_mixture(model), Training()
    if mixture is not None:
        fingerprint = mixture.provenance.fingerprint
        usual = mixture.target.usual(fingerprint.target_mean)
        training = Training(usual=usual, scale=None if classification else fingerprint.target_scale)
    return Subject(model, mixture, classification, model_hash(model), training)


def _look_at_all(subject: Subject, X: Any, y: AnyArray, counted: Integers) -> list[str | None]:
    """Errors about the rows that were given, whether they are counted or not, and notes."""
    mixture, codes = subject.mixture, code_targets(subject.mixture, y, subject.classification)
    if mixture is None:
        return [note_order(X, codes[counted])]
    encoded, _ = encode(subject, X)
    return [
        refuse_training_rows(mixture.provenance.fingerprint, encoded, codes),
        note_order(X, codes[counted]),
    ]


def _observe(
    subject: Subject, X: Any, y: AnyArray, rival: Any, X_unlabeled: Any
) -> tuple[Observed, list[str | None]]:
    model, mixture = subject.model, subject.mixture
    rivals = () if rival is None else (Rival("the rival", predict(rival, X)),)
    if mixture is None:
        observe_unlabeled(subject, X_unlabeled)
        return Observed(y, predict(model, X), rivals), []
    encoded, notes = encode(subject, X)
    codes = code_targets(mixture, y, subject.classification)
    fingerprint, labels = (
        mixture.provenance.fingerprint,
        list_labels(mixture, y, subject.classification),
    )
    notes.append(note_shift(fingerprint, codes, labels))
    unlabeled, more_notes = observe_unlabeled(subject, X_unlabeled, encoded)
    used, contradicted = look(mixture, encoded)
    answers = predict(model, X, quiet=True)
    observed = Observed(y, answers, rivals, encoded, codes, used, contradicted, unlabeled)
    return observed, notes + more_notes
