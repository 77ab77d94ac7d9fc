"""A text as it is read for comparing: `plain` for all, and `reading` for spans.

Written-out line ends (a backslash and an n, r or t) become spaces, and markup is left out. For
spans what a pipeline put around a text goes too, then NFC and lower case follow.

Removed at the beginning and the end of a text, never within it:

* tags such as ``<Document id="3">`` ... ``</Document>`` (`TAGS`), with the elements that they hold
  before the text: ``<source>``, ``<page>`` and the like (`FIELDS`);
* a line that numbers a document: ``[Document 3]``, ``Document 3:``, ``문서 3``;
* lines such as ``Source: a.pdf`` or ``page_label: 4``, directly after such a tag or line, or above
  a blank line.

Markup is left out wherever it stands:

* Markdown: the address of a link or picture (``[text](https://...)``), emphasis and code marks that
  touch a letter (``**서울**은``), footnotes (``[^1]``), definitions of links;
* HTML and XML: tags, comments, scripts and style sheets; entities become their characters. A tag
  that a chunk's end has cut is left out too;
* citation marks at the end of a word of prose: ``[12]``, ``[3, 4]``, ``[citation needed]``, raised
  numbers;
* hyphens at line ends, with the line end.

Code stays as it is, between backticks and outside: ``List<String>``, ``a < b and c > d``,
``**kwargs``, ``#include <stdio.h>``, ``argv[1]``, ``table[i](x)``. What could be either is code,
except XML, which is markup. Other marks (``#``, ``>``, ``|``, ``*`` between spaces) are no letters,
so no tokenizer reads them as words, and they stay.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from html.entities import html5

from kragx.data.phrases import SHORT
from kragx.data.tokenizers import Passages
from kragx.metrics.spans.rows import RUN

TAGS = (
    "document|documents|doc|docs|context|contexts|passage|chunk|page_content|document_content|"
    "content|text"
)
FIELDS = (
    "source|page|page_label|page_number|file_name|file_path|filename|title|url|id|doc_id|chunk_id|"
    "score|metadata|출처|페이지|제목|파일명"
)

_WRAPPER = rf"</?(?:{TAGS})(?:\s[^<>]*)?/?>"
_FIELD = rf"<(?:{FIELDS})(?:\s[^<>]*)?>[^<>]*</(?:{FIELDS})>"
_LABEL = r"(?:document|doc|passage|chunk|context|문서|청크|단락)\s*\#?\s*\d+"
_NUMBERED = rf"(?:\[\s*{_LABEL}\s*\]:?|{_LABEL}\s*:|{_LABEL}[^\S\n]*(?=\n))"
_LINE = rf"(?:{FIELDS})[^\S\n]*:[^\n]*\n"
_OPENING = re.compile(
    rf"\s*(?:(?:{_WRAPPER}|{_NUMBERED})\s*(?:(?:{_FIELD}|{_WRAPPER}|{_LINE})\s*)*|(?:{_LINE})+[^\S\n]*\n)",
    re.IGNORECASE,
)
_LAST_WRAPPER = re.compile(rf"{_WRAPPER}\s*", re.IGNORECASE)
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
    while (place := text.rfind("<", begin, end)) >= 0 and _LAST_WRAPPER.fullmatch(text, place, end):
        end = place
    return text[begin:end]


def written_in(text: str) -> str:
    r"""The text with written-out line ends (``\n``, ``\r``, ``\t``) as white space, as long."""
    if "\\" not in text:
        return text
    return _WRITTEN_OUT.sub(lambda mark: " \n" if mark[0] == "\\n" else "  ", text)


Match = re.Match[str]

_RAISED_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_TO_RAISED = str.maketrans("0123456789", _RAISED_DIGITS)


def without_markup(text: str) -> str:
    """The text without its markup; itself, if it has none of the characters that make some."""
    # `in` for one character is many times as fast as a search, or as `in` for two.
    signs = {*filter(text.__contains__, "<[*`~&-")}
    raised = not text.isascii() and _has_raised(text)
    if not (signs or raised):
        return text
    # The patterns know whole syllables, and macOS writes single letters of Hangul.
    text = unicodedata.normalize("NFC", text)
    code: list[str] = []
    # Code is put aside first, so that nothing in it is taken for markup.
    if "`" in signs:
        text = _CODE.sub(_put_aside(code), text)
    if "[" in signs:
        text = _without_brackets(text)
    if "<" in signs:
        text, raised = _without_tags(text), raised or "</sup" in text
    if not signs.isdisjoint("*~"):
        text = _EMPHASIS.sub(_emphasised, text)
    if raised:
        text = _RAISED.sub(_strip_citation, text)
    if raised or "-\n" in text or "- " in text or "-\r" in text:
        text = _LINE_END.sub("", _HYPHEN_IN_LINE.sub("", text))
    # Entities last: a bracket that was written as one is text, and no tag.
    if "&" in signs:
        text = _ENTITY.sub(_character, text)
    if code:
        text = _ASIDE.sub(lambda mark: _put_back(mark, code), text)
    return text


def _has_raised(text: str) -> bool:
    """Whether a raised digit stands in a text, or a hyphen of the end of a line."""
    return (  # a fourth of the time of `any`, or of a search
        "⁰" in text
        or "¹" in text
        or "²" in text
        or "³" in text
        or "⁴" in text
        or "⁵" in text
        or "⁶" in text
        or "⁷" in text
        or "⁸" in text
        or "⁹" in text
        or "\xad" in text
        or "\u2010" in text
    )


_CODE = re.compile(
    r"```.*?(?:```|\Z)|(?<![\w`])`(?!`)(?=\S)([^`\n]{1,100})(?<=\S)`(?!`)|"
    r"(?<=[^\x00-\x7f])`(?=\S)([^`\n]{1,100})(?<=\S)`(?!`)",
    re.DOTALL,
)
# Code points for private use around a number.
_ASIDE = re.compile("\ue0f0(\\d+)\ue0f1")


def _put_back(mark: Match, code: list[str]) -> str:
    number = int(mark[1])
    return code[number] if number < len(code) else mark[0]


def _put_aside(code: list[str]) -> Callable[[Match], str]:
    def aside(mark: Match) -> str:
        inner = mark[1] or mark[2]
        # Between words the marks are no letters; in one word, as with a particle, they go.
        touches = mark.string[mark.end() : mark.end() + 1] > "\x7f"
        code.append(inner if inner and touches else mark[0])
        return f"\ue0f0{len(code) - 1}\ue0f1"

    return aside


_TARGET = r"[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*"
_LINK = re.compile(
    rf"!?\[([^\[\]]{{0,500}})\]\(\s*<?({_TARGET})>?(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*(?:\)|\Z)"
)
_ADDRESS = re.compile(
    r"(?:https?|ftp|file|mailto|tel|data):|www\.|[/#]|\.{1,2}/|"
    r"[\w%~+.-]+(?:/[\w%~+.-]*)+|[\w%~+.-]+\.(?:md|html?|pdf|png|jpe?g|gif|svg|webp|com|org|net|io|kr)\b",
    re.IGNORECASE,
)
_SURE_ADDRESS = re.compile(r"\w+://|mailto:|www\.")
_CODE_BEFORE = re.compile(r"[A-Za-z0-9_)\]]")
_DEFINITION = re.compile(r"^[ ]{0,3}\[[^\[\]\n]+\]:\s+<?\w+://\S+.*$", re.MULTILINE)
_REFERENCE = re.compile(r"(?<![\w\])])\[([^\[\]\n]*[^\W\d_]{2}[^\[\]\n]*)\]\[([^\[\]\n]*)\](?!\[)")
_WIKI = re.compile(r"\[\[(?:[^\[\]|\n\s][^\[\]|\n]*\|)?([^\[\]|\n\s][^\[\]|\n]*)\]\]")
# An address that begins before the chunk.
_CUT_ADDRESS = re.compile(r"\A(?=\S*(?:/|\?\w+=|%[0-9A-F]{2}))[^\s()\[\]<>{}\"';,]{1,300}\)")

_NUMBERS = r"\d{1,3}(?:\s?[,;\u2013-]\s?\d{1,3})*"
_CITATION = re.compile(
    rf"(?:\[(?:{_NUMBERS}|citation needed|출처 필요|(?:각주|주|note)\s?\d+|\^[\w-]{{1,30}})\])+"
    r"(?![*+?{(\[=])",
)
# Measured by examples/citation_marks.py.
_PROSE_WORDS = 3
_CODE_SIGNS = re.compile(
    r"[={}_<>\\|]|\(\)|::|;\s*$|\s[+*/%&^]\s|\*\*|/\*|\w\(|^(?:\t| {4}|\s*(?:#|//|>>>))"
)
_WORD_END = re.compile(r"[\s\[\]()\"']")


def _without_brackets(text: str) -> str:
    if "](" in text:
        for _ in range(2):  # a picture may be the text of a link
            text = _LINK.sub(_link, text)
    if ")" in text:
        text = _CUT_ADDRESS.sub("", text)
    if "]:" in text:
        text = _DEFINITION.sub("", text)
    if "][" in text:
        text = _REFERENCE.sub(r"\1", text)
    if "[[" in text:
        text = _WIKI.sub(_wiki, text)
    return _CITATION.sub(_citation, text)


def _link(mark: Match) -> str:
    """The text of a link; `table[i](x)` and `[](auto x)` are none."""
    address = _SURE_ADDRESS if _CODE_BEFORE.match(_before(mark)) else _ADDRESS
    return mark[1] if address.match(mark[2]) else mark[0]


def _wiki(mark: Match) -> str:
    return mark[0] if mark[0].isascii() and "|" not in mark[0] else mark[1]


def _citation(mark: Match) -> str:
    """Nothing for a citation mark; an index such as `argv[1]` or a list `[1]` stays.

    In Latin script a mark ends a sentence or a word as prose has them, in a line without signs of
    code. No list of sources begins with 0.
    """
    text, place = mark.string, mark.start()
    before = text[max(0, place - 2) : place]
    last = before[-1:]
    if not last or last.isspace() or mark[0][1] == "0":
        return mark[0]
    if last > "\x7f":
        return ""
    if last in ".,;!?":
        ends_sentence = before[0].isalnum() or before[0] in ")\"'"
        return "" if ends_sentence and _ends(text, mark.end(), "") else mark[0]
    if not (last in ")\"'%" or _is_word(_WORD_END.split(text[max(0, place - 40) : place])[-1])):
        return mark[0]
    start = max(0, place - 150)
    line = text[max(text.rfind("\n", start, place) + 1, start) : mark.end() + 150].split("\n")[0]
    is_prose = len(line.split()) >= _PROSE_WORDS and not _CODE_SIGNS.search(line)
    return "" if is_prose and _ends(text, mark.end()) else mark[0]


def _is_word(text: str) -> bool:
    """Whether prose has such a word, or number; not `xs`, `a1` or `myList`."""
    parts = re.split(r"[-/'\u2019]", text)
    is_cased = all(part.isalpha() and (part[1:].islower() or part.isupper()) for part in parts)
    return (is_cased and (len(text) > 2 or text.isupper())) or text.replace(",", "").isdigit()


def _ends(text: str, place: int, marks: str = ".,:!?)'\"") -> bool:
    """Whether a text goes on there as prose does after a word: with a space or one of the marks."""
    return place >= len(text) or text[place].isspace() or text[place] in marks


_VALUE = r"""(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=`{}()]+)"""
_FLAG = (
    "allowfullscreen|async|autofocus|autoplay|checked|controls|defer|disabled|hidden|itemscope|loop|"
    "multiple|muted|noshade|novalidate|nowrap|open|readonly|required|reversed|selected"
)
_ATTRIBUTE = rf"\s+(?:[\w:@.-]+\s*=\s*{_VALUE}|(?:{_FLAG})(?=[\s/>]))"
_UNSEEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[|<(script|style)\b[^<>]*>.*?(?:</\1\s*>|\Z)|<\?xml[^<>]*\?>|"
    r"<!DOCTYPE[^<>]*>",
    re.DOTALL | re.IGNORECASE,
)
_SUP = re.compile(
    r"<sup(?:\s[^<>]*)?>(?:<[^<>]*>){0,3}\s*(\[?)(\d{1,3})\]?\s*(?:<[^<>]*>){0,3}</sup\s*>", re.I
)
_TAG = re.compile(rf"<(?:/([A-Za-z][\w:.-]*)\s*|([A-Za-z][\w:.-]*)((?:{_ATTRIBUTE})*)\s*/?)>")
_CLOSING = re.compile(r"</([A-Za-z][\w:.-]*)")
# A tag that the text's end cuts, or its beginning.
_CUT_TAG = re.compile(
    rf"<[A-Za-z][\w:.-]*(?:{_ATTRIBUTE})*(?:\s+[\w:@.-]+\s*=\s*(?:\"[^\"<>]*|'[^'<>]*))?\s*\Z"
)
_TAIL_OF_TAG = re.compile(
    rf"\A(?:[^<>\"'\n]{{0,300}}|[\w:-]*=\"[^\"<>\n]*)\"(?:{_ATTRIBUTE})*\s*/?>"
)

_INLINE = frozenset(
    {"a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins"}
    | {"kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt"}
    | {"u", "var", "wbr"}
)
# Without attributes these are tags after a letter too: what follows `List` is never one of them.
_SURE = frozenset(
    {"br", "hr", "wbr", "li", "td", "tr", "th", "dd", "dt", "tbody", "thead", "blockquote"}
    | {"h1", "h2", "h3", "h4", "h5", "h6"}
)
_KNOWN = (
    _INLINE
    | _SURE
    | {
        *("address", "article", "aside", "body", "caption", "center", "col", "colgroup", "details"),
        *("dialog", "div", "dl", "fieldset", "figcaption", "figure", "footer", "form", "h", "html"),
        *("head", "header", "hgroup", "iframe", "img", "legend", "main", "menu", "nav", "noscript"),
        *("ol", "p", "pre", "section", "summary", "table", "tfoot", "title", "ul"),
    }
)


def _without_tags(text: str) -> str:
    text = _UNSEEN.sub(" ", text)
    text = _SUP.sub(lambda mark: "" if mark[1] else mark[2].translate(_TO_RAISED), text)
    if ">" in text:
        if '">' in text or '"/>' in text or '" ' in text:
            text = _TAIL_OF_TAG.sub("", text)
        closed = frozenset(_CLOSING.findall(text))
        text = _TAG.sub(lambda mark: _tag(mark, closed), text)
    place = text.rfind("<")
    if place >= 0 and "=" in text[place:] and _CUT_TAG.match(text, place):
        text = text[:place]
    return text


def _tag(mark: Match, closed: frozenset[str]) -> str:
    """Nothing for a tag within a line, a space for one that ends it; a type's argument stays."""
    name = mark[1] or mark[2]
    lower = name.lower()
    if mark[1] is None and not _is_tag(mark, name, lower, closed):
        return mark[0]
    return "" if lower in _INLINE else " "


def _is_tag(mark: Match, name: str, lower: str, closed: frozenset[str]) -> bool:
    attributes = mark[3]
    if attributes:
        return lower in _KNOWN or '"' in attributes or "'" in attributes
    if name not in (lower, name.upper()) or lower not in _KNOWN:
        return name in closed
    before = _before(mark)
    follows_word = before.isascii() and (before.isalnum() or before == "_")
    if lower in _SURE or not follows_word:
        # A lone capital, as in `new <T>`, is a type's name.
        return name == lower or len(name) > 1 or name in closed
    return name in closed


_EMPHASIS = re.compile(
    r"(?<![*\\A-Za-z0-9_)\]])(\*{1,3}|~~)(?=[^\s*])([^*~\n]{1,300})(?<=[^\s*])\1(?!\*)"
)
_RAISED = re.compile(f"[{_RAISED_DIGITS}]+(?:[,\u2009][{_RAISED_DIGITS}]+)*")
_LINE_END = re.compile(r"(?<=[^\W\d_A-Z]{2})[-\xad\u2010][ \t]*\r?\n[ \t]*(?=[^\W\d_A-Z])")
_HYPHEN_IN_LINE = re.compile(
    r"(?<=[a-z]{2})- (?=[a-z]{2})(?!(?:and|or|to|nor|und|oder|bis|et|ou|del?)\b)"
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")


def _emphasised(mark: Match) -> str:
    """Emphasised letters that go on in the same word, without the marks."""
    after = mark.string[mark.end() : mark.end() + 1]
    before = _before(mark)
    # In Latin script emphasis ends with the word, and `**kwargs` stands in code.
    return mark[2] if any(char > "\x7f" and char.isalpha() for char in after + before) else mark[0]


def _strip_citation(mark: Match) -> str:
    """Nothing for a citation mark; a power such as `km²` or `10⁻³` stays."""
    before = mark.string[max(0, mark.start() - 4) : mark.start()]
    last = before[-1:]
    is_mark = "\u3040" <= last <= "\ud7a3" or (last and last in '.,;!?"”’」』')
    return "" if is_mark or (len(before) == 4 and before.isalpha()) else mark[0]


def _character(mark: Match) -> str:
    is_known = mark[0][1] == "#" or mark[0][1:] in html5
    return html.unescape(mark[0]) if is_known else mark[0]


def _before(mark: Match) -> str:
    """The character before; empty at the beginning."""
    return mark.string[max(0, mark.start() - 1) : mark.start()]
