"""Retrievers that are servers and programs."""
