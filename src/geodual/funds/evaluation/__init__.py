"""What decisions earned: the ledger, performance measures, statistics and tables."""
