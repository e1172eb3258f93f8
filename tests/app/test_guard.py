"""Who gets an answer, and what a page may do."""

import asyncio
import re

import psutil
import pytest

from geodual.app.guard import show_text
from geodual.app.jobs import Job
from geodual.app.serve import running
from geodual.errors import DataError
from tests.app.client import app


def run(check, folder, **options):
    async def inside():
        async with app(folder, **options) as client:
            await check(client)

    asyncio.run(inside())


def test_it_listens_on_this_machine_only(tmp_path):
    async def check(client):
        port = int(client.desk.hosts[0].split(":")[1])
        ours = [each for each in psutil.Process().net_connections("inet") if each.laddr.port == port]
        listening = [each.laddr.ip for each in ours if each.status == psutil.CONN_LISTEN]
        assert listening == ["127.0.0.1"]

    run(check, tmp_path)


ADDRESSES = [
    "",
    "app.js",
    "tables/abc",
    "runs/x",
    "runs/x/report.html",
    "runs/x/choose",
    "runs/x/funds/x.html",
    "tables/abc/sheets",
    "jobs/abc",
    "compare?run=x",
    "nothing",
]
ACTIONS = [
    "send/table",
    "begin",
    "tables/a/index",
    "runs/x/resume",
    "runs/x/pick",
    "runs/x/holdings",
    "tables/a/sheets",
    "jobs/abc",
    "quit",
]


def test_without_the_token_nothing_is_answered(tmp_path):
    async def check(client):
        token = client.desk.token
        for wrong in ("", "x", token[:-1], token + "x", token.swapcase(), "%2e%2e"):
            for path in ADDRESSES:
                answer = await client.ask(f"{client.root}/{wrong}/{path}")
                assert answer.code == 403, (wrong, path)
                assert token.encode() not in answer.body + str(answer.headers).encode()
            for path in ACTIONS:
                address = f"{client.root}/{wrong}/{path}"
                assert (await client.ask(address, "POST", b"{}", Origin=client.root)).code == 403

    run(check, tmp_path)


def test_an_address_of_an_earlier_session_is_answered_in_words(tmp_path):
    async def check(client):
        answer = await client.ask(f"{client.root}/earlier/runs/x", Accept="text/html,*/*")
        assert answer.code == 403
        assert "The address changes with each start of the app" in answer.body.decode()
        assert client.desk.token.encode() not in answer.body

    run(check, tmp_path)


def test_marks_that_turn_the_direction_of_a_text_are_left_out():
    assert show_text("\u202e<b>\u2066ab\u2069\u202c") == "&lt;b&gt;ab"
    assert show_text("صندوق 基金 🦊".encode()) == "صندوق 基金 🦊"


def test_other_names_for_this_machine_are_refused(tmp_path):
    """Another site may let its name point to 127.0.0.1, and its script would then share our origin."""

    async def check(client):
        port = client.desk.hosts[0].split(":")[1]
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil.example:{port}"):
            assert (await client.ask(f"{client.base}/", Host=host)).code == 403
            start = await client.ask(f"{client.root}/start/{client.desk.key}", Host=host)
            assert start.code == 403
        assert (await client.ask(f"{client.base}/", Host=f"localhost:{port}")).code == 200

    run(check, tmp_path)


def test_other_origins_cannot_act(tmp_path):
    async def check(client):
        for origin in (
            "null",
            "http://evil.example",
            "https" + client.root[4:],
            client.root + ".evil.example",
        ):
            for path in ACTIONS:
                answer = await client.ask(f"{client.base}/{path}", "POST", b"{}", Origin=origin)
                assert answer.code == 403, (origin, path)
        assert (await client.ask(f"{client.base}/quit", "POST", b"{}")).code == 403  # no origin at all
        assert not client.desk.over.is_set()
        await client.post("quit")
        assert client.desk.over.is_set()

    run(check, tmp_path)


def test_quitting_asks_first_while_a_run_is_in_progress(tmp_path):
    async def check(client):
        client.desk.studies.jobs["x"] = Job("study", {}, state="waiting")
        assert await client.post("quit") == {"active": 1}
        assert not client.desk.over.is_set()
        assert await client.post("quit", {"sure": True}) == {"active": 0}
        assert client.desk.over.is_set()

    run(check, tmp_path)


def test_the_key_in_the_address_of_the_browser_works_once(tmp_path):
    async def check(client):
        start = f"{client.root}/start/{client.desk.key}"
        assert (await client.ask(f"{client.root}/start/x")).code == 403
        first = await client.ask(start)
        assert (first.code, first.headers["Location"]) == (302, f"/{client.desk.token}/")
        again = await client.ask(start)
        assert again.code == 403
        assert client.desk.token.encode() not in again.body

    run(check, tmp_path)


def test_pages_allow_no_scripts_but_ours_and_no_other_place(tmp_path):
    async def check(client):
        for path in ("", "nothing", "runs/x", "app.js"):
            answer = await client.ask(f"{client.base}/{path}")
            policy = dict(
                part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; ")
            )
            assert policy["default-src"] == "'none'"
            assert policy["script-src"] == policy["connect-src"] == "'self'"
            assert policy["frame-ancestors"] == "'none'"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cache-Control"] == "no-store"
        page = await client.get()
        targets = re.findall(r'(?:src|href|action)="([^"]*)"', page)
        assert targets
        assert all(each.startswith((f"/{client.desk.token}/", "#", "data:")) for each in targets)
        assert not re.search(r"https?://", page + await client.get("app.js") + await client.get("app.css"))

    run(check, tmp_path)


def test_what_is_no_request_of_the_page_is_refused_in_words(tmp_path):
    async def check(client):
        for body in (b"[]", b"{", b"\xff", b"[" * 5000):
            assert "JSON" in (await client.post("begin", body, code=400))["error"]
        assert "settings" in (await client.post("begin", {"form": {"k": "1"}}, code=400))["error"]
        assert "Tick a metric" in (await client.post("begin", {"form": {}}, code=400))["error"]
        few = await client.post("begin", {"form": {"metrics": ["gmml"], "top": ["none"]}}, code=400)
        assert few["error"].startswith("“Funds to hold” must be a whole number of at least 1, got 'none'")
        gone = await client.post("begin", {"form": {"metrics": ["gmml"]}, "table": "x"}, code=400)
        assert "Drop it again" in gone["error"]
        answer = await client.ask(f"{client.base}/begin", "POST", b" " * 2_000_000, Origin=client.root)
        assert answer.code in (400, 599), "a request that is too large is cut off"
        await client.get()

    run(check, tmp_path)


def test_a_port_in_use_is_named(tmp_path):
    async def check(client):
        port = int(client.desk.hosts[0].split(":")[1])
        with pytest.raises(DataError, match=f"`--port`: {port} cannot be used"):
            async with running(tmp_path, port):
                pass

    run(check, tmp_path)
