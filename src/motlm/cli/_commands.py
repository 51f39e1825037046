"""The commands. Results go to standard output, what happens on the way to standard error."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from .._typing import AnyArray
from .._version import __version__
from ..certificates import CertificateError, audit, certify
from ..columns import Columns, TableNotes
from ..datasets import KEEL, data_folder, load_keel
from ..estimators import LocalMixture, LocalMixtureClassifier, LocalMixtureRegressor
from ..explanations import counterfactual, explain_global, explain_local
from ..explanations._common import plain
from ..files import ModelFileError, atomic_stream, load, write_atomically
from ._calibrate import calibrated, probabilities
from ._prepare import column_of, outcomes, prepared
from ._summary import summary
from ._tables import Source, TableError, opened, read_chunks, read_text, scorable

__all__ = ["motlm"]

CHUNK = 50_000  # rows that are predicted at a time
_WORDS = {  # what the library says in Python's words
    "max_time is over": "--time-limit is over",
    r" To go on from it, set warm_start=True and fit again\.": "",
    r" Ask for fewer localities, or raise inverse_temperature \(now [^)]*\)\.": (
        " Ask for fewer with --localities."
    ),
    r"Leave it out of X\.": "Name it in --id, or --drop it.",
    r"or call certify, which keeps some sealed": "or fit again: motlm fit keeps some sealed",
    r"name it by data_home=": "name its folder in MOTLM_DATA",
}
NOT_SCORED, BROKEN_PIPE = 3, 141  # exit codes: some rows could not be scored; as shells have it
_WRITTEN = (
    "row",
    "prediction",
    "said_by",
    "ambiguous",
    "reason",
    "note",
)  # columns of predict, besides probabilities
errors = Console(stderr=True, highlight=False, soft_wrap=True)


class _Group(click.Group):
    """Errors that a user can mend are one line, not a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            os.dup2(
                os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
            )  # nobody reads what is left to be flushed
            sys.exit(BROKEN_PIPE)
        except OSError as error:
            words = (
                str(error)
                if error.strerror is None
                else f"{error.filename or ''}: {error.strerror}".removeprefix(": ")
            )
            raise click.ClickException(words) from error
        except (
            TableError,
            ModelFileError,
            CertificateError,
            ValueError,
            TypeError,
            ImportError,
        ) as error:
            raise click.ClickException(_in_options(str(error))) from error


@click.group(
    cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, prog_name="motlm")
def motlm() -> None:
    """Mixtures of transparent local models: a few balls around typical cases, a linear model in
    each, one outside.

    \b
    motlm fit credit.csv --target default --model model.json --report report.html
    motlm predict model.json new.csv -o out.csv
    motlm explain model.json new.csv --row 17
    """


def _say(text: str) -> None:
    errors.print(text, markup=False)


def _refuse_existing(force: bool, *paths: Path | None, inputs: Sequence[Path | None] = ()) -> None:
    """Before any work is done: whether the outputs can be written."""
    places = [path.resolve() for path in paths if path is not None]
    if len(set(places)) < len(places):
        raise click.UsageError(f"{places[0]} would be written twice; give two names.")
    for path in paths:
        if path is None:
            continue
        if path.resolve() in [one.resolve() for one in inputs if one is not None]:
            raise click.UsageError(
                f"{path} is what is read; give another name for what is written."
            )
        if path == Path("-"):
            raise click.ClickException(
                "this cannot be written to standard output; give the name of a file."
            )
        if path.exists() and not path.is_file():
            raise click.ClickException(
                f"{path} is not a plain file; give the name of one to write."
            )
        if path.exists() and not force:
            raise click.ClickException(
                f"{path} exists; give another name, or --force to replace it."
            )
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise click.ClickException(
                f"{path} cannot be written: {folder}: {error.strerror}."
            ) from error


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|sec|m|min|h)?\s*", text)
    if not found or float(found[1]) <= 0:
        raise click.BadParameter(
            f"{text!r} is no time; give 60s, 5min or 1h.", param_hint="--time-limit"
        )
    return float(found[1]) * {"m": 60, "min": 60, "h": 3600}.get(found[2] or "s", 1)


