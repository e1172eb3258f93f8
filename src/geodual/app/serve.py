"""Start the server, open the browser, and end cleanly: no process and no uploaded file remains."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path

from tornado.httpserver import HTTPServer
from tornado.web import Application

from geodual.errors import DataError

from .desk import Desk
from .guard import show_text
from .handlers import routes

HOST = "127.0.0.1"
LARGEST = 500_000_000  # bytes of an upload; 15 years of daily NAVs of 3,000 funds are 200 MB of CSV
_SMALL = 1 << 20  # bytes of any other request
_CLOSE = 1.0  # seconds for answers that are on their way


def serve(folder: Path, port: int, tell: Callable[[str], object], open_browser: bool = True) -> None:
    """Run the app until Ctrl-C, a signal to end, or the button of the page.

    Parameters
    ----------
    folder : Path
        Where runs go, a folder each; created when the first one starts.
    port : int
        Port on this machine; 0 for any that is free.
    tell : callable
        Called with the address, once it can be used.
    open_browser : bool
        Whether to open it in a browser.
    """
    with suppress(KeyboardInterrupt):  # which Ctrl-C raises on Windows, after all is cleaned up
        asyncio.run(_serve(folder, port, tell, open_browser))


async def _serve(folder: Path, port: int, tell: Callable[[str], object], open_browser: bool) -> None:
    async with running(folder, port) as desk:
        _end_on_signals(desk.over)
        address = f"http://{desk.hosts[0]}"
        tell(f"{address}/{desk.token}/")
        if open_browser:
            await asyncio.to_thread(webbrowser.open, f"{address}/start/{desk.key}")
        await desk.over.wait()


@asynccontextmanager
async def running(folder: Path, port: int = 0, largest: int = LARGEST) -> AsyncIterator[Desk]:
    """Serve the app while a block runs; then end all jobs and remove all uploads.

    Parameters
    ----------
    folder : Path
        Where runs go.
    port : int
        Port on this machine; 0 for any that is free.
    largest : int
        Bytes that an upload may have.
    """
    bound = _bind(port)
    number = bound.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="geodual-app-", ignore_cleanup_errors=True) as uploads:
        hosts = tuple(f"{name}:{number}" for name in (HOST, "localhost"))
        desk = Desk(folder.absolute(), Path(uploads), largest, hosts)
        pages = str(files(__package__).joinpath("pages"))
        handlers = [(address, handler, {"desk": desk}) for address, handler in routes()]
        server = HTTPServer(
            Application(
                handlers,
                template_path=pages,
                autoescape=show_text.__name__,
                log_function=lambda handler: None,
            ),
            max_body_size=_SMALL,
        )
        server.add_socket(bound)
        try:
            yield desk
        finally:
            server.stop()
            await asyncio.gather(desk.studies.close(), desk.views.close())
            with suppress(TimeoutError):
                await asyncio.wait_for(server.close_all_connections(), _CLOSE)


def _bind(port: int) -> socket.socket:
    try:
        bound = socket.create_server((HOST, port))
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise DataError(
            f"`--port`: {port} cannot be used ({error.strerror}). Leave it out for a free one."
        ) from None
    bound.setblocking(False)
    return bound


def _end_on_signals(over: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # on Windows
            loop.add_signal_handler(name, over.set)
