"""Two gold sets, question by question: what was added, dropped and changed, and what that means.

Numbers of two gold sets mean the same on every question without a change of the kind ``gold``, or
``ids`` where ids are compared (`kragx.data.gold_changes`): what was to be found is the same text,
wherever it is now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from kragx.data.gold import GoldDataset, query_hash
from kragx.data.gold_changes import WORDS, FieldChange, Kind, forms, question_changes
from kragx.data.reading import read_results
from kragx.data.released import release_of
from kragx.data.text import normalise
from kragx.ground.printing import (
    Line,
    Part,
    Result,
    Table,
    joined,
    message,
    visible,
    warning,
)

State = Literal["added", "dropped", "changed"]

SHOWN = 20
"""So many questions are listed, unless all are asked for."""


@dataclass(frozen=True, slots=True)
class QuestionChange:
    """A question that is not the same in both.

    Attributes:
        query_id: its id.
        text: the question.
        state: ``added``, ``dropped`` or ``changed``.
        changes: what changed in it.
    """

    query_id: str
    text: str | None
    state: State
    changes: tuple[FieldChange, ...] = ()

    also_plain: ClassVar[tuple[str, ...]] = ("kind",)

    @property
    def kind(self) -> Kind:
        """The first of the kinds of its changes that applies; ``gold`` if only one has it."""
        kinds = {change.kind for change in self.changes}
        return next((kind for kind in get_args(Kind) if kind in kinds), "gold")


@dataclass(frozen=True)
class GoldDiff(Result):
    """What `diff_gold` found.

    Attributes:
        old, new: name, version and content hash of either.
        n_old, n_new: how many questions they have.
        questions: those that are not the same, in the order of the earlier, then of the later.
        counts: how often each thing changed.
        not_compared: fields that one of the two does not hold at all.
        cautions: what is wrong with the files as such.
    """

    old: Mapping[str, Any]
    new: Mapping[str, Any]
    n_old: int
    n_new: int
    questions: tuple[QuestionChange, ...]
    not_compared: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    also_plain: ClassVar[tuple[str, ...]] = ("comparable", "n_same", "counts")

    def of(self, state: str) -> tuple[QuestionChange, ...]:
        """The questions that were added, dropped or changed."""
        return tuple(question for question in self.questions if question.state == state)

    def differing(self, *, compares_ids: bool = True) -> tuple[QuestionChange, ...]:
        """Those on which numbers of the two do not mean the same, if ids are compared or not."""
        kinds = ("gold", "ids") if compares_ids else ("gold",)
        return tuple(question for question in self.questions if question.kind in kinds)

    @property
    def comparable(self) -> bool:
        """Whether every number of the two means the same."""
        return not self.differing()

    @property
    def n_same(self) -> int:
        """How many questions both have on which numbers mean the same."""
        return self.n_old - sum(question.state != "added" for question in self.differing())

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each thing changed, in questions that both have."""
        return Counter(change.what for question in self.questions for change in question.changes)

    @property
    def kinds(self) -> Counter[str]:
        """How many questions are of each kind."""
        return Counter(question.kind for question in self.questions)

    def describe(self, *, full: bool = False) -> Iterator[Part]:
        """Whether results of the two may be compared, then what changed; `full` lists it all."""
        sides = (
            message("{name}: {n} questions", name=gold_name(settings), n=n)
            for settings, n in ((self.old, self.n_old), (self.new, self.n_new))
        )
        yield Line(joined(" → ", sides))
        yield Line(self.summary, "bold")
        yield from map(warning, self.remarks)
        if self.counts:
            numbers = (
                message("{name}: {n}", name=WORDS.get(kind, kind), n=n)
                for kind, n in self.counts.items()
            )
            yield Line(joined("; ", numbers))
        rows = [
            [visible(question.query_id), visible(question.text or ""), text]
            for question in self.questions
            for text in [change.text for change in question.changes] or [WORDS[question.state]]
        ]
        if rows:
            visible_rows = rows if full else rows[:SHOWN]
            n_more = len(rows) - len(visible_rows)
            note = message("and {n} more: --full, or --format json", n=n_more) if n_more else ""
            heads = [message("id"), message("question"), message("what changed")]
            yield Table(heads, visible_rows, words=3, note=note)

    @property
    def summary(self) -> str:
        """Whether results of the two may be compared, in a sentence."""
        n = self.n_old + len(self.of("added"))
        if self.comparable:
            return message(
                "the same gold: all {n} questions can be compared between results of the two", n=n
            )
        states = Counter[str](question.state for question in self.differing())
        numbers = {
            "changed": message("{n} changed", n=states["changed"]),
            "added": message("{n} added", n=states["added"]),
            "dropped": message("{n} dropped", n=states["dropped"]),
        }
        differ = message(
            "{n} of {of} questions differ ({numbers})",
            n=states.total(),
            of=n,
            numbers=joined(", ", (text for state, text in numbers.items() if states[state])),
        )
        same = (
            message("results of the two can be compared on the rest, {n}", n=self.n_same)
            if self.n_same
            else message("no results of the two can be compared")
        )
        return joined("; ", [differ, same])

    @property
    def remarks(self) -> Iterator[str]:
        """What else differs, and what was not compared."""
        yield from self.cautions
        kinds = self.kinds
        of_kind = {
            "ids": message(
                "of those that differ {n} have gold with the same text under another id: matchers "
                "that compare texts compare them, too",
                n=kinds["ids"],
            ),
            "moved": message(
                "in {n} of these gold is the same text, moved to other chunks (kragx gold move)",
                n=kinds["moved"],
            ),
            "judged": message(
                "in {n} more only documents of grade 0 differ: no metric but 'judged' reads them",
                n=kinds["judged"],
            ),
            "labels": message(
                "in {n} more only labels differ: slices read them, no metric does",
                n=kinds["labels"],
            ),
        }
        yield from (text for kind, text in of_kind.items() if kinds[kind])
        is_told = self.questions or self.not_compared or self.cautions
        if self.old["hash"] != self.new["hash"] and not is_told:
            yield message("only the Unicode form, white space or the order of gold items differs")
        for name in self.not_compared:
            yield message(
                "not compared, as one of the two holds none at all: {name}", name=WORDS[name]
            )


