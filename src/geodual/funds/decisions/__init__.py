"""Decisions: what is known on a day, the metric learnt from it, and the forecasts made with it."""
