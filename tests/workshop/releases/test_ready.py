"""What a release would hold: consensus, decisions, evidence, copies, and what is not ready."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kragx import DataError
from kragx.data import Forbidden, as_corpus
from kragx.workshop.folder.folder import Documents
from kragx.workshop.pairs.standing import Copies, gold_grade
from kragx.workshop.releases.contents import judging_counts, ready
from kragx.workshop.state.records import Judgement, Person, Question
from kragx.workshop.state.state import State
from tests.thoroughness import all_cases, examples

TEXTS = {
    "refund": "A refund is asked for within seven days of delivery, in writing or on the phone.",
    "copy": "A refund is asked for within seven days of delivery, in writing or on the phone!",
    "delivery": "Delivery takes two days.",
    "empty": " ",
}
DOCUMENTS = Documents(as_corpus(TEXTS))
COPIES = Copies(DOCUMENTS)


class Rows:
    """A store that holds these rows and no others."""

    def __init__(self, rows):
        self.rows = list(rows)

    def after(self, last, tables=None):
        """Give them all, once."""
        rows, self.rows = self.rows, []
        return iter(rows)


def made(*rows, top=3):
    """What a release of a question, and of what is said of it, would hold."""
    people = [
        Person(uid=name, name=name, role="file" if name == "file" else "annotator")
        for name in ("ann", "bob", "file")
    ]
    question = Question(uid="q", person="ann", text="Until when?")
    asked = [] if any(isinstance(row, Question) for row in rows) else [question]
    return ready(State(Rows([*people, *asked, *rows])), DOCUMENTS, COPIES, top)


def said(grade, person="ann", document="delivery", **fields):
    """A judgement; "unusable" and "later" are kinds."""
    kind = {"kind": grade, "grade": None} if isinstance(grade, str) else {"grade": grade}
    return Judgement(question="q", document=document, person=person, **kind, **fields)


def marked(why, person="ann", document="delivery", kind="forbidden", **fields):
    """A mark that a document must not come, or may again."""
    pair = {"question": "q", "document": document, "person": person}
    return Judgement(kind=kind, why=why, **pair, **fields)


def forbidden(*rows, **options):
    """What is forbidden for the one question, by id and kind."""
    (query,) = made(*rows, **options).queries
    return None if query.forbidden is None else {(i.id, i.why) for i in query.forbidden}


def grades(content):
    """The grades of the one question, by document."""
    (query,) = content.queries
    return {gold.id: gold.grade for gold in query.gold}


RELEVANT = said(3, document="refund")


@all_cases(
    ("rows", "grade"),
    [
        ([said(3)], 2),
        ([said(2), said(2, "bob")], 1),
        ([said(0), said(1, "bob")], 0),  # neither is an answer: no disagreement about gold
        ([said(3), said(0, "bob"), said(2, is_decision=True)], 1),
        (
            [
                said(3),
                said(0, "bob"),
                said(2, is_decision=True),
                said("undone", is_decision=True),
                said(3, "bob"),
            ],
            2,
        ),
        ([said(0, "file"), said(3)], 2),  # a file counts until somebody has judged
        ([said(3), said("later")], 2),
        ([said("unusable")], None),
        ([said(3), said("undone")], None),
    ],
)
def test_the_grade_of_a_pair(rows, grade):
    """One person's grade; that of several who agree; what was decided; else none."""
    assert grades(made(RELEVANT, *rows)).get("delivery") == grade


@all_cases(
    ("rows", "reason"),
    [
        ([], "not judged"),
        ([said("later")], "not judged"),
        ([said(1)], "nothing relevant"),
        ([said("unusable")], "nothing relevant"),
        ([RELEVANT, said(3), said(0, "bob")], "undecided"),
        ([RELEVANT, said(3), said("unusable", "bob")], "undecided"),
        ([said(3, document="gone")], "not in corpus"),
        ([Question(uid="q", person="ann", text="?", answerable=False), said(2)], "contradiction"),
    ],
)
def test_what_is_not_ready(rows, reason):
    """Nothing is dropped silently: a question that is not ready is named with its reason."""
    content = made(*rows)
    assert [own.reason for own in content.left_out] == [reason]
    assert content.queries == ()


