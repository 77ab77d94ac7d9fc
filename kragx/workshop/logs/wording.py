"""What two wordings of one question share: their words, without what is said for politeness.

Left out are case, punctuation and spacing; greetings, requests to be told, articles and helping
verbs; in Korean also polite endings and the particles of topic, subject and object. What remains
stands in its order. Never left out: numbers, dates, negations, signs (``-5``, ``%``, ``$``), and
words that tell who, when, where, which, or from what to what.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable

from rapidfuzz.distance import OSA

from kragx.data.words import words

_MARKS = re.compile(r"[!?;\"()]|[,:.](?!\d)|[.,:]$")
_SIGNS = re.compile(r"[+%$€£¥₩<>=±°²³¹⁰⁴-⁹]|(?<![\w)])[-−](?=\d)")

# -- English ---------------------------------------------------------------------------------------

_NOT = re.compile(
    r"\b(ca|do|does|did|is|are|was|were|wo|would|could|should|has|have|had|must|need)n'?t\b"
)
_WHOLE = {"ca": "can", "wo": "will"}
_SHORT = re.compile(r"(?<=\w)'(?:s|re|ll|d|ve|m)\b")
_HOW = re.compile(
    r"\b(how|where|when|what|which|who|why) (?:can|could|do|does|would|may|to)(?: (?:i|we|you))?\b"
)
_PHRASES = re.compile(
    r"^(?:hi|hello|hey|good (?:morning|afternoon|evening))\b(?: there)?"
    r"|\b(?:(?:can|could|would|will) you )?(?:please )?(?:tell|explain to|let) me(?: know)?"
    r"(?: about)?\b"
    r"|\b(?:can|could|would|will) you (?:please )?(?:help me(?: with| to)?|explain|show me)\b"
    r"|\b(?:i|we) (?:would like|want|need|wish|like|am trying) to(?: (?:know|ask|learn))?"
    r"(?: about)?\b"
    r"|\b(?:do|does) you know\b|\bi (?:wonder|am wondering)\b(?: if| whether)?"
    r"|^i(?= [a-z])|\b(?:thanks?|thank you)(?: (?:so|very) much| in advance| a lot)?$"
)
_PRONOUN = re.compile(
    r"\b(can|could|would|will|do|does|did|should|may|must|shall|am|if|when|that|because|have) i\b"
)
_FILLERS = {"an", "the", "is", "are", "be", "do", "does", "my", "your", "our", "you", "we", "there"}
_FILLERS |= {"please", "pls", "plz", "kindly", "just", "좀", "혹시"}

# -- Korean ----------------------------------------------------------------------------------------

_GREETING = re.compile(r"^(?:안녕하세요|안녕하십니까|실례합니다|저기요|혹시)[\s,.!~]*")
_TOLD = re.compile(
    r"\s*(?:(?:에 )?대해서?|에 대하여|좀|을|를)?\s*(?:자세히 )?(?:"
    r"(?:알려|말해|말씀해|설명해|가르쳐|안내해|보여)\s*"
    r"(?:줘요?|주세요|주실래요|주시겠(?:어요|습니까)|주실 수 있(?:나요|을까요)|줄래요?"
    r"|주시기 바랍니다|주시면 감사하겠습니다)"
    r"|(?:안내 )?부탁(?:드립니다|드려요|드릴게요|합니다|해요)"
    r"|(?:이|가)?\s*궁금(?:합니다|해요?|하네요|한데요|하여 문의드립니다|해서요)"
    r"|(?:이|가)?\s*알고\s?싶(?:어요?|습니다|은데요)"
    r"|(?:관련\s?)?(?:문의|질문)(?:\s?(?:드립니다|드려요|합니다|해요|요|있습니다|있어요)))$"
)
_WHAT = re.compile(
    r"(?:은|는|이|가)?\s*(?:무엇|뭐|뭔|머)(?:인가요|인지요?|입니까|일까요|이에요|예요|에요|야|죠|이죠|가요|임)?$"
)
# By letters (NFD), as an ending melts into the syllable before it: 합니까 is 하 and ㅂ니까.
_POLITE = re.compile(
    "(?:"
    + unicodedata.normalize(
        "NFD",
        "습니까|습니다|나요|는가요|은가요|을까요|는지요?|은지요|어요|아요|여요|에요|예요|지요|네요|죠"
        "|는데요|은데요",
    )
    + "|\u11b8\u1102\u1175[\u1101\u1103]\u1161|\u11af\u1101\u1161\u110b\u116d"
    "|\u11ab(?:\u1100\u1161|\u110c\u1175|\u1103\u1166)\u110b\u116d)$"
)
_MELTED = {
    "해요": "하",
    "해": "하",
    "돼요": "되",
    "돼": "되",
    "되요": "되",
    "하니": "하",
    "되니": "되",
}
_MELTED |= {"있니": "있", "없니": "없"}
_NUMERAL = re.compile("[일이삼사오육칠팔구십백천만억조영공제]+")
_BEFORE_VERBS = re.compile("언제|어떻게|왜|얼마|무엇|뭐|어디|어느|누가|몇|안$|못$")
_DENIES = re.compile("[안않못없불비무미]")
_PARTICLES = {"은": True, "을": True, "이": True, "는": False, "를": False, "가": False}
"""Each with whether it stands behind a consonant."""

_NEGATIONS = {"not", "no", "non", "never", "without", "except", "unless", "nor", "neither", "none"}
_UNTOUCHED = re.compile(
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh"
    "|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million|billion|first"
    "|second|third|(?:four|fif|six|seven|eigh|nin|ten)th|january|february|march|april|june|july"
    "|august|(?:sept|nov|dec)ember|october|(?:mon|tues|wednes|thurs|fri|satur|sun)day|before|after"
    "|cannot|without|except|unless|[월화수목금토일]요일|(?:지난|이번|다음)(?:달|주)"
)
"""Words that are never taken for a misspelling, nor for what was meant by one."""


_DIGITS = re.compile(r"\d+(?:\.\d+)*")
_HANGUL = re.compile("[가-힣]")
_LATIN = re.compile("[a-z]")


def exact(text: str) -> str:
    """A question as it was written, but for case, punctuation and white space."""
    signs = "".join(_SIGNS.findall(text))
    tokens = words(text, is_split=False)
    return " ".join([*tokens, signs] if signs else tokens) or text.strip()


def gist(text: str, known: Container[str] = ()) -> list[str]:
    """The words that tell a question from others.

    Args:
        text: the question.
        known: words that stand by themselves in some question: 이 and 가 are left out behind these
            alone, and before a verb or what asks, as 고양이 is no 고양 with a particle.
    """
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    folded = " ".join(_MARKS.sub(" ", folded).split())
    keeps_a = "A" in text and re.search(r"\S A\b", text) is not None
    if _LATIN.search(folded):
        folded = _without_english(folded)
    is_korean = _HANGUL.search(folded) is not None
    if is_korean:
        folded = _WHAT.sub(" 무엇", _TOLD.sub("", _GREETING.sub("", folded)))
    tokens = words(folded, is_split=False)
    last = len(tokens) - 1
    tokens = [
        token
        for place, token in enumerate(tokens)
        if token not in _FILLERS and (token != "a" or keeps_a or place == last)
    ]
    if is_korean and tokens:
        plain = _plain_ending(tokens[-1])
        tokens = _without_particles([*tokens[:-1], plain], known, plain != tokens[-1])
    signs = "".join(_SIGNS.findall(text))
    return [*(tokens or words(text, is_split=False)), *([signs] if signs else [])]


def joined(tokens: Iterable[str]) -> str:
    """Words written together, as compounds may be; numbers and negations stay apart."""
    return "".join(
        f"|{token}|" if token in _NEGATIONS else _DIGITS.sub(r"|\g<0>|", token) for token in tokens
    )


def is_misspelling(word: str, meant: str) -> bool:
    """Whether a word may be another with one letter too many, too few, wrong, or two swapped.

    Never a number, a date or a negation, nor what begins with another letter; Hangul counts by
    its letters.
    """
    letters, meant_letters = (unicodedata.normalize("NFD", side) for side in (word, meant))
    if letters[:1] != meant_letters[:1] or not (_is_spelt(word) and _is_spelt(meant)):
        return False
    if any(_NUMERAL.fullmatch(side) or _DENIES.search(side) for side in _differing(word, meant)):
        return False
    return OSA.distance(letters, meant_letters, score_cutoff=1) == 1


def _differing(word: str, meant: str) -> tuple[str, str]:
    """What of two words is left without what they begin and end with alike."""
    for _ in range(2):
        n_same = next((n for n, pair in enumerate(zip(word, meant)) if pair[0] != pair[1]), None)
        n_same = min(len(word), len(meant)) if n_same is None else n_same
        word, meant = word[n_same:][::-1], meant[n_same:][::-1]
    return word, meant


def _is_spelt(word: str) -> bool:
    """Whether a word is long enough, of letters, and free to be written wrongly."""
    longest = 3 if _HANGUL.match(word) else 6
    return len(word) >= longest and word.isalpha() and not _UNTOUCHED.fullmatch(word)


def _without_english(text: str) -> str:
    text = text.replace("cannot", "can not")
    text = _NOT.sub(lambda match: f"{_WHOLE.get(match[1], match[1])} not", text)
    text = _SHORT.sub("", text)
    text = " ".join(_PHRASES.sub(" ", " ".join(_PHRASES.sub(" ", text).split())).split())
    return _PRONOUN.sub(r"\1", _HOW.sub(r"\1", text))


def _plain_ending(word: str) -> str:
    """A last word without its polite ending."""
    if (plain := _MELTED.get(word)) is not None:
        return plain
    for ending, plain in _MELTED.items():
        if len(ending) > 1 and word.endswith(ending):
            return word.removesuffix(ending) + plain
    stem = unicodedata.normalize("NFC", _POLITE.sub("", unicodedata.normalize("NFD", word)))
    if stem in ("", word):
        return word
    return stem[:-1] if stem.endswith("이") and len(stem) > 2 else stem


def _without_particles(tokens: list[str], known: Container[str], has_verb: bool) -> list[str]:
    last = len(tokens) - 1
    is_subject = [
        place < last
        and (_BEFORE_VERBS.match(tokens[place + 1]) or (has_verb and place + 1 == last))
        for place in range(len(tokens))
    ]
    bare = [
        _bare(token, known) if token[-1] not in "이가" or is_place else token
        for token, is_place in zip(tokens, is_subject)
    ]
    roles = {token[-1] for token, stem in zip(tokens, bare) if stem != token}
    if roles & {"이", "가"} and roles & {"을", "를"}:  # who does what to whom
        return [token if token[-1] in "이가을를" else stem for token, stem in zip(tokens, bare)]
    return bare


def _bare(word: str, known: Container[str]) -> str:
    """A word without a particle of topic, subject or object."""
    needs_consonant = _PARTICLES.get(word[-1:])
    stem = word[:-1]
    if needs_consonant is None or len(stem) < 2 or "없" in word or _NUMERAL.fullmatch(word):
        return word
    if not _HANGUL.match(stem[-1]) or bool((ord(stem[-1]) - 0xAC00) % 28) != needs_consonant:
        return word
    return word if word[-1] in "이가" and stem not in known else stem
