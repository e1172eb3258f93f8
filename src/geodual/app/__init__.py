"""A local page in the browser, in place of a terminal: drop a table, run studies, look at them.

The server computes nothing: child processes do the work with `geodual.funds`, and leave run folders.
"""

from geodual.extras import require_extra

require_extra("app", "tornado", what="The app needs Tornado")

from .serve import serve  # noqa: E402 - after the check

__all__ = ["serve"]
