"""What a person is shown next."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

import pytest

from kragx.data import Doc
from kragx.workshop.pairs.candidates import LabellingPlan, asking_uid
from kragx.workshop.pairs.standing import Copies
from kragx.workshop.queue.queue import Queue, stopping_estimate
from kragx.workshop.state.records import Judgement, Person, Question, SuggestedDocument, now
from kragx.workshop.state.state import Pair, State
from kragx.workshop.state.store import RecordStore

PLAN = LabellingPlan(3, {"one": "1", "other": "2"}, twice=0.0)


@pytest.fixture
def state(tmp_path):
    """An empty workshop."""
    with RecordStore(tmp_path / "w.sqlite") as store:
        yield State(store)


def opened(
    state: State,
    lists: Mapping[str, Sequence[str]],
    plan: LabellingPlan = PLAN,
    texts: Mapping[str, str] | None = None,
) -> Queue:
    """A queue over questions with what each retriever of the plan has found, as "abc"."""
    names = sorted({document for found in lists.values() for one in found for document in one})
    docs = {name: Doc(name, (texts or {}).get(name, f"text of {name}")) for name in names}
    for uid, found in lists.items():
        question = Question(uid=uid, person="o", text=f"question {uid}")
        rows = [
            SuggestedDocument(
                uid=asking_uid(question, name, key),
                question=uid,
                document=document,
                origin="retriever",
                detail=name,
                rank=rank,
            )
            for (name, key), documents in zip(plan.retrievers.items(), found)
            for rank, document in enumerate(documents, start=1)
        ]
        state.add([question, *rows])
    return Queue(state, docs, Copies(docs), plan)


def say(queue: Queue, person: str, pair: Pair, grade: int | None, **fields: object) -> None:
    """Judge what was shown; no grade puts it off."""
    kind = "later" if grade is None else "grade"
    said = {"question": pair[0], "document": pair[1], "person": person}
    queue.state.add([Judgement(kind=kind, grade=grade, **said, **fields)])


def all_turns(queue: Queue, person: str, grade: int | None = 0, most: int = 1000) -> list[Pair]:
    """Judge until there is nothing more."""
    turns = []
    while isinstance(turn := queue.next_pair(person), tuple) and len(turns) < most:
        say(queue, person, turn, grade)
        turns.append(turn)
    return turns


def outcome(queue: Queue) -> object:
    """How far the comparison is."""
    return stopping_estimate(queue.pools.values(), len(queue.plan.retrievers))["outcome"]


def test_what_moves_the_difference_comes_first(state):
    """Where both agree nothing can move, the first rank moves more than the third, five a turn."""
    plan = LabellingPlan(5, PLAN.retrievers, twice=0.0)
    queue = opened(state, {"q": ["abcd", "xbcd"], "p": ["abcde", "abcdf"]}, plan)
    pairs = all_turns(queue, "p")
    assert set(pairs[:2]) == {("q", "a"), ("q", "x")}
    assert {question for question, _ in pairs[:5]} == {"q"}
    assert set(pairs[5:7]) == {("p", "e"), ("p", "f")}
    assert len(pairs) == len(set(pairs)) == 11


def test_no_question_is_left_without_its_answer(state):
    """What all have first moves nothing, but comes before what hardly moves anything."""
    plan = LabellingPlan(10, PLAN.retrievers, twice=0.0)
    queue = opened(state, {"q": ["abcdefghij", "abcdefghji"], "p": ["ab", "ab"]}, plan)
    shown = all_turns(queue, "p", 2, most=6)
    assert {question for question, _ in shown[:3]} == {"p", "q"}
    queue.refresh()
    assert all(pool.has_relevant for pool in queue.pools.values())


def test_the_same_again_until_it_is_judged(state):
    """A reload shows the same pair; what the page has before it already is not given again."""
    queue = opened(state, {"q": ["abc", "cba"]})
    first = queue.next_pair("p")
    assert queue.next_pair("p") == first
    second = queue.next_pair("p", besides=[first])
    assert second != first
    say(queue, "p", first, 1)
    assert queue.next_pair("p") == second


def test_nobody_is_shown_what_another_is_looking_at(state):
    """Two people at once get different pairs, and the second gets one that was let go."""
    queue = opened(state, {"q": ["ab", "ba"]})
    one, other = queue.next_pair("p"), queue.next_pair("r")
    assert {one, other} == {("q", "a"), ("q", "b")}
    assert queue.next_pair("s") == "with others"
    for leases in queue._leases.values():
        leases.update(dict.fromkeys(leases, 0.0))  # ten minutes later
    assert isinstance(queue.next_pair("s"), tuple)


def test_who_leaves_gives_back_what_they_were_shown(state):
    """At once, not after ten minutes; what all have judged is not said to be with somebody."""
    queue = opened(state, {"q": ["a", "a"]})
    assert queue.next_pair("p") == ("q", "a")
    assert queue.next_pair("r") == "with others"
    queue.leave("p")
    queue.leave("nobody")
    assert queue.next_pair("r") == ("q", "a")
    say(queue, "r", ("q", "a"), 1)
    assert queue.next_pair("p") == "all judged"


def test_orders_of_people_differ_and_each_is_shown_all(state):
    """Where all are worth the same, each person has an order of their own."""
    plan = LabellingPlan(3, {}, twice=1.0)
    lists = {"q": []}
    queue = opened(state, lists, plan)
    docs = {f"d{n}": Doc(f"d{n}", f"text {n}") for n in range(12)}
    state.add([SuggestedDocument(question="q", document=name, origin="source") for name in docs])
    queue = Queue(state, docs, Copies(docs), plan)
    first = all_turns(queue, "p")
    second = all_turns(queue, "r")
    assert sorted(first) == sorted(second)
    assert first != second
    assert first != sorted(first)
    assert queue.next_pair("s") == "all judged"  # two have


@pytest.mark.integration
def test_only_a_share_is_judged_twice(state):
    """A fifth or so of 160 pairs is judged by two; nobody judges one twice."""
    plan = LabellingPlan(3, {"one": "1", "other": "2"})
    queue = opened(state, {str(n): ["abcd", "efgh"] for n in range(20)}, plan)
    people = {"p": [], "r": []}
    for _ in range(160):
        for person, pairs in people.items():
            if isinstance(turn := queue.next_pair(person), tuple):
                pairs.append(turn)
                say(queue, person, turn, 0)
    times = Counter(Counter(people["p"] + people["r"]).values())
    assert all(len(pairs) == len(set(pairs)) for pairs in people.values())
    assert times[1] + times[2] == 160
    assert 20 < times[2] < 45
    early = people["p"][:50] + people["r"][:50]
    assert max(Counter(early).values()) == 2  # agreement can be had before the end


def test_later_comes_last(state):
    """What is put off is shown when nothing else is left, and can be put off again."""
    queue = opened(state, {"q": ["abc", "cba"]})
    late = queue.next_pair("p")
    say(queue, "p", late, None)
    others = [queue.next_pair("p")]
    say(queue, "p", others[0], 1)
    others.append(queue.next_pair("p"))
    say(queue, "p", others[1], 1)
    assert late not in others
    again = queue.next_pair("p")
    assert again == late
    assert queue.mine("p", again).kind == "later"
    say(queue, "p", again, 2)
    assert queue.next_pair("p") == "all judged"


def test_conflicts_and_decisions_are_not_shown(state):
    """What two differ in goes to the owner, not to a third."""
    queue = opened(state, {"q": ["a", "a"]}, LabellingPlan(1, PLAN.retrievers, twice=1.0))
    for person, grade in (("p", 0), ("r", 2)):
        say(queue, person, queue.next_pair(person), grade)
    assert queue.next_pair("s") == "all judged"
    assert not any(candidate.standing.is_known for candidate in queue.pools["q"])


def test_a_copy_is_judged_once(state):
    """Two that say the same are one pair, found at the better of their ranks."""
    texts = {"a": "one  text", "b": "One text!"}
    queue = opened(state, {"q": ["abc", "cb"]}, texts=texts)
    turns = all_turns(queue, "p")
    assert sorted(document for _, document in turns) == ["a", "c"]
    candidate = queue.pools["q"].candidates["a"]  # the first with one, the second with the other
    assert (candidate.gain, round(candidate.disagreement, 3)) == (1.0, 0.369)


def test_dropped_questions_and_lost_documents_are_not_shown(state):
    """A dropped question has nothing, nor a document that the corpus has no more."""
    queue = opened(state, {"q": ["ab", "ba"], "p": ["c", "c"]})
    dropped = Question(uid="p", person="o", text="question p", state="dropped")
    state.add([dropped, SuggestedDocument(question="q", document="lost", origin="moved")])
    assert set(all_turns(queue, "p")) == {("q", "a"), ("q", "b")}
    assert queue.next_pair("p", question="p") == "no questions"
    assert Queue(state, {}, Copies({}), PLAN).next_pair("p") == "no documents"


def test_old_answers_are_not_suggested(state):
    """Of a question with another text, or of retrievers that were changed, nothing is left."""
    queue = opened(state, {"q": ["ab", "ba"]})
    say(queue, "p", ("q", "a"), 2)
    state.add([Question(uid="q", person="o", text="another question")])
    # What was judged stays known; it is not all, as answers are still to come.
    assert queue.next_pair("r") == "no documents"
    assert [*queue.pools["q"].candidates] == ["a"]
    assert not queue.pools["q"].is_compared


def test_one_question_alone(state):
    """Whoever asks for one question is shown that one, and nothing of another."""
    queue = opened(state, {"q": ["ab", "ba"], "p": ["cd", "dc"]})
    assert queue.next_pair("p", question="p")[0] == "p"
    assert queue.next_pair("p", question="q")[0] == "q"
    assert queue.next_pair("p", question="none") == "no questions"


def test_without_retrievers_each_question_gets_a_first_relevant_document(state):
    """Questions without one come before those that have one."""
    plan = LabellingPlan(3, {}, twice=0.0)
    docs = {f"{q}{n}": Doc(f"{q}{n}", f"text {q} {n}") for q in "abc" for n in range(4)}
    state.add([Question(uid=q, person="o", text=q) for q in "abc"])
    state.add([SuggestedDocument(question=one[0], document=one, origin="source") for one in docs])
    queue = Queue(state, docs, Copies(docs), plan)
    assert outcome(queue) == "retrievers"
    seen = []
    for _ in range(6):
        turn = queue.next_pair("p")
        seen.append(turn[0])
        say(queue, "p", turn, 2 if seen.count(turn[0]) == 2 else 0)
    assert Counter(seen) == {"a": 2, "b": 2, "c": 2}
    queue.refresh()
    assert seen[0] == seen[1]  # one goes on with a question until it has one
    assert all(pool.has_relevant for pool in queue.pools.values())


def _three(state, **plan) -> Queue:
    """Three questions with four documents each, and no retriever."""
    docs = {f"{q}{n}": Doc(f"{q}{n}", f"text {q} {n}") for q in "abc" for n in range(4)}
    state.add([Question(uid=q, person="o", text=q) for q in "abc"])
    state.add([SuggestedDocument(question=one[0], document=one, origin="source") for one in docs])
    usual = {"twice": 0.0}
    return Queue(state, docs, Copies(docs), LabellingPlan(**(usual | plan)))


def test_a_page_that_asks_ahead_stays_with_a_question(state):
    """Each pair is asked for while another is looked at; no question is read again and again."""
    queue = _three(state)
    turn, seen = queue.next_pair("p"), []
    while isinstance(turn, tuple):
        seen.append(turn[0])
        ahead = queue.next_pair("p", besides=[turn])
        say(queue, "p", turn, 0)
        turn = ahead
    assert len(seen) == 12
    assert sum(one != other for one, other in pairwise(seen)) == 2


def test_one_goes_on_elsewhere_once_every_question_has_its_answer(state):
    """Five in a row at the most where another question has had less."""
    docs = {f"{q}{n}": Doc(f"{q}{n}", f"text {q} {n}") for q in "ab" for n in range(9)}
    state.add([Question(uid=q, person="o", text=q) for q in "ab"])
    state.add([SuggestedDocument(question=one[0], document=one, origin="source") for one in docs])
    queue = Queue(state, docs, Copies(docs), LabellingPlan(twice=0.0))
    runs = [len(list(own)) for _, own in groupby(turn[0] for turn in all_turns(queue, "p", 3))]
    assert runs[:3] == [1, 5, 5]
    assert sum(runs) == 18


def test_one_stays_with_a_question_though_others_are_worth_more(state):
    """With retrievers to compare as well: five pairs in a row at least, before another is read."""
    lists = {q: [[f"{q}{n}" for n in range(8)], [f"{q}{n}" for n in range(8, 16)]] for q in "abc"}
    queue = opened(state, lists, replace(PLAN, cut=10))
    turns = all_turns(queue, "p", 0, most=20)
    runs = [len(list(own)) for _, own in groupby(turn[0] for turn in turns)]
    assert min(runs[:-1]) >= 5


def test_what_is_fetched_far_ahead_is_still_anybodys(state):
    """The pair that one looks at and the next are one's own, and so is what becomes one of them."""
    queue = opened(state, {"q": ["abc", "cba"]})
    first = queue.next_pair("p")
    second = queue.next_pair("p", besides=[first])
    third = queue.next_pair("p", besides=[first, second])
    assert len({first, second, third}) == 3
    assert queue.next_pair("r") == third
    queue.leave("r")
    say(queue, "p", first, 0)
    queue.next_pair("p", besides=[second, third])
    assert queue.next_pair("r") == "with others"


