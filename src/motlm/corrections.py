"""How the coefficients of local models differ from the exterior's, with deviations."""

from __future__ import annotations

import numpy as np

from ._typing import Array
from .mixture import Mixture

__all__ = ["differences_of"]


def differences_of(mixture: Mixture) -> tuple[Array, Array]:
    """Coefficients of each locality minus the exterior's, in the user's units, (n_localities,
    n_columns) or (n_localities, n_classes, n_columns); and their posterior standard deviations,
    (n_localities, n_columns): those of the corrections, 0 where nothing is corrected. Where models
    are independent, both models' deviations have a part. Of additive models it is all of the
    difference where they are corrections, which have the exterior's bends; else the straight part.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.corrections import differences_of
    >>> X = np.random.default_rng(0).uniform(0, 10, size=(500, 2))
    >>> y = X[:, 0] + np.where(X[:, 0] > 6, 3 * (X[:, 0] - 6), 0)
    >>> model = LocalMixtureRegressor(1, locality_columns=[0], random_state=0).fit(X, y)
    >>> [gap], [deviation] = differences_of(model.mixture_)
    >>> bool(gap[1] == deviation[1] == 0)  # as everywhere in this column
    True
    """
    coef = np.array([one.coef for one in mixture.models])
    scale = np.array([one.coef_scale for one in mixture.models])
    gap, layout = coef[:-1] - coef[-1], mixture.posterior.layout
    if layout is None or not layout.pooled:
        return gap, np.hypot(scale[:-1], scale[-1])
    inputs, own = mixture.inputs, np.zeros((len(gap), len(mixture.inputs.names)))
    counted = inputs.counted
    own[:, counted] = layout.corrected[:, np.flatnonzero(counted[inputs.varies])]
    own[:, counted] *= mixture.posterior.coef_scale[:-1, None]
    return gap, own * inputs.units.inverse_scale * mixture.target.scale
