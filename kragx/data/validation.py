"""`validate`: everything that is wrong with a gold set, and what it is made of."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kragx.data.documents import Doc
from kragx.data.formats.corpus import read_corpus
from kragx.data.gold import Gold, GoldDataset, Query
from kragx.data.problems import Problem, Problems, Report
from kragx.data.reading import Loaded, load
from kragx.data.text import normalise
from kragx.errors import UsageError, nearest, shorten
from kragx.printing import Line, Part, Result, Table, percent

SHORT = 10
"""A gold text of fewer characters than this stands in many texts by chance."""

COMMON = 0.2
"""A gold text that more than this share of a corpus contains tells its documents apart no more."""

SLICES = ("query_type", "difficulty", "category", "annotator", "expected_doc_types")
"""What the summary counts by."""

TOLERANCE = 0.05
"""How far a share may be from its target before it is a warning."""

_SPAN = re.compile(r"(?P<doc>.+):(?P<start>\d+)-(?P<end>\d+)")


@dataclass(frozen=True)
class Validation(Result):
    """What `validate` found.

    Attributes:
        file, name, format: of the gold set.
        content_hash: of the queries that could be read; None if none could.
        problems: by line.
        summary: counts of queries, gold and grades, and by each of `SLICES`.
        targets: for each slice its values with count, share and target share.
    """

    file: str
    name: str
    format: str
    content_hash: str | None
    problems: tuple[Problem, ...]
    summary: Mapping[str, Any]
    targets: Mapping[str, Mapping[str, Mapping[str, float | None]]]

    also_plain = ("n_errors", "n_warnings")

    @property
    def n_errors(self) -> int:
        """How many problems are errors."""
        return sum(each.level == "error" for each in self.problems)

    @property
    def n_warnings(self) -> int:
        """How many problems are warnings."""
        return len(self.problems) - self.n_errors

    def describe(self) -> Iterator[Part]:
        """Every problem on a line of its own, then what the gold set is made of."""
        for problem in self.problems:
            style = "red" if problem.level == "error" else "yellow"
            yield Line(f"{problem.level}: {problem}", style)
        summary = self.summary
        yield Line(
            f"{self.name}: {summary['n_queries']} queries ({summary['n_unanswerable']} marked "
            f"unanswerable), {summary['n_gold']} gold items, format {self.format}"
        )
        if self.content_hash is not None:
            yield Line(f"content hash: {self.content_hash}")
        rows = [
            ["grade", grade, str(count), _share(count, summary["n_gold"]), ""]
            for grade, count in summary["grades"].items()
        ]
        for name in SLICES:
            targets = self.targets.get(name, {})
            for value in dict.fromkeys([*summary[name], *targets]):
                count = summary[name].get(value, 0)
                target = targets.get(value, {}).get("target")
                wanted = "" if target is None else percent(target, 0)
                rows.append([name, value, str(count), _share(count, summary["n_queries"]), wanted])
        yield Table(("by", "value", "count", "share", "target"), rows, words=2)
        yield Line(f"{self.n_errors} errors, {self.n_warnings} warnings")


def _share(part: int, whole: int) -> str:
    return percent(part / whole if whole else None, 0)


def validate(
    path: str,
    *,
    corpus: str | None = None,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    targets: Mapping[str, Mapping[str, float]] | None = None,
) -> Validation:
    """Check a gold set.

    Args:
        path: the file.
        corpus: a corpus file; every gold text and id must come from it.
        format: as of `kragx.read_dataset`.
        columns: the same.
        encoding: the same.
        targets: for each of `SLICES` the share that each value should have.

    Raises:
        DataError: a file cannot be taken apart at all.
        UsageError: an argument is wrong.
    """
    for problem in target_problems(targets or {}):
        raise UsageError(f"targets.{problem}")
    loaded = load(path, format, columns, encoding=encoding)
    problems = Problems(str(path))
    problems.found += loaded.problems
    texts = None if corpus is None else _Corpus(read_corpus(corpus))
    if loaded.format == "qrels":
        problems.at(None)(
            "query", "qrels hold no questions, so that no retriever can be asked", "warning"
        )
    for line, query in loaded.queries:
        report = problems.at(line, query.id)
        if query.text is None and loaded.format != "qrels":
            report("query", "no text, so that no retriever can be asked", "warning")
        _check_query(query, report, loaded.format)
        for field, text in _gold_texts(query):
            _check_text(field, text, report, texts)
        if texts is not None:
            for field, doc_id in _ids(query, alone=True):
                if not texts.has(doc_id):
                    report(field, f"id {doc_id!r} is not in the corpus {corpus}")
    _check_questions(loaded, problems)
    compared = _targets(loaded, targets or {})
    for name, values in compared.items():
        for value, row in values.items():
            share, target = row["share"], row["target"]
            if share is not None and target is not None and abs(share - target) > TOLERANCE:
                problems.at(None)(
                    name,
                    f"{value}: {share:.0%} of the queries, the target is {target:.0%}",
                    "warning",
                )
    queries = tuple(query for _, query in loaded.queries)
    return Validation(
        file=str(path),
        name=loaded.name,
        format=loaded.format,
        content_hash=GoldDataset(queries).content_hash if queries else None,
        problems=tuple(sorted(problems.found, key=lambda each: each.line or 0)),
        summary=_summary(queries),
        targets=compared,
    )


def target_problems(targets: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """What is wrong with target shares: names of no slice, and numbers that are no shares."""
    for name, shares in targets.items():
        if name not in SLICES:
            yield f"{name}: unknown key {name!r}; {nearest(name, SLICES)}"
            continue
        for value, share in shares.items():
            if not 0 <= share <= 1:
                yield f"{name}.{value}: {share:g} is no share; write 0.25 for 25%"
        # A query may expect several types of document, but has one of everything else.
        total = sum(shares.values())
        if name != "expected_doc_types" and total > 1 + TOLERANCE:
            yield f"{name}: the shares add up to {total:g}; that can be 1 at most"


def _check_query(query: Query, report: Report, format: str) -> None:  # noqa: A002
    wanted = [gold for gold in query.gold if gold.grade > 0]
    if not wanted and format in ("qrels", "llamaindex"):
        # Neither has a word for what cannot be answered; in qrels such queries are usual.
        level = "warning" if format == "qrels" else "error"
        report("gold", "nothing is relevant; add gold, or leave the query out", level)
    elif not wanted and query.answerable is not False:
        report("gold", "no gold, and not marked unanswerable; add some, or answerable: false")
    if wanted and query.answerable is False:
        report("answerable", f"false, but there are {len(wanted)} gold items; keep one of the two")
    texts = [query.text, query.reference, query.query_type, query.id]
    for field, text in zip(("query", "reference", "query_type", "query_id"), texts):
        _check_unicode(field, text, report)
    for at, each in enumerate(query.expected_doc_types):
        _check_unicode(f"expected_doc_types[{at}]", each, report)
    for field, doc_id in _ids(query):
        _check_unicode(field, doc_id, report)
        if doc_id != doc_id.strip():
            report(
                field,
                f"{doc_id!r} begins or ends with white space, as no id should; remove it",
                "warning",
            )
    seen: dict[str, int] = {}
    for at, gold in enumerate(query.gold):
        if gold.text is not None:
            text = normalise(gold.text)
            if text and text in seen:
                both = (query.gold[seen[text]].grade, gold.grade)
                contradiction = both[0] != both[1]
                report(
                    f"gold[{at}].text",
                    f"the same text as gold[{seen[text]}]"
                    + (f", with grade {both[1]:g} instead of {both[0]:g}" if contradiction else ""),
                    "error" if contradiction else "warning",
                )
            seen.setdefault(text, at)
    _check_ids_once(query, report)
    facts = query.metadata.get("facts")
    if facts is not None and (
        not isinstance(facts, list)
        or not all(isinstance(each, str) and each.strip() for each in facts)
    ):
        report("metadata.facts", f"must be a list of texts, not {shorten(facts)}")


def _check_ids_once(query: Query, report: Report) -> None:
    grades: dict[str, tuple[int, float]] = {}
    for at, gold in enumerate(query.gold):
        for each in (gold.id, *(other.id for other in gold.alternatives)):
            if each is None:
                continue
            before, grade = grades.setdefault(each, (at, gold.grade))
            if before != at:
                report(
                    f"gold[{at}].id",
                    f"id {each!r} also stands in gold[{before}]"
                    + (f", with grade {grade:g}: keep one" if grade != gold.grade else ""),
                    "error" if grade != gold.grade else "warning",
                )


def _check_unicode(field: str, text: str | None, report: Report) -> None:
    if text is None:
        return
    if not unicodedata.is_normalized("NFC", text):
        report(
            field,
            "text in NFD (as macOS writes file names); matchers of texts read it, but ids, types "
            "and searches do not: save it as NFC",
            "warning",
        )
    if "\ufffd" in text:
        report(field, "holds U+FFFD, a character that was lost in a conversion", "warning")


def _check_text(field: str, text: str, report: Report, corpus: _Corpus | None) -> None:
    _check_unicode(field, text, report)
    plain = normalise(text)
    if not plain:
        report(field, "an empty text; it is in every document, so it matches everything")
        return
    found = None if corpus is None else corpus.containing(plain)
    if found == 0:
        report(field, f"is not in the corpus: {shorten(plain, 50)}")
    elif found is not None and corpus is not None and found > max(1, COMMON * len(corpus)):
        report(
            field,
            f"{shorten(plain, 40)} stands in {found} of {len(corpus)} documents, so it matches "
            "whatever is retrieved; quote more of its passage",
            "warning",
        )
    elif len(plain) < SHORT:
        report(
            field,
            f"only {len(plain)} characters ({plain!r}), which many texts hold; quote more",
            "warning",
        )


def _gold_texts(query: Query) -> Iterator[tuple[str, str]]:
    for at, gold in enumerate(query.gold):
        if gold.text is not None:
            yield f"gold[{at}].text", gold.text
        for number, other in enumerate(gold.alternatives):
            if other.text is not None:
                yield f"gold[{at}].alternatives[{number}].text", other.text


def _ids(query: Query, *, alone: bool = False) -> Iterator[tuple[str, str]]:
    """The ids of gold; `alone`: where no text stands beside, for there an id may be of anything."""
    for at, gold in enumerate(query.gold):
        if gold.id is not None and not (alone and gold.text is not None):
            yield f"gold[{at}].id", gold.id
        for number, other in enumerate(gold.alternatives):
            if other.id is not None and not (alone and other.text is not None):
                yield f"gold[{at}].alternatives[{number}].id", other.id


class _Corpus:
    """The texts of a corpus, normalised once."""

    def __init__(self, docs: Sequence[Doc]) -> None:
        self._lengths = {doc.id: len(doc.text or "") for doc in docs}
        self._texts = [normalise(doc.text or "") for doc in docs]

    def __len__(self) -> int:
        return len(self._texts)

    def containing(self, text: str) -> int:
        """How many documents contain a normalised text."""
        return sum(text in each for each in self._texts)

    def has(self, doc_id: str) -> bool:
        """Whether a document, or a chunk that is named ``document:start-end``, is there."""
        if doc_id in self._lengths:
            return True
        span = _SPAN.fullmatch(doc_id)
        if span is None or span["doc"] not in self._lengths:
            return False
        return int(span["start"]) < int(span["end"]) <= self._lengths[span["doc"]]


def _check_questions(loaded: Loaded, problems: Problems) -> None:
    """Questions that stand twice: with the same gold they weigh double, else they contradict."""
    first: dict[str, tuple[int | None, Query]] = {}
    for line, query in loaded.queries:
        if query.text is None:
            continue
        text = normalise(query.text, casefold=True)
        before_line, before = first.setdefault(text, (line, query))
        if before is query:
            continue
        place = before.id if before_line is None else f"{before.id} on line {before_line}"
        if _meaning(before.gold) == _meaning(query.gold):
            problems.at(line, query.id)(
                "query", f"the same question as {place}, so it weighs double", "warning"
            )
        else:
            problems.at(line, query.id)(
                "query", f"the same question as {place}, with other gold: keep one, or merge them"
            )


def _meaning(golds: Sequence[Gold]) -> set[tuple[object, ...]]:
    return {
        (
            gold.grade,
            frozenset(
                (doc_id, None if text is None else normalise(text))
                for doc_id, text in (
                    (gold.id, gold.text),
                    *((other.id, other.text) for other in gold.alternatives),
                )
            ),
        )
        for gold in golds
    }


def _values(query: Query, name: str) -> list[str]:
    if name == "query_type":
        return [] if query.query_type is None else [query.query_type]
    if name == "expected_doc_types":
        return list(query.expected_doc_types)
    value = query.metadata.get(name)
    return [] if value is None else [str(value)]


def _summary(queries: Sequence[Query]) -> dict[str, Any]:
    grades = Counter(gold.grade for query in queries for gold in query.gold)
    return {
        "n_queries": len(queries),
        "n_unanswerable": sum(query.answerable is False for query in queries),
        "n_gold": sum(grades.values()),
        "grades": {f"{grade:g}": grades[grade] for grade in sorted(grades, reverse=True)},
        **{
            name: dict(Counter(value for query in queries for value in _values(query, name)))
            for name in SLICES
        },
    }


def _targets(
    loaded: Loaded, targets: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, dict[str, float | None]]]:
    """For each slice with targets: the count, share and target of each value."""
    compared = {}
    total = len(loaded.queries)
    for name, shares in targets.items():
        counts = Counter(v for _, query in loaded.queries for v in _values(query, name))
        compared[name] = {
            value: {
                "count": float(counts[value]),
                "share": counts[value] / total if total else None,
                "target": shares.get(value),
            }
            for value in dict.fromkeys([*shares, *counts])
        }
    return compared
