"""Short gold such as an answer, looked for as a phrase: its tokens stand one after the other.

ROUGE-2 counts pairs of tokens, and one token has none; half of the pairs of three tokens is one
pair. So gold of a few tokens either stands in a document as it is, or does not match.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Annotated

import numpy as np

from kragx.data import TokenCorpus, UnicodeTokenizer
from kragx.data.phrases import SHORT, phrase_starts
from kragx.data.tokens import Tokens, joined
from kragx.errors import UsageError
from kragx.matchers.base import Threshold, TokenizerOption
from kragx.matchers.batches import TokenMatcher, Watcher
from kragx.matchers.broken import BrokenTexts
from kragx.matchers.rouge import rouge
from kragx.matchers.siblings import Lookout, agreeing
from kragx.metrics import Bools, Floats, Profile
from kragx.metrics.spans.reading import plain
from kragx.metrics.threshold import matches
from kragx.plugins import one_of, optional, whole


def phrases(docs: Sequence[Tokens], golds: Sequence[Tokens], corpus: TokenCorpus) -> Bools:
    """Whether the tokens of each gold text stand in each document one after the other.

    The last one may go on in Hangul there, as particles do: ``15일`` in ``15일에``. A text without
    tokens stands nowhere.

    Args:
        docs: the token numbers of n documents.
        golds: the token numbers of m gold texts.
        corpus: where the numbers come from.

    Returns:
        n x m yes or no.
    """
    stands = np.zeros((len(docs), len(golds)), bool)
    tokens, rows, _ = joined(docs)
    for column, gold in enumerate(golds):
        starts = phrase_starts(tokens, gold, corpus)
        of_doc = rows[starts]
        inside = of_doc == rows[starts + len(gold) - 1]  # not over the end of a document
        stands[of_doc[inside], column] = True
    return stands


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

    def compare(
        self, docs: Sequence[Sequence[str]], golds: Sequence[Sequence[str]]
    ) -> Iterator[Floats]:
        """1 where the gold text stands, else 0."""
        for of_docs, of_golds in zip(docs, golds):
            stands = phrases(self.corpus.of(of_docs), self.corpus.of(of_golds), self.corpus)
            yield stands.astype(np.float64)


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

    def useless(self, texts: Iterable[str], *, gold: bool) -> Iterable[str]:
        """Those without tokens; without the short rule, gold of one token as well."""
        least = 2 if gold and not self.short else 1
        short = filter(self.corpus.short.__contains__, texts)
        return (text for text in short if len(self.corpus.of([text])[0]) < least)

    def read(self, text: str) -> str:
        """A text without its markup."""
        return plain(text)

    def watchers(self) -> Sequence[Watcher]:
        """Texts whose words are broken, or that were made from templates, are warned of.

        With `siblings` the scores are lower where words differ, whatever the reason.
        """
        if not isinstance(self.tokenizer, UnicodeTokenizer) or self.siblings is not None:
            return ()
        return BrokenTexts(self.corpus), SiblingWatcher(self)

    def profile_for(self, profile: Profile) -> Profile:
        """What a profile says of matches that come from graded scores."""
        return profile.for_scores()

    def compare(
        self, docs: Sequence[Sequence[str]], golds: Sequence[Sequence[str]]
    ) -> Iterator[Floats]:
        """Shares of pairs, and 1 or 0 for short gold, one query after another."""
        passages = [[gold for gold in of_query if not self.is_phrase(gold)] for of_query in golds]
        shares = self._of_passages(docs, passages)
        for of_docs, of_golds, long, of_passages in zip(docs, golds, passages, shares):
            if len(long) == len(of_golds):
                yield of_passages
                continue
            short = np.fromiter(map(self.is_phrase, of_golds), bool, len(of_golds))
            answers = self.corpus.of(compress(of_golds, short))
            scores = np.empty((len(of_docs), len(of_golds)))
            scores[:, short] = phrases(self.corpus.of(of_docs), answers, self.corpus)
            scores[:, ~short] = of_passages
            yield scores

    def _of_passages(
        self, docs: Sequence[Sequence[str]], golds: Sequence[Sequence[str]]
    ) -> Iterator[Floats]:
        """Shares of pairs: of each query's n documents and m gold texts, n x m."""
        pieces = self.corpus.pieces
        shares = rouge(
            "rouge2", "overlap", [*map(pieces, docs)], [*map(pieces, golds)], self.corpus
        )
        if self.siblings is None:
            yield from shares
            return
        for of_docs, of_golds, scores in zip(docs, golds, shares):
            doc_tokens, gold_tokens = self.corpus.of(of_docs), self.corpus.of(of_golds)
            for row, column in zip(*scores.nonzero()):
                scores[row, column] = agreeing(doc_tokens[row], gold_tokens[column], self.corpus)
            yield scores


@dataclass
class SiblingWatcher:
    """Shows a `Lookout` the gold text that the last matching document matches best."""

    matcher: OverlapMatcher

    def __post_init__(self) -> None:
        self._lookout = Lookout(self.matcher.corpus)

    def see(self, query_id: str, docs: Sequence[str], golds: Sequence[str], scores: Floats) -> None:
        """Look at a question, where it is due, and at the documents that match one gold text."""
        if not self._lookout.due():
            return
        matched = matches(scores, self.matcher.threshold)
        rows = matched.any(axis=1).nonzero()[0]
        if not rows.size:
            return
        column = int(scores[rows[-1]].argmax())
        if not self.matcher.is_phrase(golds[column]):
            rows = matched[:, column].nonzero()[0]
            self._lookout.look(
                query_id, golds[column], [docs[row] for row in rows], scores[rows, column]
            )

    def warn(self) -> None:
        """Say what was found."""
        self._lookout.warn()
