"""Grids, and what they come to."""
