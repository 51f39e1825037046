"""Names for the array types that signatures use."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]
Booleans = npt.NDArray[np.bool_]
ArrayLike = npt.ArrayLike
AnyArray = npt.NDArray[Any]
