"""Automatic derivatives with jax, for functions written with `jax.numpy`."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from functools import cache, partial
from operator import itemgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geodual.arrays import Array

from .automatic import Engine, Function, JoinedConstraint, called, part_name
from .constraint import A_CONDITION
from .trees import as_doubles, mapped

# Optimizing the code of many small functions takes long and does not make it faster.
_MANY = 20
_QUICK = {"xla_backend_optimization_level": 0}
# Measured with jax 0.10 on 1,000 to 1,000,000 entries: compiles twice as fast, and the code is as fast.
_USUAL = {"xla_cpu_use_fusion_emitters": False}
_RARE = 100  # uses before a derivative is compiled by itself: compiling takes as long as a thousand calls

_shared: dict[tuple[Any, ...], tuple[Any, dict[str, Function]]] = {}
"""The fingerprint and the compiled code of functions, keyed by their identity."""


class CompiledFunctions:
    """The functions of a problem, written with `jax.numpy`, compiled together for any data.

    A solve needs three pieces of code for any number of functions: all values, the gradient of a weighted
    sum, and a product with its Hessian. Code is shared with other objects that hold the same functions, if
    these still compute the same, and is freed with the functions.

    Parameters
    ----------
    groups : dict of sequences of callables
        The single function of "cost", and the constraints by the name of their group. Each is ``function(x)``
        or, if there are data, ``function(x, data)``.
    """

    def __init__(self, groups: Mapping[str, Sequence[Function]]) -> None:
        self.groups = {name: tuple(functions) for name, functions in groups.items()}
        self._code: dict[str, Function] | None = None

    def __reduce__(self) -> tuple[Any, ...]:  # another process compiles its own code
        return CompiledFunctions, (self.groups,)

    def run(self, derivative: str, data: PlacedData, x: Any, *rest: Any) -> Any:
        """Run compiled code in double precision on numpy arrays, without changing jax's settings."""
        with jax.enable_x64(True):
            x = _doubles(x)
            result = self.code_for(x, data)[derivative](x, data.placed, *rest)
            return mapped(np.asarray, result)

    def code_for(self, x: Any, data: PlacedData) -> dict[str, Function]:
        """Return the code; the functions are traced at the first point."""
        if self._code is None:
            self._code = _compiled(self.groups, x, data.placed)
        return self._code

    def bind(self, data: PlacedData) -> dict[str, Any]:
        """Bind data: return the cost and the groups, and all functions together as "joint"."""
        joint = JointFunctions(self, data)
        blocks = {name: joint.block(k) for k, name in enumerate(list(self.groups)[1:])}
        return {
            "cost": joint.cost,
            "gradient": joint.cost_gradient,
            "hessian_product": joint.cost_hessian_product,
            **blocks,
            "joint": joint,
            "by_data": CompiledDataDerivatives(self, data),
        }


