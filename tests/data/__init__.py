"""Tests of what goes in and out: documents, gold sets, runs, files and retrievers."""
