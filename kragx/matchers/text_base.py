"""Matchers that turn texts into numbers, many queries at once, and compare these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from kragx.data import TokenCorpus, Tokenizer
from kragx.data.amounts import RULES, in_figures
from kragx.data.batch import Batch
from kragx.data.entries import numbered
from kragx.data.lists import Forms, Lists, distinct, known_texts
from kragx.data.tokens import of_pairs
from kragx.data.words import words
from kragx.ground.errors import shorten
from kragx.ground.messages import Phrase
from kragx.ground.plugins import shown_name
from kragx.ground.printing import joined, phrase
from kragx.matchers.base import BaseMatcher, Numbers, Trace
from kragx.matchers.items import Targets, items_of
from kragx.matchers.notes import Finding, Notes
from kragx.metrics import Bools, Floats

GOLD_LOST, DOCS_LOST = "n_queries_gold_unmatchable", "n_queries_docs_unmatchable"
"""Counts of questions with a gold item, and with a retrieved text, that can match nothing."""
SHORT_GOLD = "n_queries_short_gold"
"""Counts questions with gold that is looked for as a phrase because it is short."""
ALL_LOST = "n_queries_unmatchable"
"""Counts questions none of whose gold can match anything."""


EMPTY = phrase("it is empty; give it a text, or remove it")
FEW = phrase(
    "it has too few tokens; use the default 'overlap' or 'phrase', which look for short gold as a "
    "phrase"
)
MARKUP = phrase("it is markup alone, which is left out; use 'text', which compares it as it is")
SIGNS = phrase("it has neither letters nor digits; use 'text', which compares it as it is")
NO_VECTOR = phrase("its vector is zero; give it a text that the model can read")


def _no_token(tokenizer: str) -> Phrase:
    return phrase("the tokenizer {name!r} finds no token in it; use 'unicode'", name=tokenizer)


@dataclass
class Unmatchable(Finding):
    """Questions with texts that can match nothing: how many, and the first of them.

    Attributes:
        example: the ``text`` in short and its ``query``; the ``matcher`` and its ``tokenizer``, if
            it has one; of gold the ``remedy``.
    """

    def problem(self) -> str:
        """How many there are, and what to do."""
        n, names = self.counts["queries"], self.example
        requirement = phrase(
            "gold that can match nothing by {matcher!r}"
            if "remedy" in names
            else "retrieved texts that can match nothing by {matcher!r}",
            matcher=names["matcher"],
        )
        example = phrase("{text} in {query!r}", text=names["text"], query=names["query"])
        problem = phrase(
            "{what} in 1 question, for example {example}"
            if n == 1
            else "{what} in {n} questions, for example {example}",
            what=requirement,
            n=n,
            example=example,
        )
        remedies = (EMPTY, FEW, MARKUP, SIGNS, NO_VECTOR, _no_token(names["tokenizer"]))
        return joined(": ", [problem, *(text for text in remedies if text == names.get("remedy"))])


class TextsMatcher(BaseMatcher):
    """Turns texts into numbers, a batch of queries at a time, and compares these.

    A subclass says in `compare` what they score. Questions with gold that can match nothing are
    counted, and warned of once with what would work; so are those with such retrieved texts.
    """

    def read(self, text: str) -> str:
        """A text as it is compared."""
        return text

    @cached_property
    def _forms(self) -> Forms:
        """Texts as they are compared."""
        return Forms(self.read)

    def numbered(self, *lists: Lists) -> Iterator[Lists]:
        """Lists of a batch as they are compared: the same of other texts."""
        forms = self._forms
        forms.make_room()
        numbers = [forms.of(texts.known, texts.numbers) for texts in lists]
        return (Lists(forms.texts, rows, texts.n_texts) for texts, rows in zip(lists, numbers))

    def useless(self, texts: Lists, *, gold: bool) -> Bools:
        """Which of some texts, numbered before, can match nothing as gold or as documents."""
        return np.zeros(len(texts.numbers), bool)

    def as_phrases(self, golds: Lists) -> Bools:
        """Which of some gold texts, numbered before, are looked for as phrases."""
        return np.zeros(len(golds.numbers), bool)

    def compare(self, docs: Lists, golds: Lists) -> Floats:
        """The scores of each query's documents (down) and gold texts, one behind the other."""
        raise NotImplementedError

    def corrected_for_siblings(
        self, docs: Lists, golds: Lists, scores: Floats, notes: Notes | None
    ) -> Floats:
        """The scores of `compare`, where other texts of the evaluation say more of a pair.

        What they say of the texts is noted, if there are notes.
        """
        return scores

    def remedy(self, text: str) -> str:
        """Why a gold text can match nothing, and what would match it."""
        raise NotImplementedError

    def score_batch(self, batch: Batch, notes: Notes, wanted: Bools) -> Trace:
        """The scores of all documents and gold texts of a batch; 0 for targets without text."""
        every = Targets.of(batch.golds)
        targets = with_texts(self, batch, every)
        docs, golds = self.numbered(batch.docs.texts, targets.entries.texts)
        self.note(batch, targets, docs, golds, notes)
        scores = self.corrected_for_siblings(docs, golds, self.compare(docs, golds), notes)
        if len(targets.gold) < len(every.gold):
            _, target = of_pairs(docs.n_texts, every.entries.texts.n_texts)
            of_compared, scores = scores, np.zeros(len(target))
            scores[(every.entries.texts.numbers >= 0)[target]] = of_compared
        return Trace(self, scores, wanted)

    def pair_scores(self, docs: Sequence[str], golds: Sequence[str]) -> Floats | None:
        """Those of a batch in which the pairs in a row with one gold text are a question."""
        if not len(docs):
            return np.empty(0)
        known_texts().make_room()
        first = [place for place, gold in enumerate(golds) if not place or gold != golds[place - 1]]
        questions = (
            numbered(docs, np.diff(first, append=len(docs)).tolist()),
            numbered([golds[place] for place in first], [1] * len(first)),
        )
        in_docs, in_golds = self.numbered(*questions)
        return self.corrected_for_siblings(in_docs, in_golds, self.compare(in_docs, in_golds), None)

    def note(self, batch: Batch, targets: Targets, docs: Lists, golds: Lists, notes: Notes) -> None:
        """Count the questions some of whose texts are special, for each of these things once.

        Args:
            batch: the questions.
            targets: those that are compared.
            docs: their documents as they are compared.
            golds: their gold texts as they are compared.
            notes: where they are counted.
        """
        useless = self.useless(golds, gold=True)
        n_useful = np.bincount(golds.of_text[~useless], minlength=len(golds))
        if n_lost := int(((n_useful == 0) & (golds.n_texts > 0)).sum()):
            notes[ALL_LOST] += n_lost
        useless &= ~np.isin(targets.gold, targets.gold[~useless])  # saved by an alternative
        special = {
            DOCS_LOST: (batch.docs.texts, self.useless(docs, gold=False)),
            GOLD_LOST: (targets.entries.texts, useless),
            SHORT_GOLD: (targets.entries.texts, self.as_phrases(golds)),
        }
        for count, (texts, is_special) in special.items():
            if not is_special.any():  # as a rule
                continue
            queries = distinct(texts.of_text[is_special])
            notes[count] += len(queries)
            if count == SHORT_GOLD:
                continue
            finding = notes.finding(self.settings, count, Unmatchable)
            finding.counts["queries"] += len(queries)
            text = texts.known[texts.numbers[is_special][0]]
            finding.example = finding.example or {
                "text": shorten(text, 42),
                "query": batch.query_ids[queries[0]],
                "matcher": self.name,
                "tokenizer": "" if self.tokenizer is None else shown_name(self.tokenizer),
                **({"remedy": str(self.remedy(text))} if count == GOLD_LOST else {}),
            }