def test_a_page_that_is_left_open_keeps_the_last_pairs_from_nobody(state, monkeypatch):
    """After two minutes without a word another gets them, if nothing else is left, not before."""
    clock = [1000.0]
    monkeypatch.setattr("kragx.workshop.queue.queue.time.monotonic", lambda: clock[0])
    queue = opened(state, {"q": ["ab", "ab"]})
    first = queue.next_pair("p")
    ahead = queue.next_pair("p", besides=[first])
    assert queue.next_pair("r") == "with others"
    clock[0] += 119
    assert queue.next_pair("r") == "with others"
    clock[0] += 2
    turn = queue.next_pair("r")
    assert turn in {first, ahead}
    say(queue, "p", first, 0)  # who comes back is heard as well
    assert isinstance(queue.next_pair("p"), tuple | str)


def test_an_odd_question_is_put_off_with_all_its_pairs(state):
    """Another question comes next, to this person alone; a change brings it back."""
    queue = _three(state)
    first = queue.next_pair("p")
    say(queue, "p", first, None, purpose="odd", note="which parcel?")
    assert state.odd(state.questions[first[0]]) == {"p": "which parcel?"}
    turns = [turn[0] for turn in all_turns(queue, "p", 0, most=8)]
    assert first[0] not in turns
    assert queue.next_pair("p")[0] == first[0]  # in the end, like all that is put off
    state.add([replace(state.questions[first[0]], text="anew", at=now())])
    assert state.odd(state.questions[first[0]]) == {}


