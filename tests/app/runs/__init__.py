"""Tests of runs: how retrievers are asked, interrupted runs, result folders."""
