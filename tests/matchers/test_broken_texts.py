"""Texts with markup, and texts whose words are broken."""

from __future__ import annotations

import random
import re
import runpy
import warnings
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from kragx import evaluate, match_pairs
from kragx.data.tokenizers import CharTokenizer
from kragx.matchers import MatchWarning, overlap
from tests.thoroughness import some

BROKEN = {"method": "overlap", "tokenizer": {"name": "char", "n": 3, "spaces": "ignored"}}

example = SimpleNamespace(
    **runpy.run_path(str(Path(__file__).parents[2] / "examples" / "broken_texts.py"))
)


def f1_of(language, case, match, n=100, seed=1):
    """F1 of a matcher on texts that are broken in one way, and whether it warns of that."""
    text = example.prose(language)
    golds, docs, truth = example.pairs(text, case, seed, n, both=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        records = list(match_pairs(golds, docs, match=match))
    decided = [row[0] for record in records for row in record["matched"]]
    warned = any("look broken" in str(warning.message) for warning in said)
    return example.f1(decided, [yes for of_query in truth for yes in of_query])[2], warned


@pytest.mark.parametrize(
    ("case", "language", "match"),
    some(
        product(
            ["as it is", "Markdown", "HTML", "citation marks"], ["ko", "en"], ["overlap", "span"]
        ),
        11,
    ),
)
def test_markup(case, language, match):
    """Markup costs nearly nothing by default, and nothing is warned of.

    Of enough texts to say so: the prose changes with every edit.
    """
    f1, warned = f1_of(language, case, match, n=300)
    assert f1 >= 0.94
    assert not warned


CASES = pytest.mark.parametrize(
    ("case", "least"), [("30 % of spaces lost", 0.95), ("all spaces lost", 0.93), ("ocr 3 %", 0.95)]
)


@pytest.mark.integration
@CASES
def test_broken_words_in_english(case, least):
    """The default warns, and what the warning names is right.

    Of misread texts it warns in most draws, and the prose changes with every edit.
    """
    draws = range(1, 6 if case == "ocr 3 %" else 2)
    (f1, *_), warnings_of_draws = zip(*(f1_of("en", case, "overlap", seed=n) for n in draws))
    assert 2 * sum(warnings_of_draws) > len(draws)
    mended, warned = f1_of("en", case, BROKEN)
    assert mended >= max(least, f1)
    assert not warned


@pytest.mark.integration
@CASES
def test_broken_words_in_korean(case, least):
    """Compared by characters without spaces they cost little, so nothing is to be done or said.

    Of misread texts a draw of 100 differs from the next by .04.
    """
    draws = [f1_of("ko", case, "overlap", seed=n) for n in range(1, 7)]
    assert sum(f1 for f1, _ in draws) / len(draws) >= least - 0.01
    assert not any(warned for _, warned in draws)


def test_the_warning():
    """It says how many pairs, how much, one of them, and what to do."""
    draw = random.Random(0)
    golds = [" ".join(draw.choices(WORDS, k=20)) for _ in range(9)]
    docs = [[gold.replace(" ", "", 10)] for gold in golds]
    with pytest.warns(MatchWarning, match=r"look broken .*9 pairs .*: char, n: 3, spaces: ignored"):
        evaluate([[gold] for gold in golds], docs)


WORDS = re.findall(
    r"\w+",
    "archive garden river market window letter school bridge kitchen station doctor summer "
    "picture village engine teacher harbour winter paper forest signal mirror",
)


@pytest.mark.parametrize("n", [1, 2_000])
def test_whole_texts(n):
    """Equal texts are no warning, be it one or two thousand; nor are short ones."""
    gold = " ".join(WORDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "texts look broken")
        assert evaluate([[gold]] * n, [[gold]] * n)["recall@10"] == 1.0
        evaluate([["archive garden"]] * 20, [["archivegarden"]] * 20)


def test_a_question_of_many_texts(monkeypatch):
    """Of a question with hundreds of gold texts and documents a few are looked at."""
    asked = []
    read = overlap._runs
    monkeypatch.setattr(overlap, "_runs", lambda letters: asked.append(letters) or read(letters))
    golds = [" ".join(f"{word}{number}" for word in WORDS) for number in range(100)]
    docs = [" ".join(f"{number}{word[::-1]}" for word in WORDS) for number in range(100)]
    assert [*match_pairs([golds], [docs])]
    assert 0 < len(asked) <= 2 * 20 * 20


def test_short_gold_with_markup():
    """An answer is found though its words are emphasised, linked or cited."""
    docs = ["수도는 **서울**이다", "수도는 [서울](https://x.y/z)[1]이다", "수도는 부산이다"]
    (pair,) = match_pairs([["서울"]], [docs], match="phrase")
    assert pair["matched"] == [[True], [True], [False]]
    (pair,) = match_pairs([["수도는 서울"]], [docs], match="overlap")
    assert pair["matched"] == [[True], [True], [False]]


def test_spaces_ignored():
    """N-grams of the letters and digits of the whole text, in any script; short ones stay."""
    tokens = CharTokenizer(3, "ignored").tokens
    assert list(tokens(["a bc d", "abcd", "서울 은, 수도", "a", "", "?!"])) == [
        ["abc", "bcd"],
        ["abc", "bcd"],
        ["서울은", "울은수", "은수도"],
        ["a"],
        [],
        [],
    ]