def _listed(given: str | None) -> list[str]:
    """Names that an option has, with commas between."""
    return [name.strip() for name in (given or "").split(",") if name.strip()]


def _names(text: pd.DataFrame, given: str | None, option: str) -> list[str]:
    """Columns that an option names."""
    names = _listed(given)
    for name in names:
        column_of(text, name, option)
    return names


def _standard_output() -> Any:
    """In UTF-8 with plain line ends, like files, whatever the console has."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", newline="")
    return sys.stdout


def _noted(work: Callable[[], Any]) -> Any:
    """Warnings as notes, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work()
    for text in dict.fromkeys(
        str(one.message) for one in caught if issubclass(one.category, UserWarning)
    ):
        _say(f"note: {_in_options(text)}")
    return result


def _in_options(text: str) -> str:
    """A message of the library in the words of the command line."""
    for python, option in _WORDS.items():
        text = re.sub(python, option, text)
    return text


def _table(place: Path) -> Source:
    """A table that can be read until the command ends."""
    return click.get_current_context().with_resource(opened(place))


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
force_option = click.option("--force", is_flag=True, help="Replace files that exist.")
_delta_option = click.option(
    "--delta",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help=(
        "The probability with which some statement of the certificate may be wrong; it is shared"
        " out among them."
    ),
)
_population_option = click.option(
    "--population",
    default="future cases drawn like these",
    show_default=True,
    help="What the certificate calls the cases.",
)
file = click.Path(path_type=Path)


@motlm.command()
@click.argument("data", type=file)
@click.option("--target", required=True, help="Column to predict.")
@click.option("--model", "model_path", type=file, help="Where to write the model (JSON).")
@click.option("--report", "report_path", type=file, help="Where to write the report (HTML).")
@click.option("--points", type=file, help="Table of typical cases: the centers of the localities.")
@click.option(
    "--localities",
    default="auto",
    show_default=True,
    help="How many to look for: auto, or a number.",
)
@click.option(
    "--task",
    type=click.Choice(["auto", "classification", "regression"]),
    default="auto",
    show_default=True,
)
@click.option("--weights", help="Column of weights. There is no certificate then.")
@click.option("--drop", help="Columns to leave out, with commas between.")
@click.option(
    "--categories",
    help="Columns of codes, to be taken as categories even if they look like numbers.",
)
@click.option("--id", "id_column", help="Column that names the rows; left out of the model.")
@click.option(
    "--missing",
    type=click.Choice(["error", "drop", "impute"]),
    default="error",
    show_default=True,
    help="Rows with missing values.",
)
@click.option(
    "--sealed",
    type=click.FloatRange(0.05, 0.9),
    default=0.3,
    show_default=True,
    help="Share of the rows kept for the certificate.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--jobs", type=int, default=1, show_default=True, help="Processes.")
