"""Porter stems, against NLTK's own for every word."""

from __future__ import annotations

import re
from unittest.mock import patch

from hypothesis import given, strategies as st
from nltk.stem.porter import PorterStemmer

from kragx.data.tokenizers import KragTokenizer, Stems
from tests.thoroughness import examples

NLTK = PorterStemmer()
# What Porter's rules look at, and endings that nothing looks at; NLTK's exceptions.
ENDINGS = re.findall(
    r"\w+",
    """sses ies ss s eed ed ing ied y ational tional enci anci izer bli abli alli entli eli ousli
    ization ation ator alism iveness fulness ousness aliti iviti biliti fulli logi icate ative
    alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion ou ism ate iti
    ous ive ize e ll at bl iz o an ck i a u h 다""",
)
BEGINNINGS = st.text(st.sampled_from("aeiouybcdlnst한"), max_size=6)
WORDS = st.one_of(
    st.builds(
        lambda beginning, ends: beginning + "".join(ends),
        BEGINNINGS,
        st.lists(st.sampled_from(ENDINGS), min_size=1, max_size=3),
    ),
    st.sampled_from(sorted(NLTK.pool)),
    st.text(max_size=8).map(str.lower),
)


@examples(2000)
@given(word=WORDS)
def test_stems_are_those_of_nltk(word: str) -> None:
    """A word of more than three characters has NLTK's stem, and a shorter one is its own."""
    assert Stems()[word] == (NLTK.stem(word) if len(word) > 3 else word)


@examples(300)
@given(forms=st.lists(st.text(st.sampled_from("aO \n\u3000\x1c가"), max_size=6), max_size=3))
def test_forms_are_split_as_by_a_regular_expression(forms: list[str]) -> None:
    """K-RAG splits at runs of white space, so such at an end makes an empty token there.

    Also where forms hold white space, as morphemes of Kiwi may, or there is no form.
    """
    with patch.object(KragTokenizer, "_forms", lambda self, texts: texts):
        (found,) = KragTokenizer("whitespace").tokens([forms])  # type: ignore[list-item]
    assert found == re.split(r"\s+", " ".join(forms).lower())
