"""What a metric is learned from: terms with a value, derivatives and a dual bound."""
