"""The tables of a selection: the picks of one day, and the reasons for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from .track_record import TrackRecord


@dataclass(frozen=True, eq=False)
class SelectionTables:
    """The tables of a selection; `Selection` adds a report and documents the fields."""

    as_of: pd.Timestamp
    forecaster: str
    picks: pd.DataFrame
    neighbours: pd.DataFrame = field(repr=False)
    reasons: pd.DataFrame = field(repr=False)
    left_out: pd.DataFrame = field(repr=False)
    factor_labels: Mapping[str, str] = field(repr=False)
    record: TrackRecord
    record_text: str
    notes: tuple[str, ...]
    source: str
    first_day: pd.Timestamp
    pooled: bool
    candidates: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    unit: str = "return"