@click.option("--time-limit", help="Stop with the best model so far after this time: 60s, 5min.")
@click.option("--title", help="Of the report.")
@_delta_option
@_population_option
@json_option
@force_option
def fit(
    data: Path,
    target: str,
    model_path: Path | None,
    report_path: Path | None,
    points: Path | None,
    localities: str,
    task: str,
    weights: str | None,
    drop: str | None,
    categories: str | None,
    id_column: str | None,
    missing: str,
    sealed: float,
    seed: int,
    jobs: int,
    time_limit: str | None,
    title: str | None,
    delta: float,
    population: str,
    as_json: bool,
    force: bool,
) -> None:
    """Fit a model to a table, certify it on rows kept aside, and write it down.

    \b
    motlm fit credit.csv --target default --model model.json --report report.html
    motlm fit prices.parquet --target price --localities 3 --drop notes,url --id house
    """
    _refuse_existing(force, model_path, report_path, inputs=(data, points))
    if report_path is not None:
        _need_report()
    if data == points == Path("-"):
        raise click.UsageError("the data and --points cannot both come from standard input.")
    if localities != "auto" and not localities.isdecimal():
        raise click.BadParameter(
            f"{localities!r} is neither auto nor a number from 0 on.", param_hint="--localities"
        )
    options: dict[str, Any] = {
        "random_state": seed,
        "n_jobs": jobs,
        "max_time": _seconds(time_limit),
        "handle_unknown": "ignore",
    }
    source = _table(data)
    text, how = read_text(source)
    _say(f"{source.name}: {len(text)} rows, {len(text.columns)} columns ({how})")
    if text.empty:
        raise click.ClickException(f"{source.name} has no rows.")
    left_out, as_categories = _names(text, drop, "--drop"), _names(text, categories, "--categories")
    for name, option in ((weights, "--weights"), (id_column, "--id")):
        if name is not None:
            column_of(text, name, option)
    if id_column in _WRITTEN:
        raise click.ClickException(
            f"--id {id_column!r} has the name of a column that predict writes; rename it."
        )
    ready = prepared(
        text,
        target,
        others=[*left_out, *([id_column] if id_column else [])],
        weights=weights,
        categories=as_categories,
        missing=missing,
        task=task,
        sealed=sealed,
        seed=seed,
    )
    for line in ready.told:
        _say(line)
    options["verbose"] = int(sys.stderr.isatty())
    if points is not None:
        options["points_of_interest"] = _points(points, ready.columns)
    elif localities == "auto":
        options |= {"n_localities": "auto", "max_localities": 6}
    else:
        options["n_localities"] = int(localities)
    estimator = (LocalMixtureClassifier if ready.classification else LocalMixtureRegressor)(
        **options
    )
    X, y, first = ready.rows, ready.outcome, ready.first
    X_held, y_held = X.iloc[ready.sealed], y[ready.sealed]
    if ready.weight is None:
        protocol: dict[str, Any] = {
            "delta": delta,
            "population": population,
            "sealed": sealed,
            "random_state": seed,
        }
        model, certificate = _noted(lambda: certify(estimator, X, y, **protocol))
    else:
        weight = ready.weight[first]
        model, certificate = (
            _noted(lambda: estimator.fit(X.iloc[first], y[first], sample_weight=weight)),
            None,
        )
    calibration = None if certificate is None else calibrated(model, X_held, y_held)
    model.table_ = TableNotes(target, id_column, ready.fill, calibration)
    score = model.score(X_held, y_held)
    explanation = explain_global(model, X_held, y_held)
    if model_path is not None:
        model.set_params(verbose=0).save(model_path)
        _say(f"model written to {model_path}")
    if report_path is not None:
        from ..report import render

        render(model, X_held, y_held, report_path, title=title or f"{target}, from {source.title}")
        _say(f"report written to {report_path}")
    if model_path is None and report_path is None:
        _say(
            "nothing is kept: --model model.json keeps the model, --report report.html writes a"
            " report"
        )
    name = _score_name(model)
    if as_json:
        content = {
            "rows": len(y),
            "held_out": len(y_held),
            name: score,
            "explanation": explanation.to_dict(),
            "model": str(model_path) if model_path else None,
            "report": str(report_path) if report_path else None,
        }
        click.echo(json.dumps(plain(content)))
        return
    click.echo(summary(model, explanation, X_held, target))
    if options.get("n_localities") == "auto" and not model.localities_:
        click.echo(
            "no locality helped on held-out rows; --localities 2 asks for some, --points"
            " clients.csv gives typical cases"
        )
    click.echo(f"\n{name} on {len(y_held)} rows kept aside: {score:.4g}")
    if certificate is None:
        click.echo("no certificate: weighted rows are not independent cases of one kind")
    else:
        click.echo(certificate.headline.sentence)


def _score_name(model: LocalMixture) -> str:
    return "accuracy" if isinstance(model, LocalMixtureClassifier) else "R2"


def _need_report() -> None:
    """What reports need is missed before the work, not after it."""
    for name in ("jinja2", "plotly"):
        if find_spec(name) is None:
            raise click.ClickException(
                "reports need Jinja2 and plotly: pip install 'motlm[report]'"
            )


def _points(path: Path, columns: Columns) -> pd.DataFrame:
    source = _table(path)
    text, _ = read_text(source)
    rows = _read_rows(columns, text, True, {}, source.name)[0]
    _say(f"{len(rows)} typical cases from {source.name}")
    return rows


