"""The metric learners: their parameters, documentation, and programs."""
