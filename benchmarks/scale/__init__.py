"""Scaling of fits with samples, features, threads and workers: ``python -m benchmarks scale``."""
