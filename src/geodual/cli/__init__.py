"""The command line: ``geodual --help`` lists the commands."""

from geodual.extras import require_extra

require_extra("funds", "typer", what="The command needs typer")

from .main import app, main  # noqa: E402 - after the check

__all__ = ["app", "main"]
