"""Two gold sets, question by question: what was added, dropped and changed, and what that means.

A change belongs to one of five kinds, by who reads it:

- ``gold``: metrics do (the question, its gold above grade 0, answerable, reference, facts,
  expected_doc_types);
- ``ids``: matchers that compare ids do: gold has another id, and the same text;
- ``moved``: nobody does: the record of a move says that the same gold text, whole and unedited, is
  in another chunk now;
- ``judged``: documents of grade 0 or below, which say only how much is known (`judged`);
- ``labels``: slices do (query_type, metadata).

So numbers of two gold sets mean the same on every question without a change of the first kind, or
of the second where ids are compared: what was to be found is the same text, wherever it is now.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from kragx.data.documents import Doc
from kragx.data.forbidden import FORBIDDEN
from kragx.data.gold import Gold, GoldDataset, Query, cut, query_hash
from kragx.data.reading import read_results
from kragx.data.released import release_of
from kragx.data.text import normalise
from kragx.data.weights import INCLUSION, WEIGHT
from kragx.ground.errors import shorten
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

Kind = Literal["gold", "ids", "moved", "judged", "labels"]

MOVE = "move"
"""What the metadata of a moved gold item call the record of its move.

``{"from": [...], "to": [...]}``: the ids that it and its alternatives had before, and have now. It
is there only where all of the text is in the new chunk, with every letter.
"""

_WIDTH = 48
"""Characters of a value that are shown."""

WORDS: Mapping[str, str] = {
    "question": message("question"),
    "history": message("earlier turns"),
    "reference": message("reference"),
    "facts": message("facts"),
    FORBIDDEN: message("forbidden"),
    "gold added": message("gold added"),
    "gold dropped": message("gold dropped"),
    "grade": message("grade"),
    "moved": message("moved"),
    "text": message("text"),
    "alternatives": message("alternatives"),
    "gold metadata": message("gold metadata"),
    "label": message("label"),
    "added": message("added"),
    "dropped": message("dropped"),
    "questions": message("questions"),
    "texts of gold": message("texts of gold"),
    "ids of gold": message("ids of gold"),
}
"""What is said of changes; names of fields are said as they are."""

_PLACE = ("source", "start", "start_index", "end", "end_index", "share")
"""Where metadata say that a gold item stands in its source."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One thing that changed in a question.

    Attributes:
        what: ``question``, ``history``, ``answerable``, ``reference``, ``facts``,
            ``expected_doc_types``, ``forbidden``, ``weight``, ``inclusion``; of gold items ``gold
            added``, ``gold dropped``, ``grade``, ``moved`` (it has another id), ``text``,
            ``alternatives``, ``gold metadata``; or ``label``.
        field: which; of a gold item its id, or the beginning of its text.
        before, after: the values; None for none.
        kind: who reads it.
    """

    what: str
    field: str
    before: Any
    after: Any
    kind: Kind = "gold"

    @property
    def text(self) -> str:
        """What changed, in a few words."""
        label = WORDS.get(self.what, self.what)
        is_named = self.what not in (self.field, "moved")
        name = joined(" ", [label, visible(self.field)]) if is_named else label
        if self.what in ("gold added", "gold dropped"):
            grade = self.after if self.before is None else self.before
            return message("{what} (grade {grade:g})", what=name, grade=grade)
        before, after = _value_text(self.before), _value_text(self.after)
        return message("{what}: {before} → {after}", what=name, before=before, after=after)

    def __str__(self) -> str:
        return self.text


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
    docs = [[doc for gold in side for doc in _forms(gold)] for side in golds]
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


def question_changes(old: Query, new: Query, lacking: Sequence[str]) -> Iterator[FieldChange]:
    """What changed in a question, but for the fields that one of the two gold sets lacks."""
    yield from _unlike(_fields(old, lacking), _fields(new, lacking))
    pairs = _paired(old.gold, new.gold)
    for row, gold in enumerate(old.gold):
        if row in pairs:
            yield from _item_changes(gold, new.gold[pairs[row]], lacking)
        else:
            yield FieldChange("gold dropped", _name(gold), gold.grade, None, _kind(gold))
    for place, gold in enumerate(new.gold):
        if place not in pairs.values():
            yield FieldChange("gold added", _name(gold), None, gold.grade, _kind(gold))
    if "questions" not in lacking:  # what has none has no labels either
        for change in _unlike(_labels(old), _labels(new)):
            yield replace(change, what="label", kind="labels")


def _labels(query: Query) -> dict[str, Any]:
    metadata = _normal({name: item for name, item in query.metadata.items() if name != "facts"})
    named = {f"metadata.{name}": item for name, item in metadata.items()}
    return {"query_type": query.query_type, **named}


def _fields(query: Query, lacking: Sequence[str]) -> dict[str, Any]:
    """What metrics read of a question besides its gold."""
    words = {"question": query.text, "history": [turn.to_dict() for turn in query.history]}
    records = (_normal(item.to_dict()) for item in query.forbidden or ())
    return {
        **({} if "questions" in lacking else words),
        "answerable": query.answerable is not False,
        "reference": query.reference,
        "facts": query.metadata.get("facts"),
        "expected_doc_types": sorted(map(normalise, query.expected_doc_types)),
        # Their order means nothing.
        FORBIDDEN: None if query.forbidden is None else sorted(records, key=str),
        WEIGHT: query.weight,
        INCLUSION: query.inclusion,
    }


def _unlike(
    before: Mapping[str, Any], after: Mapping[str, Any], name: str | None = None
) -> Iterator[FieldChange]:
    """The values that differ, by their keys; `name` is of what they are."""
    for what in dict.fromkeys([*before, *after]):
        pair = before.get(what), after.get(what)
        if _canonical(pair[0]) != _canonical(pair[1]):
            yield FieldChange(what, name or what, *pair)


def _item_changes(before: Gold, after: Gold, lacking: Sequence[str]) -> Iterator[FieldChange]:
    """What changed in a gold item that both have."""
    sides = before, after
    graded = kind = _kind(*sides)
    if kind == "gold" and _is_recorded(before, after):
        kind = "moved"
    texts = [{_normal(doc.text) for doc in _forms(gold)} for gold in sides]
    # Without a record other ids mean the same to those alone who compare texts.
    is_alike = kind == "gold" and texts[0] == texts[1] and None not in texts[0]
    of_ids: Kind = "ids" if is_alike else kind
    kinds = {"grade": graded, "moved": of_ids, "alternatives": of_ids}
    has_place = [any(name in _PLACE for name in gold.metadata) for gold in sides]
    # Of one chunk where it stands may be said by one of both alone.
    is_placed = all(has_place) or not before.id or _normal(before.id) != _normal(after.id)
    hidden = (MOVE,) if is_placed else (MOVE, *_PLACE)
    items = [_item(gold, lacking, hidden) for gold in sides]
    for change in _unlike(items[0], items[1], _name(after)):
        yield replace(change, kind=kinds.get(change.what, kind))


def _item(gold: Gold, lacking: Sequence[str] = (), hidden: Sequence[str] = ()) -> dict[str, Any]:
    """What is compared of a gold item; `hidden` metadata are not."""

    def names(doc: Gold | Doc, of_id: str) -> dict[str, Any]:
        return {
            **({} if "ids of gold" in lacking else {of_id: doc.id}),
            **({} if "texts of gold" in lacking else {"text": doc.text}),
        }

    alternatives = (
        _normal(names(doc, "id") | ({"metadata": doc.metadata} if doc.metadata else {}))
        for doc in gold.alternatives
    )
    metadata = {name: value for name, value in gold.metadata.items() if name not in hidden}
    return {
        "grade": gold.grade,
        **names(gold, "moved"),
        "alternatives": sorted(alternatives, key=_canonical),
        "gold metadata": metadata or None,
    }


def _forms(gold: Gold) -> tuple[Gold | Doc, ...]:
    """A gold item and its alternatives."""
    return gold, *gold.alternatives


def _ids(gold: Gold) -> list[str]:
    """The ids of a gold item and its alternatives."""
    return sorted(normalise(doc.id) for doc in _forms(gold) if doc.id is not None)


def _origin(gold: Gold) -> list[str]:
    """The same of the item that it was before a move; none if no record, or another's, says it."""
    record = gold.metadata.get(MOVE)
    ends: list[Any] = (
        [record.get(end) for end in ("from", "to")] if isinstance(record, Mapping) else []
    )
    if not (ends and all(isinstance(ids, (list, tuple)) for ids in ends)):
        return []
    before, after = (sorted(map(normalise, map(str, ids))) for ids in ends)
    # Somebody who corrects a line by hand changes its id, and leaves its metadata.
    return before if after == _ids(gold) else []


