"""Answers of 6 to 12 words are looked for as a whole, letter by letter, with letters misread."""

from __future__ import annotations

import unicodedata
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from rapidfuzz.distance import Indel

from kragx import match_pairs
from kragx.data import TokenCorpus
from kragx.data.lists import Lists
from kragx.data.tokenizers import AutoTokenizer
from kragx.matchers import MatchWarning
from kragx.matchers.overlap import wholes
from tests.thoroughness import all_cases

ANSWER = "the old grey bridge over the river Lorne"
KOREAN = "로른 강을 건너는 오래된 회색 다리 하나"


def score(doc: str, gold: str) -> float:
    """What the default matcher says of a document and one gold text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)  # of documents without words
        (pair,) = match_pairs([[gold]], [[doc]], match="overlap")
    found = pair["scores"][0][0]
    return 0.0 if found is None else float(found)


@all_cases(
    ("doc", "gold"),
    [
        (ANSWER, ANSWER),
        (f"We saw {ANSWER}, and left.", ANSWER),
        (f"WE SAW {ANSWER.upper()}.", ANSWER),
        (f"우리는 {KOREAN}를 보았다", KOREAN),
        (unicodedata.normalize("NFD", f"우리는 {KOREAN}를 보았다"), KOREAN),
        (f"우리는 {KOREAN}를 보았다", unicodedata.normalize("NFD", KOREAN)),
    ],
)
def test_an_answer_that_stands_there_scores_one(doc: str, gold: str) -> None:
    """Whole, in other case, and composed or decomposed."""
    assert score(doc, gold) == 1


@pytest.mark.parametrize("misread", ["thc old grey bridge over the nver Lorne", ANSWER[:-1] + "c"])
def test_an_answer_with_misread_letters_matches(misread: str) -> None:
    """One or two letters do not keep it from being found, and it is less than whole."""
    assert 0.5 <= score(f"We saw {misread} and left.", ANSWER) < 1


@all_cases(
    "doc",
    [
        f"We saw {ANSWER[:-6]}",
        f"{ANSWER[8:]} and then went on to the town.",
        "the old grey bridge",
        "the new red bridge over the river Marne",
        "We saw a mill by the sea.",
        "",
        "!!!",
    ],
)
def test_half_an_answer_is_none(doc: str) -> None:
    """Cut by either end of the document, of one pattern, of another text, or of no words."""
    assert score(doc, ANSWER) < 0.5


LETTERS = st.text("abc", min_size=1, max_size=9)


def in_a_window(doc: str, gold: str) -> float:
    """The best similarity of the letters of an answer and of any window no longer than it is.

    By a table of the longest common subsequence, window by window.
    """

    def common(window: str) -> int:
        row = [0] * (len(gold) + 1)
        for letter in window:
            above, row = row, [0]
            for at, other in enumerate(gold):
                row.append(above[at] + 1 if letter == other else max(row[at], above[at + 1]))
        return row[-1]

    windows = {doc[at : at + len(gold)] for at in range(len(doc))}
    windows |= {doc[:end] for end in range(1, len(gold))}
    return max(2 * common(each) / (len(each) + len(gold)) for each in windows)


@pytest.mark.integration
@given(LETTERS, st.text("abc", min_size=10, max_size=24))
def test_the_place_is_the_most_alike_of_all_windows(gold: str, doc: str) -> None:
    """In a longer document the aligner finds the similarity that a look at every window finds."""
    from rapidfuzz.fuzz import partial_ratio_alignment

    place = partial_ratio_alignment(gold, doc)
    assert place is not None
    assert place.score / 100 == pytest.approx(in_a_window(doc, gold))
    window = doc[place.dest_start : place.dest_end]
    assert Indel.normalized_similarity(window, gold) == pytest.approx(place.score / 100)


WORDS = st.lists(st.sampled_from(["ab", "ba", "abc", "cab", "aa", "강", "다리"]), max_size=14).map(
    " ".join
)


def scores(docs: list[list[str]], golds: list[list[str]]) -> list[list[float]]:
    """The scores of the answers of each question, all in one batch."""
    corpus = TokenCorpus(AutoTokenizer())

    def lists(texts: list[list[str]]) -> Lists:
        rows = corpus.add([text for each in texts for text in each])
        return Lists(corpus.texts, rows, np.array([len(each) for each in texts]))

    n_pairs = [len(doc) * len(gold) for doc, gold in zip(docs, golds)]
    found = wholes(lists(docs), lists(golds), np.ones(sum(n_pairs)), corpus)
    return [part.tolist() for part in np.split(found, np.cumsum(n_pairs)[:-1])]


FULL = WORDS.filter(bool)
QUESTION = st.tuples(st.lists(FULL, min_size=1, max_size=3), st.lists(FULL, min_size=1, max_size=2))


@pytest.mark.integration
@given(st.lists(QUESTION, min_size=1, max_size=4))
def test_scores_do_not_depend_on_the_batch(questions: list[tuple[list[str], list[str]]]) -> None:
    """Each question has the scores that it has alone, all of them in [0, 1]."""
    together = scores(*([*each] for each in zip(*questions)))
    assert together == [scores([docs], [golds])[0] for docs, golds in questions]
    assert all(0 <= each <= 1 for of_query in together for each in of_query)


@pytest.mark.integration
@given(WORDS, WORDS)
def test_text_around_an_answer_changes_nothing(before: str, behind: str) -> None:
    """A document that holds an answer whole scores 1, whatever stands around it."""
    assert score(f"{before} {ANSWER} {behind}", ANSWER) == 1
