"""Run tests in a child process that inherits everything: libraries, our modules and the collected tests."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType

from .operators import Mutant

_MEMORY = 8 << 30  # bytes; a mutant may ask for more than there is
_POLL = 0.02  # seconds between two looks at the child
BROKEN = 70  # exit code of a child that could not put the error in
Place = tuple[str, str]


def live_functions(root: Path) -> dict[Place, list[FunctionType]]:
    """Return all functions of the copy that exist in this process, by file and name."""
    found = defaultdict(list)
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename.startswith(str(root / "src")):
            found[thing.__code__.co_filename, thing.__code__.co_qualname].append(thing)
    return found


def put_in(mutant: Mutant, root: Path, live: dict[Place, list[FunctionType]]) -> None:
    """Give the function of a mutant, wherever it is referred to, the code with the error."""
    path = root / mutant.path
    module = compile(mutant.apply(path.read_bytes()), str(path), "exec")
    codes = {code.co_firstlineno: code for code in _functions(module) if code.co_qualname == mutant.function}
    functions = live[str(path), mutant.function]
    if not functions:
        raise LookupError(f"no live function {mutant.function} of {mutant.path}")
    for function in functions:
        function.__code__ = codes[function.__code__.co_firstlineno]


def _functions(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _functions(inner)


def run_child(work: Callable[[], None], limit: float) -> int:
    """Run a function in a child process, and return its exit code, or a negative number if it was ended.

    Parameters
    ----------
    work
        Ends the process by itself with `os._exit`.
    limit
        Seconds after which the child and its own children are ended.
    """
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            work()
        finally:
            os._exit(BROKEN)
    for _ in range(int(limit / _POLL)):  # not by the clock: the whole run may be stopped for a while
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            with contextlib.suppress(ProcessLookupError):  # workers that the tests left behind
                os.killpg(child, signal.SIGKILL)
            return os.waitstatus_to_exitcode(status)
        time.sleep(_POLL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def limit_processor_time(seconds: float) -> None:
    """End this process after that much more processor time."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def silence() -> None:
    """Send all output of this process nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    sys.stdout.flush()


@contextlib.contextmanager
def changed(path: Path, text: bytes) -> Iterator[None]:
    """Keep another text in a file for a while; its time of change shows that compiled copies are old."""
    before, times = path.read_bytes(), path.stat()
    path.write_bytes(text)
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def forget(modules: Iterable[str]) -> None:
    """Remove modules by the first part of their names, so that they are imported again."""
    for name in [name for name in sys.modules if name.partition(".")[0] in set(modules)]:
        del sys.modules[name]
