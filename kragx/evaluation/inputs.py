"""What is evaluated: a gold set and what was retrieved, joined query by query as a stream."""

import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from math import nan
from typing import Any, Self

import numpy as np

from kragx.data import (
    NO_CORPUS,
    Corpus,
    Doc,
    Gold,
    GoldDataset,
    Mender,
    Query,
    Reading,
    Retrieved,
    Run,
    as_corpus,
    hash_of,
    is_source,
    look_alikes,
    nothing_retrieved,
    query_hash,
    read_dataset,
    read_run,
    told_apart,
)
from kragx.data.batch import Batch, BufferedRows, Row, batches_of
from kragx.data.foreign import DISTANCE
from kragx.data.objects import gold_of
from kragx.data.scored import Scored
from kragx.data.stretches import distinct
from kragx.errors import DataError, UsageError
from kragx.evaluation.arranging import arranged_batch, directions
from kragx.evaluation.retriever_adapters import is_retriever
from kragx.evaluation.searching import (
    OF_SEARCHES,
    SEARCHES,
    Searching,
    Seen,
    Told,
    n_came,
    search_counts,
    seen_in,
    seen_in_runs,
)
from kragx.matchers import (
    BaseMatcher,
    MatchItem,
    MatchWarning,
    Notes,
    is_built_in,
)
from kragx.matchers.gold_siblings import GoldSample
from kragx.matchers.items import items_of
from kragx.metrics import Floats, ForbiddenMarks, MatchTable, Profile
from kragx.metrics.search_table import SearchTable
from kragx.metrics.table_view import settled
from kragx.printing import phrase
from kragx.warned import outside

_ENOUGH = 3
"""So many lists down which scores rise, and none down which they do not, are no accident."""

_ROOM = 1 << 22
"""So many retrieved texts of a file are kept by number until it passes: some thirty megabytes."""


def first_failure(failures: Mapping[str, str]) -> str:
    """The first of some failures, by query id, in words."""
    query_id, error = next(iter(failures.items()))
    return f"query {query_id!r}: {error}"


def judged_share(table: MatchTable) -> float | None:
    """The share of retrieved documents whose relevance is known; None without any.

    Nothing need be known of those that were retrieved where nothing answers.
    """
    judged = table.judged[~np.repeat(table.unanswerable, table.n_docs)]
    return float(judged.mean()) if judged.size else None


N_ASKS = "n_asks"
"""The count of asks that questions stand for."""


def asks_counts(weights: Floats | None) -> dict[str, float]:
    """How many asks the questions stand for; empty where all weigh alike."""
    return {} if weights is None else {N_ASKS: settled(float(weights.sum()))}


UNANSWERABLE = "unanswerable "
"""Before the names of counts of questions that nothing answers."""


OF_FORBIDDEN, PROBES = "forbidden ", "n_probes"
"""Before the names of counts of questions for which something may be forbidden; and the count of
those that have no gold."""


def table_counts(
    table: MatchTable,
    forbidden: ForbiddenMarks | None = None,
    searches: SearchTable | None = None,
) -> dict[str, int]:
    """The counts of a match table; those of tables that follow one another add up.

    Where there are searches, theirs too, of all of which marks of what is forbidden are.

    Where something is forbidden, the questions are counted that could meet it, that are open
    whatever came, that were answered with nothing, and that have no gold: probes.

    Where nothing answers any of the questions, these are counted: those answered with an empty
    list, those not answered at all, and the documents: of what was handed on, or where nobody knows
    that of any search.
    """
    rows, n_docs = table.unanswerable, table.n_docs
    n_came = n_docs if searches is None else searches.n_came
    looked_at = table.judged[~np.repeat(rows, n_docs)]
    counts = {
        "n_queries": table.n_queries,
        "n_with_gold": len(distinct(table.gold_query[table.grade > 0])),
        "n_with_any_gold": len(distinct(table.gold_query)),
        "n_duplicates": int(table.repeated.sum()),
        "n_judged": int(looked_at.sum()),
        "n_to_judge": looked_at.size,
    }
    if rows.any():
        flags = {
            "n_queries": rows,
            "n_empty": rows & table.answered & (n_came == 0),
            "n_unanswered": rows & ~table.answered,
            "n_documents": n_came[rows],
        }
        counts |= {f"{UNANSWERABLE}{name}": int(value.sum()) for name, value in flags.items()}
    counts |= {} if searches is None else search_counts(searches)
    of_marks = table if searches is None else searches.of("all")
    return counts if forbidden is None else counts | _forbidden_counts(of_marks, forbidden)


