"""Models as code of other systems: a Python function without dependencies, an SQL expression, an
ONNX graph.

Each is generated from `Mixture.routine`, the one description of how a mixture predicts, so that a
geometry that describes its localities by loci, and a target that describes its answers by a link,
are exported without further ado. SQL has no maximum that all databases know, so that it cannot
write Chebyshev's norm; no language can write a metric that is a function of the user's.
"""

from ..errors import ExportError
from ._onnx import to_onnx
from ._python import to_python
from ._sql import to_sql

__all__ = ["ExportError", "to_onnx", "to_python", "to_sql"]
