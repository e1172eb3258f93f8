"""The 70 factors: their registry, windowed ones and recursive ones."""
