"""Progress reports of long-running work."""

from collections.abc import Callable

ProgressCallback = Callable[[int, int, str], object]
"""Called with the number of steps done, the number of all steps, and the name of the last step."""


def ignore_progress(done: int, total: int, last: str) -> None:
    """Do nothing; the default where no progress is shown."""
