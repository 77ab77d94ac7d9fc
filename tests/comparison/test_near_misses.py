"""Why gold is missing: the same text under another id, the same document, or nothing like it."""

from __future__ import annotations

import pytest

from kragx import Doc, Gold, GoldDataset, Query, Run, evaluate, write_html
from tests.report.test_page import parts


def cell(tmp_path, gold, docs, *, match="id", corpus=None):
    """What the page is told about one question, `g` or other gold, and a second one elsewhere."""
    dataset = GoldDataset((Query("q1", "?", gold), Query("q2", "?", (Gold("z", "z z"),))))
    elsewhere = [
        {"id": "e", "text": "딴 글", "metadata": {"source": "other", "doc_id": "o"}},
        {"id": "z", "text": "z z"},
    ]
    run = Run.from_documents({"q1": docs, "q2": elsewhere}, name="one")
    path = tmp_path / "page.html"
    result = evaluate(dataset, run, match=match, metrics=["recall@5"])
    write_html([result], path, runs={"one": run}, corpus=corpus)
    own = parts(path)["index"]["cells"][0][0]
    return own["kin"][0], own["alike"][0]


def passage(id_, text="없는 말", **metadata):
    """A retrieved document."""
    return {"id": id_, "text": text, "metadata": metadata}


GOLD = (Gold("g", "하나 둘 셋 넷 다섯", metadata={"source": "law"}),)


@pytest.mark.parametrize("match", ["id", "overlap"])
def test_a_passage_of_the_golds_document_is_known_by_metadata(tmp_path, match):
    """Equal values of a source key: their ranks, for matchers with scores as well."""
    docs = [passage("a", source="faq"), passage("b", source="law"), passage("c", source="law")]
    assert cell(tmp_path, GOLD, docs, match=match)[0] == [2, 3]


def test_the_source_of_gold_named_by_id_is_that_of_a_document_with_the_id(tmp_path):
    """Retrieved for another question, or in the corpus; an alternative counts as well."""
    docs = [passage("a", source="law")]
    known = {"g": Doc("g", "글", {"source": "law"}), "h": "글 하나"}
    assert cell(tmp_path, (Gold("g"),), docs, corpus=known)[0] == [1]
    assert cell(tmp_path, (Gold("h"),), docs, corpus=known)[0] is None
    both = (Gold("h", alternatives=(Doc("g"),)),)
    assert cell(tmp_path, both, docs, corpus=known)[0] == [1]
    # "e" was retrieved for the other question.
    assert cell(tmp_path, (Gold("e"),), [passage("a", doc_id="o"), passage("b", doc_id="p")])[
        0
    ] == [1]


def test_gold_that_names_a_whole_document_is_kin_of_its_passages(tmp_path):
    """A passage whose source is the gold's id is from the right document."""
    assert cell(tmp_path, (Gold("law", "글"),), [passage("law:0", source="law")])[0] == [1]


def test_nothing_is_kin_without_metadata_or_where_all_have_the_same(tmp_path):
    """Ids are not taken apart; a key with one value for everything tells nothing."""
    assert cell(tmp_path, (Gold("law:1", "글"),), [passage("law:0")])[0] is None
    docs = [passage("a", parent_id="all"), passage("b", parent_id="all")]
    assert cell(tmp_path, (Gold("g", "글", metadata={"parent_id": "all"}),), docs)[0] is None


def test_gold_judged_not_relevant_is_no_kin(tmp_path):
    """Grade 0 says what need not be found."""
    gold = (*GOLD, Gold("n", "글", grade=0, metadata={"source": "faq"}))
    assert cell(tmp_path, gold, [passage("a", source="faq")])[0] is None


@pytest.mark.parametrize("match", ["id", "exact", "rouge1"])
def test_the_share_of_word_pairs_is_known_whatever_the_matcher(tmp_path, match):
    """One of the four pairs of the gold, at rank 2."""
    docs = [passage("a"), passage("b", "하나 둘 말 글 또 책 곧 참")]
    assert cell(tmp_path, GOLD, docs, match=match)[1] == [2, 0.25]
