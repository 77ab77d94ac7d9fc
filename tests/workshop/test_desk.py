"""The desk: what people may ask and say, on a file and on PostgreSQL."""

import threading
from pathlib import Path

import pytest

from kragx.data import Doc, Retrieved, Run
from kragx.data.corpus import _entries as entries
from kragx.errors import UsageError
from kragx.workshop import services
from kragx.workshop.calls import ClashError, RefusedError, UnknownError
from kragx.workshop.desk import Desk
from kragx.workshop.folder.starting import start
from kragx.workshop.queue.suggestions import SuggestionSource
from kragx.workshop.state.records import Question, new_uid
from kragx.workshop.web.server import form_of
from tests.thoroughness import all_cases
from tests.waiting import wait_until
from tests.workshop.serving import grade, opened, started, written

ROOT = Path(__file__).resolve().parents[2]


def said(question="q1", document="refund", number=3, **fields):
    """A grade as the page sends it."""
    return grade(question, document, number, **fields)


def decided(number, **fields):
    """A decision on a pair as the page sends it."""
    return grade("q1", "refund", number, **fields)


@pytest.fixture
def people(desk):
    """The owner and two annotators."""
    return (
        desk.state.owner(),
        services.people.annotator(desk, "지민"),
        services.people.annotator(desk, "서연"),
    )


def test_people_keep_their_names_and_links(desk):
    """The owner is one, an annotator of a name is one, however it is composed; links differ."""
    owner, one = desk.state.owner(), services.people.annotator(desk, "지민")
    assert desk.state.owner() == owner
    assert services.people.annotator(desk, "\u110c\u1175\u1106\u1175\u11ab ") == one
    assert services.people.holder(desk, services.people.link_token(desk, one)) == one
    assert services.people.holder(desk, services.people.link_token(desk, owner)) == owner
    assert (
        len({services.people.link_token(desk, person) for person in desk.state.people.values()})
        == 3
    )
    (file,) = [person for person in desk.state.people.values() if person.role == "file"]
    assert services.people.holder(desk, services.people.link_token(desk, file)) is None
    with pytest.raises(UsageError, match="annotator"):
        services.people.annotator(desk, " ")


def test_two_of_one_name_are_refused(desk):
    """A name that is here cannot be taken again; one that has gone can."""
    answer = services.people.put(desk, name="지민")
    with pytest.raises(ClashError, match="here already"):
        services.people.put(desk, name="지민")
    uid = answer["people"][-1]["uid"]
    services.people.put(desk, uid=uid, state="gone")
    services.people.put(desk, name="지민")
    with pytest.raises(ClashError):
        services.people.put(desk, uid=uid, state="here")
    with pytest.raises(ClashError, match="annotator's"):
        services.people.put(desk, uid=desk.state.owner().uid, state="gone")


def test_evidence_is_sorted_and_joined(desk, people):
    """Stretches that touch or overlap become one; offsets are Python's characters."""
    form = said(spans=[[4, 6], [0, 2], [1, 3], [6, 7]], note="앞 문장")
    services.judging.judge(desk, people[1], **form)
    stored = desk.state.judgement(form["uid"])
    assert (stored.spans, stored.note) == (((0, 3), (4, 7)), "앞 문장")


def test_people_are_blind_to_each_other(desk, people):
    """Nothing that an annotator may ask has another's grade, or what suggested a document."""
    _, one, other = people
    services.judging.judge(desk, one, **said(number=0, note="eleven"))
    shown = [
        services.judging.next_pair(desk, other),
        services.questions.listed(desk, other),
        services.progress.report(desk, other),
        services.progress.me(desk, other),
    ]
    text = repr(shown)
    assert "eleven" not in text
    for word in ("'retriever'", "'rank'", "'score'", "'agreement'"):
        assert word not in text


