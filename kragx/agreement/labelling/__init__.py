"""Labelling in a terminal, blind to the judge: which pairs, from where, and the session itself.

| module    | what                                                                                 |
|-----------|--------------------------------------------------------------------------------------|
| `sample`  | the pairs of a run or a judgement store, which are drawn, the file that keeps them   |
| `session` | one pair after the other, by single keys, each label on disk before the next pair    |
"""

from kragx.agreement.labelling.sample import (
    PairToLabel,
    Sample,
    draw,
    from_run,
    from_store,
    read_sample,
    sample_path,
    with_grades,
)
from kragx.agreement.labelling.session import (
    LabelFile,
    Labelled,
    keyboard,
    keys_of,
    label,
    progress,
)

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
