"""The command line: ``geodual --help`` lists the commands."""

from .main import app, main

__all__ = ["app", "main"]
