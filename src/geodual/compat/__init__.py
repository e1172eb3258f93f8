"""Other libraries' names for our learners, so that a program changes over by changing an import."""
