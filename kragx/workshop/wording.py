"""What two wordings of one question share: their words, without what is said for politeness.

Left out are case, punctuation that stands beside no digit, and spaces beside Hangul; greetings
before a comma, requests to be told, ``the``, thanks; in Korean polite endings. All else stays in
its place: numbers, signs (``-5``, ``%``, ``≥``), negations, particles, pronouns, ``a`` (a letter,
too), what tells who, when, where, or from what to what.
"""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = re.compile("[\x00\u00ad\u200b-\u200f\u2060\ufeff\ufe00-\ufe0f]")
_SMALL = re.compile("[ª²³¹º¼-¾ʰ-ˣ\u2070-\u209c⅐-ⅿ↉①-⓿❶-➓㉈-㉟㊀-㊿]")
"""What NFKC would make plain digits and letters: ``5²`` is not 52, ``1½`` not 11/2."""

_SAME = str.maketrans("‐‑‒–—―−‘’“”", "-------''\"\"")
_OPENS = re.compile(r"(?:^|(?<=[\s(\[{]))[!.](?=\w)")
"""Before a word these are signs: ``!ready``, ``.NET``."""

_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,]|\.\d{3})")
_PLAIN = r""",:;.?!"()\[\]{}…·、。「」『』'"""
_MARKS = re.compile(
    rf"(?<![^\s\w{_PLAIN}])(?<!\d)[{_PLAIN}]++(?![^\s\w]|\d)|(?<=\d)[,:;.…、。](?=\s|$)|[?.]+$"
    r"|(?<=[a-z]{2})-(?=[a-z]{2})|(?<=[가-힣])-(?=[가-힣])|(?<=[요까])~+(?=\s|$)"
)
"""Plain where neither a digit nor a sign stands beside it."""

_SPACE = re.compile(r"(?<=[가-힣]) (?=\w)|(?<=\w) (?=[가-힣])")
_HANGUL = re.compile("[가-힣]")


_NOT = re.compile(
    r"\b(ca|do|does|did|is|are|was|were|wo|would|could|should|has|have|had|must|need)n't\b"
)
_WHOLE = {"ca": "can", "wo": "will"}
_HELLO = re.compile(
    r"^(?:(?:hi|hello|hey)(?: there| all)?|good (?:morning|afternoon|evening)|excuse me|well|so"
    r"|ok(?:ay)?|um|uh|hmm|안녕하세요|안녕하십니까|실례합니다|수고하십니다|반갑습니다|저기요|저|음"
    r"|문의드립니다|질문 있습니다)\s?[,.!~]+\s"
)
_ASKED = re.compile(
    r"^(?:(?:can|could|would|will) you )?(?:please |kindly )?"
    r"(?:tell me(?: about)?|let me know|explain to me) "
    r"|^(?:can|could|would|will) you (?:please|kindly) "
    r"|^do you know (?=how|where|when|what|which|who|why|if|whether)"
    r"|^i (?:would like|want|need) to know (?:about )?|^(?:please|pls|plz|kindly) "
)
_THANKS = re.compile(
    r"(?:\s?[,.!?] (?:please|pls|plz|thanks?|thank you|thx)"
    r"(?: (?:so|very) much| in advance| a lot)?!?| thanks!)$"
)
_HOW = re.compile(r"\bhow (?:can|do) i\b")
_IS = re.compile(r"\b(what|how|where)'s\b")
_THE = re.compile(r"\bthe ")
_WHAT_IS = re.compile(r"^what ((?:the|my|your|our) .+) (is|are)$")


