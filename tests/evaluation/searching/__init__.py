"""Evaluating somebody who searches several times."""
