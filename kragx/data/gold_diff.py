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
from kragx.data.gold import Gold, GoldDataset, Query, named_items, query_hash
from kragx.data.reading import read_results
from kragx.data.released import release_of
from kragx.data.text import normalise
from kragx.errors import shorten
from kragx.printing import Line, Part, Result, Table, joined, phrase, visible, warning

Kind = Literal["gold", "ids", "moved", "judged", "labels"]

MOVE = "move"
"""What the metadata of a moved gold item call the record of its move.

``{"from": [...], "to": [...]}``: the ids that it and its alternatives had before, and have now. It
is there only where all of the text is in the new chunk, with every letter.
"""

SHOWN = 20
"""So many questions are listed, unless all are asked for."""

_WIDTH = 48
"""Characters of a value that are shown."""

_WORDS: Mapping[str, str] = {
    "question": phrase("question"),
    "history": phrase("earlier turns"),
    "reference": phrase("reference"),
    "facts": phrase("facts"),
    "gold added": phrase("gold added"),
    "gold dropped": phrase("gold dropped"),
    "grade": phrase("grade"),
    "moved": phrase("moved"),
    "text": phrase("text"),
    "alternatives": phrase("alternatives"),
    "gold metadata": phrase("gold metadata"),
    "label": phrase("label"),
    "added": phrase("added"),
    "dropped": phrase("dropped"),
    "questions": phrase("questions"),
    "texts of gold": phrase("texts of gold"),
    "ids of gold": phrase("ids of gold"),
}
"""What is said of changes; names of fields are said as they are."""

