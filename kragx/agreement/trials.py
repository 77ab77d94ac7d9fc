"""What is tried, and on what: candidates, labelled pairs, and the scores that candidates give."""

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kragx import matchers
from kragx.agreement.label_files import Label, shares_half
from kragx.data import TokenCorpus, Tokenizer, normalise
from kragx.errors import DataError, UsageError
from kragx.matchers import BaseMatcher, MatchItem, MatchWarning, Notes
from kragx.matchers.matching import match as match_items
from kragx.metrics import Bools, Floats, Ints, MatchTable

TOKENIZERS = ("unicode", "char")

_SHARES = ("gold", "chunk")  # of `span`, besides the larger of the two
_ROUGE = (
    {"method": "overlap"},  # of rouge2
    *(
        {"method": method, "measure": measure}
        for method in ("rouge2", "rouge1", "rougeL")
        for measure in ("overlap", "recall", "precision", "fmeasure")
        if (method, measure) != ("rouge2", "overlap")
    ),
)


def candidates(
    tokenizers: Iterable[object] = TOKENIZERS, more: Iterable[object] = ()
) -> list[dict[str, Any]]:
    """What is tried, simplest and cheapest first.

    Matchers that decide yes or no; ROUGE with every measure, by tokenizer; other built-in matchers
    with a threshold that ask no model; then `more`, whatever it is.
    """
    specs: list[dict[str, Any]] = [{"method": "text"}, {"method": "contains"}]
    specs += [
        spec | ({} if tokenizer == "unicode" else {"tokenizer": tokenizer})
        for tokenizer in tokenizers
        for spec in _ROUGE
    ]
    listed = {spec["method"] for spec in _ROUGE}
    for method in matchers.METHODS:
        options = matchers.option_names(method)
        if (
            method not in listed
            and not matchers.method_class(method).asks
            and "threshold" in options
        ):
            shares = [{"method": method, "of": of} for of in _SHARES if "of" in options]
            specs += [{"method": method}, *shares]
    return specs + [as_mapping(spec) for spec in more]


def as_mapping(spec: object) -> dict[str, Any]:
    """A candidate's spec as a mapping; a threshold of its own is left to be chosen."""
    if isinstance(spec, str):
        return {"method": spec}
    if isinstance(spec, Mapping):
        return {name: value for name, value in spec.items() if name != "threshold"}
    raise UsageError(f"candidates: {spec!r} is neither a name nor a mapping")


@dataclass(frozen=True)
class Trial:
    """A candidate with the score of every labelled pair.

    Attributes:
        spec: what to match by.
        scores: (u) one for each pair.
        fixed: its threshold, where there is none to choose.
    """

    spec: dict[str, Any]
    scores: Floats
    fixed: float | None


def trials(items: Sequence[MatchItem], specs: Sequence[dict[str, Any]], pairs: Ints) -> list[Trial]:
    """The scores of each candidate; pairs are those of `resolved`.

    Raises:
        UsageError: a spec is wrong, or asks a judge, or there is none.
    """
    if not specs:
        raise UsageError("candidates: there is none")
    corpora: dict[Tokenizer, TokenCorpus] = {}
    tried = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MatchWarning)
        for spec in specs:
            matcher, fixed = _matcher(spec)
            table = match_items(items, matcher.sharing(corpora), Notes())
            tried.append(Trial(spec, _scores(items, table, pairs), fixed))
    # The same texts trouble many candidates; once is enough.
    for warning in {str(warning.message): warning for warning in caught}.values():
        warnings.warn(warning.message, warning.category, stacklevel=3)
    return tried


def _scores(items: Sequence[MatchItem], table: MatchTable, pairs: Ints) -> Floats:
    """(u) the score of each pair; of one with any gold item, the best with a relevant one."""
    dense = {row: np.nan_to_num(table.dense(row)) for row in np.unique(pairs[:, 0])}
    relevant = {row: [gold.grade > 0 for gold in items[row].query.gold] for row in dense}
    return np.array(
        [
            dense[row][doc, relevant[row]].max() if gold < 0 else dense[row][doc, gold]
            for row, doc, gold in pairs.tolist()
        ]
    )


def _matcher(spec: dict[str, Any]) -> tuple[BaseMatcher, float | None]:
    """The matcher of a candidate, and its own threshold where there is none to choose."""
    try:
        matcher = matchers.matcher(with_threshold(spec, 0.5))
        fixed = None if matcher.threshold == 0.5 else matcher.threshold
    except UsageError:  # it takes no threshold, or is wrong without one too
        matcher = matchers.matcher(spec)
        fixed = matcher.threshold
    if matcher.judges:
        raise UsageError(
            "candidates: a judge's grades are what others are compared with; name it in --labels"
        )
    return matcher, fixed


