"""Question by question its texts, documents and scores, in blocks that the page opens singly.

With the searches behind each list, and which member of a combination decided each pair.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from kragx.data import Doc, Gold, Query, facts_of, score_record
from kragx.data.formats.jsonl import to_json
from kragx.data.searches import lanes_of
from kragx.evaluation.search_lists import placed_searches
from kragx.ground.errors import DataError
from kragx.ground.json_values import to_jsonable
from kragx.matchers import BaseMatcher, MatchItem, MatchWarning
from kragx.matchers.reasons import Reason, decisions
from kragx.metrics import RankedList
from kragx.report.html_page.cells import MOST_DOCS, Grid, RunCell, Sources
from kragx.report.html_page.packing import TextTable, rounded_score, short

QUESTIONS_A_BLOCK = 32
"""How many questions a block holds."""

MOST_FIELDS, MOST_CHARACTERS = 20, 300
"""So many fields of a document's metadata are shown, and so many characters of each."""


class OpenedQuestions:
    """What the page shows of an opened question.

    Args:
        grid: what each retriever did under each matcher.
        texts: numbers the texts.
        metadata: numbers what documents carry beside their texts.
        by_id: the texts of gold that is named by its id alone.
        sources: how much is kept, and who decided.

    Attributes:
        members: ``[name, accept, reject]`` of the members of each combination that were asked.
    """

    def __init__(
        self,
        grid: Grid,
        texts: TextTable,
        metadata: TextTable,
        by_id: Mapping[str, str],
        sources: Sources,
    ) -> None:
        self._grid, self._texts, self._by_id, self._sources = grid, texts, by_id, sources
        self._metadata = metadata
        self.n_docs_left_out: int = 0
        combinations = {
            match: matcher
            for match, matcher in sources.matchers.items()
            if match in grid.cells and matcher.members
        }
        members: dict[str, Members] = {match: {} for match in combinations}
        evidence_of = {id(cell): cell.evaluation.evidence for cell in grid}
        # By row how far a retriever's documents hold each fact, where a metric asked.
        self._held = {
            cell: evidence.matched_facts.deepest()
            for cell, evidence in evidence_of.items()
            if evidence is not None and evidence.matched_facts is not None
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MatchWarning)  # evaluate says them
            self._decided = {
                id(cell): dict(enumerate(decided(matcher, cell.lists or (), members[match])))
                for match, matcher in combinations.items()
                for cell in grid.cells[match].values()
            }
        self.members: dict[str, list[list[Any]]] = {
            match: [*map(list, of_match)] for match, of_match in members.items()
        }

    def blocks(self, queries: Sequence[Query]) -> Iterator[list[dict[str, Any]]]:
        """The questions, some at a time."""
        for start in range(0, len(queries), QUESTIONS_A_BLOCK):
            block = queries[start : start + QUESTIONS_A_BLOCK]
            yield [self._question(position, query) for position, query in enumerate(block, start)]

    def _question(self, position: int, query: Query) -> dict[str, Any]:
        by_cell = partial(self._by_cell, position)
        searches = {
            id(cell): searched(cell, row)
            for cell in self._grid
            if (row := cell.rows[position]) is not None
        }
        pairs = {cell: () if came is None else came[2] for cell, came in searches.items()}
        searching = any(searches.values())
        return {
            "gold": list(map(self._gold, query.gold)),
            "pool": [self._pool(position, of_match) for of_match in self._grid.cells.values()],
            "reference": query.reference,
            "history": [[turn.role, turn.content] for turn in query.history],
            "facts": _facts(query),
            "held": by_cell(lambda _, cell, row: self._held.get(id(cell), {}).get(row, [])),
            "runs": self._runs(position, searches),
            "pairs": by_cell(self._pairs),
            "reasons": by_cell(self._reasons),
            "phrases": list(map(partial(self._phrases, query), self._grid.cells)),
            "decided": by_cell(lambda _, cell, row: self._decided.get(id(cell), {}).get(row, [])),
            # Nothing where nobody searches.
            **({"searched": by_cell(lambda _, cell, row: pairs[id(cell)])} if searching else {}),
        }

    def _by_cell(
        self, position: int, values: Callable[[str, RunCell, int], Sequence[Any]]
    ) -> list[list[Sequence[Any]]]:
        """For each matcher and retriever what is known of a question's row."""
        return [
            [
                [] if (row := cell.rows[position]) is None else values(match, cell, row)
                for cell in of_match.values()
            ]
            for match, of_match in self._grid.cells.items()
        ]

    def _gold(self, gold: Gold) -> dict[str, Any]:
        text = self._by_id.get(gold.id or "") if gold.text is None else gold.text
        number = self._texts.number(text)
        values: dict[str, Any] = {"id": gold.id, "grade": gold.grade, "text": number}
        if gold.alternatives:
            texts = ((a.id, a.text or self._by_id.get(a.id or "")) for a in gold.alternatives)
            values["alternatives"] = [[id_, self._texts.number(text)] for id_, text in texts]
        return values

    def _phrases(self, query: Query, match: str) -> list[int]:
        """The gold items that a matcher looks for in a way of its own: short ones, as phrases."""
        matcher = self._sources.matchers.get(match)
        items = enumerate(query.gold if matcher else ())
        return [item for item, gold in items if matcher and matcher.remark(gold.text or "")]

    def _pool(self, position: int, of_match: Mapping[str, RunCell]) -> list[dict[str, Any]] | None:
        """The graded documents of a pool, which all retrievers share; None without one."""
        cell = next(iter(of_match.values()))
        row = cell.rows[position]
        return list(map(self._gold, cell.golds[row])) if cell.pooled and row is not None else None

    def _runs(self, position: int, searches: Mapping[int, Any]) -> dict[str, Any]:
        """What each retriever returned; the same for every matcher, so the first one will do."""
        runs: dict[str, Any] = {}
        for cell in self._grid:
            name, row, table = cell.evaluation.name, cell.rows[position], cell.evaluation.table
            if name in runs or row is None or cell.lists is None:
                continue
            ranked, start = cell.lists[row], table.doc_start[row]
            docs = ranked.docs[:MOST_DOCS]
            repeated = table.repeated[start : start + len(docs)].tolist()
            self.n_docs_left_out += len(ranked.docs) - len(docs)
            runs[name] = {
                "docs": list(map(self._doc, docs, repeated)),
                "n": len(ranked.docs),
                "error": ranked.error,
            }
            # The searches behind the list, where it made several.
            if (came := searches[id(cell)]) is not None:
                distinct, about, _ = came
                rows = [self._doc(doc, repeated=False) for doc in distinct]
                runs[name]["searches"] = {"docs": rows, **about}
        return runs

    def _doc(self, doc: Doc, repeated: bool) -> list[Any]:
        about = self._metadata.number(shown_metadata(doc.metadata) if doc.metadata else None)
        values = [doc.id, self._texts.number(doc.text), score_record(doc.score), about]
        return [*values, 1] if repeated else values

    def _pairs(self, match: str, cell: RunCell, row: int) -> list[float | None]:
        """Document, gold item and score of each pair with a score above 0, one after the other."""
        table = cell.evaluation.table
        first = table.doc_start[row]
        last = min(table.doc_start[row + 1], first + MOST_DOCS)
        # Pairs stand by document, so those of some documents in a row are one slice.
        pairs = slice(*np.searchsorted(table.pair_doc, (first, last)))
        docs = (table.pair_doc[pairs] - first).tolist()
        golds = (table.pair_gold[pairs] - table.gold_start[row]).tolist()
        scores = table.pair_score[pairs].tolist()
        rounded = (rounded_score(score, table.threshold) for score in scores)
        return list(chain(*zip(docs, golds, rounded)))

    def _reasons(self, match: str, cell: RunCell, row: int) -> list[list[Any]]:
        """[document, gold item, grade, reason] of each pair that a judge has looked at.

        The gold item is -1 where the judge was asked about document and question alone.
        """
        known = self._sources.reasons.get(match)
        if not known or cell.lists is None:
            return []
        ranked, texts_of = cell.lists[row], {-1: [""]}
        for item, gold in enumerate(cell.golds[row]):
            texts_of[item] = [
                text or "" for text in (gold.text, *(a.text for a in gold.alternatives))
            ]
        reasons = []
        for item, texts in texts_of.items():
            for position, doc in enumerate(ranked.docs[:MOST_DOCS]):
                of_pair = (known.get((ranked.query.id, doc.text or "", text)) for text in texts)
                # Of a gold item's alternatives the one that the judge found nearest decides.
                best = max(
                    filter(None, of_pair),
                    key=lambda said: -1 if said[0] is None else said[0],
                    default=None,
                )
                if best is not None:
                    reasons.append([position, item, *best])
        return reasons


