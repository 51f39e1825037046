"""What the documentation of the two estimators shares."""

from __future__ import annotations

import numpy as np

from .checks import list_numbers
from .targets import Binary, Continuous

__all__ = ["CLASSIFIER", "REGRESSOR"]

PARAMETERS = """
    Parameters
    ----------
    n_localities : int or "auto", default="auto"
        How many localities to search for. 0 is one model. A number is kept if it can be: a
        locality that is left without rows, or with all of them, is replaced by another one, and
        dropped, with a warning, only where none can be found. "auto" grows the mixture one locality
        at a time, up to `max_localities` or until three more (without cross-validation two) give
        no improvement, and takes the number that does best (see `select`). Ignored where
        points_of_interest are given.
    max_localities : int, default=8
        Most localities that "auto" tries.
    points_of_interest : array or DataFrame of (n_localities, n_features), default=None
        Centers of the localities, in the columns and units of X. They stay where they are; radii,
        widths and models are learned. None: the centers are learned too.
    metric : str or callable, default="euclidean"
        Distance between (standardized) rows and centers. With points_of_interest or
        ``centers="rows"`` any metric that scikit-learn's `pairwise_distances` knows by name, a
        function of two rows, or "gower", for tables with categories: the mean over the columns of
        the gap divided by the range for numbers, and of 0 or 1 for categories. These look at all
        columns. Free centers are Euclidean.
    centers : "free" or "rows", default="free"
        Where learned centers may lie: anywhere, or at training rows, so that a locality is the
        neighborhood of a real case.
    locality_features : "auto", int, "all" or "ball", default="auto"
        The columns that each locality looks at: at most so many (1: an interval in one column), or
        "all"; "ball" is the paper's, all of them with equal widths. "auto" is at most three, or all
        of them if these do better on held-out rows; with {paper} it is
        "ball". Around points_of_interest localities look at all columns, or at `locality_columns`,
        and only "ball" makes a difference.
    locality_columns : list of str or int, str, int or None, default=None
        Names, or numbers, of the columns that localities may look at; around points_of_interest,
        those that they do look at. None: columns of numbers and those of two levels, or all if
        there are no such. Of a category with more levels that is named, each level may be looked
        at.
    locality_widths : "learned", "equal", sequence or dict of float, default="learned"
        Whether each column of a locality has a width of its own, or all have the same one between
        standardized rows. Around points_of_interest with locality_columns also a number for each
        of these, in the units of X: widths keep these proportions, and the radius is learned.
    corrections : "auto", "own", "all" or "none", default="auto"
        What local models are. "own": the exterior model with another intercept and other weights
        of the columns that the locality looks at. "all": with other weights of all columns.
        "none": models of their own, independent of the exterior one, as in the paper. "auto" is
        "own"; with {paper} it is "none".
    local_models : "auto", "linear", "additive" or a scikit-learn transformer, default="auto"
        What models are made of: straight lines, or for each column of numbers with five values or
        more a curve (piecewise linear, with a straight line beyond the training rows), smooth or
        rugged as rows left out say. Corrections in localities stay straight. "auto" is additive
        where that predicts rows left out better;
        linear with {paper}, and with ``select="bound"``. A transformer, such as ``Nystroem()`` or
        ``PolynomialFeatures(2)``, is fitted to the columns in standard units, and models see its
        outputs beside the columns; localities look at the columns alone.
    monotonic_cst : dict, list of int or None, default=None
        Columns in which each model must rise (1) or fall (-1), as in scikit-learn's
        HistGradientBoosting: by name, or a number for each column. Columns of numbers only. Local
        slopes are then at least as strong as the exterior's.
    max_terms : int, "auto" or None, default=None
        Most terms of each model's formula; a term is what a column adds, in a local model that is a
        correction how it counts differently. The smallest are struck out a few at a time, and the
        rest refitted. "auto" goes on as long as rows left out are not predicted significantly
        worse, by cross-validation. None keeps all.
    inverse_temperature : "auto", float or sequence of float, default="auto"
        The paper's lambda', where lambda = lambda' * (sum of weights) divides the KL divergence.
        {auto_rule} Of a sequence one is chosen (see `select`), and the model refitted on all rows.
    select : "cv", "held-out" or "bound", default="cv"
        How all that is left open is chosen: by cross-validation, on held-out rows (or on `X_val`),
        or, without leaving any out, by {bound}. Cross-validation has five folds, three times
        over below 300 rows; of 2000 rows or more three of the folds are used, and above 20 000 one
        held-out part. All candidates are compared on the same rows, and the simplest wins that is
        not worse than the best by more than a standard error: the fewest localities, linear models,
        localities in a few columns. On held-out rows {which} is taken.
    validation_fraction : float, default=0.2
        Share of the rows that is held out to choose by, without cross-validation.
    solver : "lbfgs" or "nadam", default="lbfgs"
        "nadam" is the paper's solver with its random starts, learning rates and stopping rule.
    n_starts : int, default=4
        Effort of the search. "lbfgs": starts that are polished for a few steps, of sixteen times as
        many that are drawn, in each of the ways to come by a mixture; the best are searched to the
        end. "nadam": random starts.
    max_iter : int, default=1000
        Most steps of one search.
    tol : float, default=None
        Relative decrease of the objective at which a search stops; None is the solver's own (1e-5
        for ten steps of "lbfgs", 0.05 for 40 of "nadam").
    max_time : float, default=None
        Seconds after which the search stops with the best model found so far, and a warning. Ctrl-C
        does the same.
    warm_start : bool, default=False
        Whether to go on from the model of the last fit: its localities, number and
        `inverse_temperature_` (some are added or dropped where n_localities has changed) are
        searched on, without looking for others.{loss}{coef_scale}
    overlap : "nearest" or "mean", default="nearest"
        Which of several applicable local models is used: that of the nearest center, or all, by
        the mean of their scores. `set_params` changes it without another fit.
    standardize : bool or Units, default=True
        Whether to bring all columns to mean 0 and standard deviation 1 first. The priors expect
        that. Everything is reported in the user's units all the same. `Units.of_rows` takes means
        and deviations from other rows, as a certificate without a split needs them.
    prior : Prior, default=None
        Prior distributions, in standardized units. ``Prior()`` is the paper's. None: {prior}.
    handle_unknown : "warn", "ignore" or "error", default="warn"
        What to do with a category that fit did not see, or with a value that is missing in a
        column where none was missing in fit: take it as the training average, with a warning or
        without one, or refuse it.
    missing : "auto" or "error", default="auto"
        What to do with missing values (NaN, None, pandas.NA) in X. "auto": of a column of numbers
        the median of the training rows stands in for them in the models, beside a term "age is
        missing"; of categories they are a level of their own. A row is not in a locality that looks
        at a number which the row lacks; localities in all columns look at those in which nine
        training rows in ten have values, unless `locality_columns` names columns. "error" refuses
        them. `set_params` changes it without another fit.
    n_jobs : int, default=None
        Threads among which the searches are shared out, and the rows where there are many; -1 for
        all cores, None for 1 or what `joblib.parallel_config` says. The model is the same for any
        number.
    verbose : int, default=0
        1 shows a progress bar: what is being done, and the best objective.
    random_state : int, RandomState or None, default=None
        Seed of the starts and of the held-out rows. The order of the rows does not matter.

    Attributes
    ----------
    mixture_ : Mixture
        The fitted model; the other attributes are views of it.
    certificate_ : Certificate
        Of a certified model, as long as it stands; else an AttributeError that says why.
    localities_ : list of Locality
        Each with center, half_width, coef, intercept, n_rows and formula(), in the user's units,
        with `where`, its place in words, and with radius and radius_mean, which are distances
        between standardized rows, in its own widths. half_width is infinite along a column that it
        does not look at. A locality that no training row belongs to is dropped, with a warning.
    exterior_ : LocalModel
        The model of the rows that no locality contains.
    posterior_ : Posterior
        The distributions learned, in standardized units; its `layout` has the columns of each
        locality with their weights, and which weights local models correct.
    objective_, gibbs_risk_, kl_ : float
        What was minimized, L_S(Q) + KL / lambda, and its parts{units}.
    inverse_temperature_ : float
        lambda', given or chosen.
    cv_score_ : float
        After cross-validation: of the rows left out, R2, or minus the log loss or deviance, of what
        was chosen. Being the score of a winner it is a little too good. Not kept in files.
    cv_results_ : dict of arrays
        All candidates, as in scikit-learn: `local_models`, `locality_features`, `n_localities`,
        `inverse_temperature`, `mean_test_score`, `standard_error`, `rank_test_score`, `chosen`.
    path_ : list of Record
        The minima found, for every number of localities and inverse temperature tried.
    n_iter_ : int
        Steps of the search that won.
    n_features_in_, feature_names_in_
        As in scikit-learn.
"""


