"""Factors: what a factor is, the factors of the paper, and their computation."""