def test_a_mark_and_what_takes_it_back(desk, people):
    """Sent twice it is stored once; each sees their own alone; `undo` takes back what was last."""
    owner, one, _ = people
    pair, state = {"question": "q1", "document": "refund"}, desk.state

    def mark(person, why, note=""):
        form = {"uid": new_uid(), "why": why, "note": note, **pair}
        return [services.judging.mark(desk, person, **form) for _ in range(2)][1]["mark"]

    assert mark(one, "tenant", "남의 것") == {"why": "tenant", "note": "남의 것"}
    assert len(state.marked[one.uid]) == 1
    assert services.judging.shown(desk, ("q1", "refund"), owner)["pair"]["mark"] is None
    assert mark(owner, "stale") == {"why": "stale", "note": ""}
    assert mark(one, None) is None
    assert state.mark(("q1", "refund"), owner.uid).why == "stale"
    back = services.judging.undo(desk, one, uid=new_uid())["pair"]
    assert (back["mark"], back["mine"]) == ({"why": "tenant", "note": "남의 것"}, None)
    services.judging.judge(desk, one, **said(number=1))
    assert services.judging.undo(desk, one, uid=new_uid())["pair"]["mark"]["why"] == "tenant"
    assert services.judging.undo(desk, one, uid=new_uid())["pair"]["mark"] is None
    with pytest.raises(ClashError, match="nothing to take back"):
        services.judging.undo(desk, one, uid=new_uid())
    with pytest.raises(UnknownError):
        services.judging.mark(desk, one, uid=new_uid(), question="q1", document="none", why="x")
    assert services.conflicts.listed(desk) == {"conflicts": []}


def test_a_conflict_is_decided_and_both_originals_stay(desk, people):
    """Two who differ are shown side by side until somebody decides; undone, it is open again."""
    owner, one, other = people
    services.judging.judge(desk, one, **said(number=0, note="no"))
    assert services.conflicts.listed(desk) == {
        "conflicts": []
    }  # a file's grade is no second opinion
    services.judging.judge(desk, other, **said(number=3))
    (conflict,) = services.conflicts.listed(desk)["conflicts"]
    assert {vote["person"]["name"]: vote["grade"] for vote in conflict["judgements"]} == {
        "지민": 0,
        "서연": 3,
    }
    assert services.conflicts.decide(desk, owner, **decided(2))["conflicts"] == []
    assert desk.state.newest(("q1", "refund"), one.uid).grade == 0
    services.judging.undo(desk, owner, uid=new_uid())
    assert len(services.conflicts.listed(desk)["conflicts"]) == 1


def test_evidence_stands_only_on_the_text_that_it_was_marked_on(tmp_path):
    """Of two copies each person marked their own: one text is shown, the other's words beside."""
    texts = {"short": "환불은 7일 안에 합니다.", "long": "[ 환불은 7일 안에 합니다. ]"}
    corpus = written(tmp_path / "c.jsonl", ({"id": k, "text": v} for k, v in texts.items()))
    questions = written(tmp_path / "q.jsonl", [{"query_id": "q1", "query": "며칠?", "gold": []}])
    start(tmp_path / "shop", corpus=corpus, questions=questions)
    with opened(tmp_path / "shop") as desk:
        one, other = (
            services.people.annotator(desk, "지민"),
            services.people.annotator(desk, "서연"),
        )
        services.judging.judge(desk, one, **said(document="short", number=3, spans=[[4, 6]]))
        services.judging.judge(desk, other, **said(document="long", number=0, spans=[[0, 5]]))
        (conflict,) = services.conflicts.listed(desk)["conflicts"]
        of_each = {own["person"]["name"]: own for own in conflict["judgements"]}
        marked = texts[conflict["document"]["id"]]
        for name, document, start_, end in (("지민", "short", 4, 6), ("서연", "long", 0, 5)):
            assert of_each[name]["evidence"] == [texts[document][start_:end]]
            is_own = texts[document] == marked
            assert of_each[name]["spans"] == ([[start_, end]] if is_own else [])
        mine = {own: desk.queue.mine(own, ("q1", "long")) for own in (one.uid, other.uid)}
        assert [row.document for row in mine.values()] == ["short", "long"]
        shown = [services.judging.shown(desk, ("q1", "long"), own) for own in (one, other)]
        assert [own["pair"]["mine"]["spans"] for own in shown] == [[], [[0, 5]]]


