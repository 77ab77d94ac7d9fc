"""Matchers decide whether a retrieved document matches a gold item.

| name                         | a match is                                                       |
|------------------------------|------------------------------------------------------------------|
| `id`                         | equal ids                                                        |
| `exact`                      | equal texts after normalisation                                  |
| `text`                       | the document contains the gold text                              |
| `contains`                   | either contains the other                                        |
| `rouge1`, `rouge2`, `rougeL` | ROUGE at or above a threshold (`measure`: fmeasure by default)   |
| `overlap`                    | rouge2, measure overlap, threshold .5: for chunks of other sizes |
| `span`                       | aligned runs cover a share of the chunk or of the gold text      |
| `embedding`                  | cosine similarity of LangChain embeddings, from a threshold on   |
| `llm`                        | an LLM judge's grade at or above a threshold (docs/judging.md)   |

Combinations: ``{any: [...]}``, ``{all: [...]}`` and ``{cascade: [{method: overlap, accept: 0.8,
reject: 0.2}, {method: llm}]}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from kragx import plugins
from kragx.data.tokenizers import Tokenizer
from kragx.data.tokenizers import describe as describe_tokenizer
from kragx.errors import UsageError, nearest
from kragx.matchers.base import Matcher, MatchItem, MatchWarning, Target
from kragx.matchers.combine import KINDS, CombinedMatcher, combination_label, combined
from kragx.matchers.containment import ContainsMatcher, TextMatcher
from kragx.matchers.embedding import EmbeddingMatcher
from kragx.matchers.equality import ExactMatcher, IdMatcher
from kragx.matchers.judge import JudgeMatcher, PoolMatcher
from kragx.matchers.rouge import RougeMatcher, check_threshold
from kragx.matchers.span import SpanMatcher

__all__ = [
    "METHODS",
    "CombinedMatcher",
    "ContainsMatcher",
    "EmbeddingMatcher",
    "ExactMatcher",
    "IdMatcher",
    "JudgeMatcher",
    "MatchItem",
    "MatchWarning",
    "Matcher",
    "PoolMatcher",
    "RougeMatcher",
    "SpanMatcher",
    "Target",
    "TextMatcher",
    "asks",
    "check_threshold",
    "describe",
    "judge_of",
    "label",
    "matcher",
    "needed",
]

METHODS: Mapping[str, Callable[..., Matcher]] = {
    "id": IdMatcher,
    "exact": ExactMatcher,
    "text": TextMatcher,
    "contains": ContainsMatcher,
    "rouge1": partial(RougeMatcher, method="rouge1"),
    "rouge2": partial(RougeMatcher, method="rouge2"),
    "rougeL": partial(RougeMatcher, method="rougeL"),
    "overlap": partial(RougeMatcher, method="rouge2", measure="overlap"),
    "span": SpanMatcher,
    "embedding": EmbeddingMatcher,
    "llm": JudgeMatcher,
}
"""Every built-in match method and what makes its matcher."""


def matcher(spec: object, defaults: Mapping[str, Any] = MappingProxyType({})) -> Matcher:
    """The matcher that a name, a mapping, an import path or a matcher stands for.

    `defaults` are options that a built-in method gets where it has them and the spec does not
    name them.

    >>> matcher("overlap")
    RougeMatcher(method='rouge2', measure='overlap', threshold=0.5, tokenizer=UnicodeTokenizer())
    >>> matcher({"method": "id", "id_key": "metadata.parent_id"})
    IdMatcher(id_key='metadata.parent_id', gold_id_key=None)

    Raises:
        UsageError: there is no such method, or it does not take these options.
    """
    match spec:
        case str():
            return _named(spec, {}, defaults)
        case Mapping():
            if any(kind in spec for kind in KINDS):
                return combined(spec, lambda member: matcher(member, defaults))
            options = {str(key): value for key, value in spec.items()}
            method = options.pop("method", None)
            if not isinstance(method, str):
                raise UsageError(
                    f"match: {dict(spec)!r} has no 'method'; "
                    "write for example {method: rouge2, threshold: 0.6}"
                )
            return _named(method, options, defaults)
        case Matcher() if not isinstance(spec, type):
            return spec
    raise UsageError(
        f"match: {spec!r} is not a matcher; pass one of {', '.join(METHODS)}, a mapping with "
        "'method', an import path 'package.module:name', or an object with threshold and scores"
    )


def label(spec: object) -> str:
    """What a report calls the matcher of a spec: the method as the user named it."""
    if isinstance(spec, Mapping):
        if any(kind in spec for kind in KINDS):
            return combination_label(spec, label)
        return str(spec.get("method"))
    return spec if isinstance(spec, str) else str(describe(matcher(spec))["method"])


def judge_of(chosen: Matcher) -> JudgeMatcher | None:
    """The judge in a matcher or combination; None if no LLM is asked."""
    if isinstance(chosen, PoolMatcher):
        return chosen.judge
    if isinstance(chosen, CombinedMatcher):
        return chosen.judge
    return chosen if isinstance(chosen, JudgeMatcher) else None


def needed(method: str) -> tuple[str, ...]:
    """The options without which a built-in method makes no matcher."""
    return getattr(_kind(method), "needs", ())


def asks(method: str) -> bool:
    """Whether a built-in method asks a model or service, so that it is never used unasked."""
    return bool(getattr(_kind(method), "asks", False))


def _kind(method: str) -> Any:
    factory = METHODS[method]
    return factory.func if isinstance(factory, partial) else factory


def option_names(method: str) -> tuple[str, ...]:
    """The options that a built-in method takes."""
    factory, kind = METHODS[method], _kind(method)
    fixed = factory.keywords if isinstance(factory, partial) else {}
    assert is_dataclass(kind)
    return tuple(field.name for field in fields(kind) if field.name not in (*fixed, "pool"))


def _named(method: str, options: dict[str, Any], defaults: Mapping[str, Any]) -> Matcher:
    if ":" in method:
        unknown = [name for name in options if name != "args"]
        if unknown:
            raise UsageError(
                f"match.{unknown[0]}: unknown option; what {method!r} takes belongs under 'args'"
            )
        args = options.get("args")
        if args is not None and not isinstance(args, Mapping):
            raise UsageError(f"match.args: a mapping of arguments is expected, not {args!r}")
        return _check(plugins.build(method, args), method)
    if method not in METHODS:
        raise UsageError(f"match: unknown method {method!r}; {nearest(method, METHODS)}")
    valid = option_names(method)
    for name in options:
        if name not in valid:
            if name == "threshold":
                raise UsageError(
                    f"match.threshold: {method!r} decides yes or no and has no threshold; "
                    "remove it, or use rouge1, rouge2, rougeL, overlap or span"
                )
            raise UsageError(f"match.{name}: {method!r} has no such option; {nearest(name, valid)}")
    taken = {name: value for name, value in defaults.items() if name in valid}
    return METHODS[method](**taken | options)


def _check(value: object, where: str) -> Matcher:
    if isinstance(value, Matcher) and not isinstance(value, type):
        return value
    raise UsageError(f"match: {where} is not a matcher; it needs 'threshold' and 'scores'")


def describe(chosen: Matcher) -> dict[str, Any]:
    """What a result records of a matcher: its method and every option, the tokenizer's version."""
    kind = type(chosen)
    if isinstance(chosen, (JudgeMatcher, PoolMatcher, CombinedMatcher, EmbeddingMatcher)):
        return chosen.described()
    described: dict[str, Any] = {
        "method": getattr(chosen, "name", f"{kind.__module__}:{kind.__qualname__}")
    }
    for option, value in plugins.options(chosen).items():
        described[option] = describe_tokenizer(value) if isinstance(value, Tokenizer) else value
    if kind not in METHODS.values():  # a user's own; of ours, those that decide yes or no have none
        described.setdefault("threshold", chosen.threshold)
    return described
