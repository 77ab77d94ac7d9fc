"""Questions from templates: which document fills which, so that the set has its target shares."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any, Literal

from kragx.data.corpus import as_corpus
from kragx.data.gold import Query
from kragx.ground.errors import check_whole, installing
from kragx.ground.printing import phrase
from kragx.workshop.questions.asked import Asked, uses_of
from kragx.workshop.questions.filling import Filling, fillings, sampled
from kragx.workshop.questions.leak import has_kiwi, leak
from kragx.workshop.questions.question import NewQuestion, QuestionSet
from kragx.workshop.questions.targets import (
    Cell,
    Kinds,
    Shares,
    check_shares,
    kinds_of,
    target_shares,
    unmet_notes,
)
from kragx.workshop.questions.templates import Language, Template, check_ids, own_templates

_DOCUMENTS_A_QUESTION = 2
_MOST_TRIES = 100  # to fill a template with what makes a new question


def make_questions(
    corpus: object,
    templates: Sequence[Template] | None = None,
    n: int = 100,
    *,
    language: Language | Literal["auto"] = "auto",
    existing: Iterable[Query] = (),
    targets: Shares | None = None,
    most_per_template: int = 3,
    most_leak: float | None = None,
    seed: int = 0,
) -> QuestionSet:
    """Make questions by filling templates from a corpus.

    Of a large corpus a random part is looked at: two documents a question, and at least 500.

    Args:
        corpus: as of `kragx.evaluate`.
        templates: None for kragx's own.
        n: how many questions.
        language: of the documents that templates are filled from; ``auto`` takes a document's own.
        existing: questions that are there already: none is made again, their kinds count towards
            the shares, and what was made from a template counts towards its most.
        targets: by ``query_type`` and ``difficulty`` the share that each value should have;
            `TARGETS` for what it does not name.
        most_per_template: questions of one template.
        most_leak: no question's word leak is above it (see `leak`); None for no bound.
        seed: of what is random. The same seed, corpus and templates give the same questions.

    Raises:
        UsageError: an argument is wrong.
        DataError: the corpus cannot be read.
    """
    check_whole("n", n)
    check_whole("most_per_template", most_per_template)
    check_shares(most_leak=most_leak)
    shares = target_shares(targets)
    rng = Random(seed)
    docs = sampled([*as_corpus(corpus).docs.values()], _DOCUMENTS_A_QUESTION * n, rng)
    filled = [filling for filling in fillings(docs) if language in ("auto", filling.language)]
    if templates is None:
        languages = sorted({filling.language for filling in filled}) or ["en"]
        templates = [template for name in languages for template in own_templates(name)]
    check_ids(templates)
    existing = [*existing]
    maker = _Maker(filled, templates, existing, most_per_template, most_leak, rng)
    kinds = Kinds(shares, maker.cells, kinds_of(existing))
    questions: list[NewQuestion] = []
    while len(questions) < n and (cell := kinds.next()) is not None:
        question = maker.question(cell)
        if question is None:
            kinds.close(cell)
        else:
            kinds.count(cell)
            questions.append(question)
    notes = [*maker.notes(n - len(questions)), *unmet_notes(kinds.shares, kinds.counts)]
    if not filled:
        notes = [phrase("no document is in the language {language!r}", language=language)]
    if not has_kiwi() and any(filling.language == "ko" for filling in filled):
        notes.append(
            phrase(
                "without Kiwi, Korean documents are asked about by their headings alone, and word "
                "leak counts words without their endings; {install}",
                install=installing("korean"),
            )
        )
    return QuestionSet(tuple(questions), n, kinds.shares, kinds.counts, len(existing), tuple(notes))


class _Maker:
    """Fills templates, those and the documents first that were used least."""

    def __init__(
        self,
        filled: Sequence[Filling],
        templates: Sequence[Template],
        existing: Sequence[Query],
        limit: int,
        most_leak: float | None,
        rng: Random,
    ) -> None:
        self._filled = filled  # in random order, as they were drawn
        self._templates = rng.sample(templates, len(templates))
        self._most, self._most_leak = limit, most_leak
        self._asked = Asked(query.text or "" for query in existing)
        made_by = (query.metadata.get("made_by") for query in existing)
        self._uses = Counter(
            origin.get("template") for origin in made_by if isinstance(origin, Mapping)
        )
        self._document_uses = uses_of(existing)
        self._done: set[str] = set()  # templates that make no more
        self._n_leaking = self._n_repeated = 0
        self._fits = {
            template.id: [
                number
                for number, filling in enumerate(filled)
                if template.language in (None, filling.language) and template.names <= filling.names
            ]
            for template in templates
        }
        self._filling = {name for name, numbers in self._fits.items() if numbers}

    @property
    def cells(self) -> set[Cell]:
        """The kinds of questions that there are templates for."""
        return {
            (template.query_type, template.difficulty)
            for template in self._templates
            if self._fits[template.id]
        }

    def question(self, cell: Cell) -> NewQuestion | None:
        """A new question of a kind; None if no more can be made."""
        open_ = [
            template
            for template in self._templates
            if (template.query_type, template.difficulty) == cell
            and template.id not in self._done
            and self._uses[template.id] < self._most
        ]
        for template in sorted(open_, key=lambda template: self._uses[template.id]):
            question = self._made_of(template)
            if question is not None:
                self._uses[template.id] += 1
                self._document_uses.update(question.sources)
                self._asked.add(question.text)
                return question
            # What cannot be filled with anything new will not be later, either.
            self._done.add(template.id)
        return None

    def _made_of(self, template: Template) -> NewQuestion | None:
        is_filled = False
        for filling, values in islice(self._values(template), _MOST_TRIES):
            text = template.render(values)
            if text is not None:
                is_filled = True
                question = self._new(text, template, filling)
                if question is not None:
                    return question
        if not is_filled and not self._uses[template.id]:
            self._filling.discard(template.id)
        return None

    def _values(self, template: Template) -> Iterator[tuple[Filling, dict[str, Any]]]:
        """What a template can be filled with, documents that were used least first.

        Of a document once for each noun phrase, another one first each time that it is used.
        """
        uses = self._document_uses
        numbers = self._fits[template.id]
        for number in sorted(numbers, key=lambda number: uses[self._filled[number].doc.id or ""]):
            filling = self._filled[number]
            values = {**filling.values, "metadata": dict(filling.values)}
            first = uses[filling.doc.id or ""] % max(1, len(filling.nouns))
            nouns = [*filling.nouns[first:], *filling.nouns[:first]]
            if "noun" not in template.names:
                yield filling, values | ({"noun": nouns[0], "nouns": nouns} if nouns else {})
                continue
            for noun in nouns:
                yield filling, {**values, "noun": noun, "nouns": nouns}

    def _new(self, text: str, template: Template, filling: Filling) -> NewQuestion | None:
        if text in self._asked:
            self._n_repeated += 1
            return None
        share = leak(text, [filling.doc.text or ""])
        if self._most_leak is not None and share is not None and share > self._most_leak:
            self._n_leaking += 1
            return None
        kind, made_by = (template.query_type, template.difficulty), {"template": template.id}
        return NewQuestion(text, *kind, (filling.doc.id or "",), made_by, share)

    def notes(self, n_missing: int) -> list[str]:
        """Templates that no document fills, and why questions are missing."""
        notes: list[str] = []
        if empty := [name for name in self._fits if name not in self._filling]:
            names = ", ".join(empty[:5])
            text = phrase(
                "{n} templates that no document fills: {names}", n=len(empty), names=names
            )
            notes.append(text)
        if n_missing > 0:
            n_full = sum(self._uses[template.id] >= self._most for template in self._templates)
            notes.append(
                phrase(
                    "{n} questions could not be made: {n_full} of {of} templates made {most}, the "
                    "most of each; {n_known} others asked again what there is, and {n_leaking} "
                    "copied too much",
                    n=n_missing,
                    n_full=n_full,
                    of=len(self._templates),
                    most=self._most,
                    n_known=self._n_repeated,
                    n_leaking=self._n_leaking,
                )
            )
        return notes
