"""The commands. Results go to standard output, what happens on the way to standard error."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from .._version import __version__
from ..certificates import CertificateError, audit, certify, split
from ..columns import Columns
from ..columns import Table as ModelTable
from ..datasets import KEEL, data_folder, load_keel
from ..estimators import LocalMixture, LocalMixtureClassifier, LocalMixtureRegressor
from ..explanations import counterfactual, explain_global, explain_local
from ..explanations._common import plain
from ..files import ModelFileError, load, mode_of, write_atomically
from ._tables import Source, TableError, opened, read_chunks, read_text, scorable, typed, words_of

__all__ = ["motlm"]

CHUNK = 50_000  # rows that are predicted at a time
NOT_SCORED = 3  # exit code: some rows could not be scored
errors = Console(stderr=True, highlight=False, soft_wrap=True)


class _Group(click.Group):
    """Errors that a user can mend are one line, not a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except OSError as error:
            words = str(error) if error.strerror is None else f"{error.filename or ''}: {error.strerror}".removeprefix(": ")
            raise click.ClickException(words) from error
        except (TableError, ModelFileError, CertificateError, ValueError, TypeError, ImportError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="motlm")
def motlm() -> None:
    """Mixtures of transparent local models: a few balls around typical cases, a linear model in each, one outside.

    \b
    motlm fit credit.csv --target default --model model.json --report report.html
    motlm predict model.json new.csv -o out.csv
    motlm explain model.json new.csv --row 17
    """


def _say(text: str) -> None:
    errors.print(text, markup=False)


def _refuse_existing(force: bool, *paths: Path | None) -> None:
    """Before any work is done: whether the outputs can be written."""
    for path in paths:
        if path is None:
            continue
        if path.exists() and not path.is_file():
            raise click.ClickException(f"{path} is not a plain file; give the name of one to write.")
        if path.exists() and not force:
            raise click.ClickException(f"{path} exists; give another name, or --force to replace it.")
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise click.ClickException(f"{path} cannot be written: {folder} is not a folder that you may write to.")


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|sec|m|min|h)?\s*", text)
    if not found or float(found[1]) <= 0:
        raise click.BadParameter(f"{text!r} is no time; give 60s, 5min or 1h.", param_hint="--time-limit")
    return float(found[1]) * {"m": 60, "min": 60, "h": 3600}.get(found[2] or "s", 1)


def _column(frame: pd.DataFrame, name: str, option: str) -> pd.Series:
    if name not in frame.columns:
        raise click.ClickException(
            f"{option} {name!r} is not a column; the columns are {', '.join(map(str, frame.columns[:30]))}."
        )
    return frame[name]


