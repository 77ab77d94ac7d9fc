"""From a part to its table of values per question, which is computed unless it stands there.

A table is a Parquet file: columns, and what else is known of its part as JSON.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import TypeAdapter

from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats.jsonl import replacing, to_json
from kragx.data.formats.parquet import OPTIONS, TABLE_KEY
from kragx.data.weights import WEIGHT
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluation import versions
from kragx.evaluation.evidence import GatheredEvidence
from kragx.evaluation.forbidden import Beyond, Forbidding, widened
from kragx.evaluation.inputs import StreamStats, Texts, table_counts
from kragx.evaluation.parts.source_parts import Matches, Part, PartResult, itself, match_part
from kragx.evaluation.searching import SEARCHES
from kragx.evaluation.spans import Reader
from kragx.ground.errors import KragxError
from kragx.matchers import MatchItem, MatchWarning, Notes, is_built_in
from kragx.matchers.gold_siblings import compares_gold
from kragx.metrics import Floats, MetricScores, MetricSpec, compute
from kragx.metrics.engine import MetricWarning, bounds_of
from kragx.metrics.intervals import Ratio
from kragx.metrics.scores import number_of
from kragx.metrics.spans.reading import SpanOptions
from kragx.metrics.table_view import PooledCounts

FACTS = "facts "
"""Before the names of counts of facts."""

_LONGEST = 200
"""Characters of a value to slice by."""

VERSION = 8
"""Of the form of tables; a table of another one is not taken."""

_PASSED = ("lines", "statuses", "orders")
"""What is kept of `StreamStats` as it is."""

_JUDGED = ("n_judgements", "n_human", "n_distinct", "n_stored", "dialects")
"""What is kept of `Tally.kept`."""

_NOT_OURS = (ImportError, AttributeError, LookupError, TypeError, ValueError)
"""What reading a table raises that kragx has not written, or not so."""


@dataclass(kw_only=True)
class ScoredPart(PartResult):
    """What is known of some questions: those of a part, or of several.

    Attributes:
        facts: what the matcher of facts noted.
        readers: who has read texts for spans, in each way that was asked for.
        values: for each column the (q) values of each part: of metrics, and weights.
        sums: counts that are added up: of metrics under their names.
        longest: the most documents of a question.
        beyond: what all questions together can tell of what is forbidden.
        paths: of the table of each part.
        n_kept: how many parts have one that stood there before.
        n_open: how many have none, as judgements are missing.
    """

    facts: Notes = field(default_factory=Notes)
    readers: dict[SpanOptions, Reader] = field(default_factory=dict)
    values: dict[str, list[Floats]] = field(default_factory=dict)
    sums: Counter[str] = field(default_factory=Counter)
    longest: int = 0
    beyond: Beyond = field(default_factory=Beyond)
    paths: list[Path] = field(default_factory=list)
    n_kept: int = 0
    n_open: int = 0

    def add(self, later: Self) -> None:
        """Add the scores of the questions behind these."""
        self.notes.merge(later.notes)
        self.facts.merge(later.facts)
        self.beyond.merge(later.beyond)
        for options, reader in later.readers.items():
            self.readers.setdefault(options, Reader(options)).add(reader)
        for name, values in later.values.items():
            self.values.setdefault(name, []).extend(values)
        self.sums.update(later.sums)
        self.longest = max(self.longest, later.longest)
        self.paths += later.paths
        self.n_kept += later.n_kept
        self.n_open += later.n_open

    def column(self, name: str) -> Floats | None:
        """(q) the values of a column; None where there is none."""
        return np.concatenate(self.values[name]) if name in self.values else None

    def counts(self, start: str) -> dict[str, int]:
        """The sums whose names begin so, without that."""
        sums = ((name, n) for name, n in self.sums.items() if name.startswith(start))
        return {name.removeprefix(start): n for name, n in sums}


def settings_hash(criteria: Criteria, texts: Texts, forbidding: Forbidding | None = None) -> str:
    """What the values of a part depend on beside its content, in 64 hexadecimal digits.

    Settings, the code of what is not kragx's, the texts of a corpus, and versions; where something
    is forbidden the rules, and the corpus's metadata.
    """
    foreign = [m if m.inner is None else m.inner for m in criteria.members if not is_built_in(m)]
    metrics = [spec.metric for spec in criteria.specs if ":" in spec.name or spec.metric.function]
    ways = (m.function or m.from_matches or m.from_evidence or m.from_searches for m in metrics)
    told = [m.vocabulary for m in criteria.members if m.vocabulary and m.tells_siblings]
    docs = texts.corpus.docs.items() if texts.corpus.source is not None else ()
    settings = {
        "version": VERSION,
        "match": criteria.matcher.settings,
        "facts": None if criteria.facts_by is None else criteria.facts_by.settings,
        "vocabulary": [vocabulary.key for vocabulary in told],
        "passages": criteria.passages,
        "judges": [judge.decides_by for judge in criteria.judges],
        "code": [*map(_code, map(type, foreign)), *map(_code, ways)],
        "tokens": criteria.token_settings,
        "profile": asdict(criteria.profile),
        "metrics": criteria.metrics,
        "corpus": _hashed([doc_id, doc.text] for doc_id, doc in sorted(docs)),
        "texts": [texts.needed_by, *texts.sides],
        "versions": dict(versions()),
        **({} if forbidding is None else {FORBIDDEN: _of_forbidding(forbidding)}),
        **({} if criteria.searching is None else {SEARCHES: criteria.searches_settings}),
        "says_read": criteria.searching is None or criteria.searching.says_read,
    }
    return _hashed([settings])


def _of_forbidding(forbidding: Forbidding) -> list[Any]:
    docs = forbidding.corpus.docs.items() if forbidding.corpus.source is not None else ()
    metadata = _hashed([doc_id, dict(doc.metadata)] for doc_id, doc in sorted(docs))
    return [forbidding.settings, forbidding.id_key, forbidding.is_asked, metadata]


def _hashed(values: Iterable[object]) -> str:
    digest = hashlib.sha256()
    for value in values:
        digest.update(to_json(value).encode())
    return digest.hexdigest()


def _code(kind: Any) -> str:
    with suppress(TypeError, OSError):
        return hashlib.sha256(Path(inspect.getfile(kind)).read_bytes()).hexdigest()
    return repr(kind)


def scored(
    part: Part,
    criteria: Criteria,
    texts: Texts,
    folder: Path,
    settings: str,
    forbidding: Forbidding | None = None,
) -> ScoredPart:
    """The values of a part: from its table, which is written first if it does not stand there.

    Args:
        part: some questions.
        criteria: by which they are evaluated.
        texts: fills in those of ids.
        folder: where tables stand.
        settings: what values depend on beside the content of a part (`settings_hash`).
        forbidding: tells what must not come; None where nothing is forbidden.
    """
    name = hashlib.sha256(f"{part.key} {settings}".encode()).hexdigest()[:32]
    path = folder / f"{name}.parquet"
    if (stored := read_table(path, criteria.metrics)) is not None:
        return replace(stored, file=part.file)
    plan = criteria.plan(itself if criteria.looks else _groups, texts)
    golds = compares_gold(criteria.matcher)
    matched = match_part(part, replace(plan, hashes=True, golds=golds, forbidding=forbidding))
    stats, matches = matched.stats, matched.matches
    items, stats.kept = stats.kept or [], None
    result = ScoredPart(
        file=part.file,
        stats=stats,
        notes=matched.notes,
        lacking=matched.lacking,
        paths=[path],
    )
    if matches is None:
        return result
    try:
        with warnings.catch_warnings():  # it is said of all questions
            warnings.simplefilter("ignore", MetricWarning)
            warnings.simplefilter("ignore", MatchWarning)
            result.n_open = int(_compute(result, matches, items, criteria))
    except KragxError as error:
        raise error.within(path=part.name) from error
    if result.n_open:
        return result
    write_table(path, criteria.metrics, result, [*map(_groups, items)] if criteria.looks else items)
    return result


def _compute(
    result: ScoredPart, matches: Matches, lists: Sequence[MatchItem], criteria: Criteria
) -> bool:
    """The metrics of a part, noted with what all parts together may show.

    Returns:
        Whether judgements are missing: what they leave open is estimated from all questions.
    """
    evidence, table, searches, forbidden = None, matches.on_basis, matches.searches, None
    if matches.forbidden is not None:
        result.beyond = matches.forbidden.beyond
        forbidden = widened(matches.forbidden.marks, kinds_of(criteria))
    if criteria.looks:
        seen = forbidden, searches, matches.searched
        evidence = criteria.gathered(lists, table, 1, None, None, *seen)
    elif forbidden is not None or searches is not None:
        evidence = GatheredEvidence((), table, forbidden=forbidden, searches=searches)
    scores = compute(table, criteria.specs, criteria.profile, evidence)
    result.sums.update(table_counts(table, forbidden, searches))
    result.longest = table.longest
    result.values[WEIGHT] = [np.ones(table.n_queries) if table.weights is None else table.weights]
    for score in scores:
        result.values |= columns_of(score)
        result.sums.update(counts_of(score))
    if evidence is not None:
        result.readers = evidence.readers
        if (facts := evidence.matched_facts) is not None:
            result.facts = facts.notes
            result.sums.update({f"{FACTS}{name}": n for name, n in facts.n.items()})
    are_open = any(score.bounds and score.extremes is None for score in scores)
    return are_open or matches.table.has_unknown


def kinds_of(criteria: Criteria) -> set[str]:
    """What metrics ask for by name; of a part alone nobody knows whether it is forbidden at all."""
    specs = (spec for spec in criteria.specs if spec.metric.reads_forbidden)
    return {spec["kind"] or FORBIDDEN for spec in specs}


_COLUMNS = ("", " at most", " at least", " at best", " above", " below")
"""Behind a metric's name: its values, the most they could have reached, what they can become where
not all is known, and what each question adds to a sum over a sum."""


def columns_of(score: MetricScores) -> dict[str, list[Floats]]:
    """The columns of a metric's scores by name."""
    low, high = score.extremes or (None, None)
    ratio = score.ratio
    above, below = (None, None) if ratio is None else (ratio.numerator, ratio.denominator)
    columns = zip(_COLUMNS, (score.values, score.maxima, low, high, above, below))
    return {f"{score.spec}{name}": [column] for name, column in columns if column is not None}


