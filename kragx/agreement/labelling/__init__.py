"""Labelling in a terminal, blind to the judge: which pairs, from where, and the session itself.

| module    | what                                                        |
|-----------|-------------------------------------------------------------|
| `sources` | the pairs of a run or a judgement store                     |
| `sample`  | which of them are drawn, and the file that keeps the sample |
| `session` | one pair after the other, by single keys                    |
| `file`    | each label on disk before the next pair                     |
| `keys`    | single keys from a terminal                                 |
"""

from kragx.agreement.labelling.file import LabelFile
from kragx.agreement.labelling.keys import keyboard
from kragx.agreement.labelling.sample import (
    PairToLabel,
    Sample,
    draw,
    read_sample,
    sample_path,
)
from kragx.agreement.labelling.session import Labelled, keys_of, label, progress
from kragx.agreement.labelling.sources import from_run, from_store, with_grades

__all__ = [
    "LabelFile",
    "Labelled",
    "PairToLabel",
    "Sample",
    "draw",
    "from_run",
    "from_store",
    "keyboard",
    "keys_of",
    "label",
    "progress",
    "read_sample",
    "sample_path",
    "with_grades",
]
