"""The documents of a workshop's corpus."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from kragx.data.corpus import Corpus
from kragx.data.documents import Doc
from kragx.workshop.folder.places import place_of


class Documents(Mapping[str, Doc]):
    """The documents of a corpus by id; a stretch of one, ``document:start-end``, is there as well.

    Gold sets and retrievers may name stretches (as `Corpus.text` reads them); to go through all is
    to go through the documents alone.

    Args:
        corpus: has them, and has read them.

    Raises:
        DataError: it cannot be read.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus: Corpus = corpus
        self._docs = corpus.docs
        # Judges see the same stretches again and again, and cutting one looks its document up.
        self._stretch: Callable[[str], Doc | None] = lru_cache(len(self) + 100_000)(self._cut)

    def __getitem__(self, doc_id: str) -> Doc:
        doc = self._docs.get(doc_id) or self._stretch(doc_id)
        if doc is None:
            raise KeyError(doc_id)
        return doc

    def _cut(self, doc_id: str) -> Doc | None:
        text = self.corpus.text(doc_id)
        if text is None:
            return None
        whole_id, _, span = doc_id.rpartition(":")
        whole = self._docs.get(whole_id)
        if whole is None:
            return Doc(doc_id, text)
        source, first = place_of(whole)
        start, end = (first + int(place) for place in span.split("-"))
        position = {"source": source, "start": start, "end": end}
        # `start_index` is read before `start`, and would be the place of the whole document.
        of_whole = {"start_index", "end_index"}
        metadata = {key: value for key, value in whole.metadata.items() if key not in of_whole}
        return Doc(doc_id, text, metadata | position)

    def __iter__(self) -> Iterator[str]:
        return iter(self._docs)

    def __len__(self) -> int:
        return len(self._docs)
