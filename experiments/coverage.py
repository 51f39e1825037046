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

from motlm import LocalMixtureClassifier, LocalMixtureRegressor, Prior, Units
from motlm.bounds import clopper_pearson, pac_bayes_kl
from motlm.certificates import Certified, audit, certify_in_sample
from motlm.certificates._certify import seal
from motlm.certificates._classification import CLASSIFICATION
from motlm.certificates._distributions import Draw, draw_model
from motlm.certificates._evidence import Evidence
from motlm.certificates._issue import issue
from motlm.certificates._records import Options
from motlm.combinations import COMBINATIONS, ambiguity
from motlm.errors import TrainingRowsError
from motlm.losses import ZeroOne
from motlm.mixture import Mixture, View
from motlm.posterior import Posterior

from .batches import run_all
from .store import Lines, versions
from .tables import grid

PLACE = Path(__file__).parent / "coverage.csv"
BATCH, BATCHES = 100, 10
DELTAS = (0.05, 0.25)
SEALED = 0.5
POINTS = [[-0.5, 0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0, 0.0]]
SEEDS_PICKED = 200
IN_SAMPLE = "W4 one draw, in-sample"
# what is computed together, and a statement by which it is known that it was
PARTS = {
    "split": {"classification": "C1 hold-out", "regression": "R1 tolerance"},
    "in-sample": {"classification": IN_SAMPLE, "regression": IN_SAMPLE},
}
ROUNDINGS = (5, 4, 3, 2, 1)  # decimals of training rows in an audit
COPIED = 100  # rows of such an audit
COPY_BATCHES = 2
COPIES = "training rows, decimals left: {}"
REFUSED, FALSE = "refused", "would be false"
_TOLERATED = 2.0  # error of a regression that is still acceptable, in units of its noise
_WIDER = 20.0  # factor on the scales of the fitted posterior, so that the models differ


@dataclass(frozen=True)
class Case:
    """A distribution of rows, the size of the sample, and the model fitted."""

    task: str
    n_rows: int
    noise: float
    fit: str  # "known": the true centers; "wrong n": one learned center where two are needed

    @property
    def name(self) -> str:
        return f"{self.task}, {self.fit}, m={self.n_rows}, noise {self.noise:g}"


CASES = [
    Case(task, m, noise, fit)
    for task, noises, fits in (
        ("classification", (0.1, 0.3), ("known", "wrong n")),
        ("regression", (0.1, 0.5), ("known",)),
    )
    for fit in fits
    for m in (60, 200, 600)
    for noise in noises
]


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


# -- the distributions -----------------------------------------------------------------------------


def _plane() -> np.ndarray:
    """13 x 13 points of the plane, each with three uninformative binary columns."""
    grid_points, coins = np.linspace(-2, 2, 13), (-0.5, 0.5)
    return np.array(
        [
            (a, b, i, j, k)
            for a in grid_points
            for b in grid_points
            for i in coins
            for j in coins
            for k in coins
        ]
    )


def _label(X: np.ndarray) -> np.ndarray:
    """Labels from two overlapping balls, whose models agree on most of their common points, and the
    opposite rule outside.
    """
    first, second = (np.hypot(X[:, 0] - place, X[:, 1]) <= 1.1 for place in (-0.5, 0.5))
    rising, falling = (np.where(X[:, 1] + slope * X[:, 0] > 0.1, 1, -1) for slope in (0.5, -0.5))
    return np.where(
        first & (X[:, 0] <= 0), rising, np.where(second, falling, np.where(X[:, 1] > 0.1, -1, 1))
    )


PLANE = _plane()
LABEL = _label(PLANE)
LINE = np.linspace(-2, 2, 61)[:, None]
CURVE = np.where(
    np.abs(LINE[:, 0] + 0.6) <= 0.7,
    1.5 * LINE[:, 0],
    np.where(np.abs(LINE[:, 0] - 0.6) <= 0.7, -LINE[:, 0], 0.3),
)
_QUANTILES = (np.arange(25) + 0.5) / 25
NOISE = -np.log1p(-_QUANTILES) - np.mean(-np.log1p(-_QUANTILES))  # skewed, with mean 0


