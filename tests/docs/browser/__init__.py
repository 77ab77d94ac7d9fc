"""The documentation site in Chromium."""
