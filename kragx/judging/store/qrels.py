"""What is read out of a judgement store: grades by query and document, TREC qrels, and counts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypedDict, Unpack, cast

from kragx.ground.errors import DataError, UsageError, nearest
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Part, Result, Table, counted, joined, message, warning
from kragx.judging.question import Decide, settled_grade
from kragx.judging.rubric import canonical_json, name_of_rubric, wording_of
from kragx.judging.store import Store

NO_EXAMPLES = "none"
"""What names the grades that were given without examples."""


class Choice(TypedDict, total=False):
    """Which grades of a judgement store are meant; all of them where nothing is named.

    Attributes:
        asks: ``relevance``, or ``support``, where a document's grade is its best over the query's
            gold texts; None for what the judge was asked.
        model: those of this model, or of a panel as results name it, ``median of a, b, c``.
        rubric: those by the rubric of this id, ``ID@DIGEST`` where several wordings share it, or of
            this YAML file.
        examples: those with the examples of this name; `NO_EXAMPLES` for those without any.
    """

    asks: str | None
    model: str | None
    rubric: str | None
    examples: str | None


def qrels(store: Store, **choice: Unpack[Choice]) -> list[str]:
    """Lines of TREC qrels, ``query_id 0 document_id grade``, sorted.

    A document without an id is named ``text-`` and the start of its text's SHA-256.

    Args:
        store: an opened store.
        choice: of its grades; without `asks` those of relevance.

    Raises:
        UsageError: several models, rubrics or examples graded and none is named; or an id has
            white space.
        DataError: there is nothing to write.
    """
    best = grades(store, **choice)
    if _asks(choice) == "relevance":
        labels = store.labels(sorted({query_id for query_id, _ in best}))
        best.update({pair: grade for pair, grade in labels.items() if pair in best})
    for name in (name for pair in best for name in pair):
        if not name or name.split() != [name]:
            raise UsageError("the id {name!r} cannot stand in qrels: it has white space", name=name)
    return [f"{query} 0 {document} {grade}\n" for (query, document), grade in sorted(best.items())]


def grades(
    store: Store, *, expected: bool = False, **choice: Unpack[Choice]
) -> dict[tuple[str, str], float]:
    """The judge's grade of each (query id, document id); what failed has none.

    Args:
        store: an opened store.
        expected: whether grades between those of the scale are wanted: the one that a model's
            probabilities expect, where the store has it, and the mean of a panel.
        choice: as for `qrels`.

    Raises:
        UsageError: as `qrels`.
        DataError: there is no grade.
    """
    best: dict[tuple[str, str], float] = {}
    for graded in graded_once(store, choice, expected=expected):
        for pair in graded.pairs:
            best[pair] = max(best.get(pair, 0), graded.grade)
    if not best:
        raise DataError(
            "{address}: no grade of {asks} fits; see: kragx judge store stats",
            address=store.address,
            asks=_asks(choice),
        )
    return best


def _asks(choice: Choice) -> str:
    return choice.get("asks") or "relevance"


@dataclass(frozen=True)
class GradedQuestion:
    """The grade of one question, be it of one judge or of a panel.

    Attributes:
        question: as a store has it.
        pairs: the (query id, document id) that it is about.
        grade: a label of the rubric's scale, or where expected grades are wanted one between two.
    """

    question: Mapping[str, Any]
    pairs: Sequence[tuple[str, str]]
    grade: float


def graded_once(store: Store, choice: Choice, *, expected: bool = False) -> list[GradedQuestion]:
    """Each question of a kind with one grade: of its repeats the first, of a panel what it decides.

    What the votes in the store leave undecided has no grade, as in a run. Arguments as of `grades`.

    Raises:
        UsageError: as `qrels`; or a panel's grades are means, and no expected ones are wanted.
    """
    rule, panel = _panel_of(choice.get("model")) or (None, None)
    if rule == "mean" and not expected:
        remedy = message("compare what the median decides: 'median of ...'")
        raise UsageError("--model: means are no labels", remedy=remedy)
    # Of one judge that was asked several times the first repeat counts.
    records = sorted(_one_judge(store, choice), key=lambda record: record["question"]["repeat"])
    by_model: dict[str, dict[str, None]] = {}  # the judges of each
    votes: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}  # by question, then by judge
    for record in records:
        question = record["question"]
        judge = canonical_json([question["client"], question["repeat"]])
        texts = tuple(question[name] for name in ("query", "document", "gold", "reference"))
        votes.setdefault(texts, {}).setdefault(judge, record)
        by_model.setdefault(str(question["client"].get("model")), {})[judge] = None
    for model, n in (panel or {}).items():
        if (n_judges := len(by_model.get(model, ()))) < n:
            raise UsageError(
                "--model: the panel has {n} judges of {model!r}, and the store grades by {n_value}",
                n=n,
                model=model,
                n_value=n_judges,
            )
    judges = [judge for model, n in (panel or {}).items() for judge in [*by_model[model]][:n]]
    top = max((record["grade"] for record in records), default=0)
    graded: list[GradedQuestion] = []
    for by_judge in votes.values():
        cast_votes = [by_judge[judge] for judge in judges or by_judge if judge in by_judge]
        marks = [
            record.get("expected", record["grade"]) if expected else record["grade"]
            for record in cast_votes
        ]
        grade = marks[0] if marks else None
        if rule is not None:
            # Votes that the store lacks may yet turn it.
            grade = settled_grade(marks, len(judges) - len(cast_votes), rule, top)
        if grade is not None:
            pairs = dict.fromkeys(tuple(pair) for record in cast_votes for pair in record["pairs"])
            graded.append(GradedQuestion(cast_votes[0]["question"], [*pairs], grade))
    return graded


# As `Panel.model` writes it.
_PANEL = re.compile(
    r"(?P<rule>median|majority|mean) of (?:(?P<repeats>\d+) repeats of )?(?P<names>.+)"
)


def _panel_of(model: str | None) -> tuple[Decide, Counter[str]] | None:
    """How the panel decides that results call so (`Panel.model`), and its judges by model.

    None for the name of a model.
    """
    match = _PANEL.fullmatch(model or "")
    if match is None:
        return None
    models = [re.sub(r" #\d+$", "", name) for name in match["names"].split(", ")]
    return cast("Decide", match["rule"]), Counter(models * int(match["repeats"] or 1))


def examples_of(question: Mapping[str, Any]) -> str:
    """The name of the examples that a stored question came with."""
    return str((question.get("examples") or {}).get("name", NO_EXAMPLES))


def graded_records(store: Store, choice: Choice) -> list[Mapping[str, Any]]:
    """The graded records that are meant; none of what a probe asked."""
    asks, model, rubric = _asks(choice), choice.get("model"), choice.get("rubric")
    panel = _panel_of(model)
    models = {model} if panel is None else panel[1].keys()
    wording = None if rubric is None else name_of_rubric(rubric)
    return [
        record
        for record in store.records()
        if (question := record["question"])
        and question["asks"] == asks
        and "grade" in record
        and record["pairs"]  # a probe asks of documents that were not retrieved
        and (model is None or question["client"].get("model") in models)
        and wording in (None, question["rubric"].get("id"), wording_of(question))
        and choice.get("examples") in (None, examples_of(question))
    ]


def _one_judge(store: Store, choice: Choice) -> Iterable[Mapping[str, Any]]:
    """The graded records of one kind of question, one of each key.

    Raises:
        UsageError: several models, rubrics or examples graded and none is named.
    """
    asks, model = _asks(choice), choice.get("model")
    if asks not in ("relevance", "support"):
        raise UsageError(
            "--asks: {asks!r}; {hint}", asks=asks, hint=nearest(asks, ("relevance", "support"))
        )
    # Attempts at one question share its key; the first grade counts, as in a run.
    records: dict[str, Mapping[str, Any]] = {}
    for record in graded_records(store, choice):
        records.setdefault(record["key"], record)
    questions = [record["question"] for record in records.values()]
    models = {str(question["client"].get("model")) for question in questions}
    # Both languages of a built-in rubric are one; grades of others cannot be mixed.
    rubrics = {wording_of(question).replace("-ko-", "-en-") for question in questions}
    example_sets = set(map(examples_of, questions))
    for option, names in (("model", models), ("rubric", rubrics), ("examples", example_sets)):
        if len(names) > 1 and not (option == "model" and model is not None):
            listed = ", ".join(sorted(names))
            raise UsageError(
                "--{option}: the store holds grades by several ({listed}), which are not one set "
                "of labels; name one, or all: 'median of {listed}'"
                if option == "model"
                else "--{option}: the store holds grades by several ({listed}), which are not one "
                "set of labels; name one",
                option=option,
                listed=listed,
            )
    return records.values()


# -- how many of what, by model and rubric --------------------------------------------------------

_COLUMNS = (
    *(message("model"), message("server"), message("rubric"), message("grades")),
    *(message("failures"), message("questions"), message("attempts"), message("tokens")),
)


@dataclass
class Group:
    """The attempts of one (provider, base_url, model, rubric).

    Attributes:
        n_attempts: how many there are.
        keys: of the questions.
        grades, failures: how often each grade was given, of an answer that is a list each of its
            grades, and each kind of failure came.
        tokens: by kind (prompt, completion, cached, reasoning); none of attempts that were given
            up without an answer.
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
    tokens: Counter[str] = field(default_factory=Counter)
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
        for kind in ("prompt", "completion", "cached", "reasoning"):
            self.tokens[kind] += (counting != "most" and record.get(f"{kind}_tokens")) or 0
        served = " ".join(filter(None, (record.get("model"), record.get("fingerprint"))))
        self.served.update(filter(None, [served]))


