"""The LogDet program: ½ D(W, W₀) plus a term, solved with a certificate."""
