"""Real fund data through akshare, fetched so that nothing is lost."""