def shown_metadata(metadata: Mapping[str, Any]) -> str:
    """The first fields of some metadata as JSON: ``{"entries": [[name, text], ...], "more": n}``.

    A text stands as it is, anything else as JSON; a third member of an entry says how many of its
    characters are left out.
    """
    entries = []
    for key, value in islice(metadata.items(), MOST_FIELDS):
        text = value if isinstance(value, str) else to_json(to_jsonable(value))
        n_left = len(text) - MOST_CHARACTERS
        entries.append([str(key), text[:MOST_CHARACTERS], *([n_left] if n_left > 0 else [])])
    return to_json({"entries": entries, "more": max(0, len(metadata) - MOST_FIELDS)})


def _facts(query: Query) -> list[list[Any]]:
    """Each fact that an answer needs, and whether it is vital; none of what is no fact."""
    if not query.metadata:
        return []
    try:
        return [[fact.text, int(fact.vital)] for fact in facts_of(query)]
    except DataError:
        return []


Pairs = list[float | None]
"""Document, gold item and score of each pair with a score above 0, one after the other."""


def searched(cell: RunCell, row: int) -> tuple[list[Doc], dict[str, Any], Pairs] | None:
    """The searches of a row; None where a retriever gave a list alone.

    Args:
        cell: the retriever.
        row: which question.

    Returns:
        The distinct documents that came, by search and rank; then what the page has of searches:
        in ``list`` ``[words, tool, step, lane, seconds, tokens, error, measured, documents, how
        many came]`` of each, with documents as numbers, in ``read`` those that were read, -1 for
        what is not shown, or None where nobody says, and ``unmatched`` of a question that failed,
        of which it is not known what is gold; then the pairs.
    """
    evaluation = cell.evaluation
    query_id = evaluation.query_ids[row]
    answer = cell.answers.get(query_id)
    # A retriever that gives a list alone has no searches to show, though it made one.
    if answer is None or (answer.has_list and not answer.searches):
        return None
    # The same document comes again in later searches: it is sent once, with where it stands in the
    # search table when it first came.
    first: dict[object, tuple[Doc, int | None]] = {}
    placed = [*placed_searches(answer, evaluation, row)]
    for search, in_table in placed:
        for rank, doc in enumerate((search.documents or ())[:MOST_DOCS]):
            place = in_table[rank] if in_table else None
            first.setdefault((doc.id, doc.text), (doc, place))
    numbers = {key: number for number, key in enumerate(first)}
    rows = [
        [
            *(search.query, search.tool, search.step, lane, short(search.seconds), search.tokens),
            *(search.error, int(search.is_measured)),
            [numbers[doc.id, doc.text] for doc in (search.documents or ())[:MOST_DOCS]],
            len(search.documents or ()),
        ]
        for (search, _), lane in zip(placed, lanes_of(answer.searches))
    ]
    read = answer.of("read") if answer.error is None else None
    read_numbers = [numbers.get((doc.id, doc.text), -1) for doc in read or ()]
    pairs: Pairs = []
    number_of = {place: number for number, (_, place) in enumerate(first.values())}
    if evaluation.searches is not None:
        table = evaluation.searches.table
        for place in sorted(place for place in number_of if place is not None):
            # Pairs stand by document.
            for pair in range(*np.searchsorted(table.pair_doc, (place, place + 1))):
                gold = int(table.pair_gold[pair] - table.gold_start[row])
                score = rounded_score(float(table.pair_score[pair]), table.threshold)
                pairs += [number_of[place], gold, score]
    docs = [doc for doc, _ in first.values()]
    about = {"list": rows, "read": None if read is None else read_numbers}
    return docs, about | ({"unmatched": 1} if None in number_of else {}), pairs


