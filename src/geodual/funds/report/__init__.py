"""The report of a fund study: one HTML file that works from disk."""

from .render import render_report, write_report
from .selection_page import render_selection, write_selection

__all__ = ["render_report", "render_selection", "write_report", "write_selection"]
