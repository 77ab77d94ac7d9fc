"""What a matcher is told of all texts before the first of them is matched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from kragx.data import NO_CORPUS, Corpus, Query, Retrieved, Run
from kragx.data.block import NO_TEXT, Block, Entries
from kragx.errors import DataError
from kragx.evaluation.inputs import Source
from kragx.matchers import MatchItem
from kragx.matchers.vocabulary import LOOKED_AT, Gathering, Vocabulary

_Pair = tuple[Query, Retrieved | None]

_AT_ONCE = 2048  # questions whose texts are counted together


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
    ahead = source.ahead(LOOKED_AT, keep=keep)
    pairs = (stretch if isinstance(stretch, Block) else stretch[1:] for stretch in ahead)
    stream = iter(texts.filled(pairs))
    waiting: list[_Pair] = []
    with suppress(DataError):
        for stretch in stream:
            if isinstance(stretch, Block):
                n = _add_block(gathering, stretch, n)
                continue
            waiting.append(stretch)
            if len(waiting) == _AT_ONCE:
                n = _add(gathering, waiting, n)
                waiting.clear()
    _add(gathering, waiting, n)
    return gathering.vocabulary


def vocabulary_of_runs(
    dataset: Iterable[Query], runs: Iterable[Run], corpus: Corpus = NO_CORPUS
) -> Vocabulary:
    """The same of several runs over one gold set: a pair scores alike in all of them."""
    gathering, queries = Gathering(), [*dataset]
    _add(gathering, _filled(corpus, ((query, None) for query in queries)), 0)
    for run in runs:
        answers = ((query, run.results.get(query.id)) for query in queries[:LOOKED_AT])
        _add_docs(gathering, _filled(corpus, answers))
    return gathering.vocabulary


def vocabulary_of_items(items: Iterable[MatchItem]) -> Vocabulary:
    """The same of questions with their documents."""
    gathering = Gathering()
    _add(gathering, [(item.query, Retrieved(item.docs)) for item in items], 0)
    return gathering.vocabulary


def _filled(corpus: Corpus, pairs: Iterable[_Pair]) -> list[_Pair]:
    return [pair for pair in corpus.filled(pairs) if not isinstance(pair, Block)]


def _add(gathering: Gathering, pairs: Sequence[_Pair], n: int) -> int:
    """Add some questions, behind n that were there before; how many there are then."""
    first = max(0, LOOKED_AT - n)
    _add_docs(gathering, pairs[:first])  # the longer ones first: others have their words
    for of_script, part in ((True, pairs[:first]), (False, pairs[first:])):
        items = [gold for query, _ in part for gold in query.gold]
        texts = [gold.text for gold in items]
        texts += [doc.text for gold in items for doc in gold.alternatives]
        gathering.add_golds(filter(None, texts), of_script=of_script)
    return n + len(pairs)


def _add_docs(gathering: Gathering, pairs: Sequence[_Pair]) -> None:
    texts = [doc.text for _, retrieved in pairs if retrieved for doc in retrieved.documents]
    gathering.add_docs(filter(None, texts))


def _add_block(gathering: Gathering, block: Block, n: int) -> int:
    """The same of a block."""
    first = min(max(0, LOOKED_AT - n), len(block))
    gathering.add_docs(filter(None, _texts(block.docs, first)))
    golds = [*_texts(block.golds, len(block))]
    n_first = int(block.golds.texts.n_texts[:first].sum())
    gathering.add_golds(filter(None, golds[:n_first]), of_script=True)
    gathering.add_golds(filter(None, golds[n_first:]), of_script=False)
    for others in block.golds.alternatives or ():
        gathering.add_golds((doc.text for doc in others if doc.text), of_script=False)
    return n + len(block)


def _texts(entries: Entries, n: int) -> Iterator[str | None]:
    """The text of each entry of the first n questions."""
    known = entries.texts.known
    numbers = entries.texts.numbers[: int(entries.texts.n_texts[:n].sum())].tolist()
    return (None if number == NO_TEXT else known[number] for number in numbers)
