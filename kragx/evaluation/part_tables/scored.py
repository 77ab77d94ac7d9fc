"""From a part to its table of values per question, which is computed unless it stands there."""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import pickle
import warnings
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from kragx.data import Query
from kragx.data.formats.jsonl import replacing, to_json
from kragx.data.formats.parquet import TABLE_KEY
from kragx.data.formats.parquet_written import OPTIONS
from kragx.errors import KragxError
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluation import versions
from kragx.evaluation.inputs import Texts, table_counts
from kragx.evaluation.parts.matched import MatchedPart, PassedPart, itself, match_part
from kragx.evaluation.parts.part import Part
from kragx.evaluation.spans import Reader
from kragx.matchers import MatchItem, MatchWarning, Notes, is_built_in
from kragx.matchers.gold_siblings import compares_gold
from kragx.metrics import Floats, MetricScores, compute
from kragx.metrics.engine import MetricWarning
from kragx.metrics.spans.reading import SpanOptions

VERSION = 7
"""Of the form of tables; a table of another one is not taken."""

FACTS = "facts "
"""Before the names of counts of facts."""

_LONGEST = 200  # characters of a value to slice by
_READ = {
    *("Passed", "Mender", "Counter", "array", "_array_reconstructor", "GoldSample", "_Question"),
    *("Notes", "Finding", "Unmatchable", "Gaps", "Gap", "Alike", "Apart", "Shift"),
    *("Tally", "Spent", "Tallies", "FailureExamples", "FailureExample", "Reader", "SpanOptions"),
}
"""The classes that what is known of a part is made of."""


@dataclass
class Scores:
    """What is known of some questions: those of a part, or of several.

    Attributes:
        notes: what the matcher noted.
        facts: what the matcher of facts did.
        readers: who has read texts for spans, in each way that was asked for.
        values: for each column the (q) values of each part: of a metric by its name, `most` of it.
        sums: counts that are added up: of metrics under their names.
        longest: the most documents of a question.
    """

    notes: Notes = field(default_factory=Notes)
    facts: Notes = field(default_factory=Notes)
    readers: dict[SpanOptions, Reader] = field(default_factory=dict)
    values: dict[str, list[Floats]] = field(default_factory=dict)
    sums: Counter[str] = field(default_factory=Counter)
    longest: int = 0

    def add(self, later: Self) -> None:
        """Add what is known of the questions behind these."""
        self.notes.merge(later.notes)
        self.facts.merge(later.facts)
        for options, reader in later.readers.items():
            if options in self.readers:
                self.readers[options].add(reader)
            else:
                self.readers[options] = reader
        for name, values in later.values.items():
            self.values.setdefault(name, []).extend(values)
        self.sums.update(later.sums)
        self.longest = max(self.longest, later.longest)

    def column(self, name: str) -> Floats | None:
        """(q) the values of a column; None where there is none."""
        return np.concatenate(self.values[name]) if name in self.values else None

    def counts(self, start: str) -> dict[str, int]:
        """The sums whose names begin so, without that."""
        sums = ((name, n) for name, n in self.sums.items() if name.startswith(start))
        return {name.removeprefix(start): n for name, n in sums}


def table_name(content: str, settings: str) -> str:
    """The name of the table of a part, by the hashes of its content and of the settings."""
    return f"{hashlib.sha256(f'{content} {settings}'.encode()).hexdigest()[:32]}.parquet"


@dataclass(kw_only=True)
class ScoredPart(PassedPart):
    """What came of a part.

    Attributes:
        path: of its table.
        where: the part stands, if that is a file.
        scores: what is known of its questions.
        is_new: whether it was computed now.
        is_open: whether judgements are missing; then it has no table.
    """

    path: Path
    where: Mapping[str, Any]
    scores: Scores = field(default_factory=Scores)
    is_new: bool = True
    is_open: bool = False


