"""Tests of the workshop: a gold set's life."""
