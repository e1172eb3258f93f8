"""TripletRPDML and QuadrupletRPDML: relative comparisons, their laws, and bad input."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler

from geodual.manifolds import SPD
from geodual.metric import QuadrupletRPDML, TripletRPDML
from geodual.metric.losses import SquaredHinge
from geodual.metric.program.logdet_program import LogDetProgram
from geodual.metric.terms.comparison_term import ComparisonTerm

both = pytest.mark.parametrize(("learner", "size"), [(TripletRPDML(), 3), (QuadrupletRPDML(), 4)])


def random_tuples(seed: int, n_tuples: int = 30, size: int = 4, n_features: int = 3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_tuples, size, n_features)) @ rng.standard_normal((n_features, n_features))


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    drawn = np.random.default_rng(1).integers(len(X), size=(3000, 3))
    a, p, n = drawn.T
    return StandardScaler().fit_transform(X), drawn[(y[a] == y[p]) & (y[a] != y[n]) & (a != p)][:600]


def test_it_learns_comparisons_that_it_has_not_seen(wine) -> None:
    X, triplets = wine
    learner = TripletRPDML(preprocessor=X).fit(triplets[:300])
    first, second = (np.linalg.norm(X[triplets[300:, 0]] - X[triplets[300:, k]], axis=1) for k in (1, 2))
    assert learner.score(triplets[300:]) > 0.95 > 0.9 > (first < second).mean()
    assert learner.duality_gap_ <= 1e-6
    assert learner.n_pairs_ == 600


def test_a_triplet_is_a_quadruplet_with_a_common_sample(wine) -> None:
    X, triplets = wine
    triplets = triplets[:100]
    one = TripletRPDML(preprocessor=X, tol=1e-9).fit(triplets)
    other = QuadrupletRPDML(preprocessor=X, tol=1e-9).fit(triplets[:, [0, 1, 0, 2]])
    np.testing.assert_allclose(one.W_, other.W_, atol=1e-4 * np.abs(one.W_).max())
    assert one.margin_ == pytest.approx(other.margin_)


@both
def test_predictions_are_those_of_the_distances(learner, size: int) -> None:
    tuples = random_tuples(0, size=size)
    model = clone(learner).fit(tuples)
    metric = model.get_metric()
    far = (0, 2) if size == 3 else (2, 3)
    expected = np.array([metric(t[far[0]], t[far[1]]) - metric(t[0], t[1]) for t in tuples])
    np.testing.assert_allclose(model.decision_function(tuples), expected, atol=1e-10)
    np.testing.assert_array_equal(model.predict(tuples), np.where(expected > 0, 1, -1))
    assert model.score(tuples) == (expected > 0).mean()
    assert model.score(tuples, -np.ones(len(tuples))) == (expected <= 0).mean()
    weight = np.arange(len(tuples))
    assert model.score(tuples, sample_weight=weight) == pytest.approx(
        weight[expected > 0].sum() / sum(weight)
    )


@both
def test_forms_of_the_input_agree(learner, size: int) -> None:
    rng = np.random.default_rng(3)
    X, indices = rng.standard_normal((20, 3)), rng.integers(20, size=(40, size))
    direct = clone(learner).fit(X[indices])
    looked_up = clone(learner).set_params(preprocessor=lambda rows: X[rows]).fit(indices)
    np.testing.assert_array_equal(direct.W_, looked_up.W_)
    np.testing.assert_array_equal(direct.predict(X[indices]), looked_up.predict(indices))
    np.testing.assert_array_equal(direct.transform(X)[indices], direct.transform(X[indices]))
    np.testing.assert_array_equal(direct.transform(X), looked_up.transform(np.arange(20)))
    np.testing.assert_array_equal(
        direct.pair_distance(X[indices[:, :2]]), looked_up.pair_distance(indices[:, :2])
    )
    np.testing.assert_allclose(clone(learner).fit_transform(X[indices]), direct.transform(X[indices]))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(direct)).W_, direct.W_)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), C=st.floats(0.1, 1e3))
def test_turning_a_comparison_round_twice_changes_nothing(seed: int, C: float) -> None:
    tuples = random_tuples(seed)
    signs = np.random.default_rng(seed).choice([-1, 1], len(tuples))
    turned = np.where(signs[:, None, None] > 0, tuples, tuples[:, [2, 3, 0, 1]])
    one = QuadrupletRPDML(C=C, tol=1e-10).fit(tuples)
    other = QuadrupletRPDML(C=C, tol=1e-10).fit(turned, signs)
    np.testing.assert_allclose(one.W_, other.W_, atol=1e-4 * np.abs(one.W_).max())


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), C=st.floats(0.1, 1e3))
def test_whole_weights_are_repetitions(seed: int, C: float) -> None:
    tuples = random_tuples(seed, size=3)
    counts = np.random.default_rng(seed).integers(0, 3, len(tuples))
    counts[0] = 1
    options = {"C": C, "prior": "covariance", "tol": 1e-10}
    weighted = TripletRPDML(**options).fit(tuples, sample_weight=counts)
    repeated = TripletRPDML(**options).fit(np.repeat(tuples, counts, axis=0))
    assert weighted.margin_ == pytest.approx(repeated.margin_)
    np.testing.assert_allclose(weighted.W_, repeated.W_, atol=1e-4 * np.abs(repeated.W_).max())


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), C=st.floats(0.1, 1e3))
def test_another_basis_of_the_features_gives_the_same_distances(seed: int, C: float) -> None:
    """Congruence: samples X A with the prior A⁻¹ W₀ A⁻ᵀ; only differences of samples count."""
    tuples, rng = random_tuples(seed), np.random.default_rng(seed)
    A, prior = SPD(3).random_point(rng), SPD(3).random_point(rng)
    one = QuadrupletRPDML(C=C, prior=prior, tol=1e-10).fit(tuples)
    back = np.linalg.inv(A)
    other = QuadrupletRPDML(C=C, prior=back @ prior @ back.T, tol=1e-10).fit(tuples @ A + rng.normal(size=3))
    np.testing.assert_allclose(A @ other.W_ @ A.T, one.W_, atol=1e-4 * np.abs(one.W_).max())
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-7)


def test_sums_are_those_of_a_loop() -> None:
    """Value, conjugate, gradient and Hessian product over more comparisons than fit in a part."""
    rng = np.random.default_rng(5)
    Z, weight = rng.standard_normal((12, 3)), rng.uniform(size=1500)
    indices = rng.integers(12, size=(1500, 4))
    S = SPD(3).random_point(rng)
    margin, scale = 0.7, 1.3
    comparisons = ComparisonTerm(indices, weight, SquaredHinge(-margin, -margin, scale, scale))
    found = comparisons.evaluate(Z)
    bend = comparisons.curvature_product(Z, S, found)
    value, conjugate, slopes, curved, moment = 0.0, 0.0, np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    for (a, b, c, d), w in zip(indices, weight, strict=True):
        v, u = Z[a] - Z[b], Z[c] - Z[d]
        M, excess = np.outer(v, v) - np.outer(u, u), max(v @ v - u @ u + margin, 0.0)
        slope = excess / scale
        value += w * excess**2 / (2 * scale)
        conjugate += w * (slope * (v @ v - u @ u) - excess**2 / (2 * scale) if excess else 0.0)
        slopes += w * slope * M
        curved += w * (excess > 0) / scale * np.vdot(M, S) * M
        moment += w * (excess > 0) / scale * (np.outer(v, v) + np.outer(u, u))
    assert found.value == pytest.approx(value)
    assert found.conjugate == pytest.approx(conjugate)
    np.testing.assert_allclose(found.slope_sum, slopes, atol=1e-9)
    np.testing.assert_allclose(bend, curved, atol=1e-9)
    moment_found = comparisons.curvature_moment(Z, found)
    np.testing.assert_allclose(moment_found, moment / np.sqrt(2), rtol=1e-9)


def test_the_noise_bounds_the_error_of_distances_that_cancel() -> None:
    """t = (10¹⁶ + 1) − (10¹⁶ + 2) is −1, but −2 after rounding: then the loss seems to be 0."""
    Z = np.array([[0.0, 0.0], [1e8, 1.0], [1e8, np.sqrt(2.0)]])
    loss = SquaredHinge(-1.5, -1.5, 1.0, 1.0)
    found = ComparisonTerm(np.array([[0, 1, 0, 2]]), np.ones(1), loss).evaluate(Z)
    assert found.value == 0.0
    assert found.noise >= 0.5 * (-1.0 + 1.5) ** 2


@pytest.mark.parametrize("seed", range(3))
def test_every_bound_of_the_history_is_below_every_objective(seed: int) -> None:
    """Also far from the optimum, with contradictory comparisons and a strong loss: weak duality."""
    tuples = random_tuples(seed, 200)
    learner = QuadrupletRPDML(C=1e4, tol=1e-12, margin=0.1).fit(tuples)
    best = learner.objective_
    assert all(row.dual <= best * (1 + 1e-9) for row in learner.history_)
    loss = SquaredHinge(-0.1, -0.1, 0.1**2 * 200 / 1e4, 1.0)
    term = ComparisonTerm(np.arange(800).reshape(-1, 4), np.ones(200), loss)
    program = LogDetProgram(tuples.reshape(-1, 3), term, np.eye(3))
    rng = np.random.default_rng(seed)
    for point in [SPD(3).random_point(rng) for _ in range(20)]:
        assert program(point).dual <= best * (1 + 1e-9) <= program(point).primal * (1 + 1e-9)


def test_comparisons_that_no_metric_can_decide() -> None:
    """Both pairs are the same: W stays at the prior, and the objective is C/2 whatever W is."""
    tuples = random_tuples(2)
    learner = QuadrupletRPDML(C=8.0).fit(tuples[:, [0, 1, 1, 0]])
    np.testing.assert_allclose(learner.W_, np.eye(3), atol=1e-10)
    assert learner.objective_ == pytest.approx(4.0)
    assert learner.dual_objective_ == pytest.approx(4.0)


def test_more_features_than_samples_is_solved_in_their_span() -> None:
    tuples = random_tuples(4, n_tuples=3, size=3, n_features=40)
    learner = TripletRPDML(tol=1e-9).fit(tuples)
    assert learner.score(tuples) == 1.0
    # Nine centered samples span eight dimensions; outside, W is the prior.
    assert np.isclose(np.linalg.eigvalsh(learner.W_), 1.0).sum() >= 32
    wide = np.concatenate([tuples, np.zeros((3, 3, 5))], axis=2)
    np.testing.assert_allclose(TripletRPDML(tol=1e-9).fit(wide).W_[:40, :40], learner.W_, atol=1e-4)


def test_it_can_be_tuned(wine) -> None:
    X, triplets = wine
    search = GridSearchCV(TripletRPDML(preprocessor=X), {"C": [1e-3, 100.0]}, cv=2).fit(triplets[:200])
    assert search.best_params_ == {"C": 100.0}
    assert cross_val_score(TripletRPDML(n_components=2), X[triplets[:200]], cv=2).min() > 0.85


@pytest.mark.parametrize(
    ("options", "tuples", "message"),
    [
        (
            {},
            np.zeros((4, 2, 3)),
            r"shape \(n_triplets, 3, n_features\), got \(4, 2, 3\)",
        ),
        ({}, np.zeros((0, 3, 3)), "`triplets` must have shape"),
        ({}, [["a", "b", "c"]], "`preprocessor`"),
        ({}, np.full((1, 3, 2), np.nan), "`triplets` must be finite"),
        ({}, np.ones((5, 3, 2)), "All samples to compare are equal"),
        ({}, 1e200 * random_tuples(0, size=3), "scale the features"),
        ({"C": "a"}, random_tuples(0, size=3), "`C` must be a number"),
        ({"margin": 0.0}, random_tuples(0, size=3), "`margin` must be positive"),
        ({"margin": "wide"}, random_tuples(0, size=3), "`margin` must be a number"),
        ({"prior": "pca"}, random_tuples(0, size=3), "`prior` must be"),
        ({"n_components": 4}, random_tuples(0, size=3), "`n_components` must be between 1 and 3"),
        ({"preprocessor": np.zeros((3, 2))}, [[0, 1, 5]], "row numbers from 0 to 2"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_bad_input_has_one_clear_error(options: dict, tuples, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TripletRPDML(**options).fit(tuples)


def test_bad_signs_and_weights() -> None:
    tuples = random_tuples(0, size=3)
    with pytest.raises(ValueError, match=r"`y` must hold \+1 or −1 for each of the 30 triplets"):
        TripletRPDML().fit(tuples, np.zeros(30))
    with pytest.raises(ValueError, match="`sample_weight`"):
        TripletRPDML().fit(tuples, sample_weight=np.zeros(30))


def test_weights_that_leave_nothing_of_c_are_refused() -> None:
    tuples = np.random.default_rng(0).standard_normal((5, 4, 2))
    with pytest.raises(ValueError, match=r"`C` divided by the weight of all pairs is 0"):
        QuadrupletRPDML(C=1e-200, margin=1.0).fit(tuples, sample_weight=np.full(5, 1e200))


def test_one_comparison_is_enough() -> None:
    a, p, n = np.array([0.0, 0.0]), np.array([2.0, 0.0]), np.array([0.0, 1.0])
    learner = TripletRPDML(C=1e4).fit([[a, p, n]])
    assert learner.predict([[a, p, n]]) == 1
    np.testing.assert_allclose(learner.W_[0, 1], 0.0, atol=1e-9)


def test_fit_transform_of_comparisons_learns_from_their_signs() -> None:
    triplets = np.random.default_rng(0).standard_normal((30, 3, 2)) * [1.0, 3.0]
    signs = np.where(np.arange(30) % 3 == 0, -1, 1)
    both = TripletRPDML().fit_transform(triplets, signs)
    np.testing.assert_array_equal(both, TripletRPDML().fit(triplets, signs).transform(triplets))
    assert not np.allclose(both, TripletRPDML().fit_transform(triplets))


def test_equal_distances_are_no_comparison_that_holds() -> None:
    triplets = np.random.default_rng(0).standard_normal((30, 3, 2))
    learner = TripletRPDML().fit(triplets)
    x, other = np.zeros(2), np.ones(2)
    assert learner.predict(np.array([[x, other, other], [x, other, 2.0 * other]])).tolist() == [-1, 1]
