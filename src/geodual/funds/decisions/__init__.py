"""Decisions: what is known on a day, the metric learnt from it, the forecast made with it."""
