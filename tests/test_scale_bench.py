"""`make bench-scale` on small samples: its rows, what it saves, and the page that shows it."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.samples import classes
from benchmarks.scale.fits import anchor_rows, fit_rows, neighbor_rows
from benchmarks.scale.machine_fits import class_rows, machine_rows
from benchmarks.scale.machine_fits import main as machine_here
from benchmarks.scale.one_fit import main as fit_here
from benchmarks.scale.one_fit import write_samples
from benchmarks.scale.page import PAGE, RESULTS, filled, part_table
from benchmarks.scale.passes import bare_products, pass_rows
from benchmarks.scale.rows import Row, read_parts, rows_of, save_part, trust
from benchmarks.scale.run import LARGE, PARTS, run_scale
from geodual.metric import RPDML


def test_small_passes_and_fits_make_the_rows_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said about the times themselves."""

    def fit(path: Path, learner: dict, one_thread: bool) -> dict:
        return fit_here({"samples": str(path), "learner": learner})

    monkeypatch.setattr("benchmarks.scale.fits.fit_elsewhere", fit)
    rows = pass_rows((300,), 10, report=lambda line: None)
    assert [row.at_most for row in rows] == [1.5, 1.6, None, None]
    assert all(row.value > 0.0 for row in rows)
    rows = fit_rows((300,), (100.0,), 10, report=lambda line: None)
    assert [row.name for row in rows] == ["fit, C = 100", "peak above the data, C = 100"]
    assert rows[0].value > 0.0


def test_small_machines_make_the_rows_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.scale.machine_fits._fit_elsewhere", machine_here)
    monkeypatch.setattr("benchmarks.scale.machine_fits._NEW", 100)
    rows = machine_rows((200,), 5, report=lambda line: None)
    assert [row.name.split(":")[0] for row in rows] == ["RPDMLClassifier"] * 2 + ["RPDMLRegressor"] * 2
    assert rows[0].value > 0.0
    assert float(rows[0].note.split()[1].rstrip(";")) > 0.7  # the score
    rows = class_rows((200,), 5, 10, report=lambda line: None)
    assert rows[0].size == "200 × 5, 10 classes"
    assert float(rows[0].note.split()[1].rstrip(";")) > 0.5


def test_fits_of_neighbors_make_their_rows() -> None:
    rows = neighbor_rows((300,), 3, report=lambda line: None)
    assert [row.name for row in rows] == [
        f"{kind}: {what}"
        for kind in ("RPDML", "NeighborRPDML")
        for what in ("processor time", "peak above the data")
    ]
    assert all("300 anchors" in row.note for row in rows[::2])
    assert [row.at_most for row in rows] == [None] * 4


def test_the_metric_of_all_anchors_is_that_of_all() -> None:
    rows = anchor_rows(300, 4, (100, 300), report=lambda line: None)
    assert rows[0].value > 1.0
    assert rows[1].value < 1e-9


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


def test_one_fit_is_that_of_the_learner(tmp_path: Path) -> None:
    path = write_samples(str(tmp_path), 600, 10)
    found = fit_here({"samples": str(path), "learner": {"C": 10.0, "pairs": "all"}})
    expected = RPDML(C=10.0, pairs="all").fit(*classes(600, 10))
    assert found["objective"] == expected.objective_
    assert found["pairs"] == 600 * 599 // 2
    assert 0.0 < found["solve"] < found["processor"]
    json.dumps(found)


def test_rows_know_their_bar_and_are_saved_by_part(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "rows.json"
    good, bad = Row("a", "1", 1.5, at_most=1.5), Row("b", "2", 1.3, "s", at_least=1.4, note="n")
    assert (good.meets, bad.meets, Row("c", "", 1.0).meets) == (True, False, None)
    assert bad.cells() == ["b", "2", "1.3 s", "≥ 1.4, missed", "n"]
    save_part(path, "one", [good], 0.1)
    save_part(path, "two", [bad], 0.1)
    save_part(path, "one", [bad], 0.2)
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


def test_the_page_shows_what_is_recorded() -> None:
    tables = {name: part_table(part) for name, part in read_parts(RESULTS).items()}
    text = PAGE.read_text("utf-8")
    assert filled(text, tables) == text, "run python -m benchmarks.scale.page"
    assert set(tables) == set(PARTS)


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(ValueError, match="Unknown part nothing; choose from passes, fits"):
        run_scale(["nothing"])
    assert set(LARGE) < set(PARTS)
