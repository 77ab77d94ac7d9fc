"""What changed in a question of a gold set, by who reads it.

A change belongs to one of five kinds:

- ``gold``: metrics do (the question, its gold above grade 0, answerable, reference, facts,
  expected_doc_types);
- ``ids``: matchers that compare ids do: gold has another id, and the same text;
- ``moved``: nobody does: the record of a move says that the same gold text, whole and unedited, is
  in another chunk now;
- ``judged``: documents of grade 0 or below, which say only how much is known (`judged`);
- ``labels``: slices do (query_type, metadata).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from kragx.data.documents import Doc
from kragx.data.forbidden import FORBIDDEN
from kragx.data.gold import Gold, Query, cut
from kragx.data.text import normalise
from kragx.data.weights import INCLUSION, WEIGHT
from kragx.ground.errors import shorten
from kragx.ground.printing import joined, message, visible

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
    texts = [{_normal(doc.text) for doc in forms(gold)} for gold in sides]
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


def forms(gold: Gold) -> tuple[Gold | Doc, ...]:
    """A gold item and its alternatives."""
    return gold, *gold.alternatives


def _ids(gold: Gold) -> list[str]:
    """The ids of a gold item and its alternatives."""
    return sorted(normalise(doc.id) for doc in forms(gold) if doc.id is not None)


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
    names = (doc.text or doc.id for doc in forms(gold))
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
