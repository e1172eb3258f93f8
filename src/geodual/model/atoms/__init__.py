"""The atoms of expressions."""

from .arithmetic import multiply, power
from .distances import cosine, distance, distance2, lorentz, lorentz_quadratic, s_divergence
from .elementwise import abs, entr, exp, huber, log, logistic, sqrt, square
from .matrices import congruence, det, diag, hadamard, inv, kron, log_det, quad_form, trace
from .reductions import hstack, log_sum_exp, max, norm, prod, sum, sum_squares
from .spectral import (
    lambda_max,
    lambda_min,
    lambda_sum_largest,
    log_norm,
    schatten_norm,
    sum_log_largest,
    trace_power,
)

__all__ = [
    "abs",
    "congruence",
    "cosine",
    "det",
    "diag",
    "distance",
    "distance2",
    "entr",
    "exp",
    "hadamard",
    "hstack",
    "huber",
    "inv",
    "kron",
    "lambda_max",
    "lambda_min",
    "lambda_sum_largest",
    "log",
    "log_det",
    "log_norm",
    "log_sum_exp",
    "logistic",
    "lorentz",
    "lorentz_quadratic",
    "max",
    "multiply",
    "norm",
    "power",
    "prod",
    "quad_form",
    "s_divergence",
    "schatten_norm",
    "sqrt",
    "square",
    "sum",
    "sum_log_largest",
    "sum_squares",
    "trace",
    "trace_power",
]
