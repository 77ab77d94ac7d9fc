"""Tests of what a match is: matchers, tokenizers and how they are named."""