def _noted(work: Callable[[], Any]) -> Any:
    """Warnings as notes, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work()
    for text in dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning)):
        _say(f"note: {text}")
    return result


def _table(place: Path) -> Source:
    """A table that can be read until the command ends."""
    return click.get_current_context().with_resource(opened(place))


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
force_option = click.option("--force", is_flag=True, help="Replace files that exist.")
file = click.Path(path_type=Path)


@motlm.command()
@click.argument("data", type=file)
@click.option("--target", required=True, help="Column to predict.")
@click.option("--model", "model_path", type=file, help="Where to write the model (JSON).")
@click.option("--report", "report_path", type=file, help="Where to write the report (HTML).")
@click.option("--points", type=file, help="Table of typical cases: the centres of the localities.")
@click.option("--localities", default="auto", show_default=True, help="How many to look for: auto, or a number.")
@click.option("--task", type=click.Choice(["auto", "classification", "regression"]), default="auto", show_default=True)
@click.option("--weights", help="Column of weights. There is no certificate then.")
@click.option("--drop", help="Columns to leave out, with commas between.")
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
@json_option
@force_option
def fit(
    data: Path, target: str, model_path: Path | None, report_path: Path | None, points: Path | None, localities: str, task: str,
    weights: str | None, drop: str | None, id_column: str | None, missing: str, sealed: float, seed: int, jobs: int,
    time_limit: str | None, title: str | None, as_json: bool, force: bool,
) -> None:  # fmt: skip
    """Fit a model to a table, certify it on rows kept aside, and write it down.

    \b
    motlm fit credit.csv --target default --model model.json --report report.html
    motlm fit prices.parquet --target price --localities 3 --drop notes,url --id house
    """
    _refuse_existing(force, model_path, report_path)
    if report_path is not None:
        _need_report()
    source = _table(data)
    text, how = read_text(source)
    _say(f"{source.name}: {len(text)} rows, {len(text.columns)} columns ({how})")
    if text.empty:
        raise click.ClickException(f"{source.name} has no rows.")
    frame = typed(text)
    _column(frame, target, "--target")
    for name, option in ((weights, "--weights"), (id_column, "--id")):
        if name is not None:
            _column(frame, name, option)
    left_out = [name.strip() for name in (drop or "").split(",") if name.strip()]
    for name in left_out:
        _column(frame, name, "--drop")
    if frame[target].isna().any():
        rows = int(frame[target].isna().sum())
        if rows == len(frame):
            raise click.ClickException(f"no row has a {target!r}.")
        _say(f"{rows} rows without a {target!r} left out")
        frame = frame[frame[target].notna()]
    features = frame.drop(columns=[name for name in {target, weights, id_column, *left_out} if name is not None])
    if features.shape[1] == 0:
        raise click.ClickException("no column is left to predict from.")
    features, fill = _complete(features.reset_index(drop=True), missing, sealed, seed)
    frame = frame.reset_index(drop=True)
    y = frame.loc[features.index, target]
    weight = None if weights is None else pd.to_numeric(frame.loc[features.index, weights], errors="coerce")
    for name, words in words_of(features):
        _say(f"  {name}: {words}")
    classification = _is_classification(y, task)
    labels = _labels(y)
    _say(f"{'classification' if classification else 'regression'} of {target!r}")
    options: dict[str, Any] = {"random_state": seed, "n_jobs": jobs, "max_time": _seconds(time_limit), "handle_unknown": "ignore"}
    options["verbose"] = int(sys.stderr.isatty())
    if points is not None:
        options["points_of_interest"] = _points(points, features)
    elif localities == "auto":
        options |= {"n_localities": "auto", "max_localities": 6}
    elif localities.isdecimal():
        options["n_localities"] = int(localities)
    else:
        raise click.BadParameter(f"{localities!r} is neither auto nor a number.", param_hint="--localities")
    estimator = (LocalMixtureClassifier if classification else LocalMixtureRegressor)(**options)
    features = features.reset_index(drop=True)
    rest, held = split(len(labels), sealed, seed)
    if weight is None:
        model, certificate = _noted(lambda: certify(estimator, features, labels, sealed=sealed, random_state=seed))
    else:
        values = weight.to_numpy()
        model = _noted(lambda: estimator.fit(features.iloc[rest], labels[rest], sample_weight=values[rest]))
        certificate = None
    model.table_ = ModelTable(target, id_column, fill)
    score = model.score(features.iloc[held], labels[held])
    explanation = explain_global(model, features.iloc[held], labels[held])
    if model_path is not None:
        model.set_params(verbose=0).save(model_path)
        _say(f"model written to {model_path}")
    if report_path is not None:
        from ..report import render

        render(model, features.iloc[held], labels[held], report_path, title=title or f"{target}, from {source.title}")
        _say(f"report written to {report_path}")
    name = _score_name(model)
    if as_json:
        content = {
            "rows": len(labels), "held_out": len(held), name: score, "explanation": explanation.to_dict(),
            "model": str(model_path) if model_path else None, "report": str(report_path) if report_path else None,
        }  # fmt: skip
        click.echo(json.dumps(plain(content)))
        return
    click.echo(_summary(model, explanation))
    click.echo(f"\n{name} on {len(held)} rows kept aside: {score:.4g}")
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
            raise click.ClickException("reports need Jinja2 and plotly: pip install 'motlm[report]'")


def _labels(y: pd.Series) -> Any:
    """Texts as they are; numbers as whole ones where all are."""
    if not _is_number(y):
        return y.astype(str).to_numpy(dtype=str)
    values = y.to_numpy(dtype=float)
    return values.astype(int) if len(np.unique(values)) == 2 and (values == np.rint(values)).all() else values


def _complete(features: pd.DataFrame, missing: str, sealed: float, seed: int) -> tuple[pd.DataFrame, dict[str, float | str]]:
    """Rows without holes, and what stands in for missing values: found from the rows that are not sealed."""
    holes = features.isna().any(axis=1)
    if missing != "impute":
        return _without_holes(features, holes, missing), {}
    known = features.iloc[split(len(features), sealed, seed)[0]]
    filled, fill = features.copy(), {}
    for name in features.columns:
        column = known[name].dropna()
        if column.empty:
            if features[name].isna().any():
                raise click.ClickException(f"column {name!r} has no value in the rows to fit on; --drop it.")
            continue
        numbers = column.dtype == float
        fill[str(name)] = float(column.median()) if numbers else str(column.mode().iloc[0])
        if features[name].isna().any():
            _say(f"{int(features[name].isna().sum())} missing values of {name!r} replaced by {fill[str(name)]!r}")
            filled[name] = features[name].fillna(fill[str(name)])
    return filled, fill


def _without_holes(features: pd.DataFrame, holes: pd.Series, missing: str) -> pd.DataFrame:
    if not holes.any():
        return features
    where = features.columns[features.isna().any()].tolist()
    if missing == "error":
        raise click.ClickException(
            f"{int(holes.sum())} of {len(features)} rows have missing values, in {', '.join(map(repr, where[:5]))}"
            f"{', ..' if len(where) > 5 else ''}. Say what to do with --missing drop or --missing impute, or --drop the columns."
        )
    _say(f"{int(holes.sum())} rows with missing values left out")
    if holes.all():
        raise click.ClickException("no row without missing values is left.")
    return features[~holes]


def _is_number(y: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(y)) and not pd.api.types.is_bool_dtype(y)


def _is_classification(y: pd.Series, task: str) -> bool:
    count = y.nunique()
    if count < 2:
        raise click.ClickException(f"the target {y.name!r} has one value only, {str(y.iloc[0])!r}.")
    if task == "auto":
        task = "classification" if count == 2 or not _is_number(y) else "regression"
    if task == "classification" and count > 2:
        raise click.ClickException(
            f"the target {y.name!r} has {count} classes, and motlm knows two. Make it two (one against the others), or say "
            "--task regression if it is a number."
        )
    if task == "regression" and not _is_number(y):
        raise click.ClickException(f"the target {y.name!r} is not a number, so that it is no regression.")
    return task == "classification"


def _points(path: Path, features: pd.DataFrame) -> pd.DataFrame:
    source = _table(path)
    text, _ = read_text(source)
    levels = [None if features[name].dtype == float else tuple(sorted(set(features[name]))) for name in features.columns]
    rows = _read_rows(Columns(tuple(map(str, features.columns)), tuple(levels)), text, True, {}, source.name)
    _say(f"{len(rows)} typical cases from {source.name}")
    return rows


def _read_rows(
    columns: Columns, text: pd.DataFrame, refuse_unknown: bool, fill: Mapping[str, float | str], where: str
) -> pd.DataFrame:
    """Rows by the columns of a model; an error for the first that cannot be read."""
    lacking = [name for name in columns.names if name not in text.columns]
    if lacking:
        raise click.ClickException(f"{where} lacks the column {lacking[0]!r}; the model has {', '.join(columns.names)}.")
    read = scorable(columns, text, refuse_unknown, fill)
    bad = np.flatnonzero(read.reason != "")
    if len(bad):
        more = f" ({len(bad)} such rows)" if len(bad) > 1 else ""
        raise click.ClickException(f"{where}, row {int(text.index[bad[0]])}: {read.reason[bad[0]]}{more}.")
    strange = int((read.note != "").sum())
    if strange:
        first = int(np.flatnonzero(read.note != "")[0])
        _say(f"{strange} rows are taken with a note; the first is row {int(text.index[first])}: {read.note[first]}")
    return read.rows


def _summary(model: LocalMixture, explanation: Any) -> str:
    lines = []
    for region in explanation.regions:
        share = f"{region.share:.0%} of cases"
        if region.center is None:
            where = "all other cases" if len(explanation.regions) > 1 else "all cases"
        else:
            far = np.argsort([-abs(value) for value in region.coef * np.asarray(_spread(model))])[:3]
            where = "cases around " + ", ".join(f"{region.feature_names[j]} = {region.center[j]:.4g}" for j in far)
        lines.append(f"{region.name} ({share}): {where}\n    {region.formula}")
    lines.append(f"local models contradict each other on {explanation.ambiguous:.1%} of the rows kept aside")
    return "\n".join(lines)


def _spread(model: LocalMixture) -> list[float]:
    inverse = model._fitted.units.inverse_scale
    return [1.0 / value if value > 0 else 0.0 for value in inverse]


@motlm.command()
@click.argument("model_path", metavar="MODEL", type=file)
@click.argument("data", type=file)
@click.option("-o", "--output", type=file, help="Where to write the CSV; standard output without it.")
@click.option("--id", "id_column", help="Column to carry over, to know the rows by; without it the one that fit was told.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON, an object a line, instead of CSV.")
@force_option
def predict(model_path: Path, data: Path, output: Path | None, id_column: str | None, as_json: bool, force: bool) -> None:
    """Predict for the rows of a table: prediction, probability, who spoke, whether models contradict each other.

    Rows are read some at a time, so that files of any size need little memory. A row that cannot be scored is written with the
    reason, and the exit code is then 3.

    \b
    motlm predict model.json new.csv -o out.csv --id client
    zcat new.csv.gz | motlm predict model.json - --json > out.jsonl
    """
    if output == Path("-"):
        output = None
    _refuse_existing(force, output)
    model = load(model_path)
    source = _table(data)
    handle = None
    if output is None:
        stream: Any = sys.stdout
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}.")
        handle = Path(temporary)
        stream = os.fdopen(descriptor, "w", encoding="utf-8", newline="")
    total = bad = strange = 0
    try:
        for number, chunk in enumerate(read_chunks(source, CHUNK)):
            table = _predicted(model, chunk, id_column, total)
            if as_json:
                stream.writelines(json.dumps(plain(one), ensure_ascii=False) + "\n" for one in table.to_dict("records"))
            else:
                table.to_csv(stream, index=False, header=number == 0, lineterminator="\n")
            total += len(table)
            bad, strange = bad + int((table["reason"] != "").sum()), strange + int((table["note"] != "").sum())
        stream.flush()
        if output is not None and handle is not None:
            stream.close()
            os.chmod(handle, mode_of(output))
            os.replace(handle, output)
    except BaseException:
        if handle is not None:
            stream.close()
            handle.unlink(missing_ok=True)
        raise
    _say(f"{total} rows" + (f", of which {bad} could not be scored: see the column reason" if bad else ""))
    if strange:
        _say(f"{strange} rows were scored with something that fit had not seen or that is missing: see the column note")
    if bad:
        sys.exit(NOT_SCORED)


def _predicted(model: LocalMixture, chunk: pd.DataFrame, id_column: str | None, first: int) -> pd.DataFrame:
    lacking = [name for name in model._columns.names if name not in chunk.columns]
    if lacking:
        raise click.ClickException(
            f"the table lacks the column {lacking[0]!r}; the model needs {', '.join(model._columns.names)}."
        )
    kept = _kept(model)
    if id_column is None and kept.id_column in chunk.columns and kept.id_column not in model._columns.names:
        id_column = kept.id_column
    read = scorable(model._columns, chunk, model.handle_unknown == "error", kept.fill)
    sound = read.reason == ""
    n = len(model.localities_)
    names = np.array([*(f"locality {i}" for i in range(n)), "exterior", "several"], dtype=object)
    made: dict[str, Any] = {"prediction": np.full(len(chunk), "", dtype=object)}
    if isinstance(model, LocalMixtureClassifier):
        made |= {f"probability of {label}": np.full(len(chunk), "", dtype=object) for label in model.classes_}
    made |= {name: np.full(len(chunk), "", dtype=object) for name in ("said_by", "ambiguous")}
    head: dict[str, Any] = {"row": np.arange(first, first + len(chunk))}
    if id_column is not None:
        if id_column in ("row", "reason", "note", *made):
            raise click.ClickException(f"--id {id_column!r} has the name of a column that predict writes; rename it.")
        head[id_column] = _column(chunk, id_column, "--id").to_numpy()
    if sound.any():
        X: Any = read.rows[sound]
        if not hasattr(model, "feature_names_in_"):
            X = X.to_numpy(dtype=float)
        made["prediction"][sound] = model.predict(X)
        if isinstance(model, LocalMixtureClassifier):
            chances = model.predict_proba(X)
            for k, label in enumerate(model.classes_):
                made[f"probability of {label}"][sound] = chances[:, k]
        made["said_by"][sound] = names[model.apply(X)]
        made["ambiguous"][sound] = np.where(model.ambiguous(X), "yes", "no")
    return pd.DataFrame({**head, **made, "reason": read.reason, "note": np.where(sound, read.note, "")})


def _kept(model: LocalMixture) -> ModelTable:
    """What fit was told of the table, which files keep."""
    return getattr(model, "table_", ModelTable(""))


def _outcomes(model: LocalMixture, text: pd.DataFrame, target: str | None) -> tuple[Any, str]:
    """The target column as the model has it, and its name."""
    target = target if target is not None else _kept(model).target
    if not target:
        raise click.ClickException("the model does not say which column is its target; say it with --target.")
    return _labels_for(model, _column(text, target, "--target")), target


def _rows_for(model: LocalMixture, text: pd.DataFrame, where: str) -> Any:
    rows = _read_rows(model._columns, text, model.handle_unknown == "error", _kept(model).fill, where)
    return rows if hasattr(model, "feature_names_in_") else rows.to_numpy(dtype=float)


def _whole(model: LocalMixture, text: pd.DataFrame) -> list[str]:
    """Columns that hold whole numbers only, in this table."""
    read = scorable(model._columns, text, False, {})
    sound = read.rows[read.reason == ""]
    numeric = [name for name, levels in zip(model._columns.names, model._columns.levels, strict=True) if levels is None]
    return [name for name in numeric if len(sound) > 1 and (sound[name] == np.rint(sound[name])).all()]


def _labels_for(model: LocalMixture, text: pd.Series) -> Any:
    """Outcomes as the model has them."""
    column = text.astype(str).str.strip()
    if not isinstance(model, LocalMixtureClassifier):
        return _labels(typed(column.to_frame())[column.name]).astype(float)
    by_text = {str(label): label for label in model.classes_.tolist()}
    if model.classes_.dtype.kind in "iuf":
        by_text |= {f"{float(label):g}": label for label in model.classes_.tolist()}
    strange = [value for value in column if value not in by_text]
    if strange:
        raise click.ClickException(
            f"the outcome {strange[0]!r} is not one of the model's labels, {', '.join(map(str, model.classes_))}."
        )
    return np.array([by_text[value] for value in column], dtype=model.classes_.dtype)


@motlm.command()
@click.argument("model_path", metavar="MODEL", type=file)
@click.argument("data", type=file)
@click.option("--row", type=click.IntRange(0), required=True, help="Which row, from 0 on.")
@click.option("--wanted", type=float, help="Of a regression: the prediction that is wanted instead.")
@click.option("--fixed", default="", help="Columns that cannot change, with commas between.")
@json_option
def explain(model_path: Path, data: Path, row: int, wanted: float | None, fixed: str, as_json: bool) -> None:
    """Why the model says what it says of a row, and what would change its answer.

    \b
    motlm explain model.json new.csv --row 17 --fixed age,region
    """
    model = load(model_path)
    source = _table(data)
    text, _ = read_text(source)
    if row >= len(text):
        raise click.ClickException(f"--row {row} of {len(text)} rows, which are numbered from 0 to {len(text) - 1}.")
    X = _rows_for(model, text.iloc[[row]], source.name)
    one = explain_local(model, X)[0]
    other = None
    if isinstance(model, LocalMixtureClassifier) or wanted is not None:
        held = [name.strip() for name in fixed.split(",") if name.strip()]
        other = counterfactual(model, X, target=wanted, fixed=held, integer=_whole(model, text))
    if as_json:
        click.echo(json.dumps({**one.to_dict(), "row": row, "counterfactual": None if other is None else other.to_dict()}))
        return
    click.echo(str(one).replace("row 0:", f"row {row}:", 1))
    if other is not None:
        click.echo(f"what would change it: {other}")


@motlm.command()
@click.argument("model_path", metavar="MODEL", type=file)
@click.argument("data", type=file)
@click.option("--target", help="Column that holds the outcome; without it the one that fit was told.")
@click.option("-o", "--output", type=file, required=True, help="Where to write the HTML file.")
@click.option("--title", default=None)
@click.option("--include-rows", is_flag=True, help="Put rows into the report; they may be private.")
@json_option
@force_option
def report(
    model_path: Path, data: Path, target: str | None, output: Path, title: str | None, include_rows: bool, as_json: bool,
    force: bool,
) -> None:  # fmt: skip
    """Write a report of a model and some rows: one HTML file with a form to try a case.

    \b
    motlm report model.json later.csv -o report.html
    """
    from ..report import render

    _refuse_existing(force, output)
    _need_report()
    model = load(model_path)
    source = _table(data)
    text, _ = read_text(source)
    y, target = _outcomes(model, text, target)
    X = _rows_for(model, text, source.name)
    render(model, X, y, output, title=title or f"{target}, from {source.title}", include_rows=include_rows)
    _say(f"report written to {output}")
    if as_json:
        score = {_score_name(model): model.score(X, y)}
        click.echo(json.dumps(plain({"report": str(output), "rows": len(y), **score})))


@motlm.command("certify")
@click.argument("model_path", metavar="MODEL", type=file)
@click.argument("data", type=file)
@click.option("--target", help="Column that holds the outcome; without it the one that fit was told.")
@click.option("--delta", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True)
@click.option("--population", default="future cases drawn like these", show_default=True, help="What the cases are called.")
@click.option("--save", is_flag=True, help="Put the certificate into the model file.")
@json_option
@force_option
def certify_command(
    model_path: Path, data: Path, target: str | None, delta: float, population: str, save: bool, as_json: bool, force: bool
) -> None:  # fmt: skip
    """Certify a model on rows that it has never seen; rows that it was made from are refused.

    \b
    motlm certify model.json later.csv --save --force
    """
    model = load(model_path)
    if save and not force and hasattr(model, "certificate_"):
        raise click.ClickException(f"{model_path} holds a certificate already; give --force to replace it.")
    source = _table(data)
    text, _ = read_text(source)
    y, _ = _outcomes(model, text, target)
    X = _rows_for(model, text, source.name)
    certificate = _noted(lambda: audit(model, X, y, delta=delta, population=population))
    if save:
        model.certificate_ = certificate
        model.save(model_path)
        _say(f"certificate kept in {model_path}")
    click.echo(json.dumps(certificate.to_dict()) if as_json else str(certificate))


@motlm.command()
@click.option("-o", "--output", type=file, default=Path("motlm-demo"), show_default=True, help="Folder to write to.")
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
    click.echo(_summary(model, explanation))
    click.echo(certificate.headline.sentence)
    click.echo(f"model:  {saved}\nreport: {page}")


@motlm.group()
def datasets() -> None:
    """The data sets of the paper's tables."""


@datasets.command("list")
@json_option
def list_sets(as_json: bool) -> None:
    """Say which sets there are, and which are here."""
    folder = data_folder()
    if as_json:
        click.echo(json.dumps([{"name": one.name, "title": one.title, "task": one.task} for one in KEEL]))
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
    """Download a set (or find it in MOTLM_DATA), and write it as CSV, or with --json as an object a line.

    \b
    motlm datasets fetch german -o german.csv
    """
    known = [one.name for one in KEEL]
    if name not in known:
        raise click.ClickException(f"no set {name!r}; there are {', '.join(known)}.")
    _refuse_existing(force, output)
    frame = load_keel(name, as_frame=True).frame
    content = frame.to_json(orient="records", lines=True, force_ascii=False) if as_json else frame.to_csv(index=False)
    if output is None:
        click.echo(content, nl=False)
    else:
        write_atomically(output, content)
        _say(f"{len(frame)} rows written to {output}")