def _forbidden_counts(table: MatchTable, forbidden: ForbiddenMarks) -> dict[str, int]:
    could = forbidden.could.any(axis=1)
    flags = {
        "n_could": could,
        "n_open": forbidden.open.any(axis=1),
        "n_empty": could & table.answered & (table.n_docs == 0),
    }
    return {
        PROBES: int(forbidden.probes(table).sum()),
        **{f"{OF_FORBIDDEN}{name}": int(value.sum()) for name, value in flags.items()},
    }


@dataclass(frozen=True)
class Texts:
    """Where the texts of ids come from, and who cannot do without.

    Attributes:
        corpus: has them; may be no corpus at all.
        needed_by: the match method for which an id without text is an error; None for nobody.
        sides: whose texts it compares.
    """

    corpus: Corpus = NO_CORPUS
    needed_by: str | None = None
    sides: tuple[str, ...] = ("gold", "retrieved")

    @classmethod
    def of(cls, corpus: object, matcher: BaseMatcher, *, looks: bool = False) -> Self:
        """The texts of a corpus, as far as a matcher, or a metric that `looks` at them, needs any.

        Without a corpus only the built-in methods are known to compare every text; for whatever
        else lacks one `matching.match` counts them.
        """
        source = as_corpus(corpus)
        if matcher.reads == "ids":
            return cls(source) if looks else cls()
        needed_by = next(_comparing_all(matcher), None)
        if needed_by is None and source.source is not None:
            needed_by = matcher.name or matcher.class_name
        return cls(
            source,
            needed_by,
            ("gold", "retrieved") if matcher.uses_gold and matcher.pool is None else ("retrieved",),
        )

    def gold(self, dataset: GoldDataset) -> GoldDataset:
        """A gold set with its texts, as `Corpus.gold`."""
        return self.corpus.gold(dataset, self.needed_by if "gold" in self.sides else None)

    def filled(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Questions and what was retrieved with their texts, as `Corpus.filled`."""
        return self.corpus.filled(batches, self.needed_by, self.sides)


def _comparing_all(matcher: BaseMatcher) -> Iterator[str]:
    """The built-in methods that compare every text, whatever the other members say."""
    for member in matcher.members:
        yield from _comparing_all(member)
    if is_built_in(matcher) and matcher.reads == "texts" and not matcher.judges:
        yield matcher.name


NO_TEXTS = Texts()
"""Nothing is filled in, and nothing is needed."""


@dataclass
class Passed:
    """What is known of the questions that came by, in their order.

    Attributes:
        query_ids: theirs.
        lines: on which each stood in a file, those that are left out as well.
        has_answers: whether anything says what was retrieved.
        statuses: how many were answered, missing and failed.
        orders: of lists that a profile ranks by score, down how many scores rise, and do not.
        n_empty: how many were answered with nothing (`n_came`).
        seconds: how long each answer took; NaN where nobody says.
        failures: by query id, why the retriever failed.
        hashes: of their gold; None where the whole gold set is known.
        kept: what is made of each of them; None where nothing is.
        mender: has counted the surrogates that were replaced.
        golds: of their gold what is compared with each other; None where that is done elsewhere.
        searching: says which list of them metrics are about; None where nobody looks at searches.
    """

    query_ids: list[str] = field(default_factory=list)
    lines: dict[str, int | None] = field(default_factory=dict)
    has_answers: bool = False
    statuses: Counter[str] = field(default_factory=Counter)
    orders: Counter[str] = field(default_factory=Counter)
    n_empty: int = 0
    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    failures: dict[str, str] = field(default_factory=dict)
    hashes: list[bytes] | None = None
    kept: list[Any] | None = None
    mender: Mender = field(default_factory=Mender)
    golds: GoldSample | None = None
    searching: Searching | None = None

    def noted(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Questions and what was retrieved as they are read, noted."""
        for batch in batches:
            self.lines.update(zip(batch.query_ids, batch.lines))
            self.has_answers = self.has_answers or {*batch.statuses} != {"missing"}
            yield batch

    def batches(
        self,
        batches: Iterable[Batch],
        profile: Profile | None = None,
        *,
        keep: Callable[[MatchItem], Any] = lambda item: item,
    ) -> Iterator[Batch]:
        """Yield questions with their documents as they are matched, and note them.

        Args:
            batches: questions and what was retrieved.
            profile: what is done with a list before it is matched (`arranged`), and whether queries
                without an answer are counted only; None for nothing.
            keep: what is kept of each, if anything is.
        """
        for as_read in batches:
            self.statuses.update(as_read.statuses)
            batch = as_read
            if profile is not None:
                if profile.order == "score":
                    self.orders.update(directions(batch))
                batch = arranged_batch(batch, profile)
                if profile.missing == "left_out" and "missing" in batch.statuses:
                    batch = Batch.of([row for row in batch.rows() if row[2] is not None])
            if self.searching is not None:
                batch = self.searching.on_basis(batch)
            self.query_ids += batch.query_ids
            self.failures |= {
                batch.query_ids[position]: error for position, error in batch.errors.items()
            }
            self.n_empty += int((batch.answered & (n_came(batch) == 0)).sum())
            self.seconds.extend([nan if second is None else second for second in batch.seconds])
            if self.hashes is not None:
                self.hashes += batch.hashes()
            if self.golds is not None:
                self.golds.see_batch(batch)
            if self.kept is not None:  # rows of the table, in its order
                self.kept += map(keep, items_of(batch))
            if len(batch):
                yield batch

    def add(self, later: Self) -> None:
        """Add what is known of the questions behind these."""
        self.query_ids += later.query_ids
        self.lines |= later.lines
        self.has_answers = self.has_answers or later.has_answers
        self.statuses.update(later.statuses)
        self.orders.update(later.orders)
        self.n_empty += later.n_empty
        self.seconds += later.seconds
        self.failures |= later.failures
        self.mender.surrogates += later.mender.surrogates
        if self.hashes is not None and later.hashes is not None:
            self.hashes += later.hashes
        if self.golds is not None and later.golds is not None:
            self.golds.merge(later.golds)
        if self.kept is not None and later.kept is not None:
            self.kept += later.kept


@dataclass
class Source:
    """A stream of queries, each with what was retrieved for it, and what has passed of it.

    Attributes:
        rows: the stream, as the gold set and the run have it.
        name: the run's.
        dataset_name: the gold set's.
        texts: fills in those of ids.
        run_settings: how the retriever was asked.
        gold: the whole gold set, where it is one.
        reading: the file that is read as it passes, where it is one.
        n_extra: queries of the run that the gold set lacks.
        n_longer_lines: of a TREC run, as `Run` has them.
        n_by_distance: lists of the run that a database has ranked by distance.
        passed: what has passed.
    """

    rows: Iterable[Row]
    name: str
    dataset_name: str
    texts: Texts
    run_settings: Mapping[str, Any] = field(default_factory=dict)
    gold: GoldDataset | None = None
    reading: Reading | None = None
    n_extra: int = 0
    n_longer_lines: int = 0
    n_by_distance: int = 0
    passed: Passed = field(default_factory=Passed)

    def __post_init__(self) -> None:
        if self.gold is None and not isinstance(self.rows, Scored):
            self.passed.hashes = []

    @property
    def may_forbid(self) -> bool | None:
        """Whether anything may be forbidden; None where that takes reading it."""
        if self.gold is not None:
            return self.gold.may_forbid
        return self.reading is not None and self.reading.may_forbid

    @property
    def may_forbid_texts(self) -> bool:
        """Whether anything may be forbidden by its text, or that of its id in a corpus."""
        if self.gold is None:
            return self.may_forbid is not False
        items = (item for query in self.gold for item in query.forbidden or ())
        has_corpus = self.texts.corpus.source is not None
        return any(item.text is not None or has_corpus for item in items)

    def searches_ahead(self, *, keep: bool, asks: Collection[Told] = ()) -> Seen | None:
        """What a look at its searches shows; None where there are none.

        A mistake is said where the source passes.

        Args:
            keep: as of `ahead`.
            asks: as of `seen_in`.
        """
        if isinstance(self.rows, _Joined):
            return seen_in_runs(self.rows.gold, [self.rows.run])
        if self.reading is None or self.reading.may_search is False:
            return None
        with suppress(DataError):
            return seen_in(self.ahead(None, keep=keep), asks=asks)
        return None

    @property
    def rules(self) -> Mapping[str, Any]:
        """The gold set's rules that forbid documents."""
        if self.gold is not None:
            return self.gold.forbidden
        return {} if self.reading is None else self.reading.forbidden

    def batches(self, profile: Profile | None = None) -> Iterator[Batch]:
        """`Passed.batches` of all of it."""
        return self.passed.batches(self.texts.filled(self._read()), profile)

    def items(self, profile: Profile | None = None) -> Iterator[MatchItem]:
        """The same question by question, with all distinct documents where there are searches."""
        batches, searching = self.batches(profile), self.passed.searching
        if searching is not None:
            batches = searching.watching(batches, [])
        for batch in batches:
            yield from items_of(batch)

    def answers(self) -> Iterator[tuple[Query, Retrieved | None]]:
        """Each question with what was retrieved for it, as it stands."""
        for batch in self.texts.filled(self._read()):
            yield from ((query, answer) for _, query, answer in batch.rows())

    def ahead(self, n_whole: int | None, *, keep: bool) -> Iterator[Batch]:
        """The stream for whoever looks at it before it passes: gold, and the first documents.

        A file may be read without its mistakes, which are said where it passes. Gold may come
        twice.

        Args:
            n_whole: of so many questions, the first ones at least, there are documents; None for
                all of them.
            keep: whether the stream will pass here, and not in parts of a file, so that what was
                read of it is kept, as far as there is room.
        """
        if self.reading is None:
            yield from batches_of(self.rows)
            return
        if isinstance(self.rows, BufferedRows) and self.rows.is_whole:
            yield from self.rows.batches()
            return
        if keep or self.reading.is_read_once:
            kept = self.rows
            if not isinstance(kept, BufferedRows):
                self.rows = kept = BufferedRows(self.reading.batches())
            is_read_once = self.reading.is_read_once
            yield from kept.ahead(*((np.inf, np.inf) if is_read_once else (n_whole or 0, _ROOM)))
            n_whole = None if n_whole is None else 0
            if kept.is_whole:
                return
        yield from self.reading.anew(n_whole).batches()

    def _read(self) -> Iterator[Batch]:
        yield from self.passed.noted(batches_of(self.rows))
        self.ended()

    def ended(self) -> None:
        """Once all has passed, see to it that something was retrieved.

        Raises:
            DataError: it is a file, and none of its questions says what was retrieved.
        """
        if self.reading is not None:
            self.passed.mender.surrogates += self.reading.problems.mender.surrogates
            if not self.passed.has_answers:
                raise nothing_retrieved(self.reading.problems.file)

    def counts(self, sums: Mapping[str, int], profile: Profile, notes: Notes) -> dict[str, Any]:
        """What was scored and what was not, once all of it has passed.

        Args:
            sums: of the match table, or of those of all parts (`table_counts`).
            profile: says which queries are left out.
            notes: what the matcher noted.
        """
        self._check_orders(profile)
        passed, n_with_gold = self.passed, sums["n_with_gold"]
        probes = {PROBES: sums[PROBES]} if PROBES in sums else {}
        n = sums["n_queries"]
        n_to_find = n - sums.get(PROBES, 0)
        unanswerable, forbidden, searches = (
            {
                name.removeprefix(start): count
                for name, count in sums.items()
                if name.startswith(start)
            }
            for start in (UNANSWERABLE, OF_FORBIDDEN, OF_SEARCHES)
        )
        n_no_list, n_no_list_gold = (
            searches.get(name, 0) for name in ("n_no_list", "n_no_list_gold")
        )
        return {
            "n_queries": n,
            "n_scored": n_with_gold - n_no_list_gold
            if profile.leaves_out_no_gold
            else n_to_find - n_no_list,
            "n_no_gold": n_to_find - n_with_gold - (n_no_list - n_no_list_gold),
            **probes,
            "n_missing": passed.statuses["missing"],
            "n_extra": self.n_extra,
            "n_failed": passed.statuses["failed"],
            "n_empty": passed.n_empty,
            "n_duplicates": sums["n_duplicates"],
            "judged_share": sums["n_judged"] / sums["n_to_judge"] if sums["n_to_judge"] else None,
            "n_replaced_surrogates": passed.mender.surrogates,
            "n_longer_lines": self.n_longer_lines,
            **({"n_by_distance": self.n_by_distance} if self.n_by_distance else {}),
            **({"unanswerable": unanswerable} if unanswerable else {}),
            **({"forbidden": forbidden} if forbidden else {}),
            **({SEARCHES: searches} if searches else {}),
            **notes,
            **({"first_failure": first_failure(passed.failures)} if passed.failures else {}),
        }

    def _check_orders(self, profile: Profile) -> None:
        orders = self.passed.orders
        if orders["rises"] >= _ENOUGH and not orders["other"]:
            warnings.warn(
                phrase(
                    "run {run!r}: scores rise down every list, as distances do, and the profile "
                    "{profile!r} ranks by score: it has put the last document of each list first; "
                    "give scores of which a higher one is better, or none",
                    run=self.name,
                    profile=profile.name,
                ),
                MatchWarning,
                stacklevel=outside(),
            )

    def dataset_settings(self) -> Mapping[str, Any]:
        """Name, version and content hash of the gold set, once all of it has passed."""
        if (gold := self.gold) is not None:
            named = {"name": gold.name, "version": gold.version, "hash": None}
            guessed = {} if gold.encoding is None else {"encoding": gold.encoding}
            return _HashedLater(named | guessed, partial(getattr, gold, "content_hash"))
        if isinstance(self.rows, Scored):
            content = partial(_hash_of_scored, self.rows)
            return _HashedLater({"name": self.dataset_name, "version": None, "hash": None}, content)
        hashed = hash_of(self.passed.hashes or (), self.rules)
        settings = {"name": self.dataset_name, "version": None, "hash": hashed}
        encoding = None if self.reading is None else self.reading.problems.encoding
        return settings if encoding is None else settings | {"encoding": encoding}


def _hash_of_scored(scored: Scored) -> str:
    queries = (query for batch in scored.batches() for query in batch.queries())
    return hash_of(map(query_hash, queries))


class _HashedLater(Mapping[str, Any]):
    """What a result records of a gold set, which is hashed when somebody looks.

    That takes as long as to evaluate it.
    """

    def __init__(self, settings: Mapping[str, Any], hashed: Callable[[], str]) -> None:
        self._known = {**settings}
        self._hashed = hashed

    def __getitem__(self, key: str) -> Any:
        if key == "hash" and self._known[key] is None:
            self._known[key] = self._hashed()
        return self._known[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return repr(dict(self))


def source_of(
    dataset: object,
    run: object,
    profile: Profile,
    *,
    by_id: bool = False,
    texts: Texts = NO_TEXTS,
) -> Source:
    """What to evaluate.

    Args:
        dataset: as for `evaluate`.
        run: as for `evaluate`.
        profile: says which queries are left out.
        by_id: whether ids alone are compared, which needs no documents.
        texts: fills in those of ids.
    """
    scored = Scored.of(dataset, run) if by_id and profile.missing == "empty" else None
    if scored is not None and any(scored.is_answered):
        return Source(scored, "run", "gold", NO_TEXTS, n_extra=scored.n_extra)
    if run is not None:
        gold = read_dataset(dataset)
        if is_retriever(run):
            gold = texts.gold(gold)  # before it is asked
            return _joined(gold, as_run(run, gold), profile, texts)
        answers = as_run(run, gold)  # a file that is no run is the greater mistake
        return _joined(texts.gold(gold), answers, profile, texts)
    dataset = gold_of(dataset)
    if not is_source(dataset):
        raise UsageError(
            "run: nothing to evaluate; pass gold and what was retrieved (a Run, lists of "
            "documents, a retriever; several by name: {'bm25': ..., 'dense': ...}), or a results "
            "file alone, by its path or as rows"
        )
    reading = Reading(dataset, strict=True)
    return Source(reading, reading.name, reading.name, texts, reading=reading)


@dataclass(frozen=True)
class _Joined:
    """The questions of a gold set with what a run has of them."""

    gold: GoldDataset
    run: Run

    def __iter__(self) -> Iterator[Row]:
        results = self.run.results
        return ((None, query, results.get(query.id)) for query in self.gold)


def _joined(gold: GoldDataset, run: Run, profile: Profile, texts: Texts) -> Source:
    extra = [query_id for query_id in run if query_id not in gold]
    if extra:
        _check_extra(extra, gold, run, profile)
    source = Source(
        _Joined(gold, run),
        run.name,
        gold.name,
        texts,
        run.settings,
        gold,
        n_extra=len(extra),
        n_longer_lines=run.n_longer_lines,
        n_by_distance=sum(map(_by_distance, run.results.values())),
    )
    source.passed.mender.surrogates = gold.n_replaced_surrogates + run.n_replaced_surrogates
    return source


def _by_distance(answer: Retrieved) -> bool:
    first = next(iter(answer.documents), None)
    return first is not None and first.score is None and DISTANCE in first.metadata


def _check_extra(extra: Sequence[str], gold: GoldDataset, run: Run, profile: Profile) -> None:
    """Say what is wrong where a run has queries that the gold set lacks."""
    if profile.missing == "left_out":
        raise DataError(
            f"run {run.name!r}: query {extra[0]!r} is not in the gold set {gold.name!r}; the "
            f"profile {profile.name!r} scores the run's rows, so each needs gold"
        )
    alike = look_alikes(extra, (query.id for query in gold if query.id not in run))
    example = next((told_apart(*pair) for pair in alike.items()), "")
    if len(extra) == len(run):
        raise DataError(
            phrase(
                "run {run!r}: none of its {n} query ids is in the gold set {gold!r} ({example}); "
                "queries join by id (of a retriever by name pass a list of documents for each "
                "question)",
                run=run.name,
                n=len(run),
                gold=gold.name,
                example=example
                or phrase(
                    "it has {id!r}, the gold set {other!r}",
                    id=extra[0],
                    other=next(iter(gold)).id,
                ),
            )
        )
    if example:
        problem = phrase(
            "run {run!r}: {n} of its query ids only look like the gold set's: {example}",
            run=run.name,
            n=len(alike),
            example=example,
        )
        warnings.warn(problem, MatchWarning, stacklevel=outside())


def ids_alone(gold: GoldDataset, runs: Collection[Run]) -> bool:
    """Whether ids are all that can be compared: one side has no text at all, and both have ids."""

    def golds() -> Iterator[Gold | Doc]:
        items = (item for query in gold for item in query.gold)
        return chain.from_iterable((item, *item.alternatives) for item in items)

    def docs() -> Iterator[Doc]:
        return (doc for run in runs for answer in run.results.values() for doc in answer.documents)

    if any(item.text is not None for item in golds()):
        if not runs or any(doc.text is not None for doc in docs()):
            return False
        if next(docs(), None) is None:
            return False
    have_ids = (item.id is not None for item in chain(golds(), docs()))
    return next(golds(), None) is not None and all(have_ids)


def as_run(value: object, dataset: GoldDataset) -> Run:
    """The run that a value stands for, as `kragx.data.reading.read_run`; a retriever is asked."""
    if not is_retriever(value):
        return read_run(value, dataset)
    from kragx.evaluation.retrieve import retrieve

    return retrieve(value, dataset)
