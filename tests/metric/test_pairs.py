"""Passes over pairs against sums written out over difference vectors."""

import numpy as np
import pytest

from geodual.metric.geometry.all_pairs import AllPairs, form_block
from geodual.metric.geometry.distances import PairDifferences
from geodual.metric.geometry.pair_list import PairList
from geodual.metric.geometry.tiles import chunks_of, class_tiles
from geodual.metric.losses import OneSidedBurg, PairLoss, SquaredHinge


class Logistic(PairLoss):
    """log(1 + exp(s (d − b))): positive everywhere, also for a sample and its copy."""

    upper, lower = 1.5, 4.0

    def _excess(self, d, similar):
        return d - self.upper if similar else self.lower - d

    def value(self, d, similar):
        return np.logaddexp(0.0, self._excess(d, similar))

    def slope(self, d, similar):
        return (1.0 if similar else -1.0) / (1.0 + np.exp(-self._excess(d, similar)))

    def curvature(self, d, similar):
        a = np.abs(self.slope(d, similar))
        return a * (1.0 - a)

    def conjugate(self, a, similar):
        share = np.abs(a)
        return (
            a * (self.upper if similar else self.lower)
            + share * np.log(share)
            + (1 - share) * np.log1p(-share)
        )


LOSSES = [SquaredHinge(1.5, 4.0, 0.7, 1.3), OneSidedBurg(1.5, 4.0, 0.8), Logistic()]
N, F = 23, 4
GRAPH_F = 16  # with so many features, lists are added up over samples


@pytest.fixture(params=["all", "all weighted", "list", "list weighted", "graph list", "graph list weighted"])
def case(request):
    """Pairs, samples, and the same as plain lists: differences, signs, weights."""
    n_features = GRAPH_F if "graph" in request.param else F
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(3, size=N))
    Z = rng.standard_normal((N, n_features)) * np.sqrt(F / n_features)
    i, j = np.triu_indices(N, 1)
    if "list" in request.param:
        chosen = rng.permutation(len(i))[:80]
        i, j = i[chosen], j[chosen]
    similar = labels[i] == labels[j]
    sample_weight = rng.uniform(0.5, 2.0, N) if "weighted" in request.param else None
    weight = np.ones(len(i)) if sample_weight is None else sample_weight[i] * sample_weight[j]
    if "list" in request.param:
        pairs = PairList(np.column_stack([i, j]), similar, None if sample_weight is None else weight)
    else:
        pairs = AllPairs(labels, sample_weight)
    assert "list" not in request.param or (pairs.evaluate(Z, LOSSES[0]).noise > 0.0) == (
        "graph" in request.param
    )
    return pairs, Z, Z[i] - Z[j], similar, weight, sample_weight


def own_weight(pairs, sample_weight):
    """Return the weight of the pairs that copies of the same sample make: w (w − 1)/2 each, if all count."""
    if sample_weight is None or isinstance(pairs, PairList):
        return 0.0
    return sample_weight @ (sample_weight - 1.0) / 2


def with_copies(pairs, V, similar, weight, sample_weight):
    """Append one similar pair at distance zero, which stands for all pairs of a sample and its copies."""
    own = own_weight(pairs, sample_weight)
    return np.vstack([V, np.zeros(V.shape[1])]), np.append(similar, True), np.append(weight, own)


def by_kind(function, values, similar):
    """Evaluate a function of a loss, whose two branches have domains of their own."""
    result = np.empty(len(values))
    for kind, chosen in ((True, similar), (False, ~similar)):
        result[chosen] = function(values[chosen], kind)
    return result


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_evaluate(case, loss) -> None:
    pairs, Z, V, similar, weight, sample_weight = case
    V, similar, weight = with_copies(pairs, V, similar, weight, sample_weight)
    d = (V**2).sum(axis=1)
    slope = by_kind(loss.slope, d, similar)
    found = pairs.evaluate(Z, loss)
    assert pairs.n_pairs == len(V) - 1
    assert found.value == pytest.approx(weight @ by_kind(loss.value, d, similar))
    assert found.conjugate == pytest.approx(weight @ by_kind(loss.conjugate, slope, similar))
    assert found.curvature_total == pytest.approx(weight @ by_kind(loss.curvature, d, similar))
    np.testing.assert_allclose(found.slope_sum, (V.T * (weight * slope)) @ V, atol=1e-10)


# Curvatures of so many pairs are kept as bits or in single precision, or not at all.
N_PAIRS = {"packed": 1_000_000, "not": 10**10}


