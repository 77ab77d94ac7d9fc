"""Tokenizers: what the ROUGE matchers and BM25 count.

| name         | tokens                                                                         |
|--------------|--------------------------------------------------------------------------------|
| `auto`       | `unicode`; passages of mostly Hangul by three characters, spaces ignored       |
| `unicode`    | words and numbers of any script, NFKC, case folded; see `words`                |
| `rouge`      | rouge-score's own: ASCII letters and digits only, optionally Porter-stemmed    |
| `whitespace` | what stands between white space, as it is                                      |
| `char`       | character n-grams of the same words; a word of n or less stays whole           |
| `kiwi`       | Korean morphemes by Kiwi, lower-cased, punctuation left out (extra `korean`)   |
| `krag`       | what K-RAG 0.0.32 counts (profile krag)                                        |
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.metadata import version
from itertools import chain
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, Literal, Protocol, runtime_checkable

from kragx.data.words import RULES, words
from kragx.ground import options, plugins
from kragx.ground.errors import UsageError, inside, nearest, needing, shorten
from kragx.ground.printing import message

_SHORT = 3
"""rouge-score, and so K-RAG, leaves words of so many characters as they are."""

# In one of these ends every word that some rule changes: what the rules replace, by its last
# letters, and the words with a stem of their own. NLTK takes ten times as long to find that out.
_ENDINGS = (
    *("s", "e", "y", "ed", "ing", "al", "er", "ic", "ant", "ent", "ion", "ou", "ism", "ful", "ll"),
    *("nci", "li", "iti", "logi", "ator"),
)


class Stems(dict[str, str]):
    """The stems of words in lower case.

    Examples:
        >>> from kragx.data.tokenizers import Stems
        >>> [*map(Stems().__getitem__, ["relational", "running", "as", "seoul"])]
        ['relat', 'run', 'as', 'seoul']
    """

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer

        self._porter: Any = PorterStemmer()

    def __missing__(self, word: str) -> str:
        is_stemmed = len(word) > _SHORT and word.endswith(_ENDINGS)
        stem: str = self._porter.stem(word) if is_stemmed else word
        self[word] = stem
        return stem


@runtime_checkable
class Tokenizer(Protocol):
    """Turns texts into tokens; many at once, so that a slow one can work in batches.

    Examples:
        >>> from kragx import Tokenizer, tokenizer
        >>> words = tokenizer("unicode")
        >>> isinstance(words, Tokenizer)
        True
        >>> list(words.tokens(["Two words", "서울역에서"]))
        [['two', 'words'], ['서울역에서']]
    """

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the list of tokens of each text, in order."""
        ...


@dataclass(frozen=True)
class UnicodeTokenizer:
    """The words of any script; `kragx.data.words` says what a word is.

    Attributes:
        casefold: ignore case.
    """

    casefold: bool = True
    name: ClassVar[str] = "unicode"
    version: ClassVar[str] = f"{RULES} (Unicode {unicodedata.unidata_version})"
    """That of the rules, and the Unicode version that says what a letter is."""

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the list of tokens of each text, in order."""
        return map(words if self.casefold else partial(words, casefold=False), texts)


Passages = Literal["words", "characters"]

# The reading stands before the bracket, so that what it holds says the same once more.
_HANJA = re.compile(
    r"(?<=[가-힣])[(（\[][\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\s·,]{1,40}[)）\]]"
)


@dataclass(frozen=True)
class AutoTokenizer:
    """The words of `unicode`, and what passages are compared by, which their script decides.

    Korean compounds are written together or apart, so where gold is mostly Hangul passages are
    compared by three characters, with spaces ignored. Hanja in brackets behind its reading is left
    out: 원고(原告).

    Attributes:
        passages: ``words``, or ``characters``; None for what suits the gold of an evaluation.
    """

    passages: Passages | None = None
    name: ClassVar[str] = "auto"
    version: ClassVar[str] = f"1, words {UnicodeTokenizer.version}"

    def __post_init__(self) -> None:
        options.check_options(self)

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the list of words of each text, in order."""
        return map(words, map(without_hanja, texts))


def without_hanja(text: str) -> str:
    """A text without Hanja in brackets behind its Hangul reading."""
    # A search costs many times what looking for a bracket does, and most texts have none.
    if text.isascii() or not ("(" in text or "（" in text or "[" in text):
        return text
    return _HANJA.sub("", unicodedata.normalize("NFC", text))


