"""Comparisons, slices, changes, gates and reports of them."""
