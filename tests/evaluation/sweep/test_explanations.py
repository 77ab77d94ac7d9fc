"""Explanations: why each document of a query did or did not match, for people and as JSON."""

from __future__ import annotations

import io
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from kragx import GoldDataset, Run, UsageError, evaluate, explain
from kragx.data.tokenizers import UnicodeTokenizer
from kragx.evaluation.explain import shared_spans
from kragx.evaluation.explanation import Explanation
from kragx.ground.printing import show
from kragx.judging import Judge
from kragx.judging.clients.scripted import ScriptedClient

GOLD = [["환불은 반품 확인 뒤 영업일 기준 3일이 걸립니다", "opened software can be returned here"]]
DOCS = [
    [
        {"id": "d1", "text": "안내: 환불은 반품 확인 뒤 영업일 기준 3일이 걸립니다. 끝."},
        {"id": "d2", "text": "Our software can be opened and sent back"},
        {"id": "d1", "text": "안내: 환불은 반품 확인 뒤 영업일 기준 3일이 걸립니다. 끝."},
    ]
]


PAIRS = {"method": "overlap", "short": 0}
"""Shares of pairs of words for gold of any length."""


def explained(**options: Any) -> Explanation:
    """The small query above."""
    return explain(GOLD, DOCS, query_id="q1", **{"match": PAIRS, **options})


