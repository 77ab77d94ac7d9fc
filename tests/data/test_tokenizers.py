"""What each tokenizer makes of a text, and how tokenizers are named, described and refused."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from importlib.metadata import version

import pytest

from kragx import MissingExtraError, UsageError, tokenizer
from kragx.data.tokenizers import CharTokenizer, KiwiTokenizer, RougeTokenizer, describe
from kragx.ground.errors import installing
from tests.matchers.support import CountingTokenizer
from tests.thoroughness import all_cases


def tokens(spec: object, text: str) -> list[str]:
    """The tokens of one text."""
    (found,) = tokenizer(spec).tokens([text])
    return found


def split_at_commas(text: str) -> list[str]:
    """A function that a user may bring."""
    return text.split(",")


UNICODE = f"4 (Unicode {unicodedata.unidata_version})"
NFD = unicodedata.normalize("NFD", "각각 다르다")
HANJA = unicodedata.normalize("NFD", "원고(原告)는 항소했다")


@all_cases(
    ("spec", "text", "expected"),
    [
        ("unicode", "서울(Seoul)은 2024년에", ["서울", "seoul", "은", "2024년에"]),
        ("unicode", NFD, ["각각", "다르다"]),
        ("unicode", "state_of-the art", ["state", "of", "the", "art"]),
        ("unicode", "Ελλάδα 東京タワー", ["ελλάδα", *"東京タワー"]),
        ("unicode", "", []),
        ("unicode", "?! _ …", []),
        ("rouge", "Seoul's 25 districts", ["seoul", "s", "25", "districts"]),
        ("rouge", "서울 25개 구", ["25"]),
        ("rouge", "서울", []),
        (
            {"name": "rouge", "stemmer": True},
            "running districts at sea",
            ["run", "district", "at", "sea"],
        ),
        # Signs that PDF files have for letters that they do not name are no words.
        ("unicode", "\x01 first\x02second \x03", ["first", "second"]),
        ("unicode", "가\x01나 3.5", ["가", "나", "3.5"]),
        # What nobody sees stands within a number as within a word.
        ("unicode", "9,0\u200b00 9,\u200b000 3\u2060.5 c\u200b++", ["9000", "9000", "3.5", "c++"]),
        ("auto", HANJA, ["원고는", "항소했다"]),
        ("whitespace", " Seoul,\t서울!\n수도 ", ["Seoul,", "서울!", "수도"]),
        ("whitespace", NFD, ["각각", "다르다"]),
        ("whitespace", " \n", []),
        ("char", "대한민국 만세", ["대한", "한민", "민국", "만세"]),
        ("char", "A to Zoo", ["a", "to", "zo", "oo"]),
        ({"name": "char", "n": 3}, "대한민국 만세", ["대한민", "한민국", "만세"]),
        ({"name": "char", "n": 1}, "만세!", ["만", "세"]),
        ("char", NFD, ["각각", "다르", "르다"]),
        ("char", "...", []),
        ("unicode", "用C++写，言語C#です", [*"用", "c++", *"写言語", "c#", *"です"]),
        (
            {"name": "krag", "forms": "whitespace"},
            "Running at 서울역에서!",
            ["run", "at", "서울역에서!"],
        ),
        ({"name": "krag", "forms": "whitespace"}, "", [""]),
    ],
)
def test_tokens_by_hand(spec: object, text: str, expected: list[str]) -> None:
    """Each tokenizer gives the tokens that its description promises."""
    assert tokens(spec, text) == expected


@pytest.mark.parametrize("spec", ["unicode", "rouge", "whitespace", "char"])
def test_many_texts_at_once_keep_their_order(spec: str) -> None:
    """A stream of texts, an empty one among them, gives one list for each, in order."""
    texts = ["one two", "", "three", "하나 둘"]
    assert list(tokenizer(spec).tokens(iter(texts))) == [tokens(spec, text) for text in texts]


@all_cases(
    ("spec", "expected"),
    [
        ("unicode", {"name": "unicode", "version": UNICODE, "casefold": True}),
        (
            {"name": "rouge", "stemmer": True},
            {"name": "rouge", "version": version("rouge-score"), "stemmer": True},
        ),
        ("whitespace", {"name": "whitespace", "version": unicodedata.unidata_version}),
        (
            {"name": "char", "n": 3},
            {"name": "char", "version": CharTokenizer.version, "n": 3, "spaces": "kept"},
        ),
        (split_at_commas, {"name": f"{__name__}:split_at_commas"}),
    ],
)
def test_a_description_names_version_and_options(spec: object, expected: dict[str, object]) -> None:
    """What a result records of a tokenizer is its name, its version and its options."""
    assert describe(tokenizer(spec)) == expected


def test_a_foreign_tokenizer_is_described_by_its_import_path() -> None:
    """A tokenizer of the user's own without a name is described by where it comes from."""
    expected = f"{CountingTokenizer.__module__}:CountingTokenizer"
    assert describe(CountingTokenizer()) == {"name": expected}