def counts_of(score: MetricScores) -> dict[str, float]:
    """The counts of a metric's scores by name, which add up."""
    counts: dict[str, float] = {**score.counts, "not one to one": score.not_one_to_one}
    counts |= {} if score.no_gold is None else {"no gold": int(score.no_gold.sum())}
    counts |= {} if score.pooled is None else asdict(score.pooled)
    return {f"{score.spec} {name}": n for name, n in counts.items()}


def joined_scores(spec: MetricSpec, total: ScoredPart, weights: Floats | None) -> MetricScores:
    """The scores of a metric from the columns and counts of all parts.

    Args:
        spec: the metric.
        total: what is known of all questions.
        weights: (q) of these; None where all are alike.
    """
    metric, counts = spec.metric, total.counts(f"{spec} ")
    columns = (total.column(f"{spec}{name}") for name in _COLUMNS)
    values, maxima, low, high, above, below = columns
    assert values is not None
    n_many, n_no_gold = counts.pop("not one to one", 0), counts.pop("no gold", None)
    pooled = micro = None
    if metric.pooled is not None:
        # Each part has them by weights, which count nothing where all are alike.
        unit = 1.0 if weights is not None else next(chain(*total.values[WEIGHT]), 1.0)
        names = [field.name for field in fields(PooledCounts)]
        pooled = PooledCounts(*(counts.pop(name) / unit for name in names))
    ratio = None if above is None or below is None else Ratio(above, below, weights)
    ends = None if low is None or high is None else (low, high)
    bounds = None if ends is None else bounds_of(*ends, weights)
    mean = number_of(metric, values, bounds, weights=weights) if ratio is None else ratio.value
    if metric.pooled is not None and pooled is not None and mean is not None:
        micro = metric.pooled(pooled)
    return MetricScores(
        spec,
        values,
        mean,
        None if n_no_gold is None else np.arange(len(values)) < n_no_gold,  # which nobody asks
        pooled,
        micro,
        bounds,
        maxima=maxima,
        not_one_to_one=n_many,
        extremes=ends,
        counts=counts,
        ratio=ratio,
        weights=weights,
    )


