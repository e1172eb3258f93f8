"""A browser of few words: asks the app as its pages do, and as strangers would."""

import asyncio
import json
from contextlib import asynccontextmanager
from urllib.parse import quote

from tornado.httpclient import AsyncHTTPClient

from geodual.app.serve import LARGEST, running

HOSTILE = (
    "<script>alert(1)</script>.csv",
    "../../x.csv",
    "..\\..\\x.csv",
    "/etc/passwd",
    "a" * 300 + ".csv",
    "🦊📈.csv",
    "\"'><img src=x onerror=alert(1)>.csv",
    "{{ 1/0 }}.csv",
    "a\r\nSet-Cookie: b=c\x00.csv",
    "",
)


class Client:
    """Talks to one server."""

    def __init__(self, desk):
        self.desk = desk
        self.root = f"http://{desk.hosts[0]}"
        self.base = f"{self.root}/{desk.token}"

    async def ask(self, address, method="GET", body=None, **headers):
        """Return the answer to a request, whatever it is."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return await AsyncHTTPClient().fetch(
            address, method=method, body=body, headers=headers, raise_error=False, follow_redirects=False
        )

    async def get(self, path=""):
        """Return the text of a page, and check that it is one."""
        answer = await self.ask(f"{self.base}/{path}")
        assert answer.code == 200, answer.body
        return answer.body.decode()

    async def post(self, path, body=None, code=200, **headers):
        """Return the JSON answer to a post from the page itself."""
        body = body if isinstance(body, bytes) else json.dumps(body or {})
        answer = await self.ask(f"{self.base}/{path}", "POST", body, Origin=self.root, **headers)
        assert answer.code == code, answer.body
        return json.loads(answer.body)

    async def send(self, kind, name, content, code=200):
        """Upload a file as the page does."""
        return await self.post(f"send/{kind}", content, code, X_File_Name=quote(name.encode()))

    async def drop(self, name, content):
        """Upload a table, wait until it is read, and return its name."""
        known = await self.send("table", name, content)
        await self.over(self.desk.files[known["name"]].look)
        return known["name"]

    async def over(self, job, seconds=120):
        """Wait until a job is over, and return it."""
        async with asyncio.timeout(seconds):
            while not job.is_over:
                await asyncio.sleep(0.02)
        return job


@asynccontextmanager
async def app(folder, largest=LARGEST):
    """Run the app, and return a client of it."""
    async with running(folder, largest=largest) as desk:
        yield Client(desk)
