"""Where evidence stands: in its source where the corpus says so, and back from a gold set."""

import pytest

from kragx.data import Doc, GoldDataset, as_corpus
from kragx.workshop.folder.folder import Documents
from kragx.workshop.folder.places import place_of
from kragx.workshop.folder.starting import records_of_gold
from kragx.workshop.pairs.standing import Copies
from kragx.workshop.releases.contents import ready
from kragx.workshop.state.records import Judgement, Person, Question
from kragx.workshop.state.state import State
from kragx.workshop.state.store import RecordStore
from tests.thoroughness import all_cases

TEXT = "배송은 이틀 걸립니다."
PLACED = {"source": "faq", "start_index": 40, "end_index": 40 + len(TEXT), "page": 3}
DOCUMENTS = Documents(as_corpus([{"id": "a", "text": TEXT, "metadata": PLACED}]))


@all_cases(
    ("metadata", "place"),
    [
        ({}, ("d", 0)),
        ({"source": "faq"}, ("d", 0)),
        ({"source": "faq", "start": 7}, ("faq", 7)),
        ({"source": "faq", "start": 7, "end": 12}, ("faq", 7)),
        ({"source": "faq", "start": 7, "end": 99}, ("d", 0)),  # of another text
        ({"source": "faq", "start": True}, ("d", 0)),
        ({"source": "faq", "start": "7"}, ("d", 0)),
        ({"source": "faq", "start": -1}, ("d", 0)),
    ],
)
def test_place_of(metadata, place):
    """What metadata say counts where it fits the text; else a document is its own source."""
    assert place_of(Doc("d", "12345", metadata)) == place


def test_a_stretch_stands_where_its_document_does():
    """``document:start-end`` has a place of its own, counted from its document's."""
    assert place_of(DOCUMENTS["a:4-6"]) == ("faq", 44)
    bare = Documents(as_corpus({"b": TEXT}))
    assert (place_of(bare["b:4-6"]), bare["b:4-6"].text) == (("b", 4), TEXT[4:6])


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (Doc("guide:20-25", "12345"), ("guide", 20)),
        (Doc("guide:20-25", "1234"), ("guide:20-25", 0)),  # lines, or another text
        (Doc("guide:20-25", "12345", {"source": "g.pdf", "start": 7}), ("g.pdf", 7)),
        (Doc("guide:20-25", "12345", {"source": "g.pdf"}), ("g.pdf", 20)),
    ],
)
def test_an_id_is_a_place(document, place):
    """``document:start-end`` says where a chunk of that length stands, unless its metadata do."""
    assert place_of(document) == place


@pytest.mark.parametrize(
    ("chunk", "place"),
    [
        (Doc("guide:20-32", TEXT), {"source": "guide", "start": 20, "end": 32}),
        (Doc("c1", TEXT, PLACED), {"source": "faq", "start": 40, "end": 52}),
        (Doc("c1", TEXT), {}),
    ],
)
def test_a_release_says_where_gold_stands(tmp_path, chunk, place):
    """Gold of a release has source, start and end where the corpus says them, and comes back."""
    documents = Documents(as_corpus([chunk]))
    person, question = Person(uid="ann", name="ann"), Question(uid="q", person="ann", text="며칠?")
    said = Judgement(question="q", document=str(chunk.id), person="ann", grade=3)
    with RecordStore(tmp_path / "workshop.sqlite") as store:
        state = State(store)
        state.add([person, question, said])
        (query,) = ready(state, documents, Copies(documents), 3).queries
    assert query.gold[0].metadata == place
    read = records_of_gold(GoldDataset((query,)), person, documents, 3)
    (again,) = (record for record in read if isinstance(record, Judgement))
    assert (again.document, again.spans) == (chunk.id, ())


@pytest.mark.parametrize("document", ["a", "a:0-6"])
def test_evidence_comes_back_from_a_release(tmp_path, document):
    """In a release evidence is counted in its source; in a workshop, again in its document."""
    person = Person(uid="ann", name="ann")
    question = Question(uid="q", person="ann", text="며칠?")
    said = Judgement(question="q", document=document, person="ann", grade=3, spans=((4, 6),))
    with RecordStore(tmp_path / "workshop.sqlite") as store:
        state = State(store)
        state.add([person, question, said])
        (query,) = ready(state, DOCUMENTS, Copies(DOCUMENTS), 3).queries
    (gold,) = query.gold
    assert (gold.text, gold.metadata) == ("이틀", {"source": "faq", "start": 44, "end": 46})
    read = records_of_gold(GoldDataset((query,)), person, DOCUMENTS, 3)
    (again,) = (record for record in read if isinstance(record, Judgement))
    assert (again.document, again.grade, again.spans) == (document, 3, ((4, 6),))
