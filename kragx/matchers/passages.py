"""Matchers of passages: compared as their script wants it, and siblings of one template apart."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Self

from kragx.data import TokenCorpus
from kragx.data.lists import Lists
from kragx.data.phrases import are_short
from kragx.data.tokenizers import LETTERS, AutoTokenizer, suits_passages
from kragx.ground.printing import phrase
from kragx.matchers.notes import Finding, Notes
from kragx.matchers.siblings import SIBLINGS, Siblings, differences, without_siblings
from kragx.matchers.text_base import TokenMatcher
from kragx.matchers.vocabulary import Vocabulary
from kragx.metrics import Bools, Floats

PAIR = 4
"""Two neighbouring runs of three letters, by which passages of mostly Hangul are compared."""


class PassageMatcher(TokenMatcher):
    """Compares passages by tokens; what it knows of all texts is said before (`knowing`).

    Gold of at most `short` tokens is looked for as a phrase.

    Attributes:
        short: so many; 0 for none.
        siblings: ``apart`` gives 0 to a document that has other known words between the words of
            the gold text, as texts made from one template have; ``together`` does not look.
    """

    short: int = 0
    siblings: Siblings

    @property
    def tells_siblings(self) -> bool:  # type: ignore[override]
        """Whether siblings are apart."""
        return self.siblings == "apart"

    @property
    def needs_vocabulary(self) -> bool:
        """Whether siblings or a script are to be looked at, and nobody has said the words."""
        return self.vocabulary is None and (
            self.tells_siblings or self.tokenizer == AutoTokenizer()
        )

    def knowing(self, vocabulary: Vocabulary) -> Self:
        """This matcher with the words of the evaluation's texts, and its tokenizer chosen."""
        twin = copy(self)
        if self.numbers:
            vocabulary = vocabulary.with_amounts()
        twin._set(vocabulary=vocabulary)
        # Which another vocabulary may have chosen before.
        chosen = AutoTokenizer(self.vocabulary.passages) if self.vocabulary else None
        if self.tokenizer in (AutoTokenizer(), chosen):
            twin._set(tokenizer=AutoTokenizer(vocabulary.passages))
        # What was read for the vocabulary is not tokenised again.
        if vocabulary.corpus is not None:  # in which the same words are numbered
            place = "token_corpus" if suits_passages(self.tokenizer) else "_words"
            twin.__dict__.setdefault(place, vocabulary.corpus)
        return twin

    def siblings_together(self) -> Self:
        """This matcher without the rule, with all that was read."""
        return self._with_siblings("together")

    def siblings_apart(self) -> Self:
        """This matcher with the rule, with all that was read."""
        return self._with_siblings("apart")

    def _with_siblings(self, siblings: Siblings) -> Self:
        twin = copy(self)
        twin._set(**vars(self) | {"siblings": siblings})
        return twin

    @property
    def _by_characters(self) -> bool:
        """Whether passages are compared by characters."""
        return self.tokenizer == AutoTokenizer("characters")

    @cached_property
    def _words(self) -> TokenCorpus:
        """The words of the texts: siblings are told apart by words, whatever is compared."""
        return self.token_corpus if suits_passages(self.tokenizer) else TokenCorpus(AutoTokenizer())

    @cached_property
    def _letters(self) -> TokenCorpus:
        """The letters of the texts."""
        return TokenCorpus(LETTERS, in_letters=True)

    def as_phrases(self, golds: Lists) -> Bools:
        """The short ones."""
        return are_short(self.token_corpus.of_rows(golds.numbers), self.token_corpus, self.short)

    def remark(self, gold: str) -> str:
        """That gold is looked for as a phrase, if it is short."""
        as_read = self.read(gold)
        self.token_corpus.add([as_read])
        is_short = are_short(self.token_corpus.of([as_read]), self.token_corpus, self.short).all()
        return phrase("short gold, looked for as a phrase") if is_short else ""

    def why_not(self, doc: str, gold: str) -> str:
        """The word that makes a document a sibling of the gold text."""
        if not self.tells_siblings or self.vocabulary is None:
            return ""
        scores = self.siblings_together().pair_scores([doc], [gold])
        if scores is None or not (scores >= self.threshold).all():
            return ""
        texts = [self.read(doc)], [self.read(gold)]
        (difference,) = differences(*texts, self._words, self.vocabulary)
        if difference is None or not difference.word:
            return ""
        return phrase(
            "another text of one template: {word!r} where the gold text has {gold!r}",
            word=difference.word,
            gold=" ".join(difference.gold),
        )

    def corrected_for_siblings(
        self, docs: Lists, golds: Lists, scores: Floats, notes: Notes | None
    ) -> Floats:
        """The scores, with 0 for siblings of the gold."""
        if not self.tells_siblings or self.vocabulary is None:
            return scores
        finding = Finding() if notes is None else notes.finding(self.settings, SIBLINGS, Finding)
        return without_siblings(
            docs, golds, scores, self._words, self.vocabulary, self.threshold, finding
        )
