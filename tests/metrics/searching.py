"""Questions with several searches: built by hand, drawn, and measured the slow and obvious way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isnan, nan
from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st

from kragx.metrics import MetricScores, compute, parse_all, profile
from kragx.metrics.match_table import MatchTable
from kragx.metrics.search_table import Basis, Places, SearchTable
from tests.metrics.support import Ranking, table


@dataclass(frozen=True)
class Tried:
    """One search: the numbers of its documents, None if it gives none; what it took."""

    docs: tuple[int, ...] | None = ()
    failed: bool = False
    seconds: float = nan
    tokens: float = nan

    @property
    def measured(self) -> bool:
        """Whether it is known what documents it gave."""
        return self.docs is not None and not self.failed


Lane = tuple[Tried, ...]
"""A search with those that tried it again."""
Step = tuple[Lane, ...]
"""What ran side by side."""


@dataclass(frozen=True)
class Asked:
    """A question: the scores of its documents against its gold, and its searches.

    `same` says of each document the first that is the same; each is its own by default. `final`
    and `read` are lists of documents, -1 for one that none of the searches gave.
    """

    scores: tuple[tuple[float, ...], ...]
    grades: tuple[float, ...]
    steps: tuple[Step, ...]
    same: tuple[int, ...] = ()
    answered: bool = True
    final: tuple[int, ...] | None = None
    read: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not self.same:
            object.__setattr__(self, "same", tuple(range(len(self.scores))))

    @property
    def searches(self) -> list[Tried]:
        """All of them, in order."""
        return [search for step in self.steps for lane in step for search in lane]


def asked(gold: str, *steps: str | Sequence[str], tokens: float = 10, seconds: float = 1) -> Asked:
    """A question whose documents are texts of the gold letters that they match.

    A text is a search that ran alone, several are side by side; documents stand apart by spaces.
    """
    searches = [[step] if isinstance(step, str) else [*step] for step in steps]
    texts = list(dict.fromkeys(doc for step in searches for text in step for doc in text.split()))
    return Asked(
        scores=tuple(tuple(float(letter in text) for letter in gold) for text in texts),
        grades=(1.0,) * len(gold),
        steps=tuple(
            tuple(
                (Tried(tuple(map(texts.index, text.split())), seconds=seconds, tokens=tokens),)
                for text in step
            )
            for step in searches
        ),
    )


def searched(*questions: Asked, basis: Basis = "first", threshold: float = 0.5) -> SearchTable:
    """The search table of some questions."""
    rankings = [
        Ranking(question.scores, question.grades, answered=question.answered)
        for question in questions
    ]
    matches = table(*rankings, threshold=threshold)
    unknown = [
        (matches.doc_start[query] + row, matches.gold_start[query] + column, score)
        for query, question in enumerate(questions)
        for row, scores in enumerate(question.scores)
        for column, score in enumerate(scores)
        if score > 0 or isnan(score)
    ]
    docs, golds, scores = zip(*unknown) if unknown else ((), (), ())
    matches = replace(
        matches,
        pair_doc=np.array(docs, np.int32),
        pair_gold=np.array(golds, np.int32),
        pair_score=np.array(scores, np.float64),
    )
    starts = matches.doc_start.tolist()
    rows = [
        (start, number, lane, search)
        for start, question in zip(starts, questions)
        for number, step in enumerate(question.steps, start=1)
        for lane, searches in enumerate(step)
        for search in searches
    ]
    lists = [
        [start + doc for doc in search.docs or ()] if search.measured else []
        for start, _, _, search in rows
    ]

    def placed(name: str) -> Places:
        of_questions = [getattr(question, name) for question in questions]
        entries = [
            [doc if doc < 0 else start + doc for doc in docs or ()]
            for start, docs in zip(starts, of_questions)
        ]
        is_there = np.array([docs is not None for docs in of_questions], bool)
        return Places(_starts(entries), _flat(entries), is_there)

    return SearchTable(
        table=matches,
        same=_flat([[s + one for one in q.same] for s, q in zip(starts, questions)]),
        start=_starts([question.searches for question in questions]),
        step=np.array([number for _, number, _, _ in rows], np.int64),
        lane=np.array([lane for _, _, lane, _ in rows], np.int64),
        list_start=_starts(lists),
        docs=_flat(lists),
        measured=np.array([search.measured for *_, search in rows], bool),
        failed=np.array([search.failed for *_, search in rows], bool),
        seconds=np.array([search.seconds for *_, search in rows], np.float64),
        tokens=np.array([search.tokens for *_, search in rows], np.float64),
        final=placed("final"),
        read=placed("read"),
        basis=basis,
    )


def _flat(lists: Sequence[Sequence[int]]) -> np.ndarray:
    return np.array([entry for entries in lists for entry in entries], np.int64)


def _starts(lists: Sequence[Sequence[object]]) -> np.ndarray:
    return np.cumsum([0, *map(len, lists)])


def evidence(searches: SearchTable | None, matches: MatchTable | None = None) -> SimpleNamespace:
    """What metrics look at: lists of the basis, and searches."""
    matches = searches.of() if matches is None else matches
    return SimpleNamespace(
        table=matches,
        searches=searches,
        forbidden=None,
        lists=(),
        relevance=None,
        of=lambda of, order: evidence(searches, searches.of(of, order)),
    )


def scores_of(metrics: Sequence[str], searches: SearchTable) -> dict[str, MetricScores]:
    """The scores of metrics by their names, under profile kragx."""
    looked = evidence(searches)
    computed = compute(looked.table, parse_all(metrics), profile("kragx"), looked)
    return {str(score.spec): score for score in computed}


def number(metric: str, *questions: Asked) -> float | None:
    """The number of one metric."""
    (score,) = scores_of([metric], searched(*questions)).values()
    return score.mean


# -- the slow and obvious reference -----------------------------------------------------------


def brought(question: Asked, n: int | None = None, k: int | None = None, rel: float = 0) -> set:
    """The gold items that the first n steps brought."""
    items: set[int] = set()
    for step in question.steps[:n] if question.answered else ():
        for search in (search for lane in step for search in lane if search.measured):
            came: dict[int, int] = {}
            for doc in (search.docs or ())[:k]:
                if came.setdefault(question.same[doc], doc) == doc:
                    items |= {
                        gold
                        for gold, grade in enumerate(question.grades)
                        if question.scores[doc][gold] >= 0.5 and is_gold(grade, rel)
                    }
    return items


def is_gold(grade: float, rel: float) -> bool:
    """Whether a grade is high enough; 0 stands for any above 0."""
    return grade >= rel if rel else grade > 0


def golds(question: Asked, rel: float = 0) -> list[int]:
    """All gold items."""
    return [gold for gold, grade in enumerate(question.grades) if is_gold(grade, rel)]


def says(question: Asked, n: int | None = None) -> bool:
    """Whether it is known what the first n steps brought: some of it, or that it was nothing."""
    if n is not None and not says(question):
        return False
    searches = [search for step in question.steps[:n] for lane in step for search in lane]
    some = any(search.measured for search in searches)
    return not question.answered or some or all(search.failed for search in searches)


def evidence_recall(question: Asked, n=None, k=None, rel=0) -> float:
    """Gold of the first n steps over all gold."""
    everything = golds(question, rel)
    if not everything or not says(question, n):
        return nan
    return len(brought(question, n, k, rel)) / len(everything)


def first_step(question: Asked, need: str, rel: float = 0) -> float:
    """The step that brings the first gold, or the last of it; infinity without one."""
    wanted = len(golds(question, rel)) if need == "all" else 1
    for n in range(1, len(question.steps) + 1):
        if len(brought(question, n, rel=rel)) >= wanted:
            return n
    return inf


def first_search(question: Asked, need="any", rel=0) -> float:
    """1 over that step."""
    if not golds(question, rel) or not says(question):
        return nan
    return 1 / first_step(question, need, rel)


def rescue(question: Asked, rel=0) -> float:
    """Whether a later step finds gold where the first does not."""
    if not golds(question, rel) or not says(question, 1) or brought(question, 1, rel=rel):
        return nan
    return float(bool(brought(question, rel=rel)))


def waste(question: Asked, rel=0) -> float:
    """Steps after the last that brings new gold, over all."""
    sizes = [len(brought(question, n, rel=rel)) for n in range(len(question.steps) + 1)]
    if not sizes[-1]:
        return nan
    last = max(n for n in range(1, len(sizes)) if sizes[n] > sizes[n - 1])
    return (len(question.steps) - last) / len(question.steps)


def repeated(question: Asked) -> float:
    """What of later steps came in an earlier one."""
    before: set[int] = set()
    again = places = 0
    for number_of_step, step in enumerate(question.steps if question.answered else ()):
        docs = [doc for lane in step for s in lane if s.measured for doc in s.docs or ()]
        if number_of_step:
            places += len(docs)
            again += sum(question.same[doc] in before for doc in docs)
        before |= {question.same[doc] for doc in docs}
    return again / places if places else nan


def cost(question: Asked, what: str, n: int | None = None) -> float:
    """What the first n steps took; nan if that is not known of one of their searches."""
    if not question.answered and not question.steps:
        return nan
    total = 0.0
    for step in question.steps[:n]:
        lanes = [[getattr(search, what) for search in lane] for lane in step]
        if any(isnan(value) for lane in lanes for value in lane):
            return nan
        total += sum(map(sum, lanes)) if what == "tokens" else max(map(sum, lanes))
    return total


def to_evidence(question: Asked, what: str, need="any", rel=0) -> float:
    """What it took until the first gold came, or all of it; infinity without it."""
    if not golds(question, rel) or not says(question):
        return nan
    if question.answered and isnan(cost(question, what)):
        return nan
    step = first_step(question, need, rel)
    return inf if step == inf else cost(question, what, int(step))


def least_of(values: Sequence[float], percent: int) -> float | None:
    """The least value that so many of 100 do not exceed."""
    values = sorted(value for value in values if not isnan(value))
    return values[max(ceil(percent / 100 * len(values)), 1) - 1] if values else None


def per_gold(questions: Sequence[Asked], what: str, rel=0) -> float | None:
    """What all cost over all that they found."""
    spent = found = 0.0
    for question in questions:
        if what == "searches":
            lost = not question.answered and not question.steps
            own = nan if lost else float(sum(len(step) for step in question.steps))
        else:
            own = cost(question, what)
        if golds(question, rel) and says(question) and not isnan(own):
            spent, found = spent + own, found + len(brought(question, rel=rel))
    return spent / found if found else inf if spent else None


def listed(question: Asked, of: str, order: str = "turns") -> list[int] | None:
    """The documents of a list; None where nobody knows it."""
    lists = [search.docs or () for search in question.searches if search.measured]
    if not question.answered:
        return []
    if of in ("retrieved", "read"):
        docs = question.final if of == "retrieved" else question.read
        nothing = all(search.failed for search in question.searches)
        return [*docs] if docs is not None else [] if nothing else None
    if not lists:
        return [] if says(question) else None
    if of == "first":
        return [*lists[0]]
    if of == "last":
        return [*lists[-1]]
    depth = max(map(len, lists))
    turns = [docs[rank] for rank in range(depth) for docs in lists if rank < len(docs)]
    chain = [doc for docs in lists for doc in docs]
    once: dict[int, int] = {}
    for doc in turns if order == "turns" else chain:
        once.setdefault(question.same[doc], doc)
    return [*once.values()]


def ranking(question: Asked, docs: Sequence[int]) -> Ranking:
    """A list as one ranking of support."""
    keys = [question.same[doc] if doc >= 0 else -1 - at for at, doc in enumerate(docs)]
    nothing = (0.0,) * len(question.grades)
    return Ranking(
        tuple(question.scores[doc] if doc >= 0 else nothing for doc in docs),
        question.grades,
        tuple(key in keys[:at] for at, key in enumerate(keys)),
        answered=question.answered,
    )


# -- random ones ------------------------------------------------------------------------------

GRADES = st.sampled_from([1.0, 1.0, 3.0, 0.0])
SCORES = st.sampled_from([0.0, 0.0, 0.3, 1.0])
SECONDS = st.sampled_from([0.1, 0.7, 1 / 3, 2.0, 1e-9, nan])
TOKENS = st.sampled_from([nan, 0.0, *map(float, range(1, 9))])


@st.composite
def questions(draw: st.DrawFn) -> Asked:
    """Any question: failed, retried, parallel, unmeasured searches, or none at all."""
    n_docs, n_gold = draw(st.integers(1, 5)), draw(st.integers(0, 3))
    lists = st.lists(st.integers(0, n_docs - 1), max_size=4).map(tuple)
    tried = st.builds(
        Tried,
        docs=lists | lists | st.none(),
        failed=st.sampled_from([False, False, False, True]),
        seconds=SECONDS,
        tokens=TOKENS,
    )

    @st.composite
    def lanes(draw: st.DrawFn) -> Lane:
        failed = draw(st.integers(0, 2)) if draw(st.booleans()) else 0
        return (*(replace(draw(tried), failed=True) for _ in range(failed)), draw(tried))

    steps = st.lists(st.lists(lanes(), min_size=1, max_size=2).map(tuple), max_size=4).map(tuple)
    same = [0]
    for doc in range(1, n_docs):
        other = draw(st.sampled_from([doc, doc, 0, doc - 1]))
        same.append(doc if other == doc else same[other])
    reads = st.lists(st.integers(-1, n_docs - 1), max_size=4).map(tuple)
    return Asked(
        scores=tuple(tuple(draw(SCORES) for _ in range(n_gold)) for _ in range(n_docs)),
        grades=tuple(draw(GRADES) for _ in range(n_gold)),
        steps=draw(steps),
        same=tuple(same),
        answered=draw(st.sampled_from([True, True, True, False])),
        final=draw(st.none() | lists),
        read=draw(st.none() | reads),
    )


@st.composite
def unknowns(draw: st.DrawFn, grades: Sequence[float]) -> Asked:
    """A question of which a few scores, and grades if these say so, are not known."""
    n_docs, n_gold = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    scores = st.sampled_from([0.0, 1.0, nan])
    searches = st.lists(st.integers(0, n_docs - 1), max_size=2).map(tuple)
    tokens = st.integers(1, 9).map(float)
    tried = st.builds(Tried, docs=searches, seconds=tokens, tokens=tokens)
    steps = st.lists(tried.map(lambda search: ((search,),)), min_size=1, max_size=3)
    return Asked(
        scores=tuple(tuple(draw(scores) for _ in range(n_gold)) for _ in range(n_docs)),
        grades=tuple(draw(st.sampled_from(grades)) for _ in range(n_gold)),
        steps=draw(steps.map(tuple)),
    )


def shuffled(question: Asked, order: Callable[[Step], Sequence[Lane]]) -> Asked:
    """The same with what ran side by side in another order."""
    return replace(question, steps=tuple(tuple(order(step)) for step in question.steps))


def completions(question: Asked, values: Sequence[float] = (0.0, 1.0)) -> Iterator[Asked]:
    """Every way in which what is not known of a question may turn out."""
    for row, scores in enumerate(question.scores):
        for column, score in enumerate(scores):
            if isnan(score):
                for value in values:
                    cells = (*scores[:column], value, *scores[column + 1 :])
                    rows = (*question.scores[:row], cells, *question.scores[row + 1 :])
                    yield from completions(replace(question, scores=rows), values)
                return
    for column, grade in enumerate(question.grades):
        if isnan(grade):
            for value in values:
                grades = (*question.grades[:column], value, *question.grades[column + 1 :])
                yield from completions(replace(question, grades=grades), values)
            return
    yield question
