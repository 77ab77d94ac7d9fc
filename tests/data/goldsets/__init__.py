"""Tests of gold sets: formats, their mistakes, validation."""
