"""Which samples and pairs count, and the bounds on their distances."""
