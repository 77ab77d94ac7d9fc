"""What is evaluated: a gold set and what was retrieved, joined query by query as a stream."""

from collections import Counter, UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, filterfalse, repeat
from math import inf
from operator import attrgetter
from typing import Any, Self

from kragx.data import (
    NO_CORPUS,
    Corpus,
    GoldDataset,
    Query,
    Reading,
    Retrieved,
    Run,
    SurrogateRepair,
    as_corpus,
    hash_of,
    id_difference,
    is_source,
    look_alikes,
    nothing_retrieved,
    query_hash,
    read_dataset,
    read_run,
)
from kragx.data.batch import Batch, BufferedRows, Row, batches_of
from kragx.data.foreign import DISTANCE
from kragx.data.reading import gold_of
from kragx.data.scored import Scored
from kragx.evaluation.arranging import arranged_batch
from kragx.evaluation.retriever_adapters import is_retriever
from kragx.evaluation.searching import OF_SEARCHES, SEARCHES, Searching, Seen, seen_in, seen_in_runs
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import message
from kragx.matchers import BaseMatcher, Diagnostics, MatchItem, is_built_in
from kragx.matchers.gold_siblings import GoldSample
from kragx.matchers.items import items_of
from kragx.metrics import LEFT_OUT, Floats, Profile
from kragx.metrics.match_table import rounded

_ROOM = 1 << 22
"""So many retrieved texts of a file are kept by number until it passes: some thirty megabytes."""


def first_failure(failures: Mapping[str, str]) -> str:
    """The first of some failures, by query id, in words."""
    query_id, error = next(iter(failures.items()))
    return message("query {query!r}: {error}", query=query_id, error=error)


N_ASKS = "n_asks"
"""The count of asks that questions stand for."""


UNANSWERABLE = "unanswerable "
"""Before the names of counts of questions that nothing answers."""

OF_FORBIDDEN, PROBES = "forbidden ", "n_probes"
"""Before the names of counts of questions for which something may be forbidden; and the count of
those that have no gold."""


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
        needed_by = None
        for member in matcher.family:  # whatever the others say
            compares = member.reads == "texts" and not (member.members or member.judges)
            if needed_by is None and compares and is_built_in(member):
                needed_by = member.name
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


NO_TEXTS = Texts()
"""Nothing is filled in, and nothing is needed."""


