"""What all metric learners share: the learnt map, checks of input, and small linear algebra."""
