"""Studies from end to end: backtest, selection, notes for the reader, and the run folder."""
