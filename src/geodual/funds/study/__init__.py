"""A study from end to end: backtest, selection, and the run folder."""
