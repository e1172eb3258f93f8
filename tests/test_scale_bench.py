"""`make bench-scale` on small samples, and its simulation against what can be counted by hand."""

import argparse
import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.scale.cluster_fits import ClusterFit
from benchmarks.scale.constants import measure_costs
from benchmarks.scale.data import classes
from benchmarks.scale.fits import fit_rows, write_samples
from benchmarks.scale.older_sources import older_sources
from benchmarks.scale.one_fit import main as fit_here
from benchmarks.scale.options import add_options
from benchmarks.scale.page import PAGE, filled, span, tables
from benchmarks.scale.passes import bare_products, pass_rows
from benchmarks.scale.prediction import confirm_rows, passes_of, saved_cluster
from benchmarks.scale.recorder import PassRecord, recorded_passes
from benchmarks.scale.rows import Row, read_parts, rows_of, save_part, trust
from benchmarks.scale.run import LARGE, RESULTS, parts, run_scale
from benchmarks.scale.simulation import (
    Cluster,
    Cost,
    Passes,
    block_rows,
    part_of,
    simulate_fit,
    simulate_pass,
)
from geodual.metric import RPDML
from geodual.metric.pairs.all_pairs import AllPairs
from geodual.metric.pairs.sample_blocks import _block_edges
from geodual.metric.pairs.thinned_pairs import thinned_rows

PAIR = Cost(1e-9, 1e-10)
FREE = Cluster(
    dict.fromkeys(("evaluation", "product", "moment", "count", "collect"), PAIR), 0.0, 0.0, math.inf, 0.0
)


def test_a_pass_of_one_worker_without_overhead_is_its_work() -> None:
    found = simulate_pass(20_000, 70, 1, PAIR, FREE, is_first=True)
    assert found.seconds == pytest.approx(20_000 * 19_999 / 2 * 8e-9, rel=1e-9)
    assert found.busy(1) == pytest.approx(1.0)


@pytest.mark.parametrize("n_samples", [1_999, 5_000, 20_000, 1_000_000])
def test_blocks_are_those_of_a_fit(n_samples: int) -> None:
    edges = _block_edges(np.zeros(n_samples, dtype=np.intp))
    assert np.abs(np.diff(edges) - block_rows(n_samples)).max() <= 1
    assert sum(block_rows(n_samples)) == n_samples


def test_the_part_that_stands_for_all_is_that_of_a_fit() -> None:
    for n_samples in (5_000, 20_000):
        assert len(thinned_rows(np.arange(n_samples) % 2 * 0, 70)) == part_of(n_samples, 70)


def test_overhead_and_network_are_counted_by_hand() -> None:
    """Three tasks on one worker that has both blocks, and on three of which one has none."""
    cluster = FREE._replace(per_pass=1.0, per_task=10.0, bandwidth=1e6, latency=2.0)
    cost, metric = Cost(0.0, 0.0), 8 * 5**2
    to_solver = 2.0 + 3 * metric / 1e6
    one = simulate_pass(4_000, 5, 1, cost, cluster, is_first=True)
    assert one.seconds == pytest.approx(1.0 + (2.0 + metric / 1e6) + 3 * 10.0 + to_solver)
    assert one.moved == pytest.approx(4 * metric)
    three = simulate_pass(4_000, 5, 3, cost, cluster, is_first=True)
    # Worker 0 fetches block 1 for the couple; workers 1 and 2 get the blocks 0 and 1 by themselves.
    block = 2_000 * 5 * 8
    assert three.moved == pytest.approx(3 * block + 3 * metric + 3 * metric)
    assert three.seconds == pytest.approx(
        1.0 + 2 * (2.0 + metric / 1e6) + 30.0 + 2.0 + block / 1e6 + to_solver
    )


def test_many_sums_are_added_up_in_groups() -> None:
    cluster = FREE._replace(per_task=1e-3)
    found = simulate_pass(1_000_000, 70, 10, PAIR, cluster)
    tasks = 34 * 35 // 2
    assert found.tasks == tasks + math.ceil(tasks / 32)


def test_more_workers_than_tasks_do_not_help() -> None:
    cluster = FREE._replace(per_task=1e-3)
    enough, more = (simulate_fit(1_000_000, 70, w, cluster).seconds for w in (600, 5_000))
    assert more == pytest.approx(enough, rel=0.01)
    few = [simulate_fit(1_000_000, 70, w, cluster) for w in (10, 100)]
    assert 8.0 < few[0].seconds / few[1].seconds < 10.0


def test_a_fit_without_overhead_is_the_sum_of_its_passes() -> None:
    fit = simulate_fit(20_000, 70, 1, FREE, Passes(3, 2, 1, 1, 1, 1))
    pairs, part = 20_000 * 19_999 / 2, 6_000 * 5_999 / 2
    assert fit.work == pytest.approx((5 * pairs + 4 * part) * 8e-9)


def test_costs_are_measured() -> None:
    costs = measure_costs(400, (5, 20), rounds=1, report=lambda line: None)
    assert list(costs) == list(FREE.costs)
    assert all(0.0 < cost.per_pair(70) < 1e-5 for cost in costs.values())