def test_to_take_it_back_brings_an_odd_question_again(state):
    """An undone row is no longer said."""
    queue = _three(state)
    first = queue.next_pair("p")
    say(queue, "p", first, None, purpose="odd")
    said = {"question": first[0], "document": first[1], "person": "p"}
    state.add([Judgement(kind="undone", **said)])
    assert state.odd(state.questions[first[0]]) == {}


def test_a_file_is_no_person(state):
    """Grades that were imported are known, but no person's."""
    state.add([Person(uid="f", name="gold.jsonl", role="file")])
    queue = opened(state, {"q": ["ab", "ba"]})
    say(queue, "f", ("q", "a"), 1)
    queue.refresh()
    pool = queue.pools["q"]
    assert sum(candidate.standing.is_known for candidate in pool) == 1
    assert not any(candidate.is_judged for candidate in pool)
    assert [turn[1] for turn in all_turns(queue, "p")] == ["b"]


def test_the_outlook(state):
    """Unknown while little is known, then decided; words name nobody."""
    lists = {str(n): [[f"a{n}"], [f"b{n}"]] for n in range(16)}
    queue = opened(state, lists, LabellingPlan(1, PLAN.retrievers, twice=0.0))
    assert outcome(queue) == "pairs"
    for number in range(16):
        for name, grade in (("a", 2), ("b", 0)):
            say(queue, "p", (str(number), f"{name}{number}"), grade)
    queue.refresh()
    assert outcome(queue) == "decided"


