"""Benchmarks: problems with known solutions, and comparisons of speed and accuracy with other libraries."""