def test_a_question_without_an_answer():
    """Unanswerable on purpose: it is there with what was judged as no answer."""
    asked = Question(
        uid="q",
        person="ann",
        text="?",
        answerable=False,
        difficulty="hard",
        sources=("delivery",),
        metadata={"expected_doc_types": ["faq"], "n": 1},
    )
    (query,) = made(asked, said(1)).queries
    assert (query.answerable, [gold.grade for gold in query.gold]) == (False, [0])
    assert query.metadata == {"difficulty": "hard", "sources": ["delivery"], "n": 1}
    assert query.expected_doc_types == ("faq",)
    assert made(Question(uid="q", person="ann", text="?", state="dropped"), said(3)).queries == ()


def test_evidence_is_the_gold_text_with_its_place():
    """One stretch is the text; of several what holds them all, each in the metadata."""
    (gold,) = made(said(3, spans=((15, 23),))).queries[0].gold
    assert gold.text == "two days"
    assert gold.metadata == {"source": "delivery", "start": 15, "end": 23}
    (gold,) = made(said(3, spans=((15, 18), (0, 8)))).queries[0].gold
    assert gold.text == TEXTS["delivery"][:18]
    assert gold.metadata["evidence"] == [[0, 8], [15, 18]]
    (gold,) = made(said(3, spans=((500, 900), (8, 9)))).queries[0].gold  # of another text, blank
    assert (gold.text, gold.metadata) == (TEXTS["delivery"], {})
    rows = (said(3, spans=((0, 8),)), said(0, "bob", spans=((9, 12),)), said(3, is_decision=True))
    (gold,) = made(*rows).queries[0].gold
    assert gold.text == "Delivery"  # of whoever the decision agrees with


def test_copies_are_one_item():
    """Judged by two people as two documents, copies are one gold item with an alternative."""
    rows = (said(3, document="refund"), said(3, "bob", "copy", spans=((0, 8),)))
    (gold,) = made(*rows).queries[0].gold
    assert (gold.id, gold.text) == ("copy", "A refund")
    assert [(doc.id, doc.text) for doc in gold.alternatives] == [("refund", "A refund")]
    assert made(rows[0], said(0, "bob", "copy")).left_out[0].reason == "undecided"


def test_gold_of_a_file_stays_until_it_is_judged():
    """What an imported file says of other passages goes into the release as it was."""
    kept = ({"id": "delivery", "text": "two days"}, {"text": "a passage", "grade": 2})
    asked = Question(uid="q", person="ann", text="?", gold=kept)
    assert [gold.text for gold in made(asked).queries[0].gold] == ["a passage", "two days"]
    (query,) = made(asked, said(0)).queries
    assert {gold.text: gold.grade for gold in query.gold} == {"a passage": 2, TEXTS["delivery"]: 0}
    judged_empty = made(asked, said(0, document="empty")).queries[0].gold[-1]
    assert (judged_empty.id, judged_empty.text) == ("empty", None)


def test_who_judged_how_much():
    """Each person's newest word counts once; undone and dropped count nothing."""
    rows = [
        Person(uid="ann", name="Ann"),
        Question(uid="q", person="ann", text="?"),
        Question(uid="gone", person="ann", text="?", state="dropped"),
        said(3),
        said(2),
        said("unusable", document="refund"),
        said("later", document="copy"),
        said(3, is_decision=True),
        Judgement(question="gone", document="refund", person="ann", grade=1),
    ]
    ((person, counts),) = judging_counts(State(Rows(rows)))
    assert (person.name, counts) == (
        "Ann",
        {"grade": 1, "unusable": 1, "later": 1, "decided": 1},
    )


