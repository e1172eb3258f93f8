"""Values and derivatives of expressions: one forward sweep, one backward, and both for Hessian products."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array


def nodes_of(outputs: Iterable[Any]) -> list[Any]:
    """Return all nodes of the outputs in topological order, arguments first."""
    order: dict[int, Any] = {}
    stack = [(node, False) for node in reversed(list(outputs))]
    while stack:  # not by recursion: sums may be deep
        node, ready = stack.pop()
        if id(node) in order:
            continue
        if ready or not node.args:
            order[id(node)] = node
        else:
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(node.args))
    return list(order.values())


class Graph:
    """Compute several expressions and their derivatives with respect to some of the leaves.

    Parameters
    ----------
    outputs : sequence of Expression
        The expressions to compute.
    inputs : sequence of Expression
        The leaves with respect to which derivatives are taken. All other leaves keep their values.
    """

    def __init__(self, outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
        self.nodes = nodes_of([*inputs, *outputs])
        place = {id(node): k for k, node in enumerate(self.nodes)}
        self.inputs = [place[id(node)] for node in inputs]
        self.outputs = [place[id(node)] for node in outputs]
        self.args = [tuple(place[id(arg)] for arg in node.args) for node in self.nodes]
        # Nodes that do not depend on any input need no derivatives.
        self.moves = [False] * len(self.nodes)
        for k in range(len(self.nodes)):
            self.moves[k] = k in self.inputs or any(self.moves[j] for j in self.args[k])

    def at(self, point: Sequence[Array], leaves: Mapping[int, Array]) -> Evaluation:
        """Evaluate at a point: one array per input, and those of all other leaves by position."""
        return Evaluation(self, point, leaves)

    def other_leaves(self) -> list[int]:
        """Return the positions of the leaves that are not inputs."""
        return [k for k, node in enumerate(self.nodes) if not node.args and k not in self.inputs]


class Evaluation:
    """The values of all nodes at a point, from which derivatives are computed.

    Attributes
    ----------
    values : list of array
        One array per node.
    """

    def __init__(self, graph: Graph, point: Sequence[Array], leaves: Mapping[int, Array]) -> None:
        self.graph = graph
        self.values: list[Array] = [np.zeros(0)] * len(graph.nodes)
        self._memos: list[Any] = [None] * len(graph.nodes)
        for k, value in zip(graph.inputs, point, strict=True):
            self.values[k] = value
        for k, value in leaves.items():
            self.values[k] = value
        for k, node in enumerate(graph.nodes):
            if node.args:
                self.values[k], self._memos[k] = node.atom.forward(*self._arguments(k))
        self._weights: tuple[bytes, list[Array | None]] | None = None
        self._tangents: tuple[bytes, list[Array | None]] | None = None

    def _arguments(self, k: int) -> list[Array]:
        return [self.values[j] for j in self.graph.args[k]]

    def outputs(self) -> list[Array]:
        """Return the values of the outputs."""
        return [self.values[k] for k in self.graph.outputs]

    def along(self, directions: Sequence[Array]) -> list[Array]:
        """Return the changes of the outputs along directions of the inputs."""
        tangents = self._forwards(directions)
        shapes = [np.shape(self.values[k]) for k in self.graph.outputs]
        found = [tangents[k] for k in self.graph.outputs]
        return [np.zeros(s) if t is None else t for t, s in zip(found, shapes, strict=True)]

    def gradient(self, weights: Sequence[Array | None]) -> list[Array]:
        """Return the gradient of Σ ⟨weights, output⟩ with respect to every input."""
        return self._collected(self._backwards(weights))

    def hessian_product(self, weights: Sequence[Array | None], directions: Sequence[Array]) -> list[Array]:
        """Return the Hessian of Σ ⟨weights, output⟩ applied to directions of the inputs."""
        tangents, first = self._forwards(directions), self._backwards(weights)
        graph = self.graph
        changes: list[Array | None] = [None] * len(graph.nodes)
        for k in range(len(graph.nodes) - 1, -1, -1):
            weight = first[k]
            if not graph.args[k] or not graph.moves[k] or (weight is None and changes[k] is None):
                continue
            atom, values = graph.nodes[k].atom, self._arguments(k)
            moved = [tangents[j] for j in graph.args[k]]
            for i, j in enumerate(graph.args[k]):
                if not graph.moves[j]:
                    continue
                if (change := changes[k]) is not None:
                    _add(changes, j, atom.pullback(i, values, self._memos[k], change))
                if weight is not None and any(t is not None for t in moved):
                    bent = atom.second(i, values, self._memos[k], moved, weight)
                    if bent is not None:
                        _add(changes, j, bent)
        return self._collected(changes)

    def _forwards(self, directions: Sequence[Array]) -> list[Array | None]:
        key = _key(directions)
        if self._tangents is None or self._tangents[0] != key:
            graph = self.graph
            tangents: list[Array | None] = [None] * len(graph.nodes)
            for k, direction in zip(graph.inputs, directions, strict=True):
                tangents[k] = direction
            for k, node in enumerate(graph.nodes):
                if node.args and graph.moves[k]:
                    moved = [tangents[j] for j in graph.args[k]]
                    if any(t is not None for t in moved):
                        tangents[k] = node.atom.tangent(self._arguments(k), self._memos[k], moved)
            self._tangents = key, tangents
        return self._tangents[1]

    def _backwards(self, weights: Sequence[Array | None]) -> list[Array | None]:
        key = _key(weights)
        if self._weights is None or self._weights[0] != key:  # the same for all products at a point
            graph = self.graph
            found: list[Array | None] = [None] * len(graph.nodes)
            for k, weight in zip(graph.outputs, weights, strict=True):
                if weight is not None:
                    _add(found, k, np.asarray(weight, dtype=float))
            for k in range(len(graph.nodes) - 1, -1, -1):
                weight = found[k]
                if weight is None or not graph.args[k]:
                    continue
                atom, values = graph.nodes[k].atom, self._arguments(k)
                for i, j in enumerate(graph.args[k]):
                    if graph.moves[j]:
                        _add(found, j, atom.pullback(i, values, self._memos[k], weight))
            self._weights = key, found
        return self._weights[1]

    def _collected(self, found: list[Array | None]) -> list[Array]:
        """Return the gradients with respect to the inputs, symmetric for symmetric inputs."""
        graph, gathered = self.graph, []
        for k in graph.inputs:
            part = found[k]
            whole = np.zeros(np.shape(self.values[k])) if part is None else np.asarray(part)
            gathered.append(0.5 * (whole + whole.T) if graph.nodes[k].symmetric else whole)
        return gathered


def _add(found: list[Array | None], k: int, part: Array) -> None:
    old = found[k]
    found[k] = part if old is None else old + part


def _key(arrays: Sequence[Array | None]) -> bytes:
    return b"|".join(b"" if a is None else np.asarray(a, dtype=float).tobytes() for a in arrays)