class VersionedTokenizer(CountingTokenizer):
    """A user's tokenizer that says which version it is."""

    name = "versioned"
    version = "3.1"


def test_a_foreign_tokenizer_may_have_a_name_and_version() -> None:
    """A user's own tokenizer that has a name and a version is described by them."""
    assert describe(VersionedTokenizer()) == {"name": "versioned", "version": "3.1"}


def test_a_tokenizer_object_is_taken_as_it_is() -> None:
    """An object with `tokens` is used itself."""
    chosen = CountingTokenizer()
    assert tokenizer(chosen) is chosen


def test_a_function_is_a_tokenizer() -> None:
    """A plain function from a text to its tokens serves."""
    assert tokens(split_at_commas, "배,사과") == ["배", "사과"]


def test_a_function_whose_tokens_are_no_texts() -> None:
    """Numbers of a vocabulary, say, are refused with the function's name."""
    with pytest.raises(UsageError, match=r"<lambda>: the token 7 is no text"):
        list(tokenizer(lambda text: ["a", 7]).tokens(["a b"]))


def test_import_paths_name_functions_and_classes() -> None:
    """An import path names a function, or a class that is made with the mapping's other options."""
    here = split_at_commas.__module__
    assert tokens(f"{here}:split_at_commas", "배,사과") == ["배", "사과"]
    made = tokenizer({"name": "kragx.tokenizers:CharTokenizer", "n": 3})
    assert made == CharTokenizer(n=3)


@all_cases(
    ("spec", "message"),
    [
        ("unicod", "unknown name 'unicod'; perhaps you meant 'unicode'"),
        ("xyz", "unknown name 'xyz'; valid: auto, unicode, rouge, whitespace, char, kiwi"),
        ({"name": "char", "m": 3}, "unknown argument 'm'"),
        ({"name": "rouge", "stemer": True}, "perhaps you meant 'stemmer'"),
        ({"name": "unicode", "n": 2}, "unknown argument 'n'"),
        ({"name": "krag", "forms": "kiwii"}, "tokenizer.forms: unknown value 'kiwii'; perhaps"),
        ({"n": 2}, "{'n': 2} is not a tokenizer"),
        (7, "7 is not a tokenizer"),
        (None, "None is not a tokenizer"),
        ("no_such_package_here:Tok", "cannot import 'no_such_package_here'"),
        ("kragx.tokenizers:CharTokeniser", "perhaps you meant 'CharTokenizer'"),
        ("kragx.data.text:", "is not an import path"),
    ],
)
def test_a_wrong_name_or_option_is_an_error_with_a_remedy(spec: object, message: str) -> None:
    """What no tokenizer is called, or takes, is refused with the nearest name."""
    with pytest.raises(UsageError) as caught:
        tokenizer(spec)
    assert message in str(caught.value)


@all_cases("n", [0, -1, 1.5, "2", True, None])
def test_n_must_be_a_whole_number_of_at_least_one(n: object) -> None:
    """`char` refuses an n that is no length."""
    with pytest.raises(UsageError, match=r"tokenizer\.n"):
        tokenizer({"name": "char", "n": n})


