"""FeatureWeights: one weight per feature, learned from labels or numbers, with a certificate."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.sparse import csc_array, csr_array, issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_scalar, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.sparsefuncs import csc_median_axis_0
from sklearn.utils.validation import check_is_fitted, validate_data

from geodual.arrays import Array, Indices
from geodual.old_names import OldName
from geodual.threads import blas_threads_for, product_operations

from ..base.checks import (
    check_iteration,
    check_number,
    check_positive,
    check_sample_weight,
    encoded_labels,
    iteration_budget,
    real_array,
    warn_of_unknown,
)
from ..base.metric_learner import check_size, n_axes
from ..base.plots import draw_importances
from ..base.scatter import distinct_rows
from ..program.certificate import Convergence, iteration_printer, warn_unless_converged
from ..program.feature_fit import (
    Search,
    WeightFit,
    class_search,
    in_units,
    label_set_search,
    learn_weights,
    target_search,
)
from ..selection.local_pairs import LocalPairs
from ..selection.samples import Samples
from ..selection.targets import TargetSamples

_DISTANCES = ("l1", "l2")


class FeatureWeights(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Learn weights of features from labels or numbers: which features distinguish nearby samples.

    Choose it to learn which features matter, or to scale them for nearest neighbors, kernels and clusters. It
    learns one number per feature, and can handle thousands of features; `NeighborRPDML` learns a whole
    matrix, and so directions too. With `sparsity`, it selects features: the weights of all others are exactly
    zero.

    The distance is :math:`d_w(x, z) = \sum_f w_f |x_f - z_f|`, or :math:`\sum_f w_f (x_f - z_f)^2`. Sample i
    would take its class from its neighbor j with the probability
    :math:`p_{ij} \propto \exp(-d_{ij}/\tau_i)`, where :math:`\tau_i` is a width. With fixed targets
    :math:`q_{ij}`, which are such probabilities among the neighbors of the right class, it solves

    .. math:: \min_{w > 0} \tfrac12 \sum_f (w_f - \log w_f - 1) + \frac{C}{N} \sum_i \Bigl[\sum_j q_{ij}
              \frac{d_{ij}(w)}{\tau_i} + \log \sum_j \exp\Bigl(-\frac{d_{ij}(w)}{\tau_i}\Bigr)\Bigr].

    The first sum keeps the weights near 1. The distances are linear in w, so the program is convex.
    Neighbors and targets are found three times: under equal weights, and under weights learned with C/10 and
    0.3 C. The last fit stops when the duality gap proves that its objective is optimal to a relative error of
    `tol`. The width is half of the mean distance of the neighbors of the class, under equal weights. With
    more than 10,000 samples, i runs over N = 10,000 of them, drawn with a fixed seed; their neighbors come
    from all samples.

    With `sparsity`, the first sum of the last fit is :math:`\sum_f [\tfrac12 (w_f - 1)^2 + \mu w_f]` with
    :math:`w \ge 0`, which allows zeros.

    Weights depend on the units of the features, so standardize the features first.

    Parameters
    ----------
    distance : "l1" or "l2"
        Whether distances are sums of absolute or squared differences. "l1" suits skewed features and
        outliers.
    C : float
        Weight of the mean loss. Larger values follow the classes more closely, smaller ones keep the weights
        near 1. Useful values are 100 to 10,000.
    target : "classes" or "numbers"
        Whether y holds labels, or numbers to predict.

        For numbers, the class of a sample consists of all samples with a similar number: the ranks among all
        numbers, from 0 to 1, differ by at most 0.1. Only ranks count. With several numbers per sample, ranks
        may differ by 0.1 on average over these, or by more if the class would contain less than a tenth of
        all samples.

        With several labels per sample, the class of a sample consists of the samples with the same set of
        labels. If they are fewer than the similar neighbors requested by `pairs`, sets may differ in one
        label, or in two, and so on until there are enough.
    pairs : "local" or LocalPairs
        The neighbors of each sample. "local": the 5 nearest in its class and the 15 nearest in other classes;
        equal samples of a class are one neighbor. ``LocalPairs(3, 9)``: other numbers.
    tol : float
        Stop when the relative duality gap is at most `tol`.
    max_iter : int, optional
        Maximum number of iterations of each of the three fits; 500 by default.
    verbose : int
        1 prints a line per iteration, 0 nothing.
    sparsity : float
        If positive, weights may be exactly zero: the penalty :math:`\mu` as a share, less than 1, of the
        smallest one that makes all weights zero. Useful values are 0.1 to 0.7: the larger, the fewer
        features. With 0, the default, all weights are positive.

    Attributes
    ----------
    weights_ : array of shape (n_features,)
        The learned weights w. A feature that never differs between neighbors keeps the weight 1, or max(1 −
        μ, 0) with `sparsity`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the mean distance of the samples from their median ("l1") or mean ("l2"). The
        shares sum to one.
    duality_gap_ : float
        Relative duality gap, an upper bound on the relative error of the objective.
    objective_ : float
        The objective above at w, for the neighbors and targets of the last fit.
    dual_objective_ : float
        Lower bound on `objective_` over all weights.
    penalty_ : float
        :math:`\mu`; 0 without `sparsity`.
    n_iter_ : int
        Number of iterations of all fits.
    n_pairs_ : int
        Number of pairs of samples and neighbors in the last fit.
    neighbors_ : array of shape (n_pairs, 2)
        Row numbers of the samples i and their neighbors j in the last fit; the first of equal samples.
    targets_, widths_ : array of shape (n_pairs,)
        :math:`q_{ij}` and :math:`\tau_i`. With these and `counts_`, you can check the certificate
        independently: the dual is :math:`\tfrac12 \sum_f \log(1 - 2 z_f) - \frac CN \sum_{ij} p_{ij} \log
        p_{ij}` with :math:`z_f = \frac CN \sum_{ij} (p_{ij} - q_{ij}) |x_{if} - x_{jf}|/\tau_i`. With
        `sparsity`, its first sum is :math:`\tfrac12 \sum_f [1 - \max(1 - \mu + z_f, 0)^2]`, and every z is
        feasible.
    counts_ : array of shape (n_samples,)
        Weight of each sample in the fit: 1, or the total weight of all its copies; 0 if it is not used.
    history_ : tuple
        One record for the start and one per iteration of the last fit, with the fields `objective`, `primal`
        and `dual` (best values so far), `gap`, `passes` (over the neighbors) and `seconds`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X is a table with column names.

    See Also
    --------
    RPDMLClassifier : Classifies with these weights.
    NeighborRPDML : The same loss for a matrix instead of weights.
    LocalPairs : Numbers of neighbors.

    Examples
    --------
    Ten features of noise in addition to the four of the irises:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from geodual.metric import FeatureWeights
    >>> X, y = load_iris(return_X_y=True)
    >>> noise = np.random.default_rng(0).standard_normal((150, 10))
    >>> learner = FeatureWeights().fit(scale(np.hstack([X, noise])), y)
    >>> learner.duality_gap_ <= 1e-6
    True
    >>> sorted(np.argsort(learner.weights_)[-2:].tolist())  # petal length and width
    [2, 3]
    >>> sparse = FeatureWeights(sparsity=0.5).fit(scale(np.hstack([X, noise])), y)
    >>> np.flatnonzero(sparse.weights_).tolist(), sparse.duality_gap_ <= 1e-6
    ([2, 3], True)
    """

    neighbours_ = OldName("neighbors_")

    def __init__(
        self,
        distance: str = "l1",
        C: float = 3000.0,
        target: str = "classes",
        pairs: Any = "local",
        tol: float = 1e-6,
        max_iter: int | None = None,
        verbose: int = 0,
        sparsity: float = 0.0,
    ) -> None:
        self.distance = distance
        self.C = C
        self.target = target
        self.pairs = pairs
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.sparsity = sparsity

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn weights from samples and their labels or numbers.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Samples. Sparse samples stay sparse.
        y : array of shape (n_samples,), (n_samples, n_labels) or (n_samples, n_outputs)
            Class labels of any type, or numbers, depending on `target`. The label −1 means unknown if there
            are at least two others: such samples are not used. For several labels per sample, pass a column
            of zeros and ones per label; for several numbers, a column per number.
        sample_weight : array of shape (n_samples,), optional
            Weight of each sample; 1 by default. Whole weights are equivalent to repeated rows.

        Returns
        -------
        self
        """
        self._check_parameters()
        X, y = self._validate(X, y)
        weight = None if sample_weight is None else check_sample_weight(sample_weight, X)
        if self.target == "numbers":
            rows, counts, find = self._numbers(X, y, weight)
        elif y.ndim == 2:
            rows, counts, find = self._label_sets(X, y, weight)
        else:
            rows, counts, find = self._classes(X, y, weight)
        with blas_threads_for(product_operations(len(rows), X.shape[1], 1)):
            fit = learn_weights(
                X[rows],
                find,
                counts,
                distance=self.distance,
                C=self.C,
                tol=self.tol,
                max_iter=iteration_budget(self.max_iter),
                sparsity=self.sparsity,
                report=iteration_printer(self, self.verbose),
            )
        warn_unless_converged(self, fit.found, fit.n_earlier)
        self._keep(fit, X, rows, counts)
        return self

    def _validate(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return checked samples, sparse ones as a `csr_array`, and targets with one or two axes."""
        several = n_axes(y) == 2
        X, y = validate_data(
            self,
            X,
            y,
            dtype=float,
            order="C",
            accept_sparse="csr",
            ensure_all_finite=False,  # `_check_finite` names the feature
            ensure_min_samples=2,
            multi_output=several,
            y_numeric=self.target == "numbers",
        )
        X = _with_short_indices(X) if issparse(X) else X
        self._check_finite(X)
        check_size(X)
        if several and y.shape[1] == 1 and not issparse(y):
            y = column_or_1d(y, warn=True)
        return X, y

    def _check_finite(self, X: Any) -> None:
        """Raise an error that names the feature if a value is not finite."""
        wrong = ~np.isfinite(X.data if issparse(X) else X).ravel()
        if not wrong.any():
            return
        place = int(np.argmax(wrong))
        if issparse(X):
            row, feature = int(np.searchsorted(X.indptr, place, "right")) - 1, int(X.indices[place])
        else:
            row, feature = divmod(place, X.shape[1])
        name = repr(self.feature_names_in_[feature]) if hasattr(self, "feature_names_in_") else feature
        raise ValueError(
            f"Input X contains {'NaN' if np.isnan(X[row, feature]) else 'infinity'} in feature {name}, row "
            f"{row} ({wrong.sum()} of all values are not finite); impute such values, or drop the samples."
        )

    def _classes(self, X: Any, y: Any, weight: Array | None) -> tuple[Indices, Array | None, Search]:
        """Return the rows used, their weights, and the neighbor search by classes."""
        check_classification_targets(y)
        labels = encoded_labels(y, type(self).__name__)
        warn_of_unknown(labels, stacklevel=4)
        rows, counts, labels = _distinct(X, labels, weight)
        return rows, counts, class_search(labels, self._local, self.distance)

    def _label_sets(self, X: Any, y: Any, weight: Array | None) -> tuple[Indices, Array | None, Search]:
        """Return the same as `_classes` for samples with several labels."""
        if type_of_target(y) != "multilabel-indicator":
            raise ValueError(
                "`y` must hold one label per sample, or an array of zeros and ones with a column per label; "
                'use target="numbers" for several numbers.'
            )
        sets = (y.toarray() if issparse(y) else np.asarray(y)) != 0
        codes = np.unique(sets, axis=0, return_inverse=True)[1].ravel()
        if not codes.any():
            raise ValueError(
                "All samples have the same set of labels, so there is nothing to learn; check `y`."
            )
        rows, counts, _ = _distinct(X, codes, weight)
        return rows, counts, label_set_search(sets[rows].astype(float), self._local, self.distance)

    def _numbers(self, X: Any, y: Any, weight: Array | None) -> tuple[Indices, Array | None, Search]:
        """Return the rows used, their weights, and the neighbor search by targets."""
        weight = np.ones(X.shape[0]) if weight is None else weight
        used = np.flatnonzero(weight)
        y = real_array(y.toarray() if issparse(y) else y, "y")
        samples = TargetSamples.merged(X[used], y[used], weight[used])
        rows = used[distinct_rows(X[used])[0]]
        return rows, samples.weight, target_search(samples.ranks, self._local, self.distance)

    def _keep(self, fit: WeightFit, X: Any, rows: Indices, counts: Array | None) -> None:
        """Set the fitted attributes."""
        found, near = fit.found, fit.near
        self.weights_, self.duality_gap_ = found.W, found.gap
        self.objective_, self.dual_objective_ = found.primal, found.dual
        self.history_ = Convergence(found.history)
        self.n_iter_, self.n_pairs_ = max(fit.n_earlier + found.n_iter, 1), near.n_pairs
        self.neighbors_, self.targets_, self.widths_ = rows[near.pairs], near.targets, near.widths
        self.penalty_ = fit.penalty
        self.counts_ = np.zeros(X.shape[0])
        self.counts_[rows] = 1.0 if counts is None else counts
        self.feature_importances_ = self._importances(X[rows])

    @property
    def _local(self) -> LocalPairs:
        return LocalPairs.given_as(self.pairs) or LocalPairs()

    def _check_parameters(self) -> None:
        """Raise an error if a parameter is not valid."""
        if self.target not in ("classes", "numbers"):
            raise ValueError(f'`target` must be "classes" or "numbers", got {self.target!r}.')
        if self.distance not in _DISTANCES:
            raise ValueError(f'`distance` must be "l1" or "l2", got {self.distance!r}.')
        check_iteration(self.tol, iteration_budget(self.max_iter))
        check_positive("C", self.C)
        check_number("sparsity", self.sparsity)
        if not 0.0 <= self.sparsity < 1.0:
            raise ValueError(f"`sparsity` must be at least 0 and less than 1, got {self.sparsity}.")
        local = LocalPairs.given_as(self.pairs)
        if local is None or not local.is_exact or local.anchors != "auto":
            raise ValueError(
                f'`pairs` must be "local" or LocalPairs with exact index and no anchors, got {self.pairs!r}.'
            )

    def _importances(self, X: Any) -> Array:
        share = self.weights_ * _spread(X, self.distance)
        total = share.sum()
        return np.asarray(share / total) if total > 0.0 else np.full(len(share), 1.0 / len(share))

    def transform(self, X: Any) -> Any:
        """Scale the features so that the learned distance becomes an ordinary one.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Samples, with the features of `fit`.

        Returns
        -------
        array of shape (n_samples, n_features)
            X w for "l1": the learned distance is the city-block distance between rows. X √w for "l2": it is
            the squared Euclidean distance. float32 stays float32, and sparse stays sparse.
        """
        check_is_fitted(self)
        X = validate_data(
            self,
            X,
            reset=False,
            dtype=[np.float64, np.float32],
            accept_sparse="csr",
            ensure_all_finite=False,  # `_check_finite` names the feature
        )
        self._check_finite(X)
        return in_units(X, self.weights_, self.distance)

    def plot_importances(self, n_features: int = 20, ax: Any = None) -> Any:
        """Plot `feature_importances_` as bars, the largest first.

        Parameters
        ----------
        n_features : int
            Maximum number of bars.
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes of the plot. A dashed line marks the share of equally important features.
        """
        check_is_fitted(self)
        check_scalar(n_features, "n_features", Integral, min_val=1)
        importances = self.feature_importances_
        names = getattr(self, "feature_names_in_", [f"feature {k}" for k in range(len(importances))])
        return draw_importances(ax, importances, [str(name) for name in names], n_features, "distance")


