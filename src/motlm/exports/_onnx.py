"""A model as an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ExportError, MissingPackageError
from ..geometry import Locus
from ..mixture import mixture_of
from ..routine import Answer, Routine
from ._common import is_shared, routine_of

__all__ = ["to_onnx"]

_NORMS = ("euclidean", "manhattan", "chebyshev", "quadratic")


def to_onnx(model: Any) -> Any:
    """An ONNX model of columns of numbers: input X, (rows, columns) of doubles; outputs `score`,
    and for a classifier `label`, the index of the class: 0 for the first of `classes_`.

    For a classifier of two classes `score` is the linear score, positive for the second class; of
    several it is (rows, classes), and the largest decides. With the log loss, the logistic function
    or the softmax of it is what `predict_proba` gives. Else `score` is the prediction, as `predict`
    gives it: with a log link, the exponential of the linear score. A missing value is NaN; in a
    column that had none in fit it makes the score NaN.

    Parameters
    ----------
    model : fitted estimator or Mixture

    Returns
    -------
    onnx.ModelProto
    """
    try:
        from onnx import TensorProto, checker, helper
    except ImportError as error:
        raise MissingPackageError("to_onnx needs onnx: pip install 'motlm[onnx]'") from error
    if mixture_of(model).inputs.columns.has_text:
        raise ExportError(
            "a model with columns of text cannot be exported to ONNX; encode them first, and fit on"
            " numbers."
        )
    routine = routine_of(model, _NORMS, "ONNX")
    graph, double = _Graph(), TensorProto.DOUBLE
    flat = graph.node("Squeeze", _score(routine, graph), graph.axis(1))
    shape = [None, *routine.intercept.shape[1:]]
    outputs = [helper.make_tensor_value_info("score", double, shape)]
    _answer(routine.answer, flat, graph)
    if routine.answer.classes is not None:
        outputs.append(helper.make_tensor_value_info("label", TensorProto.INT64, [None]))
    inputs = [helper.make_tensor_value_info("X", double, [None, len(routine.groups)])]
    made = helper.make_model(
        helper.make_graph(graph.nodes, "motlm", inputs, outputs, graph.tensors),
        opset_imports=[helper.make_opsetid("", 18)],
        producer_name="motlm",
        ir_version=9,
    )
    checker.check_model(made)
    return made


class _Graph:
    """The nodes and constants of a graph; what it returns are names of values."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []

    def constant(self, values: Any, kind: Any = np.float64) -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.asarray(values, dtype=kind), name))
        return name

    def axis(self, number: int) -> str:
        return self.constant([number], np.int64)

    def node(self, kind: str, *inputs: str, output: str = "", **options: Any) -> str:
        from onnx import helper

        name = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **options))
        return name


def _answer(answer: Answer, flat: str, graph: _Graph) -> None:
    """The outputs, from scores of (rows,), or (rows, classes)."""
    from onnx import TensorProto

    if answer.link == "sign":
        graph.node("Identity", flat, output="score")
        positive = graph.node("Greater", flat, graph.constant(0.0))
        graph.node("Cast", positive, output="label", to=TensorProto.INT64)
        return
    if answer.link == "largest":
        graph.node("Identity", flat, output="score")
        graph.node("ArgMax", flat, output="label", axis=1, keepdims=0)  # the first of equal ones
        return
    scaled = graph.node("Mul", flat, graph.constant(answer.scale))
    if answer.link == "identity":
        graph.node("Add", scaled, graph.constant(answer.center), output="score")
    else:
        moved = graph.node("Add", scaled, graph.constant(answer.center))
        graph.node("Exp", moved, output="score")


def _score(routine: Routine, graph: _Graph) -> str:
    """The score of the answer, (rows, 1); of several classes, (rows, 1, classes)."""
    used, n, classes = routine.used, len(routine.loci), routine.intercept.shape[1:]
    place = {int(j): k for k, j in enumerate(used)}
    factor = routine.factor[used]
    rows = _encode(routine, graph)
    chosen = graph.node("Gather", rows, graph.constant(used, np.int64), axis=1)
    shifted = graph.node("Sub", chosen, graph.constant(routine.origin[used]))
    # the factor stands in the coefficients: a product with one number before MatMul, ONNX Runtime
    # would turn into a float32
    intercept = routine.intercept.ravel()
    coef = (routine.coef[..., used] * factor).reshape(len(intercept), len(used))
    products = graph.node("MatMul", shifted, graph.constant(coef.T))
    scores = graph.node("Add", products, graph.constant(intercept))
    if classes:  # (rows, n + 1, classes), else (rows, n + 1)
        scores = graph.node("Reshape", scores, graph.constant([0, n + 1, *classes], np.int64))
    if routine.curves:
        scores = graph.node("Add", scores, _bends(routine, rows, graph))
    if n == 0:
        return scores
    z = graph.node("Mul", shifted, graph.constant(factor))
    each = [
        _unless_missing(_distance(one, z, place, graph), routine, one, graph)
        for one in routine.loci
    ]
    away = graph.node("Concat", *each, axis=1)
    radius = routine.radius
    if classes:  # (rows, n, 1), else (rows, n)
        away, radius = graph.node("Unsqueeze", away, graph.axis(2)), radius[:, None]
    inside = graph.node("LessOrEqual", away, graph.constant(radius))
    if routine.overlap == "mean":
        return _mean(scores, inside, n, graph)
    chosen = _nearest(away, inside, n, graph)
    if classes:
        chosen = graph.node("Expand", chosen, graph.constant([1, 1, *classes], np.int64))
    return graph.node("GatherElements", scores, chosen, axis=1)