OBJECTIVE = r"""    Notes
    -----
    Training minimizes, over the distributions Q of all parameters and with the prior P,

    .. math::

        L_S(Q) + \frac{KL(Q \,\|\, P)}{\lambda}, \qquad \lambda = \lambda' \sum_j \alpha_j,

    .. math::

        L_S(Q) = \frac{1}{\sum_j \alpha_j} \sum_j \alpha_j \Big[ \sum_{i=1}^n \omega_i(x_j) \,
        \ell_i(x_j, y_j) + \ell_{ext}(x_j, y_j) \prod_{i=1}^n \big(1 - \omega_i(x_j)\big) \Big],

    where :math:`\alpha_j` are the weights of the rows, :math:`\omega_i(x)` is the probability that
    locality i contains the row, and :math:`\ell_i`, :math:`\ell_{ext}` are the losses of the local
    models and of the exterior one. Locality i contains the rows with

    .. math::

        D_i(x)^2 = \sum_{k \in J_i} a_{ik} (x_k - c_{ik})^2 \le \beta_i^2,

    where :math:`J_i` are the columns that it looks at, with weights :math:`a_{ik}` whose geometric
    mean is 1 (all of them are 1 in the paper's balls). Its radius :math:`\beta_i` has a Gamma
    distribution; its center is normal with standard deviations
    :math:`\varepsilon_i / \sqrt{a_{ik}}`, or given. KL has :math:`(\ln a_{ik})^2 / 2` for each
    weight, and the logarithm of the number of ways to choose the columns.

    For a standardized row x the score :math:`s_i` of model i is normal with mean
    :math:`m_i = w_i \cdot x + b_i`, so that its loss has a closed form. The variances are, of the
    exterior model, and of a local one that corrects its weights in the columns :math:`S_i`,

    .. math::

        v_{ext} = \rho_{ext}^2 |x|^2 + \sigma_{ext}^2, \qquad
        v_i = v_{ext} + \rho_i^2 \sum_{k \in S_i} x_k^2 + \sigma_i^2.

    The prior of all corrections is normal around 0; its scale is learned with the other ones. With
    ``corrections="none"`` it is :math:`v_i = \rho_i^2 |x|^2 + \sigma_i^2`.

"""

