"""Personal data in logs: found by patterns that one can read, and masked, the same by the same."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from kragx.data.formats.jsonl import open_text, read_text
from kragx.data.yaml_text import yaml_mapping
from kragx.ground.errors import ConfigError, UsageError, inside, shorten
from kragx.ground.options import OneOf, a_mapping, a_text, check_options, made_of, mistakes_of

_MAYBE = re.compile(r"[@＠]|%40|골뱅이|\bat\b|[(\[{<]a|(?:\d\D{0,5}){7}|공\s?일", re.IGNORECASE)
"""What every text has that holds something to mask by kragx's own patterns."""

_FULL_WIDTH = {0xFF01 + place: 0x21 + place for place in range(94)} | {0x3000: " "}

_SEP = r"[\s.·/_~‐-―−-]"

_BETWEEN = (
    r"(?:[-\s]?1[03])?[\"')\]]*(?:[\s_]*(?:number|no\.?|num|id|code|번호))?[\"')\]]*"
    r"\s*(?:is|was|at|on|[:=#_,.-]|[은는이가로])?[\s:#\"'(\[]*$"
)
"""What may stand between a word and the number that it names."""

_LABELS = {"TEL", "HP", "PH", "FAX", "MOB", "CELL", "PHONE", "MOBILE", "CP"}
_ISSUERS = re.compile(
    r"4\d{12}(?:\d{3})?|5[1-5]\d{14}|(?:222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"
    r"|6(?:011|5\d\d|4[4-9]\d|2\d\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|9\d{15}|62\d{17}"
    r"|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}"
)


def _pattern(value: Any) -> re.Pattern[str]:
    try:
        pattern = re.compile(a_text(value).replace("SEP", _SEP), re.IGNORECASE | re.VERBOSE)
    except re.error as error:
        raise UsageError("no regular expression: {error}", error=error) from None
    # A mask that finds the empty text would be put between all letters.
    if any(not match[0] for match in pattern.finditer("a1 @.")):
        raise UsageError("it finds nothing at all, too; write x+ for x*")
    return pattern


def _words(missing: str, between: str = "") -> Callable[[Any], re.Pattern[str]]:
    """Finds one of some words, with what may stand between; `missing` where a mask has none."""

    def read(value: Any) -> re.Pattern[str]:
        if not isinstance(value, (list, tuple)):
            raise UsageError("a list is expected ({value})", value=shorten(value))
        words = "|".join(re.escape(str(word)) for word in value)
        pattern = rf"(?<![a-z])(?:{words}){between}" if words else missing
        return re.compile(pattern, re.IGNORECASE)

    return read


@dataclass(frozen=True)
class Mask:
    """One kind of personal data.

    Attributes:
        as_: what stands in its place, with a number.
        pattern: finds it.
        check: what a find must satisfy besides (`CHECKS`).
        context, near: words of which one must stand right before, or close.
        not_after, not_near: words of which none may.
    """

    as_: Annotated[str, a_text]
    pattern: Annotated[re.Pattern[str], _pattern]
    check: Annotated[str, OneOf(lambda: CHECKS)] = ""
    context: Annotated[Any, _words("", _BETWEEN)] = ()
    near: Annotated[Any, _words("")] = ()
    not_after: Annotated[Any, _words("(?!)", _BETWEEN)] = ()
    not_near: Annotated[Any, _words("(?!)")] = ()

    def __post_init__(self) -> None:
        check_options(self)

    def is_meant(self, match: re.Match[str]) -> bool:
        """Whether a find is what the mask is for."""
        before = match.string[max(0, match.start() - 40) : match.start()]
        around = f"{before} {match.string[match.end() : match.end() + 25]}"
        is_wanted = self.near.search(around) and self.context.search(before)
        is_other = self.not_near.search(around) or self.not_after.search(before)
        return bool(is_wanted and not is_other) and CHECKS[self.check](match[0], before)


