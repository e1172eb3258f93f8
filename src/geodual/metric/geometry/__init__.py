"""Distances of pairs, and sums over pairs: listed, all in tiles, or on a cluster."""
