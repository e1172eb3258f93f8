"""Pairs of samples: which pairs count, the loss of each, and sums over all of them."""
