"""Automatic derivatives by jax, for functions written with `jax.numpy`."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .automatic import Engine, Function, JoinedConstraint, called, part_name
from .constraint import A_CONDITION
from .trees import as_doubles

# Code of many small functions takes long to optimise, and then runs no faster.
_MANY = 20
_QUICK = {"xla_backend_optimization_level": 0}

_shared: dict[tuple[Any, ...], tuple[Any, dict[str, Function]]] = {}
"""The fingerprint and the compiled code of functions, by their identity."""


class CompiledFunctions:
    """Functions written with `jax.numpy`, compiled together with their derivatives for any data.

    Each derivative is one compiled function of (x, data, ...), however many functions there are. Code is
    shared with other objects that hold the same functions, if these still compute the same, and is freed with
    the functions.

    Parameters
    ----------
    functions : sequence of callables
        ``function(x)`` or, if there are data, ``function(x, data)``.
    name : str
        "cost", "inequalities" or "equalities".
    """

    def __init__(self, functions: Sequence[Function], name: str) -> None:
        self.functions = tuple(functions)
        self.name = name
        self._code: dict[str, Function] | None = None

    def __reduce__(self) -> tuple[Any, ...]:  # another process compiles for itself
        return CompiledFunctions, (self.functions, self.name)

    def run(self, derivative: str, data: PlacedData, x: Any, *rest: Any) -> Any:
        """Run compiled code in double precision on numpy arrays, without changing jax's settings."""
        with jax.enable_x64(True):
            x = as_doubles(x)
            result = self._code_for(x, data)[derivative](x, data.placed, *map(as_doubles, rest))
            return jax.tree.map(np.asarray, result)

    def _code_for(self, x: Any, data: PlacedData) -> dict[str, Function]:
        if self._code is None:  # the first point tells what the functions compute
            self._code = _compiled(self.functions, self.name, x, data.placed)
        return self._code

    def bind_cost(self, data: PlacedData) -> list[Function]:
        """Return the value, gradient and Hessian product of the cost for some data."""
        return [partial(self.run, name, data) for name in ("value", "gradient", "hessian_product")]

    def bind_constraints(self, data: PlacedData) -> JoinedConstraint:
        """Return all functions as one block of constraints for some data."""
        return JoinedConstraint(
            value=partial(self.run, "value", data),
            jacobian_product=partial(self.run, "jacobian_product", data),
            directional=partial(self.run, "directional", data),
            hessian_product=partial(self.run, "hessian_product", data),
            gradients=partial(self._gradients, data),
            shapes=partial(self._shapes, data),
            n_parts=len(self.functions),
        )

    def _gradients(self, data: PlacedData, x: Any, indices: Any) -> list[Any]:
        stack = self.run("jacobian", data, x)  # on a product: a tuple of Jacobians
        return [jax.tree.map(lambda part, k=k: part[k], stack) for k in indices]

    def _shapes(self, data: PlacedData, x: Any) -> list[tuple[int, ...]]:
        with jax.enable_x64(True):
            x = as_doubles(x)
            parts = jax.eval_shape(self._code_for(x, data)["parts"], x, data.placed)
        return [part.shape for part in parts]


class PlacedData:
    """The data of a problem in double precision where jax runs, so that they are not copied at every call."""

    def __init__(self, data: Any) -> None:
        self._data = data
        with jax.enable_x64(True):
            self.placed = jax.tree.map(jnp.asarray, data)

    def __reduce__(self) -> tuple[Any, ...]:  # jax would restore its own arrays in single precision
        return PlacedData, (self._data,)


JAX = Engine(PlacedData, CompiledFunctions)
"""What `Problem.from_jax` uses."""


def _compiled(functions: tuple[Function, ...], name: str, x: Any, data: Any) -> dict[str, Function]:
    """Return compiled derivatives, which are kept for later problems as long as the functions exist."""
    key = (name, *map(id, functions))
    fingerprint = _fingerprint(functions, name, x, data)
    if key in _shared and _shared[key][0] == fingerprint:
        return _shared[key][1]

    def forget(_: Any, kept: dict[Any, Any] = _shared) -> None:
        kept.pop(key, None)

    references: list[Function]
    try:  # weak references, so that kept code does not keep the functions and the arrays that they hold
        references = [weakref.ref(function, forget) for function in functions]
    except TypeError:  # some objects allow none; their code is not kept
        references, key = [partial(_itself, function) for function in functions], ()
    options = _QUICK if len(functions) > _MANY else None
    code = {
        label: jax.jit(derivative, compiler_options=options)
        for label, derivative in _derivatives(references, name).items()
    }
    if key:
        _shared[key] = fingerprint, code
    return code