@dataclass
class Masker:
    """Masks texts, and knows what it has masked.

    Attributes:
        masks: one after the other.
        counts: how many finds of each were masked.
    """

    masks: Sequence[Mask]
    is_own: bool = True
    counts: Counter[str] = field(default_factory=Counter, init=False)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict, init=False)
    _last: Counter[str] = field(default_factory=Counter, init=False)

    def text(self, text: str) -> str:
        """A text without what is masked."""
        plain = unicodedata.normalize("NFC", text).translate(_FULL_WIDTH)
        # Most texts have nothing: one search tells so sooner than all of kragx's masks.
        if not self.masks or (not self.is_own and not _MAYBE.search(plain)):
            return text
        masked = plain
        for mask in self.masks:
            before = None
            while masked != before:  # what stood behind a find may be one itself
                before, masked = masked, mask.pattern.sub(partial(self._masked, mask), masked)
        return text if masked == plain else masked

    @property
    def values(self) -> list[tuple[str, str]]:
        """What was masked, each value once, as it is compared."""
        return [*self._numbers]

    def within(self, value: Any) -> Any:
        """A value whose texts are masked, in mappings and lists."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.within(inner) for key, inner in value.items()}
        return [*map(self.within, value)] if isinstance(value, (list, tuple)) else value

    def _masked(self, mask: Mask, match: re.Match[str]) -> str:
        if not mask.is_meant(match):
            return match[0]
        value = mask.as_, _canonical(mask.as_, match[0])
        if value not in self._numbers:
            self._last[mask.as_] += 1
            self._numbers[value] = self._last[mask.as_]
        self.counts[mask.as_] += 1
        return f"[{mask.as_} {self._numbers[value]}]"


def _canonical(name: str, text: str) -> str:
    """What is the same however it is written."""
    text = text.casefold()
    if name == "email":
        name, host = _AT.split(text, maxsplit=1) if _AT.search(text) else (text, "")
        host = _DOT.sub(".", host).replace(".컴", ".com").replace(".넷", ".net")
        return re.sub(r"\s", "", f"{name}@{host}")
    if name == "phone":
        text = _NOT_SAID.sub("0", text.translate(_SPELT))
    digits = re.sub(r"\D", "", text)
    if len(digits) < 7 or re.search(r"[^\W\d_]", text):
        return re.sub(r"\s", "", text)
    return _CODE_1.sub("", digits) if name == "phone" else digits


_AT = re.compile(r"\s?[(\[{<]\s?(?:at|a|@)\s?[)\]}>]\s?|%40|@|\s?[(\[]?골뱅이[)\]]?\s?|\sat\s")
_DOT = re.compile(r"\s?[(\[{<]\s?(?:dot|\.)\s?[)\]}>]\s?|\sdot\s|\s?[점닷]\s?")
_SPELT = str.maketrans("공영일이삼사오육칠팔구", "00123456789")
_NOT_SAID = re.compile(
    r"^\(?(?:(?:\+|00)\s?(?:82|44)|82(?=[\s.)-]))\)?[\s.-]*\(?0?\)?"  # 0 is said within the country
)
_CODE_1 = re.compile(r"^(?:00)?1(?=[2-9]\d{9}$)")


def read_masks(path: Path | None = None) -> Masker:
    """The masks of a file, or kragx's.

    A file that is not there is made with kragx's patterns, to be read and changed.

    Raises:
        ConfigError: a mask cannot be read; each mistake is named with its place.
        DataError: the file cannot be read.
    """
    default = (files("kragx.workshop.logs") / "masks.yaml").read_text("utf-8")
    if path is not None and not path.exists():
        with open_text(path) as file:
            file.write(default)
    text = default if path is None else read_text(path)
    options_of = yaml_mapping(text, str(path), "a mapping of masks by name is expected")
    masks, problems = [], list[str]()
    for name, options in options_of.items():
        try:
            with inside(str(name)):
                filled = {"as": str(name), **a_mapping(options or {})}
                masks += [made_of(Mask, filled)] if options else []
        except UsageError as error:
            problems += map(str, mistakes_of(error))
    if problems:
        raise ConfigError(str(path), problems)
    return Masker(masks, is_own=text != default)


def _is_card(text: str, before: str) -> bool:
    digits = re.sub(r"\D", "", text)
    if not 13 <= len(digits) <= 19:
        return False
    if re.search(r"카드|(?<![a-z])(?:card|cc|visa|amex|mastercard)", before, re.IGNORECASE):
        return True
    is_parted = re.fullmatch(r"\d{4}\D+\d{4}\D+\d{4}\D+\d{4}", text) is not None
    for part in (digits, digits[:16]):
        doubled = [int(digit) * (2 - place % 2) for place, digit in enumerate(part[::-1], start=1)]
        is_luhn = sum(number - 9 * (number > 9) for number in doubled) % 10 == 0
        if is_luhn and (is_parted or _ISSUERS.fullmatch(part)):
            return True
    return False


def _is_resident(text: str, before: str) -> bool:
    digits = re.sub(r"[^\d*xX]", "", text)
    century = {"1": 1900, "2": 1900, "5": 1900, "6": 1900}.get(digits[6], 2000)
    try:
        born = date(century + int(digits[:2]), int(digits[2:4]), int(digits[4:6]))
    except ValueError:
        return False
    if born > date.today():
        return False
    is_told = len(digits) < len(text.strip()) or re.search(r"주민|등록번호|resident", before)
    if is_told or not digits.isdecimal():
        return True
    weights = (*range(2, 10), *range(2, 6))
    total = sum(int(digit) * weight for digit, weight in zip(digits, weights))
    # Thirteen digits may be a moment's in milliseconds, too.
    return int(digits[12]) == (11 - total % 11) % 10 or digits[:2] not in ("16", "17", "18")


def _is_ssn(text: str, before: str) -> bool:
    area, group, serial = re.findall(r"\d+", text)
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def _is_phone(text: str, before: str) -> bool:
    code = re.search(r"(?<![A-Za-z])([A-Z]{2,6})\d*[-_#/]$", before)
    # Digits behind a letter stand within a code: 1Z843A9A0433824048.
    is_code = (code is not None and code[1] not in _LABELS) or re.search(r"\d[A-Z]$", before)
    return not is_code and 7 <= len(re.sub(r"\D", "", text)) <= 15


CHECKS: Mapping[str, Callable[[str, str], bool]] = {
    "": lambda text, before: True,
    "card": _is_card,
    "resident": _is_resident,
    "ssn": _is_ssn,
    "phone": _is_phone,
}
"""What a find must satisfy, given what stands before it."""
