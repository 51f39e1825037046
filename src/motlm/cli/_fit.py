"""motlm fit"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from .._typing import AnyArray, Array
from ..certificates import DEFAULT_SEALED, Certificate, audit_rates, certify
from ..estimators import LocalMixture
from ..explanations import explain_global
from ..groups import GroupEvaluation
from ..inputs import TableNotes
from ..preprocessing import PoolRareLevels
from ..tables import amount
from ..warmup import announce
from ._by import by_options, group_rows, read_positive
from ._calibrate import calibrate, calibrated
from ._cards import card_of, card_options, reference_of
from ._columns import column_of, read_rows, refuse_missing_columns
from ._errors import CommandError, TableError, ignore_warnings, show, show_message
from ._localities import LocalityOptions, Widths, locality_options
from ._models import open_source, refuse_unreadable, source_rows
from ._options import (
    FILE,
    delta_option,
    force_option,
    header_option,
    json_option,
    parse_duration,
    parse_names,
    parse_number,
    parse_one_name,
    population_option,
    require_finite,
    require_jobs,
    tolerance_option,
)
from ._output import check_outputs, echo_json, require_report
from ._predict import WRITTEN
from ._prepare import Prepared, Roles, Rules, prepare
from ._summary import summarize
from ._tables import read_text
from ._task import AUTO, RATE, REGRESSION, TaskOptions, task_options

__all__ = ["FitOptions", "check_columns", "fit", "make_estimator"]

_SEEDS = 2**32 - 1  # the largest seed of NumPy's


@dataclass(frozen=True)
class FitOptions:
    """The options of `motlm fit`."""

    data: Path
    header: bool | None
    target: str
    model_path: Path | None
    report_path: Path | None
    points: Path | None
    localities: int | str  # "auto", or how many
    locality_features: int | str
    locality_columns: tuple[str, ...]
    locality_widths: Widths
    corrections: str
    centers: str
    local_models: str
    max_terms: Any
    increasing: tuple[str, ...]
    decreasing: tuple[str, ...]
    full_formulas: bool
    task: str
    exposure: str | None
    loss: str | None
    power: float | None
    class_weight: str
    weights: str | None
    drop: tuple[str, ...]
    categories: tuple[str, ...]
    id_column: str | None
    group: str | None
    min_frequency: int
    missing: str
    sealed: float
    seed: int
    jobs: int
    time_limit: float | None  # seconds
    title: str | None
    by: tuple[str, ...]
    positive: str | None
    owner: str
    intended_use: str
    tolerance: float | None
    delta: float
    population: str
    as_json: bool
    force: bool

    @property
    def roles(self) -> Roles:
        ids = () if self.id_column is None else (self.id_column,)
        ignored = (*self.drop, *ids)
        return Roles(self.target, ignored, self.weights, self.categories, self.exposure, self.group)

    @property
    def of_task(self) -> TaskOptions:
        return TaskOptions(self.task, self.exposure, self.loss, self.power, self.class_weight)

    @property
    def of_localities(self) -> LocalityOptions:
        return LocalityOptions(
            self.locality_features,
            self.locality_columns,
            self.locality_widths,
            self.corrections,
            self.centers,
            self.local_models,
            self.increasing,
            self.decreasing,
            self.max_terms,
        )

    def of_errors(self, task: str) -> dict[str, Any]:
        """What `certify` is told about errors of numbers."""
        if self.tolerance is None:
            return {}
        if task != REGRESSION:
            raise CommandError(
                f"--tolerance is for numbers (--task regression), and the task is {task}; leave it"
                " out."
            )
        return {"tolerance": self.tolerance}

    @property
    def rules(self) -> Rules:
        return Rules(self.missing, self.of_task, self.sealed, self.seed, self.min_frequency)


@dataclass(frozen=True)
class _Fitted:
    """A model, its certificate if there is one, and the sealed rows that the output is about."""

    model: LocalMixture
    certificate: Certificate | None
    X: pd.DataFrame
    y: AnyArray
    exposure: Array | None

    @property
    def score(self) -> float:
        if self.exposure is None:
            return float(self.model.score(self.X, self.y))
        return float(self.model.score(self.X, self.y, exposure=self.exposure))


@click.command(short_help="Fit a model to a table, certify it and save it.")
@click.argument("data", type=FILE)
@header_option
@click.option("--target", required=True, help="Column to predict.")
@click.option("--model", "model_path", type=FILE, help="Where to write the model (JSON).")
@click.option("--report", "report_path", type=FILE, help="Where to write the report (HTML).")
@click.option("--points", type=FILE, help="Table of typical cases: the centers of the localities.")
@click.option(
    "--localities",
    callback=parse_number,
    metavar="NUMBER",
    default="auto",
    show_default=True,
    help="Number of localities: auto, or a number.",
)
@locality_options
@task_options
@click.option("--weights", help="Column of weights. There is no certificate then.")
@click.option(
    "--drop",
    callback=parse_names,
    metavar="NAMES",
    multiple=True,
    help="Columns to leave out, with commas between.",
)
@click.option(
    "--categories",
    callback=parse_names,
    metavar="NAMES",
    multiple=True,
    help="Columns of codes: categories even if they look like numbers.",
)
@click.option(
    "--id",
    "id_column",
    callback=parse_one_name,
    multiple=True,
    help="Column of row IDs; left out of the model.",
)
@click.option(
    "--group",
    help="Column that tells which rows belong together, such as a client: all on one side.",
)
@click.option(
    "--min-frequency",
    type=click.IntRange(1),
    default=PoolRareLevels().min_frequency,
    show_default=True,
    help="Rows to fit on that a category needs; rarer ones are pooled as 'other'.",
)
@click.option(
    "--missing",
    type=click.Choice(["auto", "error", "drop", "impute"]),
    default="auto",
    show_default=True,
    help="What to do with missing values: a median and a term for each column, or a category; an"
    " error; leave rows out; or replace values before the fit.",
)
@click.option(
    "--sealed",
    type=click.FloatRange(0.05, 0.9),
    callback=require_finite,
    default=DEFAULT_SEALED,
    show_default=True,
    help="Share of the rows that are not used for fitting but for the certificate.",
)
@click.option("--seed", type=click.IntRange(0, _SEEDS), default=0, show_default=True)
@click.option(
    "--jobs",
    type=int,
    callback=require_jobs,
    default=-1,
    show_default=True,
    help="Number of threads; -1 is one for each core.",
)
@click.option(
    "--time-limit",
    callback=parse_duration,
    metavar="DURATION",
    help="Stop after this time with the best model so far: 60s, 5min.",
)
@click.option("--title", help="Title of the report.")
@by_options
@card_options
@tolerance_option
@delta_option
@population_option
@json_option
@force_option
def fit(**given: Any) -> None:
    """Fit a model to a table, certify it on rows that were not used for fitting, and save it.

    \b
    motlm fit credit.csv --target default --model model.json --report report.html
    motlm fit prices.parquet --target price --localities 3 --drop notes,url --id house
    motlm fit policies.csv --target claims --exposure years --model model.json
    motlm fit policies.csv --target claims --exposure years --locality-columns age,power
    """
    options = FitOptions(**given)
    _check(options)
    options.of_task.check()
    if options.of_task.asked != AUTO:
        options.of_errors(options.of_task.asked)  # refused before the table is read
    options.of_localities.check(options.points is not None)
    source = open_source(options.data, options.header)
    text = source_rows(source)
    show_message(
        f"{source.name}: {amount(len(text), 'row')}, {amount(len(text.columns), 'column')}"
        f" ({source.description})"
    )
    check_columns(options, text)
    prepared = prepare(text, options.roles, options.rules)
    options.of_localities.check_columns(prepared.columns.names)
    errors = options.of_errors(prepared.task)
    for line in prepared.messages:
        show_message(line)
    labels = np.unique(prepared.outcome) if prepared.task == "classification" else None
    read_positive(options.positive, labels)
    with announce():
        fitted = _fit(options, prepared, text, source.title, errors)
    with ignore_warnings():
        groups = _groups(options, fitted, text.loc[prepared.places[prepared.sealed]])
        _save(options, fitted, source.title, groups)
        _show(options, fitted, prepared, groups)


def _check(options: FitOptions) -> None:
    """What can be refused before the table is read."""
    outputs = options.model_path, options.report_path
    check_outputs(outputs, (options.data, options.points), options.force)
    if options.report_path is not None:
        require_report()
    if options.data == options.points == Path("-"):
        raise CommandError("the data and --points cannot both come from standard input.")
    if options.id_column in WRITTEN:
        raise CommandError(
            f"--id {options.id_column!r} is the name of a column that predict writes; rename it."
        )


def check_columns(options: FitOptions, text: pd.DataFrame) -> None:
    """All columns must have names, and those that options name must be there."""
    if "" in text.columns:
        place = text.columns.tolist().index("") + 1
        raise TableError(
            f"{options.data} has a column without a name (number {place}); name it in the header,"
            " or delete it."
        )
    named = [(name, "--drop") for name in options.drop]
    named += [(name, "--categories") for name in options.categories]
    named += [(name, "--by") for name in options.by]
    named += [(name, "--locality-columns") for name in options.locality_columns]
    if options.weights is not None:
        named.append((options.weights, "--weights"))
    if options.exposure is not None:
        named.append((options.exposure, "--exposure"))
    if options.id_column is not None:
        named.append((options.id_column, "--id"))
    if options.group is not None:
        named.append((options.group, "--group"))
    for name, option in named:
        column_of(text, name, option)


def _fit(
    options: FitOptions,
    prepared: Prepared,
    text: pd.DataFrame,
    source: str,
    errors: dict[str, Any],
) -> _Fitted:
    estimator = make_estimator(options, prepared)
    X, y, sealed = prepared.rows, prepared.outcome, prepared.sealed
    certificate, calibration = None, None
    if _no_certificate(prepared):
        model = _fit_first(estimator, prepared)
    else:
        with ignore_warnings(prepared.noted):
            model, certificate = certify(
                estimator,
                X,
                y,
                delta=options.delta,
                population=options.population,
                sealed=options.sealed,
                random_state=options.seed,
                groups=prepared.groups,
                **errors,
            )
        with ignore_warnings():
            calibration = calibrate(model, X.iloc[sealed], y[sealed])
    model.set_params(verbose=0)
    cases = _name_cases(model, options.id_column, prepared, text)
    model.table_ = TableNotes(
        options.target,
        options.id_column,
        prepared.fill,
        calibration,
        options.exposure,
        cases,
        prepared.pooled,
        card_of(
            options.owner,
            options.intended_use,
            source,
            options.roles,
            prepared,
            len(text),
            certificate,
        ),
        reference_of(model, prepared),
    )
    exposure = None if prepared.exposure is None else prepared.exposure[sealed]
    return _Fitted(model, certificate, X.iloc[sealed], y[sealed], exposure)


def _name_cases(
    model: LocalMixture, id_column: str | None, prepared: Prepared, text: pd.DataFrame
) -> tuple[str, ...]:
    """What centers that are rows are called: by the ID column, or by their number in the table."""
    rows = [one.row for one in model.localities_ if one.row is not None]
    places = prepared.places[prepared.first[rows]] if rows else ()
    if id_column is None:
        return tuple(f"row {place}" for place in places)
    return tuple(f"{id_column} {str(text[id_column].iloc[place]).strip()}" for place in places)


def _no_certificate(prepared: Prepared) -> str:
    """Why there is none, or ""."""
    if prepared.task == RATE:
        return "rates have one of their own"
    return "" if prepared.weight is None else "it needs rows without weights"


def _fit_first(estimator: LocalMixture, prepared: Prepared) -> LocalMixture:
    """Fit to the rows that are not sealed, with weights and exposures."""
    first = prepared.first
    given: dict[str, Any] = {"sample_weight": prepared.weight, "exposure": prepared.exposure}
    if prepared.grouped:
        given["groups"] = prepared.groups
    used = {name: values[first] for name, values in given.items() if values is not None}
    model: LocalMixture = estimator.fit(prepared.rows.iloc[first], prepared.outcome[first], **used)
    return model


def make_estimator(options: FitOptions, prepared: Prepared) -> LocalMixture:
    """As the options ask for it, for the rows of a table."""
    where: dict[str, Any] = {"n_localities": options.localities}
    if options.points is not None:
        where = {"points_of_interest": _read_points(options.points, prepared)}
    return options.of_task.estimator(
        prepared.task,
        **where,
        **options.of_localities.parameters(),
        missing="auto" if options.missing == "auto" else "error",
        max_time=options.time_limit,
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=int(sys.stderr.isatty()),
    )


def _read_points(path: Path, prepared: Prepared) -> pd.DataFrame:
    columns = prepared.columns
    source = open_source(path, None)
    text = read_text(source)
    if not len(text):
        raise TableError(
            f"{source.name} has no rows; write one typical case in each row, or leave out"
            " --points to search for localities."
        )
    refuse_missing_columns(columns, text, source.name)
    read = read_rows(columns, text, True, {}, prepared.pooled)
    refuse_unreadable(read, text.index, source.name)
    show_message(f"{amount(len(read.rows), 'typical case')} from {source.name}")
    return read.rows


def _groups(options: FitOptions, fitted: _Fitted, text: pd.DataFrame) -> GroupEvaluation | None:
    """Of the sealed rows, if they are asked for."""
    model, X, y = fitted.model, fitted.X, fitted.y
    return group_rows(model, X, y, text, options.by, options.positive, fitted.exposure)


def _save(options: FitOptions, fitted: _Fitted, title: str, groups: GroupEvaluation | None) -> None:
    if options.model_path is not None:
        fitted.model.save(options.model_path)
        show_message(f"model written to {options.model_path}")
    if options.report_path is not None:
        from ..report import render

        title = options.title or f"{options.target}, from {title}"
        render(
            fitted.model,
            fitted.X,
            fitted.y,
            options.report_path,
            title=title,
            groups=groups,
            exposure=fitted.exposure,
            probabilities=calibrated(fitted.model, fitted.X),
        )
        show_message(f"report written to {options.report_path}")
    if options.model_path is None and options.report_path is None:
        show_message(
            "nothing was saved: --model model.json saves the model, --report report.html writes a"
            " report"
        )


def _show(
    options: FitOptions, fitted: _Fitted, prepared: Prepared, groups: GroupEvaluation | None
) -> None:
    """Print the result."""
    model, score = fitted.model, fitted.score
    explanation = explain_global(model, fitted.X, fitted.y, exposure=fitted.exposure)
    name = model.mixture_.target.score_name
    if options.as_json:
        echo_json(
            {
                "rows": len(prepared.outcome),
                "held_out": len(fitted.y),
                "set_aside": prepared.n_aside,
                "rows_without_target": prepared.n_without_target,
                "pooled": {name: list(levels) for name, levels in prepared.pooled.items()},
                name: score,
                "explanation": explanation.to_dict(),
                "model": None if options.model_path is None else str(options.model_path),
                "report": None if options.report_path is None else str(options.report_path),
                **({} if groups is None else {"groups": groups.to_dict()}),
            }
        )
        return
    full = options.full_formulas
    show(summarize(model, explanation, fitted.X, options.target, full, "sealed row"))
    if options.points is None and options.localities == "auto" and not model.localities_:
        show(
            "localities gave no improvement on rows left out; --localities 2 searches for two,"
            " --points clients.csv gives typical cases"
        )
    show(f"\n{name} on {len(fitted.y)} sealed rows: {score:.4g}")
    if prepared.task == RATE:
        found = audit_rates(
            model, fitted.X, fitted.y, exposure=fitted.exposure, delta=options.delta
        )
        show(str(found))
    elif fitted.certificate is None:
        show(f"no certificate: {_no_certificate(prepared)}")
    else:
        show(fitted.certificate.headline.sentence)
        show(_open_checks(fitted.certificate))
    if groups is not None:
        show(f"\nthe sealed rows, {groups}")


def _open_checks(certificate: Certificate) -> str:
    """What a person has still to check, by the keys of the checklist."""
    keys = [check.key for check in certificate.checklist if not check.ticked]
    return (
        f"to be checked by a person before it is quoted: {', '.join(keys)} (the report, and motlm"
        " certify, have the list)"
    )
