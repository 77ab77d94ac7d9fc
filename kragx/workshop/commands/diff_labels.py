"""`kragx diff --workshop`: people label what came or went, until the difference is decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from kragx.agreement.change.draw import LabelledMetric, Lot, draw_lot
from kragx.agreement.change.estimate import LabelledDifference, Ledger
from kragx.comparison.lists import ListDiff
from kragx.data import Doc, Query
from kragx.data.formats.jsonl import make_folder, read_records
from kragx.ground.errors import UsageError
from kragx.ground.printing import message, say
from kragx.workshop.commands.workshop import serve
from kragx.workshop.folder.folder import FILE, Workshop
from kragx.workshop.folder.starting import CORPUS, question_of, start
from kragx.workshop.pairs.standing import Copies, Standing, relevant_from, standing
from kragx.workshop.state.records import StoredRecord, SuggestedDocument
from kragx.workshop.state.state import State

LOT = "lot.jsonl"
_NOW_AND_THEN = 10  # questions


def lot_workshop(folder: Path, lot: Lot, documents: Mapping[str, Doc]) -> None:
    """Make the workshop of a lot, or see that a folder is that of this one.

    Raises:
        UsageError: it is another's.
    """
    if (folder / LOT).is_file():
        _, recorded = next(read_records(folder / LOT), (1, {}))
        # Of another order the labels would be no random part, and the interval would be wrong.
        if recorded != lot.record:
            remedy = message("give the lists, questions, metric and seed that it was drawn with")
            raise UsageError("is the workshop of another lot", field=str(folder), remedy=remedy)
        if (folder / FILE).exists():
            return
    elif there := next((name for name in (FILE, CORPUS) if (folder / name).exists()), None):
        problem = message("holds {there} and no lot, so it is something else", there=there)
        raise UsageError(problem, field=str(folder), remedy="name another folder")
    make_folder(folder)
    # The lot comes first and the workshop last: what was ended between them is made anew.
    lot.write(folder / LOT)
    start(folder, corpus=documents)


class LotFeed:
    """Opens the questions of a lot in their order, as far as labels are needed.

    Args:
        lot: the questions in the order drawn.
        queries: their words, by id.
        state: of the workshop.
        copies: of its documents.
        top: the highest grade of its scale.
        margin: within which versions are the same; None where none is named.
        tell: is told once that no more is asked, and why.
    """

    def __init__(
        self,
        lot: Lot,
        queries: Mapping[str, Query],
        state: State,
        copies: Copies,
        top: int,
        margin: float | None = None,
        tell: Callable[[str], object] = str,
    ) -> None:
        self._lot, self._queries, self._state, self._copies = lot, queries, state, copies
        self._relevant_from, self._margin, self._tell = relevant_from(top), margin, tell
        self._places = {question.query_id: n for n, question in enumerate(lot.questions)}
        self._ledger, self._position = Ledger(lot), 0
        # Whoever comes back although it was hopeless goes on to the end.
        self._goes_on = self.difference().verdict == "hopeless"
        self._is_lost = False

    def difference(self) -> LabelledDifference:
        """What is known by now."""
        with self._state.lock:
            self._take_in()
            opened = (self._places[uid] for uid in self._state.questions if uid in self._places)
            n_put_off = sum(self._is_put_off(place) for place in opened)
            return self._ledger.difference(self._margin, n_put_off, self._relevant_from)

    def _take_in(self) -> None:
        news, self._position = self._state.news(self._position)
        for place in (self._places[uid] for uid in news if uid in self._places):
            self._ledger.take(place, self._labels(place))

    def _is_over(self) -> bool:
        # Whether there is hope takes longer to find out than people wait for the next pair.
        looks = int(self._ledger.is_settled.sum()) % _NOW_AND_THEN == 0 and not self._goes_on
        difference = self._ledger.difference(self._margin, forecast=looks)
        self._is_lost = self._is_lost or difference.verdict == "hopeless"
        if difference.is_over:
            self._tell(difference.text)
            self._tell = str
        return difference.is_over or self._is_lost

    def feed(self) -> None:
        """Open what is to be judged next, unless it is decided."""
        with self._state.lock:
            self._take_in()
            if self._is_over():
                return
            rows: list[StoredRecord] = []
            # One for each person, so that nobody reads two questions in turns, or one in vain.
            n_people = sum(
                person.role != "file" and person.state == "here"
                for person in self._state.people.values()
            )
            n_ahead = 0
            for place in map(int, np.flatnonzero(~self._ledger.is_settled)):
                rows += self._missing(place)
                n_ahead += not self._is_put_off(place)
                if n_ahead >= n_people:
                    break
            self._state.add(rows)

    def _standing(self, place: int, document: str) -> Standing:
        uid = self._lot.questions[place].query_id
        return standing(self._state, uid, self._copies.all(document))

    def _labels(self, place: int) -> dict[str, bool]:
        """What people say by now; what is unusable, or in conflict, is not known."""
        question = self._lot.questions[place]
        documents = dict.fromkeys(question.new + question.old)
        grades = {doc: self._standing(place, doc).grade for doc in documents}
        return {doc: g >= self._relevant_from for doc, g in grades.items() if g is not None}

    def _is_put_off(self, place: int) -> bool:
        """Whether an open question waits, and nobody is to be shown any of it before others."""
        wanted = self._ledger.wanted(place)
        question = self._state.questions.get(self._lot.questions[place].query_id)
        if question is None or not wanted:
            return False
        if question.state != "open" or self._state.odd(question):
            return True
        stands = (self._standing(place, document) for document in wanted)
        return not any(now.state == "open" and not now.later for now in stands)

    def _missing(self, place: int) -> list[StoredRecord]:
        """What the workshop does not have yet of a question that is to be judged."""
        question = self._lot.questions[place]
        query, uid = self._queries[question.query_id], question.query_id
        known = self._state.candidates.get(uid, {})
        rows: list[StoredRecord] = [
            SuggestedDocument(question=uid, document=document, origin="source")
            for document in self._ledger.wanted(place)
            if document not in known
        ]
        if rows and uid not in self._state.questions:
            lot = {"order": place + 1, "chance": question.chance}
            shown = replace(query, gold=(), metadata={**query.metadata, "lot": lot})
            opened = question_of(shown, self._state.owner())
            return [opened, *rows]
        return rows


def labelled_difference(
    diff: ListDiff,
    folder: Path,
    metric: str,
    *,
    margin: float | None = None,
    seed: int = 0,
    look: bool = False,
    port: int | None = None,
    browser: bool = True,
) -> LabelledDifference:
    """Have what a metric needs labelled in a workshop, until Ctrl-C or until it is decided.

    Args:
        diff: the two versions.
        folder: of the workshop; the same lists go on in it.
        metric: whose difference is wanted.
        margin: within which versions are the same; None where none is.
        seed: of the draw.
        look: only say what is known by now.
        port: of the page.
        browser: whether it is opened.

    Raises:
        UsageError: the metric cannot be labelled, or the folder holds something else.
        DataError: a question or document has no text.
    """
    if margin is not None and not 0 < margin < 1:
        raise UsageError(
            "{margin} is no margin", field="--same", remedy="such as 0.02", margin=margin
        )
    lot, documents = draw_lot(diff, LabelledMetric.of(metric), seed=seed)
    queries = {question.query.id: question.query for question in diff.questions}
    if not lot.questions:
        return Ledger(lot).difference(margin)
    lot_workshop(folder, lot, documents)
    opened = Workshop.open(folder)
    copies, top = Copies(opened.documents), max(opened.settings.scale)

    def feed_of(state: State) -> LotFeed:
        return LotFeed(lot, queries, state, copies, top, margin, say)

    def difference() -> LabelledDifference:
        with opened.store() as store:
            return feed_of(State(store)).difference()

    now = difference()
    if look or (now.is_over and now.verdict != "hopeless"):
        return now
    serve(opened, port, browser=browser, feed=lambda state: feed_of(state).feed)
    return difference()
