"""Problems with known solutions, and checks of solutions, for tests, fuzzing and benchmarks."""
