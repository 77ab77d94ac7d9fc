"""Where evidence stands: in a document's source where the corpus says so, else in the document."""

from kragx.data import Doc, value_at


def place_of(document: Doc) -> tuple[str, int]:
    """The source that the characters of a document are counted in, and the place of its first.

    That is what its metadata say (`source` with `start` or `start_index`), unless the end that
    they name does not fit its text; a document that says nothing is its own source. The keys are
    those that coverage reads, so that evidence and what a retriever brings are counted alike.
    """
    text, metadata = document.text or "", document.metadata
    source = value_at(metadata, "source")
    start, end = (_first(document, f"{name}_index", name) for name in ("start", "end"))
    if source is None or start is None or (end is not None and end - start != len(text)):
        return document.id or "", 0
    return str(source), start


def _first(document: Doc, *names: str) -> int | None:
    values = (value_at(document.metadata, name) for name in names)
    value = next((value for value in values if value is not None), None)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
