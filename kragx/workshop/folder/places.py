"""Where a text stands: in the source that the corpus names, else in its own document."""

from kragx.data import Doc, value_at
from kragx.data.forbidden import stretch_of


def place_of(document: Doc) -> tuple[str, int]:
    """The source that the characters of a document are counted in, and the place of its first.

    That is `known_place`; a document that says nothing is its own source.
    """
    return known_place(document) or (document.id or "", 0)


def known_place(document: Doc) -> tuple[str, int] | None:
    """The same where the corpus says it, unless the end that it names does not fit the text."""
    source, start = origin_of(document)
    end = _first(document, "end_index", "end")
    if source is None or start is None:
        return None
    return None if end is not None and end - start != len(document.text or "") else (source, start)


def origin_of(document: Doc) -> tuple[str | None, int | None]:
    """The source of a document, and where in it its first character is; None for the unknown.

    That is what its metadata say (`source`, and `start` or `start_index`): the keys that coverage
    reads, so that evidence and what a retriever brings are counted alike. Else it is what its id
    says, where that is ``document:start-end`` and as long as the text.
    """
    source = value_at(document.metadata, "source") if document.metadata else None
    start = _first(document, "start_index", "start")
    stretch = stretch_of(document.id or "") if source is None or start is None else None
    if stretch is not None and stretch[2] - stretch[1] == len(document.text or ""):
        source = stretch[0] if source is None else source
        start = stretch[1] if start is None else start
    return None if source is None else str(source), start


def _first(document: Doc, *names: str) -> int | None:
    if not document.metadata:
        return None
    values = (value_at(document.metadata, name) for name in names)
    value = next((value for value in values if value is not None), None)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
