"""Probes: questions that try to pull what somebody else's documents say.

A question of one tenant about what stands in another's document: whoever retrieves that document
for it leaks. Made from the documents alone, so blind of any retriever.
"""

import hashlib
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice
from random import Random
from typing import Any, ClassVar

from kragx.data import Forbidden
from kragx.data.corpus import as_corpus
from kragx.data.documents import Doc, value_at
from kragx.data.formats.jsonl import to_json
from kragx.data.gold import GoldDataset, Query
from kragx.data.text import normalise
from kragx.ground.errors import UsageError, check_whole, nearest, shorten
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Line, Part, Result, message, visible
from kragx.workshop.folder.places import place_of
from kragx.workshop.questions.documents import Filling, fillings, sampled
from kragx.workshop.questions.templates import own_templates

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
        queries: the probes.
    """

    by: str
    n_wanted: int
    n_documents: int
    n_without: int
    n_values: int
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
            message(
                "{n} of {of} probes: {n_values} values of {by} in {n_documents} documents",
                n=self.n_probes,
                of=self.n_wanted,
                n_values=self.n_values,
                by=visible(self.by),
                n_documents=self.n_documents,
            )
        )
        if self.n_without:
            text = message(
                "documents without {by}: {n}; nobody is kept from them",
                n=self.n_without,
                by=visible(self.by),
            )
            yield Line(text, "yellow")
        if n_missing := self.n_wanted - self.n_probes:
            text = message(
                "{n} probes could not be made: every document that has a heading or a noun phrase "
                "is probed",
                n=n_missing,
            )
            yield Line(text, "yellow")
        yield Line(
            message(
                "A document is probed once: two questions about it would fail together. They are "
                "of type 'probe', have no gold, and say nothing of how often people would ask so."
            )
        )


def make_probes(
    corpus: object,
    by: str,
    n: int = 400,
    *,
    seed: int = 0,
) -> ProbeSet:
    """Make questions of one tenant about what another one's documents say.

    Each is asked by somebody who has none of a document's values, about its heading or the noun
    phrase that tells most of it. Forbidden are all documents with that phrase that the asker has no
    part in. Tenants take turns, as owners and as askers.
    A document is probed once, and so are chunks of one source and copies.

    Args:
        corpus: as of `kragx.evaluate`.
        by: the path in the metadata that says whose a document is, as ``metadata.tenant``; a list
            there says that it is everybody's in it.
        n: how many.
        seed: of what is random. The same seed and corpus give the same probes.

    Raises:
        UsageError: no document has the field, or all have the same value there.
        DataError: the corpus cannot be read, or a document has no id.
    """
    check_whole("n", n)
    docs = [*as_corpus(corpus).docs.values()]
    source = _ProbeDrafts(docs, by, n, Random(seed))
    queries = tuple(islice(source.queries(), n))
    n_owned = len(source.owners)
    return ProbeSet(by, n, n_owned, len(docs) - n_owned, len(source.values), queries)


class _ProbeDrafts:
    """Makes probes, owners in turn, and askers that have asked least first.

    Attributes:
        owners: by document the keys of its values; without those that have none.
        values: by key the value: ``1`` and ``"1"`` are two.
    """

    def __init__(self, docs: Sequence[Doc], by: str, n: int, rng: Random) -> None:
        self._by, self._rng = by, rng
        self.values: dict[str, Any] = {}
        self.owners: dict[str, frozenset[str]] = {}
        # What the documents that say whose they are say, titles too, in one case and Unicode form.
        self._folded: dict[str, str] = {}
        for doc in docs:
            value = value_at(doc.metadata, by)
            members = value if isinstance(value, list | tuple) else [value]
            keys = {to_json(member): member for member in members if member not in (None, "")}
            if keys:
                self.values |= keys
                self.owners[doc.id or ""] = frozenset(keys)
                titles = (title for title in doc.metadata.values() if isinstance(title, str))
                text = " \n".join([*titles, doc.text or ""])
                self._folded[doc.id or ""] = normalise(text, casefold=True)
        self._check(docs)
        filled = fillings(sampled([*filter(self._askers, docs)], _DOCUMENTS_A_PROBE * n, rng))
        self._of_owner: defaultdict[str, list[Filling]] = defaultdict(list)
        for filling in filled:
            self._of_owner[min(self.owners[filling.doc.id or ""])].append(filling)
        self._asks: Counter[str] = Counter()
        self._done: set[str] = set()  # sources, texts and probes

    def _check(self, docs: Sequence[Doc]) -> None:
        """Raise a `UsageError` where the field tells nobody apart."""
        if not self.owners:
            names = sorted({f"metadata.{name}" for doc in docs for name in doc.metadata})
            raise UsageError(
                "no document has {by!r}",
                field="by",
                remedy=nearest(self._by, names)
                if names
                else "give the documents metadata that say it",
                by=self._by,
            )
        if len(self.values) == 1:
            value = shorten(*self.values.values())
            raise UsageError(
                "all documents that have {by!r} have the same there, {value}",
                field="by",
                remedy="name a field with two values or more: who asks, and who is kept apart",
                by=self._by,
                value=value,
            )

    def _askers(self, doc: Doc) -> list[str]:
        """Those whose document it is not; none for one of which nobody is kept from."""
        owners = self.owners.get(doc.id or "", self.values)
        return [key for key in self.values if key not in owners]

    def queries(self) -> Iterator[Query]:
        """Yield probes until there are no more."""
        # Owners take turns: one with many documents would else be probed alone.
        turns = deque(iter(filled) for filled in self._of_owner.values())
        while turns:
            query = next(filter(None, map(self._query, turns[0])), None)
            if query is None:
                turns.popleft()
            else:
                turns.rotate(-1)
                yield query

    def _query(self, filling: Filling) -> Query | None:
        """The probe of a document; None where it says nothing to ask about, or was probed."""
        doc = filling.doc
        unit, _ = place_of(doc)
        marks = {f"source {unit}", f"text {normalise(doc.text or '', casefold=True)}"}
        # Shuffled, so that of those who have asked equally often not always the first one asks.
        askers = self._askers(doc)
        self._rng.shuffle(askers)
        asker = min(askers, key=lambda key: self._asks[key])
        topics = [("noun", noun) for noun in filling.nouns[:1]]
        topics += [("heading", text) for text in [filling.values.get("heading")] if text]
        if not topics or not self._done.isdisjoint(marks):
            return None
        name, words = self._rng.choice(topics)
        fitting = [
            template
            for template in own_templates(filling.language)
            if template.cell == _TEMPLATES and template.names == {name}
        ]
        template = self._rng.choice(fitting)
        text = template.render({name: words})
        digest = hashlib.sha256(f"{asker}\x1f{text}".encode()).hexdigest()[:12]
        if text is None or digest in self._done:
            return None
        self._done |= {*marks, digest}
        self._asks[asker] += 1
        path = self._by.removeprefix("metadata.").split(".")
        tenant = reduce(lambda value, name: {name: value}, reversed(path), self.values[asker])
        made_by = {"probe": self._by, "template": template.id}
        forbidden = dict.fromkeys([doc.id or "", *self._holding(words, asker)])
        return Query(
            f"probe-{digest}",
            text,
            query_type=PROBE,
            metadata={**tenant, "probe": unit, "made_by": made_by},
            forbidden=tuple(Forbidden(id=doc_id, why=path[-1]) for doc_id in forbidden),
        )

    def _holding(self, words: str, asker: str) -> Iterator[str]:
        """Yield the documents in which some words stand, and that are not the asker's."""
        needle = normalise(words, casefold=True)
        # Behind a Korean word stand particles; before it, and around any other, a boundary.
        pattern = re.compile(rf"(?<!\w){re.escape(needle)}(?![^\W가-힣])")
        for doc_id, text in self._folded.items():
            if asker not in self.owners[doc_id] and needle in text and pattern.search(text):
                yield doc_id