_TOLD = re.compile(
    r"\s*(?:(?:에 )?대해서?|에 대하여|좀|을|를)?\s*(?:자세히 )?(?:"
    r"(?:알려|말해|말씀해|설명해|가르쳐|안내해)\s*"
    r"(?:줘요?|주세요|주실래요|주시겠(?:어요|습니까)|주실 수 있(?:나요|을까요)|줄래요?"
    r"|주십시오|주시기 바랍니다|주시면 감사하겠습니다)"
    r"|안내 부탁(?:드립니다|드려요|드릴게요|합니다|해요)"
    r"|(?:이|가)?\s*궁금(?:합니다|해요?|하네요|한데요|하여 문의드립니다|해서요)"
    r"|(?:이|가)?\s*알고\s?싶(?:어요?|습니다|은데요)"
    r"|(?:관련\s?)?(?:문의|질문)(?:\s?(?:드립니다|드려요|합니다|해요|있습니다|있어요)))$"
)
_GIVE = re.compile(r"(?<=[가-힣])\s?(?:줘요?|주세요|주십시오)$")
_WHAT = re.compile(
    r"(?:(?:은|는|이|가)\s*|\s+)(?:무엇|뭐|뭔)"
    r"(?:인가요|인지요?|입니까|일까요|이에요|예요|에요|야|죠|이죠|가요|임)?$"
)
# By letters (NFD), as an ending melts into the syllable before it: 합니까 is 하 and ㅂ니까.
_POLITE = re.compile(
    "(?:"
    + unicodedata.normalize("NFD", "습니까|나요|는가요|은가요|어요|아요|에요|지요|죠")
    + "|\u11b8\u1102\u1175\u1101\u1161|\u11ab\u1100\u1161\u110b\u116d)$"
)
_MELTED = {"해요": "하", "돼요": "되", "되요": "되", "하니": "하", "되니": "되", "있니": "있"}
_MELTED |= {"없니": "없", "예요": "이"}


def exact(text: str) -> str:
    """A question as it was written, but for case, punctuation and white space."""
    return _written(_folded(text)) or text.strip()


def gist(text: str) -> list[str]:
    """The words that tell a question from others, in their order."""
    folded = _without_english(_HELLO.sub("", _folded(text)))
    words = _written(folded)
    if _HANGUL.search(words):
        words = _korean(_WHAT.sub(" 무엇", _GIVE.sub(" 줘", _TOLD.sub("", words))))
    return (words or exact(text)).split()


def joined(words: list[str]) -> str:
    """Words written together where Hangul is, as compounds may be; all others stay apart."""
    return _SPACE.sub("", " ".join(words))


def _folded(text: str) -> str:
    """A text without case, and without what tells full-width from plain, or dash from dash."""
    text = _SMALL.sub(" \x00\\g<0>\x00 ", _UNSEEN.sub("", text))
    parts = text.split("\x00")  # every second is a small digit, and stays as it is
    parts[::2] = [unicodedata.normalize("NFKC", part).casefold() for part in parts[::2]]
    whole = " ".join("".join(parts).translate(_SAME).split())
    whole = _OPENS.sub(r"\\\g<0>\\", whole)
    return _THOUSANDS.sub(lambda match: match[0].replace(",", ""), whole)


def _written(folded: str) -> str:
    """A text without punctuation."""
    return " ".join(_MARKS.sub(" ", folded).split())


def _without_english(text: str) -> str:
    text = text.replace("cannot", "can not").replace("e-mail", "email")
    text = _NOT.sub(lambda match: f"{_WHOLE.get(match[1], match[1])} not", text)
    text = _IS.sub(r"\1 is", text).rstrip(" ?.")
    text = _ASKED.sub("", _ASKED.sub("", _THANKS.sub("", text)))
    text = _HOW.sub("how to", _WHAT_IS.sub(r"what \2 \1", text))
    return _THE.sub("", text)


def _korean(words: str) -> str:
    tokens = [word for word in words.split() if word not in ("좀", "혹시")]
    if not tokens:
        return words
    tokens[-1] = _plain_ending(tokens[-1])
    return " ".join(tokens)


def _plain_ending(word: str) -> str:
    """A last word without its polite ending."""
    ending = _MELTED.get(word[-2:])
    if word.endswith("싶습니다"):
        stem = word.removesuffix("습니다")
    elif ending is not None:
        stem = word[:-2] + ending
    else:
        stem = unicodedata.normalize("NFC", _POLITE.sub("", unicodedata.normalize("NFD", word)))
    return {"": word, "얼마이": "얼마", "해": "하", "돼": "되"}.get(stem, stem)