def printed(found: Explanation, *, colour: bool = False, width: int = 200, **options: Any) -> str:
    """What a terminal, or a pipe, shows."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
    )
    show(found.describe(**options), console)
    return out.getvalue()


# -- spans -----------------------------------------------------------------------------------


def test_shared_words_are_found_in_both_texts():
    """By hand: runs of two words or more, in any place; a single shared word is none."""
    doc, gold = "x a b c, y D e z. a", "a b c w d E"
    spans, own = shared_spans(doc, gold)
    assert [doc[start:end] for start, end in spans] == ["a b c", "D e"]
    assert [gold[start:end] for start, end in own] == ["a b c", "d E"]
    assert shared_spans("a b", "b") == (((2, 3),), ((0, 1),))
    assert shared_spans("a b", "...") == ((), ())
    assert shared_spans("", "a b") == ((), ())


texts = st.lists(st.sampled_from(["a", "b", "c", "환불", "환"]), max_size=10).map(" ".join)


@given(texts, texts)
def test_spans_are_the_words_that_shared_pairs_are_made_of(doc: str, gold: str):
    """Against the slow reference over tokens; ascending, apart, inside the text."""
    spans, _ = shared_spans(doc, gold)
    tokens = doc.split()
    (of_gold,) = UnicodeTokenizer().tokens([gold])
    size = min(2, len(of_gold))
    marked = set()
    for at in range(len(tokens) - size + 1):
        stretch = tokens[at : at + size]
        if size and any(
            stretch == of_gold[other : other + size] for other in range(len(of_gold) - size + 1)
        ):
            marked |= set(range(at, at + size))
    assert [word for start, end in spans for word in doc[start:end].split()] == [
        tokens[at] for at in sorted(marked)
    ]
    ends = [0, *(each for span in spans for each in span), len(doc)]
    assert ends == sorted(ends)


def test_spans_point_into_the_text_in_nfc():
    """NFD, as macOS writes Korean, is shown and marked in NFC."""
    doc = unicodedata.normalize("NFD", "안내: 환불은 반품 확인 뒤")
    spans, _ = shared_spans(doc, "환불은 반품")
    shown = unicodedata.normalize("NFC", doc)
    assert [shown[start:end] for start, end in spans] == ["환불은 반품"]


# -- what is explained -----------------------------------------------------------------------


def test_every_pair_has_its_reason_and_scores():
    """By hand: rank 1 finds gold 1, 3 repeats it, 2 has two of five pairs of gold 2."""
    explanation = explained()
    assert [doc.matches for doc in explanation.retrieved] == [(1,), (), (1,)]
    assert [doc.finds for doc in explanation.retrieved] == [(1,), (), ()]
    assert [doc.repeated for doc in explanation.retrieved] == [False, False, True]
    assert [gold.found_at for gold in explanation.gold] == [1, None]
    assert len(explanation.pairs) == 6
    miss = explanation.pair(2, 2)
    assert miss.matched is False
    assert miss.reason.score == 0.4  # software can, can be
    assert miss.reason.distance == pytest.approx(-0.1)


def test_a_number_is_an_id():
    """Whoever gave gold by number asks for it so, as everywhere where ids are read."""
    assert explain({1: ["a b"]}, {1: ["a b"]}, query_id=1).query_id == "1"


def test_scores_are_those_of_evaluating_with_each_matcher():
    """Each matcher that asks no model and has anything to go by, with the score it gives."""
    explanation = explained()
    for pair in explanation.pairs:
        assert {"exact", "text", "rouge2", "overlap"} <= pair.scores.keys()
        assert {"llm", "embedding"}.isdisjoint(pair.scores)
        for name in ("exact", "text", "contains", "rouge1", "rouge2", "rougeL"):
            table = evaluate(GOLD, DOCS, match=name, metrics=["mrr@3"]).table
            assert pair.scores[name] == table.dense(0)[pair.rank - 1, pair.gold - 1]


def test_nothing_alike_has_no_score():
    """A threshold is above 0, however low, so a score of 0 is a match at none."""
    spec = {"cascade": [{"method": "overlap", "accept": 0.9, "reject": 0.1}, "rouge1"]}
    for match in (spec, {"method": "overlap", "threshold": 0.1}):
        apart = explain([["red doors"]], [["blue skies", "red doors"]], query_id="q1", match=match)
        assert [own.score for own in apart.pair(1, 1).reason.deciding()] == [0.0]


def test_a_combination_says_who_decided():
    """The members asked stand below, with the one that decided."""
    spec = {"cascade": [{"method": "rouge1", "accept": 0.9, "reject": 0.3}, PAIRS]}
    explanation = explained(match=spec)
    reason = explanation.pair(2, 2).reason
    assert [part.method for part in reason.parts] == ["rouge1", "overlap"]
    assert [part.method for part in reason.deciding()] == ["overlap"]
    shown = printed(explanation)
    assert (
        "rouge1: 0.5714 (none below 0.3; match from 0.9, +0.2714 from the limit) -> left" in shown
    )
    assert "overlap: 0.4000 (match from 0.5, -0.1000 from the limit) -> no match, decides" in shown


def judged(tmp_path: Path, asked: bool, gold: bool = True) -> Explanation:
    """Explained by a judge that was asked before, or never."""
    client = ScriptedClient(['{"reason": "it says so", "grade": 3}'] * 6)
    match = {"method": "llm", "judge": Judge(client, store=tmp_path / "j.sqlite")}
    dataset = GoldDataset.from_documents(GOLD if gold else [[]], queries=["환불은 언제?"])
    run = Run.from_documents(DOCS)
    if asked:
        evaluate(dataset, run, match=match)
    before = len(client.requests)
    explanation = explain(dataset, run, query_id="q1", match=match)
    assert len(client.requests) == before
    return explanation


def test_the_judges_reason_comes_from_its_store(tmp_path: Path):
    """What the judge said stands there, and nobody is asked again."""
    explanation = judged(tmp_path, asked=True)
    assert {pair.reason.text for pair in explanation.pairs} == {"it says so"}
    assert all(pair.matched for pair in explanation.pairs)
    assert "gold 1: llm 3.0000 (match from 2, +1.0000 from the limit) -> match: it says so" in (
        printed(explanation)
    )


def test_what_was_never_judged_is_unknown(tmp_path: Path):
    """Explaining asks nobody: without a judgement there is no score, and it says why."""
    explanation = judged(tmp_path, asked=False)
    assert {pair.matched for pair in explanation.pairs} == {None}
    assert {pair.reason.score for pair in explanation.pairs} == {None}
    assert "not known" in printed(explanation)
    json.dumps(explanation.to_dict(), allow_nan=False)


def test_relevance_without_gold_is_explained_by_the_grade(tmp_path: Path):
    """Without gold each document has the judge's grade and reason."""
    explanation = judged(tmp_path, asked=True, gold=False)
    assert explanation.gold == ()
    assert [(doc.grade, doc.reason) for doc in explanation.retrieved] == [(3, "it says so")] * 3
    assert "the judge's grade of relevance: 3: it says so" in printed(explanation)


