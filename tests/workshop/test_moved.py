"""A gold set goes on over a corpus that was chunked anew: what is unsure is asked first, once."""

import json

import pytest

from kragx.data import read_dataset
from kragx.errors import DataError
from kragx.workshop import services
from kragx.workshop.exchange.exporting import ExportSource
from kragx.workshop.exchange.importing import import_file
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.folder.starting import start
from kragx.workshop.moving import move
from kragx.workshop.pairs.standing import Copies
from kragx.workshop.releases.contents import ready
from kragx.workshop.state.state import State
from tests.workshop.serving import grade, opened, written

OLD = {
    "fee": "The lantern ferry asks four coins of a rider, six of whoever brings a heavy cart, "
    "and nothing of those who help.",
    "dogs": "Dogs ride for nothing on the upper deck when they are kept on a short lead.",
    "storm": "In a storm the boats stay in the harbour until the red flag has been taken down.",
}
NEW = {
    "n1": "Dogs ride for nothing on the upper deck when they are kept on a short lead.",
    "n2": "The lantern ferry asks four coins of a rider. Carts are left at the gate since spring.",
    "n3": "Tickets are sold by the window next to the clock tower from eight in the morning on.",
}
GOLD = [
    {"query_id": "q0", "query": "Do dogs pay?", "gold": [{"id": "dogs", "grade": 2}]},
    {"query_id": "q1", "query": "What does it cost?", "gold": [{"id": "fee", "grade": 2}]},
    {"query_id": "q2", "query": "When do boats stay?", "gold": [{"id": "storm", "grade": 2}]},
]


def rows(texts):
    """A corpus as records."""
    return ({"id": name, "text": text} for name, text in texts.items())


@pytest.fixture
def moved(tmp_path):
    """The moved gold set and what is left of it, over the new corpus."""
    gold = written(tmp_path / "gold.jsonl", GOLD)
    result = move(gold, OLD, NEW)
    assert [item.verdict for item in result.items] == ["moved", "unsure", "lost"]
    return result.write(tmp_path / "shop" / "gold_v2.jsonl")


@pytest.fixture
def shop(tmp_path, moved):
    """The folder of the workshop that goes on, with what is left imported."""
    corpus = written(tmp_path / "new.jsonl", rows(NEW))
    start(tmp_path / "shop", corpus=corpus, gold=moved[0])
    assert taken(tmp_path / "shop", moved[1]).counts["candidates"] == 1
    return tmp_path / "shop"


def taken(folder, file):
    """Import a file as the command does."""
    workshop = Workshop.open(folder)
    with workshop.store() as store:
        source = ExportSource(State(store), workshop.documents, workshop.settings.scale)
        return import_file(source, file)


def held(desk):
    """The gold of a release by question: ids, and texts where there is none."""
    documents = desk.workshop.documents
    content = ready(desk.state, documents, Copies(documents), 3)
    queries = {one.id: one for one in content.queries}
    items = {uid: [gold.id or gold.text for gold in own.gold] for uid, own in queries.items()}
    return items, content.n_moved


def say(desk, person, document, number, question="q1"):
    """Judge a pair."""
    services.judging.judge(desk, person, **grade(question, document, number))


@pytest.mark.integration
def test_what_is_unsure_comes_first_with_its_text(shop, moved):
    """The chunk where it may be, the text beside it, no grade; the same file again adds nothing."""
    again = taken(shop, moved[1])
    assert not again.counts
    with opened(shop) as desk:
        answer = services.judging.next_pair(desk, services.people.annotator(desk, "ann"))
        pair = answer["pair"]
        assert (pair["question"]["uid"], pair["document"]["id"]) == ("q1", "n2")
        assert (pair["moved"], pair["mine"]) == ([OLD["fee"]], None)
        other = services.judging.next_pair(desk, services.people.annotator(desk, "bob"))[
            "pair"
        ]  # somebody looks at that one
        assert other is None or other["document"]["id"] != "n2"


@pytest.mark.parametrize(("number", "gold"), [(3, ["n2"]), (0, None)])
def test_a_text_counts_until_somebody_has_found_it(shop, number, gold):
    """Judged as relevant the chunk takes its place; as not relevant, nothing answers any more."""
    with opened(shop) as desk:
        ann = services.people.annotator(desk, "ann")
        before, n = held(desk)
        assert before == {"q0": ["n1"], "q1": [OLD["fee"]], "q2": [OLD["storm"]]}
        assert n == 2
        say(desk, ann, "n2", number)
        after, n = held(desk)
        assert (after.get("q1"), n) == (gold, 1)
        assert not desk.queue.pools["q1"].in_doubt


