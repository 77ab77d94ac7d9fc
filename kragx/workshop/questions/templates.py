"""Questions from templates: which document fills which, so that the set has its target shares.

Templates are YAML with Jinja2 patterns, our own sets or somebody's; with the Korean particle behind
a word that is filled in.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Annotated, Any

import yaml

from kragx.data.corpus import as_corpus
from kragx.data.formats.jsonl import read_text
from kragx.data.gold import Query
from kragx.data.yaml_text import Loader, yaml_problem
from kragx.ground.errors import DataError, UsageError, check_whole, inside, installing, nearest
from kragx.ground.options import (
    a_mapping,
    check_options,
    fitting,
    from_options,
    is_text,
    one_of,
    optional,
)
from kragx.ground.printing import message
from kragx.judging.template import environment
from kragx.workshop.questions.documents import Filling, Language, fillings, sampled
from kragx.workshop.questions.question import NewQuestion, QuestionSet, Sieve
from kragx.workshop.questions.targets import (
    Cell,
    Kinds,
    Shares,
    check_shares,
    kinds_of,
    target_shares,
    uses_of,
)
from kragx.workshop.questions.words import has_kiwi, leak

_LONGEST = 500
"""Characters of a question; what a template makes longer is none."""

_needed_text = fitting(is_text, "{value!r} is no text; write one")


@dataclass(frozen=True)
class Template:
    """One pattern of questions.

    Attributes:
        id: names it in the questions made from it.
        query_type: of these questions.
        difficulty: the same.
        text: the pattern, in Jinja2: ``heading``, ``noun`` and ``nouns`` of a document, its
            ``metadata`` and each field of that by its name. ``{{ noun | josa("은/는") }}`` adds the
            particle that grammar asks for. What it leaves empty is no question.
        language: of the documents that it is for; None for any.

    Raises:
        UsageError: a field is wrong; of a pattern, that it is no Jinja2.
    """

    id: Annotated[str, _needed_text]
    query_type: Annotated[str, _needed_text]
    difficulty: Annotated[str, _needed_text]
    text: Annotated[str, _needed_text]
    language: Annotated[Language | None, optional(one_of("ko", "en"))] = None

    def __post_init__(self) -> None:
        check_options(self)
        with inside("text"):
            _compiled(self.text)

    @property
    def cell(self) -> tuple[str, str]:
        """The kind of questions that it makes: their query_type and difficulty."""
        return self.query_type, self.difficulty

    @cached_property
    def names(self) -> frozenset[str]:
        """What a document must have for it: what its pattern shows."""
        return _compiled(self.text)[1] - {"metadata"}

    def render(self, values: Mapping[str, Any]) -> str | None:
        """The question that it makes of some values; None if it makes none of them.

        Args:
            values: by name; they stay text, whatever they hold.
        """
        from jinja2 import UndefinedError

        try:
            text = _compiled(self.text)[0].render(values)
        except UndefinedError:
            return None
        except Exception as error:  # whatever the expressions of a template may raise
            raise UsageError(
                "{id!r} cannot be filled: {error}", field="templates", id=self.id, error=error
            ) from None
        question = " ".join(str(text).split())
        return question if question and len(question) <= _LONGEST else None


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> tuple[Any, frozenset[str]]:
    """A pattern that can be rendered, and the names that it takes from outside."""
    from jinja2 import TemplateError, meta

    jinja = environment()  # a sandbox, as patterns may be somebody else's
    jinja.filters["josa"] = josa
    try:
        names = meta.find_undeclared_variables(jinja.parse(pattern))
        return jinja.from_string(pattern), frozenset(names - jinja.globals.keys())
    except TemplateError as error:
        raise UsageError("no Jinja2: {error}", error=error) from None


def read_templates(source: object) -> tuple[Template, ...]:
    """Templates from a YAML file, or from what such a file holds.

    It holds ``templates``, a list of the fields of `Template`, and maybe ``language``, which is
    that of those that name none.

    Raises:
        DataError: the file cannot be read.
        UsageError: what it says are no templates.
    """
    path = str(source) if isinstance(source, str | Path) else ""
    if path:
        try:
            source = yaml.load(read_text(path), Loader)
        except yaml.YAMLError as error:
            raise DataError(yaml_problem(error), path=path) from None
    with inside(path=path):
        if not isinstance(source, Mapping) or not isinstance(source.get("templates"), list):
            remedy = message("write 'templates:' and a list below it (docs/questions.md)")
            raise UsageError("holds no templates", remedy=remedy)
        if unknown := source.keys() - {"templates", "language"}:
            name = min(map(str, unknown))
            raise UsageError(
                "unknown field", field=name, remedy=nearest(name, ("templates", "language"))
            )
        shared = {"language": source["language"]} if source.get("language") else {}
        templates = []
        for number, entry in enumerate(source["templates"]):
            with inside(f"templates[{number}]"):
                templates.append(from_options(Template, {**shared, **a_mapping(entry)}))
        check_ids(templates)
    return tuple(templates)


def check_ids(templates: Sequence[Template]) -> None:
    """Raise a `UsageError` unless there are templates, each with an id of its own."""
    if not templates:
        raise UsageError("there is none; write at least one", field="templates")
    ids = [template.id for template in templates]
    for number, name in enumerate(ids):
        if name in ids[:number]:
            raise UsageError("{name!r} stands twice", field=f"templates[{number}].id", name=name)


@lru_cache
def own_templates(language: Language) -> tuple[Template, ...]:
    """The set of kragx for a language: three types of questions, each easy, medium and hard."""
    return read_templates(Path(__file__).parent / "sets" / f"{language}.yaml")


_PAIR = re.compile(r"([가-힣]+)/([가-힣]+)")
# A note in brackets at the end, or a mark: the particle goes by the sound before.
_NOT_SPOKEN = re.compile(r"\s*\([^()]*\)$|[\W_]$")
_FINAL_OF = {
    **dict(zip("0123456789", ["x", "l", "", "x", "", "", "x", "l", "l", ""])),
    **dict.fromkeys("ABCDEFGHIJKOPQSTUVWXYZ", ""),
    "L": "l",
    "R": "l",
    "M": "x",
    "N": "x",
}
"""What the names of digits (Sino-Korean) and capitals end in: a vowel, ``l`` (ㄹ), a consonant."""


def josa(word: object, particle: str) -> str:
    """A word with the form of a particle that its last sound asks for.

    >>> josa("환불", "은/는"), josa("배송", "으로/로"), josa("서울", "으로/로"), josa("A4", "이/가")
    ('환불은', '배송으로', '서울로', 'A4가')

    What stands in brackets at the end, and marks, are not spoken. Digits are read as Sino-Korean
    numbers, capitals by their names. After anything else both forms are written: ``email은(는)``.

    Args:
        word: what is filled in.
        particle: both forms, the one after a consonant first: ``은/는``.

    Raises:
        UsageError: it is no such pair.
    """
    pair = _PAIR.fullmatch(particle)
    if pair is None:
        problem = message("{particle!r} is no particle", particle=particle)
        raise UsageError(problem, field="josa", remedy="write both forms, as in 은/는")
    text, (after_consonant, after_vowel) = unicodedata.normalize("NFC", str(word)), pair.groups()
    if (final := _final(text)) is None:
        return f"{text}{after_consonant}({after_vowel})"
    takes_vowel = not final or (final == "l" and after_vowel.startswith("로"))
    return text + (after_vowel if takes_vowel else after_consonant)


def _final(text: str) -> str | None:
    """What a text's last sound is: ``""`` a vowel, ``l`` ㄹ, ``x`` a consonant; None: unknown."""
    before = ""
    while text and text != before:
        before, text = text, _NOT_SPOKEN.sub("", text)
    last = text[-1:]
    if "가" <= last <= "힣":
        number = (ord(last) - ord("가")) % 28
        return "" if not number else "l" if number == 8 else "x"
    return _FINAL_OF.get(last)