def test_a_tokenizer_that_gives_too_few_lists_fails() -> None:
    """A tokenizer that skips a text does not shift the tokens of the others."""
    from kragx.data.tokens import TokenCorpus

    class Skipping:
        def tokens(self, texts: Iterable[str]) -> Iterator[list[str]]:
            return (text.split() for text in texts if text)

    with pytest.raises(ValueError, match="shorter"):
        TokenCorpus(Skipping()).add(["", "둘"])


@pytest.fixture(scope="module")
def kiwi() -> KiwiTokenizer:
    """One tokenizer for all: loading the model takes a second."""
    pytest.importorskip("kiwipiepy")
    return KiwiTokenizer()


@pytest.mark.integration
class TestKiwi:
    """The tokenizer `kiwi`, with and without its package."""

    def test_particles_are_tokens_of_their_own(self, kiwi: KiwiTokenizer) -> None:
        """Noun and particle are apart and punctuation is left out."""
        assert tokens(kiwi, "학교에서 친구를 만났다.") == [
            "학교",
            "에서",
            "친구",
            "를",
            "만나",
            "었",
            "다",
        ]

    def test_the_same_noun_with_other_particles_is_shared(self, kiwi: KiwiTokenizer) -> None:
        """A noun is the same token whatever particle follows, which `unicode` cannot see."""
        assert set(tokens(kiwi, "도서관에서")) & set(tokens(kiwi, "도서관으로")) == {"도서관"}
        assert not set(tokens("unicode", "도서관에서")) & set(tokens("unicode", "도서관으로"))

    def test_latin_letters_are_lower_cased(self, kiwi: KiwiTokenizer) -> None:
        """Latin words are lower-cased, so KTX and ktx are the same token."""
        assert tokens(kiwi, "KTX") == tokens(kiwi, "ktx") == ["ktx"]

    def test_decomposed_text_gives_the_same_tokens(self, kiwi: KiwiTokenizer) -> None:
        """NFD gives the tokens of NFC."""
        text = "한강은 서울을 지난다"
        assert tokens(kiwi, unicodedata.normalize("NFD", text)) == tokens(kiwi, text)

    def test_a_batch_equals_one_by_one(self, kiwi: KiwiTokenizer) -> None:
        """Many texts at once give the same tokens in the same order as each alone."""
        texts = [
            f"{n}번 버스는 {'서울역' if n % 2 else '시청'}에 {n}분 뒤에 온다" for n in range(40)
        ]
        texts[7] = texts[23] = ""
        texts[11] = "?!"
        assert list(kiwi.tokens(iter(texts))) == [tokens(kiwi, text) for text in texts]

    def test_the_description_names_kiwi_and_its_model(self, kiwi: KiwiTokenizer) -> None:
        """Both versions that change tokens are recorded."""
        described = describe(kiwi)
        assert described["name"] == "kiwi"
        for package in ("kiwipiepy", "kiwipiepy_model"):
            assert version(package) in described["version"]

    def test_options_are_described(self) -> None:
        """An option that was given is recorded, one that was not is left out."""
        pytest.importorskip("kiwipiepy")
        described = describe(tokenizer({"name": "kiwi", "typos": "basic"}))
        assert described["typos"] == "basic"
        assert "model_type" not in described

    def test_without_the_package_the_error_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without kiwipiepy the first use names the extra to install."""
        monkeypatch.setitem(sys.modules, "kiwipiepy", None)
        with pytest.raises(MissingExtraError, match=re.escape(installing("korean"))):
            tokens("kiwi", "학교")


def test_rouge_options_are_part_of_equality() -> None:
    """Tokenizers with the same options are equal, so settings can be compared."""
    assert tokenizer({"name": "rouge", "stemmer": True}) == RougeTokenizer(stemmer=True)
    assert tokenizer("rouge") != RougeTokenizer(stemmer=True)