@pytest.mark.parametrize("kept", ["plain", "packed", "not"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_curvature_product(case, loss, kept: str) -> None:
    pairs, Z, V, similar, weight, _ = case
    pairs.n_pairs = N_PAIRS.get(kept, pairs.n_pairs)
    S = np.random.default_rng(1).standard_normal((Z.shape[1], Z.shape[1]))
    S = S + S.T
    curvature = weight * by_kind(loss.curvature, (V**2).sum(axis=1), similar)
    form = np.einsum("ki,ij,kj->k", V, S, V)
    found = pairs.curvature_product(Z, S, loss, pairs.evaluate(Z, loss).curvatures)
    # Packed curvatures other than 0 and 1 are in single precision, and so are products over very many pairs.
    expected, precision = (V.T * (curvature * form)) @ V, 1e-12 if kept == "plain" else 1e-6
    np.testing.assert_allclose(found, expected, atol=1e-9 + precision * np.abs(expected).max())


def test_many_pairs_take_hessian_products_in_single_precision() -> None:
    rng = np.random.default_rng(5)
    Z, S = rng.standard_normal((30, F)), np.eye(F)
    pairs, loss = AllPairs(np.repeat([0, 1], 15)), LOSSES[0]
    curvatures = pairs.evaluate(Z, loss).curvatures
    exact = pairs.curvature_product(Z, S, loss, curvatures)
    pairs.n_pairs = 10**8
    single = pairs.curvature_product(Z, S, loss, curvatures)
    error = np.abs(single - exact).max() / np.abs(exact).max()
    assert 0.0 < error < 1e-5
    # Where squares would overflow or vanish in single precision, products stay in double precision.
    for scale in (1e-20, 1e20):
        huge = pairs.curvature_product(scale * Z, S, loss, curvatures)
        np.testing.assert_allclose(huge / scale**2 / scale**2, exact, rtol=1e-9)


def test_threads_do_not_change_a_bit() -> None:
    rng = np.random.default_rng(6)
    Z, labels, S = rng.standard_normal((2400, F)), np.repeat([0, 1, 2], 800), np.eye(F)
    assert len(chunks_of(list(class_tiles(labels)))) > 1
    found = []
    for n_threads in (1, 3):
        pairs = AllPairs(labels, n_threads=n_threads)
        sums = pairs.evaluate(Z, LOSSES[1])
        bend = pairs.curvature_product(Z, S, LOSSES[1], sums.curvatures)
        found.append([sums.value, sums.conjugate, sums.slope_sum, bend])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_curvature_moment(case, loss) -> None:
    pairs, Z, V, similar, weight, _ = case
    curvature = weight * by_kind(loss.curvature, (V**2).sum(axis=1), similar)
    found = pairs.curvature_moment(Z, loss, pairs.evaluate(Z, loss))
    np.testing.assert_allclose(found, (V.T * curvature) @ V, atol=1e-10)


@pytest.mark.parametrize("unit", [1.0, 1e-4, 1e-100])
def test_without_curvatures_all_pairs_count_alike_in_the_moment(unit: float) -> None:
    rng = np.random.default_rng(3)
    Z, sample_weight = rng.standard_normal((9, F)), rng.uniform(0.5, 2.0, 9)
    pairs, loss = AllPairs(np.repeat([0, 1], [4, 5]), unit * sample_weight), LOSSES[0]
    pairs.n_pairs = N_PAIRS["not"]
    losses, (i, j) = pairs.evaluate(Z, loss), np.triu_indices(9, 1)
    V, weight = Z[i] - Z[j], sample_weight[i] * sample_weight[j]
    expected = (V.T * weight) @ V / (pairs.total_weight / unit**2)
    found = pairs.curvature_moment(Z, loss, losses) / losses.curvature_total
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_pairs", [70, 30_000])  # so many differences of 80 features are formed in parts
def test_sums_of_differences(n_pairs: int) -> None:
    rng = np.random.default_rng(4)
    Z, (i, j) = rng.standard_normal((30, 80)), rng.integers(30, size=(2, n_pairs))
    S, a = np.diag(np.arange(1.0, 81.0)), rng.standard_normal(n_pairs)
    differences = PairDifferences(i, j)
    for samples in (Z, rng.standard_normal((30, 80))):  # other samples, other differences
        V = samples[i] - samples[j]
        np.testing.assert_allclose(differences.distances(samples), (V**2).sum(axis=1))
        np.testing.assert_allclose(differences.weighted_sum(samples, a), (V.T * a) @ V, atol=1e-8)
        expected = (V.T * (a * np.einsum("kf,fg,kg->k", V, S, V, optimize=True))) @ V
        np.testing.assert_allclose(differences.form_sum(samples, S, a), expected, atol=1e-5)


@pytest.mark.parametrize("apart", [10.0, 1e3, 1e6])
def test_products_over_samples_are_left_before_they_lose_digits(apart: float) -> None:
    """Two classes that are far apart: distances within a class are small compared with the samples."""
    rng = np.random.default_rng(0)
    n_features = 20
    labels = np.repeat([0, 1], 30)
    Z = rng.standard_normal((60, n_features)) + apart * labels[:, None]
    i, j = np.triu_indices(60, 1)
    i, j = i[labels[i] == labels[j]], j[labels[i] == labels[j]]
    pairs = PairList(np.column_stack([i, j]), np.arange(len(i)) % 2 == 0)
    loss = SquaredHinge(20.0, 60.0, 1.0, 1.0)
    found, V = pairs.evaluate(Z, loss), Z[i] - Z[j]
    similar = np.arange(len(i)) % 2 == 0
    d = (V**2).sum(axis=1)
    expected = (V.T * by_kind(loss.slope, d, similar)) @ V
    by_samples = apart < 1e3
    assert (found.noise > 0.0) == by_samples
    assert found.curvatures.by_samples is by_samples
    np.testing.assert_allclose(
        found.slope_sum, expected, rtol=0, atol=max(found.noise, 1e-13 * np.abs(expected).max())
    )
    moment = (V.T * by_kind(loss.curvature, d, similar)) @ V
    np.testing.assert_allclose(pairs.curvature_moment(Z, loss, found), moment, rtol=1e-9, atol=1e-8)
    assert found.value == pytest.approx(by_kind(loss.value, d, similar).sum(), rel=1e-12)


def test_total_weight_counts_copies_of_a_sample_as_pairs(case) -> None:
    pairs, *_, weight, sample_weight = case
    assert pairs.total_weight == pytest.approx(weight.sum() + own_weight(pairs, sample_weight))


def test_sums_over_many_tiles_are_those_over_a_list() -> None:
    rng = np.random.default_rng(7)
    labels, Z = np.repeat([0, 1, 2], [1100, 300, 100]), rng.standard_normal((1500, F))
    assert len(list(class_tiles(labels))) > 15
    i, j = np.triu_indices(1500, 1)
    found = AllPairs(labels).evaluate(Z, LOSSES[0])
    expected = PairList(np.column_stack([i, j]), labels[i] == labels[j]).evaluate(Z, LOSSES[0])
    assert found.value == pytest.approx(expected.value)
    assert found.curvature_total == expected.curvature_total
    np.testing.assert_allclose(found.slope_sum, expected.slope_sum, rtol=1e-10, atol=1e-6)


def test_index_list(case) -> None:
    pairs, Z, V, similar, weight, _ = case
    i, j, kinds, weights = pairs.index_list(1000)
    assert kinds.sum() == similar.sum()
    np.testing.assert_allclose(np.sort(weights), np.sort(weight))
    np.testing.assert_allclose(np.sort(((Z[i] - Z[j]) ** 2).sum(axis=1)), np.sort((V**2).sum(axis=1)))
    with pytest.raises(ValueError, match="too many to list"):
        pairs.index_list(10)


def test_labels_must_be_sorted() -> None:
    with pytest.raises(ValueError, match="sorted"):
        AllPairs(np.array([0, 1, 0]))


@pytest.mark.parametrize("similar", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_losses_are_consistent(loss, similar: bool) -> None:
    """Slope and curvature are derivatives; Fenchel's equality holds at the slope, else his inequality."""
    d = np.linspace(0.05, 9.0, 400)
    d = d[np.abs(d - (loss.upper if similar else loss.lower)) > 0.02]
    step = 1e-5
    ahead, behind = loss.value(d + step, similar), loss.value(d - step, similar)
    np.testing.assert_allclose(loss.slope(d, similar), (ahead - behind) / (2 * step), atol=1e-5)
    rise = (loss.slope(d + step, similar) - loss.slope(d - step, similar)) / (2 * step)
    np.testing.assert_allclose(loss.curvature(d, similar), rise, atol=1e-3, rtol=1e-4)
    a = loss.slope(d, similar)
    np.testing.assert_allclose(loss.conjugate(a, similar), a * d - loss.value(d, similar), atol=1e-12)
    assert (loss.conjugate(a[:, None], similar) >= a[:, None] * d - loss.value(d, similar) - 1e-12).all()


@pytest.mark.parametrize(("n_pairs", "kind"), [(15_000_000, np.float32), (14_999_999, np.float64)])
def test_forms_of_many_pairs_are_in_single_precision(n_pairs: int, kind: type) -> None:
    Z = np.random.default_rng(0).standard_normal((6, 2))
    assert form_block(Z, None, np.eye(2), n_pairs).Z.dtype == kind
    assert form_block(1e30 * Z, None, np.eye(2), n_pairs).Z.dtype == np.float64
