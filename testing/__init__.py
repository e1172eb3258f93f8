"""Problems with known answers, and checks of answers: shared by tests, fuzzing and benchmarks."""
