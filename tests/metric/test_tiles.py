"""Tiles of the distance matrix: each pair once, with its kind, in chunks for threads."""

from types import SimpleNamespace

import numpy as np
import pytest

from geodual.metric.geometry.tiles import chunks_of, class_tiles


@pytest.mark.parametrize("n_rows", [None, 1, 700, 1499])
def test_tiles_hold_each_pair_once_and_know_its_kind(n_rows: int | None) -> None:
    """The classes are larger than a tile, and the first rows end within one."""
    labels = np.repeat([0, 1, 2], [1300, 150, 50])
    seen = np.zeros((1500, 1500))
    for tile in class_tiles(labels, n_rows):
        seen[tile.rows, tile.columns] += tile.share
        assert ((labels[tile.rows][:, None] == labels[tile.columns]) == tile.similar).all()
    expected = np.ones((1500, 1500))
    if n_rows:
        expected[:n_rows, :n_rows] = expected[n_rows:, n_rows:] = 0.0
    np.testing.assert_array_equal(np.triu(seen + seen.T, 1), np.triu(expected, 1))


@pytest.mark.parametrize("sizes", [(6, 6), (25, 1), (3, 3, 3, 3), (11,), (40, 1, 1)])
def test_chunks_hold_every_tile_once(sizes: tuple[int, ...]) -> None:
    given = [SimpleNamespace(size=200_000 * size) for size in sizes]
    chunks = chunks_of(given)
    assert len(chunks) == len({total // 10 for total in np.cumsum(sizes).tolist()})
    assert [tile for chunk in chunks for tile in chunk] == given
