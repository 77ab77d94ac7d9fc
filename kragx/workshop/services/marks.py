"""What must not be shown for a question, as people mark it."""

from dataclasses import dataclass

from kragx.workshop.services.context import Context, Plain
from kragx.workshop.services.forms import Id, Label, RequestForm, Uid, Words, post
from kragx.workshop.state.records import Judgement, Person

FORBIDDEN = "forbidden"
"""The kind of what is forbidden without one."""


class MarkForm(RequestForm):
    """That a document must not come for a question, and as what; without that, that it may."""

    uid: Uid
    question: Id
    document: Id
    why: Label | None = None
    note: Words = ""


@dataclass(frozen=True)
class Marks:
    """Marks, beside the grades."""

    context: Context

    @post("marks")
    def mark(self, person: Person, form: MarkForm) -> Plain:
        """Store that a document must not come for a question, or that it may again.

        It is no judgement: what the person says of its relevance stays, and so do others' marks.

        Raises:
            UnknownError: there is no such question or document.
            ClashError: the question was dropped, or the uid is another judgement's.
        """
        context, state = self.context, self.context.state
        with state.lock:
            context.question(form.question)
            context.document(form.document)
            before = state.mark((form.question, form.document), person.uid)
            mark = Judgement(
                uid=form.uid,
                question=form.question,
                document=form.document,
                person=person.uid,
                kind="forbidden" if form.why else "allowed",
                why=form.why or (FORBIDDEN if before is None else before.why),
                note=form.note,
            )
            context.store(mark)
            copies = context.copies.all(form.document)
            # A mark on a copy is shown on all of them, so taking one back may leave another.
            left = state.marked_by(person.uid, form.question, copies)
        return {"stored": True, "mark": left and {"why": left.why, "note": left.note}}