def _groups(item: MatchItem) -> dict[str, Any]:
    """What a question can be put into a slice by: plain values, and lists of them."""
    query = item.query
    groups: dict[str, Any] = {"query_type": query.query_type, "n_gold": len(query.gold)}
    groups |= {"status": item.status, "n_retrieved": len(item.docs), "error": item.error}
    for name, value in query.metadata.items():
        values = value if isinstance(value, list) else [value]
        if name != "facts" and all(map(_is_plain, values)):
            groups[f"metadata.{name}"] = [_text(entry) for entry in values if entry is not None]
    return groups


def _text(value: str | float) -> str:
    """A value as slices name it wherever they are made: ``true``, as YAML and JSON have it."""
    return value if isinstance(value, str) else json.dumps(value)


def _is_plain(value: object) -> bool:
    is_plain = value is None or isinstance(value, (str, int, float, bool))
    return is_plain and len(str(value)) <= _LONGEST


def write_table(
    path: Path, metrics: Sequence[str], part: ScoredPart, groups: Sequence[Mapping[str, Any]]
) -> None:
    """Write the table of a part beside where it belongs, then put it there.

    Args:
        path: its place, which is named by what its values depend on.
        metrics: by canonical name.
        part: what is known of the part.
        groups: of each question what slices are made of, and what became of it.
    """
    import pyarrow as pa
    from pyarrow import parquet

    stats = part.stats
    kinds = dict.fromkeys(("status", "query_type", "error"), pa.string())
    kinds |= dict.fromkeys(("n_gold", "n_retrieved"), pa.int32())
    fields = [name for group in groups for name in group if name.startswith("metadata.")]
    kinds |= dict.fromkeys(fields, pa.list_(pa.string()))
    columns = {
        "query_id": pa.array(stats.query_ids, pa.string()),
        "query_hash": pa.array(stats.hashes, pa.binary(32)),
        **{name: pa.array([group.get(name) for group in groups], kinds[name]) for name in kinds},
        **{name: pa.array(values) for name, (values,) in part.values.items()},
    }
    about = {
        "version": VERSION,
        "key": path.stem,
        "metrics": metrics,
        "values": list(part.values),
        "counts": part.sums,
        "longest": part.longest,
        "passed": {name: getattr(stats, name) for name in _PASSED},
        "surrogates": stats.mender.surrogates,
        "golds": stats.golds and _record(stats.golds),
        "notes": _notes_record(part.notes),
        "facts": _notes_record(part.facts),
        "readers": [*map(_record, part.readers.values())],
        "beyond": _record(part.beyond),
    }
    table = pa.table(columns).replace_schema_metadata({TABLE_KEY: to_json(about)})
    # Written beside and put there whole: a table that was broken off would be taken for one.
    with replacing(path) as place:
        parquet.write_table(table, place, **{**OPTIONS, "store_schema": True})


