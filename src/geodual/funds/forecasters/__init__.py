"""Forecasters: what turns what is known on a day into one forecast per fund."""
