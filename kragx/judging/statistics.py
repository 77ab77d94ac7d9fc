"""What a judgement store holds, by model and rubric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kragx.plain import plain_fields
from kragx.printing import Part, Result, Table, counted, warning


@dataclass
class Served:
    """What answered for a model, and when: the first and the last time, and how often."""

    model: str | None
    fingerprint: str | None
    first: str
    last: str
    n: int = 0

    def __str__(self) -> str:
        name = f"{self.model} {self.fingerprint or ''}".strip()
        return f"{name} ({self.n}, {self.first} to {self.last})"


@dataclass
class Group:
    """The attempts of one (provider, base_url, model, rubric).

    Attributes:
        n_attempts: how many there are.
        n_questions: of how many distinct questions.
        grades, failures: how often each grade was given, and each kind of failure came.
        tokens: by kind (prompt, completion, cached, reasoning).
        served: what answered; more than one is a change to know of.
    """

    provider: str
    base_url: str
    model: str
    rubric: str
    n_attempts: int = 0
    n_questions: int = 0
    grades: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    served: list[Served] = field(default_factory=list)

    also_plain = ("served_changed",)

    @property
    def served_changed(self) -> bool:
        """Whether more than one model or system answered."""
        return len(self.served) > 1

    def add(self, record: Mapping[str, Any]) -> None:
        """Count an attempt."""
        self.n_attempts += 1
        if "grade" in record:
            self.grades[str(record["grade"])] += 1
        else:
            self.failures[record["failure"]] += 1
        for kind in ("prompt", "completion", "cached", "reasoning"):
            self.tokens[kind] += record.get(f"{kind}_tokens") or 0
        by, at = (record.get("model"), record.get("fingerprint")), record["at"]
        if by == (None, None):
            return
        known = (entry for entry in self.served if (entry.model, entry.fingerprint) == by)
        served = next(known, None)
        if served is None:
            served = Served(*by, first=at, last=at)
            self.served.append(served)
        served.last = at
        served.n += 1

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, counts by name."""
        counts = {"grades": self.grades, "failures": self.failures}
        return plain_fields(self) | {
            name: dict(sorted(count.items())) for name, count in counts.items()
        }


@dataclass(frozen=True)
class Statistics(Result):
    """What a judgement store holds, a group for each model and rubric."""

    groups: tuple[Group, ...]

    def describe(self) -> Iterator[Part]:
        """A row for each group, and what has changed behind a model's name."""
        columns = ("model", "rubric", "grades", "failures", "questions", "attempts", "tokens")
        yield Table(
            columns,
            [
                (
                    group.model,
                    group.rubric,
                    counted(dict(sorted(group.grades.items()))),
                    counted(dict(sorted(group.failures.items()))),
                    str(group.n_questions),
                    str(group.n_attempts),
                    f"{group.tokens['prompt']} + {group.tokens['completion']}",
                )
                for group in self.groups
            ],
            words=4,
        )
        for group in self.groups:
            if group.served_changed:
                served = "; ".join(map(str, group.served))
                yield warning(
                    f"{group.model}, {group.rubric}: what serves it has changed: {served}"
                )


def statistics(records: Iterable[Mapping[str, Any]]) -> Statistics:
    """The groups of a store's records."""
    groups: dict[tuple[str, ...], Group] = {}
    keys: dict[tuple[str, ...], set[str]] = {}
    for record in records:
        question = record["question"] or {}
        client, rubric = question.get("client", {}), question.get("rubric", {})
        about = (
            str(client.get("provider", "?")),
            str(client.get("base_url") or ""),
            str(client.get("model", "?")),
            str(rubric.get("id", "?")),
        )
        group = groups.setdefault(about, Group(*about))
        group.add(record)
        keys.setdefault(about, set()).add(record["key"])
        group.n_questions = len(keys[about])
    return Statistics(tuple(group for _, group in sorted(groups.items())))