def with_threshold(spec: Mapping[str, Any], threshold: float) -> dict[str, Any]:
    """A spec with this threshold, where the kind of matcher takes it.

    Of a cascade it is the last member's, of an import path an argument.
    """
    if isinstance(spec.get("cascade"), Sequence) and spec["cascade"]:
        *first, last = spec["cascade"]
        return {**spec, "cascade": [*first, with_threshold(as_mapping(last), threshold)]}
    if ":" in str(spec.get("method")):
        return {**spec, "args": {**(spec.get("args") or {}), "threshold": threshold}}
    return {**spec, "threshold": threshold}


_Place = tuple[int, int, int]  # query, document, gold item
_Stretch = tuple[str, int, int]  # source, start, end


def resolved(
    items: Sequence[MatchItem], labels: Sequence[Label], positive: float
) -> tuple[Ints, Bools, int]:
    """The labelled pairs, whether each is a match, and how many labels are of none of them.

    Returns:
        (u, 3) query, document and gold item, by position, -1 for any gold item; (u) whether the
        label says that they match; the number of labels that are of no pair.

    Raises:
        DataError: two labels of a pair differ, or none is of a pair.
    """
    rows = {item.query.id: row for row, item in enumerate(items)}
    by_texts = _by_texts(items) if any(label.query_id is None for label in labels) else {}
    known: dict[_Place, bool] = {}
    n_unused = 0
    for label in labels:
        match = label.grade >= positive
        if label.query_id is None:
            places = by_texts.get((_normalised(label.doc_text), _normalised(label.gold_text)), [])
            for place in places:  # a gold item and its alternatives: one that matches is enough
                known[place] = known.get(place, False) or match
        else:
            row = rows.get(label.query_id)
            places = [] if row is None else _places(items[row], row, label)
            for place in places:
                if known.setdefault(place, match) != match:
                    raise DataError(
                        f"labels: query {label.query_id!r}, rank {place[1] + 1} is labelled "
                        "twice, and the labels differ; keep one"
                    )
        n_unused += not places
    if not known:
        raise DataError(
            f"labels: none of the {len(labels)} labels is of a retrieved document and a gold item "
            "of the results; check query ids, document ids and ranks"
        )
    ordered = sorted(known)
    return np.array(ordered, np.int64), np.array([known[place] for place in ordered]), n_unused


def _by_texts(items: Iterable[MatchItem]) -> dict[tuple[str | None, str | None], list[_Place]]:
    places: dict[tuple[str | None, str | None], list[_Place]] = defaultdict(list)
    for row, item in enumerate(items):
        for rank, doc in enumerate(item.docs):
            for target in item.targets:
                texts = _normalised(doc.text), _normalised(target.text)
                places[texts].append((row, rank, target.gold))
    return places


def _normalised(text: str | None) -> str | None:
    return None if text is None else normalise(text)


def _places(item: MatchItem, row: int, label: Label) -> list[_Place]:
    text, gold = _normalised(label.doc_text), item.query.gold
    docs = [
        position
        for position, doc in enumerate(item.docs)
        if label.rank in (None, position + 1)
        and label.doc_id in (None, doc.id)
        and (text is None or text == _normalised(doc.text))
    ]
    golds = [
        position
        for position, one in enumerate(gold)
        if label.gold in (None, position + 1) and label.gold_id in (None, one.id)
    ]
    if label.gold is None and label.gold_id is None:
        golds = [-1] if any(one.grade > 0 for one in gold) else []
    return [(row, doc, position) for doc in docs for position in golds]


def of_metadata(items: Iterable[MatchItem]) -> Iterator[Label]:
    """Labels of the pairs whose places in their sources are both known."""
    for item in items:
        golds = [_stretch(gold.text, gold.metadata) for gold in item.query.gold]
        for rank, doc in enumerate(item.docs, start=1):
            chunk = _stretch(doc.text, doc.metadata)
            for number, gold in enumerate(golds, start=1):
                if chunk is not None and gold is not None:
                    yield Label(float(_match(chunk, gold)), item.query.id, rank=rank, gold=number)


def _match(chunk: _Stretch, gold: _Stretch) -> bool:
    (source, start, end), (gold_source, gold_start, gold_end) = chunk, gold
    shared = min(end, gold_end) - max(start, gold_start)
    return source == gold_source and shares_half(shared, end - start, gold_end - gold_start)


def _stretch(text: str | None, metadata: Mapping[str, Any]) -> _Stretch | None:
    source, start = metadata.get("source"), metadata.get("start_index")
    end = metadata.get("end_index", None if text is None or start is None else start + len(text))
    if source is None or not isinstance(start, int) or not isinstance(end, int) or end <= start:
        return None
    return str(source), start, end
