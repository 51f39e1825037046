"""Models as code of other systems: a Python function without dependencies, an SQL expression, an
ONNX graph.

Each computes what `predict` says from the model's own numbers. They know Euclidean, Manhattan and
(Python, ONNX) Chebyshev balls.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._typing import Array
from .errors import InputError, MissingPackageError

__all__ = ["ExportError", "to_onnx", "to_python", "to_sql"]

_LONGEST = 900_000  # SQLite takes a million
_EUCLIDEAN = ("euclidean", "l2", "minkowski")
_MANHATTAN = ("manhattan", "l1", "cityblock")


class ExportError(ValueError):
    """A model that cannot be written in that language."""


@dataclass(frozen=True)
class _Numbers:
    """What predicting takes, in standardized units; columns that count nowhere are left out."""

    columns: list[tuple[str, int, tuple[Any, ...] | None]]  # name, first encoded column, levels
    used: list[int]  # encoded columns
    origin: Array
    scale: Array
    typical: Array
    coef: Array  # (n + 1, used)
    intercept: Array
    center: Array  # (n, used)
    radius: Array
    metric: str
    overlap: str
    classes: list[Any] | None
    target_center: float
    target_scale: float
    unknown: str


def _numbers(model: Any, metrics: tuple[str, ...]) -> _Numbers:
    problem, posterior = model._fitted, model.posterior_
    metric = "euclidean" if problem.metric is None else problem.metric.name
    if metric not in metrics and posterior.n_localities:
        raise ExportError(f"metric={metric!r} cannot be exported; {', '.join(metrics)} can.")
    units = problem.units
    counts = problem.varies & (units.inverse_scale > 0)
    used = [int(j) for j in np.flatnonzero(counts)]
    coef, center = model._in_all_columns()
    columns, start = [], 0
    for name, levels in zip(model._columns.names, model._columns.levels, strict=True):
        plain = (
            None
            if levels is None
            else tuple(level.item() if isinstance(level, np.generic) else level for level in levels)
        )
        columns.append((name, start, plain))
        start += 1 if levels is None else len(levels) - 1
    family = (
        "manhattan" if metric in _MANHATTAN else "euclidean" if metric in _EUCLIDEAN else metric
    )
    return _Numbers(
        columns,
        used,
        units.center[used],
        units.inverse_scale[used],
        model._typical[used],
        coef[:, used],
        posterior.intercept,
        center[:, used],
        np.where(model._radius > 0, model._radius, -1.0),
        family,
        model.overlap,
        model.classes_.tolist() if hasattr(model, "classes_") else None,
        units.target_center,
        units.target_scale,
        model.handle_unknown,
    )


def to_python(model: Any, name: str = "predict") -> str:
    """Source of a function of one row, a mapping of column names to values, that returns the
    prediction.

    It needs nothing but Python. A missing value, or a category that the model refuses, is a
    ValueError.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InputError(f"name must be a Python name; got {name!r}.")
    one = _numbers(model, (*_EUCLIDEAN, *_MANHATTAN, "chebyshev"))
    place = {j: k for k, j in enumerate(one.used)}
    lines = [
        f"def {name}(row):",
        (
            '    """Written by motlm; the prediction for one row, a mapping of column names to'
            ' values."""'
        ),
        "    x = []",
    ]
    for column, start, levels in one.columns:
        if levels is None:
            lines.append(f"    value = row[{column!r}]")
            lines.append(
                "    if value is None or value != value or value in (float('inf'), float('-inf')):"
            )
            lines.append(
                f"        raise InputError({f'column {column!r} is missing or infinite'!r})"
            )
            if start in place:
                lines.append(
                    f"    x.append((value - {_float(one.origin[place[start]])}) *"
                    f" {_float(one.scale[place[start]])})"
                )
            continue
        known = tuple(levels)
        lines.append(f"    value = row[{column!r}]")
        lines.append("    if value is None or value != value:")
        lines.append(f"        raise InputError({f'column {column!r} is missing'!r})")
        lines.append(f"    known = value in {known!r}")
        if one.unknown == "error":
            lines.append("    if not known:")
            lines.append(
                f"        raise InputError({f'column {column!r}: unknown category '!r} +"
                " repr(value))"
            )
        for k, level in enumerate(known[1:]):
            if start + k in place:
                p = place[start + k]
                hot = f"(1.0 if value == {level!r} else 0.0) if known else {_float(one.typical[p])}"
                lines.append(
                    f"    x.append((({hot}) - {_float(one.origin[p])}) * {_float(one.scale[p])})"
                )
    lines.append(f"    centers = {_nested(one.center)}")
    lines.append(f"    radii = {_nested(one.radius)}")
    lines.append(f"    coefs = {_nested(one.coef)}")
    lines.append(f"    intercepts = {_nested(one.intercept)}")
    measure = {
        "euclidean": "sum((a - b) ** 2 for a, b in zip(x, center)) ** 0.5",
        "manhattan": "sum(abs(a - b) for a, b in zip(x, center))",
        "chebyshev": "max((abs(a - b) for a, b in zip(x, center)), default=0.0)",
    }[one.metric]
    lines.append(f"    away = [{measure} for center in centers]")
    lines.append("    inside = [i for i, radius in enumerate(radii) if away[i] <= radius]")
    if one.overlap == "nearest":
        lines.append(
            "    speaking = [min(inside, key=lambda i: away[i])] if inside else [len(centers)]"
        )
    else:
        lines.append("    speaking = inside or [len(centers)]")
    lines.append(
        "    scores = [intercepts[i] + sum(a * b for a, b in zip(coefs[i], x)) for i in speaking]"
    )
    lines.append("    score = sum(scores) / len(scores)")
    if one.classes is None:
        lines.append(f"    return score * {_float(one.target_scale)} + {_float(one.target_center)}")
    else:
        lines.append(f"    return {one.classes[1]!r} if score > 0 else {one.classes[0]!r}")
    return "\n".join(lines) + "\n"


