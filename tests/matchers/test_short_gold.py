"""Gold of a few words, and gold without any: what is said of it beside the score."""

from __future__ import annotations

import pytest

from kragx import evaluate, match_pairs, matcher
from kragx.matchers import MatchWarning

SHORT = "short gold, looked for as a phrase"


@pytest.mark.parametrize("method", ["overlap", "span"])
def test_it_is_said_of_whatever_looks_for_phrases(method: str) -> None:
    """Counts and remarks name short gold, read as it is compared; of longer gold nothing."""
    gold = [["1919"], ["one two three four five six"], ["a **나**를 <b>c</b> d e"]]
    result = evaluate(gold, [["in 1919"]] * 3, match=method, metrics=["recall@1"])
    assert result.counts["n_queries_short_gold"] == 2
    assert [matcher(method).remark(text) for [text] in gold] == [SHORT, "", SHORT]
    assert matcher({"method": method, "short": 0}).remark("1919") == ""


@pytest.mark.parametrize(
    ("gold", "reason"),
    [
        ("<br>", "'<br>' in 'q1': .* 'text' for signs or markup alone"),
        ("!!!", "'!!!' in 'q1': .* 'text' for signs or markup alone"),
    ],
)
@pytest.mark.parametrize("method", ["overlap", "phrase", "span"])
def test_gold_without_words_is_named_as_it_was_written(method: str, gold: str, reason: str) -> None:
    """The warning shows the gold text itself, and a remedy that is true of it."""
    with pytest.warns(MatchWarning, match=reason):
        (pair,) = match_pairs([[gold, "here"]], [[f"use {gold} here"]], match=method)
    assert pair["matched"] == [[False, True]]


def test_a_word_without_a_pair_is_told_what_finds_it() -> None:
    """Without the short rule one word has no pair of words, and the warning says so."""
    with pytest.warns(MatchWarning, match="'1919' in 'q1': it has too few words for that"):
        (pair,) = match_pairs([["1919"]], [["in 1919"]], match={"method": "overlap", "short": 0})
    assert pair["matched"] == [[False]]


@pytest.mark.parametrize("docs", [["신서울"], ["나는 서울에 산다", "신서울에 산다"]])
@pytest.mark.parametrize("golds", [["서울"], ["서울", "나는 서울에 산다 그리고 또 있다", "산다"]])
def test_short_and_long_gold_of_one_question(docs: list[str], golds: list[str]) -> None:
    """Each gold text is scored as it would be alone, whatever stands beside it."""
    (pair,) = match_pairs([golds], [docs], match="overlap")
    alone = [
        pair["scores"] for gold in golds for pair in match_pairs([[gold]], [docs], match="overlap")
    ]
    assert pair["scores"] == [[column[row][0] for column in alone] for row in range(len(docs))]
