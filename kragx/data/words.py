"""The words of a text in any script: what the tokenizer `unicode` counts.

NFKC and case folding come first, so that full-width and decomposed letters equal their plain
forms; format characters (soft hyphens, zero-width spaces, joiners, variation selectors) are left
out. A word is then a run of letters, digits and the marks that belong to them. ``C++``, ``C#``,
``F#`` and ``J#`` are words, a point between digits stays in its number (``3.5``, ``3.11.7``), and
what parts thousands does not (``1,000`` is ``1000``; ``813,5`` is ``813.5``). Scripts that write
without spaces, Han, Kana, Thai, Lao, Khmer and Burmese, give one token a character with its marks.
"""

import re
import unicodedata
from functools import cache

RULES = 4
"""The version of the rules of this module; it goes up whenever some text gets other tokens."""

# What stays within a word though it is no letter; control characters stand for it until the
# words are cut.
_NUMBER = re.compile(r"\d+(?:[.,]\d+)+")
# Begun by one literal, these are found many times as fast as `_NUMBER`.
_POINT = re.compile(r"\.(?<=\d\.)(?=\d)")
_COMMA = re.compile(r",(?<=\d,)\d")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMALCOMMA = re.compile(r"\d+,\d{1,2}|0,\d+|\d{1,3}(?:\.\d{3})+,\d+")
_ARABIC = {0x66B: ".", 0x66C: ","}
_KEPT = {"\x01": ".", "\x02": "+", "\x03": "#"}
_RESTORE = str.maketrans(_KEPT)
_NO_SIGNS = str.maketrans(dict.fromkeys(_KEPT, " "))

_WORD = re.compile(r"[^\W_]+")
_WORD_KEEPING = re.compile(r"[\w\x01-\x03]+")
# The same for ASCII, nearly twice as fast: all but letters and digits made white space.
_ASCII = "".join(char if char.isalnum() else _KEPT.get(char, " ") for char in map(chr, range(128)))
_ASCII_FOLDED = _ASCII.lower()

# Latin, Greek, Cyrillic, Hangul syllables, punctuation, symbols: there every letter is one code
# point, and words stand apart. A character beyond them takes the longer road.
_BEYOND = re.compile(
    "[^\x00-\x7f\xa0-\xac\xae-\u02ff\u0370-\u0482\u048a-\u0559\u2010-\u2027\u2030-\u205e"
    "\u20a0-\u20bf\u2100-\u2bff\u3000-\u3004\u3008-\u3020\uac00-\ud7a3\ufffd"
    "\U0001f000-\U0001faff]"
)
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
# Thai, Lao, Burmese, Khmer, Han, Kana: their blocks without their digits.
_UNSPACED = (
    "\u0e00-\u0e4f\u0e5a-\u0ecf\u0eda-\u0eff\u1000-\u103f\u104a-\u108f\u109a-\u109f\u1780-\u17df"
    "\u17ea-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u30ff\u31f0-\u31ff\ua9e0-\ua9ef\ua9fa-\ua9ff"
    f"\uaa60-\uaa7f\uf900-\ufaff\U0001aff0-\U0001b16f{_HAN}"
)
_ANY_UNSPACED = re.compile(f"[{_UNSPACED}]")
_BEGINS = rf"(?:\b|(?<=[{_UNSPACED}]))"  # a word: 用C++写
_PLUS = re.compile(rf"\+\+(?<={_BEGINS}[cC]\+\+)")
_SHARP = re.compile(rf"#(?<={_BEGINS}[cCfFjJ]#)")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


