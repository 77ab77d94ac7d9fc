"""Probes: questions that try to pull what somebody else's documents say.

A question of one tenant about what stands in another's document: whoever retrieves that document
for it leaks. Made from the documents alone, so blind of any retriever.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any, ClassVar, Literal

from kragx.data import Forbidden
from kragx.data.corpus import as_corpus
from kragx.data.documents import Doc, value_at
from kragx.data.formats.jsonl import to_json
from kragx.data.gold import GoldDataset, Query
from kragx.data.text import normalise
from kragx.ground.errors import UsageError, check_whole, installing, nearest, shorten
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Line, Part, Result, phrase, visible
from kragx.workshop.folder.places import known_place
from kragx.workshop.questions.filling import Filling, fillings, sampled
from kragx.workshop.questions.leak import has_kiwi
from kragx.workshop.questions.templates import Language, own_templates

PROBE = "probe"
"""The ``query_type`` of probes: nobody asked them, so they are no traffic."""

_DOCUMENTS_A_PROBE = 3  # some have neither heading nor noun phrase
_TEMPLATES = ("general_inquiry", "easy")  # they ask outright, in the words of the text


@dataclass(frozen=True)
class ProbeSet(Result):
    """Probes that were made of a corpus.

    Attributes:
        by: the path in the metadata that says whose a document is.
        n_wanted: how many there should be.
        n_documents: how many documents say whose they are.
        n_without: how many do not: nobody is kept from them.
        n_values: how many different values there are.
        notes: what could not be done, and why.
        queries: the probes.
    """

    by: str
    n_wanted: int
    n_documents: int
    n_without: int
    n_values: int
    notes: tuple[str, ...] = ()
    queries: tuple[Query, ...] = field(default=(), metadata=HIDDEN)

    also_plain: ClassVar[tuple[str, ...]] = ("n_probes",)

    @property
    def n_probes(self) -> int:
        """How many were made."""
        return len(self.queries)

    @property
    def dataset(self) -> GoldDataset:
        """The probes as a gold set, in which everything is forbidden and nothing is gold.

        Raises:
            DataError: there is none.
        """
        return GoldDataset(self.queries, name="probes")

    def describe(self) -> Iterator[Part]:
        """How many there are, what they are made of, and what they count as."""
        yield Line(
            phrase(
                "{n} of {of} probes: {n_values} values of {by} in {n_documents} documents",
                n=self.n_probes,
                of=self.n_wanted,
                n_values=self.n_values,
                by=visible(self.by),
                n_documents=self.n_documents,
            )
        )
        if self.n_without:
            text = phrase(
                "documents without {by}: {n}; nobody is kept from them",
                n=self.n_without,
                by=visible(self.by),
            )
            yield Line(text, "yellow")
        for note in self.notes:
            yield Line(note, "yellow")
        yield Line(
            phrase(
                "A document is probed once: two questions about it would fail together. They are "
                "of type 'probe', have no gold, and say nothing of how often people would ask so."
            )
        )


def make_probes(
    corpus: object,
    by: str,
    n: int = 400,
    *,
    language: Language | Literal["auto"] = "auto",
    seed: int = 0,
) -> ProbeSet:
    """Make questions of one tenant about what another one's documents say.

    Each is asked by somebody who has none of a document's values, about a heading or a noun phrase
    of it, one that the asker's own documents lack where there is one. Forbidden are all documents
    with that phrase that the asker has no part in. Tenants take turns, as owners and as askers.
    A document is probed once, and so are chunks of one source and copies.

    Args:
        corpus: as of `kragx.evaluate`.
        by: the path in the metadata that says whose a document is, as ``metadata.tenant``; a list
            there says that it is everybody's in it.
        n: how many.
        language: of the documents that are asked about.
        seed: of what is random. The same seed and corpus give the same probes.

    Raises:
        UsageError: no document has the field, or all have the same value there.
        DataError: the corpus cannot be read, or a document has no id.
    """
    check_whole("n", n)
    tenancy = Tenancy.of([*as_corpus(corpus).docs.values()], by)
    maker = _Maker(tenancy, language, Random(seed), n)
    queries = tuple(maker.queries(n))
    return ProbeSet(
        by,
        n,
        len(tenancy.owners),
        len(tenancy.docs) - len(tenancy.owners),
        len(tenancy.values),
        tuple(maker.notes(n - len(queries))),
        queries,
    )


@dataclass(frozen=True)
class Tenancy:
    """Whose the documents of a corpus are.

    Attributes:
        docs: the corpus.
        by: the path in the metadata.
        owners: by document the keys of its values; without those that have none.
        values: by key the value: ``1`` and ``"1"`` are two.
    """

    docs: Sequence[Doc]
    by: str
    owners: Mapping[str, frozenset[str]]
    values: Mapping[str, Any]

    @classmethod
    def of(cls, docs: Sequence[Doc], by: str) -> "Tenancy":
        """Read the field; a `UsageError` where it tells nobody apart."""
        values: dict[str, Any] = {}
        owners: dict[str, frozenset[str]] = {}
        for doc in docs:
            value = value_at(doc.metadata, by)
            members = value if isinstance(value, list | tuple) else [value]
            keys = {to_json(member): member for member in members if member not in (None, "")}
            if keys:
                values |= keys
                owners[doc.id or ""] = frozenset(keys)
        if not owners:
            names = sorted({f"metadata.{name}" for doc in docs for name in doc.metadata})
            remedy = nearest(by, names) if names else "give the documents metadata that say it"
            raise UsageError(f"no document has {by!r}", field="by", remedy=remedy)
        if len(values) == 1:
            raise UsageError(
                f"all documents that have {by!r} have the same there, {shorten(*values.values())}",
                field="by",
                remedy="name a field with two values or more: who asks, and who is kept apart",
            )
        return cls(docs, by, owners, values)

    def of_asker(self, key: str) -> dict[str, Any]:
        """The metadata of a question of somebody: the value where documents have it."""
        value: Any = self.values[key]
        for name in reversed(self.by.removeprefix("metadata.").split(".")):
            value = {name: value}
        return dict(value)

    @cached_property
    def folded(self) -> dict[str, str]:
        """By document what it says, its titles too, in one case and Unicode form."""
        return {
            doc.id or "": normalise(" \n".join([*map(str, _texts(doc))]), casefold=True)
            for doc in self.docs
        }

    def holding(self, words: str) -> list[str]:
        """The documents in which some words stand, that say whose they are."""
        needle = normalise(words, casefold=True)
        # Behind a Korean word stand particles; before it, and around any other, a boundary.
        pattern = re.compile(rf"(?<!\w){re.escape(needle)}(?![^\W가-힣])")
        texts = ((doc_id, self.folded[doc_id]) for doc_id in self.owners)
        return [name for name, text in texts if needle in text and pattern.search(text)]


def _texts(doc: Doc) -> Iterator[str]:
    yield from (value for value in doc.metadata.values() if isinstance(value, str))
    yield doc.text or ""


class _Maker:
    """Makes probes, owners in turn, and askers that have asked least first."""

    def __init__(
        self, tenancy: Tenancy, language: Language | Literal["auto"], rng: Random, n: int
    ) -> None:
        self._tenancy, self._rng = tenancy, rng
        docs = [doc for doc in tenancy.docs if self._askers(doc)]
        filled = fillings(sampled(docs, _DOCUMENTS_A_PROBE * n, rng))
        self._is_korean = any(filling.language == "ko" for filling in filled)
        self._of_owner: dict[str, list[Filling]] = {}
        for filling in filled:
            if language in ("auto", filling.language):
                owner = min(tenancy.owners[filling.doc.id or ""])
                self._of_owner.setdefault(owner, []).append(filling)
        self._asks: Counter[str] = Counter()
        self._done: set[str] = set()  # sources and texts that were probed
        self._uids: set[str] = set()
        self._templates = {
            language: [
                template
                for template in own_templates(language)
                if (template.query_type, template.difficulty) == _TEMPLATES
            ]
            for language in {filling.language for filling in filled}
        }

    def _askers(self, doc: Doc) -> list[str]:
        owners = self._tenancy.owners.get(doc.id or "")
        return [] if owners is None else [key for key in self._tenancy.values if key not in owners]

    def queries(self, n: int) -> Iterator[Query]:
        """Yield up to n probes."""
        waiting = [iter(filled) for filled in self._of_owner.values()]
        while waiting and n:
            for turn in [*waiting]:
                query = next(filter(None, map(self._query, turn)), None)
                if query is None:
                    waiting.remove(turn)
                elif n:
                    n -= 1
                    yield query

    def _query(self, filling: Filling) -> Query | None:
        """The probe of a document; None where it says nothing to ask about, or was probed."""
        doc = filling.doc
        place = known_place(doc)
        unit = (doc.id or "") if place is None else place[0]
        marks = {f"source {unit}", f"text {normalise(doc.text or '', casefold=True)}"}
        # Shuffled, so that of those who have asked equally often not always the first one asks.
        askers = self._askers(doc)
        self._rng.shuffle(askers)
        asker = min(askers, key=lambda key: self._asks[key])
        chosen = None if marks & self._done else self._words(filling, asker)
        if chosen is None:
            return None
        name, words, forbidden = chosen
        fitting = [
            template for template in self._templates[filling.language] if template.names == {name}
        ]
        template = self._rng.choice(fitting)
        text = template.render({name: words})
        digest = hashlib.sha256(f"{asker}\x1f{text}".encode()).hexdigest()[:12]
        if text is None or digest in self._uids:
            return None
        self._done |= marks
        self._uids.add(digest)
        self._asks[asker] += 1
        kind = self._tenancy.by.rpartition(".")[2]
        made_by = {"probe": self._tenancy.by, "template": template.id}
        return Query(
            f"probe-{digest}",
            text,
            query_type=PROBE,
            metadata={**self._tenancy.of_asker(asker), "probe": unit, "made_by": made_by},
            forbidden=tuple(Forbidden(id=doc_id, why=kind) for doc_id in forbidden),
        )

    def _words(self, filling: Filling, asker: str) -> tuple[str, str, list[str]] | None:
        """What a document is asked about, and all that is forbidden for it.

        That is the first noun phrase or heading that none of the asker's own documents has, else
        the first one.
        """
        options = [("noun", noun) for noun in filling.nouns]
        if "heading" in filling.values:
            options.insert(self._rng.randrange(2), ("heading", filling.values["heading"]))
        first = None
        for name, words in options:
            holding = self._tenancy.holding(words)
            others = [doc_id for doc_id in holding if asker not in self._tenancy.owners[doc_id]]
            chosen = name, words, [*dict.fromkeys([filling.doc.id or "", *others])]
            if len(others) == len(holding):
                return chosen
            first = first or chosen
        return first

    def notes(self, n_missing: int) -> list[str]:
        """Why probes are missing."""
        notes: list[str] = []
        if n_missing > 0:
            notes.append(
                phrase(
                    "{n} probes could not be made: every document that has a heading or a noun "
                    "phrase is probed",
                    n=n_missing,
                )
            )
        if self._is_korean and not has_kiwi():
            notes.append(
                phrase(
                    "without Kiwi, Korean documents are asked about by their headings alone; "
                    "{install}",
                    install=installing("korean"),
                )
            )
        return notes
