"""NAV tables in files: recognised, parsed, validated and inspected."""
