"""Every built-in match method, and what makes its matcher: a new one is a line here.

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
"""

from collections.abc import Callable, Mapping
from functools import partial

from kragx.matchers.base import BaseMatcher
from kragx.matchers.embedding import EmbeddingMatcher
from kragx.matchers.ids import IdMatcher
from kragx.matchers.judge import JudgeMatcher
from kragx.matchers.texts import ContainsMatcher, ExactMatcher, TextMatcher
from kragx.matchers.tokenwise import RougeMatcher, SpanMatcher

METHODS: Mapping[str, Callable[..., BaseMatcher]] = {
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
"""Every built-in match method and what makes its matcher; its options are the class's fields."""
