"""What decisions were worth: ledger, performance, inference, periods."""
