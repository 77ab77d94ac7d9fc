"""From a part to its table of values per question, which is computed unless it stands there."""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import pickle
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from kragx.data import Query
from kragx.data.formats.jsonl import replacing, to_json
from kragx.data.formats.parquet import TABLE_KEY
from kragx.data.formats.parquet_written import OPTIONS
from kragx.errors import KragxError
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluation import versions
from kragx.evaluation.inputs import Passed, Texts, table_counts
from kragx.evaluation.parts.matched import MatchedPart, itself, matched
from kragx.evaluation.parts.part import Part
from kragx.evaluation.parts.places import place_of_part
from kragx.evaluation.spans import Reader
from kragx.matchers import MatchItem, MatchWarning, Notes, is_built_in
from kragx.matchers.gold_siblings import GoldSample, compares_gold
from kragx.metrics import Floats, MetricScores, compute
from kragx.metrics.engine import MetricWarning
from kragx.metrics.spans.reading import SpanOptions

VERSION = 5
"""Of the form of tables; a table of another one is not taken."""

FACTS = "facts "
"""Before the names of counts of facts."""

_LONGEST = 200  # characters of a value to slice by
_READ = {
    "kragx.matchers.": {
        *("Notes", "Unmatchable", "Gaps", "Gap", "SiblingCounts", "Alike", "Apart", "Shift"),
    },
    "kragx.evaluation.spans": {"Reader"},
    "kragx.metrics.spans.reading": {"SpanOptions"},
    "kragx.judging.tally": {"Tally", "Spent", "Tallies", "FailureExamples", "FailureExample"},
    "collections": {"Counter"},
}
"""By the start of a module's name the classes that what is known of a part is made of."""


@dataclass
class Findings:
    """What is known of questions beside their values, and what all of them together show.

    Attributes:
        notes: what the matcher noted.
        facts: what the matcher of facts did.
        readers: who has read texts for spans, in each way that was asked for.
    """

    notes: Notes = field(default_factory=Notes)
    facts: Notes = field(default_factory=Notes)
    readers: dict[SpanOptions, Reader] = field(default_factory=dict)

    def add(self, later: Self) -> None:
        """Add what is known of the questions behind these."""
        self.notes.merge(later.notes)
        self.facts.merge(later.facts)
        for how, reader in later.readers.items():
            if how in self.readers:
                self.readers[how].add(reader)
            else:
                self.readers[how] = reader

    def kept(self) -> None:
        """Nothing of it was asked for just now."""
        for notes in (self.notes, self.facts):
            if "judging" in vars(notes):
                notes.judging = notes.judging.kept()


@dataclass(frozen=True)
class Work:
    """What is done with every part; it can be sent to other processes.

    Attributes:
        criteria: by which it is evaluated.
        texts: fills in those of ids.
        folder: where tables stand.
        settings: what values depend on beside the content of a part, as a hash.
    """

    criteria: Criteria
    texts: Texts
    folder: Path
    settings: str

    @classmethod
    def of(cls, criteria: Criteria, texts: Texts, folder: Path) -> Self:
        """The work by these criteria."""
        return cls(criteria, texts, folder, _settings_hash(criteria, texts))

    def path(self, part: Part) -> Path:
        """Where the table of a part stands: its name is made of all that its values depend on."""
        return self.folder / table_name(part.key, self.settings)


def table_name(content: str, settings: str) -> str:
    """The name of the table of a part, by the hashes of its content and of the settings."""
    return f"{hashlib.sha256(f'{content} {settings}'.encode()).hexdigest()[:32]}.parquet"


@dataclass
class ScoredPart:
    """What is known of a part.

    Attributes:
        name: its name.
        file: that it is of, where a source has several.
        path: of its table.
        place: where the part stands, if that is a file.
        passed: what is known of its questions; their `kept` is not.
        findings: what is known of them beside their values.
        values: for each column (q) the values: of a metric by its name, `most` of it.
        sums: counts that are added up: of metrics under their names.
        longest: the most documents of a question.
        is_new: whether it was computed now.
        is_open: whether judgements are missing; then it has no table.
        error: what is wrong with it; then nothing else is known but the questions before.
    """

    name: str
    file: str
    path: Path
    place: Mapping[str, Any] | None = None
    passed: Passed = field(default_factory=Passed)
    findings: Findings = field(default_factory=Findings)
    values: dict[str, Floats] = field(default_factory=dict)
    sums: dict[str, int] = field(default_factory=dict)
    longest: int = 0
    is_new: bool = True
    is_open: bool = False
    error: KragxError | None = None


