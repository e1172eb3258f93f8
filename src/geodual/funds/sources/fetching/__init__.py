"""Fetch real fund data through akshare, so that an interrupted download can be resumed."""