def _read_rows(
    columns: Columns,
    text: pd.DataFrame,
    refuse_unknown: bool,
    fill: Mapping[str, float | str],
    where: str,
) -> tuple[pd.DataFrame, AnyArray]:
    """Rows by the columns of a model, and notes on them; an error for the first that cannot be
    read.
    """
    _refuse_lacking(columns, text, where)
    read = scorable(columns, text, refuse_unknown, fill)
    bad = np.flatnonzero(read.reason != "")
    if len(bad):
        more = f" ({len(bad)} such rows)" if len(bad) > 1 else ""
        raise click.ClickException(
            f"{where}, row {int(text.index[bad[0]])}: {read.reason[bad[0]]}{more}."
        )
    strange = int((read.note != "").sum())
    if strange:
        first = int(np.flatnonzero(read.note != "")[0])
        _say(
            f"{strange} rows are taken with a note; the first is row {int(text.index[first])}:"
            f" {read.note[first]}"
        )
    return read.rows, read.note


def _refuse_lacking(columns: Columns, text: pd.DataFrame, where: str) -> None:
    lacking = [name for name in columns.names if name not in text.columns]
    if lacking:
        raise click.ClickException(
            f"{where} lacks the column {lacking[0]!r}; the model needs {', '.join(columns.names)}."
        )


@motlm.command()
@click.argument("model_path", metavar="MODEL", type=file)
@click.argument("data", type=file)
@click.option(
    "-o", "--output", type=file, help="Where to write the CSV; standard output without it."
)
@click.option(
    "--id",
    "id_column",
    help="Column to carry over, to know the rows by; without it the one that fit was told.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Write JSON, an object a line, instead of CSV."
)
@force_option
def predict(
    model_path: Path,
    data: Path,
    output: Path | None,
    id_column: str | None,
    as_json: bool,
    force: bool,
) -> None:
    """Predict for the rows of a table: prediction, probability, who spoke, whether models
    contradict each other.

    Rows are read some at a time, so that files of any size need little memory. A row that cannot be
    scored is written with the reason, and the exit code is then 3.

    \b
    motlm predict model.json new.csv -o out.csv --id client
    zcat new.csv.gz | motlm predict model.json - --json > out.jsonl
    """
    if output == Path("-"):
        output = None
    _refuse_existing(force, output, inputs=(model_path, data))
    model = _model(model_path)
    source = _table(data)
    total = bad = strange = 0
    with nullcontext(_standard_output()) if output is None else atomic_stream(output) as stream:
        for number, chunk in enumerate(read_chunks(source, CHUNK)):
            table = _predicted(model, chunk, id_column, total)
            if as_json:
                stream.writelines(_line(one) + "\n" for one in table.to_dict("records"))
            else:
                table.to_csv(stream, index=False, header=number == 0, lineterminator="\n")
            total += len(table)
            bad, strange = (
                bad + int((table["reason"] != "").sum()),
                strange + int((table["note"] != "").sum()),
            )
        stream.flush()
    where = "" if output is None else f" written to {output}"
    _say(
        f"{total} rows{where}"
        + (f", of which {bad} could not be scored: see the column reason" if bad else "")
    )
    if strange:
        _say(
            f"{strange} rows were scored with something that fit had not seen or that is missing:"
            " see the column note"
        )
    if bad:
        sys.exit(NOT_SCORED)


def _line(record: Mapping[Any, Any]) -> str:
    """A predicted row as JSON: null where there is no answer."""

    def told(name: Any, value: Any) -> Any:
        if name == "ambiguous":
            return {"yes": True, "no": False, "": None}[value]
        answer = name in ("prediction", "said_by") or str(name).startswith("probability of ")
        return None if value == "" and answer else value

    return json.dumps(
        plain({name: told(name, value) for name, value in record.items()}), ensure_ascii=False
    )