class JointFunctions:
    """The cost f and the vectors c₁, c₂, … of a problem with data, evaluated together.

    Weights are a number for the cost, and one vector per vector of constraints.
    """

    def __init__(self, functions: CompiledFunctions, data: PlacedData) -> None:
        self._functions, self._data = functions, data
        self._zeros: list[Array] = []  # one vector per group, once their sizes are known
        self._uses: dict[str, int] = {}

    def values(self, x: Any) -> tuple[Any, tuple[Array, ...]]:
        """Return f(x) and all c(x)."""
        cost, vectors = self._functions.run("values", self._data, x)
        return cost, vectors

    def gradient(self, x: Any, a: float, w: Sequence[Array]) -> Any:
        """Return the gradient of a f + Σ ⟨w, c⟩."""
        return self._functions.run("gradient", self._data, x, float(a), tuple(w))

    def hessian(self, x: Any, a: float, w: Sequence[Array], s: Sequence[Array], u: Any) -> tuple[Any, Any]:
        """Return the Hessian of a f + Σ ⟨w, c⟩ plus Jᵀ diag(s) J, applied to u, and the slopes J u."""
        run, weights = self._functions.run, (float(a), tuple(w), tuple(s))
        product, slopes = run("hessian", self._data, x, *weights, _doubles(u))
        return product, slopes

    def cost(self, x: Any) -> Any:
        """Return f(x)."""
        return self.values(x)[0]

    def cost_gradient(self, x: Any) -> Any:
        """Return ∇f(x)."""
        return self.gradient(x, 1.0, self._no_weights(x))

    def cost_hessian_product(self, x: Any, u: Any) -> Any:
        """Return ∇²f(x)[u]."""
        zeros = self._no_weights(x)
        return self.hessian(x, 1.0, zeros, zeros, u)[0]

    def _no_weights(self, x: Any) -> list[Array]:
        if not self._zeros:
            self._zeros = [np.zeros(len(vector)) for vector in self.values(x)[1]]
        return self._zeros

    def _weights(self, k: int, x: Any, w: Any) -> list[Array]:
        """Return weights that are 0 outside group k."""
        return [as_doubles(w) if i == k else zeros for i, zeros in enumerate(self._no_weights(x))]

    def block(self, k: int) -> JoinedConstraint:
        """Return group k alone, as a block of constraints."""
        zeros = self._no_weights
        return JoinedConstraint(
            value=lambda x: self.values(x)[1][k],
            jacobian_product=lambda x, w: self.gradient(x, 0.0, self._weights(k, x, w)),
            directional=partial(self._directional, k),
            hessian_product=lambda x, w, u: self.hessian(x, 0.0, self._weights(k, x, w), zeros(x), u)[0],
            gradients=partial(self._gradients, k),
            shapes=partial(self._shapes, k),
            n_parts=len(list(self._functions.groups.values())[k + 1]),
            group=k,
        )

    def _is_rare(self, derivative: str, uses: int) -> bool:
        """Count uses of a derivative that has a slower substitute; return whether there are few so far."""
        self._uses[derivative] = self._uses.get(derivative, 0) + uses
        return self._uses[derivative] <= _RARE

    def _directional(self, k: int, x: Any, u: Any) -> Any:
        if self._is_rare("directional", 1):
            zeros = self._no_weights(x)
            return self.hessian(x, 0.0, zeros, zeros, u)[1][k]
        return self._functions.run("directional", self._data, x, as_doubles(u))[k]

    def _gradients(self, k: int, x: Any, indices: Any) -> list[Any]:
        if self._is_rare("jacobian", len(indices)):
            units = np.eye(len(self._no_weights(x)[k]))[indices]
            return [self.gradient(x, 0.0, self._weights(k, x, unit)) for unit in units]
        stack = self._functions.run("jacobian", self._data, x)[k]  # on a product: a tuple of Jacobians
        return [mapped(itemgetter(i), stack) for i in indices]

    def _shapes(self, k: int, x: Any) -> list[tuple[int, ...]]:
        with jax.enable_x64(True):
            x = as_doubles(x)
            code = self._functions.code_for(x, self._data)
            parts = jax.eval_shape(code["arrays"], x, self._data.placed)[k]
        return [part.shape for part in parts]


class CompiledDataDerivatives:
    """The `DataDerivatives` of functions that jax compiles."""

    def __init__(self, functions: CompiledFunctions, data: PlacedData) -> None:
        self._functions, self._data = functions, data

    def tangent(self, x: Any, w: Sequence[Array], direction: Any) -> tuple[Any, Sequence[Array], float]:
        """Return the derivatives of ∇L(x), of all c(x) and of L(x) along a direction of the data."""
        found = self._functions.run("data_tangent", self._data, x, tuple(w), as_doubles(direction))
        gradient, vectors, value = found
        return gradient, vectors, float(value)

    def cotangent(self, x: Any, w: Sequence[Array], u: Any, v: Sequence[Array], s: float) -> Any:
        """Return the gradient of ⟨∇L(x), u⟩ + Σ ⟨v, c(x)⟩ + s L(x) with respect to the data."""
        run = self._functions.run
        return run("data_cotangent", self._data, x, tuple(w), as_doubles(u), tuple(v), float(s))


class PlacedData:
    """The data of a problem in double precision on jax's device, so that calls do not copy them."""

    def __init__(self, data: Any) -> None:
        self._data = data
        with jax.enable_x64(True):
            self.placed = jax.tree.map(jnp.asarray, data)

    def __reduce__(self) -> tuple[Any, ...]:  # jax would restore its own arrays in single precision
        return PlacedData, (self._data,)


