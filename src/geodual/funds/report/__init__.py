"""The report of a fund study: one HTML file that works from disk."""

from .render import render_report, render_selection, write_report, write_selection

__all__ = ["render_report", "render_selection", "write_report", "write_selection"]