def test_a_lost_text_gives_way_to_what_somebody_finds(shop):
    """By searching: until then it stays, also when something is judged as not relevant."""
    with opened(shop) as desk:
        ann = services.people.annotator(desk, "ann")
        say(desk, ann, "n3", 0, "q2")
        assert OLD["storm"] in held(desk)[0]["q2"]
        say(desk, ann, "n2", 2, "q2")
        assert held(desk)[0]["q2"] == ["n2", "n3"]


def test_what_a_file_judged_is_asked_again_where_it_is_in_doubt(shop, tmp_path, moved):
    """What was not relevant is in a chunk of relevant gold now: a person says what it is worth."""
    line = json.loads(moved[1].read_text("utf-8").splitlines()[0])
    line |= {"query_id": "q0", "query": GOLD[0]["query"]}
    line |= {"gold": {"text": "Dogs ride for nothing on the upper deck", "grade": 0}}
    line["candidates"] = [{"id": "n1", "share": 1.0}]
    more = written(tmp_path / "more.unsure.jsonl", [line])
    assert taken(shop, more).counts["candidates"] == 1
    with opened(shop) as desk:
        ann = services.people.annotator(desk, "ann")
        assert services.judging.next_pair(desk, ann)["pair"]["document"]["id"] == "n1"
        say(desk, ann, "n1", 3, "q0")
        assert services.judging.next_pair(desk, ann)["pair"]["document"]["id"] == "n2"


def test_questions_that_are_not_there_are_added(tmp_path, moved):
    """With their text, so that nothing is lost; those that are there keep their wording."""
    corpus = written(tmp_path / "new.jsonl", rows(NEW))
    questions = [{"query_id": "own", "query": GOLD[1]["query"], "gold": []}]
    folder = tmp_path / "other"
    start(folder, corpus=corpus, questions=written(tmp_path / "q.jsonl", questions))
    result = taken(folder, moved[1])
    counts = {"people": 1, "questions": 1, "candidates": 1}
    assert (result.counts, result.form) == (counts, "moved")
    assert any("search for" in words for words in result.remarks)
    with opened(folder) as desk:
        assert list(desk.state.questions) == ["own", "q2"]
        assert [item["text"] for item in desk.state.questions["q2"].gold] == [OLD["storm"]]
        assert (
            services.judging.next_pair(desk, services.people.annotator(desk, "ann"))["pair"][
                "question"
            ]["uid"]
            == "own"
        )


def test_the_workshop_over_the_old_corpus_refuses_it(tmp_path, moved):
    """By the ids that it lacks."""
    file = written(tmp_path / "c.jsonl", rows(OLD))
    start(tmp_path / "w", corpus=file, gold=tmp_path / "gold.jsonl")
    with pytest.raises(DataError, match="that the gold was moved to"):
        taken(tmp_path / "w", moved[1])


@pytest.mark.parametrize(
    "changes",
    [
        {"query_id": 1},
        {"gold": {"text": None}},
        {"gold": {"text": ["a"]}},
        {"gold": []},
        {"candidates": [{"id": ["n1"], "share": 1}]},
        {"candidates": [{"id": "n1", "share": 10**400}]},
        {"candidates": [{"id": "n1", "share": float("nan")}]},
        {"candidates": "n1"},
    ],
)
def test_a_line_of_another_kind_is_refused(shop, tmp_path, moved, changes):
    """Whatever stands in a field: the file's line is named, and nothing comes in."""
    line = json.loads(moved[1].read_text("utf-8").splitlines()[0])
    file = written(tmp_path / "odd.unsure.jsonl", [line | changes])
    with pytest.raises(DataError, match=r"odd.unsure.jsonl:(line )?1"):
        taken(shop, file)


@pytest.mark.integration
def test_a_gold_set_comes_once(shop, moved):
    """The moved set's questions are there since the workshop was made, and do not come again."""
    assert not any(taken(shop, moved[0]).counts.values())
    assert read_dataset(moved[0])["q1"].gold[0].metadata["moved"] == "unsure"