def _predicted(
    model: LocalMixture, chunk: pd.DataFrame, id_column: str | None, first: int
) -> pd.DataFrame:
    _refuse_lacking(model._columns, chunk, "the table")
    kept = _kept(model)
    if id_column is None and kept.id_column is not None:
        if kept.id_column in chunk.columns:
            id_column = kept.id_column
        elif first == 0:
            _say(f"the table has no {kept.id_column!r}, by which fit knew the rows")
    read = scorable(model._columns, chunk, model.handle_unknown == "error", kept.fill)
    sound = read.reason == ""
    n = len(model.localities_)
    names = np.array([*(f"locality {i}" for i in range(n)), "exterior", "several"], dtype=object)
    made: dict[str, Any] = {"prediction": np.full(len(chunk), "", dtype=object)}
    if isinstance(model, LocalMixtureClassifier):
        made |= {
            f"probability of {label}": np.full(len(chunk), "", dtype=object)
            for label in model.classes_
        }
    made |= {name: np.full(len(chunk), "", dtype=object) for name in ("said_by", "ambiguous")}
    head: dict[str, Any] = {"row": np.arange(first, first + len(chunk))}
    if id_column is not None:
        if id_column in (*_WRITTEN, *made):
            raise click.ClickException(
                f"--id {id_column!r} has the name of a column that predict writes; rename it."
            )
        head[id_column] = column_of(chunk, id_column, "--id").to_numpy()
    if sound.any():
        X: Any = read.rows[sound]
        if not hasattr(model, "feature_names_in_"):
            X = X.to_numpy(dtype=float)
        made["prediction"][sound] = model.predict(X)
        if isinstance(model, LocalMixtureClassifier):
            chances = probabilities(model, X, kept.calibration)
            for k, label in enumerate(model.classes_):
                made[f"probability of {label}"][sound] = chances[:, k]
        made["said_by"][sound] = names[model.apply(X)]
        made["ambiguous"][sound] = np.where(model.ambiguous(X), "yes", "no")
    return pd.DataFrame(
        {**head, **made, "reason": read.reason, "note": np.where(sound, read.note, "")}
    )


def _model(path: Path) -> LocalMixture:
    try:
        model: LocalMixture = load(path)
    except ModelFileError as error:
        if re.search("not a text file|not JSON", str(error)):
            raise click.ClickException(
                f"{path} is not a model file; the model comes first, then the table ({error})"
            ) from error
        raise
    return model


def _kept(model: LocalMixture) -> TableNotes:
    """What fit was told of the table, which files keep."""
    return getattr(model, "table_", TableNotes(""))


def _outcomes(model: LocalMixture, text: pd.DataFrame, target: str | None) -> tuple[Any, str]:
    """The target column as the model has it, and its name."""
    if target is None:
        target = _kept(model).target
        if not target:
            raise click.ClickException(
                "the model does not say which column is its target; say it with --target."
            )
        if target not in text.columns:
            raise click.ClickException(
                f"this needs the true outcomes, and the table has no {target!r}; is it called"
                " --target?"
            )
    return outcomes(column_of(text, target, "--target"), getattr(model, "classes_", None)), target


def _rows_for(model: LocalMixture, text: pd.DataFrame, where: str) -> tuple[Any, AnyArray]:
    rows, notes = _read_rows(
        model._columns, text, model.handle_unknown == "error", _kept(model).fill, where
    )
    return rows if hasattr(model, "feature_names_in_") else rows.to_numpy(dtype=float), notes


def _whole(model: LocalMixture, text: pd.DataFrame) -> list[str]:
    """Columns that hold whole numbers only, in this table."""
    read = scorable(model._columns, text, False, {})
    sound = read.rows[read.reason == ""]
    numeric = [
        name
        for name, levels in zip(model._columns.names, model._columns.levels, strict=True)
        if levels is None
    ]
    return [
        name for name in numeric if len(sound) > 1 and (sound[name] == np.rint(sound[name])).all()
    ]