_DOCUMENTS_A_QUESTION = 2
_MOST_TRIES = 100  # to fill a template with what makes a new question


def make_questions(
    corpus: object,
    templates: Sequence[Template] | None = None,
    n: int = 100,
    *,
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
    shares, rng, existing = target_shares(targets), Random(seed), [*existing]
    docs = sampled([*as_corpus(corpus).docs.values()], _DOCUMENTS_A_QUESTION * n, rng)
    filled = fillings(docs)
    if templates is None:
        languages = sorted({filling.language for filling in filled})
        templates = [template for name in languages for template in own_templates(name)]
    check_ids(templates)
    source = _TemplateDrafts(filled, templates, existing, most_per_template, rng)
    sieve = Sieve((query.text or "" for query in existing), most_leak)
    kinds = Kinds(shares, source.cells, kinds_of(existing))
    questions: list[NewQuestion] = []
    while len(questions) < n and (cell := kinds.next()) is not None:
        if (question := source.question(cell, sieve)) is None:
            kinds.close(cell)
        else:
            kinds.count(cell)
            questions.append(question)
    notes: list[str] = []
    if n_missing := n - len(questions):
        notes.append(
            message(
                "{n} questions could not be made: a template makes {most} at most, {n_known} asked "
                "again what there is, and {n_leaking} copied too much",
                n=n_missing,
                most=most_per_template,
                n_known=sieve.fell["asked already"],
                n_leaking=sieve.fell["copies"],
            )
        )
    if not has_kiwi() and any(filling.language == "ko" for filling in filled):
        notes.append(
            message(
                "without Kiwi, Korean documents are asked about by their headings alone, and word "
                "leak counts words without their endings; {install}",
                install=installing("korean"),
            )
        )
    return QuestionSet(tuple(questions), n, kinds.shares, kinds.counts, len(existing), tuple(notes))


class _TemplateDrafts:
    """Fills templates, those and the documents first that were used least."""

    def __init__(
        self,
        filled: Sequence[Filling],
        templates: Sequence[Template],
        existing: Sequence[Query],
        limit: int,
        rng: Random,
    ) -> None:
        self._templates, self._most = rng.sample(templates, len(templates)), limit
        origins = (query.metadata.get("made_by") for query in existing)
        self._uses = Counter(
            origin.get("template") for origin in origins if isinstance(origin, Mapping)
        )
        self._document_uses = uses_of(existing)
        # In random order, as they were drawn; empty for a template that makes no more.
        self._fits = {
            template.id: [
                filling
                for filling in filled
                if template.language in (None, filling.language) and template.names <= filling.names
            ]
            for template in templates
        }

    @property
    def cells(self) -> set[Cell]:
        """The kinds of questions that there are templates for."""
        return {template.cell for template in self._templates if self._fits[template.id]}

    def question(self, cell: Cell, sieve: Sieve) -> NewQuestion | None:
        """A new question of a kind; None if no more can be made."""
        fitting = [
            template
            for template in self._templates
            if template.cell == cell
            and self._fits[template.id]
            and self._uses[template.id] < self._most
        ]
        for template in sorted(fitting, key=lambda template: self._uses[template.id]):
            if (question := sieve.first(self._drafts(template))) is not None:
                self._uses[template.id] += 1
                self._document_uses.update(question.sources)
                return question
            # What cannot be filled with anything new will not be later, either.
            self._fits[template.id] = []
        return None

    def _drafts(self, template: Template) -> Iterator[NewQuestion]:
        """What a template makes of the documents."""
        for filling, values in islice(self._values(template), _MOST_TRIES):
            if (text := template.render(values)) is not None:
                doc, made_by = filling.doc, {"template": template.id}
                share = leak(text, [doc.text or ""])
                yield NewQuestion(text, *template.cell, (doc.id or "",), made_by, share)

    def _values(self, template: Template) -> Iterator[tuple[Filling, dict[str, Any]]]:
        """What a template can be filled with, documents that were used least first.

        Of a document once for each noun phrase, another one first each time that it is used.
        """
        uses = self._document_uses
        for filling in sorted(self._fits[template.id], key=lambda row: uses[row.doc.id or ""]):
            first = uses[filling.doc.id or ""] % max(1, len(filling.nouns))
            nouns = [*filling.nouns[first:], *filling.nouns[:first]]
            values = {**filling.values, "metadata": dict(filling.values)}
            named = [values | {"noun": noun, "nouns": nouns} for noun in nouns] or [values]
            for with_noun in named if "noun" in template.names else named[:1]:
                yield filling, with_noun
