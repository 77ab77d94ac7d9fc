"""From a part to its table of values per question, which is computed unless it stands there.

A table is a Parquet file: columns, and what else is known of its part as JSON.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats.jsonl import replacing, to_json
from kragx.data.formats.parquet import OPTIONS, TABLE_KEY
from kragx.data.weights import WEIGHT
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate_run import versions
from kragx.evaluation.evidence import GatheredEvidence
from kragx.evaluation.forbidden import Beyond, widened
from kragx.evaluation.inputs import StreamStats
from kragx.evaluation.match_source import Matches, MatchPlan, table_counts
from kragx.evaluation.parts.source_parts import Part, PartResult, match_part
from kragx.evaluation.spans import Reader
from kragx.ground.errors import KragxError
from kragx.matchers import Diagnostics, MatchItem, MatchWarning, is_built_in
from kragx.matchers.gold_siblings import GoldSample
from kragx.matchers.items import Diagnostic
from kragx.metrics import Floats, MetricScores, MetricSpec, compute
from kragx.metrics.engine import MetricWarning, bounds_of
from kragx.metrics.intervals import Ratio
from kragx.metrics.match_table import PooledCounts
from kragx.metrics.scores import number_of

FACTS = "facts "
"""Before the names of counts of facts."""

_LONGEST = 200
"""Characters of a value to slice by."""

_PASSED = ("query_ids", "lines", "statuses", "failures")
"""What a table keeps of `StreamStats` as it is."""

_JUDGED = ("n_judgements", "n_human", "n_distinct", "n_stored")
"""What is kept of `Tally.kept`, beside the dialects."""

VERSION = 9
"""Of the form of tables; a table of another one is not taken."""


def _plain_stats(stats: StreamStats) -> dict[str, Any]:
    golds = stats.golds and TypeAdapter(GoldSample).dump_python(stats.golds, mode="json")
    plain = {name: getattr(stats, name) for name in _PASSED}
    return {**plain, "surrogates": stats.repair.surrogates, "golds": golds}


def _stats_of(record: dict[str, Any]) -> StreamStats:
    golds = record["golds"] and TypeAdapter(GoldSample).validate_python(record["golds"])
    stats = StreamStats(**{name: record[name] for name in _PASSED}, golds=golds)
    stats.statuses = Counter(stats.statuses)
    stats.repair.surrogates = int(record["surrogates"])
    return stats


def _plain_notes(diagnostics: Diagnostics) -> dict[str, Any]:
    findings = [
        [
            *key,
            type(diagnostic).__name__,
            TypeAdapter(type(diagnostic)).dump_python(diagnostic, mode="json"),
        ]
        for key, diagnostic in diagnostics.by_kind.items()
    ]
    # Nothing is asked for a table that stands there.
    judging = diagnostics.judging.kept() if "judging" in vars(diagnostics) else None
    judged = judging and {name: getattr(judging, name) for name in (*_JUDGED, "dialects")}
    return {"counts": dict(diagnostics), "findings": findings, "judging": judged}


def _notes_of(record: Mapping[str, Any]) -> Diagnostics:
    diagnostics = Diagnostics(record["counts"])
    classes: list[type[Diagnostic]] = [Diagnostic, *Diagnostic.__subclasses__()]
    kinds = {kind.__name__: kind for kind in classes}
    for kind, settings, name, diagnostic in record["findings"]:
        diagnostics.by_kind[kind, settings] = TypeAdapter(kinds[name]).validate_python(diagnostic)
    if (judging := record["judging"]) is not None:
        from kragx.judging.judgement_counts import Tally

        diagnostics.judging = Tally(**{name: judging[name] for name in _JUDGED})
        diagnostics.judging.dialects.update(judging["dialects"])
    return diagnostics


_Notes = Annotated[Diagnostics, PlainValidator(_notes_of), PlainSerializer(_plain_notes)]
_Sums = Annotated[Counter[str], PlainValidator(Counter), PlainSerializer(dict)]
_Stats = Annotated[StreamStats, PlainValidator(_stats_of), PlainSerializer(_plain_stats)]
_Columns = Annotated[dict[str, list[Any]], PlainValidator(dict.fromkeys), PlainSerializer(list)]


@dataclass(kw_only=True)
class ScoredPart(PartResult):
    """What is known of some questions: those of a part, or of several.

    Of all but the columns a table has this very class as JSON; as it is read as these types alone,
    no table of a stranger's can run anything.

    Attributes:
        key: the name of its table, by what its values depend on.
        facts: what the matcher of facts noted.
        readers: who has read texts for spans, in each way that was asked for.
        values: for each column the (q) values of each part: of metrics, and weights.
        sums: counts that are added up: of metrics under their names.
        longest: the most documents of a question.
        beyond: what all questions together can tell of what is forbidden.
        is_kept: whether its table stood there before.
        is_open: whether there is none, as judgements are missing; of several parts, in any.
    """

    key: str
    stats: _Stats
    diagnostics: _Notes
    facts: _Notes = field(default_factory=Diagnostics)
    readers: list[Reader] = field(default_factory=list)
    values: _Columns = field(default_factory=dict)
    sums: _Sums = field(default_factory=Counter)
    longest: int = 0
    beyond: Beyond = field(default_factory=Beyond)
    is_kept: bool = False
    is_open: bool = False

    def add(self, later: Self) -> None:
        """Add the scores of the questions behind these."""
        self.facts.merge(later.facts)
        self.beyond.merge(later.beyond)
        for reader in later.readers:
            known = [mine for mine in self.readers if mine.options == reader.options]
            known[0].add(reader) if known else self.readers.append(reader)
        for name, values in later.values.items():
            self.values.setdefault(name, []).extend(values)
        self.sums.update(later.sums)
        self.longest = max(self.longest, later.longest)
        self.is_open |= later.is_open

    def column(self, name: str) -> Floats | None:
        """(q) the values of a column; None where there is none."""
        return np.concatenate(self.values[name]) if name in self.values else None

    def counts(self, start: str) -> dict[str, int]:
        """The sums whose names begin so, without that."""
        sums = ((name, n) for name, n in self.sums.items() if name.startswith(start))
        return {name.removeprefix(start): n for name, n in sums}


_TABLE = TypeAdapter(ScoredPart)


def settings_hash(criteria: Criteria, plan: MatchPlan) -> str:
    """What the values of a part depend on beside its content, in 64 hexadecimal digits.

    Settings, the code of what is not kragx's, the texts of a corpus, with its metadata where
    something is forbidden, and versions.
    """
    foreign = [m if m.inner is None else m.inner for m in criteria.members if not is_built_in(m)]
    metrics = [spec.metric for spec in criteria.specs if ":" in spec.name or spec.metric.function]
    ways = (m.function or m.from_matches or m.from_evidence or m.from_searches for m in metrics)
    told = [m.vocabulary for m in criteria.members if m.vocabulary and m.tells_siblings]
    forbidding, texts = plan.forbidding, plan.texts
    docs = [] if texts.corpus.source is None else sorted(texts.corpus.docs.items())
    return _hashed(
        VERSION,
        # Words change no value where siblings are not told by them.
        {**criteria.settings({}, {}, forbidding), "vocabulary": [v.key for v in told]},
        criteria.profile.no_gold,
        [*map(str, criteria.specs)],
        criteria.token_settings,
        criteria.passages,
        [judge.decides_by for member in criteria.members for judge in member.graders],
        [*map(_code, map(type, foreign)), *map(_code, ways)],
        [texts.needed_by, *texts.sides],
        forbidding and [forbidding.id_key, forbidding.is_asked],
        criteria.searching is None or criteria.searching.says_read,
        dict(versions()),
        *([name, doc.text, forbidding and dict(doc.metadata)] for name, doc in docs),
    )


def _hashed(*values: object) -> str:
    digest = hashlib.sha256()
    for value in values:
        digest.update(to_json(value).encode())
    return digest.hexdigest()


def _code(kind: Any) -> str:
    with suppress(TypeError, OSError):
        return hashlib.sha256(Path(inspect.getfile(kind)).read_bytes()).hexdigest()
    return repr(kind)


def scored(
    part: Part, criteria: Criteria, plan: MatchPlan, folder: Path, settings: str
) -> ScoredPart:
    """The values of a part: from its table, which is written first if it does not stand there.

    Args:
        part: some questions.
        criteria: by which they are evaluated.
        plan: how they are matched.
        folder: where tables stand.
        settings: what values depend on beside the content of a part (`settings_hash`).
    """
    path = folder / f"{_hashed(part.key, settings)[:32]}.parquet"
    if (stored := read_table(path)) is not None:
        return stored
    matched = match_part(part, plan, hashes=True)
    items, matched.stats.kept = matched.stats.kept or [], None
    result = ScoredPart(key=path.stem, stats=matched.stats, diagnostics=matched.diagnostics)
    try:
        with warnings.catch_warnings():  # it is said of all questions
            warnings.simplefilter("ignore", MetricWarning)
            warnings.simplefilter("ignore", MatchWarning)
            _compute(result, matched.matches, items, criteria)
    except KragxError as error:
        raise error.within(path=part.name) from error
    if not result.is_open:
        write_table(path, result, [*map(groups_of, items)] if criteria.looks else items)
    return result


def _compute(
    result: ScoredPart, matches: Matches, lists: Sequence[MatchItem], criteria: Criteria
) -> None:
    """The metrics of a part, noted with what all parts together may show."""
    table, searches = matches.on_basis
    evidence = forbidden = None
    if matches.forbidden is not None:
        result.beyond = matches.forbidden.beyond
        # Of what metrics ask for nobody knows from a part alone whether it is forbidden at all.
        asking = (spec for spec in criteria.specs if spec.metric.reads_forbidden)
        kinds = {spec["kind"] or FORBIDDEN for spec in asking}
        forbidden = widened(matches.forbidden.marks, kinds)
    if criteria.looks:
        evidence = criteria.gathered(lists, table, 1, forbidden, searches, matches.searched)
    elif forbidden is not None or searches is not None:
        evidence = GatheredEvidence((), table, forbidden=forbidden, searches=searches)
    scores = compute(table, criteria.specs, criteria.profile, evidence)
    result.sums.update(table_counts(table, forbidden, searches))
    result.longest = table.longest
    result.values[WEIGHT] = [np.ones(table.n_queries) if table.weights is None else table.weights]
    for score in scores:
        _note(result, score)
    are_open = any(score.bounds and score.extremes is None for score in scores)
    result.is_open = are_open or matches.table.has_unknown
    if evidence is not None:
        result.readers = [*evidence.readers.values()]
        if (facts := evidence.matched_facts) is not None:
            result.facts = facts.diagnostics
            result.sums.update({f"{FACTS}{name}": n for name, n in facts.n.items()})


_COLUMNS = ("", " at most", " at least", " at best", " above", " below")
"""Behind a metric's name: its values, the most they could have reached, what they can become where
not all is known, and what each question adds to a sum over a sum."""


def _note(result: ScoredPart, score: MetricScores) -> None:
    """Note the scores of a metric: columns, and counts that add up."""
    low, high = score.extremes or (None, None)
    ratio = (
        (None, None) if score.ratio is None else (score.ratio.numerator, score.ratio.denominator)
    )
    for name, column in zip(_COLUMNS, (score.values, score.maxima, low, high, *ratio)):
        if column is not None:
            result.values[f"{score.spec}{name}"] = [column]
    counts: dict[str, float] = {**score.counts, "not one to one": score.not_one_to_one}
    counts |= {} if score.no_gold is None else {"no gold": int(score.no_gold.sum())}
    counts |= {} if score.pooled is None else asdict(score.pooled)
    result.sums.update({f"{score.spec} {name}": n for name, n in counts.items()})


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
    # Which queries have no gold is asked by nobody, but how many.
    no_gold = None if n_no_gold is None else np.arange(len(values)) < n_no_gold
    return MetricScores(
        spec,
        values,
        mean,
        no_gold,
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


def groups_of(item: MatchItem) -> dict[str, Any]:
    """What a question can be put into a slice by: plain values, and lists of them."""
    query = item.query
    groups: dict[str, Any] = {"query_type": query.query_type, "n_gold": len(query.gold)}
    groups |= {"status": item.status, "n_retrieved": len(item.docs), "error": item.error}
    for name, value in query.metadata.items():
        values = value if isinstance(value, list) else [value]
        if name != "facts" and all(map(_is_plain, values)):
            # As slices name it wherever they are made: ``true``, as YAML and JSON have it.
            texts = (v if isinstance(v, str) else json.dumps(v) for v in values if v is not None)
            groups[f"metadata.{name}"] = [*texts]
    return groups


def _is_plain(value: object) -> bool:
    is_plain = value is None or isinstance(value, (str, int, float, bool))
    return is_plain and len(str(value)) <= _LONGEST


def write_table(path: Path, part: ScoredPart, groups: Sequence[Mapping[str, Any]]) -> None:
    """Write the table of a part beside where it belongs, then put it there.

    Args:
        path: its place, which is named by what its values depend on.
        part: what is known of the part.
        groups: of each question what slices are made of, and what became of it.
    """
    import pyarrow as pa
    from pyarrow import parquet

    kinds = dict.fromkeys(("status", "query_type", "error"), pa.string())
    kinds |= dict.fromkeys(("n_gold", "n_retrieved"), pa.int32())
    names = [name for group in groups for name in group if name.startswith("metadata.")]
    kinds |= dict.fromkeys(names, pa.list_(pa.string()))
    columns = {
        "query_id": pa.array(part.stats.query_ids, pa.string()),
        "query_hash": pa.array(part.stats.hashes, pa.binary(32)),
        **{name: pa.array([group.get(name) for group in groups], kinds[name]) for name in kinds},
        **{name: pa.array(values) for name, (values,) in part.values.items()},
    }
    table = pa.table(columns).replace_schema_metadata({TABLE_KEY: _TABLE.dump_json(part)})
    # Written beside and put there whole: a table that was broken off would be taken for one.
    with replacing(path) as place:
        parquet.write_table(table, place, **{**OPTIONS, "store_schema": True})


def read_table(path: Path) -> ScoredPart | None:
    """What `write_table` was given; None where there is no table of ours that is whole."""
    from pyarrow import ArrowException, parquet

    with suppress(OSError, ArrowException, LookupError, TypeError, ValueError):
        table = parquet.read_table(path)
        part = _TABLE.validate_json((table.schema.metadata or {})[TABLE_KEY])
        if part.key == path.stem:
            part.stats.hashes = table["query_hash"].to_pylist()
            part.values = {name: [table[name].to_numpy()] for name in part.values}
            part.is_kept = True
            return part
    return None
