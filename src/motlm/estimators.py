"""LocalMixtureClassifier and LocalMixtureRegressor: validate, fit a mixture, delegate to it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from . import _docs, exports
from ._typing import AnyArray, Array, Booleans, Integers
from .certificates import Certificate, standing
from .checks import Settings, check_exposure, per_exposure
from .errors import (
    CertificateWarning,
    InputError,
    InputTypeError,
    ModelFileError,
    VoidCertificateError,
)
from .files import Saved, save_model
from .fitting import Kind, Sample, fit_mixture, geometries_of
from .geometry import Geometry
from .inputs import HANDLE_UNKNOWN, Columns
from .localities import Locality, LocalModel
from .missing import MISSING
from .mixture import Mixture, View
from .optimize import Record
from .overlap import OVERLAPS
from .posterior import Posterior, Prior
from .targets import LABEL_LOSSES, RATE_LOSSES, Binary, Continuous, Labels, Rate, Several, Target
from .units import Units

__all__ = ["ESTIMATORS", "LocalMixture", "LocalMixtureClassifier", "LocalMixtureRegressor"]


class LocalMixture(BaseEstimator):  # type: ignore[misc]
    """What the two estimators share."""

    _targets: tuple[type[Target], ...]  # that it may have
    _losses: tuple[str, ...]

    def __init__(
        self,
        n_localities: int | str = "auto",
        *,
        max_localities: int = 8,
        points_of_interest: Any = None,
        metric: Any = "euclidean",
        centers: str = "free",
        locality_features: Any = "auto",
        locality_columns: Any = None,
        locality_widths: Any = "learned",
        corrections: str = "auto",
        local_models: Any = "auto",
        monotonic_cst: Any = None,
        max_terms: Any = None,
        inverse_temperature: Any = "auto",
        select: str = "cv",
        validation_fraction: float = 0.2,
        solver: str = "lbfgs",
        n_starts: int = 4,
        max_iter: int = 1000,
        tol: float | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        overlap: str = "nearest",
        standardize: bool | Units = True,
        prior: Prior | None = None,
        handle_unknown: str = "warn",
        missing: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_localities = n_localities
        self.max_localities = max_localities
        self.points_of_interest = points_of_interest
        self.metric = metric
        self.centers = centers
        self.locality_features = locality_features
        self.locality_columns = locality_columns
        self.locality_widths = locality_widths
        self.corrections = corrections
        self.local_models = local_models
        self.monotonic_cst = monotonic_cst
        self.max_terms = max_terms
        self.inverse_temperature = inverse_temperature
        self.select = select
        self.validation_fraction = validation_fraction
        self.solver = solver
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.warm_start = warm_start
        self.overlap = overlap
        self.standardize = standardize
        self.prior = prior
        self.handle_unknown = handle_unknown
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @classmethod
    def from_saved(cls, saved: Saved) -> Any:
        """The estimator of what a file holds; an error if it does not belong to this class."""
        known = set(cls().get_params(deep=False))
        if set(saved.parameters) != known:
            raise ModelFileError(
                f"parameters should be {', '.join(sorted(known))}; got"
                f" {', '.join(sorted(saved.parameters))[:200]}."
            )
        model, target = cls(**saved.parameters), type(saved.mixture.target)
        if not issubclass(target, cls._targets):
            raise ModelFileError(f"target.kind {target.kind!r} is not that of a {saved.estimator}.")
        try:
            settings = Settings.of(model)
            model._check_loss(settings)
            settings.temperatures(saved.mixture.target)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"its parameters are not sound: {str(error)[:300]}") from None
        mixture = saved.mixture
        if saved.table is not None:
            model.table_ = saved.table
            mixture = replace(mixture, inputs=mixture.inputs.pool(saved.table.pooled))
        model.__dict__["mixture_"] = mixture
        if saved.certificate is not None:
            model.certificate_ = saved.certificate
        return model

    def _geometries(
        self, points: Array | None, settings: Settings, columns: Columns, target: Target
    ) -> list[Geometry]:
        """Where localities may lie, before any row is seen; of several, one is chosen."""
        return geometries_of(points, settings, columns, target)

    def _learn_target(self, y: AnyArray, settings: Settings) -> Target:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        return tags

    def _check_loss(self, settings: Settings) -> None:
        if settings.loss not in self._losses:
            raise InputError(
                f"loss must be one of {', '.join(map(repr, self._losses))}; got {settings.loss!r}."
            )

    def _fit(self, sample: Sample) -> None:
        """Everything is computed beside the estimator; a fit that fails leaves it as it was."""
        settings = Settings.of(self)
        self._check_loss(settings)

        def learn(y: AnyArray) -> Target:
            return self._learn_target(y, settings)

        kind = Kind(type(self).__name__, learn, self._geometries)
        before = getattr(self, "mixture_", None) if settings.warm_start else None
        self.mixture_, tried = fit_mixture(kind, settings, sample, before)
        # they were of another model
        for name in ("certificate_", "table_", "cv_results_", "cv_score_"):
            self.__dict__.pop(name, None)
        if tried is not None:
            self.cv_results_, self.cv_score_ = tried.table, tried.score

    def set_params(self, **params: Any) -> Any:
        """Set parameters; `overlap`, `handle_unknown` and `missing` take effect at once, others in
        a next fit.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self
        """
        super().set_params(**params)
        if "mixture_" in vars(self):
            self._follow()
        return self

    def _follow(self) -> Mixture:
        """The mixture by the present rules of reading it; the next fit refuses unknown ones."""
        overlap, unknown, missing = map(str, (self.overlap, self.handle_unknown, self.missing))
        mixture: Mixture = self.__dict__["mixture_"]
        if overlap in OVERLAPS and unknown in HANDLE_UNKNOWN and missing in MISSING:
            mixture = mixture.follow(OVERLAPS[overlap], unknown, missing)
            self.__dict__["mixture_"] = mixture
        return mixture

    # -- the mixture, its certificate and views of it ------------------------------------------

    @property
    def mixture_(self) -> Mixture:
        if "mixture_" not in vars(self):
            raise AttributeError(f"mixture_: this {type(self).__name__} is not fitted.")
        return self._follow()

    @mixture_.setter
    def mixture_(self, mixture: Mixture) -> None:
        """The parameters follow the rules of a mixture that was made, not fitted."""
        self.__dict__["mixture_"] = mixture
        for name, rule in (
            ("overlap", mixture.overlap.name),
            ("handle_unknown", mixture.inputs.handle_unknown),
            ("missing", mixture.inputs.missing),
        ):
            if getattr(self, name) != rule:
                setattr(self, name, rule)

    @mixture_.deleter
    def mixture_(self) -> None:
        _delete(self, "mixture_")

    @property
    def certificate_(self) -> Certificate:
        """The certificate, as long as it stands: an error that says why if it is void."""
        found = standing(self)
        if found.void:
            raise VoidCertificateError(f"certificate_: {found.void}")
        if found.certificate is None:
            raise AttributeError(
                "certificate_: the model has no certificate; motlm.certificates.certify makes one."
            )
        return found.certificate

    @certificate_.setter
    def certificate_(self, certificate: Certificate) -> None:
        self.__dict__["certificate_"] = certificate

    @certificate_.deleter
    def certificate_(self) -> None:
        _delete(self, "certificate_")

    @property
    def localities_(self) -> list[Locality]:
        return list(self.mixture_.localities)

    @property
    def exterior_(self) -> LocalModel:
        return self.mixture_.exterior

    @property
    def posterior_(self) -> Posterior:
        return self.mixture_.posterior

    @property
    def objective_(self) -> float:
        return self._of_search("objective")

    @property
    def gibbs_risk_(self) -> float:
        return self._of_search("gibbs_risk")

    @property
    def kl_(self) -> float:
        return self._of_search("kl")

    @property
    def inverse_temperature_(self) -> float:
        return self.mixture_.provenance.inverse_temperature

    @property
    def path_(self) -> list[Record]:
        return list(self.mixture_.provenance.path)

    @property
    def n_iter_(self) -> int:
        return self.mixture_.provenance.n_iter

    @property
    def n_features_in_(self) -> int:
        return len(self.mixture_.inputs.columns.names)

    @property
    def feature_names_in_(self) -> AnyArray:
        inputs = self.mixture_.inputs
        if not inputs.reading.named:
            raise AttributeError("feature_names_in_: the columns had no names in fit.")
        return np.array(inputs.columns.names, dtype=object)

    def _of_search(self, name: str) -> float:
        value = getattr(self.mixture_.provenance, name)
        if value is None:
            raise AttributeError(
                f"{name}_: this model was not fitted; it was derived from another one."
            )
        return float(value)

    # -- answers -------------------------------------------------------------------------------

    def _gather(self, X: Any, function: Callable[[View], AnyArray]) -> AnyArray:
        """A function of the view of each row."""
        check_is_fitted(self)
        mixture = self._follow()
        return np.concatenate([function(view) for view in mixture.views(mixture.encode(X))])

    def predict(self, X: Any) -> AnyArray:
        """Label or prediction of the model used for each row (see `apply`, and `overlap`).

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray, (n_rows,)

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], random_state=0)
        >>> mixture.fit(X, y).predict([[0.5], [1.5]]).round(1)  # 0.54 x inside, -0.55 x outside
        array([ 0.3, -0.8])
        """
        return self._gather(X, lambda view: view.answer)

    def predict_set(self, X: Any) -> list[AnyArray]:
        """All labels or predictions of applicable models, for each row, in increasing order.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        list of n_rows arrays

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], random_state=0)
        >>> [answers.round(1) for answers in mixture.fit(X, y).predict_set([[0.5], [1.5]])]
        [array([0.3]), array([-0.8])]
        """
        check_is_fitted(self)
        mixture = self._follow()
        return [
            mixture.target.answers(scores[which])
            for view in mixture.views(mixture.encode(X))
            for scores, which in zip(
                np.moveaxis(view.scores, -1, 0), view.applicable.T, strict=True
            )
        ]

    def membership(self, X: Any) -> Booleans:
        """Which localities contain each row: distance <= radius, where membership is at least 1/2.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray of bool, (n_rows, n_localities)

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], random_state=0)
        >>> mixture.fit(X, y).membership([[0.0], [1.5]])
        array([[ True],
               [False]])
        """
        return self._gather(X, lambda view: view.member.T)

    def membership_proba(self, X: Any) -> Array:
        """Probability, under the posterior, that each locality contains each row.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray, (n_rows, n_localities)

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], random_state=0)
        >>> [ball] = mixture.fit(X, y).localities_
        >>> mixture.membership_proba([ball.center, ball.center + ball.half_width]).round(3)
        array([[1. ],
               [0.5]])
        """
        return self._gather(X, lambda view: view.membership.T)

    def apply(self, X: Any) -> Integers:
        """Index in `localities_` of the model used for each row; n for the exterior model.

        With `overlap="mean"` it is -1 where several models are averaged.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray of int, (n_rows,)

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], random_state=0)
        >>> mixture.fit(X, y).apply([[0.0], [1.5]])
        array([0, 1])
        """
        return self._gather(X, lambda view: view.used)

    # -- files and other systems ---------------------------------------------------------------

    def save(self, path: Any, *, overwrite: bool = True) -> Any:
        """Write the fitted model to a JSON file that people can read; `motlm.load` reads it, to the
        last bit.

        Parameters
        ----------
        path : str or Path
        overwrite : bool, default=True
            Whether a file that exists may be replaced.

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> model = LocalMixtureRegressor(points_of_interest=[[0.0189]], random_state=0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "model.json").name
        'model.json'
        """
        return save_model(self.to_saved(), path, overwrite)

    def to_saved(self, steps: Any = None) -> Saved:
        """What a file holds of it; `steps` are those of a pipeline before it."""
        check_is_fitted(self)
        if ESTIMATORS.get(type(self).__name__) is not type(self):
            raise InputTypeError(
                f"model files hold motlm's estimators; got a {type(self).__name__}."
            )
        Settings.of(self)  # parameters that were changed since the fit may be none
        void = standing(self).void
        if void:
            warnings.warn(
                CertificateWarning(f"the model is saved without its certificate: {void}"),
                stacklevel=3,
            )
        return Saved(
            estimator=type(self).__name__,
            parameters=self.get_params(deep=False),
            mixture=self._follow(),
            table=getattr(self, "table_", None),
            certificate=None if void else vars(self).get("certificate_"),
            steps=steps,
        )

    def to_python(self, name: str = "predict") -> str:
        """Source of a Python function without dependencies that predicts for one row, a mapping of
        column names to values.

        Parameters
        ----------
        name : str, default="predict"
            Of the function.

        Returns
        -------
        str

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> model = LocalMixtureRegressor(points_of_interest=[[0.0189]], random_state=0).fit(X, y)
        >>> names = {}
        >>> exec(model.to_python("answer"), names)
        >>> bool(abs(names["answer"]({"x0": 0.5}) - model.predict([[0.5]])[0]) < 1e-9)
        True
        """
        return exports.to_python(self, name)

    def to_sql(self, dialect: str = "ansi") -> str:
        """One SQL expression whose value is the prediction for a row of a table; NULL where it
        cannot be given.

        Parameters
        ----------
        dialect : str, default="ansi"
            "ansi" is standard SQL; the others, for what databases quote and name differently, are
            "postgres", "sqlite", "duckdb", "mysql", "bigquery", "snowflake", "tsql", "spark" and
            "databricks".

        Returns
        -------
        str

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> model = LocalMixtureRegressor(points_of_interest=[[0.0189]], random_state=0).fit(X, y)
        >>> model.to_sql()  # doctest: +ELLIPSIS
        'CASE WHEN "x0" IS NULL THEN NULL ELSE CASE WHEN ... <= ... THEN (...) ELSE (...) END...'
        >>> model.to_sql("mysql")  # doctest: +ELLIPSIS
        'CASE WHEN `x0` IS NULL THEN NULL ELSE CAST(CASE WHEN ... END * ... + ... AS DOUBLE) END'
        """
        return exports.to_sql(self, dialect)

    def to_onnx(self) -> Any:
        """An ONNX model of columns of numbers; needs onnx: pip install 'motlm[onnx]'.

        Returns
        -------
        onnx ModelProto

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], random_state=0)
        >>> graph = mixture.fit(X, y).to_onnx().graph
        >>> [one.name for one in graph.input], [one.name for one in graph.output]
        (['X'], ['score'])
        """
        return exports.to_onnx(self)


class LocalMixtureClassifier(ClassifierMixin, LocalMixture):  # type: ignore[misc]
    __doc__ = _docs.CLASSIFIER

    _targets = (Binary, Several)
    _losses = LABEL_LOSSES

    def __init__(
        self,
        n_localities: int | str = "auto",
        *,
        max_localities: int = 8,
        points_of_interest: Any = None,
        metric: Any = "euclidean",
        centers: str = "free",
        locality_features: Any = "auto",
        locality_columns: Any = None,
        locality_widths: Any = "learned",
        corrections: str = "auto",
        local_models: Any = "auto",
        monotonic_cst: Any = None,
        max_terms: Any = None,
        inverse_temperature: Any = "auto",
        select: str = "cv",
        validation_fraction: float = 0.2,
        solver: str = "lbfgs",
        n_starts: int = 4,
        max_iter: int = 1000,
        tol: float | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        loss: str = "log",
        class_weight: Any = None,
        coef_scale: str = "free",
        combine: str = "sum",
        overlap: str = "nearest",
        standardize: bool | Units = True,
        prior: Prior | None = None,
        handle_unknown: str = "warn",
        missing: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_localities,
            max_localities=max_localities,
            points_of_interest=points_of_interest,
            metric=metric,
            centers=centers,
            locality_features=locality_features,
            locality_columns=locality_columns,
            locality_widths=locality_widths,
            corrections=corrections,
            local_models=local_models,
            monotonic_cst=monotonic_cst,
            max_terms=max_terms,
            inverse_temperature=inverse_temperature,
            select=select,
            validation_fraction=validation_fraction,
            solver=solver,
            n_starts=n_starts,
            max_iter=max_iter,
            tol=tol,
            max_time=max_time,
            warm_start=warm_start,
            overlap=overlap,
            standardize=standardize,
            prior=prior,
            handle_unknown=handle_unknown,
            missing=missing,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.loss = loss
        self.class_weight = class_weight
        self.coef_scale = coef_scale
        self.combine = combine

    def _learn_target(self, y: AnyArray, settings: Settings) -> Target:
        return Labels.learn(y, settings.loss)

    @property
    def classes_(self) -> AnyArray:
        return np.array(self.mixture_.target.classes)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        groups: Any = None,
    ) -> LocalMixtureClassifier:
        """Learn localities and models.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)
        y : array of (n_rows,), with two distinct labels or more
        sample_weight : array of (n_rows,), default=None
            An integer weight is the same as repeating the row.
        X_val, y_val : like X and y, default=None
            Rows on which to choose, instead of by cross-validation or on some that are held out
            of X.
        groups : array of (n_rows,), default=None
            Of which rows belong together, as those of one client do: cross-validation leaves out
            whole groups, as scikit-learn's GroupKFold does; so does `select="held-out"`.

        Returns
        -------
        self

        Examples
        --------
        >>> from motlm import LocalMixtureClassifier
        >>> from motlm.datasets import make_clf_case2
        >>> X, y = make_clf_case2(400, random_state=0)
        >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
        >>> mixture = LocalMixtureClassifier(points_of_interest=points, random_state=0)
        >>> model = mixture.fit(X, y)
        >>> model is mixture, model.classes_, model.score(X, y) > 0.8
        (True, array([-1.,  1.]), True)
        """
        self._fit(Sample(X, y, sample_weight, X_val, y_val, groups=groups))
        return self

    def decision_function(self, X: Any) -> Array:
        """The log-odds of `predict_proba`; positive where `predict` answers `classes_[1]`.

        With the log loss it is the score itself, the value of the formula that is used for the row.
        Of several classes there is a column for each, the largest that of `predict`: the scores, or
        with the zero-one loss the logarithms of the probabilities.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray, (n_rows,) or (n_rows, n_classes)

        Examples
        --------
        >>> from motlm import LocalMixtureClassifier
        >>> from motlm.datasets import make_clf_case2
        >>> X, y = make_clf_case2(400, random_state=0)
        >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
        >>> model = LocalMixtureClassifier(points_of_interest=points, random_state=0).fit(X, y)
        >>> model.decision_function([[-1.4, 0.5], [-1.4, -0.5], [0.0, -1.0]]) > 0
        array([ True, False,  True])
        """
        return self._gather(X, lambda view: view.decision)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the labels, of the model that is used for each row (see `apply`): the
        label of `predict` has the larger one.

        With the log loss they are 1 / (1 + exp(-score)), or exp(score) over the sum of that for all
        of several classes; with the zero-one loss the probability that the posterior's random score
        is positive, or the largest.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray, (n_rows, n_classes)

        Examples
        --------
        >>> from motlm import LocalMixtureClassifier
        >>> from motlm.datasets import make_clf_case2
        >>> X, y = make_clf_case2(400, random_state=0)
        >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
        >>> model = LocalMixtureClassifier(points_of_interest=points, random_state=0).fit(X, y)
        >>> proba = model.predict_proba([[-1.4, 0.5], [-1.4, -0.5], [0.0, -1.0]])
        >>> proba.shape, proba[:, 1] > 0.5
        ((3, 2), array([ True, False,  True]))
        """
        return self._gather(X, lambda view: view.probabilities)

    def vote_proba(self, X: Any) -> Array:
        """The posterior's vote: memberships times the probability that each model's random score is
        positive, or, of several classes, the largest.

        It weighs all models by how likely the row is to be theirs, so that near the edge of a
        locality it may favor the other label than `predict`, which uses the models that apply.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray, (n_rows, n_classes)

        Examples
        --------
        >>> from motlm import LocalMixtureClassifier
        >>> from motlm.datasets import make_clf_case2
        >>> X, y = make_clf_case2(400, random_state=0)
        >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
        >>> model = LocalMixtureClassifier(points_of_interest=points, random_state=0).fit(X, y)
        >>> model.vote_proba([[-1.4, 0.5], [-1.4, -0.5], [0.0, -1.0]])[:, 1] > 0.5
        array([ True, False,  True])
        """

        return self._gather(X, lambda view: view.votes)

    def ambiguous(self, X: Any) -> Booleans:
        """Rows for which applicable local models give different labels.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)

        Returns
        -------
        ndarray of bool, (n_rows,)

        Examples
        --------
        >>> from motlm import LocalMixtureClassifier
        >>> from motlm.datasets import make_clf_case2
        >>> X, y = make_clf_case2(400, random_state=0)
        >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
        >>> model = LocalMixtureClassifier(points_of_interest=points, random_state=0).fit(X, y)
        >>> model.ambiguous([[-1.4, 0.5], [-1.4, -0.5], [0.0, -1.0]])
        array([False, False, False])
        """
        return self._gather(X, lambda view: view.contradicted)


