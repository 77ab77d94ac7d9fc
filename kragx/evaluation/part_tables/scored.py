"""From a part to its table of values per question, which is computed unless it stands there."""

from __future__ import annotations

import hashlib
import inspect
import json
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from kragx.data import Query
from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats.jsonl import to_json
from kragx.errors import KragxError
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluation import versions
from kragx.evaluation.evidence import GatheredEvidence
from kragx.evaluation.forbidden import Beyond, Forbidding, widened
from kragx.evaluation.inputs import Texts, table_counts
from kragx.evaluation.part_tables.stored import VERSION, read_table, write_table
from kragx.evaluation.parts.matched import Matches, PartResult, itself, match_part
from kragx.evaluation.parts.part import Part
from kragx.evaluation.searching import SEARCHES
from kragx.evaluation.spans import Reader
from kragx.matchers import MatchItem, MatchWarning, Notes, is_built_in
from kragx.matchers.gold_siblings import compares_gold
from kragx.metrics import Floats, ForbiddenMarks, Metric, MetricScores, compute
from kragx.metrics.engine import MetricWarning
from kragx.metrics.spans.reading import SpanOptions

FACTS = "facts "
"""Before the names of counts of facts."""

_LONGEST = 200  # characters of a value to slice by


@dataclass(kw_only=True)
class ScoredPart(PartResult):
    """What is known of some questions: those of a part, or of several.

    Attributes:
        facts: what the matcher of facts noted.
        readers: who has read texts for spans, in each way that was asked for.
        values: for each column the (q) values of each part: of a metric by its name, `most` of it.
        sums: counts that are added up: of metrics under their names.
        longest: the most documents of a question.
        paths: of the table of each part.
        n_kept: how many parts have one that stood there before.
        n_open: how many have none, as judgements are missing.
        beyond: what all questions together can tell of what is forbidden; None where nothing is.
        weights: of each part (q) how many asks its questions stand for, None where nobody says, and
            how many they are.
    """

    facts: Notes = field(default_factory=Notes)
    readers: dict[SpanOptions, Reader] = field(default_factory=dict)
    values: dict[str, list[Floats]] = field(default_factory=dict)
    sums: Counter[str] = field(default_factory=Counter)
    longest: int = 0
    paths: list[Path] = field(default_factory=list)
    n_kept: int = 0
    n_open: int = 0
    beyond: Beyond | None = None
    weights: list[tuple[Floats | None, int]] = field(default_factory=list)

    def add(self, later: Self) -> None:
        """Add the scores of the questions behind these."""
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
        self.weights += later.weights
        self.paths += later.paths
        self.n_kept += later.n_kept
        self.n_open += later.n_open
        if later.beyond is not None:
            self.beyond = self.beyond or Beyond()
            self.beyond.merge(later.beyond)

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
    foreign = [matcher for matcher in criteria.members if not is_built_in(matcher)]
    metrics = [spec.metric for spec in criteria.specs if ":" in spec.name or spec.metric.function]
    of_corpus = hashlib.sha256()
    if texts.corpus.source is not None:
        for doc_id, doc in sorted(texts.corpus.docs.items()):
            of_corpus.update(json.dumps([doc_id, doc.text]).encode())
    settings = {
        "version": VERSION,
        "match": criteria.matcher.settings,
        "facts": None if criteria.facts_by is None else criteria.facts_by.settings,
        "vocabulary": [
            matcher.vocabulary.key
            for matcher in criteria.members
            if matcher.vocabulary and matcher.tells_siblings
        ],
        "passages": criteria.passages,
        "judges": [judge.decides_by for judge in criteria.judges],
        "code": [
            *(_code(type(m if m.inner is None else m.inner)) for m in foreign),
            *(
                _code(m.function or m.from_matches or m.from_evidence or m.from_searches)
                for m in metrics
            ),
        ],
        "tokens": criteria.token_settings,
        "profile": asdict(criteria.profile),
        "metrics": criteria.metrics,
        "corpus": of_corpus.hexdigest(),
        "texts": [texts.needed_by, *texts.sides],
        "versions": dict(versions()),
        **({} if forbidding is None else {FORBIDDEN: _of_forbidding(forbidding)}),
        **({} if criteria.searching is None else {SEARCHES: criteria.searches_settings}),
        "says_read": criteria.searching is None or criteria.searching.says_read,
    }
    return hashlib.sha256(to_json(settings).encode()).hexdigest()


def _way(metric: Metric) -> object:
    return metric.from_matches or metric.from_evidence or metric.from_searches


