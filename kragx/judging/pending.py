"""The questions of a run with their keys, and which of them a judge is needed for."""

from collections.abc import Iterator, Sequence

from kragx.errors import DataError
from kragx.judging.keys import canonical_json, digest, essential, key_of, material
from kragx.judging.question import Judgement, Question
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import Store
from kragx.secrets import Secrets


class PendingQuestions:
    """Questions that are judged together.

    Attributes:
        questions: as they came, with the examples that the judge is shown.
        keys: of each of them, in their order.
        wanted: the distinct questions that a judge is needed for, each with its canonical JSON,
            by key.
        secrets: what nothing that is kept of them may show.
    """

    def __init__(self, settings: JudgeSettings, questions: Sequence[Question]) -> None:
        self.secrets: Secrets = settings.all_secrets()
        client = essential(self.secrets.masked(dict(settings.client.settings)))
        if settings.examples is not None:
            questions = [*map(settings.examples.shown_with, questions)]
        # Questions are many, and rubrics few: each of them is digested once.
        rubrics = {id(question.rubric): question.rubric for question in questions}
        digests = {number: digest(rubric) for number, rubric in rubrics.items()}
        self.questions = questions
        self.keys: list[str] = []
        self.wanted: dict[str, tuple[Question, str]] = {}
        for question in questions:
            rubric = digests[id(question.rubric)]
            canonical = canonical_json(material(question, client, settings.repeat, rubric))
            key = key_of(canonical)
            self.keys.append(key)
            self.wanted.setdefault(key, (question, canonical))

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
        keys = {key for position, key in enumerate(self.keys) if position not in judgements}
        self.wanted = {key: entry for key, entry in self.wanted.items() if key in keys}
        return judgements

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Which (key, query id, document id) belong together, of the wanted questions."""
        for key, question in zip(self.keys, self.questions, strict=True):
            if question.query_id is not None and key in self.wanted:
                document = question.document_id or f"text-{key_of(question.document)[:16]}"
                yield key, question.query_id, document
