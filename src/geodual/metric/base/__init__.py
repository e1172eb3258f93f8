"""What all metric learners share: the learned map, checks of input, and small linear algebra."""
