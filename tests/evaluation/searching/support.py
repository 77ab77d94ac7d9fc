"""Questions with several searches, and the lists that metrics are about, in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from kragx import Doc, Gold, GoldDataset, Query, Retrieved, Run, Search, evaluate
from kragx.matchers import BaseMatcher

METRICS = ("ndcg@2", "recall@2", "precision@3", "mrr", "map@3", "f1@2", "hit_rate@1")
LISTS = [
    ("retrieved", "turns"),
    ("first", "turns"),
    ("last", "turns"),
    ("all", "turns"),
    ("all", "chain"),
    ("read", "turns"),
]
TEXTS = ("red", "green", "blue", "white", "black")


@dataclass(frozen=True)
class Agent:
    """What somebody who searches got for one question.

    Attributes:
        searches: in order.
        retrieved: what it handed on in the end; None where nobody says.
        error: why it failed.
        missing: whether the run lacks the question.
    """

    searches: tuple[Search, ...] = ()
    retrieved: tuple[Doc, ...] | None = None
    error: str | None = None
    missing: bool = False

    @property
    def answer(self) -> Retrieved:
        """The same as a run has it."""
        docs, has_list = self.retrieved or (), self.retrieved is not None
        return Retrieved(docs, error=self.error, searches=self.searches, has_list=has_list)

    @property
    def measured(self) -> list[tuple[Doc, ...]]:
        """What searches gave, as far as that is known."""
        searches = sorted(self.searches, key=lambda search: search.step or 0)
        return [s.documents for s in searches if s.documents is not None and s.error is None]

    def listed(self, name: str, order: str = "turns") -> list[Doc] | None:
        """A list, the slow way; None where nobody knows it."""
        if self.error is not None or self.missing:
            return []
        has_list, failed = self.retrieved is not None, [s.error is not None for s in self.searches]
        if name == "retrieved" and has_list:
            return [*self.retrieved]
        if self.searches and all(failed):
            return (self._of_searches(name, order) if name == "read" else None) or []
        if not self.searches:
            docs = list(self.retrieved or ())
            nobody_says = name == "read" and has_list
            return None if nobody_says else distinct(docs) if name == "all" else docs
        return None if name == "retrieved" else self._of_searches(name, order)

    def _of_searches(self, name: str, order: str) -> list[Doc] | None:
        measured = self.measured
        if name == "read":
            return self._read(sorted(self.searches, key=lambda search: search.step or 0))
        if not measured:
            return None
        if name in ("first", "last"):
            return [*measured[0 if name == "first" else -1]]
        ranks = max(map(len, measured))
        by_turns = [docs[rank] for rank in range(ranks) for docs in measured if rank < len(docs)]
        in_chain = [doc for docs in measured for doc in docs]
        return distinct(by_turns if order == "turns" else in_chain)

    def _read(self, searches: list[Search]) -> list[Doc] | None:
        said = [search.read for search in searches if search.read is not None]
        if not said:
            return None
        known = list(self.retrieved or ())
        for search in searches:
            known += search.documents or () if search.error is None else ()
        read = []
        for entry in [entry for entries in said for entry in entries]:
            found = next((doc for doc in known if entry == doc.id), None)
            read.append(found or Doc(entry, None))
        return [doc for at, doc in enumerate(read) if doc not in read[:at]]


def distinct(docs: list[Doc]) -> list[Doc]:
    """Documents without repeats: the same by id, or without one by text."""
    kept: list[Doc] = []
    for doc in docs:
        names = [entry.id or ("text", entry.text) for entry in kept]
        if (doc.id or ("text", doc.text)) not in names:
            kept.append(doc)
    return kept


docs = st.builds(
    Doc, st.sampled_from([None, "a", "b", "c"]), st.sampled_from(TEXTS), st.just({}), st.just(None)
)
lists = st.lists(docs, max_size=4).map(tuple)


@st.composite
def searches(draw: Any) -> tuple[Search, ...]:
    """Searches one after the other, or side by side; some without documents, some that failed."""
    n = draw(st.integers(0, 4))
    steps = [None] * n
    if draw(st.booleans()):
        steps = sorted(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    reads = st.none() | st.lists(st.sampled_from(["a", "b", "c", "z"]), max_size=2).map(tuple)
    return tuple(
        Search(
            f"search {number}",
            draw(st.none() | lists) if not (failed := draw(st.integers(0, 4)) == 0) else None,
            step=step,
            error="Boom: no" if failed else None,
            read=draw(reads),
        )
        for number, step in enumerate(steps)
    )


agents = st.builds(
    Agent,
    searches(),
    st.none() | lists,
    st.sampled_from([None, None, None, "Boom: no"]),
    st.sampled_from([False, False, False, True]),
)
golds = st.lists(st.sampled_from(TEXTS), max_size=3, unique=True)
FINDS = Doc("a", "red")
ALL_KNOWN = ["red"], Agent((Search("s", (FINDS,), read=("a",)),), (FINDS,))
"""A question all of whose lists are known, as a run that fails on every question has no values."""

questions = st.lists(st.tuples(golds, agents), min_size=1, max_size=5).map(
    lambda of: [*of, ALL_KNOWN]
)
"""Some questions, with what somebody who searches got for them."""


def data(*of: tuple[list[str], Agent]) -> tuple[GoldDataset, Run]:
    """Questions with their gold, and what was got for them."""
    queries = tuple(
        Query(f"q{number}", gold=tuple(Gold(text=text) for text in texts))
        for number, (texts, _) in enumerate(of)
    )
    answers = {f"q{n}": agent.answer for n, (_, agent) in enumerate(of) if not agent.missing}
    return GoldDataset(queries), Run(answers)


@dataclass(frozen=True)
class Colours(BaseMatcher):
    """Matches the same text; counts the pairs that it is asked for."""

    name = "colours"
    asked: list[int] = field(default_factory=list)
    unknown: str = ""

    def scores(self, items: Any, notes: Any) -> Any:
        """1 for the same text; not known of one of them."""
        for item in items:
            n_docs, n_targets = item.shape
            self.asked.append(n_docs * n_targets)
            rows = [
                [
                    float("nan") if doc.text == self.unknown else float(doc.text == target.text)
                    for target in item.targets
                ]
                for doc in item.docs
            ]
            yield np.array(rows, float).reshape(n_docs, n_targets)


@dataclass(frozen=True)
class Unsure(Colours):
    """The same that may not know some."""

    name = "unsure"
    may_not_know = True


def plain(
    of: list[tuple[list[str], Agent]], name: str, order: str, **options: Any
) -> dict[str, dict[str, float | None]]:
    """The values of questions whose list is known, in a run that has these lists alone."""
    lists = {f"q{number}": agent.listed(name, order) for number, (_, agent) in enumerate(of)}
    known = [query_id for query_id, docs in lists.items() if docs is not None]
    alone = [
        (texts, replace(agent, searches=(), retrieved=tuple(docs)))
        for (texts, agent), docs in zip(of, lists.values())
        if docs is not None
    ]
    values = evaluate(*data(*alone), **options).queries  # a profile may leave out missing ones
    return {known[int(query_id[1:])]: row for query_id, row in values.items()}