@examples(200)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ann", "bob"]),
            st.sampled_from(["refund", "copy", "delivery"]),
            st.sampled_from([0, 1, 2, 3, "unusable", "undone"]),
        ),
        max_size=12,
    )
)
def test_against_the_slow_way(drawn):
    """A question is ready just where each group of copies has one gold grade, and one has gold."""
    rows = [
        said(grade, person, document, at=f"{place:03}")
        for place, (person, document, grade) in enumerate(drawn)
    ]
    opinions = {}
    for group in (("refund", "copy"), ("delivery",)):
        of_group = {}
        for own in ("ann", "bob"):
            newest = []
            for document in group:
                history = []
                for place, (person, about, grade) in enumerate(drawn):
                    if (person, about) == (own, document):
                        if grade == "undone":
                            history[-1:] = []
                        else:
                            history.append((place, grade))
                newest += history[-1:]
            if newest:
                grade = max(newest)[1]
                of_group[own] = None if grade == "unusable" else gold_grade(grade, 3)
        if of_group:
            opinions[group[0]] = set(of_group.values())
    content = made(*rows)
    is_ready = all(len(own) == 1 for own in opinions.values()) and any(
        (grade or 0) > 0 for own in opinions.values() for grade in own
    )
    assert bool(content.queries) == is_ready
    if is_ready:
        expected = {grade for own in opinions.values() for grade in own if grade is not None}
        assert set(grades(content).values()) == expected


def test_forbidden_and_graded():
    """A marked document keeps its grade, and has its text; without any mark nobody has looked."""
    assert forbidden(said(3)) is None
    (query,) = made(said(3), marked("stale")).queries
    assert [gold.id for gold in query.gold] == ["delivery"]
    assert query.forbidden == (Forbidden("delivery", TEXTS["delivery"], why="stale"),)


def test_one_persons_mark_is_enough():
    """Of two people both marks count, each with its kind, until they take theirs back."""
    both = [said(3), marked("stale"), marked("tenant", "bob")]
    assert forbidden(*both) == {("delivery", "stale"), ("delivery", "tenant")}
    allowed = marked("stale", kind="allowed", at="2100-01-01")
    assert forbidden(*both, allowed) == {("delivery", "tenant")}


def test_copies_are_forbidden_too():
    """What a copy says must not come either; of one person the newest of all copies counts."""
    rows = [said(3), marked("stale", document="copy", at="2020-01-01")]
    assert forbidden(*rows) == {("refund", "stale"), ("copy", "stale")}
    allowed = marked("stale", document="refund", kind="allowed", at="2021-01-01")
    assert forbidden(*rows, allowed) is None


def test_forbidden_of_a_file():
    """What came with a question stays, also that nothing is forbidden; marks add to it."""
    item = {"source": "old", "why": "stale"}
    asked = Question(uid="q", person="ann", text="Until when?", forbidden=(item,))
    assert forbidden(asked, said(3), marked("tenant")) == {(None, "stale"), ("delivery", "tenant")}
    assert forbidden(replace(asked, forbidden=()), said(3)) == set()
    with pytest.raises(DataError, match=r"forbidden\[0\]\.wyh.*'why'"):
        forbidden(replace(asked, forbidden=({"id": "a", "wyh": "b"},)), said(3))


def test_forbidden_and_gone():
    """A marked document that the corpus has no more is forbidden by its id alone."""
    content = made(said(3), marked("stale", document="gone"))
    assert content.queries[0].forbidden == (Forbidden("gone", why="stale"),)


def test_a_probe_needs_no_gold():
    """A question that says what must not come for it is ready without any gold."""
    item = {"id": "delivery", "why": "tenant"}
    probe = Question(uid="q", person="ann", text="?", query_type="probe", forbidden=(item,))
    assert forbidden(probe) == {("delivery", "tenant")}
    assert made(replace(probe, forbidden=None)).left_out[0].reason == "not judged"
    assert forbidden(replace(probe, query_type="lookup")) == {("delivery", "tenant")}