@pytest.mark.parametrize(("twice", "seconds"), [(0, 0), (1, 4)])
def test_how_many_pairs_a_second_person_judges_as_well(shop, twice, seconds):
    """None, or all of the four pairs, as workshop.yaml says."""
    file = shop / "workshop.yaml"
    file.write_text(file.read_text("utf-8") + f"twice: {twice}\n", "utf-8")
    with opened(shop) as desk:
        one, other = (
            services.people.annotator(desk, "지민"),
            services.people.annotator(desk, "서연"),
        )
        while pair := services.judging.next_pair(desk, one)["pair"]:
            services.judging.judge(
                desk, one, **said(pair["question"]["uid"], pair["document"]["id"])
            )
        n = 0
        while pair := services.judging.next_pair(desk, other)["pair"]:
            services.judging.judge(
                desk, other, **said(pair["question"]["uid"], pair["document"]["id"])
            )
            n += 1
    assert n == seconds


def test_agreement_by_hand(desk, people):
    """Two who always agree with two grades: alpha 1 from ten pairs on, before it no figure."""
    owner, one, other = people
    for number in range(10):
        uid = f"q-{number:08}"
        services.questions.put(desk, owner, uid=uid, text=f"질문 {number}", sources=["refund"])
        for person in (one, other):
            services.judging.judge(desk, person, **said(uid, "refund", 3 * (number % 2)))
        alpha = services.progress.report(desk, owner)["agreement"]
        assert (alpha["pairs"], alpha["questions"], alpha["least"]) == (number + 1, number + 1, 10)
        assert alpha["value"] == (1.0 if number == 9 else None)


def test_an_odd_question_is_told_to_the_owner_alone(desk, people):
    """Another question comes next; the owner reads who said what until the question is changed."""
    owner, one, other = people
    fields = {"question": "q1", "document": "refund", "note": "무엇을 묻는지?"}
    form = {"uid": new_uid(), "kind": "odd", **fields}
    answer = services.judging.judge(desk, one, **form)
    assert answer["next"]["pair"]["question"]["uid"] == "q2"
    assert services.judging.judge(desk, one, **form)["stored"]  # sent again
    shown = {row["uid"]: row for row in services.questions.listed(desk, owner)["questions"]}
    assert shown["q1"]["odd"] == [{"person": "지민", "note": "무엇을 묻는지?"}]
    assert shown["q2"]["odd"] == []
    assert all("odd" not in row for row in services.questions.listed(desk, other)["questions"])
    services.questions.put(desk, owner, uid="q1", text="환불은 며칠 안에?")
    shown = {row["uid"]: row for row in services.questions.listed(desk, owner)["questions"]}
    assert shown["q1"]["odd"] == []


def test_the_grade_a_person_changes_is_the_newer_one(desk, people):
    """Two tabs: the second grade counts, undo in either takes it back, and then the first."""
    _, one, _ = people
    services.judging.judge(desk, one, **said(number=1))
    services.judging.judge(desk, one, **said(number=3))
    assert desk.state.newest(("q1", "refund"), one.uid).grade == 3
    again = services.judging.undo(desk, one, uid=new_uid())
    assert again["pair"]["mine"]["grade"] == 1
    services.judging.undo(desk, one, uid=new_uid())
    with pytest.raises(ClashError, match="nothing"):
        services.judging.undo(desk, one, uid=new_uid())


