"""A gold set's questions as a log comes to them, read from it once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Literal

from kragx.data import Doc, Gold, GoldDataset, Query, Retrieved
from kragx.data.gold import Turn
from kragx.evaluation.calls.logs import LoggedQuestion
from kragx.ground.errors import UsageError
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Line, Part, Result, joined, message, percent, warning
from kragx.workshop.folder.starting import Started, start
from kragx.workshop.logs.folding import N_TURNS, Ask, FoldedQuestion, fields_of
from kragx.workshop.logs.masks import Masker
from kragx.workshop.logs.reading import Logs
from kragx.workshop.state.records import SuggestedDocument

GoldFrom = Literal["clicks", "thumbs"]


@dataclass(frozen=True, eq=False)
class LoggedGold(Result):
    """The questions that a log comes to.

    Attributes:
        n_asks: how many asks were read.
        n_exact: how many different questions they were, but for case, punctuation and spacing.
        n_questions: how many after near duplicates were folded.
        n_drawn: how many were drawn; all, if no number was named.
        n_asks_of_gold: the asks of the questions that gold could be had for; None where all count.
        first, last: the days of the first and last ask; None where the log has no times.
        n_up, n_down: thumbs.
        masked_in_questions: by kind, how many finds were masked in what was asked.
        design: how questions were drawn; empty where all were taken.
        gold_from: what gold was made of; None for none.
        cautions: what a reader should know of the logs.
        logs, masker, drawn, keep: what the questions are made from, as they are read.
    """

    n_asks: int
    n_exact: int
    n_questions: int
    n_drawn: int
    n_asks_of_gold: int | None
    first: str | None
    last: str | None
    n_up: int
    n_down: int
    masked_in_questions: Mapping[str, int] = field(metadata=HIDDEN)
    design: Mapping[str, Any]
    gold_from: GoldFrom | None
    cautions: Sequence[str]
    logs: Logs = field(repr=False, metadata=HIDDEN)
    masker: Masker = field(repr=False, metadata=HIDDEN)
    drawn: Sequence[FoldedQuestion] = field(repr=False, metadata=HIDDEN)
    keep: Sequence[str] = field(metadata=HIDDEN)

    also_plain: ClassVar[tuple[str, ...]] = ("masked", "scope")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        biased = {} if self.gold_from is None else {"biased": str(_BIASED[self.gold_from])}
        return {**super().to_dict(), **biased}

    def questions(self) -> Iterator[tuple[Query, Retrieved | None]]:
        """The questions, in the order in which each was last asked, with what was retrieved then.

        The logs are read once more: they are larger than memory, and few questions are drawn.
        """
        # Answers may have been read before: only what is masked in questions stays counted.
        self.masker.counts.clear()
        self.masker.counts.update(self.masked_in_questions)
        drawn = {question.last.number: question for question in self.drawn}
        for number, logged in enumerate(self.logs.questions()):
            if number in drawn:
                yield self._question(drawn[number], logged)

    @property
    def masked(self) -> Mapping[str, int]:
        """By kind, how many finds were masked; those in answers and documents come with them."""
        return self.masker.counts

    @property
    def scope(self) -> str:
        """What numbers of these questions will be true of."""
        n = self.n_asks if self.n_asks_of_gold is None else self.n_asks_of_gold
        period = message("of unknown days")
        if self.first is not None:
            period = message("from {first} to {last}", first=self.first, last=self.last)
        return message(
            "numbers will be of {n} asks {period}, as they were logged, each question by its "
            "weight; of nothing that was not logged, or is asked later"
            if self.gold_from is None
            else "numbers will be of {n} asks {period}, those of questions for which people "
            "clicked a document ({share} of all), and not of the others"
            if self.gold_from == "clicks"
            else "numbers will be of {n} asks {period}, those of questions that people rated up "
            "and whose documents are logged ({share} of all), and not of the others",
            n=n,
            period=period,
            share=percent(n / max(self.n_asks, 1)),
        )

    def _gold(self, question: FoldedQuestion) -> tuple[Gold, ...]:
        """What people clicked, or what was retrieved for the asks that they rated."""
        if self.gold_from == "clicks":
            return tuple(map(Gold, dict.fromkeys(name for a in question.asks for name in a.clicks)))
        golds: dict[object, Gold] = {}
        for ask in question.asks if self.gold_from == "thumbs" else ():
            for doc in ask.rated if ask.thumb else ():
                # A thumb up outweighs one down: the answer that was liked rests on the document.
                if ask.thumb > 0 or doc.identity not in golds:
                    text = doc.text if doc.text is None else self._masked(doc).text
                    golds[doc.identity] = Gold(doc.id, text, float(max(0, ask.thumb)))
        return tuple(golds.values())

    def _question(
        self, question: FoldedQuestion, logged: LoggedQuestion
    ) -> tuple[Query, Retrieved | None]:
        gold, fields = self._gold(question), fields_of(logged.record, self.keep)
        metadata = self.masker.within(fields)
        query_type = metadata.pop("query_type", None)
        if logged.answer is not None:
            metadata["logged_answer"] = self.masker.text(logged.answer)
        if logged.time is not None:
            metadata["last_asked"] = day(logged.time)
        turns = [Turn(turn.role, self.masker.text(turn.content)) for turn in logged.history]
        query = Query(
            question.id,
            question.text,
            gold,
            query_type=None if query_type is None else str(query_type),
            metadata=metadata,
            history=(*turns, *_earlier(question.last)),
            weight=float(len(question.asks)),
            inclusion=question.inclusion,
        )
        if logged.retrieved is None:
            return query, None
        return query, Retrieved(tuple(map(self._masked, logged.retrieved)))

    def _masked(self, doc: Doc) -> Doc:
        text = None if doc.text is None else self.masker.text(doc.text)
        return Doc(doc.id, text, self.masker.within(doc.metadata), doc.score)

    def describe(self) -> Iterator[Part]:
        """What was read, folded, drawn and masked, and what numbers will be true of."""
        yield Line(
            message(
                "{n} asks, {n_exact} different questions; {n_questions} once near duplicates are "
                "folded",
                n=self.n_asks,
                n_exact=self.n_exact,
                n_questions=self.n_questions,
            )
        )
        if self.n_up or self.n_down:
            yield Line(message("thumbs: {up} up, {down} down", up=self.n_up, down=self.n_down))
        if self.design:
            yield Line(
                message(
                    "drawn by lot: {n} questions, {random} of the draw by how often they were "
                    "asked, the rest towards {towards}; each keeps its chance (inclusion)",
                    n=self.n_drawn,
                    random=percent(self.design["random"]),
                    towards=joined(", ", [_TOWARDS[name] for name in self.design["towards"]])
                    or message("nothing, as nothing is known of them"),
                )
            )
        finds = sorted(self.masked.items())
        counts = [joined(" ", (_KINDS.get(name, name), str(n))) for name, n in finds]
        yield Line(message("masked: {finds}", finds=joined(", ", counts) or message("nothing")))
        yield Line(self.scope)
        biased = [] if self.gold_from is None else [_BIASED[self.gold_from]]
        yield from map(warning, (*biased, *self.cautions))


_TOWARDS = {
    "complaints": message("complaints"),
    "disagreement": message("questions whose lists differ"),
    "doubt": message("questions of which the judge is unsure"),
}
_KINDS = {
    "email": message("email"),
    "phone": message("phone"),
    "resident": message("resident"),
    "card": message("card"),
    "ssn": message("ssn"),
}
_BIASED: Mapping[GoldFrom, str] = {
    "clicks": message(
        "gold of clicks is biased: people click what stands high and looks good among what was "
        "shown, so whatever finds other documents is called wrong; have a sample judged by people"
    ),
    "thumbs": message(
        "gold of thumbs is biased: few people rate, the angry and the pleased, and they rate the "
        "answer and not each document; have a sample judged by people"
    ),
}


def day(time: float) -> str:
    """The day of a moment, in UTC."""
    return datetime.fromtimestamp(time, UTC).date().isoformat()


def _earlier(ask: Ask) -> list[Turn]:
    """The questions before one in its session, the oldest first."""
    turns: list[Turn] = []
    while len(turns) < N_TURNS and ask.before is not None:
        ask = ask.before
        turns.append(Turn("user", ask.text))
    return turns[::-1]


def open_workshop(made: LoggedGold, folder: Path, *, corpus: str | Path | None = None) -> Started:
    """Make a workshop of the questions, on what was retrieved for them.

    Args:
        made: the questions.
        folder: where; it may exist, but hold no workshop.
        corpus: file or folder with the documents; None takes those whose texts the logs have.

    Raises:
        UsageError: there is a workshop already; or there are no texts to judge.
    """
    # All are held: documents and suggestions come from them, and logs are not read a third time.
    questions = [*made.questions()]
    documents: dict[str, Doc] = {}
    rows: list[SuggestedDocument] = []
    for query, answer in questions:
        for rank, doc in enumerate(answer.documents if answer else (), start=1):
            # The id of a document without any is made of its text.
            doc_id = doc.id or f"d-{sha256((doc.text or '').encode()).hexdigest()[:16]}"
            # Of a document that changed while it was logged the text is taken that came last.
            if doc.text is not None:
                documents[doc_id] = Doc(doc_id, doc.text, doc.metadata)
            row = SuggestedDocument(question=query.id, document=doc_id, origin="source", rank=rank)
            rows.append(replace(row, detail="log"))
    if corpus is None and not documents:
        problem = message("the logs have no texts of documents, and there is nothing to judge")
        raise UsageError(problem, field="--corpus", remedy="name the corpus")
    dataset = GoldDataset(tuple(query for query, _ in questions), name="logs")
    # Only what was made into gold has grades to take over.
    gold, alone = (None, dataset) if made.gold_from is None else (dataset, None)
    return start(
        folder,
        corpus=documents if corpus is None else corpus,
        gold=gold,
        questions=alone,
        suggested=rows,
    )
