"""The objective of LMNN."""
