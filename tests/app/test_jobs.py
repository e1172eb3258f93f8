"""Jobs with children that behave in all kinds of ways."""

import asyncio
import os
import sys
import textwrap
import time

import psutil
import pytest

from geodual.app import jobs
from geodual.app.jobs import Job, Lane, cancel


@pytest.fixture
def child(monkeypatch):
    """Let jobs be done by a script of the test."""

    def use(script):
        code = textwrap.dedent(script)
        monkeypatch.setattr(jobs, "_CHILD", (sys.executable, "-c", code))
        monkeypatch.setattr(jobs, "_GRACE", 0.5)

    return use


async def until(condition, seconds=20):
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


def done(lane, *works):
    return [lane.add(Job(work, {})) for work in works]


def test_progress_and_result_arrive(child):
    child("""
        import json, sys
        job = json.loads(sys.stdin.readline())
        print(json.dumps({"progress": [1, 2, "first"]}), flush=True)
        print(json.dumps({"result": job}))
    """)

    async def check():
        job = Lane().add(Job("study", {"k": 1}))
        await job.task
        assert (job.state, job.done, job.total, job.last) == ("done", 1, 2, "first")
        assert job.result == {"work": "study", "arguments": {"k": 1}}

    asyncio.run(check())


def test_one_runs_at_a_time_in_order(child):
    child("""
        import json, sys, time
        begin = time.time(); time.sleep(0.2)
        print(json.dumps({"result": {"begin": begin, "end": time.time()}}))
    """)

    async def check():
        lane = Lane()
        three = done(lane, "a", "b", "c")
        await until(lambda: three[0].state == "running")
        assert [job.state for job in three[1:]] == ["waiting", "waiting"]
        await cancel(three[1])
        await asyncio.gather(three[0].task, three[2].task)
        assert [job.state for job in three] == ["done", "canceled", "done"]
        assert three[0].result["end"] <= three[2].result["begin"]

    asyncio.run(check())


def test_a_crash_is_told_in_one_line_and_the_next_job_runs(child):
    child("""
        import json, os, sys
        if json.loads(sys.stdin.readline())["work"] == "crash":
            os.abort()
        print(json.dumps({"result": {}}))
    """)

    async def check():
        crashed, fine = done(Lane(), "crash", "fine")
        await asyncio.gather(crashed.task, fine.task)
        assert crashed.state == "failed"
        assert "ended unexpectedly" in crashed.message
        assert "\n" not in crashed.message
        assert fine.state == "done"

    asyncio.run(check())


DEAF = """
    import os, signal, subprocess, sys, time
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print('{"progress": [0, %d, "%d"]}' % (worker.pid, os.getpid()), flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups")
def test_cancel_kills_a_child_that_does_not_listen_and_its_workers(child):
    child(DEAF)

    async def check():
        lane = Lane()
        job = lane.add(Job("study", {}))
        await until(lambda: job.total)
        pids = [job.total, int(job.last)]
        assert all(map(psutil.pid_exists, pids))
        await cancel(job)
        assert (job.state, job.message) == ("canceled", "Canceled.")
        await until(lambda: not any(map(is_alive, pids)))

    asyncio.run(check())


def is_alive(pid):
    """Return whether a process runs; one that nobody has asked about its end does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_closing_ends_running_and_waiting_jobs(child):
    child(DEAF)

    async def check():
        lane = Lane()
        two = done(lane, "a", "b")
        await until(lambda: two[0].total)
        await lane.close()
        assert [job.state for job in two] == ["canceled", "canceled"]

    asyncio.run(check())


def test_the_real_child_ends_when_its_input_closes():
    """So it ends also if the server is killed."""

    async def check():
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *jobs._CHILD, stdin=pipe, stdout=pipe, env={**os.environ, "PYTHONDEVMODE": ""}
        )
        process.stdin.close()
        await asyncio.wait_for(process.stdout.read(), 30)
        assert await process.wait() == 130

    asyncio.run(check())


def test_the_time_left_is_that_of_the_pace_since_the_first_step(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    job = Job("study", {}, state="running")
    for seconds, steps, left in ((0, 4, None), (10, 5, 50), (10, 6, 40)):
        now[0] += seconds
        job.take({"progress": [steps, 10, "x"]})
        assert job.tell()["left"] == left
