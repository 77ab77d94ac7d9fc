"""Can the judge be trusted: agreement with people, corrected metrics, gullibility.

    from kragx.agreement import agree

    agree("human.qrels", "judge.qrels").print()

See docs/agreement.md.
"""

from __future__ import annotations

from kragx.agreement.compare import Agreement, agree
from kragx.agreement.labels import Labels, Scale, read_labels

__all__ = ["Agreement", "Labels", "Scale", "agree", "read_labels"]