JAX = Engine(PlacedData, CompiledFunctions)
"""The engine of `Problem.from_jax`."""


def _doubles(x: Any) -> Any:
    # The common case comes first, because this is called at every point.
    return x if type(x) is np.ndarray and x.dtype == np.float64 else as_doubles(x)


def _compiled(groups: Mapping[str, tuple[Function, ...]], x: Any, data: Any) -> dict[str, Function]:
    """Return compiled derivatives, cached for later problems as long as the functions exist."""
    functions = [function for group in groups.values() for function in group]
    key = tuple((name, *map(id, group)) for name, group in groups.items())

    def forget(_: Any, kept: dict[Any, Any] = _shared) -> None:
        kept.pop(key, None)

    references: list[Function]
    try:  # weak references, so that cached code does not keep functions and their arrays alive
        references = [weakref.ref(function, forget) for function in functions]
    except TypeError:  # some objects do not allow them; their code is not cached
        references, key = [partial(_itself, function) for function in functions], ()
    remaining = iter(references)
    named = {name: [next(remaining) for _ in group] for name, group in groups.items()}
    options = _compiler_options(len(functions) > _MANY)
    derivatives = _Derivatives(named)
    code = {
        name: jax.jit(getattr(derivatives, name), compiler_options=options) for name in _Derivatives.NAMES
    }
    fingerprint = _fingerprint(code["values"].trace(x, data).jaxpr)  # this trace is reused
    if key in _shared and _shared[key][0] == fingerprint:
        return _shared[key][1]
    if key:
        _shared[key] = fingerprint, code
    return code


@cache
def _compiler_options(many: bool) -> dict[str, Any]:
    options = (_QUICK if many else {}) | _USUAL
    try:
        jax.jit(_itself, compiler_options=options).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:  # another version of jax does not know this option
        return _QUICK if many else {}
    return options


def _fingerprint(trace: Any) -> tuple[Any, ...]:
    """Return a fingerprint that changes if functions no longer compute the same.

    Numbers from outside a function are compiled into its code. If they have changed since, the old code must
    not be used for a new problem.
    """
    return str(trace.jaxpr), *map(_content, trace.consts)


def _content(constant: Any) -> int:
    if jnp.issubdtype(constant.dtype, jax.dtypes.extended):  # a random key, which cannot be read
        return id(constant)
    return hash(np.asarray(constant).tobytes())


def _itself(function: Any) -> Any:
    return function


