"""Run a case and judge it: a certificate, an honest answer, a refusal that helps, or a finding."""

from __future__ import annotations

import pickle
import re
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from scipy.sparse import issparse

import geodual

from .case import Case, UserError

VERDICTS = ("certificate", "status", "answer", "warning", "refusal", "finding")

# A refusal names what it is about: an argument, a quoted value, a file, or the data by a usual name.
_NAMED = re.compile(
    r"[`'\"]|\b[Xy]\b|\.(csv|parquet|toml|xlsx|json|npz)\b|column|line |--|sample|feature|point|cost|"
    r"DataFrame|matri|convex|geodesic|gradient|class|constraint|manifold|label",
    re.IGNORECASE,
)
# Packages by their folders: a name would also be found in the path of a checkout.
_GEODUAL, _SKLEARN = (Path(package.__file__).parent for package in (geodual, sklearn))
_SHORTEST = 20  # characters of a message that can say what is wrong and what to do


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes
    ----------
    name : str
        The case in words.
    verdict : str
        One of `VERDICTS`.
    words : str
        The message of a refusal or warning, or what is wrong.
    """

    name: str
    verdict: str
    words: str = ""


def judge(case: Case) -> Outcome:
    """Run a case and return its outcome."""
    before = list(map(fingerprint, case.inputs))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        outcome = _answered(case)
    changed = [k for k, given in enumerate(case.inputs) if fingerprint(given) != before[k]]
    if changed:
        return Outcome(case.name, "finding", f"input {changed[0]} was changed")
    return _with_warnings(outcome, [str(w.message) for w in heard], [w.category for w in heard])


def _answered(case: Case) -> Outcome:
    """Run a case and judge its answer or its exception."""
    try:
        answer = case.call()
    except UserError:
        return Outcome(case.name, "refusal", "the error of the user's function came through")
    except (ValueError, TypeError, *case.errors) as error:
        wrong = wrong_with_refusal(error, case.errors)
        return Outcome(case.name, "finding" if wrong else "refusal", wrong or str(error))
    except Exception as error:
        return Outcome(case.name, "finding", f"crash: {described(error)}")
    try:
        with np.errstate(all="ignore"):  # a check may overflow, where it finds something
            wrongs, claim = list(case.check(answer)), case.claim(answer)
    except Exception as error:
        return Outcome(case.name, "finding", f"the answer could not be checked: {described(error)}")
    return Outcome(case.name, "finding", "; ".join(wrongs)) if wrongs else Outcome(case.name, claim)


def _with_warnings(outcome: Outcome, messages: list[str], categories: Iterable[type[Warning]]) -> Outcome:
    if outcome.verdict in ("finding", "refusal"):
        return outcome
    for message, category in zip(messages, categories, strict=True):
        # Numpy warns like this where code did not check the numbers; a warning for users is of another kind.
        if issubclass(category, (RuntimeWarning, DeprecationWarning, FutureWarning)):
            return Outcome(outcome.name, "finding", f"leaked {category.__name__}: {message}")
    if messages and outcome.verdict in ("answer", "status"):
        return Outcome(outcome.name, "warning", messages[0])
    return outcome


def wrong_with_refusal(error: BaseException, accepted: tuple[type[BaseException], ...] = ()) -> str:
    """Return what is wrong with an exception as an answer to bad input; empty if nothing is.

    It must come from a ``raise`` statement of geodual or scikit-learn: then somebody thought of the mistake.
    An exception out of a numpy function means that nobody did. Its message must name what it is about.
    """
    if accepted and isinstance(error, accepted):
        return ""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = Path(last.filename)
    if place.is_relative_to(_SKLEARN / "utils"):
        return ""  # its checks of samples and labels are those that users of estimators know
    thought_of = (last.line or "").startswith("raise")
    if not (thought_of and any(map(place.is_relative_to, (_GEODUAL, _SKLEARN)))):
        return f"not a refusal: {described(error)}"
    if len(str(error)) < _SHORTEST or not _NAMED.search(str(error)):
        return f"a refusal that does not help: {described(error)}"
    return ""


def described(error: BaseException) -> str:
    """Return an exception with the last places of geodual that it passed, in one line."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
    places = [f"{'/'.join(Path(f.filename).parts[-2:])}:{f.lineno}" for f in frames[-3:]]
    return f"{type(error).__name__}: {str(error)[:300]} ({' > '.join(places)})"


def fingerprint(given: Any) -> bytes:
    """Return bytes that change if an input changes."""
    if isinstance(given, pd.DataFrame):
        columns = [given.iloc[:, k].to_numpy() for k in range(given.shape[1])]
        return pickle.dumps((columns, given.index.to_numpy(), list(given.columns), list(given.dtypes)))
    if isinstance(given, pd.Series):
        return fingerprint(given.to_frame())
    if issparse(given):
        return pickle.dumps(given.tocsr())
    if isinstance(given, np.ndarray):
        return pickle.dumps((np.ascontiguousarray(given), given.dtype, given.shape, given.flags.writeable))
    if isinstance(given, (tuple, list)):
        return b"|".join(map(fingerprint, given))
    return repr(given).encode()


def run_case(draw: Callable[[np.random.Generator], Case], kind: str, number: int) -> Outcome:
    """Draw the case with a number, and judge it.

    Parameters
    ----------
    draw : callable
        ``draw(rng)`` returns a case.
    kind : str
        Kind of entry point; each kind has random numbers of its own.
    number : int
        Number of the case, which is its seed.
    """
    return judge(draw(np.random.default_rng([number, *kind.encode()])))
