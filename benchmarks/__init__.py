"""Benchmark problems with known answers, and side-by-side comparisons with pymanopt."""