def _settings_hash(criteria: Criteria, texts: Texts) -> str:
    """What the values of a part depend on beside its content, in 64 hexadecimal digits.

    Settings, the code of matchers that are not kragx's, the texts of a corpus, and versions.
    """
    members = [own for own in (criteria.matcher, criteria.facts_by) if own is not None]
    for own in members:
        members += own.members
    metrics = [own.metric for own in criteria.specs if ":" in own.name]
    of_corpus = hashlib.sha256()
    if texts.corpus.source is not None:
        for doc_id, doc in sorted(texts.corpus.docs.items()):
            of_corpus.update(json.dumps([doc_id, doc.text]).encode())
    known = {
        "version": VERSION,
        "match": criteria.matcher.settings,
        "facts": None if criteria.facts_by is None else criteria.facts_by.settings,
        "vocabulary": [
            own.vocabulary.key for own in members if own.vocabulary and own.tells_siblings
        ],
        "passages": criteria.passages,
        "judges": [judge.decides_by for judge in criteria.judges],
        "code": [
            *(
                _code(type(own if own.inner is None else own.inner))
                for own in members
                if not is_built_in(own)
            ),
            *(_code(own.from_matches or own.from_evidence) for own in metrics),
        ],
        "tokens": criteria.token_settings,
        "profile": asdict(criteria.profile),
        "metrics": criteria.metrics,
        "corpus": of_corpus.hexdigest(),
        "texts": [texts.needed_by, *texts.sides],
        "versions": dict(versions()),
    }
    return hashlib.sha256(to_json(known).encode()).hexdigest()


def most(metric: str) -> str:
    """The column that says what is the most a metric could have reached."""
    return f"{metric} at most"


def _code(kind: Any) -> str:
    with suppress(TypeError, OSError):
        return hashlib.sha256(Path(inspect.getfile(kind)).read_bytes()).hexdigest()
    return repr(kind)


def scored(part: Part, work: Work) -> ScoredPart:
    """The values of a part: from its table, which is written first if it does not stand there."""
    path, criteria = work.path(part), work.criteria
    of_part = ScoredPart(part.name, part.file, path, place_of_part(part))
    if path.exists() and _read(of_part, criteria.metrics):
        return of_part
    plan = criteria.plan(itself if criteria.looks else _groups, work.texts)
    golds = compares_gold(criteria.matcher)
    found = matched(part, replace(plan, hashes=True, golds=golds))
    of_part.passed, of_part.findings.notes, of_part.error = found.passed, found.notes, found.error
    kept, of_part.passed.kept = found.passed.kept or [], None
    if found.table is None:
        return of_part
    of_part.sums, of_part.longest = table_counts(found.table), found.table.longest
    try:
        with warnings.catch_warnings():  # it is said of all questions
            warnings.simplefilter("ignore", MetricWarning)
            warnings.simplefilter("ignore", MatchWarning)
            scores = _computed(of_part, found, kept, criteria)
    except KragxError as error:
        of_part.error = error.within(path=part.name)
        return of_part
    for own in scores:
        of_part.values[str(own.spec)] = own.values
        if own.maxima is not None:
            of_part.values[most(str(own.spec))] = own.maxima
        pooled = asdict(own.pooled) if own.pooled else {}
        no_gold = {} if own.no_gold is None else {"no gold": int(own.no_gold.sum())}
        of_part.sums |= {f"{own.spec} {name}": n for name, n in (no_gold | pooled).items()}
    of_part.is_open = found.table.has_unknown or any(own.bounds for own in scores)
    if not of_part.is_open:
        _write(of_part, work, list(map(_groups, kept)) if criteria.looks else kept)
    return of_part


def _computed(
    of_part: ScoredPart, found: MatchedPart, lists: Sequence[MatchItem], criteria: Criteria
) -> Sequence[MetricScores]:
    """The metrics of a part, and what all parts together may show is kept."""
    assert found.table is not None
    if not criteria.looks:
        return compute(found.table, criteria.specs, criteria.profile)
    evidence = criteria.gathered(lists, found.table, concurrency=1)
    evidence.know(found.spans)
    scores = compute(found.table, criteria.specs, criteria.profile, evidence)
    of_part.findings.readers = evidence.readers
    if (facts := evidence.matched_facts) is not None:
        of_part.findings.facts = facts.notes
        of_part.sums |= {f"{FACTS}{name}": n for name, n in facts.n.items()}
    return scores


