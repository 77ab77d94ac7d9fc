"""The Korean particle behind a word that is filled in."""

import re
import unicodedata

from kragx.ground.errors import UsageError

# Two ways to write a pair: ``(으)로`` puts more behind a consonant, ``은/는`` has a form for each.
_PAIR = re.compile(
    r"\((?P<more>[가-힣]+)\)(?P<rest>[가-힣]+)|(?P<closed>[가-힣]+)/(?P<open>[가-힣]+)"
)
# A note in brackets at the end, or a mark: the particle goes by the sound before.
_NOT_SPOKEN = re.compile(r"\s*\([^()]*\)$|[\W_]$")
_FINAL_OF_DIGIT = dict(zip("0123456789", ["x", "l", "", "x", "", "", "x", "l", "l", ""]))
"""What the digits' Sino-Korean names end in: a vowel, ``l`` (ㄹ) or another consonant."""
_FINAL_OF_LETTER = {"L": "l", "R": "l", "M": "x", "N": "x"}
"""The same of the letters' names; all others end in a vowel."""
# A short vowel with a stop, as in `cap` or `kick`: Korean writes the stop as a final consonant.
_SHORT = re.compile(r"(?:^|[^aeiou])[aeiou](?:ck|[ckpt])$")
_LATIN = re.compile(r"[A-Za-z]+$")


def josa(word: object, particle: str) -> str:
    """A word with the form of a particle that its last sound asks for.

    >>> josa("환불", "은/는"), josa("배송", "(으)로"), josa("서울", "(으)로"), josa("A4", "이/가")
    ('환불은', '배송으로', '서울로', 'A4가')

    What stands in brackets at the end, and marks, are not spoken. Digits are read as Sino-Korean
    numbers and capital letters by their names; of other Latin words the spelling tells roughly.
    After anything else both forms are written: ``猫은(는)``.

    Args:
        word: what is filled in.
        particle: both forms, the one after a consonant first: ``은/는``, or ``(으)로``.

    Raises:
        UsageError: it is no such pair.
    """
    pair = _PAIR.fullmatch(particle)
    if pair is None:
        problem = f"{particle!r} is no particle"
        raise UsageError(problem, field="josa", remedy="write both forms: 은/는, or (으)로")
    text = unicodedata.normalize("NFC", str(word))
    after_vowel = pair["rest"] or pair["open"]
    after_consonant = (pair["more"] or "") + pair["rest"] if pair["rest"] else pair["closed"]
    final = _final(text)
    if final is None:
        return f"{text}{particle if pair['rest'] else f'{after_consonant}({after_vowel})'}"
    takes_vowel = not final or (final == "l" and after_vowel.startswith("로"))
    return text + (after_vowel if takes_vowel else after_consonant)


def _final(text: str) -> str | None:
    """What a text's last sound is: ``""`` a vowel, ``l`` ㄹ, ``x`` a consonant; None: unknown."""
    before = ""
    while text and text != before:
        before, text = text, _NOT_SPOKEN.sub("", text)
    last = text[-1:]
    if "가" <= last <= "힣":
        number = (ord(last) - ord("가")) % 28
        return "" if not number else "l" if number == 8 else "x"
    if last in _FINAL_OF_DIGIT and last:
        return _FINAL_OF_DIGIT[last]
    latin = _LATIN.search(text)
    return None if latin is None else _final_of_latin(latin[0])


def _final_of_latin(word: str) -> str:
    if word.isupper():
        return _FINAL_OF_LETTER.get(word[-1], "")
    word = word.lower()
    if word.endswith(("l", "le")):
        return "l"
    return "x" if word.endswith(("m", "n", "ng")) or _SHORT.search(word) else ""
