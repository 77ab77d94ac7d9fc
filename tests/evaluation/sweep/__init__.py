"""Sweeps, calibration and explanations."""
