"""Two gold sets set side by side: what changed, and what numbers can be compared on."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kragx import DataError, Doc, Gold, GoldDataset, Query
from kragx.data.gold import Turn
from kragx.data.gold_diff import diff_files, diff_gold
from kragx.data.text import normalise
from tests.thoroughness import all_cases, examples

from .support import golds, json_values, texts

PASSAGE = "Opened software can be returned within 14 days."
LAST = Query("last", "one that has all", (Gold("c", "a text"),))
"""So that no side lacks questions, ids or texts altogether."""


def a_set(*queries: Query) -> GoldDataset:
    """A gold set, with a question more that holds everything."""
    return GoldDataset((*queries, LAST))


def told(old: Query, new: Query) -> list[str]:
    """What is said of the changes of a question."""
    (question,) = diff_gold(a_set(old), a_set(new)).questions or [None]
    return [] if question is None else [str(change) for change in question.changes]


def test_by_hand():
    """Every kind of question: the same, changed, with other labels, judged, added, dropped."""
    same, label, judged, changed = (
        Query(name, "why?", (Gold(f"{name}1", PASSAGE),)) for name in ("q1", "q2", "q3", "q4")
    )
    old = a_set(same, label, judged, changed, Query("gone", "where?"))
    new = a_set(
        replace(same, metadata={}),
        replace(label, query_type="lookup"),
        replace(judged, gold=(*judged.gold, Gold("zero", "beside the point", 0.0))),
        replace(changed, reference="because"),
        Query("new", "when?"),
    )
    diff = diff_gold(old, new)
    states = {own.query_id: (own.state, own.kind) for own in diff.questions}
    assert states == {
        "q2": ("changed", "labels"),
        "q3": ("changed", "judged"),
        "q4": ("changed", "gold"),
        "gone": ("dropped", "gold"),
        "new": ("added", "gold"),
    }
    assert (diff.n_same, diff.comparable) == (4, False)
    assert diff.summary == (
        "3 of 7 questions differ (1 changed, 1 added, 1 dropped); results of the two can be "
        "compared on the rest, 4"
    )
    assert "in 1 more only labels differ" in str(diff)
    assert "in 1 more only documents of grade 0 differ" in str(diff)
    assert diff.to_dict()["questions"][2]["changes"][0]["after"] == "because"


@all_cases(
    ("before", "after", "changes"),
    [
        (Gold("c1", PASSAGE), Gold("c1", PASSAGE, 2.0), ["grade c1: 1 → 2"]),
        (Gold("c1", PASSAGE), Gold("d7", PASSAGE), ["moved: c1 → d7"]),
        (
            Gold("c1", "within 14 days."),
            Gold("d7", PASSAGE),
            ["gold dropped c1 (grade 1)", "gold added d7 (grade 1)"],
        ),
        (
            Gold("c1", PASSAGE),
            Gold("c9", "nothing alike"),
            ["gold dropped c1 (grade 1)", "gold added c9 (grade 1)"],
        ),
        (
            Gold("c1", PASSAGE, metadata={"source": "s", "start": 3, "page": 1}),
            Gold("c1", PASSAGE, metadata={"source": "s", "start": 9, "page": 2}),
            [
                "gold metadata c1: {'source': 's', 'start': 3, 'page': 1} → "
                "{'source': 's', 'start': 9, 'page': 2}"
            ],
        ),
        (
            Gold("c1", alternatives=(Doc("c2"), Doc("c3"))),
            Gold("c1", alternatives=(Doc("c3"), Doc("c2"))),
            [],
        ),
        (
            Gold(None, None, alternatives=(Doc("c2"),)),
            Gold(None, None, 3.0, alternatives=(Doc("c2"), Doc("c4"))),
            ["gold dropped c2 (grade 1)", "gold added c2 (grade 3)"],
        ),
    ],
)
def test_what_became_of_a_gold_item(before, after, changes):
    """An item is the same one by its text or its id; its changes are named."""
    assert told(Query("q", "why?", (before,)), Query("q", "why?", (after,))) == changes


MOVE = {"move": {"from": ["c1"], "to": ["d7"]}}
"""What `kragx gold move` writes into the metadata of an item that has gone from c1 to d7."""


@all_cases(
    ("before", "after", "kind"),
    [
        (Gold("c1", PASSAGE), Gold("d7", PASSAGE), "ids"),
        (Gold("c1", PASSAGE), Gold("d7", PASSAGE, alternatives=(Doc("d8", PASSAGE),)), "ids"),
        (Gold("c1", PASSAGE), Gold("d7", PASSAGE, alternatives=(Doc("d8", "other"),)), "gold"),
        (Gold("c1", PASSAGE), Gold("d7", PASSAGE, metadata={"source": "s"}), "gold"),
        (Gold("c1", PASSAGE), Gold("d7", PASSAGE, 2.0, metadata=MOVE), "gold"),
        (Gold("c1", PASSAGE), Gold("d7", PASSAGE, metadata=MOVE), "moved"),
        (Gold("c1"), Gold("d7", metadata=MOVE), "moved"),
        (Gold("c1"), Gold("d7", PASSAGE, metadata={**MOVE, "source": "s", "start": 3}), "moved"),
        (Gold("c1", PASSAGE), Gold("d7", f"- {PASSAGE.upper()}", metadata=MOVE), "moved"),
        (Gold("c1", PASSAGE), Gold("d7", f"Not {PASSAGE}", metadata=MOVE), "gold"),
        (Gold("c2"), Gold("d7", metadata=MOVE), "gold"),
        (Gold("c1"), Gold("d9", metadata=MOVE), "gold"),
        (Gold("c1"), Gold("d7", alternatives=(Doc("d9"),), metadata=MOVE), "gold"),
        (Gold("c1"), Gold("d7", metadata={"move": ["c1"]}), "gold"),
        (Gold("c1", PASSAGE, 0.0), Gold("d7", PASSAGE, 0.0, metadata=MOVE), "judged"),
    ],
)
def test_gold_that_is_elsewhere(before, after, kind):
    """The same text under another id is other gold for who compares ids, unless a move tells."""
    query = Query("q", "why?", (before, Gold("c3", "stays")))
    later = replace(query, gold=(after, Gold("c3", "stays")))
    diff = diff_gold(a_set(query), a_set(later))
    assert [question.kind for question in diff.questions] == [kind]
    assert diff.comparable == (kind in ("moved", "judged"))
    said = {"ids": "same text under another id", "moved": "in 1 of these gold is the same text"}
    assert said.get(kind, "") in str(diff)


def test_ids_that_are_counted_anew():
    """What was c1 and c2 is c2 and c3: each item is held against its own, by text or by record."""
    first, second = Gold("c1", PASSAGE), Gold("c2", "a second passage")
    query = Query("q", "why?", (first, second))
    later = replace(query, gold=(replace(first, id="c2"), replace(second, id="c3")))
    assert told(query, later) == ["moved: c1 → c2", "moved: c2 → c3"]

    def recorded(before: str, after: str) -> Gold:
        return Gold(after, metadata={"move": {"from": [before], "to": [after]}})

    bare = replace(query, gold=(Gold("c1"), Gold("c2", grade=2.0)))
    moved = replace(bare, gold=(recorded("c1", "c2"), replace(recorded("c2", "c3"), grade=2.0)))
    assert told(bare, moved) == ["moved: c1 → c2", "moved: c2 → c3"]


def test_of_several_items_those_are_paired_that_share_most():
    """A chunk with two passages has its id twice: each is held against its own, in any order."""
    one, other = (Gold("c1", text, metadata={"start": len(text)}) for text in ("first", "a second"))
    before, after = Query("q", "why?", (one, other)), Query("q", "why?", (other, one))
    assert told(before, after) == []
    graded = replace(after, gold=(replace(other, grade=2.0), one))
    assert told(before, graded) == ["grade c1: 1 → 2"]
    assert told(before, replace(after, gold=(one,))) == ["gold dropped c1 (grade 1)"]


def _apart(value):
    """A value with every text in NFD, and more white space."""
    if isinstance(value, str):
        return f"  {unicodedata.normalize('NFD', value)} ".replace(" ", "  ")
    return value


def test_what_lists_are_shown_by():
    """Turns and values of labels by what they hold."""
    old = Query("q1", "and there?", (Gold("a", PASSAGE),), metadata={"of": [{"n": 1}], "in": []})
    turns = (Turn("user", "Which city?"), Turn("assistant", "Seoul."))
    new = replace(old, history=turns, metadata={"of": [{"n": 2}], "in": ["x", None]})
    assert told(old, new) == [
        "earlier turns: none → [{'role': 'user', 'content': 'Which city?'}, ...",
        "label metadata.of: [{'n': 1}] → [{'n': 2}]",
        "label metadata.in: none → ['x', None]",
    ]


def test_unicode_form_and_white_space_mean_nothing():
    """A set that went through macOS is the same, also by its ids; only its hash is another."""
    query = Query("질문", "환불은 언제?", (Gold("정답", "열네 날 안"),), metadata={"분류": "환불"})
    form = unicodedata.normalize("NFD", "질문")
    metadata = {_apart(key).strip(): _apart(own) for key, own in query.metadata.items()}
    gold = Gold(unicodedata.normalize("NFD", "정답"), _apart("열네 날 안"))
    other = Query(form, _apart(query.text), (gold,), metadata=metadata)
    diff = diff_gold(a_set(query), a_set(other))
    assert (diff.comparable, diff.n_same, diff.questions) == (True, 2, ())
    assert "only the Unicode form, white space or the order of gold items differs" in str(diff)


def test_qrels_are_compared_as_far_as_they_go(tmp_path):
    """Qrels hold no question and no text: gold is compared, and what is not is said."""
    records = [{"query_id": f"q{i}", "query": "why?"} for i in range(3)]
    lines = [
        json.dumps({**own, "gold": [{"id": f"c{i}", "text": "t"}]}) for i, own in enumerate(records)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    (tmp_path / "b.qrels").write_text("q0 0 c0 1\nq1 0 c1 2\nq2 0 c2 1\n")
    diff = diff_files(tmp_path / "a.jsonl", tmp_path / "b.qrels")
    assert [own.query_id for own in diff.questions] == ["q1"]
    assert diff.not_compared == ("questions", "texts of gold")
    assert "not compared, as one of the two holds none at all: questions" in str(diff)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no query"),
        ('{"query_id": "q", "gold": []}\n{"query_id": "q", "gold": []}', "'q' stands twice"),
        ("no gold set", "not valid JSON"),
    ],
)
def test_files_that_are_none(tmp_path, content, message):
    """Empty files, ids that stand twice and broken lines are refused with the file's name."""
    (tmp_path / "a.jsonl").write_text('{"query_id": "q", "query": "why?", "gold": []}')
    (tmp_path / "b.jsonl").write_text(content)
    for pair in (("a", "b"), ("b", "a")):
        with pytest.raises(DataError, match=message) as raised:
            diff_files(*(tmp_path / f"{name}.jsonl" for name in pair))
        assert "b.jsonl" in str(raised.value)


