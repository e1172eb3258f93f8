"""Derivatives of random expressions against central differences."""

import numpy as np

from geodual.model import Expression
from geodual.model.graph import Graph
from testing.model_curves import draw_point
from testing.random_expressions import Draw

STEP = 1e-5


def _is_smooth(expression: Expression) -> bool:
    text = str(expression)
    kinked = ("max", "abs", "norm", "lambda", "huber", "largest", "distance(")
    return not any(word in text for word in kinked) and not any(name in text for name in ("h,", "s,", "h)"))


def test_derivatives_are_those_of_central_differences() -> None:
    checked = 0
    for seed in range(400):
        with np.errstate(all="ignore"):
            expression = Draw(seed).number(1 + seed % 3)
            checked += _is_smooth(expression) and _check(expression, np.random.default_rng(seed))
    assert checked >= 150


def _check(expression: Expression, rng: np.random.Generator) -> bool:
    """Return whether the expression has values of a usual size; then compare its derivatives."""
    variables = expression.variables()
    graph, one = Graph([expression], variables), [np.ones(())]
    leaves = {k: graph.nodes[k].held for k in graph.other_leaves()}
    x = [draw_point(v, rng) for v in variables]
    u = [rng.standard_normal(v.shape) for v in variables]
    u = [a + a.T if v.symmetric else a for a, v in zip(u, variables, strict=True)]
    try:
        at = [graph.at([a + s * b for a, b in zip(x, u, strict=True)], leaves) for s in (-STEP, 0.0, STEP)]
    except np.linalg.LinAlgError:
        return False
    product = at[1].hessian_product(one, u)
    sizes = [np.abs(part).max() for part in (*product, *at[1].values)]
    if not np.less(sizes, 1e4).all():
        return False
    slope = sum(float(np.sum(g * b)) for g, b in zip(at[1].gradient(one), u, strict=True))
    difference = float(at[2].outputs()[0] - at[0].outputs()[0]) / (2.0 * STEP)
    size = 1.0 + max(np.abs(part).max() for part in product)
    assert np.isclose(slope, at[1].along(u)[0], rtol=1e-10, atol=1e-10 * size), str(expression)
    assert np.isclose(slope, difference, rtol=1e-5, atol=1e-5 * size), str(expression)
    for part, after, before in zip(product, at[2].gradient(one), at[0].gradient(one), strict=True):
        assert np.allclose(part, (after - before) / (2.0 * STEP), rtol=1e-4, atol=1e-4 * size), str(
            expression
        )
    return True