def test_an_undo_is_of_whose_it_is(desk, people):
    """One's undo leaves the other's grade, and its uid is nobody else's."""
    _, one, other = people
    services.judging.judge(desk, one, **said(number=1))
    services.judging.judge(desk, other, **said(number=1))
    uid = new_uid()
    services.judging.undo(desk, one, uid=uid)
    assert desk.state.newest(("q1", "refund"), other.uid).grade == 1
    with pytest.raises(ClashError):
        services.judging.undo(desk, other, uid=uid)


def test_a_uid_is_one_judgement(desk, people):
    """The same again is stored once; another person's, or other words, are refused."""
    _, one, other = people
    form = said(number=1)
    assert services.judging.judge(desk, one, **form)["stored"]
    assert services.judging.judge(desk, one, **form)["stored"]
    assert len(desk.state.history[one.uid]) == 1
    with pytest.raises(ClashError):
        services.judging.judge(desk, other, **form)
    with pytest.raises(ClashError):
        services.judging.judge(desk, one, **form | {"grade": 2})


def test_a_question_that_was_dropped_is_not_judged(desk, people):
    """Who judges meanwhile is told; what was stored before may be repeated, and undone."""
    owner, one, _ = people
    form = said(number=1)
    services.judging.judge(desk, one, **form)
    services.questions.drop(desk, owner, uid="q1", why="twice")
    assert services.judging.judge(desk, one, **form)["stored"]
    with pytest.raises(ClashError, match="dropped"):
        services.judging.judge(desk, one, **said(number=2))
    with pytest.raises(ClashError, match="dropped"):
        services.judging.next_pair(desk, one, question="q1")
    assert services.judging.undo(desk, one, uid=new_uid())["pair"]["question"]["uid"] == "q2"


def test_questions_are_changed_by_their_writers_and_the_owner(desk, people):
    """An annotator's own, not another's; the owner's every one. What is dropped stays listed."""
    owner, one, other = people
    sent = form_of(services.questions.put)(text=" 반품은? ", sources=["refund"])
    mine = services.questions.put(desk, one, **vars(sent))["question"]
    assert (mine["text"], mine["sources"]) == ("반품은?", ["refund"])
    changed = {"uid": mine["uid"], "text": "반품은 되나요?", "query_type": "lookup"}
    with pytest.raises(RefusedError):
        services.questions.put(desk, other, **changed)
    services.questions.put(desk, one, **changed)
    services.questions.put(desk, owner, **changed, difficulty="easy")
    question = desk.state.questions[mine["uid"]]
    assert (question.person, question.difficulty) == (one.uid, "easy")
    with pytest.raises(RefusedError):
        services.questions.drop(desk, other, uid=mine["uid"])
    services.questions.drop(desk, one, uid=mine["uid"])
    states = {q["uid"]: q["state"] for q in services.questions.listed(desk, owner)["questions"]}
    assert states == {"q1": "open", "q2": "open", mine["uid"]: "dropped"}


def test_the_same_question_twice(desk, people):
    """Sent again by the same person it is one; another person is told."""
    _, one, other = people
    form = {"text": "반품은 되나요?"}
    first = services.questions.put(desk, one, **form)
    assert services.questions.put(desk, one, **form) == first
    with pytest.raises(ClashError, match="same words"):
        services.questions.put(desk, other, **form)


def test_what_is_not_there_is_said(desk, people):
    """An unknown question, document or source is no judgement of anything."""
    _, one, _ = people
    for form in (said("q9"), said(document="nothing")):
        with pytest.raises(UnknownError):
            services.judging.judge(desk, one, **form)
    with pytest.raises(UnknownError):
        services.questions.put(desk, one, text="x", sources=["nothing"])
    with pytest.raises(UnknownError):
        services.passages.document(desk, document="refund:0-1000")