def to_sql(model: Any) -> str:
    """One standard SQL expression of the table's columns whose value is the prediction; NULL where
    a column is NULL, or holds a category that the model refuses.
    """
    one = _numbers(model, (*_EUCLIDEAN, *_MANHATTAN))
    place = {j: k for k, j in enumerate(one.used)}
    z: list[str] = [""] * len(one.used)
    refused = []
    for column, start, levels in one.columns:
        name = _identifier(column)
        refused.append(f"{name} IS NULL")
        if levels is None:
            if start in place:
                p = place[start]
                z[p] = (
                    f"((CAST({name} AS DOUBLE PRECISION) - {_number(one.origin[p])}) *"
                    f" {_number(one.scale[p])})"
                )
            continue
        if one.unknown == "error":
            refused.append(f"{name} NOT IN ({', '.join(_literal(level) for level in levels)})")
        for k, level in enumerate(levels[1:]):
            if start + k in place:
                p = place[start + k]
                zero = ", ".join(_literal(other) for other in levels if other != level)
                hot = f"CASE WHEN {name} = {_literal(level)} THEN 1.0"
                hot += (
                    " ELSE 0.0 END"
                    if one.unknown == "error"
                    else f" WHEN {name} IN ({zero}) THEN 0.0 ELSE {_number(one.typical[p])} END"
                )
                z[p] = f"(({hot} - {_number(one.origin[p])}) * {_number(one.scale[p])})"

    def score(i: int) -> str:
        terms = [f"{_number(value)} * {z[k]}" for k, value in enumerate(one.coef[i]) if value != 0]
        return "(" + " + ".join([_number(one.intercept[i]), *terms]) + ")"

    def away(i: int) -> str:
        """The distance, or its square, which compares alike."""
        gaps = [f"({z[k]} - {_number(value)})" for k, value in enumerate(one.center[i])]
        terms = (
            [f"{gap} * {gap}" for gap in gaps]
            if one.metric == "euclidean"
            else [f"ABS({gap})" for gap in gaps]
        )
        return "(" + " + ".join(terms or ["0.0"]) + ")"

    n = len(one.center)
    reach = [
        _number(radius * abs(radius) if one.metric == "euclidean" else radius)
        for radius in one.radius
    ]
    inside = [f"{away(i)} <= {reach[i]}" for i in range(n)]
    if one.overlap == "nearest" or n < 2:
        branches = []
        for i in range(n):
            rivals = [
                f"({away(j)} > {reach[j]} OR {away(i)} {'<' if j < i else '<='} {away(j)})"
                for j in range(n)
                if j != i
            ]
            branches.append(f"WHEN {' AND '.join([inside[i], *rivals])} THEN {score(i)}")
        said = f"CASE {' '.join(branches)} ELSE {score(n)} END" if branches else score(n)
    else:
        some = " OR ".join(inside)
        total = " + ".join(f"CASE WHEN {inside[i]} THEN {score(i)} ELSE 0.0 END" for i in range(n))
        count = " + ".join(f"CASE WHEN {inside[i]} THEN 1.0 ELSE 0.0 END" for i in range(n))
        said = f"CASE WHEN {some} THEN ({total}) / ({count}) ELSE {score(n)} END"
    if one.classes is None:
        answer = f"{said} * {_number(one.target_scale)} + {_number(one.target_center)}"
    else:
        answer = (
            f"CASE WHEN {said} > 0 THEN {_literal(one.classes[1])} ELSE"
            f" {_literal(one.classes[0])} END"
        )
    text = f"CASE WHEN {' OR '.join(refused)} THEN NULL ELSE {answer} END"
    if len(text) > _LONGEST:
        raise ExportError(
            f"the expression would have {len(text)} characters, more than the {_LONGEST} that"
            " databases take: the model has too many categories for its number of localities. Use"
            " to_python or to_onnx, or fewer localities."
        )
    return text


