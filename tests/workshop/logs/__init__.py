"""Tests of `kragx.workshop.logs`."""
