"""Calibration: choose matcher, measure, tokenizer and threshold by agreement with labelled pairs.

| module        | what                                                    |
|---------------|---------------------------------------------------------|
| `model`       | what was chosen, and how every candidate did            |
| `trying`      | the candidates, and the scores that they give           |
| `pairs`       | from labels to pairs of a document and a gold item      |
| `choosing`    | folds, thresholds, ties                                 |
| `calibrating` | `calibrate`                                             |
"""

from kragx.agreement.calibration.calibrating import FOLDS, calibrate
from kragx.agreement.calibration.model import By, Calibration, Candidate, Estimate
from kragx.agreement.calibration.trying import TOKENIZERS, candidates

__all__ = [
    "FOLDS",
    "TOKENIZERS",
    "By",
    "Calibration",
    "Candidate",
    "Estimate",
    "calibrate",
    "candidates",
]
