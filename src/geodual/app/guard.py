"""What every answer of the server has in common: who may ask, and what a page may do."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from typing import Any

from tornado.escape import to_unicode, xhtml_escape
from tornado.web import HTTPError, RequestHandler

from geodual.errors import DataError

from .desk import Desk

_PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Reports bring their own scripts. In a sandbox they belong to no site, so that they cannot read this one, and
# they may ask nothing of the network.
REPORT = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _PAGE,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Server": "geodual",
}


_STRANGER = (
    "<!doctype html><html lang=en-US><meta charset=utf-8><title>geodual</title>"
    "<h1>This page cannot be shown</h1><p>{} The address changes with each start of the app: "
    "use the window that it opened, or the address that its terminal shows."
)
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # characters that turn the direction of all that follows


def show_text(text: str | bytes) -> str:
    """Return a text for a page: escaped, and without marks that would turn the words after it."""
    return xhtml_escape(_TURNS.sub("", to_unicode(text)))


class Guarded(RequestHandler):
    """A handler that answers only the page of this server, in a browser on this machine."""

    def initialize(self, desk: Desk) -> None:
        """Remember what all handlers share."""
        self.desk = desk

    def set_default_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        """Refuse who does not know the token, and other sites that reach this server through the browser."""
        # A site may let its name point to this machine. Its requests then have that name as their host.
        if self.request.host not in self.desk.hosts:
            raise HTTPError(403, reason="Wrong host")
        if not hmac.compare_digest(self.request.path.split("/")[1].encode(), self.desk.token.encode()):
            raise HTTPError(403, reason="Wrong address")
        if self.request.method != "GET":
            origin = self.request.headers.get("Origin", "")
            if origin not in [f"http://{host}" for host in self.desk.hosts]:
                raise HTTPError(403, reason="Wrong origin")

    def _refuse(self, *path: str) -> None:
        """Refuse a method that a handler does not have."""
        raise HTTPError(405, reason="This cannot be done here")

    get: Callable[..., Any] = _refuse
    post: Callable[..., Any] = _refuse
    head: Callable[..., Any] = _refuse
    delete: Callable[..., Any] = _refuse
    patch: Callable[..., Any] = _refuse
    put: Callable[..., Any] = _refuse
    options: Callable[..., Any] = _refuse

    def get_template_namespace(self) -> dict[str, Any]:
        return {**super().get_template_namespace(), show_text.__name__: show_text}

    def show(self, template: str, **values: Any) -> None:
        """Answer with a page; texts in it are escaped by the template."""
        self.finish(self.render_string(template, desk=self.desk, base=f"/{self.desk.token}", **values))

    def write_error(self, status_code: int, **details: Any) -> None:
        """Answer a page with a page, and a script with JSON."""
        error = details.get("exc_info", (None, None, None))[1]
        told = str(error) if isinstance(error, DataError) else f"{self._reason}."
        if isinstance(error, DataError):
            self.set_status(400)
        if "text/html" in self.request.headers.get("Accept", "") and status_code == 403:
            self.finish(_STRANGER.format(xhtml_escape(told)))  # without style, which has a secret address
        elif self.request.method != "GET" or status_code == 403:
            self.finish({"error": told})
        else:
            self.show("error.html", told=told)

    def log_exception(self, *details: Any) -> None:
        """Log what is unexpected only."""
        if not isinstance(details[1], DataError):
            super().log_exception(*details)


class Nothing(Guarded):
    """The answer to an address that does not exist."""

    def prepare(self) -> None:
        super().prepare()
        raise HTTPError(404, reason="There is no such page")