def settings_hash(criteria: Criteria, texts: Texts) -> str:
    """What the values of a part depend on beside its content, in 64 hexadecimal digits.

    Settings, the code of matchers that are not kragx's, the texts of a corpus, and versions.
    """
    members = [matcher for matcher in (criteria.matcher, criteria.facts_by) if matcher is not None]
    for matcher in members:
        members += matcher.members
    metrics = [spec.metric for spec in criteria.specs if ":" in spec.name]
    of_corpus = hashlib.sha256()
    if texts.corpus.source is not None:
        for doc_id, doc in sorted(texts.corpus.docs.items()):
            of_corpus.update(json.dumps([doc_id, doc.text]).encode())
    settings = {
        "version": VERSION,
        "match": criteria.matcher.settings,
        "facts": None if criteria.facts_by is None else criteria.facts_by.settings,
        "vocabulary": [
            member.vocabulary.key
            for member in members
            if member.vocabulary and member.tells_siblings
        ],
        "passages": criteria.passages,
        "judges": [judge.decides_by for judge in criteria.judges],
        "code": [
            *(
                _code(type(matcher if matcher.inner is None else matcher.inner))
                for matcher in members
                if not is_built_in(matcher)
            ),
            *(_code(metric.from_matches or metric.from_evidence) for metric in metrics),
        ],
        "tokens": criteria.token_settings,
        "profile": asdict(criteria.profile),
        "metrics": criteria.metrics,
        "corpus": of_corpus.hexdigest(),
        "texts": [texts.needed_by, *texts.sides],
        "versions": dict(versions()),
    }
    return hashlib.sha256(to_json(settings).encode()).hexdigest()


def most(metric: str) -> str:
    """The column that says what is the most a metric could have reached."""
    return f"{metric} at most"


def _code(kind: Any) -> str:
    with suppress(TypeError, OSError):
        return hashlib.sha256(Path(inspect.getfile(kind)).read_bytes()).hexdigest()
    return repr(kind)


def scored(part: Part, criteria: Criteria, texts: Texts, folder: Path, settings: str) -> ScoredPart:
    """The values of a part: from its table, which is written first if it does not stand there.

    Args:
        part: some questions.
        criteria: by which they are evaluated.
        texts: fills in those of ids.
        folder: where tables stand.
        settings: what values depend on beside the content of a part (`settings_hash`).
    """
    path = folder / table_name(part.key, settings)
    of_part = ScoredPart(part.file, path=path, where=part.where)
    if _read(of_part, criteria.metrics):
        return of_part
    plan = criteria.plan(itself if criteria.looks else _groups, texts)
    golds = compares_gold(criteria.matcher)
    matched = match_part(part, replace(plan, hashes=True, golds=golds))
    items, matched.passed.kept = matched.passed.kept or [], None
    of_part.passed, of_part.error = matched.passed, matched.error
    of_part.scores.notes = matched.notes
    if matched.table is None:
        return of_part
    try:
        with warnings.catch_warnings():  # it is said of all questions
            warnings.simplefilter("ignore", MetricWarning)
            warnings.simplefilter("ignore", MatchWarning)
            computed = _computed(of_part.scores, matched, items, criteria)
    except KragxError as error:
        of_part.error = error.within(path=part.name)
        return of_part
    of_part.is_open = matched.table.has_unknown or any(score.bounds for score in computed)
    if not of_part.is_open:
        _write(
            of_part,
            criteria.metrics,
            settings,
            list(map(_groups, items)) if criteria.looks else items,
        )
    return of_part


def _computed(
    of_part: Scores, matched: MatchedPart, lists: Sequence[MatchItem], criteria: Criteria
) -> Sequence[MetricScores]:
    """The metrics of a part, noted with what all parts together may show."""
    table, evidence = matched.table, None
    assert table is not None
    if criteria.looks:
        evidence = criteria.gathered(lists, table, concurrency=1)
        evidence.know(matched.spans)
    scores = compute(table, criteria.specs, criteria.profile, evidence)
    of_part.sums.update(table_counts(table))
    of_part.longest = table.longest
    for score in scores:
        name = str(score.spec)
        of_part.values[name] = [score.values]
        if score.maxima is not None:
            of_part.values[most(name)] = [score.maxima]
        counts = {} if score.no_gold is None else {"no gold": int(score.no_gold.sum())}
        counts |= asdict(score.pooled) if score.pooled else {}
        of_part.sums.update({f"{name} {kind}": n for kind, n in counts.items()})
    if evidence is not None:
        of_part.readers = evidence.readers
        if (facts := evidence.matched_facts) is not None:
            of_part.facts = facts.notes
            of_part.sums.update({f"{FACTS}{name}": n for name, n in facts.n.items()})
    return scores