@dataclass(frozen=True)
class RougeTokenizer:
    """rouge-score's own tokenizer: everything but ASCII letters and digits is white space.

    A text in another script has no tokens at all; kragx counts such texts and warns.
    """

    stemmer: bool = False
    name: ClassVar[str] = "rouge"

    @property
    def version(self) -> str:
        """The version of rouge-score."""
        return version("rouge-score")

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the list of tokens of each text, in order."""
        from rouge_score.tokenize import tokenize

        # rouge-score asks its stemmer for `stem` alone; here each distinct word is stemmed once.
        stemmer = SimpleNamespace(stem=Stems().__getitem__) if self.stemmer else None
        return (tokenize(text, stemmer) for text in texts)


@dataclass(frozen=True)
class WhitespaceTokenizer:
    """What stands between white space, in NFC, case and punctuation kept."""

    name: ClassVar[str] = "whitespace"
    version: ClassVar[str] = unicodedata.unidata_version
    """The Unicode version that says what white space is."""

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the list of tokens of each text, in order."""
        return (unicodedata.normalize("NFC", text).split() for text in texts)


@dataclass(frozen=True)
class CharTokenizer:
    """Character n-grams inside the words of a text; a word of n or less stays whole.

    Runs of scripts that write without spaces are not cut into characters before.

    Attributes:
        n: characters of an n-gram.
        spaces: ``kept``, or ``ignored``: n-grams of the letters and digits of the whole text as one
            word, for texts whose spaces were lost or put in.
    """

    n: Annotated[int, options.whole(1)] = 2
    spaces: Literal["kept", "ignored"] = "kept"
    name: ClassVar[str] = "char"
    version: ClassVar[str] = UnicodeTokenizer.version

    def __post_init__(self) -> None:
        options.check_options(self)

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the list of n-grams of each text, in order."""
        for text in texts:
            runs = words(text, is_split=False)
            if self.spaces == "ignored":
                runs = [*filter(None, ["".join(runs)])]
            yield [*chain.from_iterable(map(self._cut, runs))]

    def _cut(self, run: str) -> Iterable[str]:
        """The n-grams of a word."""
        n = self.n
        # A text is the sequence of its letters as it stands.
        if n == 1:
            return run
        return [run[start : start + n] for start in range(max(1, len(run) - n + 1))]


LETTERS = CharTokenizer(1, "ignored")
"""A letter a token, with spaces ignored."""


@dataclass(frozen=True)
class KiwiTokenizer:
    """Korean morphemes by Kiwi (the package kiwipiepy, extra `korean`).

    Also K-RAG's class of this name: `tokenize` returns Kiwi's own tokens of one text.

    Raises:
        MissingExtraError: on first use, if kiwipiepy is not installed.
    """

    model_type: str | None = None
    typos: str | None = None
    name: ClassVar[str] = "kiwi"

    @property
    def version(self) -> str:
        """The versions of Kiwi and of its model: both change tokens."""
        with needing("korean", "the tokenizer 'kiwi'"):
            return f"{version('kiwipiepy')} (model {version('kiwipiepy_model')})"

    @cached_property
    def kiwi(self) -> Any:
        """The `kiwipiepy.Kiwi` behind this tokenizer, loaded once a process for its options."""
        with needing("korean", "the tokenizer 'kiwi'"):
            from kiwipiepy import Kiwi
        return _loaded(Kiwi, self.model_type, self.typos)

    def tokenize(self, text: str) -> Any:
        """Kiwi's own tokens of one text, with form, tag and position (as K-RAG's class)."""
        return self.kiwi.tokenize(text)

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the lower-cased forms of each text's morphemes, punctuation left out, in order."""
        # Kiwi knows whole syllables: what macOS writes in single letters it cuts otherwise.
        composed = (unicodedata.normalize("NFC", text) for text in texts)
        for morphemes in self.kiwi.tokenize(composed):
            forms = (morpheme.form.lower() for morpheme in morphemes)
            yield [form for form in forms if any(map(str.isalnum, form))]


@cache
def _loaded(kiwi: Any, model_type: str | None, typos: str | None) -> Any:
    """A Kiwi with its model: seconds to load and much memory, so equal tokenizers share one."""
    return kiwi(model_type=model_type, typos=typos)


