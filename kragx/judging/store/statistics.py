"""What a judgement store holds: how many of what, by model and rubric."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Line, Part, Result, Table, counted, joined, phrase, warning
from kragx.judging.rubric import Wording, names_of, wording_of
from kragx.judging.store.qrels import NO_EXAMPLES, examples_of

_COLUMNS = (
    *(phrase("model"), phrase("rubric"), phrase("grades"), phrase("failures")),
    *(phrase("questions"), phrase("attempts"), phrase("tokens")),
)


@dataclass
class Group:
    """The attempts of one (provider, base_url, model, rubric).

    Attributes:
        n_attempts: how many there are.
        keys: of the questions.
        grades, failures: how often each grade was given, of an answer that is a list each of its
            grades, and each kind of failure came.
        dialects: how its server had to be asked for how many of them, where not as usual.
        tokens: by kind (prompt, completion, cached, reasoning); none of attempts that were given
            up without an answer.
        n_estimated: attempts whose tokens are estimates, as the server did not say.
        n_unknown: attempts of which nobody knows what they took.
        served: what answered how many; more than one is a change to know of.
    """

    provider: str
    base_url: str
    model: str
    rubric: str
    n_attempts: int = 0
    keys: set[str] = field(default_factory=set, metadata=HIDDEN)
    grades: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    dialects: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    n_estimated: int = 0
    n_unknown: int = 0
    served: Counter[str] = field(default_factory=Counter)

    also_plain: ClassVar[tuple[str, ...]] = ("n_questions", "served_changed")

    @property
    def n_questions(self) -> int:
        """How many distinct questions were asked."""
        return len(self.keys)

    @property
    def served_changed(self) -> bool:
        """Whether more than one model or system answered."""
        return len(self.served) > 1

    def add(self, record: Mapping[str, Any]) -> None:
        """Count an attempt."""
        self.n_attempts += 1
        self.keys.add(record["key"])
        if "answer" in record:
            self.grades.update(str(grade) for grade, _ in json.loads(record["answer"]))
        elif "grade" in record:
            self.grades[str(record["grade"])] += 1
        else:
            self.failures[record["failure"]] += 1
        counting = record.get("counting")
        self.n_estimated += counting == "estimate"
        self.n_unknown += counting == "most"
        for kind in ("prompt", "completion", "cached", "reasoning"):
            self.tokens[kind] += (counting != "most" and record.get(f"{kind}_tokens")) or 0
        self.dialects.update(filter(None, [record.get("dialect")]))
        served = " ".join(filter(None, (record.get("model"), record.get("fingerprint"))))
        self.served.update(filter(None, [served]))

    def row(self) -> tuple[str, ...]:
        """As a table has it."""
        return (
            self.model,
            self.rubric,
            counted(dict(sorted(self.grades.items()))),
            counted(dict(sorted(self.failures.items()))),
            str(self.n_questions),
            str(self.n_attempts),
            phrase(
                "about {sent} + {got}" if self.n_estimated else "{sent} + {got}",
                sent=self.tokens["prompt"],
                got=self.tokens["completion"],
            ),
        )

    def remarks(self) -> Iterator[Part]:
        """How it was asked, what is not known of its tokens, and what has changed behind a name."""
        name = f"{self.model}, {self.rubric}"
        remarks = (
            self.n_estimated
            and phrase(
                "the tokens of {n} of {of} attempts are estimates, as the server does not say",
                n=self.n_estimated,
                of=self.n_attempts,
            ),
            self.n_unknown
            and phrase(
                "what {n} attempts without an answer took is unknown and not counted",
                n=self.n_unknown,
            ),
            self.dialects and phrase("asked as {dialects}", dialects=counted(self.dialects)),
        )
        yield from (Line(joined(": ", [name, remark])) for remark in remarks if remark)
        if self.served_changed:
            remark = phrase("what serves it has changed: {served}", served=counted(self.served))
            yield warning(joined(": ", [name, remark]))


@dataclass(frozen=True)
class Statistics(Result):
    """What a judgement store holds, a group for each model and rubric."""

    groups: tuple[Group, ...]

    def describe(self) -> Iterator[Part]:
        """A row for each group, and what is to be known of it."""
        yield Table(_COLUMNS, [group.row() for group in self.groups], words=4)
        for group in self.groups:
            yield from group.remarks()


def statistics(records: Iterable[Mapping[str, Any]]) -> Statistics:
    """The groups of a store's records."""
    groups: dict[tuple[str, ...], Group] = {}
    wordings: dict[tuple[str, ...], Wording] = {}
    for record in records:
        question = record["question"] or {}
        client, wording, examples = (
            question.get("client", {}),
            wording_of(question),
            examples_of(question),
        )
        names = (("provider", "?"), ("base_url", ""), ("model", "?"))
        provider, url, model = (str(client.get(name) or default) for name, default in names)
        key: tuple[str, ...] = (provider, url, model, *wording, examples)
        wordings[key] = wording
        groups.setdefault(key, Group(provider, url, model, "")).add(record)
    called = names_of(wordings.values())
    for key, group in groups.items():
        suffix = "" if key[-1] == NO_EXAMPLES else f" with examples {key[-1]}"
        group.rubric = f"{called[wordings[key]]}{suffix}"
    return Statistics(tuple(group for _, group in sorted(groups.items())))
