"""What an annotator looks for in their own words: BM25 over the corpus."""

from collections.abc import Callable, Mapping

from kragx.data import Doc, tokenizer

MOST = 50
"""So many documents a search shows at most."""


class Search:
    """Finds documents by words, in Korean and English alike, without a model.

    Args:
        docs: the corpus, by id.
        first: what a document is shown as (`Copies.first`), so that of copies one is found.

    Raises:
        MissingExtraError: bm25s is not installed.
    """

    def __init__(
        self, docs: Mapping[str, Doc], first: Callable[[str], str] = lambda doc_id: doc_id
    ) -> None:
        from langchain_core.documents import Document

        from kragx.evaluation.retrievers import Bm25Index

        shown = (doc for doc_id, doc in docs.items() if first(doc_id) == doc_id)
        documents = [Document(doc.text or "", id=doc.id) for doc in shown]
        self._index = Bm25Index(documents, tokenizer("char"), "the workshop's search")

    def best(self, words: str, k: int = 20) -> list[str]:
        """The ids of the documents that share most with these words, best first.

        Equals keep the corpus's order; nothing is found by words that stand nowhere, or by none.
        """
        return [doc.id or "" for doc, _ in self._index.best(words, min(k, MOST))]
