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
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from kragx.data.documents import Doc
from kragx.data.gold import Gold, GoldDataset, Query, named_items, query_hash
from kragx.data.reading import read_results
from kragx.data.released import release_of
from kragx.data.text import normalise
from kragx.errors import shorten
from kragx.plain import HIDDEN
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

_LEAST = 10
"""Characters from which on one text within another is the same passage, made larger or smaller."""

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
    "evidence": phrase("evidence"),
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
            ``expected_doc_types``; of gold items ``gold added``,
            ``gold dropped``, ``grade``, ``moved`` (it has another id), ``text``, ``alternatives``,
            ``evidence`` (where it stands in its source), ``gold metadata``; or ``label``.
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
        before, after = _shown(self.before), _shown(self.after)
        what = _WORDS.get(self.what, self.what)
        name = what if self.field == self.what else joined(" ", [what, visible(self.field)])
        if self.what in ("gold added", "gold dropped"):
            grade = self.after if self.before is None else self.before
            return phrase("{what} (grade {grade:g})", what=name, grade=grade)
        if self.what == "moved":
            name = what
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
    questions: tuple[QuestionChange, ...] = field(metadata=HIDDEN)
    not_compared: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    also_plain: ClassVar[tuple[str, ...]] = (
        "comparable",
        "n_same",
        "counts",
        "added",
        "dropped",
        "changed",
    )

    def of(self, state: str) -> tuple[QuestionChange, ...]:
        """The questions that were added, dropped or changed."""
        return tuple(question for question in self.questions if question.state == state)

    @property
    def added(self) -> tuple[QuestionChange, ...]:
        """The questions that only the later has."""
        return self.of("added")

    @property
    def dropped(self) -> tuple[QuestionChange, ...]:
        """The questions that only the earlier has."""
        return self.of("dropped")

    @property
    def changed(self) -> tuple[QuestionChange, ...]:
        """The questions that both have, and that are not the same."""
        return self.of("changed")

    @property
    def differing(self) -> tuple[QuestionChange, ...]:
        """Those on which numbers of the two do not mean the same, if ids are compared."""
        return tuple(question for question in self.questions if question.kind in ("gold", "ids"))

    @property
    def comparable(self) -> bool:
        """Whether every number of the two means the same."""
        return not self.differing

    @property
    def n_same(self) -> int:
        """How many questions both have on which numbers mean the same."""
        return self.n_old - sum(question.state != "added" for question in self.differing)

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each thing changed, in questions that both have."""
        return Counter(change.what for own in self.changed for change in own.changes)

    def describe(self, *, full: bool = False) -> Iterator[Part]:
        """Whether results of the two may be compared, then what changed; `full` lists it all."""
        yield Line(joined(" → ", [_named(self.old, self.n_old), _named(self.new, self.n_new)]))
        yield Line(self.summary, "bold")
        yield from map(warning, self.remarks)
        rows = []
        for question in self.questions:
            texts = [change.text for change in question.changes] or [_WORDS[question.state]]
            rows += [
                [visible(question.query_id), visible(question.text or ""), text] for text in texts
            ]
        if self.counts:
            yield Line(
                joined(
                    "; ",
                    (
                        phrase("{name}: {n}", name=_WORDS.get(what, what), n=n)
                        for what, n in self.counts.items()
                    ),
                )
            )
        if rows:
            shown = rows if full else rows[:SHOWN]
            more = len(rows) - len(shown)
            note = phrase("and {n} more: --full, or --format json", n=more) if more else ""
            heads = [phrase("id"), phrase("question"), phrase("what changed")]
            yield Table(heads, shown, words=3, note=note)

    @property
    def summary(self) -> str:
        """Whether results of the two may be compared, in a sentence."""
        n = self.n_old + len(self.added)
        if self.comparable:
            return phrase(
                "the same gold: all {n} questions can be compared between results of the two", n=n
            )
        states = Counter(question.state for question in self.differing)
        numbers = joined(
            ", ",
            (
                phrase("{n} changed", n=states["changed"]) if states["changed"] else "",
                phrase("{n} added", n=states["added"]) if states["added"] else "",
                phrase("{n} dropped", n=states["dropped"]) if states["dropped"] else "",
            ),
        )
        differ = phrase(
            "{n} of {of} questions differ ({numbers})",
            n=len(self.differing),
            of=n,
            numbers=numbers,
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
        kinds = Counter(question.kind for question in self.questions)
        if n := kinds["ids"]:
            yield phrase(
                "of those that differ {n} have gold with the same text under another id: matchers "
                "that compare texts compare them, too",
                n=n,
            )
        if n := kinds["moved"]:
            yield phrase(
                "in {n} of these gold is the same text, moved to other chunks (kragx gold move)",
                n=n,
            )
        if n := kinds["judged"]:
            yield phrase(
                "in {n} more only documents of grade 0 differ: no metric but 'judged' reads them",
                n=n,
            )
        if n := kinds["labels"]:
            yield phrase("in {n} more only labels differ: slices read them, no metric does", n=n)
        is_other = self.old["hash"] != self.new["hash"]
        if is_other and not self.questions and not self.not_compared:
            yield phrase("only the Unicode form, white space or the order of gold items differs")
        for name in self.not_compared:
            yield phrase(
                "not compared, as one of the two holds none at all: {name}",
                name=_WORDS[name],
            )


def shorten_text(text: str, width: int = _WIDTH) -> str:
    """A text in so many characters at most."""
    return text if len(text) <= width else text[: width - 1] + "…"


def diff_gold(old: GoldDataset, new: GoldDataset) -> GoldDiff:
    """Set two gold sets side by side.

    The order of questions, of gold items and of alternatives means nothing, nor do white space and
    Unicode form. What one of the two does not hold at all (qrels hold no questions, and ids no
    texts) is not compared, and named.

    Args:
        old: the earlier one.
        new: the later one.
    """
    lacking = [*_lacking(old, new)]
    partner = _partners([query.id for query in old], [query.id for query in new])
    questions = []
    for query in old:
        if query.id not in partner:
            questions.append(QuestionChange(query.id, query.text, "dropped"))
            continue
        other = new[partner[query.id]]
        is_same = query_hash(query) == query_hash(other)  # in a fraction of the time
        changes = () if is_same else tuple(_changes(query, other, lacking))
        if changes:
            questions.append(QuestionChange(other.id, other.text or query.text, "changed", changes))
    known = set(partner.values())
    questions += [QuestionChange(q.id, q.text, "added") for q in new if q.id not in known]
    return GoldDiff(
        old.settings, new.settings, len(old), len(new), tuple(questions), tuple(lacking)
    )


def diff_files(old: str | Path, new: str | Path) -> GoldDiff:
    """`diff_gold` for files of any format; of releases it reads those that were changed, too.

    Raises:
        DataError: a file has mistakes, or holds no question.
    """
    sides, remarks = [], []
    for path in (old, new):
        dataset, _ = read_results(path)
        if (release := release_of(path)) is not None:
            changed = release.changed(dataset.content_hash)
            version = release.version
            if changed:
                version = phrase("{version}, changed since", version=version)
            remarks += [joined(": ", [str(path), changed])] if changed else []
            dataset = replace(dataset, name=release.name, version=version)
        sides.append(dataset)
    return replace(diff_gold(*sides), cautions=tuple(remarks))


def _lacking(old: GoldDataset, new: GoldDataset) -> Iterator[str]:
    """What one of two gold sets does not hold at all, though the other does."""
    for name, values in (
        ("questions", lambda data: (query.text for query in data)),
        ("texts of gold", lambda data: (item.text for _, item in _items(data))),
        ("ids of gold", lambda data: (item.id for _, item in _items(data))),
    ):
        has = [any(value is not None for value in values(data)) for data in (old, new)]
        if has[0] != has[1] and all(
            any(_items(data)) or name == "questions" for data in (old, new)
        ):
            yield name


def _items(dataset: GoldDataset) -> Iterator[tuple[str, Gold | Doc]]:
    for query in dataset:
        for position, gold in enumerate(query.gold):
            yield from named_items(position, gold)


def _partners(old: Sequence[str], new: Sequence[str]) -> dict[str, str]:
    """For each id of the one that of the other: itself, else one of another Unicode form."""
    known, earlier = set(new), set(old)
    rest = {normalise(own): own for own in new if own not in earlier}
    pairs = {own: own for own in old if own in known}
    for own in old:
        if own not in pairs and normalise(own) in rest:
            pairs[own] = rest.pop(normalise(own))
    return pairs


def _changes(old: Query, new: Query, lacking: Sequence[str]) -> Iterator[FieldChange]:
    """What changed in a question."""
    if "questions" not in lacking:
        yield from _field("question", old.text, new.text)
        said = ([turn.to_dict() for turn in query.history] for query in (old, new))
        yield from _field("history", *said)
    yield from _field("answerable", old.answerable is not False, new.answerable is not False)
    yield from _field("reference", old.reference, new.reference)
    yield from _field("facts", old.metadata.get("facts"), new.metadata.get("facts"))
    yield from _gold_changes(old.gold, new.gold, lacking)
    expected = (sorted(map(normalise, query.expected_doc_types)) for query in (old, new))
    yield from _field("expected_doc_types", *expected)
    if "questions" in lacking:  # what has none has no labels either
        return
    yield from _label("query_type", old.query_type, new.query_type)
    of_old, of_new = _normal(old.metadata), _normal(new.metadata)
    for name in dict.fromkeys([*of_old, *of_new]):
        if name != "facts":
            yield from _label(f"metadata.{name}", of_old.get(name), of_new.get(name))


def _field(what: str, before: Any, after: Any) -> Iterator[FieldChange]:
    if _canonical(before) != _canonical(after):
        yield FieldChange(what, what, before, after)


def _label(name: str, before: Any, after: Any) -> Iterator[FieldChange]:
    if _canonical(before) != _canonical(after):
        yield FieldChange("label", name, before, after, "labels")


def _gold_changes(
    olds: Sequence[Gold], news: Sequence[Gold], lacking: Sequence[str]
) -> Iterator[FieldChange]:
    """What changed in the gold of a question."""
    pairs = _paired(olds, news)
    for row, gold in enumerate(olds):
        if row not in pairs:
            yield FieldChange("gold dropped", _name(gold), gold.grade, None, _kind(gold))
    for row, before in enumerate(olds):
        if row in pairs:
            yield from _item_changes(before, news[pairs[row]], lacking)
    taken = set(pairs.values())
    for row, gold in enumerate(news):
        if row not in taken:
            yield FieldChange("gold added", _name(gold), None, gold.grade, _kind(gold))


def _item_changes(before: Gold, after: Gold, lacking: Sequence[str]) -> Iterator[FieldChange]:
    """What changed in a gold item that both have."""
    name, kind = _name(after), _kind(before, after)
    if before.grade != after.grade:
        yield FieldChange("grade", name, before.grade, after.grade, kind)
    if kind == "gold" and _is_recorded(before, after):
        kind = "moved"
    # Without a record other ids mean the same to those alone who compare texts.
    of_ids: Kind = "ids" if kind == "gold" and _have_same_texts(before, after) else kind
    if "ids of gold" not in lacking and _form(before.id) != _form(after.id):
        yield FieldChange("moved", _name(before), before.id, after.id, of_ids)
    if "texts of gold" not in lacking and _form(before.text) != _form(after.text):
        yield FieldChange("text", name, before.text, after.text, kind)
    others = [[_other(doc, lacking) for doc in gold.alternatives] for gold in (before, after)]
    if sorted(map(_canonical, others[0])) != sorted(map(_canonical, others[1])):
        yield FieldChange("alternatives", name, others[0], others[1], of_ids)
    for what, keys in (("evidence", True), ("gold metadata", False)):
        values = [
            {
                key: own
                for key, own in gold.metadata.items()
                if (key in _PLACE) is keys and key != MOVE
            }
            for gold in (before, after)
        ]
        if keys and not all(values) and before.id and _form(before.id) == _form(after.id):
            continue  # of one chunk: where it stands is said by one of both alone
        if _canonical(values[0]) != _canonical(values[1]):
            yield FieldChange(what, name, values[0] or None, values[1] or None, kind)


_Key = Callable[[Gold], Hashable]


def _ids(gold: Gold) -> tuple[str, ...] | None:
    """The ids of a gold item and its alternatives; None if it has none."""
    ids = (doc.id for _, doc in named_items(0, gold) if doc.id is not None)
    return tuple(sorted(map(normalise, ids))) or None


def _origin(gold: Gold) -> tuple[str, ...] | None:
    """The same of the item that it was before a move; None if no record, or another's, says it."""
    record = gold.metadata.get(MOVE)
    sides = [record.get(own) for own in ("from", "to")] if isinstance(record, Mapping) else []
    ids = [
        sorted(map(normalise, map(str, side))) for side in sides if isinstance(side, (list, tuple))
    ]
    # Somebody who corrects a line by hand changes its id, and leaves its metadata.
    return tuple(ids[0]) if len(ids) == 2 and tuple(ids[1]) == _ids(gold) else None


