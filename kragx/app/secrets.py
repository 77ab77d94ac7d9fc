"""Secrets: which values of a config and the environment are some, and texts without them."""

from __future__ import annotations

import json
import logging
import os
import re
import traceback
import warnings
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any
from urllib.parse import quote, quote_plus

from kragx.plugins import named_secret, variables

LITERAL = "***"
"""What stands for a secret that a config holds in so many letters."""

# Keys of OpenAI, Hugging Face, GitHub, GitLab, Slack, AWS, Google, Pinecone and others; JWTs.
_ISSUED = re.compile(
    r"\b(?:sk-|hf_|gh[opsur]_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|pcsk_|nvapi-|gsk_|eyJ)"
    r"[\w.=-]{12,}"
)
# Long words are tried at one place alone, or they would take the square of their length.
_AT_RANDOM = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}")
_IN_URL = re.compile(r"(?<=[a-z0-9+.-])://[^\s/:@]*:([^\s/@]+)@", re.I)
_NO_SECRETS = {"true", "false", "none", "null", "empty", "dummy", "test", LITERAL}

_LEAST = 4
"""Shorter values than this are never masked: they would stand in every text."""
_WHOLE = 8
"""Shorter ones than this only as words of their own."""


@dataclass(frozen=True)
class Secrets:
    """Values that no text may show, and texts without them.

    A value is one where the variable or the field is called so (``api_key``, ``ES_PASSWORD``,
    ``token``), where it is the password of a URL, or where it looks like a key: ``sk-...``. Port
    numbers, names of models and the like are none, nor is ``max_tokens``.

    Attributes:
        marks: by value what is shown for it: ``${NAME}``, or `LITERAL`.
        literal: the paths of fields of a config that hold one in so many letters.
    """

    marks: Mapping[str, str] = field(default_factory=dict, repr=False)
    literal: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: object = None) -> Secrets:
        """Those of the environment, and of a config before its variables are put in."""
        marks = {
            value: f"${{{name}}}"
            for name, value in os.environ.items()
            if (named_secret(name) or _ISSUED.fullmatch(value))
            and name not in ("PWD", "OLDPWD")  # of shells: working directories
        }
        for name, value in os.environ.items():
            marks |= dict.fromkeys(_IN_URL.findall(value), f"${{{name}}}")
        literal = []
        for path, name, text in _texts(config):
            if not (names := variables(text)):
                # Of a name that may mean another thing the value has to look like a key.
                if name.endswith("_env"):
                    marks[os.environ.get(text, "")] = f"${{{text}}}"
                elif found := _written_out(name, text):
                    marks |= dict.fromkeys(found, LITERAL)
                    literal.append(path)
            for variable in names:
                value = os.environ.get(variable, "")
                of_url = any(f"${{{variable}}}" in part for part in _IN_URL.findall(text))
                if of_url or named_secret(name) or _AT_RANDOM.search(value):
                    marks[value] = f"${{{variable}}}"
        kept = {value: mark for value, mark in marks.items() if value.lower() not in _NO_SECRETS}
        return cls(kept, tuple(literal))

    def mask(self, text: str) -> str:
        """A text with the name of its variable in place of each secret.

        So is what is made of one: quoted in a URL or a string, in Base64 (a Basic header), and cut
        off before an ellipsis.
        """
        if not self.marks:
            return text
        text = self._plain.sub(lambda match: self._forms[match[0]], text)
        if any(code in text for code in self._codes):
            text = self._coded.sub(lambda match: self._codes[match[1]], text)
        for value, mark in self.marks.items():
            start = -1
            while len(value) > _WHOLE and (start := text.find(value[:_WHOLE], start + 1)) >= 0:
                pairs = zip(value, text[start : start + len(value)])
                end = start + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
                if text.startswith(("...", "…"), end):
                    text = text[:start] + mark + text[end:]
        return text

    def masked(self, value: Any) -> Any:
        """A plain value with `mask` applied to all texts in it."""
        match value:
            case str():
                return LITERAL if self.marks.get(value) == LITERAL else self.mask(value)
            case dict():
                return {key: self.masked(entry) for key, entry in value.items()}
            case list():
                return [self.masked(entry) for entry in value]
            case tuple() if type(value) is tuple:
                return tuple(self.masked(entry) for entry in value)
        return value

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """Around what knows secrets: neither its errors nor its warnings and logs say them."""
        before, show = logging.getLogRecordFactory(), warnings.showwarning

        def masked_record(*args: Any, **options: Any) -> logging.LogRecord:
            record = before(*args, **options)
            with suppress(Exception):  # of a message whose arguments do not fit: logging says so
                text = record.getMessage()
                if (shown := self.mask(text)) != text:
                    record.msg, record.args = shown, ()
            if record.exc_info and record.exc_info[1]:
                record.exc_text = self.mask("".join(traceback.format_exception(record.exc_info[1])))
            return record

        def masked_warning(message: Warning | str, *args: Any, **options: Any) -> None:
            shown = self.mask(str(message))
            show(message if shown == str(message) else shown, *args, **options)

        logging.setLogRecordFactory(masked_record)
        warnings.showwarning = masked_warning
        try:
            yield
        except BaseException as error:
            for one in _chain(error):
                one.args = self.masked(one.args)
                vars(one).update(self.masked(vars(one)))
            raise
        finally:
            logging.setLogRecordFactory(before)
            warnings.showwarning = show

    @cached_property
    def _forms(self) -> dict[str, str]:
        """What is shown for each form in which a secret may stand in a text."""
        return {
            form: mark
            for value, mark in self.marks.items()
            if len(value) >= _LEAST
            for form in _forms_of(value)
        }

    @cached_property
    def _codes(self) -> dict[str, str]:
        """The same for what a secret is within Base64, wherever in it it begins."""
        return {
            code(whole).decode(): mark
            for value, mark in self.marks.items()
            if len(value) >= _WHOLE
            for whole in _triples(value.encode(errors="replace"))
            for code in (b64encode, urlsafe_b64encode)
        }

    @cached_property
    def _plain(self) -> re.Pattern[str]:
        return _any_of(
            re.escape(form) if len(form) >= _WHOLE else rf"(?<!\w){re.escape(form)}(?!\w)"
            for form in sorted(self._forms, key=len, reverse=True)
        )

    @cached_property
    def _coded(self) -> re.Pattern[str]:
        codes = _any_of(map(re.escape, self._codes)).pattern
        return re.compile(rf"(?<![\w+/-])[\w+/-]*?({codes})[\w+/=-]*")


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns) or r"(?!)")


