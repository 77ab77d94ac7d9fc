"""The questions of a lot, opened one after the other until their difference is decided."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kragx.agreement.change import estimate
from kragx.agreement.change.draw import LabelledMetric, draw_lot
from kragx.data import Doc
from kragx.errors import UsageError
from kragx.workshop import services
from kragx.workshop.commands.diff_labels import LotFeed, lot_workshop
from kragx.workshop.desk import Desk
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.pairs.standing import Copies
from kragx.workshop.state.records import Judgement, Person, new_uid
from kragx.workshop.state.state import State
from tests.agreement.change.test_lot import asked
from tests.comparison.lists.test_lists import side_by_side

OLD, NEW = ["ab"] * 30, ["ac"] * 30


class Bench:
    """A workshop of a lot at work."""

    def __init__(self, folder, state, metric, margin=None, times=1):
        diff = side_by_side(OLD * times, NEW * times, queries=asked(len(OLD) * times))
        self.lot, documents = draw_lot(diff, LabelledMetric.of(metric))
        lot_workshop(folder, self.lot, documents)
        workshop = Workshop.open(folder)
        self.state = state(workshop)
        queries = {question.query.id: question.query for question in diff.questions}
        copies = Copies(workshop.documents)
        self.feed = LotFeed(self.lot, queries, self.state, copies, 3, margin)
        self.desk = Desk(workshop, self.state, feed=self.feed.feed)
        self.owner = self.state.owner()
        self.order = [question.query_id for question in self.lot.questions]

    def next(self, person=None):
        """The pair that somebody is shown; None without one."""
        pair = services.judging.next_pair(self.desk, person or self.owner)["pair"]
        return pair and (pair["question"]["uid"], pair["document"]["id"])

    def say(self, pair, grade=None, kind="grade", person=None):
        """What somebody says of a pair."""
        fields = {"uid": new_uid(), "question": pair[0], "document": pair[1]}
        form = {**fields, "kind": kind, "grade": grade}
        services.judging.judge(self.desk, person or self.owner, **form)


@pytest.fixture
def bench(tmp_path) -> Iterator:
    """Makes workshops of lots; the same folder goes on."""
    with ExitStack() as stores:
        yield lambda metric="precision@2", **options: Bench(
            tmp_path / "w",
            lambda workshop: State(stores.enter_context(workshop.store())),
            metric,
            **options,
        )


def test_one_question_after_the_other_in_the_order_drawn(bench):
    """A person reads one question to its end; only what came or went of it is shown."""
    work, pairs = bench(), []
    for _ in range(6):
        pairs.append(work.next())
        work.say(pairs[-1], 0)
    assert [uid for uid, _ in pairs[::2]] == [uid for uid, _ in pairs[1::2]] == work.order[:3]
    assert {document for _, document in pairs} == {"b", "c"}
    assert len(work.state.questions) == 4
    lot = work.state.questions[work.order[1]].metadata["lot"]
    assert lot == {"order": 2, "chance": pytest.approx(1 / 29)}


def test_it_ends_once_it_is_decided_and_goes_on_where_it_stood(bench):
    """All for the better: it ends before all is labelled, and who comes later finds it so."""
    work = bench()
    n = 0
    while pair := work.next():
        work.say(pair, 3 if pair[1] == "c" else 1)
        n += 1
        if n == 4:
            work = bench()
            assert work.feed.difference().counts["n_labelled"] == 2
    assert work.feed.difference().verdict == "better"
    assert 10 < n < 30
    assert bench().feed.difference().low > 0
    assert bench().next() is None


def test_what_stayed_is_asked_where_hit_rate_needs_it(bench):
    """By hand: c without b leaves it to a; a relevant settles it, and nothing of it is left."""
    work = bench("hit_rate@2")
    uid = work.order[0]
    for document, grade, shown in (("b", 0, {"b", "c"}), ("c", 2, {"b", "c"}), ("a", 2, {*"abc"})):
        assert work.next()[0] == uid
        assert {*work.state.candidates[uid]} == shown
        work.say((uid, document), grade)
    assert work.next()[0] == work.order[1]
    assert work.feed.difference().counts["n_labels"] == 3


def test_copies_are_judged_once(tmp_path):
    """Documents of other ids and the same words are one to judge, and the label is of both."""
    old = [(Doc("a", "text of a"), Doc("b", "The same words."))] * 2
    new = [(Doc("a", "text of a"), Doc("c", "the same words"))] * 2
    lot, documents = draw_lot(side_by_side(old, new, queries=asked(2)), LabelledMetric("mrr", 2))
    lot_workshop(tmp_path / "w", lot, documents)
    workshop = Workshop.open(tmp_path / "w")
    queries = {query.id: query for query in asked(2)}
    with workshop.store() as store:
        state = State(store)
        feed = LotFeed(lot, queries, state, Copies(workshop.documents), 3)
        desk = Desk(workshop, state, feed=feed.feed)
        for _ in range(4):
            pair = services.judging.next_pair(desk, state.owner())["pair"]
            said = {"question": pair["question"]["uid"], "document": pair["document"]["id"]}
            grade = 0 if said["document"] == "a" else 3
            form = {"uid": new_uid(), **said, "kind": "grade", "grade": grade}
            services.judging.judge(desk, state.owner(), **form)
        assert services.judging.next_pair(desk, state.owner())["pair"] is None
        assert feed.difference().counts["n_labelled"] == 2
        assert feed.difference().difference == 0


def test_put_off_unusable_odd_and_in_conflict_hold_nothing_up(bench):
    """Whoever cannot say goes on with the next question; what is not known counts at its worst."""
    work = bench()
    first = work.next()
    work.say(first, kind="later")
    work.say(work.next(), 3)
    assert work.next()[0] == work.order[1]
    assert work.feed.difference().counts["n_put_off"] == 1
    work.say(work.next(), kind="odd")
    assert work.next()[0] == work.order[2]
    work.say(work.next(), kind="unusable")
    assert work.next()[0] == work.order[2]
    work.say(work.next(), 0)
    assert work.next()[0] == work.order[3]
    other = Person(name="other")
    pair = work.next()
    work.say(pair, 0)
    work.state.add([other])
    said = {"question": pair[0], "document": pair[1], "person": other.uid}
    work.state.add([Judgement(**said, grade=3)])
    work.say(work.next(), 0)
    counts = work.feed.difference().counts
    assert (counts["n_labelled"], counts["n_put_off"]) == (0, 4)
    work.say(first, 0)  # who comes back to it settles it
    assert work.feed.difference().counts["n_labelled"] == 1


def test_each_person_has_a_question_of_their_own(bench):
    """Two people are not kept waiting by one another."""
    work = bench()
    other = Person(name="other")
    work.state.add([other])
    assert {work.next()[0], work.next(other)[0]} <= {*work.order[:2]}
    assert [*work.state.questions] == work.order[:2]


def test_who_goes_on_without_hope_may(bench, monkeypatch):
    """Ties without end are called hopeless, here after ten questions; the next time they go on."""
    monkeypatch.setattr(estimate, "FEW", 10)
    monkeypatch.setattr(estimate, "_FAR", 1)
    work = bench(times=4)
    for _ in range(20):
        work.say(work.next(), 0)
    assert work.next() is None
    difference = work.feed.difference()
    assert (difference.verdict, difference.counts["n_labelled"]) == ("hopeless", 10)
    again = bench(times=4)
    again.say(again.next(), 0)
    assert again.next() is not None


def test_another_lot_is_refused(bench, tmp_path):
    """A folder of another metric, and a workshop of something else, stay as they are."""
    bench()
    with pytest.raises(UsageError, match="is the workshop of another lot"):
        bench("mrr@2")
    (tmp_path / "w" / "lot.jsonl").unlink()
    with pytest.raises(UsageError, match=r"holds workshop.yaml and no lot"):
        bench()


def test_files_of_the_user_stay(bench, tmp_path):
    """A folder with a corpus.jsonl of somebody else's is refused, and nothing is written."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "corpus.jsonl").write_text("mine")
    with pytest.raises(UsageError, match=r"holds corpus.jsonl and no lot"):
        bench()
    assert [file.name for file in (tmp_path / "w").iterdir()] == ["corpus.jsonl"]


def test_a_folder_that_was_ended_half_made_goes_on(bench, tmp_path):
    """Whoever was killed between the lot and the workshop has it made by the same command."""
    bench()
    for file in (tmp_path / "w").iterdir():
        if file.name != "lot.jsonl":
            file.unlink()
    work = bench()
    assert work.next()[0] == work.order[0]


def test_titles_are_shown(tmp_path):
    """A document's title comes along, and the corpus of the workshop can be read."""
    docs = [tuple(Doc(x, f"text of {x}", {"title": f"Title {x}", "v": 1}) for x in "ab")]
    other = [(docs[0][0], Doc("c", "text of c", {"title": "Title c"}))]
    lot, documents = draw_lot(side_by_side(docs, other, queries=asked(1)), LabelledMetric("mrr", 2))
    lot_workshop(tmp_path / "w", lot, documents)
    shown = Workshop.open(tmp_path / "w").documents
    assert {name: dict(doc.metadata) for name, doc in shown.items()} == {
        name: {"title": f"Title {name}"} for name in "abc"
    }
