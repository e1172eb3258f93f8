"""Mutation testing: small errors are put into a copy of the sources, and the tests have to notice them."""
