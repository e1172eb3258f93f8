"""Uploads: what is kept, under which name, and what is not."""

import asyncio
import stat
from pathlib import Path

import pytest
from tornado.httpclient import AsyncHTTPClient

from geodual.app.runs import folder_name
from geodual.app.uploads import shown_name
from tests.app.client import HOSTILE, app


def test_names_never_become_paths(tmp_path):
    async def check():
        async with app(tmp_path / "runs") as client:
            place = client.desk.uploads
            for name in HOSTILE:
                known = await client.send("index", name, b"date,level\n")
                upload = client.desk.files[known["name"]]
                assert upload.path.parent == place
                assert upload.path.read_bytes() == b"date,level\n"
            assert sorted(place.iterdir()) == sorted(each.path for each in client.desk.files.values())
            assert stat.S_IMODE(place.stat().st_mode) == 0o700
        assert not place.exists(), "uploads are deleted at the end"
        assert list(tmp_path.iterdir()) == [], "no folder for runs before there is one"

    asyncio.run(check())


def test_the_limit_is_exact_and_leaves_nothing(tmp_path):
    async def check():
        async with app(tmp_path, largest=2000) as client:
            await client.send("index", "a.csv", b"x" * 2000)
            told = await client.send("index", "b.csv", b"x" * 2001, code=413)
            assert "is the limit" in told["error"]
            assert len(list(client.desk.uploads.iterdir())) == 1

    asyncio.run(check())


async def half_a_file(client):
    """Send the head of an upload and a part of it, then hang up."""
    host, port = client.desk.hosts[0].split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    head = (
        f"POST /{client.desk.token}/send/index HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: {client.root}\r\n"
    )
    writer.write(f"{head}Content-Length: 1000\r\n\r\n".encode() + b"x" * 500)
    await writer.drain()
    while not list(client.desk.uploads.iterdir()):
        await asyncio.sleep(0.01)
    writer.close()
    await writer.wait_closed()


def test_a_file_that_does_not_come_to_its_end_is_removed(tmp_path):
    async def check():
        async with app(tmp_path) as client:
            await half_a_file(client)
            async with asyncio.timeout(5):
                while list(client.desk.uploads.iterdir()):
                    await asyncio.sleep(0.01)
            assert client.desk.files == {}

    asyncio.run(check())


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    def fail(self, chunk):
        raise OSError(28, "No space left on device")

    async def check():
        async with app(tmp_path) as client:
            monkeypatch.setattr("geodual.app.uploads.Receiver.take", fail)
            told = await client.send("index", "a.csv", b"x", code=400)
            assert "No space left on device" in told["error"]
            assert list(client.desk.uploads.iterdir()) == []

    asyncio.run(check())


def test_an_upload_without_a_size_is_refused(tmp_path):
    async def check():
        async with app(tmp_path) as client:

            async def body(write):
                await write(b"x" * 100)

            answer = await AsyncHTTPClient().fetch(
                f"{client.base}/send/index",
                method="POST",
                body_producer=body,
                headers={"Origin": client.root},
                raise_error=False,
            )
            assert answer.code == 411
            assert list(client.desk.uploads.iterdir()) == []

    asyncio.run(check())


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_shown_short_and_on_one_line(name):
    shown = shown_name(name)
    assert shown
    assert len(shown) <= 80
    assert shown.isprintable()
    assert "/" not in shown.replace("</", "")
    assert "\\" not in shown


def test_devices_of_windows_are_no_folders():
    assert folder_name("CON", Path("runs"), set()) == "run-CON"
    assert folder_name("lpt1", Path("runs"), set()) == "run-lpt1"
