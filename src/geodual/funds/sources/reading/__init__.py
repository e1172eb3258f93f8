"""Read NAV tables from files: recognise the layout, parse, validate and inspect."""
