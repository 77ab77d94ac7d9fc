"""Questions from templates: which document fills which, so that the set has its target shares."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import floor
from random import Random
from typing import Any, Literal

from kragx.data.corpus import as_corpus
from kragx.data.gold import Query
from kragx.data.validation import TOLERANCE, target_problems
from kragx.data.words import words
from kragx.errors import UsageError, check_whole, installing, nearest
from kragx.printing import phrase
from kragx.workshop.questions.filling import Filling, fillings
from kragx.workshop.questions.leak import content_words, has_kiwi, leak
from kragx.workshop.questions.question import NewQuestion, Questions
from kragx.workshop.questions.templates import (
    Language,
    Template,
    check_ids,
    own_templates,
)

TARGETS: Mapping[str, Mapping[str, float]] = {
    "query_type": {"general_inquiry": 0.5, "legal_interpretation": 0.25, "similar_case": 0.25},
    "difficulty": {"easy": 0.4, "medium": 0.4, "hard": 0.2},
}
"""The shares that a set should have where nobody says others."""

ALIKE = 0.8
"""Questions of which one has all content words of the other, and at most this much is the larger
one's share of them, are told apart; above it they are one question asked twice."""

_FEWEST_DOCUMENTS = 500
_DOCUMENTS_A_QUESTION = 2
_MOST_TRIES = 100  # to fill a template with what makes a new question

_Cell = tuple[str, str]  # query_type and difficulty
_Values = dict[str, Any]  # what a template is filled with, by name


def make_questions(
    corpus: object,
    templates: Sequence[Template] | None = None,
    n: int = 100,
    *,
    language: Language | Literal["auto"] = "auto",
    existing: Iterable[Query] = (),
    targets: Mapping[str, Mapping[str, float]] | None = None,
    most_per_template: int = 3,
    most_leak: float | None = None,
    seed: int = 0,
) -> Questions:
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
    docs = [*as_corpus(corpus).docs.values()]
    docs = rng.sample(docs, min(len(docs), max(_FEWEST_DOCUMENTS, _DOCUMENTS_A_QUESTION * n)))
    filled = [filling for filling in fillings(docs) if language in ("auto", filling.language)]
    if templates is None:
        languages = sorted({filling.language for filling in filled}) or ["en"]
        templates = [template for name in languages for template in own_templates(name)]
    check_ids(templates)
    existing = [*existing]
    maker = _Maker(filled, templates, existing, most_per_template, most_leak, rng)
    kinds = [(query.query_type, query.metadata.get("difficulty")) for query in existing]
    quotas = _Quotas(shares, maker.cells, kinds, n)
    questions: list[NewQuestion] = []
    while len(questions) < n and (cell := quotas.next()) is not None:
        question = maker.question(cell)
        if question is None:
            quotas.close(cell)
        else:
            quotas.count(cell)
            questions.append(question)
    notes = [*maker.notes(n - len(questions)), *unmet_notes(quotas.shares, quotas.counts)]
    if not filled:
        notes = [phrase("no document is in the language {language!r}", language=language)]
    if not has_kiwi() and any(filling.language == "ko" for filling in filled):
        notes.append(
            phrase(
                "without Kiwi, Korean noun phrases are single words that stand with several "
                "particles, and word leak counts words without their endings; {install}",
                install=installing("korean"),
            )
        )
    return Questions(tuple(questions), n, quotas.shares, quotas.counts, len(existing), tuple(notes))


def check_shares(**shares: float | None) -> None:
    """Raise a `UsageError` for what is no share, by its name; None is none that is wrong."""
    for name, share in shares.items():
        if share is not None and not 0 <= share <= 1:
            raise UsageError(f"{share:g} is no share", field=name, remedy="write 0.6 for 60%")


def target_shares(
    targets: Mapping[str, Mapping[str, float]] | None,
) -> dict[str, Mapping[str, float]]:
    """Target shares, `TARGETS` for what they do not name.

    Raises:
        UsageError: they are none, or of something else.
    """
    shares = {**TARGETS, **(targets or {})}
    for problem in target_problems(shares):
        raise UsageError(f"targets.{problem}")
    if unknown := shares.keys() - TARGETS.keys():
        raise UsageError(
            f"unknown key {min(unknown)!r}", field="targets", remedy=nearest("", TARGETS)
        )
    return shares


def unmet(
    targets: Mapping[str, Mapping[str, float]], counts: Mapping[str, Mapping[str, int]]
) -> Iterator[tuple[str, str, float, float]]:
    """Yield what is further from its target than validation lets pass: of what, share, target."""
    for name, shares in targets.items():
        whole = sum(counts[name].values())
        for value, target in shares.items():
            count = counts[name].get(value, 0)
            share = count / whole if whole else 0.0
            if abs(share - target) > TOLERANCE and abs(count - target * whole) >= 1:
                yield name, value, share, target


