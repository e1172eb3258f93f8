"""Automatic derivatives with torch, for functions written with torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .automatic import Engine, Function, JoinedConstraint, called, part_name
from .trees import as_doubles, leaves, mapped

_missing: ImportError | None = None
try:  # torch is an extra; without it, this module can be imported but not used
    import torch
except ImportError as error:
    _missing = error

# All derivatives use reverse mode, twice if needed, which every operation of torch supports. Forward mode
# does not support all of them, and warns when it is loaded.


class TorchFunctions:
    """Functions written with torch, joined into one vector, with derivatives by `torch.autograd`.

    Parameters
    ----------
    functions : sequence of callables
        ``function(x)`` or, if there are data, ``function(x, data)``.
    name : str
        "cost", "inequalities" or "equalities".
    """

    def __init__(self, functions: Sequence[Function], name: str) -> None:
        # Names for error messages.
        names = ["cost"] if name == "cost" else [part_name(name, k) for k in range(len(functions))]
        self._named = list(zip(functions, names, strict=True))

    def bind_cost(self, data: Any) -> list[Function]:
        """Bind data: return the value, gradient and Hessian product of the cost."""
        ((cost, name),) = self._named

        def value(x: Any) -> Any:
            with torch.no_grad():  # not flattened, so that a cost that is not a number is detected
                return _evaluated(cost, name, mapped(_tensor, as_doubles(x)), data).detach().numpy()

        one = np.ones(1)
        gradient = partial(self._jacobian_product, data, w=one)
        return [value, gradient, lambda x, u: self._hessian_product(data, x, one, u)]

    def bind_constraints(self, data: Any, group: int) -> JoinedConstraint:
        """Bind data: return all functions as one block of constraints."""
        return JoinedConstraint(
            partial(self._value, data),
            partial(self._jacobian_product, data),
            partial(self._directional, data),
            partial(self._hessian_product, data),
            gradients=partial(self._gradients, data),
            shapes=lambda x: [tuple(a.shape) for a in self._values(mapped(_tensor, as_doubles(x)), data)],
            n_parts=len(self._named),
            group=group,
        )

    def _values(self, x: Any, data: Any) -> list[torch.Tensor]:
        return [_evaluated(function, name, x, data) for function, name in self._named]

    def parts(self, x: Any, data: Any) -> list[torch.Tensor]:
        """Return the values of every function as a vector."""
        return [value.reshape(-1) for value in self._values(x, data)]

    def _value(self, data: Any, x: Any) -> Any:
        with torch.no_grad():
            return torch.cat(self.parts(mapped(_tensor, as_doubles(x)), data)).detach().numpy()

    def _pulled_back(self, point: Any, data: Any, w: Any, keep: bool = False) -> Sequence[torch.Tensor]:
        """Return Σ wₖ ∇cₖ(x) over functions with nonzero weights, because 0 · ∞ would be NaN."""
        parts = self.parts(point, data)
        weights = torch.split(_tensor(w), [len(part) for part in parts])
        terms = [weight @ part for weight, part in zip(weights, parts, strict=True) if weight.any()]
        return _gradient(sum(terms, torch.zeros(())), leaves(point), keep)

    def _jacobian_product(self, data: Any, x: Any, w: Any) -> Any:
        """Return Σ wₖ ∇cₖ(x)."""
        point = mapped(_variable, as_doubles(x))
        return _arrays(point, self._pulled_back(point, data, w))

    def _hessian_product(self, data: Any, x: Any, w: Any, u: Any) -> Any:
        """Return Σ wₖ ∇²cₖ(x)[u], the gradient of x ↦ ⟨Σ wₖ ∇cₖ(x), u⟩."""
        point = mapped(_variable, as_doubles(x))
        slope = _pairing(self._pulled_back(point, data, w, keep=True), u)
        return _arrays(point, _gradient(slope, leaves(point)))

    def _directional(self, data: Any, x: Any, u: Any) -> Any:
        """Return Dc(x)[u], the gradient of w ↦ ⟨Σ wₖ ∇cₖ(x), u⟩, which is linear."""
        point = mapped(_variable, as_doubles(x))
        vector = torch.cat(self.parts(point, data))
        w = torch.zeros_like(vector, requires_grad=True)
        slope = _pairing(_gradient(w @ vector, leaves(point), keep=True), u)
        return _gradient(slope, [w])[0].numpy()

    def _gradients(self, data: Any, x: Any, indices: Any) -> list[Any]:
        point = mapped(_variable, as_doubles(x))
        entries = [entry for part in self.parts(point, data) for entry in part]
        return [_arrays(point, _gradient(entries[k], leaves(point))) for k in indices]


class TorchProblem:
    """All functions of a problem, by the name of their group."""

    def __init__(self, groups: Mapping[str, Sequence[Function]]) -> None:
        self._groups = {name: TorchFunctions(functions, name) for name, functions in groups.items()}

    def bind(self, data: Any) -> dict[str, Any]:
        """Bind data: return the arguments of `Problem`."""
        (_, cost), *groups = self._groups.items()
        value, gradient, hessian_product = cost.bind_cost(data)
        blocks = {name: group.bind_constraints(data, k) for k, (name, group) in enumerate(groups)}
        arguments = {"cost": value, "gradient": gradient, "hessian_product": hessian_product}
        by_data = TorchDataDerivatives(list(self._groups.values()), data)
        return {**arguments, **blocks, "joint": None, "by_data": by_data}  # a joint would gain nothing here


class TorchDataDerivatives:
    """The `DataDerivatives` of functions written with torch: the cost first, then all vectors."""

    def __init__(self, groups: Sequence[TorchFunctions], data: Any) -> None:
        self._groups, self._data = groups, data

    def tangent(self, x: Any, w: Sequence[Any], direction: Any) -> tuple[Any, Sequence[Any], float]:
        """Return the derivatives of ∇L(x), of all c(x) and of L(x) along a direction of the data."""
        # The cotangent is linear in u, v and s. Its pairing with the direction has these derivatives.
        u = mapped(lambda part: _variable(np.zeros_like(part)), as_doubles(x))
        v = [_variable(np.zeros(len(part))) for part in w]
        s = _variable(np.zeros(()))
        _, found = self._pulled_back(x, w, u, v, s, keep=True)
        chosen = [
            _tensor(d)
            for d, a in zip(leaves(as_doubles(direction)), leaves(self._data), strict=True)
            if _is_number(a)
        ]
        slope = sum((torch.sum(a * d) for a, d in zip(found, chosen, strict=True)), torch.zeros(()))
        parts = _gradient(slope, [*leaves(u), *v, s])
        n = len(leaves(u))
        return _arrays(u, parts[:n]), [part.numpy() for part in parts[n:-1]], float(parts[-1])

    def cotangent(self, x: Any, w: Sequence[Any], u: Any, v: Sequence[Any], s: float) -> Any:
        """Return the gradient of ⟨∇L(x), u⟩ + Σ ⟨v, c(x)⟩ + s L(x) with respect to the data."""
        ambient = mapped(_tensor, as_doubles(u))
        data, found = self._pulled_back(x, w, ambient, [*map(_tensor, v)], _tensor(np.array(s)))
        remaining = iter(found)
        return mapped(
            lambda a: next(remaining).detach().numpy() if _is_number(a) else np.zeros(a.shape), data
        )

    def _pulled_back(
        self, x: Any, w: Sequence[Any], u: Any, v: Sequence[torch.Tensor], s: torch.Tensor, keep: bool = False
    ) -> tuple[Any, Sequence[torch.Tensor]]:
        """Return the data, and the gradient of ⟨∇L(x), u⟩ + Σ ⟨v, c(x)⟩ + s L(x) by their numbers."""
        point = mapped(_variable, as_doubles(x))
        data = mapped(lambda a: a.clone().requires_grad_() if _is_number(a) else a, self._data)
        cost, *groups = (group.parts(point, data) for group in self._groups)
        vectors = [torch.cat(parts) for parts in groups]
        # L omits functions without a weight, because 0 · ∞ would be NaN.
        weighted = [_tensor(own) @ c for own, c in zip(w, vectors, strict=True) if np.any(own)]
        lagrangian = sum(weighted, cost[0][0])
        gradient = _gradient(lagrangian, leaves(point), keep=True)
        total = sum((torch.sum(g * a) for g, a in zip(gradient, leaves(u), strict=True)), s * lagrangian)
        for own, c in zip(v, vectors, strict=True):
            total = total + own @ c
        return data, _gradient(total, [a for a in leaves(data) if _is_number(a)], keep)


def _is_number(a: torch.Tensor) -> bool:
    """Return whether a tensor of the data holds numbers, not indices or truth values."""
    return bool(a.is_floating_point())


def _gradient(
    scalar: torch.Tensor, variables: list[torch.Tensor], keep: bool = False
) -> Sequence[torch.Tensor]:
    """Return the gradient of a scalar; with `keep`, it can be differentiated again."""
    if not scalar.requires_grad:  # a constant, for which torch raises an error
        return [torch.zeros_like(variable) for variable in variables]
    found: Sequence[torch.Tensor] = torch.autograd.grad(
        scalar, variables, retain_graph=True, create_graph=keep, materialize_grads=True
    )
    return found


def _evaluated(function: Function, name: str, x: Any, data: Any) -> torch.Tensor:
    value = called(function, name, x, data)
    if not isinstance(value, torch.Tensor):  # numbers and arrays have no derivatives
        raise TypeError(
            f"`{name}` must return a tensor, got {type(value).__name__}; use only operations of torch, "
            "without float(), .item() or .numpy(), and torch.stack for lists."
        )
    return value.to(torch.float64)


def _tensor(array: Any) -> torch.Tensor:
    # Copy, because torch rejects read-only arrays, and functions may write to their arguments.
    return torch.from_numpy(np.array(array, order="C"))


def _variable(array: Any) -> torch.Tensor:
    return _tensor(array).requires_grad_()


def _pairing(a: Sequence[torch.Tensor], u: Any) -> torch.Tensor:
    parts = map(_tensor, leaves(as_doubles(u)))
    return torch.stack([torch.sum(part * other) for part, other in zip(a, parts, strict=True)]).sum()


def _arrays(point: Any, tensors: Sequence[torch.Tensor]) -> Any:
    """Return the tensors as arrays in the structure of a point."""
    remaining = iter(tensors)
    return mapped(lambda _: next(remaining).detach().numpy(), point)


def _place(data: Any) -> Any:
    return None if data is None else mapped(_tensor, data)


def torch_engine() -> Engine:
    """Return the engine of `Problem.from_torch`; raise an `ImportError` if torch cannot be imported."""
    if _missing is not None:
        raise ImportError("Problem.from_torch needs torch: pip install 'geodual[torch]'.") from _missing
    return Engine(_place, TorchProblem)
