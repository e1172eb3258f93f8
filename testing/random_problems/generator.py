"""Random problems with a solution, on random manifolds.

Every problem has a feasible point by construction, at which all inequalities hold strictly. Every problem has
a minimum inside its manifold: the manifold is compact, or the cost grows to infinity in all directions and at
the edge, or a constraint keeps the points in a compact ball. All data are drawn from continuous
distributions, so that the gradients of active constraints are independent with probability 1, except for
duplicated constraints. With terms, the same problems get one or two additional terms g(c(x)): norms and
losses, which are finite, or cones with the feasible point strictly inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodual.manifolds import FixedRank, Grassmann, Manifold
from geodual.optimize import Constraint, Problem
from geodual.optimize import Term as NonsmoothTerm
from geodual.optimize.trees import scaled

from ..problems.case import Array
from . import functions, terms
from .blocks import Quadratics, composed, draw_quadratics, quadratic_block, term_block
from .embedding import Embedding, Part, embedding_of, parts_of
from .functions import FunctionKind
from .geometry_terms import OPEN, barrier, half_squared_distance
from .manifolds import KINDS, draw_manifold
from .terms import Term

_MOST_INEQUALITIES = 40
_RANDOM_POINTS = 20  # to estimate the spread of a constraint over the manifold


@dataclass(frozen=True)
class RandomProblem:
    """A problem with a start and a feasible point.

    Attributes
    ----------
    seed : int
        The seed of the draw.
    kind : str
        Kind of the manifold.
    label : str
        Description of the parts of the problem.
    problem : Problem
        The problem.
    start : point
        The starting point; feasible in about half of the problems.
    feasible : point
        A feasible point.
    """

    seed: int
    kind: str
    label: str
    problem: Problem
    start: Any
    feasible: Any


def random_problem(seed: int, with_terms: bool = False) -> RandomProblem:
    """Return the problem with the given seed, possibly with terms; kinds of manifolds alternate."""
    draw = _Draw(seed)
    return draw.problem(draw.terms() if with_terms else {})


class _Draw:
    """The manifold, the two points and the random numbers of a problem under construction."""

    def __init__(self, seed: int) -> None:
        self.seed, self.kind = seed, KINDS[seed % len(KINDS)]
        self.rng = np.random.default_rng([11, seed])
        self.manifold: Manifold = draw_manifold(self.kind, self.rng)
        self.embedding: Embedding = embedding_of(self.manifold)
        self.size = self.embedding.size
        self.parts = list(parts_of(self.manifold))
        self.open = [part for part in self.parts if isinstance(part.manifold, OPEN)]
        self.feasible = self.manifold.random_point(self.rng)
        self.start = self.feasible if self.rng.random() < 0.5 else self._distant_point()
        self.bounded_by = str(self.rng.choice(["growth", "ball"])) if self.open else "compactness"
        self.cost_kind = str(self.rng.choice(list(_COSTS)))

    def _distant_point(self) -> Any:
        """Return a random point connected to the feasible one, possibly moved by up to three units."""
        far = self.rng.random() < 0.5
        while True:
            x = self.manifold.random_point(self.rng)
            if far:
                u = self.manifold.random_tangent(x, self.rng)
                x = self.manifold.exp(x, scaled(float(self.rng.uniform(1.0, 3.0)), u))
            if all(part.is_joined(self.embedding.embed(x), self.z) for part in self.parts):
                return x

    @property
    def z(self) -> Array:
        """The vector of the feasible point."""
        return self.embedding.embed(self.feasible)

    def random_vectors(self, count: int) -> Array:
        """Return the vectors of random points, one per row."""
        return np.array([self.embedding.embed(self.manifold.random_point(self.rng)) for _ in range(count)])

    def weight(self) -> float:
        """Return a factor between 0.01 and 100."""
        return float(10.0 ** self.rng.uniform(-2.0, 2.0))

    def terms(self) -> dict[str, NonsmoothTerm]:
        """Return one or two random terms by name, from separate random numbers."""
        rng = np.random.default_rng([26, self.seed])
        found = {}
        for _ in range(int(rng.integers(1, 3))):
            weight = float(10.0 ** rng.uniform(-2.0, 1.0))
            if rng.random() < 0.3 and not any(isinstance(p.manifold, Grassmann) for p in self.parts):
                name, function = functions.of_points(rng, weight)
                found[f"{name} of x"] = NonsmoothTerm(function)
                continue
            kinds = [name for name, kind in functions.KINDS.items() if kind.needs(self.manifold.dim)]
            name = str(rng.choice(kinds))
            found[name] = self._term(functions.KINDS[name], weight, rng)
        return found

    def _term(self, kind: FunctionKind, weight: float, rng: np.random.Generator) -> NonsmoothTerm:
        """Return a function of random quadratics; for constraints, the feasible point is strictly inside."""
        index = kind.index(rng)
        quadratics = draw_quadratics(rng, int(index.max()) + 1, self.size)
        values = quadratics.value(self.z)
        if kind.inside is None:
            target = 0.5 * rng.standard_normal(len(values))
        else:
            target = np.zeros(len(values))
            target[index] = kind.inside(rng, index.shape)
        block = quadratic_block(self.embedding, quadratics.shifted(values - target), int(rng.integers(0, 3)))
        return NonsmoothTerm(kind.make(rng, weight), functions.arranged(block, index))

    def problem(self, extra: dict[str, NonsmoothTerm]) -> RandomProblem:
        cost, gradient, hessian_product = composed(self.embedding, self._cost().times(self.weight()))
        if self.rng.random() < 0.3:
            hessian_product = None
        inequalities, equalities = self._inequalities(), self._equalities()
        problem = Problem(
            self.manifold,
            cost,
            gradient=gradient,
            hessian_product=hessian_product,
            inequalities=inequalities or None,
            equalities=equalities or None,
            terms=list(extra.values()),
        )
        count, fixed = (_count(blocks, self.feasible) for blocks in (inequalities, equalities))
        kinds = f"{self.manifold}, {self.cost_kind}, {self.bounded_by}"
        label = ", ".join([kinds, f"{count} inequalities, {fixed} equalities", *extra])
        return RandomProblem(self.seed, self.kind, label, problem, self.start, self.feasible)

    def _cost(self) -> Term:
        main = _COSTS[self.cost_kind](self)
        if self.bounded_by != "growth":
            return main
        weight = float(10.0 ** self.rng.uniform(-1.0, 0.0))
        if self.cost_kind == "indefinite":
            main = main.times(0.5 * weight)  # its curvature is at most half of that of the growing terms
        grown = [term.times(weight) for part in self.open for term in self._growing(part)]
        return terms.total([main, *grown])

    def _growing(self, part: Part) -> list[Term]:
        """Return terms that grow to infinity far away and at the edge of an open part."""
        z = self.random_vectors(1)[0][part.where]
        found = [terms.squared_distance(z), barrier(part.manifold)]
        return [term.on(part.where, self.size) for term in found if term is not None]

    def _inequalities(self) -> list[Constraint]:
        blocks = self._balls()
        room = _MOST_INEQUALITIES - len(blocks)
        count = 0 if self.rng.random() < 0.2 else int(self.rng.integers(1, room + 1))
        if not count:
            return blocks
        distinct = max(1, count - int(self.rng.integers(0, 4)))  # up to three duplicates
        quadratics = draw_quadratics(self.rng, distinct, self.size)
        values, others = quadratics.value(self.z), self.random_vectors(_RANDOM_POINTS)
        spread = np.mean([np.abs(quadratics.value(z) - values) for z in others], axis=0)
        quadratics = quadratics.shifted(values + spread * self._slacks(distinct))
        copies = self.rng.integers(distinct, size=count - distinct)
        quadratics = quadratics.chosen(self.rng.permutation(np.concatenate([np.arange(distinct), copies])))
        if self.rng.random() < 0.3:  # a scale per constraint; otherwise one per block
            quadratics = quadratics.times(10.0 ** self.rng.uniform(-1.0, 1.0, count))
        groups = np.array_split(np.arange(count), int(self.rng.integers(1, 4)))
        return blocks + [self._block(quadratics.chosen(group)) for group in groups if group.size]

    def _block(self, quadratics: Quadratics) -> Constraint:
        """Return quadratics as a block with its own scale and some of the optional derivatives."""
        return quadratic_block(self.embedding, quadratics.times(self.weight()), int(self.rng.integers(0, 3)))

    def _slacks(self, count: int) -> Array:
        """Return the slack of the feasible point relative to the spread: tight, ordinary or loose."""
        highest = self.rng.choice([0.05, 0.5, 3.0], count)
        return np.asarray(highest * self.rng.uniform(0.1, 1.0, count))

    def _balls(self) -> list[Constraint]:
        """Return the balls that make the feasible set compact; if not needed, possibly one ball."""
        found = []
        if self.bounded_by == "ball":
            ranks = [part for part in self.open if isinstance(part.manifold, FixedRank)]
            others = [part for part in self.open if part not in ranks]
            # In this ball no singular value falls below half of the smallest at its center.
            found += [self._ball([part], 0.125 * self._least_singular_value(part) ** 2) for part in ranks]
            if others:
                found.append(self._ball(others, float(self.rng.uniform(0.1, 3.0))))
        elif self.rng.random() < 0.2:
            part = self.parts[int(self.rng.integers(len(self.parts)))]
            found.append(self._ball([part], float(self.rng.uniform(0.05, 1.0)), self.random_vectors(1)[0]))
        return found

    def _least_singular_value(self, part: Part) -> float:
        assert isinstance(part.manifold, FixedRank)
        matrix = self.z[part.where].reshape(part.manifold.m, part.manifold.n)
        return float(np.linalg.svd(matrix, compute_uv=False)[part.manifold.r - 1])

    def _ball(self, parts: Sequence[Part], slack: float, center: Array | None = None) -> Constraint:
        """Return ½ d²(x, center) ≤ bound; the feasible point is inside by `slack`, and the default center."""
        center = self.z if center is None else center
        each = [half_squared_distance(p.manifold, center[p.where]).on(p.where, self.size) for p in parts]
        distance = terms.total(each)
        bound = distance.value(self.z) + slack
        ball = Term(lambda z: distance.value(z) - bound, distance.gradient, distance.hessian)
        return term_block(self.embedding, ball.times(self.weight()))

    def _equalities(self) -> list[Constraint]:
        count = min(int(self.rng.integers(1, 4)), self.manifold.dim - 1)
        if count < 1 or self.rng.random() < 0.5:
            return []
        quadratics = draw_quadratics(self.rng, count, self.size)
        return [self._block(quadratics.shifted(quadratics.value(self.z)))]


def _count(blocks: Sequence[Constraint], x: Any) -> int:
    return sum(len(block(x)) for block in blocks)


def _distances(draw: _Draw) -> Term:
    return terms.distances(draw.random_vectors(int(draw.rng.integers(2, 8))))


def _means(draw: _Draw) -> Term:
    """Return the sum of half the squared distances to a few points."""
    return terms.total(
        [
            half_squared_distance(part.manifold, z[part.where]).on(part.where, draw.size)
            for z in draw.random_vectors(int(draw.rng.integers(1, 5)))
            for part in draw.parts
        ]
    )


def _logarithms(draw: _Draw) -> Term:
    """Return a linear function with logarithmic barriers around the start and the feasible point."""
    A = draw.rng.standard_normal((int(draw.rng.integers(2, 8)), draw.size)) / np.sqrt(draw.size)
    reached = np.maximum(A @ draw.z, A @ draw.embedding.embed(draw.start))
    return terms.total(
        [
            terms.linear(draw.rng, draw.size),
            terms.log_barrier(A, reached + draw.rng.uniform(0.3, 2.0, len(A))),
        ]
    )


def _plain(kind: terms.CostKind) -> Callable[[_Draw], Term]:
    return lambda draw: kind(draw.rng, draw.size)


_COSTS: dict[str, Callable[[_Draw], Term]] = {
    **{name: _plain(kind) for name, kind in terms.KINDS.items()},
    "distances": _distances,
    "means": _means,
    "logarithms": _logarithms,
}