@dataclass(frozen=True)
class KragTokenizer:
    """What K-RAG 0.0.32 counts: a tokenizer's forms, then korouge-score's treatment of them.

    The forms are joined by spaces, lower-cased, split at white space, and Porter-stemmed if longer
    than 3 characters; an empty text has one empty token. Nothing is normalised.

    Attributes:
        forms: ``kiwi`` (morphemes, as `kiwipiepy.Kiwi()` gives them), ``whitespace``, or ``nltk``
            (its `word_tokenize`; needs NLTK's own data, which kragx does not download).
    """

    forms: Literal["kiwi", "whitespace", "nltk"] = "kiwi"
    name: ClassVar[str] = "krag"

    def __post_init__(self) -> None:
        options.check_options(self)

    @property
    def version(self) -> str:
        """The version of what gives the forms, and of NLTK's stemmer."""
        of_forms = f"{KiwiTokenizer().version}, " if self.forms == "kiwi" else ""
        return f"{of_forms}nltk {version('nltk')}"

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the list of tokens of each text, in order."""
        stem = Stems().__getitem__
        for forms in self._forms(texts):
            text = " ".join(forms).lower()
            # Behind white space at an end, and in an empty text, stands one more token.
            is_within = text and not (text[0].isspace() or text[-1].isspace())
            yield [*map(stem, text.split() if is_within else re.split(r"\s+", text))]

    def _forms(self, texts: Iterable[str]) -> Iterator[list[str]]:
        if self.forms == "kiwi":
            return ([m.form for m in text] for text in KiwiTokenizer().kiwi.tokenize(texts))
        return map(str.split if self.forms == "whitespace" else _nltk_words, texts)


def _nltk_words(text: str) -> list[str]:
    from nltk import word_tokenize

    try:
        return word_tokenize(text)  # type: ignore[no-any-return]
    except LookupError as error:
        raise UsageError(
            "tokenizer 'krag' with forms 'nltk': NLTK's data 'punkt_tab' is not installed; "
            "python -m nltk.downloader punkt_tab"
        ) from error


@dataclass(frozen=True)
class FunctionTokenizer:
    """A plain function from a text to its tokens."""

    function: Callable[[str], Iterable[str]]

    @property
    def name(self) -> str:
        """The function's import path."""
        module = getattr(self.function, "__module__", "?")
        return f"{module}:{getattr(self.function, '__qualname__', repr(self.function))}"

    def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the list of tokens of each text, in order.

        Raises:
            UsageError: a token is no text.
        """
        for text in texts:
            tokens = list(self.function(text))
            if strays := [token for token in tokens if not isinstance(token, str)]:
                raise UsageError(
                    "{name}: the token {value} is no text", name=self.name, value=shorten(strays[0])
                )
            yield tokens


TOKENIZERS: Mapping[str, Callable[..., Tokenizer]] = {
    "auto": AutoTokenizer,
    "unicode": UnicodeTokenizer,
    "rouge": RougeTokenizer,
    "whitespace": WhitespaceTokenizer,
    "char": CharTokenizer,
    "kiwi": KiwiTokenizer,
    "krag": KragTokenizer,
}
"""Every built-in tokenizer by its name."""


def tokenizer(spec: object, *, field: str = "tokenizer") -> Tokenizer:
    """The tokenizer that a name, a mapping, an import path, a function or a tokenizer stands for.

    Args:
        spec: what stands for a tokenizer.
        field: where it stands, for errors.

    Raises:
        UsageError: there is no such tokenizer, or it does not take these options.

    Examples:
        >>> from kragx import tokenizer
        >>> tokenizer("unicode")
        UnicodeTokenizer(casefold=True)
        >>> tokenizer({"name": "char", "n": 3})
        CharTokenizer(n=3, spaces='kept')
    """
    if isinstance(spec, Tokenizer) and not isinstance(spec, type):
        return spec
    if callable(spec) and not isinstance(spec, type):
        return FunctionTokenizer(spec)
    with inside(field, kind=UsageError):
        options = dict[str, Any](spec if isinstance(spec, Mapping) else {"name": spec})
        name = options.pop("name", spec)
        if not isinstance(name, str):
            problem = message("{spec!r} is not a tokenizer", spec=name)
            raise UsageError(problem, remedy=nearest("", TOKENIZERS))
        if ":" in name:
            # What an import path leads to may be a function, or whatever else stands for one.
            return tokenizer(plugins.build(name, options, takes_one=True), field="")
        if name not in TOKENIZERS:
            problem = message("unknown name {name!r}", name=name)
            raise UsageError(problem, remedy=nearest(name, TOKENIZERS))
        plugins.check_arguments(TOKENIZERS[name], options, repr(name))
        return TOKENIZERS[name](**options)


def describe(tokenizer: Tokenizer) -> dict[str, Any]:
    """What a result records of a tokenizer: name, version and options."""
    return {
        "name": options.shown_name(tokenizer),
        **({"version": tokenizer.version} if hasattr(tokenizer, "version") else {}),
        **({} if isinstance(tokenizer, FunctionTokenizer) else options.options_of(tokenizer)),
    }
