"""Whether a portfolio and its index are alike enough for their difference to mean something."""

from __future__ import annotations

import numpy as np

from ..language import phrase

# Outside of these limits a portfolio takes less than 60 % or more than 140 % of each move of its index. In a
# year in which the index moves by 20 %, a usual one for equities, that alone makes a difference of 8 points.
_BETAS = (0.6, 1.4)


def warn_of_beta(beta: float, index: str) -> str:
    """Return the sentence that says first that a portfolio and its index are not alike; "" if they are.

    Parameters
    ----------
    beta : float
        Of the portfolio to the index; NaN if it is not known.
    index : str
        Name of the index, or what it is called.
    """
    if np.isnan(beta) or _BETAS[0] <= beta <= _BETAS[1]:
        return ""
    return phrase(
        "Picks and index are not alike: the picks take {share:.0%} of the moves of {which} (beta {n:.2f}), "
        "so a lead over it, or a gap, says little about the choice of funds.",
        share=max(beta, 0.0),
        which=index,
        n=beta,
    )
