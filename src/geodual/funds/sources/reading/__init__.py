"""Read NAV tables from files: recognize the layout, parse, validate and inspect."""