_PLACE = ("source", "start", "start_index", "end", "end_index", "share")
"""Where metadata say that a gold item stands in its source."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One thing that changed in a question.

    Attributes:
        what: ``question``, ``history``, ``answerable``, ``reference``, ``facts``,
            ``expected_doc_types``; of gold items ``gold added``, ``gold dropped``, ``grade``,
            ``moved`` (it has another id), ``text``, ``alternatives``, ``gold metadata``; or
            ``label``.
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
        what = _WORDS.get(self.what, self.what)
        is_named = self.what not in (self.field, "moved")
        name = joined(" ", [what, visible(self.field)]) if is_named else what
        if self.what in ("gold added", "gold dropped"):
            grade = self.after if self.before is None else self.before
            return phrase("{what} (grade {grade:g})", what=name, grade=grade)
        before, after = _shown(self.before), _shown(self.after)
        return phrase("{what}: {before} → {after}", what=name, before=before, after=after)

    def __str__(self) -> str:
        return self.text


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
    state: Literal["added", "dropped", "changed"]
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
    def kinds(self) -> Mapping[Kind, int]:
        """How many questions are of each kind."""
        return Counter(question.kind for question in self.questions)

    def describe(self, *, full: bool = False) -> Iterator[Part]:
        """Whether results of the two may be compared, then what changed; `full` lists it all."""
        sides = (_named(self.old, self.n_old), _named(self.new, self.n_new))
        yield Line(joined(" → ", sides))
        yield Line(self.summary, "bold")
        yield from map(warning, self.remarks)
        if self.counts:
            numbers = (
                phrase("{name}: {n}", name=_WORDS.get(what, what), n=n)
                for what, n in self.counts.items()
            )
            yield Line(joined("; ", numbers))
        rows = [
            [visible(question.query_id), visible(question.text or ""), text]
            for question in self.questions
            for text in [change.text for change in question.changes] or [_WORDS[question.state]]
        ]
        if rows:
            shown = rows if full else rows[:SHOWN]
            more = len(rows) - len(shown)
            note = phrase("and {n} more: --full, or --format json", n=more) if more else ""
            heads = [phrase("id"), phrase("question"), phrase("what changed")]
            yield Table(heads, shown, words=3, note=note)

    @property
    def summary(self) -> str:
        """Whether results of the two may be compared, in a sentence."""
        n = self.n_old + len(self.of("added"))
        if self.comparable:
            return phrase(
                "the same gold: all {n} questions can be compared between results of the two", n=n
            )
        states = Counter(question.state for question in self.differing())
        numbers = (
            phrase("{n} changed", n=states["changed"]) if states["changed"] else "",
            phrase("{n} added", n=states["added"]) if states["added"] else "",
            phrase("{n} dropped", n=states["dropped"]) if states["dropped"] else "",
        )
        differ = phrase(
            "{n} of {of} questions differ ({numbers})",
            n=states.total(),
            of=n,
            numbers=joined(", ", numbers),
        )
        same = (
            phrase("results of the two can be compared on the rest, {n}", n=self.n_same)
            if self.n_same
            else phrase("no results of the two can be compared")
        )
        return joined("; ", [differ, same])

    @property
    def remarks(self) -> Iterator[str]:
        """What else differs, and what was not compared."""
        yield from self.cautions
        if n := self.kinds.get("ids"):
            yield phrase(
                "of those that differ {n} have gold with the same text under another id: matchers "
                "that compare texts compare them, too",
                n=n,
            )
        if n := self.kinds.get("moved"):
            yield phrase(
                "in {n} of these gold is the same text, moved to other chunks (kragx gold move)",
                n=n,
            )
        if n := self.kinds.get("judged"):
            yield phrase(
                "in {n} more only documents of grade 0 differ: no metric but 'judged' reads them",
                n=n,
            )
        if n := self.kinds.get("labels"):
            yield phrase("in {n} more only labels differ: slices read them, no metric does", n=n)
        if self.old["hash"] != self.new["hash"] and not self.questions and not self.not_compared:
            yield phrase("only the Unicode form, white space or the order of gold items differs")
        for name in self.not_compared:
            yield phrase(
                "not compared, as one of the two holds none at all: {name}", name=_WORDS[name]
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
    lacking = tuple(_lacking(old, new))
    earlier, later = ({normalise(query.id): query for query in data} for data in (old, new))
    questions = []
    for key, query in earlier.items():
        partner = later.get(key)
        if partner is None:
            questions.append(QuestionChange(query.id, query.text, "dropped"))
        elif query_hash(query) != query_hash(partner) and (  # in a fraction of the time
            changes := tuple(_changes(query, partner, lacking))
        ):
            text = partner.text or query.text
            questions.append(QuestionChange(partner.id, text, "changed", changes))
    questions += [
        QuestionChange(query.id, query.text, "added")
        for key, query in later.items()
        if key not in earlier
    ]
    return GoldDiff(old.settings, new.settings, len(old), len(new), tuple(questions), lacking)


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
                version = phrase("{version}, changed since", version=version)
                cautions.append(joined(": ", [str(path), changed]))
            dataset = replace(dataset, name=release.name, version=version)
        sides.append(dataset)
    return replace(diff_gold(*sides), cautions=tuple(cautions))


def _lacking(old: GoldDataset, new: GoldDataset) -> Iterator[str]:
    """What one of two gold sets does not hold at all, though the other does."""
    asked = [any(query.text is not None for query in data) for data in (old, new)]
    if asked[0] != asked[1]:
        yield "questions"
    docs = [
        [doc for query in data for gold in query.gold for doc in _forms(gold)]
        for data in (old, new)
    ]
    for name, attribute in (("texts of gold", "text"), ("ids of gold", "id")):
        has = [any(getattr(doc, attribute) is not None for doc in side) for side in docs]
        if has[0] != has[1] and all(docs):
            yield name


def _forms(gold: Gold) -> Iterator[Gold | Doc]:
    """A gold item and its alternatives."""
    return (doc for _, doc in named_items(0, gold))


def _changes(old: Query, new: Query, lacking: Sequence[str]) -> Iterator[FieldChange]:
    """What changed in a question."""
    yield from _unlike(_fields(old, lacking), _fields(new, lacking))
    yield from _gold_changes(old.gold, new.gold, lacking)
    if "questions" not in lacking:  # what has none has no labels either
        for change in _unlike(_labels(old), _labels(new)):
            yield replace(change, what="label", kind="labels")


def _labels(query: Query) -> dict[str, Any]:
    metadata = _normal({name: item for name, item in query.metadata.items() if name != "facts"})
    named = {f"metadata.{name}": item for name, item in metadata.items()}
    return {"query_type": query.query_type, **named}


def _fields(query: Query, lacking: Sequence[str]) -> dict[str, Any]:
    """What metrics read of a question besides its gold."""
    asked = {"question": query.text, "history": [turn.to_dict() for turn in query.history]}
    return {
        **({} if "questions" in lacking else asked),
        "answerable": query.answerable is not False,
        "reference": query.reference,
        "facts": query.metadata.get("facts"),
        "expected_doc_types": sorted(map(normalise, query.expected_doc_types)),
    }


def _unlike(
    before: Mapping[str, Any], after: Mapping[str, Any], name: str | None = None
) -> Iterator[FieldChange]:
    """The values that differ, by their keys; `name` is of what they are."""
    for what in dict.fromkeys([*before, *after]):
        pair = before.get(what), after.get(what)
        if _canonical(pair[0]) != _canonical(pair[1]):
            yield FieldChange(what, name or what, *pair)


def _gold_changes(
    olds: Sequence[Gold], news: Sequence[Gold], lacking: Sequence[str]
) -> Iterator[FieldChange]:
    """What changed in the gold of a question."""
    pairs = _paired(olds, news)
    for row, gold in enumerate(olds):
        if row in pairs:
            yield from _item_changes(gold, news[pairs[row]], lacking)
        else:
            yield FieldChange("gold dropped", _name(gold), gold.grade, None, _kind(gold))
    for place, gold in enumerate(news):
        if place not in pairs.values():
            yield FieldChange("gold added", _name(gold), None, gold.grade, _kind(gold))


def _item_changes(before: Gold, after: Gold, lacking: Sequence[str]) -> Iterator[FieldChange]:
    """What changed in a gold item that both have."""
    graded = kind = _kind(before, after)
    if kind == "gold" and _is_recorded(before, after):
        kind = "moved"
    texts = [{_form(doc.text) for doc in _forms(gold)} for gold in (before, after)]
    # Without a record other ids mean the same to those alone who compare texts.
    is_alike = kind == "gold" and texts[0] == texts[1] and None not in texts[0]
    of_ids: Kind = "ids" if is_alike else kind
    kinds = {"grade": graded, "moved": of_ids, "alternatives": of_ids}
    has_place = [any(name in _PLACE for name in gold.metadata) for gold in (before, after)]
    # Of one chunk where it stands may be said by one of both alone.
    is_placed = all(has_place) or not before.id or _form(before.id) != _form(after.id)
    items = [_item(gold, lacking, is_placed=is_placed) for gold in (before, after)]
    for change in _unlike(items[0], items[1], _name(after)):
        yield replace(change, kind=kinds.get(change.what, kind))


def _item(gold: Gold, lacking: Sequence[str], *, is_placed: bool) -> dict[str, Any]:
    """What is compared of a gold item."""
    hidden = (MOVE,) if is_placed else (MOVE, *_PLACE)
    metadata = {name: value for name, value in gold.metadata.items() if name not in hidden}
    return {
        "grade": gold.grade,
        **({} if "ids of gold" in lacking else {"moved": gold.id}),
        **({} if "texts of gold" in lacking else {"text": gold.text}),
        "alternatives": sorted(
            (_alternative(doc, lacking) for doc in gold.alternatives), key=_canonical
        ),
        "gold metadata": metadata or None,
    }


def _alternative(doc: Doc, lacking: Sequence[str] = ()) -> dict[str, Any]:
    return {
        **({} if "ids of gold" in lacking else {"id": _form(doc.id)}),
        **({} if "texts of gold" in lacking else {"text": _form(doc.text)}),
        **({"metadata": dict(doc.metadata)} if doc.metadata else {}),
    }


def _ids(gold: Gold) -> tuple[str, ...] | None:
    """The ids of a gold item and its alternatives; None if it has none."""
    return tuple(sorted(normalise(doc.id) for doc in _forms(gold) if doc.id is not None)) or None


def _origin(gold: Gold) -> tuple[str, ...] | None:
    """The same of the item that it was before a move; None if no record, or another's, says it."""
    record = gold.metadata.get(MOVE)
    sides = [record.get(side) for side in ("from", "to")] if isinstance(record, Mapping) else []
    ids = [
        tuple(sorted(map(normalise, map(str, side))))
        for side in sides
        if isinstance(side, (list, tuple))
    ]
    # Somebody who corrects a line by hand changes its id, and leaves its metadata.
    return ids[0] if len(ids) == 2 and ids[1] == _ids(gold) else None


