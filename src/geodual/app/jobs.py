"""Jobs: work in a child process, one at a time, with progress, cancel and an honest end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex
from typing import Any

_CHILD = (sys.executable, "-m", "geodual.app.child")
_GRACE = 10.0  # seconds to finish a file and to stop workers; what is left then is killed
_LINE = 1 << 26  # bytes of the longest message of a child: the codes of 25,000 funds take 1 MB


@dataclass(eq=False)
class Job:
    """A piece of work, and how far it is.

    Attributes
    ----------
    work : str
        Name of a function of `geodual.app.work`.
    arguments : dict
        Its arguments, ready for JSON.
    table : str
        Name of the upload that it is about, if the page shall link to it.
    name : str
        What addresses call it.
    state : str
        "waiting", "running", "done", "failed" or "canceled".
    done, total, last : int, int and str
        Number of steps done, number of all steps, and the name of the last one.
    message : str
        What went wrong.
    result : dict
        What the function returned.
    first : tuple of (float, int), optional
        When the first step was done, on a clock that never goes back, and the number of steps done then.
    """

    work: str
    arguments: dict[str, Any]
    table: str = ""
    name: str = field(default_factory=partial(token_hex, 8))
    state: str = "waiting"
    done: int = 0
    total: int = 0
    last: str = ""
    message: str = ""
    result: dict[str, Any] = field(default_factory=dict)
    first: tuple[float, int] | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in ("done", "failed", "canceled")

    def tell(self) -> dict[str, Any]:
        """Return what the page shows of it, ready for JSON."""
        shown = {name: getattr(self, name) for name in ("state", "done", "total", "last", "message")}
        return {**shown, "left": self._seconds_left()}

    def _seconds_left(self) -> int | None:
        """Return how long the remaining steps take at the pace so far; None if it is not known yet."""
        if self.first is None or not self.first[1] < self.done < self.total:
            return None
        pace = (time.monotonic() - self.first[0]) / (self.done - self.first[1])
        return round(pace * (self.total - self.done))

    def take(self, message: dict[str, Any]) -> None:
        """Note a message of the child: its progress, its result or its error."""
        if "progress" in message:
            self.done, self.total, self.last = message["progress"]
            if self.done and self.first is None:
                self.first = time.monotonic(), self.done
        elif "error" in message:
            self.state, self.message = "failed", message["error"]
        else:
            self.state, self.result = "done", message["result"]


class Lane:
    """Jobs that run one after the other, in the order in which they were added."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self.jobs: dict[str, Job] = {}

    def add(self, job: Job) -> Job:
        """Run a job as soon as those before it are over."""
        self.jobs[job.name] = job
        job.task = asyncio.create_task(self._run(job))
        return job

    async def _run(self, job: Job) -> None:
        try:
            async with self._turn:
                job.state = "running"
                await _work(job)
        except asyncio.CancelledError:
            if not job.is_over:
                job.state, job.message = "canceled", "Canceled."
        except OSError as error:
            job.state, job.message = "failed", f"No process can be started ({error}). Close other programs."

    async def close(self) -> None:
        """Cancel all jobs, and wait until their processes have ended."""
        await asyncio.gather(*map(cancel, self.jobs.values()))


async def cancel(job: Job) -> None:
    """Stop a job unless it is over, and wait until its process has ended."""
    if job.task is not None:
        if (
            not job.is_over and not job.task.cancelling()
        ):  # a second time would disturb the end of the process
            job.task.cancel()
        await asyncio.gather(job.task, return_exceptions=True)


async def _work(job: Job) -> None:
    """Run a job in a child; whatever happens, the child and its workers have ended afterward."""
    pipe = asyncio.subprocess.PIPE
    # In a session of its own it gets no Ctrl-C from the terminal: it is for the server to end it.
    process = await asyncio.create_subprocess_exec(
        *_CHILD, stdin=pipe, stdout=pipe, limit=_LINE, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps({"work": job.work, "arguments": job.arguments}).encode() + b"\n")
        async for line in process.stdout:
            job.take(json.loads(line))
        if not job.is_over:
            code = await process.wait()
            told = f"Its process ended unexpectedly (exit code {code}); the memory may be full."
            job.state, job.message = "failed", f"{told} Close other programs, or use fewer processes."
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a child: closing its input asks it to, and after a while it is killed with its workers."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":  # there workers without a parent end by themselves
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    with suppress(TimeoutError):  # nobody is left to write, so this is the end of the pipe, which closes it
        await asyncio.wait_for(process.stdout.read(), _GRACE)