def _meaning(query: Query, zeros: bool) -> object:
    """What is read of a question, the slow way: one JSON of all, sorted."""

    def plain(value):
        if isinstance(value, str):
            return normalise(value)
        if isinstance(value, dict):
            return {normalise(key): plain(own) for key, own in value.items()}
        return [plain(own) for own in value] if isinstance(value, list | tuple) else value

    def dumped(value):
        return json.dumps(plain(value), sort_keys=True)

    items = [
        dumped(
            [
                gold.id,
                gold.text,
                gold.grade + 0.0,
                sorted(dumped([doc.id, doc.text, doc.metadata]) for doc in gold.alternatives),
                gold.metadata,
            ]
        )
        for gold in query.gold
        if gold.grade > 0 or zeros
    ]
    facts = query.metadata.get("facts")
    return [
        plain(query.text),
        query.answerable is not False,
        plain(query.reference),
        dumped(facts),
        sorted(items),
    ]


queries = st.builds(
    Query,
    id=st.just("q"),
    text=texts,
    gold=st.lists(golds, max_size=3).map(tuple),
    reference=st.none() | texts,
    answerable=st.none() | st.booleans(),
    query_type=st.none() | texts,
    metadata=st.dictionaries(st.sampled_from(["facts", "note"]), json_values, max_size=2),
)


@st.composite
def pairs(draw):
    """A question, and what somebody made of it."""
    query = draw(queries)
    other = draw(queries)
    name = draw(st.sampled_from(["text", "gold", "reference", "answerable", "query_type", "none"]))
    if name == "none":
        return query, query
    changed = replace(query, **{name: getattr(other, name)})
    kept = draw(st.permutations(query.gold))
    return query, replace(changed, gold=tuple(kept)[draw(st.integers(0, 3)) :] + changed.gold[:1])


@pytest.mark.integration
@examples(400)
@given(pairs())
def test_against_the_slow_way(pair):
    """A question differs for metrics just where what they read of it differs, sorted as JSON."""
    one, other = pair
    diff = diff_gold(a_set(one), a_set(other))
    back = diff_gold(a_set(other), a_set(one))
    for found in (diff, back):
        assert found.comparable == (_meaning(one, False) == _meaning(other, False))
        judged = any(own.kind == "judged" for own in found.questions)
        assert judged == (found.comparable and _meaning(one, True) != _meaning(other, True))
    n_items = len(other.gold) - len(one.gold)
    assert diff.counts["gold added"] - diff.counts["gold dropped"] == n_items
    assert diff.counts["gold added"] == back.counts["gold dropped"]
