"""Releases of a gold set."""
