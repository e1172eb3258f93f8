"""The objective of LMNN, and the search for near pairs of different classes."""
