"""Matchers decide whether a retrieved document matches a gold item.

Every built-in method stands in `kragx.matchers.registry.METHODS`, the whole contract of a matcher
in `kragx.matchers.base`. Combinations: ``{any: [...]}``, ``{all: [...]}`` and ``{cascade: [{method:
overlap, accept: 0.8, reject: 0.2}, {method: llm}]}``.
"""

from kragx.matchers.base import (
    BaseMatcher,
    Matcher,
    Trace as Trace,
    adapted as adapted,
    check_threshold as check_threshold,
)
from kragx.matchers.combine import CombinedMatcher as CombinedMatcher, Step as Step
from kragx.matchers.embedding import EmbeddingMatcher
from kragx.matchers.ids import IdMatcher
from kragx.matchers.items import Diagnostic, Diagnostics, MatchItem, MatchWarning, Target
from kragx.matchers.judge import JudgeMatcher as JudgeMatcher
from kragx.matchers.registry import (
    METHODS,
    is_built_in as is_built_in,
    label as label,
    matcher,
    method_class as method_class,
    option_names as option_names,
    sources_of as sources_of,
)
from kragx.matchers.span import SpanMatcher
from kragx.matchers.texts import ContainsMatcher, ExactMatcher, RougeMatcher, TextMatcher

__all__ = [
    "METHODS",
    "BaseMatcher",
    "ContainsMatcher",
    "Diagnostic",
    "Diagnostics",
    "EmbeddingMatcher",
    "ExactMatcher",
    "IdMatcher",
    "MatchItem",
    "MatchWarning",
    "Matcher",
    "RougeMatcher",
    "SpanMatcher",
    "Target",
    "TextMatcher",
    "matcher",
]