def to_onnx(model: Any) -> Any:
    """An ONNX model of columns of numbers: input X, (rows, columns) of doubles; outputs `score`,
    and for a classifier `label`, 0 or 1 for the two classes in order.
    """
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError as error:
        raise MissingPackageError("to_onnx needs onnx: pip install 'motlm[onnx]'") from error
    if model._columns.has_text:
        raise ExportError(
            "a model with columns of text cannot be exported to ONNX; encode them first, and fit on"
            " numbers."
        )
    one = _numbers(model, (*_EUCLIDEAN, *_MANHATTAN, "chebyshev"))
    n = len(one.center)
    nodes: list[Any] = []
    tensors: list[Any] = []

    def constant(name: str, values: Any, kind: Any = np.float64) -> str:
        tensors.append(numpy_helper.from_array(np.asarray(values, dtype=kind), name))
        return name

    def node(kind: str, inputs: list[str], output: str, **options: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], **options))
        return output

    chosen = node("Gather", ["X", constant("used", one.used, np.int64)], "chosen", axis=1)
    shifted = node("Sub", [chosen, constant("origin", one.origin)], "shifted")
    z = node("Mul", [shifted, constant("scale", one.scale)], "z")
    # the scale stands in the coefficients: a product with one number before MatMul, ONNX Runtime
    # would turn into a float32
    products = node("MatMul", [shifted, constant("coef", (one.coef * one.scale).T)], "products")
    scores = node("Add", [products, constant("intercept", one.intercept)], "scores")
    axis = constant("last", [1], np.int64)
    if n:
        wide = node("Unsqueeze", [z, axis], "wide")  # (rows, 1, columns)
        gap = node("Sub", [wide, constant("center", one.center[None])], "gap")
        two = constant("two", [2], np.int64)
        if one.metric == "euclidean":
            away = node(
                "Sqrt",
                [node("ReduceSum", [node("Mul", [gap, gap], "squares"), two], "sums", keepdims=0)],
                "away",
            )
        else:
            size = node("Abs", [gap], "sizes")
            away = node(
                "ReduceSum" if one.metric == "manhattan" else "ReduceMax",
                [size, two],
                "away",
                keepdims=0,
            )
        inside = node("LessOrEqual", [away, constant("radius", one.radius)], "inside")  # (rows, n)
        if one.overlap == "nearest":
            far = node("Where", [inside, away, constant("far", np.inf)], "far_or_away")
            nearest = node(
                "ArgMin",
                [
                    far,
                ],
                "nearest",
                axis=1,
                keepdims=1,
            )
            least = node("ReduceMin", [far, axis], "least", keepdims=1)
            some = node("Less", [least, "far"], "some")
            speaker = node(
                "Where", [some, nearest, constant("exterior", [[n]], np.int64)], "speaker"
            )
            score = node("GatherElements", [scores, speaker], "spoken", axis=1)
        else:
            weight = node("Cast", [inside], "weight", to=TensorProto.DOUBLE)
            count = node("ReduceSum", [weight, axis], "count", keepdims=1)
            balls = node(
                "Slice",
                [scores, constant("begin", [0], np.int64), constant("end", [n], np.int64), axis],
                "balls",
            )
            total = node(
                "ReduceSum", [node("Mul", [weight, balls], "weighted"), axis], "total", keepdims=1
            )
            outside = node(
                "Slice", [scores, "end", constant("stop", [n + 1], np.int64), axis], "outside"
            )
            none = node("Equal", [count, constant("zero", 0.0)], "none")
            ratio = node(
                "Div", [total, node("Max", [count, constant("one", 1.0)], "at_least_one")], "ratio"
            )
            score = node("Where", [none, outside, ratio], "spoken")
    else:
        score = node("Identity", [scores], "spoken")
    flat = node("Squeeze", [score, axis], "flat")
    outputs = [helper.make_tensor_value_info("score", TensorProto.DOUBLE, [None])]
    if one.classes is None:
        scaled = node("Mul", [flat, constant("target_scale", one.target_scale)], "scaled")
        node("Add", [scaled, constant("target_center", one.target_center)], "score")
    else:
        node("Identity", [flat], "score")
        node(
            "Cast",
            [node("Greater", [flat, constant("border", 0.0)], "positive")],
            "label",
            to=TensorProto.INT64,
        )
        outputs.append(helper.make_tensor_value_info("label", TensorProto.INT64, [None]))
    inputs = [helper.make_tensor_value_info("X", TensorProto.DOUBLE, [None, len(one.columns)])]
    graph = helper.make_graph(nodes, "motlm", inputs, outputs, tensors)
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], producer_name="motlm", ir_version=9
    )
    checker.check_model(made)
    return made


def _float(value: Any) -> str:
    return repr(float(value))


def _nested(values: Array) -> str:
    return repr(np.asarray(values, dtype=float).tolist())


def _number(value: Any) -> str:
    """A double in SQL; negative ones in brackets."""
    text = repr(float(value))
    if "e" not in text:
        text += "e0"  # approximate, not decimal, in standard SQL
    return f"({text})" if value < 0 else text


def _identifier(name: str) -> str:
    if "\0" in name:
        raise ExportError(f"the column {name!r} cannot be named in SQL.")
    return '"' + re.sub('"', '""', name) + '"'


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"