def _groups(item: MatchItem) -> dict[str, Any]:
    """What a question can be put into a slice by: plain values, and lists of them."""
    query: Query = item.query
    fields: dict[str, Any] = {"query_type": query.query_type, "n_gold": len(query.gold)}
    fields |= {"status": item.status, "n_retrieved": len(item.docs), "error": item.error}
    for name, value in query.metadata.items():
        values = value if isinstance(value, list) else [value]
        if name != "facts" and all(map(_is_plain, values)):
            fields[f"metadata.{name}"] = [_text(own) for own in values if own is not None]
    return fields


def _text(value: str | float) -> str:
    """A value as slices name it wherever they are made: ``true``, as YAML and JSON have it."""
    return value if isinstance(value, str) else json.dumps(value)


def _is_plain(value: object) -> bool:
    is_plain = value is None or isinstance(value, (str, int, float, bool))
    return is_plain and len(str(value)) <= _LONGEST


def _write(of_part: ScoredPart, work: Work, groups: Sequence[Mapping[str, Any]]) -> None:
    """Write the table of a part beside where it belongs, then put it there."""
    import pyarrow as pa
    from pyarrow import parquet

    passed = of_part.passed
    names = dict.fromkeys(name for own in groups for name in own if name.startswith("metadata."))
    columns: dict[str, pa.Array] = {
        "query_id": pa.array(passed.query_ids, pa.string()),
        "status": pa.array([own["status"] for own in groups], pa.string()),
        "query_type": pa.array([own["query_type"] for own in groups], pa.string()),
        "n_gold": pa.array([own["n_gold"] for own in groups], pa.int32()),
        "n_retrieved": pa.array([own["n_retrieved"] for own in groups], pa.int32()),
        "error": pa.array([own["error"] for own in groups], pa.string()),
        "query_hash": pa.array(passed.hashes, pa.binary(32)),
    }
    columns |= {
        name: pa.array([own.get(name, []) for own in groups], pa.list_(pa.string()))
        for name in names
    }
    columns |= {name: pa.array(own, pa.float64()) for name, own in of_part.values.items()}
    about = {
        "version": VERSION,
        "key": of_part.path.stem,
        "settings": work.settings,
        "metrics": work.criteria.metrics,
        "values": list(of_part.values),
        "counts": of_part.sums,
        "longest": of_part.longest,
        "statuses": passed.statuses,
        "n_empty": passed.n_empty,
        "has_answers": passed.has_answers,
        "n_replaced_surrogates": passed.mender.surrogates,
        "lines": list(passed.lines.items()),
        "golds": None if passed.golds is None else passed.golds.packed(),
        "findings": pickle.dumps(vars(of_part.findings)).hex(),
    }
    made = pa.table(columns).replace_schema_metadata({TABLE_KEY: to_json(about)})
    options = {name: own for name, own in OPTIONS.items() if name != "store_schema"}
    with replacing(of_part.path) as place:
        parquet.write_table(made, place, **options)


def _read(of_part: ScoredPart, names: Sequence[str]) -> bool:
    """Take over what a table says; False where it is none of ours, or is broken."""
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(of_part.path)
        about = json.loads((table.schema.metadata or {})[TABLE_KEY])
        if about["version"] != VERSION or about["key"] != of_part.path.stem:
            return False
        if about["metrics"] != list(names):
            return False
        findings = Findings(**_Read(io.BytesIO(bytes.fromhex(about["findings"]))).load())
        findings.kept()
        errors = zip(table["query_id"].to_pylist(), table["error"].to_pylist(), strict=True)
        passed = Passed(
            query_ids=table["query_id"].to_pylist(),
            lines=dict(about["lines"]),
            has_answers=bool(about["has_answers"]),
            statuses=Counter(about["statuses"]),
            n_empty=int(about["n_empty"]),
            failures={query_id: error for query_id, error in errors if error is not None},
            hashes=table["query_hash"].to_pylist(),
            golds=None if about["golds"] is None else GoldSample.unpacked(about["golds"]),
        )
        passed.mender.surrogates = int(about["n_replaced_surrogates"])
        values = {
            name: table[name].combine_chunks().to_numpy(zero_copy_only=False)
            for name in about["values"]
        }
        sums = {str(name): int(n) for name, n in about["counts"].items()}
        longest = int(about["longest"])
    except (OSError, ArrowException, LookupError, TypeError, ValueError, AttributeError):
        return False
    except pickle.UnpicklingError:
        return False
    of_part.passed, of_part.findings = passed, findings
    of_part.values, of_part.sums, of_part.longest = values, sums, longest
    of_part.is_new = False
    return True


class _Read(pickle.Unpickler):
    """Reads what is known of a part, and makes nothing else: a folder may be anybody's."""

    def find_class(self, module: str, name: str) -> Any:
        if any(module.startswith(start) and name in names for start, names in _READ.items()):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is nothing that is known of a part")
