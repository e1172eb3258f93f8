"""RPDML for quadruplets: two samples are nearer to each other than two others."""

from __future__ import annotations

from .logdet.comparison_learner import ComparisonLearner


class QuadrupletRPDML(ComparisonLearner):
    r"""`RPDML` for quadruplets: two samples are nearer to each other than two others.

    Choose it if you can say which of two pairs is the more similar one, but not how similar a pair is.
    With a margin :math:`\mu` and squared distances :math:`d_W`, it solves

    .. math:: \min_{W \succ 0,\ \xi \ge 0} \tfrac12 D(W, W_0) + \tfrac{C}{2m}\|\xi\|^2
              \quad\text{s.t.}\quad d_W(a_k, b_k) + \mu \le d_W(c_k, d_k) + \mu \xi_k

    over m quadruplets (a, b, c, d), where D(W, W₀) = tr(WW₀⁻¹) − log det(WW₀⁻¹) − n is the LogDet divergence.
    The program is convex. The fit stops when the duality gap proves that the objective is optimal to a
    relative error of `tol`. If there are more features than samples, the program is solved in the span of the
    samples.

    Parameters
    ----------
    C : float
        Weight of the violations, divided by the number m of quadruplets. Larger values follow the quadruplets
        more closely, smaller ones the prior. Useful values are 1 to 10,000.
    alpha : float
        C₂ ≥ 0, the weight of −½‖λ‖² in the regularised Lagrangian, eq. (2) of the paper. Positive values
        weaken the constraints; 0 gives the program above.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        W₀: the identity, the inverse covariance of the samples in the quadruplets (regularised if singular),
        or a given positive definite matrix.
    margin : float, optional
        μ > 0, by which the squared distances should differ at least. By default the mean squared distance
        under the prior of the pairs that are compared.
    tol : float
        Stop when the relative duality gap is at most `tol`.
    max_iter : int, optional
        Maximal number of iterations; 500 by default.
    n_components : int, optional
        Number of rows of `components_`: keep this number of leading eigenvectors of W. All are kept by
        default.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up quadruplets given as indices: rows of an array, or a function from an array of indices
        to an array of samples. By default quadruplets must be given as samples.

    Attributes
    ----------
    W_ : array of shape (n_features, n_features)
        The learnt matrix.
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = W, or its best approximation of rank `n_components`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    margin_ : float
        μ.
    duality_gap_, objective_, dual_objective_ : float
        The relative duality gap, the objective at W, and its lower bound for any metric.
    n_iter_ : int
        Number of iterations.
    n_pairs_ : int
        Number of pairs that are compared: two per quadruplet.
    history_ : tuple
        One record for the start and one per iteration, with the fields `objective`, `primal` and `dual` (best
        values so far), `gap`, `passes` (over the quadruplets) and `seconds`.
    certificates_ : tuple
        The certificate of each step, with the fields `objective`, `dual_objective`, `duality_gap`, `n_iter`
        and `n_pairs`: one after `fit`, and one more per call of `partial_fit`.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    TripletRPDML : Compares the distances of a sample to two others.
    PairRPDML : Learns from pairs that are known to be similar or not.
    RPDML : Learns from class labels.

    Examples
    --------
    Learn from 300 quadruplets of wines, a pair of the same kind and a pair of two kinds each, and predict 200
    others:

    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from geodual.metric import QuadrupletRPDML
    >>> X, y = load_wine(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> drawn = np.random.default_rng(0).integers(len(X), size=(4000, 4))
    >>> a, b, c, d = drawn.T
    >>> quadruplets = drawn[(y[a] == y[b]) & (y[c] != y[d]) & (a != b)][:500]
    >>> learner = QuadrupletRPDML(preprocessor=X).fit(quadruplets[:300])
    >>> learner.predict(quadruplets[300:305]).tolist()
    [1, 1, 1, 1, 1]
    >>> round(learner.score(quadruplets[300:]), 2)
    0.97
    >>> learner.duality_gap_ <= 1e-6
    True
    """

    _places = (0, 1, 2, 3)
    _what = "quadruplets"