@motlm.command()
@click.argument("model_path", metavar="MODEL", type=file)
@click.argument("data", type=file)
@click.option("--row", type=click.IntRange(0), help="Which row, from 0 on.")
@click.option("--case", help="Which row, by what stands in the column that fit was told as --id.")
@click.option(
    "--wanted", type=float, help="Of a regression: the prediction that is wanted instead."
)
@click.option("--fixed", default="", help="Columns that cannot change, with commas between.")
@json_option
def explain(
    model_path: Path,
    data: Path,
    row: int | None,
    case: str | None,
    wanted: float | None,
    fixed: str,
    as_json: bool,
) -> None:
    """Why the model says what it says of a row, and what would change its answer.

    \b
    motlm explain model.json new.csv --row 17 --fixed age,region
    motlm explain model.json new.csv --case K-1024
    """
    if (row is None) == (case is None):
        raise click.UsageError(
            "say which row: --row 17, or --case with what stands in its id column."
        )
    model = _model(model_path)
    if wanted is not None and isinstance(model, LocalMixtureClassifier):
        raise click.UsageError(
            "--wanted is a prediction of a regression; this model has two classes."
        )
    source = _table(data)
    text, _ = read_text(source)
    if row is None:
        row = _row_of(model, text, str(case))
    if row >= len(text):
        raise click.ClickException(
            f"--row {row} of {len(text)} rows, which are numbered from 0 to {len(text) - 1}."
        )
    X, notes = _rows_for(model, text.iloc[[row]], source.name)
    one = explain_local(model, X)[0]
    other, chances = None, {}
    if isinstance(model, LocalMixtureClassifier):
        shares = probabilities(model, X, _kept(model).calibration)[0]
        chances = {
            str(label): float(share)
            for label, share in zip(model.classes_.tolist(), shares, strict=True)
        }
    if isinstance(model, LocalMixtureClassifier) or wanted is not None:
        other = counterfactual(
            model, X, target=wanted, fixed=_listed(fixed), integer=_whole(model, text)
        )
    if as_json:
        told = {
            "row": row,
            "note": notes[0],
            "counterfactual": None if other is None else other.to_dict(),
        }
        click.echo(json.dumps(plain({**one.to_dict(), **told, "probabilities": chances})))
        return
    click.echo(str(one).replace("row 0:", f"row {row}:", 1))
    if chances:
        click.echo(
            ", ".join(f"probability of {label}: {chance:.3g}" for label, chance in chances.items())
        )
    if other is not None:
        click.echo(f"what would change it: {other}")


def _row_of(model: LocalMixture, text: pd.DataFrame, case: str) -> int:
    name = _kept(model).id_column
    if name is None:
        raise click.ClickException(
            "fit was told no --id, so that rows have no names; say --row instead."
        )
    found = np.flatnonzero(
        column_of(text, name, "the id column").astype(str).str.strip() == case.strip()
    )
    if len(found) != 1:
        raise click.ClickException(f"{len(found)} rows have {name!r} = {case!r}; one is needed.")
    return int(found[0])


@motlm.command()
@click.argument("model_path", metavar="MODEL", type=file)
@click.argument("data", type=file)
@click.option(
    "--target", help="Column that holds the outcome; without it the one that fit was told."
)
@click.option("-o", "--output", type=file, required=True, help="Where to write the HTML file.")
@click.option("--title", default=None)
@click.option("--include-rows", is_flag=True, help="Put rows into the report; they may be private.")
@json_option
@force_option
def report(
    model_path: Path,
    data: Path,
    target: str | None,
    output: Path,
    title: str | None,
    include_rows: bool,
    as_json: bool,
    force: bool,
) -> None:
    """Write a report of a model and some rows: one HTML file with a form to try a case.

    \b
    motlm report model.json later.csv -o report.html
    """
    from ..report import render

    _refuse_existing(force, output, inputs=(model_path, data))
    _need_report()
    model = _model(model_path)
    source = _table(data)
    text, _ = read_text(source)
    y, target = _outcomes(model, text, target)
    X, _ = _rows_for(model, text, source.name)
    render(
        model,
        X,
        y,
        output,
        title=title or f"{target}, from {source.title}",
        include_rows=include_rows,
    )
    _say(f"report written to {output}")
    if as_json:
        score = {_score_name(model): model.score(X, y)}
        click.echo(json.dumps(plain({"report": str(output), "rows": len(y), **score})))


