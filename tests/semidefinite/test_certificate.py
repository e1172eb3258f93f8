"""Lower bounds of eigenvalues: below the truth, and close to it."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from geodual.semidefinite.certificate import lower_bound, proved_bound, smallest_eigenvalue


def path(n: int) -> tuple[sp.csr_array, float]:
    """Return a tridiagonal matrix and its smallest eigenvalue in closed form."""
    S = sp.diags_array([-np.ones(n - 1), 2.0 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    return S.tocsr(), 2.0 - 2.0 * math.cos(math.pi / (n + 1))


@pytest.mark.parametrize("n", [2, 50, 600])
@pytest.mark.parametrize("shift", [0.0, -3.0, 5.0])
def test_the_bound_is_below_the_smallest_eigenvalue_and_close(n: int, shift: float) -> None:
    S, smallest = path(n)
    found = smallest_eigenvalue((S + shift * sp.eye_array(n)).tocsr(), 4.0 + abs(shift), 1e-6, 0.0)
    assert found.proved
    assert found.bound <= smallest + shift
    assert found.bound == pytest.approx(smallest + shift, abs=1e-4)
    assert found.value >= smallest + shift - 1e-12


def test_an_estimate_above_the_truth_proves_nothing() -> None:
    S, smallest = path(20)
    assert proved_bound(S.toarray(), smallest + 0.1, 1e-6) is None
    bound = proved_bound(S.toarray(), smallest - 0.1, 1e-6)
    assert bound is not None
    assert bound <= smallest - 0.1


def test_an_eigenvalue_that_lanczos_misses_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 600
    S = np.eye(n)
    S[7, 7] = -1.0
    vector = np.eye(n)[:, [0]]
    monkeypatch.setattr(
        "geodual.semidefinite.certificate.smallest_eigenvectors", lambda *_: (np.array([1.0]), vector)
    )
    found = smallest_eigenvalue(S, 1.0, 1e-6, 0.0)
    assert found.proved
    assert found.bound <= -1.0
    assert found.bound == pytest.approx(-1.0, abs=1e-9)


def test_the_sum_is_rounded_down() -> None:
    terms = np.array([1e16, 1.0, -1e16])
    assert lower_bound(terms, -0.5, 4.0) <= -1.0
