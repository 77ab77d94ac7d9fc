"""Calibration: choose matcher, measure, tokenizer and threshold by agreement with labelled pairs.

| module        | what                                                              |
|---------------|-------------------------------------------------------------------|
| `calibration` | `calibrate`, and what it gives                                    |
| `trials`      | from labels to pairs of a document and a gold item; the           |
|               | candidates, and the scores that they give them                    |
| `choice`      | folds, thresholds, ties: how each candidate did, and which one    |
"""

from kragx.agreement.calibration.calibration import FOLDS, Calibration, calibrate
from kragx.agreement.calibration.choice import By, Candidate
from kragx.agreement.calibration.trials import TOKENIZERS, candidates

__all__ = [
    "FOLDS",
    "TOKENIZERS",
    "By",
    "Calibration",
    "Candidate",
    "calibrate",
    "candidates",
]
