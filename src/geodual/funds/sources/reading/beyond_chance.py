"""Find values that chance does not explain, by what chance does in the funds that are about as volatile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

FALSE_SHARE = 0.25  # share of the funds found that may be there by chance, on average
RANK = 5  # of the value of a fund that shows its usual extremes: a few errors do not change it
LEAST_VALUES = 30  # with fewer moves, a fund does not show its usual extremes
FUNDS_ALIKE = 150  # funds that are judged together; fewer do not show the shape of a tail
FEW_FUNDS = 30  # with fewer funds, the tail is taken to be
USUAL_TAIL = 4.0  # that of Chinese funds 2012–2016 and of Indian funds 2006–2025: P(ratio > r) ~ r⁻⁴
THIN_TAIL = 20.0  # no tail is thinner; that of normal values over ten years is r⁻¹⁴

Mask = NDArray[np.bool_]


def beyond_chance(values: Array, chance: Array, spread: Array) -> Mask:
    """Return which values are larger than chance explains.

    Each value is divided by the fifth largest chance value of its fund. How large such ratios get by chance
    is seen in the funds that are about as volatile: their largest chance values, divided by their fifth
    largest values, have a median and a 90 % quantile, which give a tail, which gives a p-value. The limit for
    p-values is that of Benjamini and Hochberg: of the funds found, about a quarter at most are found by
    chance. In a clean table that is less than one fund in four tables.

    Parameters
    ----------
    values : array of shape (n_days, n_funds)
        What is judged, in units of its usual size.
    chance : array of shape (n_days, n_funds)
        What chance alone makes and would be distributed like the values: those of the other sign, or the
        values themselves if only few of them are not chance.
    spread : array of shape (n_funds,)
        How volatile funds are.
    """
    found = np.zeros(values.shape, dtype=bool)
    usual = _ranked(chance)
    judged = np.flatnonzero(((values != 0.0).sum(axis=0) >= LEAST_VALUES) & (usual > 0.0))
    if not len(judged):
        return found
    with np.errstate(over="ignore"):
        ratio = np.maximum(values[:, judged], 0.0) / usual[judged]
        other = chance[:, judged].max(axis=0) / np.maximum(_ranked(values)[judged], np.finfo(float).tiny)
    p = np.ones(ratio.shape)
    order = np.argsort(spread[judged], kind="stable")
    for alike in np.array_split(order, max(1, len(order) // FUNDS_ALIKE)):
        p[:, alike] = _p_values(ratio[:, alike], other[alike])
    # A small table is judged as strictly as one of 150 funds.
    allowed = FALSE_SHARE * np.arange(1, len(judged) + 1) / max(len(judged), FUNDS_ALIKE)
    found[:, judged] = p <= max(allowed[np.sort(p.min(axis=0)) <= allowed], default=-1.0)
    return found


def _p_values(ratio: Array, other: Array) -> Array:
    """Return the probability that the largest of the ratios of a fund is as large as each, by chance.

    If values are independent with the tail r⁻ᵃ, the largest exceeds r times the fifth largest of as many
    others with the probability 1 − (1 + r⁻ᵃ)⁻⁵. A factor before r⁻ᵃ and the power a are fitted.
    """
    factor, power = 1.0, USUAL_TAIL
    if len(other) >= FEW_FUNDS:
        low, high = ((1.0 - share) ** (-1.0 / RANK) - 1.0 for share in (0.1, 0.5))
        middle, large = np.log(np.quantile(other, [0.5, 0.9]))
        power = np.log(high / low) / max(large - middle, np.log(high / low) / THIN_TAIL)
        power /= 1.0 + 2.0 / np.sqrt(len(other))  # one standard error less: few funds must not thin the tail
        factor = low * np.exp(power * large)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(-np.expm1(-RANK * np.log1p(factor * ratio**-power)))


def _ranked(values: Array) -> Array:
    """Return the fifth largest value of each fund; 0 if it is not positive, or if there are fewer values."""
    if len(values) < RANK:
        return np.zeros(values.shape[1])
    at = len(values) - RANK
    return np.asarray(np.maximum(np.partition(values, at, axis=0)[at], 0.0))