def unmet_notes(
    targets: Mapping[str, Mapping[str, float]], counts: Mapping[str, Mapping[str, int]]
) -> list[str]:
    """A line for each share that is `unmet`."""
    return [
        phrase(
            "{name}: {share:.0%} of the questions, the target is {target:.0%}",
            name=f"{name}.{value}",
            share=share,
            target=target,
        )
        for name, value, share, target in unmet(targets, counts)
    ]


class _Quotas:
    """Which kind of question is wanted next, so that types and difficulties have their shares.

    The numbers of each type, and of each difficulty, are those of the largest remainders; within
    them every pair of a type and a difficulty comes as near to the product of its shares as it can.
    Kinds of which no more can be made are passed over, and others take their places.
    """

    def __init__(
        self,
        targets: Mapping[str, Mapping[str, float]],
        cells: Iterable[_Cell],
        existing: Sequence[tuple[Any, Any]],
        n: int,
    ) -> None:
        self._open = {*cells}
        by_axis = [sorted({cell[axis] for cell in self._open}) for axis in (0, 1)]
        self.shares = {
            name: _shares(targets[name], values) for name, values in zip(TARGETS, by_axis)
        }
        self.counts = {
            name: Counter(str(kind[axis]) for kind in existing if kind[axis] is not None)
            for axis, name in enumerate(TARGETS)
        }
        self._cells = Counter(existing)
        # What nobody has given a kind counts towards none.
        self._whole = n + sum(None not in kind for kind in existing)
        self._quotas = [
            _largest_remainders(shares, n + counts.total())
            for shares, counts in zip(self.shares.values(), self.counts.values())
        ]

    def next(self) -> _Cell | None:
        """The kind that is wanted most; None if no kind is left."""
        return min(self._open, key=self._rank, default=None)

    def _rank(self, cell: _Cell) -> tuple[object, ...]:
        remaining = [
            quota.get(value, 0) - counts[value]
            for quota, counts, value in zip(self._quotas, self.counts.values(), cell)
        ]
        wanted = float(self._whole)
        for shares, value in zip(self.shares.values(), cell):
            wanted *= shares.get(value, 0.0)
        is_over = [n <= 0 for n in remaining]
        return any(is_over), *is_over, self._cells[cell] - wanted, cell

    def count(self, cell: _Cell) -> None:
        """One more of a kind."""
        self._cells[cell] += 1
        for counts, value in zip(self.counts.values(), cell):
            counts[value] += 1

    def close(self, cell: _Cell) -> None:
        """No more of a kind can be made."""
        self._open.discard(cell)


def _shares(targets: Mapping[str, float], values: Sequence[str]) -> dict[str, float]:
    """The target shares; equal ones where these name none of the values that templates have."""
    if values and not any(targets.get(value) for value in values):
        return dict.fromkeys(values, 1 / len(values))
    return dict(targets)


def _largest_remainders(shares: Mapping[str, float], n: int) -> dict[str, int]:
    """Whole numbers near to `n` times each share, which add up to n if the shares do to 1."""
    exact = {value: share * n for value, share in shares.items()}
    quotas = {value: floor(number + 1e-9) for value, number in exact.items()}
    n_left = round(sum(exact.values())) - sum(quotas.values())
    for value in sorted(exact, key=lambda value: (quotas[value] - exact[value], value))[:n_left]:
        quotas[value] += 1
    return quotas


