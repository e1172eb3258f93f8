"""How fits grow with samples, features, threads and workers: ``python -m benchmarks scale``."""
