"""Matchers decide whether a retrieved document matches a gold item.

Every built-in method stands in `kragx.matchers.registry.METHODS`, the whole contract of a matcher
in `kragx.matchers.base`. Combinations: ``{any: [...]}``, ``{all: [...]}`` and ``{cascade: [{method:
overlap, accept: 0.8, reject: 0.2}, {method: llm}]}``.
"""

from kragx.matchers.base import (
    BaseMatcher,
    Heard,
    Matcher,
    MatchItem,
    MatchWarning,
    Notes,
    Place,
    Target,
    Trace,
    adapted,
    check_threshold,
)
from kragx.matchers.combine import CombinedMatcher, Step
from kragx.matchers.embedding import EmbeddingMatcher
from kragx.matchers.ids import IdMatcher
from kragx.matchers.judge import JudgeMatcher, PoolMatcher
from kragx.matchers.recorded import RecordedMatcher
from kragx.matchers.registry import (
    METHODS,
    label,
    matcher,
    method_class,
    option_names,
    standing_in,
)
from kragx.matchers.rouge import RougeMatcher
from kragx.matchers.span import SpanMatcher
from kragx.matchers.texts import ContainsMatcher, ExactMatcher, TextMatcher

__all__ = [
    "METHODS",
    "BaseMatcher",
    "CombinedMatcher",
    "ContainsMatcher",
    "EmbeddingMatcher",
    "ExactMatcher",
    "Heard",
    "IdMatcher",
    "JudgeMatcher",
    "MatchItem",
    "MatchWarning",
    "Matcher",
    "Notes",
    "Place",
    "PoolMatcher",
    "RecordedMatcher",
    "RougeMatcher",
    "SpanMatcher",
    "Step",
    "Target",
    "TextMatcher",
    "Trace",
    "adapted",
    "check_threshold",
    "label",
    "matcher",
    "method_class",
    "option_names",
    "standing_in",
]