_LETTERS = {"match": "m", "no match": "n", "open": "o", "unknown": "u"}

Decision = list[Any]
"""``[document, gold item, verdict, [member, score, verdict, decides], ...]``, by member asked.

Members are given by number; a verdict is a letter: match, no match, open (left to the next) or
unknown.
"""


Members = dict[tuple[str, float | None, float | None], int]
"""``[name, accept, reject]`` of each member of a combination that was asked, with its number."""


def decided(
    matcher: BaseMatcher, lists: Iterable[RankedList], members: Members
) -> Iterator[list[Decision]]:
    """For each list the pairs for which any member of a combination found something.

    Args:
        matcher: the combination; its judges answer from their store.
        lists: what was retrieved.
        members: is given a number for each member.
    """

    def steps(reason: Reason, *, decides: bool) -> Iterator[list[Any]]:
        for part in reason.parts:
            rests_on_it = decides and part.decides
            # Of nested combinations the page shows the members that gave a score.
            if part.parts:
                yield from steps(part, decides=rests_on_it)
                continue
            score = part.score
            for limit in (part.accept, part.reject):
                if score is not None and limit is not None:
                    score = rounded_score(score, limit)
            member = (member_label(part.settings), part.accept, part.reject)
            # Members recur in every pair: a number is shorter than their names.
            number = members.setdefault(member, len(members))
            yield [number, score, _LETTERS[part.verdict], int(rests_on_it)]

    items = (MatchItem(ranked.query, ranked.docs[:MOST_DOCS]) for ranked in lists)
    for reasons in decisions(matcher, items):
        yield [
            [*pair, _LETTERS[reason.verdict], *steps(reason, decides=True)]
            for pair, reason in reasons.items()
        ]


def member_label(settings: Mapping[str, Any]) -> str:
    """What the page calls a member: its method, and what ROUGE measures, if it is not F."""
    measure = settings.get("measure", "fmeasure")
    return str(settings["method"]) + ("" if measure == "fmeasure" else f" {measure}")
