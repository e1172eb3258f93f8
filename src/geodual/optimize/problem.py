"""A problem to solve: min f(x) over a manifold, subject to h(x) ≤ 0, g(x) = 0 and bounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

from geodual.manifolds import Manifold, as_manifold
from geodual.manifolds.frame import Point, Vector

from .automatic import PreparedFunctions
from .blocks import INSTALL_JAX, blocks_of, check_function, parts_of
from .bounds import Bounds
from .constraint import Constraint as Constraint
from .trees import as_data, same_structure


class Problem:
    """The problem to minimise f(x) over a manifold subject to h(x) ≤ 0, g(x) = 0 and lower ≤ x ≤ upper.

    All derivatives are Euclidean and have the structure of a point; the manifold converts them. Check those
    you wrote by hand with `check_gradient`, or let `Problem.from_jax` or `Problem.from_torch` derive them.

    Parameters
    ----------
    manifold : Manifold
        The manifold that x lies on; a pymanopt manifold is adapted.
    cost : callable
        ``cost(x)`` returns the number f(x).
    gradient : callable
        ``gradient(x)`` returns the Euclidean gradient of f.
    hessian_product : callable, optional
        ``hessian_product(x, u)`` returns ∇²f(x)[u]. Without it gradients are differenced.
    inequalities : callable, Constraint or sequence of them, optional
        h: each block returns a vector (or a number), all of whose entries must be ≤ 0.
    jacobian_product : callable or sequence of callables, optional
        For inequalities given as plain functions: ``jacobian_product(x, w)`` returns Σₖ wₖ ∇hₖ(x), where w
        has one weight per entry of h.
    equalities : callable, Constraint or sequence of them, optional
        g: all entries must be 0.
    equality_jacobian_product : callable or sequence of callables, optional
        For equalities given as plain functions: ``equality_jacobian_product(x, w)`` returns Σⱼ wⱼ ∇gⱼ(x).
    lower, upper : float or array, optional
        Bounds on the entries of x: a number for all entries, or numbers with the structure of a point. On a
        product a tuple has one part per factor, and None stands for a part without bounds. Use -inf and inf
        for an entry without bound. Entries whose bounds are equal become equalities. The start need not lie
        within the bounds, and they need no derivatives. The result has their multipliers.
    geodesically_convex : bool
        Declare that cost and inequalities are convex along geodesics, and equalities affine. Then the result
        says that a KKT point is a global minimum, as far as the declaration is true: `minimize` checks it on
        a few random geodesics, which can refute but not prove it. On a Hadamard manifold it is about the
        whole manifold. On any other, such as a sphere, no function but a constant is convex everywhere: there
        the declaration is about a geodesically convex part that holds all points with h(x) ≤ 0.

    Attributes
    ----------
    manifold : Manifold
        The manifold.
    inequalities, equalities : tuple of Constraint
        One block per function or block that was given.
    bounds : object or None
        The bounds `lower` and `upper` with the structure of a point; None if there are none.
    blocks : tuple of Constraint
        The blocks that solvers evaluate: inequalities, bounds, equalities, and entries with equal bounds.
        Functions with automatic derivatives are joined into one block of inequalities and one of equalities.
    n_inequality_blocks : int
        How many of `blocks` are inequalities.
    data : any
        The data of the functions, if automatic derivatives were asked for with data; None otherwise.
    automatic : bool
        Whether the derivatives are automatic.

    See Also
    --------
    minimize : Solves it.
    check_gradient : Checks its derivatives.
    check_convexity : Looks for geodesics that refute convexity.
    Constraint : A block of constraints with more derivatives.

    Examples
    --------
    The matrix of determinant 1 that is closest to A in the Frobenius norm:

    >>> import numpy as np
    >>> from geodual.manifolds import SPD
    >>> from geodual.optimize import Problem, minimize
    >>> A = np.diag([4.0, 1.0])
    >>> problem = Problem(
    ...     SPD(2),
    ...     cost=lambda x: 0.5 * np.sum((x - A) ** 2),
    ...     gradient=lambda x: x - A,
    ...     equalities=lambda x: np.linalg.slogdet(x)[1],
    ...     equality_jacobian_product=lambda x, w: w[0] * np.linalg.inv(x),
    ... )
    >>> result = minimize(problem, np.eye(2))
    >>> result.success, round(float(np.linalg.det(result.x)), 6)
    (True, 1.0)

    The unit vector with entries of at least 0 that is closest to a given one:

    >>> from geodual.manifolds import Sphere
    >>> a = np.array([3.0, -1.0, 4.0])
    >>> problem = Problem(Sphere(3), lambda x: -a @ x, gradient=lambda x: -a, lower=0.0)
    >>> result = minimize(problem, np.full(3, 3**-0.5))
    >>> np.round(np.abs(result.x), 6).tolist(), np.round(result.lower_multipliers, 6).tolist()
    ([0.6, 0.0, 0.8], [0.0, 1.0, 0.0])
    """

    def __init__(
        self,
        manifold: Manifold | Any,
        cost: Callable[[Point], float],
        gradient: Callable[[Point], Vector] | None = None,
        hessian_product: Callable[[Point, Vector], Vector] | None = None,
        *,
        inequalities: Any = None,
        jacobian_product: Any = None,
        equalities: Any = None,
        equality_jacobian_product: Any = None,
        lower: Any = None,
        upper: Any = None,
        geodesically_convex: bool = False,
    ) -> None:
        if gradient is None:
            raise ValueError(
                f"`gradient` is missing: give the Euclidean gradient of the cost, or {INSTALL_JAX}."
            )
        check_function(cost, "cost")
        check_function(gradient, "gradient")
        self.manifold = as_manifold(manifold)
        self.cost = cost
        self.gradient = gradient
        self.hessian_product = hessian_product
        self.geodesically_convex = bool(geodesically_convex)
        h = blocks_of(inequalities, jacobian_product, "inequalities", "jacobian_product")
        g = blocks_of(equalities, equality_jacobian_product, "equalities", "equality_jacobian_product")
        self.inequalities, self.equalities = parts_of(h), parts_of(g)
        self.bounds = None if lower is None and upper is None else Bounds(self.manifold, lower, upper)
        if self.bounds is not None:
            h, g = h + self.bounds.inequalities, g + self.bounds.equalities
        self.blocks, self.n_inequality_blocks = h + g, len(h)
        self.data: Any = None
        self._bind: Callable[[Any], Self] | None = None

    @classmethod
    def from_jax(
        cls,
        manifold: Manifold | Any,
        cost: Callable[..., Any],
        *,
        inequalities: Any = None,
        equalities: Any = None,
        lower: Any = None,
        upper: Any = None,
        geodesically_convex: bool = False,
        data: Any = None,
    ) -> Self:
        """Build a problem from functions written with `jax.numpy`; all derivatives are automatic.

        Functions run in double precision. Compiling takes most of the time of a small solve, so:

        - A list of functions is compiled as one vector. One function that returns a vector is faster still.
        - Numbers that change belong into `data`. `with_data` replaces them without compiling again. Numbers
          that a function takes from elsewhere are compiled into it.
        - Problems that are built from the same function objects share their compiled code, unless a number
          that a function takes from elsewhere has changed. The code is kept as long as the functions exist;
          a lambda in a loop is a new object each time.

        Functions of eigenvalues, such as the distance between SPD matrices, have NaN second derivatives at
        repeated eigenvalues under automatic differentiation; for the distance use
        `geodual.optimize.autodiff.spd_half_squared_distance`.

        Parameters
        ----------
        manifold : Manifold
            The manifold that x lies on. On a product, functions get x as a tuple.
        cost : callable
            ``cost(x)``, or ``cost(x, data)`` if there are data, returns a scalar.
        inequalities, equalities : callable or sequence of callables, optional
            Each takes the same arguments as `cost` and returns a vector (or a scalar).
        lower, upper, geodesically_convex : any, optional
            Bounds and a declaration; `Problem` describes them.
        data : any, optional
            An array or number, or a tuple or dictionary of them, which is copied and passed to all functions.

        Returns
        -------
        Problem
            The problem with all first and second derivatives.

        Examples
        --------
        The smallest x that satisfies A x ≥ b, for two vectors b:

        >>> import numpy as np
        >>> from geodual.manifolds import Euclidean
        >>> from geodual.optimize import Problem, minimize
        >>> A = np.array([[1.0, 1.0]])
        >>> problem = Problem.from_jax(Euclidean(2), lambda x, data: x @ x,
        ...                            inequalities=lambda x, data: data["b"] - data["A"] @ x,
        ...                            data={"A": A, "b": np.array([2.0])})
        >>> np.round(minimize(problem, np.zeros(2)).x, 6).tolist()
        [1.0, 1.0]
        >>> other = problem.with_data({"A": A, "b": np.array([6.0])})  # compiles nothing
        >>> np.round(minimize(other, np.zeros(2)).x, 6).tolist()
        [3.0, 3.0]
        """
        try:  # jax is an extra, and takes long to import
            from .autodiff import JAX
        except ImportError as error:
            raise ImportError("Problem.from_jax needs jax: pip install 'geodual[jax]'.") from error
        functions = PreparedFunctions(JAX, cost, inequalities, equalities)
        settings = {"lower": lower, "upper": upper, "geodesically_convex": geodesically_convex}
        return cls._automatic(functions, manifold, settings, data)

    @classmethod
    def from_torch(
        cls,
        manifold: Manifold | Any,
        cost: Callable[..., Any],
        *,
        inequalities: Any = None,
        equalities: Any = None,
        lower: Any = None,
        upper: Any = None,
        geodesically_convex: bool = False,
        data: Any = None,
    ) -> Self:
        """Build a problem from functions written with torch; all derivatives are automatic.

        Functions run in double precision on the CPU. Give tensors that you create yourself the type
        ``torch.float64``, or pass them as `data`, which converts them. Operations must be twice
        differentiable by `torch.autograd`.

        Parameters
        ----------
        manifold : Manifold
            The manifold that x lies on. On a product, functions get x as a tuple.
        cost : callable
            ``cost(x)``, or ``cost(x, data)`` if there are data, returns a scalar.
        inequalities, equalities : callable or sequence of callables, optional
            Each takes the same arguments as `cost` and returns a vector (or a scalar).
        lower, upper, geodesically_convex : any, optional
            Bounds and a declaration; `Problem` describes them.
        data : any, optional
            An array, tensor or number, or a tuple or dictionary of them, which is copied and passed to all
            functions as tensors.

        Returns
        -------
        Problem
            The problem with all first and second derivatives.
        """
        from .torch_autodiff import torch_engine  # takes long to import

        functions = PreparedFunctions(torch_engine(), cost, inequalities, equalities)
        settings = {"lower": lower, "upper": upper, "geodesically_convex": geodesically_convex}
        return cls._automatic(functions, manifold, settings, data)

    def with_data(self, data: Any) -> Self:
        """Return the problem with other data, for `from_jax` and `from_torch`.

        Compiled code is used again: if every array has the shape and type that it had before, nothing is
        compiled.

        Parameters
        ----------
        data : any
            The new data, with the structure of the old ones; shapes may differ.

        Returns
        -------
        Problem
            A new problem; this one is not changed.
        """
        if self._bind is None or self.data is None:
            raise ValueError("This problem has no data; build it by Problem.from_jax(..., data=...).")
        if not same_structure(data, self.data):
            raise ValueError(
                "`data` must have the structure of the data that the problem was built with: the same tuples "
                "and the same keys."
            )
        return self._bind(data)

    @property
    def automatic(self) -> bool:
        """Whether the derivatives are automatic."""
        return self._bind is not None

    @classmethod
    def _automatic(
        cls, functions: PreparedFunctions, manifold: Any, settings: dict[str, Any], data: Any
    ) -> Self:
        data = as_data(data)
        problem = cls(manifold, **functions.bound(data), **settings)
        problem.data = data
        problem._bind = partial(cls._automatic, functions, manifold, settings)
        return problem