@dataclass
class StreamStats:
    """What is known of the questions that came by, in their order.

    Attributes:
        query_ids: theirs.
        lines: on which each stood in a file, those that are left out as well.
        statuses: how many were answered, missing and failed.
        seconds: how long each answer took; None where nobody says.
        failures: by query id, why the retriever failed.
        hashes: of their gold; None where the whole gold set is known.
        kept: what is made of each of them, where anything is.
        diagnostics: what the matcher noted.
        repair: has counted the surrogates that were replaced.
        golds: of their gold what is compared with each other; None where nothing is.
        searching: says which list of them metrics are about; None where nobody looks at searches.
    """

    query_ids: list[str] = field(default_factory=list)
    lines: dict[str, int | None] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    seconds: list[float | None] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    hashes: list[bytes] | None = None
    kept: list[Any] = field(default_factory=list)
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    repair: SurrogateRepair = field(default_factory=SurrogateRepair)
    golds: GoldSample | None = None
    searching: Searching | None = None

    def noted(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Questions and what was retrieved as they are read, noted."""
        for batch in batches:
            self.lines.update(zip(batch.query_ids, batch.lines))
            self.statuses.update(batch.statuses)
            yield batch

    def batches(
        self,
        batches: Iterable[Batch],
        texts: "Texts",
        profile: Profile | None = None,
        keep: Callable[[MatchItem], Any] | None = None,
    ) -> Iterator[Batch]:
        """Yield questions with their documents as they are matched, and note them.

        Args:
            batches: questions and what was retrieved.
            texts: fills in those of ids.
            profile: what is done with a list before it is matched (`arranged_batch`), and whether
                queries without an answer are counted only; None for nothing.
            keep: what is kept of each; None for nothing.
        """
        # Noted as read: what a profile leaves out stands in the file, where none may stand twice.
        noted = self.noted(batches)
        for as_read in texts.corpus.filled(noted, texts.needed_by, texts.sides):
            batch = as_read
            if profile is not None:
                if profile.order == "score" or profile.duplicates == "error":
                    batch = arranged_batch(batch, profile)
                if profile.missing == "left_out" and "missing" in batch.statuses:
                    batch = Batch.of([row for row in batch.rows() if row[2] is not None])
            if self.searching is not None:
                batch = self.searching.on_basis(batch)
            self.query_ids += batch.query_ids
            for position, error in batch.errors.items():
                self.failures[batch.query_ids[position]] = error
            self.seconds += batch.seconds
            if self.hashes is not None:
                self.hashes += batch.hashes()
            if self.golds is not None:
                self.golds.see_batch(batch)
            if keep is not None:  # rows of the table, in its order
                self.kept += map(keep, items_of(batch))
            if len(batch):
                yield batch

    def add(self, later: Self) -> None:
        """Add what is known of the questions behind these."""
        self.lines |= later.lines
        self.failures |= later.failures
        self.diagnostics.merge(later.diagnostics)
        self.repair.surrogates += later.repair.surrogates
        for name in ("query_ids", "statuses", "seconds", "hashes", "kept"):
            if more := getattr(later, name):
                column = getattr(self, name)
                column += more  # in place
        if self.golds is not None and later.golds is not None:
            self.golds.merge(later.golds)


NO_RUN = Run({})
"""That of whatever holds both, the gold and what was retrieved."""


@dataclass
class Source:
    """A stream of queries, each with what was retrieved for it, and what has passed of it.

    Attributes:
        rows: the stream, as the gold set and the run have it.
        name: the run's.
        dataset_name: the gold set's.
        texts: fills in those of ids.
        gold: the whole gold set, where it is one.
        run: what was retrieved, where it is a run of its own.
        n_extra: queries of the run that the gold set lacks.
        reading: the file that is read as it passes, where it is one.
        stats: what has passed.
    """

    rows: Iterable[Row]
    name: str
    dataset_name: str
    texts: Texts
    gold: GoldDataset | None = None
    run: Run = NO_RUN
    n_extra: int = 0
    reading: Reading | None = None
    stats: StreamStats = field(default_factory=StreamStats)

    @property
    def may_forbid(self) -> bool | None:
        """Whether anything may be forbidden; None where that takes reading it."""
        source = self.reading if self.gold is None else self.gold
        return False if source is None else source.may_forbid

    @property
    def rules(self) -> Mapping[str, Any]:
        """The gold set's rules that forbid documents."""
        source = self.reading if self.gold is None else self.gold
        return {} if source is None else source.forbidden

    def searches_ahead(self, *, keep: bool) -> Seen | None:
        """What a look at its searches shows; None where there are none.

        A mistake is said where the source passes.

        Args:
            keep: as of `ahead`.
        """
        if self.gold is not None:
            for answer in self.run.results.values():
                if answer.searches or not answer.has_list:
                    return seen_in_runs(self.gold, [self.run])
        elif self.reading is not None and self.reading.may_hold(SEARCHES) is not False:
            with suppress(DataError):
                return seen_in(self.ahead(None, keep=keep))
        return None

    def batches(self, profile: Profile | None = None) -> Iterator[Batch]:
        """`StreamStats.batches` of all of it."""
        return self.stats.batches(self.read(), self.texts, profile)

    def items(self, profile: Profile | None = None) -> Iterator[MatchItem]:
        """The same question by question, with all distinct documents where there are searches."""
        batches, searching = self.batches(profile), self.stats.searching
        if searching is not None:
            batches = searching.watching(batches, [])
        return chain.from_iterable(map(items_of, batches))

    def answers(self) -> Iterator[tuple[Query, Retrieved | None]]:
        """Each question with what was retrieved for it, as it stands."""
        for batch in self.batches():
            yield from ((query, answer) for _, query, answer in batch.rows())

    def ahead(self, n_whole: int | None, *, keep: bool) -> Iterator[Batch]:
        """The stream for whoever looks at it before it passes: gold, and the first documents.

        Its mistakes are said where it passes. Gold may come twice.

        Args:
            n_whole: of so many questions, the first ones at least, there are documents; None for
                all of them.
            keep: whether the stream will pass here, and not in parts of a file, so that what was
                read of it is kept, as far as there is room.
        """
        reading, rows = self.reading, self.rows
        if reading is None:
            yield from batches_of(rows)
            return
        if keep or reading.is_read_once:
            if not isinstance(rows, BufferedRows):
                self.rows = rows = BufferedRows(reading.batches())
            # Of a pipe all is kept, however large: nobody can go back to its beginning.
            yield from rows.ahead(*(inf, inf) if reading.is_read_once else (n_whole or 0, _ROOM))
            if rows.is_whole:
                return
        yield from reading.anew().batches()

    def read(self) -> Iterator[Batch]:
        """All of it as it is read, which has passed then."""
        yield from batches_of(self.rows)
        self.ended()

    def ended(self) -> None:
        """Once all has passed, see to it that something was retrieved.

        Raises:
            DataError: it is a file, and none of its questions says what was retrieved.
        """
        if self.reading is not None:
            self.stats.repair.surrogates += self.reading.problems.repair.surrogates
            if self.stats.statuses.keys() <= {"missing"}:
                raise nothing_retrieved(self.reading.problems.file)

    def counts(
        self, sums: Mapping[str, int], profile: Profile, weights: Floats | None
    ) -> dict[str, Any]:
        """What was scored and what was not, once all of it has passed.

        Args:
            sums: of the match table, or of those of all parts (`table_counts`).
            profile: says which queries are left out.
            weights: (q) how many asks each query stands for; None where all weigh alike.
        """
        stats, n_with_gold = self.stats, sums["n_with_gold"]
        n_to_find = sums["n_queries"] - sums.get(PROBES, 0)
        of_kinds: dict[str, dict[str, int]] = {}
        for name, n in sums.items():
            kind, _, rest = name.partition(" ")
            if f"{kind} " in (UNANSWERABLE, OF_FORBIDDEN, OF_SEARCHES):
                of_kinds.setdefault(kind, {})[rest] = n
        n_by_distance = 0
        for answer in self.run.results.values():
            for doc in answer.documents[:1]:
                n_by_distance += doc.score is None and DISTANCE in doc.metadata
        of_searches = of_kinds.get(SEARCHES, {})
        # Questions of which nobody knows the list are neither scored nor without gold: out of both.
        n_no_list = of_searches.get("n_no_list", 0)
        n_no_list_gold = of_searches.get("n_no_list_gold", 0)
        return {
            "n_queries": sums["n_queries"],
            "n_scored": n_with_gold - n_no_list_gold
            if profile.no_gold in LEFT_OUT
            else n_to_find - n_no_list,
            "n_no_gold": n_to_find - n_with_gold - (n_no_list - n_no_list_gold),
            **({PROBES: sums[PROBES]} if PROBES in sums else {}),
            "n_missing": stats.statuses["missing"],
            "n_extra": self.n_extra,
            "n_failed": stats.statuses["failed"],
            "n_empty": sums["n_empty"],
            "n_duplicates": sums["n_duplicates"],
            "judged_share": sums["n_judged"] / sums["n_to_judge"] if sums["n_to_judge"] else None,
            "n_replaced_surrogates": stats.repair.surrogates,
            "n_longer_lines": self.run.n_longer_lines,
            **({"n_by_distance": n_by_distance} if n_by_distance else {}),
            **of_kinds,
            **stats.diagnostics,
            **({"first_failure": first_failure(stats.failures)} if stats.failures else {}),
            **({} if weights is None else {N_ASKS: rounded(float(weights.sum()))}),
        }

    def dataset_settings(self) -> Mapping[str, Any]:
        """Name, version and content hash of the gold set, once all of it has passed."""
        gold, reading = self.gold, self.reading
        version = None if gold is None else gold.version
        settings = {"name": self.dataset_name, "version": version, "hash": None}
        encoding = reading.problems.encoding if reading else gold and gold.encoding
        settings |= {"encoding": encoding} if encoding else {}
        if reading is not None:
            return settings | {"hash": hash_of(self.stats.hashes or (), self.rules)}
        return _HashedLater(settings, self.rows if gold is None else gold)


class _HashedLater(UserDict[str, Any]):
    """What a result records of a gold set, which is hashed when somebody looks.

    That takes as long as to evaluate it.
    """

    def __init__(self, settings: Mapping[str, Any], content: GoldDataset | Iterable[Row]) -> None:
        super().__init__(settings)
        self._content = content

    def __getitem__(self, key: str) -> Any:
        if key == "hash" and self.data[key] is None:
            gold = self._content
            self.data[key] = (
                gold.content_hash
                if isinstance(gold, GoldDataset)
                else hash_of(query_hash(query) for _, query, _ in gold)
            )
        return self.data[key]


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
    # Where no id meets another the slower road says why; a fast answer would be zeros throughout.
    if scored is not None and any(scored.is_answered):
        return Source(scored, "run", "gold", NO_TEXTS, n_extra=scored.n_extra)
    if run is not None:
        gold = read_dataset(dataset)
        if not isinstance(run, Run) and is_retriever(run):
            from kragx.evaluation.retrieve import retrieve

            answers = retrieve(run, texts.gold(gold))
        else:
            answers = read_run(run, gold)  # a file that is no run is the greater mistake
        # Gold that lacks texts is counted with what was retrieved.
        gold = gold if texts.corpus.source is None else texts.gold(gold)
        extra = [*filterfalse(gold.__contains__, answers.results)]
        if extra:
            _check_extra(extra, gold, answers, profile)
        retrieved = map(answers.results.get, map(attrgetter("id"), gold.queries))
        rows: list[Row] = [*zip(repeat(None), gold.queries, retrieved)]
        source = Source(rows, answers.name, gold.name, texts, gold, answers, len(extra))
        n_replaced = gold.n_replaced_surrogates + answers.n_replaced_surrogates
        source.stats.repair.surrogates = n_replaced
        return source
    dataset = gold_of(dataset)
    if not is_source(dataset):
        raise UsageError(
            "run: nothing to evaluate; pass gold and what was retrieved (a Run, lists of "
            "documents, a retriever; several by name: {'bm25': ..., 'dense': ...}), or a results "
            "file alone, by its path or as rows"
        )
    reading = Reading(dataset, strict=True)
    stats = StreamStats(hashes=[])
    return Source(reading, reading.name, reading.name, texts, reading=reading, stats=stats)


def _check_extra(extra: Sequence[str], gold: GoldDataset, run: Run, profile: Profile) -> None:
    """Say what is wrong where a run has queries that the gold set lacks."""
    if profile.missing == "left_out":
        raise DataError(
            "run {name!r}: query {extra!r} is not in the gold set {name_2!r}; the "
            "profile {name_3!r} scores the run's rows, so each needs gold",
            name=run.name,
            extra=extra[0],
            name_2=gold.name,
            name_3=profile.name,
        )
    if len(extra) == len(run):
        # Ids that differ only in their Unicode form or spaces look the same on a screen.
        alike = look_alikes(extra, (query.id for query in gold))
        example = next((id_difference(*pair) for pair in alike.items()), "")
        raise DataError(
            "run {run!r}: none of its {n} query ids is in the gold set {gold!r} ({example}); "
            "queries join by id (of a retriever by name pass a list of documents for each "
            "question)",
            run=run.name,
            n=len(run),
            gold=gold.name,
            example=example
            or message(
                "it has {id!r}, the gold set {other!r}",
                id=extra[0],
                other=next(iter(gold)).id,
            ),
        )