class _Maker:
    """Fills templates, those and the documents first that were used least."""

    def __init__(
        self,
        filled: Sequence[Filling],
        templates: Sequence[Template],
        existing: Sequence[Query],
        most: int,
        most_leak: float | None,
        rng: Random,
    ) -> None:
        self._filled = filled  # in random order, as they were drawn
        self._templates = rng.sample(templates, len(templates))
        self._most, self._most_leak = most, most_leak
        self._known = Asked(query.text or "" for query in existing)
        made_by = (query.metadata.get("made_by") for query in existing)
        self._uses = Counter(made.get("template") for made in made_by if isinstance(made, Mapping))
        self._uses_of_documents = Counter[str | None]()
        for query in existing:
            sources = query.metadata.get("sources")
            self._uses_of_documents.update(sources if isinstance(sources, list | tuple) else ())
        self._done: set[str] = set()  # templates that make no more
        self._filled_once: set[str] = set()
        self._partners: dict[int, Filling | None] = {}
        self._n_leaking = self._n_known = 0
        self._fits = {template.id: self._fitting(template) for template in templates}

    @property
    def cells(self) -> set[_Cell]:
        """The kinds of questions that there are templates for."""
        return {
            (template.query_type, template.difficulty)
            for template in self._templates
            if self._fits[template.id]
        }

    def question(self, cell: _Cell) -> NewQuestion | None:
        """A new question of a kind; None if no more can be made."""
        open_ = [
            template
            for template in self._templates
            if (template.query_type, template.difficulty) == cell
            and template.id not in self._done
            and self._uses[template.id] < self._most
        ]
        for template in sorted(open_, key=lambda template: self._uses[template.id]):
            question = self._of(template)
            if question is not None:
                self._uses[template.id] += 1
                self._uses_of_documents.update(question.sources)
                self._known.add(question.text)
                return question
            self._done.add(template.id)
        return None

    def _fitting(self, template: Template) -> list[int]:
        return [
            number
            for number, filling in enumerate(self._filled)
            if template.language in (None, filling.language)
            and template.names <= filling.names | {"other"}
        ]

    def _of(self, template: Template) -> NewQuestion | None:
        wording = self._uses[template.id] % len(template.patterns)
        for one, other, values in islice(self._tries(template), _MOST_TRIES):
            text = template.render(values, wording)
            if text is not None:
                self._filled_once.add(template.id)
                question = self._new(text, template, one, other)
                if question is not None:
                    return question
        return None

    def _tries(self, template: Template) -> Iterator[tuple[Filling, Filling | None, _Values]]:
        """What a template can be filled with, documents that were used least first."""
        uses = self._uses_of_documents
        for number in sorted(
            self._fits[template.id], key=lambda number: uses[self._filled[number].doc.id]
        ):
            filling, partner = self._filled[number], None
            if template.n_sources > 1:
                partner = self._partner(number)
                if partner is None:
                    continue
            fillings = _values(filling, partner, uses[filling.doc.id])
            for values in fillings if "noun" in template.names else fillings[:1]:
                yield filling, partner, values

    def _new(
        self, text: str, template: Template, one: Filling, other: Filling | None
    ) -> NewQuestion | None:
        sources = [one.doc, *([] if other is None else [other.doc])]
        if text in self._known:
            self._n_known += 1
            return None
        share = leak(text, [doc.text or "" for doc in sources])
        if self._most_leak is not None and share is not None and share > self._most_leak:
            self._n_leaking += 1
            return None
        return NewQuestion(
            text,
            template.query_type,
            template.difficulty,
            tuple(doc.id or "" for doc in sources),
            {"template": template.id},
            share,
        )

    def _partner(self, number: int) -> Filling | None:
        """The document that shares most with one: noun phrases, then values of the metadata."""
        if number not in self._partners:
            filling = self._filled[number]
            nouns, values = {*filling.nouns}, {*filling.values.items()}
            partners = [
                partner
                for partner in self._filled
                if partner is not filling
                and partner.language == filling.language
                and {*partner.nouns} != nouns
            ]
            self._partners[number] = max(
                partners,
                key=lambda partner: (
                    len(nouns.intersection(partner.nouns)),
                    len(values & partner.values.items()),
                ),
                default=None,
            )
        return self._partners[number]

    def notes(self, n_missing: int) -> list[str]:
        """Templates that no document fills, and why questions are missing."""
        notes: list[str] = []
        languages = {filling.language for filling in self._filled}
        foreign = [
            template for template in self._templates if template.language not in (None, *languages)
        ]
        if foreign:
            n = len(foreign)
            notes.append(phrase("{n} templates are for documents of another language", n=n))
        names = frozenset(("other",)).union(*(filling.names for filling in self._filled))
        if unknown := sorted(
            {name for template in self._templates for name in template.names - names}
        ):
            n = sum(not template.names <= names for template in self._templates)
            shown = ", ".join(map(repr, unknown[:5]))
            notes.append(
                phrase("{n} templates fit no document: none has {names}", n=n, names=shown)
            )
        finished = self._done - self._filled_once
        if empty := sorted(template for template in finished if self._fits[template]):
            notes.append(
                phrase(
                    "{n} templates show what no document has: {names}",
                    n=len(empty),
                    names=", ".join(empty[:5]),
                )
            )
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
                    n_known=self._n_known,
                    n_leaking=self._n_leaking,
                )
            )
        return notes


def _values(one: Filling, other: Filling | None, start: int) -> list[_Values]:
    """What a template is filled with: once for each noun phrase, another one first each time."""
    values = {**one.values, "metadata": dict(one.values)}
    nouns = [noun for noun in one.nouns if other is None or noun not in other.nouns]
    if other is not None:
        theirs = [noun for noun in other.nouns if noun not in one.nouns]
        others: dict[str, Any] = {**other.values, "metadata": dict(other.values), "nouns": theirs}
        values["other"] = others | ({"noun": theirs[start % len(theirs)]} if theirs else {})
    if not nouns:
        return [values]
    first = start % len(nouns)
    order = [*nouns[first:], *nouns[:first]]
    return [{**values, "noun": noun, "nouns": order} for noun in order]


class Asked:
    """Questions that are there, to tell whether another one is new."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts: set[str] = set()
        self._words: list[frozenset[str]] = []
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """One more question."""
        self._texts.add(" ".join(words(text)))
        self._words.append(content_words(text))

    def __contains__(self, text: object) -> bool:
        """Whether a question is there: in the same words, or in content words that are nearly all.

        Marks, case and Unicode's forms do not matter. Two that differ in what they are about, as
        those made of one template do, are two.
        """
        if " ".join(words(str(text))) in self._texts:
            return True
        own = content_words(str(text))
        return bool(own) and any(
            (own <= word or word <= own) and len(own & word) >= ALIKE * len(own | word)
            for word in self._words
        )