def test_retrievers_with_equal_lists(state):
    """Nobody is told to stop: not before anybody has judged, nor when all is."""
    lists = {str(n): [[f"a{n}", f"b{n}"]] * 2 for n in range(30)}
    queue = opened(state, lists)
    for grade in (None, 1):
        for number in range(30 if grade else 0):
            for name in "ab":
                say(queue, "p", (str(number), f"{name}{number}"), grade)
        queue.refresh()
        assert outcome(queue) == "equal"


def test_equal_retrievers_beside_another(state):
    """Of those with equal lists one stands for both: a third is still told from them."""
    names = {name: name for name in ("one", "two", "third")}
    lists = {str(n): [[f"a{n}"], [f"a{n}"], [f"b{n}"]] for n in range(20)}
    queue = opened(state, lists, LabellingPlan(1, names, twice=0.0))
    assert outcome(queue) == "pairs"
    for number in range(20):
        for name, grade in (("a", 2), ("b", 0)):
            say(queue, "p", (str(number), f"{name}{number}"), grade)
    queue.refresh()
    assert outcome(queue) == "decided"


def test_few_questions_and_waiting_retrievers_are_unknown(state):
    """With nine questions nothing is said, nor while one has not answered."""
    queue = opened(state, {str(n): ["abcd", "efgh"] for n in range(9)})
    assert outcome(queue) == "questions"
    state.add([Question(uid="new", person="o", text="not asked yet")])
    queue.refresh()
    assert outcome(queue) == "answers"
    question = state.questions["new"]
    for name, key in PLAN.retrievers.items():
        queue.answered_with_nothing("new", asking_uid(question, name, key))
    assert outcome(queue) == "questions"


def test_a_pair_in_which_lists_differ_keeps_the_comparison_open(state):
    """Nobody is told to stop before the last of them has a grade; what lies alike may be left."""
    lists = {str(n): [f"a{n} b{n} c{n}".split(), f"a{n} c{n} b{n}".split()] for n in range(20)}
    queue = opened(state, lists)
    turns = []
    while isinstance(turn := queue.next_pair("p"), tuple) and outcome(queue) != "decided":
        turns.append(turn)
        say(queue, "p", turn, 2)
        queue.refresh()
    assert {(uid, f"{name}{uid}") for uid in lists for name in "bc"} <= {*turns}
    assert len(turns) < 60