def read_table(path: Path, metrics: Sequence[str]) -> ScoredPart | None:
    """What `write_table` was given; None where there is no table of ours that is whole.

    Nothing in it is run: a folder may be anybody's.
    """
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path)
        about = json.loads((table.schema.metadata or {})[TABLE_KEY])
        if (about["version"], about["key"], about["metrics"]) != (VERSION, path.stem, [*metrics]):
            return None
        ids, errors = table["query_id"].to_pylist(), table["error"].to_pylist()
        stats = StreamStats(
            query_ids=ids,
            failures={name: error for name, error in zip(ids, errors) if error is not None},
            hashes=table["query_hash"].to_pylist(),
            golds=about["golds"] and _made(about["golds"]),
            **about["passed"],
        )
        stats.mender.surrogates = about["surrogates"]
        return ScoredPart(
            stats=stats,
            notes=_notes_made(about["notes"]),
            facts=_notes_made(about["facts"]),
            readers={reader.options: reader for reader in map(_made, about["readers"])},
            values={name: [table[name].to_numpy()] for name in about["values"]},
            sums=Counter(about["counts"]),
            longest=about["longest"],
            beyond=_made(about["beyond"]),
            paths=[path],
            n_kept=1,
        )
    except (OSError, ArrowException, *_NOT_OURS):
        return None


def _record(value: Any) -> dict[str, Any]:
    """A dataclass of kragx as JSON; of anybody else's the name alone, so that it is not read."""
    kind, values = type(value), None
    if kind.__module__.startswith("kragx."):
        values = TypeAdapter(kind).dump_python(value, mode="json")
    return {"module": kind.__module__, "class": kind.__qualname__, "fields": values}


def _made(record: Mapping[str, Any]) -> Any:
    """The dataclass of kragx that a record is of."""
    # A table may be anybody's: importing a module that it names would run it.
    if not record["module"].startswith("kragx."):
        raise ValueError(record["module"])
    kind = getattr(import_module(record["module"]), record["class"])
    if not is_dataclass(kind):
        raise TypeError(kind)
    return TypeAdapter(kind).validate_python(record["fields"])


def _notes_record(notes: Notes) -> dict[str, Any]:
    findings = [[*key, _record(finding)] for key, finding in notes.findings.items()]
    record: dict[str, Any] = {"counts": dict(notes), "findings": findings}
    if "judging" in vars(notes):
        kept = notes.judging.kept()  # nothing is asked for a table that stands there
        record["judging"] = {name: getattr(kept, name) for name in _JUDGED}
    return record


def _notes_made(record: Mapping[str, Any]) -> Notes:
    notes = Notes(record["counts"])
    for kind, settings, finding in record["findings"]:
        notes.findings[kind, settings] = _made(finding)
    if "judging" in record:
        from kragx.judging.judgement_counts import Tally

        judging = record["judging"]
        notes.judging = Tally(**{**judging, "dialects": Counter(judging["dialects"])})
    return notes
