"""Benchmarks: problems with known answers, and comparisons of speed and accuracy with other libraries."""
