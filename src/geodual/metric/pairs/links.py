"""Links: pairs known to belong together or apart, which count beside the pairs that labels make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array, Indices

from .pair_list import PairList
from .pair_loss import PairLoss
from .pair_set import LossPass, Pairs, PairTable
from .selection import check_row_numbers


@dataclass(frozen=True, eq=False)
class Links:
    """Pairs of samples that must be near (must-links) or far apart (cannot-links).

    Attributes
    ----------
    indices : array of shape (n_links, 2)
        Row numbers.
    similar : array of bool of shape (n_links,)
        Which of them are must-links.
    weight : array of shape (n_links,)
        How often each counts.
    """

    indices: Indices
    similar: NDArray[np.bool_]
    weight: Array

    def beside(self, pairs: Pairs, n_samples: int) -> Pairs:
        """Return pairs of the first samples, with these links between those that follow, two per link."""
        rows = np.arange(2 * len(self.indices)).reshape(-1, 2)
        return JointPairs(pairs, n_samples, PairList(rows, self.similar, self.weight))


def check_links(must_link: Any, cannot_link: Any, n_samples: int, weight: Array | None) -> Links | None:
    """Return links between samples of positive weight, as rows of these; None if there are none.

    Parameters
    ----------
    must_link, cannot_link : array of shape (n_links, 2), or None
        Pairs of row numbers.
    n_samples : int
        Number of samples.
    weight : array of shape (n_samples,), or None
        How often each sample counts; a link gets the product of the weights of its samples.
    """
    must = _link_array("must_link", must_link, n_samples)
    cannot = _link_array("cannot_link", cannot_link, n_samples)
    indices, similar = np.vstack([must, cannot]), np.arange(len(must) + len(cannot)) < len(must)
    both = {tuple(sorted(pair)) for pair in must.tolist()} & {tuple(sorted(pair)) for pair in cannot.tolist()}
    if both:
        i, j = min(both)
        raise ValueError(f"Samples {i} and {j} are both in `must_link` and in `cannot_link`; remove one.")
    if weight is None:
        return Links(indices, similar, np.ones(len(indices))) if len(indices) else None
    counts = weight[indices].prod(axis=1)
    # Samples of weight zero are dropped later; these are the row numbers of the others then.
    indices, kept = (np.cumsum(weight > 0.0) - 1)[indices], counts > 0.0
    return Links(indices[kept], similar[kept], counts[kept]) if kept.any() else None


def _link_array(name: str, links: Any, n_samples: int) -> Indices:
    array = np.empty((0, 2), dtype=np.intp) if links is None else np.asarray(links)
    if not array.size:
        return np.empty((0, 2), dtype=np.intp)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"`{name}` must have shape (n_links, 2), got {array.shape}.")
    array = check_row_numbers(f"`{name}`", array, n_samples)
    own = np.flatnonzero(array[:, 0] == array[:, 1])
    if own.size:
        raise ValueError(f"`{name}` joins sample {array[own[0], 0]} with itself; remove link {own[0]}.")
    return array


class JointPairs(Pairs):
    """Two sets of pairs: one of the first samples, and one of the samples that follow.

    Parameters
    ----------
    first : Pairs
        Pairs of the first samples.
    n_first : int
        Number of these samples.
    second : PairList
        Pairs of the other samples, with row numbers from 0.
    """

    def __init__(self, first: Pairs, n_first: int, second: PairList) -> None:
        self._first, self._n_first, self._second = first, n_first, second
        self.n_pairs = first.n_pairs + second.n_pairs
        self.total_weight = first.total_weight + second.total_weight

    def evaluate(self, Z: Array, loss: PairLoss) -> LossPass:
        one = self._first.evaluate(Z[: self._n_first], loss)
        two = self._second.evaluate(Z[self._n_first :], loss)
        # The curvatures of the second set are found again, so that those of the first may have any form.
        return LossPass(
            one.value + two.value,
            one.conjugate + two.conjugate,
            one.slope_sum + two.slope_sum,
            one.curvature_total + two.curvature_total,
            one.curvatures,
            one.noise + two.noise,
        )

    def curvature_product(self, Z: Array, S: Array, loss: PairLoss, curvatures: list[Array] | None) -> Array:
        others = Z[self._n_first :]
        known = self._second.evaluate(others, loss).curvatures
        return self._first.curvature_product(
            Z[: self._n_first], S, loss, curvatures
        ) + self._second.curvature_product(others, S, loss, known)

    def curvature_moment(self, Z: Array, loss: PairLoss, losses: LossPass) -> Array:
        others = Z[self._n_first :]
        moment = self._second.curvature_moment(others, loss, self._second.evaluate(others, loss))
        return moment + self._first.curvature_moment(Z[: self._n_first], loss, losses)

    def index_list(self, limit: int) -> PairTable:
        self._check_limit(limit)
        one, two = self._first.index_list(limit), self._second.index_list(limit)
        return PairTable(
            np.concatenate([one.i, two.i + self._n_first]),
            np.concatenate([one.j, two.j + self._n_first]),
            np.concatenate([one.similar, two.similar]),
            np.concatenate([one.weight, two.weight]),
        )
