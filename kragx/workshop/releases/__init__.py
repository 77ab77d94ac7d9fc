"""Releases: what is ready becomes a gold file that never changes, with what is known of it."""
