"""Tests that drive Chromium."""
