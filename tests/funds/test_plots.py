"""The figures: the right curves under the right names, and equal files from equal figures."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from geodual.funds.report.curves import INDEX_COLOR, color_map
from geodual.funds.report.plots import draw_annual_returns, draw_ic, draw_performance, save_figure

DAYS = pd.bdate_range("2015-01-01", periods=400, name="date")


def curves(*names):
    rng = np.random.default_rng(0)
    walk = np.cumsum(0.01 * rng.standard_normal((len(DAYS), len(names))), axis=0)
    return pd.DataFrame(np.exp(walk - walk[0]), index=DAYS, columns=names)


def test_figure_1_shows_returns_and_rolling_drawdowns():
    equity = curves("gmml", "rpdml", "index")
    above, below = draw_performance(equity, "CSI 930950", "2016-01-01").axes
    assert [line.get_label() for line in above.lines[:3]] == ["GMML", "RPDML", "CSI 930950"]
    for line, name in zip(above.lines, equity, strict=False):
        assert np.allclose(line.get_ydata(), equity[name] - 1.0)
    for line, name in zip(below.lines, equity, strict=False):
        values = equity[name].to_numpy()
        for row in (0, 10, 300, 399):
            window = values[: row + 1][DAYS[: row + 1] >= DAYS[row] - pd.Timedelta(days=365)]
            worst = min(window[i:].min() / window[i] - 1.0 for i in range(len(window)))
            assert line.get_ydata()[row] == pytest.approx(worst)


@pytest.mark.parametrize(("start", "n_lines"), [("2016-01-01", 5), ("2030-01-01", 4), ("2015-01-01", 4)])
def test_the_start_of_the_test_period_is_marked_if_it_lies_within(start, n_lines):
    for axes in draw_performance(curves("gmml", "rpdml", "index"), "index", start).axes:
        assert len(axes.lines) == n_lines


def test_figure_2_shows_years_as_bars():
    returns = pd.DataFrame({"gmml": [0.1, -0.2], "index": [0.3, 0.05]}, index=[2015, 2016])
    (axes,) = draw_annual_returns(returns, "CSI").axes
    heights = [[bar.get_height() for bar in container] for container in axes.containers]
    assert heights == [[0.1, -0.2], [0.3, 0.05]]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["2015", "2016"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["GMML", "CSI"]


def test_the_figure_of_ics_shows_them_and_their_sum():
    ic = pd.DataFrame({"a": [0.1, -0.2, 0.4], "b": [0.0, 0.1, 0.2]}, index=DAYS[:3])
    above, below = draw_ic(ic).axes
    assert np.allclose(above.lines[0].get_ydata(), [0.1, -0.2, 0.4])
    assert np.allclose(below.lines[0].get_ydata(), [0.1, -0.1, 0.3])
    assert np.allclose(below.lines[1].get_ydata(), [0.0, 0.1, 0.3])


def test_the_index_is_gray_and_the_metrics_are_told_apart():
    colors = color_map(["euclidean", "mahalanobis", "lmnn", "itml", "gmml", "rpdml", "index"])
    assert colors["index"] == INDEX_COLOR
    assert len(set(colors.values())) == 7


def test_a_metric_of_the_paper_keeps_its_color_in_every_study():
    both = color_map(["pca", "rpdml", "index"])
    assert both["rpdml"] == color_map(["euclidean", "mahalanobis", "rpdml"])["rpdml"]
    assert both["pca"] not in (both["rpdml"], INDEX_COLOR)
    many = color_map([f"own {i}" for i in range(20)])
    assert len(many) == 21, "colors repeat rather than run out"


def test_equal_figures_are_equal_files(tmp_path):
    equity = curves("gmml", "index")
    for name in ("one", "two"):
        save_figure(draw_performance(equity, "index", "2016-01-01"), tmp_path / name)
    for suffix in (".svg", ".png"):
        one, two = ((tmp_path / name).with_suffix(suffix).read_bytes() for name in ("one", "two"))
        assert one == two
        assert len(one) > 5000
    assert len(list(tmp_path.iterdir())) == 4
    text = (tmp_path / "one.svg").read_text("utf-8")
    assert "<svg" in text
    assert "dc:date" not in text


def test_the_readers_own_style_is_left_alone():
    mpl.use("agg")
    before = mpl.rcParams.copy()
    draw_performance(curves("gmml", "index"), "index", "2016-01-01")
    assert mpl.rcParams == before


@pytest.mark.parametrize("name", ["中证偏股型基金指数", r"50 $ \or$ more"])
def test_any_name_can_be_drawn(tmp_path, name):
    save_figure(draw_performance(curves("gmml", "index"), name, "2016-01-01"), tmp_path / "figure1")