def test_small_passes_and_fits_make_the_rows_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said about the times themselves."""

    def fit(path: Path, learner: dict, source: Path | None) -> dict:
        found = fit_here({"samples": str(path), "learner": learner})
        return found if source is None else {**found, "processor": 2.0 * found["processor"]}

    monkeypatch.setattr("benchmarks.scale.fits.fit_elsewhere", fit)
    rows = pass_rows((300,), 10, report=lambda line: None)
    assert [row.at_most for row in rows] == [1.5, 1.6, None, None]
    assert all(row.value > 0.0 for row in rows)
    rows = fit_rows(Path("old"), (300,), (100.0,), 10, report=lambda line: None)
    names = ["fit, C = 100", "peak above the data, C = 100", "fit ÷ before, C = 100"]
    assert [row.name for row in rows] == names
    assert rows[0].value > 0.0
    assert rows[2].at_most == 1.0
    assert "objectives differ by 0e+00" in rows[2].note


def test_bare_products_are_those_of_every_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two products per tile; the tiles hold every pair, and squares on the diagonal hold theirs twice."""
    sizes, matmul = [], np.matmul

    def counted(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        sizes.append(a.shape[0] * a.shape[1] * b.shape[1])
        matmul(a, b, out=out)

    monkeypatch.setattr(np, "matmul", counted)
    y = np.repeat([0, 1], [300, 200])
    bare_products(np.ones((500, 7)), y)()
    squares = [256, 44, 200]
    assert sum(sizes) == 2 * 7 * (500 * 499 // 2 + sum(n * n - n * (n - 1) // 2 for n in squares))


def test_the_simulation_is_compared_with_fits() -> None:
    records = [
        PassRecord("evaluation", 100, 1.0),
        PassRecord("evaluation", 9, 0.1),
        PassRecord("moment", 9, 0.1),
        PassRecord("product", 9, 0.1),
        PassRecord("evaluation", 100, 1.0),
    ]
    fit = ClusterFit(5_000, 2, 4.0, 2.0, 10, {}, records, np.eye(70))
    assert passes_of(fit)[:4] == (2, 1, 1, 1)
    overheads = [Row("overhead per pass", "", 20.0, "ms"), Row("overhead per task", "", 3.0, "ms")]
    rows, constants = confirm_rows(FREE.costs, overheads, [fit])
    cluster, passes = saved_cluster(json.loads(json.dumps(constants)))
    assert (cluster.per_pass, cluster.per_task, passes) == (0.02, 0.003, passes_of(fit))
    assert rows[0].value == simulate_fit(5_000, 70, 2, cluster, passes).seconds / 4.0


def test_one_fit_is_that_of_the_learner(tmp_path: Path) -> None:
    path = write_samples(str(tmp_path), 600, 10)
    found = fit_here({"samples": str(path), "learner": {"C": 10.0, "pairs": "all"}})
    expected = RPDML(C=10.0, pairs="all").fit(*classes(600, 10))
    assert found["objective"] == expected.objective_
    assert found["pairs"] == 600 * 599 // 2
    assert 0.0 < found["solve"] < found["processor"]
    json.dumps(found)


def test_passes_are_recorded_and_the_class_is_left_as_it_was() -> None:
    X, y = classes(300, 5)
    evaluate = AllPairs.evaluate
    with recorded_passes(AllPairs) as records:
        learner = RPDML(pairs="all").fit(X, y)
    counted = [record for record in records if record.kind != "moment"]
    assert len(counted) == learner.history_[-1].passes
    assert {record.n_pairs for record in records} == {300 * 299 // 2}
    assert AllPairs.evaluate is evaluate


def test_rows_know_their_bar_and_are_saved_by_part(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "rows.json"
    good, bad = Row("a", "1", 1.5, at_most=1.5), Row("b", "2", 1.3, "s", at_least=1.4, note="n")
    assert (good.meets, bad.meets, Row("c", "", 1.0).meets) == (True, False, None)
    assert bad.cells() == ["b", "2", "1.3 s", "≥ 1.4, missed", "n"]
    save_part(path, "one", [good], {"load": 0.1})
    save_part(path, "two", [bad], {"load": 0.1})
    save_part(path, "one", [bad], {"load": 0.2})
    saved = read_parts(path)
    assert [rows_of(saved[name]) for name in ("one", "two")] == [[bad], [bad]]
    assert trust([0.1, 0.2]) == ""
    assert "not to be trusted" in trust([0.1, 3.0])


def test_tables_are_filled_in_between_their_marks() -> None:
    text = "A\n<!-- table: fits -->\nold\n<!-- end -->\nB\n<!-- table: none -->\n<!-- end -->\n"
    done = filled(text, {"fits": "| new |"})
    assert done == (
        "A\n<!-- table: fits -->\n| new |\n<!-- end -->\nB\n"
        "<!-- table: none -->\nNot measured yet.\n<!-- end -->\n"
    )
    assert filled(done, {"fits": "| new |"}) == done


@pytest.mark.parametrize(
    ("seconds", "text"), [(5.25, "5.2 s"), (120.0, "2 minutes"), (7200.0, "2 hours"), (259_200.0, "3 days")]
)
def test_times_are_told_in_their_unit(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_the_page_shows_what_is_recorded() -> None:
    recorded = read_parts(RESULTS)
    text = PAGE.read_text("utf-8")
    assert filled(text, tables(recorded)) == text, "run python -m benchmarks.scale.page"
    cluster, passes = saved_cluster(recorded["cluster"])
    assert cluster.per_task > 0.0
    assert passes.evaluations > 0


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(ValueError, match="Unknown part nothing; choose from passes, fits"):
        run_scale(["nothing"])
    assert set(LARGE) < set(parts(None))


def test_options_are_read() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser.add_argument_group("scale"))
    read = parser.parse_args(["--parts", "fits", "busy", "--old", "8fae23f", "--large"])
    assert (read.parts, read.old, read.large, read.results) == (["fits", "busy"], "8fae23f", True, None)


def test_older_sources_are_a_folder_or_a_commit(tmp_path: Path) -> None:
    with older_sources(None) as nothing:
        assert nothing is None
    (tmp_path / "src" / "geodual").mkdir(parents=True)
    with older_sources(str(tmp_path)) as found:
        assert found == tmp_path
    with pytest.raises(ValueError, match="`--old` must be a checkout"), older_sources("no-such-commit"):
        pass