def _fingerprint(functions: Sequence[Function], name: str, x: Any, data: Any) -> tuple[Any, ...]:
    """Return what tells whether functions still compute what they did.

    Numbers that a function takes from elsewhere are compiled into it. If they have changed since, code that
    was compiled before must not be used for a new problem.
    """
    value = _derivatives([partial(_itself, function) for function in functions], name)["value"]
    trace = jax.make_jaxpr(value)(x, data)
    return str(trace.jaxpr), *map(_content, trace.consts)


def _content(constant: Any) -> int:
    if jnp.issubdtype(constant.dtype, jax.dtypes.extended):  # a random key, which cannot be read
        return id(constant)
    return hash(np.asarray(constant).tobytes())


def _itself(function: Function) -> Function:
    return function


def _derivatives(references: Sequence[Function], name: str) -> dict[str, Function]:
    derive = _cost_derivatives if name == "cost" else _constraint_derivatives
    return derive(references, name)


def _cost_derivatives(references: Sequence[Function], name: str) -> dict[str, Function]:
    (reference,) = references

    def value(x: Any, data: Any) -> Any:
        return jnp.asarray(_traced(reference(), name, x, data), dtype=float)

    def gradient(x: Any, data: Any) -> Any:
        return _conjugated(jax.grad(value)(x, data))

    def hessian_product(x: Any, data: Any, u: Any) -> Any:
        # Forward over reverse mode: one product costs a few gradients and forms no Hessian.
        return jax.jvp(lambda y: gradient(y, data), (x,), (u,))[1]

    return {"value": value, "gradient": gradient, "hessian_product": hessian_product}


def _constraint_array(function: Function, name: str, x: Any, data: Any) -> Any:
    values = jnp.asarray(_traced(function, name, x, data))
    if values.dtype == bool:
        raise ValueError(A_CONDITION.format(name))
    return jnp.asarray(values, dtype=float)


def _constraint_derivatives(references: Sequence[Function], name: str) -> dict[str, Function]:
    """Return the derivatives of all functions, joined into one vector."""

    def array(k: int, x: Any, data: Any) -> Any:
        return _constraint_array(references[k](), part_name(name, k), x, data)

    def part(k: int, x: Any, data: Any) -> Any:
        return jnp.ravel(array(k, x, data))

    def parts(x: Any, data: Any) -> list[Any]:
        return [array(k, x, data) for k in range(len(references))]

    def value(x: Any, data: Any) -> Any:
        return jnp.concatenate([part(k, x, data) for k in range(len(references))])

    def jacobian_product(x: Any, data: Any, w: Any) -> Any:
        pulled, start = [], 0
        for k in range(len(references)):
            own, pull = jax.vjp(lambda y, k=k: part(k, y, data), x)
            weights, start = w[start : start + own.size], start + own.size
            pulled.append(_unless_unweighted(pull(weights)[0], weights))
        return _conjugated(jax.tree.map(lambda *gradients: sum(gradients[1:], gradients[0]), *pulled))

    def directional(x: Any, data: Any, u: Any) -> Any:
        return jax.jvp(lambda y: value(y, data), (x,), (u,))[1]

    def hessian_product(x: Any, data: Any, w: Any, u: Any) -> Any:
        return jax.jvp(lambda y: jacobian_product(y, data, w), (x,), (u,))[1]

    def jacobian(x: Any, data: Any) -> Any:
        rows = [jax.jacrev(lambda y, k=k: part(k, y, data))(x) for k in range(len(references))]
        return _conjugated(jax.tree.map(lambda *blocks: jnp.concatenate(blocks), *rows))

    derivatives = (parts, value, jacobian_product, directional, hessian_product, jacobian)
    return {function.__name__: function for function in derivatives}


