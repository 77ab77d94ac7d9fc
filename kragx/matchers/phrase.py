"""Short gold such as an answer, looked for as a phrase: its tokens stand one after the other.

ROUGE-2 counts pairs of tokens, and one token has none; half of the pairs of three tokens is one
pair. So gold of a few tokens either stands in a document as it is, or does not match.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import numpy as np

from kragx.data import TokenCorpus, UnicodeTokenizer
from kragx.data.lists import Lists
from kragx.data.phrases import SHORT, Phrases, are_short
from kragx.data.tokenizers import AutoTokenizer, gives_words, suits_passages, without_hanja
from kragx.data.tokens import ngram_overlaps, of_pairs
from kragx.ground.errors import UsageError
from kragx.ground.options import one_of, whole
from kragx.matchers.base import Numbers, Threshold, TokenizerOption
from kragx.matchers.broken_texts import Gaps
from kragx.matchers.notes import Notes
from kragx.matchers.passages import PAIR, PassageMatcher
from kragx.matchers.rouge import scores_of_counts
from kragx.matchers.siblings import Siblings
from kragx.matchers.text_base import TokenMatcher
from kragx.metrics import Bools, Floats
from kragx.metrics.spans.reading import plain


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
        compounds=suits_passages(corpus.tokenizer),
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

    def read(self, text: str) -> str:
        """As spans are, without markup."""
        return super().read(plain(text))

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.casefold:
            if not gives_words(self.tokenizer):
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

    threshold: Threshold = 0.5
    short: Annotated[int, whole(0, 1000)] = SHORT
    siblings: Annotated[Siblings, one_of("apart", "together")] = "apart"
    tokenizer: TokenizerOption = field(default_factory=AutoTokenizer)
    numbers: Numbers = None
    name = "overlap"
    graded = True

    def read(self, text: str) -> str:
        """As the words of an evaluation are read, so that either finds what the other has read."""
        return super().read(plain(text))

    def useless(self, texts: Lists, *, gold: bool) -> Bools:
        """Those without tokens; without the short rule, gold of one token as well."""
        # One token is no pair, and matches as a phrase alone.
        is_useless: Bools = self.token_corpus.lengths[texts.numbers] < (
            2 if gold and not self.short else 1
        )
        return is_useless

    def corrected_for_siblings(
        self, docs: Lists, golds: Lists, scores: Floats, notes: Notes | None
    ) -> Floats:
        """The scores without siblings; texts whose words are broken are warned of."""
        scores = super().corrected_for_siblings(docs, golds, scores, notes)
        if notes is not None and gives_words(self.tokenizer) and not self._by_characters:
            gaps = notes.finding(self.settings, "broken", Gaps)
            gaps.look(docs, golds, scores, self.token_corpus)
        return scores

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
            of_docs, of_golds = (texts.by(corpus.pieces(texts.numbers)) for texts in (docs, golds))
        return scores_of_counts("overlap", ngram_overlaps(of_docs, of_golds, n, corpus))
