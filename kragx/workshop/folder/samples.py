"""A sample of pairs that `kragx judge label` draws, as what a workshop begins with; and scales."""

from collections.abc import Mapping

from kragx.agreement.labels import Labels, read_scale
from kragx.agreement.sample import Sample
from kragx.data import Doc
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import message
from kragx.judging.rubric import RUBRICS
from kragx.workshop.state.records import Person, Question, StoredRecord, SuggestedDocument

SCALES: Mapping[str, Mapping[int, str]] = {
    "en": {
        0: "Not related",
        1: "Same subject, no answer",
        2: "Part of the answer",
        3: "Answers it fully",
    },
    "ko": {
        0: "관련 없음",
        1: "주제만 같고 답은 없음",
        2: "답의 일부가 있음",
        3: "이 글로 모두 답이 됨",
    },
}
"""What stands on the page's buttons, short enough for a phone's; the guidelines say more."""


def documents_of(sample: Sample) -> dict[str, Doc]:
    """The documents of a sample by id.

    Raises:
        DataError: an id has two texts.
    """
    documents: dict[str, Doc] = {}
    for pair in sample.items:
        doc = documents.setdefault(pair.document_id, Doc(pair.document_id, pair.document))
        if doc.text != pair.document:
            problem = f"the document {pair.document_id!r} has two texts"
            raise DataError(problem, field="--sample", remedy="draw from one corpus alone")
    return documents


def records_of(sample: Sample, person: Person) -> list[StoredRecord]:
    """The questions of a sample, and its pairs as suggestions, in its order."""
    texts = {pair.query_id: pair.query for pair in sample.items}
    questions = [
        Question(uid=uid, person=person.uid, text=text, origin="file")
        for uid, text in texts.items()
    ]
    pairs = [
        SuggestedDocument(question=pair.query_id, document=pair.document_id, origin="source")
        for pair in sample.items
    ]
    return [*questions, *pairs]


def scale_of(sample: Sample, language: str) -> dict[int, str]:
    """What the labels of a sample mean.

    Raises:
        UsageError: they do not begin with 0, as a workshop's do.
    """
    scale = read_scale(sample.settings.get("scale", "0-3"), Labels({}))
    if scale.low != 0:
        remedy = "draw a sample with --scale 0-3"
        raise UsageError(
            message("{scale}: a workshop's grades begin with 0", scale=scale),
            field="scale",
            remedy=remedy,
        )
    words = sample.settings.get("grades")
    if words is not None:  # of a rubric of the judge's own
        return {grade: words.get(str(grade), str(grade)) for grade in scale.labels}
    words = RUBRICS[f"{sample.settings.get('asks', 'relevance')}-{language}-1"].grades
    # A scale of another length than the rubric's has no words: nobody knows which would fit.
    same = len(words) == len(scale.labels)
    return {grade: words[grade] if same else str(grade) for grade in scale.labels}
