"""Tests of what kragx comes with: its data, its imports, its docstrings, its BM25 baseline."""
