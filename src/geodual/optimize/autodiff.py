"""Automatic derivatives by jax, for functions written with `jax.numpy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Function = Callable[..., Any]


def cost_derivatives(cost: Function) -> tuple[Function, Function, Function]:
    """Return the value, gradient and Hessian product of a scalar function, compiled."""
    gradient = jax.grad(cost)

    def hessian_product(x: Any, u: Any) -> Any:
        # Forward over reverse mode: one product costs a few gradients and forms no Hessian.
        return jax.jvp(gradient, (x,), (u,))[1]

    return _compiled(cost), _compiled(gradient), _compiled(hessian_product)


def constraint_derivatives(constraint: Function) -> tuple[Function, ...]:
    """Return a vector function and all its derivatives, in the order of `Constraint`, compiled."""

    def value(x: Any) -> Any:
        return jnp.ravel(constraint(x))

    def jacobian_product(x: Any, w: Any) -> Any:
        return jax.vjp(value, x)[1](w)[0]

    def directional(x: Any, u: Any) -> Any:
        return jax.jvp(value, (x,), (u,))[1]

    def hessian_product(x: Any, w: Any, u: Any) -> Any:
        return jax.jvp(lambda y: jacobian_product(y, w), (x,), (u,))[1]

    products = [_compiled(f) for f in (value, jacobian_product, directional, hessian_product)]
    return (*products, _gradients(_compiled(jax.jacrev(value))))


def _gradients(jacobian: Function) -> Function:
    """Turn a Jacobian (on a product: a tuple of Jacobians) into a function that lists chosen gradients."""

    def chosen(x: Any, indices: Any) -> list[Any]:
        stack = jacobian(x)
        return [jax.tree.map(lambda part, k=k: part[k], stack) for k in indices]

    return chosen


def _compiled(function: Function) -> Function:
    """Compile a function that runs in double precision on numpy arrays, without changing jax's settings."""
    fast = jax.jit(function)

    def call(*arguments: Any) -> Any:
        with jax.enable_x64(True):
            return jax.tree.map(np.asarray, fast(*arguments))

    return call


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