def _is_recorded(before: Gold, after: Gold) -> bool:
    """Whether the record of a move says that the one is the other, with the same text."""
    origin = _origin(after)
    if origin is None or origin != _ids(before):
        return False
    if before.text is None or after.text is None:
        return True
    # Where somebody wrote another text since, the record is of the one before.
    return _letters(before.text) == _letters(after.text)


def _letters(text: str) -> str:
    """What a move compares of a text."""
    return "".join(filter(str.isalnum, normalise(text).casefold()))


def _have_same_texts(one: Gold, other: Gold) -> bool:
    """Whether nobody who compares texts alone can tell two items apart."""
    texts = [{_form(doc.text) for _, doc in named_items(0, gold)} for gold in (one, other)]
    return texts[0] == texts[1] and None not in texts[0]


def _paired(olds: Sequence[Gold], news: Sequence[Gold]) -> dict[int, int]:
    """The positions of gold items that are one and the same, by what they share most."""
    pairs: dict[int, int] = {}
    free = dict.fromkeys(range(len(news)))
    # By text before id: chunks that are counted anew have each other's ids.
    keys: tuple[tuple[_Key, _Key], ...] = (
        (_meaning, _meaning),
        (_ids, _origin),
        *(
            (key, key)
            for key in (
                lambda gold: gold.id and gold.text and (_form(gold.id), _form(gold.text)),
                lambda gold: _form(gold.text),
                lambda gold: gold.id and (_form(gold.id), _place(gold)),
                lambda gold: gold.id and _form(gold.id),
                _place,
            )
        ),
    )
    for of_old, of_new in keys:
        waiting: dict[Hashable, list[int]] = {}
        for row in free:
            if (value := of_new(news[row])) is not None:
                waiting.setdefault(value, []).append(row)
        for row, gold in enumerate(olds):
            rows = waiting.get(of_old(gold)) if row not in pairs else None
            if rows:
                pairs[row] = rows.pop(0)
                del free[pairs[row]]
    for row, gold in enumerate(olds):
        if row not in pairs and free:
            match = next((own for own in free if _is_within(gold, news[own])), None)
            if match is not None:
                pairs[row] = match
                del free[match]
    return pairs


