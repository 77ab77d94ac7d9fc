"""Secrets: which values of a config and the environment are some, and texts without them."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self
from urllib.parse import unquote

from kragx.ground.plugins import named_secret, variables

LITERAL = "***"
"""What stands for a secret that a config holds in so many letters."""

# Keys of OpenAI, Hugging Face, GitHub, GitLab, Slack, AWS, Google, Pinecone and others; JWTs.
_ISSUED = re.compile(
    r"\b(?:sk-|hf_|gh[opsur]_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|pcsk_|nvapi-|gsk_|eyJ)"
    r"[\w.=-]{12,}"
)
_IN_URL = re.compile(r"(?<=[a-z0-9+.-])://([^\s/?#]*)@", re.I)
_IN_QUERY = re.compile(r"(?<=[?&])([\w-]{1,40})=([^\s&#\"'<>]*[^\s&#\"'<>.,;:)])")
# Of connection strings: ``Server=h;Password=x``, ``host=h password='x y'``, ``?user=u&password=x``.
_PAIR = re.compile(
    r"(?:^|[;&?\s])([A-Za-z][\w -]{0,39}?)\s?=\s?(\"[^\"]*\"|'[^']*'|\{[^}]*\}|[^\s;&\"']+)"
)
# The same with commas between, as in ``host:6380,password=x,ssl=True``.
_LISTED_PAIR = re.compile(r",\s?([A-Za-z]\w{0,39})=([^\s,;&\"']+)")
# What tools tell people to write where a server wants no key, and values that are switches.
_NO_SECRETS = {
    *("true", "false", "none", "null", "empty", "dummy", "test", LITERAL),
    *("sk-no-key-required", "sk-dummy", "sk-fake", "sk-xxx", "sk-1234", "token-abc123"),
    *("fake-api-key", "your-api-key", "your_api_key", "your-api-key-here"),
}
_HEADERS = {"headers", "default_headers", "extra_headers"}
_PLAIN_HEADERS = {"accept", "content-type", "user-agent", "referer", "http-referer", "x-title"}
"""Headers that tell who asks and in what form; each other one may be a secret."""
_HEADER = "authorization"
"""What each other header is called here."""

_LEAST = 4
"""Shorter values than this are never masked: they would stand in every text."""
_WHOLE = 8
"""Shorter ones than this only as words of their own."""
_WORD = 12
"""What is shorter and but letters is a word (``local``, ``lm-studio``), and kept in texts."""


@dataclass(frozen=True)
class Secrets:
    """Values that no text may show, and texts without them.

    A value is one where the variable or the field is called so (``api_key``, ``ES_PASSWORD``,
    ``token``), where it is the password of a URL or stands in a header, or where it looks like a
    key: ``sk-...``. Port numbers, names of models and the like are none, nor is ``max_tokens``. A
    value that is a word (``local``, ``ollama``) hides nothing, and stays where texts have it.

    Attributes:
        marks: by value what is shown for it: ``${NAME}``, or `LITERAL`.
        literal: the paths of fields of a config that hold one in so many letters.
    """

    marks: Mapping[str, str] = field(default_factory=dict, repr=False)
    literal: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: object = None) -> Secrets:
        """Those of the environment, and of a config before its variables are put in."""
        marks: dict[str, str] = {}
        for name, value in os.environ.items():
            # What shells call PWD and OLDPWD are working directories.
            is_secret = named_secret(name) and name not in ("PWD", "OLDPWD")
            values = [value] if is_secret or _ISSUED.fullmatch(value) else []
            marks |= dict.fromkeys([*values, *_passwords(value)], f"${{{name}}}")
        literal = []
        for path, name, text in texts_in(config):
            names = variables(text)
            if not names and name.endswith("_env"):
                marks[os.environ.get(text, "")] = f"${{{text}}}"
            elif not names and (spellings := _written_out(name, text)):
                marks |= dict.fromkeys(spellings, LITERAL)
                literal.append(path)
            passwords = [*_IN_URL.findall(text), *_connecting(text)]
            for variable in names:
                if named_secret(name) or any(f"${{{variable}}}" in part for part in passwords):
                    marks[os.environ.get(variable, "")] = f"${{{variable}}}"
        return cls(_kept_marks(marks), tuple(literal))

    def also(self, values: Iterable[str]) -> Secrets:
        """These and others, of which no variable is known."""
        new = [value for value in values if value and value not in self.marks]
        return replace(self, marks=_kept_marks({**dict.fromkeys(new, LITERAL), **self.marks}))

    def mask(self, text: str) -> str:
        """A text with the name of its variable in place of each secret.

        The password of any URL is masked, too, and what is called a key in it (``?key=``).
        """
        if "://" in text:
            text = _IN_URL.sub(self._login, text)
            text = _IN_QUERY.sub(self._parameter, text)
        if any(form in text for form in self._written):
            text = self._pattern.sub(lambda match: self._written[match[0]], text)
        return text

    def _login(self, match: re.Match[str]) -> str:
        """What stands before the host in a URL, without its password."""
        user, colon, password = match[1].rpartition(":")
        is_user = not colon and _is_word(password)
        if is_user or not password or password.startswith("${"):
            return match[0]
        return f"://{user}{colon}{self.marks.get(password, LITERAL)}@"

    def _parameter(self, match: re.Match[str]) -> str:
        """A parameter of a URL, without its value if that is a secret."""
        name, value = match.groups()
        if not named_secret(name) or value.startswith("${"):
            return match[0]
        return f"{name}={self.marks.get(value, LITERAL)}"

    def masked(self, value: Any, field: str = "") -> Any:
        """A plain value with `mask` applied to all texts in it.

        Of headers variables are shown by their names, and of other values next to none.

        Args:
            value: the value.
            field: what it is called where it stands.
        """
        match value:
            case str():
                text = LITERAL if self.marks.get(value) == LITERAL else self.mask(value)
                return LITERAL if field == _HEADER and not variables(text) else text
            case dict():
                return {
                    key: self.masked(entry, _called(key, field)) for key, entry in value.items()
                }
            case list():
                return [self.masked(entry) for entry in value]
            case tuple() if type(value) is tuple:
                return tuple(self.masked(entry) for entry in value)
        return value

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """Around what knows secrets: its errors do not say them."""
        try:
            yield
        except BaseException as error:
            for cause in _chain(error):
                cause.args = self.masked(cause.args)
                vars(cause).update(self.masked(vars(cause)))
            raise

    @cached_property
    def _written(self) -> dict[str, str]:
        """What is shown for each secret that stands in no text by chance."""
        return {
            value: mark
            for value, mark in self.marks.items()
            if len(value) >= _LEAST and not _is_word(value)
        }

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        forms = (
            re.escape(form) if len(form) >= _WHOLE else rf"(?<!\w){re.escape(form)}(?!\w)"
            for form in sorted(self._written, key=len, reverse=True)
        )
        return re.compile("|".join(forms) or r"(?!)")


def _kept_marks(marks: Mapping[str, str]) -> dict[str, str]:
    return {value: mark for value, mark in marks.items() if value.lower() not in _NO_SECRETS}


def _is_word(value: str) -> bool:
    """Whether a value is one or two words, or a short number, as texts have them by chance."""
    if value.isdecimal():
        return len(value) < _WHOLE
    parts = re.split(r"[-_. ]", value)
    return len(value) < _WORD and all(
        part.isalpha() and part in (part.lower(), part.upper(), part.title()) for part in parts
    )


def _passwords(text: str) -> Iterator[str]:
    """The passwords of a text's URLs, with their users too, and those of connection strings."""
    for login in _IN_URL.findall(text):
        user, colon, password = login.partition(":")
        if colon or not _is_word(user):
            yield from (login, password) if colon else (login,)
    yield from _connecting(text)


