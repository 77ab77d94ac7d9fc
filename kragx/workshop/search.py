"""What an annotator looks for in their own words: BM25 over the corpus."""

from collections.abc import Callable, Mapping

from kragx.data import Doc, tokenizer

MOST = 50
"""So many documents a search shows at most."""


class PassageIndex:
    """Finds documents by words, in Korean and English alike, without a model.

    Args:
        docs: the corpus, by id.
        first: what a document is shown as (`Copies.first`), so that of copies one is found.

    Raises:
        MissingExtraError: bm25s is not installed.
    """

    def __init__(
        self,
        docs: Mapping[str, Doc],
        first: Callable[[str], str] = lambda doc_id: doc_id,
    ) -> None:
        from kragx.evaluation.retrievers import Bm25Index

        self._shown = [doc_id for doc_id in docs if first(doc_id) == doc_id]
        texts = [docs[doc_id].text or "" for doc_id in self._shown]
        self._index = Bm25Index(texts, tokenizer("char"), "the workshop's search")

    def best(self, words: str, k: int = 20) -> list[str]:
        """The ids of the documents that share most with these words, best first.

        Equals keep the corpus's order; nothing is found by words that stand nowhere, or by none.
        """
        return [self._shown[place] for place, _ in self._index.best(words, min(k, MOST))]
