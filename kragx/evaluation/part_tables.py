"""Results of any size scored part by part: values are files, and none is computed twice.

A part comes to a Parquet file, a row a question, and what else is known of it as JSON. Memory holds
the values, ids and hashes of questions; no texts, and no pairs.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import ConfigDict, PlainSerializer, PlainValidator, TypeAdapter

from kragx.data import as_corpus, is_source
from kragx.data.forbidden import FORBIDDEN, check_cycle
from kragx.data.formats.jsonl import make_folder, open_text, replacing, to_json
from kragx.data.formats.parquet import OPTIONS, TABLE_KEY
from kragx.data.weights import WEIGHT, unequal
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate_run import prepared, unmeasured, versions
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.evidence import facts_counts, reading_settings
from kragx.evaluation.forbidden import Beyond, widened
from kragx.evaluation.inputs import OF_FORBIDDEN, PROBES, Source, StreamStats, Texts, source_of
from kragx.evaluation.match_source import Matches, MatchPlan, table_counts
from kragx.evaluation.parts import Part, engine_of, match_part, parts_of, passing
from kragx.evaluation.searching import unmatched
from kragx.evaluation.spans import Reader
from kragx.ground.errors import UsageError, inside, needing
from kragx.ground.plugins import check_arguments
from kragx.ground.printing import joined, message, plural
from kragx.matchers import Diagnostics, MatchItem, MatchWarning, is_built_in, matching
from kragx.matchers.gold_siblings import GoldSample
from kragx.metrics import compute
from kragx.metrics.engine import MetricWarning, warn_above_1
from kragx.metrics.leaks import check_kinds, with_leak
from kragx.metrics.match_table import by_id
from kragx.metrics.runs import over_parts
from kragx.metrics.spans.reading import SpanOptions

SUMMARY = "evaluation.json"
"""The file of a folder that holds its numbers, and says which tables they are of, in order."""

TABLES = "tables"
"""The folder within, in which tables stand."""

VERSION = 13
"""Of the form of tables; a table of another one is not taken."""

_LONGEST = 200  # characters of a value to slice by


@dataclass(frozen=True)
class ScoredInParts:
    """What scoring into a folder came to.

    Attributes:
        evaluation: the numbers; its match table has the questions, and no pairs.
        tables: the files of values, in the order of the questions.
        n_kept: how many of them stood there before.
    """

    evaluation: Evaluation
    tables: tuple[Path, ...]
    n_kept: int

    @property
    def remark(self) -> str:
        """What was written, and what stood there before."""
        written = plural(
            len(self.tables),
            "1 table of values per query in {folder}",
            "{n} tables of values per query in {folder}",
            folder=self.tables[0].parent.parent,
        )
        note = message("{n} of them computed before", n=self.n_kept) if self.n_kept else ""
        return joined(", ", [written, note])


def evaluate_in_parts(
    source: object,
    folder: str | Path,
    *,
    corpus: object = None,
    workers: object = None,
    **measures: Any,
) -> ScoredInParts:
    """`kragx.evaluate` of results, part by part, with the values of each part in a file.

    A part whose values stand in the folder already, of the same content and settings, is not
    computed again, nor is anything of it judged. The numbers are those of `evaluate`, to the last
    bit.

    Args:
        source: results, as of `evaluate`: a file of JSON Lines, or Parquet.
        folder: where the tables and the summary are written.
        corpus: as for `evaluate`.
        workers: as for `evaluate`.
        measures: match, metrics, profile, no_gold, forbidden, facts_match and budget_tokenizer, as
            for `evaluate`; a judge grades against the gold, and the values of a metric depend on
            their own question alone.

    Raises:
        UsageError: an argument is wrong, or of a kind that needs all questions at once.
        DataError: as `evaluate`.
        WorkerError: as `evaluate`.
        RetrieverError: as `evaluate`.
        JudgingError: as `evaluate`; the parts that are whole are kept.
        MissingExtraError: pyarrow is not installed.
    """
    with needing("parquet", "writing tables of values"):
        import pyarrow as pyarrow  # noqa: PLC0414  # whether it is there
    if not is_source(source):
        raise UsageError("results are expected: a file, or Parquet files")
    if (Path(folder) / "manifest.json").exists():
        raise UsageError(
            "{folder} holds what kragx run has written",
            field="out",
            remedy="name another folder",
            folder=folder,
        )
    check_arguments(Criteria.of, measures, "evaluate_in_parts")
    criteria = Criteria.of(**measures)
    deciders = [criteria.matcher] if criteria.facts_by is None else criteria.members
    _check(criteria)
    criteria = replace(criteria, matcher=criteria.matcher.against_gold())
    texts = Texts.of(corpus, criteria.matcher, looks=criteria.looks)
    results = source_of(source, None, criteria.profile, texts=texts)
    # Parts hash and sample their own gold, which is added here: nobody has all of it at once.
    results.stats = whole = ScoredPart(hashes=[], golds=GoldSample())
    criteria, plan = prepared(criteria, results, as_corpus(corpus))
    # Absolute, as a worker on another machine stands in another folder.
    tables = Path(folder).absolute() / TABLES
    make_folder(tables)
    # Whether anything is forbidden only all parts together tell.
    specs = criteria.specs if plan.forbidding is None else with_leak(criteria.specs)
    by = replace(criteria, specs=specs)
    score = partial(scored, criteria=by, plan=plan, folder=tables, settings=settings_hash(by, plan))
    engine, parts = engine_of(workers, *deciders), parts_of(results.rows)
    work = (score(part) for part in parts) if engine is None else engine.map(score, parts)
    is_shown = False if any(decider.judges for decider in deciders) else None  # it shows its own
    paths = tuple(dict.fromkeys(passing(results, work, message("scored parts"), is_shown)))
    evaluation = _evaluation(whole, results, criteria, plan).answered()
    summary = {
        "retriever": evaluation.name,
        "match": evaluation.match_name,
        **evaluation.to_dict(),
        # Pairs are not kept, so there is nothing to decide at another threshold.
        "nearby": None,
        "failures": dict(evaluation.failures),
        "tables": [f"{TABLES}/{path.name}" for path in paths],
    }
    with open_text(Path(folder) / SUMMARY) as file:
        file.write(to_json(summary, indent=1))
    return ScoredInParts(evaluation, paths, whole.n_kept)


_ALL_AT_ONCE = message("a judge of relevance, a pool or a panel needs all questions at once")


def _check(criteria: Criteria) -> None:
    """Refuse what only all questions together can tell."""
    matcher = criteria.matcher
    is_pooled = not matcher.uses_gold or matcher.pool is not None or "relevance" in criteria.reads
    if is_pooled or any(member.votes for member in criteria.members):
        raise _refused(_ALL_AT_ONCE)
    for spec in criteria.specs:
        if not (spec.apart or spec.metric.from_searches is not None):
            raise _refused(
                message("metric {spec!r} is not made of values of single questions", spec=str(spec))
            )


def _refused(problem: str) -> UsageError:
    return UsageError("--out: {why}", remedy="leave it out, or score without --out", why=problem)


def _evaluation(
    whole: ScoredPart, source: Source, criteria: Criteria, plan: MatchPlan
) -> Evaluation:
    """The numbers of all parts, as `evaluate` gives them.

    Raises:
        UsageError: a metric asks for what is not forbidden, or nobody knows what ids mean; or
            judgements are missing.
        DataError: documents take each other's place in a circle.
    """
    sums, specs, beyond = whole.sums, criteria.specs, None
    if whole.beyond.kinds or (plan.forbidding is not None and criteria.reads_forbidden):
        beyond = whole.beyond
        check_cycle(beyond.newer)
        if beyond.are_apart:
            raise _refused(
                message(
                    "no retrieved id is forbidden anywhere, or gold, so that nobody knows whether "
                    "the ids of what is forbidden are those of these documents (a corpus would "
                    "tell)"
                )
            )
        for spec in specs:
            if spec.metric.reads_forbidden:
                check_kinds(spec, sorted(beyond.kinds))
        specs = with_leak(specs) if beyond.kinds else specs
    else:  # nothing is forbidden after all
        for name in [name for name in sums if name.startswith((PROBES, OF_FORBIDDEN))]:
            del sums[name]
    matching.conclude(criteria.matcher, whole.diagnostics)
    judged_facts = {}
    if criteria.facts_by is not None:
        judged_facts = facts_counts(whole.n_facts, whole.facts, criteria.facts_by)
    if whole.is_open:
        raise _refused(
            message(
                "judgements are missing, and what they leave open is estimated from all questions "
                "together; the next run asks for these alone"
            )
        )
    if criteria.matcher.judges and not sums["n_with_any_gold"]:
        raise _refused(_ALL_AT_ONCE)
    readers = dict[SpanOptions, Reader]()
    for reader in whole.readers:
        readers.setdefault(reader.options, Reader(reader.options)).add(reader)
    for reader in readers.values():
        reader.warn()
    columns = {name: np.concatenate(values) for name, values in whole.values.items()}
    asks = columns.pop(WEIGHT)
    weights = unequal(asks, source.dataset_name)
    unit = 1.0 if weights is not None else next(iter(asks), 1.0)
    scores = [over_parts(spec, columns, sums, weights, unit) for spec in specs]
    warn_above_1(scores)
    n, n_answered = sums["n_queries"], whole.statuses["answered"]
    # No documents and pairs are known; of those that were answered only their number is asked.
    nothing = unmatched(np.zeros(n, np.int64), np.arange(n) < n_answered)
    table = replace(nothing, threshold=criteria.matcher.threshold, weights=weights)
    evaluation = unmeasured(source, criteria, plan, table, sums, beyond)
    counts = {**evaluation.counts, **judged_facts}
    return replace(evaluation, counts=counts, longest=whole.longest).with_scores(
        scores, reading_settings(readers, criteria.token_settings)
    )


# -- one part --------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class ScoredPart(StreamStats):
    """What is known of the questions of a part, and what was computed of them.

    Of all but the columns a table has this very class as JSON; as it is read as these types alone,
    no table of a stranger's can run anything.

    Attributes:
        key: the name of its table, by what its values depend on.
        values: (q) the columns by name: of metrics, and weights; of several parts one by one.
        sums: counts that are added up: of metrics under their names.
        longest: the most documents of a question.
        beyond: what all questions together can tell of what is forbidden.
        readers: who has read texts for spans, in each way that was asked for, part by part.
        facts: what the matcher of facts noted, and `n_facts`: how many there are (`Facts.n`).
        is_open: whether there is no table, as judgements are missing.
        n_kept: how many tables stood there before.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True)

    key: str = ""
    values: Annotated[dict[str, Any], PlainValidator(dict.fromkeys), PlainSerializer(list)] = field(
        default_factory=dict
    )
    sums: dict[str, Any] = field(default_factory=dict)
    longest: int = 0
    beyond: Beyond = field(default_factory=Beyond)
    readers: list[Reader] = field(default_factory=list)
    facts: Diagnostics = field(default_factory=Diagnostics)
    n_facts: Counter[str] = field(default_factory=Counter)
    is_open: bool = False
    n_kept: int = 0

    def add(self, later: Self) -> None:
        """Add what is known of the questions behind these."""
        super().add(later)
        for name, columns in later.values.items():
            self.values.setdefault(name, []).extend(columns)
        for name, n in later.sums.items():
            self.sums[name] = self.sums.get(name, 0) + n
        self.longest = max(self.longest, later.longest)
        self.beyond.merge(later.beyond)
        self.readers += later.readers
        self.facts.merge(later.facts)
        self.n_facts.update(later.n_facts)
        self.is_open |= later.is_open
        self.n_kept += later.n_kept


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
) -> tuple[ScoredPart, Path]:
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
        return stored, path
    result = ScoredPart(hashes=[], key=path.stem)
    matches = match_part(part, replace(plan, keep=plan.keep or groups_of), result)
    lists, result.kept = result.kept, []
    with inside(path=part.name), warnings.catch_warnings():  # it is said of all questions
        warnings.simplefilter("ignore", MetricWarning)
        warnings.simplefilter("ignore", MatchWarning)
        with by_id(result.query_ids):
            _compute(result, matches, lists, criteria)
    if not result.is_open:
        write_table(path, result, [*map(groups_of, lists)] if criteria.looks else lists)
    return result, path


