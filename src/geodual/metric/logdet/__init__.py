"""The LogDet program behind RPDML and ITML: bounds, prior, solver, certificate and the paper's updates."""
