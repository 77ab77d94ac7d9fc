"""Tests of `kragx.adapters`."""
