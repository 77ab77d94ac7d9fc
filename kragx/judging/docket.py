"""The questions of a run with their keys, and which of them a judge is needed for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kragx.errors import DataError
from kragx.judging.keys import (
    canonical_json,
    digest,
    earlier_clients,
    essential,
    key_of,
    material,
    output_limit,
)
from kragx.judging.question import Judgement, Question
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import Store
from kragx.secrets import Secrets


class Docket:
    """Questions that are judged together.

    Attributes:
        questions: as they came, with the examples that the judge is shown.
        keys: of each of them, in their order.
        wanted: the distinct questions that a judge is needed for, each with its canonical JSON,
            by key.
        secrets: what nothing that is kept of them may show.
    """

    def __init__(self, settings: JudgeSettings, questions: Sequence[Question]) -> None:
        client = settings.client
        self._settings = settings
        self.secrets: Secrets = settings.all_secrets()
        own = [dict(one) for one in (client.settings, *getattr(client, "earlier_settings", ()))]
        # In Python nothing was masked at first: what was kept so is found, and not written again.
        self._clients = [*map(self.secrets.masked, own), *own]
        self._repeat = settings.repeat
        if settings.examples is not None:
            questions = [*map(settings.examples.shown_with, questions)]
        # Questions are many, and rubrics few: each of them is digested once.
        rubrics = {id(question.rubric): question.rubric for question in questions}
        self._digests = {rubric: digest(rubrics[rubric]) for rubric in rubrics}
        self.questions = questions
        self.keys: list[str] = []
        self.wanted: dict[str, tuple[Question, str]] = {}
        self._stored_as: dict[str, str] = {}
        essentials = essential(self._clients[0])
        for question in questions:
            canonical = self._canonical(question, essentials)
            key = key_of(canonical)
            self.keys.append(key)
            self.wanted.setdefault(key, (question, canonical))

    def _canonical(self, question: Question, client: Mapping[str, Any]) -> str:
        rubric = self._digests[id(question.rubric)]
        return canonical_json(material(question, client, self._repeat, rubric))

    def _known_clients(self, store: Store) -> list[dict[str, Any]]:
        """Those of the store, looked for anew only where something came."""
        known, last = self._settings.known_clients, store.last()
        if last not in known:
            known.clear()
            known[last] = store.clients()
        return known[last]

    def look_up(self, store: Store) -> dict[str, Judgement]:
        """What the store has for each wanted question that it has something for.

        What an earlier version kept under another key counts, too, where there is no grade under
        today's.
        """
        settled = store.settled(list(self.wanted))
        ungraded = [key for key in self.wanted if key not in settled or settled[key].grade is None]
        clients = earlier_clients(self._clients, self._known_clients(store)) if ungraded else []
        for client in clients:
            earlier = {
                key_of(self._canonical(self.wanted[key][0], client)): key for key in ungraded
            }
            for earlier_key, judgement in store.settled(list(earlier)).items():
                key = earlier[earlier_key]
                if key not in settled or _goes_before(judgement, settled[key]):
                    limit = judgement.output_limit or output_limit(client)
                    settled[key] = replace(judgement, key=key, output_limit=limit)
                    self._stored_as[key] = earlier_key
        return settled

    def take_labels(self, store: Store) -> dict[int, Judgement]:
        """Human labels of the questions' queries and documents, by position: they win.

        A question that is asked for labelled documents only is wanted no more.

        Raises:
            DataError: a label is not on the rubric's scale.
        """
        pairs = {
            position: (question.query_id, question.document_id)
            for position, question in enumerate(self.questions)
            if question.rubric.asks == "relevance" and question.query_id and question.document_id
        }
        labels = store.labels(list(dict.fromkeys(query for query, _ in pairs.values())))
        judgements: dict[int, Judgement] = {}
        for position, pair in pairs.items():
            if pair not in labels:
                continue
            grade, top = labels[pair], self.questions[position].rubric.top
            if grade > top:
                raise DataError(
                    f"{store.address}: the imported label {grade} of query {pair[0]!r}, "
                    f"document {pair[1]!r} is not on the rubric's scale of 0 to {top}"
                )
            judgements[position] = Judgement(
                self.keys[position], grade=max(0, grade), source="human"
            )
        needed = {key for position, key in enumerate(self.keys) if position not in judgements}
        self.wanted = {key: entry for key, entry in self.wanted.items() if key in needed}
        return judgements

    def material(self, key: str) -> str:
        """The canonical JSON of a wanted question."""
        return self.wanted[key][1]

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Which (key, query id, document id) belong together, of the wanted questions.

        The key is the one under which the store has its answer, be it an earlier version's.
        """
        for key, question in zip(self.keys, self.questions, strict=True):
            if question.query_id is not None and key in self.wanted:
                document = question.document_id or f"text-{key_of(question.document)[:16]}"
                yield self._stored_as.get(key, key), question.query_id, document


def _goes_before(judgement: Judgement, other: Judgement) -> bool:
    """Which of two answers to one question counts: as `Store.settled` has it for one key."""

    def order(one: Judgement) -> tuple[bool, bool]:
        return one.source == "human", one.grade is not None

    if order(judgement) != order(other):
        return order(judgement) > order(other)
    first_counts = judgement.source != "human" and judgement.grade is not None
    return (judgement.at < other.at) if first_counts else (judgement.at > other.at)