def _compute(
    result: ScoredPart, matches: Matches, lists: Sequence[MatchItem], criteria: Criteria
) -> None:
    """The metrics of a part, with what all parts together may show."""
    table, searches = matches.on_basis
    forbidden = None
    if matches.forbidden is not None:
        result.beyond = matches.forbidden.beyond
        # Of what metrics ask for nobody knows from a part alone whether it is forbidden at all.
        asking = (spec for spec in criteria.specs if spec.metric.reads_forbidden)
        kinds = {spec["kind"] or FORBIDDEN for spec in asking}
        forbidden = widened(matches.forbidden, kinds)
    kept = lists if criteria.looks else ()
    evidence = criteria.gathered(kept, table, 1, forbidden, searches, matches.searched)
    weights = np.ones(table.n_queries) if table.weights is None else table.weights
    result.values[WEIGHT] = [weights]
    result.sums.update(table_counts(table, forbidden, searches))
    result.longest, result.is_open = table.longest, matches.table.has_unknown
    for score in compute(table, criteria.specs, criteria.profile, evidence):
        result.values |= {name: [column] for name, column in score.columns.items()}
        result.sums.update(score.sums)
        result.is_open |= score.bounds is not None and score.extremes is None
    result.readers = [*evidence.readers.values()]  # that have read by now
    if (facts := evidence.matched_facts) is not None:
        result.facts, result.n_facts = facts.diagnostics, Counter(facts.n)


