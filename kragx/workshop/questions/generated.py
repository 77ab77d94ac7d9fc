"""Questions that a model writes about a corpus, and what becomes of each: kept, or why not."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
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
from kragx.workshop.questions.prompts import (
    DIFFICULTIES,
    Kind,
    need_check,
    relevance_check,
    writing_request,
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
    sieve = Sieve((query.text or "" for query in existing), most_leak)
    source = _ModelDrafts(judge, passages, islice(kinds, n), sieve)
    # Later tries begin so far on that they come to passages which no earlier one has asked about.
    stride = max(1, len(passages) // tries)
    for attempt in range(tries):
        if source.open:
            source.round(attempt * stride)
    questions = tuple(question for _, question in sorted(source.questions.items()))
    written = [question.query for question in questions]
    counts = Kinds(shares, (), kinds_of([*existing, *written])).counts
    n_left = len(source.open)
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


class _ModelDrafts:
    """Rounds of writing and checking, and what came of them.

    Attributes:
        open: by place in the list of all, the kinds of the questions that are still to be written.
        questions: by place those that are kept.
    """

    def __init__(
        self, judge: Grader, passages: CorpusPassages, kinds: Iterable[Kind], sieve: Sieve
    ) -> None:
        # What cannot be asked is refused at once.
        relevance_check(judge, NewQuestion("", None, None, ()), "")
        self._judge, self._passages, self._sieve = judge, passages, sieve
        self.open: dict[int, Kind] = dict(enumerate(kinds))
        self.questions: dict[int, NewQuestion] = {}
        self._requests: set[tuple[str, Kind]] = set()
        self._writing, self._checking = Tally(), Tally()
        self._n_excused = self._n_refused = self._n_unknown = 0

    def round(self, offset: int) -> None:
        """Write a question for each open place, and check it."""
        kinds = dict(self.open)
        requests = [self._request(place, kind, offset) for place, kind in kinds.items()]
        judged = self._judge.members[0].judge([question for _, question in requests])
        self._take(self._writing, judged)
        candidates: list[tuple[int, NewQuestion, list[Question]]] = []
        for (place, kind), (passage, request), judgement in zip(
            kinds.items(), requests, judged.judgements, strict=True
        ):
            entries = judgement.entries
            if judgement.failure is not None:
                self._count(place, {judgement.failure})
            if not entries and place not in self.open:
                # As long as one that will be checked, and each of its own, as these will be.
                words = ("질문 " if request.rubric.language == "ko" else "question ") * 10
                entries = ((0, f"{place} {words}\n{words}"),)
            for grade, text in entries[:1]:
                question = self._question(kind, passage, request, grade, text)
                if place not in self.open or self._passes(question, passage, request):
                    candidates.append((place, question, self._checks(place, question, passage)))
        if candidates:
            checked = self._judge.judge([check for *_, checks in candidates for check in checks])
            self._take(self._checking, checked)
            judgements = iter(checked.judgements)
            for place, question, checks in candidates:
                self._decide(place, question, checks, [*islice(judgements, len(checks))])

    def _request(self, place: int, kind: Kind, offset: int) -> tuple[Passage, Question]:
        """The question to the model for a place, about a passage that had none of this kind."""
        # Of three: half the times two, as a question seldom needs more.
        passage, round_ = self._passages.at(place + offset, 2 + place % 2 if kind.several else 1)
        kind = replace(kind, several=len(passage.parts) > 1, number=round_ + 1)
        while (passage.text, kind) in self._requests:
            kind = replace(kind, number=kind.number + 1)
        self._requests.add((passage.text, kind))
        ids = ", ".join(passage.sources)
        return passage, writing_request(self._judge, passage.text, kind, ids)

    def _count(self, place: int, failures: Collection[str | None]) -> None:
        """Count a place of whose question nothing is known; a dry run does not go on with it."""
        is_refused = _REFUSED.issuperset(failures)
        if self._judge.dry_run and not is_refused:
            del self.open[place]
        self._n_refused += is_refused
        self._n_unknown += not is_refused

    def _question(
        self, kind: Kind, passage: Passage, request: Question, grade: float, entry: str
    ) -> NewQuestion:
        """What a model wrote: a question, and from the second line on its answer.

        The answer of one that is to have none is what is missing; it may be empty.
        """
        text, _, answer = entry.partition("\n")
        missing = {} if kind.answerable or not answer else {"lacks": answer}
        return NewQuestion(
            text,
            kind.query_type,
            DIFFICULTIES[int(grade)] if kind.answerable else None,
            passage.sources,
            {"model": self._judge.members[0].model, "rubric": request.rubric.id, **missing},
            leak(text, [part.doc.text or "" for part in passage.parts]),
            answerable=None if kind.answerable else False,
            reference=answer or None if kind.answerable else None,
        )

    def _passes(self, question: NewQuestion, passage: Passage, request: Question) -> bool:
        """Whether no rule takes a question out."""
        # A Korean question about a Korean passage is right, whatever the rubric's language is.
        wanted = request.rubric.language == "ko" or is_korean(passage.text)
        is_right = is_korean(question.text) in (wanted, request.rubric.language == "ko")
        faults: list[Why] = [] if is_right else ["wrong language"]
        return self._sieve.first([question], faults) is not None

    def _checks(self, place: int, question: NewQuestion, passage: Passage) -> list[Question]:
        """What the model is asked about a question.

        That is how far it needs documents, whether its passage answers it, and of what is to have
        no answer whether those nearest to it do.
        """
        passages = [passage]
        if question.answerable is False:
            near = self._passages.nearest(question.text, _NEAREST + 1)
            if place not in self.open:  # what stands for a question is near to nothing
                places = range(place, place + _NEAREST + 1)
                near = [self._passages.at(place)[0].parts[0] for place in places]
            parts = [part for part in near if part not in passage.parts][:_NEAREST]
            passages += [Passage((part,)) for part in parts]
        relevance = [relevance_check(self._judge, question, row.text) for row in passages]
        return [need_check(self._judge, question), *relevance]

    def _decide(
        self,
        place: int,
        question: NewQuestion,
        checks: Sequence[Question],
        judgements: Sequence[Judgement],
    ) -> None:
        """Keep a question or drop it, by what the model says; what is not known says nothing."""
        if place not in self.open:
            return  # it merely stood for a question
        need, *answers = judgements
        answerable = question.answerable is not False
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
            self._count(place, failures)
        else:
            grades = {"need": need.grade, "relevance": answers[0].grade}
            made_by = {**question.made_by, "checks": grades}
            self.questions[place] = replace(question, made_by=made_by)
            del self.open[place]

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
