"""Published rules that do not hold: numbers that refute them, and that the language does not follow them.

They are among the rules of SymbolicAnalysis.jl, read in November 2026.
`docs/tutorials/formulas.md` lists them.
"""

import numpy as np

import geodual.model as gm
from geodual.manifolds import SPD, Hyperbolic


def test_the_lorentz_log_barrier_is_not_convex() -> None:
    """-log(-1 - <a, p>) with a = (0, 0, 1) is infinite at the origin, which geodesics pass."""

    def barrier(p: np.ndarray) -> float:
        return float(-np.log(p[0] - 1.0))

    H = Hyperbolic(2)
    start, end = H.lift(np.array([1.0, 0.1])), H.lift(np.array([-1.0, 0.1]))
    middle = H.exp(start, 0.5 * H.log(start, end))
    assert barrier(middle) > 0.5 * (barrier(start) + barrier(end)) + 4.0
    x = gm.Variable(H, name="x")
    assert not (-gm.log(gm.lorentz(x, np.array([1.0, 0.0, 0.0])) - 1.0)).is_convex()


def test_the_s_divergence_does_not_grow() -> None:
    """It falls until X = Y. So a log-convex argument does not make it convex."""
    X, Y = gm.Variable(SPD(2), name="X"), 4.0 * np.eye(2)
    values = []
    for size in (1.0, 4.0, 16.0):
        X.value = size * np.eye(2)
        values.append(float(gm.s_divergence(X, Y).value))
    assert values[0] > values[1] < values[2]
    composed = gm.s_divergence(gm.trace(X) * gm.Constant(np.eye(2)), Y)
    ends = np.diag([0.5, 0.02]), np.diag([0.02, 0.5])
    at = []
    for point in (ends[0], np.diag([0.1, 0.1]), ends[1]):  # the middle of the geodesic
        X.value = point
        at.append(float(composed.value))
    assert at[1] > 0.5 * (at[0] + at[2]) + 0.1
    assert not composed.is_convex()


def test_logarithms_of_determinants_and_quadratic_forms_may_be_negative() -> None:
    """So their squares are not convex by the rule for squares of positive functions."""
    X, v = gm.Variable(SPD(2), name="X"), np.array([1.0, 1.0])
    X.value = 0.1 * np.eye(2)
    assert gm.log_det(X).value < 0.0
    assert gm.log(gm.quad_form(v, X)).value < 0.0
    square = gm.square(gm.log(gm.quad_form(v, X)))
    at = []
    for point in (np.diag([0.4, 0.004]), np.diag([0.04, 0.04]), np.diag([0.004, 0.4])):
        X.value = point
        at.append(float(square.value))
    assert at[1] > 0.5 * (at[0] + at[2]) + 1.0
    assert not square.is_convex()
    assert gm.square(gm.log_det(X)).is_convex()  # affine along geodesics, so its sign does not matter
