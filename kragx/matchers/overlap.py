"""Matchers of passages and of short gold: `overlap`, `message`, and what `span` shares with them.

Passages are compared as their script wants it, and siblings of one template are told apart. ROUGE-2
counts pairs of tokens, and one token has none; half of the pairs of three tokens is one pair. So
gold of a few tokens either stands in a document as it is, as a phrase, or does not match.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from statistics import median
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from kragx.data import TokenCorpus, UnicodeTokenizer
from kragx.data.batch import Batch
from kragx.data.lists import Lists, distinct
from kragx.data.phrases import SHORT, Phrases, are_short
from kragx.data.tokenizers import (
    LETTERS,
    AutoTokenizer,
    without_hanja,
)
from kragx.data.tokens import ngram_overlaps, of_pairs
from kragx.ground.errors import UsageError, shorten
from kragx.ground.options import one_of, whole
from kragx.ground.printing import message
from kragx.matchers.base import Numbers, Siblings, Threshold, TokenizerOption
from kragx.matchers.items import Diagnostic, Diagnostics, Targets
from kragx.matchers.siblings import SIBLINGS, differences, without_siblings
from kragx.matchers.texts import SHORT_GOLD, TokenMatcher, shared_part
from kragx.matchers.vocabulary import Vocabulary
from kragx.metrics import Bools, Floats
from kragx.metrics.spans.reading import plain
from kragx.metrics.threshold import matches

PAIR = 4
"""Two neighbouring runs of three letters, by which passages of mostly Hangul are compared."""


@dataclass(frozen=True)
class PassageMatcher(TokenMatcher):
    """Compares passages by tokens; what it knows of all texts is said before (`knowing`).

    Attributes:
        threshold: the least score that is a match, in (0, 1].
        short: gold of at most so many tokens is looked for as a phrase; 0 for none.
        siblings: ``apart`` gives 0 to a document that has other known words between the words of
            the gold text, as texts made from one template have; ``together`` does not look.
        tokenizer: a name, mapping, import path or `Tokenizer`.
        numbers: ``alike`` reads Korean amounts alike where a unit settles them.
    """

    threshold: Threshold = 0.5
    short: Annotated[int, whole(0, 1000)] = SHORT
    siblings: Annotated[Siblings, one_of("apart", "together")] = "apart"
    tokenizer: TokenizerOption = field(default_factory=AutoTokenizer)
    numbers: Numbers = None

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
        if self.numbers:
            vocabulary = vocabulary.with_amounts()
        changes: dict[str, Any] = {"vocabulary": vocabulary}
        # Which another vocabulary may have chosen before.
        chosen = AutoTokenizer(self.vocabulary.passages) if self.vocabulary else None
        if self.tokenizer in (AutoTokenizer(), chosen):
            changes["tokenizer"] = AutoTokenizer(vocabulary.passages)
        # What was read for the vocabulary is not tokenised again.
        if vocabulary.corpus is not None:  # in which the same words are numbered
            is_auto = isinstance(self.tokenizer, AutoTokenizer)
            place = "token_corpus" if is_auto else "_words"
            changes[place] = vocabulary.corpus
        return self._twin(**changes)

    def with_siblings(self, siblings: Siblings) -> Self:
        """This matcher with or without the rule, with all that was read."""
        return self._twin(**vars(self) | {"siblings": siblings})

    @property
    def _by_characters(self) -> bool:
        """Whether passages are compared by characters."""
        return self.tokenizer == AutoTokenizer("characters")

    @cached_property
    def _words(self) -> TokenCorpus:
        """The words of the texts: siblings are told apart by words, whatever is compared."""
        is_auto = isinstance(self.tokenizer, AutoTokenizer)
        return self.token_corpus if is_auto else TokenCorpus(AutoTokenizer())

    @cached_property
    def _letters(self) -> TokenCorpus:
        """The letters of the texts."""
        return TokenCorpus(LETTERS, in_letters=True)

    def note(
        self, batch: Batch, targets: Targets, docs: Lists, golds: Lists, diagnostics: Diagnostics
    ) -> None:
        """Count the questions with short gold, too."""
        super().note(batch, targets, docs, golds, diagnostics)
        queries = distinct(golds.of_text[self.as_phrases(golds)])
        diagnostics.update({SHORT_GOLD: len(queries)} if len(queries) else {})

    def as_phrases(self, golds: Lists) -> Bools:
        """Which of some gold texts, numbered before, are looked for as phrases: the short ones."""
        return are_short(self.token_corpus.of_rows(golds.numbers), self.token_corpus, self.short)

    def remark(self, gold: str) -> str:
        """That gold is looked for as a phrase, if it is short."""
        tokens = self.token_corpus.of([self.read(gold)])
        is_short = are_short(tokens, self.token_corpus, self.short).all()
        return message("short gold, looked for as a phrase") if is_short else ""

    def why_not(self, doc: str, gold: str) -> str:
        """The word that makes a document a sibling of the gold text."""
        if not self.tells_siblings or self.vocabulary is None:
            return ""
        scores = self.with_siblings("together").pair_scores([doc], [gold])
        if not matches(scores, self.threshold).all():
            return ""
        texts = [self.read(doc)], [self.read(gold)]
        (difference,) = differences(*texts, self._words, self.vocabulary)
        if difference is None or not difference.word:
            return ""
        return message(
            "another text of one template: {word!r} where the gold text has {gold!r}",
            word=difference.word,
            gold=" ".join(difference.gold),
        )

    def corrected_for_siblings(
        self, docs: Lists, golds: Lists, scores: Floats, diagnostics: Diagnostics | None
    ) -> Floats:
        """The scores, with 0 for siblings of the gold."""
        if not self.tells_siblings or self.vocabulary is None:
            return scores
        diagnostic = (
            Diagnostic()
            if diagnostics is None
            else diagnostics.diagnostic(self.settings, SIBLINGS, Diagnostic)
        )
        return without_siblings(
            docs, golds, scores, self._words, self.vocabulary, self.threshold, diagnostic
        )


def phrases(docs: Lists, golds: Lists, corpus: TokenCorpus) -> Floats:
    """1 where the tokens of a gold text stand in a document one after the other, else 0.

    The last one may go on in Hangul there, as particles do: ``15일`` in ``15일에``. A text without
    tokens stands nowhere.

    Args:
        docs: the documents of each query of a batch, by their rows in the corpus.
        golds: its gold texts.
        corpus: where they stand.

    Returns:
        Of each pair of a document and a gold text, as `of_pairs` has them.
    """
    doc, gold = of_pairs(docs.n_texts, golds.n_texts)
    (texts, of_doc), (short, of_gold) = (
        np.unique(lists.numbers, return_inverse=True) for lists in (docs, golds)
    )
    looked_for = Phrases(
        corpus.of_rows(texts),
        corpus.of_rows(short),
        corpus,
        compounds=isinstance(corpus.tokenizer, AutoTokenizer),
    )
    return looked_for.stand(of_doc[doc], of_gold[gold]).astype(np.float64)


def part_of(docs: Lists, golds: Lists, is_meant: Bools) -> tuple[Lists, Lists]:
    """Some gold texts alone, with the documents of their queries before them."""
    part = golds.those(is_meant)
    # Nothing is looked for in the documents of queries that have none.
    return docs.those((part.n_texts > 0)[docs.of_text]), part


@dataclass(frozen=True)
class PhraseMatcher(TokenMatcher):
    """The tokens of the gold text stand in the document one after the other.

    They begin and end where words do: ``1919`` is not in ``11919`` nor ``19190``. The last may go
    on in Hangul (``3월 15일`` in ``3월 15일에``). Without spaces between words anything may follow.
    A Korean compound may be written together or apart (`kragx.data.phrases`).

    Attributes:
        casefold: ignore case; False only with the tokenizer `unicode`.
        tokenizer: a name, mapping, import path or `Tokenizer`.
        numbers: ``alike`` reads Korean amounts alike where a unit settles them: 300만원,
            3,000,000원, 삼백만 원 (`kragx.data.amounts`). None reads them as they are written.
    """

    casefold: bool = True
    tokenizer: TokenizerOption = field(default_factory=AutoTokenizer)
    numbers: Numbers = None
    name = "phrase"
    yes_or_no = True
    clean: ClassVar[staticmethod[[str], str]] = staticmethod(plain)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.casefold:
            if not isinstance(self.tokenizer, (AutoTokenizer, UnicodeTokenizer)):
                raise UsageError(
                    "casefold: false needs the tokenizer 'unicode'; choose another tokenizer's own "
                    "option"
                )
            self._set(tokenizer=UnicodeTokenizer(casefold=False))

    def compare(self, docs: Lists, golds: Lists) -> Floats:
        """1 where the gold text stands, else 0."""
        return phrases(docs, golds, self.token_corpus)


# Half of the pairs of words of a passage say that it is there; half of an answer does not.
ANSWER = 12
"""Gold of at most so many words is an answer; three characters are one where none are apart."""

_LEAST_SHARED = 0.15
"""So many of the pairs of words are shared wherever an answer stands, however badly it was read."""

# Of the letters of an answer and of the place where it stands so many are the same: of texts of
# which 3 % of the letters were misread nearly always .85, of other answers of one pattern hardly
# ever. The score is half there, so that the default threshold asks for it, and 0 at the lower end.
_NOTHING, _HALF = 0.7, 0.85


def wholes(docs: Lists, golds: Lists, shared: Floats, corpus: TokenCorpus) -> Floats:
    """How much of each answer stands in each document, in [0, 1]; one half is .85 of its letters.

    Args:
        docs: the documents of each question, by their rows in the corpus.
        golds: its answers.
        shared: the share of pairs of words of each pair of the two.
        corpus: where they stand.
    """
    of_doc, of_gold = of_pairs(docs.n_texts, golds.n_texts)
    scores = np.zeros(len(shared))
    letters: dict[int, str] = {}
    for pair in np.flatnonzero(shared > _LEAST_SHARED).tolist():
        rows = int(docs.numbers[of_doc[pair]]), int(golds.numbers[of_gold[pair]])
        for row in rows:
            if row not in letters:
                (tokens,) = corpus.of_rows(np.array([row]))
                letters[row] = corpus.letters(tokens)
        doc, gold = (letters[row] for row in rows)
        scores[pair] = 1.0 if gold in doc else _score(doc, gold)
    return scores


def _score(doc: str, gold: str) -> float:
    """The score of an answer that does not stand in a document letter by letter."""
    from rapidfuzz.distance import Indel
    from rapidfuzz.fuzz import partial_ratio_alignment

    if len(doc) <= len(gold):
        start, end, alike = 0, len(doc), Indel.normalized_similarity(doc, gold)
    else:
        place = partial_ratio_alignment(gold, doc)
        assert place is not None  # without a score to reach there always is one
        start, end, alike = place.dest_start, place.dest_end, place.score / 100
    if alike <= _NOTHING or _is_cut(doc, gold, start, end):
        return 0.0
    return (alike - _NOTHING) / (_HALF - _NOTHING) / 2


def _is_cut(doc: str, gold: str, start: int, end: int) -> bool:
    """Whether the document begins or ends within the answer, which goes on beyond it."""
    from rapidfuzz.distance import Indel

    if start > 0 and end < len(doc):
        return False
    blocks = Indel.opcodes(gold, doc[start:end]).as_matching_blocks()
    # A letter alone in common is chance, and says nothing of where the answer goes on.
    runs = [block for block in blocks if block.size > 1]
    if not runs:
        return True
    first, last = runs[0], runs[-1]
    head = first.a - first.b
    tail = (len(gold) - last.a - last.size) - (end - start - last.b - last.size)
    return (start == 0 and head > 0) or (end == len(doc) and tail > 0)


QUERIES = 100
"""How many queries are looked at; of each one pair is compared."""

_FIRST = 20
"""Of a query with more documents or gold texts so many are searched for that pair."""

GAP, GAP_HANGUL = 0.1, 0.055
"""How far the median score by words may lie below that by characters. Measured by
examples/broken_texts.py: whole texts have .01 in Korean (with Markdown .03) and .04 in English, and
with 3 % of the characters misread .07 and .12."""

_LEAST_PAIRS = 5
_LEAST_RUNS = 57  # shorter texts share so many runs of characters by chance
_LEAST_BY_WORDS = 0.04
_LEAST_BY_CHARACTERS = 0.5
_HANGUL = re.compile("[가-힣]")


@dataclass
class Gaps(Diagnostic):
    """Whether texts are broken, as the first questions show: characters agree where words do not.

    Spaces that were lost or put in, words cut at line ends and misread characters change words, and
    leave most runs of characters as they are. So a pair that shares a passage scores less by words
    than by characters without spaces, where in whole texts the two scores are nearly equal. Gold
    and document say it together: the length of words alone would blame German, code and addresses.

    Attributes:
        of_queries: of each question how much more its pair that agrees by characters lacks by words
            than whole texts do, and the beginning of the document; None without such a pair.
    """

    of_queries: list[tuple[float, str] | None] = field(default_factory=list)

    def merge(self, later: Self) -> None:
        """Look at the questions that came after these."""
        self.of_queries = (self.of_queries + later.of_queries)[:QUERIES]

    def look(self, docs: Lists, golds: Lists, scores: Floats, corpus: TokenCorpus) -> None:
        """Look at the questions of a batch and their scores by words, until there are enough."""
        end = 0
        for texts, of_query in islice(zip(docs, golds), QUERIES - len(self.of_queries)):
            start, end = end, end + len(texts) * len(of_query)
            by_words = scores[start:end].reshape(len(texts), len(of_query))
            self.of_queries.append(_gap(texts, of_query, by_words, corpus))

    def problem(self) -> str:
        """That the texts are broken, where the median is more than whole texts have."""
        gaps = [*filter(None, self.of_queries)]
        if len(gaps) < _LEAST_PAIRS or median(size for size, _ in gaps) <= 0:
            return ""
        return message(
            "texts look broken (spaces lost or put in, words cut, characters misread): {n} pairs "
            "agree by characters, and less by words, for example {example}; use the tokenizer "
            "{{name: char, n: 3, spaces: ignored}}",
            n=len(gaps),
            example=max(gaps)[1],
        )


def _gap(
    docs: list[str], golds: list[str], scores: Floats, corpus: TokenCorpus
) -> tuple[float, str] | None:
    """The gap of the first gold text of a question that agrees with a document by characters."""
    for column, gold in enumerate(golds[:_FIRST] if docs else ()):
        if len(gold) < _LEAST_RUNS:
            continue
        best = int(scores[:, column].argmax())
        # Without spaces between words they say nothing of which document it is.
        is_sure = scores[best, column] >= _LEAST_BY_WORDS
        rows = [best] if is_sure else range(min(len(docs), _FIRST))
        for row in rows:
            in_doc, in_gold = map(_runs, map(corpus.letters, corpus.of([docs[row], gold])))
            n_runs = min(in_doc.total(), in_gold.total())
            share = (in_doc & in_gold).total() / max(1, n_runs)
            if n_runs >= _LEAST_RUNS / 2 and share >= _LEAST_BY_CHARACTERS:
                usual = GAP_HANGUL if _HANGUL.search(gold) else GAP
                return share - float(scores[row, column]) - usual, shorten(docs[row], 42)
    return None


def _runs(letters: str) -> Counter[tuple[str, ...]]:
    """How often each four characters stand in a row: as many as neighbouring threes have."""
    return Counter(zip(letters, letters[1:], letters[2:], letters[3:]))


@dataclass(frozen=True)
class OverlapMatcher(PassageMatcher):
    """The overlap coefficient of pairs of tokens (ROUGE-2); short gold is looked for as a whole.

    Attributes:
        threshold: the least share of the pairs of the shorter text that is a match, in (0, 1].
        short: gold of at most so many words is looked for as a phrase, 1 or 0; three characters
            are a word in scripts that write without spaces. Gold of up to `ANSWER` words is looked
            for as a whole, with letters misread. 0 for neither.
        siblings: ``apart`` makes a document no match that has other known words between the words
            of the gold text, as texts made from one template have (`kragx.matchers.siblings`).
        tokenizer: a name, mapping, import path or `Tokenizer`.
        numbers: ``alike`` reads Korean amounts alike where a unit settles them: 300만원,
            3,000,000원, 삼백만 원 (`kragx.data.amounts`). None reads them as they are written.
    """

    name = "overlap"
    graded = True
    clean: ClassVar[staticmethod[[str], str]] = staticmethod(
        plain
    )  # as the words of an evaluation are read, so it finds these

    def useless(self, texts: Lists, *, gold: bool) -> Bools:
        """Those without tokens; without the short rule, gold of one token as well."""
        # One token is no pair, and matches as a phrase alone.
        is_useless: Bools = self.token_corpus.lengths[texts.numbers] < (
            2 if gold and not self.short else 1
        )
        return is_useless

    def corrected_for_siblings(
        self, docs: Lists, golds: Lists, scores: Floats, diagnostics: Diagnostics | None
    ) -> Floats:
        """The scores without siblings; texts whose words are broken are warned of."""
        gives_words = isinstance(self.tokenizer, (AutoTokenizer, UnicodeTokenizer))
        if diagnostics is not None and gives_words and not self._by_characters:
            gaps = diagnostics.diagnostic(self.settings, "broken", Gaps)
            gaps.look(docs, golds, scores, self.token_corpus)
        return super().corrected_for_siblings(docs, golds, scores, diagnostics)

    def compare(self, docs: Lists, golds: Lists) -> Floats:
        """Shares of pairs, and how far short gold stands there, one query after another."""
        tokens = self.token_corpus.of_rows(golds.numbers)
        is_short = are_short(tokens, self.token_corpus, self.short)
        is_answer = are_short(tokens, self.token_corpus, ANSWER if self.short else 0) & ~is_short
        _, gold = of_pairs(docs.n_texts, golds.n_texts)
        scores = np.zeros(len(gold))
        kinds = (
            (is_short, partial(phrases, corpus=self.token_corpus)),
            (is_answer, self._of_answers),
            (~(is_short | is_answer), self._of_passages),
        )
        for is_meant, score in kinds:
            if is_meant.all():  # as a rule
                return score(docs, golds)
            if is_meant.any():
                scores[is_meant[gold]] = score(*part_of(docs, golds, is_meant))
        return scores

    def _of_answers(self, docs: Lists, golds: Lists) -> Floats:
        """How much of each gold text of some words stands in each document."""
        return wholes(docs, golds, self._of_passages(docs, golds), self.token_corpus)

    def _of_passages(self, docs: Lists, golds: Lists) -> Floats:
        """The share of pairs of each document and gold text."""
        if self._by_characters:
            n, corpus = PAIR, self._letters
            of_docs, of_golds = corpus.numbered(without_hanja, docs, golds)
        else:
            n, corpus = 2, self.token_corpus
            of_docs = docs.by(corpus.pieces(docs.numbers))
            of_golds = golds.by(corpus.pieces(golds.numbers))
        pairs = ngram_overlaps(of_docs, of_golds, n, corpus)
        sizes = pairs.doc_sizes, pairs.gold_sizes
        return shared_part("overlap", pairs.shared, pairs.shared, *sizes)
