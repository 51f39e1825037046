"""Rates, and localities in a few columns with widths of their own, are one class each: explanations,
exports, reports and drawings need no change for them.
"""

from __future__ import annotations

import json
import re
import sqlite3
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from browser import in_browser, open_pages
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score, mean_poisson_deviance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.errors import ExportError
from motlm.estimators import ESTIMATORS
from motlm.explanations import counterfactual, explain_global, explain_local
from motlm.exports import to_onnx, to_python, to_sql
from motlm.geometry import GEOMETRIES, LearnedBalls, Locus
from motlm.losses import LossPartials
from motlm.plotting import (
    CoefficientsDisplay,
    ContributionsDisplay,
    LocalitiesDisplay,
    RegressionDisplay,
)
from motlm.report import render
from motlm.routine import Answer
from motlm.targets import TARGETS, Continuous

mpl.use("Agg")

QUICK = {"inverse_temperature": 4.0, "n_starts": 2, "random_state": 0}


# -- rates -------------------------------------------------------------------------------------


class Poisson:
    """E (exp(s) - y s) = exp(mean + variance / 2) - y mean,   s ~ N(mean, variance)."""

    name = "poisson"
    closed_form = False

    def rough_target(self, y):
        return np.log(y + 0.5)

    def rough_variance(self, residual):
        return max(residual, 1e-3)

    def value_and_partials(self, y, mean, variance):
        rate = np.exp(np.minimum(mean + variance / 2.0, 50.0))
        return LossPartials(rate - y * mean, rate - y, rate / 2.0)


@dataclass(frozen=True, eq=False)
class Rate(Continuous):
    """Counts; a score is the logarithm of the expected count, which is the answer."""

    kind: ClassVar[str] = "rate"
    score_name: ClassVar[str] = "D2"
    score_label: ClassVar[str] = "log rate"
    loss: ClassVar[Any] = Poisson()
    scaled: ClassVar[bool] = False
    temperatures: ClassVar[tuple[float, ...]] = (1.0, 4.0)
    anchor: ClassVar[float] = 4.0

    def answer(self, scores):
        return np.exp(scores)

    def answers(self, scores):
        return np.sort(np.exp(scores))

    def apart(self, first, second):
        return np.abs(np.exp(first) - np.exp(second)) > self.tolerance

    def level(self, answer) -> float:
        return float(np.log(answer))

    def shade(self, scores):
        return np.exp(scores)

    def describe(self) -> Answer:
        return replace(super().describe(), link="log")

    def judge(self, scores, rows) -> float:
        return float(d2_tweedie_score(rows.target, np.exp(scores), power=1))

    def losses(self, scores, rows):
        pairs = zip(rows.target, np.exp(scores), strict=True)
        return np.array([mean_poisson_deviance([y], [rate]) for y, rate in pairs])

    def simple_model(self):
        return make_pipeline(StandardScaler(), PoissonRegressor(alpha=1e-6))


class RateRegressor(LocalMixtureRegressor):
    _target = Rate


# -- localities in a few columns -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FewColumns(LearnedBalls):
    """Learned balls in some of the columns, each with a width of its own: sum_j (gap_j / width_j)^2
    is at most the squared radius.
    """

    columns: tuple[int, ...] = (0, 1)  # encoded
    width: tuple[float, ...] = (1.0, 0.5)  # standardized
    among: tuple[int, ...] = (0, 1)  # the same columns, counted among those that vary

    kind: ClassVar[str] = "few columns"

    def fit(self, inputs, encoded, weight) -> FewColumns:
        varying = np.flatnonzero(inputs.varies)
        return replace(self, among=tuple(np.searchsorted(varying, self.columns).tolist()))

    def expand(self, prior, n_localities, inputs):
        full = super().expand(prior, n_localities, inputs)
        return replace(full, center=np.asarray(full.center)[:, list(self.among)])

    def rows(self, Z, features):
        return Z[:, list(self.columns)] / np.array(self.width), None

    def move(self, posterior, stretch, shift, mean_stretch):
        part = list(self.among)
        return super().move(posterior, stretch[part], shift[part] / self.width, mean_stretch)

    def centers(self, inputs, posterior):
        part, units = list(self.columns), inputs.units
        centers = np.tile(inputs.typical, (posterior.n_localities, 1))
        standardized = posterior.center * self.width
        centers[:, part] = standardized / units.inverse_scale[part] + units.center[part]
        return centers

    def _widths(self, inputs):
        part = list(self.columns)
        return np.array(self.width) / inputs.units.inverse_scale[part]

    def center_scales(self, inputs, posterior):
        scales = np.zeros((posterior.n_localities, len(inputs.varies)))
        scales[:, list(self.columns)] = np.multiply.outer(
            posterior.center_scale, self._widths(inputs)
        )
        return scales

    def half_widths(self, inputs, posterior):
        halves = np.full((posterior.n_localities, len(inputs.varies)), np.inf)
        halves[:, list(self.columns)] = np.multiply.outer(self.radius, self._widths(inputs))
        return list(halves)

    def loci(self, inputs, posterior):
        return tuple(
            Locus(
                "euclidean",
                np.array(self.columns),
                center * self.width,
                float(radius),
                np.array(self.width) ** -2.0,
            )
            for center, radius in zip(posterior.center, self.radius, strict=True)
        )

    def describe(self, inputs, posterior):
        names = " and ".join(inputs.names[j] for j in self.columns)
        return tuple(f"within {radius:.3g} widths in {names}" for radius in self.radius)

    def content(self):
        return super().content() | {
            "columns": list(self.columns),
            "width": np.array(self.width),
            "among": list(self.among),
        }

    @classmethod
    def read(cls, read, inputs, n_localities) -> FewColumns:
        radius = read.array("radius", (n_localities,))
        columns, among = (tuple(read.sequence(name)) for name in ("columns", "among"))
        width = tuple(read.array("width", (len(columns),)).tolist())
        return cls(radius, columns, width, among)


class FewColumnsMixin:
    def _geometry(self, points, settings):
        return FewColumns()


class FewColumnsRegressor(FewColumnsMixin, LocalMixtureRegressor):
    pass


class FewColumnsClassifier(FewColumnsMixin, LocalMixtureClassifier):
    pass


class FewColumnsRate(FewColumnsMixin, RateRegressor):
    pass