def _encode(routine: Routine, graph: _Graph) -> str:
    """Columns with what stands in for missing values, and the indicators of these."""
    from onnx import TensorProto

    groups = routine.groups
    lacking = [k for k, one in enumerate(groups) if one.incomplete]
    if not lacking:
        return "X"
    stand_in = [routine.stand_in[one.columns.start] if one.incomplete else np.nan for one in groups]
    holes = graph.node("IsNaN", "X")
    filled = graph.node("Where", holes, graph.constant(stand_in), "X")
    some = graph.node("Gather", holes, graph.constant(lacking, np.int64), axis=1)
    both = graph.node("Concat", filled, graph.node("Cast", some, to=TensorProto.DOUBLE), axis=1)
    order, next_one = [], len(groups)
    for k, one in enumerate(groups):
        order += [k, next_one] if one.incomplete else [k]
        next_one += one.incomplete
    return graph.node("Gather", both, graph.constant(order, np.int64), axis=1)


def _unless_missing(away: str, routine: Routine, locus: Locus, graph: _Graph) -> str:
    """Distances, infinite for rows that lack a value that the locus looks at."""
    from onnx import TensorProto

    names = [one.name for one in routine.holes(locus)]
    lacking = [k for k, one in enumerate(routine.groups) if one.name in names]
    if not lacking:
        return away
    some = graph.node("Gather", "X", graph.constant(lacking, np.int64), axis=1)
    holes = graph.node("Cast", graph.node("IsNaN", some), to=TensorProto.DOUBLE)
    count = graph.node("ReduceSum", holes, graph.axis(1), keepdims=1)
    lost = graph.node("Greater", count, graph.constant(0.0))
    return graph.node("Where", lost, graph.constant(np.inf), away)


def _bends(routine: Routine, rows: str, graph: _Graph) -> str:
    """The sum of the curves, like the scores; of one model where all models share them.

    Each curve is its first value, and the steps between its knots times ramps from 0 to 1.
    """
    first = -1 if all(map(is_shared, routine.curves)) else 0
    values = [one.values[first:] for one in routine.curves]
    columns = np.concatenate([np.full(len(one.knots) - 1, one.column) for one in routine.curves])
    start = np.concatenate([one.knots[:-1] for one in routine.curves])
    width = np.concatenate([np.diff(one.knots) for one in routine.curves])
    steps = np.concatenate([np.diff(one, axis=-1) for one in values], axis=-1)
    base = np.sum([one[..., 0] for one in values], axis=0)
    x = graph.node("Gather", rows, graph.constant(columns, np.int64), axis=1)
    away = graph.node("Sub", x, graph.constant(start))
    share = graph.node("Div", away, graph.constant(width))
    ramps = graph.node("Clip", share, graph.constant(0.0), graph.constant(1.0))
    weights = graph.constant(steps.reshape(-1, len(width)).T)
    total = graph.node("Add", graph.node("MatMul", ramps, weights), graph.constant(base.ravel()))
    if base.ndim == 1:
        return total
    return graph.node("Reshape", total, graph.constant([0, *base.shape], np.int64))


def _distance(locus: Locus, z: str, place: dict[int, int], graph: _Graph) -> str:
    """Of all rows from one locus, (rows, 1)."""
    columns = graph.constant([place[int(j)] for j in locus.columns], np.int64)
    near = graph.node("Gather", z, columns, axis=1)
    gap = graph.node("Sub", near, graph.constant(locus.center))
    if locus.norm == "quadratic":
        turned = graph.node("MatMul", gap, graph.constant(np.asarray(locus.matrix).T))
        part = graph.node("Mul", gap, turned)
    else:
        part = graph.node("Mul", gap, gap) if locus.norm == "euclidean" else graph.node("Abs", gap)
        if locus.weight is not None:
            part = graph.node("Mul", part, graph.constant(locus.weight))
    largest = locus.norm == "chebyshev" and len(locus.columns) > 0
    total = graph.node("ReduceMax" if largest else "ReduceSum", part, graph.axis(1), keepdims=1)
    if locus.norm == "quadratic":  # rounding may leave a form of a singular matrix below 0
        total = graph.node("Max", total, graph.constant(0.0))
    return graph.node("Sqrt", total) if locus.norm in ("euclidean", "quadratic") else total


def _nearest(away: str, inside: str, n: int, graph: _Graph) -> str:
    """The index of the nearest locality that contains a row, or n, of the exterior."""
    infinity = graph.constant(np.inf)
    reached = graph.node("Where", inside, away, infinity)
    nearest = graph.node("ArgMin", reached, axis=1, keepdims=1)
    least = graph.node("ReduceMin", reached, graph.axis(1), keepdims=1)
    some = graph.node("Less", least, infinity)
    return graph.node("Where", some, nearest, graph.constant([[n]], np.int64))


def _mean(scores: str, inside: str, n: int, graph: _Graph) -> str:
    """The mean score of the localities that contain a row, or the score of the exterior."""
    from onnx import TensorProto

    first, last, end = graph.axis(0), graph.axis(n), graph.axis(n + 1)
    weight = graph.node("Cast", inside, to=TensorProto.DOUBLE)
    count = graph.node("ReduceSum", weight, graph.axis(1), keepdims=1)
    local = graph.node("Slice", scores, first, last, graph.axis(1))
    weighted = graph.node("Mul", weight, local)
    total = graph.node("ReduceSum", weighted, graph.axis(1), keepdims=1)
    exterior = graph.node("Slice", scores, last, end, graph.axis(1))
    none = graph.node("Equal", count, graph.constant(0.0))
    mean = graph.node("Div", total, graph.node("Max", count, graph.constant(1.0)))
    return graph.node("Where", none, exterior, mean)
