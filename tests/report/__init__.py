"""Tests of reports: the HTML page, figures, CSV."""
