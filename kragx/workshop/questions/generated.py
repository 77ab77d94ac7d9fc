"""Questions that a model writes about a corpus, and what becomes of each: kept, or why not."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

from kragx.data.corpus import as_corpus
from kragx.data.gold import Query
from kragx.ground.errors import UsageError, check_whole
from kragx.ground.printing import phrase
from kragx.judging.judge import Grader, Judged
from kragx.judging.question import Judgement, Question
from kragx.judging.rubric import Rubric
from kragx.judging.tally import Tally, check_missing
from kragx.judging.writing import (
    DIFFICULTIES,
    Draft,
    Kind,
    asked_for,
    drafts,
    is_korean,
    need_of,
    relevance_of,
)
from kragx.workshop.questions.asked import Asked, uses_of
from kragx.workshop.questions.leak import leak
from kragx.workshop.questions.passages import CorpusPassages, Passage, PassagePart
from kragx.workshop.questions.pointing import pointing
from kragx.workshop.questions.question import NewQuestion
from kragx.workshop.questions.targets import (
    Cell,
    Kinds,
    Shares,
    check_shares,
    counts_of,
    kinds_of,
    target_shares,
    unmet_notes,
)
from kragx.workshop.questions.written import LONGEST, Dropped, Why, WrittenQuestions

_REFUSED = frozenset({"refusal", "content_filter"})
"""The failures that say something of the text, and not of how it was asked for."""
_NEAREST = 4
"""Passages, beside its own, in which an answer to a question is looked for that is to have none."""


def write_questions(
    corpus: object,
    judge: Grader,
    n: int = 50,
    *,
    rubric: Rubric | None = None,
    language: Literal["auto", "ko", "en"] = "auto",
    existing: Iterable[Query] = (),
    targets: Shares | None = None,
    unanswerable: float = 0.1,
    several: float = 0.2,
    most_leak: float | None = None,
    tries: int = 3,
    seed: int = 0,
) -> WrittenQuestions:
    """Have a model write questions about passages, and keep those that are good for something.

    A question that falls is made up for with another passage. The same corpus, judge and options
    ask the same, so that an interrupted run goes on, and a larger `n` pays for what is new.

    Args:
        corpus: as of `kragx.evaluate`.
        judge: its model writes (of a panel the first) and checks (a panel: all of them). Its
            ``language`` is that of the questions; ``auto``: each passage's.
        n: how many questions.
        rubric: asks ``questions`` in words of one's own.
        language: of the passages.
        existing: questions that are there already: none is asked again, their kinds count towards
            the shares, and what they were not made from comes first.
        targets: as of `make_questions`; the difficulty is what the model says that it wrote.
        unanswerable: the share that nothing in the corpus should answer.
        several: of the others the share that should need several passages together.
        most_leak: the most of a question's content words that its passage may have; None for no
            bound.
        tries: passages that each question is tried with at most.
        seed: of what is random.

    Raises:
        UsageError: an argument is wrong.
        DataError: the corpus cannot be read, or has nothing to ask about.
        JudgingError: the budget is used up, or more judgements are missing than `max_missing`
            (but for what a model refuses); what was judged is stored.
    """
    check_whole("n", n)
    check_whole("tries", tries)
    check_shares(unanswerable=unanswerable, several=several, most_leak=most_leak)
    shares = target_shares(targets)
    if wrong := shares["difficulty"].keys() - {*DIFFICULTIES}:
        problem = f"{min(wrong)!r} is no difficulty that a model is asked for"
        raise UsageError(problem, field="targets", remedy=f"name {', '.join(DIFFICULTIES)}")
    existing = [*existing]
    passages = CorpusPassages([*as_corpus(corpus).docs.values()], language, seed, uses_of(existing))
    kinds = wanted_kinds(
        shares, existing, unanswerable, several if passages.have_neighbours else 0.0
    )
    slots = [_Slot(place, _kind(kinds)) for place in range(n)]
    work = _Work(judge, rubric, passages, [query.text or "" for query in existing], most_leak)
    stride = max(1, len(passages) // tries)
    for attempt in range(tries):
        if open_slots := [slot for slot in slots if slot.is_open]:
            work.round(open_slots, attempt * stride)
    return work.result(slots, shares, existing)


def wanted_kinds(
    shares: Shares, existing: Iterable[Query], unanswerable: float, several: float
) -> Kinds:
    """The kinds that a model is asked for: of what has no answer, nothing is difficult."""
    axes: dict[str, Mapping[Any, float]] = {
        **shares,
        "answerable": {True: 1 - unanswerable, False: unanswerable},
        "several": {False: 1 - several, True: several},
    }
    types, difficulties = shares["query_type"], shares["difficulty"]
    cells: list[Cell] = [*product(types, difficulties, (True,), (False, True))]
    cells += [(query_type, None, False, None) for query_type in types]
    return Kinds(axes, cells, [(*kind, None, None) for kind in kinds_of(existing)])


def _kind(kinds: Kinds) -> Kind:
    """The kind that comes next, counted."""
    cell = kinds.next()
    assert cell is not None  # none is ever closed
    kinds.count(cell)
    query_type, difficulty, answerable, several = cell
    return Kind(query_type, difficulty, answerable, bool(several))


@dataclass
class _Slot:
    """A place for a question.

    Attributes:
        place: in the list of all.
        kind: what it should be like.
        is_open: whether a question is still to be written for it.
        question: the one that it has.
    """

    place: int
    kind: Kind
    is_open: bool = True
    question: NewQuestion | None = None


@dataclass
class _Candidate:
    """A question that passed the rules, and what the model is asked about it.

    Attributes:
        slot: which place it is for.
        passage: that it was written about.
        question: the question.
        parts: that are asked about one by one.
        checks: the questions to the model: how far it needs documents, whether its passage answers
            it, and the same of each of `parts`.
    """

    slot: _Slot
    passage: Passage
    question: NewQuestion
    parts: Sequence[PassagePart]
    checks: list[Question]

    def faults(self, judgements: Sequence[Judgement]) -> Iterator[tuple[Why, str]]:
        """Yield what the model says against it; what is not known says nothing."""
        need, *answers = judgements
        by_need, by_relevance = (check.rubric for check in self.checks[:2])
        if need.grade is not None and need.grade < by_need.match_from:
            yield "vague" if need.grade < 1 else "common sense", need.text
        has_answer = [by_relevance.match_from <= (row.grade or 0) for row in answers]
        if self.slot.kind.answerable:
            if answers[0].grade is not None and not has_answer[0]:
                yield "not answered", answers[0].text
            return
        for part, row, is_answer in zip(
            (self.passage.parts[0], *self.parts), answers, has_answer, strict=True
        ):
            if is_answer:
                yield "answered", f"{part.id}: {row.text}"

    def passed(self, judgements: Sequence[Judgement]) -> NewQuestion:
        """The question with what the checks gave, and with the documents that it needs."""
        need, whole, *of_parts = judgements
        made_by: dict[str, Any] = {
            **self.question.made_by,
            "checks": {"need": need.grade, "relevance": whole.grade},
        }
        sources = self.question.sources
        if self.slot.kind.answerable and of_parts:
            sources = _needed_documents(self.parts, of_parts, self.checks[1].rubric)
        stretches = [
            {"source": part.id, "start": part.start, "end": part.end}
            for part in self.passage.parts
            if not part.is_whole and part.id in sources
        ]
        if stretches:
            made_by["shown"] = stretches
        return replace(self.question, sources=sources, made_by=made_by)


class _Work:
    """Rounds of writing and checking, and what came of them."""

    def __init__(
        self,
        judge: Grader,
        rubric: Rubric | None,
        passages: CorpusPassages,
        existing: Iterable[str],
        most_leak: float | None,
    ) -> None:
        relevance_of(judge, Draft("", "", "easy"), "")  # what cannot be asked is refused at once
        self._judge, self._rubric, self._passages = judge, rubric, passages
        self._known, self._most_leak = Asked(existing), most_leak
        self._used: set[tuple[str, Kind]] = set()
        self._dropped: list[Dropped] = []
        self._counts = Counter[str]()
        self._writing, self._checking = Tally(), Tally()
        self._n_refused = 0

    def round(self, slots: Sequence[_Slot], offset: int) -> None:
        """Write a question for each of these places, and check it."""
        requests = [self._request(slot, offset) for slot in slots]
        written, judged = drafts(self._judge, [question for _, question in requests])
        self._take(self._writing, judged)
        candidates: list[_Candidate] = []
        for slot, (passage, request), draft, judgement in zip(
            slots, requests, written, judged.judgements, strict=True
        ):
            new = draft if judgement.failure is None else self._unwritten(slot, judgement, request)
            if new is not None:
                candidates += filter(None, [self._check_draft(slot, passage, request, new)])
            elif judgement.failure is None:
                self._counts["without"] += 1
        if candidates:
            checked = self._judge.judge([check for each in candidates for check in each.checks])
            self._take(self._checking, checked)
            judgements = iter(checked.judgements)
            for candidate in candidates:
                of_candidate = [next(judgements) for _ in candidate.checks]
                if candidate.slot.is_open:
                    self._decide(candidate, of_candidate)

    def _request(self, slot: _Slot, offset: int) -> tuple[Passage, Question]:
        """The question to the model for a place, about a passage that had none of this kind."""
        # Of three: half the times two, as a question seldom needs more.
        n = 2 + slot.place % 2 if slot.kind.several else 1
        passage, round_ = self._passages.at(slot.place + offset, n)
        kind = replace(slot.kind, several=len(passage.parts) > 1, number=round_ + 1)
        while (passage.text, kind) in self._used:
            kind = replace(kind, number=kind.number + 1)
        self._used.add((passage.text, kind))
        ids = ", ".join(passage.sources)
        return passage, asked_for(self._judge, passage.text, kind, ids, rubric=self._rubric)

    def _unwritten(self, slot: _Slot, judgement: Judgement, request: Question) -> Draft | None:
        """Count a question that was not written; in a dry run what stands for it."""
        if judgement.failure in _REFUSED:
            self._counts["refused"] += 1
        elif not self._judge.dry_run:
            self._counts["unknown"] += 1
        else:
            slot.is_open = False
            self._counts["waiting"] += 1
            if judgement.failure == "not_asked" and self._judge.members[0].outbox is None:
                # As long as one that will be checked, and each of its own, as these will be.
                word = "질문 " if request.rubric.language == "ko" else "question "
                return Draft(f"{slot.place} {word * 10}", word * 10, "easy")
        return None

    def _check_draft(
        self, slot: _Slot, passage: Passage, request: Question, draft: Draft
    ) -> _Candidate | None:
        """A draft with what the model is asked about it; None if a rule takes it out."""
        judge, answerable = self._judge, slot.kind.answerable
        missing = {} if answerable or not draft.answer else {"lacks": draft.answer}
        question = NewQuestion(
            draft.text,
            slot.kind.query_type,
            draft.difficulty if answerable else None,
            passage.sources,
            {"model": judge.members[0].model, "rubric": request.rubric.id, **missing},
            leak(draft.text, [part.doc.text or "" for part in passage.parts]),
            answerable=None if answerable else False,
            reference=draft.answer or None if answerable else None,
        )
        if slot.is_open:  # else it is none yet
            if why := self._rule(question, passage, request):
                self._dropped.append(Dropped(question, *why))
                return None
            self._known.add(draft.text)
        parts = passage.parts if len(passage.parts) > 1 else ()
        if not answerable:
            parts = self._elsewhere(slot, draft, passage)
        checks = [need_of(judge, draft, answerable=answerable)]
        for part in (passage.parts[0] if len(passage.parts) == 1 else None, *parts):
            text = passage.text if part is None else part.text
            document = part.id if part is not None and part.is_whole else None
            checks.append(relevance_of(judge, draft, text, question.uid, document))
        return _Candidate(slot, passage, question, parts, checks)

    def _elsewhere(self, slot: _Slot, draft: Draft, passage: Passage) -> tuple[PassagePart, ...]:
        """The other passages in which an answer is looked for."""
        near = self._passages.nearest(draft.text, _NEAREST + 1)
        if not slot.is_open:  # what stands for a question is near to nothing
            places = range(slot.place, slot.place + _NEAREST + 1)
            near = [self._passages.at(place)[0].parts[0] for place in places]
        return tuple(part for part in near if part not in passage.parts)[:_NEAREST]

    def _rule(
        self, question: NewQuestion, passage: Passage, request: Question
    ) -> tuple[Why, str] | None:
        """The rule that takes a question out, and what it saw."""
        text = question.text
        if len(text) > LONGEST:
            return "too long", f"{len(text)} characters"
        korean = request.rubric.language == "ko"
        if is_korean(text) != korean and (korean or not is_korean(passage.text)):
            return "wrong language", f"asked for in {request.rubric.language}"
        if words := pointing(text):
            return "points at its passage", words
        if text in self._known:
            return "asked already", "nearly the same words"
        if self._most_leak is not None and (question.leak or 0) > self._most_leak:
            return "copies", f"word leak {question.leak:.2f}"
        return None

    def _decide(self, candidate: _Candidate, judgements: Sequence[Judgement]) -> None:
        """Keep a question or drop it, by what the model says."""
        slot = candidate.slot
        if fault := next(candidate.faults(judgements), None):
            self._dropped.append(Dropped(candidate.question, *fault))
            return
        required = judgements[:2] if slot.kind.answerable else judgements
        failures = {judgement.failure for judgement in required if judgement.grade is None}
        if not failures:
            slot.question = candidate.passed(judgements)
            slot.is_open = False
        elif self._judge.dry_run:
            self._counts["waiting"] += 1
            slot.is_open = False
        else:
            self._counts["refused" if failures <= _REFUSED else "unknown"] += 1

    def _take(self, tally: Tally, judged: Judged) -> None:
        """Count what was asked.

        Raises:
            JudgingError: more is missing than may be, but for what was refused.
        """
        tally.add(judged.tally)
        self._n_refused += sum(row.failure in _REFUSED for row in judged.judgements)
        total, judge = self._writing + self._checking, self._judge
        check_missing(
            total,
            judge,
            lambda: f"What was judged is in {judge.store}: run again to ask for what is missing",
            n_excused=self._n_refused,
        )

    def result(
        self, slots: Sequence[_Slot], shares: Shares, existing: Sequence[Query]
    ) -> WrittenQuestions:
        """What there is in the end."""
        questions = tuple(slot.question for slot in slots if slot.question is not None)
        kinds = [(question.query_type, question.difficulty) for question in questions]
        counts = counts_of([*kinds_of(existing), *kinds])
        notes = unmet_notes(shares, counts)
        if n_left := sum(slot.is_open for slot in slots):
            lacking = phrase("{n} questions are lacking: no try gave one that passes", n=n_left)
            notes = [lacking, *notes]
        writer = self._judge.members[0]
        costs = [
            writer.summary(self._writing)["cost"],
            self._judge.summary(self._checking)["cost"],
        ]
        return WrittenQuestions(
            questions,
            len(slots),
            shares,
            counts,
            len(existing),
            tuple(notes),
            model=writer.model,
            dropped=tuple(self._dropped),
            n_unknown=self._counts["unknown"],
            n_refused=self._counts["refused"],
            n_without=self._counts["without"],
            n_waiting=self._counts["waiting"],
            cost=None if None in costs else sum(costs),
            currency=writer.currency,
            writing=self._writing,
            checking=self._checking,
        )


def _needed_documents(
    parts: Sequence[PassagePart], judgements: Sequence[Judgement], relevance: Rubric
) -> tuple[str, ...]:
    """The documents that a question about several parts needs.

    One that answers it whole is enough; else those that have nothing of the answer are none.
    """
    graded = list(zip(parts, (judgement.grade for judgement in judgements), strict=True))
    whole = [part for part, grade in graded if grade == relevance.top]
    some = [part for part, grade in graded if grade is None or grade > 0]
    return tuple(dict.fromkeys(part.id for part in whole[:1] or some or parts))