def _is_recorded(before: Gold, after: Gold) -> bool:
    """Whether the record of a move says that the one is the other, with the same text."""
    origin, texts = _origin(after), [before.text, after.text]
    # Where somebody wrote another text since, the record is of the one before.
    letters = {"".join(filter(str.isalnum, normalise(text or "").casefold())) for text in texts}
    return bool(origin) and origin == _ids(before) and (None in texts or len(letters) == 1)


_SAME: Sequence[tuple[Callable[[Gold], object], ...]] = (
    (lambda gold: _canonical(_item(gold)),),
    (_ids, _origin),
    (lambda gold: gold.id and gold.text and _normal([gold.id, gold.text]),),
    (lambda gold: _normal(gold.text),),  # before ids: those that are counted anew are others'
    (lambda gold: _normal(gold.id),),
)
"""What tells that two gold items, of the earlier and the later set, are one, the surest first."""


def _paired(olds: Sequence[Gold], news: Sequence[Gold]) -> dict[int, int]:
    """The positions of gold items that are one and the same, by what they share most."""
    pairs: dict[int, int] = {}
    for keys in _SAME:
        free = {
            place: value
            for place, gold in enumerate(news)
            if place not in pairs.values() and (value := keys[-1](gold))
        }
        for row, gold in enumerate(olds):
            key = None if row in pairs else keys[0](gold)
            place = next((place for place, value in free.items() if value == key), None)
            if place is not None:
                pairs[row] = place
                del free[place]
    return pairs


def _kind(*golds: Gold) -> Kind:
    return "gold" if any(gold.grade > 0 for gold in golds) else "judged"


def _name(gold: Gold) -> str:
    names = (doc.text or doc.id for doc in _forms(gold))
    return gold.id if gold.id is not None else cut(next(filter(None, names), ""), _WIDTH - 1)


def _canonical(value: Any) -> str:
    """JSON in which white space and Unicode form of texts mean nothing."""
    return json.dumps(_normal(value), sort_keys=True, ensure_ascii=False, default=str)


def _normal(value: Any) -> Any:
    if isinstance(value, str):
        return normalise(value)
    if isinstance(value, Mapping):
        return {normalise(str(key)): _normal(item) for key, item in value.items()}
    return [*map(_normal, value)] if isinstance(value, Iterable) else value


def _value_text(value: Any) -> str:
    match value:
        case None | []:
            return message("none")
        case bool():
            return message("yes") if value else message("no")
        case str():
            return cut(value, _WIDTH - 1)
    return f"{value:g}" if isinstance(value, float) else visible(shorten(value, _WIDTH))