def _is_recorded(before: Gold, after: Gold) -> bool:
    """Whether the record of a move says that the one is the other, with the same text."""
    origin = _origin(after)
    if origin is None or origin != _ids(before):
        return False
    # Where somebody wrote another text since, the record is of the one before.
    is_bare = before.text is None or after.text is None
    return is_bare or _letters(before.text) == _letters(after.text)


def _letters(text: str | None) -> str:
    """What a move compares of a text."""
    return "".join(filter(str.isalnum, normalise(text or "").casefold()))


_SAME: Sequence[tuple[Callable[[Gold], object], Callable[[Gold], object]]] = (
    (lambda gold: _canonical(_meaning(gold)), lambda gold: _canonical(_meaning(gold))),
    (_ids, _origin),
    *(
        (key, key)
        for key in (
            lambda gold: gold.id and gold.text and (_form(gold.id), _form(gold.text)),
            lambda gold: _form(gold.text),  # before ids: those that are counted anew are others'
            lambda gold: _form(gold.id),
        )
    ),
)
"""What tells that two gold items, of the earlier and the later set, are one, the surest first."""


def _meaning(gold: Gold) -> object:
    others = sorted(_canonical(_alternative(doc)) for doc in gold.alternatives)
    return [gold.id, gold.text, gold.grade, others, gold.metadata]


