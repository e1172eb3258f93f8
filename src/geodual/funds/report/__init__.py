"""The report of a fund study: one HTML file that works from disk."""
