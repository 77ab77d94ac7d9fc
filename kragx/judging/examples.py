"""Examples: pairs that people have graded, shown to the judge before what it is to grade.

Labels are worth most where they measure, so half of the labelled queries is held out: no pair of
theirs is ever an example, and `kragx agree` reports on them alone. Which half a query belongs to
follows from its id and nothing else, so that it stays where it is whatever is labelled later.
Whatever shares its query, its gold text or its document with what is judged is no example there.
"""

import hashlib
import re
import statistics
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

from kragx.data import as_corpus, read_dataset
from kragx.data.formats.jsonl import read_records
from kragx.ground.errors import DataError, UsageError, inside, shorten
from kragx.ground.options import check_options, from_options, one_of, optional, whole
from kragx.judging.question import Example, Question, digest_of_example, gold_texts
from kragx.judging.rubric import OF_DOCUMENTS, canonical_json, key_of

_WORD = re.compile(r"\w+")
_MOST_OF_A_GRADE = 250
"""Labelled pairs that are compared with each other; of more the same ones are always taken."""


def is_held_out(query_id: str) -> bool:
    """Whether the labels of a query only measure: of half of all ids, chosen by a hash."""
    name = f"held out\n{unicodedata.normalize('NFC', query_id)}"
    # A lone surrogate has no UTF-8; what stands for it is the same each time.
    return hashlib.sha256(name.encode("utf-8", "replace")).digest()[0] % 2 == 1