def _paired(olds: Sequence[Gold], news: Sequence[Gold]) -> dict[int, int]:
    """The positions of gold items that are one and the same, by what they share most."""
    pairs: dict[int, int] = {}
    for key_before, key_after in _SAME:
        free: dict[object, list[int]] = {}
        for place, gold in enumerate(news):
            if place not in pairs.values() and (value := key_after(gold)):
                free.setdefault(value, []).append(place)
        for row, gold in enumerate(olds):
            places = None if row in pairs else free.get(key_before(gold))
            if places:
                pairs[row] = places.pop(0)
    return pairs


def _form(text: str | None) -> str | None:
    return None if text is None else normalise(text)


def _kind(*golds: Gold) -> Kind:
    return "gold" if any(gold.grade > 0 for gold in golds) else "judged"


def _name(gold: Gold) -> str:
    if gold.id is not None:
        return gold.id
    names = (doc.text or doc.id for doc in _forms(gold))
    return _cut(visible(next(filter(None, names), "")))


def _canonical(value: Any) -> str:
    """JSON in which white space and Unicode form of texts mean nothing."""
    return json.dumps(_normal(value), sort_keys=True, ensure_ascii=False, default=str)


def _normal(value: Any) -> Any:
    if isinstance(value, str):
        return normalise(value)
    if isinstance(value, Mapping):
        return {normalise(str(key)): _normal(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [_normal(item) for item in value]
    return value


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _shown(value: Any) -> str:
    match value:
        case None | []:
            return phrase("none")
        case bool():
            return phrase("yes") if value else phrase("no")
        case str():
            return _cut(visible(value))
    return f"{value:g}" if isinstance(value, float) else visible(shorten(value, _WIDTH))


def _named(settings: Mapping[str, Any], n: int) -> str:
    return phrase("{name}: {n} questions", name=gold_name(settings), n=n)


def gold_name(settings: Mapping[str, Any]) -> str:
    """A gold set as people tell it from others: name, version, and the beginning of its hash."""
    name, version, content = visible(settings["name"]), settings["version"], settings["hash"][:12]
    if version is None:
        return phrase("{name}, sha256 {hash}", name=name, hash=content)
    return phrase(
        "{name} version {version}, sha256 {hash}", name=name, version=version, hash=content
    )