def draw(case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    if case.task == "classification":
        which = rng.integers(len(PLANE), size=case.n_rows)
        return PLANE[which], LABEL[which] * np.where(
            rng.uniform(size=case.n_rows) < case.noise, -1, 1
        )
    which = rng.integers(len(LINE), size=case.n_rows)
    return (
        LINE[which],
        CURVE[which] + case.noise * NOISE[rng.integers(len(NOISE), size=case.n_rows)],
    )


def estimator(case: Case) -> Any:
    options: dict[str, Any] = {
        "n_starts": 1,
        "max_iter": 60,
        "standardize": False,
        "random_state": 0,
    }
    if case.task == "regression":
        return LocalMixtureRegressor(
            points_of_interest=[[-0.6], [0.6]], inverse_temperature=16.0, prior=Prior(), **options
        )
    options["loss"] = "zero-one"
    if case.fit == "known":
        return LocalMixtureClassifier(
            points_of_interest=POINTS, inverse_temperature=8.0, combine="any", **options
        )
    return LocalMixtureClassifier(1, inverse_temperature=8.0, **options)


# -- true risks ------------------------------------------------------------------------------------


def errs(case: Case, answers: np.ndarray) -> np.ndarray:
    """The probability that the label predicted for each point of the plane is wrong."""
    return np.where(answers == LABEL, case.noise, 1.0 - case.noise)


def _view(model: Any, X: np.ndarray) -> View:
    return model.mixture_.view(model.mixture_.encode(X))


def _zero_one(view: View, label: np.ndarray) -> np.ndarray:
    """The probability that each model errs on each row."""
    return ZeroOne().value_and_partials(label.astype(float), view.mean, view.variance).value


def gibbs(case: Case, model: Any, combine: str = "any") -> np.ndarray:
    """The probability that an applicable model errs (or the sum over applicable models), at each
    point of the plane.
    """
    view, total = _view(model, PLANE), 0.0
    for label, weight in ((LABEL, 1.0 - case.noise), (-LABEL, case.noise)):
        losses = _zero_one(view, label)
        total = total + weight * COMBINATIONS[combine].value(view.membership, losses)
    return np.asarray(total)


def apart(model: Any) -> np.ndarray:
    view = _view(model, PLANE)
    return ambiguity(view.membership, _zero_one(view, LABEL))


def classification_failures(case: Case, certified: Certified) -> dict[str, bool]:
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
    gain = certificate["gain"]
    constant = certified_constant(certified)
    failed["C6 gain"] = errs(case, np.full(len(PLANE), constant)).mean() - wrong.mean() < gain.value
    return {name: bool(value) for name, value in failed.items()}


def certified_constant(certified: Certified) -> Any:
    """The more frequent label among the rows used for fitting."""
    model = certified.model
    return model.classes_[int(_mean_target(model) > 0)]


def _mean_target(model: Any) -> float:
    """Of the rows used for fitting."""
    return model.mixture_.provenance.fingerprint.target_mean


def in_sample(case: Case, X: np.ndarray, y: np.ndarray, delta: float, seed: int) -> Certified:
    """A certificate without a split; units are those of the distribution, and not of the rows."""
    if case.task == "classification":
        return certify_in_sample(estimator(case), X, y, delta=delta, reference=0, random_state=seed)
    made = estimator(case).set_params(standardize=Units.of_rows(LINE, CURVE))
    return certify_in_sample(
        made, X, y, delta=delta, tolerance=_TOLERATED * case.noise, random_state=seed
    )


def in_sample_failures(case: Case, certified: Certified) -> dict[str, bool]:
    model, certificate = certified
    if case.task == "regression":
        y, tolerance = _outcomes(case), _TOLERATED * case.noise
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


def _outcomes(case: Case) -> np.ndarray:
    return np.asarray(CURVE[:, None] + case.noise * NOISE)  # (points, noises)


def gibbs_off(model: Any, y: np.ndarray, tolerance: float) -> float:
    """The probability that an applicable model is off by more than a tolerance."""
    view, target = _view(model, LINE), model.mixture_.target
    loss = target.error(tolerance)
    total = 0.0
    for column in y.T:
        codes = (column - target.center) / target.scale
        losses = loss.value_and_partials(codes, view.mean, view.variance).value
        total += COMBINATIONS["any"].value(view.membership, losses).mean() / y.shape[1]
    return total


def regression_failures(case: Case, certified: Certified) -> dict[str, bool]:
    model, certificate = certified
    y = _outcomes(case)
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


def controls(
    case: Case, X: np.ndarray, y: np.ndarray, evidence: Evidence, delta: float
) -> dict[str, bool]:
    """Bounds that each violate one condition, so that they are not certificates."""
    model = estimator(case).set_params(inverse_temperature=16.0).fit(X, y)
    m = len(y)
    risk, truth = min(model.gibbs_risk_, 1.0), gibbs(case, model, "sum").mean()
    picked, wrong = _pick_model(evidence)
    return {
        "KL left out": bool(truth > pac_bayes_kl(risk, 0.0, m, delta)),
        "training rows as if sealed": bool(
            errs(case, model.predict(PLANE)).mean()
            > clopper_pearson((model.predict(X) != y).sum(), m, delta)
        ),
        "core component": bool(truth > model.objective_),
        "model picked on the sealed rows": bool(
            errs(case, picked).mean() > clopper_pearson(wrong, len(evidence.observed.y), delta)
        ),
    }


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
        wrong = int((np.sign(one.view(sealed.X).score) != sealed.target).sum())
        if wrong < fewest:
            best, fewest = one, wrong
    return np.where(best.view(PLANE).score > 0, 1, -1), fewest


def _drawn_mixture(mixture: Mixture, posterior: Posterior, one: Draw) -> Mixture:
    return replace(
        mixture,
        geometry=replace(mixture.geometry, radius=one.radius),
        posterior=replace(posterior, coef=one.coef, intercept=one.intercept),
    )


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


def compute(task: tuple[Case, int, str]) -> list[Count]:
    case, batch, part = task
    failures: dict[tuple[str, float], list[bool]] = {}
    spent: dict[tuple[str, float], float] = {}

    def note(
        found: dict[str, bool], delta: float, own: Mapping[str, float] = MappingProxyType({})
    ) -> None:
        for name, failed in found.items():
            failures.setdefault((name, delta), []).append(failed)
            # in-sample the share depends on the number of localities left
            spent[name, delta] = max(spent.get((name, delta), 0.0), own.get(name, delta))

    for number in range(batch * BATCH, (batch + 1) * BATCH):
        rng = np.random.default_rng([number, CASES.index(case)])
        X, y = draw(case, rng)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # repeated rows due to finite support, and localities dropped on small samples
            if part == "in-sample":
                certified = in_sample(case, X, y, DELTAS[0], number)
                own = {one.code: one.delta for one in certified.certificate}
                found = in_sample_failures(case, certified)
                note(found, DELTAS[0], {name: own[name[:2]] for name in found})
                continue
            evidence = seal(estimator(case), X, y, SEALED, Options(seed=number))
            for delta in DELTAS:
                if case.task == "classification":
                    every = dict.fromkeys(
                        CLASSIFICATION, delta
                    )  # also statements that are redundant with few localities
                    certified = issue(evidence, len(every) * delta, every)
                    note(
                        classification_failures(case, certified),
                        delta,
                        {"C6 gain": certified.certificate["gain"].delta},
                    )
                else:
                    certified = issue(evidence, delta, "each")
                    note(regression_failures(case, certified), delta)
            if case.task == "classification" and case.fit == "known":
                note(controls(case, X, y, evidence, DELTAS[0]), DELTAS[0])
    return [
        Count(
            case.name, batch, name, delta, spent[name, delta], len(values), sum(values), versions()
        )
        for (name, delta), values in failures.items()
    ]


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
            what = "the true centers" if fit == "known" else "one ball learned where there are two"
            title = f"{task.capitalize()}, {what}"
            text += f"{title}:\n\n" + grid(["", "sets", "limit", *columns], rows) + "\n"
    return text


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
        if only in (None, part) and (case.name, batch, marks[case.task]) not in done
    ]
    failed = run_all(store, tasks, compute, jobs)
    if only in (None, "copies"):
        case = COPIES.format(ROUNDINGS[-1])
        left = [one for one in batches[:COPY_BATCHES] if (case, one, REFUSED) not in done]
        failed += run_all(store, left, refuse_copies, jobs)
    output.mkdir(parents=True, exist_ok=True)
    for delta in DELTAS:
        text = table(store, delta, lambda name: name not in CONTROLS)
        (output / f"coverage_{round(100 * delta):02d}.md").write_text(text, encoding="utf-8")
        wrong = [key for key in beyond(store, delta) if key[0] not in CONTROLS]
        failed += len(wrong)
        verdict = f"ABOVE THE LIMIT: {wrong}" if wrong else "every certificate is within its limit"
        print(f"delta = {delta}\n\n{text}{verdict}\n")
    refused, accepted = refusals(store)
    text = table(store, DELTAS[0], CONTROLS.__contains__) + refused
    (output / "coverage_controls.md").write_text(text, encoding="utf-8")
    caught = {key[0] for key in beyond(store, DELTAS[0])}
    passed = [name for name in CONTROLS if name not in caught]
    passed += ["audits on rounded training rows"] if accepted else []
    verdict = f"NOT DETECTED: {passed}" if passed else "every control is detected"
    print(f"controls, which must exceed their limit\n\n{text}{verdict}")
    return failed + len(passed)
