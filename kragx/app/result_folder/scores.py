"""The scores that code or a model gave in a run, kept in its folder: so reading it runs neither.

``scores.jsonl`` has for each matcher that kragx alone cannot ask again (by import path, with a
tokenizer by import path, embeddings, a judge), as a member of a combination too:

- a line with its ``contract``, and of a judge of relevance the ``pool``;
- a line for each query of each run with the n x t ``scores``, null where they are not known, of
  several judges their least and greatest ``votes``, and what a judge ``said``;
- of a pool a line for each query with its ``judged`` documents;
- a line with what the whole ``matcher`` made of the ``gold`` of other questions, and the runs in
  which texts were ``misread``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from kragx.app.config.values import FACTS, RELEVANCE
from kragx.app.result_folder.sealed import as_written
from kragx.data import GoldDataset, Query, Run, every_run
from kragx.data.formats.jsonl import read_records
from kragx.evaluation.arranging import match_item
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.evidence import with_facts
from kragx.evaluation.searching import documents_behind
from kragx.ground.errors import DataError, UntrustedError, inside
from kragx.ground.options import from_options
from kragx.ground.secrets import Secrets
from kragx.judging import Judgement
from kragx.judging.panel import Verdict
from kragx.matchers import (
    BaseMatcher,
    MatchItem,
    OnMatch,
    Place,
    RecordedMatcher,
    Trace,
    standing_in,
)
from kragx.matchers.gold_siblings import GoldSiblings
from kragx.matchers.items import Pool
from kragx.matchers.recorded import Contract, Key, RecordedAnswer, key_of
from kragx.metrics import Floats, Profile

_POOL = ("depth", "cut", "top", "votes")
_SAID = {FACTS: "facts_match", RELEVANCE: "relevance_match"}
_JUDGED = ("grade", "reason", "failure", "detail", "source")
_VOTES = ("low", "high")


@dataclass
class Recording:
    """Listens to the matchers of a run that kragx alone cannot ask again.

    Attributes:
        dataset: the gold set.
        profile: of the run.
        specs: all match specs of the config by name; that of facts, if any, under no name.
        matchers: made of them.
        secrets: what no file may hold.
    """

    dataset: GoldDataset
    profile: Profile
    specs: Mapping[str, object]
    matchers: Mapping[str, BaseMatcher]
    secrets: Secrets = field(default_factory=Secrets)
    _rows: list[dict[str, Any]] = field(default_factory=list)
    _members: dict[tuple[str, Place, bool], BaseMatcher] = field(default_factory=dict)

    @cached_property
    def _places(self) -> dict[str, list[Place]]:
        return {name: _places(spec) for name, spec in self.specs.items()}

    def on_match(self, name: str, run: str) -> OnMatch | None:
        """What listens to a matcher for a run; None if kragx can ask all of it again.

        Args:
            name: the matcher's.
            run: whose documents are matched.
        """
        places = {
            recorded_name: self._places[recorded_name]
            for recorded_name in (name, FACTS)
            if recorded_name in self.specs
        }

        # As matching goes on, not afterwards: a model may answer otherwise when asked again.
        def note(item: MatchItem, trace: Trace) -> None:
            of_facts = item.query.gold != self.dataset[item.query.id].gold
            for place, leaf in trace.leaves():
                pool = leaf.matcher.pool
                facts = of_facts and pool is None
                matcher = FACTS if facts and FACTS in places else name
                if place not in places[matcher]:
                    continue
                self._members.setdefault((matcher, place, facts), leaf.matcher)
                # A pool has its judgements by document, once for all runs; rows would repeat them.
                if pool is None and 0 not in item.shape:
                    scores, *votes = (
                        np.where(leaf.open, values, 0.0)
                        for values in (leaf.scores, *(leaf.reach or ()))
                    )
                    row: dict[str, Any] = {"matcher": matcher, "member": place, "run": run}
                    row |= {"query_id": item.query.id, "facts": facts, "scores": _nulls(scores)}
                    self._rows.append(row | ({"votes": [*map(_nulls, votes)]} if votes else {}))

        return note if any(places.values()) else None

    def records(
        self, runs: Mapping[str, Run], evaluations: Iterable[Evaluation]
    ) -> Iterator[dict[str, Any]]:
        """The lines of the file; none where nothing was heard.

        Args:
            runs: what each retriever returned.
            evaluations: of each under each matcher.
        """
        runs = {run.name: run for run in every_run(runs.values())}
        for name, places in self._places.items():
            for place in places:  # also where there was nothing to match
                member = _member(self.matchers[name], place)
                if not {(name, place, False), (name, place, True)} & self._members.keys():
                    self._members[name, place, not name] = member
        evaluations = [*evaluations]
        has_searches = any(evaluation.basis is not None for evaluation in evaluations)
        item_of = partial(self._item, whole=has_searches)
        # Reasons are read from the stores at last: while judging goes on they are not all there.
        texts_of = {}
        for (name, place, of_facts), matcher in self._members.items():
            key = {"matcher": name, "member": place, "facts": of_facts}
            texts = {target.text or "" for query in self.dataset for target in _item(query).targets}
            remarks = {text: remark for text in sorted(texts) if (remark := matcher.remark(text))}
            contract = self.secrets.masked(asdict(Contract.of(matcher, self.profile)))
            pool = matcher.pool
            yield {
                **key,
                "contract": contract,
                **({"remarks": remarks} if remarks else {}),
                **({} if pool is None else {"pool": {n: getattr(pool, n) for n in _POOL}}),
            }
            if pool is not None:
                for query_id, judged in pool.judgements.items():
                    documents = {text: _record(judgement) for text, judgement in judged.items()}
                    yield {**key, "query_id": query_id, "judged": documents}
            elif matcher.judges:
                items = (item_of(query, run) for run in runs.values() for query in self.dataset)
                texts_of[name, place, of_facts] = matcher.said(items)
        for row in self._rows:
            words = texts_of.get((row["matcher"], row["member"], row["facts"]))
            said = []
            if words and not row["facts"]:
                item = item_of(self.dataset[row["query_id"]], runs[row["run"]])
                said = _judgement_lines(item, words)
            yield row if words is None else {**row, "said": said}
        compared: dict[str, dict[str, GoldSiblings]] = {}
        for evaluation in evaluations:
            if evaluation.siblings is not None and self._places[evaluation.match_name]:
                of_matcher = compared.setdefault(evaluation.match_name, {})
                of_matcher[evaluation.name] = evaluation.siblings
        for name, of_runs in compared.items():
            misread = [run for run, siblings in of_runs.items() if siblings.misread]
            gold = next(iter(of_runs.values())).record()
            yield {"matcher": name, "gold": gold, "misread": misread}

    def _item(self, query: Query, run: Run, *, whole: bool) -> MatchItem:
        """A question with its documents; the whole of them is what all of its searches gave."""
        answer = run.results.get(query.id)
        if not whole:
            return match_item(query, answer, self.profile)
        (docs,) = documents_behind([(None, query, answer)], self.profile)
        return replace(match_item(query, answer), docs=docs)


def _judgement_lines(
    item: MatchItem, words: Mapping[tuple[str, str, str], tuple[float | None, str]]
) -> list[list[Any]]:
    """Document, target, grade and reason of each pair of which something was said."""
    return [
        [number, column, *entry]
        for number, doc in enumerate(item.docs)
        for column, target in enumerate(item.targets)
        if (entry := words.get((item.query.id, doc.text or "", target.text or ""))) is not None
    ]


def _nulls(scores: Floats) -> list[Any]:
    """Scores with None for what is not known."""
    unknown: list[Any] = np.where(np.isnan(scores), np.array(None), scores).tolist()
    return unknown


def _item(query: Query) -> MatchItem:
    return MatchItem(query, ())


def _places(spec: object) -> list[Place]:
    """Where the members of a spec stand that code or a model answers for."""
    places: list[Place] = []

    def noted(place: Place, source: str) -> BaseMatcher:
        places.append(place)
        return BaseMatcher()

    standing_in(spec, noted)
    return places


def _member(matcher: BaseMatcher, place: Place) -> BaseMatcher:
    """The member of a combination that stands at a place of its spec."""
    for number in place:
        matcher = matcher.members[matcher.places.index(number)]
    return matcher


@dataclass
class _Member:
    """What a folder has recorded of one."""

    contracts: dict[bool, Contract] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)
    answers: dict[tuple[str, Key], RecordedAnswer] = field(default_factory=dict)
    pool: Mapping[str, Any] | None = None
    judged: dict[str, dict[str, Judgement]] = field(default_factory=dict)

    def matcher(self) -> RecordedMatcher:
        """The matcher that gives it."""
        pool = None if self.pool is None else Pool(self.judged, **self.pool)
        contract = self.contracts.get(False) or self.contracts[True]
        of_facts = self.contracts.get(True)
        return RecordedMatcher(contract, of_facts, self.answers, self.remarks, pool)


class RecordedScores:
    """The scores that a run has recorded, as matchers.

    Args:
        records: as `Recording.records`.
        dataset: the gold set.
    """

    def __init__(self, records: Iterable[Mapping[str, Any]], dataset: GoldDataset) -> None:
        self._dataset = dataset
        self._members: dict[tuple[str, Place], _Member] = {}
        self._siblings: dict[str, tuple[GoldSiblings, list[str]]] = {}
        for record in records:
            self._add(record)

    @classmethod
    def read(cls, path: Path, dataset: GoldDataset) -> Self:
        """Those of a folder's file.

        Raises:
            DataError: the file is broken.
        """
        scores = cls((), dataset)
        for line, record in read_records(path):
            with inside(path=f"{path}:{line}"), as_written(f"{path}:{line}", "scores"):
                scores._add(record)
        return scores

    def spec(self, name: str, spec: object) -> object:
        """A spec with what is recorded under a matcher's name in place of what would be asked.

        Raises:
            UntrustedError: something of it is not recorded.
        """

        def recorded(place: Place, source: str) -> BaseMatcher:
            member = self._members.get((name, place))
            if member is None or not member.contracts:
                raise UntrustedError(
                    "matcher {value}: its scores come from {source}, and none "
                    "are recorded in the folder",
                    value=_SAID.get(name, name),
                    source=source,
                )
            return member.matcher()

        return standing_in(spec, recorded)

    def siblings(self, name: str, run: str) -> GoldSiblings | None:
        """What a matcher made of the gold of other questions; None where it is not recorded."""
        if name not in self._siblings:
            return None
        siblings, misread = self._siblings[name]
        return replace(siblings, misread=run in misread)

    @property
    def matchers(self) -> set[str]:
        """The names of the matchers of which something is recorded."""
        return {name for name, _ in self._members}

    def _add(self, record: Mapping[str, Any]) -> None:
        if "gold" in record:
            siblings = GoldSiblings.read(record["gold"])
            self._siblings[str(record["matcher"])] = siblings, [*map(str, record["misread"])]
            return
        place = str(record["matcher"]), tuple(map(int, record["member"]))
        member = self._members.setdefault(place, _Member())
        if "contract" in record:
            of_facts = bool(record["facts"])
            member.contracts[of_facts] = from_options(Contract, record["contract"])
            member.remarks = dict(record.get("remarks", {}))
            if "pool" in record:
                member.pool = {n: record["pool"][n] for n in _POOL if n in record["pool"]}
            return
        query_id = str(record["query_id"])
        if "judged" in record:
            member.judged[query_id] = {
                text: _judgement(value) for text, value in record["judged"].items()
            }
            return
        self._add_scores(member, query_id, record)

    def _add_scores(self, member: _Member, query_id: str, record: Mapping[str, Any]) -> None:
        query = self._dataset[query_id]
        item = _item(with_facts(query) if record["facts"] else query)
        # The file may be a stranger's: shapes and places are checked before they are used.
        scores = np.array(record["scores"], np.float64)
        if scores.ndim != 2 or scores.shape[1] != len(item.targets):
            raise DataError(
                "scores of shape {shape} for {n_targets} targets",
                shape=scores.shape,
                n_targets=len(item.targets),
            )
        texts = {
            (int(row), int(column)): (_grade(grade), str(text))
            for row, column, grade, text in record.get("said", ())
        }
        if any(
            not (0 <= row < len(scores) and 0 <= column < scores.shape[1]) for row, column in texts
        ):
            raise DataError("something is said of what is not there")
        votes = None
        if "votes" in record:
            low, high = (
                np.array(vote, np.float64).reshape(scores.shape) for vote in record["votes"]
            )
            votes = low, high
        member.answers[str(record["run"]), key_of(item)] = RecordedAnswer(scores, texts, votes)


def _record(judgement: Judgement) -> dict[str, Any]:
    """What is kept of a judgement; of several judges also their least and greatest vote."""
    names = (*_JUDGED, *_VOTES) if isinstance(judgement, Verdict) else _JUDGED
    return {name: getattr(judgement, name) for name in names}


def _judgement(record: Mapping[str, Any]) -> Judgement:
    values = {name: record[name] for name in (*_JUDGED, *_VOTES) if name in record}
    numbers = {name: _grade(values[name]) for name in ("grade", *_VOTES) if name in values}
    kind = Verdict if _VOTES[0] in values else Judgement
    return kind("", **{**values, **numbers})


def _grade(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 <= value < 1_000):
        raise ValueError(f"{value!r} is no grade")
    return None if value is None else value