def _is_within(one: Gold, other: Gold) -> bool:
    """Whether two items share an alternative, or one's text is a part of the other's."""
    ids = [{_form(own.id) for _, own in named_items(0, gold)} - {None} for gold in (one, other)]
    texts = [_form(gold.text) or "" for gold in (one, other)]
    shorter, longer = sorted(texts, key=len)
    return bool(ids[0] & ids[1]) or (len(shorter) >= _LEAST and shorter in longer)


def _form(text: str | None) -> str | None:
    return None if text is None else normalise(text)


def _meaning(gold: Gold) -> str:
    others = sorted(_canonical(_other(doc, ())) for doc in gold.alternatives)
    return _canonical([gold.id, gold.text, gold.grade, others, gold.metadata])


def _place(gold: Gold) -> str | None:
    place = {key: gold.metadata[key] for key in _PLACE if key in gold.metadata}
    return _canonical(place) if place else None


def _other(doc: Doc, lacking: Sequence[str]) -> dict[str, Any]:
    """An alternative, as far as it is compared."""
    return {
        **({} if "ids of gold" in lacking else {"id": _form(doc.id)}),
        **({} if "texts of gold" in lacking else {"text": _form(doc.text)}),
        **({"metadata": dict(doc.metadata)} if doc.metadata else {}),
    }


