"""What a matcher is told of all texts before the first of them is matched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from kragx.data import NO_CORPUS, Corpus, Query, Retrieved, Run
from kragx.data.batch import NO_TEXT, Batch, Entries, batched
from kragx.data.stretches import distinct
from kragx.errors import DataError
from kragx.evaluation.inputs import Source
from kragx.matchers import MatchItem
from kragx.matchers.vocabulary import LOOKED_AT, Gathering, Vocabulary


def vocabulary_of(source: Source, *, keep: bool = False) -> Vocabulary:
    """The words of all gold of a source, and of the documents of its first questions.

    Where the source has mistakes it is that of what stands before one: whoever reads it afterwards
    raises the first.

    Args:
        source: will pass afterwards.
        keep: as of `Source.ahead`.
    """
    gathering, n = Gathering(), 0
    texts = replace(source.texts, needed_by=None)
    with suppress(DataError):
        for batch in texts.filled(source.ahead(LOOKED_AT, keep=keep)):
            n = _add(gathering, batch, n)
    return gathering.vocabulary


def vocabulary_of_runs(
    dataset: Iterable[Query], runs: Iterable[Run], corpus: Corpus = NO_CORPUS
) -> Vocabulary:
    """The same of several runs over one gold set: a pair scores alike in all of them."""
    gathering, queries, n = Gathering(), [*dataset], 0
    for batch in corpus.filled(batched((None, query, None) for query in queries)):
        n = _add(gathering, batch, n)
    for run in runs:
        answers = ((None, query, run.results.get(query.id)) for query in queries[:LOOKED_AT])
        for batch in corpus.filled(batched(answers)):
            gathering.add_docs(_texts(batch.docs, len(batch)))
    return gathering.vocabulary


def vocabulary_of_items(items: Iterable[MatchItem]) -> Vocabulary:
    """The same of questions with their documents."""
    gathering, n = Gathering(), 0
    for batch in batched((None, item.query, Retrieved(item.docs)) for item in items):
        n = _add(gathering, batch, n)
    return gathering.vocabulary


def _add(gathering: Gathering, batch: Batch, n: int) -> int:
    """Add some questions, behind n that were there before; how many there are then."""
    first = min(max(0, LOOKED_AT - n), len(batch))
    # The longer texts first: others have their words.
    gathering.add_docs(_texts(batch.docs, first))
    n_golds = int(batch.golds.texts.n_texts[:first].sum())
    alternatives = batch.golds.alternatives or ()
    for of_script, part in ((True, slice(n_golds)), (False, slice(n_golds, None))):
        # Each as often as it stands: the script is that of what is asked for.
        numbers, distinct_texts = batch.golds.texts.numbers[part].tolist(), batch.golds.texts.known
        texts = [distinct_texts[number] for number in numbers if number != NO_TEXT]
        texts += [doc.text for docs in alternatives[part] for doc in docs if doc.text]
        gathering.add_golds(filter(None, texts), of_script=of_script)
    return n + len(batch)


def _texts(entries: Entries, n: int) -> Iterator[str]:
    """The distinct texts of the entries of the first n questions."""
    distinct_texts = entries.texts.known
    numbers = entries.texts.numbers[: int(entries.texts.n_texts[:n].sum())]
    return filter(
        None, (distinct_texts[number] for number in distinct(numbers).tolist() if number != NO_TEXT)
    )
