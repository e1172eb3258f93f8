"""Shared by all metric learners: the learned map, checks of input, and linear algebra."""
