"""A text as it is read for comparing: `plain` for all, and `reading` for spans.

Written-out line ends (a backslash and an n, r or t) become spaces, and markup is left out (see
`markup`). For spans what a pipeline put around a text goes too, then NFC and lower case follow.

Removed at the beginning and the end of a text, never within it:

* tags such as ``<Document id="3">`` ... ``</Document>`` (`TAGS`), with the elements that they hold
  before the text: ``<source>``, ``<page>`` and the like (`FIELDS`);
* a line that numbers a document: ``[Document 3]``, ``Document 3:``, ``문서 3``;
* lines such as ``Source: a.pdf`` or ``page_label: 4``, directly after such a tag or line, or above
  a blank line.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

from kragx.data.phrases import SHORT
from kragx.data.tokenizers import Passages
from kragx.metrics.spans.markup import without_markup
from kragx.metrics.spans.rows import RUN

TAGS = (
    "document|documents|doc|docs|context|contexts|passage|chunk|page_content|document_content|"
    "content|text"
)
FIELDS = (
    "source|page|page_label|page_number|file_name|file_path|filename|title|url|id|doc_id|chunk_id|"
    "score|metadata|출처|페이지|제목|파일명"
)

_TAG = rf"</?(?:{TAGS})(?:\s[^<>]*)?/?>"
_FIELD = rf"<(?:{FIELDS})(?:\s[^<>]*)?>[^<>]*</(?:{FIELDS})>"
_LABEL = r"(?:document|doc|passage|chunk|context|문서|청크|단락)\s*\#?\s*\d+"
_NUMBERED = rf"(?:\[\s*{_LABEL}\s*\]:?|{_LABEL}\s*:|{_LABEL}[^\S\n]*(?=\n))"
_LINE = rf"(?:{FIELDS})[^\S\n]*:[^\n]*\n"
_OPENING = re.compile(
    rf"\s*(?:(?:{_TAG}|{_NUMBERED})\s*(?:(?:{_FIELD}|{_TAG}|{_LINE})\s*)*|(?:{_LINE})+[^\S\n]*\n)",
    re.IGNORECASE,
)
_CLOSING = re.compile(rf"{_TAG}\s*", re.IGNORECASE)
_WRITTEN_OUT = re.compile(r"\\[nrt]")


@dataclass(frozen=True)
class SpanOptions:
    """How texts are read and compared for coverage, density and iou: the metrics' options.

    Keys name metadata. Paths such as ``loc.start`` are read too; of several keys,
    ``start_index|start``, the first that is there counts.

    Attributes:
        run, bridge, short: as for `kragx.metrics.spans.align.align`.
        offsets: exact spans where metadata have them (``auto``), or never (``off``).
        tokenizer: the name of a tokenizer.
        passages: what `auto` compares texts by: ``words``, or ``characters``, letters with spaces
            ignored; an evaluation chooses it by the script of its gold.
        source: the key of the id of a text's source.
        start: the key of the place of the text's first character in it (LangChain's
            ``start_index``).
        end: the key of the place after its last one; where it is absent, `start` and the text's
            length.
    """

    run: int = RUN
    bridge: int = 0
    short: int = SHORT
    offsets: str = "auto"
    tokenizer: str = "auto"
    source: str = "source"
    start: str = "start_index|start"
    end: str = "end_index|end"
    passages: Passages = "words"

    def by(self, passages: Passages | None) -> SpanOptions:
        """The same by what an evaluation compares passages by."""
        return replace(self, passages=passages or "words") if self.tokenizer == "auto" else self


def plain(text: str) -> str:
    """The text as a reader sees it: without markup, line ends that are written out as such."""
    return without_markup(written_in(text))


def reading(text: str, *, markup: bool = False) -> str:
    """The text as it is read for spans.

    Args:
        text: any text.
        markup: keep markup, as a budget that counts what a model reads does.
    """
    text = inside(text)
    if not markup:
        text = without_markup(text)
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).lower()


def inside(text: str) -> str:
    """What stands inside the wrappers of a text, with the letters as they are written.

    Written-out line ends have become white space of the same length, so it is as long as in its
    source.
    """
    text = written_in(text)
    opening = _OPENING.match(text)
    begin, end = opening.end() if opening else 0, len(text)
    # From the last bracket alone: a search from every place would take long in a long text.
    while (place := text.rfind("<", begin, end)) >= 0 and _CLOSING.fullmatch(text, place, end):
        end = place
    return text[begin:end]


def written_in(text: str) -> str:
    r"""The text with written-out line ends (``\n``, ``\r``, ``\t``) as white space, as long."""
    if "\\" not in text:
        return text
    return _WRITTEN_OUT.sub(lambda mark: " \n" if mark[0] == "\\n" else "  ", text)
