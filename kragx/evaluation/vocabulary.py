"""What a matcher is told of all texts before the first of them is matched."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from kragx.data import NO_CORPUS, Corpus, Query, Retrieved, Run
from kragx.data.batch import batched
from kragx.evaluation.inputs import Source
from kragx.ground.errors import DataError
from kragx.matchers import MatchItem
from kragx.matchers.vocabulary import LOOKED_AT, Gathering, Vocabulary, texts_of


def vocabulary_of(source: Source, *, keep: bool = False) -> Vocabulary:
    """The words of all gold of a source, and of the documents of its first questions.

    Where the source has mistakes it is that of what stands before one: whoever reads it afterwards
    raises the first.

    Args:
        source: will pass afterwards.
        keep: as of `Source.ahead`.
    """
    gathering = Gathering()
    # Texts that are lacking are counted where the source passes, not at the first look.
    texts = replace(source.texts, needed_by=None)
    with suppress(DataError):
        for batch in texts.filled(source.ahead(LOOKED_AT, keep=keep)):
            gathering.add_batch(batch)
    return gathering.vocabulary


def vocabulary_of_runs(
    dataset: Iterable[Query], runs: Iterable[Run], corpus: Corpus = NO_CORPUS
) -> Vocabulary:
    """The same of several runs over one gold set: a pair scores alike in all of them."""
    gathering, queries = Gathering(), [*dataset]
    for batch in corpus.filled(batched((None, query, None) for query in queries)):
        gathering.add_batch(batch)
    for run in runs:
        answers = ((None, query, run.results.get(query.id)) for query in queries[:LOOKED_AT])
        for batch in corpus.filled(batched(answers)):
            gathering.add_docs(texts_of(batch.docs))
    return gathering.vocabulary


def vocabulary_of_items(items: Iterable[MatchItem]) -> Vocabulary:
    """The same of questions with their documents."""
    gathering = Gathering()
    for batch in batched((None, item.query, Retrieved(item.docs)) for item in items):
        gathering.add_batch(batch)
    return gathering.vocabulary