@motlm.command("certify")
@click.argument("model_path", metavar="MODEL", type=file)
@click.argument("data", type=file)
@click.option(
    "--target", help="Column that holds the outcome; without it the one that fit was told."
)
@_delta_option
@_population_option
@click.option("--save", is_flag=True, help="Put the certificate into the model file.")
@json_option
@force_option
def certify_command(
    model_path: Path,
    data: Path,
    target: str | None,
    delta: float,
    population: str,
    save: bool,
    as_json: bool,
    force: bool,
) -> None:
    """Certify a model on rows that it has never seen; rows that it was made from are refused.

    \b
    motlm certify model.json later.csv --save --force
    """
    model = _model(model_path)
    if save and not force and hasattr(model, "certificate_"):
        raise click.ClickException(
            f"{model_path} holds a certificate already; give --force to replace it."
        )
    source = _table(data)
    text, _ = read_text(source)
    y, _ = _outcomes(model, text, target)
    X, _ = _rows_for(model, text, source.name)
    certificate = _noted(lambda: audit(model, X, y, delta=delta, population=population))
    if save:
        model.certificate_ = certificate
        model.save(model_path)
        _say(f"certificate kept in {model_path}")
    click.echo(json.dumps(certificate.to_dict()) if as_json else str(certificate))


@motlm.command()
@click.option(
    "-o",
    "--output",
    type=file,
    default=Path("motlm-demo"),
    show_default=True,
    help="Folder to write to.",
)
@json_option
@force_option
def demo(output: Path, as_json: bool, force: bool) -> None:
    """Fit, certify and report a model of an embedded set."""
    from ..datasets import make_clf_case2
    from ..report import render

    _refuse_existing(force, output / "model.json", output / "report.html")
    _need_report()
    X, y = make_clf_case2(random_state=0)
    frame = pd.DataFrame(X, columns=["east", "north"])
    points = pd.DataFrame({"east": [-1.4, 0.0, 1.4], "north": [0.0, 0.75, 0.0]})
    estimator = LocalMixtureClassifier(points_of_interest=points, standardize=False, random_state=0)
    model, certificate = certify(estimator, frame, y)
    explanation = explain_global(model, frame, y)
    saved = model.save(output / "model.json")
    page = render(model, frame, y, output / "report.html", title="Case 2 of the paper")
    if as_json:
        content = {"model": str(saved), "report": str(page), "explanation": explanation.to_dict()}
        click.echo(json.dumps(plain({**content, "certificate": certificate.to_dict()})))
        return
    click.echo(summary(model, explanation, frame, "target"))
    click.echo(certificate.headline.sentence)
    click.echo(f"model:  {saved}\nreport: {page}")


@motlm.group()
def datasets() -> None:
    """The data sets of the paper's tables."""


@datasets.command("list")
@json_option
def list_sets(as_json: bool) -> None:
    """Say which sets there are, and where they are looked for."""
    folder = data_folder()
    if as_json:
        click.echo(
            json.dumps([{"name": one.name, "title": one.title, "task": one.task} for one in KEEL])
        )
        return
    table = Table("name", "title", "task")
    for one in KEEL:
        table.add_row(one.name, one.title, one.task)
    Console(highlight=False).print(table)
    _say(f"looked for in {folder}, else downloaded")


@datasets.command("fetch")
@click.argument("name")
@click.option("-o", "--output", type=file, help="Write it as a CSV file.")
@json_option
@force_option
def fetch(name: str, output: Path | None, as_json: bool, force: bool) -> None:
    """Download a set (or find it in MOTLM_DATA), and write it as CSV, or with --json as an object a
    line.

    \b
    motlm datasets fetch german -o german.csv
    """
    known = [one.name for one in KEEL]
    if name not in known:
        raise click.ClickException(f"no set {name!r}; there are {', '.join(known)}.")
    _refuse_existing(force, output)
    frame = load_keel(name, as_frame=True).frame
    content = (
        frame.to_json(orient="records", lines=True, force_ascii=False)
        if as_json
        else frame.to_csv(index=False)
    )
    if output is None:
        _standard_output().write(content)
    else:
        write_atomically(output, content)
        _say(f"{len(frame)} rows written to {output}")
