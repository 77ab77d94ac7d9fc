"""What a page may ask and say: everything is checked here, and nothing is known of HTTP."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any

from kragx.data import GoldDataset, Query
from kragx.data.databases import StoreFailedError
from kragx.errors import DataError, KragxError, UsageError
from kragx.evaluation.retriever_adapters import start_daemon
from kragx.metrics import MetricSpec
from kragx.workshop.folder.documents import Documents
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.folder.incoming import incoming
from kragx.workshop.folder.links import holder, token_of
from kragx.workshop.forms import (
    DecisionForm,
    DropForm,
    JudgementForm,
    NextForm,
    PersonForm,
    QuestionForm,
    QuestionsForm,
    ReleaseForm,
    SearchForm,
    TemplatesForm,
    UidsForm,
    annotators_name,
)
from kragx.workshop.names import alike, of_name
from kragx.workshop.pairs.boards import Plan
from kragx.workshop.pairs.conflicts import LEAST_PAIRS, agreement, conflicts
from kragx.workshop.pairs.duplicates import Copies
from kragx.workshop.pairs.moved import ORIGIN
from kragx.workshop.pairs.standing import verdicts
from kragx.workshop.questions.leak import content_words, has_kiwi, leak, mean_leak
from kragx.workshop.questions.meeting import Meetings
from kragx.workshop.questions.question import NewQuestion
from kragx.workshop.queue.progress import estimates, shares, totals
from kragx.workshop.queue.queue import Nothing, Queue, Turn
from kragx.workshop.queue.suggestions import Remark, Source, Suggester
from kragx.workshop.releases import next_release, release
from kragx.workshop.search import Search
from kragx.workshop.state.records import (
    OWNER,
    Candidate,
    Judgement,
    Person,
    Question,
    new_uid,
    now,
)
from kragx.workshop.state.state import Pair, State

Plain = dict[str, Any]
"""Values as JSON has them."""

_ANY = NextForm()


class DeskError(KragxError):
    """What somebody at the page reads; `code` names the page's own sentence for it."""

    def __init__(self, problem: str, *, code: str, field: str = "", remedy: str = "") -> None:
        super().__init__(problem, field=field, remedy=remedy)
        self.code = code


class UnknownError(DeskError, DataError):
    """A question, a document or a person that does not exist."""


class RefusedError(DeskError, UsageError):
    """What this person may not ask or do."""


class ClashError(DeskError, UsageError):
    """What does not fit what has happened meanwhile."""


class MisfitError(DeskError, UsageError):
    """What does not fit the set or the text."""


