"""Tests of aligned runs, of what is read of a text, and of what is made of both."""
