"""Spans: which parts of a gold text stand in what was retrieved."""