def _of_forbidding(forbidding: Forbidding) -> list[Any]:
    of_corpus = hashlib.sha256()
    if forbidding.corpus.source is not None:
        for doc_id, doc in sorted(forbidding.corpus.docs.items()):
            of_corpus.update(to_json([doc_id, dict(doc.metadata)]).encode())
    return [forbidding.settings, forbidding.id_key, forbidding.is_asked, of_corpus.hexdigest()]


def ends(metric: str) -> tuple[str, str]:
    """The columns of what a metric's values can become, where not all is known."""
    return f"{metric} at least", f"{metric} at best"


def parts_of_ratio(metric: str) -> tuple[str, str]:
    """The columns of what each question adds to a sum over a sum."""
    return f"{metric} above", f"{metric} below"


def most(metric: str) -> str:
    """The column that says what is the most a metric could have reached."""
    return f"{metric} at most"


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
        return ScoredPart(file=part.file, paths=[path], n_kept=1, **stored)
    plan = criteria.plan(itself if criteria.looks else _groups, texts)
    golds = compares_gold(criteria.matcher)
    plan = replace(plan, hashes=True, golds=golds, spans=(), forbidding=forbidding)
    matched = match_part(part, plan)
    result = ScoredPart(
        file=part.file,
        paths=[path],
        passed=matched.passed,
        notes=matched.notes,
        error=matched.error,
        beyond=None if matched.forbidden is None else matched.forbidden.beyond,
    )
    marks = None if matched.forbidden is None else matched.forbidden.marks
    items, result.passed.kept = result.passed.kept or [], None
    if matched.table is None:
        return result
    try:
        with warnings.catch_warnings():  # it is said of all questions
            warnings.simplefilter("ignore", MetricWarning)
            warnings.simplefilter("ignore", MatchWarning)
            computed = _compute(result, matched.matches, items, criteria, marks)
    except KragxError as error:
        result.error = error.within(path=part.name)
        return result
    open_scores = (score for score in computed if score.bounds and score.extremes is None)
    if matched.table.has_unknown or any(open_scores):
        result.n_open = 1
    else:
        groups = list(map(_groups, items)) if criteria.looks else items
        write_table(path, criteria.metrics, vars(result), groups)
    return result


def _compute(
    result: ScoredPart,
    matches: Matches,
    lists: Sequence[MatchItem],
    criteria: Criteria,
    forbidden: ForbiddenMarks | None,
) -> Sequence[MetricScores]:
    """The metrics of a part, noted with what all parts together may show."""
    evidence, table, searches = None, matches.on_basis, matches.searches
    if forbidden is not None:
        forbidden = widened(forbidden, kinds_of(criteria))
    if forbidden is not None or searches is not None:
        evidence = GatheredEvidence((), table, forbidden=forbidden, searches=searches)
    if criteria.looks:
        seen = forbidden, searches, matches.searched
        evidence = criteria.gathered(lists, table, 1, None, None, *seen)
    scores = compute(table, criteria.specs, criteria.profile, evidence)
    result.sums.update(table_counts(table, forbidden, searches))
    result.weights = [(table.weights, table.n_queries)]
    result.longest = table.longest
    for score in scores:
        name = str(score.spec)
        result.values[name] = [score.values]
        if score.maxima is not None:
            result.values[most(name)] = [score.maxima]
        if score.extremes is not None:
            for column, values in zip(ends(name), score.extremes):
                result.values[column] = [values]
        if score.ratio is not None:
            columns = (score.ratio.numerator, score.ratio.denominator)
            result.values |= dict(zip(parts_of_ratio(name), ([column] for column in columns)))
        counts = {} if score.no_gold is None else {"no gold": int(score.no_gold.sum())}
        counts |= asdict(score.pooled) if score.pooled else dict(score.counts)
        counts |= {"not one to one": score.not_one_to_one} if score.not_one_to_one else {}
        result.sums.update({f"{name} {kind}": n for kind, n in counts.items()})
    if evidence is not None:
        result.readers = evidence.readers
        if (facts := evidence.matched_facts) is not None:
            result.facts = facts.notes
            result.sums.update({f"{FACTS}{name}": n for name, n in facts.n.items()})
    return scores


def kinds_of(criteria: Criteria) -> set[str]:
    """What metrics ask for by name; of a part alone nobody knows whether it is forbidden at all."""
    specs = (spec for spec in criteria.specs if spec.metric.reads_forbidden)
    return {spec["kind"] or FORBIDDEN for spec in specs}


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
