"""How long work tells the caller how far it is."""

from collections.abc import Callable

ProgressCallback = Callable[[int, int, str], object]
"""Called with the number of steps done, the number of all steps, and a word on the last one."""


def ignore_progress(done: int, total: int, last: str) -> None:
    """Take no notice of progress."""
