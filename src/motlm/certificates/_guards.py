"""What must be true of the rows for a certificate to hold, as far as it can be checked.

A `refuse_*` raises, a `note_*` gives a note for the certificate, or None.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import binom, chi2_contingency, ks_2samp, rankdata
from sklearn.neighbors import NearestNeighbors

from .._typing import AnyArray, Array, Booleans, Integers
from ..errors import CertificateError, TrainingRowsError
from ..fingerprints import Fingerprint, describe_found, row_keys
from ..sketches import Level, Match, Sketch
from ._groups import count_groups
from ._words import round_seen

__all__ = [
    "note_duplicates",
    "note_near_copies",
    "note_order",
    "note_repeats",
    "note_repeats_in_sample",
    "note_shift",
    "note_unlabeled",
    "refuse_training_rows",
    "refuse_weights",
]

_ALARM = 4.0  # standard errors; one false alarm in 16 000
_SHIFTED = 6e-5  # probability of a false alarm about shares of labels; the same
_COPIES = 1e-4  # probability of taking independent rows for near-copies
_SUSPECT = 1e-2  # of a note about rows that are not
_TWINS = 0.2  # distance of the nearest row over that of the next one
_MOST = 20_000  # rows among which neighbors are searched
_FEW = 4  # near-equal rows that are not worth a note


def _verb(n: int, singular: str, plural: str) -> str:
    return singular if n == 1 else plural


def refuse_weights(sample_weight: Any) -> None:
    if sample_weight is not None:
        raise CertificateError(
            "sample_weight was given, but a certificate counts independent rows, each once.",
            "Leave the weights out, or weight in fit alone by an estimator of your own and use"
            " audit on unweighted rows.",
        )


def refuse_training_rows(
    fingerprint: Fingerprint, X: Array, codes: Array, n_tests: int = 1
) -> str | None:
    """An error if these rows are training rows, or near-copies of some; a note if some are equal by
    chance. `n_tests` fingerprints are looked at in all.
    """
    keys = row_keys(X, codes)
    known, checkable = fingerprint.recognize(keys)
    found, n_checkable = int(known.sum()), int(checkable.sum())
    chance = fingerprint.coincidences(keys, X, codes, n_checkable)
    if found > chance or fingerprint.is_contained(keys):
        raise TrainingRowsError(
            f"{describe_found(found, len(X), n_checkable)} {_verb(found, 'is', 'are')} among the"
            f" {fingerprint.n_rows} used for fitting, the first at row"
            f" {int(np.flatnonzero(known)[0])}.",
            _OTHER_ROWS,
        )
    matches = [one for sketch in fingerprint.sketches for one in sketch.compare(X, codes)]
    copies = _worst(matches, _COPIES / n_tests)
    if copies is not None:
        raise TrainingRowsError(
            f"{describe_found(copies.found, len(X), copies.n_checkable)} are near-copies of rows"
            f" used for fitting: they agree with one {_how_close(copies.level)}, the first at row"
            f" {int(np.flatnonzero(copies.known)[0])}, and chance does not explain it.",
            _OTHER_ROWS,
        )
    near = _near(matches, np.column_stack([X, codes]), found)
    if near is not None:
        return (
            f"{near.found} of {len(X)} rows nearly equal a row used for fitting"
            f" ({_how_close(near.level)}). If they are the same cases, recorded or rounded again,"
            " audit on other rows. If such cases are common, nothing is wrong."
        )
    if found:
        return (
            f"{found} of {len(X)} rows {_verb(found, 'equals', 'equal')} a row used for fitting, as"
            " many as chance explains in such a table."
        )
    return None if fingerprint.sketches else _BEFORE


_BEFORE = (
    "the model is from a file of an earlier version, by which rounded or slightly changed copies of"
    " its training rows are not recognized."
)
_OTHER_ROWS = "Give rows that were not used for fitting, or call certify, which keeps some sealed."


def _how_close(level: Level) -> str:
    """Of two rows that share a cell of a grid."""
    if level.decimals is not None or level.step is None:
        return level.words
    return f"to {level.step:.2g} standard deviations in every column"


def _worst(matches: list[Match], probability: float) -> Match | None:
    """The finest grid on which most of the near-copies are, if there are more than chance
    explains; one in decimals before others.
    """
    if not matches:
        return None
    alarms = [one for one in matches if one.chance < probability / len(matches)]
    most = max((max(one.mixed) for one in alarms), default=0)
    best = [one for one in alarms if max(one.mixed) >= 0.9 * most]
    return max(best, key=_fineness, default=None)


def _fineness(one: Match) -> tuple[bool, float]:
    level = one.level
    if level.decimals is not None:
        return True, float(level.decimals)
    return False, -(level.step or 0.0)


def _near(matches: list[Match], table: Array, equal: int) -> Match | None:
    """Rows that are close to others without being equal: more than chance explains, or as close
    as they are on a grid of a tenth of the step.

    In continuous columns, where near neighbors are normal, most of them are lost on such a grid;
    in a single one of many rows they may not be.
    """
    suspect = _worst(matches, _SUSPECT)
    if suspect is not None and suspect.found > equal + _FEW:
        return suspect
    if _many_values(table).sum() < 2:
        return None
    for coarse, fine in pairwise(matches):
        steps = coarse.level.step or 0.0, fine.level.step or 0.0
        if not 0.05 > steps[0] > steps[1] > 0.0 or coarse.found > 0.95 * coarse.n_checkable:
            continue
        if 2 * fine.found >= coarse.found and fine.found > 2 * equal + _FEW:
            return fine
    return None


def note_near_copies(first: tuple[Array, Array], second: tuple[Array, Array]) -> str | None:
    """About rows and targets of the second part that nearly equal one of the first."""
    keys, others = row_keys(*first), row_keys(*second)
    equal = int(np.isin(others, keys).sum())
    matches = list(Sketch.of(*first, keys).compare(*second))
    before, after = np.column_stack(first), np.column_stack(second)
    near, twins = _near(matches, after, equal), 0
    if near is None:
        twins = _count_twins(before, after)
    if near is None and not twins:
        return None
    how = "much nearer than the next one is" if near is None else _how_close(near.level)
    return (
        f"{twins if near is None else near.found} of the {len(others)} sealed rows nearly equal a"
        f" row used for fitting ({how}). If the same case was recorded twice, the rows are not"
        " independent: keep one record of each case and certify again. If such cases are common,"
        " nothing is wrong."
    )


def _count_twins(before: Array, after: Array) -> int:
    """Rows whose nearest row of the first part is much nearer than the second nearest; 0 if they
    are no more than chance explains.

    Where columns are continuous in D dimensions the two distances are r apart for a share r^D of
    all rows, and r is the most that it can be.
    """
    kept = _many_values(np.vstack([before, after]))
    if kept.sum() < 2 or not 2 <= len(before) <= _MOST:
        return 0
    before, after = before[:, kept], after[:, kept]
    scale = np.maximum(before.std(axis=0), np.finfo(float).tiny)
    tree = NearestNeighbors(n_neighbors=2).fit(before / scale)
    near, next_one = tree.kneighbors(after / scale)[0].T
    twins = int(((near > 0) & (near < _TWINS * next_one)).sum())
    return twins if twins > binom.isf(_SUSPECT, len(after), _TWINS) else 0


def _many_values(table: Array) -> Booleans:
    """Columns of finite numbers, of which many are different."""
    return np.array(
        [bool(np.isfinite(one).all()) and 5 * len(np.unique(one)) > len(one) for one in table.T]
    )


def note_duplicates(first: AnyArray, second: AnyArray) -> str | None:
    """About equal rows in both parts: more than chance explains were not split."""
    both = int(np.isin(second, first).sum())
    if not both:
        return None
    return (
        f"{both} of the {len(second)} sealed rows {_verb(both, 'equals', 'equal')} a row used for"
        " fitting, as common cases do. If the rows of one client or device are equal, they are not"
        " independent: give its name as groups (--group on the command line)."
    )


def _repeats(groups: Integers) -> str:
    n_repeats = len(groups) - count_groups(groups)
    if not n_repeats:
        return ""
    return (
        f"{n_repeats} of {len(groups)} rows {_verb(n_repeats, 'repeats', 'repeat')} another row,"
        " more than chance explains"
    )


def note_repeats_in_sample(groups: Integers, what: str) -> str | None:
    """About equal rows, and what is done about them."""
    repeats = _repeats(groups)
    return f"{repeats}; {what}." if repeats else None


def note_repeats(groups: Integers, n_aside: int) -> str | None:
    """About equal rows, of which one is counted."""
    repeats = _repeats(groups)
    if not repeats:
        return None
    return (
        f"{repeats}. Equal rows are one case: never both used for fitting and"
        f" counted, and counted once ({n_aside} {_verb(n_aside, 'copy was', 'copies were')} set"
        " aside), so that the certificate is about new cases."
    )


def note_unlabeled(unlabeled: AnyArray, *others: AnyArray) -> str | None:
    """About unlabeled rows that are among the labeled ones; an error if most of them are."""
    both = int(np.isin(unlabeled, np.concatenate(others)).sum())
    if 2 * both > len(unlabeled):
        raise CertificateError(
            f"{both} of the {len(unlabeled)} rows of X_unlabeled {_verb(both, 'is', 'are')} among"
            " the labeled rows; give others of the population."
        )
    if not both:
        return None
    verb = _verb(both, "equals", "equal")
    return f"{both} of the {len(unlabeled)} rows of X_unlabeled {verb} a labeled row."


def note_order(X: Any, codes: Array) -> str | None:
    """About rows whose order carries information."""
    index = getattr(X, "index", None)
    if getattr(getattr(index, "dtype", None), "kind", "") == "M":
        return (
            "the rows are dated. A random split certifies cases drawn from the same years, not"
            " those of the future: fit on the earlier rows, and audit on the later ones."
        )
    ranks = rankdata(codes)
    ranks -= ranks.mean()
    spread = float(ranks @ ranks)
    if len(ranks) < 20 or spread == 0:
        return None
    lag = float(ranks[1:] @ ranks[:-1]) / spread
    if abs(lag) * np.sqrt(len(ranks)) <= _ALARM:
        return None
    return (
        f"the targets of neighboring rows are related (their correlation is {lag:.2f}), so that"
        " the order of the rows carries information. If it is time, the rows are not independent"
        " draws and the future may differ: fit on the earlier rows, and audit on the later ones. If"
        " they are merely sorted, nothing is wrong."
    )


def note_shift(
    before: Array | Fingerprint, after: Array, labels: AnyArray | None = None
) -> str | None:
    """About a target that has another distribution in the second part; `labels` are those of the
    codes, whose mean says nothing to a reader.
    """
    if isinstance(before, Fingerprint):
        mean, scale, n_before = before.target_mean, before.target_scale, before.n_rows
    else:
        mean, scale, n_before = float(before.mean()), float(before.std()), len(before)
    error = np.sqrt(scale**2 / n_before + float(after.var()) / len(after))
    gap = float(after.mean()) - mean
    moved = abs(gap) > _ALARM * error if error > 0 else gap != 0
    what, how = "the target", f" (its mean from {mean:.4g} to {float(after.mean()):.4g})"
    if labels is not None:
        what, how = "the shares of the labels", ""
    if labels is not None and len(labels) == 2:  # whose codes are -1 and 1, or 0 and 1
        first = (1.0 + mean) / 2.0
        if not isinstance(before, Fingerprint):
            first = float((before == 1.0).mean())
        how = _change_of(labels, 1, first, float((after == 1.0).mean()))
    elif not isinstance(before, Fingerprint):
        if labels is not None:
            moved, how = _compare_shares(before, after, labels)
        elif not moved and len(np.unique(before)) > 2:
            moved = float(ks_2samp(before, after).pvalue) < 1e-4
    if not moved:
        return None
    return (
        f"{what} changed between the rows used for fitting and these{how}. The certificate is about"
        " cases like these rows, not about cases like the former."
    )


def _compare_shares(before: Array, after: Array, labels: AnyArray) -> tuple[bool, str]:
    """Whether labels, by their index, are not as frequent as before, and which differs most."""
    counts = np.array(
        [np.bincount(one.astype(int), minlength=len(labels)) for one in (before, after)]
    )
    first, second = counts / counts.sum(axis=1, keepdims=True)
    k = int(np.abs(second - first).argmax())
    moved = chi2_contingency(counts[:, counts.any(axis=0)], correction=False).pvalue < _SHIFTED
    return bool(moved), _change_of(labels, k, float(first[k]), float(second[k]))


def _change_of(labels: AnyArray, k: int, first: float, second: float) -> str:
    return f" (that of {labels.tolist()[k]!r} from {round_seen(first)} to {round_seen(second)})"