def _kind(*golds: Gold) -> Kind:
    return "gold" if any(gold.grade > 0 for gold in golds) else "judged"


def _name(gold: Gold) -> str:
    if gold.id is not None:
        return gold.id
    first = next((own.text or own.id for _, own in named_items(0, gold) if own.text or own.id), "")
    return shorten_text(visible(first or ""))


def _canonical(value: Any) -> str:
    """JSON in which white space and Unicode form of texts mean nothing."""
    return json.dumps(_normal(value), sort_keys=True, ensure_ascii=False, default=str)


def _normal(value: Any) -> Any:
    if isinstance(value, str):
        return normalise(value)
    if isinstance(value, Mapping):
        return {normalise(str(key)): _normal(own) for key, own in value.items()}
    if isinstance(value, Iterable):
        return [_normal(own) for own in value]
    return value


def _shown(value: Any) -> str:
    if value is None:
        return phrase("none")
    if isinstance(value, bool):
        return phrase("yes") if value else phrase("no")
    if isinstance(value, str):
        return shorten_text(visible(value))
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):  # alternatives, turns, or whatever a label holds
        names = ", ".join(str(_named_part(own)) for own in value)
        return shorten_text(visible(names)) or phrase("none")
    return visible(shorten(value, _WIDTH))


def _named_part(value: Any) -> Any:
    """What a document or turn in a list is shown by; anything else is itself."""
    if not isinstance(value, dict):
        return value
    names = (value.get(name) for name in ("id", "text", "content"))
    return next(filter(None, names), value)


def _named(settings: Mapping[str, Any], n: int) -> str:
    return phrase("{name}: {n} questions", name=gold_name(settings), n=n)


def gold_name(settings: Mapping[str, Any]) -> str:
    """A gold set as people tell it from others: name, version, and the beginning of its hash."""
    name, version, content = visible(settings["name"]), settings["version"], settings["hash"][:12]
    if version is None:
        return phrase("{name}, sha256 {hash}", name=name, hash=content)
    return phrase(
        "{name} version {version}, sha256 {hash}",
        name=name,
        version=version,
        hash=content,
    )
