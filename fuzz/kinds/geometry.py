"""The manifolds: sizes, points and tangent vectors of all kinds, and every operation on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from geodual import manifolds
from geodual.manifolds import Manifold, Power, Product, PymanoptManifold
from testing.random_problems.manifolds import KINDS, draw_manifold

from ..case import Case, Rng, has_nan, pick
from ..hostile import STRANGE_NUMBERS, read_only

_SIZES = {
    "SPD": 1,
    "FixedRank": 3,
    "Grassmann": 2,
    "Hyperbolic": 1,
    "Oblique": 2,
    "Rotations": 1,
    "Simplex": 1,
}
_SIZES |= {"ComplexStiefel": 2, "HermitianPD": 1, "SkewSymmetric": 1, "Symmetric": 1, "UnitCircle": 1}
_SIZES |= {"Sphere": 1, "Stiefel": 2, "Power": 2, "PymanoptManifold": 1, "as_manifold": 1}
_SIZES |= {"Euclidean": 2, "PositiveOrthant": 2, "Product": 2}  # these take any number


_NEWER: dict[str, Callable[[int], Manifold]] = {
    "ComplexStiefel": lambda n: manifolds.ComplexStiefel(n, (n + 1) // 2),
    "HermitianPD": manifolds.HermitianPD,
    "SkewSymmetric": lambda n: manifolds.SkewSymmetric(n + 1),
    "Symmetric": manifolds.Symmetric,
    "UnitCircle": manifolds.UnitCircle,
    "named": lambda n: Product(R=manifolds.Rotations(n + 1), z=manifolds.UnitCircle(n)),
    "long": lambda n: Power(manifolds.Rotations(3), 60 * n),
}


def draw(rng: Rng) -> Case:
    """Return an operation on a random manifold, or the making of one."""
    if rng.random() < 0.2:
        return _made(rng)
    kind = pick(rng, *KINDS, *_NEWER)
    manifold = _NEWER[kind](int(rng.integers(1, 5))) if kind in _NEWER else draw_manifold(kind, rng)
    operation = pick(rng, *_OPERATIONS)
    x, y = manifold.random_point(rng), manifold.random_point(rng)
    u = manifold.random_tangent(x, rng)
    # `project` trusts its point, because solvers call it often.
    how_x, x = ("good", x) if operation == "project" or rng.random() < 0.5 else _ill(rng, x)
    how_y, y = pick(rng, ("good", y), ("same", x), _ill(rng, y))
    how_u, u = ("good", u) if rng.random() < 0.7 else _long(rng, u)
    return Case(
        f"{manifold}.{operation}, x {how_x}, y {how_y}, u {how_u}",
        lambda: _called(manifold, operation, (x, y, u), (how_x, how_y, how_u)),
        (x, y, u),
        lambda answer: _check(manifold, operation, answer, (how_x, how_y, how_u)),
    )


def _made(rng: Rng) -> Case:
    """Return the making of a manifold with sizes that may be wrong, followed by a random point."""
    name = pick(rng, *_SIZES)
    values = (*STRANGE_NUMBERS, 1, 2, 2, 3, 3, 4, manifolds.Sphere(3), manifolds.SPD(2))
    values = tuple(value for value in values if value != 10**30)  # no memory is large enough
    sizes = [pick(rng, *values) for _ in range(_SIZES[name])]
    return Case(
        f"{name}({', '.join(map(repr, sizes))})",
        lambda: getattr(manifolds, name)(*sizes).random_point(np.random.default_rng(0)),
        check=lambda x: ["a random point holds NaN"] if has_nan(x) else [],
    )


def _mapped(change: Callable[[Any], Any], x: Any) -> Any:
    if isinstance(x, dict):
        return {key: _mapped(change, part) for key, part in x.items()}
    if isinstance(x, (tuple, list)):
        return tuple(_mapped(change, part) for part in x)
    return change(np.asarray(x))


def _ill(rng: Rng, x: Any) -> tuple[str, Any]:
    how = pick(rng, *_FORMS)
    with np.errstate(all="ignore"), catch_warnings():
        simplefilter("ignore", np.exceptions.ComplexWarning)  # some forms drop imaginary parts
        return how, _mapped(_FORMS[how], x)


def _with_nan(x: Any) -> Any:
    x = x.copy()
    x.flat[0] = np.nan
    return x


_FORMS: dict[str, Callable[[Any], Any]] = {
    "float32": lambda x: x.astype(np.float32),
    "Fortran": np.asfortranarray,
    "read-only": read_only,
    "a list": lambda x: x.tolist(),
    "objects": lambda x: x.astype(object),
    "big-endian": lambda x: x.astype(">f8"),
    "NaN": _with_nan,
    "infinite": lambda x: x * np.inf,
    "huge": lambda x: x * 1e150,
    "tiny": lambda x: x * 1e-150,
    "zero": lambda x: 0.0 * x,
    "integers": lambda x: x.astype(int),
    "complex": lambda x: x.astype(complex),
    "text": lambda x: x.astype(str),
    "cut": lambda x: x[:-1],
    "one axis more": lambda x: x[None],
    "negative": lambda x: -x,
    "empty": lambda x: x[:0],
}


def _long(rng: Rng, u: Any) -> tuple[str, Any]:
    factor = pick(rng, 0.0, 1e-150, 1e-8, 3.0, 10.0, 300.0)
    return f"times {factor:g}", _mapped(lambda part: factor * part, u)


_OPERATIONS: dict[str, Callable[[Manifold, Any, Any, Any], Any]] = {
    "check_point": lambda m, x, y, u: m.check_point(x),
    "project": lambda m, x, y, u: m.project(x, u),
    "inner": lambda m, x, y, u: m.inner(x, u, u),
    "norm": lambda m, x, y, u: m.norm(x, u),
    "dist": lambda m, x, y, u: m.dist(x, y),
    "exp": lambda m, x, y, u: m.exp(x, u),
    "log": lambda m, x, y, u: m.log(x, y),
    "retract": lambda m, x, y, u: m.retract(x, u),
    "transport": lambda m, x, y, u: m.transport(x, y, u),
    "gradient": lambda m, x, y, u: m.gradient(x, u),
    "hessian": lambda m, x, y, u: m.hessian(x, u, u, u),
    "random_tangent": lambda m, x, y, u: m.random_tangent(x, np.random.default_rng(0)),
    "Power": lambda m, x, y, u: Power(m, 2).check_point([x, y]),
    "Product": lambda m, x, y, u: Product(m, m).check_point((x, y)),
}


_EXTREME = {"huge", "tiny", "times 300"}  # products of such numbers have no finite value


def _called(manifold: Manifold, operation: str, given: tuple[Any, Any, Any], how: tuple[str, ...]) -> Any:
    with np.errstate(**({"all": "ignore"} if _EXTREME & set(how) else {})):
        return _OPERATIONS[operation](manifold, *given)


def _check(manifold: Manifold, operation: str, answer: Any, how: tuple[str, ...]) -> Iterator[str]:
    """Yield what is wrong with a point, a vector or a number."""
    if _EXTREME & set(how):
        return
    if isinstance(manifold, PymanoptManifold):
        return  # what pymanopt says is passed on
    if has_nan(answer):
        yield f"{operation} returns NaN or infinity"
    elif operation in ("exp", "retract") and how[2] == "good":
        manifold.check_point(answer)
    elif operation in ("dist", "norm", "inner") and not answer >= 0.0:
        yield f"{operation} is negative: {answer}"