class LocalMixtureRegressor(RegressorMixin, LocalMixture):  # type: ignore[misc]
    __doc__ = _docs.REGRESSOR

    _targets = (Continuous, Rate)
    _losses = ("squared", *RATE_LOSSES)

    def __init__(
        self,
        n_localities: int | str = "auto",
        *,
        max_localities: int = 8,
        points_of_interest: Any = None,
        metric: Any = "euclidean",
        centers: str = "free",
        locality_features: Any = "auto",
        locality_columns: Any = None,
        locality_widths: Any = "learned",
        corrections: str = "auto",
        local_models: Any = "auto",
        monotonic_cst: Any = None,
        max_terms: Any = None,
        inverse_temperature: Any = "auto",
        select: str = "cv",
        validation_fraction: float = 0.2,
        solver: str = "lbfgs",
        n_starts: int = 4,
        max_iter: int = 1000,
        tol: float | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        loss: str = "squared",
        power: float = 1.5,
        overlap: str = "nearest",
        standardize: bool | Units = True,
        prior: Prior | None = None,
        handle_unknown: str = "warn",
        missing: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_localities,
            max_localities=max_localities,
            points_of_interest=points_of_interest,
            metric=metric,
            centers=centers,
            locality_features=locality_features,
            locality_columns=locality_columns,
            locality_widths=locality_widths,
            corrections=corrections,
            local_models=local_models,
            monotonic_cst=monotonic_cst,
            max_terms=max_terms,
            inverse_temperature=inverse_temperature,
            select=select,
            validation_fraction=validation_fraction,
            solver=solver,
            n_starts=n_starts,
            max_iter=max_iter,
            tol=tol,
            max_time=max_time,
            warm_start=warm_start,
            overlap=overlap,
            standardize=standardize,
            prior=prior,
            handle_unknown=handle_unknown,
            missing=missing,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.loss = loss
        self.power = power

    def _learn_target(self, y: AnyArray, settings: Settings) -> Target:
        if settings.loss == "squared":
            return Continuous.learn(y)
        if settings.loss != "tweedie":  # has no power, whatever is given
            return Rate.learn(y, settings.loss)
        return Rate.learn(y, settings.loss, float(settings.power))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss in RATE_LOSSES
        return tags

    @property
    def target_scale_(self) -> float:
        return self.mixture_.target.scale

    @property
    def residual_scale_(self) -> float:
        return self.mixture_.target.tolerance

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        exposure: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        exposure_val: Any = None,
        groups: Any = None,
    ) -> LocalMixtureRegressor:
        """Learn localities and models.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)
        y : array of (n_rows,)
        sample_weight : array of (n_rows,), default=None
            An integer weight is the same as repeating the row.
        exposure : array of (n_rows,), default=None
            With a loss of rates: how long, or how much, each row was observed, as policies are for
            years; y is what happened in all of that time. The same as y / exposure with the weight
            exposure.
        X_val, y_val, exposure_val : like X, y and exposure, default=None
            Rows on which to choose, instead of by cross-validation or on some that are held out
            of X.
        groups : array of (n_rows,), default=None
            Of which rows belong together, as those of one client do: cross-validation leaves out
            whole groups, as scikit-learn's GroupKFold does; so does `select="held-out"`.

        Returns
        -------
        self

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], random_state=0)
        >>> model = mixture.fit(X, y)
        >>> model is mixture, round(model.score(X, y), 2)
        (True, 1.0)
        """
        weight_val = None
        if exposure is not None:
            self._check_rate("exposure")
            y, sample_weight = per_exposure(y, exposure, sample_weight, "exposure")
        if exposure_val is not None:
            self._check_rate("exposure_val")
            if y_val is None:
                raise InputError("exposure_val comes with X_val and y_val; got it alone.")
            y_val, weight_val = per_exposure(y_val, exposure_val, None, "exposure_val")
        self._fit(Sample(X, y, sample_weight, X_val, y_val, weight_val, groups))
        return self

    def _check_rate(self, what: str) -> None:
        if self.loss not in RATE_LOSSES:
            raise InputError(
                f"{what} is for losses of rates, {', '.join(map(repr, RATE_LOSSES))}; got"
                f" loss={self.loss!r}.",
                "Set loss='poisson', or leave it out.",
            )

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Around each prediction, an interval that contains such a share of new targets, about.

        Its width comes from the errors of rows that were left out in cross-validation (`select`),
        by models of their own; it is the same for all rows. A certified interval, and one of its
        own for each locality, comes from `motlm.certificates.prediction_interval`.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        ndarray, (n_rows, 2)
            Lower and upper end, in the units of y.

        Examples
        --------
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> model = LocalMixtureRegressor(1, local_models="linear", random_state=0).fit(X, y)
        >>> low, high = model.predict_interval(X).T
        >>> 0.85 < float(((low <= y) & (y <= high)).mean()) < 0.97
        True
        """
        target = self.mixture_.target
        if not isinstance(target, Continuous):
            raise InputError(
                "predict_interval is for loss='squared'; the spread of a rate depends on exposures."
            )
        if not (isinstance(coverage, Real) and 0 < float(coverage) < 1):
            raise InputError(f"coverage must lie between 0 and 1; got {coverage!r}.")
        answers, half = self.predict(X), target.half_width(float(coverage))
        return np.column_stack([answers - half, answers + half])

    def predict(self, X: Any, exposure: Any = None) -> AnyArray:
        """Prediction of the model used for each row (see `apply`, and `overlap`).

        With a loss of rates it is the rate, per unit of exposure; where exposures are given, what
        is expected to happen in them.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)
        exposure : array of (n_rows,), default=None

        Returns
        -------
        ndarray, (n_rows,)

        Examples
        --------
        >>> import numpy as np
        >>> from motlm import LocalMixtureRegressor
        >>> rng = np.random.default_rng(0)
        >>> X, years = rng.uniform(size=(500, 1)), rng.uniform(0.5, 2, size=500)
        >>> claims = rng.poisson(years * np.exp(X[:, 0]))
        >>> model = LocalMixtureRegressor(0, loss="poisson").fit(X, claims, exposure=years)
        >>> rate = model.predict([[0.5]])
        >>> bool(1.5 < rate[0] < 1.8), bool(model.predict([[0.5]], exposure=[2.0]) == 2 * rate)
        (True, True)
        """
        answers = super().predict(X)
        if exposure is None:
            return answers
        self._check_rate("exposure")
        return np.asarray(answers * check_exposure(exposure, len(answers)))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, exposure: Any = None) -> float:
        """R2; with a loss of rates D2, the fraction of the deviance that is explained: 1 less the
        mean deviance over that of the mean rate of these rows.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)
        y : array of (n_rows,)
        sample_weight : array of (n_rows,), default=None
        exposure : array of (n_rows,), default=None
            As in `fit`.

        Returns
        -------
        float
        """
        if exposure is not None:
            self._check_rate("exposure")
            y, sample_weight = per_exposure(y, exposure, sample_weight, "exposure")
        answers, target = self.predict(X), self.mixture_.target
        if not isinstance(target, Rate):
            return float(r2_score(y, answers, sample_weight=sample_weight))
        codes = target.code(y)
        check_consistent_length(answers, codes)
        mean = np.full(len(codes), np.average(codes, weights=sample_weight))
        reached, trivial = (
            float(np.average(target.deviances(codes, one), weights=sample_weight))
            for one in (answers, mean)
        )
        return 1.0 - reached / trivial if trivial > 0 else float(reached == 0)

    def ambiguous(self, X: Any, tolerance: float | None = None) -> Booleans:
        """Rows for which predictions of applicable local models are further apart than a tolerance.

        Parameters
        ----------
        X : array or DataFrame of (n_rows, n_features)
        tolerance : float, default=None
            In the units of the target; None is `residual_scale_`.

        Returns
        -------
        ndarray of bool, (n_rows,)

        Examples
        --------
        >>> from motlm import LocalMixtureRegressor
        >>> from motlm.datasets import make_reg_case1
        >>> X, y = make_reg_case1(300, random_state=0)
        >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], random_state=0)
        >>> mixture.fit(X, y).ambiguous([[0.5], [1.5]])
        array([False, False])
        """
        if tolerance is not None and not tolerance >= 0:
            raise InputError(
                f"tolerance must be a number >= 0, in the units of the target; got {tolerance!r}."
            )
        if tolerance is None:
            return self._gather(X, lambda view: view.contradicted)
        return np.asarray(self._gather(X, lambda view: view.spread) > tolerance)


def _delete(estimator: Any, name: str) -> None:
    """As `del` does of a plain attribute."""
    if name not in vars(estimator):
        raise AttributeError(name)
    del estimator.__dict__[name]


ESTIMATORS: dict[str, type[LocalMixture]] = {
    one.__name__: one for one in (LocalMixtureClassifier, LocalMixtureRegressor)
}
