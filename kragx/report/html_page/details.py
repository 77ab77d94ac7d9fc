"""The texts behind the numbers: what was given, and what the page opens question by question."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kragx.data.documents import Doc
from kragx.data.gold import Gold, GoldDataset, Query
from kragx.data.runs import Run
from kragx.errors import UsageError
from kragx.matchers import BaseMatcher, MatchItem, MatchWarning
from kragx.report.html_page.cells import Cell, pairs
from kragx.report.html_page.decisions import Decision, Decisions
from kragx.report.html_page.packing import Texts

Reasons = Mapping[tuple[str, str, str], tuple[int | None, str]]
"""What a judge said: for (query id, document text, gold text) its grade and its reason."""

QUERIES_A_BLOCK = 32
"""How many questions a block holds."""


@dataclass(frozen=True)
class Sources:
    """The texts behind evaluations, and how much of them the page holds.

    Attributes:
        dataset: the gold set; None if it is not at hand.
        runs: what each retriever returned, by its name.
        corpus: texts or documents by id, for gold that is named by its id alone.
        reasons: what judges said, by the matcher's name.
        matchers: those that decided, by name; combinations are asked who decided what.
        max_docs: how many documents of each list are kept.
        max_chars: how many characters of each text are kept; None for all.
    """

    dataset: GoldDataset | None = None
    runs: Mapping[str, Run] = field(default_factory=dict)
    corpus: Mapping[str, str | Doc] = field(default_factory=dict)
    reasons: Mapping[str, Reasons] = field(default_factory=dict)
    matchers: Mapping[str, BaseMatcher] = field(default_factory=dict)
    max_docs: int = 50
    max_chars: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("max_docs", self.max_docs), ("max_chars", self.max_chars)):
            if value is not None and (isinstance(value, bool) or value < 1):
                raise UsageError(f"{name}: {value!r} is not a whole number of at least 1")


class Details:
    """The texts, documents and scores of queries, for the blocks that the page opens singly."""

    def __init__(
        self,
        grid: Mapping[str, Mapping[str, Cell]],
        rows: Mapping[int, Sequence[int | None]],
        texts: Texts,
        by_id: Mapping[str, str],
        sources: Sources,
    ) -> None:
        self._grid, self._rows, self._texts = grid, rows, texts
        self._by_id, self._sources = by_id, sources
        self.n_docs_left_out = 0
        self._decisions = {
            name: Decisions(matcher)
            for name, matcher in sources.matchers.items()
            if name in grid and matcher.members
        }
        self._decided = {
            id(cell): self._decided_rows(self._decisions[name], cell)
            for name, of_match in grid.items()
            for cell in of_match.values()
            if name in self._decisions and cell.answers is not None
        }

    @property
    def members(self) -> dict[str, list[list[Any]]]:
        """The members of each combination, by the matcher's name; see `Decisions.members`."""
        return {name: each.members for name, each in self._decisions.items()}

    def blocks(self, queries: Sequence[Query]) -> Iterator[list[dict[str, Any]]]:
        """Some queries at a time."""
        for start in range(0, len(queries), QUERIES_A_BLOCK):
            block = queries[start : start + QUERIES_A_BLOCK]
            yield [self._query(at, query) for at, query in enumerate(block, start=start)]

    def _query(self, at: int, query: Query) -> dict[str, Any]:
        pool = []
        for of_match in self._grid.values():
            first = next(iter(of_match.values()))
            row = self._rows[id(first)][at]
            pooled = row is not None and "pool" in first.evaluation.settings
            golds = first.golds[row] if pooled and row is not None else ()
            pool.append([self._gold(each) for each in golds] if pooled else None)
        facts = query.metadata.get("facts")
        return {
            "gold": [self._gold(each) for each in query.gold],
            "pool": pool,
            "reference": query.reference,
            "facts": facts if isinstance(facts, list) else None,
            "runs": self._runs(at),
            "pairs": [
                [self._pairs(name, cell, at) for cell in of_match.values()]
                for name, of_match in self._grid.items()
            ],
            "reasons": [
                [self._reasons(name, cell, at) for cell in of_match.values()]
                for name, of_match in self._grid.items()
            ],
            "decided": [
                [self._decided_of(cell, at) for cell in of_match.values()]
                for of_match in self._grid.values()
            ],
        }

    def _gold(self, gold: Gold) -> dict[str, Any]:
        alternatives = [
            [each.id, self._texts.number(each.text or self._by_id.get(each.id or ""))]
            for each in gold.alternatives
        ]
        plain: dict[str, Any] = {
            "id": gold.id,
            "grade": gold.grade,
            "text": self._texts.number(
                self._by_id.get(gold.id or "") if gold.text is None else gold.text
            ),
        }
        return {**plain, "alternatives": alternatives} if alternatives else plain

    def _runs(self, at: int) -> dict[str, Any]:
        """What each retriever returned; the same for every matcher, so the first one will do."""
        found: dict[str, Any] = {}
        for of_match in self._grid.values():
            for name, cell in of_match.items():
                row = self._rows[id(cell)][at]
                if name in found or row is None or cell.answers is None:
                    continue
                answer = cell.answers[row]
                start = cell.evaluation.table.doc_start[row]
                repeated = cell.evaluation.table.repeated[start : start + len(answer.docs)]
                docs = answer.docs[: self._sources.max_docs]
                self.n_docs_left_out += len(answer.docs) - len(docs)
                found[name] = {
                    "docs": [
                        self._doc(doc, again)
                        for doc, again in zip(docs, repeated.tolist(), strict=False)
                    ],
                    "n": len(answer.docs),
                    "error": answer.error,
                }
        return found

    def _doc(self, doc: Doc, repeated: bool) -> list[Any]:
        plain: list[Any] = [doc.id, self._texts.number(doc.text), doc.score]
        return [*plain, 1] if repeated else plain

    def _pairs(self, match: str, cell: Cell, at: int) -> list[float | None]:
        row = self._rows[id(cell)][at]
        return [] if row is None else pairs(cell.evaluation, row, self._sources.max_docs)

    def _reasons(self, match: str, cell: Cell, at: int) -> list[list[Any]]:
        """[document, gold item, grade, reason] of each pair that a judge has looked at.

        The gold item is -1 where the judge was asked about document and question alone.
        """
        row, known = self._rows[id(cell)][at], self._sources.reasons.get(match)
        if row is None or not known or cell.answers is None:
            return []
        answer = cell.answers[row]
        docs = answer.docs[: self._sources.max_docs]
        said_of = [known.get((answer.query.id, doc.text or "", "")) for doc in docs]
        listed = [[at_doc, -1, *said] for at_doc, said in enumerate(said_of) if said]
        for at_gold, gold in enumerate(cell.golds[row]):
            wanted = [gold.text, *(each.text for each in gold.alternatives)]
            for at_doc, doc in enumerate(docs):
                said = [known.get((answer.query.id, doc.text or "", each or "")) for each in wanted]
                best = max((each for each in said if each), key=_grade, default=None)
                if best is not None:
                    listed.append([at_doc, at_gold, *best])
        return listed

    def _decided_rows(self, decisions: Decisions, cell: Cell) -> list[list[Decision]]:
        """The decisions about each row of a cell, as far as its documents are kept."""
        most = self._sources.max_docs
        items = (MatchItem(each.query, each.docs[:most]) for each in cell.answers or ())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MatchWarning)  # evaluate says them
            return list(decisions.of(items))

    def _decided_of(self, cell: Cell, at: int) -> list[Decision]:
        row, decided = self._rows[id(cell)][at], self._decided.get(id(cell))
        return [] if row is None or decided is None else decided[row]


def _grade(said: tuple[int | None, str]) -> int:
    return -1 if said[0] is None else said[0]
