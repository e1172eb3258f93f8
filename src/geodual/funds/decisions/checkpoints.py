"""Finished decisions on disk, so that an interrupted study can continue where it stopped."""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.atomic_file import write_atomically
from geodual.bounded_reading import parse_nested, read_arrays

from ..run import CHECKPOINTS
from .decision import Decision

_ARRAYS = ("forecast", "nearest", "distances", "linear_map", "parts", "part_names")
_TEXTS = ("label", "unit", "seconds", "notes")


class Checkpoints:
    """A folder of finished decisions for one set of inputs.

    Parameters
    ----------
    folder : Path
        Where to keep the decisions.
    inputs : list of str
        Everything that decisions depend on. Decisions made from other inputs are never loaded.
    """

    def __init__(self, folder: Path, inputs: list[str]) -> None:
        self._key = hashlib.sha256("\0".join(inputs).encode()).hexdigest()
        self._root, self._folder = folder, folder / self._key[:16]

    def load(self, day: pd.Timestamp, forecaster: str) -> Decision | None:
        """Return a finished decision, or None if there is none, or its file was damaged or changed."""
        try:
            stored = read_arrays(self._path(day, forecaster).read_bytes())
            content = {name: stored[name] for name in (*_ARRAYS, "funds", "text")}
            if str(stored["seal"]) != self._seal(day, forecaster, content):
                return None
            text = parse_nested(json.loads, str(content.pop("text")))
        except Exception:  # a damaged file raises whatever comes first
            return None
        text["notes"] = tuple(text["notes"])
        funds = pd.Index(content.pop("funds").tolist(), name="fund", dtype=str)
        return Decision(day=day, forecaster=forecaster, funds=funds, **content, **text)

    def save(self, decision: Decision) -> None:
        """Save a decision."""
        text = {name: getattr(decision, name) for name in _TEXTS}
        content: dict[str, Any] = {name: getattr(decision, name) for name in _ARRAYS}
        content["funds"], content["text"] = decision.funds.to_numpy(str), np.array(json.dumps(text))
        content["seal"] = np.array(self._seal(decision.day, decision.forecaster, content))
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(decision.day, decision.forecaster)
        with suppress(FileNotFoundError):  # another study just finished and cleared the folder
            write_atomically(path, lambda temporary: np.savez(temporary, **content))

    def clear(self) -> None:
        """Remove the decisions made from these inputs, once the study is saved.

        A folder called `.finished` is removed as a whole: it holds nothing but checkpoints, and the remaining
        ones come from interrupted runs with other settings.
        """
        shutil.rmtree(self._root if self._root.name == CHECKPOINTS else self._folder, ignore_errors=True)
        with suppress(OSError):  # not empty: it holds decisions of other studies
            self._root.rmdir()

    def _seal(self, day: pd.Timestamp, forecaster: str, content: dict[str, Any]) -> str:
        """Return the SHA-256 of a decision: a file that was edited, or moved to another name, has another."""
        hasher = hashlib.sha256(f"{self._key} {day.date()} {forecaster}".encode())
        for name, array in sorted(content.items()):
            hasher.update(f"{name} {array.dtype.str} {array.shape}".encode())
            hasher.update(np.ascontiguousarray(array).tobytes())
        return hasher.hexdigest()

    def _path(self, day: pd.Timestamp, forecaster: str) -> Path:
        name = hashlib.sha256(forecaster.encode()).hexdigest()[
            :16
        ]  # a forecaster may have any text as its name
        return self._folder / f"{day.date()}-{name}.npz"
