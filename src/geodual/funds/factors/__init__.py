"""Factors: what they are, those of the paper, and how they are computed."""
