"""Labels that nobody gives: pairs whose places in their sources are both known match or do not."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kragx.agreement.label_files import Label, shares_half
from kragx.matchers import MatchItem

_Stretch = tuple[str, int, int]  # source, start, end


def of_metadata(items: Iterable[MatchItem]) -> Iterator[Label]:
    """A label of each pair of document and gold item both of which say where they were taken from.

    They say it in metadata: ``source``, ``start_index`` and, if it is not where the text ends,
    ``end_index``, in characters. A match shares at least half of the characters of either.
    """
    for item in items:
        golds = [_stretch(gold.text, gold.metadata) for gold in item.query.gold]
        for rank, doc in enumerate(item.docs, start=1):
            chunk = _stretch(doc.text, doc.metadata)
            for number, gold in enumerate(golds, start=1):
                if chunk is not None and gold is not None:
                    yield Label(float(_match(chunk, gold)), item.query.id, rank=rank, gold=number)


def _match(chunk: _Stretch, gold: _Stretch) -> bool:
    (source, start, end), (gold_source, gold_start, gold_end) = chunk, gold
    return source == gold_source and shares_half(
        min(end, gold_end) - max(start, gold_start), end - start, gold_end - gold_start
    )


def _stretch(text: str | None, metadata: Mapping[str, Any]) -> _Stretch | None:
    source, start = metadata.get("source"), metadata.get("start_index")
    end = metadata.get("end_index", None if text is None or start is None else start + len(text))
    if source is None or not isinstance(start, int) or not isinstance(end, int) or end <= start:
        return None
    return str(source), start, end