def test_a_stretch_of_a_document_is_a_document(desk, people):
    """As gold sets name them: it can be judged, and its text is the stretch's."""
    _, one, _ = people
    assert services.passages.document(desk, document="refund:0-3")["text"] == "환불은"
    assert services.judging.judge(desk, one, **said(document="refund:0-3", spans=[[0, 2]]))[
        "stored"
    ]
    with pytest.raises(UsageError, match="3 characters"):
        services.judging.judge(desk, one, **said(document="refund:0-3", spans=[[0, 4]]))


def test_the_leak_of_a_question(desk, people):
    """What is copied from its source whole has 1; without sources there is none."""
    owner = people[0]
    services.questions.put(desk, owner, text="The warranty covers", sources=["warranty"])
    answer = services.questions.listed(desk, owner)
    assert [question["leak"] for question in answer["questions"]] == [0.0, 0.0, 1.0]
    assert answer["leak"] == {"mean": pytest.approx(1 / 3), "target": None}


def test_two_processes_see_each_other(any_shop):
    """Two desks of one database: each reads what the other has written."""
    with opened(any_shop) as one, opened(any_shop) as other:
        person = services.people.annotator(one, "지민")
        other.state.refresh()
        form = said(number=2)
        services.judging.judge(one, person, **form)
        other.state.refresh()
        assert other.state.owner() == one.state.owner()
        assert services.judging.judge(other, person, **form)["stored"]
        assert len(other.state.history[person.uid]) == 1


def test_many_at_once_lose_nothing(any_shop):
    """Two desks, four people in a thread each: every grade is there once, for both."""
    with opened(any_shop) as one, opened(any_shop) as other:
        forms = {name: [said(number=n % 4) for n in range(10)] for name in "abcd"}
        holders = {name: services.people.annotator(one, name) for name in forms}
        other.state.refresh()

        def judge(name):
            for number, form in enumerate(forms[name]):
                desk = (one, other)[number % 2]
                services.judging.judge(desk, holders[name], **form)

        threads = [threading.Thread(target=judge, args=(name,)) for name in forms]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for desk in (one, other):
            desk.state.refresh()
            for name, own in forms.items():
                history = desk.state.history[holders[name].uid]
                assert sorted(row.uid for row in history) == sorted(form["uid"] for form in own)


SAME = [
    "jimin park",
    "JIMIN  PARK",
    "\uff2aimin\u3000Park",
    "Jimin\u200b\u00a0Park ",
    "Jimin Par\u212a",
]
ALIKE = [
    "Jim\u0456n Park",
    "J\u0406M\u0406N P\u0410RK",
    "Jirnin Park",
    "J1min Park",
    "\u0408imin \u0420\u0430rk",
    "O\u051dner",
    "0wner",
]


@all_cases("name", SAME)
def test_a_name_written_otherwise_is_the_same_persons(desk, name):
    """Case, white space, width and what nobody sees make no second person, nor on the page."""
    one = services.people.annotator(desk, "Jimin Park")
    assert services.people.annotator(desk, name) == one
    with pytest.raises(ClashError, match="is here already"):
        services.people.put(desk, name=name)
    services.people.put(desk, uid=one.uid, name=name)  # their own may be written anew


@all_cases("name", ALIKE)
def test_a_name_that_looks_like_anothers_is_refused(desk, name):
    """Letters of other scripts, digits and pairs of letters that look the same; others are fine."""
    desk.state.owner(), services.people.annotator(desk, "Jimin Park")
    with pytest.raises(UsageError, match="--annotator"):
        services.people.annotator(desk, name)
    with pytest.raises(ClashError, match="looks like"):
        services.people.put(desk, name=name)
    for other in ("Jimin Pak", "Jim\u00edn Park", "지민", "지만", "\u0416\u0438\u043c\u0438\u043d"):
        assert services.people.annotator(desk, other).name == other


