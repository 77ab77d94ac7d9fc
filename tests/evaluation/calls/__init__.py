"""Calls that become searches."""
