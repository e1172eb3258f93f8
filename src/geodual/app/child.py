"""The process that does a job: it reads it from standard input, and writes progress and result as JSON lines.

Its input stays open as long as somebody wants the result. When it is closed, because the job was canceled or
the server has ended in whatever way, the process interrupts itself.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from importlib import import_module
from typing import Any, TextIO

from geodual.errors import DataError, LostWorkersError

_INTERRUPTED = 130
# Where work is done if not in `work`, so that a look at a file imports no learner.
_MODULES = dict.fromkeys(("look", "look_at_index", "look_at_facts", "look_at_holdings"), "looks")
_MODULES["choose"] = "picks"


def main() -> None:
    """Do the job."""
    # What libraries print goes to the terminal, and not between the messages.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        request = json.loads(_read_line())
        threading.Thread(target=_follow_input, daemon=True).start()
        answer = _answer(channel, request)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # from now on, a closed input means that all is well
        _send(channel, answer)
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(_INTERRUPTED)


def _answer(channel: TextIO, request: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a job, or what went wrong in one line."""
    try:
        os.environ["MPLBACKEND"] = "agg"  # figures go to files

        def report(done: int, total: int, last: str) -> None:
            _send(channel, {"progress": [done, total, last]})

        # Imported here, because it takes a second, and cancel must not wait for it.
        module = import_module(f"{__package__}.{_MODULES.get(request['work'], 'work')}")
        return {"result": getattr(module, request["work"])(report, **request["arguments"])}
    except DataError as error:
        problem = import_module(f"{__package__}.inputs").tell(error)
    except LostWorkersError as error:
        problem = str(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        problem = (
            f"{error.filename or 'file'}: {error.strerror or error}. Check the folder, and its free space."
        )
    except MemoryError:
        problem = "The memory is full. Close other programs, or use fewer processes, and run again."
    except Exception as error:
        traceback.print_exc()
        problem = (
            f"geodual failed ({type(error).__name__}: {error}). The terminal shows where; please report it."
        )
    return {"error": " ".join(problem.split())}


def _send(channel: TextIO, message: dict[str, Any]) -> None:
    channel.write(json.dumps(message, allow_nan=False) + "\n")
    channel.flush()


def _read_line() -> bytes:
    """Read the first line, and nothing after it; a buffer would be locked when the process ends."""
    line = b""
    while not line.endswith(b"\n"):
        if not (chunk := os.read(0, 1 << 16)):
            raise KeyboardInterrupt
        line += chunk
    return line


def _follow_input() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)  # on Windows this ends the process at once


if __name__ == "__main__":
    main()