def test_nobody_else_has_the_owners_name(desk):
    """The page says it in its own language, as whose workshop it is."""
    with pytest.raises(UsageError, match="--annotator: 'owner' is whose workshop"):
        services.people.annotator(desk, "owner")
    owner = desk.state.owner()
    services.people.put(desk, uid=owner.uid, name="지민")
    with pytest.raises(ClashError, match="here already"):
        services.people.put(desk, name="owner")
    services.people.put(desk, uid=owner.uid, name="owner")


def test_releases_that_were_changed_are_told_apart(desk):
    """The page has a sentence for what is wrong with their files."""
    made = services.releases.release(desk, desk.state.owner())
    path = desk.workshop.folder / made["file"]
    path.chmod(0o644)
    path.write_text(path.read_text("utf-8").replace('"query": "', '"query": "x'), "utf-8")
    with pytest.raises(ClashError) as raised:
        services.releases.listed(desk)
    assert raised.value.code == "files"
    assert "gold_v1.jsonl" in raised.value.problem


def test_a_release_is_written_and_listed(desk):
    """What is ready goes into a file; a second time nothing has changed, and that is said."""
    owner = desk.state.owner()
    coming = services.releases.listed(desk)
    assert coming["releases"] == []
    assert (coming["next"]["version"], coming["next"]["questions"]) == (1, 2)
    made = services.releases.release(desk, owner, note="first")
    assert (made["version"], made["file"]) == ("v1", "gold_v1.jsonl")
    assert [row["person"] for row in made["releases"]] == ["owner"]
    assert (desk.workshop.folder / "gold_v1.jsonl").exists()
    with pytest.raises(ClashError, match="nothing has changed"):
        services.releases.release(desk, owner)
    services.questions.put(desk, owner, text="배송비는 누가 내나요?")
    coming = services.releases.listed(desk)["next"]
    assert coming["lacks"] == [{"what": "not judged", "n": 1, "name": ""}]
    assert coming["is_ready"]
    assert coming["changes"] == {"since": "v1", "added": 0, "changed": 0, "dropped": 0}


def test_progress_by_hand(desk, people):
    """Of two questions one type each; nothing of others for an annotator."""
    owner, one, _ = people
    services.questions.put(desk, owner, uid="q1", text="환불은?", query_type="lookup")
    services.judging.judge(desk, one, **said("q1", "warranty", 2))
    services.judging.judge(
        desk, one, uid=new_uid(), question="q2", document="warranty", kind="later"
    )
    shown = services.progress.report(desk, owner)
    assert {name: shown["totals"][name] for name in ("questions", "pairs", "mine")} == {
        "questions": 2,
        "pairs": 4,
        "mine": 0,
    }
    assert [(row["value"], row["questions"]) for row in shown["by"]["query_type"]] == [
        ("lookup", 1),
        (None, 1),
    ]
    own = services.progress.report(desk, one)
    assert own["totals"]["mine"] == 1
    assert "agreement" not in own


def test_what_goes_wrong_behind_is_said_once(shop):
    """A retriever that raises stops nothing: the terminal says so."""
    told = []

    def ask(dataset, hear):
        raise RuntimeError("no index")

    with opened(shop) as bare:
        desk = Desk(
            bare.workshop,
            bare.state,
            [SuggestionSource("bm25", "key", ask)],
            say=told.append,
        )
        desk.suggester.run()
        desk.suggester.run()
        assert told == ["bm25: cannot be asked: RuntimeError: no index"]
        assert services.judging.next_pair(desk, desk.state.owner())["pair"]


def test_questions_that_came_in_elsewhere_are_asked_for(shop):
    """Imported while the page is open: whoever has nothing left is shown what is found for them."""
    asked = []

    def ask(dataset, hear):
        asked.extend(query.id for query in dataset)
        return Run({query.id: Retrieved((Doc("refund"),)) for query in dataset})

    with opened(shop) as bare, opened(shop) as other:
        desk = Desk(bare.workshop, bare.state, [SuggestionSource("bm25", "key", ask)])
        desk.suggester.start()
        wait_until(lambda: asked)
        owner = desk.state.owner()
        other.state.add([Question(uid="new", person=owner.uid, text="새 질문?")])
        desk.state.refresh()
        wait_until(lambda: services.judging.next_pair(desk, owner, question="new")["pair"])