CLASSIFIER = (
    """Classification by a few readable models, each in a locality of its own, and one outside.

    Minimizes the PAC-Bayes objective of "Mixtures of Transparent Local Models" (Diaby, Duchesne and
    Marchand) in closed form.
"""
    + PARAMETERS.format(
        auto_rule=(
            f'"auto" tries {list_numbers(Binary(np.empty(2)).temperatures)}, around Bayes\' rule,'
            " 1."
        ),
        which=(
            "the one nearest to 1 that is not significantly worse on"
            "\n        held-out rows than the best (by a standard error of the difference; with the"
            " zero-one loss\n        the smallest such one)"
        ),
        prior=(
            "the scales of the weights\n        are learned (``Prior(learn_scales=True)``); with"
            " the zero-one loss the paper's"
        ),
        loss="""
    loss : "log" or "zero-one", default="log"
        What is minimized. With the log loss scores are log-odds, and n_localities and
        inverse_temperature are chosen by the log loss of held-out rows: the simplest model that is
        not significantly worse than the best. "zero-one" is the paper's.
    class_weight : "balanced", dict or None, default=None
        Weights of the labels, as in scikit-learn; "balanced" gives each label the same weight in
        all. Probabilities are then those of rows so weighted.""",
        coef_scale="""
    coef_scale : "free" or "unit", default="free"
        Whether the posterior scale of the weights is learned, or, with the zero-one loss, fixed at
        1 as in the paper. Free has the lower minimum.
    combine : "sum" or "any", default="sum"
        The loss of a row to which several models apply: the sum of theirs, as in the paper, or the
        probability that any of them errs, which is never more, for the zero-one loss.""",
        units="",
        bound="Catoni's bound on the risk",
        paper='loss="zero-one" or solver="nadam"',
    )
    + r"""    classes_ : ndarray of (n_classes,)
        The labels.

"""
    + OBJECTIVE
    + r"""    With labels -1 and +1 the log loss is bounded by

    .. math::

        \ell_i(x, y) = \ln(1 + e^{-\xi}) + (\xi - y \, m_i) / 2, \qquad
        \xi = \sqrt{m_i^2 + v_i},

    (Jaakkola and Jordan), with equality where :math:`v_i = 0`, and the zero-one loss is

    .. math::

        \ell_i(x, y) = P(y s_i \le 0) = \Phi\big(-y \, m_i / \sqrt{v_i}\big).

    With ``combine="any"`` the bracket is :math:`1 - \prod_i (1 - \omega_i \ell_i) + \ell_{ext}
    \prod_i (1 - \omega_i)`, the probability that some applicable model errs.

    `predict` uses one model for each row: of the localities that contain it (distance at most
    `radius`) that of the nearest center, or, where none does, the exterior model. The label is the
    sign of its mean score. With ``overlap="mean"`` it is the sign of the mean of the scores of all
    localities that contain the row.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> X, y = make_clf_case2(random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> mixture = LocalMixtureClassifier(
    ...     points_of_interest=points, standardize=False, random_state=0
    ... )
    >>> model = mixture.fit(X, y)
    >>> [round(locality.radius / 0.05) * 5 for locality in model.localities_]  # in hundredths
    [85, 40, 85]
    >>> model.predict_proba([[-1.4, 0.5], [-1.4, -0.5]]).round()
    array([[0., 1.],
           [1., 0.]])
    """
)