class Desk:
    """A workshop at work.

    Methods are called by several threads; each holds the state while it reads and writes.

    Args:
        workshop: its folder.
        state: what its database holds.
        sources: the retrievers that suggest documents, once `start` is called.
        metric: that they are compared by; None for the usual one.
        say: is told what goes wrong behind, as people read it.

    Attributes:
        remarks: what the owner should know of what goes on behind, by what it is about.
    """

    def __init__(
        self,
        workshop: Workshop,
        state: State,
        sources: Sequence[Source] = (),
        metric: MetricSpec | None = None,
        say: Callable[[str], object] = str,
    ) -> None:
        self.workshop: Workshop = workshop
        self.state: State = state
        self.documents: Documents = workshop.documents
        self.remarks: dict[str, tuple[Remark, ...]] = {}
        self.say = say
        self.top: int = max(workshop.settings.scale)
        self.copies: Copies = Copies(self.documents, workshop.index)
        retrievers = {source.name: source.key for source in sources}
        settings = workshop.settings
        plan = Plan(retrievers=retrievers, depth=settings.k, top=self.top, twice=settings.twice)
        plan = plan if metric is None else replace(plan, metric=metric)
        self.queue: Queue = Queue(state, self.documents, self.copies, plan)
        self._meetings = Meetings(doc.text or "" for doc in self.documents.values())
        self._suggester = Suggester(self.queue, sources, self.remark)
        self._search: Search | None = None
        self._made: dict[str, NewQuestion] = {}
        self._leaks: dict[tuple[str, tuple[str, ...]], float | None] = {}
        self._searching = threading.Lock()

    def start(self) -> None:
        """Ask the retrievers, and find what lies beside gold, in a thread: now, and from now on."""
        # Kiwi, which word leaks need, lets no other thread work while it loads: better before there
        # is anybody to wait for it.
        content_words(next(iter(self.documents.values())).text or "")
        self._suggester.start()

        def prepare() -> None:  # so that the first to search need not wait
            self._searched()

        start_daemon(prepare)

    def remark(self, about: str, remarks: Sequence[Remark]) -> None:
        """Note what goes wrong behind; no remarks say that it is over."""
        before = self.remarks.pop(about, None)
        if remarks:
            self.remarks[about] = tuple(remarks)
            if self.remarks[about] != before:
                self.say(f"{about}: {'; '.join(remark.words for remark in remarks)}")

    # -- people --------------------------------------------------------------------------------

    def owner(self) -> Person:
        """Whose workshop it is; made when it is first asked for."""
        return self.state.owner()

    def annotator(self, name: str) -> Person:
        """The annotator of a name (`names.same`); made where there is none.

        Raises:
            UsageError: it is no name, or one that looks like another's.
        """
        name = annotators_name(name, "--annotator")
        with self.state.lock:
            present = [
                somebody for somebody in self.state.people.values() if somebody.state == "here"
            ]
            person = of_name(
                name, (somebody for somebody in present if somebody.role == "annotator")
            )
            if person is not None:
                return person
            person = Person(name=name)
            for other in present:
                if other.role != "file" and alike(other.name, name):
                    problem = f"{name!r} looks like {other.name!r}, who is here already"
                    remedy = "write it the same, or give each a name of their own"
                    raise UsageError(problem, field="--annotator", remedy=remedy)
            self.state.add([person])
            return person

    def token(self, person: Person) -> str:
        """What a person's link ends with."""
        return token_of(person, self.workshop.secret)

    def holder(self, token: str) -> Person | None:
        """The person of a link, gone or not; None if it is nobody's."""
        return holder(token, list(self.state.people.values()), self.workshop.secret)

    def people(self) -> Plain:
        """Everybody, with their links' ends and how much they have judged; for the owner."""
        with self.state.lock:
            return {
                "people": [
                    {
                        "uid": person.uid,
                        "name": person.name,
                        "role": person.role,
                        "state": person.state,
                        "judged": self._n_judged(person),
                        "link": None
                        if person.role == "file" or person.state == "gone"
                        else f"/#{self.token(person)}",
                    }
                    for person in self.state.people.values()
                ]
            }

    def put_person(self, form: PersonForm) -> Plain:
        """Somebody new, or somebody changed; see `PersonForm`."""
        with self.state.lock:
            if form.uid is None:
                if form.name is None:
                    raise UsageError("missing; it is required", field="name")
                person = Person(name=form.name)
            else:
                before = self.state.people.get(form.uid)
                if before is None:
                    raise UnknownError("nobody has this uid", code="person", field="uid")
                if before.role != "annotator" and form.state is not None:
                    problem = "only an annotator's link can be taken away"
                    raise ClashError(problem, code="person", field="state")
                name, state = form.name or before.name, form.state or before.state
                person = replace(before, name=name, state=state, at=now())
            for somebody in self.state.people.values():
                is_other = somebody.uid != person.uid and somebody.state == person.state == "here"
                is_owner = alike(person.name, OWNER) and person.role != "owner"
                if is_owner or (is_other and alike(somebody.name, person.name)):
                    remedy = "give each a name of their own"
                    problem = f"{person.name!r} is here already, or looks like who is"
                    raise ClashError(problem, code="name", field="name", remedy=remedy)
            self.state.add([person])
            return self.people()

    # -- what everybody sees -------------------------------------------------------------------

    def me(self, person: Person) -> Plain:
        """Who asks, what the set is, and how far it is."""
        settings = self.workshop.settings
        with self.state.lock:
            return {
                "person": {"uid": person.uid, "name": person.name, "role": person.role},
                "set": {
                    "name": settings.name,
                    "language": settings.language,
                    "underline": settings.underline,
                    "targets": {field: list(shares) for field, shares in settings.targets.items()},
                    "scale": [
                        {"grade": grade, "words": words}
                        for grade, words in sorted(settings.scale.items())
                    ],
                    "guidelines_version": self.workshop.guidelines_version,
                },
                "counts": self._counts(person),
            }

    def document(self, document: str) -> Plain:
        """A document of the corpus.

        Raises:
            UnknownError: it has no such document.
        """
        doc = self.documents.get(document)
        if doc is None:
            problem = "the corpus has no such document"
            raise UnknownError(problem, code="document", field="document")
        title = doc.metadata.get("title")
        return {
            "id": document,
            "text": doc.text or "",
            "title": title if isinstance(title, str) else None,
            "metadata": dict(doc.metadata),
        }

    def around(self, document: str) -> Plain:
        """The texts before and after a document in its source, None where there is none.

        Raises:
            UnknownError: the corpus has no such document.
        """
        self.document(document)
        before, after = (
            None if neighbour is None else self.document(neighbour)["text"]
            for neighbour in self._suggester.beside.around(document)
        )
        return {"before": before, "after": after}

    def _counts(self, person: Person) -> Plain:
        self.queue.refresh()
        n_questions = sum(1 for _ in self.state.open_questions())
        counts = {
            "questions": n_questions,
            "pairs": self.queue.sums.pairs,
            "mine": self._n_judged(person),
        }
        if person.role == "owner":
            counts["conflicts"] = sum(1 for _ in conflicts(self.queue.boards))
            counts["odd"] = sum(bool(board.odd) for board in self.queue.boards.values())
        return counts

    def _n_judged(self, person: Person) -> int:
        return len(self.state.settled.get(person.uid, ()))

    def search(self, person: Person, form: SearchForm) -> Plain:
        """Documents by somebody's own words, best first, with what they have said of them."""
        ids = self._searched().best(form.q) if form.q.strip() else []
        with self.state.lock:
            passages = []
            for document in ids:
                newest = self.state.newest((form.question or "", document), person.uid)
                mine = None if newest is None else _said(newest)
                passages.append({**self.document(document), "mine": mine})
        for passage in passages:
            passage["words"] = [
                list(span) for span in self._meetings.of(form.q, passage["text"]).spans
            ]
        return {"documents": passages}

    def _searched(self) -> Search:
        with self._searching:
            if self._search is None:
                self._search = Search(self.documents, self.copies.first, self.workshop.index)
            return self._search

    # -- judging -------------------------------------------------------------------------------

    def next(self, person: Person, form: NextForm = _ANY) -> Plain:
        """The pair that a person should judge now, or why there is none.

        Args:
            person: who asks.
            form: of which question, and what is judged meanwhile.

        Raises:
            UnknownError: there is no such question.
        """
        with self.state.lock:
            if form.question is not None:
                self._open_question(form.question)
            besides = [(question, document) for question, document in form.after]
            turn = self.queue.next_pair(person.uid, form.question, besides)
            if isinstance(turn, Nothing):
                return {"pair": None, "why": turn.why, **self._status(person)}
            pair_shown = self._shown(turn, person)
        return self._underlined(pair_shown)

    def _underlined(self, shown: Plain) -> Plain:
        """The same with where the question's words stand in the text; nobody waits for Kiwi."""
        pair = shown["pair"]
        if self.workshop.settings.underline:
            meeting = self._meetings.of(pair["question"]["text"], pair["document"]["text"])
            pair["words"] = {"spans": list(map(list, meeting.spans)), "densest": meeting.densest}
        return shown

    def _shown(self, turn: Turn, person: Person) -> Plain:
        question = self.state.questions[turn.question]
        return {
            "pair": {
                "question": _about(question),
                "document": self.document(turn.document),
                "copies": turn.copies,
                "moved": self._moved(turn),
                "around": bool(self._suggester.beside.of(turn.document)),
                "mine": None if turn.mine is None else _said(turn.mine, turn.document),
                "late": turn.late,
            },
            **self._status(person),
        }

    def _moved(self, turn: Turn) -> list[str]:
        """Gold texts of before the corpus was chunked anew, which this document may hold."""
        candidates = self.state.candidates.get(turn.question, {})
        rows = [row for copy in self.copies.all(turn.document) for row in candidates.get(copy, ())]
        return list(dict.fromkeys(row.detail for row in rows if row.origin == ORIGIN))

    def _status(self, person: Person) -> Plain:
        """How far the set is, and how much is left that could change the comparison."""
        return {"progress": self._counts(person), "decides": self._decides()}

    def _decides(self) -> Plain:
        outlook = self.queue.reckoning.outlook  # without the names of those that may be best
        names = ("state", "outcome", "needed")
        return {name: getattr(outlook, name) for name in names}

    def leave(self, person: Person) -> Plain:
        """Nobody looks any more at what a person was shown: it may be another's."""
        self.queue.leave(person.uid)
        return {"left": True}

    def judge(self, person: Person, form: JudgementForm) -> Plain:
        """Store what a person says of a pair; then what comes next.

        Sent twice it is stored once.

        Raises:
            UnknownError: there is no such question or document.
            ClashError: the question was dropped, or the uid is another judgement's.
            MisfitError: the grade is not on the scale, or the evidence not in the text.
        """
        with self.state.lock:
            judgement = self._judgement(person, form)
            is_odd = form.kind == "odd"
            purpose = "odd" if is_odd else self.queue.purpose(form.question, form.document)
            self._store(replace(judgement, purpose=purpose), form.question)
        self._suggester.wake()
        return {"stored": True, "next": self.next(person)}

    def decide(self, person: Person, form: DecisionForm) -> Plain:
        """Store what settles a conflict; then those that are left."""
        with self.state.lock:
            judgement = self._judgement(person, form)
            self._store(replace(judgement, is_decision=True, purpose="conflict"), form.question)
            return {"stored": True, **self.conflicts()}

    def undo(self, person: Person, uid: str) -> Plain:
        """Take back a person's newest judgement; that pair comes again.

        Sent twice it takes back one.

        Raises:
            ClashError: there is nothing to take back, or the uid is a judgement's.
        """
        with self.state.lock:
            undone = self.state.judgement(uid)
            if undone is None:
                history = self.state.history.get(person.uid)
                if not history:
                    raise ClashError("there is nothing to take back", code="undo")
                newest = history[-1]
                undone = Judgement(
                    uid=uid,
                    question=newest.question,
                    document=newest.document,
                    person=person.uid,
                    kind="undone",
                    is_decision=newest.is_decision,
                )
                self.state.add([undone])
            elif undone.person != person.uid or undone.kind != "undone":
                raise ClashError("this uid is another judgement's", code="uid", field="uid")
            pair = (undone.question, undone.document)
            if undone.is_decision or self.state.questions[pair[0]].state != "open":
                return self.next(person)
            self.queue.refresh()
            shown = self._shown(self.queue.turn(person.uid, *pair), person)
        return self._underlined(shown)

    def _store(self, judgement: Judgement, question: str) -> None:
        stored = self.state.judgement(judgement.uid)
        if stored is None:
            self._open_question(question)  # what is repeated was stored while it was open
            self.state.add([judgement])
            stored = self.state.judgement(judgement.uid)
        if stored is None or replace(stored, at="", purpose="") != replace(
            judgement, at="", purpose=""
        ):
            raise ClashError("this uid is another judgement's", code="uid", field="uid")

    def _judgement(self, person: Person, form: JudgementForm) -> Judgement:
        if form.question not in self.state.questions:
            raise UnknownError("there is no such question", code="question", field="question")
        text = self.document(form.document)["text"]
        if (form.kind == "grade") != (form.grade is not None):
            raise UsageError("belongs to kind 'grade', and to no other", field="grade")
        if form.grade is not None and form.grade not in self.workshop.settings.scale:
            problem = f"{form.grade} is not on the scale of 0 to {self.top}"
            raise MisfitError(problem, code="grade", field="grade")
        return Judgement(
            uid=form.uid,
            question=form.question,
            document=form.document,
            person=person.uid,
            kind="later" if form.kind == "odd" else form.kind,
            grade=form.grade,
            spans=_spans(form.spans, len(text)),
            note=form.note,
            seconds=form.seconds,
        )

    def _open_question(self, uid: str) -> Question:
        question = self.state.questions.get(uid)
        if question is None:
            raise UnknownError("there is no such question", code="question", field="question")
        if question.state != "open":
            problem = "this question was dropped meanwhile"
            raise ClashError(problem, code="dropped", field="question")
        return question

    # -- questions -----------------------------------------------------------------------------

    def questions(self, person: Person, form: QuestionsForm) -> Plain:
        """Questions; what only the owner may know is left out for others."""
        with self.state.lock:
            self.queue.refresh()
            words = form.q.casefold().split()
            questions = [
                question
                for question in self.state.questions.values()
                if form.state in (None, question.state)
                and all(word in question.text.casefold() for word in words)
            ]
            shown = [self._question(question, person) for question in questions]
        for one, question in zip(shown, questions):
            one["leak"] = self._leak(question)
        leaks = [row["leak"] for row in shown if row["state"] == "open"]
        target = self.workshop.settings.leak_target
        return {"questions": shown, "leak": {"mean": mean_leak(leaks), "target": target}}

    def _leak(self, question: Question) -> float | None:
        """The share of a question's content words that its sources have; None without sources."""
        key = (question.text, question.sources)
        if key not in self._leaks:  # Kiwi takes milliseconds for a text
            own = [
                self.documents[source] for source in question.sources if source in self.documents
            ]
            texts = [doc.text or "" for doc in own]
            self._leaks[key] = leak(question.text, texts) if texts else None
        return self._leaks[key]

    def _question(self, question: Question, person: Person) -> Plain:
        sees_all = person.role == "owner" or question.person == person.uid
        board = self.queue.boards.get(question.uid)
        documents = () if board is None else board.documents
        row: Plain = {
            **_about(question),
            "state": question.state,
            "origin": question.origin,
            "may_change": sees_all,
            "counts": {
                "pairs": len(documents),
                "judged": sum(
                    self._has_judged(person, (question.uid, document)) for document in documents
                ),
            },
        }
        if sees_all:
            row |= {"reference": question.reference, "sources": list(question.sources)}
        if person.role == "owner":
            row["odd"] = [
                {"person": self.state.people[uid].name, "note": note}
                for uid, note in self.state.odd(question).items()
            ]
        return row

    def _has_judged(self, person: Person, pair: Pair) -> bool:
        """Whether a person has judged a pair, or, for the owner, anybody."""
        people = self.state.judgements.get(pair, {})
        uids = people if person.role == "owner" else [person.uid]
        return any(judgement.kind != "later" for uid in uids for judgement in people.get(uid, ()))

    def put_question(self, person: Person, form: QuestionForm) -> Plain:
        """Store a question, a new one or one that is changed.

        Raises:
            RefusedError: it is somebody else's.
            UnknownError: a source is no document of the corpus.
            ClashError: another open question has the same text, or it was dropped.
        """
        with self.state.lock:
            for source in form.sources:
                self.document(source)
            before = self.state.questions.get(form.uid) if form.uid is not None else None
            if before is not None:
                self._may_change(person, before)
                self._open_question(before.uid)
            for other in self.state.open_questions():
                if other.text == form.text and (before is None or other.uid != before.uid):
                    if form.uid is None and other.person == person.uid:
                        return {"question": self._question(other, person)}  # sent again
                    problem = "another question has the same words"
                    raise ClashError(problem, code="text", field="text")
            fields = form.model_dump(exclude={"uid"}) | {"sources": tuple(form.sources)}
            if before is None:
                question = Question(uid=form.uid or new_uid(), person=person.uid, **fields)
            else:
                question = replace(before, **fields, at=now())
            candidates = self.state.candidates.get(question.uid, {})
            self.state.add(
                [
                    question,
                    *(
                        Candidate(question=question.uid, document=source, origin="source")
                        for source in form.sources
                        if source not in candidates
                    ),
                ]
            )
            answer = {"question": self._question(question, person)}
        if before is None or before.text != question.text:
            self._suggester.wake()
        return answer

    def made_questions(self, _: Person, form: TemplatesForm) -> Plain:
        """Questions that templates would make from the corpus; nothing is stored."""
        from kragx.workshop.questions.making import TARGETS, make_questions, unmet

        with self.state.lock:
            existing = [
                Query(
                    question.uid,
                    question.text,
                    query_type=question.query_type,
                    metadata={
                        **question.metadata,
                        "difficulty": question.difficulty,
                        "sources": [*question.sources],
                    },
                )
                for question in self.state.questions.values()
            ]
        targets = self.workshop.settings.targets
        outcome = make_questions(
            self.documents.corpus,
            n=form.n,
            existing=existing,
            targets={field: shares for field, shares in targets.items() if field in TARGETS},
            seed=form.seed,
        )
        self._made = {question.uid: question for question in outcome.questions}
        fields = ("uid", "text", "query_type", "difficulty", "leak")
        return {
            "questions": [
                {key: getattr(question, key) for key in fields} for question in outcome.questions
            ],
            "unmet": [
                dict(zip(("by", "value", "share", "target"), row))
                for row in unmet(outcome.targets, outcome.counts)
            ],
            "lacks_kiwi": self.workshop.settings.language == "ko" and not has_kiwi(),
        }

    def add_made(self, person: Person, form: UidsForm) -> Plain:
        """Store some of the questions that were made last, with their sources as suggestions.

        Raises:
            ClashError: one of them was made before the last time.
        """
        drafts = self._made
        if not form.uids or any(uid not in drafts for uid in form.uids):
            raise ClashError("these were not made last", code="made", remedy="make them again")
        with self.state.lock:
            queries = [drafts[uid].query for uid in form.uids if uid not in self.state.questions]
            if queries:
                dataset = GoldDataset(tuple(queries))
                self.state.add(incoming(dataset, person, self.documents, None).records)
        self._suggester.wake()
        return {"added": len(queries)}

    def drop_question(self, person: Person, form: DropForm) -> Plain:
        """Ask a question no more; its judgements stay."""
        with self.state.lock:
            question = self.state.questions.get(form.uid)
            if question is None:
                raise UnknownError("there is no such question", code="question", field="uid")
            self._may_change(person, question)
            if question.state == "open":
                note = form.why or question.note
                question = replace(question, state="dropped", note=note, at=now())
                self.state.add([question])
            return {"question": self._question(question, person)}

    def _may_change(self, person: Person, question: Question) -> None:
        if person.role != "owner" and question.person != person.uid:
            problem = "a question is changed by who wrote it, and by the owner"
            raise RefusedError(problem, code="author")

    # -- what only the owner sees --------------------------------------------------------------

    def conflicts(self) -> Plain:
        """The pairs on which people differ and nobody has decided, side by side."""
        with self.state.lock:
            self.queue.refresh()
            return {"conflicts": [self._conflict(pair) for pair in conflicts(self.queue.boards)]}

    def _conflict(self, pair: Pair) -> Plain:
        question = self.state.questions[pair[0]]
        people = self.state.people
        return {
            "question": {"uid": question.uid, "text": question.text, "note": question.note},
            "document": self.document(pair[1]),
            "judgements": [
                {
                    "person": {"uid": uid, "name": people[uid].name},
                    **_said(judgement, pair[1]),
                    "evidence": self._evidence(judgement),
                }
                for uid, judgement in verdicts(
                    self.state, pair[0], self.copies.all(pair[1])
                ).items()
            ],
        }

    def _evidence(self, judgement: Judgement) -> list[str]:
        """The stretches that somebody marked, in the words of the text that they were shown."""
        doc = self.documents.get(judgement.document)
        text = "" if doc is None else doc.text or ""
        return [words for start, end in judgement.spans if (words := text[start:end])]

    def releases(self) -> Plain:
        """The releases that were made, and what the next one would hold.

        Raises:
            ClashError: the folder's releases were changed.
        """
        with self.state.lock, _told_apart():
            people, rows = self.state.people, list(self.state.releases)
            coming = next_release(self.workshop, self.state, self.copies)
        diff = coming.diff
        changes: Plain | None = None
        if diff is not None:
            numbers = {state: len(diff.of(state)) for state in ("changed", "added", "dropped")}
            changes = {"since": coming.previous, **numbers}
        return {
            "releases": [
                {
                    "version": row.version,
                    "at": row.at,
                    "file": row.file,
                    "hash": row.hash,
                    "person": people[row.person].name if row.person in people else None,
                }
                for row in rows
            ],
            "next": {
                "version": coming.version,
                "questions": coming.n_questions,
                "gold": coming.n_gold,
                "changes": changes,
                "lacks": [vars(lack) for lack in coming.lacking],
                "is_same": coming.is_same,
                "is_ready": coming.is_ready,
            },
        }

    def release(self, person: Person, form: ReleaseForm) -> Plain:
        """Write what is ready as a gold file that never changes.

        Raises:
            UsageError: nothing is ready.
            ClashError: nothing has changed since the last release, or its files cannot be
                written or were changed.
        """
        with _told_apart():
            outcome = release(
                self.workshop, self.state, self.copies, person=person.uid, **form.model_dump()
            )
        if outcome.version is None:
            raise ClashError(f"nothing has changed since {outcome.file.name}", code="same")
        record = {"version": outcome.version, "file": outcome.file.name}
        return {**record, "folder": str(outcome.file.parent.resolve()), **self.releases()}

    def agreement(self) -> Plain:
        """How far people agree, as alpha with its interval.

        Values are None where undefined, and below `least` pairs; `meant` are to be judged twice.
        """
        with self.state.lock:
            alpha = agreement(self.state, self.top)
            self.queue.refresh()
            n_meant = sum(int(board.twice.sum()) for board in self.queue.boards.values())
        ends = alpha.interval
        return {
            "value": alpha.value,
            "interval": {"low": ends[0], "high": ends[1]} if ends else None,
            "pairs": alpha.pairs,
            "questions": alpha.questions,
            "least": LEAST_PAIRS,
            "meant": n_meant,
        }

    def progress(self, person: Person) -> Plain:
        """How far the set is."""
        with self.state.lock:
            counts = self._counts(person)
            boards, targets = list(self.queue.boards.values()), self.workshop.settings.targets
            shown: Plain = {
                "totals": counts,
                "decides": self._decides(),
                "by": shares(boards, targets),
            }
            if person.role == "owner":  # what names retrievers, or says what others said
                shown["totals"] = totals(boards) | counts
                shown["agreement"] = self.agreement()
                shown["people"] = [
                    {
                        "name": somebody.name,
                        "judged": self._n_judged(somebody),
                        "later": self._n_later(somebody),
                    }
                    for somebody in self.state.people.values()
                    if somebody.role != "file"
                ]
                shown["estimates"] = [
                    vars(estimate) for estimate in estimates(boards, self.queue.plan)
                ]
                shown["notices"] = [
                    {"about": about, "code": remark.code, "values": list(remark.values)}
                    for about, remarks in list(self.remarks.items())
                    for remark in remarks
                ] + [
                    {"about": ", ".join(names), "code": "equal", "values": []}
                    for names in self.queue.reckoning.outlook.equal
                ]
            else:
                for row in chain(*shown["by"].values()):
                    del row["judged"], row["answered"]
            questions = list(self.state.open_questions())
        leaks = list(map(self._leak, questions))
        target = self.workshop.settings.leak_target
        return shown | {"leak": {"mean": mean_leak(leaks), "target": target}}

    def _n_later(self, person: Person) -> int:
        """How many pairs a person has put off and not judged since."""
        pairs = {
            (judgement.question, judgement.document)
            for judgement in self.state.history.get(person.uid, ())
        }
        newest = (self.state.newest(pair, person.uid) for pair in pairs)
        return sum(judgement is not None and judgement.kind == "later" for judgement in newest)


