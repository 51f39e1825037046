"""Coverage of the certificates under distributions with finite support, where true risks are exact
sums and not estimates.

A certificate at delta may fail for a share delta of all samples of rows. With 1000 samples, a
failure rate of 0.05 gives more than 67 failures, and one of 0.25 more than 282, with a probability
below one in a hundred. The controls each violate one condition and must fail more often than that
for the experiment to be informative.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.stats import binom

from motlm import LocalMixtureClassifier, Prior, Units
from motlm.bounds import clopper_pearson, pac_bayes_kl
from motlm.certificates import Certified, audit, certify_in_sample
from motlm.certificates._certify import seal
from motlm.certificates._classification import CLASSIFICATION
from motlm.certificates._distributions import Draw, UnionRisk, draw_model
from motlm.certificates._evidence import Evidence
from motlm.certificates._issue import issue
from motlm.certificates._records import Options
from motlm.certificates._widths import price_of
from motlm.errors import TrainingRowsError
from motlm.geometry import LearnedLocalities
from motlm.losses import ZeroOne
from motlm.mixture import Mixture
from motlm.posterior import FIELDS, Layout, Posterior
from motlm.rows import Rows

from .batches import run_all
from .known import (
    COINS,
    CURVE,
    FITS,
    LINE,
    PLANE,
    Case,
    apart,
    best_pair,
    draw,
    errs,
    estimator,
    gibbs,
    gibbs_off,
    gibbs_seen,
    outcomes,
    toss,
)
from .store import Lines, versions
from .tables import grid

PLACE = Path(__file__).parent / "coverage.csv"
BATCH, BATCHES = 100, 10
DELTAS = (0.05, 0.25)
SEALED = 0.5
SEEDS_PICKED = 200
IN_SAMPLE = "W4 one draw, in-sample"
# what is computed together, and a statement by which it is known that it was
PARTS = {
    "split": {
        "classification": "C1 hold-out",
        "three classes": "C1 hold-out",
        "regression": "R1 tolerance",
    },
    "in-sample": dict.fromkeys(("classification", "three classes", "regression"), IN_SAMPLE),
    "controls": dict.fromkeys(("classification", "three classes"), "core component"),
    "prices": {},
}
ROUNDINGS = (5, 4, 3, 2, 1)  # decimals of training rows in an audit
COPIED = 100  # rows of such an audit
COPY_BATCHES = 2
COPIES = "training rows, decimals left: {}"
REFUSED, FALSE = "refused", "would be false"
_TOLERATED = 2.0  # error of a regression that is still acceptable, in units of its noise
_WIDER = 20.0  # factor on the scales of the fitted posterior, so that the models differ
_SHARP = 16.0  # inverse temperature of the controls, at which models overfit

# a case draws its rows by its place in this list: others follow at the end
CASES = [
    Case(task, m, noise, fit)
    for task, noises, fits, sizes in (
        ("classification", (0.1, 0.3), ("known", "wrong n"), (60, 200, 600)),
        ("regression", (0.1, 0.5), ("known",), (60, 200, 600)),
        ("three classes", (0.1, 0.3), ("known", "wrong n"), (60, 200, 600)),
        ("classification", (0.1, 0.3), ("columns", "widths", "rows"), (60, 200)),
        ("regression", (0.1, 0.5), ("corrections",), (60, 200)),
    )
    for fit in fits
    for m in sizes
    for noise in noises
]
COIN_ROWS = 60
COIN_CASE = f"coins, m={COIN_ROWS}"
PAID, UNPAID = "columns and widths paid for", "price of columns and widths left out"


@dataclass(frozen=True)
class Count:
    """The failures of a statement, or of a control, in a batch of samples."""

    case: str
    batch: int
    statement: str
    delta: float  # of the certificate
    spent: float  # share of delta of the statement; all of delta for a control or a family
    sets: int  # samples that had such a statement
    failures: int
    versions: str

    @property
    def key(self) -> tuple[str, int, str, float]:
        return self.case, self.batch, self.statement, self.delta


# -- statements ------------------------------------------------------------------------------------


def classification_failures(case: Case, certified: Certified, usual: Any) -> dict[str, bool]:
    """`usual` is the most frequent label among the rows used for fitting."""
    model, certificate = certified
    wrong, contradicted = errs(case, model.predict(PLANE)), model.ambiguous(PLANE)
    used = model.apply(PLANE)
    failed = {
        "C1 hold-out": wrong.mean() > certificate["hold-out"].value,
        "C2 any rule": gibbs(case, certified.gibbs).mean() > certificate["any rule"].value,
        "C3 one draw": (
            errs(case, certified.drawn.predict(PLANE)).mean() > certificate["one draw"].value
        ),
        "C4 silent error": (wrong * ~contradicted).mean() > certificate["silent error"].value,
        "C4 ambiguity": contradicted.mean() > certificate["ambiguity"].value,
        "C5 per locality, all": any(
            one.value is not None
            and (used == one.region_index).any()
            and wrong[used == one.region_index].mean() > one.value
            for one in certificate.of("per locality")
        ),
    }
    constant = errs(case, np.full(len(PLANE), usual)).mean()
    failed["C6 gain"] = constant - wrong.mean() < certificate["gain"].value
    return {name: bool(value) for name, value in failed.items()}


def _mean_target(model: Any) -> float:
    """Of the rows used for fitting."""
    return model.mixture_.provenance.fingerprint.target_mean


def in_sample(case: Case, X: np.ndarray, y: np.ndarray, delta: float, seed: int) -> Certified:
    """A certificate without a split; units are those of the distribution, and not of the rows."""
    if case.classifies:
        return certify_in_sample(estimator(case), X, y, delta=delta, reference=0, random_state=seed)
    made = estimator(case).set_params(standardize=Units.of_rows(LINE, CURVE))
    return certify_in_sample(
        made, X, y, delta=delta, tolerance=_TOLERATED * case.noise, random_state=seed
    )


def in_sample_failures(case: Case, certified: Certified) -> dict[str, bool]:
    model, certificate = certified
    if not case.classifies:
        y, tolerance = outcomes(case), _TOLERATED * case.noise
        off = np.abs(model.predict(LINE)[:, None] - y) > tolerance
        failed = {
            "W1 whole sample": gibbs_off(certified.gibbs, y, tolerance) > certificate["W1"].value,
            IN_SAMPLE: off.mean() > certificate["W4"].value,
        }
        return {name: bool(value) for name, value in failed.items()}
    posterior = certified.gibbs
    failed = {
        "W1 whole sample": gibbs(case, posterior).mean() > certificate["W1"].value,
        IN_SAMPLE: errs(case, model.predict(PLANE)).mean() > certificate["W4"].value,
    }
    if certificate.of("W2"):
        silent = gibbs(case, posterior) - apart(posterior)
        failed["W2 silent error"] = silent.mean() > certificate["W2"].value
        failed["W3 ambiguity"] = apart(posterior).mean() > certificate["W3"].value
    return {name: bool(value) for name, value in failed.items()}


def regression_failures(case: Case, certified: Certified) -> dict[str, bool]:
    model, certificate = certified
    y = outcomes(case)
    explained = certificate["explained"].value
    deviation = ((y - _mean_target(model)) ** 2).mean()
    error = np.abs(model.predict(LINE)[:, None] - y)
    used = model.apply(LINE)
    tolerance, squared = certificate["tolerance"], certificate["squared error"]
    clip = squared.details["clip"]
    mean_squared = np.minimum(error, clip) ** 2
    off = np.abs(certified.drawn.predict(LINE)[:, None] - y) > tolerance.details["tolerance"]
    total = gibbs_off(certified.gibbs, y, tolerance.details["tolerance"])
    failed = {
        "R1 tolerance": (error > tolerance.details["tolerance"]).mean() > tolerance.value,
        "R2 squared error": (
            mean_squared.mean() > squared.value**2
            or (error > clip).mean() > squared.details["beyond"]
        ),
        "R2 explained": explained is not None and 1.0 - mean_squared.mean() / deviation < explained,
        "R3 intervals, all": any(
            one.value is not None
            and (used == one.region_index).any()
            and (error[used == one.region_index] <= one.value).mean() < one.details["coverage"]
            for one in certificate.of("interval")
        ),
        "C2 any rule": total > certificate["any rule"].value,
        "C3 one draw": off.mean() > certificate["one draw"].value,
    }
    return {name: bool(value) for name, value in failed.items()}


# -- controls --------------------------------------------------------------------------------------


def controls(case: Case, X: np.ndarray, y: np.ndarray, delta: float) -> dict[str, bool]:
    """Bounds that each violate one condition, so that they are not certificates."""
    model, m = estimator(case).set_params(inverse_temperature=_SHARP).fit(X, y), len(y)
    risk, truth = gibbs_seen(case, model, X, y), gibbs(case, model).mean()
    wrong = int((model.predict(X) != y).sum())
    return {
        "KL left out": bool(truth > pac_bayes_kl(risk, 0.0, m, delta)),
        "training rows as if sealed": bool(
            errs(case, model.predict(PLANE)).mean() > clopper_pearson(wrong, m, delta)
        ),
        "core component": bool(truth > risk + model.kl_ / (_SHARP * m)),
    }


def picked(case: Case, evidence: Evidence, delta: float) -> dict[str, bool]:
    """A control that is made on the sealed rows."""
    answers, wrong = _pick_model(evidence)
    bound = clopper_pearson(wrong, len(evidence.observed.y), delta)
    return {"model picked on the sealed rows": bool(errs(case, answers).mean() > bound)}


def _pick_model(evidence: Evidence) -> tuple[np.ndarray, int]:
    """Labels and number of errors of the model with the fewest errors on the sealed rows, among 200
    models drawn around the fitted one.
    """
    assert evidence.randomized is not None
    prior, sealed = evidence.randomized.prior, evidence.randomized.rows
    wide = replace(
        prior.posterior,
        coef_scale=_WIDER * prior.posterior.coef_scale,
        intercept_scale=_WIDER * prior.posterior.intercept_scale,
    )
    best, fewest = prior.mixture, len(evidence.observed.y) + 1
    for seed in range(SEEDS_PICKED):
        one = _drawn_mixture(prior.mixture, wide, draw_model(wide, seed))
        wrong = int((one.view(sealed.X).answer != evidence.observed.y).sum())
        if wrong < fewest:
            best, fewest = one, wrong
    return np.asarray(best.view(PLANE).answer), fewest


def _drawn_mixture(mixture: Mixture, posterior: Posterior, one: Draw) -> Mixture:
    return replace(
        mixture,
        geometry=replace(mixture.geometry, radius=one.radius),
        posterior=replace(posterior, coef=one.coef, intercept=one.intercept),
    )


def leave_prices_out(batch: int) -> list[Count]:
    """Labels and columns are coins. The prior is of one locality in two columns, in which it has
    its place and size, and its model answers 1, that outside -1. All that is learned is which
    columns, and their widths: the best ones on the rows.
    """
    failures = {PAID: 0, UNPAID: 0}
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        X, y = toss(COIN_ROWS, np.random.default_rng([number, 18]))
        columns, weights = best_pair(X, y)
        risk, posterior = _coin_risk(X, y, columns, weights)
        price = risk.geometry.log_choices(posterior) + price_of(posterior.column_weight)
        empirical, kl = risk.of_posterior(posterior), risk.kl(posterior)
        for name, nats in ((PAID, kl + price), (UNPAID, kl)):
            bound = pac_bayes_kl(empirical, nats, COIN_ROWS, DELTAS[0])
            failures[name] += bool(bound < 0.5)
    return [
        Count(COIN_CASE, batch, name, DELTAS[0], DELTAS[0], BATCH, count, versions())
        for name, count in failures.items()
    ]


def _coin_risk(
    X: np.ndarray, y: np.ndarray, columns: tuple[int, int], weights: tuple[float, float]
) -> tuple[UnionRisk, Posterior]:
    """The distribution that is learned, and the union loss with its prior: sharp around a place at
    1, a radius between 2 and the root of 8, and answers of 1 and -1.
    """
    weight, center = np.zeros((1, COINS)), np.zeros((1, COINS))
    weight[0, list(columns)], center[0, list(columns)] = weights, 1.0
    prior = Prior(
        center=1.0,
        center_scale=0.05,
        radius_shape=1e3,
        radius_rate=1e3 / np.sqrt(5.7),
        coef_scale=1e-4,
        intercept=np.array([3.0, -3.0]),
        intercept_scale=1.0,
    ).expand(1, COINS)
    fields = {name: np.array(getattr(prior, name)) for name in FIELDS} | {"center": center}
    posterior = Posterior(**fields, layout=Layout(weight, np.ones((1, COINS)), pooled=False))
    geometry = LearnedLocalities(most=2, corrections="none")
    return UnionRisk(ZeroOne(), geometry, prior, Rows.of(X, y)), posterior


def prices(store: Lines[Count]) -> tuple[str, list[str]]:
    """The control as a table, and what is wrong with it."""
    found = {key[0]: one for key, one in counts(store, DELTAS[0]).items() if key[1] == COIN_CASE}
    if not found:
        return "", []
    cells = [
        f"**{failures}**" if failures > limit(sets, delta) else str(failures)
        for failures, sets, delta in (found[name] for name in (PAID, UNPAID))
    ]
    _, sets, delta = found[PAID]
    title = f"Labels and {COINS} columns are coins, {COIN_ROWS} rows, one locality in two columns"
    rows = [[str(sets), str(limit(sets, delta)), *cells]]
    text = f"{title}:\n\n" + grid(["sets", "limit", PAID, UNPAID], rows) + "\n"
    wrong = [PAID] if found[PAID][0] > limit(sets, delta) else []
    return text, wrong + ([UNPAID] if found[UNPAID][0] <= limit(sets, delta) else [])


def refuse_copies(batch: int) -> list[Count]:
    """Audits on training rows that were rounded, where labels are noise: how many are refused, and
    how many would have been false.
    """
    refused, false = dict.fromkeys(ROUNDINGS, 0), dict.fromkeys(ROUNDINGS, 0)
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        rng = np.random.default_rng([number, 15])
        X, y = rng.normal(size=(COPIED, 20)), rng.choice([-1, 1], COPIED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # localities dropped, or not converged
            model = LocalMixtureClassifier(
                0, loss="zero-one", n_starts=1, max_iter=60, random_state=0
            ).fit(X, y)
        for decimals in ROUNDINGS:
            rounded = X.round(decimals)
            wrong = int((model.predict(rounded) != y).sum())
            false[decimals] += bool(clopper_pearson(wrong, COPIED, DELTAS[0]) < 0.5)
            try:
                audit(model, rounded, y)
            except TrainingRowsError:
                refused[decimals] += 1
    return [
        Count(COPIES.format(decimals), batch, name, 0.0, 0.0, BATCH, count, versions())
        for name, counted in ((REFUSED, refused), (FALSE, false))
        for decimals, count in counted.items()
    ]


def refusals(store: Lines[Count]) -> tuple[str, int]:
    """The control as a table, and the number of audits that were not refused."""
    found = counts(store, 0.0)
    names = list(dict.fromkeys(case for _, case in found))
    sets = [found[REFUSED, case][1] for case in names]
    rows = [
        [case, str(total), str(found[FALSE, case][0]), f"**{found[REFUSED, case][0]}**"]
        for case, total in zip(names, sets, strict=True)
    ]
    if not rows:
        return "", 0
    title = f"Audits on {COPIED} rounded training rows, labels noise; all must be refused"
    text = f"{title}:\n\n" + grid(["", "sets", FALSE, REFUSED], rows) + "\n"
    return text, sum(sets) - sum(found[REFUSED, case][0] for case in names)


# -- the experiment --------------------------------------------------------------------------------


Found = tuple[dict[str, bool], float, Mapping[str, float]]


def compute(task: tuple[Case, int, str]) -> list[Count]:
    case, batch, part = task
    failures: dict[tuple[str, float], list[bool]] = {}
    spent: dict[tuple[str, float], float] = {}
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        X, y = draw(case, np.random.default_rng([number, CASES.index(case)]))
        with warnings.catch_warnings():
            # repeated rows due to finite support, and localities dropped on small samples
            warnings.simplefilter("ignore")
            found = _RUN[part](case, X, y, number)
        for failed, delta, own in found:
            for name, value in failed.items():
                failures.setdefault((name, delta), []).append(value)
                # in-sample the share depends on the number of localities left
                spent[name, delta] = max(spent.get((name, delta), 0.0), own.get(name, delta))
    return [
        Count(
            case.name, batch, name, delta, spent[name, delta], len(values), sum(values), versions()
        )
        for (name, delta), values in failures.items()
    ]


def _run_split(case: Case, X: np.ndarray, y: np.ndarray, seed: int) -> list[Found]:
    evidence = seal(estimator(case), X, y, SEALED, Options(seed=seed))
    made: list[Found] = []
    for delta in DELTAS:
        if not case.classifies:
            certified = issue(evidence, delta, "each")
            made.append((regression_failures(case, certified), delta, _WHOLE))
            continue
        # also statements that are redundant with few localities
        every = dict.fromkeys(CLASSIFICATION, delta)
        certified = issue(evidence, len(every) * delta, every)
        usual = evidence.subject.training.usual
        own = {"C6 gain": certified.certificate["gain"].delta}
        made.append((classification_failures(case, certified, usual), delta, own))
    if case.classifies and case.fit == "known":
        made.append((picked(case, evidence, DELTAS[0]), DELTAS[0], _WHOLE))
    return made


def _run_in_sample(case: Case, X: np.ndarray, y: np.ndarray, seed: int) -> list[Found]:
    certified = in_sample(case, X, y, DELTAS[0], seed)
    own = {one.code: one.delta for one in certified.certificate}
    found = in_sample_failures(case, certified)
    return [(found, DELTAS[0], {name: own[name[:2]] for name in found})]


def _run_controls(case: Case, X: np.ndarray, y: np.ndarray, seed: int) -> list[Found]:
    return [(controls(case, X, y, DELTAS[0]), DELTAS[0], _WHOLE)]


_WHOLE: Mapping[str, float] = MappingProxyType({})  # of delta
_RUN: dict[str, Callable[[Case, np.ndarray, np.ndarray, int], list[Found]]] = {
    "split": _run_split,
    "in-sample": _run_in_sample,
    "controls": _run_controls,
}


def limit(sets: int, delta: float) -> int:
    """More failures than this have a probability below one in a hundred if a share delta of the
    samples fails.
    """
    return int(binom.isf(0.01, sets, delta))


CONTROLS = (
    "KL left out",
    "training rows as if sealed",
    "core component",
    "model picked on the sealed rows",
)


def counts(store: Lines[Count], delta: float) -> dict[tuple[str, str], tuple[int, int, float]]:
    """Failures, sets and delta of each (statement, case)."""
    found: dict[tuple[str, str], tuple[int, int, float]] = {}
    for one in store.records.values():
        if one.delta == delta:
            failures, sets, _ = found.get((one.statement, one.case), (0, 0, 0.0))
            found[one.statement, one.case] = failures + one.failures, sets + one.sets, one.spent
    return found


def beyond(store: Lines[Count], delta: float) -> list[tuple[str, str]]:
    """The pairs (statement, case) that failed more often than their limit."""
    return [
        key
        for key, (failures, sets, own) in counts(store, delta).items()
        if failures > limit(sets, own)
    ]


def not_detected(store: Lines[Count]) -> list[str]:
    """Controls that are beyond their limit in no case of a task, or were not run."""
    seen = {key: _task(key[1]) for key in counts(store, DELTAS[0]) if key[0] in CONTROLS}
    caught = {(key[0], seen[key]) for key in beyond(store, DELTAS[0]) if key in seen}
    tasks = list(dict.fromkeys(seen.values())) or ["every task"]
    return [f"{name}, {task}" for name in CONTROLS for task in tasks if (name, task) not in caught]


def _task(case: str) -> str:
    return case.split(", ")[0]


def table(store: Lines[Count], delta: float, names: Callable[[str], bool]) -> str:
    """A row for each case, a column for each statement: failures, in bold beyond the limit."""
    found = counts(store, delta)
    text = ""
    for task, fit in dict.fromkeys((case.task, case.fit) for case in CASES):
        cases = [
            case
            for case in CASES
            if (case.task, case.fit) == (task, fit) and any(key[1] == case.name for key in found)
        ]
        columns = [name for name in dict.fromkeys(key[0] for key in found) if names(name)]
        columns = [name for name in columns if any((name, case.name) in found for case in cases)]
        rows = []
        for case in cases:
            cells = [found.get((name, case.name)) for name in columns]
            sets = max(cell[1] for cell in cells if cell is not None) if any(cells) else 0
            shown = []
            for cell in cells:
                if cell is None:
                    shown.append("")
                    continue
                number = str(cell[0]) if cell[1] == sets else f"{cell[0]} of {cell[1]}"
                shown.append(f"**{number}**" if cell[0] > limit(cell[1], cell[2]) else number)
            rows.append(
                [
                    f"m = {case.n_rows}, noise {case.noise:g}",
                    str(sets),
                    str(limit(sets, delta)),
                    *shown,
                ]
            )
        if columns and rows:
            title = f"{task.capitalize()}, {FITS[fit]}"
            text += f"{title}:\n\n" + grid(["", "sets", "limit", *columns], rows) + "\n"
    return text


def _has(case: Case, part: str) -> bool:
    """Whether a part is of this case: controls are of classifiers with the true centers."""
    if part == "prices":
        return False
    return part != "controls" or (case.classifies and case.fit == "known")


def main(
    results: Path | None, output: Path, jobs: int, quick: bool, only: str | None = None
) -> int:
    store = Lines(results or PLACE, Count)
    batches = range(1 if quick else BATCHES)
    done = {(one.case, one.batch, one.statement) for one in store.records.values()}
    tasks = [
        (case, batch, part)
        for batch in batches
        for part, marks in PARTS.items()
        for case in CASES
        if only in (None, part) and _has(case, part)
        if (case.name, batch, marks[case.task]) not in done
    ]
    failed = run_all(store, tasks, compute, jobs)
    if only in (None, "copies"):
        case = COPIES.format(ROUNDINGS[-1])
        left = [one for one in batches[:COPY_BATCHES] if (case, one, REFUSED) not in done]
        failed += run_all(store, left, refuse_copies, jobs)
    if only in (None, "prices"):
        left = [one for one in batches if (COIN_CASE, one, PAID) not in done]
        failed += run_all(store, left, leave_prices_out, jobs)
    output.mkdir(parents=True, exist_ok=True)
    for delta in DELTAS:
        text = table(store, delta, lambda name: name not in CONTROLS)
        (output / f"coverage_{round(100 * delta):02d}.md").write_text(text, encoding="utf-8")
        wrong = [
            key for key in beyond(store, delta) if key[0] not in CONTROLS and key[1] != COIN_CASE
        ]
        failed += len(wrong)
        verdict = f"ABOVE THE LIMIT: {wrong}" if wrong else "every certificate is within its limit"
        print(f"delta = {delta}\n\n{text}{verdict}\n")
    refused, accepted = refusals(store)
    coins, wrong_prices = prices(store)
    text = table(store, DELTAS[0], CONTROLS.__contains__) + coins + refused
    (output / "coverage_controls.md").write_text(text, encoding="utf-8")
    passed = not_detected(store)
    passed += ["audits on rounded training rows"] if accepted else []
    passed += wrong_prices
    verdict = f"NOT DETECTED: {passed}" if passed else "every control is detected"
    print(f"controls, which must exceed their limit\n\n{text}{verdict}")
    return failed + len(passed)
