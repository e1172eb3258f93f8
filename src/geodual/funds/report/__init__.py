"""The report of a fund study: one HTML file that works from disk."""

from .picks_page import render_selection, write_selection
from .render import add_link_to_picks, render_report, write_report

__all__ = ["add_link_to_picks", "render_report", "render_selection", "write_report", "write_selection"]
