"""What the records of a judgement store say: how many of what, grades, and TREC qrels."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kragx.errors import DataError, UsageError, nearest
from kragx.judging.store import Store
from kragx.plain import HIDDEN
from kragx.printing import Line, Part, Result, Table, counted, warning


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
        keys: of the questions.
        grades, failures: how often each grade was given, and each kind of failure came.
        dialects: how its server had to be asked for how many of them, where not as usual.
        tokens: by kind (prompt, completion, cached, reasoning); none of attempts that were given
            up without an answer.
        n_estimated: attempts whose tokens are estimates, as the server did not say.
        n_unknown: attempts of which nobody knows what they took.
        served: what answered; more than one is a change to know of.
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
    served: list[Served] = field(default_factory=list)

    also_plain = ("n_questions", "served_changed")

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
        if "grade" in record:
            self.grades[str(record["grade"])] += 1
        else:
            self.failures[record["failure"]] += 1
        counting = record.get("counting")
        self.n_estimated += counting == "estimate"
        self.n_unknown += counting == "most"
        for kind in ("prompt", "completion", "cached", "reasoning"):
            number = record.get(f"{kind}_tokens") if counting != "most" else None
            self.tokens[kind] += number or 0
        self.dialects.update(filter(None, [record.get("dialect")]))
        by, at = (record.get("model"), record.get("fingerprint")), record["at"]
        if by == (None, None):
            return
        new = Served(*by, first=at, last=at)
        served = next((old for old in self.served if (old.model, old.fingerprint) == by), new)
        if served is new:
            self.served.append(served)
        served.last = at
        served.n += 1


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
                    ("about " if group.n_estimated else "")
                    + f"{group.tokens['prompt']} + {group.tokens['completion']}",
                )
                for group in self.groups
            ],
            words=4,
        )
        for group in self.groups:
            if group.n_estimated:
                yield Line(
                    f"{group.model}, {group.rubric}: the tokens of {group.n_estimated} of "
                    f"{group.n_attempts} attempts are estimates, as the server does not say"
                )
            if group.n_unknown:
                yield Line(
                    f"{group.model}, {group.rubric}: what {group.n_unknown} attempts without an "
                    "answer took is unknown and not counted"
                )
            if group.dialects:
                yield Line(f"{group.model}, {group.rubric}: asked as {counted(group.dialects)}")
            if group.served_changed:
                served = "; ".join(map(str, group.served))
                yield warning(
                    f"{group.model}, {group.rubric}: what serves it has changed: {served}"
                )


def statistics(records: Iterable[Mapping[str, Any]]) -> Statistics:
    """The groups of a store's records."""
    groups: dict[tuple[str, ...], Group] = {}
    for record in records:
        question = record["question"] or {}
        client, rubric = question.get("client", {}), question.get("rubric", {})
        about = (
            str(client.get("provider", "?")),
            str(client.get("base_url") or ""),
            str(client.get("model", "?")),
            str(rubric.get("id", "?")),
        )
        groups.setdefault(about, Group(*about)).add(record)
    return Statistics(tuple(group for _, group in sorted(groups.items())))


# -- grades ------------------------------------------------------------------------------------


def qrels(
    store: Store, *, asks: str = "relevance", model: str | None = None, rubric: str | None = None
) -> list[str]:
    """Lines of TREC qrels, ``query_id 0 document_id grade``, sorted.

    A document without an id is named ``text-`` and the start of its text's SHA-256.

    Args:
        store: an opened store.
        asks: ``relevance``; or ``support``, where a document's grade is its best over the query's
            gold texts.
        model: only its grades.
        rubric: only grades by the rubric of this id.

    Raises:
        UsageError: several models or rubrics graded and none is named; or an id has white space.
        DataError: there is nothing to write.
    """
    best = grades(store, asks=asks, model=model, rubric=rubric)
    if asks == "relevance":
        labels = store.labels(sorted({query_id for query_id, _ in best}))
        best.update({pair: grade for pair, grade in labels.items() if pair in best})
    for name in (name for pair in best for name in pair):
        if not name or name.split() != [name]:
            raise UsageError(f"the id {name!r} cannot stand in qrels: it has white space")
    return [f"{query} 0 {document} {grade}\n" for (query, document), grade in sorted(best.items())]


def grades(
    store: Store,
    *,
    asks: str = "relevance",
    model: str | None = None,
    rubric: str | None = None,
    human: bool = True,
) -> dict[tuple[str, str], int]:
    """The judge's grade of each (query id, document id); what failed has none.

    Args:
        store: an opened store.
        asks: as for `qrels`.
        model: the same.
        rubric: the same.
        human: whether a person's grade of the very question takes the place of the judge's.

    Raises:
        UsageError: as `qrels`.
        DataError: there is no grade.
    """
    records = one_judge(store, asks, model, rubric)
    if not records:
        raise DataError(f"{store.address}: no grade of {asks} fits; see: kragx judge store stats")
    best: dict[tuple[str, str], int] = {}
    for key, attempt in store.settled(list(records), human=human).items():
        if attempt.grade is None:
            continue
        for query_id, document_id in records[key]["pairs"]:
            pair = (query_id, document_id)
            best[pair] = max(best.get(pair, attempt.grade), attempt.grade)
    return best


def one_judge(
    store: Store, asks: str, model: str | None, rubric: str | None
) -> dict[str, Mapping[str, Any]]:
    """The graded records of one kind of question, by key; none of what a probe asked.

    Raises:
        UsageError: several models or rubrics graded and none is named.
    """
    if asks not in ("relevance", "support"):
        raise UsageError(f"--asks: {asks!r}; {nearest(asks, ('relevance', 'support'))}")
    records: dict[str, Mapping[str, Any]] = {
        record["key"]: record
        for record in store.records()
        if (question := record["question"])
        and question["asks"] == asks
        and "grade" in record
        and record["pairs"]  # a probe asks of documents that were not retrieved
        and model in (None, question["client"].get("model"))
        and rubric in (None, question["rubric"]["id"])
    }
    questions = [record["question"] for record in records.values()]
    models = {str(question["client"].get("model")) for question in questions}
    # Both languages of a built-in rubric are one; grades of others cannot be mixed.
    rubrics = {question["rubric"]["id"].replace("-ko-", "-en-") for question in questions}
    for option, names in (("model", models), ("rubric", rubrics)):
        if len(names) > 1:
            raise UsageError(
                f"--{option}: the store holds grades by several ({', '.join(sorted(names))}), "
                "which are not one set of labels; name one"
            )
    return records
