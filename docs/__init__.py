"""The documentation, and the scripts that draw its pictures."""
