"""The metric learners: parameters, documentation, and how each builds its program."""
