"""Where people differ, side by side, and what the owner decides."""

from dataclasses import dataclass, replace
from typing import Literal

from kragx.workshop.pairs.candidates import conflicts
from kragx.workshop.pairs.standing import verdicts
from kragx.workshop.services.context import (
    Context,
    Id,
    Plain,
    Uid,
    Words,
    get,
    plain_judgement,
    post,
)
from kragx.workshop.services.judging import Spans, judgement_of
from kragx.workshop.state.records import Person
from kragx.workshop.state.state import Pair


@dataclass(frozen=True)
class Conflicts:
    """Pairs that are to be decided."""

    context: Context

    @get("conflicts", owner=True)
    def listed(self) -> Plain:
        """The pairs on which people differ and nobody has decided."""
        with self.context.state.lock:
            self.context.queue.refresh()
            pairs = conflicts(self.context.queue.pools)
            return {"conflicts": [self._conflict(pair) for pair in pairs]}

    def _conflict(self, pair: Pair) -> Plain:
        context, (uid, document) = self.context, pair
        question, people = context.state.questions[uid], context.state.people
        judgements = verdicts(context.state, uid, context.copies.all(document))
        rows: list[Plain] = []
        for person, judgement in judgements.items():
            # In the words of the text that the person was shown, which may be a copy's.
            doc = context.documents.get(judgement.document)
            text = "" if doc is None else doc.text or ""
            evidence = [words for start, end in judgement.spans if (words := text[start:end])]
            who = {"uid": person, "name": people[person].name}
            shown = plain_judgement(judgement, document)
            rows.append({"person": who, **shown, "evidence": evidence})
        return {
            "question": {"uid": uid, "text": question.text, "note": question.note},
            "document": context.document(document),
            "judgements": rows,
        }

    @post("decisions", owner=True)
    def decide(
        self,
        person: Person,
        uid: Uid,
        question: Id,
        document: Id,
        kind: Literal["grade", "unusable"] = "grade",
        grade: int | None = None,
        spans: Spans = (),
        note: Words = "",
    ) -> Plain:
        """Store what settles a conflict; then those that are left."""
        with self.context.state.lock:
            fields = uid, question, document, kind, grade, spans, note
            judgement = judgement_of(self.context, person, *fields)
            self.context.store(replace(judgement, is_decision=True, purpose="conflict"))
            # Under the same lock, so that no other decision comes between.
            return {"stored": True, **self.listed()}