def _forms_of(value: str) -> Iterator[str]:
    yield from (value, value.strip(), repr(value)[1:-1], json.dumps(value)[1:-1])
    yield from (quote(value, safe=safe, errors="replace") for safe in ("", "/"))
    yield quote_plus(value, errors="replace")


def _triples(data: bytes) -> Iterator[bytes]:
    """What of a secret is whole in Base64, where three bytes are four letters."""
    for start in range(3):
        yield data[start : start + (len(data) - start) // 3 * 3]


def _texts(value: object, path: str = "", name: str = "") -> Iterator[tuple[str, str, str]]:
    """Each text in a config, with its path and the name of its field."""
    match value:
        case str():
            yield path, name, value
        case dict():
            for key, entry in value.items():
                yield from _texts(entry, f"{path}.{key}".lstrip("."), str(key))
        case list():
            for position, entry in enumerate(value):
                # [user, password], as clients of search engines take it.
                of_pair = name.lower().endswith("auth") and (len(value), position) == (2, 1)
                yield from _texts(entry, f"{path}[{position}]", "password" if of_pair else "")


def _written_out(name: str, text: str) -> list[str]:
    """The secrets of a text without variables."""
    if text.lower() in _NO_SECRETS:
        return []
    if named_secret(name, surely=True):
        return [text]
    looks_so = _ISSUED.search(text) or (len(text) >= _WHOLE and re.search(r"\d", text))
    if named_secret(name) and looks_so and " " not in text.removeprefix("Bearer "):
        return [text, text.removeprefix("Bearer ")]
    return [*_IN_URL.findall(text), *(match[0] for match in _ISSUED.finditer(text))]


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those that it comes from."""
    seen: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and one not in seen:
            seen.append(one)
            waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    yield from seen