class BareUrl(str):
    """A URL without the user and password in it, which stand aside.

    Attributes:
        login: user and password as they are; None if there are none.
    """

    login: tuple[str, str] | None

    def __new__(cls, url: str) -> Self:  # noqa: D102
        match = _IN_URL.search(url)
        address = super().__new__(cls, _IN_URL.sub("://", url, count=1))
        address.login = getattr(url, "login", None)
        if match is not None:
            user, _, password = match[1].partition(":")
            address.login = unquote(user), unquote(password)
        return address

    @property
    def basic(self) -> str | None:
        """The header `Authorization` that says the login; None without one."""
        return self.login and f"Basic {b64encode(':'.join(self.login).encode()).decode()}"


def secrets_in(value: object) -> Iterator[str]:
    """The secrets among the fields of a client, an object's or a mapping's: keys, headers, logins.

    Texts under the names of secrets, what pydantic calls one, and the logins of URLs.
    """
    for _, called, text in texts_in(value):
        if isinstance(text, BareUrl) and text.login is not None:
            password = text.login[1]
            yield from (password, ":".join(text.login), str(text.basic).removeprefix("Basic "))
        yield from _passwords(text)
        if named_secret(called):
            yield from (text, text.removeprefix("Bearer "))


def _called(key: object, field: str) -> str:
    """What an entry is called whose mapping stands in a field."""
    is_header = field.lower() in _HEADERS and str(key).lower() not in _PLAIN_HEADERS
    return _HEADER if is_header else str(key)


