"""Terms to learn a metric from, with a value, derivatives and a dual bound."""