@contextmanager
def _told_apart() -> Iterator[None]:
    """What is wrong with the files of releases has a code of its own, for the page's sentence."""
    try:
        yield
    except StoreFailedError:  # that is no file's fault
        raise
    except (UsageError, DataError) as error:
        if hasattr(error, "code"):
            raise
        raise ClashError(str(error), code="files") from error


def _said(judgement: Judgement, shown: str | None = None) -> Plain:
    """A judgement; its stretches only on the text that they were marked on, not on a copy's."""
    is_shown = shown in (None, judgement.document)
    return {
        "uid": judgement.uid,
        "kind": judgement.kind,
        "grade": judgement.grade,
        "spans": [list(span) for span in judgement.spans] if is_shown else [],
        "note": judgement.note,
        "at": judgement.at,
    }


def _spans(spans: list[list[int]], length: int) -> tuple[tuple[int, int], ...]:
    """Stretches of a text, sorted; those that overlap or touch are one.

    Raises:
        MisfitError: one is empty, or not within the text.
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted((start, end) for start, end in spans):
        if not start < end <= length:
            problem = f"[{start}, {end}] is no stretch of a text of {length} characters"
            raise MisfitError(problem, code="spans", field="spans")
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _about(question: Question) -> Plain:
    """What everybody may know of a question."""
    names = ("uid", "text", "query_type", "difficulty", "answerable", "note")
    return {name: getattr(question, name) for name in names}
