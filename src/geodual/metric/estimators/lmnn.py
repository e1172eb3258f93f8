"""LMNN: large margin nearest neighbors, with all impostors found and a lower bound on the objective."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from sklearn.exceptions import ConvergenceWarning

from geodual.arrays import Array
from geodual.threads import blas_threads_for, product_operations

from ..base.checks import (
    check_iteration,
    check_n_components,
    check_number,
    check_sample_weight,
    check_whole,
    warn_of_unknown,
)
from ..base.metric_learner import MetricLearner
from ..base.scatter import centered, oriented, whitened
from ..margin.large_margin import LargeMargin, MarginPass, target_neighbors
from ..selection.samples import LabeledRows, Samples

_WIDTH = 0.1  # δ of the first smoothed objective, as a fraction of the margin
_STAGE_TOLERANCE = 1e-3  # times `tol`: a stage ends when an iteration gains less than this
_START_FLOOR = 0.01  # smallest relative weight of a direction at the start, because the rank of L cannot grow
_NO_DISTANCE = 1e-20  # times the mean squared norm of the samples; smaller distances are rounding errors
_UNIT = 1.0  # one violation by a full margin; below this objective, errors are absolute
_DOUBTFUL = 0.5  # a larger gap at full rank means that L-BFGS stopped too soon; 0.001 to 0.05 is usual
_FAR_APART = "this happens with clusters that are far apart; a smaller `tol` may help"
_LINE_SEARCH_STEPS = 80  # many, because the objective curves sharply if δ is small


class LMNN(MetricLearner):
    r"""Large margin nearest neighbors: keep samples of other classes a margin farther away.

    Choose it for k nearest neighbors if classes have several clusters: it compares distances only around each
    sample. Each sample i pulls its target neighbors j, the nearest samples of its class in the Euclidean
    metric, and pushes away impostors l: samples of other classes that are not farther away than a target by a
    margin of one:

    .. math:: p(L) = r \sum_{ij} w_i d_{ij} + (1 - r) \sum_{ijl} w_i [1 + d_{ij} - d_{il}]_+ ,
              \qquad d_{ij} = \|L (x_i - x_j)\|^2.

    Equal samples of a class count as one sample, one target and one impostor, whose weight :math:`w_i` is
    their number. Weights are relative to their mean over the distinct samples: they are 1 if all samples are
    distinct.

    The sums run over all targets and all impostors, which are updated as L changes. L-BFGS minimizes a
    sequence of smooth upper bounds on p, each closer to p. The program is convex in W = LᵀL, so its dual
    gives a lower bound on p over all metrics.

    Parameters
    ----------
    n_neighbors : int
        Number of target neighbors per sample; fewer in classes with too few distinct samples. The only sample
        of a class has no target; it acts only as an impostor.
    regularization : float
        r, the weight of the pull, between 0 and 1. The paper's μ is 1 − r.
    max_iter : int
        Maximum number of L-BFGS iterations.
    tol : float
        Largest error of the objective due to smoothing, relative if the objective is above 1, otherwise
        absolute. Each smooth function is minimized until an iteration gains less than a thousandth of `tol`.
    n_components : int, optional
        Number of rows of L; by default the number of features. With fewer rows, the program is not convex,
        and L-BFGS starts from the principal components.
    verbose : int
        1 prints a line per iteration, 0 nothing.

    Attributes
    ----------
    W_ : array of shape (n_features, n_features)
        The learned matrix LᵀL.
    components_ : array of shape (n_components, n_features)
        The map L; rows are sorted by decreasing spread of the transformed samples.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    objective_ : float
        p(L).
    dual_objective_ : float
        Lower bound on p over all L with any number of rows.
    duality_gap_ : float
        The difference between these two, relative if p is above 1. It is an upper bound on the error of the
        objective, often much larger than the error. Above 0.5, there is a warning, unless `n_components` is
        given or nothing is proved.
    n_iter_ : int
        Number of L-BFGS iterations.
    history_ : array of shape (number of steps + 1,)
        Smallest p so far, at the start and after each iteration.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    RPDML : Bounds the distances of pairs; its optimum is certified.
    NeighborRPDML : Usually better for nearest neighbors, with a certificate.
    GMML : Closed form, no iteration.

    References
    ----------
    K. Q. Weinberger, L. K. Saul, "Distance metric learning for large margin nearest neighbor classification",
    Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from geodual.metric import LMNN
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LMNN(), KNeighborsClassifier())
    >>> round(float(cross_val_score(model, X, y).mean()), 2)
    0.97
    """

    def __init__(
        self,
        n_neighbors: int = 3,
        regularization: float = 0.5,
        max_iter: int = 1000,
        tol: float = 1e-3,
        n_components: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.regularization = regularization
        self.max_iter = max_iter
        self.tol = tol
        self.n_components = n_components
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LMNN:
        """Learn a metric from labeled samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Class labels of any type; at least one class must have two distinct samples. −1 means unknown if
            there are at least two other labels: such samples are not used.
        sample_weight : array of shape (n_samples,), optional
            Weight of each sample; 1 by default. A sample of weight 3 is equivalent to three equal samples:
            its own pulls and pushes count three times, but it is one target and one impostor for others. A
            sample of weight 0 is not used. Only the ratios of the weights matter.

        Returns
        -------
        self
        """
        X, labels = self._validate_all(X, y)
        self._check_parameters(X.shape[1])
        weight = None if sample_weight is None else check_sample_weight(sample_weight, X)
        samples = Samples.of_positive_weight(X, labels, weight)
        warn_of_unknown(samples.labels)
        used = _relative(samples)
        X = samples.X[used.rows]
        with blas_threads_for(product_operations(len(X), X.shape[1], X.shape[1])):
            Z = centered(X)
            if np.bincount(used.labels).max() < 2:
                raise ValueError("LMNN needs a class of at least two different samples; check `y`.")
            targets = target_neighbors(Z, used.labels, self.n_neighbors)
            U, whitening = whitened(Z)
            objective = LargeMargin(U, used.labels, targets, self.regularization, used.weight)
            search = _Search(objective, self.max_iter, self.tol, self.verbose)
            search.run(self._start(objective, Z))
            self._keep(search, whitening, X, used.weight)
        return self

    def _check_parameters(self, n_features: int) -> None:
        check_whole("n_neighbors", self.n_neighbors, 1)
        check_number("regularization", self.regularization)
        if not 0.0 < self.regularization < 1.0:
            raise ValueError(f"`regularization` must lie between 0 and 1, got {self.regularization}.")
        check_iteration(self.tol, self.max_iter)
        check_n_components(self.n_components, n_features)

    def _start(self, objective: LargeMargin, Z: Array) -> Array:
        """Return L of the Euclidean metric or its principal components, with targets about 1 away."""
        # The samples are whitened, so the map back to the Euclidean metric weights each axis by its spread.
        axes, spread, _ = np.linalg.svd(objective.X.T @ Z, full_matrices=False)
        L = (axes * np.maximum(spread, _START_FLOOR * spread[0])).T[: self.n_components]
        Y = objective.X @ L.T
        size = np.einsum("ij,ij->", Y, Y) / len(Y)
        nearness = objective.target_distances(Y).mean()
        # All targets may be at distance zero, up to rounding errors.
        return np.asarray(L / np.sqrt(nearness if nearness > _NO_DISTANCE * size else size))

    def _keep(self, search: _Search, whitening: Array, X: Array, weight: Array | None) -> None:
        """Store the best map found and its certificate; warn if it may be far from optimal."""
        # Rotations of L do not change the metric; this rotation makes the rows unique.
        _, spread, axes = np.linalg.svd(search.best, full_matrices=False)
        components = oriented(spread[:, None] * axes @ whitening)
        n_rows = self.n_components or X.shape[1]
        # Whitening drops directions in which the samples do not vary; their rows are zero.
        still = np.zeros((n_rows - len(components), X.shape[1]))
        self._set_metric(np.vstack([components, still]), X, weight)
        self.W_ = self.get_mahalanobis_matrix()
        self.objective_ = search.history[-1]
        self.dual_objective_ = min(search.lower_bound, self.objective_)  # above it only by rounding
        self.duality_gap_ = (self.objective_ - self.dual_objective_) / max(self.objective_, _UNIT)
        self.history_ = np.array(search.history)
        self.n_iter_ = max(len(search.history) - 1, 1)
        fall = self.objective_ - self.dual_objective_
        # With fewer rows or without a bound, a large gap does not mean that the metric is far from optimal.
        is_full, is_bounded = len(search.best) == len(whitening), self.dual_objective_ > 0.0
        doubtful = is_full and is_bounded and self.duality_gap_ > _DOUBTFUL
        advice = "raise `max_iter` or `tol`" if not search.converged else _FAR_APART
        if doubtful or not search.converged:
            warnings.warn(
                f"LMNN stopped after {self.n_iter_} iterations at an objective of {self.objective_:.6g}. It "
                f"can decrease by at most {fall:.3g}; {advice}.",
                ConvergenceWarning,
                stacklevel=3,  # the caller of `fit`
            )


def _relative(samples: Samples) -> LabeledRows:
    """Return the distinct samples by class, with weights relative to their mean; None for equal weights."""
    used = samples.distinct_by_class()
    if used.weight is None or np.ptp(used.weight) == 0.0:
        return used._replace(weight=None)
    used = samples.distinct_in_order()  # so that weighted fits take the same steps as repeated rows
    assert used.weight is not None  # the same samples as above
    return used._replace(weight=used.weight / used.weight.mean())


class _Search:
    """Minimize p by L-BFGS on smooth upper bounds p_δ with decreasing δ."""

    def __init__(self, objective: LargeMargin, max_iter: int, tol: float, verbose: int) -> None:
        self.history: list[float] = []
        self.converged = False
        self.lower_bound = 0.0
        self._objective = objective
        self._max_iter = max_iter
        self._tol = tol
        self._verbose = verbose

    def run(self, L: Array) -> None:
        """Search from L until the smoothing error is below the tolerance or iterations run out."""
        self.best = L
        width = _WIDTH
        self.history.append(self._visit(L, width)[0].objective)
        stage_converged = True
        while not self.converged and stage_converged and self._iterations_left > 0:
            L, stage_converged = self._minimize_smoothed(L, width)
            result, bound = self._objective.certify(L, width)
            self.lower_bound = max(self.lower_bound, bound)
            gap = result.smoothing_gap / max(result.objective, _UNIT)
            self.converged = stage_converged and gap <= self._tol
            # The gap decreases roughly like δ². Aim slightly below the tolerance; δ decreases by a factor of
            # 2 to 10.
            width *= float(np.sqrt(np.clip(0.6 * self._tol / max(gap, self._tol), 0.01, 0.25)))

    @property
    def _iterations_left(self) -> int:
        return self._max_iter + 1 - len(self.history)

    def _visit(self, L: Array, width: float) -> tuple[MarginPass, Array]:
        result = self._objective.value_and_gradient(L, width)
        self._last = result[0]
        return result

    def _minimize_smoothed(self, L: Array, width: float) -> tuple[Array, bool]:
        """Return the last iterate of L-BFGS on p_δ, and whether it converged."""

        def value_and_gradient(flat: Array) -> tuple[float, Array]:
            result, gradient = self._visit(flat.reshape(L.shape), width)
            return result.smoothed, gradient.ravel()

        def record(intermediate_result: OptimizeResult) -> None:
            self._record(intermediate_result.x.reshape(L.shape), width)

        options = {
            "maxiter": self._iterations_left,
            "maxfun": 2 * _LINE_SEARCH_STEPS * self._max_iter,
            "maxls": _LINE_SEARCH_STEPS,
            "ftol": min(_STAGE_TOLERANCE * self._tol, 1.0),  # larger values only overflow
            "gtol": 0.0,  # only the decrease of p_δ ends a stage
        }
        result = minimize(
            value_and_gradient, L.ravel(), jac=True, method="L-BFGS-B", callback=record, options=options
        )
        return np.asarray(result.x.reshape(L.shape)), result.status == 0

    def _record(self, L: Array, width: float) -> None:
        # L-BFGS accepts the last evaluated point, so `_last` belongs to this L.
        if self._last.objective < self.history[-1]:
            self.best = L.copy()
        self.history.append(min(self._last.objective, self.history[-1]))
        if self._verbose:
            print(  # noqa: T201 - what `verbose` asks for
                f"LMNN: iteration {len(self.history) - 1}, objective {self._last.objective:.8e}, "
                f"smoothed by {width:.1e}"
            )
