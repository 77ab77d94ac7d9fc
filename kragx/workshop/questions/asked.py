"""Questions that are there already, to tell whether another one is new."""

from collections import Counter
from collections.abc import Iterable

from kragx.data.gold import Query
from kragx.data.words import words
from kragx.workshop.questions.leak import content_words

ALIKE = 0.8
"""Questions of which one has all content words of the other, and at most this much is the larger
one's share of them, are told apart; above it they are one question asked twice."""


class Asked:
    """Questions by their words."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts: set[str] = set()
        self._words: list[frozenset[str]] = []
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """One more question."""
        self._texts.add(" ".join(words(text)))
        self._words.append(content_words(text))

    def __contains__(self, text: object) -> bool:
        """Whether a question is there: in the same words, or in content words that are nearly all.

        Marks, case and Unicode's forms do not matter. Two that differ in what they are about, as
        those made of one template do, are two.
        """
        if " ".join(words(str(text))) in self._texts:
            return True
        content = content_words(str(text))
        return bool(content) and any(
            (content <= words or words <= content)
            and len(content & words) >= ALIKE * len(content | words)
            for words in self._words
        )


def uses_of(existing: Iterable[Query]) -> Counter[str]:
    """How many questions were made from each document, by its id."""
    lists = (query.metadata.get("sources") for query in existing)
    sources = (entry for entry in lists if isinstance(entry, list | tuple))
    return Counter(str(source) for of_query in sources for source in of_query)
