"""Matchers that turn texts into numbers, many queries at once, and compare these."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import chain, islice
from typing import Protocol, Self

import numpy as np

from kragx.data import TokenCorpus, Tokenizer
from kragx.data.phrases import is_short
from kragx.data.words import words
from kragx.errors import shorten
from kragx.matchers.base import BaseMatcher, MatchItem, MatchWarning, Notes
from kragx.metrics import Floats

# Queries whose texts are compared at once: enough for a tokenizer or a model that works in batches,
# few enough to hold in memory.
_BATCH = 256


GOLD_LOST, DOCS_LOST = "n_queries_gold_unmatchable", "n_queries_docs_unmatchable"
"""Counts of questions with a gold item, and with a retrieved text, that can match nothing."""
SHORT_GOLD = "n_queries_short_gold"
"""Counts questions with gold that is looked for as a phrase because it is short."""
ALL_LOST = "n_queries_unmatchable"
"""Counts questions none of whose gold can match anything."""


class Watcher(Protocol):
    """Sees each question's scores on the way, and warns at the end of what they mean."""

    def see(self, query_id: str, docs: Sequence[str], golds: Sequence[str], scores: Floats) -> None:
        """Look at a question's n documents and m gold texts, as read, and their scores, n x m."""
        ...

    def warn(self) -> None:
        """Warn, if there is something to warn of."""
        ...


class BatchMatcher(BaseMatcher):
    """Turns texts into numbers, a batch of queries at a time, and compares these.

    A subclass makes the numbers in `prepare` and says in `compare` what they score. Questions with
    gold that can match nothing are counted, and warned of once with what would work; so are those
    with such retrieved texts.
    """

    def read(self, text: str) -> str:
        """A text as it is compared."""
        return text

    def prepare(self, texts: Sequence[str]) -> None:
        """Make numbers of the texts of a batch."""
        raise NotImplementedError

    def useless(self, texts: Iterable[str], *, gold: bool) -> Iterable[str]:
        """Those of some texts, prepared before, that can match nothing as gold or as documents."""
        raise NotImplementedError

    def as_phrases(self, golds: Iterable[str]) -> Iterable[str]:
        """Those of some gold texts, prepared before, that are looked for as phrases."""
        return ()

    def compare(
        self, docs: Sequence[Sequence[str]], golds: Sequence[Sequence[str]]
    ) -> Iterator[Floats]:
        """Yield for each query of a batch the scores of its documents (down) and gold texts."""
        raise NotImplementedError

    def watchers(self) -> Sequence[Watcher]:
        """What looks at the scores of an evaluation."""
        return ()

    def remedy(self, text: str) -> str:
        """Why a gold text can match nothing, and what would match it."""
        raise NotImplementedError

    def scores(self, items: Iterable[MatchItem], notes: Notes) -> Iterator[Floats]:
        """Yield n x t scores in [0, 1]; 0 for a target without text."""
        stream = iter(items)
        watchers = self.watchers()
        lost: dict[str, tuple[str, str]] = {}  # the first question and text of each count
        while batch := list(islice(stream, _BATCH)):
            own_docs = [item.doc_texts(self.name) for item in batch]
            targets = [item.target_texts(self.name) for item in batch]
            # A text that several queries have is read once.
            distinct = dict.fromkeys(chain(*own_docs, *(of_query.values() for of_query in targets)))
            read = {text: self.read(text) for text in distinct}
            docs = [[read[text] for text in of_query] for of_query in own_docs]
            golds = [[read[text] for text in of_query.values()] for of_query in targets]
            self.prepare(list(read.values()))
            special = {
                DOCS_LOST: set(self.useless(chain.from_iterable(docs), gold=False)),
                GOLD_LOST: set(self.useless(chain.from_iterable(golds), gold=True)),
                SHORT_GOLD: set(self.as_phrases(chain.from_iterable(golds))),
            }
            is_special = any(special.values())  # hardly ever
            for item, own, columns, of_docs, of_golds, scored in zip(
                batch, own_docs, targets, docs, golds, self.compare(docs, golds)
            ):
                candidates = {
                    DOCS_LOST: zip(of_docs, own),
                    GOLD_LOST: _unsaved(item, columns, of_golds, special[GOLD_LOST]),
                    SHORT_GOLD: zip(of_golds, columns.values()),
                }
                for count, texts in candidates.items() if is_special else ():
                    text = next((own for as_read, own in texts if as_read in special[count]), None)
                    if text is not None:
                        notes[count] += 1
                        lost.setdefault(count, (item.query.id, text))
                useless = special[GOLD_LOST]
                if useless and of_golds and useless.issuperset(of_golds):
                    notes[ALL_LOST] += 1
                scores = scored
                if len(columns) < len(item.targets):
                    scores = np.zeros(item.shape)
                    scores[:, list(columns)] = scored
                for watcher in watchers:
                    watcher.see(item.query.id, of_docs, of_golds, scored)
                yield scores
        for watcher in watchers:
            watcher.warn()
        for count, what in ((DOCS_LOST, "retrieved texts"), (GOLD_LOST, "gold")):
            if count not in lost:
                continue
            query_id, text = lost[count]
            problem = (
                f"{what} that can match nothing by {self.name!r} in {notes[count]} "
                f"question{'s' * (notes[count] > 1)}, for example {shorten(text, 42)} in "
                f"{query_id!r}"
            )
            if count == GOLD_LOST:
                problem = notes.unmatchable = f"{problem}: {self.remedy(text)}"
            warnings.warn(problem, MatchWarning, stacklevel=2)