def texts_in(value: object, path: str = "", name: str = "") -> Iterator[tuple[str, str, str]]:
    """Each text in a value, with its path and the name of its field."""
    reveal = getattr(value, "get_secret_value", None)  # of what pydantic calls a secret
    if callable(reveal):
        value, name = reveal(), "secret"
    match value:
        case str():
            yield path, name, value
        case Mapping():
            for key, entry in value.items():
                yield from texts_in(entry, f"{path}.{key}".lstrip("."), _called(key, name))
        case list() | tuple():
            for position, entry in enumerate(value):
                # [user, password], as clients of search engines take it.
                of_pair = name.lower().endswith("auth") and len(value) == 2
                called = ("", "password")[position] if of_pair else name
                yield from texts_in(entry, f"{path}[{position}]", called)


def _written_out(name: str, text: str) -> list[str]:
    """The secrets of a text without variables."""
    if text.lower() in _NO_SECRETS:
        return []
    within = [*_passwords(text), *(match[0] for match in _ISSUED.finditer(text))]
    return [text, text.removeprefix("Bearer "), *within] if _is_secret(name, text) else within


def _is_secret(name: str, text: str) -> bool:
    """Whether a value is one: of a name that may mean another thing it has to look like a key."""
    if named_secret(name, surely=True):
        return True
    looks_so = _ISSUED.search(text) or (len(text) >= _WHOLE and re.search(r"\d", text))
    return named_secret(name) and bool(looks_so) and " " not in text.removeprefix("Bearer ")


def _connecting(text: str) -> Iterator[str]:
    """The passwords and keys of a connection string."""
    for name, value in (*_PAIR.findall(text), *_LISTED_PAIR.findall(text)) if "=" in text else ():
        bare = value[1:-1] if value[0] in "\"'{" else value
        called = name.strip().replace(" ", "_")
        if _is_secret(called, bare) or (variables(bare) and named_secret(called)):
            yield from {value, bare}


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those that it comes from."""
    causes: list[BaseException] = []
    waiting = [error]
    while waiting:
        cause = waiting.pop()
        if cause is not None and cause not in causes:
            causes.append(cause)
            waiting += [cause.__cause__, cause.__context__, *getattr(cause, "exceptions", ())]
    yield from causes