def _traced(function: Function, name: str, x: Any, data: Any) -> Any:
    """Call a user's function, which jax traces; it must not leave jax for numpy."""
    try:
        return called(function, name, x, data)
    except jax.errors.TracerArrayConversionError:
        raise TypeError(
            f"`{name}` uses numpy on its arguments, which jax cannot differentiate; use jax.numpy there."
        ) from None


def _conjugated(gradient: Any) -> Any:
    """Return a gradient by complex entries in the sense of `PymanoptManifold`; jax has its conjugate."""
    return jax.tree.map(jnp.conj, gradient)


def _unless_unweighted(gradient: Any, weights: Any) -> Any:
    """Return 0 if all weights of a function are 0: 0 · ∞ would be NaN where it has no derivative."""
    weighted = jnp.any(weights != 0.0)
    return jax.tree.map(lambda part: jnp.where(weighted, part, 0.0), gradient)


def spd_half_squared_distance(x: Any, y: Any) -> Any:
    """Return ½ d²(x, y) of two SPD matrices, with correct first and second derivatives everywhere.

    Automatic differentiation of an eigendecomposition gives NaN at repeated eigenvalues, which occur at x = y
    and at the identity. This function uses closed-form derivatives instead, up to second order.

    Parameters
    ----------
    x, y : array of shape (n, n)
        Symmetric positive definite matrices; either may be the variable.

    Returns
    -------
    scalar
        ½ ‖log spec(x⁻¹ y)‖².
    """
    # Do some arithmetic first: under vmap, jax rejects a numpy constant passed straight to a custom rule.
    return _half_squared_distance(_symmetric(jnp.asarray(x)), _symmetric(jnp.asarray(y)))


@jax.custom_jvp
def _half_squared_distance(x: Any, y: Any) -> Any:
    theta, _ = _joint_spectrum(x, y)
    return 0.5 * jnp.sum(theta**2)


@_half_squared_distance.defjvp
def _half_squared_distance_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    slope = jnp.vdot(_distance_gradient(x, y), dx) + jnp.vdot(_distance_gradient(y, x), dy)
    return _half_squared_distance(x, y), slope


@jax.custom_jvp
def _distance_gradient(x: Any, y: Any) -> Any:
    """Return the Euclidean gradient of ½ d²(x, y) in x: −B⁻ᵀ θ B⁻¹ for x = BBᵀ, y = B exp(θ) Bᵀ."""
    theta, inverse = _joint_spectrum(x, y)
    return -(inverse.T * theta) @ inverse


@_distance_gradient.defjvp
def _distance_gradient_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    theta, inverse = _joint_spectrum(x, y)
    # The derivative entry by entry in the joint eigenbasis (Daleckii–Krein), by series at close eigenvalues.
    mean = 0.5 * (theta[:, None] + theta)
    half = 0.5 * (theta[:, None] - theta)
    near = jnp.abs(half) < 1e-4
    safe = jnp.where(near, 1.0, half)  # keeps 0/0 out of the branch that `where` does not take
    coth = jnp.where(near, 1.0 + half**2 / 3.0, safe / jnp.tanh(safe))
    csch = jnp.where(near, 1.0 - half**2 / 6.0, safe / jnp.sinh(safe))
    change_x = (coth + mean) * (inverse @ _symmetric(dx) @ inverse.T)
    change_y = csch * jnp.exp(-mean) * (inverse @ _symmetric(dy) @ inverse.T)
    return -(inverse.T * theta) @ inverse, inverse.T @ (change_x - change_y) @ inverse


def _joint_spectrum(x: Any, y: Any) -> tuple[Any, Any]:
    """Return θ and B⁻¹ with x = BBᵀ and y = B exp(θ) Bᵀ."""
    # Cholesky x = LLᵀ, then the eigenvectors Q of L⁻¹ y L⁻ᵀ give B = LQ.
    factor = jnp.linalg.cholesky(x)
    half = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
    reduced = jax.scipy.linalg.solve_triangular(factor, half.T, lower=True)
    spectrum, basis = jnp.linalg.eigh(reduced)
    return jnp.log(spectrum), jax.scipy.linalg.solve_triangular(factor.T, basis, lower=False).T


def _symmetric(a: Any) -> Any:
    return 0.5 * (a + a.T)
