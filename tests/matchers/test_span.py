"""The matcher `span`: how much of a chunk or gold text is the other's own words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx import UsageError, evaluate, match_pairs
from kragx.data.documents import Doc
from kragx.data.gold import Gold, Query
from kragx.matchers import Diagnostics, MatchItem, MatchWarning, SpanMatcher, matcher
from tests.thoroughness import all_cases, examples

GOLD = "aa bb cc dd ee ff gg hh ii jj"


def scores(chosen, docs, golds):
    """The scores of one query."""
    query = Query("q", gold=tuple(Gold(text=text) for text in golds))
    item = MatchItem(query, tuple(Doc(text=text) for text in docs))
    (found,) = chosen.scores([item], Diagnostics())
    return np.asarray(found)


@pytest.mark.parametrize(("of", "score"), [("gold", 0.8), ("chunk", 0.4), ("either", 0.8)])
def test_shares_in_characters(of, score):
    """Eight of ten gold tokens, 16 of 20 characters; of the chunk's 40 they are 16."""
    doc = "x" * 24 + " cc dd ee ff gg hh ii jj"
    assert scores(SpanMatcher(of=of), [doc], [GOLD]).tolist() == [[pytest.approx(score)]]


def test_a_chunk_cut_out_of_a_long_gold_text():
    """Of the chunk all is gold, of the gold little is in the chunk."""
    gold = " ".join(f"w{at:03}" for at in range(100))
    chunk = " ".join(f"w{at:03}" for at in range(40, 52))
    assert scores(SpanMatcher(of="gold"), [chunk], [gold]).item() == pytest.approx(0.12)
    assert scores(SpanMatcher(of="chunk"), [chunk], [gold]).item() == 1.0


def test_words_in_common_are_no_evidence():
    """Scattered words and short runs score 0 where ROUGE's overlap scores more."""
    doc = "aa bb cc dd and ee ff gg and hh ii jj"
    assert scores(SpanMatcher(), [doc], [GOLD]).item() == 0.0
    assert scores(matcher({"method": "overlap", "short": 0}), [doc], [GOLD]).item() > 0.5


def test_six_tokens_count_where_the_chunk_ends():
    """A run of six at the gold's start counts if the chunk's end cuts it off, else not."""
    cut, whole = "x aa bb cc dd ee ff", "x aa bb cc dd ee ff x x x"
    found = scores(SpanMatcher(of="gold"), [cut, whole, "x aa bb cc dd ee ff g"], [GOLD])
    assert found.ravel().tolist() == pytest.approx([0.6, 0.0, 0.6])


def test_no_run_reaches_from_one_document_into_the_next():
    """Documents side by side are compared one by one."""
    docs = ["x aa bb cc dd ee", "ff gg hh ii jj x"]
    assert not scores(SpanMatcher(), docs, [GOLD]).any()


@all_cases(
    ("chunk", "score"),
    [
        ("cc dd ee ff gg", 1.0),
        ("dd ee", 1.0),
        ("dd", 0.0),
        ("dd ff", 0.0),
        ("cc dd ee ff gg x", 0.0),
    ],
)
def test_a_chunk_shorter_than_a_run(chunk, score):
    """It is found where it stands wholly inside the gold, unless it is a single word."""
    assert scores(SpanMatcher(of="chunk"), [chunk], [GOLD]).item() == score


def test_a_short_chunk_is_a_small_share_of_the_gold():
    """Of the gold's 20 characters it is 10."""
    assert scores(SpanMatcher(of="gold"), ["cc dd ee ff gg"], [GOLD, "zz yy"]).tolist() == [
        [0.5, 0.0]
    ]


@all_cases(
    ("gold", "doc", "found"),
    [
        ("3월 15일", "회의는 3월 15일에 열린다", True),
        ("1919", "1919년에 있었다", True),
        ("1919", "번호는 11919 또는 19190", False),
        ("Seoul", "It was held in Seoul.", True),
        ("New York", "New flights to York", False),
        ("one two three four five", "one two three NEW four five", False),
        ("서울", "서\u00ad울에서", True),
        ("東京", "会議は東京で開かれた。", True),
        ("東京", "東の京", False),
        ("กรุงเทพ", "เขาอยู่ที่กรุงเทพมาก่อน", True),
        ("3월 15일", "3월", False),
    ],
)
def test_short_gold_is_a_phrase(gold, doc, found):
    """Gold of at most five tokens stands in a document or does not, as under `overlap`."""
    doc = f"처음 {doc} 끝" if doc != "3월" else doc
    assert scores(SpanMatcher(), [doc], [gold]).item() == found
    assert scores(matcher("phrase"), [doc], [gold]).item() == found


