"""Tests of the command and of config files."""
