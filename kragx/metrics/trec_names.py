"""trec_eval's own measure names, accepted for what they mean in the profile trec."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WHOLE = {
    "map": "map",
    "ndcg": "ndcg",
    "recip_rank": "mrr",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f1(over=retrieved)",
}
_CUT = {
    "P": "precision",
    "recall": "recall",
    "map_cut": "map",
    "ndcg_cut": "ndcg",
    "success": "hit_rate",
}
_PATTERN = re.compile(rf"({'|'.join(_CUT)})[_.](\d+)")

NAMES = (*_WHOLE, *(f"{name}_<k>" for name in _CUT))
"""Every name that is accepted."""


def translated(text: str) -> str:
    """A metric string in kragx's words: ``ndcg_cut_10`` is ``ndcg@10``; others are as they were."""
    found = _PATTERN.fullmatch(text.strip())
    if found is not None:
        return f"{_CUT[found[1]]}@{found[2]}"
    return _WHOLE.get(text.strip(), text)


def trec_only(texts: Iterable[object]) -> list[str]:
    """The metric strings that only trec_eval uses (``map`` and ``ndcg`` are kragx's as well)."""
    return [
        text
        for text in texts
        if isinstance(text, str) and translated(text) not in (text, text.strip())
    ]