def test_short_gold_that_is_not_looked_for_as_a_phrase():
    """`short: 0` compares tokens alone, in runs."""
    assert scores(SpanMatcher(short=0), ["회의는 3월 15일에 열린다"], ["3월 15일"]).item() == 0.0


def test_runs_of_characters():
    """Where words are not written apart three characters count as a token of a run."""
    gold = "商品在运输途中损坏的应当在签收之后二十四小时之内拍照并且联系本店的客服人员"
    inside = gold[4:28]
    assert scores(SpanMatcher(of="gold"), [f"他说{inside}吗"], [gold]).item() == pytest.approx(
        24 / 37
    )
    assert scores(SpanMatcher(of="gold"), [f"他说{inside[:-1]}吗"], [gold]).item() == 0.0


words = st.lists(st.sampled_from(["a", "b", "c", "가나", "다라마바"]), max_size=14)


@examples(60)
@given(st.lists(words, max_size=4), st.lists(words, min_size=1, max_size=3))
def test_pairs_do_not_depend_on_one_another(docs, golds):
    """Each pair scores as it does alone, in [0, 1], and equal texts score 1."""
    chosen = SpanMatcher()
    docs = ["y " + " ".join(each) for each in docs]
    golds = ["z " + " ".join(each) for each in golds]
    found = scores(chosen, [*docs, *golds], golds)
    assert found.min() >= 0
    assert found.max() <= 1
    assert np.diag(found[len(docs) :]).tolist() == pytest.approx([1.0] * len(golds))
    for row, doc in enumerate(docs):
        for column, gold in enumerate(golds):
            assert found[row, column] == pytest.approx(scores(chosen, [doc], [gold]).item())


def test_many_queries_in_batches():
    """Queries of different sizes keep their own scores, also empty ones."""
    queries = 300
    golds = [[GOLD] if at % 3 else [GOLD, "nothing here"] for at in range(queries)]
    docs = [[GOLD] * (at % 4) for at in range(queries)]
    records = list(match_pairs(golds, docs, match="span"))
    for at, record in enumerate(records):
        assert record["scores"] == [[1.0] if at % 3 else [1.0, 0.0]] * (at % 4)


def test_wrappers():
    """What is put around a text is no part of it."""
    wrapped = f"<Document><source>terms.pdf</source>\n{GOLD}</Document>"
    assert scores(SpanMatcher(of="chunk"), [wrapped], [GOLD]).item() == 1.0


def test_alternatives_and_targets_without_text():
    """A gold item takes the better of its texts; a target with an id alone scores 0."""
    gold = Gold(id="g", alternatives=(Doc(text="no"), Doc(text=GOLD)))
    item = MatchItem(Query("q", gold=(gold,)), (Doc(text=GOLD),))
    (found,) = SpanMatcher().scores([item], Diagnostics())
    assert np.asarray(found).tolist() == [[0.0, 0.0, 1.0]]


def test_in_an_evaluation():
    """The matcher is named like any other, described in settings, and decided anew later."""
    spec = {"method": "span", "of": "gold", "threshold": 0.9}
    result = evaluate([[GOLD]], [[GOLD[6:]]], match=spec, metrics=["recall"])
    assert result["recall"] == 0.0
    assert result.at_threshold(0.8)["recall"] == 1.0
    assert result.settings["match"].keys() == matcher(spec).settings.keys()
    assert result.settings["match"]["tokenizer"]["passages"] == "words"
    assert result.settings["match"] | {"tokenizer": None} == {
        "method": "span",
        "of": "gold",
        "threshold": 0.9,
        "run": 8,
        "short": 5,
        "siblings": "apart",
        "tokenizer": None,
    }


def test_texts_without_tokens():
    """They are counted and said."""
    with pytest.warns(MatchWarning, match="nothing by 'span' in 1 question, for example '!!!'"):
        result = evaluate([[GOLD]], [["!!!"]], match="span", metrics=["recall"])
    assert result.counts["n_queries_docs_unmatchable"] == 1


@all_cases(
    ("options", "hint"),
    [
        ({"of": "chunks"}, "'chunk'"),
        ({"run": 1}, "whole number of at least 2"),
        ({"threshold": 0}, "above 0"),
        ({"bridge": 1}, "match.bridge"),
        ({"share": 0.5}, "match.share"),
    ],
)
def test_mistakes(options, hint):
    """A wrong option or value is refused with the remedy."""
    with pytest.raises(UsageError, match=hint):
        matcher({"method": "span", **options})
