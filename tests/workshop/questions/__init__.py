"""Tests of how questions are made."""
