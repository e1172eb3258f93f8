"""Decisions: what is known on a day, the metric learned from it, and the forecasts made with it."""