def with_texts(matcher: BaseMatcher, batch: Batch, targets: Targets) -> Targets:
    """Those targets of a batch that have a text, for a matcher that compares texts.

    Raises:
        TextlessError: a document has none, or a gold item and all its alternatives have none.
    """
    has_text: Bools = targets.entries.texts.numbers >= 0
    n_golds = len(batch.golds.texts.numbers)
    n_with_text = np.bincount(targets.gold[has_text], minlength=n_golds)
    if not (batch.docs.have_texts and n_with_text.all()):
        items = items_of(batch)
        for item in items:
            # All gold before any document: of several mistakes the gold set's own is told first.
            item.target_texts(matcher.name)
        for item in items:
            item.doc_texts(matcher.name)
    return targets if has_text.all() else targets.where(has_text)


class TokenMatcher(TextsMatcher):
    """Compares the tokens of documents and gold texts; each distinct text is tokenised once.

    A subclass says in `compare` what two lists of texts score. A text with fewer than
    `least_tokens` tokens matches nothing. One with an option `numbers` reads them so.
    """

    tokenizer: Tokenizer
    least_tokens: int = 1
    numbers: Numbers = None

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records; how numbers are read with the version of its rules."""
        alike = {"numbers": {"name": self.numbers, "version": RULES}} if self.numbers else {}
        return super().settings | alike

    def read(self, text: str) -> str:
        """A text as it is, but for its numbers."""
        return in_figures(text) if self.numbers else text

    def remedy(self, text: str) -> str:
        """By what the text has: tokens but too few, none, markup alone, or nothing at all."""
        as_read = self.read(text)
        (tokens,) = self.tokenizer.tokens([as_read])
        if any(tokens):
            return FEW
        if words(as_read):
            return _no_token(shown_name(self.tokenizer))
        if words(text):
            return MARKUP
        return SIGNS if text.strip() else EMPTY

    @cached_property
    def token_corpus(self) -> TokenCorpus:
        """The texts tokenised so far; kept, so that a second run of the same texts is free."""
        return TokenCorpus(self.tokenizer)

    def sharing(self, corpora: dict[Tokenizer, TokenCorpus]) -> Self:
        """This matcher with the corpus of another one that has the same tokenizer, if there is one.

        Several matchers side by side then tokenise each text once between them.
        """
        twin = copy(self)
        try:
            # Where the cached property keeps it: a frozen matcher refuses to be set.
            twin.__dict__["token_corpus"] = corpora.setdefault(self.tokenizer, self.token_corpus)
        except TypeError:  # a user's tokenizer that cannot be hashed has a corpus of its own
            return self
        return twin

    def numbered(self, *lists: Lists) -> Iterator[Lists]:
        """The same lists of the texts of the corpus, by row."""
        return iter(self.token_corpus.numbered(self.read, *lists))

    def useless(self, texts: Lists, *, gold: bool) -> Bools:
        """Those with fewer than `least_tokens` tokens."""
        is_useless: Bools = self.token_corpus.lengths[texts.numbers] < self.least_tokens
        return is_useless