def _groups(item: MatchItem) -> dict[str, Any]:
    """What a question can be put into a slice by: plain values, and lists of them."""
    query: Query = item.query
    fields: dict[str, Any] = {"query_type": query.query_type, "n_gold": len(query.gold)}
    fields |= {"status": item.status, "n_retrieved": len(item.docs), "error": item.error}
    for name, value in query.metadata.items():
        values = value if isinstance(value, list) else [value]
        if name != "facts" and all(map(_is_plain, values)):
            fields[f"metadata.{name}"] = [_text(entry) for entry in values if entry is not None]
    return fields


def _text(value: str | float) -> str:
    """A value as slices name it wherever they are made: ``true``, as YAML and JSON have it."""
    return value if isinstance(value, str) else json.dumps(value)


def _is_plain(value: object) -> bool:
    is_plain = value is None or isinstance(value, (str, int, float, bool))
    return is_plain and len(str(value)) <= _LONGEST


def _write(
    of_part: ScoredPart,
    metrics: Sequence[str],
    settings: str,
    groups: Sequence[Mapping[str, Any]],
) -> None:
    """Write the table of a part beside where it belongs, then put it there."""
    import pyarrow as pa
    from pyarrow import parquet

    scores, passed = of_part.scores, of_part.passed
    schema = dict.fromkeys(("query_id", "status", "query_type", "error"), pa.string())
    schema |= dict.fromkeys(("n_gold", "n_retrieved"), pa.int32())
    schema |= {"query_hash": pa.binary(32)}
    fields = (name for group in groups for name in group if name.startswith("metadata."))
    schema |= dict.fromkeys(fields, pa.list_(pa.string()))
    schema |= dict.fromkeys(scores.values, pa.float64())
    columns: dict[str, Any] = {"query_id": passed.query_ids, "query_hash": passed.hashes}
    columns |= {name: column for name, (column,) in scores.values.items()}
    # The rest is in columns.
    state = replace(passed, query_ids=[], hashes=[], failures={}), vars(replace(scores, values={}))
    about = {
        "version": VERSION,
        "key": of_part.path.stem,
        "settings": settings,
        "metrics": metrics,
        "values": list(scores.values),
        "counts": scores.sums,
        "known": b64encode(zlib.compress(pickle.dumps(state))).decode(),
    }
    for name in schema:
        if name not in columns:
            columns[name] = [group.get(name) for group in groups]
    table = pa.table(columns, pa.schema(schema.items(), {TABLE_KEY: to_json(about)}))
    with replacing(of_part.path) as place:
        parquet.write_table(table, place, **{**OPTIONS, "store_schema": True})


def _read(of_part: ScoredPart, metrics: Sequence[str]) -> bool:
    """Take over what a table says; False where there is none, or it is none of ours, or broken."""
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(of_part.path)
        about = json.loads((table.schema.metadata or {})[TABLE_KEY])
        header = about["version"], about["key"], about["metrics"]
        if header != (VERSION, of_part.path.stem, list(metrics)):
            return False
        packed = zlib.decompress(b64decode(about["known"]))
        passed, state = _Known(io.BytesIO(packed)).load()
        scores = Scores(**state)
        ids, errors = table["query_id"].to_pylist(), table["error"].to_pylist()
        failures = {name: error for name, error in zip(ids, errors) if error is not None}
        hashes = table["query_hash"].to_pylist()
        passed = replace(passed, query_ids=ids, hashes=hashes, failures=failures)
        scores.values = {name: [table[name].to_numpy()] for name in about["values"]}
        for notes in (scores.notes, scores.facts):
            if "judging" in vars(notes):
                notes.judging = notes.judging.kept()  # nothing was asked for just now
    except (OSError, ArrowException, LookupError, TypeError, ValueError, AttributeError):
        return False
    except (zlib.error, EOFError, pickle.UnpicklingError):
        return False
    of_part.passed, of_part.scores, of_part.is_new = passed, scores, False
    return True


class _Known(pickle.Unpickler):
    """Reads what is known of a part, and makes nothing else: a folder may be anybody's."""

    def find_class(self, module: str, name: str) -> Any:
        if name in _READ and module.partition(".")[0] in ("kragx", "collections", "array"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is nothing that is known of a part")