def groups_of(item: MatchItem) -> dict[str, Any]:
    """What a question can be put into a slice by: plain values, and lists of them."""
    query = item.query
    groups: dict[str, Any] = {"query_type": query.query_type, "n_gold": len(query.gold)}
    groups |= {"status": item.status, "n_retrieved": len(item.docs), "error": item.error}
    for name, value in query.metadata.items():
        parts = value if isinstance(value, list) else [value]
        values = [part for part in parts if part is not None]
        are_plain = all(isinstance(part, (str, int, float)) for part in values)
        if name != "facts" and are_plain and all(len(str(part)) <= _LONGEST for part in values):
            # As slices name it wherever they are made: ``true``, as YAML and JSON have it.
            texts = (part if isinstance(part, str) else json.dumps(part) for part in values)
            groups[f"metadata.{name}"] = [*texts]
    return groups


def write_table(path: Path, part: ScoredPart, groups: Sequence[Mapping[str, Any]]) -> None:
    """Write the table of a part beside where it belongs, then put it there.

    Args:
        path: its place, which is named by what its values depend on.
        part: what is known of its questions.
        groups: of each question what slices are made of, and what became of it.
    """
    import pyarrow as pa
    from pyarrow import parquet

    kinds = dict.fromkeys(("status", "query_type", "error"), pa.string())
    kinds |= dict.fromkeys(("n_gold", "n_retrieved"), pa.int32())
    names = [name for group in groups for name in group if name.startswith("metadata.")]
    kinds |= dict.fromkeys(names, pa.list_(pa.string()))
    columns = {
        "query_id": pa.array(part.query_ids, pa.string()),
        "query_hash": pa.array(part.hashes, pa.binary(32)),
        **{name: pa.array([group.get(name) for group in groups], kinds[name]) for name in kinds},
        **{name: pa.array(values) for name, [values] in part.values.items()},
    }
    # Hashes stand in their column; nobody asks a table for times, nor what searches are read by.
    about = _TABLE.dump_json(replace(part, hashes=None, seconds=[], searching=None))
    table = pa.table(columns).replace_schema_metadata({TABLE_KEY: about})
    # Written beside and put there whole: a table that was broken off would be taken for one.
    with replacing(path) as place:
        parquet.write_table(table, place, **{**OPTIONS, "store_schema": True})


def read_table(path: Path) -> ScoredPart | None:
    """What `write_table` was given; None where there is no table of ours that is whole."""
    from pyarrow import ArrowException, parquet

    with suppress(OSError, ArrowException, LookupError, TypeError, ValueError):
        table = parquet.read_table(path, page_checksum_verification=True)
        part = _TABLE.validate_json((table.schema.metadata or {})[TABLE_KEY])
        if part.key == path.stem:
            part.hashes, part.n_kept = table["query_hash"].to_pylist(), 1
            part.values = {name: [table[name].to_numpy()] for name in part.values}
            return part
    return None