REGRESSOR = (
    """Regression by a few readable models, each in a locality of its own, and one outside.

    Minimizes the PAC-Bayes objective of "Mixtures of Transparent Local Models" (Diaby, Duchesne and
    Marchand) in closed form. The target is centered and scaled inside.
"""
    + PARAMETERS.format(
        auto_rule=(
            '"auto" tries half, once, twice and four'
            "\n        times Bayes' rule, 1 / (2 s^2), where s^2 is the share of the variance that"
            " one model leaves;\n        on held-out rows "
            + list_numbers(Continuous.temperatures)
            + "."
        ),
        which="the one that predicts held-out rows best",
        prior="the scales of the weights\n        are learned (``Prior(learn_scales=True)``)",
        loss="""
    loss : "squared", "poisson", "gamma" or "tweedie", default="squared"
        What is minimized. The others are of rates: numbers of at least 0 (above 0 for "gamma") of
        which scores are the logarithm of the mean, with `exposure` in fit. They try
        inverse_temperature 0.5, 1, 2 and 4, and choose the simplest model that is not
        significantly worse on held-out rows than the best.
    power : float, default=1.5
        Of loss="tweedie", between 1 and 2: the variance goes like this power of the mean.""",
        coef_scale="",
        units=(
            ", in squared units of the"
            "\n        target: ``objective_ = gibbs_risk_ + target_scale_**2 * kl_ / lambda``"
        ),
        bound="the objective, which needs one\n        inverse_temperature",
        paper='solver="nadam"',
    )
    + r"""    target_scale_ : float
        Standard deviation of the target, by which it was divided inside; 1 for rates.
    residual_scale_ : float
        Root mean squared error of the predictions on the training rows; for rates a quarter of the
        mean rate. Predictions of local models that differ by more contradict each other.

"""
    + OBJECTIVE
    + r"""    The squared loss is that of the standardized target, the others of rates divided
    by their mean (p is `power`):

    .. math::

        \ell_i(x, y) &= E (s_i - y)^2 = (m_i - y)^2 + v_i, \\
        \ell_i(x, y) &= e^{m_i + v_i / 2} - y \, m_i \quad \text{(Poisson)}, \\
        \ell_i(x, y) &= y \, e^{-m_i + v_i / 2} + m_i \quad \text{(Gamma)}, \\
        \ell_i(x, y) &= \frac{e^{(2-p) m_i + (2-p)^2 v_i / 2}}{2 - p}
        - y \, \frac{e^{(1-p) m_i + (1-p)^2 v_i / 2}}{1 - p} \quad \text{(Tweedie)}.

    `predict` uses one model for each row: of the localities that contain it (distance at most
    `radius`) that of the nearest center, or, where none does, the exterior model. With
    ``overlap="mean"`` it is the mean of the predictions of all localities that contain the row.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import LocalMixtureRegressor
    >>> X = np.linspace(-2, 2, 200)[:, None]
    >>> y = np.where(np.abs(X[:, 0]) < 1, X[:, 0], -X[:, 0])
    >>> model = LocalMixtureRegressor(n_localities=1, random_state=0).fit(X, y)
    >>> float(model.localities_[0].coef[0].round()), float(model.exterior_.coef[0].round())
    (1.0, -1.0)

    A locality in one of two columns, where one of the weights is another:

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform([18, 2], [80, 30], size=(300, 2))  # age and distance
    >>> cost = X[:, 1] * np.where(X[:, 0] < 30, 3, 2)
    >>> settings = {"locality_columns": [0], "corrections": "all", "random_state": 0}
    >>> model = LocalMixtureRegressor(1, **settings).fit(X, cost)
    >>> [young] = model.localities_
    >>> np.isfinite(young.half_width), float(young.coef[1].round())
    (array([ True, False]), 3.0)
    >>> float(model.exterior_.coef[1].round())
    2.0
    >>> bool(abs(young.center[0] + young.half_width[0] - 30) < 0.5)
    True
    """
)