@dataclass(frozen=True)
class Statistics(Result):
    """What a judgement store holds, a group for each model and rubric."""

    groups: tuple[Group, ...]

    def describe(self) -> Iterator[Part]:
        """A row for each group, and what is to be known of it."""
        rows = [
            (
                *(group.model, group.base_url, group.rubric),
                *(counted(dict(sorted(n.items()))) for n in (group.grades, group.failures)),
                *(str(group.n_questions), str(group.n_attempts)),
                f"{group.tokens['prompt']} + {group.tokens['completion']}",
            )
            for group in self.groups
        ]
        yield Table(_COLUMNS, rows, words=5)
        for group in self.groups:
            if group.served_changed:
                served = counted(group.served)
                remark = message("what serves it has changed: {served}", served=served)
                yield warning(joined(": ", [group.model, group.rubric, remark]))


def statistics(records: Iterable[Mapping[str, Any]]) -> Statistics:
    """The groups of a store's records."""
    groups: dict[tuple[str, ...], Group] = {}
    for record in records:
        question = record["question"] or {}
        client, examples = question.get("client", {}), examples_of(question)
        names = (("provider", "?"), ("base_url", ""), ("model", "?"))
        provider, url, model = (str(client.get(name) or default) for name, default in names)
        suffix = "" if examples == NO_EXAMPLES else f" with examples {examples}"
        key = provider, url, model, f"{wording_of(question)}{suffix}"
        groups.setdefault(key, Group(*key)).add(record)
    return Statistics(tuple(group for _, group in sorted(groups.items())))
