"""How many examples Hypothesis draws: a part of them by default, all where `.ci/run` is thorough.

No example has a deadline by the clock, which a busy machine would miss.
"""

from __future__ import annotations

import os

from hypothesis import settings

THOROUGH = "KRAGX_THOROUGH" in os.environ
USUAL = 100
"""What a test draws that names no number."""


def examples(count: int) -> settings:
    """`count` examples where the run is thorough, else a quarter of them, and at least 20."""
    return settings(max_examples=count if THOROUGH else max(20, count // 4), deadline=None)