class _Derivatives:
    """Values and derivatives of the cost and of all groups of constraints, for compilation.

    Parameters
    ----------
    named : dict of sequences of callables
        References to the functions, by the name of their group; the cost comes first.
    """

    NAMES = (
        *("arrays", "values", "gradient", "directional", "hessian", "jacobian"),
        *("data_tangent", "data_cotangent"),
    )

    def __init__(self, named: Mapping[str, Sequence[Function]]) -> None:
        ((_, (self._cost,)), *groups) = named.items()
        self._groups = [[(part_name(name, k), f) for k, f in enumerate(group)] for name, group in groups]

    def _value(self, x: Any, data: Any) -> Any:
        return jnp.asarray(_traced(self._cost(), "cost", x, data), dtype=float)

    def arrays(self, x: Any, data: Any) -> list[Any]:
        return [[_array(name, f, x, data) for name, f in group] for group in self._groups]

    def _vectors(self, x: Any, data: Any) -> tuple[Any, ...]:
        parts = [[_entries(name, f, x, data) for name, f in group] for group in self._groups]
        return tuple(map(jnp.concatenate, parts))

    def values(self, x: Any, data: Any) -> Any:
        return self._value(x, data), self._vectors(x, data)

    def gradient(self, x: Any, data: Any, a: Any, w: Any) -> Any:
        return self._gradient(x, data, a, w, w)

    def _gradient(self, x: Any, data: Any, a: Any, w: Any, used: Any) -> Any:
        """Return the gradient of a f + Σ ⟨w, c⟩, leaving out functions for which all of `used` is 0."""
        cost = jax.grad(self._value)(x, data)
        terms = [_where(a != 0.0, jax.tree.map(lambda part: a * part, cost))]
        for group, weights, uses in zip(self._groups, w, used, strict=True):
            start = 0
            for name, f in group:
                own, pull = jax.vjp(lambda y, name=name, f=f: _entries(name, f, y, data), x)
                span = slice(start, start := start + own.size)
                terms.append(_where(jnp.any(uses[span] != 0.0), pull(weights[span])[0]))
        # A gradient in complex entries as `PymanoptManifold` defines it; jax returns its conjugate.
        return jax.tree.map(lambda *gradients: jnp.conj(sum(gradients[1:], gradients[0])), *terms)

    def directional(self, x: Any, data: Any, u: Any) -> Any:
        return jax.jvp(lambda y: self._vectors(y, data), (x,), (u,))[1]

    def hessian(self, x: Any, data: Any, a: Any, w: Any, s: Any, u: Any) -> Any:
        # Forward over reverse mode: a product costs a few gradients and forms no Hessian. It is the
        # derivative of the gradient along u in x and along diag(s) J u in w.
        slopes = self.directional(x, data, u)
        bent = jax.tree.map(jnp.multiply, s, slopes)
        used = jax.tree.map(lambda weights, stiff: (weights != 0.0) | (stiff != 0.0), w, s)
        return jax.jvp(lambda y, z: self._gradient(y, data, a, z, used), (x, w), (u, bent))[1], slopes

    def jacobian(self, x: Any, data: Any) -> Any:
        return jax.tree.map(jnp.conj, jax.jacrev(lambda y: self._vectors(y, data))(x))

    def data_tangent(self, x: Any, data: Any, w: Any, direction: Any) -> Any:
        def local(numbers: Any) -> Any:
            own = _with_reals(data, numbers)
            vectors = self._vectors(x, own)
            lagrangian = self._value(x, own) + sum(map(jnp.vdot, w, vectors))
            return self._gradient(x, own, 1.0, w, w), vectors, lagrangian

        return jax.jvp(local, (_reals(data, data),), (_reals(direction, data),))[1]

    def data_cotangent(self, x: Any, data: Any, w: Any, u: Any, v: Any, s: Any) -> Any:
        numbers = _reals(data, data)
        terms = [jax.grad(lambda d: _slope(lambda y: self._value(y, _with_reals(data, d)), x, u, s))(numbers)]
        for group, weights, extra in zip(self._groups, w, v, strict=True):
            start = 0
            for name, f in group:
                size = jax.eval_shape(partial(_entries, name, f), x, data).size
                span = slice(start, start := start + size)
                own, added = weights[span], extra[span]

                def part(
                    d: Any, name: str = name, f: Function = f, own: Any = own, added: Any = added
                ) -> Any:
                    entries = partial(_entries, name, f, data=_with_reals(data, d))
                    return _slope(lambda y: own @ entries(y), x, u, s) + added @ entries(x)

                used = jnp.any((own != 0.0) | (added != 0.0))
                terms.append(_where(used, jax.grad(part)(numbers)))
        found = jax.tree.map(lambda *parts: jnp.conj(sum(parts[1:], parts[0])), *terms)
        return _with_reals(jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), data), found, data)


def _reals(tree: Any, data: Any) -> list[Any]:
    """Return the leaves of a tree where the data have numbers, not indices or truth values."""
    leaves = zip(jax.tree.leaves(tree), jax.tree.leaves(data), strict=True)
    return [leaf for leaf, own in leaves if jnp.issubdtype(own.dtype, jnp.inexact)]


def _with_reals(tree: Any, numbers: Sequence[Any], data: Any = None) -> Any:
    """Replace the leaves of a tree where the data, by default the tree itself, have numbers."""
    remaining = iter(numbers)
    return jax.tree.map(
        lambda leaf, own: next(remaining) if jnp.issubdtype(own.dtype, jnp.inexact) else leaf,
        tree,
        tree if data is None else data,
    )


def _slope(function: Function, x: Any, u: Any, s: Any) -> Any:
    """Return the derivative of a function along u plus s times its value."""
    value, slope = jax.jvp(function, (x,), (u,))
    return slope + s * value