def test_progress_tells_people_of_their_own_work_alone(desk, people):
    """The owner sees who has judged how much and what the sample says; others what is theirs."""
    owner, one, _ = people
    services.judging.judge(desk, one, **said(number=2))
    shown = services.progress.report(desk, owner)
    assert shown["totals"]["judged"] == 1
    assert {"by", "leak", "decides"} <= shown.keys()
    assert shown["decides"]["outcome"] == "retrievers"
    own = services.progress.report(desk, one)
    assert "agreement" not in own
    assert not {"judged", "questions_with_relevant", "conflicts"} & own["totals"].keys()
    assert all(
        {"judged", "answered"}.isdisjoint(row) for rows in own["by"].values() for row in rows
    )


def test_a_decision_is_work_of_the_owner(desk, people):
    """A pair that somebody judged and decided counts once."""
    owner, one, other = people
    services.judging.judge(desk, one, **said(number=0))
    services.judging.judge(desk, other, **said(number=3))
    services.conflicts.decide(desk, owner, **decided(2))
    assert services.progress.report(desk, owner)["totals"]["mine"] == 1
    services.judging.judge(desk, owner, **said(number=2))
    assert services.progress.report(desk, owner)["totals"]["mine"] == 1


def test_no_document_is_read_again_for_questions_from_templates(tmp_path, monkeypatch):
    """The corpus is read when the workshop is opened, however large, and not at each look."""
    folder = started(tmp_path, corpus=ROOT / "examples/data/shop_en/corpus.jsonl", gold=None)
    read = []
    monkeypatch.setattr("kragx.data.corpus._entries", lambda *of: read.append(of) or entries(*of))
    with opened(folder) as desk:
        first = services.questions.drafts(desk, n=6)
        assert services.questions.drafts(desk, n=6) == first
    assert len(read) == 1


def test_questions_from_templates_are_looked_at_before_they_are_stored(tmp_path):
    """Only those that were taken, once, with their sources suggested; none comes again."""
    folder = started(tmp_path, corpus=ROOT / "examples/data/shop_en/corpus.jsonl", gold=None)
    with opened(folder) as desk:
        owner, before = desk.state.owner(), len(desk.state.questions)
        made = services.questions.drafts(desk, n=6)
        shown = made["questions"]
        assert len(shown) == 6
        assert len(desk.state.questions) == before
        taken = [one["uid"] for one in shown[:2]]
        assert services.questions.add_drafts(desk, owner, uids=taken) == {"added": 2}
        assert services.questions.add_drafts(desk, owner, uids=taken) == {"added": 0}
        own = desk.state.questions[taken[0]]
        assert (own.origin, own.text, own.person) == ("template", shown[0]["text"], owner.uid)
        assert set(desk.state.candidates[own.uid]) == set(own.sources) != set()
        again = services.questions.drafts(desk, n=6)["questions"]
        assert not {one["uid"] for one in again} & {*taken}
        with pytest.raises(ClashError, match="not made last"):
            services.questions.add_drafts(desk, owner, uids=[shown[5]["uid"] + "x"])


def test_how_many_questions_are_odd_is_counted_for_the_owner(desk, people):
    """Each question once, however many say so; nobody else is told."""
    owner = desk.state.owner()
    assert services.progress.me(desk, owner)["counts"]["odd"] == 0
    for person in people[1:]:
        services.judging.judge(desk, person, **said(kind="odd", grade=None))
    assert services.progress.me(desk, owner)["counts"]["odd"] == 1
    assert "odd" not in services.progress.me(desk, people[1])["counts"]
