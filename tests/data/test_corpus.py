"""The example data: what its README and the quickstart promise of it holds."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from kragx import read_dataset, read_gold
from kragx.evaluation.retrievers import read_corpus
from kragx.workshop.questions import leak, mean_leak

DATA = Path(__file__).parents[2] / "examples" / "data"
SETS = ("consumer_ko", "shop_en")
SIZES = {"consumer_ko": (120, 150), "shop_en": (60, 80)}
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


@each_set
def test_size(name):
    """As many documents and questions as the docs say; each document has three paragraphs."""
    docs = corpus(name)
    assert (len(docs), len(gold(name))) == SIZES[name]
    assert min(len(doc.text.split("\n\n")) for doc in docs) >= 3


@each_set
def test_mix_of_the_questions(name):
    """Half are general inquiries, a quarter of each other type; 40, 40, 20 % are of each level."""
    queries = list(gold(name))
    n = len(queries)
    types = Counter(query.query_type for query in queries)
    assert set(types) == {"general_inquiry", "legal_interpretation", "similar_case"}
    assert types["general_inquiry"] == n // 2
    assert abs(types["legal_interpretation"] - types["similar_case"]) <= 1
    difficulty = Counter(query.metadata["difficulty"] for query in queries)
    assert difficulty == {"easy": 0.4 * n, "medium": 0.4 * n, "hard": 0.2 * n}


@each_set
def test_some_questions_have_no_answer(name):
    """About 8 % of the questions are marked as ones that nothing answers, of every type."""
    lost = [query for query in gold(name) if query.answerable is False]
    assert 0.07 <= len(lost) / len(gold(name)) <= 0.09
    assert not any(query.gold for query in lost)
    assert len({query.query_type for query in lost}) == 3


@pytest.mark.integration
@each_set
def test_the_questions_are_no_copies(name):
    """Less than 30 % of a question's content words stand in its gold, on average."""
    pytest.importorskip("kiwipiepy")
    leaks = [
        leak(
            query.text,
            [
                text
                for item in query.gold
                for text in (item.text, *(a.text for a in item.alternatives))
                if text
            ],
        )
        for query in gold(name)
        if query.gold
    ]
    assert mean_leak(leaks) < 0.3


@each_set
def test_gold_of_several_documents(name):
    """More than a tenth of the questions need two documents or three: gold of the highest grade in
    each, none of which has an alternative in another.
    """
    docs = corpus(name)

    def sources(item):
        texts = [item.text, *(other.text for other in item.alternatives)]
        return {doc.id for doc in docs for text in texts if (text or "") in doc.text}

    def needed(query):
        apart: list[set[str]] = []
        for own in (sources(item) for item in query.gold if item.grade == 2):
            if not any(own & other for other in apart):
                apart.append(own)
        return len(apart)

    numbers = Counter(needed(query) for query in gold(name))
    assert sum(n for documents, n in numbers.items() if documents > 1) >= 0.1 * len(gold(name))
    assert max(numbers) == 3


@each_set
def test_every_query_is_complete(name):
    """Every query has a question, a type and a category; what can be answered has gold, a
    reference and expected document types.
    """
    for query in gold(name):
        assert query.text
        assert query.query_type
        assert query.metadata["category"]
        if query.answerable is not False:
            assert query.expected_doc_types
            assert query.gold
            assert query.reference


@each_set
def test_expected_document_types_exist(name):
    """Every expected document type is the type of some document, and categories are shared."""
    docs = corpus(name)
    types = {doc.metadata["doc_type"] for doc in docs}
    categories = {doc.metadata["category"] for doc in docs}
    for query in gold(name):
        assert {*(query.expected_doc_types or ())} <= types
        assert query.metadata["category"] in categories


@each_set
def test_gold_is_verbatim(name):
    """Every gold text and alternative stands verbatim in some document."""
    texts = [doc.text for doc in corpus(name)]
    pairs = gold_texts(name)
    assert len(pairs) >= sum(query.answerable is not False for query in gold(name))
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


@each_set
def test_the_release_is_of_these_questions(name):
    """The workshop's release has the same questions and gold passages, by its own hash."""
    folder = DATA / name / "releases"
    released = read_dataset(folder / "gold_v3.jsonl")
    about = json.loads((folder / "gold_v3.release.json").read_text(encoding="utf-8"))
    texts = {doc.id: doc.text for doc in corpus(name)}

    def words(item):
        """Of an item that is a paragraph's id alone, as some of the first release: its text."""
        if item.text is not None:
            return item.text
        document, _, place = item.id.partition(":")
        start, _, end = place.partition("-")
        return texts[document][int(start) : int(end)]

    assert released.content_hash == about["hash"]
    assert "no agreement is claimed" in about["note"]
    assert [query.text for query in released] == [query.text for query in gold(name)]
    for query, own in zip(released, gold(name), strict=True):
        assert query.answerable == own.answerable
        found = " ".join(words(item) for item in query.gold)
        assert all(item.text in found for item in own.gold)
