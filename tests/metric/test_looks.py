"""Pictures of metrics, and what notebooks show of them."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from geodual.metric import GMML, RPDML, EuclideanMetric, PairRPDML, TripletRPDML
from geodual.metric.base.plots import nearest, principal_plane


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["barolo", "grignolino", "barbera"])[y]


@pytest.mark.parametrize("n_neighbors", [1, 3])
def test_neighbors_are_those_in_all_dimensions(wine, n_neighbors) -> None:
    X, y = wine
    learner = GMML().fit(X[::2], y[::2])
    X, y = X[1::2], y[1::2]
    axes = learner.plot_neighbors(X, y, n_neighbors=n_neighbors)
    for ax, Z in zip(axes, (X, learner.transform(X)), strict=True):
        right = wrong = 0
        for i in range(len(Z)):
            order = [j for j in np.argsort(((Z - Z[i]) ** 2).sum(axis=1), kind="stable") if j != i]
            same = int((y[order[:n_neighbors]] == y[i]).sum())
            right, wrong = right + same, wrong + n_neighbors - same
        drawn = {lines.get_label(): len(lines.get_segments()) for lines in ax.collections[:2]}
        assert drawn == {"same class": right, "other class": wrong}
        assert f"{wrong / (right + wrong):.1%}" in ax.get_title()
    assert axes[0].get_title().startswith("Before")
    texts = [text.get_text() for text in axes[1].get_legend().get_texts()]
    assert texts == ["same class", "other class", "barbera", "barolo", "grignolino"]
    # Wrong neighbors and classes differ by more than their color.
    same, other = axes[0].collections[:2]
    assert same.get_linestyle() != other.get_linestyle()
    shapes = [points.get_paths()[0].vertices for points in axes[0].collections[2:]]
    assert not any(np.array_equal(shapes[0], shape) for shape in shapes[1:])


def test_given_axes_are_used(wine) -> None:
    X, y = wine
    figure, axes = plt.subplots(1, 2)
    learner = RPDML(pairs="all").fit(X, y)
    assert learner.plot_neighbors(csr_array(X), y, axes=axes)[0].figure is figure
    _, ax = plt.subplots()
    assert learner.plot_importances(ax=ax) is ax


def test_principal_planes(wine) -> None:
    X, _ = wine
    plane = principal_plane(X)
    covariance = np.cov(plane.T)
    np.testing.assert_allclose(covariance[0, 1], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.diag(covariance), np.linalg.eigvalsh(np.cov(X.T))[::-1][:2])
    np.testing.assert_array_equal(principal_plane(X[:, :1])[:, 1], 0.0)
    np.testing.assert_array_equal(nearest(np.array([[0.0], [1.0], [1.2]]), 1).ravel(), [1, 2, 1])


def test_importances_are_sorted_bars_with_names(wine) -> None:
    X, y = wine
    names = load_wine().feature_names
    learner = RPDML().fit(pd.DataFrame(X, columns=names), y)
    ax = learner.plot_importances(n_features=4)
    order = np.argsort(-learner.feature_importances_)[:4]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [names[k] for k in order]
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, learner.feature_importances_[order])
    assert f"9 other features have {1 - sum(widths):.0%}" in ax.get_xlabel()
    ax = EuclideanMetric().fit(X).plot_importances()
    assert len(ax.patches) == 13
    assert ax.get_yticklabels()[0].get_text().startswith("feature ")


def test_notebooks_show_the_certificate_after_a_fit(wine) -> None:
    X, y = wine
    learner = RPDML(pairs="all")
    assert "Certificate" not in learner._repr_html_()
    html = learner.fit(X, y)._repr_mimebundle_()["text/html"]
    assert "RPDML" in html
    assert f"<th>relative duality gap</th><td>{learner.duality_gap_:.1e}</td>" in html
    assert "<th>pairs</th><td>15,753</td>" in html
    assert "<th>bounds u, l</th><td>{:.4g}, {:.4g}</td>".format(*learner.bounds_) in html
    pairs = PairRPDML().fit(X[[[0, 1], [0, 80], [2, 90]]], [1, -1, -1])
    assert "<th>pairs</th><td>3</td>" in pairs._repr_html_()
    assert "<th>margin</th>" in TripletRPDML().fit(X[[[0, 1, 80]]])._repr_html_()
    plain = GMML().fit(X, y)._repr_html_()
    assert "GMML" in plain
    assert "Certificate" not in plain


def test_wrong_arguments_are_named(wine) -> None:
    X, y = wine
    learner = GMML().fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors == 178, must be <= 177"):
        learner.plot_neighbors(X, y, n_neighbors=178)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        learner.plot_neighbors(X, y[:5])
    with pytest.raises(ValueError, match="n_features == 0"):
        learner.plot_importances(n_features=0)
    with pytest.raises(Exception, match="not fitted"):
        clone(learner).plot_importances()
