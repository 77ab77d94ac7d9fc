"""What every form holds, and its numbers: those of the same content in JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kragx import evaluate

QRELS: Mapping[str, Mapping[str, int]] = {
    "q1": {"d1": 1, "d2": 2, "d3": 0},
    "q2": {"d4": 1},
    "q3": {"d5": 1},
    "q4": {"d10": 1},
}
"""Grades by document by question; d3 is judged as no answer."""

SCORES: Mapping[str, Mapping[str, float]] = {
    "q1": {"d1": 0.5, "d2": 0.9, "d3": 0.5, "d9": 0.5},
    "q2": {},
    "q4": {"d10": 1.0, "d9": 1.0, "d8": 0.25},
}
"""A run with ties, an empty list (q2) and a question that is missing (q3)."""

RANKED: Mapping[str, Sequence[str]] = {
    "q1": ("d2", "d9", "d3", "d1"),
    "q2": (),
    "q4": ("d9", "d10", "d8"),
}
"""The same as TREC ranks it: by score, ties by id descending."""

TEXTS: Mapping[str, str] = {
    "d1": "The old harbour was closed to ships in 1923.",
    "d2": "The new pier was built of stone.",
    "d3": "Nobody knows the colour of the harbour.",
    "d4": "계약을 해지하려면 서면으로 알려야 합니다.",
    "d5": "Gift cards do not expire.",
    "d6": "Opened software can be returned within 14 days.",
    "d7": "The postage of a faulty item is paid by the shop.",
}
QUESTIONS: Mapping[str, str] = {
    "q1": "When was the harbour closed?",
    "q2": "계약을 어떻게 해지하나요?",
    "q3": "Do gift cards expire?",
    "q4": "Can opened software be returned?",
}
GOLD: Mapping[str, Sequence[str]] = {
    "q1": ("d1",),
    "q2": ("d4",),
    "q3": ("d5",),
    "q4": ("d6", "d7"),
}
FOUND: Mapping[str, Sequence[tuple[str, float]]] = {
    "q1": (("d3", 0.9), ("d1", 0.5), ("d2", 0.5)),
    "q2": (),
    "q4": (("d6", 0.75),),
}
"""What a tool has found, in its order: with a tie, an empty list (q2) and a missing question."""


@dataclass(frozen=True)
class Given:
    """What somebody has in hand.

    Attributes:
        gold: as `evaluate` is given it.
        results: the same; None where `gold` holds both.
        options: of `evaluate`.
        lists: texts by question, where the tool itself decides what it finds.
    """

    gold: object
    results: object = None
    options: Mapping[str, Any] = field(default_factory=dict)
    lists: Mapping[str, Sequence[str]] | None = None


@dataclass(frozen=True)
class Form:
    """One of the 45.

    Attributes:
        name: what people call it.
        package: what must be installed for it.
        given: makes it.
        lacks: what it cannot hold: ``empty`` lists, ``missing`` questions.
        names: of retrievers whose results it holds side by side.
        says: of a form that cannot be evaluated, what the error says; the others are.
    """

    name: str
    package: str
    given: Callable[[Path], Given]
    lacks: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    says: str = ""

    @property
    def is_ir(self) -> bool:
        """Whether it holds ids with grades and scores, and no texts."""
        return self.name.startswith("IR: ")

    def problem(self, folder: Path) -> str:
        """What is wrong; empty where all its numbers are those of JSON Lines.

        Those of the form by itself, and of the form under two names.
        """
        if self.says:
            return self._unsaid(folder)
        given = self.given(folder)
        expected = self._expected(given, folder)
        options = {"metrics": METRICS, **given.options}
        if not self.is_ir:
            options["match"] = "exact"
        alone = evaluate(given.gold, given.results, **options)
        for evaluation in [alone[name] for name in self.names] or [alone]:
            if numbers(evaluation) != expected:
                return f"{self.name}: {numbers(evaluation)}, not {expected}"
        if given.results is not None and not self.names:
            again, other = self.given(folder), self.given(folder)
            both = evaluate(again.gold, {"one": again.results, "two": other.results}, **options)
            of_both = [numbers(both["one"]), numbers(both["two"])]
            if of_both != [expected] * 2:
                return f"{self.name}, side by side: {of_both}, not {expected}"
        return ""

    def _unsaid(self, folder: Path) -> str:
        given = self.given(folder)
        try:
            evaluate(given.gold, given.results, metrics=METRICS, match="exact")
        except ValueError as error:
            said = str(error)
            is_clear = self.says in said and "\n" not in said
            return "" if is_clear else f"{self.name}: says {said!r}"
        return f"{self.name}: is evaluated"

    def _expected(self, given: Given, folder: Path) -> Any:
        gold, results = folder / "gold.jsonl", folder / "results.jsonl"
        golds: Mapping[str, list[dict[str, Any]]]
        if self.is_ir:
            golds = {q: [{"id": i, "grade": g} for i, g in own.items()] for q, own in QRELS.items()}
            lists = {q: [{"id": i} for i in own] for q, own in RANKED.items()}
        elif given.lists is not None:
            golds = {q: [{"text": TEXTS[i]} for i in ids] for q, ids in GOLD.items()}
            lists = {q: [{"text": text} for text in own] for q, own in given.lists.items()}
        else:
            golds = {q: [{"text": TEXTS[i]} for i in ids] for q, ids in GOLD.items()}
            lists = {q: [{"text": TEXTS[i]} for i, _ in own] for q, own in FOUND.items()}
        if "empty" in self.lacks:
            lists = {q: own for q, own in lists.items() if own}
        if "missing" in self.lacks:
            lists = {q: lists.get(q, []) for q in golds}
        write(gold, [{"query_id": q, "query": QUESTIONS[q], "gold": g} for q, g in golds.items()])
        write(results, [{"query_id": q, "retrieved": own} for q, own in lists.items()])
        match = "id" if self.is_ir else "exact"
        return numbers(evaluate(str(gold), str(results), metrics=METRICS, match=match))


METRICS = ["mrr@10", "recall@2", "recall@10", "ndcg@10", "precision@3", "map@10", "hit_rate@1"]


def numbers(evaluation: Any) -> Any:
    """The values of the questions in their order, and how many were missing or empty."""
    counts = {name: evaluation.counts[name] for name in ("n_missing", "n_empty", "n_failed")}
    return [*evaluation.queries.values()], counts


def write(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """A file of JSON Lines."""
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text("".join(lines), encoding="utf-8")