def diff_gold(old: GoldDataset, new: GoldDataset) -> GoldDiff:
    """Set two gold sets side by side.

    The order of questions, of gold items and of alternatives means nothing, nor do white space and
    Unicode form. What one of the two does not hold at all (qrels hold no questions, and ids no
    texts) is not compared, and named.

    Args:
        old: the earlier one.
        new: the later one.
    """
    lacking = tuple(_missing_fields(old, new))
    earlier, later = ({normalise(query.id): query for query in data} for data in (old, new))
    questions = []
    for key in dict.fromkeys((*earlier, *later)):
        before, after = earlier.get(key), later.get(key)
        query = after or before
        assert query is not None  # one of both has it
        state: State = "dropped" if after is None else "changed" if before else "added"
        changes: tuple[FieldChange, ...] = ()
        # Hashes tell in a fraction of the time that a question is the same.
        if before and after and query_hash(before) != query_hash(after):
            changes = tuple(question_changes(before, after, lacking))
        if changes or state != "changed":
            text = query.text or (before or query).text
            questions.append(QuestionChange(query.id, text, state, changes))
    is_ruled_alike = old.forbidden == new.forbidden
    cautions = () if is_ruled_alike else (message("the rules that forbid documents differ"),)
    settings = old.settings, new.settings
    return GoldDiff(*settings, len(old), len(new), tuple(questions), lacking, cautions)


def diff_files(old: str | Path, new: str | Path) -> GoldDiff:
    """`diff_gold` for files of any format; of releases it reads those that were changed, too.

    Raises:
        DataError: a file has mistakes, or holds no question.
    """
    sides, cautions = [], []
    for path in (old, new):
        dataset, _ = read_results(path)
        if (release := release_of(path)) is not None:
            version = release.version
            if changed := release.changed(dataset.content_hash):
                version = message("{version}, changed since", version=version)
                cautions.append(joined(": ", [str(path), changed]))
            dataset = replace(dataset, name=release.name, version=version)
        sides.append(dataset)
    diff = diff_gold(*sides)
    return replace(diff, cautions=(*cautions, *diff.cautions))


def _missing_fields(old: GoldDataset, new: GoldDataset) -> Iterator[str]:
    """What one of two gold sets does not hold at all, though the other does."""
    queries = [[query.text for query in data] for data in (old, new)]
    golds = [[gold for query in data for gold in query.gold] for data in (old, new)]
    docs = [[doc for gold in side for doc in forms(gold)] for side in golds]
    values = {
        "questions": queries,
        "texts of gold": [[doc.text for doc in side] for side in docs],
        "ids of gold": [[doc.id for doc in side] for side in docs],
    }
    for name, sides in values.items():
        n_lacking = sum(all(value is None for value in side) for side in sides)
        if n_lacking == 1 and all(sides):
            yield name


def gold_name(settings: Mapping[str, Any]) -> str:
    """A gold set as people tell it from others: name, version, and the beginning of its hash."""
    name, version, content = visible(settings["name"]), settings["version"], settings["hash"][:12]
    if version is None:
        return message("{name}, sha256 {hash}", name=name, hash=content)
    return message(
        "{name} version {version}, sha256 {hash}", name=name, version=version, hash=content
    )