def _array(name: str, reference: Function, x: Any, data: Any) -> Any:
    values = jnp.asarray(_traced(reference(), name, x, data))
    if values.dtype == bool:
        raise ValueError(A_CONDITION.format(name))
    return jnp.asarray(values, dtype=float)


def _entries(name: str, reference: Function, x: Any, data: Any) -> Any:
    return jnp.ravel(_array(name, reference, x, data))


def _traced(function: Function, name: str, x: Any, data: Any) -> Any:
    """Call a user's function for jax to trace; raise an error if it uses numpy on its arguments."""
    try:
        return called(function, name, x, data)
    except jax.errors.TracerArrayConversionError:
        raise TypeError(
            f"`{name}` uses numpy on its arguments, which jax cannot differentiate; use jax.numpy there."
        ) from None


def _where(weighted: Any, gradient: Any) -> Any:
    """Return 0 if all weights of a function are 0: 0 · ∞ would be NaN where it has no derivative."""
    return jax.tree.map(lambda part: jnp.where(weighted, part, 0.0), gradient)


def spd_half_squared_distance(x: Any, y: Any) -> Any:
    """Return ½ d²(x, y) of two SPD matrices, with correct first and second jax derivatives everywhere.

    Differentiating an eigendecomposition automatically gives NaN at repeated eigenvalues, which occur at x =
    y and at the identity. This function uses closed-form derivatives up to second order instead.

    Parameters
    ----------
    x, y : array of shape (n, n)
        Symmetric positive definite matrices; either can be the variable.

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
    # The derivative, entry by entry in the joint eigenbasis (Daleckii–Krein); a series for close eigenvalues.
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


def with_pullback(function: Function, pullback: Function, data: Any, example: Any) -> Function:
    """Turn a function of numpy arrays into one that jax can differentiate, compile and batch.

    Parameters
    ----------
    function : callable
        ``function(data)``, on numpy arrays.
    pullback : callable
        ``pullback(data, by)`` returns the gradient with respect to the data, given that with respect to the
        result, with the structure of the data.
    data : any
        Example of the data; other shapes are not allowed.
    example : any
        Example of the result.
    """

    @jax.custom_vjp
    def differentiable(given: Any) -> Any:
        shapes = jax.tree.map(_in_precision, example)

        def host(own: Any) -> Any:
            return _like(function(mapped(np.asarray, own)), shapes)

        return jax.pure_callback(host, shapes, _checked_data(given, data), vmap_method="sequential")

    def forward(given: Any) -> tuple[Any, Any]:
        return differentiable(given), _checked_data(given, data)

    def backward(given: Any, by: Any) -> tuple[Any]:
        kinds = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in _reals(given, given)]

        def host(own: Any, slopes: Any) -> list[Any]:
            own = mapped(np.asarray, own)
            found: list[Any] = _like(_reals(pullback(own, mapped(np.asarray, slopes)), own), kinds)
            return found

        numbers = jax.pure_callback(host, kinds, given, by, vmap_method="sequential")
        nothing = jax.tree.map(lambda leaf: np.zeros(leaf.shape, jax.dtypes.float0), given)
        return (_with_reals(nothing, numbers, given),)

    differentiable.defvjp(forward, backward)
    function_of_jax: Function = differentiable
    return function_of_jax


def _checked_data(given: Any, data: Any) -> Any:
    given = jax.tree.map(jnp.asarray, given)
    if mapped(np.shape, given) != mapped(np.shape, data):
        raise ValueError("The data must have the structure and the shapes of the problem's data.")
    return given


def _in_precision(leaf: Any) -> jax.ShapeDtypeStruct:
    """Return the shape of an array, in jax's current precision."""
    kind = complex if np.iscomplexobj(leaf) else float
    return jax.ShapeDtypeStruct(np.shape(leaf), jnp.result_type(kind))


def _like(tree: Any, shapes: Any) -> Any:
    """Return the arrays of a tree in the precision of another."""
    return jax.tree.map(lambda leaf, like: np.asarray(leaf, dtype=like.dtype), tree, shapes)
