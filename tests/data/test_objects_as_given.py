"""`Query`, `Gold`, `Retrieved` and `Run` made by hand, of whatever documents there are."""

import pytest

from kragx import DataError, Doc, Gold, GoldDataset, Query, Retrieved, Run, UsageError, evaluate
from kragx.data.lists import InternedTexts

GOLD = ({"text": "the answer", "alternatives": ["an answer"]}, "1919", Doc(text="Seoul"))


def test_items_are_read():
    """Mappings, texts and documents are items wherever `from_documents` takes them."""
    query = Query("q1", gold=[*GOLD, Gold(text="Busan", alternatives=["부산"])])
    assert query.gold[:3] == GoldDataset.from_documents([GOLD])["q1"].gold
    assert query.gold[3].alternatives == (Doc(text="부산"),)
    answer = Retrieved(["Seoul", {"id": 3, "text": "1919"}, (Doc(text="부산"), 0.5)])
    run = Run.from_documents([["Seoul", {"id": 3, "text": "1919"}, (Doc(text="부산"), 0.5)]])
    assert answer == run["q1"]
    result = evaluate([query], Run({"q1": answer}), match="exact", metrics=["recall"])
    assert result["recall"] == 3 / 4


def test_ids_are_numbers_too():
    """Whole numbers are ids of questions, as in the mappings that `evaluate` takes."""
    gold = GoldDataset((Query(7, gold=[{"id": 1}]),))
    assert evaluate(gold, Run({7: Retrieved([{"id": "1"}])}), match="id", metrics=["mrr"])["mrr"]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Query("q1", gold="Seoul"), "query 'q1': gold must be a list of documents"),
        (lambda: Query("q1", gold=[5]), "query 'q1', gold 1: int 5 is not a document"),
        (lambda: Retrieved("Seoul"), "a list of documents is expected"),
        (lambda: Gold(text="a", alternatives="b"), "alternatives: must be a list"),
        (lambda: Gold(text="a", grade="2"), "grade: must be a finite number, not '2'"),
        (lambda: Query(True), "an id must be a string or a whole number"),
        (lambda: GoldDataset((Query("q1"), "q2")), "'q2' is no Query"),
        (lambda: Run({"q1": Retrieved(), "q2": []}), "is no mapping from query id to Retrieved"),
    ],
)
def test_refused(make, error):
    """What is none of them is refused where it is given, in a sentence."""
    with pytest.raises((DataError, UsageError), match=error):
        make()


def test_refused_text_leaves_nothing_behind():
    """A text that is none is an error with its question, and what comes afterwards is right."""
    with pytest.raises(DataError, match=r"query 'q1': a text must be a string, not int \(5\)"):
        evaluate([Query("q1", gold=[Gold(text=5)])], {"q1": ["5"]})
    assert evaluate([["Seoul"]], [["Seoul"]], metrics=["mrr"])["mrr"] == 1
    texts = InternedTexts()
    texts.numbers(["a"])
    with pytest.raises(DataError):
        texts.numbers(["b", 5])
    assert (texts.numbers(["b", "a"]), texts.texts) == ([1, 0], ["a", "b"])


def test_cells_beyond_the_header():
    """What `csv.DictReader` keeps under None is a field that nobody knows, in rows as in items."""
    row = {"query_id": "q1", "question": "Where?", "answer_passage": "Seoul", None: ["Busan"]}
    with pytest.raises(DataError, match="None: unknown field"):
        evaluate([row], [["Seoul"]])
    with pytest.raises(DataError, match="gold 1: None: unknown field"):
        evaluate([[{"name": 1, None: 2}]], [["Seoul"]])
