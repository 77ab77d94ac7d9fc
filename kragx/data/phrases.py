"""Short texts such as answers are looked for as phrases: which are short, where they stand."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from kragx.data.stretches import distinct, parts, ranges, starts
from kragx.data.tokens import Ints, TokenCorpus, Tokens, joined

SHORT = 5
"""Gold of at most so many tokens is looked for as a phrase."""

UNSPACED_FOR_ONE = 3
"""So many characters of a script that writes without spaces count as one token."""


def are_short(texts: Sequence[Tokens], corpus: TokenCorpus, size: int = SHORT) -> NDArray[np.bool_]:
    """Which texts have tokens, and at most `size`.

    Args:
        texts: the token numbers of each text.
        corpus: where the numbers come from.
        size: a number of tokens; three characters are one in scripts that write without spaces.
    """
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    short = (lengths > 0) & (lengths <= size * UNSPACED_FOR_ONE)
    rows = short.nonzero()[0]
    if rows.size:
        tokens, of_token, n = joined([texts[text] for text in rows.tolist()])
        unspaced = np.bincount(of_token, corpus.unspaced[tokens], len(rows))
        short[rows] = (n - unspaced) * UNSPACED_FOR_ONE + unspaced <= size * UNSPACED_FOR_ONE
    return short


def stand(
    docs: Sequence[Tokens], phrases: Sequence[Tokens], doc: Ints, phrase: Ints, corpus: TokenCorpus
) -> NDArray[np.bool_]:
    """Whether a phrase stands in a document, for p pairs of them at once; see `places`.

    Args:
        docs: the token numbers of d documents.
        phrases: those of the phrases.
        doc: (p) which document each pair is of.
        phrase: (p) which phrase.
        corpus: where the numbers come from.
    """
    in_docs, of_phrases, _ = places(docs, phrases, corpus)
    met = distinct(in_docs * len(phrases) + of_phrases)
    return np.isin(doc * len(phrases) + phrase, met)


def places(
    docs: Sequence[Tokens], phrases: Sequence[Tokens], corpus: TokenCorpus
) -> tuple[Ints, Ints, Ints]:
    """Wherever the tokens of a phrase stand one after the other: document, phrase, first token.

    The last one may go on in Hangul there, as particles do: ``15일`` in ``15일에``. A phrase
    without tokens stands nowhere, and none over the end of a document.

    Args:
        docs: the token numbers of each document; negative ones equal no other.
        phrases: those of each phrase.
        corpus: where the numbers come from.

    Returns:
        By phrase, and then by place.
    """
    tokens, rows, n_tokens = joined(docs)
    first_of_doc = np.concatenate(([0], np.cumsum(n_tokens)))
    words, row_of_word, lengths = joined(phrases)
    begins, n_words = starts(lengths), corpus.n_distinct_tokens
    lasts = {phrase[-1].item() for phrase in phrases if len(phrase)}
    forms = np.array([[last, form] for last in lasts for form in corpus.forms(last)], np.int64)
    last_of, form_of = forms.reshape(-1, 2).T
    last_and_form = last_of * n_words + form_of

    # A phrase is looked for where the token stands that is rarest in the documents, of those that
    # stand as they are; one of a single token wherever a form of it does.
    n_times = np.bincount(tokens[tokens >= 0], minlength=n_words)
    as_it_is = np.arange(len(words)) < (begins + lengths - 1)[row_of_word]
    rarest_first = np.lexsort((n_times[words], ~as_it_is, row_of_word))[begins[lengths > 1]]
    anchor = np.zeros(len(phrases), np.int64)
    anchor[lengths > 1] = rarest_first - begins[lengths > 1]
    alone = (lengths == 1).nonzero()[0]
    n_forms = np.bincount(last_of, minlength=n_words)
    by_last = np.argsort(last_of, kind="stable")
    of_alone = words[begins[alone]]
    forms_of_alone = ranges(starts(n_forms)[of_alone], n_forms[of_alone])
    looked_for = np.concatenate((words[rarest_first], form_of[by_last][forms_of_alone]))
    owner = np.concatenate((row_of_word[rarest_first], np.repeat(alone, n_forms[of_alone])))
    owner = owner[np.argsort(looked_for, kind="stable")]
    n_owners = np.bincount(looked_for, minlength=n_words + 1)  # of negative tokens the last: 0
    first_owner = starts(n_owners)

    hits = [np.empty((3, 0), np.int64)]
    sites = (n_owners[tokens] > 0).nonzero()[0]
    for part in parts(n_owners[tokens[sites]]):
        token = tokens[sites[part]]
        term = owner[ranges(first_owner[token], n_owners[token])]
        row = np.repeat(rows[sites[part]], n_owners[token])
        begin = np.repeat(sites[part], n_owners[token]) - anchor[term]
        end = begin + lengths[term] - 1
        inside = (begin >= first_of_doc[row]) & (end < first_of_doc[row + 1])
        inside[inside] = tokens[end[inside]] >= 0
        row, term, begin, end = row[inside], term[inside], begin[inside], end[inside]
        for offset in range(int(lengths[term].max(initial=0)) - 1):
            same = begin + offset >= end
            between = (~same).nonzero()[0]
            token = tokens[begin[between] + offset]
            same[between] = token == words[begins[term[between]] + offset]
            row, term, begin, end = row[same], term[same], begin[same], end[same]
        ends = words[begins[term] + lengths[term] - 1].astype(np.int64) * n_words + tokens[end]
        stands = np.isin(ends, last_and_form)
        hits.append(np.stack((row, term, begin - first_of_doc[row]))[:, stands])
    row, term, begin = np.concatenate(hits, axis=1)
    order = np.lexsort((begin, row, term))
    return row[order], term[order], begin[order]


class Compounds:
    """Phrases in Hangul whose words are written together or apart elsewhere: 손해배상, 손해 배상.

    A phrase of `LETTERS` letters or more stands where its letters do, whatever the spaces, from the
    beginning of a word on; the last word may go on in Hangul.

    Args:
        docs: the token numbers of each document.
        phrases: those of each phrase.
        corpus: where the numbers come from.

    Attributes:
        may_be: which phrases are long enough and have Hangul.
    """

    LETTERS = 4

    def __init__(
        self, docs: Sequence[Tokens], phrases: Sequence[Tokens], corpus: TokenCorpus
    ) -> None:
        self._docs, self._phrases, self._corpus = docs, phrases, corpus
        self._letters = [corpus.letters(tokens) for tokens in phrases]
        self._in_letters: dict[int, tuple[str, list[int], set[int]]] = {}
        self.may_be: NDArray[np.bool_] = np.array(
            [
                len(letters) >= self.LETTERS and any("가" <= letter <= "힣" for letter in letters)
                for letters in self._letters
            ],
            bool,
        )

    def stand(self, doc: int, phrase: int) -> bool:
        """Whether a phrase stands in a document, by their places in the arguments."""
        return any(True for _ in self.starts(doc, phrase))

    def starts(self, doc: int, phrase: int) -> Iterator[int]:
        """At which of a document's letters a phrase begins; of a short one as its words do."""
        if doc not in self._in_letters:
            words = [self._corpus.words[token] for token in self._docs[doc].tolist()]
            firsts = [0, *accumulate(map(len, words))]
            self._in_letters[doc] = "".join(words), firsts, {*firsts}
        letters, firsts, begins = self._in_letters[doc]
        if not self.may_be[phrase]:
            yield from (firsts[word] for word in self._by_words[doc, phrase])
            return
        needle = self._letters[phrase]
        place = letters.find(needle)
        while place >= 0:
            end = place + len(needle)
            goes_on = end < len(letters) and "가" <= letters[end] <= "힣"
            if place in begins and (end in begins or goes_on):
                yield place
            place = letters.find(needle, place + 1)

    @cached_property
    def _by_words(self) -> defaultdict[tuple[int, int], list[int]]:
        """By document and phrase where the words of those stand that may be no compounds."""
        short = [tokens[:0] if flag else tokens for tokens, flag in zip(self._phrases, self.may_be)]
        by_words = defaultdict[tuple[int, int], list[int]](list)
        for doc, phrase, word in np.stack(places(self._docs, short, self._corpus)).T.tolist():
            by_words[doc, phrase].append(word)
        return by_words