@dataclass(frozen=True)
class Examples:
    """Labels of people, and which of them a judge is shown.

    Attributes:
        labels: the path of TREC qrels, or `Example` objects.
        n: how many are shown with each question; fewer where too many share a text with it.
        asks: what people were asked, ``relevance`` or ``support``; None for what the sample of
            ``kragx judge label`` says, else ``relevance``.
        dataset: a gold set with the texts of queries.
        corpus: the texts of documents, as for `as_corpus`.
        pairs: those that may be shown, the first ones first.
        counts: of labelled pairs: ``n_labels``, ``n_held_out``, ``n_without_text``, ``n_usable``.

    What `kragx judge label` has labelled has its texts beside it, in ``LABELS.sample.jsonl``.

    Raises:
        UsageError: an option is wrong, or fewer than `n` pairs may be shown.
        DataError: a file cannot be read, or a pair has two labels or one that is no grade.
    """

    labels: Any
    n: Annotated[int, whole(1)] = 4
    asks: Annotated[Any, optional(one_of("relevance", "support"))] = None
    dataset: Any = None
    corpus: Any = None
    pairs: tuple[Example, ...] = field(init=False, repr=False)
    counts: Mapping[str, int] = field(init=False)
    _top: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_options(self)
        if isinstance(self.labels, (str, Path)):
            asked_type, top, labelled = _read(self)
        else:
            labelled = tuple(self.labels)
            if not all(isinstance(pair, Example) and pair.query_id for pair in labelled):
                raise UsageError(
                    "one has no query_id, from which follows whether it is held out",
                    field="labels",
                    remedy="pass the path of qrels, or Example objects, each with its query's id",
                )
            asked_type, top = self.asks, 0
        text = attrgetter("gold" if asked_type == "support" else "query")
        readable = [pair for pair in labelled if text(pair) and pair.document.strip()]
        usable = [pair for pair in readable if not is_held_out(pair.query_id or "")]
        counts = {
            "n_labels": len(labelled),
            "n_without_text": len(labelled) - len(readable),
            "n_held_out": len(readable) - len(usable),
            "n_usable": len(usable),
        }
        if len(usable) < self.n:
            raise UsageError(
                "{n} are wanted, and {n_usable} of {n_labelled} labels may be "
                "shown: {counts} held out, {counts_2} lack texts",
                field="n",
                remedy="label more pairs (kragx judge label), take a smaller n, or name the texts: "
                "dataset and corpus",
                n=self.n,
                n_usable=len(usable),
                n_labelled=len(labelled),
                counts=counts["n_held_out"],
                counts_2=counts["n_without_text"],
            )
        values = {
            "asks": asked_type or "relevance",
            # Others stand in for those that share a text with what is judged.
            "pairs": tuple(diverse(usable, 2 * self.n + 4)),
            "counts": counts,
            "_top": max(top, *(pair.grade for pair in labelled)),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """What tells these examples from others: a hash of those that are shown as a rule."""
        return key_of(canonical_json([*map(digest_of_example, self.pairs[: self.n])]))[:8]

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records of them."""
        labels = Path(self.labels).name if isinstance(self.labels, (str, Path)) else None
        return {"labels": labels, "n": self.n, "name": self.name, **self.counts}

    def shown_with(self, question: Question) -> Question:
        """The question with its examples; what people do not grade has none.

        Raises:
            UsageError: people were asked something else than the judge.
            DataError: people's scale is not the rubric's.
        """
        if question.rubric.asks not in OF_DOCUMENTS:
            return question
        rubric = question.rubric
        with inside("judge.examples"):
            if rubric.asks != self.asks:
                raise UsageError(
                    "people graded {asks}, and here {asks_2} is judged",
                    remedy="judge {asks} (mode: {asks}), or let people grade {asks_2} (kragx "
                    "judge label --asks {asks_2}; of labels from elsewhere say asks: {asks_2})",
                    asks=self.asks,
                    asks_2=rubric.asks,
                )
            if self._top > rubric.top:
                raise DataError(
                    "people's labels go up to {top}, and the rubric {id!r} to {top_2}",
                    remedy="name a rubric with people's scale (judge.rubric), or other labels",
                    top=self._top,
                    id=rubric.id,
                    top_2=rubric.top,
                )
        apart = (pair for pair in self.pairs if not _shares_text(pair, question))
        examples = tuple(islice(apart, self.n))
        return replace(question, examples=examples, examples_name=self.name)


def read_examples(source: object) -> Examples:
    """Examples from the path of labels, a mapping of the options of `Examples`, or `Example`s.

    Raises:
        UsageError, DataError: as `Examples`.
    """
    with inside("examples"):
        match source:
            case Examples():
                return source
            case Mapping():
                return from_options(Examples, source)
            case str() | Path() | Sequence():
                return Examples(source)
        raise UsageError(
            "{source} is none; pass the path of labelled pairs (qrels)", source=shorten(source)
        )


# -- which of them -------------------------------------------------------------------------------


def diverse(pairs: Iterable[Example], count: int) -> Iterator[Example]:
    """So many pairs at most, each the most unlike those before it.

    Every grade gets as many as any other, the highest and the lowest first; within a grade a query
    that has none yet goes before one that has; then the pair goes first whose nearest neighbour
    among those taken is the farthest, in tenths of shared words; then the one whose length is the
    most usual; then chance decides, the same each time.
    """
    by_grade: dict[int, list[Example]] = {}
    for pair in sorted(set(pairs), key=digest_of_example):
        by_grade.setdefault(pair.grade, []).append(pair)
    waiting = [pair for of_grade in by_grade.values() for pair in of_grade[:_MOST_OF_A_GRADE]]
    usual = statistics.median_high([len(pair.document) for pair in waiting] or [0])
    words = {id(pair): frozenset(_same(pair.document).split()) for pair in waiting}
    nearest = dict.fromkeys(words, 0.0)
    grades, queries = Counter[int](), Counter[str]()
    middle = (len(by_grade) - 1) / 2
    rank = {grade: (-abs(n - middle), -n) for n, grade in enumerate(sorted(by_grade))}

    def order(pair: Example) -> tuple[Any, ...]:
        return (
            grades[pair.grade],
            rank[pair.grade],
            queries[pair.query_id or ""],
            round(nearest[id(pair)], 1),
            abs(len(pair.document) - usual),
        )

    while waiting and count:
        pair = min(waiting, key=order)
        waiting = [candidate for candidate in waiting if candidate is not pair]
        grades[pair.grade] += 1
        queries[pair.query_id or ""] += 1
        shown = words[id(pair)]
        for candidate in map(id, waiting):
            alike = len(words[candidate] & shown) / max(len(words[candidate] | shown), 1)
            nearest[candidate] = max(nearest[candidate], alike)
        count -= 1
        yield pair


# -- which of them not ---------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _same(text: str) -> str:
    """A text by which it is the same text again: its words alone, in small letters."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(folded)) or folded.strip()


def _shares_text(example: Example, question: Question) -> bool:
    """Whether one may give the other away: it has its document, query or (a part of) its gold."""
    ids = [unicodedata.normalize("NFC", pair.query_id or "") for pair in (example, question)]
    # Of several gold texts people saw all at once.
    golds = [f" {_same(pair.gold)} " for pair in (example, question) if pair.gold]
    return (
        (ids[0] == ids[1] != "")
        or _same(example.document) == _same(question.document)
        or (example.query and question.query and _same(example.query) == _same(question.query))
        or (len(golds) == 2 and (golds[0] in golds[1] or golds[1] in golds[0]))
    )


# -- where they come from ------------------------------------------------------------------------

_Pair = tuple[str, str]


def _read(options: Examples) -> tuple[str | None, int, tuple[Example, ...]]:
    """What people were asked, the highest grade of their scale, and what they graded."""
    path = Path(options.labels)
    grades: dict[_Pair, int] = {}
    for query in read_dataset(path, "qrels"):
        for gold in query.gold:
            if gold.grade != int(gold.grade):
                raise DataError(
                    "{grade:g} is no grade of a rubric", path=str(path), grade=gold.grade
                )
            # Below 0 stand TREC's marks for what is not even to be read.
            grades[query.id, gold.id or ""] = max(0, int(gold.grade))
    asked_type: str | None = options.asks
    top, texts = 0, dict[_Pair, Example]()
    # What people saw stands there, and is what counts where the gold set has changed since.
    if (beside := sample_path(path)).exists():
        settings, rows = read_sampled(beside)
        named = str(settings.get("asks", "relevance"))
        if asked_type not in (None, named):
            raise UsageError(
                "people were asked for {named}, not {asks}",
                field="asks",
                path=str(beside),
                named=named,
                asks=asked_type,
            )
        asked_type, against = named, "gold" if named == "support" else "query"
        for query_id, document_id, text, document in rows:
            texts[query_id, document_id] = Example(document, 0, **{against: text})
        scale = re.findall(r"\d+", str(settings.get("scale", "0-3")))
        top = int(scale[-1]) if scale else 0
    if lacking := [pair for pair in grades if pair not in texts]:
        texts |= _of_files(options, lacking, support=asked_type == "support")
    labelled = (
        replace(texts.get(pair, Example("", 0)), grade=grade, query_id=pair[0], document_id=pair[1])
        for pair, grade in grades.items()
    )
    return asked_type, top, tuple(labelled)


def _of_files(options: Examples, pairs: Sequence[_Pair], *, support: bool) -> dict[_Pair, Example]:
    """The texts of pairs in a gold set and a corpus, as far as they have them."""
    dataset = () if options.dataset is None else read_dataset(options.dataset)
    queries, corpus = {query.id: query for query in dataset}, as_corpus(options.corpus)
    texts: dict[_Pair, Example] = {}
    for query_id, document_id in pairs:
        query, document = queries.get(query_id), corpus.text(document_id)
        if query is None or not document:
            continue
        against = (
            {"gold": "\n\n".join(gold_texts(query))}
            if support
            else {"query": query.text, "reference": query.reference}
        )
        texts[query_id, document_id] = Example(document, 0, **against)
    return texts


def sample_path(labels: Path) -> Path:
    """Where the sample of a label file is kept: beside it, as ``human.qrels.sample.jsonl``."""
    return labels.with_name(labels.name + ".sample.jsonl")


SAMPLED = ("query_id", "document_id", "query", "document")
"""What a line of a sample has; `query` is what the document is judged against."""


def read_sampled(path: Path) -> tuple[dict[str, Any], list[tuple[str, str, str, str]]]:
    """How `kragx judge label` has drawn a sample, and the `SAMPLED` of each pair in it.

    Raises:
        DataError: it is no such file.
    """
    records = read_records(path)
    line, head = next(records, (1, {}))
    if not isinstance(settings := head.get("sample"), dict):
        raise DataError("not a sample that kragx judge label has drawn", path=f"{path}:{line}")
    rows: list[tuple[str, str, str, str]] = []
    for line, record in records:
        if absent := [name for name in SAMPLED if name not in record]:
            raise DataError("{name!r} is missing", path=f"{path}:{line}", name=absent[0])
        query_id, document_id, query, document = (str(record[name]) for name in SAMPLED)
        rows.append((query_id, document_id, query, document))
    return settings, rows
