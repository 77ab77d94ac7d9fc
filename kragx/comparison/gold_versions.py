"""Results of two states of a gold set: which questions are not the same, and stay out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kragx.data import GoldDataset
from kragx.data.gold_diff import GoldDiff, diff_gold, gold_name
from kragx.matchers import METHODS, method_class
from kragx.plain import HIDDEN
from kragx.printing import Line, Result, joined, listed, phrase, visible, warning

NAMED = 5
"""So many questions are named; JSON and ``kragx gold diff`` have all of them."""


@dataclass(frozen=True)
class GoldVersions(Result):
    """Two states of a gold set, whose results are compared.

    Attributes:
        earlier, later: name, version and content hash of each.
        n_same: the questions of both on which numbers mean the same.
        n_moved: those of them whose gold is the same text in other chunks, or under other ids.
        n_ids: of `changed` those whose gold is the same text under other ids, which the matcher
            compares, and no record of a move says that these are the same chunks.
        changed: the questions that both have on which numbers do not mean the same.
        only_earlier, only_later: the questions that only one has.
        n_judged: questions that differ in documents of grade 0 alone, which `judged` alone reads.
        left_out: whether only those that are the same are compared.
        n_other_ids: questions that both ask, the later under another id: ids that are numbers of
            lines become others where a line is put in between.
    """

    earlier: Mapping[str, Any]
    later: Mapping[str, Any]
    n_same: int
    changed: tuple[str, ...]
    only_earlier: tuple[str, ...]
    only_later: tuple[str, ...]
    n_judged: int = 0
    left_out: bool = True
    n_moved: int = 0
    n_ids: int = 0
    n_other_ids: int = 0
    differing: frozenset[str] = field(default=frozenset(), metadata=HIDDEN)

    @classmethod
    def of(cls, diff: GoldDiff, *, left_out: bool, compares_ids: bool) -> GoldVersions:
        """Those that a diff has found.

        Args:
            diff: of the two.
            left_out: whether only those that are the same are compared.
            compares_ids: whether the matcher does: then gold with the same text under another id
                is other gold, unless a move has recorded where it went.
        """
        kinds = Counter(question.kind for question in diff.questions)
        n_ids = kinds["ids"] if compares_ids else 0
        differing = [
            difference for difference in diff.differing if difference.kind == "gold" or compares_ids
        ]

        def ids(state: str) -> tuple[str, ...]:
            return tuple(
                difference.query_id for difference in differing if difference.state == state
            )

        return cls(
            diff.old,
            diff.new,
            diff.n_same + kinds["ids"] - n_ids,
            ids("changed"),
            ids("dropped"),
            ids("added"),
            kinds["judged"],
            left_out,
            kinds["moved"] + kinds["ids"] - n_ids,
            n_ids,
            _n_other_ids(diff),
            frozenset(difference.query_id for difference in differing),
        )

    @property
    def named(self) -> tuple[str, ...]:
        """The questions that are not the same, those that both have first."""
        return (*self.changed, *self.only_later, *self.only_earlier)

    @property
    def text(self) -> str:
        """What a reader must know, in a sentence."""
        named = self.named
        kinds = (
            phrase("{n} changed", n=len(self.changed)) if self.changed else "",
            phrase("{n} only in the later", n=len(self.only_later)) if self.only_later else "",
            phrase("{n} only in the earlier", n=len(self.only_earlier))
            if self.only_earlier
            else "",
        )
        shown = [*map(visible, named)]
        questions = listed(shown, NAMED) if len(named) > NAMED else joined(", ", shown)
        counts = joined(", ", kinds)
        which = phrase(
            "1 question is not the same ({counts}: {questions})"
            if len(named) == 1
            else "{n} questions are not the same ({counts}: {questions})",
            n=len(named),
            counts=counts,
            questions=questions,
        )
        if not named:
            end = phrase("no question differs in what metrics read")
        elif not self.n_same:
            end = phrase("{which}, none is the same", which=which)
        elif self.left_out:
            end = phrase(
                "{which}, left out here; 1 is the same, and compared"
                if self.n_same == 1
                else "{which}, left out here; {n} are the same, and compared",
                which=which,
                n=self.n_same,
            )
        else:
            end = which
        moved = phrase(
            "the gold of {n} questions is the same text, moved to other chunks"
            if not named
            else "the gold of {n} of them is the same text, moved to other chunks"
            if self.left_out
            else "the gold of {n} other questions is the same text, moved to other chunks",
            n=self.n_moved,
        )
        ids = phrase(
            "of the changed {n} differ in ids alone, which this matcher compares, and no move "
            "('kragx gold move') is recorded",
            n=self.n_ids,
        )
        others = phrase(
            "{n} questions of the later stand in the earlier under another id; give each question "
            "an id that stays",
            n=self.n_other_ids,
        )
        besides = [
            moved if self.n_moved else "",
            ids if self.n_ids else "",
            others if self.n_other_ids > 1 else "",  # a single one may have been swapped
        ]
        return phrase(
            "{pair}: {end}",
            pair=gold_pair(self.earlier, self.later),
            end=joined("; ", [end, *besides]),
        )

    @property
    def judged_text(self) -> str:
        """What `judged` alone reads; nothing if there is nothing."""
        if not self.n_judged:
            return ""
        return phrase(
            "documents of grade 0 differ in {n} questions: 'judged' reads them", n=self.n_judged
        )

    def describe(self) -> Iterator[Line]:
        """What a reader must know."""
        # Else it stands among the cautions, as all that is compared anyway.
        if self.left_out or not self.differing:
            yield warning(self.text)
        if self.judged_text:
            yield warning(self.judged_text)


def _n_other_ids(diff: GoldDiff) -> int:
    """How many questions the later asks in the same words as the earlier, under another id."""
    before: set[str | None] = {question.text for question in diff.dropped}
    after: list[str | None] = [question.text for question in diff.added]
    for question in diff.changed:
        for change in question.changes:
            if change.what == "question":
                before.add(change.before)
                after.append(change.after)
    return sum(text is not None and text in before for text in after)


def gold_pair(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> str:
    """Two gold sets that differ."""
    return phrase(
        "the gold sets differ ({earlier} and {later})",
        earlier=gold_name(earlier),
        later=gold_name(later),
    )


def gold_versions(
    earlier: Mapping[str, Any],
    later: Mapping[str, Any],
    datasets: Sequence[GoldDataset | None],
    match: Mapping[str, Any],
    *,
    anyway: bool = False,
    diffs: dict[tuple[str, str], GoldDiff] | None = None,
) -> GoldVersions | None:
    """What is not the same in two gold sets; None where they are one, or are not known.

    Args:
        earlier: the settings that results record of the one.
        later: those of the other.
        datasets: the two of them.
        match: the settings of the matcher that results record.
        anyway: compare whatever both have.
        diffs: of hashes that were set side by side already; that of these is added.
    """
    hashes, (one, other) = (earlier["hash"], later["hash"]), datasets
    if hashes[0] == hashes[1] or None in hashes or one is None or other is None:
        return None
    if hashes != (one.content_hash, other.content_hash):  # others than results were made with
        return None
    diffs = {} if diffs is None else diffs
    if hashes not in diffs:
        diffs[hashes] = diff_gold(one, other)
    diff = replace(diffs[hashes], old=dict(earlier), new=dict(later))
    return GoldVersions.of(diff, left_out=not anyway, compares_ids=_compares_ids(match))


def _compares_ids(match: Mapping[str, Any]) -> bool:
    """Whether a matcher of these settings may; of one that is not kragx's own nobody knows."""
    if isinstance(members := match.get("of"), (list, tuple)):  # a span's is a word
        return any(map(_compares_ids, members))
    method = str(match.get("method"))
    return method not in METHODS or method_class(method).reads == "ids"


def left_out(versions: Iterable[GoldVersions]) -> frozenset[str]:
    """The questions that are not compared."""
    return frozenset().union(*(version.differing for version in versions if version.left_out))
