"""Questions that a model writes about a corpus, and what becomes of each: kept, or why not."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

from kragx.data.corpus import as_corpus
from kragx.data.gold import Query
from kragx.data.korean import is_korean
from kragx.ground.errors import UsageError, check_whole
from kragx.ground.printing import message
from kragx.judging.judge import Grader, Judged
from kragx.judging.judgement_counts import Tally, check_missing
from kragx.judging.question import Judgement, Question
from kragx.workshop.questions.documents import CorpusPassages, Passage
from kragx.workshop.questions.drafts import (
    DIFFICULTIES,
    Draft,
    Kind,
    asked_for,
    drafts,
    need_of,
    relevance_of,
)
from kragx.workshop.questions.question import NewQuestion, Sieve, Why, WrittenQuestions
from kragx.workshop.questions.targets import (
    Cell,
    Kinds,
    Shares,
    check_shares,
    kinds_of,
    target_shares,
    uses_of,
)
from kragx.workshop.questions.words import leak

_REFUSED = frozenset({"refusal", "content_filter"})
"""The failures that say something of the text, and not of how it was asked for."""
_NEAREST = 4
"""Passages, beside its own, in which an answer to a question is looked for that is to have none."""


def write_questions(
    corpus: object,
    judge: Grader,
    n: int = 50,
    *,
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
        problem = message("{value!r} is no difficulty that a model is asked for", value=min(wrong))
        raise UsageError(
            problem, field="targets", remedy=message("name {names}", names=", ".join(DIFFICULTIES))
        )
    existing = [*existing]
    passages = CorpusPassages([*as_corpus(corpus).docs.values()], seed, uses_of(existing))
    several = several if passages.have_neighbours else 0.0
    kinds = wanted_kinds(shares, existing, unanswerable, several)
    slots = [_Slot(*pair) for pair in enumerate(islice(kinds, n))]
    sieve = Sieve((query.text or "" for query in existing), most_leak)
    source = _ModelDrafts(judge, passages, sieve)
    # Later tries begin so far on that they come to passages which no earlier one has asked about.
    stride = max(1, len(passages) // tries)
    for attempt in range(tries):
        if open_slots := [slot for slot in slots if slot.is_open]:
            source.round(open_slots, attempt * stride)
    questions = tuple(slot.question for slot in slots if slot.question is not None)
    cells = [(question.query_type, question.difficulty) for question in questions]
    counts = Kinds(shares, (), [*kinds_of(existing), *cells]).counts
    n_left = sum(slot.is_open for slot in slots)
    lacking = message("{n} questions are lacking: no try gave one that passes", n=n_left)
    notes = (lacking,) if n_left else ()
    return WrittenQuestions(
        questions, n, shares, counts, len(existing), notes, fell=sieve.fell, **source.spent
    )


def wanted_kinds(
    shares: Shares, existing: Iterable[Query], unanswerable: float, several: float
) -> Iterator[Kind]:
    """Yield the kinds that a model is asked for: of what has no answer, nothing is difficult."""
    axes: dict[str, Mapping[Any, float]] = {
        **shares,
        "answerable": {True: 1 - unanswerable, False: unanswerable},
        "several": {False: 1 - several, True: several},
    }
    types, difficulties = shares["query_type"], shares["difficulty"]
    cells: list[Cell] = [*product(types, difficulties, (True,), (False, True))]
    cells += [(query_type, None, False, None) for query_type in types]
    kinds = Kinds(axes, cells, [(*kind, None, None) for kind in kinds_of(existing)])
    while (cell := kinds.next()) is not None:  # without end, as none is ever closed
        kinds.count(cell)
        query_type, difficulty, answerable, is_of_several = cell
        yield Kind(query_type, difficulty, answerable, bool(is_of_several))


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


class _ModelDrafts:
    """Rounds of writing and checking, and what came of them."""

    def __init__(self, judge: Grader, passages: CorpusPassages, sieve: Sieve) -> None:
        relevance_of(judge, Draft("", "", "easy"), "")  # what cannot be asked is refused at once
        self._judge, self._passages, self._sieve = judge, passages, sieve
        self._requests: set[tuple[str, Kind]] = set()
        self._writing, self._checking = Tally(), Tally()
        self._n_excused = self._n_refused = self._n_unknown = 0

    def round(self, slots: Sequence[_Slot], offset: int) -> None:
        """Write a question for each of these places, and check it."""
        requests = [self._request(slot, offset) for slot in slots]
        written, judged = drafts(self._judge, [question for _, question in requests])
        self._take(self._writing, judged)
        candidates: list[tuple[_Slot, NewQuestion, list[Question]]] = []
        for slot, (passage, request), text, judgement in zip(
            slots, requests, written, judged.judgements, strict=True
        ):
            if text is None and judgement.failure is not None:
                self._count(slot, {judgement.failure})
            draft = text
            if text is None and not slot.is_open:
                # As long as one that will be checked, and each of its own, as these will be.
                words = ("질문 " if request.rubric.language == "ko" else "question ") * 10
                draft = Draft(f"{slot.place} {words}", words, "easy")
            if draft is not None and (candidate := self._candidate(slot, passage, request, draft)):
                candidates.append((slot, *candidate))
        if candidates:
            checked = self._judge.judge([check for *_, checks in candidates for check in checks])
            self._take(self._checking, checked)
            judgements = iter(checked.judgements)
            for slot, question, checks in candidates:
                self._decide(slot, question, checks, [*islice(judgements, len(checks))])

    def _request(self, slot: _Slot, offset: int) -> tuple[Passage, Question]:
        """The question to the model for a place, about a passage that had none of this kind."""
        # Of three: half the times two, as a question seldom needs more.
        n = 2 + slot.place % 2 if slot.kind.several else 1
        passage, round_ = self._passages.at(slot.place + offset, n)
        kind = replace(slot.kind, several=len(passage.parts) > 1, number=round_ + 1)
        while (passage.text, kind) in self._requests:
            kind = replace(kind, number=kind.number + 1)
        self._requests.add((passage.text, kind))
        ids = ", ".join(passage.sources)
        return passage, asked_for(self._judge, passage.text, kind, ids)

    def _count(self, slot: _Slot, failures: Collection[str | None]) -> None:
        """Count a place of whose question nothing is known; a dry run does not go on with it."""
        is_refused = _REFUSED.issuperset(failures)
        slot.is_open = is_refused or not self._judge.dry_run
        self._n_refused += is_refused
        self._n_unknown += not is_refused

    def _candidate(
        self, slot: _Slot, passage: Passage, request: Question, draft: Draft
    ) -> tuple[NewQuestion, list[Question]] | None:
        """A draft with what the model is asked about it; None if a rule takes it out.

        That is how far it needs documents, whether its passage answers it, and of what is to have
        no answer whether those nearest to it do.
        """
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
        # A Korean question about a Korean passage is right, whatever the rubric's language is.
        wanted = request.rubric.language == "ko" or is_korean(passage.text)
        is_right = is_korean(question.text) in (wanted, request.rubric.language == "ko")
        faults: list[Why] = [] if is_right else ["wrong language"]
        if slot.is_open and self._sieve.first([question], faults) is None:
            return None
        passages = [passage]
        if not answerable:
            near = self._passages.nearest(draft.text, _NEAREST + 1)
            if not slot.is_open:  # what stands for a question is near to nothing
                places = range(slot.place, slot.place + _NEAREST + 1)
                near = [self._passages.at(place)[0].parts[0] for place in places]
            parts = [part for part in near if part not in passage.parts][:_NEAREST]
            passages += [Passage((part,)) for part in parts]
        checks = [need_of(judge, draft, answerable=answerable)]
        checks += [relevance_of(judge, draft, row.text, question.uid) for row in passages]
        return question, checks

    def _decide(
        self,
        slot: _Slot,
        question: NewQuestion,
        checks: Sequence[Question],
        judgements: Sequence[Judgement],
    ) -> None:
        """Keep a question or drop it, by what the model says; what is not known says nothing."""
        if not slot.is_open:
            return  # it merely stood for a question
        need, *answers = judgements
        answerable = slot.kind.answerable
        required = judgements[:2] if answerable else judgements
        failures = {row.failure for row in required if row.grade is None}
        by_need, by_relevance = (check.rubric for check in checks[:2])
        has_answer = any(by_relevance.match_from <= (row.grade or 0) for row in answers)
        fault: Why | None = None
        if need.grade is not None and need.grade < by_need.match_from:
            fault = "vague" if need.grade < 1 else "common sense"
        elif not answerable and has_answer:
            fault = "answered"
        elif answerable and answers[0].grade is not None and not has_answer:
            fault = "not answered"
        if fault is not None:
            self._sieve.fell[fault] += 1
        elif failures:
            self._count(slot, failures)
        else:
            grades = {"need": need.grade, "relevance": answers[0].grade}
            slot.question = replace(question, made_by={**question.made_by, "checks": grades})
            slot.is_open = False

    def _take(self, tally: Tally, judged: Judged) -> None:
        """Count what was asked.

        Raises:
            JudgingError: more is missing than may be, but for what was refused.
        """
        tally.add(judged.tally)
        self._n_excused += sum(row.failure in _REFUSED for row in judged.judgements)
        check_missing(self._writing + self._checking, self._judge, n_excused=self._n_excused)

    @property
    def spent(self) -> dict[str, Any]:
        """What became of places without a question, and what it took, as the result has it."""
        writer = self._judge.members[0]
        tallies = ((writer, self._writing), (self._judge, self._checking))
        costs = [grader.summary(tally)["cost"] for grader, tally in tallies]
        return {
            "model": writer.model,
            "cost": None if None in costs else sum(costs),
            "currency": writer.currency,
            "writing": self._writing,
            "checking": self._checking,
            "n_refused": self._n_refused,
            "n_unknown": self._n_unknown,
        }
