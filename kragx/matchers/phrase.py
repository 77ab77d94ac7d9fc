"""Short gold such as an answer, looked for as a phrase: its tokens stand one after the other.

ROUGE-2 counts pairs of tokens, and one token has none; half of the pairs of three tokens is one
pair. So gold of a few tokens either stands in a document as it is, or does not match.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from kragx.data import TokenCorpus, UnicodeTokenizer
from kragx.data.lists import Lists
from kragx.data.ngrams import ngram_overlaps, of_pairs
from kragx.data.phrases import SHORT, are_short, stand
from kragx.errors import UsageError
from kragx.matchers.base import Threshold, TokenizerOption
from kragx.matchers.batches import TokenMatcher, Watcher
from kragx.matchers.broken import BrokenTexts, Gaps
from kragx.matchers.notes import Notes
from kragx.matchers.rouge import shares
from kragx.matchers.siblings import Look, Lookout, agreeing, differ
from kragx.metrics import Bools, Floats, Profile
from kragx.metrics.spans.reading import plain
from kragx.metrics.threshold import matches
from kragx.plugins import one_of, optional, whole


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
        np.unique(own.numbers, return_inverse=True) for own in (docs, golds)
    )
    stands = stand(corpus.of_rows(texts), corpus.of_rows(short), of_doc[doc], of_gold[gold], corpus)
    return stands.astype(np.float64)


@dataclass(frozen=True)
class PhraseMatcher(TokenMatcher):
    """The tokens of the gold text stand in the document one after the other.

    They begin and end where words do: ``1919`` is not in ``11919`` nor ``19190``. The last may go
    on in Hangul (``3월 15일`` in ``3월 15일에``). Without spaces between words anything may follow.

    Attributes:
        casefold: ignore case; False only with the tokenizer `unicode`.
        tokenizer: a name, mapping, import path or `Tokenizer`.
    """

    casefold: bool = True
    tokenizer: TokenizerOption = field(default_factory=UnicodeTokenizer)
    name = "phrase"
    yes_or_no = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.casefold:
            if not isinstance(self.tokenizer, UnicodeTokenizer):
                raise UsageError(
                    "casefold: false needs the tokenizer 'unicode'; choose another tokenizer's own "
                    "option"
                )
            self._set(tokenizer=replace(self.tokenizer, casefold=False))

    def read(self, text: str) -> str:
        """A text without its markup."""
        return plain(text)

    def compare_all(self, docs: Lists, golds: Lists) -> Floats:
        """1 where the gold text stands, else 0."""
        return phrases(docs, golds, self.corpus)


@dataclass(frozen=True)
class OverlapMatcher(TokenMatcher):
    """The overlap coefficient of pairs of tokens (ROUGE-2); of short gold, whether it stands there.

    Attributes:
        threshold: the least share of the pairs of the shorter text that is a match, in (0, 1].
        short: gold of at most so many tokens is looked for as a phrase, 1 or 0; three characters
            are a token in scripts that write without spaces. 0 for none.
        siblings: ``apart`` counts no pairs where both texts have other words between words that
            are the same, as texts made from one template have (`kragx.matchers.siblings`).
        tokenizer: a name, mapping, import path or `Tokenizer`.
    """

    threshold: Threshold = 0.5
    short: Annotated[int, whole(0, 1000)] = SHORT
    siblings: Annotated[str | None, optional(one_of("apart"))] = None
    tokenizer: TokenizerOption = field(default_factory=UnicodeTokenizer)
    name = "overlap"

    def useless(self, texts: Lists, *, gold: bool) -> Bools:
        """Those without tokens; without the short rule, gold of one token as well."""
        is_useless: Bools = self.corpus.lengths[texts.numbers] < (
            2 if gold and not self.short else 1
        )
        return is_useless

    def read(self, text: str) -> str:
        """A text without its markup."""
        return plain(text)

    def watchers(self, notes: Notes) -> Sequence[Watcher]:
        """Texts whose words are broken, or that were made from templates, are warned of.

        With `siblings` the scores are lower where words differ, whatever the reason.
        """
        if not isinstance(self.tokenizer, UnicodeTokenizer) or self.siblings is not None:
            return ()
        gaps = notes.finding(self.settings, "broken", Gaps)
        lookout = notes.finding(self.settings, "siblings", Lookout)
        return BrokenTexts(self.corpus, gaps), SiblingWatcher(self, lookout)

    def profile_for(self, profile: Profile) -> Profile:
        """What a profile says of matches that come from graded scores."""
        return profile.for_scores()

    def compare_all(self, docs: Lists, golds: Lists) -> Floats:
        """Shares of pairs, and 1 or 0 for short gold, one query after another."""
        is_short = are_short(golds.numbers, self.corpus, self.short)
        if not is_short.any():
            return self._of_passages(docs, golds)
        _, gold = of_pairs(docs.n_texts, golds.n_texts)
        scores = np.zeros(len(gold))
        for is_meant, score in ((is_short, self._of_answers), (~is_short, self._of_passages)):
            own = golds.those(is_meant)
            # Nothing is looked for in the documents of queries that have none.
            own_docs = docs.those((own.n_texts > 0)[docs.of_text])
            scores[is_meant[gold]] = score(own_docs, own)
        return scores

    def _of_answers(self, docs: Lists, golds: Lists) -> Floats:
        """1 or 0 of each document and short gold text."""
        return phrases(docs, golds, self.corpus)

    def _of_passages(self, docs: Lists, golds: Lists) -> Floats:
        """The share of pairs of each document and gold text."""
        corpus = self.corpus
        of_docs, of_golds = (own.by(corpus.pieces(own.numbers)) for own in (docs, golds))
        scores = shares("overlap", ngram_overlaps(of_docs, of_golds, 2, corpus))
        if self.siblings is not None:
            of_doc, of_gold = of_pairs(docs.n_texts, golds.n_texts)
            for pair in scores.nonzero()[0].tolist():
                rows = docs.numbers[of_doc[pair]], golds.numbers[of_gold[pair]]
                doc, gold = corpus.of_rows(np.array(rows))
                scores[pair] = agreeing(doc, gold, corpus)
        return scores


@dataclass
class SiblingWatcher:
    """Looks at the gold text that the last matching document matches best, for a `Lookout`."""

    matcher: OverlapMatcher
    lookout: Lookout

    def wants(self, query_id: str) -> bool:
        """Whether the lookout looks at the question."""
        return self.lookout.wants(query_id)

    def see(self, query_id: str, docs: Sequence[str], golds: Sequence[str], scores: Floats) -> None:
        """Look at the documents of a question that match one gold text."""
        self.lookout.take(query_id, self._look(query_id, docs, golds, scores))

    def _look(
        self, query_id: str, docs: Sequence[str], golds: Sequence[str], scores: Floats
    ) -> Look:
        matched = matches(scores, self.matcher.threshold)
        rows = matched.any(axis=1).nonzero()[0]
        if not rows.size:
            return Look()
        column = int(scores[rows[-1]].argmax())
        if self.matcher.is_phrase(golds[column]):
            return Look()
        rows = matched[:, column].nonzero()[0]
        last, best = int(rows[-1]), int(rows[scores[rows, column].argmax()])
        if docs[last] == docs[best]:
            return Look(1)
        overlap, corpus = scores[:, column], self.matcher.corpus
        gold = golds[column]
        if differ(docs[last], gold, overlap[last], corpus) and not differ(
            docs[best], gold, overlap[best], corpus
        ):
            return Look(1, 1, query_id)
        return Look(1)
