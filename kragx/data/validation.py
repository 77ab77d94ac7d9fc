"""`validate`: everything that is wrong with a gold set, and what it is made of."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from kragx.data.corpus import Corpus, as_corpus
from kragx.data.documents import Doc
from kragx.data.forbidden import FORBIDDEN, Forbidden, check_versions
from kragx.data.formats.document_rows import Role
from kragx.data.formats.format import query_record, rules_record
from kragx.data.gold import Gold, Query, hash_of, named_items, query_hash
from kragx.data.problems import Level, Problem, Problems
from kragx.data.reading import is_source, read_dataset
from kragx.data.released import release_of
from kragx.data.rules import RuleSet
from kragx.data.source import Reading
from kragx.data.text import normalise
from kragx.data.weights import unequal, weights_of
from kragx.ground.errors import DataError, UsageError, nearest, shorten
from kragx.ground.printing import Line, Part, Result, Table, joined, message, percent, plural

SHORT = 10
"""A gold text of fewer characters than this stands in many texts by chance."""

SLICES = ("query_type", "difficulty", "category", "annotator", "expected_doc_types")
"""What the summary counts by."""

TOLERANCE = 0.05
"""How far a share may be from its target before it is a warning."""

_LEVELS = {"error": message("error"), "warning": message("warning")}

_Mistake = tuple[str, str, Level]
"""A field of a query, what is wrong with it, and how much."""


@dataclass(frozen=True)
class Validation(Result):
    """What `validate` found.

    Attributes:
        file, name, format: of the gold set.
        content_hash: of the queries that could be read; None if none could.
        problems: by line.
        summary: counts of queries, gold and grades, and by each of `SLICES`; where questions have
            weights, how many asks they stand for.
        targets: for each slice its values with count, share and target share.

    Examples:
        >>> from kragx import GoldDataset, validate, write_gold
        >>> dataset = GoldDataset.from_documents([["Seoul"]], queries=["Which city?"])
        >>> write_gold(dataset, "gold.jsonl")
        >>> validation = validate("gold.jsonl")
        >>> validation.n_errors, validation.format
        (0, 'gold')
    """

    file: str
    name: str
    format: str
    content_hash: str | None
    problems: tuple[Problem, ...]
    summary: Mapping[str, Any]
    targets: Mapping[str, Mapping[str, Mapping[str, float | None]]]

    also_plain: ClassVar[tuple[str, ...]] = ("n_errors", "n_warnings")

    @property
    def n_errors(self) -> int:
        """How many problems are errors."""
        return sum(problem.level == "error" for problem in self.problems)

    @property
    def n_warnings(self) -> int:
        """How many problems are warnings."""
        return len(self.problems) - self.n_errors

    def describe(self) -> Iterator[Part]:
        """Every problem on a line of its own, then what the gold set is made of."""
        for problem in self.problems:
            style = "red" if problem.level == "error" else "yellow"
            yield Line(joined(": ", [_LEVELS[problem.level], problem.text]), style)
        summary = self.summary
        yield Line(
            message(
                "{name}: {n} queries ({n_unanswerable} marked unanswerable), {n_gold} gold items, "
                "format {format}",
                name=self.name,
                n=summary["n_queries"],
                n_unanswerable=summary["n_unanswerable"],
                n_gold=summary["n_gold"],
                format=self.format,
            )
        )
        if "n_asks" in summary:
            yield Line(message("they stand for {asks:,} asks", asks=round(summary["n_asks"])))
        if self.content_hash is not None:
            yield Line(message("content hash: {hash}", hash=self.content_hash))
        grades = summary["grades"]
        rows = [_row("grade", grade, grades, summary["n_gold"], {}) for grade in grades]
        for name in SLICES:
            targets = self.targets.get(name, {})
            rows += [
                _row(name, value, summary[name], summary["n_queries"], targets.get(value, {}))
                for value in dict.fromkeys([*summary[name], *targets])
            ]
        counted = [message("count"), message("share"), message("target")]
        heads = [message("by"), message("value"), *counted]
        yield from [Table(heads, rows, words=2)] if rows else []
        errors = plural(self.n_errors, "1 error", "{n} errors")
        warnings = plural(self.n_warnings, "1 warning", "{n} warnings")
        yield Line(joined(", ", [errors, warnings]))


def _row(
    name: str, value: str, counts: Mapping[str, int], whole: int, target: Mapping[str, float | None]
) -> list[str]:
    count, goal = counts.get(value, 0), target.get("target")
    share = percent(count / whole if whole else None, 0)
    return [name, value, str(count), share, "" if goal is None else percent(goal, 0)]


def validate(
    dataset: object,
    *,
    corpus: str | None = None,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    targets: Mapping[str, Mapping[str, float]] | None = None,
    role: Role | None = None,
) -> Validation:
    """Check a gold set.

    Its errors are what every command refuses, and what is not in `corpus`; the rest are warnings.

    Args:
        dataset: the path of a gold file, or whatever else `kragx.read_dataset` takes.
        corpus: a corpus file; every gold text and id must come from it.
        format: as of `kragx.read_dataset`.
        columns: the same.
        encoding: the same.
        targets: for each of `SLICES` the share that each value should have.
        role: as of `kragx.read_dataset`.

    Raises:
        DataError: a file cannot be taken apart at all.
        UsageError: an argument is wrong.

    Examples:
        >>> from pathlib import Path
        >>> from kragx import validate
        >>> _ = Path("gold.jsonl").write_text('{"query_id": "q1", "query": "Where?", "gold": []}')
        >>> [(problem.level, problem.message[:7]) for problem in validate("gold.jsonl").problems]
        [('warning', 'no gold')]
    """
    for problem in target_problems(targets or {}):
        raise UsageError("targets.{why}", why=problem)
    source, name = dataset, None
    if not is_source(dataset):
        gold = read_dataset(dataset)
        source, name = [*rules_record(gold.forbidden), *map(query_record, gold)], gold.name
    reading = Reading(source, format, columns, encoding=encoding, expected="gold", role=role)
    name = name or reading.name
    lines = [(line, query) for line, query, _ in reading]
    queries = tuple(query for _, query in lines)
    kind = "unknown" if reading.format is None else reading.format.name
    problems = reading.problems
    whole = None if corpus is None else as_corpus(corpus)
    if kind == "qrels":
        wording = message("qrels hold no questions, so that no retriever can be asked")
        problems.add(None, "query", wording, "warning")
    rules = RuleSet.of(reading.forbidden)
    broken = {problem.query_id for problem in problems.found if problem.level == "error"}
    for line, query in lines:
        # Of a broken query what was left out may be its gold.
        checks = [] if query.id in broken else [_of_gold(query, kind, rules)]
        for mistake in chain(*checks, _of_query(query, kind, whole)):
            problems.add(line, *mistake, query.id)
    _check_questions(lines, problems, rules)
    content_hash = hash_of(map(query_hash, queries), reading.forbidden) if queries else None
    try:  # documents may take each other's place in a circle through several questions
        check_versions(item for query in queries for item in query.forbidden or ())
    except DataError as error:
        problems.add(None, f"{FORBIDDEN}.{error.field}", error.problem_and_remedy)
    release = release_of(source) if isinstance(source, (str, Path)) else None
    if release and (changed := release.changed(content_hash or "")):
        problems.add(None, None, changed)
    summary = _summary(queries)
    try:
        unequal(weights_of(queries), name)
    except DataError as error:
        problems.add(None, error.field, error.problem_and_remedy)
    compared = {
        name: _compared(name, summary[name], shares, len(queries), problems)
        for name, shares in (targets or {}).items()
    }
    return Validation(
        file=str(source) if isinstance(source, (str, Path)) else name,
        name=name,
        format=kind,
        content_hash=content_hash,
        # By line, as a file is mended from its top on; what is of no line comes first.
        problems=tuple(sorted(problems.found, key=lambda problem: problem.line or 0)),
        summary=summary,
        targets=compared,
    )


def target_problems(targets: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """What is wrong with target shares: names of no slice, and numbers that are no shares."""
    for name, shares in targets.items():
        if name not in SLICES:
            yield message("{name}: unknown key; {hint}", name=name, hint=nearest(name, SLICES))
            continue
        for value, share in shares.items():
            if not 0 <= share <= 1:
                yield message(
                    "{name}.{value}: {share:g} is no share; write 0.25 for 25%",
                    name=name,
                    value=value,
                    share=share,
                )
        # A query may expect several types of document, but has one of everything else.
        total = sum(shares.values())
        if name != "expected_doc_types" and total > 1 + TOLERANCE:
            yield message(
                "{name}: the shares add up to {total:g}; that can be 1 at most",
                name=name,
                total=total,
            )


def _of_gold(query: Query, kind: str, rules: RuleSet) -> Iterator[_Mistake]:
    """That a query has no gold, unless it says so, or only tries what must not come."""
    if query.answerable is False or any(gold.grade > 0 for gold in query.gold):
        return
    if query.forbidden or any(rule.asker(query.metadata) is not None for rule in rules.rules):
        return
    wording = message(
        "nothing is relevant, so it is not scored; add gold, or leave the query out"
        if kind == "qrels"  # which have no word for what cannot be answered
        else "no gold, and not marked unanswerable, so it is not scored; add some, or answerable: "
        "false"
    )
    yield "gold", wording, "warning"


def _of_query(query: Query, kind: str, corpus: Corpus | None) -> Iterator[_Mistake]:
    """What else is wrong with a query."""
    if query.text is None and kind != "qrels":
        yield "query", message("no text, so that no retriever can be asked"), "warning"
    for field, text in _texts(query):
        if text is not None and not unicodedata.is_normalized("NFC", text):
            wording = message(
                "text in NFD (as macOS writes file names); matchers of texts read it, but ids, "
                "types and searches do not: save it as NFC"
            )
            yield field, wording, "warning"
    for place, item in _items(query):
        yield from _of_item(place, item, corpus)
    for position, forbidden in enumerate(query.forbidden or ()):
        place, source = f"{FORBIDDEN}[{position}]", forbidden.source
        yield from _of_item(place, forbidden, corpus)
        if corpus is not None and source is not None and source not in corpus.sources:
            wording = message(
                "no document of the corpus {corpus} is of the source {source}",
                corpus=corpus.name,
                source=shorten(source),
            )
            yield f"{place}.source", wording, "error"


def _of_item(place: str, item: Gold | Doc | Forbidden, corpus: Corpus | None) -> Iterator[_Mistake]:
    """That an item is no document of the corpus, so that nothing can match it, or many can."""
    if item.text is None:  # beside a text an id may be of anything
        if corpus is not None and item.id is not None and corpus.text(item.id) is None:
            wording = message(
                "id {id!r} is not in the corpus {corpus}", id=item.id, corpus=corpus.name
            )
            yield f"{place}.id", wording, "error"
        return
    text = normalise(item.text)
    # A line holds one document, and no text a line break. Who has an empty one was told.
    if corpus is not None and text not in corpus.normalised:
        wording = message("is not in the corpus: {text}", text=shorten(text, 50))
        yield f"{place}.text", wording, "error"
    elif 0 < len(text) < SHORT:
        wording = plural(
            len(text),
            "only 1 character ({text!r}), which many texts hold; quote more",
            "only {n} characters ({text!r}), which many texts hold; quote more",
            text=text,
        )
        yield f"{place}.text", wording, "warning"


def _items(query: Query) -> Iterator[tuple[str, Gold | Doc]]:
    """Gold items and their alternatives, each with its field."""
    return chain.from_iterable(named_items(*entry) for entry in enumerate(query.gold))


def _texts(query: Query) -> Iterator[tuple[str, str | None]]:
    """Every text and id of a query, with its field."""
    yield from (("query", query.text), ("reference", query.reference))
    yield from (("query_type", query.query_type), ("query_id", query.id))
    for number, name in enumerate(query.expected_doc_types):
        yield f"expected_doc_types[{number}]", name
    for number, turn in enumerate(query.history):
        yield f"history[{number}]", turn.content
    for place, item in _items(query):
        yield from ((f"{place}.id", item.id), (f"{place}.text", item.text))


def _check_questions(
    lines: Iterable[tuple[int | None, Query]], problems: Problems, rules: RuleSet
) -> None:
    """Questions that stand twice: with the same gold they weigh double.

    One of somebody else, who may see other documents, is another question.
    """
    first: dict[object, tuple[int | None, Query]] = {}
    for line, query in lines:
        text = normalise(query.text or "", casefold=True)
        askers = [rule.asker(query.metadata) for rule in rules.rules]
        # As text, since values of metadata need not have a hash.
        key = text, repr(askers), query.forbidden
        before_line, before = first.setdefault(key, (line, query))
        if before is query or not text:
            continue
        place = (
            before.id
            if before_line is None
            else message("{id} on line {line}", id=before.id, line=before_line)
        )
        problems.add(
            line,
            "query",
            message(
                "the same question as {place}, so it weighs double"
                if before.gold == query.gold
                else "the same question as {place}, with other gold: keep one, or merge them",
                place=place,
            ),
            "warning",
            query.id,
        )


def _counts(queries: Sequence[Query], name: str) -> Counter[str]:
    """How many queries have each value of a slice."""
    values = (getattr(query, name, query.metadata.get(name)) for query in queries)
    entries = chain.from_iterable(
        value if isinstance(value, tuple) else (value,) for value in values
    )
    return Counter(str(entry) for entry in entries if entry is not None)


def _summary(queries: Sequence[Query]) -> dict[str, Any]:
    grades = Counter(gold.grade for query in queries for gold in query.gold)
    weights = weights_of(queries)
    return {
        "n_queries": len(queries),
        **({} if weights is None else {"n_asks": round(float(weights.sum()), 6)}),
        "n_unanswerable": sum(query.answerable is False for query in queries),
        "n_gold": sum(grades.values()),
        "grades": {f"{grade:g}": grades[grade] for grade in sorted(grades, reverse=True)},
        **{name: _counts(queries, name) for name in SLICES},
    }


def _compared(
    name: str,
    counts: Counter[str],
    targets: Mapping[str, float],
    n_queries: int,
    problems: Problems,
) -> dict[str, dict[str, float | None]]:
    """The count, share and target of each value of a slice; one far from its target is reported."""
    rows: dict[str, dict[str, float | None]] = {}
    for value in dict.fromkeys([*targets, *counts]):
        share = counts[value] / n_queries if n_queries else None
        target = targets.get(value)
        rows[value] = {"count": float(counts[value]), "share": share, "target": target}
        if share is not None and target is not None and abs(share - target) > TOLERANCE:
            wording = message(
                "{value}: {share:.0%} of the queries, the target is {target:.0%}",
                value=value,
                share=share,
                target=target,
            )
            problems.add(None, name, wording, "warning")
    return rows
