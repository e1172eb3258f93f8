"""What a metric is learnt from: terms with a value, derivatives and a dual bound."""
