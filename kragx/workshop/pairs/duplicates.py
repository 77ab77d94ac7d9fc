"""Copies: documents of a corpus that say the same in the same words.

Shown once, judged once: a grade of one is a grade of all of them, and in a release they are one
gold item with alternatives. So nothing is a copy that somebody might grade otherwise: all words are
the same, in the same order. White space, punctuation, case and Unicode form are no difference.
Whoever is shown two of a kind loses seconds; two that are wrongly one spoil a gold set.
"""

from collections import defaultdict
from collections.abc import Mapping
from hashlib import blake2b

from kragx.data import Doc, tokenizer


class Copies:
    """Which documents of a corpus are copies of which; the first of them stands for all.

    Args:
        docs: the corpus, by id; a text without a word is a copy of none.
    """

    def __init__(self, docs: Mapping[str, Doc]) -> None:
        of_words: defaultdict[bytes, list[str]] = defaultdict(list)
        texts = tokenizer("unicode").tokens(doc.text or "" for doc in docs.values())
        for doc_id, words in zip(docs, texts):
            if words:  # a hash: of a large corpus the words are not to be held
                joined = "\x1f".join(words).encode("utf-8", "surrogatepass")
                of_words[blake2b(joined, digest_size=16).digest()].append(doc_id)
        groups = (tuple(members) for members in of_words.values() if len(members) > 1)
        self._members = {member: members for members in groups for member in members}

    def first(self, doc_id: str) -> str:
        """The document that stands for this one: itself where it has no copy."""
        return self.all(doc_id)[0]

    def all(self, doc_id: str) -> tuple[str, ...]:
        """A document and all its copies, the one that stands for them first."""
        return self._members.get(doc_id, (doc_id,))
