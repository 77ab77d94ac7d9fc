"""What stands word for word in a document matches it, however both are written."""

from __future__ import annotations

import random
import unicodedata

import pytest
from hypothesis import given, strategies as st

from examples.evidence.case import coined, sentence
from examples.evidence.languages import LANGUAGES
from tests.matchers.support import decided
from tests.thoroughness import examples

# A gold text of nothing but white space or half a letter is drawn as well.
pytestmark = pytest.mark.filterwarnings("ignore::kragx.matchers.MatchWarning")

# Each at a word boundary: around a number, too.
BEFORE = ["", " ", "\n", "\t", "(", "[", "{", '"', "'", "“", "‘", "«", "「", "『", "*", "- ", "> "]
BEFORE += ["|", "`", ": ", "/", "…", "—", "**", "\u3000", "\u00a0", "~", "=", "•"]
AFTER = ["", " ", "\n", "\r\n", ")", "]", "}", '"', "'", "”", "’", "»", "」", "』", "*", ".", ". "]
AFTER += [",", ", ", ";", ":", "!", "?", "…", "—", "|", "`", "/", "。", "、", "؟", "،", "।", "**"]
BLANKS = [" ", "  ", "\t", "\u00a0", "\u3000", "\u2009", " \t "]
LINES = ["\n", "\r\n", " \n\t "]
FORMS = ["NFC", "NFD", "NFKC", "NFKD"]


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str, str]:
    """A gold text of 1 to 20 words of one language, and two sentences of any."""
    language = draw(st.sampled_from(list(LANGUAGES.values())))
    rng = random.Random(draw(st.integers(0, 10**6)))
    known = language.places + language.nouns + language.adjectives + language.months
    kinds = [
        lambda: rng.choice(known),
        lambda: coined(language, rng),
        lambda: str(rng.randint(0, 9999)),
        lambda: f"{rng.randint(1000, 10**6):,}",
        lambda: f"{rng.randint(1, 999) / 10}",
    ]
    count = draw(st.integers(1, 20))
    gold = " ".join(rng.choice(kinds)() for _ in range(count))
    around = [sentence(LANGUAGES[draw(st.sampled_from(list(LANGUAGES)))], rng) for _ in range(2)]
    return gold, around[0], around[1]


def matches(gold: str, document: str) -> bool:
    """Whether the default matches the one with the other."""
    return decided("overlap", [document], [gold])[0][0]


@examples(400)
@given(texts(), st.sampled_from(BEFORE), st.sampled_from(AFTER))
def test_what_stands_word_for_word_matches(
    drawn: tuple[str, str, str], before: str, after: str
) -> None:
    """In every script, at the beginning, in the middle and at the end, whatever stands around."""
    gold, left, right = drawn
    surrounded = f"{before}{gold}{after}"
    for document in (surrounded, f"{left} {surrounded}", f"{surrounded} {right}"):
        assert matches(gold, document)
    assert matches(gold, f"{left}\n{surrounded}\n{right}")


@pytest.mark.integration
@examples(400)
@given(
    texts(),
    st.sampled_from(FORMS),
    st.sampled_from(FORMS),
    st.sampled_from([str.upper, str.lower, str.casefold, str.title]),
    st.tuples(st.sampled_from(BLANKS + LINES), st.just(True))
    | st.tuples(st.sampled_from(BLANKS), st.just(False)),
)
def test_how_it_is_written_changes_nothing(
    drawn: tuple[str, str, str], form: str, other: str, case: object, drawn_white: tuple[str, bool]
) -> None:
    """Normal forms, case, and the kind and amount of white space, in either text.

    Where only a part of the gold is inside, the end of a line may be that of a heading, behind
    which other words tell nothing.
    """
    white, inside = drawn_white
    gold, left, right = drawn
    document = f"{left} {gold if inside else gold[: len(gold) // 2]} {right}"
    expected = matches(gold, document)
    for change in (
        lambda text: unicodedata.normalize(form, text),
        case,
        lambda text: white.join(text.split()),
        lambda text: unicodedata.normalize(other, case(white.join(text.split()))),
    ):
        assert matches(change(gold), document) == expected
        assert matches(gold, change(document)) == expected
        assert matches(change(gold), change(document)) == expected
