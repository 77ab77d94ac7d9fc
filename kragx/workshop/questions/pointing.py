"""Questions that mean nothing without the passage that they were written about."""

import re
import unicodedata

_TEXTS = "글|본문|문서|문단|단락|지문|텍스트|발췌문?|자료|안내문|구절|대목|제시문"
_PARTS = "조항|조문|규정|사례|사건|내용|항목|판결|설명|문장"
_PASSAGE = "text|passage|document|article|paragraph|excerpt|snippet|chapter|page"
_PIECE = (
    f"(?:{_PASSAGE}|section|clause|provision|rule|case|table|context|content|source|sentence)s?"
)
# Hangul that goes on is another word (글씨), but for a particle.
_END = "(?=(?:은|는|이|가|을|를|의|에|과|와|도|로|으로|에서|에는|에서는|이란)?(?![가-힣]))"
_POINTING = re.compile(
    "|".join(
        (
            rf"(?<![가-힣])(?:이|(?:위|앞|아래|다음)의?|상기|제시된|주어진)\s?(?:{_TEXTS}){_END}",
            rf"(?<![가-힣])(?:(?:위|앞|아래|다음)의?|상기|제시된|주어진)\s?(?:{_PARTS}){_END}",
            rf"^(?:이|그|해당|본)\s?(?:{_TEXTS}|{_PARTS}){_END}",
            r"(?<![가-힣])(?:글|본문|지문|문서|텍스트|자료|기사)에\s?(?:따르면|의하면|언급된|나온)",
            r"(?<![가-힣])(?:본문|지문)에서",
            r"(?<![가-힣])(?:글|본문|지문|문서)의?\s(?:주제|요지|제목|목적|저자|글쓴이)",
            rf"\bthis (?:{_PASSAGE})\b",
            rf"\bthe (?:above|following|given|provided|attached) (?:\w+ )?{_PIECE}\b",
            rf"\bthe {_PIECE} (?:above\b|below(?! \w))",
            r"\bthe (?:text|passage|excerpt|snippet)\b(?! message)",
            rf"\baccording to the (?:{_PASSAGE}|author|context|source)\b",
            r"\b(?:mentioned|described|stated|discussed|listed|shown) (?:above|below)\b",
        )
    ),
    re.IGNORECASE,
)


def pointing(question: str) -> str | None:
    """The words by which a question points at its passage ("이 글", "the text"); None for none.

    Only what points at a text is looked for: "이 경우" and "in this case" point at what the
    question itself has told.
    """
    match = _POINTING.search(" ".join(unicodedata.normalize("NFC", question).split()))
    return match[0] if match else None