def words(text: str, *, casefold: bool = True, is_split: bool = True) -> list[str]:
    """The words of a text, in order.

    Args:
        text: any text.
        casefold: ignore case.
        is_split: one token a character in scripts that write without spaces; False leaves their
            runs whole.
    """
    if text.isascii():
        return _keep_marks(text).translate(_ASCII_FOLDED if casefold else _ASCII).split()
    if "\u066b" in text or "\u066c" in text:
        text = text.translate(_ARABIC)
    folded = unicodedata.normalize("NFKC", text)
    if casefold:
        folded = folded.casefold()
    patterns: list[re.Pattern[str]] = []
    if _BEYOND.search(folded):
        ignored, *patterns = _patterns(_ASTRAL.search(folded) is not None)
        # Before numbers are read, as it may stand within one. Case folding, and leaving a joiner
        # out, may bring a letter and its mark together.
        folded = unicodedata.normalize("NFKC", ignored.sub("", folded))
    marked = _keep_marks(folded)
    if patterns:
        tokens = patterns[not is_split].findall(marked.replace("_", " "))
    elif marked is folded:
        return _WORD.findall(marked)
    else:
        tokens = _WORD_KEEPING.findall(marked.replace("_", " "))
    if marked is folded:
        return tokens
    return [token if token.isalnum() else token.translate(_RESTORE) for token in tokens]


def unspaced(token: str) -> bool:
    """Whether a token is a character of a script that writes without spaces."""
    return _ANY_UNSPACED.match(token) is not None


def _keep_marks(text: str) -> str:
    """The text with what stays within words in place of what would cut them; itself, if nothing."""
    if (
        "\x01" in text or "\x02" in text or "\x03" in text
    ):  # signs that PDF files have no letter for
        text = text.translate(_NO_SIGNS)
    if _COMMA.search(text):
        text = _NUMBER.sub(_number, text)
    if _POINT.search(text):
        text = _POINT.sub("\x01", text)
    # `in` is several times as fast as a search, of one character most; most texts hold none.
    if "+" in text and "++" in text:
        text = _PLUS.sub("\x02\x02", text)
    if "#" in text:
        text = _SHARP.sub("\x03", text)
    return text


def _number(number: re.Match[str]) -> str:
    """Digits with points and commas: one number, or several that commas part."""
    digits = number[0]
    if _THOUSANDS.fullmatch(digits):
        digits = digits.replace(",", "")
    elif _DECIMALCOMMA.fullmatch(digits):  # 3,5 or 1.234,5, as much of Europe writes
        digits = digits.replace(".", "").replace(",", ".")
    return digits.replace(".", "\x01")


@cache
def _patterns(astral: bool) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """What is left out; a character of a script without spaces or a word, with marks; any word.

    Python's regular expressions have no names for these, so they are looked up in its Unicode
    data, where such characters are: a few thousandths of a second. Texts without characters above
    U+FFFF have patterns of their own, many times as fast: Python makes a table of such classes, and
    walks through a list for what lies above.
    """
    # But for Chinese and Hangul, which have neither.
    codes = [*range(0x80, 0x3400), *range(0xA000, 0xAC00), *range(0xD7A4, 0xD800)]
    codes += range(0xF900, 0x10000)
    if astral:
        codes += (*range(0x10000, 0x20000), *range(0xE0000, 0xE0200))
    letters = [*map(chr, codes)]
    # Variation selectors and the grapheme joiner are marks that nobody sees.
    unseen = {0x34F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE0200)}
    unseen |= {ord(char) for char in letters if unicodedata.category(char) == "Cf"}
    ignored = "".join(char for char in letters if ord(char) in unseen)
    marks = [char for char in letters if unicodedata.category(char)[0] == "M"]
    mark = "".join(char for char in marks if ord(char) not in unseen)
    # In those scripts a mark that stands alone is a character, too.
    unspaced = _ANY_UNSPACED.findall("".join(letters))
    characters = "".join(char for char in unspaced if char.isalnum() or char in mark)
    of_words = "".join(char for char in mark if not _ANY_UNSPACED.match(char))
    return (
        re.compile(f"[{ignored}]+"),
        re.compile(rf"[{_HAN}{characters}][{mark}]*|(?:[^\W{_UNSPACED}]+|[\x01-\x03{of_words}]+)+"),
        re.compile(rf"[\w\x01-\x03{mark}]+"),
    )
