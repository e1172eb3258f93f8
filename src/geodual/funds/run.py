"""A run of a study: how it reports its progress, and the names of the files that it leaves."""

from __future__ import annotations

from collections.abc import Callable

CHECKPOINTS = ".finished"  # folder of finished decisions; removed when the study is saved
CONFIG = "config.toml"
DECISIONS = "decisions"  # folder of the decisions of a run that is updated with longer tables
PICKS = "picks.html"  # the picks of a selection that continues the run
REPORT = "report.html"
SHEETS = "funds"  # folder of the fact sheets of these picks
SUMMARY = "summary.json"
ProgressCallback = Callable[[int, int, str], object]
"""Called with the number of steps done, the number of all steps, and the name of the last step."""


def ignore_progress(done: int, total: int, last: str) -> None:
    """Do nothing; the default where no progress is shown."""