def _unsaved(
    item: MatchItem, columns: Mapping[int, str], golds: Sequence[str], useless: set[str]
) -> Iterator[tuple[str, str]]:
    """The texts of gold items that no alternative saves, each as it is read and as it is."""
    if not useless:
        return
    positions = [item.targets[column].gold for column in columns]
    saved = {position for position, text in zip(positions, golds) if text not in useless}
    texts = zip(golds, columns.values())
    yield from (pair for position, pair in zip(positions, texts) if position not in saved)


class TokenMatcher(BatchMatcher):
    """Compares the tokens of documents and gold texts; each distinct text is tokenised once.

    A subclass says in `compare` what two lists of texts score. A text with fewer than
    `least_tokens` tokens matches nothing. One with an option `short` looks for gold of at most so
    many tokens as a phrase.
    """

    tokenizer: Tokenizer
    least_tokens: int = 1
    short: int = 0

    def remedy(self, text: str) -> str:
        """By what the text has: tokens but too few, none, markup alone, or nothing at all."""
        as_read = self.read(text)
        (tokens,) = self.tokenizer.tokens([as_read])
        if any(tokens):
            return (
                "it has too few tokens; use the default 'overlap' or 'phrase', which look for "
                "short gold as a phrase"
            )
        if words(as_read):
            name = getattr(self.tokenizer, "name", type(self.tokenizer).__name__)
            return f"the tokenizer {name!r} finds no token in it; use 'unicode'"
        if words(text):
            return "it is markup alone, which is left out; use 'text', which compares it as it is"
        if text.strip():
            return "it has neither letters nor digits; use 'text', which compares it as it is"
        return "it is empty; give it a text, or remove it"

    @cached_property
    def corpus(self) -> TokenCorpus:
        """The texts tokenised so far; kept, so that a second run of the same texts is free."""
        return TokenCorpus(self.tokenizer)

    def sharing(self, corpora: dict[Tokenizer, TokenCorpus]) -> Self:
        """This matcher with the corpus of another one that has the same tokenizer, if there is one.

        Several matchers side by side then tokenise each text once between them.
        """
        twin = copy(self)
        try:
            twin.__dict__["corpus"] = corpora.setdefault(self.tokenizer, self.corpus)
        except TypeError:  # a user's tokenizer that cannot be hashed has a corpus of its own
            return self
        return twin

    def prepare(self, texts: Sequence[str]) -> None:
        """Tokenise the texts."""
        self.corpus.add(texts)

    def useless(self, texts: Iterable[str], *, gold: bool) -> Iterable[str]:
        """Those with fewer than `least_tokens` tokens."""
        short = filter(self.corpus.short.__contains__, texts)
        return (text for text in short if len(self.corpus.of([text])[0]) < self.least_tokens)

    def is_phrase(self, gold: str) -> bool:
        """Whether a gold text that was tokenised is looked for as a phrase."""
        (tokens,) = self.corpus.of([gold])
        return is_short(tokens, self.corpus, self.short)

    def as_phrases(self, golds: Iterable[str]) -> Iterable[str]:
        """The short ones."""
        return filter(self.is_phrase, golds) if self.short else ()

    def remark(self, gold: str) -> str:
        """That gold is looked for as a phrase, if it is short."""
        as_read = self.read(gold)
        self.corpus.add([as_read])
        return "short gold, looked for as a phrase" if self.is_phrase(as_read) else ""
