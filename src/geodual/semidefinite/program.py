"""A semidefinite program: its data, checked once, and how to solve it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array

from .linear_map import LinearMap, Symmetric, as_symmetric, frobenius_norm, padded
from .result import SemidefiniteResult
from .staircase import Staircase, StandardProgram
from .structure import Blocks, Diagonal, Structure, Trace


class SemidefiniteProgram:
    """The program to minimize ⟨C, X⟩ over symmetric X ⪰ 0, where one structural constraint fixes the trace.

    The structural constraint is diag(X) = `diagonal`, or that all `blocks` × `blocks` diagonal blocks are
    identities, or trace(X) = `trace`, or trace(X) ≤ `trace_at_most`. Without any of them, the diagonal is 1.
    There may be further constraints ⟨A, X⟩ = b and ⟨A, X⟩ ≤ b.

    `solve` looks for a factor Y of X = YYᵀ with few columns, so that no large dense matrix is needed until
    the certificate. The bound on the trace is what turns multipliers into a lower bound of the smallest cost.

    Parameters
    ----------
    C : array, sparse array or LinearOperator of shape (n, n)
        The cost; symmetric. Sparse matrices make products fast.
    diagonal : float or array of shape (n,), optional
        The diagonal of X; positive.
    blocks : int, optional
        Number of rows of each diagonal block that must be an identity; it must divide n.
    trace : float, optional
        The trace of X; positive.
    trace_at_most : float, optional
        A bound on the trace of X; positive.
    equalities : sequence of (A, b), optional
        Further constraints ⟨A, X⟩ = b, with A as `C`. Each must be a single equation.
    inequalities : sequence of (A, b), optional
        Further constraints ⟨A, X⟩ ≤ b.

    Attributes
    ----------
    C : array, sparse array or LinearOperator
        The cost.
    n : int
        Number of rows of X.

    See Also
    --------
    max_cut, balanced_cut, synchronization, sensor_localization : Ready programs.
    SemidefiniteResult : What `solve` returns.

    References
    ----------
    S. Burer, R. D. C. Monteiro, "A nonlinear programming algorithm for solving semidefinite programs via
    low-rank factorization", Mathematical Programming 95, 2003.

    N. Boumal, V. Voroninski, A. S. Bandeira, "Deterministic guarantees for Burer-Monteiro factorizations of
    smooth semidefinite programs", Communications on Pure and Applied Mathematics 73, 2020.

    Examples
    --------
    The smallest eigenvalue of a matrix is a semidefinite program:

    >>> import numpy as np
    >>> from geodual.semidefinite import SemidefiniteProgram
    >>> result = SemidefiniteProgram(np.array([[2.0, 1.0], [1.0, 2.0]]), trace=1.0).solve()
    >>> result.status, round(result.cost, 6), round(result.lower_bound, 6), result.rank
    ('converged', 1.0, 1.0, 1)

    The correlation matrix with the smallest sum of entries whose first two variables do not correlate:

    >>> A = np.zeros((3, 3))
    >>> A[0, 1] = A[1, 0] = 0.5
    >>> result = SemidefiniteProgram(np.ones((3, 3)), equalities=[(A, 0.0)]).solve()
    >>> round(result.cost, 6), bool(abs(result.X[0, 1]) < 1e-6), round(float(result.X[0, 2]), 6)
    (0.171573, True, -0.707107)
    """

    def __init__(
        self,
        C: Any,
        *,
        diagonal: Any = None,
        blocks: int | None = None,
        trace: float | None = None,
        trace_at_most: float | None = None,
        equalities: Sequence[tuple[Any, float]] = (),
        inequalities: Sequence[tuple[Any, float]] = (),
    ) -> None:
        self.C = as_symmetric(C, "C")
        self.n = int(self.C.shape[0])
        given = {"diagonal": diagonal, "blocks": blocks, "trace": trace, "trace_at_most": trace_at_most}
        chosen = [name for name, value in given.items() if value is not None]
        if len(chosen) > 1:
            raise ValueError(
                f"`{chosen[0]}` and `{chosen[1]}` are given, but one of them is the structural constraint; "
                "write the other as equalities or inequalities."
            )
        self._has_slack = trace_at_most is not None
        self._structure = self._checked_structure(diagonal, blocks, trace, trace_at_most)
        matrices, bounds = [], []
        for name, constraints in (("equalities", equalities), ("inequalities", inequalities)):
            for k, constraint in enumerate(constraints):
                A, b = self._checked_constraint(constraint, f"{name}[{k}]")
                matrices.append(A)
                bounds.append(b)
        self._matrices, self._bounds = matrices, np.array(bounds, dtype=float)
        self._n_equalities = len(equalities)

    def __repr__(self) -> str:
        further = len(self._bounds) - self._n_equalities
        return (
            f"SemidefiniteProgram({type(self._structure).__name__.lower()}, n={self.n}, "
            f"equalities={self._n_equalities}, inequalities={further})"
        )

    def solve(
        self,
        rank: int | None = None,
        tol: float = 1e-6,
        *,
        start: Any = None,
        seed: int = 0,
        max_rounds: int = 20,
        max_time: float = math.inf,
        verbose: int = 0,
    ) -> SemidefiniteResult:
        """Solve the program by a staircase of ranks, and certify the result.

        Each round minimizes over factors Y with p columns and computes S = C − A*(y) and its smallest
        eigenvalue. If that is negative beyond the tolerance, Y gets more columns and moves along the
        eigenvectors, which decreases the cost.

        Parameters
        ----------
        rank : int, optional
            Number of columns of the first Y. The default is half of the largest r with r(r + 1)/2 ≤ m, where
            m is the number of equations; there is a solution of rank r or less, and most have about half
            that rank. For blocks of d rows it is d + 2.
        tol : float
            Largest relative gap and infeasibility of a result that is "converged".
        start : array of shape (n, p), optional
            Where to start in place of a random factor. It is scaled to satisfy the structural constraint.
        seed : int
            Seed of the random start.
        max_rounds : int
            Largest number of rounds.
        max_time : float
            Seconds after which no further step is made.
        verbose : int
            1 prints one line per round; 2 also what `minimize` prints.

        Returns
        -------
        SemidefiniteResult
            The factor, multipliers, the lower bound and the status.
        """
        if not (isinstance(tol, numbers.Real) and 0.0 < tol < math.inf):
            raise ValueError(f"`tol` must be a positive and finite number, got {tol!r}; try 1e-6.")
        for name, count in (("rank", rank), ("max_rounds", max_rounds)):
            if not (count is None or (isinstance(count, numbers.Integral) and count >= 1)):
                raise ValueError(f"`{name}` must be a whole number of at least 1, got {count!r}.")
        staircase = Staircase(self._standard(), float(tol), max_time, verbose)
        first = staircase.first_factor(rank, seed) if start is None else self._checked_start(start)
        return staircase.climb(first, max_rounds)

    def _standard(self) -> StandardProgram:
        """Return the program with trace(X) = t; a bound on the trace becomes one more row, the slack."""
        C: Symmetric = padded(self.C) if self._has_slack else self.C
        matrices = [padded(A) for A in self._matrices] if self._has_slack else self._matrices
        typical = self._structure.trace / self.n
        units = [
            max(abs(b), typical * frobenius_norm(A)) for A, b in zip(matrices, self._bounds, strict=True)
        ]
        return StandardProgram(
            C,
            self._structure,
            LinearMap(matrices, self._structure.n),
            self._bounds,
            np.array([unit or 1.0 for unit in units]),
            self._n_equalities,
            typical * frobenius_norm(C),
            self._has_slack,
        )

    def _checked_structure(self, diagonal: Any, blocks: Any, trace: Any, trace_at_most: Any) -> Structure:
        if blocks is not None:
            if not (isinstance(blocks, numbers.Integral) and int(blocks) >= 1 and self.n % int(blocks) == 0):
                raise ValueError(
                    f"`blocks` must be a whole number that divides the {self.n} rows, got {blocks!r}."
                )
            return Blocks(self.n, int(blocks))
        for name, t in (("trace", trace), ("trace_at_most", trace_at_most)):
            if t is not None:
                if not (isinstance(t, numbers.Real) and 0.0 < float(t) < math.inf):
                    raise ValueError(
                        f"`{name}` must be a positive and finite number, got {t!r}; no X ⪰ 0 but 0 has any "
                        "other trace."
                    )
                return Trace(self.n + (name == "trace_at_most"), float(t))
        return Diagonal(self._checked_diagonal(1.0 if diagonal is None else diagonal))

    def _checked_diagonal(self, diagonal: Any) -> Array:
        try:
            d = np.asarray(diagonal, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"`diagonal` must be numbers, got {diagonal!r}.") from None
        if d.shape not in ((), (self.n,)) or not (np.isfinite(d) & (d > 0.0)).all():
            raise ValueError(
                f"`diagonal` must be one number or {self.n} numbers, all positive and finite; remove rows "
                "whose diagonal is 0, because they are 0."
            )
        return np.array(np.broadcast_to(d, self.n))

    def _checked_constraint(self, constraint: Any, name: str) -> tuple[Symmetric, float]:
        try:
            A, b = constraint
        except (TypeError, ValueError):
            raise ValueError(f"`{name}` must be a pair (A, b) of a matrix and a number.") from None
        if not (isinstance(b, numbers.Real) and math.isfinite(b)):
            raise ValueError(f"The right-hand side of `{name}` must be a finite number, got {b!r}.")
        return as_symmetric(A, name, self.n), float(b)

    def _checked_start(self, start: Any) -> Array:
        Y = np.asarray(start, dtype=float)
        if Y.ndim != 2 or len(Y) != self.n or Y.shape[1] == 0 or not np.isfinite(Y).all():
            raise ValueError(
                f"`start` must be finite numbers of shape ({self.n}, p), one column per dimension, got "
                f"shape {Y.shape}."
            )
        if not Y.any() or (isinstance(self._structure, Diagonal) and not Y.any(axis=1).all()):
            raise ValueError("`start` has a row of zeros, which cannot be scaled; replace it.")
        columns = max(0, self._structure.least_rank - Y.shape[1])
        return np.pad(Y, ((0, int(self._has_slack)), (0, columns)))
