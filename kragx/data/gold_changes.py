"""What changed in a question, and who reads it: a question's fields and gold, item by item."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from kragx.data.documents import Doc
from kragx.data.forbidden import FORBIDDEN, Forbidden
from kragx.data.gold import Gold, Query, named_items
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
    asked_fields = {"question": query.text, "history": [turn.to_dict() for turn in query.history]}
    return {
        **({} if "questions" in lacking else asked_fields),
        "answerable": query.answerable is not False,
        "reference": query.reference,
        "facts": query.metadata.get("facts"),
        "expected_doc_types": sorted(map(normalise, query.expected_doc_types)),
        FORBIDDEN: None if query.forbidden is None else _records(query.forbidden),
        WEIGHT: query.weight,
        INCLUSION: query.inclusion,
    }


def _records(items: Iterable[Forbidden]) -> list[dict[str, Any]]:
    """Forbidden items, whose order means nothing."""
    return sorted((_normal(item.to_dict()) for item in items), key=str)


def _unlike(
    before: Mapping[str, Any], after: Mapping[str, Any], name: str | None = None
) -> Iterator[FieldChange]:
    """The values that differ, by their keys; `name` is of what they are."""
    for name_of_field in dict.fromkeys([*before, *after]):
        pair = before.get(name_of_field), after.get(name_of_field)
        if _canonical(pair[0]) != _canonical(pair[1]):
            yield FieldChange(name_of_field, name or name_of_field, *pair)


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
    texts = [{_form(doc.text) for doc in forms(gold)} for gold in (before, after)]
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


def forms(gold: Gold) -> Iterator[Gold | Doc]:
    """A gold item and its alternatives."""
    return (doc for _, doc in named_items(0, gold))


def _ids(gold: Gold) -> tuple[str, ...] | None:
    """The ids of a gold item and its alternatives; None if it has none."""
    return tuple(sorted(normalise(doc.id) for doc in forms(gold) if doc.id is not None)) or None


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
    (lambda gold: _canonical(_compared_form(gold)), lambda gold: _canonical(_compared_form(gold))),
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


def _compared_form(gold: Gold) -> object:
    alternatives = sorted(_canonical(_alternative(doc)) for doc in gold.alternatives)
    return [gold.id, gold.text, gold.grade, alternatives, gold.metadata]


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
    names = (doc.text or doc.id for doc in forms(gold))
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


def _value_text(value: Any) -> str:
    match value:
        case None | []:
            return message("none")
        case bool():
            return message("yes") if value else message("no")
        case str():
            return _cut(visible(value))
    return f"{value:g}" if isinstance(value, float) else visible(shorten(value, _WIDTH))