def test_an_alternative_speaks_for_its_gold_item():
    """The scores are the best alternative's, and the words marked are those it shares."""
    gold = [[{"text": "nothing of it", "alternatives": [{"text": "software can be opened"}]}]]
    explanation = explain(gold, [[DOCS[0][1]]], query_id="q1")
    pair = explanation.pair(1, 1)
    assert pair.matched
    text = explanation.retrieved[0].text
    assert text is not None
    assert [text[start:end] for start, end in pair.doc_spans] == ["software can be opened"]
    assert pair.gold_spans == ()


def test_lists_that_are_empty_missing_or_failed():
    """There is nothing to explain, and it says which."""
    dataset = GoldDataset.from_documents({"a": ["x"], "b": ["x"], "c": []})
    run = Run.from_documents({"b": [], "c": ["y"]})
    assert explain(dataset, run, query_id="a").status == "missing"
    assert "no answer to this query" in printed(explain(dataset, run, query_id="a"))
    assert "nothing was retrieved" in printed(explain(dataset, run, query_id="b"))
    without = explain(dataset, run, query_id="c")
    assert without.pairs == ()
    assert "this query has no gold" in printed(without)


@pytest.mark.parametrize(
    ("query_id", "message"),
    [("q2", "perhaps you meant 'q1'"), ("nothing like it", "it begins with 'q1'")],
)
def test_an_unknown_query_is_an_error_with_the_nearest(query_id: str, message: str):
    """Which query there is instead."""
    with pytest.raises(UsageError, match=message):
        explain(GOLD, DOCS, query_id=query_id)


def test_json_has_everything():
    """Plain values that a report can show."""
    plain = json.loads(json.dumps(explained().to_dict(), allow_nan=False))
    assert plain["retrieved"][0]["finds"] == [1]
    assert plain["gold"][1]["found_at"] is None
    pair = plain["pairs"][0]
    assert pair["reason"]["verdict"] == "match"
    assert pair["scores"]["text"] == 1.0
    (start, end) = pair["doc_spans"][0]
    assert plain["retrieved"][0]["text"][start:end] == GOLD[0][0]


# -- the terminal ----------------------------------------------------------------------------


def test_shared_words_are_marked_with_and_without_colour():
    """In colour on a terminal; in «marks» where there is none."""
    plain = printed(explained())
    assert f"안내: «{GOLD[0][0]}». 끝." in plain
    assert "\x1b[" not in plain
    colour = printed(explained(), colour=True)
    assert "«" not in colour
    assert f"\x1b[1;32m{GOLD[0][0]}\x1b[0m" in colour


def test_long_texts_are_cut_around_what_matches():
    """A thousand words: what is shared stays in sight, and --full shows all."""
    words = " ".join(f"x{at}" for at in range(1000))
    docs = [[f"{words} opened software can be returned here {words}"]]
    explanation = explain(GOLD, docs, query_id="q1")
    cut = printed(explanation)
    assert "... " in cut
    assert "«opened software can be returned here»" in cut
    assert "x999 «opened" in cut
    assert len(cut) < 3000
    assert "x500" in printed(explanation, full=True)


@pytest.mark.parametrize("width", [60, 100])
def test_korean_lines_fit_the_width(width: int):
    """Wide letters count twice: no line of text is broader than the terminal."""
    from rich.cells import cell_len

    docs = [["환불은 반품 확인 뒤 영업일 기준 사흘이 걸립니다 " * 8]]
    explanation = explain([["환불은 반품 확인 뒤"]], docs, query_id="q1")
    shown = printed(explanation, colour=True, width=width)
    from rich.text import Text

    lines = [Text.from_ansi(line).plain for line in shown.splitlines()]
    assert any(cell_len(line) > width - 12 for line in lines)
    assert all(cell_len(line) <= width for line in lines if "환불은 반품 확인 뒤 영업일" in line)