def _distinct(X: Any, labels: Indices, weight: Array | None) -> tuple[Indices, Array | None, Indices]:
    """Return the rows of distinct labeled samples of positive weight, their weights, and labels."""
    used = Samples.of_positive_weight(X, labels, weight).distinct_in_order()
    rows = used.rows if weight is None else np.flatnonzero(weight)[used.rows]
    return rows, used.weight, used.labels


def _with_short_indices(X: Any) -> csr_array:
    """Convert to 32-bit indices if possible, because scikit-learn's distances need them."""
    X = csr_array(X)
    if max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        X.indices, X.indptr = (a.astype(np.int32, copy=False) for a in (X.indices, X.indptr))
    return X


def _spread(X: Any, distance: str) -> Array:
    """Return the mean absolute deviation of each feature from its median, or its variance."""
    if not issparse(X):
        deviation = np.abs(X - np.median(X, axis=0)).mean(axis=0) if distance == "l1" else X.var(axis=0)
        return np.asarray(deviation)
    X = csc_array(X)
    n_samples, n_features = X.shape
    center = csc_median_axis_0(X) if distance == "l1" else X.mean(axis=0)
    stored = np.diff(X.indptr)
    column = np.repeat(np.arange(n_features), stored)
    power = 1 if distance == "l1" else 2
    sums = np.bincount(column, np.abs(X.data - center[column]) ** power, minlength=n_features)
    return np.asarray((sums + (n_samples - stored) * np.abs(center) ** power) / n_samples)
