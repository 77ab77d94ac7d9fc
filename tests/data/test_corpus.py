"""The example data: what its README and the quickstart promise of it holds."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from kragx import read_gold
from kragx.evaluation.retrievers import read_corpus

DATA = Path(__file__).parents[2] / "examples" / "data"
SETS = ("consumer_ko", "shop_en")
each_set = pytest.mark.parametrize("name", SETS)


def corpus(name):
    """The documents of a set."""
    return read_corpus(DATA / name / "corpus.jsonl")


def gold(name):
    """The questions of a set."""
    return read_gold(DATA / name / "gold.jsonl")


def gold_texts(name):
    """Every gold text and alternative text, with its query's id."""
    return [
        (query.id, doc.text)
        for query in gold(name)
        for item in query.gold
        for doc in (item, *item.alternatives)
    ]


def test_size_of_the_korean_corpus():
    """The Korean corpus has at least 40 documents, each of at least three paragraphs."""
    docs = corpus("consumer_ko")
    assert len(docs) >= 40
    assert min(len(doc.text.split("\n\n")) for doc in docs) >= 3


def test_mix_of_the_korean_questions():
    """The 60 Korean questions are 30, 15 and 15 of each type; 24 easy, 24 medium and 12 hard."""
    queries = list(gold("consumer_ko"))
    assert len(queries) == 60
    types = Counter(query.query_type for query in queries)
    assert sorted(types.values()) == [15, 15, 30]
    assert types["general_inquiry"] == 30
    difficulty = Counter(query.metadata["difficulty"] for query in queries)
    assert difficulty == {"easy": 24, "medium": 24, "hard": 12}


@each_set
def test_every_query_is_complete(name):
    """Every query has a question, a type, expected document types, gold, reference and category."""
    for query in gold(name):
        assert query.text
        assert query.query_type
        assert query.expected_doc_types
        assert query.gold
        assert query.reference
        assert query.metadata["category"]
        assert query.metadata["difficulty"] in ("easy", "medium", "hard")


@each_set
def test_expected_document_types_exist(name):
    """Every expected document type is the type of some document, and categories are shared."""
    docs = corpus(name)
    types = {doc.metadata["doc_type"] for doc in docs}
    categories = {doc.metadata["category"] for doc in docs}
    for query in gold(name):
        assert set(query.expected_doc_types) <= types
        assert query.metadata["category"] in categories


@each_set
def test_gold_is_verbatim(name):
    """Every gold text and alternative stands verbatim in some document."""
    texts = [doc.text for doc in corpus(name)]
    pairs = gold_texts(name)
    assert len(pairs) >= len(gold(name))
    lost = [pair for pair in pairs if not any(pair[1] in text for text in texts)]
    assert lost == []


@each_set
def test_gold_is_long_enough_to_match(name):
    """No gold text is so short that ROUGE-2 would decide by chance, nor a whole document."""
    whole = {doc.text for doc in corpus(name)}
    for _, text in gold_texts(name):
        assert len(text.split()) >= 5
        assert text not in whole


@each_set
@pytest.mark.parametrize("file", ["corpus.jsonl", "gold.jsonl"])
def test_nfc(name, file):
    """Every file is UTF-8 in NFC, without a mark at its start or spaces at line ends."""
    text = (DATA / name / file).read_bytes().decode("utf-8")
    assert unicodedata.is_normalized("NFC", text)
    assert not text.startswith("\ufeff")
    for line in text.splitlines():
        assert line == line.strip()
        # An escape would hide from the check above what it stands for.
        assert unicodedata.is_normalized("NFC", json.dumps(json.loads(line), ensure_ascii=False))


@each_set
def test_unique_ids(name):
    """Ids of documents, queries and gold items are unique, and so are the questions' words."""
    docs, queries = corpus(name), list(gold(name))
    golds = [item.id for query in queries for item in query.gold]
    for ids in ([doc.id for doc in docs], [query.id for query in queries], golds):
        assert None not in ids
        assert len(set(ids)) == len(ids)
    assert len({query.text for query in queries}) == len(queries)
    assert len({doc.text for doc in docs}) == len(docs)
    assert not {doc.id for doc in docs} & set(golds)


@each_set
def test_several_golds_grades_and_alternatives(name):
    """Some queries have several golds and some golds are graded, so that the metrics differ."""
    queries = list(gold(name))
    assert sum(len(query.gold) > 1 for query in queries) >= 3
    grades = {item.grade for query in queries for item in query.gold}
    assert min(grades) > 0
    assert len(grades) > 1


def test_korean_alternatives():
    """Some Korean golds have alternatives, none of which repeats its gold."""
    items = [item for query in gold("consumer_ko") for item in query.gold]
    assert any(item.alternatives for item in items)
    for item in items:
        texts = [item.text, *(other.text for other in item.alternatives)]
        assert len(set(texts)) == len(texts)
